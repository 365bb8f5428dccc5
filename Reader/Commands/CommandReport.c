/*++

Module Name:

    CommandReport.c

Abstract:

    TraceReader report: each function's calls and times, or each module's.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionLog.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionFilter.h"
#include "../Functions/FunctionLine.h"
#include "../Functions/FunctionStub.h"
#include "../Calls/CallIndex.h"
#include "../Calls/CallProbe.h"
#include "../Calls/CallWaits.h"
#include "../Sums/SumModules.h"
#include "../Sums/SumPaths.h"
#include "../Sums/SumPutStatistics.h"
#include "../Sums/SumRead.h"
#include "../Sums/SumStates.h"
#include "../Sums/SumTally.h"
#include "Command.h"

//
// When text shows some of the columns.
//

#define READER_REPORT_PERCENTILES READER_COLUMN_OWN(0)      // --percentiles
#define READER_REPORT_LINES READER_COLUMN_OWN(1)            // --lines

//
// The columns after those of the statistics and, with --subtract-probe, of the
// probe.  In text file and line are one, in the place of the file.
//

#define READER_REPORT_MORE_COLUMNS(FunctionWidth, FileTitle)                \
    { "p50", "p50", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_REPORT_PERCENTILES,                   \
      "Half of the calls took no longer; up to 3.2 % too large. This and "  \
      "the other percentiles are null where calls are in trees." },         \
    { "p90", "p90", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_REPORT_PERCENTILES,                   \
      "90 of 100 calls took no longer." },                                  \
    { "p99", "p99", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_REPORT_PERCENTILES,                   \
      "99 of 100 calls took no longer." },                                  \
    { "Called by", "caller_modules", ReaderColumnText, 16,                  \
      READER_COLUMN_NULLABLE | READER_COLUMN_CALLER,                        \
      "Of an imported function, the modules that called it, separated by "  \
      "'; '; null for others." },                                           \
    { "Module", "module", ReaderColumnText, 16, READER_COLUMN_MODULE,       \
      "The module's file name." },                                          \
    { "", "rva", ReaderColumnHexadecimal, 0,                                \
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,                          \
      "Where the function begins, from the image base; hexadecimal. Null "  \
      "for (other): functions that had no room in a tree." },               \
    { "", "folded", ReaderColumnText, 0,                                    \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The names of other functions that the linker found to be identical " \
      "and that begin at the same address, separated by '; '; null if "     \
      "there are none." },                                                  \
    { "Function", "function", ReaderColumnText, FunctionWidth, 0,           \
      "The function's name, or module+0xRVA." },                            \
    { FileTitle, "file", ReaderColumnText, 0,                               \
      READER_COLUMN_NULLABLE | READER_REPORT_LINES,                         \
      "The source file, as the debugging information has it; null if it "   \
      "is not known." },                                                    \
    { "", "line", ReaderColumnNumber, 0,                                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,                          \
      "The line where the function begins; null if it is not known." },     \
    READER_PROCESS_COLUMNS_OF(READER_COLUMN_DATA)

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

//
// With --etl, which does not go together with the probe's cost; and all columns
// that there are, for the schema.
//

static const READER_COLUMN ReaderReportStateColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_FUNCTION_STATE_COLUMNS,
    READER_REPORT_MORE_COLUMNS(0, "")
};

static const READER_COLUMN ReaderReportStateLineColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_FUNCTION_STATE_COLUMNS,
    READER_REPORT_MORE_COLUMNS(READER_REPORT_FUNCTION_WIDTH, "Source")
};

static const READER_COLUMN ReaderReportAllColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_PROBE_COLUMNS,
    READER_FUNCTION_STATE_COLUMNS,
    READER_REPORT_MORE_COLUMNS(0, "")
};

#define READER_REPORT_TABLE(Columns)                                        \
    { "functions", Columns, RTL_NUMBER_OF(Columns), FALSE, FALSE,           \
      "A row for each function, in the order of --sort." }

//
// By whether the probe's cost is taken out, or --etl was given, and whether
// text shows lines.
//

#define READER_REPORT_STATES 2u

static const READER_TABLE ReaderReportAllTable =
    READER_REPORT_TABLE(ReaderReportAllColumns);

static const READER_TABLE ReaderReportKinds[3][2] = {
    {
        READER_REPORT_TABLE(ReaderReportColumns),
        READER_REPORT_TABLE(ReaderReportLineColumns)
    },
    {
        READER_REPORT_TABLE(ReaderReportProbeColumns),
        READER_REPORT_TABLE(ReaderReportProbeLineColumns)
    },
    {
        READER_REPORT_TABLE(ReaderReportStateColumns),
        READER_REPORT_TABLE(ReaderReportStateLineColumns)
    }
};

//
// With --by module.
//

#define READER_REPORT_MODULE_COLUMNS                                        \
    { "Inside", "inside", ReaderColumnNumber, 10, 0,                        \
      "Calls that the module's own functions made, one of another." },      \
    { "Functions", "functions", ReaderColumnNumber, 9, 0,                   \
      "Functions of the module that were called." },                        \
    { "Module", "module", ReaderColumnText, 0, 0,                           \
      "The module's file name." },                                          \
    READER_PROCESS_COLUMNS_OF(READER_COLUMN_DATA)

static const READER_COLUMN ReaderReportModuleColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_REPORT_MODULE_COLUMNS
};

static const READER_COLUMN ReaderReportProbeModuleColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_PROBE_COLUMNS,
    READER_REPORT_MODULE_COLUMNS
};

#define READER_REPORT_MODULE_TABLE(Columns)                                 \
    { "modules", Columns, RTL_NUMBER_OF(Columns), FALSE, FALSE,             \
      "A row for each module, in the order of --sort. Its numbers are of "  \
      "the calls into it, those that other modules made, and total counts " \
      "a call once that is inside another one into the module; self is of " \
      "all calls in it. Unlike in other tables total has the time of "      \
      "abandoned calls, too: what was called from them is in it." }

static const READER_TABLE ReaderReportModuleKinds[2] = {
    READER_REPORT_MODULE_TABLE(ReaderReportModuleColumns),
    READER_REPORT_MODULE_TABLE(ReaderReportProbeModuleColumns)
};

#define READER_ABANDONED_MODULE_NOTE                                        \
    "Abandoned: left without an exit (exception, longjmp, no return).  "     \
    "Their time, up to the record that showed it, is in total, with that "   \
    "of what was called until then, which may be shown inside them."

//
// ":" and a line's number.
//

#define READER_LINE_NUMBER_SIZE 16

typedef struct _READER_REPORT {
    PCREADER_OPTIONS Options;
    READER_TEAM Team;
    READER_SESSION Session;
    READER_RANGE Range;
    READER_FUNCTIONS Functions;
    READER_READING Reading;             // of the process that is read
    READER_ETL Etl;
    READER_STATES States;               // with --etl, of that process
    ULONG MaximumUsed;                  // workers
    PREADER_STATISTICS Statistics;      // by function
    PCORE_HISTOGRAM Histograms;         // by function; NULL: there are none
    PULONGLONG Ranks;                   // by function: the thread where it was
                                        // seen first << 32 | how many were
                                        // seen before it
    PULONG Order;                       // functions, as they are shown
    ULONGLONG Unmatched;
    ULONGLONG BegunBefore;
    ULONGLONG NumberShown;              // of functions
    READER_NOT_SHOWN NotShown;
    READER_OUTPUT Output;
    ULONG NumberOfProcesses;            // that have been written
    PREADER_MODULE_SUM Modules;         // with --by module
    BOOLEAN HasHistograms;
} READER_REPORT;
typedef READER_REPORT *PREADER_REPORT;


//
// Makes what each worker adds up in.
//

_Must_inspect_result_
static
NTSTATUS
CommandPrepareReport(
    _Inout_ PREADER_REPORT Report
    )
{
    PREADER_READING Reading = &Report->Reading;
    PREADER_TALLY Tally;
    ULONG Index;
    NTSTATUS Status;

    Status = SumInitializeReading(Reading);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < 2 * Reading->NumberOfWorkers;
         Index++) {

        Tally = &Reading->Tallies[Index];
        Tally->IsGeneral =
            (Report->Options->Given & READER_OPTION_GENERAL) != 0;
        if (Index < Reading->NumberOfWorkers) {
            Tally->HasProbe = Report->Session.IsProbeSubtracted;
            Tally->HasHistograms = Report->HasHistograms;
            Tally->IsNotingCallers = TRUE;
        } else {

            //
            // Of a module without calls in the range nothing is shown, and so
            // nothing is said.
            //

            Tally->IsSaidAtOnce = FALSE;
            Tally->IsNoting = FALSE;
        }
    }

    if (Report->MaximumUsed < Reading->NumberOfWorkers) {
        Report->MaximumUsed = Reading->NumberOfWorkers;
    }

    return Status;
}


//
// Orders functions as they appear in the session.
// CompareContext: the report.
// First, Second: function indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareRanks(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_REPORT Report = (PREADER_REPORT)CompareContext;

    if (Report->Ranks[First] == Report->Ranks[Second]) {
        return 0;
    }

    return Report->Ranks[First] < Report->Ranks[Second] ? -1 : 1;
}


//
// Adds what a worker has of a function's histogram.
// Other: what to add; empty afterwards.
//

_Must_inspect_result_
static
NTSTATUS
CommandMergeReportHistogram(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_HISTOGRAM Other
    )
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


//
// Puts together what the workers have. Nothing in it depends on which of them
// read what.
// Report: the report, with all threads read.
//

_Must_inspect_result_
static
NTSTATUS
CommandMergeReport(
    _Inout_ PREADER_REPORT Report
    )
{
    PCALLOCATOR Allocator = Report->Session.Context->Allocator;
    PREADER_READING Reading = &Report->Reading;
    SIZE_T Number = Report->Functions.NumberOfFunctions;
    PREADER_TALLY Tally;
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
    }

    for (Worker = 0; Worker < Reading->NumberOfWorkers; Worker++) {

        Tally = &Reading->Tallies[Worker];
        Report->Unmatched += Tally->Unmatched;

        for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {

            ULONG Function = Tally->List[Index].Function;
            ULONGLONG Rank =
                ((ULONGLONG)Tally->List[Index].Thread << 32) | Index;

            SumMergeStatistics(&Report->Statistics[Function],
                               Tally,
                               Index);
            if (Rank < Report->Ranks[Function]) {
                Report->Ranks[Function] = Rank;
            }

            if (Report->HasHistograms) {
                Status = CommandMergeReportHistogram(
                    Tally,
                    &Report->Histograms[Function],
                    &Tally->Histograms[Index]);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }
    }

    for (Index = 0; Index < Number; Index++) {
        CallSubtractProbe(&Report->Session, &Report->Statistics[Index]);
    }

    return STATUS_SUCCESS;
}


//
// Orders functions as --sort says, and by name where that leaves a tie.
// First, Second: function indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareReportRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_REPORT Report = (PREADER_REPORT)CompareContext;
    PCREADER_FUNCTION FirstFunction = &Report->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Report->Functions.Functions[Second];
    LONG Order;

    Order = SumCompareStatistics(&Report->Statistics[First],
                                 &Report->Statistics[Second],
                                 Report->Options->SortKey);
    if (Order == 0) {
        Order = FunctionCompareNames(FirstFunction, SecondFunction);
    }

    if (Order == 0) {
        Order = CommandCompareRanks(Report, First, Second);
    }

    return Order;
}


//
// Writes a function's percentiles. There are none where the probe's cost was
// taken out, or where calls are in trees: what is known is of all calls
// together, not of each.
//
// Report: the report, merged.
//

static
VOID
CommandPutReportPercentiles(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_REPORT *Report,
    _In_ ULONG Function
    )
{
    static const ULONG Shares[] = { 500, 900, 990 };
    PCREADER_STATISTICS Statistics = &Report->Statistics[Function];
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Shares); Index++) {
        if (!Report->HasHistograms || Statistics->InTrees != 0 ||
            Statistics->Calls == Statistics->Abandoned) {
            OutputPutNothing(Output);
        } else {
            OutputPutNumber(Output,
                            CoreQueryPercentile(&Report->Histograms[Function],
                                                Shares[Index],
                                                Statistics->MaximumTicks));
        }
    }
}


//
// Writes the cells that say where a function begins: the file and the line of
// its first instruction.
//

static
VOID
CommandPutSource(
    _Inout_ PREADER_REPORT Report,
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_FUNCTION Function
    )
{
    PCALLOCATOR Allocator = Report->Session.Context->Allocator;
    READER_SOURCE_LINE Line;
    RTL_WRITER Writer;
    PCHAR Text;
    ULONG Capacity;
    BOOLEAN IsText = Output->Format == ReaderFormatText;

    if ((IsText && (Report->Options->Given & READER_OPTION_LINES) == 0) ||
        !FunctionFindLine(&Report->Session,
                          ((ULONGLONG)Function->Module << 32) | Function->Rva,
                          &Line)) {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        return;
    }

    if (!IsText) {
        OutputPutText(Output, Line.FileName, Line.LengthInBytes);
        OutputPutNumber(Output, Line.LineNumber);
        return;
    }

    Capacity = Line.LengthInBytes + READER_LINE_NUMBER_SIZE;
    Text = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
    if (Text == NULL) {
        OutputPutText(Output, Line.FileName, Line.LengthInBytes);
    } else {
        RtlInitializeBufferWriter(&Writer, Text, Capacity);
        RtlWriteBytes(&Writer, Line.FileName, Line.LengthInBytes);
        RtlWriteText(&Writer, ":%u", Line.LineNumber);
        OutputPutText(Output, Text, Writer.LengthInBytes);
        Allocator->Free(Allocator->Context, Text);
    }

    OutputPutNothing(Output);
}


//
// Begins what is written of all processes, or of the next one: in text each
// has a table, otherwise there is one.
// When: of READER_COLUMN_WHEN, for text.
// Self: the time that the rows' shares are of.
//

static
VOID
CommandBeginReport(
    _Inout_ PREADER_REPORT Report,
    _In_ PCREADER_TABLE Table,
    _In_ ULONG When,
    _In_ ULONGLONG Self
    )
{
    PREADER_OUTPUT Output = &Report->Output;
    PCREADER_PROCESS Process;

    if (Report->NumberOfProcesses == 0) {
        OutputBeginDocument(Output,
                            Report->Session.Context->Output,
                            Report->Options->Format,
                            &Report->Session.Clock,
                            "report",
                            FALSE);
        Output->HasProcesses = Report->Reading.Process != READER_NONE;
    }

    Report->NumberOfProcesses += 1;
    if (Output->Format != ReaderFormatText && Report->NumberOfProcesses != 1) {
        return;
    }

    if (Output->Format == ReaderFormatText &&
        Report->Reading.Process != READER_NONE) {

        Process = &Report->Session.Processes[Report->Reading.Process];
        if (Report->NumberOfProcesses != 1) {
            RtlWriteText(Output->Writer, "\n");
        }

        RtlWriteText(Output->Writer,
                     "Process %u: ",
                     Process->Header->ProcessId);
        RtlWriteCleanText(Output->Writer,
                          Process->Name,
                          Process->NameLength);
        RtlWriteText(Output->Writer, "\n");
        Output->NumberOfTables = 0;
    }

    Output->WholeField = "self";
    Output->Whole = Self;
    OutputBeginTable(Output, Table, When);
}


//
// Ends what is written.
//

static
VOID
CommandEndReport(
    _Inout_ PREADER_REPORT Report
    )
{
    PREADER_OUTPUT Output = &Report->Output;

    if (Output->Format != ReaderFormatText) {
        OutputEndTable(Output);
    }

    if (Output->Format == ReaderFormatText &&
        Report->Reading.Process == READER_NONE &&
        Report->Session.NumberOfProcesses > 1) {
        RtlWriteText(Output->Writer,
                     "Sums over %u processes: %s.\n",
                     Report->Session.NumberOfProcesses,
                     READER_IS_BY_MODULE(Report->Options)
                         ? "--by process,module shows them separately"
                         : "--by process shows them separately");
    }

    FunctionPutNotShown(Output, Report->Options->Filter, &Report->NotShown);
    CallPutRangeNote(Output, Report->Options, Report->BegunBefore);
    CallPutProbeNote(Output, &Report->Session);
    SumStatesPutNote(Output, &Report->Etl);
    SessionPutClockNote(Output, &Report->Session);
    SessionPutStopNote(Output, &Report->Session);
    SessionPutLogNote(Output, &Report->Session);
    OutputEndDocument(Output);
}


//
// Says what some columns mean, where they have numbers.
//

static
VOID
CommandPutReportNotes(
    _Inout_ PREADER_REPORT Report,
    _In_ ULONGLONG Abandoned,
    _In_ ULONGLONG Unfinished,
    _In_ ULONGLONG Uncertain
    )
{
    PREADER_OUTPUT Output = &Report->Output;

    if (Abandoned != 0) {
        OutputPutNote(Output,
                      READER_IS_BY_MODULE(Report->Options)
                          ? READER_ABANDONED_MODULE_NOTE
                          : SumQueryAbandonedNote(&Report->Session));
    }

    if (Unfinished != 0) {
        OutputPutNote(Output,
                      Report->Range.IsGiven
                          ? READER_UNFINISHED_RANGE_NOTE
                          : READER_UNFINISHED_NOTE_OF(&Report->Session));
    }

    if (Uncertain != 0) {
        OutputPutNote(Output, READER_UNCERTAIN_NOTE);
    }
}


//
// Writes what was read: of all processes, or of one.
// Report: the report, merged.
//

static
VOID
CommandPutReport(
    _Inout_ PREADER_REPORT Report
    )
{
    PCREADER_OPTIONS Options = Report->Options;
    PREADER_OUTPUT Output = &Report->Output;
    ULONGLONG Abandoned = 0;
    ULONGLONG Unfinished = 0;
    ULONGLONG Uncertain = 0;
    ULONGLONG BegunBefore = 0;
    ULONGLONG Waited = 0;
    ULONGLONG Self = 0;
    PULONG Order = Report->Order;
    ULONG Count = 0;
    BOOLEAN HasLines = (Options->Given & READER_OPTION_LINES) != 0;
    ULONG When;
    ULONG Index;

    FunctionFilterFunctions(&Report->Functions, Options->Filter);
    for (Index = 0; Index < Report->Functions.NumberOfFunctions; Index++) {

        if (!Report->Functions.Functions[Index].IsSelected ||
            Report->Statistics[Index].Calls == 0) {
            continue;
        }

        Self += Report->Statistics[Index].SelfTicks;
        if (!Report->Functions.Functions[Index].IsShown) {
            Report->NotShown.Rows += 1;
            Report->NotShown.Calls += Report->Statistics[Index].Calls;
        } else {
            Abandoned += Report->Statistics[Index].Abandoned;
            Unfinished += Report->Statistics[Index].Unfinished;
            Uncertain += Report->Statistics[Index].Uncertain;
            BegunBefore += Report->Statistics[Index].BegunBefore;
            Waited |= Report->Statistics[Index].WaitedTicks;
            Order[Count] = Index;
            Count += 1;
        }
    }

    Report->NumberShown += Count;
    Report->BegunBefore += BegunBefore;
    BaseSort(Order, Count, CommandCompareReportRows, Report);

    When = SumSelectColumns(Abandoned,
                            Unfinished,
                            Uncertain,
                            BegunBefore,
                            Report->Session.NumberOfModules);
    if (Report->Functions.Callers.Count != 0) {
        When |= READER_COLUMN_CALLER;
    }

    if (Waited != 0) {
        When |= READER_COLUMN_WAITED;
    }

    if (HasLines) {
        When |= READER_REPORT_LINES;
    }

    if (Report->HasHistograms) {
        When |= READER_REPORT_PERCENTILES;
    }

    if (Report->Etl.States.NumberOfSamples != 0) {
        When |= READER_COLUMN_SAMPLES;
    }

    CommandBeginReport(
        Report,
        &ReaderReportKinds[Report->Etl.IsThere ? READER_REPORT_STATES
                           : Report->Session.IsProbeSubtracted][HasLines],
        When,
        Self);
    for (Index = 0; Index < Count && Index < Options->Limit; Index++) {

        PCREADER_FUNCTION Function =
            &Report->Functions.Functions[Order[Index]];

        SumPutStatistics(Output, &Report->Statistics[Order[Index]]);
        CallPutProbe(Output,
                     &Report->Session,
                     &Report->Statistics[Order[Index]]);
        if (Report->Etl.IsThere) {
            SumStatesPut(Output,
                         SumStatesFind(&Report->States, Order[Index]),
                         &Report->Statistics[Order[Index]]);
        }

        CommandPutReportPercentiles(Output, Report, Order[Index]);
        FunctionStubPutCallers(Output, &Report->Functions, Order[Index]);
        OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
        if (Function->Rva == READER_OTHER_RVA || Function->IsStub) {
            OutputPutNothing(Output);
        } else {
            OutputPutNumber(Output, Function->Rva);
        }

        OutputPutText(Output, Function->FoldedNames, Function->FoldedLength);
        OutputPutText(Output, Function->Name, Function->NameLength);
        CommandPutSource(Report, Output, Function);
        SessionPutProcess(Output,
                          &Report->Session,
                          Report->Reading.Process != READER_NONE
                              ? Report->Reading.Process
                              : 0);
    }

    if (Options->Format != ReaderFormatText) {
        return;
    }

    OutputEndTable(Output);
    OutputPutMore(Output, Count - Index, "function");
    CommandPutReportNotes(Report, Abandoned, Unfinished, Uncertain);
    if (Report->Unmatched != 0) {
        RtlWriteText(Output->Writer,
                     "%llu exit%s had no entry%s.\n",
                     Report->Unmatched,
                     Report->Unmatched == 1 ? "" : "s",
                     SessionIsRingOverwritten(&Report->Session)
                         ? ": a ring keeps the newest records"
                         : "");
    }
}


//
// Frees what was read, so that the next process can be.
//

static
VOID
CommandForgetReport(
    _Inout_ PREADER_REPORT Report
    )
{
    PCALLOCATOR Allocator = Report->Session.Context->Allocator;

    SumRundownReading(&Report->Reading);
    SumStatesRundown(&Report->States);
    Allocator->Free(Allocator->Context, Report->Histograms);
    Allocator->Free(Allocator->Context, Report->Statistics);
    Allocator->Free(Allocator->Context, Report->Ranks);
    Allocator->Free(Allocator->Context, Report->Order);
    Report->Histograms = NULL;
    Report->Statistics = NULL;
    Report->Ranks = NULL;
    Report->Order = NULL;
    Report->Unmatched = 0;
}


//
// Report: the report, whose Process says which.
// ExitCode: is set if a thread cannot be read to its end, which does not hide
// the others.
//

_Must_inspect_result_
static
NTSTATUS
CommandReportProcess(
    _Inout_ PREADER_REPORT Report,
    _Inout_ PULONG ExitCode
    )
{
    NTSTATUS Status;
    ULONG Code;

    Status = CommandPrepareReport(Report);
    if (NT_SUCCESS(Status)) {

        Code = SumReadThreads(&Report->Reading);
        if (Report->Etl.IsThere) {
            Report->States.Process = Report->Reading.Process;
            (VOID)SumStatesRead(&Report->States);
        }

        Status = CommandMergeReport(Report);
        if (Code != READER_EXIT_SUCCESS) {
            *ExitCode = Code;
        }

        if (NT_SUCCESS(Status)) {
            CommandPutReport(Report);
        }
    }

    CommandForgetReport(Report);
    return Status;
}


//
// Orders modules as --sort says, and by name where that leaves a tie.
// First, Second: their indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareReportModules(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_REPORT Report = (PREADER_REPORT)CompareContext;
    PCREADER_MODULE_SUM One = &Report->Modules[First];
    PCREADER_MODULE_SUM Other = &Report->Modules[Second];
    LONG Order;

    Order = SumCompareStatistics(&One->Statistics,
                                 &Other->Statistics,
                                 Report->Options->SortKey);
    return Order != 0 ? Order : BaseCompareText(One->Name,
                                                One->NameLength,
                                                Other->Name,
                                                Other->NameLength);
}


//
// Writes the modules.
// Order: room for their indexes.
//

static
VOID
CommandPutReportModules(
    _Inout_ PREADER_REPORT Report,
    _In_ ULONG NumberOfModules,
    _Out_writes_(NumberOfModules) PULONG Order
    )
{
    PREADER_OUTPUT Output = &Report->Output;
    PCREADER_MODULE_SUM Sum;
    READER_STATISTICS All;
    ULONGLONG Self = 0;
    ULONG Count = 0;
    ULONG Index;

    RtlZeroBytes(&All, sizeof(All));
    for (Index = 0; Index < NumberOfModules; Index++) {

        Sum = &Report->Modules[Index];
        if (Sum->NumberOfFunctions == 0 || !Sum->IsSelected) {
            continue;
        }

        CoreAddStatistics(&All, &Sum->Statistics, TRUE);
        Self += Sum->Statistics.SelfTicks;
        Order[Count] = Index;
        Count += 1;
    }

    Report->NumberShown += Count;
    Report->BegunBefore += All.BegunBefore;
    BaseSort(Order, Count, CommandCompareReportModules, Report);
    CommandBeginReport(
        Report,
        &ReaderReportModuleKinds[Report->Session.IsProbeSubtracted],
        SumSelectColumns(All.Abandoned,
                         All.Unfinished,
                         All.Uncertain,
                         All.BegunBefore,
                         Count),
        Self);

    for (Index = 0; Index < Count && Index < Report->Options->Limit; Index++) {
        Sum = &Report->Modules[Order[Index]];
        SumPutStatistics(Output, &Sum->Statistics);
        CallPutProbe(Output, &Report->Session, &Sum->Statistics);
        OutputPutNumber(Output, Sum->CallsInside);
        OutputPutNumber(Output, Sum->NumberOfFunctions);
        OutputPutText(Output, Sum->Name, Sum->NameLength);
        SessionPutProcess(Output,
                          &Report->Session,
                          Report->Reading.Process != READER_NONE
                              ? Report->Reading.Process
                              : 0);
    }

    if (Output->Format == ReaderFormatText) {
        OutputEndTable(Output);
        OutputPutMore(Output, Count - Index, "module");
        CommandPutReportNotes(Report,
                              All.Abandoned,
                              All.Unfinished,
                              All.Uncertain);
    }
}


//
// Reads and writes what each module cost, in all or in the process that the
// reading says.
//

_Must_inspect_result_
static
NTSTATUS
CommandReportModules(
    _Inout_ PREADER_REPORT Report,
    _Inout_ PULONG ExitCode
    )
{
    PCALLOCATOR Allocator = Report->Session.Context->Allocator;
    READER_NOT_SHOWN NotShown;
    READER_TREE Tree;
    PUCHAR Selected = NULL;
    PULONG Order = NULL;
    ULONG NumberOfModules = 0;
    ULONG Code;
    ULONG Index;
    NTSTATUS Status;

    if (Report->Reading.Process != READER_NONE) {

        Selected = (PUCHAR)Allocator->Allocate(
            Allocator->Context,
            (SIZE_T)Report->Session.NumberOfThreads + 1);
        if (Selected == NULL) {
            return STATUS_NO_MEMORY;
        }

        for (Index = 0; Index < Report->Session.NumberOfThreads; Index++) {
            Selected[Index] = Report->Session.Threads[Index].Process ==
                              Report->Reading.Process;
        }
    }

    Report->Modules = NULL;
    Report->Functions.AreStubsApart = TRUE;
    SumInitializeTree(&Tree,
                      &Report->Functions,
                      &Report->Range,
                      READER_NONE,
                      FALSE);
    Tree.Team = &Report->Team;
    Tree.Selected = Selected;
    Code = SumBuildTree(&Tree, Report->Options);
    if (Code != READER_EXIT_SUCCESS) {
        *ExitCode = Code;
    }

    Report->Reading.NumberOfRecords += Tree.NumberOfRecords;
    Report->Reading.NumberOfOrdinary += Tree.NumberOfOrdinary;
    Report->Reading.NumberOfThreads += Tree.NumberOfThreads;
    if (Report->MaximumUsed < Tree.NumberOfWorkers) {
        Report->MaximumUsed = Tree.NumberOfWorkers;
    }

    for (Index = 0; Index < Tree.NumberOfNodes; Index++) {
        CallSubtractProbe(&Report->Session, &Tree.Nodes[Index].Statistics);
    }

    FunctionFilterFunctions(&Report->Functions, Report->Options->Filter);
    Status = SumAddRoot(&Tree);
    if (NT_SUCCESS(Status)) {
        Status = SumModules(&Tree,
                            &Report->Modules,
                            &NumberOfModules,
                            &NotShown);
        Report->NotShown.Rows += NotShown.Rows;
        Report->NotShown.Calls += NotShown.Calls;
    }

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)NumberOfModules + 1) * sizeof(ULONG));
    if (Order == NULL) {
        Status = STATUS_NO_MEMORY;
    }

    if (NT_SUCCESS(Status)) {
        CommandPutReportModules(Report, NumberOfModules, Order);
    }

    Allocator->Free(Allocator->Context, Order);
    Allocator->Free(Allocator->Context, Report->Modules);
    Allocator->Free(Allocator->Context, Selected);
    Report->Modules = NULL;
    SumRundownTree(&Tree);
    return Status;
}


//
// Is what was asked for something that there is together?
//

static
BOOLEAN
CommandCheckReport(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    if (READER_IS_BY_MODULE(Options) &&
        (Options->SortKey == ReaderSortWaited ||
         (Options->Given & (READER_OPTION_LINES |
                            READER_OPTION_PERCENTILES |
                            READER_OPTION_ETL)) != 0)) {
        RtlWriteText(Context->Errors,
                     "TraceReader: report: --lines, --percentiles, --etl and "
                     "--sort waited are of functions, not of modules "
                     "(--by module)\n");
        RtlFlushWriter(Context->Errors);
        return FALSE;
    }

    return TRUE;
}


static
ULONG
CommandReport(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_REPORT Report;
    READER_COST Cost;
    ULONG ExitCode;
    ULONG Process;
    NTSTATUS Status;

    if (!CommandCheckReport(Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Report, sizeof(Report));
    Report.Options = Options;
    CommandBeginReading(Context, &Cost);
    BaseInitializeTeam(&Report.Team, Context, Options->NumberOfWorkers);
    if (!CommandBeginCommand(&Report.Session, &Report.Team.Context, Options)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    if (!CallBeginProbe(&Report.Session, Options) ||
        !CallBeginWaits(&Report.Session, Options) ||
        !CallQueryRange(&Report.Session, Options, &Report.Range) ||
        !SumEtlOpen(&Report.Etl, &Report.Session, Options)) {
        ExitCode = READER_EXIT_FAILURE;
        SumEtlClose(&Report.Etl);
        CommandCloseCommandSession(&Report.Session);
        goto End;
    }

    FunctionInitializeFunctions(&Report.Functions, &Report.Session);
    Report.Functions.AreCallersNoted = TRUE;
    Report.HasHistograms =
        ((Options->Given & READER_OPTION_PERCENTILES) != 0 ||
         Options->Format != ReaderFormatText) &&
        Report.Session.Clock.Kind != TRACE_CLOCK_NONE;

    Report.States.Etl = &Report.Etl;
    Report.States.Walk.Functions = &Report.Functions;
    Report.States.Walk.Range = &Report.Range;
    Report.States.Walk.Options = Options;
    Report.States.Walk.IsSilent = TRUE;
    Report.Reading.Functions = &Report.Functions;
    Report.Reading.Options = Options;
    Report.Reading.Range = &Report.Range;
    Report.Reading.Team = &Report.Team;
    Report.Reading.Process = READER_NONE;
    Report.Reading.Read = SumTallyThreadOfReading;
    Report.Reading.Context = &Report.Reading;
    ExitCode = READER_EXIT_SUCCESS;
    if (!READER_IS_BY_PROCESS(Options)) {
        Status = READER_IS_BY_MODULE(Options)
                     ? CommandReportModules(&Report, &ExitCode)
                     : CommandReportProcess(&Report, &ExitCode);
    } else {
        Status = STATUS_SUCCESS;
        for (Process = 0;
             NT_SUCCESS(Status) && Process < Report.Session.NumberOfProcesses;
             Process++) {
            Report.Reading.Process = Process;
            Status = READER_IS_BY_MODULE(Options)
                         ? CommandReportModules(&Report, &ExitCode)
                         : CommandReportProcess(&Report, &ExitCode);
        }
    }

    if (NT_SUCCESS(Status)) {
        CommandEndReport(&Report);
        ExitCode = FunctionEndFilter(Context,
                                     Options->Filter,
                                     &Report.Functions,
                                     Report.NumberShown,
                                     &Report.NotShown,
                                     ExitCode);
    } else {
        ExitCode = BaseFail(Context, "report", Options->PathUtf8, Status);
    }

    FunctionSaveCache(&Report.Session,
                      (Options->Given & READER_OPTION_VERBOSE) != 0);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        Cost.NumberOfRecords = Report.Reading.NumberOfRecords;
        Cost.NumberOfOrdinary = Report.Reading.NumberOfOrdinary;
        Cost.NumberOfThreads = Report.Reading.NumberOfThreads;
        Cost.NumberOfWorkers = Report.MaximumUsed;
        CommandPutReading(&Report.Session, &Cost);
        FunctionPutFilterCost(&Report.Functions, Options->Filter);
        CallPutIndexCost(&Report.Session);
    }

    SumEtlClose(&Report.Etl);
    FunctionRundownFunctions(&Report.Functions);
    CommandCloseCommandSession(&Report.Session);

End:
    BaseRundownTeam(&Report.Team);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderReportTables[] = {
    &ReaderReportAllTable,
    &ReaderNotShownTable,
    NULL
};

static const PCREADER_TABLE ReaderReportModuleTables[] = {
    &ReaderReportModuleKinds[1],
    &ReaderNotShownTable,
    NULL
};

static const READER_OTHER_TABLES ReaderReportByModule = {
    "--by module",
    ReaderReportModuleTables
};

const READER_COMMAND ReaderReportCommand = {
    "report",
    "[PATH]",
    "Shows each function's calls and times",
    READER_FRAMES_NOTE
    READER_RANGE_NOTE
    "Total counts a recursive function once; average, min and max are of\n"
    "each call's inclusive time, and so are p50, p90 and p99: half of the\n"
    "calls, 90 and 99 of 100 took no longer.\n"
    READER_PERCENTILES_NOTE
    READER_WAITS_NOTE
    "File and line are those of the function's first instruction, from the\n"
    "PDB or from DWARF; text has them with --lines.\n"
    "--by module: what each module cost.  Calls are those into it, that\n"
    "other modules made, and average, min and max are theirs; a call inside\n"
    "another one into the module is not in total; self is that of all its\n"
    "functions.  An import is a call into the module that has it, and a\n"
    "module without hooks has no other calls.  With --function only calls of\n"
    "those functions count.  Modules of the same name are one, also of\n"
    "several processes: --process PROCESS has those of one.  Total has the\n"
    "time of abandoned calls, too, up to the record that showed it.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_PROBE_HELP
    READER_ETL_NOTE
    READER_TICKS_NOTE,
    "  TraceReader report --limit 20 SESSION\n"
    "  TraceReader report --sort self --module game SESSION\n"
    "  TraceReader report --lines --limit 20 SESSION\n"
    "  TraceReader report --from 1.5s --to 1.6s SESSION\n"
    "  TraceReader report --by process TRACES\n"
    "  TraceReader report --by module --sort self SESSION\n"
    "  TraceReader report --etl switches.etl SESSION\n"
    "  TraceReader report --csv SESSION > report.csv\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_THREAD | READER_OPTION_MODULE |
        READER_OPTION_WORKERS | READER_OPTION_GENERAL |
        READER_OPTION_VERBOSE | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTIONS_OF_READING |
        READER_OPTION_FILTER | READER_OPTION_PROBE |
        READER_OPTION_PERCENTILES | READER_OPTION_WAITS |
        READER_OPTION_LINES | READER_OPTION_BY | READER_OPTION_ETL,
    CommandReport,
    ReaderReportTables,
    &ReaderReportByModule
};
