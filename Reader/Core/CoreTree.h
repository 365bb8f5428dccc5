/*++

Module Name:

    CoreTree.h

Abstract:

    The nodes and the open frames of a tree.

--*/

#ifndef TRACER_CORE_TREE_H
#define TRACER_CORE_TREE_H

#include "CorePair.h"
#include "CoreStatistics.h"

// The caller copies them out of the file with CoreCopyWords, the nodes first
// and in order, and gives them to CoreAddNodes; then the stacks that there
// are, each with its frames; CoreFinishTree works out the times.  Everything
// in them is checked here: a node that is bad is left out with all below it,
// a frame that is bad with all above it on its stack.
//

typedef struct _CORE_TREE_PROBLEM {
    ULONGLONG FileOffset;           // of the field
    PCSZ Object;                    // "node", "open call", "stack": literals,
    PCSZ Field;                     // like these two
    PCSZ Problem;
    ULONGLONG Value;                // what the field holds
} CORE_TREE_PROBLEM;
typedef CORE_TREE_PROBLEM *PCORE_TREE_PROBLEM;
typedef const CORE_TREE_PROBLEM *PCCORE_TREE_PROBLEM;

#define CORE_TREE_NO_NODE 0xFFFFFFFFu
#define CORE_UNKNOWN 0xFFFFFFFFFFFFFFFFULL

typedef struct _CORE_TREE_NODE {
    ULONGLONG Calls;                // with those that are open
    ULONGLONG Total;                // ticks; after CoreFinishTree likewise
    ULONGLONG Self;                 // ticks; after CoreFinishTree
    ULONGLONG Minimum;              // ticks; more than Maximum: no call has
    ULONGLONG Maximum;              // ended
    ULONGLONG First;                // ticks
    ULONGLONG Abandoned;            // calls
    ULONGLONG AbandonedTotal;       // ticks, of Total, of these; CORE_UNKNOWN:
                                    // an earlier version's, which does not say
    ULONGLONG Away;                 // ticks
    ULONGLONG InChildren;           // ticks; after CoreFinishTree
    ULONGLONG OpenTicks;            // of the open calls, in Total; likewise
    ULONGLONG Open;                 // calls
    ULONGLONG CallsOfChildren;      // these two after CoreFinishTree
    ULONGLONG CallsBelow;           // of all nodes below it
    ULONG Parent;                   // less than its own index; the root's is 0
    ULONG Rva;                      // of its site; other: 0
    ULONG Kind;                     // TRACE_KIND_*
    ULONG Module;                   // index in CORE_TREE.Modules
    ULONG Unused;
    BOOLEAN IsOther;
    BOOLEAN IsBad;                  // or below one that is
    BOOLEAN IsUsed;                 // it or one below it has calls
} CORE_TREE_NODE;
typedef CORE_TREE_NODE *PCORE_TREE_NODE;
typedef const CORE_TREE_NODE *PCCORE_TREE_NODE;

typedef struct _CORE_TREE_FRAME {
    ULONGLONG Start;                // time stamp
    ULONGLONG LeftTimestamp;        // of the innermost of a stack that another
                                    // one took over from; 0: of none
    ULONG Node;
    ULONG Stack;                    // 0: the thread's own
    BOOLEAN IsInner;                // the one below it has the same node
    BOOLEAN IsInUse;                // innermost of the stack in use
} CORE_TREE_FRAME;
typedef CORE_TREE_FRAME *PCORE_TREE_FRAME;

//
// Where a module's functions are.  The first is the header's, those that follow
// are in the store's table.
//

typedef struct _CORE_TREE_MODULE {
    ULONG Base;                     // low 32 bits
    ULONG Size;
} CORE_TREE_MODULE;

typedef struct _CORE_TREE {
    PCALLOCATOR Allocator;
    PCORE_TREE_NODE Nodes;
    PCORE_TREE_FRAME Frames;        // of all stacks
    SIZE_T NumberOfNodes;
    SIZE_T CapacityOfNodes;
    SIZE_T NumberOfFrames;
    SIZE_T CapacityOfFrames;
    SIZE_T NumberOfStacks;
    ULONGLONG BaseAddress;          // these two from the header
    ULONGLONG NodesFileOffset;
    ULONG NumberOfModules;
    CORE_TREE_MODULE Modules[TRACE_TREE_MODULES + 1];
    BOOLEAN IsLive;                 // its writer may be at work
    BOOLEAN IsAbandonedKnown;       // nodes have AbandonedTotal
    BOOLEAN IsStopped;              // the time of open calls is in their nodes
    ULONGLONG Now;                  // these two from CoreFinishTree: up to
                                    // when open calls count
    ULONGLONG NumberOfOpenCalls;
    ULONGLONG LatestTimestamp;      // of those that were seen
    ULONGLONG NumberBad;            // nodes, frames and stacks
    CORE_TREE_PROBLEM FirstProblem; // of them
} CORE_TREE;
typedef CORE_TREE *PCORE_TREE;
typedef const CORE_TREE *PCCORE_TREE;

//
// Copies from memory that its writer may be changing: items of as many words
// of 8 bytes, each item's last word first, so that a node's Calls are never
// less than what else it says of them. Copies items out of a live store.
//
// A hook adds a call to Calls, the first word of a node, before it writes
// anything else of that call.
//

VOID
CoreCopyWords(
    _Out_writes_(NumberOfItems * WordsInItem) uint64_t *Destination,
    _In_reads_(NumberOfItems * WordsInItem) const uint64_t *Source,
    _In_ SIZE_T NumberOfItems,
    _In_ SIZE_T WordsInItem
    );

//
// Makes an empty tree. Header is valid, of a tree.
// Allocator: where its memory comes from.
// IsLive: whether the store may be changing while it is read, so that what
// does not fit together is no damage.
//

VOID
CoreInitializeTree(
    _Out_ PCORE_TREE Tree,
    _In_ PCALLOCATOR Allocator,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ BOOLEAN IsLive
    );

//
// Adds a module of the store's table, before the nodes.  FALSE if it is none,
// which is noted.
// Module: the module, in memory that does not change.
//

BOOLEAN
CoreAddTreeModule(
    _Inout_ PCORE_TREE Tree,
    _In_ PCTRACE_TREE_MODULE Module
    );

//
// Frees what a tree holds.
//

VOID
CoreRundownTree(
    _Inout_ PCORE_TREE Tree
    );

//
// Counts something that is bad, and keeps what it is if it is the first.
// FileOffset: of the field that is bad.
// Object: what it is a field of.
// Field: its name.
//

VOID
CoreNoteTreeProblem(
    _Inout_ PCORE_TREE Tree,
    _In_ ULONGLONG FileOffset,
    _In_z_ PCSZ Object,
    _In_z_ PCSZ Field,
    _In_z_ PCSZ Problem,
    _In_ ULONGLONG Value
    );

//
// Adds the nodes that come next.  STATUS_NO_MEMORY
// NumberOfNodes: how many.
//

_Must_inspect_result_
NTSTATUS
CoreAddNodes(
    _Inout_ PCORE_TREE Tree,
    _In_reads_(NumberOfNodes) PCTRACE_NODE Nodes,
    _In_ SIZE_T NumberOfNodes
    );

//
// Adds the frame that comes next on a stack, the outermost first; FileOffset
// is its own.  Above is the frame below it on the same stack: CORE_TREE_NO_NODE
// before the first, else what the call before gave.  Before is when the first
// node was read: a frame that is younger does not count.
//
//     STATUS_SUCCESS, STATUS_NO_MEMORY,
//     STATUS_FILE_INVALID (the rest of the stack's frames are of no use)
//

_Must_inspect_result_
NTSTATUS
CoreAddTreeFrame(
    _Inout_ PCORE_TREE Tree,
    _In_ PCTRACE_FRAME Frame,
    _In_ ULONGLONG FileOffset,
    _In_ ULONGLONG Before,
    _Inout_ PULONG Node
    );

//
// Says that the frames that were added since NumberOfFrames was First are all
// of one stack, which another one took over from at LeftTimestamp, or which is
// in use (0).
//

VOID
CoreEndTreeStack(
    _Inout_ PCORE_TREE Tree,
    _In_ SIZE_T First,
    _In_ ULONGLONG LeftTimestamp,
    _In_ BOOLEAN IsInUse
    );

//
// Carries out an action of the control file (TRACE_ACTION_*) that the thread
// has not carried out; all nodes and frames are there. Does to a tree what its
// thread will do, or would have done.
//
// Timestamp: when it was asked for.
//

VOID
CoreApplyToTree(
    _Inout_ PCORE_TREE Tree,
    _In_ ULONG Action,
    _In_ ULONGLONG Timestamp
    );

//
// The same for many, in the order of time: those whose place in the control
// file (Reserved) is NumberDone or higher.  The nodes and the frames are gone
// through a few times, however many actions there are.
//

VOID
CoreApplyActionsToTree(
    _Inout_ PCORE_TREE Tree,
    _In_reads_(NumberOfActions) PCTRACE_CONTROL_ACTION Actions,
    _In_ ULONG NumberOfActions,
    _In_ ULONG NumberDone
    );

//
// Notes the last time that a store's header knows of; all frames are there.
//

VOID
CoreNoteTreeEnd(
    _Inout_ PCORE_TREE Tree,
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// Works out the times.  Now is up to when open calls count; 0: up to the last
// time that the tree itself proves.
// Tree: the tree, with all nodes and frames.
//

VOID
CoreFinishTree(
    _Inout_ PCORE_TREE Tree,
    _In_ ULONGLONG Now
    );

//
// Says what a node's calls are in sums.  The time of calls that were abandoned
// is not known apart from that of the others, unless there are no others.
// Node: the node, finished.
//

VOID
CoreGetNodeStatistics(
    _In_ PCCORE_TREE_NODE Node,
    _Out_ PREADER_STATISTICS Statistics
    );

#endif // TRACER_CORE_TREE_H
