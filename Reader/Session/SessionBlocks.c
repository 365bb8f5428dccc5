/*++

Module Name:

    SessionBlocks.c

Abstract:

    The blocks of a compact store.  They are a chain, each of which says where
    the next one begins; what has been followed of it is kept as a list, which
    grows as far as somebody wants to read.

    Nothing in a block is believed.  Where the chain is broken the stream is
    searched for the next block whose sum is right, and what lies between is
    lost; so is a block whose contents are not good.

--*/

#include "../Base/BaseContainer.h"
#include "../Base/BaseDecoder.h"
#include "SessionAccess.h"
#include "SessionBlocks.h"

//
// How much of the stream is read at once, first and when that goes on, and how
// often, if its writer moves it meanwhile.
//

#define READER_FIRST_PIECE_SIZE 0x20000u
#ifndef READER_PIECE_SIZE
#define READER_PIECE_SIZE READER_FIRST_PIECE_SIZE
#endif
#define READER_PIECE_TRIES 8

//
// A chain that is broken more often is not followed any more: each time costs
// the decoding of a block or two.
//

#define READER_MAXIMUM_FAULTS 256
#define READER_MAXIMUM_SEARCHED 0x10000000ULL   // bytes of a stream

//
// So many blocks that a ring has lost are taken off the list at once.
//

#define READER_BLOCKS_TO_PRUNE 1024

#define READER_BLOCK_ALIGN(Size) (((Size) + 7) & ~7ULL)


_Use_decl_annotations_
NTSTATUS
SessionUpdateBlocks(
    PREADER_BLOCKS Blocks
    )
{
    CORE_BLOCKS Live;
    NTSTATUS Status;

    Status = SessionAccessGuarded(ReaderAccessBlocks,
                                  Blocks->Mapped,
                                  &Live,
                                  0);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (!CoreAreBlocksGood(Blocks->Header, &Live) ||
        Live.First < Blocks->Live.First ||
        Live.Oldest < Blocks->Live.Oldest) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    if (Live.Tail != Blocks->Live.Tail ||
        Live.End < Blocks->Live.End ||
        Live.FileOffset != Blocks->Live.FileOffset) {
        Blocks->PieceSize = 0;
    }

    Blocks->Live = Live;
    return STATUS_SUCCESS;
}


//
// Reads a part of the stream from the file.
// Returns how many bytes there were.
//

static
ULONG
SessionReadStream(
    _In_ PCREADER_BLOCKS Blocks,
    _In_ ULONGLONG StreamOffset,
    _Out_writes_bytes_(SizeInBytes) PUCHAR Bytes,
    _In_ ULONG SizeInBytes
    )
{
    ULONGLONG FileOffset;
    ULONGLONG Together;
    ULONG Got = 0;
    ULONG Size;
    NTSTATUS Status;

    while (Got < SizeInBytes) {

        FileOffset = CoreStreamToFileOffset(Blocks->Header,
                                            &Blocks->Live,
                                            StreamOffset + Got,
                                            &Together);
        Size = SizeInBytes - Got;
        if (Size > Together) {
            Size = (ULONG)Together;
        }

        Status = RtlReadFile(Blocks->Context->Rtl,
                             Blocks->File,
                             FileOffset,
                             Bytes + Got,
                             Size,
                             &Size);
        if (!NT_SUCCESS(Status) || Size == 0) {
            break;
        }

        Got += Size;
    }

    return Got;
}


//
// Sees to it that a part of the stream is in the piece.
//
//     STATUS_END_OF_FILE (the file ends before it), STATUS_RETRY (it has been
//     overwritten), STATUS_NO_MEMORY, STATUS_FILE_CORRUPT_ERROR
//

_Must_inspect_result_
static
NTSTATUS
SessionFillPiece(
    _Inout_ PREADER_BLOCKS Blocks,
    _In_ ULONGLONG StreamOffset,
    _In_ ULONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Blocks->Context->Allocator;
    CORE_BLOCKS Before;
    ULONG Wanted = READER_FIRST_PIECE_SIZE;
    ULONG Size;
    ULONG Try;
    NTSTATUS Status;

    if (Blocks->PieceSize != 0 && StreamOffset >= Blocks->PieceOffset) {

        if (StreamOffset - Blocks->PieceOffset + SizeInBytes <=
            Blocks->PieceSize) {
            return STATUS_SUCCESS;
        }

        //
        // The next block's header may be behind the rest of this one.
        //

        if (StreamOffset - Blocks->PieceOffset <=
            2 * (ULONGLONG)Blocks->PieceSize) {
            Wanted = READER_PIECE_SIZE;
        }
    }

    if (Wanted < SizeInBytes) {
        Wanted = SizeInBytes;
    }

    Blocks->PieceSize = 0;
    if (Blocks->PieceCapacity < Wanted) {

        Allocator->Free(Allocator->Context, Blocks->Piece);
        Blocks->PieceCapacity = 0;
        Blocks->Piece = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                    Wanted);
        if (Blocks->Piece == NULL) {
            return STATUS_NO_MEMORY;
        }
        Blocks->PieceCapacity = Wanted;
    }

    for (Try = 0; Try < READER_PIECE_TRIES; Try++) {

        if (StreamOffset > Blocks->Live.End ||
            SizeInBytes > Blocks->Live.End - StreamOffset) {
            return STATUS_END_OF_FILE;
        }

        Size = Wanted;
        if (Size > Blocks->Live.End - StreamOffset) {
            Size = (ULONG)(Blocks->Live.End - StreamOffset);
        }

        Before = Blocks->Live;
        Size = SessionReadStream(Blocks, StreamOffset, Blocks->Piece, Size);
        Status = SessionUpdateBlocks(Blocks);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Blocks->Live.Oldest > StreamOffset) {
            return STATUS_RETRY;
        }

        if (Blocks->Live.Tail == Before.Tail &&
            Blocks->Live.FileOffset == Before.FileOffset) {

            Blocks->PieceOffset = StreamOffset;
            Blocks->PieceSize = Size;
            return Size >= SizeInBytes ? STATUS_SUCCESS : STATUS_END_OF_FILE;
        }
    }

    return STATUS_END_OF_FILE;
}


//
// Reads the header of a block.
// FALSE: there is none that can be believed, at a position that can be.
// Least, Most: the positions that it may have.
//

_Success_(return != FALSE)
static
BOOLEAN
SessionReadBlockHeader(
    _Inout_ PREADER_BLOCKS Blocks,
    _In_ ULONGLONG StreamOffset,
    _In_ ULONGLONG Least,
    _In_ ULONGLONG Most,
    _Out_ PCODEC_BLOCK Header,
    _Out_ NTSTATUS *Status
    )
{
    ULONGLONG Left;

    *Status = SessionFillPiece(Blocks, StreamOffset, CODEC_HEADER_SIZE);
    if (!NT_SUCCESS(*Status) ||
        StreamOffset + CODEC_HEADER_SIZE > Blocks->Live.End) {
        return FALSE;
    }

    //
    // Whether the contents are there, too, is found out when they are wanted.
    //

    Left = Blocks->Live.End - StreamOffset;
    if (!NT_SUCCESS(CodecReadHeader(Blocks->Piece +
                                       (StreamOffset - Blocks->PieceOffset),
                                    (SIZE_T)Left,
                                    Header))) {
        return FALSE;
    }

    return Header->RawBytes != 0 &&
           Header->RawBytes % TRACE_RECORD_SIZE == 0 &&
           Header->Position >= Least &&
           Header->Position <= Most &&
           (Header->Position - Blocks->Header->HeaderSize) %
               TRACE_RECORD_SIZE == 0 &&
           Header->Position < Blocks->Live.First &&
           Header->RawBytes <= Blocks->Live.First - Header->Position &&
           READER_BLOCK_ALIGN(CODEC_HEADER_SIZE +
                              (ULONGLONG)Header->EncodedBytes) <= Left;
}


//
// Decodes a block from the stream.
// SizeInBytes: in the stream.
// View: receives it; nothing on failure.
//
//     STATUS_FILE_CORRUPT_ERROR, STATUS_RETRY, STATUS_NO_MEMORY
//

_Must_inspect_result_
static
NTSTATUS
SessionDecodeBlock(
    _Inout_ PREADER_BLOCKS Blocks,
    _In_ ULONGLONG StreamOffset,
    _In_ ULONGLONG SizeInBytes,
    _In_ ULONGLONG Position,
    _In_ ULONGLONG RawBytes,
    _Inout_ PREADER_BLOCK_VIEW View
    )
{
    PCALLOCATOR Allocator = Blocks->Context->Allocator;
    PCODEC_DECODER Decoder;
    CODEC_BLOCK Header;
    ULONG Try;
    NTSTATUS Status = STATUS_FILE_CORRUPT_ERROR;

    View->SizeInBytes = 0;
    if (SizeInBytes > READER_BLOCK_ALIGN(CODEC_BOUND(CODEC_MAXIMUM_BYTES)) ||
        RawBytes > CODEC_MAXIMUM_BYTES) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    if (View->CapacityInBytes < RawBytes) {
        Allocator->Free(Allocator->Context, View->Records);
        View->CapacityInBytes = 0;
        View->Records = (PTRACE_RECORD)
            Allocator->Allocate(Allocator->Context, (SIZE_T)RawBytes);
        if (View->Records == NULL) {
            return STATUS_NO_MEMORY;
        }
        View->CapacityInBytes = (ULONG)RawBytes;
    }

    Decoder = BaseAcquireDecoder(Blocks->Context);
    if (Decoder == NULL) {
        return STATUS_NO_MEMORY;
    }

    //
    // A piece may be older than what has been written there again.
    //

    for (Try = 0; Try < 2; Try++) {

        Status = SessionFillPiece(Blocks, StreamOffset, (ULONG)SizeInBytes);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Status = CodecDecode(Decoder,
                             Blocks->Piece +
                                 (StreamOffset - Blocks->PieceOffset),
                             (SIZE_T)SizeInBytes,
                             View->Records,
                             View->CapacityInBytes,
                             &Header);
        if (NT_SUCCESS(Status) &&
            (Header.Position != Position ||
             Header.RawBytes != RawBytes ||
             READER_BLOCK_ALIGN(CODEC_HEADER_SIZE +
                                (ULONGLONG)Header.EncodedBytes) !=
                 SizeInBytes)) {
            Status = STATUS_FILE_CORRUPT_ERROR;
        }

        if (NT_SUCCESS(Status)) {
            View->Position = Position;
            View->SizeInBytes = (ULONG)RawBytes;
            break;
        }

        Blocks->PieceSize = 0;
    }

    BaseReleaseDecoder(Blocks->Context, Decoder);
    return NT_SUCCESS(Status) || Status == STATUS_NO_MEMORY ||
                   Status == STATUS_RETRY
               ? Status
               : STATUS_FILE_CORRUPT_ERROR;
}


//
// Adds to the list what begins at the next offset and position.
// Lost: READER_BLOCK_LOST or 0.
// Offset, Position: where it ends.
//

_Must_inspect_result_
static
NTSTATUS
SessionAddBlock(
    _Inout_ PREADER_BLOCKS Blocks,
    _In_ ULONGLONG Lost,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG Position
    )
{
    NTSTATUS Status;

    Status = BaseGrowArray(Blocks->Context->Allocator,
                           (PVOID *)&Blocks->List,
                           &Blocks->Capacity,
                           Blocks->Count + 1,
                           sizeof(READER_BLOCK));
    if (NT_SUCCESS(Status)) {
        Blocks->List[Blocks->Count].StreamOffset = Blocks->NextOffset | Lost;
        Blocks->List[Blocks->Count].Position = Blocks->NextPosition;
        Blocks->Count += 1;
        Blocks->NextOffset = Offset;
        Blocks->NextPosition = Position;
    }

    return Status;
}


//
// Searches the stream for a block that is good.
// StreamOffset: where to begin; receives where it is, or the end.
// Position: the least that it may have; receives its own, or where the raw
// records begin.
//

_Must_inspect_result_
static
NTSTATUS
SessionSearchBlock(
    _Inout_ PREADER_BLOCKS Blocks,
    _Inout_ PULONGLONG StreamOffset,
    _Inout_ PULONGLONG Position
    )
{
    PREADER_BLOCK_VIEW View = &Blocks->Views[ReaderBlockCopied];
    CODEC_BLOCK Header;
    ULONGLONG Offset = *StreamOffset;
    NTSTATUS Status = STATUS_SUCCESS;

    for (; Blocks->NumberOfFaults < READER_MAXIMUM_FAULTS &&
           Blocks->Searched < READER_MAXIMUM_SEARCHED &&
           Offset < Blocks->Live.End;
         Offset += sizeof(ULONGLONG)) {

        Blocks->Searched += sizeof(ULONGLONG);

        if (!SessionReadBlockHeader(Blocks,
                                    Offset,
                                    *Position,
                                    Blocks->Live.First,
                                    &Header,
                                    &Status)) {
            if (Status == STATUS_NO_MEMORY || Status == STATUS_RETRY) {
                return Status;
            }
            if (!NT_SUCCESS(Status)) {
                break;
            }
            continue;
        }

        Status = SessionDecodeBlock(
            Blocks,
            Offset,
            READER_BLOCK_ALIGN(CODEC_HEADER_SIZE +
                               (ULONGLONG)Header.EncodedBytes),
            Header.Position,
            Header.RawBytes,
            View);
        if (NT_SUCCESS(Status)) {
            *StreamOffset = Offset;
            *Position = Header.Position;
            return STATUS_SUCCESS;
        }

        if (Status != STATUS_FILE_CORRUPT_ERROR) {
            return Status;
        }

        Blocks->NumberOfFaults += 1;
    }

    *StreamOffset = Blocks->Live.End;
    *Position = Blocks->Live.First;
    return STATUS_SUCCESS;
}


//
// Goes on behind what is no block, where the next one should be.  If the block
// before it is not good either, it may be that which says where it ends.
//

_Must_inspect_result_
static
NTSTATUS
SessionMendChain(
    _Inout_ PREADER_BLOCKS Blocks
    )
{
    PREADER_BLOCK Last = NULL;
    ULONGLONG Offset = Blocks->NextOffset;
    ULONGLONG Position = Blocks->NextPosition;
    NTSTATUS Status;

    Blocks->NumberOfFaults += 1;
    if (Blocks->Count > Blocks->Begin) {
        Last = &Blocks->List[Blocks->Count - 1];
    }

    if (Last != NULL && (Last->StreamOffset & READER_BLOCK_LOST) == 0) {

        Status = SessionDecodeBlock(Blocks,
                                    Last->StreamOffset,
                                    Blocks->NextOffset - Last->StreamOffset,
                                    Last->Position,
                                    Blocks->NextPosition - Last->Position,
                                    &Blocks->Views[ReaderBlockCopied]);
        if (Status == STATUS_FILE_CORRUPT_ERROR) {
            Blocks->Count -= 1;
            Blocks->NextOffset = Last->StreamOffset;
            Blocks->NextPosition = Last->Position;
            Offset = Blocks->NextOffset;
            Position = Last->Position + TRACE_RECORD_SIZE;
        } else if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Offset += sizeof(ULONGLONG);
    Status = SessionSearchBlock(Blocks, &Offset, &Position);
    return NT_SUCCESS(Status)
               ? SessionAddBlock(Blocks, READER_BLOCK_LOST, Offset, Position)
               : Status;
}


//
// Follows the chain until it is beyond a position, which is before the raw
// records.
//

_Must_inspect_result_
static
NTSTATUS
SessionFollowChain(
    _Inout_ PREADER_BLOCKS Blocks,
    _In_ ULONGLONG Position
    )
{
    CODEC_BLOCK Header;
    BOOLEAN IsStale = TRUE;
    NTSTATUS Status;

    while (Blocks->NextPosition <= Position) {

        if (SessionReadBlockHeader(Blocks,
                                   Blocks->NextOffset,
                                   Blocks->NextPosition,
                                   Blocks->NextPosition,
                                   &Header,
                                   &Status)) {

            IsStale = TRUE;
            Status = SessionAddBlock(
                Blocks,
                0,
                Blocks->NextOffset +
                    READER_BLOCK_ALIGN(CODEC_HEADER_SIZE +
                                       (ULONGLONG)Header.EncodedBytes),
                Blocks->NextPosition + Header.RawBytes);

        } else if (Status == STATUS_NO_MEMORY || Status == STATUS_RETRY) {

            return Status;

        } else if (IsStale && Blocks->PieceSize != 0) {

            //
            // It may have been written again since the piece was read.
            //

            IsStale = FALSE;
            Blocks->PieceSize = 0;
            Status = STATUS_SUCCESS;

        } else {

            IsStale = TRUE;
            Status = SessionMendChain(Blocks);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}


//
// Begins the list anew at the oldest block, whose position is not known.
//

_Must_inspect_result_
static
NTSTATUS
SessionBeginChain(
    _Inout_ PREADER_BLOCKS Blocks
    )
{
    CODEC_BLOCK Header;
    ULONGLONG Offset = Blocks->Live.Oldest;
    ULONGLONG Position = Blocks->Header->HeaderSize;
    NTSTATUS Status;

    if (Position < Blocks->NextPosition) {
        Position = Blocks->NextPosition;
    }

    Blocks->Begin = 0;
    Blocks->Count = 0;
    Blocks->NextOffset = Offset;
    Blocks->NextPosition = Position;
    if (Offset == 0 || Blocks->Live.First == Blocks->Header->HeaderSize) {
        return STATUS_SUCCESS;
    }

    if (SessionReadBlockHeader(Blocks,
                               Offset,
                               Position,
                               Blocks->Live.First,
                               &Header,
                               &Status)) {
        Blocks->NextPosition = Header.Position;
        return STATUS_SUCCESS;
    }

    if (Status == STATUS_NO_MEMORY || Status == STATUS_RETRY) {
        return Status;
    }

    Blocks->NumberOfFaults += 1;
    Status = SessionSearchBlock(Blocks, &Offset, &Position);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // How many records are lost is not known: one stands for all of them.
    //

    if (Position - TRACE_RECORD_SIZE < Blocks->Header->HeaderSize) {
        Blocks->NextOffset = Offset;
        Blocks->NextPosition = Position;
        return STATUS_SUCCESS;
    }

    Blocks->NextPosition = Position - TRACE_RECORD_SIZE;
    return SessionAddBlock(Blocks, READER_BLOCK_LOST, Offset, Position);
}


_Use_decl_annotations_
NTSTATUS
SessionLocateOldestBlock(
    PREADER_BLOCKS Blocks,
    PULONGLONG Position
    )
{
    ULONG Index;
    ULONG Try;
    NTSTATUS Status;

    *Position = Blocks->Header->HeaderSize;
    for (Try = 0; Try < READER_PIECE_TRIES; Try++) {

        while (Blocks->Begin < Blocks->Count &&
               (Blocks->List[Blocks->Begin].StreamOffset &
                ~READER_BLOCK_LOST) < Blocks->Live.Oldest) {
            Blocks->Begin += 1;
        }

        if (Blocks->Begin >= READER_BLOCKS_TO_PRUNE &&
            Blocks->Begin > Blocks->Count / 2) {

            for (Index = Blocks->Begin; Index < Blocks->Count; Index++) {
                Blocks->List[Index - Blocks->Begin] = Blocks->List[Index];
            }

            Blocks->Count -= Blocks->Begin;
            Blocks->Begin = 0;
        }

        Status = STATUS_SUCCESS;
        if (Blocks->NextPosition == 0 ||
            (Blocks->Begin == Blocks->Count &&
             Blocks->NextOffset < Blocks->Live.Oldest)) {
            Status = SessionBeginChain(Blocks);
        }

        if (Status != STATUS_RETRY) {
            break;
        }
    }

    if (NT_SUCCESS(Status)) {
        *Position = Blocks->Begin < Blocks->Count
                        ? Blocks->List[Blocks->Begin].Position
                        : Blocks->NextPosition;
    }

    return Status;
}


//
// Finds the entry of the list that has a position; Count if it is before all,
// or behind them.
//

static
ULONG
SessionFindBlock(
    _In_ PCREADER_BLOCKS Blocks,
    _In_ ULONGLONG Position
    )
{
    ULONG Begin = Blocks->Begin;
    ULONG End = Blocks->Count;
    ULONG Middle;

    if (Position >= Blocks->NextPosition) {
        return Blocks->Count;
    }

    while (Begin < End) {
        Middle = Begin + (End - Begin) / 2;
        if (Blocks->List[Middle].Position <= Position) {
            Begin = Middle + 1;
        } else {
            End = Middle;
        }
    }

    return Begin == Blocks->Begin ? Blocks->Count : Begin - 1;
}


_Use_decl_annotations_
NTSTATUS
SessionTakeBlock(
    PREADER_BLOCKS Blocks,
    READER_BLOCK_USE Use,
    ULONGLONG Position,
    PCTRACE_RECORD *Records,
    PULONG NumberOfRecords
    )
{
    PREADER_BLOCK_VIEW View = NULL;
    PCREADER_BLOCK Block;
    READER_BLOCK End;
    ULONG Index;
    NTSTATUS Status;

    *Records = NULL;
    *NumberOfRecords = 0;
    for (Index = 0; Index < ReaderBlockUses; Index++) {

        View = &Blocks->Views[Index];
        if ((Index == (ULONG)Use || Use == ReaderBlockCopied) &&
            View->SizeInBytes != 0 && Position >= View->Position &&
            Position - View->Position < View->SizeInBytes) {
            goto Found;
        }
    }

    Status = SessionFollowChain(Blocks, Position);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Index = SessionFindBlock(Blocks, Position);
    if (Index == Blocks->Count) {
        return STATUS_RETRY;
    }

    Block = &Blocks->List[Index];
    End.StreamOffset = Blocks->NextOffset;
    End.Position = Blocks->NextPosition;
    if (Index + 1 < Blocks->Count) {
        End = Blocks->List[Index + 1];
    }

    View = &Blocks->Views[Use];
    Status = STATUS_FILE_CORRUPT_ERROR;
    if ((Block->StreamOffset & READER_BLOCK_LOST) == 0) {
        Status = SessionDecodeBlock(Blocks,
                                    Block->StreamOffset,
                                    (End.StreamOffset & ~READER_BLOCK_LOST) -
                                        Block->StreamOffset,
                                    Block->Position,
                                    End.Position - Block->Position,
                                    View);
    }

    if (!NT_SUCCESS(Status)) {
        Blocks->LostStart = Block->Position;
        Blocks->LostEnd = End.Position;
        return Status;
    }

Found:
    *Records = View->Records +
               (Position - View->Position) / TRACE_RECORD_SIZE;
    *NumberOfRecords = (ULONG)(View->SizeInBytes -
                               (Position - View->Position)) /
                       TRACE_RECORD_SIZE;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
SessionCountBlocks(
    PREADER_BLOCKS Blocks,
    PULONGLONG NumberOfBlocks
    )
{
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    *NumberOfBlocks = 0;
    if (Blocks->Live.First > Blocks->Header->HeaderSize) {
        Status = SessionFollowChain(Blocks, Blocks->Live.First - 1);
    }

    for (Index = Blocks->Begin; Index < Blocks->Count; Index++) {
        *NumberOfBlocks += (Blocks->List[Index].StreamOffset &
                            READER_BLOCK_LOST) == 0;
    }

    return Status;
}


_Use_decl_annotations_
ULONGLONG
SessionLocateBlock(
    PCREADER_BLOCKS Blocks,
    ULONGLONG Position
    )
{
    ULONGLONG StreamOffset = Blocks->NextOffset;
    ULONGLONG Together;
    ULONG Index = SessionFindBlock(Blocks, Position);

    if (Index < Blocks->Count) {
        StreamOffset = Blocks->List[Index].StreamOffset & ~READER_BLOCK_LOST;
    }

    return CoreStreamToFileOffset(Blocks->Header,
                                  &Blocks->Live,
                                  StreamOffset,
                                  &Together);
}


_Use_decl_annotations_
ULONGLONG
SessionLocateStream(
    PCREADER_BLOCKS Blocks,
    ULONGLONG Position
    )
{
    ULONG Index = SessionFindBlock(Blocks, Position);

    return Index < Blocks->Count
               ? Blocks->List[Index].StreamOffset & ~READER_BLOCK_LOST
               : Blocks->NextOffset;
}


_Use_decl_annotations_
VOID
SessionRestBlocks(
    PREADER_BLOCKS Blocks
    )
{
    PCALLOCATOR Allocator;
    ULONG Use;

    if (Blocks == NULL || Blocks->Context == NULL) {
        return;
    }

    Allocator = Blocks->Context->Allocator;
    Allocator->Free(Allocator->Context, Blocks->Piece);
    Blocks->Piece = NULL;
    Blocks->PieceCapacity = 0;
    Blocks->PieceSize = 0;
    for (Use = 0; Use < ReaderBlockUses; Use++) {
        Allocator->Free(Allocator->Context, Blocks->Views[Use].Records);
        RtlZeroBytes(&Blocks->Views[Use], sizeof(Blocks->Views[Use]));
    }
}


_Use_decl_annotations_
VOID
SessionRundownBlocks(
    PREADER_BLOCKS Blocks
    )
{
    PCALLOCATOR Allocator;

    if (Blocks != NULL && Blocks->Context != NULL) {
        SessionRestBlocks(Blocks);
        Allocator = Blocks->Context->Allocator;
        Allocator->Free(Allocator->Context, Blocks->List);
        Blocks->List = NULL;
        Blocks->Capacity = 0;
        Blocks->Begin = 0;
        Blocks->Count = 0;
        Blocks->NextOffset = 0;
        Blocks->NextPosition = 0;
        Blocks->NumberOfFaults = 0;
        Blocks->Searched = 0;
        RtlZeroBytes(&Blocks->Live, sizeof(Blocks->Live));
    }
}
