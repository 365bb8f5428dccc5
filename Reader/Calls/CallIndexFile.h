/*++

Module Name:

    CallIndexFile.h

Abstract:

    What the parts of the index share: the format of its file, and how they
    call one another.  CallIndex.h has what the rest of the reader calls.

--*/

#ifndef TRACER_CALL_INDEX_FILE_H
#define TRACER_CALL_INDEX_FILE_H

#include "CallIndex.h"

//
// A fuzz target has to get beyond the checksums.
//

#ifndef READER_INDEX_IS_CHECKED
#define READER_INDEX_IS_CHECKED 1
#endif

#define READER_INDEX_MAGIC 0x5845444E49435254ULL    // "TRCINDEX"

//
// Counts the formats, and the rules of pairing: other rules, other frames.
//

#define READER_INDEX_VERSION 1u

//
// The index is at most that part of the records that it is of, and so much
// more.
//

#define READER_INDEX_SHARE 64u
#define READER_INDEX_ALLOWANCE 0x10000u

#define READER_INDEX_LIMIT(NumberOfRecords)                                 \
    ((NumberOfRecords) * TRACE_RECORD_SIZE / READER_INDEX_SHARE +           \
     READER_INDEX_ALLOWANCE)

//
// What one mark may take.
//

#define READER_INDEX_MAXIMUM_MARK 0x2000000u
#define READER_INDEX_MAXIMUM_STORES 1024u

//
// Of a thread with more records it is not known how many are entries.
//

#define READER_INDEX_MAXIMUM_ENTRIES 0xFFFFFFFFu

//
// How much is read around a mark, a power of two.
//

#define READER_INDEX_NEAR 0x8000u

#define READER_INDEX_AFTER_JUMP 0x1u    // of a mark: the clock jumped
#define READER_INDEX_SEEN       0x1u    // of a store: records were read
#define READER_INDEX_UNWIND     0x2u    // its image's unwind data was there
#define READER_INDEX_ENTERED_SHIFT 8    // and above: READER_STREAM_STORE's
                                        // Entered

typedef struct _READER_INDEX_MARK {
    ULONGLONG Checksum;             // of what follows
    ULONG SizeInBytes;
    ULONG Number;
    ULONGLONG Previous;             // file offset of mark Number - 1
    ULONGLONG Jump;                 // of mark Number & (Number - 1)
    ULONGLONG Timestamp;            // of the last record before it
    ULONGLONG NumberOfRecords;      // before it
    ULONG NumberOfJumps;            // of the clock
    ULONG Flags;                    // READER_INDEX_AFTER_JUMP
    ULONG NumberOfStores;
    ULONG NumberOfStacks;           // in all
    ULONG NumberOfChanges;          // of stacks, here
    ULONG NumberOfFrames;           // here
    ULONG Current;                  // stack
    ULONG NumberOfEntries;          // of calls, before it; 0: not known
} READER_INDEX_MARK;
typedef READER_INDEX_MARK *PREADER_INDEX_MARK;
typedef const READER_INDEX_MARK *PCREADER_INDEX_MARK;

typedef struct _READER_INDEX_STORE {
    ULONGLONG Identity;
    ULONGLONG Position;             // of the next record
    ULONGLONG PreviousTimestamp;    // of the last valid record
    ULONGLONG LastRecord[2];        // that lies before Position
    ULONGLONG NumberOfBadRecords;
    ULONGLONG FirstBadOffset;
    ULONG FirstBadState;
    ULONG Flags;                    // READER_INDEX_SEEN, _UNWIND, _ENTERED
} READER_INDEX_STORE;
typedef READER_INDEX_STORE *PREADER_INDEX_STORE;

typedef struct _READER_INDEX_STACK {
    ULONG Stack;
    ULONG Unused;
    ULONG Lowest;                   // as in CORE_STACK
    ULONG Highest;
    ULONGLONG JumpTarget;
    ULONGLONG LeftTimestamp;
    ULONG NumberOfFrames;           // in all
    ULONG FirstFrame;               // that follows here; the rest too
} READER_INDEX_STACK;
typedef READER_INDEX_STACK *PREADER_INDEX_STACK;

typedef struct _READER_INDEX_FRAME {
    ULONGLONG EnterTimestamp;       // as in CORE_FRAME; the modules are those
    ULONGLONG ChildTicks;           // of the thread's stores
    ULONGLONG Site;
    ULONGLONG Physical;
    ULONG Stack;
    ULONG Top;
    ULONG BodySize;
    ULONG Kind;
    ULONG Flags;
    ULONG NumberOfJumps;
} READER_INDEX_FRAME;
typedef READER_INDEX_FRAME *PREADER_INDEX_FRAME;

C_ASSERT(sizeof(READER_INDEX_HEADER) == 64);
C_ASSERT(sizeof(READER_INDEX_MARK) == 80);
C_ASSERT(sizeof(READER_INDEX_STORE) == 64);
C_ASSERT(sizeof(READER_INDEX_STACK) == 40);
C_ASSERT(sizeof(READER_INDEX_FRAME) == 56);

#define READER_MARK_STORES(Mark)                                            \
    ((PREADER_INDEX_STORE)((Mark) + 1))
#define READER_MARK_STACKS(Mark)                                            \
    ((PREADER_INDEX_STACK)(READER_MARK_STORES(Mark) +                       \
                           (Mark)->NumberOfStores))
#define READER_MARK_FRAMES(Mark)                                            \
    ((PREADER_INDEX_FRAME)(READER_MARK_STACKS(Mark) +                       \
                           (Mark)->NumberOfChanges))

//
// CallIndex.c
//

//
// The checksum of a mark that is at Offset in its file, and of a header.
//

ULONGLONG
CallHashMark(
    _In_ PCREADER_INDEX_MARK Mark,
    _In_ ULONGLONG Offset
    );

//
// Finds a header's checksum.
//

ULONGLONG
CallHashHeader(
    _In_ const READER_INDEX_HEADER *Header
    );

//
// Returns a hash of the fields that do not change: which process, thread,
// stack and module, which of the files, and when it was made.
//

ULONGLONG
CallIdentifyStore(
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// READER_INDEX_UNWIND if pairing knows the module's image, itself or from the
// cache of symbols; else 0.
//

ULONG
CallDescribeImage(
    _In_ const READER_MODULE *Module
    );

//
// Makes room for a mark in the index's buffer.
// Stream: the stream, with an index.
//

_Must_inspect_result_
NTSTATUS
CallGrowMarkBuffer(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONG SizeInBytes
    );

//
// Reads a part of a stream's index, with what is around it: marks are small,
// and where frames are put together the one before comes next.  FALSE: the file
// does not have all of it.
// Offset: where the part begins.
// SizeInBytes: how long it is.
//

BOOLEAN
CallIndexFileReadNear(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    );

//
// The same, straight from the file.
//

BOOLEAN
CallIndexFileReadExactly(
    _Inout_ PREADER_SOURCE Source,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Reads one record of one of the stream's stores.  FALSE: it cannot be had.
//

_Success_(return != FALSE)
BOOLEAN
CallIndexFileReadRecord(
    _In_ const READER_STREAM *Stream,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position,
    _Out_ PTRACE_RECORD Record
    );

//
// CallIndexRead.c
//

//
// Reads a mark into the buffer, where it is good until the next one is read.
// NULL: it is not whole, has another number, or does not end before End.
//
// Stream: the stream, with an index whose file is open.
// Offset: where the mark is in the file.
//

_Success_(return != NULL)
PREADER_INDEX_MARK
CallIndexReadMark(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG End,
    _In_ ULONG Number
    );

//
// Is a mark of the stream's stores as they are now?  If not no mark is of use.
//

BOOLEAN
CallIsMarkOfStream(
    _Inout_ PREADER_STREAM Stream,
    _In_ PCREADER_INDEX_MARK Mark
    );

//
// Opens the file of an index.  Its header has no marks if it is not one of the
// stream.
//

VOID
CallLoadIndex(
    _Inout_ PREADER_STREAM Stream
    );

//
// The last mark that is not after a time, and where it is; or NULL.
// Stream: the stream, with an index.
// Offset: where the mark is in the file.
//

_Success_(return != NULL)
PREADER_INDEX_MARK
CallFindMark(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp,
    _Out_ PULONGLONG Offset
    );

//
// CallIndexWrite.c
//

//
// Writes the header of an index that is being written: what it does not name
// is not there.
//

BOOLEAN
CallWriteIndexHeader(
    _Inout_ PREADER_STREAM Stream
    );

#endif // TRACER_CALL_INDEX_FILE_H
