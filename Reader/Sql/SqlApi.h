/*++

Module Name:

    SqlApi.h

Abstract:

    What is used of SQLite, without its headers: its constants, its structures
    and its routines, which come out of the table that an extension is given or
    out of a DLL.

    The order of that table is SQLite's binary interface: routines are added at
    its end alone.  Tests/Product/TestSqlApi.py compares the places with
    sqlite3ext.h, and the structures with sqlite3.h.

--*/

#ifndef TRACER_SQL_API_H
#define TRACER_SQL_API_H

#include "../../Rtl/Rtl.h"

//
// The oldest SQLite that is good enough.
//

#define SQL_MINIMUM_VERSION 3031000
#define SQL_MINIMUM_VERSION_TEXT "3.31"

//
// From these on there are sqlite3_vtab_in and its kin, which the table of
// an older one does not have.
//

#define SQL_VERSION_OF_IN 3038000

#define SQL_OK          0
#define SQL_ERROR       1
#define SQL_DENY        1
#define SQL_NOMEM       7
#define SQL_INTERRUPT   9
#define SQL_CONSTRAINT  19
#define SQL_WARNING     28
#define SQL_ROW         100
#define SQL_DONE        101

#define SQL_INTEGER     1
#define SQL_FLOAT       2
#define SQL_TEXT        3
#define SQL_NULL        5

#define SQL_UTF8        1
#define SQL_TRANSIENT   ((PVOID)(LONG_PTR)-1)

//
// The operators of constraints.
//

#define SQL_INDEX_EQ    2
#define SQL_INDEX_GT    4
#define SQL_INDEX_LE    8
#define SQL_INDEX_LT    16
#define SQL_INDEX_GE    32
#define SQL_INDEX_LIKE  65
#define SQL_INDEX_GLOB  66

typedef struct sqlite3 SQL_DATABASE;
typedef struct sqlite3_stmt SQL_STATEMENT;
typedef struct sqlite3_context SQL_RESULT;
typedef struct Mem SQL_VALUE;

//
// What xBestIndex is asked, and answers.
//

typedef struct _SQL_INDEX_CONSTRAINT {
    int Column;
    UCHAR Operator;
    UCHAR IsUsable;
    int TermOffset;
} SQL_INDEX_CONSTRAINT;

typedef struct _SQL_INDEX_ORDER {
    int Column;
    UCHAR IsDescending;
} SQL_INDEX_ORDER;

typedef struct _SQL_INDEX_USAGE {
    int Argument;                   // 1: the first; 0: it is not used
    UCHAR IsOmitted;                // SQLite does not look itself
} SQL_INDEX_USAGE;

typedef struct _SQL_INDEX {
    int NumberOfConstraints;
    SQL_INDEX_CONSTRAINT *Constraints;
    int NumberOfOrders;
    SQL_INDEX_ORDER *Orders;
    SQL_INDEX_USAGE *Usages;
    int Number;
    PCHAR Text;
    int IsTextToBeFreed;
    int IsOrderConsumed;
    double EstimatedCost;
    LONGLONG EstimatedRows;
    int Flags;
    ULONGLONG ColumnsUsed;          // the last bit: 63 and all behind it
} SQL_INDEX;
typedef SQL_INDEX *PSQL_INDEX;

typedef struct _SQL_VTAB {
    const VOID *Module;
    int Unused;
    PCHAR Error;                    // of sqlite3_malloc; SQLite frees it
} SQL_VTAB;
typedef SQL_VTAB *PSQL_VTAB;

typedef struct _SQL_VTAB_CURSOR {
    PSQL_VTAB Table;
} SQL_VTAB_CURSOR;
typedef SQL_VTAB_CURSOR *PSQL_VTAB_CURSOR;

//
// A module's routines, of which those up to Rowid are used.
//

typedef int (SQL_CONNECT)(SQL_DATABASE *Database, PVOID Context,
                          int NumberOfArguments, const PCSZ *Arguments,
                          PSQL_VTAB *Table, PCHAR *Error);
typedef int (SQL_BEST_INDEX)(PSQL_VTAB Table, PSQL_INDEX Index);
typedef int (SQL_DISCONNECT)(PSQL_VTAB Table);
typedef int (SQL_OPEN)(PSQL_VTAB Table, PSQL_VTAB_CURSOR *Cursor);
typedef int (SQL_CURSOR_ROUTINE)(PSQL_VTAB_CURSOR Cursor);
typedef int (SQL_FILTER)(PSQL_VTAB_CURSOR Cursor, int Number, PCSZ Text,
                         int NumberOfArguments, SQL_VALUE **Arguments);
typedef int (SQL_COLUMN)(PSQL_VTAB_CURSOR Cursor, SQL_RESULT *Result,
                         int Column);
typedef int (SQL_ROWID)(PSQL_VTAB_CURSOR Cursor, LONGLONG *Rowid);

typedef struct _SQL_MODULE {
    int Version;
    SQL_CONNECT *Create;            // NULL: a table-valued function
    SQL_CONNECT *Connect;
    SQL_BEST_INDEX *BestIndex;
    SQL_DISCONNECT *Disconnect;
    SQL_DISCONNECT *Destroy;
    SQL_OPEN *Open;
    SQL_CURSOR_ROUTINE *Close;
    SQL_FILTER *Filter;
    SQL_CURSOR_ROUTINE *Next;
    SQL_CURSOR_ROUTINE *IsAtEnd;
    SQL_COLUMN *Column;
    SQL_ROWID *Rowid;
    PVOID Unused[12];
} SQL_MODULE;

//
// The routines: type, name, place in the table, and whether an older SQLite
// may lack it.
//

typedef int (SQL_CREATE_MODULE)(SQL_DATABASE *Database, PCSZ Name,
                                const SQL_MODULE *Module, PVOID Context,
                                VOID (*Destroy)(PVOID Context));
typedef int (SQL_DECLARE_VTAB)(SQL_DATABASE *Database, PCSZ Declaration);
typedef VOID (SQL_FREE)(PVOID Memory);
typedef PVOID (SQL_MALLOC)(int SizeInBytes);
typedef PVOID (SQL_MALLOC64)(ULONGLONG SizeInBytes);
typedef int (SQL_LIBVERSION)(VOID);
typedef VOID (SQL_RESULT_DOUBLE)(SQL_RESULT *Result, double Value);
typedef VOID (SQL_RESULT_INT64)(SQL_RESULT *Result, LONGLONG Value);
typedef VOID (SQL_RESULT_NULL)(SQL_RESULT *Result);
typedef VOID (SQL_RESULT_TEXT)(SQL_RESULT *Result, const CHAR *Text,
                               int LengthInBytes, PVOID Destructor);
typedef double (SQL_VALUE_DOUBLE)(SQL_VALUE *Value);
typedef int (SQL_VALUE_INT)(SQL_VALUE *Value);
typedef LONGLONG (SQL_VALUE_INT64)(SQL_VALUE *Value);
typedef PCSZ (SQL_VALUE_TEXT)(SQL_VALUE *Value);
typedef VOID (SQL_LOG)(int Code, PCSZ Format, ...);
typedef int (SQL_PREPARE)(SQL_DATABASE *Database, PCSZ Statement,
                          int LengthInBytes, SQL_STATEMENT **Prepared,
                          PCSZ *Tail);
typedef int (SQL_STATEMENT_ROUTINE)(SQL_STATEMENT *Statement);
typedef PCSZ (SQL_VTAB_COLLATION)(PSQL_INDEX Index, int Constraint);
typedef int (SQL_VTAB_IN)(PSQL_INDEX Index, int Constraint, int Handle);
typedef int (SQL_VTAB_IN_ITEM)(SQL_VALUE *Values, SQL_VALUE **Value);
typedef int (SQL_STRGLOB)(PCSZ Pattern, PCSZ Text);
typedef int (SQL_STRLIKE)(PCSZ Pattern, PCSZ Text, unsigned int Escape);

#define SQL_PLACE_OF_VERSION    67
#define SQL_PLACE_OF_MALLOC     68

#define SQL_ROUTINES(ENTRY)                                                 \
    ENTRY(SQL_DECLARE_VTAB, declare_vtab, 50)                               \
    ENTRY(SQL_STATEMENT_ROUTINE, finalize, 57)                              \
    ENTRY(SQL_FREE, free, 58)                                               \
    ENTRY(SQL_LIBVERSION, libversion_number, SQL_PLACE_OF_VERSION)          \
    ENTRY(SQL_MALLOC, malloc, SQL_PLACE_OF_MALLOC)                          \
    ENTRY(SQL_STATEMENT_ROUTINE, reset, 77)                                 \
    ENTRY(SQL_RESULT_DOUBLE, result_double, 79)                             \
    ENTRY(SQL_RESULT_INT64, result_int64, 83)                               \
    ENTRY(SQL_RESULT_NULL, result_null, 84)                                 \
    ENTRY(SQL_RESULT_TEXT, result_text, 85)                                 \
    ENTRY(SQL_STATEMENT_ROUTINE, step, 94)                                  \
    ENTRY(SQL_VALUE_INT, value_bytes, 103)                                  \
    ENTRY(SQL_VALUE_DOUBLE, value_double, 105)                              \
    ENTRY(SQL_VALUE_INT64, value_int64, 107)                                \
    ENTRY(SQL_VALUE_TEXT, value_text, 109)                                  \
    ENTRY(SQL_VALUE_INT, value_type, 113)                                   \
    ENTRY(SQL_PREPARE, prepare_v2, 116)                                     \
    ENTRY(SQL_CREATE_MODULE, create_module_v2, 119)                         \
    ENTRY(SQL_LOG, log, 167)                                                \
    ENTRY(SQL_MALLOC64, malloc64, 197)                                      \
    ENTRY(SQL_STRGLOB, strglob, 203)                                        \
    ENTRY(SQL_STRLIKE, strlike, 211)                                        \
    ENTRY(SQL_VTAB_COLLATION, vtab_collation, 224)

#define SQL_ROUTINES_OF_IN(ENTRY)                                           \
    ENTRY(SQL_VTAB_IN, vtab_in, 259)                                        \
    ENTRY(SQL_VTAB_IN_ITEM, vtab_in_first, 260)                             \
    ENTRY(SQL_VTAB_IN_ITEM, vtab_in_next, 261)

#define SQL_DECLARE_ROUTINE(Type, Name, Place) Type *Name;

typedef struct _SQL_API {
    SQL_ROUTINES(SQL_DECLARE_ROUTINE)
    SQL_ROUTINES_OF_IN(SQL_DECLARE_ROUTINE)     // NULL: it is older
    int Version;
} SQL_API;
typedef SQL_API *PSQL_API;
typedef const SQL_API *PCSQL_API;

//
// Takes the routines out of the table that an extension is given.
// STATUS_REVISION_MISMATCH: that SQLite is too old; only Version and malloc are
// there.
//

_Must_inspect_result_
NTSTATUS
SqlTakeRoutines(
    _Out_ PSQL_API Api,
    _In_ const PVOID *Table
    );

//
// Takes them out of a DLL, by name.
// Missing: with STATUS_ENTRYPOINT_NOT_FOUND, the first that is not there.
//

_Must_inspect_result_
NTSTATUS
SqlLoadRoutines(
    _Out_ PSQL_API Api,
    _In_ HMODULE Module,
    _Out_ PCSZ *Missing
    );

#endif // TRACER_SQL_API_H
