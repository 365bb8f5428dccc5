/*++

Module Name:

    OutputTable.h

Abstract:

    Rows as text, CSV and JSON.

--*/

#ifndef TRACER_OUTPUT_TABLE_H
#define TRACER_OUTPUT_TABLE_H

#include "../../Rtl/Rtl.h"
#include "../Core/CoreClock.h"
#include "../Base/BaseOptions.h"
#include "OutputColor.h"
#include "OutputGrid.h"

typedef enum _READER_COLUMN_TYPE {
    ReaderColumnText = 0,
    ReaderColumnNumber,
    ReaderColumnBytes,
    ReaderColumnTime,               // given in ticks of the session's clock
    ReaderColumnCpuTime,            // in 100 ns, as the system counts them
    ReaderColumnExactTime,          // in ticks of the time stamp counter
    ReaderColumnHexadecimal,
    ReaderColumnExitCode,
    ReaderColumnDate,               // given as a FILETIME
    ReaderColumnHundredths,         // given times 100: has two decimals
    ReaderColumnSigned,             // these two given as a LONGLONG
    ReaderColumnSignedTime,
    ReaderColumnProcessId,          // number and text that only an output has
    ReaderColumnProcess             // that tells processes apart
} READER_COLUMN_TYPE;

//
// A column's flags.
//

#define READER_COLUMN_NULLABLE      0x1     // some rows have no value
#define READER_COLUMN_DATA          0x2     // only in CSV and JSON
#define READER_COLUMN_OPTIONAL      0x4     // not in every table of the name
#define READER_COLUMN_LESSER        0x8     // a narrow screen does without it
#define READER_COLUMN_ASKED         0x40    // an option asks for it: a narrow
                                            // screen does without others

//
// When text shows a column: if OutputBeginTable gets all of its bits.
//

#define READER_COLUMN_ABANDONED     0x100   // some calls are
#define READER_COLUMN_UNFINISHED    0x200
#define READER_COLUMN_UNCERTAIN     0x400
#define READER_COLUMN_BEGUN_BEFORE  0x800
#define READER_COLUMN_MODULE        0x1000  // there are several
#define READER_COLUMN_LOST          0x2000  // something is
#define READER_COLUMN_WAITED        0x4000  // somebody has
#define READER_COLUMN_OWN(Number)   (0x10000u << (Number))  // 0-15: a table's
#define READER_COLUMN_WHEN          0xFFFFFF00u

//
// The columns of SessionPutProcess; not a table's first.
//

#define READER_PROCESS_COLUMNS_OF(Flags)                                    \
    { "PID", "process_id", ReaderColumnProcessId, 8, Flags,                 \
      "The identifier of the process; only where rows tell processes "      \
      "apart." },                                                           \
    { "Process", "process", ReaderColumnProcess, 16, Flags,                 \
      "The process's image, without its path; likewise." }
#define READER_PROCESS_COLUMNS READER_PROCESS_COLUMNS_OF(0)

#define READER_IS_TEXT_COLUMN(Column)                                       \
    ((Column)->Type == ReaderColumnText ||                                  \
     (Column)->Type == ReaderColumnProcess)

#define READER_IS_TIME_COLUMN(Column)                                       \
    ((Column)->Type == ReaderColumnTime ||                                  \
     (Column)->Type == ReaderColumnSignedTime ||                            \
     (Column)->Type == ReaderColumnCpuTime ||                               \
     (Column)->Type == ReaderColumnExactTime)

typedef struct _READER_COLUMN {
    PCSZ Title;                     // in text
    PCSZ Field;                     // in CSV and JSON; times get _ns
    READER_COLUMN_TYPE Type;
    ULONG Width;                    // in text
    ULONG Flags;                    // READER_COLUMN_*
    PCSZ Meaning;                   // whole sentences, for help and schema;
                                    // NULL: only text has the column
} READER_COLUMN;
typedef const READER_COLUMN *PCREADER_COLUMN;

typedef struct _READER_TABLE {
    PCSZ Name;
    PCREADER_COLUMN Columns;
    ULONG NumberOfColumns;
    BOOLEAN IsList;                 // in text, a line for each cell
    BOOLEAN IsOptional;             // not in every output of the command
    PCSZ Meaning;                   // what its rows are; NULL: only text has it
} READER_TABLE;
typedef const READER_TABLE *PCREADER_TABLE;

typedef struct _READER_OUTPUT {
    PRTL_WRITER Writer;
    READER_FORMAT Format;
    PCCORE_CLOCK Clock;
    PCREADER_TABLE Table;
    BOOLEAN IsLongCsv;              // several tables: table,row,field,value
    BOOLEAN HasProcesses;           // the caller's: there are columns of them
    ULONGLONG HiddenColumns;        // in text: bit N: column N
    ULONG Column;                   // the next cell's
    ULONG NumberOfTables;
    ULONGLONG NumberOfRows;         // of this table
    PREADER_GRID Grid;              // of this table; NULL: it has none
    PCSZ WholeField;                // the caller's: the field whose share of
    ULONGLONG Whole;                // Whole a grid shows; NULL: none
} READER_OUTPUT;
typedef READER_OUTPUT *PREADER_OUTPUT;

//
// Begins a document.
// Writer: where it goes.
// Clock: for times.
// Command: the command's name.
// HasSeveralTables: CSV has one header line, so several tables become rows of
// table, row, field and value.
//

VOID
OutputBeginDocument(
    _Out_ PREADER_OUTPUT Output,
    _In_ PRTL_WRITER Writer,
    _In_ READER_FORMAT Format,
    _In_ PCCORE_CLOCK Clock,
    _In_z_ PCSZ Command,
    _In_ BOOLEAN HasSeveralTables
    );

VOID
OutputEndDocument(
    _Inout_ PREADER_OUTPUT Output
    );

//
// Begins a table and writes its head.
// When: the bits of READER_COLUMN_WHEN that hold: text output leaves out the
// columns that need others.
//

VOID
OutputBeginTable(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_TABLE Table,
    _In_ ULONG When
    );

VOID
OutputEndTable(
    _Inout_ PREADER_OUTPUT Output
    );

//
// Writes a text cell. A row is as many cells as the table has columns, in
// their order.
//

VOID
OutputPutText(
    _Inout_ PREADER_OUTPUT Output,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Writes a text cell.
// String: the text, terminated.
//

VOID
OutputPutString(
    _Inout_ PREADER_OUTPUT Output,
    _In_z_ PCSZ String
    );

//
// A text below Depth levels of indentation, which only text output shows.
//

VOID
OutputPutIndentedText(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Depth,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Writes a cell that is not text. A number, time, date or hexadecimal, as the
// column's type says.
//

VOID
OutputPutNumber(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Number
    );

//
// Writes a cell that has no value.
//

VOID
OutputPutNothing(
    _Inout_ PREADER_OUTPUT Output
    );

//
// A line outside the tables, in text output alone; it is written in as many as
// a terminal's width needs.
//

VOID
OutputPutNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_z_ PCSZ Line
    );

//
// The same for a line that is put together: it is written to the note's writer,
// without its end.  What does not fit is cut.
//

#define READER_NOTE_BYTES 1536

typedef struct _READER_NOTE {
    RTL_WRITER Writer;
    CHAR Text[READER_NOTE_BYTES];
} READER_NOTE;
typedef READER_NOTE *PREADER_NOTE;

VOID
OutputBeginNote(
    _Out_ PREADER_NOTE Note
    );

VOID
OutputEndNote(
    _Inout_ PREADER_OUTPUT Output,
    _Inout_ PREADER_NOTE Note
    );

//
// Says, in text output, how many rows --limit has left out, if any; What is
// "function", say.
// Output: the output, between tables.
// Count: how many; 0: nothing is said.
//

VOID
OutputPutMore(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Count,
    _In_z_ PCSZ What
    );

//
// A clock's name: "tsc", "thread", "none".  A literal.
//

PCSZ
OutputDescribeClock(
    _In_ PCCORE_CLOCK Clock
    );

//
// Writes a time in human units, right aligned in ten columns: "  1.234 ms",
// no finer than the clock is; with --raw whole nanoseconds in fourteen.
// Clock: the clock; when its rate is not known the ticks are written.
//

VOID
OutputWriteTime(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks
    );

#define READER_TIME_WIDTH 10
#define READER_RAW_TIME_WIDTH 14

//
// Writes a number of bytes in human units: "1.50 MiB".
//

VOID
OutputWriteSize(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Bytes
    );

//
// Writes a text as a field of comma-separated values, cleaned, in quotes if it
// needs them, and such that no spreadsheet takes it for a formula
// (Docs/Reader.md has the rule).  With a Qualifier it is Qualifier!Text.
//
// Qualifier, QualifierLength: what stands before it, with ! between, if
// Qualifier is not NULL.
//

VOID
OutputWriteCsvText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_opt_(QualifierLength) const CHAR *Qualifier,
    _In_ ULONG QualifierLength,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

//
// Writes Qualifier!Text as a field of values that are separated by tabs. The
// same with tabs for commas, which has no quotes: only the beginning is looked
// at.
//

VOID
OutputWriteTabText(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(QualifierLength) const CHAR *Qualifier,
    _In_ ULONG QualifierLength,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

#endif // TRACER_OUTPUT_TABLE_H
