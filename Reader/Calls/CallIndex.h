/*++

Module Name:

    CallIndex.h

Abstract:

    Where a stream can begin without what came before.

--*/

#ifndef TRACER_CALL_INDEX_H
#define TRACER_CALL_INDEX_H

#include "../Session/SessionSource.h"
#include "CallStream.h"

//
// What an index has at its beginning.
//

typedef struct _READER_INDEX_HEADER {
    ULONGLONG Magic;
    ULONG Version;
    ULONG PauseHash;                // the process's
    ULONGLONG NumberOfMarks;
    ULONGLONG LastMark;             // file offset
    ULONGLONG EndOfMarks;           // file offset
    ULONGLONG JumpTicks;            // the session's
    ULONGLONG NumberLeftOut;        // marks for which there was no room
    ULONGLONG Checksum;             // of what comes before
} READER_INDEX_HEADER;

typedef struct _READER_INDEX {
    UNICODE_STRING Path;            // NT path
    READER_SOURCE Source;           // of what is read
    BOOLEAN IsReading;              // FALSE: there is no index yet
    HANDLE Writing;                 // NULL until a mark is added
    READER_INDEX_HEADER Header;     // without marks: it is none
    ULONGLONG Interval;             // records from one mark to the next
    ULONGLONG Due;                  // the number of records for the next one
    ULONGLONG MaximumSize;          // bytes
    ULONGLONG LastTimestamp;        // of the last mark
    ULONGLONG Offsets[33];          // of marks: see CallFindOffsets
    PVOID Buffer;                   // for one mark
    ULONG Capacity;                 // of it, 8 bytes each
    ULONG NumberOfUnnamed;          // marks that the file's header lacks
    PUCHAR Near;                    // what was read around a mark, allocated,
    ULONGLONG NearOffset;           // or NULL; in the file; bytes, 0: to be
    ULONG NearLength;               // read
} READER_INDEX;

//
// A thread has no finer marks than usual if they were more than these: a reader
// may go back over all of them to where a frame was entered.
//

#define READER_INDEX_FINE_MARKS 0x1000u

//
// Records from one mark to the next in the index of a thread with so many.
//

ULONGLONG
CallChooseInterval(
    _In_ const READER_SESSION *Session,
    _In_ ULONGLONG NumberOfRecords
    );

//
// Gives a stream that was just opened its index, and takes it away.
//

VOID
CallOpenIndex(
    _Inout_ PREADER_STREAM Stream
    );

//
// Names the marks that were added, and closes the index.
// Stream: the stream, with an index or without.
//

VOID
CallCloseIndex(
    _Inout_ PREADER_STREAM Stream
    );

//
// Says, for --verbose, what indexes there were, and what they were good for.
// Session: the session, its streams closed.
//

VOID
CallPutIndexCost(
    _In_ const READER_SESSION *Session
    );

//
// Adds the mark that is due.  Does nothing, and it stays due, while events are
// left to take or a store's next record is not at hand.
//

VOID
CallMarkStream(
    _Inout_ PREADER_STREAM Stream
    );

//
// Names in the file what marks were added since that was done last, so that
// others can use them.
// Stream: the stream, with an index or without.
//

VOID
CallNameMarks(
    _Inout_ PREADER_STREAM Stream
    );

//
// What an index says of a store.
//

typedef struct _READER_COUNTED {
    ULONGLONG NumberOfRecords;      // valid, before the position
    ULONGLONG Position;             // of the next record; 0: of none is known
    ULONGLONG PreviousTimestamp;    // of the last valid record
} READER_COUNTED;
typedef READER_COUNTED *PREADER_COUNTED;

//
// Says what lies before the last mark, for those who only count.  FALSE: there
// is no index, or a store may have been written after it.
//
// Stream: the stream, of which nothing has been read.
// Counted: for each of its stores.
// NumberOfEntries: of calls, without those of pauses; 0: not known.
//

_Success_(return != FALSE)
BOOLEAN
CallCountByIndex(
    _Inout_ PREADER_STREAM Stream,
    _Out_writes_(Stream->NumberOfStores) PREADER_COUNTED Counted,
    _Out_ PULONGLONG NumberOfEntries
    );

#define READER_IS_MARK_DUE(Stream)                                          \
    ((Stream)->Index != NULL &&                                             \
     (Stream)->NumberOfRecords >= (Stream)->Index->Due)

//
// Moves a stream to the last mark before a time.  FALSE: it is where it was.
// Tally: the stream's; its lock is held.
// Stream: the stream, of which nothing has been read.
// Timestamp: the first one that must not be passed over, not 0.
//

BOOLEAN
CallRestoreStream(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp
    );

#endif // TRACER_CALL_INDEX_H
