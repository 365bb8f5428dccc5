/*++

Module Name:

    HookPairs.c

Abstract:

    What a pair of hooks costs around a leaf in one or two threads at once, on
    average or each pair by itself:

        HookPairs loop THREADS CALLS
        HookPairs single THREADS CALLS

    Each thread has a processor of its own, and they start together.  Prints

        clock TICKS STEP        ticks of the time stamp counter in a second,
                                and what two readings of it, one right after
                                the other, mostly differ by
        thread N CALLS COST     for each thread: nanoseconds per call of the
                                whole loop

    and for "single", in which each call stands between two readings of the
    counter:

        first TICKS             for each thread: its first call
        worst TICKS             for each thread: the longest of the others
        bucket TICKS COUNT      for each bucket that is not empty, of all
                                threads: the least that falls into it

    The buckets divide every power of two by 64, so that a figure is known to
    better than two in a hundred.  They are touched beforehand.

--*/

#include <windows.h>
#include <intrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((no_instrument_function, noinline))
#define PLAIN_INLINE \
    __attribute__((no_instrument_function, always_inline)) static inline
#define TRACED __attribute__((noinline))

#define MAXIMUM_THREADS     2
#define SUB_BUCKET_BITS     6
#define SUB_BUCKETS         (1u << SUB_BUCKET_BITS)
#define BUCKETS             ((64 - SUB_BUCKET_BITS + 1) * SUB_BUCKETS)

typedef struct _WORK {
    unsigned Index;
    unsigned Calls;
    BOOL Single;
    double Cost;
    unsigned long long First;
    unsigned long long Worst;
    unsigned long long Buckets[BUCKETS];
} WORK;

static WORK Works[MAXIMUM_THREADS];
static volatile LONG Missing;   // threads that are not there yet

TRACED
unsigned
Leaf(
    unsigned Value
    )
{
    __asm__ volatile ("" : "+r" (Value));
    return Value + 1;
}

PLAIN
static
double
Now(
    void
    )
{
    LARGE_INTEGER Count;
    LARGE_INTEGER Frequency;

    QueryPerformanceCounter(&Count);
    QueryPerformanceFrequency(&Frequency);
    return (double)Count.QuadPart * 1e9 / (double)Frequency.QuadPart;
}

PLAIN_INLINE
unsigned
FindBucket(
    unsigned long long Ticks
    )
{
    unsigned Shift;

    if (Ticks < SUB_BUCKETS) {
        return (unsigned)Ticks;
    }

    Shift = 63 - SUB_BUCKET_BITS - (unsigned)__builtin_clzll(Ticks);
    return (Shift << SUB_BUCKET_BITS) + (unsigned)(Ticks >> Shift);
}

PLAIN
static
unsigned long long
FindBucketStart(
    unsigned Bucket
    )
{
    unsigned Shift;

    if (Bucket < SUB_BUCKETS) {
        return Bucket;
    }

    Shift = Bucket / SUB_BUCKETS - 1;
    return (unsigned long long)(Bucket - Shift * SUB_BUCKETS) << Shift;
}

PLAIN
static
void
RunLoop(
    WORK *Work
    )
{
    unsigned Index;
    unsigned Value;
    double Start;

    Value = 0;
    Start = Now();
    for (Index = 0; Index < Work->Calls; Index += 1) {
        Value = Leaf(Value);
    }
    Work->Cost = (Now() - Start) / Value;
}

PLAIN
static
void
RunSingle(
    WORK *Work
    )
{
    unsigned long long Before;
    unsigned long long Ticks;
    unsigned long long Worst;
    unsigned Index;
    unsigned Value;
    double Start;

    Before = __rdtsc();
    Value = Leaf(0);
    Work->First = __rdtsc() - Before;

    Worst = 0;
    Start = Now();
    for (Index = 1; Index < Work->Calls; Index += 1) {
        Before = __rdtsc();
        Value = Leaf(Value);
        Ticks = __rdtsc() - Before;
        Work->Buckets[FindBucket(Ticks)] += 1;
        if (Ticks > Worst) {
            Worst = Ticks;
        }
    }
    Work->Cost = (Now() - Start) / (Value - 1);
    Work->Worst = Worst;
}

PLAIN
static
DWORD WINAPI
Thread(
    void *Parameter
    )
{
    WORK *Work = Parameter;

    SetThreadAffinityMask(GetCurrentThread(), (DWORD_PTR)1 << Work->Index);
    InterlockedDecrement(&Missing);
    while (Missing != 0) {
        YieldProcessor();
    }

    if (Work->Single) {
        RunSingle(Work);
    } else {
        RunLoop(Work);
    }
    return 0;
}

//
// The commonest difference between two readings, one right after the other.
// A counter that counts in large steps shows one step.
//

PLAIN
static
unsigned
FindStep(
    void
    )
{
    static unsigned Counts[1024];
    unsigned long long Previous;
    unsigned long long Next;
    unsigned Index;
    unsigned Step;

    Previous = __rdtsc();
    for (Index = 0; Index < 100000; Index += 1) {
        Next = __rdtsc();
        if (Next - Previous < 1024) {
            Counts[Next - Previous] += 1;
        }
        Previous = Next;
    }

    Step = 0;
    for (Index = 0; Index < 1024; Index += 1) {
        if (Counts[Index] > Counts[Step]) {
            Step = Index;
        }
    }
    return Step;
}

PLAIN
int
main(
    int ArgumentCount,
    char **Arguments
    )
{
    HANDLE Handles[MAXIMUM_THREADS];
    unsigned long long Ticks;
    unsigned long long Count;
    unsigned Threads;
    unsigned Index;
    unsigned Bucket;
    double Start;

    if (ArgumentCount != 4) {
        return 2;
    }
    Threads = (unsigned)atoi(Arguments[2]);
    if (Threads < 1 || Threads > MAXIMUM_THREADS) {
        return 2;
    }

    //
    // Ones, and then zeroes again: pages that were only read may not be there.
    //

    memset(Works, 1, sizeof(Works));
    memset(Works, 0, sizeof(Works));
    for (Index = 0; Index < Threads; Index += 1) {
        Works[Index].Index = Index;
        Works[Index].Calls = (unsigned)atoi(Arguments[3]);
        Works[Index].Single = strcmp(Arguments[1], "single") == 0;
    }

    Start = Now();
    Ticks = __rdtsc();
    Missing = (LONG)Threads;
    for (Index = 0; Index < Threads; Index += 1) {
        Handles[Index] = CreateThread(NULL, 0, Thread, &Works[Index], 0, NULL);
        if (Handles[Index] == NULL) {
            return 1;
        }
    }
    WaitForMultipleObjects(Threads, Handles, TRUE, INFINITE);
    Ticks = __rdtsc() - Ticks;

    printf("clock %.0f %u\n",
           (double)Ticks * 1e9 / (Now() - Start),
           FindStep());

    for (Index = 0; Index < Threads; Index += 1) {
        printf("thread %u %u %.4f\n",
               Index,
               Works[Index].Calls,
               Works[Index].Cost);
        if (Works[Index].Single) {
            printf("first %llu\n", Works[Index].First);
            printf("worst %llu\n", Works[Index].Worst);
        }
    }

    for (Bucket = 0; Bucket < BUCKETS; Bucket += 1) {
        Count = 0;
        for (Index = 0; Index < Threads; Index += 1) {
            Count += Works[Index].Buckets[Bucket];
        }
        if (Count != 0) {
            printf("bucket %llu %llu\n", FindBucketStart(Bucket), Count);
        }
    }
    return 0;
}
