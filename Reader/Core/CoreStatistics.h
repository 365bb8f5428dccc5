/*++

Module Name:

    CoreStatistics.h

Abstract:

    What calls are added up to, for a function or a node of a tree.

--*/

#ifndef TRACER_CORE_STATISTICS_H
#define TRACER_CORE_STATISTICS_H

#include "CorePair.h"

typedef struct _READER_STATISTICS {
    ULONGLONG Calls;                // with those that were abandoned
    ULONGLONG TotalTicks;           // inclusive; recursion counted once; this
                                    // and the next five without abandoned ones
    ULONGLONG SelfTicks;
    ULONGLONG SumLow;               // of the inclusive ticks of each call,
    ULONGLONG SumHigh;              // 128 bits
    ULONGLONG MinimumTicks;
    ULONGLONG MaximumTicks;
    ULONGLONG Abandoned;
    ULONGLONG AbandonedTicks;       // inclusive, up to the record that told
    ULONGLONG Unfinished;
    ULONGLONG Uncertain;            // the clock jumped during the call
    ULONGLONG BegunBefore;          // open when the range began
    ULONGLONG InTrees;              // calls, of which there are sums alone
    ULONGLONG AbandonedInTotal;     // of Abandoned: their time is in the
                                    // total, self and sum, and not apart
    ULONGLONG WaitedTicks;          // of TotalTicks: inside functions that wait
    ULONGLONG TotalProbe;           // what the hooks cost, in TotalTicks, in
    ULONGLONG SelfProbe;            // SelfTicks and in the sum; 256ths of a
    ULONGLONG SumProbe;             // tick until CallSubtractProbe
} READER_STATISTICS;
typedef READER_STATISTICS *PREADER_STATISTICS;
typedef const READER_STATISTICS *PCREADER_STATISTICS;

//
// Adds a call that ended (exit, abandoned, open).
// IsOutermost: whether no other call of the same is open around it, so that
// its time is not already part of another call's that goes to the same total.
//

VOID
CoreAddToStatistics(
    _Inout_ PREADER_STATISTICS Statistics,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsOutermost
    );

//
// Adds what is known of some calls to what is known of others.
// IsOutermost: whether their time is not already part of that of other calls
// that go to the same total.
//

VOID
CoreAddStatistics(
    _Inout_ PREADER_STATISTICS Statistics,
    _In_ PCREADER_STATISTICS Others,
    _In_ BOOLEAN IsOutermost
    );

//
// The average inclusive time of a call whose time is in the sum: one that was
// not abandoned, or was in a tree.
// Statistics: of one such call at least; 0 otherwise.
// Returns ticks.
//

ULONGLONG
CoreQueryAverage(
    _In_ PCREADER_STATISTICS Statistics
    );

#endif // TRACER_CORE_STATISTICS_H
