/*++

Module Name:

    Threads.c

Abstract:

    Several threads at once, many stores, and the end of the process.

--*/

#include "TestTraceStore.h"

//
// Threads that open, fill and close stores of one session at the same time.
//

#define TEST_THREADS 4
#define TEST_ROUNDS 4
#define TEST_THREAD_RECORDS 150000

static PTRACE_SESSION TestSharedSession;
static volatile LONG TestThreadFailures;

static
DWORD
WINAPI
TestThreadMain(
    PVOID Parameter
    )
{
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Round;
    ULONG Records;

    for (Round = 0; Round < TEST_ROUNDS; Round += 1) {
        if (!NT_SUCCESS(TraceStoreOpen(TestSharedSession, &Store, &Error))) {
            InterlockedIncrement(&TestThreadFailures);
            continue;
        }
        Records = TEST_THREAD_RECORDS - Round * 7000 +
                  (ULONG)(ULONG_PTR)Parameter;
        if (TestAppendMany(Store, 0, Records) != Records) {
            InterlockedIncrement(&TestThreadFailures);
        }
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    }
    return 0;
}

VOID
TestThreads(
    VOID
    )
{
    HANDLE Threads[TEST_THREADS];
    RTL_ERROR Error;
    ULONG Index;
    ULONG Count;
    ULONGLONG Records;
    ULONGLONG Expected;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        TEST_SMALL_VIEW,
                                        TRUE,
                                        &TestSharedSession,
                                        &Error))) {
        return;
    }

    Expected = 0;
    TestThreadFailures = 0;
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      TestThreadMain,
                                      (PVOID)(ULONG_PTR)Index,
                                      0,
                                      NULL);
        for (Count = 0; Count < TEST_ROUNDS; Count += 1) {
            Expected += TEST_THREAD_RECORDS - Count * 7000 + Index;
        }
    }
    TEST_EQUAL(WaitForMultipleObjects(TEST_THREADS,
                                      Threads,
                                      TRUE,
                                      TEST_PATIENCE),
               WAIT_OBJECT_0);
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        CloseHandle(Threads[Index]);
    }
    TEST_EQUAL(TestThreadFailures, 0);

    Records = 0;
    Count = TestListFiles(TestSharedSession, L"*.trace");
    TEST_EQUAL(Count, TEST_THREADS * TEST_ROUNDS);
    for (Index = 0; Index < Count; Index += 1) {
        TEST(TestReadStore(TestSessionPath(TestSharedSession,
                                           TestFileNames[Index]),
                           &TestContent));
        TestCheckContent(TestContent.NumberOfRecords,
                         TRACE_STATE_CLOSED,
                         TRACE_REASON_THREAD_EXIT);
        TEST_EQUAL(TestContent.FileSize, TestContent.End);
        Records += TestContent.NumberOfRecords;
    }
    TEST_EQUAL(Records, Expected);
    TraceSessionDestroy(TestSharedSession, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
}

//
// More stores than one block of them has, all open at once; destroying the
// session closes them.
//

VOID
TestManyStores(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Index;
    ULONG Count;
    ULONG Closed;

    TestNextRoot();
    TestResetCounters();
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0,
                                        TRUE,
                                        &Session,
                                        &Error))) {
        return;
    }

    Count = TRACE_STORES_PER_BLOCK + 10;
    for (Index = 0; Index < Count; Index += 1) {
        if (!TEST_SUCCESS(TraceStoreOpen(Session, &Store, &Error))) {
            break;
        }
        TestAppendMany(Store, 0, Index);
    }
    TEST_EQUAL(TestOpenHandles, Count + 1);
    TEST(Session->Blocks != NULL && Session->Blocks->Next != NULL &&
         Session->Blocks->Next->Next == NULL);

    TestListFiles(Session, L"*.trace");
    RtlCopyBytes(TestUtf8,
                 Session->Directory.Buffer,
                 Session->Directory.Length);
    Closed = TestListFiles(Session, L"*.trace");
    TEST_EQUAL(Closed, Count);

    //
    // A second session of the same process names the same directory.
    //

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
    TestResetCounters();
    if (TEST_SUCCESS(TestCreateSession(&TestCounting,
                                       0,
                                       FALSE,
                                       &Session,
                                       &Error))) {

        Closed = 0;
        for (Index = 0; Index < Count; Index += 1) {
            if (TestReadStore(TestSessionPath(Session, TestFileNames[Index]),
                              &TestContent) &&
                TestContent.Header.State == TRACE_STATE_CLOSED &&
                TestContent.Header.Reason == TRACE_REASON_MODULE_UNLOAD &&
                TestContent.NumberOfGoodRecords ==
                TestContent.NumberOfRecords &&
                TestContent.FileSize == TestContent.End) {

                Closed += 1;
            }
        }
        TEST_EQUAL(Closed, Count);
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    }
    TestCheckBalance();
}

//
// Process exit: nothing is waited for, even if a thread that was killed held a
// lock, or was closing its store; the calling thread may go on.
//

VOID
TestProcessExit(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Own;
    PTRACE_STORE Other;
    RTL_ERROR Error;
    ULONG OwnSequence;
    ULONG OtherSequence;
    ULONG CloseOwn;
    ULONG Kind;

    for (Kind = 0; Kind < 4; Kind += 1) {
        CloseOwn = Kind & 1;
        TestNextRoot();
        TestResetCounters();
        if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                            TEST_SMALL_VIEW,
                                            FALSE,
                                            &Session,
                                            &Error))) {
            return;
        }
        Own = NULL;
        Other = NULL;
        if (!TEST_SUCCESS(TraceStoreOpen(Session, &Own, &Error)) ||
            !TEST_SUCCESS(TraceStoreOpen(Session, &Other, &Error))) {

            TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
            return;
        }
        OwnSequence = Own->Header->SequenceNumber;
        OtherSequence = Other->Header->SequenceNumber;
        TestAppendMany(Own, 0, 5000);
        TestAppendMany(Other, 0, 7000);

        Other->WorkLock = 1;
        Own->WorkLock = 1;
        Other->WorkerBusy = TRACE_WORKER_MAPS;
        Own->WorkerBusy = TRACE_WORKER_MAPS;
        if (Kind >= 2) {
            Other->Use = TRACE_STORE_CLOSING;
            TraceStoreClose(Other, TRACE_REASON_THREAD_EXIT);
            TEST_EQUAL(Other->Header->State, TRACE_STATE_OPEN);
        }
        TraceSessionProcessExit(Session, Own, (BOOLEAN)CloseOwn);

        TEST(TestReadSessionStore(Session, OtherSequence, &TestContent));
        TestCheckContent(7000, TRACE_STATE_CLOSED, TRACE_REASON_PROCESS_EXIT);
        TEST(TestReadSessionStore(Session, OwnSequence, &TestContent));
        TestCheckContent(5000, TRACE_STATE_CLOSED, TRACE_REASON_PROCESS_EXIT);

        if (!CloseOwn) {
            TEST_EQUAL(TestAppendMany(Own, 5000, 40000), 35000);
            TEST(TestReadSessionStore(Session, OwnSequence, &TestContent));
            TestCheckContent(40000,
                             TRACE_STATE_CLOSED,
                             TRACE_REASON_PROCESS_EXIT);
        }
        TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
        TestCheckBalance();
    }
}
