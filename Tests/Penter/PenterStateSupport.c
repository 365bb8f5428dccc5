/*++

Module Name:

    PenterStateSupport.c

Abstract:

    What TestPenter's children do to prove that a hook changes nothing: on the
    first call of the process and of a thread, while it records, when it needs
    more room, when its store has stopped, when it is called from inside the
    library, when it leaves the call out, and when nothing is recorded.  And the
    negative control: hooks that each change one thing.

--*/

#include "PenterStoreSupport.h"

#define TEST_LIMIT_CALLS        20000
#define TEST_LIMIT_CALLS_QUICK  4000
#define TEST_FAST_ROUNDS        8
#define TEST_RETURN             0xC3

//
// Where the thread's calls came from, by how the hook dealt with them.
//

typedef struct _TEST_PATHS {
    ULONGLONG Recorded;
    ULONGLONG Fast;
    ULONGLONG Slow;
    ULONGLONG Failed;
    ULONGLONG Chosen[TestNumberOfChoices];
} TEST_PATHS;
typedef TEST_PATHS *PTEST_PATHS;

static TEST_PATHS TestPaths;

//
// Makes a call that has to be recorded, and counts by which path.
// Hook, StackOffset, Flags: what PenterTestCall wants.
//

static
VOID
PenterTestRecorded(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags
    )
{
    PTRACE_STORE_HEADER Header;

    PenterTestResetDepth();
    Header = PenterTestContext();
    if (Header == NULL || Header->Cursor >= Header->Limit) {
        TestPaths.Slow += 1;
    } else {
        TestPaths.Fast += 1;
    }

    TestPaths.Recorded += 1;
    if (!PenterTestCall(Hook, StackOffset, Flags, TRUE)) {
        TestPaths.Failed += 1;
    }
}

//
// Makes calls that are a thread's first one.
// Hook, StackOffset: what PenterTestCall wants.
//

static
VOID
PenterTestAttach(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset
    )
{
    static const ULONG Flags[] = { 0x000, 0xCD5, 0x801, 0x4C4 };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Flags); Index += 1) {
        PenterThreadExit();
        TEST(PenterTestContext() == NULL);
        PenterTestRecorded(Hook, StackOffset, Flags[Index]);
        TEST(PenterTestContext() != NULL);
    }
}

//
// Makes calls into a store that has stopped: by the flag, as the library stops
// it.
// Hook, StackOffset: what PenterTestCall wants.
//

static
VOID
PenterTestStopped(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset
    )
{
    PTRACE_STORE_HEADER Header;
    ULONGLONG Limit;
    ULONGLONG Cursor;
    ULONGLONG Lost;
    ULONG Index;

    Header = PenterTestContext();
    Limit = Header->Limit;
    Cursor = Header->Cursor;
    Lost = Header->NumberOfEventsLost;
    Header->HookFlags |= TRACE_HOOK_STOPPED;
    Header->Limit = Cursor;
    PenterTestResetDepth();

    for (Index = 0; Index < TEST_NUMBER_OF_FLAGS; Index += 1) {
        if (!PenterTestCall(Hook, StackOffset, TestFlags[Index], FALSE)) {
            TestPaths.Failed += 1;
        }
    }

    TEST_EQUAL(Header->Cursor, Cursor);
    TEST_EQUAL(Header->NumberOfEventsLost, Lost + TEST_NUMBER_OF_FLAGS);

    Header->HookFlags &= ~TRACE_HOOK_STOPPED;
    Header->Limit = Limit;
}

//
// Makes calls at the limit that find the thread inside the library already:
// the slow path then counts them and goes back without a record.
// Hook, StackOffset: what PenterTestCall wants.
//

static
VOID
PenterTestReentered(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    ULONGLONG Limit;
    ULONGLONG Cursor;
    ULONGLONG Reentered;
    ULONG Index;

    Header = PenterTestContext();
    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    Limit = Header->Limit;
    Cursor = Header->Cursor;
    Reentered = Header->NumberOfEventsReentered;
    Store->InSlowPath = TRUE;
    Header->Limit = Cursor;
    PenterTestResetDepth();

    for (Index = 0; Index < TEST_NUMBER_OF_FLAGS; Index += 1) {
        if (!PenterTestCall(Hook, StackOffset, TestFlags[Index], FALSE)) {
            TestPaths.Failed += 1;
        }
    }

    TEST_EQUAL(Header->Cursor, Cursor);
    TEST_EQUAL(Header->NumberOfEventsReentered,
               Reentered + TEST_NUMBER_OF_FLAGS);

    Store->InSlowPath = FALSE;
    Header->Limit = Limit;
}

//
// Makes a call that comes to one of the choices.
// Hook, StackOffset, Flags: the call. The routine may be another than that of
// the hook whose kind is given.
// Returns FALSE if something is wrong.
//

static
BOOLEAN
PenterTestChosenCall(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset,
    _In_ ULONG Flags,
    _In_ TEST_CHOICE Choice
    )
{
    TEST_CHOSEN Chosen;
    ULONG_PTR StackPointer;

    //
    // Room for two records, so that the slow path stays away.
    //

    while (PenterTestContext()->Cursor + 2 * sizeof(TRACE_RECORD) >
           PenterTestContext()->Limit) {

        PenterTestRecorded(&TestHooks[0], 0, 0);
    }

    //
    // A first call from here says what RSP the second one has.
    //

    PenterTestFillState(PenterReturn, StackOffset, Flags);
    HookCallOnce();
    StackPointer = (ULONG_PTR)HookCall.Expected.General[HOOK_RSP];
    PenterTestFillState(Hook->Routine, StackOffset, Flags);
    if (!PenterTestPrepareChoice(Hook,
                                 StackPointer,
                                 (ULONG)HookCall.Expected.General[HOOK_RCX],
                                 Choice,
                                 &Chosen)) {
        return TRUE;
    }

    HookCallOnce();
    TestPaths.Chosen[Choice] += 1;
    if (Choice == TestChoiceSwitch) {
        TestPaths.Recorded += 1;
    }

    return PenterTestCompareCall(Hook,
                                 StackOffset,
                                 Flags,
                                 PenterTestCheckChoice(Hook, &Chosen));
}

//
// Drives one hook through the paths of those that leave calls out.
// Hook, StackOffset: what PenterTestCall wants.
//

static
VOID
PenterTestChosen(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset
    )
{
    TEST_CHOICE Choice;
    ULONG Index;

    for (Choice = 0; Choice < TestNumberOfChoices; Choice += 1) {
        for (Index = 0; Index < 2 * TEST_NUMBER_OF_FLAGS; Index += 1) {
            if (!PenterTestChosenCall(Hook,
                                      StackOffset,
                                      TestFlags[Index % TEST_NUMBER_OF_FLAGS],
                                      Choice)) {

                TestPaths.Failed += 1;
                RtlWriteText(TestOutput, "choice %u\n", Choice);
            }
        }
    }
}

//
// The negative control of calls that are taken back: exits that are, and that
// change something on the way out.
//

static
VOID
PenterTestBrokenExits(
    VOID
    )
{
    static const struct {
        PPENTER_ROUTINE Routine;
        ULONG Property;
        ULONGLONG Details;
    } Broken[] = {
        { HookBrokenExitCarry, HOOK_PROPERTY_FLAGS, 1 },
        { HookBrokenExitR8, 8, 0 },
        { HookBrokenExitR9, 9, 0 }
    };
    HOOK_DIFFERENCE Difference;
    TEST_CHOSEN Chosen;
    TEST_HOOK Hook;
    ULONG_PTR StackPointer;
    ULONG Index;

    RtlCopyBytes(&Hook, &TestHooks[1], sizeof(Hook));
    PenterTestAttach(&TestHooks[1], 0);

    for (Index = 0; Index < RTL_NUMBER_OF(Broken); Index += 1) {
        PenterTestFillState(PenterReturn, 0, 0);
        HookCallOnce();
        StackPointer = (ULONG_PTR)HookCall.Expected.General[HOOK_RSP];
        PenterTestFillState(Broken[Index].Routine, 0, 0x8D5);
        TEST(PenterTestPrepareChoice(&Hook,
                                     StackPointer,
                                     0,
                                     TestChoiceTakenBack,
                                     &Chosen));
        HookCallOnce();
        TEST(PenterTestCheckChoice(&Hook, &Chosen));
        PenterTestCompareStates(&Difference);
        TEST_EQUAL(Difference.Properties, 1UL << Broken[Index].Property);
        if (Broken[Index].Details != 0) {
            TEST_EQUAL(Difference.Details[Broken[Index].Property],
                       Broken[Index].Details);
        }
    }
}

//
// Drives one hook through all of its paths.
// Hook, StackOffset: what PenterTestCall wants.
//

static
VOID
PenterTestOneHook(
    _In_ PCTEST_HOOK Hook,
    _In_ ULONG StackOffset
    )
{
    ULONGLONG Slow;
    ULONG Calls;
    ULONG Index;
    ULONG Clock;
    BOOLEAN IsChoosing;
    BOOLEAN Expansion;

    PenterTestAttach(Hook, StackOffset);

    (VOID)PenterTestRoutines(&Clock, &IsChoosing, &Expansion);

    for (Index = 0;
         Index < TEST_NUMBER_OF_FLAGS * TEST_FAST_ROUNDS;
         Index += 1) {

        PenterTestRecorded(Hook,
                           StackOffset,
                           TestFlags[Index % TEST_NUMBER_OF_FLAGS]);
    }

    PenterTestStopped(Hook, StackOffset);
    PenterTestReentered(Hook, StackOffset);
    if (IsChoosing) {
        PenterTestChosen(Hook, StackOffset);
    }

    //
    // Enough records for many pages and many views.
    //

    Calls = PenterTestQuick ? TEST_LIMIT_CALLS_QUICK : TEST_LIMIT_CALLS;
    Slow = TestPaths.Slow;
    for (Index = 0; Index < Calls; Index += 1) {
        PenterTestRecorded(Hook,
                           StackOffset,
                           TestFlags[Index % TEST_NUMBER_OF_FLAGS]);
    }
    TEST(TestPaths.Slow > Slow);

    //
    // And the same limit at every flag.
    //

    for (Index = 0; Index < TEST_NUMBER_OF_FLAGS; Index += 1) {
        PenterTestContext()->Limit = PenterTestContext()->Cursor;
        PenterTestRecorded(Hook, StackOffset, TestFlags[Index]);
    }

    TEST_EQUAL(PenterTestContext()->State, TRACE_STATE_OPEN);
    TEST(PenterTestContext()->NumberOfViewChanges > 0);
}

//
// A thread whose first call of all is checked, so that in the expansion
// array's case there is no array yet.
// Returns 0.
//

static
DWORD
WINAPI
PenterTestStateThread(
    _In_ PVOID Argument
    )
{
    PCTEST_HOOK Hook;
    ULONG Index;

    Hook = (PCTEST_HOOK)Argument;
    for (Index = 0; Index < TEST_NUMBER_OF_FLAGS; Index += 1) {
        PenterTestRecorded(Hook, 8 * (Index & 1), TestFlags[Index]);
    }

    return 0;
}

VOID
PenterTestStates(
    VOID
    )
{
    static TEST_PATH Root;
    HANDLE Thread;
    ULONG Index;
    ULONG Clock;
    BOOLEAN Chooses;
    BOOLEAN Expansion;

    PenterTestTakeSlots();

    for (Index = 0; Index < TEST_NUMBER_OF_HOOKS; Index += 1) {
        PenterTestOneHook(&TestHooks[Index], 0);
        PenterTestOneHook(&TestHooks[Index], 8);

        Thread = CreateThread(NULL,
                              0,
                              PenterTestStateThread,
                              (PVOID)&TestHooks[Index],
                              0,
                              NULL);
        TEST(Thread != NULL);
        WaitForSingleObject(Thread, INFINITE);
        CloseHandle(Thread);
    }

    TEST(PenterTestRoutines(&Clock, &Chooses, &Expansion) != NULL);
    TEST_EQUAL(Expansion, TestNumberOfArguments >= 3);
    TEST(Clock < PENTER_NUMBER_OF_CLOCKS);
    if (Chooses) {
        PenterTestBrokenExits();
    }

    PenterThreadExit();
    TEST_EQUAL(TestPaths.Failed, 0);
    TEST(TestPaths.Fast > TestPaths.Slow);

    TEST(PenterTestSessionRoot(&Root));
    TEST_EQUAL(PenterTestSumRecords(&Root), TestPaths.Recorded);

    RtlWriteText(TestOutput,
                 "clock %u, %s: %llu calls recorded by the fast path, %llu by "
                 "the slow",
                 Clock,
                 Chooses ? "choosing" : "plain",
                 TestPaths.Fast,
                 TestPaths.Slow);
    if (Chooses) {
        for (Index = 0; Index < TestNumberOfChoices; Index += 1) {
            TEST(TestPaths.Chosen[Index] > 0);
        }
        RtlWriteText(TestOutput,
                     "; %llu taken back, %llu too deep, %llu inside, %llu on "
                     "another stack, %llu stopped",
                     TestPaths.Chosen[TestChoiceTakenBack],
                     TestPaths.Chosen[TestChoiceTooDeep],
                     TestPaths.Chosen[TestChoiceInside],
                     TestPaths.Chosen[TestChoiceSwitch],
                     TestPaths.Chosen[TestChoiceStopped]);
    }
    RtlWriteText(TestOutput, "\n");
}

//
// The child "first": the very first call in the process, by the hook whose
// number is the third word of the command line, with the stack as the fourth
// one says.
//

VOID
PenterTestFirst(
    VOID
    )
{
    ULONG Hook;
    ULONG StackOffset;

    if (!TEST(TestNumberOfArguments == 4)) {
        return;
    }

    Hook = (ULONG)(TestArguments[2].Wide[0] - L'0');
    StackOffset = (ULONG)(TestArguments[3].Wide[0] - L'0');

    TEST(PenterTestContext() == NULL);
    TEST(PenterTestCall(&TestHooks[Hook], StackOffset, 0xCD5, TRUE));
    TEST(PenterTestCall(&TestHooks[Hook], StackOffset, 0x000, TRUE));
    TEST_EQUAL(PenterTestNumberOfRecords(PenterTestContext()), 2);
}

VOID
PenterTestUnrecorded(
    VOID
    )
{
    MEMORY_BASIC_INFORMATION Memory;
    PTRACE_STORE_HEADER Header;
    PBYTE Code;
    ULONG Hook;
    ULONG StackOffset;
    ULONG Index;
    ULONG Round;
    ULONG Failed;
    ULONGLONG Calls;

    Failed = 0;
    Calls = 0;
    for (Hook = 0; Hook < TEST_NUMBER_OF_HOOKS; Hook += 1) {
        for (StackOffset = 0; StackOffset <= 8; StackOffset += 8) {
            for (Round = 0; Round < 10; Round += 1) {
                for (Index = 0; Index < TEST_NUMBER_OF_FLAGS; Index += 1) {
                    Calls += 1;
                    if (!PenterTestCall(&TestHooks[Hook],
                                        StackOffset,
                                        TestFlags[Index],
                                        FALSE)) {
                        Failed += 1;
                    }
                }
            }
        }
    }
    TEST_EQUAL(Failed, 0);

    //
    // Either the hooks are a bare return, or the thread has a stand-in that
    // counts.
    //

    Header = PenterTestContext();
    if (Header == NULL) {
        TEST(PenterEnterRoutine == PenterReturn);
        TEST(PenterExitRoutine == PenterReturn);
        TEST(PenterEnterFunctionRoutine == PenterReturn);
        TEST(PenterExitFunctionRoutine == PenterReturn);

        //
        // The hooks' own first byte returns, and nobody may write there.
        //

        for (Hook = 0; Hook < TEST_NUMBER_OF_HOOKS; Hook += 1) {
            Code = (PBYTE)(ULONG_PTR)TestHooks[Hook].Routine;
            TEST_EQUAL(*Code, TEST_RETURN);
            TEST(VirtualQuery(Code, &Memory, sizeof(Memory)) != 0);
            TEST_EQUAL(Memory.Protect, PAGE_EXECUTE_READ);
        }
    } else {
        TEST_EQUAL(Header->WriterContext, 0);
        TEST_EQUAL(Header->NumberOfEventsLost, Calls);
    }
}

VOID
PenterTestBroken(
    VOID
    )
{
    PCHOOK_BROKEN Broken;
    HOOK_DIFFERENCE Difference;
    ULONG Level;
    ULONG Index;
    ULONG Skipped;
    ULONG StackOffset;
    ULONG Round;
    BOOLEAN Caught;

    Level = PenterTestVectorLevel();
    Skipped = 0;

    for (StackOffset = 0; StackOffset <= 8; StackOffset += 8) {

        //
        // The positive control: a bare return.
        //

        PenterTestFillState(PenterReturn, StackOffset, TestFlags[9]);
        HookCallOnce();
        PenterTestCompareStates(&Difference);
        TEST_EQUAL(Difference.Properties, 0);

        for (Index = 0; Index < HookNumberOfBroken; Index += 1) {
            Broken = &HookBrokenTable[Index];
            if (Broken->VectorLevel > Level) {
                Skipped += 1;
                continue;
            }

            for (Round = 0; Round < TEST_NUMBER_OF_FLAGS; Round += 1) {
                PenterTestFillState(Broken->Routine,
                                    StackOffset,
                                    TestFlags[Round]);
                HookCallOnce();
                PenterTestCompareStates(&Difference);

                Caught = (Difference.Properties & ~Broken->AlsoChanged) ==
                         (1UL << Broken->Property);
                if (Broken->Details != 0 &&
                    Difference.Details[Broken->Property] != Broken->Details) {

                    Caught = FALSE;
                }
                if (!Caught) {
                    RtlWriteText(TestOutput,
                                 "broken hook \"%s\": properties %x, "
                                 "details %llx\n",
                                 Broken->Name,
                                 Difference.Properties,
                                 Difference.Details[Broken->Property]);
                    break;
                }
            }
            TEST(Caught);
        }
    }

    if (Skipped != 0) {
        TEST_SKIP("broken hooks that need vector registers that are not here");
    }

    RtlWriteText(TestOutput,
                 "%u broken hooks, vector level %u\n",
                 HookNumberOfBroken,
                 Level);
}
