/*++

Module Name:

    SqlSums.c

Abstract:

    trace_functions and trace_nodes: what report and tree add up.

--*/

#include "../Calls/CallRange.h"
#include "../Sums/SumPaths.h"
#include "../Sums/SumRead.h"
#include "../Sums/SumTally.h"
#include "../Sums/SumTree.h"
#include "SqlCursor.h"

//
// The columns that both have.
//

#define SQL_STATISTICS_COLUMNS                                              \
    { "calls", "INTEGER", SqlRoleNone, "Calls, with those abandoned." },    \
    { "total", "INTEGER", SqlRoleNone,                                      \
      "Their time, with what they called; recursion counts once." },        \
    { "self", "INTEGER", SqlRoleNone, "Without what they called." },        \
    { "average", "INTEGER", SqlRoleNone, "Of the time of a call." },        \
    { "minimum", "INTEGER", SqlRoleNone, "The shortest call." },            \
    { "maximum", "INTEGER", SqlRoleNone, "The longest call." },             \
    { "abandoned", "INTEGER", SqlRoleNone,                                  \
      "Calls that were left without an exit." },                            \
    { "abandoned_time", "INTEGER", SqlRoleNone,                             \
      "Their time, which is not in the total." },                           \
    { "unfinished", "INTEGER", SqlRoleNone,                                 \
      "Calls that were open at the end of the data." },                     \
    { "uncertain", "INTEGER", SqlRoleNone,                                  \
      "Calls during which the clock thread may have stood still." },        \
    { "begun_before", "INTEGER", SqlRoleNone,                               \
      "Calls that began before since, or before the last clear." },         \
    { "waited", "INTEGER", SqlRoleNone,                                     \
      "Of the total: inside functions that wait." }

typedef enum _SQL_STATISTICS_COLUMN {
    SqlSumCalls = 0,
    SqlSumTotal,
    SqlSumSelf,
    SqlSumAverage,
    SqlSumMinimum,
    SqlSumMaximum,
    SqlSumAbandoned,
    SqlSumAbandonedTime,
    SqlSumUnfinished,
    SqlSumUncertain,
    SqlSumBegunBefore,
    SqlSumWaited,
    SqlNumberOfSums
} SQL_STATISTICS_COLUMN;

#define SQL_RANGE_COLUMNS                                                   \
    SQL_PATH_COLUMN,                                                        \
    { "since", "INTEGER HIDDEN", SqlRoleSince,                              \
      "The second argument: a time; calls count from there on, as with "    \
      "--from." },                                                          \
    { "until", "INTEGER HIDDEN", SqlRoleUntil,                              \
      "The third argument: a time; likewise, as with --to." }

static
VOID
SqlPutSum(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ PCREADER_STATISTICS Sum,
    _In_ ULONG Column
    )
{
    switch ((SQL_STATISTICS_COLUMN)Column) {

    case SqlSumCalls:
        SqlPutNumber(Cursor, Result, Sum->Calls);
        break;

    case SqlSumTotal:
        SqlPutTicks(Cursor, Result, Sum->TotalTicks);
        break;

    case SqlSumSelf:
        SqlPutTicks(Cursor, Result, Sum->SelfTicks);
        break;

    case SqlSumAverage:
        SqlPutTicks(Cursor, Result, CoreQueryAverage(Sum));
        break;

    case SqlSumMinimum:
        SqlPutTicks(Cursor, Result, Sum->MinimumTicks);
        break;

    case SqlSumMaximum:
        SqlPutTicks(Cursor, Result, Sum->MaximumTicks);
        break;

    case SqlSumAbandoned:
        SqlPutNumber(Cursor, Result, Sum->Abandoned);
        break;

    case SqlSumAbandonedTime:
        if (Sum->AbandonedInTotal != 0 && Sum->AbandonedTicks == 0) {
            SqlPutNothing(Cursor, Result);
        } else {
            SqlPutTicks(Cursor, Result, Sum->AbandonedTicks);
        }
        break;

    case SqlSumUnfinished:
        SqlPutNumber(Cursor, Result, Sum->Unfinished);
        break;

    case SqlSumUncertain:
        SqlPutNumber(Cursor, Result, Sum->Uncertain);
        break;

    case SqlSumBegunBefore:
        SqlPutNumber(Cursor, Result, Sum->BegunBefore);
        break;

    case SqlSumWaited:
        SqlPutTicks(Cursor,
                    Result,
                    Sum->WaitedTicks < Sum->TotalTicks ? Sum->WaitedTicks
                                                       : Sum->TotalTicks);
        break;

    default:
        SqlPutNothing(Cursor, Result);
        break;
    }
}

//
// The range of a scan: the session's, up to the statement's moment, and between
// since and until.
//

static
VOID
SqlQueryRange(
    _In_ PSQL_CURSOR Cursor,
    _Out_ PREADER_RANGE Range
    )
{
    PSQL_WORLD World = Cursor->World;
    PCCORE_CLOCK Clock = &World->Session.Clock;
    ULONGLONG Time;

    *Range = World->Range;
    if (World->Moment->Horizon < Range->End) {
        Range->End = World->Moment->Horizon;
        Range->IsGiven = TRUE;
    }

    if (!SQL_HAS_TIMES(World)) {
        return;
    }

    if (Cursor->Query.From > 0) {
        Time = CallFindTime(Clock,
                            Range->FirstTimestamp,
                            (ULONGLONG)Cursor->Query.From);
        if (Time > Range->Start) {
            Range->Start = Time;
        }

        Range->IsGiven = TRUE;
        Range->HasTrees = FALSE;
    }

    if (Cursor->Query.To != MAXLONG64) {
        Time = Cursor->Query.To < 0
                   ? 0
                   : CallFindTime(Clock,
                                  Range->FirstTimestamp,
                                  (ULONGLONG)Cursor->Query.To + 1) - 1;
        if (Time < Range->End) {
            Range->End = Time;
        }

        Range->IsGiven = TRUE;
        Range->HasTrees = FALSE;
    }
}

static
VOID
SqlSelectThread(
    _In_ PSQL_CURSOR Cursor
    )
{
    PREADER_OPTIONS Options = &Cursor->World->Options;

    Options->Given &= ~READER_OPTION_THREAD;
    Options->ThreadId = Cursor->Query.ThreadId;
    if (Cursor->Query.HasThread) {
        Options->Given |= READER_OPTION_THREAD;
    }
}

//
// trace_functions.
//

typedef enum _SQL_FUNCTION_COLUMN {
    SqlFunctionSession = 0,
    SqlFunctionProcessId,
    SqlFunctionName,
    SqlFunctionModule,
    SqlFunctionFile,
    SqlFunctionLine,
    SqlFunctionSums,
    SqlFunctionHalf = SqlFunctionSums + SqlNumberOfSums,
    SqlFunctionNine,
    SqlFunctionHundredth,
    SqlFunctionPath,
    SqlFunctionSince,
    SqlFunctionUntil,
    SqlFunctionThreadId
} SQL_FUNCTION_COLUMN;

static const SQL_COLUMN_ROW SqlFunctionColumns[] = {
    { "session", "TEXT", SqlRoleSession, "As in trace_sessions." },
    { "process_id", "INTEGER", SqlRoleNone, "The process's identifier." },
    { "function", "TEXT", SqlRoleFunction, "The function's full name." },
    { "module", "TEXT", SqlRoleNone, "The module's file name." },
    { "file", "TEXT", SqlRoleNone, "The source file; NULL: it is not known." },
    { "line", "INTEGER", SqlRoleNone, "Where the function begins in it." },
    SQL_STATISTICS_COLUMNS,
    { "p50", "INTEGER", SqlRoleNone,
      "Half of the calls took at most as long; NULL for calls in trees." },
    { "p90", "INTEGER", SqlRoleNone, "Likewise nine of ten." },
    { "p99", "INTEGER", SqlRoleNone, "Likewise 99 of 100." },
    SQL_RANGE_COLUMNS,
    { "thread_id", "INTEGER HIDDEN", SqlRoleThread,
      "A thread's identifier: the sums are of that thread alone.  NULL if "
      "none is asked for." }
};

//
// What was added up stays for the cursor's next scan, which a join may ask for
// once for each row of another table.
//

typedef struct _SQL_SUMS {
    READER_RANGE Range;
    LONGLONG From;                  // these up to ThreadId: what it was added
    LONGLONG To;                    // up for
    BOOLEAN HasHistograms;
    BOOLEAN HasThread;
    ULONG ThreadId;
    READER_READING *Readings;       // by process; one without Functions: it was
                                    // not read yet
    PREADER_TALLY Tally;            // of the process; NULL: the next one comes
    ULONG Process;                  // the next one
    ULONG Current;
    ULONG Index;                    // in the tally: the next one
    READER_STATISTICS Statistics;   // the row's
    ULONG Function;
    ULONG InTally;
} SQL_SUMS;
typedef SQL_SUMS *PSQL_SUMS;

static
VOID
SqlEndSums(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PSQL_SUMS State = (PSQL_SUMS)Cursor->State;
    ULONG Index;

    if (State == NULL) {
        return;
    }

    for (Index = 0;
         State->Readings != NULL &&
             Index < Cursor->World->Session.NumberOfProcesses;
         Index++) {
        SumRundownReading(&State->Readings[Index]);
    }

    Allocator->Free(Allocator->Context, State->Readings);
    Allocator->Free(Allocator->Context, State);
    Cursor->State = NULL;
}

static
NTSTATUS
SqlBeginSums(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PCSQL_QUERY Query = &Cursor->Query;
    PSQL_SUMS State = (PSQL_SUMS)Cursor->State;
    BOOLEAN HasHistograms = SQL_IS_ASKED(Query, SqlFunctionHalf) ||
                            SQL_IS_ASKED(Query, SqlFunctionNine) ||
                            SQL_IS_ASKED(Query, SqlFunctionHundredth);

    if (State != NULL && State->From == Query->From &&
        State->To == Query->To && State->HasHistograms == HasHistograms &&
        State->HasThread == Query->HasThread &&
        State->ThreadId == Query->ThreadId) {

        State->Process = 0;
        State->Tally = NULL;
        return STATUS_SUCCESS;
    }

    SqlEndSums(Cursor);
    State = (PSQL_SUMS)Allocator->Allocate(Allocator->Context,
                                           sizeof(*State));
    if (State == NULL) {
        return STATUS_NO_MEMORY;
    }

    Cursor->State = State;
    State->Readings = (READER_READING *)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Cursor->World->Session
                                 .NumberOfProcesses + 1) *
                                sizeof(READER_READING));
    if (State->Readings == NULL) {
        return STATUS_NO_MEMORY;
    }

    State->From = Query->From;
    State->To = Query->To;
    State->HasHistograms = HasHistograms;
    State->HasThread = Query->HasThread;
    State->ThreadId = Query->ThreadId;
    SqlQueryRange(Cursor, &State->Range);
    return STATUS_SUCCESS;
}

//
// Reads the next process, unless that was done.
//

static
NTSTATUS
SqlReadSums(
    _Inout_ PSQL_CURSOR Cursor,
    _Inout_ PSQL_SUMS State
    )
{
    PSQL_WORLD World = Cursor->World;
    PREADER_READING Reading;
    NTSTATUS Status;

    while (State->Process < World->Session.NumberOfProcesses &&
           !SqlIsProcessAsked(Cursor, State->Process)) {
        State->Process += 1;
    }

    if (State->Process >= World->Session.NumberOfProcesses) {
        return STATUS_END_OF_FILE;
    }

    State->Current = State->Process;
    State->Process += 1;
    State->Index = 0;
    Reading = &State->Readings[State->Current];
    if (Reading->Functions != NULL) {
        State->Tally = &Reading->Tallies[0];
        return STATUS_SUCCESS;
    }

    SqlSelectThread(Cursor);
    Reading->Functions = &World->Functions;
    Reading->Options = &World->Options;
    Reading->Range = &State->Range;
    Reading->Process = State->Current;
    Reading->Read = SumTallyThreadOfReading;
    Reading->Context = Reading;
    Status = SumInitializeReading(Reading);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Reading->Tallies[0].HasHistograms = State->HasHistograms;
    Reading->Tallies[0].IsNotingCallers = TRUE;
    State->Tally = &Reading->Tallies[0];
    return SumReadThreads(Reading) == READER_EXIT_SUCCESS
               ? STATUS_SUCCESS
               : STATUS_UNSUCCESSFUL;
}

static
NTSTATUS
SqlNextSum(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PSQL_SUMS State = (PSQL_SUMS)Cursor->State;
    PREADER_TALLY Tally;
    NTSTATUS Status;

    for (;;) {

        if (State->Tally == NULL ||
            State->Index == State->Tally->NumberOfFunctions) {
            Status = SqlReadSums(Cursor, State);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
            continue;
        }

        Tally = State->Tally;
        State->InTally = State->Index;
        State->Index += 1;
        State->Function = Tally->List[State->InTally].Function;
        if (!SqlIsFunctionAsked(
                Cursor,
                &Cursor->World->Functions.Functions[State->Function])) {
            continue;
        }

        RtlZeroBytes(&State->Statistics, sizeof(State->Statistics));
        SumMergeStatistics(&State->Statistics, Tally, State->InTally);
        if (State->Statistics.Calls != 0) {
            return STATUS_SUCCESS;
        }
    }
}

static
VOID
SqlPutPercentile(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Share
    )
{
    PSQL_SUMS State = (PSQL_SUMS)Cursor->State;
    PREADER_TALLY Tally = State->Tally;

    if (Tally->Histograms == NULL || State->Statistics.InTrees != 0 ||
        State->Statistics.Calls == State->Statistics.Abandoned) {
        SqlPutNothing(Cursor, Result);
    } else {
        SqlPutTicks(Cursor,
                    Result,
                    CoreQueryPercentile(&Tally->Histograms[State->InTally],
                                        Share,
                                        State->Statistics.MaximumTicks));
    }
}

static
VOID
SqlPutFunctionCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    PSQL_SUMS State = (PSQL_SUMS)Cursor->State;
    const READER_SESSION *Session = &Cursor->World->Session;

    switch (Column) {

    case SqlFunctionSession:
        SqlPutSession(Cursor, Result, State->Current);
        break;

    case SqlFunctionProcessId:
        SqlPutNumber(Cursor,
                     Result,
                     Session->Processes[State->Current].Header->ProcessId);
        break;

    case SqlFunctionName:
        SqlPutFunction(Cursor, Result, State->Function);
        break;

    case SqlFunctionModule:
        SqlPutModule(Cursor, Result, State->Function);
        break;

    case SqlFunctionFile:
    case SqlFunctionLine:
        SqlPutSource(Cursor,
                     Result,
                     State->Function,
                     Column == SqlFunctionLine);
        break;

    case SqlFunctionHalf:
        SqlPutPercentile(Cursor, Result, 500);
        break;

    case SqlFunctionNine:
        SqlPutPercentile(Cursor, Result, 900);
        break;

    case SqlFunctionHundredth:
        SqlPutPercentile(Cursor, Result, 990);
        break;

    case SqlFunctionThreadId:
        if (Cursor->Query.HasThread) {
            SqlPutNumber(Cursor, Result, Cursor->Query.ThreadId);
        } else {
            SqlPutNothing(Cursor, Result);
        }
        break;

    default:
        SqlPutSum(Cursor,
                  Result,
                  &State->Statistics,
                  Column - SqlFunctionSums);
        break;
    }
}

const SQL_TABLE SqlFunctionsTable = {
    "trace_functions",
    "A row for each function of each process: what report adds up.",
    SqlFunctionColumns,
    RTL_NUMBER_OF(SqlFunctionColumns),
    NULL,
    TRUE,
    FALSE,
    100000.0,
    SqlBeginSums,
    SqlNextSum,
    SqlPutFunctionCell,
    SqlEndSums
};

//
// trace_nodes.
//

typedef enum _SQL_NODE_COLUMN {
    SqlNodeSession = 0,
    SqlNodeProcessId,
    SqlNodeThreadId,
    SqlNodeThread,
    SqlNodeFiber,
    SqlNodeNumber,
    SqlNodeParent,
    SqlNodeDepth,
    SqlNodeFunction,
    SqlNodeModule,
    SqlNodeFile,
    SqlNodeLine,
    SqlNodeSums,
    SqlNodeCaller = SqlNodeSums + SqlNumberOfSums
} SQL_NODE_COLUMN;

static const SQL_COLUMN_ROW SqlNodeColumns[] = {
    { "session", "TEXT", SqlRoleSession, "As in trace_sessions." },
    { "process_id", "INTEGER", SqlRoleNone, "The process's identifier." },
    { "thread_id", "INTEGER", SqlRoleThread, "The thread's identifier." },
    { "thread", "TEXT", SqlRoleNone, "The thread's name; NULL: it has none." },
    { "fiber", "INTEGER", SqlRoleNone,
      "0: the thread's own stack; otherwise the number of one of its "
      "fibers." },
    { "node", "INTEGER", SqlRoleNone, "The node's number, in this scan." },
    { "parent", "INTEGER", SqlRoleNone,
      "That of the node above; NULL: it is outermost." },
    { "depth", "INTEGER", SqlRoleNone, "0 is the outermost." },
    { "function", "TEXT", SqlRoleFunction, "The function's full name." },
    { "module", "TEXT", SqlRoleNone, "The module's file name." },
    { "file", "TEXT", SqlRoleNone, "The source file; NULL: it is not known." },
    { "line", "INTEGER", SqlRoleNone, "Where the function begins in it." },
    SQL_STATISTICS_COLUMNS,
    SQL_CALLER_COLUMN,
    SQL_RANGE_COLUMNS
};

typedef struct _SQL_NODES {
    READER_RANGE Range;
    LONGLONG From;                  // these up to ThreadId: what it was added
    LONGLONG To;                    // up for
    BOOLEAN HasThread;
    ULONG ThreadId;
    READER_TREE Tree;
    BOOLEAN IsMade;
    PULONG Tracks;                  // by node: whose it is; READER_NONE: a
                                    // track's or the root
} SQL_NODES;
typedef SQL_NODES *PSQL_NODES;

//
// Finds whose each node is: a parent has a lesser number than its children.
//

static
NTSTATUS
SqlFindTracks(
    _In_ PSQL_CURSOR Cursor,
    _Inout_ PSQL_NODES State
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    const READER_TREE *Tree = &State->Tree;
    ULONG Node;

    State->Tracks = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Tree->NumberOfNodes + 1) *
                                sizeof(ULONG));
    if (State->Tracks == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Node = 0; Node < Tree->NumberOfNodes; Node++) {

        if (Tree->Nodes[Node].Function == READER_NONE) {
            State->Tracks[Node] =
                Node == READER_ROOT_NODE ? READER_NONE
                                         : Tree->Nodes[Node].Depth;
        } else {
            State->Tracks[Node] = State->Tracks[Tree->Nodes[Node].Parent];
        }
    }

    return STATUS_SUCCESS;
}

static
VOID
SqlEndNodes(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PSQL_NODES State = (PSQL_NODES)Cursor->State;

    if (State != NULL) {
        if (State->IsMade) {
            SumRundownTree(&State->Tree);
        }

        Allocator->Free(Allocator->Context, State->Tracks);
        Allocator->Free(Allocator->Context, State);
        Cursor->State = NULL;
    }
}

static
NTSTATUS
SqlBeginNodes(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PCSQL_QUERY Query = &Cursor->Query;
    PSQL_NODES State = (PSQL_NODES)Cursor->State;
    ULONG ExitCode;

    if (State != NULL && State->From == Query->From &&
        State->To == Query->To && State->HasThread == Query->HasThread &&
        State->ThreadId == Query->ThreadId) {
        return STATUS_SUCCESS;
    }

    SqlEndNodes(Cursor);
    State = (PSQL_NODES)Allocator->Allocate(Allocator->Context,
                                            sizeof(*State));
    if (State == NULL) {
        return STATUS_NO_MEMORY;
    }

    Cursor->State = State;
    State->From = Query->From;
    State->To = Query->To;
    State->HasThread = Query->HasThread;
    State->ThreadId = Query->ThreadId;
    SqlQueryRange(Cursor, &State->Range);
    SqlSelectThread(Cursor);
    Cursor->World->Functions.AreStubsApart = TRUE;
    SumInitializeTree(&State->Tree,
                      &Cursor->World->Functions,
                      &State->Range,
                      READER_NONE,
                      TRUE);
    State->IsMade = TRUE;
    ExitCode = SumBuildTree(&State->Tree, &Cursor->World->Options);
    if (ExitCode != READER_EXIT_SUCCESS) {
        return STATUS_UNSUCCESSFUL;
    }

    return SqlFindTracks(Cursor, State);
}

static
NTSTATUS
SqlNextNode(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PSQL_NODES State = (PSQL_NODES)Cursor->State;
    const READER_NODE *Node;

    while (Cursor->NextItem < State->Tree.NumberOfNodes) {

        Cursor->Item = Cursor->NextItem;
        Cursor->NextItem += 1;
        Node = &State->Tree.Nodes[Cursor->Item];
        if (Node->Function != READER_NONE &&
            SqlIsProcessAsked(
                Cursor,
                State->Tree.Tracks[State->Tracks[Cursor->Item]].Process) &&
            SqlIsFunctionAsked(
                Cursor,
                &Cursor->World->Functions.Functions[Node->Function])) {
            return STATUS_SUCCESS;
        }
    }

    return STATUS_END_OF_FILE;
}

static
VOID
SqlPutNodeThread(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ const READER_TRACK *Track
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].ThreadId == Track->ThreadId &&
            Session->Threads[Index].Process == Track->Process) {
            SqlPutThreadName(Cursor, Result, Index);
            return;
        }
    }

    SqlPutNothing(Cursor, Result);
}

static
VOID
SqlPutNodeCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    PSQL_NODES State = (PSQL_NODES)Cursor->State;
    const READER_NODE *Node = &State->Tree.Nodes[Cursor->Item];
    const READER_TRACK *Track =
        &State->Tree.Tracks[State->Tracks[Cursor->Item]];
    const READER_SESSION *Session = &Cursor->World->Session;

    switch (Column) {

    case SqlNodeSession:
        SqlPutSession(Cursor, Result, Track->Process);
        break;

    case SqlNodeProcessId:
        SqlPutNumber(Cursor,
                     Result,
                     Session->Processes[Track->Process].Header->ProcessId);
        break;

    case SqlNodeThreadId:
        SqlPutNumber(Cursor, Result, Track->ThreadId);
        break;

    case SqlNodeThread:
        SqlPutNodeThread(Cursor, Result, Track);
        break;

    case SqlNodeFiber:
        SqlPutNumber(Cursor, Result, Track->Fiber);
        break;

    case SqlNodeNumber:
        SqlPutNumber(Cursor, Result, Cursor->Item);
        break;

    case SqlNodeParent:
        if (Node->Depth == 0) {
            SqlPutNothing(Cursor, Result);
        } else {
            SqlPutNumber(Cursor, Result, Node->Parent);
        }
        break;

    case SqlNodeDepth:
        SqlPutNumber(Cursor, Result, Node->Depth);
        break;

    case SqlNodeFunction:
        SqlPutFunction(Cursor, Result, Node->Function);
        break;

    case SqlNodeModule:
        SqlPutModule(Cursor, Result, Node->Function);
        break;

    case SqlNodeFile:
    case SqlNodeLine:
        SqlPutSource(Cursor, Result, Node->Function, Column == SqlNodeLine);
        break;

    case SqlNodeCaller:
        SqlPutCaller(Cursor, Result, Node->Function);
        break;

    default:
        SqlPutSum(Cursor, Result, &Node->Statistics, Column - SqlNodeSums);
        break;
    }
}

const SQL_TABLE SqlNodesTable = {
    "trace_nodes",
    "A row for each chain of calls of each thread: what tree shows.",
    SqlNodeColumns,
    RTL_NUMBER_OF(SqlNodeColumns),
    NULL,
    TRUE,
    FALSE,
    100000.0,
    SqlBeginNodes,
    SqlNextNode,
    SqlPutNodeCell,
    SqlEndNodes
};
