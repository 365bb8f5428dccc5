/*++

Module Name:

    SumTally.c

Abstract:

    What one worker adds up of the threads that it reads: each function's
    calls and times.  What it knows of the sites is its own, so that it meets
    the other workers only at a site that is new to it.

    The fast path adds to Totals and everything else to Statistics; the two
    are put together at the end.

--*/

#include "SumTally.h"
#include "SumTree.h"


_Use_decl_annotations_
NTSTATUS
SumTallyOpenFrame(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    PREADER_TALLY Tally = (PREADER_TALLY)Context;
    ULONG Index;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Stream);
    UNREFERENCED_PARAMETER(Track);
    UNREFERENCED_PARAMETER(Depth);

    Status = CallAddFunctionToTally(Tally, Frame->Function, &Index);
    if (NT_SUCCESS(Status) && Tally->IsNotingCallers) {
        Status = FunctionNoteCaller(Tally->Functions,
                                    Frame->Site,
                                    Frame->Function);
    }

    if (NT_SUCCESS(Status)) {
        Frame->Function = Index;
        Tally->Totals.Active[Index] += 1;
        Tally->List[Index].Statistics.BegunBefore += 1;
        CallNoteModule(Tally, (ULONG)(Frame->Site >> 32));
    }

    return Status;
}


//
// Adds an event.
//

_Use_decl_annotations_
static
NTSTATUS
SumTallyStreamEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    UNREFERENCED_PARAMETER(Stream);

    return CallTallyEvent((PREADER_TALLY)Context, Event);
}


_Use_decl_annotations_
NTSTATUS
SumTallyTrees(
    PVOID Context,
    ULONG ThreadIndex
    )
{
    PREADER_TALLY Tally = (PREADER_TALLY)Context;
    PREADER_SESSION Session = Tally->Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_STATISTICS Sums;
    ULONGLONG Unmatched;
    ULONG NumberOfSums;
    ULONG Function;
    ULONG Index;
    NTSTATUS Result;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Session->NumberOfTrees == 0 ||
        (Tally->Range != NULL && !Tally->Range->HasTrees)) {
        return STATUS_SUCCESS;
    }

    Result = SumTreesOfThread(Tally->Functions,
                              ThreadIndex,
                              &Sums,
                              &NumberOfSums,
                              &Unmatched);
    for (Function = 0;
         NT_SUCCESS(Status) && Function < NumberOfSums;
         Function++) {

        if (Sums[Function].Calls == 0) {
            continue;
        }

        Status = CallAddFunctionToTally(Tally, Function, &Index);
        if (NT_SUCCESS(Status)) {
            CoreAddStatistics(&Tally->List[Index].Statistics,
                              &Sums[Function],
                              TRUE);
        }
    }

    Tally->Unmatched += Unmatched;
    Allocator->Free(Allocator->Context, Sums);
    return NT_SUCCESS(Result) ? Status : Result;
}


_Use_decl_annotations_
NTSTATUS
SumTallyThread(
    PREADER_TALLY Tally,
    ULONG ThreadIndex
    )
{
    static const READER_VISITOR Visitor = {
        SumTallyOpenFrame,
        SumTallyStreamEvent,
        SumTallyTrees
    };
    ULONG Index;
    NTSTATUS Status;

    //
    // Every frame has ended, so the counts of active calls are zero again,
    // unless the thread could not be read to its end.
    //

    Status = CallReadThread(Tally, ThreadIndex, &Visitor, Tally);
    for (Index = 0;
         !NT_SUCCESS(Status) && Index < Tally->Totals.Capacity;
         Index++) {
        Tally->Totals.Active[Index] = 0;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
SumTallyThreadOfReading(
    PVOID Context,
    ULONG Worker,
    ULONG Thread
    )
{
    PREADER_READING Reading = (PREADER_READING)Context;

    return SumTallyThread(&Reading->Tallies[Worker], Thread);
}


_Use_decl_annotations_
VOID
SumMergeStatistics(
    PREADER_STATISTICS Statistics,
    const READER_TALLY *Tally,
    ULONG Index
    )
{
    const READER_SESSION *Session = Tally->Functions->Session;
    CORE_TOTALS Totals = Tally->Totals.Totals[Index];
    READER_STATISTICS Ordinary;

    RtlZeroBytes(&Ordinary, sizeof(Ordinary));
    Ordinary.Calls = Totals.Calls;

    //
    // Without a clock the differences of time stamps are no times.
    //

    if (Session->Clock.Kind != TRACE_CLOCK_NONE) {
        Ordinary.TotalTicks = Totals.TotalTicks;
        Ordinary.SelfTicks = Totals.SelfTicks;
        Ordinary.SumLow = Totals.SumLow;
        Ordinary.SumHigh = Totals.SumHigh;
        Ordinary.MinimumTicks = Totals.MinimumTicks;
        Ordinary.MaximumTicks = Totals.MaximumTicks;
        if (Tally->Waited != NULL) {
            Ordinary.WaitedTicks = Tally->Waited[Index];
        }
    }

    if (Tally->ProbeTotals != NULL) {
        Ordinary.TotalProbe = Tally->ProbeTotals[Index].TotalProbe;
        Ordinary.SelfProbe = Tally->ProbeTotals[Index].SelfProbe;
        Ordinary.SumProbe = Tally->ProbeTotals[Index].SumProbe;
    }

    CoreAddStatistics(Statistics, &Ordinary, TRUE);
    CoreAddStatistics(Statistics, &Tally->List[Index].Statistics, TRUE);
}
