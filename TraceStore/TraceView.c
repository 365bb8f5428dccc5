/*++

Module Name:

    TraceView.c

Abstract:

    The views of a thread's store: extending the file, mapping it, making its
    pages present, unmapping them (TraceAdvance.c says when).

    The hook's limit never covers a page that has not been touched here, under
    __try: here the hook's pages meet a full disk.  TraceVolume.c keeps it from
    coming to that; the control file has checks of its own.

    How a page is prepared.  A page of a file that nobody has written yet costs
    the kernel most at its first touch in a view: 7 to 27 ns for each 32 bytes
    on Linux, the less the larger the view, with stalls of up to 29 ms.  If the
    zeroes are written to the file first, with NtWriteFile, in large pieces, the
    file system makes large pages at once, and writing and touching together
    cost 5.0 ns in pieces of 2 MiB, 5.2 in 512 KiB, 5.6 in 256 KiB, 8 in 64 KiB
    and 14 in 16 KiB, with no touch above 50 us.

--*/

#include "TraceSession.h"
#include "TraceView.h"
#include "../Asm/Asm.h"

//
// Less than this is only touched.
//

#define TRACE_PREPARE_WRITE     0x10000         // 64 KiB

//
// Room for a file's name and the structure before it.
//

#define TRACE_NAME_SIZE         0x10000         // 64 KiB

//
// Creates the section that a view is mapped from. The system itself writes the
// handle to its place: Windows does so before the call can end in any way.
// Wine makes the handle in another process; a thread that is killed before it
// has the answer leaves one that nobody knows, and the file keeps its tail.
//
// View: the view; Section is set on success.
// Returns STATUS_SUCCESS or NtCreateSection's status.
//

static
NTSTATUS
TraceViewCreateSection(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _Inout_ PTRACE_VIEW View
    )
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

//
// Maps a view. As with the section, the system itself writes the address to
// its place.
// View: the view and its section; Base is set on success, and to Address,
// where there may be no view of ours yet, meanwhile.
// Address: optionally supplies the address.
// STATUS_CONFLICTING_ADDRESSES: there is no room at Address.
// Or another status of NtMapViewOfSection.
//

static
NTSTATUS
TraceViewMapAt(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_VIEW View,
    _In_opt_ PVOID Address
    )
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

//
// Maps a large view at an address that agrees with the file offset modulo 2
// MiB. The place is found by reserving more than is needed and giving it back;
// another thread may take it in between, so this is tried a few times.
//
// View: the view and its section; Base is set on success.
// Returns STATUS_SUCCESS or the status of the last try.
//

static
NTSTATUS
TraceViewMapAligned(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_VIEW View
    )
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

//
// Writes zeroes to the file where a view's next pages are.
//
// CreateFileMapping's documentation does not promise that what is written to a
// file is seen in its views. Where the system keeps both in the same pages, as
// it does for local files, it is. So the first time a mark is written, and
// looked for in the view; if it is not there, pages are only touched from then
// on.
//
// Session: the session, which remembers the outcome.
// SizeInBytes: how much.
// Returns STATUS_SUCCESS or NtWriteFile's status.
//

static
NTSTATUS
TraceViewWriteZeros(
    _Inout_ PTRACE_SESSION Session,
    _In_ HANDLE File,
    _In_ PTRACE_VIEW View,
    _In_ ULONG SizeInBytes
    )
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

//
// Asks the system which file lies at an address.
// Base: the address, of a view or of anything.
// Returns STATUS_SUCCESS or NtQueryVirtualMemory's status:
// STATUS_INVALID_ADDRESS if no file lies there.
//

static
NTSTATUS
TraceViewQueryName(
    _In_ PCRTL Rtl,
    _In_ PVOID Base,
    _Out_writes_bytes_(TRACE_NAME_SIZE) PUNICODE_STRING Name
    )
{
    return Rtl->NtQueryVirtualMemory((HANDLE)-1,
                                     Base,
                                     RTL_MEMORY_MAPPED_FILE_NAME,
                                     Name,
                                     TRACE_NAME_SIZE,
                                     NULL);
}

//
// Says whether a view of a certain file lies at an address.
// Base: the address, of a view or of anything.
// Name: the file's name, as TraceViewQueryName gave it.
// Scratch: room for another.
// Returns FALSE if not, or if it is not known.
//

static
BOOLEAN
TraceViewIsOfFile(
    _In_ PCRTL Rtl,
    _In_ PVOID Base,
    _In_ PCUNICODE_STRING Name,
    _Out_writes_bytes_(TRACE_NAME_SIZE) PUNICODE_STRING Scratch
    )
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
TraceViewReclaim(
    PTRACE_STORE Store
    )
{
    PCRTL Rtl;
    PVOID Bases[3 + TRACE_LEAVING_VIEWS];
    PVOID View;
    HANDLE Sections[3];
    PUNICODE_STRING Name;
    PUNICODE_STRING Scratch;
    PVOID Memory;
    ULONG Index;

    Bases[0] = Store->Mapping.Base;
    Bases[1] = Store->Next.Section != NULL ? Store->Next.Base : NULL;
    Bases[2] = Store->Compact.Ring.Section != NULL ?
               Store->Compact.Ring.Base : NULL;
    Bases[3] = Store->Leaving[TRACE_LEAVING_OWNER];
    Bases[4] = Store->Leaving[TRACE_LEAVING_WORKER];
    Sections[0] = Store->Mapping.Section;
    Sections[1] = Store->Next.Section;
    Sections[2] = Store->Compact.Ring.Section;

    if (Bases[0] == NULL && Bases[1] == NULL && Bases[2] == NULL &&
        Bases[3] == NULL && Bases[4] == NULL && Sections[0] == NULL &&
        Sections[1] == NULL && Sections[2] == NULL) {

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
