/*++

Module Name:

    CallWalk.h

Abstract:

    What the commands that look at single calls share: the events of all
    threads, one after another.

--*/

#ifndef TRACER_CALL_WALK_H
#define TRACER_CALL_WALK_H

#include "../Base/BaseProgress.h"
#include "CallSiteTable.h"
#include "CallVisit.h"

typedef struct _READER_WALK READER_WALK;
typedef READER_WALK *PREADER_WALK;

//
// Takes an event.  Its frame's Function is the index in the table of
// functions, also for frames that were open when the range began: for them
// there are events of the kind enter before all others, with IsBegunBefore
// set and the range's start as Timestamp.  The frame's Node is the routine's
// own.  What it fails with ends the thread.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_WALK_EVENT)(
    _Inout_ PREADER_WALK Walk,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsBegunBefore
    );
typedef READER_WALK_EVENT *PREADER_WALK_EVENT;

typedef struct _READER_WALK {
    PREADER_FUNCTIONS Functions;    // these up to Context are the caller's
    PCREADER_RANGE Range;
    PCREADER_OPTIONS Options;       // for --thread
    PREADER_WALK_EVENT Event;
    PREADER_VISIT_NODE Node;        // is given the walk as context
    PVOID Context;
    const UCHAR *Selected;          // likewise: by thread, whether it is read;
                                    // NULL: all
    BOOLEAN IsSilent;               // the routine says itself what modules have
                                    // no names (FunctionWarnOfSymbols)
    const READER_STREAM *Stream;    // of the event
    ULONG Thread;                   // index, that is being read
    BOOLEAN IsInCall;               // after the last event: the stack that ran
                                    // last has an open frame
    READER_TALLY Tally;             // for the sites
    READER_TALLY Before;            // for what comes before the range
    READER_PROGRESS Progress;
    ULONG ProgressCalls;
    ULONG NumberOfThreads;          // selected
    ULONGLONG NumberOfRecords;      // at the end
} READER_WALK;

//
// Reads the threads that --thread selects, each to its end or to that of the
// range. Returns READER_EXIT_*; failures have been written. One that cannot be
// read to its end does not hide the others.
//

ULONG
CallWalkThreads(
    _Inout_ PREADER_WALK Walk
    );

#endif // TRACER_CALL_WALK_H
