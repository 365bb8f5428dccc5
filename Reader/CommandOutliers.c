/*++

Module Name:

    CommandOutliers.c

Abstract:

    TraceReader outliers: a function's slowest calls, and how long all of them
    took.

--*/

#include "ReaderOutliers.h"

#define READER_OUTLIERS_DEFAULT_LIMIT 10u
#define READER_OUTLIERS_BAR 40u
#define READER_OUTLIERS_PATH_IN_TEXT 8u     // functions of a chain
#define READER_OUTLIERS_PATH 1000u          // likewise, in CSV and JSON

static const READER_COLUMN ReaderOutlierCallColumns[] = {
    { "Duration", "duration", ReaderColumnTime, READER_TIME_WIDTH },
    { "Start", "start", ReaderColumnTime, 15 },
    { "Thread", "thread", ReaderColumnNumber, 7 },
    READER_PROCESS_COLUMNS,
    { "Fiber", "fiber", ReaderColumnNumber, 5 },
    { "Depth", "depth", ReaderColumnNumber, 5 },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH },
    { "In child", "child", ReaderColumnTime, READER_TIME_WIDTH },
    { "Largest child", "child_function", ReaderColumnText, 20 },
    { "Module", "module", ReaderColumnText, 16 },
    { "Function", "function", ReaderColumnText, 20 },
    { "Under", "path", ReaderColumnText, 0 }
};

#define READER_OUTLIERS_FIBER_COLUMN 5
#define READER_OUTLIERS_FUNCTION_COLUMNS (3u << 10)

static const READER_TABLE ReaderOutlierCallTable = {
    "calls",
    ReaderOutlierCallColumns,
    RTL_NUMBER_OF(ReaderOutlierCallColumns),
    FALSE
};

static const READER_COLUMN ReaderOutlierSummaryColumns[] = {
    { "Module", "module", ReaderColumnText, 0 },
    { "Function", "function", ReaderColumnText, 0 },
    { "Calls", "calls", ReaderColumnNumber, 0 },
    { "Min", "min", ReaderColumnTime, 0 },
    { "Average", "average", ReaderColumnTime, 0 },
    { "p50", "p50", ReaderColumnTime, 0 },
    { "p90", "p90", ReaderColumnTime, 0 },
    { "p99", "p99", ReaderColumnTime, 0 },
    { "p99.9", "p99_9", ReaderColumnTime, 0 },
    { "Max", "max", ReaderColumnTime, 0 },
    { "Uncertain", "uncertain", ReaderColumnNumber, 0 },
    { "Begun before", "begun_before", ReaderColumnNumber, 0 },
    { "Unfinished", "unfinished", ReaderColumnNumber, 0 },
    { "Longest of them", "unfinished_max", ReaderColumnTime, 0 },
    { "Abandoned", "abandoned", ReaderColumnNumber, 0 },
    { "Longest of them", "abandoned_max", ReaderColumnTime, 0 }
};

#define READER_OUTLIERS_UNCERTAIN_COLUMN 10
#define READER_OUTLIERS_BEGUN_COLUMN 11
#define READER_OUTLIERS_UNFINISHED_COLUMNS (3u << 12)
#define READER_OUTLIERS_ABANDONED_COLUMNS (3u << 14)

static const READER_TABLE ReaderOutlierSummaryTable = {
    "summary",
    ReaderOutlierSummaryColumns,
    RTL_NUMBER_OF(ReaderOutlierSummaryColumns),
    TRUE
};

static const READER_COLUMN ReaderOutlierHistogramColumns[] = {
    { "From", "from", ReaderColumnTime, READER_TIME_WIDTH },
    { "To", "to", ReaderColumnTime, READER_TIME_WIDTH },
    { "Calls", "calls", ReaderColumnNumber, 10 },
    { "Share, %", "share_percent", ReaderColumnHundredths, 8 },
    { "", "", ReaderColumnText, 0 }
};

//
// The bar is for text alone.
//

static const READER_TABLE ReaderOutlierBarTable = {
    "histogram",
    ReaderOutlierHistogramColumns,
    RTL_NUMBER_OF(ReaderOutlierHistogramColumns),
    FALSE
};

static const READER_TABLE ReaderOutlierHistogramTable = {
    "histogram",
    ReaderOutlierHistogramColumns,
    RTL_NUMBER_OF(ReaderOutlierHistogramColumns) - 1,
    FALSE
};

static const READER_COLUMN ReaderOutlierCallerColumns[] = {
    { "Calls", "calls", ReaderColumnNumber, 10 },
    { "p50", "p50", ReaderColumnTime, READER_TIME_WIDTH },
    { "p99", "p99", ReaderColumnTime, READER_TIME_WIDTH },
    { "Max", "max", ReaderColumnTime, READER_TIME_WIDTH },
    { "Module", "module", ReaderColumnText, 16 },
    { "Caller", "caller", ReaderColumnText, 0 }
};

#define READER_OUTLIERS_CALLER_MODULE_COLUMN 4

static const READER_TABLE ReaderOutlierCallerTable = {
    "callers",
    ReaderOutlierCallerColumns,
    RTL_NUMBER_OF(ReaderOutlierCallerColumns),
    FALSE
};


static
LONG
ReaderCompareOutliers(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders calls, the slowest first.

Arguments:

    Context - The group.

    First, Second - Indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_OUTLIER_GROUP Group = (PREADER_OUTLIER_GROUP)Context;

    if (First == Second) {
        return 0;
    }

    return ReaderIsFaster(&Group->Heap[Second], &Group->Heap[First]) ? -1 : 1;
}


static
LONG
ReaderCompareOutlierCallers(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders callers by their slowest call, then by calls, then as they appeared.

Arguments:

    Context - The group.

    First, Second - Indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_OUTLIER_GROUP Group = (PREADER_OUTLIER_GROUP)Context;
    const READER_DURATIONS *One = &Group->Callers[First];
    const READER_DURATIONS *Other = &Group->Callers[Second];

    if (One->MaximumTicks != Other->MaximumTicks) {
        return One->MaximumTicks > Other->MaximumTicks ? -1 : 1;
    }

    if (One->Calls != Other->Calls) {
        return One->Calls > Other->Calls ? -1 : 1;
    }

    if (First == Second) {
        return 0;
    }

    return First < Second ? -1 : 1;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutPath(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Path,
    _In_ ULONG Depth
    )
/*++

Routine Description:

    Writes the cell of a chain of calls.

Arguments:

    Outliers - The command's state.

    Output - The output.

    Path - The chain; READER_NONE: there is none.

    Depth - How many functions there are in it.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    ULONG Most = IsText ? READER_OUTLIERS_PATH_IN_TEXT : READER_OUTLIERS_PATH;
    ULONG Count = Depth < Most ? Depth : Most;
    RTL_WRITER Writer;
    PCREADER_FUNCTION Function;
    PULONG Shown;
    PCHAR Buffer;
    SIZE_T Size = 64;
    ULONG Index;

    if (Path == READER_NONE) {
        ReaderPutString(Output, "(outermost)");
        return STATUS_SUCCESS;
    }

    //
    // Of a long chain the first half of what is shown and the last.
    //

    Shown = (PULONG)Allocator->Allocate(Allocator->Context,
                                        Count * sizeof(ULONG));
    if (Shown == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = Depth; Index != 0; Index--) {

        if (Index <= Count / 2) {
            Shown[Index - 1] = Outliers->Paths[Path].Function;
        } else if (Index > Depth - (Count - Count / 2)) {
            Shown[Index - 1 - (Depth - Count)] =
                Outliers->Paths[Path].Function;
        }

        Path = Outliers->Paths[Path].Parent;
    }

    for (Index = 0; Index < Count; Index++) {
        Size += (SIZE_T)Outliers->Functions.Functions[Shown[Index]]
                    .NameLength + 4;
    }

    Buffer = NULL;
    if (Size <= 0x40000000) {
        Buffer = (PCHAR)Allocator->Allocate(Allocator->Context, Size);
    }

    if (Buffer == NULL) {
        Allocator->Free(Allocator->Context, Shown);
        return STATUS_NO_MEMORY;
    }

    RtlInitializeBufferWriter(&Writer, Buffer, (ULONG)Size);
    for (Index = 0; Index < Count; Index++) {

        Function = &Outliers->Functions.Functions[Shown[Index]];
        if (Index != 0) {
            RtlWriteText(&Writer, IsText ? " > " : ";");
        }

        if (Depth != Count && Index == Count / 2) {
            RtlWriteText(&Writer,
                         "(%u more)%s",
                         Depth - Count,
                         IsText ? " > " : ";");
        }

        RtlWriteBytes(&Writer, Function->Name, Function->NameLength);
    }

    ReaderPutText(Output, Buffer, Writer.LengthInBytes);
    Allocator->Free(Allocator->Context, Buffer);
    Allocator->Free(Allocator->Context, Shown);
    return STATUS_SUCCESS;
}


static
VOID
ReaderPutStart(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Writes the cell of when a call began, in a text so that --from takes it.

Arguments:

    Outliers - The command's state.

    Output - The output.

    Timestamp - When.

Return Value:

    None.

--*/
{
    ULONGLONG Ticks = Timestamp - Outliers->Range.FirstTimestamp;
    RTL_WRITER Writer;
    ULONGLONG Time;
    CHAR Text[32];

    if (Output->Format != ReaderFormatText || Output->Clock->IsRaw) {
        ReaderPutNumber(Output, Ticks);
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (CoreTicksToNanoseconds(&Outliers->Session.Clock, Ticks, &Time)) {
        Time -= Time % CoreQueryGranularity(&Outliers->Session.Clock);
        RtlWriteText(&Writer,
                     "%4llu.%09llus",
                     Time / CORE_NANOSECONDS_PER_SECOND,
                     Time % CORE_NANOSECONDS_PER_SECOND);
    } else {
        RtlWriteText(&Writer, "%15llu", Time);
    }

    ReaderPutText(Output, Text, Writer.LengthInBytes);
}


static
VOID
ReaderPutFunctionName(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Function,
    _In_ BOOLEAN HasModule
    )
/*++

Routine Description:

    Writes the cells of a function.

Arguments:

    Outliers - The command's state.

    Output - The output.

    Function - The function.

    HasModule - Whether a cell for its module comes first.

Return Value:

    None.

--*/
{
    PCREADER_FUNCTION This = &Outliers->Functions.Functions[Function];
    const READER_MODULE *Module = Outliers->Session.Modules[This->Module];

    if (HasModule) {
        ReaderPutText(Output, Module->Name, Module->NameLength);
    }

    ReaderPutText(Output, This->Name, This->NameLength);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutOutlierCalls(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_OUTLIER_GROUP Group,
    _In_reads_(Group->NumberOfOutliers) const ULONG *Order,
    _In_ BOOLEAN AreSeveral
    )
/*++

Routine Description:

    Writes the slowest calls.

Arguments:

    Outliers - The command's state.

    Output - The output.

    Group - The calls.

    Order - Their indexes, the slowest first.

    AreSeveral - Whether they are of more than one function.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    const READER_OUTLIER *Call;
    ULONG Hidden = 1u << READER_OUTLIERS_FIBER_COLUMN;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    if (!AreSeveral) {
        Hidden |= READER_OUTLIERS_FUNCTION_COLUMNS;
    }

    for (Index = 0; Index < Group->NumberOfOutliers; Index++) {
        if (Group->Heap[Index].Track != 0) {
            Hidden &= ~(1u << READER_OUTLIERS_FIBER_COLUMN);
        }
    }

    ReaderBeginTable(Output, &ReaderOutlierCallTable, Hidden);
    for (Index = 0; Index < Group->NumberOfOutliers; Index++) {

        Call = &Group->Heap[Order[Index]];
        ReaderPutNumber(Output, Call->Ticks);
        ReaderPutStart(Outliers, Output, Call->EnterTimestamp);
        ReaderPutNumber(Output,
                        Outliers->Session.Threads[Call->Thread].ThreadId);
        ReaderPutProcess(Output,
                         &Outliers->Session,
                         Outliers->Session.Threads[Call->Thread].Process);
        ReaderPutNumber(Output, Call->Track);
        ReaderPutNumber(Output, Call->Depth);
        ReaderPutNumber(Output, Call->SelfTicks);
        if (Call->Child != READER_NONE) {
            ReaderPutNumber(Output, Call->ChildTicks);
            ReaderPutFunctionName(Outliers, Output, Call->Child, FALSE);
        } else {
            ReaderPutNothing(Output);
            ReaderPutNothing(Output);
        }

        ReaderPutFunctionName(Outliers, Output, Call->Function, TRUE);
        Status = ReaderPutPath(Outliers, Output, Call->Path, Call->Depth);
        if (!NT_SUCCESS(Status)) {
            break;
        }
    }

    ReaderEndTable(Output);
    return Status;
}


static
VOID
ReaderPutShare(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_DURATIONS *Durations,
    _In_ ULONG Share
    )
/*++

Routine Description:

    Writes the cell of a percentile.

Arguments:

    Output - The output.

    Durations - Of which calls.

    Share - Parts in CORE_ALL_CALLS.

Return Value:

    None.

--*/
{
    if (Durations->Calls == 0) {
        ReaderPutNothing(Output);
    } else {
        ReaderPutNumber(Output,
                        CoreQueryPercentile(&Durations->Histogram,
                                            Share,
                                            Durations->MaximumTicks));
    }
}


static
VOID
ReaderPutOutlierSummary(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_OUTLIER_GROUP *Group,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Writes the percentiles and what is apart.

Arguments:

    Outliers - The command's state.

    Output - The output.

    Group - The calls.

    Function - Their function, or the first one.

Return Value:

    None.

--*/
{
    const READER_DURATIONS *All = &Group->All;
    ULONG Hidden = 0;

    if (Group->Uncertain == 0) {
        Hidden |= 1u << READER_OUTLIERS_UNCERTAIN_COLUMN;
    }

    if (Group->BegunBefore == 0) {
        Hidden |= 1u << READER_OUTLIERS_BEGUN_COLUMN;
    }

    if (Group->Unfinished == 0) {
        Hidden |= READER_OUTLIERS_UNFINISHED_COLUMNS;
    }

    if (Group->Abandoned == 0) {
        Hidden |= READER_OUTLIERS_ABANDONED_COLUMNS;
    }

    ReaderBeginTable(Output, &ReaderOutlierSummaryTable, Hidden);
    ReaderPutFunctionName(Outliers, Output, Function, TRUE);
    ReaderPutNumber(Output, All->Calls);
    if (All->Calls != 0) {
        ReaderPutNumber(Output, All->MinimumTicks);
        ReaderPutNumber(Output,
                        CoreDivide(Group->SumHigh, Group->SumLow, All->Calls));
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }

    ReaderPutShare(Output, All, 500);
    ReaderPutShare(Output, All, 900);
    ReaderPutShare(Output, All, 990);
    ReaderPutShare(Output, All, 999);
    ReaderPutShare(Output, All, CORE_ALL_CALLS);
    ReaderPutNumber(Output, Group->Uncertain);
    ReaderPutNumber(Output, Group->BegunBefore);
    ReaderPutNumber(Output, Group->Unfinished);
    ReaderPutNumber(Output, Group->LongestUnfinished);
    ReaderPutNumber(Output, Group->Abandoned);
    ReaderPutNumber(Output, Group->LongestAbandoned);
    ReaderEndTable(Output);
}


static
VOID
ReaderPutOutlierHistogram(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_OUTLIER_GROUP *Group
    )
/*++

Routine Description:

    Writes how many calls took how long, a row for each power of two.

Arguments:

    Output - The output.

    Group - The calls.

Return Value:

    None.

--*/
{
    PCCORE_CLOCK Clock = Output->Clock;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    CORE_CLOCK Nanoseconds = *Clock;
    CHAR Bar[READER_OUTLIERS_BAR];
    ULONGLONG Largest = 0;
    ULONG First = READER_OUTLIERS_DURATIONS;
    ULONG Last = 0;
    ULONG Index;
    ULONG Length;

    for (Index = 0; Index < READER_OUTLIERS_DURATIONS; Index++) {
        if (Group->Counts[Index] != 0) {
            Last = Index;
            First = First < Index ? First : Index;
            Largest = Largest > Group->Counts[Index] ? Largest
                                                     : Group->Counts[Index];
        }
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Bar); Index++) {
        Bar[Index] = '#';
    }

    //
    // What is written are nanoseconds themselves, and no coarser ones.
    //

    if (Clock->Ticks != 0) {
        Nanoseconds.Ticks = CORE_NANOSECONDS_PER_SECOND;
        Nanoseconds.Nanoseconds = CORE_NANOSECONDS_PER_SECOND;
    }

    Nanoseconds.Resolution = 0;
    Output->Clock = &Nanoseconds;
    ReaderBeginTable(Output,
                     IsText ? &ReaderOutlierBarTable
                            : &ReaderOutlierHistogramTable,
                     0);
    for (Index = First; Index <= Last; Index++) {

        ReaderPutNumber(Output, Index == 0 ? 0 : 1ULL << (Index - 1));
        if (Index < 64) {
            ReaderPutNumber(Output, 1ULL << Index);
        } else {
            ReaderPutNothing(Output);
        }

        ReaderPutNumber(Output, Group->Counts[Index]);
        ReaderPutNumber(Output,
                        CoreMultiplyDivide(Group->Counts[Index],
                                           10000,
                                           Group->All.Calls));
        if (IsText) {

            //
            // One call is seen, too.
            //

            Length = (ULONG)CoreMultiplyDivide(Group->Counts[Index],
                                               READER_OUTLIERS_BAR,
                                               Largest);
            if (Length == 0 && Group->Counts[Index] != 0) {
                Length = 1;
            }

            ReaderPutText(Output, Bar, Length);
        }
    }

    ReaderEndTable(Output);
    Output->Clock = Clock;
}


static
VOID
ReaderPutOutlierCallers(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_OUTLIER_GROUP *Group,
    _In_reads_(Group->NumberOfCallers) const ULONG *Order
    )
/*++

Routine Description:

    Writes the direct callers.

Arguments:

    Outliers - The command's state.

    Output - The output.

    Group - The calls.

    Order - The callers' indexes.

Return Value:

    None.

--*/
{
    const READER_DURATIONS *Caller;
    ULONG Hidden = 0;
    ULONG Index;

    if (Outliers->Session.NumberOfModules == 1) {
        Hidden |= 1u << READER_OUTLIERS_CALLER_MODULE_COLUMN;
    }

    ReaderBeginTable(Output, &ReaderOutlierCallerTable, Hidden);
    for (Index = 0; Index < Group->NumberOfCallers; Index++) {

        Caller = &Group->Callers[Order[Index]];
        ReaderPutNumber(Output, Caller->Calls);
        ReaderPutShare(Output, Caller, 500);
        ReaderPutShare(Output, Caller, 990);
        ReaderPutNumber(Output, Caller->MaximumTicks);
        if (Caller->Function != READER_NONE) {
            ReaderPutFunctionName(Outliers, Output, Caller->Function, TRUE);
        } else {
            ReaderPutNothing(Output);
            ReaderPutString(Output, "(outermost)");
        }
    }

    ReaderEndTable(Output);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutOutliers(
    _In_ PREADER_OUTLIERS Outliers,
    _In_ PREADER_OUTLIER_GROUP Group,
    _In_ ULONG Function,
    _In_ BOOLEAN AreSeveral
    )
/*++

Routine Description:

    Writes what was found.

Arguments:

    Outliers - The command's state.

    Group - The calls.

    Function - Their function, or the first one.

    AreSeveral - Whether they are of more than one function.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCREADER_CONTEXT Context = Outliers->Session.Context;
    PCALLOCATOR Allocator = Context->Allocator;
    READER_OUTPUT Output;
    PULONG Calls;
    PULONG Callers;
    ULONG Index;
    NTSTATUS Status = STATUS_NO_MEMORY;

    Calls = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Group->NumberOfOutliers + 1) * sizeof(ULONG));
    Callers = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Group->NumberOfCallers + 1) * sizeof(ULONG));
    if (Calls == NULL || Callers == NULL) {
        goto End;
    }

    for (Index = 0; Index < Group->NumberOfOutliers; Index++) {
        Calls[Index] = Index;
    }

    for (Index = 0; Index < Group->NumberOfCallers; Index++) {
        Callers[Index] = Index;
    }

    ReaderSort(Calls, Group->NumberOfOutliers, ReaderCompareOutliers, Group);
    ReaderSort(Callers,
               Group->NumberOfCallers,
               ReaderCompareOutlierCallers,
               Group);

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Outliers->Options->Format,
                        &Outliers->Session.Clock,
                        "outliers",
                        TRUE);
    Output.HasProcesses = Outliers->Session.NumberOfProcesses > 1;
    ReaderPutOutlierSummary(Outliers, &Output, Group, Function);
    Status = ReaderPutOutlierCalls(Outliers, &Output, Group, Calls, AreSeveral);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    ReaderPutOutlierHistogram(&Output, Group);
    ReaderPutOutlierCallers(Outliers, &Output, Group, Callers);
    if (Group->Abandoned != 0) {
        ReaderPutNote(&Output,
                      "Abandoned: left without an exit (exception, longjmp, "
                      "no return).  They are in no other number.");
    }

    if (Group->Unfinished != 0) {
        ReaderPutNote(&Output,
                      "Unfinished: open at the end of the data or of the "
                      "range.  They are in no other number.");
    }

    if (Group->Uncertain != 0) {
        ReaderPutNote(&Output, READER_UNCERTAIN_NOTE);
    }

    ReaderPutRangeNote(&Output, Outliers->Options, Group->BegunBefore);
    ReaderPutClockNote(&Output, &Outliers->Session);
    ReaderEndDocument(&Output);

End:

    Allocator->Free(Allocator->Context, Callers);
    Allocator->Free(Allocator->Context, Calls);
    return Status;
}


static
ULONG
ReaderEndOutliers(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ ULONG ExitCode
    )
/*++

Routine Description:

    Decides whose calls are shown, and shows them.

Arguments:

    Outliers - The command's state, with all threads read.

    ExitCode - Of reading them.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Outliers->Session.Context;
    PREADER_OUTLIER_GROUP Group;
    PUCHAR IsMeant;
    ULONG Function;
    ULONG Number = 0;
    ULONG Index;
    ULONG Code;
    NTSTATUS Status;

    if (!ReaderResolveName(&Outliers->Name,
                           Outliers->Matches,
                           Outliers->CapacityOfMatches,
                           &IsMeant,
                           &Function,
                           &Code)) {
        return ExitCode == READER_EXIT_SUCCESS ? Code : ExitCode;
    }

    for (Index = 0; Index < Outliers->Functions.NumberOfFunctions; Index++) {
        Number += IsMeant[Index];
    }

    Context->Allocator->Free(Context->Allocator->Context, IsMeant);
    Group = &Outliers->Groups[ReaderMatchName(&Outliers->Name, Function) - 1];
    if (Group->All.Calls == 0 && Group->Abandoned == 0 &&
        Group->Unfinished == 0) {

        RtlWriteText(Context->Errors,
                     "TraceReader: outliers: %s was not called in what was "
                     "read\n",
                     Outliers->Name.Text);
        RtlFlushWriter(Context->Errors);
        return ExitCode == READER_EXIT_SUCCESS ? READER_EXIT_NOTHING
                                               : ExitCode;
    }

    Status = ReaderPutOutliers(Outliers, Group, Function, Number > 1);
    if (!NT_SUCCESS(Status)) {
        return ReaderFail(Context,
                          "outliers",
                          Outliers->Options->PathUtf8,
                          Status);
    }

    return ExitCode;
}


static
ULONG
ReaderRunOutliers(
    _Inout_ PREADER_OUTLIERS Outliers
    )
/*++

Routine Description:

    Reads the session and shows what was found.

Arguments:

    Outliers - The command's state, with the session open.

Return Value:

    READER_EXIT_*.

--*/
{
    PREADER_SESSION Session = &Outliers->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PCREADER_OPTIONS Options = Outliers->Options;
    ULONG ExitCode;

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        RtlWriteText(Context->Errors,
                     "TraceReader: outliers: the session has no times, its "
                     "clock was off\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if (!ReaderQueryRange(Session, Options, &Outliers->Range)) {
        return READER_EXIT_FAILURE;
    }

    Outliers->Limit = READER_OUTLIERS_DEFAULT_LIMIT;
    if ((Options->Given & READER_OPTION_LIMIT) != 0) {
        Outliers->Limit = Options->Limit < 0x80000000u ? (ULONG)Options->Limit
                                                       : 0x80000000u;
    }

    ReaderInitializeOutliers(Outliers);
    Outliers->Walk.Functions = &Outliers->Functions;
    Outliers->Walk.Range = &Outliers->Range;
    Outliers->Walk.Options = Options;
    Outliers->Walk.Event = ReaderOutliersEvent;
    Outliers->Walk.Context = Outliers;
    ExitCode = ReaderEndOutliers(Outliers, ReaderWalkThreads(&Outliers->Walk));

    ReaderRundownOutliers(Outliers);
    return ExitCode;
}


static
ULONG
ReaderCommandOutliers(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs outliers.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_OUTLIERS Outliers;
    ULONG ExitCode = READER_EXIT_FAILURE;

    Outliers = (PREADER_OUTLIERS)Allocator->Allocate(Allocator->Context,
                                                     sizeof(READER_OUTLIERS));
    if (Outliers == NULL) {
        return ReaderFail(Context,
                          "outliers",
                          Options->PathUtf8,
                          STATUS_NO_MEMORY);
    }

    Outliers->Options = Options;
    if (ReaderBeginCommand(&Outliers->Session, Context, Options)) {
        if (ReaderRequireCalls(&Outliers->Session, "outliers")) {
            ExitCode = ReaderRunOutliers(Outliers);
        }

        ReaderCloseSession(&Outliers->Session);
    }

    Allocator->Free(Allocator->Context, Outliers);
    return ExitCode;
}


const READER_COMMAND ReaderOutliersCommand = {
    "outliers",
    "FUNCTION PATH",
    "Shows a function's slowest calls, and how long all of them took",
    READER_NAME_NOTE
    "--limit says how many calls (default: 10).  start is after the first\n"
    "record: --from and --to take it.  In text, a chain of more than eight\n"
    "callers is shown with its middle left out.\n"
    "CSV (columns table, row, field, value) and JSON (arrays) hold\n"
    "  summary: module, function, calls, min_ns, average_ns, p50_ns,\n"
    "    p90_ns, p99_ns, p99_9_ns, max_ns, uncertain, begun_before,\n"
    "    unfinished, unfinished_max_ns, abandoned, abandoned_max_ns\n"
    "  calls: duration_ns, start_ns, thread, fiber, depth, self_ns, child_ns\n"
    "    and child_function (the direct callee that took longest in all),\n"
    "    module, function, path (the callers' names, the outermost first,\n"
    "    separated by semicolons)\n"
    "  histogram: from_ns, to_ns (not included), calls, share_percent\n"
    "  callers: calls, p50_ns, p99_ns, max_ns, module, caller\n"
    "Durations are inclusive, and each call of a recursive function counts\n"
    "for itself.  Abandoned and unfinished calls are counted apart.\n"
    READER_PERCENTILES_NOTE
    READER_RANGE_NOTE
    READER_TICKS_NOTE,
    "  TraceReader outliers Game::Update SESSION\n"
    "  TraceReader outliers --limit 50 --thread 4712 game.exe!Load SESSION\n"
    "  TraceReader outliers --from 1.5s --json Update SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_THREAD |
        READER_OPTION_FROM | READER_OPTION_TO | READER_OPTIONS_OF_READING,
    ReaderCommandOutliers
};
