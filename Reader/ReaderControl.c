/*++

Module Name:

    ReaderControl.c

Abstract:

    The control files of a session's processes, as far as reading goes: the
    actions in the order of time, and what they mean for what was recorded.
    CoreControl.c validates them.

    A process without the file is one that nobody steered; a file that is
    damaged is said to be, and counts for nothing.

--*/

#include "Reader.h"

static const WCHAR ReaderControlFile[] = L"" TRACE_CONTROL_FILE_NAME;

#define READER_CONTROL_MULTIPLIER 0x9E3779B97F4A7C15ULL


_Must_inspect_result_
static
NTSTATUS
ReaderNameControl(
    _In_ PREADER_SESSION Session,
    _In_ ULONG Process,
    _Out_ PUNICODE_STRING NtPath
    )
/*++

Routine Description:

    Names a process's control file, which is beside its stores.

Arguments:

    Session - The session.

    Process - The process's index.

    NtPath - Receives the name, whose buffer is the caller's to free.

Return Value:

    STATUS_SUCCESS, STATUS_NAME_TOO_LONG or STATUS_NO_MEMORY.

--*/
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
           sizeof(ReaderControlFile) + 2 * sizeof(WCHAR);
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
                               ReaderControlFile,
                               RTL_NUMBER_OF(ReaderControlFile) - 1,
                               TRUE);
    }

    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, NtPath->Buffer);
        NtPath->Buffer = NULL;
    }

    return Status;
}


static
LONG
ReaderCompareActions(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders actions by time, then by their places.

Arguments:

    CompareContext - The actions.

    First, Second - Indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PCTRACE_CONTROL_ACTION Actions = (PCTRACE_CONTROL_ACTION)CompareContext;

    if (Actions[First].Timestamp != Actions[Second].Timestamp) {
        return Actions[First].Timestamp < Actions[Second].Timestamp ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}


_Must_inspect_result_
static
NTSTATUS
ReaderSortActions(
    _In_ PCALLOCATOR Allocator,
    _Inout_updates_(Count) PTRACE_CONTROL_ACTION *Actions,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Puts actions in the order of time.

Arguments:

    Allocator - Where they are.

    Actions - The actions; receives where they are now.

    Count - How many there are, not 0.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PTRACE_CONTROL_ACTION Sorted;
    PULONG Order;
    ULONG Index;
    BOOLEAN IsSorted = TRUE;

    for (Index = 1; Index < Count; Index++) {
        if ((*Actions)[Index - 1].Timestamp > (*Actions)[Index].Timestamp) {
            IsSorted = FALSE;
        }
    }

    if (IsSorted) {
        return STATUS_SUCCESS;
    }

    Sorted = (PTRACE_CONTROL_ACTION)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Count * sizeof(TRACE_CONTROL_ACTION));
    Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                        (SIZE_T)Count * sizeof(ULONG));
    if (Sorted == NULL || Order == NULL) {
        Allocator->Free(Allocator->Context, Sorted);
        Allocator->Free(Allocator->Context, Order);
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Count; Index++) {
        Order[Index] = Index;
    }

    ReaderSort(Order, Count, ReaderCompareActions, *Actions);
    for (Index = 0; Index < Count; Index++) {
        Sorted[Index] = (*Actions)[Order[Index]];
    }

    Allocator->Free(Allocator->Context, Order);
    Allocator->Free(Allocator->Context, *Actions);
    *Actions = Sorted;
    return STATUS_SUCCESS;
}


static
VOID
ReaderForgetActions(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_CONTROL Control
    )
/*++

Routine Description:

    Forgets what a control file said.

Arguments:

    Allocator - Where that is.

    Control - What it said.

Return Value:

    None.

--*/
{
    Allocator->Free(Allocator->Context, Control->OldActions);
    Allocator->Free(Allocator->Context, Control->Pauses);
    Control->OldActions = Control->Actions;
    Control->Actions = NULL;
    Control->Pauses = NULL;
    Control->NumberOfActions = 0;
    Control->NumberOfPauses = 0;
    Control->ClearTimestamp = 0;
    Control->PauseHash = 0;
}


_Must_inspect_result_
static
NTSTATUS
ReaderTakeActions(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_CONTROL Control,
    _In_ HANDLE File,
    _In_ ULONG NumberOfPlaces
    )
/*++

Routine Description:

    Reads the actions and finds what they mean.

Arguments:

    Session - The session.

    Control - Receives them; what it knew is forgotten.

    File - The control file, valid.

    NumberOfPlaces - How many places may have an action.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PTRACE_CONTROL_ACTION Actions;
    ULONGLONG Hash = 0;
    ULONG Count = 0;
    ULONG Index;
    ULONG ReadInBytes;
    NTSTATUS Status;

    if (NumberOfPlaces == 0) {
        return STATUS_SUCCESS;
    }

    Actions = (PTRACE_CONTROL_ACTION)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)NumberOfPlaces *
                                sizeof(TRACE_CONTROL_ACTION));
    Control->Pauses = (PCORE_PAUSE)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)NumberOfPlaces * sizeof(CORE_PAUSE));
    Control->Actions = Actions;
    if (Actions == NULL || Control->Pauses == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = RtlReadFile(Session->Context->Rtl,
                         File,
                         TRACE_CONTROL_HEADER_SIZE,
                         Actions,
                         NumberOfPlaces * sizeof(TRACE_CONTROL_ACTION),
                         &ReadInBytes);
    if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
        return Status;
    }

    if (!NT_SUCCESS(Status)) {
        ReadInBytes = 0;
    }

    NumberOfPlaces = ReadInBytes / sizeof(TRACE_CONTROL_ACTION);
    for (Index = 0; Index < NumberOfPlaces; Index++) {
        if (CoreValidateAction(&Actions[Index])) {
            Actions[Count] = Actions[Index];
            Actions[Count].Reserved = Index;
            Count += 1;
        }
    }

    if (Count == 0) {
        return STATUS_SUCCESS;
    }

    Status = ReaderSortActions(Allocator, &Control->Actions, Count);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Actions = Control->Actions;
    Control->NumberOfActions = Count;

    //
    // Without a clock nothing is before or after an action.
    //

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < Count; Index++) {
        if (Actions[Index].Kind == TRACE_ACTION_CLEAR) {
            Control->ClearTimestamp = Actions[Index].Timestamp;
        }
    }

    Control->NumberOfPauses = CoreFindPauses(Actions, Count, Control->Pauses);
    for (Index = 0; Index < Control->NumberOfPauses; Index++) {
        Hash = (Hash ^ Control->Pauses[Index].Stop) *
               READER_CONTROL_MULTIPLIER;
        Hash = (Hash ^ (Hash >> 29) ^ Control->Pauses[Index].Start) *
               READER_CONTROL_MULTIPLIER;
    }

    if (Control->NumberOfPauses != 0) {
        Control->PauseHash = (ULONG)(Hash >> 32) | 1;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadProcessControl(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG Process,
    _Inout_ PBOOLEAN IsNew
    )
/*++

Routine Description:

    Reads a process's control file, if it has one and something in it is new.

Arguments:

    Session - The session.

    Process - The process's index.

    IsNew - Set if the actions are others now.

Return Value:

    STATUS_SUCCESS - Also if there is none, or it cannot be read: the process's
        Control says so.

    STATUS_NO_MEMORY

--*/
{
    PCRTL Rtl = Session->Context->Rtl;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_CONTROL Control = READER_CONTROL_OF(Session, Process);
    PCTRACE_STORE_HEADER Owner = Session->Processes[Process].Header;
    TRACE_CONTROL Header;
    UNICODE_STRING NtPath;
    ULONGLONG FileSize;
    HANDLE File;
    ULONG NumberBefore = Control->Result.NumberOfActions;
    ULONG ReadInBytes;
    NTSTATUS Status;

    Status = ReaderNameControl(Session, Process, &NtPath);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
    }

    Status = RtlOpenFileForReading(Rtl, &NtPath, &File);
    Allocator->Free(Allocator->Context, NtPath.Buffer);
    if (!NT_SUCCESS(Status)) {
        Control->Status = Status;
        Control->IsThere = Status != STATUS_OBJECT_NAME_NOT_FOUND &&
                           Status != STATUS_OBJECT_PATH_NOT_FOUND;
        return STATUS_SUCCESS;
    }

    Control->IsThere = TRUE;
    RtlZeroBytes(&Header, sizeof(Header));
    Status = RtlQueryFileSize(Rtl, File, &FileSize);
    if (NT_SUCCESS(Status) && FileSize != 0) {
        Status = RtlReadFile(Rtl,
                             File,
                             0,
                             &Header,
                             sizeof(Header),
                             &ReadInBytes);
    }

    if (NT_SUCCESS(Status)) {

        CoreValidateControl(&Header,
                            FileSize,
                            Owner->ProcessId,
                            Owner->ProcessCreationTime,
                            &Control->Result);

        //
        // A place that had none may have an action by now.
        //

        if (Control->Result.NumberOfActions != NumberBefore ||
            Control->NumberOfActions != NumberBefore) {
            *IsNew = TRUE;
            ReaderForgetActions(Allocator, Control);
            Status = ReaderTakeActions(Session,
                                       Control,
                                       File,
                                       Control->Result.NumberOfActions);
            if (!NT_SUCCESS(Status)) {
                ReaderForgetActions(Allocator, Control);
            }
        }
    }

    RtlClose(Rtl, File);
    Control->Status = Status;
    return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderMergeActions(
    _Inout_ PREADER_SESSION Session
    )
/*++

Routine Description:

    Puts the actions of all processes into one list.

Arguments:

    Session - The session.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PCREADER_CONTROL Control;
    PCTRACE_CONTROL_ACTION Next;
    PCTRACE_CONTROL_ACTION Best;
    PULONG Taken = NULL;
    ULONG CapacityOfTaken = 0;
    ULONG Count = 0;
    ULONG Owner = 0;
    ULONG Index;
    ULONG Process;
    NTSTATUS Status;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {
        Count += READER_CONTROL_OF(Session, Process)->NumberOfActions;
    }

    Session->NumberOfActions = 0;
    if (Count == 0) {
        return STATUS_SUCCESS;
    }

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Session->Actions,
                             &Session->CapacityOfActions,
                             Count,
                             sizeof(READER_ACTION));
    if (NT_SUCCESS(Status)) {
        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Taken,
                                 &CapacityOfTaken,
                                 Session->NumberOfProcesses,
                                 sizeof(ULONG));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Count; Index++) {

        Best = NULL;
        for (Process = 0; Process < Session->NumberOfProcesses; Process++) {

            Control = READER_CONTROL_OF(Session, Process);
            if (Taken[Process] == Control->NumberOfActions) {
                continue;
            }

            Next = &Control->Actions[Taken[Process]];
            if (Best == NULL || Next->Timestamp < Best->Timestamp) {
                Best = Next;
                Owner = Process;
            }
        }

        Session->Actions[Index].Action = Best;
        Session->Actions[Index].Process = Owner;
        Taken[Owner] += 1;
    }

    Session->NumberOfActions = Count;
    Allocator->Free(Allocator->Context, Taken);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ReaderReadControl(
    PREADER_SESSION Session
    )
/*++

Routine Description:

    Reads the control files of a session's processes.

Arguments:

    Session - The session.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    BOOLEAN IsNew = FALSE;
    ULONG Process;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Process = 0;
         Process < Session->NumberOfProcesses && NT_SUCCESS(Status);
         Process++) {
        Status = ReaderReadProcessControl(Session, Process, &IsNew);
    }

    if (IsNew) {
        Session->NumberOfActions = 0;
        if (NT_SUCCESS(Status)) {
            Status = ReaderMergeActions(Session);
        }
    }

    return Status;
}


_Use_decl_annotations_
VOID
ReaderCloseControl(
    PREADER_SESSION Session
    )
/*++

Routine Description:

    Frees what a session knows of control files.

Arguments:

    Session - The session, with its processes.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Process;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {
        ReaderForgetActions(Allocator, READER_CONTROL_OF(Session, Process));
        ReaderForgetActions(Allocator, READER_CONTROL_OF(Session, Process));
    }

    Allocator->Free(Allocator->Context, Session->Actions);
    Session->Actions = NULL;
    Session->NumberOfActions = 0;
    Session->CapacityOfActions = 0;
}


_Use_decl_annotations_
VOID
ReaderWarnOfControl(
    PREADER_SESSION Session
    )
/*++

Routine Description:

    Says what is wrong with the control file, if something is.

Arguments:

    Session - The session.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;
    PREADER_CONTROL Control;
    ULONG Process;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {

        Control = READER_CONTROL_OF(Session, Process);
        if (Control->IsWarned || !Control->IsThere ||
            (NT_SUCCESS(Control->Status) &&
             Control->Result.State != CoreControlBad &&
             Control->Result.NumberLeftOut == 0)) {
            continue;
        }

        Control->IsWarned = TRUE;
        RtlWriteText(Errors, "TraceReader: warning: ");
        if (Session->NumberOfProcesses > 1) {
            ReaderWriteProcess(Errors, Session, Process);
            RtlWriteText(Errors, ": ");
        }

        RtlWriteText(Errors, TRACE_CONTROL_FILE_NAME ": it ");
        if (!NT_SUCCESS(Control->Status)) {
            RtlWriteText(Errors,
                         "cannot be read: 0x%08X; left out\n",
                         (ULONG)Control->Status);
        } else if (Control->Result.State == CoreControlBad) {
            RtlWriteText(Errors, "%s; left out\n", Control->Result.Problem);
        } else {
            RtlWriteText(Errors,
                         "has %u actions more than are looked at\n",
                         Control->Result.NumberLeftOut);
        }
    }

    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
ULONG
ReaderFindPause(
    PCREADER_CONTROL Control,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Finds the first pause that is not over at a time.

Arguments:

    Control - The process's.

    Timestamp - The time.

Return Value:

    Its index; the number of pauses if there is none.

--*/
{
    ULONG Low = 0;
    ULONG High = Control->NumberOfPauses;
    ULONG Middle;

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (Control->Pauses[Middle].Start > Timestamp) {
            High = Middle;
        } else {
            Low = Middle + 1;
        }
    }

    return Low;
}


_Use_decl_annotations_
PCSZ
ReaderDescribeAction(
    ULONG Kind
    )
/*++

Routine Description:

    Names a kind of action.

Arguments:

    Kind - TRACE_ACTION_*.

Return Value:

    A literal.

--*/
{
    static const PCSZ Names[] = {
        "none", "start", "stop", "clear", "mark", "name"
    };

    return Kind < RTL_NUMBER_OF(Names) ? Names[Kind] : "unknown";
}


_Use_decl_annotations_
ULONG
ReaderFirstInstant(
    const READER_SESSION *Session,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Finds the first action that is not before a time.

Arguments:

    Session - The session.

    Timestamp - The time.

Return Value:

    Its index.  Without a clock, the number of actions.

--*/
{
    ULONG Index = 0;

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        return Session->NumberOfActions;
    }

    while (Index < Session->NumberOfActions &&
           Session->Actions[Index].Action->Timestamp < Timestamp) {
        Index += 1;
    }

    return Index;
}


_Use_decl_annotations_
PCREADER_ACTION
ReaderFindInstant(
    const READER_SESSION *Session,
    PCREADER_OPTIONS Options,
    PULONG Index,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Finds the next action that is shown.

Arguments:

    Session - The session.

    Options - The command's options.

    Index - The action to begin with; receives that of the one that is found,
        or of the first that is later than Timestamp.

    Timestamp - The last time.

Return Value:

    The action; NULL if there is none.

--*/
{
    for (; *Index < Session->NumberOfActions; *Index += 1) {

        PCTRACE_CONTROL_ACTION Action = Session->Actions[*Index].Action;

        if (Action->Timestamp > Timestamp) {
            return NULL;
        }

        if (Action->Kind != TRACE_ACTION_NAME &&
            (Action->ThreadId == 0 ||
             READER_IS_THREAD_SELECTED(Options, Action->ThreadId)) &&
            (Session->NumberOfProcesses == 1 ||
             Action->Timestamp >=
                 READER_CLEAR_OF(Session, Session->Actions[*Index].Process))) {
            return &Session->Actions[*Index];
        }
    }

    return NULL;
}


_Use_decl_annotations_
const CHAR *
ReaderNameInstant(
    PCTRACE_CONTROL_ACTION Action,
    PULONG LengthInBytes
    )
/*++

Routine Description:

    Names an instant.

Arguments:

    Action - The action.

    LengthInBytes - Receives the name's length.

Return Value:

    The name; not cleaned.

--*/
{
    PCSZ Name;

    switch (Action->Kind) {

    case TRACE_ACTION_MARK:
        *LengthInBytes = Action->TextLength;
        return Action->Text;

    case TRACE_ACTION_START:
        Name = "recording started";
        break;

    case TRACE_ACTION_STOP:
        Name = "recording stopped";
        break;

    default:
        Name = "cleared";
        break;
    }

    *LengthInBytes = RtlLengthOfString(Name);
    return Name;
}


_Use_decl_annotations_
VOID
ReaderQueryThreadName(
    const READER_SESSION *Session,
    ULONG ThreadIndex,
    const CHAR **Name,
    PULONG LengthInBytes
    )
/*++

Routine Description:

    Finds a thread's name: the one in its stores' headers, else the last that an
    action gave it while it lived.

Arguments:

    Session - The session.

    ThreadIndex - The thread.

    Name, LengthInBytes - Receive the name; empty if it has none.

Return Value:

    None.

--*/
{
    const READER_THREAD *Thread = &Session->Threads[ThreadIndex];
    PCREADER_CONTROL Control = READER_CONTROL_OF(Session, Thread->Process);
    ULONGLONG After = 0;
    ULONG StoreIndex;
    ULONG Index;

    *Name = "";
    *LengthInBytes = 0;
    for (StoreIndex = Thread->FirstStore;
         StoreIndex != READER_NONE;
         StoreIndex = Session->Stores[StoreIndex]->NextInThread) {

        PCTRACE_STORE_HEADER Header = Session->Stores[StoreIndex]->Header;

        if (Header->ThreadNameLength != 0) {
            *Name = Header->ThreadName;
            *LengthInBytes = Header->ThreadNameLength;
            return;
        }
    }

    if (Control->NumberOfActions == 0) {
        return;
    }

    //
    // An identifier is used again when its thread has ended.
    //

    for (Index = 0; Index < ThreadIndex; Index++) {
        if (Session->Threads[Index].ThreadId == Thread->ThreadId &&
            Session->Threads[Index].Process == Thread->Process &&
            Session->Threads[Index].EndTimestamp > After &&
            Session->Threads[Index].EndTimestamp < Thread->FirstTimestamp) {
            After = Session->Threads[Index].EndTimestamp;
        }
    }

    for (Index = Control->NumberOfActions; Index != 0; Index--) {

        PCTRACE_CONTROL_ACTION Action = &Control->Actions[Index - 1];

        if (Action->Kind == TRACE_ACTION_NAME &&
            Action->ThreadId == Thread->ThreadId &&
            Action->Timestamp > After &&
            (Thread->IsToTheEnd || Action->Timestamp <= Thread->EndTimestamp ||
             Session->Clock.Kind == TRACE_CLOCK_NONE)) {
            *Name = Action->Text;
            *LengthInBytes = Action->TextLength;
            return;
        }
    }
}
