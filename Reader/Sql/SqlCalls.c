/*++

Module Name:

    SqlCalls.c

Abstract:

    trace_calls as a table: the plan of a scan, the order of threads, cells.
    SqlCallThread.c reads a thread.

    Without an order the threads are read one after the other, and a call is a
    row when it ends; or when it begins, if nothing is asked for that only its
    end tells.  In the order of their beginnings the threads are merged.

--*/

#include "../Session/SessionTreeStore.h"
#include "SqlCallThread.h"

typedef enum _SQL_CALL_COLUMN {
    SqlCallSession = 0,
    SqlCallProcessId,
    SqlCallThreadId,
    SqlCallThreadName,
    SqlCallFunction,
    SqlCallModule,
    SqlCallFile,
    SqlCallLine,
    SqlCallStart,
    SqlCallDuration,
    SqlCallSelf,
    SqlCallDepth,
    SqlCallParent,
    SqlCallFiber,
    SqlCallAbandoned,
    SqlCallUnfinished,
    SqlCallUncertain,
    SqlCallBegunBefore,
    SqlCallTailCall,
    SqlCallWaited,
    SqlCallCaller
} SQL_CALL_COLUMN;

#define SQL_BIT(Column) (1ULL << (Column))

#define SQL_COLUMNS_OF_END                                                  \
    (SQL_BIT(SqlCallDuration) | SQL_BIT(SqlCallSelf) |                      \
     SQL_BIT(SqlCallAbandoned) | SQL_BIT(SqlCallUnfinished) |               \
     SQL_BIT(SqlCallUncertain) | SQL_BIT(SqlCallWaited))

//
// What is not known of calls that are taken many at a time.
//

#define SQL_COLUMNS_OF_EVENTS                                               \
    (SQL_BIT(SqlCallSelf) | SQL_BIT(SqlCallParent) |                        \
     SQL_BIT(SqlCallTailCall) | SQL_BIT(SqlCallWaited))

static const SQL_COLUMN_ROW SqlCallColumns[] = {
    { "session", "TEXT", SqlRoleSession, "As in trace_sessions." },
    { "process_id", "INTEGER", SqlRoleNone, "The process's identifier." },
    { "thread_id", "INTEGER", SqlRoleThread, "The thread's identifier." },
    { "thread", "TEXT", SqlRoleNone, "The thread's name; NULL: it has none." },
    { "function", "TEXT", SqlRoleFunction, "The function's full name." },
    { "module", "TEXT", SqlRoleNone, "The module's file name." },
    { "file", "TEXT", SqlRoleNone, "The source file; NULL: it is not known." },
    { "line", "INTEGER", SqlRoleNone, "Where the function begins in it." },
    { "start", "INTEGER", SqlRoleStart,
      "When it was entered, after the first record of all; NULL without a "
      "clock." },
    { "duration", "INTEGER", SqlRoleNone,
      "How long it took, without pauses of recording; up to the record that "
      "told, if it was abandoned or unfinished." },
    { "self", "INTEGER", SqlRoleNone, "Without what it called." },
    { "depth", "INTEGER", SqlRoleNone, "0 is the outermost." },
    { "parent", "TEXT", SqlRoleNone,
      "The function that it was called from; NULL: it is outermost." },
    { "fiber", "INTEGER", SqlRoleNone,
      "0: the thread's own stack; otherwise the number of one of its "
      "fibers." },
    { "abandoned", "INTEGER", SqlRoleNone, "1: it was left without an exit." },
    { "unfinished", "INTEGER", SqlRoleNone,
      "1: it was open at the end of the data." },
    { "uncertain", "INTEGER", SqlRoleNone,
      "1: the clock thread may have stood still during it." },
    { "begun_before", "INTEGER", SqlRoleNone,
      "1: it was open when recording was cleared, which start is then." },
    { "tail_call", "INTEGER", SqlRoleNone,
      "1: the function that ended just before jumped here." },
    { "waited", "INTEGER", SqlRoleNone,
      "Of the duration: inside functions that wait." },
    SQL_CALLER_COLUMN,
    SQL_PATH_COLUMN
};

static
NTSTATUS
SqlBeginCalls(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PSQL_WORLD World = Cursor->World;
    PSQL_CALLS State;
    ULONG Kept = 0;
    ULONG Index;
    NTSTATUS Status;

    State = (PSQL_CALLS)Allocator->Allocate(Allocator->Context,
                                            sizeof(*State));
    if (State == NULL) {
        return STATUS_NO_MEMORY;
    }

    Cursor->State = State;
    World->Functions.AreStubsApart = TRUE;
    if (!SessionRequireCalls(&World->Session, Cursor->Table->Name)) {
        return STATUS_UNSUCCESSFUL;
    }

    SqlInitializeCalls(State,
                       Cursor,
                       World,
                       (Cursor->Query.Columns & SQL_COLUMNS_OF_END) != 0,
                       (Cursor->Query.Columns & SQL_COLUMNS_OF_EVENTS) != 0);

    //
    // The threads in the order of their first records; those that are not asked
    // for are taken out.
    //

    Status = CallBeginMerge(&State->Merge, &World->Options);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < State->Merge.NumberInOrder; Index++) {
        if (SqlIsThreadAsked(Cursor, State->Merge.Order[Index])) {
            State->Merge.Order[Kept] = State->Merge.Order[Index];
            Kept += 1;
        }
    }

    State->Merge.NumberInOrder = Kept;
    return STATUS_SUCCESS;
}

static
VOID
SqlEndCalls(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;

    if (Cursor->State != NULL) {
        SqlRundownCalls((PSQL_CALLS)Cursor->State);
        Allocator->Free(Allocator->Context, Cursor->State);
    }
}

//
// A thread that could not be read ends the scan, with what was said of it.
//

static
NTSTATUS
SqlCheckCalls(
    _In_ const SQL_CALLS *State
    )
{
    if (State->IsCancelled) {
        return STATUS_CANCELLED;
    }

    return State->Merge.ExitCode == READER_EXIT_SUCCESS ? STATUS_SUCCESS
                                                        : STATUS_UNSUCCESSFUL;
}

static
NTSTATUS
SqlNextCall(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PSQL_CALLS State = (PSQL_CALLS)Cursor->State;
    PREADER_MERGE_THREAD Thread;
    NTSTATUS Checked;
    NTSTATUS Status;

    if (State->Thread != NULL) {

        //
        // Without an order a thread's rows do not move it among the others.
        //

        if (State->Thread->IsAtOnce && !Cursor->IsCounting &&
            SqlTakeEnded(State, State->Thread)) {
            return STATUS_SUCCESS;
        }

        Status = SqlAdvanceThread(State, State->Thread);
        State->Thread = NULL;
        CallMoveInMerge(&State->Merge, Status);
    }

    Status = CallFirstInMerge(&State->Merge, &Thread);
    Checked = SqlCheckCalls(State);
    if (!NT_SUCCESS(Checked)) {
        return Checked;
    }

    if (NT_SUCCESS(Status)) {
        State->Thread = (PSQL_CALL_THREAD)Thread;
    }

    return Status;
}

static
VOID
SqlPutCallCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    PSQL_CALLS State = (PSQL_CALLS)Cursor->State;
    const SQL_CALL *Row = &State->Thread->Row;
    ULONG Thread = State->Thread->Merge.Stream.Thread;
    const READER_SESSION *Session = &Cursor->World->Session;
    ULONG Process = Session->Threads[Thread].Process;

    switch ((SQL_CALL_COLUMN)Column) {

    case SqlCallSession:
        SqlPutSession(Cursor, Result, Process);
        break;

    case SqlCallProcessId:
        SqlPutNumber(Cursor,
                     Result,
                     Session->Processes[Process].Header->ProcessId);
        break;

    case SqlCallThreadId:
        SqlPutNumber(Cursor, Result, Session->Threads[Thread].ThreadId);
        break;

    case SqlCallThreadName:
        SqlPutThreadName(Cursor, Result, Thread);
        break;

    case SqlCallFunction:
        SqlPutFunction(Cursor, Result, Row->Function);
        break;

    case SqlCallModule:
        SqlPutModule(Cursor, Result, Row->Function);
        break;

    case SqlCallFile:
    case SqlCallLine:
        SqlPutSource(Cursor, Result, Row->Function, Column == SqlCallLine);
        break;

    case SqlCallStart:
        SqlPutTime(Cursor, Result, Row->Start);
        break;

    case SqlCallDuration:
        SqlPutTicks(Cursor, Result, Row->Duration);
        break;

    case SqlCallSelf:
        SqlPutTicks(Cursor, Result, Row->Self);
        break;

    case SqlCallDepth:
        SqlPutNumber(Cursor, Result, Row->Depth);
        break;

    case SqlCallParent:
        SqlPutFunction(Cursor, Result, Row->Parent);
        break;

    case SqlCallFiber:
        SqlPutNumber(Cursor, Result, Row->Track);
        break;

    case SqlCallAbandoned:
        SqlPutNumber(Cursor, Result, (Row->Flags & SQL_CALL_ABANDONED) != 0);
        break;

    case SqlCallUnfinished:
        SqlPutNumber(Cursor, Result, (Row->Flags & SQL_CALL_UNFINISHED) != 0);
        break;

    case SqlCallUncertain:
        SqlPutNumber(Cursor, Result, (Row->Flags & SQL_CALL_UNCERTAIN) != 0);
        break;

    case SqlCallBegunBefore:
        SqlPutNumber(Cursor,
                     Result,
                     (Row->Flags & SQL_CALL_BEGUN_BEFORE) != 0);
        break;

    case SqlCallTailCall:
        SqlPutNumber(Cursor, Result, (Row->Flags & SQL_CALL_TAIL) != 0);
        break;

    case SqlCallWaited:
        SqlPutTicks(Cursor, Result, Row->Waited);
        break;

    case SqlCallCaller:
        SqlPutCaller(Cursor, Result, Row->Function);
        break;
    }
}

static
LONGLONG
SqlQueryCallTime(
    _In_ PSQL_CURSOR Cursor
    )
{
    PSQL_CALLS State = (PSQL_CALLS)Cursor->State;

    return SQL_HAS_TIMES(Cursor->World)
               ? SqlQueryTime(Cursor->World, State->Thread->Row.Start)
               : MINLONG64;
}

const SQL_TABLE SqlCallsTable = {
    "trace_calls",
    "A row for each call; a session of trees alone has none, which is an "
    "error.",
    SqlCallColumns,
    RTL_NUMBER_OF(SqlCallColumns),
    SqlQueryCallTime,
    FALSE,
    FALSE,
    10000000.0,
    SqlBeginCalls,
    SqlNextCall,
    SqlPutCallCell,
    SqlEndCalls
};
