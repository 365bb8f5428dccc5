/*++

Module Name:

    SessionPack.c

Abstract:

    A store goes into a pack.  The records of one that keeps everything, or of a
    ring, have the places that they have in their file; those of a compact store
    follow each other from the oldest on, each of its blocks in one of the pack.

--*/

#include "SessionCopy.h"
#include "SessionPack.h"

//
// So many bytes that cannot be read are zeroes in the entry of a ring, whose
// records would begin behind a gap.
//

#define READER_PACKED_LOST 0x4000000ULL


//
// Gives records to the entry, at the place that they have in their file.
//

_Must_inspect_result_
static
NTSTATUS
SessionPlacePacked(
    _In_ const READER_PACKED_STORE *Packed,
    _In_ ULONGLONG Position,
    _In_reads_bytes_(SizeInBytes) const VOID *Records,
    _In_ ULONG SizeInBytes
    )
{
    ULONGLONG Available;

    return BaseWritePackFile(
        Packed->Writer,
        READER_IS_STORE_COMPACT(Packed->Store)
            ? Position - Packed->Shift
            : CorePositionToFileOffset(Packed->Store->Header,
                                       Position,
                                       &Available),
        Records,
        SizeInBytes);
}


//
// Goes on to a position.  What lies before it was overwritten, or cannot be
// read.
//

_Must_inspect_result_
static
NTSTATUS
SessionPassPacked(
    _Inout_ PREADER_PACKED_STORE Packed,
    _In_ ULONGLONG Position
    )
{
    static const UCHAR Zeroes[4096] = { 0 };
    ULONGLONG Size = Position - Packed->Position;
    ULONG Part;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Packed->Store->StartOfRecords >= Position) {

        Packed->NumberOvertaken += Size / TRACE_RECORD_SIZE;

    } else if (Packed->Store->Header->BlocksCapacity != 0 &&
               Size <= READER_PACKED_LOST) {

        for (; NT_SUCCESS(Status) && Size != 0; Size -= Part) {
            Part = Size < sizeof(Zeroes) ? (ULONG)Size : sizeof(Zeroes);
            Status = SessionPlacePacked(Packed,
                                        Position - Size,
                                        Zeroes,
                                        Part);
        }
    }

    Packed->Position = Position;
    return Status;
}


//
// Gives records to the entry: a READER_RECORDS_ROUTINE.  What is a block of a
// compact store becomes one of the pack.
//

static
NTSTATUS
SessionPackRecords(
    _In_ PVOID Target,
    _In_ ULONGLONG Position,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    PREADER_PACKED_STORE Packed = (PREADER_PACKED_STORE)Target;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Position != Packed->Position) {
        Status = SessionPassPacked(Packed, Position);
    }

    if (NT_SUCCESS(Status) && Position <= Packed->Blocks) {
        Status = BaseEndPackBlock(Packed->Writer);
    }

    if (NT_SUCCESS(Status)) {
        Status = SessionPlacePacked(Packed,
                                     Position,
                                     Records,
                                     NumberOfRecords * TRACE_RECORD_SIZE);
    }

    Packed->Position = Position +
                       (ULONGLONG)NumberOfRecords * TRACE_RECORD_SIZE;
    return Status;
}


//
// Makes a header publish the records that were copied. One that does so
// already stays as it is.
// Header: a copy of the store's.
// First: where a ring's records begin; 0: where they always did.
// End: where they end.
//

static
VOID
SessionSettleHeader(
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ ULONGLONG First,
    _In_ ULONGLONG End
    )
{
    if ((Header->Generation & 1) != 0) {
        Header->ViewFileOffset = End;
    } else {
        Header->Cursor = End - Header->CursorToFileOffset;
    }

    if (Header->Mode != TRACE_MODE_COMPACT && Header->RingSizeInBytes != 0) {
        Header->FirstPosition = First;
    }
}


//
// The same for the blocks of a compact store that were copied.
//

static
VOID
SessionSettleBlocks(
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ const READER_PACKED_STORE *Packed
    )
{
    PCREADER_BLOCKS Blocks = Packed->Store->Blocks;

    if (CoreReadFirstRecord(Header) != Packed->Blocks) {
        Header->FirstPosition = Packed->Blocks;
    }

    Header->BlocksFirst = SessionLocateStream(Blocks,
                                              Packed->Store->StartOfRecords);
    Header->BlocksEnd = SessionLocateStream(Blocks, Packed->Blocks);
}


_Use_decl_annotations_
ULONGLONG
SessionBeginPackedStore(
    PCREADER_CONTEXT Context,
    PREADER_PACK_WRITER Writer,
    PREADER_STORE Store,
    PREADER_PACKED_STORE Packed
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG RingEnd = Header->RingFileOffset + Header->RingSizeInBytes;

    RtlZeroBytes(Packed, sizeof(*Packed));
    Packed->Context = Context;
    Packed->Writer = Writer;
    Packed->Store = Store;
    Packed->Position = Store->StartOfRecords;
    Packed->End = Store->EndOfRecords;
    if (READER_IS_STORE_COMPACT(Store)) {

        if (Packed->Position > Packed->End) {
            Packed->Position = Packed->End;
        }

        Packed->Blocks = Store->Blocks->Live.First;
        Packed->Shift = Packed->Position - Header->HeaderSize;
        return Packed->End - Packed->Shift;
    }

    return Header->RingSizeInBytes != 0 && RingEnd < Packed->End
               ? RingEnd
               : Packed->End;
}


//
// Copies the records, and what a long header has behind the first bytes of it.
//

_Must_inspect_result_
static
NTSTATUS
SessionPackContents(
    _Inout_ PREADER_PACKED_STORE Packed,
    _Out_writes_bytes_(SizeInBytes) PVOID Buffer,
    _In_ ULONG SizeInBytes,
    _Out_ NTSTATUS *WriteStatus
    )
{
    PREADER_STORE Store = Packed->Store;
    ULONG HeaderSize = Store->Header->HeaderSize;
    ULONG ReadInBytes;
    NTSTATUS Status;

    *WriteStatus = STATUS_SUCCESS;
    if (HeaderSize > TRACE_HEADER_SIZE) {

        Status = RtlReadFile(Packed->Context->Rtl,
                             Store->File,
                             TRACE_HEADER_SIZE,
                             Buffer,
                             HeaderSize - TRACE_HEADER_SIZE,
                             &ReadInBytes);
        if (NT_SUCCESS(Status)) {
            *WriteStatus = BaseWritePackFile(Packed->Writer,
                                             TRACE_HEADER_SIZE,
                                             Buffer,
                                             ReadInBytes);
        } else if (Status != STATUS_END_OF_FILE) {
            return Status;
        }
    }

    if (NT_SUCCESS(*WriteStatus)) {
        *WriteStatus = BaseEndPackBlock(Packed->Writer);
    }

    if (!NT_SUCCESS(*WriteStatus)) {
        return STATUS_SUCCESS;
    }

    Status = SessionCopyRecords(Packed->Context,
                                Store,
                                Buffer,
                                SizeInBytes,
                                SessionPackRecords,
                                Packed,
                                WriteStatus);
    if (NT_SUCCESS(Status) && NT_SUCCESS(*WriteStatus) &&
        READER_IS_STORE_COMPACT(Store) && Packed->Position < Packed->End) {
        *WriteStatus = SessionPassPacked(Packed, Packed->End);
    }

    return Status;
}


//
// Has the header say what a ring has, or which blocks there are, now that all
// of it is copied, and counts it.
//

static
VOID
SessionSettlePacked(
    _Inout_ PREADER_PACKED_STORE Packed,
    _Inout_ PTRACE_STORE_HEADER Header
    )
{
    PREADER_STORE Store = Packed->Store;
    BOOLEAN IsCompact = READER_IS_STORE_COMPACT(Store);
    ULONGLONG End = Packed->End;
    ULONGLONG First = 0;

    if (Header->RingSizeInBytes != 0 && !IsCompact &&
        Store->StartOfRecords > Header->HeaderSize) {
        First = Store->StartOfRecords;
    }

    //
    // If its writer has passed the end there was, nothing is left.
    //

    if (First > End) {
        First = 0;
        End = Header->HeaderSize;
    }

    SessionSettleHeader(Header, First, End);
    if (IsCompact) {
        SessionSettleBlocks(Header, Packed);
    }

    if (Packed->Position < Packed->End &&
        Packed->Position < Store->StartOfRecords) {
        Packed->NumberOvertaken += (Store->StartOfRecords -
                                    Packed->Position) / TRACE_RECORD_SIZE;
    }

    if (Store->StartOfRecords < End) {
        Packed->NumberOfRecords = (End - Store->StartOfRecords) /
                                  TRACE_RECORD_SIZE;
    }
}


_Use_decl_annotations_
NTSTATUS
SessionPackStore(
    PREADER_PACKED_STORE Packed,
    PVOID Buffer,
    ULONG SizeInBytes,
    NTSTATUS *WriteStatus
    )
{
    PCALLOCATOR Allocator = Packed->Context->Allocator;
    PTRACE_STORE_HEADER Header;
    BOOLEAN IsRing = Packed->Store->Header->RingSizeInBytes != 0;
    NTSTATUS Status = STATUS_SUCCESS;

    Header = (PTRACE_STORE_HEADER)Allocator->Allocate(Allocator->Context,
                                                      sizeof(*Header));
    if (Header == NULL) {
        *WriteStatus = STATUS_NO_MEMORY;
        return STATUS_SUCCESS;
    }

    //
    // What a ring has is known when all of it is copied: its header comes last.
    //

    RtlCopyBytes(Header, Packed->Store->Header, sizeof(*Header));
    *WriteStatus = STATUS_SUCCESS;
    if (!IsRing) {
        SessionSettleHeader(Header, 0, Packed->End);
        *WriteStatus = BaseWritePackFile(Packed->Writer,
                                         0,
                                         Header,
                                         sizeof(*Header));
    }

    if (NT_SUCCESS(*WriteStatus)) {
        Status = SessionPackContents(Packed,
                                     Buffer,
                                     SizeInBytes,
                                     WriteStatus);
    }

    if (NT_SUCCESS(Status) && NT_SUCCESS(*WriteStatus)) {
        SessionSettlePacked(Packed, Header);
        if (IsRing) {
            *WriteStatus = BaseWritePackFile(Packed->Writer,
                                             0,
                                             Header,
                                             sizeof(*Header));
        }
    }

    if (NT_SUCCESS(Status) && NT_SUCCESS(*WriteStatus)) {
        *WriteStatus = BaseEndPackFile(Packed->Writer);
    }

    Allocator->Free(Allocator->Context, Header);
    return Status;
}
