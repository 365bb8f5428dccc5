/*++

Module Name:

    KdTarget.c

Abstract:

    A program to be looked at by a debugger (TestDebugger.py): its threads make
    calls, which they count themselves, and then stand still in functions that
    do not return.

        KdTarget ROUNDS park        every thread waits
        KdTarget ROUNDS crash       the first one has met an access violation
        KdTarget ROUNDS jump        every third call of Middle ends by longjmp

    With a DLL's path behind that, its function Part is called as well.  It says
    "thread TID name=count ..." for each thread, and then "ready PID".

--*/

#include <windows.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define TRACED __attribute__((noinline))
#define PLAIN __attribute__((noinline, no_instrument_function))

#define WORKERS 2

enum { LEAF, MIDDLE, OUTER, DEEP, WORK, INNER, PARK, FUNCTIONS };

static const char *const Names[FUNCTIONS] = {
    "Leaf", "Middle", "Outer", "Deep", "Work", "Inner", "Park" };

static __thread unsigned Counts[FUNCTIONS];
static volatile unsigned Sink;
static HANDLE Never;
static volatile LONG Standing;
static unsigned Rounds;
static BOOL WillCrash;
static BOOL WillJump;
static __thread jmp_buf Target;
static unsigned (*Part)(unsigned);

PLAIN static void
Say(
    const char *Text
    )
{
    DWORD Written;

    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), Text, lstrlenA(Text), &Written,
              NULL);
}

//
// Says what the calling thread has counted, and stays.
//

PLAIN static void
Stand(
    void
    )
{
    char Text[512];
    int Length;
    int Index;

    Length = sprintf(Text, "thread %lu", GetCurrentThreadId());
    for (Index = 0; Index < FUNCTIONS; Index++) {
        Length += sprintf(Text + Length, " %s=%u", Names[Index],
                          Counts[Index]);
    }

    sprintf(Text + Length, "\n");
    Say(Text);
    if (InterlockedIncrement(&Standing) == WORKERS + 1) {
        sprintf(Text, "ready %lu\n", GetCurrentProcessId());
        Say(Text);
    }

    WaitForSingleObject(Never, INFINITE);
}

PLAIN static LONG WINAPI
Crashed(
    PEXCEPTION_POINTERS Pointers
    )
{
    if (Pointers->ExceptionRecord->ExceptionCode !=
            EXCEPTION_ACCESS_VIOLATION) {
        return EXCEPTION_CONTINUE_SEARCH;
    }

    Stand();
    return EXCEPTION_CONTINUE_SEARCH;
}

TRACED unsigned
Leaf(
    unsigned Value
    )
{
    Counts[LEAF] += 1;
    return Value * 3 + Sink;
}

TRACED unsigned
Middle(
    unsigned Value
    )
{
    volatile unsigned char Frame[200];

    Counts[MIDDLE] += 1;
    Frame[Value % 200] = 1;
    if (WillJump && Value % 3 == 0) {
        longjmp(Target, 1);
    }

    return Leaf(Value) + Leaf(Value + Frame[Value % 200]);
}

TRACED unsigned
Deep(
    unsigned Value
    )
{
    Counts[DEEP] += 1;
    return Value == 0 ? Leaf(7) : Deep(Value - 1) + 1;
}

TRACED unsigned
Outer(
    unsigned Value
    )
{
    volatile unsigned char Frame[9000];

    Counts[OUTER] += 1;
    Frame[Value % 9000] = 2;
    if (WillJump && setjmp(Target) != 0) {
        return Leaf(Value);
    }

    if (Part != NULL) {
        Sink += Part(Value);
    }

    return Middle(Value) + Deep(Value % 5) + Frame[Value % 9000];
}

TRACED unsigned
Park(
    unsigned Value
    )
{
    Counts[PARK] += 1;
    if (WillCrash && Value == 1) {
        *(volatile unsigned *)16 = Value;
    } else {
        Stand();
    }

    return Value + Sink;
}

TRACED unsigned
Inner(
    unsigned Value
    )
{
    Counts[INNER] += 1;
    Value += Leaf(Value) & 0;
    return Park(Value) + Sink;
}

TRACED unsigned
Work(
    unsigned Which
    )
{
    unsigned Index;

    Counts[WORK] += 1;
    for (Index = 0; Index < Rounds * (Which + 1); Index++) {
        Sink += Outer(Index);
    }

    return Inner(Which == 0) + Sink;
}

PLAIN static DWORD WINAPI
Worker(
    void *Parameter
    )
{
    return Work((unsigned)(size_t)Parameter);
}

PLAIN int
main(
    int Count,
    char **Arguments
    )
{
    int Index;

    Rounds = Count > 1 ? atoi(Arguments[1]) : 1;
    WillCrash = Count > 2 && lstrcmpA(Arguments[2], "crash") == 0;
    WillJump = Count > 2 && lstrcmpA(Arguments[2], "jump") == 0;
    if (Count > 3) {
        Part = (unsigned (*)(unsigned))(void *)GetProcAddress(
            LoadLibraryA(Arguments[3]), "Part");
        if (Part == NULL) {
            return 1;
        }
    }

    Never = CreateEventA(NULL, TRUE, FALSE, NULL);
    AddVectoredExceptionHandler(1, Crashed);
    for (Index = 1; Index <= WORKERS; Index++) {
        CreateThread(NULL, 0, Worker, (void *)(size_t)Index, 0, NULL);
    }

    return Work(0);
}
