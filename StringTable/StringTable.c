/*++

Module Name:

    StringTable.c

Abstract:

    Creation, destruction and the portable search of a string table.

--*/

#include "StringTablePrivate.h"

static
NTSTATUS
StringTableCheckPrefix(
    _In_ PCSTRING_TABLE_PREFIX Prefix,
    _In_ ULONG CharacterSizeInBytes
    )
/*++

Routine Description:

    Decides whether a prefix may be in a table.

Arguments:

    Prefix - The prefix.

    CharacterSizeInBytes - The size of a character, 1 or 2.

Return Value:

    STATUS_SUCCESS, STATUS_NAME_TOO_LONG, or STATUS_OBJECT_NAME_INVALID if the
    prefix is empty, has no buffer, or is not a whole number of characters.

--*/
{
    ULONG MaximumInBytes;

    MaximumInBytes = STRING_TABLE_MAXIMUM_PREFIX_IN_CHARS *
                     CharacterSizeInBytes;

    if (Prefix->LengthInBytes > MaximumInBytes) {
        return STATUS_NAME_TOO_LONG;
    }

    if (Prefix->LengthInBytes == 0 ||
        Prefix->LengthInBytes % CharacterSizeInBytes != 0 ||
        Prefix->Buffer == NULL) {
        return STATUS_OBJECT_NAME_INVALID;
    }

    return STATUS_SUCCESS;
}

static
PULONGLONG
StringTableSortKey(
    _In_ PSTRING_TABLE_BLOCK Blocks,
    _In_ ULONG Position
    )
/*++

Routine Description:

    Finds a sort key.  The blocks' keys are sorted as one array.

Arguments:

    Blocks - The first block.

    Position - The position in the order, from 0.

Return Value:

    The address of the key.

--*/
{
    return &Blocks[Position >> STRING_TABLE_LANE_SHIFT].
               SortKeys[Position & (STRING_TABLE_LANES - 1)];
}

static
VOID
StringTableSiftDown(
    _In_ PSTRING_TABLE_BLOCK Blocks,
    _In_ ULONG Root,
    _In_ ULONG NumberOfKeys
    )
/*++

Routine Description:

    Moves the key at Root down its heap until no child is larger.

Arguments:

    Blocks - The first block.

    Root - The position of the key.  Both its subtrees are heaps.

    NumberOfKeys - The number of keys in the heap.

Return Value:

    None.

--*/
{
    PULONGLONG ParentKey;
    PULONGLONG ChildKey;
    PULONGLONG SiblingKey;
    ULONGLONG Child;
    ULONGLONG Key;

    ParentKey = StringTableSortKey(Blocks, Root);
    Key = *ParentKey;

    //
    // Positions are computed in 64 bits: twice a position may not fit in 32.
    //

    for (;;) {

        Child = 2 * (ULONGLONG)Root + 1;
        if (Child >= NumberOfKeys) {
            break;
        }

        ChildKey = StringTableSortKey(Blocks, (ULONG)Child);
        if (Child + 1 < NumberOfKeys) {
            SiblingKey = StringTableSortKey(Blocks, (ULONG)Child + 1);
            if (*SiblingKey > *ChildKey) {
                ChildKey = SiblingKey;
                Child += 1;
            }
        }

        if (*ChildKey <= Key) {
            break;
        }

        *ParentKey = *ChildKey;
        ParentKey = ChildKey;
        Root = (ULONG)Child;
    }

    *ParentKey = Key;
}

static
VOID
StringTableSort(
    _In_ PSTRING_TABLE_BLOCK Blocks,
    _In_ ULONG NumberOfKeys
    )
/*++

Routine Description:

    Sorts the sort keys in ascending order, in place: a heap sort, which needs
    neither memory nor recursion and has no bad case.

Arguments:

    Blocks - The first block.

    NumberOfKeys - The number of keys.

Return Value:

    None.

--*/
{
    PULONGLONG FirstKey;
    PULONGLONG LastKey;
    ULONGLONG Key;
    ULONG Position;

    for (Position = NumberOfKeys / 2; Position > 0; Position -= 1) {
        StringTableSiftDown(Blocks, Position - 1, NumberOfKeys);
    }

    FirstKey = StringTableSortKey(Blocks, 0);
    for (Position = NumberOfKeys; Position > 1; Position -= 1) {
        LastKey = StringTableSortKey(Blocks, Position - 1);
        Key = *LastKey;
        *LastKey = *FirstKey;
        *FirstKey = Key;
        StringTableSiftDown(Blocks, 0, Position - 1);
    }
}

static
ULONG
StringTableChooseKeyOffset(
    _In_ PCSTRING_TABLE_BLOCK Block,
    _In_ ULONG NumberOfLanes
    )
/*++

Routine Description:

    Chooses the position at which a block's prefixes have the most different
    bytes, so that as few of them as possible agree with a string there.  All
    of them must reach beyond it.

Arguments:

    Block - The block, its prefixes and shortest length set.

    NumberOfLanes - The number of prefixes in the block.

Return Value:

    The position in bytes; the first one of those that are as good.

--*/
{
    ULONGLONG Seen[4];
    ULONGLONG Bit;
    ULONG NumberOfBytes;
    ULONG MostBytes;
    ULONG BestOffset;
    ULONG Window;
    ULONG Offset;
    ULONG Lane;
    UCHAR Byte;

    Window = Block->ShortestLengthInBytes;
    if (Window > STRING_TABLE_KEY_WINDOW_IN_BYTES) {
        Window = STRING_TABLE_KEY_WINDOW_IN_BYTES;
    }

    MostBytes = 0;
    BestOffset = 0;

    for (Offset = 0; Offset < Window; Offset += 1) {

        Seen[0] = 0;
        Seen[1] = 0;
        Seen[2] = 0;
        Seen[3] = 0;
        NumberOfBytes = 0;

        for (Lane = 0; Lane < NumberOfLanes; Lane += 1) {
            Byte = Block->Prefixes[Lane][Offset];
            Bit = 1ULL << (Byte & 63);
            if ((Seen[Byte >> 6] & Bit) == 0) {
                Seen[Byte >> 6] |= Bit;
                NumberOfBytes += 1;
            }
        }

        if (NumberOfBytes > MostBytes) {
            MostBytes = NumberOfBytes;
            BestOffset = Offset;
        }
    }

    return BestOffset;
}

static
PUCHAR
StringTableFillBlock(
    _Inout_ PSTRING_TABLE_BLOCK Block,
    _In_ ULONG NumberOfLanes,
    _In_ PCSTRING_TABLE_PREFIX Prefixes,
    _Inout_ PUCHAR Pool
    )
/*++

Routine Description:

    Copies the prefixes of a block, and fills the block.

Arguments:

    Block - The block, its sort keys in order.

    NumberOfLanes - The number of prefixes in the block, 1 to 32.

    Prefixes - The list that the table is created from.

    Pool - Zeroed memory for the copies, on a 32-byte boundary.

Return Value:

    The address after the last copy, on a 32-byte boundary.

--*/
{
    volatile UCHAR *Target;
    const UCHAR *Source;
    ULONG Length;
    ULONG Offset;
    ULONG Index;
    ULONG Lane;

    for (Lane = 0; Lane < NumberOfLanes; Lane += 1) {

        Index = (ULONG)Block->SortKeys[Lane];
        Length = Prefixes[Index].LengthInBytes;
        Source = (const UCHAR *)Prefixes[Index].Buffer;

        //
        // Volatile, so that the loop does not become a call to memcpy, which
        // there is none of.
        //

        Target = Pool;
        for (Offset = 0; Offset < Length; Offset += 1) {
            Target[Offset] = Source[Offset];
        }

        Block->Prefixes[Lane] = Pool;
        Block->Indexes[Lane] = Index;
        Block->LengthsInBytes[Lane] = Length;
        Block->ShortLengths[Lane] = (UCHAR)(Length < 255 ? Length : 255);

        Pool += (Length + STRING_TABLE_VECTOR_IN_BYTES - 1) &
                ~(ULONG)(STRING_TABLE_VECTOR_IN_BYTES - 1);
    }

    Lane = NumberOfLanes - 1;
    Block->ShortestLengthInBytes = Block->LengthsInBytes[Lane];
    Block->LaneMask = 0xFFFFFFFF >> (STRING_TABLE_LANES - NumberOfLanes);

    Offset = StringTableChooseKeyOffset(Block, NumberOfLanes);
    Block->KeyOffsetInBytes = Offset;

    for (Lane = 0; Lane < NumberOfLanes; Lane += 1) {
        Block->Keys[Lane] = Block->Prefixes[Lane][Offset];
    }

    return Pool;
}

_Use_decl_annotations_
NTSTATUS
StringTableCreate(
    PCALLOCATOR Allocator,
    RTL_CPU_FEATURES CpuFeatures,
    ULONG CharacterSizeInBytes,
    PCSTRING_TABLE_PREFIX Prefixes,
    ULONG NumberOfPrefixes,
    PSTRING_TABLE *Table,
    PULONG BadIndex
    )
/*++

Routine Description:

    Creates a string table.

Arguments:

    Allocator - The allocator; it is copied, its context must outlive the
        table.

    CpuFeatures - The instruction sets that may be used.

    CharacterSizeInBytes - The size of a character, 1 or 2.

    Prefixes - The prefixes; they are copied.

    NumberOfPrefixes - The number of prefixes, at least 1.

    Table - Receives the table, on success.

    BadIndex - Optionally receives, on failure, the index of the first prefix
        that was refused, or STRING_TABLE_NOT_FOUND.

Return Value:

    STATUS_SUCCESS, STATUS_INVALID_PARAMETER, STATUS_OBJECT_NAME_INVALID,
    STATUS_NAME_TOO_LONG or STATUS_NO_MEMORY.

--*/
{
    PSTRING_TABLE NewTable;
    PSTRING_TABLE_BLOCK Blocks;
    NTSTATUS Status;
    SIZE_T SizeInBytes;
    ULONG_PTR Address;
    PUCHAR Pool;
    ULONG NumberOfBlocks;
    ULONG NumberOfLanes;
    ULONG Length;
    ULONG Index;

    Index = STRING_TABLE_NOT_FOUND;

    if (NumberOfPrefixes == 0 ||
        (CharacterSizeInBytes != 1 && CharacterSizeInBytes != 2)) {
        Status = STATUS_INVALID_PARAMETER;
        goto Error;
    }

    //
    // The allocator's alignment is less than a block's, hence the room for
    // moving the first block up.  The 32 bytes between the blocks and the
    // first prefix are the ones that may be read before a prefix.
    //
    // The sum stays below 2^49.
    //

    NumberOfBlocks = ((NumberOfPrefixes - 1) >> STRING_TABLE_LANE_SHIFT) + 1;
    SizeInBytes = sizeof(STRING_TABLE) + STRING_TABLE_BLOCK_ALIGNMENT - 1 +
                  (SIZE_T)NumberOfBlocks * sizeof(STRING_TABLE_BLOCK) +
                  STRING_TABLE_VECTOR_IN_BYTES;

    for (Index = 0; Index < NumberOfPrefixes; Index += 1) {
        Status = StringTableCheckPrefix(&Prefixes[Index],
                                        CharacterSizeInBytes);
        if (!NT_SUCCESS(Status)) {
            goto Error;
        }
        Length = Prefixes[Index].LengthInBytes;
        SizeInBytes += (Length + STRING_TABLE_VECTOR_IN_BYTES - 1) &
                       ~(ULONG)(STRING_TABLE_VECTOR_IN_BYTES - 1);
    }

    NewTable = (PSTRING_TABLE)Allocator->Allocate(Allocator->Context,
                                                  SizeInBytes);
    if (NewTable == NULL) {
        Index = STRING_TABLE_NOT_FOUND;
        Status = STATUS_NO_MEMORY;
        goto Error;
    }

    Address = (ULONG_PTR)(NewTable + 1) + STRING_TABLE_BLOCK_ALIGNMENT - 1;
    Address &= ~(ULONG_PTR)(STRING_TABLE_BLOCK_ALIGNMENT - 1);
    Blocks = (PSTRING_TABLE_BLOCK)Address;

    NewTable->Allocator.Context = Allocator->Context;
    NewTable->Allocator.Allocate = Allocator->Allocate;
    NewTable->Allocator.Free = Allocator->Free;
    NewTable->Blocks = Blocks;
    NewTable->UseAvx2 =
        (BOOLEAN)(STRING_TABLE_HAS_AVX2 && CpuFeatures.Avx2 != 0);

    //
    // Ascending keys are descending lengths, and ascending indexes in one
    // length.
    //

    for (Index = 0; Index < NumberOfPrefixes; Index += 1) {
        Length = Prefixes[Index].LengthInBytes;
        *StringTableSortKey(Blocks, Index) =
            ((ULONGLONG)(0xFFFFFFFF - Length) << 32) | Index;
    }

    StringTableSort(Blocks, NumberOfPrefixes);

    Pool = (PUCHAR)&Blocks[NumberOfBlocks] + STRING_TABLE_VECTOR_IN_BYTES;
    for (Index = 0; Index < NumberOfBlocks; Index += 1) {

        NumberOfLanes = NumberOfPrefixes - (Index << STRING_TABLE_LANE_SHIFT);
        if (NumberOfLanes > STRING_TABLE_LANES) {
            NumberOfLanes = STRING_TABLE_LANES;
        }

        Blocks[Index].NumberOfBlocksAfter = NumberOfBlocks - 1 - Index;
        Pool = StringTableFillBlock(&Blocks[Index],
                                    NumberOfLanes,
                                    Prefixes,
                                    Pool);
    }

    *Table = NewTable;
    return STATUS_SUCCESS;

Error:

    if (BadIndex != NULL) {
        *BadIndex = Index;
    }
    return Status;
}

_Use_decl_annotations_
VOID
StringTableDestroy(
    PSTRING_TABLE Table
    )
/*++

Routine Description:

    Destroys a string table.

Arguments:

    Table - The table, or NULL.

Return Value:

    None.

--*/
{
    if (Table != NULL) {
        Table->Allocator.Free(Table->Allocator.Context, Table);
    }
}

_Use_decl_annotations_
ULONG
StringTableSearch(
    PCSTRING_TABLE Table,
    const VOID *String,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Finds the longest prefix that a string begins with.

Arguments:

    Table - The table.

    String - The string; not read if its length is 0.

    LengthInBytes - The string's length.

Return Value:

    The prefix's index in the list that the table was created from, or
    STRING_TABLE_NOT_FOUND.

--*/
{

#if STRING_TABLE_HAS_AVX2

    if (Table->UseAvx2) {
        return StringTableSearchAvx2(Table->Blocks, String, LengthInBytes);
    }

#endif

    return StringTableSearchScalar(Table->Blocks, String, LengthInBytes);
}

_Use_decl_annotations_
BOOLEAN
StringTableIsAvx2(
    PCSTRING_TABLE Table
    )
/*++

Routine Description:

    Tells which search a table uses.

Arguments:

    Table - The table.

Return Value:

    TRUE if the table is searched with AVX2.

--*/
{
    return Table->UseAvx2;
}

_Use_decl_annotations_
ULONG
StringTableSearchScalar(
    PCSTRING_TABLE_BLOCK Blocks,
    const VOID *String,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Finds the longest prefix that a string begins with, one prefix at a time
    and one byte at a time.  It reads nothing beyond the string.

Arguments:

    Blocks - The first block.

    String - The string.

    LengthInBytes - The string's length.

Return Value:

    The prefix's index, or STRING_TABLE_NOT_FOUND.

--*/
{
    PCSTRING_TABLE_BLOCK Block;
    const UCHAR *Bytes;
    const UCHAR *Prefix;
    ULONG NumberOfBlocksLeft;
    ULONG Length;
    ULONG Offset;
    ULONG Lanes;
    ULONG Lane;
    UCHAR Key;

    Bytes = (const UCHAR *)String;
    Block = Blocks;
    NumberOfBlocksLeft = Blocks->NumberOfBlocksAfter + 1;

    for (; NumberOfBlocksLeft > 0; NumberOfBlocksLeft -= 1, Block += 1) {

        //
        // A string that is shorter than all prefixes of the block may not
        // have the key byte: nothing of it is read.
        //

        if (LengthInBytes < Block->ShortestLengthInBytes) {
            continue;
        }

        Key = Bytes[Block->KeyOffsetInBytes];
        Lanes = Block->LaneMask;

        for (Lane = 0; Lanes != 0; Lane += 1, Lanes >>= 1) {

            Length = Block->LengthsInBytes[Lane];
            if (Block->Keys[Lane] != Key || Length > LengthInBytes) {
                continue;
            }

            Prefix = Block->Prefixes[Lane];
            for (Offset = 0; Offset < Length; Offset += 1) {
                if (Prefix[Offset] != Bytes[Offset]) {
                    break;
                }
            }

            if (Offset == Length) {
                return Block->Indexes[Lane];
            }
        }
    }

    return STRING_TABLE_NOT_FOUND;
}
