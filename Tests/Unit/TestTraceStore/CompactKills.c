/*++

Module Name:

    CompactKills.c

Abstract:

    Compact stores whose threads are stopped for good at any instruction that
    follows a call of the system, whose worker is late, and that many threads
    fill.

--*/

#include "TestTraceStore.h"

#define KILL_OWNER      0
#define KILL_WORKER     1
#define KILL_CLOSER     2

typedef struct _KILL_CASE {
    ULONG Role;
    ULONGLONG MaximumBytes;             // of a ring; 0: all is kept
    BOOLEAN Noise;
    ULONG Records;
    LONG Stride;                        // from place to place
    LONG Places;                        // behind the second block; 0: all that
                                        // there are
} KILL_CASE;
typedef const KILL_CASE *PCKILL_CASE;

static ULONG KillAppended;
static ULONG KillLimit;
static volatile LONG KillDone;
static LONG KillBlocks;                 // to be written before the places count
static LONG KillPlace;

static
DWORD
WINAPI
KillOwnerMain(
    PVOID Parameter
    )
{
    while (KillAppended < KillLimit) {
        if (TestAppend((PTRACE_STORE)Parameter, KillAppended)) {
            KillAppended += 1;
        }
    }
    InterlockedExchange(&KillDone, 1);
    return 0;
}

static
DWORD
WINAPI
KillCloserMain(
    PVOID Parameter
    )
{
    TraceStoreClose((PTRACE_STORE)Parameter, TRACE_REASON_THREAD_EXIT);
    TestEndSteps();
    InterlockedExchange(&KillDone, 1);
    return 0;
}

//
// Appends until the worker has been stopped.  No view is left before there is a
// next one: a worker that has been stopped would be waited for.
//

static
VOID
KillAppend(
    PTRACE_STORE Store
    )
{
    PTRACE_STORE_HEADER Header;
    ULONG Tries;

    Header = Store->Header;
    for (Tries = 0;
         !TestKilled && Tries < TEST_PATIENCE && KillAppended < KillLimit;
         ) {

        if (Header->Cursor ==
            (ULONG_PTR)Store->Current.Base + Store->Current.SizeInBytes &&
            Store->Session->Worker.State == TRACE_WORKER_RUNNING &&
            (*(PBYTE volatile *)&Store->Next.Base == NULL ||
             *(ULONGLONG volatile *)&Store->Next.PreparedInBytes !=
             Store->Next.SizeInBytes)) {

            TraceControlRequestWorker(Store->Session);
            Sleep(1);
            Tries += 1;
            continue;
        }
        if (TestAppend(Store, KillAppended)) {
            KillAppended += 1;
        }
    }
}

//
// What a thread that was killed while it closed has forgotten already, and has
// not yet given back: each thing is forgotten first (TraceClose.c).
//

static
VOID
KillGiveBack(
    HANDLE File
    )
{
    LONG Index;

    for (Index = 0; Index < TestNumberOfViews; Index += 1) {
        if (TestViews[Index].Live) {
            TestCounting.NtUnmapViewOfSection((HANDLE)-1,
                                              TestViews[Index].Base);
        }
    }
    if (TestOpenHandles == 1) {
        SetHandleInformation(File, HANDLE_FLAG_PROTECT_FROM_CLOSE, 0);
        TestCounting.NtClose(File);
    }
}

static
VOID
KillAtWrite(
    ULONGLONG FileOffset,
    const VOID *Bytes,
    ULONG SizeInBytes,
    BOOLEAN IsAfter
    )
{
    UNREFERENCED_PARAMETER(FileOffset);
    UNREFERENCED_PARAMETER(SizeInBytes);

    if (IsAfter && GetCurrentThreadId() != TestMainThreadId &&
        *(const ULONG *)Bytes == 0x4B425254) {

        KillBlocks -= 1;
        if (KillBlocks == 0) {
            TestStopPlace = TestPlaces + KillPlace;
        }
    }
}

//
// A thread is stopped at a place: the file as it is then has all, and so it has
// when the process ends, or when the program goes on without the worker.
// Returns FALSE if the thread did not come to the place.
//

static
BOOLEAN
KillAt(
    PCKILL_CASE Case,
    LONG Place,
    PBOOLEAN Passed
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    HANDLE File;
    HANDLE Thread;
    ULONG Sequence;
    ULONG Tries;
    BOOLEAN IsWorker;
    BOOLEAN GoesOn;

    IsWorker = Case->Role == KILL_WORKER;
    GoesOn = IsWorker && (Place % 2 != 0 || Case->Places != 0);
    TestNoise = Case->Noise;
    if (!TestOpenCompact(0x10000,
                         Case->MaximumBytes,
                         Case->MaximumBytes != 0,
                         IsWorker,
                         &Session,
                         &Store)) {
        return FALSE;
    }
    Sequence = Store->Header->SequenceNumber;
    File = Store->File;
    KillAppended = 0;
    KillLimit = Case->Records;
    KillDone = 0;
    Thread = NULL;
    if (Case->Role == KILL_CLOSER) {
        KillAppended = TestAppendMany(Store, 0, KillLimit);
    }

    KillBlocks = 2;
    KillPlace = Place;
    if (Case->Places != 0) {
        TestAtWrite = KillAtWrite;
        Place = MAXLONG;
    }
    TestBeginPlaces(Place);
    if (IsWorker) {
        KillAppend(Store);
        for (Tries = 0;
             Tries < TEST_PATIENCE && !TestKilled && !Session->Worker.Waiting;
             Tries += 1) {

            Sleep(1);
        }
    } else {
        Thread = CreateThread(NULL,
                              0,
                              Case->Role == KILL_OWNER ? KillOwnerMain :
                                                         KillCloserMain,
                              Store,
                              0,
                              NULL);
        for (Tries = 0;
             Tries < TEST_PATIENCE && !TestKilled && !KillDone;
             Tries += 1) {

            Sleep(1);
        }
        TEST(TestKilled || KillDone);
    }

    //
    // As it is.
    //

    *Passed = TRUE;
    if (TestKilled) {
        *Passed = TestCheckCompact(Session, Sequence, KillAppended);
        TestStopPlace = 0;
        TEST_EQUAL(WaitForSingleObject(IsWorker ? Session->Worker.Thread :
                                                  Thread,
                                       TEST_PATIENCE),
                   WAIT_OBJECT_0);
    } else if (!IsWorker) {
        WaitForSingleObject(Thread, TEST_PATIENCE);
    }
    TestStopPlace = 0;
    TestAtWrite = NULL;

    if (GoesOn) {
        for (Tries = 0; Tries < 16; Tries += 1) {
            KillLimit = KillAppended + 1999;
            *Passed = TEST_EQUAL(TestAppendMany(Store,
                                                KillAppended,
                                                KillLimit),
                                 KillLimit - KillAppended) && *Passed;
            KillAppended = KillLimit;
            if (TestKilled) {
                *Passed = TestCheckCompact(Session, Sequence, KillAppended) &&
                          *Passed;
            }
        }
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    } else {
        if (IsWorker && !TestKilled) {
            TraceThreadStop(Session, &Session->Worker);
        }
        TraceSessionProcessExit(Session, NULL, FALSE);
        if (IsWorker && TestKilled) {
            Session->Worker.State = TRACE_WORKER_RUNNING;
        }
    }
    *Passed = TestCheckCompact(Session, Sequence, KillAppended) && *Passed;
    *Passed = TEST_EQUAL(TestCompact.Header.State, TRACE_STATE_CLOSED) &&
              *Passed;
    *Passed = TEST_EQUAL(TestCompact.Header.FirstPosition, TestCompact.End) &&
              *Passed;
    if (Thread != NULL) {
        CloseHandle(Thread);
    }

    TraceSessionDestroy(Session, TRACE_REASON_MODULE_UNLOAD);
    if (Case->Role == KILL_CLOSER) {
        KillGiveBack(File);
    }

    //
    // Memory that a thread had in its registers alone.
    //

    if (TestKilled && TestLiveAllocations == 1) {
        TestLiveAllocations = 0;
    }
    *Passed = TestCheckBalance() && *Passed;
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));
    TestNoise = FALSE;
    return (BOOLEAN)TestKilled;
}

VOID
TestCompactKills(
    VOID
    )
{
    PCKILL_CASE Case;
    WCHAR Value[2];
    LONG Place;
    LONG Stride;
    ULONG Index;
    ULONG Kills;
    ULONG All;
    BOOLEAN IsLong;
    BOOLEAN Passed;

    static const KILL_CASE Cases[] = {
        { KILL_OWNER, 0x100000, FALSE, 30000, 7, 100 },
        { KILL_WORKER, 0x100000, FALSE, 30000, 9, 200 },
        { KILL_OWNER, 0, FALSE, 45000, 1597, 0 },
        { KILL_OWNER, 0x100000, TRUE, 70000, 1997, 0 },
        { KILL_WORKER, 0, FALSE, 45000, 797, 0 },
        { KILL_WORKER, 0x100000, TRUE, 70000, 1997, 0 },
        { KILL_CLOSER, 0, FALSE, 1000, 197, 0 },
        { KILL_CLOSER, 0, TRUE, 3840, 197, 0 },
        { KILL_CLOSER, 0, TRUE, 20000, 397, 0 },
        { KILL_CLOSER, 0, TRUE, 60000, 397, 0 },
        { KILL_CLOSER, 0x100000, FALSE, 20000, 197, 0 },
        { KILL_CLOSER, 0x100000, TRUE, 70000, 397, 0 }
    };

    IsLong = GetEnvironmentVariableW(L"TRACER_LONG", Value, 2) == 1;
    All = 0;
    for (Index = 0; Index < RTL_NUMBER_OF(Cases); Index += 1) {
        Case = &Cases[Index];
        Stride = IsLong ? Case->Stride / 20 + 1 : Case->Stride;
        Kills = 0;
        Place = 1;
        while ((Case->Places == 0 || Place <= Case->Places) &&
               KillAt(Case, Place, &Passed)) {

            Kills += 1;
            if (!Passed) {
                RtlWriteText(TestOutput,
                             "    ... kills, case %u, place %d\n",
                             Index,
                             Place);
            }
            Place += Stride;
        }
        All += Kills;
        if (!TEST(Kills != 0)) {
            RtlWriteText(TestOutput, "    ... kills, case %u\n", Index);
        }
    }
    TEST(All >= 60);
}

//
// The worker is stopped while it encodes, and the thread goes on for laps: it
// encodes that view itself, and uses it again.  What the worker has made of it
// is thrown away when it goes on.
//

#define DELAY_VIEW      32768           // records of 512 KiB
#define DELAY_CATCHES   3

static
VOID
DelayEncoding(
    VOID
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    CONTEXT Context;
    ULONG Records;
    ULONG Sequence;
    ULONG Inline;
    ULONG Catches;
    ULONG Tries;

    TestNoise = TRUE;
    if (!TestOpenCompact(0, 0x1200000, TRUE, TRUE, &Session, &Store)) {
        return;
    }
    Sequence = Store->Header->SequenceNumber;
    Records = 0;
    Catches = 0;
    for (Tries = 0; Catches < DELAY_CATCHES && Tries < 2000; Tries += 1) {
        TestAppendMany(Store, Records, Records + DELAY_VIEW / 4);
        Records += DELAY_VIEW / 4;
        if (*(ULONG volatile *)&Store->WorkerBusy != TRACE_WORKER_ENCODES) {
            continue;
        }
        SuspendThread(Session->Worker.Thread);
        Context.ContextFlags = CONTEXT_CONTROL;
        GetThreadContext(Session->Worker.Thread, &Context);
        if (Store->WorkerBusy == TRACE_WORKER_ENCODES &&
            Store->WorkLock == 0) {

            Catches += 1;
            Inline = Store->Header->NumberOfBlocksInline;
            TEST_EQUAL(TestAppendMany(Store,
                                      Records,
                                      Records + 20 * DELAY_VIEW),
                       20 * DELAY_VIEW);
            Records += 20 * DELAY_VIEW;
            TEST(Store->Header->NumberOfBlocksInline >= Inline + 10);
            TEST_EQUAL(Store->WorkerBusy, TRACE_WORKER_ENCODES);
            TestCheckCompact(Session, Sequence, Records);
        }
        ResumeThread(Session->Worker.Thread);
        TestHoldWorker(Store);
        TestCheckCompact(Session, Sequence, Records);
        TraceLockRelease(Store);
    }
    TEST_EQUAL(Catches, DELAY_CATCHES);
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TestCheckCompact(Session, Sequence, Records);
    TEST_EQUAL(TestCompact.Header.State, TRACE_STATE_CLOSED);
    TestEndSession(Session);
    TestNoise = FALSE;
}

//
// A disk that takes its time for the worker's first blocks: the thread waits,
// encodes none of these itself, and goes on; or ends meanwhile.
//

static volatile LONG DelayWrites;
static volatile LONG DelayWriting;

static
VOID
DelayAtWrite(
    ULONGLONG FileOffset,
    const VOID *Bytes,
    ULONG SizeInBytes,
    BOOLEAN IsAfter
    )
{
    UNREFERENCED_PARAMETER(FileOffset);
    UNREFERENCED_PARAMETER(SizeInBytes);

    if (GetCurrentThreadId() != TestMainThreadId &&
        *(const ULONG *)Bytes == 0x4B425254 &&
        InterlockedDecrement(&DelayWrites) >= 0) {

        InterlockedExchange(&DelayWriting, 1);
        Sleep(IsAfter ? 100 : 300);
        InterlockedExchange(&DelayWriting, 0);
    }
}

static
VOID
DelayWriteOf(
    BOOLEAN Ends
    )
{
    PTRACE_SESSION Session;
    PTRACE_STORE Store;
    ULONG Sequence;
    ULONG Records;
    ULONG Tries;

    if (!TestOpenCompact(0x10000, 0, FALSE, TRUE, &Session, &Store)) {
        return;
    }
    Sequence = Store->Header->SequenceNumber;
    DelayWrites = 5;
    DelayWriting = 0;
    TestAtWrite = DelayAtWrite;
    Records = 3840 + 6 * 4096;
    TEST_EQUAL(TestAppendMany(Store, 0, Records), Records);
    for (Tries = 0; Tries < TEST_PATIENCE && !DelayWriting; Tries += 1) {
        TraceControlRequestWorker(Session);
        Sleep(1);
    }
    TEST(DelayWriting);
    if (!Ends) {
        TEST_EQUAL(TestAppendMany(Store, Records, 400000), 400000 - Records);
        Records = 400000;
        TestHoldWorker(Store);
        TestCheckCompact(Session, Sequence, Records);
        TraceLockRelease(Store);
    }
    TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    TestAtWrite = NULL;
    TestCheckCompact(Session, Sequence, Records);
    TEST_EQUAL(TestCompact.Header.State, TRACE_STATE_CLOSED);
    TEST_EQUAL(TestCompact.Header.FirstPosition, TestCompact.End);
    TestEndSession(Session);
}

VOID
TestCompactDelays(
    VOID
    )
{
    DelayEncoding();
    DelayWriteOf(FALSE);
    DelayWriteOf(TRUE);
}

//
// Threads that come and go with a worker for them all, beside others that want
// all the processors.
//

#define COMPACT_THREADS     4
#define COMPACT_ROUNDS      3
#define COMPACT_BUSY        4
#define COMPACT_RECORDS     400000

static PTRACE_SESSION ThreadsSession;
static volatile LONG ThreadsFailures;
static volatile LONG ThreadsEnd;

static
ULONG
ThreadsRecords(
    ULONG Thread,
    ULONG Round
    )
{
    return Round == 1 ? Thread * 1920 :
           COMPACT_RECORDS - Round * 70001 + Thread * 333;
}

static
DWORD
WINAPI
ThreadsMain(
    PVOID Parameter
    )
{
    PTRACE_STORE Store;
    RTL_ERROR Error;
    ULONG Round;
    ULONG Records;

    for (Round = 0; Round < COMPACT_ROUNDS; Round += 1) {
        if (!NT_SUCCESS(TraceStoreOpen(ThreadsSession, &Store, &Error))) {
            InterlockedIncrement(&ThreadsFailures);
            continue;
        }
        Records = ThreadsRecords((ULONG)(ULONG_PTR)Parameter, Round);
        if (TestAppendMany(Store, 0, Records) != Records) {
            InterlockedIncrement(&ThreadsFailures);
        }
        TraceStoreClose(Store, TRACE_REASON_THREAD_EXIT);
    }
    return 0;
}

static
DWORD
WINAPI
ThreadsBusyMain(
    PVOID Parameter
    )
{
    UNREFERENCED_PARAMETER(Parameter);
    while (!ThreadsEnd) {
        YieldProcessor();
    }
    return 0;
}

VOID
TestCompactThreads(
    VOID
    )
{
    HANDLE Threads[COMPACT_THREADS + COMPACT_BUSY];
    RTL_ERROR Error;
    ULONG Index;
    ULONG Round;
    ULONG Count;
    ULONG Sequences[COMPACT_THREADS * COMPACT_ROUNDS];
    ULONGLONG Records;
    ULONGLONG Expected;

    TestNextRoot();
    TestResetCounters();
    TestOptions.IsCompact = TRUE;
    if (!TEST_SUCCESS(TestCreateSession(&TestCounting,
                                        0x10000,
                                        TRUE,
                                        &ThreadsSession,
                                        &Error))) {
        return;
    }

    ThreadsFailures = 0;
    ThreadsEnd = 0;
    for (Index = 0; Index < RTL_NUMBER_OF(Threads); Index += 1) {
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      Index < COMPACT_THREADS ?
                                      ThreadsMain : ThreadsBusyMain,
                                      (PVOID)(ULONG_PTR)Index,
                                      0,
                                      NULL);
    }
    TEST_EQUAL(WaitForMultipleObjects(COMPACT_THREADS,
                                      Threads,
                                      TRUE,
                                      TEST_PATIENCE),
               WAIT_OBJECT_0);
    InterlockedExchange(&ThreadsEnd, 1);
    WaitForMultipleObjects(RTL_NUMBER_OF(Threads),
                           Threads,
                           TRUE,
                           TEST_PATIENCE);
    for (Index = 0; Index < RTL_NUMBER_OF(Threads); Index += 1) {
        CloseHandle(Threads[Index]);
    }
    TEST_EQUAL(ThreadsFailures, 0);

    Expected = 0;
    for (Index = 0; Index < COMPACT_THREADS; Index += 1) {
        for (Round = 0; Round < COMPACT_ROUNDS; Round += 1) {
            Expected += ThreadsRecords(Index, Round);
        }
    }

    Records = 0;
    Count = TestListFiles(ThreadsSession, L"*.trace");
    TEST_EQUAL(Count, RTL_NUMBER_OF(Sequences));
    for (Index = 0; Index < Count && Index < RTL_NUMBER_OF(Sequences);
         Index += 1) {

        if (TEST(TestReadStore(TestSessionPath(ThreadsSession,
                                               TestFileNames[Index]),
                               &TestContent))) {

            Sequences[Index] = TestContent.Header.SequenceNumber;
        }
    }
    for (Index = 0; Index < Count && Index < RTL_NUMBER_OF(Sequences);
         Index += 1) {

        TEST(TestReadCompact(ThreadsSession, Sequences[Index], FALSE));
        TEST_EQUAL(TestCompact.Header.State, TRACE_STATE_CLOSED);
        Records += TestCompact.NumberOfGoodRecords;
    }
    TEST_EQUAL(Records, Expected);
    TraceSessionDestroy(ThreadsSession, TRACE_REASON_MODULE_UNLOAD);
    TestCheckBalance();
    RtlZeroBytes(&TestOptions, sizeof(TestOptions));
}
