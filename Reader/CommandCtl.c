/*++

Module Name:

    CommandCtl.c

Abstract:

    TraceReader ctl: steers a program that is being recorded, through its
    session's control file (TraceFormat.h), and copies what it has recorded so
    far.

    The control file is mapped for writing only to append an action.  It is read
    through copies, and never believed where it says how large it is.

--*/

#include "ReaderFile.h"

//
// How long an answer is waited for, and how often it is looked for, in 100 ns
// units.
//

#define READER_CTL_PATIENCE     10000000LL      // 1 s
#define READER_CTL_INTERVAL     50000LL         // 5 ms

//
// What is copied at a time.
//

#define READER_CTL_BUFFER_SIZE  0x10000u
#define READER_CTL_RECORDS      (READER_CTL_BUFFER_SIZE / TRACE_RECORD_SIZE)
#define READER_CTL_ACTIONS                                                  \
    (READER_CTL_BUFFER_SIZE / TRACE_CONTROL_ACTION_SIZE)

//
// How much of a log is copied, how often a tree is tried that is being
// cleared, and how many actions status shows in text.
//

#define READER_CTL_LARGEST_LOG  0x1000000u
#define READER_CTL_TREE_TRIES   100u
#define READER_CTL_SHOWN        10u

typedef enum _READER_CTL_VERB {
    ReaderCtlStart = 0,
    ReaderCtlStop,
    ReaderCtlClear,
    ReaderCtlMark,
    ReaderCtlSnapshot,
    ReaderCtlStatus,
    ReaderCtlUnknown
} READER_CTL_VERB;

static const struct {
    PCSZ Name;
    PCSZ Argument;                  // what comes behind it, or NULL
    ULONG Kind;                     // TRACE_ACTION_*; 0: it appends none
} ReaderCtlVerbs[] = {
    { "start", NULL, TRACE_ACTION_START },
    { "stop", NULL, TRACE_ACTION_STOP },
    { "clear", NULL, TRACE_ACTION_CLEAR },
    { "mark", "TEXT", TRACE_ACTION_MARK },
    { "snapshot", "DIR", TRACE_ACTION_NONE },
    { "status", NULL, TRACE_ACTION_NONE }
};

static const PCSZ ReaderCtlKinds[] = {
    "unfinished", "start", "stop", "clear", "mark", "name", "given up"
};

typedef struct _READER_CTL {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_CTL_VERB Verb;
    READER_SESSION Session;
    PREADER_SESSION Whole;          // that this is one of; NULL: it is alone
    ULONG Process;                  // index, in that
    TRACE_STORE_HEADER Identity;    // for a session without a valid store
    HANDLE File;                    // NULL: there is no control file
    TRACE_CONTROL Header;           // a copy
    ULONG Capacity;                 // actions
    ULONG Count;                    // claimed
    ULONG NumberOfInstances;
    ULONG LastAction;               // start or stop; READER_NONE: none yet
    BOOLEAN IsStopped;
    ULONGLONG Since;                // FILETIME
    UNICODE_STRING Target;          // snapshot's directory
    USHORT TargetLength;
    ULONGLONG Buffer[READER_CTL_BUFFER_SIZE / sizeof(ULONGLONG)];
    WCHAR TargetBuffer[RTL_MAXIMUM_PATH_IN_CHARS];
} READER_CTL;
typedef READER_CTL *PREADER_CTL;

static const READER_COLUMN ReaderCtlSessionColumns[] = {
    { "Process", "process_id", ReaderColumnNumber, 0 },
    { "State", "process", ReaderColumnText, 0 },
    { "Recording", "recording", ReaderColumnText, 0 },
    { "Since", "since", ReaderColumnDate, 0 },
    { "Actions", "actions", ReaderColumnNumber, 0 },
    { "Room for", "capacity", ReaderColumnNumber, 0 },
    { "Modules that follow", "instances", ReaderColumnNumber, 0 }
};

static const READER_TABLE ReaderCtlSessionTable = {
    "session",
    ReaderCtlSessionColumns,
    RTL_NUMBER_OF(ReaderCtlSessionColumns),
    TRUE
};

static const READER_COLUMN ReaderCtlInstanceColumns[] = {
    { "Module", "module", ReaderColumnText, 24 },
    { "Base", "module_base", ReaderColumnHexadecimal, 18 },
    { "Seen", "seen", ReaderColumnNumber, 8 }
};

static const READER_TABLE ReaderCtlInstanceTable = {
    "instances",
    ReaderCtlInstanceColumns,
    RTL_NUMBER_OF(ReaderCtlInstanceColumns),
    FALSE
};

static const READER_COLUMN ReaderCtlStoreColumns[] = {
    { "Store", "store", ReaderColumnText, 32 },
    { "Thread", "thread_id", ReaderColumnNumber, 8 },
    { "State", "state", ReaderColumnText, 8 },
    { "Recording", "recording", ReaderColumnText, 9 },
    { "Records", "records", ReaderColumnNumber, 12 },
    { "Nodes", "nodes", ReaderColumnNumber, 8 },
    { "Paused", "events_paused", ReaderColumnNumber, 12 },
    { "Lost", "events_lost", ReaderColumnNumber, 8 },
    { "Actions", "actions", ReaderColumnNumber, 7 },
    { "Name", "name", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderCtlStoreTable = {
    "stores",
    ReaderCtlStoreColumns,
    RTL_NUMBER_OF(ReaderCtlStoreColumns),
    FALSE
};

static const READER_COLUMN ReaderCtlActionColumns[] = {
    { "Action", "action", ReaderColumnNumber, 6 },
    { "Time", "time", ReaderColumnDate, 24 },
    { "Kind", "kind", ReaderColumnText, 10 },
    { "Thread", "thread_id", ReaderColumnNumber, 8 },
    { "Text", "text", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderCtlActionTable = {
    "actions",
    ReaderCtlActionColumns,
    RTL_NUMBER_OF(ReaderCtlActionColumns),
    FALSE
};


static
BOOLEAN
ReaderCtlUsage(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _Out_ READER_CTL_VERB *Verb
    )
/*++

Routine Description:

    Finds the verb, and checks what comes behind it.

Arguments:

    Context - The context.

    Options - The options.

    Verb - Receives the verb.

Return Value:

    FALSE if there is none, or too much or too little behind it; the error has
    been written.

--*/
{
    PRTL_WRITER Errors = Context->Errors;
    BOOLEAN IsGiven = Options->Second[0] != 0;
    ULONG Index;

    *Verb = ReaderCtlUnknown;
    for (Index = 0; Index < RTL_NUMBER_OF(ReaderCtlVerbs); Index++) {
        if (RtlAreStringsEqual(ReaderCtlVerbs[Index].Name,
                               Options->FirstUtf8)) {
            *Verb = (READER_CTL_VERB)Index;
            break;
        }
    }

    if (*Verb == ReaderCtlUnknown) {

        RtlWriteText(Errors,
                     "TraceReader: ctl: unknown verb %s: it is one of start, "
                     "stop, clear, mark, snapshot and status",
                     Options->FirstUtf8);

    } else if (ReaderCtlVerbs[Index].Argument != NULL && !IsGiven) {

        RtlWriteText(Errors,
                     "TraceReader: ctl: %s needs %s",
                     ReaderCtlVerbs[Index].Name,
                     ReaderCtlVerbs[Index].Argument);

    } else if (ReaderCtlVerbs[Index].Argument == NULL && IsGiven) {

        RtlWriteText(Errors,
                     "TraceReader: ctl: nothing comes behind %s: %s",
                     ReaderCtlVerbs[Index].Name,
                     Options->SecondUtf8);

    } else {
        return TRUE;
    }

    RtlWriteText(Errors, " (see TraceReader ctl --help)\n");
    RtlFlushWriter(Errors);
    return FALSE;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlNameBeside(
    _Inout_ PREADER_SESSION Session,
    _In_ PCUNICODE_STRING Name
    )
/*++

Routine Description:

    Makes Session->Path that of a file in the session's directory.  The caller
    sets its length back to DirectoryLength.

Arguments:

    Session - The session.

    Name - The file's name.

Return Value:

    STATUS_SUCCESS or STATUS_NAME_TOO_LONG.

--*/
{
    UNICODE_STRING Base;

    Session->Path.Length = Session->DirectoryLength;
    if (!Session->IsDirectory) {
        RtlBaseName(&Session->Path, &Base);
        Session->Path.Length -= Base.Length;
    }

    return RtlAppendPath(&Session->Path,
                         Name->Buffer,
                         Name->Length / sizeof(WCHAR),
                         TRUE);
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlOpenFile(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG Directory,
    _In_ BOOLEAN IsWritten
    )
/*++

Routine Description:

    Opens a control file.

Arguments:

    Ctl - The command's state.

    Directory - The index of the directory that it is in.

    IsWritten - Whether an action is to be appended.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Ctl->Session;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING Name;
    HANDLE File;
    NTSTATUS Status;

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    Status = STATUS_SUCCESS;
    if (Session->Directories[Directory].Name.Length == 0) {
        Status = ReaderCtlNameBeside(Session, &Name);
    } else {
        Status = ReaderCtlNameBeside(Session,
                                     &Session->Directories[Directory].Name);
        if (NT_SUCCESS(Status)) {
            Status = RtlAppendPath(&Session->Path,
                                   Name.Buffer,
                                   Name.Length / sizeof(WCHAR),
                                   TRUE);
        }
    }

    if (NT_SUCCESS(Status)) {

        InitializeObjectAttributes(&Attributes,
                                   &Session->Path,
                                   OBJ_CASE_INSENSITIVE,
                                   NULL,
                                   NULL);
        Status = Ctl->Context->Rtl->NtCreateFile(
            &File,
            FILE_GENERIC_READ | (IsWritten ? FILE_GENERIC_WRITE : 0),
            &Attributes,
            &IoStatus,
            NULL,
            FILE_ATTRIBUTE_NORMAL,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            FILE_OPEN,
            FILE_NON_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT,
            NULL,
            0);
        if (NT_SUCCESS(Status)) {
            Ctl->File = File;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlReadHeader(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Reads the control file's header.

Arguments:

    Ctl - The command's state, with the file open.

Return Value:

    STATUS_SUCCESS, STATUS_FILE_INVALID, or what failed.

--*/
{
    PCRTL Rtl = Ctl->Context->Rtl;
    PCTRACE_STORE_HEADER Header = Ctl->Session.Header;
    PCTRACE_CONTROL Control = &Ctl->Header;
    ULONGLONG Size;
    ULONG Read;
    ULONG Index;
    NTSTATUS Status;

    Status = RtlQueryFileSize(Rtl, Ctl->File, &Size);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = RtlReadFile(Rtl,
                         Ctl->File,
                         0,
                         &Ctl->Header,
                         sizeof(Ctl->Header),
                         &Read);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_END_OF_FILE ? STATUS_FILE_INVALID : Status;
    }

    if (Read != sizeof(Ctl->Header) ||
        Size < TRACE_CONTROL_HEADER_SIZE + TRACE_CONTROL_ACTION_SIZE ||
        Control->Magic != TRACE_CONTROL_MAGIC ||
        Control->MajorVersion != TRACE_FORMAT_MAJOR ||
        (Header != NULL && Ctl->Session.NumberOfDirectories == 1 &&
         (Control->ProcessId != Header->ProcessId ||
          Control->ProcessCreationTime != Header->ProcessCreationTime))) {

        return STATUS_FILE_INVALID;
    }

    Size = (Size - TRACE_CONTROL_HEADER_SIZE) / TRACE_CONTROL_ACTION_SIZE;
    Ctl->Capacity = Control->Capacity < Size ? Control->Capacity : (ULONG)Size;
    Ctl->Count = Control->NumberClaimed < Ctl->Capacity
                     ? Control->NumberClaimed
                     : Ctl->Capacity;

    Ctl->NumberOfInstances = 0;
    for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index++) {
        if (Control->Instances[Index].ModuleBase != 0) {
            Ctl->NumberOfInstances += 1;
        }
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlReadActions(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG First,
    _Out_ PULONG Number
    )
/*++

Routine Description:

    Reads actions into the buffer.

Arguments:

    Ctl - The command's state, with the header read.

    First - The first one.

    Number - Receives how many there are; 0 at the end.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONG Wanted = Ctl->Count - First;
    ULONG Read;
    NTSTATUS Status;

    *Number = 0;
    if (First >= Ctl->Count) {
        return STATUS_SUCCESS;
    }

    if (Wanted > READER_CTL_ACTIONS) {
        Wanted = READER_CTL_ACTIONS;
    }

    Status = RtlReadFile(Ctl->Context->Rtl,
                         Ctl->File,
                         TRACE_CONTROL_HEADER_SIZE +
                             (ULONGLONG)First * TRACE_CONTROL_ACTION_SIZE,
                         Ctl->Buffer,
                         Wanted * TRACE_CONTROL_ACTION_SIZE,
                         &Read);
    if (NT_SUCCESS(Status)) {
        *Number = Read / TRACE_CONTROL_ACTION_SIZE;
    }

    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlFindState(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Finds out whether recording is stopped, and since when.

Arguments:

    Ctl - The command's state, with the header read.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCTRACE_CONTROL_ACTION Action;
    BOOLEAN IsStop;
    ULONG First;
    ULONG Number;
    ULONG Index;
    NTSTATUS Status;

    Ctl->IsStopped = FALSE;
    Ctl->LastAction = READER_NONE;
    Ctl->Since = 0;

    for (First = 0; First < Ctl->Count; First += Number) {

        Status = ReaderCtlReadActions(Ctl, First, &Number);
        if (!NT_SUCCESS(Status) || Number == 0) {
            return Status;
        }

        for (Index = 0; Index < Number; Index++) {
            Action = (PCTRACE_CONTROL_ACTION)Ctl->Buffer + Index;
            if (Action->Kind != TRACE_ACTION_START &&
                Action->Kind != TRACE_ACTION_STOP) {
                continue;
            }

            IsStop = Action->Kind == TRACE_ACTION_STOP;
            if (IsStop != Ctl->IsStopped) {
                Ctl->IsStopped = IsStop;
                Ctl->LastAction = First + Index;
                Ctl->Since = Action->SystemTime;
            }
        }
    }

    return STATUS_SUCCESS;
}


static
PCSZ
ReaderCtlDescribeProcess(
    _In_ READER_PROCESS_STATE State
    )
/*++

Routine Description:

    Puts a process's state in a word.

Arguments:

    State - The state.

Return Value:

    A literal.

--*/
{
    switch (State) {
    case ReaderProcessRunning:
        return "running";
    case ReaderProcessGone:
        return "ended";
    default:
        return "unknown";
    }
}


static
BOOLEAN
ReaderCtlAppend(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG Kind,
    _In_z_ PCSZ Text,
    _Out_ PULONG Number,
    _Out_ PNTSTATUS StatusPointer
    )
/*++

Routine Description:

    Appends an action.

Arguments:

    Ctl - The command's state, with the control file open for writing.

    Kind - TRACE_ACTION_*.

    Text - Its text; what does not fit is cut at a character.

    Number - Receives the action's number.

    StatusPointer - Receives what failed.

Return Value:

    FALSE if it failed, STATUS_LOG_FULL among others.

--*/
{
    PCRTL Rtl = Ctl->Context->Rtl;
    ULONGLONG Size = TRACE_CONTROL_HEADER_SIZE +
                     (ULONGLONG)Ctl->Capacity * TRACE_CONTROL_ACTION_SIZE;
    PTRACE_CONTROL Control;
    PTRACE_CONTROL_ACTION Action;
    LARGE_INTEGER Now;
    HANDLE Section;
    PVOID Base;
    ULONG Length = RtlLengthOfString(Text);
    ULONG Index = Ctl->Capacity;
    NTSTATUS Status;

    if (Length > sizeof(Action->Text)) {
        Length = sizeof(Action->Text);
        while (Length > 0 && ((UCHAR)Text[Length] & 0xC0) == 0x80) {
            Length -= 1;
        }
    }

    Status = RtlCreateFileSection(Rtl, Ctl->File, Size, TRUE, &Section);
    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(Rtl,
                                   Section,
                                   0,
                                   (SIZE_T)Size,
                                   TRUE,
                                   NULL,
                                   &Base);
        RtlClose(Rtl, Section);
    }

    if (!NT_SUCCESS(Status)) {
        *StatusPointer = Status;
        return FALSE;
    }

    Control = (PTRACE_CONTROL)Base;
    Now.QuadPart = 0;
    Rtl->NtQuerySystemTime(&Now);

    __try {

        if (*(ULONG volatile *)&Control->NumberClaimed < Ctl->Capacity) {
            Index = (ULONG)InterlockedIncrement(
                        (LONG volatile *)&Control->NumberClaimed) - 1;
        }

        if (Index >= Ctl->Capacity) {
            Status = STATUS_LOG_FULL;
        } else {
            Action = (PTRACE_CONTROL_ACTION)
                         ((PBYTE)Base + TRACE_CONTROL_HEADER_SIZE) + Index;
            Action->ThreadId = 0;
            Action->Timestamp = __rdtsc();
            Action->SystemTime = (ULONGLONG)Now.QuadPart;
            Action->TextLength = Length;
            RtlCopyBytes(Action->Text, Text, Length);
            if (InterlockedCompareExchange((LONG volatile *)&Action->Kind,
                                           (LONG)Kind,
                                           TRACE_ACTION_NONE) !=
                TRACE_ACTION_NONE) {

                Status = STATUS_IO_TIMEOUT;
            }
        }

    } __except (Status = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Index = 0;
    }

    RtlUnmapFileSection(Rtl, Base);
    *Number = Index;
    *StatusPointer = Status;
    return NT_SUCCESS(Status);
}


static
ULONG
ReaderCtlWait(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG Number
    )
/*++

Routine Description:

    Waits until every module instance that follows the control file has seen an
    action.

Arguments:

    Ctl - The command's state.

    Number - The action.

Return Value:

    How many have not, when the time is over.

--*/
{
    PCRTL Rtl = Ctl->Context->Rtl;
    LARGE_INTEGER Now;
    LARGE_INTEGER End;
    LARGE_INTEGER Interval;
    ULONG Missing;
    ULONG Index;

    Interval.QuadPart = -READER_CTL_INTERVAL;
    Now.QuadPart = 0;
    Rtl->NtQuerySystemTime(&Now);
    End.QuadPart = Now.QuadPart + READER_CTL_PATIENCE;

    for (;;) {

        if (!NT_SUCCESS(ReaderCtlReadHeader(Ctl))) {
            return Ctl->NumberOfInstances;
        }

        Missing = 0;
        for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index++) {
            if (Ctl->Header.Instances[Index].ModuleBase != 0 &&
                Ctl->Header.Instances[Index].NumberSeen <= Number) {
                Missing += 1;
            }
        }

        Rtl->NtQuerySystemTime(&Now);
        if (Missing == 0 || Now.QuadPart >= End.QuadPart ||
            ReaderQueryProcess(&Ctl->Session) == ReaderProcessGone) {
            return Missing;
        }

        Rtl->NtDelayExecution(FALSE, &Interval);
    }
}


static
VOID
ReaderCtlPutAction(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Number,
    _In_ PCTRACE_CONTROL_ACTION Action
    )
/*++

Routine Description:

    Writes an action's row.

Arguments:

    Output - The output.

    Number - The action's number.

    Action - The action.

Return Value:

    None.

--*/
{
    ULONG Length = Action->TextLength;

    if (Length > sizeof(Action->Text)) {
        Length = sizeof(Action->Text);
    }

    ReaderPutNumber(Output, Number);
    if (Action->Kind != TRACE_ACTION_NONE && Action->SystemTime != 0) {
        ReaderPutNumber(Output, Action->SystemTime);
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutString(Output,
                    Action->Kind < RTL_NUMBER_OF(ReaderCtlKinds)
                        ? ReaderCtlKinds[Action->Kind]
                        : "of a newer version");
    if (Action->ThreadId != 0) {
        ReaderPutNumber(Output, Action->ThreadId);
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutText(Output, Action->Text, Length);
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlPutActions(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_OUTPUT Output
    )
/*++

Routine Description:

    Writes the table of actions, in text the last ones.

Arguments:

    Ctl - The command's state.

    Output - The output.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONGLONG Limit = Ctl->Options->Limit;
    ULONG First;
    ULONG Number;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Output->Format == ReaderFormatText &&
        (Ctl->Options->Given & READER_OPTION_LIMIT) == 0) {
        Limit = READER_CTL_SHOWN;
    }

    First = Ctl->Count > Limit ? Ctl->Count - (ULONG)Limit : 0;
    ReaderBeginTable(Output, &ReaderCtlActionTable, 0);
    for (; First < Ctl->Count; First += Number) {

        Status = ReaderCtlReadActions(Ctl, First, &Number);
        if (!NT_SUCCESS(Status) || Number == 0) {
            break;
        }

        for (Index = 0; Index < Number; Index++) {
            ReaderCtlPutAction(Output,
                               First + Index,
                               (PCTRACE_CONTROL_ACTION)Ctl->Buffer + Index);
        }
    }

    ReaderEndTable(Output);
    return Status;
}


static
VOID
ReaderCtlPutInstances(
    _In_ const READER_CTL *Ctl,
    _Inout_ PREADER_OUTPUT Output
    )
/*++

Routine Description:

    Writes the table of the module instances that follow the control file.

Arguments:

    Ctl - The command's state.

    Output - The output.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Ctl->Session;
    const TRACE_CONTROL_INSTANCE *Instance;
    PREADER_MODULE Module;
    ULONG Index;
    ULONG ModuleIndex;

    ReaderBeginTable(Output, &ReaderCtlInstanceTable, 0);
    for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index++) {

        Instance = &Ctl->Header.Instances[Index];
        if (Ctl->File == NULL || Instance->ModuleBase == 0) {
            continue;
        }

        Module = NULL;
        for (ModuleIndex = 0;
             ModuleIndex < Session->NumberOfModules;
             ModuleIndex++) {
            if (Session->Modules[ModuleIndex]->Header->ModuleBase ==
                Instance->ModuleBase) {
                Module = Session->Modules[ModuleIndex];
            }
        }

        if (Module != NULL) {
            ReaderPutText(Output, Module->Name, Module->NameLength);
        } else {
            ReaderPutString(Output, "");
        }

        ReaderPutNumber(Output, Instance->ModuleBase);
        ReaderPutNumber(Output, Instance->NumberSeen);
    }

    ReaderEndTable(Output);
}


static
VOID
ReaderCtlPutStore(
    _In_ const READER_CTL *Ctl,
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_STORE Store
    )
/*++

Routine Description:

    Writes a store's row.

Arguments:

    Ctl - The command's state.

    Output - The output.

    Store - The store, with a valid header.

Return Value:

    None.

--*/
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    BOOLEAN IsPaused = (Header->HookFlags & TRACE_HOOK_PAUSED) != 0;
    PCSZ Recording = "yes";
    CHAR Name[600];
    ULONG Length;

    //
    // A thread that waits carries out what was asked for when it comes by.
    //

    if (Header->State != TRACE_STATE_OPEN) {
        Recording = "no";
    } else if (Header->NumberOfActions < Ctl->Count ? Ctl->IsStopped
                                                    : IsPaused) {
        Recording = "stopped";
    }

    RtlWideToUtf8(Store->Name.Buffer,
                  Store->Name.Length / sizeof(WCHAR),
                  Name,
                  sizeof(Name),
                  &Length);
    ReaderPutText(Output, Name, Length);
    ReaderPutNumber(Output, Header->ThreadId);
    ReaderPutString(Output, ReaderDescribeStoreState(&Ctl->Session, Store));
    ReaderPutString(Output, Recording);

    if (Header->Mode == TRACE_MODE_TREE) {
        ReaderPutNothing(Output);
        ReaderPutNumber(Output, Header->NumberOfNodes);
    } else {
        ReaderPutNumber(Output,
                        (Store->EndOfRecords - Store->StartOfRecords) /
                            TRACE_RECORD_SIZE);
        ReaderPutNothing(Output);
    }

    //
    // What a paused store has counted since is not lost.
    //

    ReaderPutNumber(Output,
                    Header->NumberOfEventsPaused +
                        (IsPaused ? Header->NumberOfEventsLost : 0));
    ReaderPutNumber(Output, IsPaused ? 0 : Header->NumberOfEventsLost);
    ReaderPutNumber(Output, Header->NumberOfActions);
    Length = Header->ThreadNameLength;
    if (Length > sizeof(Header->ThreadName)) {
        Length = sizeof(Header->ThreadName);
    }
    ReaderPutText(Output, Header->ThreadName, Length);
}


static
ULONG
ReaderCtlStatusOf(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Writes the state of the session.

Arguments:

    Ctl - The command's state.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Ctl->Context;
    PREADER_SESSION Session = &Ctl->Session;
    BOOLEAN IsControlled = Ctl->File != NULL;
    READER_OUTPUT Output;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    if (IsControlled) {
        Status = ReaderCtlFindState(Ctl);
    }

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Ctl->Options->Format,
                        &Session->Clock,
                        "ctl",
                        TRUE);

    ReaderBeginTable(&Output, &ReaderCtlSessionTable, 0);
    if (Session->Header != NULL) {
        ReaderPutNumber(&Output, Session->Header->ProcessId);
    } else {
        ReaderPutNothing(&Output);
    }

    ReaderPutString(&Output, ReaderCtlDescribeProcess(Session->ProcessState));
    ReaderPutString(&Output,
                    Ctl->IsStopped ? "stopped"
                                   : IsControlled ? "on" : "not controlled");
    if (Ctl->Since != 0) {
        ReaderPutNumber(&Output, Ctl->Since);
    } else {
        ReaderPutNothing(&Output);
    }

    ReaderPutNumber(&Output, Ctl->Count);
    ReaderPutNumber(&Output, Ctl->Capacity);
    ReaderPutNumber(&Output, Ctl->NumberOfInstances);
    ReaderEndTable(&Output);

    ReaderCtlPutInstances(Ctl, &Output);

    ReaderBeginTable(&Output, &ReaderCtlStoreTable, 0);
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        if (Store->Header != NULL &&
            Store->HeaderResult.State == CoreHeaderValid) {
            ReaderCtlPutStore(Ctl, &Output, Store);
        }
    }

    ReaderEndTable(&Output);

    if (IsControlled && NT_SUCCESS(Status)) {
        Status = ReaderCtlPutActions(Ctl, &Output);
    } else {
        ReaderBeginTable(&Output, &ReaderCtlActionTable, 0);
        ReaderEndTable(&Output);
    }

    ReaderEndDocument(&Output);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          "read the control file of",
                          Ctl->Options->PathUtf8,
                          Status);
    }

    return READER_EXIT_SUCCESS;
}


static
ULONG
ReaderCtlAct(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Appends an action and waits until it has been seen.

Arguments:

    Ctl - The command's state.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Ctl->Context;
    PRTL_WRITER Errors = Context->Errors;
    PCSZ Path = Ctl->Options->PathUtf8;
    PCSZ Verb = ReaderCtlVerbs[Ctl->Verb].Name;
    ULONG Number;
    ULONG Missing;
    NTSTATUS Status;

    if (Ctl->File == NULL) {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %s: the session has no control file: "
                     "it was recorded with TRACER_CONTROL=0, by an older "
                     "version, or where none could be made\n",
                     Path);
        goto Error;
    }

    if (Ctl->Session.ProcessState == ReaderProcessGone) {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %s: process %u has ended\n",
                     Path,
                     Ctl->Header.ProcessId);
        goto Error;
    }

    if (!ReaderCtlAppend(Ctl,
                         ReaderCtlVerbs[Ctl->Verb].Kind,
                         Ctl->Options->SecondUtf8,
                         &Number,
                         &Status)) {

        if (Status == STATUS_LOG_FULL) {
            RtlWriteText(Errors,
                         "TraceReader: ctl: %s: the control file is full: it "
                         "has room for %u actions (TRACER_CONTROL=SIZE gives "
                         "it more, 128 bytes each)\n",
                         Path,
                         Ctl->Capacity);
            goto Error;
        }

        return ReaderFail(Context, "write the control file of", Path, Status);
    }

    Missing = ReaderCtlWait(Ctl, Number);
    if (Ctl->Options->Format != ReaderFormatText) {
        if (ReaderCtlStatusOf(Ctl) != READER_EXIT_SUCCESS) {
            return READER_EXIT_FAILURE;
        }
    } else if (Missing == 0) {

        if (Ctl->Whole != NULL) {
            ReaderWriteProcess(Context->Output, Ctl->Whole, Ctl->Process);
            RtlWriteText(Context->Output, ": ");
        }

        RtlWriteText(Context->Output,
                     "%s: action %u, seen by %u module%s\n",
                     Verb,
                     Number,
                     Ctl->NumberOfInstances,
                     Ctl->NumberOfInstances == 1 ? "" : "s");
    }

    if (Missing == 0) {
        return READER_EXIT_SUCCESS;
    }

    if (Ctl->Session.ProcessState == ReaderProcessGone) {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %s: process %u has ended meanwhile\n",
                     Path,
                     Ctl->Header.ProcessId);
    } else {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %s: action %u (%s) is written, but %u "
                     "of %u modules have not seen it for a second: the program "
                     "does not run, or they have no worker and follow when "
                     "their threads need new pages\n",
                     Path,
                     Number,
                     Verb,
                     Missing,
                     Ctl->NumberOfInstances);
    }

Error:
    RtlFlushWriter(Errors);
    return READER_EXIT_FAILURE;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlCreate(
    _Inout_ PREADER_CTL Ctl,
    _In_ PCUNICODE_STRING Name,
    _Out_ PHANDLE File
    )
/*++

Routine Description:

    Creates a file of the snapshot.

Arguments:

    Ctl - The command's state.

    Name - The file's name.

    File - Receives the handle.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    NTSTATUS Status;

    Status = RtlAppendPath(&Ctl->Target,
                           Name->Buffer,
                           Name->Length / sizeof(WCHAR),
                           TRUE);
    if (NT_SUCCESS(Status)) {
        Status = RtlCreateFile(Ctl->Context->Rtl,
                               &Ctl->Target,
                               RTL_CREATE_NEW,
                               File);
    }

    Ctl->Target.Length = Ctl->TargetLength;
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlCopyRange(
    _Inout_ PREADER_CTL Ctl,
    _In_ HANDLE Source,
    _In_ HANDLE Target,
    _In_ ULONGLONG FileOffset,
    _In_ ULONGLONG End
    )
/*++

Routine Description:

    Copies part of a file to the same place in another one.  What is all zeroes
    is left out, so that a sparse file stays one.

Arguments:

    Ctl - The command's state.

    Source, Target - The files.

    FileOffset - Where to begin.

    End - Where to end, or where the source ends.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCRTL Rtl = Ctl->Context->Rtl;
    ULONGLONG Word;
    ULONG Size;
    ULONG Read;
    ULONG Index;
    NTSTATUS Status;

    while (FileOffset < End) {

        Size = READER_CTL_BUFFER_SIZE;
        if (Size > End - FileOffset) {
            Size = (ULONG)(End - FileOffset);
        }

        Status = RtlReadFile(Rtl,
                             Source,
                             FileOffset,
                             Ctl->Buffer,
                             Size,
                             &Read);
        if (Status == STATUS_END_OF_FILE || (NT_SUCCESS(Status) && Read == 0)) {
            break;
        }
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Word = Read % sizeof(Word) != 0;
        for (Index = 0; Index < Read / sizeof(Word); Index++) {
            Word |= Ctl->Buffer[Index];
        }

        if (Word != 0) {
            Status = RtlWriteFile(Rtl, Target, FileOffset, Ctl->Buffer, Read);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        FileOffset += Read;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlCopyRecords(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_STORE Store,
    _In_ HANDLE Target,
    _Inout_ PTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG End
    )
/*++

Routine Description:

    Copies the records of a store.  Those of a ring are put in a row, from the
    oldest on; if some are overwritten meanwhile, the copy begins behind them.

Arguments:

    Ctl - The command's state.

    Store - The store, open.

    Target - The new file.

    Header - The copy's header; is changed where a copy differs.

    End - Receives the size of the file.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PTRACE_RECORD Records = (PTRACE_RECORD)Ctl->Buffer;
    ULONGLONG Position = Store->StartOfRecords;
    ULONGLONG Offset = TRACE_HEADER_SIZE;
    ULONG Number;
    ULONG Index;
    NTSTATUS Status;

    *End = Offset;
    while (Position < Store->EndOfRecords) {

        Status = ReaderReadRecords(Ctl->Context,
                                   Store,
                                   Position,
                                   Records,
                                   READER_CTL_RECORDS,
                                   &Number);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Number == 0) {
            if (Store->StartOfRecords <= Position) {
                break;
            }
            Position = Store->StartOfRecords;
            Offset = TRACE_HEADER_SIZE;
            *End = Offset;
            continue;
        }

        Status = RtlWriteFile(Ctl->Context->Rtl,
                              Target,
                              Offset,
                              Records,
                              Number * TRACE_RECORD_SIZE);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        //
        // A record that is reserved and not written is none, at the end.
        //

        for (Index = 0; Index < Number; Index++) {
            if (Records[Index].Timestamp != 0) {
                *End = Offset + (ULONGLONG)(Index + 1) * TRACE_RECORD_SIZE;
            }
        }

        Offset += (ULONGLONG)Number * TRACE_RECORD_SIZE;
        Position += (ULONGLONG)Number * TRACE_RECORD_SIZE;
    }

    Header->FirstPosition = 0;
    Header->RingFileOffset = 0;
    Header->RingSizeInBytes = 0;
    Header->Cursor = *End;
    Header->Limit = *End;
    Header->CursorToFileOffset = 0;
    Header->ViewFileOffset = TRACE_HEADER_SIZE;
    Header->Generation = 0;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlCopyTree(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_STORE Store,
    _In_ HANDLE Target,
    _Inout_ PTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG End
    )
/*++

Routine Description:

    Copies a tree: the nodes first, then the open frames, as a reader reads
    them.  A tree that is cleared meanwhile is copied again.

Arguments:

    Ctl - The command's state.

    Store - The store, open.

    Target - The new file.

    Header - The copy's header; receives the store's.

    End - Receives the size of the file.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONGLONG Nodes;
    ULONGLONG NodesEnd;
    ULONG Try;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Try = 0; Try < READER_CTL_TREE_TRIES; Try++) {

        Status = ReaderRefreshStore(Ctl->Context, Store);
        if (!NT_SUCCESS(Status)) {
            break;
        }
        if (Store->HeaderResult.State != CoreHeaderValid ||
            Store->Header->Mode != TRACE_MODE_TREE) {
            return STATUS_FILE_INVALID;
        }

        RtlCopyBytes(Header, Store->Header, sizeof(*Header));
        Nodes = Header->NodesFileOffset;
        *End = Store->FileSize;
        if (Nodes < TRACE_HEADER_SIZE || Nodes > *End ||
            Header->NumberOfNodes > (*End - Nodes) / TRACE_NODE_SIZE) {
            return STATUS_FILE_INVALID;
        }

        NodesEnd = Nodes + Header->NumberOfNodes * TRACE_NODE_SIZE;
        Status = RtlSetFileSize(Ctl->Context->Rtl, Target, 0);
        if (NT_SUCCESS(Status)) {
            Status = RtlSetFileSize(Ctl->Context->Rtl, Target, *End);
        }
        if (NT_SUCCESS(Status)) {
            Status = ReaderCtlCopyRange(Ctl,
                                        Store->File,
                                        Target,
                                        Nodes,
                                        NodesEnd);
        }
        if (NT_SUCCESS(Status)) {
            Status = ReaderCtlCopyRange(Ctl,
                                        Store->File,
                                        Target,
                                        TRACE_HEADER_SIZE,
                                        Nodes);
        }
        if (NT_SUCCESS(Status)) {
            Status = ReaderCtlCopyRange(Ctl,
                                        Store->File,
                                        Target,
                                        NodesEnd,
                                        *End);
        }
        if (NT_SUCCESS(Status)) {
            Status = ReaderRefreshStore(Ctl->Context, Store);
        }
        if (!NT_SUCCESS(Status)) {
            break;
        }

        //
        // The end of the open frames is the later one's: they were copied last.
        //

        if ((Header->Generation & 1) == 0 &&
            Store->Header->Generation == Header->Generation) {
            Header->Cursor = Store->Header->Cursor;
            Header->StackFileOffset = Store->Header->StackFileOffset;
            return STATUS_SUCCESS;
        }

        Status = STATUS_RETRY;
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlCopyStore(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_STORE Store
    )
/*++

Routine Description:

    Copies a store, so that the copy is one that was closed.

Arguments:

    Ctl - The command's state.

    Store - The store, open, with a valid header.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCRTL Rtl = Ctl->Context->Rtl;
    PTRACE_STORE_HEADER Header = &Ctl->Identity;
    RTL_CLOCK_READING Reading;
    ULONGLONG End;
    HANDLE Target;
    NTSTATUS Status;

    Status = ReaderCtlCreate(Ctl, &Store->Name, &Target);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlCopyBytes(Header, Store->Header, sizeof(*Header));
    if (Header->Mode == TRACE_MODE_TREE) {
        Status = ReaderCtlCopyTree(Ctl, Store, Target, Header, &End);
    } else {
        Status = ReaderCtlCopyRecords(Ctl, Store, Target, Header, &End);
    }

    if (NT_SUCCESS(Status)) {

        Header->WriterContext = 0;
        if (Header->State == TRACE_STATE_OPEN) {
            Header->State = TRACE_STATE_CLOSED;
            Header->Reason = TRACE_REASON_NONE;
            if (Ctl->Session.ProcessState == ReaderProcessRunning) {
                RtlReadClocks(Rtl, &Reading);
                Header->LastAnchor.Tsc = Reading.Tsc;
                Header->LastAnchor.Qpc = Reading.Qpc;
                Header->LastAnchor.SystemTime = Reading.SystemTime;
                Header->LastAnchor.Check = Reading.Tsc ^ Reading.Qpc ^
                                           Reading.SystemTime;
            }
        }

        Status = RtlWriteFile(Rtl, Target, 0, Header, sizeof(*Header));
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlSetFileSize(Rtl, Target, End);
    }

    if (!NT_SUCCESS(Status)) {
        ReaderRemoveFile(Ctl->Context, Target);
    }

    RtlClose(Rtl, Target);
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlCopyControl(
    _Inout_ PREADER_CTL Ctl,
    _In_ PCUNICODE_STRING Directory
    )
/*++

Routine Description:

    Copies a control file, which nobody follows any more.

Arguments:

    Ctl - The command's state, with the file open.

    Directory - The name of the directory that it is in, in the session's;
        empty if it is in that.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCRTL Rtl = Ctl->Context->Rtl;
    UNICODE_STRING Name;
    ULONGLONG End;
    HANDLE Target;
    NTSTATUS Status;

    Status = ReaderCtlReadHeader(Ctl);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    if (Directory->Length != 0) {
        Status = RtlAppendPath(&Ctl->Target,
                               Directory->Buffer,
                               Directory->Length / sizeof(WCHAR),
                               TRUE);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Status = ReaderCtlCreate(Ctl, &Name, &Target);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    End = TRACE_CONTROL_HEADER_SIZE +
          (ULONGLONG)Ctl->Capacity * TRACE_CONTROL_ACTION_SIZE;
    Status = RtlSetFileSize(Rtl, Target, End);
    if (NT_SUCCESS(Status)) {
        Status = ReaderCtlCopyRange(Ctl,
                                    Ctl->File,
                                    Target,
                                    TRACE_CONTROL_HEADER_SIZE,
                                    TRACE_CONTROL_HEADER_SIZE +
                                        (ULONGLONG)Ctl->Count *
                                            TRACE_CONTROL_ACTION_SIZE);
    }
    if (NT_SUCCESS(Status)) {
        Ctl->Header.Capacity = Ctl->Capacity;
        Ctl->Header.NumberClaimed = Ctl->Count;
        RtlZeroBytes(Ctl->Header.Instances, sizeof(Ctl->Header.Instances));
        Status = RtlWriteFile(Rtl,
                              Target,
                              0,
                              &Ctl->Header,
                              sizeof(Ctl->Header));
    }

    if (!NT_SUCCESS(Status)) {
        ReaderRemoveFile(Ctl->Context, Target);
    }

    RtlClose(Rtl, Target);
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlMakeDirectories(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Makes the directories below the snapshot's: one for each process, where
    there are several.

Arguments:

    Ctl - The command's state.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Ctl->Session;
    PCUNICODE_STRING Name;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         Index < Session->NumberOfDirectories && NT_SUCCESS(Status);
         Index++) {

        Name = &Session->Directories[Index].Name;
        if (Name->Length != 0 &&
            Session->Directories[Index].Process != READER_NONE) {
            Status = RtlAppendPath(&Ctl->Target,
                                   Name->Buffer,
                                   Name->Length / sizeof(WCHAR),
                                   TRUE);
            if (NT_SUCCESS(Status)) {
                Status = RtlCreateDirectory(Ctl->Context->Rtl, &Ctl->Target);
            }
            Ctl->Target.Length = Ctl->TargetLength;
        }
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlCopyControls(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Copies the control files of all processes that have one.

Arguments:

    Ctl - The command's state.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Ctl->Session;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         Index < Session->NumberOfDirectories && NT_SUCCESS(Status);
         Index++) {

        if (Session->Directories[Index].Name.Length != 0 &&
            Session->Directories[Index].Process == READER_NONE) {
            continue;
        }

        if (Ctl->File != NULL) {
            RtlClose(Ctl->Context->Rtl, Ctl->File);
            Ctl->File = NULL;
        }

        Status = ReaderCtlOpenFile(Ctl, Index, FALSE);
        if (NT_SUCCESS(Status)) {
            Status = ReaderCtlCopyControl(Ctl,
                                          &Session->Directories[Index].Name);
            Ctl->Target.Length = Ctl->TargetLength;
        } else if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
            Status = STATUS_SUCCESS;
        }
    }

    return Status;
}


static
NTSTATUS
ReaderCtlVisitLog(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
/*++

Routine Description:

    Copies a file of the session's directory if it is a log.

Arguments:

    CallbackContext - The command's state.

    Name - The file's name.

    SizeInBytes - Its size.

    IsDirectory - Whether it is a directory.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_CTL Ctl = (PREADER_CTL)CallbackContext;
    PREADER_SESSION Session = &Ctl->Session;
    PCRTL Rtl = Ctl->Context->Rtl;
    ULONG Length = Name->Length / sizeof(WCHAR);
    HANDLE Source;
    HANDLE Target;
    NTSTATUS Status;

    if (IsDirectory || SizeInBytes > READER_CTL_LARGEST_LOG || Length < 4 ||
        !RtlAreBytesEqual(Name->Buffer + Length - 4,
                          L".log",
                          4 * sizeof(WCHAR))) {
        return STATUS_SUCCESS;
    }

    Status = ReaderCtlNameBeside(Session, Name);
    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Rtl, &Session->Path, &Source);
    }

    Session->Path.Length = Session->DirectoryLength;
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ReaderCtlCreate(Ctl, Name, &Target);
    if (NT_SUCCESS(Status)) {
        Status = ReaderCtlCopyRange(Ctl,
                                    Source,
                                    Target,
                                    0,
                                    READER_CTL_LARGEST_LOG);
        RtlClose(Rtl, Target);
    }

    RtlClose(Rtl, Source);
    return Status;
}


static
NTSTATUS
ReaderCtlVisitTarget(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
/*++

Routine Description:

    Ends a listing: there is something in the directory.

Arguments:

    All are unused.

Return Value:

    STATUS_DIRECTORY_NOT_EMPTY.

--*/
{
    UNREFERENCED_PARAMETER(CallbackContext);
    UNREFERENCED_PARAMETER(Name);
    UNREFERENCED_PARAMETER(SizeInBytes);
    UNREFERENCED_PARAMETER(IsDirectory);

    return STATUS_DIRECTORY_NOT_EMPTY;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlMakeTarget(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Makes the snapshot's directory, unless it is there and empty.

Arguments:

    Ctl - The command's state.

Return Value:

    STATUS_SUCCESS, STATUS_DIRECTORY_NOT_EMPTY, or what failed.

--*/
{
    PCRTL Rtl = Ctl->Context->Rtl;
    UNICODE_STRING Given;
    NTSTATUS Status;

    if (RtlLengthOfWideString(Ctl->Options->Second) >
        RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    RtlPointUnicodeString(&Given,
                          Ctl->Options->Second,
                          RtlLengthOfWideString(Ctl->Options->Second));
    Status = RtlDosPathToNtPath(Rtl,
                                &Given,
                                Ctl->TargetBuffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &Ctl->Target);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Ctl->Target.MaximumLength = (USHORT)
        ((RTL_MAXIMUM_PATH_IN_CHARS -
          (ULONG)(Ctl->Target.Buffer - Ctl->TargetBuffer)) * sizeof(WCHAR));
    Ctl->TargetLength = Ctl->Target.Length;
    Status = RtlCreateDirectory(Rtl, &Ctl->Target);
    if (NT_SUCCESS(Status)) {
        Status = RtlEnumerateDirectory(Rtl,
                                       &Ctl->Target,
                                       ReaderCtlVisitTarget,
                                       NULL);
    }

    return Status;
}


static
ULONG
ReaderCtlTakeSnapshot(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Copies the session as it is.

Arguments:

    Ctl - The command's state.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Ctl->Context;
    PREADER_SESSION Session = &Ctl->Session;
    PCSZ Target = Ctl->Options->SecondUtf8;
    ULONG NumberCopied = 0;
    ULONG Index;
    NTSTATUS Status;

    ReaderWarnOfStores(Session);
    Status = ReaderCtlMakeTarget(Ctl);
    if (NT_SUCCESS(Status)) {
        Status = ReaderCtlMakeDirectories(Ctl);
    }
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          "make the directory, which must be new or empty",
                          Target,
                          Status);
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        Status = ReaderOpenSessionStore(Session, Store);
        if (Status == STATUS_NO_MEMORY) {
            return ReaderFail(Context, "copy", Ctl->Options->PathUtf8, Status);
        }
        if (!NT_SUCCESS(Status)) {
            continue;
        }

        if (Store->HeaderResult.State == CoreHeaderValid &&
            Store->EndState != CoreEndBad && !Store->IsForeign) {
            Status = ReaderCtlCopyStore(Ctl, Store);
            NumberCopied += 1;
        }

        ReaderCloseStore(Context, Store);
        if (!NT_SUCCESS(Status)) {
            return ReaderFail(Context, "write a store to", Target, Status);
        }
    }

    Status = STATUS_SUCCESS;
    if (Session->IsDirectory) {
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &Session->Path,
                                       ReaderCtlVisitLog,
                                       Ctl);
    }
    if (NT_SUCCESS(Status)) {
        Status = ReaderCtlCopyControls(Ctl);
    }
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context, "copy the session to", Target, Status);
    }

    RtlWriteText(Context->Output,
                 "snapshot: %u store%s in %s\n",
                 NumberCopied,
                 NumberCopied == 1 ? "" : "s",
                 Target);
    return READER_EXIT_SUCCESS;
}


static
BOOLEAN
ReaderCtlBegin(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_ READER_CTL_VERB Verb,
    _Outptr_ PREADER_CTL *Ctl
    )
/*++

Routine Description:

    Opens a session, or a directory of several.

Arguments:

    Context - The context.

    Options - The options, with its path.

    Verb - The verb.

    Ctl - Receives the state, for ReaderCtlEnd.

Return Value:

    FALSE if it cannot be opened; the error has been written.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;

    *Ctl = (PREADER_CTL)Allocator->Allocate(Allocator->Context, sizeof(**Ctl));
    if (*Ctl == NULL) {
        ReaderFail(Context, "ctl", Options->PathUtf8, STATUS_NO_MEMORY);
        return FALSE;
    }

    RtlZeroBytes(*Ctl, FIELD_OFFSET(READER_CTL, Buffer));
    (*Ctl)->Context = Context;
    (*Ctl)->Options = Options;
    (*Ctl)->Verb = Verb;
    if (!ReaderOpenCommandSession(&(*Ctl)->Session, Context, Options)) {
        Allocator->Free(Allocator->Context, *Ctl);
        *Ctl = NULL;
        return FALSE;
    }

    return TRUE;
}


static
VOID
ReaderCtlEnd(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Closes what ReaderCtlBegin opened.

Arguments:

    Ctl - The state.

Return Value:

    None.

--*/
{
    PCREADER_CONTEXT Context = Ctl->Context;

    if (Ctl->File != NULL) {
        RtlClose(Context->Rtl, Ctl->File);
    }

    ReaderCloseSession(&Ctl->Session);
    Context->Allocator->Free(Context->Allocator->Context, Ctl);
}


static
ULONG
ReaderCtlRun(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Does what was asked for, with one session.

Arguments:

    Ctl - The command's state.

Return Value:

    READER_EXIT_*.

--*/
{
    NTSTATUS Status;

    Status = ReaderCtlOpenFile(Ctl,
                               0,
                               ReaderCtlVerbs[Ctl->Verb].Kind !=
                                   TRACE_ACTION_NONE);
    if (NT_SUCCESS(Status)) {
        Status = ReaderCtlReadHeader(Ctl);
    } else if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
        Status = STATUS_SUCCESS;
    }

    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Ctl->Context,
                          "read the control file of",
                          Ctl->Options->PathUtf8,
                          Status);
    }

    if (Ctl->Session.Header == NULL && Ctl->File != NULL) {
        Ctl->Identity.ProcessId = Ctl->Header.ProcessId;
        Ctl->Identity.ProcessCreationTime = Ctl->Header.ProcessCreationTime;
        Ctl->Session.Header = &Ctl->Identity;
    }

    ReaderQueryProcess(&Ctl->Session);

    switch (Ctl->Verb) {
    case ReaderCtlSnapshot:
        return ReaderCtlTakeSnapshot(Ctl);
    case ReaderCtlStatus:
        return ReaderCtlStatusOf(Ctl);
    default:
        return ReaderCtlAct(Ctl);
    }
}


static
BOOLEAN
ReaderCtlIsTarget(
    _In_ const READER_CTL *Ctl,
    _In_ ULONG Process
    )
/*++

Routine Description:

    Decides whether a process of several is one that is meant.

Arguments:

    Ctl - The command's state, with the directory.

    Process - The process's index.

Return Value:

    TRUE if it is: what asks for something leaves out those that have ended.

--*/
{
    return ReaderCtlVerbs[Ctl->Verb].Kind == TRACE_ACTION_NONE ||
           Ctl->Session.Processes[Process].State != ReaderProcessGone;
}


static
VOID
ReaderCtlRefuse(
    _In_ const READER_CTL *Ctl
    )
/*++

Routine Description:

    Says that one process has to be chosen, and which there are.

Arguments:

    Ctl - The command's state, with the directory.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Ctl->Context->Errors;
    const READER_SESSION *Session = &Ctl->Session;
    ULONG Written = 0;
    ULONG Index;

    RtlWriteText(Errors,
                 "TraceReader: ctl: %s: --csv and --json are of one session: "
                 "choose its process with --process, or name its directory: ",
                 Ctl->Options->PathUtf8);
    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {

        if (!ReaderCtlIsTarget(Ctl, Index)) {
            continue;
        }

        if (Written == READER_CTL_SHOWN) {
            RtlWriteText(Errors, ", ...");
            break;
        }

        RtlWriteText(Errors, Written == 0 ? "" : ", ");
        ReaderWriteProcess(Errors, Session, Index);
        Written += 1;
    }

    RtlWriteText(Errors, "\n");
    RtlFlushWriter(Errors);
}


_Must_inspect_result_
static
NTSTATUS
ReaderCtlNameSession(
    _In_ const READER_CTL *Ctl,
    _In_ ULONG Process,
    _Out_writes_(RTL_MAXIMUM_PATH_IN_CHARS + 1) PWSTR Path,
    _Out_writes_bytes_(3 * RTL_MAXIMUM_PATH_IN_CHARS + 1) PCHAR PathUtf8
    )
/*++

Routine Description:

    Names the session of one process of several.

Arguments:

    Ctl - The command's state, with the directory.

    Process - The process's index.

    Path, PathUtf8 - Receive the name, as a user would give it.

Return Value:

    STATUS_SUCCESS or STATUS_NAME_TOO_LONG.

--*/
{
    const READER_SESSION *Session = &Ctl->Session;
    PCUNICODE_STRING Name;
    ULONG Written;
    ULONG Length = RtlLengthOfWideString(Ctl->Options->Path);
    ULONG NameLength;
    ULONG Index = 0;

    while (Index + 1 < Session->NumberOfDirectories &&
           Session->Directories[Index].Process != Process) {
        Index += 1;
    }

    Name = &Session->Directories[Index].Name;
    NameLength = Name->Length / sizeof(WCHAR);
    if (Length + 1 + NameLength > RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    RtlCopyBytes(Path, Ctl->Options->Path, (SIZE_T)Length * sizeof(WCHAR));
    if (Length != 0 && Path[Length - 1] != L'\\' && Path[Length - 1] != L'/') {
        Path[Length] = L'\\';
        Length += 1;
    }

    RtlCopyBytes(Path + Length, Name->Buffer, Name->Length);
    Path[Length + NameLength] = 0;

    RtlWideToUtf8(Path,
                  Length + NameLength,
                  PathUtf8,
                  3 * RTL_MAXIMUM_PATH_IN_CHARS,
                  &Written);
    PathUtf8[Written] = 0;
    return STATUS_SUCCESS;
}


static
ULONG
ReaderCtlRunSeveral(
    _Inout_ PREADER_CTL Ctl
    )
/*++

Routine Description:

    Does what was asked for, with each of the sessions in a directory.

Arguments:

    Ctl - The command's state, with the directory.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Ctl->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_SESSION Session = &Ctl->Session;
    PRTL_WRITER Output = Context->Output;
    PREADER_CTL One;
    READER_OPTIONS Options = *Ctl->Options;
    PWSTR Path;
    PCHAR PathUtf8;
    ULONG NumberDone = 0;
    ULONG Number = 0;
    ULONG Index;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    NTSTATUS Status;

    ReaderQueryProcess(Session);
    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        Number += ReaderCtlIsTarget(Ctl, Index);
    }

    if (Number == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: ctl: %s: %s\n",
                     Ctl->Options->PathUtf8,
                     Session->NumberOfProcesses == 1
                         ? "its process has ended"
                         : "all of its processes have ended");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if (Number > 1 && Ctl->Verb == ReaderCtlSnapshot) {
        return ReaderCtlTakeSnapshot(Ctl);
    }

    if (Number > 1 && Options.Format != ReaderFormatText) {
        ReaderCtlRefuse(Ctl);
        return READER_EXIT_FAILURE;
    }

    Path = (PWSTR)Allocator->Allocate(
        Allocator->Context,
        (RTL_MAXIMUM_PATH_IN_CHARS + 1) * sizeof(WCHAR));
    PathUtf8 = (PCHAR)Allocator->Allocate(Allocator->Context,
                                          3 * RTL_MAXIMUM_PATH_IN_CHARS + 1);
    Status = Path != NULL && PathUtf8 != NULL ? STATUS_SUCCESS
                                              : STATUS_NO_MEMORY;
    Options.Path = Path;
    Options.PathUtf8 = PathUtf8;
    Options.Process = NULL;
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Session->NumberOfProcesses;
         Index++) {

        if (!ReaderCtlIsTarget(Ctl, Index)) {
            continue;
        }

        Status = ReaderCtlNameSession(Ctl, Index, Path, PathUtf8);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        if (!ReaderCtlBegin(Context, &Options, Ctl->Verb, &One)) {
            ExitCode = READER_EXIT_FAILURE;
            continue;
        }

        if (Number > 1 && Ctl->Verb == ReaderCtlStatus) {
            RtlWriteText(Output, NumberDone == 0 ? "" : "\n");
            ReaderWriteProcess(Output, Session, Index);
            RtlWriteText(Output, ":\n\n");
        } else if (Number > 1) {
            One->Whole = Session;
            One->Process = Index;
        }

        if (ReaderCtlRun(One) == READER_EXIT_SUCCESS) {
            NumberDone += 1;
        } else {
            ExitCode = READER_EXIT_FAILURE;
        }

        ReaderCtlEnd(One);
    }

    Allocator->Free(Allocator->Context, Path);
    Allocator->Free(Allocator->Context, PathUtf8);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context, "ctl", Ctl->Options->PathUtf8, Status);
    }

    if (Number > 1 && Ctl->Verb != ReaderCtlStatus) {
        RtlWriteText(Output,
                     "%s: %u of %u processes\n",
                     ReaderCtlVerbs[Ctl->Verb].Name,
                     NumberDone,
                     Number);
    }

    return ExitCode;
}


static
ULONG
ReaderCommandCtl(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs ctl.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_CTL_VERB Verb;
    PREADER_CTL Ctl;
    ULONG ExitCode;

    if (!ReaderCtlUsage(Context, Options, &Verb) ||
        !ReaderCtlBegin(Context, Options, Verb, &Ctl)) {
        return READER_EXIT_FAILURE;
    }

    ExitCode = Ctl->Session.HasDirectories ? ReaderCtlRunSeveral(Ctl)
                                           : ReaderCtlRun(Ctl);
    ReaderCtlEnd(Ctl);
    return ExitCode;
}


const READER_COMMAND ReaderCtlCommand = {
    "ctl",
    "PATH VERB [TEXT]",
    "Stops, starts, clears, marks or copies what is being recorded",
    "VERB is one of\n"
    "\n"
    "  stop, start     recording of the whole program; calls that are open\n"
    "                  at the stop count up to it, and again from the start\n"
    "  clear           what was recorded before does not count any more\n"
    "  mark TEXT       marks this instant (96 bytes of UTF-8)\n"
    "  snapshot DIR    copies what there is, for report and all others, to\n"
    "                  DIR, which must be new or empty\n"
    "  status          whether the program runs and is recorded, who\n"
    "                  follows, every store, and what was asked for\n"
    "\n"
    "PATH may also be a directory with sessions of several processes: start,\n"
    "stop, clear and mark are then for each that runs and has a store by\n"
    "then, one after the other; status and snapshot are of all.  --process\n"
    "chooses; CSV and JSON need one.\n"
    "start, stop, clear and mark wait up to a second until every module of\n"
    "the program has seen them.  Exit code 1 if one has not, if the program\n"
    "has ended, if it has no control file (TRACER_CONTROL=0), or if that is\n"
    "full.  CSV and JSON are those of status, also for these: the arrays\n"
    "session, instances, stores and actions.  --limit is of actions, the\n"
    "last ones; text shows 10.\n",
    "  TraceReader ctl SESSION stop\n"
    "  TraceReader ctl SESSION mark \"after loading\"\n"
    "  TraceReader ctl SESSION snapshot now\n"
    "  TraceReader ctl --process game.exe traces clear\n"
    "  TraceReader ctl --json SESSION status\n",
    READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_PROCESS,
    ReaderCommandCtl
};
