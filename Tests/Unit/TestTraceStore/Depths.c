/*++

Module Name:

    Depths.c

Abstract:

    The depths of a thread's stacks.

--*/

#include "TestTraceStore.h"

//
// The depths of a thread's stacks.
//

static
BOOLEAN
TestFrontDepth(
    PTRACE_STORE Store,
    ULONGLONG StackBase,
    ULONG Count
    )
{
    return TEST_EQUAL(Store->Depth->StackBase, StackBase) &&
           TEST_EQUAL(Store->Depth->Count, Count) &&
           TEST_EQUAL(Store->Depth->Skipped, 0);
}

static
VOID
TestSwitchTo(
    PTRACE_STORE Store,
    ULONGLONG StackBase
    )
{
    ULONGLONG Real;

    Real = __readgsqword(0x08);
    __writegsqword(0x08, StackBase);
    TraceDepthSwitch(Store);
    __writegsqword(0x08, Real);
}

VOID
TestDepths(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE Second;
    PTRACE_DEPTH Depth;
    RTL_ERROR Error;
    ULONGLONG Real;
    ULONG Index;
    LONG Before;

    TestOptions.MaximumDepth = TRACE_MAXIMUM_DEPTH;
    if (!TestOpenSession(0, FALSE, &Session, &Store)) {
        return;
    }
    Real = __readgsqword(0x08);
    TestFrontDepth(Store, Real, 0);
    TEST_EQUAL(Store->Header->MaximumDepth, TRACE_MAXIMUM_DEPTH);
    TEST_EQUAL(Store->Depth->Maximum, TRACE_MAXIMUM_DEPTH);
    Store->Depth->Calls[TRACE_MAXIMUM_DEPTH - 1].Stack = 1;
    Store->Depth->Count = 1;

    //
    // As many stacks as there may be, each of which keeps what it has.
    //

    for (Index = 1; Index < TRACE_DEPTH_STACKS; Index += 1) {
        TestSwitchTo(Store, Real + Index * 0x100000ull);
        TestFrontDepth(Store, Real + Index * 0x100000ull, 0);
        Store->Depth->Count = Index + 1;
    }
    Before = TestCalls[TestRoutineNtAllocateVirtualMemory];
    for (Index = 0; Index < TRACE_DEPTH_STACKS; Index += 1) {
        TestSwitchTo(Store, Real + Index * 0x100000ull);
        TestFrontDepth(Store, Real + Index * 0x100000ull, Index + 1);
    }

    //
    // One more takes the place of the one that was used least recently, which
    // comes back empty in place of the next.
    //

    TestSwitchTo(Store, Real + 1 * 0x100000ull);
    TestSwitchTo(Store, Real + 5000 * 0x100000ull);
    TestFrontDepth(Store, Real + 5000 * 0x100000ull, 0);
    TestSwitchTo(Store, Real);
    TestFrontDepth(Store, Real, 0);
    TestSwitchTo(Store, Real + 1 * 0x100000ull);
    TestFrontDepth(Store, Real + 1 * 0x100000ull, 2);
    TestSwitchTo(Store, Real + 3 * 0x100000ull);
    TestFrontDepth(Store, Real + 3 * 0x100000ull, 4);
    TEST_EQUAL(TestCalls[TestRoutineNtAllocateVirtualMemory], Before);

    Index = 0;
    for (Depth = Store->Depth; Depth != NULL; Depth = Depth->Next) {
        Index += 1;
    }
    TEST_EQUAL(Index, TRACE_DEPTH_STACKS);
    TestEndSession(Session);

    //
    // Without memory the same happens earlier; and a new thread has no store.
    //

    TestOptions.MaximumDepth = 3;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        TestSwitchTo(Store, Real + 0x100000);
        Store->Depth->Count = 2;
        TestFault.Routine = TestRoutineNtAllocateVirtualMemory;
        TestFault.Call = TestCalls[TestRoutineNtAllocateVirtualMemory] + 1;
        TestFault.Status = STATUS_NO_MEMORY;
        TestFault.Sticky = TRUE;
        TestSwitchTo(Store, Real + 0x200000);
        TestFrontDepth(Store, Real + 0x200000, 0);
        TestSwitchTo(Store, Real + 0x100000);
        TestFrontDepth(Store, Real + 0x100000, 2);
        TEST(Store->Depth->Next->Next == NULL);
        TEST_STATUS(TraceStoreOpen(Session, &Second, &Error), STATUS_NO_MEMORY);
        TEST(Error.Step != NULL && Error.Step[0] != '\0');
        TEST_EQUAL(TestListFiles(Session, L"*.trace"), 1);
        TestEndSession(Session);
    }
}
