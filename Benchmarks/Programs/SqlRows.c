/*++

Module Name:

    SqlRows.c

Abstract:

    What SQLite itself takes to count rows, beside tables of TracerSqlite.dll,
    in one process:

        SqlRows DLL ROUNDS ROWS SQL...

    Each round runs count(*) over a table that does nothing but count to ROWS,
    and each statement.  A line has the median of each one's processor time in
    milliseconds, user and kernel, the fastest, what it counted, and the
    statement.

--*/

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>
#include "sqlite3.h"

#define MAXIMUM_STATEMENTS 16
#define MAXIMUM_ROUNDS 101

typedef struct _NOTHING {
    sqlite3_vtab_cursor Base;
    sqlite3_int64 Row;
    sqlite3_int64 Rows;
} NOTHING;

static sqlite3_int64 NumberOfRows;
static double Times[MAXIMUM_STATEMENTS][MAXIMUM_ROUNDS];
static sqlite3_int64 Answers[MAXIMUM_STATEMENTS];

static int
Connect(sqlite3 *Db, void *Context, int Count, const char *const *Arguments,
        sqlite3_vtab **Table, char **Error)
{
    (void)Context;
    (void)Count;
    (void)Arguments;
    (void)Error;

    *Table = sqlite3_malloc(sizeof(**Table));
    if (*Table == NULL) {
        return SQLITE_NOMEM;
    }

    memset(*Table, 0, sizeof(**Table));
    return sqlite3_declare_vtab(Db, "CREATE TABLE x(a)");
}

static int
Disconnect(sqlite3_vtab *Table)
{
    sqlite3_free(Table);
    return SQLITE_OK;
}

static int
BestIndex(sqlite3_vtab *Table, sqlite3_index_info *Index)
{
    (void)Table;
    Index->estimatedCost = 1;
    return SQLITE_OK;
}

static int
Open(sqlite3_vtab *Table, sqlite3_vtab_cursor **Cursor)
{
    NOTHING *New = sqlite3_malloc(sizeof(*New));

    (void)Table;
    if (New == NULL) {
        return SQLITE_NOMEM;
    }

    memset(New, 0, sizeof(*New));
    *Cursor = &New->Base;
    return SQLITE_OK;
}

static int
Close(sqlite3_vtab_cursor *Cursor)
{
    sqlite3_free(Cursor);
    return SQLITE_OK;
}

static int
Filter(sqlite3_vtab_cursor *Cursor, int Number, const char *Text, int Count,
       sqlite3_value **Values)
{
    (void)Number;
    (void)Text;
    (void)Count;
    (void)Values;
    ((NOTHING *)Cursor)->Row = 0;
    ((NOTHING *)Cursor)->Rows = NumberOfRows;
    return SQLITE_OK;
}

static int
Next(sqlite3_vtab_cursor *Cursor)
{
    ((NOTHING *)Cursor)->Row += 1;
    return SQLITE_OK;
}

static int
Eof(sqlite3_vtab_cursor *Cursor)
{
    return ((NOTHING *)Cursor)->Row >= ((NOTHING *)Cursor)->Rows;
}

static int
Column(sqlite3_vtab_cursor *Cursor, sqlite3_context *Context, int Number)
{
    (void)Cursor;
    (void)Number;
    sqlite3_result_int64(Context, 1);
    return SQLITE_OK;
}

static int
Rowid(sqlite3_vtab_cursor *Cursor, sqlite3_int64 *Row)
{
    *Row = ((NOTHING *)Cursor)->Row;
    return SQLITE_OK;
}

static const sqlite3_module Nothing = {
    .xConnect = Connect,
    .xBestIndex = BestIndex,
    .xDisconnect = Disconnect,
    .xOpen = Open,
    .xClose = Close,
    .xFilter = Filter,
    .xNext = Next,
    .xEof = Eof,
    .xColumn = Column,
    .xRowid = Rowid
};

static double
Processor(void)
{
    FILETIME Created;
    FILETIME Ended;
    FILETIME Kernel;
    FILETIME User;

    GetProcessTimes(GetCurrentProcess(), &Created, &Ended, &Kernel, &User);
    return (((double)Kernel.dwHighDateTime + User.dwHighDateTime) *
                4294967296.0 +
            Kernel.dwLowDateTime + User.dwLowDateTime) / 10000.0;
}

static int
Compare(const void *First, const void *Second)
{
    double One = *(const double *)First;
    double Other = *(const double *)Second;

    return One < Other ? -1 : One > Other;
}

int
main(int Count, char **Arguments)
{
    const char *Statements[MAXIMUM_STATEMENTS];
    sqlite3_stmt *Statement;
    sqlite3 *Db;
    char *Error = NULL;
    double Begun;
    int Rounds;
    int Number = 0;
    int Round;
    int Index;

    if (Count < 4 || Count - 3 > MAXIMUM_STATEMENTS) {
        fprintf(stderr, "usage: SqlRows DLL ROUNDS ROWS SQL...\n");
        return 2;
    }

    Rounds = atoi(Arguments[2]);
    NumberOfRows = strtoll(Arguments[3], NULL, 10);
    Statements[Number++] = "select count(*) from counter";
    for (Index = 4; Index < Count; Index++) {
        Statements[Number++] = Arguments[Index];
    }

    if (Rounds < 1 || Rounds > MAXIMUM_ROUNDS ||
        sqlite3_open(":memory:", &Db) != SQLITE_OK ||
        sqlite3_create_module(Db, "counter", &Nothing, NULL) != SQLITE_OK ||
        sqlite3_enable_load_extension(Db, 1) != SQLITE_OK ||
        sqlite3_load_extension(Db, Arguments[1], NULL, &Error) != SQLITE_OK) {
        fprintf(stderr, "SqlRows: %s\n", Error != NULL ? Error : "failed");
        return 1;
    }

    for (Round = 0; Round < Rounds; Round++) {
        for (Index = 0; Index < Number; Index++) {
            Begun = Processor();
            if (sqlite3_prepare_v2(Db, Statements[Index], -1, &Statement,
                                   NULL) != SQLITE_OK ||
                sqlite3_step(Statement) != SQLITE_ROW) {
                fprintf(stderr, "SqlRows: %s\n", sqlite3_errmsg(Db));
                return 1;
            }

            Answers[Index] = sqlite3_column_int64(Statement, 0);
            sqlite3_finalize(Statement);
            Times[Index][Round] = Processor() - Begun;
        }
    }

    for (Index = 0; Index < Number; Index++) {
        qsort(Times[Index], Rounds, sizeof(double), Compare);
        printf("%8.0f %8.0f %12lld  %s\n",
               Times[Index][Rounds / 2],
               Times[Index][0],
               (long long)Answers[Index],
               Statements[Index]);
    }

    sqlite3_close(Db);
    return 0;
}
