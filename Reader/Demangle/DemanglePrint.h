/*++

Module Name:

    DemanglePrint.h

Abstract:

    Shows a node as text.

--*/

#ifndef TRACER_DEMANGLE_PRINT_H
#define TRACER_DEMANGLE_PRINT_H

#include "DemangleNode.h"

//
// Appends to the text.
// Length: its length in bytes.
//

VOID
DemangleShowText(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_reads_(Length) PCSZ Text,
    _In_ ULONG Length
    );

//
// Appends a literal to the text.
//

VOID
DemangleShow(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_z_ PCSZ Text
    );

//
// Shows the right part of a type.
//

VOID
DemanglePrintRight(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows a node without the right part that a type may have.
//

VOID
DemanglePrintLeft(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows a node.
//

VOID
DemanglePrint(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows a literal, or what is written with braces.
// Returns FALSE if the node is none.
//

BOOLEAN
DemanglePrintLiteral(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows an expression.
//

VOID
DemanglePrintExpression(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Opens a parenthesis, in which ">" ends no list of arguments.
//

VOID
DemangleOpen(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Closes a parenthesis.
//

VOID
DemangleClose(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Shows an operand, in parentheses where they are needed.
// Precedence: the precedence around it.
// IsWorseOnly: whether the same precedence may stand alone.
//

VOID
DemangleShowOperand(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node,
    _In_ ULONG Precedence,
    _In_ BOOLEAN IsWorseOnly
    );

//
// Shows a list with commas. What shows nothing, as an empty pack does, gets no
// comma.
//

VOID
DemangleShowList(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows a list in parentheses.
//

VOID
DemangleShowParenthesized(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows a node or a list.
// Node: the node, which may be a list.
//

VOID
DemangleShowNode(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

VOID
DemangleShowOwnText(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows a node's text, a number whose sign may be "n".
//

VOID
DemangleShowNumber(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Shows a lambda's parameters.
//

VOID
DemangleShowClosure(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

#endif // TRACER_DEMANGLE_PRINT_H
