/*++

Module Name:

    CommandHot.c

Abstract:

    TraceReader hot: the functions whose calls cost more to trace than they do
    themselves, and a list of them for --exclude.

    Self times are without what the hooks cost, as with --subtract-probe.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Session/SessionDescribe.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionFilter.h"
#include "../Calls/CallProbe.h"
#include "../Sums/SumRead.h"
#include "../Sums/SumTally.h"
#include "Command.h"
#include "CommandExclude.h"

#define READER_HOT_FIRST_COLUMNS                                            \
    { "Calls", "calls", ReaderColumnNumber, 10, 0,                          \
      "Calls, including those that were abandoned." },                      \
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH,                  \
      READER_COLUMN_NULLABLE,                                               \
      "Self time without what the hooks cost." },                           \
    { "Self/call", "self_per_call", ReaderColumnTime, READER_TIME_WIDTH,    \
      READER_COLUMN_NULLABLE,                                               \
      "Self time of one call, without what the hooks cost." },              \
    { "Hooks", "probe", ReaderColumnTime, READER_TIME_WIDTH,                \
      READER_COLUMN_NULLABLE,                                               \
      "What the hooks of its calls cost." },                                \
    { "Bytes", "bytes", ReaderColumnBytes, READER_TIME_WIDTH, 0,            \
      "Bytes of its records." }

#define READER_HOT_LAST_COLUMNS                                             \
    { "Module", "module", ReaderColumnText, 16, READER_COLUMN_MODULE,       \
      "The module's file name." },                                          \
    { "", "rva", ReaderColumnHexadecimal, 0,                                \
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,                          \
      "Where the function begins, from the image base; hexadecimal. Null "  \
      "for (other): functions that had no room in a tree." },               \
    { "Function", "function", ReaderColumnText, 0, 0,                       \
      "The function's name, or module+0xRVA." }

//
// Quotients have decimals in text, and are whole numbers elsewhere.
//

static const READER_COLUMN ReaderHotTextColumns[] = {
    READER_HOT_FIRST_COLUMNS,
    { "Hooks/self", "", ReaderColumnText, 10, 0,
      NULL },
    { "Bytes, %", "", ReaderColumnText, 8, 0,
      NULL },
    READER_HOT_LAST_COLUMNS
};

static const READER_COLUMN ReaderHotColumns[] = {
    READER_HOT_FIRST_COLUMNS,
    { "", "ratio_percent", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,
      "Cost of the hooks to self time, percent; null if no self time is "
      "left." },
    { "", "bytes_ppm", ReaderColumnNumber, 0, 0,
      "The share of its records in all records, in millionths." },
    READER_HOT_LAST_COLUMNS
};

static const READER_TABLE ReaderHotTable = {
    "functions",
    ReaderHotColumns,
    RTL_NUMBER_OF(ReaderHotColumns),
    FALSE,
    FALSE,
    "A row for each function that costs more to trace than it takes."
};

static const READER_TABLE ReaderHotTextTable = {
    "functions",
    ReaderHotTextColumns,
    RTL_NUMBER_OF(ReaderHotTextColumns),
    FALSE,
    FALSE,
    NULL
};

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
    READER_RANGE Range;             // what was recorded since the last clear
    READER_READING Reading;
    PREADER_HOT_ROW Rows;           // by function
    PULONG Order;                   // of those that are listed
    PULONG Names;                   // all, by name
    ULONG NumberListed;
    ULONGLONG NumberShown;          // before --limit
    ULONGLONG Bytes;                // of all records
    ULONGLONG ListedBytes;
    READER_NOT_SHOWN NotShown;
} READER_HOT;
typedef READER_HOT *PREADER_HOT;


//
// Orders functions by what their hooks cost, the most first.
// CompareContext: what was added up.
// First, Second: function indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareHotRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_HOT Hot = (PREADER_HOT)CompareContext;
    PCREADER_FUNCTION FirstFunction = &Hot->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Hot->Functions.Functions[Second];
    LONG Order;

    if (Hot->Rows[First].Probe != Hot->Rows[Second].Probe) {
        return Hot->Rows[First].Probe > Hot->Rows[Second].Probe ? -1 : 1;
    }

    Order = FunctionCompareNames(FirstFunction, SecondFunction);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


//
// Orders functions by their names' bytes, so that all names that begin with
// one come directly after it.
// CompareContext: what was added up.
// First, Second: function indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareHotNames(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_HOT Hot = (PREADER_HOT)CompareContext;
    PCREADER_FUNCTION FirstFunction = &Hot->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Hot->Functions.Functions[Second];
    ULONG Index;

    for (Index = 0;
         Index < FirstFunction->BareLength &&
         Index < SecondFunction->BareLength;
         Index++) {
        if (FirstFunction->FullName[Index] != SecondFunction->FullName[Index]) {
            return (UCHAR)FirstFunction->FullName[Index] <
                           (UCHAR)SecondFunction->FullName[Index]
                       ? -1
                       : 1;
        }
    }

    if (FirstFunction->BareLength == SecondFunction->BareLength) {
        return 0;
    }

    return FirstFunction->BareLength < SecondFunction->BareLength ? -1 : 1;
}


//
// Says whether a function's name begins with another's.
// Prefix: the other.
// Returns TRUE if so, also if they are the same.
//

static
BOOLEAN
CommandIsNamePrefix(
    _In_ PCREADER_FUNCTION Prefix,
    _In_ PCREADER_FUNCTION Function
    )
{
    return Prefix->BareLength <= Function->BareLength &&
           RtlAreBytesEqual(Prefix->FullName,
                            Function->FullName,
                            Prefix->BareLength);
}


//
// Puts the functions' numbers together and decides which are listed.
// Hot: with all threads read.
//

_Must_inspect_result_
static
NTSTATUS
CommandAddUpHot(
    _Inout_ PREADER_HOT Hot
    )
{
    PCALLOCATOR Allocator = Hot->Session.Context->Allocator;
    SIZE_T Number = (SIZE_T)Hot->Functions.NumberOfFunctions + 1;
    PREADER_STATISTICS Statistics;
    PCREADER_FUNCTION Function;
    const READER_MODULE *Module;
    PREADER_HOT_ROW Row;
    PREADER_TALLY Tally;
    ULONG Count = 0;
    ULONG Worker;
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

    for (Worker = 0; Worker < Hot->Reading.NumberOfWorkers; Worker++) {
        Tally = &Hot->Reading.Tallies[Worker];
        for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {
            SumMergeStatistics(
                &Hot->Rows[Tally->List[Index].Function].Statistics,
                Tally,
                Index);
        }
    }

    FunctionFilterFunctions(&Hot->Functions, Hot->Options->Filter);
    for (Index = 0; Index < Hot->Functions.NumberOfFunctions; Index++) {

        Function = &Hot->Functions.Functions[Index];
        Module = Hot->Session.Modules[Function->Module];
        Row = &Hot->Rows[Index];
        Statistics = &Row->Statistics;
        CallSubtractProbe(&Hot->Session, Statistics);
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
            !Function->IsSelected ||
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
    BaseSort(Hot->Order, Count, CommandCompareHotRows, Hot);
    BaseSort(Hot->Names,
             Hot->Functions.NumberOfFunctions,
             CommandCompareHotNames,
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


//
// Writes a cell with a quotient, rounded down: a whole number, or two decimals
// in text.
// Unit: what to multiply it with.
// Hundredth: the same for the hundredths in text.
//

static
VOID
CommandPutQuotient(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Dividend,
    _In_ ULONGLONG Divisor,
    _In_ ULONG Unit,
    _In_ ULONG Hundredth
    )
{
    RTL_WRITER Writer;
    CHAR Text[32];
    CHAR Cell[64];
    ULONGLONG Value;
    ULONG Length;
    ULONG Width;

    if (Output->Format != ReaderFormatText) {
        if (Divisor == 0) {
            OutputPutNothing(Output);
        } else {
            OutputPutNumber(Output,
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
    OutputPutText(Output, Cell, Writer.LengthInBytes);
}


//
// Writes the table.
// Hot: what was added up.
//

static
VOID
CommandPutHot(
    _In_ const READER_HOT *Hot
    )
{
    PCREADER_CONTEXT Context = Hot->Session.Context;
    const READER_HOT_ROW *Row;
    PCREADER_FUNCTION Function;
    READER_OUTPUT Output;
    READER_NOTE Note;
    ULONGLONG Finished;
    ULONG Index;

    OutputBeginDocument(&Output,
                        Context->Output,
                        Hot->Options->Format,
                        &Hot->Session.Clock,
                        "hot",
                        FALSE);
    OutputBeginTable(&Output,
                     Output.Format == ReaderFormatText ? &ReaderHotTextTable
                                                       : &ReaderHotTable,
                     Hot->Session.NumberOfModules != 1 ? READER_COLUMN_MODULE
                                                       : 0);
    for (Index = 0; Index < Hot->NumberListed; Index++) {

        Row = &Hot->Rows[Hot->Order[Index]];
        Function = &Hot->Functions.Functions[Hot->Order[Index]];
        Finished = Row->Statistics.Calls - Row->Statistics.Abandoned +
                   Row->Statistics.AbandonedInTotal;

        OutputPutNumber(&Output, Row->Statistics.Calls);
        CallPutSubtracted(&Output,
                          Row->Statistics.SelfTicks,
                          Row->Statistics.SelfProbe);
        if (Finished != 0) {
            CallPutSubtracted(&Output,
                              Row->Statistics.SelfTicks / Finished,
                              Row->Statistics.SelfProbe / Finished);
        } else {
            OutputPutNothing(&Output);
        }

        OutputPutNumber(&Output, Row->Probe);
        OutputPutNumber(&Output, Row->Bytes);
        CommandPutQuotient(&Output,
                           Row->Probe,
                           Row->Statistics.SelfTicks,
                           100,
                           100);
        CommandPutQuotient(&Output, Row->Bytes, Hot->Bytes, 1000000, 10000);
        OutputPutText(&Output,
                      Function->ModuleName,
                      Function->ModuleNameLength);
        if (Function->Rva == READER_OTHER_RVA || Function->IsStub) {
            OutputPutNothing(&Output);
        } else {
            OutputPutNumber(&Output, Function->Rva);
        }


        OutputPutText(&Output, Function->Name, Function->NameLength);
    }

    OutputEndTable(&Output);
    OutputPutMore(&Output, Hot->NumberShown - Hot->NumberListed, "function");
    OutputBeginNote(&Note);
    RtlWriteText(&Note.Writer,
                 "%u function%s that cost%s more to trace than they take: "
                 "%llu of %llu bytes of records.",
                 Hot->NumberListed,
                 Hot->NumberListed == 1 ? "" : "s",
                 Hot->NumberListed == 1 ? "s" : "",
                 Hot->ListedBytes,
                 Hot->Bytes);
    OutputEndNote(&Output, &Note);

    FunctionPutNotShown(&Output, Hot->Options->Filter, &Hot->NotShown);
    CallPutProbeNote(&Output, &Hot->Session);
    SessionPutClockNote(&Output, &Hot->Session);
    OutputEndDocument(&Output);
}


//
// Looks for a function that is not listed and whose name begins with that of
// one that is: as a prefix, the one would exclude the other. Names that begin
// with one stand together, so that the nearest on either side tells.
//
// Hot: what was added up.
// Place: the listed function's place among the names.
// Before: the last place before it of one that is not listed, or READER_NONE.
// After: the place of the first one after it; moved there.
// Returns the function, or NULL: there is none.
//

_Ret_maybenull_
static
PCREADER_FUNCTION
CommandFindLongerName(
    _In_ const READER_HOT *Hot,
    _In_ ULONG Place,
    _In_ ULONG Before,
    _Inout_ PULONG After
    )
{
    PREADER_FUNCTION Functions = Hot->Functions.Functions;
    PCREADER_FUNCTION Function = &Functions[Hot->Names[Place]];

    if (Before != READER_NONE &&
        CommandIsNamePrefix(Function, &Functions[Hot->Names[Before]])) {
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
        CommandIsNamePrefix(Function, &Functions[Hot->Names[*After]])) {
        return &Functions[Hot->Names[*After]];
    }

    return NULL;
}


//
// Says whether a name can be a line of a list: the list is UTF-8, all of it
// printable, in which a line is neither empty nor begins with a blank, # or -,
// nor ends with a blank.
//

static
BOOLEAN
CommandIsPrefixText(
    _In_ PCREADER_FUNCTION Function
    )
{
    PCSZ Name = Function->FullName;
    ULONG Length = Function->BareLength;
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
        if (CodePoint == 0xFFFD || !RtlIsPrintable(CodePoint)) {
            return FALSE;
        }

        Index += Size;
    }

    return TRUE;
}


//
// Writes a name as a line of a list.  One that reads like a pattern becomes an
// expression that means the names that begin with it.
// Returns FALSE, with nothing written, if it is too long for that.
//

static
BOOLEAN
CommandWritePrefix(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_FUNCTION Function,
    _In_ BOOLEAN IsWritten
    )
{
    PCSZ Name = Function->FullName;
    ULONG Length = Function->BareLength;
    ULONG Size = Length;
    ULONG Index;
    CHAR Letter;

    if (FunctionFindPatternKind(Name, &Size) == ReaderPatternNone) {
        if (IsWritten) {
            RtlWriteCleanText(Writer, Name, Length);
        }
        return TRUE;
    }

    if (Length > READER_PATTERN_MAXIMUM / 2 - 2) {
        return FALSE;
    }

    if (IsWritten) {
        RtlWriteText(Writer, "/^");
        for (Index = 0; Index < Length; Index++) {
            Letter = Name[Index];
            if ((UCHAR)Letter < 0x80 && Letter != '_' &&
                !(Letter >= '0' && Letter <= '9') &&
                !((Letter | 0x20) >= 'a' && (Letter | 0x20) <= 'z')) {
                RtlWriteText(Writer, "\\");
            }
            RtlWriteBytes(Writer, &Letter, 1);
        }
        RtlWriteText(Writer, "/");
    }

    return TRUE;
}


//
// Writes the list for --exclude, by name.
// Hot: what was added up.
// Returns READER_EXIT_*; a failure has been written.
//

static
ULONG
CommandWriteHotList(
    _In_ const READER_HOT *Hot
    )
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

    if (!BaseCreateFile(&File,
                        Context,
                        Options->Output,
                        Options->OutputUtf8,
                        FALSE)) {
        return READER_EXIT_FAILURE;
    }

    RtlWriteText(Writer,
                 "# Functions whose calls cost more to trace than they "
                 "take.\n# Written by TraceReader hot from ");
    RtlWriteCleanText(Writer,
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

        if (!CommandIsPrefixText(Function) ||
            !CommandWritePrefix(Writer, Function, FALSE)) {
            RtlWriteText(Writer, "# (this name cannot be written on a line: ");
            RtlWriteCleanText(Writer, Function->FullName, Function->BareLength);
            RtlWriteText(Writer, ")\n");
            continue;
        }

        Longer = CommandFindLongerName(Hot, Index, Before, &After);
        if (Longer != NULL) {
            RtlWriteText(Writer, "# (this would exclude ");
            RtlWriteCleanText(Writer, Longer->FullName, Longer->BareLength);
            RtlWriteText(Writer, ", too) ");
        }

        (VOID)CommandWritePrefix(Writer, Function, TRUE);
        RtlWriteText(Writer, "\n");
    }

    return BaseCloseFile(&File, TRUE);
}


//
// Writes the list for TRACER_EXCLUDE.
// Hot: what was added up, and written; gets functions that were not called.
// Returns READER_EXIT_*; a failure has been written.
//

static
ULONG
CommandWriteHotExcludeList(
    _Inout_ PREADER_HOT Hot
    )
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

    FunctionInitializeExclude(&Exclude, &Hot->Functions);
    ExitCode = CommandFindSessionHookSites(&Exclude, Options->PathUtf8);
    if (ExitCode != READER_EXIT_SUCCESS) {
        FunctionRundownExclude(&Exclude);
        return ExitCode;
    }

    IsMeant = (PUCHAR)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Hot->Functions.NumberOfFunctions + 1);
    if (IsMeant == NULL) {
        FunctionRundownExclude(&Exclude);
        return BaseFail(Context,
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
        if (CommandIsModuleRepeated(&Hot->Session, Function->Module, &First) &&
            !BaseFindInMap(&Hot->Functions.Starts,
                           ((ULONGLONG)First << 32) | Function->Rva,
                           &First)) {
            continue;
        }

        IsMeant[First] = TRUE;
    }

    ExitCode = CommandSaveExcludeList(&Exclude,
                                      IsMeant,
                                      Options->PathUtf8,
                                      Options->ExcludeList,
                                      Options->ExcludeListUtf8);
    Allocator->Free(Allocator->Context, IsMeant);
    FunctionRundownExclude(&Exclude);
    return ExitCode;
}


//
// Frees what was added up.
// Hot: what was added up.
//

static
VOID
CommandRundownHot(
    _Inout_ PREADER_HOT Hot
    )
{
    PCALLOCATOR Allocator = Hot->Session.Context->Allocator;

    Allocator->Free(Allocator->Context, Hot->Rows);
    Allocator->Free(Allocator->Context, Hot->Order);
    Allocator->Free(Allocator->Context, Hot->Names);
    SumRundownReading(&Hot->Reading);
    FunctionRundownFunctions(&Hot->Functions);
    CommandCloseCommandSession(&Hot->Session);
}


//
// Makes what each worker adds up in: what the hooks cost, too.
//

_Must_inspect_result_
static
NTSTATUS
CommandPrepareHot(
    _Inout_ PREADER_HOT Hot,
    _In_ PREADER_TEAM Team
    )
{
    PREADER_READING Reading = &Hot->Reading;
    ULONG Index;
    NTSTATUS Status;

    Reading->Functions = &Hot->Functions;
    Reading->Options = Hot->Options;
    Reading->Range = &Hot->Range;
    Reading->Team = Team;
    Reading->Process = READER_NONE;
    Reading->Read = SumTallyThreadOfReading;
    Reading->Context = Reading;
    Status = SumInitializeReading(Reading);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < 2 * Reading->NumberOfWorkers;
         Index++) {
        Reading->Tallies[Index].HasProbe = Index < Reading->NumberOfWorkers;
        Reading->Tallies[Index].IsGeneral =
            (Hot->Options->Given & READER_OPTION_GENERAL) != 0;
    }

    return Status;
}


static
ULONG
CommandHot(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_OPTIONS Subtracting = *Options;
    READER_TEAM Team;
    READER_COST Cost;
    READER_HOT Hot;
    ULONG ExitCode = READER_EXIT_FAILURE;
    NTSTATUS Status;

    CommandBeginReading(Context, &Cost);
    BaseInitializeTeam(&Team, Context, Options->NumberOfWorkers);
    RtlZeroBytes(&Hot, sizeof(Hot));
    Hot.Options = Options;
    Subtracting.Given |= READER_OPTION_PROBE;
    if (!CommandBeginCommand(&Hot.Session, &Team.Context, Options)) {
        goto EndTeam;
    }

    if (!CallBeginProbe(&Hot.Session, &Subtracting) ||
        !CallQueryRange(&Hot.Session, Options, &Hot.Range)) {
        CommandCloseCommandSession(&Hot.Session);
        goto EndTeam;
    }

    FunctionInitializeFunctions(&Hot.Functions, &Hot.Session);
    Status = CommandPrepareHot(&Hot, &Team);
    if (NT_SUCCESS(Status)) {
        ExitCode = SumReadThreads(&Hot.Reading);
        Status = CommandAddUpHot(&Hot);
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context, "hot", Options->PathUtf8, Status);
        goto End;
    }

    if (Options->Output != NULL &&
        CommandWriteHotList(&Hot) != READER_EXIT_SUCCESS) {
        ExitCode = READER_EXIT_FAILURE;
    }

    CommandPutHot(&Hot);
    ExitCode = FunctionEndFilter(Context,
                                 Options->Filter,
                                 &Hot.Functions,
                                 Hot.NumberShown,
                                 &Hot.NotShown,
                                 ExitCode);
    FunctionSaveCache(&Hot.Session, FALSE);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        Cost.NumberOfRecords = Hot.Reading.NumberOfRecords;
        Cost.NumberOfOrdinary = Hot.Reading.NumberOfOrdinary;
        Cost.NumberOfThreads = Hot.Reading.NumberOfThreads;
        Cost.NumberOfWorkers = Hot.Reading.NumberOfWorkers;
        CommandPutReading(&Hot.Session, &Cost);
    }

    if (Options->ExcludeList != NULL &&
        CommandWriteHotExcludeList(&Hot) != READER_EXIT_SUCCESS) {
        ExitCode = READER_EXIT_FAILURE;
    }

End:
    CommandRundownHot(&Hot);

EndTeam:
    BaseRundownTeam(&Team);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderHotTables[] = {
    &ReaderHotTable,
    &ReaderNotShownTable,
    NULL
};

const READER_COMMAND ReaderHotCommand = {
    "hot",
    "[PATH]",
    "Shows the functions that cost more to trace than they take",
    "A function is listed if its hooks cost more than its own time, which is\n"
    "without the cost of the hooks (see report --subtract-probe); the most\n"
    "costly comes first.  --min leaves out those whose records take less.\n"
    "--output writes the listed functions to FILE, one name per line, as\n"
    "--exclude @FILE takes them.  A name that is also the beginning of that\n"
    "of a function which is not listed is written as a comment: as a prefix\n"
    "it would exclude both.\n"
    "--exclude-list writes them to FILE as TRACER_EXCLUDE takes it: the next\n"
    "run of the same build then calls no hook in them, at no cost (exit code\n"
    "1: some cannot be excluded, and the list is without them).\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions")
    READER_TICKS_NOTE,
    "  TraceReader hot --limit 20 SESSION\n"
    "  TraceReader hot --min 1M --output costly.txt SESSION\n"
    "  TraceReader report --exclude @costly.txt SESSION\n"
    "  TraceReader hot --exclude-list fast.list SESSION\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_THREAD |
        READER_OPTION_MODULE | READER_OPTION_FILTER |
        READER_OPTION_WORKERS | READER_OPTION_GENERAL | READER_OPTION_VERBOSE |
        READER_OPTION_MINIMUM | READER_OPTION_OUTPUT |
        READER_OPTION_EXCLUDE_LIST | READER_OPTIONS_OF_READING,
    CommandHot,
    ReaderHotTables,
    NULL
};
