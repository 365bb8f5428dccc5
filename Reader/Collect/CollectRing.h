/*++

Module Name:

    CollectRing.h

Abstract:

    The rings of all processors, read while they are written, as one sequence of
    records in the order of time.

    Every record that a ring has reserved since the collector began is in one of
    three counts: it was taken, it was overwritten before it could be, or it was
    never finished.

--*/

#ifndef TRACER_COLLECT_RING_H
#define TRACER_COLLECT_RING_H

#include "../../Rtl/Allocator.h"
#include "CollectSection.h"

//
// Records of a ring that are read at a time, at most; of records that were not
// finished, how many are remembered.
//

#define COLLECT_BATCH               8192u
#define COLLECT_HOLES               64u

//
// In place of Number, of a record that was taken: records of its ring before it
// were overwritten.
//

#define COLLECT_GAP                 0x1u

typedef struct _COLLECT_RING {
    ULONGLONG Next;                 // number of the record to read next
    ULONGLONG First;                // that was there when the collector began
    ULONGLONG Taken;                // this and the next two add up to Next less
    ULONGLONG Lost;                 // First and the holes
    ULONGLONG Unfinished;
    ULONGLONG Before;               // overwritten before the collector began
    ULONGLONG Newest;               // time stamp of the newest that was read
    ULONGLONG Waiting;              // number of a record that was not finished
                                    // the last time, plus 1; 0: none
    PTRACE_KERNEL_RECORD Batch;     // Rings->Capacity, by time
    ULONG Count;
    ULONG Index;                    // of the first that was not handed out
    ULONG NumberOfHoles;
    BOOLEAN HasGap;                 // before the next record
    BOOLEAN IsDrained;              // in this round
    BOOLEAN IsDamaged;
    BOOLEAN IsUnsorted;             // the batch
    ULONGLONG Holes[COLLECT_HOLES]; // numbers of unfinished records
} COLLECT_RING;
typedef COLLECT_RING *PCOLLECT_RING;
typedef const COLLECT_RING *PCCOLLECT_RING;

typedef struct _COLLECT_RINGS {
    PCCOLLECT_SECTION Section;
    PCALLOCATOR Allocator;
    ULONG NumberOfRings;
    ULONG NumberInHeap;
    PCOLLECT_RING Rings;
    PULONG Heap;                    // rings that have a record, by its time
    PTRACE_KERNEL_RECORD Scratch;   // Capacity
    ULONG Capacity;                 // records of a batch
    ULONGLONG Watermark;            // nothing earlier will be read
} COLLECT_RINGS;
typedef COLLECT_RINGS *PCOLLECT_RINGS;
typedef const COLLECT_RINGS *PCCOLLECT_RINGS;

_Must_inspect_result_
NTSTATUS
CollectRingsBegin(
    _Out_ PCOLLECT_RINGS Rings,
    _In_ PCCOLLECT_SECTION Section,
    _In_ PCALLOCATOR Allocator
    );

VOID
CollectRingsEnd(
    _Inout_ PCOLLECT_RINGS Rings
    );

//
// Reads what is new in all rings, and decides up to when it can be handed out.
// Now: the time stamp counter, read before.
// IsLast: nothing is written any more; what is unfinished stays so.
// Returns how full the fullest ring is with records that were new, in 256ths.
//

ULONG
CollectRingsRead(
    _Inout_ PCOLLECT_RINGS Rings,
    _In_ ULONGLONG Now,
    _In_ BOOLEAN IsLast
    );

//
// The next record up to the watermark, or NULL; it stays until the next call of
// CollectRingsRead.  Its Number has COLLECT_GAP or is 0.
//

_Ret_maybenull_
PTRACE_KERNEL_RECORD
CollectRingsNext(
    _Inout_ PCOLLECT_RINGS Rings,
    _Out_ PULONG Ring
    );

//
// Does a ring hold records that were not handed out?
//

BOOLEAN
CollectRingsHold(
    _In_ PCCOLLECT_RINGS Rings
    );

#endif // TRACER_COLLECT_RING_H
