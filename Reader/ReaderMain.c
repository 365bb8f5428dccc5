/*++

Module Name:

    ReaderMain.c

Abstract:

    The program: finds the command, parses its options, runs it.

--*/

#include "Reader.h"

//
// A Win32 error as RtlFlushWriter gives it: facility 7.
//

#define READER_STATUS_WIN32(Error) ((NTSTATUS)(0xC0070000 | (Error)))

const PCREADER_COMMAND ReaderCommands[] = {
    &ReaderInfoCommand,
    &ReaderSessionsCommand,
    &ReaderReportCommand,
    &ReaderTreeCommand,
    &ReaderCallersCommand,
    &ReaderCalleesCommand,
    &ReaderOutliersCommand,
    &ReaderHotCommand,
    &ReaderExcludeCommand,
    &ReaderStackCommand,
    &ReaderThreadsCommand,
    &ReaderModulesCommand,
    &ReaderDiffCommand,
    &ReaderReplayCommand,
    &ReaderLiveCommand,
    &ReaderCtlCommand,
    &ReaderExportCommand,
    &ReaderVerifyCommand,
    &ReaderPackCommand,
    &ReaderRecoverCommand,
};

const ULONG ReaderNumberOfCommands = RTL_NUMBER_OF(ReaderCommands);


static
VOID
ReaderWriteAdvice(
    _Inout_ PRTL_WRITER Errors,
    _In_ NTSTATUS Status
    )
/*++

Routine Description:

    Says in words what a status means for a file, and what to do about it.

Arguments:

    Errors - Where to write.

    Status - The status.

Return Value:

    None.

--*/
{
    PCSZ Advice = NULL;

    switch (Status) {

    case STATUS_OBJECT_NAME_NOT_FOUND:
    case STATUS_NO_SUCH_FILE:
        Advice = "there is no file or directory of this name";
        break;

    case STATUS_OBJECT_PATH_NOT_FOUND:
        Advice = "a directory on the way to it is not there";
        break;

    case STATUS_OBJECT_NAME_INVALID:
        Advice = "a name like this cannot be";
        break;

    case STATUS_ACCESS_DENIED:
        Advice = "you may not do this here: look at the permissions";
        break;

    case STATUS_SHARING_VIOLATION:
        Advice = "another program has it open";
        break;

    case STATUS_DISK_FULL:
        Advice = "the disk is full: make room, or choose another disk";
        break;

    case STATUS_NO_MEMORY:
        Advice = "there is not enough memory";
        break;

    default:
        return;
    }

    RtlWriteText(Errors, ": %s", Advice);
}


_Use_decl_annotations_
VOID
ReaderWriteFailure(
    PCREADER_CONTEXT Context,
    PCRTL_ERROR Error
    )
/*++

Routine Description:

    Writes what failed.

Arguments:

    Context - The context.

    Error - What failed.

Return Value:

    None.

--*/
{
    RtlWriteText(Context->Errors, "TraceReader: ");
    RtlWriteError(Context->Errors, Error);
    ReaderWriteAdvice(Context->Errors, Error->Status);
    RtlWriteText(Context->Errors, "\n");
    RtlFlushWriter(Context->Errors);
}


_Use_decl_annotations_
ULONG
ReaderFail(
    PCREADER_CONTEXT Context,
    PCSZ Step,
    PCSZ Object,
    NTSTATUS Status
    )
/*++

Routine Description:

    Writes what failed.

Arguments:

    Context - The context.

    Step - The step.

    Object - The object, in UTF-8.

    Status - What it gave.

Return Value:

    READER_EXIT_FAILURE.

--*/
{
    PCSZ Name = RtlStatusName(Status);

    RtlWriteText(Context->Errors,
                 "TraceReader: %s: %s: 0x%08X%s%s%s",
                 Step,
                 Object,
                 (ULONG)Status,
                 Name != NULL ? " (" : "",
                 Name != NULL ? Name : "",
                 Name != NULL ? ")" : "");
    ReaderWriteAdvice(Context->Errors, Status);
    RtlWriteText(Context->Errors, "\n");
    RtlFlushWriter(Context->Errors);
    return READER_EXIT_FAILURE;
}


_Use_decl_annotations_
BOOLEAN
ReaderOpenCommandSession(
    PREADER_SESSION Session,
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Opens the session that a command was given.

Arguments:

    Session - Receives it.

    Context - The context.

    Options - The command's options.

Return Value:

    FALSE if it cannot be read; the error has been written and there is
    nothing to close.

--*/
{
    RTL_ERROR Error;

    if (!NT_SUCCESS(ReaderOpenSessionOf(Session,
                                        Context,
                                        Options->Path,
                                        Options->Process,
                                        &Error))) {
        ReaderWriteFailure(Context, &Error);
        return FALSE;
    }

    Session->IndexInterval = Options->IndexInterval;
    Session->Clock.IsRaw = Options->IsRaw;
    Session->SymbolPath = Options->Symbols;
    Session->IsAll = (Options->Given & READER_OPTION_ALL) != 0;
    return TRUE;
}


static
VOID
ReaderWarnOfSelection(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Says so when --thread or --module selects nothing, because the result will
    be empty.

Arguments:

    Session - The session.

    Options - The command's options.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;
    BOOLEAN IsThreadFound = FALSE;
    BOOLEAN IsModuleFound = FALSE;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (READER_IS_THREAD_SELECTED(Options,
                                      Session->Threads[Index].ThreadId)) {
            IsThreadFound = TRUE;
        }
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        if (Session->Modules[Index]->IsSelected) {
            IsModuleFound = TRUE;
        }
    }

    if (!IsThreadFound) {
        RtlWriteText(Errors,
                     "TraceReader: warning: there is no thread %u "
                     "(TraceReader threads lists them)\n",
                     Options->ThreadId);
    }

    if (!IsModuleFound) {
        RtlWriteText(Errors,
                     "TraceReader: warning: no module's name begins with "
                     "%S\n",
                     Options->Module);
    }

    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
BOOLEAN
ReaderBeginCommand(
    PREADER_SESSION Session,
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Opens a command's session.

Arguments:

    Session - Receives it.

    Context - The context.

    Options - The command's options.

Return Value:

    FALSE if it cannot be read, or has no store that can; the error has been
    written and there is nothing to close.

--*/
{
    BOOLEAN IsBeingCreated;
    ULONG Index;

    if (!ReaderOpenCommandSession(Session, Context, Options)) {
        return FALSE;
    }

    ReaderWarnOfStores(Session);
    if (Session->NumberOfValidStores == 0) {

        IsBeingCreated = TRUE;
        for (Index = 0; Index < Session->NumberOfStores; Index++) {
            if (!NT_SUCCESS(Session->Stores[Index]->Status) ||
                Session->Stores[Index]->HeaderResult.State !=
                    CoreHeaderBeingCreated) {
                IsBeingCreated = FALSE;
            }
        }

        ReaderFail(Context,
                   IsBeingCreated
                       ? "find a store that is not still being created"
                       : "find a store that can be read",
                   Options->PathUtf8,
                   IsBeingCreated ? STATUS_NOT_FOUND : STATUS_FILE_INVALID);
        ReaderCloseSession(Session);
        return FALSE;
    }

    Session->IsSearchedAnew = (Options->Given & READER_OPTION_SYMBOLS) != 0;
    if ((Options->Given & READER_OPTION_NO_CACHE) == 0) {
        ReaderOpenCache(Session);
    }

    ReaderSelectModules(Session, Options->Module);
    ReaderWarnOfSelection(Session, Options);
    return TRUE;
}


_Use_decl_annotations_
ULONG
ReaderFailThread(
    const READER_SESSION *Session,
    ULONG Thread,
    NTSTATUS Status
    )
/*++

Routine Description:

    Says what kept a thread from being read to its end.

Arguments:

    Session - The session.

    Thread - The thread's index.

    Status - What failed.

Return Value:

    READER_EXIT_FAILURE.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONG StoreIndex;

    for (StoreIndex = Session->Threads[Thread].FirstStore;
         StoreIndex != READER_NONE;
         StoreIndex = Session->Stores[StoreIndex]->NextInThread) {

        PREADER_STORE Store = Session->Stores[StoreIndex];

        if (!NT_SUCCESS(Store->Status)) {
            RtlWriteText(Errors, "TraceReader: %Z: ", &Store->Name);
            ReaderDescribeStoreProblem(Store, Errors);
            RtlWriteText(Errors, "\n");
            RtlFlushWriter(Errors);
            return READER_EXIT_FAILURE;
        }
    }

    RtlWriteText(Errors,
                 "TraceReader: read thread %u: 0x%08X\n",
                 Session->Threads[Thread].ThreadId,
                 (ULONG)Status);
    RtlFlushWriter(Errors);
    return READER_EXIT_FAILURE;
}


static
PCREADER_COMMAND
ReaderFindCommand(
    _In_z_ PCSZ Name
    )
/*++

Routine Description:

    Finds a command by name.

Arguments:

    Name - The name.

Return Value:

    The command or NULL.

--*/
{
    ULONG Index;

    for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
        if (RtlAreStringsEqual(ReaderCommands[Index]->Name, Name)) {
            return ReaderCommands[Index];
        }
    }

    return NULL;
}


_Use_decl_annotations_
ULONG
ReaderMain(
    PCREADER_CONTEXT Context,
    PCRTL_ARGUMENT Arguments,
    ULONG NumberOfArguments
    )
/*++

Routine Description:

    Runs the program.

Arguments:

    Context - The context.

    Arguments, NumberOfArguments - The arguments, the program's name first.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_COMMAND Command = NULL;
    READER_OPTIONS Options;
    BOOLEAN IsHelp;
    BOOLEAN IsRun;
    ULONG ExitCode;
    NTSTATUS Status;
    PCSZ Name;

    if (NumberOfArguments < 2) {
        ReaderWriteHelp(Context->Errors, NULL);
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Name = Arguments[1].Utf8;
    ExitCode = READER_EXIT_SUCCESS;
    if (RtlAreStringsEqual(Name, "--version")) {

        RtlWriteText(Context->Output,
                     "TraceReader, for stores of format %u.%u\n",
                     TRACE_FORMAT_MAJOR,
                     TRACE_FORMAT_MINOR);

    } else if (RtlAreStringsEqual(Name, "--help") ||
               RtlAreStringsEqual(Name, "-h") ||
               RtlAreStringsEqual(Name, "help")) {

        if (NumberOfArguments > 2) {
            Command = ReaderFindCommand(Arguments[2].Utf8);
        }

        ReaderWriteHelp(Context->Output, Command);

    } else {

        Command = ReaderFindCommand(Name);
        if (Command == NULL) {
            RtlWriteText(Context->Errors,
                         "TraceReader: unknown %s %s (see TraceReader "
                         "--help)\n",
                         Name[0] == '-' ? "option" : "command",
                         Name);
            RtlFlushWriter(Context->Errors);
            return READER_EXIT_FAILURE;
        }

        IsRun = ReaderParseOptions(Context,
                                   Command,
                                   Arguments + 2,
                                   NumberOfArguments - 2,
                                   &Options,
                                   &IsHelp);
        if (IsRun) {
            ExitCode = Command->Routine(Context, &Options);
        }

        ReaderDestroyFilter(Options.Filter);
        if (!IsRun && !IsHelp) {
            return READER_EXIT_FAILURE;
        }

        if (!IsRun) {
            ReaderWriteHelp(Context->Output, Command);
        }
    }

    RtlFlushWriter(Context->Errors);
    Status = RtlFlushWriter(Context->Output);

    //
    // Whoever reads the output may stop when it has seen enough.
    //

    if (Status == READER_STATUS_WIN32(ERROR_BROKEN_PIPE) ||
        Status == READER_STATUS_WIN32(ERROR_NO_DATA) ||
        Status == READER_STATUS_WIN32(ERROR_PIPE_NOT_CONNECTED)) {

        return ExitCode;
    }
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          "write the output",
                          "standard output",
                          Status);
    }

    return ExitCode;
}
