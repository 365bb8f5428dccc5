/*++

Module Name:

    ExportTracks.h

Abstract:

    Numbers and names of processes, tracks and functions, in the formats that
    hold every call.

--*/

#ifndef TRACER_EXPORT_TRACKS_H
#define TRACER_EXPORT_TRACKS_H

#include "ExportEvents.h"

//
// The category of calls that wait, besides their module: "wait:sleep", "lock".
// Wait: a READER_WAIT_KIND other than ReaderWaitNone.
//

PCSZ
ExportNameWait(
    _In_ ULONG Wait
    );

//
// Tells whether nothing more can be written.
//

BOOLEAN
ExportHasFailed(
    _In_ const READER_EVENTS *Events
    );

//
// Goes on to a time. It never goes back, whatever the stores say.
//

VOID
ExportSetEventTime(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONGLONG Timestamp
    );

//
// Adds a track.
// Thread: index.
// IsOfStates: whether it is that of what the thread did.
//

_Must_inspect_result_
NTSTATUS
ExportAddTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Thread,
    _In_ ULONG Fiber,
    _In_ BOOLEAN IsOfStates,
    _Outptr_ PREADER_EXPORT_TRACK *Track
    );

//
// Moves an event's time to where its track has no event of the other kind, an
// entry or an end: at most by as many thousandths of its unit as the track has
// had such events one after the other. Returns the thousandths. At its time,
// or as little later as keeps entries and ends apart.
//
// IsEnd: whether it is the end of a call.
//

ULONG
ExportPlaceEvent(
    _Inout_ PREADER_EXPORT_TRACK Track,
    _Inout_ PULONGLONG Time,
    _In_ BOOLEAN IsEnd
    );

//
// Gives a function its number in the file.  FALSE: there is no memory, and
// Status says so.
// Events: the walk.
// IsNew: whether the file does not know it yet.
// Known: what is known of it; good until the next call.
//

_Success_(return != FALSE)
BOOLEAN
ExportNumberFunction(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Function,
    _Out_ PBOOLEAN IsNew,
    _Outptr_ PREADER_EVENT_FUNCTION *Known
    );

//
// Gives a process the number that the file knows it by: its identifier, or,
// where another has had that, a number that none has.
// Events: the walk.
//

ULONG
ExportNumberProcess(
    _In_ const struct _READER_EVENTS *Events,
    _In_ ULONG Process
    );

//
// The name of a process, without its path, and that of a track, as they are
// shown: "Thread 12", "Thread 12 (name)", "Thread 12, fiber 3".
// Events: the walk.
//

VOID
ExportWriteProcessName(
    _Inout_ PRTL_WRITER Writer,
    _In_ const struct _READER_EVENTS *Events,
    _In_ ULONG Process
    );

VOID
ExportWriteTrackName(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_EXPORT_TRACK Track
    );

#endif // TRACER_EXPORT_TRACKS_H
