/*++

Module Name:

    LiveTreeView.h

Abstract:

    The call tree, and who called a function, as rows of a list.

--*/

#ifndef TRACER_LIVE_TREE_VIEW_H
#define TRACER_LIVE_TREE_VIEW_H

#include "LiveView.h"

//
// Chooses the nodes that are rows, in the order of the tree, and puts them
// into the view's Order, which has room for all of the model's.  The selected
// row stays with its node.
// Returns the number of rows, or what failed in Status.
//

_Must_inspect_result_
NTSTATUS
LiveOrderNodes(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _Out_ PULONG NumberOfRows
    );

//
// Finds the callers of the view's last target, and chooses those that are
// rows; Order has the indexes of edges.
//

_Must_inspect_result_
NTSTATUS
LiveOrderEdges(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _Out_ PULONG NumberOfRows
    );

//
// Folds a node's children away, or shows all of them.  Where there is nothing
// to fold the row above, or the first one below, becomes the selected one.
// View: the view of the tree, as it was drawn.
//

VOID
LiveFoldNode(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ BOOLEAN IsUnfolding
    );

//
// Counts the children of a node that the filters leave and that are no rows.
//

ULONG
LiveCountFolded(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Node
    );

//
// Writes the lines that lead to a node from those above it, two cells for each
// of the last levels.
// Returns the number of cells.
//

ULONG
LiveWriteBranches(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Node,
    _In_ ULONG Levels
    );

//
// Write a cell of the tree, or of the callers, but not its name.
// Column: ReaderNode*, ReaderEdge*.
//

VOID
LiveWriteNodeCell(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ PCREADER_LIVE_NODE Node,
    _In_ ULONG Column
    );

VOID
LiveWriteEdgeCell(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ PCREADER_LIVE_EDGE Edge,
    _In_ ULONG Column
    );

//
// Says how much of the whole a part is, in thousands; 0 without a whole.
//

ULONG
LiveQueryPerMille(
    _In_ ULONGLONG Part,
    _In_ ULONGLONG Whole
    );

#endif // TRACER_LIVE_TREE_VIEW_H
