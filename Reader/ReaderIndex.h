/*++

Module Name:

    ReaderIndex.h

Abstract:

    What the parts of the index share: the format of its file, and how they
    call one another.  Reader.h has what the rest of the reader calls.

--*/

#ifndef TRACER_READER_INDEX_H
#define TRACER_READER_INDEX_H

#include "Reader.h"

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

#define READER_INDEX_AFTER_JUMP 0x1u    // of a mark: the clock jumped
#define READER_INDEX_SEEN       0x1u    // of a store: records were read
#define READER_INDEX_UNWIND     0x2u    // its image's unwind data was there
#define READER_INDEX_ENTERED_SHIFT 8    // and above: READER_STREAM_STORE's
                                        // Entered

#define READER_INDEX_MULTIPLIER 0x9E3779B97F4A7C15ULL

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
    ULONG Unused;
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
// ReaderIndex.c
//

//
// The checksum of a mark that is at Offset in its file, and of a header.
//

typedef
ULONGLONG
(READER_HASH_MARK)(
    _In_ PCREADER_INDEX_MARK Mark,
    _In_ ULONGLONG Offset
    );
READER_HASH_MARK ReaderHashMark;

typedef
ULONGLONG
(READER_HASH_HEADER)(
    _In_ const READER_INDEX_HEADER *Header
    );
READER_HASH_HEADER ReaderHashHeader;

//
// What tells a store from every other one: a hash of the fields of its header
// that do not change.
//

typedef
ULONGLONG
(READER_IDENTIFY_STORE)(
    _In_ PCTRACE_STORE_HEADER Header
    );
READER_IDENTIFY_STORE ReaderIdentifyStore;

//
// READER_INDEX_UNWIND, if pairing knows the module's image, or 0.
//

typedef
ULONG
(READER_DESCRIBE_IMAGE)(
    _In_ const READER_MODULE *Module
    );
READER_DESCRIBE_IMAGE ReaderDescribeImage;

//
// Makes room for a mark in the index's buffer.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_GROW_MARK_BUFFER)(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONG SizeInBytes
    );
READER_GROW_MARK_BUFFER ReaderGrowMarkBuffer;

//
// Reads a part of a file.  FALSE: the file does not have all of it.
//

typedef
BOOLEAN
(READER_READ_EXACTLY)(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE File,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    );
READER_READ_EXACTLY ReaderReadExactly;

//
// Reads one record of one of the stream's stores.  FALSE: it cannot be had.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_READ_ONE_RECORD)(
    _In_ const READER_STREAM *Stream,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position,
    _Out_ PTRACE_RECORD Record
    );
READER_READ_ONE_RECORD ReaderReadOneRecord;

//
// ReaderIndexRead.c
//

//
// Reads a mark, whose number is known, into the buffer: it is good until the
// next one is read.  It is whole, and ends before End.  NULL: there is none.
//

typedef
_Success_(return != NULL)
PREADER_INDEX_MARK
(READER_READ_MARK)(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG End,
    _In_ ULONG Number
    );
READER_READ_MARK ReaderReadMark;

//
// Is a mark of the stream's stores as they are now?  If not no mark is of use.
//

typedef
BOOLEAN
(READER_IS_MARK_OF_STREAM)(
    _Inout_ PREADER_STREAM Stream,
    _In_ PCREADER_INDEX_MARK Mark
    );
READER_IS_MARK_OF_STREAM ReaderIsMarkOfStream;

//
// Opens the file of an index.  Its header has no marks if it is not one of the
// stream.
//

typedef
VOID
(READER_LOAD_INDEX)(
    _Inout_ PREADER_STREAM Stream
    );
READER_LOAD_INDEX ReaderLoadIndex;

//
// The last mark that is not after a time, and where it is; or NULL.
//

typedef
_Success_(return != NULL)
PREADER_INDEX_MARK
(READER_FIND_MARK)(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp,
    _Out_ PULONGLONG Offset
    );
READER_FIND_MARK ReaderFindMark;

//
// ReaderIndexWrite.c
//

//
// Writes the header of an index that is being written: what it does not name
// is not there.
//

typedef
BOOLEAN
(READER_WRITE_INDEX_HEADER)(
    _Inout_ PREADER_STREAM Stream
    );
READER_WRITE_INDEX_HEADER ReaderWriteIndexHeader;

#endif // TRACER_READER_INDEX_H
