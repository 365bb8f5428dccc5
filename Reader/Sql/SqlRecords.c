/*++

Module Name:

    SqlRecords.c

Abstract:

    trace_records: the records as they are in the stores, store after store.

    A row is a pointer into what the iterator has at hand, of which as much is
    taken at once as is good and in the range; nothing is looked up that is not
    asked for.

--*/

#include "../Calls/CallIndex.h"
#include "../Session/SessionIterator.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionStoreOpen.h"
#include "../Session/SessionTreeStore.h"
#include "SqlCursor.h"

//
// Bytes of records: to open a thread for its index takes longer than to read a
// few.
//

#define SQL_WORTH_AN_INDEX 0x200000u

typedef enum _SQL_RECORD_COLUMN {
    SqlRecordSession = 0,
    SqlRecordProcessId,
    SqlRecordThreadId,
    SqlRecordThread,
    SqlRecordTime,
    SqlRecordTicks,
    SqlRecordKind,
    SqlRecordFunction,
    SqlRecordModule,
    SqlRecordRva,
    SqlRecordStack,
    SqlRecordPosition
} SQL_RECORD_COLUMN;

static const SQL_COLUMN_ROW SqlRecordColumns[] = {
    { "session", "TEXT", SqlRoleSession, "As in trace_sessions." },
    { "process_id", "INTEGER", SqlRoleNone, "The process's identifier." },
    { "thread_id", "INTEGER", SqlRoleThread, "The thread's identifier." },
    { "thread", "TEXT", SqlRoleNone, "The thread's name; NULL: it has none." },
    { "time", "INTEGER", SqlRoleStart,
      "After the first record of all; NULL without a clock." },
    { "ticks", "INTEGER", SqlRoleNone, "The record's time stamp." },
    { "kind", "TEXT", SqlRoleNone,
      "enter, exit, or gone (a call whose exit hook was jumped to)." },
    { "function", "TEXT", SqlRoleFunction, "The function of the site." },
    { "module", "TEXT", SqlRoleNone, "The module's file name." },
    { "rva", "INTEGER", SqlRoleNone,
      "Where the hook was called, in the module." },
    { "stack", "INTEGER", SqlRoleNone,
      "The stack pointer's low 32 bits, without the last three." },
    { "position", "INTEGER", SqlRoleNone,
      "Of the record in what its store has ever had, bytes." },
    SQL_PATH_COLUMN
};

typedef struct _SQL_RECORDS {
    READER_ITERATOR Iterator;
    BOOLEAN IsIterating;
    PREADER_STORE Store;
    ULONG NextStore;                // index
    ULONGLONG Base;                 // added to time stamps
    ULONGLONG First;                // time stamps: these two of the range
    ULONGLONG Last;
    PCTRACE_RECORD Record;
    ULONG NumberAtHand;             // behind the record, all of them rows
    BOOLEAN IsPast;                 // behind them the range is over
    ULONGLONG PositionAtHand;       // behind the last of them
    ULONGLONG LastSite;             // whose function is LastFunction
    ULONG LastFunction;
    BOOLEAN IsLastAsked;
    BOOLEAN NeedsFunction;
    BOOLEAN IsByIndex;              // rows are counted by indexes: of each
    PREADER_COUNTED Counted;        // store, allocated; and of each thread,
    PBOOLEAN AreKnown;              // whether its stores' are there
    ULONGLONG NumberCounted;        // of this store, still to be counted
} SQL_RECORDS;
typedef SQL_RECORDS *PSQL_RECORDS;

static
NTSTATUS
SqlBeginRecords(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PSQL_WORLD World = Cursor->World;
    PSQL_RECORDS State;

    State = (PSQL_RECORDS)Allocator->Allocate(Allocator->Context,
                                              sizeof(*State));
    if (State == NULL) {
        return STATUS_NO_MEMORY;
    }

    Cursor->State = State;
    State->LastSite = ~0ULL;
    State->LastFunction = READER_NONE;
    State->NeedsFunction = Cursor->Query.NumberOfTests != 0 ||
                           SQL_IS_ASKED(&Cursor->Query, SqlRecordFunction) ||
                           SQL_IS_ASKED(&Cursor->Query, SqlRecordModule);
    State->First = Cursor->Query.From == 0
                       ? 0
                       : CallFindTime(&World->Session.Clock,
                                      World->Range.FirstTimestamp,
                                      (ULONGLONG)Cursor->Query.From);
    State->Last = World->Moment->Horizon;
    if (Cursor->Query.To != MAXLONG64 && SQL_HAS_TIMES(World)) {

        ULONGLONG End = CallFindTime(&World->Session.Clock,
                                     World->Range.FirstTimestamp,
                                     (ULONGLONG)Cursor->Query.To + 1);

        if (End != READER_MAXIMUM_TIMESTAMP && End - 1 < State->Last) {
            State->Last = End - 1;
        }
    }

    if (!Cursor->IsCounting || State->First != 0 ||
        State->Last != READER_MAXIMUM_TIMESTAMP) {
        return STATUS_SUCCESS;
    }

    State->Counted = (PREADER_COUNTED)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)World->Session.NumberOfStores + 1) *
                                sizeof(READER_COUNTED));
    State->AreKnown = (PBOOLEAN)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)World->Session.NumberOfThreads + 1);
    State->IsByIndex = TRUE;
    return State->Counted != NULL && State->AreKnown != NULL
               ? STATUS_SUCCESS
               : STATUS_NO_MEMORY;
}

static
VOID
SqlCloseRecords(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PSQL_RECORDS State = (PSQL_RECORDS)Cursor->State;

    State->NumberAtHand = 0;
    State->NumberCounted = 0;
    State->IsPast = FALSE;
    if (State->IsIterating) {
        SessionRundownIterator(&State->Iterator);
        SessionCloseStore(&Cursor->World->Context, State->Store);
        State->IsIterating = FALSE;
    }
}

static
VOID
SqlEndRecords(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;

    if (Cursor->State != NULL) {
        SqlCloseRecords(Cursor);
        Allocator->Free(Allocator->Context,
                        ((PSQL_RECORDS)Cursor->State)->Counted);
        Allocator->Free(Allocator->Context,
                        ((PSQL_RECORDS)Cursor->State)->AreKnown);
        Allocator->Free(Allocator->Context, Cursor->State);
    }
}

//
// Moves the iterator to the first record that is not before the range: a search
// over positions, of which each look reads one record.
//

static
NTSTATUS
SqlSeekRecords(
    _Inout_ PSQL_CURSOR Cursor,
    _Inout_ PSQL_RECORDS State
    )
{
    PREADER_STORE Store = State->Store;
    ULONGLONG Low = Store->StartOfRecords;
    ULONGLONG High = Store->EndOfRecords;
    ULONGLONG Middle;
    TRACE_RECORD Record;
    ULONG Count;
    NTSTATUS Status;

    while (High - Low > TRACE_RECORD_SIZE) {

        Middle = Low + (High - Low) / 2 / TRACE_RECORD_SIZE *
                           TRACE_RECORD_SIZE;
        Status = SessionReadRecords(&Cursor->World->Context,
                                    Store,
                                    Middle,
                                    &Record,
                                    1,
                                    &Count);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        //
        // Where something is missing or bad, everything is looked at.
        //

        if (Count == 0 || Record.Timestamp == 0) {
            return STATUS_SUCCESS;
        }

        if (Record.Timestamp + State->Base < State->First) {
            Low = Middle;
        } else {
            High = Middle;
        }
    }

    SessionSeekIterator(&State->Iterator, Low, 0);
    return STATUS_SUCCESS;
}

//
// Finds what the index of a thread says of its stores.  One that cannot be
// opened is said to be so when its records are to be read.
//

_Must_inspect_result_
static
NTSTATUS
SqlCountByIndex(
    _Inout_ PSQL_CURSOR Cursor,
    _Inout_ PSQL_RECORDS State,
    _In_ ULONG Thread
    )
{
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;
    PREADER_COUNTED Counted;
    READER_STREAM Stream;
    ULONGLONG NumberOfEntries;
    ULONG Index;
    NTSTATUS Status;

    State->AreKnown[Thread] = TRUE;
    Status = CallOpenStream(&Stream, &Cursor->World->Session, Thread, FALSE);
    if (NT_SUCCESS(Status)) {

        Counted = (PREADER_COUNTED)
            Allocator->Allocate(Allocator->Context,
                                ((SIZE_T)Stream.NumberOfStores + 1) *
                                    sizeof(READER_COUNTED));
        if (Counted == NULL) {
            Status = STATUS_NO_MEMORY;
        } else if (CallCountByIndex(&Stream, Counted, &NumberOfEntries)) {
            for (Index = 0; Index < Stream.NumberOfStores; Index++) {
                State->Counted[Stream.Stores[Index]->Store] = Counted[Index];
            }
        }

        Allocator->Free(Allocator->Context, Counted);
    }

    CallCloseStream(&Stream);
    return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
}

//
// Opens the next store that is asked for.  STATUS_END_OF_FILE: there is none.
//

static
NTSTATUS
SqlOpenRecords(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PSQL_RECORDS State = (PSQL_RECORDS)Cursor->State;
    PREADER_SESSION Session = &Cursor->World->Session;
    PREADER_STORE Store;
    NTSTATUS Status;

    for (;;) {

        if (State->NextStore == Session->NumberOfStores) {
            return STATUS_END_OF_FILE;
        }

        Store = Session->Stores[State->NextStore];
        State->NextStore += 1;
        if (Store->Thread == READER_NONE || Store->IsTree ||
            Store->FirstTimestamp == 0 ||
            !SqlIsThreadAsked(Cursor, Store->Thread)) {
            continue;
        }

        State->Base = Session->Threads[Store->Thread].TimestampBase;
        if (Store->FirstTimestamp + State->Base > State->Last ||
            (!Session->Threads[Store->Thread].IsLive &&
             Store->LastTimestamp + State->Base < State->First)) {
            continue;
        }

        break;
    }

    if (State->IsByIndex && !State->AreKnown[Store->Thread] &&
        Store->EndOfRecords - Store->StartOfRecords >= SQL_WORTH_AN_INDEX) {
        Status = SqlCountByIndex(Cursor, State, Store->Thread);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Status = SessionOpenSessionStore(Session, Store);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    State->Store = Store;
    Status = SessionInitializeIterator(&State->Iterator,
                                       &Cursor->World->Context,
                                       Store);
    if (!NT_SUCCESS(Status)) {
        SessionCloseStore(&Cursor->World->Context, Store);
        return Status;
    }

    State->IsIterating = TRUE;
    if (State->IsByIndex &&
        State->Counted[State->NextStore - 1].NumberOfRecords != 0) {

        PREADER_COUNTED Counted = &State->Counted[State->NextStore - 1];

        State->NumberCounted = Counted->NumberOfRecords;
        SessionSeekIterator(&State->Iterator,
                            Counted->Position,
                            Counted->PreviousTimestamp);
    }

    return State->First != 0 ? SqlSeekRecords(Cursor, State) : STATUS_SUCCESS;
}

//
// Finds the function of the record's site.
//

static
NTSTATUS
SqlFindRecordFunction(
    _Inout_ PSQL_CURSOR Cursor,
    _Inout_ PSQL_RECORDS State
    )
{
    ULONGLONG Site;
    NTSTATUS Status;

    Site = ((ULONGLONG)State->Store->Module << 32) |
           (ULONG)(State->Record->Site - State->Iterator.Check.ModuleBase);
    if (Site != State->LastSite) {

        Status = FunctionFindFunction(&Cursor->World->Functions,
                                      Site,
                                      FALSE,
                                      &State->LastFunction);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        State->LastSite = Site;
        State->IsLastAsked = SqlIsFunctionAsked(
            Cursor,
            &Cursor->World->Functions.Functions[State->LastFunction]);
    }

    return STATUS_SUCCESS;
}

//
// Takes the records that are at hand, as far as they are good: the one that
// Record becomes, and NumberAtHand behind it.  Returns FALSE if none is a row.
//

static
BOOLEAN
SqlTakeRecordsAtHand(
    _Inout_ PSQL_RECORDS State
    )
{
    PREADER_ITERATOR Iterator = &State->Iterator;
    PCTRACE_RECORD Records;
    ULONG First = 0;
    ULONG Number;
    ULONG Count;

    Records = SessionPeekRecords(Iterator, &Count);
    Number = CoreCountValid(&Iterator->Check, Records, Count);
    if (Number == 0) {
        return FALSE;
    }

    SessionSkipRecords(Iterator, Number);
    State->PositionAtHand = SessionQueryPosition(Iterator);
    while (Number != 0 &&
           Records[Number - 1].Timestamp + State->Base > State->Last) {
        Number -= 1;
        State->PositionAtHand -= TRACE_RECORD_SIZE;
        State->IsPast = TRUE;
    }

    while (First < Number &&
           Records[First].Timestamp + State->Base < State->First) {
        First += 1;
    }

    if (First == Number) {
        return FALSE;
    }

    State->Record = &Records[First];
    State->NumberAtHand = Number - First - 1;
    return TRUE;
}

//
// Finds a record that is a row, but for the tests of names.
//

static
NTSTATUS
SqlFindRecord(
    _Inout_ PSQL_CURSOR Cursor,
    _Inout_ PSQL_RECORDS State
    )
{
    ULONGLONG Timestamp;
    NTSTATUS Status;

    for (;;) {

        if (State->IsPast) {
            SqlCloseRecords(Cursor);
        }

        if (!State->IsIterating) {
            Status = SqlOpenRecords(Cursor);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        Status = SqlLookForInterrupt(Cursor->World);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (State->NumberCounted != 0) {
            SqlCountRows(Cursor, &State->NumberCounted);
            return STATUS_SUCCESS;
        }

        if (SqlTakeRecordsAtHand(State)) {
            if (Cursor->IsCounting) {
                Cursor->NumberAlike = State->NumberAtHand;
                State->NumberAtHand = 0;
            }

            return STATUS_SUCCESS;
        }

        //
        // The next one is not at hand, or not good.
        //

        Status = SessionNextRecord(&State->Iterator, &State->Record);
        if (Status == STATUS_END_OF_FILE) {
            SqlCloseRecords(Cursor);
            continue;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Timestamp = State->Record->Timestamp + State->Base;
        if (Timestamp > State->Last) {
            State->IsPast = TRUE;
        } else if (Timestamp >= State->First) {
            State->PositionAtHand = SessionQueryPosition(&State->Iterator);
            return STATUS_SUCCESS;
        }
    }
}

static
NTSTATUS
SqlNextRecordRow(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    PSQL_RECORDS State = (PSQL_RECORDS)Cursor->State;
    NTSTATUS Status;

    for (;;) {

        if (State->NumberAtHand != 0) {
            State->NumberAtHand -= 1;
            State->Record += 1;
        } else {
            Status = SqlFindRecord(Cursor, State);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (!State->NeedsFunction) {
            return STATUS_SUCCESS;
        }

        Status = SqlFindRecordFunction(Cursor, State);
        if (!NT_SUCCESS(Status) || State->IsLastAsked) {
            return Status;
        }
    }
}

static
VOID
SqlPutRecordCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    PSQL_RECORDS State = (PSQL_RECORDS)Cursor->State;
    const READER_SESSION *Session = &Cursor->World->Session;
    PCTRACE_RECORD Record = State->Record;
    ULONG Thread = State->Store->Thread;
    ULONG Process = Session->Threads[Thread].Process;
    ULONG Kind;

    switch ((SQL_RECORD_COLUMN)Column) {

    case SqlRecordSession:
        SqlPutSession(Cursor, Result, Process);
        break;

    case SqlRecordProcessId:
        SqlPutNumber(Cursor,
                     Result,
                     Session->Processes[Process].Header->ProcessId);
        break;

    case SqlRecordThreadId:
        SqlPutNumber(Cursor, Result, Session->Threads[Thread].ThreadId);
        break;

    case SqlRecordThread:
        SqlPutThreadName(Cursor, Result, Thread);
        break;

    case SqlRecordTime:
        SqlPutTime(Cursor, Result, Record->Timestamp + State->Base);
        break;

    case SqlRecordTicks:
        SqlPutNumber(Cursor, Result, Record->Timestamp);
        break;

    case SqlRecordKind:
        Kind = Record->StackKind & TRACE_KIND_MASK;
        SqlPutString(Cursor,
                     Result,
                     Kind == TRACE_KIND_GONE ? "gone"
                     : (Kind & 1) != 0       ? "enter"
                                             : "exit");
        break;

    case SqlRecordFunction:
        SqlPutFunction(Cursor, Result, State->LastFunction);
        break;

    case SqlRecordModule:
        if (State->LastFunction != READER_NONE) {
            SqlPutModule(Cursor, Result, State->LastFunction);
        } else {
            SqlPutNothing(Cursor, Result);
        }
        break;

    case SqlRecordRva:
        SqlPutNumber(Cursor,
                     Result,
                     (ULONG)(Record->Site - State->Iterator.Check.ModuleBase));
        break;

    case SqlRecordStack:
        SqlPutNumber(Cursor, Result, Record->StackKind & ~TRACE_KIND_MASK);
        break;

    case SqlRecordPosition:
        SqlPutNumber(Cursor,
                     Result,
                     State->PositionAtHand -
                         ((ULONGLONG)State->NumberAtHand + 1) *
                             TRACE_RECORD_SIZE);
        break;
    }
}

const SQL_TABLE SqlRecordsTable = {
    "trace_records",
    "A row for each record; sessions of trees have none.",
    SqlRecordColumns,
    RTL_NUMBER_OF(SqlRecordColumns),
    NULL,
    FALSE,
    FALSE,
    20000000.0,
    SqlBeginRecords,
    SqlNextRecordRow,
    SqlPutRecordCell,
    SqlEndRecords
};
