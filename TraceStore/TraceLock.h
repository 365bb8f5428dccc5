/*++

Module Name:

    TraceLock.h

Abstract:

    A store's work lock, and waiting for the worker.

--*/

#ifndef TRACER_TRACE_LOCK_H
#define TRACER_TRACE_LOCK_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// How often TraceLockYield is called before it asks after the worker: some
// tens of milliseconds. A worker that is merely behind is never that late, and
// asking after it takes longer than its chunk of pages.
//

#define TRACE_PATIENCE 100000

//
// Gives up the processor, and notices when there is nobody to wait for.
//
// ExitProcess ends all other threads before any module is told, so code of
// another module may still come through here on the thread that is left. And a
// program may have terminated or suspended every thread but its own, the
// worker among them: one that is dead is done without, one that may be
// suspended is resumed, since it holds what a thread of the program waits for.
//
// Count: how often the caller has waited already.
//

VOID
TraceLockYield(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Count
    );

typedef VOID (TRACE_STORE_LOCK)(_Inout_ PTRACE_STORE Store);

//
// Acquires a store's work lock. It is held for one unit of work (a chunk of
// pages, a few fields), by the owner or by the worker; neither holds it while
// it waits for anything else. A worker that is told to stop waits for nobody:
// the owner that holds the lock may have been terminated.
//

TRACE_STORE_LOCK TraceLockAcquire;
TRACE_STORE_LOCK TraceLockRelease;

//
// Acquires a store's work lock if it is free: TRUE. Where there is nobody left
// to share it with, a thread that was killed may have left it taken: then it
// is simply taken over.
//

BOOLEAN
TraceLockTryAcquire(
    _Inout_ PTRACE_STORE Store
    );

//
// Waits while the worker does one of What (TRACE_WORKER_*) for the store,
// outside the lock.  The lock is held on entry and on return.
//

VOID
TraceLockWaitForWorker(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG What
    );

#endif // TRACER_TRACE_LOCK_H
