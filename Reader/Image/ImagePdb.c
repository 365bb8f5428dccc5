/*++

Module Name:

    ImagePdb.c

Abstract:

    Reads a PDB: the container, its identity, and the functions that the
    streams of its modules and its public names tell of.  The layout is that
    which LLVM's documentation of the PDB format describes.

--*/

#include "ImagePdb.h"

//
// The head of the container.  Offsets and sizes are in bytes.
//

#define PDB_MAGIC "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0"
#define PDB_MAGIC_SIZE                  32
#define PDB_BLOCK_SIZE                  32
#define PDB_NUMBER_OF_BLOCKS            40
#define PDB_DIRECTORY_SIZE              44
#define PDB_BLOCK_MAP                   52
#define PDB_HEAD_SIZE                   56
#define PDB_MINIMUM_BLOCK_SIZE          512
#define PDB_MAXIMUM_BLOCK_SIZE          0x100000
#define PDB_MAXIMUM_DIRECTORY_SIZE      0x10000000
#define PDB_NO_STREAM                   0xffffffffu // the size of a deleted one

//
// The stream that identifies the PDB.
//

#define PDB_INFO_STREAM                 1
#define PDB_INFO_AGE                    8
#define PDB_INFO_GUID                   12
#define PDB_INFO_SIZE                   28

//
// The stream of debugging information: its head, then one entry for each
// module.
//

#define PDB_DBI_STREAM                  3
#define PDB_DBI_SIGNATURE               0
#define PDB_DBI_AGE                     8
#define PDB_DBI_SYMBOL_STREAM           20
#define PDB_DBI_SIZE_OF_MODULES         24
#define PDB_DBI_SIZE                    64

#define PDB_MODULE_STREAM               34
#define PDB_MODULE_SIZE_OF_SYMBOLS      36
#define PDB_MODULE_SIZE_OF_OLD_LINES    40
#define PDB_MODULE_SIZE_OF_LINES        44
#define PDB_MODULE_NAMES                64
#define PDB_MODULE_NO_STREAM            0xffff
#define PDB_MODULE_SIGNATURE_SIZE       4


//
// The streams of types, and of what has an identifier: a head, then records
// each of which has the length of what follows it and what it is.
//

#define PDB_TYPE_STREAM                 2
#define PDB_IDENTIFIER_STREAM           4
#define PDB_TYPE_HEAD_SIZE              4
#define PDB_TYPE_FIRST                  8
#define PDB_TYPE_END                    12
#define PDB_TYPE_SIZE_OF_RECORDS        16
#define PDB_TYPE_SIZE                   20

//
// A module's lines, behind its symbols: parts with their kind and size.  Those
// of lines have a head, and blocks of one source file each.
//

#define PDB_PART_SIZE                   8
#define PDB_PART_LINES                  0xf2
#define PDB_LINES_FLAGS                 6
#define PDB_LINES_SIZE                  12
#define PDB_LINES_HAVE_COLUMNS          1
#define PDB_BLOCK_NUMBER_OF_LINES       4
#define PDB_BLOCK_SIZE_IN_BYTES         8
#define PDB_BLOCK_HEAD_SIZE             12
#define PDB_LINE_SIZE                   8
#define PDB_COLUMN_SIZE                 4

//
// Symbols: the length of what follows it, what it is, its fields.
//

#define PDB_SYMBOL_HEAD_SIZE            4
#define PDB_SYMBOL_MAXIMUM_SIZE         0x10000

#define PDB_PUBLIC                      0x110e
#define PDB_PUBLIC_FLAGS                0
#define PDB_PUBLIC_OFFSET               4
#define PDB_PUBLIC_SECTION              8
#define PDB_PUBLIC_NAME                 10
#define PDB_PUBLIC_IS_FUNCTION          2

#define PDB_LOCAL_FUNCTION              0x110f
#define PDB_GLOBAL_FUNCTION             0x1110
#define PDB_LOCAL_FUNCTION_ID           0x1146
#define PDB_GLOBAL_FUNCTION_ID          0x1147
#define PDB_FUNCTION_OFFSET             28
#define PDB_FUNCTION_SECTION            32
#define PDB_FUNCTION_NAME               35

C_ASSERT(sizeof(PDB_MAGIC) == PDB_MAGIC_SIZE);

//
// While functions are loaded.
//

typedef struct _READER_PDB_WALK {
    PREADER_PDB Pdb;
    PREADER_COFF Table;
    ULONGLONG BytesLeft;            // that may still be read: streams of a
                                    // hostile PDB can share their blocks
    ULONG NumberOfSymbols;
    BOOLEAN IsFirst;                // of two walks: what has no names is looked
                                    // at in the first alone
    BOOLEAN IsOver;                 // the table takes no more
} READER_PDB_WALK;
typedef READER_PDB_WALK *PREADER_PDB_WALK;

//
// Reads a little-endian number.
// Bytes: its first byte.
// SizeInBytes: how many it has, at most 4.
//

static
ULONG
ImageGetPdbNumber(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    ULONG Index;
    ULONG Number;

    Number = 0;
    for (Index = 0; Index < SizeInBytes; Index++) {
        Number |= (ULONG)Bytes[Index] << (8 * Index);
    }

    return Number;
}

//
// Finds a block's bytes.
// Block: the block's number.
// Returns the block, or NULL if it is not all there.
//

static
const UCHAR *
ImageFindPdbBlock(
    _In_ PCREADER_PDB Pdb,
    _In_ ULONG Block
    )
{
    ULONGLONG Offset;

    Offset = (ULONGLONG)Block * Pdb->BlockSize;
    if (Offset > Pdb->SizeInBytes ||
        Pdb->SizeInBytes - Offset < Pdb->BlockSize) {
        return NULL;
    }

    return Pdb->Bytes + Offset;
}

//
// Copies a part of a stream.
// Stream: the stream's number.
// Offset: where the part begins, in bytes.
// Returns FALSE if it is not all there.
//

static
BOOLEAN
ImageReadPdbStream(
    _In_ PCREADER_PDB Pdb,
    _In_ ULONG Stream,
    _In_ ULONG Offset,
    _Out_writes_bytes_(SizeInBytes) PUCHAR Buffer,
    _In_ ULONG SizeInBytes
    )
{
    const UCHAR *Block;
    ULONG Index;
    ULONG Within;

    if (Stream >= Pdb->NumberOfStreams ||
        Offset > Pdb->StreamSizes[Stream] ||
        SizeInBytes > Pdb->StreamSizes[Stream] - Offset) {
        return FALSE;
    }

    Block = NULL;
    Within = Offset % Pdb->BlockSize;
    for (Index = 0; Index < SizeInBytes; Index++) {

        if (Block == NULL) {
            Block = ImageFindPdbBlock(
                Pdb,
                Pdb->Blocks[Pdb->StreamBlocks[Stream] +
                            (Offset + Index) / Pdb->BlockSize]);
            if (Block == NULL) {
                return FALSE;
            }
        }

        Buffer[Index] = Block[Within];
        Within += 1;
        if (Within == Pdb->BlockSize) {
            Within = 0;
            Block = NULL;
        }
    }

    return TRUE;
}

//
// Finds where each stream's blocks are. The directory has the number of
// streams, their sizes, and then their blocks, one stream after the other.
// Pdb: the directory, in Blocks; receives the streams.
// NumberOfWords: the directory's size, in words of four bytes.
// Returns FALSE if the directory is damaged.
//

static
BOOLEAN
ImageLayOutPdbStreams(
    _Inout_ PREADER_PDB Pdb,
    _In_ ULONG NumberOfWords
    )
{
    ULONG Count;
    ULONG First;
    ULONG Index;
    ULONG Number;

    Number = Pdb->Blocks[0];
    if (Number > NumberOfWords - 1) {
        return FALSE;
    }

    Pdb->StreamSizes = Pdb->Blocks + 1;
    First = 1 + Number;
    for (Index = 0; Index < Number; Index++) {

        if (Pdb->StreamSizes[Index] == PDB_NO_STREAM) {
            Pdb->StreamSizes[Index] = 0;
        }

        Count = Pdb->StreamSizes[Index] / Pdb->BlockSize +
                (Pdb->StreamSizes[Index] % Pdb->BlockSize != 0);
        if (Count > NumberOfWords - First) {
            return FALSE;
        }

        Pdb->StreamBlocks[Index] = First;
        First += Count;
    }

    Pdb->NumberOfStreams = Number;
    return TRUE;
}

//
// Reads the head of the container and its directory.
// Pdb: the bytes; receives the streams.
// Returns STATUS_SUCCESS, STATUS_FILE_CORRUPT_ERROR or STATUS_NO_MEMORY.
//

static
_Must_inspect_result_
NTSTATUS
ImageLoadPdbDirectory(
    _Inout_ PREADER_PDB Pdb
    )
{
    const UCHAR *Block;
    const UCHAR *Map;
    ULONG Index;
    ULONG NumberOfBlocks;
    ULONG NumberOfWords;
    ULONG Size;
    ULONG WordsInBlock;

    if (Pdb->SizeInBytes < PDB_HEAD_SIZE) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    for (Index = 0; Index < PDB_MAGIC_SIZE; Index++) {
        if (Pdb->Bytes[Index] != (UCHAR)PDB_MAGIC[Index]) {
            return STATUS_FILE_CORRUPT_ERROR;
        }
    }

    Pdb->BlockSize = ImageGetPdbNumber(Pdb->Bytes + PDB_BLOCK_SIZE, 4);
    NumberOfBlocks = ImageGetPdbNumber(Pdb->Bytes + PDB_NUMBER_OF_BLOCKS, 4);
    Size = ImageGetPdbNumber(Pdb->Bytes + PDB_DIRECTORY_SIZE, 4);
    if (Pdb->BlockSize < PDB_MINIMUM_BLOCK_SIZE ||
        Pdb->BlockSize > PDB_MAXIMUM_BLOCK_SIZE ||
        (Pdb->BlockSize & (Pdb->BlockSize - 1)) != 0 ||
        (ULONGLONG)Pdb->BlockSize * NumberOfBlocks > Pdb->SizeInBytes ||
        Size < sizeof(ULONG) ||
        Size > PDB_MAXIMUM_DIRECTORY_SIZE ||
        Size > Pdb->SizeInBytes) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    //
    // The map is one block with the numbers of the directory's.
    //

    Map = ImageFindPdbBlock(
        Pdb,
        ImageGetPdbNumber(Pdb->Bytes + PDB_BLOCK_MAP, 4));
    WordsInBlock = Pdb->BlockSize / sizeof(ULONG);
    NumberOfWords = Size / sizeof(ULONG);
    if (Map == NULL ||
        (NumberOfWords + WordsInBlock - 1) / WordsInBlock > WordsInBlock) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    Pdb->Blocks = Pdb->Allocator->Allocate(
        Pdb->Allocator->Context,
        2 * (SIZE_T)NumberOfWords * sizeof(ULONG));
    if (Pdb->Blocks == NULL) {
        return STATUS_NO_MEMORY;
    }

    Pdb->StreamBlocks = Pdb->Blocks + NumberOfWords;
    Block = NULL;
    for (Index = 0; Index < NumberOfWords; Index++) {
        if (Index % WordsInBlock == 0) {
            Block = ImageFindPdbBlock(
                Pdb,
                ImageGetPdbNumber(Map + Index / WordsInBlock * 4, 4));
        }
        if (Block == NULL) {
            return STATUS_FILE_CORRUPT_ERROR;
        }
        Pdb->Blocks[Index] = ImageGetPdbNumber(
            Block + Index % WordsInBlock * 4,
            4);
    }

    return ImageLayOutPdbStreams(Pdb, NumberOfWords) ?
               STATUS_SUCCESS : STATUS_FILE_CORRUPT_ERROR;
}

_Use_decl_annotations_
NTSTATUS
ImageInitializePdb(
    PCALLOCATOR Allocator,
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes,
    PREADER_PDB Pdb
    )
{
    static const READER_PDB Empty = { 0 };
    UCHAR Head[PDB_INFO_SIZE];
    ULONG Index;
    NTSTATUS Status;

    *Pdb = Empty;
    Pdb->Allocator = Allocator;
    Pdb->Bytes = Bytes;
    Pdb->SizeInBytes = SizeInBytes;

    Status = ImageLoadPdbDirectory(Pdb);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!ImageReadPdbStream(Pdb, PDB_INFO_STREAM, 0, Head, PDB_INFO_SIZE)) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    for (Index = 0; Index < sizeof(Pdb->Guid); Index++) {
        Pdb->Guid[Index] = Head[PDB_INFO_GUID + Index];
    }

    Pdb->Age = ImageGetPdbNumber(Head + PDB_INFO_AGE, 4);
    if (ImageReadPdbStream(Pdb, PDB_DBI_STREAM, 0, Head, PDB_DBI_AGE + 4) &&
        ImageGetPdbNumber(Head + PDB_DBI_SIGNATURE, 4) == 0xffffffffu) {
        Pdb->Age = ImageGetPdbNumber(Head + PDB_DBI_AGE, 4);
    }

    return STATUS_SUCCESS;
}

//
// Adds a function.
// Walk: the walk, with the symbol in the PDB's record.
// Section: the number of the function's section, from 1.
// Offset: where the function is in it, in bytes.
// Rank: what kind of name it is, READER_RANK_*.
// NameOffset: where the name is in the record.
// RecordSize: the record's size in bytes.
//

static
VOID
ImageAddPdbSymbol(
    _Inout_ PREADER_PDB_WALK Walk,
    _In_ ULONG Section,
    _In_ ULONG Offset,
    _In_ ULONG Rank,
    _In_ ULONG NameOffset,
    _In_ ULONG RecordSize
    )
{
    PCREADER_COFF_SECTION Found;

    if (NameOffset >= RecordSize ||
        Walk->Pdb->Record[NameOffset] == 0 ||
        Section == 0 ||
        Section > Walk->Table->NumberOfSections) {
        return;
    }

    Found = &Walk->Table->Sections[Section - 1];
    if (!Found->IsExecutable || Offset >= Found->EndRva - Found->StartRva) {
        return;
    }

    Rank |= Walk->NumberOfSymbols & READER_RANK_INDEX_MASK;
    Walk->NumberOfSymbols += 1;
    if (!ImageAddCoffEntry(Walk->Table,
                           Found->StartRva + Offset,
                           Rank,
                           Walk->Pdb->Record + NameOffset,
                           RecordSize - NameOffset)) {
        Walk->IsOver = TRUE;
    }
}

//
// Adds the functions of one stream of symbols.
// Stream: the stream's number.
// Offset: where its symbols begin, in bytes.
// EndOffset: where they end.
// What is damaged ends the stream.
//

static
VOID
ImageWalkPdbStream(
    _Inout_ PREADER_PDB_WALK Walk,
    _In_ ULONG Stream,
    _In_ ULONG Offset,
    _In_ ULONG EndOffset
    )
{
    UCHAR Head[PDB_SYMBOL_HEAD_SIZE];
    ULONG Kind;
    PUCHAR Record;
    ULONG Size;

    Record = Walk->Pdb->Record;
    while (!Walk->IsOver &&
           Offset <= EndOffset &&
           EndOffset - Offset >= PDB_SYMBOL_HEAD_SIZE &&
           ImageReadPdbStream(Walk->Pdb,
                              Stream,
                              Offset,
                              Head,
                              PDB_SYMBOL_HEAD_SIZE)) {

        //
        // The length counts the kind.
        //

        Size = ImageGetPdbNumber(Head, 2);
        Kind = ImageGetPdbNumber(Head + 2, 2);
        if (Size < 2 ||
            Size + 2 > EndOffset - Offset ||
            Size + 2 > Walk->BytesLeft) {
            break;
        }

        Walk->BytesLeft -= Size + 2;
        Offset += PDB_SYMBOL_HEAD_SIZE;
        Size -= 2;

        if ((Kind == PDB_PUBLIC || Kind == PDB_LOCAL_FUNCTION ||
             Kind == PDB_GLOBAL_FUNCTION || Kind == PDB_LOCAL_FUNCTION_ID ||
             Kind == PDB_GLOBAL_FUNCTION_ID) &&
            Size > PDB_PUBLIC_NAME) {

            if (!ImageReadPdbStream(Walk->Pdb,
                                    Stream,
                                    Offset,
                                    Record,
                                    Size)) {
                break;
            }

            if (Kind != PDB_PUBLIC) {
                if (Size > PDB_FUNCTION_NAME) {
                    ImageAddPdbSymbol(
                        Walk,
                        ImageGetPdbNumber(Record + PDB_FUNCTION_SECTION, 2),
                        ImageGetPdbNumber(Record + PDB_FUNCTION_OFFSET, 4),
                        0,
                        PDB_FUNCTION_NAME,
                        Size);
                }
            } else if (Record[PDB_PUBLIC_FLAGS] & PDB_PUBLIC_IS_FUNCTION) {
                ImageAddPdbSymbol(
                    Walk,
                    ImageGetPdbNumber(Record + PDB_PUBLIC_SECTION, 2),
                    ImageGetPdbNumber(Record + PDB_PUBLIC_OFFSET, 4),
                    READER_RANK_NOT_FUNCTION,
                    PDB_PUBLIC_NAME,
                    Size);
            }
        }

        Offset += Size;
    }

    if (!Walk->IsOver &&
        (Offset > EndOffset || EndOffset - Offset >= PDB_SYMBOL_HEAD_SIZE)) {

        Walk->Pdb->IsDamaged = TRUE;
    }
}

//
// Looks at one part of lines: does each block have room for its lines, and lie
// before the part's end?
// Stream: the stream's number.
// Offset: where the part begins, behind its kind and size.
// Returns FALSE if it is damaged.
//

static
BOOLEAN
ImageArePdbLinesSound(
    _Inout_ PREADER_PDB_WALK Walk,
    _In_ ULONG Stream,
    _In_ ULONG Offset,
    _In_ ULONG SizeInBytes
    )
{
    UCHAR Head[PDB_LINES_SIZE];
    ULONGLONG Expected;
    ULONG Lines;
    ULONG LineSize;
    ULONG Size;

    if (SizeInBytes < PDB_LINES_SIZE ||
        !ImageReadPdbStream(Walk->Pdb,
                            Stream,
                            Offset,
                            Head,
                            PDB_LINES_SIZE)) {
        return FALSE;
    }

    LineSize = PDB_LINE_SIZE;
    if (ImageGetPdbNumber(Head + PDB_LINES_FLAGS, 2) &
        PDB_LINES_HAVE_COLUMNS) {
        LineSize += PDB_COLUMN_SIZE;
    }

    Offset += PDB_LINES_SIZE;
    SizeInBytes -= PDB_LINES_SIZE;
    while (SizeInBytes != 0) {
        if (SizeInBytes < PDB_BLOCK_HEAD_SIZE ||
            !ImageReadPdbStream(Walk->Pdb,
                                Stream,
                                Offset,
                                Head,
                                PDB_BLOCK_HEAD_SIZE)) {
            return FALSE;
        }

        Lines = ImageGetPdbNumber(Head + PDB_BLOCK_NUMBER_OF_LINES, 4);
        Size = ImageGetPdbNumber(Head + PDB_BLOCK_SIZE_IN_BYTES, 4);
        Expected = PDB_BLOCK_HEAD_SIZE + (ULONGLONG)Lines * LineSize;
        if (Size < Expected || Size > SizeInBytes) {
            return FALSE;
        }

        Offset += Size;
        SizeInBytes -= Size;
    }

    return TRUE;
}

//
// Looks at what a module has behind its symbols.
// Walk: the walk; receives whether it is damaged.
// Offset: where its lines begin, in bytes.
//

static
VOID
ImageCheckPdbModule(
    _Inout_ PREADER_PDB_WALK Walk,
    _In_ ULONG Stream,
    _In_ ULONG Offset,
    _In_ ULONG SizeInBytes
    )
{
    UCHAR Head[PDB_PART_SIZE];
    ULONG Size;

    if (SizeInBytes > Walk->BytesLeft) {
        Walk->Pdb->IsDamaged = TRUE;
        return;
    }

    Walk->BytesLeft -= SizeInBytes;
    while (SizeInBytes != 0) {
        if (SizeInBytes < PDB_PART_SIZE ||
            !ImageReadPdbStream(Walk->Pdb,
                                Stream,
                                Offset,
                                Head,
                                PDB_PART_SIZE)) {
            Walk->Pdb->IsDamaged = TRUE;
            return;
        }

        Offset += PDB_PART_SIZE;
        SizeInBytes -= PDB_PART_SIZE;
        Size = ImageGetPdbNumber(Head + 4, 4);
        if (Size > SizeInBytes ||
            (ImageGetPdbNumber(Head, 4) == PDB_PART_LINES &&
             !ImageArePdbLinesSound(Walk, Stream, Offset, Size))) {
            Walk->Pdb->IsDamaged = TRUE;
            return;
        }

        //
        // The next one is on a boundary of four bytes.
        //

        Size = (Size + 3) & ~3u;
        if (Size > SizeInBytes) {
            Size = SizeInBytes;
        }
        Offset += Size;
        SizeInBytes -= Size;
    }
}

//
// Looks at a stream of types: there are as many as its head says, and the last
// ends where they end.
// Stream: the stream's number.
// Returns FALSE if it is damaged.
//

static
BOOLEAN
ImageArePdbTypesSound(
    _Inout_ PREADER_PDB_WALK Walk,
    _In_ ULONG Stream
    )
{
    ULONG Count;
    UCHAR Head[PDB_TYPE_SIZE];
    ULONG Offset;
    ULONG Size;
    ULONG SizeLeft;

    if (Stream >= Walk->Pdb->NumberOfStreams ||
        Walk->Pdb->StreamSizes[Stream] == 0) {
        return TRUE;
    }

    if (!ImageReadPdbStream(Walk->Pdb, Stream, 0, Head, PDB_TYPE_SIZE)) {
        return FALSE;
    }

    Count = ImageGetPdbNumber(Head + PDB_TYPE_END, 4) -
            ImageGetPdbNumber(Head + PDB_TYPE_FIRST, 4);
    Offset = ImageGetPdbNumber(Head + PDB_TYPE_HEAD_SIZE, 4);
    SizeLeft = ImageGetPdbNumber(Head + PDB_TYPE_SIZE_OF_RECORDS, 4);
    if (SizeLeft > Walk->BytesLeft) {
        return FALSE;
    }

    Walk->BytesLeft -= SizeLeft;
    while (SizeLeft >= PDB_SYMBOL_HEAD_SIZE && Count != 0 &&
           ImageReadPdbStream(Walk->Pdb,
                              Stream,
                              Offset,
                              Head,
                              PDB_SYMBOL_HEAD_SIZE)) {

        Size = ImageGetPdbNumber(Head, 2);
        if (Size < 2 || Size + 2 > SizeLeft) {
            return FALSE;
        }

        Count -= 1;
        Offset += Size + 2;
        SizeLeft -= Size + 2;
    }

    return (BOOLEAN)(Count == 0 && SizeLeft == 0);
}

//
// Adds the functions of all modules, in the order in which they were linked,
// and then the public names; and looks at what DbgHelp walks beside them.
// Table: where the functions go.
// Returns FALSE if the table takes no more.
//

static
BOOLEAN
ImageWalkPdbFunctions(
    _In_ PVOID Context,
    _Inout_ PREADER_COFF Table
    )
{
    UCHAR Character;
    UCHAR Head[PDB_DBI_SIZE];
    ULONG EndOffset;
    ULONG LinesSize;
    ULONG NamesLeft;
    ULONG Offset;
    ULONG OldSize;
    ULONG Size;
    ULONG Stream;
    ULONG SymbolStream;
    READER_PDB_WALK Walk;

    Walk.Pdb = (PREADER_PDB)Context;
    Walk.Table = Table;
    Walk.BytesLeft = 2 * Walk.Pdb->SizeInBytes;
    Walk.NumberOfSymbols = 0;
    Walk.IsFirst = (BOOLEAN)(Table->Entries == NULL);
    Walk.IsOver = FALSE;

    if (!ImageReadPdbStream(Walk.Pdb,
                            PDB_DBI_STREAM,
                            0,
                            Head,
                            PDB_DBI_SIZE)) {
        return TRUE;
    }

    SymbolStream = ImageGetPdbNumber(Head + PDB_DBI_SYMBOL_STREAM, 2);
    Size = ImageGetPdbNumber(Head + PDB_DBI_SIZE_OF_MODULES, 4);
    if (Size > 0x7fffffff) {
        Size = 0;
    }

    Offset = PDB_DBI_SIZE;
    EndOffset = PDB_DBI_SIZE + Size;
    while (!Walk.IsOver &&
           EndOffset - Offset >= PDB_MODULE_NAMES &&
           ImageReadPdbStream(Walk.Pdb,
                              PDB_DBI_STREAM,
                              Offset,
                              Head,
                              PDB_MODULE_NAMES)) {

        Stream = ImageGetPdbNumber(Head + PDB_MODULE_STREAM, 2);
        Size = ImageGetPdbNumber(Head + PDB_MODULE_SIZE_OF_SYMBOLS, 4);
        LinesSize = ImageGetPdbNumber(Head + PDB_MODULE_SIZE_OF_LINES, 4);
        if (Stream != PDB_MODULE_NO_STREAM) {
            if (Size != 0) {
                ImageWalkPdbStream(&Walk,
                                   Stream,
                                   PDB_MODULE_SIGNATURE_SIZE,
                                   Size);
            }

            //
            // Lines of the older kind lie between; what has our hooks has
            // none.
            //

            OldSize = ImageGetPdbNumber(Head + PDB_MODULE_SIZE_OF_OLD_LINES,
                                        4);
            if (OldSize > 0x7fffffff || Size > 0x7fffffff) {
                Walk.Pdb->IsDamaged = TRUE;
            } else if (Walk.IsFirst) {
                ImageCheckPdbModule(&Walk, Stream, Size + OldSize, LinesSize);
            }
        }

        //
        // Two names, each with a zero behind it; the next entry is on a
        // boundary of four bytes.
        //

        Offset += PDB_MODULE_NAMES;
        NamesLeft = 2;
        while (NamesLeft != 0 &&
               Offset < EndOffset &&
               ImageReadPdbStream(Walk.Pdb,
                                  PDB_DBI_STREAM,
                                  Offset,
                                  &Character,
                                  1)) {
            NamesLeft -= Character == 0;
            Offset += 1;
        }

        Offset = (Offset + 3) & ~3u;
        if (NamesLeft != 0 || Offset > EndOffset) {
            Walk.Pdb->IsDamaged = TRUE;
            break;
        }
    }

    if (Walk.IsFirst && !Walk.IsOver &&
        (!ImageArePdbTypesSound(&Walk, PDB_TYPE_STREAM) ||
         !ImageArePdbTypesSound(&Walk, PDB_IDENTIFIER_STREAM))) {
        Walk.Pdb->IsDamaged = TRUE;
    }

    if (!Walk.IsOver && SymbolStream < Walk.Pdb->NumberOfStreams) {
        ImageWalkPdbStream(&Walk,
                           SymbolStream,
                           0,
                           Walk.Pdb->StreamSizes[SymbolStream]);
    }

    return (BOOLEAN)!Walk.IsOver;
}

_Use_decl_annotations_
NTSTATUS
ImageLoadPdbFunctions(
    PREADER_PDB Pdb,
    PCREADER_COFF Image,
    PREADER_COFF Table
    )
{
    static const READER_COFF Empty = { 0 };
    PCALLOCATOR Allocator;
    ULONG Index;

    Allocator = Pdb->Allocator;
    *Table = Empty;
    Table->Allocator = Allocator;

    Pdb->Record = Allocator->Allocate(Allocator->Context,
                                      PDB_SYMBOL_MAXIMUM_SIZE);
    Table->Sections = Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Image->NumberOfSections * sizeof(READER_COFF_SECTION) + 1);
    if (Pdb->Record == NULL || Table->Sections == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Image->NumberOfSections; Index++) {
        Table->Sections[Index] = Image->Sections[Index];
    }
    Table->NumberOfSections = Image->NumberOfSections;

    return ImageLoadCoffTable(ImageWalkPdbFunctions,
                              Pdb,
                              2 * Pdb->SizeInBytes + 0x10000,
                              ReaderCoffKindPdb,
                              Table);
}

_Use_decl_annotations_
BOOLEAN
ImageFindPdbPublic(
    PCREADER_COFF Table,
    ULONG Rva,
    ULONG Number,
    PCSZ *Name,
    PULONG NameLengthInBytes
    )
{
    PCREADER_COFF_ENTRY Entry;
    ULONG First;
    ULONG Last;
    ULONG Middle;

    //
    // Publics come behind the functions at their address.
    //

    First = 0;
    Last = Table->NumberOfEntries;
    while (First < Last) {
        Middle = First + (Last - First) / 2;
        Entry = &Table->Entries[Middle];
        if (Entry->Rva < Rva ||
            (Entry->Rva == Rva && Entry->Rank < READER_RANK_NOT_FUNCTION)) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    if (Number >= Table->NumberOfEntries - First ||
        Table->Entries[First + Number].Rva != Rva) {
        return FALSE;
    }

    First += Number;
    *Name = Table->Names + Table->Entries[First].NameOffset;
    *NameLengthInBytes = Table->Entries[First].NameLength;
    return TRUE;
}

_Use_decl_annotations_
VOID
ImageRundownPdb(
    PREADER_PDB Pdb
    )
{
    PCALLOCATOR Allocator;

    Allocator = Pdb->Allocator;
    if (Allocator == NULL) {
        return;
    }

    Allocator->Free(Allocator->Context, Pdb->Blocks);
    Allocator->Free(Allocator->Context, Pdb->Record);
    Pdb->Blocks = NULL;
    Pdb->Record = NULL;
    Pdb->Allocator = NULL;
    Pdb->NumberOfStreams = 0;
}
