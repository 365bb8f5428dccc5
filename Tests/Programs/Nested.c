//
// Functions inside functions, which reach the outer one's variables by way of a
// static chain: calls of all shapes, and jumps out of them.  For TestNested.py.
//
//     Nested ROUNDS
//

#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static volatile int Sink;

APART
static
int
Outer(
    int Value,
    int Jumps
    )
{
    __label__ Out;
    int Local = Value;
    int Index;

    APART
    int
    Inner(
        int Number
        )
    {
        Local += Number;
        Sink += Local;
        return Local;
    }

    APART
    void
    Tiny(
        void
        )
    {
        Local += 1;
    }

    APART
    int
    Deep(
        int Number
        )
    {
        return Number == 0 ? Inner(1) : Deep(Number - 1) + Local;
    }

    APART
    void
    Jump(
        void
        )
    {
        Sink += 1;
        goto Out;
    }

    APART
    void
    Middle(
        void
        )
    {
        volatile char Room[500];

        Room[0] = (char)Local;
        Tiny();
        Jump();
        Sink += Room[0];
    }

    for (Index = 0; Index < 3; Index += 1) {
        Sink += Inner(Index);
        Tiny();
        Sink += Deep(3);
    }

    if (Jumps) {
        Middle();
    }

Out:
    Tiny();
    return Local;
}

APART
static
int
Plain(
    int Value
    )
{
    Sink += Value;
    return Value;
}

int
main(
    int Count,
    char **Arguments
    )
{
    int Rounds = Count > 1 ? atoi(Arguments[1]) : 2;
    int Index;

    for (Index = 0; Index < Rounds; Index += 1) {
        Sink += Outer(4, Index % 3 == 1);
        Sink += Plain(Index);
    }
    return 0;
}
