/*++

Module Name:

    ExportStates.h

Abstract:

    What threads did, from an event trace log (--etl), in the formats that hold
    every call: each thread has a track of spans in which it ran, was ready to,
    or waited.

--*/

#ifndef TRACER_EXPORT_STATES_H
#define TRACER_EXPORT_STATES_H

#include "ExportEvents.h"

//
// Where a thread's state changes.
//

typedef struct _READER_STATE_CHANGE {
    ULONGLONG Timestamp;
    ULONG Thread;                   // index
    ULONG Span;                     // that begins; READER_NONE: none does
} READER_STATE_CHANGE;
typedef READER_STATE_CHANGE *PREADER_STATE_CHANGE;

//
// The state that a thread is in.
//

typedef struct _READER_STATE_TRACK {
    PREADER_EXPORT_TRACK Track;     // NULL: it has had none
    READER_EVENT_STATE Now;         // State 0: it is in none
} READER_STATE_TRACK;
typedef READER_STATE_TRACK *PREADER_STATE_TRACK;

typedef struct _READER_EXPORT_STATES {
    PREADER_STATE_CHANGE Changes;
    PULONG Order;                   // of them, by time
    ULONG NumberOfChanges;
    ULONG CapacityOfChanges;
    ULONG Next;                     // in Order
    PREADER_STATE_TRACK Tracks;     // by thread: the first of those that are
                                    // the same one
} READER_EXPORT_STATES;

//
// Finds all changes of the threads that are selected, in the range and between
// a thread's first record and its last one, also while it was detached from.
// Nothing without a log.
//

_Must_inspect_result_
NTSTATUS
ExportBeginStates(
    _Inout_ PREADER_EVENTS Events
    );

VOID
ExportRundownStates(
    _Inout_ PREADER_EVENTS Events
    );

//
// Puts the changes up to a time.
//

VOID
ExportPutStates(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONGLONG Timestamp
    );

//
// Ends the states at the end of a file; they go on in the next one.
//

VOID
ExportBreakStates(
    _Inout_ PREADER_EVENTS Events
    );

//
// What a state is called: "Running", "Ready", "Waiting".
//

PCSZ
ExportNameState(
    _In_ ULONG State
    );

#endif // TRACER_EXPORT_STATES_H
