/*++

Module Name:

    TestLiveScreen.c

Abstract:

    The screen of TraceReader live: what it draws for a given program, at any
    size; that the control sequences bring a terminal to just that; what keys
    do; and that a terminal is left as it was found.

    A small terminal here follows the sequences by their definition and knows
    nothing of the screen that made them.  A console here has kernel32.dll's
    routines, with control sequences, with cells, or with neither.

--*/

#include "TestLiveScreen/TestLiveScreen.h"

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
    READER_CONSOLE_ROUTINES Routines;

    TestRtl = Rtl;
    TestAllocator = Allocator;
    TEST(LiveLoadConsoleRoutines(Rtl, &Routines));
    TestPutting();
    TestRendering();
    TestMakeModel();
    TestFunctionView();
    TestOtherViews();
    TestNamesOfViews();
    TestRequestsOfViews();
    TestTreeView();
    TestCallersView();
    TestColors();
    TestHelp();
    TestConsoles();
    TestPages();
}
