/*++

Module Name:

    TestAsm.c

Abstract:

    Tests the routines in Asm/ that fill and copy pages, in assembly and in C,
    and the one that touches them.

    The contents are compared with what a loop over bytes makes.  Each range
    stands between addresses that have no memory, so that nothing before or
    after it can be read or written unseen.  The checks are made of routines
    with known faults too, and must find each.

--*/

#include "TestAsm/TestAsm.h"

//
// Runs the tests.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    WCHAR Value[4];

    UNREFERENCED_PARAMETER(Allocator);

    PenterTestRtl = Rtl;
    TestQuick = GetEnvironmentVariableW(L"TRACER_QUICK",
                                        Value,
                                        RTL_NUMBER_OF(Value)) != 0;

    TEST_EQUAL(ASM_FILL_PAGES_STREAM % ASM_PAGE_SIZE, 0);
    TEST_EQUAL(ASM_COPY_PAGES_STREAM % ASM_PAGE_SIZE, 0);
    if (!Rtl->CpuFeatures.Avx2) {
        TEST_SKIP("AsmFillPages and AsmCopyPages: this processor has no AVX2");
        return;
    }

    TestContract();
    TestSizes();
    TestFarAndLarge();
    TestState();
    TestCode();
    TestFaults();
}
