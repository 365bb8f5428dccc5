/*++

Module Name:

    KernelTestHooks.c

Abstract:

    What a hook changes of the machine: nothing.  It is called with every
    register set and compared afterwards, while the routines that it calls ruin
    what they may; and stepped through, with other calls of hooks, as of an
    interrupt, before each of its instructions.

--*/

#include "KernelTest.h"
#include "../../Penter/HookCallers.h"

#define TEST_TRAP_FLAG          0x100
#define TEST_ARITHMETIC_FLAGS   0x8D5
#define TEST_HOOK_STACK         256     // what Docs/Drivers.md says
#define TEST_NESTED_PAIRS       10
#define TEST_SMALL_RING         16
#define TEST_MAXIMUM_STEPS      1024

typedef struct _TEST_HOOK {
    PKERNEL_ROUTINE Routine;
    ULONG Kind;
    PCSZ Name;
} TEST_HOOK;
typedef const TEST_HOOK *PCTEST_HOOK;

static const TEST_HOOK TestHooks[] = {
    { _penter, TRACE_KIND_ENTER, "_penter" },
    { _pexit, TRACE_KIND_EXIT, "_pexit" },
    { __fentry__, TRACE_KIND_ENTER, "__fentry__" },
    { __return__, TRACE_KIND_EXIT, "__return__" },
    { __cyg_profile_func_enter, TRACE_KIND_ENTER_FUNCTION, "cyg enter" },
    { __cyg_profile_func_exit, TRACE_KIND_EXIT_FUNCTION, "cyg exit" },
};

static struct {
    ULONG ThreadId;                     // 0: not stepping
    ULONG Steps;
    ULONG InterruptAt;                  // the step, or MAXUINT32 for each
    ULONG Pairs;                        // of hooks in an interrupt
    ULONG Interrupts;
    ULONG Misunwound;
    ULONG_PTR FirstMisunwound;
    ULONG NumberOfPlaces;
} TestStepping;

static ULONG TestVectorLevel;
static ULONGLONG TestRandomState = 0x9E3779B97F4A7C15;

static
ULONGLONG
TestRandom(
    VOID
    )
{
    TestRandomState ^= TestRandomState << 13;
    TestRandomState ^= TestRandomState >> 7;
    TestRandomState ^= TestRandomState << 17;
    return TestRandomState;
}

//
// Sets what the machine is to be like at the call.
//

static
VOID
TestFillState(
    _In_ PKERNEL_ROUTINE Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    )
{
    PULONGLONG Words;
    ULONG Index;

    Words = (PULONGLONG)&HookCall.Expected;
    for (Index = 0; Index < sizeof(HOOK_STATE) / 8; Index += 1) {
        Words[Index] = TestRandom();
    }
    HookCall.Hook = (PPENTER_ROUTINE)Hook;
    HookCall.StackOffset = StackOffset;
    HookCall.VectorLevel = TestVectorLevel;
    HookCall.X87Control = 0x37F;
    for (Index = 0; Index < 3; Index += 1) {
        HookCall.X87Values[Index] = 0x4000000000000000 + Index;
    }
    HookCall.Expected.Flags = 0x202 | Flags;
    HookCall.Expected.Mxcsr = 0x5FA0;
    HookCall.Expected.General[HOOK_RCX] |= 0x1000;
}

//
// The unit's environment and its registers.  Where its last instruction was,
// an exception may change.
//

static
BOOLEAN
TestIsX87Changed(
    _In_reads_(108) const BYTE *Expected,
    _In_reads_(108) const BYTE *Actual
    )
{
    ULONG Index;

    for (Index = 0; Index < 108; Index += 1) {
        if ((Index < 12 ? (Index & 2) == 0 : Index >= 28) &&
            Expected[Index] != Actual[Index]) {
            return TRUE;
        }
    }
    return FALSE;
}

//
// Whether the hook has left something else behind.
//

static
BOOLEAN
TestIsStateChanged(
    VOID
    )
{
    const HOOK_STATE *Expected;
    const HOOK_STATE *Actual;
    ULONG Index;
    ULONG Size;

    Expected = &HookCall.Expected;
    Actual = &HookCall.Actual;
    Size = 16 << TestVectorLevel;
    for (Index = 0; Index < 16; Index += 1) {
        if (!RtlAreBytesEqual(Expected->Vectors[Index],
                              Actual->Vectors[Index],
                              Size)) {
            return TRUE;
        }
    }
    return !RtlAreBytesEqual(Expected->General,
                             Actual->General,
                             sizeof(Expected->General)) ||
           ((Expected->Flags ^ Actual->Flags) & ~(ULONGLONG)TEST_TRAP_FLAG) !=
           0 ||
           Expected->Mxcsr != Actual->Mxcsr ||
           TestIsX87Changed(Expected->X87, Actual->X87) ||
           !RtlAreBytesEqual(Expected->Stack, Actual->Stack,
                             sizeof(Expected->Stack));
}

//
// Checks the record of the call that was made, the last of the first ring, and
// what its function has.
//

static
VOID
TestCheckRecord(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONGLONG Number
    )
{
    const TRACE_KERNEL_RECORD *Record;
    ULONG_PTR Site;

    Record = &KernelState.Records[Number & KernelState.RecordMask];
    Site = (ULONG_PTR)HookCallOnceSite;
    if (Hook->Kind >= TRACE_KIND_ENTER_FUNCTION) {
        Site = HookCall.Expected.General[HOOK_RCX];
    }
    TEST_EQUAL(Record->Number, TRACE_KERNEL_NUMBER(Number));
    TEST_EQUAL(Record->Site, Site);
    TEST_EQUAL(Record->Stack,
               HookCall.Expected.General[HOOK_RSP] | Hook->Kind);
    TEST_EQUAL(TRACE_KERNEL_THREAD(Record->ThreadIrql), GetCurrentThreadId());
    TEST_EQUAL(TRACE_KERNEL_IRQL(Record->ThreadIrql), KernelTestIrql);
    TEST(Record->Timestamp >= HookCall.TscBefore &&
         Record->Timestamp <= HookCall.TscAfter);
}

static
VOID
TestStart(
    _In_ ULONG Records,
    _In_ ULONG OpenCalls
    )
{
    static ULONG Values[2];

    Values[0] = Records;
    Values[1] = OpenCalls;
    KernelTestReset();
    KernelTestOs.Processors = 1;
    KernelTestSetNumber(L"TracerRecords", &Values[0]);
    KernelTestSetNumber(L"TracerOpenCalls", &Values[1]);
    TEST_SUCCESS(KernelTestStart());
}

static
VOID
TestChanges(
    VOID
    )
{
    static const ULONG Flags[] = { 0, 0x8D5, 0x001, 0x004, 0x010, 0x040, 0x080,
                                   0x800, 0x400 };
    PCTEST_HOOK Hook;
    ULONG OpenCalls;
    ULONG Index;
    ULONG Flag;
    ULONG Offset;
    ULONG Changed;
    ULONGLONG Number;

    Changed = 0;
    for (OpenCalls = 0; OpenCalls <= 64; OpenCalls += 64) {
        TestStart(256, OpenCalls);
        for (KernelTestIrql = 0; KernelTestIrql < 16; KernelTestIrql += 5) {
            for (Index = 0; Index < RTL_NUMBER_OF(TestHooks); Index += 1) {
                Hook = &TestHooks[Index];
                for (Flag = 0; Flag < RTL_NUMBER_OF(Flags); Flag += 1) {
                    for (Offset = 0; Offset < 16; Offset += 8) {
                        Number = KernelTestReserved();
                        TestFillState(Hook->Routine, Offset, Flags[Flag]);
                        HookCallOnce();
                        Changed += TestIsStateChanged();
                        TEST_EQUAL(KernelTestReserved(), Number + 1);
                        TestCheckRecord(Hook, Number);
                    }
                }
            }
        }
        KernelTestIrql = 0;

        //
        // Paused, the calls are counted; and the rest is kept, too.
        //

        TracerKernelPause();
        TEST_EQUAL(TracerKernelHeader->State, TRACE_KERNEL_STATE_PAUSED);
        Number = KernelTestReserved();
        for (Index = 0; Index < RTL_NUMBER_OF(TestHooks); Index += 1) {
            for (Flag = 0; Flag < RTL_NUMBER_OF(Flags); Flag += 1) {
                TestFillState(TestHooks[Index].Routine, 8, Flags[Flag]);
                HookCallOnce();
                Changed += TestIsStateChanged();
            }
        }
        TEST_EQUAL(KernelTestReserved(), Number);
        TEST_EQUAL(KERNEL_TEST_COUNTER(Paused),
                   RTL_NUMBER_OF(TestHooks) * RTL_NUMBER_OF(Flags));
        TracerKernelResume();
        TEST_EQUAL(TracerKernelHeader->State, TRACE_KERNEL_STATE_RUNNING);
        KernelCallPair(_penter, _pexit);
        TEST_EQUAL(KernelTestReserved(), Number + 2);
        TracerKernelStop();

        for (Index = 0; Index < RTL_NUMBER_OF(TestHooks); Index += 1) {
            TestFillState(TestHooks[Index].Routine, 0, 0x8D5);
            HookCallOnce();
            Changed += TestIsStateChanged();
        }
    }
    TEST_EQUAL(Changed, 0);
    KernelTestCheckNothingLeft();
}

//
// Hooks that are broken are found.
//

static
VOID
TestBrokenHooks(
    VOID
    )
{
    PCHOOK_BROKEN Broken;
    ULONG Index;
    ULONG Found;

    Found = 0;
    for (Index = 0; Index < HookNumberOfBroken; Index += 1) {
        Broken = &HookBrokenTable[Index];
        if (Broken->VectorLevel > TestVectorLevel ||
            Broken->Property == HOOK_PROPERTY_LAST_ERROR ||
            Broken->Property == HOOK_PROPERTY_LAST_STATUS) {
            continue;
        }
        TestFillState((PKERNEL_ROUTINE)Broken->Routine, 8, 0x8D5);
        HookCallOnce();
        if (!TEST(TestIsStateChanged())) {
            RtlWriteText(TestOutput, "not found: %s\n", Broken->Name);
        }
        Found += 1;
    }
    TEST(Found > 20);
}

//
// What a hook takes of the stack, measured: it touches nothing below it but
// where its own calls lie.
//

static
VOID
TestStackUse(
    VOID
    )
{
    static ULONGLONG Memory[512];
    ULONG_PTR Rsp;
    ULONG Index;
    ULONG Offset;
    ULONG Lowest;
    ULONG Most;

    TestStart(256, 64);
    Most = 0;
    for (Index = 0; Index < RTL_NUMBER_OF(TestHooks); Index += 1) {
        for (Offset = 0; Offset < 16; Offset += 8) {
            Rsp = ((ULONG_PTR)&Memory[480] & ~(ULONG_PTR)15) - Offset;
            for (Lowest = 0; Lowest < RTL_NUMBER_OF(Memory); Lowest += 1) {
                Memory[Lowest] = 0xABCDEF0123456789;
            }
            KernelTestCallFrom(TestHooks[Index].Routine, Rsp, 0x1000, 1);
            Lowest = 0;
            while (Memory[Lowest] == 0xABCDEF0123456789) {
                Lowest += 1;
            }
            TEST_EQUAL(&Memory[Lowest], KernelTestGetterStack);
            Most = max(Most, (ULONG)(Rsp - KernelTestGetterStack - 8));
            for (Lowest = 0; Lowest < 24; Lowest += 1) {
                TEST_EQUAL(((PULONGLONG)Rsp)[Lowest], 0xABCDEF0123456789);
            }
        }
    }
    TEST(Most <= TEST_HOOK_STACK && Most > TEST_HOOK_STACK - 32);
    TracerKernelStop();
}

//
// Whether the system's unwinder finds the hook's caller, with the registers
// that it had.
//

static
BOOLEAN
TestUnwinds(
    _In_ const CONTEXT *Start
    )
{
    CONTEXT Context;
    PRUNTIME_FUNCTION Function;
    ULONG64 ImageBase;
    ULONG64 Frame;
    PVOID Data;
    const ULONGLONG *General;
    ULONG Depth;

    RtlCopyBytes(&Context, Start, sizeof(Context));
    General = HookCall.Expected.General;
    for (Depth = 0; Context.Rip != (ULONG_PTR)HookCallOnceSite; Depth += 1) {
        if (Depth == 4 || Context.Rsp < General[HOOK_RSP] - 0x1000 ||
            Context.Rsp > General[HOOK_RSP]) {
            return FALSE;
        }
        Function = RtlLookupFunctionEntry(Context.Rip, &ImageBase, NULL);
        if (Function == NULL) {
            Context.Rip = *(PULONG64)Context.Rsp;
            Context.Rsp += 8;
        } else {
            RtlVirtualUnwind(UNW_FLAG_NHANDLER, ImageBase, Context.Rip,
                             Function, &Context, &Data, &Frame, NULL);
        }
    }
    return Context.Rsp == General[4] && Context.Rbx == General[3] &&
           Context.Rbp == General[5] && Context.Rsi == General[6] &&
           Context.Rdi == General[7] && Context.R12 == General[12] &&
           Context.R13 == General[13] && Context.R14 == General[14] &&
           Context.R15 == General[15];
}

static
LONG
NTAPI
TestStep(
    _In_ PEXCEPTION_POINTERS Pointers
    )
{
    PCONTEXT Context;

    Context = Pointers->ContextRecord;
    if (TestStepping.ThreadId != GetCurrentThreadId() ||
        Pointers->ExceptionRecord->ExceptionCode !=
        (DWORD)EXCEPTION_SINGLE_STEP) {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    if (Context->Rip == (ULONG_PTR)HookCallOnceSite) {
        Context->EFlags &= ~TEST_TRAP_FLAG;
        TestStepping.ThreadId = 0;
        return EXCEPTION_CONTINUE_EXECUTION;
    }

    if (!TestUnwinds(Context)) {
        TestStepping.Misunwound += 1;
        if (TestStepping.FirstMisunwound == 0) {
            TestStepping.FirstMisunwound = Context->Rip;
        }
    }
    if (TestStepping.InterruptAt == MAXUINT32 ||
        TestStepping.InterruptAt == TestStepping.Steps) {

        TestStepping.Interrupts += 1;
        HookRepeatPair((PPENTER_ROUTINE)_penter,
                       (PPENTER_ROUTINE)_pexit,
                       TestStepping.Pairs,
                       0x2000);
    }
    TestStepping.Steps += 1;
    Context->EFlags |= TEST_TRAP_FLAG;
    return EXCEPTION_CONTINUE_EXECUTION;
}

//
// Steps through a call of a hook.
//

static
VOID
TestStepCall(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG InterruptAt,
    _In_ ULONG Pairs
    )
{
    ULONGLONG Rcx;

    Rcx = 0x1234567890;
    TestFillState(Hook->Routine,
                  StackOffset,
                  TEST_ARITHMETIC_FLAGS | TEST_TRAP_FLAG);
    HookCall.Expected.General[HOOK_RCX] = Rcx;
    TestStepping.Steps = 0;
    TestStepping.InterruptAt = InterruptAt;
    TestStepping.Pairs = Pairs;
    TestStepping.Interrupts = 0;
    TestStepping.Misunwound = 0;
    TestStepping.FirstMisunwound = 0;
    TestStepping.ThreadId = GetCurrentThreadId();
    HookCallOnce();
    TestStepping.ThreadId = 0;
    TEST(!TestIsStateChanged());
    TEST(TestStepping.Steps > 20 && TestStepping.Steps < TEST_MAXIMUM_STEPS);
    if (!TEST_EQUAL(TestStepping.Misunwound, 0)) {
        RtlWriteText(TestOutput,
                     "%s: unwinding fails at image+%llx\n",
                     Hook->Name,
                     TestStepping.FirstMisunwound -
                     (ULONG_PTR)GetModuleHandleW(NULL));
    }
}

//
// A call whose entry and exit are interrupted before each instruction.
//

static
VOID
TestInterruptedCall(
    _In_ PCTEST_HOOK Enter,
    _In_ PCTEST_HOOK Exit,
    _In_ ULONG StackOffset
    )
{
    TRACE_KERNEL_FUNCTION Nested;
    TRACE_KERNEL_FUNCTION Outer;
    ULONGLONG Pairs;
    ULONG_PTR Site;
    ULONG Missing;

    TestStart(65536, 64);
    TestStepCall(Enter, StackOffset, MAXUINT32, 2);
    Pairs = TestStepping.Interrupts * 2;
    TEST_EQUAL(TestStepping.Interrupts, TestStepping.Steps);
    TEST_EQUAL(KernelTestReserved(), 1 + 2 * Pairs);
    TEST_EQUAL(KernelTestOpenCalls(), 1);
    Site = Enter->Kind >= TRACE_KIND_ENTER_FUNCTION ?
           HookCall.Expected.General[HOOK_RCX] : (ULONG_PTR)HookCallOnceSite;

    TestStepCall(Exit, StackOffset, MAXUINT32, 2);
    Pairs += TestStepping.Interrupts * 2;
    TEST_EQUAL(KernelTestReserved(), 2 + 2 * Pairs);
    TEST_EQUAL(KernelTestWholeRecords(0, &Missing), 2 + 2 * Pairs);
    TEST_EQUAL(KernelTestOpenCalls(), 0);
    KernelTestFunction((ULONG_PTR)HookPairEnterSite, &Nested);
    TEST_EQUAL(Nested.Entries, Pairs);
    TEST_EQUAL(Nested.Calls, Pairs);
    TEST(Nested.Minimum <= Nested.Ticks / Nested.Calls);
    KernelTestFunction(Site, &Outer);
    TEST_EQUAL(Outer.Entries, 1);
    TEST_EQUAL(Outer.Calls, 1);
    TEST_EQUAL(Outer.Minimum, Outer.Ticks);
    TEST_EQUAL(Outer.Maximum, Outer.Ticks);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Collided), 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Unpaired), 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(Abandoned), 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(StatisticsLost), 0);
    TEST_EQUAL(KERNEL_TEST_COUNTER(OpenLost), 0);
    TracerKernelStop();
}

//
// Checks that every whole record of a ring is that of one call, and none is of
// two.
//

static
VOID
TestCheckWhole(
    _In_ PCTEST_HOOK Hook
    )
{
    const TRACE_KERNEL_RECORD *Record;
    ULONG Index;
    ULONG Kind;
    BOOLEAN IsNested;

    for (Index = 0; Index < TEST_SMALL_RING; Index += 1) {
        Record = &KernelState.Records[Index];
        Kind = (ULONG)Record->Stack & 7;
        IsNested = Record->Site == (ULONG_PTR)HookPairEnterSite ||
                   Record->Site == (ULONG_PTR)HookPairExitSite;
        TEST_EQUAL(Record->Number & 1, 0);
        if (IsNested) {
            TEST_EQUAL(Kind,
                       Record->Site == (ULONG_PTR)HookPairEnterSite ?
                       TRACE_KIND_ENTER : TRACE_KIND_EXIT);
            TEST((Record->Stack & ~7ULL) <
                 HookCall.Expected.General[HOOK_RSP]);
        } else {
            TEST_EQUAL(Kind, Hook->Kind);
            TEST_EQUAL(Record->Stack & ~7ULL,
                       HookCall.Expected.General[HOOK_RSP]);
        }
    }
}

//
// An interrupt that lasts for more than a round of the ring, before each
// instruction in turn.  The record that was begun is late: it is not written
// where a newer one is, and the newer one not where it is being written.
//

static
VOID
TestLateRecords(
    _In_ PCTEST_HOOK Hook
    )
{
    ULONGLONG Collided;
    ULONG Seen[3];
    ULONG Step;
    ULONG Steps;
    ULONG Whole;
    ULONG Missing;

    RtlZeroBytes(Seen, sizeof(Seen));
    Steps = 1;
    for (Step = 0; Step < Steps; Step += 1) {
        TestStart(TEST_SMALL_RING, 64);
        TestStepCall(Hook, 8, Step, TEST_NESTED_PAIRS);
        Steps = TestStepping.Steps;
        TEST_EQUAL(TestStepping.Interrupts, 1);
        TEST_EQUAL(KernelTestReserved(), 1 + 2 * TEST_NESTED_PAIRS);
        Collided = KERNEL_TEST_COUNTER(Collided);
        TEST(Collided <= 1);
        Whole = KernelTestWholeRecords(0, &Missing);
        TEST_EQUAL(Whole + Missing, TEST_SMALL_RING);
        TEST(Missing <= Collided);
        TestCheckWhole(Hook);
        Seen[Collided + Missing] += 1;
        TracerKernelStop();
    }

    //
    // Not begun or done; late; in the way of a newer one.
    //

    TEST(Seen[0] > 50);
    TEST(Seen[1] > 5);
    TEST(Seen[2] > 3);
    RtlWriteText(TestOutput,
                 "%s: %lu instructions; late %lu, in the way %lu\n",
                 Hook->Name,
                 Steps,
                 Seen[1],
                 Seen[2]);
}

static
VOID
TestChooseVectorLevel(
    VOID
    )
{
    TestVectorLevel = IsProcessorFeaturePresent(40) ? 1 : 0;    // AVX2
}

VOID
KernelTestState(
    VOID
    )
{
    TestChooseVectorLevel();
    TestChanges();
    TestBrokenHooks();
    TestStackUse();
}

VOID
KernelTestInterrupts(
    VOID
    )
{
    PVOID Handler;
    ULONG Offset;

    //
    // Exceptions do not bring back what lies above xmm everywhere.
    //

    TestVectorLevel = 0;
    Handler = AddVectoredExceptionHandler(1, TestStep);
    for (Offset = 0; Offset < 16; Offset += 8) {
        TestInterruptedCall(&TestHooks[0], &TestHooks[1], Offset);
        TestInterruptedCall(&TestHooks[2], &TestHooks[3], Offset);
        TestInterruptedCall(&TestHooks[4], &TestHooks[5], Offset);
    }
    TestLateRecords(&TestHooks[0]);
    TestLateRecords(&TestHooks[1]);
    TestLateRecords(&TestHooks[4]);
    TestLateRecords(&TestHooks[5]);
    RemoveVectoredExceptionHandler(Handler);
}
