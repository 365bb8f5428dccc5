/*++

Module Name:

    Paced.c

Abstract:

    Threads that make so many traced calls a second each, for as long as asked:
    what a reader of a running program has to keep up with.

    usage: Paced THREADS CALLS-PER-SECOND SECONDS [FILE]

    It ends sooner when there is a FILE.

    Three functions share a thread's calls: Outer makes one call of Middle and
    two of Inner.

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

#define PACED_UNTRACED __attribute__((noinline, no_instrument_function))
#define PACED_MAXIMUM_THREADS 64

static double PacedRate;
static double PacedSeconds;
static const char *PacedFile;
static volatile unsigned PacedValue;

static unsigned __attribute__((noinline))
Inner(
    unsigned Value
    )
{
    return Value * 1664525u + 1013904223u;
}

static unsigned __attribute__((noinline))
Middle(
    unsigned Value
    )
{
    return Inner(Value ^ 1) + 1;
}

static unsigned __attribute__((noinline))
Outer(
    unsigned Value
    )
{
    return Middle(Value) ^ Inner(Value + 1);
}

static PACED_UNTRACED double
PacedNow(
    void
    )
{
    LARGE_INTEGER Counter;
    LARGE_INTEGER Frequency;

    QueryPerformanceCounter(&Counter);
    QueryPerformanceFrequency(&Frequency);
    return (double)Counter.QuadPart / (double)Frequency.QuadPart;
}

static PACED_UNTRACED void
PacedRun(
    void
    )
{
    double Start = PacedNow();
    double Elapsed = 0;
    double Calls = 0;
    unsigned Value = 1;

    while (Elapsed < PacedSeconds) {
        while (Calls < Elapsed * PacedRate) {
            Value = Outer(Value);
            Calls += 4;
        }

        Sleep(1);
        Elapsed = PacedNow() - Start;
        if (PacedFile != NULL &&
            GetFileAttributesA(PacedFile) != INVALID_FILE_ATTRIBUTES) {

            break;
        }
    }

    PacedValue = Value;
}

static DWORD WINAPI
Worker(
    void *Parameter
    )
{
    (void)Parameter;
    PacedRun();
    return 0;
}

int
main(
    int argc,
    char **argv
    )
{
    HANDLE Threads[PACED_MAXIMUM_THREADS];
    int Count;
    int Index;

    if (argc != 4 && argc != 5) {
        return 2;
    }
    PacedFile = argc == 5 ? argv[4] : NULL;

    Count = atoi(argv[1]);
    PacedRate = atof(argv[2]);
    PacedSeconds = atof(argv[3]);
    if (Count < 1 || Count > PACED_MAXIMUM_THREADS) {
        return 2;
    }

    for (Index = 0; Index < Count; Index += 1) {
        Threads[Index] = CreateThread(NULL, 0, Worker, NULL, 0, NULL);
        if (Threads[Index] == NULL) {
            return 1;
        }
    }

    WaitForMultipleObjects((DWORD)Count, Threads, TRUE, INFINITE);
    return 0;
}
