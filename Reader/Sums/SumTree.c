/*++

Module Name:

    SumTree.c

Abstract:

    The call tree: a node is a chain of calls from an outermost function; the
    same chain on another thread is the same node, unless each thread has its
    own tree.

    Memory is bounded by the number of nodes.  Nothing here recurses: the tree
    is walked by its links.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "SumPutStatistics.h"
#include "SumTree.h"


_Use_decl_annotations_
VOID
SumInitializeTree(
    PREADER_TREE Tree,
    PREADER_FUNCTIONS Functions,
    PCREADER_RANGE Range,
    ULONG MaximumDepth,
    BOOLEAN HasTracks
    )
{
    RtlZeroBytes(Tree, sizeof(*Tree));
    Tree->Session = Functions->Session;
    Tree->Functions = Functions;
    Tree->Range = Range;
    Tree->MaximumDepth = MaximumDepth;
    Tree->HasTracks = HasTracks;
    Tree->Thread = READER_NONE;
    BaseInitializeMap(&Tree->Children,
                      Tree->Session->Context->Allocator);
    BaseInitializeMap(&Tree->TrackNodes,
                      Tree->Session->Context->Allocator);
}


_Use_decl_annotations_
VOID
SumRundownTree(
    PREADER_TREE Tree
    )
{
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;

    Allocator->Free(Allocator->Context, Tree->Nodes);
    Allocator->Free(Allocator->Context, Tree->Tracks);
    BaseRundownMap(&Tree->Children);
    BaseRundownMap(&Tree->TrackNodes);
}


//
// Parent: the node above it; READER_NONE for the root.
// Node: its index.
//

_Must_inspect_result_
static
NTSTATUS
SumAddNode(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _Out_ PULONG Node
    )
{
    PREADER_NODE New;
    NTSTATUS Status;

    if (Tree->NumberOfNodes == READER_NONE) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(Tree->Session->Context->Allocator,
                           (PVOID *)&Tree->Nodes,
                           &Tree->CapacityOfNodes,
                           Tree->NumberOfNodes + 1,
                           sizeof(READER_NODE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Parent != READER_NONE) {
        Status = BaseAddToMap(&Tree->Children,
                              ((ULONGLONG)Parent << 32) | Function,
                              Tree->NumberOfNodes);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    New = &Tree->Nodes[Tree->NumberOfNodes];
    New->Function = Function;
    New->Parent = Parent;
    New->FirstChild = READER_NONE;
    New->NextSibling = READER_NONE;

    if (Parent != READER_NONE) {

        PREADER_NODE Above = &Tree->Nodes[Parent];

        New->NextSibling = Above->FirstChild;
        New->Depth = Above->Function == READER_NONE ? 0 : Above->Depth + 1;
        Above->FirstChild = Tree->NumberOfNodes;
        Above->NumberOfChildren += 1;
    }

    *Node = Tree->NumberOfNodes;
    Tree->NumberOfNodes += 1;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
SumAddRoot(
    PREADER_TREE Tree
    )
{
    ULONG Root;

    return Tree->NumberOfNodes != 0
               ? STATUS_SUCCESS
               : SumAddNode(Tree, READER_NONE, READER_NONE, &Root);
}


_Use_decl_annotations_
VOID
SumBeginThreadOfTree(
    PREADER_TREE Tree,
    ULONG ThreadIndex
    )
{
    Tree->FirstTrack = Tree->NumberOfTracks;
    Tree->Thread = ThreadIndex;
    Tree->ThreadId = Tree->Session->Threads[ThreadIndex].ThreadId;
    Tree->Process = Tree->Session->Threads[ThreadIndex].Process;
}


_Use_decl_annotations_
ULONG
SumQueryTrack(
    const READER_TREE *Tree,
    ULONG ThreadIndex,
    ULONG Fiber
    )
{
    ULONG Thread = Fiber == 0 ? Tree->Session->Threads[ThreadIndex].Same
                              : ThreadIndex;
    ULONG Node;

    return BaseFindInMap(&Tree->TrackNodes,
                         ((ULONGLONG)Thread << 32) | Fiber,
                         &Node)
               ? Node
               : READER_NONE;
}


_Use_decl_annotations_
NTSTATUS
SumFindTrack(
    PREADER_TREE Tree,
    ULONG Fiber,
    PULONG Node
    )
{
    PREADER_TRACK Track;
    ULONG Thread = Tree->Thread;
    ULONG Index = Tree->FirstTrack + Fiber;
    NTSTATUS Status;

    if (Fiber == 0) {
        Thread = Tree->Session->Threads[Thread].Same;
        if (Thread != Tree->Thread) {
            *Node = SumQueryTrack(Tree, Thread, Fiber);
            if (*Node != READER_NONE) {
                return STATUS_SUCCESS;
            }
        }
    }

    if (Index < Tree->FirstTrack || Index >= 0x80000000u) {
        return STATUS_NO_MEMORY;
    }

    if (Index >= Tree->NumberOfTracks) {

        Status = BaseGrowArray(Tree->Session->Context->Allocator,
                               (PVOID *)&Tree->Tracks,
                               &Tree->CapacityOfTracks,
                               Index + 1,
                               sizeof(READER_TRACK));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Tree->NumberOfTracks = Index + 1;
    }

    Track = &Tree->Tracks[Index];
    if (Track->Node == READER_ROOT_NODE) {

        Status = SumAddNode(Tree, READER_ROOT_NODE, Index, Node);
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&Tree->TrackNodes,
                                  ((ULONGLONG)Thread << 32) | Fiber,
                                  *Node);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Tree->Nodes[*Node].Function = READER_NONE;
        Tree->Nodes[*Node].Depth = Index;
        Track->Node = *Node;
        Track->ThreadId = Tree->ThreadId;
        Track->Process = Tree->Process;
        Track->Fiber = Fiber;
    }

    *Node = Track->Node;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
SumFindNode(
    PREADER_TREE Tree,
    ULONG Above,
    ULONG Function,
    PULONG Node
    )
{
    if (BaseFindInMap(&Tree->Children,
                      ((ULONGLONG)Above << 32) | Function,
                      Node)) {
        return STATUS_SUCCESS;
    }

    return SumAddNode(Tree, Above, Function, Node);
}


//
// Finds the node of a call, and adds it if it is not there.
// Track: the stack it is on.
// Parent: the frame below it, with its node; NULL: there is none.
// Node: the node; READER_NONE: --depth leaves it out.
//

_Must_inspect_result_
static
NTSTATUS
SumEnterNode(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG Function,
    _In_ ULONG Depth,
    _In_ ULONG Track,
    _In_opt_ const CORE_FRAME *Parent,
    _Out_ PULONG Node
    )
{
    ULONG Above = READER_ROOT_NODE;
    NTSTATUS Status;

    *Node = READER_NONE;
    if (Depth >= Tree->MaximumDepth) {
        return STATUS_SUCCESS;
    }

    if (Parent != NULL) {
        Above = Parent->Node;
    } else if (Tree->HasTracks) {
        Status = SumFindTrack(Tree, Track, &Above);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return SumFindNode(Tree, Above, Function, Node);
}


//
// Adds an event, and shows it to who watches the tree.
//

_Use_decl_annotations_
static
NTSTATUS
SumTreeEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
{
    PREADER_TREE Tree = (PREADER_TREE)Walk->Context;
    PREADER_SESSION Session = Tree->Session;
    ULONG NumberOfNodes = Tree->NumberOfNodes;
    PREADER_NODE Node;
    NTSTATUS Status;

    if (Tree->Thread != Walk->Thread) {
        SumBeginThreadOfTree(Tree, Walk->Thread);
    }

    switch (Event->Kind) {

    case CoreEventEnter:
        Status = SumEnterNode(Tree,
                              Event->Frame->Function,
                              Event->Depth,
                              Event->Track,
                              Event->Parent,
                              &Event->Frame->Node);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        //
        // Names are asked for where a chain is new: not below --depth.
        //

        if (Tree->NumberOfNodes != NumberOfNodes) {
            FunctionWarnOfSymbols(
                Session,
                Session->Modules[Tree->Functions->Functions
                                     [Event->Frame->Function].Module]);
        }

        if (IsBegunBefore && Event->Frame->Node != READER_NONE) {
            Tree->Nodes[Event->Frame->Node].Statistics.BegunBefore += 1;
        }
        break;

    case CoreEventUnmatched:
        break;

    default:
        if (Event->Frame->Node == READER_NONE) {
            break;
        }

        Node = &Tree->Nodes[Event->Frame->Node];
        if (Event->Kind != CoreEventAbandoned &&
            Node->Statistics.Calls == Node->Statistics.Abandoned) {
            Node->FirstTicks = Event->InclusiveTicks;
        }

        CoreAddToStatistics(&Node->Statistics, Event, TRUE);
        break;
    }

    return Tree->Watch != NULL ? Tree->Watch(Tree->WatchContext,
                                             Walk->Thread,
                                             Event,
                                             IsBegunBefore)
                               : STATUS_SUCCESS;
}


_Use_decl_annotations_
BOOLEAN
SumGetNodeStatistics(
    const READER_SESSION *Session,
    const READER_TREE_NODE *Node,
    PREADER_STATISTICS Statistics,
    PULONGLONG FirstTicks
    )
{
    const READER_MODULE *Module;
    ULONGLONG Calls;
    ULONGLONG CallsOfChildren = Node->Node->CallsOfChildren;
    ULONGLONG CallsBelow = Node->Node->CallsBelow;

    CoreGetNodeStatistics(Node->Node, Statistics);
    *FirstTicks = 0;
    if (Statistics->Calls == Statistics->Abandoned) {
        return FALSE;
    }

    //
    // In abandoned calls others have waited, too.
    //

    Statistics->WaitedTicks = Node->WaitedTicks;
    if (Statistics->WaitedTicks > Statistics->TotalTicks) {
        Statistics->WaitedTicks = Statistics->TotalTicks;
    }

    *FirstTicks = Node->Node->Minimum <= Node->Node->Maximum
                      ? Node->Node->First
                      : Statistics->MinimumTicks;
    Module = Session->Modules[Node->Module];

    //
    // Of a pair of hooks, the part between its time stamps is the call's
    // own, the rest its caller's.  How many calls were made from abandoned ones
    // is not known: as large a part as theirs of the time.
    //

    if (Session->IsProbeSubtracted && Module->ProbeInner != 0) {

        Calls = Statistics->Calls - Statistics->Abandoned +
                Statistics->AbandonedInTotal;
        if (Calls != Statistics->Calls && Statistics->AbandonedTicks != 0) {
            CallsOfChildren = CoreMultiplyDivide(CallsOfChildren,
                                                 Statistics->TotalTicks,
                                                 Node->Node->Total);
            CallsBelow = CoreMultiplyDivide(CallsBelow,
                                            Statistics->TotalTicks,
                                            Node->Node->Total);
        }

        Statistics->SelfProbe = Calls * Module->ProbeInner +
                                CallsOfChildren *
                                    (Module->ProbeTotal - Module->ProbeInner);
        Statistics->SumProbe = Calls * Module->ProbeInner +
                               CallsBelow * Module->ProbeTotal;
        Statistics->TotalProbe = Statistics->SumProbe;
    }

    return TRUE;
}


//
// Adds a node of a thread's tree.
// Context: the tree that it is added to.
// Node: the node; its value is that of the tree, and for one without one above
// it is not used.
//

_Use_decl_annotations_
static
NTSTATUS
SumTreeNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_TREE Tree = (PREADER_TREE)Context;
    READER_STATISTICS Statistics;
    ULONGLONG FirstTicks;
    CORE_FRAME Above;
    PREADER_NODE Own;
    NTSTATUS Status;

    Above.Node = Node->ValueAbove;
    Status = SumEnterNode(Tree,
                          Node->Function,
                          Node->Depth,
                          0,
                          Node->Depth != 0 ? &Above : NULL,
                          &Node->Value);
    if (!NT_SUCCESS(Status) || Node->Value == READER_NONE) {
        return Status;
    }

    Own = &Tree->Nodes[Node->Value];
    if (SumGetNodeStatistics(Tree->Session, Node, &Statistics, &FirstTicks) &&
        Own->Statistics.Calls == Own->Statistics.Abandoned) {
        Own->FirstTicks = FirstTicks;
    }

    CoreAddStatistics(&Own->Statistics, &Statistics, TRUE);
    return Tree->NodeWatch != NULL ? Tree->NodeWatch(Tree->WatchContext, Node)
                                   : STATUS_SUCCESS;
}


//
// Hands an open call on.
// Context: the tree that nodes are added to.
// Returns what the caller's routine returned.
//

_Use_decl_annotations_
static
NTSTATUS
SumTreeFrame(
    PVOID Context,
    PCREADER_TREE_FRAME Frame
    )
{
    PREADER_TREE Tree = (PREADER_TREE)Context;

    return Tree->FrameWatch(Tree->WatchContext, Frame);
}


_Use_decl_annotations_
NTSTATUS
SumAddTreesToTree(
    PREADER_TREE Tree,
    ULONG ThreadIndex
    )
{
    NTSTATUS Status;

    Status = SumAddRoot(Tree);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    return CallVisitTrees(Tree->Functions,
                          ThreadIndex,
                          SumTreeNode,
                          Tree->FrameWatch != NULL ? SumTreeFrame : NULL,
                          Tree);
}


//
// Adds a node of a store's tree, in a walk.
//

_Use_decl_annotations_
static
NTSTATUS
SumWalkNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_WALK Walk = (PREADER_WALK)Context;
    PREADER_TREE Tree = (PREADER_TREE)Walk->Context;

    if (Tree->Thread != Walk->Thread) {
        SumBeginThreadOfTree(Tree, Walk->Thread);
    }

    return SumTreeNode(Tree, Node);
}


//
// Decides which nodes are shown: those of functions that are to be shown,
// those above and those below them; but none that is of an excluded function,
// or below one.
//
// Tree: the tree, with all threads.
//

static
VOID
SumDecideNodes(
    _Inout_ PREADER_TREE Tree
    )
{
    PCREADER_FUNCTION Function;
    PREADER_NODE Above;
    PREADER_NODE Node;
    ULONG Index;

    //
    // A node comes after the one above it.
    //

    for (Index = READER_ROOT_NODE + 1; Index < Tree->NumberOfNodes; Index++) {

        Node = &Tree->Nodes[Index];
        if (Node->Function == READER_NONE) {
            continue;
        }

        Above = &Tree->Nodes[Node->Parent];
        Function = &Tree->Functions->Functions[Node->Function];
        Node->IsExcluded = Above->IsExcluded || Function->IsExcluded;
        Node->IsInside = !Node->IsExcluded &&
                         (Above->IsInside || Function->IsShown);
        Node->IsShown = Node->IsInside;
    }

    for (Index = Tree->NumberOfNodes - 1; Index > READER_ROOT_NODE; Index--) {
        if (Tree->Nodes[Index].IsShown) {
            Tree->Nodes[Tree->Nodes[Index].Parent].IsShown = TRUE;
        }
    }
}


//
// Of the nodes that are shown hides those that have less time than that, and
// none below them that has it.
//

static
VOID
SumHideShortNodes(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONGLONG MinimumTicks
    )
{
    PREADER_NODE Node;
    ULONG Index;

    for (Index = Tree->NumberOfNodes - 1; Index > READER_ROOT_NODE; Index--) {

        Node = &Tree->Nodes[Index];
        if (Node->IsShown && !Node->IsLong) {

            Node->IsLong = Node->Function != READER_NONE &&
                           Node->Statistics.TotalTicks +
                                   Node->Statistics.AbandonedTicks >=
                               MinimumTicks;
        }

        if (Node->IsLong) {
            Tree->Nodes[Node->Parent].IsLong = TRUE;
        } else if (Node->IsShown) {
            Node->IsShown = FALSE;
            if (Node->Function != READER_NONE) {
                Tree->NotShown.ShortNodes += 1;
                Tree->NotShown.ShortCalls += Node->Statistics.Calls;
                Node->IsShort = TRUE;
                RtlZeroBytes(&Node->Statistics, sizeof(Node->Statistics));
            }
        }
    }
}


_Use_decl_annotations_
VOID
SumFilterTree(
    PREADER_TREE Tree,
    PCREADER_FILTER Filter,
    ULONGLONG MinimumTicks
    )
{
    PREADER_NODE Above;
    PREADER_NODE Node;
    ULONG Index;

    FunctionGiveShortNames(Tree->Functions);
    if (Filter == NULL && MinimumTicks == 0) {
        return;
    }

    FunctionFilterFunctions(Tree->Functions, Filter);
    SumDecideNodes(Tree);
    if (MinimumTicks != 0) {
        Tree->NotShown.HasLimits = TRUE;
        SumHideShortNodes(Tree, MinimumTicks);
    }

    for (Index = 0; Index < Tree->NumberOfNodes; Index++) {
        Tree->Nodes[Index].FirstChild = READER_NONE;
        Tree->Nodes[Index].NumberOfChildren = 0;
    }

    Tree->NotShown.AreNodes = TRUE;
    for (Index = READER_ROOT_NODE + 1; Index < Tree->NumberOfNodes; Index++) {

        Node = &Tree->Nodes[Index];
        if (Node->IsShown) {

            Above = &Tree->Nodes[Node->Parent];
            Node->NextSibling = Above->FirstChild;
            Above->FirstChild = Index;
            Above->NumberOfChildren += 1;
            if (Node->Function != READER_NONE) {
                Tree->NumberShown += 1;
            }

        } else if (Node->Function != READER_NONE && !Node->IsShort) {

            Tree->NotShown.Rows += 1;
            Tree->NotShown.Calls += Node->Statistics.Calls;
            RtlZeroBytes(&Node->Statistics, sizeof(Node->Statistics));
        }
    }
}


//
// Orders nodes by total time, then by name; tracks as they were met.
// CompareContext: the tree.
// First, Second: node indexes.
// Returns negative, zero or positive.
//

static
LONG
SumCompareNodes(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_TREE Tree = (PREADER_TREE)CompareContext;
    PCREADER_FUNCTION FirstFunction;
    PCREADER_FUNCTION SecondFunction;
    LONG Order;

    if (Tree->Nodes[First].Function == READER_NONE) {
        return Tree->Nodes[First].Depth < Tree->Nodes[Second].Depth ? -1 : 1;
    }

    FirstFunction =
        &Tree->Functions->Functions[Tree->Nodes[First].Function];
    SecondFunction =
        &Tree->Functions->Functions[Tree->Nodes[Second].Function];

    Order = SumCompareStatistics(&Tree->Nodes[First].Statistics,
                                 &Tree->Nodes[Second].Statistics,
                                 Tree->SortKey);
    if (Order == 0) {
        Order = FunctionCompareNames(FirstFunction, SecondFunction);
    }

    if (Order == 0) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


_Use_decl_annotations_
NTSTATUS
SumSortTree(
    PREADER_TREE Tree
    )
{
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;
    PULONG Order = NULL;
    ULONG CapacityOfOrder = 0;
    ULONG Child;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0; Index < Tree->NumberOfNodes; Index++) {

        PREADER_NODE Node = &Tree->Nodes[Index];

        if (Node->NumberOfChildren < 2) {
            continue;
        }

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Order,
                               &CapacityOfOrder,
                               Node->NumberOfChildren,
                               sizeof(ULONG));
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Count = 0;
        for (Child = Node->FirstChild;
             Child != READER_NONE;
             Child = Tree->Nodes[Child].NextSibling) {
            Order[Count] = Child;
            Count += 1;
        }

        BaseSort(Order, Count, SumCompareNodes, Tree);

        Node->FirstChild = Order[0];
        for (Child = 0; Child < Count; Child++) {
            Tree->Nodes[Order[Child]].NextSibling =
                Child + 1 < Count ? Order[Child + 1] : READER_NONE;
        }
    }

    Allocator->Free(Allocator->Context, Order);
    return Status;
}


_Use_decl_annotations_
ULONG
SumBuildTreeOfEvents(
    PREADER_TREE Tree,
    PCREADER_OPTIONS Options
    )
{
    READER_WALK Walk;
    ULONG ExitCode;
    NTSTATUS Status;

    Status = SumAddRoot(Tree);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Tree->Session->Context,
                        "build the call tree",
                        Options->PathUtf8,
                        Status);
    }

    RtlZeroBytes(&Walk, sizeof(Walk));
    Walk.Functions = Tree->Functions;
    Walk.Range = Tree->Range;
    Walk.Options = Options;
    Walk.Event = SumTreeEvent;
    Walk.Node = SumWalkNode;
    Walk.Context = Tree;
    Walk.Selected = Tree->Selected;
    Walk.IsSilent = TRUE;
    ExitCode = CallWalkThreads(&Walk);
    Tree->NumberOfWorkers = 1;
    Tree->NumberOfThreads = Walk.NumberOfThreads;
    Tree->NumberOfRecords = Walk.NumberOfRecords;
    return ExitCode;
}


_Use_decl_annotations_
ULONG
SumNextNode(
    const READER_TREE *Tree,
    ULONG Node
    )
{
    if (Tree->Nodes[Node].FirstChild != READER_NONE) {
        return Tree->Nodes[Node].FirstChild;
    }

    while (Node != READER_ROOT_NODE &&
           Tree->Nodes[Node].NextSibling == READER_NONE) {
        Node = Tree->Nodes[Node].Parent;
    }

    return Node == READER_ROOT_NODE ? READER_NONE
                                    : Tree->Nodes[Node].NextSibling;
}


_Use_decl_annotations_
NTSTATUS
SumTree(
    const READER_TREE *Tree,
    PREADER_STATISTICS Statistics
    )
{
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;
    PREADER_NODE Nodes = Tree->Nodes;
    PULONG Active;
    ULONG Above = READER_ROOT_NODE;
    ULONG Node;

    //
    // How many of the nodes from the root to this one have a function: with
    // one of them above, a node's time is already in the total.
    //

    Active = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Tree->Functions->NumberOfFunctions + 1) *
                                sizeof(ULONG));
    if (Active == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Node = SumNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = SumNextNode(Tree, Node)) {

        while (Above != Nodes[Node].Parent) {
            if (Nodes[Above].Function != READER_NONE) {
                Active[Nodes[Above].Function] -= 1;
            }
            Above = Nodes[Above].Parent;
        }

        Above = Node;
        if (Nodes[Node].Function != READER_NONE) {
            Nodes[Node].IsOutermost = Active[Nodes[Node].Function] == 0;
            CoreAddStatistics(&Statistics[Nodes[Node].Function],
                              &Nodes[Node].Statistics,
                              Nodes[Node].IsOutermost);
            Active[Nodes[Node].Function] += 1;
        }
    }

    Allocator->Free(Allocator->Context, Active);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
SumTreesOfThread(
    PREADER_FUNCTIONS Functions,
    ULONG ThreadIndex,
    PREADER_STATISTICS *Sums,
    PULONG NumberOfSums,
    PULONGLONG Unmatched
    )
{
    PREADER_SESSION Session = Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_RANGE Range;
    READER_TREE Tree;
    ULONG Index;
    NTSTATUS Result;
    NTSTATUS Status;

    *Sums = NULL;
    *NumberOfSums = 0;
    *Unmatched = 0;
    RtlZeroBytes(&Range, sizeof(Range));
    SumInitializeTree(&Tree, Functions, &Range, READER_NONE, FALSE);
    Result = SumAddTreesToTree(&Tree, ThreadIndex);
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    *Sums = (PREADER_STATISTICS)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Functions->NumberOfFunctions + 1) *
                                sizeof(READER_STATISTICS));
    Status = *Sums != NULL ? SumTree(&Tree, *Sums) : STATUS_NO_MEMORY;
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, *Sums);
        *Sums = NULL;
        Result = Status;
        goto End;
    }

    *NumberOfSums = Functions->NumberOfFunctions;
    for (Index = Session->Threads[ThreadIndex].FirstStore;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {
        if (Session->Stores[Index]->IsTree) {
            *Unmatched +=
                Session->Stores[Index]->Header->NumberOfUnmatchedExits;
        }
    }

End:
    SumRundownTree(&Tree);
    return Result;
}
