/*++

Module Name:

    CallStream.h

Abstract:

    One thread's events, over all its stores.

--*/

#ifndef TRACER_CALL_STREAM_H
#define TRACER_CALL_STREAM_H

#include "../Core/CorePair.h"
#include "../Session/SessionIterator.h"
#include "../Session/Session.h"

typedef struct _READER_STREAM_STORE {
    READER_ITERATOR Iterator;
    ULONG Store;                    // index
    ULONG Module;                   // index
    PCTRACE_RECORD Head;            // the next record, or NULL: none now
    ULONG Entered;                  // which of the stores was the first with
                                    // an entry, the second, ...; 0: no entry
    BOOLEAN IsEnded;                // there will be none
} READER_STREAM_STORE;
typedef READER_STREAM_STORE *PREADER_STREAM_STORE;

typedef struct _READER_TALLY *PREADER_TALLY;
typedef struct _READER_INDEX *PREADER_INDEX;
typedef struct _READER_PROBE READER_PROBE;
typedef READER_PROBE *PREADER_PROBE;

typedef struct _READER_STREAM {
    PREADER_SESSION Session;
    ULONG Thread;                   // index
    PREADER_STREAM_STORE *Stores;
    ULONG NumberOfStores;
    ULONG CapacityOfStores;
    BOOLEAN IsLive;                 // open frames stay open at the end
    BOOLEAN IsPaired;               // Pair is there
    BOOLEAN IsFinished;
    CORE_PAIR Pair;
    ULONGLONG Horizon;              // later records wait, ticks
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOfOrdinary;     // of those, taken by CallRunStream
    ULONGLONG NumberOfEntries;      // of those that were not left out
    BOOLEAN IsWithoutEntries;       // it is not: an index did not know it
    ULONGLONG LastTimestamp;        // of the last record; 0: none yet
    ULONG NumberOfJumps;            // of the clock, so far
    BOOLEAN IsAfterJump;            // the last record is
    PREADER_TALLY Tally;            // what CallRunStream adds to, or NULL
    PREADER_INDEX Index;            // where it can begin, or NULL
    PREADER_PROBE Probe;            // what is to be subtracted, or NULL
    ULONGLONG NumberPassedBy;       // of the records, thanks to the index
    ULONGLONG PassedTimestamp;      // of the last of them
    ULONG NumberEntered;            // stores of which entries were read
    ULONG PauseHash;                // the process's, when it was opened
    ULONG Pause;                    // the process's first that was not passed
    ULONGLONG NextStop;             // when it begins; all ones: there is none
    ULONGLONG Start;                // what is before was passed over; 0:
                                    // nothing was
    ULONGLONG LastStop;             // the beginning of the last one that had
                                    // records; 0: there was none
} READER_STREAM;
typedef READER_STREAM *PREADER_STREAM;

//
// Opens the events of a thread.  With IsLive the open frames do not become
// events at the end of the data, and CallRefreshStream looks for more.
// Stream: the stream; to be closed even after a failure.
// IsLive: whether more may come.
//

_Must_inspect_result_
NTSTATUS
CallOpenStream(
    _Out_ PREADER_STREAM Stream,
    _In_ PREADER_SESSION Session,
    _In_ ULONG Thread,
    _In_ BOOLEAN IsLive
    );

//
// Takes the ends of the thread's stores again and lets records up to Horizon
// through. The stores' ends cannot be taken at one moment. The thread writes
// its records in the order of their time stamps, so every record that is not
// later than a reading of the counter made before is there when the ends are
// taken; those that are later wait for the next time.
//
// Horizon: the time stamp of the last record to let through, read before the
// session was refreshed.
//

_Must_inspect_result_
NTSTATUS
CallRefreshStream(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Horizon
    );

//
// Takes the thread's next event. Its Site is (module index << 32) | RVA.
//
// Where records were overtaken by the writer of a ring, the open frames become
// events as at the end of the data, and pairing begins anew.
//
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE or what failed.
//

_Must_inspect_result_
NTSTATUS
CallNextEvent(
    _Inout_ PREADER_STREAM Stream,
    _Out_ PCORE_EVENT Event
    );

//
// Decides whether there are records that were read and are later than the
// horizon.
// Stream: the stream, after STATUS_END_OF_FILE.
//

BOOLEAN
CallHasWaitingRecords(
    _In_ const READER_STREAM *Stream
    );

//
// Gives a stream a tally: its sites are then described from that, and
// CallRunStream takes what ordinary calls come next, of which there are no
// events.
//

VOID
CallSetStreamTally(
    _Inout_ PREADER_STREAM Stream,
    _Inout_opt_ PREADER_TALLY Tally
    );

//
// Takes the ordinary calls that come next, and adds them to the tally.
//
// It stops where a store's buffer ends, too: CallNextEvent fills it.
//

_Must_inspect_result_
NTSTATUS
CallRunStream(
    _Inout_ PREADER_STREAM Stream
    );

//
// Finds the stream's next pause again: it was moved, or there are others now.
// Stream: the stream, with nothing left to take.
//

VOID
CallSetStreamPause(
    _Inout_ PREADER_STREAM Stream
    );

//
// Passes the pauses that are over at a time; there are no events left to take,
// and no records before it.  Returns the time, or the beginning of the pause
// that it is in.
//
// Stream: the stream, with nothing left to take.
//

ULONGLONG
CallPassPauses(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp
    );

//
// When an open frame was entered, pauses or not.
// Frame: one of its open frames, or one that an event has just ended.
// Returns its time stamp.
//

ULONGLONG
CallFindEntry(
    _In_ const READER_STREAM *Stream,
    _In_ const CORE_FRAME *Frame
    );

//
// Limits a stream to a range: the frames that are open have no time before
// Start, or the last clear if that is later, and those that are open after End
// end there.  What is before was passed over by CallSkipStream with the same
// Start; the stream's Start 0: nothing was.  A stream without records from
// there on has no events.
//
// Stream: the stream, which does not go on, with nothing left to take.
//

VOID
CallClipStream(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    );

//
// Says on the error output that a store had bad records, if it had any, unless
// that was said before, and how many of its records were overtaken.
//

VOID
CallWarnOfRecords(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );

//
// Says which stores had bad records or overtaken ones, unless the stream has a
// tally, and closes.
// Stream: the stream, whole or half open.
//

VOID
CallCloseStream(
    _Inout_ PREADER_STREAM Stream
    );

#endif // TRACER_CALL_STREAM_H
