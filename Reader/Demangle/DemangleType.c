/*++

Module Name:

    DemangleType.c

Abstract:

    The demangler's parser of types.

--*/

#include "DemangleGrammar.h"
#include "DemangleParse.h"

//
// Parses a type that has a letter of its own.
// Returns the node, or 0.
//

static
ULONG
DemangleBuiltinType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    static const PCSZ Names[26] = {
        "signed char", "bool", "char", "double", "long double", "float",
        "__float128", "unsigned char", "int", "unsigned int", NULL, "long",
        "unsigned long", "__int128", "unsigned __int128", NULL, NULL, NULL,
        "short", "unsigned short", NULL, "void", "wchar_t", "long long",
        "unsigned long long", "..."
    };
    CHAR Character = DemangleLook(Parser, 0);

    if (Character < 'a' || Character > 'z' ||
        Names[Character - 'a'] == NULL) {
        return 0;
    }

    Parser->Next += 1;
    return DemangleMakeLiteral(Parser, Names[Character - 'a']);
}

//
// Parses an integer of a given number of bits, behind "D".
// Returns the node, or 0.
//

static
ULONG
DemangleBitIntegerType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Text;
    PCSZ Digits;
    ULONG Length;
    ULONG Node;
    ULONG Size;

    Text = DemangleLook(Parser, 0) == 'U' ? "unsigned " : "";
    Parser->Next += 1;
    if (DemangleIsDigit(DemangleLook(Parser, 0))) {
        Length = DemangleTakeDigits(Parser, FALSE, &Digits);
        Size = DemangleMakeText(Parser, DemangleText, 0, Digits, Length);
    } else {
        Size = DemangleExpression(Parser);
    }

    if (Size == 0 || !DemangleTake(Parser, '_')) {
        return 0;
    }

    Node = DemangleMakeText(Parser,
                            DemangleBitInteger,
                            Size,
                            Text,
                            DemangleTextLength(Text));
    return Node;
}

//
// Parses a floating point type of a given number of bits, behind "DF".
// Returns the node, or 0.
//

static
ULONG
DemangleFloatType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    static const struct {
        PCSZ Code;
        PCSZ Name;
    } Types[] = {
        { "16b", "std::bfloat16_t" },
        { "16_", "_Float16" },
        { "32_", "_Float32" },
        { "64_", "_Float64" },
        { "128_", "_Float128" },
        { "32x", "_Float32x" },
        { "64x", "_Float64x" },
        { "128x", "_Float128x" }
    };
    ULONG Index;
    ULONG Length;

    for (Index = 0; Index < RTL_NUMBER_OF(Types); Index++) {
        Length = 0;
        while (Types[Index].Code[Length] != 0 &&
               DemangleLook(Parser, Length) == Types[Index].Code[Length]) {
            Length += 1;
        }
        if (Types[Index].Code[Length] == 0) {
            Parser->Next += Length;
            return DemangleMakeLiteral(Parser, Types[Index].Name);
        }
    }

    return 0;
}

//
// Parses a vector, behind "Dv".
// Returns the node, or 0.
//

static
ULONG
DemangleVectorType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;
    ULONG Length;
    ULONG Size = 0;
    ULONG Node;

    if (DemangleIsDigit(DemangleLook(Parser, 0))) {
        Length = DemangleTakeDigits(Parser, FALSE, &Digits);
        Size = DemangleMakeText(Parser, DemangleText, 0, Digits, Length);
    } else if (DemangleLook(Parser, 0) != '_') {
        Size = DemangleExpression(Parser);
    } else {
        Size = DemangleMakeLiteral(Parser, "");
    }

    if (Size == 0 || !DemangleTake(Parser, '_')) {
        return 0;
    }

    if (DemangleTake(Parser, 'p')) {
        return DemangleMake(Parser, DemanglePixelVector, 0, Size, 0);
    }

    Node = DemangleType(Parser);
    return DemangleMakeTwo(Parser, DemangleVector, Node, Size);
}

_Use_decl_annotations_
ULONG
DemangleDecltype(
    PREADER_DEMANGLER Parser
    )
{
    ULONG Node;

    if (!DemangleTakeTwo(Parser, "Dt") && !DemangleTakeTwo(Parser, "DT")) {
        return 0;
    }

    Node = DemangleExpression(Parser);
    if (Node == 0 || !DemangleTake(Parser, 'E')) {
        return 0;
    }

    Node = DemangleMakeOne(Parser, DemangleEnclosed, Node);
    if (Node != 0) {
        Parser->Nodes[Node].Text = "decltype";
        Parser->Nodes[Node].TextLength = 8;
    }

    return Node;
}

//
// Parses what a function's type says of exceptions.
// Exceptions: the node, or 0 if there are none.
// Returns FALSE if it is not understood.
//

static
BOOLEAN
DemangleExceptions(
    _Inout_ PREADER_DEMANGLER Parser,
    _Out_ PULONG Exceptions
    )
{
    ULONG First;

    *Exceptions = 0;
    if (DemangleTakeTwo(Parser, "Do")) {
        *Exceptions = DemangleMakeLiteral(Parser, "noexcept");
    } else if (DemangleTakeTwo(Parser, "DO")) {
        *Exceptions = DemangleMakeOne(Parser,
                                      DemangleNoexcept,
                                      DemangleExpression(Parser));
        if (!DemangleTake(Parser, 'E')) {
            return FALSE;
        }
    } else if (DemangleTakeTwo(Parser, "Dw")) {
        First = Parser->NumberInStack;
        while (!DemangleTake(Parser, 'E')) {
            if (!DemanglePush(Parser, DemangleType(Parser))) {
                return FALSE;
            }
        }
        *Exceptions = DemangleMakeOne(Parser,
                                      DemangleThrows,
                                      DemangleMakeList(Parser, First));
    } else {
        return TRUE;
    }

    return (BOOLEAN)(*Exceptions != 0);
}

//
// Parses the type of a function, with its qualifiers.
// Returns the node, or 0.
//

static
ULONG
DemangleFunctionType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Exceptions;
    ULONG First;
    ULONG List;
    ULONG Node;
    UCHAR Qualifiers;
    ULONG Return;

    Qualifiers = DemangleQualifiers(Parser);
    if (!DemangleExceptions(Parser, &Exceptions)) {
        return 0;
    }

    DemangleTakeTwo(Parser, "Dx");
    if (!DemangleTake(Parser, 'F')) {
        return 0;
    }

    DemangleTake(Parser, 'Y');
    Return = DemangleType(Parser);
    if (Return == 0) {
        return 0;
    }

    First = Parser->NumberInStack;
    for (;;) {

        if (DemangleTake(Parser, 'E')) {
            break;
        }
        if (DemangleTake(Parser, 'v')) {
            continue;
        }
        if (DemangleTakeTwo(Parser, "RE")) {
            Qualifiers |= DEMANGLE_LVALUE;
            break;
        }
        if (DemangleTakeTwo(Parser, "OE")) {
            Qualifiers |= DEMANGLE_RVALUE;
            break;
        }
        if (!DemanglePush(Parser, DemangleType(Parser))) {
            return 0;
        }
    }

    List = DemangleMakeList(Parser, First);
    if (List == 0) {
        return 0;
    }

    Node = DemangleMake(Parser, DemangleFunction, Return, List, Exceptions);
    if (Node != 0) {
        Parser->Nodes[Node].Flags = Qualifiers;
    }

    return Node;
}

//
// Parses an array, behind "A".
// Returns the node, or 0.
//

static
ULONG
DemangleArrayType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;
    ULONG Length;
    ULONG Size;

    if (DemangleIsDigit(DemangleLook(Parser, 0))) {
        Length = DemangleTakeDigits(Parser, FALSE, &Digits);
        Size = DemangleMakeText(Parser, DemangleText, 0, Digits, Length);
    } else if (DemangleLook(Parser, 0) == '_') {
        Size = DemangleMakeLiteral(Parser, "");
    } else {
        Size = DemangleExpression(Parser);
    }

    if (Size == 0 || !DemangleTake(Parser, '_')) {
        return 0;
    }

    return DemangleMakeTwo(Parser,
                           DemangleArray,
                           DemangleType(Parser),
                           Size);
}

//
// Parses a type with qualifiers, a vendor's or the language's.
// Returns the node, or 0.
//

static
ULONG
DemangleQualifiedType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Arguments = 0;
    ULONG Name;
    ULONG Node;
    UCHAR Qualifiers;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    if (DemangleTake(Parser, 'U')) {

        Name = DemangleSourceName(Parser);
        if (Name == 0) {
            return DemangleLeave(Parser, 0);
        }
        if (DemangleLook(Parser, 0) == 'I') {
            Arguments = DemangleArguments(Parser, FALSE);
            if (Arguments == 0) {
                return DemangleLeave(Parser, 0);
            }
        }

        Node = DemangleMakeOne(Parser,
                               DemangleVendorQualified,
                               DemangleQualifiedType(Parser));
        if (Node != 0) {
            Parser->Nodes[Node].Second = Arguments;
            Parser->Nodes[Node].Text = Parser->Nodes[Name].Text;
            Parser->Nodes[Node].TextLength = Parser->Nodes[Name].TextLength;
        }
        return DemangleLeave(Parser, Node);
    }

    Qualifiers = DemangleQualifiers(Parser);
    Node = DemangleType(Parser);
    if (Qualifiers != 0) {
        Node = DemangleMakeOne(Parser, DemangleQualified, Node);
        Parser->Nodes[Node].Flags = Qualifiers;
    }

    return DemangleLeave(Parser, Node);
}

//
// Parses a type that begins with "D".
// IsBuiltin: whether nothing refers to it.
// Returns the node, or 0.
//

static
ULONG
DemangleExtendedType(
    _Inout_ PREADER_DEMANGLER Parser,
    _Out_ PBOOLEAN IsBuiltin
    )
{
    static const struct {
        CHAR Code;
        PCSZ Name;
    } Names[] = {
        { 'a', "auto" },
        { 'c', "decltype(auto)" },
        { 'd', "decimal64" },
        { 'e', "decimal128" },
        { 'f', "decimal32" },
        { 'h', "half" },
        { 'i', "char32_t" },
        { 'n', "std::nullptr_t" },
        { 's', "char16_t" },
        { 'u', "char8_t" }
    };
    CHAR Character = DemangleLook(Parser, 1);
    ULONG Index;

    *IsBuiltin = TRUE;
    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index++) {
        if (Names[Index].Code == Character) {
            Parser->Next += 2;
            return DemangleMakeLiteral(Parser, Names[Index].Name);
        }
    }

    if (Character == 'F') {
        Parser->Next += 2;
        return DemangleFloatType(Parser);
    }

    if (Character == 'B' || Character == 'U') {
        Parser->Next += 1;
        return DemangleBitIntegerType(Parser);
    }

    *IsBuiltin = FALSE;
    if (Character == 't' || Character == 'T') {
        return DemangleDecltype(Parser);
    }

    if (Character == 'v') {
        Parser->Next += 2;
        return DemangleVectorType(Parser);
    }

    if (Character == 'p') {
        Parser->Next += 2;
        return DemangleMakeOne(Parser,
                               DemangleExpansion,
                               DemangleType(Parser));
    }

    return DemangleFunctionType(Parser);
}

//
// Parses a type of a vendor's, behind "u".
// Returns the node, or 0.
//

static
ULONG
DemangleVendorType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Name = DemangleSourceName(Parser);
    ULONG Node;

    if (Name == 0 || !DemangleTake(Parser, 'I')) {
        return Name;
    }

    Node = DemangleType(Parser);
    if (!DemangleTake(Parser, 'E')) {
        return 0;
    }

    return DemangleMakeTwo(Parser, DemangleTransformed, Name, Node);
}

//
// Parses a type with the word that tells its kind.
// Returns the node, or 0.
//

static
ULONG
DemangleElaboratedType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Text;
    ULONG Node;

    Text = DemangleTakeTwo(Parser, "Ts") ? "struct " :
           DemangleTakeTwo(Parser, "Tu") ? "union " :
           DemangleTakeTwo(Parser, "Te") ? "enum " : NULL;
    if (Text == NULL) {
        return 0;
    }

    Node = DemangleName(Parser, NULL);
    if (Node == 0) {
        return 0;
    }

    return DemangleMakeText(Parser,
                            DemangleElaborated,
                            Node,
                            Text,
                            DemangleTextLength(Text));
}

//
// Parses a type that is a name, a substitution or a template parameter, with
// the arguments that follow.
// IsDone: whether it is a substitution and nothing else, which is not made one
// again.
// Returns the node, or 0.
//

static
ULONG
DemangleNamedType(
    _Inout_ PREADER_DEMANGLER Parser,
    _Out_ PBOOLEAN IsDone
    )
{
    ULONG Arguments;
    CHAR Character = DemangleLook(Parser, 0);
    BOOLEAN IsSubstitution = FALSE;
    ULONG Node;

    *IsDone = FALSE;
    if (Character == 'T') {

        if (DemangleLook(Parser, 1) == 's' || DemangleLook(Parser, 1) == 'u' ||
            DemangleLook(Parser, 1) == 'e') {
            return DemangleElaboratedType(Parser);
        }
        Node = DemangleParameter(Parser);
        if (!Parser->IsArgumentsExpected) {
            return Node;
        }

    } else if (Character == 'S') {

        Node = DemangleUnscopedName(Parser, NULL, &IsSubstitution);

    } else {
        return DemangleName(Parser, NULL);
    }

    if (DemangleLook(Parser, 0) == 'I' &&
        (!IsSubstitution || Parser->IsArgumentsExpected)) {

        if (!IsSubstitution && DemangleAddSubstitution(Parser, Node) == 0) {
            return 0;
        }
        Arguments = DemangleArguments(Parser, FALSE);
        return DemangleMakeTwo(Parser,
                               DemangleWithArguments,
                               Node,
                               Arguments);
    }

    *IsDone = IsSubstitution;
    return Node;
}

//
// Says whether the type of a function is next, with qualifiers or without.
//

static
BOOLEAN
DemangleIsFunctionNext(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG Offset = 0;
    CHAR Character;

    if (DemangleLook(Parser, Offset) == 'r') {
        Offset += 1;
    }
    if (DemangleLook(Parser, Offset) == 'V') {
        Offset += 1;
    }
    if (DemangleLook(Parser, Offset) == 'K') {
        Offset += 1;
    }

    if (DemangleLook(Parser, Offset) == 'F') {
        return TRUE;
    }

    Character = DemangleLook(Parser, Offset + 1);
    return (BOOLEAN)(DemangleLook(Parser, Offset) == 'D' &&
                     (Character == 'o' || Character == 'O' ||
                      Character == 'w' || Character == 'x'));
}

//
// Parses a type that is made of one other type.
// Returns the node, or 0.
//

static
ULONG
DemangleCompoundType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    CHAR Character = DemangleLook(Parser, 0);
    ULONG First;
    ULONG Node;
    PCSZ Text;

    Parser->Next += 1;
    Node = DemangleType(Parser);

    switch (Character) {

    case 'P':
        return DemangleMakeOne(Parser, DemanglePointer, Node);

    case 'R':
        return DemangleMakeOne(Parser, DemangleReference, Node);

    case 'O':
        Node = DemangleMakeOne(Parser, DemangleReference, Node);
        Parser->Nodes[Node].Second = Node != 0;
        return Node;

    case 'M':
        First = Node;
        Node = First == 0 ? 0 : DemangleType(Parser);
        return DemangleMakeTwo(Parser, DemangleMemberPointer, First, Node);

    default:
        break;
    }

    Text = Character == 'C' ? " complex" : " imaginary";
    Node = DemangleMakeOne(Parser, DemanglePostfix, Node);
    Parser->Nodes[Node].Text = Text;
    Parser->Nodes[Node].TextLength = DemangleTextLength(Text);
    return Node;
}

_Use_decl_annotations_
ULONG
DemangleType(
    PREADER_DEMANGLER Parser
    )
{
    BOOLEAN IsDone = FALSE;
    ULONG Node;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    switch (DemangleLook(Parser, 0)) {

    case 'r':
    case 'V':
    case 'K':
        Node = DemangleIsFunctionNext(Parser) ?
                   DemangleFunctionType(Parser) :
                   DemangleQualifiedType(Parser);
        break;

    case 'U':
        if (DemangleLook(Parser, 1) == 'l' || DemangleLook(Parser, 1) == 't') {
            Node = DemangleName(Parser, NULL);
        } else {
            Node = DemangleQualifiedType(Parser);
        }
        break;

    case 'u':
        Parser->Next += 1;
        Node = DemangleVendorType(Parser);
        break;

    case 'D':
        Node = DemangleExtendedType(Parser, &IsDone);
        break;

    case 'F':
        Node = DemangleFunctionType(Parser);
        break;

    case 'A':
        Parser->Next += 1;
        Node = DemangleArrayType(Parser);
        break;

    case 'P':
    case 'R':
    case 'O':
    case 'M':
    case 'C':
    case 'G':
        Node = DemangleCompoundType(Parser);
        break;

    case 'N':
    case 'Z':
    case 'S':
    case 'T':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        Node = DemangleNamedType(Parser, &IsDone);
        break;

    default:
        Node = DemangleBuiltinType(Parser);
        IsDone = TRUE;
        break;
    }

    if (!IsDone) {
        Node = DemangleAddSubstitution(Parser, Node);
    }

    return DemangleLeave(Parser, Node);
}
