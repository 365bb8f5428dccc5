/*++

Module Name:

    ExportTable.h

Abstract:

    A table in Parquet files: columns, pages, row groups, and files of bounded
    size.  What is kept in memory is a row group, as it will be in the file.

--*/

#ifndef TRACER_EXPORT_TABLE_H
#define TRACER_EXPORT_TABLE_H

#include "../Base/BaseFile.h"
#include "ExportThrift.h"

//
// A page's numbers are to fit a processor's second cache.
//

#define READER_PAGE_ROWS  0x2000u
#define READER_GROUP_ROWS 0x100000u

//
// What a column is of.  Those of keys are a number in the file's dictionary for
// each row; a key is the caller's own number of what it stands for, which is
// asked for when a row group ends.  A list is of any number of 64-bit numbers.
//

typedef enum _READER_CELL_KIND {
    ReaderCellText = 0,             // these three are of keys
    ReaderCellNumberKey,            // 32 bits
    ReaderCellTimeKey,              // microseconds since 1970, UTC
    ReaderCellNumber32,
    ReaderCellNumber64,
    ReaderCellList
} READER_CELL_KIND;

typedef struct _READER_CELL_COLUMN {
    PCSZ Name;
    READER_CELL_KIND Kind;
} READER_CELL_COLUMN;
typedef const READER_CELL_COLUMN *PCREADER_CELL_COLUMN;

typedef struct _READER_CELL {
    const CHAR *Text;               // UTF-8, or nearly
    ULONG Length;                   // bytes
    LONGLONG Number;
} READER_CELL;
typedef READER_CELL *PREADER_CELL;

//
// Says what a key of a column stands for.  The text is used before the next
// one is asked for.
//

typedef
VOID
(READER_CELL_ROUTINE)(
    _In_ PVOID Context,
    _In_ ULONG Column,
    _In_ ULONG Key,
    _Out_ PREADER_CELL Cell
    );
typedef READER_CELL_ROUTINE *PREADER_CELL_ROUTINE;

typedef struct _READER_TABLE_COLUMN {
    READER_CELL_KIND Kind;
    PULONGLONG Values;              // of the page: numbers, or a list's
    PULONG Codes;                   // of the page: places in the dictionary
    ULONG Uniform;                  // the one that all rows of the page have,
    BOOLEAN IsFilled;               // unless the codes are filled in
    PULONG CodeOfKey;               // by key, the place plus 1; 0: none yet
    ULONG CapacityOfCodes;
    PULONG Keys;                    // by place
    ULONG NumberOfKeys;
    ULONG CapacityOfKeys;
    ULONG NumberOfValues;           // of a list's elements in the page
    ULONG CapacityOfValues;
    PULONG Levels;                  // of a list: 1 repeated, 2 there is a value
    ULONG NumberOfLevels;
    ULONG CapacityOfLevels;
    BOOLEAN IsInList;               // the row's list has an element
    LONGLONG Minimum;               // of the row group
    LONGLONG Maximum;
    ULONGLONG ValuesInGroup;
    READER_BYTES Pages;             // of the row group
} READER_TABLE_COLUMN;
typedef READER_TABLE_COLUMN *PREADER_TABLE_COLUMN;

#define READER_MAXIMUM_CELLS 40u

typedef struct _READER_CELL_TABLE {
    PCREADER_CONTEXT Context;       // these up to PartSize are the caller's
    PCREADER_CELL_COLUMN Columns;
    ULONG NumberOfColumns;
    PREADER_CELL_ROUTINE Cell;
    PVOID CellContext;
    BOOLEAN IsPlain;                // numbers as they are, and nothing that
                                    // is not in version 1 of the format
    BOOLEAN HasVectors;             // the processor has AVX2
    PWSTR Path;                     // without extension, which is .parquet
    PCSZ PathUtf8;                  // the same, for messages
    ULONGLONG PartSize;             // a file that has as many bytes is ended,
                                    // after the page with which it has them
    READER_TABLE_COLUMN Cells[READER_MAXIMUM_CELLS];
    ULONG RowsInPage;
    ULONG RowsInGroup;              // those of the page apart
    ULONGLONG RowsInPart;
    ULONGLONG NumberOfRows;
    ULONGLONG NumberOfBytes;        // of the files that are whole
    ULONG NumberOfGroups;           // in the part
    READER_BYTES Groups;            // what the footer says of them
    READER_BYTES Scratch;
    struct _READER_TABLE_PART *Parts;   // the last one first
    ULONG NumberOfParts;
    BOOLEAN IsPartOpen;             // the last one is not at its end
    BOOLEAN HasFailed;              // and that has been written
    NTSTATUS Status;
} READER_CELL_TABLE;
typedef READER_CELL_TABLE *PREADER_CELL_TABLE;

//
// Makes room for a page of each column.  Table is zero but for the caller's
// fields; to be closed even after a failure.
//

_Must_inspect_result_
NTSTATUS
ExportTableOpen(
    _Inout_ PREADER_CELL_TABLE Table
    );

//
// How many rows may be filled in before they are added.
//

#define READER_TABLE_ROOM(Table) (READER_PAGE_ROWS - (Table)->RowsInPage)

//
// Where the numbers of the next rows go.
//

#define READER_TABLE_NUMBERS(Table, Column)                                 \
    ((Table)->Cells[Column].Values + (Table)->RowsInPage)

//
// Finds a key's place in the dictionary; 0 after a failure.
//

ULONG
ExportTableFindCode(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG Column,
    _In_ ULONG Key
    );

//
// The same key for the next Count rows.
//

VOID
ExportTablePutKey(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG Column,
    _In_ ULONG Key,
    _In_ ULONG Count
    );

//
// Where the places of the next rows' keys go, each of its own.
//

PULONG
ExportTableBeginCodes(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG Column
    );

//
// The next element of the next row's list; ends the list.
//

VOID
ExportTablePutElement(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG Column,
    _In_ ULONGLONG Value
    );

VOID
ExportTableEndList(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG Column
    );

//
// Adds rows of which every column was filled in.
//

VOID
ExportTableAddRows(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG Count
    );

//
// Writes what is left, and ends the last file, which is still without its name.
// FALSE: something has failed, and has been written.
//

_Must_inspect_result_
BOOLEAN
ExportTableFinish(
    _Inout_ PREADER_CELL_TABLE Table
    );

//
// Gives the files their names, or removes them, and frees everything.
// Returns READER_EXIT_*; a failure has been written.
//

ULONG
ExportTableClose(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ BOOLEAN IsComplete
    );

#endif // TRACER_EXPORT_TABLE_H
