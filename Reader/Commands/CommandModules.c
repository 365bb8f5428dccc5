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
    { "Records", "records", ReaderColumnNumber, 10, 0,
      "Records: two for a call that ended." },
    { "Stores", "stores", ReaderColumnNumber, 6, 0,
      "Its store files." },
    { "Bytes", "bytes", ReaderColumnBytes, 12, 0,
      "Bytes of records and headers." },
    { "Lost", "lost", ReaderColumnNumber, 6, READER_COLUMN_LOST,
      "Events that were lost." },
    { "Symbols", "symbols", ReaderColumnText, 7, READER_COLUMN_NULLABLE,
      "Where names come from: pdb, dwarf, coff, exports, or none." },
    { "Module", "module", ReaderColumnText, 16, 0,
      "The module's file name." },
    { "Path", "path", ReaderColumnText, 0, 0,
      "The image's path." }
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
    PREADER_MODULE_ROW Rows;        // by module
    PUCHAR IsCalled;                // by function
    ULONG CapacityOfIsCalled;
} READER_MODULES;
typedef READER_MODULES *PREADER_MODULES;


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
    Status = BaseGrowArray(Modules->Session.Context->Allocator,
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
    PREADER_MODULE_ROW Row =
        &Modules->Rows[Modules->Functions.Functions[Function].Module];
    NTSTATUS Status;

    if (Node->Node->Calls == 0) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Modules->Session.Context->Allocator,
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
    } else if (Modules->Functions.Functions[Node->FunctionAbove].Module !=
               Modules->Functions.Functions[Function].Module) {
        Row->CallsFromOthers += Node->Node->Calls;
    }

    return STATUS_SUCCESS;
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
    const READER_MODULE *FirstModule = Modules->Session.Modules[First];
    const READER_MODULE *SecondModule = Modules->Session.Modules[Second];
    LONG Order;

    if (Modules->Options->SortKey == ReaderSortName) {
        Order = BaseCompareText(FirstModule->Name,
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
CommandPutModuleRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_MODULES *Modules,
    _In_ ULONG Index
    )
{
    const READER_MODULE_ROW *Row = &Modules->Rows[Index];
    const READER_MODULE *Module = Modules->Session.Modules[Index];
    PCTRACE_STORE_HEADER Header = Module->Header;
    RTL_WRITER Writer;
    CHAR Text[320];

    OutputPutNumber(Output, Row->Functions);
    OutputPutNumber(Output, Row->Calls);
    OutputPutNumber(Output, Row->SelfTicks);
    OutputPutNumber(Output, Row->CallsFromOthers);
    OutputPutNumber(Output, Row->CallsOutermost);
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
        Status = FunctionLoadModuleSymbols(Session, Session->Modules[Index]);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }
    }

    BaseSort(Order,
             Session->NumberOfModules,
             CommandCompareModuleRows,
             Modules);
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
         Index < Session->NumberOfModules && Index < Modules->Options->Limit;
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
    NTSTATUS Status = STATUS_NO_MEMORY;

    if (!CallQueryRange(Session, Modules->Options, &Modules->Range)) {
        return READER_EXIT_FAILURE;
    }

    FunctionInitializeFunctions(&Modules->Functions, Session);
    Modules->Rows = (PREADER_MODULE_ROW)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Session->NumberOfModules + 1) * sizeof(READER_MODULE_ROW));
    if (Modules->Rows != NULL) {

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
    "by self.\n"
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
