/*++

Module Name:

    Searches.c

Abstract:

    The searches: the reference, what calls each kernel, and the searches that
    are wrong, each of which the tests must catch.

--*/

#include "TestStringTable.h"

static TEST_SEARCH TestSearchScalar;
static TEST_SEARCH TestSearchSse;
static TEST_SEARCH TestSearchAvx2C;
static TEST_SEARCH TestSearchAvx2;
static TEST_SEARCH TestSearchAvx512;
static TEST_SEARCH TestSearchWrongRegardsCase;
static TEST_SEARCH TestSearchWrongFoldsHighBytes;
static TEST_SEARCH TestSearchWrongFirst16;
static TEST_SEARCH TestSearchWrongFirst32;
static TEST_SEARCH TestSearchWrongEqualLength;
static TEST_SEARCH TestSearchWrongFirstMatch;
static TEST_SEARCH TestSearchWrongLastDuplicate;
static TEST_SEARCH TestSearchWrongSixteenPrefixes;
static TEST_SEARCH TestSearchWrongStopsAtNul;
static TEST_SEARCH TestSearchWrongByteLength;

const TEST_SEARCH_ENTRY TestSearches[] = {
    { "scalar", TestSearchScalar },
    { "SSE4.2", TestSearchSse },
    { "AVX2 (C)", TestSearchAvx2C },
    { "AVX2 (assembly)", TestSearchAvx2 },
    { "AVX-512", TestSearchAvx512 },
    { "wrong: regards case", TestSearchWrongRegardsCase },
    { "wrong: folds high bytes", TestSearchWrongFoldsHighBytes },
    { "wrong: compares the first 16 bytes", TestSearchWrongFirst16 },
    { "wrong: compares the first 32 bytes", TestSearchWrongFirst32 },
    { "wrong: demands equal lengths", TestSearchWrongEqualLength },
    { "wrong: first match, not longest", TestSearchWrongFirstMatch },
    { "wrong: last of the duplicates", TestSearchWrongLastDuplicate },
    { "wrong: sixteen prefixes only", TestSearchWrongSixteenPrefixes },
    { "wrong: a zero byte ends a prefix", TestSearchWrongStopsAtNul },
    { "wrong: lengths in one byte", TestSearchWrongByteLength },
    { "wrong: reads 32 bytes from the start", TestSearchWrongReadsAfter },
    { "wrong: reads 32 bytes to the end", TestSearchWrongReadsBefore }
};

//
// What a program may not rely on the compiler to leave in place: a read.
//

static volatile UCHAR TestByteRead;

//
// Folds a byte as the tables' properties ask for.
// Bytes: a prefix or a string.
//

static
UCHAR
TestFold(
    _In_ const UCHAR *Bytes,
    _In_ ULONG Length,
    _In_ ULONG Offset,
    _In_ ULONG Flags
    )
{
    UCHAR Byte = Bytes[Offset];

    if ((Flags & STRING_TABLE_IGNORE_CASE) == 0) {
        return Byte;
    }

    if (Byte < 'A' || Byte > 'Z') {
        return Byte;
    }

    if ((Flags & STRING_TABLE_UTF16) != 0) {
        if ((Offset & 1) != 0) {
            return Byte;
        }
        if (Offset + 1 < Length && Bytes[Offset + 1] != 0) {
            return Byte;
        }
    }

    return (UCHAR)(Byte - 'A' + 'a');
}

//
// Tells whether a string begins with a prefix. This is the whole of the
// reference's knowledge.
// Length: its length in bytes.
//

static
BOOLEAN
TestIsPrefix(
    _In_ PCSTRING_TABLE_PREFIX Prefix,
    _In_ const UCHAR *String,
    _In_ ULONG Length
    )
{
    const UCHAR *Bytes = (const UCHAR *)Prefix->Buffer;
    ULONG Offset;

    if (Prefix->LengthInBytes > Length) {
        return FALSE;
    }

    for (Offset = 0; Offset < Prefix->LengthInBytes; Offset += 1) {
        if (TestFold(Bytes, Prefix->LengthInBytes, Offset, TestFlags) !=
            TestFold(String, Length, Offset, TestFlags)) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
ULONG
TestSearchReference(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    ULONG Best = STRING_TABLE_NOT_FOUND;
    ULONG BestLength = 0;
    ULONG Index;

    for (Index = 0; Index < Context->NumberOfPrefixes; Index += 1) {
        if (Context->Prefixes[Index].LengthInBytes > BestLength &&
            TestIsPrefix(&Context->Prefixes[Index], String, Length)) {
            Best = Index;
            BestLength = Context->Prefixes[Index].LengthInBytes;
        }
    }

    return Best;
}

//
// The variants: they only differ in the table.
//

static
ULONG
TestSearchScalar(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return StringTableSearch(Context->Tables[0], String, Length);
}

static
ULONG
TestSearchSse(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return StringTableSearch(Context->Tables[1], String, Length);
}

static
ULONG
TestSearchAvx2C(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return StringTableSearch(Context->Tables[2], String, Length);
}

static
ULONG
TestSearchAvx2(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return StringTableSearch(Context->Tables[3], String, Length);
}

static
ULONG
TestSearchAvx512(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return StringTableSearch(Context->Tables[4], String, Length);
}

//
// Context: the list of prefixes and its tables.
// Length: its length in bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongRegardsCase(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    uint32_t Flags = TestFlags;
    ULONG Result;

    TestFlags &= ~(uint32_t)STRING_TABLE_IGNORE_CASE;
    Result = TestSearchReference(Context, String, Length);
    TestFlags = Flags;

    return Result;
}

//
// A wrong search: to it, code units are bytes.
// Context: the list of prefixes and its tables.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongFoldsHighBytes(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    uint32_t Flags = TestFlags;
    ULONG Result;

    TestFlags &= ~(uint32_t)STRING_TABLE_UTF16;
    Result = TestSearchReference(Context, String, Length);
    TestFlags = Flags;

    return Result;
}

//
// A wrong search: it compares no more than the first Cut bytes.
// Cut: the number of bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchCut(
    _In_ PTEST_CONTEXT Context,
    _In_ const UCHAR *String,
    _In_ ULONG Length,
    _In_ ULONG Cut
    )
{
    STRING_TABLE_PREFIX Prefix;
    ULONG Best = STRING_TABLE_NOT_FOUND;
    ULONG BestLength = 0;
    ULONG Index;

    for (Index = 0; Index < Context->NumberOfPrefixes; Index += 1) {
        Prefix = Context->Prefixes[Index];
        if (Prefix.LengthInBytes <= BestLength ||
            Prefix.LengthInBytes > Length) {
            continue;
        }
        if (Prefix.LengthInBytes > Cut) {
            Prefix.LengthInBytes = Cut;
        }
        if (TestIsPrefix(&Prefix, String, Length)) {
            Best = Index;
            BestLength = Context->Prefixes[Index].LengthInBytes;
        }
    }

    return Best;
}

//
// A wrong search: it compares no more than 16 bytes.
// Context: the list of prefixes and its tables.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongFirst16(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return TestSearchCut(Context, String, Length, 16);
}

//
// A wrong search: it compares no more than 32 bytes.
// Context: the list of prefixes and its tables.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongFirst32(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return TestSearchCut(Context, String, Length, 32);
}

//
// A wrong search: it finds only what is as long as the string.
// Context: the list of prefixes and its tables.
// Length: its length in bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongEqualLength(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    ULONG Index;

    for (Index = 0; Index < Context->NumberOfPrefixes; Index += 1) {
        if (Context->Prefixes[Index].LengthInBytes == Length &&
            TestIsPrefix(&Context->Prefixes[Index], String, Length)) {
            return Index;
        }
    }

    return STRING_TABLE_NOT_FOUND;
}

//
// A wrong search: the first match in the list is good enough for it.
// Context: the list of prefixes and its tables.
// Length: its length in bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongFirstMatch(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    ULONG Index;

    for (Index = 0; Index < Context->NumberOfPrefixes; Index += 1) {
        if (TestIsPrefix(&Context->Prefixes[Index], String, Length)) {
            return Index;
        }
    }

    return STRING_TABLE_NOT_FOUND;
}

//
// A wrong search: of equal prefixes it finds the last.
// Context: the list of prefixes and its tables.
// Length: its length in bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongLastDuplicate(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    ULONG Best = STRING_TABLE_NOT_FOUND;
    ULONG BestLength = 0;
    ULONG Index;

    for (Index = 0; Index < Context->NumberOfPrefixes; Index += 1) {
        if (Context->Prefixes[Index].LengthInBytes >= BestLength &&
            TestIsPrefix(&Context->Prefixes[Index], String, Length)) {
            Best = Index;
            BestLength = Context->Prefixes[Index].LengthInBytes;
        }
    }

    return Best;
}

//
// A wrong search: it knows the first 16 prefixes only.
// Context: the list of prefixes and its tables.
// Length: its length in bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongSixteenPrefixes(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    ULONG NumberOfPrefixes = Context->NumberOfPrefixes;
    ULONG Result;

    if (Context->NumberOfPrefixes > 16) {
        Context->NumberOfPrefixes = 16;
    }
    Result = TestSearchReference(Context, String, Length);
    Context->NumberOfPrefixes = NumberOfPrefixes;

    return Result;
}

//
// A wrong search: it compares up to the first zero byte.
// Context: the list of prefixes and its tables.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongStopsAtNul(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    const UCHAR *Bytes;
    ULONG Best = STRING_TABLE_NOT_FOUND;
    ULONG BestLength = 0;
    ULONG PrefixLength;
    ULONG Offset;
    ULONG Index;

    for (Index = 0; Index < Context->NumberOfPrefixes; Index += 1) {
        Bytes = (const UCHAR *)Context->Prefixes[Index].Buffer;
        PrefixLength = Context->Prefixes[Index].LengthInBytes;
        if (PrefixLength <= BestLength || PrefixLength > Length) {
            continue;
        }
        for (Offset = 0; Offset < PrefixLength; Offset += 1) {
            if (Bytes[Offset] != String[Offset]) {
                break;
            }
            if (Bytes[Offset] == 0) {
                Offset = PrefixLength;
                break;
            }
        }
        if (Offset >= PrefixLength) {
            Best = Index;
            BestLength = PrefixLength;
        }
    }

    return Best;
}

//
// A wrong search: it keeps the string's length in a byte.
// Context: the list of prefixes and its tables.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchWrongByteLength(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    return TestSearchReference(Context, String, Length & 255);
}

//
// A search with the right result that reads 32 bytes from the string's first
// on, whatever the length.
// Context: the list of prefixes and its tables.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

_Use_decl_annotations_
ULONG
TestSearchWrongReadsAfter(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    ULONG Offset;

    for (Offset = 0; Offset < 32 && Length != 0; Offset += 1) {
        TestByteRead = String[Offset];
    }

    return TestSearchReference(Context, String, Length);
}

//
// A search with the right result that reads the 32 bytes up to the string's
// last, whatever the length.
// Context: the list of prefixes and its tables.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

_Use_decl_annotations_
ULONG
TestSearchWrongReadsBefore(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
    )
{
    ULONG Offset;

    for (Offset = 1; Offset <= 32 && Length != 0; Offset += 1) {
        TestByteRead = (String + Length)[-(LONG_PTR)Offset];
    }

    return TestSearchReference(Context, String, Length);
}
