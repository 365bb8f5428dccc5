/*++

Module Name:

    CallSkip.h

Abstract:

    Passes over what comes before a time in a thread's events.

--*/

#ifndef TRACER_CALL_SKIP_H
#define TRACER_CALL_SKIP_H

#include "CallStream.h"

//
// Passes over what comes before a time, or before the last clear if that is
// later, in a stream that was just opened: from a mark of its index if it has
// one, by the fast way, without events.  The frames that are open then are as
// if there had been events; the tally's number of records grows.
//
// Tally: for the sites; what it adds up is of no use. Its lock is free.
// Stream: the stream, of which nothing has been read; the frames' Function is
// the index in the table of functions.
// Timestamp: the first one that is not to be passed over.
//

_Must_inspect_result_
NTSTATUS
CallSkipStream(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp
    );

//
// Passes over what comes before the last mark of the stream's index, for those
// who only count calls.
//
// Tally, Stream: as above.  If there was a clear, the stream is moved to it as
// above, and nothing is counted.
// NumberOfCalls: that were passed over and have ended, of whatever kind; 0:
// none was counted.
//

_Must_inspect_result_
NTSTATUS
CallSkipCounted(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _Out_ PULONGLONG NumberOfCalls
    );

#endif // TRACER_CALL_SKIP_H
