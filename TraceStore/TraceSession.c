/*++

Module Name:

    TraceSession.c

Abstract:

    A session: what all the thread stores of one module instance share.  Every
    module instance in a process (the EXE and each DLL link their own copy of
    this library) computes the same session directory from the process's image,
    id and creation time, without talking to the others.

--*/

#include "../Rtl/RtlLog.h"
#include "../Rtl/RtlTeb.h"
#include "TraceCaller.h"
#include "TraceClock.h"
#include "TraceControl.h"
#include "TraceControlOpen.h"
#include "TraceShare.h"
#include "TraceStop.h"
#include "TraceStore.h"
#include "TraceThread.h"
#include "TraceTree.h"
#include "TraceWorker.h"

//
// The memory of a session, one allocation:
//
//     0        TRACE_SESSION
//     4 KiB    the header template
//     8 KiB    the session's Fixed
//     64 KiB   five strings of up to 32,767 16-bit units: the session
//              directory, the module's path, the log's name, the other session
//              directory, scratch
//

#define TRACE_SESSION_TEMPLATE_OFFSET   0x1000
#define TRACE_SESSION_FIXED_OFFSET      0x2000
#define TRACE_SESSION_STRINGS_OFFSET    0x10000
#define TRACE_SESSION_STRING_SIZE       0x10000
#define TRACE_SESSION_ZEROS_OFFSET      0x60000
#define TRACE_SESSION_SIZE              (TRACE_SESSION_ZEROS_OFFSET + \
                                         TRACE_ZEROS_SIZE)

C_ASSERT(sizeof(TRACE_SESSION) <= TRACE_SESSION_TEMPLATE_OFFSET);
C_ASSERT(TRACE_SESSION_TEMPLATE_OFFSET + TRACE_HEADER_SIZE <=
         TRACE_SESSION_FIXED_OFFSET);
C_ASSERT(TRACE_SESSION_FIXED_OFFSET +
         TRACE_NUMBER_OF_FIXED * sizeof(ULONGLONG) <=
         TRACE_SESSION_STRINGS_OFFSET);

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

//
// Copies a text into a header as UTF-8.
// CapacityInBytes: the size of Destination.
// Length: the number of bytes written.
// FullLength: the number of bytes that the whole text has.
//

static
VOID
TraceSessionCopyText(
    _In_ PCUNICODE_STRING Text,
    _Out_writes_bytes_(CapacityInBytes) PCHAR Destination,
    _In_ ULONG CapacityInBytes,
    _Out_ uint32_t *Length,
    _Out_ uint32_t *FullLength
    )
{
    ULONG Written;

    *FullLength = RtlWideToUtf8(Text->Buffer,
                                Text->Length / sizeof(WCHAR),
                                Destination,
                                CapacityInBytes,
                                &Written);
    *Length = Written;
}

//
// Copies the module's identity out of its mapped image: size, time stamp,
// check sum, and the CodeView entry that names its PDB.
// Header: the header template.
//

static
VOID
TraceSessionDescribeModule(
    _In_ PVOID ModuleBase,
    _Inout_ PTRACE_STORE_HEADER Header
    )
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

//
// Makes the path of a session directory.
// Root: the DOS path of the directory that it is in.
// Buffer: TRACE_SESSION_STRING_SIZE bytes for the path.
// Path: an NT path that points into Buffer.
//

static
NTSTATUS
TraceSessionMakePath(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Root,
    _In_ PCUNICODE_STRING Name,
    _Out_writes_bytes_(TRACE_SESSION_STRING_SIZE) PWCHAR Buffer,
    _Out_ PUNICODE_STRING Path
    )
{
    NTSTATUS Status;

    Status = RtlDosPathToNtPath(Rtl,
                                Root,
                                Buffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                Path);
    if (NT_SUCCESS(Status)) {
        Path->MaximumLength = RTL_MAXIMUM_PATH_IN_CHARS * sizeof(WCHAR);
        Status = RtlAppendPath(Path,
                               Name->Buffer,
                               Name->Length / sizeof(WCHAR),
                               TRUE);
    }

    return Status;
}

//
// Makes the name of the log that serves while there is no session directory:
// Tracer-<module>-<pid>.log in the temporary directory.
// Session: the session; LogName is set, and left empty if there is no
// temporary directory.
// Buffer: TRACE_SESSION_STRING_SIZE bytes for the name.
// Scratch: as much to work with.
//

static
VOID
TraceSessionMakeLogName(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PWCHAR Buffer,
    _Inout_ PWCHAR Scratch
    )
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

//
// Fills the parts of the header template that describe the process and the
// module, and makes the name of the session directory.
// Session: the session; Template is filled, ModuleName points into
// ModuleBuffer.
// Scratch: TRACE_SESSION_STRING_SIZE bytes to work with.
// ModuleBuffer: the module's path; as large.
// NameBuffer: the name of the session directory.
// CapacityInChars: the size of NameBuffer.
// DirectoryName: a string that points into NameBuffer.
// Returns STATUS_SUCCESS or the failing call's status.
//

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
    RtlMakeSessionName(&Base,
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

//
// Fills the parts of the header template that say where a compact store has
// its records.  A limit leaves three quarters of the file for blocks.
//

static
VOID
TraceSessionDescribeCompact(
    _Inout_ PTRACE_SESSION Session,
    _In_ PCTRACE_SESSION_PARAMETERS Parameters
    )
{
    PTRACE_STORE_HEADER Header;
    ULONGLONG Size;
    ULONGLONG Views;
    ULONGLONG Room;

    Header = Session->Template;
    Size = Session->MaximumViewSize;
    if (Size > TRACE_COMPACT_VIEW_SIZE) {
        Size = TRACE_COMPACT_VIEW_SIZE;
    }

    Views = TRACE_COMPACT_VIEWS;
    if (Parameters->MaximumBytes != 0) {
        Room = Parameters->MaximumBytes / 4 - TRACE_VIEW_MINIMUM_SIZE;
        while (Size > TRACE_VIEW_MINIMUM_SIZE && Size > Room / Views) {
            Size /= 2;
        }
        while (Views > TRACE_COMPACT_VIEWS_LEAST && Views > Room / Size) {
            Views -= 1;
        }
    }

    Session->SegmentSize = Size;
    Header->Mode = TRACE_MODE_COMPACT;
    Header->MajorVersion = TRACE_FORMAT_MAJOR_COMPACT;
    Header->RingFileOffset = TRACE_VIEW_MINIMUM_SIZE;
    Header->RingSizeInBytes = Views * Size;
    Header->BlocksFileOffset = Header->RingFileOffset +
                               Header->RingSizeInBytes;
    Header->BlocksTail = TRACE_BLOCKS_NO_TAIL;
    if (Parameters->IsRing && Parameters->MaximumBytes != 0) {
        Header->BlocksCapacity =
            (Parameters->MaximumBytes - Header->BlocksFileOffset) /
            TRACE_VIEW_MINIMUM_SIZE * TRACE_VIEW_MINIMUM_SIZE;
    }
}

//
// Fills the parts of the header template that say what is kept and what is
// left out.
// Parameters: what the user asked for.
//

static
VOID
TraceSessionDescribeLimits(
    _Inout_ PTRACE_SESSION Session,
    _In_ PCTRACE_SESSION_PARAMETERS Parameters
    )
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

    if (Parameters->IsCompact) {
        TraceSessionDescribeCompact(Session, Parameters);
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

//
// Makes the descriptors for what the session creates: it is the user's alone.
//
// The directory's and the files' are both protected from what a directory
// above has to inherit. A process with restricting SIDs could not open again
// what names only its user, so there the directory above decides.
//
// Returns STATUS_SUCCESS, or why it is not known who the user is.
//

static
NTSTATUS
TraceSessionMakePrivate(
    _Inout_ PTRACE_SESSION Session
    )
{
    NTSTATUS Status;

    Status = RtlQueryUser(&Session->Rtl, (HANDLE)-1, &Session->User);
    if (Status == STATUS_NOT_SUPPORTED) {
        return STATUS_SUCCESS;
    }
    if (!NT_SUCCESS(Status)) {
        Session->User.SidSize = 0;
        return Status;
    }
    if (Session->User.IsRestricted) {
        return STATUS_SUCCESS;
    }

    RtlMakePrivateDescriptor(&Session->User,
                             TRUE,
                             TRUE,
                             &Session->DirectoryDescriptor);
    RtlMakePrivateDescriptor(&Session->User,
                             FALSE,
                             TRUE,
                             &Session->FileDescriptor);
    Session->Rtl.DirectorySecurity = &Session->DirectoryDescriptor;
    Session->Rtl.FileSecurity = &Session->FileDescriptor;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
TraceSessionCreate(
    PCRTL Rtl,
    PCTRACE_SESSION_PARAMETERS Parameters,
    PTRACE_SESSION *SessionPointer,
    PRTL_ERROR Error
    )
{
    NTSTATUS Status;
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    PVOID Base;
    PWCHAR DirectoryBuffer;
    PWCHAR ModuleBuffer;
    PWCHAR LogBuffer;
    PWCHAR FallbackBuffer;
    PWCHAR Scratch;
    UNICODE_STRING Name;
    UNICODE_STRING Current;
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
    FallbackBuffer = LogBuffer + TRACE_SESSION_STRING_SIZE / sizeof(WCHAR);
    Scratch = FallbackBuffer + TRACE_SESSION_STRING_SIZE / sizeof(WCHAR);

    RtlCopyBytes(&Session->Rtl, Rtl, sizeof(*Rtl));
    Session->ModuleBase = Parameters->ModuleBase;
    Session->MaximumViewSize = Parameters->MaximumViewSize;
    if (Session->MaximumViewSize == 0) {
        Session->MaximumViewSize = TRACE_VIEW_DEFAULT_SIZE;
    }
    Session->WorkerMain = (PVOID)TraceWorkerMain;
    Session->WorkerAllowed = Parameters->WorkerAllowed;
    Session->WorkerPrepares = TRUE;
    Session->MinimumFree = Parameters->MinimumFree;
    Session->MinimumFreePercent = Parameters->MinimumFreePercent;
    Session->Flush = Parameters->Flush;
    Session->ControlSize = (Parameters->ControlSize + TRACE_CONTROL_LEAST - 1) /
                           TRACE_CONTROL_LEAST * TRACE_CONTROL_LEAST;
    Session->Zeros = (PBYTE)Base + TRACE_SESSION_ZEROS_OFFSET;
    Session->Template = Header;
    Session->Fixed = (ULONGLONG volatile *)
        ((PBYTE)Base + TRACE_SESSION_FIXED_OFFSET);

    Status = TraceSessionMakePrivate(Session);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, "querying the user of the process", NULL, Status);
        goto Error;
    }

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

    Status = TraceSessionMakePath(Rtl,
                                  &Parameters->RootDirectory,
                                  &Name,
                                  DirectoryBuffer,
                                  &Session->Directory);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error,
                    "naming the session directory",
                    &Parameters->RootDirectory,
                    Status);
        goto Error;
    }

    if (Parameters->HasFallback) {
        RtlPointUnicodeString(&Current, L".", 1);
        if (!NT_SUCCESS(TraceSessionMakePath(Rtl,
                                             &Current,
                                             &Name,
                                             FallbackBuffer,
                                             &Session->Fallback))) {

            RtlPointUnicodeString(&Session->Fallback, FallbackBuffer, 0);
        }
    }

    TraceSessionMakeLogName(Session, LogBuffer, Scratch);

    *SessionPointer = Session;
    return STATUS_SUCCESS;

Error:

    RtlFreePages(Rtl, Base);
    return Status;
}

//
// Closes every store of a session but a thread's.
// Except: the store, or the part in a tree, to leave open, or NULL.
//

static
VOID
TraceSessionCloseStores(
    _Inout_ PTRACE_SESSION Session,
    _In_opt_ PTRACE_STORE Except,
    _In_ ULONG Reason
    )
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
{
    //
    // Whatever lock a killed thread held stays held: from here on nothing is
    // waited for.
    //

    Session->IsAlone = TRUE;
    Session->Worker.State = TRACE_WORKER_REFUSED;
    Session->ClockWorker.State = TRACE_WORKER_REFUSED;

    TraceSessionCloseStores(Session,
                            CloseOwn || OwnStore == NULL ? NULL :
                            TraceShareFindEntry(Session, OwnStore),
                            TRACE_REASON_PROCESS_EXIT);

    if (OwnStore != NULL && !CloseOwn) {
        TraceStopFinish(OwnStore, TRACE_REASON_PROCESS_EXIT);
        TraceTreeEnd(OwnStore);
    }
}

_Use_decl_annotations_
VOID
TraceSessionDestroy(
    PTRACE_SESSION Session,
    ULONG Reason
    )
{
    RTL Rtl;
    PTRACE_STORE_BLOCK Block;
    PTRACE_STORE_BLOCK Next;

    TraceThreadStop(Session, &Session->ClockWorker);
    TraceThreadStop(Session, &Session->Worker);

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

    RtlFreePages(&Rtl, Session->CompactMemory);
    RtlFreePages(&Rtl, (PVOID)Session->SpareMemory);
    RtlFreePages(&Rtl, Session);
}
