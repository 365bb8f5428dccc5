/*++

Module Name:

    SqlLists.c

Abstract:

    trace_sessions, trace_threads, trace_modules and trace_marks: what is known
    of a session without reading its records.

--*/

#include "../Base/BaseZone.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionName.h"
#include "SqlCursor.h"

#define SQL_DATE_BYTES 48

//
// FILETIME, 1970.
//

#define SQL_EPOCH_1970 116444736000000000ULL

static
NTSTATUS
SqlBeginList(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    UNREFERENCED_PARAMETER(Cursor);

    return STATUS_SUCCESS;
}

static
VOID
SqlEndList(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    UNREFERENCED_PARAMETER(Cursor);
}

//
// trace_sessions.
//

typedef enum _SQL_SESSION_COLUMN {
    SqlSessionName = 0,
    SqlSessionProcessId,
    SqlSessionProgram,
    SqlSessionImage,
    SqlSessionCommandLine,
    SqlSessionState,
    SqlSessionExitCode,
    SqlSessionMode,
    SqlSessionClock,
    SqlSessionUnit,
    SqlSessionStarted,
    SqlSessionBegin,
    SqlSessionEnd,
    SqlSessionThreads,
    SqlSessionRecords,
    SqlSessionDamaged,
    SqlSessionBoot,
    SqlSessionEpoch
} SQL_SESSION_COLUMN;

static const SQL_COLUMN_ROW SqlSessionColumns[] = {
    { "session", "TEXT", SqlRoleSession,
      "The name of the session's directory, without its path." },
    { "process_id", "INTEGER", SqlRoleNone, "The process's identifier." },
    { "program", "TEXT", SqlRoleNone,
      "The process's image, without its path." },
    { "image", "TEXT", SqlRoleNone, "The process's image." },
    { "command_line", "TEXT", SqlRoleNone, "Its command line." },
    { "state", "TEXT", SqlRoleNone,
      "open, closed, stopped, ended or died, as info says it." },
    { "exit_code", "INTEGER", SqlRoleNone, "NULL: it is not known." },
    { "mode", "TEXT", SqlRoleNone,
      "What its stores hold: record, ring, compact, tree, or several of "
      "these." },
    { "clock", "TEXT", SqlRoleNone,
      "tsc, thread (times are those of a clock thread) or none." },
    { "time_unit", "TEXT", SqlRoleNone,
      "What all times of the session are in: ns, or ticks where the rate of "
      "the counter is not known." },
    { "started", "TEXT", SqlRoleNone,
      "When its first record was made: date and time of day, UTC." },
    { "first", "INTEGER", SqlRoleNone,
      "The time of its first record, after the first one of all." },
    { "last", "INTEGER", SqlRoleNone, "The time of its last record." },
    { "threads", "INTEGER", SqlRoleNone, "Threads that have a store." },
    { "records", "INTEGER", SqlRoleNone,
      "Records in its stores, with bad ones; those of trees have none." },
    { "damaged", "INTEGER", SqlRoleNone,
      "Stores of which nothing can be read, and is in other tables: "
      "trace_problems says why." },
    { "boot", "INTEGER", SqlRoleNone,
      "Sessions with the same number ran on the same boot of a machine: their "
      "times are of one clock." },
    { "epoch", "INTEGER", SqlRoleNone,
      "Nanoseconds from 1970, UTC, to its boot's time 0: times of several "
      "boots compare when this is added; NULL: it is not known." },
    SQL_PATH_COLUMN
};

//
// Finds when a process's threads have their first and last records; 0: it has
// none.  Those that began after the moment do not count.
//

static
VOID
SqlFindEnds(
    _In_ const SQL_WORLD *World,
    _In_ ULONG Process,
    _Out_ PULONGLONG First,
    _Out_ PULONGLONG Last,
    _Out_ PULONG NumberOfThreads
    )
{
    const READER_SESSION *Session = &World->Session;
    const READER_THREAD *Thread;
    ULONG Index;

    *First = 0;
    *Last = 0;
    *NumberOfThreads = 0;
    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        Thread = &Session->Threads[Index];
        if (Thread->Process != Process ||
            Thread->FirstTimestamp > World->Moment->Horizon) {
            continue;
        }

        *NumberOfThreads += 1;
        if (Thread->FirstTimestamp != 0 &&
            (*First == 0 || Thread->FirstTimestamp < *First)) {
            *First = Thread->FirstTimestamp;
        }

        if (Thread->LastTimestamp > *Last) {
            *Last = Thread->LastTimestamp;
        }
    }
}

//
// How many records a store has.
//

static
ULONGLONG
SqlCountRecords(
    _In_ PCREADER_STORE Store
    )
{
    if (Store->Header == NULL || Store->IsTree ||
        Store->EndOfRecords < Store->StartOfRecords) {
        return 0;
    }

    return (Store->EndOfRecords - Store->StartOfRecords) / TRACE_RECORD_SIZE;
}

static
VOID
SqlPutMode(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Process
    )
{
    static const PCSZ Names[] = { "record", "ring", "compact", "tree" };
    const READER_SESSION *Session = &Cursor->World->Session;
    RTL_WRITER Writer;
    CHAR Text[48];
    ULONG Kinds = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE && Store->Header != NULL &&
            Session->Directories[Store->Directory].Process == Process) {

            Kinds |= Store->IsTree                          ? 8
                     : READER_IS_STORE_COMPACT(Store)       ? 4
                     : Store->Header->RingSizeInBytes != 0  ? 2
                                                            : 1;
        }
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    for (Index = 0; Index < RTL_NUMBER_OF(Names); Index++) {
        if ((Kinds & (1u << Index)) != 0) {
            RtlWriteText(&Writer,
                         "%s%s",
                         Writer.LengthInBytes != 0 ? "," : "",
                         Names[Index]);
        }
    }

    SqlPutText(Cursor, Result, Text, Writer.LengthInBytes);
}

//
// Counts a process's records, or the stores that cannot be read.
//

static
ULONGLONG
SqlCountInStores(
    _In_ const SQL_WORLD *World,
    _In_ ULONG Process,
    _In_ BOOLEAN IsDamage
    )
{
    const READER_SESSION *Session = &World->Session;
    ULONGLONG Count = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Session->Directories[Store->Directory].Process != Process) {
            continue;
        }

        if (!IsDamage) {
            if (Store->Thread != READER_NONE &&
                Session->Threads[Store->Thread].FirstTimestamp <=
                    World->Moment->Horizon) {
                Count += SqlCountRecords(Store);
            }
        } else if (SqlHasProblem(World, Store) &&
                   Store->Thread == READER_NONE) {
            Count += 1;
        }
    }

    return Count;
}

static
NTSTATUS
SqlNextSession(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;
    ULONGLONG First;
    ULONGLONG Last;
    ULONG Threads;

    //
    // A process that began after the moment has threads, but none before it.
    //

    while (Cursor->NextItem < Session->NumberOfProcesses) {
        Cursor->Item = Cursor->NextItem;
        Cursor->NextItem += 1;
        SqlFindEnds(Cursor->World, Cursor->Item, &First, &Last, &Threads);
        if (SqlIsProcessAsked(Cursor, Cursor->Item) &&
            (Threads != 0 ||
             Cursor->World->Moment->Horizon == READER_MAXIMUM_TIMESTAMP)) {
            return STATUS_SUCCESS;
        }
    }

    return STATUS_END_OF_FILE;
}

static
VOID
SqlPutStarted(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONGLONG First
    )
{
    RTL_WRITER Writer;
    CHAR Text[SQL_DATE_BYTES];
    ULONGLONG Time;

    Time = CoreTimestampToSystemTime(&Cursor->World->Session.Clock, First);
    if (First == 0 || Time == 0) {
        SqlPutNothing(Cursor, Result);
        return;
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    BaseWriteDay(&Writer, Time * 100);
    RtlWriteText(&Writer, " ");
    BaseWriteClock(&Writer, Time * 100);
    SqlPutText(Cursor, Result, Text, Writer.LengthInBytes);
}

static
VOID
SqlPutEpoch(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result
    )
{
    PSQL_WORLD World = Cursor->World;
    ULONGLONG Time;

    Time = CoreTimestampToSystemTime(&World->Session.Clock,
                                     World->Range.FirstTimestamp);
    if (Time <= SQL_EPOCH_1970 || World->Session.Clock.Ticks == 0) {
        SqlPutNothing(Cursor, Result);
    } else {
        SqlPutNumber(Cursor, Result, (Time - SQL_EPOCH_1970) * 100);
    }
}

static
VOID
SqlPutSessionCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;
    PCREADER_PROCESS Process = &Session->Processes[Cursor->Item];
    PREADER_STORE Because;
    ULONGLONG First;
    ULONGLONG Last;
    ULONG Threads;

    SqlFindEnds(Cursor->World, Cursor->Item, &First, &Last, &Threads);
    switch ((SQL_SESSION_COLUMN)Column) {

    case SqlSessionName:
        SqlPutSession(Cursor, Result, Cursor->Item);
        break;

    case SqlSessionProcessId:
        SqlPutNumber(Cursor, Result, Process->Header->ProcessId);
        break;

    case SqlSessionProgram:
        SqlPutText(Cursor, Result, Process->Name, Process->NameLength);
        break;

    case SqlSessionImage:
        SqlPutText(Cursor,
                   Result,
                   Process->Header->ProcessPath,
                   Process->Header->ProcessPathLength);
        break;

    case SqlSessionCommandLine:
        SqlPutText(Cursor,
                   Result,
                   Process->Header->CommandLine,
                   Process->Header->CommandLineLength);
        break;

    case SqlSessionState:
        SqlPutString(Cursor,
                     Result,
                     SessionDescribeProcessState(Session,
                                                 Cursor->Item,
                                                 &Because));
        break;

    case SqlSessionExitCode:
        if (Process->IsExitKnown) {
            SqlPutNumber(Cursor, Result, Process->ExitCode);
        } else {
            SqlPutNothing(Cursor, Result);
        }
        break;

    case SqlSessionMode:
        SqlPutMode(Cursor, Result, Cursor->Item);
        break;

    case SqlSessionClock:
        SqlPutString(Cursor, Result, OutputDescribeClock(&Session->Clock));
        break;

    case SqlSessionUnit:
        SqlPutString(Cursor,
                     Result,
                     Session->Clock.Ticks != 0 ? "ns" : "ticks");
        break;

    case SqlSessionStarted:
        SqlPutStarted(Cursor, Result, First);
        break;

    case SqlSessionBegin:
        SqlPutTime(Cursor, Result, First);
        break;

    case SqlSessionEnd:
        SqlPutTime(Cursor, Result, Last);
        break;

    case SqlSessionThreads:
        SqlPutNumber(Cursor, Result, Threads);
        break;

    case SqlSessionRecords:
        SqlPutNumber(Cursor,
                     Result,
                     SqlCountInStores(Cursor->World, Cursor->Item, FALSE));
        break;

    case SqlSessionDamaged:
        SqlPutNumber(Cursor,
                     Result,
                     SqlCountInStores(Cursor->World, Cursor->Item, TRUE));
        break;

    case SqlSessionBoot:
        SqlPutNumber(Cursor, Result, Cursor->World->Boot + 1);
        break;

    case SqlSessionEpoch:
        SqlPutEpoch(Cursor, Result);
        break;
    }
}

const SQL_TABLE SqlSessionsTable = {
    "trace_sessions",
    "A row for each traced process.",
    SqlSessionColumns,
    RTL_NUMBER_OF(SqlSessionColumns),
    NULL,
    FALSE,
    TRUE,
    10.0,
    SqlBeginList,
    SqlNextSession,
    SqlPutSessionCell,
    SqlEndList
};

//
// trace_threads.
//

typedef enum _SQL_THREAD_COLUMN {
    SqlThreadSession = 0,
    SqlThreadProcessId,
    SqlThreadIdentifier,
    SqlThreadName,
    SqlThreadFirst,
    SqlThreadLast,
    SqlThreadRecords,
    SqlThreadIsOpen
} SQL_THREAD_COLUMN;

static const SQL_COLUMN_ROW SqlThreadColumns[] = {
    { "session", "TEXT", SqlRoleSession, "As in trace_sessions." },
    { "process_id", "INTEGER", SqlRoleNone, "The process's identifier." },
    { "thread_id", "INTEGER", SqlRoleThread, "The thread's identifier." },
    { "thread", "TEXT", SqlRoleNone, "The thread's name; NULL: it has none." },
    { "first", "INTEGER", SqlRoleNone, "The time of its first record." },
    { "last", "INTEGER", SqlRoleNone, "The time of its last record." },
    { "records", "INTEGER", SqlRoleNone,
      "Records in its stores, with bad ones." },
    { "is_open", "INTEGER", SqlRoleNone,
      "1: one of its stores has not been closed." },
    SQL_PATH_COLUMN
};

static
NTSTATUS
SqlNextThread(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;

    while (Cursor->NextItem < Session->NumberOfThreads) {
        Cursor->Item = Cursor->NextItem;
        Cursor->NextItem += 1;
        if (SqlIsThreadAsked(Cursor, Cursor->Item)) {
            return STATUS_SUCCESS;
        }
    }

    return STATUS_END_OF_FILE;
}

static
VOID
SqlPutThreadCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;
    const READER_THREAD *Thread = &Session->Threads[Cursor->Item];
    ULONGLONG Records = 0;
    ULONG Store;

    switch ((SQL_THREAD_COLUMN)Column) {

    case SqlThreadSession:
        SqlPutSession(Cursor, Result, Thread->Process);
        break;

    case SqlThreadProcessId:
        SqlPutNumber(Cursor,
                     Result,
                     Session->Processes[Thread->Process].Header->ProcessId);
        break;

    case SqlThreadIdentifier:
        SqlPutNumber(Cursor, Result, Thread->ThreadId);
        break;

    case SqlThreadName:
        SqlPutThreadName(Cursor, Result, Cursor->Item);
        break;

    case SqlThreadFirst:
        SqlPutTime(Cursor, Result, Thread->FirstTimestamp);
        break;

    case SqlThreadLast:
        SqlPutTime(Cursor, Result, Thread->LastTimestamp);
        break;

    case SqlThreadRecords:
        for (Store = Thread->FirstStore;
             Store != READER_NONE;
             Store = Session->Stores[Store]->NextInThread) {
            Records += SqlCountRecords(Session->Stores[Store]);
        }
        SqlPutNumber(Cursor, Result, Records);
        break;

    case SqlThreadIsOpen:
        SqlPutNumber(Cursor, Result, Thread->IsLive);
        break;
    }
}

const SQL_TABLE SqlThreadsTable = {
    "trace_threads",
    "A row for each thread.",
    SqlThreadColumns,
    RTL_NUMBER_OF(SqlThreadColumns),
    NULL,
    FALSE,
    FALSE,
    100.0,
    SqlBeginList,
    SqlNextThread,
    SqlPutThreadCell,
    SqlEndList
};

//
// trace_modules.
//

typedef enum _SQL_MODULE_COLUMN {
    SqlModuleName = 0,
    SqlModuleImage,
    SqlModuleBase,
    SqlModuleSize,
    SqlModuleTimeStamp
} SQL_MODULE_COLUMN;

static const SQL_COLUMN_ROW SqlModuleColumns[] = {
    { "module", "TEXT", SqlRoleNone, "The module's file name." },
    { "image", "TEXT", SqlRoleNone, "Its path." },
    { "base", "INTEGER", SqlRoleNone, "Where it was loaded." },
    { "size", "INTEGER", SqlRoleNone, "Bytes of it in memory." },
    { "time_stamp", "INTEGER", SqlRoleNone, "Of its file header." },
    SQL_PATH_COLUMN
};

static
NTSTATUS
SqlNextModule(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    if (Cursor->NextItem >= Cursor->World->Session.NumberOfModules) {
        return STATUS_END_OF_FILE;
    }

    Cursor->Item = Cursor->NextItem;
    Cursor->NextItem += 1;
    return STATUS_SUCCESS;
}

static
VOID
SqlPutModuleCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    const READER_MODULE *Module =
        Cursor->World->Session.Modules[Cursor->Item];

    switch ((SQL_MODULE_COLUMN)Column) {

    case SqlModuleName:
        SqlPutText(Cursor, Result, Module->Name, Module->NameLength);
        break;

    case SqlModuleImage:
        SqlPutText(Cursor,
                   Result,
                   Module->Header->ModulePath,
                   Module->Header->ModulePathLength);
        break;

    case SqlModuleBase:
        SqlPutNumber(Cursor, Result, Module->Header->ModuleBase);
        break;

    case SqlModuleSize:
        SqlPutNumber(Cursor, Result, Module->Header->ModuleSize);
        break;

    case SqlModuleTimeStamp:
        SqlPutNumber(Cursor, Result, Module->Header->ModuleTimeDateStamp);
        break;
    }
}

const SQL_TABLE SqlModulesTable = {
    "trace_modules",
    "A row for each module that records.",
    SqlModuleColumns,
    RTL_NUMBER_OF(SqlModuleColumns),
    NULL,
    FALSE,
    FALSE,
    20.0,
    SqlBeginList,
    SqlNextModule,
    SqlPutModuleCell,
    SqlEndList
};

//
// trace_marks.
//

typedef enum _SQL_MARK_COLUMN {
    SqlMarkSession = 0,
    SqlMarkProcessId,
    SqlMarkThreadId,
    SqlMarkTime,
    SqlMarkKind,
    SqlMarkText
} SQL_MARK_COLUMN;

static const SQL_COLUMN_ROW SqlMarkColumns[] = {
    { "session", "TEXT", SqlRoleSession, "As in trace_sessions." },
    { "process_id", "INTEGER", SqlRoleNone, "The process's identifier." },
    { "thread_id", "INTEGER", SqlRoleNone,
      "Who made it; NULL: it came from outside the program." },
    { "time", "INTEGER", SqlRoleStart, "After the first record." },
    { "kind", "TEXT", SqlRoleNone, "mark, start, stop or clear." },
    { "text", "TEXT", SqlRoleNone, "A mark's text; NULL for the others." },
    SQL_PATH_COLUMN
};

static
NTSTATUS
SqlNextMark(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;
    PCREADER_ACTION Action;

    while (Cursor->NextItem < Session->NumberOfActions) {

        Cursor->Item = Cursor->NextItem;
        Cursor->NextItem += 1;
        Action = &Session->Actions[Cursor->Item];
        if (Action->Action->Kind >= TRACE_ACTION_START &&
            Action->Action->Kind <= TRACE_ACTION_MARK &&
            Action->Action->Timestamp <= Cursor->World->Moment->Horizon &&
            SqlIsProcessAsked(Cursor, Action->Process)) {
            return STATUS_SUCCESS;
        }
    }

    return STATUS_END_OF_FILE;
}

static
VOID
SqlPutMarkCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;
    PCREADER_ACTION Row = &Session->Actions[Cursor->Item];

    switch ((SQL_MARK_COLUMN)Column) {

    case SqlMarkSession:
        SqlPutSession(Cursor, Result, Row->Process);
        break;

    case SqlMarkProcessId:
        SqlPutNumber(Cursor,
                     Result,
                     Session->Processes[Row->Process].Header->ProcessId);
        break;

    case SqlMarkThreadId:
        if (Row->Action->ThreadId != 0) {
            SqlPutNumber(Cursor, Result, Row->Action->ThreadId);
        } else {
            SqlPutNothing(Cursor, Result);
        }
        break;

    case SqlMarkTime:
        SqlPutTime(Cursor, Result, Row->Action->Timestamp);
        break;

    case SqlMarkKind:
        SqlPutString(Cursor,
                     Result,
                     SessionControlDescribeAction(Row->Action->Kind));
        break;

    case SqlMarkText:
        if (Row->Action->Kind == TRACE_ACTION_MARK) {
            SqlPutText(Cursor,
                       Result,
                       Row->Action->Text,
                       Row->Action->TextLength);
        } else {
            SqlPutNothing(Cursor, Result);
        }
        break;
    }
}

static
LONGLONG
SqlQueryMarkTime(
    _In_ PSQL_CURSOR Cursor
    )
{
    PSQL_WORLD World = Cursor->World;

    return SQL_HAS_TIMES(World)
               ? SqlQueryTime(World,
                              World->Session.Actions[Cursor->Item]
                                  .Action->Timestamp)
               : MINLONG64;
}

const SQL_TABLE SqlMarksTable = {
    "trace_marks",
    "A row for each mark, start, stop and clear.",
    SqlMarkColumns,
    RTL_NUMBER_OF(SqlMarkColumns),
    SqlQueryMarkTime,
    FALSE,
    FALSE,
    100.0,
    SqlBeginList,
    SqlNextMark,
    SqlPutMarkCell,
    SqlEndList
};
