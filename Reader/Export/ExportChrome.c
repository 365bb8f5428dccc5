/*++

Module Name:

    ExportChrome.c

Abstract:

    The Trace Event Format of Chrome, as JSON: chrome://tracing, Perfetto,
    speedscope and others read it.

    A call is a pair of events, B and E.  One event of the kind X would take
    half the room, but X leaves the nesting of calls to their times: a call
    that takes no time at all, or begins in the same nanosecond as the one it
    was made from, has more than one place then.  B and E are nested as they
    come in the file.  E repeats the name because speedscope wants it to.

    Where an end comes at the same time as an entry before it, or an entry at
    that of an end, it gets a picosecond more: readers that sort the events by
    their times, as speedscope does, would take a call that begins with the one
    around it, and ends at once, for one that ends first.

    What is special about a call is in a field of its own, mark: speedscope
    makes arguments a part of the name, so that a call with them would be of
    another function, and its end another's.

--*/

#include "ExportStates.h"
#include "ExportText.h"
#include "ExportTracks.h"

typedef struct _READER_CHROME {
    READER_EVENTS Events;
    CHAR Process[24];               // "pid":4294967295,"tid":
    ULONG ProcessLength;
    ULONG NumberOfProcess;          // that Process is of
} READER_CHROME;
typedef READER_CHROME *PREADER_CHROME;

static const PCSZ ReaderChromeMarks[] = {
    "begun_before",
    "continued",
    "abandoned",
    "unfinished"
};


//
// Makes the part of an event that names its process.
// Chrome: the export.
//

static
VOID
ExportChromeSetProcess(
    _Inout_ PREADER_CHROME Chrome,
    _In_ ULONG Number
    )
{
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Chrome->Process, sizeof(Chrome->Process));
    RtlWriteText(&Text, "\"pid\":%u,\"tid\":", Number);
    Chrome->ProcessLength = Text.LengthInBytes;
    Chrome->NumberOfProcess = Number;
}


//
// Events: the walk.
//

static
VOID
ExportChromeBeginFile(
    _Inout_ PREADER_EVENTS Events
    )
{
    PREADER_CHROME Chrome = (PREADER_CHROME)Events;
    PREADER_EXPORT Export = Events->Export;
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Name[512];
    RTL_WRITER Text;
    ULONG Process;

    ExportChromeSetProcess(Chrome, ExportNumberProcess(Events, 0));

    RtlWriteText(Writer,
                 "{\"displayTimeUnit\":\"ns\",\n"
                 "\"otherData\":{\"tool\":\"TraceReader\",\"session\":");
    ExportWriteJsonText(Writer,
                        Export->Options->PathUtf8,
                        RtlLengthOfString(Export->Options->PathUtf8));
    RtlWriteText(Writer,
                 ",\"clock\":\"%s\",\"times\":\"%s after the session's first "
                 "record\"",
                 OutputDescribeClock(&Export->Session.Clock),
                 READER_HAS_NANOSECONDS(Events)
                     ? "microseconds"
                     : "thousands of ticks (their rate is not known)");
    if (Export->Options->SplitSize != 0) {
        RtlWriteText(Writer, ",\"part\":\"%u\"", Events->Part);
    }

    RtlWriteText(Writer, "},\n\"traceEvents\":[\n");
    for (Process = 0;
         Process < Export->Session.NumberOfProcesses;
         Process++) {

        RtlWriteText(Writer,
                     "%s{\"ph\":\"M\",\"pid\":%u,"
                     "\"name\":\"process_name\",\"args\":{\"name\":",
                     Process != 0 ? ",\n" : "",
                     ExportNumberProcess(Events, Process));
        RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
        ExportWriteProcessName(&Text, Events, Process);
        ExportWriteJsonText(Writer, Name, Text.LengthInBytes);
        RtlWriteText(Writer, "}}");
    }
}


//
// Events: the walk.
//

static
VOID
ExportChromeEndFile(
    _Inout_ PREADER_EVENTS Events
    )
{
    RtlWriteText(&Events->File.Writer, "\n]}\n");
}


//
// Names a track.
// Events: the walk.
//

static
VOID
ExportChromeBeginTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    )
{
    PREADER_CHROME Chrome = (PREADER_CHROME)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Name[256];
    RTL_WRITER Text;

    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    ExportWriteTrackName(&Text, Track);
    if (Track->NumberOfProcess != Chrome->NumberOfProcess) {
        ExportChromeSetProcess(Chrome, Track->NumberOfProcess);
    }

    RtlWriteText(Writer, ",\n{\"ph\":\"M\",");
    RtlWriteBytes(Writer, Chrome->Process, Chrome->ProcessLength);
    RtlWriteText(Writer,
                 "%u,\"name\":\"thread_name\",\"args\":{\"name\":",
                 Track->Identifier);
    ExportWriteJsonText(Writer, Name, Text.LengthInBytes);
    RtlWriteText(Writer, "}},\n{\"ph\":\"M\",");
    RtlWriteBytes(Writer, Chrome->Process, Chrome->ProcessLength);
    RtlWriteText(Writer,
                 "%u,\"name\":\"thread_sort_index\","
                 "\"args\":{\"sort_index\":%u}}",
                 Track->Identifier,
                 Track->Index);
}


//
// Makes the part of an event that depends on the function alone.
// Events: the walk.
// Known: the text: the category, which module called, and from TextOffset on
// the name.
//

static
VOID
ExportChromeMakeText(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Index,
    _Inout_ PREADER_EVENT_FUNCTION Known
    )
{
    PREADER_EXPORT Export = Events->Export;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_FUNCTION Function = &Export->Functions.Functions[Index];
    PCREADER_IMPORTED Caller = NULL;
    RTL_WRITER Text;
    ULONG Capacity;

    if (Function->Importer != 0) {
        Caller = &Export->Functions.Imported[Function->Importer - 1];
    }

    //
    // A byte becomes three at most.
    //

    Capacity = 192 + 3 * (Function->ModuleNameLength +
                          Function->NameLength +
                          (Caller != NULL ? Caller->NameLength : 0));
    Known->Text = (PCHAR)Allocator->Allocate(Allocator->Context, Capacity);
    if (Known->Text == NULL) {
        READER_KEEP_STATUS(Events, STATUS_NO_MEMORY);
        return;
    }

    RtlInitializeBufferWriter(&Text, Known->Text, Capacity);
    RtlWriteText(&Text, ",\"cat\":");
    ExportWriteJsonText(&Text,
                        Function->ModuleName,
                        Function->ModuleNameLength);
    if (Function->Wait != ReaderWaitNone) {

        //
        // Categories are separated by commas; the module's is in quotes.
        //

        Text.LengthInBytes -= 1;
        RtlWriteText(&Text,
                     ",%s\"%s",
                     ExportNameWait(Function->Wait),
                     Function->Wait == ReaderWaitLock
                         ? ""
                         : ",\"cname\":\"thread_state_sleeping\"");
    }

    if (Caller != NULL) {
        RtlWriteText(&Text, ",\"args\":{\"caller_module\":");
        ExportWriteJsonText(&Text, Caller->Name, Caller->NameLength);
        RtlWriteText(&Text, "}");
    }

    Known->TextOffset = Text.LengthInBytes;
    RtlWriteText(&Text, ",\"name\":");
    ExportWriteJsonText(&Text, Function->Name, Function->NameLength);
    Known->TextLength = Text.LengthInBytes;
}


//
// Events: the walk.
// Phase: 'B' or 'E'.
//

static
VOID
ExportChromePutEvent(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks,
    _In_ CHAR Phase
    )
{
    PREADER_CHROME Chrome = (PREADER_CHROME)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    PREADER_EVENT_FUNCTION Known;
    BOOLEAN IsNew;
    ULONG Picoseconds;
    ULONG Offset = 0;
    ULONG Index;
    PCHAR Begin;
    PCHAR At;

    if (!ExportNumberFunction(Events, Function, &IsNew, &Known)) {
        return;
    }

    if (Known->Text == NULL) {
        ExportChromeMakeText(Events, Function, Known);
        if (Known->Text == NULL) {
            return;
        }
    }

    if (Track->NumberOfProcess != Chrome->NumberOfProcess) {
        ExportChromeSetProcess(Chrome, Track->NumberOfProcess);
    }

    Begin = ExportMakeRoom(Writer, READER_MAXIMUM_ROOM);
    RtlCopyBytes(Begin, ",\n{\"ph\":\"B\",", 12);
    Begin[9] = Phase;
    RtlCopyBytes(Begin + 12, Chrome->Process, Chrome->ProcessLength);
    At = ExportPutDecimal(Begin + 12 + Chrome->ProcessLength,
                          Track->Identifier);
    RtlCopyBytes(At, ",\"ts\":", 6);
    Picoseconds = ExportPlaceEvent(Track, &Time, Phase == 'E');
    At = ExportPutMicroseconds(At + 6, Time);
    if (Picoseconds != 0) {
        At = ExportPutThreeDigits(At, Picoseconds);
    }

    Writer->LengthInBytes += (ULONG)(At - Begin);

    if (Phase == 'E') {
        Offset = Known->TextOffset;
    }

    RtlWriteBytes(Writer, Known->Text + Offset, Known->TextLength - Offset);
    if (Marks == 0) {
        RtlWriteBytes(Writer, "}", 1);
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderChromeMarks); Index++) {
        if ((Marks & (1u << Index)) != 0) {
            RtlWriteText(Writer,
                         ",\"mark\":\"%s\"}",
                         ReaderChromeMarks[Index]);
            return;
        }
    }
}


//
// Writes the beginning of a call.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportChromeEnter(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    ExportChromePutEvent(Events, Track, Function, Time, Marks, 'B');
}


//
// Writes the end of a call.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportChromeLeave(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    ExportChromePutEvent(Events, Track, Function, Time, Marks, 'E');
}


//
// Writes an instant event, of a thread or of all.
// Events, Track, Process, Name, NameLength, Time: see READER_EVENTS_INSTANT.
//

static
VOID
ExportChromeInstant(
    _Inout_ PREADER_EVENTS Events,
    _In_opt_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Process,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG Time
    )
{
    PREADER_CHROME Chrome = (PREADER_CHROME)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Place[READER_MICROSECONDS_SIZE];
    PCHAR End;

    ExportChromeSetProcess(Chrome, ExportNumberProcess(Events, Process));
    End = ExportPutMicroseconds(Place, Time);
    RtlWriteText(Writer, ",\n{\"ph\":\"i\",");
    RtlWriteBytes(Writer, Chrome->Process, Chrome->ProcessLength);
    RtlWriteText(Writer,
                 "%u,\"ts\":",
                 Track != NULL ? Track->Identifier : 0);
    RtlWriteBytes(Writer, Place, (ULONG)(End - Place));
    RtlWriteText(Writer,
                 ",\"s\":\"%s\",\"cat\":\"" READER_INSTANT_CATEGORY
                 "\",\"name\":",
                 Track != NULL
                     ? "t"
                     : Events->Export->Session.NumberOfProcesses == 1 ? "g"
                                                                      : "p");
    ExportWriteJsonText(Writer, Name, NameLength);
    RtlWriteBytes(Writer, "}", 1);
}


//
// Writes what a thread did: a complete event, in the colour that it has in
// traces of the system.
// Events, Track, State: see READER_EVENTS_STATE.
//

static
VOID
ExportChromeState(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track,
    _In_ PCREADER_EVENT_STATE State
    )
{
    PREADER_CHROME Chrome = (PREADER_CHROME)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Place[READER_MICROSECONDS_SIZE];
    PCHAR End;

    if (Track->NumberOfProcess != Chrome->NumberOfProcess) {
        ExportChromeSetProcess(Chrome, Track->NumberOfProcess);
    }

    RtlWriteText(Writer, ",\n{\"ph\":\"X\",");
    RtlWriteBytes(Writer, Chrome->Process, Chrome->ProcessLength);
    RtlWriteText(Writer, "%u,\"ts\":", Track->Identifier);
    End = ExportPutMicroseconds(Place, State->Start);
    RtlWriteBytes(Writer, Place, (ULONG)(End - Place));
    RtlWriteText(Writer, ",\"dur\":");
    End = ExportPutMicroseconds(Place, State->End - State->Start);
    RtlWriteBytes(Writer, Place, (ULONG)(End - Place));
    RtlWriteText(Writer,
                 ",\"cat\":\"" READER_STATE_CATEGORY "\",\"name\":\"%s\","
                 "\"cname\":\"thread_state_%s\"",
                 ExportNameState(State->State),
                 State->State == EtlStateRunning ? "running"
                 : State->State == EtlStateReady ? "runnable"
                                                 : "sleeping");
    if (State->Reason != NULL) {
        RtlWriteText(Writer,
                     ",\"args\":{\"reason\":\"%s\"}",
                     State->Reason);
    }

    RtlWriteBytes(Writer, "}", 1);
}


static const READER_EVENT_FORMAT ReaderChromeFormat = {
    ExportChromeBeginFile,
    ExportChromeEndFile,
    ExportChromeBeginTrack,
    NULL,
    ExportChromeEnter,
    ExportChromeLeave,
    ExportChromeInstant,
    ExportChromeState
};


_Use_decl_annotations_
ULONG
ExportChrome(
    PREADER_EXPORT Export
    )
{
    READER_CHROME Chrome;

    RtlZeroBytes(&Chrome, sizeof(Chrome));
    return ExportEvents(&Chrome.Events, Export, &ReaderChromeFormat);
}
