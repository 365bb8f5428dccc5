/*++

Module Name:

    CommandThreads.c

Abstract:

    TraceReader threads: what each thread did, and for how long.

    A thread is busy while the stack that it runs on has an open call: from one
    record to the next, if there is one after the first of them.

--*/

#include "ReaderWalk.h"

static const READER_COLUMN ReaderThreadColumns[] = {
    { "Thread", "thread_id", ReaderColumnNumber, 8 },
    READER_PROCESS_COLUMNS,
    { "Calls", "calls", ReaderColumnNumber, 10 },
    { "Records", "records", ReaderColumnNumber, 10 },
    { "First", "first", ReaderColumnTime, READER_TIME_WIDTH },
    { "Last", "last", ReaderColumnTime, READER_TIME_WIDTH },
    { "Busy", "busy", ReaderColumnTime, READER_TIME_WIDTH },
    { "Busy, %", "busy_percent", ReaderColumnHundredths, 7 },
    { "Depth", "maximum_depth", ReaderColumnNumber, 5 },
    { "Stores", "stores", ReaderColumnNumber, 6 },
    { "Bytes", "bytes", ReaderColumnBytes, 12 },
    { "Lost", "lost", ReaderColumnNumber, 6 },
    { "Self", "top_self", ReaderColumnTime, READER_TIME_WIDTH },
    { "Top function", "top_function", ReaderColumnText, 24 },
    { "", "top_module", ReaderColumnText, 0 },
    { "Name", "name", ReaderColumnText, 0 }
};

#define READER_THREADS_LOST_COLUMN 12
#define READER_THREADS_MODULE_COLUMN 15

static const READER_TABLE ReaderThreadTable = {
    "threads",
    ReaderThreadColumns,
    RTL_NUMBER_OF(ReaderThreadColumns),
    FALSE
};

typedef struct _READER_THREAD_ROW {
    ULONGLONG Calls;
    ULONGLONG Records;
    ULONGLONG FirstTimestamp;       // of its records
    ULONGLONG LastTimestamp;
    ULONGLONG BusyTicks;
    ULONGLONG AwayTicks;            // of its trees, in BusyTicks and not yet
                                    // taken off
    ULONGLONG TopTicks;             // self
    ULONG TopFunction;              // READER_NONE: none
    ULONG MaximumDepth;             // calls that were open at a time
    ULONG NumberOfStores;
    ULONGLONG Bytes;
    ULONGLONG Lost;
} READER_THREAD_ROW;
typedef READER_THREAD_ROW *PREADER_THREAD_ROW;

typedef struct _READER_THREAD_TABLE {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    READER_WALK Walk;
    PREADER_THREAD_ROW Rows;        // by thread
    PULONGLONG SelfTicks;           // by function, of this thread
    ULONG CapacityOfSelfTicks;
    ULONG Thread;                   // READER_NONE: none yet
    ULONGLONG LastTimestamp;        // of its last event
} READER_THREAD_TABLE;
typedef READER_THREAD_TABLE *PREADER_THREAD_TABLE;


static
VOID
ReaderEndThread(
    _Inout_ PREADER_THREAD_TABLE Table
    )
/*++

Routine Description:

    Finds the top function of the thread that was read, and forgets its times.

Arguments:

    Table - The command's state.

Return Value:

    None.

--*/
{
    PREADER_THREAD_ROW Row;
    ULONG Index;

    if (Table->Thread == READER_NONE) {
        return;
    }

    Row = &Table->Rows[Table->Thread];
    Row->BusyTicks -= Row->AwayTicks < Row->BusyTicks ? Row->AwayTicks
                                                      : Row->BusyTicks;
    Row->AwayTicks = 0;
    for (Index = 0; Index < Table->CapacityOfSelfTicks; Index++) {

        if (Table->SelfTicks[Index] > Row->TopTicks) {
            Row->TopTicks = Table->SelfTicks[Index];
            Row->TopFunction = Index;
        }

        Table->SelfTicks[Index] = 0;
    }

    Table->Thread = READER_NONE;
}


_Use_decl_annotations_
static
NTSTATUS
ReaderThreadsEvent(
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
    PREADER_THREAD_TABLE Table = (PREADER_THREAD_TABLE)Walk->Context;
    PREADER_THREAD_ROW Row = &Table->Rows[Walk->Thread];
    NTSTATUS Status;

    if (Table->Thread != Walk->Thread) {
        ReaderEndThread(Table);
        Table->Thread = Walk->Thread;
        Table->LastTimestamp = Event->Timestamp;
    }

    if (Event->Timestamp > Table->LastTimestamp) {
        if (Walk->IsInCall) {
            Row->BusyTicks += Event->Timestamp - Table->LastTimestamp;
        }
        Table->LastTimestamp = Event->Timestamp;
    }

    //
    // A record is an entry, an exit or an exit without an entry; the other
    // events come with one of these.
    //

    if (!IsBegunBefore && Event->Kind != CoreEventAbandoned &&
        Event->Kind != CoreEventOpen) {

        if (Row->Records == 0) {
            Row->FirstTimestamp = Event->Timestamp;
        }

        Row->Records += 1;
        Row->LastTimestamp = Event->Timestamp;
    }

    switch (Event->Kind) {

    case CoreEventEnter:
        if (Event->Depth >= Row->MaximumDepth) {
            Row->MaximumDepth = Event->Depth + 1;
        }
        return STATUS_SUCCESS;

    case CoreEventUnmatched:
        return STATUS_SUCCESS;

    case CoreEventAbandoned:
        Row->Calls += 1;
        return STATUS_SUCCESS;

    default:
        Row->Calls += 1;
        Status = ReaderGrowArray(Table->Session.Context->Allocator,
                                 (PVOID *)&Table->SelfTicks,
                                 &Table->CapacityOfSelfTicks,
                                 Event->Frame->Function + 1,
                                 sizeof(ULONGLONG));
        if (NT_SUCCESS(Status)) {
            Table->SelfTicks[Event->Frame->Function] += Event->SelfTicks;
        }
        return Status;
    }
}


_Use_decl_annotations_
static
NTSTATUS
ReaderThreadsNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
/*++

Routine Description:

    Adds a node of a thread's tree.

Arguments:

    Context - The walk.

    Node - The node.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_WALK Walk = (PREADER_WALK)Context;
    PREADER_THREAD_TABLE Table = (PREADER_THREAD_TABLE)Walk->Context;
    PREADER_THREAD_ROW Row = &Table->Rows[Walk->Thread];
    NTSTATUS Status;

    if (Table->Thread != Walk->Thread) {
        ReaderEndThread(Table);
        Table->Thread = Walk->Thread;
    }

    if (Node->Node->Calls == 0) {
        return STATUS_SUCCESS;
    }

    Row->Calls += Node->Node->Calls;
    if (Node->Depth >= Row->MaximumDepth) {
        Row->MaximumDepth = Node->Depth + 1;
    }

    //
    // What runs on other stacks while a call is open there is not its time;
    // Away has that.
    //

    if (Node->Depth == 0) {
        Row->BusyTicks += Node->Node->Total;
    }

    Row->AwayTicks += Node->Node->Away;
    Status = ReaderGrowArray(Table->Session.Context->Allocator,
                             (PVOID *)&Table->SelfTicks,
                             &Table->CapacityOfSelfTicks,
                             Node->Function + 1,
                             sizeof(ULONGLONG));
    if (NT_SUCCESS(Status)) {
        Table->SelfTicks[Node->Function] += Node->Node->Self;
    }

    return Status;
}


static
LONG
ReaderCompareThreadRows(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders threads as --sort says, then as they are in the session.

Arguments:

    Context - The command's state.

    First, Second - Threads.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_THREAD_TABLE Table = (PREADER_THREAD_TABLE)Context;
    const READER_THREAD_ROW *One = &Table->Rows[First];
    const READER_THREAD_ROW *Other = &Table->Rows[Second];
    ULONGLONG FirstValue;
    ULONGLONG SecondValue;
    const CHAR *FirstName;
    const CHAR *SecondName;
    ULONG FirstLength;
    ULONG SecondLength;
    LONG Order;

    switch (Table->Options->SortKey) {

    case ReaderSortName:
        ReaderQueryThreadName(&Table->Session,
                              First,
                              &FirstName,
                              &FirstLength);
        ReaderQueryThreadName(&Table->Session,
                              Second,
                              &SecondName,
                              &SecondLength);
        Order = ReaderCompareText(FirstName,
                                  FirstLength,
                                  SecondName,
                                  SecondLength);
        if (Order != 0) {
            return Order;
        }
        FirstValue = 0;
        SecondValue = 0;
        break;

    case ReaderSortSelf:
        FirstValue = One->TopTicks;
        SecondValue = Other->TopTicks;
        break;

    case ReaderSortTotal:
        FirstValue = One->BusyTicks;
        SecondValue = Other->BusyTicks;
        break;

    default:
        FirstValue = One->Calls;
        SecondValue = Other->Calls;
        break;
    }

    if (FirstValue != SecondValue) {
        return FirstValue > SecondValue ? -1 : 1;
    }

    if (First == Second) {
        return 0;
    }

    return First < Second ? -1 : 1;
}


static
ULONGLONG
ReaderQueryWallTicks(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_RANGE Range
    )
/*++

Routine Description:

    Says how long the session, or the part of it in the range, is: from its
    first record to its last one.

Arguments:

    Session - The session.

    Range - The range.

Return Value:

    Ticks.

--*/
{
    ULONGLONG First = Range->FirstTimestamp;
    ULONGLONG Last = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].LastTimestamp > Last) {
            Last = Session->Threads[Index].LastTimestamp;
        }
    }

    if (Range->Start > First) {
        First = Range->Start;
    }

    if (Range->End < Last) {
        Last = Range->End;
    }

    return Last > First ? Last - First : 0;
}


static
VOID
ReaderPutThreadRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_THREAD_TABLE *Table,
    _In_ ULONG Thread,
    _In_ ULONGLONG WallTicks
    )
/*++

Routine Description:

    Writes a thread's row.

Arguments:

    Output - The output.

    Table - The command's state.

    Thread - The thread.

    WallTicks - How long the session is.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = &Table->Session;
    const READER_THREAD_ROW *Row = &Table->Rows[Thread];
    ULONGLONG First = Table->Range.FirstTimestamp;
    PCREADER_FUNCTION Function;
    const READER_MODULE *Module;
    const CHAR *Name;
    ULONG Length;

    ReaderPutNumber(Output, Session->Threads[Thread].ThreadId);
    ReaderPutProcess(Output, Session, Session->Threads[Thread].Process);
    ReaderPutNumber(Output, Row->Calls);
    ReaderPutNumber(Output, Row->Records);
    if (Row->Records == 0 && Session->Threads[Thread].LastTimestamp >
                                 Session->Threads[Thread].FirstTimestamp) {

        //
        // A thread with a tree: when its store was made, and when it is known
        // to have been there last.
        //

        ReaderPutNumber(Output,
                        Session->Threads[Thread].FirstTimestamp - First);
        ReaderPutNumber(Output,
                        Session->Threads[Thread].LastTimestamp - First);

    } else if (Row->Records != 0) {
        ReaderPutNumber(Output, Row->FirstTimestamp - First);
        ReaderPutNumber(Output, Row->LastTimestamp - First);
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, Row->BusyTicks);
    if (WallTicks != 0 && Session->Clock.Kind != TRACE_CLOCK_NONE) {
        ReaderPutNumber(Output,
                        CoreMultiplyDivide(Row->BusyTicks, 10000, WallTicks));
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, Row->MaximumDepth);
    ReaderPutNumber(Output, Row->NumberOfStores);
    ReaderPutNumber(Output, Row->Bytes);
    ReaderPutNumber(Output, Row->Lost);
    if (Row->TopFunction != READER_NONE) {
        Function = &Table->Functions.Functions[Row->TopFunction];
        Module = Session->Modules[Function->Module];
        ReaderPutNumber(Output, Row->TopTicks);
        ReaderPutText(Output, Function->Name, Function->NameLength);
        ReaderPutText(Output, Module->Name, Module->NameLength);
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }

    ReaderQueryThreadName(Session, Thread, &Name, &Length);
    ReaderPutText(Output, Name, Length);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutThreads(
    _Inout_ PREADER_THREAD_TABLE Table
    )
/*++

Routine Description:

    Writes all threads.

Arguments:

    Table - The command's state, with all threads read.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = &Table->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_OUTPUT Output;
    ULONGLONG WallTicks = ReaderQueryWallTicks(Session, &Table->Range);
    ULONGLONG Lost = 0;
    PULONG Order;
    ULONG Hidden = 1u << READER_THREADS_MODULE_COLUMN;
    ULONG Count = 0;
    ULONG Index;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Session->NumberOfThreads + 1) * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (READER_IS_THREAD_SELECTED(Table->Options,
                                      Session->Threads[Index].ThreadId)) {
            Lost += Table->Rows[Index].Lost;
            Order[Count] = Index;
            Count += 1;
        }
    }

    if (Lost == 0) {
        Hidden |= 1u << READER_THREADS_LOST_COLUMN;
    }

    ReaderSort(Order, Count, ReaderCompareThreadRows, Table);
    ReaderBeginDocument(&Output,
                        Session->Context->Output,
                        Table->Options->Format,
                        &Session->Clock,
                        "threads",
                        FALSE);
    Output.HasProcesses = Session->NumberOfProcesses > 1;
    ReaderBeginTable(&Output, &ReaderThreadTable, Hidden);
    for (Index = 0; Index < Count && Index < Table->Options->Limit; Index++) {
        ReaderPutThreadRow(&Output, Table, Order[Index], WallTicks);
    }

    ReaderEndTable(&Output);
    ReaderPutRangeNote(&Output, Table->Options, 0);
    ReaderPutClockNote(&Output, Session);
    ReaderEndDocument(&Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


static
VOID
ReaderDescribeThreadStores(
    _Inout_ PREADER_THREAD_TABLE Table
    )
/*++

Routine Description:

    Adds up what the headers of each thread's stores say.

Arguments:

    Table - The command's state, with rows.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = &Table->Session;
    PREADER_THREAD_ROW Row;
    ULONGLONG Bytes;
    ULONGLONG Lost;
    ULONG Store;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        Row = &Table->Rows[Index];
        Row->TopFunction = READER_NONE;
        for (Store = Session->Threads[Index].FirstStore;
             Store != READER_NONE;
             Store = Session->Stores[Store]->NextInThread) {

            ReaderQueryStoredBytes(Session->Stores[Store], &Bytes, &Lost);
            Row->NumberOfStores += 1;
            Row->Bytes += Bytes;
            if (!ReaderIsAside(Session, Session->Stores[Store])) {
                Row->Lost += Lost;
            }
        }
    }
}


static
ULONG
ReaderRunThreads(
    _Inout_ PREADER_THREAD_TABLE Table
    )
/*++

Routine Description:

    Reads the threads and shows them.

Arguments:

    Table - The command's state, with the session open.

Return Value:

    READER_EXIT_*.

--*/
{
    PREADER_SESSION Session = &Table->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG ExitCode;
    NTSTATUS Status = STATUS_NO_MEMORY;

    if (!ReaderQueryRange(Session, Table->Options, &Table->Range)) {
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Table->Functions, Session);
    Table->Thread = READER_NONE;
    Table->Rows = (PREADER_THREAD_ROW)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Session->NumberOfThreads + 1) * sizeof(READER_THREAD_ROW));
    ExitCode = READER_EXIT_SUCCESS;
    if (Table->Rows != NULL) {

        ReaderDescribeThreadStores(Table);
        Table->Walk.Functions = &Table->Functions;
        Table->Walk.Range = &Table->Range;
        Table->Walk.Options = Table->Options;
        Table->Walk.Event = ReaderThreadsEvent;
        Table->Walk.Node = ReaderThreadsNode;
        Table->Walk.Context = Table;
        ExitCode = ReaderWalkThreads(&Table->Walk);
        ReaderEndThread(Table);
        Status = ReaderPutThreads(Table);
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context,
                              "threads",
                              Table->Options->PathUtf8,
                              Status);
    }

    Allocator->Free(Allocator->Context, Table->SelfTicks);
    Allocator->Free(Allocator->Context, Table->Rows);
    ReaderRundownFunctions(&Table->Functions);
    return ExitCode;
}


static
ULONG
ReaderCommandThreads(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs threads.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_THREAD_TABLE Table;
    ULONG ExitCode;

    if (!ReaderCheckSortKey(Context, Options, "threads")) {
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Table, sizeof(Table));
    Table.Options = Options;
    if (!ReaderBeginCommand(&Table.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    ExitCode = ReaderRunThreads(&Table);
    ReaderCloseSession(&Table.Session);
    return ExitCode;
}


const READER_COMMAND ReaderThreadsCommand = {
    "threads",
    "PATH",
    "Shows what each thread did, and for how long",
    "CSV, and JSON in the array threads, hold\n"
    "  thread_id, calls, records, first_ns, last_ns (of its records, after\n"
    "  the session's first), busy_ns, busy_percent, maximum_depth, stores,\n"
    "  bytes, lost, top_self_ns, top_function, top_module, name\n"
    "A thread is busy while a call is open on the stack that it runs on:\n"
    "without fibers that is the sum of its outermost calls' times, with\n"
    "those that were abandoned, up to the record that proved it.  The share\n"
    "is of the time from the session's first record to its last one, or of\n"
    "the part of that from --from to --to.  The top function is the one with\n"
    "the most self time.  Stores, bytes and lost are those of the whole\n"
    "session.  --sort total is by busy time, --sort self by top_self.\n"
    READER_RANGE_NOTE
    READER_TICKS_NOTE,
    "  TraceReader threads SESSION\n"
    "  TraceReader threads --sort calls --from 2s --to 3s SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_THREAD | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTIONS_OF_READING,
    ReaderCommandThreads
};
