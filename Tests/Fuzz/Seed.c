/*++

Module Name:

    Seed.c

Abstract:

    A program whose traces are small and have a little of everything: two
    threads with names, nested calls and recursion, longjmp, fibers that switch
    within functions, marks, and a stop, a start and a clearing from inside.
    Seeds.py traces it and makes inputs of FuzzSession.

--*/

#include <windows.h>
#include <setjmp.h>
#include "Penter.h"

#define APART __attribute__((noinline, noclone))
#define PLAIN __attribute__((no_instrument_function))

static volatile int Sum;
static jmp_buf Place;
static LPVOID MainFiber;

APART void Leaf(int Value)
{
    Sum += Value;
}

APART void Work(int Value)
{
    Leaf(Value);
    Leaf(Value + 1);
}

APART int Recurse(int Depth)
{
    Sum += 1;
    return Depth == 0 ? 0 : Recurse(Depth - 1) + Sum;
}

APART void Jump(int Value)
{
    Leaf(Value);
    longjmp(Place, 1);
}

APART void Land(int Value)
{
    if (setjmp(Place) == 0) {
        Jump(Value);
    }
    Work(Value);
}

APART void Switch(void)
{
    Leaf(5);
    SwitchToFiber(MainFiber);
    Leaf(6);
}

static VOID CALLBACK Fiber(LPVOID Argument)
{
    (void)Argument;
    for (;;) {
        Switch();
        SwitchToFiber(MainFiber);
    }
}

static DWORD WINAPI Thread(LPVOID Argument)
{
    LPVOID Other;
    int Index;

    (void)Argument;
    Work(7);
    MainFiber = ConvertThreadToFiber(NULL);
    Other = CreateFiber(0, Fiber, NULL);
    for (Index = 0; Index < 5; Index++) {
        SwitchToFiber(Other);
        Work(Index);
    }
    DeleteFiber(Other);
    return 0;
}

int main(int Count, char **Arguments)
{
    HANDLE Other;
    int Index;

    (void)Arguments;
    PenterMark("begin");
    Work(1);
    Recurse(6);
    Other = CreateThread(NULL, 0, Thread, NULL, 0, NULL);
    WaitForSingleObject(Other, INFINITE);
    if (Count > 1) {
        PenterStop();
        Work(2);
        PenterStart();
        Land(2);
        PenterClear();
    }
    for (Index = 0; Index < 4; Index++) {
        Land(Index);
    }
    PenterMark("end");
    return Sum == 0;
}
