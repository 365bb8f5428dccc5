/*++

Module Name:

    SqlTables.h

Abstract:

    The tables: their columns, and what each has to do with a statement.

--*/

#ifndef TRACER_SQL_TABLES_H
#define TRACER_SQL_TABLES_H

#include "SqlApi.h"

//
// What a constraint on a column is used for, besides SQLite's own look at the
// rows.
//

typedef enum _SQL_ROLE {
    SqlRoleNone = 0,
    SqlRolePath,                    // the table's argument
    SqlRoleSession,
    SqlRoleThread,                  // its identifier
    SqlRoleFunction,
    SqlRoleStart,
    SqlRoleSince,                   // these two: a further argument: what is
    SqlRoleUntil                    // before, or after, counts for nothing
} SQL_ROLE;

typedef struct _SQL_COLUMN_ROW {
    PCSZ Name;
    PCSZ Type;                      // "TEXT", "INTEGER"; with HIDDEN: an
                                    // argument, in the order of the columns
    SQL_ROLE Role;
    PCSZ Meaning;
} SQL_COLUMN_ROW;
typedef const SQL_COLUMN_ROW *PCSQL_COLUMN_ROW;

#define SQL_PATH_COLUMN                                                     \
    { "path", "TEXT HIDDEN", SqlRolePath,                                   \
      "The argument: a session's directory, a directory of several, a pack " \
      "or a store." }

typedef struct _SQL_CURSOR *PSQL_CURSOR;

//
// Begins a scan, with the world open and the query there; the cursor's State
// is the table's own.
//

typedef
_Must_inspect_result_
NTSTATUS
(SQL_SCAN_ROUTINE)(
    _Inout_ PSQL_CURSOR Cursor
    );
typedef SQL_SCAN_ROUTINE *PSQL_SCAN_ROUTINE;

typedef
VOID
(SQL_PUT_ROUTINE)(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Column
    );
typedef SQL_PUT_ROUTINE *PSQL_PUT_ROUTINE;

typedef
LONGLONG
(SQL_TIME_ROUTINE)(
    _In_ PSQL_CURSOR Cursor
    );
typedef SQL_TIME_ROUTINE *PSQL_TIME_ROUTINE;

typedef
VOID
(SQL_END_ROUTINE)(
    _Inout_ PSQL_CURSOR Cursor
    );
typedef SQL_END_ROUTINE *PSQL_END_ROUTINE;

typedef struct _SQL_TABLE {
    PCSZ Name;
    PCSZ Meaning;
    PCSQL_COLUMN_ROW Columns;
    ULONG NumberOfColumns;
    PSQL_TIME_ROUTINE Time;         // rows can come in the order of the column
                                    // that has SqlRoleStart, which this gives
                                    // of the current one; NULL: they cannot
    BOOLEAN IsKept;                 // the state of a scan is there still when
                                    // the next one of the cursor begins
    BOOLEAN TakesDamaged;           // it is no error if no store can be read
    double Cost;                    // of all rows, beside the other tables'
    PSQL_SCAN_ROUTINE Begin;
    PSQL_SCAN_ROUTINE Next;         // these two: STATUS_END_OF_FILE: there are
                                    // no more rows
    PSQL_PUT_ROUTINE Put;
    PSQL_END_ROUTINE End;           // ends a scan, even a half begun one
} SQL_TABLE;
typedef const SQL_TABLE *PCSQL_TABLE;

extern const SQL_TABLE SqlSessionsTable;
extern const SQL_TABLE SqlThreadsTable;
extern const SQL_TABLE SqlModulesTable;
extern const SQL_TABLE SqlFunctionsTable;
extern const SQL_TABLE SqlCallsTable;
extern const SQL_TABLE SqlRecordsTable;
extern const SQL_TABLE SqlMarksTable;
extern const SQL_TABLE SqlNodesTable;
extern const SQL_TABLE SqlProblemsTable;

//
// All of them, in the order of the documentation.
//

#define SQL_NUMBER_OF_TABLES 9

extern const PCSQL_TABLE SqlTables[SQL_NUMBER_OF_TABLES];

//
// Writes the declaration of a table, as CREATE TABLE has it.
//

VOID
SqlDeclareTable(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCSQL_TABLE Table
    );

#endif // TRACER_SQL_TABLES_H
