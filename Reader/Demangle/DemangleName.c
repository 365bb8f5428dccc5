/*++

Module Name:

    DemangleName.c

Abstract:

    The demangler's parser of names: scopes, operators, constructors, lambdas,
    substitutions, template parameters and arguments.

--*/

#include "DemangleGrammar.h"
#include "DemangleParse.h"

_Use_decl_annotations_
ULONG
DemangleSourceName(
    PREADER_DEMANGLER Parser
    )
{
    static const CHAR Anonymous[] = "_GLOBAL__N";
    ULONG Index;
    ULONG Length;
    PCSZ Text;

    if (!DemangleTakeNumber(Parser, &Length) || Length == 0 ||
        (SIZE_T)(Parser->End - Parser->Next) < Length) {
        return 0;
    }

    Text = Parser->Next;
    Parser->Next += Length;

    for (Index = 0; Index < sizeof(Anonymous) - 1; Index++) {
        if (Index >= Length || Text[Index] != Anonymous[Index]) {
            return DemangleMakeText(Parser, DemangleText, 0, Text, Length);
        }
    }

    return DemangleMakeLiteral(Parser, "(anonymous namespace)");
}

//
// Parses the ABI tags behind a name.
// Returns the node, or 0.
//

static
ULONG
DemangleAbiTags(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    ULONG Tag;

    while (Node != 0 && DemangleTake(Parser, 'B')) {
        Tag = DemangleSourceName(Parser);
        if (Tag == 0) {
            return 0;
        }
        Node = DemangleMakeText(Parser,
                                DemangleAbiTag,
                                Node,
                                Parser->Nodes[Tag].Text,
                                Parser->Nodes[Tag].TextLength);
    }

    return Node;
}

_Use_decl_annotations_
UCHAR
DemangleQualifiers(
    PREADER_DEMANGLER Parser
    )
{
    UCHAR Qualifiers = 0;

    if (DemangleTake(Parser, 'r')) {
        Qualifiers |= DEMANGLE_RESTRICT;
    }
    if (DemangleTake(Parser, 'V')) {
        Qualifiers |= DEMANGLE_VOLATILE;
    }
    if (DemangleTake(Parser, 'K')) {
        Qualifiers |= DEMANGLE_CONST;
    }

    return Qualifiers;
}

_Use_decl_annotations_
ULONG
DemangleSubstitution(
    PREADER_DEMANGLER Parser
    )
{
    static const struct {
        CHAR Code;
        PCSZ Name;
    } Specials[] = {
        { 'a', "allocator" },
        { 'b', "basic_string" },
        { 's', "string" },
        { 'i', "istream" },
        { 'o', "ostream" },
        { 'd', "iostream" }
    };
    CHAR Character;
    ULONG Index;
    ULONG Node;
    ULONG Tagged;

    if (!DemangleTake(Parser, 'S')) {
        return 0;
    }

    Character = DemangleLook(Parser, 0);
    if (Character >= 'a' && Character <= 'z') {
        for (Index = 0; Index < RTL_NUMBER_OF(Specials); Index++) {
            if (Specials[Index].Code == Character) {
                Parser->Next += 1;
                Node = DemangleMakeText(
                    Parser,
                    DemangleSpecial,
                    0,
                    Specials[Index].Name,
                    DemangleTextLength(Specials[Index].Name));
                Tagged = DemangleAbiTags(Parser, Node);
                return Tagged == Node ?
                           Node : DemangleAddSubstitution(Parser, Tagged);
            }
        }
        return 0;
    }

    Index = 0;
    if (!DemangleTake(Parser, '_')) {
        do {
            Character = DemangleLook(Parser, 0);
            if (DemangleIsDigit(Character)) {
                Index = Index * 36 + (ULONG)(Character - '0');
            } else if (Character >= 'A' && Character <= 'Z') {
                Index = Index * 36 + (ULONG)(Character - 'A') + 10;
            } else {
                return 0;
            }
            if (Index > READER_DEMANGLE_MAXIMUM_NAME) {
                return 0;
            }
            Parser->Next += 1;
        } while (!DemangleTake(Parser, '_'));
        Index += 1;
    }

    return Index < Parser->NumberOfSubstitutions ?
               Parser->Substitutions[Index] : 0;
}

//
// Takes "_" or a number and "_" off the name.
// Index: the index, from 0.
// Returns FALSE if they are not there.
//

static
BOOLEAN
DemangleTakeIndex(
    _Inout_ PREADER_DEMANGLER Parser,
    _Out_ PULONG Index
    )
{
    *Index = 0;
    if (DemangleTake(Parser, '_')) {
        return TRUE;
    }

    if (!DemangleTakeNumber(Parser, Index)) {
        return FALSE;
    }

    *Index += 1;
    return DemangleTake(Parser, '_');
}

_Use_decl_annotations_
ULONG
DemangleParameter(
    PREADER_DEMANGLER Parser
    )
{
    ULONG Index;
    ULONG Level = 0;
    ULONG Node;
    PCSZ Text = Parser->Next;

    if (!DemangleTake(Parser, 'T')) {
        return 0;
    }

    if (DemangleTake(Parser, 'L') &&
        (!DemangleTakeIndex(Parser, &Level) || ++Level == 0)) {
        return 0;
    }

    if (!DemangleTakeIndex(Parser, &Index)) {
        return 0;
    }

    if (Parser->IsConstraint) {
        return DemangleMakeText(Parser,
                                DemangleText,
                                0,
                                Text,
                                (ULONG)(Parser->Next - Text) - 1);
    }

    if (Parser->IsForwardAllowed && Level == 0) {
        if (Parser->NumberOfForwards >= Parser->CapacityOfOthers) {
            Parser->IsTooMuch = TRUE;
            return 0;
        }
        Node = DemangleMake(Parser, DemangleForward, 0, Index, 0);
        Parser->Forwards[Parser->NumberOfForwards] = Node;
        Parser->NumberOfForwards += 1;
        return Node;
    }

    Node = DemangleFindParameter(Parser, Level, Index);
    if (Node != 0 || Parser->LambdaLevel != Level ||
        Level > Parser->Scope.NumberOfLevels ||
        Level >= READER_DEMANGLE_LEVELS) {
        return Node;
    }

    //
    // What a lambda calls auto is a parameter of a template without a name.
    //

    if (Level == Parser->Scope.NumberOfLevels) {
        Parser->Scope.Levels[Level].Count = 0;
        Parser->Scope.NumberOfLevels += 1;
    }

    return DemangleMakeLiteral(Parser, "auto");
}

//
// Makes a template parameter of a lambda, which has a made-up name: $T, $T0.
// Kind: what kind of parameter it is.
// First: a node.
// Count: how many there are of the kind.
// Level: which list it belongs to.
// Returns the node, or 0.
//

static
ULONG
DemangleMakeSynthetic(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First,
    _In_ CHAR Letter,
    _Inout_ PULONG Count,
    _In_ ULONG Level
    )
{
    static const PCSZ Names[3][5] = {
        { "$T", "$T0", "$T1", "$T2", "$T3" },
        { "$N", "$N0", "$N1", "$N2", "$N3" },
        { "$TT", "$TT0", "$TT1", "$TT2", "$TT3" }
    };
    ULONG Name;
    ULONG Node;
    PCSZ Text;

    if (*Count >= RTL_NUMBER_OF(Names[0])) {
        return 0;
    }

    Text = Names[Letter == 'T' ? 0 : Letter == 'N' ? 1 : 2][*Count];
    *Count += 1;
    Node = DemangleMakeText(Parser,
                            Kind,
                            First,
                            Text,
                            DemangleTextLength(Text));
    Name = DemangleMakeLiteral(Parser, Text);
    if (Node == 0 || Name == 0 ||
        (Level != DEMANGLE_NONE &&
         !DemangleAddParameter(Parser, Level, Name))) {
        return 0;
    }

    return Node;
}

_Use_decl_annotations_
BOOLEAN
DemangleIsDeclaration(
    PREADER_DEMANGLER Parser
    )
{
    CHAR Character = DemangleLook(Parser, 1);

    return (BOOLEAN)(DemangleLook(Parser, 0) == 'T' &&
                     (Character == 'y' || Character == 'n' ||
                      Character == 't' || Character == 'p'));
}

_Use_decl_annotations_
ULONG
DemangleDeclaration(
    PREADER_DEMANGLER Parser,
    ULONG Level
    )
{
    ULONG First;
    ULONG Node;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    Node = 0;
    if (DemangleTakeTwo(Parser, "Ty")) {

        Node = DemangleMakeSynthetic(Parser,
                                     DemangleTypeParameter,
                                     0,
                                     'T',
                                     &Parser->SyntheticTypes,
                                     Level);

    } else if (DemangleTakeTwo(Parser, "Tn")) {

        Node = DemangleMakeSynthetic(Parser,
                                     DemangleValueParameter,
                                     0,
                                     'N',
                                     &Parser->SyntheticValues,
                                     Level);
        First = DemangleType(Parser);
        if (First == 0) {
            Node = 0;
        } else if (Node != 0) {
            Parser->Nodes[Node].First = First;
        }

    } else if (DemangleTakeTwo(Parser, "Tt")) {

        Node = DemangleMakeSynthetic(Parser,
                                     DemangleTemplateParameter,
                                     0,
                                     't',
                                     &Parser->SyntheticTemplates,
                                     Level);
        First = Parser->NumberInStack;
        while (Node != 0 && !DemangleTake(Parser, 'E')) {
            if (!DemanglePush(Parser,
                              DemangleDeclaration(Parser, DEMANGLE_NONE))) {
                Node = 0;
            }
        }
        if (Node != 0) {
            Parser->Nodes[Node].First = DemangleMakeList(Parser, First);
        }

    } else if (DemangleTakeTwo(Parser, "Tp")) {

        Node = DemangleMakeOne(Parser,
                               DemanglePackParameter,
                               DemangleDeclaration(Parser, Level));
    }

    return DemangleLeave(Parser, Node);
}

_Use_decl_annotations_
ULONG
DemangleArgument(
    PREADER_DEMANGLER Parser
    )
{
    ULONG Declaration;
    ULONG First;
    ULONG Node;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    Node = 0;
    if (DemangleTake(Parser, 'X')) {

        Node = DemangleExpression(Parser);
        if (!DemangleTake(Parser, 'E')) {
            Node = 0;
        }

    } else if (DemangleTake(Parser, 'J')) {

        First = Parser->NumberInStack;
        while (!DemangleTake(Parser, 'E')) {
            if (!DemanglePush(Parser, DemangleArgument(Parser))) {
                return DemangleLeave(Parser, 0);
            }
        }
        Node = DemangleMakeOne(Parser,
                               DemangleArgumentPack,
                               DemangleMakeList(Parser, First));

    } else if (DemangleTakeTwo(Parser, "LZ")) {

        Node = DemangleEncoding(Parser);
        if (!DemangleTake(Parser, 'E')) {
            Node = 0;
        }

    } else if (DemangleLook(Parser, 0) == 'L') {

        Node = DemangleLiteralExpression(Parser);

    } else if (DemangleIsDeclaration(Parser)) {

        Declaration = DemangleDeclaration(Parser, DEMANGLE_NONE);
        if (Declaration != 0) {
            Node = DemangleMakeTwo(Parser,
                                   DemangleQualifiedArgument,
                                   DemangleArgument(Parser),
                                   Declaration);
        }

    } else {
        Node = DemangleType(Parser);
    }

    return DemangleLeave(Parser, Node);
}

_Use_decl_annotations_
ULONG
DemangleArguments(
    PREADER_DEMANGLER Parser,
    BOOLEAN IsOuter
    )
{
    ULONG First;
    ULONG Node;
    ULONG Value;

    if (!DemangleTake(Parser, 'I')) {
        return 0;
    }

    if (IsOuter) {
        Parser->Scope.Levels[0].Count = 0;
        Parser->Scope.NumberOfLevels = 1;
    }

    First = Parser->NumberInStack;
    while (!DemangleTake(Parser, 'E')) {

        //
        // What the arguments have to fulfil comes last, and is not shown.
        //

        if (DemangleTake(Parser, 'Q')) {
            if (DemangleConstraint(Parser) == 0 ||
                !DemangleTake(Parser, 'E')) {
                return 0;
            }
            break;
        }

        Node = DemangleArgument(Parser);
        if (!DemanglePush(Parser, Node)) {
            return 0;
        }

        if (!IsOuter) {
            continue;
        }

        Value = Node;
        if (Parser->Nodes[Value].Kind == DemangleQualifiedArgument) {
            Value = Parser->Nodes[Value].First;
        }
        if (Parser->Nodes[Value].Kind == DemangleArgumentPack) {
            Value = DemangleMakeOne(Parser,
                                    DemangleParameterPack,
                                    Parser->Nodes[Value].First);
        }
        if (Value == 0 || !DemangleAddParameter(Parser, 0, Value)) {
            return 0;
        }
    }

    return DemangleMakeOne(Parser,
                           DemangleArgumentList,
                           DemangleMakeList(Parser, First));
}

//
// Parses the name of a constructor or a destructor.
// Scope: the class, which may get its long name.
// Encoding: what is noted.
// Returns the node, or 0.
//

static
ULONG
DemangleStructorName(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_ PULONG Scope,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    )
{
    PDEMANGLE_NODE Class = &Parser->Nodes[*Scope];
    BOOLEAN IsDestructor;
    BOOLEAN IsInheriting;
    CHAR Character;

    if (Class->Kind == DemangleSpecial) {

        //
        // Its own name is that of the template that string and its kin are
        // instances of.
        //

        switch (Class->Text[0]) {
        case 's':
            *Scope = DemangleMake(Parser, DemangleExpanded, 0, 1, 0);
            Parser->Nodes[*Scope].Text = "basic_string";
            break;
        case 'i':
            *Scope = DemangleMake(Parser, DemangleExpanded, 0, 1, 0);
            Parser->Nodes[*Scope].Text = Class->Text[1] == 's' ?
                "basic_istream" : "basic_iostream";
            break;
        case 'o':
            *Scope = DemangleMake(Parser, DemangleExpanded, 0, 1, 0);
            Parser->Nodes[*Scope].Text = "basic_ostream";
            break;
        default:
            break;
        }
        if (*Scope == 0) {
            return 0;
        }
        if (Parser->Nodes[*Scope].Kind == DemangleExpanded) {
            Parser->Nodes[*Scope].TextLength =
                DemangleTextLength(Parser->Nodes[*Scope].Text);
        }
    }

    IsDestructor = (BOOLEAN)(DemangleLook(Parser, 0) == 'D');
    Parser->Next += 1;
    IsInheriting = (BOOLEAN)(!IsDestructor && DemangleTake(Parser, 'I'));
    Character = DemangleLook(Parser, 0);
    if (Character < (IsDestructor ? '0' : '1') || Character > '5' ||
        (IsDestructor && Character == '3')) {
        return 0;
    }

    Parser->Next += 1;
    if (Encoding != NULL) {
        Encoding->HasNoReturnType = TRUE;
    }

    if (IsInheriting && DemangleName(Parser, Encoding) == 0) {
        return 0;
    }

    return DemangleMake(Parser,
                        DemangleStructor,
                        *Scope,
                        IsDestructor,
                        0);
}

//
// Parses the type of a lambda, behind "Ul".
// Returns the node, or 0.
//

static
ULONG
DemangleLambdaType(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG First;
    ULONG Level;
    ULONG List;
    ULONG NumberOfLevels;
    ULONG Parameters;
    ULONG Types;
    ULONG Values;
    ULONG Templates;

    NumberOfLevels = Parser->Scope.NumberOfLevels;
    if (NumberOfLevels >= READER_DEMANGLE_LEVELS) {
        return 0;
    }

    Level = Parser->LambdaLevel;
    Types = Parser->SyntheticTypes;
    Values = Parser->SyntheticValues;
    Templates = Parser->SyntheticTemplates;
    Parser->SyntheticTypes = 0;
    Parser->SyntheticValues = 0;
    Parser->SyntheticTemplates = 0;
    Parser->LambdaLevel = NumberOfLevels;
    Parser->Scope.Levels[NumberOfLevels].Count = 0;
    Parser->Scope.NumberOfLevels += 1;

    First = Parser->NumberInStack;
    Parameters = DEMANGLE_NONE;
    List = 0;
    while (DemangleIsDeclaration(Parser)) {
        if (!DemanglePush(Parser,
                          DemangleDeclaration(Parser, NumberOfLevels))) {
            goto End;
        }
    }

    Parameters = DemangleMakeList(Parser, First);
    if (Parameters == 0) {
        goto End;
    }
    if (Parser->Nodes[Parameters].Second == 0) {
        Parser->Scope.NumberOfLevels -= 1;
    }

    if (!DemangleTake(Parser, 'v')) {
        do {
            if (!DemanglePush(Parser, DemangleType(Parser))) {
                goto End;
            }
        } while (Parser->Next < Parser->End &&
                 DemangleLook(Parser, 0) != 'E');
    }
    List = DemangleMakeList(Parser, First);

End:

    Parser->LambdaLevel = Level;
    Parser->SyntheticTypes = Types;
    Parser->SyntheticValues = Values;
    Parser->SyntheticTemplates = Templates;
    Parser->Scope.NumberOfLevels = NumberOfLevels;
    if (List == 0 || !DemangleTake(Parser, 'E')) {
        return 0;
    }

    return DemangleMakeTwo(Parser, DemangleClosure, Parameters, List);
}

_Use_decl_annotations_
ULONG
DemangleUnnamedType(
    PREADER_DEMANGLER Parser,
    PDEMANGLE_NOTES Encoding
    )
{
    PCSZ Digits;
    ULONG Length;
    ULONG Node;

    //
    // A lambda's parameters are not those of the templates around it.
    //

    if (Encoding != NULL) {
        Parser->Scope.NumberOfLevels = 0;
    }

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    Node = 0;
    if (DemangleTakeTwo(Parser, "Ut")) {
        Node = DemangleMake(Parser, DemangleUnnamed, 0, 0, 0);
    } else if (DemangleTakeTwo(Parser, "Ul")) {
        Node = DemangleLambdaType(Parser);
    } else if (DemangleTakeTwo(Parser, "Ub")) {
        DemangleTakeDigits(Parser, FALSE, &Digits);
        Node = DemangleMakeLiteral(Parser, "'block-literal'");
        return DemangleLeave(Parser, DemangleTake(Parser, '_') ? Node : 0);
    }

    Length = DemangleTakeDigits(Parser, FALSE, &Digits);
    if (Node == 0 || !DemangleTake(Parser, '_')) {
        return DemangleLeave(Parser, 0);
    }

    Parser->Nodes[Node].Text = Digits;
    Parser->Nodes[Node].TextLength = Length;
    return DemangleLeave(Parser, Node);
}

//
// Parses the names that a structured binding declares, behind "DC".
// Returns the node, or 0.
//

static
ULONG
DemangleBindings(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    ULONG First = Parser->NumberInStack;

    do {
        if (!DemanglePush(Parser, DemangleSourceName(Parser))) {
            return 0;
        }
    } while (!DemangleTake(Parser, 'E'));

    return DemangleMakeOne(Parser,
                           DemangleBinding,
                           DemangleMakeList(Parser, First));
}

_Use_decl_annotations_
ULONG
DemangleOperatorName(
    PREADER_DEMANGLER Parser,
    PDEMANGLE_NOTES Encoding
    )
{
    PCDEMANGLE_OPERATOR Operator;
    BOOLEAN IsArgumentsExpected;
    BOOLEAN IsForwardAllowed;
    ULONG Node;

    Operator = DemangleFindOperator(Parser);
    if (Operator != NULL && Operator->Kind == DemangleIsConversion) {

        //
        // The arguments behind the type are the operator's; what the type
        // says of template parameters may refer to them.
        //

        IsArgumentsExpected = Parser->IsArgumentsExpected;
        IsForwardAllowed = Parser->IsForwardAllowed;
        Parser->Next += 2;
        Parser->IsArgumentsExpected = FALSE;
        if (Encoding != NULL) {
            Parser->IsForwardAllowed = TRUE;
        }

        Node = DemangleType(Parser);
        Parser->IsArgumentsExpected = IsArgumentsExpected;
        Parser->IsForwardAllowed = IsForwardAllowed;
        if (Encoding != NULL) {
            Encoding->HasNoReturnType = TRUE;
        }
        return DemangleMakeOne(Parser, DemangleConversion, Node);
    }

    if (Operator != NULL) {
        if (Operator->Kind >= DemangleIsNamedCast ||
            (Operator->Kind == DemangleIsMember &&
             Operator->Name[0] != '-')) {
            return 0;
        }
        Parser->Next += 2;
        Node = DemangleMakeLiteral(Parser, Operator->Name);
        return DemangleMakePrefixed(
            Parser,
            Operator->Name[0] >= 'a' && Operator->Name[0] <= 'z' ?
                "operator " : "operator",
            Node);
    }

    if (DemangleTakeTwo(Parser, "li")) {
        return DemangleMakeOne(Parser,
                               DemangleLiteralOperator,
                               DemangleSourceName(Parser));
    }

    if (DemangleLook(Parser, 0) == 'v' &&
        DemangleIsDigit(DemangleLook(Parser, 1))) {
        Parser->Next += 2;
        return DemangleMakeOne(Parser,
                               DemangleConversion,
                               DemangleSourceName(Parser));
    }

    return 0;
}

//
// Parses a name without its scope, and joins them.
// Scope: the scope it is in, or 0.
// Encoding: what is noted.
// Returns the node, or 0.
//

static
ULONG
DemangleUnqualifiedName(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Scope,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    )
{
    CHAR Character;
    BOOLEAN IsFriend;
    ULONG Node;

    IsFriend = (BOOLEAN)(Scope != 0 && DemangleTake(Parser, 'F'));
    DemangleTake(Parser, 'L');

    Character = DemangleLook(Parser, 0);
    if (Character >= '1' && Character <= '9') {
        Node = DemangleSourceName(Parser);
    } else if (Character == 'U') {
        Node = DemangleUnnamedType(Parser, Encoding);
    } else if (DemangleTakeTwo(Parser, "DC")) {
        Node = DemangleBindings(Parser);
    } else if (Character == 'C' || Character == 'D') {
        Node = Scope == 0 ?
                   0 : DemangleStructorName(Parser, &Scope, Encoding);
    } else {
        Node = DemangleOperatorName(Parser, Encoding);
    }

    Node = DemangleAbiTags(Parser, Node);
    if (Node != 0 && IsFriend) {
        return DemangleMakeTwo(Parser, DemangleFriend, Scope, Node);
    }

    return Scope == 0 ?
               Node : DemangleMakeTwo(Parser, DemangleNested, Scope, Node);
}

//
// Parses a name with its scopes, behind "N".
// Encoding: what is noted.
// Returns the node, or 0.
//

static
ULONG
DemangleNestedName(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    )
{
    ULONG Arguments;
    CHAR Character;
    ULONG Node = 0;
    UCHAR Qualifiers = 0;

    if (!DemangleTake(Parser, 'H')) {
        Qualifiers = DemangleQualifiers(Parser);
        if (DemangleTake(Parser, 'O')) {
            Qualifiers |= DEMANGLE_RVALUE;
        } else if (DemangleTake(Parser, 'R')) {
            Qualifiers |= DEMANGLE_LVALUE;
        }
    }

    if (Encoding != NULL) {
        Encoding->Qualifiers = Qualifiers;
    }

    while (!DemangleTake(Parser, 'E')) {

        if (!DemangleCount(Parser)) {
            return 0;
        }

        if (Encoding != NULL) {
            Encoding->EndsWithArguments = FALSE;
        }

        Character = DemangleLook(Parser, 0);
        if (Character == 'T') {

            if (Node != 0) {
                return 0;
            }
            Node = DemangleParameter(Parser);

        } else if (Character == 'I') {

            if (Node == 0 ||
                Parser->Nodes[Node].Kind == DemangleWithArguments) {
                return 0;
            }
            Arguments = DemangleArguments(Parser, Encoding != NULL);
            Node = DemangleMakeTwo(Parser,
                                   DemangleWithArguments,
                                   Node,
                                   Arguments);
            if (Encoding != NULL) {
                Encoding->EndsWithArguments = TRUE;
            }

        } else if (Character == 'D' && (DemangleLook(Parser, 1) == 't' ||
                                        DemangleLook(Parser, 1) == 'T')) {

            if (Node != 0) {
                return 0;
            }
            Node = DemangleDecltype(Parser);

        } else if (Character == 'S') {

            if (Node != 0) {
                return 0;
            }
            Node = DemangleTakeTwo(Parser, "St") ?
                       DemangleMakeLiteral(Parser, "std") :
                       DemangleSubstitution(Parser);
            if (Node == 0) {
                return 0;
            }
            continue;

        } else {
            Node = DemangleUnqualifiedName(Parser, Node, Encoding);
        }

        if (DemangleAddSubstitution(Parser, Node) == 0) {
            return 0;
        }
        DemangleTake(Parser, 'M');
    }

    //
    // The whole of it is substituted as a type, if it is one.
    //

    if (Node == 0 || Parser->NumberOfSubstitutions == 0) {
        return 0;
    }

    Parser->NumberOfSubstitutions -= 1;
    return Node;
}

//
// Takes the number that tells names in one function apart off the name.
//

static
VOID
DemangleTakeDiscriminator(
    _Inout_ PREADER_DEMANGLER Parser
    )
{
    PCSZ Digits;
    PCSZ First = Parser->Next;

    if (DemangleTake(Parser, '_')) {
        if (DemangleTake(Parser, '_')) {
            if (DemangleTakeDigits(Parser, FALSE, &Digits) != 0 &&
                DemangleTake(Parser, '_')) {
                return;
            }
        } else if (DemangleIsDigit(DemangleLook(Parser, 0))) {
            Parser->Next += 1;
            return;
        }
        Parser->Next = First;
        return;
    }

    if (DemangleTakeDigits(Parser, FALSE, &Digits) != 0 &&
        Parser->Next != Parser->End) {
        Parser->Next = First;
    }
}

//
// Parses a name in a function, behind "Z".
// Encoding: what is noted.
// Returns the node, or 0.
//

static
ULONG
DemangleLocalName(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    )
{
    PCSZ Digits;
    ULONG Entity;
    ULONG Function;
    DEMANGLE_SCOPE Scope;

    Function = DemangleEncoding(Parser);
    if (Function == 0 || !DemangleTake(Parser, 'E')) {
        return 0;
    }

    if (DemangleTake(Parser, 's')) {
        DemangleTakeDiscriminator(Parser);
        Entity = DemangleMakeLiteral(Parser, "string literal");
        return DemangleMakeTwo(Parser, DemangleLocal, Function, Entity);
    }

    //
    // In another name's arguments T_ is not one of those arguments here.
    //

    Scope = Parser->Scope;
    if (Encoding == NULL) {
        Parser->Scope.NumberOfLevels = 0;
    }

    if (DemangleTake(Parser, 'd')) {
        DemangleTakeDigits(Parser, TRUE, &Digits);
        Entity = DemangleTake(Parser, '_') ? DemangleName(Parser, Encoding)
                                           : 0;
    } else {
        Entity = DemangleName(Parser, Encoding);
        DemangleTakeDiscriminator(Parser);
    }

    if (Encoding == NULL) {
        Parser->Scope = Scope;
    }

    return DemangleMakeTwo(Parser, DemangleLocal, Function, Entity);
}

_Use_decl_annotations_
ULONG
DemangleUnscopedName(
    PREADER_DEMANGLER Parser,
    PDEMANGLE_NOTES Encoding,
    PBOOLEAN IsSubstitution
    )
{
    ULONG Scope = 0;

    *IsSubstitution = FALSE;
    if (DemangleTakeTwo(Parser, "St")) {
        Scope = DemangleMakeLiteral(Parser, "std");
        if (Scope == 0) {
            return 0;
        }
    } else if (DemangleLook(Parser, 0) == 'S') {
        *IsSubstitution = TRUE;
        return DemangleSubstitution(Parser);
    }

    return DemangleUnqualifiedName(Parser, Scope, Encoding);
}

_Use_decl_annotations_
ULONG
DemangleName(
    PREADER_DEMANGLER Parser,
    PDEMANGLE_NOTES Encoding
    )
{
    ULONG Arguments;
    BOOLEAN IsSubstitution;
    ULONG Node;

    if (!DemangleEnter(Parser)) {
        return DemangleLeave(Parser, 0);
    }

    if (DemangleTake(Parser, 'N')) {
        return DemangleLeave(Parser, DemangleNestedName(Parser, Encoding));
    }

    if (DemangleTake(Parser, 'Z')) {
        return DemangleLeave(Parser, DemangleLocalName(Parser, Encoding));
    }

    Node = DemangleUnscopedName(Parser, Encoding, &IsSubstitution);
    if (Node == 0 || (DemangleLook(Parser, 0) != 'I' && IsSubstitution)) {
        return DemangleLeave(Parser, 0);
    }

    if (DemangleLook(Parser, 0) == 'I') {
        if (!IsSubstitution && DemangleAddSubstitution(Parser, Node) == 0) {
            return DemangleLeave(Parser, 0);
        }
        Arguments = DemangleArguments(Parser, Encoding != NULL);
        if (Encoding != NULL) {
            Encoding->EndsWithArguments = TRUE;
        }
        Node = DemangleMakeTwo(Parser,
                               DemangleWithArguments,
                               Node,
                               Arguments);
    }

    return DemangleLeave(Parser, Node);
}
