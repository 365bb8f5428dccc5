/*++

Module Name:

    CoreHistogram.h

Abstract:

    How often calls took how long.

--*/

#ifndef TRACER_CORE_HISTOGRAM_H
#define TRACER_CORE_HISTOGRAM_H

#include "../../Rtl/Allocator.h"

// A bucket holds one value up to 63 ticks, and is no wider than a 32nd of the
// values in it above that.  What is read out of it is the largest value of a
// bucket, and so at most 3.125 % too large.
//

#define CORE_BUCKETS_PER_OCTAVE 32u
#define CORE_NUMBER_OF_BUCKETS 1920u

typedef struct _CORE_HISTOGRAM {
    PULONGLONG Counts;              // of NumberOfBuckets, from the first on
    ULONG FirstBucket;
    ULONG NumberOfBuckets;          // 0: it is empty
} CORE_HISTOGRAM;
typedef CORE_HISTOGRAM *PCORE_HISTOGRAM;

//
// The bucket of a value.
//

#if defined(_MSC_VER) && !defined(__clang__)
#define CORE_INLINE static __forceinline
#define CORE_APART static __declspec(noinline)
#else
#define CORE_INLINE static inline __attribute__((always_inline))
#define CORE_APART static __attribute__((noinline))
#endif

CORE_INLINE
ULONG
CoreQueryBucket(
    _In_ ULONGLONG Value
    )
{
    ULONG Shift;

#if defined(_MSC_VER) && !defined(__clang__)

    unsigned long Position;

    _BitScanReverse64(&Position, Value | CORE_BUCKETS_PER_OCTAVE);
    Shift = (ULONG)Position - 5;

#else

    Shift = 58 - (ULONG)__builtin_clzll(Value | CORE_BUCKETS_PER_OCTAVE);

#endif

    return Shift * CORE_BUCKETS_PER_OCTAVE + (ULONG)(Value >> Shift);
}

//
// The largest value that goes into a bucket.
//

ULONGLONG
CoreQueryBucketEnd(
    _In_ ULONG Bucket
    );

//
// Where histograms have their counts: many small pieces.  All of them are gone
// when it is destroyed.  CoreCreateArena returns NULL if there is no memory.
//

typedef struct _CORE_ARENA *PCORE_ARENA;

//
// Makes an empty arena.
// Allocator: for its memory.
// Returns the arena, or NULL: there is no memory.
//

_Must_inspect_result_
_Ret_maybenull_
PCORE_ARENA
CoreCreateArena(
    _In_ PCALLOCATOR Allocator
    );

//
// Frees an arena and all that is in it.
// Arena: the arena, or NULL.
//

VOID
CoreDestroyArena(
    _Inout_opt_ PCORE_ARENA Arena
    );

//
// Adds a call.  STATUS_NO_MEMORY
// Histogram: the histogram; all zeroes is an empty one.
// Ticks: how long the call took.
//

_Must_inspect_result_
NTSTATUS
CoreAddToHistogram(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_ARENA Arena,
    _In_ ULONGLONG Ticks
    );

//
// Adds the calls of another one.  STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
CoreMergeHistogram(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_ARENA Arena,
    _In_ const CORE_HISTOGRAM *Other
    );

//
// Frees a histogram, which is empty then.
// Arena: its memory. NULL: it has none.
//

VOID
CoreRundownHistogram(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_opt_ PCORE_ARENA Arena
    );

//
// A time that Share in CORE_ALL_CALLS of the calls did not exceed: not less
// than the exact one, at most 3.125 % more, and not more than Maximum, the
// longest call's.
//

#define CORE_ALL_CALLS 1000u

//
// Finds a time that a share of the calls did not exceed: the largest value of
// the bucket in which the call of that rank is.
// Share: parts in CORE_ALL_CALLS; the rank is rounded up.
// Maximum: the longest call's ticks.
// Returns ticks; 0 if there are no calls.
//

ULONGLONG
CoreQueryPercentile(
    _In_ const CORE_HISTOGRAM *Histogram,
    _In_ ULONG Share,
    _In_ ULONGLONG Maximum
    );

#endif // TRACER_CORE_HISTOGRAM_H
