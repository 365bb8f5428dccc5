/*++

Module Name:

    StringTable.h

Abstract:

    A string table finds, among a fixed set of prefixes, the longest one that
    a string begins with.

    This header stands alone, and so does the library behind it: it needs no
    C library, and of ours only Rtl's RtlQueryCpuFeatures, and that only if
    StringTableQueryInstructions is called.  Docs/StringTable.md has a program
    of ten lines that uses it, what it costs, and how it works.

    Prefixes and strings are counted; any byte may occur in them, zero
    included.  They consist of bytes or of UTF-16 code units, as the table's
    flags say, and are compared as they are, or without regard to the case of
    the letters A to Z.

    A table does not change after its creation and there is no state outside
    it, so any number of threads may search it at once.

    Memory: 7,168 bytes; and for up to 64 different prefixes each one's length
    rounded up to 64, for more at most 410 bytes a prefix and their bytes (110
    is usual).  Creation needs at most 540 bytes a prefix besides, which it
    frees.

    Time: creation takes O(N log N) steps and looks at each byte of the
    prefixes a bounded number of times.  A search among up to 64 prefixes is
    one pass over all of them.  Among more it is at most 8 passes over 16
    bytes, at most log2(N) comparisons with whole prefixes (none, unless the
    prefixes were made to be hard), one comparison with a prefix, and at most
    2 log2(32,767) steps from a prefix to those that it begins with.

--*/

#ifndef TRACER_STRING_TABLE_H
#define TRACER_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

//
// The longest prefix, in characters of the table's kind.
//

#define STRING_TABLE_MAXIMUM_PREFIX_IN_CHARS 32767

//
// The index that stands for none.
//

#define STRING_TABLE_NOT_FOUND ((uint32_t)0xFFFFFFFF)

//
// What StringTableCreate returns; the values are NTSTATUS codes, and those
// that are failures are negative.
//

#define STRING_TABLE_SUCCESS ((int32_t)0)
#define STRING_TABLE_INVALID_PARAMETER ((int32_t)0xC000000D)
#define STRING_TABLE_INVALID_PREFIX ((int32_t)0xC0000033)
#define STRING_TABLE_PREFIX_TOO_LONG ((int32_t)0xC0000106)
#define STRING_TABLE_NO_MEMORY ((int32_t)0xC0000017)

//
// The properties of a table.
//

#define STRING_TABLE_UTF16 0x1          // otherwise bytes
#define STRING_TABLE_IGNORE_CASE 0x2    // of the letters A to Z
#define STRING_TABLE_NO_ASSEMBLY 0x4    // C with intrinsics instead
#define STRING_TABLE_VALID_FLAGS 0x7

//
// The instruction sets that a table may use; the bits are those of
// RTL_CPU_FEATURES, and others are ignored.  The system must save the
// registers too.  AVX-512 means F, BW, DQ and VL; that and AVX2 mean BMI1 and
// BMI2 too, which RTL_CPU_FEATURES has as a bit of its own.
//

#define STRING_TABLE_SCALAR 0x0
#define STRING_TABLE_SSE42 0x1
#define STRING_TABLE_AVX2 0x2
#define STRING_TABLE_AVX512 0x8

//
// The kernels in assembly follow the Windows x64 calling convention wherever
// they run.
//

#if !defined(_WIN32) && defined(__x86_64__)
#define STRING_TABLE_CALL __attribute__((ms_abi))
#else
#define STRING_TABLE_CALL
#endif

//
// Where memory comes from.  Allocate returns zeroed memory aligned on 16
// bytes, or NULL; Free takes NULL too.
//

typedef struct _STRING_TABLE_ALLOCATOR {
    void *Context;
    void *(*Allocate)(void *Context, size_t SizeInBytes);
    void (*Free)(void *Context, void *Address);
} STRING_TABLE_ALLOCATOR;
typedef const STRING_TABLE_ALLOCATOR *PCSTRING_TABLE_ALLOCATOR;

typedef struct _STRING_TABLE_PREFIX {
    const void *Buffer;
    uint32_t LengthInBytes;
} STRING_TABLE_PREFIX;
typedef STRING_TABLE_PREFIX *PSTRING_TABLE_PREFIX;
typedef const STRING_TABLE_PREFIX *PCSTRING_TABLE_PREFIX;

typedef struct _STRING_TABLE STRING_TABLE;
typedef STRING_TABLE *PSTRING_TABLE;
typedef const STRING_TABLE *PCSTRING_TABLE;

//
// Asks the processor which of the instruction sets above can be used: once,
// for all tables.
//

uint32_t
StringTableQueryInstructions(
    void
    );

//
// Makes a table of copies of the prefixes, of which there is at least one.
//
// The allocator is copied into the table; its context must outlive it.
//
// On failure nothing stays allocated and *Table is not written; *BadIndex, if
// BadIndex is not NULL, is the index of the first prefix that was refused, or
// STRING_TABLE_NOT_FOUND if the failure is not about a prefix.
//
//     STRING_TABLE_INVALID_PARAMETER     no prefixes, or unknown flags
//     STRING_TABLE_INVALID_PREFIX        a prefix is empty, has no buffer, or
//                                        is not a whole number of characters
//     STRING_TABLE_PREFIX_TOO_LONG       a prefix is too long
//     STRING_TABLE_NO_MEMORY
//

typedef
int32_t
(STRING_TABLE_CREATE)(
    PCSTRING_TABLE_ALLOCATOR Allocator,
    uint32_t Instructions,
    uint32_t Flags,
    PCSTRING_TABLE_PREFIX Prefixes,
    uint32_t NumberOfPrefixes,
    PSTRING_TABLE *Table,
    uint32_t *BadIndex
    );
typedef STRING_TABLE_CREATE *PSTRING_TABLE_CREATE;
STRING_TABLE_CREATE StringTableCreate;

//
// Frees a table that no thread searches any more; NULL is allowed.
//

typedef
void
(STRING_TABLE_DESTROY)(
    PSTRING_TABLE Table
    );
typedef STRING_TABLE_DESTROY *PSTRING_TABLE_DESTROY;
STRING_TABLE_DESTROY StringTableDestroy;

//
// Returns the index, in the list that the table was created from, of the
// longest prefix that the string begins with, or STRING_TABLE_NOT_FOUND.  Of
// equal prefixes the one with the lowest index is found.
//
// The string may have any length; a last byte that is half a character
// belongs to no prefix.  Of a string of length 0 nothing is read.  Otherwise
// only bytes in the 4 KiB pages that hold a byte of the string are read, so a
// string may end where readable memory ends.  Bytes beyond the string never
// change the result, but they may be read: they may be written by another
// thread meanwhile, the string's own may not.
//

typedef
uint32_t
STRING_TABLE_CALL
STRING_TABLE_SEARCH(
    PCSTRING_TABLE Table,
    const void *String,
    uint32_t LengthInBytes
    );
typedef STRING_TABLE_SEARCH *PSTRING_TABLE_SEARCH;
STRING_TABLE_SEARCH StringTableSearch;

//
// Names what a table is searched with: "scalar", "SSE4.2", "AVX2 (C)",
// "AVX2 (assembly)" or "AVX-512".
//

typedef
const char *
(STRING_TABLE_VARIANT)(
    PCSTRING_TABLE Table
    );
typedef STRING_TABLE_VARIANT *PSTRING_TABLE_VARIANT;
STRING_TABLE_VARIANT StringTableVariant;

#ifdef __cplusplus
}
#endif

#endif // TRACER_STRING_TABLE_H
