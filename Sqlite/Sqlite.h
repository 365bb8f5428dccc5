/*++

Module Name:

    Sqlite.h

Abstract:

    What TracerSqlite.dll exports: SQLite looks for the first, and, where it was
    told a name, for the second.

--*/

#ifndef TRACER_SQLITE_H
#define TRACER_SQLITE_H

#include "../Reader/Sql/SqlApi.h"

//
// Registers the tables with a connection.
// Error: receives an error's text, in memory of sqlite3_malloc; or NULL.
// Routines: sqlite3_api_routines.
// Returns SQLite's result.
//

__declspec(dllexport)
int
sqlite3_extension_init(
    _In_ SQL_DATABASE *Database,
    _Out_opt_ PCHAR *Error,
    _In_ const PVOID *Routines
    );

__declspec(dllexport)
int
sqlite3_tracersqlite_init(
    _In_ SQL_DATABASE *Database,
    _Out_opt_ PCHAR *Error,
    _In_ const PVOID *Routines
    );

#endif // TRACER_SQLITE_H
