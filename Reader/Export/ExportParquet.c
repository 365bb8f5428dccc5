/*++

Module Name:

    ExportParquet.c

Abstract:

    Writes tables in Parquet files: calls, in the order in which they ended, by
    thread; functions, by thread; marks.

    A session is read once, thread by thread.  The ordinary calls come from the
    fast way of pairing, which puts each that ends into a list; the others come
    as events, before which the list is emptied.  Both are added up as report
    does it, and what a thread adds up to becomes rows when it has been read.
    Memory is bounded by a row group, the functions and the open calls.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionProcess.h"
#include "ExportParquet.h"
#include "ExportVectors.h"

//
// More than a buffer of records has: that is what a list is emptied after.
//

#define READER_ENDED_CALLS 640u

//
// Buckets of histograms that become one, an eighth of the values in it wide: a
// day of a host is to take little.
//

#define READER_BUCKETS_TOGETHER 4u

//
// FILETIME and microseconds since 1970.
//

#define READER_EPOCH_1970 116444736000000000ULL

static
ULONGLONG
ExportParquetQueryTime(
    _In_ const READER_PARQUET *Parquet,
    _In_ ULONGLONG Timestamp
    )
{
    ULONGLONG First = Parquet->Export->Range.FirstTimestamp;

    return ExportCellsConvert(&Parquet->Ratio,
                                &Parquet->Export->Session.Clock,
                                Timestamp > First ? Timestamp - First : 0);
}


static
VOID
ExportParquetPutFirst(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG Process,
    _In_ ULONG Thread,
    _In_ ULONG Count
    )
{
    ExportTablePutKey(Table, ReaderCellSession, Process, Count);
    ExportTablePutKey(Table, ReaderCellHost, 0, Count);
    ExportTablePutKey(Table, ReaderCellProgram, Process, Count);
    ExportTablePutKey(Table, ReaderCellProcess, Process, Count);
    ExportTablePutKey(Table, ReaderCellBegun, 0, Count);
    ExportTablePutKey(Table, ReaderCellThread, Thread, Count);
}


//
// Calls.
//


//
// Takes note of the functions that the tally has met since.
//

_Must_inspect_result_
static
NTSTATUS
ExportParquetNoteFunctions(
    _Inout_ PREADER_PARQUET Parquet
    )
{
    PREADER_TALLY Tally = Parquet->Tally;
    PREADER_EXPORT Export = Parquet->Export;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_FUNCTION Function;
    ULONG Number = Tally->NumberOfFunctions;
    ULONG Index;
    NTSTATUS Status;

    if (Number == Parquet->NumberOfKeys) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Parquet->ModuleKeys,
                           &Parquet->CapacityOfModuleKeys,
                           Number,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Parquet->AreShown,
                               &Parquet->CapacityOfShown,
                               Number,
                               sizeof(BOOLEAN));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    FunctionFilterFunctions(&Export->Functions, Export->Options->Filter);
    for (Index = Parquet->NumberOfKeys; Index < Number; Index++) {
        Function = ExportCellsFindFunction(Parquet, Index);
        Parquet->ModuleKeys[Index] = ExportCellsKeyModule(Function);
        Parquet->AreShown[Index] = Function->IsShown;
        if (!Function->IsShown) {
            Parquet->IsFiltered = TRUE;
        }
    }

    Parquet->NumberOfKeys = Number;
    return STATUS_SUCCESS;
}


//
// Leaves out what is not shown; returns how many calls are left.
//

static
ULONG
ExportParquetFilterCalls(
    _Inout_ PREADER_PARQUET Parquet,
    _Inout_updates_(Count) PCORE_ENDED Calls,
    _In_ ULONG Count
    )
{
    PCREADER_OPTIONS Options = Parquet->Export->Options;
    ULONGLONG Minimum = Parquet->Export->MinimumTicks;
    ULONG Left = 0;
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {

        if (!Parquet->AreShown[Calls[Index].Function]) {
            Parquet->NotShown.Calls += 1;
        } else if (Calls[Index].Depth >= Options->Depth) {
            Parquet->NotShown.DeepCalls += 1;
        } else if (Calls[Index].ExitTimestamp -
                       Calls[Index].EnterTimestamp < Minimum) {
            Parquet->NotShown.ShortCalls += 1;
        } else {
            Calls[Left] = Calls[Index];
            Left += 1;
        }
    }

    return Left;
}


//
// Fills in starts, durations and depths.
//

static
VOID
ExportParquetPutNumbers(
    _In_ const READER_PARQUET *Parquet,
    _Inout_ PREADER_CELL_TABLE Table,
    _In_reads_(Count) PCCORE_ENDED Calls,
    _In_ ULONG Count
    )
{
    PCCORE_CLOCK Clock = &Parquet->Export->Session.Clock;
    ULONGLONG First = Parquet->Export->Range.FirstTimestamp;
    READER_RATIO Ratio = Parquet->Ratio;
    BOOLEAN HasVectors = Parquet->HasVectors && Ratio.Shift <= 6;
    PULONGLONG Starts = READER_TABLE_NUMBERS(Table, ReaderCallsStart);
    PULONGLONG Durations = READER_TABLE_NUMBERS(Table, ReaderCallsDuration);
    PULONGLONG Depths = READER_TABLE_NUMBERS(Table, ReaderCallsDepth);
    ULONG Index = 0;
    ULONG End = HasVectors ? 0 : Count;

    for (;;) {

        for (; Index < End; Index++) {

            ULONGLONG Start = Calls[Index].EnterTimestamp;
            ULONGLONG Duration = Calls[Index].ExitTimestamp - Start;

            Starts[Index] = ExportCellsConvert(
                &Ratio,
                Clock,
                Start > First ? Start - First : 0);
            Durations[Index] = ExportCellsConvert(&Ratio, Clock, Duration);
            Depths[Index] = Calls[Index].Depth;
        }

        if (Index == Count) {
            break;
        }

        //
        // What comes after them is one by one: the last few, or four of which
        // one is to be looked at.
        //

        Index += ExportVectorCalls(Ratio.Factor,
                                   Ratio.Shift,
                                   First,
                                   Calls + Index,
                                   Count - Index,
                                   Starts + Index,
                                   Durations + Index,
                                   Depths + Index);
        End = Count - Index > 4 ? Index + 4 : Count;
    }
}


//
// Fills in the functions.  Returns FALSE if the calls are not all of one
// module.
//

static
BOOLEAN
ExportParquetPutCodes(
    _In_ const READER_PARQUET *Parquet,
    _Inout_ PREADER_CELL_TABLE Table,
    _In_reads_(Count) PCCORE_ENDED Calls,
    _In_ ULONG Count
    )
{
    const ULONG *Modules = Parquet->ModuleKeys;
    PREADER_TABLE_COLUMN Column = &Table->Cells[ReaderCallsFunction];
    ULONG Capacity = Column->CapacityOfCodes;
    const ULONG *CodeOfKey = Column->CodeOfKey;
    ULONG Module = Modules[Calls[0].Function];
    PULONG Codes = ExportTableBeginCodes(Table, ReaderCallsFunction);
    ULONG Others = 0;
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {

        ULONG Key = Calls[Index].Function;
        ULONG Code = Key < Capacity ? CodeOfKey[Key] : 0;

        if (Code == 0) {
            Code = ExportTableFindCode(Table, ReaderCallsFunction, Key) + 1;
            Capacity = Column->CapacityOfCodes;
            CodeOfKey = Column->CodeOfKey;
        }

        Codes[Index] = Code - 1;
        Others |= Modules[Key] ^ Module;
    }

    return Others == 0;
}


//
// Fills in the modules of calls of several.
//

static
VOID
ExportParquetPutModules(
    _In_ const READER_PARQUET *Parquet,
    _Inout_ PREADER_CELL_TABLE Table,
    _In_reads_(Count) PCCORE_ENDED Calls,
    _In_ ULONG Count
    )
{
    const ULONG *Keys = Parquet->ModuleKeys;
    PULONG Codes = ExportTableBeginCodes(Table, ReaderCallsModule);
    PULONG Builds = ExportTableBeginCodes(Table, ReaderCallsBuild);
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {
        Codes[Index] = ExportTableFindCode(Table,
                                           ReaderCallsModule,
                                           Keys[Calls[Index].Function]);
        Builds[Index] = ExportTableFindCode(Table,
                                            ReaderCallsBuild,
                                            Keys[Calls[Index].Function]);
    }
}


//
// Adds calls that ended in one way to their table.
//

_Must_inspect_result_
static
NTSTATUS
ExportParquetPutCalls(
    _Inout_ PREADER_PARQUET Parquet,
    _Inout_updates_(Count) PCORE_ENDED Calls,
    _In_ ULONG Count,
    _In_ ULONG Ended
    )
{
    PREADER_CELL_TABLE Table = &Parquet->Tables[ReaderParquetCalls];
    ULONG Module;
    ULONG Number;
    NTSTATUS Status;

    Status = ExportParquetNoteFunctions(Parquet);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Parquet->NumberOfCalls += Count;
    if (!Parquet->IsOpen[ReaderParquetCalls]) {
        return STATUS_SUCCESS;
    }

    if (Parquet->IsFiltered || Parquet->Export->MinimumTicks != 0 ||
        Parquet->Export->Options->Depth != 0xFFFFFFFFu) {
        Count = ExportParquetFilterCalls(Parquet, Calls, Count);
    }

    while (Count != 0) {

        Number = READER_TABLE_ROOM(Table);
        if (Number > Count) {
            Number = Count;
        }

        ExportParquetPutFirst(Table,
                              Parquet->Export->Session.Threads
                                  [Parquet->Thread].Process,
                              Parquet->Thread,
                              Number);
        ExportTablePutKey(Table, ReaderCallsEnded, Ended, Number);
        ExportParquetPutNumbers(Parquet, Table, Calls, Number);
        if (ExportParquetPutCodes(Parquet, Table, Calls, Number)) {
            Module = Parquet->ModuleKeys[Calls[0].Function];
            ExportTablePutKey(Table, ReaderCallsModule, Module, Number);
            ExportTablePutKey(Table, ReaderCallsBuild, Module, Number);
        } else {
            ExportParquetPutModules(Parquet, Table, Calls, Number);
        }

        ExportTableAddRows(Table, Number);
        Calls += Number;
        Count -= Number;
    }

    return Table->Status;
}


_Must_inspect_result_
static
NTSTATUS
ExportParquetEmptyList(
    _Inout_ PREADER_PARQUET Parquet
    )
{
    ULONG Count = Parquet->Ended.NumberOfCalls;
    NTSTATUS Status;

    if (Count == 0) {
        return STATUS_SUCCESS;
    }

    if (Parquet->IsOpen[ReaderParquetFunctions]) {
        Status = CoreAddEnded(Parquet->Tally->Totals.Totals,
                              Parquet->Tally->Histograms,
                              Parquet->Tally->Arena,
                              Parquet->Ended.Calls,
                              Count);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Parquet->Ended.NumberOfCalls = 0;
    return ExportParquetPutCalls(Parquet,
                                 Parquet->Ended.Calls,
                                 Count,
                                 READER_RETURNED);
}


_Use_decl_annotations_
static
NTSTATUS
ExportParquetOpenFrame(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    PREADER_PARQUET Parquet = (PREADER_PARQUET)Context;

    return SumTallyOpenFrame(Parquet->Tally, Stream, Track, Depth, Frame);
}


_Use_decl_annotations_
static
NTSTATUS
ExportParquetEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    PREADER_PARQUET Parquet = (PREADER_PARQUET)Context;
    CORE_ENDED Ended;
    ULONG How = READER_RETURNED;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Stream);

    Status = ExportParquetEmptyList(Parquet);
    if (NT_SUCCESS(Status)) {
        Status = CallTallyEvent(Parquet->Tally, Event);
    }

    if (!NT_SUCCESS(Status) || Event->Kind == CoreEventEnter ||
        Event->Kind == CoreEventUnmatched) {
        return Status;
    }

    if (Event->Kind == CoreEventAbandoned) {
        How = READER_ABANDONED;
    } else if (Event->Kind == CoreEventOpen) {
        How = READER_UNFINISHED;
    }

    Ended.EnterTimestamp = Event->EnterTimestamp;
    Ended.ExitTimestamp = Event->EnterTimestamp + Event->InclusiveTicks;
    Ended.Function = Event->Frame->Function;
    Ended.Depth = Event->Depth;
    return ExportParquetPutCalls(Parquet, &Ended, 1, How);
}


_Use_decl_annotations_
static
NTSTATUS
ExportParquetTrees(
    PVOID Context,
    ULONG Thread
    )
{
    PREADER_PARQUET Parquet = (PREADER_PARQUET)Context;

    return SumTallyTrees(Parquet->Tally, Thread);
}


//
// Functions.
//


static
ULONGLONG
ExportParquetQueryTotal(
    _In_ const READER_PARQUET *Parquet,
    _In_ ULONGLONG Ticks
    )
{
    return ExportCellsConvert(&Parquet->Ratio,
                                &Parquet->Export->Session.Clock,
                                Ticks);
}


//
// Adds the row of a function in the thread that was read.
//

static
VOID
ExportParquetPutFunction(
    _Inout_ PREADER_PARQUET Parquet,
    _In_ ULONG Index,
    _In_ PCREADER_STATISTICS Statistics
    )
{
    PREADER_CELL_TABLE Table = &Parquet->Tables[ReaderParquetFunctions];
    const CORE_HISTOGRAM *Histogram = &Parquet->Tally->Histograms[Index];
    ULONGLONG Calls = 0;
    ULONG Bucket;
    ULONG Last;

#define READER_PUT_NUMBER(Column, Value)                                    \
    (READER_TABLE_NUMBERS(Table, (Column))[0] = (Value))
#define READER_PUT_TIME(Column, Ticks)                                      \
    READER_PUT_NUMBER((Column), ExportParquetQueryTotal(Parquet, (Ticks)))

    ExportParquetPutFirst(Table,
                          Parquet->Export->Session.Threads
                              [Parquet->Thread].Process,
                          Parquet->Thread,
                          1);
    ExportTablePutKey(Table, ReaderFunctionsFunction, Index, 1);
    ExportTablePutKey(Table,
                      ReaderFunctionsModule,
                      Parquet->ModuleKeys[Index],
                      1);
    ExportTablePutKey(Table,
                      ReaderFunctionsBuild,
                      Parquet->ModuleKeys[Index],
                      1);
    ExportTablePutKey(Table, ReaderFunctionsThreadName, Parquet->Thread, 1);
    READER_PUT_NUMBER(ReaderFunctionsCalls, Statistics->Calls);
    READER_PUT_TIME(ReaderFunctionsTotal, Statistics->TotalTicks);
    READER_PUT_TIME(ReaderFunctionsSelf, Statistics->SelfTicks);
    READER_PUT_TIME(ReaderFunctionsSum,
                    Statistics->SumHigh != 0 ? ~0ULL >> 1
                                             : Statistics->SumLow);
    READER_PUT_TIME(ReaderFunctionsMinimum, Statistics->MinimumTicks);
    READER_PUT_TIME(ReaderFunctionsMaximum, Statistics->MaximumTicks);
    READER_PUT_NUMBER(ReaderFunctionsAbandoned, Statistics->Abandoned);
    READER_PUT_TIME(ReaderFunctionsAbandonedTime, Statistics->AbandonedTicks);
    READER_PUT_NUMBER(ReaderFunctionsUnfinished, Statistics->Unfinished);
    READER_PUT_NUMBER(ReaderFunctionsUncertain, Statistics->Uncertain);
    READER_PUT_NUMBER(ReaderFunctionsInTrees, Statistics->InTrees);
    READER_PUT_TIME(ReaderFunctionsWaited, Statistics->WaitedTicks);
    for (Bucket = 0; Bucket < Histogram->NumberOfBuckets; Bucket++) {

        Calls += Histogram->Counts[Bucket];
        Last = Histogram->FirstBucket + Bucket;
        if (Calls == 0 ||
            (Bucket + 1 != Histogram->NumberOfBuckets &&
             (Last + 1) % READER_BUCKETS_TOGETHER != 0)) {
            continue;
        }

        ExportTablePutElement(
            Table,
            ReaderFunctionsBucket,
            ExportParquetQueryTotal(
                Parquet,
                CoreQueryBucketEnd(Last | (READER_BUCKETS_TOGETHER - 1))));
        ExportTablePutElement(Table, ReaderFunctionsBucketCalls, Calls);
        Calls = 0;
    }

    ExportTableEndList(Table, ReaderFunctionsBucket);
    ExportTableEndList(Table, ReaderFunctionsBucketCalls);
    ExportTableAddRows(Table, 1);

#undef READER_PUT_TIME
#undef READER_PUT_NUMBER
}


//
// Makes rows of what the tally has of the thread that was read, and empties it.
//

_Must_inspect_result_
static
NTSTATUS
ExportParquetPutFunctions(
    _Inout_ PREADER_PARQUET Parquet
    )
{
    PREADER_TALLY Tally = Parquet->Tally;
    READER_STATISTICS Statistics;
    PCORE_HISTOGRAM Histogram;
    PCORE_TOTALS Totals;
    ULONG Index;
    ULONG Bucket;
    NTSTATUS Status;

    Status = ExportParquetNoteFunctions(Parquet);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {

        RtlZeroBytes(&Statistics, sizeof(Statistics));
        SumMergeStatistics(&Statistics, Tally, Index);
        if (Statistics.Calls != 0 && Parquet->AreShown[Index] &&
            Parquet->IsOpen[ReaderParquetFunctions]) {
            ExportParquetPutFunction(Parquet, Index, &Statistics);
        }

        Totals = &Tally->Totals.Totals[Index];
        RtlZeroBytes(Totals, sizeof(*Totals));
        Totals->MinimumTicks = ~0ULL;
        Tally->Totals.Active[Index] = 0;
        RtlZeroBytes(&Tally->List[Index].Statistics,
                     sizeof(Tally->List[Index].Statistics));
        if (Tally->Waited != NULL) {
            Tally->Waited[Index] = 0;
        }

        if (Tally->HasHistograms) {
            Histogram = &Tally->Histograms[Index];
            for (Bucket = 0; Bucket < Histogram->NumberOfBuckets; Bucket++) {
                Histogram->Counts[Bucket] = 0;
            }
        }
    }

    return Parquet->IsOpen[ReaderParquetFunctions]
               ? Parquet->Tables[ReaderParquetFunctions].Status
               : STATUS_SUCCESS;
}


//
// Has a table failed?  That has not been written yet.
//

static
BOOLEAN
ExportParquetHasFailed(
    _In_ const READER_PARQUET *Parquet
    )
{
    ULONG Index;

    for (Index = 0; Index < ReaderParquetTables; Index++) {
        if (Parquet->IsOpen[Index] &&
            !NT_SUCCESS(Parquet->Tables[Index].Status)) {
            return TRUE;
        }
    }

    return FALSE;
}


//
// Reads a thread: a READER_READ_THREAD.
//

_Use_decl_annotations_
static
NTSTATUS
ExportParquetReadThread(
    PVOID Context,
    ULONG Worker,
    ULONG Thread
    )
{
    static const READER_VISITOR Visitor = {
        ExportParquetOpenFrame,
        ExportParquetEvent,
        ExportParquetTrees
    };
    PREADER_PARQUET Parquet = (PREADER_PARQUET)Context;
    NTSTATUS Result;
    NTSTATUS Status;

    if (ExportParquetHasFailed(Parquet)) {
        return STATUS_SUCCESS;
    }

    Parquet->Tally = &Parquet->Reading.Tallies[Worker];
    Parquet->Thread = Thread;
    Status = CallReadThread(Parquet->Tally, Thread, &Visitor, Parquet);
    Result = ExportParquetEmptyList(Parquet);
    if (NT_SUCCESS(Result)) {
        Result = ExportParquetPutFunctions(Parquet);
    }

    //
    // What is wrong with a file is said of the file.
    //

    if (ExportParquetHasFailed(Parquet)) {
        return STATUS_SUCCESS;
    }

    return NT_SUCCESS(Status) ? Result : Status;
}


//
// Marks.
//


static
VOID
ExportParquetPutMarks(
    _Inout_ PREADER_PARQUET Parquet
    )
{
    PREADER_EXPORT Export = Parquet->Export;
    PREADER_CELL_TABLE Table = &Parquet->Tables[ReaderParquetMarks];
    PCREADER_ACTION Instant;
    ULONG Index = SessionFirstInstant(&Export->Session, Export->Range.Start);

    while ((Instant = SessionControlFindInstant(&Export->Session,
                                                Export->Options,
                                                &Index,
                                                Export->Range.End)) != NULL) {

        ULONG Key = (ULONG)(Instant - Export->Session.Actions);

        Index = Key + 1;
        if ((Parquet->Process != READER_NONE &&
             Parquet->Process != Instant->Process) ||
            Instant->Action->Timestamp <
                READER_CLEAR_OF(&Export->Session, Instant->Process)) {
            continue;
        }

        ExportParquetPutFirst(Table, Instant->Process, Key, 1);
        ExportTablePutKey(Table, ReaderMarksName, Key, 1);
        READER_TABLE_NUMBERS(Table, ReaderMarksTime)[0] =
            ExportParquetQueryTime(Parquet, Instant->Action->Timestamp);
        ExportTableAddRows(Table, 1);
    }
}


//
// Files.
//


//
// Says why nothing of a process is added.  Returns TRUE.
//

static
BOOLEAN
ExportParquetRefuse(
    _In_ const READER_PARQUET *Parquet,
    _In_z_ PCSZ Reason
    )
{
    PREADER_SESSION Session = &Parquet->Export->Session;
    PRTL_WRITER Errors = Parquet->Export->Context->Errors;

    RtlWriteText(Errors, "TraceReader: export: ");
    SessionWriteProcess(Errors, Session, Parquet->Process);
    RtlWriteText(Errors, ": nothing is added: %s\n", Reason);
    RtlFlushWriter(Errors);
    return TRUE;
}


//
// Looks whether it cannot be told when a process was cleared last: what would
// be added might take the place of what is nowhere else.  TRUE: so it is, and
// that has been written.
//

static
BOOLEAN
ExportParquetIsClearUnknown(
    _In_ const READER_PARQUET *Parquet
    )
{
    PCREADER_CONTROL Control = READER_CONTROL_OF(&Parquet->Export->Session,
                                                 Parquet->Process);

    if (!Control->IsThere ||
        (NT_SUCCESS(Control->Status) &&
         Control->Result.State != CoreControlBad)) {
        return FALSE;
    }

    return ExportParquetRefuse(
        Parquet,
        TRACE_CONTROL_FILE_NAME " cannot be read, so whether and when it was "
        "cleared is not known");
}


//
// Looks whether a process was cleared while it was read: what was read after
// that is of what follows, and of trees what was before it is gone.  TRUE: it
// was, or that cannot be told; it has been written.
//

static
BOOLEAN
ExportParquetWasCleared(
    _In_ const READER_PARQUET *Parquet,
    _In_ ULONGLONG Clear
    )
{
    PREADER_EXPORT Export = Parquet->Export;
    NTSTATUS Status;

    Status = SessionReadControl(&Export->Session);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Export->Context, "export", Export->Options->PathUtf8, Status);
        return TRUE;
    }

    if (ExportParquetIsClearUnknown(Parquet)) {
        return TRUE;
    }

    return READER_CLEAR_OF(&Export->Session, Parquet->Process) != Clear &&
           ExportParquetRefuse(Parquet, "it was cleared while it was read");
}


//
// Exports a process, or all of them, to the tables' files.
//

static
ULONG
ExportParquetProcess(
    _Inout_ PREADER_PARQUET Parquet,
    _In_ ULONG Process
    )
{
    PREADER_EXPORT Export = Parquet->Export;
    PREADER_READING Reading = &Parquet->Reading;
    PREADER_TALLY Tally;
    ULONGLONG Clear = 0;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Code;
    NTSTATUS Status;

    Parquet->Process = Process;
    Parquet->NumberOfKeys = 0;
    Reading->Functions = &Export->Functions;
    Reading->Options = Export->Options;
    Reading->Range = &Export->Range;
    Reading->Process = Process;
    Reading->Read = ExportParquetReadThread;
    Reading->Context = Parquet;
    if (Process != READER_NONE) {

        //
        // Others may have been read since all were identified.
        //

        ExportDatasetIdentify(&Export->Session,
                              Process,
                              &Parquet->Identities[Process]);
        Clear = READER_CLEAR_OF(&Export->Session, Process);
        if (ExportParquetIsClearUnknown(Parquet)) {
            return READER_EXIT_FAILURE;
        }
    }

    if (!ExportDatasetOpenTables(Parquet)) {
        ExportDatasetCloseTables(Parquet, FALSE);
        return READER_EXIT_FAILURE;
    }

    Status = SumInitializeReading(Reading);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Export->Context,
                 "export",
                 Export->Options->PathUtf8,
                 Status);
        SumRundownReading(Reading);
        ExportDatasetCloseTables(Parquet, FALSE);
        return READER_EXIT_FAILURE;
    }

    Tally = &Reading->Tallies[0];
    Tally->HasHistograms = Parquet->IsOpen[ReaderParquetFunctions];
    Tally->IsGeneral = (Export->Options->Given & READER_OPTION_GENERAL) != 0;
    Tally->Ended = &Parquet->Ended;
    Tally->IsAddedApart = TRUE;
    Reading->Tallies[1].IsGeneral = Tally->IsGeneral;
    ExitCode = SumReadThreads(Reading);
    if (Process != READER_NONE && ExportParquetWasCleared(Parquet, Clear)) {
        ExportDatasetCloseTables(Parquet, FALSE);
        SumRundownReading(Reading);
        return READER_EXIT_FAILURE;
    }

    if (Parquet->IsOpen[ReaderParquetMarks]) {
        Parquet->Tally = Tally;
        ExportParquetPutMarks(Parquet);
    }

    //
    // A thread that cannot be read to its end does not hide the others; a file
    // that cannot be written is none.
    //

    Code = ExportDatasetCloseTables(Parquet, TRUE);
    SumRundownReading(Reading);
    return Code != READER_EXIT_SUCCESS ? Code : ExitCode;
}


//
// The export.
//


static
VOID
ExportParquetPutNote(
    _In_ const READER_PARQUET *Parquet
    )
{
    PRTL_WRITER Errors = Parquet->Export->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: export: %llu calls, rows: %llu of functions, "
                 "%llu of calls, %llu of marks; %llu bytes in %u files\n",
                 Parquet->NumberOfCalls,
                 Parquet->NumberOfRows[ReaderParquetFunctions],
                 Parquet->NumberOfRows[ReaderParquetCalls],
                 Parquet->NumberOfRows[ReaderParquetMarks],
                 Parquet->NumberOfBytes,
                 Parquet->NumberOfFiles);
    if (Parquet->NotShown.Calls != 0) {
        RtlWriteText(Errors,
                     "TraceReader: export: left out: %llu calls of functions "
                     "that are not shown (--function, --exclude)\n",
                     Parquet->NotShown.Calls);
    }

    if ((Parquet->NotShown.ShortCalls | Parquet->NotShown.DeepCalls) != 0) {
        RtlWriteText(Errors,
                     "TraceReader: export: left out: %llu calls that are "
                     "shorter than --min-duration, %llu deeper than "
                     "--depth\n",
                     Parquet->NotShown.ShortCalls,
                     Parquet->NotShown.DeepCalls);
    }

    RtlFlushWriter(Errors);
}


//
// Gets the memory that all processes share.
//

_Must_inspect_result_
static
NTSTATUS
ExportParquetAllocate(
    _Inout_ PREADER_PARQUET Parquet
    )
{
    PREADER_SESSION Session = &Parquet->Export->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Index;

    Parquet->Ended.Capacity = READER_ENDED_CALLS;
    Parquet->Ended.Calls = (PCORE_ENDED)
        Allocator->Allocate(Allocator->Context,
                            READER_ENDED_CALLS * sizeof(CORE_ENDED));
    Parquet->Identities = (PREADER_IDENTITY)
        Allocator->Allocate(Allocator->Context,
                            (Session->NumberOfProcesses + 1) *
                                sizeof(READER_IDENTITY));
    if (Parquet->Ended.Calls == NULL || Parquet->Identities == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < ReaderParquetTables; Index++) {
        Parquet->Path[Index] = (PWSTR)
            Allocator->Allocate(Allocator->Context,
                                RTL_MAXIMUM_PATH_IN_CHARS *
                                    (sizeof(WCHAR) + sizeof(CHAR)));
        if (Parquet->Path[Index] == NULL) {
            return STATUS_NO_MEMORY;
        }

        Parquet->PathUtf8[Index] = (PCHAR)(Parquet->Path[Index] +
                                           RTL_MAXIMUM_PATH_IN_CHARS);
    }

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        ExportDatasetIdentify(Session, Index, &Parquet->Identities[Index]);
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONG
ExportParquet(
    PREADER_EXPORT Export
    )
{
    PCREADER_CONTEXT Context = Export->Context;
    PCREADER_OPTIONS Options = Export->Options;
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_SESSION Session = &Export->Session;
    PREADER_PARQUET Parquet;
    ULONGLONG Begun;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Code;
    ULONG Index;
    NTSTATUS Status = STATUS_NO_MEMORY;

    if (Session->Clock.Ticks == 0 || Session->Clock.Nanoseconds == 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: export: parquet: the rate of the session's "
                     "clock is not known, and so no time in nanoseconds\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Parquet = (PREADER_PARQUET)Allocator->Allocate(Allocator->Context,
                                                   sizeof(*Parquet));
    if (Parquet != NULL) {

        Parquet->Export = Export;
        Status = ExportParquetAllocate(Parquet);
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context, "export", Options->PathUtf8, Status);
        goto End;
    }

    if (!ExportDatasetSelectTables(Export, &Parquet->Selected)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    Parquet->HostLength = ExportDatasetNameHost(Context,
                                                Options,
                                                Parquet->Host);
    ExportCellsBeginRatio(&Parquet->Ratio, &Session->Clock);
    Parquet->HasVectors = Context->Rtl->CpuFeatures.Avx2 &&
                          Context->Rtl->CpuFeatures.Bmi2 &&
                          (Options->Given & READER_OPTION_GENERAL) == 0;
    Begun = CoreTimestampToSystemTime(&Session->Clock,
                                      Export->Range.FirstTimestamp);
    Parquet->Begun = ((LONGLONG)Begun - (LONGLONG)READER_EPOCH_1970) / 10;
    if (Options->Append == NULL) {
        ExitCode = ExportParquetProcess(Parquet, READER_NONE);
    } else {

        for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
            Code = ExportParquetProcess(Parquet, Index);
            if (Code != READER_EXIT_SUCCESS) {
                ExitCode = Code;
            }
        }
    }

    if (ExitCode == READER_EXIT_SUCCESS) {
        ExportParquetPutNote(Parquet);
    }

    ExitCode = FunctionEndFilter(Context,
                                 Options->Filter,
                                 &Export->Functions,
                                 Parquet->NumberOfRows[0] +
                                     Parquet->NumberOfRows[1] +
                                     Parquet->NumberOfRows[2],
                                 &Parquet->NotShown,
                                 ExitCode);
    Export->NumberOfRecords = Parquet->Reading.NumberOfRecords;
    Export->NumberOfOrdinary = Parquet->Reading.NumberOfOrdinary;
    Export->NumberOfThreads = Parquet->Reading.NumberOfThreads;
    Export->NumberOfWorkers = 1;

End:
    if (Parquet != NULL) {
        for (Index = 0; Index < ReaderParquetTables; Index++) {
            Allocator->Free(Allocator->Context, Parquet->Path[Index]);
        }

        Allocator->Free(Allocator->Context, Parquet->Ended.Calls);
        Allocator->Free(Allocator->Context, Parquet->Identities);
        Allocator->Free(Allocator->Context, Parquet->ModuleKeys);
        Allocator->Free(Allocator->Context, Parquet->AreShown);
        Allocator->Free(Allocator->Context, Parquet);
    }

    return ExitCode;
}
