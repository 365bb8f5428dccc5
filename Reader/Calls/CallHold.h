/*++

Module Name:

    CallHold.h

Abstract:

    A thread's calls without those that are shorter than a time or deeper than
    a depth.

--*/

#ifndef TRACER_CALL_HOLD_H
#define TRACER_CALL_HOLD_H

#include "../Base/BaseOptions.h"
#include "../Functions/FunctionFilter.h"
#include "CallStream.h"

//
// An event, without pointers into the frames that it was made from.
//

typedef struct _READER_CALL_EVENT {
    CORE_EVENT_KIND Kind;
    ULONG Depth;
    ULONG Function;
    ULONG Track;                    // 0: the thread's own stack; else a fiber
    BOOLEAN IsTailCall;
    BOOLEAN IsAfterJump;
    BOOLEAN IsOpenBefore;           // an entry before the range began
    BOOLEAN IsHeld;                 // an entry that may be of a short call
    ULONGLONG Timestamp;            // of one that was open before, the range's
    ULONGLONG EnterTimestamp;       // of one that was open before, and of an
                                    // end
    ULONGLONG InclusiveTicks;
} READER_CALL_EVENT;
typedef READER_CALL_EVENT *PREADER_CALL_EVENT;
typedef const READER_CALL_EVENT *PCREADER_CALL_EVENT;

//
// What all threads have in common.
//

typedef struct _READER_HOLD_RULES {
    PREADER_FUNCTIONS Functions;
    ULONGLONG MinimumTicks;         // 0: no call is too short
    ULONG Depth;                    // calls of this depth are left out
    ULONGLONG NumberOfRecords;      // events that were taken, all of them
    PREADER_NOT_SHOWN NotShown;     // where what is left out is counted
} READER_HOLD_RULES;
typedef READER_HOLD_RULES *PREADER_HOLD_RULES;

//
// One thread's; all zeroes at first.  An entry is held until its call is known
// to be long enough: by its end, or by the time of a later event.  So there
// are as many events at most as there are calls open that are younger than
// that, and ends of others that came meanwhile on other stacks.
//

typedef struct _READER_HOLD {
    PREADER_CALL_EVENT Events;      // in the order of time
    ULONG First;                    // of those that are left
    ULONG End;
    ULONG Capacity;
} READER_HOLD;
typedef READER_HOLD *PREADER_HOLD;

VOID
CallInitializeHoldRules(
    _Out_ PREADER_HOLD_RULES Rules,
    _In_ PREADER_FUNCTIONS Functions,
    _In_ PCREADER_OPTIONS Options,
    _In_ ULONGLONG MinimumTicks,
    _In_ PREADER_NOT_SHOWN NotShown
    );

//
// Finds out how many ticks --min-duration is; 0: it was not given.  FALSE: the
// session has no times, which has been written.
//

_Success_(return != FALSE)
BOOLEAN
CallQueryMinimumTicks(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options,
    _Out_ PULONGLONG Ticks
    );

//
// Takes the calls that are open in a stream as entries, each stack's outermost
// first.  To be called once, where the stream has come to the beginning of a
// range and nothing was taken from it since.
//

_Must_inspect_result_
NTSTATUS
CallHoldOpenCalls(
    _Inout_ PREADER_HOLD_RULES Rules,
    _Inout_ PREADER_HOLD Hold,
    _Inout_ PREADER_STREAM Stream
    );

//
// Gives the next event that is not left out, reading the stream as far as that
// needs.  STATUS_END_OF_FILE: there is none.  Of the frames of the stream, the
// fields Function and Node are the hold's.
//

_Must_inspect_result_
NTSTATUS
CallNextHeldEvent(
    _Inout_ PREADER_HOLD_RULES Rules,
    _Inout_ PREADER_HOLD Hold,
    _Inout_ PREADER_STREAM Stream,
    _Out_ PREADER_CALL_EVENT Event
    );

VOID
CallRundownHold(
    _In_ PREADER_HOLD_RULES Rules,
    _Inout_ PREADER_HOLD Hold
    );

#endif // TRACER_CALL_HOLD_H
