/*++

Module Name:

    ExportHtmlTree.h

Abstract:

    The trees of all tracks of the HTML page, merged into one.

--*/

#ifndef TRACER_EXPORT_HTML_TREE_H
#define TRACER_EXPORT_HTML_TREE_H

#include "Export.h"

//
// A node of the merged tree, after its parent.
//

typedef struct _READER_HTML_NODE {
    READER_STATISTICS Statistics;
    ULONGLONG Weight;               // the largest time of it and those below
    ULONG Function;
    ULONG Parent;                   // READER_NONE: it is outermost
    ULONG Index;                    // in the file; READER_NONE: left out
    ULONG Unused;
} READER_HTML_NODE;
typedef READER_HTML_NODE *PREADER_HTML_NODE;
typedef const READER_HTML_NODE *PCREADER_HTML_NODE;

typedef struct _READER_HTML_TREE {
    PREADER_HTML_NODE Nodes;
    ULONG NumberOfNodes;
    ULONG CapacityOfNodes;
    ULONG NumberWritten;            // of nodes that have an index
    ULONG NumberOfTrackNodes;       // to be written, of all tracks
    PULONG Merged;                  // by node of the tree with tracks
    BOOLEAN HasTracks;              // their nodes are written too
} READER_HTML_TREE;
typedef READER_HTML_TREE *PREADER_HTML_TREE;
typedef const READER_HTML_TREE *PCREADER_HTML_TREE;

//
// Makes the merged tree.
// Merged: it; zero.
// Tree: the tree with tracks, filtered.
//

_Must_inspect_result_
NTSTATUS
ExportMergeTracks(
    _Inout_ PREADER_HTML_TREE Merged,
    _In_ const READER_TREE *Tree
    );

//
// Decides again which nodes are written: at most so many.
// Merged: the merged tree.
// Tree: the tree with tracks.
// MaximumNodes: how many there may be.
//

VOID
ExportChooseHtmlNodes(
    _Inout_ PREADER_HTML_TREE Merged,
    _In_ const READER_TREE *Tree,
    _In_ ULONG MaximumNodes
    );

//
// Frees what it holds.
// Allocator: where its memory came from.
//

VOID
ExportRundownHtmlTree(
    _Inout_ PREADER_HTML_TREE Merged,
    _In_ PCALLOCATOR Allocator
    );

#endif // TRACER_EXPORT_HTML_TREE_H
