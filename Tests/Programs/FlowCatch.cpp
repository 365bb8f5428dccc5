/*++

Module Name:

    FlowCatch.cpp

Abstract:

    C++ exceptions as MSVC makes them: see Flow.h.

    Destructors and catch blocks run below the frames that the exception
    leaves, which are on the stack until the catch block is left.  What is
    called there is called, as the stack shows it, by the function that threw.

--*/

#include <windows.h>
#include "Flow.h"

//
// What every type's description refers to; nothing uses it here.
//

extern "C" {

const void *TypeVtable[2] __asm__("??_7type_info@@6B@") = { 0, 0 };

int _fltused;

static volatile unsigned Seen;

#define STEP(Name, Size)                                                    \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned IsThrowing                                                 \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        unsigned Value;                                                     \
                                                                            \
        ENTER();                                                            \
        Frame[0] = (unsigned char)(IsThrowing + Size);                      \
        Frame[Size - 1] = Frame[0];                                         \
        if (IsThrowing != 0) {                                              \
            throw IsThrowing;                                               \
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

}

typedef unsigned (*STEP_ROUTINE)(unsigned);

static const STEP_ROUTINE Steps[5] = {
    Step1, Step100, Step1000, Step10000, Step100000
};

extern "C" {

TRACED void
Release(
    unsigned Number
    )
{
    ENTER();
    Seen += Steps[Number % 3](0);
    LEAVE();
}

}

struct Guard {
    unsigned Number;

    PLAIN Guard(unsigned Value) : Number(Value)
    {
    }

    PLAIN ~Guard()
    {
        Release(Number);
    }
};

extern "C" {

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
    try {
        Value = Steps[Left](1);
    } catch (unsigned Thrown) {
        Value += Thrown;
        Value += Step100(0);
    }
    WitnessLeaveTo(Depth, 1);
    Value += Steps[Beside](0);
    Value += Steps[Left](0);
    LEAVE();
    return Value;
}

TRACED unsigned
CatchPairs(
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

TRACED unsigned
GoDown(
    unsigned Depth
    )
{
    unsigned Value = 0;

    ENTER();
    if (Depth == FlowZero) {
        throw Depth + 1;
    }
    Value += GoDown(Depth - 1);
    LEAVE();
    return Value;
}

TRACED unsigned
GuardDown(
    unsigned Depth
    )
{
    unsigned Value = 0;

    ENTER();
    {
        Guard Own(Depth);

        if (Depth == FlowZero) {
            throw Depth + 1;
        }
        Value += GuardDown(Depth - 1);
    }
    LEAVE();
    return Value;
}

TRACED unsigned
RethrowDown(
    unsigned Depth
    )
{
    volatile unsigned Value = 0;

    ENTER();
    try {
        if (Depth == FlowZero) {
            throw Depth + 1;
        }
        Value += RethrowDown(Depth - 1);
    } catch (unsigned Thrown) {
        Value += Step1(0);
        if (Depth % 3 == 0) {
            throw Thrown + 1;
        }
        throw;
    }
    LEAVE();
    return Value;
}

typedef unsigned (*DOWN_ROUTINE)(unsigned);

TRACED unsigned
CatchOver(
    DOWN_ROUTINE Down,
    unsigned Depth
    )
{
    volatile unsigned Value = 1;
    volatile unsigned Own;

    ENTER();
    Own = WitnessDepth();
    try {
        Value += Down(Depth);
    } catch (unsigned Thrown) {
        Value += Thrown + Step100(0);
    }
    WitnessLeaveTo(Own, 1);
    Value += Step1000(0);
    LEAVE();
    return Value;
}

TRACED unsigned
CatchAcross(
    void
    )
{
    static const unsigned Depths[5] = { 0, 1, 2, 10, 100 };
    static const DOWN_ROUTINE Downs[3] = { GoDown, GuardDown, RethrowDown };
    unsigned Value = 0;
    unsigned Index;
    unsigned Way;

    ENTER();
    for (Way = 0; Way < 3; Way += 1) {
        for (Index = 0; Index < (Way == 2 ? 4 : 5); Index += 1) {
            Value += CatchOver(Downs[Way], Depths[Index]);
            Value += Step1(0);
        }
    }
    Value += CatchOver(GoDown, 1000);
    LEAVE();
    return Value;
}

TRACED unsigned
CatchLoop(
    void
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Count;
    volatile unsigned Own;

    ENTER();
    Own = WitnessDepth();
    for (Count = 0; Count < 100; Count += 1) {
        try {
            Guard First(Count);

            Value += Steps[Count % 5](Count % 4);
        } catch (unsigned Thrown) {
            Value += Thrown;
        }
        WitnessLeaveTo(Own, 1);
        Value += Step1(0);
    }
    LEAVE();
    return Value;
}

}

extern "C" const FLOW_SCENARIO FlowScenarios[] = {
    { "CatchPairs", CatchPairs, 4 },
    { "CatchAcross", CatchAcross, 32 },
    { "CatchLoop", CatchLoop, 4 },
    { 0, 0, 0 }
};
