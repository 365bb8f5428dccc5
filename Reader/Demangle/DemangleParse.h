/*++

Module Name:

    DemangleParse.h

Abstract:

    What all parts of the grammar read a name and make nodes with.

--*/

#ifndef TRACER_DEMANGLE_PARSE_H
#define TRACER_DEMANGLE_PARSE_H

#include "DemangleNode.h"

//
// Counts a step of work, so that no name takes forever.
// Returns FALSE when there have been too many.
//

BOOLEAN
DemangleCount(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Begins a call that may nest. DemangleLeave ends it, also after FALSE.
// Returns FALSE when they are too deep.
//

BOOLEAN
DemangleEnter(
    _Inout_ PREADER_DEMANGLER Parser
    );

//
// Ends a call that may nest.
// Node: what the call has made.
// Returns the node, or 0.
//

ULONG
DemangleLeave(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Looks ahead in the name.
// Offset: how far ahead, in bytes.
// Returns the character, 0 behind the end.
//

CHAR
DemangleLook(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Offset
    );

//
// Takes a character off the name if it is next.
//

BOOLEAN
DemangleTake(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ CHAR Character
    );

//
// Takes two characters off the name if they are next.
//

BOOLEAN
DemangleTakeTwo(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_reads_(2) PCSZ Characters
    );

//
// Says whether a character is a decimal digit.
//

BOOLEAN
DemangleIsDigit(
    _In_ CHAR Character
    );

//
// Takes a number off the name, as text.
// IsSigned: whether an "n" may come first.
// Digits: where they begin.
// Returns the number's length in bytes; 0 if there is none.
//

ULONG
DemangleTakeDigits(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ BOOLEAN IsSigned,
    _Outptr_ PCSZ *Digits
    );

//
// Takes a number off the name.
// Returns FALSE if there is none, or it is longer than any name.
//

BOOLEAN
DemangleTakeNumber(
    _Inout_ PREADER_DEMANGLER Parser,
    _Out_ PULONG Number
    );

//
// Counts a literal's bytes.
//

ULONG
DemangleTextLength(
    _In_z_ PCSZ Text
    );

//
// Makes a node.
// Kind: what it is.
// First: a node or a number.
// Second: a node or a number.
// Third: a node or a number.
// Returns the node, or 0.
//

ULONG
DemangleMake(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First,
    _In_ ULONG Second,
    _In_ ULONG Third
    );

//
// Makes a node of one part, if that is there.
// Returns the node, or 0.
//

ULONG
DemangleMakeOne(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First
    );

//
// Makes a node of two parts, if they are there.
// Kind: what it is.
// Returns the node, or 0.
//

ULONG
DemangleMakeTwo(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First,
    _In_ ULONG Second
    );

//
// Makes a node with a text.
// Kind: what it is.
// First: a node or a number.
// Text: the text, which is not copied.
// Length: its length in bytes.
// Returns the node, or 0.
//

ULONG
DemangleMakeText(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ DEMANGLE_KIND Kind,
    _In_ ULONG First,
    _In_reads_(Length) PCSZ Text,
    _In_ ULONG Length
    );

//
// Makes a node of text.
// Returns the node, or 0.
//

ULONG
DemangleMakeLiteral(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_z_ PCSZ Text
    );

//
// Makes a node of text and another node, if that is there.
// Text: what comes first, a literal.
// First: the rest.
// Returns the node, or 0.
//

ULONG
DemangleMakePrefixed(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_z_ PCSZ Text,
    _In_ ULONG First
    );

//
// Adds a node to the list that is being made.
// Node: the node, or 0.
// Returns FALSE if there is no node, or no room.
//

BOOLEAN
DemanglePush(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Makes a list of what was pushed, and takes that back.
// FirstInStack: where the list begins in Stack.
// Returns the node, or 0.
//

ULONG
DemangleMakeList(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG FirstInStack
    );

//
// Makes a node one that S_ and its kin refer to.
// Node: the node, or 0.
// Returns the node, or 0.
//

ULONG
DemangleAddSubstitution(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Node
    );

//
// Adds a template parameter.
// Level: which list, one that is there.
// Node: what it stands for.
// Returns FALSE when there is no room.
//

BOOLEAN
DemangleAddParameter(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Level,
    _In_ ULONG Node
    );

//
// Finds what a template parameter stands for.
// Level: which list.
// Returns the node, or 0.
//

ULONG
DemangleFindParameter(
    _Inout_ PREADER_DEMANGLER Parser,
    _In_ ULONG Level,
    _In_ ULONG Index
    );

//
// Parses an encoding: what stands behind _Z.
// Returns the node, or 0.
//

ULONG
DemangleEncoding(
    _Inout_ PREADER_DEMANGLER Parser
    );

#endif // TRACER_DEMANGLE_PARSE_H
