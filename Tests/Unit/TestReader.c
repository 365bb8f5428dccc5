/*++

Module Name:

    TestReader.c

Abstract:

    Tests the reader on stores that are made here, byte by byte, with what
    must come out stated by hand: validation, pairing, the live end, the
    clock, sessions, and the commands' output to the letter.

    Damage is done in every place that a reader looks at; each kind has a
    control that the same store without it is good.  Commands run inside this
    program, so that every allocation of theirs can be counted and made to
    fail.

--*/

#include "TestReader/TestReader.h"

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
    TestRtl = Rtl;
    TestHeap = Allocator;
    TestFailFrom = ~0ULL;
    TestRandomState = 20240229;
    TestContext.Rtl = Rtl;
    TestContext.Allocator = &TestCountingAllocator;
    TestContext.Output = &TestOut;
    TestContext.Errors = &TestErr;

    TestHeaders();
    TestRecords();
    TestPairing();
    TestClocks();
    TestLiveEnds();
    TestColumns();

    if (!TEST(TestCreateDirectory(&TestFolder))) {
        return;
    }

    TestCommands();
    TestClockKinds();
    TestRings();
    TestCompactStores();
    TestOvertakenTallies(FALSE);
    TestOvertakenTallies(TRUE);
    TestOvertaking();
    TestTails();
    TestFilters();
    TestUsage();
    TestDamage();
    TestMixedSessions();
    TestGrowing();
    TestCutOff();
    TestCutBetween();
    TestFailures();
    TestRandomDamage();

    TEST_SUCCESS(TestDeleteTree(&TestFolder));
}
