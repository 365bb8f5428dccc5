/*++

Module Name:

    Views.c

Abstract:

    A cursor that was overwritten; how large views are and what it takes to get
    one; what is flushed, what a reader sees, and the most bytes that a store
    keeps.

--*/

#include "TestTraceStore.h"

//
// Nor is what preparing a view took by the machine's speed, where it decides:
// it is set when a store's clocks are read, which comes before the decision.
//

#define TEST_SLOW_TICKS     (1ULL << 40)

//
// A cursor that something in the process has overwritten: the store stops, and
// closing it neither grows the file nor fails.
//

VOID
TestInvariant(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Case;
    ULONG Sequence;

    for (Case = 0; Case < 3; Case += 1) {
        TestNextRoot();
        TestResetCounters();
        if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                            TEST_SMALL_VIEW,
                                            FALSE,
                                            &Session,
                                            &Error))) {
            return;
        }
        if (TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
            Sequence = Store->Header->SequenceNumber;
            TestAppendMany(Store, 0, 100);
            switch (Case) {
            case 0:
                Store->Header->Cursor += 0x100000;
                break;
            case 1:
                Store->Header->Cursor = 0xFFFFFFFFFFFFFFF0;
                break;
            default:
                Store->Header->Cursor = 16;
                Store->Header->Limit = 0;
                break;
            }
            TEST(!TestAppend(Store, 100));
            TEST_EQUAL(Store->Header->State, TRACE_STATE_STOPPED);
            TEST_EQUAL(Store->Header->Reason, TRACE_REASON_INVARIANT);
            TEST_EQUAL(Store->Header->NumberOfEventsLost, 1);
            TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
            TEST(TestReadSessionStore(Session, Sequence, &TestContent));
            TEST(TestContent.FileSize >= TRACE_HEADER_SIZE + 1600 &&
                 TestContent.FileSize <= 0x10000);
            TEST_EQUAL(TestContent.Header.State, TRACE_STATE_STOPPED);
        }
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

//
// Waits until the worker waits for work.
//

static
VOID
TestWaitForRest(
    PTRACE_SESSION Session
    )
{
    ULONG Tries;

    for (Tries = 0;
         Tries < TEST_PATIENCE && !Session->Worker.Waiting;
         Tries += 1) {

        Sleep(1);
    }
}

_Use_decl_annotations_
BOOLEAN
TestOpenSession(
    ULONGLONG MaximumViewSize,
    BOOLEAN Worker,
    PTRACE_SESSION *Session,
    PTRACE_STORE *Store
    )
{
    RTL_ERROR Error;

    TestNextRoot();
    TestResetCounters();
    TestAdvances = 0;
    TestCalled = 0;
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        MaximumViewSize,
                                        Worker,
                                        Session,
                                        &Error))) {
        return FALSE;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(*Session, Store, &Error))) {
        TraceSessionDestroy(*Session, TRACE_REASON_MODULE_UNLOAD);
        return FALSE;
    }
    return TRUE;
}

_Use_decl_annotations_
VOID
TestEndSession(
    PTRACE_SESSION Session
    )
{
    TestRing = NULL;
    TestPacedStore = NULL;
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));
    TestClockStep = 1;
}

//
// A view is as large as what is likely to be needed, and what the file has
// already.
//

VOID
TestDemand(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    LONG Index;
    ULONG Records;

    TEST_EQUAL(TraceAdvanceNextSize(0x2000000, 0x2000000, 0x50000), 0x40000);
    TEST_EQUAL(TraceAdvanceNextSize(0x2000000, 0x2000000, 0x80000), 0x80000);
    TEST_EQUAL(TraceAdvanceNextSize(0x2000000, 0x2000000, 0x7FFFF), 0x40000);
    TEST_EQUAL(TraceAdvanceNextSize(0x40000, 0x2000000, 0x1000000), 0x40000);
    TEST_EQUAL(TraceAdvanceNextSize(0x2000000, 0x2000000, 1), 0x10000);
    TEST_EQUAL(TraceAdvanceNextSize(0x2000000, 0x20000, 0x1000000), 0x20000);

    //
    // A second from one reading to the next: a thread that fills 64 KiB in more
    // than that needs no more.  Then 100 ns: sizes double, once a view has been
    // filled at that speed.
    //

    if (!TestOpenSession(0x400000, FALSE, &Session, &Store)) {
        return;
    }
    TestClockStep = 10000000;
    Records = (ULONG)TEST_RECORDS_IN(0x80000);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(TestNumberOfViews, 8);
    for (Index = 0; Index < 8; Index += 1) {
        TEST_EQUAL(TestViews[Index].SizeInBytes, 0x10000);
    }

    TestClockStep = 1;
    TestAppendMany(Store, Records, (ULONG)TEST_RECORDS_IN(0x220000));
    TEST_EQUAL(TestViews[8].SizeInBytes, 0x10000);
    TEST_EQUAL(TestViews[9].SizeInBytes, 0x10000);
    TEST_EQUAL(TestViews[10].SizeInBytes, 0x80000);
    TEST_EQUAL(TestViews[11].SizeInBytes, 0x100000);
    TestEndSession(Session);
}

//
// A disk that cannot keep pace: views are kept small for a while.
//

VOID
TestSlowViews(
    VOID
    )
{
    static const struct {
        ULONGLONG PrepareTicks;
        ULONGLONG LongestTicks;
        ULONGLONG PreparedInBytes;
        ULONGLONG Ticks;
        ULONGLONG Microseconds;
        BOOLEAN IsSlow;
    } Cases[] = {

        //
        // 2.5 ticks a nanosecond: 1 MiB in 1,048 and 1,049 us.
        //

        { 2620000, 0, 0x100000, 250000000, 100000, FALSE },
        { 2622500, 0, 0x100000, 250000000, 100000, TRUE },
        { 2622500, 0, 0x100000, 500000000, 100000, FALSE },

        //
        // A piece of 10,000 and of 10,001 us.
        //

        { 25000000, 25000000, 0x1000000, 250000000, 100000, FALSE },
        { 25002500, 25002500, 0x1000000, 250000000, 100000, TRUE },

        //
        // Nothing was prepared; the view took no time; it took very long.
        //

        { 0, 0, 0, 250000000, 100000, FALSE },
        { 2622500, 2622500, 0x1000, 0, 0, FALSE },
        { 1ULL << 40, 1ULL << 40, 0x1000, 1ULL << 40, 10000000, TRUE },
        { 1ULL << 40, 1ULL << 40, 0x1000, 1ULL << 40, 10000001, FALSE },
    };

    TRACE_VIEW View;
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONGLONG Largest;
    ULONG Index;
    ULONG Records;
    ULONG Seen;

    RtlZeroBytes(&View, sizeof(View));
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        View.PrepareTicks = Cases[Index].PrepareTicks;
        View.LongestTicks = Cases[Index].LongestTicks;
        View.PreparedInBytes = Cases[Index].PreparedInBytes;
        TEST_EQUAL(TraceAdvanceIsSlow(&View,
                                      Cases[Index].Ticks,
                                      Cases[Index].Microseconds),
                   Cases[Index].IsSlow);
    }

    //
    // What preparing takes is measured: no less than what the system took to
    // write the zeroes, and no piece longer than all.
    //

    if (!TestOpenSession(0x400000, FALSE, &Session, &Store)) {
        return;
    }
    Records = (ULONG)TEST_RECORDS_IN(0x1000000);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(TestWriteView, TestNumberOfViews);
    TEST(TestWriteTicks != 0 &&
         Store->Current.PrepareTicks >= TestWriteTicks);
    TEST(Store->Current.LongestTicks != 0 &&
         Store->Current.LongestTicks <= Store->Current.PrepareTicks);
    TestEndSession(Session);

    //
    // 10 ms from one reading to the next, and preparing took longer.
    //

    if (!TestOpenSession(0x400000, FALSE, &Session, &Store)) {
        return;
    }
    TestPacedStore = Store;
    TestPacedTicks = TEST_SLOW_TICKS;
    TestClockStep = 100000;
    Records = (ULONG)TEST_RECORDS_IN(0x1000000);
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    TEST_EQUAL(Store->SlowViews, 31);
    Largest = 0;
    for (Index = 0; Index < (ULONG)TestNumberOfViews; Index += 1) {
        if (Largest < TestViews[Index].SizeInBytes) {
            Largest = TestViews[Index].SizeInBytes;
        }
    }
    TEST_EQUAL(Largest, 0x200000);

    //
    // 100 ns, and it took nothing: it is believed for 31 views more.  By then
    // 5 ms need views of the largest size.
    //

    TestPacedTicks = 0;
    TestClockStep = 1;
    Seen = (ULONG)TestNumberOfViews;
    for (Index = 0; Index <= 31; Index += 1) {
        TEST_EQUAL(Store->SlowViews, 31 - Index);
        while ((ULONG)TestNumberOfViews <= Seen + Index &&
               TestAppend(Store, Records)) {

            Records += 1;
        }
    }
    TEST_EQUAL(Store->Current.SizeInBytes, 0x400000);
    TestEndSession(Session);
}

//
// What the owner waits for: without a worker everything, and nothing while the
// worker is ahead.
//

VOID
TestWaits(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE_HEADER Header;
    ULONG Worker;
    ULONG Waits;
    ULONG Advances;
    ULONG Last;

    for (Worker = 0; Worker < 2; Worker += 1) {
        if (!TestOpenSession(0x10000, (BOOLEAN)Worker, &Session, &Store)) {
            return;
        }
        Header = Store->Header;
        Last = (ULONG)TEST_RECORDS_IN(0x10000);
        TestAppendMany(Store, 0, Last + 1);

        //
        // In the first view the owner prepares everything.  It waits for
        // nothing where the worker called it, unless for the worker's lock.
        //

        TEST(Worker != 0 || TestCalled == 0);
        TEST(Header->NumberOfWaits <= TestAdvances &&
             Header->NumberOfWaits >= TestAdvances - TestCalled);
        if (Header->NumberOfWaits == TestAdvances) {
            TEST_EQUAL(Header->WaitTicks, Header->InlineTicks);
        } else {
            TEST(Header->WaitTicks < Header->InlineTicks);
        }
        TEST(Header->WaitTicks >= Header->MaximumInlineTicks ||
             TestCalled != 0);

        Waits = (ULONG)Header->NumberOfWaits;
        Advances = TestAdvances;
        for (; Last < (ULONG)TEST_RECORDS_IN(0x80000); Last += 0x1000) {
            if (Worker != 0) {
                TEST(TestWaitForNextView(Store));
                TestWaitForRest(Session);
            }
            TestAppendMany(Store, Last + 1, Last + 0x1001);
        }
        TEST(TestAdvances >= Advances + 7);
        TEST_EQUAL(Header->NumberOfWaits,
                   Waits + (Worker != 0 ? 0 : TestAdvances - Advances));
        TEST_EQUAL(Header->WaitTicks == Header->InlineTicks, Worker == 0);
        TestEndSession(Session);
    }
}

//
// Views that are full are written to the disk if the user asks for it, each
// once and before it is unmapped; a disk that refuses changes nothing.
//

VOID
TestFlush(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Records;
    ULONG Changes;
    ULONG Sequence;

    Records = (ULONG)TEST_RECORDS_IN(0x100000) + 1;
    for (Case = 0; Case < 6; Case += 1) {
        TestOptions.Flush = Case >= 2;
        if (!TestOpenSession(0x20000, Case & 1, &Session, &Store)) {
            return;
        }
        if (Case >= 4) {
            TestFault.Routine = TestRoutineNtFlushVirtualMemory;
            TestFault.Call = 1;
            TestFault.Status = STATUS_IO_DEVICE_ERROR;
            TestFault.Sticky = TRUE;
        }
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        Changes = Store->Header->NumberOfViewChanges;
        TEST(Changes >= 7);
        Sequence = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestCalls[TestRoutineNtFlushVirtualMemory],
                   TestOptions.Flush ? (LONG)Changes - 1 : 0);
        TEST(TestReadSessionStore(Session, Sequence, &TestContent));
        TestCheckContent(Records,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TestEndSession(Session);
    }
}

//
// Pages are prepared by writing where views show what is written, and only
// touched where they do not.
//

VOID
TestCoherence(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Records;
    ULONG Sequence;

    Records = (ULONG)TEST_RECORDS_IN(0x100000);
    for (Case = 0; Case < 4; Case += 1) {
        if (!TestOpenSession(0x20000, Case & 1, &Session, &Store)) {
            return;
        }
        TestSwallowsWrites = Case >= 2;
        TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
        Sequence = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TestSwallowsWrites = FALSE;
        if (Case >= 2) {
            TEST_EQUAL(Session->Coherence, TRACE_COHERENCE_MISSED);
            TEST_EQUAL(TestCalls[TestRoutineNtWriteFile], 2);
        } else {
            TEST_EQUAL(Session->Coherence, TRACE_COHERENCE_SEEN);
            TEST(TestCalls[TestRoutineNtWriteFile] > 2);
        }
        TEST(TestReadSessionStore(Session, Sequence, &TestContent));
        TestCheckContent(Records,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TestEndSession(Session);
    }
}

//
// A store that keeps the first of its bytes.
//

VOID
TestMaximumBytes(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Case;
    ULONG Recorded;
    ULONG Sequence;

    static const struct {
        ULONGLONG MaximumBytes;
        ULONGLONG Used;
        ULONGLONG ViewSize;
    } Cases[] = {
        { 0x100000, 0x100000, 0x10000 },
        { 0x10FFFF, 0x100000, 0x400000 },
        { 0x110000, 0x110000, 0x400000 },
        { 0x17ABCD, 0x170000, 0x40000 },
        { 0x300000, 0x300000, 0x200000 }
    };

    for (Case = 0; Case < 2 * RTL_NUMBER_OF(Cases); Case += 1) {
        TestOptions.MaximumBytes = Cases[Case / 2].MaximumBytes;
        if (!TestOpenSession(Cases[Case / 2].ViewSize,
                             Case & 1,
                             &Session,
                             &Store)) {
            return;
        }
        Recorded = (ULONG)TEST_RECORDS_IN(Cases[Case / 2].Used);
        TEST_EQUAL(TestAppendMany(Store, 0, Recorded + 1000), Recorded);
        TEST_EQUAL(Store->Header->State, TRACE_STATE_STOPPED);
        TEST_EQUAL(Store->Header->Reason, TRACE_REASON_MAXIMUM_BYTES);
        TEST_STATUS((NTSTATUS)Store->Header->Status, STATUS_SUCCESS);
        TEST_EQUAL(Store->Header->NumberOfEventsLost, 1000);
        TEST(TestLargestFile <= Cases[Case / 2].MaximumBytes);
        Sequence = Store->Header->SequenceNumber;
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
        TEST(TestReadSessionStore(Session, Sequence, &TestContent));
        TestCheckContent(Recorded,
                         TRACE_STATE_STOPPED,
                         TRACE_REASON_MAXIMUM_BYTES);
        TEST_EQUAL(TestContent.FileSize, Cases[Case / 2].Used);
        TEST_EQUAL(TestContent.Header.MaximumBytes,
                   Cases[Case / 2].MaximumBytes);
        TestEndSession(Session);
    }
}
