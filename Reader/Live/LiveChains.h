/*++

Module Name:

    LiveChains.h

Abstract:

    The chains of the calls that live reads.

--*/

#ifndef TRACER_LIVE_CHAINS_H
#define TRACER_LIVE_CHAINS_H

#include "LiveRead.h"

//
// So many chains are kept at most, and so many calls in each. What is beyond
// that is CORE_PATH_OUTSIDE.
//

#define READER_LIVE_MOST_CHAINS 0x8000u
#define READER_LIVE_DEEPEST_CHAIN 512u

//
// Makes of a number of what was read one of all there is.
// Records, RecordsRead: how many there are for how many that were read.
// Returns the number; 0 for a negative one.
//

CORE_INLINE
ULONGLONG
LiveScale(
    _In_ LONGLONG Number,
    _In_ ULONGLONG Records,
    _In_ ULONGLONG RecordsRead
    )
{
    if (Number <= 0) {
        return 0;
    }

    if (Records == RecordsRead || RecordsRead == 0) {
        return (ULONGLONG)Number;
    }

    return CoreMultiplyDivide((ULONGLONG)Number, Records, RecordsRead);
}

//
// Begins to keep chains, anew if they are kept: from now on the calls that are
// read are added up by chain, too, and the open frames have theirs. Trees count
// from their beginning.
// Live: the state, between two passes.
//

_Must_inspect_result_
NTSTATUS
LiveBeginChains(
    _Inout_ PREADER_LIVE Live
    );

//
// Keeps chains no longer, and frees them.
// Live: the state, between two passes; it keeps chains or not.
//

VOID
LiveEndChains(
    _Inout_ PREADER_LIVE Live
    );

//
// Gives a frame that was entered its chain; its Function is set.
// Event: the entry.
//

_Must_inspect_result_
NTSTATUS
LiveEnterChain(
    _Inout_ PREADER_LIVE_CHAINS Chains,
    _In_ const CORE_EVENT *Event
    );

//
// Adds a call that has ended, or is open at the end of the data.
// IsAbandonedTime: whether the time of one that was abandoned counts.
//

VOID
LiveLeaveChain(
    _Inout_ PREADER_LIVE_CHAINS Chains,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsAbandonedTime
    );

//
// Takes what calls that have ended since the last look add.
//

VOID
LiveChainsTakeClosed(
    _Inout_ PREADER_LIVE_CHAINS Chains,
    _In_ BOOLEAN HasTimes
    );

//
// Adds what was taken, as LiveAddTaken does for functions.
//

VOID
LiveAddTakenChains(
    _Inout_ PREADER_LIVE_CHAINS Chains,
    _In_ ULONGLONG Records,
    _In_ ULONGLONG RecordsRead,
    _In_ ULONGLONG Ticks,
    _Inout_opt_ PREADER_LIVE_THREAD Thread
    );

//
// Adds the trees of a thread that has ended, for good. One that cannot be read
// was said before.
//

VOID
LiveAddDoneTrees(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONG Thread
    );

//
// Reads the trees of the threads that go on.
//

_Must_inspect_result_
NTSTATUS
LiveChainsReadTrees(
    _Inout_ PREADER_LIVE Live
    );

//
// Reads all threads of a session whose program has ended, to their ends, and
// adds their calls up by chain. Threads that cannot be read have been said
// before.
// Live: the state; its threads' streams are closed.
// Progress: called now and then; TRUE from IsStopping ends the reading.
//

_Must_inspect_result_
NTSTATUS
LiveChainsReadAll(
    _Inout_ PREADER_LIVE Live,
    _In_ PREADER_WAIT Progress,
    _In_ PVOID ProgressContext,
    _In_ const BOOLEAN *IsStopping
    );

#endif // TRACER_LIVE_CHAINS_H
