/*++

Module Name:

    DemangleGrammar.h

Abstract:

    The parts of the grammar, which call each other: names, types, expressions.

--*/

#ifndef TRACER_DEMANGLE_GRAMMAR_H
#define TRACER_DEMANGLE_GRAMMAR_H

#include "DemangleNode.h"

//
// Parses an identifier: its length, then its characters.
// Returns the node, or 0.
//

ULONG
DemangleSourceName(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Parses the qualifiers restrict, volatile and const, in their order.
// Returns DEMANGLE_RESTRICT, _VOLATILE and _CONST.
//

UCHAR
DemangleQualifiers(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Parses S_ and its kin.
// Returns the node, or 0.
//

ULONG
DemangleSubstitution(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Parses T_ and its kin.
// Returns the node, or 0.
//

ULONG
DemangleParameter(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Says whether the declaration of a template parameter is next.
//

BOOLEAN
DemangleIsDeclaration(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Parses the declaration of a template parameter.
// Level: which list it belongs to, or DEMANGLE_NONE.
// Returns the node, or 0.
//

ULONG
DemangleDeclaration(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Level
    );

//
// Parses one template argument.
// Returns the node, or 0.
//

ULONG
DemangleArgument(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Parses a list of template arguments.
// IsOuter: whether T_ refers to them from here on.
// Returns the node, or 0.
//

ULONG
DemangleArguments(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ BOOLEAN IsOuter
    );

//
// Parses a type without a name: a lambda's, a structure's, a block's.
// Encoding: whose name it is in.
// Returns the node, or 0.
//

ULONG
DemangleUnnamedType(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    );

//
// Encoding: what is noted.
// Returns the node, or 0.
//

ULONG
DemangleOperatorName(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    );

//
// Parses a name that is in no scope or in std, or a substitution.
// IsSubstitution: whether it is one.
// Returns the node, or 0.
//

ULONG
DemangleUnscopedName(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding,
    _Out_ PBOOLEAN IsSubstitution
    );

//
// Encoding: what is noted for the encoding whose name it is; NULL if it is in
// another place.
// Returns the node, or 0.
//

ULONG
DemangleName(
    _Inout_ PREADER_DEMANGLER Parser,
    _Inout_opt_ PDEMANGLE_NOTES Encoding
    );

//
// Parses decltype of an expression.
// Returns the node, or 0.
//

ULONG
DemangleDecltype(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Returns the node, or 0.
//

ULONG
DemangleType(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Finds the operator whose code is next, and leaves the code where it is.
// Returns the operator, or NULL.
//

PCDEMANGLE_OPERATOR
DemangleFindOperator(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Returns the node, or 0.
//

ULONG
DemangleLiteralExpression(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Parses an expression in braces, which may say what it initializes.
// Returns the node, or 0.
//

ULONG
DemangleBracedExpression(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Returns the node, or 0.
//

ULONG
DemangleExpression(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Parses what a requires clause asks for. Its parameters may be those of
// templates around it, of which not all are known.
// Returns the node, or 0.
//

ULONG
DemangleConstraint(
    _Inout_ PREADER_DEMANGLER Parser
    );

#endif // TRACER_DEMANGLE_GRAMMAR_H
