/*++

Module Name:

    LiveTree.c

Abstract:

    What live takes from stores that hold a tree.  A tree has sums, so that a
    look at it is as good as reading every call: what is new is what it has now
    less what it had at the last look, open calls counted up to now each time.

--*/

#include "ReaderLive.h"
#include "ReaderTree.h"

typedef struct _READER_LIVE_TREE {
    PREADER_LIVE Live;
    PREADER_LIVE_THREAD Thread;
    PULONGLONG OpenTicks;           // by function of the table
    ULONG CapacityOfOpenTicks;
    ULONGLONG InnermostStart;
} READER_LIVE_TREE;
typedef READER_LIVE_TREE *PREADER_LIVE_TREE;


_Use_decl_annotations_
static
NTSTATUS
ReaderLiveTreeNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
/*++

Routine Description:

    Notes how much of a node's time is that of calls that are open.

Arguments:

    Context - The look.

    Node - The node.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_LIVE_TREE Look = (PREADER_LIVE_TREE)Context;
    NTSTATUS Status;

    Status = ReaderGrowArray(Look->Live->Session.Context->Allocator,
                             (PVOID *)&Look->OpenTicks,
                             &Look->CapacityOfOpenTicks,
                             Node->Function + 1,
                             sizeof(ULONGLONG));
    if (NT_SUCCESS(Status)) {
        Look->OpenTicks[Node->Function] += Node->Node->OpenTicks;
    }

    return Status;
}


_Use_decl_annotations_
static
NTSTATUS
ReaderLiveTreeFrame(
    PVOID Context,
    PCREADER_TREE_FRAME Frame
    )
/*++

Routine Description:

    Adds an open call.

Arguments:

    Context - The look.

    Frame - The call.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_LIVE_TREE Look = (PREADER_LIVE_TREE)Context;
    PREADER_LIVE_THREAD Thread = Look->Thread;
    NTSTATUS Status;

    Status = ReaderGrowArray(Look->Live->Session.Context->Allocator,
                             (PVOID *)&Thread->Frames,
                             &Thread->CapacityOfFrames,
                             Thread->NumberOfFrames + 1,
                             sizeof(READER_TREE_FRAME));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Thread->Frames[Thread->NumberOfFrames] = *Frame;
    Thread->NumberOfFrames += 1;
    if (Frame->IsInnermost && Frame->Start >= Look->InnermostStart) {
        Look->InnermostStart = Frame->Start;
        Thread->Innermost = Frame->Function;
    }

    return STATUS_SUCCESS;
}


static
VOID
ReaderTakeLiveSum(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ PCREADER_STATISTICS Statistics,
    _In_ ULONGLONG OpenTicks,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Takes what a function's sums have grown by.  The times of a tree that its
    thread is changing may seem to shrink by a little; then they have not grown.

Arguments:

    Live - The state, with room for the function.

    Thread - The thread, likewise.

    Statistics - The function's sums.

    OpenTicks - Of them, of calls that are open.

    Index - The function's, in the tally.

Return Value:

    None.

--*/
{
    PREADER_LIVE_FUNCTION Function = &Live->List[Index];
    PREADER_LIVE_TREE_SUM Sum = &Thread->Sums[Index];
    ULONGLONG Ticks;

    if (Statistics->Calls > Sum->Calls) {
        Function->Calls += (LONGLONG)(Statistics->Calls - Sum->Calls);
        Thread->IntervalCalls += Statistics->Calls - Sum->Calls;
        Sum->Calls = Statistics->Calls;
    }

    if (Statistics->SelfTicks > Sum->SelfTicks) {
        Function->SelfTicks += (LONGLONG)(Statistics->SelfTicks -
                                          Sum->SelfTicks);
        Sum->SelfTicks = Statistics->SelfTicks;
    }

    if (Statistics->TotalTicks > Sum->TotalTicks) {
        Function->TotalTicks += (LONGLONG)(Statistics->TotalTicks -
                                           Sum->TotalTicks);
        Sum->TotalTicks = Statistics->TotalTicks;
    }

    Ticks = Statistics->Calls - Statistics->Abandoned +
            Statistics->AbandonedInTotal - Statistics->Unfinished;
    Function->TreeCalls += Ticks - Sum->EndedCalls;
    Sum->EndedCalls = Ticks;

    Ticks = Statistics->SumLow > OpenTicks ? Statistics->SumLow - OpenTicks
                                           : 0;
    Function->TreeTicks += Ticks - Sum->EndedTicks;
    Sum->EndedTicks = Ticks;
}


static
VOID
ReaderForgetCleared(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    )
/*++

Routine Description:

    Forgets what a thread's trees had, if one of them has been cleared since.

Arguments:

    Live - The state.

    Thread - The thread, its trees just read.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Live->Session;
    ULONGLONG Cleared = 0;
    ULONG Index;

    for (Index = Session->Threads[Thread->Stream.Thread].FirstStore;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {
        if (Session->Stores[Index]->IsTree) {
            Cleared += Session->Stores[Index]->Header->ClearTimestamp;
        }
    }

    if (Cleared == Thread->ClearTimestamp) {
        return;
    }

    Thread->ClearTimestamp = Cleared;
    for (Index = 0; Index < Thread->CapacityOfSums; Index++) {
        Thread->Sums[Index].Calls = 0;
        Thread->Sums[Index].SelfTicks = 0;
        Thread->Sums[Index].TotalTicks = 0;
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderReadLiveTrees(
    PREADER_LIVE Live,
    PREADER_LIVE_THREAD Thread
    )
/*++

Routine Description:

    Looks at a thread's trees.

Arguments:

    Live - The state.

    Thread - The thread, not done.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Live->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_STATISTICS Sums = NULL;
    READER_LIVE_TREE Look;
    READER_RANGE Range;
    READER_TREE Tree;
    ULONG Function;
    ULONG Index;
    NTSTATUS Status;

    Thread->NumberOfFrames = 0;
    Thread->Innermost = READER_NONE;
    for (Index = Session->Threads[Thread->Stream.Thread].FirstStore;
         Index != READER_NONE && !Session->Stores[Index]->IsTree;
         Index = Session->Stores[Index]->NextInThread) {
        ;
    }

    if (Index == READER_NONE) {
        return STATUS_SUCCESS;
    }

    Thread->HasTrees = TRUE;
    RtlZeroBytes(&Look, sizeof(Look));
    Look.Live = Live;
    Look.Thread = Thread;
    RtlZeroBytes(&Range, sizeof(Range));
    ReaderInitializeTree(&Tree,
                         &Live->Functions,
                         &Range,
                         READER_NONE,
                         FALSE);
    Tree.NodeWatch = ReaderLiveTreeNode;
    Tree.FrameWatch = ReaderLiveTreeFrame;
    Tree.WatchContext = &Look;
    Status = ReaderAddTreesToTree(&Tree, Thread->Stream.Thread);
    if (NT_SUCCESS(Status)) {
        Sums = (PREADER_STATISTICS)
            Allocator->Allocate(
                Allocator->Context,
                ((SIZE_T)Live->Functions.NumberOfFunctions + 1) *
                    sizeof(READER_STATISTICS));
        Status = Sums != NULL ? ReaderSumTree(&Tree, Sums)
                              : STATUS_NO_MEMORY;
    }

    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    ReaderForgetCleared(Live, Thread);
    for (Function = 0;
         Function < Live->Functions.NumberOfFunctions;
         Function++) {

        if (Sums[Function].Calls == 0) {
            continue;
        }

        Status = ReaderAddFunctionToTally(&Live->Tally, Function, &Index);
        if (NT_SUCCESS(Status)) {
            Status = ReaderGrowLiveList(Live);
        }

        if (NT_SUCCESS(Status)) {
            Status = ReaderGrowArray(Allocator,
                                     (PVOID *)&Thread->Sums,
                                     &Thread->CapacityOfSums,
                                     Index + 1,
                                     sizeof(READER_LIVE_TREE_SUM));
        }

        if (!NT_SUCCESS(Status)) {
            break;
        }

        ReaderTakeLiveSum(Live,
                          Thread,
                          &Sums[Function],
                          Function < Look.CapacityOfOpenTicks
                              ? Look.OpenTicks[Function]
                              : 0,
                          Index);
    }

End:
    Allocator->Free(Allocator->Context, Sums);
    Allocator->Free(Allocator->Context, Look.OpenTicks);
    ReaderRundownTree(&Tree);
    return Status;
}
