/*++

Module Name:

    PenterChoiceSupport.c

Abstract:

    What TestPenter's children do to test the hooks that leave calls out: single
    calls that are prepared so that they take one path; and random sequences of
    calls at chosen stack pointers, each compared with what a plain model of the
    rules says of it.

--*/

#include "PenterStoreSupport.h"

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
#define TEST_CONTROL_PLACE          9   // a place may be open twice at one
                                        // stack pointer
#define TEST_CONTROL_JUMP           10  // an exit that was jumped to is that of
                                        // an entry 96 bytes below
#define TEST_CONTROL_DOUBT          11  // and one of which this is not certain
                                        // is not counted
#define TEST_NUMBER_OF_CONTROLS     12

_Use_decl_annotations_
BOOLEAN
PenterTestPrepareChoice(
    PCTEST_HOOK Hook,
    ULONG_PTR StackPointer,
    ULONG Argument,
    TEST_CHOICE Choice,
    PTEST_CHOSEN Chosen
    )
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
            Depth->Calls[0].Place = 0;
        }
        if (Choice == TestChoiceStopped) {
            Header->HookFlags |= TRACE_HOOK_STOPPED;
            Header->Limit = Header->Cursor;
        }
        break;

    case TestChoiceTooDeep:

        //
        // So far away that no walk of the stack comes to them.
        //

        for (Index = 0; Index < Depth->Maximum; Index += 1) {
            Depth->Calls[Index].Stack =
                (ULONG)StackPointer + 0x100000 * (Depth->Maximum - Index);
            Depth->Calls[Index].Function = 0;
            Depth->Calls[Index].Place = 0;
        }
        Depth->Count = Depth->Maximum;
        break;

    case TestChoiceInside:
        Depth->Skipped = 1;
        Depth->NumberInlined = 0;
        Depth->Skip.Stack = (ULONG)StackPointer + 0x100000;
        Depth->Skip.Function = 0;
        Depth->Skip.Place = 0;
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

typedef struct _TEST_MODEL_CALL {
    ULONG_PTR StackPointer;
    ULONG Function;                     // 0: not known
    ULONG Place;                        // an index of HookBare
    ULONGLONG TooDeep;                  // when it was entered
} TEST_MODEL_CALL;
typedef TEST_MODEL_CALL *PTEST_MODEL_CALL;

typedef struct _TEST_MODEL_STACK {
    ULONG Count;
    ULONG Skipped;
    ULONG NumberInlined;                // of Inlined, the first is the call
                                        // that all those are inside of
    TEST_MODEL_CALL Open[TEST_CHOICE_MAXIMUM_DEPTH];
    TEST_MODEL_CALL Inlined[1 + TRACE_DEPTH_INLINED];
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
    ULONGLONG Doubtful;
    ULONGLONG Kept;                     // short, whoever's the entry is
    ULONG NumberOfRecords;
    TEST_MODEL_STACK Stacks[TEST_CHOICE_STACKS];
    TEST_MODEL_RECORD Records[TEST_CHOICE_EVENTS];
} TEST_MODEL;

typedef struct _TEST_EVENT {
    ULONG Stack;
    ULONG Kind;                         // TRACE_KIND_*
    ULONG Site;                         // rcx
    ULONG Place;                        // an index of HookBare
    ULONG_PTR StackPointer;
    BOOLEAN IsJump;                     // from the end of the function
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

//
// Ends all calls but the outermost ones. An inlined call that has no exit was
// left, nobody knows when.
// Stack: the calls that are open.
// Count: how many stay.
// Own: the one that has an exit; any larger number: none.
//

static
VOID
PenterTestModelEnd(
    _Inout_ PTEST_MODEL_STACK Stack,
    _In_ ULONG Count,
    _In_ ULONG Own
    )
{
    ULONGLONG Most;
    ULONG Index;

    Most = 0;
    for (Index = Count; Index < Stack->Count; Index += 1) {
        if (Index != 0 && Index != Own &&
            Stack->Open[Index].StackPointer ==
                Stack->Open[Index - 1].StackPointer &&
            TestModel.TooDeep - Stack->Open[Index].TooDeep > Most) {

            Most = TestModel.TooDeep - Stack->Open[Index].TooDeep;
        }
    }

    TestModel.Doubtful += Most;
    Stack->Count = Count;
    Stack->Skipped = 0;
}

//
// Stack: the calls that are open.
//

static
VOID
PenterTestModelEndBelow(
    _Inout_ PTEST_MODEL_STACK Stack,
    _In_ ULONG_PTR StackPointer
    )
{
    ULONG Count;

    if (Stack->Inlined[0].StackPointer < StackPointer) {
        Stack->Skipped = 0;
    }
    for (Count = Stack->Count;
         Count > 0 && Stack->Open[Count - 1].StackPointer < StackPointer;
         Count -= 1) {
    }
    if (Count != Stack->Count) {
        PenterTestModelEnd(Stack, Count, ~0UL);
    }
}

//
// Ends the calls at a stack pointer that were made from the place that makes
// another one there now, and all inside them.
// Stack: the calls that are open.
// Event: the entry.
//

static
VOID
PenterTestModelEndPlace(
    _Inout_ PTEST_MODEL_STACK Stack,
    _In_ PCTEST_EVENT Event
    )
{
    ULONG Index;
    ULONG First;

    if (TestModel.Control == TEST_CONTROL_PLACE) {
        return;
    }

    if (Stack->Skipped != 0 &&
        Stack->Inlined[0].StackPointer == Event->StackPointer) {

        for (Index = 0; Index < Stack->NumberInlined; Index += 1) {
            if (Stack->Inlined[Index].Place == Event->Place) {
                Stack->NumberInlined = Index;
            }
        }
        if (Stack->NumberInlined == 0) {
            Stack->Skipped = 0;
        }
    }

    First = Stack->Count;
    for (Index = Stack->Count; Index > 0; Index -= 1) {
        if (Stack->Open[Index - 1].StackPointer == Event->StackPointer &&
            Stack->Open[Index - 1].Place == Event->Place) {

            First = Index - 1;
        }
    }
    if (First != Stack->Count) {
        PenterTestModelEnd(Stack, First, ~0UL);
    }
}

//
// Follows an entry.
// Stack: the calls that are open.
// Returns TRUE if it is too deep.
//

static
BOOLEAN
PenterTestModelEnter(
    _Inout_ PTEST_MODEL_STACK Stack,
    _In_ PCTEST_EVENT Event
    )
{
    PTEST_MODEL_CALL Top;
    PTEST_MODEL_CALL New;
    BOOLEAN IsFunction;
    BOOLEAN IsUnsure;

    //
    // A call whose stack pointer is below that of an entry has gone; one with
    // the same has gone too, unless functions may be inlined into others.
    //

    IsFunction = Event->Kind == TRACE_KIND_ENTER_FUNCTION;
    if (IsFunction ? TestModel.Control == TEST_CONTROL_INLINED :
                     TestModel.Control != TEST_CONTROL_EQUAL) {

        PenterTestModelEndBelow(Stack, Event->StackPointer + 1);
    } else {
        PenterTestModelEndBelow(Stack, Event->StackPointer);
        if (IsFunction) {
            PenterTestModelEndPlace(Stack, Event);
        }
    }

    //
    // Nobody knows who has called, but of a function that is inlined.
    //

    Top = Stack->Skipped != 0 ? &Stack->Inlined[0] :
          Stack->Count != 0 ? &Stack->Open[Stack->Count - 1] : NULL;
    IsUnsure = Top != NULL &&
               (!IsFunction || Top->StackPointer != Event->StackPointer);

    if (Stack->Skipped == 0 && Stack->Count < TestModel.Maximum) {
        New = &Stack->Open[Stack->Count];
        Stack->Count += 1;
        IsUnsure = FALSE;
    } else if (Stack->Skipped == 0) {
        Stack->Skipped = 1;
        Stack->NumberInlined = 1;
        New = &Stack->Inlined[0];
    } else {
        if (TestModel.Control != TEST_CONTROL_INSIDE) {
            Stack->Skipped += 1;
        }
        New = NULL;
        if (IsFunction && Top->StackPointer == Event->StackPointer &&
            Stack->NumberInlined < RTL_NUMBER_OF(Stack->Inlined)) {

            New = &Stack->Inlined[Stack->NumberInlined];
            Stack->NumberInlined += 1;
        }
        TestChoiceCounts[3] += 1;
    }

    if (New != NULL) {
        New->StackPointer = Event->StackPointer;
        New->Function = IsFunction ? Event->Site : 0;
        New->Place = Event->Place;
        New->TooDeep = TestModel.TooDeep;
    }
    if (IsUnsure) {
        TestModel.Doubtful += 2;
    }
    return Stack->Skipped != 0;
}

//
// Follows an exit where a call is open that was left out.
// Returns FALSE if that call has gone.
//

static
BOOLEAN
PenterTestModelExitSkipped(
    _Inout_ PTEST_MODEL_STACK Stack,
    _In_ PCTEST_EVENT Event
    )
{
    ULONG Index;
    BOOLEAN IsFunction;

    IsFunction = Event->Kind == TRACE_KIND_EXIT_FUNCTION;
    if (Stack->Inlined[0].StackPointer < Event->StackPointer) {
        return FALSE;
    }
    if (TestModel.Control == TEST_CONTROL_INSIDE) {
        return TRUE;
    }

    if (Stack->Inlined[0].StackPointer != Event->StackPointer) {
        Stack->Skipped -= 1;
        return TRUE;
    }

    //
    // Its own stack pointer: then it is its own exit, or that of a function
    // that was inlined into it.
    //

    if (!IsFunction) {
        Stack->Skipped = 0;
        return TRUE;
    }
    for (Index = Stack->NumberInlined; Index > 0; Index -= 1) {
        if (Stack->Inlined[Index - 1].Function == Event->Site) {
            Stack->NumberInlined = Index - 1;
            Stack->Skipped -= Stack->Skipped > 1;
            if (Index == 1) {
                Stack->Skipped = 0;
            }
            return TRUE;
        }
    }
    for (Index = Stack->Count; Index > 0; Index -= 1) {
        if (Stack->Open[Index - 1].StackPointer == Event->StackPointer &&
            Stack->Open[Index - 1].Function == Event->Site) {

            return FALSE;
        }
    }

    Stack->Skipped -= Stack->Skipped > 1;
    return TRUE;
}

//
// Follows an exit that is recorded: what is below it has gone, and so has its
// own call.
// Stack: the calls that are open.
//

static
VOID
PenterTestModelExit(
    _Inout_ PTEST_MODEL_STACK Stack,
    _In_ PCTEST_EVENT Event
    )
{
    ULONG Count;
    ULONG Index;

    Stack->Skipped = 0;
    if (Event->Kind == TRACE_KIND_EXIT) {
        while (Stack->Count > 0 &&
               Stack->Open[Stack->Count - 1].StackPointer <
                   Event->StackPointer) {

            Stack->Count -= 1;
        }
        if (Stack->Count > 0 && TestModel.Control != TEST_CONTROL_OWN) {
            Stack->Count -= 1;
        }
        return;
    }

    for (Count = Stack->Count;
         Count > 0 &&
         Stack->Open[Count - 1].StackPointer < Event->StackPointer;
         Count -= 1) {
    }
    for (Index = Count;
         Index > 0 && TestModel.Control != TEST_CONTROL_OWN &&
         Stack->Open[Index - 1].StackPointer ==
             Stack->Open[Count - 1].StackPointer;
         Index -= 1) {

        if (Stack->Open[Index - 1].Function == Event->Site) {
            PenterTestModelEnd(Stack, Index - 1, Index - 1);
            return;
        }
    }
    if (Count != Stack->Count) {
        PenterTestModelEnd(Stack, Count, ~0UL);
    }
}

//
// Decides what becomes of a call of a hook.
//

static
VOID
PenterTestModelEvent(
    _In_ PCTEST_EVENT Event
    )
{
    PTEST_MODEL_STACK Stack;
    PTEST_MODEL_RECORD Last;
    ULONGLONG Position;
    ULONG_PTR Distance;
    ULONG Control;
    BOOLEAN IsEnter;
    BOOLEAN IsFunction;
    BOOLEAN IsOwn;

    Control = TestModel.Control;
    Stack = &TestModel.Stacks[Control == TEST_CONTROL_STACK ? 0 : Event->Stack];
    IsEnter = Event->Kind == TRACE_KIND_ENTER ||
              Event->Kind == TRACE_KIND_ENTER_FUNCTION;
    IsFunction = Event->Kind == TRACE_KIND_ENTER_FUNCTION ||
                 Event->Kind == TRACE_KIND_EXIT_FUNCTION;

    if (TestModel.Maximum != 0) {
        if (IsEnter && PenterTestModelEnter(Stack, Event)) {
            TestModel.TooDeep += 1;
            TestChoiceCounts[2] += 1;
            return;
        }
        if (!IsEnter && Stack->Skipped != 0 &&
            PenterTestModelExitSkipped(Stack, Event)) {

            TestModel.TooDeep += 1;
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
        IsOwn = Last->Kind + 1 == Event->Kind &&
                Last->StackPointer >= Event->StackPointer &&
                Last->StackPointer - Event->StackPointer <
                (Control == TEST_CONTROL_DISTANCE ? 4104 : 4096) &&
                (!IsFunction || Last->Site == Event->Site ||
                 Control == TEST_CONTROL_SITE);

        //
        // Where the hook was jumped to, the entry is below, by the size of a
        // frame, which nothing is known of here: if it is so near that there is
        // no room for two frames, it is this call's.
        //

        if (Event->IsJump && Last->Kind + 1 == Event->Kind &&
            Last->StackPointer < Event->StackPointer &&
            Last->Site == Event->Site) {

            Distance = Event->StackPointer - Last->StackPointer;
            IsOwn = Distance < (Control == TEST_CONTROL_JUMP ? 104u : 96u);
            TestModel.Kept += !IsOwn && Control != TEST_CONTROL_DOUBT;
        }
        if (IsOwn) {

            TestModel.NumberOfRecords -= 1;
            TestModel.TakenBack += 1;
            if (TestModel.Maximum != 0) {
                if (IsFunction) {
                    PenterTestModelExit(Stack, Event);
                } else if (Stack->Count != 0) {
                    Stack->Skipped = 0;
                    Stack->Count -= 1;
                }
            }
            TestChoiceCounts[1] += 1;
            return;
        }
    }

    if (TestModel.Maximum != 0 && !IsEnter) {
        PenterTestModelExit(Stack, Event);
    }

    Last = &TestModel.Records[TestModel.NumberOfRecords];
    Last->StackPointer = Event->StackPointer;
    Last->Kind = Event->Kind;
    Last->Site = IsFunction ? Event->Site :
                              (ULONG)(ULONG_PTR)HookBare[Event->Place].Site;
    TestModel.NumberOfRecords += 1;
    TestChoiceCounts[0] += 1;
}

//
// Makes the next call of the program: mostly calls and returns, with frames
// that are abandoned, inlined functions, large frames, switches to other
// stacks, and calls that make no sense.
//

static
VOID
PenterTestNextEvent(
    _Out_ PTEST_EVENT Event
    )
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
    Event->IsJump = FALSE;
    Event->Place = (ULONG)(PenterTestRandom() % HOOK_NUMBER_OF_BARE);

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

        //
        // From the end of a function, whose frame has gone.  How deep calls
        // are is then known to TestLeftDepth.py alone.
        //

        if (TestModel.Maximum == 0 && Frame->IsFunction &&
            (Random >> 20) % 3 == 0) {

            Event->IsJump = TRUE;
            Event->StackPointer = Frame->StackPointer +
                                  8 * (1 + (Random >> 24) % 20);
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

//
// Compares what the hook has made of a call with what the model has.
// Header: the store's header.
// StackBase: the highest address of the stack that it was made on.
// Returns TRUE if they agree.
//

static
BOOLEAN
PenterTestModelAgrees(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCTEST_EVENT Event,
    _In_ ULONG_PTR StackBase
    )
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
        Header->NumberOfEventsDoubtful != TestModel.Doubtful ||
        Header->NumberOfCallsDoubtful != TestModel.Kept ||
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
        Depth->Settled != TRACE_DEPTH_UNSETTLED ||
        (Stack->Skipped != 0 &&
         Depth->Skip.Stack != (ULONG)Stack->Inlined[0].StackPointer)) {

        return FALSE;
    }
    for (Index = 0; Index < Stack->Count; Index += 1) {
        if (Depth->Calls[Index].Stack !=
                (ULONG)Stack->Open[Index].StackPointer ||
            Depth->Calls[Index].Function != Stack->Open[Index].Function) {

            return FALSE;
        }
    }

    return TRUE;
}

//
// Compares a store's records with the model's.
// Context: the store's sequence number; receives ~0.
//

static
VOID
PenterTestMatchModel(
    _In_opt_ PVOID Context,
    _In_ HANDLE File,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG SizeInBytes
    )
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

//
// Makes the calls of one program, in a store of its own.
// Area: the highest address of the stacks' area.
// Maximum: the depth; 0: no limit.
// Control: what is wrong with the model.
// NumberOfEvents: how many calls.
// Returns the number of the first call that the model and the hook do not
// agree about, or NumberOfEvents.
//

static
ULONG
PenterTestRunProgram(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG_PTR Area,
    _In_ ULONG Maximum,
    _In_ ULONG Control,
    _In_ ULONG NumberOfEvents
    )
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
    ULONG_PTR Last;
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
            Event.IsJump = FALSE;
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

        //
        // No walk of the stack gets anywhere from a return address of 0.
        //

        *(ULONGLONG volatile *)Event.StackPointer = 0;

        //
        // Nor is anything known of the frame where the last call returned to
        // 0.
        //

        if (Event.IsJump && TestModel.NumberOfRecords != 0) {
            Last = TestModel.Records[TestModel.NumberOfRecords - 1]
                       .StackPointer;
            if (Last < Event.StackPointer) {
                *(ULONGLONG volatile *)(Last - 8) = 0;
            }
        }
        Base = StackBase + Event.Stack * 0x1000000ULL;
        __writegsqword(TEST_TEB_STACK_BASE, Base);
        HookBare[Event.Place].Routine(Hooks[Event.Kind],
                                      Event.StackPointer,
                                      Event.Site,
                                      Event.IsJump
                                          ? (ULONG_PTR)
                                                HookBare[Event.Place].Site
                                          : Event.Site);
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
                     "position %llx, %llu taken back, %llu kept, %llu too "
                     "deep; the model has %u records, %llu, %llu, %llu\n",
                     Maximum,
                     Index,
                     Event.Kind,
                     Event.StackPointer,
                     Event.Stack,
                     Header->Cursor + Header->CursorToFileOffset,
                     Header->NumberOfCallsTakenBack,
                     Header->NumberOfCallsDoubtful,
                     Header->NumberOfEventsTooDeep,
                     TestModel.NumberOfRecords,
                     TestModel.TakenBack,
                     TestModel.Kept,
                     TestModel.TooDeep);
    }

    return Index;
}

//
// Runs programs with every depth, and with every control.
//

static
DECLSPEC_NOINLINE
VOID
PenterTestRunPrograms(
    _In_ PTRACE_SESSION Session
    )
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

//
// The child "choices": each of many calls is recorded, taken back or left out
// as the rules say.
//

VOID
PenterTestChoices(
    VOID
    )
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

//
// Returns 0.
//

static
DWORD
WINAPI
PenterTestLastThreadMain(
    _In_ PVOID Argument
    )
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
