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

#include "CommandCtl.h"
#include "CommandCtlSnapshot.h"

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

static const READER_COLUMN ReaderCtlSessionColumns[] = {
    { "Process", "process_id", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,
      "The program's process; null if no store says." },
    { "State", "process", ReaderColumnText, 0, 0,
      "running, ended, or unknown if the query is not allowed." },
    { "Recording", "recording", ReaderColumnText, 0, 0,
      "on, stopped, or not controlled if there is no control file." },
    { "Since", "since", ReaderColumnDate, 0, READER_COLUMN_NULLABLE,
      "When it was stopped or started last, UTC; null if never." },
    { "Actions", "actions", ReaderColumnNumber, 0, 0,
      "The number of actions that were requested." },
    { "Room for", "capacity", ReaderColumnNumber, 0, 0,
      "The number of actions for which the control file has room at "
      "present; it grows." },
    { "Modules that follow", "instances", ReaderColumnNumber, 0, 0,
      "Modules that follow it." },
    { "Left out", "actions_left_out", ReaderColumnNumber, 0, 0,
      "Marks and requests of the program itself that could not be written." }
};

static const READER_TABLE ReaderCtlSessionTable = {
    "session",
    ReaderCtlSessionColumns,
    RTL_NUMBER_OF(ReaderCtlSessionColumns),
    TRUE,
    FALSE,
    "One row: the program and its control file."
};

static const READER_COLUMN ReaderCtlInstanceColumns[] = {
    { "Module", "module", ReaderColumnText, 24, 0,
      "The module's name; empty if it has no store yet." },
    { "Base", "module_base", ReaderColumnHexadecimal, 18, 0,
      "Its address in the process, hexadecimal." },
    { "Seen", "seen", ReaderColumnNumber, 8, 0,
      "The number of actions that the module has seen." },
    { "Follows", "follows", ReaderColumnText, 0, 0,
      "at once, or, if the module has no worker (yet), when its threads "
      "next take the slow path." }
};

static const READER_TABLE ReaderCtlInstanceTable = {
    "instances",
    ReaderCtlInstanceColumns,
    RTL_NUMBER_OF(ReaderCtlInstanceColumns),
    FALSE,
    FALSE,
    "The modules that follow the control file."
};

static const READER_COLUMN ReaderCtlStoreColumns[] = {
    { "Store", "store", ReaderColumnText, 32, 0,
      "The file's name." },
    { "Thread", "thread_id", ReaderColumnNumber, 8, 0,
      "The thread's identifier." },
    { "State", "state", ReaderColumnText, 8, 0,
      "open, closed, stopped, ended or died." },
    { "Recording", "recording", ReaderColumnText, 9, 0,
      "yes; stopped from outside; or no, if the store has ended." },
    { "Records", "records", ReaderColumnNumber, 12, READER_COLUMN_NULLABLE,
      "Records; null for a tree." },
    { "Nodes", "nodes", ReaderColumnNumber, 8, READER_COLUMN_NULLABLE,
      "Nodes of a tree; null for records." },
    { "Paused", "events_paused", ReaderColumnNumber, 12, 0,
      "Hook calls while recording was stopped from outside." },
    { "Lost", "events_lost", ReaderColumnNumber, 8, 0,
      "Hook calls that were lost." },
    { "Actions", "actions", ReaderColumnNumber, 7, 0,
      "The number of actions that the thread has carried out; a thread that "
      "waits carries them out at its next call." },
    { "Name", "name", ReaderColumnText, 0, 0,
      "The thread's name, if it has one." }
};

static const READER_TABLE ReaderCtlStoreTable = {
    "stores",
    ReaderCtlStoreColumns,
    RTL_NUMBER_OF(ReaderCtlStoreColumns),
    FALSE,
    FALSE,
    "A row for each store file."
};

static const READER_COLUMN ReaderCtlActionColumns[] = {
    { "Action", "action", ReaderColumnNumber, 6, 0,
      "Its number, from 0." },
    { "Time", "time", ReaderColumnDate, 24, READER_COLUMN_NULLABLE,
      "The time of the action, UTC; null while it is being written." },
    { "Kind", "kind", ReaderColumnText, 10, 0,
      "start, stop, clear, mark or name; unfinished while the action is "
      "being written; given up if it was not completed in time." },
    { "Thread", "thread_id", ReaderColumnNumber, 8, READER_COLUMN_NULLABLE,
      "The thread that made the request; null if it was made from outside "
      "the program." },
    { "Text", "text", ReaderColumnText, 0, 0,
      "Of a mark or a name." }
};

static const READER_TABLE ReaderCtlActionTable = {
    "actions",
    ReaderCtlActionColumns,
    RTL_NUMBER_OF(ReaderCtlActionColumns),
    FALSE,
    FALSE,
    "The requests, in order."
};

//
// Finds the verb, and checks what comes behind it.
// Returns FALSE if there is none, or too much or too little behind it; the
// error has been written.
//

static
BOOLEAN
CommandCtlUsage(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _Out_ READER_CTL_VERB *Verb
    )
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
                     "TraceReader: ctl: unknown verb %T: it is one of start, "
                     "stop, clear, mark, snapshot and status",
                     Options->FirstUtf8);

    } else if (ReaderCtlVerbs[Index].Argument != NULL && !IsGiven) {

        RtlWriteText(Errors,
                     "TraceReader: ctl: %s needs %s",
                     ReaderCtlVerbs[Index].Name,
                     ReaderCtlVerbs[Index].Argument);

    } else if (ReaderCtlVerbs[Index].Argument == NULL && IsGiven) {

        RtlWriteText(Errors,
                     "TraceReader: ctl: %s takes no argument: %T",
                     ReaderCtlVerbs[Index].Name,
                     Options->SecondUtf8);

    } else {
        return TRUE;
    }

    RtlWriteText(Errors, " (see TraceReader ctl --help)\n");
    RtlFlushWriter(Errors);
    return FALSE;
}

//
// Writes an action's row.
//

static
VOID
CommandCtlPutAction(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Number,
    _In_ PCTRACE_CONTROL_ACTION Action
    )
{
    ULONG Length = Action->TextLength;

    if (Length > sizeof(Action->Text)) {
        Length = sizeof(Action->Text);
    }

    OutputPutNumber(Output, Number);
    if (Action->Kind != TRACE_ACTION_NONE && Action->SystemTime != 0) {
        OutputPutNumber(Output, Action->SystemTime);
    } else {
        OutputPutNothing(Output);
    }

    OutputPutString(Output,
                    Action->Kind < RTL_NUMBER_OF(ReaderCtlKinds)
                        ? ReaderCtlKinds[Action->Kind]
                        : "of a newer version");
    if (Action->ThreadId != 0) {
        OutputPutNumber(Output, Action->ThreadId);
    } else {
        OutputPutNothing(Output);
    }

    OutputPutText(Output, Action->Text, Length);
}

//
// Writes the table of actions, in text the last ones.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlPutActions(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_OUTPUT Output
    )
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
    OutputBeginTable(Output, &ReaderCtlActionTable, 0);
    for (; First < Ctl->Count; First += Number) {

        Status = CommandCtlReadActions(Ctl, First, &Number);
        if (!NT_SUCCESS(Status) || Number == 0) {
            break;
        }

        for (Index = 0; Index < Number; Index++) {
            CommandCtlPutAction(Output,
                                First + Index,
                                (PCTRACE_CONTROL_ACTION)Ctl->Buffer + Index);
        }
    }

    OutputEndTable(Output);
    return Status;
}

//
// Writes the table of the module instances that follow the control file.
//

static
VOID
CommandCtlPutInstances(
    _In_ const READER_CTL *Ctl,
    _Inout_ PREADER_OUTPUT Output
    )
{
    const READER_SESSION *Session = &Ctl->Session;
    const TRACE_CONTROL_INSTANCE *Instance;
    PREADER_MODULE Module;
    ULONG Index;
    ULONG ModuleIndex;

    OutputBeginTable(Output, &ReaderCtlInstanceTable, 0);
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
            OutputPutText(Output, Module->Name, Module->NameLength);
        } else {
            OutputPutString(Output, "");
        }

        OutputPutNumber(Output, Instance->ModuleBase);
        OutputPutNumber(Output, Instance->NumberSeen);
        OutputPutString(Output,
                        CommandCtlFollows(Ctl, Index)
                            ? "at once"
                            : "when its threads come by");
    }

    OutputEndTable(Output);
}

//
// Writes a store's row.
// Store: the store, with a valid header.
//

static
VOID
CommandCtlPutStore(
    _In_ const READER_CTL *Ctl,
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_STORE Store
    )
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
    OutputPutText(Output, Name, Length);
    OutputPutNumber(Output, Header->ThreadId);
    OutputPutString(Output, SessionDescribeStoreState(&Ctl->Session, Store));
    OutputPutString(Output, Recording);

    if (Header->Mode == TRACE_MODE_TREE) {
        OutputPutNothing(Output);
        OutputPutNumber(Output, Header->NumberOfNodes);
    } else {
        OutputPutNumber(Output,
                        (Store->EndOfRecords - Store->StartOfRecords) /
                            TRACE_RECORD_SIZE);
        OutputPutNothing(Output);
    }

    //
    // What a paused store has counted since is not lost.
    //

    OutputPutNumber(Output,
                    Header->NumberOfEventsPaused +
                        (IsPaused ? Header->NumberOfEventsLost : 0));
    OutputPutNumber(Output, IsPaused ? 0 : Header->NumberOfEventsLost);
    OutputPutNumber(Output, Header->NumberOfActions);
    Length = Header->ThreadNameLength;
    if (Length > sizeof(Header->ThreadName)) {
        Length = sizeof(Header->ThreadName);
    }
    OutputPutText(Output, Header->ThreadName, Length);
}

//
// Writes the state of the session.
//

static
ULONG
CommandCtlStatusOf(
    _Inout_ PREADER_CTL Ctl
    )
{
    PCREADER_CONTEXT Context = Ctl->Context;
    PREADER_SESSION Session = &Ctl->Session;
    BOOLEAN IsControlled = Ctl->File != NULL;
    READER_OUTPUT Output;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    if (IsControlled) {
        Status = CommandCtlFindState(Ctl);
    }

    OutputBeginDocument(&Output,
                        Context->Output,
                        Ctl->Options->Format,
                        &Session->Clock,
                        "ctl",
                        TRUE);

    OutputBeginTable(&Output, &ReaderCtlSessionTable, 0);
    if (Session->Header != NULL) {
        OutputPutNumber(&Output, Session->Header->ProcessId);
    } else {
        OutputPutNothing(&Output);
    }

    OutputPutString(&Output, CommandCtlDescribeProcess(Session->ProcessState));
    OutputPutString(&Output,
                    Ctl->IsStopped ? "stopped"
                                   : IsControlled ? "on" : "not controlled");
    if (Ctl->Since != 0) {
        OutputPutNumber(&Output, Ctl->Since);
    } else {
        OutputPutNothing(&Output);
    }

    OutputPutNumber(&Output, Ctl->Count);
    OutputPutNumber(&Output, Ctl->Capacity);
    OutputPutNumber(&Output, Ctl->NumberOfInstances);
    OutputPutNumber(&Output,
                    IsControlled && Ctl->Header.MinorVersion >= 4
                        ? Ctl->Header.NumberLeftOut
                        : 0);
    OutputEndTable(&Output);

    CommandCtlPutInstances(Ctl, &Output);

    OutputBeginTable(&Output, &ReaderCtlStoreTable, 0);
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        if (Store->Header != NULL &&
            Store->HeaderResult.State == CoreHeaderValid) {
            CommandCtlPutStore(Ctl, &Output, Store);
        }
    }

    OutputEndTable(&Output);

    if (IsControlled && NT_SUCCESS(Status)) {
        Status = CommandCtlPutActions(Ctl, &Output);
    } else {
        OutputBeginTable(&Output, &ReaderCtlActionTable, 0);
        OutputEndTable(&Output);
    }

    OutputEndDocument(&Output);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "read the control file of",
                        Ctl->Options->PathUtf8,
                        Status);
    }

    return READER_EXIT_SUCCESS;
}

//
// Appends an action and waits until it has been seen.
//

static
ULONG
CommandCtlAct(
    _Inout_ PREADER_CTL Ctl
    )
{
    PCREADER_CONTEXT Context = Ctl->Context;
    PRTL_WRITER Errors = Context->Errors;
    PCSZ Path = Ctl->Options->PathUtf8;
    PCSZ Verb = ReaderCtlVerbs[Ctl->Verb].Name;
    ULONG Number;
    ULONG Missing;
    ULONG Seen;
    NTSTATUS Status;

    if (Ctl->File == NULL) {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %T: the session has no control file: "
                     "it was recorded with TRACER_CONTROL=0, by an older "
                     "version, or where none could be created\n",
                     Path);
        goto Error;
    }

    if (Ctl->Session.ProcessState == ReaderProcessGone) {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %T: process %u has ended\n",
                     Path,
                     Ctl->Header.ProcessId);
        goto Error;
    }

    if (!CommandCtlAppend(Ctl,
                          ReaderCtlVerbs[Ctl->Verb].Kind,
                          Ctl->Options->SecondUtf8,
                          &Number,
                          &Status)) {

        return BaseFail(Context, "write the control file of", Path, Status);
    }

    Missing = CommandCtlWait(Ctl, Number);

    //
    // Where nothing has a time, what was asked for counts from when a thread
    // notices.
    //

    if (Ctl->Session.Clock.Kind == TRACE_CLOCK_NONE) {
        Missing += Ctl->NumberOfWaiters;
    }

    if (Ctl->Options->Format != ReaderFormatText) {
        if (CommandCtlStatusOf(Ctl) != READER_EXIT_SUCCESS) {
            return READER_EXIT_FAILURE;
        }
    } else if (Missing == 0) {

        if (Ctl->Whole != NULL) {
            SessionWriteProcess(Context->Output, Ctl->Whole, Ctl->Process);
            RtlWriteText(Context->Output, ": ");
        }

        Seen = Ctl->NumberOfInstances - Ctl->NumberOfWaiters;
        RtlWriteText(Context->Output,
                     "%s: action %u, seen by %u module%s",
                     Verb,
                     Number,
                     Seen,
                     Seen == 1 ? "" : "s");
        if (Ctl->NumberOfWaiters != 0) {
            RtlWriteText(Context->Output,
                         "; %u idle module%s will follow later, with effect "
                         "from now",
                         Ctl->NumberOfWaiters,
                         Ctl->NumberOfWaiters == 1 ? "" : "s");
        }
        RtlWriteText(Context->Output, "\n");
    }

    if (Missing == 0) {
        return READER_EXIT_SUCCESS;
    }

    if (Ctl->Session.ProcessState == ReaderProcessGone) {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %T: process %u has ended meanwhile\n",
                     Path,
                     Ctl->Header.ProcessId);
    } else {
        RtlWriteText(Errors,
                     "TraceReader: ctl: %T: action %u (%s) is written, but %u "
                     "of %u modules have not seen it: the program is not "
                     "running, or there are no times (TRACER_CLOCK=none) and "
                     "their threads follow when they need new pages\n",
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

//
// Opens a session, or a directory of several.
// Options: the options, with its path.
// Ctl: the state, for CommandCtlEnd.
// Returns FALSE if it cannot be opened; the error has been written.
//

static
BOOLEAN
CommandCtlBegin(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_ READER_CTL_VERB Verb,
    _Outptr_ PREADER_CTL *Ctl
    )
{
    PCALLOCATOR Allocator = Context->Allocator;

    *Ctl = (PREADER_CTL)Allocator->Allocate(Allocator->Context, sizeof(**Ctl));
    if (*Ctl == NULL) {
        BaseFail(Context, "ctl", Options->PathUtf8, STATUS_NO_MEMORY);
        return FALSE;
    }

    RtlZeroBytes(*Ctl, FIELD_OFFSET(READER_CTL, Buffer));
    (*Ctl)->Context = Context;
    (*Ctl)->Options = Options;
    (*Ctl)->Verb = Verb;
    if (!CommandOpenCommandSession(&(*Ctl)->Session, Context, Options)) {
        Allocator->Free(Allocator->Context, *Ctl);
        *Ctl = NULL;
        return FALSE;
    }

    return TRUE;
}

//
// Closes what CommandCtlBegin opened.
//

static
VOID
CommandCtlEnd(
    _Inout_ PREADER_CTL Ctl
    )
{
    PCREADER_CONTEXT Context = Ctl->Context;

    if (Ctl->File != NULL) {
        RtlClose(Context->Rtl, Ctl->File);
    }

    SessionCloseTarget(&Ctl->Target);
    CommandCloseCommandSession(&Ctl->Session);
    Context->Allocator->Free(Context->Allocator->Context, Ctl);
}

//
// Does what was asked for, with one session.
//

static
ULONG
CommandCtlRun(
    _Inout_ PREADER_CTL Ctl
    )
{
    NTSTATUS Status;

    Status = CommandCtlOpenFile(Ctl,
                                0,
                                ReaderCtlVerbs[Ctl->Verb].Kind !=
                                   TRACE_ACTION_NONE);
    if (NT_SUCCESS(Status)) {
        Status = CommandCtlReadHeader(Ctl);
    } else if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
        Status = STATUS_SUCCESS;
    }

    if (!NT_SUCCESS(Status)) {
        return BaseFail(Ctl->Context,
                        "read the control file of",
                        Ctl->Options->PathUtf8,
                        Status);
    }

    if (Ctl->Session.Header == NULL && Ctl->File != NULL) {
        Ctl->Identity.ProcessId = Ctl->Header.ProcessId;
        Ctl->Identity.ProcessCreationTime = Ctl->Header.ProcessCreationTime;
        Ctl->Session.Header = &Ctl->Identity;
    }

    SessionQueryProcess(&Ctl->Session);

    switch (Ctl->Verb) {
    case ReaderCtlSnapshot:
        return CommandCtlTakeSnapshot(Ctl);
    case ReaderCtlStatus:
        return CommandCtlStatusOf(Ctl);
    default:
        return CommandCtlAct(Ctl);
    }
}

//
// Decides whether a process of several is one that is meant.
// Ctl: the command's state, with the directory.
// Process: the process's index.
// Returns TRUE if it is: what asks for something leaves out those that have
// ended.
//

static
BOOLEAN
CommandCtlIsTarget(
    _In_ const READER_CTL *Ctl,
    _In_ ULONG Process
    )
{
    return ReaderCtlVerbs[Ctl->Verb].Kind == TRACE_ACTION_NONE ||
           Ctl->Session.Processes[Process].State != ReaderProcessGone;
}

//
// Says that one process has to be chosen, and which there are.
// Ctl: the command's state, with the directory.
//

static
VOID
CommandCtlRefuse(
    _In_ const READER_CTL *Ctl
    )
{
    PRTL_WRITER Errors = Ctl->Context->Errors;
    const READER_SESSION *Session = &Ctl->Session;
    ULONG Written = 0;
    ULONG Index;

    RtlWriteText(Errors,
                 "TraceReader: ctl: %T: --csv and --json work with one session "
                 "only: choose its process with --process, or name its "
                 "directory: ",
                 Ctl->Options->PathUtf8);
    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {

        if (!CommandCtlIsTarget(Ctl, Index)) {
            continue;
        }

        if (Written == READER_CTL_SHOWN) {
            RtlWriteText(Errors, ", ...");
            break;
        }

        RtlWriteText(Errors, Written == 0 ? "" : ", ");
        SessionWriteProcess(Errors, Session, Index);
        Written += 1;
    }

    RtlWriteText(Errors, "\n");
    RtlFlushWriter(Errors);
}

//
// Names the session of one process of several.
// Ctl: the command's state, with the directory.
// Process: the process's index.
// Path, PathUtf8: the name, as a user would give it.
// Returns STATUS_SUCCESS or STATUS_NAME_TOO_LONG.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlNameSession(
    _In_ const READER_CTL *Ctl,
    _In_ ULONG Process,
    _Out_writes_(RTL_MAXIMUM_PATH_IN_CHARS + 1) PWSTR Path,
    _Out_writes_bytes_(3 * RTL_MAXIMUM_PATH_IN_CHARS + 1) PCHAR PathUtf8
    )
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

//
// Does what was asked for, with each of the sessions in a directory.
//

static
ULONG
CommandCtlRunSeveral(
    _Inout_ PREADER_CTL Ctl
    )
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

    SessionQueryProcess(Session);
    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        Number += CommandCtlIsTarget(Ctl, Index);
    }

    if (Number == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: ctl: %T: %s\n",
                     Ctl->Options->PathUtf8,
                     Session->NumberOfProcesses == 1
                         ? "its process has ended"
                         : "all of its processes have ended");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if (Number > 1 && Ctl->Verb == ReaderCtlSnapshot) {
        return CommandCtlTakeSnapshot(Ctl);
    }

    if (Number > 1 && Options.Format != ReaderFormatText) {
        CommandCtlRefuse(Ctl);
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

        if (!CommandCtlIsTarget(Ctl, Index)) {
            continue;
        }

        Status = CommandCtlNameSession(Ctl, Index, Path, PathUtf8);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        if (!CommandCtlBegin(Context, &Options, Ctl->Verb, &One)) {
            ExitCode = READER_EXIT_FAILURE;
            continue;
        }

        if (Number > 1 && Ctl->Verb == ReaderCtlStatus) {
            RtlWriteText(Output, NumberDone == 0 ? "" : "\n");
            SessionWriteProcess(Output, Session, Index);
            RtlWriteText(Output, ":\n\n");
        } else if (Number > 1) {
            One->Whole = Session;
            One->Process = Index;
        }

        if (CommandCtlRun(One) == READER_EXIT_SUCCESS) {
            NumberDone += 1;
        } else {
            ExitCode = READER_EXIT_FAILURE;
        }

        CommandCtlEnd(One);
    }

    Allocator->Free(Allocator->Context, Path);
    Allocator->Free(Allocator->Context, PathUtf8);
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context, "ctl", Ctl->Options->PathUtf8, Status);
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

_Use_decl_annotations_
ULONG
CommandCtlDo(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options,
    READER_CTL_VERB Verb
    )
{
    PREADER_CTL Ctl;
    ULONG ExitCode;

    if (!CommandCtlBegin(Context, Options, Verb, &Ctl)) {
        return READER_EXIT_FAILURE;
    }

    ExitCode = Ctl->Session.HasDirectories ? CommandCtlRunSeveral(Ctl)
                                           : CommandCtlRun(Ctl);
    CommandCtlEnd(Ctl);
    return ExitCode;
}

static
ULONG
CommandCtl(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_CTL_VERB Verb;

    if (!CommandCtlUsage(Context, Options, &Verb)) {
        return READER_EXIT_FAILURE;
    }

    return CommandCtlDo(Context, Options, Verb);
}

//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderCtlTables[] = {
    &ReaderCtlSessionTable,
    &ReaderCtlInstanceTable,
    &ReaderCtlStoreTable,
    &ReaderCtlActionTable,
    NULL
};

const READER_COMMAND ReaderCtlCommand = {
    "ctl",
    "PATH VERB [TEXT]",
    "Stops, starts, clears, marks or copies what is being recorded",
    "VERB is one of\n"
    "\n"
    "  stop, start     recording of the whole program; calls that are open\n"
    "                  at the stop count up to it, and again from the start\n"
    "  clear           what was recorded before no longer counts\n"
    "  mark TEXT       sets a mark at this moment (96 bytes of UTF-8)\n"
    "  snapshot DIR    copies what there is, for report and all others, to\n"
    "                  DIR, which must be new or empty\n"
    "  status          shows whether the program runs and is recorded, which\n"
    "                  modules follow, every store, and what was requested\n"
    "\n"
    "PATH may also be a directory with sessions of several processes: start,\n"
    "stop, clear and mark then apply to each one that runs and already has a\n"
    "store, one after the other; status and snapshot apply to all.\n"
    "--process selects; CSV and JSON work with one session only.\n"
    "start, stop, clear and mark wait up to a second until every module of\n"
    "the program has seen them, except for those whose threads have done too\n"
    "little to have a worker that looks: these follow later, and what they\n"
    "record counts as if they had followed at once.  Exit code 1 if one that\n"
    "looks has not seen it, if the program has ended, if it has no control\n"
    "file (TRACER_CONTROL=0), or if the disk is full.  CSV and JSON are those\n"
    "of status for these verbs, too; CSV has the columns table, row, field,\n"
    "value.  --limit N shows the last N actions; in text the default is 10.\n",
    "  TraceReader ctl SESSION stop\n"
    "  TraceReader ctl SESSION mark \"after loading\"\n"
    "  TraceReader ctl SESSION snapshot now\n"
    "  TraceReader ctl --process game.exe traces clear\n"
    "  TraceReader ctl --json SESSION status\n",
    READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_PROCESS,
    CommandCtl,
    ReaderCtlTables,
    NULL
};
