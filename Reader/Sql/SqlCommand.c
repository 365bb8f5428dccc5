/*++

Module Name:

    SqlCommand.c

Abstract:

    TraceReader sql: a statement over a session, in an SQLite that is found on
    the machine; without a statement, the tables.

--*/

#include "../Base/BaseErrors.h"
#include "../Commands/Command.h"
#include "SqlCursor.h"
#include "SqlPrint.h"

//
// What a statement may do, by the number of the action: it may only read.
//

#define SQL_ACTION_PRAGMA       19
#define SQL_ACTION_READ         20
#define SQL_ACTION_SELECT       21
#define SQL_ACTION_UPDATE       23
#define SQL_ACTION_FUNCTION     31
#define SQL_ACTION_RECURSIVE    33

typedef struct _SQL_COMMAND {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    HMODULE Library;
    SQL_PRINT_API Api;
    SQL_DATABASE *Database;
} SQL_COMMAND;
typedef SQL_COMMAND *PSQL_COMMAND;

//
// SQLite asks this of each thing that a statement does.
//

static
int
SqlAuthorize(
    PVOID Context,
    int Action,
    PCSZ First,
    PCSZ Second,
    PCSZ Third,
    PCSZ Fourth
    )
{
    static const PCSZ Pragmas[] = {
        "table_info", "table_xinfo", "table_list", "function_list",
        "module_list", "pragma_list", "collation_list", "compile_options"
    };
    ULONG Index;

    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Third);
    UNREFERENCED_PARAMETER(Fourth);

    switch (Action) {

    case SQL_ACTION_READ:
    case SQL_ACTION_SELECT:
    case SQL_ACTION_RECURSIVE:
        return SQL_OK;

    case SQL_ACTION_UPDATE:

        //
        // SQLite asks for this when it meets one of our tables first, and lets
        // no statement do it.
        //

        return First != NULL && RtlAreStringsEqual(First, "sqlite_master")
                   ? SQL_OK
                   : SQL_DENY;

    case SQL_ACTION_FUNCTION:
        return Second != NULL && RtlAreStringsEqual(Second, "load_extension")
                   ? SQL_DENY
                   : SQL_OK;

    case SQL_ACTION_PRAGMA:
        for (Index = 0; First != NULL && Index < RTL_NUMBER_OF(Pragmas);
             Index++) {
            if (RtlAreStringsEqual(First, Pragmas[Index])) {
                return SQL_OK;
            }
        }
        return SQL_DENY;

    default:
        return SQL_DENY;
    }
}

//
// Loads SQLite: Windows' own, else one beside TraceReader.exe or in the
// system's folder, and from nowhere else.
//

_Success_(return != FALSE)
static
BOOLEAN
SqlLoadLibrary(
    _Inout_ PSQL_COMMAND Command,
    _Out_ PSQL_API Api
    )
{
    PCREADER_CONTEXT Context = Command->Context;
    PCRTL Rtl = Context->Rtl;
    PCSZ Missing = NULL;
    NTSTATUS Status;

    Command->Library = Rtl->LoadLibraryExW(L"winsqlite3.dll",
                                           NULL,
                                           LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (Command->Library == NULL) {
        Command->Library = Rtl->LoadLibraryExW(
            L"sqlite3.dll",
            NULL,
            LOAD_LIBRARY_SEARCH_APPLICATION_DIR |
                LOAD_LIBRARY_SEARCH_SYSTEM32);
    }

    if (Command->Library == NULL) {
        RtlWriteText(Context->Errors,
                     "TraceReader: sql: there is no SQLite: winsqlite3.dll "
                     "(Windows 10 and later have it) and sqlite3.dll are "
                     "neither in the system's folder nor, the latter, beside "
                     "TraceReader.exe; sqlite.org has it\n");
        RtlFlushWriter(Context->Errors);
        return FALSE;
    }

    Status = SqlLoadRoutines(Api, Command->Library, &Missing);
    if (Status == STATUS_REVISION_MISMATCH) {
        RtlWriteText(Context->Errors,
                     "TraceReader: sql: SQLite " SQL_MINIMUM_VERSION_TEXT
                     " or later is needed; this one is %d.%d\n",
                     Api->Version / 1000000,
                     Api->Version / 1000 % 1000);
        RtlFlushWriter(Context->Errors);
        return FALSE;
    }

    if (NT_SUCCESS(Status)) {
        Status = SqlLoadPrintRoutines(&Command->Api,
                                      Command->Library,
                                      &Missing);
    }

    if (!NT_SUCCESS(Status)) {
        BaseFail(Context, "find a routine of SQLite", Missing, Status);
        return FALSE;
    }

    return TRUE;
}

//
// Opens a database in memory that has the tables.
//

_Success_(return != FALSE)
static
BOOLEAN
SqlOpenDatabase(
    _Inout_ PSQL_COMMAND Command,
    _In_ PCSQL_API Api
    )
{
    PCREADER_CONTEXT Context = Command->Context;
    PSQL_CONNECTION Connection;
    PCSZ Missing = NULL;
    int Result;
    NTSTATUS Status;

    Result = Command->Api.open_v2(":memory:",
                                  &Command->Database,
                                  SQL_OPEN_READWRITE,
                                  NULL);
    Connection = Result == SQL_OK
                     ? (PSQL_CONNECTION)Api->malloc64(sizeof(*Connection))
                     : NULL;
    if (Connection == NULL) {
        BaseFail(Context, "open a database", "in memory", STATUS_NO_MEMORY);
        return FALSE;
    }

    RtlZeroBytes(Connection, sizeof(*Connection));
    Connection->Api = *Api;
    Status = SqlInitializeConnection(Connection, Command->Database, &Missing);
    if (!NT_SUCCESS(Status)) {
        Api->free(Connection);
        BaseFail(Context, "find a system routine", Missing, Status);
        return FALSE;
    }

    Connection->DefaultPath = Command->Options->PathUtf8;
    Connection->Errors = Context->Errors;
    if (SqlRegisterTables(Connection) != SQL_OK) {
        BaseFail(Context, "make the tables", "in memory", STATUS_NO_MEMORY);
        return FALSE;
    }

    Command->Api.set_authorizer(Command->Database, SqlAuthorize, NULL);
    return TRUE;
}

//
// Writes the tables and their columns.
//

static
VOID
SqlWriteSchema(
    _Inout_ PRTL_WRITER Writer
    )
{
    PCSQL_TABLE Table;
    ULONG Index;
    ULONG Column;

    for (Index = 0; Index < SQL_NUMBER_OF_TABLES; Index++) {

        Table = SqlTables[Index];
        RtlWriteText(Writer,
                     "%s%s: %s\n",
                     Index == 0 ? "" : "\n",
                     Table->Name,
                     Table->Meaning);
        for (Column = 0; Column < Table->NumberOfColumns; Column++) {
            RtlWriteText(Writer,
                         "    %-15s%-15s %s\n",
                         Table->Columns[Column].Name,
                         Table->Columns[Column].Type,
                         Table->Columns[Column].Meaning);
        }
    }
}

static
ULONG
SqlRun(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    SQL_COMMAND Command;
    SQL_API Api;
    ULONG ExitCode = READER_EXIT_FAILURE;

    if (Options->NumberOfNames == 0) {
        SqlWriteSchema(Context->Output);
        return READER_EXIT_SUCCESS;
    }

    if (Options->NumberOfNames > 1) {
        RtlWriteText(Context->Errors,
                     "TraceReader: sql: one statement, in quotes, is run (see "
                     "TraceReader sql --help)\n");
        RtlFlushWriter(Context->Errors);
        return READER_EXIT_FAILURE;
    }

    RtlZeroBytes(&Command, sizeof(Command));
    Command.Context = Context;
    Command.Options = Options;
    if (SqlLoadLibrary(&Command, &Api) && SqlOpenDatabase(&Command, &Api)) {
        ExitCode = SqlPrint(Context,
                            &Command.Api,
                            Command.Database,
                            Options->Names[0],
                            Options->Format);
    }

    if (Command.Database != NULL) {
        Command.Api.close_v2(Command.Database);
    }

    if (Command.Library != NULL) {
        Context->Rtl->FreeLibrary(Command.Library);
    }

    return ExitCode;
}

const READER_COMMAND ReaderSqlCommand = {
    "sql",
    "[PATH] [STATEMENT...]",
    "Runs an SQL statement over a session; without one, shows the tables",
    "STATEMENT is one statement of SQLite that reads, in quotes.  Its tables\n"
    "are trace_sessions, trace_threads, trace_modules, trace_functions,\n"
    "trace_calls, trace_records, trace_marks, trace_nodes and trace_problems\n"
    "(Docs/Sql.md); they are of PATH, a session, a directory of sessions or\n"
    "a pack, unless they are given another: trace_calls('C:\\traces\\other').\n"
    "An only argument that begins with SELECT, WITH, VALUES or EXPLAIN is the\n"
    "statement, and PATH then the newest session.  Without a statement the\n"
    "tables and columns are shown.\n"
    "SQLite is winsqlite3.dll, which Windows 10 and later have, else\n"
    "sqlite3.dll beside TraceReader.exe.  The database is in memory and is\n"
    "not written to; the same tables for other programs are in\n"
    "TracerSqlite.dll.\n"
    "JSON is an array with an object for each row; NULL is empty in CSV.\n",
    "  TraceReader sql SESSION \"SELECT function, self FROM trace_functions\"\n"
    "  TraceReader sql --csv \"SELECT start, self FROM trace_calls LIMIT 9\"\n"
    "  TraceReader sql\n",
    READER_OPTION_FORMAT,
    SqlRun,
    NULL,
    NULL
};
