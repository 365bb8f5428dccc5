/*++

Module Name:

    CommandModules.c

Abstract:

    TraceReader modules: what was called in each module, and from outside.

--*/

#include "ReaderWalk.h"

static const READER_COLUMN ReaderModuleColumns[] = {
    { "Functions", "functions", ReaderColumnNumber, 9 },
    { "Calls", "calls", ReaderColumnNumber, 10 },
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH },
    { "From outside", "calls_from_others", ReaderColumnNumber, 12 },
    { "Outermost", "calls_outermost", ReaderColumnNumber, 9 },
    { "Records", "records", ReaderColumnNumber, 10 },
    { "Stores", "stores", ReaderColumnNumber, 6 },
    { "Bytes", "bytes", ReaderColumnBytes, 12 },
    { "Lost", "lost", ReaderColumnNumber, 6 },
    { "Symbols", "symbols", ReaderColumnText, 7 },
    { "Module", "module", ReaderColumnText, 16 },
    { "Path", "path", ReaderColumnText, 0 }
};

#define READER_MODULES_LOST_COLUMN 8

static const READER_TABLE ReaderModuleTable = {
    "modules",
    ReaderModuleColumns,
    RTL_NUMBER_OF(ReaderModuleColumns),
    FALSE
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
    PREADER_MODULE_ROW Rows;        // by module
    PUCHAR IsCalled;                // by function
    ULONG CapacityOfIsCalled;
} READER_MODULES;
typedef READER_MODULES *PREADER_MODULES;


_Use_decl_annotations_
static
NTSTATUS
ReaderModulesEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
/*++

Routine Description:

    Adds an event.

Arguments:

    Walk - The walk.

    Event - The event.

    IsBegunBefore - Whether it is a frame that was open when the range began.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_MODULES Modules = (PREADER_MODULES)Walk->Context;
    PREADER_MODULE_ROW Row = &Modules->Rows[(ULONG)(Event->Site >> 32)];
    PCREADER_FUNCTION Functions = Modules->Functions.Functions;
    ULONG Function;
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
    Status = ReaderGrowArray(Modules->Session.Context->Allocator,
                             (PVOID *)&Modules->IsCalled,
                             &Modules->CapacityOfIsCalled,
                             Function + 1,
                             sizeof(UCHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Row = &Modules->Rows[Functions[Function].Module];
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
    } else if (Functions[Event->Parent->Function].Module !=
               Functions[Function].Module) {
        Row->CallsFromOthers += 1;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
static
NTSTATUS
ReaderModulesNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
/*++

Routine Description:

    Adds a node of a thread's tree, in which all functions are of one module.

Arguments:

    Context - The walk.

    Node - The node.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_WALK Walk = (PREADER_WALK)Context;
    PREADER_MODULES Modules = (PREADER_MODULES)Walk->Context;
    ULONG Function = Node->Function;
    PREADER_MODULE_ROW Row =
        &Modules->Rows[Modules->Functions.Functions[Function].Module];
    NTSTATUS Status;

    if (Node->Node->Calls == 0) {
        return STATUS_SUCCESS;
    }

    Status = ReaderGrowArray(Modules->Session.Context->Allocator,
                             (PVOID *)&Modules->IsCalled,
                             &Modules->CapacityOfIsCalled,
                             Function + 1,
                             sizeof(UCHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!Modules->IsCalled[Function]) {
        Modules->IsCalled[Function] = TRUE;
        Row->Functions += 1;
    }

    Row->Calls += Node->Node->Calls;
    Row->SelfTicks += Node->Node->Self;
    if (Node->Depth == 0) {
        Row->CallsOutermost += Node->Node->Calls;
    }

    return STATUS_SUCCESS;
}


static
LONG
ReaderCompareModuleRows(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders modules as --sort says, then as they are in the session.

Arguments:

    Context - The command's state.

    First, Second - Modules.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_MODULES Modules = (PREADER_MODULES)Context;
    const READER_MODULE_ROW *One = &Modules->Rows[First];
    const READER_MODULE_ROW *Other = &Modules->Rows[Second];
    const READER_MODULE *FirstModule = Modules->Session.Modules[First];
    const READER_MODULE *SecondModule = Modules->Session.Modules[Second];
    LONG Order;

    if (Modules->Options->SortKey == ReaderSortName) {
        Order = ReaderCompareText(FirstModule->Name,
                                  FirstModule->NameLength,
                                  SecondModule->Name,
                                  SecondModule->NameLength);
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
ReaderPutModuleRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_MODULES *Modules,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Writes a module's row.

Arguments:

    Output - The output.

    Modules - The command's state.

    Index - The module.

Return Value:

    None.

--*/
{
    const READER_MODULE_ROW *Row = &Modules->Rows[Index];
    const READER_MODULE *Module = Modules->Session.Modules[Index];
    PCTRACE_STORE_HEADER Header = Module->Header;

    ReaderPutNumber(Output, Row->Functions);
    ReaderPutNumber(Output, Row->Calls);
    ReaderPutNumber(Output, Row->SelfTicks);
    ReaderPutNumber(Output, Row->CallsFromOthers);
    ReaderPutNumber(Output, Row->CallsOutermost);
    ReaderPutNumber(Output, Row->Records);
    ReaderPutNumber(Output, Row->NumberOfStores);
    ReaderPutNumber(Output, Row->Bytes);
    ReaderPutNumber(Output, Row->Lost);
    ReaderPutString(Output,
                    ReaderDescribeSymbolSource(
                        ReaderGetModuleSource(Module)));
    ReaderPutText(Output, Module->Name, Module->NameLength);
    ReaderPutText(Output, Header->ModulePath, Header->ModulePathLength);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutModuleRows(
    _Inout_ PREADER_MODULES Modules
    )
/*++

Routine Description:

    Writes all modules.

Arguments:

    Modules - The command's state, with all threads read.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = &Modules->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_OUTPUT Output;
    ULONGLONG Lost = 0;
    PULONG Order;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Session->NumberOfModules + 1) * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Lost += Modules->Rows[Index].Lost;
        Order[Index] = Index;
        Status = ReaderLoadModuleSymbols(Session, Session->Modules[Index]);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }
    }

    ReaderSort(Order,
               Session->NumberOfModules,
               ReaderCompareModuleRows,
               Modules);
    ReaderBeginDocument(&Output,
                        Session->Context->Output,
                        Modules->Options->Format,
                        &Session->Clock,
                        "modules",
                        FALSE);
    ReaderBeginTable(&Output,
                     &ReaderModuleTable,
                     Lost == 0 ? 1u << READER_MODULES_LOST_COLUMN : 0);
    for (Index = 0;
         Index < Session->NumberOfModules && Index < Modules->Options->Limit;
         Index++) {
        ReaderPutModuleRow(&Output, Modules, Order[Index]);
    }

    ReaderEndTable(&Output);
    ReaderPutRangeNote(&Output, Modules->Options, 0);
    ReaderPutClockNote(&Output, Session);
    ReaderEndDocument(&Output);

End:

    Allocator->Free(Allocator->Context, Order);
    return Status;
}


static
VOID
ReaderDescribeModuleStores(
    _Inout_ PREADER_MODULES Modules
    )
/*++

Routine Description:

    Adds up what the headers of each module's stores say.

Arguments:

    Modules - The command's state, with rows.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = &Modules->Session;
    PREADER_MODULE_ROW Row;
    PREADER_STORE Store;
    ULONGLONG Bytes;
    ULONGLONG Lost;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread == READER_NONE || Store->Module == READER_NONE ||
            !READER_IS_THREAD_SELECTED(
                Modules->Options,
                Session->Threads[Store->Thread].ThreadId)) {
            continue;
        }

        ReaderQueryStoredBytes(Store, &Bytes, &Lost);
        Row = &Modules->Rows[Store->Module];
        Row->NumberOfStores += 1;
        Row->Bytes += Bytes;
        Row->Lost += Lost;
    }
}


static
ULONG
ReaderRunModules(
    _Inout_ PREADER_MODULES Modules
    )
/*++

Routine Description:

    Reads the threads and shows the modules.

Arguments:

    Modules - The command's state, with the session open.

Return Value:

    READER_EXIT_*.

--*/
{
    PREADER_SESSION Session = &Modules->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    NTSTATUS Status = STATUS_NO_MEMORY;

    if (!ReaderQueryRange(Session, Modules->Options, &Modules->Range)) {
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Modules->Functions, Session);
    Modules->Rows = (PREADER_MODULE_ROW)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Session->NumberOfModules + 1) * sizeof(READER_MODULE_ROW));
    if (Modules->Rows != NULL) {

        ReaderDescribeModuleStores(Modules);
        Modules->Walk.Functions = &Modules->Functions;
        Modules->Walk.Range = &Modules->Range;
        Modules->Walk.Options = Modules->Options;
        Modules->Walk.Event = ReaderModulesEvent;
        Modules->Walk.Node = ReaderModulesNode;
        Modules->Walk.Context = Modules;
        ExitCode = ReaderWalkThreads(&Modules->Walk);
        Status = ReaderPutModuleRows(Modules);
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context,
                              "modules",
                              Modules->Options->PathUtf8,
                              Status);
    }

    Allocator->Free(Allocator->Context, Modules->IsCalled);
    Allocator->Free(Allocator->Context, Modules->Rows);
    ReaderRundownFunctions(&Modules->Functions);
    return ExitCode;
}


static
ULONG
ReaderCommandModules(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs modules.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_MODULES Modules;
    ULONG ExitCode;

    if (!ReaderCheckSortKey(Context, Options, "modules")) {
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Modules, sizeof(Modules));
    Modules.Options = Options;
    if (!ReaderBeginCommand(&Modules.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    ExitCode = ReaderRunModules(&Modules);
    ReaderCloseSession(&Modules.Session);
    return ExitCode;
}


const READER_COMMAND ReaderModulesCommand = {
    "modules",
    "PATH",
    "Shows what was called in each module, and from other modules",
    "CSV, and JSON in the array modules, hold\n"
    "  functions (that were called), calls, self_ns, calls_from_others (by\n"
    "  functions of another module), calls_outermost (that no traced\n"
    "  function made), records, stores, bytes, lost, symbols, module, path\n"
    "Stores, bytes and lost are those of the whole session.  --sort total\n"
    "(default) and --sort self are by self.\n"
    READER_RANGE_NOTE
    READER_TICKS_NOTE,
    "  TraceReader modules SESSION\n"
    "  TraceReader modules --sort calls --json SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_THREAD | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTIONS_OF_READING,
    ReaderCommandModules
};
