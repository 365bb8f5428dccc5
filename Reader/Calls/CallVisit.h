/*++

Module Name:

    CallVisit.h

Abstract:

    Shows a session's trees, node by node.

--*/

#ifndef TRACER_CALL_VISIT_H
#define TRACER_CALL_VISIT_H

#include "../Core/CoreTree.h"
#include "../Core/CoreStatistics.h"
#include "../Functions/Function.h"

//
// Shows the nodes of a thread's trees that have calls, or are above some.
//

typedef struct _READER_TREE_NODE {
    PCCORE_TREE_NODE Node;
    ULONGLONG Now;                  // of the tree
    ULONG Module;                   // index
    ULONG Function;
    ULONG FunctionAbove;            // READER_NONE: it is outermost
    ULONG Depth;                    // 0: likewise
    ULONG ValueAbove;               // what the routine gave the one above; 0:
                                    // there is none
    ULONG Value;                    // the routine's own
    ULONGLONG WaitedTicks;          // of its total: Docs/Waits.md
} READER_TREE_NODE;
typedef READER_TREE_NODE *PREADER_TREE_NODE;

typedef struct _READER_NODE_PLACE {
    ULONG Function;
    ULONG Depth;
    ULONG Value;
    ULONG Unused;
    ULONGLONG WaitedTicks;
} READER_NODE_PLACE;
typedef READER_NODE_PLACE *PREADER_NODE_PLACE;

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_NODE)(
    _In_ PVOID Context,
    _Inout_ PREADER_TREE_NODE Node
    );
typedef READER_VISIT_NODE *PREADER_VISIT_NODE;

//
// And, once all nodes of a tree were shown, its open calls, the outermost of
// each stack first.
//

typedef struct _READER_TREE_FRAME {
    ULONG Function;
    ULONG Stack;                    // 0: the thread's own
    ULONGLONG Start;                // time stamp
    BOOLEAN IsInnermost;            // of the stack in use
} READER_TREE_FRAME;
typedef READER_TREE_FRAME *PREADER_TREE_FRAME;
typedef const READER_TREE_FRAME *PCREADER_TREE_FRAME;

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_FRAME)(
    _In_ PVOID Context,
    _In_ PCREADER_TREE_FRAME Frame
    );
typedef READER_VISIT_FRAME *PREADER_VISIT_FRAME;

//
// Shows a routine the nodes of a thread's trees, a node's parent before the
// node. A tree that cannot be read does not hide the others.
// Functions: the table of functions, with the session.
// VisitFrame: one for the open calls, or NULL.
// VisitContext: what it is given.
// Returns STATUS_SUCCESS or the first thing that failed.
//

_Must_inspect_result_
NTSTATUS
CallVisitTrees(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONG Thread,
    _In_ PREADER_VISIT_NODE Visit,
    _In_opt_ PREADER_VISIT_FRAME VisitFrame,
    _In_ PVOID VisitContext
    );

#endif // TRACER_CALL_VISIT_H
