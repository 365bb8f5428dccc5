/*++

Module Name:

    Control.c

Abstract:

    A program that is stopped, started and cleared while it runs, from outside
    and by itself.

    usage: Control busy THREADS FILE ROUNDS
           Control depth THREADS FILE ROUNDS
           Control marks
           Control across
           Control few
           Control leave
           Control threads COUNT
           Control many COUNT THREADS
           Control idle FILE
           Control spin FILE

    busy: threads that make calls, and as many that wait inside one, until FILE
    is there.  For each of them the identifier and the number of hook calls that
    it made is printed: they are recorded, or they were left out.  The main
    thread stops, starts, clears and marks ROUNDS times before it waits for
    FILE.

    depth: the same with nested calls, for TRACER_MAX_DEPTH and
    TRACER_MIN_DURATION.

    marks: Penter.h's routines, a known number of calls between each.

    across: a call that begins before a pause and one that ends after it, with
    one stack pointer.

    few: ten calls.

    leave: the main thread ends with ExitThread, after its calls.

    threads: so many threads, one after the other, each stopping, starting or
    clearing recording around its calls.

    many: COUNT marks by each of THREADS threads, with a call before each, and
    then a stop, 40 calls, a start and 80 calls.

    idle: a call, and nothing more until FILE is there; then ten calls.

    spin: one call of Outer, which does nothing but call Inner, which spins for
    some 300 microseconds, until FILE is there.  It prints what the program saw
    by the time stamp counter: the ticks inside of Inner, those between its
    calls, those of the longest call, and of nanoseconds and ticks how many
    passed.

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Penter.h"

#define CONTROL_UNTRACED __attribute__((noinline, no_instrument_function))
#define CONTROL_MAXIMUM_THREADS 32
#define CONTROL_DEPTH 6
#define CONTROL_MANY_THREADS 8
#define EIGHT "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4" \
              "\xC3\xA4"

typedef struct _CONTROL_THREAD {
    HANDLE Thread;
    HANDLE Event;
    volatile unsigned long long Calls;
    unsigned Value;
    unsigned Padding[9];
} CONTROL_THREAD;

static CONTROL_THREAD ControlThreads[2 * CONTROL_MAXIMUM_THREADS];
static volatile int ControlStop;

static unsigned __attribute__((noinline))
Leaf(
    unsigned Value
    )
{
    return Value * 1664525u + 1013904223u;
}

static unsigned __attribute__((noinline))
Branch(
    unsigned Value
    )
{
    return Leaf(Value) ^ Leaf(Value + 1);
}

static unsigned __attribute__((noinline))
Nested(
    unsigned Value,
    unsigned Depth
    )
{
    if (Depth == 0) {
        return Leaf(Value);
    }
    return Nested(Value + 1, Depth - 1) ^ Nested(Value, Depth - 1) ^ Value;
}

static void __attribute__((noinline))
Waits(
    HANDLE Event
    )
{
    WaitForSingleObject(Event, INFINITE);
}

static CONTROL_UNTRACED DWORD WINAPI
ControlBusy(
    void *Parameter
    )
{
    CONTROL_THREAD *Thread = Parameter;

    while (!ControlStop) {
        Thread->Value = Branch(Thread->Value);
        Thread->Calls += 3;
    }
    return 0;
}

static CONTROL_UNTRACED DWORD WINAPI
ControlDepth(
    void *Parameter
    )
{
    CONTROL_THREAD *Thread = Parameter;

    while (!ControlStop) {
        Thread->Value = Nested(Thread->Value, CONTROL_DEPTH);
        Thread->Calls += (2u << CONTROL_DEPTH) - 1 + (1u << CONTROL_DEPTH);
    }
    return 0;
}

static CONTROL_UNTRACED DWORD WINAPI
ControlIdle(
    void *Parameter
    )
{
    CONTROL_THREAD *Thread = Parameter;

    Waits(Thread->Event);
    Thread->Calls = 1;
    Thread->Value = 0;
    return 0;
}

static CONTROL_UNTRACED void
ControlPause(
    unsigned Round
    )
{
    volatile unsigned Spins;

    if (Round % 4 == 0) {
        Sleep(1);
    } else {
        for (Spins = 0; Spins < 2000 * (Round % 4); Spins += 1) {
        }
    }
}

//
// For no longer than an hour.
//

static CONTROL_UNTRACED void
ControlWaitForFile(
    const char *File
    )
{
    unsigned Index;

    for (Index = 0;
         Index < 180000 &&
         GetFileAttributesA(File) == INVALID_FILE_ATTRIBUTES;
         Index += 1) {

        Sleep(20);
    }
}

static CONTROL_UNTRACED int
ControlRun(
    LPTHREAD_START_ROUTINE Routine,
    unsigned Count,
    const char *File,
    unsigned Rounds
    )
{
    unsigned Index;

    for (Index = 0; Index < 2 * Count; Index += 1) {
        ControlThreads[Index].Event = CreateEventA(NULL, TRUE, FALSE, NULL);
        ControlThreads[Index].Thread =
            CreateThread(NULL,
                         0,
                         Index < Count ? Routine : ControlIdle,
                         &ControlThreads[Index],
                         0,
                         NULL);
        if (ControlThreads[Index].Thread == NULL) {
            return 1;
        }
    }

    //
    // No round before each thread has made a call.
    //

    for (Index = 0; Rounds != 0 && Index < Count; Index += 1) {
        while (ControlThreads[Index].Calls == 0) {
            Sleep(1);
        }
    }
    for (Index = 0; Index < Rounds; Index += 1) {
        ControlPause(Index);
        PenterStop();
        ControlPause(Index);
        PenterClear();
        PenterMark("round");
        ControlPause(Index);
        PenterStart();
    }
    if (Rounds != 0) {
        puts("rounds");
        fflush(stdout);
    }

    ControlWaitForFile(File);
    ControlStop = 1;
    for (Index = 0; Index < 2 * Count; Index += 1) {
        SetEvent(ControlThreads[Index].Event);
    }
    for (Index = 0; Index < 2 * Count; Index += 1) {
        WaitForSingleObject(ControlThreads[Index].Thread, INFINITE);
        printf("%lu %llu\n",
               (unsigned long)GetThreadId(ControlThreads[Index].Thread),
               2 * ControlThreads[Index].Calls);
    }
    return 0;
}

static CONTROL_UNTRACED unsigned
ControlCalls(
    unsigned Count
    )
{
    unsigned Value = Count;

    while (Count != 0) {
        Value = Leaf(Value);
        Count -= 1;
    }
    return Value;
}

static CONTROL_UNTRACED int
ControlMarks(
    void
    )
{
    unsigned Value = 0;

    SetLastError(4711);
    PenterMark("before all");
    Value ^= ControlCalls(10);
    PenterNameThread("the first \xE2\x82\xAC");
    Value ^= ControlCalls(20);
    PenterStop();
    Value ^= ControlCalls(40);
    PenterStart();
    Value ^= ControlCalls(80);
    PenterClear();
    Value ^= ControlCalls(160);
    PenterMark(EIGHT EIGHT EIGHT EIGHT EIGHT "\xC3\xA4\xC3\xA4\xC3\xA4"
               "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4" "a\xE2\x82\xAC");
    printf("%u %lu\n", Value, GetLastError());
    return 0;
}

static void __attribute__((noinline))
Stops(
    void
    )
{
    PenterStop();
}

static void __attribute__((noinline))
Starts(
    void
    )
{
    PenterStart();
}

static CONTROL_UNTRACED DWORD WINAPI
ControlShort(
    void *Parameter
    )
{
    unsigned Number = (unsigned)(size_t)Parameter;

    switch (Number % 4) {
    case 0:
        PenterStop();
        break;
    case 1:
        ControlCalls(5);
        break;
    case 2:
        PenterStart();
        break;
    default:
        PenterClear();
        break;
    }
    ControlCalls(50);
    return 0;
}

static CONTROL_UNTRACED int
ControlManyThreads(
    unsigned Count
    )
{
    HANDLE Threads[2];
    unsigned Index;

    for (Index = 0; Index < Count; Index += 2) {
        Threads[0] = CreateThread(NULL, 0, ControlShort,
                                  (void *)(size_t)Index, 0, NULL);
        Threads[1] = CreateThread(NULL, 0, ControlShort,
                                  (void *)(size_t)(Index + 1), 0, NULL);
        WaitForMultipleObjects(2, Threads, TRUE, INFINITE);
        CloseHandle(Threads[0]);
        CloseHandle(Threads[1]);
    }
    puts("done");
    return 0;
}

static unsigned ControlMarksOfEach;

static CONTROL_UNTRACED DWORD WINAPI
ControlMarkMany(
    void *Parameter
    )
{
    unsigned Number = (unsigned)(size_t)Parameter;
    unsigned Index;
    unsigned Value = 0;
    char Text[40];

    for (Index = 0; Index < ControlMarksOfEach; Index += 1) {
        Value = Leaf(Value);
        sprintf(Text, "%u.%u", Number, Index);
        PenterMark(Text);
    }
    return Value == 1;
}

static CONTROL_UNTRACED int
ControlMany(
    unsigned Count,
    unsigned Threads
    )
{
    HANDLE Handles[CONTROL_MANY_THREADS];
    unsigned Index;
    unsigned Value;

    ControlMarksOfEach = Count;
    for (Index = 0; Index < Threads; Index += 1) {
        Handles[Index] = CreateThread(NULL, 0, ControlMarkMany,
                                      (void *)(size_t)Index, 0, NULL);
    }
    WaitForMultipleObjects(Threads, Handles, TRUE, INFINITE);
    PenterStop();
    Value = ControlCalls(40);
    PenterStart();
    Value ^= ControlCalls(80);
    printf("%u\n", Value);
    return 0;
}

static CONTROL_UNTRACED int
ControlIdleAlone(
    const char *File
    )
{
    unsigned Value;

    Value = ControlCalls(1);
    ControlWaitForFile(File);
    Value ^= ControlCalls(10);
    printf("%u\n", Value);
    return 0;
}

typedef struct _CONTROL_SPIN {
    unsigned long long Inside;
    unsigned long long Between;
    unsigned long long Longest;
    unsigned long long Last;
    const char *File;
} CONTROL_SPIN;

static CONTROL_SPIN ControlSpin;

static void __attribute__((noinline))
Inner(
    unsigned long long Ticks
    )
{
    unsigned long long Begin = __builtin_ia32_rdtsc();
    unsigned long long Now;

    ControlSpin.Between += Begin - ControlSpin.Last;
    do {
        Now = __builtin_ia32_rdtsc();
    } while (Now - Begin < Ticks);
    ControlSpin.Inside += Now - Begin;
    if (ControlSpin.Longest < Now - Begin) {
        ControlSpin.Longest = Now - Begin;
    }
    ControlSpin.Last = __builtin_ia32_rdtsc();
}

static CONTROL_UNTRACED int
ControlIsOver(
    unsigned Index
    )
{
    return Index % 64 == 0 &&
           GetFileAttributesA(ControlSpin.File) != INVALID_FILE_ATTRIBUTES;
}

static void __attribute__((noinline))
Outer(
    void
    )
{
    unsigned Index;

    for (Index = 1; Index < 1000000 && !ControlIsOver(Index); Index += 1) {
        Inner(1000000);
    }
}

//
// Reads both clocks as close together as it can: between one and the other the
// thread may be without a processor.
//

static CONTROL_UNTRACED unsigned long long
ControlReadClocks(
    LARGE_INTEGER *Counter
    )
{
    unsigned long long After;
    unsigned long long Before;
    unsigned long long Best = 0;
    unsigned long long Ticks = 0;
    LARGE_INTEGER Now;
    unsigned Try;

    for (Try = 0; Try < 100; Try += 1) {
        Before = __builtin_ia32_rdtsc();
        QueryPerformanceCounter(&Now);
        After = __builtin_ia32_rdtsc();
        if (Try == 0 || After - Before < Best) {
            Best = After - Before;
            Ticks = Before;
            *Counter = Now;
        }
    }
    return Ticks;
}

static CONTROL_UNTRACED int
ControlSpinAlone(
    const char *File
    )
{
    LARGE_INTEGER Frequency;
    LARGE_INTEGER Begin;
    LARGE_INTEGER End;
    unsigned long long Ticks;

    ControlSpin.File = File;
    QueryPerformanceFrequency(&Frequency);
    Ticks = ControlReadClocks(&Begin);
    ControlSpin.Last = __builtin_ia32_rdtsc();
    Outer();
    Ticks = ControlReadClocks(&End) - Ticks;
    printf("%llu %llu %llu %.0f %llu\n", ControlSpin.Inside,
           ControlSpin.Between, ControlSpin.Longest,
           (double)(End.QuadPart - Begin.QuadPart) * 1e9 /
               (double)Frequency.QuadPart,
           Ticks);
    return 0;
}

CONTROL_UNTRACED int
main(
    int argc,
    char **argv
    )
{
    unsigned Count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

    if (argc == 5 && Count >= 1 && Count <= CONTROL_MAXIMUM_THREADS) {
        if (strcmp(argv[1], "busy") == 0) {
            return ControlRun(ControlBusy,
                              Count,
                              argv[3],
                              (unsigned)atoi(argv[4]));
        }
        if (strcmp(argv[1], "depth") == 0) {
            return ControlRun(ControlDepth,
                              Count,
                              argv[3],
                              (unsigned)atoi(argv[4]));
        }
    }
    if (argc == 3 && strcmp(argv[1], "threads") == 0) {
        return ControlManyThreads(Count);
    }
    if (argc == 4 && strcmp(argv[1], "many") == 0 &&
        atoi(argv[3]) >= 1 && atoi(argv[3]) <= CONTROL_MANY_THREADS) {

        return ControlMany(Count, (unsigned)atoi(argv[3]));
    }
    if (argc == 3 && strcmp(argv[1], "spin") == 0) {
        return ControlSpinAlone(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "idle") == 0) {
        return ControlIdleAlone(argv[2]);
    }
    if (argc == 2 && strcmp(argv[1], "marks") == 0) {
        return ControlMarks();
    }
    if (argc == 2 && strcmp(argv[1], "across") == 0) {
        Stops();
        Starts();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "few") == 0) {
        printf("%u\n", ControlCalls(10));
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "leave") == 0) {
        printf("%u\n", ControlCalls(10));
        fflush(stdout);
        ExitThread(42);
    }
    return 2;
}
