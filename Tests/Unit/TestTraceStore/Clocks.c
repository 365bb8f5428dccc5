/*++

Module Name:

    Clocks.c

Abstract:

    The clock of a thread's own time, and the clocks of processors.

--*/

#include "TestTraceStore.h"

//
// The clock thread.
//

VOID
TestClockThread(
    VOID
    )
{
    static ULONGLONG volatile Place;
    static TRACE_STORE_HEADER Header;
    static CONTEXT Context;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONGLONG Freezes;
    ULONGLONG First;
    ULONGLONG Frozen;
    ULONG Call;
    ULONG Tries;

    //
    // It may not be started; or cannot be: the worker, the clock, its events.
    //

    TestOptions.Clock = TRACE_CLOCK_THREAD;
    if (TestOpenSession(0, FALSE, &Session, &Store)) {
        TEST_STATUS(TraceClockStart(Session, &Place), STATUS_NOT_SUPPORTED);
        TEST(Session->Clock.Place == NULL);
        TEST_EQUAL(Store->Header->Clock, TRACE_CLOCK_TSC);
        TestEndSession(Session);
    }

    for (Call = 1; Call <= 5; Call += 1) {
        if (!TestOpenSession(0, TRUE, &Session, &Store)) {
            return;
        }
        TestFault.Routine = Call <= 2 ? TestRoutineNtCreateThreadEx :
                                        TestRoutineNtCreateEvent;
        TestFault.Call = Call <= 2 ? (LONG)Call : (LONG)Call + 1;
        TestFault.Status = STATUS_QUOTA_EXCEEDED;
        TEST_STATUS(TraceClockStart(Session, &Place),
                    Call == 1 ? STATUS_NOT_SUPPORTED : STATUS_QUOTA_EXCEEDED);
        TEST(Session->Clock.Place == NULL);
        TEST_EQUAL(Session->Template->Clock, TRACE_CLOCK_TSC);
        TestEndSession(Session);
    }

    //
    // One that never begins: its clock stands still from the start.
    //

    if (TestOpenSession(0, TRUE, &Session, &Store)) {
        TraceThreadRequest(Session);
        TestKeepsSuspended = TRUE;
        Place = 0;
        TEST_SUCCESS(TraceClockStart(Session, &Place));
        TestKeepsSuspended = FALSE;
        First = Place;
        TEST(First != 0);
        Sleep(5);
        RtlZeroBytes(&Header, sizeof(Header));
        TraceClockDescribe(Session, &Header);
        TEST_EQUAL(Place, First);
        TEST_EQUAL(Header.ClockResolution, 0);
        TEST_EQUAL(Header.NumberOfClockFreezes, 1);
        TEST(Header.MaximumClockStep > 0);
        TestEndSession(Session);
    }

    //
    // One that goes.
    //

    if (!TestOpenSession(0, TRUE, &Session, &Store)) {
        return;
    }
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST_SUCCESS(TraceClockStart(Session, &Place));
    First = Place;
    for (Tries = 0; Tries < TEST_PATIENCE; Tries += 1) {
        if (*(ULONGLONG volatile *)&Session->Clock.Resolution != 0 &&
            Place > First) {

            break;
        }
        Sleep(1);
    }
    TEST(Tries < TEST_PATIENCE);
    TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
    TEST_EQUAL(Store->Header->Clock, TRACE_CLOCK_THREAD);
    TEST_EQUAL(Store->Header->ClockResolution, Session->Clock.Resolution);
    TEST(Session->Clock.Resolution % 16 == 0);

    //
    // It is held up, and let go.
    //

    //
    // Whoever has its context knows that it stands still.
    //

    TEST(SuspendThread(Session->ClockWorker.Thread) != (DWORD)-1);
    RtlZeroBytes(&Context, sizeof(Context));
    Context.ContextFlags = CONTEXT_CONTROL;
    TEST(GetThreadContext(Session->ClockWorker.Thread, &Context));
    Freezes = Session->Clock.NumberOfFreezes;
    Frozen = Place;
    Sleep(30);
    TraceClockDescribe(Session, Store->Header);
    TEST_EQUAL(Place, Frozen);
    TEST_EQUAL(Store->Header->NumberOfClockFreezes, Freezes + 1);
    TEST(Store->Header->MaximumClockStep >
         Session->Clock.Resolution * TRACE_CLOCK_FREEZE);
    TEST(Store->Header->MaximumClockStep <= __rdtsc() - Frozen);
    TEST(ResumeThread(Session->ClockWorker.Thread) != (DWORD)-1);
    for (Tries = 0; Tries < TEST_PATIENCE; Tries += 1) {
        if (*(ULONGLONG volatile *)&Session->Clock.NumberOfFreezes > Freezes &&
            *(ULONGLONG volatile *)&Session->Clock.MaximumStep >=
                Store->Header->MaximumClockStep) {
            break;
        }
        Sleep(1);
    }
    TEST(Session->Clock.NumberOfFreezes >= Freezes + 1);
    TEST(Session->Clock.MaximumStep >= Store->Header->MaximumClockStep);
    TEST(Place > Frozen);

    TEST_EQUAL(TestAppendMany(Store, 0, 100), 100);
    TestEndSession(Session);

    First = Place;
    Sleep(5);
    TEST_EQUAL(Place, First);
}

//
// Who prepares the views while the clock thread runs: the worker, where there
// is a processor left for it.
//

VOID
TestClockProcessors(
    VOID
    )
{
    static const struct {
        ULONG_PTR Processors;
        NTSTATUS Status;
        BOOLEAN WorkerPrepares;
    } Cases[] = {
        { 0x1, STATUS_SUCCESS, FALSE },
        { 0x3, STATUS_SUCCESS, FALSE },
        { 0x8000000000000001ULL, STATUS_SUCCESS, FALSE },
        { 0x7, STATUS_SUCCESS, TRUE },
        { 0xFFFFFFFFFFFFFFFFULL, STATUS_SUCCESS, TRUE },
        { 0, STATUS_SUCCESS, TRUE },
        { 0x3, STATUS_ACCESS_DENIED, TRUE },
    };

    static ULONGLONG volatile Place;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Index;

    TestOptions.Clock = TRACE_CLOCK_THREAD;
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        if (!TestOpenSession(0x100000, TRUE, &Session, &Store)) {
            return;
        }
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(Session->WorkerPrepares);

        TestProcessors = Cases[Index].Processors;
        if (!NT_SUCCESS(Cases[Index].Status)) {
            TestFault.Routine = TestRoutineNtQueryInformationProcess;
            TestFault.Call =
                TestCalls[TestRoutineNtQueryInformationProcess] + 1;
            TestFault.Status = Cases[Index].Status;
        }
        TEST_SUCCESS(TraceClockStart(Session, &Place));
        TestFault.Call = 0;
        TEST_EQUAL(Session->WorkerPrepares, Cases[Index].WorkerPrepares);

        //
        // Twenty views of a megabyte.
        //

        TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error));
        TEST_EQUAL(TestAppendMany(Store, 0, 20 * 65536), 20 * 65536);
        if (!Cases[Index].WorkerPrepares) {
            TEST_EQUAL(Store->Header->NumberOfViewsMappedInline,
                       Store->Header->NumberOfViewChanges);
            TEST(Store->Next.Base == NULL);
            TEST(Store->Retired[0] == NULL);
        }
        TestEndSession(Session);
    }
}
