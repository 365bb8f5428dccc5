/*++

Module Name:

    SessionStore.h

Abstract:

    One file, through a window that slides over it.

--*/

#ifndef TRACER_SESSION_STORE_H
#define TRACER_SESSION_STORE_H

#include "../../StringTable/StringTable.h"
#include "../Core/CoreHeader.h"
#include "../Core/CoreLive.h"
#include "../Core/CoreRecord.h"
#include "../Base/BaseContext.h"
#include "../Base/BasePack.h"
#include "SessionBlocks.h"

typedef struct _READER_STORE {

    UNICODE_STRING Name;        // of the file, in its directory

    //
    // The file, while it is open.  The header view is of the first page and
    // stays; the window slides.
    //

    HANDLE File;                // NULL of one in a pack
    HANDLE Section;
    PREADER_PACK Pack;          // the session's; NULL: it is not in one, or
                                // not open
    ULONG PackFile;             // index
    READER_PACK_VIEW PackView;  // of a pack: what Window is of
    ULONGLONG SectionSize;
    PREADER_BLOCKS Blocks;      // of a compact store that is no pack's, kept;
                                // NULL: not yet
    ULONGLONG PackShift;        // of a compact store in a pack: a position
                                // less a file offset
    PVOID HeaderView;
    ULONG HeaderViewSize;
    PVOID Window;
    ULONGLONG WindowOffset;
    ULONGLONG WindowSize;

    //
    // What was found when it was last opened or refreshed.
    //

    PTRACE_STORE_HEADER Header; // a copy; NULL until there is a valid one
    CORE_HEADER_RESULT HeaderResult;
    NTSTATUS Status;            // of opening and reading
    PCSZ FailedStep;            // a literal, when Status is a failure
    ULONGLONG FileSize;
    ULONGLONG PublishedEnd;     // position, as the header says
    ULONGLONG StartOfRecords;   // position of the first that is there
    ULONGLONG EndOfRecords;     // position, as the file has them, of the
                                // last that stays
    ULONGLONG LostStart;        // these two: positions: where records are
    ULONGLONG LostEnd;          // that were wanted and are in a bad block
    ULONGLONG TailTimestamp;    // records behind EndOfRecords that may yet
                                // vanish are not earlier; 0: there are none
    ULONGLONG NumberOfNodes;    // of a tree, that the file has
    CORE_END_STATE EndState;
    BOOLEAN IsTree;             // the session's: it was of TRACE_MODE_TREE
    BOOLEAN IsApart;            // the session's: its thread had another store
                                // at the same time, one of the two with a tree
                                // when it was first looked at
    BOOLEAN IsWriterGone;       // the caller's, set before it is looked at:
                                // nothing can be taken back any more
    BOOLEAN IsRead;             // the caller's: records are read from the
                                // file, not mapped; for a few of them, none
                                // of which is being written

    //
    // The session's.
    //

    ULONGLONG FirstTimestamp;   // 0: no records
    ULONGLONG LastTimestamp;
    ULONG Directory;            // index
    ULONG Module;               // index, or READER_NONE
    ULONG NumberOfModules;      // of a tree: how many of these are known
    ULONG Modules[TRACE_TREE_MODULES + 1]; // index of each that the nodes may
                                // name; the first is Module
    ULONG Thread;               // index, or READER_NONE
    ULONG NextInThread;         // store index, or READER_NONE
    ULONGLONG NumberOfBadRecords;   // that a stream has passed over
    ULONGLONG FirstBadOffset;   // file offset
    CORE_RECORD_STATE FirstBadState;
    ULONGLONG NumberOvertaken;  // records, of the last stream that read it
    BOOLEAN IsForeign;          // of another process than its directory
    BOOLEAN IsCopy;             // another directory has the same store
    BOOLEAN IsWarned;           // the reader has said that it is bad

} READER_STORE;
typedef READER_STORE *PREADER_STORE;
typedef const READER_STORE *PCREADER_STORE;

//
// Opens a store and reads its header; NtPath is the file's.  Success means
// that the file could be read, not that its header is valid: HeaderResult says
// that.  A store stays open until SessionCloseStore.
//
// Pack: what the path leads into; NULL: it is a file's.
// Store: the store, all zeroes or closed; its header's copy is allocated once
// and kept.
//

_Must_inspect_result_
NTSTATUS
SessionOpenStore(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath,
    _Inout_ PREADER_STORE Store
    );

//
// The same of a file of a pack.
// File: its index.
//

_Must_inspect_result_
NTSTATUS
SessionOpenPackedStore(
    _In_ PCREADER_CONTEXT Context,
    _In_ PREADER_PACK Pack,
    _In_ ULONG File,
    _Inout_ PREADER_STORE Store
    );

//
// Reads the header of an open store again.
// STATUS_SUCCESS: HeaderResult says whether the header is valid, EndState
// whether the end is.
//

_Must_inspect_result_
NTSTATUS
SessionRefreshStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );

//
// Copies records out of an open store: as many as there are up to the end,
// and at most as many as the window holds, or as the block has.  None are read
// if its writer has overwritten the first of them, and StartOfRecords is beyond
// Position; or if they are in a block that is not good, and LostEnd is.
//
// NumberOfRecords: the most to copy.
//

_Must_inspect_result_
NTSTATUS
SessionReadRecords(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position,
    _Out_writes_to_(NumberOfRecords, *NumberRead) PTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _Out_ PULONG NumberRead
    );

//
// Shows records of an open store that are decoded, without copying them: they
// stay until the next call for the same Borrower, SessionGiveRecordsBack or
// SessionCloseStore.  None if they are raw, or of a pack, or another has
// borrowed some: then they are to be read.  Else as SessionReadRecords.
//
// Borrower: any address.
//

_Must_inspect_result_
NTSTATUS
SessionBorrowRecords(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position,
    _In_ const VOID *Borrower,
    _Outptr_ PCTRACE_RECORD *Records,
    _Out_ PULONG NumberRead
    );

VOID
SessionGiveRecordsBack(
    _Inout_ PREADER_STORE Store,
    _In_ const VOID *Borrower
    );

//
// Where the file has the record of a position, or the block that it is in.
//

ULONGLONG
SessionLocateRecord(
    _In_ PCREADER_STORE Store,
    _In_ ULONGLONG Position
    );

//
// Whether a store that was looked at is compact.
//

#define READER_IS_STORE_COMPACT(Store)                                      \
    ((Store)->Header->Mode == TRACE_MODE_COMPACT)

//
// Copies nodes or frames of a tree out of an open store; see CoreCopyWords.
// FileOffset: of the first, a multiple of 8.
// SizeOfItem: TRACE_NODE_SIZE or TRACE_FRAME_SIZE.
// NumberOfItems: how many.
//

_Must_inspect_result_
NTSTATUS
SessionReadTree(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_(NumberOfItems * SizeOfItem) PVOID Destination,
    _In_ ULONG SizeOfItem,
    _In_ ULONG NumberOfItems
    );

//
// Whether a store is open.
//

#define READER_IS_STORE_OPEN(Store)                                         \
    ((Store)->File != NULL || (Store)->Pack != NULL)

//
// Closes the file; what was found stays.
//

VOID
SessionCloseStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );

//
// Closes a store, and frees what was found.
//

VOID
SessionRundownStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );

#endif // TRACER_SESSION_STORE_H
