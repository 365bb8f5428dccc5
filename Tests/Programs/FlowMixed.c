/*++

Module Name:

    FlowMixed.c

Abstract:

    A walk at random over functions whose hooks differ: see Flow.h.  The file
    is compiled many times.  PART 0 is the driver and has no hooks; the others
    are equal but for their names, their hooks, and the module they are in.

    A jump goes over frames of all of them.

--*/

#include <windows.h>
#include <setjmp.h>
#include "Flow.h"

#define PARTS           5
#define ROUTINES        3
#define TARGETS         32
#define WALK_DEPTH      25
#define WALK_CALLS      1500
#define WALK_ROUNDS     30

typedef struct MIXED MIXED;
typedef unsigned MIXED_ROUTINE(MIXED *Mixed, unsigned Depth);

struct MIXED {
    MIXED_ROUTINE *Routines[PARTS * ROUTINES];
    unsigned State;
    unsigned Calls;
    volatile unsigned Level;
    unsigned TargetLevel;
    jmp_buf Targets[TARGETS];
};

#if PART == 0

#define DECLARE(Number)                                                     \
    MIXED_ROUTINE Small##Number, Middle##Number, Large##Number

DECLARE(1);
DECLARE(2);
DECLARE(3);
DECLARE(4);
DECLARE(5);

#define ROUTINES_OF(Number) Small##Number, Middle##Number, Large##Number

static MIXED Mixed;

static unsigned
MixedWalk(
    void
    )
{
    static MIXED_ROUTINE *const Routines[PARTS * ROUTINES] = {
        ROUTINES_OF(1), ROUTINES_OF(2), ROUTINES_OF(3), ROUTINES_OF(4),
        ROUTINES_OF(5)
    };
    unsigned Value = 0;
    unsigned Round;
    unsigned Index;

    for (Index = 0; Index < PARTS * ROUTINES; Index += 1) {
        Mixed.Routines[Index] = Routines[Index];
    }
    for (Round = 0; Round < WALK_ROUNDS; Round += 1) {
        Mixed.State = Round;
        Mixed.Calls = 0;
        Mixed.Level = 0;
        Value += Routines[Round % (PARTS * ROUTINES)](&Mixed, 0);
    }
    return Value;
}

const FLOW_SCENARIO FlowScenarios[] = {
    { "MixedWalk", MixedWalk, 8 },
    { NULL, NULL, 0 }
};

#else

#define JOIN2(Name, Number) Name##Number
#define JOIN(Name, Number) JOIN2(Name, Number)

#ifdef MIXED_DLL
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

PLAIN static unsigned
Random(
    MIXED *Mixed,
    unsigned Limit
    )
{
    return FLOW_RANDOM(Mixed->State) % Limit;
}

#define WALK(Name, Size)                                                    \
    EXPORT TRACED unsigned                                                  \
    Name(                                                                   \
        MIXED *Mixed,                                                       \
        unsigned Depth                                                      \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        MIXED *volatile Own = Mixed;                                        \
        volatile unsigned Value = Size;                                     \
        volatile unsigned OwnLevel = Mixed->Level;                          \
        volatile unsigned OwnDepth;                                         \
        volatile unsigned Next = Depth + 1;                                 \
                                                                            \
        ENTER();                                                            \
        OwnDepth = WitnessDepth();                                          \
        Frame[Depth % Size] = 1;                                            \
        Own->Calls += 1;                                                    \
        if (OwnLevel < TARGETS && Random(Own, 3) == 0) {                    \
            Own->Level = OwnLevel + 1;                                      \
            if (setjmp(Own->Targets[OwnLevel]) != 0) {                      \
                WitnessLeaveTo(OwnDepth, 1);                                \
                Own->Level = OwnLevel + 1;                                  \
            }                                                               \
        }                                                                   \
        while (Next < WALK_DEPTH && Own->Calls < WALK_CALLS &&              \
               Random(Own, 5) != 0) {                                       \
                                                                            \
            Value += Own->Routines[Random(Own, PARTS * ROUTINES)](Own,      \
                                                                  Next);    \
        }                                                                   \
        if (Own->Level != 0 && Random(Own, 6) == 0) {                       \
            Own->TargetLevel = Random(Own, Own->Level);                     \
            longjmp(Own->Targets[Own->TargetLevel], 1);                     \
        }                                                                   \
        Own->Level = OwnLevel;                                              \
        Value += Frame[(Next - 1) % Size];                                  \
        LEAVE();                                                            \
        return Value;                                                       \
    }

WALK(JOIN(Small, PART), 16)
WALK(JOIN(Middle, PART), 400)
WALK(JOIN(Large, PART), 9000)

#endif
