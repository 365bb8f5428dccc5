/*++

Module Name:

    CommandOutliers.c

Abstract:

    TraceReader outliers: a function's slowest calls, and how long all of them
    took.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionTreeStore.h"
#include "../Functions/FunctionStub.h"
#include "../Calls/CallWaits.h"
#include "../Sums/SumOutliers.h"
#include "../Sums/SumPutStatistics.h"
#include "../Sums/SumWaker.h"
#include "Command.h"

#define READER_OUTLIERS_DEFAULT_LIMIT 10u
#define READER_OUTLIERS_BAR 40u
#define READER_OUTLIERS_NARROW_BAR 32u      // where a width is to be fitted
#define READER_OUTLIERS_PATH_IN_TEXT 8u     // functions of a chain
#define READER_OUTLIERS_PATH 1000u          // likewise, in CSV and JSON

//
// When text shows some of the columns: there is a fiber among the calls, or
// several functions.
//

#define READER_OUTLIERS_FIBER READER_COLUMN_OWN(0)
#define READER_OUTLIERS_FUNCTION READER_COLUMN_OWN(1)

#define READER_OUTLIER_CALL_COLUMNS                                         \
    { "Duration", "duration", ReaderColumnTime, READER_TIME_WIDTH,          \
      READER_COLUMN_NULLABLE,                                               \
      "How long the call took." },                                          \
    { "Start", "start", ReaderColumnTime, 15, READER_COLUMN_NULLABLE,       \
      "When it began, from the session's first record: what --from "        \
      "takes." },                                                           \
    { "Thread", "thread", ReaderColumnNumber, 7, READER_COLUMN_LESSER,      \
      "The thread's identifier." },                                         \
    READER_PROCESS_COLUMNS,                                                 \
    { "Fiber", "fiber", ReaderColumnNumber, 5, READER_OUTLIERS_FIBER,       \
      "0: the thread's own stack; otherwise the number of one of its "      \
      "fibers." },                                                          \
    { "Depth", "depth", ReaderColumnNumber, 5, READER_COLUMN_LESSER,        \
      "0 is the outermost." },                                              \
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH,                  \
      READER_COLUMN_NULLABLE,                                               \
      "Time of the call without the calls inside it." },                    \
    { "Waited", "waited", ReaderColumnTime, READER_TIME_WIDTH,              \
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,                        \
      "Of the duration, the time inside functions that wait "               \
      "(Docs/Waits.md)." },                                                 \
    { "Ran", "ran", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,                        \
      "The duration without waited." },                                     \
    { "In child", "child", ReaderColumnTime, READER_TIME_WIDTH,             \
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,                        \
      "The time of the callee that took longest in total, over all its "    \
      "calls inside." },                                                    \
    { "Largest child", "child_function", ReaderColumnText, 20,              \
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,                        \
      "The function that these calls belong to; null if there were none." }

#define READER_OUTLIER_PLACE_COLUMNS                                        \
    { "Module", "module", ReaderColumnText, 16, READER_OUTLIERS_FUNCTION,   \
      "The module's file name." },                                          \
    { "Function", "function", ReaderColumnText, 20,                         \
      READER_OUTLIERS_FUNCTION,                                             \
      "The function's name, or module+0xRVA." },                            \
    { "Under", "path", ReaderColumnText, 0, 0,                              \
      "The functions in whose calls it was made, the outermost first, "     \
      "separated by semicolons." }

static const READER_COLUMN ReaderOutlierCallColumns[] = {
    READER_OUTLIER_CALL_COLUMNS,
    READER_OUTLIER_PLACE_COLUMNS
};

static const READER_COLUMN ReaderOutlierStateColumns[] = {
    READER_OUTLIER_CALL_COLUMNS,
    READER_CALL_STATE_COLUMNS,
    READER_OUTLIER_PLACE_COLUMNS
};

#define READER_OUTLIER_CALL_TABLE(Columns)                                  \
    { "calls", Columns, RTL_NUMBER_OF(Columns), FALSE, FALSE,               \
      "The slowest calls, the slowest first." }

static const READER_TABLE ReaderOutlierCallTable =
    READER_OUTLIER_CALL_TABLE(ReaderOutlierCallColumns);

static const READER_TABLE ReaderOutlierStateTable =
    READER_OUTLIER_CALL_TABLE(ReaderOutlierStateColumns);

static const READER_COLUMN ReaderOutlierSummaryColumns[] = {
    { "Module", "module", ReaderColumnText, 0, 0,
      "The module's file name." },
    { "Function", "function", ReaderColumnText, 0, 0,
      "The function's name, or module+0xRVA." },
    { "Calls", "calls", ReaderColumnNumber, 0, 0,
      "Calls that ended; those that are unfinished or abandoned are counted "
      "separately." },
    { "Min", "min", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "Shortest inclusive time of a call." },
    { "Average", "average", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "Average inclusive time of a call." },
    { "p50", "p50", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "Half of the calls took no longer; up to 3.2 % too large." },
    { "p90", "p90", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "90 of 100 calls took no longer." },
    { "p99", "p99", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "99 of 100 calls took no longer." },
    { "p99.9", "p99_9", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "999 of 1,000 calls took no longer." },
    { "Max", "max", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,
      "Longest inclusive time of a call." },
    { "Uncertain", "uncertain", ReaderColumnNumber, 0,
      READER_COLUMN_UNCERTAIN,
      "Calls during which the clock thread may have stood still." },
    { "Begun before", "begun_before", ReaderColumnNumber, 0,
      READER_COLUMN_BEGUN_BEFORE,
      "Calls that were open when the range of --from began." },
    { "Unfinished", "unfinished", ReaderColumnNumber, 0,
      READER_COLUMN_UNFINISHED,
      "Calls that were open at the end of the data or of the range; counted "
      "up to there." },
    { "Longest of them", "unfinished_max", ReaderColumnTime, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_UNFINISHED,
      "The longest of these calls so far." },
    { "Abandoned", "abandoned", ReaderColumnNumber, 0,
      READER_COLUMN_ABANDONED,
      "Calls that were left without an exit: exception, longjmp, no return. "
      "In a session of records, what was called until the next record of a "
      "caller may be shown inside them." },
    { "Longest of them", "abandoned_max", ReaderColumnTime, 0,
      READER_COLUMN_NULLABLE | READER_COLUMN_ABANDONED,
      "The longest of these calls, up to the record that proved that it was "
      "gone." }
};

static const READER_TABLE ReaderOutlierSummaryTable = {
    "summary",
    ReaderOutlierSummaryColumns,
    RTL_NUMBER_OF(ReaderOutlierSummaryColumns),
    TRUE,
    FALSE,
    "One row: all calls of the function."
};

static const READER_COLUMN ReaderOutlierHistogramColumns[] = {
    { "From", "from", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "The lower bound of the row: no call in it took less." },
    { "To", "to", ReaderColumnTime, READER_TIME_WIDTH, READER_COLUMN_NULLABLE,
      "The upper bound of the row: all calls in it took less." },
    { "Calls", "calls", ReaderColumnNumber, 10, 0,
      "Calls that took that long." },
    { "Share, %", "share_percent", ReaderColumnHundredths, 8, 0,
      "Of the calls that ended; percent with two decimals." },
    { "", "", ReaderColumnText, 0, 0,
      NULL }
};

//
// The bar is for text alone.
//

static const READER_TABLE ReaderOutlierBarTable = {
    "histogram",
    ReaderOutlierHistogramColumns,
    RTL_NUMBER_OF(ReaderOutlierHistogramColumns),
    FALSE,
    FALSE,
    NULL
};

static const READER_TABLE ReaderOutlierHistogramTable = {
    "histogram",
    ReaderOutlierHistogramColumns,
    RTL_NUMBER_OF(ReaderOutlierHistogramColumns) - 1,
    FALSE,
    FALSE,
    "A histogram of the calls' durations; a row for each power of two."
};

static const READER_COLUMN ReaderOutlierCallerColumns[] = {
    { "Calls", "calls", ReaderColumnNumber, 10, 0,
      "Calls by this caller." },
    { "p50", "p50", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "Half of the calls took no longer; up to 3.2 % too large." },
    { "p99", "p99", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "99 of 100 calls took no longer." },
    { "Max", "max", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "Longest inclusive time of a call." },
    { "Module", "module", ReaderColumnText, 16,
      READER_COLUMN_NULLABLE | READER_COLUMN_MODULE,
      "The module's file name." },
    { "Caller", "caller", ReaderColumnText, 0, 0,
      "The direct caller, or (outermost)." }
};

static const READER_TABLE ReaderOutlierCallerTable = {
    "callers",
    ReaderOutlierCallerColumns,
    RTL_NUMBER_OF(ReaderOutlierCallerColumns),
    FALSE,
    FALSE,
    "The calls by direct caller."
};


//
// Orders calls, the slowest first.
// First, Second: indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareOutliers(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_OUTLIER_GROUP Group = (PREADER_OUTLIER_GROUP)Context;

    if (First == Second) {
        return 0;
    }

    return SumIsFaster(&Group->Heap[Second], &Group->Heap[First]) ? -1 : 1;
}


//
// Orders callers by their slowest call, then by calls, then as they appeared.
// First, Second: indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareOutlierCallers(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
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


//
// Writes the cell of the chain of calls above a call.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutPath(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_OUTLIER *Call
    )
{
    const READER_PATH *Paths = Outliers->Workers[Call->Worker].Paths;
    const READER_FUNCTIONS *Functions = &Outliers->Functions;
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    PCSZ Separator = IsText ? " > " : ";";
    ULONG Most = IsText ? READER_OUTLIERS_PATH_IN_TEXT : READER_OUTLIERS_PATH;
    ULONG Depth = Call->Depth;
    ULONG Count = Depth < Most ? Depth : Most;
    ULONG Path = Call->Path;
    RTL_WRITER Writer;
    PCREADER_FUNCTION Function;
    ULONG Caller;
    PULONG Shown;
    PCHAR Buffer;
    SIZE_T Size;
    ULONG Above = READER_NONE;
    ULONG Index;

    if (Path == READER_NONE &&
        Functions->Functions[Call->Function].Importer == 0) {
        OutputPutString(Output, "(outermost)");
        return STATUS_SUCCESS;
    }

    //
    // Of a long chain the first half of what is shown and the last.
    //

    Shown = (PULONG)Allocator->Allocate(Allocator->Context,
                                        ((SIZE_T)Count + 1) * sizeof(ULONG));
    if (Shown == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = Depth; Index != 0; Index--) {

        if (Index <= Count / 2) {
            Shown[Index - 1] = Paths[Path].Function;
        } else if (Index > Depth - (Count - Count / 2)) {
            Shown[Index - 1 - (Depth - Count)] = Paths[Path].Function;
        }

        Path = Paths[Path].Parent;
    }

    Shown[Count] = Call->Function;
    for (Index = 0, Size = 64; Index <= Count; Index++) {
        Function = &Functions->Functions[Shown[Index]];
        Size += (SIZE_T)Function->NameLength + 12;
        if (Function->Importer != 0) {
            Size += Functions->Imported[Function->Importer - 1].NameLength;
        }
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
    for (Index = 0; Index <= Count; Index++) {

        //
        // Behind what is left out it is not known who called.
        //

        Caller = Depth != Count && Index == Count / 2
                     ? 0
                     : FunctionStubFindCaller(Functions, Shown[Index], Above);
        if (Caller != 0) {
            RtlWriteText(&Writer, Index == 0 ? "" : Separator);
            FunctionStubWriteCaller(&Writer, Functions, Caller);
        }

        if (Index == Count) {
            break;
        }

        RtlWriteText(&Writer, Index == 0 && Caller == 0 ? "" : Separator);
        if (Depth != Count && Index == Count / 2) {
            RtlWriteText(&Writer, "(%u more)%s", Depth - Count, Separator);
        }

        Above = Shown[Index];
        Function = &Functions->Functions[Above];
        RtlWriteBytes(&Writer, Function->Name, Function->NameLength);
    }

    OutputPutText(Output, Buffer, Writer.LengthInBytes);
    Allocator->Free(Allocator->Context, Buffer);
    Allocator->Free(Allocator->Context, Shown);
    return STATUS_SUCCESS;
}


//
// Writes the cell of when a call began, in a text so that --from takes it.
//

static
VOID
CommandPutStart(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Timestamp
    )
{
    ULONGLONG Ticks = Timestamp - Outliers->Range.FirstTimestamp;
    RTL_WRITER Writer;
    ULONGLONG Time;
    CHAR Text[32];

    if (Output->Format != ReaderFormatText || Output->Clock->IsRaw) {
        OutputPutNumber(Output, Ticks);
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

    OutputPutText(Output, Text, Writer.LengthInBytes);
}


//
// Writes the cells of a function.
// HasModule: whether a cell for its module comes first.
//

static
VOID
CommandPutFunctionName(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Function,
    _In_ BOOLEAN HasModule
    )
{
    PCREADER_FUNCTION This = &Outliers->Functions.Functions[Function];

    if (HasModule) {
        OutputPutText(Output, This->ModuleName, This->ModuleNameLength);
    }

    OutputPutText(Output, This->Name, This->NameLength);
}


//
// Writes the slowest calls.
// Order: their indexes, the slowest first.
// AreSeveral: whether they are of more than one function.
// States: with --etl, in that order; else NULL.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutOutlierCalls(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_OUTLIER_GROUP Group,
    _In_reads_(Group->NumberOfOutliers) const ULONG *Order,
    _In_ BOOLEAN AreSeveral,
    _In_opt_ PCREADER_CALL_STATES States
    )
{
    const READER_OUTLIER *Call;
    ULONG When = 0;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    if (AreSeveral) {
        When |= READER_OUTLIERS_FUNCTION;
    }

    for (Index = 0; Index < Group->NumberOfOutliers; Index++) {
        if (Group->Heap[Index].Track != 0) {
            When |= READER_OUTLIERS_FIBER;
        }

        if (Group->Heap[Index].WaitedTicks != 0) {
            When |= READER_COLUMN_WAITED;
        }
    }

    OutputBeginTable(Output,
                     States != NULL ? &ReaderOutlierStateTable
                                    : &ReaderOutlierCallTable,
                     When);
    for (Index = 0; Index < Group->NumberOfOutliers; Index++) {

        Call = &Group->Heap[Order[Index]];
        OutputPutNumber(Output, Call->Ticks);
        CommandPutStart(Outliers, Output, Call->EnterTimestamp);
        OutputPutNumber(Output,
                        Outliers->Session.Threads[Call->Thread].ThreadId);
        SessionPutProcess(Output,
                          &Outliers->Session,
                          Outliers->Session.Threads[Call->Thread].Process);
        OutputPutNumber(Output, Call->Track);
        OutputPutNumber(Output, Call->Depth);
        OutputPutNumber(Output, Call->SelfTicks);
        OutputPutNumber(Output, Call->WaitedTicks);
        OutputPutNumber(Output, Call->Ticks - Call->WaitedTicks);
        if (Call->Child != READER_NONE) {
            OutputPutNumber(Output, Call->ChildTicks);
            CommandPutFunctionName(Outliers, Output, Call->Child, FALSE);
        } else {
            OutputPutNothing(Output);
            OutputPutNothing(Output);
        }

        if (States != NULL) {
            SumWakerPut(Output, &Outliers->Functions, &States[Index]);
        }

        CommandPutFunctionName(Outliers, Output, Call->Function, TRUE);
        Status = CommandPutPath(Outliers, Output, Call);
        if (!NT_SUCCESS(Status)) {
            break;
        }
    }

    OutputEndTable(Output);
    return Status;
}


//
// Writes the cell of a percentile.
// Share: parts in CORE_ALL_CALLS.
//

static
VOID
CommandPutShare(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_DURATIONS *Durations,
    _In_ ULONG Share
    )
{
    if (Durations->Calls == 0) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output,
                        CoreQueryPercentile(&Durations->Histogram,
                                            Share,
                                            Durations->MaximumTicks));
    }
}


//
// Writes the percentiles and what is apart.
// Function: their function, or the first one.
//

static
VOID
CommandPutOutlierSummary(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_OUTLIER_GROUP *Group,
    _In_ ULONG Function
    )
{
    const READER_DURATIONS *All = &Group->All;

    OutputBeginTable(Output,
                     &ReaderOutlierSummaryTable,
                     SumSelectColumns(Group->Abandoned,
                                      Group->Unfinished,
                                      Group->Uncertain,
                                      Group->BegunBefore,
                                      Outliers->Session.NumberOfModules));
    CommandPutFunctionName(Outliers, Output, Function, TRUE);
    OutputPutNumber(Output, All->Calls);
    if (All->Calls != 0) {
        OutputPutNumber(Output, All->MinimumTicks);
        OutputPutNumber(Output,
                        CoreDivide(Group->SumHigh, Group->SumLow, All->Calls));
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    CommandPutShare(Output, All, 500);
    CommandPutShare(Output, All, 900);
    CommandPutShare(Output, All, 990);
    CommandPutShare(Output, All, 999);
    CommandPutShare(Output, All, CORE_ALL_CALLS);
    OutputPutNumber(Output, Group->Uncertain);
    OutputPutNumber(Output, Group->BegunBefore);
    OutputPutNumber(Output, Group->Unfinished);
    OutputPutNumber(Output, Group->LongestUnfinished);
    OutputPutNumber(Output, Group->Abandoned);
    OutputPutNumber(Output, Group->LongestAbandoned);
    OutputEndTable(Output);
}


//
// Writes how many calls took how long, a row for each power of two.
//

static
VOID
CommandPutOutlierHistogram(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_OUTLIER_GROUP *Group
    )
{
    PCCORE_CLOCK Clock = Output->Clock;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    CORE_CLOCK Nanoseconds = *Clock;
    CHAR Bar[READER_OUTLIERS_BAR];
    ULONG Longest = Output->Writer->Layout != NULL ? READER_OUTLIERS_NARROW_BAR
                                                   : READER_OUTLIERS_BAR;
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
    OutputBeginTable(Output,
                     IsText ? &ReaderOutlierBarTable
                            : &ReaderOutlierHistogramTable,
                     0);
    for (Index = First; Index <= Last; Index++) {

        OutputPutNumber(Output, Index == 0 ? 0 : 1ULL << (Index - 1));
        if (Index < 64) {
            OutputPutNumber(Output, 1ULL << Index);
        } else {
            OutputPutNothing(Output);
        }

        OutputPutNumber(Output, Group->Counts[Index]);
        OutputPutNumber(Output,
                        CoreMultiplyDivide(Group->Counts[Index],
                                           10000,
                                           Group->All.Calls));
        if (IsText) {

            //
            // One call is seen, too.
            //

            Length = (ULONG)CoreMultiplyDivide(Group->Counts[Index],
                                               Longest,
                                               Largest);
            if (Length == 0 && Group->Counts[Index] != 0) {
                Length = 1;
            }

            OutputPutText(Output, Bar, Length);
        }
    }

    OutputEndTable(Output);
    Output->Clock = Clock;
}


//
// Writes the direct callers.
// Order: the callers' indexes.
//

static
VOID
CommandPutOutlierCallers(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_OUTLIER_GROUP *Group,
    _In_reads_(Group->NumberOfCallers) const ULONG *Order
    )
{
    const READER_DURATIONS *Caller;
    ULONG Index;

    OutputBeginTable(Output,
                     &ReaderOutlierCallerTable,
                     Outliers->Session.NumberOfModules != 1
                         ? READER_COLUMN_MODULE
                         : 0);
    for (Index = 0; Index < Group->NumberOfCallers; Index++) {

        Caller = &Group->Callers[Order[Index]];
        OutputPutNumber(Output, Caller->Calls);
        CommandPutShare(Output, Caller, 500);
        CommandPutShare(Output, Caller, 990);
        OutputPutNumber(Output, Caller->MaximumTicks);
        if (READER_IS_CALLING_MODULE(Caller->Function)) {
            FunctionStubPutCallingModule(Output,
                                         &Outliers->Functions,
                                         Caller->Function,
                                         0);
        } else if (Caller->Function != READER_NONE) {
            CommandPutFunctionName(Outliers, Output, Caller->Function, TRUE);
        } else {
            OutputPutNothing(Output);
            OutputPutString(Output, "(outermost)");
        }
    }

    OutputEndTable(Output);
}


//
// Finds what threads did during the slowest calls.
// Order: their indexes, the slowest first.
// Returns them, allocated; NULL: memory is lacking.
//

_Must_inspect_result_
static
PREADER_CALL_STATES
CommandDescribeOutliers(
    _In_ PREADER_OUTLIERS Outliers,
    _In_ const READER_OUTLIER_GROUP *Group,
    _In_reads_(Group->NumberOfOutliers) const ULONG *Order
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    PREADER_CALL_STATES States;
    ULONG Index;

    States = (PREADER_CALL_STATES)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Group->NumberOfOutliers + 1) * sizeof(READER_CALL_STATES));
    if (States != NULL) {

        for (Index = 0; Index < Group->NumberOfOutliers; Index++) {
            States[Index].Thread = Group->Heap[Order[Index]].Thread;
            States[Index].Start = Group->Heap[Order[Index]].EnterTimestamp;
            States[Index].Ticks = Group->Heap[Order[Index]].Ticks;
        }

        SumWakerDescribe(&Outliers->Etl,
                         &Outliers->Functions,
                         Outliers->Options,
                         States,
                         Group->NumberOfOutliers);
    }

    return States;
}


//
// Writes what was found.
// Function: their function, or the first one.
// AreSeveral: whether they are of more than one function.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutOutliers(
    _In_ PREADER_OUTLIERS Outliers,
    _In_ PREADER_OUTLIER_GROUP Group,
    _In_ ULONG Function,
    _In_ BOOLEAN AreSeveral
    )
{
    PCREADER_CONTEXT Context = Outliers->Session.Context;
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_CALL_STATES States = NULL;
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

    BaseSort(Calls, Group->NumberOfOutliers, CommandCompareOutliers, Group);
    BaseSort(Callers,
             Group->NumberOfCallers,
             CommandCompareOutlierCallers,
             Group);

    if (Outliers->Etl.IsThere) {
        States = CommandDescribeOutliers(Outliers, Group, Calls);
        if (States == NULL) {
            goto End;
        }
    }

    OutputBeginDocument(&Output,
                        Context->Output,
                        Outliers->Options->Format,
                        &Outliers->Session.Clock,
                        "outliers",
                        TRUE);
    Output.HasProcesses = Outliers->Session.NumberOfProcesses > 1;
    CommandPutOutlierSummary(Outliers, &Output, Group, Function);
    Status = CommandPutOutlierCalls(Outliers,
                                    &Output,
                                    Group,
                                    Calls,
                                    AreSeveral,
                                    States);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    CommandPutOutlierHistogram(&Output, Group);
    CommandPutOutlierCallers(Outliers, &Output, Group, Callers);
    if (Group->Abandoned != 0) {
        OutputPutNote(&Output,
                      "Abandoned: left without an exit (exception, longjmp, no "
                      "return).  They are not included in any other number.");
    }

    if (Group->Unfinished != 0) {
        OutputPutNote(&Output,
                      "Unfinished: open at the end of the data or of the "
                      "range.  They are not included in any other number.");
    }

    if (Group->Uncertain != 0) {
        OutputPutNote(&Output, READER_UNCERTAIN_NOTE);
    }

    CallPutRangeNote(&Output, Outliers->Options, Group->BegunBefore);
    SumEtlPutNote(&Output, &Outliers->Etl);
    SessionPutClockNote(&Output, &Outliers->Session);
    OutputEndDocument(&Output);

End:

    Allocator->Free(Allocator->Context, States);
    Allocator->Free(Allocator->Context, Callers);
    Allocator->Free(Allocator->Context, Calls);
    return Status;
}


//
// Decides whose calls are shown, and shows them.
// Outliers: the command's state, with all threads read.
// ExitCode: of reading them.
//

static
ULONG
CommandEndOutliers(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ ULONG ExitCode
    )
{
    PCREADER_CONTEXT Context = Outliers->Session.Context;
    PREADER_OUTLIER_GROUP Group = &Outliers->Group;
    PUCHAR IsMeant;
    ULONG Function;
    ULONG Number = 0;
    ULONG Index;
    ULONG Code;
    NTSTATUS Status;

    FunctionGiveShortNames(&Outliers->Functions);
    Status = SumListSeenFunctions(Outliers);
    if (!NT_SUCCESS(Status)) {
        goto Failed;
    }

    if (!FunctionResolveName(&Outliers->Name,
                             Outliers->IsSeen,
                             Outliers->Functions.NumberOfFunctions,
                             &IsMeant,
                             &Function,
                             &Code)) {
        return ExitCode == READER_EXIT_SUCCESS ? Code : ExitCode;
    }

    for (Index = 0; Index < Outliers->Functions.NumberOfFunctions; Index++) {
        Number += IsMeant[Index] &&
                  !FunctionStubAreAlike(
                      &Outliers->Functions.Functions[Function],
                      &Outliers->Functions.Functions[Index]);
    }

    Context->Allocator->Free(Context->Allocator->Context, IsMeant);
    Status = SumMergeOutliers(Outliers,
                              FunctionMatchName(&Outliers->Name, Function));
    if (!NT_SUCCESS(Status)) {
        goto Failed;
    }

    if (Group->All.Calls == 0 && Group->Abandoned == 0 &&
        Group->Unfinished == 0) {

        RtlWriteText(Context->Errors,
                     "TraceReader: outliers: no call of %T was found in the "
                     "data that was read\n",
                     Outliers->Name.Text);
        RtlFlushWriter(Context->Errors);
        return ExitCode == READER_EXIT_SUCCESS ? READER_EXIT_NOTHING
                                               : ExitCode;
    }

    Status = CommandPutOutliers(Outliers, Group, Function, Number != 0);
    if (NT_SUCCESS(Status)) {
        return ExitCode;
    }

Failed:

    return BaseFail(Context, "outliers", Outliers->Options->PathUtf8, Status);
}


//
// Reads the session and shows what was found.
// Outliers: the command's state, with the session open.
//

static
ULONG
CommandRunOutliers(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ PREADER_TEAM Team
    )
{
    PREADER_SESSION Session = &Outliers->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PCREADER_OPTIONS Options = Outliers->Options;
    READER_COST Cost;
    ULONG ExitCode;

    CommandBeginReading(Context, &Cost);
    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        RtlWriteText(Context->Errors,
                     "TraceReader: outliers: the session has no times: it was "
                     "recorded with TRACER_CLOCK=none\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    if (!CallBeginWaits(Session, Options) ||
        !CallQueryRange(Session, Options, &Outliers->Range) ||
        !SumEtlOpen(&Outliers->Etl, Session, Options)) {
        return READER_EXIT_FAILURE;
    }

    Outliers->Limit = READER_OUTLIERS_DEFAULT_LIMIT;
    if ((Options->Given & READER_OPTION_LIMIT) != 0) {
        Outliers->Limit = Options->Limit < 0x80000000u ? (ULONG)Options->Limit
                                                       : 0x80000000u;
    }

    if (!SumInitializeOutliers(Outliers, Team)) {
        SumRundownOutliers(Outliers);
        return READER_EXIT_FAILURE;
    }

    ExitCode = CommandEndOutliers(Outliers, SumOutliersRead(Outliers));

    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        Cost.NumberOfRecords = Outliers->Reading.NumberOfRecords;
        Cost.NumberOfOrdinary = Outliers->Reading.NumberOfOrdinary;
        Cost.NumberOfThreads = Outliers->Reading.NumberOfThreads;
        Cost.NumberOfWorkers = Outliers->Reading.NumberOfWorkers;
        CommandPutReading(Session, &Cost);
    }

    SumRundownOutliers(Outliers);
    return ExitCode;
}


static
ULONG
CommandOutliers(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_OUTLIERS Outliers;
    READER_TEAM Team;
    ULONG ExitCode = READER_EXIT_FAILURE;

    Outliers = (PREADER_OUTLIERS)Allocator->Allocate(Allocator->Context,
                                                     sizeof(READER_OUTLIERS));
    if (Outliers == NULL) {
        return BaseFail(Context,
                        "outliers",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    Outliers->Options = Options;
    BaseInitializeTeam(&Team, Context, Options->NumberOfWorkers);
    if (CommandBeginCommand(&Outliers->Session, &Team.Context, Options)) {
        if (SessionRequireCalls(&Outliers->Session, "outliers")) {
            ExitCode = CommandRunOutliers(Outliers, &Team);
            SumEtlClose(&Outliers->Etl);
        }

        CommandCloseCommandSession(&Outliers->Session);
    }

    BaseRundownTeam(&Team);
    Allocator->Free(Allocator->Context, Outliers);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderOutliersTables[] = {
    &ReaderOutlierSummaryTable,
    &ReaderOutlierStateTable,
    &ReaderOutlierHistogramTable,
    &ReaderOutlierCallerTable,
    NULL
};

const READER_COMMAND ReaderOutliersCommand = {
    "outliers",
    "FUNCTION [PATH]",
    "Shows a function's slowest calls, and how long all of them took",
    READER_NAME_NOTE
    "--limit says how many calls (default: 10).  start is counted from the\n"
    "first record, as in --from and --to.  In text, a chain of more than\n"
    "eight callers is shown without its middle.\n"
    "CSV has the columns table, row, field, value.\n"
    "Durations are inclusive, and each call of a recursive function counts\n"
    "for itself.  Abandoned and unfinished calls are counted separately.\n"
    READER_PERCENTILES_NOTE
    READER_WAITS_NOTE
    READER_RANGE_NOTE
    READER_ETL_NOTE
    "The wait reason is the one that took longest in total; who made the\n"
    "thread ready is of its longest wait.\n"
    READER_TICKS_NOTE,
    "  TraceReader outliers Game::Update SESSION\n"
    "  TraceReader outliers --limit 50 --thread 4712 game.exe!Load SESSION\n"
    "  TraceReader outliers --from 1.5s --json Update SESSION\n"
    "  TraceReader outliers --etl switches.etl Update SESSION\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_THREAD |
        READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_WORKERS |
        READER_OPTION_GENERAL | READER_OPTION_VERBOSE | READER_OPTION_ETL |
        READER_OPTION_WAITS | READER_OPTIONS_OF_READING,
    CommandOutliers,
    ReaderOutliersTables,
    NULL
};
