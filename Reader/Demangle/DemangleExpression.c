/*++

Module Name:

    DemangleExpression.c

Abstract:

    The demangler's parser of expressions, which are in template arguments, in
    array bounds and in decltype.

--*/

#include "DemangleGrammar.h"
#include "DemangleParse.h"

_Use_decl_annotations_
PCDEMANGLE_OPERATOR
DemangleFindOperator(
    PREADER_DEMANGLER Parser
    )
{
    static const DEMANGLE_OPERATOR Operators[] = {
        { "aN", DemangleIsBinary, DemangleAssignLevel, "&=" },
        { "aS", DemangleIsBinary, DemangleAssignLevel, "=" },
        { "aa", DemangleIsBinary, DemangleAndIfLevel, "&&" },
        { "ad", DemangleIsPrefix, DemangleUnaryLevel, "&" },
        { "an", DemangleIsBinary, DemangleAndLevel, "&" },
        { "at", DemangleIsOfType, DemangleUnaryLevel, "alignof " },
        { "aw", DemangleIsNameOnly, DemanglePrimary, "co_await" },
        { "az", DemangleIsOfExpression, DemangleUnaryLevel, "alignof " },
        { "cc", DemangleIsNamedCast, DemanglePostfixLevel, "const_cast" },
        { "cl", DemangleIsCall, DemanglePostfixLevel, "()" },
        { "cm", DemangleIsBinary, DemangleCommaLevel, "," },
        { "co", DemangleIsPrefix, DemangleUnaryLevel, "~" },
        { "cp", DemangleIsCall, DemanglePostfixLevel, "()" },
        { "cv", DemangleIsConversion, DemangleCastLevel, "" },
        { "dV", DemangleIsBinary, DemangleAssignLevel, "/=" },
        { "da", DemangleIsDelete, DemangleUnaryLevel, "delete[]" },
        { "dc", DemangleIsNamedCast, DemanglePostfixLevel, "dynamic_cast" },
        { "de", DemangleIsPrefix, DemangleUnaryLevel, "*" },
        { "dl", DemangleIsDelete, DemangleUnaryLevel, "delete" },
        { "ds", DemangleIsMember, DemangleMemberLevel, ".*" },
        { "dt", DemangleIsMember, DemanglePostfixLevel, "." },
        { "dv", DemangleIsBinary, DemangleProductLevel, "/" },
        { "eO", DemangleIsBinary, DemangleAssignLevel, "^=" },
        { "eo", DemangleIsBinary, DemangleXorLevel, "^" },
        { "eq", DemangleIsBinary, DemangleEqualityLevel, "==" },
        { "ge", DemangleIsBinary, DemangleRelationLevel, ">=" },
        { "gt", DemangleIsBinary, DemangleRelationLevel, ">" },
        { "ix", DemangleIsSubscript, DemanglePostfixLevel, "[]" },
        { "lS", DemangleIsBinary, DemangleAssignLevel, "<<=" },
        { "le", DemangleIsBinary, DemangleRelationLevel, "<=" },
        { "ls", DemangleIsBinary, DemangleShiftLevel, "<<" },
        { "lt", DemangleIsBinary, DemangleRelationLevel, "<" },
        { "mI", DemangleIsBinary, DemangleAssignLevel, "-=" },
        { "mL", DemangleIsBinary, DemangleAssignLevel, "*=" },
        { "mi", DemangleIsBinary, DemangleSumLevel, "-" },
        { "ml", DemangleIsBinary, DemangleProductLevel, "*" },
        { "mm", DemangleIsPostfix, DemanglePostfixLevel, "--" },
        { "na", DemangleIsNew, DemangleUnaryLevel, "new[]" },
        { "ne", DemangleIsBinary, DemangleEqualityLevel, "!=" },
        { "ng", DemangleIsPrefix, DemangleUnaryLevel, "-" },
        { "nt", DemangleIsPrefix, DemangleUnaryLevel, "!" },
        { "nw", DemangleIsNew, DemangleUnaryLevel, "new" },
        { "oR", DemangleIsBinary, DemangleAssignLevel, "|=" },
        { "oo", DemangleIsBinary, DemangleOrIfLevel, "||" },
        { "or", DemangleIsBinary, DemangleOrLevel, "|" },
        { "pL", DemangleIsBinary, DemangleAssignLevel, "+=" },
        { "pl", DemangleIsBinary, DemangleSumLevel, "+" },
        { "pm", DemangleIsMember, DemangleMemberLevel, "->*" },
        { "pp", DemangleIsPostfix, DemanglePostfixLevel, "++" },
        { "ps", DemangleIsPrefix, DemangleUnaryLevel, "+" },
        { "pt", DemangleIsMember, DemanglePostfixLevel, "->" },
        { "qu", DemangleIsConditional, DemangleConditionalLevel, "?" },
        { "rM", DemangleIsBinary, DemangleAssignLevel, "%=" },
        { "rS", DemangleIsBinary, DemangleAssignLevel, ">>=" },
        { "rc", DemangleIsNamedCast, DemanglePostfixLevel,
          "reinterpret_cast" },
        { "rm", DemangleIsBinary, DemangleProductLevel, "%" },
        { "rs", DemangleIsBinary, DemangleShiftLevel, ">>" },
        { "sc", DemangleIsNamedCast, DemanglePostfixLevel, "static_cast" },
        { "ss", DemangleIsBinary, DemangleSpaceshipLevel, "<=>" },
        { "st", DemangleIsOfType, DemangleUnaryLevel, "sizeof " },
        { "sz", DemangleIsOfExpression, DemangleUnaryLevel, "sizeof " },
        { "te", DemangleIsOfExpression, DemanglePostfixLevel, "typeid " },
        { "ti", DemangleIsOfType, DemanglePostfixLevel, "typeid " }
    };
    CHAR First = DemangleLook(Parser, 0);
    CHAR Second = DemangleLook(Parser, 1);
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Operators); Index++) {
        if (Operators[Index].Code[0] == First &&
            Operators[Index].Code[1] == Second) {
            return &Operators[Index];
        }
    }

    return NULL;
}

//
// Completes a node of an expression.
// Node: the node, or 0.
// Text: its text, a literal.
// Precedence: how tightly it binds.
// Returns the node, or 0.
//

static
ULONG
DemangleMarked(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node,
    _In_z_ PCSZ Text,
    _In_ ULONG Precedence
    )
{
    if (Node != 0) {
        Parser->Nodes[Node].Text = Text;
        Parser->Nodes[Node].TextLength = DemangleTextLength(Text);
        Parser->Nodes[Node].Precedence = (UCHAR)Precedence;
    }

    return Node;
}

//
// Parses a list of expressions and takes the character behind it.
// Last: the character behind the list.
// IsBraced: whether it is a list in braces.
// Returns the node, or 0.
//

static
ULONG
DemangleExpressions(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ CHAR Last,
    _In_ BOOLEAN IsBraced
    )
{
    ULONG First = Parser->NumberInStack;

    while (!DemangleTake(Parser, Last)) {
        if (!DemanglePush(Parser,
                          IsBraced ? DemangleBracedExpression(Parser) :
                                     DemangleExpression(Parser))) {
            return 0;
        }
    }

    return DemangleMakeList(Parser, First);
}

//
// Parses an integer whose type has a letter, with the letter.
// Returns the node, or 0.
//

static
ULONG
DemangleIntegerLiteral(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    static const PCSZ Types[26] = {
        "signed char", NULL, "char", NULL, NULL, NULL, NULL, "unsigned char",
        "", "u", NULL, "l", "ul", "__int128", "unsigned __int128", NULL, NULL,
        NULL, "short", "unsigned short", NULL, NULL, "wchar_t", "ll", "ull",
        NULL
    };
    PCSZ Digits;
    ULONG Length;
    ULONG Node;
    ULONG Type;
    PCSZ Text;

    Text = Types[*Parser->Next - 'a'];
    Parser->Next += 1;
    Length = DemangleTakeDigits(Parser, TRUE, &Digits);
    Type = DemangleMakeLiteral(Parser, Text);
    if (Length == 0 || Type == 0 || !DemangleTake(Parser, 'E')) {
        return 0;
    }

    Node = DemangleMakeText(Parser, DemangleInteger, 0, Digits, Length);
    Parser->Nodes[Node].Second = Type;
    return Node;
}

//
// Parses a floating point number, the bytes of which are given in hexadecimal,
// with the letter of its type.
// Returns the node, or 0.
//

static
ULONG
DemangleFloatLiteral(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    CHAR Letter = *Parser->Next;
    ULONG Index;
    ULONG Length = Letter == 'f' ? 8 : Letter == 'd' ? 16 : 20;
    ULONG Node;

    Parser->Next += 1;
    for (Index = 0; Index < Length; Index++) {
        if (!DemangleIsDigit(DemangleLook(Parser, Index)) &&
            (DemangleLook(Parser, Index) < 'a' ||
             DemangleLook(Parser, Index) > 'f')) {
            return 0;
        }
    }

    Node = DemangleMakeText(Parser,
                            DemangleFloat,
                            0,
                            Parser->Next,
                            Length);
    Parser->Nodes[Node].Second = (UCHAR)Letter;
    Parser->Next += Length;
    return DemangleTake(Parser, 'E') ? Node : 0;
}

_Use_decl_annotations_
ULONG
DemangleLiteralExpression(
    PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;
    ULONG Length;
    ULONG Node;

    if (!DemangleTake(Parser, 'L')) {
        return 0;
    }

    switch (DemangleLook(Parser, 0)) {

    case 'a':
    case 'c':
    case 'h':
    case 'i':
    case 'j':
    case 'l':
    case 'm':
    case 'n':
    case 'o':
    case 's':
    case 't':
    case 'w':
    case 'x':
    case 'y':
        return DemangleIntegerLiteral(Parser);

    case 'b':
        Parser->Next += 1;
        if (DemangleTakeTwo(Parser, "0E")) {
            return DemangleMakeLiteral(Parser, "false");
        }
        return DemangleTakeTwo(Parser, "1E") ?
                   DemangleMakeLiteral(Parser, "true") : 0;

    case 'd':
    case 'e':
    case 'f':
        return DemangleFloatLiteral(Parser);

    case '_':
        Node = DemangleTakeTwo(Parser, "_Z") ? DemangleEncoding(Parser) : 0;
        return DemangleTake(Parser, 'E') ? Node : 0;

    case 'A':
        Node = DemangleMakeOne(Parser, DemangleString, DemangleType(Parser));
        return DemangleTake(Parser, 'E') ? Node : 0;

    case 'D':
        if (!DemangleTakeTwo(Parser, "Dn")) {
            return 0;
        }
        DemangleTake(Parser, '0');
        return DemangleTake(Parser, 'E') ?
                   DemangleMakeLiteral(Parser, "nullptr") : 0;

    case 'U':
        if (DemangleLook(Parser, 1) != 'l') {
            return 0;
        }
        Node = DemangleMakeOne(Parser,
                               DemangleLambda,
                               DemangleUnnamedType(Parser, NULL));
        return DemangleTake(Parser, 'E') ? Node : 0;

    case 'T':
        return 0;

    default:
        break;
    }

    Node = DemangleType(Parser);
    if (Node == 0) {
        return 0;
    }

    Length = DemangleTakeDigits(Parser, TRUE, &Digits);
    if (!DemangleTake(Parser, 'E')) {
        return 0;
    }

    return Length == 0 ? Node : DemangleMakeText(Parser,
                                                 DemangleIntegerCast,
                                                 Node,
                                                 Digits,
                                                 Length);
}

//
// Parses what refers to a function's parameter, behind "f".
// Returns the node, or 0.
//

static
ULONG
DemangleFunctionParameter(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;
    ULONG Length;
    ULONG Name;

    if (DemangleTakeTwo(Parser, "pT")) {
        return DemangleMakeLiteral(Parser, "this");
    }

    if (DemangleTake(Parser, 'L')) {
        if (DemangleTakeDigits(Parser, FALSE, &Digits) == 0) {
            return 0;
        }
    }

    if (!DemangleTake(Parser, 'p')) {
        return 0;
    }

    DemangleQualifiers(Parser);
    Length = DemangleTakeDigits(Parser, FALSE, &Digits);
    if (!DemangleTake(Parser, '_')) {
        return 0;
    }

    Name = DemangleMakeText(Parser, DemangleText, 0, Digits, Length);
    return DemangleMakePrefixed(Parser, "fp", Name);
}

//
// Parses a fold expression, behind "f".
// Returns the node, or 0.
//

static
ULONG
DemangleFoldExpression(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    CHAR Character = DemangleLook(Parser, 0);
    BOOLEAN HasInitializer;
    BOOLEAN IsLeft;
    ULONG Initializer;
    ULONG Node;
    PCDEMANGLE_OPERATOR Operator;
    ULONG Pack;

    if (Character != 'l' && Character != 'L' && Character != 'r' &&
        Character != 'R') {
        return 0;
    }

    IsLeft = (BOOLEAN)(Character == 'l' || Character == 'L');
    HasInitializer = (BOOLEAN)(Character == 'L' || Character == 'R');
    Parser->Next += 1;
    Operator = DemangleFindOperator(Parser);
    if (Operator == NULL ||
        (Operator->Kind != DemangleIsBinary &&
         (Operator->Kind != DemangleIsMember ||
          Operator->Name[DemangleTextLength(Operator->Name) - 1] != '*'))) {
        return 0;
    }

    Parser->Next += 2;
    Pack = DemangleExpression(Parser);
    if (Pack == 0) {
        return 0;
    }

    Initializer = 0;
    if (HasInitializer) {
        Initializer = DemangleExpression(Parser);
        if (Initializer == 0) {
            return 0;
        }
    }

    //
    // What comes first in the name of a left fold is what comes first.
    //

    if (IsLeft && Initializer != 0) {
        Node = Pack;
        Pack = Initializer;
        Initializer = Node;
    }

    Pack = DemangleMakeOne(Parser, DemangleExpansion, Pack);
    if (Pack == 0) {
        return 0;
    }

    Node = DemangleMake(Parser, DemangleFold, Pack, Initializer, 0);
    DemangleMarked(Parser, Node, Operator->Name, DemanglePrimary);
    Parser->Nodes[Node].Flags = IsLeft ? DEMANGLE_LEFT : 0;
    return Node;
}

_Use_decl_annotations_
ULONG
DemangleBracedExpression(
    PREADER_DEMANGLER Parser
    )
{
    ULONG First;
    ULONG Node;
    ULONG Second;
    BOOLEAN IsIndex;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    if (DemangleTakeTwo(Parser, "dX")) {

        First = DemangleExpression(Parser);
        Second = First == 0 ? 0 : DemangleExpression(Parser);
        Node = Second == 0 ? 0 : DemangleBracedExpression(Parser);
        if (Node != 0) {
            Node = DemangleMake(Parser,
                                DemangleBracedRange,
                                First,
                                Second,
                                Node);
        }
        return DemangleLeave(Parser, Node);
    }

    IsIndex = DemangleTakeTwo(Parser, "dx");
    if (!IsIndex && !DemangleTakeTwo(Parser, "di")) {
        return DemangleLeave(Parser, DemangleExpression(Parser));
    }

    First = IsIndex ? DemangleExpression(Parser) : DemangleSourceName(Parser);
    Second = First == 0 ? 0 : DemangleBracedExpression(Parser);
    Node = DemangleMakeTwo(Parser, DemangleBraced, First, Second);
    Parser->Nodes[Node].Flags = IsIndex ? DEMANGLE_BRACKETS : 0;
    return DemangleLeave(Parser, Node);
}

//
// Parses an identifier with template arguments, if there are any.
// Returns the node, or 0.
//

static
ULONG
DemangleSimpleName(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Arguments;
    ULONG Node = DemangleSourceName(Parser);

    if (Node == 0 || DemangleLook(Parser, 0) != 'I') {
        return Node;
    }

    Arguments = DemangleArguments(Parser, FALSE);
    return DemangleMakeTwo(Parser, DemangleWithArguments, Node, Arguments);
}

//
// Parses the type that the scope of an unresolved name begins with.
// Returns the node, or 0.
//

static
ULONG
DemangleUnresolvedType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    if (DemangleLook(Parser, 0) == 'T') {
        return DemangleAddSubstitution(Parser, DemangleParameter(Parser));
    }

    if (DemangleLook(Parser, 0) == 'D') {
        return DemangleAddSubstitution(Parser, DemangleDecltype(Parser));
    }

    return DemangleSubstitution(Parser);
}

//
// Parses the last part of an unresolved name.
// Returns the node, or 0.
//

static
ULONG
DemangleUnresolvedBase(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Arguments;
    ULONG Node;

    if (DemangleIsDigit(DemangleLook(Parser, 0))) {
        return DemangleSimpleName(Parser);
    }

    if (DemangleTakeTwo(Parser, "dn")) {
        Node = DemangleIsDigit(DemangleLook(Parser, 0)) ?
                   DemangleSimpleName(Parser) :
                   DemangleUnresolvedType(Parser);
        return DemangleMakeOne(Parser, DemangleDestructor, Node);
    }

    DemangleTakeTwo(Parser, "on");
    Node = DemangleOperatorName(Parser, NULL);
    if (Node == 0 || DemangleLook(Parser, 0) != 'I') {
        return Node;
    }

    Arguments = DemangleArguments(Parser, FALSE);
    return DemangleMakeTwo(Parser, DemangleWithArguments, Node, Arguments);
}

//
// Parses the type that an unresolved name's scope begins with, and its
// template arguments.
// Returns the node, or 0.
//

static
ULONG
DemangleUnresolvedScope(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Arguments;
    ULONG Node = DemangleUnresolvedType(Parser);

    if (Node == 0 || DemangleLook(Parser, 0) != 'I') {
        return Node;
    }

    Arguments = DemangleArguments(Parser, FALSE);
    return DemangleMakeTwo(Parser, DemangleWithArguments, Node, Arguments);
}

//
// Parses a name whose meaning depends on template parameters.
// IsGlobal: whether "::" comes first.
// Returns the node, or 0.
//

static
ULONG
DemangleUnresolvedName(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ BOOLEAN IsGlobal
    )
{
    ULONG Node;
    ULONG Part;

    if (DemangleTakeTwo(Parser, "sr")) {

        if (DemangleTake(Parser, 'N')) {

            Node = DemangleUnresolvedScope(Parser);
            while (Node != 0 && !DemangleTake(Parser, 'E')) {
                Part = DemangleSimpleName(Parser);
                Node = DemangleMakeTwo(Parser, DemangleNested, Node, Part);
            }

        } else if (DemangleIsDigit(DemangleLook(Parser, 0))) {

            Node = 0;
            do {
                Part = DemangleSimpleName(Parser);
                if (Part == 0) {
                    return 0;
                }
                Node = Node != 0 ?
                           DemangleMakeTwo(Parser,
                                           DemangleNested,
                                           Node,
                                           Part) :
                       IsGlobal ?
                           DemangleMakeOne(Parser, DemangleGlobal, Part) :
                           Part;
            } while (Node != 0 && !DemangleTake(Parser, 'E'));

        } else {
            Node = DemangleUnresolvedScope(Parser);
        }

        if (Node == 0) {
            return 0;
        }
        Part = DemangleUnresolvedBase(Parser);
        return DemangleMakeTwo(Parser, DemangleNested, Node, Part);
    }

    Node = DemangleUnresolvedBase(Parser);
    return IsGlobal ? DemangleMakeOne(Parser, DemangleGlobal, Node) : Node;
}

//
// Parses a new expression, behind its code.
// IsGlobal: whether "::" comes first.
// Returns the node, or 0.
//

static
ULONG
DemangleNewExpression(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ PCDEMANGLE_OPERATOR Operator,
    _In_ BOOLEAN IsGlobal
    )
{
    ULONG Initializers;
    BOOLEAN HasInitializers;
    ULONG Node;
    ULONG Placement;
    ULONG Type;

    Placement = DemangleExpressions(Parser, '_', FALSE);
    if (Placement == 0) {
        return 0;
    }

    Type = DemangleType(Parser);
    if (Type == 0) {
        return 0;
    }

    HasInitializers = DemangleTakeTwo(Parser, "pi");
    Initializers = DemangleExpressions(Parser, 'E', FALSE);
    if (Initializers == 0) {
        return 0;
    }

    Node = DemangleMake(Parser, DemangleNew, Placement, Type, Initializers);
    DemangleMarked(Parser, Node, Operator->Name, DemanglePrimary);
    Parser->Nodes[Node].Flags =
        (UCHAR)((IsGlobal ? DEMANGLE_GLOBAL : 0) |
                (HasInitializers ? DEMANGLE_PARENTHESES : 0));
    return Node;
}

//
// Parses a conversion, behind its code.
// Returns the node, or 0.
//

static
ULONG
DemangleConvertExpression(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    BOOLEAN IsArgumentsExpected = Parser->IsArgumentsExpected;
    ULONG First;
    ULONG List;
    ULONG Type;

    Parser->IsArgumentsExpected = FALSE;
    Type = DemangleType(Parser);
    Parser->IsArgumentsExpected = IsArgumentsExpected;
    if (Type == 0) {
        return 0;
    }

    if (DemangleTake(Parser, '_')) {
        List = DemangleExpressions(Parser, 'E', FALSE);
    } else {
        First = Parser->NumberInStack;
        List = DemanglePush(Parser, DemangleExpression(Parser)) ?
                   DemangleMakeList(Parser, First) : 0;
    }

    return DemangleMarked(
        Parser,
        DemangleMakeTwo(Parser, DemangleConvert, Type, List),
        "",
        DemangleCastLevel);
}

//
// Parses an operator's operands, behind its code.
// IsGlobal: whether "::" comes first.
// Returns the node, or 0.
//

static
ULONG
DemangleOperatorExpression(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ PCDEMANGLE_OPERATOR Operator,
    _In_ BOOLEAN IsGlobal
    )
{
    ULONG First;
    ULONG Node;
    ULONG Second;
    ULONG Third;

    switch (Operator->Kind) {

    case DemangleIsPrefix:
        Node = DemangleMakeOne(Parser,
                               DemanglePrefix,
                               DemangleExpression(Parser));
        break;

    case DemangleIsPostfix:
        Node = DemangleTake(Parser, '_') ? DemanglePrefix : DemanglePostfixed;
        Node = DemangleMakeOne(Parser,
                               (DEMANGLE_KIND)Node,
                               DemangleExpression(Parser));
        break;

    case DemangleIsBinary:
    case DemangleIsSubscript:
    case DemangleIsMember:
        First = DemangleExpression(Parser);
        Second = First == 0 ? 0 : DemangleExpression(Parser);
        Node = DemangleMakeTwo(Parser,
                               Operator->Kind == DemangleIsBinary ?
                                   DemangleBinary :
                               Operator->Kind == DemangleIsMember ?
                                   DemangleMember : DemangleSubscript,
                               First,
                               Second);
        break;

    case DemangleIsNew:
        return DemangleNewExpression(Parser, Operator, IsGlobal);

    case DemangleIsDelete:
        Node = DemangleMakeOne(Parser,
                               DemangleDelete,
                               DemangleExpression(Parser));
        Parser->Nodes[Node].Flags = IsGlobal ? DEMANGLE_GLOBAL : 0;
        break;

    case DemangleIsCall:
        First = DemangleExpression(Parser);
        Second = First == 0 ? 0 : DemangleExpressions(Parser, 'E', FALSE);
        if (First != 0 && Operator->Code[1] == 'p') {
            First = DemangleMarked(
                Parser,
                DemangleMakeOne(Parser, DemangleEnclosed, First),
                "",
                DemanglePrimary);
        }
        Node = DemangleMakeTwo(Parser, DemangleCall, First, Second);
        break;

    case DemangleIsConversion:
        return DemangleConvertExpression(Parser);

    case DemangleIsConditional:
        First = DemangleExpression(Parser);
        Second = First == 0 ? 0 : DemangleExpression(Parser);
        Third = Second == 0 ? 0 : DemangleExpression(Parser);
        Node = Third == 0 ? 0 : DemangleMake(Parser,
                                             DemangleConditional,
                                             First,
                                             Second,
                                             Third);
        break;

    case DemangleIsNamedCast:
        First = DemangleType(Parser);
        Second = First == 0 ? 0 : DemangleExpression(Parser);
        Node = DemangleMakeTwo(Parser, DemangleCast, First, Second);
        break;

    case DemangleIsOfType:
        Node = DemangleMakeOne(Parser,
                               DemangleEnclosed,
                               DemangleType(Parser));
        break;

    case DemangleIsOfExpression:
        Node = DemangleMakeOne(Parser,
                               DemangleEnclosed,
                               DemangleExpression(Parser));
        break;

    default:
        return 0;
    }

    return DemangleMarked(Parser,
                          Node,
                          Operator->Name,
                          Operator->Precedence);
}

//
// Parses the number of a pack's parts, behind its code.
// IsList: whether the pack's parts are given.
// Returns the node, or 0.
//

static
ULONG
DemangleSizeOfPackExpression(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ BOOLEAN IsList
    )
{
    ULONG First;
    ULONG Node;

    if (IsList) {
        First = Parser->NumberInStack;
        while (!DemangleTake(Parser, 'E')) {
            if (!DemanglePush(Parser, DemangleArgument(Parser))) {
                return 0;
            }
        }
        Node = DemangleMakeOne(Parser,
                               DemangleEnclosed,
                               DemangleMakeList(Parser, First));
        return DemangleMarked(Parser, Node, "sizeof... ", DemanglePrimary);
    }

    if (DemangleLook(Parser, 0) == 'T') {
        Node = DemangleParameter(Parser);
        Node = DemangleMakeOne(Parser, DemangleExpansion, Node);
        return DemangleMakeOne(Parser, DemangleSizeOfPack, Node);
    }

    if (!DemangleTake(Parser, 'f')) {
        return 0;
    }

    Node = DemangleMakeOne(Parser,
                           DemangleEnclosed,
                           DemangleFunctionParameter(Parser));
    return DemangleMarked(Parser, Node, "sizeof... ", DemanglePrimary);
}

//
// Parses a part of an object, behind "so".
// Returns the node, or 0.
//

static
ULONG
DemangleSubobjectExpression(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;
    ULONG Length;
    ULONG Node;
    PCSZ Selector;
    ULONG Second;
    ULONG Type;

    Type = DemangleType(Parser);
    Second = Type == 0 ? 0 : DemangleExpression(Parser);
    if (Second == 0) {
        return 0;
    }

    Length = DemangleTakeDigits(Parser, TRUE, &Digits);
    while (DemangleTake(Parser, '_')) {
        DemangleTakeDigits(Parser, FALSE, &Selector);
    }
    DemangleTake(Parser, 'p');
    if (!DemangleTake(Parser, 'E')) {
        return 0;
    }

    Node = DemangleMakeText(Parser,
                            DemangleSubobject,
                            Second,
                            Digits,
                            Length);
    Parser->Nodes[Node].Second = Type;
    return Node;
}

//
// Parses an expression of a vendor's, behind "u".
// Returns the node, or 0.
//

static
ULONG
DemangleVendorExpression(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG First;
    ULONG List;
    ULONG Name = DemangleSourceName(Parser);

    if (Name == 0) {
        return 0;
    }

    First = Parser->NumberInStack;
    while (!DemangleTake(Parser, 'E')) {
        if (!DemanglePush(Parser, DemangleArgument(Parser))) {
            return 0;
        }
    }

    List = DemangleMakeList(Parser, First);
    return DemangleMarked(Parser,
                          DemangleMakeTwo(Parser, DemangleCall, Name, List),
                          "",
                          DemanglePostfixLevel);
}

//
// Parses an expression that is no operator's.
// IsGlobal: whether "::" comes first.
// Returns the node, or 0.
//

static
ULONG
DemangleOtherExpression(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ BOOLEAN IsGlobal
    )
{
    ULONG List;
    ULONG Node;

    switch (DemangleLook(Parser, 0)) {

    case 'L':
        return DemangleLiteralExpression(Parser);

    case 'T':
        return DemangleParameter(Parser);

    case 'f':
        Parser->Next += 1;
        if (DemangleLook(Parser, 0) == 'p' ||
            (DemangleLook(Parser, 0) == 'L' &&
             DemangleIsDigit(DemangleLook(Parser, 1)))) {
            return DemangleFunctionParameter(Parser);
        }
        return DemangleFoldExpression(Parser);

    case 'u':
        Parser->Next += 1;
        return DemangleVendorExpression(Parser);

    default:
        break;
    }

    if (DemangleTakeTwo(Parser, "il")) {
        List = DemangleExpressions(Parser, 'E', TRUE);
        return List == 0 ?
            0 : DemangleMake(Parser, DemangleInitializers, 0, List, 0);
    }

    if (DemangleTakeTwo(Parser, "tl")) {
        Node = DemangleType(Parser);
        List = Node == 0 ? 0 : DemangleExpressions(Parser, 'E', TRUE);
        return DemangleMakeTwo(Parser, DemangleInitializers, Node, List);
    }

    if (DemangleTakeTwo(Parser, "nx")) {
        Node = DemangleMakeOne(Parser,
                               DemangleEnclosed,
                               DemangleExpression(Parser));
        return DemangleMarked(Parser, Node, "noexcept ", DemangleUnaryLevel);
    }

    if (DemangleTakeTwo(Parser, "so")) {
        return DemangleSubobjectExpression(Parser);
    }

    if (DemangleTakeTwo(Parser, "sp")) {
        return DemangleMakeOne(Parser,
                               DemangleExpansion,
                               DemangleExpression(Parser));
    }

    if (DemangleTakeTwo(Parser, "sZ")) {
        return DemangleSizeOfPackExpression(Parser, FALSE);
    }

    if (DemangleTakeTwo(Parser, "sP")) {
        return DemangleSizeOfPackExpression(Parser, TRUE);
    }

    if (DemangleTakeTwo(Parser, "tr")) {
        return DemangleMakeLiteral(Parser, "throw");
    }

    if (DemangleTakeTwo(Parser, "tw")) {
        return DemangleMakeOne(Parser,
                               DemangleThrow,
                               DemangleExpression(Parser));
    }

    return DemangleUnresolvedName(Parser, IsGlobal);
}

_Use_decl_annotations_
ULONG
DemangleExpression(
    PREADER_DEMANGLER Parser
    )
{
    BOOLEAN IsGlobal;
    ULONG Node;
    PCDEMANGLE_OPERATOR Operator;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    IsGlobal = DemangleTakeTwo(Parser, "gs");
    Operator = DemangleFindOperator(Parser);
    if (Operator != NULL && Operator->Kind != DemangleIsNameOnly) {
        Parser->Next += 2;
        Node = DemangleOperatorExpression(Parser, Operator, IsGlobal);
    } else {
        Node = DemangleOtherExpression(Parser, IsGlobal);
    }

    return DemangleLeave(Parser, Node);
}

_Use_decl_annotations_
ULONG
DemangleConstraint(
    PREADER_DEMANGLER Parser
    )
{
    BOOLEAN IsConstraint = Parser->IsConstraint;
    ULONG Node;

    Parser->IsConstraint = TRUE;
    Node = DemangleExpression(Parser);
    Parser->IsConstraint = IsConstraint;
    return Node;
}
