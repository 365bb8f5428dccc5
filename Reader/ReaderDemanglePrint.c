/*++

Module Name:

    ReaderDemanglePrint.c

Abstract:

    Shows the nodes that a name was parsed into.

    A type has a part on the left of what it is the type of and one on the
    right: int (*f)[3].  Packs are shown one element at a time inside of an
    expansion, which finds out how many there are while it shows the first.

--*/

#include "ReaderDemangleNode.h"

_Use_decl_annotations_
VOID
DemangleShowText(
    PREADER_DEMANGLER Parser,
    PCSZ Text,
    ULONG Length
    )
/*++

Routine Description:

    Appends to the text.

Arguments:

    Parser - Supplies the parser.

    Text - Supplies the text.

    Length - Supplies its length in bytes.

Return Value:

    None.

--*/
{
    ULONG Index;

    if (Length > READER_DEMANGLE_MAXIMUM_TEXT - Parser->Length) {
        Parser->IsTooMuch = TRUE;
        return;
    }

    for (Index = 0; Index < Length; Index++) {
        Parser->Text[Parser->Length + Index] = Text[Index];
    }

    Parser->Length += Length;
}

_Use_decl_annotations_
VOID
DemangleShow(
    PREADER_DEMANGLER Parser,
    PCSZ Text
    )
/*++

Routine Description:

    Appends a literal to the text.

Arguments:

    Parser - Supplies the parser.

    Text - Supplies the text.

Return Value:

    None.

--*/
{
    DemangleShowText(Parser, Text, DemangleTextLength(Text));
}

static
VOID
DemangleOpen(
    _Inout_ PREADER_DEMANGLER Parser
    )
/*++

Routine Description:

    Opens a parenthesis, in which ">" ends no list of arguments.

Arguments:

    Parser - Supplies the parser.

Return Value:

    None.

--*/
{
    Parser->NestingOfGreater += 1;
    DemangleShow(Parser, "(");
}

static
VOID
DemangleClose(
    _Inout_ PREADER_DEMANGLER Parser
    )
/*++

Routine Description:

    Closes a parenthesis.

Arguments:

    Parser - Supplies the parser.

Return Value:

    None.

--*/
{
    Parser->NestingOfGreater -= 1;
    DemangleShow(Parser, ")");
}

static
ULONG
DemanglePackElement(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Finds the element of a pack that is being shown.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the pack.

Return Value:

    The node, or 0.

--*/
{
    PDEMANGLE_NODE List = &Parser->Nodes[Parser->Nodes[Node].First];

    if (Parser->PackCount == DEMANGLE_NONE) {
        Parser->PackCount = List->Second;
        Parser->PackIndex = 0;
    }

    return Parser->PackIndex < List->Second ?
               Parser->Lists[List->First + Parser->PackIndex] : 0;
}

static
ULONG
DemangleResolve(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Goes from a template parameter to what it stands for.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    The node, or 0.

--*/
{
    while (Node != 0 && DemangleCount(Parser)) {
        if (Parser->Nodes[Node].Kind == DemangleForward) {
            Node = Parser->Nodes[Node].First;
        } else if (Parser->Nodes[Node].Kind == DemangleParameterPack) {
            Node = DemanglePackElement(Parser, Node);
        } else {
            return Node;
        }
    }

    return 0;
}

static
BOOLEAN
DemangleHasRight(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Says whether a type has a part on the right.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the type.

Return Value:

    TRUE if it does.

--*/
{
    for (;;) {

        Node = DemangleResolve(Parser, Node);
        switch (Parser->Nodes[Node].Kind) {

        case DemangleArray:
        case DemangleFunction:
        case DemangleEncoded:
            return (BOOLEAN)(Node != 0);

        case DemanglePointer:
        case DemangleReference:
        case DemangleQualified:
            Node = Parser->Nodes[Node].First;
            break;

        case DemangleMemberPointer:
            Node = Parser->Nodes[Node].Second;
            break;

        default:
            return FALSE;
        }
    }
}

static
UCHAR
DemangleShape(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Says whether a type, apart from its qualifiers, is an array or a function.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the type.

Return Value:

    DemangleArray, DemangleFunction or DemangleNone.

--*/
{
    for (;;) {

        Node = DemangleResolve(Parser, Node);
        switch (Parser->Nodes[Node].Kind) {

        case DemangleArray:
            return DemangleArray;

        case DemangleFunction:
        case DemangleEncoded:
            return DemangleFunction;

        case DemangleQualified:
            Node = Parser->Nodes[Node].First;
            break;

        default:
            return DemangleNone;
        }
    }
}

static
VOID
DemangleShowOperand(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node,
    _In_ ULONG Precedence,
    _In_ BOOLEAN IsWorseOnly
    )
/*++

Routine Description:

    Shows an operand, in parentheses where they are needed.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the operand.

    Precedence - Supplies the precedence around it.

    IsWorseOnly - Supplies whether the same precedence may stand alone.

Return Value:

    None.

--*/
{
    if (Parser->Nodes[Node].Precedence >=
        Precedence + (IsWorseOnly ? 1u : 0u)) {
        DemangleOpen(Parser);
        DemanglePrint(Parser, Node);
        DemangleClose(Parser);
    } else {
        DemanglePrint(Parser, Node);
    }
}

static
VOID
DemangleShowList(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a list with commas.  What shows nothing, as an empty pack does, gets
    no comma.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the list.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE List = &Parser->Nodes[Node];
    ULONG AfterComma;
    ULONG BeforeComma;
    ULONG Index;
    BOOLEAN IsFirst = TRUE;

    if (List->Kind != DemangleList) {
        return;
    }

    for (Index = 0; Index < List->Second; Index++) {

        BeforeComma = Parser->Length;
        if (!IsFirst) {
            DemangleShow(Parser, ", ");
        }

        AfterComma = Parser->Length;
        DemangleShowOperand(Parser,
                            Parser->Lists[List->First + Index],
                            DemangleCommaLevel,
                            FALSE);
        if (Parser->IsTooMuch) {
            return;
        }

        if (Parser->Length == AfterComma) {
            Parser->Length = BeforeComma;
        } else {
            IsFirst = FALSE;
        }
    }
}

static
VOID
DemangleShowParenthesized(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a list in parentheses.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the list.

Return Value:

    None.

--*/
{
    DemangleOpen(Parser);
    DemangleShowList(Parser, Node);
    DemangleClose(Parser);
}

static
VOID
DemangleShowNode(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a node or a list.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node, which may be a list.

Return Value:

    None.

--*/
{
    if (Parser->Nodes[Node].Kind == DemangleList) {
        DemangleShowList(Parser, Node);
    } else {
        DemanglePrint(Parser, Node);
    }
}

static
VOID
DemangleShowQualifiers(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Qualifiers
    )
/*++

Routine Description:

    Shows qualifiers, each after a blank.

Arguments:

    Parser - Supplies the parser.

    Qualifiers - Supplies them.

Return Value:

    None.

--*/
{
    if (Qualifiers & DEMANGLE_CONST) {
        DemangleShow(Parser, " const");
    }
    if (Qualifiers & DEMANGLE_VOLATILE) {
        DemangleShow(Parser, " volatile");
    }
    if (Qualifiers & DEMANGLE_RESTRICT) {
        DemangleShow(Parser, " restrict");
    }
    if (Qualifiers & DEMANGLE_LVALUE) {
        DemangleShow(Parser, " &");
    }
    if (Qualifiers & DEMANGLE_RVALUE) {
        DemangleShow(Parser, " &&");
    }
}

static
VOID
DemangleShowOwnText(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a node's text.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    None.

--*/
{
    DemangleShowText(Parser,
                     Parser->Nodes[Node].Text,
                     Parser->Nodes[Node].TextLength);
}

static
VOID
DemangleShowNumber(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a node's text, a number whose sign may be "n".

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    if (Self->TextLength != 0 && Self->Text[0] == 'n') {
        DemangleShow(Parser, "-");
        DemangleShowText(Parser, Self->Text + 1, Self->TextLength - 1);
    } else {
        DemangleShowText(Parser, Self->Text, Self->TextLength);
    }
}

static
VOID
DemangleShowArguments(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG List
    )
/*++

Routine Description:

    Shows template arguments.

Arguments:

    Parser - Supplies the parser.

    List - Supplies the list.

Return Value:

    None.

--*/
{
    ULONG Nesting = Parser->NestingOfGreater;

    Parser->NestingOfGreater = 0;
    DemangleShow(Parser, "<");
    DemangleShowList(Parser, List);
    DemangleShow(Parser, ">");
    Parser->NestingOfGreater = Nesting;
}

static
VOID
DemangleShowExpansion(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a pattern for each element of the packs in it.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the expansion.

Return Value:

    None.

--*/
{
    ULONG Count = Parser->PackCount;
    ULONG First = Parser->Nodes[Node].First;
    ULONG Index = Parser->PackIndex;
    ULONG Length = Parser->Length;
    ULONG Next;

    Parser->PackCount = DEMANGLE_NONE;
    Parser->PackIndex = DEMANGLE_NONE;
    DemanglePrint(Parser, First);

    if (Parser->PackCount == DEMANGLE_NONE) {
        DemangleShow(Parser, "...");
    } else if (Parser->PackCount == 0) {
        Parser->Length = Length;
    } else {
        for (Next = 1;
             Next < Parser->PackCount && !Parser->IsTooMuch;
             Next++) {
            DemangleShow(Parser, ", ");
            Parser->PackIndex = Next;
            DemanglePrint(Parser, First);
        }
    }

    Parser->PackCount = Count;
    Parser->PackIndex = Index;
}

static
VOID
DemangleShowBaseName(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a class's own name, as its constructors have it.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the class.

Return Value:

    None.

--*/
{
    while (Node != 0 && DemangleCount(Parser)) {

        switch (Parser->Nodes[Node].Kind) {

        case DemangleNested:
        case DemangleFriend:
        case DemangleLocal:
            Node = Parser->Nodes[Node].Second;
            break;

        case DemangleWithArguments:
        case DemangleAbiTag:
        case DemangleForward:
            Node = Parser->Nodes[Node].First;
            break;

        case DemangleText:
        case DemangleSpecial:
        case DemangleExpanded:
            DemangleShowOwnText(Parser, Node);
            return;

        default:
            return;
        }
    }
}

static
VOID
DemangleShowDeclaration(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node,
    _In_ PCSZ Dots
    )
/*++

Routine Description:

    Shows the declaration of a template parameter.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the declaration.

    Dots - Supplies what stands before the name.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    ULONG Nesting;

    switch (Self->Kind) {

    case DemangleTypeParameter:
        DemangleShow(Parser, "typename ");
        DemangleShow(Parser, Dots);
        DemangleShowOwnText(Parser, Node);
        break;

    case DemangleValueParameter:
        DemanglePrintLeft(Parser, Self->First);
        if (!DemangleHasRight(Parser, Self->First)) {
            DemangleShow(Parser, " ");
        }
        DemangleShow(Parser, Dots);
        DemangleShowOwnText(Parser, Node);
        DemanglePrintRight(Parser, Self->First);
        break;

    case DemangleTemplateParameter:
        Nesting = Parser->NestingOfGreater;
        Parser->NestingOfGreater = 0;
        DemangleShow(Parser, "template<");
        DemangleShowList(Parser, Self->First);
        DemangleShow(Parser, "> typename ");
        Parser->NestingOfGreater = Nesting;
        DemangleShow(Parser, Dots);
        DemangleShowOwnText(Parser, Node);
        break;

    case DemanglePackParameter:
        if (Dots[0] == 0) {
            DemangleShowDeclaration(Parser, Self->First, "...");
        }
        break;

    default:
        break;
    }
}

static
VOID
DemangleShowClosure(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a lambda's parameters.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the lambda.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    if (Self->Kind != DemangleClosure) {
        return;
    }

    if (Parser->Nodes[Self->First].Second != 0) {
        DemangleShowArguments(Parser, Self->First);
    }

    DemangleShowParenthesized(Parser, Self->Second);
}

static
BOOLEAN
DemanglePrintName(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a name.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    FALSE if the node is none.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    switch (Self->Kind) {

    case DemangleText:
        DemangleShowOwnText(Parser, Node);
        break;

    case DemangleNested:
    case DemangleLocal:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, "::");
        DemanglePrint(Parser, Self->Second);
        break;

    case DemangleFriend:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, "::friend ");
        DemanglePrint(Parser, Self->Second);
        break;

    case DemangleGlobal:
        DemangleShow(Parser, "::");
        DemanglePrint(Parser, Self->First);
        break;

    case DemangleWithArguments:
        DemanglePrint(Parser, Self->First);
        DemanglePrint(Parser, Self->Second);
        break;

    case DemangleArgumentList:
        DemangleShowArguments(Parser, Self->First);
        break;

    case DemangleArgumentPack:
        DemangleShowList(Parser, Self->First);
        break;

    case DemangleAbiTag:
        DemanglePrintLeft(Parser, Self->First);
        DemangleShow(Parser, "[abi:");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, "]");
        break;

    case DemangleStructor:
        if (Self->Second) {
            DemangleShow(Parser, "~");
        }
        DemangleShowBaseName(Parser, Self->First);
        break;

    case DemangleSpecial:
        DemangleShow(Parser, "std::");
        DemangleShowOwnText(Parser, Node);
        break;

    case DemangleExpanded:
        DemangleShow(Parser, "std::");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, "<char, std::char_traits<char>");
        if (Self->Text[6] == 's') {
            DemangleShow(Parser, ", std::allocator<char>");
        }
        DemangleShow(Parser, ">");
        break;

    case DemangleClosure:
        DemangleShow(Parser, "'lambda");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, "'");
        DemangleShowClosure(Parser, Node);
        break;

    case DemangleUnnamed:
        DemangleShow(Parser, "'unnamed");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, "'");
        break;

    case DemangleBinding:
        DemangleShow(Parser, "[");
        DemangleShowList(Parser, Self->First);
        DemangleShow(Parser, "]");
        break;

    case DemangleConversion:
        DemangleShow(Parser, "operator ");
        DemanglePrint(Parser, Self->First);
        break;

    case DemangleLiteralOperator:
        DemangleShow(Parser, "operator\"\" ");
        DemanglePrint(Parser, Self->First);
        break;

    case DemangleDestructor:
        DemangleShow(Parser, "~");
        DemanglePrintLeft(Parser, Self->First);
        break;

    case DemangleTypeParameter:
    case DemangleValueParameter:
    case DemangleTemplateParameter:
    case DemanglePackParameter:
        DemangleShowDeclaration(Parser, Node, "");
        break;

    case DemangleQualifiedArgument:
        DemanglePrint(Parser, Self->First);
        break;

    default:
        return FALSE;
    }

    return TRUE;
}

static
VOID
DemangleShowReference(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node,
    _In_ BOOLEAN IsLeft
    )
/*++

Routine Description:

    Shows a reference.  One to a reference is one, and && only if both are.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the reference.

    IsLeft - Supplies which part of it.

Return Value:

    None.

--*/
{
    BOOLEAN IsRight;
    UCHAR Shape;

    IsRight = TRUE;
    for (;;) {
        IsRight = (BOOLEAN)(IsRight && Parser->Nodes[Node].Second != 0);
        Node = DemangleResolve(Parser, Parser->Nodes[Node].First);
        if (Parser->Nodes[Node].Kind != DemangleReference || Node == 0) {
            break;
        }
    }

    if (Node == 0) {
        return;
    }

    Shape = DemangleShape(Parser, Node);
    if (IsLeft) {
        DemanglePrintLeft(Parser, Node);
        if (Shape == DemangleArray) {
            DemangleShow(Parser, " ");
        }
        if (Shape != DemangleNone) {
            DemangleShow(Parser, "(");
        }
        DemangleShow(Parser, IsRight ? "&&" : "&");
    } else {
        if (Shape != DemangleNone) {
            DemangleShow(Parser, ")");
        }
        DemanglePrintRight(Parser, Node);
    }
}

static
BOOLEAN
DemanglePrintTypeLeft(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows the left part of a type.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    FALSE if the node is none.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    UCHAR Shape;

    switch (Self->Kind) {

    case DemangleForward:
    case DemangleParameterPack:
        Node = DemangleResolve(Parser, Node);
        if (Node != 0) {
            DemanglePrintLeft(Parser, Node);
        }
        break;

    case DemanglePointer:
        DemanglePrintLeft(Parser, Self->First);
        Shape = DemangleShape(Parser, Self->First);
        if (Shape == DemangleArray) {
            DemangleShow(Parser, " ");
        }
        if (Shape != DemangleNone) {
            DemangleShow(Parser, "(");
        }
        DemangleShow(Parser, "*");
        break;

    case DemangleReference:
        DemangleShowReference(Parser, Node, TRUE);
        break;

    case DemangleMemberPointer:
        DemanglePrintLeft(Parser, Self->Second);
        DemangleShow(Parser,
                     DemangleShape(Parser, Self->Second) != DemangleNone ?
                         "(" : " ");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, "::*");
        break;

    case DemangleArray:
        DemanglePrintLeft(Parser, Self->First);
        break;

    case DemangleFunction:
        DemanglePrintLeft(Parser, Self->First);
        DemangleShow(Parser, " ");
        break;

    case DemangleQualified:
        DemanglePrintLeft(Parser, Self->First);
        DemangleShowQualifiers(Parser, Self->Flags);
        break;

    case DemangleVendorQualified:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, " ");
        DemangleShowOwnText(Parser, Node);
        if (Self->Second != 0) {
            DemanglePrint(Parser, Self->Second);
        }
        break;

    case DemanglePostfix:
        DemanglePrintLeft(Parser, Self->First);
        DemangleShowOwnText(Parser, Node);
        break;

    case DemangleVector:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, " vector[");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, "]");
        break;

    case DemanglePixelVector:
        DemangleShow(Parser, "pixel vector[");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, "]");
        break;

    case DemangleBitInteger:
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, "_BitInt(");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, ")");
        break;

    case DemangleElaborated:
    case DemanglePrefixed:
        DemangleShowOwnText(Parser, Node);
        DemanglePrint(Parser, Self->First);
        break;

    case DemangleTransformed:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, "(");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, ")");
        break;

    case DemangleNoexcept:
        DemangleShow(Parser, "noexcept");
        DemangleOpen(Parser);
        DemangleShowOperand(Parser, Self->First, DemangleAnyLevel, FALSE);
        DemangleClose(Parser);
        break;

    case DemangleThrows:
        DemangleShow(Parser, "throw");
        DemangleShowParenthesized(Parser, Self->First);
        break;

    case DemangleExpansion:
        DemangleShowExpansion(Parser, Node);
        break;

    case DemangleEncoded:
        if (Self->First != 0) {
            DemanglePrintLeft(Parser, Self->First);
            if (!DemangleHasRight(Parser, Self->First)) {
                DemangleShow(Parser, " ");
            }
        }
        DemanglePrint(Parser, Self->Second);
        break;

    case DemangleConstruction:
        DemangleShow(Parser, "construction vtable for ");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, "-in-");
        DemanglePrint(Parser, Self->Second);
        break;

    case DemangleEnableIf:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, " [enable_if:");
        DemangleShowList(Parser, Self->Second);
        DemangleShow(Parser, "]");
        break;

    case DemangleRequires:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, " requires ");
        DemanglePrint(Parser, Self->Second);
        break;

    default:
        return FALSE;
    }

    return TRUE;
}

static
VOID
DemangleShowSignature(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Return,
    _In_ ULONG List,
    _In_ ULONG Qualifiers
    )
/*++

Routine Description:

    Shows what is on the right of a function's name.

Arguments:

    Parser - Supplies the parser.

    Return - Supplies the type of what it returns, or 0.

    List - Supplies its parameters.

    Qualifiers - Supplies its qualifiers.

Return Value:

    None.

--*/
{
    DemangleShowParenthesized(Parser, List);
    if (Return != 0) {
        DemanglePrintRight(Parser, Return);
    }
    DemangleShowQualifiers(Parser, Qualifiers);
}

_Use_decl_annotations_
VOID
DemanglePrintRight(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
/*++

Routine Description:

    Shows the right part of a type.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    Parser->Depth += 1;
    if (Parser->Depth > DEMANGLE_MAXIMUM_PRINT_DEPTH) {
        Parser->IsTooMuch = TRUE;
    }

    if (Parser->IsTooMuch || !DemangleCount(Parser)) {
        Parser->Depth -= 1;
        return;
    }

    switch (Self->Kind) {

    case DemangleForward:
    case DemangleParameterPack:
        Node = DemangleResolve(Parser, Node);
        if (Node != 0) {
            DemanglePrintRight(Parser, Node);
        }
        break;

    case DemanglePointer:
        if (DemangleShape(Parser, Self->First) != DemangleNone) {
            DemangleShow(Parser, ")");
        }
        DemanglePrintRight(Parser, Self->First);
        break;

    case DemangleReference:
        DemangleShowReference(Parser, Node, FALSE);
        break;

    case DemangleMemberPointer:
        if (DemangleShape(Parser, Self->Second) != DemangleNone) {
            DemangleShow(Parser, ")");
        }
        DemanglePrintRight(Parser, Self->Second);
        break;

    case DemangleArray:
        if (Parser->Length == 0 ||
            Parser->Text[Parser->Length - 1] != ']') {
            DemangleShow(Parser, " ");
        }
        DemangleShow(Parser, "[");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, "]");
        DemanglePrintRight(Parser, Self->First);
        break;

    case DemangleFunction:
        DemangleShowSignature(Parser, Self->First, Self->Second, Self->Flags);
        if (Self->Third != 0) {
            DemangleShow(Parser, " ");
            DemanglePrint(Parser, Self->Third);
        }
        break;

    case DemangleEncoded:
        DemangleShowSignature(Parser, Self->First, Self->Third, Self->Flags);
        break;

    case DemangleQualified:
        DemanglePrintRight(Parser, Self->First);
        break;

    default:
        break;
    }

    Parser->Depth -= 1;
}

static
VOID
DemangleShowHexadecimal(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONGLONG Fraction
    )
/*++

Routine Description:

    Shows hexadecimal digits without the zeroes at their end.

Arguments:

    Parser - Supplies the parser.

    Fraction - Supplies the digits, leftmost first.

Return Value:

    None.

--*/
{
    CHAR Digit;

    while (Fraction != 0) {
        Digit = "0123456789abcdef"[Fraction >> 60];
        DemangleShowText(Parser, &Digit, 1);
        Fraction <<= 4;
    }
}

static
VOID
DemangleShowExponent(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ LONG Exponent
    )
/*++

Routine Description:

    Shows a binary exponent.

Arguments:

    Parser - Supplies the parser.

    Exponent - Supplies it.

Return Value:

    None.

--*/
{
    CHAR Digits[12];
    ULONG Index = sizeof(Digits);
    ULONG Value;

    DemangleShow(Parser, Exponent < 0 ? "p-" : "p+");
    Value = (ULONG)(Exponent < 0 ? -Exponent : Exponent);
    do {
        Index -= 1;
        Digits[Index] = (CHAR)('0' + Value % 10);
        Value /= 10;
    } while (Value != 0);

    DemangleShowText(Parser, Digits + Index, sizeof(Digits) - Index);
}

static
VOID
DemangleShowFloat(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a floating point number in hexadecimal, as C's %a does: its bits are
    given, and no digit is lost.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the literal.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    ULONGLONG Bits = 0;
    ULONG Biased;
    LONG Exponent;
    ULONG Head = 0;
    ULONG Index;
    ULONG Infinite;
    CHAR Leading;

    //
    // Head has the sign and the exponent, Bits the rest from its left on.
    //

    for (Index = 0; Index < Self->TextLength; Index++) {
        Biased = (ULONG)(Self->Text[Index] <= '9' ?
                             Self->Text[Index] - '0' :
                             Self->Text[Index] - 'a' + 10);
        if (Self->TextLength == 20 && Index < 4) {
            Head = Head * 16 + Biased;
        } else {
            Bits = (Bits << 4) | Biased;
        }
    }

    if (Self->TextLength == 8) {
        Head = (ULONG)(Bits >> 23);
        Bits <<= 41;
        Infinite = 0xFF;
        Exponent = (LONG)(Head & Infinite) - 127;
        Biased = Head & 0x100;
    } else if (Self->TextLength == 16) {
        Head = (ULONG)(Bits >> 52);
        Bits <<= 12;
        Infinite = 0x7FF;
        Exponent = (LONG)(Head & Infinite) - 1023;
        Biased = Head & 0x800;
    } else {
        Infinite = 0x7FFF;
        Exponent = (LONG)(Head & Infinite) - 16383 - 3;
        Biased = Head & 0x8000;
    }

    if (Biased != 0) {
        DemangleShow(Parser, "-");
    }

    Head &= Infinite;
    Leading = '1';
    if (Self->TextLength == 20) {
        Leading = "0123456789abcdef"[Bits >> 60];
        Bits <<= 4;
    }

    if (Head == Infinite) {
        DemangleShow(Parser, Bits == 0 ? "inf" : "nan");
    } else {
        if (Head == 0 && Self->TextLength != 20) {
            Leading = '0';
            Exponent = Bits == 0 ? 0 : Exponent + 1;

            //
            // A small float is an ordinary double, which is what is shown.
            //

            if (Self->TextLength == 8 && Bits != 0) {
                Leading = '1';
                do {
                    Exponent -= 1;
                    Bits <<= 1;
                } while ((Bits >> 63) == 0);
                Exponent -= 1;
                Bits <<= 1;
            }
        } else if (Leading == '0' && Bits == 0) {
            Exponent = 0;
        }
        DemangleShow(Parser, "0x");
        DemangleShowText(Parser, &Leading, 1);
        if (Bits != 0) {
            DemangleShow(Parser, ".");
            DemangleShowHexadecimal(Parser, Bits);
        }
        DemangleShowExponent(Parser, Exponent);
    }

    if (Self->Second == 'f') {
        DemangleShow(Parser, "f");
    } else if (Self->Second == 'e') {
        DemangleShow(Parser, "L");
    }
}

static
VOID
DemangleShowBinary(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows an operator between two operands.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the expression.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    BOOLEAN IsAssignment;
    BOOLEAN IsGreater;

    IsGreater = (BOOLEAN)(Parser->NestingOfGreater == 0 &&
                          Self->Text[0] == '>' &&
                          (Self->TextLength == 1 ||
                           (Self->TextLength == 2 && Self->Text[1] == '>')));
    if (IsGreater) {
        DemangleOpen(Parser);
    }

    IsAssignment = (BOOLEAN)(Self->Precedence == DemangleAssignLevel);
    DemangleShowOperand(Parser,
                        Self->First,
                        IsAssignment ? DemangleOrIfLevel : Self->Precedence,
                        (BOOLEAN)!IsAssignment);
    if (Self->Text[0] != ',') {
        DemangleShow(Parser, " ");
    }
    DemangleShowOwnText(Parser, Node);
    DemangleShow(Parser, " ");
    DemangleShowOperand(Parser, Self->Second, Self->Precedence, IsAssignment);
    if (IsGreater) {
        DemangleClose(Parser);
    }
}

static
VOID
DemangleShowFoldPack(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows the pack of a fold expression.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the expansion.

Return Value:

    None.

--*/
{
    DemangleOpen(Parser);
    DemanglePrint(Parser, Node);
    DemangleClose(Parser);
}

static
VOID
DemangleShowFold(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a fold expression.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the expression.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    BOOLEAN IsLeft = (BOOLEAN)((Self->Flags & DEMANGLE_LEFT) != 0);

    DemangleOpen(Parser);
    if (!IsLeft || Self->Second != 0) {
        if (IsLeft) {
            DemangleShowOperand(Parser,
                                Self->Second,
                                DemangleCastLevel,
                                TRUE);
        } else {
            DemangleShowFoldPack(Parser, Self->First);
        }
        DemangleShow(Parser, " ");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, " ");
    }

    DemangleShow(Parser, "...");
    if (IsLeft || Self->Second != 0) {
        DemangleShow(Parser, " ");
        DemangleShowOwnText(Parser, Node);
        DemangleShow(Parser, " ");
        if (IsLeft) {
            DemangleShowFoldPack(Parser, Self->First);
        } else {
            DemangleShowOperand(Parser,
                                Self->Second,
                                DemangleCastLevel,
                                TRUE);
        }
    }
    DemangleClose(Parser);
}

static
VOID
DemangleShowInitializer(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows what is behind a designator.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies what is initialized with.

Return Value:

    None.

--*/
{
    if (Parser->Nodes[Node].Kind != DemangleBraced &&
        Parser->Nodes[Node].Kind != DemangleBracedRange) {
        DemangleShow(Parser, " = ");
    }
    DemanglePrint(Parser, Node);
}

static
VOID
DemangleShowNew(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows new and delete.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the expression.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    if (Self->Flags & DEMANGLE_GLOBAL) {
        DemangleShow(Parser, "::");
    }
    DemangleShowOwnText(Parser, Node);

    if (Self->Kind == DemangleDelete) {
        DemangleShow(Parser, " ");
        DemanglePrint(Parser, Self->First);
        return;
    }

    if (Parser->Nodes[Self->First].Second != 0) {
        DemangleShowParenthesized(Parser, Self->First);
    }
    DemangleShow(Parser, " ");
    DemanglePrint(Parser, Self->Second);
    if (Parser->Nodes[Self->Third].Second != 0 ||
        (Self->Flags & DEMANGLE_PARENTHESES)) {
        DemangleShowParenthesized(Parser, Self->Third);
    }
}

static
BOOLEAN
DemanglePrintLiteral(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows a literal, or what is written with braces.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    FALSE if the node is none.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    switch (Self->Kind) {

    case DemangleInitializers:
        if (Self->First != 0) {
            DemanglePrint(Parser, Self->First);
        }
        DemangleShow(Parser, "{");
        DemangleShowList(Parser, Self->Second);
        DemangleShow(Parser, "}");
        break;

    case DemangleBraced:
        if (Self->Flags & DEMANGLE_BRACKETS) {
            DemangleShow(Parser, "[");
            DemanglePrint(Parser, Self->First);
            DemangleShow(Parser, "]");
        } else {
            DemangleShow(Parser, ".");
            DemanglePrint(Parser, Self->First);
        }
        DemangleShowInitializer(Parser, Self->Second);
        break;

    case DemangleBracedRange:
        DemangleShow(Parser, "[");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, " ... ");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, "]");
        DemangleShowInitializer(Parser, Self->Third);
        break;

    case DemangleInteger:
        if (Parser->Nodes[Self->Second].TextLength > 3) {
            DemangleShow(Parser, "(");
            DemangleShowOwnText(Parser, Self->Second);
            DemangleShow(Parser, ")");
        }
        DemangleShowNumber(Parser, Node);
        if (Parser->Nodes[Self->Second].TextLength <= 3) {
            DemangleShowOwnText(Parser, Self->Second);
        }
        break;

    case DemangleIntegerCast:
        DemangleOpen(Parser);
        DemanglePrint(Parser, Self->First);
        DemangleClose(Parser);
        DemangleShowNumber(Parser, Node);
        break;

    case DemangleFloat:
        DemangleShowFloat(Parser, Node);
        break;

    case DemangleString:
        DemangleShow(Parser, "\"<");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, ">\"");
        break;

    case DemangleLambda:
        DemangleShow(Parser, "[]");
        DemangleShowClosure(Parser, Self->First);
        DemangleShow(Parser, "{...}");
        break;

    case DemangleSubobject:
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, ".<");
        DemanglePrint(Parser, Self->Second);
        DemangleShow(Parser, " at offset ");
        if (Self->TextLength == 0) {
            DemangleShow(Parser, "0");
        }
        DemangleShowNumber(Parser, Node);
        DemangleShow(Parser, ">");
        break;

    default:
        return FALSE;
    }

    return TRUE;
}

static
VOID
DemanglePrintExpression(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
/*++

Routine Description:

    Shows an expression.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    None.

--*/
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];
    ULONG Nesting;

    switch (Self->Kind) {

    case DemangleBinary:
        DemangleShowBinary(Parser, Node);
        break;

    case DemanglePrefix:
        DemangleShowOwnText(Parser, Node);
        DemangleShowOperand(Parser, Self->First, Self->Precedence, FALSE);
        break;

    case DemanglePostfixed:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, TRUE);
        DemangleShowOwnText(Parser, Node);
        break;

    case DemangleConditional:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, FALSE);
        DemangleShow(Parser, " ? ");
        DemangleShowOperand(Parser, Self->Second, DemangleAnyLevel, FALSE);
        DemangleShow(Parser, " : ");
        DemangleShowOperand(Parser, Self->Third, DemangleAssignLevel, TRUE);
        break;

    case DemangleMember:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, TRUE);
        DemangleShowOwnText(Parser, Node);
        DemangleShowOperand(Parser, Self->Second, Self->Precedence, FALSE);
        break;

    case DemangleSubscript:
        DemangleShowOperand(Parser, Self->First, Self->Precedence, FALSE);
        DemangleShow(Parser, "[");
        DemangleShowOperand(Parser, Self->Second, DemangleAnyLevel, FALSE);
        DemangleShow(Parser, "]");
        break;

    case DemangleEnclosed:
        DemangleShowOwnText(Parser, Node);
        DemangleOpen(Parser);
        DemangleShowNode(Parser, Self->First);
        DemangleClose(Parser);
        break;

    case DemangleCast:
        DemangleShowOwnText(Parser, Node);
        Nesting = Parser->NestingOfGreater;
        Parser->NestingOfGreater = 0;
        DemangleShow(Parser, "<");
        DemanglePrint(Parser, Self->First);
        DemangleShow(Parser, ">");
        Parser->NestingOfGreater = Nesting;
        DemangleOpen(Parser);
        DemangleShowOperand(Parser, Self->Second, DemangleAnyLevel, FALSE);
        DemangleClose(Parser);
        break;

    case DemangleCall:
        DemanglePrint(Parser, Self->First);
        DemangleShowParenthesized(Parser, Self->Second);
        break;

    case DemangleConvert:
        DemangleOpen(Parser);
        DemanglePrint(Parser, Self->First);
        DemangleClose(Parser);
        DemangleShowParenthesized(Parser, Self->Second);
        break;

    case DemangleNew:
    case DemangleDelete:
        DemangleShowNew(Parser, Node);
        break;

    case DemangleSizeOfPack:
        DemangleShow(Parser, "sizeof...");
        DemangleShowFoldPack(Parser, Self->First);
        break;

    case DemangleFold:
        DemangleShowFold(Parser, Node);
        break;

    case DemangleThrow:
        DemangleShow(Parser, "throw ");
        DemanglePrint(Parser, Self->First);
        break;

    default:
        break;
    }
}

_Use_decl_annotations_
VOID
DemanglePrintLeft(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
/*++

Routine Description:

    Shows a node without the right part that a type may have.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    None.

--*/
{
    Parser->Depth += 1;
    if (Parser->Depth > DEMANGLE_MAXIMUM_PRINT_DEPTH) {
        Parser->IsTooMuch = TRUE;
    }

    if (!Parser->IsTooMuch && DemangleCount(Parser) &&
        !DemanglePrintName(Parser, Node) &&
        !DemanglePrintTypeLeft(Parser, Node) &&
        !DemanglePrintLiteral(Parser, Node)) {
        DemanglePrintExpression(Parser, Node);
    }

    Parser->Depth -= 1;
}

_Use_decl_annotations_
VOID
DemanglePrint(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
/*++

Routine Description:

    Shows a node.

Arguments:

    Parser - Supplies the parser.

    Node - Supplies the node.

Return Value:

    None.

--*/
{
    DemanglePrintLeft(Parser, Node);
    DemanglePrintRight(Parser, Node);
}
