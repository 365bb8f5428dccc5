/*++

Module Name:

    StringTablePrivate.h

Abstract:

    The layout of a string table, for the module's own files.  The offsets
    that StringTableAvx2.asm uses are in StringTable.inc and are checked here.

    A table of up to 16 different prefixes that may use vectors is flat: one
    slot for each prefix, longest first.  Any other is a trie of hash nodes
    over records.  Docs/StringTable.md says how they work and why.

--*/

#ifndef TRACER_STRING_TABLE_PRIVATE_H
#define TRACER_STRING_TABLE_PRIVATE_H

#include "StringTable.h"
#include "../Rtl/RtlTypes.h"

#if defined(_M_X64) || defined(__x86_64__)
#define STRING_TABLE_HAS_VECTORS 1
#else
#define STRING_TABLE_HAS_VECTORS 0
#endif

//
// Assembly is always there on Windows; a native build says so if it is.
//

#ifndef STRING_TABLE_HAS_ASSEMBLY
#ifdef _WIN32
#define STRING_TABLE_HAS_ASSEMBLY STRING_TABLE_HAS_VECTORS
#else
#define STRING_TABLE_HAS_ASSEMBLY 0
#endif
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define STRING_TABLE_INLINE static __forceinline
#define STRING_TABLE_NOINLINE static __declspec(noinline)
#define STRING_TABLE_LIKELY(Condition) (Condition)
#define STRING_TABLE_UNLIKELY(Condition) (Condition)
#else
#define STRING_TABLE_INLINE static inline __attribute__((always_inline))
#define STRING_TABLE_NOINLINE static __attribute__((noinline))
#define STRING_TABLE_LIKELY(Condition) __builtin_expect(!!(Condition), 1)
#define STRING_TABLE_UNLIKELY(Condition) __builtin_expect(!!(Condition), 0)
#endif

//
// Target becomes Value on a condition that cannot be predicted: without a
// branch, which the compiler would make of it if it could.
//

#if defined(__clang__)
#define STRING_TABLE_CHOOSE(Condition, Target, Value)                       \
    __asm__("" : "+r"(Value));                                              \
    (Target) = __builtin_unpredictable(Condition) ? (Value) : (Target)
#else
#define STRING_TABLE_CHOOSE(Condition, Target, Value)                       \
    (Target) = (Condition) ? (Value) : (Target)
#endif

#define STRING_TABLE_ALIGNMENT 64
#define STRING_TABLE_PAGE_IN_BYTES 4096

//
// As many bytes may be read beyond a prefix's last one.
//

#define STRING_TABLE_PAD_IN_BYTES 64

//
// How characters are folded.
//

#define STRING_TABLE_FOLD_NONE 0
#define STRING_TABLE_FOLD_BYTES 1
#define STRING_TABLE_FOLD_UTF16 2

//
// The flat table.  A slot's key is some of its prefix's first 16 bytes: two of
// them at the places in Places2, four at those in Places4.  A slot that is not
// in use has a key that nothing matches: a place of 0x80 gives 0.  The slot
// after the last one that may be in use, 16 or 64, stands for none.
//
// In Places2 and Keys2 of a table with more than 16 slots, the second and the
// third eight of each 32 have changed places, which is where packing puts
// them.
//

#define STRING_TABLE_FEW_SLOTS 16
#define STRING_TABLE_SLOTS 64
#define STRING_TABLE_KEY_WINDOW_IN_BYTES 16
#define STRING_TABLE_NO_PLACE 0x80

//
// So many bytes of a prefix are in its slot.
//

#define STRING_TABLE_SLOT_IN_BYTES 64

typedef struct _STRING_TABLE_FLAT {

    UCHAR Places2[STRING_TABLE_SLOTS][2];
    UCHAR Keys2[STRING_TABLE_SLOTS][2];
    UCHAR Places4[STRING_TABLE_SLOTS][4];
    UCHAR Keys4[STRING_TABLE_SLOTS][4];

    //
    // A bit for each of the prefix's first 64 bytes, and its length.
    //

    ULONGLONG Masks[STRING_TABLE_SLOTS + 1];
    ULONG LengthsInBytes[STRING_TABLE_SLOTS + 1];
    ULONG Indexes[STRING_TABLE_SLOTS + 1];

    //
    // Not 0 if the prefix is longer than 32, or 64, bytes.
    //

    ULONG AreLong32[STRING_TABLE_SLOTS + 1];
    ULONG AreLong64[STRING_TABLE_SLOTS + 1];

    //
    // The prefix's bytes; all of them, and the first 64, with zeros after.
    //

    const UCHAR *Prefixes[STRING_TABLE_SLOTS + 1];
    ULONGLONG SlotMask;             // the slots in use
    UCHAR Reserved[24];
    UCHAR Bytes[STRING_TABLE_SLOTS + 1][STRING_TABLE_SLOT_IN_BYTES];

} STRING_TABLE_FLAT;
typedef STRING_TABLE_FLAT *PSTRING_TABLE_FLAT;
typedef const STRING_TABLE_FLAT *PCSTRING_TABLE_FLAT;

//
// The trie.  A reference is the position of a record or a node, in units of 16
// bytes, and its kind; or it says that the list is to be searched.
//

#define STRING_TABLE_UNIT_SHIFT 4
#define STRING_TABLE_REFERENCE_RECORD 0x80000000u      // no node
#define STRING_TABLE_REFERENCE_LIST 0xFFFFFFFFu
#define STRING_TABLE_MAXIMUM_UNITS 0x3FFFFFFFu

//
// A prefix.  One that no other prefix begins with is a leaf.  Its bytes follow,
// and those of one that is short; the others are reached from those that begin
// with them: Parent is the longest prefix that this one begins with, Jump one
// that is further up.  The first record stands for none: a leaf of length 0.
//

#define STRING_TABLE_SHORT_IN_BYTES 64

typedef struct _STRING_TABLE_RECORD {
    ULONG LengthInBytes;
    ULONG Index;
    ULONG Parent;                   // units
    ULONG Jump;                     // units
} STRING_TABLE_RECORD;
typedef STRING_TABLE_RECORD *PSTRING_TABLE_RECORD;
typedef const STRING_TABLE_RECORD *PCSTRING_TABLE_RECORD;

//
// What has bytes also has what is in its parent's record, or what stands for
// none.
//

typedef struct _STRING_TABLE_ANSWER {
    ULONG LengthInBytes;
    ULONG Index;
} STRING_TABLE_ANSWER;

typedef struct _STRING_TABLE_LEAF {
    STRING_TABLE_RECORD Record;
    STRING_TABLE_ANSWER Answers[2];         // its own and its parent's
} STRING_TABLE_LEAF;
typedef STRING_TABLE_LEAF *PSTRING_TABLE_LEAF;
typedef const STRING_TABLE_LEAF *PCSTRING_TABLE_LEAF;

//
// A node: all prefixes below it have their first OffsetInBytes bytes in common,
// and are longer.  By how many bytes they are longer they are in up to four
// levels, shortest first; a level's width is that of the shortest in it, or 16.
// One perfect hash, of as many bytes from the node's place on as the level is
// wide, leads to the child.  Displacements and entries follow.
//
// Levels that are not in use are the last one again.
//

#define STRING_TABLE_WINDOW_IN_BYTES 16
#define STRING_TABLE_LEVELS 4

typedef struct _STRING_TABLE_NODE {
    ULONGLONG Masks[STRING_TABLE_LEVELS][2];
    ULONGLONG Zones[STRING_TABLE_LEVELS];   // a bit for each byte of the width;
                                            // the last for all beyond 64
    ULONGLONG Seeds[STRING_TABLE_LEVELS];
    ULONG OffsetInBytes;
    ULONG Otherwise;                // a reference to a record
    ULONG DisplacementMask;
    ULONG EntryShift;
    ULONG EntriesOffsetInBytes;     // from the node
    ULONG Reserved;
} STRING_TABLE_NODE;
typedef STRING_TABLE_NODE *PSTRING_TABLE_NODE;
typedef const STRING_TABLE_NODE *PCSTRING_TABLE_NODE;

//
// An entry that is free leads to the list.  A build for tests may compare fewer
// bits of the tags, so that other bytes' hashes agree.
//

#ifndef STRING_TABLE_TAG_MASK
#define STRING_TABLE_TAG_MASK 0xFFFFFFFFu
#endif

typedef struct _STRING_TABLE_ENTRY {
    ULONG Tag;
    ULONG Reference;
} STRING_TABLE_ENTRY;
typedef STRING_TABLE_ENTRY *PSTRING_TABLE_ENTRY;
typedef const STRING_TABLE_ENTRY *PCSTRING_TABLE_ENTRY;

//
// What would be deeper than this many nodes is looked for in the list, which
// has all leaves in order.
//

#define STRING_TABLE_MAXIMUM_DEPTH 8

typedef struct _STRING_TABLE_LIST {
    ULONG NumberOfRecords;
    ULONG References[3];            // and more
} STRING_TABLE_LIST;
typedef STRING_TABLE_LIST *PSTRING_TABLE_LIST;
typedef const STRING_TABLE_LIST *PCSTRING_TABLE_LIST;

struct _STRING_TABLE {
    PSTRING_TABLE_SEARCH Search;
    const UCHAR *Nodes;
    const UCHAR *Records;
    PCSTRING_TABLE_LIST List;
    ULONG Root;                     // a reference
    ULONG Fold;
    PVOID Allocation;
    PCSZ Variant;
    UCHAR Reserved[8];
    STRING_TABLE_ALLOCATOR Allocator;
    UCHAR ReservedToo[40];
    STRING_TABLE_FLAT Flat;         // of a flat table only
};

//
// What the assembly relies on.
//

#if UINTPTR_MAX > 0xFFFFFFFFu
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat) == 128);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Places2) == 128);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Keys2) == 256);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Places4) == 384);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Keys4) == 640);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Masks) == 896);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.LengthsInBytes) == 1416);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Indexes) == 1676);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.AreLong32) == 1936);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.AreLong64) == 2196);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Prefixes) == 2456);
C_ASSERT(FIELD_OFFSET(STRING_TABLE, Flat.Bytes) == 3008);
C_ASSERT(sizeof(STRING_TABLE) == 7168);
C_ASSERT(sizeof(STRING_TABLE) % STRING_TABLE_ALIGNMENT == 0);
#endif
C_ASSERT(sizeof(STRING_TABLE_RECORD) == 16);
C_ASSERT(sizeof(STRING_TABLE_LEAF) == 32);
C_ASSERT(sizeof(STRING_TABLE_NODE) == 152);

//
// The searches: of each variant one for flat tables of up to 16 slots, one for
// flat tables of up to 64 and one for tries, for each of the ways to fold.
//

#define STRING_TABLE_DECLARE(Name)                                          \
    STRING_TABLE_SEARCH Name;                                               \
    STRING_TABLE_SEARCH Name##Bytes;                                        \
    STRING_TABLE_SEARCH Name##Utf16

STRING_TABLE_DECLARE(StringTableFlatScalar);
STRING_TABLE_DECLARE(StringTableTrieScalar);
STRING_TABLE_DECLARE(StringTableFlatSse);
STRING_TABLE_DECLARE(StringTableWideSse);
STRING_TABLE_DECLARE(StringTableTrieSse);
STRING_TABLE_DECLARE(StringTableFlatAvx2C);
STRING_TABLE_DECLARE(StringTableWideAvx2C);
STRING_TABLE_DECLARE(StringTableTrieAvx2C);
STRING_TABLE_DECLARE(StringTableFlatAvx2);
STRING_TABLE_DECLARE(StringTableFlatAvx512);
STRING_TABLE_DECLARE(StringTableWideAvx512);
STRING_TABLE_DECLARE(StringTableTrieAvx512);

//
// StringTableBuild.c.  A prefix while its table is made: the list of them is
// sorted, and Common is the number of bytes that an item has in common with
// the one before.
//

typedef struct _STRING_TABLE_ITEM {
    const UCHAR *Bytes;
    ULONG LengthInBytes;
    ULONG Index;
    ULONG CommonInBytes;
    ULONG Record;                   // units
    ULONG Parent;                   // an item; or none
    ULONG Jump;                     // an item; or none
    ULONG Depth;
    ULONG TopInBytes;               // the length of the shortest prefix that
                                    // this one begins with, or is
} STRING_TABLE_ITEM;
typedef STRING_TABLE_ITEM *PSTRING_TABLE_ITEM;
typedef const STRING_TABLE_ITEM *PCSTRING_TABLE_ITEM;

#define STRING_TABLE_NO_ITEM 0xFFFFFFFF

PSTRING_TABLE_ITEM
StringTableSort(
    _Inout_updates_(NumberOfItems) PSTRING_TABLE_ITEM Items,
    _Inout_updates_(NumberOfItems) PSTRING_TABLE_ITEM Others,
    _In_ ULONG NumberOfItems,
    _In_ ULONG Fold,
    _Out_ PULONG NumberOfDifferentItems
    );

VOID
StringTableFillFlat(
    _Inout_ PSTRING_TABLE Table,
    _Inout_updates_(NumberOfItems) PSTRING_TABLE_ITEM Items,
    _In_ ULONG NumberOfItems,
    _In_ ULONG CharacterSize,
    _Inout_ PUCHAR Pool
    );

VOID
StringTableCopyFolded(
    _Out_writes_bytes_(LengthInBytes) PUCHAR Destination,
    _In_reads_bytes_(LengthInBytes) const UCHAR *Source,
    _In_ ULONG LengthInBytes,
    _In_ ULONG Fold
    );

//
// StringTableTrie.c.  Records are laid out first, then the nodes above them
// are made, in memory of their own.
//

ULONGLONG
StringTableLayOutRecords(
    _Inout_updates_(NumberOfItems) PSTRING_TABLE_ITEM Items,
    _In_ ULONG NumberOfItems
    );

VOID
StringTableFillRecords(
    _In_reads_(NumberOfItems) PCSTRING_TABLE_ITEM Items,
    _In_ ULONG NumberOfItems,
    _In_ ULONG Fold,
    _Out_ PUCHAR Records
    );

//
// For a range of items whose reference is not yet known.
//

typedef struct _STRING_TABLE_TASK {
    ULONG First;
    ULONG End;
    ULONGLONG ReferenceOffset;      // from the nodes; or none: the root
    ULONG Depth;
    ULONG Reserved;
} STRING_TABLE_TASK;
typedef STRING_TABLE_TASK *PSTRING_TABLE_TASK;

typedef struct _STRING_TABLE_GROUP {
    ULONGLONG Hash;
    ULONG First;                    // an item
    ULONG End;                      // the item after the last
    ULONG Level;
    ULONG Next;                     // a group in the same bucket
} STRING_TABLE_GROUP;
typedef STRING_TABLE_GROUP *PSTRING_TABLE_GROUP;

typedef struct _STRING_TABLE_BUILDER {
    PSTRING_TABLE_ITEM Items;       // as they were sorted
    PSTRING_TABLE_ITEM Parts;       // the same, in the order of the nodes
    PSTRING_TABLE_ITEM Spare;
    PSTRING_TABLE_TASK Tasks;
    PSTRING_TABLE_GROUP Groups;
    PULONG Buckets;                 // the first group of each
    PUCHAR Nodes;
    SIZE_T CapacityInBytes;
    SIZE_T UsedInBytes;
    ULONG NumberOfItems;
    ULONG NumberOfTasks;
    ULONG Fold;
    ULONG IsWide;
    ULONG Root;
    SIZE_T ListOffset;              // from the nodes
} STRING_TABLE_BUILDER;
typedef STRING_TABLE_BUILDER *PSTRING_TABLE_BUILDER;

VOID
StringTableBuildNodes(
    _Inout_ PSTRING_TABLE_BUILDER Builder
    );

//
// Loads that need no alignment.
//

STRING_TABLE_INLINE
ULONGLONG
StringTableLoad64(
    _In_reads_bytes_(8) const VOID *Address
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    return *(const ULONGLONG *)Address;

#else

    ULONGLONG Value;

    __builtin_memcpy(&Value, Address, sizeof(Value));
    return Value;

#endif
}

//
// Makes the letters A to Z of eight bytes, or of four code units, small.  The
// additions do not carry from one character to the next: each is taken without
// its highest bit first.
//

STRING_TABLE_INLINE
ULONGLONG
StringTableFold64(
    _In_ ULONGLONG Value,
    _In_ ULONG Fold
    )
{
    ULONGLONG NotBelow;
    ULONGLONG Above;
    ULONGLONG Low;

    if (Fold == STRING_TABLE_FOLD_BYTES) {

        Low = Value & 0x7F7F7F7F7F7F7F7FULL;
        NotBelow = Low + 0x0101010101010101ULL * (0x80 - 'A');
        Above = Low + 0x0101010101010101ULL * (0x80 - 'Z' - 1);
        Low = (NotBelow ^ Above) & ~Value & 0x8080808080808080ULL;
        return Value | (Low >> 2);
    }

    if (Fold == STRING_TABLE_FOLD_UTF16) {

        Low = Value & 0x7FFF7FFF7FFF7FFFULL;
        NotBelow = Low + 0x0001000100010001ULL * (0x8000 - 'A');
        Above = Low + 0x0001000100010001ULL * (0x8000 - 'Z' - 1);
        Low = (NotBelow ^ Above) & ~Value & 0x8000800080008000ULL;
        return Value | (Low >> 10);
    }

    return Value;
}

//
// A number that the compiler is not to know: it would make a vector constant
// of it, which is a global symbol of the object.
//

STRING_TABLE_INLINE
LONG
StringTableHide(
    _In_ LONG Value
    )
{
#if !defined(_MSC_VER) || defined(__clang__)

    __asm__("" : "+r"(Value));

#endif

    return Value;
}

//
// The position of the lowest set bit; there is one.
//

STRING_TABLE_INLINE
ULONG
StringTableLowestBit(
    _In_ ULONGLONG Value
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    unsigned long Position;

    _BitScanForward64(&Position, Value);
    return Position;

#else

    return (ULONG)__builtin_ctzll(Value);

#endif
}

//
// Both halves of a product, mixed.
//

STRING_TABLE_INLINE
ULONGLONG
StringTableHash(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second,
    _In_ ULONGLONG Seed
    )
{
    ULONGLONG Low;
    ULONGLONG High;

    First ^= Seed;
    Second ^= 0x9E3779B97F4A7C15ULL;

#if defined(_MSC_VER) && !defined(__clang__)

    Low = _umul128(First, Second, &High);

#else

    {
        __extension__ typedef unsigned __int128 STRING_TABLE_PRODUCT;
        STRING_TABLE_PRODUCT Product = (STRING_TABLE_PRODUCT)First * Second;

        Low = (ULONGLONG)Product;
        High = (ULONGLONG)(Product >> 64);
    }

#endif

    return Low ^ High;
}

//
// The last bytes of a string that may not be followed by readable memory, or
// of a prefix, with zeros after.
//

STRING_TABLE_INLINE
ULONGLONG
StringTableLoadPart(
    _In_reads_bytes_(LengthInBytes) const UCHAR *Bytes,
    _In_ ULONG LengthInBytes
    )
{
    ULONGLONG Value;
    ULONG Offset;

    if (LengthInBytes >= 8) {
        return StringTableLoad64(Bytes);
    }

    Value = 0;
    for (Offset = 0; Offset < LengthInBytes; Offset += 1) {
        Value |= (ULONGLONG)Bytes[Offset] << (8 * Offset);
    }

    return Value;
}

#endif // TRACER_STRING_TABLE_PRIVATE_H
