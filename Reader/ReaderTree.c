/*++

Module Name:

    ReaderTree.c

Abstract:

    The call tree: a node is a chain of calls from an outermost function; the
    same chain on another thread is the same node, unless each thread has its
    own tree.

    Memory is bounded by the number of nodes.  Nothing here recurses: the tree
    is walked by its links.

--*/

#include "ReaderTree.h"


_Use_decl_annotations_
VOID
ReaderInitializeTree(
    PREADER_TREE Tree,
    PREADER_FUNCTIONS Functions,
    PCREADER_RANGE Range,
    ULONG MaximumDepth,
    BOOLEAN HasTracks
    )
/*++

Routine Description:

    Makes an empty tree.

Arguments:

    Tree - Receives it.

    Functions - The table of functions, with the session; must outlive it.

    Range - What is added up; must outlive it.

    MaximumDepth - Calls that are as deep or deeper are left out.

    HasTracks - Each thread, and each fiber that it ran, has its own tree.

Return Value:

    None.

--*/
{
    RtlZeroBytes(Tree, sizeof(*Tree));
    Tree->Session = Functions->Session;
    Tree->Functions = Functions;
    Tree->Range = Range;
    Tree->MaximumDepth = MaximumDepth;
    Tree->HasTracks = HasTracks;
    ReaderInitializeTally(&Tree->Before, Functions, NULL);
    ReaderInitializeMap(&Tree->Children,
                        Tree->Session->Context->Allocator);
}


_Use_decl_annotations_
VOID
ReaderRundownTree(
    PREADER_TREE Tree
    )
/*++

Routine Description:

    Frees what a tree holds.

Arguments:

    Tree - The tree.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;

    Allocator->Free(Allocator->Context, Tree->Nodes);
    Allocator->Free(Allocator->Context, Tree->Tracks);
    ReaderRundownMap(&Tree->Children);
    ReaderRundownTally(&Tree->Before);
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddNode(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _Out_ PULONG Node
    )
/*++

Routine Description:

    Adds a node.

Arguments:

    Tree - The tree.

    Parent - The node above it; READER_NONE for the root.

    Function - Its function.

    Node - Receives its index.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_NODE New;
    NTSTATUS Status;

    if (Tree->NumberOfNodes == READER_NONE) {
        return STATUS_NO_MEMORY;
    }

    Status = ReaderGrowArray(Tree->Session->Context->Allocator,
                             (PVOID *)&Tree->Nodes,
                             &Tree->CapacityOfNodes,
                             Tree->NumberOfNodes + 1,
                             sizeof(READER_NODE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Parent != READER_NONE) {
        Status = ReaderAddToMap(&Tree->Children,
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


_Must_inspect_result_
static
NTSTATUS
ReaderFindTrack(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG Fiber,
    _Out_ PULONG Node
    )
/*++

Routine Description:

    Finds the node of a track of the thread that is read.

Arguments:

    Tree - The tree.

    Fiber - The fiber's number; 0 is the thread's own stack.

    Node - Receives the node.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_TRACK Track;
    ULONG Index = Tree->FirstTrack + Fiber;
    NTSTATUS Status;

    if (Index < Tree->FirstTrack || Index >= 0x80000000u) {
        return STATUS_NO_MEMORY;
    }

    if (Index >= Tree->NumberOfTracks) {

        Status = ReaderGrowArray(Tree->Session->Context->Allocator,
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

        Status = ReaderAddNode(Tree, READER_ROOT_NODE, Index, Node);
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


_Must_inspect_result_
static
NTSTATUS
ReaderEnterNode(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG Function,
    _In_ ULONG Depth,
    _In_ ULONG Track,
    _In_opt_ const CORE_FRAME *Parent,
    _Out_ PULONG Node
    )
/*++

Routine Description:

    Finds the node of a call, and adds it if it is not there.

Arguments:

    Tree - The tree.

    Function - The call's function.

    Depth - The call's.

    Track - The stack it is on.

    Parent - The frame below it, with its node; NULL: there is none.

    Node - Receives the node; READER_NONE: --depth leaves it out.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
        Status = ReaderFindTrack(Tree, Track, &Above);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (ReaderFindInMap(&Tree->Children,
                        ((ULONGLONG)Above << 32) | Function,
                        Node)) {
        return STATUS_SUCCESS;
    }

    return ReaderAddNode(Tree, Above, Function, Node);
}


_Must_inspect_result_
static
NTSTATUS
ReaderTreeEvent(
    _Inout_ PREADER_TREE Tree,
    _In_ const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds an event.

Arguments:

    Tree - The tree.

    Event - The event.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_NODE Node;
    ULONG Function;
    NTSTATUS Status;

    switch (Event->Kind) {

    case CoreEventEnter:

        Event->Frame->Node = READER_NONE;
        if (Event->Depth >= Tree->MaximumDepth) {
            return STATUS_SUCCESS;
        }

        Status = ReaderFindFunction(Tree->Functions,
                                    Event->Site,
                                    &Function);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        return ReaderEnterNode(Tree,
                               Function,
                               Event->Depth,
                               Event->Track,
                               Event->Parent,
                               &Event->Frame->Node);

    case CoreEventUnmatched:
        return STATUS_SUCCESS;

    default:
        if (Event->Frame->Node == READER_NONE) {
            return STATUS_SUCCESS;
        }

        Node = &Tree->Nodes[Event->Frame->Node];
        if (Event->Kind != CoreEventAbandoned &&
            Node->Statistics.Calls == Node->Statistics.Abandoned) {
            Node->FirstTicks = Event->InclusiveTicks;
        }

        ReaderAddToStatistics(&Node->Statistics, Event, TRUE);
        return STATUS_SUCCESS;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderTreeBeginRange(
    _Inout_ PREADER_TREE Tree,
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONG ThreadIndex
    )
/*++

Routine Description:

    Moves a thread that was just opened to where the range begins, and gives
    the frames that are open there their nodes.

Arguments:

    Tree - The tree, with a range.

    Stream - The thread.

    ThreadIndex - The same.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    CORE_EVENT Event;
    SIZE_T Depth;
    ULONG Track;
    NTSTATUS Status;

    Status = ReaderSkipStream(&Tree->Before, Stream, Tree->Range->Start);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderClipStream(Stream, Tree->Range->Start, Tree->Range->End);
    if (Stream->IsFinished) {
        return STATUS_SUCCESS;
    }

    for (Track = 0; Track < Stream->Pair.NumberOfStacks; Track++) {

        Stack = &Stream->Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Frame = &Stack->Frames[Depth];
            Status = ReaderEnterNode(Tree,
                                     Frame->Function,
                                     (ULONG)Depth,
                                     Track,
                                     Depth != 0 ? Frame - 1 : NULL,
                                     &Frame->Node);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            if (Frame->Node != READER_NONE) {
                Tree->Nodes[Frame->Node].Statistics.BegunBefore += 1;
            }

            if (Tree->Watch != NULL) {
                RtlZeroBytes(&Event, sizeof(Event));
                Event.Kind = CoreEventEnter;
                Event.Depth = (ULONG)Depth;
                Event.Track = Track;
                Event.Frame = Frame;
                Status = Tree->Watch(Tree->WatchContext,
                                     ThreadIndex,
                                     &Event);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
static
NTSTATUS
ReaderTreeNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
/*++

Routine Description:

    Adds a node of a thread's tree.

Arguments:

    Context - The tree that it is added to.

    Node - The node; its value is that of the tree, and for one without one
        above it is not used.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_TREE Tree = (PREADER_TREE)Context;
    READER_STATISTICS Statistics;
    CORE_FRAME Above;
    PREADER_NODE Own;
    NTSTATUS Status;

    Above.Node = Node->ValueAbove;
    Status = ReaderEnterNode(Tree,
                             Node->Function,
                             Node->Depth,
                             0,
                             Node->Depth != 0 ? &Above : NULL,
                             &Node->Value);
    if (!NT_SUCCESS(Status) || Node->Value == READER_NONE) {
        return Status;
    }

    ReaderGetNodeStatistics(Node->Node, &Statistics);
    if (Tree->Session->IsProbeSubtracted &&
        Statistics.Calls != Statistics.Abandoned) {

        const READER_MODULE *Module = Tree->Session->Modules[Node->Module];

        //
        // Of a pair of hooks, the part between its time stamps is the call's
        // own, the rest its caller's.
        //

        if (Module->ProbeInner != 0) {
            Statistics.SelfProbe = Statistics.Calls * Module->ProbeInner +
                                   Node->Node->CallsOfChildren *
                                       (Module->ProbeTotal -
                                        Module->ProbeInner);
            Statistics.SumProbe = Statistics.Calls * Module->ProbeInner +
                                  Node->Node->CallsBelow *
                                      Module->ProbeTotal;
            Statistics.TotalProbe = Statistics.SumProbe;
        }
    }

    Own = &Tree->Nodes[Node->Value];
    if (Own->Statistics.Calls == Own->Statistics.Abandoned &&
        Statistics.Calls != Statistics.Abandoned) {
        Own->FirstTicks = Node->Node->Minimum <= Node->Node->Maximum
                              ? Node->Node->First
                              : Statistics.MinimumTicks;
    }

    ReaderAddStatistics(&Own->Statistics, &Statistics, TRUE);
    return Tree->NodeWatch != NULL ? Tree->NodeWatch(Tree->WatchContext, Node)
                                   : STATUS_SUCCESS;
}


_Use_decl_annotations_
static
NTSTATUS
ReaderTreeFrame(
    PVOID Context,
    PCREADER_TREE_FRAME Frame
    )
/*++

Routine Description:

    Hands an open call on.

Arguments:

    Context - The tree that nodes are added to.

    Frame - The call.

Return Value:

    What the caller's routine returned.

--*/
{
    PREADER_TREE Tree = (PREADER_TREE)Context;

    return Tree->FrameWatch(Tree->WatchContext, Frame);
}


_Use_decl_annotations_
NTSTATUS
ReaderAddTreesToTree(
    PREADER_TREE Tree,
    ULONG ThreadIndex
    )
/*++

Routine Description:

    Adds the trees of a thread's stores.

Arguments:

    Tree - The tree.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONG Root;
    NTSTATUS Status;

    if (Tree->NumberOfNodes == 0) {
        Status = ReaderAddNode(Tree, READER_NONE, READER_NONE, &Root);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return ReaderVisitTrees(Tree->Functions,
                            ThreadIndex,
                            ReaderTreeNode,
                            Tree->FrameWatch != NULL ? ReaderTreeFrame : NULL,
                            Tree);
}


_Must_inspect_result_
static
NTSTATUS
ReaderTreeThread(
    _Inout_ PREADER_TREE Tree,
    _In_ ULONG ThreadIndex
    )
/*++

Routine Description:

    Adds a thread.

Arguments:

    Tree - The tree.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    READER_STREAM Stream;
    CORE_EVENT Event;
    ULONGLONG Events = 0;
    NTSTATUS Status;

    Tree->FirstTrack = Tree->NumberOfTracks;
    Tree->ThreadId = Tree->Session->Threads[ThreadIndex].ThreadId;
    Tree->Process = Tree->Session->Threads[ThreadIndex].Process;
    Status = ReaderOpenStream(&Stream, Tree->Session, ThreadIndex, FALSE);
    if (NT_SUCCESS(Status) && Tree->Range->IsGiven) {
        Status = ReaderTreeBeginRange(Tree, &Stream, ThreadIndex);
    }

    while (NT_SUCCESS(Status)) {
        Status = ReaderNextEvent(&Stream, &Event);
        if (NT_SUCCESS(Status)) {
            Status = ReaderTreeEvent(Tree, &Event);
        }

        if (NT_SUCCESS(Status) && Tree->Watch != NULL) {
            Status = Tree->Watch(Tree->WatchContext, ThreadIndex, &Event);
        }

        Events += 1;
        if (Events % READER_PROGRESS_EVENTS == 0) {
            ReaderShowProgress(&Tree->Progress,
                               Tree->NumberOfRecords +
                                   Stream.NumberOfRecords);
        }
    }

    Tree->NumberOfRecords += Stream.NumberOfRecords;

    ReaderCloseStream(&Stream);
    if (Status == STATUS_END_OF_FILE) {
        Status = Tree->Range->HasTrees
                     ? ReaderAddTreesToTree(Tree, ThreadIndex)
                     : STATUS_SUCCESS;
    }

    return Status;
}


static
VOID
ReaderDecideNodes(
    _Inout_ PREADER_TREE Tree
    )
/*++

Routine Description:

    Decides which nodes are shown: those of functions that are to be shown,
    those above and those below them; but none that is of an excluded function,
    or below one.

Arguments:

    Tree - The tree, with all threads.

Return Value:

    None.

--*/
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


_Use_decl_annotations_
VOID
ReaderFilterTree(
    PREADER_TREE Tree,
    PCREADER_FILTER Filter
    )
/*++

Routine Description:

    Takes the nodes that the filter leaves out off their parents.

Arguments:

    Tree - The tree, with all threads.

    Filter - The filter, or NULL.

Return Value:

    None.

--*/
{
    PREADER_NODE Above;
    PREADER_NODE Node;
    ULONG Index;

    if (Filter == NULL) {
        return;
    }

    ReaderFilterFunctions(Tree->Functions, Filter);
    ReaderDecideNodes(Tree);

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

        } else if (Node->Function != READER_NONE) {

            Tree->NotShown.Rows += 1;
            Tree->NotShown.Calls += Node->Statistics.Calls;
            RtlZeroBytes(&Node->Statistics, sizeof(Node->Statistics));
        }
    }
}


static
LONG
ReaderCompareNodes(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders nodes by total time, then by name; tracks as they were met.

Arguments:

    CompareContext - The tree.

    First, Second - Node indexes.

Return Value:

    Negative, zero or positive.

--*/
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

    Order = ReaderCompareStatistics(&Tree->Nodes[First].Statistics,
                                    &Tree->Nodes[Second].Statistics,
                                    ReaderSortTotal);
    if (Order == 0) {
        Order = ReaderCompareText(FirstFunction->Name,
                                  FirstFunction->NameLength,
                                  SecondFunction->Name,
                                  SecondFunction->NameLength);
    }

    if (Order == 0) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


_Use_decl_annotations_
NTSTATUS
ReaderSortTree(
    PREADER_TREE Tree
    )
/*++

Routine Description:

    Puts every node's children in order.

Arguments:

    Tree - The tree.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

        Status = ReaderGrowArray(Allocator,
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

        ReaderSort(Order, Count, ReaderCompareNodes, Tree);

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
ReaderBuildTree(
    PREADER_TREE Tree,
    PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Reads the selected threads.  One that cannot be read to its end does not
    hide the others.

Arguments:

    Tree - The tree, which is empty.

    Options - The command's options.

Return Value:

    READER_EXIT_*; failures have been written.

--*/
{
    PREADER_SESSION Session = Tree->Session;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    ULONG Root;
    NTSTATUS Status;

    ReaderInitializeProgress(&Tree->Progress,
                             Session->Context,
                             "",
                             ReaderCountRecords(Session, Options));

    Status = ReaderAddNode(Tree, READER_NONE, READER_NONE, &Root);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Session->Context,
                          "build the call tree",
                          Options->PathUtf8,
                          Status);
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        if (!READER_IS_THREAD_SELECTED(Options,
                                       Session->Threads[Index].ThreadId)) {
            continue;
        }

        Status = ReaderTreeThread(Tree, Index);
        if (!NT_SUCCESS(Status)) {
            ReaderEraseProgress(&Tree->Progress);
            ExitCode = ReaderFailThread(Session, Index, Status);
        }
    }

    ReaderEraseProgress(&Tree->Progress);
    return ExitCode;
}


_Use_decl_annotations_
ULONG
ReaderNextNode(
    const READER_TREE *Tree,
    ULONG Node
    )
/*++

Routine Description:

    Finds the node that comes after another when each comes before its
    children.

Arguments:

    Tree - The tree.

    Node - A node; READER_ROOT_NODE gives the first one.

Return Value:

    The next node; READER_NONE after the last.

--*/
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
ReaderSumTree(
    const READER_TREE *Tree,
    PREADER_STATISTICS Statistics
    )
/*++

Routine Description:

    Adds up the nodes that are linked, for each function.

Arguments:

    Tree - The tree, which has a root.

    Statistics - An element for each function, zeroed; receives the sums.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

    for (Node = ReaderNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = ReaderNextNode(Tree, Node)) {

        while (Above != Nodes[Node].Parent) {
            if (Nodes[Above].Function != READER_NONE) {
                Active[Nodes[Above].Function] -= 1;
            }
            Above = Nodes[Above].Parent;
        }

        Above = Node;
        if (Nodes[Node].Function != READER_NONE) {
            Nodes[Node].IsOutermost = Active[Nodes[Node].Function] == 0;
            ReaderAddStatistics(&Statistics[Nodes[Node].Function],
                                &Nodes[Node].Statistics,
                                Nodes[Node].IsOutermost);
            Active[Nodes[Node].Function] += 1;
        }
    }

    Allocator->Free(Allocator->Context, Active);
    return STATUS_SUCCESS;
}
