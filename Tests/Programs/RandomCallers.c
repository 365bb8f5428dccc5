/*++

Module Name:

    RandomCallers.c

Abstract:

    Runs the functions that random_callers.py writes, on several threads at a
    time, and prints what comes of each.

        RandomCallers THREADS ROUNDS [KIND...]

    Every thread starts from its number and calls each root in turn, ROUNDS
    times over, with the checksum that the one before gave.  Which root comes
    first depends on the thread, so that threads make their first traced call
    in different places.  The last round is printed: thread, root, checksum,
    last error.

    Built with BROKEN defined, and linked with hooks that are broken on purpose,
    it does that anew for each KIND, with one thread, and prints a line for
    each: the kind and a sum of the results.

    Built with CLOBBERED defined, and linked with a stand-in for the hooks' slow
    path, it wants that to have been there for every thread.

    RANDOM_CALLERS_SLOTS in the environment: takes the first 64 TLS slots
    before any other callback of the image runs, so that the hooks get one of
    the expansion slots.

--*/

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAXIMUM_THREADS     64
#define THREADS_AT_A_TIME   4
#define DIRECT_SLOTS        64
#define ROOTS_APART         7

typedef unsigned long long
ROOT(
    unsigned long long Checksum
    );

extern ROOT *const Roots[];
extern const unsigned long long NumberOfRoots;

#ifdef BROKEN
extern unsigned long long BrokenKind;
#endif

#ifdef CLOBBERED
extern unsigned long long NumberOfClobbers;
#endif

typedef struct _RESULT {
    unsigned long long Checksum;
    DWORD LastError;
} RESULT;

typedef struct _WORK {
    unsigned long long Seed;
    unsigned Rounds;
    RESULT *Results;
} WORK;

static int
IsTakingSlots(
    void
    )
{
    char Value[8];

    return GetEnvironmentVariableA("RANDOM_CALLERS_SLOTS",
                                   Value,
                                   sizeof(Value)) != 0;
}

static void NTAPI
TakeSlots(
    void *Module,
    DWORD Reason,
    void *Reserved
    )
{
    (void)Module;
    (void)Reserved;
    if (Reason == DLL_PROCESS_ATTACH && IsTakingSlots()) {
        while (TlsAlloc() < DIRECT_SLOTS - 1) {
        }
    }
}

//
// The loader calls these in the order of the sections' names.
//

__attribute__((section(".CRT$XLB"), used))
static const PIMAGE_TLS_CALLBACK TakeSlotsEntry = TakeSlots;

//
// The root's caller, where a walk up the stack ends.
//

__attribute__((noinline)) static RESULT
CallRoot(
    ROOT *Root,
    unsigned long long Checksum
    )
{
    RESULT Result;

    SetLastError((DWORD)Checksum);
    Result.Checksum = Root(Checksum);
    Result.LastError = GetLastError();
    return Result;
}

//
// Called by some of the functions: how many of them there are below CallRoot,
// as the unwind data has it.
//

unsigned long long
CountFrames(
    void
    )
{
    CONTEXT Context;
    PRUNTIME_FUNCTION Entry;
    PRUNTIME_FUNCTION Last;
    DWORD64 ImageBase;
    DWORD64 Frame;
    void *Data;
    unsigned long long Count = 0;
    DWORD Error = GetLastError();

    Last = RtlLookupFunctionEntry((DWORD64)CallRoot, &ImageBase, NULL);
    RtlCaptureContext(&Context);
    for (;;) {
        Entry = RtlLookupFunctionEntry(Context.Rip, &ImageBase, NULL);
        if (Entry == Last || Count == 10000) {
            break;
        }
        if (Entry == NULL) {
            Context.Rip = *(DWORD64 *)Context.Rsp;
            Context.Rsp += 8;
        } else {
            RtlVirtualUnwind(UNW_FLAG_NHANDLER,
                             ImageBase,
                             Context.Rip,
                             Entry,
                             &Context,
                             &Data,
                             &Frame,
                             NULL);
        }
        Count += 1;
    }
    SetLastError(Error);
    return Count - 1;
}

static DWORD WINAPI
Thread(
    void *Parameter
    )
{
    WORK *Work = Parameter;
    unsigned long long Checksum = Work->Seed;
    unsigned long long Index;
    unsigned long long Root;
    unsigned Round;

    for (Round = 0; Round < Work->Rounds; Round += 1) {
        for (Index = 0; Index < NumberOfRoots; Index += 1) {
            Root = (Work->Seed * ROOTS_APART + Index) % NumberOfRoots;
            Work->Results[Root] = CallRoot(Roots[Root], Checksum);
            Checksum = Work->Results[Root].Checksum;
        }
    }
    return 0;
}

static void
RunThreads(
    WORK *Work,
    unsigned Count
    )
{
    HANDLE Threads[THREADS_AT_A_TIME];
    unsigned First;
    unsigned Index;
    unsigned Now;

    for (First = 0; First < Count; First += Now) {
        Now = Count - First;
        if (Now > THREADS_AT_A_TIME) {
            Now = THREADS_AT_A_TIME;
        }
        for (Index = 0; Index < Now; Index += 1) {
            Threads[Index] = CreateThread(NULL,
                                          0,
                                          Thread,
                                          &Work[First + Index],
                                          0,
                                          NULL);
            if (Threads[Index] == NULL) {
                exit(4);
            }
        }
        WaitForMultipleObjects(Now, Threads, TRUE, INFINITE);
        for (Index = 0; Index < Now; Index += 1) {
            CloseHandle(Threads[Index]);
        }
    }
}

int
main(
    int Count,
    char **Arguments
    )
{
    WORK Work[MAXIMUM_THREADS];
    unsigned NumberOfThreads;
    unsigned Index;
    unsigned long long Root;

    if (Count < 3) {
        return 2;
    }
    NumberOfThreads = (unsigned)atoi(Arguments[1]);
    if (NumberOfThreads > MAXIMUM_THREADS) {
        return 2;
    }
    if (IsTakingSlots() && TlsAlloc() < DIRECT_SLOTS) {
        return 3;
    }

    for (Index = 0; Index < NumberOfThreads; Index += 1) {
        Work[Index].Seed = Index + 1;
        Work[Index].Rounds = (unsigned)atoi(Arguments[2]);
        Work[Index].Results = calloc(NumberOfRoots, sizeof(RESULT));
    }

#ifdef BROKEN
    for (Index = 3; Index < (unsigned)Count; Index += 1) {
        unsigned long long Sum = 0;

        //
        // A thread that loses its stack ends without a word.
        //

        memset(Work[0].Results, 0, NumberOfRoots * sizeof(RESULT));
        BrokenKind = (unsigned)atoi(Arguments[Index]);
        RunThreads(Work, 1);
        for (Root = 0; Root < NumberOfRoots; Root += 1) {
            Sum = Sum * 31 + Work[0].Results[Root].Checksum;
            Sum = Sum * 31 + Work[0].Results[Root].LastError;
        }
        printf("%s %016llx\n", Arguments[Index], Sum);
        fflush(stdout);
    }
#else
    RunThreads(Work, NumberOfThreads);
    for (Index = 0; Index < NumberOfThreads; Index += 1) {
        for (Root = 0; Root < NumberOfRoots; Root += 1) {
            printf("%u %u %016llx %08lx\n",
                   Index,
                   (unsigned)Root,
                   Work[Index].Results[Root].Checksum,
                   Work[Index].Results[Root].LastError);
        }
    }
#endif
#ifdef CLOBBERED
    if (NumberOfClobbers < NumberOfThreads) {
        return 5;
    }
#endif
    return 0;
}
