/*++

Module Name:

    PenterChoiceSupport.c

Abstract:

    What TestPenter's children do to test the hooks that leave calls out: single
    calls that are prepared so that they take one path; and random sequences of
    calls at chosen stack pointers, each compared with what a plain model of the
    rules says of it.

--*/

#include "PenterSupport.h"

#define TEST_TEB_STACK_BASE         0x08

#define TEST_CHOICE_STACKS          3
#define TEST_CHOICE_MAXIMUM_DEPTH   5
#define TEST_CHOICE_FRAMES          64
#define TEST_CHOICE_EVENTS          40000
#define TEST_CHOICE_EVENTS_QUICK    12000
#define TEST_CHOICE_AREA            0x10000
#define TEST_CHOICE_STACK_DISTANCE  0x5000
#define TEST_CHOICE_STACK_SIZE      0x3000
#define TEST_CHOICE_VIEW            0x10000

//
// What a control changes in the model, which must be noticed.
//

#define TEST_CONTROL_NONE           0
#define TEST_CONTROL_EQUAL          1   // an entry leaves open what is at its
                                        // own stack pointer
#define TEST_CONTROL_INLINED        2   // an inlined entry closes its caller
#define TEST_CONTROL_OWN            3   // an exit leaves its own call open
#define TEST_CONTROL_VIEW           4   // calls are taken back from the last
                                        // view
#define TEST_CONTROL_DISTANCE       5   // and from 4 KiB above
#define TEST_CONTROL_SITE           6   // and of other functions
#define TEST_CONTROL_INSIDE         7   // a call inside one that is left out is
                                        // not counted
#define TEST_CONTROL_STACK          8   // all stacks are one
#define TEST_NUMBER_OF_CONTROLS     9

_Use_decl_annotations_
BOOLEAN
PenterTestPrepareChoice(
    PCTEST_HOOK Hook,
    ULONG_PTR StackPointer,
    ULONG Argument,
    TEST_CHOICE Choice,
    PTEST_CHOSEN Chosen
    )
/*++

Routine Description:

    Prepares the calling thread's store for a call that comes to a choice.

Arguments:

    Hook - Supplies the hook.

    StackPointer - Supplies RSP at the call.

    Argument - Supplies the low half of rcx at the call.

    Choice - Supplies the choice.

    Chosen - Receives what PenterTestCheckChoice needs.

Return Value:

    FALSE if this hook, with these settings, never comes to that.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    PTRACE_DEPTH Depth;
    PTRACE_RECORD Record;
    ULONG Index;
    BOOLEAN IsEnter;

    Header = PenterTestContext();
    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    Depth = Store->Depth;
    IsEnter = Hook->Kind == TRACE_KIND_ENTER ||
              Hook->Kind == TRACE_KIND_ENTER_FUNCTION;

    if (Choice == TestChoiceTakenBack || Choice == TestChoiceStopped) {
        if (IsEnter) {
            return FALSE;
        }
    } else if (Depth == NULL || (Choice == TestChoiceTooDeep && !IsEnter)) {
        return FALSE;
    }

    PenterTestResetDepth();
    Chosen->Choice = Choice;
    Chosen->Header = Header;
    Chosen->Store = Store;
    Chosen->MinimumDuration = Header->MinimumDuration;
    Chosen->Limit = Header->Limit;
    Chosen->TakenBack = Header->NumberOfCallsTakenBack;
    Chosen->TooDeep = Header->NumberOfEventsTooDeep;
    Chosen->Lost = Header->NumberOfEventsLost;
    Header->MinimumDuration = INT64_MAX;

    switch (Choice) {
    case TestChoiceTakenBack:
    case TestChoiceStopped:

        //
        // Its entry is the latest record.
        //

        Record = (PTRACE_RECORD)(ULONG_PTR)Header->Cursor;
        Record->Site = Argument;
        Record->StackKind = (ULONG)StackPointer + Hook->Kind - 1;
        Record->Timestamp = 1;
        Header->Cursor += sizeof(*Record);
        if (Depth != NULL) {
            Depth->Count = 1;
            Depth->Calls[0].Stack = (ULONG)StackPointer;
            Depth->Calls[0].Function = Argument;
        }
        if (Choice == TestChoiceStopped) {
            Header->HookFlags |= TRACE_HOOK_STOPPED;
            Header->Limit = Header->Cursor;
        }
        break;

    case TestChoiceTooDeep:
        for (Index = 0; Index < Depth->Maximum; Index += 1) {
            Depth->Calls[Index].Stack =
                (ULONG)StackPointer + 64 * (Depth->Maximum - Index);
        }
        Depth->Count = Depth->Maximum;
        break;

    case TestChoiceInside:
        Depth->Skipped = 1;
        Depth->SkipStack = (ULONG)StackPointer + 64;
        break;

    default:

        //
        // The depth in use becomes that of another stack, and the next one, if
        // there is one, that of this.
        //

        Header->MinimumDuration = 0;
        if (Depth->Next != NULL) {
            Depth->Next->Count = 0;
            Depth->Next->Skipped = 0;
            Depth->Next->StackBase = Depth->StackBase;
        }
        Depth->StackBase += 0x100000;
        break;
    }

    Chosen->Cursor = Header->Cursor;
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
PenterTestCheckChoice(
    PCTEST_HOOK Hook,
    PTEST_CHOSEN Chosen
    )
/*++

Routine Description:

    Checks that a call has come to the choice that it was prepared for, and
    undoes the preparation.

Arguments:

    Hook - Supplies the hook.

    Chosen - Supplies what PenterTestPrepareChoice has filled.

Return Value:

    TRUE if so.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_DEPTH Depth;
    PTRACE_RECORD Record;
    BOOLEAN IsRight;
    ULONG IsEnter;

    Header = Chosen->Header;
    Depth = Chosen->Store->Depth;
    IsEnter = Hook->Kind & 1;
    Record = (PTRACE_RECORD)(ULONG_PTR)Chosen->Cursor - 1;

    switch (Chosen->Choice) {
    case TestChoiceTakenBack:
        IsRight = Header->Cursor == (ULONG_PTR)Record &&
                  Header->NumberOfCallsTakenBack == Chosen->TakenBack + 1 &&
                  Header->NumberOfEventsTooDeep == Chosen->TooDeep &&
                  Record->Timestamp == 0 &&
                  (Depth == NULL || Depth->Count == 0);
        Header->Cursor = (ULONG_PTR)Record;
        break;

    case TestChoiceStopped:
        IsRight = Header->Cursor == Chosen->Cursor &&
                  Header->NumberOfCallsTakenBack == Chosen->TakenBack &&
                  Header->NumberOfEventsLost == Chosen->Lost + 1 &&
                  Record->Timestamp == 1;
        Header->HookFlags &= ~TRACE_HOOK_STOPPED;
        Header->Limit = Chosen->Limit;
        Header->Cursor = (ULONG_PTR)Record;
        Record->Timestamp = 0;
        break;

    case TestChoiceTooDeep:
        IsRight = Header->Cursor == Chosen->Cursor &&
                  Header->NumberOfEventsTooDeep == Chosen->TooDeep + 1 &&
                  Depth->Count == Depth->Maximum &&
                  Depth->Skipped == 1;
        break;

    case TestChoiceInside:
        IsRight = Header->Cursor == Chosen->Cursor &&
                  Header->NumberOfEventsTooDeep == Chosen->TooDeep + 1 &&
                  Header->NumberOfCallsTakenBack == Chosen->TakenBack &&
                  Depth->Count == 0 &&
                  Depth->Skipped == 2 * IsEnter;
        break;

    default:
        IsRight = Header->Cursor == Chosen->Cursor + sizeof(*Record) &&
                  Depth->StackBase == __readgsqword(TEST_TEB_STACK_BASE) &&
                  Depth->Count == IsEnter;
        break;
    }

    Header->MinimumDuration = Chosen->MinimumDuration;
    PenterTestResetDepth();
    return IsRight;
}

//
// The model: TRACER_MAX_DEPTH and TRACER_MIN_DURATION as the manual has them,
// on whole addresses.
//

typedef struct _TEST_MODEL_STACK {
    ULONG Count;
    ULONG Skipped;
    ULONG_PTR SkipStack;
    ULONG_PTR Open[TEST_CHOICE_MAXIMUM_DEPTH];
    ULONG Functions[TEST_CHOICE_MAXIMUM_DEPTH]; // 0: not known
} TEST_MODEL_STACK;
typedef TEST_MODEL_STACK *PTEST_MODEL_STACK;

typedef struct _TEST_MODEL_RECORD {
    ULONG_PTR StackPointer;
    ULONG Site;
    ULONG Kind;
} TEST_MODEL_RECORD;
typedef TEST_MODEL_RECORD *PTEST_MODEL_RECORD;

typedef struct _TEST_MODEL {
    ULONG Control;
    ULONG Maximum;                      // 0: no limit
    BOOLEAN TakesBack;                  // an entry is young enough
    ULONGLONG TakenBack;
    ULONGLONG TooDeep;
    ULONG NumberOfRecords;
    TEST_MODEL_STACK Stacks[TEST_CHOICE_STACKS];
    TEST_MODEL_RECORD Records[TEST_CHOICE_EVENTS];
} TEST_MODEL;

typedef struct _TEST_EVENT {
    ULONG Stack;
    ULONG Kind;                         // TRACE_KIND_*
    ULONG Site;                         // rcx
    ULONG_PTR StackPointer;
} TEST_EVENT;
typedef TEST_EVENT *PTEST_EVENT;
typedef const TEST_EVENT *PCTEST_EVENT;

//
// The program that makes the calls.
//

typedef struct _TEST_FRAME {
    ULONG_PTR StackPointer;
    ULONG Site;
    BOOLEAN IsFunction;
} TEST_FRAME;

typedef struct _TEST_PROGRAM {
    ULONG Stack;
    ULONG NumberOfFrames[TEST_CHOICE_STACKS];
    ULONG_PTR Top[TEST_CHOICE_STACKS];
    TEST_FRAME Frames[TEST_CHOICE_STACKS][TEST_CHOICE_FRAMES];
} TEST_PROGRAM;

static TEST_MODEL TestModel;
static TEST_PROGRAM TestProgram;

//
// Recorded, taken back, too deep, inside one that is.
//

static ULONGLONG TestChoiceCounts[4];

static
VOID
PenterTestModelCloseFunction(
    _Inout_ PTEST_MODEL_STACK Stack,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Closes the call of a function, and those that it inlined: of the calls that
    have the stack pointer of the deepest one, if one is of that function.

Arguments:

    Stack - Supplies the calls that are open, one at least.

    Function - Supplies the function.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = Stack->Count; Index > 0; Index -= 1) {
        if (Stack->Open[Index - 1] != Stack->Open[Stack->Count - 1]) {
            return;
        }
        if (Stack->Functions[Index - 1] == Function) {
            Stack->Count = Index - 1;
            return;
        }
    }
}

static
VOID
PenterTestModelEvent(
    _In_ PCTEST_EVENT Event
    )
/*++

Routine Description:

    Decides what becomes of a call of a hook.

Arguments:

    Event - Supplies the call.

Return Value:

    None.

--*/
{
    PTEST_MODEL_STACK Stack;
    PTEST_MODEL_RECORD Last;
    ULONGLONG Position;
    ULONG Control;
    BOOLEAN IsEnter;
    BOOLEAN IsFunction;
    BOOLEAN ClosesEqual;
    BOOLEAN HasGone;

    Control = TestModel.Control;
    Stack = &TestModel.Stacks[Control == TEST_CONTROL_STACK ? 0 : Event->Stack];
    IsEnter = Event->Kind == TRACE_KIND_ENTER ||
              Event->Kind == TRACE_KIND_ENTER_FUNCTION;
    IsFunction = Event->Kind == TRACE_KIND_ENTER_FUNCTION ||
                 Event->Kind == TRACE_KIND_EXIT_FUNCTION;

    //
    // A call whose stack pointer is below that of an event has gone; one with
    // the same has gone too if a function is entered there, unless functions
    // may be inlined into others.
    //

    ClosesEqual = IsEnter && !IsFunction && Control != TEST_CONTROL_EQUAL;
    if (Control == TEST_CONTROL_INLINED && IsEnter) {
        ClosesEqual = TRUE;
    }

    if (TestModel.Maximum != 0 && Stack->Skipped != 0) {
        HasGone = Stack->SkipStack < Event->StackPointer ||
                  (ClosesEqual && Stack->SkipStack == Event->StackPointer);
        if (!HasGone) {
            TestModel.TooDeep += 1;
            if (Control != TEST_CONTROL_INSIDE) {
                Stack->Skipped += IsEnter ? 1 : -1;
            }
            TestChoiceCounts[3] += 1;
            return;
        }
    }

    //
    // The latest record is this call's entry, and young, and in the same view:
    // views are 64 KiB, the first of which begins with the header.
    //

    Position = TRACE_HEADER_SIZE +
               (ULONGLONG)TestModel.NumberOfRecords * TRACE_RECORD_SIZE;
    if (!IsEnter && TestModel.TakesBack &&
        TestModel.NumberOfRecords > 0 &&
        (Position % TEST_CHOICE_VIEW != 0 || Control == TEST_CONTROL_VIEW)) {

        Last = &TestModel.Records[TestModel.NumberOfRecords - 1];
        if (Last->Kind + 1 == Event->Kind &&
            Last->StackPointer >= Event->StackPointer &&
            Last->StackPointer - Event->StackPointer <
            (Control == TEST_CONTROL_DISTANCE ? 4104 : 4096) &&
            (!IsFunction || Last->Site == Event->Site ||
             Control == TEST_CONTROL_SITE)) {

            TestModel.NumberOfRecords -= 1;
            TestModel.TakenBack += 1;
            if (TestModel.Maximum != 0 && Stack->Count != 0) {
                Stack->Skipped = 0;
                Stack->Count -= 1;
            }
            TestChoiceCounts[1] += 1;
            return;
        }
    }

    if (TestModel.Maximum != 0) {
        Stack->Skipped = 0;
        while (Stack->Count > 0 &&
               (Stack->Open[Stack->Count - 1] < Event->StackPointer ||
                (ClosesEqual &&
                 Stack->Open[Stack->Count - 1] == Event->StackPointer))) {

            Stack->Count -= 1;
        }
        if (IsEnter && IsFunction && Stack->Count > 0 &&
            Stack->Open[Stack->Count - 1] == Event->StackPointer) {

            PenterTestModelCloseFunction(Stack, Event->Site);
        }
        if (IsEnter) {
            if (Stack->Count == TestModel.Maximum) {
                TestModel.TooDeep += 1;
                Stack->Skipped = 1;
                Stack->SkipStack = Event->StackPointer;
                TestChoiceCounts[2] += 1;
                return;
            }
            Stack->Open[Stack->Count] = Event->StackPointer;
            Stack->Functions[Stack->Count] = IsFunction ? Event->Site : 0;
            Stack->Count += 1;
        } else if (Stack->Count > 0 && Control != TEST_CONTROL_OWN) {
            if (IsFunction) {
                PenterTestModelCloseFunction(Stack, Event->Site);
            } else {
                Stack->Count -= 1;
            }
        }
    }

    Last = &TestModel.Records[TestModel.NumberOfRecords];
    Last->StackPointer = Event->StackPointer;
    Last->Kind = Event->Kind;
    Last->Site = IsFunction ? Event->Site : (ULONG)(ULONG_PTR)HookCallAtSite;
    TestModel.NumberOfRecords += 1;
    TestChoiceCounts[0] += 1;
}

static
VOID
PenterTestNextEvent(
    _Out_ PTEST_EVENT Event
    )
/*++

Routine Description:

    Makes the next call of the program: mostly calls and returns, with frames
    that are abandoned, inlined functions, large frames, switches to other
    stacks, and calls that make no sense.

Arguments:

    Event - Receives the call.

Return Value:

    None.

--*/
{
    static const ULONG Distances[] = { 4072, 4080, 4088, 4096, 4104 };
    TEST_FRAME *Frame;
    PULONG Number;
    ULONG Random;
    ULONG Choice;
    ULONG Stack;

    if (PenterTestRandom() % 24 == 0) {
        TestProgram.Stack = (ULONG)(PenterTestRandom() % TEST_CHOICE_STACKS);
    }

    Stack = TestProgram.Stack;
    Number = &TestProgram.NumberOfFrames[Stack];
    Random = (ULONG)PenterTestRandom();
    Choice = Random % 100;
    Random = (ULONG)PenterTestRandom();
    Event->Stack = Stack;

    //
    // Some frames go without an exit.
    //

    if (Choice < 8) {
        *Number -= *Number < 1 + Random % 4 ? *Number : 1 + Random % 4;
        Choice = (Random >> 8) % 100;
        Random = (ULONG)PenterTestRandom();
    }

    if (Choice >= 94) {
        Event->StackPointer = TestProgram.Top[Stack] -
                              (Random % TEST_CHOICE_STACK_SIZE & ~7UL);
        Event->Kind = 1 + (Random >> 16) % 4;
        Event->Site = 0x1000 * (1 + (Random >> 20) % 3);
        return;
    }

    if (*Number > 0 && Choice < 46) {

        //
        // A return, sometimes with part of its frame still there.
        //

        *Number -= 1;
        Frame = &TestProgram.Frames[Stack][*Number];
        Event->StackPointer = Frame->StackPointer;
        if (Random % 5 == 0) {
            Event->StackPointer -= 8 * ((Random >> 8) % 8);
        } else if (Random % 50 == 1) {
            Event->StackPointer -=
                Distances[(Random >> 8) % RTL_NUMBER_OF(Distances)];
        }
        Event->Kind = Frame->IsFunction ? TRACE_KIND_EXIT_FUNCTION :
                                          TRACE_KIND_EXIT;
        Event->Site = Frame->Site;
        if ((Random >> 16) % 16 == 0) {
            Event->Site ^= 0x3000;
        }
        return;
    }

    //
    // A call: deeper, or where its caller is.
    //

    Event->StackPointer = TestProgram.Top[Stack];
    Event->Kind = (Random & 1) != 0 ? TRACE_KIND_ENTER_FUNCTION :
                                      TRACE_KIND_ENTER;
    if (*Number > 0) {
        Event->StackPointer =
            TestProgram.Frames[Stack][*Number - 1].StackPointer;
        if (Choice < 85) {
            Event->StackPointer -= 8 * (1 + (Random >> 8) % 40);
        } else if (Choice < 87) {
            Event->StackPointer -= 4200;
        }
    }
    Event->Site = 0x1000 * (1 + (Random >> 20) % 3);

    if (*Number == TEST_CHOICE_FRAMES ||
        Event->StackPointer <
        TestProgram.Top[Stack] - TEST_CHOICE_STACK_SIZE) {

        *Number = 0;
        Event->StackPointer = TestProgram.Top[Stack];
    }
    Frame = &TestProgram.Frames[Stack][*Number];
    Frame->StackPointer = Event->StackPointer;
    Frame->Site = Event->Site;
    Frame->IsFunction = Event->Kind == TRACE_KIND_ENTER_FUNCTION;
    *Number += 1;
}

static
BOOLEAN
PenterTestModelAgrees(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCTEST_EVENT Event,
    _In_ ULONG_PTR StackBase
    )
/*++

Routine Description:

    Compares what the hook has made of a call with what the model has.

Arguments:

    Header - Supplies the store's header.

    Event - Supplies the call.

    StackBase - Supplies the highest address of the stack that it was made on.

Return Value:

    TRUE if they agree.

--*/
{
    PTRACE_STORE Store;
    PTRACE_DEPTH Depth;
    PTEST_MODEL_STACK Stack;
    ULONG Index;

    if (Header->Cursor + Header->CursorToFileOffset !=
        TRACE_HEADER_SIZE +
        (ULONGLONG)TestModel.NumberOfRecords * TRACE_RECORD_SIZE ||
        Header->NumberOfCallsTakenBack != TestModel.TakenBack ||
        Header->NumberOfEventsTooDeep != TestModel.TooDeep ||
        Header->NumberOfEventsLost != 0 ||
        Header->NumberOfEventsReentered != 0) {

        return FALSE;
    }

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    Depth = Store->Depth;
    if (TestModel.Maximum == 0) {
        return Depth == NULL;
    }

    Stack = &TestModel.Stacks[Event->Stack];
    if (Depth->StackBase != StackBase ||
        Depth->Count != Stack->Count ||
        Depth->Skipped != Stack->Skipped ||
        (Stack->Skipped != 0 &&
         Depth->SkipStack != (ULONG)Stack->SkipStack)) {

        return FALSE;
    }
    for (Index = 0; Index < Stack->Count; Index += 1) {
        if (Depth->Calls[Index].Stack != (ULONG)Stack->Open[Index] ||
            Depth->Calls[Index].Function != Stack->Functions[Index]) {

            return FALSE;
        }
    }

    return TRUE;
}

static
VOID
PenterTestMatchModel(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Compares a store's records with the model's.

Arguments:

    Context - Supplies the store's sequence number; receives ~0.

    File, Header, SizeInBytes - Supply the store.

Return Value:

    None.

--*/
{
    static TRACE_RECORD Records[TEST_CHOICE_EVENTS];
    PTEST_MODEL_RECORD Expected;
    ULONG Read;
    ULONG Index;
    ULONG Wrong;

    if (*(PULONG)Context != Header->SequenceNumber) {
        return;
    }
    *(PULONG)Context = ~0UL;

    TEST_EQUAL(SizeInBytes,
               TRACE_HEADER_SIZE +
               TestModel.NumberOfRecords * TRACE_RECORD_SIZE);
    TEST_SUCCESS(RtlReadFile(PenterTestRtl,
                             File,
                             TRACE_HEADER_SIZE,
                             Records,
                             sizeof(Records),
                             &Read));
    if (!TEST_EQUAL(Read, TestModel.NumberOfRecords * TRACE_RECORD_SIZE)) {
        return;
    }

    Wrong = 0;
    for (Index = 0; Index < TestModel.NumberOfRecords; Index += 1) {
        Expected = &TestModel.Records[Index];
        if (Records[Index].Site != Expected->Site ||
            Records[Index].StackKind !=
            (ULONG)Expected->StackPointer + Expected->Kind ||
            Records[Index].Timestamp == 0) {

            Wrong += 1;
        }
    }
    TEST_EQUAL(Wrong, 0);
}

static
ULONG
PenterTestRunProgram(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG_PTR Area,
    _In_ ULONG Maximum,
    _In_ ULONG Control,
    _In_ ULONG NumberOfEvents
    )
/*++

Routine Description:

    Makes the calls of one program, in a store of its own.

Arguments:

    Session - Supplies the session.

    Area - Supplies the highest address of the stacks' area.

    Maximum - Supplies the depth; 0: no limit.

    Control - Supplies what is wrong with the model.

    NumberOfEvents - Supplies how many calls.

Return Value:

    The number of the first call that the model and the hook do not agree about,
    or NumberOfEvents.

--*/
{
    static const PPENTER_ROUTINE Hooks[] = {
        NULL,
        _penter,
        _pexit,
        __cyg_profile_func_enter,
        __cyg_profile_func_exit
    };
    PTRACE_STORE_HEADER Header;
    ULONG_PTR StackBase;
    ULONG_PTR Base;
    ULONGLONG Duration;
    TEST_EVENT Event;
    ULONG Index;
    ULONG Stack;
    ULONG Choice;

    PenterThreadExit();
    RtlZeroBytes(&TestModel, FIELD_OFFSET(TEST_MODEL, Records));
    RtlZeroBytes(&TestProgram, sizeof(TestProgram));
    TestModel.Control = Control;
    TestModel.Maximum = Maximum;
    Session->Template->MaximumDepth = Maximum;
    for (Stack = 0; Stack < TEST_CHOICE_STACKS; Stack += 1) {
        TestProgram.Top[Stack] = Area - Stack * TEST_CHOICE_STACK_DISTANCE;
    }

    StackBase = __readgsqword(TEST_TEB_STACK_BASE);
    Header = NULL;

    for (Index = 0; Index < NumberOfEvents; Index += 1) {
        PenterTestNextEvent(&Event);
        if (Header == NULL) {
            Event.Stack = 0;
            Event.Kind = TRACE_KIND_ENTER;
            Event.StackPointer = Area;
        }

        //
        // An entry is young or not by what the shortest duration is.  Without
        // a clock its age is the size of a record.
        //

        Choice = (ULONG)(PenterTestRandom() % 4);
        if (Choice == 0) {
            Duration = 0;
        } else if (Session->Template->Clock == TRACE_CLOCK_NONE) {
            Duration = Choice == 1 ? TRACE_RECORD_SIZE : TRACE_RECORD_SIZE + 1;
        } else if (Session->Template->Clock == TRACE_CLOCK_TSC && Choice == 1) {
            Duration = 1;
        } else {
            Duration = INT64_MAX;
        }
        TestModel.TakesBack = Duration > TRACE_RECORD_SIZE;
        if (Header != NULL) {
            Header->MinimumDuration = Duration;
        }

        Base = StackBase + Event.Stack * 0x1000000ULL;
        __writegsqword(TEST_TEB_STACK_BASE, Base);
        HookCallAt(Hooks[Event.Kind], Event.StackPointer, Event.Site);
        __writegsqword(TEST_TEB_STACK_BASE, StackBase);

        Header = PenterTestContext();
        PenterTestModelEvent(&Event);
        if (!PenterTestModelAgrees(Header, &Event, Base)) {
            break;
        }
    }

    if (Index < NumberOfEvents && Control == TEST_CONTROL_NONE) {
        RtlWriteText(TestOutput,
                     "depth %u, call %u: kind %u at %llx, stack %u: "
                     "position %llx, %llu taken back, %llu too deep; the model "
                     "has %u records, %llu, %llu\n",
                     Maximum,
                     Index,
                     Event.Kind,
                     Event.StackPointer,
                     Event.Stack,
                     Header->Cursor + Header->CursorToFileOffset,
                     Header->NumberOfCallsTakenBack,
                     Header->NumberOfEventsTooDeep,
                     TestModel.NumberOfRecords,
                     TestModel.TakenBack,
                     TestModel.TooDeep);
    }

    return Index;
}

static
DECLSPEC_NOINLINE
VOID
PenterTestRunPrograms(
    _In_ PTRACE_SESSION Session
    )
/*++

Routine Description:

    Runs programs with every depth, and with every control.

Arguments:

    Session - Supplies the session.

Return Value:

    None.

--*/
{
    static TEST_PATH Root;
    volatile BYTE Area[TEST_CHOICE_AREA];
    PTRACE_STORE_HEADER Header;
    ULONG_PTR Top;
    ULONG Maximum;
    ULONG Control;
    ULONG Round;
    ULONG NumberOfEvents;
    ULONG Sequence;
    ULONG Changes;
    BOOLEAN IsNoticed;

    for (Top = 0; Top < sizeof(Area); Top += 64) {
        Area[Top] = 0;
    }
    Top = ((ULONG_PTR)Area + sizeof(Area) - 256) & ~(ULONG_PTR)15;
    TEST(PenterTestSessionRoot(&Root));

    NumberOfEvents = PenterTestQuick ? TEST_CHOICE_EVENTS_QUICK :
                                       TEST_CHOICE_EVENTS;

    Changes = 0;
    for (Round = 0; Round < 3; Round += 1) {
        for (Maximum = 0; Maximum <= TEST_CHOICE_MAXIMUM_DEPTH; Maximum += 1) {
            TEST_EQUAL(PenterTestRunProgram(Session,
                                            Top - 8 * (Round & 1),
                                            Maximum,
                                            TEST_CONTROL_NONE,
                                            NumberOfEvents),
                       NumberOfEvents);

            Header = PenterTestContext();
            Changes += Header->NumberOfViewChanges;
            Sequence = Header->SequenceNumber;
            PenterThreadExit();
            PenterTestEnumerateStores(&Root, PenterTestMatchModel, &Sequence);
            TEST_EQUAL(Sequence, ~0UL);
        }
    }

    TEST(Changes > 6);

    for (Control = 1; Control < TEST_NUMBER_OF_CONTROLS; Control += 1) {
        IsNoticed = FALSE;
        for (Round = 0; Round < 24 && !IsNoticed; Round += 1) {
            IsNoticed = PenterTestRunProgram(Session,
                                             Top,
                                             (Round & 1) == 0 ? 3 : 0,
                                             Control,
                                             TEST_CHOICE_EVENTS) <
                        TEST_CHOICE_EVENTS;
        }
        if (!TEST(IsNoticed)) {
            RtlWriteText(TestOutput, "control %u\n", Control);
        }
    }

    PenterThreadExit();
}

VOID
PenterTestChoices(
    VOID
    )
/*++

Routine Description:

    The child "choices": each of many calls is recorded, taken back or left out
    as the rules say.

Arguments:

    None.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;
    ULONG Clock;
    BOOLEAN Chooses;
    BOOLEAN Expansion;

    PenterTestTakeSlots();
    _penter();
    Header = PenterTestContext();
    if (!TEST(Header != NULL)) {
        return;
    }

    TEST(PenterTestRoutines(&Clock, &Chooses, &Expansion) != NULL);
    TEST_EQUAL(Clock, Header->Clock);
    TEST(Chooses);
    TEST_EQUAL(Expansion, TestNumberOfArguments >= 3);

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    PenterTestRunPrograms(Store->Session);

    RtlWriteText(TestOutput,
                 "clock %u: %llu calls recorded, %llu taken back, %llu too "
                 "deep, %llu inside those\n",
                 Clock,
                 TestChoiceCounts[0],
                 TestChoiceCounts[1],
                 TestChoiceCounts[2],
                 TestChoiceCounts[3]);
}

static
DWORD
WINAPI
PenterTestLastThreadMain(
    _In_ PVOID Argument
    )
/*++

Routine Description:

    The last thread of the program.

Arguments:

    Argument - Not used.

Return Value:

    0.

--*/
{
    UNREFERENCED_PARAMETER(Argument);

    HookRepeatPair(_penter, _pexit, 20000, 0);
    Sleep(50);
    HookRepeatPair(_penter, _pexit, 10, 0);
    return 0;
}

VOID
PenterTestLastThread(
    VOID
    )
/*++

Routine Description:

    The child "last": the process ends with its last thread, whatever threads
    the library has.

Arguments:

    None.

Return Value:

    None.

--*/
{
    HANDLE Thread;

    HookRepeatPair(_penter, _pexit, 10, 0);
    Thread = CreateThread(NULL, 0, PenterTestLastThreadMain, NULL, 0, NULL);
    if (TEST(Thread != NULL)) {
        CloseHandle(Thread);
        RtlWriteText(TestOutput, "1 passed, 0 failed\n");
        RtlFlushWriter(TestOutput);
        ExitThread(0);
    }
}
