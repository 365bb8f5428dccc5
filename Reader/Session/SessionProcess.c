/*++

Module Name:

    SessionProcess.c

Abstract:

    The processes of a session, and the directories that hold their stores.

    Processes that belong together (a program and those that it starts) have
    their session directories side by side in one directory, which is then what
    is opened.  The time stamp counter is the same for all processes of one
    boot, so that they are on one clock; processes of different boots cannot be
    shown together.

--*/

#include "SessionName.h"
#include "SessionProcess.h"
#include "SessionSource.h"

//
// What NtQueryInformationProcess gives for ProcessTimes.
//

typedef struct _READER_PROCESS_TIMES {
    LARGE_INTEGER CreateTime;
    LARGE_INTEGER ExitTime;
    LARGE_INTEGER KernelTime;
    LARGE_INTEGER UserTime;
} READER_PROCESS_TIMES;

#define READER_PROCESS_ACCESS (PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE)

//
// Two readings that were taken as close to each other as this, in 100 ns
// units, may be in another order by each of the three clocks.
//

#define READER_CLOSE_READINGS 10000000LL

//
// What is shown of a process's name where there are others beside it, in bytes.
//

#define READER_MAXIMUM_PROCESS_NAME 128


//
// Finds out whether a process runs: whether there is one with its identifier
// that was created when it was.
// Process: the process; it keeps its handle while it runs.
//

static
VOID
SessionQueryOneProcess(
    _In_ PCRTL Rtl,
    _Inout_ PREADER_PROCESS Process
    )
{
    READER_PROCESS_TIMES Times;
    OBJECT_ATTRIBUTES Attributes;
    CLIENT_ID ClientId;
    NTSTATUS Status;

    Process->State = ReaderProcessGone;
    if (Process->Handle == NULL) {

        ClientId.UniqueProcess =
            (HANDLE)(ULONG_PTR)Process->Header->ProcessId;
        ClientId.UniqueThread = NULL;
        InitializeObjectAttributes(&Attributes, NULL, 0, NULL, NULL);
        Status = Rtl->NtOpenProcess(&Process->Handle,
                                    READER_PROCESS_ACCESS,
                                    &Attributes,
                                    &ClientId);
        if (!NT_SUCCESS(Status)) {
            Process->Handle = NULL;
            if (Status == STATUS_ACCESS_DENIED) {
                Process->State = ReaderProcessUnknown;
            }
            return;
        }
    }

    Status = Rtl->NtQueryInformationProcess(Process->Handle,
                                            RTL_PROCESS_TIMES,
                                            &Times,
                                            sizeof(Times),
                                            NULL);
    if (!NT_SUCCESS(Status)) {
        Process->State = ReaderProcessUnknown;
        return;
    }

    if ((ULONGLONG)Times.CreateTime.QuadPart ==
            Process->Header->ProcessCreationTime &&
        Times.ExitTime.QuadPart == 0) {
        Process->State = ReaderProcessRunning;
        return;
    }

    RtlClose(Rtl, Process->Handle);
    Process->Handle = NULL;
}


_Use_decl_annotations_
READER_PROCESS_STATE
SessionQueryProcess(
    PREADER_SESSION Session
    )
{
    READER_PROCESS_STATE State = ReaderProcessGone;
    READER_PROCESS Only;
    ULONG Index;

    //
    // A process may be known though none of its stores is good.
    //

    if (Session->NumberOfProcesses == 0 && Session->Header != NULL) {

        RtlZeroBytes(&Only, sizeof(Only));
        Only.Header = Session->Header;
        SessionQueryOneProcess(Session->Context->Rtl, &Only);
        if (Only.Handle != NULL) {
            RtlClose(Session->Context->Rtl, Only.Handle);
        }

        State = Only.State;
    }

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {

        PREADER_PROCESS Process = &Session->Processes[Index];

        SessionQueryOneProcess(Session->Context->Rtl, Process);
        if (Process->State == ReaderProcessRunning ||
            (Process->State == ReaderProcessUnknown &&
             State == ReaderProcessGone)) {
            State = Process->State;
        }
    }

    Session->ProcessState = State;
    return State;
}


_Use_decl_annotations_
BOOLEAN
SessionIsWriterGone(
    const READER_SESSION *Session,
    PCREADER_STORE Store
    )
{
    ULONG Process = READER_PROCESS_OF_STORE(Session, Store);

    return Process != READER_NONE &&
           Session->Processes[Process].State == ReaderProcessGone;
}


_Use_decl_annotations_
HANDLE
SessionGetLastProcess(
    const READER_SESSION *Session
    )
{
    HANDLE Last = NULL;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {

        HANDLE Handle = Session->Processes[Index].Handle;

        if (Handle != NULL) {

            if (Last != NULL) {
                return NULL;
            }

            Last = Handle;
        }
    }

    return Last;
}


_Use_decl_annotations_
NTSTATUS
SessionAddDirectory(
    PREADER_SESSION Session,
    PCUNICODE_STRING Name
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_DIRECTORY Directory;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Session->Directories,
                           &Session->CapacityOfDirectories,
                           Session->NumberOfDirectories + 1,
                           sizeof(READER_DIRECTORY));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Directory = &Session->Directories[Session->NumberOfDirectories];
    Status = SessionNameCopy(Allocator, Name, &Directory->Name);
    if (NT_SUCCESS(Status)) {
        Directory->Process = READER_NONE;
        Session->NumberOfDirectories += 1;
    }

    return Status;
}


//
// Adds a directory's entry to the directories if it is one that is not known.
// CallbackContext: the session; VisitedDirectory is the one that was found
// last.
// IsDirectory: whether the entry is one.
//

static
NTSTATUS
SessionVisitDirectory(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_SESSION Session = (PREADER_SESSION)CallbackContext;
    ULONG Number = Session->NumberOfDirectories;
    ULONG Index = Session->VisitedDirectory;
    ULONG Count;

    UNREFERENCED_PARAMETER(SizeInBytes);

    if (!IsDirectory || Name->Length == 0) {
        return STATUS_SUCCESS;
    }

    //
    // They come in the same order as the last time, but for new ones.
    //

    for (Count = 0; Count < Number; Count++) {

        Index = Index + 1 < Number ? Index + 1 : 0;
        if (Session->Directories[Index].Name.Length == Name->Length &&
            RtlAreBytesEqual(Session->Directories[Index].Name.Buffer,
                             Name->Buffer,
                             Name->Length)) {
            Session->VisitedDirectory = Index;
            return STATUS_SUCCESS;
        }
    }

    return SessionAdmitName(Session, Name) ? SessionAddDirectory(Session, Name)
                                         : STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
SessionListDirectories(
    PREADER_SESSION Session,
    PRTL_DIRECTORY_CALLBACK Callback
    )
{
    ULONG NumberOfStores;
    ULONG Index;
    NTSTATUS Status;

    Session->Path.Length = Session->DirectoryLength;
    Session->VisitedDirectory = 0;
    Status = SessionListDirectory(Session->Context,
                                  Session->Pack,
                                  &Session->Path,
                                  SessionVisitDirectory,
                                  Session);
    for (Index = 1;
         NT_SUCCESS(Status) && Index < Session->NumberOfDirectories;
         Index++) {

        PREADER_DIRECTORY Directory = &Session->Directories[Index];

        if (Directory->IsLeftOut) {
            continue;
        }

        Session->Path.Length = Session->DirectoryLength;
        if (!NT_SUCCESS(RtlAppendPath(&Session->Path,
                                      Directory->Name.Buffer,
                                      Directory->Name.Length / sizeof(WCHAR),
                                      TRUE))) {
            continue;
        }

        Session->VisitedDirectory = Index;
        NumberOfStores = Session->NumberOfStores;
        Status = SessionListDirectory(Session->Context,
                                      Session->Pack,
                                      &Session->Path,
                                      Callback,
                                      Session);
        if (!NT_SUCCESS(Status) &&
            Status != STATUS_NO_MEMORY &&
            Status != STATUS_NAME_TOO_LONG) {
            Status = STATUS_SUCCESS;
        }

        if (Session->NumberOfStores != NumberOfStores) {
            Session->HasDirectories = TRUE;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    Session->VisitedDirectory = 0;
    return Status;
}


//
// Was a store made on a boot?
//

static
BOOLEAN
SessionIsOnBoot(
    _In_ const READER_BOOT *Boot,
    _In_ PCTRACE_STORE_HEADER Second
    )
{
    PCTRACE_CLOCK_ANCHOR Earlier = &Boot->Anchor;
    PCTRACE_CLOCK_ANCHOR Later = &Second->OpenAnchor;
    ULONGLONG Frequency = Boot->QpcFrequency;
    CORE_CLOCK Clock;
    LONGLONG Counted;
    LONGLONG Passed;

    if (!CoreIsAnchorValid(Earlier) || !CoreIsAnchorValid(Later)) {
        return TRUE;
    }

    if (Frequency != Second->QpcFrequency) {
        return FALSE;
    }

    Counted = (LONGLONG)(Later->Qpc - Earlier->Qpc);
    Passed = (LONGLONG)(Later->SystemTime - Earlier->SystemTime);
    if (Passed > -READER_CLOSE_READINGS && Passed < READER_CLOSE_READINGS &&
        (ULONGLONG)(Counted < 0 ? -Counted : Counted) <= Frequency) {
        return TRUE;
    }

    if (Counted < 0) {
        Earlier = &Second->OpenAnchor;
        Later = &Boot->Anchor;
    }

    CoreInitializeClock(&Clock);
    CoreAddAnchor(&Clock, Earlier, Frequency);
    return CoreIsSameBoot(&Clock, Later, Frequency);
}


_Use_decl_annotations_
BOOLEAN
SessionIsOnSameBoot(
    PCTRACE_STORE_HEADER First,
    PCTRACE_STORE_HEADER Second
    )
{
    READER_BOOT Boot;

    Boot.Anchor = First->OpenAnchor;
    Boot.QpcFrequency = First->QpcFrequency;
    return SessionIsOnBoot(&Boot, Second);
}


//
// Finds the boot that a store was made on, or adds it.
//

_Must_inspect_result_
static
NTSTATUS
SessionFindBoot(
    _Inout_ PREADER_SESSION Session,
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONG Boot
    )
{
    ULONG Capacity = Session->NumberOfBoots;
    NTSTATUS Status;

    for (*Boot = 0; *Boot < Session->NumberOfBoots; *Boot += 1) {
        if (SessionIsOnBoot(&Session->Boots[*Boot], Header)) {
            return STATUS_SUCCESS;
        }
    }

    Status = BaseGrowArray(Session->Context->Allocator,
                           (PVOID *)&Session->Boots,
                           &Capacity,
                           *Boot + 1,
                           sizeof(READER_BOOT));
    if (NT_SUCCESS(Status)) {
        Session->Boots[*Boot].Anchor = Header->OpenAnchor;
        Session->Boots[*Boot].QpcFrequency = Header->QpcFrequency;
        Session->NumberOfBoots += 1;
    }

    return Status;
}


//
// Decides whether --process selects a process.
// Selection: an identifier, or the beginning of the image's name in any case;
// NULL selects all.
//

static
BOOLEAN
SessionIsProcessSelected(
    _In_ PCRTL Rtl,
    _In_opt_z_ PCWSTR Selection,
    _In_ PCREADER_PROCESS Process
    )
{
    ULONGLONG Number;
    WCHAR Name[300];
    ULONG Length;
    ULONG Index;

    if (Selection == NULL) {
        return TRUE;
    }

    if (RtlParseNumber(Selection, RtlLengthOfWideString(Selection), &Number)) {
        return Number == Process->Header->ProcessId;
    }

    RtlUtf8ToWide(Process->Name,
                  Process->NameLength,
                  Name,
                  RTL_NUMBER_OF(Name),
                  &Length);
    for (Index = 0; Selection[Index] != 0; Index++) {
        if (Index >= Length ||
            Rtl->RtlUpcaseUnicodeChar(Selection[Index]) !=
                Rtl->RtlUpcaseUnicodeChar(Name[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}


static
VOID
SessionDescribeProcess(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PREADER_PROCESS Process
    )
{
    ULONG Index;

    RtlZeroBytes(Process, sizeof(*Process));
    Process->Header = Header;
    Index = SessionSkipFolders(Header->ProcessPath, Header->ProcessPathLength);
    Process->Name = Header->ProcessPath + Index;
    Process->NameLength = Header->ProcessPathLength - Index;
}


_Use_decl_annotations_
NTSTATUS
SessionAssignProcess(
    PREADER_SESSION Session,
    PCREADER_STORE Store
    )
{
    READER_PROCESS New;
    ULONG Boot;
    NTSTATUS Status;

    SessionDescribeProcess(Store->Header, &New);
    if (!SessionIsProcessSelected(Session->Context->Rtl,
                                  Session->ProcessSelection,
                                  &New)) {
        Session->Directories[Store->Directory].IsLeftOut = TRUE;
        return STATUS_SUCCESS;
    }

    if (Session->IsByBoot) {

        Status = SessionFindBoot(Session, Store->Header, &Boot);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Boot != Session->Boot) {
            Session->Directories[Store->Directory].IsLeftOut = TRUE;
            return STATUS_SUCCESS;
        }

    } else if (Session->NumberOfProcesses != 0 &&
               !SessionIsOnSameBoot(Session->Processes[0].Header,
                                    Store->Header)) {
        return STATUS_NOT_SUPPORTED;
    }

    return SessionAddProcess(Session, Store);
}


_Use_decl_annotations_
NTSTATUS
SessionAddProcess(
    PREADER_SESSION Session,
    PCREADER_STORE Store
    )
{
    PREADER_DIRECTORY Directory = &Session->Directories[Store->Directory];
    PCTRACE_STORE_HEADER Header = Store->Header;
    PREADER_PROCESS Process;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {

        Process = &Session->Processes[Index];
        if (Process->Header->ProcessId == Header->ProcessId &&
            Process->Header->ProcessCreationTime ==
                Header->ProcessCreationTime) {
            Directory->Process = Index;
            return STATUS_SUCCESS;
        }
    }

    Status = BaseGrowArray(Session->Context->Allocator,
                           (PVOID *)&Session->Processes,
                           &Session->CapacityOfProcesses,
                           Session->NumberOfProcesses + 1,
                           sizeof(READER_PROCESS));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Directory->Process = Session->NumberOfProcesses;
    SessionDescribeProcess(Header,
                           &Session->Processes[Session->NumberOfProcesses]);
    Session->NumberOfProcesses += 1;
    if (Session->Header == NULL) {
        Session->Header = Header;
    }

    SessionQueryOneProcess(Session->Context->Rtl,
                           &Session->Processes[Directory->Process]);
    Process = &Session->Processes[Directory->Process];
    if (Session->NumberOfProcesses == 1 ||
        Process->State == ReaderProcessRunning ||
        (Process->State == ReaderProcessUnknown &&
         Session->ProcessState == ReaderProcessGone)) {
        Session->ProcessState = Process->State;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
BOOLEAN
SessionIsStoreCopied(
    const READER_SESSION *Session,
    PCREADER_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    PCTRACE_STORE_HEADER Known;
    ULONG Index;

    for (Index = 0;
         Session->HasDirectories && Index < Session->NumberOfStores;
         Index++) {

        PCREADER_STORE Other = Session->Stores[Index];

        if (Other->Directory == Store->Directory ||
            Other->Module == READER_NONE ||
            READER_PROCESS_OF_STORE(Session, Other) !=
                READER_PROCESS_OF_STORE(Session, Store)) {
            continue;
        }

        Known = Other->Header;
        if (Known->ThreadId == Header->ThreadId &&
            Known->SequenceNumber == Header->SequenceNumber &&
            Known->ModuleBase == Header->ModuleBase &&
            Known->OpenAnchor.Tsc == Header->OpenAnchor.Tsc) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
SessionIsParent(
    PCTRACE_STORE_HEADER Parent,
    PCTRACE_STORE_HEADER Child
    )
{
    //
    // An identifier is used again: not a process that had ended by then.
    //

    return Child->ParentProcessId != 0 &&
           Parent->ProcessId == Child->ParentProcessId &&
           Parent->ProcessCreationTime <= Child->ProcessCreationTime &&
           (Parent->State != TRACE_STATE_CLOSED ||
            Parent->Reason != TRACE_REASON_PROCESS_EXIT ||
            !CoreIsAnchorValid(&Parent->LastAnchor) ||
            Parent->LastAnchor.SystemTime >= Child->ProcessCreationTime) &&
           SessionIsOnSameBoot(Parent, Child);
}


_Use_decl_annotations_
ULONG
SessionProcessFindParent(
    const READER_SESSION *Session,
    ULONG Process
    )
{
    PCTRACE_STORE_HEADER Header = Session->Processes[Process].Header;
    ULONG Parent = READER_NONE;
    ULONG Index;

    //
    // An identifier is used again: the parent is the last that had it when the
    // process was created.
    //

    for (Index = 0;
         Header->ParentProcessId != 0 && Index < Session->NumberOfProcesses;
         Index++) {

        PCTRACE_STORE_HEADER Other = Session->Processes[Index].Header;

        if (Index != Process &&
            SessionIsParent(Other, Header) &&
            (Parent == READER_NONE ||
             Other->ProcessCreationTime >
                 Session->Processes[Parent].Header->ProcessCreationTime)) {
            Parent = Index;
        }
    }

    return Parent;
}


//
// The process that a process's run began with: its parent's parent and so on,
// as far as they are known.
//

static
ULONG
SessionFindRun(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    )
{
    ULONG Parent = Process;
    ULONG Step;

    //
    // Hostile stores may name each other.
    //

    for (Step = 0;
         Parent != READER_NONE && Step < Session->NumberOfProcesses;
         Step++) {
        Process = Parent;
        Parent = SessionProcessFindParent(Session, Process);
    }

    return Process;
}


_Use_decl_annotations_
NTSTATUS
SessionChooseRun(
    PREADER_SESSION Session
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG Number = Session->NumberOfProcesses;
    ULONG Chosen = READER_NONE;
    PULONG Runs;
    PULONG Places;
    ULONG Index;

    if (Number == 0) {
        return STATUS_SUCCESS;
    }

    Runs = (PULONG)Allocator->Allocate(Allocator->Context,
                                       (SIZE_T)Number * 2 * sizeof(ULONG));
    if (Runs == NULL) {
        return STATUS_NO_MEMORY;
    }

    //
    // The one that began last of those that --process selects something of.
    //

    Places = Runs + Number;
    for (Index = 0; Index < Number; Index++) {

        ULONGLONG Time;
        ULONG Run = SessionFindRun(Session, Index);

        Runs[Index] = Run;
        Session->NumberOfRuns += Run == Index;
        Time = Session->Processes[Run].Header->ProcessCreationTime;
        if (SessionIsProcessSelected(Context->Rtl,
                                     Session->ProcessSelection,
                                     &Session->Processes[Index]) &&
            (Chosen == READER_NONE ||
             Time >= Session->Processes[Chosen].Header->ProcessCreationTime)) {
            Chosen = Run;
        }
    }

    Session->NumberOfProcesses = 0;
    for (Index = 0; Index < Number; Index++) {

        PREADER_PROCESS Process = &Session->Processes[Index];

        Places[Index] = READER_NONE;
        if (Runs[Index] == Chosen &&
            SessionIsProcessSelected(Context->Rtl,
                                     Session->ProcessSelection,
                                     Process)) {
            Places[Index] = Session->NumberOfProcesses;
            Session->Processes[Session->NumberOfProcesses] = *Process;
            Session->NumberOfProcesses += 1;
        } else if (Process->Handle != NULL) {
            RtlClose(Context->Rtl, Process->Handle);
        }
    }

    for (Index = 0; Index < Session->NumberOfDirectories; Index++) {

        PREADER_DIRECTORY Directory = &Session->Directories[Index];

        if (Directory->Process != READER_NONE) {
            Directory->Process = Places[Directory->Process];
            Directory->IsLeftOut = Directory->Process == READER_NONE;
        }
    }

    Session->Header = Session->NumberOfProcesses == 0
                          ? NULL
                          : Session->Processes[0].Header;
    Session->ProcessState = ReaderProcessGone;
    (VOID)SessionQueryProcess(Session);
    Allocator->Free(Allocator->Context, Runs);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
SessionWriteProcess(
    PRTL_WRITER Writer,
    const READER_SESSION *Session,
    ULONG Process
    )
{
    PCREADER_PROCESS Known = &Session->Processes[Process];
    ULONG Length = Known->NameLength;

    if (Length > READER_MAXIMUM_PROCESS_NAME) {

        //
        // Not in the middle of a character.
        //

        Length = READER_MAXIMUM_PROCESS_NAME;
        while (Length != 0 && (Known->Name[Length] & 0xC0) == 0x80) {
            Length -= 1;
        }
    }

    RtlWriteText(Writer, "process %u ", Known->Header->ProcessId);
    RtlWriteCleanText(Writer, Known->Name, Length);
}


_Use_decl_annotations_
VOID
SessionRundownProcesses(
    PREADER_SESSION Session
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        if (Session->Processes[Index].Handle != NULL) {
            RtlClose(Context->Rtl, Session->Processes[Index].Handle);
        }
    }

    for (Index = 0; Index < Session->NumberOfDirectories; Index++) {
        Allocator->Free(Allocator->Context,
                        Session->Directories[Index].Name.Buffer);
    }

    Allocator->Free(Allocator->Context, Session->Processes);
    Allocator->Free(Allocator->Context, Session->Directories);
    Allocator->Free(Allocator->Context, Session->Boots);
}


_Use_decl_annotations_
NTSTATUS
SessionNameProcessFile(
    PREADER_SESSION Session,
    ULONG Process,
    PCWSTR File,
    ULONG LengthInChars,
    PUNICODE_STRING NtPath
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    UNICODE_STRING Name;
    ULONG Directory;
    ULONG Size;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Directory = 0;
         Directory + 1 < Session->NumberOfDirectories;
         Directory++) {
        if (Session->Directories[Directory].Process == Process) {
            break;
        }
    }

    Name.Length = 0;
    Session->Path.Length = Session->DirectoryLength;
    if (!Session->IsDirectory) {
        RtlBaseName(&Session->Path, &Name);
    }

    NtPath->Length = Session->DirectoryLength - Name.Length;
    Size = NtPath->Length + Session->Directories[Directory].Name.Length +
           LengthInChars * sizeof(WCHAR) + 2 * sizeof(WCHAR);
    if (Size > 0xFFFF) {
        NtPath->Buffer = NULL;
        return STATUS_NAME_TOO_LONG;
    }

    NtPath->MaximumLength = (USHORT)Size;
    NtPath->Buffer = (PWSTR)Allocator->Allocate(Allocator->Context, Size);
    if (NtPath->Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(NtPath->Buffer, Session->Path.Buffer, NtPath->Length);
    if (Session->Directories[Directory].Name.Length != 0) {
        Status = RtlAppendPath(NtPath,
                               Session->Directories[Directory].Name.Buffer,
                               Session->Directories[Directory].Name.Length /
                                   sizeof(WCHAR),
                               TRUE);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlAppendPath(NtPath,
                               File,
                               LengthInChars,
                               TRUE);
    }

    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, NtPath->Buffer);
        NtPath->Buffer = NULL;
    }

    return Status;
}
