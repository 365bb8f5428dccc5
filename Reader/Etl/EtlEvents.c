/*++

Module Name:

    EtlEvents.c

Abstract:

    The events of a log that say what threads do.

    Something is lost between two buffers of a processor if one of them says so,
    if a number between theirs is missing, or if one of them cannot be read to
    its end.  What was lost may be of any kind; so it is a gap, from the last
    event before it to the first one after it.

--*/

#include "EtlEvents.h"
#include "EtlXpress.h"

#define ETL_ALIGN(Size) (((Size) + 7) & ~7u)

//
// No clock comes to negative numbers.
//

#define ETL_LATEST_TIME 0x7FFFFFFFFFFFFFFFULL

#define ETL_BUFFER_LOST (ETL_BUFFER_EVENTS_LOST | ETL_BUFFER_BUFFER_LOST)

typedef struct _ETL_READER {
    PCETL_FILE File;
    PETL_TAKE_EVENT Take;
    PVOID Context;
    PETL_COUNTS Counts;
    PUCHAR Bytes;                   // a buffer, as it is in the file
    PUCHAR Plain;                   // one that was compressed
    PCETL_BUFFER Lowest;            // of all processors', by number
    PCETL_BUFFER Highest;
    ULONG Processor;
    ULONG Current;                  // the thread that runs on it
    ULONGLONG LastTimestamp;        // of its events; 0: there were none
    BOOLEAN IsLost;                 // since then something was lost
} ETL_READER;
typedef ETL_READER *PETL_READER;

//
// An event, whatever header it has.
//

typedef struct _ETL_RAW {
    ULONG SizeInBytes;              // of all of it
    ULONG Hook;                     // ETL_HOOK_*
    ULONG Version;
    ULONG ThreadId;                 // ETL_NO_THREAD: the header has none
    ULONGLONG Timestamp;
    const UCHAR *Data;
    ULONG DataSize;
} ETL_RAW;
typedef ETL_RAW *PETL_RAW;

//
// Providers of the kernel's classes, as GUIDs are in memory.
//

static const UCHAR EtlThreadGuid[16] = {
    0xD1, 0x6F, 0xA8, 0x3D, 0xFE, 0x05, 0xD0, 0x11,
    0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C
};

static const UCHAR EtlProcessGuid[16] = {
    0xD0, 0x6F, 0xA8, 0x3D, 0xFE, 0x05, 0xD0, 0x11,
    0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C
};

static const UCHAR EtlPerfInfoGuid[16] = {
    0xB4, 0xDF, 0x1D, 0xCE, 0x7E, 0x13, 0xA6, 0x4D,
    0x87, 0xB0, 0x3F, 0x59, 0xAA, 0x10, 0x2C, 0xBC
};


//
// Finds the hook that stands for a provider's event; ETL_HOOK_HEADER: it is of
// no use here.
//

static
ULONG
EtlFindHook(
    _In_reads_bytes_(16) const UCHAR *Provider,
    _In_ UCHAR Class
    )
{
    BOOLEAN IsProcess = TRUE;
    BOOLEAN IsThread = TRUE;
    BOOLEAN IsPerfInfo = TRUE;
    ULONG Index;

    for (Index = 0; Index < 16; Index++) {
        IsProcess &= Provider[Index] == EtlProcessGuid[Index];
        IsThread &= Provider[Index] == EtlThreadGuid[Index];
        IsPerfInfo &= Provider[Index] == EtlPerfInfoGuid[Index];
    }

    if (IsProcess) {
        return ETL_GROUP_PROCESS | Class;
    }

    if (IsThread) {
        return ETL_GROUP_THREAD | Class;
    }

    return IsPerfInfo ? ETL_GROUP_PERFINFO | Class : ETL_HOOK_HEADER;
}


//
// Reads an event's header. FALSE: there is none, or it is longer than what is
// left. Raw: SizeInBytes is 0 at the end of what was written.
// Left: bytes, a multiple of 8 or the last ones.
//

_Success_(return != FALSE)
static
BOOLEAN
EtlReadHeader(
    _In_reads_bytes_(Left) const UCHAR *Bytes,
    _In_ ULONG Left,
    _Out_ PETL_RAW Raw
    )
{
    PCETL_MARKER Marker = (PCETL_MARKER)(const VOID *)Bytes;
    PCETL_SYSTEM_HEADER System = (PCETL_SYSTEM_HEADER)(const VOID *)Bytes;
    PCETL_PERFINFO_HEADER PerfInfo = (PCETL_PERFINFO_HEADER)(const VOID *)Bytes;
    PCETL_FULL_HEADER Full = (PCETL_FULL_HEADER)(const VOID *)Bytes;
    ULONG HeaderSize;
    ULONG Class;

    RtlZeroBytes(Raw, sizeof(*Raw));
    Raw->ThreadId = ETL_NO_THREAD;
    if (Left < sizeof(*Marker) ||
        (Marker->Low == 0 && Marker->Type == 0 && Marker->Flags == 0) ||
        (Marker->Low == 0xFFFF && Marker->Type == 0xFF &&
         Marker->Flags == 0xFF)) {
        return TRUE;
    }

    if ((Marker->Flags & ETL_MARKER_TRACE) == 0) {
        return FALSE;
    }

    if ((Marker->Flags & ETL_MARKER_EVENT) == 0) {

        //
        // Messages, and what has nothing but a time of 32 bits.
        //

        Raw->SizeInBytes = Marker->Low;
        return Raw->SizeInBytes >= sizeof(*Marker) && Raw->SizeInBytes <= Left;
    }

    switch (Marker->Type) {

    case ETL_TYPE_SYSTEM32:
    case ETL_TYPE_SYSTEM64:
    case ETL_TYPE_COMPACT32:
    case ETL_TYPE_COMPACT64:
        Raw->SizeInBytes = Marker->Size;
        HeaderSize = Marker->Type <= ETL_TYPE_SYSTEM64 ? sizeof(*System)
                                                       : ETL_COMPACT_SIZE;
        if (Raw->SizeInBytes > Left || Raw->SizeInBytes < HeaderSize) {
            return FALSE;
        }

        Raw->Hook = Marker->Hook;
        Raw->Version = Marker->Low;
        Raw->ThreadId = System->ThreadId;
        Raw->Timestamp = System->Timestamp;
        break;

    case ETL_TYPE_PERFINFO32:
    case ETL_TYPE_PERFINFO64:
        Raw->SizeInBytes = Marker->Size;
        HeaderSize = sizeof(*PerfInfo) +
                     8 * ((Marker->Low & ETL_PERFINFO_COUNTERS) >>
                          ETL_PERFINFO_COUNTERS_SHIFT);
        if ((Marker->Low & ETL_PERFINFO_PEBS) != 0) {
            HeaderSize += 8;
        }

        if (Raw->SizeInBytes > Left || Raw->SizeInBytes < HeaderSize) {
            return FALSE;
        }

        Raw->Hook = Marker->Hook;
        Raw->Version = Marker->Low & ~(ETL_PERFINFO_PEBS |
                                       ETL_PERFINFO_COUNTERS);
        Raw->Timestamp = PerfInfo->Timestamp;
        break;

    case ETL_TYPE_FULL32:
    case ETL_TYPE_FULL64:
    case ETL_TYPE_EVENT32:
    case ETL_TYPE_EVENT64:
        Raw->SizeInBytes = Marker->Low;
        HeaderSize = Marker->Type == ETL_TYPE_FULL32 ||
                             Marker->Type == ETL_TYPE_FULL64
                         ? ETL_FULL_SIZE
                         : ETL_EVENT_SIZE;
        if (Raw->SizeInBytes > Left || Raw->SizeInBytes < HeaderSize) {
            return FALSE;
        }

        //
        // What lies between the header and the data, if the flags say so, is
        // not described: such events are of no use.
        //

        Class = Full->Class;
        Raw->Version = Full->Version;
        if (HeaderSize == ETL_EVENT_SIZE) {
            Class = Bytes[ETL_EVENT_OPCODE];
            Raw->Version = Bytes[ETL_EVENT_VERSION];
        }

        if (HeaderSize == ETL_FULL_SIZE ||
            (Full->Class & ETL_EVENT_EXTENDED) == 0) {
            Raw->Hook = EtlFindHook(Full->Provider, (UCHAR)Class);
        }

        Raw->ThreadId = Full->ThreadId;
        Raw->Timestamp = Full->Timestamp;
        break;

    case ETL_TYPE_INSTANCE32:
    case ETL_TYPE_INSTANCE64:
    case ETL_TYPE_ERROR:
    case ETL_TYPE_MESSAGE:
        Raw->SizeInBytes = Marker->Low;
        return Raw->SizeInBytes >= sizeof(*Marker) && Raw->SizeInBytes <= Left;

    default:
        return FALSE;
    }

    Raw->Data = Bytes + HeaderSize;
    Raw->DataSize = Raw->SizeInBytes - HeaderSize;
    return TRUE;
}


//
// Finds a process's name. FALSE: there is none.
//

_Success_(return != FALSE)
static
BOOLEAN
EtlFindName(
    _In_ PCETL_FILE File,
    _In_ const ETL_RAW *Raw,
    _Inout_ PETL_EVENT Event
    )
{
    const UCHAR *Data = Raw->Data;
    ULONG Pointer = File->PointerSize;
    ULONG Offset = Pointer + ETL_PROCESS_NUMBERS;
    ULONG Length;

    if (Raw->Version < 2 || Raw->Version > 4) {
        return FALSE;
    }

    if (Raw->Version >= 3) {
        Offset += Pointer;
    }

    if (Raw->Version >= 4) {
        Offset += sizeof(ULONG);
    }

    if (Raw->DataSize < Offset + sizeof(ULONG)) {
        return FALSE;
    }

    Event->Other = *(const ULONG *)(const VOID *)(Data + Pointer);
    if (*(const ULONG *)(const VOID *)(Data + Offset) == 0) {
        Offset += sizeof(ULONG);
    } else {
        Offset += 2 * Pointer;
        if (Raw->DataSize < Offset + 2) {
            return FALSE;
        }

        Offset += 8 + 4 * Data[Offset + 1];
    }

    for (Length = 0;
         Offset < Raw->DataSize && Length < Raw->DataSize - Offset &&
         Length < ETL_MAXIMUM_NAME && Data[Offset + Length] != 0;
         Length++) {
        ;
    }

    Event->Name = (const CHAR *)Data + Offset;
    Event->NameLength = (UCHAR)Length;
    return Length != 0;
}


//
// Makes what is to be known of an event. FALSE: it is of no use here.
//

_Success_(return != FALSE)
static
BOOLEAN
EtlDescribeEvent(
    _Inout_ PETL_READER Reader,
    _In_ const ETL_RAW *Raw,
    _Out_ PETL_EVENT Event
    )
{
    PETL_COUNTS Counts = Reader->Counts;
    const VOID *Data = Raw->Data;
    PCETL_SWITCH Switch = (PCETL_SWITCH)Data;
    PCETL_READY Ready = (PCETL_READY)Data;
    PCETL_THREAD_EVENT Thread = (PCETL_THREAD_EVENT)Data;
    const ULONG *Sample;

    RtlZeroBytes(Event, sizeof(*Event));
    Event->Processor = Reader->Processor;
    Event->Timestamp = Raw->Timestamp;
    switch (Raw->Hook) {

    case ETL_HOOK_SWITCH:

        //
        // Version 1 is of Windows XP and before, and has other fields.
        //

        if (Raw->Version < 2 || Raw->DataSize < sizeof(*Switch)) {
            return FALSE;
        }

        Event->Kind = EtlEventSwitch;
        Event->Thread = Switch->NewThread;
        Event->Other = Switch->OldThread;
        Event->State = Switch->OldState;
        Event->Reason = Switch->OldReason;
        Reader->Current = Switch->NewThread;
        if (Counts->Switches == 0 || Counts->FirstTimestamp > Raw->Timestamp) {
            Counts->FirstTimestamp = Raw->Timestamp;
        }

        if (Counts->LastSwitch < Raw->Timestamp) {
            Counts->LastSwitch = Raw->Timestamp;
        }

        Counts->Switches += 1;
        return TRUE;

    case ETL_HOOK_READY:
        if (Raw->DataSize < sizeof(*Ready)) {
            return FALSE;
        }

        //
        // Where buffers are not a processor's own, nobody knows who ran on it.
        //

        Event->Kind = EtlEventReady;
        Event->Thread = Ready->Thread;
        Event->Other = Raw->ThreadId;
        if (Raw->ThreadId == ETL_NO_THREAD &&
            (Reader->File->Mode & ETL_MODE_SHARED_BUFFERS) == 0) {
            Event->Other = Reader->Current;
        }

        Event->IsInterrupt = (Ready->Flags & ETL_READY_DPC) != 0 ||
                             Event->Other == 0;
        Counts->Readies += 1;
        return TRUE;

    case ETL_HOOK_SAMPLE:
        if (Raw->DataSize < Reader->File->PointerSize + sizeof(ULONG)) {
            return FALSE;
        }

        Sample = (const ULONG *)(const VOID *)
            (Raw->Data + Reader->File->PointerSize);
        Event->Kind = EtlEventSample;
        Event->Thread = *Sample;
        Event->Other = ETL_NO_THREAD;
        Counts->Samples += 1;
        return TRUE;

    case ETL_HOOK_THREAD_START:
    case ETL_HOOK_THREAD_DC_START:
    case ETL_HOOK_THREAD_END:
    case ETL_HOOK_THREAD_DC_END:

        //
        // In version 0 the process comes second.
        //

        if (Raw->Version == 0 || Raw->DataSize < sizeof(*Thread)) {
            return FALSE;
        }

        Event->Kind = Raw->Hook == ETL_HOOK_THREAD_START ||
                              Raw->Hook == ETL_HOOK_THREAD_DC_START
                          ? EtlEventThreadStart
                          : EtlEventThreadEnd;
        Event->Thread = Thread->ThreadId;
        Event->Other = Thread->ProcessId;
        Counts->Threads += 1;
        return TRUE;

    case ETL_HOOK_PROCESS_START:
    case ETL_HOOK_PROCESS_DC_START:
    case ETL_HOOK_PROCESS_DC_END:
        Event->Kind = EtlEventProcess;
        Event->Thread = ETL_NO_THREAD;
        if (!EtlFindName(Reader->File, Raw, Event)) {
            Counts->Others += 1;
            return FALSE;
        }

        Counts->Processes += 1;
        return TRUE;

    case ETL_HOOK_COMPACT_SWITCHES:
        Counts->Compact += 1;
        return FALSE;

    default:
        Counts->Others += 1;
        return FALSE;
    }
}


//
// Says that something is lost between two events of the processor.
// End: when the next one was; ETL_MAXIMUM_TIME: there is none.
//

_Must_inspect_result_
static
NTSTATUS
EtlGiveGap(
    _Inout_ PETL_READER Reader,
    _In_ ULONGLONG End
    )
{
    ETL_EVENT Gap;

    RtlZeroBytes(&Gap, sizeof(Gap));
    Gap.Kind = EtlEventGap;
    Gap.Processor = Reader->Processor;
    Gap.Start = Reader->LastTimestamp;
    Gap.Timestamp = End;
    Gap.Thread = ETL_NO_THREAD;
    Gap.Other = ETL_NO_THREAD;
    Reader->IsLost = FALSE;
    Reader->Current = ETL_NO_THREAD;
    if (Gap.Start >= Gap.Timestamp) {
        return STATUS_SUCCESS;
    }

    Reader->Counts->Gaps += 1;
    return Reader->Take(Reader->Context, &Gap);
}


//
// Reads a buffer, and decompresses it. Bytes: NULL if that cannot be done.
//

_Must_inspect_result_
static
NTSTATUS
EtlReadBuffer(
    _Inout_ PETL_READER Reader,
    _In_ PCETL_BUFFER Buffer,
    _Outptr_result_maybenull_ const UCHAR **Bytes
    )
{
    PCETL_FILE File = Reader->File;
    ULONG HeaderSize = sizeof(ETL_BUFFER_HEADER);
    ULONG Written;
    NTSTATUS Status;

    *Bytes = NULL;
    Status = File->Read(File->ReadContext,
                        Buffer->Offset,
                        Reader->Bytes,
                        Buffer->SizeInBytes);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if ((Buffer->Flags & ETL_BUFFER_COMPRESSED) == 0) {
        *Bytes = Reader->Bytes;
        return STATUS_SUCCESS;
    }

    Written = EtlDecodeXpress(Reader->Bytes + HeaderSize,
                              Buffer->SizeInBytes - HeaderSize,
                              Reader->Plain + HeaderSize,
                              Buffer->UsedInBytes - HeaderSize);
    if (Written == Buffer->UsedInBytes - HeaderSize) {
        *Bytes = Reader->Plain;
    }

    return STATUS_SUCCESS;
}


//
// Gives the events of a buffer.
//

_Must_inspect_result_
static
NTSTATUS
EtlReadBufferEvents(
    _Inout_ PETL_READER Reader,
    _In_ PCETL_BUFFER Buffer
    )
{
    PETL_COUNTS Counts = Reader->Counts;
    ULONG Offset = sizeof(ETL_BUFFER_HEADER);
    const UCHAR *Bytes;
    ETL_EVENT Event;
    ETL_RAW Raw;
    NTSTATUS Status;

    Status = EtlReadBuffer(Reader, Buffer, &Bytes);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Bytes == NULL) {
        Counts->BadBuffers += 1;
        Reader->IsLost = TRUE;
        return STATUS_SUCCESS;
    }

    while (Offset < Buffer->UsedInBytes) {

        if (!EtlReadHeader(Bytes + Offset,
                           Buffer->UsedInBytes - Offset,
                           &Raw) ||
            Raw.Timestamp > ETL_LATEST_TIME) {
            Counts->Malformed += 1;
            Reader->IsLost = TRUE;
            break;
        }

        if (Raw.SizeInBytes == 0) {
            break;
        }

        Offset += ETL_ALIGN(Raw.SizeInBytes);

        //
        // The event that describes the log, and those without a time of the
        // log's clock, say nothing of when something is lost.
        //

        if (Raw.Timestamp == 0 || Raw.Data == NULL) {
            Counts->Others += 1;
            continue;
        }

        if (Reader->IsLost) {
            Status = EtlGiveGap(Reader, Raw.Timestamp);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (Reader->LastTimestamp < Raw.Timestamp) {
            Reader->LastTimestamp = Raw.Timestamp;
        }

        if (Counts->LastTimestamp < Raw.Timestamp) {
            Counts->LastTimestamp = Raw.Timestamp;
        }

        if (EtlDescribeEvent(Reader, &Raw, &Event)) {
            Status = Reader->Take(Reader->Context, &Event);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}


//
// Whether there is a number between those of two buffers that none has.
//

static
BOOLEAN
EtlIsMissing(
    _In_ PCETL_BUFFER Lower,
    _In_ PCETL_BUFFER Higher
    )
{
    return Higher->Sequence - Lower->Sequence != Higher->Rank - Lower->Rank;
}


//
// Gives the events of a processor.
// Order: its buffers.
//

_Must_inspect_result_
static
NTSTATUS
EtlReadProcessor(
    _Inout_ PETL_READER Reader,
    _In_reads_(Count) const ULONG *Order,
    _In_ ULONG Count
    )
{
    PCETL_FILE File = Reader->File;
    PCETL_BUFFER Before = Reader->Lowest;
    ULONG Index;
    PCETL_BUFFER Buffer;
    NTSTATUS Status;

    Reader->Current = ETL_NO_THREAD;
    Reader->LastTimestamp = 0;
    Reader->IsLost = FALSE;
    for (Index = 0; Index < Count; Index++) {

        Buffer = &File->Buffers[Order[Index]];
        if (EtlIsMissing(Before, Buffer) ||
            (Buffer->Flags & ETL_BUFFER_LOST) != 0) {
            Reader->IsLost = TRUE;
        }

        Before = Buffer;
        Status = EtlReadBufferEvents(Reader, Buffer);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if ((Buffer->Flags & ETL_BUFFER_LOST) != 0) {
            Reader->IsLost = TRUE;
        }
    }

    if (File->IsCutOff || EtlIsMissing(Before, Reader->Highest)) {
        Reader->IsLost = TRUE;
    }

    return Reader->IsLost ? EtlGiveGap(Reader, ETL_MAXIMUM_TIME)
                          : STATUS_SUCCESS;
}


//
// Of a log that is cut off, processors of which nothing is left may have had
// buffers.
//

_Must_inspect_result_
static
NTSTATUS
EtlGiveMissingProcessors(
    _Inout_ PETL_READER Reader,
    _In_ ULONG First,
    _In_ ULONG End
    )
{
    PCETL_FILE File = Reader->File;
    NTSTATUS Status = STATUS_SUCCESS;
    ULONG Most = File->NumberOfProcessors < ETL_MAXIMUM_PROCESSORS
                     ? File->NumberOfProcessors
                     : ETL_MAXIMUM_PROCESSORS;

    if (!File->IsCutOff || (File->Mode & ETL_MODE_SHARED_BUFFERS) != 0) {
        return STATUS_SUCCESS;
    }

    for (; NT_SUCCESS(Status) && First < End && First < Most; First++) {
        Reader->Processor = First;
        Reader->LastTimestamp = 0;
        Status = EtlGiveGap(Reader, ETL_MAXIMUM_TIME);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
EtlReadEvents(
    PCETL_FILE File,
    PETL_TAKE_EVENT Take,
    PVOID Context,
    PETL_COUNTS Counts
    )
{
    PCALLOCATOR Allocator = File->Allocator;
    ETL_READER Reader;
    ULONG NextProcessor = 0;
    ULONG First;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Counts, sizeof(*Counts));
    RtlZeroBytes(&Reader, sizeof(Reader));
    Reader.File = File;
    Reader.Take = Take;
    Reader.Context = Context;
    Reader.Counts = Counts;
    Reader.Bytes = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                               File->LargestBuffer);
    if (File->NumberCompressed != 0) {
        Reader.Plain = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                                   File->LargestUsed);
    }

    if (Reader.Bytes == NULL ||
        (File->NumberCompressed != 0 && Reader.Plain == NULL)) {
        Status = STATUS_NO_MEMORY;
    }

    Reader.Lowest = File->Buffers;
    Reader.Highest = File->Buffers;
    for (Index = 0; Index < File->NumberOfBuffers; Index++) {

        PCETL_BUFFER Buffer = &File->Buffers[Index];

        Reader.Lowest = Reader.Lowest->Rank < Buffer->Rank ? Reader.Lowest
                                                           : Buffer;
        Reader.Highest = Reader.Highest->Rank > Buffer->Rank ? Reader.Highest
                                                             : Buffer;
    }

    for (First = 0;
         NT_SUCCESS(Status) && First < File->NumberOfBuffers;
         First = Index) {

        ULONG Processor = File->Buffers[File->Order[First]].Processor;

        for (Index = First + 1;
             Index < File->NumberOfBuffers &&
             File->Buffers[File->Order[Index]].Processor == Processor;
             Index++) {
            ;
        }

        Status = EtlGiveMissingProcessors(&Reader, NextProcessor, Processor);
        if (NT_SUCCESS(Status)) {
            Reader.Processor = Processor;
            Status = EtlReadProcessor(&Reader,
                                      File->Order + First,
                                      Index - First);
        }

        NextProcessor = Processor + 1;
    }

    if (NT_SUCCESS(Status)) {
        Status = EtlGiveMissingProcessors(&Reader,
                                          NextProcessor,
                                          ETL_MAXIMUM_PROCESSORS);
    }

    Allocator->Free(Allocator->Context, Reader.Bytes);
    Allocator->Free(Allocator->Context, Reader.Plain);
    return Status;
}
