/*++

Module Name:

    CollectRing.c

Abstract:

    Reads the rings of all processors while they are written.

    Each round begins with a look at the time stamp counter, and then reads each
    ring up to its end, or until there is no room.  What may be handed out is
    what is not later than the watermark: that look, or, of a ring that was not
    read to its end, the newest time stamp that was.  A record that is read
    later is of a thread that had it unfinished, and so has none after it; and
    if it was reserved later, its thread cannot have made an earlier one that is
    missing still: records of one thread are always in order, whichever
    processors it ran on.  Only those of several contexts may be a little out of
    order, where an interrupt came inside a hook; who writes the stores counts
    these.

    A record that is not finished is waited for until the next round, so that
    those being written at this moment are taken as they come.  After that it is
    set aside: the thread that writes it may have been preempted inside the
    hook, and the ring does not wait.

--*/

#include "CollectRing.h"

//
// Records ahead of the one that is read, of which the memory is asked for.
//

#define COLLECT_AHEAD 32u

#if defined(_MSC_VER) && !defined(__clang__)
#define COLLECT_PREFETCH(Address) \
    _mm_prefetch((const char *)(Address), _MM_HINT_T0)
#else
#define COLLECT_PREFETCH(Address) __builtin_prefetch((const VOID *)(Address))
#endif

_Use_decl_annotations_
NTSTATUS
CollectRingsBegin(
    PCOLLECT_RINGS Rings,
    PCCOLLECT_SECTION Section,
    PCALLOCATOR Allocator
    )
{
    ULONG Number = Section->Header.NumberOfRings;
    ULONGLONG RecordsPerRing = Section->Header.RecordsPerRing;
    SIZE_T BatchSize;
    SIZE_T Size = (SIZE_T)Number * (sizeof(COLLECT_RING) + sizeof(ULONG));
    ULONG Index;

    RtlZeroBytes(Rings, sizeof(*Rings));
    Rings->Section = Section;
    Rings->Allocator = Allocator;
    Rings->Capacity = RecordsPerRing < COLLECT_BATCH ? (ULONG)RecordsPerRing
                                                     : COLLECT_BATCH;
    BatchSize = Rings->Capacity * sizeof(TRACE_KERNEL_RECORD);
    Rings->Rings = (PCOLLECT_RING)Allocator->Allocate(Allocator->Context,
                                                      Size);
    Rings->Scratch = (PTRACE_KERNEL_RECORD)
        Allocator->Allocate(Allocator->Context, BatchSize);
    if (Rings->Rings == NULL || Rings->Scratch == NULL) {
        CollectRingsEnd(Rings);
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(Rings->Rings, Size);
    Rings->Heap = (PULONG)(Rings->Rings + Number);
    for (Index = 0; Index < Number; Index++) {

        PCOLLECT_RING Ring = &Rings->Rings[Index];
        ULONGLONG Reserved = COLLECT_RINGS(Section)[Index].Reserved;

        Ring->Batch = (PTRACE_KERNEL_RECORD)
            Allocator->Allocate(Allocator->Context, BatchSize);
        if (Ring->Batch == NULL) {
            CollectRingsEnd(Rings);
            return STATUS_NO_MEMORY;
        }

        Rings->NumberOfRings = Index + 1;
        if (Reserved > RecordsPerRing) {
            Ring->Before = Reserved - RecordsPerRing;
            Ring->HasGap = TRUE;
        }

        Ring->First = Ring->Before;
        Ring->Next = Ring->Before;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
CollectRingsEnd(
    PCOLLECT_RINGS Rings
    )
{
    PCALLOCATOR Allocator = Rings->Allocator;
    ULONG Index;

    if (Rings->Rings != NULL) {
        for (Index = 0; Index < Rings->NumberOfRings; Index++) {
            Allocator->Free(Allocator->Context, Rings->Rings[Index].Batch);
        }
        Allocator->Free(Allocator->Context, Rings->Rings);
    }

    if (Rings->Scratch != NULL) {
        Allocator->Free(Allocator->Context, Rings->Scratch);
    }

    Rings->Rings = NULL;
    Rings->Scratch = NULL;
    Rings->NumberOfRings = 0;
}

//
// Copies a record if it is finished, and was not overwritten meanwhile.  The
// writer stores Number last, and what is loaded here is loaded in this order.
//

static
BOOLEAN
CollectRingCopy(
    _In_ volatile TRACE_KERNEL_RECORD *Source,
    _In_ ULONGLONG Number,
    _Out_ PTRACE_KERNEL_RECORD Record
    )
{
    ULONG Expected = TRACE_KERNEL_NUMBER(Number);

    if (Source->Number != Expected) {
        return FALSE;
    }

    RtlCompilerBarrier();
    Record->Timestamp = Source->Timestamp;
    Record->Site = Source->Site;
    Record->Stack = Source->Stack;
    Record->ThreadIrql = Source->ThreadIrql;
    Record->Number = 0;
    RtlCompilerBarrier();
    return Source->Number == Expected;
}

//
// Adds a record to a ring's batch, which has room.
//

static
VOID
CollectRingAdd(
    _Inout_ PCOLLECT_RING Ring
    )
{
    PTRACE_KERNEL_RECORD Record = &Ring->Batch[Ring->Count];

    if (Ring->HasGap) {
        Ring->HasGap = FALSE;
        Record->Number = COLLECT_GAP;
    }

    if (Record->Timestamp > Ring->Newest) {
        Ring->Newest = Record->Timestamp;
    }

    if (Ring->Count != 0 && Record->Timestamp < Record[-1].Timestamp) {
        Ring->IsUnsorted = TRUE;
    }

    Ring->Count += 1;
    Ring->Taken += 1;
}

//
// Looks again at the records that were set aside.
//

static
VOID
CollectRingFillHoles(
    _Inout_ PCOLLECT_RING Ring,
    _In_ ULONG Capacity,
    _In_ volatile TRACE_KERNEL_RECORD *Records,
    _In_ ULONGLONG RecordsPerRing,
    _In_ ULONGLONG Reserved,
    _In_ BOOLEAN IsLast
    )
{
    ULONG Kept = 0;
    ULONG Index;

    for (Index = 0; Index < Ring->NumberOfHoles; Index++) {

        ULONGLONG Number = Ring->Holes[Index];

        if (Ring->Count < Capacity &&
            CollectRingCopy(&Records[Number & (RecordsPerRing - 1)],
                            Number,
                            &Ring->Batch[Ring->Count])) {
            CollectRingAdd(Ring);
        } else if (Reserved - Number > RecordsPerRing) {
            Ring->Lost += 1;
            Ring->HasGap = TRUE;
        } else if (IsLast) {
            Ring->Unfinished += 1;
        } else {
            Ring->Holes[Kept] = Number;
            Kept += 1;
        }
    }

    Ring->NumberOfHoles = Kept;
}

//
// Passes over records that were overwritten.  With them go those that would be
// by the time that they are read, a quarter of the ring: else the next record
// would be lost as well, and each one after a gap of its own.
//

static
VOID
CollectRingPass(
    _Inout_ PCOLLECT_RING Ring,
    _In_ ULONGLONG RecordsPerRing,
    _In_ ULONGLONG Reserved
    )
{
    ULONGLONG Next = Reserved - RecordsPerRing + RecordsPerRing / 4;

    Ring->Lost += Next - Ring->Next;
    Ring->Next = Next;
    Ring->HasGap = TRUE;
}

//
// Reads what is new in one ring.
// Returns how much of the ring was new, in 256ths.
//

static
ULONG
CollectRingRead(
    _Inout_ PCOLLECT_RINGS Rings,
    _In_ ULONG Index,
    _In_ BOOLEAN IsLast
    )
{
    PCCOLLECT_SECTION Section = Rings->Section;
    PCOLLECT_RING Ring = &Rings->Rings[Index];
    volatile TRACE_KERNEL_RING *Source = &COLLECT_RINGS(Section)[Index];
    volatile TRACE_KERNEL_RECORD *Records = COLLECT_RECORDS(Section, Index);
    ULONGLONG Size = Section->Header.RecordsPerRing;
    ULONGLONG Reserved = Source->Reserved;
    ULONGLONG New;

    if (Reserved < Ring->Next || Ring->IsDamaged) {

        //
        // A ring does not go backwards: this is no driver's.
        //

        Ring->IsDamaged = TRUE;
        Ring->IsDrained = TRUE;
        return 0;
    }

    New = Reserved - Ring->Next;
    Ring->IsDrained = FALSE;
    CollectRingFillHoles(Ring,
                         Rings->Capacity,
                         Records,
                         Size,
                         Reserved,
                         IsLast);
    for (;;) {

        if (Ring->Next == Reserved) {
            Ring->IsDrained = TRUE;
            break;
        }

        if (Ring->Count == Rings->Capacity) {
            break;
        }

        //
        // Its line was written by another processor.
        //

        COLLECT_PREFETCH(&Records[(Ring->Next + COLLECT_AHEAD) & (Size - 1)]);
        if (CollectRingCopy(&Records[Ring->Next & (Size - 1)],
                            Ring->Next,
                            &Ring->Batch[Ring->Count])) {
            CollectRingAdd(Ring);
            Ring->Next += 1;
            continue;
        }

        //
        // The place of a record that was overwritten was reserved before.
        //

        RtlCompilerBarrier();
        Reserved = Source->Reserved;
        if (Reserved < Ring->Next) {
            Ring->IsDamaged = TRUE;
            break;
        }

        if (Reserved - Ring->Next > Size) {
            CollectRingPass(Ring, Size, Reserved);
            continue;
        }

        if (IsLast) {
            Ring->Unfinished += 1;
            Ring->Next += 1;
            continue;
        }

        if (Ring->Waiting != Ring->Next + 1 ||
            Ring->NumberOfHoles == COLLECT_HOLES) {
            Ring->Waiting = Ring->Next + 1;
            break;
        }

        Ring->Holes[Ring->NumberOfHoles] = Ring->Next;
        Ring->NumberOfHoles += 1;
        Ring->Next += 1;
    }

    return New >= Size ? 256 : (ULONG)(New * 256 / Size);
}

//
// Sorts what is in a ring's batch by time.  It is nearly so: only a hook that
// was interrupted has an earlier time stamp behind later ones.
//

static
VOID
CollectRingSort(
    _Inout_ PTRACE_KERNEL_RECORD Records,
    _Inout_ PTRACE_KERNEL_RECORD Scratch,
    _In_ ULONG Count
    )
{
    ULONG Moves = 4 * COLLECT_BATCH;
    ULONG Width;
    ULONG Index;
    ULONG Place;

    for (Index = 1; Index < Count; Index++) {

        TRACE_KERNEL_RECORD Record;

        if (Records[Index].Timestamp >= Records[Index - 1].Timestamp) {
            continue;
        }

        Record = Records[Index];
        for (Place = Index;
             Place != 0 && Moves != 0 &&
             Records[Place - 1].Timestamp > Record.Timestamp;
             Place--) {
            Records[Place] = Records[Place - 1];
            Moves -= 1;
        }

        Records[Place] = Record;
        if (Moves == 0) {
            break;
        }
    }

    if (Index >= Count) {
        return;
    }

    //
    // It is not: merge runs that become longer.
    //

    for (Width = 1; Width < Count; Width *= 2) {

        for (Index = 0; Index < Count; Index += 2 * Width) {

            ULONG Middle = Index + Width < Count ? Index + Width : Count;
            ULONG End = Index + 2 * Width < Count ? Index + 2 * Width : Count;
            ULONG Left = Index;
            ULONG Right = Middle;

            for (Place = Index; Place < End; Place++) {
                if (Right == End ||
                    (Left < Middle &&
                     Records[Left].Timestamp <= Records[Right].Timestamp)) {
                    Scratch[Place] = Records[Left];
                    Left += 1;
                } else {
                    Scratch[Place] = Records[Right];
                    Right += 1;
                }
            }
        }

        RtlCopyBytes(Records, Scratch, Count * sizeof(*Records));
    }
}

//
// The heap: the ring whose next record is the earliest is the first.
//

#define COLLECT_TIME(Rings, Place)                                          \
    ((Rings)->Rings[(Rings)->Heap[Place]]                                   \
         .Batch[(Rings)->Rings[(Rings)->Heap[Place]].Index].Timestamp)

static
VOID
CollectRingSink(
    _Inout_ PCOLLECT_RINGS Rings,
    _In_ ULONG Place
    )
{
    for (;;) {

        ULONG Least = Place;
        ULONG Child = 2 * Place + 1;
        ULONG Ring;

        if (Child < Rings->NumberInHeap &&
            COLLECT_TIME(Rings, Child) < COLLECT_TIME(Rings, Least)) {
            Least = Child;
        }

        Child += 1;
        if (Child < Rings->NumberInHeap &&
            COLLECT_TIME(Rings, Child) < COLLECT_TIME(Rings, Least)) {
            Least = Child;
        }

        if (Least == Place) {
            return;
        }

        Ring = Rings->Heap[Place];
        Rings->Heap[Place] = Rings->Heap[Least];
        Rings->Heap[Least] = Ring;
        Place = Least;
    }
}

_Use_decl_annotations_
ULONG
CollectRingsRead(
    PCOLLECT_RINGS Rings,
    ULONGLONG Now,
    BOOLEAN IsLast
    )
{
    ULONGLONG Watermark = IsLast ? ~0ULL : Now;
    ULONG Fullest = 0;
    ULONG Index;

    Rings->NumberInHeap = 0;
    for (Index = 0; Index < Rings->NumberOfRings; Index++) {

        PCOLLECT_RING Ring = &Rings->Rings[Index];
        ULONG Full;

        if (Ring->Index != 0) {
            Ring->Count -= Ring->Index;
            RtlCopyBytes(Rings->Scratch,
                         &Ring->Batch[Ring->Index],
                         Ring->Count * sizeof(*Ring->Batch));
            RtlCopyBytes(Ring->Batch,
                         Rings->Scratch,
                         Ring->Count * sizeof(*Ring->Batch));
            Ring->Index = 0;
        }

        Full = CollectRingRead(Rings, Index, IsLast);
        if (Full > Fullest) {
            Fullest = Full;
        }

        if (!Ring->IsDrained && Ring->Newest < Watermark) {
            Watermark = Ring->Newest;
        }

        if (Ring->IsUnsorted) {
            Ring->IsUnsorted = FALSE;
            CollectRingSort(Ring->Batch, Rings->Scratch, Ring->Count);
        }

        if (Ring->Count != 0) {
            Rings->Heap[Rings->NumberInHeap] = Index;
            Rings->NumberInHeap += 1;
        }
    }

    Rings->Watermark = Watermark;
    for (Index = Rings->NumberInHeap / 2; Index != 0; Index--) {
        CollectRingSink(Rings, Index - 1);
    }

    return Fullest;
}

_Use_decl_annotations_
PTRACE_KERNEL_RECORD
CollectRingsNext(
    PCOLLECT_RINGS Rings,
    PULONG Ring
    )
{
    PTRACE_KERNEL_RECORD Record;
    PCOLLECT_RING First;

    *Ring = 0;
    if (Rings->NumberInHeap == 0) {
        return NULL;
    }

    First = &Rings->Rings[Rings->Heap[0]];
    Record = &First->Batch[First->Index];
    if (Record->Timestamp > Rings->Watermark) {
        return NULL;
    }

    *Ring = Rings->Heap[0];
    First->Index += 1;
    if (First->Index == First->Count) {
        Rings->NumberInHeap -= 1;
        Rings->Heap[0] = Rings->Heap[Rings->NumberInHeap];
    }

    CollectRingSink(Rings, 0);
    return Record;
}

_Use_decl_annotations_
BOOLEAN
CollectRingsHold(
    PCCOLLECT_RINGS Rings
    )
{
    ULONG Index;

    for (Index = 0; Index < Rings->NumberOfRings; Index++) {
        if (Rings->Rings[Index].Index != Rings->Rings[Index].Count) {
            return TRUE;
        }
    }

    return FALSE;
}
