/*++

Module Name:

    TraceWorker.c

Abstract:

    The worker thread of a session: maps the next view of every busy store and
    makes its pages present before the traced thread gets there, and unmaps
    what has been retired.  Page work for a call's two records costs a traced
    thread 5 ns when it has to do it itself, nothing when it was done here.

    The worker starts when a store first changes its view (a thread that makes a
    few thousand calls never causes it), with the first store of a tree, or when
    a thread finds that something was asked for in the control file, which the
    worker looks at from then on (TraceControl.c).  It sleeps while there is
    nothing to prepare.  There is never
    more to prepare than what is left of the view that a thread is in and the
    view after it, some 100 ms of its records each (TraceView.c).

    Its priority is that of the program's threads: one that needs a piece which
    the worker is about to finish would otherwise wait for every other thread of
    the machine.  When all the processors are busy, the traced threads prepare
    themselves what the worker has no time for.

    Its end.  The module that this code is in may be unloaded, under the loader
    lock, which a thread needs to end.  So the worker does not end: it signals
    that it is gone and goes to sleep in one system call,
    NtSignalAndWaitForSingleObject, which it never leaves; whoever waited for
    the signal then terminates a thread that is certainly inside the kernel and
    holds nothing.

    Its beginning.  The thread is created without announcing it to the DLLs, so
    that on Windows it needs no loader lock to begin either.  Wine 8 makes it
    wait for the lock all the same, so that a module that is unloaded at that
    moment finds a worker that cannot begin: who stops it then claims its place
    and terminates it before it has run any code of ours.

--*/

#include "TraceStore.h"

//
// How often the system may refuse what ends the worker before it is left as it
// is.
//

#define TRACE_WORKER_REFUSALS   50

static
BOOLEAN
TraceWorkerMapNext(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Maps the next view of a store.  The work lock is held on entry and on
    return, but not while the file is extended and mapped: WorkerBusy keeps the
    owner from doing the same.  All that this has is in the store at any moment,
    since a process that ends may kill the worker at any.

Arguments:

    Store - Supplies the store.

Return Value:

    TRUE if something was done.

--*/
{
    NTSTATUS Status;
    ULONG Reason;
    PTRACE_VIEW View;
    ULONGLONG FileSizeInBytes;
    PTRACE_SESSION Session;

    Session = Store->Session;
    View = &Store->Mapping;
    Store->WantNext = FALSE;

    //
    // That the store may not grow any more is left for the owner to meet.
    //

    Status = TraceStorePlaceNext(Store, View);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    FileSizeInBytes = Store->FileSizeInBytes;
    Store->WorkerBusy = TRACE_WORKER_MAPS;
    TraceStoreReleaseWorkLock(Store);

    Status = TraceViewMap(&Session->Rtl,
                          Store->File,
                          FileSizeInBytes,
                          View,
                          &Reason);

    TraceStoreAcquireWorkLock(Store);
    if (NT_SUCCESS(Status)) {
        RtlCopyBytes(&Store->Next.Position,
                     &View->Position,
                     sizeof(*View) - FIELD_OFFSET(TRACE_VIEW, Position));
        RtlCompilerBarrier();
        Store->Next.Base = View->Base;
        RtlCompilerBarrier();
        View->Base = NULL;
        TraceStoreGrow(Store);
    } else {
        Store->NextStatus = Status;
        Store->NextReason = Reason;
    }
    Store->WorkerBusy = TRACE_WORKER_IDLE;

    return TRUE;
}

static
VOID
TraceWorkerUnmapRetired(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Unmaps a view that the owner has left.  The work lock is held on entry and
    on return, but not in between.

Arguments:

    Store - Supplies the store.

    Index - Supplies which of the retired views.

Return Value:

    None.

--*/
{
    PVOID Retired;

    Retired = Store->Retired[Index];
    Store->Leaving[TRACE_LEAVING_WORKER] = Retired;
    RtlCompilerBarrier();
    Store->Retired[Index] = NULL;
    Store->WorkerBusy = TRACE_WORKER_UNMAPS;
    TraceStoreReleaseWorkLock(Store);

    TraceViewRetire(Store->Session, Retired);

    TraceStoreAcquireWorkLock(Store);
    Store->Leaving[TRACE_LEAVING_WORKER] = NULL;
    Store->WorkerBusy = TRACE_WORKER_IDLE;
}

static
VOID
TraceWorkerPrepareNext(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Prepares a piece of the next view of a store.  The work lock is held on
    entry and on return, but not in between: the owner may move on to the view
    meanwhile, and use what had been prepared before.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    NTSTATUS Status;
    TRACE_VIEW View;
    ULONG Busy;

    RtlCopyBytes(&View, &Store->Next, sizeof(View));
    Store->WorkerBusy = TRACE_WORKER_PREPARES_NEXT;
    TraceStoreReleaseWorkLock(Store);

    Status = TraceViewPrepare(Store->Session,
                              Store->File,
                              &View,
                              TRACE_ZEROS_SIZE);

    TraceStoreAcquireWorkLock(Store);
    Busy = Store->WorkerBusy;
    Store->WorkerBusy = TRACE_WORKER_IDLE;

    //
    // Pages of the current view that cannot be had are left for the owner to
    // meet.
    //

    if (Busy == TRACE_WORKER_PREPARES_CURRENT) {
        Store->Current.PreparedInBytes = View.PreparedInBytes;
        Store->Current.PrepareTicks = View.PrepareTicks;
        Store->Current.LongestTicks = View.LongestTicks;
    } else if (NT_SUCCESS(Status)) {
        Store->Next.PreparedInBytes = View.PreparedInBytes;
        Store->Next.PrepareTicks = View.PrepareTicks;
        Store->Next.LongestTicks = View.LongestTicks;
    } else {
        Store->NextStatus = Status;
        Store->NextReason = TRACE_REASON_PAGE_FAILED;
    }
}

static
BOOLEAN
TraceWorkerServeStore(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Does one unit of work for a store: the mapping of the next view, a piece of
    that, or a retired view, in this order.  A view that its owner has begun to
    fill before it was ready is the owner's to prepare: the worker goes on to
    the next one, and the owner waits for no worker that gets no processor.

Arguments:

    Store - Supplies the store.

Return Value:

    TRUE if something was done, so that there may be more to do.

--*/
{
    BOOLEAN Worked;
    ULONG Index;

    if (Store->Use != TRACE_STORE_USED) {
        return FALSE;
    }

    //
    // The owner is in its slow path, at the end of which it asks for what is
    // left to do.
    //

    if (!TraceStoreTryAcquireWorkLock(Store)) {
        return FALSE;
    }

    Worked = FALSE;

    //
    // The owner may have closed the store before the lock was acquired.  While
    // the lock is held and the store is used, it cannot be closed.
    //

    if (Store->Use != TRACE_STORE_USED ||
        Store->Header->State != TRACE_STATE_OPEN) {

        goto End;
    }

    if (Store->Next.Base == NULL &&
        Store->WantNext &&
        NT_SUCCESS(Store->NextStatus)) {

        Worked = TraceWorkerMapNext(Store);

    } else if (Store->Next.Base != NULL &&
               Store->Next.PreparedInBytes < Store->Next.SizeInBytes &&
               NT_SUCCESS(Store->NextStatus)) {

        TraceWorkerPrepareNext(Store);
        Worked = TRUE;

    } else {

        for (Index = 0; Index < TRACE_RETIRED_VIEWS; Index += 1) {
            if (Store->Retired[Index] != NULL) {
                TraceWorkerUnmapRetired(Store, Index);
                Worked = TRUE;
                break;
            }
        }
    }

End:

    TraceStoreReleaseWorkLock(Store);
    return Worked;
}

static
VOID
TraceWorkerSleep(
    _In_ PCRTL Rtl
    )
/*++

Routine Description:

    Lets 10 ms pass, so that a call that the system refuses is not repeated
    at full speed.

Arguments:

    Rtl - Supplies the RTL.

Return Value:

    None.

--*/
{
    LARGE_INTEGER Interval;

    Interval.QuadPart = -100000;
    Rtl->NtDelayExecution(FALSE, &Interval);
}

static
ULONG
WINAPI
TraceWorkerMain(
    _In_ PVOID Parameter
    )
/*++

Routine Description:

    The worker thread.

Arguments:

    Parameter - Supplies the session.

Return Value:

    Does not return.

--*/
{
    PTRACE_SESSION Session;
    PTRACE_WORKER Worker;
    PTRACE_STORE_BLOCK Block;
    ULONG Index;
    BOOLEAN Worked;

    Session = (PTRACE_SESSION)Parameter;
    Worker = &Session->Worker;

    if (InterlockedExchange(&Worker->Claimed, 1) != 0) {
        goto Gone;
    }

    TraceWatchBegin(Session);

    while (!Worker->Stop) {
        Worked = FALSE;
        TraceControlWatch(Session);
        for (Block = Session->Blocks;
             Block != NULL && !Worker->Stop;
             Block = Block->Next) {

            for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {
                if (TraceWorkerServeStore(&Block->Stores[Index])) {
                    Worked = TRUE;
                }
            }
        }

        if (Worked) {
            continue;
        }

        //
        // Waiting is set before the stores are looked at for the last time;
        // a request after that look finds it set and wakes the worker.
        //

        if (InterlockedExchange(&Worker->Waiting, 1) == 0) {
            continue;
        }
        if (!NT_SUCCESS(TraceWatchWait(Session))) {
            TraceWorkerSleep(&Session->Rtl);
        }
        InterlockedExchange(&Worker->Waiting, 0);
    }

Gone:

    TraceWorkerGone(Session, Worker);
    return 0;
}

_Use_decl_annotations_
VOID
TraceWorkerGone(
    PTRACE_SESSION Session,
    PTRACE_WORKER Worker
    )
/*++

Routine Description:

    Ends one of the library's threads: says that it is gone, and sleeps.

Arguments:

    Session - Supplies the session.

    Worker - Supplies the thread.

Return Value:

    Does not return.

--*/
{
    for (;;) {
        if (!NT_SUCCESS(Session->Rtl.NtSignalAndWaitForSingleObject(
                Worker->GoneEvent,
                Worker->NeverEvent,
                FALSE,
                NULL))) {

            Session->Rtl.NtSetEvent(Worker->GoneEvent, NULL);
            TraceWorkerSleep(&Session->Rtl);
        }
    }
}

static
VOID
TraceWorkerCloseHandles(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker
    )
/*++

Routine Description:

    Closes the worker's handles.

Arguments:

    Rtl - Supplies the RTL.

    Worker - Supplies the worker.

Return Value:

    None.

--*/
{
    PHANDLE Handles[4];
    ULONG Index;

    Handles[0] = &Worker->Thread;
    Handles[1] = &Worker->WakeEvent;
    Handles[2] = &Worker->GoneEvent;
    Handles[3] = &Worker->NeverEvent;

    for (Index = 0; Index < RTL_NUMBER_OF(Handles); Index += 1) {
        RtlProtectHandle(Rtl, *Handles[Index], FALSE);
        RtlClose(Rtl, *Handles[Index]);
        *Handles[Index] = NULL;
    }
}

static
VOID
TraceWorkerTerminate(
    _In_ PCRTL Rtl,
    _In_ HANDLE Thread
    )
/*++

Routine Description:

    Terminates a thread that is asleep in the kernel, and waits for its end: it
    runs no code on its way out, so this needs no lock.

Arguments:

    Rtl - Supplies the RTL.

    Thread - Supplies the thread.

Return Value:

    None.  If the system refuses for good, the thread sleeps on.

--*/
{
    NTSTATUS Status;
    BOOLEAN Terminated;
    ULONG Refusals;
    LARGE_INTEGER Timeout;

    Timeout.QuadPart = -200000;             // 20 ms
    Terminated = FALSE;
    Refusals = 0;

    while (Refusals < TRACE_WORKER_REFUSALS) {
        if (!Terminated) {
            Terminated =
                NT_SUCCESS(Rtl->NtTerminateThread(Thread, STATUS_SUCCESS));
        }
        Status = Rtl->NtWaitForSingleObject(Thread, FALSE, &Timeout);
        if (Status == STATUS_SUCCESS) {
            break;
        }
        if (!NT_SUCCESS(Status)) {
            TraceWorkerSleep(Rtl);
        }
        if (!Terminated || !NT_SUCCESS(Status)) {
            Refusals += 1;
        }
    }
}

_Use_decl_annotations_
NTSTATUS
TraceWorkerStart(
    PTRACE_SESSION Session,
    PTRACE_WORKER Worker,
    PVOID Main
    )
/*++

Routine Description:

    Creates one of the library's threads.  It is created suspended, so that its
    id is known before it runs any code, and asked not to announce itself to the
    DLLs of the process: their thread attach routines may be instrumented and
    are not the program's doing.  Its stack has the size that the image asks
    for, since the end of the process may run on it (TraceWatch.c).

Arguments:

    Session - Supplies the session.

    Worker - Supplies the place for the thread.

    Main - Supplies the routine that it runs.

Return Value:

    STATUS_SUCCESS or the failing call's status.

--*/
{
    NTSTATUS Status;
    PCRTL Rtl;
    PHANDLE Events[3];
    ULONG Index;
    struct {
        NTSTATUS ExitStatus;
        ULONG Padding;
        PVOID TebBaseAddress;
        HANDLE UniqueProcess;
        HANDLE UniqueThread;
        ULONG_PTR AffinityMask;
        LONG Priority;
        LONG BasePriority;
    } Basic;

    Rtl = &Session->Rtl;
    Events[0] = &Worker->WakeEvent;
    Events[1] = &Worker->GoneEvent;
    Events[2] = &Worker->NeverEvent;

    for (Index = 0; Index < RTL_NUMBER_OF(Events); Index += 1) {
        Status = Rtl->NtCreateEvent(Events[Index],
                                    EVENT_ALL_ACCESS,
                                    NULL,
                                    RTL_SYNCHRONIZATION_EVENT,
                                    FALSE);
        if (!NT_SUCCESS(Status)) {
            *Events[Index] = NULL;
            goto Error;
        }
        RtlProtectHandle(Rtl, *Events[Index], TRUE);
    }

    Status = Rtl->NtCreateThreadEx(&Worker->Thread,
                                   THREAD_ALL_ACCESS,
                                   NULL,
                                   (HANDLE)-1,
                                   Main,
                                   Session,
                                   RTL_THREAD_CREATE_SUSPENDED |
                                   RTL_THREAD_SKIP_THREAD_ATTACH,
                                   0,
                                   0,
                                   0,
                                   NULL);
    if (!NT_SUCCESS(Status)) {
        Worker->Thread = NULL;
        goto Error;
    }

    RtlProtectHandle(Rtl, Worker->Thread, TRUE);

    Status = Rtl->NtQueryInformationThread(Worker->Thread,
                                           RTL_THREAD_BASIC_INFORMATION,
                                           &Basic,
                                           sizeof(Basic),
                                           NULL);
    if (NT_SUCCESS(Status)) {
        Worker->ThreadId = (ULONG)(ULONG_PTR)Basic.UniqueThread;
    }

    if (Worker == &Session->Worker) {
        TraceWatchCaller(Session);
    }
    Status = Rtl->NtResumeThread(Worker->Thread, NULL);
    if (!NT_SUCCESS(Status)) {
        TraceWorkerTerminate(Rtl, Worker->Thread);
        if (Worker == &Session->Worker) {
            TraceWatchEnd(Session);
        }
        goto Error;
    }

    return STATUS_SUCCESS;

Error:

    TraceWorkerCloseHandles(Rtl, Worker);
    Worker->ThreadId = 0;
    return Status;
}

_Use_decl_annotations_
VOID
TraceWorkerRequest(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Starts the worker if need be, and wakes it if it waits.  Called on the slow
    path of traced threads: no waiting.

Arguments:

    Session - Supplies the session.

Return Value:

    None.  Without a worker the traced threads do its work themselves.

--*/
{
    NTSTATUS Status;
    RTL_ERROR Error;
    PTRACE_WORKER Worker;

    Worker = &Session->Worker;

    if (Worker->State == TRACE_WORKER_NONE &&
        InterlockedCompareExchange(&Worker->State,
                                   TRACE_WORKER_STARTING,
                                   TRACE_WORKER_NONE) == TRACE_WORKER_NONE) {

        if (!Session->WorkerAllowed) {
            InterlockedExchange(&Worker->State, TRACE_WORKER_REFUSED);
            TraceControlDoWithoutWorker(Session);
            return;
        }

        Status = TraceWorkerStart(Session,
                                  Worker,
                                  (PVOID)TraceWorkerMain);
        if (!NT_SUCCESS(Status)) {
            InterlockedExchange(&Worker->State, TRACE_WORKER_REFUSED);
            TraceControlDoWithoutWorker(Session);
            RtlSetError(&Error,
                        "starting the worker thread",
                        &Session->ModuleName,
                        Status);
            TraceLogError(Session,
                          &Error,
                          "the traced threads prepare their own views");
            return;
        }

        InterlockedExchange(&Worker->State, TRACE_WORKER_RUNNING);
    }

    if (Worker->State == TRACE_WORKER_RUNNING &&
        InterlockedExchange(&Worker->Waiting, 0) == 1) {

        //
        // If the worker could not be woken, the next request tries again.
        //

        if (!NT_SUCCESS(Session->Rtl.NtSetEvent(Worker->WakeEvent, NULL))) {
            InterlockedExchange(&Worker->Waiting, 1);
        }
    }
}

_Use_decl_annotations_
VOID
TraceWorkerStop(
    PTRACE_SESSION Session,
    PTRACE_WORKER Worker
    )
/*++

Routine Description:

    Makes one of the library's threads leave this module's code for good.

Arguments:

    Session - Supplies the session.

    Worker - Supplies the thread.

Return Value:

    None.

--*/
{
    PCRTL Rtl;
    NTSTATUS Status;
    NTSTATUS WakeStatus;
    ULONG Refusals;
    LARGE_INTEGER Timeout;
    LARGE_INTEGER Zero;

    Rtl = &Session->Rtl;

    if (Worker->State != TRACE_WORKER_RUNNING) {
        return;
    }

    InterlockedExchange(&Worker->Stop, 1);

    //
    // A worker that has begun answers within one unit of work.  Should somebody
    // have terminated it, its handle is signaled instead.  One that has not
    // begun after a while cannot: it waits for the lock that this thread holds.
    // One that the system does not let wake up, or does not let be waited for,
    // is given a second to finish what it does, and is asleep then.
    //

    Timeout.QuadPart = -200000;             // 20 ms
    Zero.QuadPart = 0;
    Refusals = 0;

    while (Refusals < TRACE_WORKER_REFUSALS) {
        WakeStatus = Rtl->NtSetEvent(Worker->WakeEvent, NULL);
        Status = Rtl->NtWaitForSingleObject(Worker->GoneEvent,
                                            FALSE,
                                            &Timeout);
        if (Status == STATUS_SUCCESS) {
            break;
        }

        if (InterlockedExchange(&Worker->Claimed, 1) == 0) {
            break;
        }
        if (Rtl->NtWaitForSingleObject(Worker->Thread, FALSE, &Zero) ==
            STATUS_SUCCESS) {

            break;
        }

        if (!NT_SUCCESS(Status)) {
            TraceWorkerSleep(Rtl);
        }
        if (!NT_SUCCESS(Status) || !NT_SUCCESS(WakeStatus)) {
            Refusals += 1;
        }
    }

    TraceWorkerTerminate(Rtl, Worker->Thread);
    if (Worker == &Session->Worker) {
        TraceWatchEnd(Session);
    }
    TraceWorkerCloseHandles(Rtl, Worker);
    Worker->State = TRACE_WORKER_REFUSED;
}
