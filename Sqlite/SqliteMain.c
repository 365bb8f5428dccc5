/*++

Module Name:

    SqliteMain.c

Abstract:

    TracerSqlite.dll: the reader's tables as an extension of SQLite.

    SQLite calls sqlite3_extension_init, or the routine that is named after the
    file, once for each connection that loads it.  Nothing here is global.

--*/

#include "../Reader/Sql/SqlCursor.h"
#include "Sqlite.h"

#define SQLITE_MESSAGE_BYTES 256

BOOL
WINAPI
SqliteEntry(
    _In_ HINSTANCE Module,
    _In_ DWORD Reason,
    _In_opt_ LPVOID Reserved
    )
{
    UNREFERENCED_PARAMETER(Module);
    UNREFERENCED_PARAMETER(Reason);
    UNREFERENCED_PARAMETER(Reserved);

    return TRUE;
}

//
// Gives SQLite an error's text, in its memory.
//

static
int
SqliteFail(
    _In_ PCSQL_API Api,
    _Out_ PCHAR *Error,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    if (Error != NULL) {
        *Error = (PCHAR)Api->malloc((int)LengthInBytes + 1);
        if (*Error != NULL) {
            RtlCopyBytes(*Error, Text, LengthInBytes);
            (*Error)[LengthInBytes] = 0;
        }
    }

    return SQL_ERROR;
}

_Use_decl_annotations_
int
sqlite3_extension_init(
    SQL_DATABASE *Database,
    PCHAR *Error,
    const PVOID *Routines
    )
{
    PSQL_CONNECTION Connection;
    SQL_API Api;
    RTL_WRITER Writer;
    CHAR Text[SQLITE_MESSAGE_BYTES];
    PCSZ Missing = NULL;
    NTSTATUS Status;

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    Status = SqlTakeRoutines(&Api, Routines);
    if (!NT_SUCCESS(Status)) {
        RtlWriteText(&Writer,
                     "TracerSqlite needs SQLite " SQL_MINIMUM_VERSION_TEXT
                     " or later; this is %d.%d",
                     Api.Version / 1000000,
                     Api.Version / 1000 % 1000);
        return SqliteFail(&Api, Error, Text, Writer.LengthInBytes);
    }

    Connection = (PSQL_CONNECTION)Api.malloc64(sizeof(*Connection));
    if (Connection == NULL) {
        return SQL_NOMEM;
    }

    RtlZeroBytes(Connection, sizeof(*Connection));
    Connection->Api = Api;
    Status = SqlInitializeConnection(Connection, Database, &Missing);
    if (!NT_SUCCESS(Status)) {
        RtlWriteText(&Writer,
                     "TracerSqlite: find a system routine: %s: 0x%08X",
                     Missing != NULL ? Missing : "ntdll",
                     (ULONG)Status);
        Api.free(Connection);
        return SqliteFail(&Api, Error, Text, Writer.LengthInBytes);
    }

    return SqlRegisterTables(Connection);
}

_Use_decl_annotations_
int
sqlite3_tracersqlite_init(
    SQL_DATABASE *Database,
    PCHAR *Error,
    const PVOID *Routines
    )
{
    return sqlite3_extension_init(Database, Error, Routines);
}
