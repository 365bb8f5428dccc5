/*++

Module Name:

    CommandDiff.c

Abstract:

    TraceReader diff: what changed from one session to another, function by
    function.

    Functions are the same if their modules and their names are.  The programs
    themselves count as one module, whatever their files are called; names of
    modules are compared in any case.  Functions of one name in one module are
    one row.

--*/

#include "Reader.h"

static const READER_COLUMN ReaderDiffColumns[] = {
    { "Calls A", "calls_a", ReaderColumnNumber, 10 },
    { "Calls B", "calls_b", ReaderColumnNumber, 10 },
    { "", "calls_difference", ReaderColumnSigned, 0 },
    { "Self A", "self_a", ReaderColumnTime, READER_TIME_WIDTH },
    { "Self B", "self_b", ReaderColumnTime, READER_TIME_WIDTH },
    { "Self B-A", "self_difference", ReaderColumnSignedTime, 11 },
    { "B/A", "self_ratio", ReaderColumnHundredths, 8 },
    { "", "total_a", ReaderColumnTime, 0 },
    { "", "total_b", ReaderColumnTime, 0 },
    { "Total B-A", "total_difference", ReaderColumnSignedTime, 11 },
    { "Avg A", "average_a", ReaderColumnTime, READER_TIME_WIDTH },
    { "Avg B", "average_b", ReaderColumnTime, READER_TIME_WIDTH },
    { "In", "in", ReaderColumnText, 6 },
    { "Module", "module", ReaderColumnText, 16 },
    { "Function", "function", ReaderColumnText, 0 }
};

#define READER_DIFF_HIDDEN_COLUMNS ((1u << 2) | (3u << 7))
#define READER_DIFF_IN_COLUMN 12
#define READER_DIFF_MODULE_COLUMN 13

static const READER_TABLE ReaderDiffTable = {
    "functions",
    ReaderDiffColumns,
    RTL_NUMBER_OF(ReaderDiffColumns),
    FALSE
};

//
// One of the two sessions.
//

typedef struct _READER_DIFF_SIDE {
    READER_OPTIONS Options;         // with its path
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TALLY Tally;
    READER_TALLY Before;            // for what was recorded before the last
    READER_RANGE Range;             // clear
} READER_DIFF_SIDE;
typedef READER_DIFF_SIDE *PREADER_DIFF_SIDE;

//
// Times in nanoseconds, or in ticks if the rate of either clock is not known.
//

typedef struct _READER_DIFF_VALUES {
    ULONGLONG Calls;
    ULONGLONG Self;
    ULONGLONG Total;
    ULONGLONG Average;
} READER_DIFF_VALUES;
typedef READER_DIFF_VALUES *PREADER_DIFF_VALUES;

typedef struct _READER_DIFF_ROW {
    READER_STATISTICS Statistics[2];
    READER_DIFF_VALUES Values[2];
    PREADER_DIFF_SIDE Side;         // that the function is of
    ULONG Function;
    ULONG Next;                     // row of the same hash, + 1
    BOOLEAN IsIn[2];
    BOOLEAN IsShown;
} READER_DIFF_ROW;
typedef READER_DIFF_ROW *PREADER_DIFF_ROW;

typedef struct _READER_DIFF {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_DIFF_SIDE Sides[2];
    READER_MAP Hashes;              // of a name to its first row, + 1
    PREADER_DIFF_ROW Rows;
    ULONG NumberOfRows;
    ULONG CapacityOfRows;
    CORE_CLOCK Clock;               // of the values
    READER_SORT_KEY SortKey;
    ULONGLONG NumberShown;
    READER_NOT_SHOWN NotShown;
} READER_DIFF;
typedef READER_DIFF *PREADER_DIFF;


static
CHAR
ReaderFoldModuleLetter(
    _In_ CHAR Letter
    )
/*++

Routine Description:

    Makes an ASCII letter small.

Arguments:

    Letter - The character.

Return Value:

    The character.

--*/
{
    return Letter >= 'A' && Letter <= 'Z' ? (CHAR)(Letter | 0x20) : Letter;
}


static
ULONG
ReaderQueryModuleName(
    _In_ const READER_DIFF_SIDE *Side,
    _In_ ULONG Function,
    _Outptr_ const CHAR **Name
    )
/*++

Routine Description:

    Gives the name of a function's module for comparing.

Arguments:

    Side - The session.

    Function - The function.

    Name - Receives the name.

Return Value:

    Its length in bytes; 0 for the program.

--*/
{
    const READER_MODULE *Module =
        Side->Session.Modules[Side->Functions.Functions[Function].Module];
    PCTRACE_STORE_HEADER Header = Module->Header;
    ULONG Index;

    *Name = Module->Name;
    if (Header->ModulePathLength != Header->ProcessPathLength) {
        return Module->NameLength;
    }

    for (Index = 0; Index < Header->ModulePathLength; Index++) {
        if (ReaderFoldModuleLetter(Header->ModulePath[Index]) !=
            ReaderFoldModuleLetter(Header->ProcessPath[Index])) {
            return Module->NameLength;
        }
    }

    return 0;
}


static
BOOLEAN
ReaderAreFunctionsEqual(
    _In_ const READER_DIFF_ROW *Row,
    _In_ const READER_DIFF_SIDE *Side,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Decides whether a function goes into a row.

Arguments:

    Row - The row.

    Side, Function - The function.

Return Value:

    TRUE if it does.

--*/
{
    PCREADER_FUNCTION One = &Row->Side->Functions.Functions[Row->Function];
    PCREADER_FUNCTION Other = &Side->Functions.Functions[Function];
    const CHAR *FirstModule;
    const CHAR *SecondModule;
    ULONG Length;
    ULONG Index;

    if (One->NameLength != Other->NameLength ||
        !RtlAreBytesEqual(One->Name, Other->Name, One->NameLength)) {
        return FALSE;
    }

    Length = ReaderQueryModuleName(Row->Side, Row->Function, &FirstModule);
    if (ReaderQueryModuleName(Side, Function, &SecondModule) != Length) {
        return FALSE;
    }

    for (Index = 0; Index < Length; Index++) {
        if (ReaderFoldModuleLetter(FirstModule[Index]) !=
            ReaderFoldModuleLetter(SecondModule[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindDiffRow(
    _Inout_ PREADER_DIFF Diff,
    _In_ PREADER_DIFF_SIDE Side,
    _In_ ULONG Function,
    _Outptr_ PREADER_DIFF_ROW *Row
    )
/*++

Routine Description:

    Finds the row of a function, and adds it if it is not there.

Arguments:

    Diff - The command's state.

    Side, Function - The function.

    Row - Receives the row, good until the next one is added.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCREADER_FUNCTION This = &Side->Functions.Functions[Function];
    ULONGLONG Hash = 0xCBF29CE484222325ULL;
    ULONG Index;
    ULONG Last = 0;
    BOOLEAN IsFirst;
    NTSTATUS Status;

    for (Index = 0; Index < This->NameLength; Index++) {
        Hash = (Hash ^ (UCHAR)This->Name[Index]) * 0x100000001B3ULL;
    }

    IsFirst = !ReaderFindInMap(&Diff->Hashes, Hash, &Index);
    if (!IsFirst) {
        for (; Index != 0; Index = Diff->Rows[Index - 1].Next) {

            *Row = &Diff->Rows[Index - 1];
            if (ReaderAreFunctionsEqual(*Row, Side, Function)) {
                return STATUS_SUCCESS;
            }

            Last = Index;
        }
    }

    Status = ReaderGrowArray(Diff->Context->Allocator,
                             (PVOID *)&Diff->Rows,
                             &Diff->CapacityOfRows,
                             Diff->NumberOfRows + 1,
                             sizeof(READER_DIFF_ROW));
    if (NT_SUCCESS(Status) && IsFirst) {
        Status = ReaderAddToMap(&Diff->Hashes, Hash, Diff->NumberOfRows + 1);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Row = &Diff->Rows[Diff->NumberOfRows];
    Diff->NumberOfRows += 1;
    if (!IsFirst) {
        Diff->Rows[Last - 1].Next = Diff->NumberOfRows;
    }

    (*Row)->Side = Side;
    (*Row)->Function = Function;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddSide(
    _Inout_ PREADER_DIFF Diff,
    _In_ ULONG Which
    )
/*++

Routine Description:

    Adds the functions of a session.

Arguments:

    Diff - The command's state.

    Which - 0 or 1: the session, which has been read.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_DIFF_SIDE Side = &Diff->Sides[Which];
    READER_STATISTICS Statistics;
    PCREADER_FUNCTION Function;
    PREADER_DIFF_ROW Row;
    ULONG Index;
    NTSTATUS Status;

    ReaderFilterFunctions(&Side->Functions, Diff->Options->Filter);
    for (Index = 0; Index < Side->Tally.NumberOfFunctions; Index++) {

        RtlZeroBytes(&Statistics, sizeof(Statistics));
        ReaderMergeStatistics(&Statistics, &Side->Tally, Index);
        Function =
            &Side->Functions.Functions[Side->Tally.List[Index].Function];
        if (Statistics.Calls == 0 ||
            !Side->Session.Modules[Function->Module]->IsSelected) {
            continue;
        }

        Status = ReaderFindDiffRow(Diff,
                                   Side,
                                   Side->Tally.List[Index].Function,
                                   &Row);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Row->IsIn[Which] = TRUE;
        Row->IsShown = Function->IsShown;
        ReaderMergeStatistics(&Row->Statistics[Which], &Side->Tally, Index);
    }

    return STATUS_SUCCESS;
}


static
ULONG
ReaderReadSide(
    _Inout_ PREADER_DIFF Diff,
    _Inout_ PREADER_DIFF_SIDE Side
    )
/*++

Routine Description:

    Reads all threads of a session.

Arguments:

    Diff - The command's state.

    Side - The session, open.

Return Value:

    READER_EXIT_*; failures have been written.

--*/
{
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    if (!ReaderQueryRange(&Side->Session, Diff->Options, &Side->Range)) {
        return READER_EXIT_FAILURE;
    }

    if (Side->Range.IsGiven) {
        Side->Tally.Range = &Side->Range;
        Side->Tally.Before = &Side->Before;
    }

    for (Index = 0; Index < Side->Session.NumberOfThreads; Index++) {

        Status = ReaderTallyThread(&Side->Tally, Index);
        if (!NT_SUCCESS(Status)) {
            ExitCode = ReaderFailThread(&Side->Session, Index, Status);
        }
    }

    for (Index = 0; Index < Side->Session.NumberOfStores; Index++) {
        if (Side->Session.Stores[Index]->Thread != READER_NONE) {
            ReaderWarnOfRecords(Diff->Context, Side->Session.Stores[Index]);
        }
    }

    return ExitCode;
}


static
VOID
ReaderChooseDiffClock(
    _Inout_ PREADER_DIFF Diff
    )
/*++

Routine Description:

    Decides what the times of both sessions are shown in: nanoseconds, no finer
    than the coarser clock; ticks, if the rate of one is not known; nothing, if
    one of them has no times.

Arguments:

    Diff - The command's state, with both sessions open.

Return Value:

    None.

--*/
{
    PCCORE_CLOCK Clock;
    ULONGLONG Step;
    BOOLEAN IsRateKnown = TRUE;
    ULONG Which;

    CoreInitializeClock(&Diff->Clock);
    Diff->Clock.IsRaw = Diff->Sides[0].Session.Clock.IsRaw;
    for (Which = 0; Which < 2; Which++) {
        if (Diff->Sides[Which].Session.Clock.Ticks == 0) {
            IsRateKnown = FALSE;
        }
    }

    if (IsRateKnown) {
        Diff->Clock.Ticks = CORE_NANOSECONDS_PER_SECOND;
        Diff->Clock.Nanoseconds = CORE_NANOSECONDS_PER_SECOND;
    }

    Diff->Clock.Kind = TRACE_CLOCK_TSC;
    for (Which = 0; Which < 2; Which++) {

        Clock = &Diff->Sides[Which].Session.Clock;
        if (Clock->Kind == TRACE_CLOCK_NONE) {
            Diff->Clock.Kind = TRACE_CLOCK_NONE;
        }

        if (Clock->Kind == TRACE_CLOCK_THREAD) {

            if (Diff->Clock.Kind != TRACE_CLOCK_NONE) {
                Diff->Clock.Kind = TRACE_CLOCK_THREAD;
            }

            Step = CoreQueryGranularity(Clock);
            if (Step > Diff->Clock.Resolution) {
                Diff->Clock.Resolution = Step;
            }
        }
    }
}


static
VOID
ReaderQueryDiffValues(
    _Inout_ PREADER_DIFF Diff
    )
/*++

Routine Description:

    Converts all rows' times.

Arguments:

    Diff - The command's state, with rows.

Return Value:

    None.

--*/
{
    PREADER_DIFF_ROW Row;
    PREADER_DIFF_VALUES Values;
    PCREADER_STATISTICS Statistics;
    PCCORE_CLOCK Clock;
    ULONGLONG Step = CoreQueryGranularity(&Diff->Clock);
    ULONG Which;
    ULONG Index;

    for (Index = 0; Index < 2 * Diff->NumberOfRows; Index++) {

        Which = Index % 2;
        Row = &Diff->Rows[Index / 2];
        Clock = &Diff->Sides[Which].Session.Clock;
        Statistics = &Row->Statistics[Which];
        Values = &Row->Values[Which];
        Values->Calls = Statistics->Calls;
        Values->Self = Statistics->SelfTicks;
        Values->Total = Statistics->TotalTicks;
        Values->Average = ReaderQueryAverage(Statistics);
        if (Diff->Clock.Ticks != 0) {
            CoreTicksToNanoseconds(Clock, Values->Self, &Values->Self);
            CoreTicksToNanoseconds(Clock, Values->Total, &Values->Total);
            CoreTicksToNanoseconds(Clock, Values->Average, &Values->Average);
        }

        //
        // A difference is that of the numbers that are shown.
        //

        Values->Self -= Values->Self % Step;
        Values->Total -= Values->Total % Step;
        Values->Average -= Values->Average % Step;
    }
}


static
ULONGLONG
ReaderQueryDistance(
    _In_ const READER_DIFF *Diff,
    _In_ const READER_DIFF_ROW *Row,
    _In_ READER_SORT_KEY SortKey
    )
/*++

Routine Description:

    Says how far apart the two numbers of a column are.

Arguments:

    Diff - The command's state.

    Row - The row.

    SortKey - The column.

Return Value:

    The difference without its sign.

--*/
{
    const READER_DIFF_VALUES *First = &Row->Values[0];
    const READER_DIFF_VALUES *Second = &Row->Values[1];
    ULONGLONG FirstValue;
    ULONGLONG SecondValue;

    if (Diff->Clock.Kind == TRACE_CLOCK_NONE) {
        SortKey = ReaderSortCalls;
    }

    switch (SortKey) {

    case ReaderSortTotal:
        FirstValue = First->Total;
        SecondValue = Second->Total;
        break;

    case ReaderSortAverage:
        FirstValue = First->Average;
        SecondValue = Second->Average;
        break;

    case ReaderSortCalls:
        FirstValue = First->Calls;
        SecondValue = Second->Calls;
        break;

    default:
        FirstValue = First->Self;
        SecondValue = Second->Self;
        break;
    }

    return FirstValue > SecondValue ? FirstValue - SecondValue
                                    : SecondValue - FirstValue;
}


static
LONG
ReaderCompareDiffRows(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders rows by their differences, the largest first, then by that of their
    calls, by name, and as they were met.

Arguments:

    Context - The command's state.

    First, Second - Rows.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_DIFF Diff = (PREADER_DIFF)Context;
    const READER_DIFF_ROW *One = &Diff->Rows[First];
    const READER_DIFF_ROW *Other = &Diff->Rows[Second];
    PCREADER_FUNCTION FirstFunction;
    PCREADER_FUNCTION SecondFunction;
    ULONGLONG FirstValue;
    ULONGLONG SecondValue;
    ULONG Pass;
    LONG Order;

    for (Pass = 0; Pass < 2 && Diff->SortKey != ReaderSortName; Pass++) {

        READER_SORT_KEY Key = Pass == 0 ? Diff->SortKey : ReaderSortCalls;

        FirstValue = ReaderQueryDistance(Diff, One, Key);
        SecondValue = ReaderQueryDistance(Diff, Other, Key);
        if (FirstValue != SecondValue) {
            return FirstValue > SecondValue ? -1 : 1;
        }
    }

    FirstFunction = &One->Side->Functions.Functions[One->Function];
    SecondFunction = &Other->Side->Functions.Functions[Other->Function];
    Order = ReaderCompareText(FirstFunction->Name,
                              FirstFunction->NameLength,
                              SecondFunction->Name,
                              SecondFunction->NameLength);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


static
VOID
ReaderPutDiffRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_DIFF_ROW *Row
    )
/*++

Routine Description:

    Writes a row.

Arguments:

    Output - The output.

    Row - The row.

Return Value:

    None.

--*/
{
    const READER_DIFF_VALUES *First = &Row->Values[0];
    const READER_DIFF_VALUES *Second = &Row->Values[1];
    PCREADER_FUNCTION Function = &Row->Side->Functions.Functions[Row->Function];
    const READER_MODULE *Module = Row->Side->Session.Modules[Function->Module];

    ReaderPutNumber(Output, First->Calls);
    ReaderPutNumber(Output, Second->Calls);
    ReaderPutNumber(Output, Second->Calls - First->Calls);
    ReaderPutNumber(Output, First->Self);
    ReaderPutNumber(Output, Second->Self);
    ReaderPutNumber(Output, Second->Self - First->Self);
    if (First->Self != 0 && Output->Clock->Kind != TRACE_CLOCK_NONE) {
        ReaderPutNumber(Output,
                        CoreMultiplyDivide(Second->Self, 100, First->Self));
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, First->Total);
    ReaderPutNumber(Output, Second->Total);
    ReaderPutNumber(Output, Second->Total - First->Total);
    ReaderPutNumber(Output, First->Average);
    ReaderPutNumber(Output, Second->Average);
    ReaderPutString(Output,
                    Row->IsIn[0] && Row->IsIn[1] ? "both"
                    : Row->IsIn[0]               ? "only A"
                                                 : "only B");
    ReaderPutText(Output, Module->Name, Module->NameLength);
    ReaderPutText(Output, Function->Name, Function->NameLength);
}


static
VOID
ReaderPutDiffNotes(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_DIFF *Diff
    )
/*++

Routine Description:

    Says what is to be known about the times of the two sessions.

Arguments:

    Output - The output.

    Diff - The command's state.

Return Value:

    None.

--*/
{
    PCCORE_CLOCK First = &Diff->Sides[0].Session.Clock;
    PCCORE_CLOCK Second = &Diff->Sides[1].Session.Clock;
    ULONGLONG FirstRate = CoreQueryTickRate(First);
    ULONGLONG SecondRate = CoreQueryTickRate(Second);
    ULONGLONG Distance = FirstRate > SecondRate ? FirstRate - SecondRate
                                                : SecondRate - FirstRate;

    if (Output->Format != ReaderFormatText) {
        return;
    }

    if (First->Kind == TRACE_CLOCK_NONE || Second->Kind == TRACE_CLOCK_NONE) {
        ReaderPutNote(Output,
                      "There are no times: the clock of a session was off.");
        return;
    }

    if (First->Kind != Second->Kind) {
        RtlWriteText(Output->Writer,
                     "The clocks are of different kinds: A's is %s, B's is "
                     "%s.\n",
                     ReaderDescribeClock(First),
                     ReaderDescribeClock(Second));
    }

    if (Diff->Clock.Ticks == 0) {

        ReaderPutNote(Output,
                      "Times are ticks: the rate of a session's clock is not "
                      "known.  They compare only if both rates are the same.");

    } else if (Distance > FirstRate / 1000) {

        //
        // Two readings of one counter are hardly a thousandth apart.
        //

        RtlWriteText(Output->Writer,
                     "The clocks have different rates: A's has %llu ticks a "
                     "second, B's %llu.\n",
                     FirstRate,
                     SecondRate);
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutDiff(
    _Inout_ PREADER_DIFF Diff
    )
/*++

Routine Description:

    Writes the rows.

Arguments:

    Diff - The command's state, with rows.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Diff->Context->Allocator;
    READER_OUTPUT Output;
    PREADER_DIFF_ROW Row;
    PULONG Order;
    ULONG Hidden = READER_DIFF_HIDDEN_COLUMNS;
    ULONG Count = 0;
    ULONG Index;
    BOOLEAN AreAllInBoth = TRUE;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Diff->NumberOfRows + 1) * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Diff->NumberOfRows; Index++) {

        Row = &Diff->Rows[Index];
        if (!Row->IsShown) {
            Diff->NotShown.Rows += 1;
            Diff->NotShown.Calls += Row->Values[0].Calls +
                                    Row->Values[1].Calls;
            continue;
        }

        if (!Row->IsIn[0] || !Row->IsIn[1]) {
            AreAllInBoth = FALSE;
        }

        Order[Count] = Index;
        Count += 1;
    }

    if (AreAllInBoth) {
        Hidden |= 1u << READER_DIFF_IN_COLUMN;
    }

    if (Diff->Sides[0].Session.NumberOfModules == 1 &&
        Diff->Sides[1].Session.NumberOfModules == 1) {
        Hidden |= 1u << READER_DIFF_MODULE_COLUMN;
    }

    Diff->NumberShown = Count;
    ReaderSort(Order, Count, ReaderCompareDiffRows, Diff);
    ReaderBeginDocument(&Output,
                        Diff->Context->Output,
                        Diff->Options->Format,
                        &Diff->Clock,
                        "diff",
                        FALSE);
    ReaderBeginTable(&Output, &ReaderDiffTable, Hidden);
    for (Index = 0; Index < Count && Index < Diff->Options->Limit; Index++) {
        ReaderPutDiffRow(&Output, &Diff->Rows[Order[Index]]);
    }

    ReaderEndTable(&Output);
    ReaderPutNotShown(&Output, Diff->Options->Filter, &Diff->NotShown);
    ReaderPutDiffNotes(&Output, Diff);
    ReaderEndDocument(&Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


static
ULONG
ReaderRunDiff(
    _Inout_ PREADER_DIFF Diff
    )
/*++

Routine Description:

    Reads both sessions and compares them.

Arguments:

    Diff - The command's state, with both sessions open.

Return Value:

    READER_EXIT_*.

--*/
{
    PREADER_DIFF_SIDE Side;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Code;
    ULONG Which;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Which = 0; Which < 2; Which++) {

        Side = &Diff->Sides[Which];
        ReaderInitializeFunctions(&Side->Functions, &Side->Session);
        ReaderInitializeTally(&Side->Tally, &Side->Functions, NULL);
        ReaderInitializeTally(&Side->Before, &Side->Functions, NULL);
    }

    ReaderInitializeMap(&Diff->Hashes, Diff->Context->Allocator);
    ReaderChooseDiffClock(Diff);
    for (Which = 0; Which < 2 && NT_SUCCESS(Status); Which++) {

        Code = ReaderReadSide(Diff, &Diff->Sides[Which]);
        if (Code != READER_EXIT_SUCCESS) {
            ExitCode = Code;
        }

        Status = ReaderAddSide(Diff, Which);
    }

    if (NT_SUCCESS(Status)) {
        ReaderQueryDiffValues(Diff);
        Status = ReaderPutDiff(Diff);
    }

    if (NT_SUCCESS(Status)) {
        ExitCode = ReaderEndFilter(Diff->Context,
                                   Diff->Options->Filter,
                                   Diff->NumberShown,
                                   &Diff->NotShown,
                                   ExitCode);
    } else {
        ExitCode = ReaderFail(Diff->Context,
                              "diff",
                              Diff->Options->PathUtf8,
                              Status);
    }

    ReaderRundownMap(&Diff->Hashes);
    Diff->Context->Allocator->Free(Diff->Context->Allocator->Context,
                                   Diff->Rows);
    for (Which = 0; Which < 2; Which++) {
        ReaderRundownTally(&Diff->Sides[Which].Tally);
        ReaderRundownTally(&Diff->Sides[Which].Before);
        ReaderRundownFunctions(&Diff->Sides[Which].Functions);
    }

    return ExitCode;
}


static
ULONG
ReaderCommandDiff(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs diff.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_DIFF Diff;
    PREADER_DIFF_SIDE Sides;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->SortKey == ReaderSortMinimum ||
        Options->SortKey == ReaderSortMaximum) {
        RtlWriteText(Context->Errors,
                     "TraceReader: diff: --sort takes self, total, calls, avg "
                     "or name here (see TraceReader diff --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Diff = (PREADER_DIFF)Allocator->Allocate(Allocator->Context,
                                             sizeof(READER_DIFF));
    if (Diff == NULL) {
        return ReaderFail(Context, "diff", Options->PathUtf8, STATUS_NO_MEMORY);
    }

    Diff->Context = Context;
    Diff->Options = Options;
    Diff->SortKey = (Options->Given & READER_OPTION_SORT) != 0
                        ? Options->SortKey
                        : ReaderSortSelf;

    Sides = Diff->Sides;
    Sides[0].Options = *Options;
    Sides[0].Options.Path = Options->First;
    Sides[0].Options.PathUtf8 = Options->FirstUtf8;
    Sides[1].Options = *Options;

    if (ReaderBeginCommand(&Sides[0].Session, Context, &Sides[0].Options)) {

        if (ReaderBeginCommand(&Sides[1].Session,
                               Context,
                               &Sides[1].Options)) {
            ExitCode = ReaderRunDiff(Diff);
            ReaderCloseSession(&Sides[1].Session);
        }

        ReaderCloseSession(&Sides[0].Session);
    }

    Allocator->Free(Allocator->Context, Diff);
    return ExitCode;
}


const READER_COMMAND ReaderDiffCommand = {
    "diff",
    "A B",
    "Shows what changed from session A to session B, by function",
    "A function is the same in both if its name and its module's are (the\n"
    "program itself may be called something else); functions of one name in\n"
    "one module are one row.  The largest difference of self, up or down,\n"
    "comes first; --sort KEY: that of KEY (self, total, calls, avg; name).\n"
    "CSV, and JSON in the array functions, hold\n"
    "  calls_a, calls_b, calls_difference, self_a_ns, self_b_ns,\n"
    "  self_difference_ns, self_ratio (B/A; none if A has none),\n"
    "  total_a_ns, total_b_ns, total_difference_ns, average_a_ns,\n"
    "  average_b_ns, in (both, only A, only B), module, function\n"
    "Differences are B - A; the default of --sort is self.  Calls count\n"
    "abandoned ones, times do not.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    "Times are ticks if the rate of either clock is not known, and there are\n"
    "none if either clock was off.\n",
    "  TraceReader diff traces\\before traces\\after\n"
    "  TraceReader diff --limit 20 --sort calls --module game A B\n"
    "  TraceReader diff --csv --exclude std:: A B > diff.csv\n",
    READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_MODULE | READER_OPTION_FILTER |
        READER_OPTIONS_OF_READING,
    ReaderCommandDiff
};
