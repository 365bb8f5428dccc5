/*++

Module Name:

    CommandThreads.c

Abstract:

    TraceReader threads: what each thread did, and for how long.

    A thread is busy while the stack that it runs on has an open call: from one
    record to the next, if there is one after the first of them.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionTreeStore.h"
#include "../Calls/CallWaits.h"
#include "../Calls/CallWalk.h"
#include "../Sums/SumEtl.h"
#include "Command.h"

//
// When text shows some of the columns.
//

#define READER_THREAD_SAMPLES READER_COLUMN_OWN(0)

#define READER_THREAD_TIME_COLUMNS                                          \
    { "Thread", "thread_id", ReaderColumnNumber, 8, 0,                      \
      "The thread's identifier." },                                         \
    READER_PROCESS_COLUMNS,                                                 \
    { "Calls", "calls", ReaderColumnNumber, 10, 0,                          \
      "Calls, including those that were abandoned." },                      \
    { "Records", "records", ReaderColumnNumber, 10, 0,                      \
      "Records: two for a call that ended." },                              \
    { "First", "first", ReaderColumnTime, READER_TIME_WIDTH,                \
      READER_COLUMN_NULLABLE,                                               \
      "Time of its first record, from the session's first record; for a "   \
      "thread with only a tree, the time at which its store was "           \
      "created." },                                                         \
    { "Last", "last", ReaderColumnTime, READER_TIME_WIDTH,                  \
      READER_COLUMN_NULLABLE,                                               \
      "Time of its last record, from the session's first record; for a "    \
      "thread with only a tree, the last time at which it is known to "     \
      "have run." },                                                        \
    { "Busy", "busy", ReaderColumnTime, READER_TIME_WIDTH,                  \
      READER_COLUMN_NULLABLE,                                               \
      "The time during which the thread was inside recorded calls." },      \
    { "Busy, %", "busy_percent", ReaderColumnHundredths, 7, 0,              \
      "Of the session's time, percent with two decimals." },                \
    { "Waited", "waited", ReaderColumnTime, READER_TIME_WIDTH,              \
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,                        \
      "Of busy, the time inside functions that wait (Docs/Waits.md)." },    \
    { "Ran", "ran", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,                        \
      "Busy without waited." },                                             \
    { "CPU", "cpu", ReaderColumnCpuTime, READER_TIME_WIDTH,                 \
      READER_COLUMN_NULLABLE,                                               \
      "The processor time that the system counted for the thread, from its "\
      "first recorded call to its end; null if it runs or was killed." }

#define READER_THREAD_STORE_COLUMNS                                         \
    { "Depth", "maximum_depth", ReaderColumnNumber, 5, 0,                   \
      "The largest number of calls that were open at one time." },          \
    { "Stores", "stores", ReaderColumnNumber, 6, 0,                         \
      "Its store files." },                                                 \
    { "Bytes", "bytes", ReaderColumnBytes, 12, 0,                           \
      "Bytes of records and headers." },                                    \
    { "Lost", "lost", ReaderColumnNumber, 6, READER_COLUMN_LOST,            \
      "Events that were lost." },                                           \
    { "Self", "top_self", ReaderColumnTime, READER_TIME_WIDTH,              \
      READER_COLUMN_NULLABLE,                                               \
      "The most self time of a function on this thread." },                 \
    { "Top function", "top_function", ReaderColumnText, 24, 0,              \
      "The function with that time." },                                     \
    { "", "top_module", ReaderColumnText, 0, READER_COLUMN_DATA,            \
      "Its module." },                                                      \
    { "Name", "name", ReaderColumnText, 0, 0,                               \
      "The thread's description, if it has one." }

static const READER_COLUMN ReaderThreadColumns[] = {
    READER_THREAD_TIME_COLUMNS,
    READER_THREAD_STORE_COLUMNS
};

static const READER_COLUMN ReaderThreadStateColumns[] = {
    READER_THREAD_TIME_COLUMNS,
    READER_STATE_COLUMNS,
    { "Samples", "samples", ReaderColumnNumber, 7,
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_THREAD_SAMPLES,
      "How many profile samples of the log fell into that time." },
    READER_THREAD_STORE_COLUMNS
};

#define READER_THREAD_TABLE_OF(Columns)                                     \
    { "threads", Columns, RTL_NUMBER_OF(Columns), FALSE, FALSE,             \
      "The threads, the busiest first." }

static const READER_TABLE ReaderThreadTable =
    READER_THREAD_TABLE_OF(ReaderThreadColumns);

static const READER_TABLE ReaderThreadStateTable =
    READER_THREAD_TABLE_OF(ReaderThreadStateColumns);

typedef struct _READER_THREAD_ROW {
    ULONGLONG Calls;
    ULONGLONG Records;
    ULONGLONG FirstTimestamp;       // of its records
    ULONGLONG LastTimestamp;
    ULONGLONG BusyTicks;
    ULONGLONG WaitedTicks;          // of the outermost calls
    ULONGLONG AwayTicks;            // of its trees, in BusyTicks and not yet
                                    // taken off
    ULONGLONG TopTicks;             // self
    ULONG TopFunction;              // READER_NONE: none
    ULONG MaximumDepth;             // calls that were open at a time
    ULONG NumberOfStores;
    ULONGLONG Bytes;
    ULONGLONG Lost;
    ULONGLONG FirstKnown;           // of what its stores are
    ULONGLONG LastKnown;
    PULONGLONG SelfTicks;           // by function, if the thread was attached
    ULONG CapacityOfSelfTicks;      // to again
} READER_THREAD_ROW;
typedef READER_THREAD_ROW *PREADER_THREAD_ROW;

typedef struct _READER_THREAD_TABLE {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    READER_ETL Etl;
    READER_WALK Walk;
    PREADER_THREAD_ROW Rows;        // by thread
    PULONGLONG SelfTicks;           // by function, of this thread
    ULONG CapacityOfSelfTicks;
    ULONG Thread;                   // READER_NONE: none yet
    ULONGLONG LastTimestamp;        // of its last event
} READER_THREAD_TABLE;
typedef READER_THREAD_TABLE *PREADER_THREAD_TABLE;


//
// Finds the top function of the thread that was read, and forgets its times.
//

static
NTSTATUS
CommandEndThread(
    _Inout_ PREADER_THREAD_TABLE Table
    )
{
    PREADER_THREAD_ROW Row;
    const READER_THREAD *Thread;
    ULONG Index;
    NTSTATUS Status;

    if (Table->Thread == READER_NONE) {
        return STATUS_SUCCESS;
    }

    Thread = &Table->Session.Threads[Table->Thread];
    Row = &Table->Rows[Table->Thread];
    Row->BusyTicks -= Row->AwayTicks < Row->BusyTicks ? Row->AwayTicks
                                                      : Row->BusyTicks;
    Row->AwayTicks = 0;

    //
    // Of one that was attached to again the sum decides.
    //

    if (Thread->IsAgain || Thread->Same != Table->Thread) {

        Row = &Table->Rows[Thread->Same];
        Status = STATUS_SUCCESS;
        if (Table->CapacityOfSelfTicks != 0) {
            Status = BaseGrowArray(Table->Session.Context->Allocator,
                                   (PVOID *)&Row->SelfTicks,
                                   &Row->CapacityOfSelfTicks,
                                   Table->CapacityOfSelfTicks,
                                   sizeof(ULONGLONG));
        }
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        for (Index = 0; Index < Table->CapacityOfSelfTicks; Index++) {
            Row->SelfTicks[Index] += Table->SelfTicks[Index];
            Table->SelfTicks[Index] = Row->SelfTicks[Index];
        }
    }

    for (Index = 0; Index < Table->CapacityOfSelfTicks; Index++) {

        if (Table->SelfTicks[Index] > Row->TopTicks) {
            Row->TopTicks = Table->SelfTicks[Index];
            Row->TopFunction = Index;
        }

        Table->SelfTicks[Index] = 0;
    }

    Table->Thread = READER_NONE;
    return STATUS_SUCCESS;
}


//
// Adds an event.
// IsBegunBefore: whether it is a frame that was open when the range began.
//

_Use_decl_annotations_
static
NTSTATUS
CommandThreadsEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
{
    PREADER_THREAD_TABLE Table = (PREADER_THREAD_TABLE)Walk->Context;
    PREADER_THREAD_ROW Row = &Table->Rows[Walk->Thread];
    NTSTATUS Status;

    if (Table->Thread != Walk->Thread) {
        Status = CommandEndThread(Table);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
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

    if (Event->Depth == 0) {
        Row->WaitedTicks += Event->WaitedTicks;
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
        Status = BaseGrowArray(Table->Session.Context->Allocator,
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


//
// Adds a node of a thread's tree.
//

_Use_decl_annotations_
static
NTSTATUS
CommandThreadsNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_WALK Walk = (PREADER_WALK)Context;
    PREADER_THREAD_TABLE Table = (PREADER_THREAD_TABLE)Walk->Context;
    PREADER_THREAD_ROW Row = &Table->Rows[Walk->Thread];
    NTSTATUS Status;

    if (Table->Thread != Walk->Thread) {
        Status = CommandEndThread(Table);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
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
        Row->WaitedTicks += Node->WaitedTicks;
    }

    Row->AwayTicks += Node->Node->Away;
    Status = BaseGrowArray(Table->Session.Context->Allocator,
                           (PVOID *)&Table->SelfTicks,
                           &Table->CapacityOfSelfTicks,
                           Node->Function + 1,
                           sizeof(ULONGLONG));
    if (NT_SUCCESS(Status)) {
        Table->SelfTicks[Node->Function] += Node->Node->Self;
    }

    return Status;
}


//
// Orders threads as --sort says, then as they are in the session.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareThreadRows(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
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
        SessionQueryThreadName(&Table->Session,
                               First,
                               &FirstName,
                               &FirstLength);
        SessionQueryThreadName(&Table->Session,
                               Second,
                               &SecondName,
                               &SecondLength);
        Order = BaseCompareText(FirstName,
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


//
// Says how long the session, or the part of it in the range, is: from its
// first record to its last one, of those that were read.  While the program
// runs there are more of them than when the session was opened, and a thread
// has been there for as long as it was busy.
// Returns ticks.
//

static
ULONGLONG
CommandQueryWallTicks(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_RANGE Range,
    _In_ const READER_THREAD_ROW *Rows
    )
{
    ULONGLONG First = Range->FirstTimestamp;
    ULONGLONG Last = 0;
    ULONGLONG End;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        const READER_THREAD *Thread = &Session->Threads[Index];

        End = Thread->FirstTimestamp + Rows[Index].BusyTicks;
        if (Thread->LastTimestamp > End) {
            End = Thread->LastTimestamp;
        }
        if (Rows[Index].LastTimestamp > End) {
            End = Rows[Index].LastTimestamp;
        }
        if (End > Last) {
            Last = End;
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


//
// Writes the cells of what a thread did between its first record and its last
// one, or those times of its tree, without the time in which recording was
// stopped.
//

static
VOID
CommandPutThreadStates(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_THREAD_TABLE *Table,
    _In_ ULONG Thread
    )
{
    const READER_THREAD_ROW *Row = &Table->Rows[Thread];
    ULONGLONG First = Row->FirstTimestamp;
    ULONGLONG Last = Row->LastTimestamp;
    READER_STATE_SUMS Sums;
    ETL_SUMS Found;

    if (Row->Records == 0) {
        SessionQueryThreadSpan(&Table->Session, Thread, &First, &Last);
    }

    if (First >= Last) {
        SumEtlPutSums(Output, NULL);
        OutputPutNothing(Output);
        return;
    }

    SumEtlQuery(&Table->Etl,
                Thread,
                First,
                Last,
                SumEtlCountTicks(&Table->Etl, Thread, First, Last),
                &Sums);
    EtlQuerySums(&Table->Etl.States, Thread, First, Last, &Found);
    SumEtlPutSums(Output, &Sums);
    OutputPutNumber(Output, Found.Samples);
}


//
// WallTicks: how long the session is.
//

static
VOID
CommandPutThreadRow(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_THREAD_TABLE *Table,
    _In_ ULONG Thread,
    _In_ ULONGLONG WallTicks
    )
{
    const READER_SESSION *Session = &Table->Session;
    const READER_THREAD_ROW *Row = &Table->Rows[Thread];
    ULONGLONG First = Table->Range.FirstTimestamp;
    ULONGLONG Waited;
    PCREADER_FUNCTION Function;
    const CHAR *Name;
    ULONG Length;

    OutputPutNumber(Output, Session->Threads[Thread].ThreadId);
    SessionPutProcess(Output, Session, Session->Threads[Thread].Process);
    OutputPutNumber(Output, Row->Calls);
    OutputPutNumber(Output, Row->Records);
    if (Row->Records == 0 && Row->LastKnown > Row->FirstKnown) {

        //
        // A thread with a tree: when its store was made, and when it is known
        // to have been there last.
        //

        OutputPutNumber(Output, Row->FirstKnown - First);
        OutputPutNumber(Output, Row->LastKnown - First);

    } else if (Row->Records != 0) {
        OutputPutNumber(Output, Row->FirstTimestamp - First);
        OutputPutNumber(Output, Row->LastTimestamp - First);
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    OutputPutNumber(Output, Row->BusyTicks);
    if (WallTicks != 0 && Session->Clock.Kind != TRACE_CLOCK_NONE) {
        OutputPutNumber(Output,
                        CoreMultiplyDivide(Row->BusyTicks, 10000, WallTicks));
    } else {
        OutputPutNothing(Output);
    }

    Waited = Row->WaitedTicks < Row->BusyTicks ? Row->WaitedTicks
                                               : Row->BusyTicks;
    OutputPutNumber(Output, Waited);
    OutputPutNumber(Output, Row->BusyTicks - Waited);
    SessionPutThreadCpu(Output, Session, Thread);
    if (Table->Etl.IsThere) {
        CommandPutThreadStates(Output, Table, Thread);
    }

    OutputPutNumber(Output, Row->MaximumDepth);
    OutputPutNumber(Output, Row->NumberOfStores);
    OutputPutNumber(Output, Row->Bytes);
    OutputPutNumber(Output, Row->Lost);
    if (Row->TopFunction != READER_NONE) {
        Function = &Table->Functions.Functions[Row->TopFunction];
        OutputPutNumber(Output, Row->TopTicks);
        OutputPutText(Output, Function->Name, Function->NameLength);
        OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    SessionQueryThreadName(Session, Thread, &Name, &Length);
    OutputPutText(Output, Name, Length);
}


_Must_inspect_result_
static
NTSTATUS
CommandPutThreads(
    _Inout_ PREADER_THREAD_TABLE Table
    )
{
    PREADER_SESSION Session = &Table->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_OUTPUT Output;
    ULONGLONG WallTicks = CommandQueryWallTicks(Session,
                                                &Table->Range,
                                                Table->Rows);
    ULONGLONG Lost = 0;
    ULONGLONG Waited = 0;
    PULONG Order;
    ULONG When = 0;
    ULONG Count = 0;
    ULONG Index;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Session->NumberOfThreads + 1) * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].Same == Index &&
            READER_IS_THREAD_SELECTED(Table->Options,
                                      Session->Threads[Index].ThreadId)) {
            Lost += Table->Rows[Index].Lost;
            Waited |= Table->Rows[Index].WaitedTicks;
            Order[Count] = Index;
            Count += 1;
        }
    }

    if (Lost != 0) {
        When |= READER_COLUMN_LOST;
    }

    if (Waited != 0) {
        When |= READER_COLUMN_WAITED;
    }

    if (Table->Etl.States.NumberOfSamples != 0) {
        When |= READER_THREAD_SAMPLES;
    }

    BaseSort(Order, Count, CommandCompareThreadRows, Table);
    OutputBeginDocument(&Output,
                        Session->Context->Output,
                        Table->Options->Format,
                        &Session->Clock,
                        "threads",
                        FALSE);
    Output.HasProcesses = Session->NumberOfProcesses > 1;
    FunctionGiveShortNames(&Table->Functions);
    OutputBeginTable(&Output,
                     Table->Etl.IsThere ? &ReaderThreadStateTable
                                        : &ReaderThreadTable,
                     When);
    for (Index = 0; Index < Count && Index < Table->Options->Limit; Index++) {
        CommandPutThreadRow(&Output, Table, Order[Index], WallTicks);
    }

    OutputEndTable(&Output);
    CallPutRangeNote(&Output, Table->Options, 0);
    if (Table->Etl.IsThere && Session->NumberOfSame != 0) {
        OutputPutNote(&Output,
                      "A thread that was attached to again: what it did in "
                      "between is counted, too, but nothing is known of its "
                      "calls then.");
    }

    SumEtlPutNote(&Output, &Table->Etl);
    SessionPutClockNote(&Output, Session);
    OutputEndDocument(&Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


//
// Adds up what the headers of each thread's stores say.
// Table: the command's state, with rows.
//

static
VOID
CommandDescribeThreadStores(
    _Inout_ PREADER_THREAD_TABLE Table
    )
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
        Row->FirstKnown = Session->Threads[Index].FirstTimestamp;
        Row->LastKnown = Session->Threads[Index].LastTimestamp;
        for (Store = Session->Threads[Index].FirstStore;
             Store != READER_NONE;
             Store = Session->Stores[Store]->NextInThread) {

            SessionQueryStoredBytes(Session->Stores[Store], &Bytes, &Lost);
            Row->NumberOfStores += 1;
            Row->Bytes += Bytes;
            if (!SessionIsAside(Session, Session->Stores[Store])) {
                Row->Lost += Lost;
            }
        }
    }
}


//
// Adds the rows of what is the same thread, attached to again.
//

static
VOID
CommandFoldThreads(
    _Inout_ PREADER_THREAD_TABLE Table
    )
{
    PREADER_THREAD_ROW Row;
    PREADER_THREAD_ROW Other;
    ULONG Index;
    ULONG Same;

    for (Index = 0; Index < Table->Session.NumberOfThreads; Index++) {

        Same = Table->Session.Threads[Index].Same;
        if (Same == Index) {
            continue;
        }

        Row = &Table->Rows[Same];
        Other = &Table->Rows[Index];
        if (Other->Records != 0) {
            if (Row->Records == 0 ||
                Other->FirstTimestamp < Row->FirstTimestamp) {
                Row->FirstTimestamp = Other->FirstTimestamp;
            }
            if (Other->LastTimestamp > Row->LastTimestamp) {
                Row->LastTimestamp = Other->LastTimestamp;
            }
        }

        if (Other->FirstKnown < Row->FirstKnown) {
            Row->FirstKnown = Other->FirstKnown;
        }
        if (Other->LastKnown > Row->LastKnown) {
            Row->LastKnown = Other->LastKnown;
        }
        if (Other->MaximumDepth > Row->MaximumDepth) {
            Row->MaximumDepth = Other->MaximumDepth;
        }

        Row->Calls += Other->Calls;
        Row->Records += Other->Records;
        Row->BusyTicks += Other->BusyTicks;
        Row->WaitedTicks += Other->WaitedTicks;
        Row->NumberOfStores += Other->NumberOfStores;
        Row->Bytes += Other->Bytes;
        Row->Lost += Other->Lost;
    }
}


//
// Reads the threads and shows them.
// Table: the command's state, with the session open.
//

static
ULONG
CommandRunThreads(
    _Inout_ PREADER_THREAD_TABLE Table
    )
{
    PREADER_SESSION Session = &Table->Session;
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG ExitCode;
    ULONG Index;
    NTSTATUS Status = STATUS_NO_MEMORY;

    if (!CallBeginWaits(Session, Table->Options) ||
        !CallQueryRange(Session, Table->Options, &Table->Range) ||
        !SumEtlOpen(&Table->Etl, Session, Table->Options)) {
        return READER_EXIT_FAILURE;
    }

    FunctionInitializeFunctions(&Table->Functions, Session);
    Table->Thread = READER_NONE;
    Table->Rows = (PREADER_THREAD_ROW)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Session->NumberOfThreads + 1) * sizeof(READER_THREAD_ROW));
    ExitCode = READER_EXIT_SUCCESS;
    if (Table->Rows != NULL) {

        CommandDescribeThreadStores(Table);
        Table->Walk.Functions = &Table->Functions;
        Table->Walk.Range = &Table->Range;
        Table->Walk.Options = Table->Options;
        Table->Walk.Event = CommandThreadsEvent;
        Table->Walk.Node = CommandThreadsNode;
        Table->Walk.Context = Table;
        ExitCode = CallWalkThreads(&Table->Walk);
        Status = CommandEndThread(Table);
        CommandFoldThreads(Table);
        if (NT_SUCCESS(Status)) {
            Status = CommandPutThreads(Table);
        }
        for (Index = 0; Index < Session->NumberOfThreads; Index++) {
            Allocator->Free(Allocator->Context, Table->Rows[Index].SelfTicks);
        }
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context,
                            "threads",
                            Table->Options->PathUtf8,
                            Status);
    }

    Allocator->Free(Allocator->Context, Table->SelfTicks);
    Allocator->Free(Allocator->Context, Table->Rows);
    FunctionRundownFunctions(&Table->Functions);
    return ExitCode;
}


static
ULONG
CommandThreads(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_THREAD_TABLE Table;
    ULONG ExitCode;

    if (!CommandCheckSortKey(Context, Options, "threads")) {
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Table, sizeof(Table));
    Table.Options = Options;
    if (!CommandBeginCommand(&Table.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    ExitCode = CommandRunThreads(&Table);
    SumEtlClose(&Table.Etl);
    CommandCloseCommandSession(&Table.Session);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderThreadsTables[] = {
    &ReaderThreadStateTable,
    NULL
};

const READER_COMMAND ReaderThreadsCommand = {
    "threads",
    "[PATH]",
    "Shows what each thread did, and for how long",
    "A thread is busy while a call is open on the stack that it runs on:\n"
    "without fibers that is the sum of its outermost calls' times, with\n"
    "those that were abandoned, up to the record that proved it.  The share\n"
    "is of the time from the session's first record to its last one, or of\n"
    "the part of that from --from to --to.  The top function is the one with\n"
    "the most self time.  CPU, stores, bytes and lost are those of the whole\n"
    "session.  --sort total is by busy time, --sort self by top_self.\n"
    READER_WAITS_NOTE
    READER_RANGE_NOTE
    READER_ETL_NOTE
    "Of a thread these are of the time from first to last, without that in\n"
    "which recording was stopped.\n"
    READER_TICKS_NOTE,
    "  TraceReader threads SESSION\n"
    "  TraceReader threads --sort calls --from 2s --to 3s SESSION\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_SORT | READER_OPTION_LIMIT |
        READER_OPTION_THREAD | READER_OPTION_FROM | READER_OPTION_TO |
        READER_OPTION_ETL | READER_OPTION_WAITS |
        READER_OPTIONS_OF_READING,
    CommandThreads,
    ReaderThreadsTables,
    NULL
};
