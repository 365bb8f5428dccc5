/*++

Module Name:

    SumPutStatistics.c

Abstract:

    The order of statistics, and their cells in a table.

--*/

#include "../Calls/CallProbe.h"
#include "SumPutStatistics.h"


//
// What the hooks cost is taken off the time that ran, as far as it goes.
//

static
ULONGLONG
SumQueryWaited(
    _In_ PCREADER_STATISTICS Statistics
    )
{
    return Statistics->WaitedTicks < Statistics->TotalTicks
               ? Statistics->WaitedTicks
               : Statistics->TotalTicks;
}


_Use_decl_annotations_
LONG
SumCompareStatistics(
    PCREADER_STATISTICS First,
    PCREADER_STATISTICS Second,
    READER_SORT_KEY SortKey
    )
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
        FirstValue = CoreQueryAverage(First);
        SecondValue = CoreQueryAverage(Second);
        break;

    case ReaderSortMinimum:
        FirstValue = First->MinimumTicks;
        SecondValue = Second->MinimumTicks;
        break;

    case ReaderSortMaximum:
        FirstValue = First->MaximumTicks;
        SecondValue = Second->MaximumTicks;
        break;

    case ReaderSortWaited:
        FirstValue = SumQueryWaited(First);
        SecondValue = SumQueryWaited(Second);
        if (FirstValue == 0 && SecondValue == 0) {
            FirstValue = First->TotalTicks;
            SecondValue = Second->TotalTicks;
        }
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
ULONG
SumSelectColumns(
    ULONGLONG Abandoned,
    ULONGLONG Unfinished,
    ULONGLONG Uncertain,
    ULONGLONG BegunBefore,
    ULONG NumberOfModules
    )
{
    return (Abandoned != 0 ? READER_COLUMN_ABANDONED : 0) |
           (Unfinished != 0 ? READER_COLUMN_UNFINISHED : 0) |
           (Uncertain != 0 ? READER_COLUMN_UNCERTAIN : 0) |
           (BegunBefore != 0 ? READER_COLUMN_BEGUN_BEFORE : 0) |
           (NumberOfModules != 1 ? READER_COLUMN_MODULE : 0);
}


_Use_decl_annotations_
PCSZ
SumQueryAbandonedNote(
    const READER_SESSION *Session
    )
{
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        if (Session->Stores[Index]->IsTree &&
            Session->Stores[Index]->Header->MinorVersion <
                TRACE_MINOR_ABANDONED) {
            return READER_ABANDONED_OLD_TREE_NOTE;
        }
    }

    return Session->NumberOfTrees != 0 ? READER_ABANDONED_TREE_NOTE
                                       : READER_ABANDONED_NOTE;
}


_Use_decl_annotations_
VOID
SumPutStatistics(
    PREADER_OUTPUT Output,
    PCREADER_STATISTICS Statistics
    )
{
    ULONGLONG Finished = Statistics->Calls - Statistics->Abandoned +
                         Statistics->AbandonedInTotal;

    OutputPutNumber(Output, Statistics->Calls);
    CallPutSubtracted(Output,
                      Statistics->TotalTicks,
                      Statistics->TotalProbe);
    CallPutSubtracted(Output, Statistics->SelfTicks, Statistics->SelfProbe);
    if (Statistics->AbandonedInTotal != 0) {
        OutputPutNothing(Output);
    } else {
        CallPutSubtracted(Output,
                          CoreQueryAverage(Statistics),
                          Finished != 0 ? Statistics->SumProbe / Finished : 0);
    }

    OutputPutNumber(Output, Statistics->MinimumTicks);
    OutputPutNumber(Output, Statistics->MaximumTicks);
    OutputPutNumber(Output, Statistics->Abandoned);
    if (Statistics->AbandonedInTotal != 0 && Statistics->AbandonedTicks == 0) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output, Statistics->AbandonedTicks);
    }

    OutputPutNumber(Output, Statistics->Unfinished);
    OutputPutNumber(Output, Statistics->Uncertain);
    OutputPutNumber(Output, Statistics->BegunBefore);
    OutputPutNumber(Output, SumQueryWaited(Statistics));
    OutputPutNumber(Output,
                    Statistics->TotalTicks - SumQueryWaited(Statistics));
}
