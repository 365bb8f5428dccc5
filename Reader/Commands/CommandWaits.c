/*++

Module Name:

    CommandWaits.c

Abstract:

    TraceReader waits: what the threads waited for, how often and how long, for
    which functions, and on which threads.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Functions/FunctionStub.h"
#include "../Calls/CallRange.h"
#include "../Calls/CallWaits.h"
#include "../Sums/SumPutStatistics.h"
#include "../Sums/SumWaits.h"
#include "Command.h"

//
// When text shows some of the columns.
//

#define READER_WAITS_HISTOGRAM READER_COLUMN_OWN(0)     // no call is in a tree

#define READER_WAITS_COLUMNS                                                \
    { "Kind", "kind", ReaderColumnText, 9, 0,                               \
      "What was waited for: object, sleep, lock, condition, thread, file, " \
      "pipe, socket, port, message or console." },                          \
    { "Calls", "calls", ReaderColumnNumber, 10, 0,                          \
      "Calls that waited, but for those inside others and those that were " \
      "abandoned." },                                                       \
    { "Total", "total", ReaderColumnTime, READER_TIME_WIDTH, 0,             \
      "How long they took together." },                                     \
    { "Average", "average", ReaderColumnTime, READER_TIME_WIDTH,            \
      READER_COLUMN_LESSER,                                                 \
      "How long one took on average." },                                    \
    { "p50", "p50", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER |                       \
          READER_WAITS_HISTOGRAM,                                           \
      "Half of them took no longer; up to 3.2 % too large. This and the "   \
      "other percentiles are null where calls are in trees." },             \
    { "p90", "p90", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER |                       \
          READER_WAITS_HISTOGRAM,                                           \
      "90 of 100 calls took no longer." },                                  \
    { "p99", "p99", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_WAITS_HISTOGRAM,                      \
      "99 of 100 calls took no longer." },                                  \
    { "Max", "max", ReaderColumnTime, READER_TIME_WIDTH, 0,                 \
      "The longest one." },                                                 \
    { "Unfinished", "unfinished", ReaderColumnNumber, 10,                   \
      READER_COLUMN_UNFINISHED,                                             \
      "Those of them that were open at the end of the data or of the "      \
      "range; counted up to there." }

#define READER_WAITS_FUNCTION                                               \
    { "Waited in", "function", ReaderColumnText, 32, 0,                     \
      "The function that waits." }

static const READER_COLUMN ReaderWaitsFunctionColumns[] = {
    READER_WAITS_COLUMNS,
    READER_WAITS_FUNCTION
};

static const READER_TABLE ReaderWaitsFunctionTable = {
    "functions",
    ReaderWaitsFunctionColumns,
    RTL_NUMBER_OF(ReaderWaitsFunctionColumns),
    FALSE,
    FALSE,
    "The functions that waited, the longest total first."
};

static const READER_COLUMN ReaderWaitsCallerColumns[] = {
    READER_WAITS_COLUMNS,
    READER_WAITS_FUNCTION,
    { "Module", "module", ReaderColumnText, 16,
      READER_COLUMN_NULLABLE | READER_COLUMN_MODULE,
      "The caller's module; null if there is none." },
    { "For", "caller", ReaderColumnText, 0, 0,
      "The nearest function with hooks in whose call it was made; without "
      "one the module that called an import: [game.exe]; or (outermost)." }
};

static const READER_TABLE ReaderWaitsCallerTable = {
    "callers",
    ReaderWaitsCallerColumns,
    RTL_NUMBER_OF(ReaderWaitsCallerColumns),
    FALSE,
    FALSE,
    "For whom each of them waited, the longest total first."
};

static const READER_COLUMN ReaderWaitsThreadColumns[] = {
    READER_WAITS_COLUMNS,
    { "Thread", "thread_id", ReaderColumnNumber, 8, 0,
      "The thread's identifier." },
    READER_PROCESS_COLUMNS,
    { "Name", "name", ReaderColumnText, 0, 0,
      "The thread's description, if it has one." }
};

static const READER_TABLE ReaderWaitsThreadTable = {
    "threads",
    ReaderWaitsThreadColumns,
    RTL_NUMBER_OF(ReaderWaitsThreadColumns),
    FALSE,
    FALSE,
    "What each thread waited for, the longest total first."
};

typedef struct _READER_WAITS_VIEW {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_RANGE Range;
    READER_FUNCTIONS Functions;
    READER_WAITED Waited;
    READER_OUTPUT Output;
} READER_WAITS_VIEW;
typedef READER_WAITS_VIEW *PREADER_WAITS_VIEW;


//
// Writes the cells of READER_WAITS_COLUMNS.
//

static
VOID
CommandPutWaitSum(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_WAIT_SUM Sum
    )
{
    static const ULONG Shares[] = { 500, 900, 990 };
    ULONG Index;

    OutputPutString(Output, ReaderWaitKindNames[Sum->Kind]);
    OutputPutNumber(Output, Sum->Calls);
    OutputPutNumber(Output, Sum->TotalTicks);
    OutputPutNumber(Output, Sum->TotalTicks / Sum->Calls);
    for (Index = 0; Index < RTL_NUMBER_OF(Shares); Index++) {
        if (Sum->InTrees != 0) {
            OutputPutNothing(Output);
        } else {
            OutputPutNumber(Output,
                            CoreQueryPercentile(&Sum->Histogram,
                                                Shares[Index],
                                                Sum->MaximumTicks));
        }
    }

    OutputPutNumber(Output, Sum->MaximumTicks);
    OutputPutNumber(Output, Sum->Unfinished);
}


//
// Writes what follows them, as the table has it.
//

static
VOID
CommandPutWaitRest(
    _Inout_ PREADER_WAITS_VIEW View,
    _In_ PCREADER_WAIT_SUM Sum
    )
{
    PREADER_OUTPUT Output = &View->Output;
    PCREADER_FUNCTION Function;
    const CHAR *Name;
    ULONG Length;

    if (Output->Table == &ReaderWaitsThreadTable) {

        OutputPutNumber(Output, View->Session.Threads[Sum->Thread].ThreadId);
        SessionPutProcess(Output,
                          &View->Session,
                          View->Session.Threads[Sum->Thread].Process);
        SessionQueryThreadName(&View->Session, Sum->Thread, &Name, &Length);
        OutputPutText(Output, Name, Length);
        return;
    }

    Function = &View->Functions.Functions[Sum->Function];
    OutputPutText(Output, Function->Name, Function->NameLength);
    if (Output->Table != &ReaderWaitsCallerTable) {
        return;
    }

    if (Sum->Caller == READER_NONE) {
        OutputPutNothing(Output);
        OutputPutString(Output, "(outermost)");
        return;
    }

    if (READER_IS_CALLING_MODULE(Sum->Caller)) {
        FunctionStubPutCallingModule(Output,
                                     &View->Functions,
                                     Sum->Caller,
                                     0);
        return;
    }

    Function = &View->Functions.Functions[Sum->Caller];
    OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
    OutputPutText(Output, Function->Name, Function->NameLength);
}


_Must_inspect_result_
static
NTSTATUS
CommandPutWaitList(
    _Inout_ PREADER_WAITS_VIEW View,
    _In_ PCREADER_WAIT_LIST List,
    _In_ PCREADER_TABLE Table
    )
{
    PCALLOCATOR Allocator = View->Session.Context->Allocator;
    PCREADER_WAIT_SUM Sum;
    PULONG Order;
    ULONG When = 0;
    ULONG Index;
    BOOLEAN AreInTrees = TRUE;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)List->NumberOfSums + 1) * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    SumSortWaits(List, Order);
    for (Index = 0; Index < List->NumberOfSums; Index++) {

        Sum = &List->Sums[Index];
        AreInTrees = AreInTrees && Sum->InTrees != 0;
        if (Sum->Unfinished != 0) {
            When |= READER_COLUMN_UNFINISHED;
        }
    }

    if (!AreInTrees) {
        When |= READER_WAITS_HISTOGRAM;
    }

    if (View->Session.NumberOfModules > 2) {
        When |= READER_COLUMN_MODULE;
    }

    OutputBeginTable(&View->Output, Table, When);
    for (Index = 0;
         Index < List->NumberOfSums && Index < View->Options->Limit;
         Index++) {
        CommandPutWaitSum(&View->Output, &List->Sums[Order[Index]]);
        CommandPutWaitRest(View, &List->Sums[Order[Index]]);
    }

    OutputEndTable(&View->Output);
    OutputPutMore(&View->Output, List->NumberOfSums - Index, "row");
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


//
// Writes what was found.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutWaits(
    _Inout_ PREADER_WAITS_VIEW View
    )
{
    PREADER_OUTPUT Output = &View->Output;
    NTSTATUS Status;

    FunctionGiveShortNames(&View->Functions);
    OutputBeginDocument(Output,
                        View->Session.Context->Output,
                        View->Options->Format,
                        &View->Session.Clock,
                        "waits",
                        TRUE);
    Output->HasProcesses = View->Session.NumberOfProcesses > 1;
    Status = CommandPutWaitList(View,
                                &View->Waited.ByFunction,
                                &ReaderWaitsFunctionTable);
    if (NT_SUCCESS(Status)) {
        Status = CommandPutWaitList(View,
                                    &View->Waited.ByCaller,
                                    &ReaderWaitsCallerTable);
    }

    if (NT_SUCCESS(Status)) {
        Status = CommandPutWaitList(View,
                                    &View->Waited.ByThread,
                                    &ReaderWaitsThreadTable);
    }

    if (View->Waited.ByFunction.NumberOfSums == 0) {
        OutputPutNote(Output,
                      "No function that waits was called, or those of the "
                      "system were not recorded: TraceReader run --imports "
                      "does.");
    }

    CallPutRangeNote(Output, View->Options, 0);
    SessionPutClockNote(Output, &View->Session);
    OutputEndDocument(Output);
    return Status;
}


//
// Reads the session and shows what was found.
// View: the command's state, with the session open.
//

static
ULONG
CommandRunWaits(
    _Inout_ PREADER_WAITS_VIEW View
    )
{
    PCREADER_CONTEXT Context = View->Session.Context;
    READER_COST Cost;
    ULONG ExitCode;
    NTSTATUS Status;

    CommandBeginReading(Context, &Cost);
    if (View->Session.Clock.Kind == TRACE_CLOCK_NONE) {
        RtlWriteText(Context->Errors,
                     "TraceReader: waits: the session has no times: it was "
                     "recorded with TRACER_CLOCK=none\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if (!CallBeginWaits(&View->Session, View->Options) ||
        !CallQueryRange(&View->Session, View->Options, &View->Range)) {
        return READER_EXIT_FAILURE;
    }

    FunctionInitializeFunctions(&View->Functions, &View->Session);
    View->Functions.AreStubsApart = TRUE;
    View->Waited.Options = View->Options;
    View->Waited.Session = &View->Session;
    View->Waited.Range = &View->Range;
    View->Waited.Functions = &View->Functions;
    ExitCode = SumReadWaits(&View->Waited);
    Status = CommandPutWaits(View);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context,
                            "waits",
                            View->Options->PathUtf8,
                            Status);
    }

    if ((View->Options->Given & READER_OPTION_VERBOSE) != 0) {
        Cost.NumberOfRecords = View->Waited.Reading.NumberOfRecords;
        Cost.NumberOfOrdinary = View->Waited.Reading.NumberOfOrdinary;
        Cost.NumberOfThreads = View->Waited.Reading.NumberOfThreads;
        Cost.NumberOfWorkers = View->Waited.Reading.NumberOfWorkers;
        CommandPutReading(&View->Session, &Cost);
    }

    SumRundownWaits(&View->Waited);
    FunctionRundownFunctions(&View->Functions);
    return ExitCode;
}


static
ULONG
CommandWaits(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_WAITS_VIEW View;
    ULONG ExitCode = READER_EXIT_FAILURE;

    View = (PREADER_WAITS_VIEW)Allocator->Allocate(Allocator->Context,
                                                   sizeof(READER_WAITS_VIEW));
    if (View == NULL) {
        return BaseFail(Context, "waits", Options->PathUtf8, STATUS_NO_MEMORY);
    }

    View->Options = Options;
    if (CommandBeginCommand(&View->Session, Context, Options)) {
        ExitCode = CommandRunWaits(View);
        CommandCloseCommandSession(&View->Session);
    }

    Allocator->Free(Allocator->Context, View);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderWaitsTables[] = {
    &ReaderWaitsFunctionTable,
    &ReaderWaitsCallerTable,
    &ReaderWaitsThreadTable,
    NULL
};

const READER_COMMAND ReaderWaitsCommand = {
    "waits",
    "[PATH]",
    "Shows what the threads waited for, how long, and for which functions",
    "Counts calls of functions that wait (Docs/Waits.md, --waits), each once:\n"
    "not those inside another one.  A call of a lock is there if it took\n"
    "--contention or longer.  The first table is by function that waits, the\n"
    "second says for whom: the nearest function with hooks around it, or\n"
    "without one the module that called: [game.exe].  The third is by\n"
    "thread.  --limit is of each table.\n"
    "CSV has the columns table, row, field, value.\n"
    READER_PERCENTILES_NOTE
    READER_RANGE_NOTE
    READER_TICKS_NOTE,
    "  TraceReader waits SESSION\n"
    "  TraceReader waits --limit 10 --thread 4712 --from 2s SESSION\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_THREAD |
        READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_GENERAL |
        READER_OPTION_VERBOSE | READER_OPTION_WAITS |
        READER_OPTIONS_OF_READING,
    CommandWaits,
    ReaderWaitsTables,
    NULL
};
