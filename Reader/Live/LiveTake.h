/*++

Module Name:

    LiveTake.h

Abstract:

    A part of a thread is taken over.

--*/

#ifndef TRACER_LIVE_TAKE_H
#define TRACER_LIVE_TAKE_H

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Calls/CallIndex.h"
#include "../Calls/CallSkip.h"
#include "LiveList.h"
#include "LiveRead.h"

//
// Tells the tally which calls are open, because it looks at one thread at a
// time. The time of records that were left out since it was told is taken from
// the totals of those that were open then.
//
// Thread: the thread whose turn it is.
// IsActive: whether its turn begins or is over.
//

VOID
LiveActivateFrames(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ BOOLEAN IsActive
    );

//
// Adds an event.
// Live: the state, with room for the tally's functions.
//

_Must_inspect_result_
NTSTATUS
LiveEvent(
    _Inout_ PREADER_LIVE Live,
    _In_ PCREADER_LIVE_THREAD Thread,
    _In_ const CORE_EVENT *Event
    );

//
// Takes what calls that have ended since it was looked at last add.
// Live: the state, with room for the tally's functions.
//

VOID
LiveTakeClosed(
    _Inout_ PREADER_LIVE Live
    );

//
// Takes what a thread's open frames add to what they had when they were looked
// at last, and remembers what they have.
// Live: the state, with room for the tally's functions.
// Now: the time stamp up to which they have been open.
// Returns STATUS_SUCCESS or STATUS_NO_MEMORY, and nothing is remembered.
//

_Must_inspect_result_
NTSTATUS
LiveTakeOpen(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Now
    );

//
// Adds what was taken to the interval, as what it is a part of.
//
// The time between two records is as likely to be in the part as any other, so
// the sums go by the numbers of records. What is rare and long may be in it
// too often or not at all: the time that is missing is that of the function
// that was found in a long stretch last, and what is too much is that of the
// function that has the most, which was in a long stretch then. No function is
// open for longer than the thread ran, and one that was open before, and is
// now, for no less.
//
// Records, RecordsRead: how many there are for how many that were read.
// Ticks: how long the thread ran; not used if all was read.
// Thread: the thread, if not all of it was read.
//

VOID
LiveAddTaken(
    _Inout_ PREADER_LIVE Live,
    _In_ ULONGLONG Records,
    _In_ ULONGLONG RecordsRead,
    _In_ ULONGLONG Ticks,
    _Inout_opt_ PREADER_LIVE_THREAD Thread
    );

#endif // TRACER_LIVE_TAKE_H
