/*++

Module Name:

    TraceWatch.c

Abstract:

    Keeps the worker from keeping the process alive.

    A process ends with its last thread, and the worker is one.  So whenever it
    waits for work it also waits for threads of the program to end.  When those
    that it knows of have ended it looks for others; when only workers are left
    (each module instance has its own) it ends the process as the program's last
    thread would have done, with that thread's exit code.

    Nobody has to announce its end for this.  But a thread may come and go
    between two looks; where the loader or the system tells us about the ends of
    threads, each leaves a handle of itself, so that the last one's exit code is
    known.


--*/

#include "TraceStore.h"

//
// How one worker knows another: the field of the thread environment block that
// is free for a thread's own use.
//

#define TEB_ARBITRARY_USER_POINTER      0x28
#define TEB_THREAD_ID                   0x48
#define TRACE_WATCH_MARK                0x54524357      // "TRCW"

//
// As long as more threads than that are watched, some are the program's.
//

#define TRACE_WATCH_FEW                 16

//
// The pseudo handles of the process and of the calling thread.
//

#define TRACE_WATCH_PROCESS             ((HANDLE)(LONG_PTR)-1)
#define TRACE_WATCH_THREAD              ((HANDLE)(LONG_PTR)-2)

typedef struct _TRACE_THREAD_INFORMATION {
    NTSTATUS ExitStatus;
    ULONG Padding;
    PVOID TebBaseAddress;
    HANDLE UniqueProcess;
    HANDLE UniqueThread;
    ULONG_PTR AffinityMask;
    LONG Priority;
    LONG BasePriority;
} TRACE_THREAD_INFORMATION;
typedef TRACE_THREAD_INFORMATION *PTRACE_THREAD_INFORMATION;

typedef struct _TRACE_THREAD_TIMES {
    LARGE_INTEGER CreateTime;
    LARGE_INTEGER ExitTime;
    LARGE_INTEGER KernelTime;
    LARGE_INTEGER UserTime;
} TRACE_THREAD_TIMES;
typedef TRACE_THREAD_TIMES *PTRACE_THREAD_TIMES;

static
BOOLEAN
TraceWatchIsLibrary(
    _In_ PTRACE_SESSION Session,
    _In_ HANDLE Thread
    )
/*++

Routine Description:

    Says whether a thread that runs is one of a library's: the calling worker,
    its session's clock thread, which may not have begun and has no mark then,
    or one that has a mark.

Arguments:

    Session - Supplies the session.

    Thread - Supplies the thread.

Return Value:

    FALSE if not, or if it is not known.

--*/
{
    TRACE_THREAD_INFORMATION Basic;
    ULONGLONG Mark;
    ULONG ThreadId;
    PCRTL Rtl;
    SIZE_T Read;

    Rtl = &Session->Rtl;
    if (!NT_SUCCESS(Rtl->NtQueryInformationThread(Thread,
                                                  RTL_THREAD_BASIC_INFORMATION,
                                                  &Basic,
                                                  sizeof(Basic),
                                                  NULL))) {
        return FALSE;
    }

    ThreadId = (ULONG)(ULONG_PTR)Basic.UniqueThread;
    if (ThreadId == __readgsdword(TEB_THREAD_ID) ||
        ThreadId == Session->ClockWorker.ThreadId) {

        return TRUE;
    }

    //
    // Its block may go away meanwhile.
    //

    Mark = 0;
    return NT_SUCCESS(Rtl->NtReadVirtualMemory(
               TRACE_WATCH_PROCESS,
               (PBYTE)Basic.TebBaseAddress + TEB_ARBITRARY_USER_POINTER,
               &Mark,
               sizeof(Mark),
               &Read)) &&
           Mark == TRACE_WATCH_MARK;
}

static
BOOLEAN
TraceWatchIsProgram(
    _In_ PTRACE_SESSION Session,
    _In_ HANDLE Thread
    )
/*++

Routine Description:

    Says whether a thread is one of the program's, and runs.

Arguments:

    Session - Supplies the session.

    Thread - Supplies the thread.

Return Value:

    TRUE if so, or if it is not known.

--*/
{
    LARGE_INTEGER Zero;

    //
    // A thread that has ended stays as long as there are handles to it.  Its
    // exit status may be any, that of one that runs too.
    //

    Zero.QuadPart = 0;
    return Session->Rtl.NtWaitForSingleObject(Thread, FALSE, &Zero) !=
           STATUS_SUCCESS &&
           !TraceWatchIsLibrary(Session, Thread);
}

static
NTSTATUS
TraceWatchFindThreads(
    _Inout_ PTRACE_SESSION Session
    )
/*++

Routine Description:

    Finds threads of the program, the oldest first: the main thread, most often.

Arguments:

    Session - Supplies the session, whose worker watches none; it receives them.

Return Value:

    STATUS_SUCCESS - There is one at least.

    STATUS_NO_MORE_ENTRIES - There is none.

    Or why that is not known.

--*/
{
    BOOLEAN IsKept;
    HANDLE Previous;
    HANDLE Thread;
    NTSTATUS Status;
    PCRTL Rtl;
    PTRACE_WORKER Worker;

    Rtl = &Session->Rtl;
    Worker = &Session->Worker;
    Previous = NULL;
    IsKept = TRUE;

    for (;;) {

        Thread = NULL;
        Status = Rtl->NtGetNextThread(TRACE_WATCH_PROCESS,
                                      Previous,
                                      THREAD_QUERY_INFORMATION | SYNCHRONIZE,
                                      0,
                                      0,
                                      &Thread);
        if (!IsKept) {
            RtlClose(Rtl, Previous);
        }
        if (!NT_SUCCESS(Status)) {
            break;
        }

        IsKept = TraceWatchIsProgram(Session, Thread);
        if (IsKept) {
            RtlProtectHandle(Rtl, Thread, TRUE);
            Worker->Watched[Worker->NumberWatched] = Thread;
            Worker->NumberWatched += 1;
            if (Worker->NumberWatched == TRACE_WATCHED_THREADS) {
                break;
            }
        }

        Previous = Thread;
    }

    return Worker->NumberWatched != 0 ? STATUS_SUCCESS : Status;
}

static
VOID
TraceWatchForget(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Lets go of a thread.

Arguments:

    Rtl - Supplies the RTL.

    Worker - Supplies the worker.

    Index - Supplies which of those that it watches.

Return Value:

    None.

--*/
{
    RtlProtectHandle(Rtl, Worker->Watched[Index], FALSE);
    RtlClose(Rtl, Worker->Watched[Index]);
    Worker->NumberWatched -= 1;
    Worker->Watched[Index] = Worker->Watched[Worker->NumberWatched];
    Worker->Watched[Worker->NumberWatched] = NULL;
}

static
VOID
TraceWatchTakeExitStatus(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker,
    _In_ HANDLE Thread
    )
/*++

Routine Description:

    Keeps the exit status of a thread that has ended, if it ended later than
    those before.

Arguments:

    Rtl - Supplies the RTL.

    Worker - Supplies the worker.

    Thread - Supplies the thread.

Return Value:

    None.

--*/
{
    TRACE_THREAD_INFORMATION Basic;
    TRACE_THREAD_TIMES Times;

    Times.ExitTime.QuadPart = Worker->LastExitTime;
    (VOID)Rtl->NtQueryInformationThread(Thread,
                                        RTL_THREAD_TIMES,
                                        &Times,
                                        sizeof(Times),
                                        NULL);
    if (Times.ExitTime.QuadPart >= Worker->LastExitTime &&
        NT_SUCCESS(Rtl->NtQueryInformationThread(Thread,
                                                 RTL_THREAD_BASIC_INFORMATION,
                                                 &Basic,
                                                 sizeof(Basic),
                                                 NULL))) {

        Worker->LastExitTime = Times.ExitTime.QuadPart;
        Worker->LastExitStatus = Basic.ExitStatus;
    }
}

static
HANDLE
TraceWatchOpenCaller(
    _In_ PCRTL Rtl
    )
/*++

Routine Description:

    Makes a handle of the calling thread.

Arguments:

    Rtl - Supplies the RTL.

Return Value:

    The handle, or NULL.

--*/
{
    HANDLE Thread;

    if (Rtl->NtDuplicateObject == NULL ||
        !NT_SUCCESS(Rtl->NtDuplicateObject(TRACE_WATCH_PROCESS,
                                           TRACE_WATCH_THREAD,
                                           TRACE_WATCH_PROCESS,
                                           &Thread,
                                           THREAD_QUERY_INFORMATION |
                                           SYNCHRONIZE,
                                           0,
                                           0))) {
        return NULL;
    }

    RtlProtectHandle(Rtl, Thread, TRUE);
    return Thread;
}

static
VOID
TraceWatchReplaceLast(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker,
    _In_opt_ HANDLE Thread
    )
/*++

Routine Description:

    Keeps a thread as the one that said last that it ends.

Arguments:

    Rtl - Supplies the RTL.

    Worker - Supplies the worker.

    Thread - Supplies the thread, or NULL.

Return Value:

    None.

--*/
{
    HANDLE Previous;

    Previous = InterlockedExchangePointer(&Worker->LastThread, Thread);
    if (Previous != NULL) {
        RtlProtectHandle(Rtl, Previous, FALSE);
        RtlClose(Rtl, Previous);
    }
}

_Use_decl_annotations_
VOID
TraceWatchCaller(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Takes note of the thread that starts the worker: it may be gone when the
    worker looks for the first time.

Arguments:

    Session - Supplies the session, whose worker has not begun.

Return Value:

    None.

--*/
{
    TraceWatchReplaceLast(&Session->Rtl,
                          &Session->Worker,
                          TraceWatchOpenCaller(&Session->Rtl));
}

_Use_decl_annotations_
VOID
TraceWatchThreadEnds(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Takes note that the calling thread ends, in case that it is the last one.

Arguments:

    Session - Supplies the session.

Return Value:

    None.

--*/
{
    HANDLE Thread;

    if (Session->Worker.State != TRACE_WORKER_RUNNING) {
        return;
    }

    Thread = TraceWatchOpenCaller(&Session->Rtl);
    if (Thread != NULL) {
        TraceWatchReplaceLast(&Session->Rtl, &Session->Worker, Thread);
    }
}

_Use_decl_annotations_
VOID
TraceWatchMark(
    VOID
    )
/*++

Routine Description:

    Marks the calling thread as one of the library's, that no worker waits for.

Arguments:

    None.

Return Value:

    None.

--*/
{
    __writegsqword(TEB_ARBITRARY_USER_POINTER, TRACE_WATCH_MARK);
}

_Use_decl_annotations_
BOOLEAN
TraceWatchIsPossible(
    PCRTL Rtl
    )
/*++

Routine Description:

    Says whether the system has what it takes to see the last thread end.

Arguments:

    Rtl - Supplies the RTL.

Return Value:

    TRUE or FALSE.

--*/
{
    return Rtl->NtGetNextThread != NULL &&
           Rtl->NtWaitForMultipleObjects != NULL &&
           Rtl->NtReadVirtualMemory != NULL &&
           Rtl->RtlExitUserProcess != NULL;
}

_Use_decl_annotations_
VOID
TraceWatchBegin(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Called by the worker when it begins.

Arguments:

    Session - Supplies the session.

Return Value:

    None.

--*/
{
    TraceWatchMark();
    Session->Worker.IsWatching = TraceWatchIsPossible(&Session->Rtl);
}

_Use_decl_annotations_
VOID
TraceWatchEnd(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Lets go of the threads that are watched.

Arguments:

    Session - Supplies the session, whose worker does not run any more.

Return Value:

    None.

--*/
{
    while (Session->Worker.NumberWatched != 0) {
        TraceWatchForget(&Session->Rtl,
                         &Session->Worker,
                         Session->Worker.NumberWatched - 1);
    }

    TraceWatchReplaceLast(&Session->Rtl, &Session->Worker, NULL);
}

_Use_decl_annotations_
NTSTATUS
TraceWatchWait(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Waits until the worker is woken, and looks at the control file now and then
    if there is one.  If the last thread of the program ends meanwhile, the
    process ends here.

Arguments:

    Session - Supplies the session.

Return Value:

    The status of the wait.

--*/
{
    HANDLE Handles[1 + TRACE_WATCHED_THREADS];
    ULONG Index;
    LARGE_INTEGER Interval;
    NTSTATUS Status;
    PCRTL Rtl;
    PTRACE_WORKER Worker;

    Rtl = &Session->Rtl;
    Worker = &Session->Worker;
    Interval.QuadPart = -TRACE_CONTROL_INTERVAL;

    while (Worker->IsWatching) {

        if (Worker->NumberWatched == 0) {

            Status = TraceWatchFindThreads(Session);
            if (Status == STATUS_NO_MORE_ENTRIES) {

                //
                // What the program does at its end is recorded like any other
                // thread's doing.
                //

                if (Worker->LastThread != NULL) {
                    (VOID)Rtl->NtWaitForSingleObject(Worker->LastThread,
                                                     FALSE,
                                                     NULL);
                    TraceWatchTakeExitStatus(Rtl, Worker, Worker->LastThread);
                }

                Worker->ThreadId = 0;
                Rtl->RtlExitUserProcess(Worker->LastExitStatus);
            }

            if (!NT_SUCCESS(Status)) {
                Worker->IsWatching = FALSE;
                break;
            }
        }

        Handles[0] = Worker->WakeEvent;
        RtlCopyBytes(Handles + 1,
                     Worker->Watched,
                     Worker->NumberWatched * sizeof(HANDLE));

        Status = Rtl->NtWaitForMultipleObjects(1 + Worker->NumberWatched,
                                               Handles,
                                               RTL_WAIT_ANY,
                                               FALSE,
                                               Session->Control != NULL ?
                                               &Interval : NULL);
        if (Status == STATUS_TIMEOUT) {
            TraceControlWatch(Session);
            continue;
        }
        if (Status <= STATUS_WAIT_0 ||
            Status > STATUS_WAIT_0 + (NTSTATUS)Worker->NumberWatched) {

            return Status;
        }

        Index = (ULONG)(Status - STATUS_WAIT_0) - 1;
        TraceWatchTakeExitStatus(Rtl, Worker, Worker->Watched[Index]);
        TraceWatchForget(Rtl, Worker, Index);

        //
        // A thread of another module's library that had not begun was taken for
        // one of the program's.  It has its mark by now.
        //

        for (Index = Worker->NumberWatched;
             Index > 0 && Worker->NumberWatched <= TRACE_WATCH_FEW;
             Index -= 1) {

            if (TraceWatchIsLibrary(Session, Worker->Watched[Index - 1])) {
                TraceWatchForget(Rtl, Worker, Index - 1);
            }
        }
    }

    do {
        Status = Rtl->NtWaitForSingleObject(Worker->WakeEvent,
                                            FALSE,
                                            Session->Control != NULL ?
                                            &Interval : NULL);
        if (Status == STATUS_TIMEOUT) {
            TraceControlWatch(Session);
        }
    } while (Status == STATUS_TIMEOUT);

    return Status;
}
