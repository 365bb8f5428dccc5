/*++

Module Name:

    CoreHistogram.c

Abstract:

    How often a function's calls took how long, in a few hundred bytes.

    Up to 63 ticks a bucket holds one value.  Above that each octave has 32
    buckets of equal width, so that none is wider than a 32nd of the values in
    it.  A histogram has memory for the buckets from its lowest to its highest
    one alone, in units of eight: a cache line.

--*/

#include "../../StringTable/StringTable.h"
#include "CoreHistogram.h"

#define CORE_UNIT 8u
#define CORE_NUMBER_OF_UNITS (CORE_NUMBER_OF_BUCKETS / CORE_UNIT)
#define CORE_CHUNK_SIZE 0x40000u

//
// Pieces that were given back are in a list for each size.
//

typedef struct _CORE_ARENA {
    PCALLOCATOR Allocator;
    PULONGLONG *Chunk;              // the newest; begins with the one before
    ULONG Used;                     // bytes of it
    ULONG Unused;
    PULONGLONG Free[CORE_NUMBER_OF_UNITS + 1];  // by units; each piece begins
                                                // with the next one
} CORE_ARENA;

C_ASSERT(CORE_NUMBER_OF_BUCKETS % CORE_UNIT == 0);
C_ASSERT(sizeof(CORE_HISTOGRAM) == sizeof(PVOID) + 8);


_Use_decl_annotations_
ULONGLONG
CoreQueryBucketEnd(
    ULONG Bucket
    )
{
    ULONG Shift;

    if (Bucket < 2 * CORE_BUCKETS_PER_OCTAVE) {
        return Bucket;
    }

    Shift = Bucket / CORE_BUCKETS_PER_OCTAVE - 1;
    return ((ULONGLONG)(Bucket % CORE_BUCKETS_PER_OCTAVE +
                        CORE_BUCKETS_PER_OCTAVE)
            << Shift) +
           ((1ULL << Shift) - 1);
}


_Use_decl_annotations_
PCORE_ARENA
CoreCreateArena(
    PCALLOCATOR Allocator
    )
{
    PCORE_ARENA Arena;

    Arena = (PCORE_ARENA)Allocator->Allocate(Allocator->Context,
                                             sizeof(CORE_ARENA));
    if (Arena != NULL) {
        Arena->Allocator = Allocator;
    }

    return Arena;
}


_Use_decl_annotations_
VOID
CoreDestroyArena(
    PCORE_ARENA Arena
    )
{
    PCALLOCATOR Allocator;
    PULONGLONG *Chunk;

    if (Arena == NULL) {
        return;
    }

    Allocator = Arena->Allocator;
    while (Arena->Chunk != NULL) {
        Chunk = Arena->Chunk;
        Arena->Chunk = (PULONGLONG *)*Chunk;
        Allocator->Free(Allocator->Context, Chunk);
    }

    Allocator->Free(Allocator->Context, Arena);
}


//
// Takes a piece for counts.
// NumberOfBuckets: how many, a multiple of CORE_UNIT.
// Returns the counts, zero; NULL: there is no memory.
//

_Must_inspect_result_
_Ret_maybenull_
static
PULONGLONG
CoreTakeCounts(
    _Inout_ PCORE_ARENA Arena,
    _In_ ULONG NumberOfBuckets
    )
{
    ULONG SizeInBytes = NumberOfBuckets * sizeof(ULONGLONG);
    PULONGLONG Counts = Arena->Free[NumberOfBuckets / CORE_UNIT];
    PULONGLONG *Chunk;
    ULONG Index;

    if (Counts != NULL) {

        Arena->Free[NumberOfBuckets / CORE_UNIT] =
            (PULONGLONG)(ULONG_PTR)Counts[0];
        for (Index = 0; Index < NumberOfBuckets; Index++) {
            Counts[Index] = 0;
        }

        return Counts;
    }

    if (Arena->Chunk == NULL || CORE_CHUNK_SIZE - Arena->Used < SizeInBytes) {

        Chunk = (PULONGLONG *)Arena->Allocator->Allocate(
            Arena->Allocator->Context,
            CORE_CHUNK_SIZE);
        if (Chunk == NULL) {
            return NULL;
        }

        *Chunk = (PULONGLONG)Arena->Chunk;
        Arena->Chunk = Chunk;
        Arena->Used = CORE_UNIT * sizeof(ULONGLONG);
    }

    Counts = (PULONGLONG)((PUCHAR)Arena->Chunk + Arena->Used);
    Arena->Used += SizeInBytes;
    return Counts;
}


//
// Makes room for a bucket.
// Histogram: the histogram, which has none for it.
// Arena: for its memory.
//

_Must_inspect_result_
static
NTSTATUS
CoreWidenHistogram(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_ARENA Arena,
    _In_ ULONG Bucket
    )
{
    ULONG First = Bucket - Bucket % CORE_UNIT;
    ULONG End = First + CORE_UNIT;
    PULONGLONG Counts;
    ULONG Index;

    if (Histogram->NumberOfBuckets != 0) {

        if (Histogram->FirstBucket < First) {
            First = Histogram->FirstBucket;
        }

        if (Histogram->FirstBucket + Histogram->NumberOfBuckets > End) {
            End = Histogram->FirstBucket + Histogram->NumberOfBuckets;
        }
    }

    Counts = CoreTakeCounts(Arena, End - First);
    if (Counts == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Histogram->NumberOfBuckets; Index++) {
        Counts[Histogram->FirstBucket - First + Index] =
            Histogram->Counts[Index];
    }

    CoreRundownHistogram(Histogram, Arena);
    Histogram->Counts = Counts;
    Histogram->FirstBucket = First;
    Histogram->NumberOfBuckets = End - First;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CoreAddToHistogram(
    PCORE_HISTOGRAM Histogram,
    PCORE_ARENA Arena,
    ULONGLONG Ticks
    )
{
    ULONG Bucket = CoreQueryBucket(Ticks);
    NTSTATUS Status;

    if (Bucket - Histogram->FirstBucket >= Histogram->NumberOfBuckets) {

        Status = CoreWidenHistogram(Histogram, Arena, Bucket);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Histogram->Counts[Bucket - Histogram->FirstBucket] += 1;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CoreMergeHistogram(
    PCORE_HISTOGRAM Histogram,
    PCORE_ARENA Arena,
    const CORE_HISTOGRAM *Other
    )
{
    ULONG Bucket;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Other->NumberOfBuckets; Index++) {

        if (Other->Counts[Index] == 0) {
            continue;
        }

        Bucket = Other->FirstBucket + Index;
        if (Bucket - Histogram->FirstBucket >= Histogram->NumberOfBuckets) {

            Status = CoreWidenHistogram(Histogram, Arena, Bucket);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        Histogram->Counts[Bucket - Histogram->FirstBucket] +=
            Other->Counts[Index];
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CoreRundownHistogram(
    PCORE_HISTOGRAM Histogram,
    PCORE_ARENA Arena
    )
{
    ULONG Units = Histogram->NumberOfBuckets / CORE_UNIT;

    if (Units == 0) {
        return;
    }

    Histogram->Counts[0] = (ULONG_PTR)Arena->Free[Units];
    Arena->Free[Units] = Histogram->Counts;
    Histogram->Counts = NULL;
    Histogram->FirstBucket = 0;
    Histogram->NumberOfBuckets = 0;
}


_Use_decl_annotations_
ULONGLONG
CoreQueryPercentile(
    const CORE_HISTOGRAM *Histogram,
    ULONG Share,
    ULONGLONG Maximum
    )
{
    ULONGLONG Count = 0;
    ULONGLONG Rank;
    ULONGLONG End;
    ULONG Index;

    for (Index = 0; Index < Histogram->NumberOfBuckets; Index++) {
        Count += Histogram->Counts[Index];
    }

    if (Count == 0) {
        return 0;
    }

    //
    // Both products stay below 2^64: there are no 2^64 / CORE_ALL_CALLS calls.
    //

    Rank = Count / CORE_ALL_CALLS * Share +
           (Count % CORE_ALL_CALLS * Share + CORE_ALL_CALLS - 1) /
               CORE_ALL_CALLS;
    if (Rank == 0) {
        Rank = 1;
    }

    for (Index = 0; Index + 1 < Histogram->NumberOfBuckets; Index++) {
        if (Histogram->Counts[Index] >= Rank) {
            break;
        }

        Rank -= Histogram->Counts[Index];
    }

    End = CoreQueryBucketEnd(Histogram->FirstBucket + Index);
    return End < Maximum ? End : Maximum;
}
