/*++

Module Name:

    TraceAdvance.c

Abstract:

    The hook gets room: its limit is raised as pages are prepared, and its
    cursor moves from a full view to the next.  Where the next view lies, and
    how large it is.

    The hook's limit never covers a page that TraceView.c has not touched.

--*/

#include "TraceAdvance.h"
#include "TraceClock.h"
#include "TraceCompact.h"
#include "TraceControl.h"
#include "TraceLock.h"
#include "TraceStop.h"
#include "TraceView.h"
#include "TraceVolume.h"

//
// How much the traced thread prepares at once when nobody did it for it, once
// it has left its first view (there it is TRACE_PREPARE_FIRST).
//

#define TRACE_PREPARE_INLINE    0x40000         // 256 KiB

//
// The same where the worker prepares nothing, and the file's lock is always
// free: 5.6 ns a call become 5.2.
//

#define TRACE_PREPARE_ALONE     TRACE_ZEROS_SIZE

//
// For how long a view should last, as a part of a second: views of a thread
// that is slower than others are smaller.
//

#define TRACE_VIEW_NORMAL       10              // 100 ms

//
// The same while it is the disk, or the lack of memory, that decides how fast
// pages can be had: zeroes that are prepared early may then be written to the
// disk before there are records over them, and again with the records.  With
// 64 MiB of dirty pages allowed, 2 GiB of records take 2.0 s instead of 4.6;
// the disk alone takes 1.2.
//

#define TRACE_VIEW_SLOW         200             // 5 ms, or 2 MiB

//
// How that is seen: preparing takes more than so many nanoseconds a byte (0.16
// to 0.4 otherwise), or a single piece takes longer than so many microseconds
// (25 to 400 otherwise, and some milliseconds where another thread has the
// processor).  It is believed for as many views.
//

#define TRACE_PREPARE_SLOW      1
#define TRACE_PIECE_SLOW        10000
#define TRACE_SLOW_VIEWS        32

_Use_decl_annotations_
ULONGLONG
TraceAdvanceNextSize(
    ULONGLONG FileSizeInBytes,
    ULONGLONG MaximumViewSize,
    ULONGLONG DemandInBytes
    )
{
    ULONGLONG Size;

    Size = MaximumViewSize;
    while (Size > TRACE_VIEW_MINIMUM_SIZE &&
           (Size > FileSizeInBytes || Size > DemandInBytes)) {

        Size /= 2;
    }

    return Size;
}

_Use_decl_annotations_
BOOLEAN
TraceAdvanceIsSlow(
    PCTRACE_VIEW View,
    ULONGLONG Ticks,
    ULONGLONG Microseconds
    )
{
    ULONGLONG Taken;

    //
    // Ten seconds: no product below overflows, and a thread that needs as long
    // for a view needs no large one.
    //

    if (Ticks == 0 || Microseconds > 10000000) {
        return FALSE;
    }

    if (View->LongestTicks * Microseconds / Ticks > TRACE_PIECE_SLOW) {
        return TRUE;
    }

    Taken = View->PrepareTicks * Microseconds / Ticks;
    return Taken * 1000 > View->PreparedInBytes * TRACE_PREPARE_SLOW;
}

//
// Computes what a thread that has filled a view just now needs for as long as
// the next one is to last.
// Store: the store, whose header says when the view began.
// Now: the clocks.
// Returns the number of bytes.
//

static
ULONGLONG
TraceAdvanceDemand(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG SizeInBytes,
    _In_ const RTL_CLOCK_READING *Now
    )
{
    PCTRACE_CLOCK_ANCHOR Since;
    ULONGLONG Elapsed;
    ULONGLONG Demand;
    ULONGLONG Small;

    Since = &Store->Header->LastAnchor;
    if (Since->Qpc == 0) {
        Since = &Store->Header->OpenAnchor;
    }

    Elapsed = Now->Qpc - Since->Qpc;
    if (Elapsed == 0) {
        Elapsed = 1;
    }

    Demand = SizeInBytes * (Now->QpcFrequency / TRACE_VIEW_NORMAL) / Elapsed;

    if (Now->QpcFrequency != 0 &&
        TraceAdvanceIsSlow(&Store->Current,
                           Now->Tsc - Since->Tsc,
                           Elapsed * 1000000 / Now->QpcFrequency)) {

        Store->SlowViews = TRACE_SLOW_VIEWS;
    }

    if (Store->SlowViews != 0) {
        Store->SlowViews -= 1;
        Small = Demand / (TRACE_VIEW_SLOW / TRACE_VIEW_NORMAL);
        if (Small < TRACE_LARGE_PAGE_SIZE) {
            Small = TRACE_LARGE_PAGE_SIZE;
        }
        if (Demand > Small) {
            Demand = Small;
        }
    }

    return Demand;
}

_Use_decl_annotations_
NTSTATUS
TraceAdvancePlaceNext(
    PTRACE_STORE Store,
    PTRACE_VIEW View
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Size;
    ULONGLONG RingSize;
    ULONGLONG Offset;

    Session = Store->Session;
    Header = Store->Header;
    RingSize = Header->RingSizeInBytes;

    View->Position = Store->Current.Position + Store->Current.SizeInBytes;
    View->FileOffset = View->Position;

    if (RingSize == 0) {
        Size = TraceAdvanceNextSize(View->FileOffset,
                                    Session->MaximumViewSize,
                                    Store->DemandInBytes);
        if (Header->MaximumBytes != 0) {
            while (Size >= TRACE_VIEW_MINIMUM_SIZE &&
                   Size > Header->MaximumBytes - View->FileOffset) {

                Size /= 2;
            }
            if (Size < TRACE_VIEW_MINIMUM_SIZE) {
                return STATUS_QUOTA_EXCEEDED;
            }
        }
        View->SizeInBytes = Size;
        return STATUS_SUCCESS;
    }

    View->SizeInBytes = Session->SegmentSize;
    Offset = View->Position - Header->RingFileOffset;
    View->FileOffset = Header->RingFileOffset + Offset % RingSize;

    //
    // Readers are told first: they take what they have copied only if this has
    // not passed it.
    //

    if (Offset >= RingSize) {
        RtlStoreRelease64(&Header->FirstPosition,
                          View->Position - RingSize + View->SizeInBytes);
    }

    return STATUS_SUCCESS;
}

//
// Finds the end of the records again when something in the process has written
// over the cursor: the first record of the current view that has no time
// stamp.
//

static
VOID
TraceAdvanceRepairCursor(
    _Inout_ PTRACE_STORE Store
    )
{
    PTRACE_VIEW View;
    ULONGLONG Offset;
    PCTRACE_RECORD Record;

    View = &Store->Current;
    Offset = View->FileOffset == 0 ? TRACE_HEADER_SIZE : 0;

    while (Offset < View->PreparedInBytes) {
        Record = (PCTRACE_RECORD)(View->Base + Offset);
        if (Record->Timestamp == 0) {
            break;
        }
        Offset += TRACE_RECORD_SIZE;
    }

    RtlStoreRelease64(&Store->Header->CursorToFileOffset,
                      View->Position - (ULONG_PTR)View->Base);
    RtlStoreRelease64(&Store->Header->Cursor, (ULONG_PTR)View->Base + Offset);
}

//
// Moves the hook from the current view, which is full, to the next one.
//
// This is the one place where the live line changes as a whole. While
// Generation is odd no record can be appended and ViewFileOffset is the end of
// them all; a thread that is killed in between leaves just that behind.
//
// Store: the store. The work lock is held, Next is mapped.
//

static
VOID
TraceAdvanceSwitchView(
    _Inout_ PTRACE_STORE Store
    )
{
    PTRACE_STORE_HEADER Header;
    PVOID Old;
    ULONGLONG OldFileOffset;
    BOOLEAN IsRetired;
    ULONG Index;

    Header = Store->Header;
    Old = Store->Current.Base;
    OldFileOffset = Store->Current.FileOffset;
    IsRetired = OldFileOffset != 0 && !TRACE_IS_COMPACT(Store);
    if (IsRetired) {
        Store->Leaving[TRACE_LEAVING_OWNER] = Old;
        RtlCompilerBarrier();
    }
    RtlCopyBytes(&Store->Current, &Store->Next, sizeof(Store->Current));
    Store->Next.Base = NULL;
    Store->Floor = Store->Current.Base;
    if (Store->WorkerBusy == TRACE_WORKER_PREPARES_NEXT) {
        Store->WorkerBusy = TRACE_WORKER_PREPARES_CURRENT;
    }

    RtlStoreRelease64(&Header->ViewFileOffset, Store->Current.Position);
    RtlStoreRelease32(&Header->Generation, Header->Generation + 1);
    RtlStoreRelease64(&Header->Limit, (ULONG_PTR)Store->Current.Base);
    RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)Store->Current.Base);
    RtlStoreRelease64(&Header->CursorToFileOffset,
                      Store->Current.Position -
                      (ULONG_PTR)Store->Current.Base);
    RtlStoreRelease32(&Header->Generation, Header->Generation + 1);

    Header->NumberOfViewChanges += 1;

    //
    // The first view holds the header and stays, and those of a compact store
    // are used again.  Any other is left to the worker to unmap, which takes
    // milliseconds when its pages are dirty; if there is no worker, or it is
    // that far behind, it is done here.
    //

    if (!IsRetired) {
        return;
    }

    if (Store->Session->Worker.State == TRACE_WORKER_RUNNING &&
        Store->Session->WorkerPrepares) {

        for (Index = 0; Index < TRACE_RETIRED_VIEWS; Index += 1) {
            if (Store->Retired[Index] == NULL) {
                Store->Retired[Index] = Old;
                RtlCompilerBarrier();
                Store->Leaving[TRACE_LEAVING_OWNER] = NULL;
                return;
            }
        }
    }

    TraceViewRetire(Store->Session, Old);
    Store->Leaving[TRACE_LEAVING_OWNER] = NULL;
}

//
// Makes sure that a store has a next view: the worker's, if it has mapped one
// or is about to, else one that is mapped here.
// Store: the store. The work lock is held; it is released and acquired again
// while the worker maps.
// Reason: the TRACE_REASON_* of a failure.
// Waited: is set to TRUE unless the view was there.
// Returns STATUS_SUCCESS, or why there is no next view.
//

static
NTSTATUS
TraceAdvanceProvideNext(
    _Inout_ PTRACE_STORE Store,
    _Out_ PULONG Reason,
    _Inout_ PBOOLEAN Waited
    )
{
    NTSTATUS Status;
    PTRACE_SESSION Session;

    Session = Store->Session;
    *Reason = TRACE_REASON_NONE;

    if (Store->Next.Base != NULL) {
        return STATUS_SUCCESS;
    }

    *Waited = TRUE;
    TraceLockWaitForWorker(Store, TRACE_WORKER_MAPS);

    if (Store->Next.Base != NULL) {
        return STATUS_SUCCESS;
    }

    //
    // If the worker has failed already, trying again would fail alike, or
    // would hide a disk that is full now and then.
    //

    if (!NT_SUCCESS(Store->NextStatus)) {
        *Reason = Store->NextReason;
        return Store->NextStatus;
    }

    Status = TraceAdvancePlaceNext(Store, &Store->Next);
    if (!NT_SUCCESS(Status)) {
        *Reason = TRACE_REASON_MAXIMUM_BYTES;
        return Status;
    }

    if (!TraceVolumeHasRoom(Store, &Store->Next)) {
        *Reason = TRACE_REASON_MINIMUM_FREE;
        return STATUS_DISK_FULL;
    }

    Store->Header->NumberOfViewsMappedInline += 1;
    Status = TraceViewMap(&Session->Rtl,
                          Store->File,
                          Store->FileSizeInBytes,
                          &Store->Next,
                          Reason);
    if (NT_SUCCESS(Status)) {
        TraceAdvanceGrow(Store);
    }

    return Status;
}

_Use_decl_annotations_
VOID
TraceAdvanceGrow(
    PTRACE_STORE Store
    )
{
    ULONGLONG End;

    End = Store->Next.FileOffset + Store->Next.SizeInBytes;
    if (Store->FileSizeInBytes < End) {
        Store->FileSizeInBytes = End;
    }
}

_Use_decl_annotations_
VOID
TraceStoreAdvance(
    PTRACE_STORE Store
    )
{
    NTSTATUS Status;
    ULONG Reason;
    PTRACE_STORE_HEADER Header;
    PTRACE_VIEW View;
    ULONGLONG Cursor;
    ULONGLONG Used;
    ULONGLONG Filled;
    ULONGLONG Chunk;
    ULONGLONG Ticks;
    RTL_CLOCK_READING Reading;
    BOOLEAN IsDue;
    BOOLEAN IsWorkLeft;
    BOOLEAN Waited;

    Ticks = __rdtsc();
    Header = Store->Header;
    View = &Store->Current;
    Reason = TRACE_REASON_NONE;
    Status = STATUS_SUCCESS;
    IsWorkLeft = FALSE;
    Filled = 0;

    Waited = !TraceLockTryAcquire(Store);
    if (Waited) {
        TraceLockAcquire(Store);
    }

    Store->ArmedLimit = 0;
    Cursor = Header->Cursor;
    Used = Cursor - (ULONG_PTR)View->Base;
    if (Used > View->SizeInBytes) {
        TraceAdvanceRepairCursor(Store);
        Reason = TRACE_REASON_INVARIANT;
        Status = STATUS_INTERNAL_ERROR;
        goto End;
    }

    if (Used == View->SizeInBytes) {
        if (TRACE_IS_COMPACT(Store)) {
            Status = TraceCompactProvideNext(Store, &Reason, &Waited);
        } else {
            Status = TraceAdvanceProvideNext(Store, &Reason, &Waited);
        }
        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        TraceAdvanceSwitchView(Store);
        IsDue = TRUE;
        if (TRACE_IS_COMPACT(Store)) {
            TraceCompactOffer(Store);
            IsDue = View->FileOffset == Header->RingFileOffset;
        }
        if (IsDue) {
            Store->NameDue = TRUE;
            Filled = Used;
        }
        Used = 0;
    }

    if (View->PreparedInBytes <= Used) {
        Waited = TRUE;
        TraceLockWaitForWorker(Store, TRACE_WORKER_PREPARES_CURRENT);
    }

    if (View->PreparedInBytes <= Used) {
        Header->NumberOfInlinePreparations += 1;
        Chunk = TRACE_PREPARE_INLINE;
        if (View->FileOffset == 0) {
            Chunk = TRACE_PREPARE_FIRST;
        } else if (!Store->Session->WorkerPrepares) {
            Chunk = TRACE_PREPARE_ALONE;
        }
        Status = TraceViewPrepare(Store->Session, Store->File, View, Chunk);
        if (!NT_SUCCESS(Status)) {
            Reason = TRACE_REASON_PAGE_FAILED;
            goto End;
        }
    }

    if (Store->IsArmed) {
        Store->ArmedLimit = (ULONG_PTR)View->Base + View->PreparedInBytes;
        RtlStoreRelease64(&Header->Limit, 0);
    } else {
        RtlStoreRelease64(&Header->Limit,
                          (ULONG_PTR)View->Base + View->PreparedInBytes);
    }

    //
    // The worker leaves a store alone whose lock it finds taken, so it is asked
    // as long as there is something for it to do.  A thread that stays within
    // its first view never asks.
    //

    IsWorkLeft = View->FileOffset != 0 &&
                 Store->Session->WorkerPrepares &&
                 (Store->Next.PreparedInBytes < Store->Next.SizeInBytes ||
                  Store->Next.Base == NULL ||
                  (TRACE_IS_COMPACT(Store) && TraceCompactIsDue(Store)));

End:

    TraceLockRelease(Store);

    if (!NT_SUCCESS(Status)) {
        TraceStoreStop(Store,
                       Reason,
                       Reason == TRACE_REASON_MAXIMUM_BYTES ?
                       STATUS_SUCCESS : Status);
    }

    //
    // Not under the lock: what the clocks are read with may be the program's.
    //

    if (Filled != 0) {
        RtlReadClocks(&Store->Session->Rtl, &Reading);
        Store->DemandInBytes = TraceAdvanceDemand(Store, Filled, &Reading);
        TraceStopSetAnchor(&Header->LastAnchor, &Reading);
        TraceClockDescribe(Store->Session, Header);
        RtlStoreRelease32(&Store->WantNext,
                          Store->Session->WorkerPrepares &&
                          !TRACE_IS_COMPACT(Store));
    }
    if (IsWorkLeft) {
        TraceControlRequestWorker(Store->Session);
    }

    Ticks = __rdtsc() - Ticks;
    Header->InlineTicks += Ticks;
    if (Header->MaximumInlineTicks < Ticks) {
        Header->MaximumInlineTicks = Ticks;
    }
    if (Waited) {
        Header->NumberOfWaits += 1;
        Header->WaitTicks += Ticks;
    }
}
