/*++

Module Name:

    CommandReplay.c

Abstract:

    TraceReader replay: the calls as they happened, all threads in the order
    of time.  A call during which its thread made no other is written on one
    line.

    Each thread is read one event ahead.  Threads are opened when their first
    record is due and closed after their last, so memory is bounded by the
    threads that run at one time and their open frames.

--*/

#include "Reader.h"

static const READER_COLUMN ReaderReplayColumns[] = {
    { "", "time", ReaderColumnTime, 0 },
    { "", "thread_id", ReaderColumnNumber, 0 },
    { "", "event", ReaderColumnText, 0 },
    { "", "depth", ReaderColumnNumber, 0 },
    { "", "duration", ReaderColumnTime, 0 },
    { "", "module", ReaderColumnText, 0 },
    { "", "function", ReaderColumnText, 0 },
    { "", "fiber", ReaderColumnNumber, 0 },
    { "", "tail_call", ReaderColumnNumber, 0 },
    { "", "clock_jump", ReaderColumnNumber, 0 }
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
    READER_STREAM Stream;
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
    PREADER_REPLAY_THREAD *Heap;    // the earliest current event first
    ULONG NumberInHeap;
    ULONG CapacityOfHeap;
    PULONG Order;                   // threads by their first record
    ULONG NextInOrder;
    READER_RANGE Range;
    READER_TALLY Tally;             // for what is passed over
    ULONGLONG Rows;
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
    Status = ReaderNextEvent(&Thread->Stream, &Event);
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
    return ReaderReplayRead(Replay, Thread);
}


static
VOID
ReaderReplaySiftDown(
    _Inout_ PREADER_REPLAY Replay
    )
/*++

Routine Description:

    Restores the heap after its first element has become later.

Arguments:

    Replay - The replay.

Return Value:

    None.

--*/
{
    PREADER_REPLAY_THREAD *Heap = Replay->Heap;
    PREADER_REPLAY_THREAD Moving;
    ULONG Root = 0;
    ULONG Child;

    if (Replay->NumberInHeap == 0) {
        return;
    }

    Moving = Heap[0];
    while ((Child = Root * 2 + 1) < Replay->NumberInHeap) {

        if (Child + 1 < Replay->NumberInHeap &&
            Heap[Child + 1]->Current.Timestamp <
                Heap[Child]->Current.Timestamp) {
            Child += 1;
        }

        if (Moving->Current.Timestamp <= Heap[Child]->Current.Timestamp) {
            break;
        }

        Heap[Root] = Heap[Child];
        Root = Child;
    }

    Heap[Root] = Moving;
}


static
VOID
ReaderReplaySiftUp(
    _Inout_ PREADER_REPLAY Replay
    )
/*++

Routine Description:

    Restores the heap after an element was added at its end.

Arguments:

    Replay - The replay.

Return Value:

    None.

--*/
{
    PREADER_REPLAY_THREAD *Heap = Replay->Heap;
    ULONG Index = Replay->NumberInHeap - 1;
    PREADER_REPLAY_THREAD Moving = Heap[Index];

    while (Index != 0 &&
           Moving->Current.Timestamp <
               Heap[(Index - 1) / 2]->Current.Timestamp) {
        Heap[Index] = Heap[(Index - 1) / 2];
        Index = (Index - 1) / 2;
    }

    Heap[Index] = Moving;
}


static
VOID
ReaderReplayCloseThread(
    _Inout_ PREADER_REPLAY Replay,
    _Inout_ PREADER_REPLAY_THREAD Thread,
    _In_ NTSTATUS Status
    )
/*++

Routine Description:

    Closes a thread.

Arguments:

    Replay - The replay.

    Thread - The thread.

    Status - Why: a success at its end.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Replay->Session.Context->Allocator;

    if (!NT_SUCCESS(Status)) {
        Replay->ExitCode = ReaderFailThread(&Replay->Session,
                                            Thread->Stream.Thread,
                                            Status);
    }

    ReaderCloseStream(&Thread->Stream);
    Allocator->Free(Allocator->Context, Thread);
}


_Must_inspect_result_
static
NTSTATUS
ReaderReplayOpenThread(
    _Inout_ PREADER_REPLAY Replay,
    _In_ ULONG ThreadIndex
    )
/*++

Routine Description:

    Opens a thread and adds it to the heap, if it has events.

Arguments:

    Replay - The replay.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS - A thread that cannot be read has been reported.

    STATUS_NO_MEMORY

--*/
{
    PCALLOCATOR Allocator = Replay->Session.Context->Allocator;
    PREADER_REPLAY_THREAD Thread;
    NTSTATUS Status;

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Replay->Heap,
                             &Replay->CapacityOfHeap,
                             Replay->NumberInHeap + 1,
                             sizeof(PREADER_REPLAY_THREAD));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Thread = (PREADER_REPLAY_THREAD)
        Allocator->Allocate(Allocator->Context,
                            sizeof(READER_REPLAY_THREAD));
    if (Thread == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = ReaderOpenStream(&Thread->Stream,
                              &Replay->Session,
                              ThreadIndex,
                              FALSE);
    if (NT_SUCCESS(Status)) {
        Status = ReaderSkipStream(&Replay->Tally,
                                  &Thread->Stream,
                                  Replay->Range.Start);
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderReplayRead(Replay, Thread);
    }

    if (NT_SUCCESS(Status) && Thread->HasNext) {

        Status = ReaderReplayAdvance(Replay, Thread);
        if (NT_SUCCESS(Status)) {
            Replay->Heap[Replay->NumberInHeap] = Thread;
            Replay->NumberInHeap += 1;
            ReaderReplaySiftUp(Replay);
            return STATUS_SUCCESS;
        }
    }

    ReaderReplayCloseThread(Replay, Thread, Status);
    return STATUS_SUCCESS;
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
    ULONG ThreadId =
        Replay->Session.Threads[Thread->Stream.Thread].ThreadId;
    ULONGLONG Time;

    if (Replay->ShowsTimes) {
        Time = Event->Timestamp - Replay->Range.FirstTimestamp;
        if (CoreTicksToNanoseconds(&Replay->Session.Clock, Time, &Time)) {
            RtlWriteText(Writer,
                         "%7llu.%09llu ",
                         Time / CORE_NANOSECONDS_PER_SECOND,
                         Time % CORE_NANOSECONDS_PER_SECOND);
        } else {
            RtlWriteText(Writer, "%17llu ", Time);
        }
    }

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
                 "%s[%6u",
                 Event->IsAfterJump || (IsLeaf && Thread->Next.IsAfterJump)
                     ? "~"
                     : " ",
                 ThreadId);
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

    ReaderPutNumber(Output, Event->Timestamp - Replay->Range.FirstTimestamp);
    ReaderPutNumber(Output,
                    Replay->Session.Threads[Thread->Stream.Thread].ThreadId);
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
    _Inout_ PREADER_REPLAY Replay
    )
/*++

Routine Description:

    Writes the earliest event and moves its thread on.

Arguments:

    Replay - The replay, with a thread in the heap.

Return Value:

    None.

--*/
{
    PREADER_REPLAY_THREAD Thread = Replay->Heap[0];
    BOOLEAN IsLeaf;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Thread->Current.Timestamp < Replay->Range.Start) {

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

    if (NT_SUCCESS(Status) && Thread->HasNext) {
        Status = ReaderReplayAdvance(Replay, Thread);
        if (NT_SUCCESS(Status)) {
            ReaderReplaySiftDown(Replay);
            return;
        }
    }

    ReaderReplayCloseThread(Replay, Thread, Status);
    Replay->NumberInHeap -= 1;
    Replay->Heap[0] = Replay->Heap[Replay->NumberInHeap];
    ReaderReplaySiftDown(Replay);
}


static
LONG
ReaderCompareThreadStarts(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders threads by their first record.

Arguments:

    CompareContext - The session.

    First, Second - Thread indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_SESSION Session = (PREADER_SESSION)CompareContext;
    ULONGLONG FirstTime = Session->Threads[First].FirstTimestamp;
    ULONGLONG SecondTime = Session->Threads[Second].FirstTimestamp;

    if (FirstTime != SecondTime) {
        return FirstTime < SecondTime ? -1 : 1;
    }

    return First < Second ? -1 : 1;
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
    PREADER_SESSION Session = &Replay->Session;
    ULONG CapacityOfOrder = 0;
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Session->Context->Allocator,
                             (PVOID *)&Replay->Order,
                             &CapacityOfOrder,
                             Session->NumberOfThreads,
                             sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        if (READER_IS_THREAD_SELECTED(Replay->Options,
                                      Session->Threads[Index].ThreadId)) {
            Replay->Order[Count] = Index;
            Count += 1;
        }
    }

    ReaderSort(Replay->Order, Count, ReaderCompareThreadStarts, Session);

    while (Replay->Rows < Replay->Options->Limit &&
           NT_SUCCESS(Replay->Output.Writer->Status)) {

        //
        // A thread is due when nothing that is open comes before its first
        // record.
        //

        if (Replay->NextInOrder < Count) {

            Index = Replay->Order[Replay->NextInOrder];
            if (Replay->NumberInHeap == 0 ||
                Session->Threads[Index].FirstTimestamp <=
                    Replay->Heap[0]->Current.Timestamp) {

                Replay->NextInOrder += 1;
                Status = ReaderReplayOpenThread(Replay, Index);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }

                continue;
            }
        }

        if (Replay->NumberInHeap == 0 ||
            Replay->Heap[0]->Current.Timestamp > Replay->Range.End) {
            break;
        }

        ReaderReplayStep(Replay);
    }

    return STATUS_SUCCESS;
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
    PCALLOCATOR Allocator = Context->Allocator;
    READER_REPLAY Replay;
    NTSTATUS Status;

    RtlZeroBytes(&Replay, sizeof(Replay));
    Replay.Options = Options;
    if (!ReaderBeginCommand(&Replay.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!ReaderQueryRange(&Replay.Session, Options, &Replay.Range)) {
        ReaderCloseSession(&Replay.Session);
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Replay.Functions, &Replay.Session);
    ReaderInitializeTally(&Replay.Tally, &Replay.Functions, NULL);
    ReaderBeginDocument(&Replay.Output,
                        Context->Output,
                        Options->Format,
                        &Replay.Session.Clock,
                        "replay",
                        FALSE);
    Replay.ShowsTimes = (Options->Given & READER_OPTION_TIMES) != 0;
    if (Options->Format == ReaderFormatText) {
        if (Replay.ShowsTimes) {
            RtlWriteText(Context->Output, "%17s ", "Time");
        }
        RtlWriteText(Context->Output,
                     "%*s %8s   %s\n",
                     READER_TIME_WIDTH,
                     "Duration",
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

    while (Replay.NumberInHeap != 0) {
        Replay.NumberInHeap -= 1;
        ReaderReplayCloseThread(&Replay,
                                Replay.Heap[Replay.NumberInHeap],
                                STATUS_SUCCESS);
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

    Allocator->Free(Allocator->Context, Replay.Heap);
    Allocator->Free(Allocator->Context, Replay.Order);
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
    "record), thread_id, event (enter, exit, abandoned, unmatched, open),\n"
    "depth, duration_ns (of the ends), module, function, fiber (0: the\n"
    "thread's own stack), tail_call (of an enter: 1 if the function that\n"
    "ended just before jumped here), clock_jump (1: the clock thread may\n"
    "have stood still before this; in text a ~).  --from and --to need a\n"
    "session with times; --times shows what they take.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_TICKS_NOTE,
    "  TraceReader replay --limit 100 SESSION\n"
    "  TraceReader replay --from 20ms --to 21ms --times SESSION\n"
    "  TraceReader replay --function Game::Load --json SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_THREAD | READER_OPTION_LIMIT |
        READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_VERBOSE |
        READER_OPTION_NO_INDEX | READER_OPTION_MARKS |
        READER_OPTION_NO_CACHE |
        READER_OPTION_FILTER | READER_OPTION_TIMES,
    ReaderCommandReplay
};
