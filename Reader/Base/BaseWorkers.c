/*++

Module Name:

    BaseWorkers.c

Abstract:

    Threads that share a command's work, and the lock that they share what
    they cannot each have for themselves with.

    The thread that starts the others is one of them.  One that cannot be
    started is done without: its share falls to the others.

--*/

#include "BaseWorkers.h"

typedef struct _READER_WORKER {
    PREADER_WORK Routine;
    PVOID RoutineContext;
    HANDLE Thread;
    ULONG Index;
} READER_WORKER;
typedef READER_WORKER *PREADER_WORKER;


_Use_decl_annotations_
NTSTATUS
BaseInitializeLock(
    PREADER_LOCK Lock,
    PCRTL Rtl
    )
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
BaseRundownLock(
    PREADER_LOCK Lock
    )
{
    if (Lock->Event != NULL) {
        RtlClose(Lock->Rtl, Lock->Event);
        Lock->Event = NULL;
    }
}


_Use_decl_annotations_
VOID
BaseAcquireLock(
    PREADER_LOCK Lock
    )
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
BaseReleaseLock(
    PREADER_LOCK Lock
    )
{
    if (Lock != NULL && InterlockedDecrement(&Lock->Count) != 0) {
        (VOID)Lock->Rtl->NtSetEvent(Lock->Event, NULL);
    }
}


//
// Allocates for any thread.
// Returns the memory or NULL.
//

static
PVOID
BaseAllocateLocked(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PREADER_LOCKED_ALLOCATOR Locked = (PREADER_LOCKED_ALLOCATOR)Context;
    PVOID Memory;

    BaseAcquireLock(&Locked->Lock);
    Memory = Locked->Inner->Allocate(Locked->Inner->Context, SizeInBytes);
    BaseReleaseLock(&Locked->Lock);
    return Memory;
}


//
// Frees for any thread.
// Address: the memory or NULL.
//

static
VOID
BaseFreeLocked(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    PREADER_LOCKED_ALLOCATOR Locked = (PREADER_LOCKED_ALLOCATOR)Context;

    BaseAcquireLock(&Locked->Lock);
    Locked->Inner->Free(Locked->Inner->Context, Address);
    BaseReleaseLock(&Locked->Lock);
}


_Use_decl_annotations_
NTSTATUS
BaseInitializeLockedAllocator(
    PREADER_LOCKED_ALLOCATOR Locked,
    PCREADER_CONTEXT Context
    )
{
    Locked->Inner = Context->Allocator;
    Locked->Allocator.Context = Locked;
    Locked->Allocator.Allocate = BaseAllocateLocked;
    Locked->Allocator.Free = BaseFreeLocked;
    return BaseInitializeLock(&Locked->Lock, Context->Rtl);
}


_Use_decl_annotations_
VOID
BaseInitializeTeam(
    PREADER_TEAM Team,
    PCREADER_CONTEXT Context,
    ULONG NumberOfWorkers
    )
{
    RtlZeroBytes(Team, sizeof(*Team));
    Team->Context = *Context;
    Team->MaximumWorkers = NumberOfWorkers != 0 ? NumberOfWorkers
                                                : Context->NumberOfProcessors;
    if (Team->MaximumWorkers > READER_MAXIMUM_WORKERS) {
        Team->MaximumWorkers = READER_MAXIMUM_WORKERS;
    }

    if (Team->MaximumWorkers > 1) {

        if (NT_SUCCESS(BaseInitializeLockedAllocator(&Team->Allocator,
                                                     Context)) &&
            NT_SUCCESS(BaseInitializeLock(&Team->Lock, Context->Rtl))) {
            Team->Context.Allocator = &Team->Allocator.Allocator;
        } else {
            Team->MaximumWorkers = 1;
        }
    }
}


_Use_decl_annotations_
VOID
BaseRundownTeam(
    PREADER_TEAM Team
    )
{
    BaseRundownLock(&Team->Lock);
    BaseRundownLock(&Team->Allocator.Lock);
}


//
// A thread's first routine.
// Returns 0.
//

static
DWORD
WINAPI
BaseWorkerMain(
    _In_ PVOID Argument
    )
{
    PREADER_WORKER Worker = (PREADER_WORKER)Argument;

    Worker->Routine(Worker->RoutineContext, Worker->Index);
    return 0;
}


_Use_decl_annotations_
VOID
BaseRunWorkers(
    PCREADER_CONTEXT Context,
    ULONG NumberOfWorkers,
    PREADER_WORK Routine,
    PVOID RoutineContext,
    PREADER_WAIT WaitRoutine
    )
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
                                                (PVOID)BaseWorkerMain,
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
