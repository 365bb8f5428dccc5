/*++

Module Name:

    SumTree.h

Abstract:

    The call tree that tree, callers, callees and the aggregate exports show.

--*/

#ifndef TRACER_SUM_TREE_H
#define TRACER_SUM_TREE_H

#include "../Base/BaseProgress.h"
#include "../Functions/FunctionFilter.h"
#include "../Calls/CallWalk.h"

//
// Node 0 is the root, above the outermost functions, or above the tracks.
// Both have no function: READER_NONE.  Frames that are left out for their depth
// have the node READER_NONE.
//

#define READER_ROOT_NODE 0

typedef struct _READER_NODE {
    READER_STATISTICS Statistics;
    ULONGLONG FirstTicks;           // inclusive, of the first call that was
                                    // not abandoned
    ULONG Function;
    ULONG Parent;
    ULONG FirstChild;               // READER_NONE: none
    ULONG NextSibling;              // READER_NONE: the last
    ULONG NumberOfChildren;
    ULONG Depth;                    // 0 is the outermost
    BOOLEAN IsShown;                // these three by SumFilterTree
    BOOLEAN IsInside;               // of a function that is shown for itself
    BOOLEAN IsExcluded;             // or inside of one that is
    BOOLEAN IsLong;                 // these two by --min-duration: it, or one
    BOOLEAN IsShort;                // below it, has that time; it is hidden
    BOOLEAN IsOutermost;            // by SumTree: no node above is of
                                    // the same function
} READER_NODE;
typedef READER_NODE *PREADER_NODE;

typedef struct _READER_TRACK {
    ULONG Node;                     // 0: not met yet
    ULONG ThreadId;
    ULONG Process;                  // index
    ULONG Fiber;                    // 0: the thread's own stack
} READER_TRACK;
typedef READER_TRACK *PREADER_TRACK;

//
// Is shown each event of the threads that are read, with the frame's node; a
// frame that is open where a range begins as an entry with IsBegunBefore.
// What it returns ends the thread's reading if it is a failure.
//

typedef
NTSTATUS
(READER_WATCH_TREE)(
    _In_ PVOID Context,
    _In_ ULONG Thread,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsBegunBefore
    );
typedef READER_WATCH_TREE *PREADER_WATCH_TREE;

typedef struct _READER_TREE {
    PREADER_SESSION Session;
    PREADER_FUNCTIONS Functions;
    PCREADER_RANGE Range;
    ULONG MaximumDepth;
    READER_SORT_KEY SortKey;        // the caller's, of SumSortTree
    BOOLEAN HasTracks;
    READER_MAP Children;            // (parent << 32) | function to node
    PREADER_NODE Nodes;
    ULONG NumberOfNodes;
    ULONG CapacityOfNodes;
    PREADER_TRACK Tracks;
    ULONG NumberOfTracks;
    ULONG CapacityOfTracks;
    READER_MAP TrackNodes;          // (thread << 32) | fiber to node; of a
                                    // thread's own stack, the first that is
                                    // the same thread
    ULONG FirstTrack;               // of the thread that is read
    ULONG Thread;                   // index of that; READER_NONE: none yet
    ULONG ThreadId;
    ULONG Process;                  // index
    PREADER_TEAM Team;              // the caller's, or NULL: one worker
    const UCHAR *Selected;          // likewise: by thread, whether it is read;
                                    // NULL: all
    PREADER_WATCH_TREE Watch;       // the caller's, or NULL
    PREADER_VISIT_NODE NodeWatch;   // likewise: is shown what of stores'
    PREADER_VISIT_FRAME FrameWatch; // trees is added
    PVOID WatchContext;
    ULONGLONG NumberOfRecords;      // of the threads that have been read
    ULONGLONG NumberOfOrdinary;     // of those, taken by the fast way
    ULONG NumberOfThreads;          // selected
    ULONG NumberOfWorkers;
    ULONGLONG NumberShown;          // these two by SumFilterTree: of nodes
    READER_NOT_SHOWN NotShown;
} READER_TREE;
typedef READER_TREE *PREADER_TREE;

//
// Makes an empty tree.  With HasTracks the root's children are tracks, which
// have no function; the Depth of such a node is its index in Tracks.
// Functions: the table of functions, with the session; must outlive it.
// Range: what is added up; must outlive it.
// MaximumDepth: calls that are as deep or deeper are left out.
// HasTracks: each thread, and each fiber that it ran, has its own tree.
//

VOID
SumInitializeTree(
    _Out_ PREADER_TREE Tree,
    _In_ PREADER_FUNCTIONS Functions,
    _In_ PCREADER_RANGE Range,
    _In_ ULONG MaximumDepth,
    _In_ BOOLEAN HasTracks
    );

//
// Frees what a tree holds.
//

VOID
SumRundownTree(
    _Inout_ PREADER_TREE Tree
    );

//
// Reads the threads that --thread selects, event by event. Returns
// READER_EXIT_*; failures have been written. One that cannot be read to its
// end does not hide the others.
//
// Tree: the tree, which is empty.
//

ULONG
SumBuildTreeOfEvents(
    _Inout_ PREADER_TREE Tree,
    _In_ PCREADER_OPTIONS Options
    );

//
// What the tree's builders share.  Gives the tree its root, unless it has one.
//

_Must_inspect_result_
NTSTATUS
SumAddRoot(
    _Inout_ PREADER_TREE Tree
    );

//
// A thread begins: its tracks come next.
//

VOID
SumBeginThreadOfTree(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG ThreadIndex
    );

//
// Finds the node of a track, of a tree that has been built; READER_NONE: there
// is none.
//

ULONG
SumQueryTrack(
    _In_ const READER_TREE *Tree,
    _In_ ULONG ThreadIndex,
    _In_ ULONG Fiber
    );

//
// Finds the node of a track of the thread that is read, and adds it if it is
// not there.
// Fiber: the fiber's number; 0 is the thread's own stack.
//

_Must_inspect_result_
NTSTATUS
SumFindTrack(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG Fiber,
    _Out_ PULONG Node
    );

//
// Finds the node of a function below another node, and adds it if it is not
// there.
//

_Must_inspect_result_
NTSTATUS
SumFindNode(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG Above,
    _In_ ULONG Function,
    _Out_ PULONG Node
    );

//
// Says what a store's tree adds to a node.  FALSE: no call of it ended but by
// being abandoned, so that there is no first one.
// FirstTicks: how long the first one took, if there is one.
//

BOOLEAN
SumGetNodeStatistics(
    _In_ const READER_SESSION *Session,
    _In_ const READER_TREE_NODE *Node,
    _Out_ PREADER_STATISTICS Statistics,
    _Out_ PULONGLONG FirstTicks
    );

//
// Adds the trees of a thread's stores to a tree, which gets its root if it has
// none: part of building a tree.
//

_Must_inspect_result_
NTSTATUS
SumAddTreesToTree(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG ThreadIndex
    );

//
// Takes the nodes that a filter leaves out off their parents (NULL: none), and
// those whose total is less than that, with all below them.
//

VOID
SumFilterTree(
    _Inout_ PREADER_TREE Tree,
    _In_opt_ PCREADER_FILTER Filter,
    _In_ ULONGLONG MinimumTicks
    );

//
// Puts every node's children in order: by SortKey, then by name.
//

_Must_inspect_result_
NTSTATUS
SumSortTree(
    _Inout_ PREADER_TREE Tree
    );

//
// Finds the node that comes after another when each comes before its children.
// READER_ROOT_NODE gives the first, READER_NONE is the end.
//

ULONG
SumNextNode(
    _In_ const READER_TREE *Tree,
    _In_ ULONG Node
    );

//
// Adds the nodes up, what SumFilterTree left of them, for each function:
// what report shows.  Statistics are zeroed.
// Tree: the tree, which has a root.
//

_Must_inspect_result_
NTSTATUS
SumTree(
    _In_ const READER_TREE *Tree,
    _Inout_updates_(Tree->Functions->NumberOfFunctions)
        PREADER_STATISTICS Statistics
    );

//
// Adds up the trees of a thread's stores, for each function: an element of
// Sums each, which the caller frees; NULL without a tree.  Unmatched receives
// the exits without an entry.  Returns the first thing that failed; the sums
// are of what could be read.
//
// Functions: the table of functions, with the session.
// NumberOfSums: how many there are: 0 without a tree.
//

_Must_inspect_result_
NTSTATUS
SumTreesOfThread(
    _In_ PREADER_FUNCTIONS Functions,
    _In_ ULONG ThreadIndex,
    _Outptr_result_maybenull_ PREADER_STATISTICS *Sums,
    _Out_ PULONG NumberOfSums,
    _Out_ PULONGLONG Unmatched
    );

#endif // TRACER_SUM_TREE_H
