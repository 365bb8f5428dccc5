/*++

Module Name:

    ReaderMain.c

Abstract:

    The program: finds the command, parses its options, runs it.

--*/

#include "Reader.h"

#define READER_STATISTICS_FIELDS                                            \
    "  calls, total_ns, self_ns, average_ns, min_ns, max_ns, abandoned,\n"  \
    "  abandoned_time_ns, unfinished, uncertain, begun_before,"

//
// A Win32 error as RtlFlushWriter gives it: facility 7.
//

#define READER_STATUS_WIN32(Error) ((NTSTATUS)(0xC0070000 | (Error)))

#define READER_TICKS_NOTE                                                   \
    "When the rate of the time stamp counter is not known, fields end\n"    \
    "with _ticks in place of _ns, and time_unit (JSON) says \"ticks\".\n"    \
    "clock (JSON; in CSV a last column) is thread if times are those of a\n" \
    "clock thread, rounded down to its step; none if there are no times,\n"  \
    "which are then empty or null; else tsc (CSV: no such column).\n"

#define READER_FRAMES_NOTE                                                  \
    "A call is abandoned when its function was left without an exit (an\n"  \
    "exception, longjmp, a call that never returned).  Its time, up to the\n" \
    "record that proved it gone, is in the abandoned time alone.  A call is\n" \
    "unfinished if it was open at the end of the data; it counts up to the\n" \
    "last record of its thread, or of those before records of a ring that\n" \
    "were overwritten before they could be read.  A call is uncertain if\n"  \
    "the clock thread may have stood still during it.\n"

#define READER_RANGE_NOTE                                                   \
    "With --from or --to, calls are those that were open at some time from\n" \
    "the one to the other, both included, and times are of the part of them\n" \
    "in between: a call that goes on after --to ends there and is\n"       \
    "unfinished; begun_before are calls that began before --from (0 without\n" \
    "it).  Both need a session with times.\n"

#define READER_FILTER_NOTE                                                  \
    "LIST of --function and --exclude is PREFIX[,PREFIX...] or @FILE: UTF-8\n" \
    "text with one prefix a line; empty lines and those that begin with #\n" \
    "count for nothing.  A prefix is the beginning of a name as it is\n"    \
    "shown, in the same case, without a module; blanks around it are\n"     \
    "dropped.  Of the prefixes that a name begins with the longest decides,\n" \
    "of two equal ones the first.  Without --function all stay that are\n"  \
    "not excluded.  In --function, -PREFIX excludes.  Both may be given\n"  \
    "several times.\n"

#define READER_NOT_SHOWN_NOTE(Rows)                                         \
    "Numbers are the same as without them.  JSON then also has the array\n" \
    "not_shown with " Rows ", calls: what was left out.\n"

const READER_COMMAND ReaderCommands[] = {
    {
        "info",
        "Shows the process, its modules and threads, the clock and totals",
        "CSV has the columns table, row, field, value; JSON has the tables as\n"
        "arrays of objects:\n"
        "  session: state, reason, status, process_id, process_path,\n"
        "    command_line, start_time, process_running, clock_rate_hz,\n"
        "    tsc_invariant, clock_readings, stores, stores_left_out, records,\n"
        "    bytes, lost_after_stop, lost_reentered, view_changes,\n"
        "    views_mapped_inline, inline_preparations, inline_wait_ns,\n"
        "    longest_inline_wait_ns, first_time, last_time\n"
        "  recording: mode (file, ring), ring_bytes, overwritten (records),\n"
        "    clock (tsc, thread, none), clock_resolution_ns, clock_freezes,\n"
        "    longest_clock_step_ns, minimum_duration_ns, taken_back (calls),\n"
        "    maximum_depth, too_deep (events), maximum_bytes, waits (of\n"
        "    threads, for pages), wait_ns, longest_wait_ns (no longer than)\n"
        "  modules: base, size, time_date_stamp, check_sum, symbols, pdb,\n"
        "    path\n"
        "  threads: thread_id, state, reason, stores, records, bytes,\n"
        "    start_ns, duration_ns, lost, name\n"
        READER_TICKS_NOTE,
        READER_OPTION_FORMAT,
        ReaderCommandInfo
    },
    {
        "report",
        "Shows each function's calls and times",
        "CSV, and JSON in the array functions, hold\n"
        READER_STATISTICS_FIELDS "\n  module, rva, function\n"
        READER_FRAMES_NOTE
        READER_RANGE_NOTE
        "Total counts a recursive function once; average, min and max are of\n"
        "each call's inclusive time.\n"
        READER_FILTER_NOTE
        READER_NOT_SHOWN_NOTE("functions")
        READER_TICKS_NOTE,
        READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
            READER_OPTION_THREAD | READER_OPTION_MODULE |
            READER_OPTION_WORKERS | READER_OPTION_GENERAL |
            READER_OPTION_VERBOSE | READER_OPTION_FROM | READER_OPTION_TO |
            READER_OPTION_NO_INDEX | READER_OPTION_MARKS |
            READER_OPTION_FILTER,
        ReaderCommandReport
    },
    {
        "tree",
        "Shows the call tree of all threads, merged",
        "CSV, and JSON in the array nodes, hold\n"
        READER_STATISTICS_FIELDS "\n  node, parent, depth, "
        "track, thread, fiber (with --per-thread), module,\n  function "
        "(parent is 0 for the outermost; fiber is 0 for the thread's own\n"
        "  stack)\n"
        READER_FRAMES_NOTE
        READER_RANGE_NOTE
        READER_FILTER_NOTE
        "A function that --function names is shown with the calls that lead\n"
        "to it and the calls inside; one that is excluded is left out with\n"
        "the calls inside.\n"
        READER_NOT_SHOWN_NOTE("nodes")
        READER_TICKS_NOTE,
        READER_OPTION_FORMAT | READER_OPTION_DEPTH | READER_OPTION_LIMIT |
            READER_OPTION_THREAD | READER_OPTION_TRACKS |
            READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_VERBOSE |
            READER_OPTION_NO_INDEX | READER_OPTION_MARKS |
            READER_OPTION_FILTER,
        ReaderCommandTree
    },
    {
        "replay",
        "Shows the calls as they happened",
        "CSV, and JSON in the array events, hold time_ns (since the first\n"
        "record), thread_id, event (enter, exit, abandoned, unmatched, open),\n"
        "depth, duration_ns (of the ends), module, function, fiber (0: the\n"
        "thread's own stack), tail_call (of an enter: 1 if the function that\n"
        "ended just before jumped here), clock_jump (1: the clock thread may\n"
        "have stood still before this; in text a ~).  --from and --to need a\n"
        "session with times; --times shows what they take.\n"
        READER_FILTER_NOTE
        READER_NOT_SHOWN_NOTE("functions")
        READER_TICKS_NOTE,
        READER_OPTION_FORMAT | READER_OPTION_THREAD | READER_OPTION_LIMIT |
            READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_VERBOSE |
            READER_OPTION_NO_INDEX | READER_OPTION_MARKS |
            READER_OPTION_FILTER | READER_OPTION_TIMES,
        ReaderCommandReplay
    },
    {
        "live",
        "Shows what a running program spends its time in, again and again",
        "Ends when the program does, or after --count refreshes.  --limit is\n"
        "the number of functions, and of open frames of each thread, that a\n"
        "refresh shows (default: 20).\n"
        "What a running program did before is read for the frames that are\n"
        "open, from the last mark of each thread's index on; then the records\n"
        "before are not in the number of records: the first line says so.\n"
        "Of a program that has ended all is read and shown once.\n"
        READER_FILTER_NOTE
        "They select open frames, too.\n",
        READER_OPTION_INTERVAL | READER_OPTION_COUNT | READER_OPTION_LIMIT |
            READER_OPTION_FROM_START | READER_OPTION_VERBOSE |
            READER_OPTION_NO_INDEX | READER_OPTION_MARKS |
            READER_OPTION_FILTER,
        ReaderCommandLive
    },
    {
        "verify",
        "Checks every header and every record",
        "CSV, and JSON in the array stores, hold store, state, records, bad,\n"
        "lost, first_bad_offset, result; JSON also has the array summary with\n"
        "stores, records, bad, lost.  bad counts records, a header, and an\n"
        "end that the file does not reach; lost counts events that were not\n"
        "recorded.  Exit code 2 if anything is bad or lost.\n",
        READER_OPTION_FORMAT,
        ReaderCommandVerify
    },
};

const ULONG ReaderNumberOfCommands = RTL_NUMBER_OF(ReaderCommands);


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
                 "TraceReader: %s: %s: 0x%08X%s%s%s\n",
                 Step,
                 Object,
                 (ULONG)Status,
                 Name != NULL ? " (" : "",
                 Name != NULL ? Name : "",
                 Name != NULL ? ")" : "");
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

    if (!NT_SUCCESS(ReaderOpenSession(Session,
                                      Context,
                                      Options->Path,
                                      &Error))) {
        ReaderWriteFailure(Context, &Error);
        return FALSE;
    }

    Session->IndexInterval = Options->IndexInterval;
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
                     "TraceReader: warning: there is no thread %u\n",
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
        if (RtlAreStringsEqual(ReaderCommands[Index].Name, Name)) {
            return &ReaderCommands[Index];
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
    if (RtlAreStringsEqual(Name, "--help") ||
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
