/*++

Module Name:

    SqlProblems.c

Abstract:

    trace_problems: the stores that cannot be read, or not to their end.

--*/

#include "../Session/SessionDescribe.h"
#include "../Session/SessionProcess.h"
#include "SqlCursor.h"

#define SQL_PROBLEM_BYTES 512

typedef enum _SQL_PROBLEM_COLUMN {
    SqlProblemSession = 0,
    SqlProblemProcessId,
    SqlProblemStore,
    SqlProblemIsLeftOut,
    SqlProblemText
} SQL_PROBLEM_COLUMN;

static const SQL_COLUMN_ROW SqlProblemColumns[] = {
    { "session", "TEXT", SqlRoleNone,
      "The name of the store's directory, without its path." },
    { "process_id", "INTEGER", SqlRoleNone,
      "The process's identifier; NULL: no store of the directory says it." },
    { "store", "TEXT", SqlRoleNone, "The file, in the directory." },
    { "is_left_out", "INTEGER", SqlRoleNone,
      "1: nothing of it is in other tables.  0: what comes before the place "
      "that is bad is." },
    { "problem", "TEXT", SqlRoleNone, "What is wrong with it." },
    SQL_PATH_COLUMN
};

static
NTSTATUS
SqlBeginProblems(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    UNREFERENCED_PARAMETER(Cursor);

    return STATUS_SUCCESS;
}

static
VOID
SqlEndProblems(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    UNREFERENCED_PARAMETER(Cursor);
}

static
NTSTATUS
SqlNextProblem(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;

    while (Cursor->NextItem < Session->NumberOfStores) {
        Cursor->Item = Cursor->NextItem;
        Cursor->NextItem += 1;
        if (SqlHasProblem(Cursor->World, Session->Stores[Cursor->Item])) {
            return STATUS_SUCCESS;
        }
    }

    return STATUS_END_OF_FILE;
}

static
VOID
SqlPutProblemCell(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    )
{
    const READER_SESSION *Session = &Cursor->World->Session;
    PREADER_STORE Store = Session->Stores[Cursor->Item];
    ULONG Process = READER_PROCESS_OF_STORE(Session, Store);
    UNICODE_STRING Name;
    RTL_WRITER Writer;
    CHAR Text[SQL_NAME_BYTES];
    ULONG Length = 0;

    switch ((SQL_PROBLEM_COLUMN)Column) {

    case SqlProblemSession:
        Length = SqlNameDirectory(Cursor->World,
                                  Store->Directory,
                                  Text,
                                  sizeof(Text));
        SqlPutText(Cursor, Result, Text, Length);
        break;

    case SqlProblemProcessId:
        if (Process == READER_NONE) {
            SqlPutNothing(Cursor, Result);
        } else {
            SqlPutNumber(Cursor,
                         Result,
                         Session->Processes[Process].Header->ProcessId);
        }
        break;

    case SqlProblemStore:
        RtlBaseName(&Store->Name, &Name);
        RtlWideToUtf8(Name.Buffer,
                      Name.Length / sizeof(WCHAR),
                      Text,
                      sizeof(Text),
                      &Length);
        SqlPutText(Cursor, Result, Text, Length);
        break;

    case SqlProblemIsLeftOut:
        SqlPutNumber(Cursor, Result, Store->Thread == READER_NONE);
        break;

    case SqlProblemText:
        RtlInitializeBufferWriter(&Writer, Text, SQL_PROBLEM_BYTES);
        SessionDescribeStoreProblem(Store, &Writer);
        SqlPutText(Cursor, Result, Text, Writer.LengthInBytes);
        break;
    }
}

const SQL_TABLE SqlProblemsTable = {
    "trace_problems",
    "A row for each store that cannot be read, or not to its end.",
    SqlProblemColumns,
    RTL_NUMBER_OF(SqlProblemColumns),
    NULL,
    FALSE,
    TRUE,
    10.0,
    SqlBeginProblems,
    SqlNextProblem,
    SqlPutProblemCell,
    SqlEndProblems
};
