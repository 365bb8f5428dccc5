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

#include "CoreFast.h"

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


//
// Finds the first cache line in a block.
// Memory: the block, larger by a line than what is to be in it, or NULL.
// Returns the address, or NULL.
//

static
PVOID
CoreAlignOnLine(
    _In_opt_ PVOID Memory
    )
{
    if (Memory == NULL) {
        return NULL;
    }

    return (PVOID)(((ULONG_PTR)Memory + CORE_CACHE_LINE - 1) &
                   ~(ULONG_PTR)(CORE_CACHE_LINE - 1));
}


_Use_decl_annotations_
VOID
CoreRundownSites(
    PCORE_SITES Sites
    )
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


_Use_decl_annotations_
VOID
CoreSetSitePath(
    PCORE_SITES Sites,
    ULONG Rva,
    ULONG Kind,
    ULONG PathIndex
    )
{
    PCCORE_SITE Site = CoreFindSite(Sites, Rva, Kind);

    if (Site != NULL) {
        Sites->Slots[Site - Sites->Slots].PathIndex = PathIndex;
    }
}


_Use_decl_annotations_
VOID
CoreWatchSite(
    PCORE_SITES Sites,
    ULONG Rva,
    ULONG Kind
    )
{
    PCCORE_SITE Site = CoreFindSite(Sites, Rva, Kind);

    if (Site != NULL) {
        Sites->Slots[Site - Sites->Slots].IsWatched = TRUE;
    }
}


//
// Puts a site into a free slot.
// Sites: the table, with room.
// Site: the site, with its key.
//

static
VOID
CorePlaceSite(
    _Inout_ PCORE_SITES Sites,
    _In_ PCCORE_SITE Site
    )
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

    //
    // One whose stack pointer is to be changed is left to CorePair.c.
    //

    if ((Call->Flags & CORE_CALL_CHAIN) != 0) {
        Site.FrameSize = CORE_MAXIMUM_REACH;
    }

    Site.Kind = Call->Kind;
    Site.Flags = Call->Flags;
    Site.Index = Index;
    Site.PathIndex = Index;
    Site.IsAnywhere = (Call->Flags & CORE_CALL_FRAME_KNOWN) == 0 ||
                      (Call->Flags & CORE_CALL_JUMPS) != 0;
    Site.IsWatched = FALSE;
    for (Slot = 0; Slot < RTL_NUMBER_OF(Site.Unused); Slot++) {
        Site.Unused[Slot] = 0;
    }

    CorePlaceSite(Sites, &Site);
    Sites->Count += 1;
    if ((Call->Flags & CORE_CALL_WAITS) != 0) {
        Sites->HasWaits = TRUE;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CoreGrowTotals(
    PCORE_TOTALS_TABLE Table,
    ULONG Count
    )
{
    PVOID Memory;
    PCORE_TOTALS Totals;
    PULONG Active;
    ULONG Capacity;
    ULONG Index;

    if (Count <= Table->Capacity) {
        return STATUS_SUCCESS;
    }

    Capacity = Table->Capacity == 0 ? 64 : Table->Capacity * 2;
    Memory = Table->Allocator->Allocate(
        Table->Allocator->Context,
        ((SIZE_T)Capacity + 1) * sizeof(CORE_TOTALS) +
            (SIZE_T)Capacity * sizeof(ULONG));
    Totals = (PCORE_TOTALS)CoreAlignOnLine(Memory);
    if (Totals == NULL) {
        return STATUS_NO_MEMORY;
    }

    Active = (PULONG)(Totals + Capacity);
    for (Index = 0; Index < Capacity; Index++) {
        if (Index < Table->Capacity) {
            Totals[Index] = Table->Totals[Index];
            Active[Index] = Table->Active[Index];
        } else {
            Totals[Index].MinimumTicks = ~0ULL;
        }
    }

    Table->Allocator->Free(Table->Allocator->Context, Table->Memory);
    Table->Memory = Memory;
    Table->Totals = Totals;
    Table->Active = Active;
    Table->Capacity = Capacity;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CoreRundownTotals(
    PCORE_TOTALS_TABLE Table
    )
{
    if (Table->Memory != NULL) {
        Table->Allocator->Free(Table->Allocator->Context, Table->Memory);
        Table->Memory = NULL;
        Table->Totals = NULL;
        Table->Active = NULL;
        Table->Capacity = 0;
    }
}


//
// Adds a call that has ended to its function's totals.
// Net: its ticks without what the probes took.
// IsOutermost: no other call of the function is open.
//

CORE_INLINE
VOID
CoreAddTotal(
    _Inout_ PCORE_TOTALS Total,
    _In_ ULONGLONG Ticks,
    _In_ ULONGLONG Net,
    _In_ ULONGLONG Self,
    _In_ BOOLEAN IsOutermost
    )
{
    ULONGLONG Sum = Total->SumLow + Ticks;

    Total->Calls += 1;
    Total->SelfTicks += Self;
    Total->TotalTicks += IsOutermost ? Ticks : 0;
    Total->SumLow = Sum;
    if (Sum < Ticks) {
        Total->SumHigh += 1;
    }

    if (Net < Total->MinimumTicks) {
        Total->MinimumTicks = Net;
    }

    if (Net > Total->MaximumTicks) {
        Total->MaximumTicks = Net;
    }
}


//
// Pairs records for as long as they are valid and ordinary, and adds the calls
// that end to their functions' totals.
//
// What is decided here is what CoreValidateRecord and CoreAddCall would
// decide, for the cases in which that takes a few comparisons.
//
// Pair: the pairing, with no events left to take.
// Check: of the records' store.
// Sites: of the records' module.
// Run: what is asked.  What follows are constants: which of it is.
// HasTotals: whether calls are added to the totals.
// HasWaits: whether it is kept how long calls waited.
// HasEnded: whether each call that ends is kept.
// IsApart: whether the caller adds these up.
// IsJumping: whether jumps of the clock are looked for. A record after one is
// not ordinary, nor is the exit of a call with a jump in it.
// LongestStep: from one record to the next, where the clock did not jump.
// Returns how many records were taken.
//

CORE_INLINE
ULONG
CoreRun(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _In_ PCCORE_RUN Run,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _In_ BOOLEAN HasHistograms,
    _In_ BOOLEAN HasPaths,
    _In_ BOOLEAN HasTotals,
    _In_ BOOLEAN HasProbe,
    _In_ BOOLEAN HasWaits,
    _In_ BOOLEAN HasEnded,
    _In_ BOOLEAN IsApart,
    _In_ BOOLEAN IsWatching,
    _In_ BOOLEAN IsJumping,
    _In_ ULONGLONG LongestStep
    )
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
    PCORE_TOTALS Totals = Run->Totals;
    PULONG Active = Run->Active;
    PCORE_HISTOGRAM Histograms = HasHistograms ? Run->Histograms : NULL;
    ULONGLONG Limit = Run->Limit;
    ULONG NumberOfJumps = Run->NumberOfJumps;
    PCORE_PATH Paths = HasPaths ? Run->Paths->Paths : NULL;
    const CORE_PATH_SLOT *PathSlots = HasPaths ? Run->Paths->Slots : NULL;
    ULONG PathMask = HasPaths ? Run->Paths->NumberOfSlots - 1 : 0;
    SIZE_T MaximumDepth = HasPaths ? Run->Paths->MaximumDepth : 0;
    ULONG Above = CORE_PATH_NONE;
    PCORE_PROBE Probe = HasProbe ? Run->Probe : NULL;
    PCORE_PROBE_FRAME ProbeFrames = HasProbe ? Probe->Frames : NULL;
    ULONGLONG ProbeSum = HasProbe ? Probe->Sum : 0;
    PULONGLONG Waits = HasWaits ? CORE_STACK_WAITED(Stack) : NULL;
    ULONGLONG ContentionTicks = Pair->ContentionTicks;
    PCORE_ENDED Ended = NULL;
    PCORE_ENDED LastEnded = NULL;
    BOOLEAN IsLeafy = HasEnded && !HasPaths && !HasProbe && !HasWaits &&
                      (IsApart || !HasTotals);
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

    if (IsJumping && LongestStep != ~0ULL &&
        (NumberOfRecords == 0 ||
         Records[0].Timestamp < Pair->LastTimestamp ||
         Records[0].Timestamp - Pair->LastTimestamp > LongestStep)) {
        return 0;
    }

    if (HasEnded) {
        Ended = Run->Ended->Calls + Run->Ended->NumberOfCalls;
        LastEnded = Run->Ended->Calls + Run->Ended->Capacity;
    }

    End = First + Stack->Capacity;
    Next = First + Stack->NumberOfFrames;
    if (HasPaths) {
        Above = Next == First ? Run->Paths->Root : Next[-1].Node;
    }

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

            ULONG FrameSize = Site->FrameSize;
            ULONG Index = Site->Index;
            ULONG Node = 0;

            if (IsWatching && Site->IsWatched) {
                break;
            }

            if (Next == End ||
                FrameSize >= CORE_MAXIMUM_REACH ||
                (Next != First &&
                 CORE_STACK_DIFFERENCE(Next[-1].Stack, Rsp) <=
                     (LONG)FrameSize)) {
                break;
            }

            //
            // A call that makes none is this record and the next one, and needs
            // no frame.
            //

            if (IsLeafy && Site->Kind == TRACE_KIND_ENTER &&
                Record + 1 != LastRecord &&
                (Record[1].StackKind & TRACE_KIND_MASK) == TRACE_KIND_EXIT) {

                ULONGLONG Exit = Record[1].Timestamp;
                ULONG ExitRsp = Record[1].StackKind & ~TRACE_KIND_MASK;
                ULONG ExitRva = Record[1].Site - ModuleBase;
                ULONGLONG ExitKey = CORE_SITE_KEY(ExitRva, TRACE_KIND_EXIT);
                const CORE_SITE *ExitSite =
                    &Slots[CORE_SITE_SLOT(ExitKey, Mask)];

                if (ExitSite->Key == ExitKey &&
                    ExitSite->Function == Site->Function &&
                    Exit >= Timestamp && Exit < Limit &&
                    (!IsJumping || Exit - Timestamp <= LongestStep) &&
                    ExitRva < ModuleSize &&
                    (ULONG)(ExitRsp - Lowest) <= Extent &&
                    CORE_STACK_DIFFERENCE(Rsp, ExitRsp) >= 0 &&
                    (Site->Flags & CORE_FRAME_STALE) == 0 &&
                    (!IsWatching || Next == First || Next[-1].Node == 0) &&
                    Ended != LastEnded) {

                    if (IsApart) {
                        Ended->Self = (Exit - Timestamp) |
                                      (Active[Index] == 0
                                           ? CORE_ENDED_OUTERMOST
                                           : 0);
                    } else {
                        Ended->Site = Site->Site;
                    }

                    Ended->EnterTimestamp = Timestamp;
                    Ended->ExitTimestamp = Exit;
                    Ended->Function = Index;
                    Ended->Depth = (ULONG)(Next - First);
                    Ended += 1;
                    if (Next != First) {
                        Next[-1].ChildTicks += Exit - Timestamp;
                    }

                    Record += 1;
                    Previous = Exit;
                    LastSite = ExitSite;
                    continue;
                }
            }

            if (HasPaths) {
                if ((SIZE_T)(Next - First) >= MaximumDepth) {
                    Node = CORE_PATH_OUTSIDE;
                } else {
                    Node = CoreFindPath(PathSlots,
                                        PathMask,
                                        Above,
                                        Site->PathIndex);
                    if (Node == CORE_PATH_NONE) {
                        break;
                    }
                }

                Above = Node;
            }

            if (HasProbe) {

                SIZE_T Depth = (SIZE_T)(Next - First);

                if (Depth >= Probe->Capacity) {
                    break;
                }

                if (Probe->Inner != 0) {
                    ProbeSum += Probe->Total;
                    if (Depth != 0) {
                        ProbeFrames[Depth - 1].Callees += Probe->Total -
                                                          Probe->Inner;
                    }
                }

                ProbeFrames[Depth].Entered = ProbeSum;
                ProbeFrames[Depth].Callees = 0;
            }

            if (HasWaits) {
                Waits[Next - First] = 0;
            }

            Next->EnterTimestamp = Timestamp;
            Next->ChildTicks = 0;
            Next->Site = Site->Site;
            Next->Physical = Site->Function;
            Next->Stack = Rsp;
            Next->Top = Rsp + FrameSize;
            Next->BodySize = Site->BodySize;
            Next->Kind = Site->Kind;
            Next->Flags = Site->Flags;
            Next->Function = Index;
            Next->Node = Node;
            Next->NumberOfJumps = NumberOfJumps;
            Next += 1;
            if (HasTotals) {
                Active[Index] += 1;
            }

        } else {

            PCORE_FRAME Frame;
            ULONGLONG Ticks;
            ULONGLONG Net;
            ULONGLONG Self;
            ULONGLONG InclusiveProbe = 0;
            ULONGLONG SelfProbe = 0;
            ULONGLONG Waited = 0;
            ULONG StillActive = 0;

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

            if (IsWatching &&
                (Frame->Node != 0 ||
                 (Frame != First && Frame[-1].Node != 0))) {
                break;
            }

            if (HasEnded &&
                (Ended == LastEnded ||
                 (Frame->Flags & CORE_FRAME_STALE) != 0)) {
                break;
            }

            Ticks = Timestamp > Frame->EnterTimestamp
                        ? Timestamp - Frame->EnterTimestamp
                        : 0;
            Self = Ticks > Frame->ChildTicks ? Ticks - Frame->ChildTicks : 0;
            Net = Ticks;

            if (HasProbe) {

                SIZE_T Depth = (SIZE_T)(Frame - First);

                //
                // Where nothing is known of either function, the entry may
                // be another module's.
                //

                if (Depth >= Probe->Capacity ||
                    (ULONG)(Frame->Site >> 32) != Probe->Module) {
                    break;
                }

                InclusiveProbe = Probe->Inner +
                                 (ProbeSum - ProbeFrames[Depth].Entered);
                SelfProbe = Probe->Inner + ProbeFrames[Depth].Callees;
                Net = InclusiveProbe / TRACE_PROBE_UNIT;
                Net = Ticks > Net ? Ticks - Net : 0;
            }

            if (HasHistograms && Histograms != NULL) {

                PCORE_HISTOGRAM Histogram = &Histograms[Frame->Function];
                ULONG Place = CoreQueryBucket(Net) - Histogram->FirstBucket;

                if (Place >= Histogram->NumberOfBuckets) {
                    break;
                }

                Histogram->Counts[Place] += 1;
            }

            if (HasWaits) {

                ULONG Flags = Frame->Flags;

                Waited = Waits[Frame - First];
                Waited = Waited < Ticks ? Waited : Ticks;
                if ((Flags & CORE_CALL_WAITS) != 0 &&
                    ((Flags & CORE_CALL_WAIT) != 0 ||
                     Ticks >= ContentionTicks)) {
                    Waited = Ticks;
                }

                if (Frame != First) {
                    Waits[Frame - First - 1] += Waited;
                }
            }

            if (HasTotals) {
                StillActive = Active[Frame->Function] - 1;
                Active[Frame->Function] = StillActive;
            }

            if (HasEnded) {
                if (IsApart) {
                    Ended->Self = Self | (StillActive == 0
                                              ? CORE_ENDED_OUTERMOST
                                              : 0);
                } else {
                    Ended->Site = Frame->Site;
                }

                Ended->EnterTimestamp = Frame->EnterTimestamp;
                Ended->ExitTimestamp = Frame->EnterTimestamp + Ticks;
                Ended->Function = Frame->Function;
                Ended->Depth = (ULONG)(Frame - First);
                Ended += 1;
            }

            Next = Frame;
            Above = HasPaths ? Run->Paths->Root : CORE_PATH_NONE;
            if (Frame != First) {
                Frame[-1].ChildTicks += Ticks;
                Above = Frame[-1].Node;
            }

            if (HasPaths) {

                PCORE_PATH Path = &Paths[Frame->Node];
                ULONGLONG Sum = Path->SumLow + Ticks;

                if (Path->FirstTicks == ~0ULL) {
                    Path->FirstTicks = Ticks;
                    Path->FirstThread = Run->Paths->Thread;
                }

                Path->Calls += 1;
                Path->SelfTicks += Self;
                Path->SumLow = Sum;
                if (Sum < Ticks) {
                    Path->SumHigh += 1;
                }

                if (Net < Path->MinimumTicks) {
                    Path->MinimumTicks = Net;
                }

                if (Net > Path->MaximumTicks) {
                    Path->MaximumTicks = Net;
                }

                if (HasWaits) {
                    Run->WaitedTotals[Frame->Node] += Waited;
                }

                if (HasProbe) {

                    PCORE_PROBE_TOTALS Total = &Run->ProbeTotals[Frame->Node];

                    Total->TotalProbe += InclusiveProbe;
                    Total->SelfProbe += SelfProbe;
                    Total->SumProbe += InclusiveProbe;
                }

            }

            if (HasWaits && HasTotals && StillActive == 0) {
                Run->WaitedTotals[Frame->Function] += Waited;
            }

            if (HasTotals && !IsApart) {

                CoreAddTotal(&Totals[Frame->Function],
                             Ticks,
                             Net,
                             Self,
                             StillActive == 0);
                if (HasProbe) {

                    PCORE_PROBE_TOTALS Cost =
                        &Run->ProbeTotals[Frame->Function];

                    Cost->TotalProbe += StillActive == 0 ? InclusiveProbe : 0;
                    Cost->SelfProbe += SelfProbe;
                    Cost->SumProbe += InclusiveProbe;
                }
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
        if (HasProbe) {
            Probe->Sum = ProbeSum;
        }

        if (HasEnded) {
            Run->Ended->NumberOfCalls = (ULONG)(Ended - Run->Ended->Calls);
        }
    }

    return (ULONG)(Record - Records);
}


//
// Does what is asked, and keeps how long calls waited.  The loops that do that
// and those that do not are in routines of their own: together, the compiler
// would use other registers in all of them.
//

CORE_APART
ULONG
CoreRunWithWaits(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _In_ PCCORE_RUN Run,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    ULONGLONG LongestStep = Run->JumpTicks != 0 ? Run->JumpTicks : ~0ULL;

#define CORE_RUN_WITH(Histograms, Paths, Totals, Probe, Watching)           \
    CoreRun(Pair, Check, Sites, Run, Records, NumberOfRecords,              \
            Histograms, Paths, Totals, Probe, TRUE, FALSE, FALSE, Watching, \
            TRUE, LongestStep)

    if (Run->IsWatching) {
        return CORE_RUN_WITH(FALSE, FALSE, FALSE, FALSE, TRUE);
    }

    if (Run->Probe != NULL) {
        return Run->Paths != NULL
                   ? CORE_RUN_WITH(FALSE, TRUE, FALSE, TRUE, FALSE)
                   : CORE_RUN_WITH(TRUE, FALSE, TRUE, TRUE, FALSE);
    }

    return Run->Paths != NULL
               ? CORE_RUN_WITH(FALSE, TRUE, FALSE, FALSE, FALSE)
               : CORE_RUN_WITH(TRUE, FALSE, TRUE, FALSE, FALSE);

#undef CORE_RUN_WITH
}


//
// Does what is asked, and keeps each call that ends.
//

CORE_APART
ULONG
CoreRunWithEnded(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _In_ PCCORE_RUN Run,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    ULONGLONG LongestStep = Run->JumpTicks != 0 ? Run->JumpTicks : ~0ULL;

#define CORE_RUN_WITH(Histograms, Totals, Waits, Watching, Jumping, Step)   \
    CoreRun(Pair, Check, Sites, Run, Records, NumberOfRecords,              \
            Histograms, FALSE, Totals, FALSE, Waits, TRUE, FALSE, Watching, \
            Jumping, Step)

    if (Run->IsWatching) {
        return Pair->HasWaits
                   ? CORE_RUN_WITH(FALSE, FALSE, TRUE, TRUE, TRUE, LongestStep)
                   : CORE_RUN_WITH(FALSE, FALSE, FALSE, TRUE, TRUE,
                                   LongestStep);
    }

    if (Pair->HasWaits && Run->WaitedTotals != NULL) {
        return CORE_RUN_WITH(TRUE, TRUE, TRUE, FALSE, TRUE, LongestStep);
    }

    if (Run->JumpTicks != 0) {
        return CORE_RUN_WITH(TRUE, TRUE, FALSE, FALSE, TRUE, LongestStep);
    }

    return Run->Histograms != NULL
               ? CORE_RUN_WITH(TRUE, TRUE, FALSE, FALSE, FALSE, 0)
               : CORE_RUN_WITH(FALSE, TRUE, FALSE, FALSE, FALSE, 0);

#undef CORE_RUN_WITH
}


//
// Does what is asked, and keeps each call that ends, for the caller to add up.
//

CORE_APART
ULONG
CoreRunApart(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _In_ PCCORE_RUN Run,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    ULONGLONG LongestStep = Run->JumpTicks != 0 ? Run->JumpTicks : ~0ULL;

#define CORE_RUN_WITH(Waits, Jumping, Step)                                 \
    CoreRun(Pair, Check, Sites, Run, Records, NumberOfRecords,              \
            FALSE, FALSE, TRUE, FALSE, Waits, TRUE, TRUE, FALSE, Jumping,   \
            Step)

    if (Pair->HasWaits && Run->WaitedTotals != NULL) {
        return CORE_RUN_WITH(TRUE, TRUE, LongestStep);
    }

    return Run->JumpTicks != 0 ? CORE_RUN_WITH(FALSE, TRUE, LongestStep)
                               : CORE_RUN_WITH(FALSE, FALSE, 0);

#undef CORE_RUN_WITH
}


//
// Does what is asked.
//

CORE_APART
ULONG
CoreRunWithoutWaits(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _In_ PCCORE_RUN Run,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    BOOLEAN IsJumping = Run->JumpTicks != 0;
    ULONGLONG LongestStep = IsJumping ? Run->JumpTicks : ~0ULL;

#define CORE_RUN_WITH(Histograms, Paths, Totals, Probe, Watching, Jumping,  \
                      Step)                                                 \
    CoreRun(Pair, Check, Sites, Run, Records, NumberOfRecords,              \
            Histograms, Paths, Totals, Probe, FALSE, FALSE, FALSE,          \
            Watching, Jumping, Step)

    if (Run->IsWatching) {
        return CORE_RUN_WITH(FALSE, FALSE, FALSE, FALSE, TRUE, TRUE,
                             LongestStep);
    }

    if (Run->Probe != NULL) {
        return Run->Paths != NULL
                   ? CORE_RUN_WITH(FALSE, TRUE, FALSE, TRUE, FALSE, TRUE,
                                   LongestStep)
                   : CORE_RUN_WITH(TRUE, FALSE, TRUE, TRUE, FALSE, TRUE,
                                   LongestStep);
    }

    if (Run->Paths != NULL && Run->HasTotals) {
        return CORE_RUN_WITH(FALSE, TRUE, TRUE, FALSE, FALSE, TRUE,
                             LongestStep);
    }

    if (Run->Paths != NULL) {
        return IsJumping
                   ? CORE_RUN_WITH(FALSE, TRUE, FALSE, FALSE, FALSE, TRUE,
                                   LongestStep)
                   : CORE_RUN_WITH(FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, 0);
    }

    if (IsJumping) {
        return CORE_RUN_WITH(TRUE, FALSE, TRUE, FALSE, FALSE, TRUE,
                             LongestStep);
    }

    return Run->Histograms != NULL
               ? CORE_RUN_WITH(TRUE, FALSE, TRUE, FALSE, FALSE, FALSE, 0)
               : CORE_RUN_WITH(FALSE, FALSE, TRUE, FALSE, FALSE, FALSE, 0);

#undef CORE_RUN_WITH
}


_Use_decl_annotations_
ULONG
CoreRunRecords(
    PCORE_PAIR Pair,
    PCORE_RECORD_CHECK Check,
    const CORE_SITES *Sites,
    PCCORE_RUN Run,
    PCTRACE_RECORD Records,
    ULONG NumberOfRecords
    )
{
    if (Sites->HasWaits) {
        Pair->HasWaits = TRUE;
    }

    if (Run->Ended != NULL && Run->IsAddedApart && !Run->IsWatching) {
        return CoreRunApart(Pair,
                            Check,
                            Sites,
                            Run,
                            Records,
                            NumberOfRecords);
    }

    if (Run->Ended != NULL) {
        return CoreRunWithEnded(Pair,
                                Check,
                                Sites,
                                Run,
                                Records,
                                NumberOfRecords);
    }

    if (Pair->HasWaits && !Run->HasTotals &&
        (Run->IsWatching || Run->WaitedTotals != NULL)) {
        return CoreRunWithWaits(Pair,
                                Check,
                                Sites,
                                Run,
                                Records,
                                NumberOfRecords);
    }

    return CoreRunWithoutWaits(Pair,
                               Check,
                               Sites,
                               Run,
                               Records,
                               NumberOfRecords);
}


_Use_decl_annotations_
NTSTATUS
CoreAddEnded(
    PCORE_TOTALS Totals,
    PCORE_HISTOGRAM Histograms,
    PCORE_ARENA Arena,
    PCCORE_ENDED Calls,
    ULONG Count
    )
{
    PCORE_HISTOGRAM Histogram;
    ULONGLONG Ticks;
    ULONG Index;
    ULONG Place;
    NTSTATUS Status;

    for (Index = 0; Index < Count; Index++) {

        Ticks = Calls[Index].ExitTimestamp - Calls[Index].EnterTimestamp;
        CoreAddTotal(&Totals[Calls[Index].Function],
                     Ticks,
                     Ticks,
                     Calls[Index].Self & ~CORE_ENDED_OUTERMOST,
                     (Calls[Index].Self & CORE_ENDED_OUTERMOST) != 0);
        if (Histograms == NULL) {
            continue;
        }

        Histogram = &Histograms[Calls[Index].Function];
        Place = CoreQueryBucket(Ticks) - Histogram->FirstBucket;
        if (Place < Histogram->NumberOfBuckets) {
            Histogram->Counts[Place] += 1;
            continue;
        }

        Status = CoreAddToHistogram(Histogram, Arena, Ticks);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}
