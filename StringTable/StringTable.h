/*++

Module Name:

    StringTable.h

Abstract:

    A string table finds, among a fixed set of prefixes, the longest one that
    a string begins with.

    Prefixes and strings are counted bytes; any byte may occur in them, zero
    included.  Bytes are compared as they are: a caller that wants to ignore
    case folds the prefixes and the strings.

    A table does not change after its creation and there is no state outside
    it, so any number of threads may search it at once.

    Memory: one allocation of 640 bytes for every 32 prefixes, each prefix's
    length rounded up to 32 bytes, and less than 200 bytes besides.

    Time, for N prefixes: creation O(N log N) and the bytes of all prefixes;
    a search looks at each group of 32 prefixes that is not wholly longer than
    the string, longest first, until one matches, and compares only those
    prefixes that agree with the string in one telling byte and are not longer
    than it.

--*/

#ifndef TRACER_STRING_TABLE_H
#define TRACER_STRING_TABLE_H

#include "../Rtl/RtlTypes.h"
#include "../Rtl/Allocator.h"

//
// The longest prefix, in characters of the table's character size.
//

#define STRING_TABLE_MAXIMUM_PREFIX_IN_CHARS 32767

//
// The index that stands for none.
//

#define STRING_TABLE_NOT_FOUND ((ULONG)0xFFFFFFFF)

typedef struct _STRING_TABLE_PREFIX {
    const VOID *Buffer;
    ULONG LengthInBytes;
} STRING_TABLE_PREFIX;
typedef STRING_TABLE_PREFIX *PSTRING_TABLE_PREFIX;
typedef const STRING_TABLE_PREFIX *PCSTRING_TABLE_PREFIX;

typedef struct _STRING_TABLE STRING_TABLE;
typedef STRING_TABLE *PSTRING_TABLE;
typedef const STRING_TABLE *PCSTRING_TABLE;

//
// Makes a table of copies of the prefixes, of which there is at least one.
//
// CpuFeatures says what the table may use: with Avx2 set it is searched 32
// prefixes at a time, otherwise one by one; the results are the same.
// CharacterSizeInBytes is 1 or 2; with 2 every length is a multiple of it.
//
// The allocator is copied into the table; its context must outlive it.
//
// On failure nothing stays allocated and *Table is not written; *BadIndex, if
// BadIndex is not NULL, is the index of the first prefix that was refused, or
// STRING_TABLE_NOT_FOUND if the failure is not about a prefix.
//
//     STATUS_INVALID_PARAMETER       no prefixes, or a character size that is
//                                    neither 1 nor 2
//     STATUS_OBJECT_NAME_INVALID     a prefix is empty, has no buffer, or is
//                                    not a whole number of characters
//     STATUS_NAME_TOO_LONG           a prefix is too long
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(STRING_TABLE_CREATE)(
    _In_ PCALLOCATOR Allocator,
    _In_ RTL_CPU_FEATURES CpuFeatures,
    _In_ ULONG CharacterSizeInBytes,
    _In_reads_(NumberOfPrefixes) PCSTRING_TABLE_PREFIX Prefixes,
    _In_ ULONG NumberOfPrefixes,
    _Outptr_ PSTRING_TABLE *Table,
    _Out_opt_ PULONG BadIndex
    );
typedef STRING_TABLE_CREATE *PSTRING_TABLE_CREATE;
STRING_TABLE_CREATE StringTableCreate;

//
// Frees a table that no thread searches any more; NULL is allowed.
//

typedef
VOID
(STRING_TABLE_DESTROY)(
    _In_opt_ PSTRING_TABLE Table
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
ULONG
(STRING_TABLE_SEARCH)(
    _In_ PCSTRING_TABLE Table,
    _In_reads_bytes_opt_(LengthInBytes) const VOID *String,
    _In_ ULONG LengthInBytes
    );
typedef STRING_TABLE_SEARCH *PSTRING_TABLE_SEARCH;
STRING_TABLE_SEARCH StringTableSearch;

//
// TRUE if the table is searched with AVX2.
//

typedef
BOOLEAN
(STRING_TABLE_IS_AVX2)(
    _In_ PCSTRING_TABLE Table
    );
typedef STRING_TABLE_IS_AVX2 *PSTRING_TABLE_IS_AVX2;
STRING_TABLE_IS_AVX2 StringTableIsAvx2;

#endif // TRACER_STRING_TABLE_H
