/*++

Module Name:

    LiveRead.c

Abstract:

    What TraceReader live knows of a running program: passes over the records
    that its threads have written since the pass before.

    Calls are counted by the tally, as for a report.  Time is charged as it
    passes: what a function had when it was looked at last, in calls that have
    ended and in those that are open, is taken from what it has now.

    Of what a running program did before the first refresh only the frames that
    are open count, so that is passed over, from the last mark of each thread's
    index on.  Of a program that has ended everything is shown, at once.

    With a budget a pass reads so many records as the passes before could in
    the time that they may take.  When there are more it reads the newest ones
    of each thread, and counts those times what they are a part of; calls are
    counted in small pieces that are spread over all of them.  The frames
    that were open before the records that it left out are taken to be open
    still; the law of section 11 of Docs/Format.md takes off those that cannot
    be.  Their calls, when they end, are in no average: nobody knows that the
    call that ended is the one that began.  A total has the time that they were
    open in what was read.

--*/

#include "ReaderLive.h"

#define READER_LIVE_MAXIMUM_PASSES 8

//
// The progress is looked at after so many runs of records.
//

#define READER_LIVE_PROGRESS_RUNS 64

//
// With a budget: records that the first pass may read, the fewest that a pass
// reads, those of a thread that are read anyway, and those before the first
// refresh that are read for the frames that are open.
//

#define READER_LIVE_FIRST_ALLOWANCE 0x10000ULL
#define READER_LIVE_LEAST_ALLOWANCE 0x8000ULL
#define READER_LIVE_MOST_ALLOWANCE 0x40000000ULL
#define READER_LIVE_LEAST_OF_THREAD 256ULL

//
// So many records, and fewer, are read without a mapping, which costs as much
// as reading some ten thousand.
//

#define READER_LIVE_MOST_READ 0x8000ULL

//
// Calls are counted in so many pieces at most of what a thread wrote, one for
// so many records that are read of it, each of so many records.
//

#define READER_LIVE_MOST_PIECES 32ULL
#define READER_LIVE_RECORDS_FOR_PIECE 1024ULL
#define READER_LIVE_PIECE 64u

//
// A record that is so many ticks old was not being written when it was read.
//

#define READER_LIVE_SETTLED_TICKS 0x10000ULL

//
// A thread is in a long stretch when it has written nothing for so many times
// what lies between two of its records on the average.
//

#define READER_LIVE_LONG_STRETCH 64
#define READER_LIVE_MAXIMUM_BEFORE 0x4000000ULL


_Use_decl_annotations_
NTSTATUS
ReaderGrowLiveList(
    PREADER_LIVE Live
    )
/*++

Routine Description:

    Makes room for the tally's functions.

Arguments:

    Live - The state.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    return ReaderGrowArray(Live->Session.Context->Allocator,
                           (PVOID *)&Live->List,
                           &Live->CapacityOfList,
                           Live->Tally.NumberOfFunctions,
                           sizeof(READER_LIVE_FUNCTION));
}


static
VOID
ReaderActivateFrames(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ BOOLEAN IsActive
    )
/*++

Routine Description:

    Tells the tally which calls are open, because it looks at one thread at a
    time.  The time of records that were left out since it was told is taken
    from the totals of those that were open then.

Arguments:

    Live - The state.

    Thread - The thread whose turn it is.

    IsActive - Whether its turn begins or is over.

Return Value:

    None.

--*/
{
    const CORE_STACK *Stack;
    PCORE_TOTALS Totals;
    SIZE_T Depth;
    ULONG Function;
    ULONG Index;

    for (Index = 0; Index < Thread->Stream.Pair.NumberOfStacks; Index++) {
        Stack = &Thread->Stream.Pair.Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Live->Tally.Totals.Totals[Stack->Frames[Depth].Function]
                .ActiveCalls = 0;
        }
    }

    for (Index = 0;
         IsActive && Index < Thread->Stream.Pair.NumberOfStacks;
         Index++) {
        Stack = &Thread->Stream.Pair.Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Function = Stack->Frames[Depth].Function;
            Totals = &Live->Tally.Totals.Totals[Function];
            if (Totals->ActiveCalls == 0) {
                Live->List[Function].OtherTotalTicks -= Thread->GapTicks;
            }

            Totals->ActiveCalls += 1;
        }
    }

    if (IsActive) {
        Thread->GapTicks = 0;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderLiveEvent(
    _Inout_ PREADER_LIVE Live,
    _In_ PCREADER_LIVE_THREAD Thread,
    _In_ const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds an event.

Arguments:

    Live - The state, with room for the tally's functions.

    Thread - The thread.

    Event - Its event.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_LIVE_FUNCTION Function;
    PCORE_TOTALS Totals;

    if (Event->Kind == CoreEventEnter) {
        Event->Frame->Node = 0;
    }

    if (Event->Kind == CoreEventEnter || Event->Frame == NULL) {
        return ReaderTallyEvent(&Live->Tally, Event);
    }

    Function = &Live->List[Event->Frame->Function];
    Totals = &Live->Tally.Totals.Totals[Event->Frame->Function];
    if (Event->Frame->NumberOfJumps < Thread->GapJumps) {
        Totals->ActiveCalls -= 1;
        Function->OtherCalls += 1;
        Function->OtherSelfTicks += Event->SelfTicks;
        if (Totals->ActiveCalls == 0) {
            Function->OtherTotalTicks += Event->InclusiveTicks;
        }

        return STATUS_SUCCESS;
    }

    if (Event->Kind == CoreEventAbandoned) {
        Function->OtherSelfTicks += Event->SelfTicks;
        if (Totals->ActiveCalls == 1) {
            Function->OtherTotalTicks += Event->InclusiveTicks;
        }
    }

    return ReaderTallyEvent(&Live->Tally, Event);
}


static
VOID
ReaderTakeClosed(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Takes what calls that have ended since it was looked at last add.

Arguments:

    Live - The state, with room for the tally's functions.

Return Value:

    None.

--*/
{
    BOOLEAN HasTimes = Live->Session.Clock.Kind != TRACE_CLOCK_NONE;
    ULONG Index;

    for (Index = 0; Index < Live->Tally.NumberOfFunctions; Index++) {

        PCCORE_TOTALS Totals = &Live->Tally.Totals.Totals[Index];
        PCREADER_STATISTICS Statistics = &Live->Tally.List[Index].Statistics;
        PREADER_LIVE_FUNCTION Function = &Live->List[Index];
        ULONGLONG Calls;
        ULONGLONG Ticks;

        Calls = Totals->Calls + Statistics->Calls + Function->OtherCalls;
        Function->Calls += (LONGLONG)(Calls - Function->ClosedCalls);
        Function->ClosedCalls = Calls;
        if (!HasTimes) {
            continue;
        }

        Ticks = Totals->SelfTicks + Statistics->SelfTicks +
                Function->OtherSelfTicks;
        Function->SelfTicks += (LONGLONG)(Ticks - Function->ClosedSelfTicks);
        Function->ClosedSelfTicks = Ticks;
        Ticks = Totals->TotalTicks + Statistics->TotalTicks +
                Function->OtherTotalTicks;
        Function->TotalTicks += (LONGLONG)(Ticks - Function->ClosedTotalTicks);
        Function->ClosedTotalTicks = Ticks;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderTakeOpen(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Now
    )
/*++

Routine Description:

    Takes what a thread's open frames add to what they had when they were
    looked at last, and remembers what they have.

Arguments:

    Live - The state, with room for the tally's functions.

    Thread - The thread.

    Now - The time stamp up to which they have been open.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY, and nothing is remembered.

--*/
{
    PCORE_PAIR Pair = &Thread->Stream.Pair;
    BOOLEAN HasTimes = Live->Session.Clock.Kind != TRACE_CLOCK_NONE;
    PREADER_LIVE_OPEN Open;
    PCORE_TOTALS Totals;
    SIZE_T Count = 0;
    SIZE_T Depth;
    ULONG Place;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Thread->NumberOfOpen; Index++) {
        Open = &Thread->Open[Index];
        Live->List[Open->Function].Calls -= 1;
        Live->List[Open->Function].SelfTicks -= (LONGLONG)Open->SelfTicks;
        Live->List[Open->Function].TotalTicks -= (LONGLONG)Open->TotalTicks;
    }

    Thread->NumberOfOpen = 0;
    for (Place = 0; Place < Pair->NumberOfStacks; Place++) {
        Count += Pair->Stacks[Place].NumberOfFrames;
    }

    if (Count > 0x7FFFFFFF) {
        return STATUS_NO_MEMORY;
    }

    Status = ReaderGrowArray(Live->Session.Context->Allocator,
                             (PVOID *)&Thread->Open,
                             &Thread->CapacityOfOpen,
                             (ULONG)Count,
                             sizeof(READER_LIVE_OPEN));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Open = Thread->Open;
    for (Place = 0; Place < Pair->NumberOfStacks; Place++) {

        const CORE_STACK *Stack = &Pair->Stacks[Place];
        ULONGLONG End = Now;

        //
        // The innermost frame of a stack that does not run stands still.
        //

        if (Place != Pair->Current && Stack->LeftTimestamp != 0) {
            End = Stack->LeftTimestamp;
        }

        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++, Open++) {

            PCORE_FRAME Frame = &Stack->Frames[Depth];
            ULONGLONG Ticks = 0;
            ULONGLONG Gain;
            ULONGLONG Inside = Frame->ChildTicks;

            if (Depth + 1 < Stack->NumberOfFrames &&
                End > Frame[1].EnterTimestamp) {
                Inside += End - Frame[1].EnterTimestamp;
            }

            if (HasTimes && End > Frame->EnterTimestamp &&
                End - Frame->EnterTimestamp > Inside) {
                Ticks = End - Frame->EnterTimestamp - Inside;
            }

            //
            // The time up to the last look is somebody else's, if a frame
            // that was entered before it is new.
            //

            Gain = Ticks;
            if (Frame->Node == 0 &&
                Frame->EnterTimestamp < Thread->TakenTo &&
                (Now <= Thread->TakenTo ||
                 Gain > Now - Thread->TakenTo)) {
                Gain = Now > Thread->TakenTo ? Now - Thread->TakenTo : 0;
            }

            Open->Function = Frame->Function;
            Open->SelfTicks = Ticks;
            Live->List[Open->Function].Calls += 1;
            Live->List[Open->Function].SelfTicks += (LONGLONG)Gain;

            //
            // Of a function that called itself the outermost call counts.
            //

            Open->TotalTicks = 0;
            Totals = &Live->Tally.Totals.Totals[Frame->Function];
            if (Totals->ActiveCalls == 0 && HasTimes &&
                Now > Frame->EnterTimestamp) {
                Gain = Now - Frame->EnterTimestamp;
                Open->TotalTicks = Gain;
                if (Frame->Node == 0 &&
                    Frame->EnterTimestamp < Thread->TakenTo) {
                    Gain = Now > Thread->TakenTo ? Now - Thread->TakenTo : 0;
                }

                Live->List[Open->Function].TotalTicks += (LONGLONG)Gain;
            }

            Totals->ActiveCalls = 1;
            Frame->Node = 1;
        }
    }

    ReaderActivateFrames(Live, Thread, FALSE);
    Thread->NumberOfOpen = (ULONG)Count;
    return STATUS_SUCCESS;
}


static
ULONGLONG
ReaderScale(
    _In_ LONGLONG Number,
    _In_ ULONGLONG Records,
    _In_ ULONGLONG RecordsRead
    )
/*++

Routine Description:

    Makes of a number of what was read one of all there is.

Arguments:

    Number - The number.

    Records, RecordsRead - How many there are for how many that were read.

Return Value:

    The number; 0 for a negative one.

--*/
{
    if (Number <= 0) {
        return 0;
    }

    if (Records == RecordsRead || RecordsRead == 0) {
        return (ULONGLONG)Number;
    }

    return CoreMultiplyDivide((ULONGLONG)Number, Records, RecordsRead);
}


static
VOID
ReaderAddTaken(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONGLONG Records,
    _In_ ULONGLONG RecordsRead,
    _In_ ULONGLONG Ticks,
    _Inout_opt_ PREADER_LIVE_THREAD Thread
    )
/*++

Routine Description:

    Adds what was taken to the interval, as what it is a part of.

    The time between two records is as likely to be in the part as any other,
    so the sums go by the numbers of records.  What is rare and long may be in
    it too often or not at all: the time that is missing is that of the function
    that was found in a long stretch last, and what is too much is that of the
    function that has the most, which was in a long stretch then.  No function
    is open for longer than the thread ran, and one that was open before, and
    is now, for no less.

Arguments:

    Live - The state.

    Records, RecordsRead - How many there are for how many that were read.

    Ticks - How long the thread ran; not used if all was read.

    Thread - The thread, if not all of it was read.

Return Value:

    None.

--*/
{
    PREADER_LIVE_FUNCTION Function;
    ULONGLONG Number;
    ULONGLONG Sum = 0;
    ULONGLONG Most = 0;
    ULONGLONG Missing = 0;
    ULONGLONG Excess = 0;
    ULONG Largest = READER_NONE;
    ULONG Top = READER_NONE;
    ULONGLONG Longest = 0;
    ULONG Index;

    if (Thread != NULL) {

        //
        // Records may have been seen late, after the time that they are of
        // was counted.
        //

        Longest = Thread->Stream.Pair.LastTimestamp - Thread->PassStart;

        for (Index = 0; Index < Thread->NumberOfOpen; Index++) {
            if (Thread->Open[Index].TotalTicks > Ticks) {
                Live->List[Thread->Open[Index].Function].TotalTicks =
                    (LONGLONG)Ticks;
            }
        }

        for (Index = 0; Index < Live->Tally.NumberOfFunctions; Index++) {
            Number = ReaderScale(Live->List[Index].SelfTicks,
                                 Records,
                                 RecordsRead);
            Sum += Number;
            if (Number > Most) {
                Most = Number;
                Largest = Index;
            }
        }

        if (Sum < Ticks) {
            Missing = Ticks - Sum;
        } else {
            Excess = Sum - Ticks;
        }

        if (Excess > Ticks / 4 && Largest != READER_NONE) {
            Thread->LongFunction = Largest;
            Thread->HasLongFunction = TRUE;
        }

        if (Thread->HasLongFunction) {
            Top = Thread->LongFunction;
        }
    }

    for (Index = 0; Index < Live->Tally.NumberOfFunctions; Index++) {

        Function = &Live->List[Index];
        Number = ReaderScale(Function->Calls, Records, RecordsRead);
        if (Thread != NULL && Thread->PieceRecords != 0) {
            Number = ReaderScale((LONGLONG)Function->PieceCalls,
                                 Records,
                                 Thread->PieceRecords);
        }

        Function->PieceCalls = 0;
        Function->IntervalCalls += Number;
        Function->AllCalls += Number;

        Number = ReaderScale(Function->SelfTicks, Records, RecordsRead);
        if (Index == Largest) {
            Number -= Number < Excess ? Number : Excess;
        }

        if (Index == Top) {
            Number += Missing;
        }

        Function->IntervalSelfTicks += Number;
        Function->AllSelfTicks += Number;

        Number = ReaderScale(Function->TotalTicks, Records, RecordsRead);
        if (Thread != NULL && Number > Longest) {
            Number = Longest;
        }

        Function->AllTotalTicks += Number;

        Function->Calls = 0;
        Function->SelfTicks = 0;
        Function->TotalTicks = 0;
    }
}


_Use_decl_annotations_
BOOLEAN
ReaderIsLiveThreadGrowing(
    PCREADER_LIVE Live,
    PCREADER_LIVE_THREAD Thread
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

    if (!Thread->HasTrees) {
        return FALSE;
    }

    for (Index = Session->Threads[Thread->Stream.Thread].FirstStore;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {
        if (Session->Stores[Index]->IsTree &&
            Session->Stores[Index]->Header->State == TRACE_STATE_OPEN) {
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

    Status = ReaderPrepareTally(&Live->Tally);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

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

        Thread->TakenTo = Live->IntervalStart;
        if (Thread->TakenTo <
            Session->Threads[Live->NumberOfThreads].FirstTimestamp) {
            Thread->TakenTo =
                Session->Threads[Live->NumberOfThreads].FirstTimestamp;
        }

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

    //
    // Where a part of a long past would take long, too, the frames that it
    // left open are not known.
    //

    Live->IsBackUnread = Live->BudgetInPercent < 100 &&
                         !Live->Before.IsFromStart &&
                         Expected > READER_LIVE_MAXIMUM_BEFORE;
}


static
ULONGLONG
ReaderQueryPartPosition(
    _In_ const READER_STREAM_STORE *Part
    )
/*++

Routine Description:

    Says where the first record of a store is that was not taken.

Arguments:

    Part - The store in its stream.

Return Value:

    Its position.

--*/
{
    return ReaderQueryPosition(&Part->Iterator) -
           (Part->Head != NULL ? TRACE_RECORD_SIZE : 0);
}


static
ULONGLONG
ReaderCountBacklog(
    _In_ PCREADER_LIVE_THREAD Thread
    )
/*++

Routine Description:

    Counts a thread's records that have not been taken.

Arguments:

    Thread - The thread, refreshed.

Return Value:

    Their number.

--*/
{
    ULONGLONG Count = 0;
    ULONG Index;

    for (Index = 0; Index < Thread->Stream.NumberOfStores; Index++) {

        const READER_STREAM_STORE *Part = Thread->Stream.Stores[Index];
        ULONGLONG Position = ReaderQueryPartPosition(Part);

        if (Part->Iterator.Store->EndOfRecords > Position) {
            Count += (Part->Iterator.Store->EndOfRecords - Position) /
                     TRACE_RECORD_SIZE;
        }
    }

    return Count;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadTimestamp(
    _In_ const READER_STREAM_STORE *Part,
    _In_ ULONGLONG Position,
    _Out_ PULONGLONG Timestamp
    )
/*++

Routine Description:

    Reads one record's time stamp.

Arguments:

    Part - The store in its stream.

    Position - The record's.

    Timestamp - Receives it.

Return Value:

    STATUS_SUCCESS, STATUS_END_OF_FILE (it is not there any more) or what
    failed.

--*/
{
    TRACE_RECORD Record;
    ULONG Count;
    NTSTATUS Status;

    *Timestamp = 0;
    Status = ReaderReadRecords(Part->Iterator.Context,
                               Part->Iterator.Store,
                               Position,
                               &Record,
                               1,
                               &Count);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Count == 0 || Record.Timestamp == 0) {
        return STATUS_END_OF_FILE;
    }

    *Timestamp = Record.Timestamp;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindTimestamp(
    _In_ const READER_STREAM_STORE *Part,
    _In_ ULONGLONG Timestamp,
    _Out_ PULONGLONG Position
    )
/*++

Routine Description:

    Finds the first record of a store that is not earlier than a time, of those
    that were not taken.

Arguments:

    Part - The store in its stream.

    Timestamp - The time stamp.

    Position - Receives the record's position, or the end.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONGLONG Start = ReaderQueryPartPosition(Part);
    ULONGLONG Low = 0;
    ULONGLONG High = 0;
    ULONGLONG Middle;
    ULONGLONG Found;
    NTSTATUS Status;

    if (Part->Iterator.Store->EndOfRecords > Start) {
        High = (Part->Iterator.Store->EndOfRecords - Start) /
               TRACE_RECORD_SIZE;
    }

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        Status = ReaderReadTimestamp(Part,
                                     Start + Middle * TRACE_RECORD_SIZE,
                                     &Found);
        if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
            return Status;
        }

        //
        // What was overwritten meanwhile is earlier.
        //

        if (!NT_SUCCESS(Status) || Found < Timestamp) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    *Position = Start + Low * TRACE_RECORD_SIZE;
    return STATUS_SUCCESS;
}


static
PREADER_STREAM_STORE
ReaderFindLongest(
    _In_ PCREADER_LIVE_THREAD Thread,
    _Out_ PULONGLONG LongestCount
    )
/*++

Routine Description:

    Finds the store of a thread with the most records that were not taken.

Arguments:

    Thread - The thread, refreshed.

    LongestCount - Receives how many it has.

Return Value:

    The store in its stream; NULL if none has any.

--*/
{
    PREADER_STREAM_STORE Longest = NULL;
    PREADER_STREAM_STORE Part;
    ULONGLONG Position;
    ULONGLONG Count;
    ULONG Index;

    *LongestCount = 0;
    for (Index = 0; Index < Thread->Stream.NumberOfStores; Index++) {
        Part = Thread->Stream.Stores[Index];
        Position = ReaderQueryPartPosition(Part);
        Count = 0;
        if (Part->Iterator.Store->EndOfRecords > Position) {
            Count = (Part->Iterator.Store->EndOfRecords - Position) /
                    TRACE_RECORD_SIZE;
        }

        if (Count > *LongestCount) {
            Longest = Part;
            *LongestCount = Count;
        }
    }

    return Longest;
}


_Must_inspect_result_
static
NTSTATUS
ReaderMoveThread(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ const READER_STREAM_STORE *Longest,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Moves a thread to a record; those before it are left out.

Arguments:

    Live - The state.

    Thread - The thread, refreshed, with no events left to take.

    Longest - The store that has the record.

    Start - The record's position.

    Timestamp - Its time stamp.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STREAM Stream = &Thread->Stream;
    PREADER_STREAM_STORE Part;
    PCORE_FRAME Top;
    ULONGLONG Position;
    ULONGLONG From;
    ULONGLONG Old;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        Old = ReaderQueryPartPosition(Part);
        if (Part == Longest) {
            Position = Start;
        } else {
            Status = ReaderFindTimestamp(Part, Timestamp, &Position);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (Position > Old) {
            Thread->PassRecords += (Position - Old) / TRACE_RECORD_SIZE;
            ReaderSeekIterator(&Part->Iterator, Position, 0);
            Part->Iterator.IsGap = FALSE;
            Part->Iterator.IsAfterGap = FALSE;
            Part->Head = NULL;
        }
    }

    Timestamp += Live->Session.Threads[Stream->Thread].TimestampBase;
    Stream->NumberOfJumps += 1;
    Stream->LastTimestamp = 0;
    Stream->IsAfterJump = FALSE;
    Thread->GapJumps = Stream->NumberOfJumps;
    Thread->WindowStart = Timestamp;

    //
    // The time in between is nobody's.
    //

    From = Thread->TakenTo;

    if (Timestamp > From) {
        Thread->GapTicks = Timestamp - From;
        Top = CoreCurrentFrame(&Stream->Pair);
        if (Top != NULL) {
            Top->ChildTicks += Thread->GapTicks;
        }
    }

    if (Stream->Pair.LastTimestamp < Timestamp) {
        Stream->Pair.LastTimestamp = Timestamp;
    }

    //
    // Marks need all records.
    //

    if (Stream->Index != NULL) {
        Stream->Index->Due = READER_MAXIMUM_TIMESTAMP;
    }

    Live->IsSampling = TRUE;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLeaveOut(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Wanted
    )
/*++

Routine Description:

    Moves a thread near its end.

Arguments:

    Live - The state.

    Thread - The thread, refreshed, with no events left to take.

    Wanted - How many records are to follow, about.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STREAM Stream = &Thread->Stream;
    PREADER_STREAM_STORE Longest;
    PREADER_STREAM_STORE Part;
    ULONGLONG Position;
    ULONGLONG Start;
    ULONGLONG Old;
    ULONGLONG LongestCount;
    ULONGLONG Count;
    ULONGLONG All = ReaderCountBacklog(Thread);
    ULONGLONG Timestamp;
    ULONG Index;
    NTSTATUS Status;

    Longest = ReaderFindLongest(Thread, &LongestCount);
    if (Longest == NULL || Wanted >= All) {
        return STATUS_SUCCESS;
    }

    //
    // The store with the most records says from which time on.
    //

    Count = CoreMultiplyDivide(Wanted, LongestCount, All);
    if (Count == 0) {
        Count = 1;
    }

    //
    // The newest record of a store may be being written; unless it is old, it
    // is for the next pass.
    //

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];
        if (Wanted > READER_LIVE_MOST_READ ||
            Part->Iterator.Store->EndOfRecords <=
                ReaderQueryPartPosition(Part)) {
            continue;
        }

        Part->Iterator.Store->IsRead = TRUE;
        Status = ReaderReadTimestamp(Part,
                                     Part->Iterator.Store->EndOfRecords -
                                         TRACE_RECORD_SIZE,
                                     &Timestamp);
        if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
            return Status;
        }

        if (!NT_SUCCESS(Status) ||
            Timestamp > Live->Horizon - READER_LIVE_SETTLED_TICKS) {
            Part->Iterator.Store->EndOfRecords -= TRACE_RECORD_SIZE;
        }
    }

    Start = Longest->Iterator.Store->EndOfRecords - Count * TRACE_RECORD_SIZE;
    if (Start < Longest->Iterator.Store->StartOfRecords) {
        Start = Longest->Iterator.Store->StartOfRecords;
    }

    Status = ReaderReadTimestamp(Longest, Start, &Timestamp);
    if (NT_SUCCESS(Status) && Timestamp > Live->Horizon) {

        //
        // So many have come since the horizon was set; they are for the next
        // pass.
        //

        Old = ReaderQueryPartPosition(Longest);
        Status = ReaderFindTimestamp(Longest, Live->Horizon, &Position);
        if (NT_SUCCESS(Status)) {
            Start = Old;
            if ((Position - Old) / TRACE_RECORD_SIZE > Count) {
                Start = Position - Count * TRACE_RECORD_SIZE;
            }

            Status = ReaderReadTimestamp(Longest, Start, &Timestamp);
        }
    }

    if (!NT_SUCCESS(Status) || Timestamp > Live->Horizon) {
        return NT_SUCCESS(Status) || Status == STATUS_END_OF_FILE
                   ? STATUS_SUCCESS
                   : Status;
    }

    return ReaderMoveThread(Live, Thread, Longest, Start, Timestamp);
}


static
VOID
ReaderStopMarks(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Sees to it that no marks are made once records were left out.

Arguments:

    Live - The state.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone &&
            Live->Threads[Index]->Stream.Index != NULL) {
            Live->Threads[Index]->Stream.Index->Due = READER_MAXIMUM_TIMESTAMP;
        }
    }
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
    SIZE_T Depth;
    ULONG Function;
    ULONG Index;
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
    // The frames' functions are those of the table of all.
    //

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {

        PCORE_STACK Stack = &Stream->Pair.Stacks[Index];

        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Status = ReaderAddFunctionToTally(&Live->Tally,
                                              Stack->Frames[Depth].Function,
                                              &Function);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Stack->Frames[Depth].Function = Function;
        }
    }

    return ReaderGrowLiveList(Live);
}


_Must_inspect_result_
static
NTSTATUS
ReaderLiveRunThread(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Before
    )
/*++

Routine Description:

    Reads a thread from where it is up to its horizon.

Arguments:

    Live - The state.

    Thread - The thread.

    Before - The stream's number of records when the pass began.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STREAM Stream = &Thread->Stream;
    CORE_EVENT Event;
    ULONG Runs = 0;
    NTSTATUS Status;

    Status = ReaderGrowLiveList(Live);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderSetStreamTally(Stream, &Live->Tally);
    ReaderActivateFrames(Live, Thread, TRUE);

    do {

        Status = ReaderRunStream(Stream);
        do {
            if (NT_SUCCESS(Status)) {
                Status = ReaderNextEvent(Stream, &Event);
            }

            if (NT_SUCCESS(Status)) {
                Status = ReaderGrowLiveList(Live);
            }

            if (NT_SUCCESS(Status)) {
                Status = ReaderLiveEvent(Live, Thread, &Event);
            }
        } while (NT_SUCCESS(Status) && Stream->Pair.IsPending);

        Runs += 1;
        if (Runs % READER_LIVE_PROGRESS_RUNS == 0) {
            ReaderShowProgress(&Live->Progress,
                               Live->AllRecords + Stream->NumberOfRecords -
                                   Before);
        }

    } while (NT_SUCCESS(Status));

    ReaderActivateFrames(Live, Thread, FALSE);

    //
    // Bad records are said at the end of the stream, which has no tally then.
    //

    ReaderSetStreamTally(Stream, NULL);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCountPiece(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ const READER_STREAM_STORE *Part,
    _In_ ULONGLONG Position
    )
/*++

Routine Description:

    Counts the calls that begin in a piece of a store.

Arguments:

    Live - The state.

    Thread - The thread.

    Part - The store in its stream.

    Position - Of the first record.

Return Value:

    STATUS_SUCCESS, STATUS_END_OF_FILE or what failed.

--*/
{
    TRACE_RECORD Records[READER_LIVE_PIECE];
    CORE_RECORD_CHECK Check = Part->Iterator.Check;
    CORE_CALL Call;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderReadRecords(Part->Iterator.Context,
                               Part->Iterator.Store,
                               Position,
                               Records,
                               READER_LIVE_PIECE,
                               &Count);
    Check.PreviousTimestamp = 0;
    for (Index = 0; NT_SUCCESS(Status) && Index < Count; Index++) {

        if (CoreValidateRecord(&Check, &Records[Index], FALSE) !=
            CoreRecordValid) {
            continue;
        }

        Thread->PieceRecords += 1;
        RtlZeroBytes(&Call, sizeof(Call));
        Call.Timestamp = Records[Index].Timestamp;
        Call.Site = ((ULONGLONG)Part->Module << 32) |
                    (ULONG)(Records[Index].Site - Check.ModuleBase);
        Call.Stack = Records[Index].StackKind & ~TRACE_KIND_MASK;
        Call.Kind = Records[Index].StackKind & TRACE_KIND_MASK;
        if (Call.Kind != TRACE_KIND_ENTER &&
            Call.Kind != TRACE_KIND_ENTER_FUNCTION) {
            continue;
        }

        Status = ReaderDescribeCallInTally(&Live->Tally, &Call);
        if (NT_SUCCESS(Status)) {
            Status = ReaderGrowLiveList(Live);
        }

        if (NT_SUCCESS(Status)) {
            Live->List[Live->Tally.LastIndex].PieceCalls += 1;
        }
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderCountPieces(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Wanted
    )
/*++

Routine Description:

    Counts calls in pieces of what a thread has written, each somewhere in one
    of as many equal stretches of a store's new records.  What a program does
    changes from one moment to the next, and the newest records show only one.

Arguments:

    Live - The state.

    Thread - The thread, refreshed.

    Wanted - How many records are read of it, about.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONGLONG All = ReaderCountBacklog(Thread);
    ULONGLONG Pieces = Wanted / READER_LIVE_RECORDS_FOR_PIECE + 1;
    ULONGLONG Stretch;
    ULONGLONG Count;
    ULONGLONG Start;
    ULONGLONG Piece;
    ULONGLONG Own;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    Thread->PieceRecords = 0;
    if (Pieces > READER_LIVE_MOST_PIECES) {
        Pieces = READER_LIVE_MOST_PIECES;
    }

    for (Index = 0;
         Index < Thread->Stream.NumberOfStores && NT_SUCCESS(Status);
         Index++) {

        const READER_STREAM_STORE *Part = Thread->Stream.Stores[Index];

        Start = ReaderQueryPartPosition(Part);
        Count = 0;
        if (Part->Iterator.Store->EndOfRecords > Start) {
            Count = (Part->Iterator.Store->EndOfRecords - Start) /
                    TRACE_RECORD_SIZE;
        }

        //
        // A store's part of the pieces is that of its records.
        //

        Own = CoreMultiplyDivide(Pieces, Count, All);
        Stretch = Own != 0 ? Count / Own : 0;
        if (Stretch <= READER_LIVE_PIECE) {
            continue;
        }

        Part->Iterator.Store->IsRead = TRUE;
        for (Piece = 0; Piece < Own && NT_SUCCESS(Status); Piece++) {
            Live->Random = Live->Random * 6364136223846793005ULL +
                           1442695040888963407ULL;
            Status = ReaderCountPiece(
                Live,
                Thread,
                Part,
                Start + (Piece * Stretch +
                         (Live->Random >> 32) %
                             (Stretch - READER_LIVE_PIECE)) *
                            TRACE_RECORD_SIZE);
        }

        Part->Iterator.Store->IsRead = FALSE;
    }

    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLiveReadThread(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Wanted
    )
/*++

Routine Description:

    Reads what a thread has written up to the horizon.

Arguments:

    Live - The state.

    Thread - The thread, not done, refreshed.

    Wanted - How many records to read at most, about.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STREAM Stream = &Thread->Stream;
    ULONGLONG Before = Stream->NumberOfRecords;
    BOOLEAN IsFirst = Live->IsBefore && !Thread->IsBegun;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    Thread->PassRecords = 0;
    Thread->PassRead = 0;
    Thread->WindowStart = 0;
    Thread->PassStart = Stream->Pair.LastTimestamp;

    //
    // Where there is no horizon the program has ended, or has no times.
    //

    if (IsFirst && Stream->Horizon != READER_MAXIMUM_TIMESTAMP) {
        if (Live->IsBackUnread) {
            Live->IsPassedOver = TRUE;
            Status = ReaderLeaveOut(Live, Thread, 1);
            Thread->WindowStart = 0;
        } else {
            Status = ReaderLivePassOver(Live, Thread);
            Before = Stream->NumberPassedBy;
        }
    } else if (Wanted < READER_MAXIMUM_TIMESTAMP) {
        Status = ReaderCountPieces(Live, Thread, Wanted);
        if (NT_SUCCESS(Status)) {
            Status = ReaderLeaveOut(Live, Thread, Wanted);
        }
    }

    Thread->IsBegun = TRUE;
    if (NT_SUCCESS(Status)) {
        Status = ReaderLiveRunThread(Live, Thread, Before);
    }

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {
        Stream->Stores[Index]->Iterator.Store->IsRead = FALSE;
    }

    Thread->PassRead = Stream->NumberOfRecords - Before;
    Thread->PassRecords += Thread->PassRead;
    Thread->AllRecords += Thread->PassRecords;
    Thread->IntervalRecords += Thread->PassRecords;
    Live->NewRecords += Thread->PassRecords;
    Live->NewRead += Thread->PassRead;
    Live->AllRecords += Thread->PassRecords;
    Live->SinceRecords += Thread->PassRecords;
    Live->SinceRead += Thread->PassRead;
    return Status;
}


static
VOID
ReaderEndLiveThread(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONG Index,
    _In_ NTSTATUS Status
    )
/*++

Routine Description:

    Says that a thread could not be read, and closes it.

Arguments:

    Live - The state.

    Index - The thread's.

    Status - What failed.

Return Value:

    None.

--*/
{
    PREADER_LIVE_THREAD Thread = Live->Threads[Index];

    Live->ExitCode = ReaderFailThread(&Live->Session, Index, Status);
    ReaderCloseStream(&Thread->Stream);
    Thread->IsDone = TRUE;
}


_Must_inspect_result_
static
NTSTATUS
ReaderTakeThreads(
    _Inout_ PREADER_LIVE Live,
    _In_opt_ PREADER_LIVE_THREAD Only
    )
/*++

Routine Description:

    Takes what was read of one thread, or of all of those of which everything
    was read.

Arguments:

    Live - The state.

    Only - The thread, or NULL.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_LIVE_THREAD Thread;
    const CORE_FRAME *Top;
    ULONGLONG Start;
    ULONGLONG Now;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowLiveList(Live);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderTakeClosed(Live);
    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        Thread = Live->Threads[Index];
        if (Thread->IsDone ||
            (Only != NULL ? Thread != Only : Thread->WindowStart != 0)) {
            continue;
        }

        //
        // A thread that writes no more stood still at its last record.  Of
        // one that was read in part only time between records counts, which
        // leaves what comes after the last one to the next pass.
        //

        Now = Live->Horizon;
        if (Thread->WindowStart != 0 ||
            !ReaderIsLiveThreadGrowing(Live, Thread)) {
            Now = Thread->Stream.Pair.LastTimestamp;
        }

        Now = ReaderPassPauses(&Thread->Stream, Now);
        Status = ReaderTakeOpen(Live, Thread, Now);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Start = Thread->TakenTo;
        if (Now > Thread->TakenTo) {
            Thread->TakenTo = Now;
        }

        if (Only != NULL && Thread->WindowStart != 0) {
            Top = CoreCurrentFrame(&Thread->Stream.Pair);
            if (Top != NULL &&
                (!Thread->HasLongFunction ||
                 (Live->Horizon > Now && Now > Start &&
                  Thread->PassRecords != 0 &&
                  Live->Horizon - Now > (Now - Start) / Thread->PassRecords *
                                            READER_LIVE_LONG_STRETCH))) {
                Thread->LongFunction = Top->Function;
                Thread->HasLongFunction = TRUE;
            }

            ReaderAddTaken(Live,
                           Thread->PassRecords,
                           Thread->PassRead,
                           Now > Start ? Now - Start : 0,
                           Thread);
            return STATUS_SUCCESS;
        }
    }

    if (Only == NULL || Only->WindowStart == 0) {
        ReaderAddTaken(Live, 1, 1, 0, NULL);
    }

    return STATUS_SUCCESS;
}


static
VOID
ReaderNotePart(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONGLONG Nanoseconds
    )
/*++

Routine Description:

    Notes how long a thread's part of a pass took, in ascending order.

Arguments:

    Live - The state.

    Nanoseconds - The time.

Return Value:

    None.

--*/
{
    ULONG Index;

    Live->NumberOfParts += 1;
    Live->PartTime += Nanoseconds;
    if (Live->NumberOfSamples == READER_LIVE_NUMBER_OF_SAMPLES) {
        return;
    }

    Index = Live->NumberOfSamples;
    while (Index != 0 && Live->Samples[Index - 1] > Nanoseconds) {
        Live->Samples[Index] = Live->Samples[Index - 1];
        Index -= 1;
    }

    Live->Samples[Index] = Nanoseconds;
    Live->NumberOfSamples += 1;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadThreads(
    _Inout_ PREADER_LIVE Live
    )
/*++

Routine Description:

    Reads what all threads have written, or as much of it as a pass may.

Arguments:

    Live - The state; the horizon is set and the session refreshed.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_LIVE_THREAD Thread;
    ULONGLONG Backlog = 0;
    ULONGLONG Count;
    ULONGLONG Wanted;
    RTL_CLOCK_READING Start;
    RTL_CLOCK_READING End;
    BOOLEAN IsTooMuch;
    ULONG Turn;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        Thread = Live->Threads[Index];
        if (!Thread->IsDone) {
            Status = ReaderRefreshStream(&Thread->Stream, Live->Horizon);
            if (!NT_SUCCESS(Status)) {
                ReaderEndLiveThread(Live, Index, Status);
                continue;
            }

            Backlog += ReaderCountBacklog(Thread);
        }
    }

    IsTooMuch = Live->BudgetInPercent < 100 && !Live->IsBefore &&
                Live->Session.ProcessState != ReaderProcessGone &&
                Live->Session.Clock.Kind == TRACE_CLOCK_TSC &&
                Backlog > Live->Allowance;
    //
    // A frame with fewer jumps of the clock than there were goes the general
    // way, where it is seen that records were left out.  A clock that never
    // jumps gets steps that it never makes, and every look at the session
    // takes that back.
    //

    if ((IsTooMuch || Live->IsSampling) && Live->Session.JumpTicks == 0) {
        Live->Session.JumpTicks = READER_MAXIMUM_TIMESTAMP;
    }

    Live->IsPassSampled = IsTooMuch;
    Live->NumberOfSamples = 0;
    Live->NumberOfParts = 0;
    Live->PartTime = 0;
    if (IsTooMuch || Live->IsSampling) {
        ReaderStopMarks(Live);
    }

    //
    // Those of which everything is read come first: what they add is taken
    // at once.  Each of the others is a part of its own.
    //

    for (Turn = 0; Turn < 2; Turn++) {

        for (Index = 0; Index < Live->NumberOfThreads; Index++) {

            Thread = Live->Threads[Index];
            if (Thread->IsDone) {
                continue;
            }

            Wanted = READER_MAXIMUM_TIMESTAMP;
            if (IsTooMuch) {
                Count = ReaderCountBacklog(Thread);
                Wanted = CoreMultiplyDivide(Count, Live->Allowance, Backlog);
                if (Wanted < READER_LIVE_LEAST_OF_THREAD) {
                    Wanted = READER_LIVE_LEAST_OF_THREAD;
                }

                if (Wanted >= Count - Count / 4) {
                    Wanted = READER_MAXIMUM_TIMESTAMP;
                }
            }

            if ((Wanted != READER_MAXIMUM_TIMESTAMP) != (Turn != 0)) {
                continue;
            }

            RtlReadClocks(Live->Session.Context->Rtl, &Start);
            Status = ReaderLiveReadThread(Live, Thread, Wanted);
            if (!NT_SUCCESS(Status)) {
                ReaderEndLiveThread(Live, Index, Status);
                Thread->NumberOfOpen = 0;
                continue;
            }

            if (Turn != 0) {
                Status = ReaderTakeThreads(Live, Thread);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }

                RtlReadClocks(Live->Session.Context->Rtl, &End);
                ReaderNotePart(
                    Live,
                    CoreMultiplyDivide(End.Qpc - Start.Qpc,
                                       CORE_NANOSECONDS_PER_SECOND,
                                       End.QpcFrequency));
            }
        }

        for (Index = 0; Turn == 0 && Index < Live->NumberOfThreads; Index++) {

            if (Live->Threads[Index]->IsDone) {
                continue;
            }

            Status = ReaderReadLiveTrees(Live, Live->Threads[Index]);
            if (!NT_SUCCESS(Status)) {
                ReaderEndLiveThread(Live, Index, Status);
            }
        }

        if (Turn == 0) {
            Status = ReaderTakeThreads(Live, NULL);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (!IsTooMuch) {
            break;
        }
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLivePass(
    _Inout_ PREADER_LIVE Live,
    _In_ BOOLEAN IsRefresh
    )
/*++

Routine Description:

    Reads what all threads have written since the last pass.

Arguments:

    Live - The state.

    IsRefresh - Whether to look for new threads and the process's end.

Return Value:

    STATUS_SUCCESS or what failed as a whole.

--*/
{
    PREADER_SESSION Session = &Live->Session;
    RTL_ERROR Error;
    NTSTATUS Status;

    //
    // The process is asked first: when it is gone, this pass sees the last
    // that it wrote.  The counter is read before the stores are looked for:
    // see ReaderRefreshStream.
    //

    RtlReadClocks(Session->Context->Rtl, &Live->Reading);
    Live->Horizon = Live->Reading.Tsc;
    if (IsRefresh) {
        if (ReaderQueryProcess(Session) == ReaderProcessGone) {
            Live->Horizon = READER_MAXIMUM_TIMESTAMP;
        }

        Status = ReaderRefreshSession(Session, &Error);
        if (!NT_SUCCESS(Status)) {
            ReaderWriteFailure(Session->Context, &Error);
            return Status;
        }

        ReaderWarnOfStores(Session);
    }

    Status = ReaderLiveAddThreads(Live);
    if (NT_SUCCESS(Status)) {
        Status = ReaderReadThreads(Live);
    }

    if (!NT_SUCCESS(Status)) {
        ReaderFail(Session->Context,
                   "follow the threads",
                   Live->Options->PathUtf8,
                   Status);
    }

    return Status;
}


static
VOID
ReaderAdjustAllowance(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONGLONG Elapsed
    )
/*++

Routine Description:

    Changes the number of records that a pass may read, by what the last one
    has cost.

    The clock goes on while another program has the processor, and the system
    counts a thread's own time in steps that are longer than a pass.  So the
    median of the threads' parts stands for all of them, and what a pass takes
    besides is taken for what the shortest ones took.

Arguments:

    Live - The state; Age is how long the pass took.

    Elapsed - Nanoseconds since the pass before.

Return Value:

    None.

--*/
{
    ULONGLONG Budget = Elapsed / 100 * Live->BudgetInPercent;
    ULONGLONG Fixed;
    ULONGLONG Spent;

    Live->Drawing = (7 * Live->Drawing + Live->Busy) / 8;
    Live->Busy = 0;
    Fixed = Live->Age > Live->PartTime ? Live->Age - Live->PartTime : 0;
    if (Live->Fixed == 0 || Fixed < Live->Fixed) {
        Live->Fixed = Fixed;
    } else {
        Live->Fixed += (Fixed - Live->Fixed) / 16;
    }

    if (Budget == 0 || Live->NumberOfSamples == 0) {
        return;
    }

    Spent = Live->Samples[Live->NumberOfSamples / 2] * Live->NumberOfParts +
            Live->Fixed + Live->Drawing;
    Spent = CoreMultiplyDivide(Spent, 1000000, Budget);
    Live->Spent = (3 * Live->Spent + Spent) / 4;
    if (Live->Spent > 1500000) {
        Live->Allowance = Live->Allowance * 2 / 3;
    } else if (Live->Spent > 1000000) {
        Live->Allowance = CoreMultiplyDivide(Live->Allowance,
                                             1000000,
                                             Live->Spent);
    } else if (Live->Spent < 800000) {
        Live->Allowance += Live->Allowance / 8;
    }

    if (Live->Allowance < READER_LIVE_LEAST_ALLOWANCE) {
        Live->Allowance = READER_LIVE_LEAST_ALLOWANCE;
    }

    if (Live->Allowance > READER_LIVE_MOST_ALLOWANCE) {
        Live->Allowance = READER_LIVE_MOST_ALLOWANCE;
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderCatchUpLive(
    PREADER_LIVE Live,
    BOOLEAN IsRefresh
    )
/*++

Routine Description:

    Reads until what has been read is fresh.

Arguments:

    Live - The state.

    IsRefresh - Whether what comes of it is shown.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = &Live->Session;
    ULONGLONG Before = Live->Reading.Qpc;
    RTL_CLOCK_READING Now;
    ULONG Passes = READER_LIVE_MAXIMUM_PASSES;
    ULONG Pass;
    NTSTATUS Status;

    if (Live->BudgetInPercent < 100 && !Live->IsBefore) {
        Passes = 1;
    }

    for (Pass = 0; Pass < Passes; Pass++) {

        Status = ReaderLivePass(Live, IsRefresh);
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

    if (Live->BudgetInPercent < 100 && !Live->IsBefore) {
        ReaderAdjustAllowance(
            Live,
            CoreMultiplyDivide(Live->Reading.Qpc - Before,
                               CORE_NANOSECONDS_PER_SECOND,
                               Live->Reading.QpcFrequency));
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ReaderBeginLive(
    PREADER_LIVE Live
    )
/*++

Routine Description:

    Reads what was recorded before the first refresh.

Arguments:

    Live - The state.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONG Index;
    NTSTATUS Status;

    Live->IsBefore = TRUE;
    ReaderLiveBeginProgress(Live);
    Status = ReaderCatchUpLive(Live, TRUE);
    ReaderEraseProgress(&Live->Progress);
    Live->IsBefore = FALSE;
    Live->Busy = 0;
    Live->SinceRecords = 0;
    Live->SinceRead = 0;

    //
    // What ran before is not counted, unless it is all that there will be.
    //

    if (Live->Session.ProcessState != ReaderProcessGone ||
        Live->IsPassedOver) {
        for (Index = 0; Index < Live->CapacityOfList; Index++) {
            Live->List[Index].AllCalls = 0;
            Live->List[Index].AllSelfTicks = 0;
            Live->List[Index].AllTotalTicks = 0;
        }
    }

    if (!NT_SUCCESS(Status)) {
        Live->ExitCode = READER_EXIT_FAILURE;
    }

    return Status;
}


_Use_decl_annotations_
ULONGLONG
ReaderCountLiveOvertaken(
    PCREADER_LIVE_THREAD Thread
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


_Use_decl_annotations_
VOID
ReaderBeginLiveInterval(
    PREADER_LIVE Live
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

    for (Index = 0; Index < Live->CapacityOfList; Index++) {
        Live->List[Index].IntervalCalls = 0;
        Live->List[Index].IntervalSelfTicks = 0;
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        PREADER_LIVE_THREAD Thread = Live->Threads[Index];

        Thread->IntervalRecords = 0;
        Thread->IntervalCalls = 0;

        //
        // Whoever looks next can begin here.
        //

        if (!Thread->IsDone) {
            ReaderNameMarks(&Thread->Stream);
        }

        if (Thread->IsDone ||
            ReaderIsLiveThreadGrowing(Live, Thread) ||
            ReaderHasWaitingRecords(&Thread->Stream)) {
            continue;
        }

        //
        // Should the thread begin another store, it is another thread's to
        // the session, because this one's records have been let go.
        //

        Live->Session.Threads[Index].IsLive = FALSE;
        if (!Thread->HasTrees) {
            Live->Session.Threads[Index].LastTimestamp =
                Thread->Stream.Pair.LastTimestamp;
        }

        Live->Overtaken += ReaderCountLiveOvertaken(Thread);
        Thread->NumberOfOpen = 0;
        ReaderCloseStream(&Thread->Stream);
        Thread->IsDone = TRUE;
    }

    Live->NewRecords = 0;
    Live->NewRead = 0;
    Live->IntervalStart = Live->Horizon;
    Live->IntervalQpc = Live->Reading.Qpc;
}


_Use_decl_annotations_
VOID
ReaderInitializeLive(
    PREADER_LIVE Live
    )
/*++

Routine Description:

    Prepares reading.

Arguments:

    Live - The state: Options, Session and the budget are set.

Return Value:

    None.

--*/
{
    ReaderInitializeFunctions(&Live->Functions, &Live->Session);
    ReaderInitializeTally(&Live->Tally, &Live->Functions, NULL);
    ReaderInitializeTally(&Live->Before, &Live->Functions, NULL);
    Live->Before.IsFromStart =
        (Live->Options->Given & READER_OPTION_FROM_START) != 0;
    Live->Allowance = READER_LIVE_FIRST_ALLOWANCE;
}


_Use_decl_annotations_
VOID
ReaderRundownLive(
    PREADER_LIVE Live
    )
/*++

Routine Description:

    Frees what reading holds, but for the session.

Arguments:

    Live - The state.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Live->Session.Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone) {
            ReaderCloseStream(&Live->Threads[Index]->Stream);
        }
        Allocator->Free(Allocator->Context, Live->Threads[Index]->Open);
        Allocator->Free(Allocator->Context, Live->Threads[Index]->Sums);
        Allocator->Free(Allocator->Context, Live->Threads[Index]->Frames);
        Allocator->Free(Allocator->Context, Live->Threads[Index]);
    }

    Allocator->Free(Allocator->Context, Live->Threads);
    Allocator->Free(Allocator->Context, Live->List);
    Live->Threads = NULL;
    Live->NumberOfThreads = 0;
    Live->List = NULL;
    ReaderRundownTally(&Live->Before);
    ReaderRundownTally(&Live->Tally);
    ReaderRundownFunctions(&Live->Functions);
}
