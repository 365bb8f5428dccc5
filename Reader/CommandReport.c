/*++

Module Name:

    CommandReport.c

Abstract:

    TraceReader report: each function's calls and times.

--*/

#include "Reader.h"

static const READER_COLUMN ReaderReportColumns[] = {
    READER_STATISTICS_COLUMNS,
    { "Module", "module", ReaderColumnText, 16 },
    { "", "rva", ReaderColumnHexadecimal, 0 },
    { "Function", "function", ReaderColumnText, 0 }
};

#define READER_REPORT_MODULE_COLUMN READER_STATISTICS_NUMBER_OF_COLUMNS
#define READER_REPORT_RVA_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 1)

static const READER_TABLE ReaderReportTable = {
    "functions",
    ReaderReportColumns,
    RTL_NUMBER_OF(ReaderReportColumns),
    FALSE
};

typedef struct _READER_REPORT {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    PREADER_STATISTICS Statistics;      // by function
    ULONG CapacityOfStatistics;
    PULONG ActiveCalls;                 // of this thread, by function
    ULONG CapacityOfActiveCalls;
    ULONGLONG Unmatched;
} READER_REPORT;
typedef READER_REPORT *PREADER_REPORT;


_Must_inspect_result_
static
NTSTATUS
ReaderReportEvent(
    _Inout_ PREADER_REPORT Report,
    _In_ const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds an event.

Arguments:

    Report - The report.

    Event - The event.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Report->Session.Context->Allocator;
    ULONG Function;
    NTSTATUS Status;

    switch (Event->Kind) {

    case CoreEventEnter:

        Status = ReaderFindFunction(&Report->Functions,
                                    Event->Site,
                                    &Function);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Report->Statistics,
                                 &Report->CapacityOfStatistics,
                                 Function + 1,
                                 sizeof(READER_STATISTICS));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Report->ActiveCalls,
                                 &Report->CapacityOfActiveCalls,
                                 Function + 1,
                                 sizeof(ULONG));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Event->Frame->Function = Function;
        Report->ActiveCalls[Function] += 1;
        return STATUS_SUCCESS;

    case CoreEventUnmatched:
        Report->Unmatched += 1;
        return STATUS_SUCCESS;

    default:
        Function = Event->Frame->Function;
        Report->ActiveCalls[Function] -= 1;
        ReaderAddToStatistics(&Report->Statistics[Function],
                              Event,
                              Report->ActiveCalls[Function] == 0);
        return STATUS_SUCCESS;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderReportThread(
    _Inout_ PREADER_REPORT Report,
    _In_ ULONG ThreadIndex
    )
/*++

Routine Description:

    Adds a thread.

Arguments:

    Report - The report.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    READER_STREAM Stream;
    CORE_EVENT Event;
    NTSTATUS Status;

    Status = ReaderOpenStream(&Stream, &Report->Session, ThreadIndex, FALSE);
    while (NT_SUCCESS(Status)) {
        Status = ReaderNextEvent(&Stream, &Event);
        if (NT_SUCCESS(Status)) {
            Status = ReaderReportEvent(Report, &Event);
        }
    }

    //
    // Every frame has ended, so the counts of active calls are zero again,
    // unless the thread could not be read to its end.
    //

    if (Status != STATUS_END_OF_FILE && Report->ActiveCalls != NULL) {
        RtlZeroBytes(Report->ActiveCalls,
                     Report->CapacityOfActiveCalls * sizeof(ULONG));
    }

    ReaderCloseStream(&Stream);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
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
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutReport(
    _Inout_ PREADER_REPORT Report
    )
/*++

Routine Description:

    Writes the report.

Arguments:

    Report - The report, with all threads added.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCREADER_CONTEXT Context = Report->Session.Context;
    PCREADER_OPTIONS Options = Report->Options;
    READER_OUTPUT Output;
    ULONGLONG Abandoned = 0;
    ULONGLONG Unfinished = 0;
    ULONGLONG Uncertain = 0;
    PULONG Order = NULL;
    ULONG CapacityOfOrder = 0;
    ULONG Count = 0;
    ULONG HiddenColumns;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Context->Allocator,
                             (PVOID *)&Order,
                             &CapacityOfOrder,
                             Report->Functions.NumberOfFunctions,
                             sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // Where memory ran out, the last function has no statistics.
    //

    for (Index = 0;
         Index < Report->Functions.NumberOfFunctions &&
             Index < Report->CapacityOfStatistics;
         Index++) {

        ULONG Module = Report->Functions.Functions[Index].Module;

        if (Report->Session.Modules[Module]->IsSelected &&
            Report->Statistics[Index].Calls != 0) {
            Abandoned += Report->Statistics[Index].Abandoned;
            Unfinished += Report->Statistics[Index].Unfinished;
            Uncertain += Report->Statistics[Index].Uncertain;
            Order[Count] = Index;
            Count += 1;
        }
    }

    ReaderSort(Order, Count, ReaderCompareReportRows, Report);

    HiddenColumns = 1u << READER_REPORT_RVA_COLUMN;
    if (Abandoned == 0) {
        HiddenColumns |= READER_STATISTICS_ABANDONED_COLUMNS;
    }

    if (Unfinished == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNFINISHED_COLUMN;
    }

    if (Uncertain == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNCERTAIN_COLUMN;
    }

    if (Report->Session.NumberOfModules == 1) {
        HiddenColumns |= 1u << READER_REPORT_MODULE_COLUMN;
    }

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Report->Session.Clock,
                        "report",
                        FALSE);
    ReaderBeginTable(&Output, &ReaderReportTable, HiddenColumns);

    for (Index = 0; Index < Count && Index < Options->Limit; Index++) {

        PCREADER_FUNCTION Function =
            &Report->Functions.Functions[Order[Index]];
        const READER_MODULE *Module =
            Report->Session.Modules[Function->Module];

        ReaderPutStatistics(&Output, &Report->Statistics[Order[Index]]);
        ReaderPutText(&Output, Module->Name, Module->NameLength);
        ReaderPutNumber(&Output, Function->Rva);
        ReaderPutText(&Output, Function->Name, Function->NameLength);
    }

    ReaderEndTable(&Output);
    if (Abandoned != 0) {
        ReaderPutNote(&Output,
                      "Abandoned: left without an exit (exception, longjmp, "
                      "no return).  Their time, up to the record that told "
                      "it, is in no other column.");
    }

    if (Unfinished != 0) {
        ReaderPutNote(&Output,
                      "Unfinished: open at the end of the data; counted up "
                      "to the thread's last record.");
    }

    if (Uncertain != 0) {
        ReaderPutNote(&Output, READER_UNCERTAIN_NOTE);
    }

    if (Report->Unmatched != 0 && Options->Format == ReaderFormatText) {
        RtlWriteText(Context->Output,
                     "%llu exits had no entry%s.\n",
                     Report->Unmatched,
                     ReaderIsRingOverwritten(&Report->Session)
                         ? ": a ring keeps the newest records"
                         : "");
    }

    ReaderPutClockNote(&Output, &Report->Session);
    ReaderEndDocument(&Output);
    Context->Allocator->Free(Context->Allocator->Context, Order);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONG
ReaderCommandReport(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
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
    PCALLOCATOR Allocator = Context->Allocator;
    READER_REPORT Report;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(&Report, sizeof(Report));
    Report.Options = Options;
    if (!ReaderBeginCommand(&Report.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Report.Functions, &Report.Session);

    //
    // A thread that cannot be read to its end does not hide the others.
    //

    for (Index = 0; Index < Report.Session.NumberOfThreads; Index++) {

        if (!READER_IS_THREAD_SELECTED(
                Options,
                Report.Session.Threads[Index].ThreadId)) {
            continue;
        }

        Status = ReaderReportThread(&Report, Index);
        if (!NT_SUCCESS(Status)) {
            ExitCode = ReaderFailThread(&Report.Session, Index, Status);
        }
    }

    Status = ReaderPutReport(&Report);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context, "report", Options->PathUtf8, Status);
    }

    Allocator->Free(Allocator->Context, Report.Statistics);
    Allocator->Free(Allocator->Context, Report.ActiveCalls);
    ReaderRundownFunctions(&Report.Functions);
    ReaderCloseSession(&Report.Session);
    return ExitCode;
}
