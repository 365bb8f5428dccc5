/*++

Module Name:

    View.c

Abstract:

    A session that is viewed: opening it, and reading its threads once, from
    which their levels come.

--*/

#include "../Base/BaseErrors.h"
#include "../Calls/CallRead.h"
#include "../Calls/CallSkip.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionWaits.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Sums/SumTally.h"
#include "ViewPrivate.h"


_Use_decl_annotations_
BOOLEAN
ViewOpen(
    PREADER_VIEW View,
    PCREADER_CONTEXT Context,
    BOOLEAN IsLive,
    BOOLEAN IsPrivate,
    BOOLEAN IsAllRuns,
    PCWSTR Path,
    PCSZ PathUtf8
    )
{
    PREADER_SESSION Session = &View->Session;
    RTL_ERROR Error;
    NTSTATUS Status;

    RtlZeroBytes(View, sizeof(*View));
    View->Context = Context;
    View->IsLive = IsLive;
    View->Passing = READER_NONE;
    View->Options.Command = "view";
    View->Options.Path = Path;
    View->Options.PathUtf8 = PathUtf8;
    View->Options.Depth = READER_NONE;
    View->Options.Limit = ~0ULL;
    Status = SessionOpenSessionOf(Session,
                                  Context,
                                  Path,
                                  NULL,
                                  IsAllRuns,
                                  READER_NONE,
                                  &Error);
    if (!NT_SUCCESS(Status)) {
        BaseWriteFailure(Context, &Error);
        return FALSE;
    }

    View->IsOpen = TRUE;
    Session->IndexInterval = READER_INDEX_INTERVAL;
    Session->FineIndexInterval = IsPrivate ? READER_VIEW_INDEX_INTERVAL : 0;
    Session->AreRingsIndexed = IsPrivate && !IsLive;
    SessionWarnOfStores(Session);
    if (Session->NumberOfValidStores == 0) {
        (VOID)BaseFail(Context,
                       "find a store that can be read",
                       PathUtf8,
                       STATUS_FILE_INVALID);
        return FALSE;
    }

    FunctionOpenCache(Session);
    if (!FunctionBeginWaits(Session, &View->Options) ||
        !CallQueryRange(Session, &View->Options, &View->Range)) {
        return FALSE;
    }

    FunctionInitializeFunctions(&View->Functions, Session);
    CallInitializeTally(&View->Tally, &View->Functions, NULL);
    CallInitializeTally(&View->Before, &View->Functions, NULL);
    BaseInitializeMap(&View->Callers, Context->Allocator);
    View->HasFunctions = TRUE;
    View->Threads = (PREADER_VIEW_THREAD)Context->Allocator->Allocate(
        Context->Allocator->Context,
        (Session->NumberOfThreads + 1) * sizeof(READER_VIEW_THREAD));
    if (View->Threads == NULL) {
        (VOID)BaseFail(Context, "view", PathUtf8, STATUS_NO_MEMORY);
        return FALSE;
    }

    View->Ended.Calls = (PCORE_ENDED)Context->Allocator->Allocate(
        Context->Allocator->Context,
        READER_VIEW_ENDED * sizeof(CORE_ENDED));
    if (View->Ended.Calls == NULL) {
        (VOID)BaseFail(Context, "view", PathUtf8, STATUS_NO_MEMORY);
        return FALSE;
    }

    View->Ended.Capacity = READER_VIEW_ENDED;
    View->Tally.Ended = &View->Ended;
    View->NumberOfThreads = Session->NumberOfThreads;
    return TRUE;
}


_Use_decl_annotations_
VOID
ViewRundownThread(
    PCALLOCATOR Allocator,
    PREADER_VIEW_THREAD Thread
    )
{
    if (Thread->RowIndexes.Allocator != NULL) {
        ViewRundownLevels(&Thread->Levels);
        BaseRundownMap(&Thread->RowIndexes);
        Allocator->Free(Allocator->Context, Thread->Rows);
        Allocator->Free(Allocator->Context, Thread->Samples);
        Allocator->Free(Allocator->Context, Thread->Losses);
        Allocator->Free(Allocator->Context, Thread->Sums);
        Allocator->Free(Allocator->Context, Thread->OpenCalls);
    }

    RtlZeroBytes(Thread, sizeof(*Thread));
}


_Use_decl_annotations_
BOOLEAN
ViewRefresh(
    PREADER_VIEW View
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    PREADER_SESSION Session = &View->Session;
    PREADER_VIEW_THREAD Threads;
    RTL_ERROR Error;
    ULONG Index;
    NTSTATUS Status;

    Status = SessionRefreshSession(Session, &Error);
    if (!NT_SUCCESS(Status)) {
        BaseWriteFailure(View->Context, &Error);
        return FALSE;
    }

    SessionWarnOfStores(Session);
    if (Session->NumberOfThreads > View->NumberOfThreads) {

        Threads = (PREADER_VIEW_THREAD)Allocator->Allocate(
            Allocator->Context,
            (Session->NumberOfThreads + 1) * sizeof(READER_VIEW_THREAD));
        if (Threads == NULL) {
            (VOID)BaseFail(View->Context,
                           "view",
                           View->Options.PathUtf8,
                           STATUS_NO_MEMORY);
            return FALSE;
        }

        RtlCopyBytes(Threads,
                     View->Threads,
                     View->NumberOfThreads * sizeof(READER_VIEW_THREAD));
        Allocator->Free(Allocator->Context, View->Threads);
        View->Threads = Threads;
        View->NumberOfThreads = Session->NumberOfThreads;
    }

    for (Index = 0; Index < View->NumberOfThreads; Index++) {
        View->Threads[Index].IsDone = FALSE;
    }

    return TRUE;
}


_Use_decl_annotations_
VOID
ViewClose(
    PREADER_VIEW View
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    ULONG Index;

    if (View->Passing != READER_NONE) {
        CallCloseStream(&View->Stream);
    }

    for (Index = 0; Index < View->NumberOfThreads; Index++) {
        ViewRundownThread(Allocator, &View->Threads[Index]);
    }

    Allocator->Free(Allocator->Context, View->Threads);
    Allocator->Free(Allocator->Context, View->Ended.Calls);
    ViewRundownLevels(&View->Found);
    ViewRundownSums(View);
    if (View->HasFunctions) {
        CallRundownTally(&View->Tally);
        CallRundownTally(&View->Before);
        FunctionRundownFunctions(&View->Functions);
        BaseRundownMap(&View->Callers);
    }

    if (View->Apart.Session != NULL) {
        FunctionRundownFunctions(&View->Apart);
    }

    if (View->IsOpen) {
        FunctionEndWaits(&View->Session);
        FunctionCloseCache(&View->Session);
        SessionCloseSession(&View->Session);
    }

    RtlZeroBytes(View, sizeof(*View));
}


_Use_decl_annotations_
ULONGLONG
ViewCountRecords(
    const READER_VIEW *View,
    ULONG Thread
    )
{
    const READER_SESSION *Session = &View->Session;
    ULONGLONG Number = 0;
    ULONG Store = Session->Threads[Thread].FirstStore;

    while (Store != READER_NONE) {
        if (!Session->Stores[Store]->IsTree) {
            Number += (Session->Stores[Store]->EndOfRecords -
                       Session->Stores[Store]->StartOfRecords) /
                      TRACE_RECORD_SIZE;
        }
        Store = Session->Stores[Store]->NextInThread;
    }

    return Number;
}


_Use_decl_annotations_
NTSTATUS
ViewFindRow(
    PCALLOCATOR Allocator,
    PREADER_VIEW_THREAD Thread,
    ULONG Track,
    ULONG Depth,
    PULONG Row
    )
{
    ULONGLONG Key = ((ULONGLONG)Track << 32) | Depth;
    NTSTATUS Status;

    //
    // Mostly rows are those of the thread's own stack alone.
    //

    if (Depth < Thread->NumberOfRows && Thread->Rows[Depth].Depth == Depth &&
        Thread->Rows[Depth].Track == Track) {
        *Row = Depth;
        return STATUS_SUCCESS;
    }

    if (BaseFindInMap(&Thread->RowIndexes, Key, Row)) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Thread->Rows,
                           &Thread->CapacityOfRows,
                           Thread->NumberOfRows + 1,
                           sizeof(READER_VIEW_ROW));
    if (NT_SUCCESS(Status)) {
        Status = BaseAddToMap(&Thread->RowIndexes,
                              Key,
                              Thread->NumberOfRows);
    }

    if (NT_SUCCESS(Status)) {
        *Row = Thread->NumberOfRows;
        Thread->Rows[*Row].Track = Track;
        Thread->Rows[*Row].Depth = Depth;
        Thread->NumberOfRows += 1;
    }

    return Status;
}


_Use_decl_annotations_
USHORT
ViewFindCaller(
    PREADER_VIEW View,
    ULONGLONG Site
    )
{
    ULONG Caller;

    if (BaseFindInMap(&View->Callers, Site, &Caller)) {
        return (USHORT)Caller;
    }

    if (!NT_SUCCESS(FunctionFindImporter(&View->Functions, Site, &Caller)) ||
        Caller > 0xFFFF) {
        Caller = 0;
    }

    //
    // Without memory for it, it is looked for again.
    //

    (VOID)BaseAddToMap(&View->Callers, Site, Caller);
    return (USHORT)Caller;
}


_Use_decl_annotations_
NTSTATUS
ViewFindNode(
    PREADER_VIEW View,
    ULONG Node,
    PULONG Function,
    PUSHORT Caller
    )
{
    PCREADER_FUNCTION This;
    ULONGLONG Site;

    *Function = View->Tree.Nodes[Node].Function;
    *Caller = 0;
    if (View->Tree.Functions != &View->Apart || *Function == READER_NONE) {
        return STATUS_SUCCESS;
    }

    This = &View->Apart.Functions[*Function];
    Site = ((ULONGLONG)This->Module << 32) | This->Rva;
    if (This->IsStub) {
        *Caller = ViewFindCaller(View, Site);
    }

    return FunctionFindFunction(&View->Functions, Site, TRUE, Function);
}


_Use_decl_annotations_
VOID
ViewFillBox(
    PREADER_VIEW View,
    ULONGLONG Start,
    ULONGLONG Stop,
    ULONGLONG Site,
    ULONG Function,
    ULONG Flags,
    PREADER_BOX Box
    )
{
    Box->Start = Start;
    Box->Stop = Stop < Start ? Start : Stop;
    Box->Covered = Box->Stop - Start;
    Box->Function = Function;
    Box->Calls = 1;
    Box->Flags = (USHORT)Flags;
    Box->Caller = View->Functions.Functions[Function].IsStub
                      ? ViewFindCaller(View, Site)
                      : 0;
    Box->Unused = 0;
    if (View->Functions.Functions[Function].Wait != ReaderWaitNone) {
        Box->Flags |= READER_BOX_WAITS;
    }
}


_Use_decl_annotations_
BOOLEAN
ViewMakeBox(
    PREADER_VIEW View,
    const READER_TALLY *Tally,
    const CORE_EVENT *Event,
    PREADER_BOX Box
    )
{
    if (Event->Kind == CoreEventEnter || Event->Kind == CoreEventUnmatched) {
        return FALSE;
    }

    ViewFillBox(View,
                Event->EnterTimestamp,
                Event->Timestamp,
                Event->Frame->Site,
                Tally != NULL ? Tally->List[Event->Frame->Function].Function
                              : Event->Frame->Function,
                Event->Kind == CoreEventAbandoned ? READER_BOX_ABANDONED
                : Event->Kind == CoreEventOpen    ? READER_BOX_OPEN
                                                  : 0,
                Box);
    return TRUE;
}


//
// Adds the ordinary calls that have ended.
//

_Must_inspect_result_
static
NTSTATUS
ViewTakeEnded(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_VIEW_THREAD Thread
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    PCCORE_ENDED Call = View->Ended.Calls;
    PCCORE_ENDED End = Call + View->Ended.NumberOfCalls;
    ULONG Track = View->Stream.Pair.Current;
    READER_BOX Box;
    ULONG Row;
    NTSTATUS Status = STATUS_SUCCESS;

    for (; Call != End && NT_SUCCESS(Status); Call++) {

        Status = ViewFindRow(Allocator, Thread, Track, Call->Depth, &Row);
        if (NT_SUCCESS(Status)) {
            ViewFillBox(View,
                        Call->EnterTimestamp,
                        Call->ExitTimestamp,
                        Call->Site,
                        View->Tally.List[Call->Function].Function,
                        0,
                        &Box);
            Status = ViewAddBox(&Thread->Levels, Row, &Box);
        }
    }

    View->Ended.NumberOfCalls = 0;
    return Status;
}


//
// Gives the frames that are open where the range begins the functions of the
// tally.
//

_Must_inspect_result_
static
NTSTATUS
ViewBeginFrames(
    _Inout_ PREADER_VIEW View
    )
{
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    ULONG Track;
    NTSTATUS Status;

    for (Track = 0; Track < View->Stream.Pair.NumberOfStacks; Track++) {

        Stack = &View->Stream.Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Frame = &Stack->Frames[Depth];
            Status = SumTallyOpenFrame(&View->Tally,
                                       &View->Stream,
                                       Track,
                                       (ULONG)Depth,
                                       Frame);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Frame->Node = 0;
        }
    }

    return STATUS_SUCCESS;
}


//
// Goes on where the thread was read up to, with the frames that were open
// there.  Records of the very time of the last one are taken to be read.
//

_Must_inspect_result_
static
NTSTATUS
ViewContinuePass(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Number
    )
{
    PREADER_VIEW_THREAD Thread = &View->Threads[Number];
    NTSTATUS Status;

    Thread->NumberOfOpenCalls = 0;
    View->Passing = Number;
    View->Tally.Thread = Number;
    View->Before.Thread = Number;
    Status = CallPrepareTally(&View->Tally);
    if (!NT_SUCCESS(Status)) {
        RtlZeroBytes(&View->Stream, sizeof(View->Stream));
        View->Stream.Session = &View->Session;
        return Status;
    }

    Status = CallOpenStream(&View->Stream,
                            &View->Session,
                            Number,
                            View->IsLive);
    if (NT_SUCCESS(Status) && Thread->Known != 0) {
        Status = CallSkipStream(&View->Before,
                                &View->Stream,
                                Thread->Known + 1);
        if (NT_SUCCESS(Status)) {
            Status = ViewBeginFrames(View);
        }
    }

    CallSetStreamTally(&View->Stream, &View->Tally);
    return Status;
}


//
// Notes the calls that are open where the reading has come to.
//

_Must_inspect_result_
static
NTSTATUS
ViewNoteOpenCalls(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_VIEW_THREAD Thread
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    PREADER_BOX Box;
    SIZE_T Depth;
    ULONG Row;
    ULONG Track;
    NTSTATUS Status;

    Thread->NumberOfOpenCalls = 0;
    for (Track = 0; Track < View->Stream.Pair.NumberOfStacks; Track++) {

        Stack = &View->Stream.Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Frame = &Stack->Frames[Depth];
            Status = ViewFindRow(Allocator,
                                 Thread,
                                 Track,
                                 (ULONG)Depth,
                                 &Row);
            if (NT_SUCCESS(Status)) {
                Status = BaseGrowArray(Allocator,
                                       (PVOID *)&Thread->OpenCalls,
                                       &Thread->CapacityOfOpenCalls,
                                       Thread->NumberOfOpenCalls + 1,
                                       sizeof(READER_BOX));
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Box = &Thread->OpenCalls[Thread->NumberOfOpenCalls];
            ViewFillBox(View,
                        CallFindEntry(&View->Stream, Frame),
                        Thread->Known,
                        Frame->Site,
                        View->Tally.List[Frame->Function].Function,
                        READER_BOX_OPEN,
                        Box);
            Box->Unused = Row;
            Thread->NumberOfOpenCalls += 1;
        }
    }

    return STATUS_SUCCESS;
}


//
// Begins to read a thread.
//

_Must_inspect_result_
static
NTSTATUS
ViewBeginPass(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Number
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    PREADER_VIEW_THREAD Thread = &View->Threads[Number];
    const READER_THREAD *Owner = &View->Session.Threads[Number];
    ULONGLONG Records = ViewCountRecords(View, Number);
    ULONGLONG Length = Owner->LastTimestamp - Owner->FirstTimestamp;
    ULONGLONG Resolution = Records / 8192;
    ULONGLONG Boxes = 0;
    ULONG Index;
    NTSTATUS Status;

    if (Thread->IsBegun) {
        return ViewContinuePass(View, Number);
    }

    for (Index = 0; Index < View->NumberOfThreads; Index++) {
        Boxes += ViewCountRecords(View, Index);
    }

    Boxes = CoreMultiplyDivide(READER_VIEW_MAXIMUM_BOXES, Records, Boxes + 1);

    if (Thread->RowIndexes.Allocator == NULL) {
        BaseInitializeMap(&Thread->RowIndexes, Allocator);
    }

    if (Resolution < READER_VIEW_LEAST_RECORDS) {
        Resolution = READER_VIEW_LEAST_RECORDS;
    }

    if (Resolution > READER_VIEW_MOST_RECORDS) {
        Resolution = Records > READER_VIEW_HUGE ? READER_VIEW_HUGE_RECORDS
                                                : READER_VIEW_MOST_RECORDS;
    }

    Resolution = CoreMultiplyDivide(Length, Resolution, Records + 1);
    ViewInitializeLevels(&Thread->Levels,
                         Allocator,
                         Resolution == 0 ? 1 : Resolution,
                         Length,
                         Boxes < READER_VIEW_LEAST_BOXES
                             ? READER_VIEW_LEAST_BOXES
                             : Boxes);
    Thread->IsBegun = TRUE;
    View->Passing = Number;
    View->Tally.Thread = Number;
    View->Before.Thread = Number;
    Status = CallPrepareTally(&View->Tally);
    if (NT_SUCCESS(Status)) {
        Status = CallOpenStream(&View->Stream,
                                &View->Session,
                                Number,
                                View->IsLive);
    } else {
        RtlZeroBytes(&View->Stream, sizeof(View->Stream));
        View->Stream.Session = &View->Session;
    }

    if (NT_SUCCESS(Status) && View->Range.IsGiven) {
        Status = CallSkipStream(&View->Before,
                                &View->Stream,
                                View->Range.Start);
        if (NT_SUCCESS(Status)) {
            CallClipStream(&View->Stream, View->Range.Start, View->Range.End);
            Status = ViewBeginFrames(View);
        }
    }

    CallSetStreamTally(&View->Stream, &View->Tally);
    return Status;
}


//
// Notes that the thread's stores have more records that could not be read than
// before.
// Before: the time of the last record that had been read, or 0.
//

_Must_inspect_result_
static
NTSTATUS
ViewNoteLosses(
    _In_ PCALLOCATOR Allocator,
    _In_ const READER_STREAM *Stream,
    _In_ ULONGLONG Before,
    _Inout_ PREADER_VIEW_THREAD Thread
    )
{
    const READER_ITERATOR *Iterator;
    PREADER_VIEW_LOSS Loss;
    ULONGLONG Number = 0;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {
        Iterator = &Stream->Stores[Index]->Iterator;
        Number += Iterator->NumberOfBadRecords + Iterator->NumberOvertaken;
    }

    if (Number <= Thread->NumberLost) {
        return STATUS_SUCCESS;
    }

    if (Thread->NumberOfLosses == READER_VIEW_MAXIMUM_LOSSES) {
        Loss = &Thread->Losses[Thread->NumberOfLosses - 1];
    } else {

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Thread->Losses,
                               &Thread->CapacityOfLosses,
                               Thread->NumberOfLosses + 1,
                               sizeof(READER_VIEW_LOSS));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Loss = &Thread->Losses[Thread->NumberOfLosses];
        Loss->Start = Before != 0 ? Before : Stream->LastTimestamp;
        Loss->Number = 0;
        Thread->NumberOfLosses += 1;
    }

    Loss->Stop = Stream->LastTimestamp;
    Loss->Number += Number - Thread->NumberLost;
    Thread->NumberLost = Number;
    return STATUS_SUCCESS;
}


//
// Takes what the pass over a thread has added up, if it was read to its end,
// and leaves nothing for the next.
//

_Must_inspect_result_
static
NTSTATUS
ViewTakeSums(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_VIEW_THREAD Thread,
    _In_ BOOLEAN IsWhole
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    PREADER_TALLY Tally = &View->Tally;
    READER_VIEW_SUM Sum;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {

        RtlZeroBytes(&Sum, sizeof(Sum));
        Sum.Function = Tally->List[Index].Function;
        SumMergeStatistics(&Sum.Statistics, Tally, Index);
        RtlZeroBytes(&Tally->Totals.Totals[Index], sizeof(CORE_TOTALS));
        Tally->Totals.Active[Index] = 0;
        Tally->Totals.Totals[Index].MinimumTicks = ~0ULL;
        RtlZeroBytes(&Tally->List[Index].Statistics,
                     sizeof(READER_STATISTICS));
        if (Tally->Waited != NULL) {
            Tally->Waited[Index] = 0;
        }

        if (!IsWhole || !NT_SUCCESS(Status) ||
            (Sum.Statistics.Calls == 0 && Sum.Statistics.BegunBefore == 0)) {
            continue;
        }

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Thread->Sums,
                               &Thread->CapacityOfSums,
                               Thread->NumberOfSums + 1,
                               sizeof(READER_VIEW_SUM));
        if (NT_SUCCESS(Status)) {
            Thread->Sums[Thread->NumberOfSums] = Sum;
            Thread->NumberOfSums += 1;
        }
    }

    Thread->HasSums = IsWhole && NT_SUCCESS(Status);
    return Status;
}


_Use_decl_annotations_
NTSTATUS
ViewPass(
    PREADER_VIEW View,
    ULONG Number,
    ULONG NumberOfRecords
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    PREADER_VIEW_THREAD Thread = &View->Threads[Number];
    PREADER_STREAM Stream = &View->Stream;
    CORE_EVENT Event;
    READER_BOX Box;
    ULONGLONG Before;
    ULONGLONG End;
    ULONG Row;
    NTSTATUS Noted;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Thread->IsDone) {
        return STATUS_END_OF_FILE;
    }

    if (View->Passing != Number) {
        Status = ViewBeginPass(View, Number);
    }

    End = Stream->NumberOfRecords + NumberOfRecords;
    while (NT_SUCCESS(Status) && Stream->NumberOfRecords < End) {

        Before = Stream->LastTimestamp;
        if (!Stream->Pair.IsPending) {
            Status = CallRunStream(Stream);
            if (NT_SUCCESS(Status)) {
                Status = ViewTakeEnded(View, Thread);
            }
        }

        if (NT_SUCCESS(Status)) {
            Status = ViewNoteLosses(Allocator, Stream, Before, Thread);
        }

        if (NT_SUCCESS(Status)) {
            Before = Stream->LastTimestamp;
            Status = CallNextEvent(Stream, &Event);
            Noted = ViewNoteLosses(Allocator, Stream, Before, Thread);
            if (NT_SUCCESS(Status)) {
                Status = Noted;
            }
        }

        if (!NT_SUCCESS(Status)) {
            break;
        }

        Status = CallTallyEvent(&View->Tally, &Event);
        if (Event.Kind == CoreEventEnter) {

            Event.Frame->Node = 0;

        } else if (NT_SUCCESS(Status) &&
                   ViewMakeBox(View, &View->Tally, &Event, &Box)) {

            Status = ViewFindRow(Allocator,
                                 Thread,
                                 Event.Track,
                                 Event.Depth,
                                 &Row);
            if (NT_SUCCESS(Status)) {
                Status = ViewAddBox(&Thread->Levels, Row, &Box);
            }
        }

        while (NT_SUCCESS(Status) &&
               Stream->NumberOfRecords / READER_VIEW_SAMPLE >=
                   Thread->NumberOfSamples) {
            Status = BaseGrowArray(Allocator,
                                   (PVOID *)&Thread->Samples,
                                   &Thread->CapacityOfSamples,
                                   Thread->NumberOfSamples + 1,
                                   sizeof(ULONGLONG));
            if (NT_SUCCESS(Status)) {
                Thread->Samples[Thread->NumberOfSamples] =
                    Stream->LastTimestamp;
                Thread->NumberOfSamples += 1;
            }
        }
    }

    Thread->NumberOfRecords = Stream->NumberOfRecords;
    if (Stream->LastTimestamp > Thread->Known) {
        Thread->Known = Stream->LastTimestamp;
    }

    if (NT_SUCCESS(Status)) {
        return STATUS_SUCCESS;
    }

    if (View->IsLive && Status == STATUS_END_OF_FILE) {
        Status = ViewNoteOpenCalls(View, Thread);
        if (NT_SUCCESS(Status)) {
            Status = STATUS_END_OF_FILE;
        }
        if (View->Session.Threads[Number].LastTimestamp < Thread->Known) {
            View->Session.Threads[Number].LastTimestamp = Thread->Known;
        }
    }

    CallSetStreamTally(Stream, NULL);
    CallCloseStream(Stream);
    View->Passing = READER_NONE;
    Thread->IsDone = TRUE;
    if (Status != STATUS_END_OF_FILE) {
        Thread->Status = Status;
        (VOID)SessionFailThread(&View->Session, Number, Status);
    }

    //
    // Of what could not be read, and of trees, whoever adds up has something to
    // say.
    //

    Noted = ViewTakeSums(View,
                         Thread,
                         !View->IsLive && NT_SUCCESS(Thread->Status) &&
                             Thread->NumberOfLosses == 0 &&
                             View->Session.NumberOfTrees == 0);
    if (NT_SUCCESS(Noted) && !View->IsLive) {
        Noted = ViewFlushLevels(&Thread->Levels);
    }

    if (!NT_SUCCESS(Noted)) {
        Thread->Status = Noted;
    }

    return STATUS_END_OF_FILE;
}
