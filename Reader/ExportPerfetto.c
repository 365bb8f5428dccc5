/*++

Module Name:

    ExportPerfetto.c

Abstract:

    Perfetto's own format: a protocol buffer, the message Trace, whose packets
    hold track events.  The numbers of fields are those of the public .proto
    files of Perfetto (protos/perfetto/trace/trace_packet.proto,
    track_event/track_event.proto, track_event/track_descriptor.proto,
    interned_data/interned_data.proto).

    Times are nanoseconds of the trace clock, which begins with the session's
    first record; they are absolute, and without a clock of their own packets
    are of that one.  Names and categories (modules) are sent once a file.

    The track of a thread has the thread's identifier; that of a fiber is a
    named one below the process.

--*/

#include "ExportEvents.h"

//
// A field's tag: its number and how it is coded.
//

#define READER_TAG_NUMBER(Field) (((Field) << 3) | 0)
#define READER_TAG_BYTES(Field) (((Field) << 3) | 2)

//
// Fields of Trace.
//

#define READER_TRACE_PACKET READER_TAG_BYTES(1u)

//
// Fields of TracePacket.
//

#define READER_PACKET_TIMESTAMP READER_TAG_NUMBER(8u)
#define READER_PACKET_SEQUENCE READER_TAG_NUMBER(10u)
#define READER_PACKET_TRACK_EVENT READER_TAG_BYTES(11u)
#define READER_PACKET_INTERNED_DATA READER_TAG_BYTES(12u)
#define READER_PACKET_SEQUENCE_FLAGS READER_TAG_NUMBER(13u)
#define READER_PACKET_TRACK_DESCRIPTOR READER_TAG_BYTES(60u)
#define READER_PACKET_IS_FIRST READER_TAG_NUMBER(87u)

//
// The values of sequence_flags: what was interned before is forgotten; what
// was interned since is needed.
//

#define READER_SEQUENCE_CLEARED 1u
#define READER_SEQUENCE_NEEDED 2u

//
// Fields of TrackEvent, and the values of its type.
//

#define READER_EVENT_CATEGORY READER_TAG_NUMBER(3u)
#define READER_EVENT_ANNOTATION READER_TAG_BYTES(4u)
#define READER_EVENT_TYPE READER_TAG_NUMBER(9u)
#define READER_EVENT_NAME READER_TAG_NUMBER(10u)
#define READER_EVENT_TRACK READER_TAG_NUMBER(11u)
#define READER_EVENT_CATEGORY_TEXT READER_TAG_BYTES(22u)
#define READER_EVENT_NAME_TEXT READER_TAG_BYTES(23u)

#define READER_TYPE_SLICE_BEGIN 1u
#define READER_TYPE_SLICE_END 2u
#define READER_TYPE_INSTANT 3u

//
// Fields of DebugAnnotation.
//

#define READER_ANNOTATION_BOOLEAN READER_TAG_NUMBER(2u)
#define READER_ANNOTATION_NAME READER_TAG_BYTES(10u)

//
// Fields of InternedData, and of EventCategory and EventName in it.
//

#define READER_INTERNED_CATEGORIES READER_TAG_BYTES(1u)
#define READER_INTERNED_NAMES READER_TAG_BYTES(2u)
#define READER_INTERNED_IDENTIFIER READER_TAG_NUMBER(1u)
#define READER_INTERNED_TEXT READER_TAG_BYTES(2u)

//
// Fields of TrackDescriptor, and of ProcessDescriptor and ThreadDescriptor in
// it.
//

#define READER_TRACK_UUID READER_TAG_NUMBER(1u)
#define READER_TRACK_NAME READER_TAG_BYTES(2u)
#define READER_TRACK_PROCESS READER_TAG_BYTES(3u)
#define READER_TRACK_THREAD READER_TAG_BYTES(4u)
#define READER_TRACK_PARENT READER_TAG_NUMBER(5u)

#define READER_PROCESS_ID READER_TAG_NUMBER(1u)
#define READER_PROCESS_NAME READER_TAG_BYTES(6u)

#define READER_THREAD_PROCESS_ID READER_TAG_NUMBER(1u)
#define READER_THREAD_ID READER_TAG_NUMBER(2u)
#define READER_THREAD_NAME READER_TAG_BYTES(5u)

//
// All packets are of one sequence.  The process is the track 1, the others
// follow.
//

#define READER_SEQUENCE 1u
#define READER_PROCESS_TRACK 1u
#define READER_FIRST_TRACK(Events) \
    (READER_PROCESS_TRACK + \
     (ULONGLONG)(Events)->Export->Session.NumberOfProcesses)

typedef struct _READER_PERFETTO {
    READER_EVENTS Events;
    PULONG ModuleParts;             // the file that knows a module
    ULONG CapacityOfModules;
} READER_PERFETTO;
typedef READER_PERFETTO *PREADER_PERFETTO;

static const PCSZ ReaderPerfettoMarks[] = {
    "begun_before",
    "continued",
    "abandoned",
    "unfinished"
};


static
PCHAR
ReaderPutVarint(
    _Out_ PCHAR Place,
    _In_ ULONGLONG Number
    )
/*++

Routine Description:

    Puts a number: seven bits a byte, the lowest first.

Arguments:

    Place - Where to; at most ten bytes.

    Number - The number.

Return Value:

    Where it ends.

--*/
{
    while (Number >= 0x80) {
        *Place++ = (CHAR)(Number | 0x80);
        Number >>= 7;
    }

    *Place++ = (CHAR)Number;
    return Place;
}


static
PCHAR
ReaderPutNumberField(
    _Out_ PCHAR Place,
    _In_ ULONG Tag,
    _In_ ULONGLONG Number
    )
/*++

Routine Description:

    Puts a field that is a number.

Arguments:

    Place - Where to.

    Tag - The field's tag.

    Number - The number.

Return Value:

    Where it ends.

--*/
{
    return ReaderPutVarint(ReaderPutVarint(Place, Tag), Number);
}


static
PCHAR
ReaderPutBytesField(
    _Out_ PCHAR Place,
    _In_ ULONG Tag,
    _In_reads_bytes_(Length) const CHAR *Bytes,
    _In_ ULONG Length
    )
/*++

Routine Description:

    Puts a field that is a text or a message.

Arguments:

    Place - Where to.

    Tag - The field's tag.

    Bytes, Length - What is in it.

Return Value:

    Where it ends.

--*/
{
    Place = ReaderPutNumberField(Place, Tag, Length);
    RtlCopyBytes(Place, Bytes, Length);
    return Place + Length;
}


static
VOID
ReaderInternText(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Tag,
    _In_ ULONG Identifier,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
/*++

Routine Description:

    Writes a packet that gives a text its number.  The text may be long, so the
    messages around it are measured first.

Arguments:

    Events - The walk.

    Tag - READER_INTERNED_CATEGORIES or READER_INTERNED_NAMES.

    Identifier - The number, not 0.

    Text, Length - The text, which is well-formed.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Entry[32];
    CHAR Data[16];
    CHAR Packet[32];
    PCHAR EntryEnd;
    PCHAR DataEnd;
    PCHAR PacketEnd;
    PCHAR Begin;
    PCHAR At;
    ULONG Size;

    EntryEnd = ReaderPutNumberField(Entry,
                                    READER_INTERNED_IDENTIFIER,
                                    Identifier);
    EntryEnd = ReaderPutNumberField(EntryEnd, READER_INTERNED_TEXT, Length);

    Size = (ULONG)(EntryEnd - Entry) + Length;
    DataEnd = ReaderPutNumberField(Data, Tag, Size);

    Size += (ULONG)(DataEnd - Data);
    PacketEnd = ReaderPutNumberField(Packet,
                                     READER_PACKET_SEQUENCE,
                                     READER_SEQUENCE);
    PacketEnd = ReaderPutNumberField(PacketEnd,
                                     READER_PACKET_SEQUENCE_FLAGS,
                                     READER_SEQUENCE_NEEDED);
    PacketEnd = ReaderPutNumberField(PacketEnd,
                                     READER_PACKET_INTERNED_DATA,
                                     Size);

    Size += (ULONG)(PacketEnd - Packet);
    Begin = ReaderMakeRoom(Writer, READER_MAXIMUM_ROOM);
    At = ReaderPutNumberField(Begin, READER_TRACE_PACKET, Size);
    RtlCopyBytes(At, Packet, (SIZE_T)(PacketEnd - Packet));
    At += PacketEnd - Packet;
    RtlCopyBytes(At, Data, (SIZE_T)(DataEnd - Data));
    At += DataEnd - Data;
    RtlCopyBytes(At, Entry, (SIZE_T)(EntryEnd - Entry));
    At += EntryEnd - Entry;
    Writer->LengthInBytes += (ULONG)(At - Begin);
    RtlWriteBytes(Writer, Text, Length);
}


static
VOID
ReaderWriteTrackDescriptor(
    _Inout_ PREADER_EVENTS Events,
    _In_reads_bytes_(Length) const CHAR *Descriptor,
    _In_ ULONG Length,
    _In_ BOOLEAN IsFirst
    )
/*++

Routine Description:

    Writes a packet that describes a track.

Arguments:

    Events - The walk.

    Descriptor, Length - The message TrackDescriptor.

    IsFirst - Whether it is the file's first packet.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Packet[48];
    PCHAR End;
    PCHAR Begin;
    PCHAR At;

    End = ReaderPutNumberField(Packet,
                               READER_PACKET_SEQUENCE,
                               READER_SEQUENCE);
    End = ReaderPutNumberField(End,
                               READER_PACKET_SEQUENCE_FLAGS,
                               IsFirst ? READER_SEQUENCE_CLEARED
                                       : READER_SEQUENCE_NEEDED);
    if (IsFirst) {
        End = ReaderPutNumberField(End, READER_PACKET_IS_FIRST, 1);
    }

    End = ReaderPutNumberField(End, READER_PACKET_TRACK_DESCRIPTOR, Length);
    Begin = ReaderMakeRoom(Writer, READER_MAXIMUM_ROOM);
    At = ReaderPutNumberField(Begin,
                              READER_TRACE_PACKET,
                              (ULONG)(End - Packet) + Length);
    RtlCopyBytes(At, Packet, (SIZE_T)(End - Packet));
    At += End - Packet;
    Writer->LengthInBytes += (ULONG)(At - Begin);
    RtlWriteBytes(Writer, Descriptor, Length);
}


static
ULONG
ReaderCleanName(
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length,
    _Out_writes_bytes_(Capacity) PCHAR Clean,
    _In_ ULONG Capacity
    )
/*++

Routine Description:

    Makes a name well-formed UTF-8 without control characters.

Arguments:

    Name, Length - The name.

    Clean, Capacity - Receives it, cut if it does not fit.

Return Value:

    Its length, in bytes.

--*/
{
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer, Clean, Capacity);
    ReaderWriteCleanText(&Writer, Name, Length);
    return Writer.LengthInBytes;
}


static
VOID
ReaderPerfettoBeginFile(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Begins a file: the processes.

Arguments:

    Events - The walk.

Return Value:

    None.

--*/
{
    CHAR Name[256];
    CHAR Clean[256];
    CHAR Process[320];
    CHAR Track[384];
    RTL_WRITER Text;
    ULONG Number;
    ULONG Index;
    PCHAR End;
    PCHAR At;

    for (Index = 0;
         Index < Events->Export->Session.NumberOfProcesses;
         Index++) {

        RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
        ReaderWriteProcessName(&Text, Events, Index);

        //
        // An identifier is an int32.
        //

        Number = ReaderNumberProcess(Events, Index);
        End = ReaderPutNumberField(Process,
                                   READER_PROCESS_ID,
                                   (ULONGLONG)(LONG)Number);
        End = ReaderPutBytesField(End,
                                  READER_PROCESS_NAME,
                                  Clean,
                                  ReaderCleanName(Name,
                                                  Text.LengthInBytes,
                                                  Clean,
                                                  sizeof(Clean)));
        At = ReaderPutNumberField(Track,
                                  READER_TRACK_UUID,
                                  READER_PROCESS_TRACK + (ULONGLONG)Index);
        At = ReaderPutBytesField(At,
                                 READER_TRACK_PROCESS,
                                 Process,
                                 (ULONG)(End - Process));
        ReaderWriteTrackDescriptor(Events,
                                   Track,
                                   (ULONG)(At - Track),
                                   Index == 0);
    }
}


static
VOID
ReaderPerfettoEndFile(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Ends a file; there is nothing to write.

Arguments:

    Events - The walk.

Return Value:

    None.

--*/
{
    UNREFERENCED_PARAMETER(Events);
}


static
VOID
ReaderPerfettoBeginTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    )
/*++

Routine Description:

    Describes a track.

Arguments:

    Events - The walk.

    Track - The track.

Return Value:

    None.

--*/
{
    CHAR Name[256];
    CHAR Clean[256];
    CHAR Thread[320];
    CHAR Message[384];
    RTL_WRITER Text;
    ULONG Length;
    PCHAR End;
    PCHAR At;

    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    ReaderWriteTrackName(&Text, Track);
    Length = ReaderCleanName(Name, Text.LengthInBytes, Clean, sizeof(Clean));

    At = ReaderPutNumberField(Message,
                              READER_TRACK_UUID,
                              READER_FIRST_TRACK(Events) + Track->Index);
    At = ReaderPutNumberField(At,
                              READER_TRACK_PARENT,
                              READER_PROCESS_TRACK +
                                  (ULONGLONG)Track->Process);
    if (Track->Fiber != 0) {

        At = ReaderPutBytesField(At, READER_TRACK_NAME, Clean, Length);

    } else {

        End = ReaderPutNumberField(Thread,
                                   READER_THREAD_PROCESS_ID,
                                   (ULONGLONG)(LONG)Track->NumberOfProcess);
        End = ReaderPutNumberField(End,
                                   READER_THREAD_ID,
                                   (ULONGLONG)(LONG)Track->Identifier);
        End = ReaderPutBytesField(End, READER_THREAD_NAME, Clean, Length);
        At = ReaderPutBytesField(At,
                                 READER_TRACK_THREAD,
                                 Thread,
                                 (ULONG)(End - Thread));
    }

    ReaderWriteTrackDescriptor(Events,
                               Message,
                               (ULONG)(At - Message),
                               FALSE);
}


static
VOID
ReaderInternFunction(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Index,
    _Inout_ PREADER_EVENT_FUNCTION Known
    )
/*++

Routine Description:

    Sends a function's name, and its module's, if the file lacks that.

Arguments:

    Events - The walk.

    Index - The function.

    Known - What is known of it; Text receives the clean name.

Return Value:

    None.

--*/
{
    PREADER_PERFETTO Perfetto = (PREADER_PERFETTO)Events;
    PREADER_EXPORT Export = Events->Export;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_FUNCTION Function = &Export->Functions.Functions[Index];
    const READER_MODULE *Module = Export->Session.Modules[Function->Module];
    CHAR Clean[512];
    NTSTATUS Status;

    //
    // A byte becomes three at most.
    //

    if (Known->Text == NULL) {
        Known->Text = (PCHAR)
            Allocator->Allocate(Allocator->Context,
                                (SIZE_T)Function->NameLength * 3 + 1);
        if (Known->Text == NULL) {
            READER_KEEP_STATUS(Events, STATUS_NO_MEMORY);
            return;
        }

        Known->TextLength = ReaderCleanName(Function->Name,
                                            Function->NameLength,
                                            Known->Text,
                                            Function->NameLength * 3 + 1);
    }

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Perfetto->ModuleParts,
                             &Perfetto->CapacityOfModules,
                             Function->Module + 1,
                             sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        READER_KEEP_STATUS(Events, Status);
        return;
    }

    if (Perfetto->ModuleParts[Function->Module] != Events->Part) {
        Perfetto->ModuleParts[Function->Module] = Events->Part;
        ReaderInternText(Events,
                         READER_INTERNED_CATEGORIES,
                         Function->Module + 1,
                         Clean,
                         ReaderCleanName(Module->Name,
                                         Module->NameLength,
                                         Clean,
                                         sizeof(Clean)));
    }

    ReaderInternText(Events,
                     READER_INTERNED_NAMES,
                     Known->Number + 1,
                     Known->Text,
                     Known->TextLength);
}


static
VOID
ReaderPerfettoPutEvent(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks,
    _In_ ULONG Type,
    _In_ ULONG Category,
    _In_ ULONG Name
    )
/*++

Routine Description:

    Writes a packet with a track event.  It and the event are shorter than 128
    bytes, so each length is one byte.

Arguments:

    Events - The walk.

    Track, Time, Marks - The event.

    Type - READER_TYPE_*.

    Category, Name - The numbers of what was interned; 0: none, at an end.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = &Events->File.Writer;
    PCHAR Begin;
    PCHAR Event;
    PCHAR Annotation;
    PCHAR At;
    ULONG Index;

    Begin = ReaderMakeRoom(Writer, READER_MAXIMUM_ROOM);
    Begin[0] = READER_TRACE_PACKET;
    At = ReaderPutNumberField(Begin + 2, READER_PACKET_TIMESTAMP, Time);
    At = ReaderPutNumberField(At, READER_PACKET_SEQUENCE, READER_SEQUENCE);
    At = ReaderPutNumberField(At,
                              READER_PACKET_SEQUENCE_FLAGS,
                              READER_SEQUENCE_NEEDED);
    *At = READER_PACKET_TRACK_EVENT;
    Event = At + 2;
    At = ReaderPutNumberField(Event, READER_EVENT_TYPE, Type);
    At = ReaderPutNumberField(At,
                              READER_EVENT_TRACK,
                              READER_FIRST_TRACK(Events) + Track->Index);
    if (Name != 0) {
        At = ReaderPutNumberField(At, READER_EVENT_CATEGORY, Category);
        At = ReaderPutNumberField(At, READER_EVENT_NAME, Name);
    }

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderPerfettoMarks); Index++) {

        PCSZ Mark = ReaderPerfettoMarks[Index];

        if ((Marks & (1u << Index)) != 0) {
            *At = READER_EVENT_ANNOTATION;
            Annotation = At + 2;
            At = ReaderPutBytesField(Annotation,
                                     READER_ANNOTATION_NAME,
                                     Mark,
                                     RtlLengthOfString(Mark));
            At = ReaderPutNumberField(At, READER_ANNOTATION_BOOLEAN, 1);
            Annotation[-1] = (CHAR)(At - Annotation);
            break;
        }
    }

    Event[-1] = (CHAR)(At - Event);
    Begin[1] = (CHAR)(At - Begin - 2);
    Writer->LengthInBytes += (ULONG)(At - Begin);
}


static
VOID
ReaderPerfettoEnter(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Writes the beginning of a call.

Arguments:

    Events, Track, Function, Time, Marks - See READER_EVENTS_CALL.

Return Value:

    None.

--*/
{
    PREADER_EVENT_FUNCTION Known;
    BOOLEAN IsNew;

    if (!ReaderNumberFunction(Events, Function, &IsNew, &Known)) {
        return;
    }

    if (IsNew) {
        ReaderInternFunction(Events, Function, Known);
    }

    ReaderPerfettoPutEvent(
        Events,
        Track,
        Time,
        Marks,
        READER_TYPE_SLICE_BEGIN,
        Events->Export->Functions.Functions[Function].Module + 1,
        Known->Number + 1);
}


static
VOID
ReaderPerfettoLeave(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Writes the end of a call, which is that of the track's innermost.

Arguments:

    Events, Track, Function, Time, Marks - See READER_EVENTS_CALL.

Return Value:

    None.

--*/
{
    UNREFERENCED_PARAMETER(Function);

    ReaderPerfettoPutEvent(Events,
                           Track,
                           Time,
                           Marks,
                           READER_TYPE_SLICE_END,
                           0,
                           0);
}


static
VOID
ReaderPerfettoInstant(
    _Inout_ PREADER_EVENTS Events,
    _In_opt_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Process,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG Time
    )
/*++

Routine Description:

    Writes a packet with an instant, on its thread's track or the process's.

Arguments:

    Events, Track, Process, Name, NameLength, Time - See
        READER_EVENTS_INSTANT.

Return Value:

    None.

--*/
{
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Clean[320];
    CHAR Event[400];
    CHAR Packet[48];
    PCHAR EventEnd;
    PCHAR PacketEnd;
    PCHAR Begin;
    PCHAR At;
    ULONG Length;

    EventEnd = ReaderPutNumberField(Event,
                                    READER_EVENT_TYPE,
                                    READER_TYPE_INSTANT);
    EventEnd = ReaderPutNumberField(
        EventEnd,
        READER_EVENT_TRACK,
        Track != NULL ? READER_FIRST_TRACK(Events) + Track->Index
                      : READER_PROCESS_TRACK + (ULONGLONG)Process);
    EventEnd = ReaderPutBytesField(EventEnd,
                                   READER_EVENT_CATEGORY_TEXT,
                                   READER_INSTANT_CATEGORY,
                                   sizeof(READER_INSTANT_CATEGORY) - 1);
    EventEnd = ReaderPutBytesField(EventEnd,
                                   READER_EVENT_NAME_TEXT,
                                   Clean,
                                   ReaderCleanName(Name,
                                                   NameLength,
                                                   Clean,
                                                   sizeof(Clean)));
    Length = (ULONG)(EventEnd - Event);

    PacketEnd = ReaderPutNumberField(Packet, READER_PACKET_TIMESTAMP, Time);
    PacketEnd = ReaderPutNumberField(PacketEnd,
                                     READER_PACKET_SEQUENCE,
                                     READER_SEQUENCE);
    PacketEnd = ReaderPutNumberField(PacketEnd,
                                     READER_PACKET_SEQUENCE_FLAGS,
                                     READER_SEQUENCE_NEEDED);
    PacketEnd = ReaderPutNumberField(PacketEnd,
                                     READER_PACKET_TRACK_EVENT,
                                     Length);

    Begin = ReaderMakeRoom(Writer, READER_MAXIMUM_ROOM);
    At = ReaderPutNumberField(Begin,
                              READER_TRACE_PACKET,
                              (ULONG)(PacketEnd - Packet) + Length);
    RtlCopyBytes(At, Packet, (SIZE_T)(PacketEnd - Packet));
    At += PacketEnd - Packet;
    Writer->LengthInBytes += (ULONG)(At - Begin);
    RtlWriteBytes(Writer, Event, Length);
}


static const READER_EVENT_FORMAT ReaderPerfettoFormat = {
    ReaderPerfettoBeginFile,
    ReaderPerfettoEndFile,
    ReaderPerfettoBeginTrack,
    NULL,
    ReaderPerfettoEnter,
    ReaderPerfettoLeave,
    ReaderPerfettoInstant
};


_Use_decl_annotations_
ULONG
ReaderExportPerfetto(
    PREADER_EXPORT Export
    )
/*++

Routine Description:

    Writes Perfetto's format.

Arguments:

    Export - The export.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    READER_PERFETTO Perfetto;
    ULONG ExitCode;

    RtlZeroBytes(&Perfetto, sizeof(Perfetto));
    ExitCode = ReaderExportEvents(&Perfetto.Events,
                                  Export,
                                  &ReaderPerfettoFormat);
    Allocator->Free(Allocator->Context, Perfetto.ModuleParts);
    return ExitCode;
}
