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

#include "TestStringTable/TestStringTable.h"

//
// The readable memory for inputs, with an unreadable page on either side.
// The longest prefix has 65,534 bytes.
//

#define TEST_INPUT_PAGES 20

//
// The pattern that many prefixes and inputs are cut from.
//

#define TEST_PATTERN_IN_BYTES (68 * 1024)

const TEST_VARIANT TestVariants[TEST_VARIANTS] = {
    { STRING_TABLE_SCALAR, 0 },
    { STRING_TABLE_SSE42, 0 },
    { STRING_TABLE_AVX2, STRING_TABLE_NO_ASSEMBLY },
    { STRING_TABLE_AVX2, 0 },
    { STRING_TABLE_AVX512, 0 }
};

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
