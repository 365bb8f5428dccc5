/*++

Module Name:

    PenterThreadSupport.c

Abstract:

    TestPenter's children that record on many threads, on threads that make
    calls after their store was closed, on threads that are killed, and on
    fibers.

--*/

#include "PenterStoreSupport.h"

#define TEST_THREADS            64
#define TEST_THREAD_PAIRS       10000
#define TEST_THREAD_PAIRS_QUICK 1000
#define TEST_ENDING_THREADS     8
#define TEST_KILLED_THREADS     8
#define TEST_FIBERS             3

typedef struct _TEST_THREAD {
    HANDLE Handle;
    HANDLE Start;
    ULONG ThreadId;
    ULONG Number;
    ULONG_PTR Rsp;
    volatile LONG Progress;
    ULONG NumberOfStores;
    ULONGLONG NumberOfRecords;
} TEST_THREAD;
typedef TEST_THREAD *PTEST_THREAD;

static TEST_THREAD TestThreads[TEST_THREADS];
static ULONG TestFlsIndex[2];
static volatile LONG TestFlsCalls;

//
// Tells how many pairs of calls a thread makes.
// Returns the number.
//

static
ULONGLONG
PenterTestThreadPairs(
    VOID
    )
{
    return PenterTestQuick ? TEST_THREAD_PAIRS_QUICK : TEST_THREAD_PAIRS;
}

//
// Tells which pair of hooks a thread calls: _penter and _pexit, or the hooks
// of -finstrument-functions, whose site is the thread's own.
// Returns the index of the first one.
//

static
ULONG
PenterTestThreadHooks(
    _In_ ULONG Number
    )
{
    return (Number & 1) != 0 ? 4 : 0;
}

//
// Makes its pairs of calls when all the threads are there.
// Returns 0.
//

static
DWORD
WINAPI
PenterTestPairThread(
    _In_ PVOID Argument
    )
{
    PTEST_THREAD Thread;
    ULONG Hooks;

    Thread = (PTEST_THREAD)Argument;
    Hooks = PenterTestThreadHooks(Thread->Number);
    WaitForSingleObject(Thread->Start, INFINITE);
    Thread->Rsp = HookRepeatPair(TestHooks[Hooks].Routine,
                                 TestHooks[Hooks + 1].Routine,
                                 PenterTestThreadPairs(),
                                 0x40000000 + Thread->Number);

    return 0;
}

//
// Compares a store with what its thread called.
//

static
VOID
PenterTestCheckThread(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
{
    PTEST_THREAD Thread;
    TEST_SEGMENT Segment;
    TEST_MATCH Match;
    ULONG Index;
    ULONG Hooks;

    UNREFERENCED_PARAMETER(Context);

    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        if (TestThreads[Index].ThreadId == Header->ThreadId) {
            break;
        }
    }
    if (!TEST(Index < TEST_THREADS)) {
        return;
    }

    Thread = &TestThreads[Index];
    Thread->NumberOfStores += 1;
    Hooks = PenterTestThreadHooks(Thread->Number);
    PenterTestSetPairSegment(&Segment,
                             &TestHooks[Hooks],
                             &TestHooks[Hooks + 1],
                             PenterTestThreadPairs() -
                             Header->NumberOfCallsTakenBack,
                             0x40000000 + Thread->Number,
                             Thread->Rsp);
    TEST(PenterTestMatchRecords(File,
                                Header,
                                &Segment,
                                1,
                                0,
                                ~0ULL,
                                &Match));
    TEST_EQUAL(Match.NumberOfRecords, Match.NumberExpected);
    TEST_EQUAL(Header->State, TRACE_STATE_CLOSED);
    TEST_EQUAL(Header->Reason, TRACE_REASON_THREAD_EXIT);
    TEST_EQUAL(Header->NumberOfEventsLost, 0);
    TEST_EQUAL(Header->NumberOfEventsTooDeep, 0);
    TEST(Header->MinimumDuration != 0 || Header->NumberOfCallsTakenBack == 0);
    TEST_EQUAL(SizeInBytes,
               TRACE_HEADER_SIZE + Match.NumberOfRecords * TRACE_RECORD_SIZE);
}

//
// The child "threads": many threads record at once, and each one's file has
// its records and no others. None has recorded before: they also race for the
// first call of the process.
//

VOID
PenterTestThreads(
    VOID
    )
{
    static TEST_PATH Root;
    HANDLE Start;
    ULONG Index;

    PenterTestTakeSlots();
    Start = CreateEventW(NULL, TRUE, FALSE, NULL);
    TEST(Start != NULL);
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        TestThreads[Index].Number = Index;
        TestThreads[Index].Start = Start;
        TestThreads[Index].Handle =
            CreateThread(NULL,
                         0,
                         PenterTestPairThread,
                         &TestThreads[Index],
                         0,
                         (LPDWORD)&TestThreads[Index].ThreadId);
        TEST(TestThreads[Index].Handle != NULL);
    }

    SetEvent(Start);
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        WaitForSingleObject(TestThreads[Index].Handle, INFINITE);
        CloseHandle(TestThreads[Index].Handle);
    }

    TEST(PenterTestSessionRoot(&Root));
    TEST_EQUAL(PenterTestEnumerateStores(&Root, PenterTestCheckThread, NULL),
               TEST_THREADS);
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        TEST_EQUAL(TestThreads[Index].NumberOfStores, 1);
    }
}

//
// Makes calls while its thread ends, before or after the library has closed
// the thread's store.
// Value: the number of calls.
//

static
VOID
NTAPI
PenterTestFlsCallback(
    _In_ PVOID Value
    )
{
    HookRepeat(_pexit, (ULONG_PTR)Value, 0);
    InterlockedIncrement(&TestFlsCalls);
}

//
// Makes calls, and leaves behind callbacks that make more.
// Returns 0.
//

static
DWORD
WINAPI
PenterTestEndingThread(
    _In_ PVOID Argument
    )
{
    UNREFERENCED_PARAMETER(Argument);

    PenterTestRtl->FlsSetValue(TestFlsIndex[0], (PVOID)7);
    PenterTestRtl->FlsSetValue(TestFlsIndex[1], (PVOID)11);
    HookRepeat(_penter, 100, 0);
    return 0;
}

VOID
PenterTestReattach(
    VOID
    )
{
    static TEST_PATH Root;
    HANDLE Thread;
    ULONG Index;
    ULONGLONG Calls;

    PenterTestTakeSlots();

    //
    // One callback on either side of the library's own.
    //

    TestFlsIndex[0] = PenterTestRtl->FlsAlloc(PenterTestFlsCallback);
    HookRepeat(_penter, 1, 0);
    TestFlsIndex[1] = PenterTestRtl->FlsAlloc(PenterTestFlsCallback);
    Calls = 1;

    for (Index = 0; Index < TEST_ENDING_THREADS; Index += 1) {
        Thread = CreateThread(NULL, 0, PenterTestEndingThread, NULL, 0, NULL);
        TEST(Thread != NULL);
        WaitForSingleObject(Thread, INFINITE);
        CloseHandle(Thread);
        Calls += 118;
    }
    TEST_EQUAL(TestFlsCalls, 2 * TEST_ENDING_THREADS);

    //
    // The same on this thread, by calling what the system calls.
    //

    for (Index = 0; Index < 20; Index += 1) {
        PenterThreadExit();
        PenterThreadExit();
        HookRepeat(_penter, Index + 1, 0);
        Calls += Index + 1;
    }

    TEST(PenterTestSessionRoot(&Root));
    TEST_EQUAL(PenterTestSumRecords(&Root), Calls);
}

//
// Makes calls until it is killed.
// Returns none; it does not return.
//

static
DWORD
WINAPI
PenterTestKilledThread(
    _In_ PVOID Argument
    )
{
    PTEST_THREAD Thread;

    Thread = (PTEST_THREAD)Argument;
    for (;;) {
        Thread->Rsp = HookRepeatPair(_penter, _pexit, 50, 0);
        InterlockedIncrement(&Thread->Progress);
    }
}

//
// Checks what a killed thread has left: every record but perhaps the last is
// whole.
// Context: the number of killed threads' stores seen.
// File, Header, SizeInBytes: the store.
//

static
VOID
PenterTestCheckKilled(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
{
    TEST_SEGMENT Segment;
    TEST_MATCH Match;
    ULONG Index;

    UNREFERENCED_PARAMETER(SizeInBytes);

    for (Index = 0; Index < TEST_KILLED_THREADS; Index += 1) {
        if (TestThreads[Index].ThreadId == Header->ThreadId) {
            break;
        }
    }
    if (Index == TEST_KILLED_THREADS) {
        return;
    }

    *(PULONG)Context += 1;
    PenterTestSetPairSegment(&Segment,
                             &TestHooks[0],
                             &TestHooks[1],
                             PenterTestNumberOfRecords(Header) / 2 + 1,
                             0,
                             TestThreads[Index].Rsp);
    (VOID)PenterTestMatchRecords(File,
                                 Header,
                                 &Segment,
                                 1,
                                 0,
                                 ~0ULL,
                                 &Match);
    TEST(Match.FirstDifference == ~0ULL ||
         Match.FirstDifference == Match.NumberOfRecords - 1);
    TEST(Match.NumberOfRecords >=
         100 * (ULONGLONG)(ULONG)TestThreads[Index].Progress);
    TEST(Match.NumberOfRecords <=
         100 * ((ULONGLONG)(ULONG)TestThreads[Index].Progress + 2));
}

//
// Kills a thread at an instruction of this image.
//
// Under Wine 8 a thread that is killed inside one of the system's routines may
// leave Wine's own locks behind, which stops the whole process: no program can
// do that and go on. So the thread is suspended until it is found in the
// hooks, in the library or in the loop that calls them.
//
// Returns TRUE if it was killed.
//

static
BOOLEAN
PenterTestKillThread(
    _In_ HANDLE Thread
    )
{
    extern IMAGE_DOS_HEADER __ImageBase;
    PIMAGE_NT_HEADERS64 NtHeaders;
    ULONG_PTR Base;
    CONTEXT Context;
    BOOLEAN Killed;

    Base = (ULONG_PTR)&__ImageBase;
    NtHeaders = (PIMAGE_NT_HEADERS64)(Base + __ImageBase.e_lfanew);
    for (;;) {
        if (SuspendThread(Thread) == (DWORD)-1) {
            return FALSE;
        }
        Context.ContextFlags = CONTEXT_CONTROL;
        if (GetThreadContext(Thread, &Context) &&
            Context.Rip - Base < NtHeaders->OptionalHeader.SizeOfImage) {

            Killed = TerminateThread(Thread, 1) ? TRUE : FALSE;
            WaitForSingleObject(Thread, INFINITE);
            return Killed;
        }
        ResumeThread(Thread);
        PenterTestRtl->NtYieldExecution();
    }
}

VOID
PenterTestTerminate(
    VOID
    )
{
    static TEST_PATH Root;
    PTEST_THREAD Thread;
    ULONG Index;
    ULONG Seen;

    HookRepeat(_penter, 10, 0);

    for (Index = 0; Index < TEST_KILLED_THREADS; Index += 1) {
        Thread = &TestThreads[Index];
        Thread->Handle = CreateThread(NULL,
                                      0,
                                      PenterTestKilledThread,
                                      Thread,
                                      0,
                                      (LPDWORD)&Thread->ThreadId);
        TEST(Thread->Handle != NULL);
    }

    for (Index = 0; Index < TEST_KILLED_THREADS; Index += 1) {
        Thread = &TestThreads[Index];
        while (Thread->Progress < (LONG)(100 + 37 * Index)) {
            PenterTestRtl->NtYieldExecution();
        }
        TEST(PenterTestKillThread(Thread->Handle));
        HookRepeat(_pexit, 10, 0);
    }

    TEST(PenterTestSessionRoot(&Root));
    Seen = 0;
    PenterTestEnumerateStores(&Root, PenterTestCheckKilled, &Seen);
    TEST_EQUAL(Seen, TEST_KILLED_THREADS);
    TEST_EQUAL(PenterTestNumberOfRecords(PenterTestContext()),
               10 + 10 * TEST_KILLED_THREADS);
}

//
// Fibers.
//

static PVOID TestThreadFiber;
static volatile LONG TestFiberCalls;

//
// A fiber that makes calls each time it is switched to.
// Argument: the number of calls each time.
// Returns none; it does not return.
//

static
VOID
WINAPI
PenterTestFiber(
    _In_ PVOID Argument
    )
{
    for (;;) {
        HookRepeatPair(_penter, _pexit, (ULONG_PTR)Argument, 0);
        TestFiberCalls += 2 * (LONG)(ULONG_PTR)Argument;
        SwitchToFiber(TestThreadFiber);
    }
}

//
// Makes calls from fibers. If Argument is not NULL the first one of the thread
// comes from a fiber that is deleted later.
// Returns 0.
//

static
DWORD
WINAPI
PenterTestFiberThread(
    _In_ PVOID Argument
    )
{
    PVOID Fibers[TEST_FIBERS];
    ULONG Index;
    ULONG Round;

    TestThreadFiber = ConvertThreadToFiber(NULL);
    TEST(TestThreadFiber != NULL);

    for (Index = 0; Index < TEST_FIBERS; Index += 1) {
        Fibers[Index] = CreateFiber(0,
                                    PenterTestFiber,
                                    (PVOID)(ULONG_PTR)(100 + Index));
        TEST(Fibers[Index] != NULL);
    }

    if (Argument == NULL) {
        HookRepeat(_penter, 5, 0);
        TestFiberCalls += 5;
    }

    for (Round = 0; Round < 20; Round += 1) {
        for (Index = 0; Index < TEST_FIBERS; Index += 1) {
            SwitchToFiber(Fibers[Index]);
            HookRepeat(_pexit, 3, 0);
            TestFiberCalls += 3;
        }
    }

    for (Index = 0; Index < TEST_FIBERS; Index += 1) {
        DeleteFiber(Fibers[Index]);
        HookRepeat(_pexit, 3, 0);
        TestFiberCalls += 3;
    }

    TEST(ConvertFiberToThread());
    HookRepeat(_pexit, 3, 0);
    TestFiberCalls += 3;
    return 0;
}

VOID
PenterTestFibers(
    VOID
    )
{
    static TEST_PATH Root;
    HANDLE Thread;
    ULONG_PTR Case;

    PenterTestTakeSlots();
    for (Case = 0; Case < 2; Case += 1) {
        Thread = CreateThread(NULL,
                              0,
                              PenterTestFiberThread,
                              (PVOID)Case,
                              0,
                              NULL);
        TEST(Thread != NULL);
        WaitForSingleObject(Thread, INFINITE);
        CloseHandle(Thread);
    }

    TEST(PenterTestSessionRoot(&Root));
    TEST_EQUAL(PenterTestSumEvents(&Root), (ULONG)TestFiberCalls);
}
