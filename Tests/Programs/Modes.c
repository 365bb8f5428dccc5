/*++

Module Name:

    Modes.c

Abstract:

    A program for what the user may ask the writer for: other clocks, rings,
    limits of size, duration and depth.  It keeps a log of its own of every
    event, in order:

        Modes work COUNT THREADS LOG    THREADS threads make COUNT calls or a
                                        few more each, in a random tree
        Modes steps COUNT THREADS LOG [FILE]
                                        the same, and the thread sleeps a little
                                        after each hundredth of its calls; after
                                        half of them it waits for FILE
        Modes spin COUNT THREADS LOG    calls that take no time and calls that
                                        take 5 ms and more
        Modes fibers COUNT THREADS LOG  the same on four fibers, which switch
                                        in the middle of short calls
        Modes jump COUNT THREADS LOG    calls that are left by longjmp
        Modes recurse COUNT THREADS LOG one call in another, COUNT deep
        Modes kill COUNT THREADS LOG    as work; when the first thread has made
                                        COUNT calls, and each has made one, it
                                        ends the process
        Modes hook 0 0 LOG              prints the first bytes of two hooks

    LOG is a file that is mapped, so that it also tells what a program did that
    was ended by force.  Each thread has ROOM_SIZE bytes of it: the number of
    its events (8 bytes), its identifier (4), at 16 an address on the stack of
    each fiber (8), and from EVENTS_OFFSET on one byte for each event:

        0x00 to 0x1f    the function of that number was entered
        0x20 to 0x3f    it returns
        0x40 to 0x4f    fiber 0 to 15 goes on
        0x80 to 0xff    all but the outermost 0 to 127 calls of this fiber are
                        gone

    An entry is logged after its hook, an exit before.

--*/

#include "Traced.h"
#include <setjmp.h>

#define ROOM_SIZE       0x800000
#define EVENTS_OFFSET   64
#define MAXIMUM_THREADS 64
#define MAXIMUM_FIBERS  4

typedef struct THREAD {
    volatile long long *Count;          // of events
    volatile unsigned char *Events;
    unsigned Calls;
    unsigned IsEndless;
    unsigned Random;
    unsigned Value;
    unsigned Sleeps;
    unsigned Depth;
    unsigned FiberNow;
    unsigned Switches;
    void *Main;
    void *Fibers[MAXIMUM_FIBERS];
    jmp_buf Place;
} THREAD;

static char *Log;
static unsigned Count;
static const char *Scenario;
static const char *Go;

PLAIN_INLINE void
LogEvent(
    THREAD *Thread,
    unsigned Event
    )
{
    long long Number = *Thread->Count;

    if (Number < ROOM_SIZE - EVENTS_OFFSET) {
        Thread->Events[Number] = (unsigned char)Event;
        *Thread->Count = Number + 1;
    }
}

#define ENTERED(Number)     (LogEvent(Thread, Number), Thread->Calls += 1)
#define LEAVING(Number)     LogEvent(Thread, 0x20 + (Number))
#define GONE(Remaining)     LogEvent(Thread, 0x80 + (Remaining))

//
// work: eight functions that call each other at random.
//

typedef unsigned (*WORK_ROUTINE)(THREAD *, unsigned);

static const WORK_ROUTINE Works[8];

#define WORK(Number)                                                        \
    TRACED unsigned                                                         \
    Work##Number(                                                           \
        THREAD *Thread,                                                     \
        unsigned Depth                                                      \
        )                                                                   \
    {                                                                       \
        unsigned Value = Number + Depth;                                    \
        unsigned Calls;                                                     \
                                                                            \
        ENTERED(Number);                                                    \
        if (Depth != 0) {                                                   \
            for (Calls = NextRandom(&Thread->Random) % 4; Calls > 1;        \
                 Calls -= 1) {                                              \
                Value += Works[NextRandom(&Thread->Random) % 8](            \
                    Thread,                                                 \
                    Depth - 1);                                             \
            }                                                               \
            Value = Value * 3 + Works[(Value >> 3) % 8](Thread, Depth / 2); \
        }                                                                   \
        LEAVING(Number);                                                    \
        return Value;                                                       \
    }

WORK(0)
WORK(1)
WORK(2)
WORK(3)
WORK(4)
WORK(5)
WORK(6)
WORK(7)

static const WORK_ROUTINE Works[8] = {
    Work0, Work1, Work2, Work3, Work4, Work5, Work6, Work7
};

PLAIN static void
RunWork(
    THREAD *Thread
    )
{
    unsigned Next = Count / 100;

    while (Thread->IsEndless || Thread->Calls < Count) {
        Thread->Value +=
            Works[NextRandom(&Thread->Random) % 8](Thread, 11);
        if (Thread->Sleeps != 0 && Thread->Calls >= Next) {
            Next += Count / 100;
            Sleep(Thread->Sleeps);
            while (Go != NULL && Thread->Calls >= Count / 2 &&
                   GetFileAttributesA(Go) == INVALID_FILE_ATTRIBUTES) {

                Sleep(Thread->Sleeps);
            }
        }
    }
}

//
// spin: 8 to 12.
//

PLAIN static void
Spin(
    void
    )
{
    LARGE_INTEGER Frequency;
    LARGE_INTEGER First;
    LARGE_INTEGER Now;

    QueryPerformanceFrequency(&Frequency);
    QueryPerformanceCounter(&First);
    do {
        QueryPerformanceCounter(&Now);
    } while (Now.QuadPart - First.QuadPart < Frequency.QuadPart / 200);
}

PLAIN static void
Relay(
    THREAD *Thread
    )
{
    unsigned Next;

    if (Thread->Main != NULL && Thread->Switches != 0) {
        Thread->Switches -= 1;
        Next = NextRandom(&Thread->Random) % MAXIMUM_FIBERS;
        if (Next != Thread->FiberNow) {
            LogEvent(Thread, 0x41 + Next);
            Thread->FiberNow = Next;
            SwitchToFiber(Thread->Fibers[Next]);
        }
    }
}

TRACED unsigned
Short(
    THREAD *Thread,
    unsigned Value
    )
{
    ENTERED(8);
    Value = Value * 5 + 1;
    LEAVING(8);
    return Value;
}

TRACED unsigned
Long(
    THREAD *Thread,
    unsigned Value
    )
{
    ENTERED(9);
    Spin();
    Value += Short(Thread, Value);
    LEAVING(9);
    return Value;
}

//
// Without children that take any time.
//

TRACED unsigned
Parent(
    THREAD *Thread,
    unsigned Value
    )
{
    unsigned Index;

    ENTERED(10);
    for (Index = Value % 5; Index != 0; Index -= 1) {
        Value += Short(Thread, Value);
    }
    Relay(Thread);
    LEAVING(10);
    return Value;
}

//
// Most often leaves all up to Catch.
//

TRACED unsigned
Leap(
    THREAD *Thread,
    unsigned Steps
    )
{
    unsigned Value = Steps;

    ENTERED(11);
    if (Steps != 0) {
        Value += Leap(Thread, Steps - 1) + Parent(Thread, Steps);
    } else {
        Value += Short(Thread, 1);
        if (NextRandom(&Thread->Random) % 4 != 0) {
            longjmp(Thread->Place, 1);
        }
    }
    LEAVING(11);
    return Value;
}

TRACED unsigned
Outer(
    THREAD *Thread,
    unsigned Value
    )
{
    ENTERED(12);
    Value += Parent(Thread, NextRandom(&Thread->Random));
    if (NextRandom(&Thread->Random) % 16 == 0) {
        Value += Long(Thread, Value);
    }
    Relay(Thread);
    Value += Parent(Thread, NextRandom(&Thread->Random));
    Value += Short(Thread, Value);
    LEAVING(12);
    return Value;
}

PLAIN static void
RunSpin(
    THREAD *Thread
    )
{
    unsigned Index;

    for (Index = 0; Index < Count; Index += 1) {
        Thread->Value += Outer(Thread, Index);
    }
}

//
// fibers: each runs Outer until all switches are used up.
//

PLAIN static void CALLBACK
FiberMain(
    void *Parameter
    )
{
    THREAD *Thread = Parameter;
    unsigned Value = 0;

    *(volatile ULONGLONG *)((char *)Thread->Count + 16 +
                            8 * Thread->FiberNow) = (ULONG_PTR)&Value;
    do {
        Value += Outer(Thread, 1);
    } while (Thread->Switches != 0);
    Thread->Value += Value;
    LogEvent(Thread, 0x40);
    SwitchToFiber(Thread->Main);
}

PLAIN static void
RunFibers(
    THREAD *Thread
    )
{
    unsigned Index;

    //
    // The one that comes back has ended, and no other one switches any more.
    //

    unsigned IsDone[MAXIMUM_FIBERS] = { 0 };

    Thread->Main = ConvertThreadToFiber(NULL);
    Thread->Switches = Count;
    for (Index = 0; Index < MAXIMUM_FIBERS; Index += 1) {
        Thread->Fibers[Index] = CreateFiberEx(0x1000,
                                              0x40000,
                                              0,
                                              FiberMain,
                                              Thread);
    }
    for (Index = 0; Index < MAXIMUM_FIBERS; Index += 1) {
        while (!IsDone[Index]) {
            Short(Thread, Index);
            LogEvent(Thread, 0x41 + Index);
            Thread->FiberNow = Index;
            SwitchToFiber(Thread->Fibers[Index]);
            IsDone[Thread->FiberNow] = 1;
        }
    }
    for (Index = 0; Index < MAXIMUM_FIBERS; Index += 1) {
        DeleteFiber(Thread->Fibers[Index]);
    }
}

//
// jump: from various depths to various depths.
//

TRACED unsigned
Catch(
    THREAD *Thread,
    unsigned Steps
    )
{
    volatile unsigned Value = Steps;
    volatile unsigned Mark;

    ENTERED(13);
    Thread->Depth += 1;
    if (Steps != 0) {
        Value += Catch(Thread, Steps - 1);
    }
    Mark = Thread->Depth;
    if (setjmp(Thread->Place) == 0) {
        Value += Leap(Thread, NextRandom(&Thread->Random) % 9);
    } else {
        GONE(Mark);
    }
    Value += Parent(Thread, NextRandom(&Thread->Random));
    if (NextRandom(&Thread->Random) % 16 == 0) {
        Value += Short(Thread, Value);
    }
    Thread->Depth -= 1;
    LEAVING(13);
    return Value;
}

PLAIN static void
RunJump(
    THREAD *Thread
    )
{
    unsigned Index;

    for (Index = 0; Index < Count; Index += 1) {
        Thread->Value += Catch(Thread,
                               NextRandom(&Thread->Random) % 10);
    }
}

TRACED unsigned
Recurse(
    THREAD *Thread,
    unsigned Steps
    )
{
    unsigned Value = Steps;

    ENTERED(14);
    if (Steps != 0) {
        Value += Recurse(Thread, Steps - 1);
    }
    Value += Short(Thread, Value);
    LEAVING(14);
    return Value;
}

PLAIN static DWORD WINAPI
ThreadMain(
    void *Parameter
    )
{
    THREAD *Thread = Parameter;

    if (strcmp(Scenario, "spin") == 0) {
        RunSpin(Thread);
    } else if (strcmp(Scenario, "fibers") == 0) {
        RunFibers(Thread);
    } else if (strcmp(Scenario, "jump") == 0) {
        RunJump(Thread);
    } else if (strcmp(Scenario, "recurse") == 0) {
        Thread->Value = Recurse(Thread, Count);
    } else {
        Thread->IsEndless = strcmp(Scenario, "kill") == 0;
        Thread->Sleeps = strcmp(Scenario, "steps") == 0 ? 10 : 0;
        RunWork(Thread);
    }
    return 0;
}

PLAIN static int
RunThreads(
    unsigned NumberOfThreads
    )
{
    static THREAD Threads[MAXIMUM_THREADS];
    HANDLE Handles[MAXIMUM_THREADS];
    unsigned Index;
    DWORD Identifier;

    for (Index = 0; Index < NumberOfThreads; Index += 1) {
        Threads[Index].Count = (long long *)(Log + Index * ROOM_SIZE);
        Threads[Index].Events = (unsigned char *)Log + Index * ROOM_SIZE +
                                EVENTS_OFFSET;
        Threads[Index].Random = 7 + Index;
        Handles[Index] = CreateThread(NULL,
                                      0x1000000,
                                      ThreadMain,
                                      &Threads[Index],
                                      CREATE_SUSPENDED |
                                      STACK_SIZE_PARAM_IS_A_RESERVATION,
                                      &Identifier);
        if (Handles[Index] == NULL) {
            return 3;
        }
        memcpy(Log + Index * ROOM_SIZE + 8, &Identifier, sizeof(Identifier));
    }
    for (Index = 0; Index < NumberOfThreads; Index += 1) {
        ResumeThread(Handles[Index]);
    }
    if (strcmp(Scenario, "kill") == 0) {
        while (*Threads[0].Count < 2 * (long long)Count) {
            Sleep(1);
        }
        for (Index = 1; Index < NumberOfThreads; Index += 1) {
            while (*Threads[Index].Count == 0) {
                Sleep(1);
            }
        }
        TerminateProcess(GetCurrentProcess(), 9);
    }
    for (Index = 0; Index < NumberOfThreads; Index += 1) {
        WaitForSingleObject(Handles[Index], INFINITE);
        Say("%u %u\n", Threads[Index].Calls, Threads[Index].Value);
    }
    return 7;
}

#ifdef HOOKED
extern void _penter(void);
extern void __cyg_profile_func_enter(void *, void *);
#endif

PLAIN int
main(
    int NumberOfArguments,
    char **Arguments
    )
{
    unsigned NumberOfThreads;
    HANDLE File;
    HANDLE Section;

    if (NumberOfArguments != 5 && NumberOfArguments != 6) {
        return 2;
    }
    Go = NumberOfArguments == 6 ? Arguments[5] : NULL;
    Scenario = Arguments[1];
    Count = (unsigned)atoi(Arguments[2]);
    NumberOfThreads = (unsigned)atoi(Arguments[3]);
    if (NumberOfThreads > MAXIMUM_THREADS) {
        return 2;
    }
    if (strcmp(Scenario, "hook") == 0) {
#ifdef HOOKED
        Say("%02x %02x\n",
            *(volatile unsigned char *)(ULONG_PTR)_penter,
            *(volatile unsigned char *)(ULONG_PTR)__cyg_profile_func_enter);
#else
        Say("none\n");
#endif
        return 7;
    }

    File = CreateFileA(Arguments[4],
                       GENERIC_READ | GENERIC_WRITE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE,
                       NULL,
                       CREATE_ALWAYS,
                       0,
                       NULL);
    Section = CreateFileMappingA(File,
                                 NULL,
                                 PAGE_READWRITE,
                                 0,
                                 NumberOfThreads * ROOM_SIZE,
                                 NULL);
    Log = Section == NULL ? NULL :
          MapViewOfFile(Section, FILE_MAP_WRITE, 0, 0, 0);
    if (Log == NULL) {
        return 3;
    }
    return RunThreads(NumberOfThreads);
}
