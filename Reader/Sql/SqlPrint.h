/*++

Module Name:

    SqlPrint.h

Abstract:

    A statement is run and its rows are written.

--*/

#ifndef TRACER_SQL_PRINT_H
#define TRACER_SQL_PRINT_H

#include "../Base/BaseContext.h"
#include "../Base/BaseOptions.h"
#include "SqlApi.h"

#define SQL_OPEN_READWRITE 2

typedef int (SQL_OPEN_DATABASE)(PCSZ Name, SQL_DATABASE **Database, int Flags,
                                PCSZ Vfs);
typedef int (SQL_CLOSE_DATABASE)(SQL_DATABASE *Database);
typedef PCSZ (SQL_ERROR_MESSAGE)(SQL_DATABASE *Database);
typedef int (SQL_AUTHORIZER)(PVOID Context, int Action, PCSZ First,
                             PCSZ Second, PCSZ Third, PCSZ Fourth);
typedef int (SQL_SET_AUTHORIZER)(SQL_DATABASE *Database,
                                 SQL_AUTHORIZER *Authorizer, PVOID Context);
typedef int (SQL_COLUMN_NUMBER)(SQL_STATEMENT *Statement, int Column);
typedef PCSZ (SQL_COLUMN_STRING)(SQL_STATEMENT *Statement, int Column);

#define SQL_PRINT_ROUTINES(ENTRY)                                           \
    ENTRY(SQL_OPEN_DATABASE, open_v2)                                       \
    ENTRY(SQL_CLOSE_DATABASE, close_v2)                                     \
    ENTRY(SQL_ERROR_MESSAGE, errmsg)                                        \
    ENTRY(SQL_SET_AUTHORIZER, set_authorizer)                               \
    ENTRY(SQL_PREPARE, prepare_v2)                                          \
    ENTRY(SQL_STATEMENT_ROUTINE, step)                                      \
    ENTRY(SQL_STATEMENT_ROUTINE, finalize)                                  \
    ENTRY(SQL_STATEMENT_ROUTINE, column_count)                              \
    ENTRY(SQL_COLUMN_STRING, column_name)                                   \
    ENTRY(SQL_COLUMN_NUMBER, column_type)                                   \
    ENTRY(SQL_COLUMN_STRING, column_text)                                   \
    ENTRY(SQL_COLUMN_NUMBER, column_bytes)

#define SQL_DECLARE_PRINT_ROUTINE(Type, Name) Type *Name;

typedef struct _SQL_PRINT_API {
    SQL_PRINT_ROUTINES(SQL_DECLARE_PRINT_ROUTINE)
} SQL_PRINT_API;
typedef SQL_PRINT_API *PSQL_PRINT_API;
typedef const SQL_PRINT_API *PCSQL_PRINT_API;

//
// Missing: with STATUS_ENTRYPOINT_NOT_FOUND, the first that is not there.
//

_Must_inspect_result_
NTSTATUS
SqlLoadPrintRoutines(
    _Out_ PSQL_PRINT_API Api,
    _In_ HMODULE Module,
    _Out_ PCSZ *Missing
    );

//
// Runs a statement and writes its rows.  Returns READER_EXIT_*; a failure has
// been written.
//

ULONG
SqlPrint(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCSQL_PRINT_API Api,
    _In_ SQL_DATABASE *Database,
    _In_z_ PCSZ Text,
    _In_ READER_FORMAT Format
    );

#endif // TRACER_SQL_PRINT_H
