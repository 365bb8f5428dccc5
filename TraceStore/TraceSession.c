/*++

Module Name:

    TraceSession.c

Abstract:

    A session: what all the thread stores of one module instance share.  Every
    module instance in a process (the EXE and each DLL link their own copy of
    this library) computes the same session directory from the process's image,
    id and creation time, without talking to the others.

--*/

#include "TraceStore.h"

#define TEB_PROCESS_ID 0x40

//
// The memory of a session, one allocation:
//
//     0        TRACE_SESSION
//     4 KiB    the header template
//     64 KiB   four strings of up to 32,767 16-bit units: the session
//              directory, the module's path, the log's name, scratch
//

#define TRACE_SESSION_TEMPLATE_OFFSET   0x1000
#define TRACE_SESSION_STRINGS_OFFSET    0x10000
#define TRACE_SESSION_STRING_SIZE       0x10000
#define TRACE_SESSION_ZEROS_OFFSET      0x50000
#define TRACE_SESSION_SIZE              (TRACE_SESSION_ZEROS_OFFSET + \
                                         TRACE_ZEROS_SIZE)

C_ASSERT(sizeof(TRACE_SESSION) <= TRACE_SESSION_TEMPLATE_OFFSET);

//
// The CodeView entry of a debug directory: "RSDS", GUID, age, UTF-8 path.
//

typedef struct _CODEVIEW_ENTRY {
    ULONG Signature;
    UCHAR Guid[16];
    ULONG Age;
    CHAR PdbPath[1];
} CODEVIEW_ENTRY;
typedef const CODEVIEW_ENTRY *PCCODEVIEW_ENTRY;

#define CODEVIEW_SIGNATURE 0x53445352           // "RSDS"

static
VOID
TraceSessionCopyText(
    _In_ PCUNICODE_STRING Text,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Destination,
    _In_ ULONG CapacityInBytes,
    _Out_ uint32_t *Length,
    _Out_ uint32_t *FullLength
    )
/*++

Routine Description:

    Copies a text into a header as UTF-8.

Arguments:

    Text - Supplies the text.

    Destination - Receives it.

    CapacityInBytes - Supplies the size of Destination.

    Length - Receives the number of bytes written.

    FullLength - Receives the number of bytes that the whole text has.

Return Value:

    None.

--*/
{
    ULONG Written;

    *FullLength = RtlWideToUtf8(Text->Buffer,
                                Text->Length / sizeof(WCHAR),
                                Destination,
                                CapacityInBytes,
                                &Written);
    *Length = Written;
}

static
VOID
TraceSessionDescribeModule(
    _In_ PVOID ModuleBase,
    _Inout_ PTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Copies the module's identity out of its mapped image: size, time stamp,
    check sum, and the CodeView entry that names its PDB.

Arguments:

    ModuleBase - Supplies the image base.

    Header - Supplies the header template.

Return Value:

    None.

--*/
{
    PBYTE Base;
    PIMAGE_NT_HEADERS64 NtHeaders;
    PIMAGE_DATA_DIRECTORY Directory;
    PIMAGE_DEBUG_DIRECTORY Debug;
    PCCODEVIEW_ENTRY Entry;
    ULONG Index;
    ULONG Count;
    ULONG Length;
    ULONG MaximumLength;

    Base = (PBYTE)ModuleBase;
    NtHeaders = (PIMAGE_NT_HEADERS64)
        (Base + ((PIMAGE_DOS_HEADER)Base)->e_lfanew);

    Header->ModuleBase = (ULONG_PTR)ModuleBase;
    Header->ModuleSize = NtHeaders->OptionalHeader.SizeOfImage;
    Header->ModuleTimeDateStamp = NtHeaders->FileHeader.TimeDateStamp;
    Header->ModuleCheckSum = NtHeaders->OptionalHeader.CheckSum;

    Directory = &NtHeaders->OptionalHeader
                     .DataDirectory[IMAGE_DIRECTORY_ENTRY_DEBUG];
    Debug = (PIMAGE_DEBUG_DIRECTORY)(Base + Directory->VirtualAddress);
    Count = Directory->Size / sizeof(*Debug);
    if (Directory->VirtualAddress == 0) {
        Count = 0;
    }

    for (Index = 0; Index < Count; Index += 1) {
        if (Debug[Index].Type != IMAGE_DEBUG_TYPE_CODEVIEW ||
            Debug[Index].AddressOfRawData == 0 ||
            Debug[Index].SizeOfData <= FIELD_OFFSET(CODEVIEW_ENTRY, PdbPath)) {

            continue;
        }

        Entry = (PCCODEVIEW_ENTRY)(Base + Debug[Index].AddressOfRawData);
        if (Entry->Signature != CODEVIEW_SIGNATURE) {
            continue;
        }

        Header->CodeViewAge = Entry->Age;
        RtlCopyBytes(Header->CodeViewGuid, Entry->Guid, sizeof(Entry->Guid));

        MaximumLength = Debug[Index].SizeOfData -
                        FIELD_OFFSET(CODEVIEW_ENTRY, PdbPath);
        Length = 0;
        while (Length < MaximumLength && Entry->PdbPath[Length] != '\0') {
            Length += 1;
        }
        Header->PdbPathFullLength = Length;

        //
        // Cut at the start of a UTF-8 character if it does not fit.
        //

        if (Length > sizeof(Header->PdbPath)) {
            Length = sizeof(Header->PdbPath);
            while (Length > 0 &&
                   ((UCHAR)Entry->PdbPath[Length] & 0xC0) == 0x80) {

                Length -= 1;
            }
        }
        RtlCopyBytes(Header->PdbPath, Entry->PdbPath, Length);
        Header->PdbPathLength = Length;
        break;
    }
}

static
VOID
TraceSessionMakeName(
    _In_ PCUNICODE_STRING ExeName,
    _In_ ULONGLONG CreationTime,
    _Out_writes_(CapacityInChars) PWCHAR Buffer,
    _In_ ULONG CapacityInChars,
    _Out_ PUNICODE_STRING Name
    )
/*++

Routine Description:

    Makes the name of the session directory: <exe>-<pid>-<creation time, UTC>.

Arguments:

    ExeName - Supplies the file name of the process's image.

    CreationTime - Supplies the process's creation time.

    Buffer - Receives the name.

    CapacityInChars - Supplies the size of Buffer, at least 256.

    Name - Receives a string that points into Buffer.

Return Value:

    None.

--*/
{
    RTL_CALENDAR_TIME Time;
    RTL_WRITER Writer;
    CHAR Text[64];
    ULONG Length;
    ULONG Index;

    RtlSystemTimeToCalendar(CreationTime, &Time);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer,
                 "-%u-%04u%02u%02u-%02u%02u%02u-%03u",
                 __readgsdword(TEB_PROCESS_ID),
                 Time.Year,
                 Time.Month,
                 Time.Day,
                 Time.Hour,
                 Time.Minute,
                 Time.Second,
                 Time.Milliseconds);

    Length = ExeName->Length / sizeof(WCHAR);
    if (Length > CapacityInChars - sizeof(Text)) {
        Length = CapacityInChars - sizeof(Text);
    }
    RtlCopyBytes(Buffer, ExeName->Buffer, Length * sizeof(WCHAR));
    for (Index = 0; Index < Writer.LengthInBytes; Index += 1) {
        Buffer[Length] = (WCHAR)Text[Index];
        Length += 1;
    }

    RtlPointUnicodeString(Name, Buffer, Length);
}

static
VOID
TraceSessionMakeLogName(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PWCHAR Buffer,
    _Inout_ PWCHAR Scratch
    )
/*++

Routine Description:

    Makes the name of the log that serves while there is no session directory:
    Tracer-<module>-<pid>.log in the temporary directory.

Arguments:

    Session - Supplies the session; LogName is set, and left empty if there is
        no temporary directory.

    Buffer - Supplies TRACE_SESSION_STRING_SIZE bytes for the name.

    Scratch - Supplies as much to work with.

Return Value:

    None.

--*/
{
    UNICODE_STRING Path;
    RTL_WRITER Writer;
    CHAR Text[32];
    WCHAR Wide[32];
    ULONG Length;
    ULONG Written;

    Length = Session->Rtl.GetTempPathW(RTL_MAXIMUM_PATH_IN_CHARS, Scratch);
    if (Length == 0 || Length > RTL_MAXIMUM_PATH_IN_CHARS - 300) {
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer, "-%u.log", __readgsdword(TEB_PROCESS_ID));
    RtlUtf8ToWide(Text,
                  Writer.LengthInBytes,
                  Wide,
                  RTL_NUMBER_OF(Wide),
                  &Written);

    RtlPointUnicodeString(&Path, Scratch, Length);
    Path.MaximumLength = RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
    if (!NT_SUCCESS(RtlAppendPath(&Path, L"Tracer-", 7, TRUE)) ||
        !NT_SUCCESS(RtlAppendPath(&Path,
                                  Session->ModuleName.Buffer,
                                  Session->ModuleName.Length / sizeof(WCHAR),
                                  FALSE)) ||
        !NT_SUCCESS(RtlAppendPath(&Path, Wide, Written, FALSE))) {

        return;
    }

    if (!NT_SUCCESS(RtlDosPathToNtPath(&Session->Rtl,
                                       &Path,
                                       Buffer,
                                       RTL_MAXIMUM_PATH_IN_CHARS,
                                       &Session->LogName))) {

        RtlPointUnicodeString(&Session->LogName, Buffer, 0);
    }
}

static
NTSTATUS
TraceSessionDescribeProcess(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PWCHAR Scratch,
    _Inout_ PWCHAR ModuleBuffer,
    _Out_writes_(CapacityInChars) PWCHAR NameBuffer,
    _In_ ULONG CapacityInChars,
    _Out_ PUNICODE_STRING DirectoryName
    )
/*++

Routine Description:

    Fills the parts of the header template that describe the process and the
    module, and makes the name of the session directory.

Arguments:

    Session - Supplies the session; Template is filled, ModuleName points into
        ModuleBuffer.

    Scratch - Supplies TRACE_SESSION_STRING_SIZE bytes to work with.

    ModuleBuffer - Receives the module's path; as large.

    NameBuffer - Receives the name of the session directory.

    CapacityInChars - Supplies the size of NameBuffer.

    DirectoryName - Receives a string that points into NameBuffer.

Return Value:

    STATUS_SUCCESS or the failing call's status.

--*/
{
    NTSTATUS Status;
    PCRTL Rtl;
    PTRACE_STORE_HEADER Header;
    UNICODE_STRING Text;
    UNICODE_STRING Base;
    PWSTR CommandLine;
    ULONG Length;
    LARGE_INTEGER Times[4];         // creation, exit, kernel, user
    RTL_PROCESS_BASIC Basic;

    Rtl = &Session->Rtl;
    Header = Session->Template;

    Status = Rtl->NtQueryInformationProcess((HANDLE)-1,
                                            RTL_PROCESS_TIMES,
                                            Times,
                                            sizeof(Times),
                                            NULL);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Header->ProcessId = __readgsdword(TEB_PROCESS_ID);
    Header->ProcessCreationTime = (ULONGLONG)Times[0].QuadPart;

    //
    // Without its parent a process stands by itself.
    //

    if (NT_SUCCESS(Rtl->NtQueryInformationProcess((HANDLE)-1,
                                                  RTL_PROCESS_BASIC_INFORMATION,
                                                  &Basic,
                                                  sizeof(Basic),
                                                  NULL))) {
        Header->ParentProcessId = (ULONG)Basic.InheritedFromUniqueProcessId;
    }

    CommandLine = Rtl->GetCommandLineW();
    Length = RtlLengthOfWideString(CommandLine);
    RtlPointUnicodeString(&Text,
                          CommandLine,
                          Length > RTL_MAXIMUM_PATH_IN_CHARS ?
                          RTL_MAXIMUM_PATH_IN_CHARS : Length);
    TraceSessionCopyText(&Text,
                         Header->CommandLine,
                         sizeof(Header->CommandLine),
                         &Header->CommandLineLength,
                         &Header->CommandLineFullLength);

    Length = Rtl->GetModuleFileNameW(NULL, Scratch, RTL_MAXIMUM_PATH_IN_CHARS);
    RtlPointUnicodeString(&Text, Scratch, Length);
    TraceSessionCopyText(&Text,
                         Header->ProcessPath,
                         sizeof(Header->ProcessPath),
                         &Header->ProcessPathLength,
                         &Header->ProcessPathFullLength);
    RtlBaseName(&Text, &Base);
    TraceSessionMakeName(&Base,
                         Header->ProcessCreationTime,
                         NameBuffer,
                         CapacityInChars,
                         DirectoryName);

    Length = Rtl->GetModuleFileNameW((HMODULE)Session->ModuleBase,
                                     ModuleBuffer,
                                     RTL_MAXIMUM_PATH_IN_CHARS);
    RtlPointUnicodeString(&Text, ModuleBuffer, Length);
    TraceSessionCopyText(&Text,
                         Header->ModulePath,
                         sizeof(Header->ModulePath),
                         &Header->ModulePathLength,
                         &Header->ModulePathFullLength);
    RtlBaseName(&Text, &Session->ModuleName);

    TraceSessionDescribeModule(Session->ModuleBase, Header);
    return STATUS_SUCCESS;
}

static
VOID
TraceSessionDescribeLimits(
    _Inout_ PTRACE_SESSION Session,
    _In_ PCTRACE_SESSION_PARAMETERS Parameters
    )
/*++

Routine Description:

    Fills the parts of the header template that say what is kept and what is
    left out.

Arguments:

    Session - Supplies the session.

    Parameters - Supplies what the user asked for.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    ULONGLONG Size;
    ULONGLONG Room;
    ULONGLONG Frequency;

    Header = Session->Template;
    Header->MaximumBytes = Parameters->MaximumBytes;
    Header->MaximumDepth = Parameters->MaximumDepth;
    if (Parameters->Clock == TRACE_CLOCK_NONE) {
        Header->Clock = TRACE_CLOCK_NONE;
    } else if (Parameters->MinimumDuration != 0) {
        Frequency = TraceClockMeasure(&Session->Rtl, NULL);
        Header->MinimumDuration =
            Parameters->MinimumDuration / 1000000000 * Frequency +
            (Parameters->MinimumDuration % 1000000000 * Frequency +
             999999999) / 1000000000;
    }

    if (Parameters->IsTree) {
        Size = Parameters->MaximumBytes;
        if (Size == 0) {
            Size = TRACE_TREE_DEFAULT_BYTES;
        } else if (Size > TRACE_TREE_MAXIMUM_BYTES) {
            Size = TRACE_TREE_MAXIMUM_BYTES;
        }
        Session->ChronoMaximumBytes = Parameters->MaximumBytes;
        Header->Mode = TRACE_MODE_TREE;
        Header->RecordSize = TRACE_NODE_SIZE;
        Header->MaximumBytes = Size / TRACE_VIEW_MINIMUM_SIZE *
                               TRACE_VIEW_MINIMUM_SIZE;
        return;
    }

    if (Parameters->IsRing && Parameters->MaximumBytes != 0) {
        Room = Parameters->MaximumBytes - TRACE_VIEW_MINIMUM_SIZE;
        Size = Session->MaximumViewSize;
        while (Size > TRACE_VIEW_MINIMUM_SIZE &&
               Size > Room / TRACE_RING_SEGMENTS) {

            Size /= 2;
        }
        Session->SegmentSize = Size;
        Header->RingFileOffset = TRACE_VIEW_MINIMUM_SIZE;
        Header->RingSizeInBytes = Room / Size * Size;
    }
}

_Use_decl_annotations_
NTSTATUS
TraceSessionCreate(
    PCRTL Rtl,
    PCTRACE_SESSION_PARAMETERS Parameters,
    PTRACE_SESSION *SessionPointer,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Creates a session.  Touches no file.

Arguments:

    Rtl - Supplies the RTL; it is copied.

    Parameters - Supplies what the user asked for.

    SessionPointer - Receives the session.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS or the failing call's status.

--*/
{
    NTSTATUS Status;
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    PVOID Base;
    PWCHAR DirectoryBuffer;
    PWCHAR ModuleBuffer;
    PWCHAR LogBuffer;
    PWCHAR Scratch;
    UNICODE_STRING Name;
    LARGE_INTEGER Now;
    WCHAR NameBuffer[255];

    Status = RtlAllocatePages(Rtl, TRACE_SESSION_SIZE, &Base);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error, "allocating the session", NULL, Status);
    }

    Session = (PTRACE_SESSION)Base;
    Header = (PTRACE_STORE_HEADER)
        ((PBYTE)Base + TRACE_SESSION_TEMPLATE_OFFSET);
    DirectoryBuffer = (PWCHAR)((PBYTE)Base + TRACE_SESSION_STRINGS_OFFSET);
    ModuleBuffer = DirectoryBuffer + TRACE_SESSION_STRING_SIZE / sizeof(WCHAR);
    LogBuffer = ModuleBuffer + TRACE_SESSION_STRING_SIZE / sizeof(WCHAR);
    Scratch = LogBuffer + TRACE_SESSION_STRING_SIZE / sizeof(WCHAR);

    RtlCopyBytes(&Session->Rtl, Rtl, sizeof(*Rtl));
    Session->ModuleBase = Parameters->ModuleBase;
    Session->MaximumViewSize = Parameters->MaximumViewSize;
    if (Session->MaximumViewSize == 0) {
        Session->MaximumViewSize = TRACE_VIEW_DEFAULT_SIZE;
    }
    Session->WorkerAllowed = Parameters->WorkerAllowed;
    Session->WorkerPrepares = TRUE;
    Session->Flush = Parameters->Flush;
    Session->ControlSize = Parameters->ControlSize;
    Session->Zeros = (PBYTE)Base + TRACE_SESSION_ZEROS_OFFSET;
    Session->Template = Header;

    Header->MajorVersion = TRACE_FORMAT_MAJOR;
    Header->MinorVersion = TRACE_FORMAT_MINOR;
    Header->HeaderSize = TRACE_HEADER_SIZE;
    Header->RecordSize = TRACE_RECORD_SIZE;
    if (Rtl->CpuFeatures.InvariantTsc) {
        Header->Flags |= TRACE_FLAG_TSC_INVARIANT;
    }
    TraceSessionDescribeLimits(Session, Parameters);

    Status = TraceSessionDescribeProcess(Session,
                                         Scratch,
                                         ModuleBuffer,
                                         NameBuffer,
                                         RTL_NUMBER_OF(NameBuffer),
                                         &Name);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, "asking for the process's times", NULL, Status);
        goto Error;
    }

    //
    // File names carry a number that grows over the life of the process, so
    // that a module that is loaded again, or a thread id that comes again,
    // seldom has to try more than one name: milliseconds since the process
    // started, at the time when the session does.
    //

    Now.QuadPart = (LONGLONG)Header->ProcessCreationTime;
    Rtl->NtQuerySystemTime(&Now);
    Session->NextSequenceNumber =
        (LONG)(((ULONGLONG)Now.QuadPart - Header->ProcessCreationTime) /
               10000);

    Status = RtlDosPathToNtPath(Rtl,
                                &Parameters->RootDirectory,
                                DirectoryBuffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &Session->Directory);
    if (NT_SUCCESS(Status)) {
        Session->Directory.MaximumLength =
            RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
        Status = RtlAppendPath(&Session->Directory,
                               Name.Buffer,
                               Name.Length / sizeof(WCHAR),
                               TRUE);
    }
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error,
                    "naming the session directory",
                    &Parameters->RootDirectory,
                    Status);
        goto Error;
    }

    TraceSessionMakeLogName(Session, LogBuffer, Scratch);

    *SessionPointer = Session;
    return STATUS_SUCCESS;

Error:

    RtlFreePages(Rtl, Base);
    return Status;
}

_Use_decl_annotations_
NTSTATUS
TraceSessionOpenDirectory(
    PTRACE_SESSION Session,
    PHANDLE Directory,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Creates the session directory, and all above it that is missing, and opens
    it; after the first time, returns the handle.

Arguments:

    Session - Supplies the session.

    Directory - Receives the handle, which belongs to the session.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS or the failing call's status.

--*/
{
    NTSTATUS Status;
    HANDLE Handle;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;

    *Directory = (HANDLE)Session->DirectoryHandle;
    if (*Directory != NULL) {
        return STATUS_SUCCESS;
    }

    Status = RtlCreateDirectory(&Session->Rtl, &Session->Directory);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "creating the session directory",
                           &Session->Directory,
                           Status);
    }

    InitializeObjectAttributes(&Attributes,
                               &Session->Directory,
                               OBJ_CASE_INSENSITIVE,
                               NULL,
                               NULL);
    Status = Session->Rtl.NtCreateFile(&Handle,
                                       FILE_LIST_DIRECTORY | FILE_TRAVERSE |
                                       SYNCHRONIZE,
                                       &Attributes,
                                       &IoStatus,
                                       NULL,
                                       FILE_ATTRIBUTE_NORMAL,
                                       FILE_SHARE_READ | FILE_SHARE_WRITE |
                                       FILE_SHARE_DELETE,
                                       FILE_OPEN,
                                       FILE_DIRECTORY_FILE |
                                       FILE_SYNCHRONOUS_IO_NONALERT,
                                       NULL,
                                       0);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "opening the session directory",
                           &Session->Directory,
                           Status);
    }

    *Directory = InterlockedCompareExchangePointer(&Session->DirectoryHandle,
                                                   Handle,
                                                   NULL);
    if (*Directory == NULL) {
        *Directory = Handle;
        RtlProtectHandle(&Session->Rtl, Handle, TRUE);
    } else {
        RtlClose(&Session->Rtl, Handle);
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
TraceSessionYield(
    PTRACE_SESSION Session,
    ULONG Count
    )
/*++

Routine Description:

    Gives up the processor, and notices when there is nobody to wait for.

    ExitProcess ends all other threads before any module is told, so code of
    another module may still come through here on the thread that is left.  And
    a program may have terminated or suspended every thread but its own, the
    worker among them: one that is dead is done without, one that may be
    suspended is resumed, since it holds what a thread of the program waits for.

Arguments:

    Session - Supplies the session.

    Count - Supplies how often the caller has waited already.

Return Value:

    None.

--*/
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

static
VOID
TraceSessionCloseStores(
    _Inout_ PTRACE_SESSION Session,
    _In_opt_ PTRACE_STORE Except,
    _In_ ULONG Reason
    )
/*++

Routine Description:

    Closes every store of a session but a thread's.

Arguments:

    Session - Supplies the session.

    Except - Supplies the store to leave open, or NULL.

    Reason - Supplies a TRACE_REASON_*.

Return Value:

    None.

--*/
{
    PTRACE_STORE_BLOCK Block;
    ULONG Index;

    for (Block = Session->Blocks; Block != NULL; Block = Block->Next) {
        for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {
            if (Except == NULL ||
                (&Block->Stores[Index] != Except &&
                 &Block->Stores[Index] != Except->Tree.Chrono)) {

                TraceStoreClose(&Block->Stores[Index], Reason);
            }
        }
    }
}

_Use_decl_annotations_
VOID
TraceSessionProcessExit(
    PTRACE_SESSION Session,
    PTRACE_STORE OwnStore,
    BOOLEAN CloseOwn
    )
/*++

Routine Description:

    Closes the stores at process exit, when every other thread is gone.

Arguments:

    Session - Supplies the session.

    OwnStore - Supplies the calling thread's store, or NULL.

    CloseOwn - Supplies whether that one is closed too.  If not, its header
        says closed, and records may still follow.

Return Value:

    None.

--*/
{
    //
    // Whatever lock a killed thread held stays held: from here on nothing is
    // waited for.
    //

    Session->IsAlone = TRUE;
    Session->Worker.State = TRACE_WORKER_REFUSED;
    Session->ClockWorker.State = TRACE_WORKER_REFUSED;

    TraceSessionCloseStores(Session,
                            CloseOwn ? NULL : OwnStore,
                            TRACE_REASON_PROCESS_EXIT);

    if (OwnStore != NULL && !CloseOwn) {
        TraceStoreFinish(OwnStore, TRACE_REASON_PROCESS_EXIT);
    }
}

_Use_decl_annotations_
VOID
TraceSessionDestroy(
    PTRACE_SESSION Session,
    ULONG Reason
    )
/*++

Routine Description:

    Ends a session: the worker, every store, the memory.

Arguments:

    Session - Supplies the session.

    Reason - Supplies a TRACE_REASON_*.

Return Value:

    None.

--*/
{
    RTL Rtl;
    PTRACE_STORE_BLOCK Block;
    PTRACE_STORE_BLOCK Next;

    TraceWorkerStop(Session, &Session->ClockWorker);
    TraceWorkerStop(Session, &Session->Worker);

    //
    // No other thread is in this module any more; one that was terminated in it
    // may have left a lock taken.
    //

    Session->IsAlone = TRUE;
    TraceSessionCloseStores(Session, NULL, Reason);
    TraceControlClose(Session);

    RtlCopyBytes(&Rtl, &Session->Rtl, sizeof(Rtl));
    RtlProtectHandle(&Rtl, (HANDLE)Session->DirectoryHandle, FALSE);
    RtlClose(&Rtl, (HANDLE)Session->DirectoryHandle);

    Block = Session->Blocks;
    while (Block != NULL) {
        Next = Block->Next;
        RtlFreePages(&Rtl, Block);
        Block = Next;
    }

    RtlFreePages(&Rtl, Session);
}
