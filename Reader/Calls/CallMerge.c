/*++

Module Name:

    CallMerge.c

Abstract:

    The threads of a session in the order of time.

    Threads are opened when their first record is due and closed after their
    last, so memory is bounded by the threads that run at one time.

--*/

#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "CallMerge.h"


//
// Restores the heap after its first element has become later.
//

static
VOID
CallSiftDown(
    _Inout_ PREADER_MERGE Merge
    )
{
    PREADER_MERGE_THREAD *Heap = Merge->Heap;
    PREADER_MERGE_THREAD Moving;
    ULONG Root = 0;
    ULONG Child;

    if (Merge->NumberInHeap == 0) {
        return;
    }

    Moving = Heap[0];
    while ((Child = Root * 2 + 1) < Merge->NumberInHeap) {

        if (Child + 1 < Merge->NumberInHeap &&
            Heap[Child + 1]->Timestamp < Heap[Child]->Timestamp) {
            Child += 1;
        }

        if (Moving->Timestamp <= Heap[Child]->Timestamp) {
            break;
        }

        Heap[Root] = Heap[Child];
        Root = Child;
    }

    Heap[Root] = Moving;
}


//
// Restores the heap after an element was added at its end.
//

static
VOID
CallSiftUp(
    _Inout_ PREADER_MERGE Merge
    )
{
    PREADER_MERGE_THREAD *Heap = Merge->Heap;
    ULONG Index = Merge->NumberInHeap - 1;
    PREADER_MERGE_THREAD Moving = Heap[Index];

    while (Index != 0 &&
           Moving->Timestamp < Heap[(Index - 1) / 2]->Timestamp) {
        Heap[Index] = Heap[(Index - 1) / 2];
        Index = (Index - 1) / 2;
    }

    Heap[Index] = Moving;
}


//
// Status: why: a success, or STATUS_END_OF_FILE at its end.
//

static
VOID
CallCloseMergeThread(
    _Inout_ PREADER_MERGE Merge,
    _Inout_ PREADER_MERGE_THREAD Thread,
    _In_ NTSTATUS Status
    )
{
    PCALLOCATOR Allocator = Merge->Session->Context->Allocator;

    if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
        Merge->ExitCode = SessionFailThread(Merge->Session,
                                            Thread->Stream.Thread,
                                            Status);
    }

    if (Merge->End != NULL) {
        Merge->End(Merge->RoutineContext, Thread);
    }

    CallCloseStream(&Thread->Stream);
    Allocator->Free(Allocator->Context, Thread);
}


//
// Opens a thread and adds it to the heap, if it gives anything.
// STATUS_SUCCESS: a thread that cannot be read has been reported.
//

_Must_inspect_result_
static
NTSTATUS
CallOpenMergeThread(
    _Inout_ PREADER_MERGE Merge,
    _In_ ULONG ThreadIndex
    )
{
    PCALLOCATOR Allocator = Merge->Session->Context->Allocator;
    PREADER_MERGE_THREAD Thread;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Merge->Heap,
                           &Merge->CapacityOfHeap,
                           Merge->NumberInHeap + 1,
                           sizeof(PREADER_MERGE_THREAD));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Thread = (PREADER_MERGE_THREAD)
        Allocator->Allocate(Allocator->Context, Merge->SizeOfThread);
    if (Thread == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = CallOpenStream(&Thread->Stream,
                            Merge->Session,
                            ThreadIndex,
                            FALSE);
    if (NT_SUCCESS(Status)) {
        Status = Merge->Begin(Merge->RoutineContext, Thread);
    }

    if (NT_SUCCESS(Status)) {
        Merge->Heap[Merge->NumberInHeap] = Thread;
        Merge->NumberInHeap += 1;
        CallSiftUp(Merge);
        return STATUS_SUCCESS;
    }

    CallCloseMergeThread(Merge, Thread, Status);
    return STATUS_SUCCESS;
}


//
// Finds when a thread's events begin: with its first record, or where its
// process was cleared last.
// Thread: the thread's index.
// Returns the time stamp.
//

static
ULONGLONG
CallFindMergeStart(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    )
{
    ULONGLONG First = Session->Threads[Thread].FirstTimestamp;
    ULONGLONG Clear = READER_CLEAR_OF(Session,
                                      Session->Threads[Thread].Process);

    return First > Clear ? First : Clear;
}


//
// Orders threads by their first record.
// CompareContext: the session.
// First, Second: thread indexes.
// Returns negative, zero or positive.
//

static
LONG
CallCompareThreadStarts(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_SESSION Session = (PREADER_SESSION)CompareContext;
    ULONGLONG FirstTime = CallFindMergeStart(Session, First);
    ULONGLONG SecondTime = CallFindMergeStart(Session, Second);

    if (FirstTime != SecondTime) {
        return FirstTime < SecondTime ? -1 : 1;
    }

    return First < Second ? -1 : 1;
}


_Use_decl_annotations_
NTSTATUS
CallBeginMerge(
    PREADER_MERGE Merge,
    PCREADER_OPTIONS Options
    )
{
    PREADER_SESSION Session = Merge->Session;
    ULONG Capacity = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Session->Context->Allocator,
                           (PVOID *)&Merge->Order,
                           &Capacity,
                           Session->NumberOfThreads,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        if (READER_IS_THREAD_SELECTED(Options,
                                      Session->Threads[Index].ThreadId)) {
            Merge->Order[Merge->NumberInOrder] = Index;
            Merge->NumberInOrder += 1;
        }
    }

    BaseSort(Merge->Order,
             Merge->NumberInOrder,
             CallCompareThreadStarts,
             Session);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CallFirstInMerge(
    PREADER_MERGE Merge,
    PREADER_MERGE_THREAD *Thread
    )
{
    ULONG Index;
    NTSTATUS Status;

    //
    // A thread is due when nothing that is open comes before its first record.
    //

    while (Merge->NextInOrder < Merge->NumberInOrder) {

        Index = Merge->Order[Merge->NextInOrder];
        if (Merge->NumberInHeap != 0 &&
            CallFindMergeStart(Merge->Session, Index) >
                Merge->Heap[0]->Timestamp) {
            break;
        }

        Merge->NextInOrder += 1;
        Status = CallOpenMergeThread(Merge, Index);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Merge->NumberInHeap == 0) {
        return STATUS_END_OF_FILE;
    }

    *Thread = Merge->Heap[0];
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CallMoveInMerge(
    PREADER_MERGE Merge,
    NTSTATUS Status
    )
{
    PREADER_MERGE_THREAD Thread = Merge->Heap[0];

    if (!NT_SUCCESS(Status)) {
        Merge->NumberInHeap -= 1;
        Merge->Heap[0] = Merge->Heap[Merge->NumberInHeap];
        CallCloseMergeThread(Merge, Thread, Status);
    }

    CallSiftDown(Merge);
}


_Use_decl_annotations_
VOID
CallEndMerge(
    PREADER_MERGE Merge
    )
{
    PCALLOCATOR Allocator = Merge->Session->Context->Allocator;

    while (Merge->NumberInHeap != 0) {
        Merge->NumberInHeap -= 1;
        CallCloseMergeThread(Merge,
                             Merge->Heap[Merge->NumberInHeap],
                             STATUS_SUCCESS);
    }

    Allocator->Free(Allocator->Context, Merge->Heap);
    Allocator->Free(Allocator->Context, Merge->Order);
    Merge->Heap = NULL;
    Merge->Order = NULL;
}
