/*++

Module Name:

    CommandModules.c

Abstract:

    TraceReader modules: what was called in each module, and from outside.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionTreeStore.h"
#include "../Calls/CallWalk.h"
#include "Command.h"

static const READER_COLUMN ReaderModuleColumns[] = {
    { "Functions", "functions", ReaderColumnNumber, 9, 0,
      "How many functions were called." },
    { "Calls", "calls", ReaderColumnNumber, 10, 0,
      "Calls, including those that were abandoned." },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "Self time of its functions." },
    { "From outside", "calls_from_others", ReaderColumnNumber, 12, 0,
      "Calls of its functions by those of other modules." },
    { "Outermost", "calls_outermost", ReaderColumnNumber, 9, 0,
      "Calls that were not made by a recorded function." },
    { "Records", "records", ReaderColumnNumber, 10, READER_COLUMN_NULLABLE,
      "Records: two for a call that ended. This and the next three fields are "
      "null for a module of which only imports were recorded: theirs are "
      "those of TracerImports.dll." },
    { "Stores", "stores", ReaderColumnNumber, 6, READER_COLUMN_NULLABLE,
      "Its store files." },
    { "Bytes", "bytes", ReaderColumnBytes, 12, READER_COLUMN_NULLABLE,
      "Bytes of records and headers." },
    { "Lost", "lost", ReaderColumnNumber, 6,
      READER_COLUMN_NULLABLE | READER_COLUMN_LOST,
      "Events that were lost." },
    { "Symbols", "symbols", ReaderColumnText, 7, READER_COLUMN_NULLABLE,
      "Where names come from: pdb, dwarf, coff, exports, imports, or none." },
    { "Module", "module", ReaderColumnText, 16, 0,
      "The module's file name." },
    { "Path", "path", ReaderColumnText, 0, READER_COLUMN_NULLABLE,
      "The image's path; null for such a module." }
};

static const READER_TABLE ReaderModuleTable = {
    "modules",
    ReaderModuleColumns,
    RTL_NUMBER_OF(ReaderModuleColumns),
    FALSE,
    FALSE,
    "The modules, those with the most self time first."
};

typedef struct _READER_MODULE_ROW {
    ULONGLONG Functions;            // that were called
    ULONGLONG Calls;
    ULONGLONG SelfTicks;
    ULONGLONG CallsFromOthers;      // from a function of another module
    ULONGLONG CallsOutermost;       // from no function
    ULONGLONG Records;
    ULONGLONG Bytes;
    ULONGLONG Lost;
    ULONGLONG NumberOfStores;
} READER_MODULE_ROW;
typedef READER_MODULE_ROW *PREADER_MODULE_ROW;

typedef struct _READER_MODULES {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    READER_WALK Walk;
    PREADER_MODULE_ROW Rows;        // by FunctionNumberModule
    ULONG NumberOfRows;
    ULONG CapacityOfRows;
    PULONG RowOfFunction;           // by function: index of Rows + 1
    ULONG CapacityOfRowOfFunction;
    PUCHAR IsCalled;                // by function
    ULONG CapacityOfIsCalled;
} READER_MODULES;
typedef READER_MODULES *PREADER_MODULES;


//
// Finds the row that a function counts in: that of the module that has it.  A
// module with hooks, functions of which are imported, too, has one row.
//

_Must_inspect_result_
static
NTSTATUS
CommandFindModuleRow(
    _Inout_ PREADER_MODULES Modules,
    _In_ ULONG Function,
    _Out_ PULONG Row
    )
{
    PREADER_SESSION Session = &Modules->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PCREADER_FUNCTION This = &Modules->Functions.Functions[Function];
    const READER_MODULE *Module;
    ULONG Index;
    NTSTATUS Status;

    *Row = This->Module;
    if (This->Imported == 0) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Modules->RowOfFunction,
                           &Modules->CapacityOfRowOfFunction,
                           Function + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Modules->RowOfFunction[Function] != 0) {
        *Row = Modules->RowOfFunction[Function] - 1;
        return STATUS_SUCCESS;
    }

    *Row = FunctionNumberModule(&Modules->Functions, This);
    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        if (BaseIsTextAlike(Module->Name,
                            Module->NameLength,
                            This->ModuleName,
                            This->ModuleNameLength)) {
            *Row = Index;
            break;
        }
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Modules->Rows,
                           &Modules->CapacityOfRows,
                           *Row + 1,
                           sizeof(READER_MODULE_ROW));
    if (NT_SUCCESS(Status)) {
        Modules->RowOfFunction[Function] = *Row + 1;
        if (*Row >= Modules->NumberOfRows) {
            Modules->NumberOfRows = *Row + 1;
        }
    }

    return Status;
}


//
// Adds an event.
// IsBegunBefore: whether it is a frame that was open when the range began.
//

_Use_decl_annotations_
static
NTSTATUS
CommandModulesEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
{
    PREADER_MODULES Modules = (PREADER_MODULES)Walk->Context;
    PREADER_MODULE_ROW Row = &Modules->Rows[(ULONG)(Event->Site >> 32)];
    ULONG Caller;
    ULONG Function;
    ULONG Own;
    NTSTATUS Status;

    //
    // A record is an entry, an exit or an exit without an entry; the other
    // events come with one of these.
    //

    if (!IsBegunBefore && Event->Kind != CoreEventAbandoned &&
        Event->Kind != CoreEventOpen) {
        Row->Records += 1;
    }

    if (Event->Kind == CoreEventEnter || Event->Kind == CoreEventUnmatched) {
        return STATUS_SUCCESS;
    }

    Function = Event->Frame->Function;
    Status = BaseGrowArray(Modules->Session.Context->Allocator,
                           (PVOID *)&Modules->IsCalled,
                           &Modules->CapacityOfIsCalled,
                           Function + 1,
                           sizeof(UCHAR));
    if (NT_SUCCESS(Status)) {
        Status = CommandFindModuleRow(Modules, Function, &Own);
    }

    Caller = READER_NONE;
    if (NT_SUCCESS(Status) && Event->Parent != NULL) {
        Status = CommandFindModuleRow(Modules,
                                      Event->Parent->Function,
                                      &Caller);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Row = &Modules->Rows[Own];
    if (!Modules->IsCalled[Function]) {
        Modules->IsCalled[Function] = TRUE;
        Row->Functions += 1;
    }

    Row->Calls += 1;
    if (Event->Kind != CoreEventAbandoned) {
        Row->SelfTicks += Event->SelfTicks;
    }

    if (Event->Parent == NULL) {
        Row->CallsOutermost += 1;
    } else if (Caller != Own) {
        Row->CallsFromOthers += 1;
    }

    return STATUS_SUCCESS;
}


//
// Adds a node of a thread's tree.
//

_Use_decl_annotations_
static
NTSTATUS
CommandModulesNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_WALK Walk = (PREADER_WALK)Context;
    PREADER_MODULES Modules = (PREADER_MODULES)Walk->Context;
    ULONG Function = Node->Function;
    PREADER_MODULE_ROW Row;
    READER_STATISTICS Statistics;
    ULONG Caller = READER_NONE;
    ULONG Own;
    NTSTATUS Status;

    if (Node->Node->Calls == 0) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Modules->Session.Context->Allocator,
                           (PVOID *)&Modules->IsCalled,
                           &Modules->CapacityOfIsCalled,
                           Function + 1,
                           sizeof(UCHAR));
    if (NT_SUCCESS(Status)) {
        Status = CommandFindModuleRow(Modules, Function, &Own);
    }

    if (NT_SUCCESS(Status) && Node->Depth != 0) {
        Status = CommandFindModuleRow(Modules, Node->FunctionAbove, &Caller);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Row = &Modules->Rows[Own];
    if (!Modules->IsCalled[Function]) {
        Modules->IsCalled[Function] = TRUE;
        Row->Functions += 1;
    }

    CoreGetNodeStatistics(Node->Node, &Statistics);
    Row->Calls += Statistics.Calls;
    Row->SelfTicks += Statistics.SelfTicks;
    if (Node->Depth == 0) {
        Row->CallsOutermost += Node->Node->Calls;
    } else if (Caller != Own) {
        Row->CallsFromOthers += Node->Node->Calls;
    }

    return STATUS_SUCCESS;
}


//
// What a row's module is called.
//

static
const CHAR *
CommandQueryModuleName(
    _In_ const READER_MODULES *Modules,
    _In_ ULONG Row,
    _Out_ PULONG LengthInBytes
    )
{
    PCREADER_IMPORTED Imported;

    if (Row < Modules->Session.NumberOfModules) {
        *LengthInBytes = Modules->Session.Modules[Row]->NameLength;
        return Modules->Session.Modules[Row]->Name;
    }

    Imported = &Modules->Functions
                    .Imported[Row - Modules->Session.NumberOfModules];
    *LengthInBytes = Imported->NameLength;
    return Imported->Name;
}


//
// Orders modules as --sort says, then as they are in the session.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareModuleRows(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_MODULES Modules = (PREADER_MODULES)Context;
    const READER_MODULE_ROW *One = &Modules->Rows[First];
    const READER_MODULE_ROW *Other = &Modules->Rows[Second];
    const CHAR *FirstName;
    const CHAR *SecondName;
    ULONG FirstLength;
    ULONG SecondLength;
    LONG Order;

    if (Modules->Options->SortKey == ReaderSortName) {
        FirstName = CommandQueryModuleName(Modules, First, &FirstLength);
        SecondName = CommandQueryModuleName(Modules, Second, &SecondLength);
        Order = BaseCompareText(FirstName,
                                FirstLength,
                                SecondName,
                                SecondLength);
        if (Order != 0) {
            return Order;
        }
    } else if (Modules->Options->SortKey != ReaderSortCalls &&
               One->SelfTicks != Other->SelfTicks) {
        return One->SelfTicks > Other->SelfTicks ? -1 : 1;
    } else if (One->Calls != Other->Calls) {
        return One->Calls > Other->Calls ? -1 : 1;
    }

    if (First == Second) {
        return 0;
    }

    return First < Second ? -1 : 1;
}


static
VOID
CommandPutModuleRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_MODULES *Modules,
    _In_ ULONG Index
    )
{
    const READER_MODULE_ROW *Row = &Modules->Rows[Index];
    const READER_MODULE *Module;
    PCTRACE_STORE_HEADER Header;
    RTL_WRITER Writer;
    const CHAR *Name;
    ULONG Length;
    CHAR Text[320];

    OutputPutNumber(Output, Row->Functions);
    OutputPutNumber(Output, Row->Calls);
    OutputPutNumber(Output, Row->SelfTicks);
    OutputPutNumber(Output, Row->CallsFromOthers);
    OutputPutNumber(Output, Row->CallsOutermost);
    if (Index >= Modules->Session.NumberOfModules) {

        Name = CommandQueryModuleName(Modules, Index, &Length);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutString(Output, "imports");
        OutputPutText(Output, Name, Length);
        OutputPutNothing(Output);
        return;
    }

    Module = Modules->Session.Modules[Index];
    Header = Module->Header;
    OutputPutNumber(Output, Row->Records);
    OutputPutNumber(Output, Row->NumberOfStores);
    OutputPutNumber(Output, Row->Bytes);
    OutputPutNumber(Output, Row->Lost);
    OutputPutString(Output,
                    SessionDescribeSymbolSource(
                        FunctionGetModuleSource(Module)));

    //
    // What is said of functions is said of a module, too: its self time is
    // theirs.
    //

    Text[0] = 0;
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (Module->IsApart &&
        Module->NameLength <= sizeof(Text) - sizeof(READER_APART_SUFFIX)) {

        RtlWriteBytes(&Writer, Module->Name, Module->NameLength);
        RtlWriteText(&Writer, READER_APART_SUFFIX);
        OutputPutText(Output, Text, Writer.LengthInBytes);
    } else {
        OutputPutText(Output, Module->Name, Module->NameLength);
    }

    OutputPutText(Output, Header->ModulePath, Header->ModulePathLength);
}


//
// Modules: the command's state, with all threads read.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutModuleRows(
    _Inout_ PREADER_MODULES Modules
    )
{
    PREADER_SESSION Session = &Modules->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_OUTPUT Output;
    ULONGLONG Lost = 0;
    PULONG Order;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Modules->NumberOfRows + 1) * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Lost += Modules->Rows[Index].Lost;
        Order[Index] = Index;
        Status = FunctionLoadModuleSymbols(Session, Session->Modules[Index]);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }
    }

    Count = Session->NumberOfModules;
    for (; Index < Modules->NumberOfRows; Index++) {
        if (Modules->Rows[Index].Calls != 0) {
            Order[Count] = Index;
            Count += 1;
        }
    }

    BaseSort(Order, Count, CommandCompareModuleRows, Modules);
    OutputBeginDocument(&Output,
                        Session->Context->Output,
                        Modules->Options->Format,
                        &Session->Clock,
                        "modules",
                        FALSE);
    OutputBeginTable(&Output,
                     &ReaderModuleTable,
                     Lost != 0 ? READER_COLUMN_LOST : 0);
    for (Index = 0;
         Index < Count && Index < Modules->Options->Limit;
         Index++) {
        CommandPutModuleRow(&Output, Modules, Order[Index]);
    }

    OutputEndTable(&Output);
    CallPutRangeNote(&Output, Modules->Options, 0);
    SessionPutClockNote(&Output, Session);
    OutputEndDocument(&Output);

End:

    Allocator->Free(Allocator->Context, Order);
    return Status;
}


//
// Adds up what the headers of each module's stores say.
// Modules: the command's state, with rows.
//

static
VOID
CommandDescribeModuleStores(
    _Inout_ PREADER_MODULES Modules
    )
{
    PREADER_SESSION Session = &Modules->Session;
    PREADER_MODULE_ROW Row;
    PREADER_STORE Store;
    ULONGLONG Bytes;
    ULONGLONG Lost;
    ULONG Index;
    ULONG Module;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread == READER_NONE || Store->Module == READER_NONE ||
            !READER_IS_THREAD_SELECTED(
                Modules->Options,
                Session->Threads[Store->Thread].ThreadId)) {
            continue;
        }

        //
        // A tree is each of its modules', what it takes and has lost is the
        // first one's.
        //

        for (Module = 1; Module < Store->NumberOfModules; Module++) {
            Modules->Rows[Store->Modules[Module]].NumberOfStores += 1;
        }

        SessionQueryStoredBytes(Store, &Bytes, &Lost);
        Row = &Modules->Rows[Store->Module];
        Row->NumberOfStores += 1;
        Row->Bytes += Bytes;
        Row->Lost += Lost;
    }
}


//
// Reads the threads and shows the modules.
// Modules: the command's state, with the session open.
//

static
ULONG
CommandRunModules(
    _Inout_ PREADER_MODULES Modules
    )
{
    PREADER_SESSION Session = &Modules->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    NTSTATUS Status;

    if (!CallQueryRange(Session, Modules->Options, &Modules->Range)) {
        return READER_EXIT_FAILURE;
    }

    FunctionInitializeFunctions(&Modules->Functions, Session);
    Modules->NumberOfRows = Session->NumberOfModules;
    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Modules->Rows,
                           &Modules->CapacityOfRows,
                           Session->NumberOfModules + 1,
                           sizeof(READER_MODULE_ROW));
    if (NT_SUCCESS(Status)) {

        CommandDescribeModuleStores(Modules);
        Modules->Walk.Functions = &Modules->Functions;
        Modules->Walk.Range = &Modules->Range;
        Modules->Walk.Options = Modules->Options;
        Modules->Walk.Event = CommandModulesEvent;
        Modules->Walk.Node = CommandModulesNode;
        Modules->Walk.Context = Modules;
        ExitCode = CallWalkThreads(&Modules->Walk);
        Status = CommandPutModuleRows(Modules);
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context,
                            "modules",
                            Modules->Options->PathUtf8,
                            Status);
    }

    Allocator->Free(Allocator->Context, Modules->RowOfFunction);
    Allocator->Free(Allocator->Context, Modules->IsCalled);
    Allocator->Free(Allocator->Context, Modules->Rows);
    FunctionRundownFunctions(&Modules->Functions);
    return ExitCode;
}


static
ULONG
CommandModules(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_MODULES Modules;
    ULONG ExitCode;

    if (!CommandCheckSortKey(Context, Options, "modules")) {
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Modules, sizeof(Modules));
    Modules.Options = Options;
    if (!CommandBeginCommand(&Modules.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    ExitCode = CommandRunModules(&Modules);
    CommandCloseCommandSession(&Modules.Session);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderModulesTables[] = {
    &ReaderModuleTable,
    NULL
};

const READER_COMMAND ReaderModulesCommand = {
    "modules",
    "[PATH]",
    "Shows what was called in each module, and from other modules",
    "Stores, bytes and lost are those of the whole session: a thread's\n"
    "tree is a store of each module in it, its bytes and what it has lost\n"
    "are those of the first.  --sort total (default) and --sort self are\n"
    "by self.  An imported function is one of the module that has it; its\n"
    "records and stores are those of TracerImports.dll.  report --by module\n"
    "has what the calls into each module took.\n"
    READER_RANGE_NOTE
    READER_TICKS_NOTE,
    "  TraceReader modules SESSION\n"
    "  TraceReader modules --sort calls --json SESSION\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_THREAD | READER_OPTION_FROM | READER_OPTION_TO |
        (READER_OPTIONS_OF_READING & ~READER_OPTION_NAMES),
    CommandModules,
    ReaderModulesTables,
    NULL
};
