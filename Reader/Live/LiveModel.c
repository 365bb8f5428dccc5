/*++

Module Name:

    LiveModel.c

Abstract:

    A refresh as numbers and names.  The views, the lines and the page are made
    of that, so that all of them show the same, and a screen that stands still
    needs no session.

--*/

#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionTreeStore.h"
#include "../Functions/FunctionFilter.h"
#include "../Sums/SumTally.h"
#include "LiveNodes.h"
#include "LiveRead.h"


//
// Makes a rate.
// Number: of what happened.
// Nanoseconds: how long it took; 0: not known.
// Returns the number for one second; 0 if it is not known.
//

static
ULONGLONG
LivePerSecond(
    _In_ ULONGLONG Number,
    _In_ ULONGLONG Nanoseconds
    )
{
    if (Nanoseconds == 0) {
        return 0;
    }

    return CoreMultiplyDivide(Number, CORE_NANOSECONDS_PER_SECOND, Nanoseconds);
}


//
// Says how long there were records.
// Returns nanoseconds; 0 if that is not known.
//

static
ULONGLONG
LiveQuerySpan(
    _In_ const READER_SESSION *Session
    )
{
    ULONGLONG First = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Last = 0;
    ULONGLONG Span;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].FirstTimestamp < First) {
            First = Session->Threads[Index].FirstTimestamp;
        }

        if (Session->Threads[Index].LastTimestamp > Last) {
            Last = Session->Threads[Index].LastTimestamp;
        }
    }

    if (Last <= First || Session->Clock.Kind == TRACE_CLOCK_NONE ||
        !CoreTicksToNanoseconds(&Session->Clock, Last - First, &Span)) {
        return 0;
    }

    return Span;
}


//
// Fills in what does not depend on what was read.
//

static
VOID
LiveBeginModel(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    const READER_SESSION *Session = &Live->Session;

    Model->Allocator = Session->Context->Allocator;
    Model->Path = Live->Options->PathUtf8;
    Model->Clock = &Session->Clock;
    Model->ProcessId = Session->Header->ProcessId;
    Model->NumberOfProcesses = Session->NumberOfProcesses;
    Model->SystemTime = Live->Reading.SystemTime;
    Model->ClockName = NULL;
    if (Session->Clock.Kind != TRACE_CLOCK_TSC) {
        Model->ClockName = OutputDescribeClock(&Session->Clock);
    }

    Model->NumberOfRunning = 0;
    Model->NumberOfFunctions = 0;
    Model->NumberOfThreads = 0;
    Model->NumberOfFrames = 0;
    Model->NumberOfNodes = 0;
    Model->CallsPerSecond = 0;
    Model->IsEnded = FALSE;
    Model->IsWhole = FALSE;
    Model->EndLength = 0;
}


//
// Decides what is counted: records, or calls where there are none.
// Model: the model, with its functions.
//

static
VOID
LiveModelUnit(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    ULONG Index;

    Model->ThreadsOfTrees = SessionCountThreadsOfTrees(&Live->Session);
    Model->IsOfTrees = Live->Session.NumberOfTrees != 0 &&
                       !SessionHasRecords(&Live->Session, READER_NONE);
    if (!Model->IsOfTrees) {
        return;
    }

    Model->NewRecords = 0;
    Model->AllRecords = 0;
    for (Index = 0; Index < Model->NumberOfFunctions; Index++) {
        Model->NewRecords += Model->Functions[Index].Calls;
        Model->AllRecords += Model->Functions[Index].AllCalls;
    }
}


//
// Orders functions by name, then by module.
// CompareContext: the rows.
// First, Second: their indexes.
// Returns negative, zero or positive.
//

static
LONG
LiveCompareFunctionNames(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_LIVE_FUNCTION_ROW Rows =
        (PCREADER_LIVE_FUNCTION_ROW)CompareContext;
    LONG Order;

    Order = BaseCompareText(Rows[First].Name,
                            Rows[First].NameLength,
                            Rows[Second].Name,
                            Rows[Second].NameLength);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


//
// Says where a function is: its module, and the module's process where another
// one of that name is in another process.
//

static
VOID
LivePlaceFunction(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_FUNCTION Function,
    _In_ BOOLEAN HasProcess,
    _Inout_ PREADER_LIVE_FUNCTION_ROW Row
    )
{
    const READER_MODULE *Module = Session->Modules[Function->Module];
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer, Row->Place, sizeof(Row->Place));
    RtlWriteBytes(&Writer, Function->ModuleName, Function->ModuleNameLength);
    if (HasProcess && Module->Header != NULL) {
        RtlWriteText(&Writer, ", process %u", Module->Header->ProcessId);
    }

    Row->PlaceLength = Writer.LengthInBytes;
}


//
// Says where functions are whose names meet twice in different modules.  Names
// stay, so that it is done again only when there are new functions.
// Model: the model, with all functions; tally index is row index.
//

_Must_inspect_result_
static
NTSTATUS
LivePlaceFunctions(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model,
    _In_ const READER_TALLY *Tally
    )
{
    PREADER_LIVE_FUNCTION_ROW Rows = Model->Functions;
    PCREADER_FUNCTION Functions = Live->Functions.Functions;
    ULONG Count = Model->NumberOfFunctions;
    const READER_MODULE *Module;
    const READER_MODULE *Other;
    PCREADER_FUNCTION Function;
    PCREADER_FUNCTION Namesake;
    ULONG First;
    ULONG Next;
    ULONG Index;
    BOOLEAN IsTwice;
    BOOLEAN HasProcess;
    NTSTATUS Status;

    if (Model->NumberOfPlaced == Count) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->ByName,
                           &Model->CapacityOfByName,
                           Count,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Count; Index++) {
        Model->ByName[Index] = Index;
        Rows[Index].PlaceLength = 0;
    }

    BaseSort(Model->ByName, Count, LiveCompareFunctionNames, Rows);
    for (First = 0; First < Count; First = Next) {

        Function = &Functions[Tally->List[Model->ByName[First]].Function];
        Module = Live->Session.Modules[Function->Module];
        IsTwice = FALSE;
        HasProcess = FALSE;
        for (Next = First + 1; Next < Count; Next++) {

            PCREADER_LIVE_FUNCTION_ROW Row = &Rows[Model->ByName[Next]];

            if (BaseCompareText(Row->Name,
                                Row->NameLength,
                                Rows[Model->ByName[First]].Name,
                                Rows[Model->ByName[First]].NameLength) != 0) {
                break;
            }

            Namesake = &Functions[Tally->List[Model->ByName[Next]].Function];
            Other = Live->Session.Modules[Namesake->Module];
            if (Other != Module) {
                IsTwice = TRUE;
                HasProcess |= Module->Header != NULL &&
                              Other->Header != NULL &&
                              Module->Header->ProcessId !=
                                  Other->Header->ProcessId &&
                              BaseCompareText(Function->ModuleName,
                                              Function->ModuleNameLength,
                                              Namesake->ModuleName,
                                              Namesake->ModuleNameLength) == 0;
            }
        }

        for (Index = First; IsTwice && Index < Next; Index++) {
            LivePlaceFunction(&Live->Session,
                              &Functions[Tally->List[Model->ByName[Index]]
                                             .Function],
                              HasProcess,
                              &Rows[Model->ByName[Index]]);
        }
    }

    Model->NumberOfPlaced = Count;
    return STATUS_SUCCESS;
}


//
// Fills in the functions.
// Model: the model; its interval is set.
//

_Must_inspect_result_
static
NTSTATUS
LiveModelFunctions(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    PREADER_LIVE_FUNCTION_ROW Row;
    READER_STATISTICS Statistics;
    ULONGLONG SelfTicks = 0;
    ULONGLONG Calls = 0;
    ULONG Count = Live->Tally.NumberOfFunctions;
    ULONG Index;
    NTSTATUS Status;

    //
    // Where memory ran out, the last functions have no place in the list.
    //

    if (Count > Live->CapacityOfList) {
        Count = Live->CapacityOfList;
    }

    FunctionFilterFunctions(&Live->Functions, Live->Options->Filter);
    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->Functions,
                           &Model->CapacityOfFunctions,
                           Count,
                           sizeof(READER_LIVE_FUNCTION_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Count; Index++) {

        PCREADER_LIVE_FUNCTION From = &Live->List[Index];
        PCREADER_FUNCTION Function =
            &Live->Functions.Functions[Live->Tally.List[Index].Function];

        Row = &Model->Functions[Index];
        Row->Function = Live->Tally.List[Index].Function;
        Row->Name = Function->Name;
        Row->NameLength = Function->NameLength;
        Row->IsShown = Function->IsShown;
        Row->IsRunning = From->IntervalCalls != 0 ||
                         From->IntervalSelfTicks != 0;
        Row->Calls = From->IntervalCalls;
        Row->SelfTicks = From->IntervalSelfTicks;
        Row->CallsPerSecond = LivePerSecond(Row->Calls,
                                            Model->IntervalInNanoseconds);
        Row->SelfPerSecond = LivePerSecond(Row->SelfTicks,
                                           Model->IntervalInNanoseconds);
        Row->AllCalls = From->AllCalls;
        Row->AllTotalTicks = From->AllTotalTicks;
        Row->AllSelfTicks = From->AllSelfTicks;

        RtlZeroBytes(&Statistics, sizeof(Statistics));
        SumMergeStatistics(&Statistics, &Live->Tally, Index);
        Statistics.Calls += From->TreeCalls;
        Statistics.SumLow += From->TreeTicks;
        if (Statistics.SumLow < From->TreeTicks) {
            Statistics.SumHigh += 1;
        }

        Row->HasAverage = From->AllCalls != 0 &&
                          Statistics.Calls != Statistics.Abandoned;
        Row->AverageTicks = 0;
        if (Row->HasAverage) {
            Row->AverageTicks = CoreQueryAverage(&Statistics);
        }

        SelfTicks += Row->SelfTicks;
        Calls += Row->Calls;
    }

    for (Index = 0; Index < Count; Index++) {
        Row = &Model->Functions[Index];
        Row->SelfPerMille = 0;
        if (SelfTicks != 0) {
            Row->SelfPerMille = CoreMultiplyDivide(Row->SelfTicks,
                                                   1000,
                                                   SelfTicks);
        }
    }

    Model->NumberOfFunctions = Count;
    Model->CallsPerSecond = LivePerSecond(Calls,
                                          Model->IntervalInNanoseconds);
    return LivePlaceFunctions(Live, Model, &Live->Tally);
}


//
// Adds a thread's open frames.
// Thread: the thread, not done.
//

_Must_inspect_result_
static
NTSTATUS
LiveModelFrames(
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_THREAD Thread,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    const CORE_PAIR *Pair = &Thread->Stream.Pair;
    PREADER_LIVE_FRAME_ROW Row;
    ULONGLONG Now = Live->Horizon;
    SIZE_T Count = Model->NumberOfFrames;
    SIZE_T Depth;
    ULONG Place;
    NTSTATUS Status;

    if (!LiveIsLiveThreadGrowing(Live, Thread)) {
        Now = Pair->LastTimestamp;
    }

    if (Now > Thread->Stream.NextStop) {
        Now = Thread->Stream.NextStop;
    }

    for (Place = 0; Place < Pair->NumberOfStacks; Place++) {
        Count += Pair->Stacks[Place].NumberOfFrames;
    }

    if (Count > 0x7FFFFFFF) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->Frames,
                           &Model->CapacityOfFrames,
                           (ULONG)Count,
                           sizeof(READER_LIVE_FRAME_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Place = 0; Place < Pair->NumberOfStacks; Place++) {

        const CORE_STACK *Stack = &Pair->Stacks[Place];

        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            const CORE_FRAME *Frame = &Stack->Frames[Depth];
            PCREADER_FUNCTION Function =
                &Live->Functions.Functions[
                    Live->Tally.List[Frame->Function].Function];

            Row = &Model->Frames[Model->NumberOfFrames];
            Row->Function = Live->Tally.List[Frame->Function].Function;
            Row->Name = Function->Name;
            Row->NameLength = Function->NameLength;
            Row->IsShown = Function->IsShown;
            Row->Track = Place;
            Row->IsAssumed = Frame->NumberOfJumps < Thread->GapJumps;
            Row->AgeInTicks = Now > Frame->EnterTimestamp
                                  ? Now - Frame->EnterTimestamp
                                  : 0;
            Model->NumberOfFrames += 1;
        }
    }

    return STATUS_SUCCESS;
}


//
// Names a thread by its process, and by its own name if it has one.
// Row: its row, with its own name.
//

static
VOID
LiveLabelThread(
    _In_ const READER_SESSION *Session,
    _In_ const READER_THREAD *Thread,
    _Inout_ PREADER_LIVE_THREAD_ROW Row
    )
{
    PCREADER_PROCESS Process = &Session->Processes[Thread->Process];
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer, Row->Label, sizeof(Row->Label));
    RtlWriteText(&Writer, "%u ", Process->Header->ProcessId);
    RtlWriteBytes(&Writer, Process->Name, Process->NameLength);
    if (Row->NameLength != 0) {
        RtlWriteText(&Writer, " ");
        RtlWriteBytes(&Writer, Row->Name, Row->NameLength);
    }

    Row->Name = Row->Label;
    Row->NameLength = Writer.LengthInBytes;
}


//
// Adds the open calls of a thread's trees.
// Thread: the thread, not done.
//

_Must_inspect_result_
static
NTSTATUS
LiveModelTreeFrames(
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_THREAD Thread,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    ULONGLONG Now = Live->Reading.Tsc;
    PREADER_LIVE_FRAME_ROW Row;
    ULONG Index;
    NTSTATUS Status;

    if (Thread->NumberOfFrames > 0x7FFFFFFF - Model->NumberOfFrames) {
        return STATUS_NO_MEMORY;
    }

    if (!LiveIsLiveThreadGrowing(Live, Thread)) {
        Now = Live->Session.Threads[Thread->Stream.Thread].LastTimestamp;
    }

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->Frames,
                           &Model->CapacityOfFrames,
                           Model->NumberOfFrames + Thread->NumberOfFrames,
                           sizeof(READER_LIVE_FRAME_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Thread->NumberOfFrames; Index++) {

        PCREADER_TREE_FRAME Frame = &Thread->Frames[Index];
        PCREADER_FUNCTION Function =
            &Live->Functions.Functions[Frame->Function];

        Row = &Model->Frames[Model->NumberOfFrames];
        RtlZeroBytes(Row, sizeof(*Row));
        Row->Function = Frame->Function;
        Row->Name = Function->Name;
        Row->NameLength = Function->NameLength;
        Row->IsShown = Function->IsShown;
        Row->Track = Frame->Stack;
        Row->AgeInTicks = Now > Frame->Start ? Now - Frame->Start : 0;
        Model->NumberOfFrames += 1;
    }

    return STATUS_SUCCESS;
}


//
// Finds the row of a thread, or adds it: a thread that was attached to again
// has one.
// Before: what the row had, of the times before; else zero.
//

static
PREADER_LIVE_THREAD_ROW
LiveFindThreadRow(
    _Inout_ PREADER_LIVE_MODEL Model,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread,
    _Out_ PREADER_LIVE_THREAD_ROW Before
    )
{
    PREADER_LIVE_THREAD_ROW Row;
    ULONG Same = Session->Threads[Thread].Same;
    ULONG Index;

    for (Index = 0; Same != Thread && Index < Model->NumberOfThreads; Index++) {

        Row = &Model->Threads[Index];
        if (Row->Same == Same) {
            *Before = *Row;
            return Row;
        }
    }

    RtlZeroBytes(Before, sizeof(*Before));
    Row = &Model->Threads[Model->NumberOfThreads];
    Model->NumberOfThreads += 1;
    return Row;
}


//
// Fills in the threads and their frames.
// Model: the model; its interval is set.
//

_Must_inspect_result_
static
NTSTATUS
LiveModelThreads(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    const READER_SESSION *Session = &Live->Session;
    PREADER_LIVE_THREAD_ROW Row;
    READER_LIVE_THREAD_ROW Before;
    ULONG StoreIndex;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->Threads,
                           &Model->CapacityOfThreads,
                           Session->NumberOfThreads,
                           sizeof(READER_LIVE_THREAD_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        Row = LiveFindThreadRow(Model, Session, Index, &Before);
        RtlZeroBytes(Row, sizeof(*Row));
        Row->Same = Session->Threads[Index].Same;
        Row->ThreadId = Session->Threads[Index].ThreadId;
        SessionQueryThreadName(Session, Index, &Row->Name, &Row->NameLength);
        if (Session->NumberOfProcesses > 1) {
            LiveLabelThread(Session, &Session->Threads[Index], Row);
        }

        Row->State = "ended";
        Row->FirstFrame = Model->NumberOfFrames;

        for (StoreIndex = Session->Threads[Index].FirstStore;
             StoreIndex != READER_NONE;
             StoreIndex = Session->Stores[StoreIndex]->NextInThread) {

            PCREADER_STORE Store = Session->Stores[StoreIndex];

            if (Store->IsTree) {
                Row->SizeInBytes += Store->NumberOfNodes * TRACE_NODE_SIZE;
            } else if (Store->EndOfRecords > Store->StartOfRecords) {
                Row->SizeInBytes += Store->EndOfRecords -
                                    Store->StartOfRecords;
            }
        }

        if (SessionHasRecords(Session, Index)) {
            Row->Records = Row->SizeInBytes / TRACE_RECORD_SIZE;
        }

        if (Index < Live->NumberOfThreads && !Model->IsEnded) {

            PCREADER_LIVE_THREAD Thread = Live->Threads[Index];
            const CORE_FRAME *Top;

            Row->Records = Thread->AllRecords;
            Row->CallsPerSecond =
                LivePerSecond(Thread->IntervalRecords / 2 +
                                    Thread->IntervalCalls,
                              Model->IntervalInNanoseconds);
            if (!Thread->IsDone) {

                if (LiveIsLiveThreadGrowing(Live, Thread)) {
                    Row->State = "running";
                    Row->IsRunning = TRUE;
                }

                Status = LiveModelFrames(Live, Thread, Model);
                if (NT_SUCCESS(Status)) {
                    Status = LiveModelTreeFrames(Live, Thread, Model);
                }

                if (!NT_SUCCESS(Status)) {
                    return Status;
                }

                if (Thread->HasTrees && Thread->Innermost != READER_NONE) {
                    PCREADER_FUNCTION Function =
                        &Live->Functions.Functions[Thread->Innermost];

                    Row->Innermost = Function->Name;
                    Row->InnermostLength = Function->NameLength;
                }

                Top = CoreCurrentFrame(&Thread->Stream.Pair);
                if (Top != NULL) {
                    PCREADER_FUNCTION Function =
                        &Live->Functions.Functions[
                            Live->Tally.List[Top->Function].Function];

                    Row->Innermost = Function->Name;
                    Row->InnermostLength = Function->NameLength;
                }
            }
        }

        Row->Depth = Model->NumberOfFrames - Row->FirstFrame;
        Row->Records += Before.Records;
        Row->SizeInBytes += Before.SizeInBytes;
        Row->CallsPerSecond += Before.CallsPerSecond;
        Model->NumberOfRunning += Row->IsRunning;
        Model->NumberOfRunning -= Before.IsRunning;
    }

    return STATUS_SUCCESS;
}


//
// Says what the calls of a function stay below of which none was seen.  Of one
// whose calls are spread evenly, N of a thread's R records, none is among n of
// them with a probability of exp(-N * n / R): one in twenty at 3 * R / n.
//

static
VOID
LiveModelLimits(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    PCREADER_LIVE_THREAD Thread;
    ULONGLONG Limit = 0;
    ULONGLONG AllLimit = 0;
    ULONGLONG Number;
    ULONG Index;

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        Thread = Live->Threads[Index];
        if (Thread->IntervalLooked < Thread->IntervalRecords) {
            Number = Thread->IntervalRecords;
            if (Thread->IntervalLooked > 3) {
                Number = CoreMultiplyDivide(Number,
                                            3,
                                            Thread->IntervalLooked);
            }
            Limit = Number > Limit ? Number : Limit;
        }

        if (Thread->SinceLooked < Thread->SinceRecords) {
            Number = Thread->SinceRecords;
            if (Thread->SinceLooked > 3) {
                Number = CoreMultiplyDivide(Number, 3, Thread->SinceLooked);
            }
            AllLimit = Number > AllLimit ? Number : AllLimit;
        }
    }

    Model->CallsLimit = LivePerSecond(Limit, Model->IntervalInNanoseconds);
    Model->AllCallsLimit = AllLimit;
}


_Use_decl_annotations_
NTSTATUS
LiveMakeLiveModel(
    PREADER_LIVE Live,
    PREADER_LIVE_MODEL Model,
    BOOLEAN IsWhole
    )
{
    ULONG Index;
    NTSTATUS Status;

    LiveBeginModel(Live, Model);
    if (IsWhole) {
        Model->IntervalInNanoseconds = LiveQuerySpan(&Live->Session);
        Model->IsWhole = Live->Session.ProcessState == ReaderProcessGone;
    } else {
        Model->IntervalInNanoseconds =
            CoreMultiplyDivide(Live->Reading.Qpc - Live->IntervalQpc,
                               CORE_NANOSECONDS_PER_SECOND,
                               Live->Reading.QpcFrequency);
    }

    Model->NewRecords = Live->NewRecords;
    Model->AllRecords = Live->AllRecords;
    Model->SamplePerMille = 1000;
    if (Live->NewRead < Live->NewRecords) {
        Model->SamplePerMille = CoreMultiplyDivide(Live->NewRead,
                                                   1000,
                                                   Live->NewRecords);
    }

    //
    // Never all of it, where something was left out.
    //

    Model->IsEstimated = Live->SinceRead < Live->SinceRecords;
    Model->SincePerMille = 1000;
    if (Model->IsEstimated) {
        Model->SincePerMille = CoreMultiplyDivide(Live->SinceRead,
                                                  1000,
                                                  Live->SinceRecords);
    }

    Model->IsBackUnread = Live->IsBackUnread;
    Model->IsLate = Live->Age > 2 * READER_LIVE_MAXIMUM_AGE &&
                    Live->Session.ProcessState != ReaderProcessGone;
    Model->AgeInMilliseconds = Live->Age / 1000000;
    Model->Overtaken = Live->Overtaken;
    for (Index = 0; Index < Live->NumberOfThreads; Index++) {
        if (!Live->Threads[Index]->IsDone) {
            Model->Overtaken += LiveCountLiveOvertaken(Live->Threads[Index]);
        }
    }

    LiveModelLimits(Live, Model);
    Status = LiveModelFunctions(Live, Model);
    LiveModelUnit(Live, Model);
    if (NT_SUCCESS(Status)) {
        Status = LiveModelThreads(Live, Model);
    }

    if (NT_SUCCESS(Status) && Live->Chains.IsOn) {
        Status = LiveMakeNodes(Live, Model);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
LiveMakeEndedModel(
    PREADER_LIVE Live,
    PREADER_LIVE_MODEL Model,
    const READER_TALLY *Tally
    )
{
    PREADER_LIVE_FUNCTION_ROW Row;
    RTL_WRITER Writer;
    ULONGLONG SelfTicks = 0;
    ULONGLONG Calls = 0;
    ULONG Index;
    NTSTATUS Status;

    LiveBeginModel(Live, Model);
    Model->IntervalInNanoseconds = LiveQuerySpan(&Live->Session);
    Model->NewRecords = Tally->NumberOfRecords;
    Model->AllRecords = Tally->NumberOfRecords;
    Model->SamplePerMille = 1000;
    Model->IsEstimated = FALSE;
    Model->SincePerMille = 1000;
    Model->IsBackUnread = FALSE;
    Model->IsLate = FALSE;
    Model->AgeInMilliseconds = 0;
    Model->Overtaken = 0;
    Model->IsEnded = TRUE;

    RtlInitializeBufferWriter(&Writer, Model->End, sizeof(Model->End));
    LiveWriteLiveEnd(&Writer, &Live->Session);
    Model->EndLength = Writer.LengthInBytes;

    FunctionFilterFunctions(&Live->Functions, Live->Options->Filter);
    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->Functions,
                           &Model->CapacityOfFunctions,
                           Tally->NumberOfFunctions,
                           sizeof(READER_LIVE_FUNCTION_ROW));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {

        PCREADER_FUNCTION Function =
            &Live->Functions.Functions[Tally->List[Index].Function];
        READER_STATISTICS Statistics;

        RtlZeroBytes(&Statistics, sizeof(Statistics));
        SumMergeStatistics(&Statistics, Tally, Index);
        Row = &Model->Functions[Index];
        Row->Function = Tally->List[Index].Function;
        Row->Name = Function->Name;
        Row->NameLength = Function->NameLength;
        Row->IsShown = Function->IsShown;
        Row->IsRunning = Statistics.Calls != 0;
        Row->Calls = Statistics.Calls;
        Row->CallsPerSecond = LivePerSecond(Statistics.Calls,
                                            Model->IntervalInNanoseconds);
        Row->SelfTicks = Statistics.SelfTicks;
        Row->SelfPerSecond = LivePerSecond(Statistics.SelfTicks,
                                           Model->IntervalInNanoseconds);
        Row->AllCalls = Statistics.Calls;
        Row->AllTotalTicks = Statistics.TotalTicks;
        Row->AllSelfTicks = Statistics.SelfTicks;
        Row->HasAverage = Statistics.Calls != Statistics.Abandoned;
        Row->AverageTicks = CoreQueryAverage(&Statistics);
        SelfTicks += Statistics.SelfTicks;
        Calls += Statistics.Calls;
    }

    for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {
        Row = &Model->Functions[Index];
        Row->SelfPerMille = 0;
        if (SelfTicks != 0) {
            Row->SelfPerMille = CoreMultiplyDivide(Row->SelfTicks,
                                                   1000,
                                                   SelfTicks);
        }
    }

    Model->NumberOfFunctions = Tally->NumberOfFunctions;
    Model->CallsPerSecond = LivePerSecond(Calls,
                                          Model->IntervalInNanoseconds);
    LiveModelUnit(Live, Model);

    //
    // A function's row is another one in this tally.
    //

    Model->NumberOfPlaced = 0;
    Status = LivePlaceFunctions(Live, Model, Tally);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    return LiveModelThreads(Live, Model);
}


_Use_decl_annotations_
VOID
LiveRundownModel(
    PREADER_LIVE_MODEL Model
    )
{
    PCALLOCATOR Allocator = Model->Allocator;

    if (Allocator != NULL) {
        Allocator->Free(Allocator->Context, Model->Functions);
        Allocator->Free(Allocator->Context, Model->ByName);
        Allocator->Free(Allocator->Context, Model->Threads);
        Allocator->Free(Allocator->Context, Model->Frames);
        Allocator->Free(Allocator->Context, Model->Nodes);
        Allocator->Free(Allocator->Context, Model->NodeOrder);
        Allocator->Free(Allocator->Context, Model->RowOf);
    }

    RtlZeroBytes(Model, sizeof(*Model));
}


_Use_decl_annotations_
VOID
LiveWriteLiveEnd(
    PRTL_WRITER Writer,
    const READER_SESSION *Session
    )
{
    PREADER_STORE Because;
    PCSZ State = SessionDescribeState(Session, &Because);

    if (Because == NULL) {
        RtlWriteText(Writer, "The program has ended.");
    } else if (Because->Header->State == TRACE_STATE_STOPPED) {
        RtlWriteText(Writer,
                     "The program has ended.  Recording had %s: %s "
                     "(status 0x%08X).",
                     State,
                     SessionDescribeReason(Because->Header),
                     Because->Header->Status);
    } else {
        RtlWriteText(Writer,
                     SessionHasEnded(Session,
                                     READER_PROCESS_OF_STORE(Session, Because))
                         ? "The program has ended, without closing %Z."
                         : "The program died: it ended without closing %Z.",
                     &Because->Name);
    }
}


//
// Brings a number to three digits at most, rounded.
// Number: the number; receives the digits.
// Returns how many digits were taken off.
//

static
ULONG
LiveRoundEstimate(
    _Inout_ PULONGLONG Number
    )
{
    ULONGLONG Power = 1;
    ULONG Off = 0;

    while (*Number / Power >= 1000) {
        Power *= 10;
        Off += 1;
    }

    *Number = *Number / Power + (*Number % Power >= Power - Power / 2 &&
                                 Power != 1);
    if (*Number == 1000) {
        *Number = 100;
        Off += 1;
    }

    return Off;
}


//
// Writes a rounded number in the unit that suits it.
// Sign: what comes before it.
// Digits, Off: up to three digits, and how many zeroes follow.
// Units, NumberOfUnits: names, each of a thousand of the one before it.
//

static
VOID
LiveWriteEstimate(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Sign,
    _In_ ULONGLONG Digits,
    _In_ ULONG Off,
    _In_ const PCSZ *Units,
    _In_ ULONG NumberOfUnits
    )
{
    ULONG Unit = (Off + 2) / 3;
    ULONG Decimals;

    if (Unit >= NumberOfUnits) {
        Unit = NumberOfUnits - 1;
    }

    for (; Off > 3 * Unit; Off--) {
        Digits *= 10;
    }

    Decimals = 3 * Unit - Off;
    RtlWriteText(Writer, "%s", Sign);
    if (Decimals == 2) {
        RtlWriteText(Writer, "%llu.%02llu", Digits / 100, Digits % 100);
    } else if (Decimals == 1) {
        RtlWriteText(Writer, "%llu.%llu", Digits / 10, Digits % 10);
    } else {
        RtlWriteText(Writer, "%llu", Digits);
    }

    RtlWriteText(Writer, "%s", Units[Unit]);
}


_Use_decl_annotations_
VOID
LiveWriteLiveNumber(
    PRTL_WRITER Writer,
    ULONGLONG Number,
    BOOLEAN IsEstimate,
    ULONGLONG Limit,
    int Width
    )
{
    static const PCSZ Units[] = { "", " k", " M", " G", " T" };
    CHAR Text[2 * READER_ESTIMATE_SIZE];
    RTL_WRITER TextWriter;
    ULONGLONG Power = 1;
    ULONG Off;
    BOOLEAN IsLimit;

    if (!IsEstimate) {
        RtlWriteText(Writer, "%'*llu", Width, Number);
        return;
    }

    //
    // A limit is never rounded down.
    //

    IsLimit = Number == 0;
    if (IsLimit) {
        Number = Limit != 0 ? Limit : 1;
        while (Number / Power >= 1000) {
            Power *= 10;
        }

        Number = (Number / Power + (Number % Power != 0)) * Power;
    }

    RtlInitializeBufferWriter(&TextWriter, Text, sizeof(Text));
    Off = LiveRoundEstimate(&Number);
    LiveWriteEstimate(&TextWriter,
                      IsLimit ? "<" : "~",
                      Number,
                      Off,
                      Units,
                      RTL_NUMBER_OF(Units));
    for (Off = TextWriter.LengthInBytes; Off < (ULONG)Width; Off++) {
        RtlWriteText(Writer, " ");
    }

    RtlWriteBytes(Writer, Text, TextWriter.LengthInBytes);
}


_Use_decl_annotations_
VOID
LiveWriteLiveTime(
    PRTL_WRITER Writer,
    PCCORE_CLOCK Clock,
    ULONGLONG Ticks,
    BOOLEAN IsEstimate
    )
{
    static const PCSZ Units[] = { " ns", " us", " ms", "  s" };
    CHAR Text[2 * READER_ESTIMATE_SIZE];
    RTL_WRITER TextWriter;
    ULONGLONG Value;
    ULONG Off;

    if (!IsEstimate || Clock->Kind == TRACE_CLOCK_NONE || Clock->IsRaw ||
        !CoreTicksToNanoseconds(Clock, Ticks, &Value)) {
        OutputWriteTime(Writer, Clock, Ticks);
        return;
    }

    if (Ticks == 0) {
        RtlWriteText(Writer, "%*s", READER_TIME_WIDTH, "-");
        return;
    }

    RtlInitializeBufferWriter(&TextWriter, Text, sizeof(Text));
    Off = LiveRoundEstimate(&Value);
    LiveWriteEstimate(&TextWriter,
                      "~",
                      Value,
                      Off,
                      Units,
                      RTL_NUMBER_OF(Units));
    for (Off = TextWriter.LengthInBytes; Off < READER_TIME_WIDTH; Off++) {
        RtlWriteText(Writer, " ");
    }

    RtlWriteBytes(Writer, Text, TextWriter.LengthInBytes);
}


_Use_decl_annotations_
VOID
LiveWriteLiveState(
    PRTL_WRITER Writer,
    PCREADER_LIVE_MODEL Model
    )
{
    if (Model->ThreadsOfTrees != 0) {
        RtlWriteText(Writer,
                     READER_THREADS_OF_TREES_TEXT "  ",
                     Model->ThreadsOfTrees,
                     Model->ThreadsOfTrees == 1 ? "" : "s");
    }

    if (Model->IsEnded) {
        RtlWriteText(Writer,
                     "The numbers are those of the whole run, exactly.");
        return;
    }

    if (Model->IsEstimated || Model->SamplePerMille < 1000) {
        RtlWriteText(Writer,
                     "Estimated from %llu.%llu %% of all records since reading "
                     "began; functions may be missing.  --budget 100 reads "
                     "all.",
                     Model->SincePerMille / 10,
                     Model->SincePerMille % 10);
    } else if (Model->IsLate) {
        RtlWriteText(Writer,
                     "Late: this shows what was %llu ms ago, because the "
                     "program writes faster than it can be read.",
                     Model->AgeInMilliseconds);
    } else {
        RtlWriteText(Writer, "Up to date: all records have been read.");
    }

    if (Model->Overtaken != 0) {
        RtlWriteText(Writer,
                     "  %'llu records were overwritten unread.",
                     Model->Overtaken);
    }

    if (Model->ClockName != NULL) {
        RtlWriteText(Writer, "  Clock: %s.", Model->ClockName);
    }
}
