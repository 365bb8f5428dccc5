/*++

Module Name:

    KdTree.h

Abstract:

    A thread's calls added up: a tree of functions.

--*/

#ifndef TRACER_KD_TREE_H
#define TRACER_KD_TREE_H

#include "../Reader/Core/CoreStatistics.h"
#include "KdFeed.h"

typedef struct _KD_NODE {
    ULONG Function;
    ULONG Parent;                   // less than its own index; the root's is 0
    ULONG FirstChild;               // these two KD_NONE: none
    ULONG NextSibling;
    ULONG Depth;                    // the root's is 0
    BOOLEAN IsOpen;                 // one of its calls is
    READER_STATISTICS Statistics;
} KD_NODE;
typedef KD_NODE *PKD_NODE;

typedef struct _KD_TREE {
    PKD_CONTEXT Context;
    PKD_FEED Feed;                  // KdTreeVisit is called by
    PKD_NODE Nodes;
    READER_MAP Children;            // parent << 32 | function
    ULONG NumberOfNodes;
    ULONG Capacity;
    ULONGLONG NumberBad;            // of what a store's own tree has
} KD_TREE;
typedef KD_TREE *PKD_TREE;
typedef const KD_TREE *PCKD_TREE;

//
// Makes a tree with its root.  Good for KdTreeRundown after a failure, too.
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdTreeInitialize(
    _In_ PKD_CONTEXT Context,
    _Out_ PKD_TREE Tree
    );

VOID
KdTreeRundown(
    _Inout_ PKD_TREE Tree
    );

//
// Finds or adds a child.
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdTreeFindChild(
    _Inout_ PKD_TREE Tree,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _Out_ PULONG Node
    );

//
// KD_VISIT, of a KD_TREE, whose Feed is set: adds calls that end.
//

KD_VISIT KdTreeVisit;

//
// Adds the nodes up by function; Statistics has room for all of Names.
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdTreeSum(
    _In_ PCKD_TREE Tree,
    _In_ const KD_NAMES *Names,
    _Inout_ PREADER_STATISTICS Statistics
    );

//
// The node that comes next, its children before its siblings; KD_NONE: none.
//

ULONG
KdTreeNext(
    _In_ PCKD_TREE Tree,
    _In_ ULONG Node
    );

//
// Puts the children of every node in order, by total time.
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdTreeSort(
    _Inout_ PKD_TREE Tree
    );

#endif // TRACER_KD_TREE_H
