/*++

Module Name:

    FlowJump.c

Abstract:

    Frames that are left by longjmp: see Flow.h.

--*/

#include <windows.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include "Flow.h"

static jmp_buf Target;
static volatile unsigned TargetDepth;

#define SET_TARGET() (TargetDepth = WitnessDepth(), setjmp(Target))
#define ARRIVE() ARRIVE_AT(TargetDepth)

//
// Functions with frames of many sizes; each leaves by a jump if it is told to.
//

#define STEP(Name, Size)                                                    \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned IsJumping                                                  \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        unsigned Value;                                                     \
                                                                            \
        ENTER();                                                            \
        Frame[0] = (unsigned char)(IsJumping + Size);                       \
        Frame[Size - 1] = Frame[0];                                         \
        if (IsJumping) {                                                    \
            longjmp(Target, 1);                                             \
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
STEP(Step1000000, 1000000)

typedef unsigned (*STEP_ROUTINE)(unsigned);

static const STEP_ROUTINE Steps[] = {
    Step1, Step24, Step100, Step1000, Step10000, Step100000, Step1000000
};

#define NUMBER_OF_STEPS (sizeof(Steps) / sizeof(Steps[0]))

//
// Every pair of frame sizes: one left by a jump, then another one beside it.
//

TRACED unsigned
PairOfSteps(
    unsigned Left,
    unsigned Beside
    )
{
    volatile unsigned Value = 0;

    ENTER();
    if (SET_TARGET() == 0) {
        Value = Steps[Left](1);
    } else {
        ARRIVE();
    }
    Value += Steps[Beside](0);
    Value += Steps[Left](0);
    LEAVE();
    return Value;
}

TRACED unsigned
JumpPairs(
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
    unsigned Value;

    ENTER();
    if (Depth == FlowZero) {
        longjmp(Target, 1);
    }
    if (Depth % 3 == 0) {
        Value = Steps[Depth % 5](0);
    } else {
        Value = 0;
    }
    Value += GoDown(Depth - 1);
    LEAVE();
    return Value;
}

TRACED unsigned
JumpOver(
    unsigned Depth
    )
{
    volatile unsigned Value = 1;

    ENTER();
    if (SET_TARGET() == 0) {
        Value += GoDown(Depth);
    } else {
        ARRIVE();
        Value += Step24(0);
    }
    Value += Step1000(0);
    LEAVE();
    return Value;
}

TRACED unsigned
JumpAcross(
    void
    )
{
    static const unsigned Depths[] = { 0, 1, 10, 100, 1000, 10000 };
    unsigned Value = 0;
    unsigned Index;

    ENTER();
    for (Index = 0; Index < sizeof(Depths) / sizeof(Depths[0]); Index += 1) {
        Value += JumpOver(Depths[Index]);
        Value += Step1(0);
    }
    LEAVE();
    return Value;
}

//
// One function is left and called again at one place, in a loop.
//

TRACED unsigned
JumpLoop(
    void
    )
{
    volatile unsigned Count = 0;
    volatile unsigned Value = 0;

    ENTER();
    if (SET_TARGET() != 0) {
        ARRIVE();
    }
    while (Count < 500) {
        Count += 1;
        Value += Steps[Count % 6](Count % 7 != 0);
    }
    for (Count = 0; Count < 500; Count += 1) {
        if (SET_TARGET() == 0) {
            Value += Step100(1);
        } else {
            ARRIVE();
        }
        Value += Step24(0);
    }
    LEAVE();
    return Value;
}

//
// A function recurses, and inner instances of it are left while outer ones go
// on; each has a target of its own.
//

static unsigned RecursionState;

TRACED unsigned
Recurse(
    unsigned Depth,
    jmp_buf *Outer
    )
{
    jmp_buf Own;
    volatile unsigned OwnDepth;
    volatile unsigned Value = 0;
    volatile unsigned Count = 0;

    ENTER();
    OwnDepth = WitnessDepth();
    if (Depth != 0) {
        while (Count < 3) {
            Count += 1;
            if (setjmp(Own) == 0) {
                Value += Recurse(Depth - 1,
                                 FLOW_RANDOM(RecursionState) % 3 != 0 ?
                                     &Own : Outer);
            } else {
                ARRIVE_AT(OwnDepth);
                Value += Step24(0);
            }
        }
    }
    if (FLOW_RANDOM(RecursionState) % 4 == 0) {
        longjmp(*Outer, 1);
    }
    LEAVE();
    return Value + 1;
}

TRACED unsigned
JumpRecursion(
    void
    )
{
    volatile unsigned Round;
    volatile unsigned Value = 0;

    ENTER();
    RecursionState = 1;
    for (Round = 0; Round < 40; Round += 1) {
        if (SET_TARGET() == 0) {
            Value += Recurse(5, &Target);
        } else {
            ARRIVE();
            Value += Step100(0);
        }
    }
    LEAVE();
    return Value;
}

//
// A function whose frame is aligned beside a small one that was left, from
// callers of all alignments.
//

TRACED void
LeaveSmall(
    void
    )
{
    ENTER();
    if (FlowZero == 0) {
        longjmp(Target, 1);
    }
    LEAVE();
}

TRACED unsigned
AlignedBeside(
    unsigned Value
    )
{
    volatile unsigned char Frame[40] __attribute__((aligned(128)));

    ENTER();
    Frame[Value % 40] = 3;
    Value = Frame[Value % 40] + Step1(0);
    LEAVE();
    return Value;
}

#define ALIGN_FROM(Name, Size)                                              \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned Round                                                      \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        volatile unsigned Value;                                            \
                                                                            \
        ENTER();                                                            \
        Frame[Round % Size] = 1;                                            \
        if (SET_TARGET() == 0) {                                            \
            LeaveSmall();                                                   \
        } else {                                                            \
            ARRIVE();                                                       \
        }                                                                   \
        Value = AlignedBeside(Frame[Round % Size]);                         \
        LEAVE();                                                            \
        return Value;                                                       \
    }

ALIGN_FROM(AlignFrom16, 16)
ALIGN_FROM(AlignFrom32, 32)
ALIGN_FROM(AlignFrom48, 48)
ALIGN_FROM(AlignFrom64, 64)
ALIGN_FROM(AlignFrom80, 80)
ALIGN_FROM(AlignFrom96, 96)
ALIGN_FROM(AlignFrom112, 112)
ALIGN_FROM(AlignFrom128, 128)

TRACED unsigned
JumpAligned(
    void
    )
{
    static const STEP_ROUTINE Routines[8] = {
        AlignFrom16, AlignFrom32, AlignFrom48, AlignFrom64, AlignFrom80,
        AlignFrom96, AlignFrom112, AlignFrom128
    };
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 16; Round += 1) {
        Value += Routines[Round % 8](Round);
    }
    LEAVE();
    return Value;
}

//
// The outermost instance returns at once when the inner ones are gone.
//

TRACED unsigned
JumpToSelf(
    unsigned Depth,
    unsigned Outermost
    )
{
    volatile unsigned Value = 1;

    ENTER();
    if (Depth == 0) {
        longjmp(Target, 1);
    }
    if (Depth != Outermost) {
        Value += JumpToSelf(Depth - 1, Outermost);
    } else if (SET_TARGET() == 0) {
        Value += JumpToSelf(Depth - 1, Outermost);
    } else {
        ARRIVE();
    }
    LEAVE();
    return Value;
}

TRACED void
JumpToSelfPlainly(
    unsigned Depth,
    unsigned Outermost
    )
{
    ENTER();
    if (Depth == 0) {
        longjmp(Target, 1);
    }
    if (Depth != Outermost) {
        JumpToSelfPlainly(Depth - 1, Outermost);
    } else if (SET_TARGET() == 0) {
        JumpToSelfPlainly(Depth - 1, Outermost);
    } else {
        ARRIVE();
    }
    LEAVE();
}

TRACED unsigned
JumpSelf(
    void
    )
{
    unsigned Value = 0;
    unsigned Depth;

    ENTER();
    for (Depth = 1; Depth < 20; Depth += 1) {
        Value += JumpToSelf(Depth, Depth);
        JumpToSelfPlainly(Depth, Depth);
    }
    LEAVE();
    return Value;
}

//
// A walk at random over functions with frames of many sizes, some of which are
// known only when the function is called (Grow, Aligned): each calls others, is
// a target, leaves to any target further out, or returns.  gcc jumps without
// unwinding here.
//

#ifdef __clang__
typedef jmp_buf WALK_BUFFER;
#define WALK_SET setjmp
#define WALK_JUMP longjmp
#else
typedef void *WALK_BUFFER[5];
#define WALK_SET __builtin_setjmp
#define WALK_JUMP __builtin_longjmp
#endif

#define WALK_TARGETS 64
#define WALK_DEPTH 30
#define WALK_CALLS 2000

typedef struct WALK_TARGET {
    WALK_BUFFER Buffer;
    unsigned Depth;
    unsigned Level;
} WALK_TARGET;

static WALK_TARGET WalkTargets[WALK_TARGETS];
static volatile unsigned WalkLevel;
static volatile unsigned WalkState;
static volatile unsigned WalkCalls;

PLAIN static unsigned
WalkRandom(
    unsigned Limit
    )
{
    unsigned State = WalkState;
    unsigned Value = FLOW_RANDOM(State);

    WalkState = State;
    return Value % Limit;
}

PLAIN static void
WalkJump(
    void
    )
{
    WALK_TARGET *Walk = &WalkTargets[WalkRandom(WalkLevel)];

    WalkLevel = Walk->Level;
    WALK_JUMP(Walk->Buffer, 1);
}

typedef unsigned (*WALK_ROUTINE)(unsigned);
extern const WALK_ROUTINE Walkers[24];

#define WALK(Name, Size) WALK_FRAME(Name, Size, unsigned char Frame[Size])

#define GROW(Name, Size)                                                    \
    WALK_FRAME(Name,                                                        \
               Size,                                                        \
               unsigned char *Frame = alloca(Size + Depth * 32))

#define ALIGNED(Name, Size)                                                 \
    WALK_FRAME(Name,                                                        \
               Size,                                                        \
               unsigned char Frame[Size] __attribute__((aligned(64))))

#define WALK_FRAME(Name, Size, DeclareFrame)                                \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned Depth                                                      \
        )                                                                   \
    {                                                                       \
        volatile DeclareFrame;                                              \
        volatile unsigned Value = Size;                                     \
        volatile unsigned Own = WALK_TARGETS;                               \
        volatile unsigned OwnDepth = Depth;                                 \
                                                                            \
        ENTER();                                                            \
        Frame[Depth % Size] = 1;                                            \
        WalkCalls += 1;                                                     \
        if (WalkLevel < WALK_TARGETS && WalkRandom(3) == 0) {               \
            Own = WalkLevel;                                                \
            WalkTargets[Own].Depth = WitnessDepth();                        \
            WalkTargets[Own].Level = Own + 1;                               \
            WalkLevel = Own + 1;                                            \
            if (WALK_SET(WalkTargets[Own].Buffer) != 0) {                   \
                ARRIVE_AT(WalkTargets[Own].Depth);                          \
                Value += 7;                                                 \
            }                                                               \
        }                                                                   \
        while (OwnDepth < WALK_DEPTH && WalkCalls < WALK_CALLS &&           \
               WalkRandom(5) != 0) {                                        \
                                                                            \
            Value += Walkers[WalkRandom(24)](OwnDepth + 1);                 \
        }                                                                   \
        if (WalkLevel != 0 && WalkRandom(6) == 0) {                         \
            WalkJump();                                                     \
        }                                                                   \
        if (Own != WALK_TARGETS) {                                          \
            WalkLevel = Own;                                                \
        }                                                                   \
        Value += Frame[Depth % Size];                                       \
        LEAVE();                                                            \
        return Value;                                                       \
    }

WALK(Walk1, 1)
WALK(Walk9, 9)
WALK(Walk20, 20)
WALK(Walk33, 33)
WALK(Walk60, 60)
WALK(Walk100, 100)
WALK(Walk150, 150)
WALK(Walk222, 222)
WALK(Walk300, 300)
WALK(Walk500, 500)
WALK(Walk700, 700)
WALK(Walk1000, 1000)
WALK(Walk2000, 2000)
WALK(Walk4000, 4000)
WALK(Walk5000, 5000)
WALK(Walk9000, 9000)
GROW(Grow16, 16)
GROW(Grow500, 500)
GROW(Grow3000, 3000)
GROW(Grow20000, 20000)
ALIGNED(Aligned20, 20)
ALIGNED(Aligned40, 40)
ALIGNED(Aligned300, 300)
ALIGNED(Aligned1500, 1500)

const WALK_ROUTINE Walkers[24] = {
    Walk1, Walk9, Walk20, Walk33, Walk60, Walk100, Walk150, Walk222,
    Walk300, Walk500, Walk700, Walk1000, Walk2000, Walk4000, Walk5000,
    Walk9000, Grow16, Grow500, Grow3000, Grow20000, Aligned20,
    Aligned40, Aligned300, Aligned1500
};

TRACED unsigned
JumpWalk(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 30; Round += 1) {
        WalkLevel = 0;
        WalkCalls = 0;
        WalkState = Round;
        Value += Walkers[Round % 24](0);
    }
    LEAVE();
    return Value;
}

//
// Out of the comparison that qsort calls.
//

static unsigned Comparisons;

TRACED int
Compare(
    const void *Left,
    const void *Right
    )
{
    int Result;

    ENTER();
    Comparisons += 1;
    if (Comparisons == 20) {
        longjmp(Target, 1);
    }
    Result = *(const int *)Left - *(const int *)Right;
    LEAVE();
    return Result;
}

TRACED unsigned
JumpOutOfSort(
    void
    )
{
    static int Numbers[100];
    volatile unsigned Value = 0;
    unsigned Index;
    unsigned State = 3;

    ENTER();
    for (Index = 0; Index < 100; Index += 1) {
        Numbers[Index] = (int)(FLOW_RANDOM(State) % 1000);
    }
    Comparisons = 0;
    if (SET_TARGET() == 0) {
        qsort(Numbers, 100, sizeof(Numbers[0]), Compare);
    } else {
        ARRIVE();
        Value = 1;
    }
    Value += Step1000(0);
    qsort(Numbers, 10, sizeof(Numbers[0]), Compare);
    LEAVE();
    return Value;
}

//
// Out of a signal's handler.
//

TRACED void
JumpingHandler(
    int Number
    )
{
    ENTER();
    Step100((unsigned)(Number == SIGINT));
    LEAVE();
}

TRACED void
ReturningHandler(
    int Number
    )
{
    ENTER();
    Step24((unsigned)(Number == SIGINT));
    LEAVE();
}

TRACED unsigned
JumpOutOfSignal(
    void
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Round;

    ENTER();
    for (Round = 0; Round < 10; Round += 1) {
        signal(SIGTERM, ReturningHandler);
        Value += (unsigned)raise(SIGTERM);
        signal(SIGINT, JumpingHandler);
        if (SET_TARGET() == 0) {
            Value += (unsigned)raise(SIGINT);
        } else {
            ARRIVE();
            Value += 1;
        }
        Value += Step1(0);
    }
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    LEAVE();
    return Value;
}

//
// Threads that end with frames open.
//

TRACED void
EndThread(
    unsigned Depth
    )
{
    ENTER();
    Step100(0);
    if (Depth == 0) {
        ExitThread(0);
    }
    EndThread(Depth - 1);
    LEAVE();
}

TRACED unsigned
JumpToEnd(
    void
    )
{
    ENTER();
    if (SET_TARGET() == 0) {
        GoDown(4);
    } else {
        ARRIVE();
    }
    EndThread(10);
    LEAVE();
    return 0;
}

const FLOW_SCENARIO FlowScenarios[] = {
    { "JumpPairs", JumpPairs, 8 },
    { "JumpAcross", JumpAcross, 64 },
    { "JumpLoop", JumpLoop, 4 },
    { "JumpRecursion", JumpRecursion, 4 },
    { "JumpAligned", JumpAligned, 4 },
    { "JumpSelf", JumpSelf, 4 },
    { "JumpWalk", JumpWalk, 4 },
    { "JumpOutOfSort", JumpOutOfSort, 4 },
    { "JumpOutOfSignal", JumpOutOfSignal, 4 },
    { "JumpToEnd", JumpToEnd, 4 },
    { NULL, NULL, 0 }
};
