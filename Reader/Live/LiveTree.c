/*++

Module Name:

    LiveTree.c

Abstract:

    What live takes from stores that hold a tree.  A tree has sums, so that a
    look at it is as good as reading every call: what is new is what it has now
    less what it had at the last look, open calls counted up to now each time.

--*/

#include "../Sums/SumTree.h"
#include "LiveList.h"
#include "LiveTree.h"

typedef struct _READER_LIVE_TREE {
    PREADER_LIVE Live;
    PREADER_LIVE_THREAD Thread;
    PULONGLONG OpenTicks;           // by function of the table
    ULONG CapacityOfOpenTicks;
    ULONGLONG InnermostStart;
} READER_LIVE_TREE;
typedef READER_LIVE_TREE *PREADER_LIVE_TREE;


//
// Notes how much of a node's time is that of calls that are open.
//

_Use_decl_annotations_
static
NTSTATUS
LiveTreeNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_LIVE_TREE Look = (PREADER_LIVE_TREE)Context;
    NTSTATUS Status;

    Status = BaseGrowArray(Look->Live->Session.Context->Allocator,
                           (PVOID *)&Look->OpenTicks,
                           &Look->CapacityOfOpenTicks,
                           Node->Function + 1,
                           sizeof(ULONGLONG));
    if (NT_SUCCESS(Status)) {
        Look->OpenTicks[Node->Function] += Node->Node->OpenTicks;
    }

    return Status;
}


//
// Adds an open call.
//

_Use_decl_annotations_
static
NTSTATUS
LiveTreeFrame(
    PVOID Context,
    PCREADER_TREE_FRAME Frame
    )
{
    PREADER_LIVE_TREE Look = (PREADER_LIVE_TREE)Context;
    PREADER_LIVE_THREAD Thread = Look->Thread;
    NTSTATUS Status;

    Status = BaseGrowArray(Look->Live->Session.Context->Allocator,
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


//
// Takes what a function's sums have grown by. The times of a tree that its
// thread is changing may seem to shrink by a little; then they have not grown.
// Live: the state, with room for the function.
// Index: the function's, in the tally.
//

static
VOID
LiveTakeLiveSum(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ PCREADER_STATISTICS Statistics,
    _In_ ULONGLONG OpenTicks,
    _In_ ULONG Index
    )
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


//
// Forgets what a thread's trees had, if one of them has been cleared since.
// Thread: the thread, its trees just read.
//

static
VOID
LiveForgetCleared(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    )
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
LiveTreeReadAll(
    PREADER_LIVE Live,
    PREADER_LIVE_THREAD Thread
    )
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
    SumInitializeTree(&Tree,
                      &Live->Functions,
                      &Range,
                      READER_NONE,
                      FALSE);
    Tree.NodeWatch = LiveTreeNode;
    Tree.FrameWatch = LiveTreeFrame;
    Tree.WatchContext = &Look;
    Status = SumAddTreesToTree(&Tree, Thread->Stream.Thread);
    if (NT_SUCCESS(Status)) {
        Sums = (PREADER_STATISTICS)
            Allocator->Allocate(
                Allocator->Context,
                ((SIZE_T)Live->Functions.NumberOfFunctions + 1) *
                    sizeof(READER_STATISTICS));
        Status = Sums != NULL ? SumTree(&Tree, Sums)
                              : STATUS_NO_MEMORY;
    }

    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    LiveForgetCleared(Live, Thread);
    for (Function = 0;
         Function < Live->Functions.NumberOfFunctions;
         Function++) {

        if (Sums[Function].Calls == 0) {
            continue;
        }

        Status = CallAddFunctionToTally(&Live->Tally, Function, &Index);
        if (NT_SUCCESS(Status)) {
            Status = LiveGrowLiveList(Live);
        }

        if (NT_SUCCESS(Status)) {
            Status = BaseGrowArray(Allocator,
                                   (PVOID *)&Thread->Sums,
                                   &Thread->CapacityOfSums,
                                   Index + 1,
                                   sizeof(READER_LIVE_TREE_SUM));
        }

        if (!NT_SUCCESS(Status)) {
            break;
        }

        LiveTakeLiveSum(Live,
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
    SumRundownTree(&Tree);
    return Status;
}
