/*++

Module Name:

    StringTable.c

Abstract:

    Creation, destruction and search of a string table.

--*/

#include "StringTablePrivate.h"

C_ASSERT(STRING_TABLE_SUCCESS == STATUS_SUCCESS);
C_ASSERT(STRING_TABLE_INVALID_PARAMETER == STATUS_INVALID_PARAMETER);
C_ASSERT(STRING_TABLE_INVALID_PREFIX == STATUS_OBJECT_NAME_INVALID);
C_ASSERT(STRING_TABLE_PREFIX_TOO_LONG == STATUS_NAME_TOO_LONG);
C_ASSERT(STRING_TABLE_NO_MEMORY == STATUS_NO_MEMORY);

//
// The variants, the best one last.  Each has the searches of flat tables, of
// few slots and of many, and of tries for each way to fold.
//

typedef struct _STRING_TABLE_KERNEL {
    PCSZ Name;
    uint32_t Instructions;
    BOOLEAN IsAssembly;
    PSTRING_TABLE_SEARCH Flat[3];
    PSTRING_TABLE_SEARCH Wide[3];
    PSTRING_TABLE_SEARCH Trie[3];
} STRING_TABLE_KERNEL;
typedef const STRING_TABLE_KERNEL *PCSTRING_TABLE_KERNEL;

#define STRING_TABLE_SEARCHES(Name) { Name, Name##Bytes, Name##Utf16 }

static const STRING_TABLE_KERNEL StringTableKernels[] = {
    {
        "scalar",
        STRING_TABLE_SCALAR,
        FALSE,
        { NULL, NULL, NULL },
        { NULL, NULL, NULL },
        STRING_TABLE_SEARCHES(StringTableTrieScalar)
    },
#if STRING_TABLE_HAS_VECTORS
    {
        "SSE4.2",
        STRING_TABLE_SSE42,
        FALSE,
        STRING_TABLE_SEARCHES(StringTableFlatSse),
        STRING_TABLE_SEARCHES(StringTableWideSse),
        STRING_TABLE_SEARCHES(StringTableTrieSse)
    },
    {
        "AVX2 (C)",
        STRING_TABLE_AVX2,
        FALSE,
        STRING_TABLE_SEARCHES(StringTableFlatAvx2C),
        STRING_TABLE_SEARCHES(StringTableWideAvx2C),
        STRING_TABLE_SEARCHES(StringTableTrieAvx2C)
    },
#if STRING_TABLE_HAS_ASSEMBLY
    {
        "AVX2 (assembly)",
        STRING_TABLE_AVX2,
        TRUE,
        STRING_TABLE_SEARCHES(StringTableFlatAvx2),
        STRING_TABLE_SEARCHES(StringTableWideAvx2C),
        STRING_TABLE_SEARCHES(StringTableTrieAvx2C)
    },
#endif
    {
        "AVX-512",
        STRING_TABLE_AVX512,
        FALSE,
        STRING_TABLE_SEARCHES(StringTableFlatAvx512),
        STRING_TABLE_SEARCHES(StringTableWideAvx512),
        STRING_TABLE_SEARCHES(StringTableTrieAvx512)
    }
#endif
};

//
// Chooses the best variant that may be used.
// Instructions: the instruction sets.
// Flags: the table's properties.
//

static
PCSTRING_TABLE_KERNEL
StringTableChooseKernel(
    _In_ uint32_t Instructions,
    _In_ uint32_t Flags
    )
{
    PCSTRING_TABLE_KERNEL Kernel;
    ULONG Index;

    for (Index = RTL_NUMBER_OF(StringTableKernels) - 1; Index > 0; Index -= 1) {
        Kernel = &StringTableKernels[Index];
        if ((Kernel->Instructions & Instructions) != 0 &&
            (!Kernel->IsAssembly ||
             (Flags & STRING_TABLE_NO_ASSEMBLY) == 0)) {
            return Kernel;
        }
    }

    return &StringTableKernels[0];
}

//
// Decides whether a prefix may be in a table.
// CharacterSizeInBytes: the size of a character, 1 or 2.
// Returns STRING_TABLE_SUCCESS, STRING_TABLE_PREFIX_TOO_LONG, or
// STRING_TABLE_INVALID_PREFIX if the prefix is empty, has no buffer, or is not
// a whole number of characters.
//

static
int32_t
StringTableCheckPrefix(
    _In_ PCSTRING_TABLE_PREFIX Prefix,
    _In_ ULONG CharacterSizeInBytes
    )
{
    ULONG MaximumInBytes;

    MaximumInBytes = STRING_TABLE_MAXIMUM_PREFIX_IN_CHARS *
                     CharacterSizeInBytes;

    if (Prefix->LengthInBytes > MaximumInBytes) {
        return STRING_TABLE_PREFIX_TOO_LONG;
    }

    if (Prefix->LengthInBytes == 0 ||
        Prefix->LengthInBytes % CharacterSizeInBytes != 0 ||
        Prefix->Buffer == NULL) {
        return STRING_TABLE_INVALID_PREFIX;
    }

    return STRING_TABLE_SUCCESS;
}

//
// SizeInBytes: what follows the table.
// Returns the table, on a cache line, or NULL.
//

static
PSTRING_TABLE
StringTableAllocate(
    _In_ PCSTRING_TABLE_ALLOCATOR Allocator,
    _In_ SIZE_T SizeInBytes
    )
{
    PSTRING_TABLE Table;
    ULONG_PTR Address;
    PVOID Allocation;

    Allocation = Allocator->Allocate(Allocator->Context,
                                     sizeof(*Table) + SizeInBytes +
                                         STRING_TABLE_ALIGNMENT - 1);
    if (Allocation == NULL) {
        return NULL;
    }

    Address = (ULONG_PTR)Allocation + STRING_TABLE_ALIGNMENT - 1;
    Address &= ~(ULONG_PTR)(STRING_TABLE_ALIGNMENT - 1);
    Table = (PSTRING_TABLE)Address;
    Table->Allocation = Allocation;
    Table->Allocator.Context = Allocator->Context;
    Table->Allocator.Allocate = Allocator->Allocate;
    Table->Allocator.Free = Allocator->Free;

    return Table;
}

//
// Items: the prefixes.
// NumberOfItems: their number, at most STRING_TABLE_SLOTS.
// Fold: how they are folded.
// Returns the table, without its search, or NULL.
//

static
PSTRING_TABLE
StringTableCreateFlat(
    _In_ PCSTRING_TABLE_ALLOCATOR Allocator,
    _Inout_updates_(NumberOfItems) PSTRING_TABLE_ITEM Items,
    _In_ ULONG NumberOfItems,
    _In_ ULONG CharacterSizeInBytes,
    _In_ ULONG Fold
    )
{
    PSTRING_TABLE Table;
    SIZE_T SizeInBytes;
    ULONG Index;

    SizeInBytes = STRING_TABLE_PAD_IN_BYTES;
    for (Index = 0; Index < NumberOfItems; Index += 1) {
        SizeInBytes += (Items[Index].LengthInBytes +
                        STRING_TABLE_ALIGNMENT - 1) &
                       ~(ULONG)(STRING_TABLE_ALIGNMENT - 1);
    }

    Table = StringTableAllocate(Allocator, SizeInBytes);
    if (Table != NULL) {
        Table->Fold = Fold;
        StringTableFillFlat(Table,
                            Items,
                            NumberOfItems,
                            CharacterSizeInBytes,
                            (PUCHAR)(Table + 1));
    }

    return Table;
}

//
// Items: the prefixes, in order.
// Fold: how they are folded.
// Returns the table, without its search, or NULL.
//

static
PSTRING_TABLE
StringTableCreateTrie(
    _In_ PCSTRING_TABLE_ALLOCATOR Allocator,
    _Inout_updates_(NumberOfItems) PSTRING_TABLE_ITEM Items,
    _In_ ULONG NumberOfItems,
    _In_ ULONG CharacterSizeInBytes,
    _In_ ULONG Fold
    )
{
    STRING_TABLE_BUILDER Builder;
    volatile ULONGLONG *Target;
    const ULONGLONG *Source;
    PSTRING_TABLE Table;
    ULONGLONG RecordsSize;
    SIZE_T NodesOffset;
    SIZE_T NodesSize;
    SIZE_T Index;
    PUCHAR Memory;

    RecordsSize = StringTableLayOutRecords(Items, NumberOfItems);
    NodesSize = 280 * (SIZE_T)NumberOfItems + 512;
    if (RecordsSize >> STRING_TABLE_UNIT_SHIFT >= STRING_TABLE_MAXIMUM_UNITS ||
        NodesSize >> STRING_TABLE_UNIT_SHIFT >= STRING_TABLE_MAXIMUM_UNITS) {
        return NULL;
    }

    //
    // One allocation for all that is needed meanwhile.
    //

    NodesOffset = (SIZE_T)NumberOfItems *
                  (2 * sizeof(STRING_TABLE_ITEM) + sizeof(STRING_TABLE_TASK) +
                   sizeof(STRING_TABLE_GROUP) + sizeof(ULONG));
    NodesOffset = (NodesOffset + STRING_TABLE_ALIGNMENT - 1) &
                  ~(SIZE_T)(STRING_TABLE_ALIGNMENT - 1);
    Memory = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                         NodesOffset + NodesSize);
    if (Memory == NULL) {
        return NULL;
    }

    Builder.Items = Items;
    Builder.NumberOfItems = NumberOfItems;
    Builder.Fold = Fold;
    Builder.IsWide = (CharacterSizeInBytes == 2);
    Builder.Parts = (PSTRING_TABLE_ITEM)Memory;
    Builder.Spare = Builder.Parts + NumberOfItems;
    Builder.Tasks = (PSTRING_TABLE_TASK)(Builder.Spare + NumberOfItems);
    Builder.Groups = (PSTRING_TABLE_GROUP)(Builder.Tasks + NumberOfItems);
    Builder.Buckets = (PULONG)(Builder.Groups + NumberOfItems);
    Builder.Nodes = Memory + NodesOffset;
    Builder.CapacityInBytes = NodesSize;
    StringTableBuildNodes(&Builder);

    //
    // Nodes come first, then records; both begin on cache lines.
    //

    NodesSize = (Builder.UsedInBytes + STRING_TABLE_ALIGNMENT - 1) &
                ~(SIZE_T)(STRING_TABLE_ALIGNMENT - 1);
    Table = StringTableAllocate(Allocator, NodesSize + (SIZE_T)RecordsSize);
    if (Table != NULL) {

        Target = (volatile ULONGLONG *)(Table + 1);
        Source = (const ULONGLONG *)Builder.Nodes;
        for (Index = 0; Index < NodesSize / sizeof(ULONGLONG); Index += 1) {
            Target[Index] = Source[Index];
        }

        Table->Fold = Fold;
        Table->Root = Builder.Root;
        Table->Nodes = (const UCHAR *)(Table + 1);
        Table->List = (PCSTRING_TABLE_LIST)(Table->Nodes + Builder.ListOffset);
        Table->Records = Table->Nodes + NodesSize;
        StringTableFillRecords(Items,
                               NumberOfItems,
                               Fold,
                               (PUCHAR)(Table + 1) + NodesSize);
    }

    Allocator->Free(Allocator->Context, Memory);
    return Table;
}

_Use_decl_annotations_
int32_t
StringTableCreate(
    PCSTRING_TABLE_ALLOCATOR Allocator,
    uint32_t Instructions,
    uint32_t Flags,
    PCSTRING_TABLE_PREFIX Prefixes,
    uint32_t NumberOfPrefixes,
    PSTRING_TABLE *Table,
    uint32_t *BadIndex
    )
/*++

Routine Description:

    Creates a string table.

Arguments:

    Allocator - The allocator; it is copied, its context must outlive the
        table.

    Instructions - The instruction sets that may be used.

    Flags - The table's properties.

    Prefixes - The prefixes; they are copied.

    NumberOfPrefixes - The number of prefixes, at least 1.

    Table - Receives the table, on success.

    BadIndex - Optionally receives, on failure, the index of the first prefix
        that was refused, or STRING_TABLE_NOT_FOUND.

Return Value:

    STRING_TABLE_SUCCESS, STRING_TABLE_INVALID_PARAMETER,
    STRING_TABLE_INVALID_PREFIX, STRING_TABLE_PREFIX_TOO_LONG or
    STRING_TABLE_NO_MEMORY.

--*/
{
    PSTRING_TABLE_SEARCH Search;
    PCSTRING_TABLE_KERNEL Kernel;
    PSTRING_TABLE_ITEM Items;
    PSTRING_TABLE_ITEM Sorted;
    PSTRING_TABLE NewTable;
    ULONG CharacterSizeInBytes;
    ULONG NumberOfItems;
    ULONG Index;
    ULONG Fold;
    int32_t Status;

    Index = STRING_TABLE_NOT_FOUND;

    if (NumberOfPrefixes == 0 || NumberOfPrefixes == 0xFFFFFFFF ||
        (Flags & ~STRING_TABLE_VALID_FLAGS) != 0) {
        Status = STRING_TABLE_INVALID_PARAMETER;
        goto Error;
    }

    CharacterSizeInBytes = (Flags & STRING_TABLE_UTF16) != 0 ? 2 : 1;
    Fold = STRING_TABLE_FOLD_NONE;
    if ((Flags & STRING_TABLE_IGNORE_CASE) != 0) {
        Fold = CharacterSizeInBytes == 2 ?
                   STRING_TABLE_FOLD_UTF16 : STRING_TABLE_FOLD_BYTES;
    }

    for (Index = 0; Index < NumberOfPrefixes; Index += 1) {
        Status = StringTableCheckPrefix(&Prefixes[Index],
                                        CharacterSizeInBytes);
        if (Status != STRING_TABLE_SUCCESS) {
            goto Error;
        }
    }

    Index = STRING_TABLE_NOT_FOUND;
    Status = STRING_TABLE_NO_MEMORY;
    Items = (PSTRING_TABLE_ITEM)
        Allocator->Allocate(Allocator->Context,
                            2 * (SIZE_T)NumberOfPrefixes * sizeof(*Items));
    if (Items == NULL) {
        goto Error;
    }

    for (Index = 0; Index < NumberOfPrefixes; Index += 1) {
        Items[Index].Bytes = (const UCHAR *)Prefixes[Index].Buffer;
        Items[Index].LengthInBytes = Prefixes[Index].LengthInBytes;
        Items[Index].Index = Index;
    }

    Index = STRING_TABLE_NOT_FOUND;
    Sorted = StringTableSort(Items,
                             Items + NumberOfPrefixes,
                             NumberOfPrefixes,
                             Fold,
                             &NumberOfItems);

    Kernel = StringTableChooseKernel(Instructions, Flags);
    Search = Kernel->Trie[Fold];
    if (NumberOfItems <= STRING_TABLE_SLOTS && Kernel->Flat[Fold] != NULL) {
        Search = NumberOfItems <= STRING_TABLE_FEW_SLOTS ?
                     Kernel->Flat[Fold] : Kernel->Wide[Fold];
        NewTable = StringTableCreateFlat(Allocator,
                                         Sorted,
                                         NumberOfItems,
                                         CharacterSizeInBytes,
                                         Fold);
    } else {
        NewTable = StringTableCreateTrie(Allocator,
                                         Sorted,
                                         NumberOfItems,
                                         CharacterSizeInBytes,
                                         Fold);
    }

    if (NewTable != NULL) {
        NewTable->Variant = Kernel->Name;
        NewTable->Search = Search;
    }

    Allocator->Free(Allocator->Context, Items);
    if (NewTable == NULL) {
        goto Error;
    }

    *Table = NewTable;
    return STRING_TABLE_SUCCESS;

Error:

    if (BadIndex != NULL) {
        *BadIndex = Index;
    }
    return Status;
}

_Use_decl_annotations_
void
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
        Table->Allocator.Free(Table->Allocator.Context, Table->Allocation);
    }
}

_Use_decl_annotations_
uint32_t
STRING_TABLE_CALL
StringTableSearch(
    PCSTRING_TABLE Table,
    const void *String,
    uint32_t LengthInBytes
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
    return Table->Search(Table, String, LengthInBytes);
}

_Use_decl_annotations_
const char *
StringTableVariant(
    PCSTRING_TABLE Table
    )
/*++

Routine Description:

    Names what a table is searched with.

Arguments:

    Table - The table.

Return Value:

    The name.

--*/
{
    return Table->Variant;
}
