/*++

Module Name:

    Left.cpp

Abstract:

    Calls that are left without an exit, and then calls that come through
    functions without hooks: see Flow.h.  The frames of those functions are
    larger than the ones that were left, so that the stack pointer alone does not
    show that these are gone.

    Hidden functions have hooks and are excluded; they say nothing to the
    witness.

--*/

#include <windows.h>
#include <setjmp.h>
#include <stdlib.h>
#include "Flow.h"

#define MARK() const unsigned Mark = WitnessDepth()
#define ARRIVE() WitnessLeaveTo(Mark, FLOW_UNWOUND)
#define JUMPED() WitnessLeaveTo(Mark, 1)

#define HIDDEN TRACED

static volatile unsigned Seen;

//
// What the library calls back: __cxa_end_catch does, for the function that has
// caught.
//

struct Error {
    unsigned Code;

    TRACED Error(unsigned Value);
    TRACED ~Error();
};

Error::Error(
    unsigned Value
    )
{
    WitnessEnter("_ZN5ErrorC1Ej");
    Code = Value;
    WitnessLeave();
}

Error::~Error()
{
    WitnessEnter("_ZN5ErrorD1Ev");
    Seen += Code;
    Code = 0;
    WitnessLeave();
}

extern "C" {

TRACED unsigned Leaf(unsigned Value)
{
    ENTER();
    Seen += Value;
    LEAVE();
    return Value + 1;
}

//
// Functions without hooks, with larger and larger frames.
//

#define THROUGH(Name, Size)                                                 \
    PLAIN unsigned                                                          \
    Name(                                                                   \
        unsigned (*Routine)(unsigned),                                      \
        unsigned Value                                                      \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        Frame[0] = Frame[Size - 1] = (unsigned char)Value;                  \
        return Routine(Value) + Frame[FlowZero];                            \
    }

THROUGH(Through16, 16)
THROUGH(Through200, 200)
THROUGH(Through3000, 3000)

PLAIN unsigned ThroughAlloca(unsigned (*Routine)(unsigned), unsigned Value)
{
    volatile unsigned char *Frame =
        (volatile unsigned char *)__builtin_alloca(Value % 7 * 100 + 16);

    Frame[0] = (unsigned char)Value;
    return Routine(Value) + Frame[FlowZero];
}

PLAIN int Compare(const void *Left, const void *Right)
{
    Leaf(3);
    return *(const int *)Left - *(const int *)Right;
}

PLAIN void Through(unsigned (*Routine)(unsigned), unsigned Value)
{
    int Numbers[6] = { 3, 1, 2, 5, 4, 0 };

    Seen += Through16(Routine, Value);
    Seen += Through200(Routine, Value);
    Seen += Through3000(Routine, Value);
    Seen += ThroughAlloca(Routine, Value);
    qsort(Numbers, 6, sizeof(int), Compare);
}

//
// Throws.
//

TRACED unsigned Parse(unsigned Value)
{
    unsigned Result;

    ENTER();
    if (Value != 0) {
        throw Error(Value);
    }
    Result = Leaf(Value);
    LEAVE();
    return Result;
}

TRACED unsigned ParseDeep(unsigned Value)
{
    volatile unsigned char Frame[40];
    unsigned Result;

    ENTER();
    Frame[0] = (unsigned char)Value;
    Result = Value % 5 == 0 ? Parse(Value) : ParseDeep(Value - 1) + Frame[0];
    LEAVE();
    return Result;
}

TRACED unsigned ParseThrough(unsigned Value)
{
    unsigned Result;

    ENTER();
    Result = Through200(ParseDeep, Value);
    Result += Leaf(Result);
    LEAVE();
    return Result;
}

TRACED unsigned Catcher(unsigned Value)
{
    unsigned Result;

    ENTER();
    MARK();
    try {
        Result = Parse(Value);
    } catch (const Error &Caught) {
        ARRIVE();
        Result = Caught.Code;
    }
    LEAVE();
    return Result;
}

TRACED unsigned CatchLoop(unsigned Count)
{
    unsigned Index;

    ENTER();
    MARK();
    for (Index = 0; Index < Count; Index += 1) {
        try {
            Seen += Index % 3 == 0 ? Parse(Index % 2) :
                    Index % 3 == 1 ? ParseDeep(Index) : ParseThrough(Index);
        } catch (const Error &Caught) {
            ARRIVE();
            Seen += Caught.Code;
        }
        Through(Leaf, Index);
    }
    LEAVE();
    return Count;
}

TRACED unsigned CatchInside(unsigned Value)
{
    ENTER();
    MARK();
    try {
        ParseDeep(Value);
    } catch (const Error &Caught) {
        ARRIVE();
        Through(Leaf, Caught.Code);
        Through(Catcher, Caught.Code);
        Catcher(Value);
        Through(Leaf, Caught.Code);
    }
    LEAVE();
    return Value;
}

TRACED unsigned Again(unsigned Value)
{
    ENTER();
    MARK();
    try {
        ParseDeep(Value);
    } catch (const Error &Caught) {
        ARRIVE();
        Through(Leaf, Caught.Code);
        throw;
    }
    LEAVE();
    return Value;
}

TRACED unsigned Other(unsigned Value)
{
    ENTER();
    MARK();
    try {
        Again(Value);
    } catch (const Error &Caught) {
        ARRIVE();
        Through(Leaf, Caught.Code);
        throw Error(Value + 7);
    }
    LEAVE();
    return Value;
}

TRACED unsigned CatchAgain(unsigned Count)
{
    ENTER();
    MARK();
    while (Count != 0) {
        try {
            Other(Count);
        } catch (const Error &Caught) {
            ARRIVE();
            Through(Leaf, Caught.Code);
        }
        Count -= 1;
    }
    Through(Leaf, 1);
    LEAVE();
    return 0;
}

}

//
// Destructors that run while frames are being left.
//

struct Guard {
    unsigned Depth;

    TRACED Guard();
    TRACED ~Guard();
};

Guard::Guard()
{
    WitnessEnter("_ZN5GuardC1Ev");
    Depth = WitnessDepth() - 1;
    WitnessLeave();
}

Guard::~Guard()
{
    WitnessLeaveTo(Depth, FLOW_UNWOUND);
    WitnessEnter("_ZN5GuardD1Ev");
    Through(Leaf, Depth);
    Seen += Catcher(Depth + 1);
    Through(Leaf, Depth);
    WitnessLeave();
}

PLAIN void
Clean(
    Guard *Object
    )
{
    volatile unsigned char Frame[500];

    Frame[0] = Frame[499] = 1;
    Object->~Guard();
    Seen += Frame[0];
}

//
// Its destructor has no hooks and a large frame.
//

PLAIN void *operator new(size_t, void *Place) noexcept { return Place; }

struct Holder {
    union { Guard Object; };

    PLAIN Holder() { new (&Object) Guard(); }
    PLAIN ~Holder() { Clean(&Object); }
};

extern "C" {

TRACED unsigned Guarded(unsigned Value)
{
    ENTER();
    {
        Guard First;
        Holder Second;
        Seen += Value % 2 ? ParseDeep(Value) : ParseThrough(Value);
    }
    LEAVE();
    return Value;
}

TRACED unsigned CatchGuarded(unsigned Count)
{
    ENTER();
    MARK();
    while (Count != 0) {
        try {
            Guarded(Count + 1);
        } catch (const Error &Caught) {
            ARRIVE();
            Through(Leaf, Caught.Code);
        }
        Count -= 1;
    }
    LEAVE();
    return 0;
}

//
// A thread that never leaves its catcher does ordinary work.
//

TRACED unsigned Fib(unsigned Value)
{
    unsigned Result;

    ENTER();
    Result = Value < 2 ? Value : Fib(Value - 1) + Fib(Value - 2);
    LEAVE();
    return Result;
}

#define SCENARIO(Name, Call) \
    static PLAIN unsigned Name(void) { return Call; }

static PLAIN unsigned LeftError(void)
{
    unsigned Index, Sum = 0;

    for (Index = 0; Index < 20; Index += 1) {
        Sum += Catcher(Index % 3);
    }
    return Sum;
}

static PLAIN unsigned LeftFib(void)
{
    unsigned Sum = Catcher(1);

    Sum += Fib(15);
    Sum += CatchLoop(3);
    return Sum + Fib(10);
}

SCENARIO(LeftLoop, CatchLoop(40))
SCENARIO(LeftInside, CatchInside(13))
SCENARIO(LeftAgain, CatchAgain(9))
SCENARIO(LeftGuarded, CatchGuarded(9))

//
// Jumps.  What they leave is gone when the next call comes, as far as that can
// be known.
//

#ifdef __clang__
static jmp_buf Target;
#define SET() setjmp(Target)
#define JUMP() longjmp(Target, 1)
#else
static void *Target[5];
#define SET() __builtin_setjmp(Target)
#define JUMP() __builtin_longjmp(Target, 1)
#endif

TRACED unsigned JumpOut(unsigned Value)
{
    ENTER();
    if (Value < 1000) {
        JUMP();
    }
    LEAVE();
    return Value;
}

TRACED unsigned JumpDeep(unsigned Value)
{
    volatile unsigned char Frame[64];
    unsigned Result;

    ENTER();
    Frame[0] = (unsigned char)Value;
    Result = Value % 4 == 0 ? JumpOut(Value) : JumpDeep(Value - 1) + Frame[0];
    LEAVE();
    return Result;
}

HIDDEN unsigned Hidden16(unsigned Value)
{
    volatile unsigned char Frame[16];

    Frame[0] = (unsigned char)Value;
    return Leaf(Value) + Frame[FlowZero];
}

HIDDEN unsigned Hidden300(unsigned Value)
{
    volatile unsigned char Frame[300];

    Frame[0] = (unsigned char)Value;
    return Fib(Value % 4) + Hidden16(Value) + Frame[FlowZero];
}

HIDDEN unsigned HiddenAlloca(unsigned Value)
{
    volatile unsigned char *Frame =
        (volatile unsigned char *)__builtin_alloca(Value % 7 * 100 + 16);

    Frame[0] = (unsigned char)Value;
    return Leaf(Value) + Frame[FlowZero];
}

TRACED unsigned JumpHidden(unsigned Count)
{
    volatile unsigned Index;

    ENTER();
    MARK();
    for (Index = 0; Index < Count; Index += 1) {
        if (SET() == 0) {
            JumpDeep(Index);
        }
        JUMPED();
        switch (Index % 3) {
        case 0:
            Hidden300(Index);
            break;
        case 1:
            Hidden16(Index);
            break;
        default:
            HiddenAlloca(Index);
            break;
        }
    }
    LEAVE();
    return Count;
}

//
// The same call calls one function that leaves and one that is hidden.
//

static unsigned (*const Pair[2])(unsigned) = { JumpOut, Hidden300 };

TRACED unsigned JumpPair(unsigned Count)
{
    volatile unsigned Index;

    ENTER();
    MARK();
    for (Index = 0; Index < Count; Index += 1) {
        if (SET() == 0) {
            Pair[Index % 2](Index);
        }
        WitnessLeaveTo(Mark, 1);
    }
    LEAVE();
    return Count;
}

SCENARIO(LeftHidden, JumpHidden(24))
SCENARIO(LeftPair, JumpPair(12))

//
// The same with functions that have no hooks.
//

TRACED unsigned JumpThrough(unsigned Count)
{
    volatile unsigned Index;

    ENTER();
    MARK();
    for (Index = 0; Index < Count; Index += 1) {
        if (SET() == 0) {
            JumpDeep(Index);
        }
        JUMPED();
        Through(Leaf, Index);
    }
    LEAVE();
    return Count;
}

SCENARIO(LeftThrough, JumpThrough(12))

//
// A function calls another at one place with more and more taken from its stack
// pointer, so that what was left seems to lie above that one's return address.
//

TRACED unsigned JumpGrow(unsigned Count)
{
    volatile unsigned char *volatile Frame;
    volatile unsigned Index;

    ENTER();
    MARK();
    for (Index = 0; Index < Count; Index += 1) {
        if (Index % 4 == 3) {
            if (SET() == 0) {
                JumpDeep(Index);
            }
            JUMPED();
            Frame = (volatile unsigned char *)__builtin_alloca(4000);
            Frame[FlowZero] = 1;
        }
        Leaf(Index);
    }
    LEAVE();
    return Count;
}

SCENARIO(LeftGrow, JumpGrow(24))

}

const FLOW_SCENARIO FlowScenarios[] = {
    { "LeftError", LeftError, 0 },
    { "LeftLoop", LeftLoop, 0 },
    { "LeftInside", LeftInside, 0 },
    { "LeftAgain", LeftAgain, 0 },
    { "LeftGuarded", LeftGuarded, 0 },
    { "LeftFib", LeftFib, 0 },
    { "LeftHidden", LeftHidden, 0 },
    { "LeftPair", LeftPair, 0 },
    { "LeftThrough", LeftThrough, 0 },
    { "LeftGrow", LeftGrow, 0 },
    { NULL, NULL, 0 }
};
