/*++

Module Name:

    FlowStack.c

Abstract:

    Frames that are large, that grow, that are many, and calls in tail
    position: see Flow.h.

--*/

#include <windows.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include "Flow.h"

static jmp_buf Target;
static volatile unsigned TargetDepth;
static unsigned State;

#define SET_TARGET() (TargetDepth = WitnessDepth(), setjmp(Target))
#define ARRIVE() ARRIVE_AT(TargetDepth)

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

TRACED unsigned
Leave(
    void
    )
{
    ENTER();
    if (FlowZero == 0) {
        longjmp(Target, 1);
    }
    LEAVE();
    return 0;
}

//
// Frames that grow while the function runs.
//

TRACED unsigned
Grow(
    unsigned Depth
    )
{
    unsigned Value = 0;
    unsigned Round;
    unsigned Size;
    volatile unsigned char *Block;

    ENTER();
    for (Round = 0; Round < 4; Round += 1) {
        Size = 16 + FLOW_RANDOM(State) % (Round == 3 ? 50000 : 500);
        Block = alloca(Size);
        Block[0] = (unsigned char)Round;
        Block[Size - 1] = Block[0];
        Value += Leaf(Block[Size - 1]);
        if (Depth != 0) {
            Value += Grow(Depth - 1);
        }
    }
    LEAVE();
    return Value;
}

//
// The calls that are abandoned come before the frame grows: what is called
// then lies below them, so nothing is, until the function returns.
//

TRACED unsigned
LeaveThenGrow(
    unsigned Size
    )
{
    volatile unsigned char *volatile Block;
    unsigned Value;

    ENTER();
    if (SET_TARGET() == 0) {
        Leave();
    } else {
        ARRIVE();
    }
    Block = alloca(Size);
    Block[0] = 1;
    Block[Size - 1] = 2;
    Value = Block[0] + Block[Size - 1];
    LEAVE();
    return Value;
}

TRACED unsigned
StackAlloca(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    State = 1;
    for (Round = 0; Round < 20; Round += 1) {
        Value += Grow(3);
        Value += LeaveThenGrow(16 + Round * Round * 400);
        Value += Leaf(1);
        Value += LeaveThenGrow(16);
        Value += LeaveThenGrow(100000);
    }
    LEAVE();
    return Value;
}

//
// And here they are called, below the frames of the calls that were abandoned:
// nothing that is recorded tells them from calls that those have made.
//

TRACED unsigned
LeaveGrowCall(
    unsigned Size
    )
{
    volatile unsigned char *volatile Block;
    volatile unsigned Value;

    ENTER();
    if (SET_TARGET() == 0) {
        Leave();
    } else {
        ARRIVE();
    }
    Block = alloca(Size);
    Block[0] = 1;
    Value = Leaf(Block[0]);
    Value += Leaf(Value);
    LEAVE();
    return Value;
}

TRACED unsigned
UnsureGrow(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 20; Round += 1) {
        Value += LeaveGrowCall(1000 + Round * 100);
        Value += Leaf(1);
    }
    LEAVE();
    return Value;
}

//
// Large frames.
//

#define LARGE(Name, Size)                                                   \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned Depth                                                      \
        )                                                                   \
    {                                                                       \
        volatile unsigned char Frame[Size];                                 \
        unsigned Value;                                                     \
                                                                            \
        ENTER();                                                            \
        Frame[Depth] = 1;                                                   \
        Frame[Size - 1] = 2;                                                \
        Value = Leaf(Frame[Depth]) + Leaf(Frame[Size - 1]);                 \
        if (Depth != 0) {                                                   \
            Value += LargeNext(Depth - 1);                                  \
        } else if (FlowZero == 0 && State != 0) {                           \
            longjmp(Target, 1);                                             \
        }                                                                   \
        LEAVE();                                                            \
        return Value;                                                       \
    }

TRACED unsigned LargeNext(unsigned Depth);

LARGE(Large64K, 0x10000)
LARGE(Large256K, 0x40000)
LARGE(Large1M, 0x100000)
LARGE(LargePage, 0x1000)
LARGE(LargeLessThanPage, 0xFF0)

TRACED unsigned
LargeNext(
    unsigned Depth
    )
{
    static unsigned (*const Routines[])(unsigned) = {
        Large64K, LargePage, Large1M, LargeLessThanPage, Large256K
    };
    unsigned Value;

    ENTER();
    Value = Routines[Depth % 5](Depth);
    LEAVE();
    return Value;
}

TRACED unsigned
StackLarge(
    void
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Round;

    ENTER();
    for (Round = 0; Round < 25; Round += 1) {
        State = Round % 2;
        if (SET_TARGET() == 0) {
            Value += LargeNext(Round);
        } else {
            ARRIVE();
        }
        State = 0;
        Value += LargeLessThanPage(FlowZero) + Leaf(Round);
    }
    LEAVE();
    return Value;
}

//
// Arguments on the stack, as many as the caller likes.
//

TRACED unsigned
Sum(
    unsigned Count,
    ...
    )
{
    va_list List;
    unsigned Value = 0;

    ENTER();
    va_start(List, Count);
    while (Count != 0) {
        Value += Leaf((unsigned)va_arg(List, int));
        Value += (unsigned)va_arg(List, double);
        Count -= 1;
    }
    va_end(List);
    LEAVE();
    return Value;
}

TRACED double
Many(
    int A, double B, int C, double D, int E, double F, int G, double H,
    int I, double J, int K, double L
    )
{
    double Value;

    ENTER();
    Value = A + B + C + D + E + F + G + H + I + J + K + L;
    Value += Sum(2, K, L, I, J);
    LEAVE();
    return Value;
}

TRACED unsigned
StackArguments(
    void
    )
{
    unsigned Value;

    ENTER();
    Value = Sum(0);
    Value += Sum(1, 1, 2.0);
    Value += Sum(8, 1, 2.0, 3, 4.0, 5, 6.0, 7, 8.0, 9, 1.0, 2, 3.0, 4, 5.0,
                 6, 7.0);
    Value += (unsigned)Many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    Value += Sum(3, 1, Many(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 2, 2.0,
                 (int)Sum(2, 1, 1.0, 1, 1.0), 5.0);
    LEAVE();
    return Value;
}

//
// Very deep.
//

TRACED unsigned
Down(
    unsigned Depth
    )
{
    unsigned Value;

    ENTER();
    if (Depth == FlowZero) {
        Value = 1;
    } else {
        Value = Down(Depth - 1) + 1;
    }
    LEAVE();
    return Value;
}

TRACED unsigned
DownAndLeave(
    unsigned Depth
    )
{
    unsigned Value;

    ENTER();
    if (Depth == FlowZero) {
        longjmp(Target, 1);
    }
    Value = DownAndLeave(Depth - 1) + 1;
    LEAVE();
    return Value;
}

TRACED unsigned
StackDeep(
    void
    )
{
    volatile unsigned Value = 0;

    ENTER();
    if (SET_TARGET() == 0) {
        Value += DownAndLeave(10000);
    } else {
        ARRIVE();
    }
    Value += Down(20000);
    Value += Leaf(1);
    LEAVE();
    return Value;
}

TRACED unsigned
StackDeepest(
    void
    )
{
    unsigned Value;

    ENTER();
    Value = Down(1000000);
    LEAVE();
    return Value;
}

//
// Calls in tail position.
//

TRACED unsigned IsOdd(unsigned Value);

TRACED unsigned
IsEven(
    unsigned Value
    )
{
    ENTER();
    if (Value == FlowZero) {
        LEAVE();
        return 1;
    }
    LEAVE_BY_CALL(unsigned, IsOdd(Value - 1));
}

TRACED unsigned
IsOdd(
    unsigned Value
    )
{
    ENTER();
    if (Value == FlowZero) {
        LEAVE();
        return 0;
    }
    LEAVE_BY_CALL(unsigned, IsEven(Value - 1));
}

TRACED unsigned
TailDirect(
    void
    )
{
    unsigned Value;

    ENTER();
#ifdef FLOW_TAIL_EXITS
    Value = IsEven(1000000) + IsEven(1001) + IsOdd(77);
#else
    Value = IsEven(10000) + IsEven(1001) + IsOdd(77);
    Value += FlowZero;
#endif
    LEAVE();
    return Value;
}

//
// A machine whose states call each other through pointers, with frames of
// their own that are gone when they do.
//

typedef unsigned (*STATE_ROUTINE)(unsigned, unsigned, unsigned, unsigned);
extern const STATE_ROUTINE States[4];

#define STATE(Name, Size)                                                   \
    TRACED unsigned                                                         \
    Name(                                                                   \
        unsigned Steps,                                                     \
        unsigned Input,                                                     \
        unsigned One,                                                       \
        unsigned Two                                                        \
        )                                                                   \
    {                                                                       \
        unsigned Next;                                                      \
                                                                            \
        ENTER();                                                            \
        {                                                                   \
            volatile unsigned char Frame[Size];                             \
                                                                            \
            Frame[Input % Size] = (unsigned char)Input;                     \
            Next = Leaf(Frame[Input % Size]);                               \
            Next += FLOW_RANDOM(Input);                                     \
        }                                                                   \
        if (Steps == 0) {                                                   \
            LEAVE();                                                        \
            return Next + One + Two;                                        \
        }                                                                   \
        if (Steps % 11 == 0) {                                              \
            Leaf(States[Next % 4](Steps % 3, Next, 1, 2));                  \
        }                                                                   \
        LEAVE_BY_CALL(unsigned,                                             \
                      States[Next % 4](Steps - 1, Input, Two, One));        \
    }

STATE(State1, 1)
STATE(State50, 50)
STATE(State400, 400)
STATE(State9000, 9000)

const STATE_ROUTINE States[4] = { State1, State50, State400, State9000 };

TRACED unsigned
TailStates(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 50; Round += 1) {
        Value += States[Round % 4](Round * 2, Round, 3, 4);
    }
    LEAVE();
    return Value;
}

//
// A path that the compiler puts away from the rest of the function, with
// unwind data of its own, and that ends with a jump.
//

__attribute__((cold)) TRACED unsigned
Rare(
    unsigned Value
    )
{
    ENTER();
    Value = Leaf(Value);
    LEAVE();
    return Value;
}

TRACED unsigned
MeetRare(
    unsigned Value,
    unsigned Other
    )
{
    volatile unsigned char Frame[100];

    ENTER();
    Frame[Value % 100] = 1;
    Other += Leaf(Frame[Value % 100]);
    if (__builtin_expect(Value % 7 == 6, 0)) {
        Other += Rare(Value);
        LEAVE_BY_CALL(unsigned, Rare(Other));
    }
    Other += Leaf(Value);
    LEAVE();
    return Other;
}

TRACED unsigned
TailRare(
    void
    )
{
    unsigned Value = 0;
    unsigned Round;

    ENTER();
    for (Round = 0; Round < 50; Round += 1) {
        Value += MeetRare(Round, 1);
    }
    LEAVE();
    return Value;
}

//
// A function jumps to one that leaves by longjmp, and to one that returns.
//

TRACED unsigned
JumpToLeave(
    unsigned Value
    )
{
    ENTER();
    Value = Leaf(Value);
    if (Value == 0) {
        LEAVE_BY_CALL(unsigned, Leaf(1));
    }
    LEAVE_BY_CALL(unsigned, Leave());
}

TRACED unsigned
TailLeaves(
    void
    )
{
    volatile unsigned Value = 0;
    volatile unsigned Round;

    ENTER();
    for (Round = 0; Round < 20; Round += 1) {
        if (SET_TARGET() == 0) {
            Value += JumpToLeave(Round % 3);
        } else {
            ARRIVE();
        }
        Value += Leaf(Round);
    }
    LEAVE();
    return Value;
}

const FLOW_SCENARIO FlowScenarios[] = {
    { "StackAlloca", StackAlloca, 8 },
    { "UnsureGrow", UnsureGrow, 4 },
    { "StackLarge", StackLarge, 64 },
    { "StackArguments", StackArguments, 4 },
    { "StackDeep", StackDeep, 64 },
    { "TailDirect", TailDirect, 16 },
    { "TailStates", TailStates, 16 },
    { "TailRare", TailRare, 4 },
    { "TailLeaves", TailLeaves, 16 },
    { "StackDeepest", StackDeepest, 512 },
    { NULL, NULL, 0 }
};
