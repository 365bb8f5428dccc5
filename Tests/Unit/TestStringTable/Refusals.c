/*++

Module Name:

    Refusals.c

Abstract:

    Inputs of which nothing may be read, lists that are refused, and allocations
    that fail.

--*/

#include "TestStringTable.h"

//
// Inputs of length 0 at addresses that cannot be read, and an input at the
// beginning of an unreadable page, which must fault.
//

_Use_decl_annotations_
VOID
TestNothingIsRead(
    PTEST_CONTEXT Context
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

_Use_decl_annotations_
VOID
TestRefusals(
    PTEST_CONTEXT Context
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

_Use_decl_annotations_
VOID
TestAllocationFailures(
    PTEST_CONTEXT Context
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
