/*++

Module Name:

    LiveTreeView.c

Abstract:

    The call tree, and who called a function, as rows of a list.

    A tree may have thousands of nodes, so that those with little time are
    folded away until the user asks for them, unless there is room for all.  A
    filter shows what it leaves, and what leads there.

--*/

#include "../Functions/FunctionStub.h"
#include "LiveColumns.h"
#include "LiveFilter.h"
#include "LiveTreeView.h"

//
// A node is shown by itself with at least so much of the time: a two
// hundredth.
//

#define READER_VIEW_LEAST_SHARE 200


_Use_decl_annotations_
ULONG
LiveQueryPerMille(
    ULONGLONG Part,
    ULONGLONG Whole
    )
{
    return Whole != 0 ? (ULONG)CoreMultiplyDivide(Part, 1000, Whole) : 0;
}


//
// Decides whether a node is a row if the one above it is.
//

static
BOOLEAN
LiveIsNodeVisible(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Index
    )
{
    PCREADER_LIVE_NODE Node = &Model->Nodes[Index];
    UCHAR Above = View->Folds[Node->Parent];

    if ((View->Folds[Index] & READER_NODE_KEPT) == 0 ||
        (Above & READER_NODE_FOLDED) != 0) {
        return FALSE;
    }

    return View->FilterLength != 0 || (Above & READER_NODE_UNFOLDED) != 0 ||
           Model->NodesTicks == 0 ||
           Model->NumberOfNodes - READER_LIVE_FIRST_NODE <=
               View->LinesOfList ||
           Node->TotalTicks >= Model->NodesTicks / READER_VIEW_LEAST_SHARE;
}


//
// Finds the first row among a node and its siblings that follow.
// Node: the node, or READER_NONE.
// Returns the row's node; READER_NONE: there is none.
//

static
ULONG
LiveFindVisible(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Node
    )
{
    while (Node != READER_NONE && !LiveIsNodeVisible(View, Model, Node)) {
        Node = Model->Nodes[Node].NextSibling;
    }

    return Node;
}


//
// Finds the row after another one.
// Node: 0 gives the first.
// Returns the row's node; READER_NONE: it was the last.
//

static
ULONG
LiveNextVisible(
    _In_ PCREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Node
    )
{
    ULONG Next = LiveFindVisible(View, Model, Model->Nodes[Node].FirstChild);

    while (Next == READER_NONE && Node >= READER_LIVE_FIRST_NODE) {
        Next = LiveFindVisible(View, Model, Model->Nodes[Node].NextSibling);
        Node = Model->Nodes[Node].Parent;
    }

    return Next;
}


//
// Decides which nodes the filters leave, themselves or for one below them.
//

static
VOID
LiveKeepNodes(
    _Inout_ PREADER_VIEW View,
    _In_ PCREADER_LIVE_MODEL Model
    )
{
    PCREADER_LIVE_NODE Node;
    ULONG Index;

    for (Index = 0; Index < Model->NumberOfNodes; Index++) {
        View->Folds[Index] &= ~READER_NODE_KEPT;
    }

    for (Index = Model->NumberOfNodes - 1;
         Index >= READER_LIVE_FIRST_NODE;
         Index--) {

        Node = &Model->Nodes[Index];
        if (Node->IsShown &&
            LiveIsInView(View, Node->Name, Node->NameLength)) {
            View->Folds[Index] |= READER_NODE_KEPT;
        }

        if ((View->Folds[Index] & READER_NODE_KEPT) != 0) {
            View->Folds[Node->Parent] |= READER_NODE_KEPT;
        }
    }
}


_Use_decl_annotations_
NTSTATUS
LiveOrderNodes(
    PREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    PULONG NumberOfRows
    )
{
    ULONG Selected = View->Selected[ReaderViewTree];
    ULONG Count = 0;
    ULONG Index;
    ULONG Node;
    NTSTATUS Status;

    *NumberOfRows = 0;
    if (Model->NumberOfNodes == 0) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&View->Folds,
                           &View->CapacityOfFolds,
                           Model->NumberOfNodes,
                           sizeof(UCHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (View->Generation != Model->Generation) {
        View->Generation = Model->Generation;
        View->SelectedNode = READER_NONE;
        for (Index = 0; Index < View->CapacityOfFolds; Index++) {
            View->Folds[Index] = 0;
        }
    }

    LiveKeepNodes(View, Model);
    for (Node = LiveNextVisible(View, Model, 0);
         Node != READER_NONE;
         Node = LiveNextVisible(View, Model, Node)) {
        View->Order[Count] = Node;
        if (Node == View->SelectedNode &&
            Selected == View->RowOfSelectedNode) {
            View->Selected[ReaderViewTree] = Count;
        }

        Count += 1;
    }

    *NumberOfRows = Count;
    Selected = View->Selected[ReaderViewTree];
    if (Selected >= Count) {
        Selected = Count != 0 ? Count - 1 : 0;
    }

    View->RowOfSelectedNode = Selected;
    View->SelectedNode = Count != 0 ? View->Order[Selected] : READER_NONE;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
LiveOrderEdges(
    PREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    PULONG NumberOfRows
    )
{
    PCREADER_LIVE_NODE Node;
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    *NumberOfRows = 0;
    View->NumberOfEdges = 0;
    if (View->NumberOfTargets == 0) {
        return STATUS_SUCCESS;
    }

    Status = LiveFindEdges(Model,
                           View->Targets[View->NumberOfTargets - 1].Function,
                           &View->Edges,
                           &View->CapacityOfEdges,
                           &View->NumberOfEdges);
    for (Index = 0; Index < View->NumberOfEdges; Index++) {
        Node = &Model->Nodes[View->Edges[Index].Node];
        if (Index == 0 || View->Edges[Index].Function == READER_NONE ||
            (READER_IS_CALLING_MODULE(View->Edges[Index].Function)
                 ? LiveIsInView(View, Node->CallerName, Node->CallerLength)
                 : LiveIsInView(View, Node->Name, Node->NameLength))) {
            View->Order[Count] = Index;
            Count += 1;
        }
    }

    *NumberOfRows = Count;
    return Status;
}


_Use_decl_annotations_
VOID
LiveFoldNode(
    PREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    BOOLEAN IsUnfolding
    )
{
    ULONG Row = View->Selected[ReaderViewTree];
    BOOLEAN HasRows;
    ULONG Node;

    if (Row >= View->NumberOfRows) {
        return;
    }

    Node = View->Order[Row];
    HasRows = Row + 1 < View->NumberOfRows &&
              Model->Nodes[View->Order[Row + 1]].Parent == Node;
    if (IsUnfolding) {
        if (LiveCountFolded(View, Model, Node) != 0) {
            View->Folds[Node] = (UCHAR)((View->Folds[Node] &
                                         ~READER_NODE_FOLDED) |
                                        READER_NODE_UNFOLDED);
        } else if (HasRows) {
            View->Selected[ReaderViewTree] += 1;
        }
    } else if (HasRows) {
        View->Folds[Node] = (UCHAR)((View->Folds[Node] &
                                     ~READER_NODE_UNFOLDED) |
                                    READER_NODE_FOLDED);
    } else {
        while (Row != 0 && View->Order[Row] != Model->Nodes[Node].Parent) {
            Row -= 1;
        }

        if (View->Order[Row] == Model->Nodes[Node].Parent) {
            View->Selected[ReaderViewTree] = Row;
        }
    }
}


_Use_decl_annotations_
ULONG
LiveCountFolded(
    PCREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    ULONG Node
    )
{
    ULONG Child;
    ULONG Count = 0;

    for (Child = Model->Nodes[Node].FirstChild;
         Child != READER_NONE;
         Child = Model->Nodes[Child].NextSibling) {
        if ((View->Folds[Child] & READER_NODE_KEPT) != 0 &&
            !LiveIsNodeVisible(View, Model, Child)) {
            Count += 1;
        }
    }

    return Count;
}


_Use_decl_annotations_
ULONG
LiveWriteBranches(
    PRTL_WRITER Writer,
    PCREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    ULONG Node,
    ULONG Levels
    )
{
    ULONG Depth = Model->Nodes[Node].Depth;
    ULONG Level = Depth < Levels ? Depth : Levels;
    ULONG Cells = Level * 2;
    ULONG Above;
    ULONG Up;
    BOOLEAN IsLast;

    //
    // The outermost level comes first; the levels are few.
    //

    while (Level != 0) {

        Above = Node;
        for (Up = Level; Up > 1; Up--) {
            Above = Model->Nodes[Above].Parent;
        }

        IsLast = LiveFindVisible(View,
                                 Model,
                                 Model->Nodes[Above].NextSibling) ==
                 READER_NONE;
        if (Level == 1) {
            RtlWriteText(Writer,
                         "%s",
                         IsLast ? "\xE2\x94\x94\xE2\x94\x80"
                                : "\xE2\x94\x9C\xE2\x94\x80");
        } else {
            RtlWriteText(Writer, "%s", IsLast ? "  " : "\xE2\x94\x82 ");
        }

        Level -= 1;
    }

    return Cells;
}


//
// Writes a share of time in the column of one.
//

static
VOID
LiveWritePercent(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONGLONG Part,
    _In_ ULONGLONG Whole,
    _In_ int Width
    )
{
    ULONG PerMille = LiveQueryPerMille(Part, Whole);

    if (Model->Clock->Kind == TRACE_CLOCK_NONE || Whole == 0) {
        RtlWriteText(Writer, "%*s", Width, "-");
    } else {
        RtlWriteText(Writer,
                     "%*u.%u",
                     Width - 2,
                     PerMille / 10,
                     PerMille % 10);
    }
}


//
// Writes how many calls there were, or their time.
//

static
VOID
LiveWriteSumCell(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ BOOLEAN IsTime,
    _In_ ULONGLONG Sum
    )
{
    if (IsTime) {
        LiveWriteLiveTime(Writer, Model->Clock, Sum, Model->AreNodesEstimated);
    } else {
        LiveWriteLiveNumber(Writer,
                            Sum,
                            Model->AreNodesEstimated,
                            Model->NodesLimit,
                            15);
    }
}


_Use_decl_annotations_
VOID
LiveWriteNodeCell(
    PRTL_WRITER Writer,
    PCREADER_LIVE_MODEL Model,
    PCREADER_LIVE_NODE Node,
    ULONG Column
    )
{
    switch (Column) {

    case ReaderNodeTotalPercent:
        LiveWritePercent(Writer, Model, Node->TotalTicks, Model->NodesTicks, 7);
        break;

    case ReaderNodeSelfPercent:
        LiveWritePercent(Writer, Model, Node->SelfTicks, Model->NodesTicks, 6);
        break;

    case ReaderNodeCalls:
        LiveWriteSumCell(Writer, Model, FALSE, Node->Calls);
        break;

    case ReaderNodeTotal:
        LiveWriteSumCell(Writer, Model, TRUE, Node->TotalTicks);
        break;

    default:
        LiveWriteSumCell(Writer, Model, TRUE, Node->SelfTicks);
        break;
    }

    RtlWriteText(Writer, "  ");
}


_Use_decl_annotations_
VOID
LiveWriteEdgeCell(
    PRTL_WRITER Writer,
    PCREADER_VIEW View,
    PCREADER_LIVE_MODEL Model,
    PCREADER_LIVE_EDGE Edge,
    ULONG Column
    )
{
    switch (Column) {

    case ReaderEdgeShare:
        LiveWritePercent(Writer,
                         Model,
                         Edge->TotalTicks,
                         View->Edges[0].TotalTicks,
                         7);
        break;

    case ReaderEdgeCalls:
        LiveWriteSumCell(Writer, Model, FALSE, Edge->Calls);
        break;

    case ReaderEdgeTotal:
        LiveWriteSumCell(Writer, Model, TRUE, Edge->TotalTicks);
        break;

    default:
        LiveWriteSumCell(Writer, Model, TRUE, Edge->SelfTicks);
        break;
    }

    RtlWriteText(Writer, "  ");
}
