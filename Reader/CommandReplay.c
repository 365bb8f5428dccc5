/*++

Module Name:

    CommandReplay.c

Abstract:

    TraceReader replay: the calls as they happened, all threads in the order
    of time.  A call during which its thread made no other is written on one
    line.

    Each thread is read one event ahead; memory is bounded by the threads that
    run at one time and their open frames.

--*/

#include "ReaderMerge.h"

static const READER_COLUMN ReaderReplayColumns[] = {
    { "", "time", ReaderColumnTime, 0 },
    { "", "thread_id", ReaderColumnNumber, 0 },
    READER_PROCESS_COLUMNS,
    { "", "event", ReaderColumnText, 0 },
    { "", "depth", ReaderColumnNumber, 0 },
    { "", "duration", ReaderColumnTime, 0 },
    { "", "module", ReaderColumnText, 0 },
    { "", "function", ReaderColumnText, 0 },
    { "", "fiber", ReaderColumnNumber, 0 },
    { "", "tail_call", ReaderColumnNumber, 0 },
    { "", "clock_jump", ReaderColumnNumber, 0 },
    { "", "text", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderReplayTable = {
    "events",
    ReaderReplayColumns,
    RTL_NUMBER_OF(ReaderReplayColumns),
    FALSE
};

static const PCSZ ReaderEventNames[] = {
    "enter",
    "exit",
    "abandoned",
    "unmatched",
    "open"
};

#define READER_MAXIMUM_REPLAY_DEPTH 60

//
// An event, without pointers into the frames that it was made from.
//

typedef struct _READER_REPLAY_EVENT {
    CORE_EVENT_KIND Kind;
    ULONG Depth;
    ULONG Function;
    ULONG Fiber;                    // 0: the thread's own stack
    BOOLEAN IsTailCall;
    BOOLEAN IsAfterJump;
    ULONGLONG Timestamp;
    ULONGLONG InclusiveTicks;
} READER_REPLAY_EVENT;
typedef READER_REPLAY_EVENT *PREADER_REPLAY_EVENT;

typedef struct _READER_REPLAY_THREAD {
    READER_MERGE_THREAD Merge;      // the time stamp is the current event's
    READER_REPLAY_EVENT Current;
    READER_REPLAY_EVENT Next;
    BOOLEAN HasNext;
} READER_REPLAY_THREAD;
typedef READER_REPLAY_THREAD *PREADER_REPLAY_THREAD;

typedef struct _READER_REPLAY {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_OUTPUT Output;
    READER_MERGE Merge;
    READER_RANGE Range;
    READER_TALLY Tally;             // for what is passed over
    ULONGLONG Rows;
    ULONG Instant;                  // the next of the session's actions
    BOOLEAN ShowsTimes;
    READER_NOT_SHOWN NotShown;
    ULONG ExitCode;
} READER_REPLAY;
typedef READER_REPLAY *PREADER_REPLAY;


_Must_inspect_result_
static
NTSTATUS
ReaderReplayRead(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread
    )
/*++

Routine Description:

    Reads a thread's next event.

Arguments:

    Replay - The replay.

    Thread - The thread; Next and HasNext are set.

Return Value:

    STATUS_SUCCESS or what failed.  The end is a success.

--*/
{
    CORE_EVENT Event;
    NTSTATUS Status;

    Thread->HasNext = FALSE;
    Status = ReaderNextEvent(&Thread->Merge.Stream, &Event);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
    }

    if (Event.Frame == NULL || Event.Kind == CoreEventEnter) {

        Status = ReaderFindFunction(&Replay->Functions,
                                    Event.Site,
                                    &Thread->Next.Function);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Event.Frame != NULL) {
            Event.Frame->Function = Thread->Next.Function;
        }

    } else {
        Thread->Next.Function = Event.Frame->Function;
    }

    Thread->Next.Kind = Event.Kind;
    Thread->Next.Depth = Event.Depth;
    Thread->Next.Fiber = Event.Track;
    Thread->Next.IsTailCall = Event.IsTailCall;
    Thread->Next.IsAfterJump = Event.IsAfterJump;
    Thread->Next.Timestamp = Event.Timestamp;
    Thread->Next.InclusiveTicks = Event.InclusiveTicks;
    Thread->HasNext = TRUE;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReplayAdvance(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread
    )
/*++

Routine Description:

    Makes a thread's next event its current one and reads one more.

Arguments:

    Replay - The replay.

    Thread - The thread, with a next event.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    Thread->Current = Thread->Next;
    Thread->Merge.Timestamp = Thread->Current.Timestamp;
    return ReaderReplayRead(Replay, Thread);
}


_Must_inspect_result_
static
NTSTATUS
ReaderReplayBeginThread(
    _In_ PVOID RoutineContext,
    _Inout_ PREADER_MERGE_THREAD MergeThread
    )
/*++

Routine Description:

    Finds a thread's first event.

Arguments:

    RoutineContext - The replay.

    MergeThread - The thread.

Return Value:

    STATUS_SUCCESS, STATUS_END_OF_FILE if it has none, or what failed.

--*/
{
    PREADER_REPLAY Replay = (PREADER_REPLAY)RoutineContext;
    PREADER_REPLAY_THREAD Thread = (PREADER_REPLAY_THREAD)MergeThread;
    NTSTATUS Status;

    Status = ReaderSkipStream(&Replay->Tally,
                              &MergeThread->Stream,
                              Replay->Range.Start);
    if (NT_SUCCESS(Status)) {
        Status = ReaderReplayRead(Replay, Thread);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!Thread->HasNext) {
        return STATUS_END_OF_FILE;
    }

    return ReaderReplayAdvance(Replay, Thread);
}


static
VOID
ReaderReplayPutTime(
    _In_ const READER_REPLAY *Replay,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Writes when something was, if that is to be shown.

Arguments:

    Replay - The replay.

    Timestamp - The time.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = Replay->Output.Writer;
    ULONGLONG Time = 0;

    if (!Replay->ShowsTimes) {
        return;
    }

    if (Timestamp > Replay->Range.FirstTimestamp) {
        Time = Timestamp - Replay->Range.FirstTimestamp;
    }

    if (CoreTicksToNanoseconds(&Replay->Session.Clock, Time, &Time)) {
        RtlWriteText(Writer,
                     "%7llu.%09llu ",
                     Time / CORE_NANOSECONDS_PER_SECOND,
                     Time % CORE_NANOSECONDS_PER_SECOND);
    } else {
        RtlWriteText(Writer, "%17llu ", Time);
    }
}


static
VOID
ReaderReplayPutText(
    _Inout_ PREADER_REPLAY Replay,
    _In_ const READER_REPLAY_THREAD *Thread,
    _In_ BOOLEAN IsLeaf
    )
/*++

Routine Description:

    Writes a line of text.

Arguments:

    Replay - The replay.

    Thread - Its current event is written.

    IsLeaf - Whether the next one is its end.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = Replay->Output.Writer;
    const READER_REPLAY_EVENT *Event = &Thread->Current;
    PCREADER_FUNCTION Function =
        &Replay->Functions.Functions[Event->Function];
    const READER_THREAD *Owner =
        &Replay->Session.Threads[Thread->Merge.Stream.Thread];

    ReaderReplayPutTime(Replay, Event->Timestamp);
    if (Event->Kind == CoreEventEnter && !IsLeaf) {
        RtlWriteText(Writer, "%*s", READER_TIME_WIDTH, "");
    } else if (Event->Kind == CoreEventUnmatched) {
        RtlWriteText(Writer, "%*s", READER_TIME_WIDTH, "");
    } else {
        ReaderWriteTime(Writer,
                        Replay->Output.Clock,
                        IsLeaf ? Thread->Next.InclusiveTicks
                               : Event->InclusiveTicks);
    }

    //
    // Before this record, or before the exit that is on its line, the clock
    // jumped.
    //

    RtlWriteText(Writer,
                 "%s[",
                 Event->IsAfterJump || (IsLeaf && Thread->Next.IsAfterJump)
                     ? "~"
                     : " ");
    if (Replay->Output.HasProcesses) {
        RtlWriteText(Writer,
                     "%6u ",
                     Replay->Session.Processes[Owner->Process]
                         .Header->ProcessId);
    }

    RtlWriteText(Writer, "%6u", Owner->ThreadId);
    if (Event->Fiber != 0) {
        RtlWriteText(Writer, ":%u", Event->Fiber);
    }

    RtlWriteText(Writer, "] | ");
    if (Event->Depth > READER_MAXIMUM_REPLAY_DEPTH) {
        RtlWriteText(Writer,
                     "%*s[%u] ",
                     2 * READER_MAXIMUM_REPLAY_DEPTH,
                     "",
                     Event->Depth);
    } else {
        RtlWriteText(Writer, "%*s", (int)(2 * Event->Depth), "");
    }

    switch (Event->Kind) {

    case CoreEventEnter:
        ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, IsLeaf ? "();" : "() {");
        if (Event->IsTailCall) {
            RtlWriteText(Writer, " /* tail call */");
        }

        if (IsLeaf && Thread->Next.Kind != CoreEventExit) {
            RtlWriteText(Writer,
                         " /* %s */",
                         ReaderEventNames[Thread->Next.Kind]);
        }

        RtlWriteText(Writer, "\n");
        break;

    case CoreEventExit:
        RtlWriteText(Writer, "} /* ");
        ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, " */\n");
        break;

    case CoreEventUnmatched:
        RtlWriteText(Writer, "/* exit without an entry: ");
        ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, " */\n");
        break;

    default:
        RtlWriteText(Writer, "} /* ");
        ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, ", %s */\n", ReaderEventNames[Event->Kind]);
        break;
    }
}


static
VOID
ReaderReplayPutRow(
    _Inout_ PREADER_REPLAY Replay,
    _In_ const READER_REPLAY_THREAD *Thread
    )
/*++

Routine Description:

    Writes a row of CSV or JSON.

Arguments:

    Replay - The replay.

    Thread - Its current event is written.

Return Value:

    None.

--*/
{
    PREADER_OUTPUT Output = &Replay->Output;
    const READER_REPLAY_EVENT *Event = &Thread->Current;
    PCREADER_FUNCTION Function =
        &Replay->Functions.Functions[Event->Function];
    const READER_MODULE *Module = Replay->Session.Modules[Function->Module];
    const READER_THREAD *Owner =
        &Replay->Session.Threads[Thread->Merge.Stream.Thread];

    ReaderPutNumber(Output, Event->Timestamp - Replay->Range.FirstTimestamp);
    ReaderPutNumber(Output, Owner->ThreadId);
    ReaderPutProcess(Output, &Replay->Session, Owner->Process);
    ReaderPutString(Output, ReaderEventNames[Event->Kind]);
    ReaderPutNumber(Output, Event->Depth);
    if (Event->Kind == CoreEventEnter || Event->Kind == CoreEventUnmatched) {
        ReaderPutNothing(Output);
    } else {
        ReaderPutNumber(Output, Event->InclusiveTicks);
    }

    ReaderPutText(Output, Module->Name, Module->NameLength);
    ReaderPutText(Output, Function->Name, Function->NameLength);
    ReaderPutNumber(Output, Event->Fiber);
    if (Event->Kind == CoreEventEnter) {
        ReaderPutNumber(Output, Event->IsTailCall);
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, Event->IsAfterJump);
    ReaderPutNothing(Output);
}


static
VOID
ReaderReplayPutInstant(
    _Inout_ PREADER_REPLAY Replay,
    _In_ PCREADER_ACTION Instant
    )
/*++

Routine Description:

    Writes a line or a row for a mark, a start, a stop or a clear.

Arguments:

    Replay - The replay.

    Instant - The action.

Return Value:

    None.

--*/
{
    PREADER_OUTPUT Output = &Replay->Output;
    PRTL_WRITER Writer = Output->Writer;
    PCTRACE_CONTROL_ACTION Action = Instant->Action;
    ULONGLONG First = Replay->Range.FirstTimestamp;
    const CHAR *Name;
    ULONG Length;

    Name = ReaderNameInstant(Action, &Length);
    if (Replay->Options->Format == ReaderFormatText) {

        ReaderReplayPutTime(Replay, Action->Timestamp);
        RtlWriteText(Writer, "%*s [", READER_TIME_WIDTH, "");
        if (Output->HasProcesses) {
            RtlWriteText(Writer,
                         "%6u ",
                         Replay->Session.Processes[Instant->Process]
                             .Header->ProcessId);
        }

        if (Action->ThreadId != 0) {
            RtlWriteText(Writer, "%6u] | /* ", Action->ThreadId);
        } else {
            RtlWriteText(Writer, "%6s] | /* ", "");
        }

        if (Action->Kind == TRACE_ACTION_MARK) {
            RtlWriteText(Writer, "mark: ");
        }

        ReaderWriteCleanText(Writer, Name, Length);
        RtlWriteText(Writer, " */\n");
        return;
    }

    ReaderPutNumber(Output,
                    Action->Timestamp > First ? Action->Timestamp - First : 0);
    if (Action->ThreadId != 0) {
        ReaderPutNumber(Output, Action->ThreadId);
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutProcess(Output, &Replay->Session, Instant->Process);
    ReaderPutString(Output, ReaderDescribeAction(Action->Kind));
    ReaderPutNothing(Output);
    ReaderPutNothing(Output);
    ReaderPutNothing(Output);
    ReaderPutNothing(Output);
    ReaderPutNothing(Output);
    ReaderPutNothing(Output);
    ReaderPutNothing(Output);
    if (Action->Kind == TRACE_ACTION_MARK) {
        ReaderPutText(Output, Name, Length);
    } else {
        ReaderPutNothing(Output);
    }
}


static
VOID
ReaderReplayPutInstants(
    _Inout_ PREADER_REPLAY Replay,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Writes what marks, starts, stops and clears there are up to a time.

Arguments:

    Replay - The replay.

    Timestamp - The time; what is after the range is not written.

Return Value:

    None.

--*/
{
    PCREADER_ACTION Action;

    if (Timestamp > Replay->Range.End) {
        Timestamp = Replay->Range.End;
    }

    while (Replay->Rows < Replay->Options->Limit) {

        Action = ReaderFindInstant(&Replay->Session,
                                   Replay->Options,
                                   &Replay->Instant,
                                   Timestamp);
        if (Action == NULL) {
            break;
        }

        ReaderReplayPutInstant(Replay, Action);
        Replay->Instant += 1;
        Replay->Rows += 1;
    }
}


static
BOOLEAN
ReaderReplayIsShown(
    _Inout_ PREADER_REPLAY Replay,
    _In_ const READER_REPLAY_EVENT *Event
    )
/*++

Routine Description:

    Says whether the filter lets an event through, and counts it if not.

Arguments:

    Replay - The replay.

    Event - The event.

Return Value:

    TRUE if it does.

--*/
{
    PREADER_FUNCTION Function =
        &Replay->Functions.Functions[Event->Function];

    ReaderFilterFunctions(&Replay->Functions, Replay->Options->Filter);
    if (Function->IsShown) {
        return TRUE;
    }

    if (!Function->IsLeftOut) {
        Function->IsLeftOut = TRUE;
        Replay->NotShown.Rows += 1;
    }

    if (Event->Kind == CoreEventEnter) {
        Replay->NotShown.Calls += 1;
    }

    return FALSE;
}


static
VOID
ReaderReplayStep(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread
    )
/*++

Routine Description:

    Writes the earliest event and moves its thread on.

Arguments:

    Replay - The replay.

    Thread - The thread that is first in the merge.

Return Value:

    None.

--*/
{
    BOOLEAN IsLeaf;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Thread->Current.Timestamp < Thread->Merge.Stream.Start) {

        //
        // A frame that was open at the end of a thread that ended before.
        //

    } else if (!ReaderReplayIsShown(Replay, &Thread->Current)) {

        //
        // Nothing is written.  What comes next is written as otherwise.
        //

    } else if (Replay->Options->Format == ReaderFormatText) {

        IsLeaf = Thread->Current.Kind == CoreEventEnter &&
                 Thread->HasNext &&
                 Thread->Next.Kind != CoreEventEnter &&
                 Thread->Next.Kind != CoreEventUnmatched &&
                 Thread->Next.Fiber == Thread->Current.Fiber &&
                 Thread->Next.Depth == Thread->Current.Depth;

        ReaderReplayPutText(Replay, Thread, IsLeaf);
        if (IsLeaf) {
            Status = ReaderReplayAdvance(Replay, Thread);
        }

        Replay->Rows += 1;

    } else {
        ReaderReplayPutRow(Replay, Thread);
        Replay->Rows += 1;
    }

    if (NT_SUCCESS(Status)) {
        Status = Thread->HasNext ? ReaderReplayAdvance(Replay, Thread)
                                 : STATUS_END_OF_FILE;
    }

    ReaderMoveInMerge(&Replay->Merge, Status);
}


_Must_inspect_result_
static
NTSTATUS
ReaderReplayRun(
    _Inout_ PREADER_REPLAY Replay
    )
/*++

Routine Description:

    Writes the events of all threads.

Arguments:

    Replay - The replay.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_MERGE Merge = &Replay->Merge;
    PREADER_MERGE_THREAD Thread;
    NTSTATUS Status;

    Merge->Session = &Replay->Session;
    Merge->Begin = ReaderReplayBeginThread;
    Merge->RoutineContext = Replay;
    Merge->SizeOfThread = sizeof(READER_REPLAY_THREAD);
    Status = ReaderBeginMerge(Merge, Replay->Options);

    while (NT_SUCCESS(Status) &&
           Replay->Rows < Replay->Options->Limit &&
           NT_SUCCESS(Replay->Output.Writer->Status)) {

        Status = ReaderFirstInMerge(Merge, &Thread);
        if (NT_SUCCESS(Status)) {

            if (Thread->Timestamp > Replay->Range.End) {
                break;
            }

            ReaderReplayPutInstants(Replay, Thread->Timestamp);
            if (Replay->Rows >= Replay->Options->Limit) {
                break;
            }

            ReaderReplayStep(Replay, (PREADER_REPLAY_THREAD)Thread);
        }
    }

    if (NT_SUCCESS(Status) || Status == STATUS_END_OF_FILE) {
        ReaderReplayPutInstants(Replay, READER_MAXIMUM_TIMESTAMP);
    }

    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


static
ULONG
ReaderCommandReplay(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs replay.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_REPLAY Replay;
    NTSTATUS Status;

    RtlZeroBytes(&Replay, sizeof(Replay));
    Replay.Options = Options;
    if (!ReaderBeginCommand(&Replay.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!ReaderRequireCalls(&Replay.Session, "replay") ||
        !ReaderQueryRange(&Replay.Session, Options, &Replay.Range)) {
        ReaderCloseSession(&Replay.Session);
        return READER_EXIT_FAILURE;
    }

    Replay.Instant = ReaderFirstInstant(&Replay.Session, Replay.Range.Start);
    ReaderInitializeFunctions(&Replay.Functions, &Replay.Session);
    ReaderInitializeTally(&Replay.Tally, &Replay.Functions, NULL);
    ReaderBeginDocument(&Replay.Output,
                        Context->Output,
                        Options->Format,
                        &Replay.Session.Clock,
                        "replay",
                        FALSE);
    Replay.Output.HasProcesses = Replay.Session.NumberOfProcesses > 1;
    Replay.ShowsTimes = (Options->Given & READER_OPTION_TIMES) != 0;
    if (Options->Format == ReaderFormatText) {
        if (Replay.ShowsTimes) {
            RtlWriteText(Context->Output, "%17s ", "Time");
        }
        RtlWriteText(Context->Output,
                     "%*s %s%8s   %s\n",
                     READER_TIME_WIDTH,
                     "Duration",
                     Replay.Output.HasProcesses ? "Process" : "",
                     "Thread",
                     "Function");
    } else {
        ReaderBeginTable(&Replay.Output, &ReaderReplayTable, 0);
    }

    Status = ReaderReplayRun(&Replay);
    if (!NT_SUCCESS(Status)) {
        Replay.ExitCode = ReaderFail(Context,
                                     "replay",
                                     Options->PathUtf8,
                                     Status);
    }

    if (Options->Format != ReaderFormatText) {
        ReaderEndTable(&Replay.Output);
    }

    ReaderPutNotShown(&Replay.Output, Options->Filter, &Replay.NotShown);
    ReaderPutClockNote(&Replay.Output, &Replay.Session);
    ReaderEndDocument(&Replay.Output);

    ReaderEndMerge(&Replay.Merge);
    if (Replay.ExitCode == READER_EXIT_SUCCESS) {
        Replay.ExitCode = Replay.Merge.ExitCode;
    }

    Replay.ExitCode = ReaderEndFilter(Context,
                                      Options->Filter,
                                      Replay.Rows,
                                      &Replay.NotShown,
                                      Replay.ExitCode);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        ReaderPutFilterCost(&Replay.Functions, Options->Filter);
        ReaderPutIndexCost(&Replay.Session);
    }

    ReaderRundownTally(&Replay.Tally);
    ReaderRundownFunctions(&Replay.Functions);
    ReaderCloseSession(&Replay.Session);
    return Replay.ExitCode;
}


const READER_COMMAND ReaderReplayCommand = {
    "replay",
    "PATH",
    "Shows the calls as they happened",
    "CSV, and JSON in the array events, hold time_ns (since the first\n"
    "record), thread_id, event (enter, exit, abandoned, unmatched, open;\n"
    "mark, start, stop, clear), depth, duration_ns (of the ends), module,\n"
    "function, fiber (0: the thread's own stack), tail_call (of an enter: 1\n"
    "if the function that ended just before jumped here), clock_jump (1: the\n"
    "clock thread may have stood still before this; in text a ~), text (of a\n"
    "mark).  The last four events have nothing else, and no thread if they\n"
    "were asked for from outside.  --from and --to need a\n"
    "session with times; --times shows what they take.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_TICKS_NOTE,
    "  TraceReader replay --limit 100 SESSION\n"
    "  TraceReader replay --from 20ms --to 21ms --times SESSION\n"
    "  TraceReader replay --function Game::Load --json SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_THREAD | READER_OPTION_LIMIT |
        READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_VERBOSE |
        READER_OPTIONS_OF_READING |
        READER_OPTION_FILTER | READER_OPTION_TIMES,
    ReaderCommandReplay
};
