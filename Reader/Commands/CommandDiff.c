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

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Functions/FunctionFilter.h"
#include "../Calls/CallWaits.h"
#include "../Sums/SumTally.h"
#include "Command.h"

#define READER_DIFF_IN READER_COLUMN_OWN(0)     // when not all are in both

static const READER_COLUMN ReaderDiffColumns[] = {
    { "Calls A", "calls_a", ReaderColumnNumber, 10, 0,
      "Calls in session A." },
    { "Calls B", "calls_b", ReaderColumnNumber, 10, 0,
      "Calls in session B." },
    { "", "calls_difference", ReaderColumnSigned, 0, READER_COLUMN_DATA,
      "B - A." },
    { "Self A", "self_a", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "Self time in A; null if it is not in A." },
    { "Self B", "self_b", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "In B." },
    { "Self B-A", "self_difference", ReaderColumnSignedTime, 11,
      READER_COLUMN_NULLABLE,
      "B - A." },
    { "B/A", "self_ratio", ReaderColumnHundredths, 8, READER_COLUMN_NULLABLE,
      "B / A with two decimals; null if A has none." },
    { "", "total_a", ReaderColumnTime, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "Total time in A." },
    { "", "total_b", ReaderColumnTime, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "In B." },
    { "Total B-A", "total_difference", ReaderColumnSignedTime, 11,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "B - A." },
    { "Avg A", "average_a", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "Average inclusive time of a call in A." },
    { "Avg B", "average_b", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,
      "In B." },
    { "Waited A", "waited_a", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED | READER_COLUMN_LESSER,
      "Of total_a, the time inside functions that wait (Docs/Waits.md)." },
    { "Waited B", "waited_b", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED | READER_COLUMN_LESSER,
      "In B." },
    { "Waited B-A", "waited_difference", ReaderColumnSignedTime, 11,
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,
      "B - A." },
    { "", "ran_a", ReaderColumnTime, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "total_a without waited_a." },
    { "", "ran_b", ReaderColumnTime, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,
      "In B." },
    { "Ran B-A", "ran_difference", ReaderColumnSignedTime, 11,
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,
      "B - A." },
    { "In", "in", ReaderColumnText, 6,
      READER_DIFF_IN | READER_COLUMN_LESSER,
      "both, only A or only B." },
    { "Module", "module", ReaderColumnText, 16,
      READER_COLUMN_MODULE | READER_COLUMN_LESSER,
      "The module's file name." },
    { "Function", "function", ReaderColumnText, 0, 0,
      "The function's name, or module+0xRVA." }
};

static const READER_TABLE ReaderDiffTable = {
    "functions",
    ReaderDiffColumns,
    RTL_NUMBER_OF(ReaderDiffColumns),
    FALSE,
    FALSE,
    "A row for each function of either session."
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
    ULONGLONG Waited;
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


//
// Makes an ASCII letter small.
// Letter: the character.
// Returns the character.
//

static
CHAR
CommandFoldModuleLetter(
    _In_ CHAR Letter
    )
{
    return Letter >= 'A' && Letter <= 'Z' ? (CHAR)(Letter | 0x20) : Letter;
}


//
// Gives the name of a function's module for comparing.
// Side: the session.
// Returns its length in bytes; 0 for the program.
//

static
ULONG
CommandQueryModuleName(
    _In_ const READER_DIFF_SIDE *Side,
    _In_ ULONG Function,
    _Outptr_ const CHAR **Name
    )
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
        if (CommandFoldModuleLetter(Header->ModulePath[Index]) !=
            CommandFoldModuleLetter(Header->ProcessPath[Index])) {
            return Module->NameLength;
        }
    }

    return 0;
}


//
// Decides whether a function goes into a row.
//

static
BOOLEAN
CommandAreFunctionsEqual(
    _In_ const READER_DIFF_ROW *Row,
    _In_ const READER_DIFF_SIDE *Side,
    _In_ ULONG Function
    )
{
    PCREADER_FUNCTION One = &Row->Side->Functions.Functions[Row->Function];
    PCREADER_FUNCTION Other = &Side->Functions.Functions[Function];
    const CHAR *FirstModule;
    const CHAR *SecondModule;
    ULONG Length;
    ULONG Index;

    if (One->BareLength != Other->BareLength ||
        !RtlAreBytesEqual(One->FullName, Other->FullName, One->BareLength)) {
        return FALSE;
    }

    Length = CommandQueryModuleName(Row->Side, Row->Function, &FirstModule);
    if (CommandQueryModuleName(Side, Function, &SecondModule) != Length) {
        return FALSE;
    }

    for (Index = 0; Index < Length; Index++) {
        if (CommandFoldModuleLetter(FirstModule[Index]) !=
            CommandFoldModuleLetter(SecondModule[Index])) {
            return FALSE;
        }
    }

    return TRUE;
}


//
// Finds the row of a function, and adds it if it is not there.
// Row: the row, good until the next one is added.
//

_Must_inspect_result_
static
NTSTATUS
CommandFindDiffRow(
    _Inout_ PREADER_DIFF Diff,
    _In_ PREADER_DIFF_SIDE Side,
    _In_ ULONG Function,
    _Outptr_ PREADER_DIFF_ROW *Row
    )
{
    PCREADER_FUNCTION This = &Side->Functions.Functions[Function];
    ULONGLONG Hash = 0xCBF29CE484222325ULL;
    ULONG Index;
    ULONG Last = 0;
    BOOLEAN IsFirst;
    NTSTATUS Status;

    for (Index = 0; Index < This->BareLength; Index++) {
        Hash = (Hash ^ (UCHAR)This->FullName[Index]) * 0x100000001B3ULL;
    }

    IsFirst = !BaseFindInMap(&Diff->Hashes, Hash, &Index);
    if (!IsFirst) {
        for (; Index != 0; Index = Diff->Rows[Index - 1].Next) {

            *Row = &Diff->Rows[Index - 1];
            if (CommandAreFunctionsEqual(*Row, Side, Function)) {
                return STATUS_SUCCESS;
            }

            Last = Index;
        }
    }

    Status = BaseGrowArray(Diff->Context->Allocator,
                           (PVOID *)&Diff->Rows,
                           &Diff->CapacityOfRows,
                           Diff->NumberOfRows + 1,
                           sizeof(READER_DIFF_ROW));
    if (NT_SUCCESS(Status) && IsFirst) {
        Status = BaseAddToMap(&Diff->Hashes, Hash, Diff->NumberOfRows + 1);
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


//
// Adds the functions of a session.
// Which: 0 or 1: the session, which has been read.
//

_Must_inspect_result_
static
NTSTATUS
CommandAddSide(
    _Inout_ PREADER_DIFF Diff,
    _In_ ULONG Which
    )
{
    PREADER_DIFF_SIDE Side = &Diff->Sides[Which];
    READER_STATISTICS Statistics;
    PCREADER_FUNCTION Function;
    PREADER_DIFF_ROW Row;
    ULONG Index;
    NTSTATUS Status;

    FunctionFilterFunctions(&Side->Functions, Diff->Options->Filter);
    for (Index = 0; Index < Side->Tally.NumberOfFunctions; Index++) {

        RtlZeroBytes(&Statistics, sizeof(Statistics));
        SumMergeStatistics(&Statistics, &Side->Tally, Index);
        Function =
            &Side->Functions.Functions[Side->Tally.List[Index].Function];
        if (Statistics.Calls == 0 || !Function->IsSelected) {
            continue;
        }

        Status = CommandFindDiffRow(Diff,
                                    Side,
                                    Side->Tally.List[Index].Function,
                                    &Row);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Row->IsIn[Which] = TRUE;
        Row->IsShown = Function->IsShown;
        SumMergeStatistics(&Row->Statistics[Which], &Side->Tally, Index);
    }

    return STATUS_SUCCESS;
}


//
// Reads all threads of a session.
// Side: the session, open.
// Returns READER_EXIT_*; failures have been written.
//

static
ULONG
CommandReadSide(
    _Inout_ PREADER_DIFF Diff,
    _Inout_ PREADER_DIFF_SIDE Side
    )
{
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    if (!CallQueryRange(&Side->Session, Diff->Options, &Side->Range)) {
        return READER_EXIT_FAILURE;
    }

    if (Side->Range.IsGiven) {
        Side->Tally.Range = &Side->Range;
        Side->Tally.Before = &Side->Before;
    }

    for (Index = 0; Index < Side->Session.NumberOfThreads; Index++) {

        Status = SumTallyThread(&Side->Tally, Index);
        if (!NT_SUCCESS(Status)) {
            ExitCode = SessionFailThread(&Side->Session, Index, Status);
        }
    }

    for (Index = 0; Index < Side->Session.NumberOfStores; Index++) {
        if (Side->Session.Stores[Index]->Thread != READER_NONE) {
            CallWarnOfRecords(Diff->Context, Side->Session.Stores[Index]);
        }
    }

    return ExitCode;
}


//
// Decides what the times of both sessions are shown in: nanoseconds, no finer
// than the coarser clock; ticks, if the rate of one is not known; nothing, if
// one of them has no times.
//
// Diff: the command's state, with both sessions open.
//

static
VOID
CommandChooseDiffClock(
    _Inout_ PREADER_DIFF Diff
    )
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


//
// Converts all rows' times.
//

static
VOID
CommandQueryDiffValues(
    _Inout_ PREADER_DIFF Diff
    )
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
        Values->Average = CoreQueryAverage(Statistics);
        Values->Waited = Statistics->WaitedTicks < Statistics->TotalTicks
                             ? Statistics->WaitedTicks
                             : Statistics->TotalTicks;
        if (Diff->Clock.Ticks != 0) {
            CoreTicksToNanoseconds(Clock, Values->Self, &Values->Self);
            CoreTicksToNanoseconds(Clock, Values->Total, &Values->Total);
            CoreTicksToNanoseconds(Clock, Values->Average, &Values->Average);
            CoreTicksToNanoseconds(Clock, Values->Waited, &Values->Waited);
        }

        //
        // A difference is that of the numbers that are shown.
        //

        Values->Self -= Values->Self % Step;
        Values->Total -= Values->Total % Step;
        Values->Average -= Values->Average % Step;
        Values->Waited -= Values->Waited % Step;
    }
}


//
// Says how far apart the two numbers of a column are.
// Returns the difference without its sign.
//

static
ULONGLONG
CommandQueryDistance(
    _In_ const READER_DIFF *Diff,
    _In_ const READER_DIFF_ROW *Row,
    _In_ READER_SORT_KEY SortKey
    )
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


//
// Orders rows by their differences, the largest first, then by that of their
// calls, by name, and as they were met.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareDiffRows(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
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

        FirstValue = CommandQueryDistance(Diff, One, Key);
        SecondValue = CommandQueryDistance(Diff, Other, Key);
        if (FirstValue != SecondValue) {
            return FirstValue > SecondValue ? -1 : 1;
        }
    }

    FirstFunction = &One->Side->Functions.Functions[One->Function];
    SecondFunction = &Other->Side->Functions.Functions[Other->Function];
    Order = FunctionCompareNames(FirstFunction, SecondFunction);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


static
VOID
CommandPutDiffRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_DIFF_ROW *Row
    )
{
    const READER_DIFF_VALUES *First = &Row->Values[0];
    const READER_DIFF_VALUES *Second = &Row->Values[1];
    PCREADER_FUNCTION Function = &Row->Side->Functions.Functions[Row->Function];

    OutputPutNumber(Output, First->Calls);
    OutputPutNumber(Output, Second->Calls);
    OutputPutNumber(Output, Second->Calls - First->Calls);
    OutputPutNumber(Output, First->Self);
    OutputPutNumber(Output, Second->Self);
    OutputPutNumber(Output, Second->Self - First->Self);
    if (First->Self != 0 && Output->Clock->Kind != TRACE_CLOCK_NONE) {
        OutputPutNumber(Output,
                        CoreMultiplyDivide(Second->Self, 100, First->Self));
    } else {
        OutputPutNothing(Output);
    }

    OutputPutNumber(Output, First->Total);
    OutputPutNumber(Output, Second->Total);
    OutputPutNumber(Output, Second->Total - First->Total);
    OutputPutNumber(Output, First->Average);
    OutputPutNumber(Output, Second->Average);
    OutputPutNumber(Output, First->Waited);
    OutputPutNumber(Output, Second->Waited);
    OutputPutNumber(Output, Second->Waited - First->Waited);
    OutputPutNumber(Output, First->Total - First->Waited);
    OutputPutNumber(Output, Second->Total - Second->Waited);
    OutputPutNumber(Output,
                    (Second->Total - Second->Waited) -
                        (First->Total - First->Waited));
    OutputPutString(Output,
                    Row->IsIn[0] && Row->IsIn[1] ? "both"
                    : Row->IsIn[0]               ? "only A"
                                                 : "only B");
    OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
    OutputPutText(Output, Function->Name, Function->NameLength);
}


//
// Says what is to be known about the times of the two sessions.
//

static
VOID
CommandPutSides(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_DIFF *Diff
    )
{
    PCSZ Names[2];
    READER_NOTE Note;
    PCSZ Next;
    ULONG Which;

    for (Which = 0; Which < 2; Which++) {
        Names[Which] = Diff->Sides[Which].Options.PathUtf8;
        for (Next = Names[Which]; *Next != 0; Next++) {
            if ((*Next == '\\' || *Next == '/') && Next[1] != 0) {
                Names[Which] = Next + 1;
            }
        }
    }

    if (RtlAreStringsEqual(Names[0], Names[1])) {
        Names[0] = Diff->Sides[0].Options.PathUtf8;
        Names[1] = Diff->Sides[1].Options.PathUtf8;
    }

    for (Which = 0; Which < 2; Which++) {
        OutputBeginNote(&Note);
        RtlWriteText(&Note.Writer,
                     "%s: %T",
                     Which == 0 ? "A" : "B",
                     Names[Which]);
        OutputEndNote(Output, &Note);
    }
}


static
VOID
CommandPutDiffNotes(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_DIFF *Diff
    )
{
    PCCORE_CLOCK First = &Diff->Sides[0].Session.Clock;
    PCCORE_CLOCK Second = &Diff->Sides[1].Session.Clock;
    ULONGLONG FirstRate = CoreQueryTickRate(First);
    ULONGLONG SecondRate = CoreQueryTickRate(Second);
    ULONGLONG Distance = FirstRate > SecondRate ? FirstRate - SecondRate
                                                : SecondRate - FirstRate;
    READER_NOTE Note;

    if (Output->Format != ReaderFormatText) {
        return;
    }

    CommandPutSides(Output, Diff);
    if (First->Kind == TRACE_CLOCK_NONE || Second->Kind == TRACE_CLOCK_NONE) {
        OutputPutNote(Output,
                      "There are no times: a session was recorded with "
                      "TRACER_CLOCK=none.");
        return;
    }

    if (First->Kind != Second->Kind) {
        OutputBeginNote(&Note);
        RtlWriteText(&Note.Writer,
                     "The clocks are of different kinds: A's is %s, B's is %s.",
                     OutputDescribeClock(First),
                     OutputDescribeClock(Second));
        OutputEndNote(Output, &Note);
    }

    if (Diff->Clock.Ticks == 0) {

        OutputPutNote(Output,
                      "Times are ticks: the rate of a session's clock is not "
                      "known.  They compare only if both rates are the same.");

    } else if (Distance > FirstRate / 1000) {

        //
        // Two readings of one counter are hardly a thousandth apart.
        //

        OutputBeginNote(&Note);
        RtlWriteText(&Note.Writer,
                     "The clocks have different rates: A's has %llu ticks a "
                     "second, B's %llu.",
                     FirstRate,
                     SecondRate);
        OutputEndNote(Output, &Note);
    }
}


//
// Writes the rows.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutDiff(
    _Inout_ PREADER_DIFF Diff
    )
{
    PCALLOCATOR Allocator = Diff->Context->Allocator;
    READER_OUTPUT Output;
    PREADER_DIFF_ROW Row;
    PULONG Order;
    ULONG When = 0;
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

        if (Row->Values[0].Waited != 0 || Row->Values[1].Waited != 0) {
            When |= READER_COLUMN_WAITED;
        }

        Order[Count] = Index;
        Count += 1;
    }

    if (!AreAllInBoth) {
        When |= READER_DIFF_IN;
    }

    if (Diff->Sides[0].Session.NumberOfModules != 1 ||
        Diff->Sides[1].Session.NumberOfModules != 1) {
        When |= READER_COLUMN_MODULE;
    }

    Diff->NumberShown = Count;
    BaseSort(Order, Count, CommandCompareDiffRows, Diff);
    OutputBeginDocument(&Output,
                        Diff->Context->Output,
                        Diff->Options->Format,
                        &Diff->Clock,
                        "diff",
                        FALSE);
    OutputBeginTable(&Output, &ReaderDiffTable, When);
    for (Index = 0; Index < Count && Index < Diff->Options->Limit; Index++) {
        CommandPutDiffRow(&Output, &Diff->Rows[Order[Index]]);
    }

    OutputEndTable(&Output);
    FunctionPutNotShown(&Output, Diff->Options->Filter, &Diff->NotShown);
    CommandPutDiffNotes(&Output, Diff);
    OutputEndDocument(&Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


//
// Reads both sessions and compares them.
// Diff: the command's state, with both sessions open.
//

static
ULONG
CommandRunDiff(
    _Inout_ PREADER_DIFF Diff
    )
{
    PREADER_DIFF_SIDE Side;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Code;
    ULONG Which;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Which = 0; Which < 2; Which++) {

        Side = &Diff->Sides[Which];
        FunctionInitializeFunctions(&Side->Functions, &Side->Session);
        CallInitializeTally(&Side->Tally, &Side->Functions, NULL);
        CallInitializeTally(&Side->Before, &Side->Functions, NULL);
    }

    Diff->Sides[1].Functions.Peer = &Diff->Sides[0].Functions;
    BaseInitializeMap(&Diff->Hashes, Diff->Context->Allocator);
    CommandChooseDiffClock(Diff);
    for (Which = 0; Which < 2 && NT_SUCCESS(Status); Which++) {

        Code = CommandReadSide(Diff, &Diff->Sides[Which]);
        if (Code != READER_EXIT_SUCCESS) {
            ExitCode = Code;
        }

        Status = CommandAddSide(Diff, Which);
    }

    if (NT_SUCCESS(Status)) {
        CommandQueryDiffValues(Diff);
        Status = CommandPutDiff(Diff);
    }

    if (NT_SUCCESS(Status)) {
        ExitCode = FunctionEndFilter(Diff->Context,
                                     Diff->Options->Filter,
                                     &Diff->Sides[1].Functions,
                                     Diff->NumberShown,
                                     &Diff->NotShown,
                                     ExitCode);
    } else {
        ExitCode = BaseFail(Diff->Context,
                            "diff",
                            Diff->Options->PathUtf8,
                            Status);
    }

    BaseRundownMap(&Diff->Hashes);
    Diff->Context->Allocator->Free(Diff->Context->Allocator->Context,
                                   Diff->Rows);
    for (Which = 0; Which < 2; Which++) {
        CallRundownTally(&Diff->Sides[Which].Tally);
        CallRundownTally(&Diff->Sides[Which].Before);
        FunctionRundownFunctions(&Diff->Sides[Which].Functions);
    }

    return ExitCode;
}


static
ULONG
CommandDiff(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_DIFF Diff;
    PREADER_DIFF_SIDE Sides;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->SortKey == ReaderSortMinimum ||
        Options->SortKey == ReaderSortMaximum ||
        Options->SortKey == ReaderSortWaited) {
        RtlWriteText(Context->Errors,
                     "TraceReader: diff: --sort takes self, total, calls, avg "
                     "or name here (see TraceReader diff --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    Diff = (PREADER_DIFF)Allocator->Allocate(Allocator->Context,
                                             sizeof(READER_DIFF));
    if (Diff == NULL) {
        return BaseFail(Context, "diff", Options->PathUtf8, STATUS_NO_MEMORY);
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

    if (CommandBeginCommand(&Sides[0].Session, Context, &Sides[0].Options)) {

        if (CommandBeginCommand(&Sides[1].Session,
                                Context,
                                &Sides[1].Options)) {
            if (CallBeginWaits(&Sides[0].Session, Options) &&
                CallBeginWaits(&Sides[1].Session, Options)) {
                ExitCode = CommandRunDiff(Diff);
            }

            CommandCloseCommandSession(&Sides[1].Session);
        }

        CommandCloseCommandSession(&Sides[0].Session);
    }

    Allocator->Free(Allocator->Context, Diff);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderDiffTables[] = {
    &ReaderDiffTable,
    &ReaderNotShownTable,
    NULL
};

const READER_COMMAND ReaderDiffCommand = {
    "diff",
    "A B",
    "Shows what changed from session A to session B, by function",
    "A function is the same in both if its name and its module's are (the\n"
    "program itself may be called something else); functions of one name in\n"
    "one module are one row.  The largest difference of self, up or down,\n"
    "comes first; --sort KEY: that of KEY (self, total, calls, avg; name).\n"
    "Differences are B - A; the default of --sort is self.  Calls count\n"
    "abandoned ones, times do not.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_WAITS_NOTE
    "Times are ticks if the rate of either clock is not known, and there are\n"
    "none if either session was recorded with TRACER_CLOCK=none.\n",
    "  TraceReader diff traces\\before traces\\after\n"
    "  TraceReader diff --limit 20 --sort calls --module game A B\n"
    "  TraceReader diff --csv --exclude std:: A B > diff.csv\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_MODULE | READER_OPTION_FILTER |
        READER_OPTION_WAITS | READER_OPTIONS_OF_READING,
    CommandDiff,
    ReaderDiffTables,
    NULL
};
