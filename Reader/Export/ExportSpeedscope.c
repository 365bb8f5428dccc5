/*++

Module Name:

    ExportSpeedscope.c

Abstract:

    speedscope's own format: JSON with an evented profile for each track and
    the functions, which they share, at the end.

    The events come in the order of time, all tracks mixed, but a profile has to
    be written as a whole.  So what happens is noted in few bytes in a file of
    its own, FILE.tracks.tmp, in blocks that belong to one track each, and read
    from there when the file ends, track by track.

    speedscope counts the time of an evented profile from its startValue; that
    is when the file begins, so that all profiles have the same axis.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionProcess.h"
#include "ExportEvents.h"
#include "ExportText.h"

#define READER_TRACKS_SUFFIX L".tracks"

#define READER_TRACK_BLOCK_SIZE 0x4000u

//
// An event: the time since the track's last one and twice the frame's number,
// plus 1 for the end of a call; each in bytes of seven bits, the lowest first.
//

#define READER_TRACK_EVENT_SIZE 15u

typedef struct _READER_TRACK_BLOCK {
    ULONGLONG Next;                 // where in the file the next one is
    ULONG Length;                   // bytes of Events
    BOOLEAN IsLast;
    UCHAR Unused[3];
    UCHAR Events[READER_TRACK_BLOCK_SIZE - 16];
} READER_TRACK_BLOCK;
typedef READER_TRACK_BLOCK *PREADER_TRACK_BLOCK;

C_ASSERT(sizeof(READER_TRACK_BLOCK) == READER_TRACK_BLOCK_SIZE);

typedef struct _READER_TRACK_NOTES {
    PCREADER_EXPORT_TRACK Track;    // NULL: has nothing in this file
    PREADER_TRACK_BLOCK Block;      // the one that is filled, or NULL: all
                                    // are written
    ULONGLONG FirstBlock;           // where it is
    ULONGLONG ThisBlock;            // where Block goes
    ULONGLONG Time;                 // of the last event
} READER_TRACK_NOTES;
typedef READER_TRACK_NOTES *PREADER_TRACK_NOTES;

typedef struct _READER_SPEEDSCOPE {
    READER_EVENTS Events;
    READER_FILE Notes;
    PWSTR NotesName;                // RTL_MAXIMUM_PATH_IN_CHARS
    ULONGLONG EndOfNotes;           // where the next block goes
    PREADER_TRACK_NOTES Tracks;     // by index
    ULONG CapacityOfTracks;
} READER_SPEEDSCOPE;
typedef READER_SPEEDSCOPE *PREADER_SPEEDSCOPE;


//
// Writes a track's block to its place.
// Scope: the export.
// Notes: the track's; Block is there.
//

static
VOID
ExportWriteTrackBlock(
    _Inout_ PREADER_SPEEDSCOPE Scope,
    _Inout_ PREADER_TRACK_NOTES Notes
    )
{
    READER_KEEP_STATUS(&Scope->Events,
                       RtlWriteFile(Scope->Events.Export->Context->Rtl,
                                    Scope->Notes.Handle,
                                    Notes->ThisBlock,
                                    Notes->Block,
                                    READER_TRACK_BLOCK_SIZE));
}


//
// Events: the walk.
// IsEnd: 1: it is the end of a call; 0: the beginning.
//

static
VOID
ExportNoteEvent(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG IsEnd
    )
{
    PREADER_SPEEDSCOPE Scope = (PREADER_SPEEDSCOPE)Events;
    PREADER_TRACK_NOTES Notes;
    PREADER_TRACK_BLOCK Block;
    PREADER_EVENT_FUNCTION Known;
    ULONGLONG Value;
    BOOLEAN IsNew;
    PUCHAR At;

    if (!NT_SUCCESS(Events->Status) ||
        !ExportNumberFunction(Events, Function, &IsNew, &Known)) {
        return;
    }

    Notes = &Scope->Tracks[Track->Index];
    Block = Notes->Block;
    if (Block->Length > sizeof(Block->Events) - READER_TRACK_EVENT_SIZE) {
        Block->Next = Scope->EndOfNotes;
        Scope->EndOfNotes += READER_TRACK_BLOCK_SIZE;
        ExportWriteTrackBlock(Scope, Notes);
        Notes->ThisBlock = Block->Next;
        Block->Length = 0;
    }

    At = Block->Events + Block->Length;
    for (Value = Time - Notes->Time; Value >= 0x80; Value >>= 7) {
        *At++ = (UCHAR)(Value | 0x80);
    }

    *At++ = (UCHAR)Value;
    Value = (ULONGLONG)Known->Number * 2 + IsEnd;
    for (; Value >= 0x80; Value >>= 7) {
        *At++ = (UCHAR)(Value | 0x80);
    }

    *At++ = (UCHAR)Value;
    Block->Length = (ULONG)(At - Block->Events);
    Notes->Time = Time;

    //
    // {"type":"O","frame":,"at":} and what separates it.
    //

    Events->SizeToCome += 29 +
                          ExportCountDigits(Known->Number) +
                          ExportCountDigits(Time);
    if (IsNew) {
        Events->SizeToCome +=
            32 + Events->Export->Functions.Functions[Function].NameLength;
    }
}


//
// Notes the beginning of a call.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportSpeedscopeEnter(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    UNREFERENCED_PARAMETER(Marks);

    ExportNoteEvent(Events, Track, Function, Time, 0);
}


//
// Notes the end of a call.
// Events, Track, Function, Time, Marks: see READER_EVENTS_CALL.
//

static
VOID
ExportSpeedscopeLeave(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONGLONG Time,
    _In_ ULONG Marks
    )
{
    UNREFERENCED_PARAMETER(Marks);

    ExportNoteEvent(Events, Track, Function, Time, 1);
}


//
// Begins a track's notes.
// Events: the walk.
// Without memory Status is a failure, and ExportNoteEvent does nothing.
//

static
VOID
ExportSpeedscopeBeginTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    )
{
    PREADER_SPEEDSCOPE Scope = (PREADER_SPEEDSCOPE)Events;
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    PREADER_TRACK_NOTES Notes;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Scope->Tracks,
                           &Scope->CapacityOfTracks,
                           Track->Index + 1,
                           sizeof(READER_TRACK_NOTES));
    if (!NT_SUCCESS(Status)) {
        READER_KEEP_STATUS(Events, Status);
        return;
    }

    Notes = &Scope->Tracks[Track->Index];
    if (Notes->Block == NULL) {
        Notes->Block = (PREADER_TRACK_BLOCK)
            Allocator->Allocate(Allocator->Context, sizeof(*Notes->Block));
        if (Notes->Block == NULL) {
            READER_KEEP_STATUS(Events, STATUS_NO_MEMORY);
            return;
        }
    }

    Notes->Track = Track;
    Notes->Block->Length = 0;
    Notes->Block->IsLast = FALSE;
    Notes->FirstBlock = Scope->EndOfNotes;
    Notes->ThisBlock = Scope->EndOfNotes;
    Notes->Time = Events->PartTime;
    Scope->EndOfNotes += READER_TRACK_BLOCK_SIZE;
}


//
// Ends a track's notes.
// Events: the walk.
//

static
VOID
ExportSpeedscopeEndTrack(
    _Inout_ PREADER_EVENTS Events,
    _In_ PCREADER_EXPORT_TRACK Track
    )
{
    PREADER_SPEEDSCOPE Scope = (PREADER_SPEEDSCOPE)Events;
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    PREADER_TRACK_NOTES Notes = &Scope->Tracks[Track->Index];

    if (Notes->Block != NULL) {
        Notes->Block->IsLast = TRUE;
        ExportWriteTrackBlock(Scope, Notes);
        Allocator->Free(Allocator->Context, Notes->Block);
        Notes->Block = NULL;
    }
}


//
// Events: the walk.
//

static
VOID
ExportSpeedscopeBeginFile(
    _Inout_ PREADER_EVENTS Events
    )
{
    PREADER_SPEEDSCOPE Scope = (PREADER_SPEEDSCOPE)Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    CHAR Name[512];
    RTL_WRITER Text;

    Scope->EndOfNotes = 0;
    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    ExportWriteProcessName(&Text, Events, 0);
    RtlWriteText(&Text, " (process %u)", ExportNumberProcess(Events, 0));
    if (Events->Export->Session.NumberOfProcesses > 1) {
        RtlWriteText(&Text,
                     " and %u more",
                     Events->Export->Session.NumberOfProcesses - 1);
    }

    if (Events->Export->Options->SplitSize != 0) {
        RtlWriteText(&Text, ", part %u", Events->Part);
    }

    RtlWriteText(Writer,
                 "{\"$schema\":"
                 "\"https://www.speedscope.app/file-format-schema.json\",\n"
                 "\"exporter\":\"TraceReader\",\"name\":");
    ExportWriteJsonText(Writer, Name, Text.LengthInBytes);
    RtlWriteText(Writer, ",\"activeProfileIndex\":0,\n\"profiles\":[");
}


//
// Time: the time of the event before; receives that of the last one.
// IsFirst: whether none has been written of the track.
//

static
VOID
ExportWriteNotedEvents(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_TRACK_BLOCK *Block,
    _Inout_ PULONGLONG Time,
    _Inout_ PBOOLEAN IsFirst
    )
{
    const UCHAR *At = Block->Events;
    const UCHAR *End = At + Block->Length;
    ULONGLONG Values[2];
    ULONG Index;
    ULONG Shift;
    PCHAR Begin;
    PCHAR Place;

    while (At < End) {

        for (Index = 0; Index < 2; Index++) {

            Values[Index] = 0;
            Shift = 0;
            while (At < End) {
                Values[Index] |= (ULONGLONG)(*At & 0x7F) << Shift;
                Shift += 7;
                At += 1;
                if ((At[-1] & 0x80) == 0 || Shift > 63) {
                    break;
                }
            }
        }

        *Time += Values[0];
        Begin = ExportMakeRoom(Writer, READER_MAXIMUM_ROOM);
        Place = Begin;
        if (!*IsFirst) {
            *Place++ = ',';
        }

        *IsFirst = FALSE;
        RtlCopyBytes(Place, "\n{\"type\":\"O\",\"frame\":", 21);
        if ((Values[1] & 1) != 0) {
            Place[10] = 'C';
        }

        Place = ExportPutDecimal(Place + 21, Values[1] >> 1);
        RtlCopyBytes(Place, ",\"at\":", 6);
        Place = ExportPutDecimal(Place + 6, *Time);
        *Place++ = '}';
        Writer->LengthInBytes += (ULONG)(Place - Begin);
    }
}


//
// Writes a track's profile.
// Scope: the export.
// Notes: the track's; all blocks are written.
// Block: room for one.
//

static
VOID
ExportWriteProfile(
    _Inout_ PREADER_SPEEDSCOPE Scope,
    _In_ const READER_TRACK_NOTES *Notes,
    _Inout_ PREADER_TRACK_BLOCK Block
    )
{
    PREADER_EVENTS Events = &Scope->Events;
    PRTL_WRITER Writer = &Events->File.Writer;
    ULONGLONG Time = Events->PartTime;
    ULONGLONG Place = Notes->FirstBlock;
    BOOLEAN IsFirst = TRUE;
    CHAR Name[512];
    RTL_WRITER Text;
    ULONG Read;
    NTSTATUS Status;

    RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
    ExportWriteTrackName(&Text, Notes->Track);
    if (Events->Export->Session.NumberOfProcesses > 1) {
        RtlWriteText(&Text, ", ");
        SessionWriteProcess(&Text,
                            &Events->Export->Session,
                            Notes->Track->Process);
    }

    RtlWriteText(Writer, "{\"type\":\"evented\",\"name\":");
    ExportWriteJsonText(Writer, Name, Text.LengthInBytes);
    RtlWriteText(Writer,
                 ",\"unit\":\"%s\",\"startValue\":%llu,\"endValue\":%llu,"
                 "\"events\":[",
                 READER_HAS_NANOSECONDS(Events) ? "nanoseconds" : "none",
                 Events->PartTime,
                 Events->Time);

    do {

        Status = RtlReadFile(Events->Export->Context->Rtl,
                             Scope->Notes.Handle,
                             Place,
                             Block,
                             sizeof(*Block),
                             &Read);
        if (NT_SUCCESS(Status) &&
            (Read != sizeof(*Block) ||
             Block->Length > sizeof(Block->Events))) {
            Status = STATUS_FILE_CORRUPT_ERROR;
        }

        if (!NT_SUCCESS(Status)) {
            READER_KEEP_STATUS(Events, Status);
            return;
        }

        ExportWriteNotedEvents(Writer, Block, &Time, &IsFirst);
        Place = Block->Next;

    } while (!Block->IsLast && NT_SUCCESS(Writer->Status));

    RtlWriteText(Writer, "]}");
}


//
// Writes the profiles and what they share.
// Events: the walk.
//

static
VOID
ExportSpeedscopeEndFile(
    _Inout_ PREADER_EVENTS Events
    )
{
    PREADER_SPEEDSCOPE Scope = (PREADER_SPEEDSCOPE)Events;
    PREADER_EXPORT Export = Events->Export;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PRTL_WRITER Writer = &Events->File.Writer;
    PCREADER_FUNCTION Function;
    PREADER_TRACK_BLOCK Block;
    PCSZ Separator = "\n";
    ULONG Index;

    for (Index = 0; Index < Scope->CapacityOfTracks; Index++) {
        if (Scope->Tracks[Index].Track != NULL &&
            Scope->Tracks[Index].Block != NULL) {
            ExportSpeedscopeEndTrack(Events, Scope->Tracks[Index].Track);
        }
    }

    Block = (PREADER_TRACK_BLOCK)Allocator->Allocate(Allocator->Context,
                                                     sizeof(*Block));
    if (Block == NULL) {
        READER_KEEP_STATUS(Events, STATUS_NO_MEMORY);
        return;
    }

    for (Index = 0; Index < Scope->CapacityOfTracks; Index++) {

        if (Scope->Tracks[Index].Track != NULL &&
            NT_SUCCESS(Events->Status)) {
            RtlWriteText(Writer, "%s", Separator);
            Separator = ",\n";
            ExportWriteProfile(Scope, &Scope->Tracks[Index], Block);
        }

        Scope->Tracks[Index].Track = NULL;
    }

    Allocator->Free(Allocator->Context, Block);
    RtlWriteText(Writer, "],\n\"shared\":{\"frames\":[");
    for (Index = 0; Index < Events->NumberInOrder; Index++) {
        Function = &Export->Functions.Functions[Events->Order[Index]];
        RtlWriteText(Writer, "%s{\"name\":", Index == 0 ? "\n" : ",\n");
        ExportWriteJsonText(Writer, Function->Name, Function->NameLength);
        RtlWriteText(Writer, ",\"file\":");
        ExportWriteJsonText(Writer,
                            Function->ModuleName,
                            Function->ModuleNameLength);
        RtlWriteText(Writer, "}");
    }

    RtlWriteText(Writer, "]}}\n");
}


static const READER_EVENT_FORMAT ReaderSpeedscopeFormat = {
    ExportSpeedscopeBeginFile,
    ExportSpeedscopeEndFile,
    ExportSpeedscopeBeginTrack,
    ExportSpeedscopeEndTrack,
    ExportSpeedscopeEnter,
    ExportSpeedscopeLeave,
    NULL
};


_Use_decl_annotations_
ULONG
ExportSpeedscope(
    PREADER_EXPORT Export
    )
{
    PCREADER_OPTIONS Options = Export->Options;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    READER_SPEEDSCOPE Scope;
    ULONG Length = RtlLengthOfWideString(Options->Output);
    ULONG ExitCode = READER_EXIT_FAILURE;
    ULONG Index;

    RtlZeroBytes(&Scope, sizeof(Scope));
    Scope.NotesName = (PWSTR)
        Allocator->Allocate(Allocator->Context,
                            Length * sizeof(WCHAR) +
                                sizeof(READER_TRACKS_SUFFIX));
    if (Scope.NotesName == NULL) {
        return BaseFail(Export->Context,
                        "export",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    RtlCopyBytes(Scope.NotesName, Options->Output, Length * sizeof(WCHAR));
    RtlCopyBytes(Scope.NotesName + Length,
                 READER_TRACKS_SUFFIX,
                 sizeof(READER_TRACKS_SUFFIX));

    if (BaseCreateFile(&Scope.Notes,
                       Export->Context,
                       Scope.NotesName,
                       Options->OutputUtf8,
                       FALSE)) {
        ExitCode = ExportEvents(&Scope.Events,
                                Export,
                                &ReaderSpeedscopeFormat);
        (VOID)BaseCloseFile(&Scope.Notes, FALSE);
    }

    for (Index = 0; Index < Scope.CapacityOfTracks; Index++) {
        Allocator->Free(Allocator->Context, Scope.Tracks[Index].Block);
    }

    Allocator->Free(Allocator->Context, Scope.Tracks);
    Allocator->Free(Allocator->Context, Scope.NotesName);
    return ExitCode;
}
