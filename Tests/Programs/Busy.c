/*++

Module Name:

    Busy.c

Abstract:

    A program with busy threads, for tests that read its traces while it runs,
    or that end it at any moment.

    usage: Busy run THREADS ITERATIONS PAUSE [FILE]
           Busy for MILLISECONDS SPIN FILE [COUNTS]
           Busy kill FILE MICROSECONDS
           Busy fault FILE MICROSECONDS
           Busy outside FILE MICROSECONDS

    run makes the same calls in every run: each thread first calls a function
    of its own (RoleA and so on), then works; it sleeps PAUSE milliseconds
    after every 64 iterations; with FILE none is past the middle before that is
    there.  for works with four threads for that time, or until there is a FILE;
    SPIN says how much time passes without records between two calls of Outer.
    It counts in COUNTS as kill does in its FILE.

    kill works with four threads and its first one, and ends itself with
    TerminateProcess that long after all of them have begun; fault writes to
    address 0 instead.  0 microseconds: something else ends it.  outside starts
    another one and terminates that.  In FILE, which is mapped, each thread
    counts the calls of Outer that it has begun and those that it has finished,
    so that a test knows how many records there must be: each call makes
    BUSY_RECORDS of them, and nothing else on these threads makes any.

    Exit codes: 0, 1 for a failure, 2 for a wrong command line, 77 when it was
    terminated as asked.

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_THREADS 4
#define BUSY_RECORDS 16
#define BUSY_SPIN 4000
#define BUSY_EXIT_CODE 77
#define BUSY_UNTRACED __attribute__((noinline, no_instrument_function))

//
// One line of the file; the layout is known to Tests/Library/StoreSupport.py.
//

typedef struct _BUSY_PROGRESS {
    volatile unsigned long long Begun;
    volatile unsigned long long Finished;
    volatile unsigned long long ThreadId;
    unsigned long long Reserved[5];
} BUSY_PROGRESS;

typedef struct _BUSY_THREAD {
    BUSY_PROGRESS *Progress;
    unsigned Index;
    unsigned Iterations;            // 0: until Stop
    unsigned Pause;
    unsigned Spin;
    unsigned Value;
} BUSY_THREAD;

static BUSY_THREAD BusyThreads[BUSY_THREADS + 1];
static HANDLE BusyHandles[BUSY_THREADS];
static volatile LONG BusyStop;
static const char *BusyGo;
static volatile int *volatile BusyNowhere;

//
// What is traced: 16 records for each call of Outer.
//

static unsigned
Small(
    unsigned Value
    )
{
    return Value * 1664525u + 1013904223u;
}

static unsigned
Middle(
    unsigned Value
    )
{
    return Small(Value ^ 1) + Small(Value ^ 2);
}

static unsigned
Outer(
    unsigned Value
    )
{
    return Middle(Value) ^ Middle(Value + 1) ^ Small(Value);
}

static unsigned
RoleA(
    unsigned Value
    )
{
    return Small(Value) + 1;
}

static unsigned
RoleB(
    unsigned Value
    )
{
    return Small(Value) + 2;
}

static unsigned
RoleC(
    unsigned Value
    )
{
    return Small(Value) + 3;
}

static unsigned
RoleD(
    unsigned Value
    )
{
    return Small(Value) + 4;
}

static unsigned (*BusyRoles[])(unsigned) = { RoleA, RoleB, RoleC, RoleD };

//
// Work that leaves no record, so that files stay small.
//

static BUSY_UNTRACED void
BusySpin(
    unsigned Count
    )
{
    volatile unsigned Index;

    for (Index = 0; Index < Count; Index += 1) {
        continue;
    }
}

static BUSY_UNTRACED void
BusyWork(
    BUSY_THREAD *Thread
    )
{
    unsigned Count;

    Thread->Progress->Begun += 1;
    Thread->Value = Outer(Thread->Value);
    Thread->Progress->Finished += 1;

    //
    // Now and then many calls in a row, so that a moment picked at random is
    // often inside of a hook.
    //

    if ((Thread->Value >> 8) % 128 == 0) {
        for (Count = 0; Count < 64; Count += 1) {
            Thread->Progress->Begun += 1;
            Thread->Value = Outer(Thread->Value);
            Thread->Progress->Finished += 1;
        }
    } else {
        BusySpin(Thread->Spin);
    }
}

static BUSY_UNTRACED DWORD WINAPI
BusyThreadMain(
    void *Parameter
    )
{
    BUSY_THREAD *Thread = Parameter;
    unsigned Index;

    Thread->Progress->ThreadId = GetCurrentThreadId();
    if (Thread->Iterations == 0) {
        while (!BusyStop) {
            BusyWork(Thread);
        }
        return 0;
    }

    Thread->Value = BusyRoles[Thread->Index % 4](Thread->Value);
    for (Index = 0; Index < Thread->Iterations; Index += 1) {
        BusyWork(Thread);
        if (Thread->Pause != 0 && Index % 64 == 63) {
            do {
                Sleep(Thread->Pause);
            } while (BusyGo != NULL && Index > Thread->Iterations / 2 &&
                     GetFileAttributesA(BusyGo) == INVALID_FILE_ATTRIBUTES);
        }
    }
    return 0;
}

static BUSY_UNTRACED int
BusyStart(
    unsigned Threads,
    unsigned Iterations,
    unsigned Pause,
    unsigned Spin,
    BUSY_PROGRESS *Progress
    )
{
    unsigned Index;

    for (Index = 0; Index <= BUSY_THREADS; Index += 1) {
        BusyThreads[Index].Progress = Progress + Index;
        BusyThreads[Index].Index = Index;
        BusyThreads[Index].Iterations = Iterations;
        BusyThreads[Index].Pause = Pause;
        BusyThreads[Index].Spin = Spin;
        BusyThreads[Index].Value = Index * 7919u + 1;
    }
    for (Index = 0; Index < Threads; Index += 1) {
        BusyHandles[Index] = CreateThread(NULL,
                                          0,
                                          BusyThreadMain,
                                          &BusyThreads[Index],
                                          0,
                                          NULL);
        if (BusyHandles[Index] == NULL) {
            fprintf(stderr, "Busy: no thread: error %lu\n", GetLastError());
            return 1;
        }
    }
    return 0;
}

static BUSY_UNTRACED void
BusyPrint(
    unsigned Threads
    )
{
    unsigned Index;

    WaitForMultipleObjects(Threads, BusyHandles, TRUE, INFINITE);
    for (Index = 0; Index < Threads; Index += 1) {
        printf("thread %u: %08x\n", Index, BusyThreads[Index].Value);
    }
}

static BUSY_UNTRACED BUSY_PROGRESS *
BusyOpenProgress(
    const char *Path
    )
{
    HANDLE File;
    HANDLE Mapping;
    void *View;

    File = CreateFileA(Path,
                       GENERIC_READ | GENERIC_WRITE,
                       FILE_SHARE_READ | FILE_SHARE_WRITE,
                       NULL,
                       OPEN_ALWAYS,
                       0,
                       NULL);
    Mapping = CreateFileMappingA(File, NULL, PAGE_READWRITE, 0, 4096, NULL);
    View = MapViewOfFile(Mapping, FILE_MAP_WRITE, 0, 0, 4096);
    if (View == NULL) {
        fprintf(stderr, "Busy: no file %s: error %lu\n", Path, GetLastError());
    }
    return View;
}

static BUSY_UNTRACED unsigned long long
BusyTicks(
    void
    )
{
    LARGE_INTEGER Now;

    QueryPerformanceCounter(&Now);
    return (unsigned long long)Now.QuadPart;
}

static BUSY_UNTRACED int
BusyKill(
    const char *Path,
    unsigned Microseconds,
    int Fault
    )
{
    BUSY_PROGRESS *Progress;
    LARGE_INTEGER Frequency;
    unsigned long long End;
    unsigned Index;

    Progress = BusyOpenProgress(Path);
    if (Progress == NULL ||
        BusyStart(BUSY_THREADS, 0, 0, BUSY_SPIN, Progress)) {

        return 1;
    }
    Progress[BUSY_THREADS].ThreadId = GetCurrentThreadId();
    for (Index = 0; Index < BUSY_THREADS; Index += 1) {
        while (Progress[Index].Finished == 0) {
            Sleep(0);
        }
    }

    //
    // Should nothing end this program, it ends by itself after 20 minutes.
    // This thread, too, has made a call when it does.
    //

    QueryPerformanceFrequency(&Frequency);
    End = BusyTicks() + (unsigned long long)Frequency.QuadPart *
          (Microseconds == 0 ? 1200000000u : Microseconds) / 1000000u;
    do {
        BusyWork(&BusyThreads[BUSY_THREADS]);
    } while (BusyTicks() < End);
    if (Microseconds == 0) {
        return 1;
    }
    if (Fault) {
        *BusyNowhere = 1;
    }
    TerminateProcess(GetCurrentProcess(), BUSY_EXIT_CODE);
    return 1;
}

static BUSY_UNTRACED int
BusyKillOther(
    const char *Program,
    const char *Path,
    unsigned Microseconds
    )
{
    PROCESS_INFORMATION Information;
    STARTUPINFOA Startup;
    BUSY_PROGRESS *Progress;
    LARGE_INTEGER Frequency;
    unsigned long long End;
    DWORD Code = 1;
    char Line[1024];

    Progress = BusyOpenProgress(Path);
    if (Progress == NULL) {
        return 1;
    }
    snprintf(Line, sizeof(Line), "\"%s\" kill \"%s\" 0", Program, Path);
    memset(&Startup, 0, sizeof(Startup));
    Startup.cb = sizeof(Startup);

    //
    // This one was started with TRACER_ENABLED=0, which its first traced call
    // (snprintf has some) has read; the other one is to be traced.
    //

    SetEnvironmentVariableA("TRACER_ENABLED", NULL);
    if (!CreateProcessA(NULL, Line, NULL, NULL, FALSE, 0, NULL, NULL,
                        &Startup, &Information)) {

        fprintf(stderr, "Busy: no process: error %lu\n", GetLastError());
        return 1;
    }
    while (Progress[BUSY_THREADS].Finished == 0 &&
           WaitForSingleObject(Information.hProcess, 0) == WAIT_TIMEOUT) {

        Sleep(1);
    }
    QueryPerformanceFrequency(&Frequency);
    End = BusyTicks() + (unsigned long long)Frequency.QuadPart *
          Microseconds / 1000000u;
    while (BusyTicks() < End) {
        Sleep(0);
    }
    TerminateProcess(Information.hProcess, BUSY_EXIT_CODE);
    WaitForSingleObject(Information.hProcess, INFINITE);
    GetExitCodeProcess(Information.hProcess, &Code);
    return (int)Code;
}

BUSY_UNTRACED int
main(
    int Count,
    char **Arguments
    )
{
    static BUSY_PROGRESS Counts[BUSY_THREADS + 1];
    BUSY_PROGRESS *Progress = Counts;
    unsigned Threads;
    int Waited;

    if ((Count == 5 || Count == 6) && strcmp(Arguments[1], "run") == 0) {
        BusyGo = Count == 6 ? Arguments[5] : NULL;
        Threads = (unsigned)atoi(Arguments[2]);
        if (Threads >= 1 && Threads <= BUSY_THREADS &&
            atoi(Arguments[3]) > 0) {

            if (BusyStart(Threads,
                          (unsigned)atoi(Arguments[3]),
                          (unsigned)atoi(Arguments[4]),
                          BUSY_SPIN,
                          Progress)) {
                return 1;
            }
            BusyPrint(Threads);
            return 0;
        }
    }
    if ((Count == 5 || Count == 6) && strcmp(Arguments[1], "for") == 0) {
        if (Count == 6) {
            Progress = BusyOpenProgress(Arguments[5]);
        }
        if (Progress == NULL ||
            BusyStart(BUSY_THREADS, 0, 0, (unsigned)atoi(Arguments[3]),
                      Progress)) {

            return 1;
        }
        for (Waited = 0;
             Waited < atoi(Arguments[2]) &&
             GetFileAttributesA(Arguments[4]) == INVALID_FILE_ATTRIBUTES;
             Waited += 20) {

            Sleep(20);
        }
        BusyStop = 1;
        WaitForMultipleObjects(BUSY_THREADS, BusyHandles, TRUE, INFINITE);
        puts("done");
        return 0;
    }
    if (Count == 4 && strcmp(Arguments[1], "kill") == 0) {
        return BusyKill(Arguments[2], (unsigned)atoi(Arguments[3]), 0);
    }
    if (Count == 4 && strcmp(Arguments[1], "fault") == 0) {
        return BusyKill(Arguments[2], (unsigned)atoi(Arguments[3]), 1);
    }
    if (Count == 4 && strcmp(Arguments[1], "outside") == 0) {
        return BusyKillOther(Arguments[0],
                             Arguments[2],
                             (unsigned)atoi(Arguments[3]));
    }
    fprintf(stderr, "usage: Busy run THREADS ITERATIONS PAUSE [FILE]\n"
                    "       Busy for MILLISECONDS SPIN FILE [COUNTS]\n"
                    "       Busy kill|fault|outside FILE MICROSECONDS\n");
    return 2;
}
