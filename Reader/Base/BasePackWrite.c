/*++

Module Name:

    BasePackWrite.c

Abstract:

    Makes a pack.

--*/

#include "BaseContainer.h"
#include "BaseCrc.h"
#include "BasePackWrite.h"

struct _READER_PACK_WRITER {
    PCREADER_CONTEXT Context;
    HANDLE File;                    // the caller's
    PREADER_PACK_FILE Files;
    PREADER_PACK_BLOCK Blocks;
    PCHAR Names;
    ULONG NumberOfFiles;
    ULONG CapacityOfFiles;
    ULONG NumberOfBlocks;
    ULONG CapacityOfBlocks;
    ULONG SizeOfNames;              // bytes
    ULONG CapacityOfNames;
    ULONGLONG Gaps;                 // bytes of all files that no block has
    ULONGLONG End;                  // of the blocks that are written
    ULONGLONG FileOffset;           // of the bytes that are gathered
    ULONG Gathered;                 // how many they are
    BOOLEAN IsDense;
    ULONGLONG Encoder[CODEC_PACKER_SIZE / sizeof(ULONGLONG)];
    ULONGLONG Raw[CODEC_MAXIMUM_BYTES / sizeof(ULONGLONG)];
    ULONGLONG Block[CODEC_BOUND(CODEC_MAXIMUM_BYTES) / sizeof(ULONGLONG) + 1];
};

C_ASSERT(CODEC_ENCODER_SIZE <= CODEC_PACKER_SIZE);


_Use_decl_annotations_
NTSTATUS
BaseCreatePackWriter(
    PCREADER_CONTEXT Context,
    HANDLE File,
    BOOLEAN IsDense,
    PREADER_PACK_WRITER *Writer
    )
{
    READER_PACK_HEADER Header;
    PREADER_PACK_WRITER New;
    NTSTATUS Status;

    *Writer = NULL;
    New = (PREADER_PACK_WRITER)
        Context->Allocator->Allocate(Context->Allocator->Context,
                                     sizeof(*New));
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    New->Context = Context;
    New->File = File;
    New->IsDense = IsDense;
    New->End = sizeof(Header);
    RtlZeroBytes(&Header, sizeof(Header));
    Header.Magic = READER_PACK_MAGIC;
    Header.Version = READER_PACK_VERSION;
    Header.HeaderSize = sizeof(Header);
    Status = RtlWriteFile(Context->Rtl, File, 0, &Header, sizeof(Header));
    if (!NT_SUCCESS(Status)) {
        Context->Allocator->Free(Context->Allocator->Context, New);
        return Status;
    }

    *Writer = New;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
BaseDestroyPackWriter(
    PREADER_PACK_WRITER Writer
    )
{
    PCALLOCATOR Allocator;

    if (Writer != NULL) {
        Allocator = Writer->Context->Allocator;
        Allocator->Free(Allocator->Context, Writer->Files);
        Allocator->Free(Allocator->Context, Writer->Blocks);
        Allocator->Free(Allocator->Context, Writer->Names);
        Allocator->Free(Allocator->Context, Writer);
    }
}


_Use_decl_annotations_
NTSTATUS
BaseBeginPackFile(
    PREADER_PACK_WRITER Writer,
    const CHAR *Name,
    ULONG NameLength,
    ULONGLONG SizeInBytes
    )
{
    PCALLOCATOR Allocator = Writer->Context->Allocator;
    PREADER_PACK_FILE File;
    NTSTATUS Status;

    if (Writer->NumberOfFiles == READER_PACK_MAXIMUM_FILES) {
        return STATUS_NOT_SUPPORTED;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Writer->Files,
                           &Writer->CapacityOfFiles,
                           Writer->NumberOfFiles + 1,
                           sizeof(READER_PACK_FILE));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Writer->Names,
                               &Writer->CapacityOfNames,
                               Writer->SizeOfNames + NameLength,
                               sizeof(CHAR));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    File = &Writer->Files[Writer->NumberOfFiles];
    Writer->NumberOfFiles += 1;
    File->SizeInBytes = SizeInBytes;
    File->FirstBlock = Writer->NumberOfBlocks;
    File->NumberOfBlocks = 0;
    File->Name = Writer->SizeOfNames;
    File->NameLength = NameLength;
    RtlCopyBytes(Writer->Names + Writer->SizeOfNames, Name, NameLength);
    Writer->SizeOfNames += NameLength;
    Writer->Gathered = 0;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
BaseEndPackBlock(
    PREADER_PACK_WRITER Writer
    )
{
    PREADER_PACK_BLOCK Block;
    PCCODEC_BLOCK Header = (PCCODEC_BLOCK)Writer->Block;
    ULONG Size;
    ULONG Padded;
    NTSTATUS Status;

    if (Writer->Gathered == 0) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Writer->Context->Allocator,
                           (PVOID *)&Writer->Blocks,
                           &Writer->CapacityOfBlocks,
                           Writer->NumberOfBlocks + 1,
                           sizeof(READER_PACK_BLOCK));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Size = Writer->IsDense ? CodecPack((PCODEC_PACKER)Writer->Encoder,
                                       Writer->Raw,
                                       Writer->Gathered,
                                       Writer->FileOffset,
                                       Writer->Block)
                           : CodecEncode((PCODEC_ENCODER)Writer->Encoder,
                                         Writer->Raw,
                                         Writer->Gathered,
                                         Writer->FileOffset,
                                         Writer->Block);

    Block = &Writer->Blocks[Writer->NumberOfBlocks];
    Block->PackOffset = Writer->End;
    Block->FileOffset = Writer->FileOffset;
    Block->BlockSize = Size;
    Block->RawBytes = Writer->Gathered;
    Block->FirstTimestamp = Header->FirstTimestamp;
    Padded = Size;
    while (Padded % sizeof(ULONGLONG) != 0) {
        ((PUCHAR)Writer->Block)[Padded] = 0;
        Padded += 1;
    }

    Status = RtlWriteFile(Writer->Context->Rtl,
                          Writer->File,
                          Writer->End,
                          Writer->Block,
                          Padded);
    if (NT_SUCCESS(Status)) {
        Writer->NumberOfBlocks += 1;
        Writer->End += Padded;
        Writer->Gathered = 0;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseWritePackFile(
    PREADER_PACK_WRITER Writer,
    ULONGLONG FileOffset,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    const UCHAR *Byte = (const UCHAR *)Bytes;
    ULONG Size;
    NTSTATUS Status;

    while (SizeInBytes != 0) {

        if (Writer->Gathered == CODEC_MAXIMUM_BYTES ||
            FileOffset != Writer->FileOffset + Writer->Gathered) {
            Status = BaseEndPackBlock(Writer);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (Writer->Gathered == 0) {
            Writer->FileOffset = FileOffset;
        }

        Size = CODEC_MAXIMUM_BYTES - Writer->Gathered;
        if (Size > SizeInBytes) {
            Size = SizeInBytes;
        }

        RtlCopyBytes((PUCHAR)Writer->Raw + Writer->Gathered, Byte, Size);
        Writer->Gathered += Size;
        FileOffset += Size;
        Byte += Size;
        SizeInBytes -= Size;
    }

    return STATUS_SUCCESS;
}


static
LONG
BaseComparePackBlocks(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_PACK_BLOCK Blocks = (PCREADER_PACK_BLOCK)CompareContext;

    return Blocks[First].FileOffset < Blocks[Second].FileOffset ? -1 : 1;
}


//
// Puts a file's blocks in the order of their bytes.
//

_Must_inspect_result_
static
NTSTATUS
BaseSortPackBlocks(
    _In_ PCREADER_CONTEXT Context,
    _Inout_updates_(Count) PREADER_PACK_BLOCK Blocks,
    _In_ ULONG Count
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PREADER_PACK_BLOCK Sorted;
    PULONG Order;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 1; Index < Count; Index++) {
        if (Blocks[Index].FileOffset < Blocks[Index - 1].FileOffset) {
            break;
        }
    }

    if (Index >= Count) {
        return STATUS_SUCCESS;
    }

    Sorted = (PREADER_PACK_BLOCK)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Count * sizeof(READER_PACK_BLOCK));
    Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                        (SIZE_T)Count * sizeof(ULONG));
    if (Sorted == NULL || Order == NULL) {
        Status = STATUS_NO_MEMORY;
    } else {

        for (Index = 0; Index < Count; Index++) {
            Order[Index] = Index;
        }

        BaseSort(Order, Count, BaseComparePackBlocks, Blocks);
        for (Index = 0; Index < Count; Index++) {
            Sorted[Index] = Blocks[Order[Index]];
        }

        RtlCopyBytes(Blocks,
                     Sorted,
                     (SIZE_T)Count * sizeof(READER_PACK_BLOCK));
    }

    Allocator->Free(Allocator->Context, Sorted);
    Allocator->Free(Allocator->Context, Order);
    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseEndPackFile(
    PREADER_PACK_WRITER Writer
    )
{
    PREADER_PACK_FILE File = &Writer->Files[Writer->NumberOfFiles - 1];
    PREADER_PACK_BLOCK Blocks;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseEndPackBlock(Writer);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // The first files of a pack may be empty: then there is no array yet.
    //

    Blocks = Writer->Blocks;
    if (Blocks != NULL) {
        Blocks += File->FirstBlock;
    }

    File->NumberOfBlocks = Writer->NumberOfBlocks - (ULONG)File->FirstBlock;
    Status = BaseSortPackBlocks(Writer->Context, Blocks, File->NumberOfBlocks);
    for (Index = 1;
         NT_SUCCESS(Status) && Index < File->NumberOfBlocks;
         Index++) {
        if (Blocks[Index - 1].FileOffset + Blocks[Index - 1].RawBytes >
            Blocks[Index].FileOffset) {
            Status = STATUS_INVALID_PARAMETER;
        }
    }

    Writer->Gaps += File->SizeInBytes;
    for (Index = 0; Index < File->NumberOfBlocks; Index++) {
        Writer->Gaps -= Blocks[Index].RawBytes;
    }

    if (NT_SUCCESS(Status) && Writer->Gaps > READER_PACK_MAXIMUM_GAPS) {
        Status = STATUS_NOT_SUPPORTED;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseEndPack(
    PREADER_PACK_WRITER Writer
    )
{
    PCALLOCATOR Allocator = Writer->Context->Allocator;
    const struct {
        const VOID *Bytes;
        ULONGLONG SizeInBytes;
    } Parts[] = {
        { Writer->Files,
          (ULONGLONG)Writer->NumberOfFiles * sizeof(READER_PACK_FILE) },
        { Writer->Blocks,
          (ULONGLONG)Writer->NumberOfBlocks * sizeof(READER_PACK_BLOCK) },
        { Writer->Names, Writer->SizeOfNames }
    };
    READER_PACK_END End;
    PREADER_CRC_TABLES Tables;
    ULONGLONG Offset = Writer->End;
    ULONG Crc = READER_CRC_START;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Parts[0].SizeInBytes + Parts[1].SizeInBytes + Parts[2].SizeInBytes >
        READER_PACK_MAXIMUM_SIZE) {
        return STATUS_NOT_SUPPORTED;
    }

    Tables = (PREADER_CRC_TABLES)Allocator->Allocate(Allocator->Context,
                                                     sizeof(*Tables));
    if (Tables == NULL) {
        return STATUS_NO_MEMORY;
    }

    BaseMakeCrcTables(Tables);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < RTL_NUMBER_OF(Parts);
         Index++) {

        if (Parts[Index].SizeInBytes == 0) {
            continue;
        }

        Crc = BaseAddToCrc(Tables,
                           Crc,
                           Parts[Index].Bytes,
                           (ULONG)Parts[Index].SizeInBytes);
        Status = RtlWriteFile(Writer->Context->Rtl,
                              Writer->File,
                              Offset,
                              Parts[Index].Bytes,
                              (ULONG)Parts[Index].SizeInBytes);
        Offset += Parts[Index].SizeInBytes;
    }

    RtlZeroBytes(&End, sizeof(End));
    End.Magic = READER_PACK_END_MAGIC;
    End.Version = READER_PACK_VERSION;
    End.NumberOfFiles = Writer->NumberOfFiles;
    End.NumberOfBlocks = Writer->NumberOfBlocks;
    End.FilesOffset = Writer->End;
    End.SizeOfNames = Writer->SizeOfNames;
    End.Crc = ~BaseAddToCrc(Tables,
                            Crc,
                            &End,
                            FIELD_OFFSET(READER_PACK_END, Crc));
    Allocator->Free(Allocator->Context, Tables);
    if (NT_SUCCESS(Status)) {
        Status = RtlWriteFile(Writer->Context->Rtl,
                              Writer->File,
                              Offset,
                              &End,
                              sizeof(End));
    }

    return Status;
}
