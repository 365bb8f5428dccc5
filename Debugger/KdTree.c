/*++

Module Name:

    KdTree.c

Abstract:

    A thread's calls added up: a tree of functions.

--*/

#include "KdTree.h"

#define KD_MAXIMUM_NODES            0x00400000u

_Use_decl_annotations_
NTSTATUS
KdTreeInitialize(
    PKD_CONTEXT Context,
    PKD_TREE Tree
    )
{
    NTSTATUS Status;

    RtlZeroBytes(Tree, sizeof(*Tree));
    Tree->Context = Context;
    BaseInitializeMap(&Tree->Children, &Context->Allocator);
    Status = BaseGrowArray(&Context->Allocator,
                           (PVOID *)&Tree->Nodes,
                           &Tree->Capacity,
                           1,
                           sizeof(KD_NODE));
    if (NT_SUCCESS(Status)) {
        Tree->Nodes[0].Function = KD_NONE;
        Tree->Nodes[0].FirstChild = KD_NONE;
        Tree->Nodes[0].NextSibling = KD_NONE;
        Tree->NumberOfNodes = 1;
    }

    return Status;
}

_Use_decl_annotations_
VOID
KdTreeRundown(
    PKD_TREE Tree
    )
{
    if (Tree->Context != NULL) {
        BaseRundownMap(&Tree->Children);
        KdContextFree(Tree->Context, Tree->Nodes);
        RtlZeroBytes(Tree, sizeof(*Tree));
    }
}

_Use_decl_annotations_
NTSTATUS
KdTreeFindChild(
    PKD_TREE Tree,
    ULONG Parent,
    ULONG Function,
    PULONG Node
    )
{
    ULONGLONG Key = ((ULONGLONG)Parent << 32) | Function;
    PKD_NODE This;
    NTSTATUS Status;

    if (BaseFindInMap(&Tree->Children, Key, Node)) {
        return STATUS_SUCCESS;
    }

    if (Tree->NumberOfNodes == KD_MAXIMUM_NODES) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(&Tree->Context->Allocator,
                           (PVOID *)&Tree->Nodes,
                           &Tree->Capacity,
                           Tree->NumberOfNodes + 1,
                           sizeof(KD_NODE));
    if (NT_SUCCESS(Status)) {
        Status = BaseAddToMap(&Tree->Children, Key, Tree->NumberOfNodes);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Node = Tree->NumberOfNodes;
    Tree->NumberOfNodes += 1;
    This = &Tree->Nodes[*Node];
    RtlZeroBytes(This, sizeof(*This));
    This->Function = Function;
    This->Parent = Parent;
    This->FirstChild = KD_NONE;
    This->Depth = Tree->Nodes[Parent].Depth + 1;
    This->NextSibling = Tree->Nodes[Parent].FirstChild;
    Tree->Nodes[Parent].FirstChild = *Node;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
KdTreeVisit(
    PVOID VisitContext,
    const CORE_EVENT *Event
    )
{
    PKD_TREE Tree = (PKD_TREE)VisitContext;
    PKD_NODE Node;

    if (Event->Kind == CoreEventEnter) {
        return KdTreeFindChild(Tree,
                               Event->Parent != NULL ? Event->Parent->Node : 0,
                               Event->Frame->Function,
                               (PULONG)&Event->Frame->Node);
    }

    Node = &Tree->Nodes[Event->Frame->Node];
    CoreAddToStatistics(&Node->Statistics, Event, TRUE);
    if (Event->Kind == CoreEventOpen && !Tree->Feed->IsAtGap) {
        Node->IsOpen = TRUE;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
ULONG
KdTreeNext(
    PCKD_TREE Tree,
    ULONG Node
    )
{
    if (Tree->Nodes[Node].FirstChild != KD_NONE) {
        return Tree->Nodes[Node].FirstChild;
    }

    while (Node != 0 && Tree->Nodes[Node].NextSibling == KD_NONE) {
        Node = Tree->Nodes[Node].Parent;
    }

    return Node == 0 ? KD_NONE : Tree->Nodes[Node].NextSibling;
}

_Use_decl_annotations_
NTSTATUS
KdTreeSum(
    PCKD_TREE Tree,
    const KD_NAMES *Names,
    PREADER_STATISTICS Statistics
    )
{
    PKD_NODE Nodes = Tree->Nodes;
    PULONG Active;
    ULONG Above = 0;
    ULONG Node;

    //
    // How many of the nodes from the root to this one have a function: with
    // one of them above, a node's time is already in the total.
    //

    Active = (PULONG)KdContextAllocate(
        Tree->Context,
        ((ULONGLONG)Names->NumberOfFunctions + 1) * sizeof(ULONG));
    if (Active == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Node = KdTreeNext(Tree, 0);
         Node != KD_NONE;
         Node = KdTreeNext(Tree, Node)) {

        while (Above != Nodes[Node].Parent) {
            Active[Nodes[Above].Function] -= 1;
            Above = Nodes[Above].Parent;
        }

        Above = Node;
        CoreAddStatistics(&Statistics[Nodes[Node].Function],
                          &Nodes[Node].Statistics,
                          Active[Nodes[Node].Function] == 0);
        Active[Nodes[Node].Function] += 1;
    }

    KdContextFree(Tree->Context, Active);
    return STATUS_SUCCESS;
}

static
LONG
KdTreeCompare(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PKD_NODE Nodes = (PKD_NODE)Context;
    PKD_NODE One = &Nodes[First];
    PKD_NODE Other = &Nodes[Second];

    //
    // By parent, so that siblings are together; the largest comes first.
    //

    if (One->Parent != Other->Parent) {
        return One->Parent < Other->Parent ? -1 : 1;
    }

    if (One->Statistics.TotalTicks != Other->Statistics.TotalTicks) {
        return One->Statistics.TotalTicks > Other->Statistics.TotalTicks ? -1
                                                                         : 1;
    }

    return First < Second ? -1 : First > Second;
}

_Use_decl_annotations_
NTSTATUS
KdTreeSort(
    PKD_TREE Tree
    )
{
    PULONG Order;
    ULONG Index;
    ULONG Node;

    Order = (PULONG)KdContextAllocate(
        Tree->Context,
        (ULONGLONG)Tree->NumberOfNodes * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Tree->NumberOfNodes; Index++) {
        Order[Index] = Index;
        Tree->Nodes[Index].FirstChild = KD_NONE;
        Tree->Nodes[Index].NextSibling = KD_NONE;
    }

    if (Tree->NumberOfNodes > 2) {
        BaseSort(Order + 1,
                 Tree->NumberOfNodes - 1,
                 KdTreeCompare,
                 Tree->Nodes);
    }

    for (Index = Tree->NumberOfNodes; Index-- > 1;) {
        Node = Order[Index];
        Tree->Nodes[Node].NextSibling =
            Tree->Nodes[Tree->Nodes[Node].Parent].FirstChild;
        Tree->Nodes[Tree->Nodes[Node].Parent].FirstChild = Node;
    }

    KdContextFree(Tree->Context, Order);
    return STATUS_SUCCESS;
}
