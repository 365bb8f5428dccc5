/*++

Module Name:

    TraceThread.c

Abstract:

    Threads of the library, the worker and the clock: how they begin, how the
    worker is woken, and how they go away.

    Their end.  The module that this code is in may be unloaded, under the
    loader lock, which a thread needs to end.  So a thread of ours does not end:
    it signals that it is gone and goes to sleep in one system call,
    NtSignalAndWaitForSingleObject, which it never leaves; whoever waited for
    the signal then terminates a thread that is certainly inside the kernel and
    holds nothing.

    Their beginning.  A thread is created without announcing it to the DLLs, so
    that on Windows it needs no loader lock to begin either.  Wine 8 makes it
    wait for the lock all the same, so that a module that is unloaded at that
    moment finds a worker that cannot begin: who stops it then claims its place
    and terminates it before it has run any code of ours.

--*/

#include "TraceLog.h"
#include "TraceThread.h"
#include "TraceWatch.h"

//
// How often the system may refuse what ends the worker before it is left as it
// is.
//

#define TRACE_WORKER_REFUSALS   50

_Use_decl_annotations_
VOID
TraceThreadSleep(
    PCRTL Rtl
    )
{
    LARGE_INTEGER Interval;

    Interval.QuadPart = -100000;
    Rtl->NtDelayExecution(FALSE, &Interval);
}

_Use_decl_annotations_
VOID
TraceThreadGone(
    PTRACE_SESSION Session,
    PTRACE_WORKER Worker
    )
{
    //
    // Once it is said the session may be gone.
    //

    if (Session->ThreadsReturn &&
        NT_SUCCESS(Session->Rtl.NtSetEvent(Worker->GoneEvent, NULL))) {

        return;
    }

    for (;;) {
        if (!NT_SUCCESS(Session->Rtl.NtSignalAndWaitForSingleObject(
                Worker->GoneEvent,
                Worker->NeverEvent,
                FALSE,
                NULL))) {

            Session->Rtl.NtSetEvent(Worker->GoneEvent, NULL);
            TraceThreadSleep(&Session->Rtl);
        }
    }
}

static
VOID
TraceThreadCloseHandles(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker
    )
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

//
// Terminates a thread that is asleep in the kernel, and waits for its end: it
// runs no code on its way out, so this needs no lock.
// If the system refuses for good, the thread sleeps on.
//

static
VOID
TraceThreadTerminate(
    _In_ PCRTL Rtl,
    _In_ HANDLE Thread
    )
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
            TraceThreadSleep(Rtl);
        }
        if (!Terminated || !NT_SUCCESS(Status)) {
            Refusals += 1;
        }
    }
}

_Use_decl_annotations_
NTSTATUS
TraceThreadStart(
    PTRACE_SESSION Session,
    PTRACE_WORKER Worker,
    PVOID Main
    )
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
        TraceThreadTerminate(Rtl, Worker->Thread);
        if (Worker == &Session->Worker) {
            TraceWatchEnd(Session);
        }
        goto Error;
    }

    return STATUS_SUCCESS;

Error:

    TraceThreadCloseHandles(Rtl, Worker);
    Worker->ThreadId = 0;
    return Status;
}

_Use_decl_annotations_
BOOLEAN
TraceThreadRequest(
    PTRACE_SESSION Session
    )
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
            return FALSE;
        }

        Status = TraceThreadStart(Session, Worker, Session->WorkerMain);
        if (!NT_SUCCESS(Status)) {
            InterlockedExchange(&Worker->State, TRACE_WORKER_REFUSED);
            RtlSetError(&Error,
                        "starting the worker thread",
                        &Session->ModuleName,
                        Status);
            TraceLogError(Session,
                          &Error,
                          "the traced threads prepare their own views");
            return FALSE;
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

    return TRUE;
}

_Use_decl_annotations_
VOID
TraceThreadStop(
    PTRACE_SESSION Session,
    PTRACE_WORKER Worker
    )
{
    PCRTL Rtl;
    NTSTATUS Status;
    NTSTATUS WakeStatus;
    ULONG Refusals;
    LARGE_INTEGER Timeout;
    LARGE_INTEGER Zero;
    BOOLEAN IsGone;

    Rtl = &Session->Rtl;

    if (Worker->State != TRACE_WORKER_RUNNING) {

        //
        // One that somebody has terminated, and that is done without since,
        // has left its handles.
        //

        if (Worker == &Session->Worker && Session->WorkerIsGone) {
            TraceWatchEnd(Session);
            TraceThreadCloseHandles(Rtl, Worker);
        }
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
    IsGone = FALSE;

    while (Refusals < TRACE_WORKER_REFUSALS) {
        WakeStatus = Rtl->NtSetEvent(Worker->WakeEvent, NULL);
        Status = Rtl->NtWaitForSingleObject(Worker->GoneEvent,
                                            FALSE,
                                            &Timeout);
        if (Status == STATUS_SUCCESS) {
            IsGone = TRUE;
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
            TraceThreadSleep(Rtl);
        }
        if (!NT_SUCCESS(Status) || !NT_SUCCESS(WakeStatus)) {
            Refusals += 1;
        }
    }

    //
    // One that returns has its stack freed, which Wine does not do for one that
    // is terminated.
    //

    if (!IsGone || !Session->ThreadsReturn) {
        TraceThreadTerminate(Rtl, Worker->Thread);
    }
    if (Worker == &Session->Worker) {
        TraceWatchEnd(Session);
    }
    TraceThreadCloseHandles(Rtl, Worker);
    Worker->State = TRACE_WORKER_REFUSED;
}
