/*++

Module Name:

    SqlRows.c

Abstract:

    What SQLite itself takes to count rows, beside tables of TracerSqlite.dll,
    in one process:

        SqlRows DLL ROUNDS ROWS STEP...

    A step is a statement, one that begins with + and is run once before all
    others, or = and a directory, each of whose files is opened, mapped, looked
    at and closed.  Each round runs count(*) over a table that does nothing but
    count to ROWS, and each step.  A line has the median of each one's processor
    time in milliseconds, user and kernel, and the fastest, the same of the time
    that passed, how many rows there were, the last one's first column, and the
    step.

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
static double Passed[MAXIMUM_STATEMENTS][MAXIMUM_ROUNDS];
static sqlite3_int64 Answers[MAXIMUM_STATEMENTS];
static sqlite3_int64 Rows[MAXIMUM_STATEMENTS];

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

static double
Clock(void)
{
    LARGE_INTEGER Now;
    LARGE_INTEGER Rate;

    QueryPerformanceCounter(&Now);
    QueryPerformanceFrequency(&Rate);
    return Now.QuadPart * 1000.0 / Rate.QuadPart;
}

//
// Opens each file of a directory as a reader must, and no more.  Returns how
// many there were.
//

static int
OpenFiles(const char *Directory)
{
    char Path[MAX_PATH * 2];
    WIN32_FIND_DATAA Found;
    HANDLE Find;
    HANDLE File;
    HANDLE Section;
    volatile char *View;
    int Count = 0;

    snprintf(Path, sizeof(Path), "%s\\*", Directory);
    Find = FindFirstFileA(Path, &Found);
    if (Find == INVALID_HANDLE_VALUE) {
        return 0;
    }

    do {
        if ((Found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
            continue;
        }

        snprintf(Path, sizeof(Path), "%s\\%s", Directory, Found.cFileName);
        File = CreateFileA(Path, GENERIC_READ,
                           FILE_SHARE_READ | FILE_SHARE_WRITE |
                               FILE_SHARE_DELETE,
                           NULL, OPEN_EXISTING, 0, NULL);
        Section = CreateFileMappingA(File, NULL, PAGE_READONLY, 0, 0, NULL);
        View = MapViewOfFile(Section, FILE_MAP_READ, 0, 0, 4096);
        if (View != NULL) {
            Count += 1 + (View[0] & 0);
            UnmapViewOfFile((void *)View);
        }

        CloseHandle(Section);
        CloseHandle(File);
    } while (FindNextFileA(Find, &Found));

    FindClose(Find);
    return Count;
}

//
// Runs a step.  Returns whether it could be.
//

static int
Run(sqlite3 *Db, const char *Step, int Index)
{
    sqlite3_stmt *Statement;
    int Result;

    Rows[Index] = 0;
    if (Step[0] == '=') {
        Answers[Index] = OpenFiles(Step + 1);
        return Answers[Index] != 0;
    }

    if (Step[0] == '+') {
        Step += 1;
    }

    if (sqlite3_prepare_v2(Db, Step, -1, &Statement, NULL) != SQLITE_OK) {
        return 0;
    }

    while ((Result = sqlite3_step(Statement)) == SQLITE_ROW) {
        Answers[Index] = sqlite3_column_int64(Statement, 0);
        Rows[Index] += 1;
    }

    sqlite3_finalize(Statement);
    return Result == SQLITE_DONE;
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
    sqlite3 *Db;
    char *Error = NULL;
    double Begun;
    double Started;
    int Rounds;
    int Number = 0;
    int Round;
    int Index;

    if (Count < 4 || Count - 3 > MAXIMUM_STATEMENTS) {
        fprintf(stderr, "usage: SqlRows DLL ROUNDS ROWS STEP...\n");
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
            if (Statements[Index][0] == '+' && Round != 0) {
                continue;
            }

            Begun = Processor();
            Started = Clock();
            if (!Run(Db, Statements[Index], Index)) {
                fprintf(stderr, "SqlRows: %s: %s\n", Statements[Index],
                        sqlite3_errmsg(Db));
                return 1;
            }

            Passed[Index][Round] = Clock() - Started;
            Times[Index][Round] = Processor() - Begun;
        }
    }

    for (Index = 0; Index < Number; Index++) {
        if (Statements[Index][0] == '+') {
            continue;
        }

        qsort(Times[Index], Rounds, sizeof(double), Compare);
        qsort(Passed[Index], Rounds, sizeof(double), Compare);
        printf("%8.0f %8.0f %10.2f %10.2f %6lld %12lld  %s\n",
               Times[Index][Rounds / 2],
               Times[Index][0],
               Passed[Index][Rounds / 2],
               Passed[Index][0],
               (long long)Rows[Index],
               (long long)Answers[Index],
               Statements[Index]);
    }

    sqlite3_close(Db);
    return 0;
}
