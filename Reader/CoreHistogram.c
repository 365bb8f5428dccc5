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

#include "ReaderCore.h"

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
C_ASSERT(sizeof(CORE_HISTOGRAM) == 16);


_Use_decl_annotations_
ULONGLONG
CoreQueryBucketEnd(
    ULONG Bucket
    )
/*++

Routine Description:

    Finds the largest value that goes into a bucket.

Arguments:

    Bucket - The bucket.

Return Value:

    The value.

--*/
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
/*++

Routine Description:

    Makes an empty arena.

Arguments:

    Allocator - For its memory.

Return Value:

    The arena, or NULL: there is no memory.

--*/
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
/*++

Routine Description:

    Frees an arena and all that is in it.

Arguments:

    Arena - The arena, or NULL.

Return Value:

    None.

--*/
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


_Must_inspect_result_
_Ret_maybenull_
static
PULONGLONG
CoreTakeCounts(
    _Inout_ PCORE_ARENA Arena,
    _In_ ULONG NumberOfBuckets
    )
/*++

Routine Description:

    Takes a piece for counts.

Arguments:

    Arena - The arena.

    NumberOfBuckets - How many, a multiple of CORE_UNIT.

Return Value:

    The counts, zero; NULL: there is no memory.

--*/
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


_Must_inspect_result_
static
NTSTATUS
CoreWidenHistogram(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_ARENA Arena,
    _In_ ULONG Bucket
    )
/*++

Routine Description:

    Makes room for a bucket.

Arguments:

    Histogram - The histogram, which has none for it.

    Arena - For its memory.

    Bucket - The bucket.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
/*++

Routine Description:

    Adds a call.

Arguments:

    Histogram - The histogram; all zeroes is an empty one.

    Arena - For its memory.

    Ticks - How long the call took.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
/*++

Routine Description:

    Adds the calls of another histogram.

Arguments:

    Histogram - What to add to.

    Arena - For its memory.

    Other - What to add.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
/*++

Routine Description:

    Frees a histogram, which is empty then.

Arguments:

    Histogram - The histogram.

    Arena - Receives its memory.  NULL: it has none.

Return Value:

    None.

--*/
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
/*++

Routine Description:

    Finds a time that a share of the calls did not exceed: the largest value of
    the bucket in which the call of that rank is.

Arguments:

    Histogram - The histogram.

    Share - Parts in CORE_ALL_CALLS; the rank is rounded up.

    Maximum - The longest call's ticks.

Return Value:

    Ticks; 0 if there are no calls.

--*/
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
