/*++

Module Name:

    DemanglePrint.c

Abstract:

    Shows the nodes that a name was parsed into.

    A type has a part on the left of what it is the type of and one on the
    right: int (*f)[3].  Packs are shown one element at a time inside of an
    expansion, which finds out how many there are while it shows the first.

--*/

#include "DemangleParse.h"
#include "DemanglePrint.h"

_Use_decl_annotations_
VOID
DemangleShowText(
    PREADER_DEMANGLER Parser,
    PCSZ Text,
    ULONG Length
    )
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
{
    DemangleShowText(Parser, Text, DemangleTextLength(Text));
}

_Use_decl_annotations_
VOID
DemangleOpen(
    PREADER_DEMANGLER Parser
    )
{
    Parser->NestingOfGreater += 1;
    DemangleShow(Parser, "(");
}

_Use_decl_annotations_
VOID
DemangleClose(
    PREADER_DEMANGLER Parser
    )
{
    Parser->NestingOfGreater -= 1;
    DemangleShow(Parser, ")");
}

//
// Finds the element of a pack that is being shown.
// Returns the node, or 0.
//

static
ULONG
DemanglePackElement(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
{
    PDEMANGLE_NODE List = &Parser->Nodes[Parser->Nodes[Node].First];

    if (Parser->PackCount == DEMANGLE_NONE) {
        Parser->PackCount = List->Second;
        Parser->PackIndex = 0;
    }

    return Parser->PackIndex < List->Second ?
               Parser->Lists[List->First + Parser->PackIndex] : 0;
}

//
// Goes from a template parameter to what it stands for.
// Returns the node, or 0.
//

static
ULONG
DemangleResolve(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
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

//
// Says whether a type has a part on the right.
//

static
BOOLEAN
DemangleHasRight(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
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

//
// Says whether a type, apart from its qualifiers, is an array or a function.
// Returns DemangleArray, DemangleFunction or DemangleNone.
//

static
UCHAR
DemangleShape(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
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

_Use_decl_annotations_
VOID
DemangleShowOperand(
    PREADER_DEMANGLER Parser,
    ULONG Node,
    ULONG Precedence,
    BOOLEAN IsWorseOnly
    )
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

_Use_decl_annotations_
VOID
DemangleShowList(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
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

_Use_decl_annotations_
VOID
DemangleShowParenthesized(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    DemangleOpen(Parser);
    DemangleShowList(Parser, Node);
    DemangleClose(Parser);
}

_Use_decl_annotations_
VOID
DemangleShowNode(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    if (Parser->Nodes[Node].Kind == DemangleList) {
        DemangleShowList(Parser, Node);
    } else {
        DemanglePrint(Parser, Node);
    }
}

//
// Shows qualifiers, each after a blank.
//

static
VOID
DemangleShowQualifiers(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Qualifiers
    )
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

_Use_decl_annotations_
VOID
DemangleShowOwnText(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    DemangleShowText(Parser,
                     Parser->Nodes[Node].Text,
                     Parser->Nodes[Node].TextLength);
}

_Use_decl_annotations_
VOID
DemangleShowNumber(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
{
    PDEMANGLE_NODE Self = &Parser->Nodes[Node];

    if (Self->TextLength != 0 && Self->Text[0] == 'n') {
        DemangleShow(Parser, "-");
        DemangleShowText(Parser, Self->Text + 1, Self->TextLength - 1);
    } else {
        DemangleShowText(Parser, Self->Text, Self->TextLength);
    }
}

//
// Shows template arguments.
//

static
VOID
DemangleShowArguments(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG List
    )
{
    ULONG Nesting = Parser->NestingOfGreater;

    Parser->NestingOfGreater = 0;
    DemangleShow(Parser, "<");
    DemangleShowList(Parser, List);
    DemangleShow(Parser, ">");
    Parser->NestingOfGreater = Nesting;
}

//
// Shows a pattern for each element of the packs in it.
//

static
VOID
DemangleShowExpansion(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
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

//
// Shows a class's own name, as its constructors have it.
//

static
VOID
DemangleShowBaseName(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
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

//
// Shows the declaration of a template parameter.
// Dots: what stands before the name.
//

static
VOID
DemangleShowDeclaration(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node,
    _In_ PCSZ Dots
    )
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

_Use_decl_annotations_
VOID
DemangleShowClosure(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
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

//
// Shows a name.
// Returns FALSE if the node is none.
//

static
BOOLEAN
DemanglePrintName(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
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

//
// Shows a reference. One to a reference is one, and && only if both are.
// IsLeft: which part of it.
//

static
VOID
DemangleShowReference(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node,
    _In_ BOOLEAN IsLeft
    )
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

//
// Shows the left part of a type.
// Returns FALSE if the node is none.
//

static
BOOLEAN
DemanglePrintTypeLeft(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    )
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

//
// Shows what is on the right of a function's name.
// Return: the type of what it returns, or 0.
// List: its parameters.
//

static
VOID
DemangleShowSignature(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Return,
    _In_ ULONG List,
    _In_ ULONG Qualifiers
    )
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

_Use_decl_annotations_
VOID
DemanglePrintLeft(
    PREADER_DEMANGLER Parser,
    ULONG Node
    )
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
{
    DemanglePrintLeft(Parser, Node);
    DemanglePrintRight(Parser, Node);
}
