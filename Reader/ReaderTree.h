/*++

Module Name:

    ReaderTree.h

Abstract:

    The call tree that tree, callers, callees and the aggregate exports show.

--*/

#ifndef TRACER_READER_TREE_H
#define TRACER_READER_TREE_H

#include "Reader.h"

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
    BOOLEAN IsShown;                // these three by ReaderFilterTree
    BOOLEAN IsInside;               // of a function that is shown for itself
    BOOLEAN IsExcluded;             // or inside of one that is
    BOOLEAN IsOutermost;            // by ReaderSumTree: no node above is of
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
// frame that is open where a range begins as an entry without a time stamp.
// What it returns ends the thread's reading if it is a failure.
//

typedef
NTSTATUS
(READER_WATCH_TREE)(
    _In_ PVOID Context,
    _In_ ULONG Thread,
    _In_ const CORE_EVENT *Event
    );
typedef READER_WATCH_TREE *PREADER_WATCH_TREE;

typedef struct _READER_TREE {
    PREADER_SESSION Session;
    PREADER_FUNCTIONS Functions;
    PCREADER_RANGE Range;
    ULONG MaximumDepth;
    BOOLEAN HasTracks;
    READER_TALLY Before;            // for what comes before the range
    READER_MAP Children;            // (parent << 32) | function to node
    PREADER_NODE Nodes;
    ULONG NumberOfNodes;
    ULONG CapacityOfNodes;
    PREADER_TRACK Tracks;
    ULONG NumberOfTracks;
    ULONG CapacityOfTracks;
    ULONG FirstTrack;               // of the thread that is read
    ULONG ThreadId;
    ULONG Process;                  // index
    PREADER_WATCH_TREE Watch;       // the caller's, or NULL
    PREADER_VISIT_NODE NodeWatch;   // likewise: is shown what of stores'
    PREADER_VISIT_FRAME FrameWatch; // trees is added
    PVOID WatchContext;
    READER_PROGRESS Progress;
    ULONGLONG NumberOfRecords;      // of the threads that have been read
    ULONGLONG NumberShown;          // these two by ReaderFilterTree: of nodes
    READER_NOT_SHOWN NotShown;
} READER_TREE;
typedef READER_TREE *PREADER_TREE;

//
// Makes an empty tree.  With HasTracks the root's children are tracks, which
// have no function; the Depth of such a node is its index in Tracks.
//

typedef
VOID
(READER_INITIALIZE_TREE)(
    _Out_ PREADER_TREE Tree,
    _In_ PREADER_FUNCTIONS Functions,
    _In_ PCREADER_RANGE Range,
    _In_ ULONG MaximumDepth,
    _In_ BOOLEAN HasTracks
    );
READER_INITIALIZE_TREE ReaderInitializeTree;

typedef VOID (READER_RUNDOWN_TREE)(_Inout_ PREADER_TREE Tree);
READER_RUNDOWN_TREE ReaderRundownTree;

//
// Reads the threads that --thread selects.  Returns READER_EXIT_*; failures
// have been written.
//

typedef
ULONG
(READER_BUILD_TREE)(
    _Inout_ PREADER_TREE Tree,
    _In_ PCREADER_OPTIONS Options
    );
READER_BUILD_TREE ReaderBuildTree;

//
// Adds the trees of a thread's stores to a tree, which gets its root if it has
// none: part of ReaderBuildTree.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_TREES_TO_TREE)(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG ThreadIndex
    );
READER_ADD_TREES_TO_TREE ReaderAddTreesToTree;

//
// Takes the nodes that a filter leaves out off their parents; NULL: none.
//

typedef
VOID
(READER_FILTER_TREE)(
    _Inout_ PREADER_TREE Tree,
    _In_opt_ PCREADER_FILTER Filter
    );
READER_FILTER_TREE ReaderFilterTree;

//
// Puts every node's children in order: by total time, then by name.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_SORT_TREE)(
    _Inout_ PREADER_TREE Tree
    );
READER_SORT_TREE ReaderSortTree;

//
// The node after another, each before its children; READER_ROOT_NODE gives
// the first, READER_NONE is the end.
//

typedef
ULONG
(READER_NEXT_NODE)(
    _In_ const READER_TREE *Tree,
    _In_ ULONG Node
    );
READER_NEXT_NODE ReaderNextNode;

//
// Adds the nodes up, what ReaderFilterTree left of them, for each function:
// what report shows.  Statistics are zeroed.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_SUM_TREE)(
    _In_ const READER_TREE *Tree,
    _Inout_updates_(Tree->Functions->NumberOfFunctions)
        PREADER_STATISTICS Statistics
    );
READER_SUM_TREE ReaderSumTree;

#endif // TRACER_READER_TREE_H
