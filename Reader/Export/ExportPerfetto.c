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

#include "ExportStates.h"
#include "ExportText.h"
#include "ExportTracks.h"

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

#define READER_ANNOTATION_NAME_NUMBER READER_TAG_NUMBER(1u)
#define READER_ANNOTATION_BOOLEAN READER_TAG_NUMBER(2u)
#define READER_ANNOTATION_TEXT READER_TAG_BYTES(6u)
#define READER_ANNOTATION_NAME READER_TAG_BYTES(10u)
#define READER_ANNOTATION_TEXT_NUMBER READER_TAG_NUMBER(17u)

//
// Fields of InternedData, and of EventCategory, EventName, DebugAnnotationName
// and InternedString in it.
//

#define READER_INTERNED_CATEGORIES READER_TAG_BYTES(1u)
#define READER_INTERNED_NAMES READER_TAG_BYTES(2u)
#define READER_INTERNED_ANNOTATIONS READER_TAG_BYTES(3u)
#define READER_INTERNED_TEXTS READER_TAG_BYTES(29u)
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

//
// The number of a category of waits: no module has it.
//

#define READER_WAIT_CATEGORY(Wait) (0xFFFFFF00u + (Wait))

//
// The number of the annotation that says which module called an import.
//

#define READER_CALLER_ANNOTATION 1u

typedef struct _READER_PERFETTO {
    READER_EVENTS Events;
    PULONG ModuleParts;             // the file that knows a module
    ULONG CapacityOfModules;
    ULONG Wait;                     // of the function that is entered
    ULONG WaitParts[ReaderNumberOfWaitKinds];   // the file that knows one
    ULONG Caller;                   // of the import that is entered: which of
                                    // Imported called, + 1; 0: none
    ULONG CallerPart;               // the file that knows the annotation
    PULONG CallerParts;             // the file that knows a module as a text
    ULONG CapacityOfCallers;
} READER_PERFETTO;
typedef READER_PERFETTO *PREADER_PERFETTO;

static const PCSZ ReaderPerfettoMarks[] = {
    "begun_before",
    "continued",
    "abandoned",
    "unfinished"
};


//
// Puts a number: seven bits a byte, the lowest first.
// Place: where to; at most ten bytes.
// Result: where it ends.
//

static
PCHAR
ExportPutVarint(
    _Out_ PCHAR Place,
    _In_ ULONGLONG Number
    )
{
    while (Number >= 0x80) {
        *Place++ = (CHAR)(Number | 0x80);
        Number >>= 7;
    }

    *Place++ = (CHAR)Number;
    return Place;
}


//
// Puts a field that is a number.
// Result: where it ends.
//

static
PCHAR
ExportPutNumberField(
    _Out_ PCHAR Place,
    _In_ ULONG Tag,
    _In_ ULONGLONG Number
    )
{
    return ExportPutVarint(ExportPutVarint(Place, Tag), Number);
}


//
// Puts a field that is a text or a message.
// Result: where it ends.
//

static
PCHAR
ExportPutBytesField(
    _Out_ PCHAR Place,
    _In_ ULONG Tag,
    _In_reads_bytes_(Length) const CHAR *Bytes,
    _In_ ULONG Length
    )
{
    Place = ExportPutNumberField(Place, Tag, Length);
    RtlCopyBytes(Place, Bytes, Length);
    return Place + Length;
}


//
// Writes a packet that gives a text its number. The text may be long, so the
// messages around it are measured first.
// Events: the walk.
// Tag: READER_INTERNED_*, of a list.
// Identifier: the number, not 0.
// Text, Length: the text, which is well-formed.
//

static
VOID
ExportInternText(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Tag,
    _In_ ULONG Identifier,
    _In_reads_bytes_(Length) const CHAR *Text,
    _In_ ULONG Length
    )
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

    EntryEnd = ExportPutNumberField(Entry,
                                    READER_INTERNED_IDENTIFIER,
                                    Identifier);
    EntryEnd = ExportPutNumberField(EntryEnd, READER_INTERNED_TEXT, Length);

    Size = (ULONG)(EntryEnd - Entry) + Length;
    DataEnd = ExportPutNumberField(Data, Tag, Size);

    Size += (ULONG)(DataEnd - Data);
    PacketEnd = ExportPutNumberField(Packet,
                                     READER_PACKET_SEQUENCE,
                                     READER_SEQUENCE);
    PacketEnd = ExportPutNumberField(PacketEnd,
                                     READER_PACKET_SEQUENCE_FLAGS,
                                     READER_SEQUENCE_NEEDED);
    PacketEnd = ExportPutNumberField(PacketEnd,
                                     READER_PACKET_INTERNED_DATA,
                                     Size);

    Size += (ULONG)(PacketEnd - Packet);
    Begin = ExportMakeRoom(Writer, READER_MAXIMUM_ROOM);
    At = ExportPutNumberField(Begin, READER_TRACE_PACKET, Size);
    RtlCopyBytes(At, Packet, (SIZE_T)(PacketEnd - Packet));
    At += PacketEnd - Packet;
    RtlCopyBytes(At, Data, (SIZE_T)(DataEnd - Data));
    At += DataEnd - Data;
    RtlCopyBytes(At, Entry, (SIZE_T)(EntryEnd - Entry));
    At += EntryEnd - Entry;
    Writer->LengthInBytes += (ULONG)(At - Begin);
    RtlWriteBytes(Writer, Text, Length);
}


//
// Writes a packet that describes a track.
// Events: the walk.
// Descriptor, Length: the message TrackDescriptor.
// IsFirst: whether it is the file's first packet.
//

static
VOID
ExportWriteTrackDescriptor(
    _Inout_ PREADER_EVENTS Events,
    _In_reads_bytes_(Length) const CHAR *Descriptor,
    _In_ ULONG Length,
    _In_ BOOLEAN IsFirst
    )
{
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Packet[48];
    PCHAR End;
    PCHAR Begin;
    PCHAR At;

    End = ExportPutNumberField(Packet,
                               READER_PACKET_SEQUENCE,
                               READER_SEQUENCE);
    End = ExportPutNumberField(End,
                               READER_PACKET_SEQUENCE_FLAGS,
                               IsFirst ? READER_SEQUENCE_CLEARED
                                       : READER_SEQUENCE_NEEDED);
    if (IsFirst) {
        End = ExportPutNumberField(End, READER_PACKET_IS_FIRST, 1);
    }

    End = ExportPutNumberField(End, READER_PACKET_TRACK_DESCRIPTOR, Length);
    Begin = ExportMakeRoom(Writer, READER_MAXIMUM_ROOM);
    At = ExportPutNumberField(Begin,
                              READER_TRACE_PACKET,
                              (ULONG)(End - Packet) + Length);
    RtlCopyBytes(At, Packet, (SIZE_T)(End - Packet));
    At += End - Packet;
    Writer->LengthInBytes += (ULONG)(At - Begin);
    RtlWriteBytes(Writer, Descriptor, Length);
}


//
// Makes a name well-formed UTF-8 without control characters.
// Clean, Capacity: it, cut if it does not fit.
// Returns its length, in bytes.
//

static
ULONG
ExportCleanName(
    _In_reads_bytes_(Length) const CHAR *Name,
    _In_ ULONG Length,
    _Out_writes_bytes_(Capacity) PCHAR Clean,
    _In_ ULONG Capacity
    )
{
    RTL_WRITER Writer;

    RtlInitializeBufferWriter(&Writer, Clean, Capacity);
    RtlWriteCleanText(&Writer, Name, Length);
    return Writer.LengthInBytes;
}


//
// Begins a file: the processes.
// Events: the walk.
//

static
VOID
ExportPerfettoBeginFile(
    _Inout_ PREADER_EVENTS Events
    )
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
        ExportWriteProcessName(&Text, Events, Index);

        //
        // An identifier is an int32.
        //

        Number = ExportNumberProcess(Events, Index);
        End = ExportPutNumberField(Process,
                                   READER_PROCESS_ID,
                                   (ULONGLONG)(LONG)Number);
        End = ExportPutBytesField(End,
                                  READER_PROCESS_NAME,
                                  Clean,
                                  ExportCleanName(Name,
                                                  Text.LengthInBytes,
                                                  Clean,
                                                  sizeof(Clean)));
        At = ExportPutNumberField(Track,
                                  READER_TRACK_UUID,
                                  READER_PROCESS_TRACK + (ULONGLONG)Index);
        At = ExportPutBytesField(At,
                                 READER_TRACK_PROCESS,
                                 Process,
                                 (ULONG)(End - Process));
        ExportWriteTrackDescriptor(Events,
                                   Track,
                                   (ULONG)(At - Track),
                                   Index == 0);
    }
}


//
// Ends a file; there is nothing to write.
// Events: the walk.
//

static
VOID
ExportPerfettoEndFile(
    _Inout_ PREADER_EVENTS Events
    )
{
    UNREFERENCED_PARAMETER(Events);
}


//
// Describes a track.
// Events: the walk.
//

static
VOID
ExportPerfettoBeginTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    )
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
    ExportWriteTrackName(&Text, Track);
    Length = ExportCleanName(Name, Text.LengthInBytes, Clean, sizeof(Clean));

    At = ExportPutNumberField(Message,
                              READER_TRACK_UUID,
                              READER_FIRST_TRACK(Events) + Track->Index);
    At = ExportPutNumberField(At,
                              READER_TRACK_PARENT,
                              READER_PROCESS_TRACK +
                                  (ULONGLONG)Track->Process);
    if (Track->Fiber != 0 || Track->IsOfStates) {

        At = ExportPutBytesField(At, READER_TRACK_NAME, Clean, Length);

    } else {

        End = ExportPutNumberField(Thread,
                                   READER_THREAD_PROCESS_ID,
                                   (ULONGLONG)(LONG)Track->NumberOfProcess);
        End = ExportPutNumberField(End,
                                   READER_THREAD_ID,
                                   (ULONGLONG)(LONG)Track->Identifier);
        End = ExportPutBytesField(End, READER_THREAD_NAME, Clean, Length);
        At = ExportPutBytesField(At,
                                 READER_TRACK_THREAD,
                                 Thread,
                                 (ULONG)(End - Thread));
    }

    ExportWriteTrackDescriptor(Events,
                               Message,
                               (ULONG)(At - Message),
                               FALSE);
}


//
// Sends a function's name, and its module's, if the file lacks that.
// Events: the walk.
// Known: what is known of it; Text receives the clean name.
//

static
VOID
ExportInternFunction(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Index,
    _Inout_ PREADER_EVENT_FUNCTION Known
    )
{
    PREADER_PERFETTO Perfetto = (PREADER_PERFETTO)Events;
    PREADER_EXPORT Export = Events->Export;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_FUNCTION Function = &Export->Functions.Functions[Index];
    ULONG Module = FunctionNumberModule(&Export->Functions, Function);
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

        Known->TextLength = ExportCleanName(Function->Name,
                                            Function->NameLength,
                                            Known->Text,
                                            Function->NameLength * 3 + 1);
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Perfetto->ModuleParts,
                           &Perfetto->CapacityOfModules,
                           Module + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        READER_KEEP_STATUS(Events, Status);
        return;
    }

    if (Perfetto->ModuleParts[Module] != Events->Part) {
        Perfetto->ModuleParts[Module] = Events->Part;
        ExportInternText(Events,
                         READER_INTERNED_CATEGORIES,
                         Module + 1,
                         Clean,
                         ExportCleanName(Function->ModuleName,
                                         Function->ModuleNameLength,
                                         Clean,
                                         sizeof(Clean)));
    }

    ExportInternText(Events,
                     READER_INTERNED_NAMES,
                     Known->Number + 1,
                     Known->Text,
                     Known->TextLength);
    if (Function->Wait != ReaderWaitNone &&
        Perfetto->WaitParts[Function->Wait] != Events->Part) {
        Perfetto->WaitParts[Function->Wait] = Events->Part;
        ExportInternText(Events,
                         READER_INTERNED_CATEGORIES,
                         READER_WAIT_CATEGORY(Function->Wait),
                         ExportNameWait(Function->Wait),
                         RtlLengthOfString(ExportNameWait(Function->Wait)));
    }
}


//
// Sends the name of the module that calls a stub, if the file lacks that.
//

static
VOID
ExportInternCaller(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Importer
    )
{
    static const CHAR Name[] = "caller_module";
    PREADER_PERFETTO Perfetto = (PREADER_PERFETTO)Events;
    PREADER_EXPORT Export = Events->Export;
    PCREADER_IMPORTED Caller;
    CHAR Clean[512];
    NTSTATUS Status;

    Status = BaseGrowArray(Export->Context->Allocator,
                           (PVOID *)&Perfetto->CallerParts,
                           &Perfetto->CapacityOfCallers,
                           Importer + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        READER_KEEP_STATUS(Events, Status);
        return;
    }

    if (Perfetto->CallerPart != Events->Part) {
        Perfetto->CallerPart = Events->Part;
        ExportInternText(Events,
                         READER_INTERNED_ANNOTATIONS,
                         READER_CALLER_ANNOTATION,
                         Name,
                         sizeof(Name) - 1);
    }

    if (Perfetto->CallerParts[Importer] != Events->Part) {
        Perfetto->CallerParts[Importer] = Events->Part;
        Caller = &Export->Functions.Imported[Importer - 1];
        ExportInternText(Events,
                         READER_INTERNED_TEXTS,
                         Importer,
                         Clean,
                         ExportCleanName(Caller->Name,
                                         Caller->NameLength,
                                         Clean,
                                         sizeof(Clean)));
    }
}


//
// Writes a packet with a track event. It and the event are shorter than 128
// bytes, so each length is one byte.
// Events: the walk.
// Category, Name: the numbers of what was interned; 0: none, at an end.
//

static
VOID
ExportPerfettoPutEvent(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks,
    _In_ ULONG Type,
    _In_ ULONG Category,
    _In_ ULONG Name
    )
{
    PREADER_PERFETTO Perfetto = (PREADER_PERFETTO)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    PCHAR Begin;
    PCHAR Event;
    PCHAR Annotation;
    PCHAR At;
    ULONG Index;

    Begin = ExportMakeRoom(Writer, READER_MAXIMUM_ROOM);
    Begin[0] = READER_TRACE_PACKET;
    At = ExportPutNumberField(Begin + 2, READER_PACKET_TIMESTAMP, Time);
    At = ExportPutNumberField(At, READER_PACKET_SEQUENCE, READER_SEQUENCE);
    At = ExportPutNumberField(At,
                              READER_PACKET_SEQUENCE_FLAGS,
                              READER_SEQUENCE_NEEDED);
    *At = READER_PACKET_TRACK_EVENT;
    Event = At + 2;
    At = ExportPutNumberField(Event, READER_EVENT_TYPE, Type);
    At = ExportPutNumberField(At,
                              READER_EVENT_TRACK,
                              READER_FIRST_TRACK(Events) + Track->Index);
    if (Name != 0) {
        At = ExportPutNumberField(At, READER_EVENT_CATEGORY, Category);
        if (Perfetto->Wait != ReaderWaitNone) {
            At = ExportPutNumberField(At,
                                      READER_EVENT_CATEGORY,
                                      READER_WAIT_CATEGORY(Perfetto->Wait));
        }

        At = ExportPutNumberField(At, READER_EVENT_NAME, Name);
        if (Perfetto->Caller != 0) {
            *At = READER_EVENT_ANNOTATION;
            Annotation = At + 2;
            At = ExportPutNumberField(Annotation,
                                      READER_ANNOTATION_NAME_NUMBER,
                                      READER_CALLER_ANNOTATION);
            At = ExportPutNumberField(At,
                                      READER_ANNOTATION_TEXT_NUMBER,
                                      Perfetto->Caller);
            Annotation[-1] = (CHAR)(At - Annotation);
        }
    }

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderPerfettoMarks); Index++) {

        PCSZ Mark = ReaderPerfettoMarks[Index];

        if ((Marks & (1u << Index)) != 0) {
            *At = READER_EVENT_ANNOTATION;
            Annotation = At + 2;
            At = ExportPutBytesField(Annotation,
                                     READER_ANNOTATION_NAME,
                                     Mark,
                                     RtlLengthOfString(Mark));
            At = ExportPutNumberField(At, READER_ANNOTATION_BOOLEAN, 1);
            Annotation[-1] = (CHAR)(At - Annotation);
            break;
        }
    }

    Event[-1] = (CHAR)(At - Event);
    Begin[1] = (CHAR)(At - Begin - 2);
    Writer->LengthInBytes += (ULONG)(At - Begin);
}


//
// Writes the beginning of a call.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportPerfettoEnter(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    PREADER_EVENT_FUNCTION Known;
    BOOLEAN IsNew;
    ULONG Importer;

    if (!ExportNumberFunction(Events, Function, &IsNew, &Known)) {
        return;
    }

    Importer = Events->Export->Functions.Functions[Function].Importer;
    if (IsNew) {
        ExportInternFunction(Events, Function, Known);
        if (Importer != 0) {
            ExportInternCaller(Events, Importer);
        }
    }

    ((PREADER_PERFETTO)Events)->Caller = Importer;
    ((PREADER_PERFETTO)Events)->Wait =
        Events->Export->Functions.Functions[Function].Wait;
    ExportPerfettoPutEvent(
        Events,
        Track,
        Time,
        Marks,
        READER_TYPE_SLICE_BEGIN,
        FunctionNumberModule(&Events->Export->Functions,
                             &Events->Export->Functions.Functions[Function]) +
            1,
        Known->Number + 1);
}


//
// Writes the end of a call, which is that of the track's innermost.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportPerfettoLeave(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    UNREFERENCED_PARAMETER(Function);

    ExportPerfettoPutEvent(Events,
                           Track,
                           Time,
                           Marks,
                           READER_TYPE_SLICE_END,
                           0,
                           0);
}


//
// Writes a packet with an instant, on its thread's track or the process's.
// Events, Track, Process, Name, NameLength, Time: see READER_EVENTS_INSTANT.
//

static
VOID
ExportPerfettoInstant(
    _Inout_ PREADER_EVENTS Events,
    _In_opt_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Process,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG Time
    )
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

    EventEnd = ExportPutNumberField(Event,
                                    READER_EVENT_TYPE,
                                    READER_TYPE_INSTANT);
    EventEnd = ExportPutNumberField(
        EventEnd,
        READER_EVENT_TRACK,
        Track != NULL ? READER_FIRST_TRACK(Events) + Track->Index
                      : READER_PROCESS_TRACK + (ULONGLONG)Process);
    EventEnd = ExportPutBytesField(EventEnd,
                                   READER_EVENT_CATEGORY_TEXT,
                                   READER_INSTANT_CATEGORY,
                                   sizeof(READER_INSTANT_CATEGORY) - 1);
    EventEnd = ExportPutBytesField(EventEnd,
                                   READER_EVENT_NAME_TEXT,
                                   Clean,
                                   ExportCleanName(Name,
                                                   NameLength,
                                                   Clean,
                                                   sizeof(Clean)));
    Length = (ULONG)(EventEnd - Event);

    PacketEnd = ExportPutNumberField(Packet, READER_PACKET_TIMESTAMP, Time);
    PacketEnd = ExportPutNumberField(PacketEnd,
                                     READER_PACKET_SEQUENCE,
                                     READER_SEQUENCE);
    PacketEnd = ExportPutNumberField(PacketEnd,
                                     READER_PACKET_SEQUENCE_FLAGS,
                                     READER_SEQUENCE_NEEDED);
    PacketEnd = ExportPutNumberField(PacketEnd,
                                     READER_PACKET_TRACK_EVENT,
                                     Length);

    Begin = ExportMakeRoom(Writer, READER_MAXIMUM_ROOM);
    At = ExportPutNumberField(Begin,
                              READER_TRACE_PACKET,
                              (ULONG)(PacketEnd - Packet) + Length);
    RtlCopyBytes(At, Packet, (SIZE_T)(PacketEnd - Packet));
    At += PacketEnd - Packet;
    Writer->LengthInBytes += (ULONG)(At - Begin);
    RtlWriteBytes(Writer, Event, Length);
}


//
// Writes the beginning or the end of what a thread did.
//

static
VOID
ExportPerfettoPutState(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track,
    _In_ PCREADER_EVENT_STATE State,
    _In_ BOOLEAN IsEnd
    )
{
    static const CHAR ReasonName[] = "reason";
    PRTL_WRITER Writer = &Events->File.Writer;
    PCSZ Name = ExportNameState(State->State);
    PCHAR Annotation;
    PCHAR Begin;
    PCHAR Event;
    PCHAR At;

    Begin = ExportMakeRoom(Writer, READER_MAXIMUM_ROOM);
    Begin[0] = READER_TRACE_PACKET;
    At = ExportPutNumberField(Begin + 2,
                              READER_PACKET_TIMESTAMP,
                              IsEnd ? State->End : State->Start);
    At = ExportPutNumberField(At, READER_PACKET_SEQUENCE, READER_SEQUENCE);
    At = ExportPutNumberField(At,
                              READER_PACKET_SEQUENCE_FLAGS,
                              READER_SEQUENCE_NEEDED);
    *At = READER_PACKET_TRACK_EVENT;
    Event = At + 2;
    At = ExportPutNumberField(Event,
                              READER_EVENT_TYPE,
                              IsEnd ? READER_TYPE_SLICE_END
                                    : READER_TYPE_SLICE_BEGIN);
    At = ExportPutNumberField(At,
                              READER_EVENT_TRACK,
                              READER_FIRST_TRACK(Events) + Track->Index);
    if (!IsEnd) {
        At = ExportPutBytesField(At,
                                 READER_EVENT_CATEGORY_TEXT,
                                 READER_STATE_CATEGORY,
                                 sizeof(READER_STATE_CATEGORY) - 1);
        At = ExportPutBytesField(At,
                                 READER_EVENT_NAME_TEXT,
                                 Name,
                                 RtlLengthOfString(Name));
        if (State->Reason != NULL) {
            *At = READER_EVENT_ANNOTATION;
            Annotation = At + 2;
            At = ExportPutBytesField(Annotation,
                                     READER_ANNOTATION_NAME,
                                     ReasonName,
                                     sizeof(ReasonName) - 1);
            At = ExportPutBytesField(At,
                                     READER_ANNOTATION_TEXT,
                                     State->Reason,
                                     RtlLengthOfString(State->Reason));
            Annotation[-1] = (CHAR)(At - Annotation);
        }
    }

    Event[-1] = (CHAR)(At - Event);
    Begin[1] = (CHAR)(At - Begin - 2);
    Writer->LengthInBytes += (ULONG)(At - Begin);
}


//
// Events, Track, State: see READER_EVENTS_STATE.
//

static
VOID
ExportPerfettoState(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track,
    _In_ PCREADER_EVENT_STATE State
    )
{
    ExportPerfettoPutState(Events, Track, State, FALSE);
    ExportPerfettoPutState(Events, Track, State, TRUE);
}


static const READER_EVENT_FORMAT ReaderPerfettoFormat = {
    ExportPerfettoBeginFile,
    ExportPerfettoEndFile,
    ExportPerfettoBeginTrack,
    NULL,
    ExportPerfettoEnter,
    ExportPerfettoLeave,
    ExportPerfettoInstant,
    ExportPerfettoState
};


_Use_decl_annotations_
ULONG
ExportPerfetto(
    PREADER_EXPORT Export
    )
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    READER_PERFETTO Perfetto;
    ULONG ExitCode;

    RtlZeroBytes(&Perfetto, sizeof(Perfetto));
    ExitCode = ExportEvents(&Perfetto.Events,
                            Export,
                            &ReaderPerfettoFormat);
    Allocator->Free(Allocator->Context, Perfetto.ModuleParts);
    Allocator->Free(Allocator->Context, Perfetto.CallerParts);
    return ExitCode;
}
