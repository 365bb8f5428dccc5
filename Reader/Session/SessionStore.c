/*++

Module Name:

    SessionStore.c

Abstract:

    One store's file, mapped read-only.  The first page stays mapped while the
    store is open, because its end of records is live; the records are read
    through a window that slides, so memory is bounded whatever the file's
    size.

    The file may grow under us, and a writer that closes it cuts it off at the
    end of the records.  Nothing beyond the published end is ever touched, and
    what is touched is copied out under a guard: a page that cannot be had is
    an error of the store, not of this program.

    Of a store in a pack, header and window are copies of what is in its
    blocks; nothing else differs.  Of a compact store the records before the
    raw ones come from its blocks (SessionBlocks.c).

--*/

#include "SessionAccess.h"
#include "SessionWindow.h"

//
// Records that are looked at a time for the end of those that stay.
//

#define READER_RECORDS_IN_TAIL 64

//
// Times that records of a compact store are tried for, which its writer moves
// from the raw ones into blocks meanwhile.
//

#define READER_COMPACT_TRIES 100

//
// What of a header changes while a thread makes its tree.
//

#define READER_LIVE_OFFSET FIELD_OFFSET(TRACE_STORE_HEADER, Cursor)
#define READER_LIVE_SIZE 64
#define READER_LIVE_TREE_OFFSET FIELD_OFFSET(TRACE_STORE_HEADER, ClearTimestamp)
#define READER_LIVE_TREE_SIZE 64

C_ASSERT(READER_LIVE_TREE_OFFSET + READER_LIVE_TREE_SIZE ==
         FIELD_OFFSET(TRACE_STORE_HEADER, ModulePath));


//
// Gives the header's view back.
//

static
VOID
SessionDropHeaderView(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    if (Store->Pack != NULL) {
        Context->Allocator->Free(Context->Allocator->Context,
                                 Store->HeaderView);
    } else if (Store->HeaderView != NULL) {
        RtlUnmapFileSection(Context->Rtl, Store->HeaderView);
    }

    Store->HeaderView = NULL;
    Store->HeaderViewSize = 0;
}


//
// Where a position is in the file, of a record that is no block's.
// SizeInBytes: how many bytes lie together from there on, at most.
//

static
ULONGLONG
SessionPlaceRecord(
    _In_ PCREADER_STORE Store,
    _In_ ULONGLONG Position,
    _Out_ PULONGLONG SizeInBytes
    )
{
    if (READER_IS_STORE_COMPACT(Store) && Store->Pack != NULL) {
        *SizeInBytes = Store->EndOfRecords - Position;
        return Position - Store->PackShift;
    }

    return CorePositionToFileOffset(Store->Header, Position, SizeInBytes);
}


//
// Copies records out of the file, sliding the window to them.
// Store: the store, open, with a valid header.
// Position: of the first record; not beyond what the file has.
// NumberOfRecords: the most to copy, not beyond what the file has.
// NumberRead: how many were.
//

_Must_inspect_result_
static
NTSTATUS
SessionCopyPlaced(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ READER_ACCESS Access,
    _In_ ULONGLONG Position,
    _Out_writes_to_(NumberOfRecords, *NumberRead) PTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _Out_ PULONG NumberRead
    )
{
    ULONGLONG FileOffset;
    ULONGLONG Available;
    ULONG Size;
    NTSTATUS Status;

    *NumberRead = 0;
    FileOffset = SessionPlaceRecord(Store, Position, &Available);
    if (Store->IsRead && Store->Pack == NULL &&
        Access == ReaderAccessRecords) {

        Available /= TRACE_RECORD_SIZE;
        if (Available > NumberOfRecords) {
            Available = NumberOfRecords;
        }

        Status = RtlReadFile(Context->Rtl,
                             Store->File,
                             FileOffset,
                             Records,
                             (ULONG)Available * TRACE_RECORD_SIZE,
                             &Size);
        Available = Size / TRACE_RECORD_SIZE;
        if (NT_SUCCESS(Status) && Available == 0) {
            Status = STATUS_END_OF_FILE;
        }

    } else {

        Status = SessionMapWindow(Context,
                                  Store,
                                  FileOffset,
                                  TRACE_RECORD_SIZE);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Available >
            Store->WindowOffset + Store->WindowSize - FileOffset) {
            Available = Store->WindowOffset + Store->WindowSize - FileOffset;
        }

        Available /= TRACE_RECORD_SIZE;
        if (Available > NumberOfRecords) {
            Available = NumberOfRecords;
        }

        Status = SessionAccessGuarded(Access,
                                      (const UCHAR *)Store->Window +
                                         (FileOffset - Store->WindowOffset),
                                      Records,
                                      (ULONG)Available);
    }

    if (!NT_SUCCESS(Status)) {
        return SessionFailStore(Store, "read the records", Status);
    }

    *NumberRead = (ULONG)Available;
    return STATUS_SUCCESS;
}


//
// The same; none are read if the first of them was overwritten meanwhile.
//

_Must_inspect_result_
static
NTSTATUS
SessionCopyOut(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ READER_ACCESS Access,
    _In_ ULONGLONG Position,
    _Out_writes_to_(NumberOfRecords, *NumberRead) PTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _Out_ PULONG NumberRead
    )
{
    ULONGLONG First;
    NTSTATUS Status;

    Status = SessionCopyPlaced(Context,
                               Store,
                               Access,
                               Position,
                               Records,
                               NumberOfRecords,
                               NumberRead);
    if (Store->Header->RingSizeInBytes == 0 ||
        (READER_IS_STORE_COMPACT(Store)
             ? Store->Pack != NULL
             : !NT_SUCCESS(Status))) {
        return Status;
    }

    //
    // What lies before the start now may have been overwritten while it was
    // copied.  If it is in a block now, it does not matter what became of the
    // copy.
    //

    First = 0;
    if (!NT_SUCCESS(SessionAccessGuarded(ReaderAccessFirst,
                                         Store->HeaderView,
                                         &First,
                                         0))) {
        *NumberRead = 0;
        return SessionFailStore(Store,
                                "read the start of the records",
                                STATUS_IN_PAGE_ERROR);
    }

    if (First > Position) {

        *NumberRead = 0;
        if (READER_IS_STORE_COMPACT(Store)) {
            Store->Status = STATUS_SUCCESS;
            Store->FailedStep = NULL;
        } else if (First > Store->StartOfRecords) {
            Store->StartOfRecords = First;
        }

        return STATUS_SUCCESS;
    }

    return Status;
}


//
// Takes what its blocks say is the oldest record of a compact store.
//

_Must_inspect_result_
static
NTSTATUS
SessionFindStart(
    _Inout_ PREADER_STORE Store
    )
{
    ULONGLONG Start;
    NTSTATUS Status;

    Status = SessionLocateOldestBlock(Store->Blocks, &Start);
    if (!NT_SUCCESS(Status)) {
        return SessionFailStore(Store, "read the blocks", Status);
    }

    if (Start > Store->StartOfRecords) {
        Store->StartOfRecords = Start;
    }

    return STATUS_SUCCESS;
}


//
// Decodes records of a compact store that are in a block.
// Position: of the first, before the raw ones.
// NumberRead: 0: see SessionReadRecords.
//

_Must_inspect_result_
static
NTSTATUS
SessionTakeRecords(
    _Inout_ PREADER_STORE Store,
    _In_ READER_BLOCK_USE Use,
    _In_ ULONGLONG Position,
    _Outptr_ PCTRACE_RECORD *Records,
    _Out_ PULONG NumberRead
    )
{
    NTSTATUS Status;

    Status = SessionTakeBlock(Store->Blocks,
                              Use,
                              Position,
                              Records,
                              NumberRead);
    if (Status == STATUS_RETRY) {
        return SessionFindStart(Store);
    }

    if (Status == STATUS_FILE_CORRUPT_ERROR &&
        Store->Blocks->LostEnd > Position) {

        Store->LostStart = Store->Blocks->LostStart;
        Store->LostEnd = Store->Blocks->LostEnd;
        Status = STATUS_SUCCESS;
    }

    return NT_SUCCESS(Status)
               ? Status
               : SessionFailStore(Store, "read the blocks", Status);
}


//
// Copies records of a compact store, wherever they are.
//

_Must_inspect_result_
static
NTSTATUS
SessionCopyCompact(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position,
    _Out_writes_to_(NumberOfRecords, *NumberRead) PTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _Out_ PULONG NumberRead
    )
{
    PCTRACE_RECORD Decoded;
    ULONG Try;
    NTSTATUS Status;

    *NumberRead = 0;
    for (Try = 0; Try < READER_COMPACT_TRIES; Try++) {

        if (Position < Store->Blocks->Live.First) {

            Status = SessionTakeRecords(Store,
                                        ReaderBlockCopied,
                                        Position,
                                        &Decoded,
                                        NumberRead);
            if (NT_SUCCESS(Status) && *NumberRead != 0) {
                if (*NumberRead > NumberOfRecords) {
                    *NumberRead = NumberOfRecords;
                }

                RtlCopyBytes(Records,
                             Decoded,
                             (SIZE_T)*NumberRead * TRACE_RECORD_SIZE);
            }

            return Status;
        }

        Status = SessionCopyOut(Context,
                                Store,
                                ReaderAccessRecords,
                                Position,
                                Records,
                                NumberOfRecords,
                                NumberRead);
        if (!NT_SUCCESS(Status) || *NumberRead != 0) {
            return Status;
        }

        Status = SessionUpdateBlocks(Store->Blocks);
        if (!NT_SUCCESS(Status)) {
            return SessionFailStore(Store, "read the header", Status);
        }
    }

    return SessionFailStore(Store, "read the records", STATUS_RETRY);
}


//
// Moves the end of the records before those that may still be taken back.
// Store: the store, open, its end valid.
//

_Must_inspect_result_
static
NTSTATUS
SessionDropTail(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    TRACE_RECORD Records[READER_RECORDS_IN_TAIL];
    CORE_TAIL Tail;
    RTL_CLOCK_READING Now;
    ULONGLONG End = Store->EndOfRecords;
    ULONGLONG Start;
    ULONGLONG First = 0;
    ULONGLONG Least = Store->StartOfRecords;
    ULONG Count;
    ULONG NumberRead;
    NTSTATUS Status;

    RtlReadClocks(Context->Rtl, &Now);
    CoreInitializeTail(&Tail, Store->Header, Now.Tsc);

    //
    // What is in a block of a compact store stays.
    //

    if (READER_IS_STORE_COMPACT(Store) && Store->Pack == NULL &&
        Store->Blocks->Live.First > Least) {
        Least = Store->Blocks->Live.First;
    }

    while (End > Least) {

        Count = READER_RECORDS_IN_TAIL;
        if (Count > (End - Least) / TRACE_RECORD_SIZE) {
            Count = (ULONG)((End - Least) / TRACE_RECORD_SIZE);
        }

        //
        // What lies together may be less: then the part at the end is looked
        // at first.
        //

        Start = End - (ULONGLONG)Count * TRACE_RECORD_SIZE;
        for (;;) {
            Status = SessionCopyOut(Context,
                                    Store,
                                    ReaderAccessTail,
                                    Start,
                                    Records,
                                    (ULONG)((End - Start) /
                                            TRACE_RECORD_SIZE),
                                    &NumberRead);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            if (NumberRead == 0 ||
                Start + (ULONGLONG)NumberRead * TRACE_RECORD_SIZE == End) {
                break;
            }

            Start += (ULONGLONG)NumberRead * TRACE_RECORD_SIZE;
        }

        if (NumberRead == 0) {
            break;
        }

        //
        // What comes into the place of the first that may vanish is later
        // than that, and in any case not earlier than the last that stays.
        //

        Count = (ULONG)CoreCountFinalRecords(&Tail, Records, NumberRead);
        if (Count < NumberRead) {
            First = Records[Count].Timestamp;
        }

        if (Count != 0) {
            End = Start + (ULONGLONG)Count * TRACE_RECORD_SIZE;
            if (First == 0) {
                First = Records[Count - 1].Timestamp;
            }
            break;
        }

        End = Start;
    }

    if (End != Store->EndOfRecords) {
        Store->EndOfRecords = End;
        Store->TailTimestamp = First != 0 ? First : 1;
    }

    return STATUS_SUCCESS;
}


//
// Finds the end of a tree's nodes. There are no records.
// Store: the store, open, with a valid header of a tree.
// STATUS_SUCCESS: EndState says whether all nodes are in the file.
//

_Must_inspect_result_
static
NTSTATUS
SessionRefreshTree(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    PTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG Size;
    NTSTATUS Status;

    //
    // What changes while the thread runs is taken in whole words again: the
    // lines of the hooks, and those of the tree.
    //

    Status = SessionAccessGuarded(ReaderAccessFrames,
                                  (const UCHAR *)Store->HeaderView +
                                     READER_LIVE_OFFSET,
                                  &Header->Cursor,
                                  READER_LIVE_SIZE / TRACE_FRAME_SIZE);
    if (NT_SUCCESS(Status)) {
        Status = SessionAccessGuarded(ReaderAccessFrames,
                                      (const UCHAR *)Store->HeaderView +
                                         READER_LIVE_TREE_OFFSET,
                                      (PUCHAR)Header + READER_LIVE_TREE_OFFSET,
                                      READER_LIVE_TREE_SIZE /
                                         TRACE_FRAME_SIZE);
    }

    if (!NT_SUCCESS(Status)) {
        return SessionFailStore(Store, "read the header", Status);
    }

    if (!CoreValidateHeader(Header,
                            Store->HeaderViewSize,
                            &Store->HeaderResult) ||
        Header->Mode != TRACE_MODE_TREE) {
        return STATUS_SUCCESS;
    }

    //
    // The file's size is taken after the number of nodes.
    //

    Status = SessionQueryStoreSize(Context, Store);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Size = Header->NumberOfNodes * TRACE_NODE_SIZE;
    Store->PublishedEnd = Header->NodesFileOffset + Size;
    Store->StartOfRecords = Header->HeaderSize;
    Store->EndOfRecords = Header->HeaderSize;
    Store->TailTimestamp = 0;
    Store->NumberOfNodes = Header->NumberOfNodes;
    Store->EndState = CoreEndValid;
    if (Store->PublishedEnd > Store->FileSize) {
        Store->EndState = CoreEndBeyondFile;
        Store->NumberOfNodes = 0;
        if (Store->FileSize > Header->NodesFileOffset) {
            Store->NumberOfNodes =
                (Store->FileSize - Header->NodesFileOffset) / TRACE_NODE_SIZE;
        }
    }

    return STATUS_SUCCESS;
}


//
// Makes the view of the header, of as much of it as there is.
//

_Must_inspect_result_
static
NTSTATUS
SessionViewHeader(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG Size;
    ULONG ReadInBytes;
    NTSTATUS Status;

    SessionDropHeaderView(Context, Store);
    if (Store->Pack != NULL) {

        Store->HeaderView = Allocator->Allocate(Allocator->Context,
                                                TRACE_HEADER_SIZE);
        if (Store->HeaderView == NULL) {
            return SessionFailStore(Store,
                                    "read the header",
                                    STATUS_NO_MEMORY);
        }

        Status = BaseReadPack(Store->Pack,
                              Store->PackFile,
                              0,
                              Store->HeaderView,
                              TRACE_HEADER_SIZE,
                              &Store->PackView,
                              &ReadInBytes);
        if (!NT_SUCCESS(Status)) {
            SessionDropHeaderView(Context, Store);
            return SessionFailStore(Store, "read the header", Status);
        }

        Store->HeaderViewSize = ReadInBytes;
        Store->Window = NULL;
        return STATUS_SUCCESS;
    }

    Status = SessionMakeSection(Context, Store);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Size = Store->FileSize < TRACE_HEADER_SIZE ? (ULONG)Store->FileSize
                                               : TRACE_HEADER_SIZE;
    Status = RtlMapFileSection(Context->Rtl,
                               Store->Section,
                               0,
                               Size,
                               FALSE,
                               NULL,
                               &Store->HeaderView);
    if (!NT_SUCCESS(Status)) {
        Store->HeaderView = NULL;
        return SessionFailStore(Store, "map the header", Status);
    }

    Store->HeaderViewSize = Size;
    return STATUS_SUCCESS;
}


//
// Whether the newest records may still be taken back.
//

static
BOOLEAN
SessionHasTail(
    _In_ PCREADER_STORE Store
    )
{
    return Store->EndState == CoreEndValid &&
           Store->Header->MinimumDuration != 0 &&
           Store->Header->State == TRACE_STATE_OPEN &&
           !Store->IsWriterGone;
}


//
// Finds the records of a compact store in a pack: those that the file has, the
// last ones before the end; of a ring of blocks those behind what is missing.
//

_Must_inspect_result_
static
NTSTATUS
SessionRefreshPacked(
    _Inout_ PREADER_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG End = Store->PublishedEnd;
    ULONGLONG Size = Store->FileSize;
    ULONGLONG Start;
    CORE_BLOCKS Blocks;
    CORE_RANGE Range;

    //
    // What would be refused is packed as it is.
    //

    CoreReadBlocks(Header, &Blocks);
    Store->StartOfRecords = Header->HeaderSize;
    Store->EndOfRecords = Header->HeaderSize;
    if (!CoreAreBlocksGood(Header, &Blocks) ||
        CoreFindRecords(Header,
                        End,
                        Blocks.First,
                        CORE_MAXIMUM_STREAM,
                        &Range) == CoreEndBad ||
        Size < Header->HeaderSize || End < Size ||
        (Size - Header->HeaderSize) % TRACE_RECORD_SIZE != 0 ||
        (End - Header->HeaderSize) % TRACE_RECORD_SIZE != 0) {
        return STATUS_SUCCESS;
    }

    Start = Header->HeaderSize;
    if (Header->BlocksCapacity != 0) {
        Start = BaseFindPackRun(Store->Pack, Store->PackFile, Start);
        Start += (Header->HeaderSize - Start) % TRACE_RECORD_SIZE;
    }

    Store->EndState = CoreEndValid;
    Store->PackShift = End - Size;
    Store->StartOfRecords = Start + Store->PackShift;
    Store->EndOfRecords = End;
    return STATUS_SUCCESS;
}


//
// Finds the records of a compact store: its blocks, and which records are raw.
// Store: the store, open, with a valid header and its published end.
//

_Must_inspect_result_
static
NTSTATUS
SessionRefreshCompact(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    PREADER_BLOCKS Blocks = Store->Blocks;
    CORE_RANGE Range;
    ULONG Try;
    NTSTATUS Status;

    if (Blocks == NULL) {
        Blocks = (PREADER_BLOCKS)
            Context->Allocator->Allocate(Context->Allocator->Context,
                                         sizeof(*Blocks));
        if (Blocks == NULL) {
            return SessionFailStore(Store, "read the blocks", STATUS_NO_MEMORY);
        }
        RtlZeroBytes(Blocks, sizeof(*Blocks));
        Store->Blocks = Blocks;
    }

    Blocks->Context = Context;
    Blocks->File = Store->File;
    Blocks->Header = Store->Header;
    Blocks->Mapped = (PCTRACE_STORE_HEADER)Store->HeaderView;
    for (Try = 0; Try < READER_COMPACT_TRIES; Try++) {

        Store->EndState = CoreEndBad;
        Store->StartOfRecords = Store->Header->HeaderSize;
        Store->EndOfRecords = Store->Header->HeaderSize;
        Status = SessionUpdateBlocks(Blocks);
        if (Status == STATUS_FILE_CORRUPT_ERROR) {

            //
            // Another file may have come in its place.
            //

            SessionRundownBlocks(Blocks);
            Status = SessionUpdateBlocks(Blocks);
            if (Status == STATUS_FILE_CORRUPT_ERROR) {
                return STATUS_SUCCESS;
            }
        }

        //
        // The file's size is taken after what is raw is known.
        //

        if (NT_SUCCESS(Status)) {
            Status = SessionQueryStoreSize(Context, Store);
        }

        if (!NT_SUCCESS(Status)) {
            return SessionFailStore(Store, "read the header", Status);
        }

        Store->EndState = CoreFindRecords(Store->Header,
                                          Store->PublishedEnd,
                                          Blocks->Live.First,
                                          Store->FileSize,
                                          &Range);
        if (Store->EndState == CoreEndBad) {
            return STATUS_SUCCESS;
        }

        Store->EndOfRecords = Range.End;
        if (Store->EndState == CoreEndValid) {
            break;
        }

        //
        // Its writer may have encoded the last records, and cut the file off.
        //

        Status = SessionUpdateBlocks(Blocks);
        if (!NT_SUCCESS(Status) || Blocks->Live.First == Range.Start) {
            break;
        }
    }

    return SessionFindStart(Store);
}


_Use_decl_annotations_
NTSTATUS
SessionRefreshStore(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    CORE_RANGE Range;
    ULONGLONG End;
    ULONGLONG First;
    NTSTATUS Status;

    Status = SessionQueryStoreSize(Context, Store);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // A file that was empty, or had less than a header, may have one now.
    //

    if (Store->HeaderViewSize < TRACE_HEADER_SIZE &&
        Store->FileSize > Store->HeaderViewSize) {

        Status = SessionViewHeader(Context, Store);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Store->HeaderViewSize != 0) {
        Status = SessionAccessGuarded(ReaderAccessBytes,
                                      Store->HeaderView,
                                      Store->Header,
                                      Store->HeaderViewSize);
        if (!NT_SUCCESS(Status)) {
            return SessionFailStore(Store, "read the header", Status);
        }
    }

    Store->EndState = CoreEndBad;
    if (!CoreValidateHeader(Store->Header,
                            Store->HeaderViewSize,
                            &Store->HeaderResult)) {
        return STATUS_SUCCESS;
    }

    if (Store->Header->Mode == TRACE_MODE_TREE) {
        return SessionRefreshTree(Context, Store);
    }

    Status = SessionAccessGuarded(ReaderAccessEnd,
                                  Store->HeaderView,
                                  &End,
                                  0);
    if (!NT_SUCCESS(Status)) {
        return SessionFailStore(Store, "read the end of the records", Status);
    }

    if (READER_IS_STORE_COMPACT(Store)) {

        Store->PublishedEnd = End;
        Store->TailTimestamp = 0;
        Status = Store->Pack != NULL ? SessionRefreshPacked(Store)
                                     : SessionRefreshCompact(Context, Store);
        return NT_SUCCESS(Status) && SessionHasTail(Store)
                   ? SessionDropTail(Context, Store)
                   : Status;
    }

    Status = SessionAccessGuarded(ReaderAccessFirst,
                                  Store->HeaderView,
                                  &First,
                                  0);
    if (!NT_SUCCESS(Status)) {
        return SessionFailStore(Store,
                                "read the start of the records",
                                Status);
    }

    //
    // The file's size is taken after the end, so a file that is growing is
    // never found shorter than its records.
    //

    Status = SessionQueryStoreSize(Context, Store);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Store->PublishedEnd = End;
    Store->TailTimestamp = 0;
    Store->EndState = CoreFindRecords(Store->Header,
                                      End,
                                      First,
                                      Store->FileSize,
                                      &Range);
    Store->StartOfRecords = Range.Start;
    Store->EndOfRecords = Range.End;

    return SessionHasTail(Store) ? SessionDropTail(Context, Store)
                                 : STATUS_SUCCESS;
}


//
// Reads the header of a store, whose file or place in a pack is known.
//

_Must_inspect_result_
static
NTSTATUS
SessionBeginStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    NTSTATUS Status;

    Store->Status = STATUS_SUCCESS;
    Store->FailedStep = NULL;
    if (Store->Header == NULL) {
        Store->Header = (PTRACE_STORE_HEADER)
            Context->Allocator->Allocate(Context->Allocator->Context,
                                         sizeof(TRACE_STORE_HEADER));
    }

    Status = Store->Header != NULL
                 ? SessionRefreshStore(Context, Store)
                 : SessionFailStore(Store,
                                    "allocate the header",
                                    STATUS_NO_MEMORY);
    if (!NT_SUCCESS(Status)) {
        SessionCloseStore(Context, Store);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
SessionOpenStore(
    PCREADER_CONTEXT Context,
    PREADER_PACK Pack,
    PCUNICODE_STRING NtPath,
    PREADER_STORE Store
    )
{
    ULONG File;
    NTSTATUS Status;

    if (Pack != NULL) {
        File = BaseFindPackFile(Pack, NtPath);
        return File == READER_NONE
                   ? SessionFailStore(Store,
                                      "open the store",
                                      STATUS_OBJECT_NAME_NOT_FOUND)
                   : SessionOpenPackedStore(Context, Pack, File, Store);
    }

    Status = RtlOpenFileForReading(Context->Rtl, NtPath, &Store->File);
    if (!NT_SUCCESS(Status)) {
        Store->File = NULL;
        return SessionFailStore(Store, "open the store", Status);
    }

    return SessionBeginStore(Context, Store);
}


_Use_decl_annotations_
NTSTATUS
SessionOpenPackedStore(
    PCREADER_CONTEXT Context,
    PREADER_PACK Pack,
    ULONG File,
    PREADER_STORE Store
    )
{
    Store->Pack = Pack;
    Store->PackFile = File;
    return SessionBeginStore(Context, Store);
}


_Use_decl_annotations_
VOID
SessionCloseStore(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    SessionRestBlocks(Store->Blocks);
    SessionDropHeaderView(Context, Store);
    SessionDropSection(Context, Store);
    Store->Pack = NULL;
    if (Store->File != NULL) {
        RtlClose(Context->Rtl, Store->File);
        Store->File = NULL;
    }
}


//
// Whether a record of a compact store in a pack was in a bad block: it is in no
// block of the pack.
//

static
BOOLEAN
SessionIsLostInPack(
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position
    )
{
    ULONGLONG Start;
    ULONGLONG End;

    if (!BaseIsPackGap(Store->Pack,
                       Store->PackFile,
                       Position - Store->PackShift,
                       &Start,
                       &End)) {
        return FALSE;
    }

    //
    // A record that is partly there is not there.
    //

    Start += Store->PackShift;
    End += Store->PackShift;
    if (Start < Store->StartOfRecords) {
        Start = Store->StartOfRecords;
    }

    Store->LostStart = Position - (Position - Start) / TRACE_RECORD_SIZE *
                                      TRACE_RECORD_SIZE;
    Store->LostEnd = Position + (End - Position + TRACE_RECORD_SIZE - 1) /
                                    TRACE_RECORD_SIZE * TRACE_RECORD_SIZE;
    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
SessionReadRecords(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store,
    ULONGLONG Position,
    PTRACE_RECORD Records,
    ULONG NumberOfRecords,
    PULONG NumberRead
    )
{
    ULONGLONG Available;

    *NumberRead = 0;
    Store->LostEnd = 0;
    if (Position >= Store->EndOfRecords ||
        Position < Store->StartOfRecords) {
        return STATUS_SUCCESS;
    }

    Available = (Store->EndOfRecords - Position) / TRACE_RECORD_SIZE;
    if (Available > NumberOfRecords) {
        Available = NumberOfRecords;
    }

    if (READER_IS_STORE_COMPACT(Store) && Store->Pack != NULL &&
        SessionIsLostInPack(Store, Position)) {
        return STATUS_SUCCESS;
    }

    if (READER_IS_STORE_COMPACT(Store) && Store->Pack == NULL) {
        return SessionCopyCompact(Context,
                                  Store,
                                  Position,
                                  Records,
                                  (ULONG)Available,
                                  NumberRead);
    }

    return SessionCopyOut(Context,
                          Store,
                          ReaderAccessRecords,
                          Position,
                          Records,
                          (ULONG)Available,
                          NumberRead);
}


_Use_decl_annotations_
NTSTATUS
SessionBorrowRecords(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store,
    ULONGLONG Position,
    const VOID *Borrower,
    PCTRACE_RECORD *Records,
    PULONG NumberRead
    )
{
    ULONGLONG Available;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Context);

    *Records = NULL;
    *NumberRead = 0;
    Store->LostEnd = 0;
    if (Position >= Store->EndOfRecords ||
        Position < Store->StartOfRecords ||
        !READER_IS_STORE_COMPACT(Store) || Store->Pack != NULL ||
        Position >= Store->Blocks->Live.First ||
        (Store->Blocks->Borrower != NULL &&
         Store->Blocks->Borrower != Borrower)) {
        return STATUS_SUCCESS;
    }

    Store->Blocks->Borrower = Borrower;
    Status = SessionTakeRecords(Store,
                                ReaderBlockIterated,
                                Position,
                                Records,
                                NumberRead);
    Available = (Store->EndOfRecords - Position) / TRACE_RECORD_SIZE;
    if (*NumberRead > Available) {
        *NumberRead = (ULONG)Available;
    }

    return Status;
}


_Use_decl_annotations_
VOID
SessionGiveRecordsBack(
    PREADER_STORE Store,
    const VOID *Borrower
    )
{
    if (Store->Blocks != NULL && Store->Blocks->Borrower == Borrower) {
        Store->Blocks->Borrower = NULL;
    }
}


_Use_decl_annotations_
ULONGLONG
SessionLocateRecord(
    PCREADER_STORE Store,
    ULONGLONG Position
    )
{
    ULONGLONG Together;

    if (READER_IS_STORE_COMPACT(Store) && Store->Blocks != NULL &&
        Position < Store->Blocks->Live.First) {
        return SessionLocateBlock(Store->Blocks, Position);
    }

    return SessionPlaceRecord(Store, Position, &Together);
}


_Use_decl_annotations_
VOID
SessionRundownStore(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    PCALLOCATOR Allocator = Context->Allocator;

    SessionCloseStore(Context, Store);
    SessionRundownBlocks(Store->Blocks);
    Allocator->Free(Allocator->Context, Store->Blocks);
    Allocator->Free(Allocator->Context, Store->Header);
    Store->Blocks = NULL;
    Store->Header = NULL;
}


_Use_decl_annotations_
NTSTATUS
SessionReadTree(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store,
    ULONGLONG FileOffset,
    PVOID Destination,
    ULONG SizeOfItem,
    ULONG NumberOfItems
    )
{
    PUCHAR Bytes = (PUCHAR)Destination;
    ULONGLONG Available;
    ULONG Count;
    NTSTATUS Status;

    while (NumberOfItems != 0) {

        Status = SessionMapWindow(Context, Store, FileOffset, SizeOfItem);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Available = (Store->WindowOffset + Store->WindowSize - FileOffset) /
                    SizeOfItem;
        Count = Available < NumberOfItems ? (ULONG)Available : NumberOfItems;
        Status = SessionAccessGuarded(SizeOfItem == TRACE_NODE_SIZE
                                         ? ReaderAccessNodes
                                         : ReaderAccessFrames,
                                      (const UCHAR *)Store->Window +
                                         (FileOffset - Store->WindowOffset),
                                      Bytes,
                                      Count);
        if (!NT_SUCCESS(Status)) {
            return SessionFailStore(Store, "read the tree", Status);
        }

        FileOffset += (ULONGLONG)Count * SizeOfItem;
        Bytes += (SIZE_T)Count * SizeOfItem;
        NumberOfItems -= Count;
    }

    return STATUS_SUCCESS;
}
