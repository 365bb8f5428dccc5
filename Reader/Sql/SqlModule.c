/*++

Module Name:

    SqlModule.c

Abstract:

    The tables as SQLite's virtual tables: each is a table-valued function,
    whose argument is a path.

--*/

#include "SqlPlan.h"
#include "SqlScan.h"

#define SQL_MESSAGE_BYTES 1024
#define SQL_DECLARATION_BYTES 4096

//
// A table of a connection.
//

typedef struct _SQL_OWN_TABLE {
    SQL_VTAB Base;                  // the first member
    PSQL_CONNECTION Connection;
    PCSQL_TABLE Table;
} SQL_OWN_TABLE;
typedef SQL_OWN_TABLE *PSQL_OWN_TABLE;

//
// A table's context: SQLite hands it back.
//

typedef struct _SQL_REGISTRATION {
    PSQL_CONNECTION Connection;
    PCSQL_TABLE Table;
} SQL_REGISTRATION;
typedef SQL_REGISTRATION *PSQL_REGISTRATION;

const PCSQL_TABLE SqlTables[SQL_NUMBER_OF_TABLES] = {
    &SqlSessionsTable,
    &SqlThreadsTable,
    &SqlModulesTable,
    &SqlFunctionsTable,
    &SqlCallsTable,
    &SqlRecordsTable,
    &SqlMarksTable,
    &SqlNodesTable,
    &SqlProblemsTable
};

_Use_decl_annotations_
VOID
SqlDeclareTable(
    PRTL_WRITER Writer,
    PCSQL_TABLE Table
    )
{
    ULONG Index;

    RtlWriteText(Writer, "CREATE TABLE %s(", Table->Name);
    for (Index = 0; Index < Table->NumberOfColumns; Index++) {
        RtlWriteText(Writer,
                     "%s\"%s\" %s",
                     Index == 0 ? "" : ", ",
                     Table->Columns[Index].Name,
                     Table->Columns[Index].Type);
    }

    RtlWriteText(Writer, ")");
}

//
// Leaves an error's text with a table.
//

static
VOID
SqlSetMessage(
    _In_ PSQL_CONNECTION Connection,
    _Inout_ PCHAR *Error,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    Connection->Api.free(*Error);
    *Error = (PCHAR)Connection->Api.malloc64((ULONGLONG)LengthInBytes + 1);
    if (*Error != NULL) {
        RtlCopyBytes(*Error, Text, LengthInBytes);
        (*Error)[LengthInBytes] = 0;
    }
}

//
// Fails a scan.  Text: what is known already; empty: a step and the status are
// said, or what the reader said last.
//

static
int
SqlFailScan(
    _Inout_ PSQL_CURSOR Cursor,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    PSQL_WORLD World = Cursor->World;
    RTL_WRITER Writer;
    CHAR Message[SQL_MESSAGE_BYTES];
    PCSZ Name;

    Cursor->IsAtEnd = TRUE;
    SqlEndScan(Cursor, FALSE);
    if (Status == STATUS_NO_MEMORY || Cursor->Connection->IsOutOfMemory) {
        return SQL_NOMEM;
    }

    if (Status == STATUS_CANCELLED ||
        (World != NULL && World->IsInterrupted)) {
        return SQL_INTERRUPT;
    }

    RtlInitializeBufferWriter(&Writer, Message, sizeof(Message));
    RtlWriteText(&Writer, "%s: ", Cursor->Table->Name);
    if (LengthInBytes == 0 && World != NULL &&
        Status == STATUS_UNSUCCESSFUL) {
        Text = World->Listener.Said;
        LengthInBytes = World->Listener.LengthInBytes;
    }

    if (LengthInBytes != 0) {
        RtlWriteBytes(&Writer, Text, LengthInBytes);
    } else {
        Name = RtlStatusName(Status);
        RtlWriteText(&Writer, "%s", Step);
        if (World != NULL && World->Path != NULL) {
            RtlWriteText(&Writer, ": ");
            RtlWriteCleanText(&Writer, World->Path, World->PathLength);
        }

        RtlWriteText(&Writer, ": 0x%08X", (ULONG)Status);
        if (Name != NULL) {
            RtlWriteText(&Writer, " (%s)", Name);
        }
    }

    SqlSetMessage(Cursor->Connection,
                  &Cursor->Base.Table->Error,
                  Message,
                  Writer.LengthInBytes);
    return SQL_ERROR;
}

static
int
SqlConnectTable(
    _In_ SQL_DATABASE *Database,
    _In_ PVOID Context,
    _In_ int NumberOfArguments,
    _In_ const PCSZ *Arguments,
    _Out_ PSQL_VTAB *Table,
    _Inout_ PCHAR *Error
    )
{
    PSQL_REGISTRATION Registration = (PSQL_REGISTRATION)Context;
    PSQL_CONNECTION Connection = Registration->Connection;
    PSQL_OWN_TABLE Own;
    RTL_WRITER Writer;
    PCHAR Text;
    int Result;

    UNREFERENCED_PARAMETER(NumberOfArguments);
    UNREFERENCED_PARAMETER(Arguments);
    UNREFERENCED_PARAMETER(Error);

    *Table = NULL;
    Text = (PCHAR)Connection->Api.malloc64(SQL_DECLARATION_BYTES);
    if (Text == NULL) {
        return SQL_NOMEM;
    }

    RtlInitializeBufferWriter(&Writer, Text, SQL_DECLARATION_BYTES - 1);
    SqlDeclareTable(&Writer, Registration->Table);
    Text[Writer.LengthInBytes] = 0;
    Result = Connection->Api.declare_vtab(Database, Text);
    Connection->Api.free(Text);
    if (Result != SQL_OK) {
        return Result;
    }

    Own = (PSQL_OWN_TABLE)Connection->Api.malloc64(sizeof(*Own));
    if (Own == NULL) {
        return SQL_NOMEM;
    }

    RtlZeroBytes(Own, sizeof(*Own));
    Own->Connection = Connection;
    Own->Table = Registration->Table;
    *Table = &Own->Base;
    return SQL_OK;
}

static
int
SqlDisconnectTable(
    _In_ PSQL_VTAB Table
    )
{
    PSQL_OWN_TABLE Own = (PSQL_OWN_TABLE)Table;

    Own->Connection->Api.free(Own);
    return SQL_OK;
}

static
int
SqlPlanTable(
    _Inout_ PSQL_VTAB Table,
    _Inout_ PSQL_INDEX Index
    )
{
    PSQL_OWN_TABLE Own = (PSQL_OWN_TABLE)Table;

    return SqlMakePlan(Own->Connection, Own->Table, Index);
}

//
// Of a row's number: those that count the rows of a cursor.
//

#define SQL_ROWID_BITS 40

static
int
SqlOpenCursor(
    _In_ PSQL_VTAB Table,
    _Out_ PSQL_VTAB_CURSOR *Cursor
    )
{
    PSQL_OWN_TABLE Own = (PSQL_OWN_TABLE)Table;
    PSQL_CONNECTION Connection = Own->Connection;
    PSQL_CURSOR New;

    *Cursor = NULL;
    New = (PSQL_CURSOR)Connection->Allocator.Allocate(
        Connection->Allocator.Context,
        sizeof(*New));
    if (New == NULL) {
        return SQL_NOMEM;
    }

    New->Connection = Connection;
    New->Table = Own->Table;
    New->IsAtEnd = TRUE;

    //
    // Numbers of rows are those of no other cursor, and go on from one scan to
    // the next: of the terms of an OR, each of which is a scan with a cursor of
    // its own, SQLite leaves out a row whose number it has seen.
    //

    New->Rowid = (LONGLONG)(Connection->NumberOfCursors << SQL_ROWID_BITS &
                            0x7FFFFFFFFFFFFFFFULL);
    Connection->NumberOfCursors += 1;
    *Cursor = &New->Base;
    return SQL_OK;
}

//
// Ends a cursor's scan.  What it has open stays: the next one is often of the
// same.
//

static
VOID
SqlLeaveScan(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    Cursor->NumberAlike = 0;
    SqlEndScan(Cursor, TRUE);
    SqlFreeQuery(Cursor->Connection, &Cursor->Query);
    Cursor->IsAtEnd = TRUE;
}

static
int
SqlCloseCursor(
    _In_ PSQL_VTAB_CURSOR Base
    )
{
    PSQL_CURSOR Cursor = (PSQL_CURSOR)Base;
    PCALLOCATOR Allocator = &Cursor->Connection->Allocator;

    SqlLeaveScan(Cursor);
    SqlForgetScan(Cursor);
    Allocator->Free(Allocator->Context, Cursor);
    return SQL_OK;
}

//
// Takes what came of looking for a row.
//

static
int
SqlTakeRow(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ NTSTATUS Status,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    //
    // Where the reader does without memory, a name or a line is missing: then
    // the rows are not what they are with it.
    //

    if (Cursor->Connection->IsOutOfMemory) {
        Status = STATUS_NO_MEMORY;
    }

    if (NT_SUCCESS(Status)) {
        Cursor->Rowid += 1;
        return SQL_OK;
    }

    Cursor->IsAtEnd = TRUE;
    if (Status == STATUS_END_OF_FILE) {
        return SQL_OK;
    }

    return SqlFailScan(Cursor,
                       "read the session",
                       Status,
                       Text,
                       LengthInBytes);
}

//
// Moves to a row that is not at hand.  Apart from SqlNextRow, which has no
// frame then.
//

__declspec(noinline)
static
int
SqlFindNextRow(
    _Inout_ PSQL_CURSOR Cursor
    )
{
    RTL_WRITER Writer;
    CHAR Message[SQL_MESSAGE_BYTES];
    NTSTATUS Status;

    Status = Cursor->Table->Next(Cursor);
    if (NT_SUCCESS(Status) && !Cursor->IsSideBySide &&
        !Cursor->Connection->IsOutOfMemory) {
        Cursor->Rowid += 1;
        return SQL_OK;
    }

    RtlInitializeBufferWriter(&Writer, Message, sizeof(Message));
    Status = SqlMoveScan(Cursor, Status, &Writer);
    return SqlTakeRow(Cursor, Status, Message, Writer.LengthInBytes);
}

//
// Moves to the next row.
//

static
int
SqlNextRow(
    _Inout_ PSQL_VTAB_CURSOR Base
    )
{
    PSQL_CURSOR Cursor = (PSQL_CURSOR)Base;

    if (Cursor->NumberAlike == 0) {
        return SqlFindNextRow(Cursor);
    }

    Cursor->NumberAlike -= 1;
    Cursor->Rowid += 1;
    return SQL_OK;
}

static
BOOLEAN
SqlIsCounting(
    _In_ const SQL_CURSOR *Cursor
    )
{
    PCSQL_QUERY Query = &Cursor->Query;
    ULONG Column;

    for (Column = 0; Column < Cursor->Table->NumberOfColumns; Column++) {
        if (SQL_IS_ASKED(Query, Column) &&
            Cursor->Table->Columns[Column].Role != SqlRolePath) {
            return FALSE;
        }
    }

    return Query->NumberOfTests == 0 && !Query->IsOrdered;
}

static
int
SqlFilterCursor(
    _Inout_ PSQL_VTAB_CURSOR Base,
    _In_ int Number,
    _In_z_ PCSZ Text,
    _In_ int NumberOfArguments,
    _In_ SQL_VALUE **Arguments
    )
{
    PSQL_CURSOR Cursor = (PSQL_CURSOR)Base;
    PSQL_CONNECTION Connection = Cursor->Connection;
    RTL_WRITER Writer;
    CHAR Message[SQL_MESSAGE_BYTES];
    PCSZ Path;
    ULONG PathLength;
    NTSTATUS Status;

    SqlLeaveScan(Cursor);
    Connection->IsOutOfMemory = FALSE;
    RtlInitializeBufferWriter(&Writer, Message, sizeof(Message));
    Status = SqlReadPlan(Connection,
                         Text,
                         Number != 0,
                         NumberOfArguments,
                         Arguments,
                         &Cursor->Query,
                         &Path,
                         &PathLength);
    if (!NT_SUCCESS(Status)) {
        return SqlFailScan(Cursor, "read the plan", Status, NULL, 0);
    }

    if (Path == NULL && Connection->DefaultPath != NULL) {
        Path = Connection->DefaultPath;
        PathLength = RtlLengthOfString(Path);
    }

    if (Path == NULL) {
        RtlWriteText(&Writer,
                     "its argument is missing, the path of a session, a "
                     "directory of sessions or a pack: %s('PATH')",
                     Cursor->Table->Name);
        return SqlFailScan(Cursor,
                           "read the plan",
                           STATUS_INVALID_PARAMETER,
                           Message,
                           Writer.LengthInBytes);
    }

    Status = SqlOpenScan(Cursor, Path, PathLength, &Writer);
    if (!NT_SUCCESS(Status)) {
        return SqlFailScan(Cursor,
                           "open the session",
                           Status,
                           Message,
                           Writer.LengthInBytes);
    }

    Cursor->IsCounting = SqlIsCounting(Cursor);
    Cursor->IsAtEnd = Cursor->Query.IsEmpty;
    if (Cursor->IsAtEnd) {
        return SQL_OK;
    }

    Status = SqlBeginScan(Cursor, &Writer);
    return SqlTakeRow(Cursor, Status, Message, Writer.LengthInBytes);
}

static
int
SqlIsCursorAtEnd(
    _In_ PSQL_VTAB_CURSOR Base
    )
{
    return ((PSQL_CURSOR)Base)->IsAtEnd;
}

static
int
SqlPutColumn(
    _In_ PSQL_VTAB_CURSOR Base,
    _In_ SQL_RESULT *Result,
    _In_ int Column
    )
{
    PSQL_CURSOR Cursor = (PSQL_CURSOR)Base;

    if (Column < 0 || (ULONG)Column >= Cursor->Table->NumberOfColumns) {
        SqlPutNothing(Cursor, Result);
    } else if (Cursor->Table->Columns[Column].Role == SqlRolePath) {
        SqlPutText(Cursor,
                   Result,
                   Cursor->World->Path,
                   Cursor->World->PathLength);
    } else {
        Cursor->Table->Put(Cursor, Result, (ULONG)Column);
    }

    return SQL_OK;
}

static
int
SqlQueryRowid(
    _In_ PSQL_VTAB_CURSOR Base,
    _Out_ LONGLONG *Rowid
    )
{
    *Rowid = ((PSQL_CURSOR)Base)->Rowid;
    return SQL_OK;
}

static const SQL_MODULE SqlModule = {
    1,
    NULL,
    SqlConnectTable,
    SqlPlanTable,
    SqlDisconnectTable,
    SqlDisconnectTable,
    SqlOpenCursor,
    SqlCloseCursor,
    SqlFilterCursor,
    SqlNextRow,
    SqlIsCursorAtEnd,
    SqlPutColumn,
    SqlQueryRowid,
    { NULL }
};

//
// Frees a table's context, and the connection with the last one.
//

static
VOID
SqlForgetTable(
    _In_ PVOID Context
    )
{
    PSQL_REGISTRATION Registration = (PSQL_REGISTRATION)Context;
    PSQL_CONNECTION Connection = Registration->Connection;
    SQL_FREE *Free = Connection->Api.free;

    Free(Registration);
    Connection->References -= 1;
    if (Connection->References == 0) {
        Free(Connection);
    }
}

_Use_decl_annotations_
int
SqlRegisterTables(
    PSQL_CONNECTION Connection
    )
{
    PSQL_REGISTRATION Registration;
    SQL_FREE *Free = Connection->Api.free;
    ULONG Index;
    int Result = SQL_OK;

    //
    // One reference is this routine's.  SQLite calls SqlForgetTable also for
    // what it does not take.
    //

    Connection->References = 1;
    for (Index = 0;
         Result == SQL_OK && Index < SQL_NUMBER_OF_TABLES;
         Index++) {

        Registration = (PSQL_REGISTRATION)
            Connection->Api.malloc64(sizeof(*Registration));
        if (Registration == NULL) {
            Result = SQL_NOMEM;
            break;
        }

        Registration->Connection = Connection;
        Registration->Table = SqlTables[Index];
        Connection->References += 1;
        Result = Connection->Api.create_module_v2(Connection->Database,
                                                  SqlTables[Index]->Name,
                                                  &SqlModule,
                                                  Registration,
                                                  SqlForgetTable);
    }

    Connection->References -= 1;
    if (Connection->References == 0) {
        Free(Connection);
    }

    return Result;
}
