/*++

Module Name:

    windows.h

Abstract:

    What the benchmark programs take from Windows, for a native build on Linux:
    BenchPeers.py builds Benchmarks/Programs/HookCost.c with it, unchanged,
    for the other tracers.  The clock is CLOCK_MONOTONIC, which is also what
    Wine makes QueryPerformanceCounter from.

--*/

#pragma once

#include <time.h>

typedef union _LARGE_INTEGER {
    long long QuadPart;
} LARGE_INTEGER;

static
inline
__attribute__((no_instrument_function, always_inline))
int
QueryPerformanceCounter(
    LARGE_INTEGER *Count
    )
{
    struct timespec Time;

    clock_gettime(CLOCK_MONOTONIC, &Time);
    Count->QuadPart = Time.tv_sec * 1000000000LL + Time.tv_nsec;
    return 1;
}

static
inline
__attribute__((no_instrument_function, always_inline))
int
QueryPerformanceFrequency(
    LARGE_INTEGER *Frequency
    )
{
    Frequency->QuadPart = 1000000000LL;
    return 1;
}
