/*++

Module Name:

    FlowThrow.cpp

Abstract:

    Frames that are left by C++ exceptions: see Flow.h.  What is traced has C
    names; constructors and destructors give theirs as the compilers make them.

--*/

#include <windows.h>
#include <stdlib.h>
#include "Flow.h"

//
// Where a catch arrives: the frames further in are gone.
//

#define MARK() const unsigned Mark = WitnessDepth()
#define ARRIVE() WitnessLeaveTo(Mark, FLOW_UNWOUND)

static volatile unsigned Seen;

extern "C" {

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
STEP(Step24, 24)
STEP(Step100, 100)
STEP(Step1000, 1000)
STEP(Step10000, 10000)
STEP(Step100000, 100000)

}

typedef unsigned (*STEP_ROUTINE)(unsigned);

static const STEP_ROUTINE Steps[] = {
    Step1, Step24, Step100, Step1000, Step10000, Step100000
};

#define NUMBER_OF_STEPS (sizeof(Steps) / sizeof(Steps[0]))

//
// An object whose destructor may find frames gone.
//

struct Guard {
    unsigned Depth;
    unsigned Number;

    TRACED Guard(unsigned Value);
    TRACED ~Guard();
};

Guard::Guard(
    unsigned Value
    )
{
    WitnessEnter("_ZN5GuardC1Ej");
    Depth = WitnessDepth() - 1;
    Number = Value % 5;
    Seen += Steps[Number](0);
    WitnessLeave();
}

Guard::~Guard()
{
    WitnessLeaveTo(Depth, FLOW_UNWOUND);
    WitnessEnter("_ZN5GuardD1Ev");
    Seen += Steps[4 - Number](0);
    WitnessLeave();
}

//
// A destructor that throws and catches while another exception is on its way.
//

struct BusyGuard {
    unsigned Depth;

    TRACED BusyGuard();
    TRACED ~BusyGuard();
};

BusyGuard::BusyGuard()
{
    WitnessEnter("_ZN9BusyGuardC1Ev");
    Depth = WitnessDepth() - 1;
    WitnessLeave();
}

BusyGuard::~BusyGuard()
{
    WitnessLeaveTo(Depth, FLOW_UNWOUND);
    WitnessEnter("_ZN9BusyGuardD1Ev");
    MARK();
    try {
        Guard Inner(3);
        Step1000(5);
    } catch (unsigned Value) {
        ARRIVE();
        Seen += Value;
    }
    Step1(0);
    WitnessLeave();
}

//
// Bases and members are there when the constructor throws.
//

struct Half {
    Guard First;
    BusyGuard Second;

    TRACED Half(unsigned Value);
    TRACED ~Half();
};

Half::Half(
    unsigned Value
    ) : First((WitnessEnter("_ZN4HalfC1Ej"), Value))
{
    Step100(Value == 2 ? 9 : 0);
    WitnessLeave();
}

Half::~Half()
{
    WitnessLeaveTo(First.Depth - 1, FLOW_UNWOUND);
    WitnessEnter("_ZN4HalfD1Ev");

    //
    // The members' destructors run next, still inside this one; the last of
    // them cannot tell that it ends, so its caller does.
    //

    First.Depth = Second.Depth = WitnessDepth();
}

extern "C" {

TRACED unsigned
PairOfSteps(
    unsigned Left,
    unsigned Beside
    )
{
    volatile unsigned Value = 0;

    ENTER();
    MARK();
    try {
        Value = Steps[Left](1);
    } catch (unsigned Thrown) {
        ARRIVE();
        Value += Thrown;
    }
    Value += Steps[Beside](0);
    Value += Steps[Left](0);
    LEAVE();
    return Value;
}

TRACED unsigned
ThrowPairs(
    void
    )
{
    unsigned Value = 0;
    unsigned Left;
    unsigned Beside;

    ENTER();
    for (Left = 0; Left < NUMBER_OF_STEPS; Left += 1) {
        for (Beside = 0; Beside < NUMBER_OF_STEPS; Beside += 1) {
            Value += PairOfSteps(Left, Beside);
        }
    }
    LEAVE();
    return Value;
}

//
// Many frames at a time.
//

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
    if (Depth % 3 == 0) {
        Value = Steps[Depth % 5](0);
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
BusyDown(
    unsigned Depth
    )
{
    unsigned Value = 0;

    ENTER();
    {
        Guard First(Depth);
        BusyGuard Second;
        Guard Third(Depth + 1);

        if (Depth == FlowZero) {
            throw Depth + 1;
        }
        Value += BusyDown(Depth - 1);
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
    MARK();
    try {
        if (Depth == FlowZero) {
            throw Depth + 1;
        }
        Value += RethrowDown(Depth - 1);
    } catch (unsigned Thrown) {
        ARRIVE();
        Seen += Steps[Depth % 4](0);
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
ThrowOver(
    DOWN_ROUTINE Down,
    unsigned Depth
    )
{
    volatile unsigned Value = 1;

    ENTER();
    MARK();
    try {
        Value += Down(Depth);
    } catch (unsigned Thrown) {
        ARRIVE();
        Value += Thrown + Step24(0);
    }
    Value += Step1000(0);
    LEAVE();
    return Value;
}

TRACED unsigned
ThrowAcross(
    void
    )
{
    static const unsigned Depths[] = { 0, 1, 9, 99, 999 };
    static const DOWN_ROUTINE Downs[] = {
        GoDown, GuardDown, BusyDown, RethrowDown
    };
    unsigned Value = 0;
    unsigned Index;
    unsigned Way;

    ENTER();
    for (Way = 0; Way < 4; Way += 1) {
        for (Index = 0; Index < 5; Index += 1) {

            //
            // Each rethrow looks through all frames that are left.
            //

            if (Way == 0 || Depths[Index] < 200) {
                Value += ThrowOver(Downs[Way], Depths[Index]);
                Value += Step1(0);
            }
        }
    }
    LEAVE();
    return Value;
}

TRACED unsigned
ThrowFromFarDown(
    void
    )
{
    unsigned Value;

    ENTER();
    Value = ThrowOver(GoDown, 10000);
    Value += ThrowOver(GoDown, 100);
    LEAVE();
    return Value;
}

//
// One function is left and called again at one place.
//

TRACED unsigned
ThrowLoop(
    void
    )
{
    volatile unsigned Value = 0;
    unsigned Count;

    ENTER();
    MARK();
    for (Count = 0; Count < 300; Count += 1) {
        try {
            Value += Steps[Count % 6](Count % 7);
        } catch (unsigned Thrown) {
            ARRIVE();
            Value += Thrown;
        }
    }
    for (Count = 0; Count < 100; Count += 1) {
        try {
            Guard Own(Count);

            Value += Step100(Count % 2);
            Value += Step24(Count % 3);
        } catch (...) {
            ARRIVE();
            Value += Step1000(0);
        }
    }
    LEAVE();
    return Value;
}

//
// A constructor throws: what it has made is destroyed.
//

TRACED unsigned
MakeHalf(
    unsigned Number
    )
{
    volatile unsigned Value = 0;
    unsigned OwnDepth;

    ENTER();
    OwnDepth = WitnessDepth();
    {
        Half Object(Number);

        Value += Step24(0);
    }
    WitnessLeaveTo(OwnDepth, 0);
    LEAVE();
    return Value;
}

TRACED unsigned
MakeGuards(
    unsigned Number
    )
{
    unsigned Value;

    ENTER();
    {
        Guard Three[3] = { Guard(1), Guard(2), Guard(Step24(Number)) };

        Value = Three[0].Number + Three[1].Number + Three[2].Number;
    }
    LEAVE();
    return Value;
}

TRACED unsigned
ThrowInConstructor(
    void
    )
{
    volatile unsigned Value = 0;
    unsigned Count;

    ENTER();
    MARK();
    for (Count = 0; Count < 6; Count += 1) {
        try {
            Value += MakeHalf(Count % 3);
        } catch (unsigned Thrown) {
            ARRIVE();
            Value += Thrown;
        }
        Value += Step1(0);
        try {
            Value += MakeGuards(Count % 2);
        } catch (unsigned Thrown) {
            ARRIVE();
            Value += Thrown;
        }
        Value += Step1(0);
    }
    LEAVE();
    return Value;
}

//
// Through a routine of the C runtime.
//

TRACED int
Compare(
    const void *Left,
    const void *Right
    )
{
    ENTER();
    Seen += Step1(0);
    if (*(const int *)Left == *(const int *)Right) {
        throw 77u;
    }
    LEAVE();
    return *(const int *)Left - *(const int *)Right;
}

TRACED unsigned
ThrowOutOfSort(
    void
    )
{
    static int Numbers[] = { 9, 3, 4, 8, 1, 4, 7, 6, 4, 5 };
    volatile unsigned Value = 0;
    volatile unsigned Round;

    ENTER();
    MARK();
    for (Round = 0; Round < 3; Round += 1) {
        try {
            try {
                qsort(Numbers, 10, sizeof(Numbers[0]), Compare);
            } catch (int) {
                Value += 100;
            }
        } catch (...) {
            ARRIVE();
            Value += Step24(0);
        }
        Value += Step100(0);
    }
    LEAVE();
    return Value;
}

//
// A walk at random over functions with frames of many sizes.
//

static unsigned WalkState;
static unsigned WalkCalls;

#define WALK_DEPTH 25
#define WALK_CALLS 1000

PLAIN static unsigned
WalkRandom(
    unsigned Limit
    )
{
    return FLOW_RANDOM(WalkState) % Limit;
}

typedef unsigned (*WALK_ROUTINE)(unsigned);
extern const WALK_ROUTINE Walkers[8];

#define WALK_ON()                                                           \
    while (Depth < WALK_DEPTH && WalkCalls < WALK_CALLS &&                  \
           WalkRandom(5) != 0) {                                            \
                                                                            \
        Value += Walkers[WalkRandom(8)](Depth + 1);                         \
    }

#define WALK(Name, Size)                                                    \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned Depth                                                      \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        volatile unsigned Value = Size;                                     \
                                                                            \
        ENTER();                                                            \
        MARK();                                                             \
        Frame[Depth % Size] = 1;                                            \
        WalkCalls += 1;                                                     \
        switch (WalkRandom(4)) {                                            \
        case 0:                                                             \
            WALK_ON();                                                      \
            break;                                                          \
        case 1: {                                                           \
            Guard Own(Depth);                                               \
                                                                            \
            WALK_ON();                                                      \
            if (WalkRandom(8) == 0) {                                       \
                throw Depth;                                                \
            }                                                               \
            break;                                                          \
        }                                                                   \
        case 2: {                                                           \
            BusyGuard Own;                                                  \
                                                                            \
            WALK_ON();                                                      \
            break;                                                          \
        }                                                                   \
        default:                                                            \
            try {                                                           \
                WALK_ON();                                                  \
                if (WalkRandom(3) == 0) {                                   \
                    throw Depth;                                            \
                }                                                           \
            } catch (unsigned Thrown) {                                     \
                ARRIVE();                                                   \
                Value += Thrown;                                            \
                WALK_ON();                                                  \
                if (WalkRandom(3) == 0) {                                   \
                    throw;                                                  \
                }                                                           \
            }                                                               \
            break;                                                          \
        }                                                                   \
        if (WalkRandom(6) == 0) {                                           \
            throw Depth;                                                    \
        }                                                                   \
        Value += Frame[Depth % Size];                                       \
        LEAVE();                                                            \
        return Value;                                                       \
    }

WALK(Walk1, 1)
WALK(Walk20, 20)
WALK(Walk60, 60)
WALK(Walk150, 150)
WALK(Walk300, 300)
WALK(Walk700, 700)
WALK(Walk2000, 2000)
WALK(Walk9000, 9000)

const WALK_ROUTINE Walkers[8] = {
    Walk1, Walk20, Walk60, Walk150, Walk300, Walk700, Walk2000, Walk9000
};

TRACED unsigned
ThrowWalk(
    void
    )
{
    volatile unsigned Value = 0;
    unsigned Round;

    ENTER();
    MARK();
    for (Round = 0; Round < 30; Round += 1) {
        WalkCalls = 0;
        WalkState = Round;
        try {
            Value += Walkers[Round % 8](0);
        } catch (unsigned Thrown) {
            ARRIVE();
            Value += Thrown;
        }
    }
    LEAVE();
    return Value;
}

}

extern "C" const FLOW_SCENARIO FlowScenarios[] = {
    { "ThrowPairs", ThrowPairs, 4 },
    { "ThrowAcross", ThrowAcross, 32 },
    { "ThrowFromFarDown", ThrowFromFarDown, 64 },
    { "ThrowLoop", ThrowLoop, 4 },
    { "ThrowInConstructor", ThrowInConstructor, 4 },
    { "ThrowOutOfSort", ThrowOutOfSort, 4 },
    { "ThrowWalk", ThrowWalk, 4 },
    { NULL, NULL, 0 }
};
