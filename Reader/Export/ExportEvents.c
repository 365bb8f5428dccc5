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

    Memory is bounded by the functions, the tracks, the open calls and, with
    --etl, the changes of the threads' states.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionControl.h"
#include "../Calls/CallSkip.h"
#include "ExportStates.h"
#include "ExportTracks.h"

#define READER_EVENTS_PER_PROGRESS 0x10000u

typedef struct _READER_EVENTS_THREAD {
    READER_MERGE_THREAD Merge;
    READER_HOLD Hold;
    READER_CALL_EVENT Next;
    PULONG Tracks;                  // by fiber, their indexes plus 1; 0: none
    ULONG CapacityOfTracks;
} READER_EVENTS_THREAD;
typedef READER_EVENTS_THREAD *PREADER_EVENTS_THREAD;


//
// Finds a thread's track, or adds it.  A thread that was attached to again has
// one for its own stack.
// Events: the walk.
// Fiber: the fiber; 0 is the thread's own stack.
//

_Must_inspect_result_
static
NTSTATUS
ExportFindExportTrack(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread,
    _In_ ULONG Fiber,
    _Outptr_ PREADER_EXPORT_TRACK *Track
    )
{
    PREADER_SESSION Session = &Events->Export->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Index = Thread->Merge.Stream.Thread;
    NTSTATUS Status;

    if (Fiber < Thread->CapacityOfTracks && Thread->Tracks[Fiber] != 0) {
        *Track = Events->Tracks[Thread->Tracks[Fiber] - 1];
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Thread->Tracks,
                           &Thread->CapacityOfTracks,
                           Fiber + 1,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status) && Fiber == 0) {
        Index = Session->Threads[Index].Same;
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Events->ThreadTracks,
                               &Events->CapacityOfThreadTracks,
                               Index + 1,
                               sizeof(ULONG));
        if (NT_SUCCESS(Status) && Events->ThreadTracks[Index] != 0) {
            Thread->Tracks[Fiber] = Events->ThreadTracks[Index];
            *Track = Events->Tracks[Thread->Tracks[Fiber] - 1];
            return STATUS_SUCCESS;
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = ExportAddTrack(Events, Index, Fiber, FALSE, Track);
    }

    if (NT_SUCCESS(Status)) {
        Thread->Tracks[Fiber] = (*Track)->Index + 1;
        if (Fiber == 0) {
            Events->ThreadTracks[Index] = Thread->Tracks[Fiber];
        }
    }

    return Status;
}


//
// Files.
//


//
// Finds where the extension of a file's name begins, in a path of Length
// characters.  A name that begins with its only dot has none, and Length is
// returned.
//

static
ULONG
ExportFindExtension(
    _In_reads_(Length) PCWSTR Path,
    _In_ ULONG Length
    )
{
    ULONG Index;

    for (Index = Length; Index > 1; Index--) {

        WCHAR Char = Path[Index - 1];
        WCHAR Before = Path[Index - 2];

        if (Char == L'\\' || Char == L'/' || Char == L':') {
            break;
        }

        if (Char == L'.') {
            return Before == L'\\' || Before == L'/' || Before == L':'
                       ? Length
                       : Index - 1;
        }
    }

    return Length;
}


//
// Makes the name of the file that comes next: FILE for the first one, then
// FILE-2 and so on, with the number before the extension.
// Events: the walk.
// Returns STATUS_SUCCESS or STATUS_NAME_TOO_LONG.
//

_Must_inspect_result_
static
NTSTATUS
ExportNamePart(
    _Inout_ PREADER_EVENTS Events
    )
{
    PCREADER_OPTIONS Options = Events->Export->Options;
    RTL_WRITER Writer;
    CHAR Number[16];
    ULONG Length = RtlLengthOfWideString(Options->Output);
    ULONG Dot;
    ULONG Index;
    ULONG At;

    RtlInitializeBufferWriter(&Writer, Number, sizeof(Number));
    if (Events->Part > 1) {
        RtlWriteText(&Writer, "-%u", Events->Part);
    }

    if (Length + Writer.LengthInBytes >= RTL_MAXIMUM_PATH_IN_CHARS) {
        return STATUS_NAME_TOO_LONG;
    }

    //
    // What is before .gz is a part of the extension.
    //

    Dot = ExportFindExtension(Options->Output, Length);
    if (Dot + 3 == Length &&
        (Options->Output[Dot + 1] | 0x20) == L'g' &&
        (Options->Output[Dot + 2] | 0x20) == L'z') {

        Dot = ExportFindExtension(Options->Output, Dot);
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


//
// Begins a file: that of the number that Part has.
// Events: the walk.
// Returns FALSE if it cannot be; the failure has been written.
//

static
BOOLEAN
ExportBeginPart(
    _Inout_ PREADER_EVENTS Events
    )
{
    PCREADER_CONTEXT Context = Events->Export->Context;
    NTSTATUS Status;

    Status = ExportNamePart(Events);
    if (!NT_SUCCESS(Status)) {
        BaseFail(Context,
                 "create the file",
                 Events->Export->Options->OutputUtf8,
                 Status);
        Events->ExitCode = READER_EXIT_FAILURE;
        return FALSE;
    }

    if (!BaseCreateFile(&Events->File,
                        Context,
                        Events->PartName,
                        Events->PartNameUtf8,
                        (Events->Export->Options->Given &
                         READER_OPTION_GZIP) != 0)) {
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


//
// Ends a file.
// Events: the walk, which may have failed.
//

static
VOID
ExportEndPart(
    _Inout_ PREADER_EVENTS Events
    )
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

    Code = BaseCloseFile(&Events->File, IsComplete);
    if (Code != READER_EXIT_SUCCESS) {
        Events->ExitCode = Code;
    } else {
        Events->NumberOfBytes += Size;
    }
}


//
// Gives the format an entry.
// Events: the walk; the event is at its Time.
//

static
VOID
ExportPutEntry(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONG Marks
    )
{
    if (Track->Part != Events->Part) {
        Track->Part = Events->Part;
        Events->Format->BeginTrack(Events, Track);
    }

    Events->Format->Enter(Events, Track, Function, Events->Time, Marks);
    Events->EventsInPart += 1;
    Events->NumberOfEvents += 1;
}


//
// Gives the format the end of a call.
// Events: the walk; the event is at its Time.
//

static
VOID
ExportPutEnd(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONG Marks
    )
{
    Events->Format->Leave(Events, Track, Function, Events->Time, Marks);
    Events->EventsInPart += 1;
    Events->NumberOfEvents += 1;
}


//
// Goes on to the next file if this one has reached --split-size.
// Events: the walk, with an event at hand that has not been put.
//

static
VOID
ExportSplitWhenDue(
    _Inout_ PREADER_EVENTS Events
    )
{
    ULONGLONG SplitSize = Events->Export->Options->SplitSize;
    PREADER_EXPORT_TRACK Track;
    ULONG Depth;
    ULONG Index;

    if (SplitSize == 0 ||
        ExportHasFailed(Events) ||
        READER_FILE_SIZE(&Events->File) + Events->SizeToCome < SplitSize ||
        Events->EventsInPart <= 2 * Events->EventsRepeated) {
        return;
    }

    for (Index = 0; Index < Events->NumberOfTracks; Index++) {

        Track = Events->Tracks[Index];
        for (Depth = Track->NumberOfFrames; Depth != 0; Depth--) {
            ExportPutEnd(Events,
                         Track,
                         Track->Frames[Depth - 1],
                         READER_CALL_CONTINUED);
        }
    }

    ExportBreakStates(Events);
    ExportEndPart(Events);
    if (!NT_SUCCESS(Events->Status) ||
        Events->ExitCode != READER_EXIT_SUCCESS) {
        return;
    }

    Events->Part += 1;
    if (!ExportBeginPart(Events)) {
        return;
    }

    for (Index = 0; Index < Events->NumberOfTracks; Index++) {

        Track = Events->Tracks[Index];
        for (Depth = 0; Depth < Track->NumberOfFrames; Depth++) {
            ExportPutEntry(Events,
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


//
// Enters a call that is shown.
// Events: the walk, at the time of the entry.
//

_Must_inspect_result_
static
NTSTATUS
ExportEnterCall(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Function,
    _In_ ULONG Marks
    )
{
    NTSTATUS Status;

    if (Track->NumberOfFrames == Track->CapacityOfFrames) {

        PCALLOCATOR Allocator = Events->Export->Context->Allocator;

        if (Track->NumberOfFrames >= 0x10000000u) {
            return STATUS_NO_MEMORY;
        }

        Status = BaseGrowArray(Allocator,
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
    ExportPutEntry(Events, Track, Function, Marks);
    return STATUS_SUCCESS;
}


//
// Ends the innermost call of a track.
// Events: the walk, at the time of the end.
//

static
VOID
ExportEndCall(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track,
    _In_ ULONG Marks
    )
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

    ExportPutEnd(Events, Track, Track->Frames[Track->NumberOfFrames], Marks);
}


//
// Says whether the filter lets a call through, and counts it if not.
// Events: the walk.
// Index: the function.
// IsEntry: whether it is entered.
//

static
BOOLEAN
ExportIsCallShown(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Index,
    _In_ BOOLEAN IsEntry
    )
{
    PREADER_FUNCTIONS Functions = &Events->Export->Functions;
    PREADER_FUNCTION Function;

    if (Functions->NumberOfDecided != Functions->NumberOfFunctions) {
        FunctionFilterFunctions(Functions, Events->Export->Options->Filter);
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


//
// Reads on to a thread's next event that is shown.
// Events: the walk.
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE or what failed.
//

_Must_inspect_result_
static
NTSTATUS
ExportReadCall(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread
    )
{
    PREADER_CALL_EVENT Event = &Thread->Next;
    NTSTATUS Status;

    for (;;) {

        Status = CallNextHeldEvent(&Events->Rules,
                                   &Thread->Hold,
                                   &Thread->Merge.Stream,
                                   Event);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Events->Rules.NumberOfRecords - Events->NumberShown >=
            READER_EVENTS_PER_PROGRESS) {
            Events->NumberShown = Events->Rules.NumberOfRecords;
            BaseShowProgress(&Events->Progress,
                             Events->NumberShown +
                                   Events->Tally.NumberOfRecords);
        }

        if (Event->Kind == CoreEventUnmatched) {
            Events->Unmatched += 1;
            continue;
        }

        if (ExportIsCallShown(Events,
                              Event->Function,
                              Event->Kind == CoreEventEnter)) {
            Thread->Merge.Timestamp = Event->Timestamp;
            return STATUS_SUCCESS;
        }
    }
}


//
// Puts the instants up to a time.
// Events: the walk.
// Timestamp: the time; what is after the range is left out.
//

static
VOID
ExportPutInstants(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONGLONG Timestamp
    )
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

    while (!ExportHasFailed(Events)) {

        Instant = SessionControlFindInstant(&Export->Session,
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
                !Events->Tracks[Index - 1]->IsOfStates &&
                Events->Tracks[Index - 1]->Part == Events->Part) {
                Track = Events->Tracks[Index - 1];
                break;
            }
        }

        ExportSetEventTime(Events, Action->Timestamp);
        Name = SessionControlNameInstant(Action, &Length);
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


//
// Enters the calls that were open when the range began.
// Events: the walk.
// Thread: the thread, at the beginning of the range.
//

_Must_inspect_result_
static
NTSTATUS
ExportEnterOpenCalls(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread
    )
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

    ExportPutInstants(Events, Thread->Merge.Stream.Start - 1);
    ExportSetEventTime(Events, Thread->Merge.Stream.Start);

    //
    // How long they are is known later.
    //

    if (Events->Rules.MinimumTicks != 0) {
        return CallHoldOpenCalls(&Events->Rules,
                                 &Thread->Hold,
                                 &Thread->Merge.Stream);
    }

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {

        Stack = &Pair->Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            ULONG Function = Stack->Frames[Depth].Function;

            if (Depth >= Events->Rules.Depth) {
                Events->NotShown.DeepCalls += 1;
                continue;
            }

            if (!ExportIsCallShown(Events, Function, TRUE)) {
                continue;
            }

            ExportSplitWhenDue(Events);
            Status = ExportFindExportTrack(Events, Thread, Index, &Track);
            if (NT_SUCCESS(Status)) {
                Status = ExportEnterCall(Events,
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


//
// Begins a thread that was just opened.
// RoutineContext: the walk.
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE if it has no events, or what
// failed.
//

_Must_inspect_result_
static
NTSTATUS
ExportBeginEventsThread(
    _In_ PVOID RoutineContext,
    _Inout_ PREADER_MERGE_THREAD MergeThread
    )
{
    PREADER_EVENTS Events = (PREADER_EVENTS)RoutineContext;
    PREADER_EVENTS_THREAD Thread = (PREADER_EVENTS_THREAD)MergeThread;
    PCREADER_RANGE Range = &Events->Export->Range;
    NTSTATUS Status;

    if (Range->IsGiven) {

        Status = CallSkipStream(&Events->Tally,
                                &MergeThread->Stream,
                                Range->Start);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        CallClipStream(&MergeThread->Stream, Range->Start, Range->End);
        if (MergeThread->Stream.IsFinished) {
            return STATUS_END_OF_FILE;
        }

        if (MergeThread->Stream.Start != 0) {
            Status = ExportEnterOpenCalls(Events, Thread);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return ExportReadCall(Events, Thread);
}


//
// Is a thread one that was attached to again later?
//

static
BOOLEAN
ExportGoesOn(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    )
{
    ULONG Index;

    if (Session->NumberOfSame == 0) {
        return FALSE;
    }

    for (Index = Thread + 1; Index < Session->NumberOfThreads; Index++) {
        if (Session->Threads[Index].Same == Session->Threads[Thread].Same) {
            return TRUE;
        }
    }

    return FALSE;
}


//
// Ends the tracks of a thread that gives no more events. No call is open
// unless it could not be read to its end.
// RoutineContext: the walk.
//

static
VOID
ExportEndEventsThread(
    _In_ PVOID RoutineContext,
    _Inout_ PREADER_MERGE_THREAD MergeThread
    )
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
        if (!ExportHasFailed(Events)) {
            while (Track->NumberOfFrames != 0) {
                ExportEndCall(Events, Track, READER_CALL_UNFINISHED);
            }

            if (Track->Part == Events->Part &&
                Events->Format->EndTrack != NULL &&
                !ExportGoesOn(&Events->Export->Session,
                              Thread->Merge.Stream.Thread)) {
                Events->Format->EndTrack(Events, Track);
            }
        }

        Allocator->Free(Allocator->Context, Track->Frames);
        Track->Frames = NULL;
        Track->NumberOfFrames = 0;
        Track->CapacityOfFrames = 0;
    }

    Allocator->Free(Allocator->Context, Thread->Tracks);
    CallRundownHold(&Events->Rules, &Thread->Hold);
}


//
// Events: the walk.
// Thread: the thread that is first in the merge.
//

_Must_inspect_result_
static
NTSTATUS
ExportPutNextEvent(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EVENTS_THREAD Thread
    )
{
    PREADER_EXPORT_TRACK Track;
    NTSTATUS Status;

    ExportPutStates(Events, Thread->Merge.Timestamp);
    ExportPutInstants(Events, Thread->Merge.Timestamp);
    ExportSplitWhenDue(Events);
    Status = ExportFindExportTrack(Events, Thread, Thread->Next.Track, &Track);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ExportSetEventTime(Events, Thread->Merge.Timestamp);
    switch (Thread->Next.Kind) {

    case CoreEventEnter:
        Events->BegunBefore += Thread->Next.IsOpenBefore;
        Status = ExportEnterCall(Events,
                                 Track,
                                 Thread->Next.Function,
                                 Thread->Next.IsOpenBefore
                                     ? READER_CALL_BEGUN_BEFORE
                                     : 0);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
        break;

    case CoreEventAbandoned:
        ExportEndCall(Events, Track, READER_CALL_ABANDONED);
        break;

    case CoreEventOpen:
        ExportEndCall(Events, Track, READER_CALL_UNFINISHED);
        break;

    default:
        ExportEndCall(Events, Track, 0);
        break;
    }

    CallMoveInMerge(&Events->Merge, ExportReadCall(Events, Thread));
    return STATUS_SUCCESS;
}


//
// Puts all events.
// Events: the walk, with its first file.
//

static
VOID
ExportWalkEvents(
    _Inout_ PREADER_EVENTS Events
    )
{
    PREADER_MERGE Merge = &Events->Merge;
    PREADER_MERGE_THREAD Thread;
    NTSTATUS Status;

    Merge->Begin = ExportBeginEventsThread;
    Merge->End = ExportEndEventsThread;
    Merge->RoutineContext = Events;
    Merge->SizeOfThread = sizeof(READER_EVENTS_THREAD);
    Status = CallBeginMerge(Merge, Events->Export->Options);

    while (NT_SUCCESS(Status) && !ExportHasFailed(Events)) {

        Status = CallFirstInMerge(Merge, &Thread);
        if (NT_SUCCESS(Status)) {
            Status = ExportPutNextEvent(Events,
                                        (PREADER_EVENTS_THREAD)Thread);
        }
    }

    if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
        READER_KEEP_STATUS(Events, Status);
    }

    ExportPutStates(Events, READER_MAXIMUM_TIMESTAMP);
    ExportPutInstants(Events, READER_MAXIMUM_TIMESTAMP);
}


//
// The export.
//


//
// Shows how far it is while records before the range are passed over.
//

static
VOID
ExportShowSkipping(
    _In_ PVOID Context
    )
{
    PREADER_EVENTS Events = (PREADER_EVENTS)Context;

    BaseShowProgress(&Events->Progress,
                     Events->NumberShown +
                           Events->Tally.NumberOfRecords);
}


//
// Counts the records that there are to read, and begins to show how many of
// them have been.
// Events: the walk.
//

static
VOID
ExportBeginEventsProgress(
    _Inout_ PREADER_EVENTS Events
    )
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

    BaseInitializeProgress(&Events->Progress,
                           Session->Context,
                           "",
                           Expected);
    Events->Tally.Progress = ExportShowSkipping;
    Events->Tally.ProgressContext = Events;
}


//
// Says what was written and what was left out.
// Events: the walk, at its end.
//

static
VOID
ExportPutEventsNote(
    _In_ const READER_EVENTS *Events
    )
{
    PRTL_WRITER Errors = Events->Export->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: export: %llu calls, %llu events, %llu bytes",
                 Events->NumberOfCalls,
                 Events->NumberOfEvents,
                 Events->NumberOfBytes);
    if (Events->Part > 1) {
        RtlWriteText(Errors,
                     " in %u files, the last one %T",
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

    if ((Events->NotShown.ShortCalls | Events->NotShown.DeepCalls) != 0) {
        RtlWriteText(Errors,
                     "TraceReader: export: left out: %llu calls that are "
                     "shorter than --min-duration, %llu deeper than "
                     "--depth\n",
                     Events->NotShown.ShortCalls,
                     Events->NotShown.DeepCalls);
    }

    if (Events->Unmatched != 0) {
        RtlWriteText(Errors,
                     "TraceReader: export: left out: %llu exits without an "
                     "entry\n",
                     Events->Unmatched);
    }

    RtlFlushWriter(Errors);
}


//
// Frees what a walk holds.
// Events: the walk, with its merge ended.
//

static
VOID
ExportRundownEvents(
    _Inout_ PREADER_EVENTS Events
    )
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

    ExportRundownStates(Events);
    Allocator->Free(Allocator->Context, Events->Tracks);
    Allocator->Free(Allocator->Context, Events->ThreadTracks);
    Allocator->Free(Allocator->Context, Events->Functions);
    Allocator->Free(Allocator->Context, Events->Order);
    Allocator->Free(Allocator->Context, Events->PartName);
    BaseRundownMap(&Events->Identifiers);
    CallRundownTally(&Events->Tally);
}


_Use_decl_annotations_
ULONG
ExportEvents(
    PREADER_EVENTS Events,
    PREADER_EXPORT Export,
    PCREADER_EVENT_FORMAT Format
    )
{
    PCREADER_CONTEXT Context = Export->Context;
    PCREADER_OPTIONS Options = Export->Options;

    Events->Export = Export;
    Events->Format = Format;
    Events->Part = 1;
    Events->Merge.Session = &Export->Session;
    Events->NextInstant = SessionFirstInstant(&Export->Session,
                                              Export->Range.Start);
    BaseInitializeMap(&Events->Identifiers, Context->Allocator);
    CallInitializeTally(&Events->Tally, &Export->Functions, NULL);
    CallInitializeHoldRules(&Events->Rules,
                            &Export->Functions,
                            Options,
                            Export->MinimumTicks,
                            &Events->NotShown);
    ExportBeginEventsProgress(Events);
    if (Export->Range.Start != 0) {
        ExportSetEventTime(Events, Export->Range.Start);
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
        Events->Status = ExportBeginStates(Events);
        if (NT_SUCCESS(Events->Status) && ExportBeginPart(Events)) {
            ExportWalkEvents(Events);
        }
    }

    CallEndMerge(&Events->Merge);
    ExportEndPart(Events);
    BaseEraseProgress(&Events->Progress);
    if (!NT_SUCCESS(Events->Status)) {
        Events->ExitCode = BaseFail(Context,
                                    "export",
                                    Options->OutputUtf8,
                                    Events->Status);
    }

    if (Events->ExitCode == READER_EXIT_SUCCESS) {
        ExportPutEventsNote(Events);
        Events->ExitCode = Events->Merge.ExitCode;
    }

    Events->ExitCode = FunctionEndFilter(Context,
                                         Options->Filter,
                                         &Events->Export->Functions,
                                         Events->NumberOfCalls,
                                         &Events->NotShown,
                                         Events->ExitCode);
    ExportRundownEvents(Events);
    return Events->ExitCode;
}
