/*++

Module Name:

    ExportEvents.c

Abstract:

    Walks through the calls of a session for the formats that hold them all.

    The events of all threads come in the order of time, and on each track,
    which is a thread's own stack or a fiber's, they are strictly nested: every
    entry has its end.  What is open where the data or the range end is ended
    there, and marked.

    With --split-size a file ends when it has reached that size: the calls that
    are open end in it and are entered again in the next one, marked in both.  A
    file is never ended before more has happened in it than calls were entered
    again, so that deep stacks do not fill all files by themselves.

    Memory is bounded by the functions, the tracks and the open calls.

--*/

#include "ExportEvents.h"

#define READER_FIRST_IDENTIFIER 0x40000000u
#define READER_EVENTS_PER_PROGRESS 0x10000u

typedef struct _READER_EVENTS_THREAD {
    READER_MERGE_THREAD Merge;
    CORE_EVENT_KIND Kind;           // of what comes next
    ULONG Function;
    ULONG Fiber;
    PULONG Tracks;                  // by fiber, their indexes plus 1; 0: none
    ULONG CapacityOfTracks;
} READER_EVENTS_THREAD;
typedef READER_EVENTS_THREAD *PREADER_EVENTS_THREAD;


_Use_decl_annotations_
ULONG
ReaderNumberProcess(
    const READER_EVENTS *Events,
    ULONG Process
    )
/*++

Routine Description:

    Gives a process the number that the file knows it by.

Arguments:

    Events - The walk.

    Process - The process's index.

Return Value:

    Its identifier, or a number that is no process's, if the system had given
    that to another one before.

--*/
{
    const READER_SESSION *Session = &Events->Export->Session;
    ULONG Number = Session->Processes[Process].Header->ProcessId;
    ULONG Index;

    for (Index = 0; Index < Process; Index++) {
        if (Session->Processes[Index].Header->ProcessId == Number) {
            return READER_FIRST_IDENTIFIER + Process;
        }
    }

    return Number;
}


_Use_decl_annotations_
VOID
ReaderWriteProcessName(
    PRTL_WRITER Writer,
    const READER_EVENTS *Events,
    ULONG Process
    )
/*++

Routine Description:

    Writes the name of a traced process.

Arguments:

    Writer - Where to write.

    Events - The walk.

    Process - The process's index.

Return Value:

    None.

--*/
{
    PCREADER_PROCESS Known = &Events->Export->Session.Processes[Process];

    RtlWriteBytes(Writer, Known->Name, Known->NameLength);
    if (!READER_HAS_NANOSECONDS(Events)) {
        RtlWriteText(Writer, " (times are ticks)");
    }
}


_Use_decl_annotations_
VOID
ReaderWriteTrackName(
    PRTL_WRITER Writer,
    PCREADER_EXPORT_TRACK Track
    )
/*++

Routine Description:

    Writes a track's name.

Arguments:

    Writer - Where to write.

    Track - The track.

Return Value:

    None.

--*/
{
    RtlWriteText(Writer, "Thread %u", Track->ThreadId);
    if (Track->NameLength != 0) {
        RtlWriteText(Writer, " (");
        RtlWriteBytes(Writer, Track->Name, Track->NameLength);
        RtlWriteText(Writer, ")");
    }

    if (Track->Fiber != 0) {
        RtlWriteText(Writer, ", fiber %u", Track->Fiber);
    }
}


_Use_decl_annotations_
ULONG
ReaderPlaceEvent(
    PREADER_EXPORT_TRACK Track,
    PULONGLONG Time,
    BOOLEAN IsEnd
    )
/*++

Routine Description:

    Finds the place of a track's next event in time: at its time, or as little
    later as keeps entries and ends apart.

Arguments:

    Track - The track.

    Time - The event's time; receives that of its place.

    IsEnd - Whether it is the end of a call.

Return Value:

    The thousandths of the time's unit that its place is later than Time.

--*/
{
    if (*Time > Track->LastTime) {

        Track->LastTime = *Time;
        Track->LastThousandths = 0;

    } else if (IsEnd != Track->IsLastEnd &&
               Track->LastTime != READER_MAXIMUM_TIMESTAMP) {

        Track->LastThousandths += 1;
        if (Track->LastThousandths == 1000) {
            Track->LastTime += 1;
            Track->LastThousandths = 0;
        }
    }

    Track->IsLastEnd = IsEnd;
    *Time = Track->LastTime;
    return Track->LastThousandths;
}


_Use_decl_annotations_
BOOLEAN
ReaderNumberFunction(
    PREADER_EVENTS Events,
    ULONG Function,
    PBOOLEAN IsNew,
    PREADER_EVENT_FUNCTION *Known
    )
/*++

Routine Description:

    Gives a function its number in the file.

Arguments:

    Events - The walk.

    Function - The function.

    IsNew - Receives whether the file does not know it yet.

    Known - Receives what is known of it; good until the next call.

Return Value:

    FALSE if there is no memory.

--*/
{
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    PREADER_EVENT_FUNCTION Found;
    NTSTATUS Status;

    if (Function >= Events->CapacityOfFunctions) {
        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Events->Functions,
                                 &Events->CapacityOfFunctions,
                                 Function + 1,
                                 sizeof(READER_EVENT_FUNCTION));
        if (!NT_SUCCESS(Status)) {
            READER_KEEP_STATUS(Events, Status);
            return FALSE;
        }
    }

    Found = &Events->Functions[Function];
    *Known = Found;
    *IsNew = Found->Part != Events->Part;
    if (!*IsNew) {
        return TRUE;
    }

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Events->Order,
                             &Events->CapacityOfOrder,
                             Events->NumberInOrder + 1,
                             sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        READER_KEEP_STATUS(Events, Status);
        return FALSE;
    }

    Found->Part = Events->Part;
    Found->Number = Events->NumberInOrder;
    Events->Order[Events->NumberInOrder] = Function;
    Events->NumberInOrder += 1;
    return TRUE;
}


static
VOID
ReaderNameThread(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_EXPORT_TRACK Track
    )
/*++

Routine Description:

    Finds a thread's name, if it has one.

Arguments:

    Session - The session.

    Track - The track; receives the name.

Return Value:

    None.

--*/
{
    ReaderQueryThreadName(Session,
                          Track->Thread,
                          &Track->Name,
                          &Track->NameLength);
}


_Must_inspect_result_
static
NTSTATUS
ReaderIdentifyTrack(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track
    )
/*++

Routine Description:

    Gives a track an identifier that no other one has: the thread's own, unless
    it is a fiber's track, or the system gave the identifier to two threads, one
    after the other.

Arguments:

    Events - The walk.

    Track - The track.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = &Events->Export->Session;
    ULONG Owner;
    ULONG Index;
    NTSTATUS Status;

    //
    // The identifiers of threads are taken before any is made up.
    //

    if (Events->NextIdentifier == 0) {

        Events->NextIdentifier = READER_FIRST_IDENTIFIER;
        for (Index = 0; Index < Session->NumberOfThreads; Index++) {

            ULONG ThreadId = Session->Threads[Index].ThreadId;

            if (!ReaderFindInMap(&Events->Identifiers, ThreadId, &Owner)) {
                Status = ReaderAddToMap(&Events->Identifiers,
                                        ThreadId,
                                        Index);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }
    }

    if (Track->Fiber == 0 &&
        ReaderFindInMap(&Events->Identifiers, Track->ThreadId, &Owner) &&
        Owner == Track->Thread) {
        Track->Identifier = Track->ThreadId;
        return STATUS_SUCCESS;
    }

    do {
        Track->Identifier = Events->NextIdentifier;
        Events->NextIdentifier += 1;
    } while (ReaderFindInMap(&Events->Identifiers,
                             Track->Identifier,
                             &Owner));

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindExportTrack(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread,
    _In_ ULONG Fiber,
    _Outptr_ PREADER_EXPORT_TRACK *Track
    )
/*++

Routine Description:

    Finds a thread's track, or adds it.

Arguments:

    Events - The walk.

    Thread - The thread.

    Fiber - The fiber; 0 is the thread's own stack.

    Track - Receives the track.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = &Events->Export->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_EXPORT_TRACK New;
    NTSTATUS Status;

    if (Fiber < Thread->CapacityOfTracks && Thread->Tracks[Fiber] != 0) {
        *Track = Events->Tracks[Thread->Tracks[Fiber] - 1];
        return STATUS_SUCCESS;
    }

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Thread->Tracks,
                             &Thread->CapacityOfTracks,
                             Fiber + 1,
                             sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Events->Tracks,
                                 &Events->CapacityOfTracks,
                                 Events->NumberOfTracks + 1,
                                 sizeof(PREADER_EXPORT_TRACK));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    New = (PREADER_EXPORT_TRACK)Allocator->Allocate(Allocator->Context,
                                                    sizeof(*New));
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    New->Index = Events->NumberOfTracks;
    New->Thread = Thread->Merge.Stream.Thread;
    New->ThreadId = Session->Threads[New->Thread].ThreadId;
    New->Process = Session->Threads[New->Thread].Process;
    New->NumberOfProcess = ReaderNumberProcess(Events, New->Process);
    New->Fiber = Fiber;
    ReaderNameThread(Session, New);
    Status = ReaderIdentifyTrack(Events, New);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, New);
        return Status;
    }

    Events->Tracks[Events->NumberOfTracks] = New;
    Events->NumberOfTracks += 1;
    Thread->Tracks[Fiber] = Events->NumberOfTracks;
    *Track = New;
    return STATUS_SUCCESS;
}


//
// Files.
//


_Must_inspect_result_
static
NTSTATUS
ReaderNamePart(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Makes the name of the file that comes next: FILE for the first one, then
    FILE-2 and so on, with the number before the extension.

Arguments:

    Events - The walk.

Return Value:

    STATUS_SUCCESS or STATUS_NAME_TOO_LONG.

--*/
{
    PCREADER_OPTIONS Options = Events->Export->Options;
    RTL_WRITER Writer;
    CHAR Number[16];
    ULONG Length = RtlLengthOfWideString(Options->Output);
    ULONG Dot = Length;
    ULONG Index;
    ULONG At;

    RtlInitializeBufferWriter(&Writer, Number, sizeof(Number));
    if (Events->Part > 1) {
        RtlWriteText(&Writer, "-%u", Events->Part);
    }

    if (Length + Writer.LengthInBytes >= RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    for (Index = Length; Index != 0; Index--) {

        WCHAR Char = Options->Output[Index - 1];

        if (Char == L'\\' || Char == L'/' || Char == L':') {
            break;
        }

        if (Char == L'.') {
            Dot = Index - 1;
            break;
        }
    }

    //
    // A name that begins with its only dot has no extension.
    //

    if (Dot == 0 ||
        Options->Output[Dot - 1] == L'\\' ||
        Options->Output[Dot - 1] == L'/' ||
        Options->Output[Dot - 1] == L':') {
        Dot = Length;
    }

    At = 0;
    for (Index = 0; Index < Dot; Index++) {
        Events->PartName[At++] = Options->Output[Index];
    }

    for (Index = 0; Index < Writer.LengthInBytes; Index++) {
        Events->PartName[At++] = (WCHAR)Number[Index];
    }

    for (Index = Dot; Index <= Length; Index++) {
        Events->PartName[At++] = Options->Output[Index];
    }

    //
    // What does not fit into messages is cut.
    //

    RtlInitializeBufferWriter(&Writer,
                              Events->PartNameUtf8,
                              RTL_MAXIMUM_PATH_IN_CHARS - 1);
    RtlWriteText(&Writer, "%S", Events->PartName);
    Events->PartNameUtf8[Writer.LengthInBytes] = 0;
    return STATUS_SUCCESS;
}


static
BOOLEAN
ReaderBeginPart(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Begins a file: that of the number that Part has.

Arguments:

    Events - The walk.

Return Value:

    FALSE if it cannot be; the failure has been written.

--*/
{
    PCREADER_CONTEXT Context = Events->Export->Context;
    NTSTATUS Status;

    Status = ReaderNamePart(Events);
    if (!NT_SUCCESS(Status)) {
        ReaderFail(Context,
                   "create the file",
                   Events->Export->Options->OutputUtf8,
                   Status);
        Events->ExitCode = READER_EXIT_FAILURE;
        return FALSE;
    }

    if (!ReaderCreateFile(&Events->File,
                          Context,
                          Events->PartName,
                          Events->PartNameUtf8)) {
        Events->ExitCode = READER_EXIT_FAILURE;
        return FALSE;
    }

    Events->PartTime = Events->Time;
    Events->NumberInOrder = 0;
    Events->EventsInPart = 0;
    Events->EventsRepeated = 0;
    Events->SizeToCome = 0;
    Events->Format->BeginFile(Events);
    return TRUE;
}


static
VOID
ReaderEndPart(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Ends a file.

Arguments:

    Events - The walk, which may have failed.

Return Value:

    None.

--*/
{
    BOOLEAN IsComplete = FALSE;
    ULONGLONG Size = 0;
    ULONG Code;

    if (Events->File.Handle == NULL) {
        return;
    }

    if (NT_SUCCESS(Events->Status)) {
        Events->Format->EndFile(Events);
        IsComplete = NT_SUCCESS(Events->Status);
        Size = READER_FILE_SIZE(&Events->File);
    }

    Code = ReaderCloseFile(&Events->File, IsComplete);
    if (Code != READER_EXIT_SUCCESS) {
        Events->ExitCode = Code;
    } else {
        Events->NumberOfBytes += Size;
    }
}


static
BOOLEAN
ReaderHasFailed(
    _In_ const READER_EVENTS *Events
    )
/*++

Routine Description:

    Tells whether nothing more can be written.

Arguments:

    Events - The walk.

Return Value:

    Whether that is so.

--*/
{
    return !NT_SUCCESS(Events->Status) ||
           Events->File.Handle == NULL ||
           !NT_SUCCESS(Events->File.Writer.Status);
}


static
VOID
ReaderPutEntry(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Gives the format an entry.

Arguments:

    Events - The walk; the event is at its Time.

    Track - The track.

    Function - The function.

    Marks - READER_CALL_*.

Return Value:

    None.

--*/
{
    if (Track->Part != Events->Part) {
        Track->Part = Events->Part;
        Events->Format->BeginTrack(Events, Track);
    }

    Events->Format->Enter(Events, Track, Function, Events->Time, Marks);
    Events->EventsInPart += 1;
    Events->NumberOfEvents += 1;
}


static
VOID
ReaderPutEnd(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Gives the format the end of a call.

Arguments:

    Events - The walk; the event is at its Time.

    Track - The track.

    Function - The function.

    Marks - READER_CALL_*.

Return Value:

    None.

--*/
{
    Events->Format->Leave(Events, Track, Function, Events->Time, Marks);
    Events->EventsInPart += 1;
    Events->NumberOfEvents += 1;
}


static
VOID
ReaderSplitWhenDue(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Goes on to the next file if this one has reached --split-size.

Arguments:

    Events - The walk, with an event at hand that has not been put.

Return Value:

    None.

--*/
{
    ULONGLONG SplitSize = Events->Export->Options->SplitSize;
    PREADER_EXPORT_TRACK Track;
    ULONG Depth;
    ULONG Index;

    if (SplitSize == 0 ||
        ReaderHasFailed(Events) ||
        READER_FILE_SIZE(&Events->File) + Events->SizeToCome < SplitSize ||
        Events->EventsInPart <= 2 * Events->EventsRepeated) {
        return;
    }

    for (Index = 0; Index < Events->NumberOfTracks; Index++) {

        Track = Events->Tracks[Index];
        for (Depth = Track->NumberOfFrames; Depth != 0; Depth--) {
            ReaderPutEnd(Events,
                         Track,
                         Track->Frames[Depth - 1],
                         READER_CALL_CONTINUED);
        }
    }

    ReaderEndPart(Events);
    if (!NT_SUCCESS(Events->Status) ||
        Events->ExitCode != READER_EXIT_SUCCESS) {
        return;
    }

    Events->Part += 1;
    if (!ReaderBeginPart(Events)) {
        return;
    }

    for (Index = 0; Index < Events->NumberOfTracks; Index++) {

        Track = Events->Tracks[Index];
        for (Depth = 0; Depth < Track->NumberOfFrames; Depth++) {
            ReaderPutEntry(Events,
                           Track,
                           Track->Frames[Depth],
                           READER_CALL_CONTINUED);
        }
    }

    Events->EventsRepeated = Events->EventsInPart;
}


//
// Events.
//


static
VOID
ReaderSetEventTime(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Goes on to a time.  It never goes back, whatever the stores say.

Arguments:

    Events - The walk.

    Timestamp - The time.

Return Value:

    None.

--*/
{
    PREADER_EXPORT Export = Events->Export;
    ULONGLONG Time = 0;

    if (Timestamp > Export->Range.FirstTimestamp) {
        Time = Timestamp - Export->Range.FirstTimestamp;
    }

    CoreTicksToNanoseconds(&Export->Session.Clock, Time, &Time);
    if (Time > Events->Time) {
        Events->Time = Time;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderEnterCall(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Enters a call that is shown.

Arguments:

    Events - The walk, at the time of the entry.

    Track - The track.

    Function - The function.

    Marks - READER_CALL_*.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    NTSTATUS Status;

    if (Track->NumberOfFrames == Track->CapacityOfFrames) {

        PCALLOCATOR Allocator = Events->Export->Context->Allocator;

        if (Track->NumberOfFrames >= 0x10000000u) {
            return STATUS_NO_MEMORY;
        }

        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Track->Frames,
                                 &Track->CapacityOfFrames,
                                 Track->NumberOfFrames + 1,
                                 sizeof(ULONG));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Track->Frames[Track->NumberOfFrames] = Function;
    Track->NumberOfFrames += 1;
    Events->NumberOfCalls += 1;
    ReaderPutEntry(Events, Track, Function, Marks);
    return STATUS_SUCCESS;
}


static
VOID
ReaderEndCall(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Marks
    )
/*++

Routine Description:

    Ends the innermost call of a track.

Arguments:

    Events - The walk, at the time of the end.

    Track - The track.

    Marks - READER_CALL_*.

Return Value:

    None.

--*/
{
    if (Track->NumberOfFrames == 0) {
        return;
    }

    Track->NumberOfFrames -= 1;
    if ((Marks & READER_CALL_ABANDONED) != 0) {
        Events->Abandoned += 1;
    } else if ((Marks & READER_CALL_UNFINISHED) != 0) {
        Events->Unfinished += 1;
    }

    ReaderPutEnd(Events, Track, Track->Frames[Track->NumberOfFrames], Marks);
}


static
BOOLEAN
ReaderIsCallShown(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Index,
    _In_ BOOLEAN IsEntry
    )
/*++

Routine Description:

    Says whether the filter lets a call through, and counts it if not.

Arguments:

    Events - The walk.

    Index - The function.

    IsEntry - Whether it is entered.

Return Value:

    TRUE if it does.

--*/
{
    PREADER_FUNCTIONS Functions = &Events->Export->Functions;
    PREADER_FUNCTION Function;

    if (Functions->NumberOfDecided != Functions->NumberOfFunctions) {
        ReaderFilterFunctions(Functions, Events->Export->Options->Filter);
    }

    Function = &Functions->Functions[Index];
    if (Function->IsShown) {
        return TRUE;
    }

    if (!Function->IsLeftOut) {
        Function->IsLeftOut = TRUE;
        Events->NotShown.Rows += 1;
    }

    if (IsEntry) {
        Events->NotShown.Calls += 1;
    }

    return FALSE;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadCall(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread
    )
/*++

Routine Description:

    Reads on to a thread's next event that is shown.

Arguments:

    Events - The walk.

    Thread - The thread.

Return Value:

    STATUS_SUCCESS, STATUS_END_OF_FILE or what failed.

--*/
{
    CORE_EVENT Event;
    NTSTATUS Status;

    for (;;) {

        Status = ReaderNextEvent(&Thread->Merge.Stream, &Event);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Events->NumberOfRecords += 1;
        if (Events->NumberOfRecords % READER_EVENTS_PER_PROGRESS == 0) {
            ReaderShowProgress(&Events->Progress,
                               Events->NumberOfRecords +
                                   Events->Tally.NumberOfRecords);
        }

        if (Event.Kind == CoreEventUnmatched) {
            Events->Unmatched += 1;
            continue;
        }

        if (Event.Kind == CoreEventEnter) {
            Status = ReaderFindFunction(&Events->Export->Functions,
                                        Event.Site,
                                        &Event.Frame->Function);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        if (ReaderIsCallShown(Events,
                              Event.Frame->Function,
                              Event.Kind == CoreEventEnter)) {
            Thread->Kind = Event.Kind;
            Thread->Function = Event.Frame->Function;
            Thread->Fiber = Event.Track;
            Thread->Merge.Timestamp = Event.Timestamp;
            return STATUS_SUCCESS;
        }
    }
}


static
VOID
ReaderPutInstants(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Puts the instants up to a time.

Arguments:

    Events - The walk.

    Timestamp - The time; what is after the range is left out.

Return Value:

    None.

--*/
{
    PREADER_EXPORT Export = Events->Export;
    PCREADER_ACTION Instant;
    PCTRACE_CONTROL_ACTION Action;
    PREADER_EXPORT_TRACK Track;
    const CHAR *Name;
    ULONG Length;
    ULONG Index;

    if (Events->Format->Instant == NULL) {
        return;
    }

    if (Timestamp > Export->Range.End) {
        Timestamp = Export->Range.End;
    }

    while (!ReaderHasFailed(Events)) {

        Instant = ReaderFindInstant(&Export->Session,
                                    Export->Options,
                                    &Events->NextInstant,
                                    Timestamp);
        if (Instant == NULL) {
            break;
        }

        Action = Instant->Action;

        Events->NextInstant += 1;
        Track = NULL;
        for (Index = Events->NumberOfTracks;
             Index != 0 && Action->ThreadId != 0;
             Index--) {

            if (Events->Tracks[Index - 1]->ThreadId == Action->ThreadId &&
                Events->Tracks[Index - 1]->Process == Instant->Process &&
                Events->Tracks[Index - 1]->Fiber == 0 &&
                Events->Tracks[Index - 1]->Part == Events->Part) {
                Track = Events->Tracks[Index - 1];
                break;
            }
        }

        ReaderSetEventTime(Events, Action->Timestamp);
        Name = ReaderNameInstant(Action, &Length);
        Events->Format->Instant(Events,
                                Track,
                                Instant->Process,
                                Name,
                                Length,
                                Events->Time);
        Events->EventsInPart += 1;
        Events->NumberOfEvents += 1;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderEnterOpenCalls(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread
    )
/*++

Routine Description:

    Enters the calls that were open when the range began.

Arguments:

    Events - The walk.

    Thread - The thread, at the beginning of the range.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_PAIR Pair = &Thread->Merge.Stream.Pair;
    PREADER_EXPORT_TRACK Track;
    PCORE_STACK Stack;
    SIZE_T Depth;
    ULONG Index;
    NTSTATUS Status;

    //
    // Where a process begins later than others, by a clear, these may have
    // been asked for something before.
    //

    ReaderPutInstants(Events, Thread->Merge.Stream.Start - 1);
    ReaderSetEventTime(Events, Thread->Merge.Stream.Start);
    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {

        Stack = &Pair->Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            ULONG Function = Stack->Frames[Depth].Function;

            if (!ReaderIsCallShown(Events, Function, TRUE)) {
                continue;
            }

            ReaderSplitWhenDue(Events);
            Status = ReaderFindExportTrack(Events, Thread, Index, &Track);
            if (NT_SUCCESS(Status)) {
                Status = ReaderEnterCall(Events,
                                         Track,
                                         Function,
                                         READER_CALL_BEGUN_BEFORE);
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Events->BegunBefore += 1;
        }
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderBeginEventsThread(
    _In_ PVOID RoutineContext,
    _Inout_ PREADER_MERGE_THREAD MergeThread
    )
/*++

Routine Description:

    Begins a thread that was just opened.

Arguments:

    RoutineContext - The walk.

    MergeThread - The thread.

Return Value:

    STATUS_SUCCESS, STATUS_END_OF_FILE if it has no events, or what failed.

--*/
{
    PREADER_EVENTS Events = (PREADER_EVENTS)RoutineContext;
    PREADER_EVENTS_THREAD Thread = (PREADER_EVENTS_THREAD)MergeThread;
    PCREADER_RANGE Range = &Events->Export->Range;
    NTSTATUS Status;

    if (Range->IsGiven) {

        Status = ReaderSkipStream(&Events->Tally,
                                  &MergeThread->Stream,
                                  Range->Start);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        ReaderClipStream(&MergeThread->Stream, Range->Start, Range->End);
        if (MergeThread->Stream.IsFinished) {
            return STATUS_END_OF_FILE;
        }

        if (MergeThread->Stream.Start != 0) {
            Status = ReaderEnterOpenCalls(Events, Thread);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return ReaderReadCall(Events, Thread);
}


static
VOID
ReaderEndEventsThread(
    _In_ PVOID RoutineContext,
    _Inout_ PREADER_MERGE_THREAD MergeThread
    )
/*++

Routine Description:

    Ends the tracks of a thread that gives no more events.  No call is open
    unless it could not be read to its end.

Arguments:

    RoutineContext - The walk.

    MergeThread - The thread.

Return Value:

    None.

--*/
{
    PREADER_EVENTS Events = (PREADER_EVENTS)RoutineContext;
    PREADER_EVENTS_THREAD Thread = (PREADER_EVENTS_THREAD)MergeThread;
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    PREADER_EXPORT_TRACK Track;
    ULONG Fiber;

    for (Fiber = 0; Fiber < Thread->CapacityOfTracks; Fiber++) {

        if (Thread->Tracks[Fiber] == 0) {
            continue;
        }

        Track = Events->Tracks[Thread->Tracks[Fiber] - 1];
        if (!ReaderHasFailed(Events)) {
            while (Track->NumberOfFrames != 0) {
                ReaderEndCall(Events, Track, READER_CALL_UNFINISHED);
            }

            if (Track->Part == Events->Part &&
                Events->Format->EndTrack != NULL) {
                Events->Format->EndTrack(Events, Track);
            }
        }

        Allocator->Free(Allocator->Context, Track->Frames);
        Track->Frames = NULL;
        Track->NumberOfFrames = 0;
        Track->CapacityOfFrames = 0;
    }

    Allocator->Free(Allocator->Context, Thread->Tracks);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutNextEvent(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread
    )
/*++

Routine Description:

    Puts a thread's event and reads its next one.

Arguments:

    Events - The walk.

    Thread - The thread that is first in the merge.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_EXPORT_TRACK Track;
    NTSTATUS Status;

    ReaderPutInstants(Events, Thread->Merge.Timestamp);
    ReaderSplitWhenDue(Events);
    Status = ReaderFindExportTrack(Events, Thread, Thread->Fiber, &Track);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderSetEventTime(Events, Thread->Merge.Timestamp);
    switch (Thread->Kind) {

    case CoreEventEnter:
        Status = ReaderEnterCall(Events, Track, Thread->Function, 0);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        break;

    case CoreEventAbandoned:
        ReaderEndCall(Events, Track, READER_CALL_ABANDONED);
        break;

    case CoreEventOpen:
        ReaderEndCall(Events, Track, READER_CALL_UNFINISHED);
        break;

    default:
        ReaderEndCall(Events, Track, 0);
        break;
    }

    ReaderMoveInMerge(&Events->Merge, ReaderReadCall(Events, Thread));
    return STATUS_SUCCESS;
}


static
VOID
ReaderWalkEvents(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Puts all events.

Arguments:

    Events - The walk, with its first file.

Return Value:

    None.

--*/
{
    PREADER_MERGE Merge = &Events->Merge;
    PREADER_MERGE_THREAD Thread;
    NTSTATUS Status;

    Merge->Begin = ReaderBeginEventsThread;
    Merge->End = ReaderEndEventsThread;
    Merge->RoutineContext = Events;
    Merge->SizeOfThread = sizeof(READER_EVENTS_THREAD);
    Status = ReaderBeginMerge(Merge, Events->Export->Options);

    while (NT_SUCCESS(Status) && !ReaderHasFailed(Events)) {

        Status = ReaderFirstInMerge(Merge, &Thread);
        if (NT_SUCCESS(Status)) {
            Status = ReaderPutNextEvent(Events,
                                        (PREADER_EVENTS_THREAD)Thread);
        }
    }

    if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
        READER_KEEP_STATUS(Events, Status);
    }

    ReaderPutInstants(Events, READER_MAXIMUM_TIMESTAMP);
}


//
// The export.
//


static
VOID
ReaderShowSkipping(
    _In_ PVOID Context
    )
/*++

Routine Description:

    Shows how far it is while records before the range are passed over.

Arguments:

    Context - The walk.

Return Value:

    None.

--*/
{
    PREADER_EVENTS Events = (PREADER_EVENTS)Context;

    ReaderShowProgress(&Events->Progress,
                       Events->NumberOfRecords +
                           Events->Tally.NumberOfRecords);
}


static
VOID
ReaderBeginEventsProgress(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Counts the records that there are to read, and begins to show how many of
    them have been.

Arguments:

    Events - The walk.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = &Events->Export->Session;
    PREADER_STORE Store;
    ULONGLONG Expected = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread != READER_NONE &&
            READER_IS_THREAD_SELECTED(
                Events->Export->Options,
                Session->Threads[Store->Thread].ThreadId) &&
            Store->EndOfRecords > Store->StartOfRecords) {
            Expected += (Store->EndOfRecords - Store->StartOfRecords) /
                        TRACE_RECORD_SIZE;
        }
    }

    ReaderInitializeProgress(&Events->Progress,
                             Session->Context,
                             "",
                             Expected);
    Events->Tally.Progress = ReaderShowSkipping;
    Events->Tally.ProgressContext = Events;
}


static
VOID
ReaderPutEventsNote(
    _In_ const READER_EVENTS *Events
    )
/*++

Routine Description:

    Says what was written and what was left out.

Arguments:

    Events - The walk, at its end.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Events->Export->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: export: %llu calls, %llu events, %llu bytes",
                 Events->NumberOfCalls,
                 Events->NumberOfEvents,
                 Events->NumberOfBytes);
    if (Events->Part > 1) {
        RtlWriteText(Errors,
                     " in %u files, the last one %s",
                     Events->Part,
                     Events->PartNameUtf8);
    }

    RtlWriteText(Errors, "\n");
    if ((Events->BegunBefore | Events->Abandoned | Events->Unfinished) != 0) {
        RtlWriteText(Errors,
                     "TraceReader: export: of the calls %llu begun before, "
                     "%llu abandoned, %llu unfinished\n",
                     Events->BegunBefore,
                     Events->Abandoned,
                     Events->Unfinished);
    }

    if (Events->NotShown.Calls != 0) {
        RtlWriteText(Errors,
                     "TraceReader: export: left out: %llu calls of %llu "
                     "functions (--function, --exclude)\n",
                     Events->NotShown.Calls,
                     Events->NotShown.Rows);
    }

    if (Events->Unmatched != 0) {
        RtlWriteText(Errors,
                     "TraceReader: export: left out: %llu exits without an "
                     "entry\n",
                     Events->Unmatched);
    }

    RtlFlushWriter(Errors);
}


static
VOID
ReaderRundownEvents(
    _Inout_ PREADER_EVENTS Events
    )
/*++

Routine Description:

    Frees what a walk holds.

Arguments:

    Events - The walk, with its merge ended.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Events->NumberOfTracks; Index++) {
        Allocator->Free(Allocator->Context, Events->Tracks[Index]->Frames);
        Allocator->Free(Allocator->Context, Events->Tracks[Index]);
    }

    for (Index = 0; Index < Events->CapacityOfFunctions; Index++) {
        Allocator->Free(Allocator->Context, Events->Functions[Index].Text);
    }

    Allocator->Free(Allocator->Context, Events->Tracks);
    Allocator->Free(Allocator->Context, Events->Functions);
    Allocator->Free(Allocator->Context, Events->Order);
    Allocator->Free(Allocator->Context, Events->PartName);
    ReaderRundownMap(&Events->Identifiers);
    ReaderRundownTally(&Events->Tally);
}


_Use_decl_annotations_
ULONG
ReaderExportEvents(
    PREADER_EVENTS Events,
    PREADER_EXPORT Export,
    PCREADER_EVENT_FORMAT Format
    )
/*++

Routine Description:

    Writes all files of an export.

Arguments:

    Events - The walk, which is zero.

    Export - The export.

    Format - The format.

Return Value:

    READER_EXIT_*.

--*/
{
    PCREADER_CONTEXT Context = Export->Context;
    PCREADER_OPTIONS Options = Export->Options;

    Events->Export = Export;
    Events->Format = Format;
    Events->Part = 1;
    Events->Merge.Session = &Export->Session;
    Events->NextInstant = ReaderFirstInstant(&Export->Session,
                                             Export->Range.Start);
    ReaderInitializeMap(&Events->Identifiers, Context->Allocator);
    ReaderInitializeTally(&Events->Tally, &Export->Functions, NULL);
    ReaderBeginEventsProgress(Events);
    if (Export->Range.Start != 0) {
        ReaderSetEventTime(Events, Export->Range.Start);
    }

    Events->PartName = (PWSTR)
        Context->Allocator->Allocate(Context->Allocator->Context,
                                     RTL_MAXIMUM_PATH_IN_CHARS *
                                         (sizeof(WCHAR) + sizeof(CHAR)));
    if (Events->PartName == NULL) {
        Events->Status = STATUS_NO_MEMORY;
    } else {
        Events->PartNameUtf8 = (PCHAR)(Events->PartName +
                                       RTL_MAXIMUM_PATH_IN_CHARS);
        if (ReaderBeginPart(Events)) {
            ReaderWalkEvents(Events);
        }
    }

    ReaderEndMerge(&Events->Merge);
    ReaderEndPart(Events);
    ReaderEraseProgress(&Events->Progress);
    if (!NT_SUCCESS(Events->Status)) {
        Events->ExitCode = ReaderFail(Context,
                                      "export",
                                      Options->OutputUtf8,
                                      Events->Status);
    }

    if (Events->ExitCode == READER_EXIT_SUCCESS) {
        ReaderPutEventsNote(Events);
        Events->ExitCode = Events->Merge.ExitCode;
    }

    Events->ExitCode = ReaderEndFilter(Context,
                                       Options->Filter,
                                       Events->NumberOfCalls,
                                       &Events->NotShown,
                                       Events->ExitCode);
    ReaderRundownEvents(Events);
    return Events->ExitCode;
}
