/*++

Module Name:

    CommandReplay.c

Abstract:

    TraceReader replay: the calls as they happened, all threads in the order
    of time.  A call during which its thread made no other is written on one
    line.

    Each thread is read one event ahead; memory is bounded by the threads that
    run at one time and their open frames, and with --tail by as many lines.

--*/

#include "../Base/BaseContainer.h"
#include "../Base/BaseErrors.h"
#include "../Base/BaseZone.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionTreeStore.h"
#include "../Functions/FunctionFilter.h"
#include "../Functions/FunctionStub.h"
#include "../Calls/CallHold.h"
#include "../Calls/CallIndex.h"
#include "../Calls/CallMerge.h"
#include "../Calls/CallSiteTable.h"
#include "../Calls/CallSkip.h"
#include "../Sums/SumEtl.h"
#include "Command.h"
#include "CommandReplay.h"

static const READER_COLUMN ReaderReplayColumns[] = {
    READER_REPLAY_COLUMNS
};

static const READER_COLUMN ReaderReplayWallColumns[] = {
    READER_REPLAY_COLUMNS,
    READER_REPLAY_WALL_COLUMN
};

static const READER_COLUMN ReaderReplayStateColumns[] = {
    READER_REPLAY_COLUMNS,
    READER_STATE_COLUMNS
};

static const READER_COLUMN ReaderReplayAllColumns[] = {
    READER_REPLAY_COLUMNS,
    READER_STATE_COLUMNS,
    READER_REPLAY_WALL_COLUMN
};

//
// By whether --etl was given, and --wall.
//

static const READER_TABLE ReaderReplayKinds[2][2] = {
    {
        READER_REPLAY_TABLE(ReaderReplayColumns),
        READER_REPLAY_TABLE(ReaderReplayWallColumns)
    },
    {
        READER_REPLAY_TABLE(ReaderReplayStateColumns),
        READER_REPLAY_TABLE(ReaderReplayAllColumns)
    }
};

static const PCSZ ReaderEventNames[] = {
    "enter",
    "exit",
    "abandoned",
    "unmatched",
    "open"
};

#define READER_MAXIMUM_REPLAY_DEPTH 60

typedef struct _READER_REPLAY_THREAD {
    READER_MERGE_THREAD Merge;      // the time stamp is the current event's
    READER_HOLD Hold;
    struct _READER_REPLAY_END *End; // NULL: nobody asks for it
    READER_CALL_EVENT Current;
    READER_CALL_EVENT Next;
    BOOLEAN HasNext;
} READER_REPLAY_THREAD;
typedef READER_REPLAY_THREAD *PREADER_REPLAY_THREAD;

//
// What --tail keeps.
//

typedef struct _READER_REPLAY_LINE {
    PCREADER_ACTION Instant;        // NULL: it is an event
    ULONG Depth;                    // of an instant: the calls around it
    ULONG Thread;                   // of the session
    BOOLEAN IsLeaf;                 // Last is its end, on the same line
    READER_CALL_EVENT Event;
    READER_CALL_EVENT Last;
} READER_REPLAY_LINE;
typedef READER_REPLAY_LINE *PREADER_REPLAY_LINE;
typedef const READER_REPLAY_LINE *PCREADER_REPLAY_LINE;

//
// How a thread ended that was inside of calls when its process died, for the
// end of --tail: the last lines before, a ring, and the innermost calls.
//

#define READER_END_LINES 10u
#define READER_END_CALLS 20u
#define READER_MAXIMUM_ENDS 16u

typedef struct _READER_REPLAY_END {
    ULONG Thread;                   // of the session
    ULONG NumberOfLines;            // there were
    ULONG NumberOfCalls;            // that were open
    ULONGLONG Row;                  // of the innermost of them
    ULONGLONG Timestamp;            // the thread's last
    READER_REPLAY_LINE Lines[READER_END_LINES];
    READER_REPLAY_LINE Calls[READER_END_CALLS];
} READER_REPLAY_END;
typedef READER_REPLAY_END *PREADER_REPLAY_END;

typedef struct _READER_REPLAY {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_OUTPUT Output;
    READER_MERGE Merge;
    READER_RANGE Range;
    READER_TALLY Tally;             // for what is passed over
    ULONGLONG Rows;
    PREADER_REPLAY_LINE Lines;      // --tail: a ring, once it has Tail lines
    ULONG Capacity;
    PREADER_REPLAY_END Ends[READER_MAXIMUM_ENDS];   // a ring: the latest
    ULONG NumberOfEnds;             // there were
    ULONG Instant;                  // the next of the session's actions
    READER_HOLD_RULES Rules;
    READER_ETL Etl;
    BOOLEAN ShowsTimes;
    BOOLEAN ShowsWall;
    LONG Zone;                      // these two by CallFindWallTime
    ULONGLONG FirstWallTime;
    BOOLEAN ShowsOpen;              // what is open where the range begins
    READER_NOT_SHOWN NotShown;
    ULONG ExitCode;
} READER_REPLAY;
typedef READER_REPLAY *PREADER_REPLAY;


//
// Reads a thread's next event.
// Thread: the thread; Next and HasNext are set.
// Returns STATUS_SUCCESS or what failed. The end is a success.
//

_Must_inspect_result_
static
NTSTATUS
CommandReplayRead(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread
    )
{
    NTSTATUS Status;

    Status = CallNextHeldEvent(&Replay->Rules,
                               &Thread->Hold,
                               &Thread->Merge.Stream,
                               &Thread->Next);
    Thread->HasNext = NT_SUCCESS(Status);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


//
// Makes a thread's next event its current one and reads one more.
// Thread: the thread, with a next event.
//

_Must_inspect_result_
static
NTSTATUS
CommandReplayAdvance(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread
    )
{
    Thread->Current = Thread->Next;
    Thread->Merge.Timestamp = Thread->Current.Timestamp;
    return CommandReplayRead(Replay, Thread);
}


//
// Takes the calls that are open where the range begins, unless their thread had
// ended by then.
//

_Must_inspect_result_
static
NTSTATUS
CommandReplayTakeOpenCalls(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread
    )
{
    PREADER_STREAM Stream = &Thread->Merge.Stream;
    const READER_THREAD *Owner = &Replay->Session.Threads[Stream->Thread];

    if (!Replay->ShowsOpen || Stream->Start == 0 ||
        (!Owner->IsToTheEnd && Owner->EndTimestamp < Stream->Start)) {
        return STATUS_SUCCESS;
    }

    return CallHoldOpenCalls(&Replay->Rules, &Thread->Hold, Stream);
}


static
VOID
CommandReplayEndThread(
    _In_ PVOID RoutineContext,
    _Inout_ PREADER_MERGE_THREAD Thread
    )
{
    PREADER_REPLAY Replay = (PREADER_REPLAY)RoutineContext;
    PCALLOCATOR Allocator = Replay->Session.Context->Allocator;
    PREADER_REPLAY_END End = ((PREADER_REPLAY_THREAD)Thread)->End;
    PREADER_REPLAY_END *Place;

    CallRundownHold(&Replay->Rules, &((PREADER_REPLAY_THREAD)Thread)->Hold);
    ((PREADER_REPLAY_THREAD)Thread)->End = NULL;
    if (End == NULL || End->NumberOfCalls == 0) {
        Allocator->Free(Allocator->Context, End);
        return;
    }

    //
    // Threads come here in the order of their last records.
    //

    Place = &Replay->Ends[Replay->NumberOfEnds % READER_MAXIMUM_ENDS];
    Allocator->Free(Allocator->Context, *Place);
    *Place = End;
    Replay->NumberOfEnds += 1;
}


//
// Finds a thread's first event.
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE if it has none, or what failed.
//

_Must_inspect_result_
static
NTSTATUS
CommandReplayBeginThread(
    _In_ PVOID RoutineContext,
    _Inout_ PREADER_MERGE_THREAD MergeThread
    )
{
    PREADER_REPLAY Replay = (PREADER_REPLAY)RoutineContext;
    PREADER_REPLAY_THREAD Thread = (PREADER_REPLAY_THREAD)MergeThread;
    NTSTATUS Status;

    Status = CallSkipStream(&Replay->Tally,
                            &MergeThread->Stream,
                            Replay->Range.Start);
    if (NT_SUCCESS(Status)) {
        Status = CommandReplayTakeOpenCalls(Replay, Thread);
    }

    if (NT_SUCCESS(Status)) {
        Status = CommandReplayRead(Replay, Thread);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!Thread->HasNext) {
        return STATUS_END_OF_FILE;
    }

    return CommandReplayAdvance(Replay, Thread);
}


//
// Finds the time of day of a time stamp, as nanoseconds since 1601.
//

static
ULONGLONG
CommandReplayFindWallTime(
    _In_ const READER_REPLAY *Replay,
    _In_ ULONGLONG Timestamp
    )
{
    return Replay->FirstWallTime + CallQueryTime(&Replay->Session.Clock,
                                                 Replay->Range.FirstTimestamp,
                                                 Timestamp);
}


//
// Writes the cell of the time of day, if there is one.
//

static
VOID
CommandReplayPutWallTime(
    _Inout_ PREADER_REPLAY Replay,
    _In_ ULONGLONG Timestamp
    )
{
    ULONGLONG Time;
    RTL_WRITER Writer;
    CHAR Text[48];

    if (!Replay->ShowsWall) {
        return;
    }

    Time = CommandReplayFindWallTime(Replay, Timestamp);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    BaseWriteDay(&Writer, Time);
    RtlWriteText(&Writer, "T");
    BaseWriteClock(&Writer, Time);
    if (Replay->Options->IsWallUtc) {
        RtlWriteText(&Writer, "Z");
    } else {
        BaseWriteZone(&Writer, FALSE, Replay->Zone);
    }

    OutputPutText(&Replay->Output, Text, Writer.LengthInBytes);
}


//
// Writes when something was, if that is to be shown.
//

static
VOID
CommandReplayPutTime(
    _In_ const READER_REPLAY *Replay,
    _In_ ULONGLONG Timestamp
    )
{
    PRTL_WRITER Writer = Replay->Output.Writer;
    ULONGLONG Time = 0;

    if (Replay->ShowsWall) {
        BaseWriteClock(Writer, CommandReplayFindWallTime(Replay, Timestamp));
        RtlWriteText(Writer, " ");
    }

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


//
// Writes when something was, in human units.
//

static
VOID
CommandReplayWriteTime(
    _In_ const READER_REPLAY *Replay,
    _In_ ULONGLONG Timestamp
    )
{
    ULONGLONG First = Replay->Range.FirstTimestamp;
    RTL_WRITER Writer;
    CHAR Text[32];
    ULONG Blanks = 0;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    OutputWriteTime(&Writer,
                    Replay->Output.Clock,
                    Timestamp > First ? Timestamp - First : 0);
    while (Blanks < Writer.LengthInBytes && Text[Blanks] == ' ') {
        Blanks += 1;
    }

    RtlWriteCleanText(Replay->Output.Writer,
                      Text + Blanks,
                      Writer.LengthInBytes - Blanks);
}


//
// What the thread did in a call.
// Event: its end; NULL: there is none.
// Returns FALSE if that is nothing to be said.
//

static
BOOLEAN
CommandReplayQueryStates(
    _In_ const READER_REPLAY *Replay,
    _In_ ULONG Thread,
    _In_opt_ PCREADER_CALL_EVENT Event,
    _Out_ PREADER_STATE_SUMS Sums
    )
{
    RtlZeroBytes(Sums, sizeof(*Sums));
    if (Event == NULL || Event->Kind == CoreEventEnter ||
        Event->Kind == CoreEventUnmatched) {
        return FALSE;
    }

    SumEtlQueryCall(&Replay->Etl,
                    Thread,
                    Event->EnterTimestamp,
                    Event->InclusiveTicks,
                    Sums);
    return TRUE;
}


//
// Writes that, in a line of text.
//

static
VOID
CommandReplayPutStates(
    _In_ const READER_REPLAY *Replay,
    _In_ ULONG Thread,
    _In_opt_ PCREADER_CALL_EVENT Event
    )
{
    READER_STATE_SUMS Sums;

    if (Replay->Etl.IsThere) {
        SumEtlWriteSums(
            Replay->Output.Writer,
            Replay->Output.Clock,
            CommandReplayQueryStates(Replay, Thread, Event, &Sums) ? &Sums
                                                                   : NULL);
    }
}


//
// Indents a line.
//

static
VOID
CommandReplayPutDepth(
    _In_ const READER_REPLAY *Replay,
    _In_ ULONG Depth
    )
{
    PRTL_WRITER Writer = Replay->Output.Writer;

    if (Depth > READER_MAXIMUM_REPLAY_DEPTH) {
        RtlWriteText(Writer,
                     "%*s[%u] ",
                     2 * READER_MAXIMUM_REPLAY_DEPTH,
                     "",
                     Depth);
    } else {
        RtlWriteText(Writer, "%*s", (int)(2 * Depth), "");
    }
}


//
// Writes a line of text.
//

static
VOID
CommandReplayPutText(
    _Inout_ PREADER_REPLAY Replay,
    _In_ PCREADER_REPLAY_LINE Line
    )
{
    PRTL_WRITER Writer = Replay->Output.Writer;
    const READER_CALL_EVENT *Event = &Line->Event;
    BOOLEAN IsLeaf = Line->IsLeaf;
    PCREADER_FUNCTION Function =
        &Replay->Functions.Functions[Event->Function];
    const READER_THREAD *Owner =
        &Replay->Session.Threads[Line->Thread];

    CommandReplayPutTime(Replay,
                         Event->IsOpenBefore ? Event->EnterTimestamp
                                             : Event->Timestamp);
    if (Event->Kind == CoreEventEnter && !IsLeaf) {
        RtlWriteText(Writer, "%*s", READER_TIME_WIDTH, "");
    } else if (Event->Kind == CoreEventUnmatched) {
        RtlWriteText(Writer, "%*s", READER_TIME_WIDTH, "");
    } else {
        OutputWriteTime(Writer,
                        Replay->Output.Clock,
                        IsLeaf ? Line->Last.InclusiveTicks
                               : Event->InclusiveTicks);
    }

    CommandReplayPutStates(Replay,
                           Line->Thread,
                           IsLeaf ? &Line->Last : Event);

    //
    // Before this record, or before the exit that is on its line, the clock
    // jumped.
    //

    RtlWriteText(Writer,
                 "%s[",
                 Event->IsAfterJump || (IsLeaf && Line->Last.IsAfterJump)
                     ? "~"
                     : " ");
    if (Replay->Output.HasProcesses) {
        RtlWriteText(Writer,
                     "%6u ",
                     Replay->Session.Processes[Owner->Process]
                         .Header->ProcessId);
    }

    RtlWriteText(Writer, "%6u", Owner->ThreadId);
    if (Event->Track != 0) {
        RtlWriteText(Writer, ":%u", Event->Track);
    }

    RtlWriteText(Writer, "] | ");
    CommandReplayPutDepth(Replay, Event->Depth);

    switch (Event->Kind) {

    case CoreEventEnter:
        RtlWriteCleanText(Writer, Function->Name, Function->NameLength);
        if (!FunctionHasParameters(Function->Name, Function->NameLength)) {
            RtlWriteText(Writer, "()");
        }

        RtlWriteText(Writer, IsLeaf ? ";" : " {");
        if (!Event->IsTailCall && !Event->IsOpenBefore &&
            Function->Importer == 0 &&
            (!IsLeaf || Line->Last.Kind == CoreEventExit)) {
            RtlWriteText(Writer, "\n");
            return;
        }

        OutputSetColor(Writer, ReaderColorFaint);
        if (Function->Importer != 0) {
            RtlWriteText(Writer, " /* ");
            FunctionStubWriteCaller(Writer,
                                    &Replay->Functions,
                                    Function->Importer);
            RtlWriteText(Writer, " */");
        }

        if (Event->IsTailCall) {
            RtlWriteText(Writer, " /* tail call */");
        }

        if (Event->IsOpenBefore) {
            RtlWriteText(Writer, " /* open since ");
            CommandReplayWriteTime(Replay, Event->EnterTimestamp);
            RtlWriteText(Writer, " */");
        }

        if (IsLeaf && Line->Last.Kind != CoreEventExit) {
            RtlWriteText(Writer,
                         " /* %s */",
                         ReaderEventNames[Line->Last.Kind]);
        }

        break;

    case CoreEventUnmatched:
        OutputSetColor(Writer, ReaderColorFaint);
        RtlWriteText(Writer, "/* exit without an entry: ");
        RtlWriteCleanText(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, " */");
        break;

    default:
        RtlWriteText(Writer, "} ");
        OutputSetColor(Writer, ReaderColorFaint);
        RtlWriteText(Writer, "/* ");
        RtlWriteCleanText(Writer, Function->Name, Function->NameLength);
        if (Event->Kind != CoreEventExit) {
            RtlWriteText(Writer, ", %s", ReaderEventNames[Event->Kind]);
        }

        RtlWriteText(Writer, " */");
        break;
    }

    OutputSetColor(Writer, ReaderColorNone);
    RtlWriteText(Writer, "\n");
}


//
// Writes a row of CSV or JSON.
//

static
VOID
CommandReplayPutRow(
    _Inout_ PREADER_REPLAY Replay,
    _In_ PCREADER_REPLAY_LINE Line
    )
{
    PREADER_OUTPUT Output = &Replay->Output;
    const READER_CALL_EVENT *Event = &Line->Event;
    PCREADER_FUNCTION Function =
        &Replay->Functions.Functions[Event->Function];
    const READER_THREAD *Owner =
        &Replay->Session.Threads[Line->Thread];
    READER_STATE_SUMS Sums;
    BOOLEAN HasStates;

    OutputPutNumber(Output,
                    (Event->IsOpenBefore ? Event->EnterTimestamp
                                         : Event->Timestamp) -
                        Replay->Range.FirstTimestamp);
    OutputPutNumber(Output, Owner->ThreadId);
    SessionPutProcess(Output, &Replay->Session, Owner->Process);
    OutputPutString(Output,
                    Event->IsOpenBefore ? "open_before"
                                        : ReaderEventNames[Event->Kind]);
    OutputPutNumber(Output, Event->Depth);
    if (Event->Kind == CoreEventEnter || Event->Kind == CoreEventUnmatched) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output, Event->InclusiveTicks);
    }

    FunctionStubPutCaller(Output, &Replay->Functions, Function);
    OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
    OutputPutText(Output, Function->Name, Function->NameLength);
    OutputPutNumber(Output, Event->Track);
    if (Event->Kind == CoreEventEnter) {
        OutputPutNumber(Output, Event->IsTailCall);
    } else {
        OutputPutNothing(Output);
    }

    OutputPutNumber(Output, Event->IsAfterJump);
    OutputPutNothing(Output);
    if (Replay->Etl.IsThere) {
        HasStates = CommandReplayQueryStates(Replay,
                                             Line->Thread,
                                             Event,
                                             &Sums);
        SumEtlPutSums(Output, HasStates ? &Sums : NULL);
    }

    CommandReplayPutWallTime(Replay,
                             Event->IsOpenBefore ? Event->EnterTimestamp
                                                 : Event->Timestamp);
}


//
// Writes a line or a row for a mark, a start, a stop or a clear.
//

static
VOID
CommandReplayPutInstant(
    _Inout_ PREADER_REPLAY Replay,
    _In_ PCREADER_ACTION Instant,
    _In_ ULONG Depth
    )
{
    PREADER_OUTPUT Output = &Replay->Output;
    PRTL_WRITER Writer = Output->Writer;
    PCTRACE_CONTROL_ACTION Action = Instant->Action;
    ULONGLONG First = Replay->Range.FirstTimestamp;
    const CHAR *Name;
    ULONG Length;

    Name = SessionControlNameInstant(Action, &Length);
    if (Replay->Options->Format == ReaderFormatText) {

        CommandReplayPutTime(Replay, Action->Timestamp);
        RtlWriteText(Writer, "%*s", READER_TIME_WIDTH, "");
        CommandReplayPutStates(Replay, 0, NULL);
        RtlWriteText(Writer, " [");
        if (Output->HasProcesses) {
            RtlWriteText(Writer,
                         "%6u ",
                         Replay->Session.Processes[Instant->Process]
                             .Header->ProcessId);
        }

        if (Action->ThreadId != 0) {
            RtlWriteText(Writer, "%6u] | ", Action->ThreadId);
        } else {
            RtlWriteText(Writer, "%6s] | ", "");
        }

        CommandReplayPutDepth(Replay, Depth);
        RtlWriteText(Writer, "/* ");

        if (Action->Kind == TRACE_ACTION_MARK) {
            RtlWriteText(Writer, "mark: ");
        }

        RtlWriteCleanText(Writer, Name, Length);
        RtlWriteText(Writer, " */\n");
        return;
    }

    OutputPutNumber(Output,
                    Action->Timestamp > First ? Action->Timestamp - First : 0);
    if (Action->ThreadId != 0) {
        OutputPutNumber(Output, Action->ThreadId);
    } else {
        OutputPutNothing(Output);
    }

    SessionPutProcess(Output, &Replay->Session, Instant->Process);
    OutputPutString(Output, SessionControlDescribeAction(Action->Kind));
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    if (Action->Kind == TRACE_ACTION_MARK) {
        OutputPutText(Output, Name, Length);
    } else {
        OutputPutNothing(Output);
    }

    if (Replay->Etl.IsThere) {
        SumEtlPutSums(Output, NULL);
    }

    CommandReplayPutWallTime(Replay, Action->Timestamp);
}


static
VOID
CommandReplayPutLine(
    _Inout_ PREADER_REPLAY Replay,
    _In_ PCREADER_REPLAY_LINE Line
    )
{
    if (Line->Instant != NULL) {
        CommandReplayPutInstant(Replay, Line->Instant, Line->Depth);
    } else if (Replay->Options->Format == ReaderFormatText) {
        CommandReplayPutText(Replay, Line);
    } else {
        CommandReplayPutRow(Replay, Line);
    }
}


//
// Writes a line, or keeps it for the end in place of the oldest.
//

_Must_inspect_result_
static
NTSTATUS
CommandReplayTakeLine(
    _Inout_ PREADER_REPLAY Replay,
    _In_ PCREADER_REPLAY_LINE Line
    )
{
    ULONG Tail = Replay->Options->Tail;
    ULONG Place;
    NTSTATUS Status;

    if (Tail == 0) {
        CommandReplayPutLine(Replay, Line);
        Replay->Rows += 1;
        return STATUS_SUCCESS;
    }

    Place = (ULONG)(Replay->Rows % Tail);
    if (Replay->Rows < Tail) {
        Status = BaseGrowArray(Replay->Session.Context->Allocator,
                               (PVOID *)&Replay->Lines,
                               &Replay->Capacity,
                               Place + 1,
                               sizeof(*Replay->Lines));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Replay->Lines[Place] = *Line;
    Replay->Rows += 1;
    return STATUS_SUCCESS;
}


//
// Notes a line for the case that its thread is inside of calls at its end.
// Nothing is noted where there is no memory for it.
//

static
VOID
CommandReplayNoteEnd(
    _In_ const READER_REPLAY *Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread,
    _In_ PCREADER_REPLAY_LINE Line
    )
{
    PCALLOCATOR Allocator = Replay->Session.Context->Allocator;
    const READER_THREAD *Owner = &Replay->Session.Threads[Line->Thread];
    PREADER_REPLAY_END End = Thread->End;

    //
    // Only of a process that died: one that runs is inside of calls, too, and
    // one that ended as it should has left its threads where they waited.
    //

    if (Replay->Options->Tail == 0 ||
        Replay->Options->Format != ReaderFormatText || !Owner->IsLive ||
        Replay->Session.Processes[Owner->Process].State !=
            ReaderProcessGone) {
        return;
    }

    if (End == NULL) {
        End = (PREADER_REPLAY_END)Allocator->Allocate(Allocator->Context,
                                                      sizeof(*End));
        if (End == NULL) {
            return;
        }

        RtlZeroBytes(End, sizeof(*End));
        End->Thread = Line->Thread;
        Thread->End = End;
    }

    End->Timestamp = Line->Event.Timestamp;
    if (Line->Event.Kind != CoreEventOpen &&
        (!Line->IsLeaf || Line->Last.Kind != CoreEventOpen)) {

        End->Lines[End->NumberOfLines % READER_END_LINES] = *Line;
        End->NumberOfLines += 1;
        return;
    }

    if (End->NumberOfCalls == 0) {
        End->Row = Replay->Rows;
    }

    if (End->NumberOfCalls < READER_END_CALLS) {
        End->Calls[End->NumberOfCalls] = *Line;
    }

    End->NumberOfCalls += 1;
}


//
// What its process did when a thread ended.
//

static
PCSZ
CommandReplayDescribeEnd(
    _In_ const READER_REPLAY *Replay,
    _In_ const READER_REPLAY_END *End
    )
{
    return SessionHasEnded(&Replay->Session,
                           Replay->Session.Threads[End->Thread].Process)
               ? "ended"
               : "died";
}


//
// Writes how a thread ended; one whose lines --tail shows is named.
//

static
VOID
CommandReplayPutEnd(
    _Inout_ PREADER_REPLAY Replay,
    _In_ const READER_REPLAY_END *End,
    _In_ BOOLEAN IsAbove
    )
{
    PRTL_WRITER Writer = Replay->Output.Writer;
    const READER_THREAD *Owner = &Replay->Session.Threads[End->Thread];
    ULONG Index = 0;
    const CHAR *Name;
    ULONG Length;

    SessionQueryThreadName(&Replay->Session, End->Thread, &Name, &Length);
    RtlWriteText(Writer, "\n");
    OutputSetColor(Writer, ReaderColorTitle);
    RtlWriteText(Writer, "Thread %u", Owner->ThreadId);
    if (Length != 0) {
        RtlWriteText(Writer, " (");
        RtlWriteCleanText(Writer, Name, Length);
        RtlWriteText(Writer, ")");
    }

    RtlWriteText(Writer,
                 " was in %u call%s when the process %s%s",
                 End->NumberOfCalls,
                 End->NumberOfCalls == 1 ? "" : "s",
                 CommandReplayDescribeEnd(Replay, End),
                 IsAbove ? ", which are above." : ":");
    OutputSetColor(Writer, ReaderColorNone);
    RtlWriteText(Writer, "\n");
    if (IsAbove) {
        return;
    }

    if (End->NumberOfLines > READER_END_LINES) {
        Index = End->NumberOfLines - READER_END_LINES;
    }

    for (; Index < End->NumberOfLines; Index++) {
        CommandReplayPutLine(Replay, &End->Lines[Index % READER_END_LINES]);
    }

    for (Index = 0;
         Index < End->NumberOfCalls && Index < READER_END_CALLS;
         Index++) {
        CommandReplayPutLine(Replay, &End->Calls[Index]);
    }

    if (End->NumberOfCalls > READER_END_CALLS) {
        RtlWriteText(Writer,
                     "  and %u calls around these\n",
                     End->NumberOfCalls - READER_END_CALLS);
    }
}


//
// Writes how the threads ended that were inside of calls when the process died.
// The crash may be in any of them.
//

static
VOID
CommandReplayPutEnds(
    _Inout_ PREADER_REPLAY Replay
    )
{
    ULONG Tail = Replay->Options->Tail;
    ULONG Index = 0;

    if (Replay->NumberOfEnds > READER_MAXIMUM_ENDS) {
        Index = Replay->NumberOfEnds - READER_MAXIMUM_ENDS;
    }

    if (Index != 0) {
        RtlWriteText(Replay->Output.Writer,
                     "\n%u more threads were in calls when the process %s: "
                     "--thread shows each.\n",
                     Index,
                     CommandReplayDescribeEnd(
                         Replay,
                         Replay->Ends[Index % READER_MAXIMUM_ENDS]));
    }

    for (; Index < Replay->NumberOfEnds; Index++) {

        const READER_REPLAY_END *End =
            Replay->Ends[Index % READER_MAXIMUM_ENDS];

        CommandReplayPutEnd(Replay, End, Replay->Rows - End->Row <= Tail);
    }
}


//
// Writes what --tail has kept.
//

static
VOID
CommandReplayPutTail(
    _Inout_ PREADER_REPLAY Replay
    )
{
    ULONG Tail = Replay->Options->Tail;
    ULONGLONG Row = Replay->Rows > Tail ? Replay->Rows - Tail : 0;

    if (Tail == 0) {
        return;
    }

    for (; Row < Replay->Rows; Row += 1) {
        CommandReplayPutLine(Replay, &Replay->Lines[Row % Tail]);
    }
}


//
// Is an instant one of a thread, and not of the whole process?
//

static
BOOLEAN
CommandReplayIsOf(
    _In_ const READER_REPLAY *Replay,
    _In_opt_ PCREADER_ACTION Instant,
    _In_ ULONG Thread
    )
{
    const READER_THREAD *Owner = &Replay->Session.Threads[Thread];

    return Instant != NULL && Instant->Action->ThreadId == Owner->ThreadId &&
           Instant->Process == Owner->Process;
}


//
// In how many calls was the thread that an instant is of?  What the thread does
// next tells.
//

static
ULONG
CommandReplayFindDepth(
    _In_ const READER_REPLAY *Replay,
    _In_ PCREADER_ACTION Instant
    )
{
    const READER_REPLAY_THREAD *Thread;
    ULONG Index;

    for (Index = 0; Index < Replay->Merge.NumberInHeap; Index++) {
        Thread = (const READER_REPLAY_THREAD *)Replay->Merge.Heap[Index];
        if (CommandReplayIsOf(Replay, Instant, Thread->Merge.Stream.Thread)) {
            return Thread->Current.Depth +
                   (Thread->Current.Kind != CoreEventEnter &&
                    Thread->Current.Kind != CoreEventUnmatched);
        }
    }

    return 0;
}


//
// Writes what marks, starts, stops and clears there are up to a time.
// Timestamp: the time; what is after the range is not written.
//

_Must_inspect_result_
static
NTSTATUS
CommandReplayPutInstants(
    _Inout_ PREADER_REPLAY Replay,
    _In_ ULONGLONG Timestamp
    )
{
    READER_REPLAY_LINE Line;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(&Line, sizeof(Line));

    if (Timestamp > Replay->Range.End) {
        Timestamp = Replay->Range.End;
    }

    while (NT_SUCCESS(Status) && Replay->Rows < Replay->Options->Limit) {

        Line.Instant = SessionControlFindInstant(&Replay->Session,
                                                 Replay->Options,
                                                 &Replay->Instant,
                                                 Timestamp);
        if (Line.Instant == NULL) {
            break;
        }

        Line.Depth = CommandReplayFindDepth(Replay, Line.Instant);
        Status = CommandReplayTakeLine(Replay, &Line);
        Replay->Instant += 1;
    }

    return Status;
}


//
// Says whether the filter lets an event through, and counts it if not.
//

static
BOOLEAN
CommandReplayIsShown(
    _Inout_ PREADER_REPLAY Replay,
    _In_ const READER_CALL_EVENT *Event
    )
{
    PREADER_FUNCTION Function =
        &Replay->Functions.Functions[Event->Function];

    FunctionFilterFunctions(&Replay->Functions, Replay->Options->Filter);
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


//
// Writes the earliest event and moves its thread on.
// Thread: the thread that is first in the merge.
//

static
VOID
CommandReplayStep(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread
    )
{
    READER_REPLAY_LINE Line;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Thread->Current.Timestamp < Thread->Merge.Stream.Start) {

        //
        // A frame that was open at the end of a thread that ended before.
        //

    } else if (!CommandReplayIsShown(Replay, &Thread->Current)) {

        //
        // Nothing is written.  What comes next is written as otherwise.
        //

    } else {

        Line.Instant = NULL;
        Line.Thread = Thread->Merge.Stream.Thread;
        Line.Event = Thread->Current;
        Line.Last = Thread->Next;
        Line.IsLeaf = Replay->Options->Format == ReaderFormatText &&
                      Thread->Current.Kind == CoreEventEnter &&
                      !Thread->Current.IsOpenBefore &&
                      Thread->HasNext &&
                      Thread->Next.Kind != CoreEventEnter &&
                      Thread->Next.Kind != CoreEventUnmatched &&
                      Thread->Next.Track == Thread->Current.Track &&
                      Thread->Next.Depth == Thread->Current.Depth;

        //
        // A mark inside of it parts the two.
        //

        if (Line.IsLeaf &&
            CommandReplayIsOf(Replay,
                              SessionControlFindInstant(
                                  &Replay->Session,
                                  Replay->Options,
                                  &Replay->Instant,
                                  Thread->Next.Timestamp),
                              Line.Thread)) {
            Line.IsLeaf = FALSE;
        }

        CommandReplayNoteEnd(Replay, Thread, &Line);
        Status = CommandReplayTakeLine(Replay, &Line);
        if (NT_SUCCESS(Status) && Line.IsLeaf) {
            Status = CommandReplayAdvance(Replay, Thread);
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = Thread->HasNext ? CommandReplayAdvance(Replay, Thread)
                                 : STATUS_END_OF_FILE;
    }

    CallMoveInMerge(&Replay->Merge, Status);
}


//
// Writes the events of all threads.
//

_Must_inspect_result_
static
NTSTATUS
CommandReplayRun(
    _Inout_ PREADER_REPLAY Replay
    )
{
    PREADER_MERGE Merge = &Replay->Merge;
    PREADER_MERGE_THREAD Thread;
    NTSTATUS Status;

    Merge->Session = &Replay->Session;
    Merge->Begin = CommandReplayBeginThread;
    Merge->End = CommandReplayEndThread;
    Merge->RoutineContext = Replay;
    Merge->SizeOfThread = sizeof(READER_REPLAY_THREAD);
    Status = CallBeginMerge(Merge, Replay->Options);

    while (NT_SUCCESS(Status) &&
           Replay->Rows < Replay->Options->Limit &&
           NT_SUCCESS(Replay->Output.Writer->Status)) {

        Status = CallFirstInMerge(Merge, &Thread);
        if (NT_SUCCESS(Status)) {

            if (Thread->Timestamp > Replay->Range.End) {
                break;
            }

            Status = CommandReplayPutInstants(Replay, Thread->Timestamp);
            if (!NT_SUCCESS(Status) ||
                Replay->Rows >= Replay->Options->Limit) {
                break;
            }

            CommandReplayStep(Replay, (PREADER_REPLAY_THREAD)Thread);
        }
    }

    if (NT_SUCCESS(Status) || Status == STATUS_END_OF_FILE) {
        Status = CommandReplayPutInstants(Replay, READER_MAXIMUM_TIMESTAMP);
    }

    CommandReplayPutTail(Replay);

    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


//
// Says so if --wall is given and nothing is known of the time of day.
//

static
BOOLEAN
CommandReplayHasWallTime(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;

    if ((Options->Given & READER_OPTION_WALL) == 0 ||
        (Session->Clock.Ticks != 0 &&
         Session->Clock.Kind != TRACE_CLOCK_NONE)) {
        return TRUE;
    }

    RtlWriteText(Errors,
                 "TraceReader: replay: --wall: the session does not say at "
                 "what time of day it was recorded\n");
    RtlFlushWriter(Errors);
    return FALSE;
}


static
ULONG
CommandReplay(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_REPLAY Replay;
    ULONGLONG MinimumTicks;
    ULONG Index;
    NTSTATUS Status;

    if ((Options->Given & READER_OPTION_TAIL) != 0 &&
        (Options->Given & READER_OPTION_LIMIT) != 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: replay: --tail and --limit exclude each "
                     "other: the last lines, or the first\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Replay, sizeof(Replay));
    Replay.Options = Options;
    if (!CommandBeginCommand(&Replay.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!SessionRequireCalls(&Replay.Session, "replay") ||
        !CallQueryRange(&Replay.Session, Options, &Replay.Range) ||
        !CallQueryMinimumTicks(&Replay.Session, Options, &MinimumTicks) ||
        !CommandReplayHasWallTime(&Replay.Session, Options) ||
        !SumEtlOpen(&Replay.Etl, &Replay.Session, Options)) {
        SumEtlClose(&Replay.Etl);
        CommandCloseCommandSession(&Replay.Session);
        return READER_EXIT_FAILURE;
    }

    Replay.Instant = SessionFirstInstant(&Replay.Session, Replay.Range.Start);
    FunctionInitializeFunctions(&Replay.Functions, &Replay.Session);
    Replay.Functions.AreStubsApart = TRUE;
    CallInitializeTally(&Replay.Tally, &Replay.Functions, NULL);
    CallInitializeHoldRules(&Replay.Rules,
                            &Replay.Functions,
                            Options,
                            MinimumTicks,
                            &Replay.NotShown);
    Replay.ShowsOpen = (Options->Given & READER_OPTION_FROM) != 0 &&
                       (Options->Format == ReaderFormatText ||
                        (Options->Given & READER_OPTION_OPEN) != 0);
    OutputBeginDocument(&Replay.Output,
                        Context->Output,
                        Options->Format,
                        &Replay.Session.Clock,
                        "replay",
                        FALSE);
    Replay.Output.HasProcesses = Replay.Session.NumberOfProcesses > 1;
    Replay.ShowsTimes = (Options->Given & READER_OPTION_TIMES) != 0;
    Replay.ShowsWall = (Options->Given & READER_OPTION_WALL) != 0;
    if (Replay.ShowsWall) {
        Replay.FirstWallTime = CallFindWallTime(&Replay.Session,
                                                Replay.Range.FirstTimestamp,
                                                Options->IsWallUtc,
                                                &Replay.Zone);
    }

    if (Options->Format == ReaderFormatText) {
        OutputSetColor(Context->Output, ReaderColorTitle);
        if (Replay.ShowsWall) {
            BaseWriteDay(Context->Output, Replay.FirstWallTime);
            RtlWriteText(Context->Output,
                         " %*s",
                         Options->IsWallUtc ? 4 : 1,
                         "");
            BaseWriteZone(Context->Output, Options->IsWallUtc, Replay.Zone);
            RtlWriteText(Context->Output, " ");
        }
        if (Replay.ShowsTimes) {
            RtlWriteText(Context->Output, "%17s ", "Time");
        }
        RtlWriteText(Context->Output, "%*s", READER_TIME_WIDTH, "Duration");
        if (Replay.Etl.IsThere) {
            SumEtlWriteTitles(Context->Output);
        }
        RtlWriteText(Context->Output,
                     " %s%8s   %s",
                     Replay.Output.HasProcesses ? "Process" : "",
                     "Thread",
                     "Function");
        OutputSetColor(Context->Output, ReaderColorNone);
        RtlWriteText(Context->Output, "\n");
    } else {
        OutputBeginTable(&Replay.Output,
                         &ReaderReplayKinds[Replay.Etl.IsThere]
                                           [Replay.ShowsWall],
                         0);
    }

    Status = CommandReplayRun(&Replay);
    if (!NT_SUCCESS(Status)) {
        Replay.ExitCode = BaseFail(Context,
                                   "replay",
                                   Options->PathUtf8,
                                   Status);
    }

    if (Options->Format != ReaderFormatText) {
        OutputEndTable(&Replay.Output);
    }

    if (Options->Format == ReaderFormatText && Options->Tail != 0 &&
        Replay.Rows > Options->Tail) {
        RtlWriteText(Context->Output,
                     "\n--tail: the last %u of %llu lines.\n",
                     Options->Tail,
                     Replay.Rows);
    }

    CommandReplayPutEnds(&Replay);

    FunctionPutNotShown(&Replay.Output, Options->Filter, &Replay.NotShown);
    SumEtlPutNote(&Replay.Output, &Replay.Etl);
    SessionPutClockNote(&Replay.Output, &Replay.Session);
    OutputEndDocument(&Replay.Output);

    CallEndMerge(&Replay.Merge);
    if (Replay.ExitCode == READER_EXIT_SUCCESS) {
        Replay.ExitCode = Replay.Merge.ExitCode;
    }

    Replay.ExitCode = FunctionEndFilter(Context,
                                        Options->Filter,
                                        &Replay.Functions,
                                        Replay.Rows,
                                        &Replay.NotShown,
                                        Replay.ExitCode);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        FunctionPutFilterCost(&Replay.Functions, Options->Filter);
        CallPutIndexCost(&Replay.Session);
    }

    Context->Allocator->Free(Context->Allocator->Context, Replay.Lines);
    for (Index = 0; Index < READER_MAXIMUM_ENDS; Index++) {
        Context->Allocator->Free(Context->Allocator->Context,
                                 Replay.Ends[Index]);
    }

    SumEtlClose(&Replay.Etl);
    CallRundownTally(&Replay.Tally);
    FunctionRundownFunctions(&Replay.Functions);
    CommandCloseCommandSession(&Replay.Session);
    return Replay.ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderReplayTables[] = {
    &ReaderReplayKinds[1][1],
    &ReaderNotShownTable,
    &ReaderLimitsTable,
    NULL
};

const READER_COMMAND ReaderReplayCommand = {
    "replay",
    "[PATH]",
    "Shows the calls as they happened",
    "--from and --to need a session with times; --times and --wall show what\n"
    "they take.  In text, a ~ stands where the clock thread may have stood\n"
    "still.  With --from, the first lines of a thread are the calls that are\n"
    "open there, with /* open since TIME */ behind them; CSV and JSON have\n"
    "them with --open.  --min-duration leaves out calls that are shorter than\n"
    "TIME, and with them what they call; a call that was open at the end is\n"
    "as long as its thread's records.  --depth N leaves out what is called\n"
    "from the Nth level.\n"
    "--tail N shows the last N lines (rows) of all threads, or of the range,\n"
    "with the calls that were open at the end.  Of a process that died, text\n"
    "also has how each thread ended that was in calls then, if those lines do\n"
    "not show it: the crash may be there.  --tail reads the whole range; add\n"
    "--from -1s where that takes long.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_ETL_NOTE
    READER_TICKS_NOTE,
    "  TraceReader replay --limit 100 SESSION\n"
    "  TraceReader replay --tail 40 SESSION\n"
    "  TraceReader replay --from 20ms --to 21ms --times SESSION\n"
    "  TraceReader replay --min-duration 1ms --depth 5 SESSION\n"
    "  TraceReader replay --function Game::Load --json SESSION\n",
    READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_THREAD | READER_OPTION_LIMIT |
        READER_OPTION_TAIL | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTION_VERBOSE | READER_OPTIONS_OF_READING |
        READER_OPTION_FILTER | READER_OPTION_TIMES | READER_OPTION_OPEN |
        READER_OPTION_WALL | READER_OPTION_ETL |
        READER_OPTION_MIN_DURATION | READER_OPTION_DEPTH,
    CommandReplay,
    ReaderReplayTables,
    NULL
};
