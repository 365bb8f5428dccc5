/*++

Module Name:

    Exhaust.c

Abstract:

    A program that takes all there is of something, before its first traced
    call or after a while, works on, and gives it back.

        Exhaust nothing|handles|memory|large before|middle

        nothing     takes nothing
        handles     opens files until that fails
        memory      reserves address space until nothing is left
        large       reserves it until no 8 MiB are left in one piece

    Address space must be limited from outside (ulimit -v): what there is of it
    by itself is more than the machine can keep books about.

    Three threads are there from the beginning; a fourth one starts when all has
    been given back.  Standard output has the number of traced calls of each and
    what they computed, the same whatever was taken.  The exit code is 33.

--*/

#include <windows.h>
#include <string.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define TRACED __attribute__((noinline))

#define THREADS         4
#define STEPS           3
#define MAXIMUM_TAKEN   100000
#define LARGE_SIZE      0x800000
#define FIRST_SIZE      0x40000000ULL           // 1 GiB
#define MAXIMUM_SIZE    (16 * FIRST_SIZE)

//
// Calls of each thread in each step: before all is taken, while nothing is
// left, and after it was given back.
//

static const unsigned Calls[THREADS][STEPS] = {
    { 60000, 400000, 30000 },
    { 100, 5000, 200000 },
    { 0, 70000, 20 },
    { 0, 0, 50000 }
};

typedef struct _EXHAUST_THREAD {
    unsigned Index;
    unsigned Value;
    unsigned Done;                      // traced calls
    HANDLE Go[STEPS];
    HANDLE Ready[STEPS];
} EXHAUST_THREAD;

static EXHAUST_THREAD Threads[THREADS];
static void *Taken[MAXIMUM_TAKEN];
static unsigned NumberTaken;
static int StartsLate;

TRACED unsigned
Step(
    unsigned Value
    )
{
    return Value * 1664525u + 1013904223u;
}

TRACED unsigned
RoleA(
    unsigned Value
    )
{
    return Value ^ 0xA;
}

TRACED unsigned
RoleB(
    unsigned Value
    )
{
    return Value ^ 0xB;
}

TRACED unsigned
RoleC(
    unsigned Value
    )
{
    return Value ^ 0xC;
}

TRACED unsigned
RoleD(
    unsigned Value
    )
{
    return Value ^ 0xD;
}

static unsigned (*const Roles[THREADS])(unsigned) = {
    RoleA, RoleB, RoleC, RoleD
};

PLAIN static void
Work(
    EXHAUST_THREAD *Thread,
    unsigned StepIndex
    )
{
    unsigned Count = Calls[Thread->Index][StepIndex];

    if (StepIndex == 0 && StartsLate) {
        return;
    }
    if (Count != 0 && Thread->Done == 0) {
        Thread->Value = Roles[Thread->Index](Thread->Value);
        Thread->Done += 1;
    }
    for (; Count != 0; Count -= 1) {
        Thread->Value = Step(Thread->Value + Count);
        Thread->Done += 1;
    }
}

PLAIN static DWORD WINAPI
ThreadMain(
    void *Parameter
    )
{
    EXHAUST_THREAD *Thread = (EXHAUST_THREAD *)Parameter;
    unsigned Index;

    for (Index = 0; Index < STEPS; Index += 1) {
        WaitForSingleObject(Thread->Go[Index], INFINITE);
        Work(Thread, Index);
        SetEvent(Thread->Ready[Index]);
    }
    return 0;
}

PLAIN static void
Take(
    const char *What
    )
{
    static WCHAR Path[MAX_PATH];
    SIZE_T Size;
    SIZE_T Smallest;
    SIZE_T Sum = 0;
    void *Memory;
    HANDLE File;

    if (strcmp(What, "handles") == 0) {
        GetModuleFileNameW(NULL, Path, MAX_PATH);
        while (NumberTaken < MAXIMUM_TAKEN) {
            File = CreateFileW(Path, GENERIC_READ, 7, NULL, OPEN_EXISTING, 0,
                               NULL);
            if (File == INVALID_HANDLE_VALUE) {
                break;
            }
            Taken[NumberTaken] = File;
            NumberTaken += 1;
        }
    } else if (strcmp(What, "nothing") != 0) {
        Smallest = (strcmp(What, "large") == 0) ? LARGE_SIZE : 0x10000;
        Size = FIRST_SIZE;
        while (Size >= Smallest && NumberTaken < MAXIMUM_TAKEN) {
            if (Sum > MAXIMUM_SIZE) {
                ExitProcess(3);
            }
            Memory = VirtualAlloc(NULL, Size, MEM_RESERVE, PAGE_NOACCESS);
            if (Memory == NULL) {
                Size /= 2;
                continue;
            }
            Taken[NumberTaken] = Memory;
            NumberTaken += 1;
            Sum += Size;
        }
    }
}

PLAIN static void
GiveBack(
    const char *What
    )
{
    while (NumberTaken != 0) {
        NumberTaken -= 1;
        if (strcmp(What, "handles") == 0) {
            CloseHandle(Taken[NumberTaken]);
        } else {
            VirtualFree(Taken[NumberTaken], 0, MEM_RELEASE);
        }
    }
}

//
// Text for standard output, without stdio.h, whose inline functions would be
// traced.
//

static char Output[1000];
static unsigned OutputLength;

PLAIN static void
Say(
    const char *Text
    )
{
    while (*Text != 0) {
        Output[OutputLength] = *Text;
        OutputLength += 1;
        Text += 1;
    }
}

PLAIN static void
SayNumber(
    unsigned Number
    )
{
    char Digits[12];
    unsigned Index = sizeof(Digits) - 1;

    Digits[Index] = 0;
    do {
        Index -= 1;
        Digits[Index] = (char)('0' + Number % 10);
        Number /= 10;
    } while (Number != 0);
    Say(Digits + Index);
}

PLAIN int
main(
    int Count,
    char **Arguments
    )
{
    HANDLE Handles[THREADS];
    EXHAUST_THREAD *Thread;
    unsigned Index;
    unsigned StepIndex;
    unsigned Taking;
    DWORD Written;

    if (Count != 3) {
        return 2;
    }
    StartsLate = strcmp(Arguments[2], "before") == 0;

    for (Index = 1; Index < THREADS; Index += 1) {
        Thread = &Threads[Index];
        Thread->Index = Index;
        for (StepIndex = 0; StepIndex < STEPS; StepIndex += 1) {
            Thread->Go[StepIndex] = CreateEventW(NULL, FALSE, FALSE, NULL);
            Thread->Ready[StepIndex] = CreateEventW(NULL, FALSE, FALSE, NULL);
        }
        if (Index < THREADS - 1) {
            Handles[Index] = CreateThread(NULL, 0, ThreadMain, Thread, 0, NULL);
        }
    }

    Taking = 0;
    for (StepIndex = 0; StepIndex < STEPS; StepIndex += 1) {
        if (StepIndex == 1) {
            Take(Arguments[1]);
            Taking = NumberTaken;
        } else if (StepIndex == 2) {
            GiveBack(Arguments[1]);
            Index = THREADS - 1;
            Handles[Index] = CreateThread(NULL, 0, ThreadMain, &Threads[Index],
                                          0, NULL);
            SetEvent(Threads[Index].Go[0]);
            SetEvent(Threads[Index].Go[1]);
        }
        Work(&Threads[0], StepIndex);
        for (Index = 1; Index < THREADS; Index += 1) {
            if (Index == THREADS - 1 && StepIndex < 2) {
                continue;
            }
            SetEvent(Threads[Index].Go[StepIndex]);
            WaitForSingleObject(Threads[Index].Ready[StepIndex], INFINITE);
        }
    }

    for (Index = 1; Index < THREADS; Index += 1) {
        WaitForSingleObject(Handles[Index], INFINITE);
    }
    for (Index = 0; Index < THREADS; Index += 1) {
        SayNumber(Threads[Index].Done);
        Say(" calls, value ");
        SayNumber(Threads[Index].Value);
        Say("\n");
    }
    Say(Arguments[1]);
    Say(Taking == MAXIMUM_TAKEN ? ": there was too much of it\n" :
        Taking != 0 ? ": taken\n" : ": nothing taken\n");
    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), Output, OutputLength, &Written,
              NULL);
    return 33;
}
