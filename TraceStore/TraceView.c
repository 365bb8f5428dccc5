/*++

Module Name:

    TraceView.c

Abstract:

    The views of a thread's store: extending the file, mapping it, making its
    pages present, and moving the hook's cursor from a full view to the next.

    The hook's limit never covers a page that has not been touched here, under
    __try: a disk that is full is met in this file and nowhere else.

--*/

#include "TraceStore.h"
#include "../Asm/Asm.h"

//
// How much the traced thread prepares at once when nobody did it for it, once
// it has left its first view (there it is TRACE_PREPARE_FIRST).
//

#define TRACE_PREPARE_INLINE    0x20000         // 128 KiB

//
// A view of this size or more is mapped at an address that agrees with its
// file offset modulo this: Linux file systems then map large pages, a tenth of
// the cost of 4 KiB ones.  Windows has no such rule and loses nothing by it.
//

#define TRACE_LARGE_PAGE_SIZE   0x200000        // 2 MiB

#define TEB_THREAD_ID           0x48

_Use_decl_annotations_
VOID
TraceStoreAcquireWorkLock(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Acquires a store's work lock.  It is held for one unit of work (a chunk of
    pages, a few fields), by the owner or by the worker; neither holds it while
    it waits for anything else.  A worker that is told to stop waits for nobody:
    the owner that holds the lock may have been terminated.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    ULONG Spins;
    LARGE_INTEGER Interval;

    Spins = 0;
    while (!TraceStoreTryAcquireWorkLock(Store)) {
        Spins += 1;
        if (Spins < 64) {
            YieldProcessor();
        } else if (Store->Session->Worker.ThreadId !=
                   __readgsdword(TEB_THREAD_ID)) {

            TraceSessionYield(Store->Session, Spins);
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
TraceStoreTryAcquireWorkLock(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Acquires a store's work lock if it is free.  Where there is nobody left to
    share it with, a thread that was killed may have left it taken: then it is
    simply taken over.

Arguments:

    Store - Supplies the store.

Return Value:

    TRUE if the lock was acquired.

--*/
{
    if (Store->Session->IsAlone || Store->Session->WorkerIsGone) {
        Store->WorkLock = 1;
        return TRUE;
    }

    return InterlockedCompareExchange(&Store->WorkLock, 1, 0) == 0;
}

_Use_decl_annotations_
VOID
TraceStoreReleaseWorkLock(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Releases a store's work lock.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    InterlockedExchange(&Store->WorkLock, 0);
}

_Use_decl_annotations_
VOID
TraceStoreWaitForWorker(
    PTRACE_STORE Store,
    ULONG What
    )
/*++

Routine Description:

    Waits while the worker does something for a store outside the lock.

Arguments:

    Store - Supplies the store.

    What - Supplies which of the TRACE_WORKER_* are waited for.

Return Value:

    None.

--*/
{
    PTRACE_SESSION Session;
    ULONG Count;

    Session = Store->Session;
    for (Count = 0;
         (Store->WorkerBusy & What) != 0 &&
         !Session->IsAlone && !Session->WorkerIsGone;
         Count += 1) {

        TraceStoreReleaseWorkLock(Store);
        TraceSessionYield(Session, Count);
        TraceStoreAcquireWorkLock(Store);
    }
}

_Use_decl_annotations_
ULONGLONG
TraceViewNextSize(
    ULONGLONG FileSizeInBytes,
    ULONGLONG MaximumViewSize
    )
/*++

Routine Description:

    Computes the size of the view that follows: what the file has already, so
    that sizes double, up to the maximum.

Arguments:

    FileSizeInBytes - Supplies the size of the file, the end of the last view.

    MaximumViewSize - Supplies the largest size that a view may have.

Return Value:

    The size in bytes, a power of two.

--*/
{
    if (FileSizeInBytes < MaximumViewSize) {
        return FileSizeInBytes;
    }

    return MaximumViewSize;
}

static
NTSTATUS
TraceViewMapAligned(
    _In_ PCRTL Rtl,
    _In_ HANDLE Section,
    _In_ ULONGLONG FileOffset,
    _In_ ULONGLONG SizeInBytes,
    _Outptr_ PVOID *Base
    )
/*++

Routine Description:

    Maps a large view at an address that agrees with the file offset modulo
    2 MiB.  The place is found by reserving more than is needed and giving it
    back; another thread may take it in between, so this is tried a few times.

Arguments:

    Rtl - Supplies the RTL.

    Section - Supplies the section.

    FileOffset - Supplies the offset of the view in the file, a multiple of
        64 KiB.

    SizeInBytes - Supplies the size of the view.

    Base - Receives the address.

Return Value:

    STATUS_SUCCESS or the status of the last try.

--*/
{
    NTSTATUS Status;
    ULONG Try;
    PVOID Reserved;
    SIZE_T Size;
    ULONG_PTR Address;

    Status = STATUS_CONFLICTING_ADDRESSES;

    for (Try = 0; Try < 4; Try += 1) {
        Reserved = NULL;
        Size = (SIZE_T)SizeInBytes + TRACE_LARGE_PAGE_SIZE;
        Status = Rtl->NtAllocateVirtualMemory((HANDLE)-1,
                                              &Reserved,
                                              0,
                                              &Size,
                                              MEM_RESERVE,
                                              PAGE_NOACCESS);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Address = (ULONG_PTR)Reserved + TRACE_LARGE_PAGE_SIZE - 1;
        Address &= ~(ULONG_PTR)(TRACE_LARGE_PAGE_SIZE - 1);
        Address += (ULONG_PTR)(FileOffset & (TRACE_LARGE_PAGE_SIZE - 1));

        Size = 0;
        Status = Rtl->NtFreeVirtualMemory((HANDLE)-1,
                                          &Reserved,
                                          &Size,
                                          MEM_RELEASE);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Status = RtlMapFileSection(Rtl,
                                   Section,
                                   FileOffset,
                                   (SIZE_T)SizeInBytes,
                                   TRUE,
                                   (PVOID)Address,
                                   Base);
        if (NT_SUCCESS(Status)) {
            break;
        }
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
TraceViewMap(
    PCRTL Rtl,
    HANDLE File,
    ULONGLONG FileOffset,
    ULONGLONG SizeInBytes,
    PTRACE_VIEW View,
    PULONG Reason
    )
/*++

Routine Description:

    Extends a store's file to the end of a view and maps the view.  None of its
    pages is touched yet.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file.

    FileOffset - Supplies where the view starts, a multiple of 64 KiB.

    SizeInBytes - Supplies the size of the view.

    View - Receives the view on success and is left alone on failure.

    Reason - Receives TRACE_REASON_EXTEND_FAILED or TRACE_REASON_MAP_FAILED
        when this fails.

Return Value:

    STATUS_SUCCESS, or the status of the call that failed: STATUS_DISK_FULL
    among others.

--*/
{
    NTSTATUS Status;
    HANDLE Section;
    PVOID Base;

    *Reason = TRACE_REASON_EXTEND_FAILED;
    Status = RtlSetFileSize(Rtl, File, FileOffset + SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Reason = TRACE_REASON_MAP_FAILED;
    Status = RtlCreateFileSection(Rtl,
                                  File,
                                  FileOffset + SizeInBytes,
                                  TRUE,
                                  &Section);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // The view keeps what it needs of the section; the handle is not needed
    // beyond this routine.
    //

    Base = NULL;
    Status = STATUS_UNSUCCESSFUL;
    if (SizeInBytes >= TRACE_LARGE_PAGE_SIZE) {
        Status = TraceViewMapAligned(Rtl,
                                     Section,
                                     FileOffset,
                                     SizeInBytes,
                                     &Base);
    }
    if (!NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(Rtl,
                                   Section,
                                   FileOffset,
                                   (SIZE_T)SizeInBytes,
                                   TRUE,
                                   NULL,
                                   &Base);
    }

    RtlClose(Rtl, Section);

    if (NT_SUCCESS(Status)) {
        View->Base = (PBYTE)Base;
        View->FileOffset = FileOffset;
        View->SizeInBytes = SizeInBytes;
        View->PreparedInBytes = 0;
        *Reason = TRACE_REASON_NONE;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
TraceViewPrepare(
    PTRACE_VIEW View,
    ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Makes the next pages of a view present and writable.

Arguments:

    View - Supplies the view; PreparedInBytes is advanced.

    SizeInBytes - Supplies how much to prepare, a multiple of 4,096; less is
        done where the view ends.

Return Value:

    STATUS_SUCCESS, or the exception that the page raised: STATUS_IN_PAGE_ERROR
    where the disk is full or fails, STATUS_ACCESS_VIOLATION under Wine.

--*/
{
    NTSTATUS Status;
    BOOLEAN Touched;

    if (SizeInBytes > View->SizeInBytes - View->PreparedInBytes) {
        SizeInBytes = View->SizeInBytes - View->PreparedInBytes;
    }

    Status = STATUS_SUCCESS;
    Touched = TRUE;

    //
    // The code is taken in the filter: Wine 8 hands 0 to the handler.
    //

    __try {
        AsmTouchPages(View->Base + View->PreparedInBytes, (SIZE_T)SizeInBytes);
    } __except (Status = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Touched = FALSE;
    }

    if (Touched) {
        View->PreparedInBytes += SizeInBytes;
    }

    return Status;
}

static
VOID
TraceStoreRepairCursor(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Finds the end of the records again when something in the process has
    written over the cursor: the first record of the current view that has no
    time stamp.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
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
                      View->FileOffset - (ULONG_PTR)View->Base);
    RtlStoreRelease64(&Store->Header->Cursor, (ULONG_PTR)View->Base + Offset);
}

static
VOID
TraceStoreSwitchView(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Moves the hook from the current view, which is full, to the next one.

    This is the one place where the live line changes as a whole.  While
    Generation is odd no record can be appended and ViewFileOffset is the end
    of them all; a thread that is killed in between leaves just that behind.

Arguments:

    Store - Supplies the store.  The work lock is held, Next is mapped.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    TRACE_VIEW Old;
    ULONG Index;

    Header = Store->Header;
    Old = Store->Current;
    Store->Current = Store->Next;
    Store->Next.Base = NULL;

    RtlStoreRelease64(&Header->ViewFileOffset, Store->Current.FileOffset);
    RtlStoreRelease32(&Header->Generation, Header->Generation + 1);
    RtlStoreRelease64(&Header->Limit, (ULONG_PTR)Store->Current.Base);
    RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)Store->Current.Base);
    RtlStoreRelease64(&Header->CursorToFileOffset,
                      Store->Current.FileOffset -
                      (ULONG_PTR)Store->Current.Base);
    RtlStoreRelease32(&Header->Generation, Header->Generation + 1);

    Header->NumberOfViewChanges += 1;

    //
    // The first view holds the header and stays.  Any other is left to the
    // worker to unmap, which takes milliseconds when its pages are dirty; if
    // there is no worker, or it is that far behind, it is done here.
    //

    if (Old.FileOffset == 0) {
        return;
    }

    if (Store->Session->Worker.State == TRACE_WORKER_RUNNING) {
        for (Index = 0; Index < TRACE_RETIRED_VIEWS; Index += 1) {
            if (Store->Retired[Index] == NULL) {
                Store->Retired[Index] = Old.Base;
                return;
            }
        }
    }

    RtlUnmapFileSection(&Store->Session->Rtl, Old.Base);
}

static
NTSTATUS
TraceStoreProvideNext(
    _Inout_ PTRACE_STORE Store,
    _Out_ PULONG Reason
    )
/*++

Routine Description:

    Makes sure that a store has a next view: the worker's, if it has mapped one
    or is about to, else one that is mapped here.

Arguments:

    Store - Supplies the store.  The work lock is held; it is released and
        acquired again while the worker maps.

    Reason - Receives the TRACE_REASON_* of a failure.

Return Value:

    STATUS_SUCCESS, or why there is no next view.

--*/
{
    NTSTATUS Status;
    PTRACE_SESSION Session;

    Session = Store->Session;

    TraceStoreWaitForWorker(Store, TRACE_WORKER_MAPS);

    *Reason = TRACE_REASON_NONE;

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

    Store->Header->NumberOfViewsMappedInline += 1;
    Status = TraceViewMap(&Session->Rtl,
                          Store->File,
                          Store->FileSizeInBytes,
                          TraceViewNextSize(Store->FileSizeInBytes,
                                            Session->MaximumViewSize),
                          &Store->Next,
                          Reason);
    if (NT_SUCCESS(Status)) {
        Store->FileSizeInBytes += Store->Next.SizeInBytes;
    }

    return Status;
}

_Use_decl_annotations_
VOID
TraceStoreAdvance(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Gives the hook room: raises its limit to what has been prepared, prepares
    a few pages if nothing has, or moves on to the next view.

Arguments:

    Store - Supplies the store of the calling thread.

Return Value:

    None.  The store is stopped if there is no room to be had.

--*/
{
    NTSTATUS Status;
    ULONG Reason;
    PTRACE_STORE_HEADER Header;
    PTRACE_VIEW View;
    ULONGLONG Cursor;
    ULONGLONG Used;
    ULONGLONG Chunk;
    ULONGLONG Ticks;
    RTL_CLOCK_READING Reading;
    BOOLEAN Switched;
    BOOLEAN IsWorkLeft;

    Ticks = __rdtsc();
    Header = Store->Header;
    View = &Store->Current;
    Switched = FALSE;

    TraceStoreAcquireWorkLock(Store);

    Cursor = Header->Cursor;
    Used = Cursor - (ULONG_PTR)View->Base;
    if (Used > View->SizeInBytes) {
        TraceStoreRepairCursor(Store);
        TraceStoreReleaseWorkLock(Store);
        TraceStoreStop(Store, TRACE_REASON_INVARIANT, STATUS_INTERNAL_ERROR);
        return;
    }

    if (Used == View->SizeInBytes) {
        Status = TraceStoreProvideNext(Store, &Reason);
        if (!NT_SUCCESS(Status)) {
            TraceStoreReleaseWorkLock(Store);
            TraceStoreStop(Store, Reason, Status);
            return;
        }
        TraceStoreSwitchView(Store);
        Store->WantNext = TRUE;
        Switched = TRUE;
        Used = 0;
    }

    if (View->PreparedInBytes <= Used) {
        Header->NumberOfInlinePreparations += 1;
        Chunk = TRACE_PREPARE_INLINE;
        if (View->FileOffset == 0) {
            Chunk = TRACE_PREPARE_FIRST;
        }
        Status = TraceViewPrepare(View, Chunk);
        if (!NT_SUCCESS(Status)) {
            TraceStoreReleaseWorkLock(Store);
            TraceStoreStop(Store, TRACE_REASON_PAGE_FAILED, Status);
            return;
        }
    }

    RtlStoreRelease64(&Header->Limit,
                      (ULONG_PTR)View->Base + View->PreparedInBytes);

    //
    // The worker leaves a store alone whose lock it finds taken, so it is asked
    // as long as there is something for it to do.  A thread that stays within
    // its first view never asks.
    //

    IsWorkLeft = View->FileOffset != 0 &&
                 (View->PreparedInBytes < View->SizeInBytes ||
                  Store->Next.PreparedInBytes < Store->Next.SizeInBytes ||
                  Store->Next.Base == NULL);

    TraceStoreReleaseWorkLock(Store);

    if (Switched) {
        RtlReadClocks(&Store->Session->Rtl, &Reading);
        TraceStoreSetAnchor(&Header->LastAnchor, &Reading);
    }
    if (IsWorkLeft) {
        TraceWorkerRequest(Store->Session);
    }

    Ticks = __rdtsc() - Ticks;
    Header->InlineTicks += Ticks;
    if (Header->MaximumInlineTicks < Ticks) {
        Header->MaximumInlineTicks = Ticks;
    }
}
