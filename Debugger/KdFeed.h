/*++

Module Name:

    KdFeed.h

Abstract:

    Where calls come from: a process's stores, or a driver's rings; and what
    becomes of them.

--*/

#ifndef TRACER_KD_FEED_H
#define TRACER_KD_FEED_H

#include "KdNames.h"

typedef struct _KD_FEED KD_FEED;
typedef KD_FEED *PKD_FEED;

//
// The next hook call: Timestamp, Site (module << 32 | RVA), Stack and Kind.
//     STATUS_END_OF_FILE, STATUS_CANCELLED
//     STATUS_RETRY: some before it are missing; it comes next
//

typedef
NTSTATUS
(KD_FEED_NEXT)(
    _Inout_ PKD_FEED Feed,
    _Out_ PCORE_CALL Call
    );
typedef KD_FEED_NEXT *PKD_FEED_NEXT;

struct _KD_FEED {
    PKD_FEED_NEXT Next;
    PKD_NAMES Names;
    ULONGLONG StackBase;            // both 0: not known
    ULONGLONG StackLimit;
    ULONGLONG NumberOfRecords;      // these from KdFeedWalk
    ULONGLONG NumberOfGaps;
    ULONGLONG NumberUnmatched;
    ULONGLONG FirstTimestamp;
    ULONGLONG LastTimestamp;
    BOOLEAN IsAtGap;                // calls that are shown as open may have
                                    // ended: some records are missing
};

//
// Is shown the events of a thread.  Event->Frame->Function is set.
//

typedef
_Must_inspect_result_
NTSTATUS
(KD_VISIT)(
    _Inout_ PVOID VisitContext,
    _In_ const CORE_EVENT *Event
    );
typedef KD_VISIT *PKD_VISIT;

//
// Pairs all calls of a feed.  Where some are missing the open ones end.
//     STATUS_NO_MEMORY, STATUS_CANCELLED, what Visit returned
//

_Must_inspect_result_
NTSTATUS
KdFeedWalk(
    _Inout_ PKD_FEED Feed,
    _In_ PKD_VISIT Visit,
    _Inout_ PVOID VisitContext
    );

#endif // TRACER_KD_FEED_H
