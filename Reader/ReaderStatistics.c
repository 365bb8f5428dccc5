/*++

Module Name:

    ReaderStatistics.c

Abstract:

    What report and tree add up.

--*/

#include "ReaderProbe.h"


_Use_decl_annotations_
VOID
ReaderAddToStatistics(
    PREADER_STATISTICS Statistics,
    const CORE_EVENT *Event,
    BOOLEAN IsOutermost
    )
/*++

Routine Description:

    Adds a call that ended.

Arguments:

    Statistics - What to add to.

    Event - An exit, abandoned or open event.

    IsOutermost - Whether its time is not already part of another call's that
        goes to the same total.

Return Value:

    None.

--*/
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
ReaderAddStatistics(
    PREADER_STATISTICS Statistics,
    PCREADER_STATISTICS Others,
    BOOLEAN IsOutermost
    )
/*++

Routine Description:

    Adds what is known of some calls to what is known of others.

Arguments:

    Statistics - What to add to.

    Others - What to add.

    IsOutermost - Whether their time is not already part of that of other calls
        that go to the same total.

Return Value:

    None.

--*/
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
ReaderQueryAverage(
    PCREADER_STATISTICS Statistics
    )
/*++

Routine Description:

    The average inclusive time of a call whose time is in the sum: one that was
    not abandoned, or was in a tree.

Arguments:

    Statistics - Of one such call at least; 0 otherwise.

Return Value:

    Ticks.

--*/
{
    ULONGLONG Calls = Statistics->Calls - Statistics->Abandoned +
                      Statistics->AbandonedInTotal;

    if (Calls == 0) {
        return 0;
    }

    return CoreDivide(Statistics->SumHigh, Statistics->SumLow, Calls);
}


_Use_decl_annotations_
LONG
ReaderCompareStatistics(
    PCREADER_STATISTICS First,
    PCREADER_STATISTICS Second,
    READER_SORT_KEY SortKey
    )
/*++

Routine Description:

    Orders two by a number, the larger first.

Arguments:

    First, Second - The two.

    SortKey - Which number.

Return Value:

    Negative, zero or positive.

--*/
{
    ULONGLONG FirstValue;
    ULONGLONG SecondValue;

    switch (SortKey) {

    case ReaderSortTotal:
        FirstValue = First->TotalTicks;
        SecondValue = Second->TotalTicks;
        break;

    case ReaderSortSelf:
        FirstValue = First->SelfTicks;
        SecondValue = Second->SelfTicks;
        break;

    case ReaderSortCalls:
        FirstValue = First->Calls;
        SecondValue = Second->Calls;
        break;

    case ReaderSortAverage:
        FirstValue = ReaderQueryAverage(First);
        SecondValue = ReaderQueryAverage(Second);
        break;

    case ReaderSortMinimum:
        FirstValue = First->MinimumTicks;
        SecondValue = Second->MinimumTicks;
        break;

    case ReaderSortMaximum:
        FirstValue = First->MaximumTicks;
        SecondValue = Second->MaximumTicks;
        break;

    default:
        return 0;
    }

    //
    // Where there are no times, the calls decide.
    //

    if (FirstValue == 0 && SecondValue == 0) {
        FirstValue = First->Calls;
        SecondValue = Second->Calls;
    }

    if (FirstValue == SecondValue) {
        return 0;
    }

    return FirstValue > SecondValue ? -1 : 1;
}


_Use_decl_annotations_
VOID
ReaderPutStatistics(
    PREADER_OUTPUT Output,
    PCREADER_STATISTICS Statistics
    )
/*++

Routine Description:

    Writes the cells of READER_STATISTICS_COLUMNS.

Arguments:

    Output - The output.

    Statistics - What to write.

Return Value:

    None.

--*/
{
    ULONGLONG Finished = Statistics->Calls - Statistics->Abandoned +
                         Statistics->AbandonedInTotal;

    ReaderPutNumber(Output, Statistics->Calls);
    ReaderPutSubtracted(Output,
                        Statistics->TotalTicks,
                        Statistics->TotalProbe);
    ReaderPutSubtracted(Output, Statistics->SelfTicks, Statistics->SelfProbe);
    ReaderPutSubtracted(Output,
                        ReaderQueryAverage(Statistics),
                        Finished != 0 ? Statistics->SumProbe / Finished : 0);
    ReaderPutNumber(Output, Statistics->MinimumTicks);
    ReaderPutNumber(Output, Statistics->MaximumTicks);
    ReaderPutNumber(Output, Statistics->Abandoned);
    if (Statistics->AbandonedInTotal != 0 && Statistics->AbandonedTicks == 0) {
        ReaderPutNothing(Output);
    } else {
        ReaderPutNumber(Output, Statistics->AbandonedTicks);
    }

    ReaderPutNumber(Output, Statistics->Unfinished);
    ReaderPutNumber(Output, Statistics->Uncertain);
    ReaderPutNumber(Output, Statistics->BegunBefore);
}
