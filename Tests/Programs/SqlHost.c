/*++

Module Name:

    SqlHost.c

Abstract:

    Loads TracerSqlite.dll into SQLite and does what a shell cannot.

        SqlHost DLL rows SQL        the rows, a line each, cells between tabs
        SqlHost DLL old             an SQLite that is too old
        SqlHost DLL memory SQL      every allocation fails, one after the other
        SqlHost DLL interrupt SQL   another thread interrupts the statement
        SqlHost DLL threads N SQL   N threads, each with its own connection
        SqlHost DLL cursors SQL     two statements of one connection, in turns
        SqlHost DLL misuse          reset, finalize, close in between

    It prints what came of it, and ends with 0 if all was as SQLite has it.

--*/

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
#include "sqlite3.h"

static const char *Library;
static sqlite3_mem_methods Real;
static volatile long Countdown = -1;
static volatile long Failures;

//
// SQLite's allocator, which fails from the Countdown-th time on, once.
//

static int Fails(void)
{
    if (Countdown < 0) {
        return 0;
    }

    if (InterlockedDecrement(&Countdown) == -1) {
        InterlockedIncrement(&Failures);
        return 1;
    }

    return 0;
}

static void *Allocate(int Size)
{
    return Fails() ? NULL : Real.xMalloc(Size);
}

static void *Reallocate(void *Memory, int Size)
{
    return Fails() ? NULL : Real.xRealloc(Memory, Size);
}

static sqlite3 *Open(char **Error)
{
    sqlite3 *Database = NULL;

    *Error = NULL;
    if (sqlite3_open(":memory:", &Database) != SQLITE_OK) {
        return Database;
    }

    sqlite3_db_config(Database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    sqlite3_load_extension(Database, Library, NULL, Error);
    return Database;
}

//
// Runs a statement; Sum is of all integers of all rows.
//

static int Run(sqlite3 *Database, const char *Text, long long *Rows,
               unsigned long long *Sum)
{
    sqlite3_stmt *Statement = NULL;
    int Column;
    int Result;

    *Rows = 0;
    *Sum = 0;
    Result = sqlite3_prepare_v2(Database, Text, -1, &Statement, NULL);
    if (Result != SQLITE_OK) {
        sqlite3_finalize(Statement);
        return Result;
    }

    while ((Result = sqlite3_step(Statement)) == SQLITE_ROW) {
        *Rows += 1;
        for (Column = 0; Column < sqlite3_column_count(Statement); Column++) {
            *Sum = *Sum * 31 + (unsigned long long)
                sqlite3_column_int64(Statement, Column);
        }
    }

    sqlite3_finalize(Statement);
    return Result;
}

static int TestRows(const char *Text)
{
    char *Error;
    sqlite3 *Database = Open(&Error);
    sqlite3_stmt *Statement;
    const char *Cell;
    int Column;
    int Result;

    if (Error != NULL) {
        printf("%s\n", Error);
        return 1;
    }

    Result = sqlite3_prepare_v2(Database, Text, -1, &Statement, NULL);
    while (Result == SQLITE_OK || Result == SQLITE_ROW) {
        Result = sqlite3_step(Statement);
        for (Column = 0;
             Result == SQLITE_ROW && Column < sqlite3_column_count(Statement);
             Column++) {
            Cell = (const char *)sqlite3_column_text(Statement, Column);
            printf("%s%s", Column == 0 ? "" : "\t", Cell != NULL ? Cell : "");
        }

        if (Result == SQLITE_ROW) {
            printf("\n");
        }
    }

    if (Result != SQLITE_DONE) {
        printf("%s\n", sqlite3_errmsg(Database));
    }

    sqlite3_finalize(Statement);
    return Result != SQLITE_DONE || sqlite3_close(Database) != SQLITE_OK;
}

static int OldVersion(void)
{
    return 3008000;
}

//
// A table of routines that says an old number.
//

static int TestOld(void)
{
    typedef int (Entry)(sqlite3 *, char **, const void *const *);
    const void *Table[300];
    HMODULE Module = LoadLibraryA(Library);
    Entry *Routine;
    char *Error = NULL;
    int Result;

    memset(Table, 0, sizeof(Table));
    Table[67] = (void *)OldVersion;
    Table[68] = (void *)sqlite3_malloc;
    if (Module == NULL) {
        printf("not loaded\n");
        return 1;
    }

    Routine = (Entry *)GetProcAddress(Module, "sqlite3_extension_init");
    Result = Routine(NULL, &Error, Table);
    printf("%d %s\n", Result, Error != NULL ? Error : "(no text)");
    return Result == SQLITE_OK;
}

static int TestMemory(const char *Text)
{
    sqlite3 *Database;
    char *Error;
    long long Rows;
    long long WantedRows;
    unsigned long long Sum;
    unsigned long long WantedSum;
    long Number;
    long Step = 1;
    int Result;
    int Bad = 0;

    Database = Open(&Error);
    Result = Run(Database, Text, &WantedRows, &WantedSum);
    sqlite3_close(Database);
    if (Result != SQLITE_DONE) {
        printf("without failures: %d\n", Result);
        return 1;
    }

    for (Number = 0;; Number += Step) {

        Failures = 0;
        Database = Open(&Error);
        if (Error != NULL) {
            printf("%s\n", Error);
            return 1;
        }

        Countdown = Number;
        Result = Run(Database, Text, &Rows, &Sum);
        Countdown = -1;
        if (Failures == 0) {
            sqlite3_close(Database);
            break;
        }

        //
        // SQLite itself does without some.
        //

        if (Result != SQLITE_NOMEM &&
            !(Result == SQLITE_DONE && Rows == WantedRows &&
              Sum == WantedSum)) {
            printf("allocation %ld: %d: %s\n", Number, Result,
                   sqlite3_errmsg(Database));
            Bad += 1;
        }

        Result = Run(Database, Text, &Rows, &Sum);
        if (Result != SQLITE_DONE || Rows != WantedRows || Sum != WantedSum) {
            printf("after allocation %ld: %d\n", Number, Result);
            Bad += 1;
        }

        if (sqlite3_close(Database) != SQLITE_OK) {
            printf("allocation %ld: not closed\n", Number);
            Bad += 1;
        }

        Step = 1 + Number / 40;
    }

    printf("%ld bytes left, allocations up to %ld, %d bad\n",
           (long)sqlite3_memory_used(), Number, Bad);
    return Bad != 0 || sqlite3_memory_used() != 0 || Number < 20;
}

static volatile long IsRunning;
static volatile long IsInterrupting;

static DWORD WINAPI Interrupt(void *Context)
{
    while (IsRunning) {
        IsInterrupting = 1;
        sqlite3_interrupt((sqlite3 *)Context);
        Sleep(1);
    }

    return 0;
}

static int TestInterrupt(const char *Text)
{
    char *Error;
    sqlite3 *Database = Open(&Error);
    long long Rows;
    unsigned long long Sum;
    HANDLE Thread;
    int Result;
    int Try;

    IsRunning = 1;
    Thread = CreateThread(NULL, 0, Interrupt, Database, 0, NULL);
    while (!IsInterrupting) {
        Sleep(1);
    }

    //
    // On a busy machine the other thread may have no turn while one statement
    // runs.
    //

    Result = SQLITE_DONE;
    for (Try = 0; Try < 100 && Result == SQLITE_DONE; Try += 1) {
        Result = Run(Database, Text, &Rows, &Sum);
    }

    IsRunning = 0;
    WaitForSingleObject(Thread, INFINITE);
    printf("%d %s\n", Result, sqlite3_errmsg(Database));
    return Result != SQLITE_INTERRUPT ||
           sqlite3_close(Database) != SQLITE_OK;
}

static const char *ThreadText;
static volatile long ThreadFailures;
static unsigned long long ThreadSum;

static DWORD WINAPI RunInThread(void *Context)
{
    char *Error;
    sqlite3 *Database = Open(&Error);
    long long Rows;
    unsigned long long Sum;
    int Round;

    for (Round = 0; Round < 3; Round++) {
        if (Run(Database, ThreadText, &Rows, &Sum) != SQLITE_DONE ||
            Sum != ThreadSum || Rows == 0) {
            InterlockedIncrement(&ThreadFailures);
        }
    }

    if (sqlite3_close(Database) != SQLITE_OK) {
        InterlockedIncrement(&ThreadFailures);
    }

    return 0;
}

static int TestThreads(int Number, const char *Text)
{
    HANDLE Threads[64];
    char *Error;
    sqlite3 *Database = Open(&Error);
    long long Rows;
    int Index;

    ThreadText = Text;
    Run(Database, Text, &Rows, &ThreadSum);
    sqlite3_close(Database);
    for (Index = 0; Index < Number; Index++) {
        Threads[Index] = CreateThread(NULL, 0, RunInThread, NULL, 0, NULL);
    }

    WaitForMultipleObjects(Number, Threads, TRUE, INFINITE);
    printf("%lld rows, %ld failures\n", Rows, (long)ThreadFailures);
    return ThreadFailures != 0 || Rows == 0;
}

static int TestCursors(const char *Text)
{
    char *Error;
    sqlite3 *Database = Open(&Error);
    sqlite3_stmt *First;
    sqlite3_stmt *Second;
    long long Rows = 0;
    long long Same = 0;
    int FirstResult;
    int SecondResult;

    sqlite3_prepare_v2(Database, Text, -1, &First, NULL);
    sqlite3_prepare_v2(Database, Text, -1, &Second, NULL);
    do {
        FirstResult = sqlite3_step(First);
        SecondResult = sqlite3_step(Second);
        if (FirstResult == SQLITE_ROW && SecondResult == SQLITE_ROW) {
            Rows += 1;
            Same += sqlite3_column_int64(First, 0) ==
                    sqlite3_column_int64(Second, 0);
        }
    } while (FirstResult == SQLITE_ROW && SecondResult == SQLITE_ROW);

    printf("%lld rows, %lld the same, %d %d\n", Rows, Same, FirstResult,
           SecondResult);
    sqlite3_finalize(First);
    sqlite3_finalize(Second);
    return Rows != Same || Rows == 0 || FirstResult != SQLITE_DONE ||
           SecondResult != SQLITE_DONE || sqlite3_close(Database) != SQLITE_OK;
}

//
// Each SQL is stepped a little and left: reset, run again, finalized.
//

static int TestMisuse(int Number, char **Texts)
{
    char *Error;
    sqlite3 *Database = Open(&Error);
    sqlite3_stmt *Statement;
    int Bad = 0;
    int Index;
    int Steps;

    for (Index = 0; Index < Number; Index++) {
        for (Steps = 0; Steps < 4; Steps++) {

            if (sqlite3_prepare_v2(Database, Texts[Index], -1, &Statement,
                                   NULL) != SQLITE_OK) {
                printf("%s: %s\n", Texts[Index], sqlite3_errmsg(Database));
                Bad += 1;
                continue;
            }

            if (Steps > 0) {
                sqlite3_step(Statement);
            }

            if (Steps > 1) {
                sqlite3_reset(Statement);
                sqlite3_step(Statement);
            }

            if (Steps > 2 && sqlite3_close(Database) != SQLITE_BUSY) {
                printf("%s: closed under a statement\n", Texts[Index]);
                Bad += 1;
            }

            sqlite3_finalize(Statement);
        }
    }

    if (sqlite3_close(Database) != SQLITE_OK || sqlite3_memory_used() != 0) {
        printf("%lld bytes are left\n", (long long)sqlite3_memory_used());
        Bad += 1;
    }

    printf("%d bad\n", Bad);
    return Bad != 0;
}

int main(int argc, char **argv)
{
    sqlite3_mem_methods Mine;

    if (argc < 3) {
        return 2;
    }

    Library = argv[1];
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &Real);
    Mine = Real;
    Mine.xMalloc = Allocate;
    Mine.xRealloc = Reallocate;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &Mine);
    sqlite3_initialize();
    if (strcmp(argv[2], "old") == 0) {
        return TestOld();
    }

    if (strcmp(argv[2], "rows") == 0) {
        return TestRows(argv[3]);
    }

    if (strcmp(argv[2], "memory") == 0) {
        return TestMemory(argv[3]);
    }

    if (strcmp(argv[2], "interrupt") == 0) {
        return TestInterrupt(argv[3]);
    }

    if (strcmp(argv[2], "threads") == 0) {
        return TestThreads(atoi(argv[3]), argv[4]);
    }

    if (strcmp(argv[2], "cursors") == 0) {
        return TestCursors(argv[3]);
    }

    return TestMisuse(argc - 3, argv + 3);
}
