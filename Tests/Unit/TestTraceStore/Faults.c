/*++

Module Name:

    Faults.c

Abstract:

    Every call of the operating system fails, with the worker and without it.

--*/

#include "TestTraceStore.h"

static const PCSZ TestRoutineNames[] = { TEST_ROUTINES(TEST_ROUTINE_NAME) };

//
// One run in which a call fails: open a store, append, open another one,
// close, destroy.  Whatever fails, the reason is right, what was recorded is
// there, what was not is counted, and nothing is left behind.
//

typedef struct _TEST_RUN {
    ULONGLONG MaximumViewSize;
    ULONG NumberOfRecords;
    BOOLEAN Worker;
} TEST_RUN;
typedef const TEST_RUN *PCTEST_RUN;

//
// What the runs of one routine came to, to see that each outcome was met.
//

typedef struct _TEST_OUTCOMES {
    ULONG NoSession;
    ULONG NoStore;
    ULONG Stopped;
    ULONG Completed;
} TEST_OUTCOMES;

static TEST_OUTCOMES TestOutcomes;

static
BOOLEAN
TestCheckStopped(
    PTRACE_STORE_HEADER Header,
    ULONG Routine,
    NTSTATUS Status,
    ULONG Lost
    )
{
    ULONG Reason;
    BOOLEAN Passed;

    switch (Routine) {
    case TestRoutineNtSetInformationFile:
        Reason = TRACE_REASON_EXTEND_FAILED;
        break;
    case TestRoutineNtWriteFile:
    case TestNumberOfRoutines:
        Reason = TRACE_REASON_PAGE_FAILED;
        break;
    default:
        Reason = TRACE_REASON_MAP_FAILED;
        break;
    }

    Passed = TEST_EQUAL(Header->State, TRACE_STATE_STOPPED);
    Passed = TEST_EQUAL(Header->Reason, Reason) && Passed;
    Passed = TEST_EQUAL(Header->Status, (ULONG)Status) && Passed;
    Passed = TEST(Lost > 0) && Passed;
    return TEST_EQUAL(Header->NumberOfEventsLost, Lost) && Passed;
}

static
BOOLEAN
TestRunWithFault(
    PCTEST_RUN Run
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    PTRACE_STORE Second;
    RTL_ERROR Error;
    NTSTATUS Status;
    ULONG Recorded;
    ULONG Sequence;
    ULONG Routine;
    BOOLEAN Stopped;
    BOOLEAN Passed;
    BOOLEAN ReadOnly;

    Passed = TRUE;
    Session = NULL;
    ReadOnly = TestFault.MapReadOnlyCall != 0;
    Routine = ReadOnly ? TestNumberOfRoutines : TestFault.Routine;

    RtlZeroBytes(&Error, sizeof(Error));
    Status = TestCreateSession(&TestCounting,
                               Run->MaximumViewSize,
                               Run->Worker,
                               &Session,
                               &Error);
    if (!NT_SUCCESS(Status)) {
        TestOutcomes.NoSession += 1;
        Passed = TEST_STATUS(Status, TestFault.Status);
        Passed = TEST(Error.Step != NULL && Error.Step[0] != '\0') && Passed;
        Passed = TEST_STATUS(Error.Status, Status) && Passed;
        return TestCheckBalance() && Passed;
    }

    Status = TraceStoreOpen(Session, &Store, &Error);
    if (!NT_SUCCESS(Status)) {
        TestOutcomes.NoStore += 1;
        if (Routine == TestRoutineNtAllocateVirtualMemory) {
            Passed = TEST_STATUS(Status, STATUS_NO_MEMORY);
        } else if (!ReadOnly) {
            Passed = TEST_STATUS(Status, TestFault.Status);
        }
        Passed = TEST(Error.Step != NULL && Error.Step[0] != '\0') && Passed;
        Passed = TEST_STATUS(Error.Status, Status) && Passed;
        Passed = TEST(Error.ObjectLengthInChars != 0) && Passed;
        TraceLogError(Session, &Error, "a test made it fail");
        Passed = TEST_EQUAL(TestListFiles(Session, L"*.trace"), 0) && Passed;
        goto End;
    }

    Sequence = Store->Header->SequenceNumber;
    Recorded = TestAppendMany(Store, 0, Run->NumberOfRecords);
    Stopped = Store->Header->State == TRACE_STATE_STOPPED;
    if (Stopped) {
        TestOutcomes.Stopped += 1;
        Passed = TEST(Recorded > 0);
        Passed = TestCheckStopped(Store->Header,
                                  Routine,
                                  ReadOnly ?
                                  (NTSTATUS)Store->Header->Status :
                                  TestFault.Status,
                                  Run->NumberOfRecords - Recorded) && Passed;
        Passed = TEST(!NT_SUCCESS((NTSTATUS)Store->Header->Status)) && Passed;
    } else {
        TestOutcomes.Completed += 1;
        Passed = TEST_EQUAL(Recorded, Run->NumberOfRecords);
        Passed = TEST_EQUAL(Store->Header->NumberOfEventsLost, 0) && Passed;
    }

    //
    // The program goes on, and so does tracing where the system lets it.
    //

    Second = NULL;
    Status = TraceStoreOpen(Session, &Second, &Error);
    if (NT_SUCCESS(Status)) {
        Passed = TEST_EQUAL(TestAppendMany(Second, 0, 10), 10) && Passed;
        TraceStoreClose(Second, TRACE_REASON_THREAD_EXIT);
    } else {
        Passed = TEST(TestFault.Fired > 0) && Passed;
    }

    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    Passed = TEST(TestReadSessionStore(Session, Sequence, &TestContent)) &&
             Passed;
    Passed = TestCheckContent(Recorded,
                              Stopped ? TRACE_STATE_STOPPED :
                              TRACE_STATE_CLOSED,
                              Stopped ? TestContent.Header.Reason :
                              TRACE_REASON_THREAD_EXIT) && Passed;
    Passed = TEST_EQUAL(TestContent.Header.NumberOfEventsLost,
                        Run->NumberOfRecords - Recorded) && Passed;

    //
    // The cut at the end is the one call whose failure only costs space.
    //

    if (Routine != TestRoutineNtSetInformationFile ||
        TestFault.Fired == 0 || (Stopped && !TestFault.Sticky)) {

        Passed = TEST_EQUAL(TestContent.FileSize,
                            TRACE_HEADER_SIZE + Recorded * 16ull) && Passed;
    }

End:

    if (Session->LogName.Length != 0 &&
        Session->LogName.Length / sizeof(WCHAR) < RTL_NUMBER_OF(TestText)) {

        RtlCopyBytes(TestText,
                     Session->LogName.Buffer + 4,
                     Session->LogName.Length - 4 * sizeof(WCHAR));
        TestText[Session->LogName.Length / sizeof(WCHAR) - 4] = L'\0';
        DeleteFileW(TestText);
    }
    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    return TestCheckBalance() && Passed;
}

//
// Makes the first, second, third... call of a routine fail until a run does
// not come to the call.
//

static
ULONG
TestFailEveryCall(
    PCTEST_RUN Run,
    ULONG Routine,
    NTSTATUS Status,
    BOOLEAN Sticky
    )
{
    LONG Call;
    BOOLEAN Passed;

    RtlZeroBytes(&TestOutcomes, sizeof(TestOutcomes));
    for (Call = 1; Call < 200; Call += 1) {
        TestNextRoot();
        TestResetCounters();
        if (Routine == TestNumberOfRoutines) {
            TestFault.MapReadOnlyCall = Call;
        } else {
            TestFault.Routine = Routine;
            TestFault.Call = Call;
            TestFault.Status = Status;
            TestFault.Sticky = Sticky;
        }

        Passed = TestRunWithFault(Run);
        if (!Passed) {
            RtlWriteText(TestOutput,
                         "    ... %s, call %d, %s, views of 0x%llx, %s\n",
                         Routine == TestNumberOfRoutines ?
                         "a view without pages" : TestRoutineNames[Routine],
                         Call,
                         Sticky ? "for good" : "once",
                         Run->MaximumViewSize,
                         Run->Worker ? "worker" : "no worker");
        }
        if (TestFault.Fired == 0) {
            break;
        }
    }

    TEST(Call < 200);
    return (ULONG)Call - 1;
}

VOID
TestFaults(
    BOOLEAN Worker
    )
{
    TEST_RUN Small;
    TEST_RUN Large;
    ULONG Sticky;
    ULONG Calls;

    Small.MaximumViewSize = TEST_SMALL_VIEW;
    Small.NumberOfRecords = TEST_RECORDS_IN(0x100000) + 100;
    Small.Worker = Worker;
    Large.MaximumViewSize = 0;
    Large.NumberOfRecords = TEST_RECORDS_IN(0x400000) + 100;
    Large.Worker = Worker;

    for (Sticky = 0; Sticky < 2; Sticky += 1) {

        //
        // 64, 64, 128 KiB, then 256 KiB three times, and one for the last 100
        // records: seven views.  Once more for the second store, and twice to
        // cut.  A run that stops early makes fewer calls, which does not
        // matter: it is the Nth that fails.
        //

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtSetInformationFile,
                                  STATUS_DISK_FULL,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 9);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST(TestOutcomes.Stopped >= 5);

        //
        // The first view is too small for its pages to be written.
        //

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtWriteFile,
                                  STATUS_DISK_FULL,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 6);
        TEST_EQUAL(TestOutcomes.NoStore, 0);
        TEST(TestOutcomes.Stopped >= 5);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateSection,
                                  STATUS_INSUFFICIENT_RESOURCES,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 7);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST(TestOutcomes.Stopped >= 5);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtMapViewOfSection,
                                  STATUS_NO_MEMORY,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 7);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST(TestOutcomes.Stopped >= 5);

        //
        // Large views fall back to any address when the aligned one cannot be
        // had.
        //

        Calls = TestFailEveryCall(&Large,
                                  TestRoutineNtMapViewOfSection,
                                  STATUS_CONFLICTING_ADDRESSES,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 8);

        Calls = TestFailEveryCall(&Large,
                                  TestRoutineNtAllocateVirtualMemory,
                                  STATUS_NO_MEMORY,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 3);
        TEST_EQUAL(TestOutcomes.NoSession, 1);
        TEST_EQUAL(TestOutcomes.NoStore, 1);
        TEST_EQUAL(TestOutcomes.Stopped, 0);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateFile,
                                  STATUS_ACCESS_DENIED,
                                  (BOOLEAN)Sticky);
        TEST(Calls >= 3);
        TEST(TestOutcomes.NoStore >= 2);
        TEST_EQUAL(TestOutcomes.Stopped, 0);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateEvent,
                                  STATUS_INSUFFICIENT_RESOURCES,
                                  (BOOLEAN)Sticky);
        TEST_EQUAL(Calls, Worker ? 3 : 0);
        TEST_EQUAL(TestOutcomes.Completed, Calls + 1);

        Calls = TestFailEveryCall(&Small,
                                  TestRoutineNtCreateThreadEx,
                                  STATUS_ACCESS_DENIED,
                                  (BOOLEAN)Sticky);
        TEST_EQUAL(Calls, Worker ? 1 : 0);
        TEST_EQUAL(TestOutcomes.Completed, Calls + 1);
    }

    Calls = TestFailEveryCall(&Small,
                              TestRoutineNtQueryInformationProcess,
                              STATUS_ACCESS_DENIED,
                              FALSE);

    //
    // Its times, its parent, and its times at the end of each store, without
    // which a store is as good.
    //

    TEST_EQUAL(Calls, 4);
    TEST_EQUAL(TestOutcomes.NoSession, 1);

    //
    // Pages that cannot be had.
    //

    Calls = TestFailEveryCall(&Small, TestNumberOfRoutines, 0, FALSE);
    TEST(Calls >= 7);
    TEST_EQUAL(TestOutcomes.NoStore, 1);
    TEST(TestOutcomes.Stopped >= 5);
}
