/*++

Module Name:

    CallRange.h

Abstract:

    The part of a session that --from and --to select.

--*/

#ifndef TRACER_CALL_RANGE_H
#define TRACER_CALL_RANGE_H

#include "../Output/OutputTable.h"
#include "../Session/Session.h"

typedef struct _READER_RANGE {
    ULONGLONG FirstTimestamp;       // the session's
    ULONGLONG Start;                // 0: from the first record on
    ULONGLONG End;                  // the last one that is in the range
    BOOLEAN IsGiven;
    BOOLEAN HasTrees;               // trees are in it: by themselves they leave
                                    // out what was before a clear
} READER_RANGE;
typedef READER_RANGE *PREADER_RANGE;
typedef const READER_RANGE *PCREADER_RANGE;

//
// Says when a time stamp was, in the unit of --from and --to and as coarse as
// it is shown: nanoseconds after the session's first record; ticks, if the rate
// is not known.
//

ULONGLONG
CallQueryTime(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG FirstTimestamp,
    _In_ ULONGLONG Timestamp
    );

//
// Finds the first time stamp that is not before a time (not 0); the largest one
// if there is none.
//

ULONGLONG
CallFindTime(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG FirstTimestamp,
    _In_ ULONGLONG Time
    );

//
// Finds what the time of day was at the session's first record, as nanoseconds
// since 1601.  The session's clock has a rate.
// Zone: seconds that this is ahead of UTC, at that time; 0 with IsUtc.
//

ULONGLONG
CallFindWallTime(
    _In_ const READER_SESSION *Session,
    _In_ ULONGLONG FirstTimestamp,
    _In_ BOOLEAN IsUtc,
    _Out_ PLONG Zone
    );

//
// Finds what --from and --to select. FALSE: there is no such range, and the
// error has been written.
// Range: the range; all there is if neither was given.
//

_Success_(return != FALSE)
BOOLEAN
CallQueryRange(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options,
    _Out_ PREADER_RANGE Range
    );

//
// Says, in text output, which range a table is of, if one was given. What is
// said here can be given to --from and --to again.
// BegunBefore: how many calls were open when the range began.
//

VOID
CallPutRangeNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_OPTIONS Options,
    _In_ ULONGLONG BegunBefore
    );

#endif // TRACER_CALL_RANGE_H
