/*++

Module Name:

    CoreStatistics.c

Abstract:

    What calls are added up to, for a function or a node of a tree.

--*/

#include "CoreClock.h"
#include "CoreStatistics.h"

_Use_decl_annotations_
VOID
CoreAddToStatistics(
    PREADER_STATISTICS Statistics,
    const CORE_EVENT *Event,
    BOOLEAN IsOutermost
    )
{
    ULONGLONG Ticks = Event->InclusiveTicks;
    ULONGLONG Net;

    Statistics->Uncertain += Event->IsUncertain;

    //
    // When an abandoned call was left is not known, only when that was seen:
    // its time is an upper bound, and is kept apart.
    //

    if (Event->Kind == CoreEventAbandoned) {
        Statistics->Calls += 1;
        Statistics->Abandoned += 1;
        if (IsOutermost) {
            Statistics->AbandonedTicks += Ticks;
        }
        return;
    }

    Net = Ticks;
    if (Event->InclusiveProbe != 0) {
        Net = Event->InclusiveProbe / TRACE_PROBE_UNIT;
        Net = Ticks > Net ? Ticks - Net : 0;
    }

    if (Statistics->Calls == Statistics->Abandoned ||
        Net < Statistics->MinimumTicks) {
        Statistics->MinimumTicks = Net;
    }

    if (Net > Statistics->MaximumTicks) {
        Statistics->MaximumTicks = Net;
    }

    Statistics->Calls += 1;
    Statistics->SelfTicks += Event->SelfTicks;
    if (IsOutermost) {
        Statistics->TotalTicks += Ticks;
        Statistics->WaitedTicks += Event->WaitedTicks;
        Statistics->TotalProbe += Event->InclusiveProbe;
    }

    Statistics->SelfProbe += Event->SelfProbe;
    Statistics->SumProbe += Event->InclusiveProbe;

    Statistics->SumLow += Ticks;
    if (Statistics->SumLow < Ticks) {
        Statistics->SumHigh += 1;
    }

    if (Event->Kind == CoreEventOpen) {
        Statistics->Unfinished += 1;
    }
}

_Use_decl_annotations_
VOID
CoreAddStatistics(
    PREADER_STATISTICS Statistics,
    PCREADER_STATISTICS Others,
    BOOLEAN IsOutermost
    )
{
    if (Others->Calls != Others->Abandoned) {

        if (Statistics->Calls == Statistics->Abandoned ||
            Others->MinimumTicks < Statistics->MinimumTicks) {
            Statistics->MinimumTicks = Others->MinimumTicks;
        }

        if (Others->MaximumTicks > Statistics->MaximumTicks) {
            Statistics->MaximumTicks = Others->MaximumTicks;
        }
    }

    if (IsOutermost) {
        Statistics->TotalTicks += Others->TotalTicks;
        Statistics->WaitedTicks += Others->WaitedTicks;
        Statistics->AbandonedTicks += Others->AbandonedTicks;
        Statistics->TotalProbe += Others->TotalProbe;
    }

    Statistics->SelfProbe += Others->SelfProbe;
    Statistics->SumProbe += Others->SumProbe;

    Statistics->Calls += Others->Calls;
    Statistics->SelfTicks += Others->SelfTicks;
    Statistics->SumHigh += Others->SumHigh;
    Statistics->SumLow += Others->SumLow;
    if (Statistics->SumLow < Others->SumLow) {
        Statistics->SumHigh += 1;
    }

    Statistics->Abandoned += Others->Abandoned;
    Statistics->Unfinished += Others->Unfinished;
    Statistics->Uncertain += Others->Uncertain;
    Statistics->BegunBefore += Others->BegunBefore;
    Statistics->InTrees += Others->InTrees;
    Statistics->AbandonedInTotal += Others->AbandonedInTotal;
}

_Use_decl_annotations_
ULONGLONG
CoreQueryAverage(
    PCREADER_STATISTICS Statistics
    )
{
    ULONGLONG Calls = Statistics->Calls - Statistics->Abandoned +
                      Statistics->AbandonedInTotal;

    if (Calls == 0) {
        return 0;
    }

    return CoreDivide(Statistics->SumHigh, Statistics->SumLow, Calls);
}
