/*++

Module Name:

    ExportHtmlTree.c

Abstract:

    The call tree of the HTML export: the trees of all threads as one.  Where
    it has more nodes than the file has room for, those with the least time are
    left out, with all below them, and counted.

--*/

#include "ExportHtml.h"


//
// Adds a node to the merged tree.
// Merged: the merged tree, which has the node's parent.
// Children: of the merged tree: (parent << 32) | function to node.
// Tree: the tree with tracks.
//

_Must_inspect_result_
static
NTSTATUS
ExportMergeNode(
    _Inout_ PREADER_HTML_TREE Merged,
    _Inout_ PREADER_MAP Children,
    _In_ const READER_TREE *Tree,
    _In_ ULONG Node
    )
{
    const READER_NODE *From = &Tree->Nodes[Node];
    PREADER_HTML_NODE New;
    ULONG Parent = Merged->Merged[From->Parent];
    ULONG Index;
    NTSTATUS Status;

    if (!BaseFindInMap(Children,
                       ((ULONGLONG)Parent << 32) | From->Function,
                       &Index)) {

        Index = Merged->NumberOfNodes;
        Status = BaseGrowArray(Tree->Session->Context->Allocator,
                               (PVOID *)&Merged->Nodes,
                               &Merged->CapacityOfNodes,
                               Index + 1,
                               sizeof(READER_HTML_NODE));
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(
                Children,
                ((ULONGLONG)Parent << 32) | From->Function,
                Index);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        New = &Merged->Nodes[Index];
        New->Function = From->Function;
        New->Parent = Parent;
        Merged->NumberOfNodes += 1;
    }

    Merged->Merged[Node] = Index;
    CoreAddStatistics(&Merged->Nodes[Index].Statistics,
                      &From->Statistics,
                      TRUE);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
ExportChooseHtmlNodes(
    PREADER_HTML_TREE Merged,
    const READER_TREE *Tree,
    ULONG MaximumNodes
    )
{
    PREADER_HTML_NODE Nodes = Merged->Nodes;
    ULONGLONG Least = 0;
    ULONGLONG Weight;
    ULONG Count = Merged->NumberOfNodes;
    ULONG Index;
    ULONG Node;

    //
    // A node comes after its parent, and weighs no more.
    //

    for (Index = Count; Index > 0; Index--) {

        PREADER_HTML_NODE Each = &Nodes[Index - 1];

        Weight = Each->Statistics.TotalTicks +
                 Each->Statistics.AbandonedTicks;
        if (Tree->Session->Clock.Kind == TRACE_CLOCK_NONE) {
            Weight = Each->Statistics.Calls;
        }

        if (Weight > Each->Weight) {
            Each->Weight = Weight;
        }

        if (Each->Parent != READER_NONE &&
            Each->Weight > Nodes[Each->Parent].Weight) {
            Nodes[Each->Parent].Weight = Each->Weight;
        }
    }

    while (Count > MaximumNodes) {

        Least = Least == 0 ? 1 : Least * 2;
        Count = 0;
        for (Index = 0; Index < Merged->NumberOfNodes; Index++) {
            Count += Nodes[Index].Weight >= Least;
        }

        if (Least >= 1ULL << 62) {
            break;
        }
    }

    Merged->NumberWritten = 0;
    Merged->NumberOfTrackNodes = 0;
    for (Index = 0; Index < Merged->NumberOfNodes; Index++) {

        Nodes[Index].Index = READER_NONE;
        if (Nodes[Index].Weight >= Least) {
            Nodes[Index].Index = Merged->NumberWritten;
            Merged->NumberWritten += 1;
        }
    }

    for (Node = SumNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = SumNextNode(Tree, Node)) {
        if (Tree->Nodes[Node].Function != READER_NONE &&
            Nodes[Merged->Merged[Node]].Index != READER_NONE) {
            Merged->NumberOfTrackNodes += 1;
        }
    }
}


_Use_decl_annotations_
NTSTATUS
ExportMergeTracks(
    PREADER_HTML_TREE Merged,
    const READER_TREE *Tree
    )
{
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;
    READER_MAP Children;
    ULONG Capacity = 0;
    ULONG NumberOfTracks = 0;
    ULONG Node;
    NTSTATUS Status;

    BaseInitializeMap(&Children, Allocator);
    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Merged->Merged,
                           &Capacity,
                           Tree->NumberOfNodes,
                           sizeof(ULONG));

    for (Node = SumNextNode(Tree, READER_ROOT_NODE);
         NT_SUCCESS(Status) && Node != READER_NONE;
         Node = SumNextNode(Tree, Node)) {

        if (Tree->Nodes[Node].Function == READER_NONE) {
            Merged->Merged[Node] = READER_NONE;
            NumberOfTracks += 1;
        } else {
            Status = ExportMergeNode(Merged, &Children, Tree, Node);
        }
    }

    if (NT_SUCCESS(Status)) {
        ExportChooseHtmlNodes(Merged, Tree, READER_HTML_MAXIMUM_NODES);
        Merged->HasTracks =
            NumberOfTracks > 1 &&
            NumberOfTracks <= READER_HTML_MAXIMUM_TRACKS &&
            Merged->NumberOfTrackNodes <= READER_HTML_MAXIMUM_TRACK_NODES;
    }

    BaseRundownMap(&Children);
    return Status;
}


_Use_decl_annotations_
VOID
ExportRundownHtmlTree(
    PREADER_HTML_TREE Merged,
    PCALLOCATOR Allocator
    )
{
    Allocator->Free(Allocator->Context, Merged->Nodes);
    Allocator->Free(Allocator->Context, Merged->Merged);
    RtlZeroBytes(Merged, sizeof(*Merged));
}
