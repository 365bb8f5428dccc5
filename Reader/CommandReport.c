/*++

Module Name:

    CommandReport.c

Abstract:

    TraceReader report: each function's calls and times.

--*/

#include "ReaderProbe.h"

//
// The columns after those of the statistics and, with --subtract-probe, of the
// probe.  In text file and line are one, in the place of the file.
//

#define READER_REPORT_MORE_COLUMNS(FunctionWidth, FileTitle)                \
    { "p50", "p50", ReaderColumnTime, READER_TIME_WIDTH },                  \
    { "p90", "p90", ReaderColumnTime, READER_TIME_WIDTH },                  \
    { "p99", "p99", ReaderColumnTime, READER_TIME_WIDTH },                  \
    { "Module", "module", ReaderColumnText, 16 },                           \
    { "", "rva", ReaderColumnHexadecimal, 0 },                              \
    { "", "folded", ReaderColumnText, 0 },                                  \
    { "Function", "function", ReaderColumnText, FunctionWidth },            \
    { FileTitle, "file", ReaderColumnText, 0 },                             \
    { "", "line", ReaderColumnNumber, 0 },                                  \
    READER_PROCESS_COLUMNS

#define READER_REPORT_FUNCTION_WIDTH 32     // where something follows

static const READER_COLUMN ReaderReportColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_REPORT_MORE_COLUMNS(0, "")
};

static const READER_COLUMN ReaderReportLineColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_REPORT_MORE_COLUMNS(READER_REPORT_FUNCTION_WIDTH, "Source")
};

static const READER_COLUMN ReaderReportProbeColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_PROBE_COLUMNS,
    READER_REPORT_MORE_COLUMNS(0, "")
};

static const READER_COLUMN ReaderReportProbeLineColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_PROBE_COLUMNS,
    READER_REPORT_MORE_COLUMNS(READER_REPORT_FUNCTION_WIDTH, "Source")
};

#define READER_REPORT_PERCENTILE_COLUMNS                                    \
    (7u << READER_STATISTICS_NUMBER_OF_COLUMNS)
#define READER_REPORT_MODULE_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 3)
#define READER_REPORT_RVA_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 4)
#define READER_REPORT_FOLDED_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 5)
#define READER_REPORT_FILE_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 7)
#define READER_REPORT_LINE_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 8)
#define READER_REPORT_PROCESS_COLUMNS                                       \
    (3u << (READER_STATISTICS_NUMBER_OF_COLUMNS + 9))

#define READER_REPORT_TABLE(Columns) \
    { "functions", Columns, RTL_NUMBER_OF(Columns), FALSE }

//
// By whether the probe's cost is taken out, and whether text shows lines.
//

static const READER_TABLE ReaderReportTables[2][2] = {
    {
        READER_REPORT_TABLE(ReaderReportColumns),
        READER_REPORT_TABLE(ReaderReportLineColumns)
    },
    {
        READER_REPORT_TABLE(ReaderReportProbeColumns),
        READER_REPORT_TABLE(ReaderReportProbeLineColumns)
    }
};

//
// ":" and a line's number.
//

#define READER_LINE_NUMBER_SIZE 16

//
// The progress is looked at once in so many calls of ReaderShowReportProgress.
//

#define READER_PROGRESS_CALLS 256

//
// NtQueryInformationProcess: ProcessVmCounters.
//

#define READER_PROCESS_VM_COUNTERS 3

typedef struct _READER_VM_COUNTERS {
    SIZE_T PeakVirtualSize;
    SIZE_T VirtualSize;
    ULONG NumberOfPageFaults;
    SIZE_T PeakWorkingSetSize;      // bytes
    SIZE_T Others[7];
} READER_VM_COUNTERS;

typedef struct _READER_REPORT {
    PCREADER_OPTIONS Options;
    READER_CONTEXT Context;             // with an allocator for all workers
    READER_LOCKED_ALLOCATOR Allocator;
    READER_LOCK Lock;                   // of Session and Functions
    READER_SESSION Session;
    READER_RANGE Range;
    READER_FUNCTIONS Functions;
    PREADER_TALLY Tallies;              // by worker; then, for each, that of
                                        // what comes before the range
    ULONG MaximumWorkers;
    ULONG MaximumUsed;
    ULONG NumberOfWorkers;              // that there are tallies for
    ULONG NumberOfThreads;              // selected
    volatile LONG NextThread;           // that no worker has taken
    NTSTATUS *ThreadStatus;             // by thread, when it has been read
    PREADER_STATISTICS Statistics;      // by function
    PCORE_HISTOGRAM Histograms;         // by function; NULL: there are none
    PULONGLONG Ranks;                   // by function: the thread where it was
                                        // seen first << 32 | how many were
                                        // seen before it
    PULONG Order;                       // functions by rank
    ULONGLONG Unmatched;
    ULONGLONG BegunBefore;
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOfOrdinary;
    ULONGLONG RecordsExpected;
    ULONGLONG NumberShown;              // of functions
    READER_NOT_SHOWN NotShown;
    READER_OUTPUT Output;
    READER_PROGRESS Progress;
    ULONG ProgressCalls;
    ULONG Process;                      // that is read; READER_NONE: all are
    ULONG NumberOfProcesses;            // that have been written
    BOOLEAN IsMerged;
    BOOLEAN HasHistograms;
} READER_REPORT;
typedef READER_REPORT *PREADER_REPORT;


static
BOOLEAN
ReaderIsThreadReported(
    _In_ const READER_REPORT *Report,
    _In_ ULONG Thread
    )
/*++

Routine Description:

    Decides whether a thread is one of those that are read now.

Arguments:

    Report - The report.

    Thread - The thread's index.

Return Value:

    TRUE if it is.

--*/
{
    const READER_THREAD *Known = &Report->Session.Threads[Thread];

    return READER_IS_THREAD_SELECTED(Report->Options, Known->ThreadId) &&
           (Report->Process == READER_NONE ||
            Report->Process == Known->Process);
}


static
VOID
ReaderWriteReportProgress(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Says how far the workers are.

Arguments:

    Report - The report.

Return Value:

    None.

--*/
{
    ULONGLONG Records = Report->NumberOfRecords;
    ULONG Index;

    for (Index = 0; Index < 2 * Report->NumberOfWorkers; Index++) {
        Records += Report->Tallies[Index].NumberOfRecords;
    }

    ReaderShowProgress(&Report->Progress, Records);
}


static
VOID
ReaderShowReportProgress(
    _In_ PVOID Context
    )
/*++

Routine Description:

    Called by the first worker for each buffer that it has read.

Arguments:

    Context - The report.

Return Value:

    None.

--*/
{
    PREADER_REPORT Report = (PREADER_REPORT)Context;

    Report->ProgressCalls += 1;
    if (Report->ProgressCalls % READER_PROGRESS_CALLS == 0) {
        ReaderWriteReportProgress(Report);
    }
}


static
VOID
ReaderWaitForReport(
    _In_ PVOID Context
    )
/*++

Routine Description:

    Called now and then while the first worker waits for the others.

Arguments:

    Context - The report.

Return Value:

    None.

--*/
{
    ReaderWriteReportProgress((PREADER_REPORT)Context);
}


static
VOID
ReaderReportThreads(
    _In_ PVOID Context,
    _In_ ULONG Worker
    )
/*++

Routine Description:

    Reads threads for as long as there are any that no worker has taken.  Each
    worker's come in ascending order, as ReaderTallyThread demands.

Arguments:

    Context - The report.

    Worker - Which worker this is.

Return Value:

    None.

--*/
{
    PREADER_REPORT Report = (PREADER_REPORT)Context;
    PREADER_SESSION Session = &Report->Session;
    PREADER_TALLY Tally = &Report->Tallies[Worker];
    ULONG Index;

    for (;;) {

        Index = (ULONG)InterlockedIncrement(&Report->NextThread) - 1;
        if (Index >= Session->NumberOfThreads) {
            return;
        }

        if (ReaderIsThreadReported(Report, Index)) {
            Report->ThreadStatus[Index] = ReaderTallyThread(Tally, Index);
        }
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderPrepareReport(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Allocates what the workers need before they start.

Arguments:

    Report - The report, with the session open.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = &Report->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_TALLY Tallies;
    ULONG Number = Report->MaximumWorkers;
    ULONG NumberOfThreads = 0;
    ULONG Index;

    Report->RecordsExpected = ReaderCountRecords(Session, Report->Options);
    Report->NumberOfWorkers = 0;
    Report->NextThread = 0;
    Report->IsMerged = FALSE;
    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (ReaderIsThreadReported(Report, Index)) {
            NumberOfThreads += 1;
        }
    }

    Report->NumberOfThreads += NumberOfThreads;
    if (Number > NumberOfThreads) {
        Number = NumberOfThreads;
    }

    if (Number == 0) {
        Number = 1;
    }

    Report->ThreadStatus = (NTSTATUS *)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Session->NumberOfThreads *
                                sizeof(NTSTATUS));
    Tallies = (PREADER_TALLY)
        Allocator->Allocate(Allocator->Context,
                            2 * (SIZE_T)Number * sizeof(READER_TALLY));
    if (Report->ThreadStatus == NULL || Tallies == NULL) {
        Allocator->Free(Allocator->Context, Tallies);
        return STATUS_NO_MEMORY;
    }

    Report->Tallies = Tallies;
    Report->NumberOfWorkers = Number;
    if (Number > Report->MaximumUsed) {
        Report->MaximumUsed = Number;
    }

    for (Index = 0; Index < 2 * Number; Index++) {
        ReaderInitializeTally(&Tallies[Index],
                              &Report->Functions,
                              Number > 1 ? &Report->Lock : NULL);
        Tallies[Index].IsGeneral =
            Session->IsProbeSubtracted ||
            (Report->Options->Given & READER_OPTION_GENERAL) != 0;
        Tallies[Index].HasHistograms = Report->HasHistograms &&
                                       Index < Number;
    }

    for (Index = 0; Report->Range.IsGiven && Index < Number; Index++) {
        Tallies[Index].Range = &Report->Range;
        Tallies[Index].Before = &Tallies[Number + Index];
    }

    ReaderInitializeProgress(&Report->Progress,
                             &Report->Context,
                             "",
                             Report->RecordsExpected);
    if (Report->Context.Errors->IsConsole) {
        Tallies[0].Progress = ReaderShowReportProgress;
        Tallies[0].ProgressContext = Report;
        Tallies[Number].Progress = ReaderShowReportProgress;
        Tallies[Number].ProgressContext = Report;
    }

    return STATUS_SUCCESS;
}


static
LONG
ReaderCompareRanks(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions as they appear in the session.

Arguments:

    CompareContext - The report.

    First, Second - Function indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_REPORT Report = (PREADER_REPORT)CompareContext;

    if (Report->Ranks[First] == Report->Ranks[Second]) {
        return 0;
    }

    return Report->Ranks[First] < Report->Ranks[Second] ? -1 : 1;
}


_Must_inspect_result_
static
NTSTATUS
ReaderMergeReportHistogram(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_HISTOGRAM Other
    )
/*++

Routine Description:

    Adds what a worker has of a function's histogram.

Arguments:

    Tally - The worker's.

    Histogram - What to add to.

    Other - What to add; empty afterwards.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    NTSTATUS Status = STATUS_SUCCESS;

    if (Histogram->NumberOfBuckets == 0) {
        *Histogram = *Other;
        RtlZeroBytes(Other, sizeof(*Other));
    } else {
        Status = CoreMergeHistogram(Histogram, Tally->Arena, Other);
        CoreRundownHistogram(Other, Tally->Arena);
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderMergeReport(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Puts together what the workers have.  Nothing in it depends on which of
    them read what.

Arguments:

    Report - The report, with all threads read.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Report->Session.Context->Allocator;
    SIZE_T Number = Report->Functions.NumberOfFunctions;
    ULONG Worker;
    ULONG Index;
    NTSTATUS Status;

    Report->Statistics = (PREADER_STATISTICS)
        Allocator->Allocate(Allocator->Context,
                            Number * sizeof(READER_STATISTICS));
    Report->Ranks = (PULONGLONG)
        Allocator->Allocate(Allocator->Context, Number * sizeof(ULONGLONG));
    Report->Order = (PULONG)
        Allocator->Allocate(Allocator->Context, Number * sizeof(ULONG));
    if (Report->Statistics == NULL || Report->Ranks == NULL ||
        Report->Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (Report->HasHistograms) {
        Report->Histograms = (PCORE_HISTOGRAM)
            Allocator->Allocate(Allocator->Context,
                                Number * sizeof(CORE_HISTOGRAM));
        if (Report->Histograms == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    for (Index = 0; Index < Number; Index++) {
        Report->Ranks[Index] = ~0ULL;
        Report->Order[Index] = Index;
    }

    for (Worker = 0; Worker < Report->NumberOfWorkers; Worker++) {

        PREADER_TALLY Tally = &Report->Tallies[Worker];

        Report->Unmatched += Tally->Unmatched;
        Report->NumberOfRecords += Tally->NumberOfRecords;
        Report->NumberOfOrdinary += Tally->NumberOfOrdinary;

        for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {

            ULONG Function = Tally->List[Index].Function;
            ULONGLONG Rank =
                ((ULONGLONG)Tally->List[Index].Thread << 32) | Index;

            ReaderMergeStatistics(&Report->Statistics[Function],
                                  Tally,
                                  Index);
            if (Rank < Report->Ranks[Function]) {
                Report->Ranks[Function] = Rank;
            }

            if (Report->HasHistograms) {
                Status = ReaderMergeReportHistogram(
                    Tally,
                    &Report->Histograms[Function],
                    &Tally->Histograms[Index]);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }
    }

    //
    // What was read before the range was read, too.
    //

    for (Worker = 0; Worker < Report->NumberOfWorkers; Worker++) {
        Report->NumberOfRecords +=
            Report->Tallies[Report->NumberOfWorkers + Worker].NumberOfRecords;
    }

    for (Index = 0; Index < Number; Index++) {
        ReaderSubtractProbe(&Report->Session, &Report->Statistics[Index]);
    }

    ReaderSort(Report->Order, (ULONG)Number, ReaderCompareRanks, Report);
    Report->IsMerged = TRUE;
    return STATUS_SUCCESS;
}


static
ULONG
ReaderWarnOfReport(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Says what went wrong while the threads were read, thread by thread.

Arguments:

    Report - The report, merged if there was memory for that.

Return Value:

    READER_EXIT_*.

--*/
{
    PREADER_SESSION Session = &Report->Session;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Function = 0;
    ULONG Thread;
    ULONG StoreIndex;

    for (Thread = 0; Thread < Session->NumberOfThreads; Thread++) {

        //
        // What a module lacks is said when its first function appears.
        //

        while (Report->IsMerged &&
               Function < Report->Functions.NumberOfFunctions &&
               Report->Ranks[Report->Order[Function]] >> 32 <= Thread) {

            ReaderWarnOfSymbols(
                Session,
                Session->Modules[Report->Functions
                                     .Functions[Report->Order[Function]]
                                     .Module]);
            Function += 1;
        }

        if (!ReaderIsThreadReported(Report, Thread)) {
            continue;
        }

        for (StoreIndex = Session->Threads[Thread].FirstStore;
             StoreIndex != READER_NONE;
             StoreIndex = Session->Stores[StoreIndex]->NextInThread) {
            ReaderWarnOfRecords(Session->Context,
                                Session->Stores[StoreIndex]);
        }

        if (!NT_SUCCESS(Report->ThreadStatus[Thread])) {
            ExitCode = ReaderFailThread(Session,
                                        Thread,
                                        Report->ThreadStatus[Thread]);
        }
    }

    return ExitCode;
}


static
LONG
ReaderCompareReportRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions as --sort says, and by name where that leaves a tie.

Arguments:

    CompareContext - The report.

    First, Second - Function indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_REPORT Report = (PREADER_REPORT)CompareContext;
    PCREADER_FUNCTION FirstFunction = &Report->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Report->Functions.Functions[Second];
    LONG Order;

    Order = ReaderCompareStatistics(&Report->Statistics[First],
                                    &Report->Statistics[Second],
                                    Report->Options->SortKey);
    if (Order == 0) {
        Order = ReaderCompareText(FirstFunction->Name,
                                  FirstFunction->NameLength,
                                  SecondFunction->Name,
                                  SecondFunction->NameLength);
    }

    if (Order == 0) {
        Order = ReaderCompareRanks(Report, First, Second);
    }

    return Order;
}


static
VOID
ReaderPutReportPercentiles(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_REPORT *Report,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Writes a function's percentiles.  There are none where the probe's cost was
    taken out, or where calls are in trees: what is known is of all calls
    together, not of each.

Arguments:

    Output - The output.

    Report - The report, merged.

    Function - The function.

Return Value:

    None.

--*/
{
    static const ULONG Shares[] = { 500, 900, 990 };
    PCREADER_STATISTICS Statistics = &Report->Statistics[Function];
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Shares); Index++) {
        if (!Report->HasHistograms || Statistics->InTrees != 0 ||
            Statistics->Calls == Statistics->Abandoned) {
            ReaderPutNothing(Output);
        } else {
            ReaderPutNumber(Output,
                            CoreQueryPercentile(&Report->Histograms[Function],
                                                Shares[Index],
                                                Statistics->MaximumTicks));
        }
    }
}


static
VOID
ReaderPutSource(
    _Inout_ PREADER_REPORT Report,
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_FUNCTION Function
    )
/*++

Routine Description:

    Writes the cells that say where a function begins: the file and the line
    of its first instruction.

Arguments:

    Report - The report.

    Output - The output.

    Function - The function.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Report->Context.Allocator;
    READER_SOURCE_LINE Line;
    RTL_WRITER Writer;
    PCHAR Text;
    ULONG Capacity;
    BOOLEAN IsText = Output->Format == ReaderFormatText;

    if ((IsText && (Report->Options->Given & READER_OPTION_LINES) == 0) ||
        !ReaderFindLine(&Report->Session,
                        ((ULONGLONG)Function->Module << 32) | Function->Rva,
                        &Line)) {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
        return;
    }

    if (!IsText) {
        ReaderPutText(Output, Line.FileName, Line.LengthInBytes);
        ReaderPutNumber(Output, Line.LineNumber);
        return;
    }

    Capacity = Line.LengthInBytes + READER_LINE_NUMBER_SIZE;
    Text = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
    if (Text == NULL) {
        ReaderPutText(Output, Line.FileName, Line.LengthInBytes);
    } else {
        RtlInitializeBufferWriter(&Writer, Text, Capacity);
        RtlWriteBytes(&Writer, Line.FileName, Line.LengthInBytes);
        RtlWriteText(&Writer, ":%u", Line.LineNumber);
        ReaderPutText(Output, Text, Writer.LengthInBytes);
        Allocator->Free(Allocator->Context, Text);
    }

    ReaderPutNothing(Output);
}


static
VOID
ReaderBeginReport(
    _Inout_ PREADER_REPORT Report,
    _In_ ULONGLONG HiddenColumns
    )
/*++

Routine Description:

    Begins what is written of all processes, or of the next one: in text each
    has a table, otherwise there is one.

Arguments:

    Report - The report.

    HiddenColumns - What text leaves out.

Return Value:

    None.

--*/
{
    PREADER_OUTPUT Output = &Report->Output;
    PCREADER_PROCESS Process;

    if (Report->NumberOfProcesses == 0) {
        ReaderBeginDocument(Output,
                            Report->Session.Context->Output,
                            Report->Options->Format,
                            &Report->Session.Clock,
                            "report",
                            FALSE);
        Output->HasProcesses = Report->Process != READER_NONE;
    }

    Report->NumberOfProcesses += 1;
    if (Output->Format != ReaderFormatText && Report->NumberOfProcesses != 1) {
        return;
    }

    if (Output->Format == ReaderFormatText && Report->Process != READER_NONE) {

        Process = &Report->Session.Processes[Report->Process];
        if (Report->NumberOfProcesses != 1) {
            RtlWriteText(Output->Writer, "\n");
        }

        RtlWriteText(Output->Writer,
                     "Process %u: ",
                     Process->Header->ProcessId);
        ReaderWriteCleanText(Output->Writer,
                             Process->Name,
                             Process->NameLength);
        RtlWriteText(Output->Writer, "\n");
        Output->NumberOfTables = 0;
    }

    ReaderBeginTable(
        Output,
        &ReaderReportTables[Report->Session.IsProbeSubtracted ? 1 : 0]
                           [(Report->Options->Given & READER_OPTION_LINES) != 0
                                ? 1
                                : 0],
        HiddenColumns);
}


static
VOID
ReaderEndReport(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Ends what is written.

Arguments:

    Report - The report, all of it written.

Return Value:

    None.

--*/
{
    PREADER_OUTPUT Output = &Report->Output;

    if (Output->Format != ReaderFormatText) {
        ReaderEndTable(Output);
    }

    if (Output->Format == ReaderFormatText && Report->Process == READER_NONE &&
        Report->Session.NumberOfProcesses > 1) {
        RtlWriteText(Output->Writer,
                     "Sums over %u processes: --by process tells them "
                     "apart.\n",
                     Report->Session.NumberOfProcesses);
    }

    ReaderPutNotShown(Output, Report->Options->Filter, &Report->NotShown);
    ReaderPutRangeNote(Output, Report->Options, Report->BegunBefore);
    ReaderPutProbeNote(Output, &Report->Session);
    ReaderPutClockNote(Output, &Report->Session);
    ReaderEndDocument(Output);
}


static
VOID
ReaderPutReport(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Writes what was read: of all processes, or of one.

Arguments:

    Report - The report, merged.

Return Value:

    None.

--*/
{
    PCREADER_OPTIONS Options = Report->Options;
    PREADER_OUTPUT Output = &Report->Output;
    ULONGLONG Abandoned = 0;
    ULONGLONG Unfinished = 0;
    ULONGLONG Uncertain = 0;
    ULONGLONG BegunBefore = 0;
    PULONG Order = Report->Order;
    ULONG Count = 0;
    BOOLEAN HasLines = (Options->Given & READER_OPTION_LINES) != 0;
    ULONGLONG HiddenColumns;
    ULONG Index;

    ReaderFilterFunctions(&Report->Functions, Options->Filter);
    for (Index = 0; Index < Report->Functions.NumberOfFunctions; Index++) {

        ULONG Module = Report->Functions.Functions[Index].Module;

        if (!Report->Session.Modules[Module]->IsSelected ||
            Report->Statistics[Index].Calls == 0) {
            continue;
        }

        if (!Report->Functions.Functions[Index].IsShown) {
            Report->NotShown.Rows += 1;
            Report->NotShown.Calls += Report->Statistics[Index].Calls;
        } else {
            Abandoned += Report->Statistics[Index].Abandoned;
            Unfinished += Report->Statistics[Index].Unfinished;
            Uncertain += Report->Statistics[Index].Uncertain;
            BegunBefore += Report->Statistics[Index].BegunBefore;
            Order[Count] = Index;
            Count += 1;
        }
    }

    Report->NumberShown += Count;
    Report->BegunBefore += BegunBefore;
    ReaderSort(Order, Count, ReaderCompareReportRows, Report);

    HiddenColumns = 1ULL << READER_REPORT_RVA_COLUMN |
                    1ULL << READER_REPORT_FOLDED_COLUMN |
                    1ULL << READER_REPORT_LINE_COLUMN |
                    READER_REPORT_PROCESS_COLUMNS;
    if (!HasLines) {
        HiddenColumns |= 1ULL << READER_REPORT_FILE_COLUMN;
    }

    if (!Report->HasHistograms) {
        HiddenColumns |= READER_REPORT_PERCENTILE_COLUMNS;
    }

    if (Abandoned == 0) {
        HiddenColumns |= READER_STATISTICS_ABANDONED_COLUMNS;
    }

    if (Unfinished == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNFINISHED_COLUMN;
    }

    if (Uncertain == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNCERTAIN_COLUMN;
    }

    if (BegunBefore == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_BEGUN_BEFORE_COLUMN;
    }

    if (Report->Session.NumberOfModules == 1) {
        HiddenColumns |= 1u << READER_REPORT_MODULE_COLUMN;
    }

    if (Report->Session.IsProbeSubtracted) {
        HiddenColumns = (HiddenColumns & READER_STATISTICS_ALL_COLUMNS) |
                        (HiddenColumns & ~READER_STATISTICS_ALL_COLUMNS)
                            << READER_PROBE_NUMBER_OF_COLUMNS |
                        READER_PROBE_HIDDEN_COLUMNS;
    }

    ReaderBeginReport(Report, HiddenColumns);
    for (Index = 0; Index < Count && Index < Options->Limit; Index++) {

        PCREADER_FUNCTION Function =
            &Report->Functions.Functions[Order[Index]];
        const READER_MODULE *Module =
            Report->Session.Modules[Function->Module];

        ReaderPutStatistics(Output, &Report->Statistics[Order[Index]]);
        ReaderPutProbe(Output,
                       &Report->Session,
                       &Report->Statistics[Order[Index]]);
        ReaderPutReportPercentiles(Output, Report, Order[Index]);
        ReaderPutText(Output, Module->Name, Module->NameLength);
        if (Function->Rva == READER_OTHER_RVA) {
            ReaderPutNothing(Output);
        } else {
            ReaderPutNumber(Output, Function->Rva);
        }

        ReaderPutText(Output, Function->FoldedNames, Function->FoldedLength);
        ReaderPutText(Output, Function->Name, Function->NameLength);
        ReaderPutSource(Report, Output, Function);
        ReaderPutProcess(Output,
                         &Report->Session,
                         Report->Process != READER_NONE ? Report->Process : 0);
    }

    if (Options->Format != ReaderFormatText) {
        return;
    }

    ReaderEndTable(Output);
    ReaderPutMore(Output, Count - Index, "function");
    if (Abandoned != 0) {
        ReaderPutNote(Output, READER_ABANDONED_NOTE_OF(&Report->Session));
    }

    if (Unfinished != 0) {
        ReaderPutNote(Output,
                      Report->Range.IsGiven
                          ? READER_UNFINISHED_RANGE_NOTE
                          : READER_UNFINISHED_NOTE_OF(&Report->Session));
    }

    if (Uncertain != 0) {
        ReaderPutNote(Output, READER_UNCERTAIN_NOTE);
    }

    if (Report->Unmatched != 0) {
        RtlWriteText(Output->Writer,
                     "%llu exits had no entry%s.\n",
                     Report->Unmatched,
                     ReaderIsRingOverwritten(&Report->Session)
                         ? ": a ring keeps the newest records"
                         : "");
    }
}


static
VOID
ReaderPutReportCost(
    _In_ const READER_REPORT *Report,
    _In_ LONGLONG StartCounts
    )
/*++

Routine Description:

    Writes, on the error output, what was read, how fast and in how much
    memory.

Arguments:

    Report - The report.

    StartCounts - The performance counter when the command began.

Return Value:

    None.

--*/
{
    PCRTL Rtl = Report->Context.Rtl;
    READER_VM_COUNTERS Counters;
    LARGE_INTEGER Now;
    LARGE_INTEGER Frequency;
    ULONGLONG Microseconds = 0;
    ULONGLONG Rate = 0;
    ULONGLONG Records = Report->NumberOfRecords -
                        Report->Session.NumberPassedBy;

    RtlZeroBytes(&Counters, sizeof(Counters));
    (VOID)Rtl->NtQueryInformationProcess((HANDLE)(LONG_PTR)-1,
                                         READER_PROCESS_VM_COUNTERS,
                                         &Counters,
                                         sizeof(Counters),
                                         NULL);
    if (NT_SUCCESS(Rtl->NtQueryPerformanceCounter(&Now, &Frequency)) &&
        Frequency.QuadPart > 0) {
        Microseconds =
            CoreMultiplyDivide((ULONGLONG)(Now.QuadPart - StartCounts),
                               1000000,
                               (ULONGLONG)Frequency.QuadPart);
    }

    if (Microseconds != 0) {
        Rate = CoreMultiplyDivide(Records,
                                  1000000,
                                  Microseconds);
    }

    RtlWriteText(Report->Context.Errors,
                 "TraceReader: %llu records of %u threads in %llu us by %u "
                 "workers: %llu records/s; %llu were ordinary; peak working "
                 "set %llu KiB\n",
                 Records,
                 Report->NumberOfThreads,
                 Microseconds,
                 Report->MaximumUsed,
                 Rate,
                 Report->NumberOfOrdinary,
                 (ULONGLONG)(Counters.PeakWorkingSetSize / 1024));
    RtlFlushWriter(Report->Context.Errors);
}


static
VOID
ReaderForgetReport(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Frees what was read, so that the next process can be.

Arguments:

    Report - The report.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Report->Context.Allocator;
    ULONG Index;

    for (Index = 0; Index < 2 * Report->NumberOfWorkers; Index++) {
        ReaderRundownTally(&Report->Tallies[Index]);
    }

    Allocator->Free(Allocator->Context, Report->Histograms);
    Allocator->Free(Allocator->Context, Report->Tallies);
    Allocator->Free(Allocator->Context, Report->ThreadStatus);
    Allocator->Free(Allocator->Context, Report->Statistics);
    Allocator->Free(Allocator->Context, Report->Ranks);
    Allocator->Free(Allocator->Context, Report->Order);
    Report->Histograms = NULL;
    Report->Tallies = NULL;
    Report->ThreadStatus = NULL;
    Report->Statistics = NULL;
    Report->Ranks = NULL;
    Report->Order = NULL;
    Report->NumberOfWorkers = 0;
    Report->Unmatched = 0;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReportProcess(
    _Inout_ PREADER_REPORT Report,
    _Inout_ PULONG ExitCode
    )
/*++

Routine Description:

    Reads and writes one process, or all.

Arguments:

    Report - The report, whose Process says which.

    ExitCode - Is set if a thread cannot be read to its end, which does not
        hide the others.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    NTSTATUS Status;
    ULONG Code;

    Status = ReaderPrepareReport(Report);
    if (NT_SUCCESS(Status)) {

        ReaderRunWorkers(&Report->Context,
                         Report->NumberOfWorkers,
                         ReaderReportThreads,
                         Report,
                         Report->Tallies[0].Progress != NULL
                             ? ReaderWaitForReport
                             : NULL);
        ReaderEraseProgress(&Report->Progress);
        Status = ReaderMergeReport(Report);
        Code = ReaderWarnOfReport(Report);
        if (Code != READER_EXIT_SUCCESS) {
            *ExitCode = Code;
        }

        if (NT_SUCCESS(Status)) {
            ReaderPutReport(Report);
        }
    }

    ReaderForgetReport(Report);
    return Status;
}


static
ULONG
ReaderCommandReport(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs report.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_REPORT Report;
    LARGE_INTEGER Start;
    ULONG ExitCode;
    ULONG Process;
    NTSTATUS Status;

    RtlZeroBytes(&Report, sizeof(Report));
    Report.Options = Options;
    Report.Context = *Context;
    Report.MaximumWorkers = Options->NumberOfWorkers;
    if (Report.MaximumWorkers == 0) {
        Report.MaximumWorkers = Context->NumberOfProcessors;
    }

    if (Report.MaximumWorkers > READER_MAXIMUM_WORKERS) {
        Report.MaximumWorkers = READER_MAXIMUM_WORKERS;
    }

    if (!NT_SUCCESS(Context->Rtl->NtQueryPerformanceCounter(&Start, NULL))) {
        Start.QuadPart = 0;
    }

    //
    // Without the locks there is one worker.
    //

    if (Report.MaximumWorkers > 1) {

        if (NT_SUCCESS(ReaderInitializeLockedAllocator(&Report.Allocator,
                                                       Context)) &&
            NT_SUCCESS(ReaderInitializeLock(&Report.Lock, Context->Rtl))) {
            Report.Context.Allocator = &Report.Allocator.Allocator;
        } else {
            Report.MaximumWorkers = 1;
        }
    }

    if (!ReaderBeginCommand(&Report.Session, &Report.Context, Options)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    if (!ReaderBeginProbe(&Report.Session, Options) ||
        !ReaderQueryRange(&Report.Session, Options, &Report.Range)) {
        ExitCode = READER_EXIT_FAILURE;
        ReaderCloseSession(&Report.Session);
        goto End;
    }

    ReaderInitializeFunctions(&Report.Functions, &Report.Session);
    Report.Functions.IsQuiet = TRUE;
    Report.HasHistograms =
        ((Options->Given & READER_OPTION_PERCENTILES) != 0 ||
         Options->Format != ReaderFormatText) &&
        Report.Session.Clock.Kind != TRACE_CLOCK_NONE;

    ExitCode = READER_EXIT_SUCCESS;
    Report.Process = READER_NONE;
    if ((Options->Given & READER_OPTION_BY) == 0) {
        Status = ReaderReportProcess(&Report, &ExitCode);
    } else {
        Status = STATUS_SUCCESS;
        for (Process = 0;
             NT_SUCCESS(Status) && Process < Report.Session.NumberOfProcesses;
             Process++) {
            Report.Process = Process;
            Status = ReaderReportProcess(&Report, &ExitCode);
        }
    }

    if (NT_SUCCESS(Status)) {
        ReaderEndReport(&Report);
        ExitCode = ReaderEndFilter(Context,
                                   Options->Filter,
                                   Report.NumberShown,
                                   &Report.NotShown,
                                   ExitCode);
    } else {
        ExitCode = ReaderFail(Context, "report", Options->PathUtf8, Status);
    }

    ReaderSaveCache(&Report.Session,
                    (Options->Given & READER_OPTION_VERBOSE) != 0);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        ReaderPutReportCost(&Report, Start.QuadPart);
        ReaderPutFilterCost(&Report.Functions, Options->Filter);
        ReaderPutIndexCost(&Report.Session);
    }

    ReaderRundownFunctions(&Report.Functions);
    ReaderCloseSession(&Report.Session);

End:
    ReaderRundownLock(&Report.Lock);
    ReaderRundownLock(&Report.Allocator.Lock);
    return ExitCode;
}


const READER_COMMAND ReaderReportCommand = {
    "report",
    "PATH",
    "Shows each function's calls and times",
    "CSV, and JSON in the array functions, hold\n"
    READER_STATISTICS_FIELDS "\n  p50_ns, p90_ns, p99_ns, module, rva, "
    "folded, function, file, line\n"
    "(folded: other functions that the linker has put in the same place),\n"
    "and with --by process process_id and process\n"
    READER_FRAMES_NOTE
    READER_RANGE_NOTE
    "Total counts a recursive function once; average, min and max are of\n"
    "each call's inclusive time, and so are p50, p90 and p99: half of the\n"
    "calls, 90 and 99 of 100 took no longer.\n"
    READER_PERCENTILES_NOTE
    "File and line are those of the function's first instruction, from the\n"
    "PDB or from DWARF; text has them with --lines.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_PROBE_HELP
    READER_TICKS_NOTE,
    "  TraceReader report --limit 20 SESSION\n"
    "  TraceReader report --sort self --module game SESSION\n"
    "  TraceReader report --lines --limit 20 SESSION\n"
    "  TraceReader report --from 1.5s --to 1.6s SESSION\n"
    "  TraceReader report --by process TRACES\n"
    "  TraceReader report --csv SESSION > report.csv\n",
    READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_THREAD | READER_OPTION_MODULE |
        READER_OPTION_WORKERS | READER_OPTION_GENERAL |
        READER_OPTION_VERBOSE | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTIONS_OF_READING |
        READER_OPTION_FILTER | READER_OPTION_PROBE |
        READER_OPTION_PERCENTILES |
        READER_OPTION_LINES | READER_OPTION_BY,
    ReaderCommandReport
};
