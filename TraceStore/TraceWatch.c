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

#include "../Rtl/RtlTeb.h"
#include "TraceSession.h"
#include "TraceWatch.h"

//
// How one worker knows another: what is in the thread environment block's field
// that is free for a thread's own use.
//

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

//
// Says whether a thread that runs is one of a library's: the calling worker,
// its session's clock thread, which may not have begun and has no mark then,
// or one that has a mark.
//
// Returns FALSE if not, or if it is not known.
//

static
BOOLEAN
TraceWatchIsLibrary(
    _In_ PTRACE_SESSION Session,
    _In_ HANDLE Thread
    )
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

//
// Says whether a thread is one of the program's, and runs.
// Returns TRUE if so, or if it is not known.
//

static
BOOLEAN
TraceWatchIsProgram(
    _In_ PTRACE_SESSION Session,
    _In_ HANDLE Thread
    )
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

//
// Closes the handle of a thread that was looked at.
// Found: its place.
//

static
VOID
TraceWatchCloseFound(
    _In_ PCRTL Rtl,
    _Inout_ HANDLE volatile *Found
    )
{
    HANDLE Thread;

    Thread = *Found;
    *Found = NULL;
    RtlCompilerBarrier();
    RtlClose(Rtl, Thread);
}

//
// Finds threads of the program, the oldest first: the main thread, most often.
//
// Somebody may terminate the worker at any moment. So the system itself writes
// each handle to a place where TraceWatchEnd finds it, and a handle is
// forgotten before it is closed: what has got its value afterwards is somebody
// else's. A handle that is still open then is lost; that is an instruction or
// two. (Wine makes the handle in another process; a thread that is killed
// before it has the answer leaves one that nobody knows.)
//
// Session: the session, whose worker watches none; it receives them.
// STATUS_SUCCESS: there is one at least.
// STATUS_NO_MORE_ENTRIES: there is none.
// Or why that is not known.
//

static
NTSTATUS
TraceWatchFindThreads(
    _Inout_ PTRACE_SESSION Session
    )
{
    HANDLE Previous;
    HANDLE Thread;
    NTSTATUS Status;
    PCRTL Rtl;
    PTRACE_WORKER Worker;
    ULONG Turn;

    Rtl = &Session->Rtl;
    Worker = &Session->Worker;
    Previous = NULL;

    for (Turn = 0;; Turn ^= 1) {

        Status = Rtl->NtGetNextThread(TRACE_WATCH_PROCESS,
                                      Previous,
                                      THREAD_QUERY_INFORMATION | SYNCHRONIZE,
                                      0,
                                      0,
                                      (PHANDLE)&Worker->Found[Turn]);
        TraceWatchCloseFound(Rtl, &Worker->Found[Turn ^ 1]);
        if (!NT_SUCCESS(Status)) {
            Worker->Found[Turn] = NULL;
            break;
        }

        Thread = Worker->Found[Turn];
        if (TraceWatchIsProgram(Session, Thread)) {
            RtlProtectHandle(Rtl, Thread, TRUE);
            Worker->Watched[Worker->NumberWatched] = Thread;
            RtlCompilerBarrier();
            Worker->NumberWatched += 1;
            RtlCompilerBarrier();
            Worker->Found[Turn] = NULL;
            if (Worker->NumberWatched == TRACE_WATCHED_THREADS) {
                break;
            }
        }

        Previous = Thread;
    }

    return Worker->NumberWatched != 0 ? STATUS_SUCCESS : Status;
}

//
// Lets go of a thread.
// Index: which of those that it watches.
//

static
VOID
TraceWatchForget(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker,
    _In_ ULONG Index
    )
{
    HANDLE Thread;

    //
    // It is forgotten before it is closed, and at no moment is a handle there
    // twice: TraceWatchFindThreads says why.
    //

    Thread = Worker->Watched[Index];
    Worker->NumberWatched -= 1;
    RtlCompilerBarrier();
    Worker->Watched[Index] = Worker->Watched[Worker->NumberWatched];
    Worker->Watched[Worker->NumberWatched] = NULL;
    RtlCompilerBarrier();
    RtlProtectHandle(Rtl, Thread, FALSE);
    RtlClose(Rtl, Thread);
}

//
// Keeps the exit status of a thread that has ended, if it ended later than
// those before.
//

static
VOID
TraceWatchTakeExitStatus(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker,
    _In_ HANDLE Thread
    )
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

//
// Makes a handle of the calling thread.
// Returns the handle, or NULL.
//

static
HANDLE
TraceWatchOpenCaller(
    _In_ PCRTL Rtl
    )
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

//
// Keeps a thread as the one that said last that it ends.
// Thread: the thread, or NULL.
//

static
VOID
TraceWatchReplaceLast(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_WORKER Worker,
    _In_opt_ HANDLE Thread
    )
{
    HANDLE Previous;

    Previous = InterlockedExchangePointer(&Worker->LastThread, Thread);
    if (Previous != NULL) {
        RtlProtectHandle(Rtl, Previous, FALSE);
        RtlClose(Rtl, Previous);
    }
}

//
// Takes note of the thread that starts the worker: it may be gone when the
// worker looks for the first time.
// Session: the session, whose worker has not begun.
//

_Use_decl_annotations_
VOID
TraceWatchCaller(
    PTRACE_SESSION Session
    )
{
    TraceWatchReplaceLast(&Session->Rtl,
                          &Session->Worker,
                          TraceWatchOpenCaller(&Session->Rtl));
}

//
// Takes note that the calling thread ends, in case that it is the last one.
//

_Use_decl_annotations_
VOID
TraceWatchThreadEnds(
    PTRACE_SESSION Session
    )
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

//
// Marks the calling thread as one of the library's, that no worker waits for.
//

_Use_decl_annotations_
VOID
TraceWatchMark(
    VOID
    )
{
    __writegsqword(TEB_ARBITRARY_USER_POINTER, TRACE_WATCH_MARK);
}

//
// Says whether the system has what it takes to see the last thread end.
// Returns TRUE or FALSE.
//

_Use_decl_annotations_
BOOLEAN
TraceWatchIsPossible(
    PCRTL Rtl
    )
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
{
    TraceWatchMark();
    Session->Worker.IsWatching = TraceWatchIsPossible(&Session->Rtl);
}

_Use_decl_annotations_
VOID
TraceWatchEnd(
    PTRACE_SESSION Session
    )
{
    ULONG Index;
    ULONG Turn;
    PTRACE_WORKER Worker;

    Worker = &Session->Worker;

    //
    // What it was about to watch, or to close, is there once more at most.
    //

    for (Turn = 0; Turn < RTL_NUMBER_OF(Worker->Found); Turn += 1) {
        for (Index = 0; Index < Worker->NumberWatched; Index += 1) {
            if (Worker->Watched[Index] == Worker->Found[Turn]) {
                Worker->Found[Turn] = NULL;
            }
        }
        if (Worker->Found[Turn] != NULL) {
            RtlProtectHandle(&Session->Rtl, Worker->Found[Turn], FALSE);
            TraceWatchCloseFound(&Session->Rtl, &Worker->Found[Turn]);
        }
    }

    while (Worker->NumberWatched != 0) {
        TraceWatchForget(&Session->Rtl, Worker, Worker->NumberWatched - 1);
    }

    TraceWatchReplaceLast(&Session->Rtl, &Session->Worker, NULL);
}

_Use_decl_annotations_
NTSTATUS
TraceWatchWait(
    PTRACE_SESSION Session
    )
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

    return Rtl->NtWaitForSingleObject(Worker->WakeEvent,
                                      FALSE,
                                      Session->Control != NULL ?
                                      &Interval : NULL);
}
