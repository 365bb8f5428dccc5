/*++

Module Name:

    ExportTable.c

Abstract:

    A table in Parquet files (github.com/apache/parquet-format): a file is the
    magic number, row groups, each the pages of one column after another, and
    the footer, which says where they are and what is in them.

    A page has the values of up to 8,192 rows.   Keys are places in the row
    group's dictionary, numbers are differences.  Nothing is compressed.

--*/

#include "../Base/BaseContainer.h"
#include "../Base/BaseErrors.h"
#include "ExportEncode.h"
#include "ExportTable.h"
#include "ExportVectors.h"

#define READER_TABLE_EXTENSION L".parquet"

//
// Longer texts are not in the statistics.
//

#define READER_LONGEST_BOUND 64u

//
// Numbers of the format's enumerations.
//

#define PARQUET_INT32           1
#define PARQUET_INT64           2
#define PARQUET_BYTE_ARRAY      6

#define PARQUET_REQUIRED        0
#define PARQUET_OPTIONAL        1
#define PARQUET_REPEATED        2

#define PARQUET_UTF8            0
#define PARQUET_LIST            3
#define PARQUET_TIMESTAMP       10      // microseconds

#define PARQUET_PLAIN           0
#define PARQUET_PLAIN_DICTIONARY 2
#define PARQUET_RLE             3
#define PARQUET_DELTA           5
#define PARQUET_RLE_DICTIONARY  8

#define PARQUET_DATA_PAGE       0
#define PARQUET_DICTIONARY_PAGE 2

#define READER_IS_KEY(Kind) ((Kind) <= ReaderCellTimeKey)

static const CHAR ReaderParquetMagic[4] = { 'P', 'A', 'R', '1' };

typedef struct _READER_TABLE_PART {
    struct _READER_TABLE_PART *Next;
    READER_FILE File;
    PWSTR Path;
    PCHAR PathUtf8;
} READER_TABLE_PART;
typedef READER_TABLE_PART *PREADER_TABLE_PART;


//
// Keeps the first failure.
//

static
VOID
ExportTableFail(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ NTSTATUS Status
    )
{
    if (NT_SUCCESS(Table->Status)) {
        Table->Status = Status;
    }
}


_Use_decl_annotations_
NTSTATUS
ExportTableOpen(
    PREADER_CELL_TABLE Table
    )
{
    PCALLOCATOR Allocator = Table->Context->Allocator;
    PREADER_TABLE_COLUMN Column;
    ULONG Index;

    Table->Groups.Allocator = Allocator;
    Table->Scratch.Allocator = Allocator;
    for (Index = 0; Index < Table->NumberOfColumns; Index++) {

        Column = &Table->Cells[Index];
        Column->Kind = Table->Columns[Index].Kind;
        Column->Minimum = 0x7FFFFFFFFFFFFFFFLL;
        Column->Maximum = -0x7FFFFFFFFFFFFFFFLL - 1;
        Column->Pages.Allocator = Allocator;
        if (READER_IS_KEY(Column->Kind)) {
            Column->Codes = (PULONG)
                Allocator->Allocate(Allocator->Context,
                                    READER_PAGE_ROWS * sizeof(ULONG));
            if (Column->Codes == NULL) {
                return STATUS_NO_MEMORY;
            }
        } else if (Column->Kind != ReaderCellList) {
            Column->Values = (PULONGLONG)
                Allocator->Allocate(Allocator->Context,
                                    READER_PAGE_ROWS * sizeof(ULONGLONG));
            if (Column->Values == NULL) {
                return STATUS_NO_MEMORY;
            }
        }
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONG
ExportTableFindCode(
    PREADER_CELL_TABLE Table,
    ULONG ColumnIndex,
    ULONG Key
    )
{
    PCALLOCATOR Allocator = Table->Context->Allocator;
    PREADER_TABLE_COLUMN Column = &Table->Cells[ColumnIndex];
    NTSTATUS Status;

    if (Key < Column->CapacityOfCodes && Column->CodeOfKey[Key] != 0) {
        return Column->CodeOfKey[Key] - 1;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Column->CodeOfKey,
                           &Column->CapacityOfCodes,
                           Key + 1,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Column->Keys,
                               &Column->CapacityOfKeys,
                               Column->NumberOfKeys + 1,
                               sizeof(ULONG));
    }

    if (!NT_SUCCESS(Status)) {
        ExportTableFail(Table, Status);
        return 0;
    }

    Column->Keys[Column->NumberOfKeys] = Key;
    Column->NumberOfKeys += 1;
    Column->CodeOfKey[Key] = Column->NumberOfKeys;
    return Column->NumberOfKeys - 1;
}


_Use_decl_annotations_
PULONG
ExportTableBeginCodes(
    PREADER_CELL_TABLE Table,
    ULONG ColumnIndex
    )
{
    PREADER_TABLE_COLUMN Column = &Table->Cells[ColumnIndex];
    ULONG Index;

    if (!Column->IsFilled) {
        for (Index = 0; Index < Table->RowsInPage; Index++) {
            Column->Codes[Index] = Column->Uniform;
        }

        Column->IsFilled = TRUE;
    }

    return Column->Codes + Table->RowsInPage;
}


_Use_decl_annotations_
VOID
ExportTablePutKey(
    PREADER_CELL_TABLE Table,
    ULONG ColumnIndex,
    ULONG Key,
    ULONG Count
    )
{
    PREADER_TABLE_COLUMN Column = &Table->Cells[ColumnIndex];
    ULONG Code = ExportTableFindCode(Table, ColumnIndex, Key);
    PULONG Codes;
    ULONG Index;

    if (!Column->IsFilled &&
        (Table->RowsInPage == 0 || Column->Uniform == Code)) {
        Column->Uniform = Code;
        return;
    }

    Codes = ExportTableBeginCodes(Table, ColumnIndex);
    for (Index = 0; Index < Count; Index++) {
        Codes[Index] = Code;
    }
}


static
VOID
ExportTablePutLevel(
    _Inout_ PREADER_CELL_TABLE Table,
    _Inout_ PREADER_TABLE_COLUMN Column,
    _In_ ULONG Level
    )
{
    NTSTATUS Status;

    Status = BaseGrowArray(Table->Context->Allocator,
                           (PVOID *)&Column->Levels,
                           &Column->CapacityOfLevels,
                           Column->NumberOfLevels + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        ExportTableFail(Table, Status);
        return;
    }

    Column->Levels[Column->NumberOfLevels] = Level;
    Column->NumberOfLevels += 1;
}


_Use_decl_annotations_
VOID
ExportTablePutElement(
    PREADER_CELL_TABLE Table,
    ULONG ColumnIndex,
    ULONGLONG Value
    )
{
    PREADER_TABLE_COLUMN Column = &Table->Cells[ColumnIndex];
    NTSTATUS Status;

    Status = BaseGrowArray(Table->Context->Allocator,
                           (PVOID *)&Column->Values,
                           &Column->CapacityOfValues,
                           Column->NumberOfValues + 1,
                           sizeof(ULONGLONG));
    if (!NT_SUCCESS(Status)) {
        ExportTableFail(Table, Status);
        return;
    }

    Column->Values[Column->NumberOfValues] = Value;
    Column->NumberOfValues += 1;
    ExportTablePutLevel(Table, Column, Column->IsInList ? 3 : 2);
    Column->IsInList = TRUE;
}


_Use_decl_annotations_
VOID
ExportTableEndList(
    PREADER_CELL_TABLE Table,
    ULONG ColumnIndex
    )
{
    PREADER_TABLE_COLUMN Column = &Table->Cells[ColumnIndex];

    if (!Column->IsInList) {
        ExportTablePutLevel(Table, Column, 0);
    }

    Column->IsInList = FALSE;
}


//
// Writes a page's header to Bytes.
//

static
VOID
ExportTablePutPageHeader(
    _Inout_ PREADER_BYTES Bytes,
    _In_ LONG Type,
    _In_ SIZE_T Size,
    _In_ ULONG NumberOfValues,
    _In_ LONG Encoding
    )
{
    READER_THRIFT Thrift;

    RtlZeroBytes(&Thrift, sizeof(Thrift));
    Thrift.Bytes = Bytes;
    ExportThriftPutNumber(&Thrift, 1, READER_THRIFT_INT32, Type);
    ExportThriftPutNumber(&Thrift, 2, READER_THRIFT_INT32, (LONGLONG)Size);
    ExportThriftPutNumber(&Thrift, 3, READER_THRIFT_INT32, (LONGLONG)Size);
    ExportThriftBegin(&Thrift, Type == PARQUET_DATA_PAGE ? 5 : 7);
    ExportThriftPutNumber(&Thrift, 1, READER_THRIFT_INT32, NumberOfValues);
    ExportThriftPutNumber(&Thrift, 2, READER_THRIFT_INT32, Encoding);
    if (Type == PARQUET_DATA_PAGE) {
        ExportThriftPutNumber(&Thrift, 3, READER_THRIFT_INT32, PARQUET_RLE);
        ExportThriftPutNumber(&Thrift, 4, READER_THRIFT_INT32, PARQUET_RLE);
    }

    ExportThriftEnd(&Thrift);
    ExportThriftEnd(&Thrift);
}


//
// One of a list's two kinds of levels, with their size before them.
//

static
VOID
ExportTablePutLevels(
    _Inout_ PREADER_BYTES Bytes,
    _Inout_ PREADER_TABLE_COLUMN Column,
    _In_ ULONG Bit
    )
{
    SIZE_T Start = Bytes->Length;
    ULONG Size = 0;
    ULONG Index;
    PULONG Levels = Column->Levels + Column->NumberOfLevels;

    //
    // The bits are apart behind the levels: there is room for twice as many.
    //

    for (Index = 0; Index < Column->NumberOfLevels; Index++) {
        Levels[Index] = (Column->Levels[Index] >> Bit) & 1;
    }

    ExportThriftAppend(Bytes, &Size, sizeof(Size));
    ExportEncodePacked(Bytes, Levels, Column->NumberOfLevels, 1);
    if (NT_SUCCESS(Bytes->Status)) {
        Size = (ULONG)(Bytes->Length - Start - sizeof(Size));
        RtlCopyBytes(Bytes->Bytes + Start, &Size, sizeof(Size));
    }
}


//
// Takes the smallest and largest numbers of a page: two at a time, so that the
// one does not wait for the other.
//

static
VOID
ExportTableNoteBounds(
    _Inout_ PREADER_TABLE_COLUMN Column,
    _In_ ULONG Rows
    )
{
    LONGLONG Minimum = Column->Minimum;
    LONGLONG Maximum = Column->Maximum;
    LONGLONG OtherMinimum = Minimum;
    LONGLONG OtherMaximum = Maximum;
    ULONG Index;

    for (Index = 0; Index + 1 < Rows; Index += 2) {

        LONGLONG One = (LONGLONG)Column->Values[Index];
        LONGLONG Other = (LONGLONG)Column->Values[Index + 1];

        Minimum = One < Minimum ? One : Minimum;
        Maximum = One > Maximum ? One : Maximum;
        OtherMinimum = Other < OtherMinimum ? Other : OtherMinimum;
        OtherMaximum = Other > OtherMaximum ? Other : OtherMaximum;
    }

    if (Index < Rows) {

        LONGLONG Last = (LONGLONG)Column->Values[Index];

        Minimum = Last < Minimum ? Last : Minimum;
        Maximum = Last > Maximum ? Last : Maximum;
    }

    Column->Minimum = OtherMinimum < Minimum ? OtherMinimum : Minimum;
    Column->Maximum = OtherMaximum > Maximum ? OtherMaximum : Maximum;
}


//
// Encodes a column's page into Scratch.
// Returns the encoding.
//

static
LONG
ExportTableEncodePage(
    _Inout_ PREADER_CELL_TABLE Table,
    _Inout_ PREADER_TABLE_COLUMN Column
    )
{
    PREADER_BYTES Bytes = &Table->Scratch;
    ULONG Rows = Table->RowsInPage;
    ULONG Width;
    UCHAR Byte;

    if (READER_IS_KEY(Column->Kind)) {

        Width = ExportEncodeQueryWidth(Column->NumberOfKeys - 1);
        Byte = (UCHAR)Width;
        ExportThriftAppend(Bytes, &Byte, sizeof(Byte));
        if (Column->IsFilled) {
            ExportEncodePacked(Bytes, Column->Codes, Rows, Width);
        } else {
            ExportEncodeRun(Bytes, Column->Uniform, Rows, Width);
        }

        return Table->IsPlain ? PARQUET_PLAIN_DICTIONARY
                              : PARQUET_RLE_DICTIONARY;
    }

    if (Column->Kind == ReaderCellList) {

        NTSTATUS Status = BaseGrowArray(Table->Context->Allocator,
                                        (PVOID *)&Column->Levels,
                                        &Column->CapacityOfLevels,
                                        2 * Column->NumberOfLevels,
                                        sizeof(ULONG));

        if (!NT_SUCCESS(Status)) {
            ExportTableFail(Table, Status);
            return PARQUET_PLAIN;
        }

        ExportTablePutLevels(Bytes, Column, 0);
        ExportTablePutLevels(Bytes, Column, 1);
        Rows = Column->NumberOfValues;

    } else {

        if (Table->HasVectors) {
            ExportVectorBounds(Column->Values,
                               Rows,
                               &Column->Minimum,
                               &Column->Maximum);
        } else {
            ExportTableNoteBounds(Column, Rows);
        }
    }

    if (Table->IsPlain) {
        ExportEncodePlain(Bytes,
                          Column->Values,
                          Rows,
                          Column->Kind == ReaderCellNumber32 ? 4 : 8);
        return PARQUET_PLAIN;
    }

    ExportEncodeDelta(Bytes, Column->Values, Rows, Table->HasVectors);
    return PARQUET_DELTA;
}


//
// Ends the page.
//

static
VOID
ExportTableEndPage(
    _Inout_ PREADER_CELL_TABLE Table
    )
{
    PREADER_TABLE_COLUMN Column;
    ULONG Index;
    ULONG Count;
    LONG Encoding;

    if (Table->RowsInPage == 0 || !NT_SUCCESS(Table->Status)) {
        return;
    }

    for (Index = 0; Index < Table->NumberOfColumns; Index++) {

        Column = &Table->Cells[Index];
        Table->Scratch.Length = 0;
        Encoding = ExportTableEncodePage(Table, Column);
        Count = Column->Kind == ReaderCellList ? Column->NumberOfLevels
                                               : Table->RowsInPage;
        ExportTablePutPageHeader(&Column->Pages,
                                 PARQUET_DATA_PAGE,
                                 Table->Scratch.Length,
                                 Count,
                                 Encoding);
        ExportThriftAppend(&Column->Pages,
                           Table->Scratch.Bytes,
                           Table->Scratch.Length);
        ExportTableFail(Table, Column->Pages.Status);
        Column->ValuesInGroup += Count;
        Column->NumberOfLevels = 0;
        Column->NumberOfValues = 0;
        Column->IsFilled = FALSE;
    }

    ExportTableFail(Table, Table->Scratch.Status);
    Table->RowsInGroup += Table->RowsInPage;
    Table->RowsInPage = 0;
}


//
// Puts a text behind Bytes, cleaned as RtlWriteCleanText does it.
//

static
VOID
ExportTablePutText(
    _Inout_ PREADER_BYTES Bytes,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
{
    static const UCHAR Replacement[] = { 0xEF, 0xBF, 0xBD };
    ULONG CodePoint;
    ULONG Size;
    ULONG At;

    for (At = 0; At < Length; At += Size) {

        Size = RtlDecodeUtf8(Text + At, Length - At, &CodePoint);
        if (CodePoint == 0xFFFD || !RtlIsPrintable(CodePoint)) {
            ExportThriftAppend(Bytes, Replacement, sizeof(Replacement));
        } else {
            ExportThriftAppend(Bytes, Text + At, Size);
        }
    }
}


//
// What the statistics say of a column.
//

typedef struct _READER_TABLE_BOUNDS {
    UCHAR Minimum[READER_LONGEST_BOUND];
    UCHAR Maximum[READER_LONGEST_BOUND];
    SIZE_T MinimumLength;
    SIZE_T MaximumLength;
    BOOLEAN IsThere;
} READER_TABLE_BOUNDS;
typedef READER_TABLE_BOUNDS *PREADER_TABLE_BOUNDS;


//
// Writes a column's dictionary page to Scratch, which begins with the header.
//

static
VOID
ExportTablePutDictionary(
    _Inout_ PREADER_CELL_TABLE Table,
    _In_ ULONG ColumnIndex,
    _Inout_ PREADER_TABLE_BOUNDS Bounds
    )
{
    PREADER_TABLE_COLUMN Column = &Table->Cells[ColumnIndex];
    READER_BYTES Values;
    READER_CELL Cell;
    ULONG Index;
    ULONG Size;
    SIZE_T Start;

    RtlZeroBytes(&Values, sizeof(Values));
    Values.Allocator = Table->Context->Allocator;
    Bounds->IsThere = TRUE;
    for (Index = 0; Index < Column->NumberOfKeys; Index++) {

        RtlZeroBytes(&Cell, sizeof(Cell));
        Table->Cell(Table->CellContext,
                    ColumnIndex,
                    Column->Keys[Index],
                    &Cell);
        Column->CodeOfKey[Column->Keys[Index]] = 0;
        if (Column->Kind != ReaderCellText) {

            ExportThriftAppend(&Values,
                               &Cell.Number,
                               Column->Kind == ReaderCellNumberKey ? 4 : 8);
            Column->Minimum = Cell.Number < Column->Minimum ? Cell.Number
                                                            : Column->Minimum;
            Column->Maximum = Cell.Number > Column->Maximum ? Cell.Number
                                                            : Column->Maximum;
            continue;
        }

        Start = Values.Length;
        Size = 0;
        ExportThriftAppend(&Values, &Size, sizeof(Size));
        ExportTablePutText(&Values, Cell.Text, Cell.Length);
        if (!NT_SUCCESS(Values.Status)) {
            break;
        }

        Size = (ULONG)(Values.Length - Start - sizeof(Size));
        RtlCopyBytes(Values.Bytes + Start, &Size, sizeof(Size));
        Start += sizeof(Size);
        if (Size > READER_LONGEST_BOUND) {
            Bounds->IsThere = FALSE;
        } else {

            const CHAR *Text = (const CHAR *)Values.Bytes + Start;

            if (Index == 0 ||
                BaseCompareText(Text,
                                Size,
                                (const CHAR *)Bounds->Minimum,
                                (ULONG)Bounds->MinimumLength) < 0) {
                RtlCopyBytes(Bounds->Minimum, Text, Size);
                Bounds->MinimumLength = Size;
            }

            if (Index == 0 ||
                BaseCompareText(Text,
                                Size,
                                (const CHAR *)Bounds->Maximum,
                                (ULONG)Bounds->MaximumLength) > 0) {
                RtlCopyBytes(Bounds->Maximum, Text, Size);
                Bounds->MaximumLength = Size;
            }
        }
    }

    ExportTablePutPageHeader(&Table->Scratch,
                             PARQUET_DICTIONARY_PAGE,
                             Values.Length,
                             Column->NumberOfKeys,
                             Table->IsPlain ? PARQUET_PLAIN_DICTIONARY
                                            : PARQUET_PLAIN);
    ExportThriftAppend(&Table->Scratch, Values.Bytes, Values.Length);
    ExportTableFail(Table, Values.Status);
    ExportThriftRundown(&Values);
    Column->NumberOfKeys = 0;
}


static
LONG
ExportTableQueryType(
    _In_ READER_CELL_KIND Kind
    )
{
    switch (Kind) {

    case ReaderCellText:
        return PARQUET_BYTE_ARRAY;

    case ReaderCellNumberKey:
    case ReaderCellNumber32:
        return PARQUET_INT32;

    default:
        return PARQUET_INT64;
    }
}


//
// Where a column's chunk is in the file.
//

typedef struct _READER_TABLE_CHUNK {
    ULONGLONG Dictionary;           // 0: there is none
    ULONGLONG Data;
    ULONGLONG Size;
} READER_TABLE_CHUNK;
typedef READER_TABLE_CHUNK *PREADER_TABLE_CHUNK;


//
// Says in the footer what a row group has of a column.
//

static
VOID
ExportTableDescribeChunk(
    _Inout_ PREADER_CELL_TABLE Table,
    _Inout_ PREADER_THRIFT Thrift,
    _In_ ULONG ColumnIndex,
    _In_ const READER_TABLE_CHUNK *Chunk,
    _Inout_ PREADER_TABLE_BOUNDS Bounds
    )
{
    PREADER_TABLE_COLUMN Column = &Table->Cells[ColumnIndex];
    ULONGLONG First = Chunk->Dictionary != 0 ? Chunk->Dictionary : Chunk->Data;
    BOOLEAN IsKey = READER_IS_KEY(Column->Kind);
    BOOLEAN IsList = Column->Kind == ReaderCellList;
    LONG Type = ExportTableQueryType(Column->Kind);
    LONG Encoding = Table->IsPlain ? PARQUET_PLAIN_DICTIONARY
                                   : PARQUET_RLE_DICTIONARY;

    if (!IsKey) {
        Encoding = Table->IsPlain ? PARQUET_PLAIN : PARQUET_DELTA;
    }

    ExportThriftBegin(Thrift, 0);
    ExportThriftPutNumber(Thrift, 2, READER_THRIFT_INT64, (LONGLONG)First);
    ExportThriftBegin(Thrift, 3);
    ExportThriftPutNumber(Thrift, 1, READER_THRIFT_INT32, Type);
    ExportThriftPutList(Thrift,
                        2,
                        READER_THRIFT_INT32,
                        IsKey && !Table->IsPlain ? 3 : 2);
    ExportThriftPutVarint(Thrift->Bytes, READER_ZIGZAG(Encoding));
    ExportThriftPutVarint(Thrift->Bytes, READER_ZIGZAG(PARQUET_RLE));
    if (IsKey && !Table->IsPlain) {
        ExportThriftPutVarint(Thrift->Bytes, READER_ZIGZAG(PARQUET_PLAIN));
    }

    ExportThriftPutList(Thrift, 3, READER_THRIFT_BINARY, IsList ? 3 : 1);
    ExportThriftPutElementText(Thrift, Table->Columns[ColumnIndex].Name);
    if (IsList) {
        ExportThriftPutElementText(Thrift, "list");
        ExportThriftPutElementText(Thrift, "element");
    }

    ExportThriftPutNumber(Thrift, 4, READER_THRIFT_INT32, 0);
    ExportThriftPutNumber(Thrift,
                          5,
                          READER_THRIFT_INT64,
                          (LONGLONG)Column->ValuesInGroup);
    ExportThriftPutNumber(Thrift,
                          6,
                          READER_THRIFT_INT64,
                          (LONGLONG)Chunk->Size);
    ExportThriftPutNumber(Thrift,
                          7,
                          READER_THRIFT_INT64,
                          (LONGLONG)Chunk->Size);
    ExportThriftPutNumber(Thrift,
                          9,
                          READER_THRIFT_INT64,
                          (LONGLONG)Chunk->Data);
    if (Chunk->Dictionary != 0) {
        ExportThriftPutNumber(Thrift,
                              11,
                              READER_THRIFT_INT64,
                              (LONGLONG)Chunk->Dictionary);
    }

    //
    // Nothing is ever null.
    //

    if (!IsList) {

        if (Column->Kind != ReaderCellText) {
            Bounds->IsThere = TRUE;
            Bounds->MinimumLength = Type == PARQUET_INT32 ? 4 : 8;
            Bounds->MaximumLength = Bounds->MinimumLength;
            RtlCopyBytes(Bounds->Minimum,
                         &Column->Minimum,
                         Bounds->MinimumLength);
            RtlCopyBytes(Bounds->Maximum,
                         &Column->Maximum,
                         Bounds->MaximumLength);
        }

        ExportThriftBegin(Thrift, 12);
        ExportThriftPutNumber(Thrift, 3, READER_THRIFT_INT64, 0);
        if (Bounds->IsThere) {
            ExportThriftPutBinary(Thrift,
                                  5,
                                  Bounds->Maximum,
                                  Bounds->MaximumLength);
            ExportThriftPutBinary(Thrift,
                                  6,
                                  Bounds->Minimum,
                                  Bounds->MinimumLength);
        }

        ExportThriftEnd(Thrift);
    }

    ExportThriftEnd(Thrift);
    ExportThriftEnd(Thrift);
}


//
// Makes a part's names.
//

_Must_inspect_result_
static
NTSTATUS
ExportTableNamePart(
    _In_ const READER_CELL_TABLE *Table,
    _Inout_ PREADER_TABLE_PART Part
    )
{
    PCALLOCATOR Allocator = Table->Context->Allocator;
    ULONG Length = RtlLengthOfWideString(Table->Path);
    RTL_WRITER Writer;
    CHAR Number[16];
    PCWSTR Extension = READER_TABLE_EXTENSION;
    ULONG Index;
    ULONG At = 0;

    RtlInitializeBufferWriter(&Writer, Number, sizeof(Number));
    if (Table->NumberOfParts > 1) {
        RtlWriteText(&Writer, "-%u", Table->NumberOfParts);
    }

    Part->Path = (PWSTR)
        Allocator->Allocate(Allocator->Context,
                            (Length + 32) * 5 * sizeof(CHAR));
    if (Part->Path == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Length; Index++) {
        Part->Path[At++] = Table->Path[Index];
    }

    for (Index = 0; Index < Writer.LengthInBytes; Index++) {
        Part->Path[At++] = (WCHAR)Number[Index];
    }

    for (Index = 0; Extension[Index] != 0; Index++) {
        Part->Path[At++] = Extension[Index];
    }

    Part->Path[At] = 0;
    Part->PathUtf8 = (PCHAR)(Part->Path + At + 1);
    Part->PathUtf8[RtlWideToUtf8(Part->Path,
                                 At,
                                 Part->PathUtf8,
                                 3 * At,
                                 NULL)] = 0;
    return STATUS_SUCCESS;
}


//
// Begins a file, unless one is open.
//

static
BOOLEAN
ExportTableBeginPart(
    _Inout_ PREADER_CELL_TABLE Table
    )
{
    PCALLOCATOR Allocator = Table->Context->Allocator;
    PREADER_TABLE_PART Part;
    NTSTATUS Status;

    if (Table->IsPartOpen) {
        return TRUE;
    }

    Part = (PREADER_TABLE_PART)Allocator->Allocate(Allocator->Context,
                                                   sizeof(*Part));
    if (Part == NULL) {
        ExportTableFail(Table, STATUS_NO_MEMORY);
        return FALSE;
    }

    Part->Next = Table->Parts;
    Table->Parts = Part;
    Table->NumberOfParts += 1;
    Status = ExportTableNamePart(Table, Part);
    if (!NT_SUCCESS(Status)) {
        ExportTableFail(Table, Status);
        return FALSE;
    }

    if (!BaseCreateFile(&Part->File,
                        Table->Context,
                        Part->Path,
                        Part->PathUtf8,
                        FALSE)) {
        Table->HasFailed = TRUE;
        ExportTableFail(Table, STATUS_UNSUCCESSFUL);
        return FALSE;
    }

    RtlWriteBytes(&Part->File.Writer,
                  ReaderParquetMagic,
                  sizeof(ReaderParquetMagic));
    Table->IsPartOpen = TRUE;
    Table->NumberOfGroups = 0;
    Table->RowsInPart = 0;
    Table->Groups.Length = 0;
    return TRUE;
}


//
// The kinds of what a column is of, in the schema.
//

static
VOID
ExportTablePutSchemaType(
    _Inout_ PREADER_THRIFT Thrift,
    _In_ READER_CELL_KIND Kind
    )
{
    if (Kind == ReaderCellText) {

        ExportThriftPutNumber(Thrift, 6, READER_THRIFT_INT32, PARQUET_UTF8);
        ExportThriftBegin(Thrift, 10);
        ExportThriftBegin(Thrift, 1);
        ExportThriftEnd(Thrift);
        ExportThriftEnd(Thrift);

    } else if (Kind == ReaderCellTimeKey) {

        ExportThriftPutNumber(Thrift,
                              6,
                              READER_THRIFT_INT32,
                              PARQUET_TIMESTAMP);
        ExportThriftBegin(Thrift, 10);
        ExportThriftBegin(Thrift, 8);
        ExportThriftPutField(Thrift, 1, READER_THRIFT_TRUE);
        ExportThriftBegin(Thrift, 2);
        ExportThriftBegin(Thrift, 2);
        ExportThriftEnd(Thrift);
        ExportThriftEnd(Thrift);
        ExportThriftEnd(Thrift);
        ExportThriftEnd(Thrift);
    }
}


static
VOID
ExportTablePutSchema(
    _In_ const READER_CELL_TABLE *Table,
    _Inout_ PREADER_THRIFT Thrift
    )
{
    READER_CELL_KIND Kind;
    ULONG Elements = 1;
    ULONG Index;

    for (Index = 0; Index < Table->NumberOfColumns; Index++) {
        Elements += Table->Columns[Index].Kind == ReaderCellList ? 3 : 1;
    }

    ExportThriftPutList(Thrift, 2, READER_THRIFT_STRUCT, Elements);
    ExportThriftBegin(Thrift, 0);
    ExportThriftPutText(Thrift, 4, "schema");
    ExportThriftPutNumber(Thrift,
                          5,
                          READER_THRIFT_INT32,
                          Table->NumberOfColumns);
    ExportThriftEnd(Thrift);

    for (Index = 0; Index < Table->NumberOfColumns; Index++) {

        Kind = Table->Columns[Index].Kind;
        ExportThriftBegin(Thrift, 0);
        if (Kind != ReaderCellList) {
            ExportThriftPutNumber(Thrift,
                                  1,
                                  READER_THRIFT_INT32,
                                  ExportTableQueryType(Kind));
        }

        ExportThriftPutNumber(Thrift,
                              3,
                              READER_THRIFT_INT32,
                              PARQUET_REQUIRED);
        ExportThriftPutText(Thrift, 4, Table->Columns[Index].Name);
        if (Kind != ReaderCellList) {
            ExportTablePutSchemaType(Thrift, Kind);
            ExportThriftEnd(Thrift);
            continue;
        }

        ExportThriftPutNumber(Thrift, 5, READER_THRIFT_INT32, 1);
        ExportThriftPutNumber(Thrift, 6, READER_THRIFT_INT32, PARQUET_LIST);
        ExportThriftBegin(Thrift, 10);
        ExportThriftBegin(Thrift, 3);
        ExportThriftEnd(Thrift);
        ExportThriftEnd(Thrift);
        ExportThriftEnd(Thrift);

        ExportThriftBegin(Thrift, 0);
        ExportThriftPutNumber(Thrift,
                              3,
                              READER_THRIFT_INT32,
                              PARQUET_REPEATED);
        ExportThriftPutText(Thrift, 4, "list");
        ExportThriftPutNumber(Thrift, 5, READER_THRIFT_INT32, 1);
        ExportThriftEnd(Thrift);

        ExportThriftBegin(Thrift, 0);
        ExportThriftPutNumber(Thrift,
                              1,
                              READER_THRIFT_INT32,
                              PARQUET_INT64);
        ExportThriftPutNumber(Thrift,
                              3,
                              READER_THRIFT_INT32,
                              PARQUET_REQUIRED);
        ExportThriftPutText(Thrift, 4, "element");
        ExportThriftEnd(Thrift);
    }
}


//
// Ends the file: its footer.
//

static
VOID
ExportTableEndPart(
    _Inout_ PREADER_CELL_TABLE Table
    )
{
    PRTL_WRITER Writer = &Table->Parts->File.Writer;
    PREADER_BYTES Bytes = &Table->Scratch;
    READER_THRIFT Thrift;
    ULONG Index;
    ULONG Size;

    Bytes->Length = 0;
    RtlZeroBytes(&Thrift, sizeof(Thrift));
    Thrift.Bytes = Bytes;
    ExportThriftPutNumber(&Thrift,
                          1,
                          READER_THRIFT_INT32,
                          Table->IsPlain ? 1 : 2);
    ExportTablePutSchema(Table, &Thrift);
    ExportThriftPutNumber(&Thrift,
                          3,
                          READER_THRIFT_INT64,
                          (LONGLONG)Table->RowsInPart);
    ExportThriftPutList(&Thrift,
                        4,
                        READER_THRIFT_STRUCT,
                        Table->NumberOfGroups);
    ExportThriftAppend(Bytes, Table->Groups.Bytes, Table->Groups.Length);
    ExportThriftPutText(&Thrift, 6, "Tracer");

    //
    // Statistics of texts are of bytes without a sign.
    //

    ExportThriftPutList(&Thrift,
                        7,
                        READER_THRIFT_STRUCT,
                        Table->NumberOfColumns);
    for (Index = 0; Index < Table->NumberOfColumns; Index++) {
        ExportThriftBegin(&Thrift, 0);
        ExportThriftBegin(&Thrift, 1);
        ExportThriftEnd(&Thrift);
        ExportThriftEnd(&Thrift);
    }

    ExportThriftEnd(&Thrift);
    ExportTableFail(Table, Bytes->Status);
    Size = (ULONG)Bytes->Length;
    ExportThriftAppend(Bytes, &Size, sizeof(Size));
    ExportThriftAppend(Bytes, ReaderParquetMagic, sizeof(ReaderParquetMagic));
    ExportTableFail(Table, Bytes->Status);
    if (NT_SUCCESS(Table->Status)) {
        RtlWriteBytes(Writer, (PCSZ)Bytes->Bytes, (ULONG)Bytes->Length);
        RtlFlushWriter(Writer);
        Table->NumberOfBytes += Writer->FileOffset;
    }

    Table->IsPartOpen = FALSE;
}


//
// Ends the row group: its dictionaries and pages go to the file.
//

static
VOID
ExportTableEndGroup(
    _Inout_ PREADER_CELL_TABLE Table
    )
{
    PREADER_TABLE_COLUMN Column;
    READER_TABLE_BOUNDS Bounds;
    READER_TABLE_CHUNK Chunk;
    READER_THRIFT Thrift;
    PRTL_WRITER Writer;
    PREADER_FILE File;
    ULONGLONG Start;
    ULONG Index;

    if (Table->RowsInGroup == 0 || !NT_SUCCESS(Table->Status) ||
        !ExportTableBeginPart(Table)) {
        return;
    }

    File = &Table->Parts->File;
    Writer = &File->Writer;
    Start = READER_FILE_SIZE(File);
    RtlZeroBytes(&Thrift, sizeof(Thrift));
    Thrift.Bytes = &Table->Groups;
    ExportThriftBegin(&Thrift, 0);
    ExportThriftPutList(&Thrift,
                        1,
                        READER_THRIFT_STRUCT,
                        Table->NumberOfColumns);
    for (Index = 0; Index < Table->NumberOfColumns; Index++) {

        Column = &Table->Cells[Index];
        RtlZeroBytes(&Bounds, sizeof(Bounds));
        RtlZeroBytes(&Chunk, sizeof(Chunk));
        if (READER_IS_KEY(Column->Kind)) {
            Table->Scratch.Length = 0;
            ExportTablePutDictionary(Table, Index, &Bounds);
            Chunk.Dictionary = READER_FILE_SIZE(File);
            Chunk.Size = Table->Scratch.Length;
            RtlWriteBytes(Writer,
                          (PCSZ)Table->Scratch.Bytes,
                          (ULONG)Table->Scratch.Length);
        }

        Chunk.Data = READER_FILE_SIZE(File);
        Chunk.Size += Column->Pages.Length;
        RtlWriteBytes(Writer,
                      (PCSZ)Column->Pages.Bytes,
                      (ULONG)Column->Pages.Length);
        ExportTableDescribeChunk(Table, &Thrift, Index, &Chunk, &Bounds);
        Column->Pages.Length = 0;
        Column->ValuesInGroup = 0;
        Column->Minimum = 0x7FFFFFFFFFFFFFFFLL;
        Column->Maximum = -0x7FFFFFFFFFFFFFFFLL - 1;
    }

    Start = READER_FILE_SIZE(File) - Start;
    ExportThriftPutNumber(&Thrift, 2, READER_THRIFT_INT64, (LONGLONG)Start);
    ExportThriftPutNumber(&Thrift,
                          3,
                          READER_THRIFT_INT64,
                          Table->RowsInGroup);
    ExportThriftPutNumber(&Thrift, 6, READER_THRIFT_INT64, (LONGLONG)Start);
    ExportThriftEnd(&Thrift);
    Table->NumberOfGroups += 1;
    Table->RowsInPart += Table->RowsInGroup;
    Table->NumberOfRows += Table->RowsInGroup;
    Table->RowsInGroup = 0;
    ExportTableFail(Table, Writer->Status);
    ExportTableFail(Table, Table->Groups.Status);
    ExportTableFail(Table, Table->Scratch.Status);
    if (READER_FILE_SIZE(File) >= Table->PartSize) {
        ExportTableEndPart(Table);
    }
}


//
// Would the file have its size with what is kept of the row group?
//

static
BOOLEAN
ExportTableIsPartFull(
    _In_ const READER_CELL_TABLE *Table
    )
{
    ULONGLONG Size = Table->IsPartOpen ? READER_FILE_SIZE(&Table->Parts->File)
                                       : 0;
    ULONG Index;

    for (Index = 0; Index < Table->NumberOfColumns; Index++) {
        Size += Table->Cells[Index].Pages.Length;
    }

    return Size >= Table->PartSize;
}


_Use_decl_annotations_
VOID
ExportTableAddRows(
    PREADER_CELL_TABLE Table,
    ULONG Count
    )
{
    Table->RowsInPage += Count;
    if (Table->RowsInPage == READER_PAGE_ROWS) {
        ExportTableEndPage(Table);
        if (Table->RowsInGroup >= READER_GROUP_ROWS ||
            ExportTableIsPartFull(Table)) {
            ExportTableEndGroup(Table);
        }

        //
        // After a failure the page is filled again and again.
        //

        Table->RowsInPage = 0;
    }
}


_Use_decl_annotations_
BOOLEAN
ExportTableFinish(
    PREADER_CELL_TABLE Table
    )
{
    PCREADER_CONTEXT Context = Table->Context;

    ExportTableEndPage(Table);
    ExportTableEndGroup(Table);
    if (NT_SUCCESS(Table->Status) &&
        (Table->IsPartOpen ||
         (Table->NumberOfParts == 0 && ExportTableBeginPart(Table)))) {
        ExportTableEndPart(Table);
        ExportTableFail(Table, Table->Parts->File.Writer.Status);
    }

    if (!NT_SUCCESS(Table->Status) && !Table->HasFailed) {
        Table->HasFailed = TRUE;
        BaseFail(Context, "write the file", Table->PathUtf8, Table->Status);
    }

    return NT_SUCCESS(Table->Status);
}


_Use_decl_annotations_
ULONG
ExportTableClose(
    PREADER_CELL_TABLE Table,
    BOOLEAN IsComplete
    )
{
    PCALLOCATOR Allocator;
    PREADER_TABLE_COLUMN Column;
    PREADER_TABLE_PART First = NULL;
    PREADER_TABLE_PART Next;
    PREADER_TABLE_PART Part;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Code;
    ULONG Index;

    if (Table->Context == NULL) {
        return READER_EXIT_SUCCESS;
    }

    //
    // The first part gets its name first, and after a failure none does: what
    // has a name is a beginning of the table.
    //

    Allocator = Table->Context->Allocator;
    for (Part = Table->Parts; Part != NULL; Part = Next) {
        Next = Part->Next;
        Part->Next = First;
        First = Part;
    }

    Table->Parts = First;
    while (Table->Parts != NULL) {

        Part = Table->Parts;
        Table->Parts = Part->Next;
        if (!IsComplete) {
            Part->File.Writer.Status = STATUS_SUCCESS;
            Part->File.Writer.LengthInBytes = 0;
        }

        Code = BaseCloseFile(&Part->File, IsComplete);
        if (Code != READER_EXIT_SUCCESS) {
            ExitCode = Code;
            IsComplete = FALSE;
        }

        Allocator->Free(Allocator->Context, Part->Path);
        Allocator->Free(Allocator->Context, Part);
    }

    for (Index = 0; Index < Table->NumberOfColumns; Index++) {
        Column = &Table->Cells[Index];
        Allocator->Free(Allocator->Context, Column->Values);
        Allocator->Free(Allocator->Context, Column->Codes);
        Allocator->Free(Allocator->Context, Column->CodeOfKey);
        Allocator->Free(Allocator->Context, Column->Keys);
        Allocator->Free(Allocator->Context, Column->Levels);
        ExportThriftRundown(&Column->Pages);
    }

    ExportThriftRundown(&Table->Groups);
    ExportThriftRundown(&Table->Scratch);
    return ExitCode;
}
