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

    Around an import whose caller is not recorded is the module that called it,
    a frame "[game.exe]" that begins and ends with the call.

--*/

#include "../Base/BaseErrors.h"
#include "../Functions/FunctionStub.h"
#include "../Session/SessionProcess.h"
#include "ExportEvents.h"
#include "ExportText.h"
#include "ExportTracks.h"

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

//
// A call that is open in the file.
//

typedef struct _READER_TRACK_CALL {
    ULONG Function;
    ULONG Module;                   // READER_MAKE_CALLING_MODULE of the one
                                    // around it; READER_NONE: there is none
} READER_TRACK_CALL;
typedef READER_TRACK_CALL *PREADER_TRACK_CALL;

//
// A module that called: its frame in a file.
//

typedef struct _READER_CALLER_FRAME {
    ULONG Part;                     // in which Number was given
    ULONG Number;
} READER_CALLER_FRAME;
typedef READER_CALLER_FRAME *PREADER_CALLER_FRAME;

typedef struct _READER_TRACK_NOTES {
    PCREADER_EXPORT_TRACK Track;    // NULL: has nothing in this file
    PREADER_TRACK_BLOCK Block;      // the one that is filled, or NULL: all
                                    // are written
    ULONGLONG FirstBlock;           // where it is
    ULONGLONG ThisBlock;            // where Block goes
    ULONGLONG Time;                 // of the last event
    PREADER_TRACK_CALL Calls;       // that are open
    ULONG NumberOfCalls;
    ULONG CapacityOfCalls;
} READER_TRACK_NOTES;
typedef READER_TRACK_NOTES *PREADER_TRACK_NOTES;

typedef struct _READER_SPEEDSCOPE {
    READER_EVENTS Events;
    READER_FILE Notes;
    PWSTR NotesName;                // RTL_MAXIMUM_PATH_IN_CHARS
    ULONGLONG EndOfNotes;           // where the next block goes
    PREADER_TRACK_NOTES Tracks;     // by index
    ULONG CapacityOfTracks;
    READER_MAP Alike;               // of stubs of one function: the first
    PULONG Frames;                  // of this file: function, or
                                    // READER_MAKE_CALLING_MODULE
    ULONG NumberOfFrames;
    ULONG CapacityOfFrames;
    PREADER_CALLER_FRAME Callers;   // by index in Imported
    ULONG CapacityOfCallers;
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
// Finds the first function that differs from one at most by the module that
// calls its stub: they have one frame.
//

_Must_inspect_result_
static
NTSTATUS
ExportFindAlike(
    _Inout_ PREADER_SPEEDSCOPE Scope,
    _Inout_ PULONG Function
    )
{
    PCREADER_FUNCTION This =
        &Scope->Events.Export->Functions.Functions[*Function];
    ULONGLONG Key = ((ULONGLONG)This->Module << 32) | This->FirstRva;

    if (!This->IsStub || BaseFindInMap(&Scope->Alike, Key, Function)) {
        return STATUS_SUCCESS;
    }

    return BaseAddToMap(&Scope->Alike, Key, *Function);
}


//
// Gives a function, or a module that called, the number of its frame in the
// file.  A failure goes to the events' Status.
//

static
ULONG
ExportNumberFrame(
    _Inout_ PREADER_SPEEDSCOPE Scope,
    _In_ ULONG Function
    )
{
    PREADER_EVENTS Events = &Scope->Events;
    PREADER_FUNCTIONS Functions = &Events->Export->Functions;
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    PREADER_EVENT_FUNCTION Known;
    PREADER_CALLER_FRAME Caller = NULL;
    ULONG Number = Scope->NumberOfFrames;
    ULONG Length;
    BOOLEAN IsNew;
    NTSTATUS Status = STATUS_SUCCESS;

    if (READER_IS_CALLING_MODULE(Function)) {

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Scope->Callers,
                               &Scope->CapacityOfCallers,
                               Functions->NumberOfImported,
                               sizeof(READER_CALLER_FRAME));
        if (!NT_SUCCESS(Status)) {
            READER_KEEP_STATUS(Events, Status);
            return 0;
        }

        Length = READER_QUERY_CALLING_MODULE(Function) - 1;
        Caller = &Scope->Callers[Length];
        if (Caller->Part == Events->Part) {
            return Caller->Number;
        }

        Length = Functions->Imported[Length].NameLength + 2;
        Caller->Part = Events->Part;
        Caller->Number = Number;

    } else {

        Status = ExportFindAlike(Scope, &Function);
        if (!NT_SUCCESS(Status)) {
            READER_KEEP_STATUS(Events, Status);
            return 0;
        }

        if (!ExportNumberFunction(Events, Function, &IsNew, &Known)) {
            return 0;
        }

        if (!IsNew) {
            return Known->TextOffset;
        }

        Known->TextOffset = Number;
        Length = Functions->Functions[Function].NameLength;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Scope->Frames,
                           &Scope->CapacityOfFrames,
                           Number + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        READER_KEEP_STATUS(Events, Status);
        return 0;
    }

    Scope->Frames[Number] = Function;
    Scope->NumberOfFrames += 1;
    Events->SizeToCome += 32 + Length;
    return Number;
}


//
// Events: the walk.
// Function: or a module that called, by READER_MAKE_CALLING_MODULE.
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
    ULONGLONG Value;
    ULONG Number;
    PUCHAR At;

    if (!NT_SUCCESS(Events->Status)) {
        return;
    }

    Number = ExportNumberFrame(Scope, Function);
    if (!NT_SUCCESS(Events->Status)) {
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
    Value = (ULONGLONG)Number * 2 + IsEnd;
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
                          ExportCountDigits(Number) +
                          ExportCountDigits(Time);
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
    PREADER_SPEEDSCOPE Scope = (PREADER_SPEEDSCOPE)Events;
    PREADER_TRACK_NOTES Notes;
    PREADER_TRACK_CALL Call;
    ULONG Above = READER_NONE;
    ULONG Caller;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Marks);

    if (!NT_SUCCESS(Events->Status)) {
        return;
    }

    Notes = &Scope->Tracks[Track->Index];
    Status = BaseGrowArray(Events->Export->Context->Allocator,
                           (PVOID *)&Notes->Calls,
                           &Notes->CapacityOfCalls,
                           Notes->NumberOfCalls + 1,
                           sizeof(READER_TRACK_CALL));
    if (!NT_SUCCESS(Status)) {
        READER_KEEP_STATUS(Events, Status);
        return;
    }

    if (Notes->NumberOfCalls != 0) {
        Above = Notes->Calls[Notes->NumberOfCalls - 1].Function;
    }

    Caller = FunctionStubFindCaller(&Events->Export->Functions,
                                    Function,
                                    Above);
    Call = &Notes->Calls[Notes->NumberOfCalls];
    Call->Function = Function;
    Call->Module = READER_NONE;
    Notes->NumberOfCalls += 1;
    if (Caller != 0) {
        Call->Module = READER_MAKE_CALLING_MODULE(Caller);
        ExportNoteEvent(Events, Track, Call->Module, Time, 0);
    }

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
    PREADER_SPEEDSCOPE Scope = (PREADER_SPEEDSCOPE)Events;
    PREADER_TRACK_NOTES Notes;
    ULONG Module;

    UNREFERENCED_PARAMETER(Marks);

    ExportNoteEvent(Events, Track, Function, Time, 1);
    if (!NT_SUCCESS(Events->Status)) {
        return;
    }

    Notes = &Scope->Tracks[Track->Index];
    Notes->NumberOfCalls -= 1;
    Module = Notes->Calls[Notes->NumberOfCalls].Module;
    if (Module != READER_NONE) {
        ExportNoteEvent(Events, Track, Module, Time, 1);
    }
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
    Notes->NumberOfCalls = 0;
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
    Scope->NumberOfFrames = 0;
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
    PREADER_FUNCTIONS Functions = &Events->Export->Functions;
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    PRTL_WRITER Writer = &Events->File.Writer;
    PCREADER_FUNCTION Function;
    PCREADER_IMPORTED Caller;
    PREADER_TRACK_BLOCK Block;
    RTL_WRITER Text;
    PCSZ Separator = "\n";
    ULONG Index;
    CHAR Name[300];

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
    for (Index = 0; Index < Scope->NumberOfFrames; Index++) {

        RtlWriteText(Writer, "%s{\"name\":", Index == 0 ? "\n" : ",\n");
        if (READER_IS_CALLING_MODULE(Scope->Frames[Index])) {

            Caller = &Functions->Imported
                          [READER_QUERY_CALLING_MODULE(Scope->Frames[Index]) -
                           1];
            RtlInitializeBufferWriter(&Text, Name, sizeof(Name));
            FunctionStubWriteCaller(
                &Text,
                Functions,
                READER_QUERY_CALLING_MODULE(Scope->Frames[Index]));
            ExportWriteJsonText(Writer, Name, Text.LengthInBytes);
            RtlWriteText(Writer, ",\"file\":");
            ExportWriteJsonText(Writer, Caller->Name, Caller->NameLength);
            RtlWriteText(Writer, "}");
            continue;
        }

        Function = &Functions->Functions[Scope->Frames[Index]];
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
    NULL,
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
    BaseInitializeMap(&Scope.Alike, Allocator);
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
        Allocator->Free(Allocator->Context, Scope.Tracks[Index].Calls);
    }

    BaseRundownMap(&Scope.Alike);
    Allocator->Free(Allocator->Context, Scope.Frames);
    Allocator->Free(Allocator->Context, Scope.Callers);

    Allocator->Free(Allocator->Context, Scope.Tracks);
    Allocator->Free(Allocator->Context, Scope.NotesName);
    return ExitCode;
}
