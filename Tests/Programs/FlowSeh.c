/*++

Module Name:

    FlowSeh.c

Abstract:

    Structured exceptions, for compilers that have __try: see Flow.h.

    While frames are unwound they are still on the stack, and filters and
    termination handlers run below them: what those call is called, as the
    stack shows it, by the function that raised.

--*/

#include <windows.h>
#include "Flow.h"

#define CODE_CATCH      0xE0000001
#define CODE_CONTINUE   0xE0000002
#define CODE_PASS       0xE0000003

TRACED unsigned
Leaf(
    unsigned Value
    )
{
    ENTER();
    Value = Value * 3 + FlowZero;
    LEAVE();
    return Value;
}

#define STEP(Name, Size)                                                    \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned Code                                                       \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        unsigned Value;                                                     \
                                                                            \
        ENTER();                                                            \
        Frame[0] = (unsigned char)Size;                                     \
        Frame[Size - 1] = Frame[0];                                         \
        if (Code != 0) {                                                    \
            RaiseException(Code, 0, 0, NULL);                               \
        }                                                                   \
        Value = Frame[FlowZero] + 1u;                                       \
        LEAVE();                                                            \
        return Value;                                                       \
    }

STEP(Step1, 1)
STEP(Step100, 100)
STEP(Step1000, 1000)
STEP(Step10000, 10000)
STEP(Step100000, 100000)

typedef unsigned (*STEP_ROUTINE)(unsigned);

static const STEP_ROUTINE Steps[5] = {
    Step1, Step100, Step1000, Step10000, Step100000
};

TRACED int
Filter(
    unsigned Code
    )
{
    int Result = EXCEPTION_CONTINUE_SEARCH;

    ENTER();
    Leaf(Code);
    if (Code == CODE_CATCH || Code == EXCEPTION_ACCESS_VIOLATION) {
        Result = EXCEPTION_EXECUTE_HANDLER;
    } else if (Code == CODE_CONTINUE) {
        Result = EXCEPTION_CONTINUE_EXECUTION;
    }
    LEAVE();
    return Result;
}

//
// Every pair of frame sizes.
//

TRACED unsigned
PairOfSteps(
    unsigned Left,
    unsigned Beside
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Depth;

    ENTER();
    Depth = WitnessDepth();
    __try {
        Value = Steps[Left](CODE_CATCH);
    } __except (Filter(GetExceptionCode())) {
        WitnessLeaveTo(Depth, 1);
    }
    Value += Steps[Beside](0);
    Value += Steps[Left](0);
    LEAVE();
    return Value;
}

TRACED unsigned
SehPairs(
    void
    )
{
    unsigned Value = 0;
    unsigned Left;
    unsigned Beside;

    ENTER();
    for (Left = 0; Left < 5; Left += 1) {
        for (Beside = 0; Beside < 5; Beside += 1) {
            Value += PairOfSteps(Left, Beside);
        }
    }
    LEAVE();
    return Value;
}

//
// Termination handlers on the way.
//

TRACED unsigned
FinallyDown(
    unsigned Depth,
    unsigned Code
    )
{
    volatile unsigned Value = 0;

    ENTER();
    __try {
        if (Depth == FlowZero) {
            RaiseException(Code, 0, 0, NULL);
        } else {
            Value += FinallyDown(Depth - 1, Code);
        }
        Value += Leaf(1);
    } __finally {
        Value += Steps[Depth % 3](0);
    }
    LEAVE();
    return Value;
}

TRACED unsigned
PlainDown(
    unsigned Depth,
    unsigned Code
    )
{
    unsigned Value = 0;

    ENTER();
    if (Depth == FlowZero) {
        RaiseException(Code, 0, 0, NULL);
    } else {
        Value = PlainDown(Depth - 1, Code);
    }
    Value += Steps[Depth % 4](0);
    LEAVE();
    return Value;
}

TRACED unsigned
TouchDown(
    unsigned Depth,
    unsigned Code
    )
{
    unsigned Value = 0;

    ENTER();
    if (Depth == FlowZero) {
        *(volatile unsigned *)(ULONG_PTR)(FlowZero + 16) = Code;
    } else {
        Value = TouchDown(Depth - 1, Code);
    }
    LEAVE();
    return Value;
}

TRACED unsigned
PassDown(
    unsigned Depth,
    unsigned Code
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Own;

    ENTER();
    Own = WitnessDepth();
    __try {
        if (Depth == FlowZero) {
            RaiseException(Code, 0, 0, NULL);
        } else {
            Value += PassDown(Depth - 1, Code);
        }
    } __except (Filter(CODE_PASS)) {
        WitnessLeaveTo(Own, 1);
    }
    LEAVE();
    return Value;
}

typedef unsigned (*DOWN_ROUTINE)(unsigned, unsigned);

TRACED unsigned
CatchFrom(
    DOWN_ROUTINE Down,
    unsigned Depth,
    unsigned Code
    )
{
    volatile unsigned Value = 1;
    volatile unsigned Own;

    ENTER();
    Own = WitnessDepth();
    __try {
        Value += Down(Depth, Code);
    } __except (Filter(GetExceptionCode())) {
        WitnessLeaveTo(Own, 1);
        Value += Leaf(2);
    }
    Value += Step1000(0);
    LEAVE();
    return Value;
}

TRACED unsigned
SehDown(
    void
    )
{
    static const DOWN_ROUTINE Downs[4] = {
        FinallyDown, PlainDown, TouchDown, PassDown
    };
    static const unsigned Depths[5] = { 0, 1, 2, 10, 100 };
    unsigned Value = 0;
    unsigned Way;
    unsigned Index;

    ENTER();
    for (Way = 0; Way < 4; Way += 1) {
        for (Index = 0; Index < 5; Index += 1) {
            Value += CatchFrom(Downs[Way], Depths[Index], CODE_CATCH);
            if (Way != 2) {
                Value += CatchFrom(Downs[Way], Depths[Index], CODE_CONTINUE);
            }
            Value += Step1(0);
        }
    }
    Value += CatchFrom(PlainDown, 1000, CODE_CATCH);
    LEAVE();
    return Value;
}

//
// Exceptions while others are handled: in a filter, in a termination handler
// that catches its own, and in one that lets it out, so that the second unwind
// meets the first.
//

TRACED int
FilterThatRaises(
    unsigned Code
    )
{
    int Result;

    ENTER();
    CatchFrom(PlainDown, 3, CODE_CATCH);
    Leaf(4);
    Result = Filter(Code);
    LEAVE();
    return Result;
}

TRACED unsigned
RaiseInFilter(
    unsigned Depth
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Own;

    ENTER();
    Own = WitnessDepth();
    __try {
        Value += PlainDown(Depth, CODE_CATCH);
    } __except (FilterThatRaises(GetExceptionCode())) {
        WitnessLeaveTo(Own, 1);
        Value += Leaf(5);
    }
    Value += Step1(0);
    LEAVE();
    return Value;
}

TRACED unsigned
FinallyThatCatches(
    unsigned Depth,
    unsigned Code
    )
{
    volatile unsigned Value = 0;

    ENTER();
    __try {
        Value += FinallyDown(Depth, Code);
    } __finally {
        Value += CatchFrom(PlainDown, Depth, CODE_CATCH);
    }
    LEAVE();
    return Value;
}

TRACED unsigned
FinallyThatRaises(
    unsigned Depth,
    unsigned Code
    )
{
    volatile unsigned Value = 0;

    ENTER();
    __try {
        Value += FinallyDown(Depth, Code);
    } __finally {
        Value += PlainDown(Depth + 1, Code);
    }
    LEAVE();
    return Value;
}

TRACED unsigned
SehNested(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 6; Round += 1) {
        Value += RaiseInFilter(Round);
        Value += CatchFrom(FinallyThatCatches, Round, CODE_CATCH);
        Value += Leaf(Round);
    }
    LEAVE();
    return Value;
}

TRACED unsigned
SehCollided(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 6; Round += 1) {
        Value += CatchFrom(FinallyThatRaises, Round, CODE_CATCH);
        Value += Leaf(Round);
    }
    LEAVE();
    return Value;
}

//
// Out of a guarded body by a return, a jump, and in order.
//

TRACED unsigned
LeaveBody(
    unsigned Way
    )
{
    volatile unsigned Value = 0;

    ENTER();
    __try {
        __try {
            Value += Leaf(Way);
            if (Way == 1) {
                __leave;
            }
            if (Way == 2) {
                goto Out;
            }
            Value += Step100(0);
        } __finally {
            Value += Step1(0);
        }
        Value += Leaf(Way);
    } __finally {
        Value += Leaf(8);
    }
Out:
    Value += Step1000(0);
    LEAVE();
    return Value;
}

TRACED unsigned
SehLeave(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 9; Round += 1) {
        Value += LeaveBody(Round % 3);
    }
    LEAVE();
    return Value;
}

//
// At one place, again and again: caught, continued, and no exception.
//

TRACED unsigned
SehLoop(
    void
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Round;
    volatile unsigned Own;

    ENTER();
    Own = WitnessDepth();
    for (Round = 0; Round < 200; Round += 1) {
        __try {
            Value += Steps[Round % 5](Round % 3 == 0 ? CODE_CATCH :
                                      Round % 3 == 1 ? CODE_CONTINUE : 0);
        } __except (Filter(GetExceptionCode())) {
            WitnessLeaveTo(Own, 1);
            Value += 1;
        }
    }
    LEAVE();
    return Value;
}

const FLOW_SCENARIO FlowScenarios[] = {
    { "SehPairs", SehPairs, 4 },
    { "SehDown", SehDown, 16 },
    { "SehNested", SehNested, 4 },
    { "SehCollided", SehCollided, 4 },
    { "SehLeave", SehLeave, 4 },
    { "SehLoop", SehLoop, 4 },
    { NULL, NULL, 0 }
};
