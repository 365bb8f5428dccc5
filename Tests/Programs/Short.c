//
// Void functions whose exit hook, with -O2 -finstrument-functions, is jumped to
// from their end, in all shapes that TRACER_MIN_DURATION has to tell apart.
// For TestShort.py, which builds it with and without tail jumps and compares
// what is kept.  No name begins with L: GNU as drops such symbols.  What Wait
// is inside of lasts longer than the shortest duration that the test asks for.
//
//     Short ROUNDS        all of them
//     Short ROUNDS leaf   leaves alone, nothing slow
//     Short ROUNDS big    leaves with large frames alone
//     Short ROUNDS busy   the same, each busy for thousands of ticks of the TSC
//

#include <setjmp.h>
#include <stdlib.h>
#include <windows.h>
#include <x86intrin.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
#define PLAIN APART __attribute__((no_instrument_function))
#define INSIDE static inline __attribute__((always_inline))

static volatile int Sink;
static jmp_buf Buffer;

//
// Without hooks.
//

PLAIN
static
void
Wait(
    void
    )
{
    ULONGLONG Start = GetTickCount64();

    while (GetTickCount64() - Start < 300) {
        Sink += 1;
    }
}

PLAIN
static
void
Use(
    volatile int *Data
    )
{
    Sink += Data[0];
}

//
// Leaves, with a small frame and with large ones.
//

APART
static
void
QuickLeaf(
    int Value
    )
{
    Sink += Value;
}

APART
static
void
SlowLeaf(
    int Value
    )
{
    Sink += Value;
    Wait();
}

APART
static
void
BigLeaf(
    int Value
    )
{
    volatile int Data[300];

    Data[0] = Value;
    Use(Data);
    Sink += Data[0];
}

//
// Nobody else knows where its data is, so that its exit hook is jumped to.
//

APART
static
void
WideLeaf(
    int Value,
    unsigned Ticks
    )
{
    volatile int Data[300];
    unsigned long long Begin = __rdtsc();

    while (__rdtsc() - Begin < Ticks) {
        Sink += 1;
    }

    Data[Value % 300] = Value;
    Sink += Data[Value % 300];
}

APART
static
void
HugeLeaf(
    int Value
    )
{
    volatile int Data[3000];

    Data[0] = Value;
    Use(Data);
    Sink += Data[0];
}

APART
static
void
AlignedLeaf(
    int Value
    )
{
    volatile int Data[64] __attribute__((aligned(64)));

    Data[0] = Value;
    Use(Data);
    Sink += Data[0];
}

APART
static
void
MovingLeaf(
    int Value
    )
{
    volatile int *Data = __builtin_alloca(16 * (1 + Value % 40));

    Data[0] = Value;
    Use(Data);
    Sink += Data[0];
}

//
// With children: of short ones nothing stays, of a slow one all that it is
// called by.
//

APART
static
void
Parent(
    int Value
    )
{
    QuickLeaf(Value);
    BigLeaf(Value);
    QuickLeaf(Value + 1);
    Sink += Value;
}

APART
static
void
SlowParent(
    int Value
    )
{
    QuickLeaf(Value);
    SlowLeaf(Value);
    QuickLeaf(Value);
    Sink += Value;
}

APART
static
int
Returns(
    int Value
    )
{
    QuickLeaf(Value);
    return Value + Sink;
}

//
// Recursion, all of it short, and with a slow one at the bottom.
//

APART
static
void
Recurse(
    int Depth
    )
{
    Sink += Depth;
    if (Depth > 0) {
        Recurse(Depth - 1);
        Sink += 1;
        Recurse(Depth - 2);
    }
    Sink += 1;
}

APART
static
void
SlowRecurse(
    int Depth
    )
{
    if (Depth > 0) {
        SlowRecurse(Depth - 1);
    } else {
        Wait();
    }
    Sink += 1;
}

//
// Functions that are inlined into others, and into themselves.
//

INSIDE
void
Inlined(
    int Value
    )
{
    Sink += Value;
}

INSIDE
void
InlinedTwice(
    int Value
    )
{
    Inlined(Value);
    Sink += Value;
    Inlined(Value);
}

APART
static
void
Outer(
    int Value
    )
{
    InlinedTwice(Value);
    QuickLeaf(Value);
    InlinedTwice(Value);
}

PLAIN
static
void
Unhooked(
    int Value
    )
{
    volatile int Data[100];

    Data[0] = Value;
    Use(Data);
    Inlined(Data[0]);
}

//
// A function that calls itself by way of one without hooks.  The inner one is
// left by a jump: it stays, and so does the outer one, of whose exit it must
// not be taken for the entry.
//

static void Abandoned(int Depth, int Value);

PLAIN
static
void
Catch(
    int Value
    )
{
    if (setjmp(Buffer) == 0) {
        Abandoned(1, Value);
    }
}

APART
static
void
Abandoned(
    int Depth,
    int Value
    )
{
    Sink += Value;
    if (Depth == 1) {
        longjmp(Buffer, 1);
    }
    Catch(Value);
    Sink += Value;
}

static void BigAbandoned(int Depth, int Value);

PLAIN
static
void
CatchBig(
    int Value
    )
{
    if (setjmp(Buffer) == 0) {
        BigAbandoned(1, Value);
    }
}

APART
static
void
BigAbandoned(
    int Depth,
    int Value
    )
{
    volatile int Data[300];

    Data[0] = Value;
    Use(Data);
    if (Depth == 1) {
        longjmp(Buffer, 1);
    }
    CatchBig(Value);
    Sink += Data[0];
}

//
// A copy that the compiler makes for one argument.
//

static
__attribute__((noinline))
void
Copied(
    int Value,
    int Kind
    )
{
    volatile int Data[40];
    int Index;

    for (Index = 0; Index < Kind; Index += 1) {
        Data[Index] = Value * Kind;
    }
    Use(Data);
    Sink += Data[Kind - 1];
}

APART
static
void
UsesCopies(
    int Value
    )
{
    Copied(Value, 17);
    Copied(Value, 17);
    Copied(Value, 1 + Value % 30);
    Sink += Value;
}

int
main(
    int Count,
    char **Arguments
    )
{
    int Rounds = Count > 1 ? atoi(Arguments[1]) : 10;
    int Index;

    if (Count > 2) {
        for (Index = 0; Index < Rounds; Index += 1) {
            if (Arguments[2][0] == 'b') {
                WideLeaf(Index, Arguments[2][1] == 'u' ? 4000 : 0);
            } else {
                QuickLeaf(Index);
            }
        }
        return 0;
    }

    for (Index = 0; Index < Rounds; Index += 1) {
        QuickLeaf(Index);
        BigLeaf(Index);
        HugeLeaf(Index);
        AlignedLeaf(Index);
        MovingLeaf(Index);
        Parent(Index);
        Returns(Index);
        Recurse(4);
        Outer(Index);
        Unhooked(Index);
        UsesCopies(Index);
    }

    SlowLeaf(1);
    SlowParent(2);
    SlowRecurse(3);
    for (Index = 0; Index < 3; Index += 1) {
        Abandoned(0, Index);
        BigAbandoned(0, Index);
    }
    QuickLeaf(1);

    return 0;
}
