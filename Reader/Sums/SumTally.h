/*++

Module Name:

    SumTally.h

Abstract:

    What one worker adds up.

--*/

#ifndef TRACER_SUM_TALLY_H
#define TRACER_SUM_TALLY_H

#include "../Calls/CallRead.h"
#include "SumRead.h"

//
// Reads a thread to its end and adds its calls. One worker's threads come in
// ascending order.
//

_Must_inspect_result_
NTSTATUS
SumTallyThread(
    _Inout_ PREADER_TALLY Tally,
    _In_ ULONG ThreadIndex
    );

//
// The parts of that, whose context is the tally, for those who want to see the
// events as well: a call that was open when the range began, and a thread's
// trees.  The events are CallTallyEvent's.
//

READER_VISIT_OPEN SumTallyOpenFrame;
READER_VISIT_THREAD SumTallyTrees;

//
// The same for a worker of a reading, which is the context.
//

READER_READ_THREAD SumTallyThreadOfReading;

//
// Adds what a tally has of a function. The order in which tallies are added
// makes no difference.
//

VOID
SumMergeStatistics(
    _Inout_ PREADER_STATISTICS Statistics,
    _In_ const READER_TALLY *Tally,
    _In_ ULONG Index
    );

#endif // TRACER_SUM_TALLY_H
