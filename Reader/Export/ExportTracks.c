/*++

Module Name:

    ExportTracks.c

Abstract:

    What the formats that hold every call know of processes, tracks and
    functions: numbers and names, each once in a file.

--*/

#include "../Session/SessionControl.h"
#include "ExportTracks.h"

#define READER_FIRST_IDENTIFIER 0x40000000u


_Use_decl_annotations_
ULONG
ExportNumberProcess(
    const READER_EVENTS *Events,
    ULONG Process
    )
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
ExportWriteProcessName(
    PRTL_WRITER Writer,
    const READER_EVENTS *Events,
    ULONG Process
    )
{
    PCREADER_PROCESS Known = &Events->Export->Session.Processes[Process];

    RtlWriteBytes(Writer, Known->Name, Known->NameLength);
    if (!READER_HAS_NANOSECONDS(Events)) {
        RtlWriteText(Writer, " (times are ticks)");
    }
}


_Use_decl_annotations_
VOID
ExportWriteTrackName(
    PRTL_WRITER Writer,
    PCREADER_EXPORT_TRACK Track
    )
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

    if (Track->IsOfStates) {
        RtlWriteText(Writer, ": running, ready, waiting");
    }
}


_Use_decl_annotations_
ULONG
ExportPlaceEvent(
    PREADER_EXPORT_TRACK Track,
    PULONGLONG Time,
    BOOLEAN IsEnd
    )
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
ExportNumberFunction(
    PREADER_EVENTS Events,
    ULONG Function,
    PBOOLEAN IsNew,
    PREADER_EVENT_FUNCTION *Known
    )
{
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;
    PREADER_EVENT_FUNCTION Found;
    NTSTATUS Status;

    if (Function >= Events->CapacityOfFunctions) {
        Status = BaseGrowArray(Allocator,
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

    Status = BaseGrowArray(Allocator,
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


//
// Finds a thread's name, if it has one.
//

static
VOID
ExportNameThread(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_EXPORT_TRACK Track
    )
{
    SessionQueryThreadName(Session,
                           Track->Thread,
                           &Track->Name,
                           &Track->NameLength);
}


//
// Gives a track an identifier that no other one has: the thread's own, unless
// it is a fiber's track, or the system gave the identifier to two threads, one
// after the other.
//
// Events: the walk.
//

_Must_inspect_result_
static
NTSTATUS
ExportIdentifyTrack(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_EXPORT_TRACK Track
    )
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

            if (!BaseFindInMap(&Events->Identifiers, ThreadId, &Owner)) {
                Status = BaseAddToMap(&Events->Identifiers,
                                      ThreadId,
                                      Index);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }
    }

    if (Track->Fiber == 0 && !Track->IsOfStates &&
        BaseFindInMap(&Events->Identifiers, Track->ThreadId, &Owner) &&
        Owner == Track->Thread) {
        Track->Identifier = Track->ThreadId;
        return STATUS_SUCCESS;
    }

    do {
        Track->Identifier = Events->NextIdentifier;
        Events->NextIdentifier += 1;
    } while (BaseFindInMap(&Events->Identifiers,
                           Track->Identifier,
                           &Owner));

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ExportAddTrack(
    PREADER_EVENTS Events,
    ULONG Thread,
    ULONG Fiber,
    BOOLEAN IsOfStates,
    PREADER_EXPORT_TRACK *Track
    )
{
    PREADER_SESSION Session = &Events->Export->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_EXPORT_TRACK New;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Events->Tracks,
                           &Events->CapacityOfTracks,
                           Events->NumberOfTracks + 1,
                           sizeof(PREADER_EXPORT_TRACK));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    New = (PREADER_EXPORT_TRACK)Allocator->Allocate(Allocator->Context,
                                                    sizeof(*New));
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    New->Index = Events->NumberOfTracks;
    New->Thread = Thread;
    New->ThreadId = Session->Threads[Thread].ThreadId;
    New->Process = Session->Threads[Thread].Process;
    New->NumberOfProcess = ExportNumberProcess(Events, New->Process);
    New->Fiber = Fiber;
    New->IsOfStates = IsOfStates;
    ExportNameThread(Session, New);
    Status = ExportIdentifyTrack(Events, New);
    if (!NT_SUCCESS(Status)) {
        Allocator->Free(Allocator->Context, New);
        return Status;
    }

    Events->Tracks[Events->NumberOfTracks] = New;
    Events->NumberOfTracks += 1;
    *Track = New;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
BOOLEAN
ExportHasFailed(
    const READER_EVENTS *Events
    )
{
    return !NT_SUCCESS(Events->Status) ||
           Events->File.Handle == NULL ||
           !NT_SUCCESS(Events->File.Writer.Status);
}


_Use_decl_annotations_
VOID
ExportSetEventTime(
    PREADER_EVENTS Events,
    ULONGLONG Timestamp
    )
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


static const PCSZ ReaderWaitCategories[] = {
    "",
    "wait:object",
    "wait:sleep",
    "lock",
    "wait:condition",
    "wait:thread",
    "wait:file",
    "wait:pipe",
    "wait:socket",
    "wait:port",
    "wait:message",
    "wait:console"
};

C_ASSERT(RTL_NUMBER_OF(ReaderWaitCategories) == ReaderNumberOfWaitKinds);


_Use_decl_annotations_
PCSZ
ExportNameWait(
    ULONG Wait
    )
{
    return ReaderWaitCategories[Wait];
}
