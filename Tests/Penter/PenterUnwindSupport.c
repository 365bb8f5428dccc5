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
    BOOLEAN IsCheck;                // the C part is the one that looks who
                                    // has called
    PTRACE_STORE Rearmed;               // at each step, as by an exception
    ULONG NumberOfSteps;
    ULONG NumberOfSlowPaths;
    ULONG NumberOfChecks;               // of callers
    ULONGLONG NameTicks;                // when the name was read last
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

//
// Adds an address to a list if it is not there yet.
// Returns TRUE if it is new.
//

static
BOOLEAN
PenterTestAddPlace(
    _Inout_updates_(TEST_MAXIMUM_PLACES) ULONG_PTR *Places,
    _Inout_ PULONG NumberOfPlaces,
    _In_ ULONG_PTR Place
    )
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

//
// Tells whether code is pops of general registers and then a jmp.
//

static
BOOLEAN
PenterTestIsJumpEpilog(
    _In_ const BYTE *Code
    )
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

//
// Unwinds from a point inside a hook to the call of the hook.
// Start: the registers there.
// Returns TRUE if everything comes out right.
//

static
DECLSPEC_NOINLINE
BOOLEAN
PenterTestUnwindContext(
    _In_ const CONTEXT *Start
    )
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

//
// Called at the first instruction of a C part. Checks how it was called, takes
// the 32 bytes above the return address, which are the callee's, and sets the
// breakpoint.
//

static
VOID
PenterTestEnterSlowPath(
    _Inout_ PCONTEXT Context
    )
{
    if ((Context->Rsp & 15) != 8 || (Context->EFlags & 0x400) != 0) {
        TestStepping.NumberFailed += 1;
    }

    RtlFillBytes((PVOID)(Context->Rsp + 8), 32, 0xEE);
    TestStepping.BreakpointAddress = *(PBYTE *)Context->Rsp;
    TestStepping.SavedByte = *TestStepping.BreakpointAddress;
    *TestStepping.BreakpointAddress = TEST_BREAKPOINT;
    Context->EFlags &= ~TEST_TRAP_FLAG;
}

//
// Called where a C part returns to. Changes all that a callee may change,
// whether the C part did or not; the one that looks who has called does not
// change the last error.
//
// Context: the registers; al holds the return value.
//

static
VOID
PenterTestLeaveSlowPath(
    _Inout_ PCONTEXT Context
    )
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
    if (!TestStepping.IsCheck) {
        __writegsdword(TEST_TEB_LAST_ERROR, 0xEEEEEEEE);
    }
}

//
// Handles the trap after an instruction, and the breakpoint behind the C part.
// Pointers: the exception.
// Returns whether the thread goes on.
//

static
LONG
NTAPI
PenterTestStep(
    _In_ PEXCEPTION_POINTERS Pointers
    )
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
    if (TestStepping.Rearmed != NULL) {
        TraceCallerArm(TestStepping.Rearmed);
    }
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

    TestStepping.IsCheck = Context->Rip == (ULONG_PTR)PenterCheck;
    if (TestStepping.IsCheck) {
        TestStepping.NumberOfChecks += 1;
        PenterTestEnterSlowPath(Context);
    } else if (Context->Rip == (ULONG_PTR)PenterSlowPath) {
        TestStepping.NumberOfSlowPaths += 1;
        PenterTestEnterSlowPath(Context);
    } else {
        Context->EFlags |= TEST_TRAP_FLAG;
    }

    return EXCEPTION_CONTINUE_EXECUTION;
}

//
// Says when the calling thread's name was read last.
// Returns the time stamp; 0 if there is no store.
//

static
ULONGLONG
PenterTestNameTicks(
    VOID
    )
{
    PTRACE_STORE_HEADER Header;

    Header = PenterTestContext();
    if (Header == NULL || Header->WriterContext == 0) {
        return 0;
    }

    return ((PTRACE_STORE)(ULONG_PTR)Header->WriterContext)->NameTicks;
}

//
// Prepares HookCallOnce for stepping through a call.
// Routine, StackOffset: what PenterTestFillState wants.
//

static
VOID
PenterTestBeginStepping(
    _In_ PPENTER_ROUTINE Routine,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    )
{
    TestStepping.NumberFailed = 0;
    TestStepping.NumberOfSteps = 0;
    TestStepping.NumberOfSlowPaths = 0;
    TestStepping.NumberOfChecks = 0;
    TestStepping.FirstFailed = 0;
    TestStepping.NameTicks = PenterTestNameTicks();
    PenterTestFillState(Routine, StackOffset, Flags | TEST_TRAP_FLAG);
    TestStepping.ThreadId = GetCurrentThreadId();
}

//
// Steps through one call.
// Routine, StackOffset: what PenterTestFillState wants.
// Flags: the flags, without DF: the system's dispatcher relies on it.
// Returns the number of instructions at which unwinding went wrong.
//

static
ULONG
PenterTestStepCall(
    _In_ PPENTER_ROUTINE Routine,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    )
{
    PenterTestBeginStepping(Routine, StackOffset, Flags);
    HookCallOnce();
    TestStepping.ThreadId = 0;
    return TestStepping.NumberFailed;
}

//
// Checks what came of a call that was stepped through.
// NumberOfSlowPaths: how often the C part has to be called.
// Case: the name of the case.
//

static
VOID
PenterTestCheckStep(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG NumberOfSlowPaths,
    _In_z_ PCSZ Case
    )
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

    //
    // Once a second the worker sends the thread to the C part, to read its name
    // again: that may be the one that had to come, or one more.
    //

    if (PenterTestNameTicks() != TestStepping.NameTicks &&
        TestStepping.NumberOfSlowPaths == NumberOfSlowPaths + 1) {

        NumberOfSlowPaths += 1;
    }
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

//
// Steps through one call of a hook and checks what came of it.
// NumberOfSlowPaths: how often the C part has to be called.
// Case: the name of the case.
//

static
VOID
PenterTestStepHook(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags,
    _In_ ULONG NumberOfSlowPaths,
    _In_z_ PCSZ Case
    )
{
    PenterTestResetDepth();
    (VOID)PenterTestStepCall(Hook->Routine, StackOffset, Flags);
    PenterTestCheckStep(Hook, NumberOfSlowPaths, Case);
}

//
// Steps through one call of a hook that comes to a choice, and checks what
// came of it.
// Returns FALSE if this hook, with these settings, never comes to that.
//

static
BOOLEAN
PenterTestStepChoice(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags,
    _In_ TEST_CHOICE Choice
    )
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

//
// Says whether the hooks keep a tree.
// Returns TRUE or FALSE.
//

static
BOOLEAN
PenterTestKeepsTree(
    VOID
    )
{
    return PenterEnterRoutine == PenterTreeRoutines[0][0].Enter ||
           PenterEnterRoutine == PenterTreeRoutines[0][1].Enter ||
           PenterEnterRoutine == PenterTreeRoutines[1][0].Enter ||
           PenterEnterRoutine == PenterTreeRoutines[1][1].Enter;
}

//
// Steps through one call of a hook that keeps a tree.
// Function: the function's address, for the hooks that are given it. With the
// lowest bit set, the exit hook takes its return address for that of the
// function: it was jumped to.
// NumberOfSlowPaths: how often the C part has to be called.
// Case: the name of the case.
//

static
VOID
PenterTestStepTree(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG_PTR Function,
    _In_ ULONG NumberOfSlowPaths,
    _In_z_ PCSZ Case
    )
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

//
// Steps through every path of a pair of hooks that keep a tree. All calls are
// made at one stack pointer.
// Offset: RSP modulo 16.
//

static
VOID
PenterTestStepTreeCases(
    _In_ PCTEST_HOOK Enter,
    _In_ PCTEST_HOOK Exit,
    _In_ ULONG Offset
    )
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
PenterTestDisarm(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Limit
    )
{
    Store->IsArmed = FALSE;
    Store->ArmedLimit = 0;
    Store->Checked = 0;
    Store->Header->Limit = Limit;
}

static
VOID
PenterTestArm(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Highest
    )
{
    ULONG Index;

    //
    // Another hook of this kind was called from the same place.
    //

    for (Index = 0; Index < TRACE_NUMBER_OF_PLACES; Index += 1) {
        Store->Session->Places[Index] = 0;
    }
    if (!Store->IsArmed) {
        TraceCallerArm(Store);
    }
    Store->Highest = Highest;
    TEST(Store->IsArmed && Store->Header->Limit == 0);
}

static
BOOLEAN
PenterTestIsEntry(
    _In_ PCTEST_HOOK Hook
    )
{
    return Hook->Kind == TRACE_KIND_ENTER ||
           Hook->Kind == TRACE_KIND_ENTER_FUNCTION;
}

//
// Steps through every path of a hook.
//

static
VOID
PenterTestStepCases(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    TEST_CHOICE Choice;
    ULONGLONG Limit;
    ULONG Checks;
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
    Limit = Store->IsArmed ? Store->ArmedLimit : Header->Limit;

    (VOID)PenterTestRoutines(&Clock, &Chooses, &Expansion);
    for (Choice = 0; Chooses && Choice < TestNumberOfChoices; Choice += 1) {
        if (PenterTestStepChoice(Hook, StackOffset, 0x8D5, Choice)) {
            (VOID)PenterTestStepChoice(Hook, StackOffset, 0, Choice);
            TestStepping.NumberOfChoices += 1;
        }
    }

    PenterTestDisarm(Store, Limit);
    Header->Limit = Header->Cursor;
    PenterTestStepHook(Hook, StackOffset, 0x0D5, 1, "limit");
    TEST(Header->Limit > Header->Cursor);

    //
    // Armed: before an entry from a place that is not known it is looked who
    // has called; an exit goes by the C part if it is of a call that was open
    // before, and ends that, however often an exception arms the store again
    // meanwhile.
    //

    if (!Chooses) {
        Checks = PenterTestIsEntry(Hook) ? 1 : 0;
        PenterTestArm(Store, MAXULONG64);
        PenterTestStepHook(Hook, StackOffset, 0x8D5, 0, "armed");
        TEST_EQUAL(TestStepping.NumberOfChecks, Checks);
        TEST(Store->IsArmed);
        PenterTestArm(Store, 0);
        if (Checks != 0) {
            PenterTestStepHook(Hook, StackOffset, 0x0D5, 0, "highest");
            TEST_EQUAL(TestStepping.NumberOfChecks, 1);
            TEST(Store->IsArmed);
            PenterTestArm(Store, 0);
            Store->ArmedLimit = Header->Cursor;
            PenterTestStepHook(Hook, StackOffset, 0x0D5, 1, "armed, limit");
            TEST_EQUAL(TestStepping.NumberOfChecks, 1);
        } else {
            TestStepping.Rearmed = Store;
            TEST_EQUAL(PenterTestStepCall(Hook->Routine, StackOffset, 0x0D5),
                       0);
            TestStepping.Rearmed = NULL;
            TEST(TestStepping.NumberOfSlowPaths != 0);
            TEST_EQUAL(TestStepping.NumberOfChecks, 0);
        }
        TEST(Store->Highest != 0);

        PenterTestArm(Store, Checks != 0 ? MAXULONG64 : 0);
        Store->ArmedCalls = 0;
        PenterTestStepHook(Hook, StackOffset, 0x0D5, 1, "armed, end");
        TEST(!Store->IsArmed);
    }
    PenterTestDisarm(Store, Limit);

    Header->Limit = Header->Cursor;
    Store->InSlowPath = TRUE;
    PenterTestStepHook(Hook, StackOffset, 0x8D5, 1, "reentered");
    Store->InSlowPath = FALSE;

    Header->HookFlags |= TRACE_HOOK_STOPPED;
    PenterTestStepHook(Hook, StackOffset, 0x8D5, 0, "stopped");
    Header->HookFlags &= ~TRACE_HOOK_STOPPED;
    Header->Limit = Limit;
}

//
// The child "unwind".
//

VOID
PenterTestUnwind(
    VOID
    )
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
