/*++

Module Name:

    ExportEvents.h

Abstract:

    What the formats that hold every call (chrome, perfetto, fxt, speedscope)
    share: who walks through the events.

--*/

#ifndef TRACER_EXPORT_EVENTS_H
#define TRACER_EXPORT_EVENTS_H

#include "../Base/BaseFile.h"
#include "../Calls/CallHold.h"
#include "../Calls/CallMerge.h"
#include "../Functions/FunctionWaits.h"
#include "Export.h"

//
// What an entry or an end of a call is marked with.
//

#define READER_CALL_BEGUN_BEFORE 0x1u   // an entry: was open at --from
#define READER_CALL_CONTINUED    0x2u   // an entry: goes on from the file
                                        // before; an end: in the next one
#define READER_CALL_ABANDONED    0x4u   // an end: without an exit
#define READER_CALL_UNFINISHED   0x8u   // an end: of the data, or --to

//
// A thread's own stack, or a fiber that it ran: its calls are strictly nested.
//

typedef struct _READER_EXPORT_TRACK {
    ULONG Index;                    // among the export's tracks
    ULONG Thread;                   // index; of a thread's own stack, of the
                                    // first that is the same thread
    ULONG ThreadId;
    ULONG Fiber;                    // 0: the thread's own stack
    BOOLEAN IsOfStates;             // it has what the thread did, and no calls
    ULONG Identifier;               // the thread's, or, where another track has
                                    // that, a number that none has
    ULONG Process;                  // index
    ULONG NumberOfProcess;          // ExportNumberProcess's
    ULONG NameLength;
    const CHAR *Name;               // the thread's; not cleaned
    PULONG Frames;                  // functions of the open calls
    ULONG NumberOfFrames;
    ULONG CapacityOfFrames;
    ULONG Part;                     // that it was begun in
    ULONG Slot;                     // the format's own
    ULONGLONG LastTime;             // these three of its last event, for
    ULONG LastThousandths;          // ExportPlaceEvent
    BOOLEAN IsLastEnd;
} READER_EXPORT_TRACK;
typedef READER_EXPORT_TRACK *PREADER_EXPORT_TRACK;
typedef const READER_EXPORT_TRACK *PCREADER_EXPORT_TRACK;

typedef struct _READER_EVENTS *PREADER_EVENTS;

typedef VOID (READER_EVENTS_FILE)(_Inout_ PREADER_EVENTS Events);
typedef READER_EVENTS_FILE *PREADER_EVENTS_FILE;

typedef
VOID
(READER_EVENTS_TRACK)(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    );
typedef READER_EVENTS_TRACK *PREADER_EVENTS_TRACK;

typedef
VOID
(READER_EVENTS_CALL)(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    );
typedef READER_EVENTS_CALL *PREADER_EVENTS_CALL;

//
// An instant: a mark, a start, a stop or a clear.  Track is that of its thread,
// if the file has it by now; NULL: it is the process's (an index).
//

typedef
VOID
(READER_EVENTS_INSTANT)(
    _Inout_ PREADER_EVENTS Events,
    _In_opt_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Process,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG Time
    );
typedef READER_EVENTS_INSTANT *PREADER_EVENTS_INSTANT;

#define READER_INSTANT_CATEGORY "mark"

//
// What a thread did (--etl), when that ended.
//

typedef struct _READER_EVENT_STATE {
    ULONGLONG Start;                // as Time of READER_EVENTS_CALL
    ULONGLONG End;
    PCSZ Reason;                    // of waiting; NULL: not known
    ULONG State;                    // ETL_STATE: running, ready or waiting
} READER_EVENT_STATE;
typedef const READER_EVENT_STATE *PCREADER_EVENT_STATE;

typedef
VOID
(READER_EVENTS_STATE)(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track,
    _In_ PCREADER_EVENT_STATE State
    );
typedef READER_EVENTS_STATE *PREADER_EVENTS_STATE;

#define READER_STATE_CATEGORY "state"

//
// A format.  A failure other than of the file's writer goes to the events'
// Status.
//

typedef struct _READER_EVENT_FORMAT {
    PREADER_EVENTS_FILE BeginFile;
    PREADER_EVENTS_FILE EndFile;
    PREADER_EVENTS_TRACK BeginTrack;    // before its first call in a file
    PREADER_EVENTS_TRACK EndTrack;      // it has no more; NULL: none
    PREADER_EVENTS_CALL Enter;
    PREADER_EVENTS_CALL Leave;
    PREADER_EVENTS_INSTANT Instant;     // NULL: it has none
    PREADER_EVENTS_STATE State;         // likewise
} READER_EVENT_FORMAT;
typedef const READER_EVENT_FORMAT *PCREADER_EVENT_FORMAT;

//
// What a file has told of a function so far.
//

typedef struct _READER_EVENT_FUNCTION {
    ULONG Part;                     // in which Number was given
    ULONG Number;                   // from 0 on, in the order of appearance
    PCHAR Text;                     // the format's own, or NULL
    ULONG TextLength;               // bytes
    ULONG TextOffset;               // the format's own
} READER_EVENT_FUNCTION;
typedef READER_EVENT_FUNCTION *PREADER_EVENT_FUNCTION;

//
// The walk; a format's state begins with it.
//

typedef struct _READER_EVENTS {
    PREADER_EXPORT Export;
    PCREADER_EVENT_FORMAT Format;
    NTSTATUS Status;                // the first failure that is not the file's
    READER_FILE File;
    PWSTR PartName;                 // RTL_MAXIMUM_PATH_IN_CHARS
    PCHAR PartNameUtf8;             // likewise
    ULONG Part;                     // 1: the first file
    ULONGLONG SizeToCome;           // the format's: bytes that the file will
                                    // have on top of those written
    ULONGLONG PartTime;             // when the file begins; see Time
    ULONGLONG Time;                 // of the last event, nanoseconds after the
                                    // session's first record, or ticks
    ULONGLONG EventsInPart;
    ULONGLONG EventsRepeated;       // of those, entries of calls that go on
    READER_MERGE Merge;
    READER_TALLY Tally;             // for what comes before the range
    READER_PROGRESS Progress;
    PREADER_EXPORT_TRACK *Tracks;
    ULONG NumberOfTracks;
    ULONG CapacityOfTracks;
    struct _READER_EXPORT_STATES *States;   // NULL: there is no log
    PULONG ThreadTracks;            // by thread, of its own stack: index + 1
    ULONG CapacityOfThreadTracks;
    READER_MAP Identifiers;         // of threads, to the first that has it
    ULONG NextIdentifier;
    PREADER_EVENT_FUNCTION Functions;
    ULONG CapacityOfFunctions;
    PULONG Order;                   // functions by number, of this file
    ULONG NumberInOrder;
    ULONG CapacityOfOrder;
    READER_NOT_SHOWN NotShown;
    READER_HOLD_RULES Rules;
    ULONGLONG NumberShown;          // records, by the progress
    ULONGLONG NumberOfEvents;
    ULONGLONG NumberOfCalls;
    ULONGLONG NumberOfBytes;        // of the files that are complete
    ULONGLONG BegunBefore;
    ULONGLONG Abandoned;
    ULONGLONG Unfinished;
    ULONGLONG Unmatched;
    ULONG NextInstant;              // of the session's actions
    ULONG ExitCode;
} READER_EVENTS;

//
// Writes all files of an export.  Events is zero.  Returns READER_EXIT_*.
//

ULONG
ExportEvents(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT Export,
    _In_ PCREADER_EVENT_FORMAT Format
    );

//
// Keeps the first failure.
//

#define READER_KEEP_STATUS(Events, NewStatus)                               \
    do {                                                                    \
        if (NT_SUCCESS((Events)->Status)) {                                 \
            (Events)->Status = (NewStatus);                                 \
        }                                                                   \
    } while (0)

//
// Are the times nanoseconds?
//

#define READER_HAS_NANOSECONDS(Events)                                      \
    ((Events)->Export->Session.Clock.Ticks != 0)

#endif // TRACER_EXPORT_EVENTS_H
