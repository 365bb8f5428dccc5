/*++

Module Name:

    Hostile.c

Abstract:

    A program that does to its process what programs should not do, to show
    that tracing neither stops it nor changes what it prints.

        Hostile suspend      stops all its other threads, works, lets them go
        Hostile terminate    ends all its other threads, works on
        Hostile handles      closes every handle there may be, then opens files
                             of its own and works on
        Hostile overflow     threads that overflow their stacks, survive it by
                             a longjmp out of an exception handler, and work on

--*/

#include <windows.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <tlhelp32.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define TRACED __attribute__((noinline))

#define ROUNDS          40
#define OWN_FILES       50
#define OWN_FILE_SIZE   1000
#define OVERFLOWS       60

static volatile unsigned Sink;

TRACED unsigned
Leaf(
    unsigned Value
    )
{
    return Value * 3 + Sink;
}

PLAIN static unsigned
Work(
    unsigned Count
    )
{
    unsigned Value = 0;

    while (Count != 0) {
        Value = Leaf(Value + Count);
        Count -= 1;
    }
    return Value;
}

//
// Suspends or terminates every other thread of the process; returns how many
// it suspended, with their handles.
//

PLAIN static unsigned
StopOthers(
    int Terminate,
    HANDLE *Threads,
    unsigned Capacity
    )
{
    THREADENTRY32 Entry;
    HANDLE Snapshot;
    HANDLE Thread;
    unsigned Count = 0;

    Entry.dwSize = sizeof(Entry);
    Snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    if (!Thread32First(Snapshot, &Entry)) {
        CloseHandle(Snapshot);
        return 0;
    }
    do {
        if (Entry.th32OwnerProcessID != GetCurrentProcessId() ||
            Entry.th32ThreadID == GetCurrentThreadId() ||
            Count == Capacity) {

            continue;
        }
        Thread = OpenThread(THREAD_ALL_ACCESS, FALSE, Entry.th32ThreadID);
        if (Thread == NULL) {
            continue;
        }
        if (Terminate) {
            TerminateThread(Thread, 0);
            CloseHandle(Thread);
        } else {
            SuspendThread(Thread);
            Threads[Count] = Thread;
            Count += 1;
        }
    } while (Thread32Next(Snapshot, &Entry));

    CloseHandle(Snapshot);
    return Count;
}

PLAIN static unsigned
RunStop(
    int Terminate
    )
{
    HANDLE Threads[64];
    unsigned Count;
    unsigned Round;
    unsigned Value = 0;

    for (Round = 0; Round < ROUNDS; Round += 1) {
        Value += Work(20000 + Round * 977);
        Count = StopOthers(Terminate && Round == ROUNDS / 2, Threads, 64);
        Value += Work(100000);
        while (Count != 0) {
            Count -= 1;
            ResumeThread(Threads[Count]);
            CloseHandle(Threads[Count]);
        }
    }
    return Value;
}

PLAIN static unsigned
RunHandles(
    void
    )
{
    static HANDLE Files[OWN_FILES];
    static char Content[OWN_FILE_SIZE];
    char Name[40];
    ULONG_PTR Handle;
    DWORD Written;
    unsigned Index;
    unsigned Value;

    Value = Work(100000);
    for (Handle = 4; Handle < 0x400; Handle += 4) {
        if ((HANDLE)Handle != GetStdHandle(STD_OUTPUT_HANDLE) &&
            (HANDLE)Handle != GetStdHandle(STD_ERROR_HANDLE)) {

            CloseHandle((HANDLE)Handle);
        }
    }
    for (Index = 0; Index < OWN_FILES; Index += 1) {
        snprintf(Name, sizeof(Name), "own%u.txt", Index);
        Files[Index] = CreateFileA(Name,
                                   GENERIC_READ | GENERIC_WRITE,
                                   FILE_SHARE_READ,
                                   NULL,
                                   CREATE_ALWAYS,
                                   FILE_FLAG_DELETE_ON_CLOSE,
                                   NULL);
        WriteFile(Files[Index], Content, OWN_FILE_SIZE, &Written, NULL);
    }
    Value += Work(500000);
    for (Index = 0; Index < OWN_FILES; Index += 1) {
        if (GetFileSize(Files[Index], NULL) != OWN_FILE_SIZE) {
            printf("own%u.txt has another size\n", Index);
        }
    }
    return Value;
}

//
// A thread that overflows comes back here: the handler sends it to a routine
// that jumps, on a stack pointer that has room.
//

static __thread void *volatile BackFrame[5];

PLAIN static void
JumpBack(
    void
    )
{
    __builtin_longjmp((void **)BackFrame, 1);
}

PLAIN static LONG CALLBACK
OverflowHandler(
    EXCEPTION_POINTERS *Pointers
    )
{
    if (Pointers->ExceptionRecord->ExceptionCode != EXCEPTION_STACK_OVERFLOW) {
        return EXCEPTION_CONTINUE_SEARCH;
    }
    Pointers->ContextRecord->Rip = (DWORD64)JumpBack;
    return EXCEPTION_CONTINUE_EXECUTION;
}

TRACED unsigned
Deeper(
    unsigned Depth
    )
{
    volatile char Frame[200];

    Frame[Depth % sizeof(Frame)] = (char)Depth;
    return Deeper(Depth + 1) + Frame[(Depth + 7) % sizeof(Frame)];
}

static volatile LONG Survived;

PLAIN static DWORD WINAPI
OverflowThread(
    void *Parameter
    )
{
    Work((unsigned)(ULONG_PTR)Parameter * 97);
    if (__builtin_setjmp((void **)BackFrame) == 0) {
        Deeper(0);
    } else {
        InterlockedIncrement(&Survived);
    }
    Work(10000);
    return 0;
}

PLAIN static unsigned
RunOverflow(
    void
    )
{
    HANDLE Thread;
    unsigned Index;

    AddVectoredExceptionHandler(1, OverflowHandler);
    for (Index = 0; Index < OVERFLOWS; Index += 1) {
        Thread = CreateThread(NULL,
                              0x40000,
                              OverflowThread,
                              (void *)(ULONG_PTR)Index,
                              STACK_SIZE_PARAM_IS_A_RESERVATION,
                              NULL);
        WaitForSingleObject(Thread, INFINITE);
        CloseHandle(Thread);
    }
    return (unsigned)Survived;
}

PLAIN int
main(
    int Count,
    char **Arguments
    )
{
    unsigned Value;

    if (Count != 2) {
        return 2;
    }
    if (strcmp(Arguments[1], "suspend") == 0) {
        Value = RunStop(0);
    } else if (strcmp(Arguments[1], "terminate") == 0) {
        Value = RunStop(1);
    } else if (strcmp(Arguments[1], "handles") == 0) {
        Value = RunHandles();
    } else {
        Value = RunOverflow();
    }
    printf("%s: %u\n", Arguments[1], Value);
    return 0;
}
