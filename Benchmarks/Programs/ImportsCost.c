/*++

Module Name:

    ImportsCost.c

Abstract:

    For BenchImports.sh: what a call costs that goes to another module, or,
    compiled with HOOKED, to a function of this one that has hooks; and what it
    costs to load TracerImports.dll.  With LEAF, the other module.

        ImportsCost CALLS       nanoseconds a call
        ImportsCost load        milliseconds

--*/

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#ifdef LEAF

__declspec(dllexport)
int
Leaf(
    int Value
    )
{
    return Value + 1;
}

#else

#ifdef HOOKED

__attribute__((noinline))
int
Leaf(
    int Value
    )
{
    return Value + 1;
}

#else

__declspec(dllimport)
int
Leaf(
    int Value
    );

#endif

__attribute__((no_instrument_function))
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

__attribute__((no_instrument_function))
int
main(
    int ArgumentCount,
    char **Arguments
    )
{
    unsigned Count;
    unsigned Index;
    double Start;
    int Value;

    if (ArgumentCount > 1 && Arguments[1][0] == 'l') {
        Start = Now();
        if (LoadLibraryA("TracerImports.dll") == NULL) {
            return 1;
        }
        printf("%.3f\n", (Now() - Start) / 1e6);
        return 0;
    }

    Count = ArgumentCount > 1 ? (unsigned)atoi(Arguments[1]) : 20000000;
    Value = 0;
    for (Index = 0; Index < 10000; Index += 1) {
        Value = Leaf(Value);
    }
    Start = Now();
    for (Index = 0; Index < Count; Index += 1) {
        Value = Leaf(Value);
    }
    printf("%.3f\n", (Now() - Start) / Count);
    return Value == 0;
}

#endif
