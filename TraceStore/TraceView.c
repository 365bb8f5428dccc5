/*++

Module Name:

    TraceView.c

Abstract:

    The views of a thread's store: extending the file, mapping it, making its
    pages present, and moving the hook's cursor from a full view to the next.

    The hook's limit never covers a page that has not been touched here, under
    __try: a disk that is full is met in this file and nowhere else.

    How a page is prepared.  A page of a file that nobody has written yet costs
    the kernel most at its first touch in a view: 7 to 27 ns for each 32 bytes
    on Linux, the less the larger the view, with stalls of up to 29 ms.  If the
    zeroes are written to the file first, with NtWriteFile, in large pieces, the
    file system makes large pages at once, and writing and touching together
    cost 5.0 ns in pieces of 2 MiB, 5.2 in 512 KiB, 5.6 in 256 KiB, 8 in 64 KiB
    and 14 in 16 KiB, with no touch above 50 us.

--*/

#include "TraceStore.h"
#include "../Asm/Asm.h"

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
// Less than this is only touched.
//

#define TRACE_PREPARE_WRITE     0x10000         // 64 KiB

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

//
// A view of this size or more is mapped at an address that agrees with its
// file offset modulo this: Linux file systems then map large pages, a tenth of
// the cost of 4 KiB ones.  Windows has no such rule and loses nothing by it.
//

#define TRACE_LARGE_PAGE_SIZE   0x200000        // 2 MiB

//
// Room for a file's name and the structure before it.
//

#define TRACE_NAME_SIZE         0x10000         // 64 KiB

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
    ULONGLONG MaximumViewSize,
    ULONGLONG DemandInBytes
    )
/*++

Routine Description:

    Computes the size of the view that follows: what the file has already, so
    that sizes double at most, but no more than the thread is likely to need in
    a while, nor than the maximum.

Arguments:

    FileSizeInBytes - Supplies the size of the file, the end of the last view.

    MaximumViewSize - Supplies the largest size that a view may have.

    DemandInBytes - Supplies what the thread needs for as long as a view is to
        last.

Return Value:

    The size in bytes, a power of two, TRACE_VIEW_MINIMUM_SIZE or more.

--*/
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
TraceViewIsSlow(
    PCTRACE_VIEW View,
    ULONGLONG Ticks,
    ULONGLONG Microseconds
    )
/*++

Routine Description:

    Says whether preparing a view has taken longer than it does when there is
    memory for its pages.

Arguments:

    View - Supplies the view.

    Ticks - Supplies a time in ticks of the time stamp counter.

    Microseconds - Supplies the same time.

Return Value:

    TRUE or FALSE.

--*/
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

static
ULONGLONG
TraceViewDemand(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG SizeInBytes,
    _In_ const RTL_CLOCK_READING *Now
    )
/*++

Routine Description:

    Computes what a thread that has filled a view just now needs for as long as
    the next one is to last.

Arguments:

    Store - Supplies the store, whose header says when the view began.

    SizeInBytes - Supplies the size of that view.

    Now - Supplies the clocks.

Return Value:

    The number of bytes.

--*/
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
        TraceViewIsSlow(&Store->Current,
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
TraceStorePlaceNext(
    PTRACE_STORE Store,
    PTRACE_VIEW View
    )
/*++

Routine Description:

    Decides where the view that follows lies, and how large it is.  In a ring
    this is where what it overwrites is given up.

Arguments:

    Store - Supplies the store.  The work lock is held.

    View - Receives Position, FileOffset and SizeInBytes.

Return Value:

    STATUS_SUCCESS, or STATUS_QUOTA_EXCEEDED if the store has all the bytes that
    it may have.

--*/
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
        Size = TraceViewNextSize(View->FileOffset,
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

static
NTSTATUS
TraceViewCreateSection(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _Inout_ PTRACE_VIEW View
    )
/*++

Routine Description:

    Creates the section that a view is mapped from.  The system itself writes
    the handle to its place: Windows does so before the call can end in any way.
    Wine makes the handle in another process; a thread that is killed before it
    has the answer leaves one that nobody knows, and the file keeps its tail.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file.

    View - Supplies the view; Section is set on success.

Return Value:

    STATUS_SUCCESS or NtCreateSection's status.

--*/
{
    NTSTATUS Status;
    LARGE_INTEGER MaximumSize;

    MaximumSize.QuadPart = (LONGLONG)(View->FileOffset + View->SizeInBytes);
    Status = Rtl->NtCreateSection(&View->Section,
                                  SECTION_QUERY | SECTION_MAP_READ |
                                  SECTION_MAP_WRITE,
                                  NULL,
                                  &MaximumSize,
                                  PAGE_READWRITE,
                                  SEC_COMMIT,
                                  File);
    if (!NT_SUCCESS(Status)) {
        View->Section = NULL;
    }

    return Status;
}

static
NTSTATUS
TraceViewMapAt(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_VIEW View,
    _In_opt_ PVOID Address
    )
/*++

Routine Description:

    Maps a view.  As with the section, the system itself writes the address to
    its place.

Arguments:

    Rtl - Supplies the RTL.

    View - Supplies the view and its section; Base is set on success, and to
        Address, where there may be no view of ours yet, meanwhile.

    Address - Optionally supplies the address.

Return Value:

    STATUS_SUCCESS.

    STATUS_CONFLICTING_ADDRESSES - There is no room at Address.

    Or another status of NtMapViewOfSection.

--*/
{
    NTSTATUS Status;
    LARGE_INTEGER Offset;
    SIZE_T Size;

    Offset.QuadPart = (LONGLONG)View->FileOffset;
    Size = (SIZE_T)View->SizeInBytes;
    View->Base = (PBYTE)Address;

    Status = Rtl->NtMapViewOfSection(View->Section,
                                     (HANDLE)-1,
                                     (PVOID *)&View->Base,
                                     0,
                                     0,
                                     &Offset,
                                     &Size,
                                     RTL_VIEW_UNMAP,
                                     0,
                                     PAGE_READWRITE);
    if (NT_SUCCESS(Status) && Address != NULL && View->Base != Address) {
        RtlUnmapFileSection(Rtl, View->Base);
        Status = STATUS_CONFLICTING_ADDRESSES;
    }
    if (!NT_SUCCESS(Status)) {
        View->Base = NULL;
    }

    return Status;
}

static
NTSTATUS
TraceViewMapAligned(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_VIEW View
    )
/*++

Routine Description:

    Maps a large view at an address that agrees with the file offset modulo
    2 MiB.  The place is found by reserving more than is needed and giving it
    back; another thread may take it in between, so this is tried a few times.

Arguments:

    Rtl - Supplies the RTL.

    View - Supplies the view and its section; Base is set on success.

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
        Size = (SIZE_T)View->SizeInBytes + TRACE_LARGE_PAGE_SIZE;
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
        Address += (ULONG_PTR)(View->FileOffset & (TRACE_LARGE_PAGE_SIZE - 1));

        Size = 0;
        Status = Rtl->NtFreeVirtualMemory((HANDLE)-1,
                                          &Reserved,
                                          &Size,
                                          MEM_RELEASE);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Status = TraceViewMapAt(Rtl, View, (PVOID)Address);
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
    ULONGLONG FileSizeInBytes,
    PTRACE_VIEW View,
    PULONG Reason
    )
/*++

Routine Description:

    Extends a store's file to the end of a view, unless it is that large, and
    maps the view.  None of its pages is touched yet.

Arguments:

    Rtl - Supplies the RTL.

    File - Supplies the file.

    FileSizeInBytes - Supplies the size that it has.

    View - Supplies FileOffset, a multiple of 64 KiB, and SizeInBytes.  On
        success Base is set and nothing is prepared; on failure Base is NULL.

    Reason - Receives TRACE_REASON_EXTEND_FAILED or TRACE_REASON_MAP_FAILED
        when this fails.

Return Value:

    STATUS_SUCCESS, or the status of the call that failed: STATUS_DISK_FULL
    among others.

--*/
{
    NTSTATUS Status;
    ULONGLONG End;

    View->Base = NULL;
    View->PreparedInBytes = 0;
    View->PrepareTicks = 0;
    View->LongestTicks = 0;
    View->Section = NULL;
    End = View->FileOffset + View->SizeInBytes;

    if (End > FileSizeInBytes) {
        *Reason = TRACE_REASON_EXTEND_FAILED;
        Status = RtlSetFileSize(Rtl, File, End);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    *Reason = TRACE_REASON_MAP_FAILED;
    Status = TraceViewCreateSection(Rtl, File, View);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = STATUS_UNSUCCESSFUL;
    if (View->SizeInBytes >= TRACE_LARGE_PAGE_SIZE) {
        Status = TraceViewMapAligned(Rtl, View);
    }
    if (!NT_SUCCESS(Status)) {
        Status = TraceViewMapAt(Rtl, View, NULL);
    }

    //
    // The view keeps what it needs of the section; the handle is not needed
    // beyond this routine.
    //

    RtlClose(Rtl, View->Section);
    View->Section = NULL;

    if (NT_SUCCESS(Status)) {
        *Reason = TRACE_REASON_NONE;
    }

    return Status;
}

static
NTSTATUS
TraceViewWriteZeros(
    _Inout_ PTRACE_SESSION Session,
    _In_ HANDLE File,
    _In_ PTRACE_VIEW View,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Writes zeroes to the file where a view's next pages are.

    CreateFileMapping's documentation does not promise that what is written to
    a file is seen in its views.  Where the system keeps both in the same pages,
    as it does for local files, it is.  So the first time a mark is written,
    and looked for in the view; if it is not there, pages are only touched from
    then on.

Arguments:

    Session - Supplies the session, which remembers the outcome.

    File - Supplies the file.

    View - Supplies the view.

    SizeInBytes - Supplies how much.

Return Value:

    STATUS_SUCCESS or NtWriteFile's status.

--*/
{
    NTSTATUS Status;
    ULONGLONG Offset;
    ULONGLONG Mark;
    ULONGLONG Seen;

    Offset = View->FileOffset + View->PreparedInBytes;

    if (Session->Coherence == TRACE_COHERENCE_UNKNOWN) {
        Mark = __rdtsc() | 1;
        Status = RtlWriteFile(&Session->Rtl,
                              File,
                              Offset,
                              &Mark,
                              sizeof(Mark));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Seen = 0;
        __try {
            Seen = *(ULONGLONG volatile *)(View->Base + View->PreparedInBytes);
        } __except (EXCEPTION_EXECUTE_HANDLER) {
            Seen = 0;
        }

        //
        // The mark must go, whether it was seen or not.
        //

        Status = RtlWriteFile(&Session->Rtl,
                              File,
                              Offset,
                              Session->Zeros,
                              sizeof(Mark));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Session->Coherence = Seen == Mark ? TRACE_COHERENCE_SEEN :
                                            TRACE_COHERENCE_MISSED;
    }

    if (Session->Coherence == TRACE_COHERENCE_MISSED) {
        return STATUS_SUCCESS;
    }

    return RtlWriteFile(&Session->Rtl,
                        File,
                        Offset,
                        Session->Zeros,
                        SizeInBytes);
}

_Use_decl_annotations_
NTSTATUS
TraceViewPrepare(
    PTRACE_SESSION Session,
    HANDLE File,
    PTRACE_VIEW View,
    ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Makes the next pages of a view present, writable and empty.

Arguments:

    Session - Supplies the session.

    File - Supplies the file.

    View - Supplies the view; PreparedInBytes is advanced, and what the
        preparing took.

    SizeInBytes - Supplies how much to prepare, a multiple of 4,096; less is
        done where the view ends.

Return Value:

    STATUS_SUCCESS, NtWriteFile's status (STATUS_DISK_FULL), or the exception
    that the page raised: STATUS_IN_PAGE_ERROR where the disk is full or fails,
    STATUS_ACCESS_VIOLATION under Wine.

--*/
{
    NTSTATUS Status;
    ULONGLONG Ticks;
    BOOLEAN Touched;
    BOOLEAN IsUsed;

    Ticks = __rdtsc();

    if (SizeInBytes > View->SizeInBytes - View->PreparedInBytes) {
        SizeInBytes = View->SizeInBytes - View->PreparedInBytes;
    }

    //
    // What a ring has been through before is emptied through the view.
    //

    IsUsed = View->Position != View->FileOffset;

    if (!IsUsed && SizeInBytes >= TRACE_PREPARE_WRITE) {
        if (SizeInBytes > TRACE_ZEROS_SIZE) {
            SizeInBytes = TRACE_ZEROS_SIZE;
        }
        Status = TraceViewWriteZeros(Session, File, View, (ULONG)SizeInBytes);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Status = STATUS_SUCCESS;
    Touched = TRUE;

    //
    // The code is taken in the filter: Wine 8 hands 0 to the handler.
    //

    __try {
        if (IsUsed) {
            RtlZeroBytes(View->Base + View->PreparedInBytes,
                         (SIZE_T)SizeInBytes);
        } else {
            AsmTouchPages(View->Base + View->PreparedInBytes,
                          (SIZE_T)SizeInBytes);
        }
    } __except (Status = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Touched = FALSE;
    }

    if (Touched) {
        View->PreparedInBytes += SizeInBytes;
        Ticks = __rdtsc() - Ticks;
        View->PrepareTicks += Ticks;
        if (View->LongestTicks < Ticks) {
            View->LongestTicks = Ticks;
        }
    }

    return Status;
}

_Use_decl_annotations_
VOID
TraceViewRetire(
    PTRACE_SESSION Session,
    PVOID Base
    )
/*++

Routine Description:

    Unmaps a view that is full; before that, if the user asks for it, writes it
    to the disk.

Arguments:

    Session - Supplies the session.

    Base - Supplies the view; NULL is allowed.

Return Value:

    None.  A disk that does not take the pages keeps them in memory, and the
    system says so when it gives up.

--*/
{
    PVOID Address;
    SIZE_T Size;
    IO_STATUS_BLOCK IoStatus;

    if (Base != NULL && Session->Flush) {
        Address = Base;
        Size = 0;                           // all of the view
        (VOID)Session->Rtl.NtFlushVirtualMemory((HANDLE)-1,
                                                &Address,
                                                &Size,
                                                &IoStatus);
    }

    RtlUnmapFileSection(&Session->Rtl, Base);
}

static
NTSTATUS
TraceViewQueryName(
    _In_ PCRTL Rtl,
    _In_ PVOID Base,
    _Out_writes_bytes_(TRACE_NAME_SIZE) PUNICODE_STRING Name
    )
/*++

Routine Description:

    Asks the system which file lies at an address.

Arguments:

    Rtl - Supplies the RTL.

    Base - Supplies the address, of a view or of anything.

    Name - Receives the file's name.

Return Value:

    STATUS_SUCCESS or NtQueryVirtualMemory's status: STATUS_INVALID_ADDRESS if
    no file lies there.

--*/
{
    return Rtl->NtQueryVirtualMemory((HANDLE)-1,
                                     Base,
                                     RTL_MEMORY_MAPPED_FILE_NAME,
                                     Name,
                                     TRACE_NAME_SIZE,
                                     NULL);
}

static
BOOLEAN
TraceViewIsOfFile(
    _In_ PCRTL Rtl,
    _In_ PVOID Base,
    _In_ PCUNICODE_STRING Name,
    _Out_writes_bytes_(TRACE_NAME_SIZE) PUNICODE_STRING Scratch
    )
/*++

Routine Description:

    Says whether a view of a certain file lies at an address.

Arguments:

    Rtl - Supplies the RTL.

    Base - Supplies the address, of a view or of anything.

    Name - Supplies the file's name, as TraceViewQueryName gave it.

    Scratch - Supplies room for another.

Return Value:

    FALSE if not, or if it is not known.

--*/
{
    ULONG Index;

    if (!NT_SUCCESS(TraceViewQueryName(Rtl, Base, Scratch)) ||
        Scratch->Length != Name->Length) {

        return FALSE;
    }

    for (Index = 0; Index < Name->Length / sizeof(WCHAR); Index += 1) {
        if (Scratch->Buffer[Index] != Name->Buffer[Index]) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
VOID
TraceStoreReclaim(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Gives back what a thread that was killed may have been mapping or unmapping:
    the worker, or the owner.  What it left behind would keep the file from
    being cut.

    The store knows the addresses and the handles, but not whether the killed
    thread's last call was carried out.  If it was to unmap or to close, the
    address or the handle may be somebody else's by now: a view of another
    module's store, say.  So the system is asked which file lies there, and
    whether that is the one of the first view.  The store's other views are
    unmapped already, and nobody else in the process writes this file; so a view
    of it at that address is the one that was left behind.

    A worker may also have been killed long after its call, while it waited for
    a lock that a killed owner has left taken.

Arguments:

    Store - Supplies the store.  Nobody else uses it any more.

Return Value:

    None.  If the system does not say, what was left behind stays.

--*/
{
    PCRTL Rtl;
    PVOID Bases[2 + TRACE_LEAVING_VIEWS];
    PVOID View;
    HANDLE Sections[2];
    PUNICODE_STRING Name;
    PUNICODE_STRING Scratch;
    PVOID Memory;
    ULONG Index;

    Bases[0] = Store->Mapping.Base;
    Bases[1] = Store->Next.Section != NULL ? Store->Next.Base : NULL;
    Bases[2] = Store->Leaving[TRACE_LEAVING_OWNER];
    Bases[3] = Store->Leaving[TRACE_LEAVING_WORKER];
    Sections[0] = Store->Mapping.Section;
    Sections[1] = Store->Next.Section;

    if (Bases[0] == NULL && Bases[1] == NULL && Bases[2] == NULL &&
        Bases[3] == NULL && Sections[0] == NULL && Sections[1] == NULL) {

        return;
    }

    Rtl = &Store->Session->Rtl;
    if (Rtl->NtQueryVirtualMemory == NULL ||
        !NT_SUCCESS(RtlAllocatePages(Rtl, 2 * TRACE_NAME_SIZE, &Memory))) {

        return;
    }

    Name = (PUNICODE_STRING)Memory;
    Scratch = (PUNICODE_STRING)((PBYTE)Memory + TRACE_NAME_SIZE);
    if (!NT_SUCCESS(TraceViewQueryName(Rtl, Store->Header, Name))) {
        goto End;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Bases); Index += 1) {
        if (Bases[Index] != NULL && Bases[Index] != Store->Header &&
            TraceViewIsOfFile(Rtl, Bases[Index], Name, Scratch)) {

            RtlUnmapFileSection(Rtl, Bases[Index]);
        }
    }

    //
    // A handle shows its file through a view.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(Sections); Index += 1) {
        if (Sections[Index] != NULL &&
            NT_SUCCESS(RtlMapFileSection(Rtl,
                                         Sections[Index],
                                         0,
                                         TRACE_VIEW_MINIMUM_SIZE,
                                         FALSE,
                                         NULL,
                                         &View))) {

            if (TraceViewIsOfFile(Rtl, View, Name, Scratch)) {
                RtlClose(Rtl, Sections[Index]);
            }
            RtlUnmapFileSection(Rtl, View);
        }
    }

End:

    RtlFreePages(Rtl, Memory);
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
                      View->Position - (ULONG_PTR)View->Base);
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
    PVOID Old;
    ULONGLONG OldFileOffset;
    ULONG Index;

    Header = Store->Header;
    Old = Store->Current.Base;
    OldFileOffset = Store->Current.FileOffset;
    if (OldFileOffset != 0) {
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
    // The first view holds the header and stays.  Any other is left to the
    // worker to unmap, which takes milliseconds when its pages are dirty; if
    // there is no worker, or it is that far behind, it is done here.
    //

    if (OldFileOffset == 0) {
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

static
NTSTATUS
TraceStoreProvideNext(
    _Inout_ PTRACE_STORE Store,
    _Out_ PULONG Reason,
    _Inout_ PBOOLEAN Waited
    )
/*++

Routine Description:

    Makes sure that a store has a next view: the worker's, if it has mapped one
    or is about to, else one that is mapped here.

Arguments:

    Store - Supplies the store.  The work lock is held; it is released and
        acquired again while the worker maps.

    Reason - Receives the TRACE_REASON_* of a failure.

    Waited - Is set to TRUE unless the view was there.

Return Value:

    STATUS_SUCCESS, or why there is no next view.

--*/
{
    NTSTATUS Status;
    PTRACE_SESSION Session;

    Session = Store->Session;
    *Reason = TRACE_REASON_NONE;

    if (Store->Next.Base != NULL) {
        return STATUS_SUCCESS;
    }

    *Waited = TRUE;
    TraceStoreWaitForWorker(Store, TRACE_WORKER_MAPS);

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

    Status = TraceStorePlaceNext(Store, &Store->Next);
    if (!NT_SUCCESS(Status)) {
        *Reason = TRACE_REASON_MAXIMUM_BYTES;
        return Status;
    }

    Store->Header->NumberOfViewsMappedInline += 1;
    Status = TraceViewMap(&Session->Rtl,
                          Store->File,
                          Store->FileSizeInBytes,
                          &Store->Next,
                          Reason);
    if (NT_SUCCESS(Status)) {
        TraceStoreGrow(Store);
    }

    return Status;
}

_Use_decl_annotations_
VOID
TraceStoreGrow(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Notes that the file has been extended to the end of the next view.

Arguments:

    Store - Supplies the store.  The work lock is held.

Return Value:

    None.

--*/
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
    ULONGLONG Filled;
    ULONGLONG Chunk;
    ULONGLONG Ticks;
    RTL_CLOCK_READING Reading;
    BOOLEAN IsWorkLeft;
    BOOLEAN Waited;

    Ticks = __rdtsc();
    Header = Store->Header;
    View = &Store->Current;
    Reason = TRACE_REASON_NONE;
    Status = STATUS_SUCCESS;
    IsWorkLeft = FALSE;
    Filled = 0;

    Waited = !TraceStoreTryAcquireWorkLock(Store);
    if (Waited) {
        TraceStoreAcquireWorkLock(Store);
    }

    Cursor = Header->Cursor;
    Used = Cursor - (ULONG_PTR)View->Base;
    if (Used > View->SizeInBytes) {
        TraceStoreRepairCursor(Store);
        Reason = TRACE_REASON_INVARIANT;
        Status = STATUS_INTERNAL_ERROR;
        goto End;
    }

    if (Used == View->SizeInBytes) {
        Status = TraceStoreProvideNext(Store, &Reason, &Waited);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        TraceStoreSwitchView(Store);
        Filled = Used;
        Used = 0;
    }

    if (View->PreparedInBytes <= Used) {
        Waited = TRUE;
        TraceStoreWaitForWorker(Store, TRACE_WORKER_PREPARES_CURRENT);
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

    RtlStoreRelease64(&Header->Limit,
                      (ULONG_PTR)View->Base + View->PreparedInBytes);

    //
    // The worker leaves a store alone whose lock it finds taken, so it is asked
    // as long as there is something for it to do.  A thread that stays within
    // its first view never asks.
    //

    IsWorkLeft = View->FileOffset != 0 &&
                 Store->Session->WorkerPrepares &&
                 (Store->Next.PreparedInBytes < Store->Next.SizeInBytes ||
                  Store->Next.Base == NULL);

End:

    TraceStoreReleaseWorkLock(Store);

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
        Store->DemandInBytes = TraceViewDemand(Store, Filled, &Reading);
        TraceStoreSetAnchor(&Header->LastAnchor, &Reading);
        TraceClockDescribe(Store->Session, Header);
        RtlStoreRelease32(&Store->WantNext, Store->Session->WorkerPrepares);
    }
    if (IsWorkLeft) {
        TraceWorkerRequest(Store->Session);
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
