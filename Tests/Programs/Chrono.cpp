/*++

Module Name:

    Chrono.cpp

Abstract:

    Calls of functions that TRACER_CHRONO lists (Listed and Second), in every
    way that such a call can begin and end, and calls of others around them.

        Chrono.exe THREADS ROUNDS [exit | die | FILE]

    With FILE each thread goes on, and sleeps in between, until that is there;
    then it makes its rounds.

    Where a jump or an exception leaves a listed call, Landed is called next;
    where it stays inside of one, Inside is.

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((noinline, no_instrument_function))
#define TRACED extern "C" __attribute__((noinline))

enum MODE { ModeNone, ModeJump, ModeThrow, ModeInside, ModeThread, ModeExit,
            ModeDie, ModeFiber };

struct STATE {
    unsigned Seed;
    unsigned Value;
    void *Jump[8];
    void *Near[8];
    void *Own;
    void *Other;
};

static unsigned Rounds;
static volatile unsigned Sink;
static const char *Last = "";
static volatile int IsSlow;

static inline __attribute__((always_inline, no_instrument_function)) unsigned
Random(STATE *State, unsigned Limit)
{
    State->Seed = State->Seed * 1664525u + 1013904223u;
    return (State->Seed >> 16) % Limit;
}

TRACED void Leaf(STATE *State) { State->Value = State->Value * 3 + 1; }

TRACED void Landed(STATE *State) { Leaf(State); }

TRACED void Inside(STATE *State) { Leaf(State); }

TRACED void Work(STATE *State)
{
    unsigned Count;

    for (Count = Random(State, 4); Count != 0; Count -= 1) {
        Leaf(State);
    }
    State->Value ^= Count;
}

TRACED void Deep(STATE *State, unsigned Mode, unsigned Depth)
{
    volatile char Room[64];

    Room[0] = (char)Depth;
    Leaf(State);
    if (Depth != 0) {
        Deep(State, Mode, Depth - 1);
        State->Value += Room[0];
        return;
    }

    switch (Mode) {
    case ModeJump:
        __builtin_longjmp(State->Jump, 1);
    case ModeInside:
        __builtin_longjmp(State->Near, 1);
    case ModeThrow:
        throw 1;
    case ModeThread:
        ExitThread(0);
    case ModeExit:
        ExitProcess(0);
    case ModeDie:
        TerminateProcess(GetCurrentProcess(), 3);
        break;
    case ModeFiber:
        SwitchToFiber(State->Other);
        break;
    default:
        if (IsSlow) {
            Sleep(1);
        }
        break;
    }
}

TRACED void Near(STATE *State)
{
    if (__builtin_setjmp(State->Near) == 0) {
        Deep(State, ModeInside, 2);
    } else {
        Inside(State);
    }
    Leaf(State);
}

TRACED void Second(STATE *State, unsigned Mode);

TRACED void Through(STATE *State, unsigned Mode, unsigned Depth);

TRACED void Listed(STATE *State, unsigned Mode, unsigned Depth)
{
    Work(State);
    if (Depth != 0) {
        Through(State, Mode, Depth - 1);
    } else {
        Near(State);
        Second(State, ModeNone);
        Deep(State, Mode, 1);
    }
    Leaf(State);
}

TRACED void Through(STATE *State, unsigned Mode, unsigned Depth)
{
    Listed(State, Mode, Depth);
    Work(State);
}

TRACED void Second(STATE *State, unsigned Mode)
{
    Leaf(State);
    Deep(State, Mode, 2);
}

TRACED void Jumping(STATE *State)
{
    if (__builtin_setjmp(State->Jump) == 0) {
        Listed(State, ModeJump, 2);
    } else {
        Landed(State);
    }
    Work(State);
    Leaf(State);
}

TRACED void Throwing(STATE *State)
{
    try {
        Listed(State, ModeThrow, 1);
    } catch (int) {
        Landed(State);
    }
    Leaf(State);
}

TRACED void FiberWork(STATE *State)
{
    Leaf(State);
    Work(State);
    Second(State, ModeNone);
    Leaf(State);
}

PLAIN static void CALLBACK FiberMain(void *Argument)
{
    STATE *State = (STATE *)Argument;

    for (;;) {
        FiberWork(State);
        SwitchToFiber(State->Own);
    }
}

TRACED void Outside(STATE *State)
{
    Work(State);
    switch (Random(State, 7)) {
    case 0:
        Listed(State, ModeNone, Random(State, 3));
        break;
    case 1:
        Jumping(State);
        break;
    case 2:
        Throwing(State);
        break;
    case 3:
        Second(State, ModeNone);
        break;
    case 4:
        if (State->Other != NULL) {
            Listed(State, ModeFiber, 1);
        }
        break;
    default:
        Leaf(State);
        break;
    }
    Work(State);
}

PLAIN static void Run(STATE *State)
{
    unsigned Seed = State->Seed;
    unsigned Count;

    while (IsSlow) {
        Outside(State);
        Sleep(1);
        if (GetFileAttributesA(Last) != INVALID_FILE_ATTRIBUTES) {
            IsSlow = 0;
        }
    }
    State->Seed = Seed;

    for (Count = 0; Count < Rounds; Count += 1) {
        Outside(State);
        Leaf(State);
        if (Random(State, 4) == 0) {
            Second(State, ModeNone);
        }
    }
    Sink = State->Value;
}

PLAIN static DWORD WINAPI ThreadMain(LPVOID Argument)
{
    STATE State = { (unsigned)(size_t)Argument * 7919u + 1u };

    State.Own = ConvertThreadToFiber(NULL);
    State.Other = CreateFiber(0, FiberMain, &State);
    Run(&State);
    if (((size_t)Argument & 1) != 0) {
        Listed(&State, ModeThread, 1);
    }
    return 0;
}

PLAIN static DWORD WINAPI IdleMain(LPVOID Argument)
{
    STATE State = { (unsigned)(size_t)Argument };

    Work(&State);
    Leaf(&State);
    return 0;
}

PLAIN int main(int Number, char **Words)
{
    STATE State = { 77 };
    HANDLE Threads[64];
    unsigned Index, Wanted;

    Wanted = Number > 1 ? (unsigned)atoi(Words[1]) : 1;
    Rounds = Number > 2 ? (unsigned)atoi(Words[2]) : 10;
    Last = Number > 3 ? Words[3] : "";
    IsSlow = strchr(Last, '.') != NULL;

    if (!IsSlow) {
        Run(&State);
    }
    for (Index = 0; Index < Wanted; Index += 1) {
        Threads[Index] = CreateThread(NULL, 0, ThreadMain,
                                      (LPVOID)(size_t)(Index + 1), 0, NULL);
    }
    Threads[Wanted] = CreateThread(NULL, 0, IdleMain, (LPVOID)3, 0, NULL);
    for (Index = 0; Index <= Wanted; Index += 1) {
        WaitForSingleObject(Threads[Index], INFINITE);
    }

    printf("%u\n", State.Value);
    fflush(stdout);
    if (strcmp(Last, "exit") == 0) {
        Listed(&State, ModeExit, 1);
    } else if (strcmp(Last, "die") == 0) {
        Listed(&State, ModeDie, 1);
    }
    return 0;
}
