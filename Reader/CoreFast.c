/*++

Module Name:

    CoreFast.c

Abstract:

    The fast path of pairing: runs of ordinary calls are paired and added up
    in one loop, straight from the records.

    Ordinary is an entry well below the innermost open frame and an exit that
    closes it, both on the stack that ran last, from sites that are known.
    That is nearly every call of nearly every program.  The loop stops before
    anything else, and CoreAddCall decides that one; both work on the same
    frames, so either may go on where the other stopped.

--*/

#include "ReaderCore.h"

#define CORE_FIRST_SITES 64
#define CORE_CACHE_LINE 64
#define CORE_MAXIMUM_SITES 0x1000000u

//
// As in CorePair.c.
//

#define CORE_STACK_DIFFERENCE(First, Second) ((LONG)((First) - (Second)))

//
// The largest distance that CORE_STACK_DIFFERENCE has: an entry is never
// farther away.
//

#define CORE_MAXIMUM_REACH 0x7FFFFFFFu

//
// A site's key, as the second half of a record has it when the module's base
// and RSP are taken off.
//

#define CORE_SITE_KEY(Rva, Kind) ((ULONGLONG)(Rva) | ((ULONGLONG)(Kind) << 32))

#define CORE_HASH_MULTIPLIER 0x9E3779B97F4A7C15ULL

//
// A key's first slot: the product's upper bits are its best.
//

#define CORE_SITE_SLOT(Key, Mask) \
    ((ULONG)(((Key) * CORE_HASH_MULTIPLIER) >> 40) & (Mask))

C_ASSERT(sizeof(CORE_FRAME) == CORE_CACHE_LINE);
C_ASSERT(sizeof(CORE_SITE) == CORE_CACHE_LINE);
C_ASSERT(sizeof(CORE_TOTALS) == CORE_CACHE_LINE);


static
PVOID
CoreAlignOnLine(
    _In_opt_ PVOID Memory
    )
/*++

Routine Description:

    Finds the first cache line in a block.

Arguments:

    Memory - The block, larger by a line than what is to be in it, or NULL.

Return Value:

    The address, or NULL.

--*/
{
    if (Memory == NULL) {
        return NULL;
    }

    return (PVOID)(((ULONG_PTR)Memory + CORE_CACHE_LINE - 1) &
                   ~(ULONG_PTR)(CORE_CACHE_LINE - 1));
}


_Use_decl_annotations_
VOID
CoreInitializeSites(
    PCORE_SITES Sites,
    PCALLOCATOR Allocator
    )
/*++

Routine Description:

    Makes an empty table of sites.

Arguments:

    Sites - Receives it.

    Allocator - For the table.

Return Value:

    None.

--*/
{
    Sites->Allocator = Allocator;
    Sites->Memory = NULL;
    Sites->Slots = NULL;
    Sites->Capacity = 0;
    Sites->Count = 0;
}


_Use_decl_annotations_
VOID
CoreRundownSites(
    PCORE_SITES Sites
    )
/*++

Routine Description:

    Frees a table.

Arguments:

    Sites - The table, or all zeroes.

Return Value:

    None.

--*/
{
    if (Sites->Memory != NULL) {
        Sites->Allocator->Free(Sites->Allocator->Context, Sites->Memory);
        Sites->Memory = NULL;
        Sites->Slots = NULL;
        Sites->Capacity = 0;
        Sites->Count = 0;
    }
}


_Use_decl_annotations_
PCCORE_SITE
CoreFindSite(
    const CORE_SITES *Sites,
    ULONG Rva,
    ULONG Kind
    )
/*++

Routine Description:

    Finds a site.

Arguments:

    Sites - The table of its module.

    Rva - The site.

    Kind - TRACE_KIND_*.

Return Value:

    The site, good until one is added, or NULL.

--*/
{
    ULONGLONG Key = CORE_SITE_KEY(Rva, Kind);
    ULONG Slot;

    if (Sites->Capacity == 0) {
        return NULL;
    }

    Slot = CORE_SITE_SLOT(Key, Sites->Capacity - 1);
    while (Sites->Slots[Slot].Key != 0) {
        if (Sites->Slots[Slot].Key == Key) {
            return &Sites->Slots[Slot];
        }

        Slot = (Slot + 1) & (Sites->Capacity - 1);
    }

    return NULL;
}


static
VOID
CorePlaceSite(
    _Inout_ PCORE_SITES Sites,
    _In_ PCCORE_SITE Site
    )
/*++

Routine Description:

    Puts a site into a free slot.

Arguments:

    Sites - The table, with room.

    Site - The site, with its key.

Return Value:

    None.

--*/
{
    ULONG Slot = CORE_SITE_SLOT(Site->Key, Sites->Capacity - 1);

    while (Sites->Slots[Slot].Key != 0) {
        Slot = (Slot + 1) & (Sites->Capacity - 1);
    }

    Sites->Slots[Slot] = *Site;
}


_Use_decl_annotations_
NTSTATUS
CoreAddSite(
    PCORE_SITES Sites,
    PCCORE_CALL Call,
    ULONG Index
    )
/*++

Routine Description:

    Adds a site.

Arguments:

    Sites - The table of its module, in which it is not.

    Call - A call from it, with what the image says of it.  The lower half of
        its Site is the RVA.

    Index - The caller's own: that of the totals of an entry's function.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    CORE_SITES Larger;
    CORE_SITE Site;
    ULONG Slot;

    //
    // Half of the slots stay free, so that nearly every site is in its first.
    //

    if (Sites->Count >= Sites->Capacity / 2) {

        if (Sites->Capacity >= CORE_MAXIMUM_SITES) {
            return STATUS_NO_MEMORY;
        }

        Larger = *Sites;
        Larger.Capacity = Sites->Capacity == 0 ? CORE_FIRST_SITES
                                               : Sites->Capacity * 2;
        Larger.Memory = Sites->Allocator->Allocate(
            Sites->Allocator->Context,
            ((SIZE_T)Larger.Capacity + 1) * sizeof(CORE_SITE));
        Larger.Slots = (PCORE_SITE)CoreAlignOnLine(Larger.Memory);
        if (Larger.Slots == NULL) {
            return STATUS_NO_MEMORY;
        }

        for (Slot = 0; Slot < Sites->Capacity; Slot++) {
            if (Sites->Slots[Slot].Key != 0) {
                CorePlaceSite(&Larger, &Sites->Slots[Slot]);
            }
        }

        CoreRundownSites(Sites);
        *Sites = Larger;
    }

    Site.Key = CORE_SITE_KEY((ULONG)Call->Site, Call->Kind);
    Site.JumpTarget = Call->JumpTarget;
    Site.Site = Call->Site;
    Site.Function = Call->Function;
    Site.BodySize = 0;
    Site.FrameSize = 0;
    if ((Call->Flags & CORE_CALL_FRAME_KNOWN) != 0) {
        Site.BodySize = Call->BodySize;
        Site.FrameSize = Call->FrameSize;
    }

    Site.Kind = Call->Kind;
    Site.Flags = Call->Flags;
    Site.Index = Index;
    Site.IsAnywhere = (Call->Flags & CORE_CALL_FRAME_KNOWN) == 0 ||
                      (Call->Flags & CORE_CALL_JUMPS) != 0;
    for (Slot = 0; Slot < RTL_NUMBER_OF(Site.Unused); Slot++) {
        Site.Unused[Slot] = 0;
    }

    CorePlaceSite(Sites, &Site);
    Sites->Count += 1;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CoreGrowTotals(
    PCORE_TOTALS_TABLE Table,
    ULONG Count
    )
/*++

Routine Description:

    Makes room for more totals.

Arguments:

    Table - The table.

    Count - How many there have to be.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PVOID Memory;
    PCORE_TOTALS Totals;
    ULONG Capacity;
    ULONG Index;

    if (Count <= Table->Capacity) {
        return STATUS_SUCCESS;
    }

    Capacity = Table->Capacity == 0 ? 64 : Table->Capacity * 2;
    Memory = Table->Allocator->Allocate(
        Table->Allocator->Context,
        ((SIZE_T)Capacity + 1) * sizeof(CORE_TOTALS));
    Totals = (PCORE_TOTALS)CoreAlignOnLine(Memory);
    if (Totals == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Capacity; Index++) {
        if (Index < Table->Capacity) {
            Totals[Index] = Table->Totals[Index];
        } else {
            Totals[Index].MinimumTicks = ~0ULL;
        }
    }

    Table->Allocator->Free(Table->Allocator->Context, Table->Memory);
    Table->Memory = Memory;
    Table->Totals = Totals;
    Table->Capacity = Capacity;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CoreRundownTotals(
    PCORE_TOTALS_TABLE Table
    )
/*++

Routine Description:

    Frees the totals.

Arguments:

    Table - The table, or all zeroes.

Return Value:

    None.

--*/
{
    if (Table->Memory != NULL) {
        Table->Allocator->Free(Table->Allocator->Context, Table->Memory);
        Table->Memory = NULL;
        Table->Totals = NULL;
        Table->Capacity = 0;
    }
}


CORE_INLINE
ULONG
CoreRun(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _Inout_ PCORE_TOTALS Totals,
    _Inout_opt_ PCORE_HISTOGRAM Histograms,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _In_ ULONGLONG Limit,
    _In_ BOOLEAN IsJumping,
    _In_ ULONGLONG LongestStep,
    _In_ ULONG NumberOfJumps
    )
/*++

Routine Description:

    Pairs records for as long as they are valid and ordinary, and adds the
    calls that end to their functions' totals.

    What is decided here is what CoreValidateRecord and CoreAddCall would
    decide, for the cases in which that takes a few comparisons.

Arguments:

    Pair - The pairing, with no events left to take.

    Check - Of the records' store.

    Sites - Of the records' module.

    Totals - By the sites' Index, and so by the frames' Function.

    Histograms - Likewise; a constant NULL: there are none.

    Records, NumberOfRecords - The records.

    Limit - Where to stop: the first time stamp that another store's record
        may come before.

    IsJumping - A constant: whether jumps of the clock are looked for.  A
        record after one is not ordinary, nor is the exit of a call with a jump
        in it.

    LongestStep - From one record to the next, where the clock did not jump.

    NumberOfJumps - Of the clock, so far.

Return Value:

    How many records were taken.

--*/
{
    PCORE_STACK Stack = &Pair->Stacks[Pair->Current];
    PCORE_FRAME First = Stack->Frames;
    PCORE_FRAME End;
    PCORE_FRAME Next;
    PCTRACE_RECORD Record = Records;
    PCTRACE_RECORD LastRecord = Records + NumberOfRecords;
    const CORE_SITE *Slots = Sites->Slots;
    const CORE_SITE *Site = NULL;
    const CORE_SITE *LastSite = NULL;
    ULONGLONG Previous = Check->PreviousTimestamp;
    ULONG Mask = Sites->Capacity - 1;
    ULONG ModuleBase = Check->ModuleBase;
    ULONG ModuleSize = Check->ModuleSize;
    ULONG Lowest;
    ULONG Extent;

    //
    // A previous time stamp other than 0 makes every later one valid.
    //

    if (Slots == NULL || First == NULL || Previous == 0 || Pair->IsPending ||
        Pair->IsFinishing) {
        return 0;
    }

    //
    // The record before the first one may be another store's.  The check may
    // know the first one already, so its time stamp does not tell.
    //

    if (IsJumping &&
        (NumberOfRecords == 0 ||
         Records[0].Timestamp < Pair->LastTimestamp ||
         Records[0].Timestamp - Pair->LastTimestamp > LongestStep)) {
        return 0;
    }

    End = First + Stack->Capacity;
    Next = First + Stack->NumberOfFrames;

    //
    // RSP is on this stack from Lowest on.
    //

    if (Pair->Current != 0) {
        Lowest = Pair->StackBase + Stack->Lowest;
        Extent = Stack->Highest - Stack->Lowest;
    } else if (Pair->StackSize != 0) {
        Lowest = Pair->StackBase - Pair->StackSize;
        Extent = Pair->StackSize;
    } else {
        Lowest = 0;
        Extent = 0xFFFFFFFFu;
    }

    for (; Record != LastRecord; Record++) {

        ULONGLONG Timestamp = Record->Timestamp;
        ULONG StackKind = Record->StackKind;
        ULONG Rva = Record->Site - ModuleBase;
        ULONG Rsp = StackKind & ~TRACE_KIND_MASK;
        ULONGLONG Key = CORE_SITE_KEY(Rva, StackKind & TRACE_KIND_MASK);
        ULONG Slot = CORE_SITE_SLOT(Key, Mask);

        if (Timestamp < Previous || Timestamp >= Limit || Rva >= ModuleSize ||
            (ULONG)(Rsp - Lowest) > Extent) {
            break;
        }

        if (IsJumping && Timestamp - Previous > LongestStep) {
            break;
        }

        Site = &Slots[Slot];
        while (Site->Key != Key) {
            if (Site->Key == 0) {
                goto End;
            }

            Slot = (Slot + 1) & Mask;
            Site = &Slots[Slot];
        }

        if ((StackKind & 1) != 0) {

            //
            // An entry of either kind.
            //

            ULONGLONG Name = Site->Site;
            ULONGLONG Function = Site->Function;
            ULONG BodySize = Site->BodySize;
            ULONG Kind = Site->Kind;
            ULONG Flags = Site->Flags;
            ULONG Index = Site->Index;
            ULONG FrameSize = Site->FrameSize;

            if (Next == End ||
                FrameSize >= CORE_MAXIMUM_REACH ||
                (Next != First &&
                 CORE_STACK_DIFFERENCE(Next[-1].Stack, Rsp) <=
                     (LONG)FrameSize)) {
                break;
            }

            Next->EnterTimestamp = Timestamp;
            Next->ChildTicks = 0;
            Next->Site = Name;
            Next->Physical = Function;
            Next->Stack = Rsp;
            Next->Top = Rsp + FrameSize;
            Next->BodySize = BodySize;
            Next->Kind = Kind;
            Next->Flags = Flags;
            Next->Function = Index;
            Next->Node = 0;
            Next->NumberOfJumps = NumberOfJumps;
            Next += 1;
            Totals[Index].ActiveCalls += 1;

        } else {

            PCORE_FRAME Frame;
            PCORE_TOTALS Total;
            ULONGLONG Ticks;
            ULONGLONG ChildTicks;
            ULONGLONG ActiveCalls;
            ULONGLONG Sum;

            if (Next == First) {
                break;
            }

            Frame = Next - 1;
            if (IsJumping && Frame->NumberOfJumps != NumberOfJumps) {
                break;
            }

            if ((StackKind & TRACE_KIND_MASK) == TRACE_KIND_EXIT) {

                if (Frame->Kind != TRACE_KIND_ENTER ||
                    Frame->Physical != Site->Function ||
                    CORE_STACK_DIFFERENCE(Frame->Stack, Rsp) < 0) {
                    break;
                }

            } else {

                if (Frame->Kind != TRACE_KIND_ENTER_FUNCTION ||
                    Frame->Site != Site->Site ||
                    (!Site->IsAnywhere &&
                     CORE_STACK_DIFFERENCE(Frame->Stack, Rsp) < 0) ||
                    ((Frame->Flags & CORE_CALL_FRAME_KNOWN) != 0 &&
                     CORE_STACK_DIFFERENCE(Frame->Top + sizeof(ULONGLONG),
                                           Rsp) < 0)) {
                    break;
                }
            }

            Total = &Totals[Frame->Function];
            ChildTicks = Frame->ChildTicks;
            Ticks = Timestamp > Frame->EnterTimestamp
                        ? Timestamp - Frame->EnterTimestamp
                        : 0;

            if (Histograms != NULL) {

                PCORE_HISTOGRAM Histogram = &Histograms[Frame->Function];
                ULONG Place = CoreQueryBucket(Ticks) - Histogram->FirstBucket;

                if (Place >= Histogram->NumberOfBuckets) {
                    break;
                }

                Histogram->Counts[Place] += 1;
            }

            Next = Frame;
            if (Frame != First) {
                Frame[-1].ChildTicks += Ticks;
            }

            Total->Calls += 1;
            Total->SelfTicks += Ticks > ChildTicks ? Ticks - ChildTicks : 0;
            ActiveCalls = Total->ActiveCalls - 1;
            Total->ActiveCalls = ActiveCalls;
            Total->TotalTicks += ActiveCalls == 0 ? Ticks : 0;
            Sum = Total->SumLow + Ticks;
            Total->SumLow = Sum;
            if (Sum < Ticks) {
                Total->SumHigh += 1;
            }

            if (Ticks < Total->MinimumTicks) {
                Total->MinimumTicks = Ticks;
            }

            if (Ticks > Total->MaximumTicks) {
                Total->MaximumTicks = Ticks;
            }
        }

        Previous = Timestamp;
        LastSite = Site;
    }

End:
    if (LastSite != NULL) {
        Stack->NumberOfFrames = (SIZE_T)(Next - First);
        Stack->JumpTarget =
            LastSite->Kind == TRACE_KIND_EXIT ? LastSite->JumpTarget : 0;
        Pair->LastTimestamp = Previous;
        Check->PreviousTimestamp = Previous;
    }

    return (ULONG)(Record - Records);
}


_Use_decl_annotations_
ULONG
CoreRunRecords(
    PCORE_PAIR Pair,
    PCORE_RECORD_CHECK Check,
    const CORE_SITES *Sites,
    PCORE_TOTALS Totals,
    PCORE_HISTOGRAM Histograms,
    PCTRACE_RECORD Records,
    ULONG NumberOfRecords,
    ULONGLONG Limit,
    ULONGLONG JumpTicks,
    ULONG NumberOfJumps
    )
/*++

Routine Description:

    Pairs records for as long as they are valid and ordinary.  The loop is
    there three times, because looking for jumps of the clock takes a tenth of
    the time, and histograms take as much.

Arguments:

    Pair, Check, Sites, Totals, Histograms, Records, NumberOfRecords, Limit - As
        CoreRun's.

    JumpTicks - The clock jumps where the step from one record to the next is
        longer; 0: it never does.

    NumberOfJumps - Of the clock, so far; 0 if it never does.

Return Value:

    How many records were taken.

--*/
{
    if (JumpTicks == 0 && Histograms == NULL) {
        return CoreRun(Pair,
                       Check,
                       Sites,
                       Totals,
                       NULL,
                       Records,
                       NumberOfRecords,
                       Limit,
                       FALSE,
                       0,
                       0);
    }

    if (JumpTicks == 0) {
        return CoreRun(Pair,
                       Check,
                       Sites,
                       Totals,
                       Histograms,
                       Records,
                       NumberOfRecords,
                       Limit,
                       FALSE,
                       0,
                       0);
    }

    return CoreRun(Pair,
                   Check,
                   Sites,
                   Totals,
                   Histograms,
                   Records,
                   NumberOfRecords,
                   Limit,
                   TRUE,
                   JumpTicks,
                   NumberOfJumps);
}
