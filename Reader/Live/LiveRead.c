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

#include "../Session/SessionDescribe.h"
#include "LiveBacklog.h"
#include "LiveChains.h"
#include "LiveTree.h"

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
// Calls are counted in so many pieces at most of what a thread wrote, one for
// so many records that are read of it, each of so many records.
//

#define READER_LIVE_MOST_PIECES 32ULL
#define READER_LIVE_RECORDS_FOR_PIECE 1024ULL
#define READER_LIVE_PIECE 64u

//
// A thread is in a long stretch when it has written nothing for so many times
// what lies between two of its records on the average.
//

#define READER_LIVE_LONG_STRETCH 64
#define READER_LIVE_MAXIMUM_BEFORE 0x4000000ULL

_Use_decl_annotations_
BOOLEAN
LiveIsLiveThreadGrowing(
    PCREADER_LIVE Live,
    PCREADER_LIVE_THREAD Thread
    )
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

//
// Opens the threads that the session has found since the last pass.
//

_Must_inspect_result_
static
NTSTATUS
LiveAddThreads(
    _Inout_ PREADER_LIVE Live
    )
{
    PREADER_SESSION Session = &Live->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_LIVE_THREAD Thread;
    NTSTATUS Status;

    Status = CallPrepareTally(&Live->Tally);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = BaseGrowArray(Allocator,
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

        Status = CallOpenStream(&Thread->Stream,
                                Session,
                                Live->NumberOfThreads,
                                TRUE);
        if (!NT_SUCCESS(Status)) {
            Live->ExitCode = SessionFailThread(Session,
                                               Live->NumberOfThreads,
                                               Status);
            CallCloseStream(&Thread->Stream);
            Thread->IsDone = TRUE;
        }

        Live->Threads[Live->NumberOfThreads] = Thread;
        Live->NumberOfThreads += 1;
    }

    return STATUS_SUCCESS;
}

//
// Called for each buffer that is passed over.
//

static
VOID
LiveShowProgress(
    _In_ PVOID Context
    )
{
    PREADER_LIVE Live = (PREADER_LIVE)Context;

    BaseShowProgress(&Live->Progress, Live->Before.NumberOfRecords);
}

//
// Finds out how much there is to read before something can be shown.
//

static
VOID
LiveBeginProgress(
    _Inout_ PREADER_LIVE Live
    )
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

    BaseInitializeProgress(&Live->Progress,
                           Session->Context,
                           "reading what was recorded so far: ",
                           Expected);
    Live->Before.Progress = LiveShowProgress;
    Live->Before.ProgressContext = Live;

    //
    // Where a part of a long past would take long, too, the frames that it
    // left open are not known.
    //

    Live->IsBackUnread = Live->BudgetInPercent < 100 &&
                         !Live->Before.IsFromStart &&
                         Expected > READER_LIVE_MAXIMUM_BEFORE;
}

//
// Sees to it that no marks are made once records were left out.
//

static
VOID
LiveStopMarks(
    _Inout_ PREADER_LIVE Live
    )
{
    ULONG Index;

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone &&
            Live->Threads[Index]->Stream.Index != NULL) {
            Live->Threads[Index]->Stream.Index->Due = READER_MAXIMUM_TIMESTAMP;
        }
    }
}

//
// Passes over what a thread did before the first refresh: its frames are what
// is of interest.
// Thread: the thread, of which nothing has been read, and whose horizon is
// set.
//

_Must_inspect_result_
static
NTSTATUS
LivePassOver(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    )
{
    PREADER_STREAM Stream = &Thread->Stream;
    SIZE_T Depth;
    ULONG Function;
    ULONG Index;
    NTSTATUS Status;

    Status = CallSkipStream(&Live->Before, Stream, Stream->Horizon + 1);
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
            Status = CallAddFunctionToTally(&Live->Tally,
                                            Stack->Frames[Depth].Function,
                                            &Function);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Stack->Frames[Depth].Function = Function;
        }
    }

    return LiveGrowLiveList(Live);
}

//
// Reads a thread from where it is up to its horizon.
// Before: the stream's number of records when the pass began.
//

_Must_inspect_result_
static
NTSTATUS
LiveRunThread(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Before
    )
{
    PREADER_STREAM Stream = &Thread->Stream;
    CORE_EVENT Event;
    ULONG Runs = 0;
    NTSTATUS Status;

    Status = LiveGrowLiveList(Live);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    CallSetStreamTally(Stream, &Live->Tally);
    LiveActivateFrames(Live, Thread, TRUE);

    do {

        Status = CallRunStream(Stream);
        do {
            if (NT_SUCCESS(Status)) {
                Status = CallNextEvent(Stream, &Event);
            }

            if (NT_SUCCESS(Status)) {
                Status = LiveGrowLiveList(Live);
            }

            if (NT_SUCCESS(Status)) {
                Status = LiveEvent(Live, Thread, &Event);
            }
        } while (NT_SUCCESS(Status) && Stream->Pair.IsPending);

        Runs += 1;
        if (Runs % READER_LIVE_PROGRESS_RUNS == 0) {
            BaseShowProgress(&Live->Progress,
                             Live->AllRecords + Stream->NumberOfRecords -
                                   Before);
        }

    } while (NT_SUCCESS(Status));

    LiveActivateFrames(Live, Thread, FALSE);

    //
    // Bad records are said at the end of the stream, which has no tally then.
    //

    CallSetStreamTally(Stream, NULL);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}

//
// Counts the calls that begin in a piece of a store.
// Part: the store in its stream.
// Position: of the first record.
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE or what failed.
//

_Must_inspect_result_
static
NTSTATUS
LiveCountPiece(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ const READER_STREAM_STORE *Part,
    _In_ ULONGLONG Position
    )
{
    TRACE_RECORD Records[READER_LIVE_PIECE];
    CORE_RECORD_CHECK Check = Part->Iterator.Check;
    CORE_CALL Call;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    Status = SessionReadRecords(Part->Iterator.Context,
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

        Status = CallDescribeCallInTally(&Live->Tally, &Call);
        if (NT_SUCCESS(Status)) {
            Status = LiveGrowLiveList(Live);
        }

        if (NT_SUCCESS(Status)) {
            Live->List[Live->Tally.LastIndex].PieceCalls += 1;
        }
    }

    return Status;
}

//
// Counts calls in pieces of what a thread has written, each somewhere in one
// of as many equal stretches of a store's new records. What a program does
// changes from one moment to the next, and the newest records show only one.
//
// Thread: the thread, refreshed.
// Wanted: how many records are read of it, about.
//

_Must_inspect_result_
static
NTSTATUS
LiveCountPieces(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Wanted
    )
{
    ULONGLONG All = LiveCountBacklog(Thread);
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

        Start = LiveQueryPartPosition(Part);
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
            Status = LiveCountPiece(
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

//
// Reads what a thread has written up to the horizon.
// Thread: the thread, not done, refreshed.
// Wanted: how many records to read at most, about.
//

_Must_inspect_result_
static
NTSTATUS
LiveReadThread(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Wanted
    )
{
    PREADER_STREAM Stream = &Thread->Stream;
    ULONGLONG Before = Stream->NumberOfRecords;
    BOOLEAN IsFirst = Live->IsBefore && !Thread->IsBegun;
    ULONGLONG Looked;
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
            Status = LiveLeaveOut(Live, Thread, 1);
            Thread->WindowStart = 0;
        } else {
            Status = LivePassOver(Live, Thread);
            Before = Stream->NumberPassedBy;
        }
    } else if (Wanted < READER_MAXIMUM_TIMESTAMP) {
        Status = LiveCountPieces(Live, Thread, Wanted);
        if (NT_SUCCESS(Status)) {
            Status = LiveLeaveOut(Live, Thread, Wanted);
        }
    }

    Thread->IsBegun = TRUE;
    if (NT_SUCCESS(Status)) {
        Status = LiveRunThread(Live, Thread, Before);
    }

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {
        Stream->Stores[Index]->Iterator.Store->IsRead = FALSE;
    }

    Thread->PassRead = Stream->NumberOfRecords - Before;
    Thread->PassRecords += Thread->PassRead;
    Looked = Thread->PassRead;
    if (Thread->WindowStart != 0 && Thread->PieceRecords != 0) {
        Looked = Thread->PieceRecords;
    }

    Thread->IntervalLooked += Looked;
    Thread->SinceLooked += Looked;
    Thread->SinceRecords += Thread->PassRecords;
    Thread->ChainRecords += Thread->PassRecords;
    Thread->ChainRead += Thread->PassRead;
    Thread->AllRecords += Thread->PassRecords;
    Thread->IntervalRecords += Thread->PassRecords;
    Live->NewRecords += Thread->PassRecords;
    Live->NewRead += Thread->PassRead;
    Live->AllRecords += Thread->PassRecords;
    Live->SinceRecords += Thread->PassRecords;
    Live->SinceRead += Thread->PassRead;
    return Status;
}

//
// Says that a thread could not be read, and closes it.
// Status: what failed.
//

static
VOID
LiveEndLiveThread(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONG Index,
    _In_ NTSTATUS Status
    )
{
    PREADER_LIVE_THREAD Thread = Live->Threads[Index];

    Live->ExitCode = SessionFailThread(&Live->Session, Index, Status);
    CallCloseStream(&Thread->Stream);
    Thread->IsDone = TRUE;
}

//
// Takes what was read of one thread, or of all of those of which everything
// was read.
// Only: the thread, or NULL.
//

_Must_inspect_result_
static
NTSTATUS
LiveTakeThreads(
    _Inout_ PREADER_LIVE Live,
    _In_opt_ PREADER_LIVE_THREAD Only
    )
{
    PREADER_LIVE_THREAD Thread;
    const CORE_FRAME *Top;
    ULONGLONG Start;
    ULONGLONG Now;
    ULONG Index;
    NTSTATUS Status;

    Status = LiveGrowLiveList(Live);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    LiveTakeClosed(Live);
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
            !LiveIsLiveThreadGrowing(Live, Thread)) {
            Now = Thread->Stream.Pair.LastTimestamp;
        }

        Now = CallPassPauses(&Thread->Stream, Now);
        Status = LiveTakeOpen(Live, Thread, Now);
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
                Thread->LongChain = Live->Chains.IsOn ? Top->Node
                                                      : CORE_PATH_NONE;
            }

            LiveAddTaken(Live,
                         Thread->PassRecords,
                         Thread->PassRead,
                         Now > Start ? Now - Start : 0,
                         Thread);
            return STATUS_SUCCESS;
        }
    }

    if (Only == NULL || Only->WindowStart == 0) {
        LiveAddTaken(Live, 1, 1, 0, NULL);
    }

    return STATUS_SUCCESS;
}

//
// Notes how long a thread's part of a pass took, in ascending order.
// Nanoseconds: the time.
//

static
VOID
LiveNotePart(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONGLONG Nanoseconds
    )
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

//
// Reads what all threads have written, or as much of it as a pass may.
// Live: the state; the horizon is set and the session refreshed.
//

_Must_inspect_result_
static
NTSTATUS
LiveReadThreads(
    _Inout_ PREADER_LIVE Live
    )
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
            Status = CallRefreshStream(&Thread->Stream, Live->Horizon);
            if (!NT_SUCCESS(Status)) {
                LiveEndLiveThread(Live, Index, Status);
                continue;
            }

            Backlog += LiveCountBacklog(Thread);
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
        LiveStopMarks(Live);
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
                Count = LiveCountBacklog(Thread);
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
            Status = LiveReadThread(Live, Thread, Wanted);
            if (!NT_SUCCESS(Status)) {
                LiveEndLiveThread(Live, Index, Status);
                Thread->NumberOfOpen = 0;
                continue;
            }

            if (Turn != 0) {
                Status = LiveTakeThreads(Live, Thread);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }

                RtlReadClocks(Live->Session.Context->Rtl, &End);
                LiveNotePart(
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

            Status = LiveTreeReadAll(Live, Live->Threads[Index]);
            if (!NT_SUCCESS(Status)) {
                LiveEndLiveThread(Live, Index, Status);
            }
        }

        if (Turn == 0) {
            Status = LiveTakeThreads(Live, NULL);
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

//
// Reads what all threads have written since the last pass.
// IsRefresh: whether to look for new threads and the process's end.
// Returns STATUS_SUCCESS or what failed as a whole.
//

_Must_inspect_result_
static
NTSTATUS
LivePass(
    _Inout_ PREADER_LIVE Live,
    _In_ BOOLEAN IsRefresh
    )
{
    PREADER_SESSION Session = &Live->Session;
    RTL_ERROR Error;
    NTSTATUS Status;

    //
    // The process is asked first: when it is gone, this pass sees the last
    // that it wrote.  The counter is read before the stores are looked for:
    // see CallRefreshStream.
    //

    RtlReadClocks(Session->Context->Rtl, &Live->Reading);
    Live->Horizon = Live->Reading.Tsc;
    if (IsRefresh) {
        if (SessionQueryProcess(Session) == ReaderProcessGone) {
            Live->Horizon = READER_MAXIMUM_TIMESTAMP;
        }

        Status = SessionRefreshSession(Session, &Error);
        if (!NT_SUCCESS(Status)) {
            BaseWriteFailure(Session->Context, &Error);
            return Status;
        }

        SessionWarnOfStores(Session);
    }

    Status = LiveAddThreads(Live);
    if (NT_SUCCESS(Status)) {
        Status = LiveReadThreads(Live);
    }

    if (!NT_SUCCESS(Status)) {
        BaseFail(Session->Context,
                 "follow the threads",
                 Live->Options->PathUtf8,
                 Status);
    }

    return Status;
}

//
// Changes the number of records that a pass may read, by what the last one has
// cost.
//
// The clock goes on while another program has the processor, and the system
// counts a thread's own time in steps that are longer than a pass. So the
// median of the threads' parts stands for all of them, and what a pass takes
// besides is taken for what the shortest ones took.
//
// Live: the state; Age is how long the pass took.
// Elapsed: nanoseconds since the pass before.
//

static
VOID
LiveAdjustAllowance(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONGLONG Elapsed
    )
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
LiveCatchUpLive(
    PREADER_LIVE Live,
    BOOLEAN IsRefresh
    )
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

        Status = LivePass(Live, IsRefresh);
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
        LiveAdjustAllowance(
            Live,
            CoreMultiplyDivide(Live->Reading.Qpc - Before,
                               CORE_NANOSECONDS_PER_SECOND,
                               Live->Reading.QpcFrequency));
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
LiveBeginLive(
    PREADER_LIVE Live
    )
{
    ULONG Index;
    NTSTATUS Status;

    Live->IsBefore = TRUE;
    LiveBeginProgress(Live);
    Status = LiveCatchUpLive(Live, TRUE);
    BaseEraseProgress(&Live->Progress);
    Live->IsBefore = FALSE;
    Live->Busy = 0;
    Live->SinceRecords = 0;
    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        Live->Threads[Index]->SinceRecords = 0;
        Live->Threads[Index]->SinceLooked = 0;
    }

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
LiveCountLiveOvertaken(
    PCREADER_LIVE_THREAD Thread
    )
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
LiveBeginLiveInterval(
    PREADER_LIVE Live
    )
{
    ULONG Index;

    for (Index = 0; Index < Live->CapacityOfList; Index++) {
        Live->List[Index].IntervalCalls = 0;
        Live->List[Index].IntervalSelfTicks = 0;
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        PREADER_LIVE_THREAD Thread = Live->Threads[Index];

        Thread->IntervalRecords = 0;
        Thread->IntervalLooked = 0;
        Thread->IntervalCalls = 0;

        //
        // Whoever looks next can begin here.
        //

        if (!Thread->IsDone) {
            CallNameMarks(&Thread->Stream);
        }

        if (Thread->IsDone ||
            LiveIsLiveThreadGrowing(Live, Thread) ||
            CallHasWaitingRecords(&Thread->Stream)) {
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

        if (Live->Chains.IsOn && Thread->HasTrees) {
            LiveAddDoneTrees(Live, Index);
        }

        Live->Overtaken += LiveCountLiveOvertaken(Thread);
        Thread->NumberOfOpen = 0;
        CallCloseStream(&Thread->Stream);
        Thread->IsDone = TRUE;
    }

    Live->NewRecords = 0;
    Live->NewRead = 0;
    Live->IntervalStart = Live->Horizon;
    Live->IntervalQpc = Live->Reading.Qpc;
}

_Use_decl_annotations_
VOID
LiveInitializeLive(
    PREADER_LIVE Live
    )
{
    FunctionInitializeFunctions(&Live->Functions, &Live->Session);
    CallInitializeTally(&Live->Tally, &Live->Functions, NULL);
    CallInitializeTally(&Live->Before, &Live->Functions, NULL);
    Live->Tally.AreCallersApart = TRUE;
    Live->Before.IsFromStart =
        (Live->Options->Given & READER_OPTION_FROM_START) != 0;
    Live->Allowance = READER_LIVE_FIRST_ALLOWANCE;
}

_Use_decl_annotations_
VOID
LiveRundownLive(
    PREADER_LIVE Live
    )
{
    PCALLOCATOR Allocator = Live->Session.Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone) {
            CallCloseStream(&Live->Threads[Index]->Stream);
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
    LiveEndChains(Live);
    CallRundownTally(&Live->Before);
    CallRundownTally(&Live->Tally);
    FunctionRundownFunctions(&Live->Functions);
}
