/*++

Module Name:

    CommandHot.c

Abstract:

    TraceReader hot: the functions whose calls cost more to trace than they do
    themselves, and a list of them for --exclude.

    Self times are without what the hooks cost, as with --subtract-probe.

--*/

#include "ReaderFile.h"
#include "ReaderExclude.h"
#include "ReaderProbe.h"
#include "../StringTable/StringTable.h"

#define READER_HOT_FIRST_COLUMNS                                            \
    { "Calls", "calls", ReaderColumnNumber, 10 },                           \
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH },                \
    { "Self/call", "self_per_call", ReaderColumnTime, READER_TIME_WIDTH },  \
    { "Hooks", "probe", ReaderColumnTime, READER_TIME_WIDTH },              \
    { "Bytes", "bytes", ReaderColumnBytes, READER_TIME_WIDTH }

#define READER_HOT_LAST_COLUMNS                                             \
    { "Module", "module", ReaderColumnText, 16 },                           \
    { "", "rva", ReaderColumnHexadecimal, 0 },                              \
    { "Function", "function", ReaderColumnText, 0 }

//
// Quotients have decimals in text, and are whole numbers elsewhere.
//

static const READER_COLUMN ReaderHotTextColumns[] = {
    READER_HOT_FIRST_COLUMNS,
    { "Hooks/self", "", ReaderColumnText, 10 },
    { "Bytes, %", "", ReaderColumnText, 8 },
    READER_HOT_LAST_COLUMNS
};

static const READER_COLUMN ReaderHotColumns[] = {
    READER_HOT_FIRST_COLUMNS,
    { "", "ratio_percent", ReaderColumnNumber, 0 },
    { "", "bytes_ppm", ReaderColumnNumber, 0 },
    READER_HOT_LAST_COLUMNS
};

#define READER_HOT_MODULE_COLUMN 7
#define READER_HOT_RVA_COLUMN 8

static const READER_TABLE ReaderHotTable = {
    "functions",
    ReaderHotColumns,
    RTL_NUMBER_OF(ReaderHotColumns),
    FALSE
};

static const READER_TABLE ReaderHotTextTable = {
    "functions",
    ReaderHotTextColumns,
    RTL_NUMBER_OF(ReaderHotTextColumns),
    FALSE
};

//
// The progress is looked at once in so many calls of ReaderShowHotProgress.
//

#define READER_HOT_PROGRESS_CALLS 0x10000

typedef struct _READER_HOT_ROW {
    READER_STATISTICS Statistics;
    ULONGLONG Probe;                // what its hooks cost, ticks
    ULONGLONG Bytes;                // of its records
    BOOLEAN IsListed;
} READER_HOT_ROW;
typedef READER_HOT_ROW *PREADER_HOT_ROW;

typedef struct _READER_HOT {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TALLY Tally;
    READER_TALLY Before;            // for what was recorded before the last
    READER_RANGE Range;             // clear
    PREADER_HOT_ROW Rows;           // by function
    PULONG Order;                   // of those that are listed
    PULONG Names;                   // all, by name
    ULONG NumberListed;
    ULONGLONG NumberShown;          // before --limit
    ULONGLONG Bytes;                // of all records
    ULONGLONG ListedBytes;
    READER_NOT_SHOWN NotShown;
    READER_PROGRESS Progress;
    ULONG ProgressCalls;
} READER_HOT;
typedef READER_HOT *PREADER_HOT;


static
LONG
ReaderCompareHotRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by what their hooks cost, the most first.

Arguments:

    CompareContext - What was added up.

    First, Second - Function indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_HOT Hot = (PREADER_HOT)CompareContext;
    PCREADER_FUNCTION FirstFunction = &Hot->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Hot->Functions.Functions[Second];
    LONG Order;

    if (Hot->Rows[First].Probe != Hot->Rows[Second].Probe) {
        return Hot->Rows[First].Probe > Hot->Rows[Second].Probe ? -1 : 1;
    }

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
LONG
ReaderCompareHotNames(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by their names' bytes, so that all names that begin with
    one come directly after it.

Arguments:

    CompareContext - What was added up.

    First, Second - Function indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_HOT Hot = (PREADER_HOT)CompareContext;
    PCREADER_FUNCTION FirstFunction = &Hot->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Hot->Functions.Functions[Second];
    ULONG Index;

    for (Index = 0;
         Index < FirstFunction->NameLength &&
         Index < SecondFunction->NameLength;
         Index++) {
        if (FirstFunction->Name[Index] != SecondFunction->Name[Index]) {
            return (UCHAR)FirstFunction->Name[Index] <
                           (UCHAR)SecondFunction->Name[Index]
                       ? -1
                       : 1;
        }
    }

    if (FirstFunction->NameLength == SecondFunction->NameLength) {
        return 0;
    }

    return FirstFunction->NameLength < SecondFunction->NameLength ? -1 : 1;
}


static
BOOLEAN
ReaderIsNamePrefix(
    _In_ PCREADER_FUNCTION Prefix,
    _In_ PCREADER_FUNCTION Function
    )
/*++

Routine Description:

    Says whether a function's name begins with another's.

Arguments:

    Prefix - The other.

    Function - The function.

Return Value:

    TRUE if so, also if they are the same.

--*/
{
    return Prefix->NameLength <= Function->NameLength &&
           RtlAreBytesEqual(Prefix->Name,
                            Function->Name,
                            Prefix->NameLength);
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddUpHot(
    _Inout_ PREADER_HOT Hot
    )
/*++

Routine Description:

    Puts the functions' numbers together and decides which are listed.

Arguments:

    Hot - With all threads read.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Hot->Session.Context->Allocator;
    SIZE_T Number = (SIZE_T)Hot->Functions.NumberOfFunctions + 1;
    PREADER_STATISTICS Statistics;
    PCREADER_FUNCTION Function;
    const READER_MODULE *Module;
    PREADER_HOT_ROW Row;
    ULONG Count = 0;
    ULONG Index;

    Hot->Rows = (PREADER_HOT_ROW)
        Allocator->Allocate(Allocator->Context,
                            Number * sizeof(READER_HOT_ROW));
    Hot->Order = (PULONG)
        Allocator->Allocate(Allocator->Context, Number * sizeof(ULONG));
    Hot->Names = (PULONG)
        Allocator->Allocate(Allocator->Context, Number * sizeof(ULONG));
    if (Hot->Rows == NULL || Hot->Order == NULL || Hot->Names == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Hot->Tally.NumberOfFunctions; Index++) {
        ReaderMergeStatistics(
            &Hot->Rows[Hot->Tally.List[Index].Function].Statistics,
            &Hot->Tally,
            Index);
    }

    ReaderFilterFunctions(&Hot->Functions, Hot->Options->Filter);
    for (Index = 0; Index < Hot->Functions.NumberOfFunctions; Index++) {

        Function = &Hot->Functions.Functions[Index];
        Module = Hot->Session.Modules[Function->Module];
        Row = &Hot->Rows[Index];
        Statistics = &Row->Statistics;
        ReaderSubtractProbe(&Hot->Session, Statistics);
        Hot->Names[Index] = Index;

        //
        // An abandoned call has no exit, and nor has an open one.
        //

        Row->Bytes = (2 * Statistics->Calls - Statistics->Abandoned -
                      Statistics->Unfinished) * TRACE_RECORD_SIZE;
        if (Statistics->InTrees != 0) {
            Row->Bytes = 2 * (Statistics->Calls - Statistics->InTrees) *
                         TRACE_RECORD_SIZE;
        }

        Row->Probe = CoreMultiplyDivide(Statistics->Calls,
                                        Module->ProbeTotal,
                                        TRACE_PROBE_UNIT);
        Hot->Bytes += Row->Bytes;

        if (Row->Probe <= Statistics->SelfTicks ||
            Module->ProbeInner == 0 ||
            !Module->IsSelected ||
            Row->Bytes < Hot->Options->Minimum) {
            continue;
        }

        if (!Function->IsShown) {
            Hot->NotShown.Rows += 1;
            Hot->NotShown.Calls += Statistics->Calls;
            continue;
        }

        Hot->Order[Count] = Index;
        Count += 1;
    }

    Hot->NumberShown = Count;
    ReaderSort(Hot->Order, Count, ReaderCompareHotRows, Hot);
    ReaderSort(Hot->Names,
               Hot->Functions.NumberOfFunctions,
               ReaderCompareHotNames,
               Hot);
    if (Count > Hot->Options->Limit) {
        Count = (ULONG)Hot->Options->Limit;
    }

    Hot->NumberListed = Count;
    for (Index = 0; Index < Count; Index++) {
        Row = &Hot->Rows[Hot->Order[Index]];
        Row->IsListed = TRUE;
        Hot->ListedBytes += Row->Bytes;
    }

    return STATUS_SUCCESS;
}


static
VOID
ReaderPutQuotient(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Dividend,
    _In_ ULONGLONG Divisor,
    _In_ ULONG Unit,
    _In_ ULONG Hundredth
    )
/*++

Routine Description:

    Writes a cell with a quotient, rounded down: a whole number, or two
    decimals in text.

Arguments:

    Output - The output.

    Dividend, Divisor - The numbers.

    Unit - What to multiply it with.

    Hundredth - The same for the hundredths in text.

Return Value:

    None.

--*/
{
    RTL_WRITER Writer;
    CHAR Text[32];
    CHAR Cell[64];
    ULONGLONG Value;
    ULONG Length;
    ULONG Width;

    if (Output->Format != ReaderFormatText) {
        if (Divisor == 0) {
            ReaderPutNothing(Output);
        } else {
            ReaderPutNumber(Output,
                            CoreMultiplyDivide(Dividend, Unit, Divisor));
        }
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (Divisor == 0) {
        RtlWriteText(&Writer, "-");
    } else {
        Value = CoreMultiplyDivide(Dividend, Hundredth, Divisor);
        RtlWriteText(&Writer, "%llu.%02llu", Value / 100, Value % 100);
    }

    Length = (ULONG)Writer.LengthInBytes;
    Width = Output->Table->Columns[Output->Column].Width;

    RtlInitializeBufferWriter(&Writer, Cell, sizeof(Cell));
    if (Length < Width) {
        RtlWriteText(&Writer, "%*s", (int)(Width - Length), "");
    }

    RtlWriteBytes(&Writer, Text, Length);
    ReaderPutText(Output, Cell, Writer.LengthInBytes);
}


static
VOID
ReaderPutHot(
    _In_ const READER_HOT *Hot
    )
/*++

Routine Description:

    Writes the table.

Arguments:

    Hot - What was added up.

Return Value:

    None.

--*/
{
    PCREADER_CONTEXT Context = Hot->Session.Context;
    const READER_HOT_ROW *Row;
    PCREADER_FUNCTION Function;
    const READER_MODULE *Module;
    READER_OUTPUT Output;
    ULONGLONG HiddenColumns = 1ULL << READER_HOT_RVA_COLUMN;
    ULONGLONG Finished;
    ULONG Index;

    if (Hot->Session.NumberOfModules == 1) {
        HiddenColumns |= 1ULL << READER_HOT_MODULE_COLUMN;
    }

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Hot->Options->Format,
                        &Hot->Session.Clock,
                        "hot",
                        FALSE);
    ReaderBeginTable(&Output,
                     Output.Format == ReaderFormatText ? &ReaderHotTextTable
                                                       : &ReaderHotTable,
                     HiddenColumns);
    for (Index = 0; Index < Hot->NumberListed; Index++) {

        Row = &Hot->Rows[Hot->Order[Index]];
        Function = &Hot->Functions.Functions[Hot->Order[Index]];
        Module = Hot->Session.Modules[Function->Module];
        Finished = Row->Statistics.Calls - Row->Statistics.Abandoned +
                   Row->Statistics.AbandonedInTotal;

        ReaderPutNumber(&Output, Row->Statistics.Calls);
        ReaderPutSubtracted(&Output,
                            Row->Statistics.SelfTicks,
                            Row->Statistics.SelfProbe);
        if (Finished != 0) {
            ReaderPutSubtracted(&Output,
                                Row->Statistics.SelfTicks / Finished,
                                Row->Statistics.SelfProbe / Finished);
        } else {
            ReaderPutNothing(&Output);
        }

        ReaderPutNumber(&Output, Row->Probe);
        ReaderPutNumber(&Output, Row->Bytes);
        ReaderPutQuotient(&Output,
                          Row->Probe,
                          Row->Statistics.SelfTicks,
                          100,
                          100);
        ReaderPutQuotient(&Output, Row->Bytes, Hot->Bytes, 1000000, 10000);
        ReaderPutText(&Output, Module->Name, Module->NameLength);
        if (Function->Rva == READER_OTHER_RVA) {
            ReaderPutNothing(&Output);
        } else {
            ReaderPutNumber(&Output, Function->Rva);
        }


        ReaderPutText(&Output, Function->Name, Function->NameLength);
    }

    ReaderEndTable(&Output);
    ReaderPutMore(&Output, Hot->NumberShown - Hot->NumberListed, "function");
    if (Output.Format == ReaderFormatText) {
        RtlWriteText(Context->Output,
                     "%u function%s that cost%s more to trace than they take: "
                     "%llu of %llu bytes of records.\n",
                     Hot->NumberListed,
                     Hot->NumberListed == 1 ? "" : "s",
                     Hot->NumberListed == 1 ? "s" : "",
                     Hot->ListedBytes,
                     Hot->Bytes);
    }

    ReaderPutNotShown(&Output, Hot->Options->Filter, &Hot->NotShown);
    ReaderPutProbeNote(&Output, &Hot->Session);
    ReaderPutClockNote(&Output, &Hot->Session);
    ReaderEndDocument(&Output);
}


_Ret_maybenull_
static
PCREADER_FUNCTION
ReaderFindLongerName(
    _In_ const READER_HOT *Hot,
    _In_ ULONG Place,
    _In_ ULONG Before,
    _Inout_ PULONG After
    )
/*++

Routine Description:

    Looks for a function that is not listed and whose name begins with that of
    one that is: as a prefix, the one would exclude the other.  Names that begin
    with one stand together, so that the nearest on either side tells.

Arguments:

    Hot - What was added up.

    Place - The listed function's place among the names.

    Before - The last place before it of one that is not listed, or
        READER_NONE.

    After - The place of the first one after it; moved there.

Return Value:

    The function, or NULL: there is none.

--*/
{
    PREADER_FUNCTION Functions = Hot->Functions.Functions;
    PCREADER_FUNCTION Function = &Functions[Hot->Names[Place]];

    if (Before != READER_NONE &&
        ReaderIsNamePrefix(Function, &Functions[Hot->Names[Before]])) {
        return &Functions[Hot->Names[Before]];
    }

    if (*After < Place) {
        *After = Place;
    }

    while (*After < Hot->Functions.NumberOfFunctions &&
           Hot->Rows[Hot->Names[*After]].IsListed) {
        *After += 1;
    }

    if (*After < Hot->Functions.NumberOfFunctions &&
        ReaderIsNamePrefix(Function, &Functions[Hot->Names[*After]])) {
        return &Functions[Hot->Names[*After]];
    }

    return NULL;
}


static
BOOLEAN
ReaderIsPrefixText(
    _In_ PCREADER_FUNCTION Function
    )
/*++

Routine Description:

    Says whether a name can be a line of a list: the list is UTF-8 without
    control characters, in which a line is neither empty nor begins with a
    blank, # or -, nor ends with a blank.

Arguments:

    Function - The function.

Return Value:

    TRUE if so.

--*/
{
    PCSZ Name = Function->Name;
    ULONG Length = Function->NameLength;
    ULONG CodePoint;
    ULONG Index = 0;
    ULONG Size;

    if (Length == 0 || Length > STRING_TABLE_MAXIMUM_PREFIX_IN_CHARS ||
        Name[0] == '#' || Name[0] == '-' ||
        Name[0] == ' ' || Name[Length - 1] == ' ') {
        return FALSE;
    }

    while (Index < Length) {

        Size = RtlDecodeUtf8(Name + Index, Length - Index, &CodePoint);
        if (CodePoint < 0x20 || CodePoint == 0x7F || CodePoint == 0xFFFD) {
            return FALSE;
        }

        Index += Size;
    }

    return TRUE;
}


static
ULONG
ReaderWriteHotList(
    _In_ const READER_HOT *Hot
    )
/*++

Routine Description:

    Writes the list for --exclude, by name.

Arguments:

    Hot - What was added up.

Return Value:

    READER_EXIT_*; a failure has been written.

--*/
{
    PCREADER_CONTEXT Context = Hot->Session.Context;
    PCREADER_OPTIONS Options = Hot->Options;
    PCREADER_FUNCTION Function;
    PCREADER_FUNCTION Longer;
    READER_FILE File;
    PRTL_WRITER Writer = &File.Writer;
    ULONG Before = READER_NONE;
    ULONG After = 0;
    ULONG Index;

    if (!ReaderCreateFile(&File,
                          Context,
                          Options->Output,
                          Options->OutputUtf8)) {
        return READER_EXIT_FAILURE;
    }

    RtlWriteText(Writer,
                 "# Functions whose calls cost more to trace than they "
                 "take.\n# Written by TraceReader hot from ");
    ReaderWriteCleanText(Writer,
                         Options->PathUtf8,
                         RtlLengthOfString(Options->PathUtf8));
    RtlWriteText(Writer,
                 "\n# Of each, the hooks of all calls cost more than its own "
                 "time without them");
    if (Options->Minimum != 0) {
        RtlWriteText(Writer,
                     ",\n# and its records take %llu bytes or more",
                     Options->Minimum);
    }

    RtlWriteText(Writer,
                 ".\n# %u functions: %llu of %llu bytes of records.\n"
                 "# For TraceReader's --exclude @FILE.  A line is the "
                 "beginning of a name.\n",
                 Hot->NumberListed,
                 Hot->ListedBytes,
                 Hot->Bytes);

    for (Index = 0; Index < Hot->Functions.NumberOfFunctions; Index++) {

        Function = &Hot->Functions.Functions[Hot->Names[Index]];
        if (!Hot->Rows[Hot->Names[Index]].IsListed) {
            Before = Index;
            continue;
        }

        if (!ReaderIsPrefixText(Function)) {
            RtlWriteText(Writer, "# (no line can have this name: ");
            ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
            RtlWriteText(Writer, ")\n");
            continue;
        }

        Longer = ReaderFindLongerName(Hot, Index, Before, &After);
        if (Longer != NULL) {
            RtlWriteText(Writer, "# (this would exclude ");
            ReaderWriteCleanText(Writer, Longer->Name, Longer->NameLength);
            RtlWriteText(Writer, ", too) ");
        }

        ReaderWriteCleanText(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, "\n");
    }

    return ReaderCloseFile(&File, TRUE);
}


static
ULONG
ReaderWriteHotExcludeList(
    _Inout_ PREADER_HOT Hot
    )
/*++

Routine Description:

    Writes the list for TRACER_EXCLUDE.

Arguments:

    Hot - What was added up, and written; gets functions that were not called.

Return Value:

    READER_EXIT_*; a failure has been written.

--*/
{
    PCREADER_CONTEXT Context = Hot->Session.Context;
    PCALLOCATOR Allocator = Context->Allocator;
    PCREADER_OPTIONS Options = Hot->Options;
    PCREADER_FUNCTION Function;
    READER_EXCLUDE Exclude;
    ULONG NumberOfFunctions = Hot->Functions.NumberOfFunctions;
    PUCHAR IsMeant;
    ULONG ExitCode;
    ULONG Index;
    ULONG First;

    ReaderInitializeExclude(&Exclude, &Hot->Functions);
    ExitCode = ReaderFindSessionHookSites(&Exclude, Options->PathUtf8);
    if (ExitCode != READER_EXIT_SUCCESS) {
        ReaderRundownExclude(&Exclude);
        return ExitCode;
    }

    IsMeant = (PUCHAR)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Hot->Functions.NumberOfFunctions + 1);
    if (IsMeant == NULL) {
        ReaderRundownExclude(&Exclude);
        return ReaderFail(Context,
                          "hot",
                          Options->PathUtf8,
                          STATUS_NO_MEMORY);
    }

    //
    // A function of an image that was loaded twice stands for both.
    //

    for (Index = 0; Index < NumberOfFunctions; Index++) {

        if (!Hot->Rows[Index].IsListed) {
            continue;
        }

        Function = &Hot->Functions.Functions[Index];
        First = Index;
        if (ReaderIsModuleRepeated(&Hot->Session, Function->Module, &First) &&
            !ReaderFindInMap(&Hot->Functions.Starts,
                             ((ULONGLONG)First << 32) | Function->Rva,
                             &First)) {
            continue;
        }

        IsMeant[First] = TRUE;
    }

    ExitCode = ReaderSaveExcludeList(&Exclude,
                                     IsMeant,
                                     Options->PathUtf8,
                                     Options->ExcludeList,
                                     Options->ExcludeListUtf8);
    Allocator->Free(Allocator->Context, IsMeant);
    ReaderRundownExclude(&Exclude);
    return ExitCode;
}


static
VOID
ReaderRundownHot(
    _Inout_ PREADER_HOT Hot
    )
/*++

Routine Description:

    Frees what was added up.

Arguments:

    Hot - What was added up.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Hot->Session.Context->Allocator;

    Allocator->Free(Allocator->Context, Hot->Rows);
    Allocator->Free(Allocator->Context, Hot->Order);
    Allocator->Free(Allocator->Context, Hot->Names);
    ReaderRundownTally(&Hot->Tally);
    ReaderRundownTally(&Hot->Before);
    ReaderRundownFunctions(&Hot->Functions);
    ReaderCloseSession(&Hot->Session);
}


static
VOID
ReaderShowHotProgress(
    _In_ PVOID Context
    )
/*++

Routine Description:

    Called for each buffer that was read.

Arguments:

    Context - What is added up.

Return Value:

    None.

--*/
{
    PREADER_HOT Hot = (PREADER_HOT)Context;

    Hot->ProgressCalls += 1;
    if (Hot->ProgressCalls % READER_HOT_PROGRESS_CALLS == 0) {
        ReaderShowProgress(&Hot->Progress, Hot->Tally.NumberOfRecords);
    }
}


static
ULONG
ReaderReadHotThreads(
    _Inout_ PREADER_HOT Hot
    )
/*++

Routine Description:

    Reads the selected threads.

Arguments:

    Hot - What to add to.

Return Value:

    READER_EXIT_*; failures have been written.

--*/
{
    PREADER_SESSION Session = &Hot->Session;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    ULONG Store;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        if (!READER_IS_THREAD_SELECTED(Hot->Options,
                                       Session->Threads[Index].ThreadId)) {
            continue;
        }

        Status = ReaderTallyThread(&Hot->Tally, Index);
        for (Store = Session->Threads[Index].FirstStore;
             Store != READER_NONE;
             Store = Session->Stores[Store]->NextInThread) {
            ReaderWarnOfRecords(Session->Context, Session->Stores[Store]);
        }

        if (!NT_SUCCESS(Status)) {
            ExitCode = ReaderFailThread(Session, Index, Status);
        }
    }

    return ExitCode;
}


static
ULONG
ReaderCommandHot(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs hot.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_OPTIONS Subtracting = *Options;
    READER_HOT Hot;
    ULONG ExitCode;
    NTSTATUS Status;

    RtlZeroBytes(&Hot, sizeof(Hot));
    Hot.Options = Options;
    Subtracting.Given |= READER_OPTION_PROBE;
    if (!ReaderBeginCommand(&Hot.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!ReaderBeginProbe(&Hot.Session, &Subtracting) ||
        !ReaderQueryRange(&Hot.Session, Options, &Hot.Range)) {
        ReaderCloseSession(&Hot.Session);
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Hot.Functions, &Hot.Session);
    ReaderInitializeTally(&Hot.Tally, &Hot.Functions, NULL);
    ReaderInitializeTally(&Hot.Before, &Hot.Functions, NULL);
    Hot.Tally.IsGeneral = TRUE;
    if (Hot.Range.IsGiven) {
        Hot.Tally.Range = &Hot.Range;
        Hot.Tally.Before = &Hot.Before;
    }

    ReaderInitializeProgress(&Hot.Progress,
                             Context,
                             "",
                             ReaderCountRecords(&Hot.Session, Options));
    if (Context->Errors->IsConsole) {
        Hot.Tally.Progress = ReaderShowHotProgress;
        Hot.Tally.ProgressContext = &Hot;
    }

    ExitCode = ReaderReadHotThreads(&Hot);
    ReaderEraseProgress(&Hot.Progress);
    Status = ReaderAddUpHot(&Hot);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context, "hot", Options->PathUtf8, Status);
        goto End;
    }

    if (Options->Output != NULL &&
        ReaderWriteHotList(&Hot) != READER_EXIT_SUCCESS) {
        ExitCode = READER_EXIT_FAILURE;
    }

    ReaderPutHot(&Hot);
    ExitCode = ReaderEndFilter(Context,
                               Options->Filter,
                               Hot.NumberShown,
                               &Hot.NotShown,
                               ExitCode);
    ReaderSaveCache(&Hot.Session, FALSE);
    if (Options->ExcludeList != NULL &&
        ReaderWriteHotExcludeList(&Hot) != READER_EXIT_SUCCESS) {
        ExitCode = READER_EXIT_FAILURE;
    }

End:
    ReaderRundownHot(&Hot);
    return ExitCode;
}


const READER_COMMAND ReaderHotCommand = {
    "hot",
    "PATH",
    "Shows the functions that cost more to trace than they take",
    "CSV, and JSON in the array functions, hold\n"
    "  calls, self_ns, self_per_call_ns, probe_ns (what the hooks of all\n"
    "  calls cost), bytes (of its records), ratio_percent (of probe to self;\n"
    "  empty or null if self is 0), bytes_ppm (millionths of all records),\n"
    "  module, rva, function\n"
    "A function is listed if its hooks cost more than its own time, which is\n"
    "without what the hooks cost (see report --subtract-probe); the dearest\n"
    "comes first.  --min leaves out those whose records take less.\n"
    "--output writes the listed functions to FILE, a name a line, as\n"
    "--exclude @FILE takes it.  A name that another function's begins with,\n"
    "which is not listed, is written as a comment: as a prefix it would\n"
    "exclude both.\n"
    "--exclude-list writes them to FILE as TRACER_EXCLUDE takes it: the next\n"
    "run of the same build then calls no hook in them, at no cost (exit code\n"
    "1: some cannot be excluded, and the list is without them).\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_TICKS_NOTE,
    "  TraceReader hot --limit 20 SESSION\n"
    "  TraceReader hot --min 1M --output dear.txt SESSION\n"
    "  TraceReader report --exclude @dear.txt SESSION\n"
    "  TraceReader hot --exclude-list fast.list SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_THREAD |
        READER_OPTION_MODULE | READER_OPTION_FILTER |
        READER_OPTION_MINIMUM | READER_OPTION_OUTPUT |
        READER_OPTION_EXCLUDE_LIST | READER_OPTIONS_OF_READING,
    ReaderCommandHot
};
