/*++

Module Name:

    ReaderPdb.c

Abstract:

    Reads a PDB: the container, its identity, and the functions that the
    streams of its modules and its public names tell of.  The layout is that
    which LLVM's documentation of the PDB format describes.

--*/

#include "ReaderPdb.h"

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
#define PDB_MODULE_NAMES                64
#define PDB_MODULE_NO_STREAM            0xffff
#define PDB_MODULE_SIGNATURE_SIZE       4

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
    BOOLEAN IsOver;                 // the table takes no more
} READER_PDB_WALK;
typedef READER_PDB_WALK *PREADER_PDB_WALK;

static
ULONG
ReaderGetPdbNumber(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Reads a little-endian number.

Arguments:

    Bytes - Supplies its first byte.

    SizeInBytes - Supplies how many it has, at most 4.

Return Value:

    The number.

--*/
{
    ULONG Index;
    ULONG Number;

    Number = 0;
    for (Index = 0; Index < SizeInBytes; Index++) {
        Number |= (ULONG)Bytes[Index] << (8 * Index);
    }

    return Number;
}

static
const UCHAR *
ReaderFindPdbBlock(
    _In_ PCREADER_PDB Pdb,
    _In_ ULONG Block
    )
/*++

Routine Description:

    Finds a block's bytes.

Arguments:

    Pdb - Supplies the PDB.

    Block - Supplies the block's number.

Return Value:

    The block, or NULL if it is not all there.

--*/
{
    ULONGLONG Offset;

    Offset = (ULONGLONG)Block * Pdb->BlockSize;
    if (Offset > Pdb->SizeInBytes ||
        Pdb->SizeInBytes - Offset < Pdb->BlockSize) {
        return NULL;
    }

    return Pdb->Bytes + Offset;
}

static
BOOLEAN
ReaderReadPdbStream(
    _In_ PCREADER_PDB Pdb,
    _In_ ULONG Stream,
    _In_ ULONG Offset,
    _Out_writes_bytes_(SizeInBytes) PUCHAR Buffer,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Copies a part of a stream.

Arguments:

    Pdb - Supplies the PDB.

    Stream - Supplies the stream's number.

    Offset - Supplies where the part begins, in bytes.

    Buffer - Receives it.

    SizeInBytes - Supplies its size.

Return Value:

    FALSE if it is not all there.

--*/
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
            Block = ReaderFindPdbBlock(
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

static
BOOLEAN
ReaderLayOutPdbStreams(
    _Inout_ PREADER_PDB Pdb,
    _In_ ULONG NumberOfWords
    )
/*++

Routine Description:

    Finds where each stream's blocks are.  The directory has the number of
    streams, their sizes, and then their blocks, one stream after the other.

Arguments:

    Pdb - Supplies the directory, in Blocks; receives the streams.

    NumberOfWords - Supplies the directory's size, in words of four bytes.

Return Value:

    FALSE if the directory is damaged.

--*/
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

static
_Must_inspect_result_
NTSTATUS
ReaderLoadPdbDirectory(
    _Inout_ PREADER_PDB Pdb
    )
/*++

Routine Description:

    Reads the head of the container and its directory.

Arguments:

    Pdb - Supplies the bytes; receives the streams.

Return Value:

    STATUS_SUCCESS, STATUS_FILE_CORRUPT_ERROR or STATUS_NO_MEMORY.

--*/
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

    Pdb->BlockSize = ReaderGetPdbNumber(Pdb->Bytes + PDB_BLOCK_SIZE, 4);
    NumberOfBlocks = ReaderGetPdbNumber(Pdb->Bytes + PDB_NUMBER_OF_BLOCKS, 4);
    Size = ReaderGetPdbNumber(Pdb->Bytes + PDB_DIRECTORY_SIZE, 4);
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

    Map = ReaderFindPdbBlock(
        Pdb,
        ReaderGetPdbNumber(Pdb->Bytes + PDB_BLOCK_MAP, 4));
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
            Block = ReaderFindPdbBlock(
                Pdb,
                ReaderGetPdbNumber(Map + Index / WordsInBlock * 4, 4));
        }
        if (Block == NULL) {
            return STATUS_FILE_CORRUPT_ERROR;
        }
        Pdb->Blocks[Index] = ReaderGetPdbNumber(
            Block + Index % WordsInBlock * 4,
            4);
    }

    return ReaderLayOutPdbStreams(Pdb, NumberOfWords) ?
               STATUS_SUCCESS : STATUS_FILE_CORRUPT_ERROR;
}

_Use_decl_annotations_
NTSTATUS
ReaderInitializePdb(
    PCALLOCATOR Allocator,
    const UCHAR *Bytes,
    ULONGLONG SizeInBytes,
    PREADER_PDB Pdb
    )
/*++

Routine Description:

    Reads a PDB's directory and identity.

Arguments:

    Allocator - Supplies the memory; it must outlive Pdb.

    Bytes - Supplies the PDB's file.

    SizeInBytes - Supplies its size.

    Pdb - Receives what was found.

Return Value:

    STATUS_SUCCESS, STATUS_FILE_CORRUPT_ERROR or STATUS_NO_MEMORY.

--*/
{
    static const READER_PDB Empty = { 0 };
    UCHAR Head[PDB_INFO_SIZE];
    ULONG Index;
    NTSTATUS Status;

    *Pdb = Empty;
    Pdb->Allocator = Allocator;
    Pdb->Bytes = Bytes;
    Pdb->SizeInBytes = SizeInBytes;

    Status = ReaderLoadPdbDirectory(Pdb);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!ReaderReadPdbStream(Pdb, PDB_INFO_STREAM, 0, Head, PDB_INFO_SIZE)) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    for (Index = 0; Index < sizeof(Pdb->Guid); Index++) {
        Pdb->Guid[Index] = Head[PDB_INFO_GUID + Index];
    }

    Pdb->Age = ReaderGetPdbNumber(Head + PDB_INFO_AGE, 4);
    if (ReaderReadPdbStream(Pdb, PDB_DBI_STREAM, 0, Head, PDB_DBI_AGE + 4) &&
        ReaderGetPdbNumber(Head + PDB_DBI_SIGNATURE, 4) == 0xffffffffu) {
        Pdb->Age = ReaderGetPdbNumber(Head + PDB_DBI_AGE, 4);
    }

    return STATUS_SUCCESS;
}

static
VOID
ReaderAddPdbSymbol(
    _Inout_ PREADER_PDB_WALK Walk,
    _In_ ULONG Section,
    _In_ ULONG Offset,
    _In_ ULONG Rank,
    _In_ ULONG NameOffset,
    _In_ ULONG RecordSize
    )
/*++

Routine Description:

    Adds a function.

Arguments:

    Walk - Supplies the walk, with the symbol in the PDB's record.

    Section - Supplies the number of the function's section, from 1.

    Offset - Supplies where the function is in it, in bytes.

    Rank - Supplies what kind of name it is, READER_RANK_*.

    NameOffset - Supplies where the name is in the record.

    RecordSize - Supplies the record's size in bytes.

Return Value:

    None.

--*/
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
    if (!ReaderAddCoffEntry(Walk->Table,
                            Found->StartRva + Offset,
                            Rank,
                            Walk->Pdb->Record + NameOffset,
                            RecordSize - NameOffset)) {
        Walk->IsOver = TRUE;
    }
}

static
VOID
ReaderWalkPdbStream(
    _Inout_ PREADER_PDB_WALK Walk,
    _In_ ULONG Stream,
    _In_ ULONG Offset,
    _In_ ULONG EndOffset
    )
/*++

Routine Description:

    Adds the functions of one stream of symbols.

Arguments:

    Walk - Supplies the walk.

    Stream - Supplies the stream's number.

    Offset - Supplies where its symbols begin, in bytes.

    EndOffset - Supplies where they end.

Return Value:

    None.  What is damaged ends the stream.

--*/
{
    UCHAR Head[PDB_SYMBOL_HEAD_SIZE];
    ULONG Kind;
    PUCHAR Record;
    ULONG Size;

    Record = Walk->Pdb->Record;
    while (!Walk->IsOver &&
           Offset <= EndOffset &&
           EndOffset - Offset >= PDB_SYMBOL_HEAD_SIZE &&
           ReaderReadPdbStream(Walk->Pdb,
                               Stream,
                               Offset,
                               Head,
                               PDB_SYMBOL_HEAD_SIZE)) {

        //
        // The length counts the kind.
        //

        Size = ReaderGetPdbNumber(Head, 2);
        Kind = ReaderGetPdbNumber(Head + 2, 2);
        if (Size < 2 ||
            Size + 2 > EndOffset - Offset ||
            Size + 2 > Walk->BytesLeft) {
            return;
        }

        Walk->BytesLeft -= Size + 2;
        Offset += PDB_SYMBOL_HEAD_SIZE;
        Size -= 2;

        if ((Kind == PDB_PUBLIC || Kind == PDB_LOCAL_FUNCTION ||
             Kind == PDB_GLOBAL_FUNCTION || Kind == PDB_LOCAL_FUNCTION_ID ||
             Kind == PDB_GLOBAL_FUNCTION_ID) &&
            Size > PDB_PUBLIC_NAME) {

            if (!ReaderReadPdbStream(Walk->Pdb,
                                     Stream,
                                     Offset,
                                     Record,
                                     Size)) {
                return;
            }

            if (Kind != PDB_PUBLIC) {
                if (Size > PDB_FUNCTION_NAME) {
                    ReaderAddPdbSymbol(
                        Walk,
                        ReaderGetPdbNumber(Record + PDB_FUNCTION_SECTION, 2),
                        ReaderGetPdbNumber(Record + PDB_FUNCTION_OFFSET, 4),
                        0,
                        PDB_FUNCTION_NAME,
                        Size);
                }
            } else if (Record[PDB_PUBLIC_FLAGS] & PDB_PUBLIC_IS_FUNCTION) {
                ReaderAddPdbSymbol(
                    Walk,
                    ReaderGetPdbNumber(Record + PDB_PUBLIC_SECTION, 2),
                    ReaderGetPdbNumber(Record + PDB_PUBLIC_OFFSET, 4),
                    READER_RANK_NOT_FUNCTION,
                    PDB_PUBLIC_NAME,
                    Size);
            }
        }

        Offset += Size;
    }
}

static
BOOLEAN
ReaderWalkPdbFunctions(
    _In_ PVOID Context,
    _Inout_ PREADER_COFF Table
    )
/*++

Routine Description:

    Adds the functions of all modules, in the order in which they were linked,
    and then the public names.

Arguments:

    Context - Supplies the PDB.

    Table - Supplies where the functions go.

Return Value:

    FALSE if the table takes no more.

--*/
{
    UCHAR Character;
    UCHAR Head[PDB_DBI_SIZE];
    ULONG EndOffset;
    ULONG NamesLeft;
    ULONG Offset;
    ULONG Size;
    ULONG Stream;
    ULONG SymbolStream;
    READER_PDB_WALK Walk;

    Walk.Pdb = (PREADER_PDB)Context;
    Walk.Table = Table;
    Walk.BytesLeft = 2 * Walk.Pdb->SizeInBytes;
    Walk.NumberOfSymbols = 0;
    Walk.IsOver = FALSE;

    if (!ReaderReadPdbStream(Walk.Pdb,
                             PDB_DBI_STREAM,
                             0,
                             Head,
                             PDB_DBI_SIZE)) {
        return TRUE;
    }

    SymbolStream = ReaderGetPdbNumber(Head + PDB_DBI_SYMBOL_STREAM, 2);
    Size = ReaderGetPdbNumber(Head + PDB_DBI_SIZE_OF_MODULES, 4);
    if (Size > 0x7fffffff) {
        Size = 0;
    }

    Offset = PDB_DBI_SIZE;
    EndOffset = PDB_DBI_SIZE + Size;
    while (!Walk.IsOver &&
           EndOffset - Offset >= PDB_MODULE_NAMES &&
           ReaderReadPdbStream(Walk.Pdb,
                               PDB_DBI_STREAM,
                               Offset,
                               Head,
                               PDB_MODULE_NAMES)) {

        Stream = ReaderGetPdbNumber(Head + PDB_MODULE_STREAM, 2);
        Size = ReaderGetPdbNumber(Head + PDB_MODULE_SIZE_OF_SYMBOLS, 4);
        if (Stream != PDB_MODULE_NO_STREAM) {
            ReaderWalkPdbStream(&Walk,
                                Stream,
                                PDB_MODULE_SIGNATURE_SIZE,
                                Size);
        }

        //
        // Two names, each with a zero behind it; the next entry is on a
        // boundary of four bytes.
        //

        Offset += PDB_MODULE_NAMES;
        NamesLeft = 2;
        while (NamesLeft != 0 &&
               Offset < EndOffset &&
               ReaderReadPdbStream(Walk.Pdb,
                                   PDB_DBI_STREAM,
                                   Offset,
                                   &Character,
                                   1)) {
            NamesLeft -= Character == 0;
            Offset += 1;
        }

        Offset = (Offset + 3) & ~3u;
        if (NamesLeft != 0 || Offset > EndOffset) {
            break;
        }
    }

    if (!Walk.IsOver && SymbolStream < Walk.Pdb->NumberOfStreams) {
        ReaderWalkPdbStream(&Walk,
                            SymbolStream,
                            0,
                            Walk.Pdb->StreamSizes[SymbolStream]);
    }

    return (BOOLEAN)!Walk.IsOver;
}

_Use_decl_annotations_
NTSTATUS
ReaderLoadPdbFunctions(
    PREADER_PDB Pdb,
    PCREADER_COFF Image,
    PREADER_COFF Table
    )
/*++

Routine Description:

    Makes a table of the PDB's functions.

Arguments:

    Pdb - Supplies the PDB.

    Image - Supplies the sections.

    Table - Receives the functions.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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

    return ReaderLoadCoffTable(ReaderWalkPdbFunctions,
                               Pdb,
                               2 * Pdb->SizeInBytes + 0x10000,
                               ReaderCoffKindPdb,
                               Table);
}

_Use_decl_annotations_
BOOLEAN
ReaderFindPdbPublic(
    PCREADER_COFF Table,
    ULONG Rva,
    PCSZ *Name,
    PULONG NameLengthInBytes
    )
/*++

Routine Description:

    Finds the first public name at an address.

Arguments:

    Table - Supplies the functions.

    Rva - Supplies the address.

    Name - Receives the name.

    NameLengthInBytes - Receives its length without the terminator.

Return Value:

    TRUE if there is one; otherwise nothing is written.

--*/
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

    if (First == Table->NumberOfEntries ||
        Table->Entries[First].Rva != Rva) {
        return FALSE;
    }

    *Name = Table->Names + Table->Entries[First].NameOffset;
    *NameLengthInBytes = Table->Entries[First].NameLength;
    return TRUE;
}

_Use_decl_annotations_
VOID
ReaderRundownPdb(
    PREADER_PDB Pdb
    )
/*++

Routine Description:

    Frees what ReaderInitializePdb and ReaderLoadPdbFunctions allocated, but
    not the tables.  It may be called after a failure, and twice.

Arguments:

    Pdb - Supplies the PDB.

Return Value:

    None.

--*/
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
