/*++

Module Name:

    EtlFile.c

Abstract:

    What a log says of itself, and where its buffers are.

--*/

#include "../Base/BaseContainer.h"
#include "EtlFile.h"

//
// What is read of the first buffer: as much as describes the log.
//

#define ETL_EVENTS_OFFSET sizeof(ETL_BUFFER_HEADER)

#define ETL_LOG_SIZE(PointerSize)                                           \
    (ETL_EVENTS_OFFSET + sizeof(ETL_SYSTEM_HEADER) +                        \
     ETL_LOG_TAIL_OFFSET(PointerSize) + sizeof(ETL_LOG_TAIL))

C_ASSERT(ETL_LOG_SIZE(8) == 0x48 + 32 + 280);
C_ASSERT(ETL_LOG_SIZE(4) == 0x48 + 32 + 272);


static
NTSTATUS
EtlRefuse(
    _Inout_ PETL_FILE File,
    _In_z_ PCSZ Problem
    )
{
    File->Problem = Problem;
    return STATUS_FILE_INVALID;
}


//
// Reads what describes the log.
//

_Must_inspect_result_
static
NTSTATUS
EtlReadLogHeader(
    _Inout_ PETL_FILE File
    )
{
    union {
        ULONGLONG Alignment;
        ETL_BUFFER_HEADER Buffer;
        UCHAR Bytes[ETL_LOG_SIZE(8)];
    } First;
    PCETL_SYSTEM_HEADER Event =
        (PCETL_SYSTEM_HEADER)(const VOID *)(First.Bytes + ETL_EVENTS_OFFSET);
    PCETL_LOG_HEADER Log = (PCETL_LOG_HEADER)(const VOID *)(Event + 1);
    PCETL_LOG_TAIL Tail;
    ULONG SizeInBytes;
    NTSTATUS Status;

    RtlZeroBytes(&First, sizeof(First));
    SizeInBytes = File->SizeInBytes < sizeof(First)
                      ? (ULONG)File->SizeInBytes
                      : (ULONG)sizeof(First);
    Status = File->Read(File->ReadContext, 0, &First, SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (SizeInBytes < ETL_LOG_SIZE(4) ||
        First.Buffer.SizeInBytes < ETL_LOG_SIZE(4) ||
        First.Buffer.SizeInBytes > ETL_MAXIMUM_BUFFER ||
        (First.Buffer.Flags & ETL_BUFFER_COMPRESSED) != 0 ||
        Event->Marker.Flags != (ETL_MARKER_TRACE | ETL_MARKER_EVENT) ||
        (Event->Marker.Type != ETL_TYPE_SYSTEM32 &&
         Event->Marker.Type != ETL_TYPE_SYSTEM64) ||
        Event->Marker.Hook != ETL_HOOK_HEADER) {
        return EtlRefuse(File, "it is not an event trace log");
    }

    if (Log->PointerSize != 4 && Log->PointerSize != 8) {
        return EtlRefuse(File, "its pointers have neither 4 nor 8 bytes");
    }

    if (SizeInBytes < ETL_LOG_SIZE(Log->PointerSize) ||
        First.Buffer.SizeInBytes < ETL_LOG_SIZE(Log->PointerSize)) {
        return EtlRefuse(File, "it is not an event trace log");
    }

    Tail = (PCETL_LOG_TAIL)(const VOID *)
        ((const UCHAR *)Log + ETL_LOG_TAIL_OFFSET(Log->PointerSize));
    File->PointerSize = Log->PointerSize;
    File->NumberOfProcessors = Log->NumberOfProcessors;
    File->Mode = Log->Mode;
    File->BuffersWritten = Log->BuffersWritten;
    File->EventsLost = Log->EventsLost;
    File->BuffersLost = Tail->BuffersLost;
    File->ClockType = Tail->ClockType;
    File->Frequency = Tail->Frequency;
    File->StartTime = Tail->StartTime;
    File->EndTime = Log->EndTime;
    File->StartTimestamp = Event->Timestamp;
    if ((Log->Mode & ETL_MODE_COMPRESSED) != 0) {
        File->Method = First.Buffer.State & 0xFFFF;
    }

    switch (File->ClockType) {

    case ETL_CLOCK_COUNTER:
        if (File->Frequency == 0) {
            return EtlRefuse(File, "the rate of its clock is not in it");
        }

        return STATUS_SUCCESS;

    case ETL_CLOCK_CYCLES:
        return STATUS_SUCCESS;

    case ETL_CLOCK_SYSTEM:
        return EtlRefuse(File,
                         "its times are system times, which cannot be joined; "
                         "record with the performance counter");

    default:
        return EtlRefuse(File, "the clock of its times is not known");
    }
}


//
// Decides where a buffer's events end, decompressed.
//

static
ULONG
EtlFindUsed(
    _In_ PCETL_BUFFER_HEADER Header
    )
{
    ULONG Most = (Header->Flags & ETL_BUFFER_COMPRESSED) != 0
                     ? ETL_MAXIMUM_BUFFER
                     : Header->SizeInBytes;

    if (Header->SavedOffset >= sizeof(*Header) &&
        Header->SavedOffset <= Most) {
        return Header->SavedOffset;
    }

    if (Header->Offset >= sizeof(*Header) && Header->Offset <= Most) {
        return Header->Offset;
    }

    return (Header->Flags & ETL_BUFFER_COMPRESSED) != 0 ? sizeof(*Header)
                                                        : Header->SizeInBytes;
}


//
// Finds the buffers, up to where the file ends or has something else.
//

_Must_inspect_result_
static
NTSTATUS
EtlFindBuffers(
    _Inout_ PETL_FILE File
    )
{
    ETL_BUFFER_HEADER Header;
    ULONGLONG Offset = 0;
    PETL_BUFFER Buffer;
    NTSTATUS Status;

    while (Offset != File->SizeInBytes) {

        if (File->SizeInBytes - Offset < sizeof(Header)) {
            File->IsCutOff = TRUE;
            break;
        }

        Status = File->Read(File->ReadContext, Offset, &Header, sizeof(Header));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Header.SizeInBytes < sizeof(Header) ||
            Header.SizeInBytes > ETL_MAXIMUM_BUFFER ||
            Header.SizeInBytes > File->SizeInBytes - Offset) {

            //
            // Space that the log never came to use is no part of it.
            //

            File->IsCutOff = Header.SizeInBytes != 0 ||
                             File->NumberOfBuffers < File->BuffersWritten;
            break;
        }

        Status = BaseGrowArray(File->Allocator,
                               (PVOID *)&File->Buffers,
                               &File->CapacityOfBuffers,
                               File->NumberOfBuffers + 1,
                               sizeof(ETL_BUFFER));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Buffer = &File->Buffers[File->NumberOfBuffers];
        File->NumberOfBuffers += 1;
        Buffer->Offset = Offset;
        Buffer->Sequence = Header.Sequence;
        Buffer->SizeInBytes = Header.SizeInBytes;
        Buffer->UsedInBytes = EtlFindUsed(&Header);
        Buffer->Flags = Header.Flags;
        Buffer->Processor = (Header.Flags & ETL_BUFFER_INDEX) != 0
                                ? Header.Processor & ETL_PROCESSOR_MASK
                                : Header.Processor & 0xFF;
        if ((File->Mode & ETL_MODE_SHARED_BUFFERS) != 0) {
            Buffer->Processor = 0;
        }

        if (File->LargestBuffer < Buffer->SizeInBytes) {
            File->LargestBuffer = Buffer->SizeInBytes;
        }

        if (File->LargestUsed < Buffer->UsedInBytes) {
            File->LargestUsed = Buffer->UsedInBytes;
        }

        File->NumberCompressed += (Header.Flags & ETL_BUFFER_COMPRESSED) != 0;
        Offset += Header.SizeInBytes;
    }

    if (File->NumberOfBuffers == 0) {
        return EtlRefuse(File, "it ends in its first buffer");
    }

    if (File->NumberOfBuffers < File->BuffersWritten) {
        File->IsCutOff = TRUE;
    }

    return STATUS_SUCCESS;
}


//
// Orders buffers by number, then by place; READER_COMPARE.
//

static
LONG
EtlCompareNumbers(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCETL_FILE File = (PCETL_FILE)Context;
    ULONGLONG One = File->Buffers[First].Sequence;
    ULONGLONG Other = File->Buffers[Second].Sequence;

    if (One != Other) {
        return One < Other ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}


static
LONG
EtlCompareBuffers(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCETL_FILE File = (PCETL_FILE)Context;
    USHORT One = File->Buffers[First].Processor;
    USHORT Other = File->Buffers[Second].Processor;

    if (One != Other) {
        return One < Other ? -1 : 1;
    }

    return EtlCompareNumbers(Context, First, Second);
}


//
// Puts the buffers in order, and says of each how many lower numbers there are,
// so that it can be seen between which of them one is missing.
//

_Must_inspect_result_
static
NTSTATUS
EtlOrderBuffers(
    _Inout_ PETL_FILE File
    )
{
    ULONG Capacity = 0;
    ULONG Rank = 0;
    ULONG Index;
    ULONGLONG Missing;
    PETL_BUFFER Buffer;
    PCETL_BUFFER Before = NULL;
    NTSTATUS Status;

    Status = BaseGrowArray(File->Allocator,
                           (PVOID *)&File->Order,
                           &Capacity,
                           File->NumberOfBuffers,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < File->NumberOfBuffers; Index++) {
        File->Order[Index] = Index;
    }

    BaseSort(File->Order, File->NumberOfBuffers, EtlCompareNumbers, File);
    for (Index = 0; Index < File->NumberOfBuffers; Index++) {

        Buffer = &File->Buffers[File->Order[Index]];
        if (Before != NULL && Before->Sequence != Buffer->Sequence) {
            Rank += 1;
            Missing = Buffer->Sequence - Before->Sequence - 1;
            if (Missing > 0xFFFFFFFF - File->NumberMissing) {
                Missing = 0xFFFFFFFF - File->NumberMissing;
            }

            File->NumberMissing += (ULONG)Missing;
        }

        Buffer->Rank = Rank;
        Before = Buffer;
    }

    BaseSort(File->Order, File->NumberOfBuffers, EtlCompareBuffers, File);
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
EtlInitializeFile(
    PETL_FILE File
    )
{
    NTSTATUS Status;

    Status = EtlReadLogHeader(File);
    if (NT_SUCCESS(Status)) {
        Status = EtlFindBuffers(File);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (File->NumberCompressed != 0 && File->Method != ETL_METHOD_XPRESS) {
        switch (File->Method) {

        case ETL_METHOD_LZNT1:
            return EtlRefuse(File,
                             "its buffers are compressed with LZNT1, which is "
                             "not read");

        case ETL_METHOD_XPRESS_HUFFMAN:
            return EtlRefuse(File,
                             "its buffers are compressed with Xpress Huffman, "
                             "which is not read");

        default:
            return EtlRefuse(File,
                             "its buffers are compressed with a method that "
                             "is not known");
        }
    }

    return EtlOrderBuffers(File);
}


_Use_decl_annotations_
VOID
EtlRundownFile(
    PETL_FILE File
    )
{
    if (File->Allocator != NULL) {
        File->Allocator->Free(File->Allocator->Context, File->Buffers);
        File->Allocator->Free(File->Allocator->Context, File->Order);
    }

    File->Buffers = NULL;
    File->Order = NULL;
    File->NumberOfBuffers = 0;
    File->CapacityOfBuffers = 0;
}
