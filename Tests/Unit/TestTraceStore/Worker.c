/*++

Module Name:

    Worker.c

Abstract:

    The worker prepares views, stops, and meets a disk that is slow.

--*/

#include "TestTraceStore.h"

_Use_decl_annotations_
BOOLEAN
TestWaitForNextView(
    PTRACE_STORE Store
    )
{
    ULONG Tries;

    for (Tries = 0; Tries < TEST_PATIENCE; Tries += 1) {
        if (*(PBYTE volatile *)&Store->Next.Base != NULL &&
            *(ULONGLONG volatile *)&Store->Next.PreparedInBytes ==
            Store->Next.SizeInBytes) {

            return TRUE;
        }
        Sleep(1);
    }
    return FALSE;
}

//
// The worker prepares views before they are needed: a thread that gives it
// time maps nothing and prepares nothing itself.
//

VOID
TestWorkerPrepares(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Records;
    ULONG Sequence;
    ULONG Views;
    ULONG Mapped;
    ULONG Prepared;
    ULONGLONG Size;
    PVOID Base;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0x100000,
                                        TRUE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
        goto End;
    }

    //
    // No worker for a thread that makes few calls.
    //

    Records = (ULONG)TEST_RECORDS_IN(0x10000);
    TestAppendMany(Store, 0, Records);
    TEST_EQUAL(TestCalls[TestRoutineNtCreateThreadEx], 0);
    TEST_EQUAL(Session->Worker.State, TRACE_WORKER_NONE);

    TestAppend(Store, Records);
    Records += 1;
    TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, 1);
    TEST_EQUAL(TestCalls[TestRoutineNtCreateThreadEx], 1);
    TEST_EQUAL(Session->Worker.State, TRACE_WORKER_RUNNING);

    Size = 0x20000;
    for (Views = 0; Views < 8; Views += 1) {
        if (!TEST(TestWaitForNextView(Store))) {
            goto End;
        }
        TEST(Session->Worker.ThreadId != 0 &&
             Session->Worker.ThreadId != GetCurrentThreadId());
        Base = Store->Next.Base;
        Mapped = Store->Header->NumberOfViewsMappedInline;

        //
        // To the end of the current view.  What the worker had not prepared
        // when the view was switched to was prepared by it afterwards, so that
        // the thread is the one to do it only if it was faster: here it waited.
        //

        TestAppendMany(Store, Records, (ULONG)TEST_RECORDS_IN(Size));
        Records = (ULONG)TEST_RECORDS_IN(Size);
        Prepared = Store->Header->NumberOfInlinePreparations;
        TestAppend(Store, Records);
        Records += 1;
        TEST_EQUAL(Store->Current.Base, Base);
        TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, Mapped);
        TEST_EQUAL(Store->Header->NumberOfInlinePreparations, Prepared);
        Size += Store->Current.SizeInBytes;
    }
    TEST_EQUAL(Store->Header->NumberOfViewsMappedInline, 1);
    TEST_EQUAL(Store->Header->NumberOfViewChanges, 9);

    //
    // The views that are full are unmapped by the worker: what stays is the
    // first one, the current and the next.
    //

    TEST(TestWaitForNextView(Store));
    for (Views = 0; Views < 10000 && TestCountLiveViews() > 3; Views += 1) {
        Sleep(1);
    }
    TEST_EQUAL(TestCountLiveViews(), 3);

    Sequence = Store->Header->SequenceNumber;
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(Records, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize, TRACE_HEADER_SIZE + Records * 16ull);

End:

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// The worker is stopped at any moment of its work, and the thread goes on
// without it.
//

VOID
TestWorkerStops(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Round;
    ULONG First;
    ULONG Last;
    ULONG Sequence;

    TestNextRoot();
    for (Round = 0; Round < 40; Round += 1) {
        TestResetCounters();
        if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                            0,
                                            TRUE,
                                            &Session,
                                            &Error))) {
            return;
        }
        if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
            TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
            return;
        }

        //
        // A different number of records each time: the worker is mapping,
        // preparing, unmapping or waiting.
        //

        First = (ULONG)TEST_RECORDS_IN(0x10000) + 1 + Round * 4001;
        Last = First;
        TestAppendMany(Store, 0, First);
        if (Round % 2 == 0) {
            TraceThreadStop(Session, &Session->Worker);
            TEST(Session->Worker.State == TRACE_WORKER_REFUSED);
            Last = First + 60000;
            TestAppendMany(Store, First, Last);
        }
        Sequence = Store->Header->SequenceNumber;
        if (Round % 4 < 2) {
            TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
            TEST(TestReadSessionStore(Session, Sequence, &TestContent));
            TestCheckContent(Last,
                             TRACE_STATE_CLOSED,
                             TRACE_REASON_THREAD_EXIT);
        }
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}

//
// A store is closed while the worker is in the middle of extending its file,
// on a disk that takes a second for that.  The next store gets the memory, and
// maybe the handle, of the first one: the worker must not touch it.
//

VOID
TestSlowDisk(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE First;
    PTRACE_STORE Second;
    RTL_ERROR Error;
    ULONG Sequence;
    ULONG SecondSequence;
    ULONG Records;
    ULONG Tries;
    LONG Calls;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        TEST_SMALL_VIEW,
                                        TRUE,
                                        &Session,
                                        &Error))) {
        return;
    }
    if (!TEST_SUCCESS(TraceStoreOpen(Session, &First, &Error))) {
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        return;
    }

    //
    // Into the second view, which wakes the worker: it prepares that view, and
    // then extends the file for the third.
    //

    TestDelayMilliseconds = 1000;
    Calls = TestCalls[TestRoutineNtSetInformationFile];
    Records = (ULONG)TEST_RECORDS_IN(0x10000) + 1;
    TestAppendMany(First, 0, Records);
    Sequence = First->Header->SequenceNumber;
    Calls += 1;                             // the second view, by this thread
    for (Tries = 0;
         Tries < TEST_PATIENCE &&
         TestCalls[TestRoutineNtSetInformationFile] == Calls;
         Tries += 1) {

        Sleep(1);
    }
    TEST(Tries < TEST_PATIENCE);
    TraceStoreClose(First, TRACE_REASON_THREAD_EXIT);

    if (TEST_SUCCESS(TraceStoreOpen(Session, &Second, &Error))) {
        SecondSequence = Second->Header->SequenceNumber;
        TestAppendMany(Second, 0, 10);
        Sleep(1500);
        TEST(TestReadSessionStore(Session, SecondSequence, &TestContent));
        TestCheckContent(10, TRACE_STATE_OPEN, TRACE_REASON_NONE);
        TEST_EQUAL(TestContent.FileSize, 0x10000);
        TEST(Second->Next.Base == NULL);
        TestDelayMilliseconds = 0;
        TraceStoreClose(Second, TRACE_REASON_THREAD_EXIT);
        TEST(TestReadSessionStore(Session, SecondSequence, &TestContent));
        TestCheckContent(10, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestContent.FileSize, TestContent.End);
    }

    TEST(TestReadSessionStore(Session, Sequence, &TestContent));
    TestCheckContent(Records, TRACE_STATE_CLOSED, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(TestContent.FileSize, TestContent.End);
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}
