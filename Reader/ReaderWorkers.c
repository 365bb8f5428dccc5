/*++

Module Name:

    ReaderWorkers.c

Abstract:

    Threads that share a command's work, and the lock that they share what
    they cannot each have for themselves with.

    The thread that starts the others is one of them.  One that cannot be
    started is done without: its share falls to the others.

--*/

#include "Reader.h"

typedef struct _READER_WORKER {
    PREADER_WORK Routine;
    PVOID RoutineContext;
    HANDLE Thread;
    ULONG Index;
} READER_WORKER;
typedef READER_WORKER *PREADER_WORKER;


_Use_decl_annotations_
NTSTATUS
ReaderInitializeLock(
    PREADER_LOCK Lock,
    PCRTL Rtl
    )
/*++

Routine Description:

    Makes a lock.

Arguments:

    Lock - Receives it; good for ReaderRundownLock even after a failure.

    Rtl - The RTL.

Return Value:

    STATUS_SUCCESS or NtCreateEvent's.

--*/
{
    NTSTATUS Status;

    Lock->Rtl = Rtl;
    Lock->Count = 0;
    Lock->Event = NULL;
    Status = Rtl->NtCreateEvent(&Lock->Event,
                                EVENT_ALL_ACCESS,
                                NULL,
                                RTL_SYNCHRONIZATION_EVENT,
                                FALSE);
    if (!NT_SUCCESS(Status)) {
        Lock->Event = NULL;
    }

    return Status;
}


_Use_decl_annotations_
VOID
ReaderRundownLock(
    PREADER_LOCK Lock
    )
/*++

Routine Description:

    Closes a lock that nobody has.

Arguments:

    Lock - The lock.

Return Value:

    None.

--*/
{
    if (Lock->Event != NULL) {
        RtlClose(Lock->Rtl, Lock->Event);
        Lock->Event = NULL;
    }
}


_Use_decl_annotations_
VOID
ReaderAcquireLock(
    PREADER_LOCK Lock
    )
/*++

Routine Description:

    Takes a lock.  The system is asked only if somebody else has it.

Arguments:

    Lock - The lock, which this thread does not have; NULL: nothing is done.

Return Value:

    None.

--*/
{
    if (Lock == NULL || InterlockedIncrement(&Lock->Count) == 1) {
        return;
    }

    while (Lock->Rtl->NtWaitForSingleObject(Lock->Event, FALSE, NULL) !=
           STATUS_SUCCESS) {
        Lock->Rtl->NtYieldExecution();
    }
}


_Use_decl_annotations_
VOID
ReaderReleaseLock(
    PREADER_LOCK Lock
    )
/*++

Routine Description:

    Gives a lock back, to one that waits for it if there is one.

Arguments:

    Lock - The lock, which this thread has; NULL: nothing is done.

Return Value:

    None.

--*/
{
    if (Lock != NULL && InterlockedDecrement(&Lock->Count) != 0) {
        (VOID)Lock->Rtl->NtSetEvent(Lock->Event, NULL);
    }
}


static
PVOID
ReaderAllocateLocked(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Allocates for any thread.

Arguments:

    Context - The allocator.

    SizeInBytes - The size.

Return Value:

    The memory or NULL.

--*/
{
    PREADER_LOCKED_ALLOCATOR Locked = (PREADER_LOCKED_ALLOCATOR)Context;
    PVOID Memory;

    ReaderAcquireLock(&Locked->Lock);
    Memory = Locked->Inner->Allocate(Locked->Inner->Context, SizeInBytes);
    ReaderReleaseLock(&Locked->Lock);
    return Memory;
}


static
VOID
ReaderFreeLocked(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
/*++

Routine Description:

    Frees for any thread.

Arguments:

    Context - The allocator.

    Address - The memory or NULL.

Return Value:

    None.

--*/
{
    PREADER_LOCKED_ALLOCATOR Locked = (PREADER_LOCKED_ALLOCATOR)Context;

    ReaderAcquireLock(&Locked->Lock);
    Locked->Inner->Free(Locked->Inner->Context, Address);
    ReaderReleaseLock(&Locked->Lock);
}


_Use_decl_annotations_
NTSTATUS
ReaderInitializeLockedAllocator(
    PREADER_LOCKED_ALLOCATOR Locked,
    PCREADER_CONTEXT Context
    )
/*++

Routine Description:

    Makes an allocator that several threads may use of one that they may not.

Arguments:

    Locked - Receives it.

    Context - Its Allocator is the one that is used.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    Locked->Inner = Context->Allocator;
    Locked->Allocator.Context = Locked;
    Locked->Allocator.Allocate = ReaderAllocateLocked;
    Locked->Allocator.Free = ReaderFreeLocked;
    return ReaderInitializeLock(&Locked->Lock, Context->Rtl);
}


static
DWORD
WINAPI
ReaderWorkerMain(
    _In_ PVOID Argument
    )
/*++

Routine Description:

    A thread's first routine.

Arguments:

    Argument - Its worker.

Return Value:

    0.

--*/
{
    PREADER_WORKER Worker = (PREADER_WORKER)Argument;

    Worker->Routine(Worker->RoutineContext, Worker->Index);
    return 0;
}


_Use_decl_annotations_
VOID
ReaderRunWorkers(
    PCREADER_CONTEXT Context,
    ULONG NumberOfWorkers,
    PREADER_WORK Routine,
    PVOID RoutineContext,
    PREADER_WAIT WaitRoutine
    )
/*++

Routine Description:

    Runs a routine in several threads at once, and waits for all of them.

Arguments:

    Context - The context.

    NumberOfWorkers - In how many, the caller's with them; at most
        READER_MAXIMUM_WORKERS.

    Routine - What each does: it takes shares of the work for as long as there
        are any.

    RoutineContext - For the routine.

    WaitRoutine - Called ten times a second while the caller's thread has
        nothing to do but to wait, or NULL.

Return Value:

    None.

--*/
{
    READER_WORKER Workers[READER_MAXIMUM_WORKERS];
    LARGE_INTEGER Interval;
    ULONG Index;
    NTSTATUS Status;

    Interval.QuadPart = -1000000;       // 0.1 s, in 100 ns
    for (Index = 1; Index < NumberOfWorkers; Index++) {

        Workers[Index].Routine = Routine;
        Workers[Index].RoutineContext = RoutineContext;
        Workers[Index].Index = Index;
        Status = Context->Rtl->NtCreateThreadEx(&Workers[Index].Thread,
                                                THREAD_ALL_ACCESS,
                                                NULL,
                                                (HANDLE)(LONG_PTR)-1,
                                                (PVOID)ReaderWorkerMain,
                                                &Workers[Index],
                                                0,
                                                0,
                                                0,
                                                0,
                                                NULL);
        if (!NT_SUCCESS(Status)) {
            Workers[Index].Thread = NULL;
        }
    }

    Routine(RoutineContext, 0);

    for (Index = 1; Index < NumberOfWorkers; Index++) {

        if (Workers[Index].Thread == NULL) {
            continue;
        }

        while (Context->Rtl->NtWaitForSingleObject(
                   Workers[Index].Thread,
                   FALSE,
                   WaitRoutine != NULL ? &Interval : NULL) !=
               STATUS_SUCCESS) {

            if (WaitRoutine != NULL) {
                WaitRoutine(RoutineContext);
            } else {
                Context->Rtl->NtYieldExecution();
            }
        }

        RtlClose(Context->Rtl, Workers[Index].Thread);
    }
}
