/*++

Module Name:

    FlowShapes.c

Abstract:

    A walk at random over the functions of FlowShapes.asm, some of which are
    left by an exception (where the compiler has __try) or by longjmp.

    This file has no hooks.  FlowShapeBody stands between every two functions
    of the walk, always the same frame at the same place.

--*/

#include <windows.h>
#include <string.h>
#include "Flow.h"

#ifndef _MSC_VER
#include <setjmp.h>
#endif

#define SHAPES          19
#define FIRST_THAT_GROWS 16
#define WALK_DEPTH      25
#define WALK_CALLS      1500
#define WALK_ROUNDS     40
#define TARGETS         32
#define CODE_LEAVE      0xE0000001

typedef unsigned SHAPE_ROUTINE(unsigned Depth);

SHAPE_ROUTINE Shape40, Shape56, Shape104, Shape520, Shape4104, Shape70008,
              ShapePush32, ShapePush96, ShapePush1024, ShapePushTwo40,
              ShapePushTwo9000, ShapePushThree32, ShapePushThree256,
              ShapePushThree30000, ShapeAlloca16, ShapeAlloca8000,
              ShapeGrows32, ShapeGrows6400, ShapeGrows50000, FlowLeaf;

static const struct {
    SHAPE_ROUTINE *Routine;
    const char *Name;
} Shapes[SHAPES] = {
    { Shape40, "Shape40" },
    { Shape56, "Shape56" },
    { Shape104, "Shape104" },
    { Shape520, "Shape520" },
    { Shape4104, "Shape4104" },
    { Shape70008, "Shape70008" },
    { ShapePush32, "ShapePush32" },
    { ShapePush96, "ShapePush96" },
    { ShapePush1024, "ShapePush1024" },
    { ShapePushTwo40, "ShapePushTwo40" },
    { ShapePushTwo9000, "ShapePushTwo9000" },
    { ShapePushThree32, "ShapePushThree32" },
    { ShapePushThree256, "ShapePushThree256" },
    { ShapePushThree30000, "ShapePushThree30000" },
    { ShapeAlloca16, "ShapeAlloca16" },
    { ShapeAlloca8000, "ShapeAlloca8000" },
    { ShapeGrows32, "ShapeGrows32" },
    { ShapeGrows6400, "ShapeGrows6400" },
    { ShapeGrows50000, "ShapeGrows50000" }
};

static unsigned State;
static unsigned Calls;
static volatile unsigned Level;
static unsigned TargetLevel;

#ifndef _MSC_VER
static jmp_buf Targets[TARGETS];
#endif

static unsigned
Random(
    unsigned Limit
    )
{
    return FLOW_RANDOM(State) % Limit;
}

//
// The body of a shape is back, after others further in were left.
//
// A function whose stack has grown exits anywhere below its frame.  So an
// instance of it that was left, and nothing that was called since, cannot be
// told from the one that returns: then this calls something.
//

static unsigned Active[SHAPES];

static void
Arrive(
    unsigned Depth,
    unsigned Number,
    const volatile unsigned *ActiveBefore
    )
{
    unsigned Index;

    WitnessLeaveTo(Depth, 1);
    if (Number >= FIRST_THAT_GROWS && Active[Number] > ActiveBefore[Number]) {
        FlowLeaf(0);
        WitnessEnter("FlowLeaf");
        WitnessLeave();
    }
    for (Index = 0; Index < SHAPES; Index += 1) {
        Active[Index] = ActiveBefore[Index];
    }
}

//
// Leaves to a body further out that is a target.
//

static void
Leave(
    void
    )
{
    TargetLevel = Random(Level);
#ifdef _MSC_VER
    RaiseException(CODE_LEAVE, 0, 0, NULL);
#else
    longjmp(Targets[TargetLevel], 1);
#endif
}

static unsigned
Walk(
    unsigned Depth
    )
{
    unsigned Value = 0;

    while (Depth < WALK_DEPTH && Calls < WALK_CALLS && Random(5) != 0) {
        if (Random(4) == 0) {
            WitnessEnter("FlowLeaf");
            Value += FlowLeaf(Depth);
            WitnessLeave();
        } else {
            Value += Shapes[Random(SHAPES)].Routine(Depth + 1);
        }
    }
    if (Level != 0 && Random(7) == 0) {
        Leave();
    }
    return Value;
}

unsigned
FlowShapeBody(
    unsigned Depth,
    unsigned Number
    )
{
    volatile unsigned Value = Number;
    volatile unsigned Own;
    volatile unsigned OwnDepth;
    volatile unsigned DepthNow = Depth;
    volatile unsigned ActiveNow[SHAPES];
    unsigned Index;

    WitnessEnter(Shapes[Number].Name);
    Calls += 1;
    OwnDepth = WitnessDepth();
    Own = Level;
    Active[Number] += 1;
    for (Index = 0; Index < SHAPES; Index += 1) {
        ActiveNow[Index] = Active[Index];
    }
    if (Own == TARGETS || Random(3) != 0) {
        Value += Walk(DepthNow);
    } else {
        Level = Own + 1;
#ifdef _MSC_VER
        __try {
            Value += Walk(DepthNow);
        } __except (TargetLevel == Own ? EXCEPTION_EXECUTE_HANDLER :
                                         EXCEPTION_CONTINUE_SEARCH) {
            Arrive(OwnDepth, Number, ActiveNow);
            Level = Own;
            Value += Walk(DepthNow);
        }
#else
        if (setjmp(Targets[Own]) == 0) {
            Value += Walk(DepthNow);
        } else {
            Arrive(OwnDepth, Number, ActiveNow);
            Level = Own;
            Value += Walk(DepthNow);
        }
#endif
        Level = Own;
    }
    Active[Number] -= 1;
    WitnessLeave();
    return Value;
}

//
// Each round begins with another shape.
//

static unsigned
ShapesWalk(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    for (Round = 0; Round < WALK_ROUNDS; Round += 1) {
        State = Round;
        Calls = 0;
        Level = 0;
        memset(Active, 0, sizeof(Active));
        Value += Shapes[Round % SHAPES].Routine(0);
    }
    return Value;
}

const FLOW_SCENARIO FlowScenarios[] = {
    { "ShapesWalk", ShapesWalk, 8 },
    { NULL, NULL, 0 }
};
