/*++

Module Name:

    ReaderMerge.c

Abstract:

    The threads of a session in the order of time.

    Threads are opened when their first record is due and closed after their
    last, so memory is bounded by the threads that run at one time.

--*/

#include "ReaderMerge.h"


static
VOID
ReaderSiftDown(
    _Inout_ PREADER_MERGE Merge
    )
/*++

Routine Description:

    Restores the heap after its first element has become later.

Arguments:

    Merge - The merge.

Return Value:

    None.

--*/
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


static
VOID
ReaderSiftUp(
    _Inout_ PREADER_MERGE Merge
    )
/*++

Routine Description:

    Restores the heap after an element was added at its end.

Arguments:

    Merge - The merge.

Return Value:

    None.

--*/
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


static
VOID
ReaderCloseMergeThread(
    _Inout_ PREADER_MERGE Merge,
    _Inout_ PREADER_MERGE_THREAD Thread,
    _In_ NTSTATUS Status
    )
/*++

Routine Description:

    Closes a thread.

Arguments:

    Merge - The merge.

    Thread - The thread.

    Status - Why: a success, or STATUS_END_OF_FILE at its end.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Merge->Session->Context->Allocator;

    if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
        Merge->ExitCode = ReaderFailThread(Merge->Session,
                                           Thread->Stream.Thread,
                                           Status);
    }

    if (Merge->End != NULL) {
        Merge->End(Merge->RoutineContext, Thread);
    }

    ReaderCloseStream(&Thread->Stream);
    Allocator->Free(Allocator->Context, Thread);
}


_Must_inspect_result_
static
NTSTATUS
ReaderOpenMergeThread(
    _Inout_ PREADER_MERGE Merge,
    _In_ ULONG ThreadIndex
    )
/*++

Routine Description:

    Opens a thread and adds it to the heap, if it gives anything.

Arguments:

    Merge - The merge.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS - A thread that cannot be read has been reported.

    STATUS_NO_MEMORY

--*/
{
    PCALLOCATOR Allocator = Merge->Session->Context->Allocator;
    PREADER_MERGE_THREAD Thread;
    NTSTATUS Status;

    Status = ReaderGrowArray(Allocator,
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

    Status = ReaderOpenStream(&Thread->Stream,
                              Merge->Session,
                              ThreadIndex,
                              FALSE);
    if (NT_SUCCESS(Status)) {
        Status = Merge->Begin(Merge->RoutineContext, Thread);
    }

    if (NT_SUCCESS(Status)) {
        Merge->Heap[Merge->NumberInHeap] = Thread;
        Merge->NumberInHeap += 1;
        ReaderSiftUp(Merge);
        return STATUS_SUCCESS;
    }

    ReaderCloseMergeThread(Merge, Thread, Status);
    return STATUS_SUCCESS;
}


static
ULONGLONG
ReaderFindMergeStart(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    )
/*++

Routine Description:

    Finds when a thread's events begin: with its first record, or where its
    process was cleared last.

Arguments:

    Session - The session.

    Thread - The thread's index.

Return Value:

    The time stamp.

--*/
{
    ULONGLONG First = Session->Threads[Thread].FirstTimestamp;
    ULONGLONG Clear = READER_CLEAR_OF(Session,
                                      Session->Threads[Thread].Process);

    return First > Clear ? First : Clear;
}


static
LONG
ReaderCompareThreadStarts(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders threads by their first record.

Arguments:

    CompareContext - The session.

    First, Second - Thread indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_SESSION Session = (PREADER_SESSION)CompareContext;
    ULONGLONG FirstTime = ReaderFindMergeStart(Session, First);
    ULONGLONG SecondTime = ReaderFindMergeStart(Session, Second);

    if (FirstTime != SecondTime) {
        return FirstTime < SecondTime ? -1 : 1;
    }

    return First < Second ? -1 : 1;
}


_Use_decl_annotations_
NTSTATUS
ReaderBeginMerge(
    PREADER_MERGE Merge,
    PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Puts the selected threads in order.

Arguments:

    Merge - The merge.

    Options - The command's options.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = Merge->Session;
    ULONG Capacity = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Session->Context->Allocator,
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

    ReaderSort(Merge->Order,
               Merge->NumberInOrder,
               ReaderCompareThreadStarts,
               Session);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ReaderFirstInMerge(
    PREADER_MERGE Merge,
    PREADER_MERGE_THREAD *Thread
    )
/*++

Routine Description:

    Finds the thread that is next.

Arguments:

    Merge - The merge.

    Thread - Receives the thread.

Return Value:

    STATUS_SUCCESS

    STATUS_END_OF_FILE - There is none.

    STATUS_NO_MEMORY

--*/
{
    ULONG Index;
    NTSTATUS Status;

    //
    // A thread is due when nothing that is open comes before its first record.
    //

    while (Merge->NextInOrder < Merge->NumberInOrder) {

        Index = Merge->Order[Merge->NextInOrder];
        if (Merge->NumberInHeap != 0 &&
            ReaderFindMergeStart(Merge->Session, Index) >
                Merge->Heap[0]->Timestamp) {
            break;
        }

        Merge->NextInOrder += 1;
        Status = ReaderOpenMergeThread(Merge, Index);
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
ReaderMoveInMerge(
    PREADER_MERGE Merge,
    NTSTATUS Status
    )
/*++

Routine Description:

    Puts the thread that was first where it belongs now.

Arguments:

    Merge - The merge, with a thread in the heap.

    Status - A success: the thread has a new time stamp.  Otherwise why it has
        none; STATUS_END_OF_FILE at its end.

Return Value:

    None.

--*/
{
    PREADER_MERGE_THREAD Thread = Merge->Heap[0];

    if (!NT_SUCCESS(Status)) {
        Merge->NumberInHeap -= 1;
        Merge->Heap[0] = Merge->Heap[Merge->NumberInHeap];
        ReaderCloseMergeThread(Merge, Thread, Status);
    }

    ReaderSiftDown(Merge);
}


_Use_decl_annotations_
VOID
ReaderEndMerge(
    PREADER_MERGE Merge
    )
/*++

Routine Description:

    Closes what is open and frees everything.

Arguments:

    Merge - The merge; all zeroes but the session will do.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Merge->Session->Context->Allocator;

    while (Merge->NumberInHeap != 0) {
        Merge->NumberInHeap -= 1;
        ReaderCloseMergeThread(Merge,
                               Merge->Heap[Merge->NumberInHeap],
                               STATUS_SUCCESS);
    }

    Allocator->Free(Allocator->Context, Merge->Heap);
    Allocator->Free(Allocator->Context, Merge->Order);
    Merge->Heap = NULL;
    Merge->Order = NULL;
}
