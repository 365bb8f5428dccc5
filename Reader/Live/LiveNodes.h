/*++

Module Name:

    LiveNodes.h

Abstract:

    The chains of calls as nodes of a tree, and who called a function.

--*/

#ifndef TRACER_LIVE_NODES_H
#define TRACER_LIVE_NODES_H

#include "LiveModel.h"

//
// The calls of a function by who made them.  The one with index 0 is the
// function itself.
//

typedef struct _READER_LIVE_EDGE {
    ULONG Node;                     // one of the caller's; 0: nothing called;
                                    // one that it has called if it is a module
    ULONG Function;                 // the caller, in the table of functions;
                                    // READER_NONE: nothing called; or a module:
                                    // READER_IS_CALLING_MODULE
    ULONGLONG Calls;
    ULONGLONG SelfTicks;            // of the function, in these calls
    ULONGLONG TotalTicks;           // recursion counted once
} READER_LIVE_EDGE;
typedef READER_LIVE_EDGE *PREADER_LIVE_EDGE;
typedef const READER_LIVE_EDGE *PCREADER_LIVE_EDGE;

//
// Makes nodes of the chains that are kept.
// Live: the state, which keeps chains.
// Model: the model, with its functions.
//

_Must_inspect_result_
NTSTATUS
LiveMakeNodes(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    );

//
// Finds out who called a function.
// Function: its index in the table of functions.
// Edges, Capacity: an array, which may move; the largest total is first after
// the function itself.
// NumberOfEdges: with the function itself; 0 if no chain has it.
//

_Must_inspect_result_
NTSTATUS
LiveFindEdges(
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Function,
    _Inout_ PREADER_LIVE_EDGE *Edges,
    _Inout_ PULONG Capacity,
    _Out_ PULONG NumberOfEdges
    );

//
// Says in plain words what the nodes are of and how good they are, without a
// line feed.
//

VOID
LiveWriteNodesState(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model
    );

#endif // TRACER_LIVE_NODES_H
