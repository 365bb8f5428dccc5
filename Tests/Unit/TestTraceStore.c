/*++

Module Name:

    TestTraceStore.c

Abstract:

    Tests the writer of trace stores through its headers: sessions, the files
    they make, views, the worker, and what happens when the system refuses.

    Records are appended by a routine that does what the hook does.  The RTL
    is a copy whose routines count handles, views and memory, and fail when a
    test asks for it.  What a store should hold comes from elsewhere: the
    files are read through kernel32, the process and the module are described
    by kernel32 and by the bytes of this program's own file.

    Takes long in Debug.

--*/

#include "TestTraceStore/TestTraceStore.h"

//
// Runs the tests of the writer.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    UNREFERENCED_PARAMETER(Allocator);

    TestReal = Rtl;
    TestMainThreadId = GetCurrentThreadId();
    TestMakeCountingRtl();
    if (!TEST(TestCreateDirectory(&TestFolder))) {
        return;
    }

    TestLifeOfAStore();
    TestHeaderFields();
    TestAnchors();
    TestNames();
    TestViewSizes();
    TestFaults(FALSE);
    TestFaults(TRUE);
    TestWorkerPrepares();
    TestWorkerStops();
    TestSlowDisk();
    TestThreads();
    TestManyStores();
    TestProcessExit();
    TestKills();
    TestTerminatedWorkers();
    TestInvariant();
    TestDemand();
    TestSlowViews();
    TestWaits();
    TestFlush();
    TestCoherence();
    TestMaximumBytes();
    TestRings();
    TestCompactStores();
    TestCompactEnds();
    TestCompactWrites();
    TestCompactStops();
    TestCompactFaults();
    TestCompactFlush();
    TestCompactTakesBack();
    TestCompactIncoherent();
    TestCompactKills();
    TestCompactDelays();
    TestCompactThreads();
    TestVolumes();
    TestClockThread();
    TestClockProcessors();
    TestDepths();
    TestLog();
    TestControlRaces();
    TestControlSteps(FALSE);
    TestControlSteps(TRUE);
    TestControlGivenUp();
    TestControlRefused();

    TestDeleteTree(&TestFolder);
}
