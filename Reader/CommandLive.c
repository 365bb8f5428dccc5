/*++

Module Name:

    CommandLive.c

Abstract:

    TraceReader live: what a running program spends its time in, refreshed
    until it ends.

    Each refresh reads only the records that were written since the one
    before.  Time is charged as it passes: what lies between two records of a
    thread belongs to the function that was on top of its stack, so a call
    that goes on over several refreshes has its share in each.

    Of what a running program did before the first refresh only the frames that
    are open count, so that is passed over, from the last mark of each thread's
    index on.  Of a program that has ended everything is shown, at once.

    What a refresh shows is read right before it is written.  When reading
    takes so long that what it read first is already old, it reads again what
    has come since.

--*/

#include "Reader.h"

static const READER_COLUMN ReaderLiveColumns[] = {
    { "Calls/s", "calls_per_second", ReaderColumnNumber, 12 },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH },
    { "Function", "function", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderLiveTable = {
    "functions",
    ReaderLiveColumns,
    RTL_NUMBER_OF(ReaderLiveColumns),
    FALSE
};

#define READER_LIVE_DEFAULT_LIMIT 20

//
// Data older than this, in nanoseconds, is read again before it is shown,
// unless the writer is faster than the reader can be.
//

#define READER_LIVE_MAXIMUM_AGE 50000000ULL
#define READER_LIVE_MAXIMUM_PASSES 8

//
// The progress is looked at after so many events.
//

#define READER_LIVE_PROGRESS_EVENTS 0x10000

typedef struct _READER_LIVE_FUNCTION {
    ULONGLONG Calls;                // of this interval
    ULONGLONG SelfTicks;            // likewise
} READER_LIVE_FUNCTION;
typedef READER_LIVE_FUNCTION *PREADER_LIVE_FUNCTION;

typedef struct _READER_LIVE_THREAD {
    READER_STREAM Stream;
    ULONGLONG ChargedTo;            // time stamp
    ULONG Running;                  // the function on top, or READER_NONE
    BOOLEAN IsBegun;                // it has been read
    BOOLEAN IsDone;                 // read to its end, and closed
} READER_LIVE_THREAD;
typedef READER_LIVE_THREAD *PREADER_LIVE_THREAD;

typedef struct _READER_LIVE {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_OUTPUT Output;
    PREADER_LIVE_THREAD *Threads;   // as the session's
    ULONG NumberOfThreads;
    ULONG CapacityOfThreads;
    PREADER_LIVE_FUNCTION Intervals;    // by function
    ULONG CapacityOfIntervals;
    PULONG Order;
    ULONG CapacityOfOrder;
    ULONGLONG Horizon;              // the time stamp that has been read up to
    ULONGLONG IntervalStart;        // time stamp
    ULONGLONG IntervalQpc;          // counts, when the interval began
    RTL_CLOCK_READING Reading;      // when the last pass began
    ULONGLONG NewRecords;           // of this interval
    ULONGLONG ReadRecords;          // of all
    ULONGLONG Overtaken;            // records that were overwritten before
                                    // they were read, of closed threads
    ULONGLONG Age;                  // nanoseconds, of the oldest data shown
    ULONGLONG Limit;
    READER_TALLY Before;            // for what is passed over
    READER_PROGRESS Progress;       // until the first refresh
    ULONGLONG Since;                // time stamp from which on the records of
                                    // all threads are read; 0: all are
    BOOLEAN IsBefore;               // the first refresh has not begun
    BOOLEAN IsPassedOver;           // something was
    ULONGLONG NumberShown;          // rows and frames, of all refreshes
    READER_NOT_SHOWN NotShown;      // likewise
    ULONG ExitCode;
} READER_LIVE;
typedef READER_LIVE *PREADER_LIVE;


static
VOID
ReaderLiveCharge(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Charges the time up to a moment to the function that was running.

Arguments:

    Live - The state.

    Thread - The thread.

    Timestamp - The moment.

Return Value:

    None.

--*/
{
    if (Timestamp <= Thread->ChargedTo ||
        Live->Session.Clock.Kind == TRACE_CLOCK_NONE) {
        return;
    }

    if (Thread->Running != READER_NONE) {
        Live->Intervals[Thread->Running].SelfTicks +=
            Timestamp - Thread->ChargedTo;
    }

    Thread->ChargedTo = Timestamp;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLiveEvent(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds an event.

Arguments:

    Live - The state.

    Thread - The thread.

    Event - Its event.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_FRAME Top;
    ULONG Function;
    NTSTATUS Status;

    ReaderLiveCharge(Live, Thread, Event->Timestamp);

    if (Event->Kind == CoreEventEnter) {

        Status = ReaderFindFunction(&Live->Functions,
                                    Event->Site,
                                    &Function);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = ReaderGrowArray(Live->Session.Context->Allocator,
                                 (PVOID *)&Live->Intervals,
                                 &Live->CapacityOfIntervals,
                                 Function + 1,
                                 sizeof(READER_LIVE_FUNCTION));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Event->Frame->Function = Function;
        Live->Intervals[Function].Calls += 1;
    }

    Top = CoreCurrentFrame(&Thread->Stream.Pair);
    Thread->Running = Top != NULL ? Top->Function : READER_NONE;
    return STATUS_SUCCESS;
}


static
BOOLEAN
ReaderLiveIsGrowing(
    _In_ const READER_LIVE *Live,
    _In_ const READER_LIVE_THREAD *Thread
    )
/*++

Routine Description:

    Decides whether a thread may write more.

Arguments:

    Live - The state.

    Thread - The thread.

Return Value:

    TRUE if the process runs and one of the thread's stores is open.

--*/
{
    const READER_SESSION *Session = &Live->Session;
    ULONG Index;

    if (Session->ProcessState == ReaderProcessGone) {
        return FALSE;
    }

    for (Index = 0; Index < Thread->Stream.NumberOfStores; Index++) {

        ULONG Store = Thread->Stream.Stores[Index]->Store;

        if (Session->Stores[Store]->Header->State == TRACE_STATE_OPEN) {
            return TRUE;
        }
    }

    return FALSE;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLiveAddThreads(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Opens the threads that the session has found since the last pass.

Arguments:

    Live - The state.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = &Live->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_LIVE_THREAD Thread;
    NTSTATUS Status;

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Live->Threads,
                             &Live->CapacityOfThreads,
                             Session->NumberOfThreads,
                             sizeof(PREADER_LIVE_THREAD));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    while (Live->NumberOfThreads < Session->NumberOfThreads) {

        Thread = (PREADER_LIVE_THREAD)
            Allocator->Allocate(Allocator->Context,
                                sizeof(READER_LIVE_THREAD));
        if (Thread == NULL) {
            return STATUS_NO_MEMORY;
        }

        Thread->Running = READER_NONE;
        Thread->ChargedTo = Live->IntervalStart;
        Status = ReaderOpenStream(&Thread->Stream,
                                  Session,
                                  Live->NumberOfThreads,
                                  TRUE);
        if (!NT_SUCCESS(Status)) {
            Live->ExitCode = ReaderFailThread(Session,
                                              Live->NumberOfThreads,
                                              Status);
            ReaderCloseStream(&Thread->Stream);
            Thread->IsDone = TRUE;
        }

        Live->Threads[Live->NumberOfThreads] = Thread;
        Live->NumberOfThreads += 1;
    }

    return STATUS_SUCCESS;
}


static
VOID
ReaderLiveShowProgress(
    _In_ PVOID Context
    )
/*++

Routine Description:

    Called for each buffer that is passed over.

Arguments:

    Context - The state.

Return Value:

    None.

--*/
{
    PREADER_LIVE Live = (PREADER_LIVE)Context;

    ReaderShowProgress(&Live->Progress, Live->Before.NumberOfRecords);
}


static
VOID
ReaderLiveBeginProgress(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Finds out how much there is to read before something can be shown.

Arguments:

    Live - The state.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = &Live->Session;
    ULONGLONG Expected = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        if (Session->Stores[Index]->Thread != READER_NONE &&
            Session->Stores[Index]->EndOfRecords >
                Session->Stores[Index]->StartOfRecords) {
            Expected += (Session->Stores[Index]->EndOfRecords -
                         Session->Stores[Index]->StartOfRecords) /
                        TRACE_RECORD_SIZE;
        }
    }

    ReaderInitializeProgress(&Live->Progress,
                             Session->Context,
                             "reading what was recorded so far: ",
                             Expected);
    Live->Before.Progress = ReaderLiveShowProgress;
    Live->Before.ProgressContext = Live;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLivePassOver(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    )
/*++

Routine Description:

    Passes over what a thread did before the first refresh: its frames are what
    is of interest.

Arguments:

    Live - The state.

    Thread - The thread, of which nothing has been read, and whose horizon is
        set.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STREAM Stream = &Thread->Stream;
    PCORE_FRAME Top;
    NTSTATUS Status;

    Status = ReaderSkipStream(&Live->Before, Stream, Stream->Horizon + 1);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Live->IsPassedOver = TRUE;
    if (Stream->NumberPassedBy != 0 && Stream->PassedTimestamp > Live->Since) {
        Live->Since = Stream->PassedTimestamp;
    }

    //
    // Any frame may come to run, those of the thread's other stacks, too.
    //

    Status = ReaderGrowArray(Live->Session.Context->Allocator,
                             (PVOID *)&Live->Intervals,
                             &Live->CapacityOfIntervals,
                             Live->Functions.NumberOfFunctions,
                             sizeof(READER_LIVE_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Top = CoreCurrentFrame(&Stream->Pair);
    Thread->Running = Top != NULL ? Top->Function : READER_NONE;
    Thread->ChargedTo = Stream->Pair.LastTimestamp;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLiveReadThread(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    )
/*++

Routine Description:

    Reads what a thread has written up to the horizon.

Arguments:

    Live - The state.

    Thread - The thread, not done.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STREAM Stream = &Thread->Stream;
    CORE_EVENT Event;
    ULONGLONG Before = Stream->NumberOfRecords;
    ULONG Events = 0;
    NTSTATUS Status;

    //
    // Where there is no horizon the program has ended, or has no times.
    //

    Status = ReaderRefreshStream(Stream, Live->Horizon);
    if (NT_SUCCESS(Status) && Live->IsBefore && !Thread->IsBegun &&
        Stream->Horizon != READER_MAXIMUM_TIMESTAMP) {
        Status = ReaderLivePassOver(Live, Thread);
        Before = Stream->NumberPassedBy;
    }

    Thread->IsBegun = TRUE;
    while (NT_SUCCESS(Status)) {
        Status = ReaderNextEvent(Stream, &Event);
        if (NT_SUCCESS(Status)) {
            Status = ReaderLiveEvent(Live, Thread, &Event);
        }

        Events += 1;
        if (Events % READER_LIVE_PROGRESS_EVENTS == 0) {
            ReaderShowProgress(&Live->Progress,
                               Live->ReadRecords + Stream->NumberOfRecords -
                                   Before);
        }
    }

    Live->NewRecords += Stream->NumberOfRecords - Before;
    Live->ReadRecords += Stream->NumberOfRecords - Before;
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLivePass(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Reads what all threads have written since the last pass.

Arguments:

    Live - The state.

Return Value:

    STATUS_SUCCESS or what failed as a whole.

--*/
{
    PREADER_SESSION Session = &Live->Session;
    RTL_ERROR Error;
    ULONG Index;
    NTSTATUS Status;

    //
    // The process is asked first: when it is gone, this pass sees the last
    // that it wrote.  The counter is read before the stores are looked for:
    // see ReaderRefreshStream.
    //

    RtlReadClocks(Session->Context->Rtl, &Live->Reading);
    Live->Horizon = Live->Reading.Tsc;
    if (ReaderQueryProcess(Session) == ReaderProcessGone) {
        Live->Horizon = READER_MAXIMUM_TIMESTAMP;
    }

    Status = ReaderRefreshSession(Session, &Error);
    if (!NT_SUCCESS(Status)) {
        ReaderWriteFailure(Session->Context, &Error);
        return Status;
    }

    ReaderWarnOfStores(Session);
    Status = ReaderLiveAddThreads(Live);
    if (!NT_SUCCESS(Status)) {
        ReaderFail(Session->Context,
                   "follow the threads",
                   Live->Options->PathUtf8,
                   Status);
        return Status;
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        PREADER_LIVE_THREAD Thread = Live->Threads[Index];

        if (Thread->IsDone) {
            continue;
        }

        Status = ReaderLiveReadThread(Live, Thread);
        if (!NT_SUCCESS(Status)) {
            Live->ExitCode = ReaderFailThread(Session, Index, Status);
            ReaderCloseStream(&Thread->Stream);
            Thread->IsDone = TRUE;
        }
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLiveCatchUp(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Reads until what has been read is fresh, and charges the running functions
    up to then.

Arguments:

    Live - The state.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Live->Session;
    RTL_CLOCK_READING Now;
    ULONG Pass;
    ULONG Index;
    NTSTATUS Status;

    for (Pass = 0; Pass < READER_LIVE_MAXIMUM_PASSES; Pass++) {

        Status = ReaderLivePass(Live);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        RtlReadClocks(Session->Context->Rtl, &Now);
        Live->Age = CoreMultiplyDivide(Now.Qpc - Live->Reading.Qpc,
                                       CORE_NANOSECONDS_PER_SECOND,
                                       Now.QpcFrequency);
        if (Live->Age <= READER_LIVE_MAXIMUM_AGE ||
            Session->ProcessState == ReaderProcessGone) {
            break;
        }
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        PREADER_LIVE_THREAD Thread = Live->Threads[Index];

        if (!Thread->IsDone && ReaderLiveIsGrowing(Live, Thread)) {
            ReaderLiveCharge(Live, Thread, Live->Horizon);
        }
    }

    return STATUS_SUCCESS;
}


static
ULONGLONG
ReaderLiveCountOvertaken(
    _In_ const READER_LIVE_THREAD *Thread
    )
/*++

Routine Description:

    Counts a thread's records that its writer overwrote before they were read.

Arguments:

    Thread - The thread, not done.

Return Value:

    Their number.

--*/
{
    ULONGLONG Count = 0;
    ULONG Index;

    for (Index = 0; Index < Thread->Stream.NumberOfStores; Index++) {
        Count += Thread->Stream.Stores[Index]->Iterator.NumberOvertaken;
    }

    return Count;
}


static
VOID
ReaderLiveBeginInterval(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Forgets what the last interval had, and closes threads that have ended.

Arguments:

    Live - The state.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Live->CapacityOfIntervals; Index++) {
        Live->Intervals[Index].Calls = 0;
        Live->Intervals[Index].SelfTicks = 0;
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        PREADER_LIVE_THREAD Thread = Live->Threads[Index];

        //
        // Whoever looks next can begin here.
        //

        if (!Thread->IsDone) {
            ReaderNameMarks(&Thread->Stream);
        }

        if (Thread->IsDone ||
            ReaderLiveIsGrowing(Live, Thread) ||
            ReaderHasWaitingRecords(&Thread->Stream)) {
            continue;
        }

        //
        // Should the thread begin another store, it is another thread's to
        // the session, because this one's records have been let go.
        //

        Live->Session.Threads[Index].IsLive = FALSE;
        Live->Session.Threads[Index].LastTimestamp =
            Thread->Stream.Pair.LastTimestamp;
        Live->Overtaken += ReaderLiveCountOvertaken(Thread);
        ReaderCloseStream(&Thread->Stream);
        Thread->IsDone = TRUE;
    }

    Live->NewRecords = 0;
    Live->IntervalStart = Live->Horizon;
    Live->IntervalQpc = Live->Reading.Qpc;
}


static
LONG
ReaderCompareLiveFunctions(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by self time, then by calls, then by name.

Arguments:

    CompareContext - The state.

    First, Second - Function indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_LIVE Live = (PREADER_LIVE)CompareContext;
    const READER_LIVE_FUNCTION *FirstInterval = &Live->Intervals[First];
    const READER_LIVE_FUNCTION *SecondInterval = &Live->Intervals[Second];
    PCREADER_FUNCTION FirstFunction = &Live->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Live->Functions.Functions[Second];

    if (FirstInterval->SelfTicks != SecondInterval->SelfTicks) {
        return FirstInterval->SelfTicks > SecondInterval->SelfTicks ? -1 : 1;
    }

    if (FirstInterval->Calls != SecondInterval->Calls) {
        return FirstInterval->Calls > SecondInterval->Calls ? -1 : 1;
    }

    return ReaderCompareText(FirstFunction->Name,
                             FirstFunction->NameLength,
                             SecondFunction->Name,
                             SecondFunction->NameLength);
}


_Must_inspect_result_
static
NTSTATUS
ReaderLivePutFunctions(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONGLONG IntervalInNanoseconds
    )
/*++

Routine Description:

    Writes the functions that ran in the interval.

Arguments:

    Live - The state.

    IntervalInNanoseconds - How long it was; 0 if that is not known.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCREADER_FILTER Filter = Live->Options->Filter;
    READER_NOT_SHOWN NotShown = { 0 };
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    ReaderFilterFunctions(&Live->Functions, Filter);
    Status = ReaderGrowArray(Live->Session.Context->Allocator,
                             (PVOID *)&Live->Order,
                             &Live->CapacityOfOrder,
                             Live->Functions.NumberOfFunctions,
                             sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // Where memory ran out, the last function has no interval.
    //

    for (Index = 0;
         Index < Live->Functions.NumberOfFunctions &&
             Index < Live->CapacityOfIntervals;
         Index++) {
        if (Live->Intervals[Index].Calls == 0 &&
            Live->Intervals[Index].SelfTicks == 0) {
            continue;
        }

        if (Live->Functions.Functions[Index].IsShown) {
            Live->Order[Count] = Index;
            Count += 1;
        } else {
            NotShown.Rows += 1;
            NotShown.Calls += Live->Intervals[Index].Calls;
        }
    }

    Live->NumberShown += Count;
    Live->NotShown.Rows += NotShown.Rows;

    ReaderSort(Live->Order, Count, ReaderCompareLiveFunctions, Live);

    Live->Output.NumberOfTables = 0;
    ReaderBeginTable(&Live->Output, &ReaderLiveTable, 0);
    for (Index = 0; Index < Count && Index < Live->Limit; Index++) {

        ULONG Function = Live->Order[Index];
        const READER_LIVE_FUNCTION *Interval = &Live->Intervals[Function];

        if (IntervalInNanoseconds != 0) {
            ReaderPutNumber(&Live->Output,
                            CoreMultiplyDivide(Interval->Calls,
                                               CORE_NANOSECONDS_PER_SECOND,
                                               IntervalInNanoseconds));
        } else {
            ReaderPutNothing(&Live->Output);
        }

        ReaderPutNumber(&Live->Output, Interval->SelfTicks);
        ReaderPutText(&Live->Output,
                      Live->Functions.Functions[Function].Name,
                      Live->Functions.Functions[Function].NameLength);
    }

    ReaderEndTable(&Live->Output);
    if (Count > Index) {
        RtlWriteText(Live->Output.Writer,
                     "%*s(%u more)\n",
                     12 + 2 + READER_TIME_WIDTH + 2,
                     "",
                     Count - Index);
    }

    ReaderPutNotShown(&Live->Output, Filter, &NotShown);
    return STATUS_SUCCESS;
}


static
SIZE_T
ReaderLiveCountFrames(
    _In_ const READER_LIVE *Live,
    _In_ const CORE_STACK *Stack
    )
/*++

Routine Description:

    Counts a stack's open frames that the filter lets through.

Arguments:

    Live - The state.

    Stack - The stack.

Return Value:

    Their number.

--*/
{
    SIZE_T Count = 0;
    SIZE_T Index;

    for (Index = 0; Index < Stack->NumberOfFrames; Index++) {
        if (Live->Functions.Functions[Stack->Frames[Index].Function].IsShown) {
            Count += 1;
        }
    }

    return Count;
}


static
VOID
ReaderLivePutFrames(
    _Inout_ PREADER_LIVE Live,
    _In_ const READER_LIVE_THREAD *Thread
    )
/*++

Routine Description:

    Writes a thread's open frames with their ages, the outermost first.

Arguments:

    Live - The state.

    Thread - The thread, not done.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Live->Session;
    PRTL_WRITER Writer = Live->Output.Writer;
    PCTRACE_STORE_HEADER Header;
    ULONGLONG Now;
    ULONG StackIndex;
    SIZE_T Count = 0;
    SIZE_T Shown = 0;
    SIZE_T Index;

    for (StackIndex = 0;
         StackIndex < Thread->Stream.Pair.NumberOfStacks;
         StackIndex++) {
        Count += Thread->Stream.Pair.Stacks[StackIndex].NumberOfFrames;
        Shown += ReaderLiveCountFrames(Live,
                                       &Thread->Stream.Pair.Stacks[StackIndex]);
    }

    Live->NumberShown += Shown;
    Live->NotShown.Rows += Count - Shown;
    if (Shown == 0) {
        return;
    }

    Now = Live->Horizon;
    if (!ReaderLiveIsGrowing(Live, Thread)) {
        Now = Thread->Stream.Pair.LastTimestamp;
    }

    Header = Session->Stores[Thread->Stream.Stores[0]->Store]->Header;
    RtlWriteText(Writer,
                 "Thread %u%s",
                 Session->Threads[Thread->Stream.Thread].ThreadId,
                 Header->ThreadNameLength != 0 ? " " : "");
    ReaderWriteCleanText(Writer, Header->ThreadName, Header->ThreadNameLength);
    RtlWriteText(Writer, ":\n");

    for (StackIndex = 0;
         StackIndex < Thread->Stream.Pair.NumberOfStacks;
         StackIndex++) {

        const CORE_STACK *Stack = &Thread->Stream.Pair.Stacks[StackIndex];
        ULONGLONG Outside = 0;

        Shown = ReaderLiveCountFrames(Live, Stack);
        if (Shown > Live->Limit) {
            Outside = Shown - Live->Limit;
            RtlWriteText(Writer,
                         "%*s(%llu more outside)\n",
                         READER_TIME_WIDTH + 4,
                         "",
                         Outside);
        }

        for (Index = 0; Index < Stack->NumberOfFrames; Index++) {

            const CORE_FRAME *Frame = &Stack->Frames[Index];
            PCREADER_FUNCTION Function =
                &Live->Functions.Functions[Frame->Function];

            if (!Function->IsShown) {
                continue;
            }

            if (Outside != 0) {
                Outside -= 1;
                continue;
            }

            RtlWriteText(Writer, "  ");
            ReaderWriteTime(Writer,
                            Live->Output.Clock,
                            Now > Frame->EnterTimestamp
                                ? Now - Frame->EnterTimestamp
                                : 0);
            RtlWriteText(Writer, "%s  ", StackIndex != 0 ? "*" : "");
            ReaderWriteCleanText(Writer,
                                 Function->Name,
                                 Function->NameLength);
            RtlWriteText(Writer, "\n");
        }
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderLivePutRefresh(
    _Inout_ PREADER_LIVE Live,
    _In_ BOOLEAN IsWhole
    )
/*++

Routine Description:

    Writes a refresh.

Arguments:

    Live - The state.

    IsWhole - Whether the interval is all that there is: the program had
        ended before it was looked at.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    const READER_SESSION *Session = &Live->Session;
    PRTL_WRITER Writer = Live->Output.Writer;
    RTL_CALENDAR_TIME Time;
    ULONGLONG First = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Last = 0;
    ULONGLONG Interval;
    ULONGLONG Overtaken = Live->Overtaken;
    ULONG Growing = 0;
    ULONG Index;
    NTSTATUS Status;

    if (IsWhole) {

        for (Index = 0; Index < Session->NumberOfThreads; Index++) {
            if (Session->Threads[Index].FirstTimestamp < First) {
                First = Session->Threads[Index].FirstTimestamp;
            }
            if (Session->Threads[Index].LastTimestamp > Last) {
                Last = Session->Threads[Index].LastTimestamp;
            }
        }

        Interval = 0;
        if (Last > First &&
            Session->Clock.Kind != TRACE_CLOCK_NONE &&
            !CoreTicksToNanoseconds(&Session->Clock, Last - First, &Interval)) {
            Interval = 0;
        }

    } else {
        Interval = CoreMultiplyDivide(Live->Reading.Qpc - Live->IntervalQpc,
                                      CORE_NANOSECONDS_PER_SECOND,
                                      Live->Reading.QpcFrequency);
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone &&
            ReaderLiveIsGrowing(Live, Live->Threads[Index])) {
            Growing += 1;
        }
    }

    RtlSystemTimeToCalendar(Live->Reading.SystemTime, &Time);
    RtlWriteText(Writer,
                 "\n%02u:%02u:%02u.%03uZ  process %u, %u of %u threads "
                 "running, %llu records, %llu new in %llu.%03llu s",
                 (ULONG)Time.Hour,
                 (ULONG)Time.Minute,
                 (ULONG)Time.Second,
                 (ULONG)Time.Milliseconds,
                 Session->Header->ProcessId,
                 Growing,
                 Session->NumberOfThreads,
                 Live->ReadRecords,
                 Live->NewRecords,
                 Interval / CORE_NANOSECONDS_PER_SECOND,
                 Interval / 1000000 % 1000);
    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone) {
            Overtaken += ReaderLiveCountOvertaken(Live->Threads[Index]);
        }
    }

    if (Overtaken != 0) {
        RtlWriteText(Writer, ", %llu overwritten unread", Overtaken);
    }

    if (Session->Clock.Kind != TRACE_CLOCK_TSC) {
        RtlWriteText(Writer,
                     ", clock: %s",
                     ReaderDescribeClock(&Session->Clock));
    }

    if (Live->Age > 2 * READER_LIVE_MAXIMUM_AGE) {
        RtlWriteText(Writer,
                     ", %llu ms behind",
                     Live->Age / 1000000);
    }

    RtlWriteText(Writer, "\n");
    Status = ReaderLivePutFunctions(Live, Interval);
    if (!NT_SUCCESS(Status)) {
        ReaderFail(Session->Context,
                   "show the functions",
                   Live->Options->PathUtf8,
                   Status);
        return Status;
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        PREADER_LIVE_THREAD Thread = Live->Threads[Index];

        if (!Thread->IsDone &&
            CoreCurrentFrame(&Thread->Stream.Pair) != NULL) {
            ReaderLivePutFrames(Live, Thread);
        }
    }

    return RtlFlushWriter(Writer);
}


static
VOID
ReaderLiveWait(
    _In_ const READER_LIVE *Live
    )
/*++

Routine Description:

    Waits until the interval is over or the process has ended.

Arguments:

    Live - The state.

Return Value:

    None.

--*/
{
    PCRTL Rtl = Live->Session.Context->Rtl;
    LARGE_INTEGER Timeout;

    //
    // Relative times are negative, in units of 100 ns.
    //

    Timeout.QuadPart = -(LONGLONG)Live->Options->IntervalInMilliseconds *
                       10000;
    if (Live->Session.Process == NULL ||
        Rtl->NtWaitForSingleObject(Live->Session.Process, FALSE, &Timeout) <
            0) {
        Rtl->NtDelayExecution(FALSE, &Timeout);
    }
}


static
VOID
ReaderLivePutEnd(
    _In_ const READER_LIVE *Live
    )
/*++

Routine Description:

    Says how the program ended.

Arguments:

    Live - The state; the process is gone.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = Live->Output.Writer;
    PREADER_STORE Because;
    PCSZ State = ReaderDescribeSessionState(&Live->Session, &Because);

    if (Because == NULL) {
        RtlWriteText(Writer, "\nThe program has ended.\n");
    } else if (Because->Header->State == TRACE_STATE_STOPPED) {
        RtlWriteText(Writer,
                     "\nThe program has ended.  Recording had %s: %s "
                     "(status 0x%08X).\n",
                     State,
                     ReaderDescribeReason(Because->Header->Reason),
                     Because->Header->Status);
    } else {
        RtlWriteText(Writer,
                     "\nThe program %s: it ended without closing %Z.\n",
                     State,
                     &Because->Name);
    }
}


static
VOID
ReaderLivePutSince(
    _In_ const READER_LIVE *Live
    )
/*++

Routine Description:

    Says from when on records are counted, if that is not all of them.

Arguments:

    Live - The state.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Live->Session;
    ULONGLONG First = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Time;
    ULONG Index;

    if (Live->Since == 0) {
        return;
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].FirstTimestamp < First) {
            First = Session->Threads[Index].FirstTimestamp;
        }
    }

    if (!CoreTicksToNanoseconds(&Session->Clock,
                                Live->Since > First ? Live->Since - First : 0,
                                &Time)) {
        RtlWriteText(Live->Output.Writer, "Records since %llu ticks", Time);
    } else {
        RtlWriteText(Live->Output.Writer,
                     "Records since %llu.%09llu s",
                     Time / CORE_NANOSECONDS_PER_SECOND,
                     Time % CORE_NANOSECONDS_PER_SECOND);
    }

    RtlWriteText(Live->Output.Writer,
                 " after the first one are counted: where indexes let it "
                 "begin (--from-start counts all).\n");
}


static
VOID
ReaderLiveRun(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Refreshes until the program ends or enough has been shown.

Arguments:

    Live - The state.

Return Value:

    None.  ExitCode is set.

--*/
{
    ULONGLONG Count;
    BOOLEAN IsWhole;
    NTSTATUS Status;

    Live->IsBefore = TRUE;
    ReaderLiveBeginProgress(Live);
    Status = ReaderLiveCatchUp(Live);
    ReaderEraseProgress(&Live->Progress);
    Live->IsBefore = FALSE;
    if (!NT_SUCCESS(Status)) {
        Live->ExitCode = READER_EXIT_FAILURE;
        return;
    }

    //
    // What ran before the first interval is read, because the open frames are
    // in it, and not shown; unless it is all that there will be.
    //

    IsWhole = Live->Session.ProcessState == ReaderProcessGone &&
              !Live->IsPassedOver;
    ReaderLivePutSince(Live);

    for (Count = 0; Count < Live->Options->Count; Count++) {

        if (!IsWhole) {

            ReaderLiveBeginInterval(Live);
            ReaderLiveWait(Live);
            if (!NT_SUCCESS(ReaderLiveCatchUp(Live))) {
                Live->ExitCode = READER_EXIT_FAILURE;
                return;
            }
        }

        if (!NT_SUCCESS(ReaderLivePutRefresh(Live, IsWhole))) {
            Live->ExitCode = READER_EXIT_FAILURE;
            return;
        }

        if (Live->Session.ProcessState == ReaderProcessGone) {
            ReaderLivePutEnd(Live);
            return;
        }
    }
}


static
ULONG
ReaderCommandLive(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs live.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    READER_LIVE Live;
    ULONG Index;

    RtlZeroBytes(&Live, sizeof(Live));
    Live.Options = Options;
    if (!ReaderBeginCommand(&Live.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    Live.Limit = READER_LIVE_DEFAULT_LIMIT;
    if ((Options->Given & READER_OPTION_LIMIT) != 0) {
        Live.Limit = Options->Limit;
    }

    ReaderInitializeFunctions(&Live.Functions, &Live.Session);
    ReaderInitializeTally(&Live.Before, &Live.Functions, NULL);
    Live.Before.IsFromStart =
        (Options->Given & READER_OPTION_FROM_START) != 0;
    ReaderBeginDocument(&Live.Output,
                        Context->Output,
                        ReaderFormatText,
                        &Live.Session.Clock,
                        "live",
                        FALSE);
    ReaderLiveRun(&Live);

    for (Index = 0; Index < Live.NumberOfThreads; Index++) {
        if (!Live.Threads[Index]->IsDone) {
            ReaderCloseStream(&Live.Threads[Index]->Stream);
        }
        Allocator->Free(Allocator->Context, Live.Threads[Index]);
    }

    Allocator->Free(Allocator->Context, Live.Threads);
    Allocator->Free(Allocator->Context, Live.Intervals);
    Allocator->Free(Allocator->Context, Live.Order);
    Live.ExitCode = ReaderEndFilter(Context,
                                    Options->Filter,
                                    Live.NumberShown,
                                    &Live.NotShown,
                                    Live.ExitCode);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        ReaderPutFilterCost(&Live.Functions, Options->Filter);
        ReaderPutIndexCost(&Live.Session);
    }

    ReaderRundownTally(&Live.Before);
    ReaderRundownFunctions(&Live.Functions);
    ReaderCloseSession(&Live.Session);
    return Live.ExitCode;
}


const READER_COMMAND ReaderLiveCommand = {
    "live",
    "PATH",
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
    "  TraceReader live SESSION\n"
    "  TraceReader live --interval 500 --limit 10 SESSION\n"
    "  TraceReader live --count 1 SESSION\n",
    READER_OPTION_INTERVAL | READER_OPTION_COUNT | READER_OPTION_LIMIT |
        READER_OPTION_FROM_START | READER_OPTION_VERBOSE |
        READER_OPTION_NO_INDEX | READER_OPTION_MARKS |
        READER_OPTION_NO_CACHE |
        READER_OPTION_FILTER,
    ReaderCommandLive
};
