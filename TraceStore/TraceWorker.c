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
    view after it, some 100 ms of its records each (TraceAdvance.c).

    Its priority is that of the program's threads: one that needs a piece which
    the worker is about to finish would otherwise wait for every other thread of
    the machine.  When all the processors are busy, the traced threads prepare
    themselves what the worker has no time for.

    How it begins and ends is in TraceThread.c.

--*/

#include "TraceAdvance.h"
#include "TraceCompact.h"
#include "TraceControl.h"
#include "TraceLock.h"
#include "TraceName.h"
#include "TraceThread.h"
#include "TraceView.h"
#include "TraceVolume.h"
#include "TraceWatch.h"
#include "TraceWorker.h"

//
// Maps the next view of a store. The work lock is held on entry and on return,
// but not while the file is extended and mapped: WorkerBusy keeps the owner
// from doing the same. All that this has is in the store at any moment, since
// a process that ends may kill the worker at any.
//
// Returns TRUE if something was done.
//

static
BOOLEAN
TraceWorkerMapNext(
    _Inout_ PTRACE_STORE Store
    )
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

    Status = TraceAdvancePlaceNext(Store, View);
    if (!NT_SUCCESS(Status)) {
        return FALSE;
    }

    FileSizeInBytes = Store->FileSizeInBytes;
    Store->WorkerBusy = TRACE_WORKER_MAPS;
    TraceLockRelease(Store);

    if (TraceVolumeHasRoom(Store, View)) {
        Status = TraceViewMap(&Session->Rtl,
                              Store->File,
                              FileSizeInBytes,
                              View,
                              &Reason);
    } else {
        Reason = TRACE_REASON_MINIMUM_FREE;
        Status = STATUS_DISK_FULL;
    }

    TraceLockAcquire(Store);
    if (NT_SUCCESS(Status)) {
        RtlCopyBytes(&Store->Next.Position,
                     &View->Position,
                     sizeof(*View) - FIELD_OFFSET(TRACE_VIEW, Position));
        RtlCompilerBarrier();
        Store->Next.Base = View->Base;
        RtlCompilerBarrier();
        View->Base = NULL;
        TraceAdvanceGrow(Store);
    } else {
        Store->NextStatus = Status;
        Store->NextReason = Reason;
    }
    Store->WorkerBusy = TRACE_WORKER_IDLE;

    return TRUE;
}

//
// Unmaps a view that the owner has left. The work lock is held on entry and on
// return, but not in between.
//

static
VOID
TraceWorkerUnmapRetired(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Index
    )
{
    PVOID Retired;

    Retired = Store->Retired[Index];
    Store->Leaving[TRACE_LEAVING_WORKER] = Retired;
    RtlCompilerBarrier();
    Store->Retired[Index] = NULL;
    Store->WorkerBusy = TRACE_WORKER_UNMAPS;
    TraceLockRelease(Store);

    TraceViewRetire(Store->Session, Retired);

    TraceLockAcquire(Store);
    Store->Leaving[TRACE_LEAVING_WORKER] = NULL;
    Store->WorkerBusy = TRACE_WORKER_IDLE;
}

//
// Prepares a piece of the next view of a store. The work lock is held on entry
// and on return, but not in between: the owner may move on to the view
// meanwhile, and use what had been prepared before.
//

static
VOID
TraceWorkerPrepareNext(
    _Inout_ PTRACE_STORE Store
    )
{
    NTSTATUS Status;
    TRACE_VIEW View;
    ULONG Busy;

    RtlCopyBytes(&View, &Store->Next, sizeof(View));
    Store->WorkerBusy = TRACE_WORKER_PREPARES_NEXT;
    TraceLockRelease(Store);

    Status = TraceViewPrepare(Store->Session,
                              Store->File,
                              &View,
                              TRACE_ZEROS_SIZE);

    TraceLockAcquire(Store);
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

//
// Does one unit of work for a store: the mapping of the next view, a piece of
// that, or a view to be unmapped or encoded, in this order. One that its owner
// has begun to fill before it was ready is the owner's to prepare: the worker
// goes on to the next one, and the owner waits for no worker that gets no
// processor.
//
// Returns TRUE if something was done, so that there may be more to do.
//

static
BOOLEAN
TraceWorkerServeStore(
    _Inout_ PTRACE_STORE Store
    )
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

    if (!TraceLockTryAcquire(Store)) {
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

    if (TRACE_IS_COMPACT(Store)) {
        if (!Store->Session->WorkerPrepares) {
            goto End;
        }
        TraceCompactOffer(Store);
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

    } else if (TRACE_IS_COMPACT(Store)) {

        Worked = TraceCompactServe(Store);

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

    TraceLockRelease(Store);
    return Worked;
}

_Use_decl_annotations_
ULONG
WINAPI
TraceWorkerMain(
    PVOID Parameter
    )
{
    PTRACE_SESSION Session;
    PTRACE_WORKER Worker;
    PTRACE_STORE_BLOCK Block;
    ULONG Index;
    NTSTATUS Status;
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
        TraceNameWatch(Session);
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
        for (;;) {
            Status = TraceWatchWait(Session);
            if (Status != STATUS_TIMEOUT) {
                break;
            }
            TraceControlWatch(Session);
            TraceNameWatch(Session);
        }
        if (!NT_SUCCESS(Status)) {
            TraceThreadSleep(&Session->Rtl);
        }
        InterlockedExchange(&Worker->Waiting, 0);
    }

Gone:

    TraceThreadGone(Session, Worker);
    return 0;
}
