/*++

Module Name:

    PenterUnwindSupport.c

Abstract:

    TestPenter's child that steps through the hooks one instruction at a time,
    and at each one unwinds to the instrumented function with the system's own
    routines: the return address, RSP and every non-volatile register have to
    come out as they were at the call.

    The C part of the slow path is not stepped through: it runs at full speed
    up to a breakpoint on the instruction that it returns to.  There, whatever
    it may change is changed, so that the hook has to put everything back and
    not just what this build's C part happens to use.

    One limit of Wine's is allowed for: its RtlVirtualUnwind does not take a
    jmp for the end of an epilog.  Where unwinding fails, and the code from
    there on is pops and a jmp, and the system is Wine, the instruction is
    counted apart and printed.

--*/

#include "PenterSupport.h"

#define TEST_TRAP_FLAG          0x100
#define TEST_ARITHMETIC_FLAGS   0x8D5
#define TEST_TEB_LAST_ERROR     0x68
#define TEST_BREAKPOINT         0xCC
#define TEST_MAXIMUM_FRAMES     6
#define TEST_MAXIMUM_PLACES     1024

typedef struct _TEST_STEPPING {
    ULONG ThreadId;                 // 0: not stepping
    PBYTE BreakpointAddress;
    BYTE SavedByte;
    BOOLEAN IsWine;
    ULONG NumberOfSteps;
    ULONG NumberOfSlowPaths;
    ULONG NumberFailed;
    ULONG NumberExcepted;
    ULONG NumberOfPlaces;
    ULONG NumberOfExceptedPlaces;
    ULONG NumberOfChoices;
    ULONG_PTR FirstFailed;
    ULONG_PTR Places[TEST_MAXIMUM_PLACES];
    ULONG_PTR ExceptedPlaces[TEST_MAXIMUM_PLACES];
} TEST_STEPPING;

static TEST_STEPPING TestStepping;

static
BOOLEAN
PenterTestAddPlace(
    _Inout_updates_(TEST_MAXIMUM_PLACES) ULONG_PTR *Places,
    _Inout_ PULONG NumberOfPlaces,
    _In_ ULONG_PTR Place
    )
/*++

Routine Description:

    Adds an address to a list if it is not there yet.

Arguments:

    Places, NumberOfPlaces - Supply the list.

    Place - Supplies the address.

Return Value:

    TRUE if it is new.

--*/
{
    ULONG Index;

    for (Index = 0; Index < *NumberOfPlaces; Index += 1) {
        if (Places[Index] == Place) {
            return FALSE;
        }
    }

    if (*NumberOfPlaces < TEST_MAXIMUM_PLACES) {
        Places[*NumberOfPlaces] = Place;
        *NumberOfPlaces += 1;
    }

    return TRUE;
}

static
BOOLEAN
PenterTestIsJumpEpilog(
    _In_ const BYTE *Code
    )
/*++

Routine Description:

    Tells whether code is pops of general registers and then a jmp.

Arguments:

    Code - Supplies the code.

Return Value:

    TRUE if so.

--*/
{
    for (;;) {
        if (Code[0] == 0x41 && (Code[1] & 0xF8) == 0x58) {
            Code += 2;
        } else if ((Code[0] & 0xF8) == 0x58) {
            Code += 1;
        } else {
            break;
        }
    }

    return Code[0] == 0xE9 ||
           Code[0] == 0xEB ||
           (Code[0] == 0xFF && Code[1] == 0x25);
}

static
DECLSPEC_NOINLINE
BOOLEAN
PenterTestUnwindContext(
    _In_ const CONTEXT *Start
    )
/*++

Routine Description:

    Unwinds from a point inside a hook to the call of the hook.

Arguments:

    Start - Supplies the registers there.

Return Value:

    TRUE if everything comes out right.

--*/
{
    CONTEXT Context;
    PRUNTIME_FUNCTION Function;
    ULONG64 ImageBase;
    ULONG64 EstablisherFrame;
    PVOID HandlerData;
    const HOOK_STATE *Expected;
    const M128A *Vectors;
    ULONG Frame;
    ULONG Index;

    RtlCopyBytes(&Context, Start, sizeof(Context));
    Expected = &HookCall.Expected;

    for (Frame = 0; ; Frame += 1) {
        if (Context.Rip == (ULONG_PTR)HookCallOnceSite && Frame > 0) {
            break;
        }
        if (Frame == TEST_MAXIMUM_FRAMES ||
            (Context.Rsp & 7) != 0 ||
            Context.Rsp < Expected->General[HOOK_RSP] - 0x8000 ||
            Context.Rsp >= Expected->General[HOOK_RSP] + 64) {

            return FALSE;
        }

        //
        // Only the innermost routine may be a leaf, and no call returns to a
        // routine's first instruction.
        //

        Function = RtlLookupFunctionEntry(Context.Rip, &ImageBase, NULL);
        if (Frame != 0 && Function != NULL &&
            Context.Rip == ImageBase + Function->BeginAddress) {

            return FALSE;
        }
        if (Function == NULL) {
            if (Frame != 0) {
                return FALSE;
            }
            Context.Rip = *(PULONG64)Context.Rsp;
            Context.Rsp += 8;
        } else {
            RtlVirtualUnwind(UNW_FLAG_NHANDLER,
                             ImageBase,
                             Context.Rip,
                             Function,
                             &Context,
                             &HandlerData,
                             &EstablisherFrame,
                             NULL);
        }
    }

    Vectors = &Context.Xmm6;
    for (Index = 6; Index < 16; Index += 1) {
        if (!RtlAreBytesEqual(&Vectors[Index - 6],
                              Expected->Vectors[Index],
                              16)) {
            return FALSE;
        }
    }

    return Context.Rsp == Expected->General[4] &&
           Context.Rbx == Expected->General[3] &&
           Context.Rbp == Expected->General[5] &&
           Context.Rsi == Expected->General[6] &&
           Context.Rdi == Expected->General[7] &&
           Context.R12 == Expected->General[12] &&
           Context.R13 == Expected->General[13] &&
           Context.R14 == Expected->General[14] &&
           Context.R15 == Expected->General[15];
}

static
VOID
PenterTestEnterSlowPath(
    _Inout_ PCONTEXT Context
    )
/*++

Routine Description:

    Called at the first instruction of the C part.  Checks how it was called,
    takes the 32 bytes above the return address, which are the callee's, and
    sets the breakpoint.

Arguments:

    Context - Supplies the registers.

Return Value:

    None.

--*/
{
    TestStepping.NumberOfSlowPaths += 1;
    if ((Context->Rsp & 15) != 8 || (Context->EFlags & 0x400) != 0) {
        TestStepping.NumberFailed += 1;
    }

    RtlFillBytes((PVOID)(Context->Rsp + 8), 32, 0xEE);
    TestStepping.BreakpointAddress = *(PBYTE *)Context->Rsp;
    TestStepping.SavedByte = *TestStepping.BreakpointAddress;
    *TestStepping.BreakpointAddress = TEST_BREAKPOINT;
    Context->EFlags &= ~TEST_TRAP_FLAG;
}

static
VOID
PenterTestLeaveSlowPath(
    _Inout_ PCONTEXT Context
    )
/*++

Routine Description:

    Called where the C part returns to.  Changes all that a callee may change,
    whether the C part did or not.

Arguments:

    Context - Supplies the registers; al holds the return value.

Return Value:

    None.

--*/
{
    *TestStepping.BreakpointAddress = TestStepping.SavedByte;
    Context->Rip = (ULONG_PTR)TestStepping.BreakpointAddress;
    TestStepping.BreakpointAddress = NULL;

    Context->Rax = 0xEEEEEEEEEEEEEE00 | (Context->Rax & 0xFF);
    Context->Rcx = 0xEEEEEEEEEEEEEEEE;
    Context->Rdx = 0xEEEEEEEEEEEEEEEE;
    Context->R8 = 0xEEEEEEEEEEEEEEEE;
    Context->R9 = 0xEEEEEEEEEEEEEEEE;
    Context->R10 = 0xEEEEEEEEEEEEEEEE;
    Context->R11 = 0xEEEEEEEEEEEEEEEE;
    RtlFillBytes(&Context->Xmm0, 6 * sizeof(M128A), 0xEE);
    Context->EFlags ^= TEST_ARITHMETIC_FLAGS;
    __writegsdword(TEST_TEB_LAST_ERROR, 0xEEEEEEEE);
}

static
LONG
NTAPI
PenterTestStep(
    _In_ PEXCEPTION_POINTERS Pointers
    )
/*++

Routine Description:

    Handles the trap after an instruction, and the breakpoint behind the C
    part.

Arguments:

    Pointers - Supplies the exception.

Return Value:

    Whether the thread goes on.

--*/
{
    PCONTEXT Context;
    DWORD Code;
    BOOLEAN IsRight;

    if (TestStepping.ThreadId != GetCurrentThreadId()) {
        return EXCEPTION_CONTINUE_SEARCH;
    }

    Context = Pointers->ContextRecord;
    Code = Pointers->ExceptionRecord->ExceptionCode;
    if (Code == (DWORD)EXCEPTION_BREAKPOINT &&
        Pointers->ExceptionRecord->ExceptionAddress ==
        TestStepping.BreakpointAddress) {

        PenterTestLeaveSlowPath(Context);

    } else if (Code != (DWORD)EXCEPTION_SINGLE_STEP) {
        return EXCEPTION_CONTINUE_SEARCH;
    }

    if (Context->Rip == (ULONG_PTR)HookCallOnceSite) {
        Context->EFlags &= ~TEST_TRAP_FLAG;
        TestStepping.ThreadId = 0;
        return EXCEPTION_CONTINUE_EXECUTION;
    }

    TestStepping.NumberOfSteps += 1;
    PenterTestAddPlace(TestStepping.Places,
                       &TestStepping.NumberOfPlaces,
                       Context->Rip);

    IsRight = FALSE;
    __try {
        IsRight = PenterTestUnwindContext(Context);
    } __except (EXCEPTION_EXECUTE_HANDLER) {

        //
        // A wrong frame register leads anywhere.
        //

        IsRight = FALSE;
    }

    if (!IsRight) {
        if (TestStepping.IsWine &&
            PenterTestIsJumpEpilog((const BYTE *)Context->Rip)) {

            TestStepping.NumberExcepted += 1;
            PenterTestAddPlace(TestStepping.ExceptedPlaces,
                               &TestStepping.NumberOfExceptedPlaces,
                               Context->Rip);
        } else {
            TestStepping.NumberFailed += 1;
            if (TestStepping.FirstFailed == 0) {
                TestStepping.FirstFailed = Context->Rip;
            }
        }
    }

    if (Context->Rip == (ULONG_PTR)PenterSlowPath) {
        PenterTestEnterSlowPath(Context);
    } else {
        Context->EFlags |= TEST_TRAP_FLAG;
    }

    return EXCEPTION_CONTINUE_EXECUTION;
}

static
VOID
PenterTestBeginStepping(
    _In_ PPENTER_ROUTINE Routine,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    )
/*++

Routine Description:

    Prepares HookCallOnce for stepping through a call.

Arguments:

    Routine, StackOffset - Supply what PenterTestFillState wants.

    Flags - Supplies the flags.

Return Value:

    None.

--*/
{
    TestStepping.NumberFailed = 0;
    TestStepping.NumberOfSteps = 0;
    TestStepping.NumberOfSlowPaths = 0;
    TestStepping.FirstFailed = 0;
    PenterTestFillState(Routine, StackOffset, Flags | TEST_TRAP_FLAG);
    TestStepping.ThreadId = GetCurrentThreadId();
}

static
ULONG
PenterTestStepCall(
    _In_ PPENTER_ROUTINE Routine,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    )
/*++

Routine Description:

    Steps through one call.

Arguments:

    Routine, StackOffset - Supply what PenterTestFillState wants.

    Flags - Supplies the flags, without DF: the system's dispatcher relies on
        it.

Return Value:

    The number of instructions at which unwinding went wrong.

--*/
{
    PenterTestBeginStepping(Routine, StackOffset, Flags);
    HookCallOnce();
    TestStepping.ThreadId = 0;
    return TestStepping.NumberFailed;
}

static
VOID
PenterTestCheckStep(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG NumberOfSlowPaths,
    _In_z_ PCSZ Case
    )
/*++

Routine Description:

    Checks what came of a call that was stepped through.

Arguments:

    Hook - Supplies the hook.

    NumberOfSlowPaths - Supplies how often the C part has to be called.

    Case - Supplies the name of the case.

Return Value:

    None.

--*/
{
    HOOK_DIFFERENCE Difference;

    if (!TEST_EQUAL(TestStepping.NumberFailed, 0)) {

        RtlWriteText(TestOutput,
                     "%s, %s: unwinding fails at _penter%c%llx\n",
                     Hook->Name,
                     Case,
                     TestStepping.FirstFailed < (ULONG_PTR)_penter ? '-' : '+',
                     TestStepping.FirstFailed < (ULONG_PTR)_penter ?
                     (ULONG_PTR)_penter - TestStepping.FirstFailed :
                     TestStepping.FirstFailed - (ULONG_PTR)_penter);
    }
    TEST(TestStepping.NumberOfSteps > 1);
    TEST_EQUAL(TestStepping.NumberOfSlowPaths, NumberOfSlowPaths);

    //
    // Exceptions do not bring back the upper halves of vector registers
    // everywhere: what is looked at here is the rest.  A C part that has
    // changed all that it may has been made up for by now.
    //

    PenterTestCompareStates(&Difference);
    TEST_EQUAL(Difference.Properties &
               ~((1UL << HOOK_PROPERTY_MIDDLE) |
                 (1UL << HOOK_PROPERTY_HIGH) |
                 (1UL << HOOK_PROPERTY_MASKS)),
               0);
}

static
VOID
PenterTestStepHook(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags,
    _In_ ULONG NumberOfSlowPaths,
    _In_z_ PCSZ Case
    )
/*++

Routine Description:

    Steps through one call of a hook and checks what came of it.

Arguments:

    Hook, StackOffset, Flags - Supply the call.

    NumberOfSlowPaths - Supplies how often the C part has to be called.

    Case - Supplies the name of the case.

Return Value:

    None.

--*/
{
    PenterTestResetDepth();
    (VOID)PenterTestStepCall(Hook->Routine, StackOffset, Flags);
    PenterTestCheckStep(Hook, NumberOfSlowPaths, Case);
}

static
BOOLEAN
PenterTestStepChoice(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags,
    _In_ TEST_CHOICE Choice
    )
/*++

Routine Description:

    Steps through one call of a hook that comes to a choice, and checks what
    came of it.

Arguments:

    Hook, StackOffset, Flags - Supply the call.

    Choice - Supplies the choice.

Return Value:

    FALSE if this hook, with these settings, never comes to that.

--*/
{
    static const PCSZ Cases[TestNumberOfChoices] = {
        "taken back", "too deep", "inside", "another stack", "stopped"
    };
    TEST_CHOSEN Chosen;
    ULONG_PTR StackPointer;

    PenterTestFillState(PenterReturn, StackOffset, Flags);
    HookCallOnce();
    StackPointer = (ULONG_PTR)HookCall.Expected.General[HOOK_RSP];
    PenterTestBeginStepping(Hook->Routine, StackOffset, Flags);
    TestStepping.ThreadId = 0;
    if (!PenterTestPrepareChoice(Hook,
                                 StackPointer,
                                 (ULONG)HookCall.Expected.General[HOOK_RCX],
                                 Choice,
                                 &Chosen)) {
        return FALSE;
    }

    TestStepping.ThreadId = GetCurrentThreadId();
    HookCallOnce();
    TestStepping.ThreadId = 0;
    TEST(PenterTestCheckChoice(Hook, &Chosen));
    PenterTestCheckStep(Hook,
                        Choice == TestChoiceSwitch ? 1 : 0,
                        Cases[Choice]);
    return TRUE;
}

static
BOOLEAN
PenterTestKeepsTree(
    VOID
    )
/*++

Routine Description:

    Says whether the hooks keep a tree.

Arguments:

    None.

Return Value:

    TRUE or FALSE.

--*/
{
    return PenterEnterRoutine == PenterTreeRoutines[0][0].Enter ||
           PenterEnterRoutine == PenterTreeRoutines[0][1].Enter ||
           PenterEnterRoutine == PenterTreeRoutines[1][0].Enter ||
           PenterEnterRoutine == PenterTreeRoutines[1][1].Enter;
}

static
VOID
PenterTestStepTree(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG_PTR Function,
    _In_ ULONG NumberOfSlowPaths,
    _In_z_ PCSZ Case
    )
/*++

Routine Description:

    Steps through one call of a hook that keeps a tree.

Arguments:

    Hook, StackOffset - Supply the call.

    Function - Supplies the function's address, for the hooks that are given it.
        With the lowest bit set, the exit hook takes its return address for
        that of the function: it was jumped to.

    NumberOfSlowPaths - Supplies how often the C part has to be called.

    Case - Supplies the name of the case.

Return Value:

    None.

--*/
{
    PenterTestBeginStepping(Hook->Routine, StackOffset, 0x8D5);
    HookCall.Expected.General[HOOK_RCX] = Function & ~(ULONG_PTR)1;
    if ((Function & 1) != 0) {
        HookCall.Expected.General[2] = (ULONG_PTR)HookCallOnceSite;
    }
    HookCallOnce();
    TestStepping.ThreadId = 0;
    PenterTestCheckStep(Hook, NumberOfSlowPaths, Case);
}

static
VOID
PenterTestStepTreeCases(
    _In_ PCTEST_HOOK Enter,
    _In_ PCTEST_HOOK Exit,
    _In_ ULONG Offset
    )
/*++

Routine Description:

    Steps through every path of a pair of hooks that keep a tree.  All calls are
    made at one stack pointer.

Arguments:

    Enter, Exit - Supply the hooks.

    Offset - Supplies RSP modulo 16.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    PTRACE_FRAME Frame;
    ULONGLONG Lost;
    ULONGLONG Calls;
    ULONGLONG Index;

    PenterThreadExit();
    PenterTestStepTree(Enter, Offset, 0x1000, 2, "attach");
    Header = PenterTestContext();
    if (!TEST(Header != NULL)) {
        return;
    }
    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    PenterTestStepTree(Exit, Offset, 0x1000, 0, "first exit");
    PenterTestStepTree(Enter, Offset, 0x1000, 0, "entry");
    PenterTestStepTree(Exit, Offset, 0x1000, 0, "exit");

    //
    // Another child than the last one, and one that is not there.
    //

    Store->Tree.Nodes->LastChild = (ULONG_PTR)Store->Tree.Nodes;
    PenterTestStepTree(Enter, Offset, 0x1000, 0, "child");
    Store->Tree.Nodes[1].Minimum = 1;
    Store->Tree.Nodes[1].Maximum = 0;
    PenterTestStepTree(Exit, Offset, 0x1000, 0, "maximum");
    Store->Tree.Nodes[1].Minimum = MAXULONG64 - 1;
    PenterTestStepTree(Enter, Offset, 0x1000, 0, "entry");
    PenterTestStepTree(Exit, Offset, 0x1000, 0, "minimum");
    Calls = 4;
    if (Enter->SiteIsArgument) {
        PenterTestStepTree(Enter, Offset, 0x2000, 1, "new child");
        PenterTestStepTree(Exit, Offset, 0x2000, 0, "exit");
        Store->Tree.NodesEnd = (ULONG_PTR)Store->Tree.Nodes;
        PenterTestStepTree(Enter, Offset, 0x3000, 1, "other");
        PenterTestStepTree(Exit, Offset, 0x3000, 0, "exit of other");
        PenterTestStepTree(Enter, Offset, 0x4000, 0, "known other");
        PenterTestStepTree(Exit, Offset, 0x4000, 0, "exit of other");
        PenterTestStepTree(Enter, Offset, 0x1000, 0, "entry");
        Frame = (PTRACE_FRAME)(ULONG_PTR)Header->Cursor;
        Frame->Stack -= 64;
        PenterTestStepTree(Exit, Offset, 0x1001, 0, "jump");
        PenterTestStepTree(Enter, Offset, 0x1000, 0, "entry");
        Frame->Flags = 0;
        PenterTestStepTree(Enter, Offset, 0x2000, 1, "new inlined");
        PenterTestStepTree(Exit, Offset, 0x2000, 0, "new inlined");
        PenterTestStepTree(Enter, Offset, 0x2000, 0, "inlined");
        PenterTestStepTree(Exit, Offset, 0x2000, 0, "inlined");
        PenterTestStepTree(Exit, Offset, 0x1000, 0, "exit");
        Calls += 7;
    }

    //
    // What has gone, and what was not there.
    //

    PenterTestStepTree(Enter, Offset, 0x1000, 0, "entry");
    PenterTestStepTree(Enter,
                       Offset,
                       0x1000,
                       Enter->SiteIsArgument ? 1 : 0,
                       "gone");
    TEST_EQUAL(Store->Tree.Nodes[1].Abandoned, 1);
    PenterTestStepTree(Exit, Offset, 0x1000, 0, "exit");
    PenterTestStepTree(Exit, Offset, 0x1000, 1, "unmatched");
    TEST_EQUAL(Header->NumberOfUnmatchedExits, 1);

    //
    // Another stack, the limit, a clock that goes back.
    //

    Store->Tree.StackSize = 1;
    PenterTestStepTree(Enter, Offset, 0x1000, 1, "stack");
    Store->Tree.StackSize = 1;
    PenterTestStepTree(Exit, Offset, 0x1000, 1, "stack");
    Header->Limit = 0;
    PenterTestStepTree(Enter, Offset, 0x1000, 1, "limit");
    ((PTRACE_FRAME)(ULONG_PTR)Header->Cursor)->Start = MAXULONG64;
    PenterTestStepTree(Exit, Offset, 0x1000, 1, "back");
    Calls += 4;

    //
    // Inside the library, and stopped.
    //

    Header->Limit = 0;
    Store->InSlowPath = TRUE;
    PenterTestStepTree(Enter, Offset, 0x1000, 1, "reentered");
    PenterTestStepTree(Exit, Offset, 0x1000, 1, "reentered");
    Store->InSlowPath = FALSE;
    TEST_EQUAL(Header->NumberOfEventsReentered, 2);
    TraceTreeStop(Store, __rdtsc());
    Lost = Header->NumberOfEventsLost;
    PenterTestStepTree(Enter, Offset, 0x1000, 0, "stopped");
    PenterTestStepTree(Exit, Offset, 0x1000, 0, "stopped");
    TEST_EQUAL(Header->NumberOfEventsLost, Lost + 2);
    TraceTreeStart(Store, __rdtsc());
    for (Index = 0; Index < Header->NumberOfNodes; Index += 1) {
        Calls -= Store->Tree.Nodes[Index].Calls;
    }
    TEST_EQUAL(Calls, 0);
}

static
VOID
PenterTestStepCases(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset
    )
/*++

Routine Description:

    Steps through every path of a hook.

Arguments:

    Hook, StackOffset - Supply the call.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    TEST_CHOICE Choice;
    ULONGLONG Limit;
    ULONG Clock;
    BOOLEAN Chooses;
    BOOLEAN Expansion;

    PenterThreadExit();
    PenterTestStepHook(Hook, StackOffset, 0x8D5, 1, "attach");
    PenterTestStepHook(Hook, StackOffset, 0x801, 0, "record");
    PenterTestStepHook(Hook, StackOffset, 0x0C4, 0, "record");

    Header = PenterTestContext();
    if (!TEST(Header != NULL)) {
        return;
    }
    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    Limit = Header->Limit;

    (VOID)PenterTestRoutines(&Clock, &Chooses, &Expansion);
    for (Choice = 0; Chooses && Choice < TestNumberOfChoices; Choice += 1) {
        if (PenterTestStepChoice(Hook, StackOffset, 0x8D5, Choice)) {
            (VOID)PenterTestStepChoice(Hook, StackOffset, 0, Choice);
            TestStepping.NumberOfChoices += 1;
        }
    }

    Header->Limit = Header->Cursor;
    PenterTestStepHook(Hook, StackOffset, 0x0D5, 1, "limit");
    TEST(Header->Limit > Header->Cursor);

    Header->Limit = Header->Cursor;
    Store->InSlowPath = TRUE;
    PenterTestStepHook(Hook, StackOffset, 0x8D5, 1, "reentered");
    Store->InSlowPath = FALSE;

    Header->HookFlags |= TRACE_HOOK_STOPPED;
    PenterTestStepHook(Hook, StackOffset, 0x8D5, 0, "stopped");
    Header->HookFlags &= ~TRACE_HOOK_STOPPED;
    Header->Limit = Limit;
}

VOID
PenterTestUnwind(
    VOID
    )
/*++

Routine Description:

    The child "unwind".

Arguments:

    None.

Return Value:

    None.

--*/
{
    static const PCTEST_HOOK Pairs[TEST_NUMBER_OF_HOOKS / 2][2] = {
        { &TestHooks[0], &TestHooks[1] },
        { &TestHooks[3], &TestHooks[2] },
        { &TestHooks[4], &TestHooks[5] }
    };
    HMODULE Ntdll;
    PVOID Handler;
    DWORD Old;
    ULONG Index;

    Ntdll = GetModuleHandleW(L"ntdll.dll");
    TestStepping.IsWine = Ntdll != NULL &&
                          GetProcAddress(Ntdll, "wine_get_version") != NULL;

    //
    // Where the breakpoints go: from the hooks to the end of their object, less
    // than 32 KiB.
    //

    if (!TEST(VirtualProtect((PVOID)(ULONG_PTR)_penter,
                             0x8000,
                             PAGE_EXECUTE_READWRITE,
                             &Old))) {
        return;
    }

    PenterTestTakeSlots();
    Handler = AddVectoredExceptionHandler(1, PenterTestStep);
    TEST(Handler != NULL);

    //
    // The negative controls, and the positive one beside them.
    //

    TEST(PenterTestStepCall(HookUnwindMissing, 0, 0) > 0);
    TEST(PenterTestStepCall(HookUnwindRegister, 8, 0) > 0);
    TEST(PenterTestStepCall(HookUnwindSize, 0, 0) > 0);
    TEST_EQUAL(PenterTestStepCall(HookUnwindRight, 8, 0), 0);
    TEST_EQUAL(TestStepping.NumberOfSteps, 7);
    TestStepping.NumberOfPlaces = 0;

    //
    // The very first call of the process, which also asks the processor for
    // the size of its state: it goes through the C part twice, and once more
    // where there is a tree to be begun.
    //

    (VOID)PenterTestStepCall(TestHooks[0].Routine, 8, 0x8D5);
    PenterTestCheckStep(&TestHooks[0],
                        PenterTestKeepsTree() ? 3 : 2,
                        "first");

    for (Index = 0; Index < TEST_NUMBER_OF_HOOKS; Index += 1) {
        if (!PenterTestKeepsTree()) {
            PenterTestStepCases(&TestHooks[Index], 0);
            PenterTestStepCases(&TestHooks[Index], 8);
        } else if (Index < TEST_NUMBER_OF_HOOKS / 2) {
            PenterTestStepTreeCases(Pairs[Index][0], Pairs[Index][1], 0);
            PenterTestStepTreeCases(Pairs[Index][0], Pairs[Index][1], 8);
        }
    }

    RemoveVectoredExceptionHandler(Handler);

    RtlWriteText(TestOutput,
                 "%u instructions unwound, %u choices; %u of them not by "
                 "Wine, where pops and a jmp follow:\n",
                 TestStepping.NumberOfPlaces,
                 TestStepping.NumberOfChoices,
                 TestStepping.NumberOfExceptedPlaces);
    for (Index = 0; Index < TestStepping.NumberOfExceptedPlaces; Index += 1) {
        RtlWriteText(TestOutput,
                     " _penter+%llx",
                     TestStepping.ExceptedPlaces[Index] - (ULONG_PTR)_penter);
    }
    RtlWriteText(TestOutput, "\n");
}
