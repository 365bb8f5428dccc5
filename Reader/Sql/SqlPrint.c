/*++

Module Name:

    SqlPrint.c

Abstract:

    A statement is run and its rows are written: as a table, CSV or JSON.

    A table's columns are as wide as what the first rows have; these wait until
    they are known.

--*/

#include "../Base/BaseContainer.h"
#include "../Export/ExportText.h"
#include "../Output/OutputTable.h"
#include "../Output/OutputWidth.h"
#include "SqlPrint.h"

#define SQL_NAME_OF(Type, Name) "sqlite3_" #Name,

static const PCSZ SqlPrintNames[] = { SQL_PRINT_ROUTINES(SQL_NAME_OF) };

C_ASSERT(sizeof(SqlPrintNames) == sizeof(SQL_PRINT_API));

//
// Rows that are looked at for the widths.
//

#define SQL_ROWS_FOR_WIDTH 500u

typedef struct _SQL_CELL {
    PCHAR Text;                     // allocated, or NULL: no value
    ULONG LengthInBytes;
    BOOLEAN IsNumber;
} SQL_CELL;
typedef SQL_CELL *PSQL_CELL;

typedef struct _SQL_PRINTING {
    PCREADER_CONTEXT Context;
    PCSQL_PRINT_API Api;
    SQL_STATEMENT *Statement;
    READER_FORMAT Format;
    ULONG NumberOfColumns;
    PULONG Widths;                  // by column
    PSQL_CELL Cells;                // of the rows that wait
    ULONG Capacity;
    ULONG NumberOfRows;             // that wait
    ULONGLONG RowsWritten;
    BOOLEAN IsHeadWritten;
} SQL_PRINTING;
typedef SQL_PRINTING *PSQL_PRINTING;

_Use_decl_annotations_
NTSTATUS
SqlLoadPrintRoutines(
    PSQL_PRINT_API Api,
    HMODULE Module,
    PCSZ *Missing
    )
{
    ULONG First = 0;

    *Missing = NULL;
    if (RtlLoadSymbols(Module,
                       SqlPrintNames,
                       (PVOID *)Api,
                       RTL_NUMBER_OF(SqlPrintNames),
                       &First) != 0) {
        *Missing = SqlPrintNames[First];
        return STATUS_ENTRYPOINT_NOT_FOUND;
    }

    return STATUS_SUCCESS;
}

static
BOOLEAN
SqlIsNumber(
    _In_ const SQL_PRINTING *Printing,
    _In_ ULONG Column
    )
{
    int Type = Printing->Api->column_type(Printing->Statement, (int)Column);

    return Type == SQL_INTEGER || Type == SQL_FLOAT;
}

static
VOID
SqlWriteBlanks(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONG Width,
    _In_ ULONG Used
    )
{
    if (Width > Used) {
        RtlWriteText(Writer, "%*s", (int)(Width - Used), "");
    }
}

//
// Writes a cell of a table; the last of a row is not filled up.
//

static
VOID
SqlWriteCell(
    _In_ const SQL_PRINTING *Printing,
    _In_ ULONG Column,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes,
    _In_ BOOLEAN IsNumber
    )
{
    PRTL_WRITER Writer = Printing->Context->Output;
    ULONG Used = OutputMeasureCells(Text, LengthInBytes);
    BOOLEAN IsLast = Column + 1 == Printing->NumberOfColumns;

    if (IsNumber) {
        SqlWriteBlanks(Writer, Printing->Widths[Column], Used);
    }

    RtlWriteCleanText(Writer, Text, LengthInBytes);
    if (!IsNumber && !IsLast) {
        SqlWriteBlanks(Writer, Printing->Widths[Column], Used);
    }

    RtlWriteText(Writer, IsLast ? "\n" : "  ");
}

//
// Writes the head and the rows that wait.
//

static
VOID
SqlWriteWaiting(
    _Inout_ PSQL_PRINTING Printing
    )
{
    PCALLOCATOR Allocator = Printing->Context->Allocator;
    PSQL_CELL Cell;
    PCSZ Name;
    ULONG Column;
    ULONG Row;

    if (!Printing->IsHeadWritten) {
        Printing->IsHeadWritten = TRUE;
        for (Column = 0; Column < Printing->NumberOfColumns; Column++) {
            Name = Printing->Api->column_name(Printing->Statement,
                                              (int)Column);
            SqlWriteCell(Printing,
                         Column,
                         Name,
                         RtlLengthOfString(Name),
                         Printing->NumberOfRows != 0 &&
                             Printing->Cells[Column].IsNumber);
        }
    }

    for (Row = 0; Row < Printing->NumberOfRows; Row++) {
        for (Column = 0; Column < Printing->NumberOfColumns; Column++) {
            Cell = &Printing->Cells[Row * Printing->NumberOfColumns + Column];
            SqlWriteCell(Printing,
                         Column,
                         Cell->Text != NULL ? Cell->Text : "",
                         Cell->LengthInBytes,
                         Cell->IsNumber);
            Allocator->Free(Allocator->Context, Cell->Text);
            Cell->Text = NULL;
        }
    }

    Printing->NumberOfRows = 0;
}

//
// Keeps a row until the widths are known.
//

_Must_inspect_result_
static
NTSTATUS
SqlKeepRow(
    _Inout_ PSQL_PRINTING Printing
    )
{
    PCALLOCATOR Allocator = Printing->Context->Allocator;
    PSQL_CELL Cell;
    PCSZ Text;
    ULONG Column;
    ULONG Width;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Printing->Cells,
                           &Printing->Capacity,
                           (Printing->NumberOfRows + 1) *
                               Printing->NumberOfColumns,
                           sizeof(SQL_CELL));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Cell = &Printing->Cells[Printing->NumberOfRows *
                            Printing->NumberOfColumns];
    Printing->NumberOfRows += 1;
    for (Column = 0; Column < Printing->NumberOfColumns; Column++, Cell++) {

        Cell->IsNumber = SqlIsNumber(Printing, Column);
        Cell->LengthInBytes = 0;
        Cell->Text = NULL;
        Text = Printing->Api->column_text(Printing->Statement, (int)Column);
        if (Text == NULL) {
            continue;
        }

        Cell->LengthInBytes = (ULONG)
            Printing->Api->column_bytes(Printing->Statement, (int)Column);
        Cell->Text = (PCHAR)
            Allocator->Allocate(Allocator->Context,
                                (SIZE_T)Cell->LengthInBytes + 1);
        if (Cell->Text == NULL) {
            Cell->LengthInBytes = 0;
            return STATUS_NO_MEMORY;
        }

        RtlCopyBytes(Cell->Text, Text, Cell->LengthInBytes);
        Width = OutputMeasureCells(Cell->Text, Cell->LengthInBytes);
        if (Width > Printing->Widths[Column]) {
            Printing->Widths[Column] = Width;
        }
    }

    return STATUS_SUCCESS;
}

static
VOID
SqlWriteCsvHead(
    _In_ const SQL_PRINTING *Printing
    )
{
    PRTL_WRITER Writer = Printing->Context->Output;
    ULONG Column;
    PCSZ Name;

    for (Column = 0; Column < Printing->NumberOfColumns; Column++) {
        Name = Printing->Api->column_name(Printing->Statement, (int)Column);
        RtlWriteText(Writer, Column == 0 ? "" : ",");
        OutputWriteCsvText(Writer, NULL, 0, Name, RtlLengthOfString(Name));
    }

    RtlWriteText(Writer, "\n");
}

//
// Writes a row of CSV or JSON.
//

static
VOID
SqlWriteRow(
    _In_ const SQL_PRINTING *Printing
    )
{
    PRTL_WRITER Writer = Printing->Context->Output;
    BOOLEAN IsJson = Printing->Format == ReaderFormatJson;
    PCSZ Name;
    PCSZ Text;
    ULONG Length;
    ULONG Column;

    if (IsJson) {
        RtlWriteText(Writer, Printing->RowsWritten == 0 ? "[\n{" : ",\n{");
    }

    for (Column = 0; Column < Printing->NumberOfColumns; Column++) {

        RtlWriteText(Writer, Column == 0 ? "" : ",");
        if (IsJson) {
            Name = Printing->Api->column_name(Printing->Statement,
                                              (int)Column);
            ExportWriteJsonText(Writer, Name, RtlLengthOfString(Name));
            RtlWriteText(Writer, ":");
        }

        Text = Printing->Api->column_text(Printing->Statement, (int)Column);
        Length = (ULONG)
            Printing->Api->column_bytes(Printing->Statement, (int)Column);
        if (Text == NULL) {
            RtlWriteText(Writer, IsJson ? "null" : "");
        } else if (SqlIsNumber(Printing, Column)) {

            //
            // JSON has no infinity.
            //

            if (IsJson && Length != 0 &&
                (Text[Length - 1] < '0' || Text[Length - 1] > '9')) {
                RtlWriteText(Writer, "null");
            } else {
                RtlWriteBytes(Writer, Text, Length);
            }
        } else if (IsJson) {
            ExportWriteJsonText(Writer, Text, Length);
        } else {
            OutputWriteCsvText(Writer, NULL, 0, Text, Length);
        }
    }

    RtlWriteText(Writer, IsJson ? "}" : "\n");
}

//
// Runs the prepared statement.  Returns SQLite's result.
//

static
int
SqlWriteRows(
    _Inout_ PSQL_PRINTING Printing
    )
{
    int Result;

    if (Printing->Format == ReaderFormatCsv) {
        SqlWriteCsvHead(Printing);
    }

    while ((Result = Printing->Api->step(Printing->Statement)) == SQL_ROW) {

        if (Printing->Format != ReaderFormatText) {
            SqlWriteRow(Printing);
        } else {
            if (!NT_SUCCESS(SqlKeepRow(Printing))) {
                return SQL_NOMEM;
            }

            if (Printing->IsHeadWritten ||
                Printing->NumberOfRows == SQL_ROWS_FOR_WIDTH) {
                SqlWriteWaiting(Printing);
            }
        }

        Printing->RowsWritten += 1;
    }

    if (Printing->Format == ReaderFormatText) {
        SqlWriteWaiting(Printing);
    } else if (Printing->Format == ReaderFormatJson) {
        RtlWriteText(Printing->Context->Output,
                     Printing->RowsWritten == 0 ? "[]\n" : "\n]\n");
    }

    return Result;
}

//
// Makes room for what is known of the columns.
//

_Must_inspect_result_
static
NTSTATUS
SqlMeasureNames(
    _Inout_ PSQL_PRINTING Printing
    )
{
    PCALLOCATOR Allocator = Printing->Context->Allocator;
    PCSZ Name;
    ULONG Column;

    Printing->NumberOfColumns =
        (ULONG)Printing->Api->column_count(Printing->Statement);
    Printing->Widths = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Printing->NumberOfColumns + 1) *
                                sizeof(ULONG));
    if (Printing->Widths == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Column = 0; Column < Printing->NumberOfColumns; Column++) {
        Name = Printing->Api->column_name(Printing->Statement, (int)Column);
        if (Name == NULL) {
            return STATUS_NO_MEMORY;
        }

        Printing->Widths[Column] = OutputMeasureCells(Name,
                                                     RtlLengthOfString(Name));
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
ULONG
SqlPrint(
    PCREADER_CONTEXT Context,
    PCSQL_PRINT_API Api,
    SQL_DATABASE *Database,
    PCSZ Text,
    READER_FORMAT Format
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    SQL_PRINTING Printing;
    PCSZ Tail = NULL;
    PCSZ Problem = NULL;
    ULONG Index;
    int Result;

    RtlZeroBytes(&Printing, sizeof(Printing));
    Printing.Context = Context;
    Printing.Api = Api;
    Printing.Format = Format;
    Result = Api->prepare_v2(Database, Text, -1, &Printing.Statement, &Tail);
    while (Result == SQL_OK && Tail != NULL &&
           (*Tail == ' ' || *Tail == '\n' || *Tail == '\r' || *Tail == '\t' ||
            *Tail == ';')) {
        Tail += 1;
    }

    if (Result == SQL_OK && Printing.Statement == NULL) {
        Problem = "there is no statement";
    } else if (Result == SQL_OK && Tail != NULL && *Tail != 0) {
        Problem = "there is more than one statement";
    } else if (Result == SQL_OK) {
        Result = NT_SUCCESS(SqlMeasureNames(&Printing))
                     ? SqlWriteRows(&Printing)
                     : SQL_NOMEM;
    }

    if (Problem == NULL && Result != SQL_DONE) {
        Problem = Result == SQL_NOMEM ? "there is not enough memory"
                                      : Api->errmsg(Database);
    }

    if (Problem != NULL) {
        RtlFlushWriter(Context->Output);
        RtlWriteText(Context->Errors, "TraceReader: sql: %T\n", Problem);
        RtlFlushWriter(Context->Errors);
    }

    if (Printing.Statement != NULL) {
        Api->finalize(Printing.Statement);
    }

    for (Index = 0;
         Index < Printing.NumberOfRows * Printing.NumberOfColumns;
         Index++) {
        Allocator->Free(Allocator->Context, Printing.Cells[Index].Text);
    }

    Allocator->Free(Allocator->Context, Printing.Cells);
    Allocator->Free(Allocator->Context, Printing.Widths);
    return Problem == NULL ? READER_EXIT_SUCCESS : READER_EXIT_FAILURE;
}
