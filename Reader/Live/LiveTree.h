/*++

Module Name:

    LiveTree.h

Abstract:

    The same of threads that have trees.

--*/

#ifndef TRACER_LIVE_TREE_H
#define TRACER_LIVE_TREE_H

#include "LiveRead.h"

//
// Reads a thread's trees and adds what is new in them to what is to be taken.
//

_Must_inspect_result_
NTSTATUS
LiveReadLiveTrees(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    );

//
// Data older than this, in nanoseconds, is read again before it is shown,
// unless the writer is faster than the reader can be.
//

#define READER_LIVE_MAXIMUM_AGE 50000000ULL

//
// Prepares reading. All zeroes but for Options and Session.
//

VOID
LiveInitializeLive(
    _Inout_ PREADER_LIVE Live
    );

//
// Frees what reading holds, but for the session.
//

VOID
LiveRundownLive(
    _Inout_ PREADER_LIVE Live
    );

//
// Reads what was recorded before the first refresh.
//

NTSTATUS
LiveBeginLive(
    _Inout_ PREADER_LIVE Live
    );

//
// Forgets what the last interval had, and closes threads that have ended.
//

VOID
LiveBeginLiveInterval(
    _Inout_ PREADER_LIVE Live
    );

//
// Reads until what has been read is fresh, and charges the running functions
// up to then.  IsRefresh is FALSE for a pass in the middle of an interval.
// IsRefresh: whether what comes of it is shown.
//

_Must_inspect_result_
NTSTATUS
LiveCatchUpLive(
    _Inout_ PREADER_LIVE Live,
    _In_ BOOLEAN IsRefresh
    );

//
// Decides whether a thread may write more.
// Returns TRUE if the process runs and one of the thread's stores is open.
//

BOOLEAN
LiveIsLiveThreadGrowing(
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_THREAD Thread
    );

//
// A thread's records that its writer overwrote before they were read.
//

ULONGLONG
LiveCountLiveOvertaken(
    _In_ PCREADER_LIVE_THREAD Thread
    );

#endif // TRACER_LIVE_TREE_H
