/*++

Module Name:

    SessionRebuild.c

Abstract:

    A compact store that a pack has becomes a file again.  The same records
    always become the same block: of a store that was closed, each block gets
    the place and the bytes that it had.

--*/

#include "SessionRebuild.h"
#include "SessionStore.h"

//
// No ring of a store that is made again is larger: what is in the file before
// and between blocks may have to be written, zeroes though it is.
//

#define READER_REBUILD_MAXIMUM_RING 0x100000000ULL

typedef struct _READER_REBUILD {
    PCREADER_CONTEXT Context;
    HANDLE Target;
    READER_STORE Store;             // in the pack
    TRACE_STORE_HEADER Header;      // that is written
    CORE_BLOCKS Places;             // of blocks, as that has them
    ULONGLONG StreamOffset;         // of the next block
    ULONGLONG FileSize;
    PCSZ FailedStep;
    ULONGLONG Encoder[CODEC_ENCODER_SIZE / sizeof(ULONGLONG)];
    ULONGLONG Raw[CODEC_MAXIMUM_BYTES / sizeof(ULONGLONG)];
    ULONGLONG Block[CODEC_BOUND(CODEC_MAXIMUM_BYTES) / sizeof(ULONGLONG) + 1];
} READER_REBUILD;
typedef READER_REBUILD *PREADER_REBUILD;


_Must_inspect_result_
static
NTSTATUS
SessionWriteRebuilt(
    _Inout_ PREADER_REBUILD Rebuild,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    NTSTATUS Status;

    Status = RtlWriteFile(Rebuild->Context->Rtl,
                          Rebuild->Target,
                          FileOffset,
                          Bytes,
                          SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        Rebuild->FailedStep = "write the file";
    } else if (Rebuild->FileSize < FileOffset + SizeInBytes) {
        Rebuild->FileSize = FileOffset + SizeInBytes;
    }

    return Status;
}


//
// Encodes the raw bytes and writes the block behind the others.
//

_Must_inspect_result_
static
NTSTATUS
SessionWriteBlock(
    _Inout_ PREADER_REBUILD Rebuild,
    _In_ ULONGLONG Position,
    _In_ ULONG SizeInBytes
    )
{
    PUCHAR Block = (PUCHAR)Rebuild->Block;
    ULONGLONG FileOffset;
    ULONGLONG Together;
    ULONG Size;
    ULONG Part;
    NTSTATUS Status = STATUS_SUCCESS;

    Size = CodecEncode((PCODEC_ENCODER)Rebuild->Encoder,
                       Rebuild->Raw,
                       SizeInBytes,
                       Position,
                       Block);
    while (Size % sizeof(ULONGLONG) != 0) {
        Block[Size] = 0;
        Size += 1;
    }

    while (NT_SUCCESS(Status) && Size != 0) {

        FileOffset = CoreStreamToFileOffset(&Rebuild->Header,
                                            &Rebuild->Places,
                                            Rebuild->StreamOffset,
                                            &Together);
        Part = Size < Together ? Size : (ULONG)Together;
        Status = SessionWriteRebuilt(Rebuild, FileOffset, Block, Part);
        Rebuild->StreamOffset += Part;
        Block += Part;
        Size -= Part;
    }

    return Status;
}


//
// Writes raw records where the ring has them.
//

_Must_inspect_result_
static
NTSTATUS
SessionWriteRaw(
    _Inout_ PREADER_REBUILD Rebuild,
    _In_ ULONGLONG Position,
    _In_ ULONG SizeInBytes
    )
{
    PUCHAR Bytes = (PUCHAR)Rebuild->Raw;
    ULONGLONG FileOffset;
    ULONGLONG Together;
    ULONG Part;
    NTSTATUS Status = STATUS_SUCCESS;

    while (NT_SUCCESS(Status) && SizeInBytes != 0) {

        FileOffset = CorePositionToFileOffset(&Rebuild->Header,
                                              Position,
                                              &Together);
        Part = SizeInBytes < Together ? SizeInBytes : (ULONG)Together;
        Status = SessionWriteRebuilt(Rebuild, FileOffset, Bytes, Part);
        Position += Part;
        Bytes += Part;
        SizeInBytes -= Part;
    }

    return Status;
}


//
// Reads the records of a block of the pack, or of a part of it.
// Position: of the first.
// Limit: where to end at the latest.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadPacked(
    _Inout_ PREADER_REBUILD Rebuild,
    _In_ ULONGLONG Position,
    _In_ ULONGLONG Limit,
    _Out_ PULONG SizeInBytes
    )
{
    PREADER_STORE Store = &Rebuild->Store;
    PREADER_PACK_VIEW View = &Store->PackView;
    ULONGLONG FileOffset = Position - Store->PackShift;
    ULONGLONG Size;
    NTSTATUS Status;

    *SizeInBytes = 0;
    Status = BaseMovePackView(Store->Pack, Store->PackFile, FileOffset, View);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // Somebody else's blocks may end within a record.
    //

    Size = View->SizeInBytes - (FileOffset - View->FileOffset);
    if (Size % TRACE_RECORD_SIZE != 0) {
        Size = CODEC_MAXIMUM_BYTES;
    }

    if (Size > Limit - Position) {
        Size = Limit - Position;
    }

    Status = BaseReadPack(Store->Pack,
                          Store->PackFile,
                          FileOffset,
                          Rebuild->Raw,
                          (ULONG)Size,
                          View,
                          SizeInBytes);
    return NT_SUCCESS(Status) && *SizeInBytes != Size
               ? STATUS_FILE_CORRUPT_ERROR
               : Status;
}


//
// Writes all of the store, as the header says.
//

_Must_inspect_result_
static
NTSTATUS
SessionWriteAll(
    _Inout_ PREADER_REBUILD Rebuild
    )
{
    PREADER_STORE Store = &Rebuild->Store;
    ULONGLONG Position = Store->StartOfRecords;
    ULONGLONG End;
    ULONG Size;
    NTSTATUS Status = STATUS_SUCCESS;

    Rebuild->FileSize = 0;
    CoreReadBlocks(&Rebuild->Header, &Rebuild->Places);
    Rebuild->StreamOffset = Rebuild->Places.Oldest;
    while (NT_SUCCESS(Status) && Position < Store->EndOfRecords) {

        End = Position < Rebuild->Places.First &&
                      Rebuild->Places.First < Store->EndOfRecords
                  ? Rebuild->Places.First
                  : Store->EndOfRecords;
        Status = SessionReadPacked(Rebuild, Position, End, &Size);
        if (!NT_SUCCESS(Status)) {
            Rebuild->FailedStep = "read the pack";
            break;
        }

        Status = Position < Rebuild->Places.First
                     ? SessionWriteBlock(Rebuild, Position, Size)
                     : SessionWriteRaw(Rebuild, Position, Size);
        Position += Size;
    }

    if (NT_SUCCESS(Status) &&
        Rebuild->Header.HeaderSize > sizeof(Rebuild->Header)) {

        Size = Rebuild->Header.HeaderSize - sizeof(Rebuild->Header);
        Status = BaseReadPack(Store->Pack,
                              Store->PackFile,
                              sizeof(Rebuild->Header),
                              Rebuild->Raw,
                              Size,
                              &Store->PackView,
                              &Size);
        if (NT_SUCCESS(Status)) {
            Status = SessionWriteRebuilt(Rebuild,
                                         sizeof(Rebuild->Header),
                                         Rebuild->Raw,
                                         Size);
        } else {
            Rebuild->FailedStep = "read the pack";
        }
    }

    return Status;
}


//
// Finds places for blocks whose sizes are not what they were.
//

static
VOID
SessionPlaceBlocks(
    _Inout_ PREADER_REBUILD Rebuild
    )
{
    PTRACE_STORE_HEADER Header = &Rebuild->Header;
    ULONGLONG Size = Rebuild->StreamOffset - Rebuild->Places.Oldest;

    Header->BlocksTail = TRACE_BLOCKS_NO_TAIL;
    Header->BlocksFileOffset = Header->RingFileOffset +
                               Header->RingSizeInBytes;
    if (Header->BlocksCapacity == 0) {
        Header->BlocksFirst = 0;
    } else {

        if (Header->BlocksCapacity < Size) {
            Header->BlocksCapacity = (Size + Header->RingFileOffset - 1) &
                                     ~(Header->RingFileOffset - 1);
        }

        //
        // No stream is that long; what comes around has any beginning but 0.
        //

        if (Header->BlocksFirst > CORE_MAXIMUM_STREAM / 2) {
            Header->BlocksFirst = Header->BlocksCapacity;
        }
    }

    Header->BlocksEnd = Header->BlocksFirst + Size;
}


//
// Whether the blocks can be where the header says: no farther apart than some
// writer has them.
//

static
BOOLEAN
SessionArePlacesGood(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ PCCORE_BLOCKS Places
    )
{
    return CoreAreBlocksGood(Header, Places) &&
           Header->BlocksFileOffset <=
               Header->RingFileOffset + Header->RingSizeInBytes &&
           (Header->BlocksCapacity != 0 || Places->Oldest == 0) &&
           (Places->Tail == TRACE_BLOCKS_NO_TAIL ||
            Places->Tail <= Places->End);
}


_Use_decl_annotations_
NTSTATUS
SessionRebuildStore(
    PCREADER_CONTEXT Context,
    PREADER_PACK Pack,
    ULONG File,
    HANDLE Target,
    PULONGLONG SizeInBytes,
    PCSZ *FailedStep
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_REBUILD Rebuild;
    PREADER_STORE Store;
    NTSTATUS Status;

    *SizeInBytes = 0;
    *FailedStep = "read the pack";
    Rebuild = (PREADER_REBUILD)Allocator->Allocate(Allocator->Context,
                                                   sizeof(*Rebuild));
    if (Rebuild == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(&Rebuild->Store, sizeof(Rebuild->Store));
    Rebuild->Context = Context;
    Rebuild->Target = Target;
    Rebuild->FailedStep = *FailedStep;
    Store = &Rebuild->Store;
    Store->IsWriterGone = TRUE;
    Status = SessionOpenPackedStore(Context, Pack, File, Store);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (Store->HeaderResult.State != CoreHeaderValid ||
        Store->EndState != CoreEndValid ||
        !READER_IS_STORE_COMPACT(Store)) {
        Status = STATUS_NOT_SUPPORTED;
        goto End;
    }

    if (Store->Header->RingSizeInBytes > READER_REBUILD_MAXIMUM_RING ||
        Store->Header->RingFileOffset > READER_REBUILD_MAXIMUM_RING ||
        Store->Header->BlocksCapacity > READER_PACK_MAXIMUM_GAPS) {
        Rebuild->FailedStep = "make the file (its rings would be too large)";
        Status = STATUS_FILE_CORRUPT_ERROR;
        goto End;
    }

    RtlCopyBytes(&Rebuild->Header, Store->Header, sizeof(Rebuild->Header));
    CoreReadBlocks(&Rebuild->Header, &Rebuild->Places);
    if (!SessionArePlacesGood(&Rebuild->Header, &Rebuild->Places)) {
        Rebuild->StreamOffset = Rebuild->Places.Oldest;
        SessionPlaceBlocks(Rebuild);
    }

    Status = SessionWriteAll(Rebuild);
    if (NT_SUCCESS(Status) &&
        Rebuild->StreamOffset != Rebuild->Places.End) {

        SessionPlaceBlocks(Rebuild);
        Status = RtlSetFileSize(Context->Rtl, Target, 0);
        if (NT_SUCCESS(Status)) {
            Status = SessionWriteAll(Rebuild);
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = SessionWriteRebuilt(Rebuild,
                                     0,
                                     &Rebuild->Header,
                                     sizeof(Rebuild->Header));
        *SizeInBytes = Rebuild->FileSize;
    }

End:
    *FailedStep = Rebuild->FailedStep;
    SessionRundownStore(Context, Store);
    Allocator->Free(Allocator->Context, Rebuild);
    return Status;
}
