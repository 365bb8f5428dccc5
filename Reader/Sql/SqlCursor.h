/*++

Module Name:

    SqlCursor.h

Abstract:

    A scan of a table: what it is asked for, and where it is.

--*/

#ifndef TRACER_SQL_CURSOR_H
#define TRACER_SQL_CURSOR_H

#include "SqlWorld.h"

//
// A test of a function's name: it is one of some, or is like a pattern.
//

typedef struct _SQL_NAME_TEST {
    UCHAR Operator;                 // SQL_INDEX_EQ, _GLOB, _LIKE
    ULONG NumberOfTexts;
    PCHAR *Texts;                   // allocated, terminated
} SQL_NAME_TEST;
typedef SQL_NAME_TEST *PSQL_NAME_TEST;

#define SQL_MAXIMUM_TESTS 4

typedef struct _SQL_QUERY {
    ULONGLONG Columns;              // that are asked for, by bit; the last bit
                                    // is for all from 63 on
    BOOLEAN IsOrdered;              // by the time at which rows begin
    BOOLEAN IsEmpty;                // nothing can fit
    BOOLEAN HasThread;
    ULONG ThreadId;
    LONGLONG From;                  // nanoseconds, or ticks: the first time
    LONGLONG To;                    // and the last
    ULONG NumberOfTests;
    SQL_NAME_TEST Tests[SQL_MAXIMUM_TESTS];     // of functions: all hold
    PCHAR Session;                  // allocated, terminated; NULL: all
} SQL_QUERY;
typedef SQL_QUERY *PSQL_QUERY;
typedef const SQL_QUERY *PCSQL_QUERY;

//
// What is of one boot of a machine: SqlScan.h.
//

typedef struct _SQL_LANE {
    PSQL_WORLD World;               // these five: the cursor's, while another
    PVOID State;                    // lane is the current one
    ULONG Item;
    ULONG NextItem;
    BOOLEAN IsBegun;
    BOOLEAN IsAtEnd;                // these two: side by side
    LONGLONG Time;                  // of its row
} SQL_LANE;
typedef SQL_LANE *PSQL_LANE;

typedef struct _SQL_CURSOR {
    SQL_VTAB_CURSOR Base;           // the first member
    PSQL_CONNECTION Connection;
    PCSQL_TABLE Table;
    PSQL_WORLD World;               // allocated, or NULL
    SQL_QUERY Query;
    PVOID State;                    // the table's own; the scan's End frees it
    BOOLEAN IsBegun;
    BOOLEAN IsAtEnd;
    LONGLONG Rowid;
    BOOLEAN IsCounting;             // rows are only counted: no column is asked
                                    // for but the path, which they all have
    ULONG NumberAlike;              // then: how many are behind the current
                                    // one, which the table has passed over;
                                    // Next is not called for these
    ULONG Item;                     // of a list: the row's; these two are 0
    ULONG NextItem;                 // when a scan begins
    PSQL_LANE Lanes;                // allocated, or NULL
    ULONG NumberOfLanes;
    ULONG Lane;                     // the current one
    BOOLEAN IsSideBySide;           // they are read in the order of time
} SQL_CURSOR;

#define SQL_IS_ASKED(Query, Column) \
    (((Query)->Columns & (1ULL << (Column))) != 0)

//
// Registers all tables.  The connection is freed with the last of them, also
// if this fails.
// Returns SQLite's result.
//

int
SqlRegisterTables(
    _In_ PSQL_CONNECTION Connection
    );

//
// Takes rows that are only counted: the current one, and those behind it.
// Number: how many there are; receives how many are left.
//

VOID
SqlCountRows(
    _Inout_ PSQL_CURSOR Cursor,
    _Inout_ PULONGLONG Number
    );

//
// Is a process's session asked for?
//

BOOLEAN
SqlIsProcessAsked(
    _In_ PSQL_CURSOR Cursor,
    _In_ ULONG Process
    );

//
// And a thread, by its index; one that began after the statement's moment is
// not.
//

BOOLEAN
SqlIsThreadAsked(
    _In_ PSQL_CURSOR Cursor,
    _In_ ULONG Thread
    );

//
// Does a function pass the tests of names?
//

BOOLEAN
SqlIsFunctionAsked(
    _In_ PSQL_CURSOR Cursor,
    _In_ PCREADER_FUNCTION Function
    );

//
// Cells.
//

VOID
SqlPutText(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

#define SqlPutString(Cursor, Result, String) \
    SqlPutText((Cursor), (Result), (String), RtlLengthOfString(String))

#define SqlPutNumber(Cursor, Result, Number) \
    (Cursor)->Connection->Api.result_int64((Result), (LONGLONG)(Number))

#define SqlPutNothing(Cursor, Result) \
    (Cursor)->Connection->Api.result_null(Result)

//
// The cells that say which session, process and thread a row is of.
//

VOID
SqlPutSession(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Process
    );

VOID
SqlPutThreadName(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Thread
    );

//
// A number of ticks as a time; NULL without times.
//

VOID
SqlPutTicks(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONGLONG Ticks
    );

VOID
SqlPutTime(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONGLONG Timestamp
    );

//
// A function's source file or line, and its name, or NULL.
// Function: its index; READER_NONE: there is none.
//

VOID
SqlPutFunction(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Function
    );

VOID
SqlPutModule(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Function
    );

//
// Of an import, the module that called it; NULL for others.
//

#define SQL_CALLER_COLUMN                                                   \
    { "caller_module", "TEXT", SqlRoleNone,                                 \
      "Of an imported function, the module that called it; NULL for "       \
      "others." }

VOID
SqlPutCaller(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Function
    );

VOID
SqlPutSource(
    _In_ PSQL_CURSOR Cursor,
    _In_ SQL_RESULT *Result,
    _In_ ULONG Function,
    _In_ BOOLEAN IsLine
    );

#endif // TRACER_SQL_CURSOR_H
