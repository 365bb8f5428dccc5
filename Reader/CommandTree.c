/*++

Module Name:

    CommandTree.c

Abstract:

    TraceReader tree: the call tree of all threads, merged.  A node is a chain
    of calls from an outermost function; the same chain on another thread is
    the same node.  With --per-thread each thread has its own tree, and each
    fiber that it ran: a track.

    Memory is bounded by the number of nodes.  Nothing here recurses: the tree
    is walked by its links.

--*/

#include "Reader.h"

static const READER_COLUMN ReaderTreeColumns[] = {
    READER_STATISTICS_COLUMNS,
    { "", "node", ReaderColumnNumber, 0 },
    { "", "parent", ReaderColumnNumber, 0 },
    { "", "depth", ReaderColumnNumber, 0 },
    { "", "track", ReaderColumnNumber, 0 },
    { "", "thread", ReaderColumnNumber, 0 },
    { "", "fiber", ReaderColumnNumber, 0 },
    { "Module", "module", ReaderColumnText, 16 },
    { "Function", "function", ReaderColumnText, 0 }
};

#define READER_TREE_NODE_COLUMN READER_STATISTICS_NUMBER_OF_COLUMNS
#define READER_TREE_MODULE_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 6)

static const READER_TABLE ReaderTreeTable = {
    "nodes",
    ReaderTreeColumns,
    RTL_NUMBER_OF(ReaderTreeColumns),
    FALSE
};

//
// Node 0 is the root, above the outermost functions, or above the tracks.
// Both have no function: READER_NONE.  Frames that --depth leaves out have the
// node READER_NONE.
//

#define READER_ROOT_NODE 0

typedef struct _READER_NODE {
    READER_STATISTICS Statistics;
    ULONG Function;
    ULONG Parent;
    ULONG FirstChild;               // READER_NONE: none
    ULONG NextSibling;              // READER_NONE: the last
    ULONG NumberOfChildren;
    ULONG Depth;                    // 0 is the outermost
    BOOLEAN IsShown;                // these three by ReaderFilterNodes
    BOOLEAN IsInside;               // of a function that is shown for itself
    BOOLEAN IsExcluded;             // or inside of one that is
} READER_NODE;
typedef READER_NODE *PREADER_NODE;

typedef struct _READER_TRACK {
    ULONG Node;                     // 0: not met yet
    ULONG ThreadId;
    ULONG Fiber;                    // 0: the thread's own stack
} READER_TRACK;
typedef READER_TRACK *PREADER_TRACK;

typedef struct _READER_TREE {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_RANGE Range;
    READER_FUNCTIONS Functions;
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
    ULONGLONG NumberShown;          // of nodes
    READER_NOT_SHOWN NotShown;
} READER_TREE;
typedef READER_TREE *PREADER_TREE;


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

    Status = ReaderGrowArray(Tree->Session.Context->Allocator,
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

        Status = ReaderGrowArray(Tree->Session.Context->Allocator,
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
    if (Depth >= Tree->Options->Depth) {
        return STATUS_SUCCESS;
    }

    if (Parent != NULL) {
        Above = Parent->Node;
    } else if ((Tree->Options->Given & READER_OPTION_TRACKS) != 0) {
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
    ULONG Function;
    NTSTATUS Status;

    switch (Event->Kind) {

    case CoreEventEnter:

        Event->Frame->Node = READER_NONE;
        if (Event->Depth >= Tree->Options->Depth) {
            return STATUS_SUCCESS;
        }

        Status = ReaderFindFunction(&Tree->Functions,
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
        if (Event->Frame->Node != READER_NONE) {
            ReaderAddToStatistics(
                &Tree->Nodes[Event->Frame->Node].Statistics,
                Event,
                TRUE);
        }
        return STATUS_SUCCESS;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderTreeBeginRange(
    _Inout_ PREADER_TREE Tree,
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Moves a thread that was just opened to where the range begins, and gives
    the frames that are open there their nodes.

Arguments:

    Tree - The tree, with a range.

    Stream - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    ULONG Track;
    NTSTATUS Status;

    Status = ReaderSkipStream(&Tree->Before, Stream, Tree->Range.Start);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderClipStream(Stream, Tree->Range.Start, Tree->Range.End);
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
        }
    }

    return STATUS_SUCCESS;
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
    NTSTATUS Status;

    Tree->FirstTrack = Tree->NumberOfTracks;
    Tree->ThreadId = Tree->Session.Threads[ThreadIndex].ThreadId;
    Status = ReaderOpenStream(&Stream, &Tree->Session, ThreadIndex, FALSE);
    if (NT_SUCCESS(Status) && Tree->Range.IsGiven) {
        Status = ReaderTreeBeginRange(Tree, &Stream);
    }

    while (NT_SUCCESS(Status)) {
        Status = ReaderNextEvent(&Stream, &Event);
        if (NT_SUCCESS(Status)) {
            Status = ReaderTreeEvent(Tree, &Event);
        }
    }

    ReaderCloseStream(&Stream);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
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
        Function = &Tree->Functions.Functions[Node->Function];
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


static
VOID
ReaderFilterNodes(
    _Inout_ PREADER_TREE Tree
    )
/*++

Routine Description:

    Takes the nodes that the filter leaves out off their parents.

Arguments:

    Tree - The tree, with all threads.

Return Value:

    None.

--*/
{
    PREADER_NODE Above;
    PREADER_NODE Node;
    ULONG Index;

    if (Tree->Options->Filter == NULL) {
        return;
    }

    ReaderFilterFunctions(&Tree->Functions, Tree->Options->Filter);
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

    FirstFunction = &Tree->Functions.Functions[Tree->Nodes[First].Function];
    SecondFunction = &Tree->Functions.Functions[Tree->Nodes[Second].Function];

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


_Must_inspect_result_
static
NTSTATUS
ReaderSortChildren(
    _Inout_ PREADER_TREE Tree
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
    PCALLOCATOR Allocator = Tree->Session.Context->Allocator;
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


static
VOID
ReaderPutNode(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_TREE *Tree,
    _In_ ULONG Track,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Writes a node's row.

Arguments:

    Output - The output.

    Tree - The tree.

    Track - The track's index; READER_NONE when all are merged.

    Index - The node's.

Return Value:

    None.

--*/
{
    const READER_NODE *Node = &Tree->Nodes[Index];
    PCREADER_FUNCTION Function = &Tree->Functions.Functions[Node->Function];
    const READER_MODULE *Module = Tree->Session.Modules[Function->Module];

    ReaderPutStatistics(Output, &Node->Statistics);
    ReaderPutNumber(Output, Index);
    ReaderPutNumber(Output, Node->Depth == 0 ? 0 : Node->Parent);
    ReaderPutNumber(Output, Node->Depth);
    if (Track != READER_NONE) {
        ReaderPutNumber(Output, Track);
        ReaderPutNumber(Output, Tree->Tracks[Track].ThreadId);
        ReaderPutNumber(Output, Tree->Tracks[Track].Fiber);
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }
    ReaderPutText(Output, Module->Name, Module->NameLength);
    ReaderPutIndentedText(Output,
                          Node->Depth,
                          Function->Name,
                          Function->NameLength);
}


static
VOID
ReaderPutTrack(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_TREE *Tree,
    _In_ ULONG Track
    )
/*++

Routine Description:

    Writes a track's row, in a text; elsewhere each node's row has it.

Arguments:

    Output - The output.

    Tree - The tree.

    Track - The track's index.

Return Value:

    None.

--*/
{
    RTL_WRITER Writer;
    CHAR Name[64];
    ULONG Index;

    if (Tree->Options->Format != ReaderFormatText) {
        return;
    }

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteText(&Writer, "[thread %u", Tree->Tracks[Track].ThreadId);
    if (Tree->Tracks[Track].Fiber != 0) {
        RtlWriteText(&Writer, ", fiber %u", Tree->Tracks[Track].Fiber);
    }
    RtlWriteText(&Writer, "]");

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderTreeColumns) - 1; Index++) {
        ReaderPutNothing(Output);
    }
    ReaderPutText(Output, Name, Writer.LengthInBytes);
}


static
VOID
ReaderPutTree(
    _Inout_ PREADER_TREE Tree
    )
/*++

Routine Description:

    Writes the tree, each node before its children.

Arguments:

    Tree - The tree, sorted.

Return Value:

    None.

--*/
{
    PCREADER_CONTEXT Context = Tree->Session.Context;
    READER_OUTPUT Output;
    ULONGLONG Abandoned = 0;
    ULONGLONG Unfinished = 0;
    ULONGLONG Uncertain = 0;
    ULONGLONG BegunBefore = 0;
    ULONGLONG Rows = 0;
    ULONG HiddenColumns;
    ULONG Node;
    ULONG Track = READER_NONE;

    for (Node = 0; Node < Tree->NumberOfNodes; Node++) {
        Abandoned += Tree->Nodes[Node].Statistics.Abandoned;
        Unfinished += Tree->Nodes[Node].Statistics.Unfinished;
        Uncertain += Tree->Nodes[Node].Statistics.Uncertain;
        BegunBefore += Tree->Nodes[Node].Statistics.BegunBefore;
    }

    HiddenColumns = 63u << READER_TREE_NODE_COLUMN;
    if (Abandoned == 0) {
        HiddenColumns |= READER_STATISTICS_ABANDONED_COLUMNS;
    }

    if (Unfinished == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNFINISHED_COLUMN;
    }

    if (Uncertain == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNCERTAIN_COLUMN;
    }

    if (BegunBefore == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_BEGUN_BEFORE_COLUMN;
    }

    if (Tree->Session.NumberOfModules == 1) {
        HiddenColumns |= 1u << READER_TREE_MODULE_COLUMN;
    }

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Tree->Options->Format,
                        &Tree->Session.Clock,
                        "tree",
                        FALSE);
    ReaderBeginTable(&Output, &ReaderTreeTable, HiddenColumns);

    Node = Tree->Nodes[READER_ROOT_NODE].FirstChild;
    while (Node != READER_NONE && Rows < Tree->Options->Limit) {

        if (Tree->Nodes[Node].Function == READER_NONE) {
            Track = Tree->Nodes[Node].Depth;
            ReaderPutTrack(&Output, Tree, Track);
        } else {
            ReaderPutNode(&Output, Tree, Track, Node);
            Rows += 1;
        }

        if (Tree->Nodes[Node].FirstChild != READER_NONE) {
            Node = Tree->Nodes[Node].FirstChild;
            continue;
        }

        while (Node != READER_ROOT_NODE &&
               Tree->Nodes[Node].NextSibling == READER_NONE) {
            Node = Tree->Nodes[Node].Parent;
        }

        Node = Node == READER_ROOT_NODE ? READER_NONE
                                        : Tree->Nodes[Node].NextSibling;
    }

    ReaderEndTable(&Output);
    if (Abandoned != 0) {
        ReaderPutNote(&Output, READER_ABANDONED_NOTE);
    }

    if (Unfinished != 0) {
        ReaderPutNote(&Output,
                      Tree->Range.IsGiven ? READER_UNFINISHED_RANGE_NOTE
                                          : READER_UNFINISHED_NOTE);
    }

    if (Uncertain != 0) {
        ReaderPutNote(&Output, READER_UNCERTAIN_NOTE);
    }

    ReaderPutNotShown(&Output, Tree->Options->Filter, &Tree->NotShown);
    ReaderPutRangeNote(&Output, Tree->Options, BegunBefore);
    ReaderPutClockNote(&Output, &Tree->Session);
    ReaderEndDocument(&Output);
}


_Use_decl_annotations_
ULONG
ReaderCommandTree(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs tree.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_TREE Tree;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    ULONG Root;
    NTSTATUS Status;

    RtlZeroBytes(&Tree, sizeof(Tree));
    Tree.Options = Options;
    if (!ReaderBeginCommand(&Tree.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!ReaderQueryRange(&Tree.Session, Options, &Tree.Range)) {
        ReaderCloseSession(&Tree.Session);
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Tree.Functions, &Tree.Session);
    ReaderInitializeTally(&Tree.Before, &Tree.Functions, NULL);
    ReaderInitializeMap(&Tree.Children, Context->Allocator);

    Status = ReaderAddNode(&Tree, READER_NONE, READER_NONE, &Root);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context, "tree", Options->PathUtf8, Status);
        goto End;
    }

    for (Index = 0; Index < Tree.Session.NumberOfThreads; Index++) {

        if (!READER_IS_THREAD_SELECTED(
                Options,
                Tree.Session.Threads[Index].ThreadId)) {
            continue;
        }

        Status = ReaderTreeThread(&Tree, Index);
        if (!NT_SUCCESS(Status)) {
            ExitCode = ReaderFailThread(&Tree.Session, Index, Status);
        }
    }

    ReaderFilterNodes(&Tree);
    Status = ReaderSortChildren(&Tree);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context, "tree", Options->PathUtf8, Status);
        goto End;
    }

    ReaderPutTree(&Tree);
    ExitCode = ReaderEndFilter(Context,
                               Options->Filter,
                               Tree.NumberShown,
                               &Tree.NotShown,
                               ExitCode);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        ReaderPutFilterCost(&Tree.Functions, Options->Filter);
        ReaderPutIndexCost(&Tree.Session);
    }

End:
    Context->Allocator->Free(Context->Allocator->Context, Tree.Nodes);
    Context->Allocator->Free(Context->Allocator->Context, Tree.Tracks);
    ReaderRundownMap(&Tree.Children);
    ReaderRundownTally(&Tree.Before);
    ReaderRundownFunctions(&Tree.Functions);
    ReaderCloseSession(&Tree.Session);
    return ExitCode;
}
