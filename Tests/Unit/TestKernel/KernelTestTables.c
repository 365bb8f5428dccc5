/*++

Module Name:

    KernelTestTables.c

Abstract:

    Tables that are full, calls that are left, the hooks of functions, and
    threads that go from processor to processor; and what a pair costs.

--*/

#include "KernelTest.h"
#include "../../Penter/HookCallers.h"

#define TEST_THREADS            4
#define TEST_PAIRS              20000
#define TEST_PAIRS_QUICK        4000
#define TEST_STACK_WORDS        4096
#define TEST_BENCH_PAIRS        20000

static ULONGLONG TestStack[TEST_STACK_WORDS];

//
// RSP of the call at a depth, on a stack of its own.
//

static
ULONG_PTR
TestRsp(
    _In_ ULONG Depth
    )
{
    return ((ULONG_PTR)&TestStack[TEST_STACK_WORDS - 16] & ~(ULONG_PTR)15) -
           Depth * 0x30;
}

static
VOID
TestStart(
    _In_ ULONG Processors,
    _In_ ULONG Records,
    _In_ ULONG Functions,
    _In_ ULONG OpenCalls
    )
{
    static ULONG Values[3];

    Values[0] = Records;
    Values[1] = Functions;
    Values[2] = OpenCalls;
    KernelTestReset();
    KernelTestOs.Processors = Processors;
    KernelTestSetNumber(L"TracerRecords", &Values[0]);
    KernelTestSetNumber(L"TracerFunctions", &Values[1]);
    KernelTestSetNumber(L"TracerOpenCalls", &Values[2]);
    TEST_SUCCESS(KernelTestStart());
}

//
// 40 functions in a table of 16.
//

static
VOID
TestManyFunctions(
    VOID
    )
{
    TRACE_KERNEL_FUNCTION Function;
    ULONG Index;
    ULONG Round;
    ULONG Known;

    TestStart(1, 256, 16, 64);
    for (Round = 0; Round < 3; Round += 1) {
        for (Index = 0; Index < 40; Index += 1) {
            KernelTestCallFrom(_penter, TestRsp(0), 0, Index);
            KernelTestCallFrom(_pexit, TestRsp(0), 0, 40);
        }
    }
    Known = 0;
    for (Index = 0; Index < 40; Index += 1) {
        KernelTestFunction(KernelTestSites[Index], &Function);
        if (Function.Site != 0) {
            Known += 1;
            TEST_EQUAL(Function.Entries, 3);
            TEST_EQUAL(Function.Calls, 3);
        }
    }
    TEST_EQUAL(Known, 16);
    TEST_EQUAL(KERNEL_TEST_COUNTER(StatisticsLost), 2 * 3 * 24);
    TEST_EQUAL(KernelTestReserved(), 240);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 0);
    TEST_EQUAL(KernelTestOpenCalls(), 0);
    TracerKernelStop();
}

//
// 40 calls that are open at once, in a table of 16.
//

static
VOID
TestManyOpenCalls(
    VOID
    )
{
    TRACE_KERNEL_FUNCTION Function;
    ULONG Depth;

    TestStart(1, 256, 64, 16);
    for (Depth = 0; Depth < 40; Depth += 1) {
        KernelTestCallFrom(_penter, TestRsp(Depth), 0, 0);
    }
    TEST_EQUAL(KERNEL_TEST_COUNTER(Abandoned), 24);
    TEST_EQUAL(KernelTestOpenCalls(), 16);
    for (Depth = 40; Depth > 0; Depth -= 1) {
        KernelTestCallFrom(_pexit, TestRsp(Depth - 1), 0, 1);
    }

    //
    // It is the oldest that give way: those that return last.
    //

    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 24);
    KernelTestFunction(KernelTestSites[0], &Function);
    TEST_EQUAL(Function.Entries, 40);
    TEST_EQUAL(Function.Calls, 16);
    TEST_EQUAL(KERNEL_TEST_COUNTER(OpenLost), 0);
    TEST_EQUAL(KernelTestOpenCalls(), 0);
    TEST_EQUAL(KernelTestReserved(), 80);
    TracerKernelStop();
}

//
// Calls that an exception left: the next call of the same frame takes their
// place.  An exit without an entry is counted.
//

static
VOID
TestLeftCalls(
    VOID
    )
{
    TRACE_KERNEL_FUNCTION Function;
    ULONG Index;

    TestStart(1, 256, 64, 64);
    for (Index = 0; Index < 5; Index += 1) {
        KernelTestCallFrom(_penter, TestRsp(1), 0, 0);
        KernelTestCallFrom(_penter, TestRsp(2), 0, 1);
    }
    TEST_EQUAL(KERNEL_TEST_COUNTER(Abandoned), 8);
    TEST_EQUAL(KernelTestOpenCalls(), 2);
    KernelTestCallFrom(_pexit, TestRsp(1), 0, 0);
    KernelTestCallFrom(_pexit, TestRsp(1), 0, 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 1);
    TEST_EQUAL(KernelTestOpenCalls(), 1);
    KernelTestFunction(KernelTestSites[0], &Function);
    TEST_EQUAL(Function.Entries, 5);
    TEST_EQUAL(Function.Calls, 1);
    KernelTestFunction(KernelTestSites[1], &Function);
    TEST_EQUAL(Function.Entries, 5);
    TEST_EQUAL(Function.Calls, 0);
    TEST_EQUAL(Function.Minimum, MAXULONG64);
    TracerKernelStop();
}

//
// The hooks of functions: several at one stack pointer, and an exit hook that
// was jumped to.
//

static
VOID
TestFunctionHooks(
    VOID
    )
{
    TRACE_KERNEL_FUNCTION Function;
    ULONG Index;

    TestStart(1, 256, 64, 64);
    for (Index = 0; Index < 3; Index += 1) {
        KernelTestCallFrom(__cyg_profile_func_enter,
                           TestRsp(1),
                           0x1000 + Index * 0x100,
                           0);
    }
    TEST_EQUAL(KERNEL_TEST_COUNTER(Abandoned), 0);
    TEST_EQUAL(KernelTestOpenCalls(), 3);
    for (Index = 3; Index > 1; Index -= 1) {
        KernelTestCallFrom(__cyg_profile_func_exit,
                           TestRsp(1),
                           0xF00 + Index * 0x100,
                           1);
    }
    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 0);
    KernelTestCallFrom(__cyg_profile_func_exit, TestRsp(0), 0x1000, 1);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 1);
    for (Index = 0; Index < 3; Index += 1) {
        KernelTestFunction(0x1000 + Index * 0x100, &Function);
        TEST_EQUAL(Function.Entries, 1);
        TEST_EQUAL(Function.Calls, Index == 0 ? 0 : 1);
    }
    TracerKernelStop();

    //
    // Without the table of open calls, entries are counted.
    //

    TestStart(1, 256, 64, 0);
    KernelTestCallFrom(_penter, TestRsp(1), 0, 0);
    KernelTestCallFrom(_pexit, TestRsp(1), 0, 1);
    KernelTestFunction(KernelTestSites[0], &Function);
    TEST_EQUAL(Function.Entries, 1);
    TEST_EQUAL(Function.Calls, 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 0);
    TEST_EQUAL(KernelTestReserved(), 2);
    TracerKernelStop();

    //
    // A processor that there is no ring for.
    //

    TestStart(2, 256, 64, 64);
    KernelTestProcessor = 2;
    KernelTestCallFrom(_penter, TestRsp(1), 0, 0);
    KernelTestProcessor = 1;
    KernelTestCallFrom(_pexit, TestRsp(1), 0, 0);
    TEST_EQUAL(KernelState.Rings[0].Reserved, 1);
    TEST_EQUAL(KernelState.Rings[1].Reserved, 1);
    KernelTestFunction(KernelTestSites[0], &Function);
    TEST_EQUAL(Function.Entries, 1);
    TEST_EQUAL(Function.Calls, 1);
    TracerKernelStop();
}

VOID
KernelTestTables(
    VOID
    )
{
    TestManyFunctions();
    TestManyOpenCalls();
    TestLeftCalls();
    TestFunctionHooks();
}

//
// What a thread does, and what is known of it.
//

typedef struct _TEST_THREAD {
    ULONG Id;
    ULONG Pairs;
    ULONG_PTR Rsp;
} TEST_THREAD;

static TEST_THREAD TestThreads[TEST_THREADS];
static volatile LONG TestRunning;

static
DWORD
WINAPI
TestThread(
    _In_ PVOID Parameter
    )
{
    TEST_THREAD *Thread;

    Thread = (TEST_THREAD *)Parameter;
    Thread->Id = GetCurrentThreadId();
    Thread->Rsp = HookRepeatPair((PPENTER_ROUTINE)_penter,
                                 (PPENTER_ROUTINE)_pexit,
                                 Thread->Pairs,
                                 0x1000);
    InterlockedDecrement(&TestRunning);
    return 0;
}

//
// Whether a record is one that a thread has written.  While threads run, their
// stack pointers are not known here.
//

static
BOOLEAN
TestIsRecord(
    _In_ const TRACE_KERNEL_RECORD *Record,
    _In_ BOOLEAN KnowsStacks
    )
{
    ULONG Index;
    ULONG Thread;

    Thread = TRACE_KERNEL_THREAD(Record->ThreadIrql);
    if (Record->Timestamp == 0 ||
        (Record->Stack & 7) !=
        (Record->Site == (ULONG_PTR)HookPairEnterSite ? TRACE_KIND_ENTER :
         Record->Site == (ULONG_PTR)HookPairExitSite ? TRACE_KIND_EXIT : 8)) {

        return FALSE;
    }
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        if (TestThreads[Index].Id == Thread) {
            return !KnowsStacks ||
                   TestThreads[Index].Rsp == (Record->Stack & ~7ULL);
        }
    }
    return FALSE;
}

//
// Copies a record as a reader does.
// Returns FALSE if it is not there.
//

static
BOOLEAN
TestCopyRecord(
    _In_ ULONG Ring,
    _In_ ULONGLONG Number,
    _Out_ PTRACE_KERNEL_RECORD Copy
    )
{
    const TRACE_KERNEL_RECORD *Record;

    Record = KernelState.Records + Ring * (KernelState.RecordMask + 1) +
             (Number & KernelState.RecordMask);
    if (RtlLoadAcquire32(&Record->Number) != TRACE_KERNEL_NUMBER(Number)) {
        return FALSE;
    }
    Copy->Timestamp = RtlLoadAcquire64(&Record->Timestamp);
    Copy->Site = RtlLoadAcquire64(&Record->Site);
    Copy->Stack = RtlLoadAcquire64(&Record->Stack);
    Copy->ThreadIrql = RtlLoadAcquire32(&Record->ThreadIrql);
    return RtlLoadAcquire32(&Record->Number) == TRACE_KERNEL_NUMBER(Number);
}

//
// Threads that go to another processor with every hook, and a reader meanwhile.
//

static
VOID
TestMovingThreads(
    _In_ ULONG Records,
    _In_ ULONG Pairs
    )
{
    TRACE_KERNEL_FUNCTION Function;
    TRACE_KERNEL_RECORD Copy;
    HANDLE Threads[TEST_THREADS];
    ULONGLONG Reserved;
    ULONGLONG Number;
    ULONG Read;
    ULONG Wrong;
    ULONG Whole;
    ULONG Missing;
    ULONG AllMissing;
    ULONG Index;
    ULONG Ring;

    TestStart(3, Records, 64, 1024);
    KernelTestRotate = 3;
    TestRunning = TEST_THREADS;
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        TestThreads[Index].Pairs = Pairs;
        TestThreads[Index].Rsp = 0;
        Threads[Index] = CreateThread(NULL,
                                      0,
                                      TestThread,
                                      &TestThreads[Index],
                                      CREATE_SUSPENDED,
                                      &TestThreads[Index].Id);
    }
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        ResumeThread(Threads[Index]);
    }

    Read = 0;
    Wrong = 0;
    while (TestRunning != 0) {
        for (Ring = 0; Ring < 3; Ring += 1) {
            Reserved = RtlLoadAcquire64(&KernelState.Rings[Ring].Reserved);
            for (Index = 1; Index <= 16 && Index <= Reserved; Index += 1) {
                if (TestCopyRecord(Ring, Reserved - Index, &Copy)) {
                    Read += 1;
                    Wrong += !TestIsRecord(&Copy, FALSE);
                }
            }
        }
        SwitchToThread();
    }
    WaitForMultipleObjects(TEST_THREADS, Threads, TRUE, INFINITE);
    TEST_EQUAL(Wrong, 0);

    Wrong = 0;
    AllMissing = 0;
    for (Ring = 0; Ring < 3; Ring += 1) {
        Whole = KernelTestWholeRecords(Ring, &Missing);
        TEST(Whole != 0);
        AllMissing += Missing;
        Reserved = KernelState.Rings[Ring].Reserved;
        Number = Reserved > Records ? Reserved - Records : 0;
        for (; Number < Reserved; Number += 1) {
            if (TestCopyRecord(Ring, Number, &Copy)) {
                Wrong += !TestIsRecord(&Copy, TRUE);
            }
        }
    }
    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(KernelTestReserved(), 2ULL * TEST_THREADS * Pairs);
    TEST(AllMissing <= KERNEL_TEST_COUNTER(Collided));
    if (Records > 2 * TEST_THREADS * Pairs) {
        TEST_EQUAL(KERNEL_TEST_COUNTER(Collided), 0);
    }

    KernelTestFunction((ULONG_PTR)HookPairEnterSite, &Function);
    TEST_EQUAL(Function.Entries, TEST_THREADS * Pairs);
    TEST_EQUAL(Function.Calls, TEST_THREADS * Pairs);
    TEST(Function.Minimum <= Function.Ticks / Function.Calls);
    TEST(Function.Maximum >= Function.Ticks / Function.Calls);
    TEST_EQUAL(KernelTestOpenCalls(), 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Abandoned), 0);
    RtlWriteText(TestOutput,
                 "%lu records a ring: %lu read meanwhile, %llu collided\n",
                 Records,
                 Read,
                 KERNEL_TEST_COUNTER(Collided));
    for (Index = 0; Index < TEST_THREADS; Index += 1) {
        CloseHandle(Threads[Index]);
    }
    TracerKernelStop();
}

//
// The fewest ticks that a pair took, of some tries.
//

static
ULONGLONG
TestTimePairs(
    _In_ BOOLEAN IsFloor
    )
{
    ULONGLONG Best;
    ULONGLONG Start;
    ULONG Try;

    Best = MAXULONG64;
    for (Try = 0; Try < 9; Try += 1) {
        Start = __rdtsc();
        if (IsFloor) {
            KernelTestClockPair(TEST_BENCH_PAIRS);
        } else {
            HookRepeatPair((PPENTER_ROUTINE)_penter,
                           (PPENTER_ROUTINE)_pexit,
                           TEST_BENCH_PAIRS,
                           0);
        }
        Best = min(Best, __rdtsc() - Start);
    }
    return Best * 10 / TEST_BENCH_PAIRS;
}

//
// Said, and not checked: what a pair costs where the kernel's routines are a
// load and a return.
//

static
VOID
TestCost(
    VOID
    )
{
    ULONGLONG Floor;
    ULONGLONG Timed;
    ULONGLONG Untimed;

    Floor = TestTimePairs(TRUE);
    TestStart(1, 65536, 1024, 8192);
    KernelState.GetProcessor = KernelTestPlainProcessor;
    KernelState.GetThread = KernelTestPlainThread;
    KernelState.GetIrql = KernelTestPlainIrql;
    Timed = TestTimePairs(FALSE);
    KernelState.OpenCalls = NULL;
    Untimed = TestTimePairs(FALSE);
    TracerKernelStop();
    RtlWriteText(TestOutput,
                 "tenths of a tick a pair: two rdtsc %llu, with open calls "
                 "%llu, without %llu\n",
                 Floor,
                 Timed,
                 Untimed);
}

VOID
KernelTestThreads(
    VOID
    )
{
    CHAR Quick[4];
    ULONG Pairs;

    Pairs = GetEnvironmentVariableA("TRACER_QUICK", Quick, sizeof(Quick)) != 0 ?
            TEST_PAIRS_QUICK : TEST_PAIRS;
    TestMovingThreads(262144, Pairs);
    TestMovingThreads(16, Pairs);
    TestMovingThreads(1024, Pairs);
    TestCost();
}
