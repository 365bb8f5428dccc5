/*++

Module Name:

    CoreLive.h

Abstract:

    Where the records of a store end that is written meanwhile.

--*/

#ifndef TRACER_CORE_LIVE_H
#define TRACER_CORE_LIVE_H

#include "../../Rtl/RtlTypes.h"
#include "../../TraceStore/TraceFormat.h"

//
// Takes the position of the end of the records from a header that its writer
// may be changing. FALSE if the writer was never found at rest: then the
// caller keeps the end that it had. Generation is even while Cursor and
// CursorToFileOffset belong together and odd while the writer changes its
// view; it is read before and after, and what was read in between counts if it
// did not move. While it is odd nothing can be appended and the end is
// ViewFileOffset: this is also what a writer that was killed at that moment
// leaves behind.
//

_Success_(return != FALSE)
BOOLEAN
CoreReadEndOfRecords(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG EndOfRecords
    );

//
// Gives the position of the first record that is there; it is read after what
// was copied before the call. The writer of a ring advances FirstPosition
// before it clears what lies before it. So what was copied before this call
// and lies at or behind what this gives was not touched while it was copied.
//
// Header: the header, in memory that the writer may be changing.
//

ULONGLONG
CoreReadFirstRecord(
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// No position or stream offset of a compact store is greater, and no sum of
// two of them overflows.
//

#define CORE_MAXIMUM_STREAM 0x4000000000000000ULL

//
// Where the blocks of a compact store are, as its writer last said.
//

typedef struct _CORE_BLOCKS {
    ULONGLONG First;            // position: where raw records begin
    ULONGLONG End;              // these three: stream offsets
    ULONGLONG Oldest;
    ULONGLONG Tail;
    ULONGLONG FileOffset;       // of the stream
} CORE_BLOCKS;
typedef CORE_BLOCKS *PCORE_BLOCKS;
typedef const CORE_BLOCKS *PCCORE_BLOCKS;

//
// Reads that from a header that its writer may be changing, in the order that
// shows every record either raw or in a block.
//

VOID
CoreReadBlocks(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PCORE_BLOCKS Blocks
    );

//
// Whether it can be: blocks are in order, and are no more than there is room
// for.
// Header: a valid header.
//

BOOLEAN
CoreAreBlocksGood(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCCORE_BLOCKS Blocks
    );

//
// Where a stream offset is in the file.
// SizeInBytes: how many bytes lie together from there on, not 0.
//

ULONGLONG
CoreStreamToFileOffset(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCCORE_BLOCKS Blocks,
    _In_ ULONGLONG StreamOffset,
    _Out_ PULONGLONG SizeInBytes
    );

//
// Where a position is in the file; SizeInBytes receives how much follows it
// there without going around.
// Header: a valid header.
// SizeInBytes: how many bytes lie together from there on.
//

ULONGLONG
CorePositionToFileOffset(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG Position,
    _Out_ PULONGLONG SizeInBytes
    );

//
// The positions of the records that a file of that size has.
//

typedef enum _CORE_END_STATE {
    CoreEndValid = 0,
    CoreEndBad,                 // before the first record or between two
    CoreEndBeyondFile           // the file is shorter: cut off
} CORE_END_STATE;

typedef struct _CORE_RANGE {
    ULONGLONG Start;            // position of the first record
    ULONGLONG End;              // of the end of the last
} CORE_RANGE;
typedef CORE_RANGE *PCORE_RANGE;
typedef const CORE_RANGE *PCCORE_RANGE;

//
// Decides which records there are.
//
// Of a ring whose file was cut, the newest ones that lie together are taken.
// Of a compact store the records are meant that are raw, the oldest ones.
//
// Header: a valid header, copied before EndOfRecords was read.
// EndOfRecords: what was published.
// FirstRecord: what CoreReadFirstRecord gave after EndOfRecords was read.
// FileSize: the size of the file in bytes, taken after EndOfRecords was.
// Range: the positions; none if the end is bad. The start may be beyond the
// end where the writer is faster than its reader.
// Returns what the end is.
//

CORE_END_STATE
CoreFindRecords(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG EndOfRecords,
    _In_ ULONGLONG FirstRecord,
    _In_ ULONGLONG FileSize,
    _Out_ PCORE_RANGE Range
    );

//
// The newest records of a store that takes short calls back may vanish.  This
// looks through them, the newest first, for the end of those that cannot.
//

typedef struct _CORE_TAIL {
    ULONGLONG MinimumDuration;  // ticks
    ULONGLONG Now;              // of the time stamp counter, read before the
                                // records; 0: not known
    ULONGLONG Newest;           // the latest time stamp seen; 0: none yet
} CORE_TAIL;
typedef CORE_TAIL *PCORE_TAIL;

//
// An entry that old, in ticks, beyond the minimum duration, is taken for one
// that stays: a thread can be interrupted between the reading of the clock
// and the taking back.
//

#define CORE_TAIL_ALLOWANCE 0x100000000ULL

//
// Prepares the search for the records that stay.
// Header: the store's.
// Now: the time stamp counter, read before any of the records.
//

VOID
CoreInitializeTail(
    _Out_ PCORE_TAIL Tail,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG Now
    );

//
// Looks for the newest record that can no longer vanish: none before it can
// either. Returns how many of the records, from the first on, stay: if none,
// those before them are to be looked at.
//
// Only the newest record of a store can be taken back, and only if it is an
// entry; then the one before it is the newest. So an exit stays, and an entry
// stays if a later record is late enough to make its call too long, whenever
// it ends. The thread may have found its call short and not yet taken it back,
// however long ago: against that there is an allowance.
//
// Records: copied by CoreCopyTail; calls go towards the oldest.
//

SIZE_T
CoreCountFinalRecords(
    _Inout_ PCORE_TAIL Tail,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ SIZE_T NumberOfRecords
    );

//
// Copies records that may be being written: each one's Timestamp is read
// first, so that one that reads non-zero belongs to a whole record.
//
// Source: the records, in memory that the writer may be changing.
// NumberOfRecords: how many.
//

typedef
VOID
(CORE_COPY_RECORDS)(
    _Out_writes_(NumberOfRecords) PTRACE_RECORD Destination,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Source,
    _In_ SIZE_T NumberOfRecords
    );
CORE_COPY_RECORDS CoreCopyRecords;

//
// Copies the newest records of a store that takes short calls back, in whose
// places other records may be written meanwhile.
//
// The writer clears Timestamp before it uses a place again, and stores it
// after the rest. So if it is the same before and after the rest was read, the
// rest belongs to it; equal time stamps of two records do not matter, because
// the rest is one load.
//
// Destination: the records, the newest first; Timestamp is 0 of one that
// changed meanwhile.
// NumberOfRecords: how many.
//

CORE_COPY_RECORDS CoreCopyTail;

#endif // TRACER_CORE_LIVE_H
