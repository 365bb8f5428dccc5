/*++

Module Name:

    TestStringTable.h

Abstract:

    What the sources of TestStringTable share.

--*/

#ifndef TRACER_TEST_STRING_TABLE_H
#define TRACER_TEST_STRING_TABLE_H

#include "../../../Rtl/Rtl.h"
#include "../../../StringTable/StringTable.h"
#include "Test.h"

#define TEST_PAGE 4096

//
// The most prefixes of a list, and the room for their bytes.
//

#define TEST_MAXIMUM_PREFIXES 2048
#define TEST_ARENA_IN_BYTES (1024 * 1024)

typedef struct _TEST_CONTEXT TEST_CONTEXT;
typedef TEST_CONTEXT *PTEST_CONTEXT;

//
// A search: the ones under test and the wrong ones.
//

typedef
ULONG
(TEST_SEARCH)(
    _In_ PTEST_CONTEXT Context,
    _In_reads_bytes_opt_(Length) const UCHAR *String,
    _In_ ULONG Length
    );
typedef TEST_SEARCH *PTEST_SEARCH;

typedef struct _TEST_SEARCH_ENTRY {
    PCSZ Name;
    PTEST_SEARCH Search;
} TEST_SEARCH_ENTRY;

#define TEST_SEARCHES 17
#define TEST_VARIANTS 5

//
// What the variants, the first of the searches, are made with.  The string
// table gives them the names that TestSearches has.
//

typedef struct _TEST_VARIANT {
    uint32_t Instructions;
    uint32_t Flags;
} TEST_VARIANT;

struct _TEST_CONTEXT {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    BOOLEAN IsAvailable[TEST_VARIANTS];

    //
    // Begin and End bound the readable memory for inputs.
    //

    PUCHAR Begin;
    PUCHAR End;
    PUCHAR Pattern;

    //
    // The list of prefixes in use, their bytes, and its tables.
    //

    PSTRING_TABLE_PREFIX Prefixes;
    ULONG NumberOfPrefixes;
    ULONG ArenaUsed;
    PUCHAR Arena;
    PSTRING_TABLE Tables[TEST_VARIANTS];
    STRING_TABLE_ALLOCATOR GuardedAllocator;
    ULONG NumberOfGuardedAllocations;

    //
    // The last guarded allocation's pages.
    //

    PVOID GuardedPages;
    SIZE_T GuardedSizeInBytes;

    //
    // Counted for each search: results that differ from the reference's, and
    // access violations.
    //

    ULONGLONG Inputs;
    ULONGLONG Found;
    ULONGLONG Mismatches[TEST_SEARCHES];
    ULONGLONG Faults[TEST_SEARCHES];

    ULONGLONG Random;
    BOOLEAN IsQuick;
};

TEST_SEARCH TestSearchWrongReadsAfter;
TEST_SEARCH TestSearchWrongReadsBefore;

extern const TEST_SEARCH_ENTRY TestSearches[TEST_SEARCHES];

extern const TEST_VARIANT TestVariants[TEST_VARIANTS];

//
// The properties of the tables in use: STRING_TABLE_UTF16 and
// STRING_TABLE_IGNORE_CASE.
//

extern uint32_t TestFlags;

//
// Searches.c.
//

//
// Finds the longest prefix by looking at all of them.
// Length: its length in bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

ULONG
TestSearchReference(
    _In_ PTEST_CONTEXT Context,
    _In_ const UCHAR *String,
    _In_ ULONG Length
    );

//
// Places.c.
//

//
// Draws the next number of a xorshift generator, so that every run sees the
// same cases.
//

ULONGLONG
TestNextRandom(
    _Inout_ PTEST_CONTEXT Context
    );

//
// Draws a number below a limit.
// Limit: the limit; not 0.
//

ULONG
TestPick(
    _Inout_ PTEST_CONTEXT Context,
    _In_ ULONG Limit
    );

//
// Searches, and survives an access violation.
// Length: its length in bytes.
// Returns FALSE if the search raised an exception.
//

BOOLEAN
TestSearchSafely(
    _In_ PTEST_CONTEXT Context,
    _In_ PTEST_SEARCH Search,
    _In_opt_ const UCHAR *String,
    _In_ ULONG Length,
    _Out_ PULONG Result
    );

//
// Searches for a string where it is, with every search, and counts the results
// that differ from the reference's.
// Length: its length in bytes.
//

VOID
TestInPlace(
    _Inout_ PTEST_CONTEXT Context,
    _In_opt_ const UCHAR *String,
    _In_ ULONG Length
    );

//
// Searches for a string at the end of readable memory.
// Context: the list, its tables and the memory.
// Bytes: Length and NumberOfBytesAfter bytes.
// Length: the string's length in bytes.
// NumberOfBytesAfter: the distance from the end.
//

VOID
TestAtEnd(
    _Inout_ PTEST_CONTEXT Context,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Length,
    _In_ ULONG NumberOfBytesAfter
    );

//
// Searches for a string at the beginning of readable memory.
// Context: the list, its tables and the memory.
// Length: its length in bytes.
// NumberOfBytesBefore: the distance from the beginning.
//

VOID
TestAtBegin(
    _Inout_ PTEST_CONTEXT Context,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Length,
    _In_ ULONG NumberOfBytesBefore
    );

//
// Allocates pages between two that cannot be accessed.
// NumberOfPages: the number of accessible pages.
// Returns the first accessible page, or NULL.
//

PVOID
TestAllocatePages(
    _In_ PTEST_CONTEXT Context,
    _In_ SIZE_T NumberOfPages
    );

//
// Frees what TestAllocatePages returned.
// Pages: the first accessible page, or NULL.
//

VOID
TestFreePages(
    _In_ PTEST_CONTEXT Context,
    _In_opt_ PVOID Pages
    );

//
// Allocates pages of its own for each allocation, between two that cannot be
// accessed. Half of the allocations end, as near as their alignment allows,
// where the pages end; the others begin where the pages begin.
//
// Returns the memory, or NULL.
//

PVOID
TestAllocateGuarded(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    );

//
// Frees what TestAllocateGuarded returned.
// Address: the memory, or NULL.
//

VOID
TestFreeGuarded(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    );

//
// Empties the list of prefixes.
//

VOID
TestBeginList(
    _Inout_ PTEST_CONTEXT Context
    );

//
// Adds a copy of a prefix to the list.
// Length: its length in bytes.
//

VOID
TestAddPrefix(
    _Inout_ PTEST_CONTEXT Context,
    _In_reads_bytes_(Length) const UCHAR *Bytes,
    _In_ ULONG Length
    );

//
// Creates a table of the list for each variant that the processor can run, and
// makes its memory read-only.
// Flags: the tables' properties.
// Returns TRUE if all of them were created.
//

BOOLEAN
TestOpenTables(
    _Inout_ PTEST_CONTEXT Context,
    _In_ uint32_t Flags
    );

//
// Destroys the tables of the list.
//

VOID
TestCloseTables(
    _Inout_ PTEST_CONTEXT Context
    );

//
// Checks that no variant differed from the reference so far.
// Section: the name of what was tested last.
//

VOID
TestExpectAgreement(
    _Inout_ PTEST_CONTEXT Context,
    _In_z_ PCSZ Section
    );

//
// Checks a result that is written in the test.
// Bytes: the string, and 32 bytes more.
// Length: its length in bytes.
// Expected: the index.
//

VOID
TestExpect(
    _Inout_ PTEST_CONTEXT Context,
    _In_ const VOID *Bytes,
    _In_ ULONG Length,
    _In_ ULONG Expected
    );

//
// Prefixes.c.
//

//
// Adds a prefix that is a terminated string.
//

VOID
TestAddText(
    _Inout_ PTEST_CONTEXT Context,
    _In_z_ PCSZ Text
    );

//
// What TestStringTable.c calls, source by source.
//

VOID TestNestedPrefixes(_Inout_ PTEST_CONTEXT Context);      // Prefixes.c
VOID TestSinglePrefixes(_Inout_ PTEST_CONTEXT Context);      // Prefixes.c
VOID TestLongPrefixes(_Inout_ PTEST_CONTEXT Context);        // Prefixes.c
VOID TestExamples(_Inout_ PTEST_CONTEXT Context);            // Prefixes.c
VOID TestByteValues(_Inout_ PTEST_CONTEXT Context);          // Prefixes.c

VOID TestManyPrefixes(_Inout_ PTEST_CONTEXT Context);        // Cases.c
VOID TestCase(_Inout_ PTEST_CONTEXT Context);                // Cases.c
VOID TestHardPrefixes(_Inout_ PTEST_CONTEXT Context);        // Cases.c
VOID TestHundredThousand(_Inout_ PTEST_CONTEXT Context);     // Cases.c
VOID TestRandomCases(_Inout_ PTEST_CONTEXT Context);         // Cases.c

VOID TestNothingIsRead(_Inout_ PTEST_CONTEXT Context);       // Refusals.c
VOID TestRefusals(_Inout_ PTEST_CONTEXT Context);            // Refusals.c
VOID TestAllocationFailures(_Inout_ PTEST_CONTEXT Context);  // Refusals.c

#endif // TRACER_TEST_STRING_TABLE_H
