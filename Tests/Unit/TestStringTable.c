/*++

Module Name:

    TestStringTable.c

Abstract:

    Tests of the string table.

    Every input is searched for by every search under test and by an
    independent reference, which compares each prefix of the list byte by
    byte.  The same inputs go through searches that are wrong on purpose; each
    of these must be caught.

    Inputs are placed against the ends of readable memory, and a table's own
    memory is placed so too and made read-only after its creation.

    Takes long in Debug.

--*/

#include "../../Rtl/Rtl.h"
#include "../../StringTable/StringTable.h"
#include "Test.h"

#define TEST_PAGE 4096

//
// The readable memory for inputs, with an unreadable page on either side.
// The longest prefix has 65,534 bytes.
//

#define TEST_INPUT_PAGES 20

//
// The most prefixes of a list, and the room for their bytes.
//

#define TEST_MAXIMUM_PREFIXES 2048
#define TEST_ARENA_IN_BYTES (1024 * 1024)

//
// The pattern that many prefixes and inputs are cut from.
//

#define TEST_PATTERN_IN_BYTES (68 * 1024)

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
static TEST_SEARCH TestSearchWrongReadsAfter;
static TEST_SEARCH TestSearchWrongReadsBefore;

typedef struct _TEST_SEARCH_ENTRY {
    PCSZ Name;
    PTEST_SEARCH Search;
} TEST_SEARCH_ENTRY;

static const TEST_SEARCH_ENTRY TestSearches[] = {
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

#define TEST_SEARCHES RTL_NUMBER_OF(TestSearches)
#define TEST_VARIANTS 5

//
// What the variants, the first of the searches, are made with.  The string
// table gives them the names above.
//

typedef struct _TEST_VARIANT {
    uint32_t Instructions;
    uint32_t Flags;
} TEST_VARIANT;

static const TEST_VARIANT TestVariants[TEST_VARIANTS] = {
    { STRING_TABLE_SCALAR, 0 },
    { STRING_TABLE_SSE42, 0 },
    { STRING_TABLE_AVX2, STRING_TABLE_NO_ASSEMBLY },
    { STRING_TABLE_AVX2, 0 },
    { STRING_TABLE_AVX512, 0 }
};

//
// The properties of the tables in use: STRING_TABLE_UTF16 and
// STRING_TABLE_IGNORE_CASE.
//

static uint32_t TestFlags;

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

//
// Finds the longest prefix by looking at all of them.
// Length: its length in bytes.
// Returns the prefix's index, or STRING_TABLE_NOT_FOUND.
//

static
ULONG
TestSearchReference(
    _In_ PTEST_CONTEXT Context,
    _In_ const UCHAR *String,
    _In_ ULONG Length
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

static
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

static
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

//
// Draws the next number of a xorshift generator, so that every run sees the
// same cases.
//

static
ULONGLONG
TestNextRandom(
    _Inout_ PTEST_CONTEXT Context
    )
{
    Context->Random ^= Context->Random << 13;
    Context->Random ^= Context->Random >> 7;
    Context->Random ^= Context->Random << 17;

    return Context->Random >> 8;
}

//
// Draws a number below a limit.
// Limit: the limit; not 0.
//

static
ULONG
TestPick(
    _Inout_ PTEST_CONTEXT Context,
    _In_ ULONG Limit
    )
{
    return (ULONG)(TestNextRandom(Context) % Limit);
}

//
// Searches, and survives an access violation.
// Length: its length in bytes.
// Returns FALSE if the search raised an exception.
//

static
BOOLEAN
TestSearchSafely(
    _In_ PTEST_CONTEXT Context,
    _In_ PTEST_SEARCH Search,
    _In_opt_ const UCHAR *String,
    _In_ ULONG Length,
    _Out_ PULONG Result
    )
{
    BOOLEAN Completed;

    *Result = STRING_TABLE_NOT_FOUND;

    __try {
        *Result = Search(Context, String, Length);
        Completed = TRUE;
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        Completed = FALSE;
    }

    return Completed;
}

//
// Searches for a string where it is, with every search, and counts the results
// that differ from the reference's.
// Length: its length in bytes.
//

static
VOID
TestInPlace(
    _Inout_ PTEST_CONTEXT Context,
    _In_opt_ const UCHAR *String,
    _In_ ULONG Length
    )
{
    PTEST_SEARCH Search;
    ULONG Expected;
    ULONG Result;
    ULONG Index;

    Expected = TestSearchReference(Context, String, Length);
    Context->Inputs += 1;
    Context->Found += (Expected != STRING_TABLE_NOT_FOUND);

    for (Index = 0; Index < TEST_SEARCHES; Index += 1) {

        if (Index < TEST_VARIANTS && !Context->IsAvailable[Index]) {
            continue;
        }

        //
        // One that was caught so often need not be caught again.
        //

        if (Context->Mismatches[Index] + Context->Faults[Index] >= 100) {
            continue;
        }

        Search = TestSearches[Index].Search;
        if (!TestSearchSafely(Context, Search, String, Length, &Result)) {
            Context->Faults[Index] += 1;
        } else if (Result != Expected) {
            Context->Mismatches[Index] += 1;
        }
    }
}

//
// Copies a string to where readable memory ends so many bytes after it. These
// bytes are copied too: they go on as the source does, so that a search that
// took them for the string's would find more than there is.
//
// Bytes: Length and NumberOfBytesAfter bytes.
// Length: the string's length in bytes.
// NumberOfBytesAfter: the distance from the end.
//

static
const UCHAR *
TestPlace(
    _Inout_ PTEST_CONTEXT Context,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Length,
    _In_ ULONG NumberOfBytesAfter
    )
{
    PUCHAR String = Context->End - NumberOfBytesAfter - Length;

    RtlCopyBytes(String, Bytes, (SIZE_T)Length + NumberOfBytesAfter);

    return String;
}

//
// Searches for a string at the end of readable memory.
// Context: the list, its tables and the memory.
// Bytes: Length and NumberOfBytesAfter bytes.
// Length: the string's length in bytes.
// NumberOfBytesAfter: the distance from the end.
//

static
VOID
TestAtEnd(
    _Inout_ PTEST_CONTEXT Context,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Length,
    _In_ ULONG NumberOfBytesAfter
    )
{
    TestInPlace(Context,
                TestPlace(Context, Bytes, Length, NumberOfBytesAfter),
                Length);
}

//
// Searches for a string at the beginning of readable memory.
// Context: the list, its tables and the memory.
// Length: its length in bytes.
// NumberOfBytesBefore: the distance from the beginning.
//

static
VOID
TestAtBegin(
    _Inout_ PTEST_CONTEXT Context,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Length,
    _In_ ULONG NumberOfBytesBefore
    )
{
    RtlCopyBytes(Context->Begin + NumberOfBytesBefore, Bytes, Length);
    TestInPlace(Context, Context->Begin + NumberOfBytesBefore, Length);
}

//
// Allocates pages between two that cannot be accessed.
// NumberOfPages: the number of accessible pages.
// Returns the first accessible page, or NULL.
//

static
PVOID
TestAllocatePages(
    _In_ PTEST_CONTEXT Context,
    _In_ SIZE_T NumberOfPages
    )
{
    PVOID Reserved = NULL;
    PVOID Address;
    SIZE_T SizeInBytes = (NumberOfPages + 2) * TEST_PAGE;
    NTSTATUS Status;

    Status = Context->Rtl->NtAllocateVirtualMemory((HANDLE)(LONG_PTR)-1,
                                                   &Reserved,
                                                   0,
                                                   &SizeInBytes,
                                                   MEM_RESERVE,
                                                   PAGE_NOACCESS);
    if (!NT_SUCCESS(Status)) {
        return NULL;
    }

    Address = (PUCHAR)Reserved + TEST_PAGE;
    SizeInBytes = NumberOfPages * TEST_PAGE;
    Status = Context->Rtl->NtAllocateVirtualMemory((HANDLE)(LONG_PTR)-1,
                                                   &Address,
                                                   0,
                                                   &SizeInBytes,
                                                   MEM_COMMIT,
                                                   PAGE_READWRITE);
    if (!NT_SUCCESS(Status)) {
        return NULL;
    }

    return Address;
}

//
// Frees what TestAllocatePages returned.
// Pages: the first accessible page, or NULL.
//

static
VOID
TestFreePages(
    _In_ PTEST_CONTEXT Context,
    _In_opt_ PVOID Pages
    )
{
    PVOID Address;
    SIZE_T SizeInBytes = 0;

    if (Pages == NULL) {
        return;
    }

    Address = (PUCHAR)Pages - TEST_PAGE;
    (VOID)Context->Rtl->NtFreeVirtualMemory((HANDLE)(LONG_PTR)-1,
                                            &Address,
                                            &SizeInBytes,
                                            MEM_RELEASE);
}

//
// Allocates pages of its own for each allocation, between two that cannot be
// accessed. Half of the allocations end, as near as their alignment allows,
// where the pages end; the others begin where the pages begin.
//
// Returns the memory, or NULL.
//

static
PVOID
TestAllocateGuarded(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PTEST_CONTEXT Test = (PTEST_CONTEXT)Context;
    PUCHAR Pages;
    SIZE_T NumberOfPages;

    NumberOfPages = (SizeInBytes + TEST_PAGE - 1) / TEST_PAGE;
    Pages = (PUCHAR)TestAllocatePages(Test, NumberOfPages);
    if (Pages == NULL) {
        return NULL;
    }

    Test->GuardedPages = Pages;
    Test->GuardedSizeInBytes = NumberOfPages * TEST_PAGE;
    Test->NumberOfGuardedAllocations += 1;
    if (TestPick(Test, 2) != 0) {
        Pages += (NumberOfPages * TEST_PAGE - SizeInBytes) & ~(SIZE_T)15;
    }

    return Pages;
}

//
// Frees what TestAllocateGuarded returned.
// Address: the memory, or NULL.
//

static
VOID
TestFreeGuarded(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    ULONG_PTR Page = (ULONG_PTR)Address & ~(ULONG_PTR)(TEST_PAGE - 1);

    TestFreePages((PTEST_CONTEXT)Context, (PVOID)Page);
}

//
// Empties the list of prefixes.
//

static
VOID
TestBeginList(
    _Inout_ PTEST_CONTEXT Context
    )
{
    Context->NumberOfPrefixes = 0;
    Context->ArenaUsed = 0;
}

//
// Adds a copy of a prefix to the list.
// Length: its length in bytes.
//

static
VOID
TestAddPrefix(
    _Inout_ PTEST_CONTEXT Context,
    _In_reads_bytes_(Length) const UCHAR *Bytes,
    _In_ ULONG Length
    )
{
    PSTRING_TABLE_PREFIX Prefix;
    BOOLEAN IsRoomLeft;
    PUCHAR Copy;

    IsRoomLeft = (Context->NumberOfPrefixes < TEST_MAXIMUM_PREFIXES &&
                  Length <= TEST_ARENA_IN_BYTES - Context->ArenaUsed);
    if (!IsRoomLeft) {
        TEST(IsRoomLeft);
        return;
    }

    Copy = Context->Arena + Context->ArenaUsed;
    RtlCopyBytes(Copy, Bytes, Length);

    Prefix = &Context->Prefixes[Context->NumberOfPrefixes];
    Prefix->Buffer = Copy;
    Prefix->LengthInBytes = Length;
    Context->NumberOfPrefixes += 1;
    Context->ArenaUsed += Length;
}

//
// Creates a table of the list for each variant that the processor can run, and
// makes its memory read-only.
// Flags: the tables' properties.
// Returns TRUE if all of them were created.
//

static
BOOLEAN
TestOpenTables(
    _Inout_ PTEST_CONTEXT Context,
    _In_ uint32_t Flags
    )
{
    NTSTATUS Status;
    DWORD OldProtection;
    ULONG Index;

    TestFlags = Flags;

    for (Index = 0; Index < TEST_VARIANTS; Index += 1) {

        Context->Tables[Index] = NULL;
        if (!Context->IsAvailable[Index]) {
            continue;
        }

        Status = StringTableCreate(&Context->GuardedAllocator,
                                   TestVariants[Index].Instructions,
                                   TestVariants[Index].Flags | Flags,
                                   Context->Prefixes,
                                   Context->NumberOfPrefixes,
                                   &Context->Tables[Index],
                                   NULL);
        if (!TEST(NT_SUCCESS(Status))) {
            return FALSE;
        }

        TEST_EQUAL_STRING(StringTableVariant(Context->Tables[Index]),
                          TestSearches[Index].Name);
        TEST(VirtualProtect(Context->GuardedPages,
                            Context->GuardedSizeInBytes,
                            PAGE_READONLY,
                            &OldProtection));
    }

    return TRUE;
}

//
// Destroys the tables of the list.
//

static
VOID
TestCloseTables(
    _Inout_ PTEST_CONTEXT Context
    )
{
    ULONG Index;

    for (Index = 0; Index < TEST_VARIANTS; Index += 1) {
        StringTableDestroy(Context->Tables[Index]);
        Context->Tables[Index] = NULL;
    }
}

//
// Checks that no variant differed from the reference so far.
// Section: the name of what was tested last.
//

static
VOID
TestExpectAgreement(
    _Inout_ PTEST_CONTEXT Context,
    _In_z_ PCSZ Section
    )
{
    ULONG Index;

    for (Index = 0; Index < TEST_VARIANTS; Index += 1) {
        if (!Context->IsAvailable[Index]) {
            continue;
        }
        if (!TEST(Context->Mismatches[Index] == 0) ||
            !TEST(Context->Faults[Index] == 0)) {
            RtlWriteText(TestOutput,
                         "  %s: %s: %llu wrong results, %llu faults\n",
                         Section,
                         TestSearches[Index].Name,
                         Context->Mismatches[Index],
                         Context->Faults[Index]);
            Context->Mismatches[Index] = 0;
            Context->Faults[Index] = 0;
        }
    }
}

//
// Checks a result that is written in the test.
// Bytes: the string, and 32 bytes more.
// Length: its length in bytes.
// Expected: the index.
//

static
VOID
TestExpect(
    _Inout_ PTEST_CONTEXT Context,
    _In_ const VOID *Bytes,
    _In_ ULONG Length,
    _In_ ULONG Expected
    )
{
    const UCHAR *String;
    ULONG Distance;
    ULONG Index;
    ULONG Result;

    for (Distance = 0; Distance <= 32; Distance += 16) {
        String = TestPlace(Context, (const UCHAR *)Bytes, Length, Distance);
        TestInPlace(Context, String, Length);
        TEST(TestSearchReference(Context, String, Length) == Expected);
        for (Index = 0; Index < TEST_VARIANTS; Index += 1) {
            if (Context->IsAvailable[Index]) {
                Result = STRING_TABLE_NOT_FOUND - 1;
                TEST(TestSearchSafely(Context,
                                      TestSearches[Index].Search,
                                      String,
                                      Length,
                                      &Result));
                TEST(Result == Expected);
            }
        }
    }
}

//
// Prefixes of one another at the lengths where a vector, a page or a byte
// ends; inputs of every length from 0 to 300, at every distance up to 64 from
// the end of readable memory, and with each one byte changed.
//

static
VOID
TestNestedPrefixes(
    _Inout_ PTEST_CONTEXT Context
    )
{
    static const USHORT Lengths[] = {
        257, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 34, 47, 48, 49,
        63, 64, 65, 95, 96, 97, 127, 128, 129, 159, 160, 161, 223, 224, 225,
        254, 255, 256, 258, 287, 288, 289, 299, 300
    };
    UCHAR Changed;
    PUCHAR Pattern = Context->Pattern;
    ULONG CharacterSize;
    ULONG Distance;
    ULONG Length;
    ULONG Offset;
    ULONG Step;
    ULONG Index;
    ULONG Size;
    ULONG Kind;

    Step = Context->IsQuick ? 7 : 3;

    //
    // Up to 16 prefixes, up to 64, and more: each has searches of its own.
    //

    for (Kind = 0; Kind < 6; Kind += 1) {

        CharacterSize = 1 + Kind % 2;
        Size = Kind < 2 ? 16 : Kind < 4 ? 64 : 100;

        TestBeginList(Context);
        for (Index = 0; Index < RTL_NUMBER_OF(Lengths); Index += 1) {
            if (Lengths[Index] % CharacterSize == 0 &&
                Context->NumberOfPrefixes < Size) {
                TestAddPrefix(Context, Pattern, Lengths[Index]);
            }
        }

        while (Size == 100 && Context->NumberOfPrefixes < Size) {
            TestAddPrefix(Context,
                          Pattern + 1000 + 6 * Context->NumberOfPrefixes,
                          4);
        }

        if (!TestOpenTables(Context,
                            CharacterSize == 2 ? STRING_TABLE_UTF16 : 0)) {
            return;
        }

        for (Length = 0; Length <= 300; Length += 1) {
            for (Distance = 0; Distance <= 64; Distance += 1) {
                TestAtEnd(Context, Pattern, Length, Distance);
                TestAtBegin(Context, Pattern, Length, Distance);
            }
        }

        for (Length = 1; Length <= 300; Length += Step) {
            for (Offset = 0; Offset < Length; Offset += 1) {
                Changed = Pattern[Offset];
                Pattern[Offset] ^= (UCHAR)(1 << (Offset & 7));
                TestAtEnd(Context, Pattern, Length, (Length ^ Offset) & 31);
                TestAtEnd(Context, Pattern, Length, 0);
                Pattern[Offset] = Changed;
            }
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "nested prefixes");
}

//
// Tables of one prefix, of every length from 1 to 300, with inputs that are
// shorter, equal, longer, and different in one byte.
//

static
VOID
TestSinglePrefixes(
    _Inout_ PTEST_CONTEXT Context
    )
{
    static const UCHAR Distances[] = { 0, 1, 15, 16, 17, 31, 32, 33, 63 };
    static const UCHAR More[] = { 0, 1, 2, 16, 31, 32, 33, 40, 70 };
    PUCHAR Pattern = Context->Pattern;
    ULONG Length;
    ULONG Offset;
    ULONG Place;
    ULONG Index;
    UCHAR Changed;

    for (Length = 1; Length <= 300; Length += 1) {

        TestBeginList(Context);
        TestAddPrefix(Context, Pattern, Length);
        if (!TestOpenTables(Context, 0)) {
            return;
        }

        for (Place = 0; Place < RTL_NUMBER_OF(Distances); Place += 1) {

            TestAtEnd(Context, Pattern, Length - 1, Distances[Place]);
            for (Index = 0; Index < RTL_NUMBER_OF(More); Index += 1) {
                TestAtEnd(Context,
                          Pattern,
                          Length + More[Index],
                          Distances[Place]);
                TestAtBegin(Context,
                            Pattern,
                            Length + More[Index],
                            Distances[Place]);
            }

            for (Offset = 0; Offset <= Length; Offset += 1) {
                if (Offset > 2 && Offset + 34 < Length && Offset % 32 > 1) {
                    continue;
                }
                Changed = Pattern[Offset];
                Pattern[Offset] ^= 0x80;
                TestAtEnd(Context, Pattern, Length, Distances[Place]);
                TestAtEnd(Context, Pattern, Length + 40, Distances[Place]);
                Pattern[Offset] = Changed;
            }
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "single prefixes");
}

//
// Prefixes of 32,767 characters of either size, and nearly as long.
//

static
VOID
TestLongPrefixes(
    _Inout_ PTEST_CONTEXT Context
    )
{
    PUCHAR Pattern = Context->Pattern;
    ULONG CharacterSize;
    ULONG Longest;
    ULONG Offset;
    ULONG More;
    UCHAR Changed;

    for (CharacterSize = 1; CharacterSize <= 2; CharacterSize += 1) {

        Longest = 32767 * CharacterSize;

        TestBeginList(Context);
        TestAddPrefix(Context, Pattern, 256);
        TestAddPrefix(Context, Pattern, Longest);
        TestAddPrefix(Context, Pattern, Longest - CharacterSize);
        TestAddPrefix(Context, Pattern, Longest - 32 * CharacterSize);
        TestAddPrefix(Context, Pattern, 4096);
        if (!TestOpenTables(Context,
                            CharacterSize == 2 ? STRING_TABLE_UTF16 : 0)) {
            return;
        }

        for (More = 0; More <= 40; More += 1) {
            TestAtEnd(Context, Pattern, Longest - More, More);
            TestAtEnd(Context, Pattern, Longest - More, 0);
            TestAtEnd(Context, Pattern, Longest + More, More & 7);
        }

        TestExpect(Context, Pattern, Longest, 1);
        TestExpect(Context, Pattern, Longest + 1, 1);
        TestExpect(Context, Pattern, Longest - CharacterSize, 2);
        TestExpect(Context, Pattern, 4096, 4);
        TestExpect(Context, Pattern, 4095, 0);
        TestExpect(Context, Pattern, 255, STRING_TABLE_NOT_FOUND);

        for (Offset = 0; Offset < Longest; Offset += 509) {
            Changed = Pattern[Offset];
            Pattern[Offset] ^= 1;
            TestAtEnd(Context, Pattern, Longest, Offset & 31);
            Pattern[Offset] = Changed;
        }

        for (Offset = Longest - 70; Offset < Longest; Offset += 1) {
            Changed = Pattern[Offset];
            Pattern[Offset] ^= 1;
            TestAtEnd(Context, Pattern, Longest, Offset & 31);
            Pattern[Offset] = Changed;
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "long prefixes");
}

//
// Adds a prefix that is a terminated string.
//

static
VOID
TestAddText(
    _Inout_ PTEST_CONTEXT Context,
    _In_z_ PCSZ Text
    )
{
    TestAddPrefix(Context, (const UCHAR *)Text, RtlLengthOfString(Text));
}

//
// Checks the result for a terminated string.
// Text: the string, at most 160 bytes.
// Expected: the index.
//

static
VOID
TestExpectText(
    _Inout_ PTEST_CONTEXT Context,
    _In_z_ PCSZ Text,
    _In_ ULONG Expected
    )
{
    UCHAR Buffer[192];
    ULONG Length = RtlLengthOfString(Text);

    RtlZeroBytes(Buffer, sizeof(Buffer));
    TEST(Length <= sizeof(Buffer) - 32);
    RtlCopyBytes(Buffer, Text, Length);
    TestExpect(Context, Buffer, Length, Expected);
}

//
// Lists and inputs with the results written beside them.
//

static
VOID
TestExamples(
    _Inout_ PTEST_CONTEXT Context
    )
{
    static const UCHAR Nul[40] = { 'a', 0, 'b', 0, 0 };
    static const WCHAR Wide[] = L"KERNELBASE.DLL and thirty-two bytes beyond";
    ULONG Index;

    TestBeginList(Context);
    TestAddText(Context, "numpy");
    TestAddText(Context, "sixteen bytes ..and more");
    TestAddText(Context, "num");
    TestAddText(Context, "thirty-two bytes ................and more");
    TestAddText(Context, "numpy");
    TestAddText(Context, "numpy.core.multiarray");
    TestAddText(Context, "numpy.co");
    TestAddText(Context, "z");
    if (!TestOpenTables(Context, 0)) {
        return;
    }

    TestExpectText(Context, "numpy.core", 6);
    TestExpectText(Context, "numpy", 0);
    TestExpectText(Context, "numpy.", 0);
    TestExpectText(Context, "numpx.core", 2);
    TestExpectText(Context, "nump", 2);
    TestExpectText(Context, "nu", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "Numpy", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "numpy.core.multiarray", 5);
    TestExpectText(Context, "numpy.core.multiarray_tests", 5);
    TestExpectText(Context, "numpy.core.multiarra", 6);
    TestExpectText(Context, "zz", 7);
    TestExpectText(Context, "yz", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context, "sixteen bytes ..and more", 1);
    TestExpectText(Context, "sixteen bytes ..and less", STRING_TABLE_NOT_FOUND);
    TestExpectText(Context,
                   "thirty-two bytes ................and more, too",
                   3);
    TestExpectText(Context,
                   "thirty-two bytes ................and less, too",
                   STRING_TABLE_NOT_FOUND);
    TestExpectText(Context,
                   "thirty-two bytes ................",
                   STRING_TABLE_NOT_FOUND);
    TestCloseTables(Context);

    //
    // Zero bytes within, at the beginning and at the end.
    //

    TestBeginList(Context);
    TestAddPrefix(Context, Nul, 1);
    TestAddPrefix(Context, Nul, 3);
    TestAddPrefix(Context, Nul, 5);
    TestAddPrefix(Context, Nul + 1, 1);
    TestAddPrefix(Context, Nul + 5, 20);
    TestAddPrefix(Context, (const UCHAR *)"a\0c", 3);
    if (!TestOpenTables(Context, 0)) {
        return;
    }

    for (Index = 0; Index < 8; Index += 1) {
        static const ULONG Expected[] = {
            STRING_TABLE_NOT_FOUND, 0, 0, 1, 1, 2, 2, 2
        };
        TestExpect(Context, Nul, Index, Expected[Index]);
    }

    TestExpect(Context, Nul + 5, 0, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Nul + 5, 1, 3);
    TestCloseTables(Context);

    //
    // Two-byte characters; a half character at the end belongs to nothing.
    //

    TestBeginList(Context);
    TestAddPrefix(Context, (const UCHAR *)Wide, 2 * 6);
    TestAddPrefix(Context, (const UCHAR *)Wide, 2 * 14);
    TestAddPrefix(Context, (const UCHAR *)Wide, 2 * 1);
    if (!TestOpenTables(Context, STRING_TABLE_UTF16)) {
        return;
    }

    TestExpect(Context, Wide, 1, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Wide, 2, 2);
    TestExpect(Context, Wide, 11, 2);
    TestExpect(Context, Wide, 12, 0);
    TestExpect(Context, Wide, 27, 0);
    TestExpect(Context, Wide, 28, 1);
    TestExpect(Context, Wide, 40, 1);
    TestCloseTables(Context);

    TestExpectAgreement(Context, "examples");
}

//
// All byte values, as whole prefixes and as the second of two bytes.
//

static
VOID
TestByteValues(
    _Inout_ PTEST_CONTEXT Context
    )
{
    UCHAR Bytes[3];
    ULONG Value;

    TestBeginList(Context);
    for (Value = 0; Value < 256; Value += 1) {
        Bytes[0] = (UCHAR)Value;
        Bytes[1] = (UCHAR)~Value;
        TestAddPrefix(Context, Bytes, 1 + (Value & 1));
    }

    if (!TestOpenTables(Context, 0)) {
        return;
    }

    Bytes[2] = 0;
    for (Value = 0; Value < 65536; Value += 1) {
        Bytes[0] = (UCHAR)Value;
        Bytes[1] = (UCHAR)(Value >> 8);
        TestAtEnd(Context, Bytes, 1 + (Value % 3), 0);
    }

    TestCloseTables(Context);
    TestExpectAgreement(Context, "byte values");
}

//
// Lists of many sizes, up to more than 1,000 prefixes; each prefix as the
// input, with a byte more, a byte less, and its last byte changed.
//

static
VOID
TestManyPrefixes(
    _Inout_ PTEST_CONTEXT Context
    )
{
    static const USHORT Counts[] = {
        1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 100, 255, 256, 257, 1025,
        2000
    };
    UCHAR Bytes[128];
    const UCHAR *Prefix;
    ULONG Length;
    ULONG Offset;
    ULONG Count;
    ULONG Index;

    for (Count = 0; Count < RTL_NUMBER_OF(Counts); Count += 1) {

        TestBeginList(Context);
        for (Index = 0; Index < Counts[Count]; Index += 1) {

            //
            // Every fourth prefix is of one family.
            //

            Offset = 0;
            Length = 4 + TestPick(Context, 50);
            if ((Index & 3) == 0) {
                RtlCopyBytes(Bytes, "C:\\Program Files\\", 17);
                Offset = 17;
                Length += 17;
            }

            for (; Offset < Length; Offset += 1) {
                Bytes[Offset] = (UCHAR)('a' + TestPick(Context, 3));
            }
            TestAddPrefix(Context, Bytes, Length);
        }

        if (!TestOpenTables(Context, 0)) {
            return;
        }

        for (Index = 0; Index < Counts[Count]; Index += 1) {
            Prefix = (const UCHAR *)Context->Prefixes[Index].Buffer;
            Length = Context->Prefixes[Index].LengthInBytes;
            RtlZeroBytes(Bytes, sizeof(Bytes));
            RtlCopyBytes(Bytes, Prefix, Length);
            TestAtEnd(Context, Bytes, Length, 0);
            TestAtEnd(Context, Bytes, Length - 1, Index & 31);
            TestAtEnd(Context, Bytes, Length + 1, 1);
            Bytes[Length - 1] ^= 1;
            TestAtEnd(Context, Bytes, Length, Index & 7);
            TestAtEnd(Context, Bytes, Length + 9, Index & 15);
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "many prefixes");
}

//
// Gives one of few bytes: those that folding could get wrong are among them,
// and 0, so that there are UTF-16 code units below 256.
//

static
UCHAR
TestLetter(
    _In_ ULONG Number
    )
{
    static const UCHAR Letters[] = { 'a', 0, 'A', 'Z', '[', '@', 'z', 0xC1 };

    return Letters[Number % sizeof(Letters)];
}

//
// Without regard to case: each byte against each, and code units whose low or
// high byte could be taken for a letter.
//

static
VOID
TestCase(
    _Inout_ PTEST_CONTEXT Context
    )
{
    static const USHORT Units[] = {
        'a', 'M', 'Z', '@', '[', '`', '{', 0x0141, 0x4100, 0x5A5A, 0xFF41,
        0x212A, 0x00C0
    };
    static const UCHAR Upper[] = "KERNEL32.DLL_AND_MORE_THAN_32_BYTES_OF_IT";
    static const UCHAR Lower[] = "kernel32.dll_and_more_than_32_bytes_of_it";
    UCHAR Bytes[128];
    ULONG Value;
    ULONG Index;
    ULONG Size;

    //
    // 7, then 256 different prefixes: few slots, and a trie.
    //

    for (Size = 7; Size <= 256; Size += 249) {

        TestBeginList(Context);
        for (Value = 0; Value < Size; Value += 1) {
            Bytes[0] = (UCHAR)(Size == 7 ? "azAm[@`"[Value] : Value);
            TestAddPrefix(Context, Bytes, 1);
        }

        if (!TestOpenTables(Context, STRING_TABLE_IGNORE_CASE)) {
            return;
        }

        for (Value = 0; Value < 256; Value += 1) {
            Bytes[0] = (UCHAR)Value;
            Bytes[1] = (UCHAR)Value;
            TestAtEnd(Context, Bytes, 1, 0);
            TestAtEnd(Context, Bytes, 1, 1);
        }

        TestCloseTables(Context);
    }

    for (Size = 1; Size <= 200; Size += 199) {

        TestBeginList(Context);
        for (Index = 0; Index < RTL_NUMBER_OF(Units); Index += 1) {
            TestAddPrefix(Context, (const UCHAR *)&Units[Index], 2);
        }
        for (Index = 1; Index < Size; Index += 1) {
            Value = 0x3000 + Index;
            TestAddPrefix(Context, (const UCHAR *)&Value, 2);
        }

        if (!TestOpenTables(Context,
                            STRING_TABLE_UTF16 | STRING_TABLE_IGNORE_CASE)) {
            return;
        }

        RtlZeroBytes(Bytes, sizeof(Bytes));
        for (Value = 0; Value < 65536; Value += 1) {
            Bytes[0] = (UCHAR)Value;
            Bytes[1] = (UCHAR)(Value >> 8);
            TestAtEnd(Context, Bytes, 2, Value & 32);
        }

        TestCloseTables(Context);
    }

    //
    // Written out: prefixes of either case, and strings of the other.
    //

    RtlZeroBytes(Bytes, sizeof(Bytes));
    RtlCopyBytes(Bytes, Lower, sizeof(Lower));
    TestBeginList(Context);
    TestAddPrefix(Context, Upper, 8);
    TestAddPrefix(Context, Lower, 12);
    TestAddPrefix(Context, Upper, 40);
    TestAddPrefix(Context, Upper, 12);
    if (!TestOpenTables(Context, STRING_TABLE_IGNORE_CASE)) {
        return;
    }

    TestExpect(Context, Bytes, 7, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Bytes, 11, 0);
    TestExpect(Context, Bytes, 39, 1);
    TestExpect(Context, Bytes, 41, 2);
    TestCloseTables(Context);

    if (!TestOpenTables(Context, 0)) {
        return;
    }

    TestExpect(Context, Bytes, 11, STRING_TABLE_NOT_FOUND);
    TestExpect(Context, Bytes, 41, 1);
    TestCloseTables(Context);

    TestExpectAgreement(Context, "case");
}

//
// What a trie is worst at: a, aa, aaa and so on; b, ab, aab and so on; both;
// and these behind a long part that all have in common.
//

static
VOID
TestHardPrefixes(
    _Inout_ PTEST_CONTEXT Context
    )
{
    UCHAR Bytes[700];
    ULONG Length;
    ULONG Common;
    ULONG Kind;

    for (Kind = 0; Kind < 6; Kind += 1) {

        Common = Kind >= 3 ? 100 : 0;
        RtlFillBytes(Bytes, sizeof(Bytes), 'a');
        RtlFillBytes(Bytes, Common, 'x');

        TestBeginList(Context);
        for (Length = Common + 1; Length <= Common + 250; Length += 1) {
            if (Kind % 3 != 1) {
                TestAddPrefix(Context, Bytes, Length);
            }
            if (Kind % 3 != 0) {
                Bytes[Length - 1] = 'b';
                TestAddPrefix(Context, Bytes, Length);
                Bytes[Length - 1] = 'a';
            }
        }

        if (!TestOpenTables(Context, 0)) {
            return;
        }

        for (Length = 1; Length <= Common + 260; Length += 1) {
            TestAtEnd(Context, Bytes, Length, Length & 63);
            Bytes[Length - 1] = 'b';
            TestAtEnd(Context, Bytes, Length, 0);
            TestAtEnd(Context, Bytes, Length + 20, Length & 63);
            Bytes[Length - 1] = 'c';
            TestAtEnd(Context, Bytes, Length + 20, 0);
            Bytes[Length - 1] = Length <= Common ? 'x' : 'a';
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "hard prefixes");
}

//
// A table of 100,000 prefixes, none of which begins with another, so that what
// is found for each is known.
//

static
VOID
TestHundredThousand(
    _Inout_ PTEST_CONTEXT Context
    )
{
    PCALLOCATOR Heap = Context->Allocator;
    STRING_TABLE_ALLOCATOR Allocator;
    PSTRING_TABLE_PREFIX Prefixes;
    PSTRING_TABLE Table;
    PUCHAR Bytes;
    PUCHAR Text;
    ULONG Wrong;
    ULONG Index;
    ULONG Value;
    ULONG Digit;
    ULONG Kind;

    Allocator.Context = Heap->Context;
    Allocator.Allocate = Heap->Allocate;
    Allocator.Free = Heap->Free;
    Prefixes = (PSTRING_TABLE_PREFIX)
        Heap->Allocate(Heap->Context, 100000 * sizeof(*Prefixes));
    Bytes = (PUCHAR)Heap->Allocate(Heap->Context, 100000 * 32);
    if (!TEST(Prefixes != NULL && Bytes != NULL)) {
        goto End;
    }

    for (Index = 0; Index < 100000; Index += 1) {
        Text = Bytes + 32 * Index;
        RtlCopyBytes(Text, "?name@space@@", 13);
        Value = Index;
        for (Digit = 0; Digit < 5; Digit += 1) {
            Text[13 + Digit] = (UCHAR)('0' + Value % 10);
            Value /= 10;
        }
        RtlFillBytes(Text + 18, 14, 'z');
        Prefixes[Index].Buffer = Text;
        Prefixes[Index].LengthInBytes = 18 + Index % 7;
    }

    for (Kind = 0; Kind < TEST_VARIANTS; Kind += 1) {

        if (!Context->IsAvailable[Kind] ||
            !TEST(StringTableCreate(&Allocator,
                                    TestVariants[Kind].Instructions,
                                    TestVariants[Kind].Flags,
                                    Prefixes,
                                    100000,
                                    &Table,
                                    NULL) == STRING_TABLE_SUCCESS)) {
            continue;
        }

        Wrong = 0;
        for (Index = 0; Index < 100000; Index += 1) {
            Text = Bytes + 32 * Index;
            Value = Prefixes[Index].LengthInBytes;
            Wrong += (StringTableSearch(Table, Text, Value) != Index);
            Wrong += (StringTableSearch(Table, Text, 32) != Index);
            Wrong += (StringTableSearch(Table, Text, Value - 1) !=
                      STRING_TABLE_NOT_FOUND);
            Text[2 + Index % 10] ^= 1;
            Wrong += (StringTableSearch(Table, Text, 32) !=
                      STRING_TABLE_NOT_FOUND);
            Text[2 + Index % 10] ^= 1;
        }

        TEST_EQUAL(Wrong, 0);
        StringTableDestroy(Table);
    }

End:

    Heap->Free(Heap->Context, Prefixes);
    Heap->Free(Heap->Context, Bytes);
}

//
// Random lists and inputs, of few different bytes, so that many agree for
// long.
//

static
VOID
TestRandomCases(
    _Inout_ PTEST_CONTEXT Context
    )
{
    UCHAR Bytes[512];
    const UCHAR *Prefix;
    ULONG CharacterSize;
    ULONG NumberOfTables;
    ULONG NumberOfBytes;
    uint32_t Flags;
    ULONG Length;
    ULONG Offset;
    ULONG Table;
    ULONG Index;

    NumberOfTables = Context->IsQuick ? 100 : 1000;

    for (Table = 0; Table < NumberOfTables; Table += 1) {

        Flags = TestPick(Context, 4);
        CharacterSize = (Flags & STRING_TABLE_UTF16) != 0 ? 2 : 1;
        NumberOfBytes = 1 + TestPick(Context, 6);

        TestBeginList(Context);
        Index = 1 + TestPick(Context, TestPick(Context, 2) ? 20 : 90);
        for (; Index > 0; Index -= 1) {

            Length = 1 + TestPick(Context, TestPick(Context, 8) ? 45 : 150);
            Length *= CharacterSize;

            //
            // Half of them share a part with an earlier one.
            //

            Offset = 0;
            if (Context->NumberOfPrefixes > 0 && TestPick(Context, 2) != 0) {
                Offset = TestPick(Context, Context->NumberOfPrefixes);
                Prefix = (const UCHAR *)Context->Prefixes[Offset].Buffer;
                Offset = Context->Prefixes[Offset].LengthInBytes;
                if (Offset > Length) {
                    Offset = Length;
                }
                RtlCopyBytes(Bytes, Prefix, Offset);
            }

            for (; Offset < Length; Offset += 1) {
                Bytes[Offset] = TestLetter(
                    TestPick(Context, NumberOfBytes));
            }
            TestAddPrefix(Context, Bytes, Length);
        }

        if (!TestOpenTables(Context, Flags)) {
            return;
        }

        for (Index = 0; Index < 1000; Index += 1) {

            for (Offset = 0; Offset < sizeof(Bytes); Offset += 1) {
                Bytes[Offset] = TestLetter(
                    (ULONG)((TestNextRandom(Context) >> 11) % NumberOfBytes));
            }

            Length = TestPick(Context, TestPick(Context, 4) ? 60 : 310);
            if (TestPick(Context, 8) != 0) {
                Offset = TestPick(Context, Context->NumberOfPrefixes);
                Prefix = (const UCHAR *)Context->Prefixes[Offset].Buffer;
                Offset = Context->Prefixes[Offset].LengthInBytes;
                RtlCopyBytes(Bytes, Prefix, Offset);
                if (TestPick(Context, 3) != 0) {
                    Length = Offset + TestPick(Context, 3) * (Length & 31);
                }
                if (TestPick(Context, 4) == 0) {
                    Bytes[TestPick(Context, Offset)] ^=
                        TestPick(Context, 2) ? 1 : 0x20;
                }
            }

            TestAtEnd(Context, Bytes, Length, TestPick(Context, 65));
        }

        TestCloseTables(Context);
    }

    TestExpectAgreement(Context, "random cases");
}

//
// Inputs of length 0 at addresses that cannot be read, and an input at the
// beginning of an unreadable page, which must fault.
//

static
VOID
TestNothingIsRead(
    _Inout_ PTEST_CONTEXT Context
    )
{
    const UCHAR *Strings[4];
    PTEST_SEARCH Search;
    ULONG Variant;
    ULONG Result;
    ULONG Index;

    Strings[0] = NULL;
    Strings[1] = (const UCHAR *)1;
    Strings[2] = Context->End;
    Strings[3] = Context->Begin - TEST_PAGE;

    TestBeginList(Context);
    TestAddText(Context, "\x01");
    TestAddPrefix(Context, (const UCHAR *)"", 1);
    if (!TestOpenTables(Context, 0)) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Strings); Index += 1) {
        TestInPlace(Context, Strings[Index], 0);
        for (Variant = 0; Variant < TEST_VARIANTS; Variant += 1) {
            if (!Context->IsAvailable[Variant]) {
                continue;
            }
            Search = TestSearches[Variant].Search;
            TEST(TestSearchSafely(Context, Search, Strings[Index], 0, &Result));
            TEST(Result == STRING_TABLE_NOT_FOUND);

            //
            // That these addresses cannot be read is what makes the above
            // mean something.
            //

            TEST(!TestSearchSafely(Context,
                                   Search,
                                   Strings[Index],
                                   1,
                                   &Result));
        }
    }

    TestCloseTables(Context);
    TestExpectAgreement(Context, "nothing is read");
}

//
// Lists that are refused, with the index of the prefix that is at fault.
//

static
VOID
TestRefusals(
    _Inout_ PTEST_CONTEXT Context
    )
{
    PSTRING_TABLE_PREFIX Prefixes = Context->Prefixes;
    uint32_t Features = StringTableQueryInstructions();
    STRING_TABLE_ALLOCATOR Allocator;
    PSTRING_TABLE Mark = (PSTRING_TABLE)Context;
    PSTRING_TABLE Table = Mark;
    NTSTATUS Status;
    uint32_t Bad;
    ULONG Index;

    Allocator.Context = Context->Allocator->Context;
    Allocator.Allocate = Context->Allocator->Allocate;
    Allocator.Free = Context->Allocator->Free;

#define TEST_REFUSED(Flags, Count, ExpectedStatus, ExpectedIndex)   \
    Bad = 12345;                                                            \
    Status = StringTableCreate(&Allocator,                                  \
                               Features,                                    \
                               (Flags),                             \
                               Prefixes,                                    \
                               (Count),                                     \
                               &Table,                                      \
                               &Bad);                                       \
    TEST(Status == (ExpectedStatus));                                       \
    TEST(Bad == (ULONG)(ExpectedIndex));                                    \
    TEST(Table == Mark);                                                    \
    Status = StringTableCreate(&Allocator,                                  \
                               Features,                                    \
                               (Flags),                             \
                               Prefixes,                                    \
                               (Count),                                     \
                               &Table,                                      \
                               NULL);                                       \
    TEST(Status == (ExpectedStatus));                                       \
    TEST(Table == Mark)

#define TEST_ACCEPTED(Flags, Count)                                 \
    Status = StringTableCreate(&Allocator,                                  \
                               Features,                                    \
                               (Flags),                             \
                               Prefixes,                                    \
                               (Count),                                     \
                               &Table,                                      \
                               &Bad);                                       \
    TEST(Status == STATUS_SUCCESS);                                         \
    if (NT_SUCCESS(Status)) {                                               \
        StringTableDestroy(Table);                                          \
    }                                                                       \
    Table = Mark

    for (Index = 0; Index < 40; Index += 1) {
        Prefixes[Index].Buffer = Context->Pattern;
        Prefixes[Index].LengthInBytes = 2 + 2 * Index;
    }

    TEST_ACCEPTED(0, 40);
    TEST_ACCEPTED(1, 40);

    TEST_REFUSED(0, 0, STATUS_INVALID_PARAMETER, STRING_TABLE_NOT_FOUND);
    TEST_REFUSED(8, 40, STATUS_INVALID_PARAMETER, STRING_TABLE_NOT_FOUND);
    TEST_REFUSED(0x80000001,
                 40,
                 STATUS_INVALID_PARAMETER,
                 STRING_TABLE_NOT_FOUND);

    //
    // The first bad one is reported; one that is not in the list is not.
    //

    Prefixes[38].LengthInBytes = 0;
    TEST_REFUSED(0, 40, STATUS_OBJECT_NAME_INVALID, 38);
    TEST_ACCEPTED(0, 38);
    Prefixes[7].LengthInBytes = 0;
    TEST_REFUSED(0, 40, STATUS_OBJECT_NAME_INVALID, 7);
    Prefixes[0].LengthInBytes = 0;
    TEST_REFUSED(1, 1, STATUS_OBJECT_NAME_INVALID, 0);
    Prefixes[0].LengthInBytes = 2;
    Prefixes[7].LengthInBytes = 2;
    Prefixes[38].LengthInBytes = 2;

    Prefixes[5].LengthInBytes = 7;
    TEST_REFUSED(1, 40, STATUS_OBJECT_NAME_INVALID, 5);
    TEST_ACCEPTED(0, 40);

    Prefixes[5].LengthInBytes = 32767;
    TEST_ACCEPTED(0, 40);
    Prefixes[5].LengthInBytes = 32768;
    TEST_REFUSED(0, 40, STATUS_NAME_TOO_LONG, 5);
    TEST_ACCEPTED(1, 40);
    Prefixes[5].LengthInBytes = 65534;
    TEST_ACCEPTED(1, 40);
    Prefixes[5].LengthInBytes = 65535;
    TEST_REFUSED(1, 40, STATUS_NAME_TOO_LONG, 5);
    Prefixes[5].LengthInBytes = 65536;
    TEST_REFUSED(1, 40, STATUS_NAME_TOO_LONG, 5);
    Prefixes[5].LengthInBytes = 65538;
    TEST_REFUSED(0, 40, STATUS_NAME_TOO_LONG, 5);
    Prefixes[5].LengthInBytes = 0xFFFFFFFE;
    TEST_REFUSED(1, 40, STATUS_NAME_TOO_LONG, 5);
    Prefixes[5].LengthInBytes = 2;

    Prefixes[39].Buffer = NULL;
    TEST_REFUSED(0, 40, STATUS_OBJECT_NAME_INVALID, 39);

    StringTableDestroy(NULL);

#undef TEST_REFUSED
#undef TEST_ACCEPTED

}

//
// An allocator that counts, and fails one allocation.
//

typedef struct _TEST_COUNTING_ALLOCATOR {
    PCALLOCATOR Allocator;
    ULONG FailAt;                   // from 1; 0: never
    ULONG NumberOfAllocations;
    LONG NumberOutstanding;
} TEST_COUNTING_ALLOCATOR;
typedef TEST_COUNTING_ALLOCATOR *PTEST_COUNTING_ALLOCATOR;

//
// Counts an allocation, and fails it if its turn has come.
// Returns the memory, or NULL.
//

static
PVOID
TestAllocateCounted(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PTEST_COUNTING_ALLOCATOR Counting = (PTEST_COUNTING_ALLOCATOR)Context;
    PVOID Address;

    Counting->NumberOfAllocations += 1;
    if (Counting->NumberOfAllocations == Counting->FailAt) {
        return NULL;
    }

    Address = Counting->Allocator->Allocate(Counting->Allocator->Context,
                                            SizeInBytes);
    if (Address != NULL) {
        Counting->NumberOutstanding += 1;
    }

    return Address;
}

//
// Frees memory, and counts that.
// Address: the memory, or NULL.
//

static
VOID
TestFreeCounted(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    PTEST_COUNTING_ALLOCATOR Counting = (PTEST_COUNTING_ALLOCATOR)Context;

    if (Address != NULL) {
        Counting->NumberOutstanding -= 1;
    }

    Counting->Allocator->Free(Counting->Allocator->Context, Address);
}

//
// Fails the first, the second, ... allocation of a creation, until one
// creation succeeds; and uses a table after the caller's list and allocator
// structure are gone.
//

static
VOID
TestAllocationFailures(
    _Inout_ PTEST_CONTEXT Context
    )
{
    TEST_COUNTING_ALLOCATOR Counting;
    STRING_TABLE_ALLOCATOR Allocator;
    PSTRING_TABLE Table;
    NTSTATUS Status;
    ULONG Attempt;
    uint32_t Bad;
    ULONG Index;

    TestBeginList(Context);
    for (Index = 1; Index <= 100; Index += 1) {
        TestAddPrefix(Context, Context->Pattern, Index);
    }

    Counting.Allocator = Context->Allocator;
    Counting.NumberOutstanding = 0;

    for (Attempt = 1; Attempt < 20; Attempt += 1) {

        Allocator.Context = &Counting;
        Allocator.Allocate = TestAllocateCounted;
        Allocator.Free = TestFreeCounted;
        Counting.FailAt = Attempt;
        Counting.NumberOfAllocations = 0;

        Bad = 12345;
        Table = NULL;
        Status = StringTableCreate(&Allocator,
                                   StringTableQueryInstructions(),
                                   0,
                                   Context->Prefixes,
                                   Context->NumberOfPrefixes,
                                   &Table,
                                   &Bad);
        if (NT_SUCCESS(Status)) {
            break;
        }

        TEST(Status == STATUS_NO_MEMORY);
        TEST(Bad == STRING_TABLE_NOT_FOUND);
        TEST(Table == NULL);
        TEST(Counting.NumberOutstanding == 0);
    }

    //
    // The failing attempts failed because of the allocation.
    //

    TEST(Attempt > 1);
    TEST(Counting.NumberOfAllocations == Attempt - 1);

    if (TEST(Table != NULL)) {
        TEST(Counting.NumberOutstanding > 0);
        RtlZeroBytes(&Allocator, sizeof(Allocator));
        RtlZeroBytes(Context->Arena, Context->ArenaUsed);
        RtlZeroBytes(Context->Prefixes, 100 * sizeof(STRING_TABLE_PREFIX));
        TEST(StringTableSearch(Table, Context->Pattern, 100) == 99);
        TEST(StringTableSearch(Table, Context->Pattern, 33) == 32);
        StringTableDestroy(Table);
    }

    TEST(Counting.NumberOutstanding == 0);
}

//
// Allocates what the tests use.
// Rtl: the system's routines.
// Returns FALSE if memory is short.
//

static
BOOLEAN
TestInitializeContext(
    _Out_ PTEST_CONTEXT Context,
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator
    )
{
    WCHAR Buffer[8];
    UNICODE_STRING Quick;
    ULONG Index;

    RtlZeroBytes(Context, sizeof(*Context));
    Context->Rtl = Rtl;
    Context->Allocator = Allocator;
    Context->Random = 0x9E3779B97F4A7C15ULL;
    for (Index = 0; Index < TEST_VARIANTS; Index += 1) {
        Context->IsAvailable[Index] = (BOOLEAN)
            (TestVariants[Index].Instructions == STRING_TABLE_SCALAR ||
             (TestVariants[Index].Instructions &
              StringTableQueryInstructions()) != 0);
    }
    Context->GuardedAllocator.Context = Context;
    Context->GuardedAllocator.Allocate = TestAllocateGuarded;
    Context->GuardedAllocator.Free = TestFreeGuarded;
    Context->IsQuick = NT_SUCCESS(RtlQueryEnvironment(Rtl,
                                                      L"TRACER_QUICK",
                                                      Buffer,
                                                      RTL_NUMBER_OF(Buffer),
                                                      &Quick));

    Context->Begin = (PUCHAR)TestAllocatePages(Context, TEST_INPUT_PAGES);
    Context->Pattern = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                   TEST_PATTERN_IN_BYTES);
    Context->Arena = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                 TEST_ARENA_IN_BYTES);
    Context->Prefixes = (PSTRING_TABLE_PREFIX)
        Allocator->Allocate(Allocator->Context,
                            TEST_MAXIMUM_PREFIXES *
                                sizeof(STRING_TABLE_PREFIX));

    if (Context->Begin == NULL ||
        Context->Pattern == NULL ||
        Context->Arena == NULL ||
        Context->Prefixes == NULL) {
        return FALSE;
    }

    Context->End = Context->Begin + TEST_INPUT_PAGES * TEST_PAGE;
    for (Index = 0; Index < TEST_PATTERN_IN_BYTES; Index += 1) {
        Context->Pattern[Index] = (UCHAR)TestNextRandom(Context);
    }

    return TRUE;
}

//
// Frees what TestInitializeContext allocated.
//

static
VOID
TestRundownContext(
    _Inout_ PTEST_CONTEXT Context
    )
{
    PCALLOCATOR Allocator = Context->Allocator;

    TestFreePages(Context, Context->Begin);
    Allocator->Free(Allocator->Context, Context->Pattern);
    Allocator->Free(Allocator->Context, Context->Arena);
    Allocator->Free(Allocator->Context, Context->Prefixes);
}

//
// Says what the RTL's features are to a string table.
// Returns the instruction sets.
//

static
uint32_t
TestInstructionsOf(
    _In_ const RTL_CPU_FEATURES *Features
    )
{
    return (Features->Sse42 ? STRING_TABLE_SSE42 : 0) |
           (Features->Avx2 && Features->Bmi2 ? STRING_TABLE_AVX2 : 0) |
           (Features->Avx512 && Features->Bmi2 ? STRING_TABLE_AVX512 : 0);
}

//
// Runs the tests.
// Rtl: the system's routines.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    TEST_CONTEXT Context;
    BOOLEAN IsCaught;
    ULONG Index;

    if (!TEST(TestInitializeContext(&Context, Rtl, Allocator))) {
        goto End;
    }

    for (Index = 0; Index < TEST_VARIANTS; Index += 1) {
        if (!Context.IsAvailable[Index]) {
            TEST_SKIP(TestSearches[Index].Name);
        }
    }

    TEST(StringTableQueryInstructions() ==
         TestInstructionsOf(&Rtl->CpuFeatures));

    TestExamples(&Context);
    TestNestedPrefixes(&Context);
    TestSinglePrefixes(&Context);
    TestLongPrefixes(&Context);
    TestByteValues(&Context);
    TestCase(&Context);
    TestHardPrefixes(&Context);
    TestHundredThousand(&Context);
    TestManyPrefixes(&Context);
    TestRandomCases(&Context);
    TestNothingIsRead(&Context);
    TestRefusals(&Context);
    TestAllocationFailures(&Context);

    //
    // The inputs were of both kinds, and each wrong search was caught; the
    // ones that read too much gave no wrong result, so only their faults can
    // have.
    //

    TEST(Context.Found > 10000);
    TEST(Context.Inputs - Context.Found > 10000);

    for (Index = TEST_VARIANTS; Index < TEST_SEARCHES; Index += 1) {
        if (TestSearches[Index].Search == TestSearchWrongReadsAfter ||
            TestSearches[Index].Search == TestSearchWrongReadsBefore) {
            IsCaught = (Context.Faults[Index] != 0);
        } else {
            IsCaught = (Context.Mismatches[Index] != 0);
        }
        if (!TEST(IsCaught)) {
            RtlWriteText(TestOutput,
                         "  not caught: %s\n",
                         TestSearches[Index].Name);
        }
    }

    RtlWriteText(TestOutput,
                 "  %llu inputs, %llu of them with a prefix\n",
                 Context.Inputs,
                 Context.Found);

End:

    TestRundownContext(&Context);
}
