/*++

Module Name:

    TraceLock.c

Abstract:

    A store's work lock, which its owner and the worker hold while they change
    the fields marked (W), and waiting for the worker.  Whoever waits gives up
    the processor, and notices when there is nobody to wait for.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceLock.h"
#include "TraceSession.h"

_Use_decl_annotations_
VOID
TraceLockYield(
    PTRACE_SESSION Session,
    ULONG Count
    )
{
    PCRTL Rtl;
    LARGE_INTEGER Interval;

    Rtl = &Session->Rtl;
    if (Rtl->RtlDllShutdownInProgress != NULL &&
        Rtl->RtlDllShutdownInProgress()) {

        Session->IsAlone = TRUE;
        return;
    }

    if (Count < TRACE_PATIENCE || Session->Worker.Thread == NULL) {
        Rtl->NtYieldExecution();
        return;
    }

    Interval.QuadPart = 0;
    if (Rtl->NtWaitForSingleObject(Session->Worker.Thread,
                                   FALSE,
                                   &Interval) == STATUS_SUCCESS) {

        Session->Worker.State = TRACE_WORKER_REFUSED;
        Session->WorkerIsGone = TRUE;
        return;
    }

    Rtl->NtResumeThread(Session->Worker.Thread, NULL);
    Interval.QuadPart = -10000;             // 1 ms
    Rtl->NtDelayExecution(FALSE, &Interval);
}

_Use_decl_annotations_
VOID
TraceLockAcquire(
    PTRACE_STORE Store
    )
{
    ULONG Spins;
    LARGE_INTEGER Interval;

    Spins = 0;
    while (!TraceLockTryAcquire(Store)) {
        Spins += 1;
        if (Spins < 64) {
            YieldProcessor();
        } else if (Store->Session->Worker.ThreadId !=
                   __readgsdword(TEB_THREAD_ID)) {

            TraceLockYield(Store->Session, Spins);
        } else if (Store->Session->Worker.Stop) {
            break;
        } else if (Spins < TRACE_PATIENCE) {
            Store->Session->Rtl.NtYieldExecution();
        } else {
            Interval.QuadPart = -10000;     // 1 ms
            Store->Session->Rtl.NtDelayExecution(FALSE, &Interval);
        }
    }
}

_Use_decl_annotations_
BOOLEAN
TraceLockTryAcquire(
    PTRACE_STORE Store
    )
{
    if (Store->Session->IsAlone || Store->Session->WorkerIsGone) {
        Store->WorkLock = 1;
        return TRUE;
    }

    return InterlockedCompareExchange(&Store->WorkLock, 1, 0) == 0;
}

_Use_decl_annotations_
VOID
TraceLockRelease(
    PTRACE_STORE Store
    )
{
    InterlockedExchange(&Store->WorkLock, 0);
}

_Use_decl_annotations_
VOID
TraceLockWaitForWorker(
    PTRACE_STORE Store,
    ULONG What
    )
{
    PTRACE_SESSION Session;
    ULONG Count;

    Session = Store->Session;
    for (Count = 0;
         (Store->WorkerBusy & What) != 0 &&
         !Session->IsAlone && !Session->WorkerIsGone;
         Count += 1) {

        TraceLockRelease(Store);
        TraceLockYield(Session, Count);
        TraceLockAcquire(Store);
    }
}
