/*++

Module Name:

    StringTablePrivate.h

Abstract:

    The layout of a string table, for the module's own files.  The offsets
    that StringTableAvx2.asm uses are in StringTable.inc and are checked here.

    The prefixes are ordered by length, longest first, and those of one length
    by index.  Each 32 of them, in that order, make a block, one lane for each
    prefix.  So the first lane of the first block that matches a string is the
    answer.

--*/

#ifndef TRACER_STRING_TABLE_PRIVATE_H
#define TRACER_STRING_TABLE_PRIVATE_H

#include "StringTable.h"

//
// The AVX2 kernel follows the Windows x64 calling convention.
//

#if defined(_WIN32) && (defined(_M_X64) || defined(__x86_64__))
#define STRING_TABLE_HAS_AVX2 1
#else
#define STRING_TABLE_HAS_AVX2 0
#endif

#define STRING_TABLE_LANES 32
#define STRING_TABLE_LANE_SHIFT 5
#define STRING_TABLE_VECTOR_IN_BYTES 32
#define STRING_TABLE_BLOCK_ALIGNMENT 64

//
// The key is looked for among this many first bytes of a block's prefixes.
//

#define STRING_TABLE_KEY_WINDOW_IN_BYTES 128

typedef struct _STRING_TABLE_BLOCK {

    //
    // Of each prefix, the byte at KeyOffsetInBytes, and its length in bytes
    // or 255 if it is longer.
    //

    UCHAR Keys[STRING_TABLE_LANES];
    UCHAR ShortLengths[STRING_TABLE_LANES];

    //
    // The block's shortest prefix reaches beyond KeyOffsetInBytes.  So a
    // string either has that byte, or is shorter than every prefix here.
    //

    ULONG ShortestLengthInBytes;
    ULONG KeyOffsetInBytes;
    ULONG LaneMask;                 // the lanes in use; bit 0 is lane 0
    ULONG NumberOfBlocksAfter;
    UCHAR Reserved[48];

    ULONG LengthsInBytes[STRING_TABLE_LANES];
    ULONG Indexes[STRING_TABLE_LANES];

    union {

        //
        // Each prefix's bytes begin on a 32-byte boundary and are followed by
        // zeros up to the next; at least 32 bytes before them are readable.
        //

        const UCHAR *Prefixes[STRING_TABLE_LANES];

        //
        // While the table is created: what the prefixes are ordered by.
        //

        ULONGLONG SortKeys[STRING_TABLE_LANES];
    };

} STRING_TABLE_BLOCK;
typedef STRING_TABLE_BLOCK *PSTRING_TABLE_BLOCK;
typedef const STRING_TABLE_BLOCK *PCSTRING_TABLE_BLOCK;

C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, Keys) == 0);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, ShortLengths) == 32);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, ShortestLengthInBytes) == 64);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, KeyOffsetInBytes) == 68);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, LaneMask) == 72);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, NumberOfBlocksAfter) == 76);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, LengthsInBytes) == 128);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, Indexes) == 256);
C_ASSERT(FIELD_OFFSET(STRING_TABLE_BLOCK, Prefixes) == 384);
C_ASSERT(sizeof(STRING_TABLE_BLOCK) == 640);
C_ASSERT(sizeof(STRING_TABLE_BLOCK) % STRING_TABLE_BLOCK_ALIGNMENT == 0);

struct _STRING_TABLE {
    ALLOCATOR Allocator;
    PSTRING_TABLE_BLOCK Blocks;     // at least one
    BOOLEAN UseAvx2;
};

//
// Both search a table's blocks, given the first of them.
//

typedef
ULONG
(STRING_TABLE_SEARCH_BLOCKS)(
    _In_ PCSTRING_TABLE_BLOCK Blocks,
    _In_reads_bytes_opt_(LengthInBytes) const VOID *String,
    _In_ ULONG LengthInBytes
    );
typedef STRING_TABLE_SEARCH_BLOCKS *PSTRING_TABLE_SEARCH_BLOCKS;
STRING_TABLE_SEARCH_BLOCKS StringTableSearchScalar;
STRING_TABLE_SEARCH_BLOCKS StringTableSearchAvx2;

#endif // TRACER_STRING_TABLE_PRIVATE_H
