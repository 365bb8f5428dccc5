/*++

Module Name:

    Places.c

Abstract:

    Where inputs and lists of prefixes lie: at the ends of pages, beside pages
    that fault; and the comparison of every search with the reference.

--*/

#include "TestStringTable.h"

uint32_t TestFlags;

_Use_decl_annotations_
ULONGLONG
TestNextRandom(
    PTEST_CONTEXT Context
    )
{
    Context->Random ^= Context->Random << 13;
    Context->Random ^= Context->Random >> 7;
    Context->Random ^= Context->Random << 17;

    return Context->Random >> 8;
}

_Use_decl_annotations_
ULONG
TestPick(
    PTEST_CONTEXT Context,
    ULONG Limit
    )
{
    return (ULONG)(TestNextRandom(Context) % Limit);
}

_Use_decl_annotations_
BOOLEAN
TestSearchSafely(
    PTEST_CONTEXT Context,
    PTEST_SEARCH Search,
    const UCHAR *String,
    ULONG Length,
    PULONG Result
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

_Use_decl_annotations_
VOID
TestInPlace(
    PTEST_CONTEXT Context,
    const UCHAR *String,
    ULONG Length
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

_Use_decl_annotations_
VOID
TestAtEnd(
    PTEST_CONTEXT Context,
    const UCHAR *Bytes,
    ULONG Length,
    ULONG NumberOfBytesAfter
    )
{
    TestInPlace(Context,
                TestPlace(Context, Bytes, Length, NumberOfBytesAfter),
                Length);
}

_Use_decl_annotations_
VOID
TestAtBegin(
    PTEST_CONTEXT Context,
    const UCHAR *Bytes,
    ULONG Length,
    ULONG NumberOfBytesBefore
    )
{
    RtlCopyBytes(Context->Begin + NumberOfBytesBefore, Bytes, Length);
    TestInPlace(Context, Context->Begin + NumberOfBytesBefore, Length);
}

_Use_decl_annotations_
PVOID
TestAllocatePages(
    PTEST_CONTEXT Context,
    SIZE_T NumberOfPages
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

_Use_decl_annotations_
VOID
TestFreePages(
    PTEST_CONTEXT Context,
    PVOID Pages
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

_Use_decl_annotations_
PVOID
TestAllocateGuarded(
    PVOID Context,
    SIZE_T SizeInBytes
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

_Use_decl_annotations_
VOID
TestFreeGuarded(
    PVOID Context,
    PVOID Address
    )
{
    ULONG_PTR Page = (ULONG_PTR)Address & ~(ULONG_PTR)(TEST_PAGE - 1);

    TestFreePages((PTEST_CONTEXT)Context, (PVOID)Page);
}

_Use_decl_annotations_
VOID
TestBeginList(
    PTEST_CONTEXT Context
    )
{
    Context->NumberOfPrefixes = 0;
    Context->ArenaUsed = 0;
}

_Use_decl_annotations_
VOID
TestAddPrefix(
    PTEST_CONTEXT Context,
    const UCHAR *Bytes,
    ULONG Length
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

_Use_decl_annotations_
BOOLEAN
TestOpenTables(
    PTEST_CONTEXT Context,
    uint32_t Flags
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

_Use_decl_annotations_
VOID
TestCloseTables(
    PTEST_CONTEXT Context
    )
{
    ULONG Index;

    for (Index = 0; Index < TEST_VARIANTS; Index += 1) {
        StringTableDestroy(Context->Tables[Index]);
        Context->Tables[Index] = NULL;
    }
}

_Use_decl_annotations_
VOID
TestExpectAgreement(
    PTEST_CONTEXT Context,
    PCSZ Section
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

_Use_decl_annotations_
VOID
TestExpect(
    PTEST_CONTEXT Context,
    const VOID *Bytes,
    ULONG Length,
    ULONG Expected
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
