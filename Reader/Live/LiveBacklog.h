/*++

Module Name:

    LiveBacklog.h

Abstract:

    How far live is behind a thread.

--*/

#ifndef TRACER_LIVE_BACKLOG_H
#define TRACER_LIVE_BACKLOG_H

#include "LiveTake.h"

//
// Says where the first record of a store is that was not taken.
// Part: the store in its stream.
//

ULONGLONG
LiveQueryPartPosition(
    _In_ const READER_STREAM_STORE *Part
    );

//
// Counts a thread's records that have not been taken.
// Thread: the thread, refreshed.
// Returns their number.
//

ULONGLONG
LiveCountBacklog(
    _In_ PCREADER_LIVE_THREAD Thread
    );

//
// Moves a thread near its end.
// Thread: the thread, refreshed, with no events left to take.
// Wanted: how many records are to follow, about.
//

_Must_inspect_result_
NTSTATUS
LiveLeaveOut(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread,
    _In_ ULONGLONG Wanted
    );

#endif // TRACER_LIVE_BACKLOG_H
