/*++

Module Name:

    HookCost.c

Abstract:

    Measures what a pair of hooks costs in the two shapes that bracket real
    programs: a leaf in a loop, and the recursive Fibonacci function.  Built
    several times from the same source: bare, with empty hooks, with hooks that
    only read the clock, and traced.

        HookCost LEAF-CALLS FIBONACCI-DEPTH

    Prints one line per shape: its name, the number of calls, and nanoseconds
    per call by QueryPerformanceCounter.  A shape with 0 is left out.

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

//
// The measuring itself is left uninstrumented.
//

#define PLAIN __attribute__((no_instrument_function, noinline))
#define TRACED __attribute__((noinline))

TRACED
unsigned
Leaf(
    unsigned Value
    )
{
    __asm__ volatile ("" : "+r" (Value));
    return Value + 1;
}

TRACED
unsigned
Fibonacci(
    unsigned Value
    )
{
    if (Value < 2) {
        return Value;
    }

    return Fibonacci(Value - 1) + Fibonacci(Value - 2);
}

PLAIN
static
double
Now(
    void
    )
{
    LARGE_INTEGER Count;
    LARGE_INTEGER Frequency;

    QueryPerformanceCounter(&Count);
    QueryPerformanceFrequency(&Frequency);
    return (double)Count.QuadPart * 1e9 / (double)Frequency.QuadPart;
}

PLAIN
static
void
RunLeaf(
    unsigned Count
    )
{
    unsigned Index;
    unsigned Value;
    double Start;

    Value = 0;
    Start = Now();
    for (Index = 0; Index < Count; Index += 1) {
        Value = Leaf(Value);
    }
    printf("leaf %u %.4f\n", Value, (Now() - Start) / Count);
}

PLAIN
static
void
RunFibonacci(
    unsigned Depth
    )
{
    unsigned Index;
    unsigned Previous;
    unsigned Result;
    unsigned Next;
    double Start;

    Start = Now();
    Result = Fibonacci(Depth);
    Start = Now() - Start;

    //
    // fib(n) makes 2 fib(n + 1) - 1 calls.
    //

    Previous = 0;
    Next = 1;
    for (Index = 0; Index < Depth; Index += 1) {
        Result = Previous + Next;
        Previous = Next;
        Next = Result;
    }
    printf("fib %u %.4f\n", 2 * Next - 1, Start / (2.0 * Next - 1));
}

PLAIN
int
main(
    int ArgumentCount,
    char **Arguments
    )
{
    unsigned Count;
    unsigned Depth;

    Count = ArgumentCount > 1 ? (unsigned)atoi(Arguments[1]) : 10000000;
    Depth = ArgumentCount > 2 ? (unsigned)atoi(Arguments[2]) : 34;

    //
    // The thread's first call, the start of the library and the first views
    // are in the figure.
    //

    if (Count != 0) {
        RunLeaf(Count);
    }
    if (Depth != 0) {
        RunFibonacci(Depth);
    }
    return 0;
}
