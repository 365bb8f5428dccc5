/*++

Module Name:

    SessionBlocks.h

Abstract:

    The blocks of a compact store: where each is, and what is in one.

--*/

#ifndef TRACER_SESSION_BLOCKS_H
#define TRACER_SESSION_BLOCKS_H

#include "../../Codec/Codec.h"
#include "../Core/CoreLive.h"
#include "../Base/BaseContext.h"

//
// A block, or what could not be believed to be blocks.  It ends where the next
// one begins.
//

typedef struct _READER_BLOCK {
    ULONGLONG StreamOffset;         // READER_BLOCK_LOST: of the second kind
    ULONGLONG Position;             // of its first record
} READER_BLOCK;
typedef READER_BLOCK *PREADER_BLOCK;
typedef const READER_BLOCK *PCREADER_BLOCK;

#define READER_BLOCK_LOST 1ULL

//
// One that is decoded.
//

typedef struct _READER_BLOCK_VIEW {
    PTRACE_RECORD Records;
    ULONG CapacityInBytes;
    ULONG SizeInBytes;              // 0: none is there
    ULONGLONG Position;
} READER_BLOCK_VIEW;
typedef READER_BLOCK_VIEW *PREADER_BLOCK_VIEW;

//
// Whose views there are: records that an iterator looks at stay while others
// are read.
//

typedef enum _READER_BLOCK_USE {
    ReaderBlockIterated = 0,
    ReaderBlockCopied,
    ReaderBlockUses
} READER_BLOCK_USE;

//
// What is known of a store's blocks.  The list stays when the store is closed,
// and grows when it is open again.
//

typedef struct _READER_BLOCKS {
    PCREADER_CONTEXT Context;
    HANDLE File;                    // these three are the store's
    PCTRACE_STORE_HEADER Header;    // a copy, valid
    PCTRACE_STORE_HEADER Mapped;    // what its writer may be changing
    CORE_BLOCKS Live;               // as Mapped said last
    PREADER_BLOCK List;
    ULONG Capacity;
    ULONG Begin;                    // index of the oldest that is there
    ULONG Count;                    // index behind the last
    ULONG NumberOfFaults;           // where the chain was broken
    ULONGLONG Searched;             // bytes, for blocks behind those
    ULONGLONG NextOffset;           // these two: where the next block begins;
    ULONGLONG NextPosition;         // 0: not known yet
    PUCHAR Piece;                   // of the stream
    ULONG PieceCapacity;            // bytes
    ULONG PieceSize;
    ULONGLONG PieceOffset;
    READER_BLOCK_VIEW Views[ReaderBlockUses];
    const VOID *Borrower;           // the iterator that has a view
    ULONGLONG LostStart;            // positions: where records are that cannot
    ULONGLONG LostEnd;              // be had
} READER_BLOCKS;
typedef READER_BLOCKS *PREADER_BLOCKS;
typedef const READER_BLOCKS *PCREADER_BLOCKS;

//
// Reads again what the writer says of its blocks.
// STATUS_FILE_CORRUPT_ERROR: it cannot be.
//

_Must_inspect_result_
NTSTATUS
SessionUpdateBlocks(
    _Inout_ PREADER_BLOCKS Blocks
    );

//
// Finds the position of the oldest record, after an update.
//

_Must_inspect_result_
NTSTATUS
SessionLocateOldestBlock(
    _Inout_ PREADER_BLOCKS Blocks,
    _Out_ PULONGLONG Position
    );

//
// Decodes the block that has a position, which is before Live.First.
//
// Records: from that position on, in the view.
// NumberOfRecords: how many there are to the end of the block.
//
//     STATUS_RETRY (the writer has overwritten it: find the oldest again),
//     STATUS_FILE_CORRUPT_ERROR (it cannot be read, LostStart and LostEnd say
//     how much that is), STATUS_NO_MEMORY, what reading gives
//

_Must_inspect_result_
NTSTATUS
SessionTakeBlock(
    _Inout_ PREADER_BLOCKS Blocks,
    _In_ READER_BLOCK_USE Use,
    _In_ ULONGLONG Position,
    _Outptr_ PCTRACE_RECORD *Records,
    _Out_ PULONG NumberOfRecords
    );

//
// Counts the blocks up to the raw records.
//

_Must_inspect_result_
NTSTATUS
SessionCountBlocks(
    _Inout_ PREADER_BLOCKS Blocks,
    _Out_ PULONGLONG NumberOfBlocks
    );

//
// Where the block that has a position is in the file.
//

ULONGLONG
SessionLocateBlock(
    _In_ PCREADER_BLOCKS Blocks,
    _In_ ULONGLONG Position
    );

//
// Where a block begins in the stream whose records end at a position; of the
// end of all, where the stream ends.
//

ULONGLONG
SessionLocateStream(
    _In_ PCREADER_BLOCKS Blocks,
    _In_ ULONGLONG Position
    );

//
// Frees what an open store needs; the list stays.
//

VOID
SessionRestBlocks(
    _Inout_opt_ PREADER_BLOCKS Blocks
    );

//
// Frees the list, too: nothing is known any more.
//

VOID
SessionRundownBlocks(
    _Inout_opt_ PREADER_BLOCKS Blocks
    );

#endif // TRACER_SESSION_BLOCKS_H
