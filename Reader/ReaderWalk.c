/*++

Module Name:

    ReaderWalk.c

Abstract:

    The events of all threads, one thread after another, with the functions
    that they are of; also those of a part of a session.

--*/

#include "ReaderWalk.h"


_Must_inspect_result_
static
NTSTATUS
ReaderWalkBeginRange(
    _Inout_ PREADER_WALK Walk,
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Moves a thread that was just opened to where the range begins, and makes
    events of the frames that are open there.

Arguments:

    Walk - The walk, with a range.

    Stream - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    CORE_EVENT Event;
    PCORE_STACK Stack;
    SIZE_T Depth;
    ULONG Track;
    NTSTATUS Status;

    Status = ReaderSkipStream(&Walk->Before, Stream, Walk->Range->Start);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderClipStream(Stream, Walk->Range->Start, Walk->Range->End);
    if (Stream->IsFinished) {
        return STATUS_SUCCESS;
    }

    for (Track = 0; Track < Stream->Pair.NumberOfStacks; Track++) {

        Stack = &Stream->Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            RtlZeroBytes(&Event, sizeof(Event));
            Event.Kind = CoreEventEnter;
            Event.Depth = (ULONG)Depth;
            Event.Track = Track;
            Event.Timestamp = Stream->Start;
            Event.Frame = &Stack->Frames[Depth];
            Event.Parent = Depth != 0 ? Event.Frame - 1 : NULL;
            Event.Site = Event.Frame->Site;
            Event.Frame->Node = 0;
            Status = Walk->Event(Walk, &Event, TRUE);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    Walk->IsInCall = CoreCurrentFrame(&Stream->Pair) != NULL;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderWalkThread(
    _Inout_ PREADER_WALK Walk
    )
/*++

Routine Description:

    Reads a thread.

Arguments:

    Walk - The walk, with the thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    READER_STREAM Stream;
    CORE_EVENT Event;
    ULONGLONG Events = 0;
    NTSTATUS Status;

    Walk->IsInCall = FALSE;
    Status = ReaderOpenStream(&Stream,
                              Walk->Functions->Session,
                              Walk->Thread,
                              FALSE);
    if (NT_SUCCESS(Status) && Walk->Range->IsGiven) {
        Status = ReaderWalkBeginRange(Walk, &Stream);
    }

    while (NT_SUCCESS(Status)) {

        Status = ReaderNextEvent(&Stream, &Event);
        if (NT_SUCCESS(Status) && Event.Kind == CoreEventEnter) {
            Event.Frame->Node = 0;
            Status = ReaderFindFunction(Walk->Functions,
                                        Event.Site,
                                        &Event.Frame->Function);
        }

        if (NT_SUCCESS(Status)) {
            Status = Walk->Event(Walk, &Event, FALSE);
            Walk->IsInCall = CoreCurrentFrame(&Stream.Pair) != NULL;
        }

        Events += 1;
        if (Events % READER_PROGRESS_EVENTS == 0) {
            ReaderShowProgress(&Walk->Progress,
                               Walk->NumberOfRecords +
                                   Stream.NumberOfRecords);
        }
    }

    Walk->NumberOfRecords += Stream.NumberOfRecords;
    ReaderCloseStream(&Stream);
    if (Status == STATUS_END_OF_FILE) {
        Status = Walk->Node != NULL && Walk->Range->HasTrees
                     ? ReaderVisitTrees(Walk->Functions,
                                        Walk->Thread,
                                        Walk->Node,
                                        NULL,
                                        Walk)
                     : STATUS_SUCCESS;
    }

    return Status;
}


_Use_decl_annotations_
ULONG
ReaderWalkThreads(
    PREADER_WALK Walk
    )
/*++

Routine Description:

    Reads the selected threads.  One that cannot be read to its end does not
    hide the others.

Arguments:

    Walk - The walk, with what is the caller's.

Return Value:

    READER_EXIT_*; failures have been written.

--*/
{
    PREADER_SESSION Session = Walk->Functions->Session;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    NTSTATUS Status;

    ReaderInitializeTally(&Walk->Before, Walk->Functions, NULL);
    Walk->NumberOfRecords = 0;
    ReaderInitializeProgress(&Walk->Progress,
                             Session->Context,
                             "",
                             ReaderCountRecords(Session, Walk->Options));
    for (Walk->Thread = 0;
         Walk->Thread < Session->NumberOfThreads;
         Walk->Thread++) {

        if (!READER_IS_THREAD_SELECTED(
                Walk->Options,
                Session->Threads[Walk->Thread].ThreadId)) {
            continue;
        }

        Status = ReaderWalkThread(Walk);
        if (!NT_SUCCESS(Status)) {
            ReaderEraseProgress(&Walk->Progress);
            ExitCode = ReaderFailThread(Session, Walk->Thread, Status);
        }
    }

    ReaderEraseProgress(&Walk->Progress);
    ReaderRundownTally(&Walk->Before);
    return ExitCode;
}


_Use_decl_annotations_
VOID
ReaderQueryStoredBytes(
    PCREADER_STORE Store,
    PULONGLONG Bytes,
    PULONGLONG Lost
    )
/*++

Routine Description:

    Says how large a store is and what it lacks.

Arguments:

    Store - The store, with a valid header.

    Bytes - Receives the bytes of its header and records.

    Lost - Receives how many events were lost.

Return Value:

    None.

--*/
{
    PCTRACE_STORE_HEADER Header = Store->Header;

    *Bytes = Store->IsTree ? Store->FileSize : Store->EndOfRecords;
    if (Header->RingSizeInBytes != 0 &&
        *Bytes > Header->RingFileOffset + Header->RingSizeInBytes) {
        *Bytes = Header->RingFileOffset + Header->RingSizeInBytes;
    }

    *Lost = READER_EVENTS_LOST(Header) + Header->NumberOfEventsReentered;
}


_Use_decl_annotations_
BOOLEAN
ReaderCheckSortKey(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options,
    PCSZ Command
    )
/*++

Routine Description:

    Looks whether there is such a column.

Arguments:

    Context - The context.

    Options - The options.

    Command - The command's name.

Return Value:

    FALSE if there is none; that has been written.

--*/
{
    switch (Options->SortKey) {

    case ReaderSortAverage:
    case ReaderSortMinimum:
    case ReaderSortMaximum:
        RtlWriteText(Context->Errors,
                     "TraceReader: %s: --sort takes total, self, calls or "
                     "name here (see TraceReader %s --help)\n",
                     Command,
                     Command);
        RtlFlushWriter(Context->Errors);
        return FALSE;

    default:
        return TRUE;
    }
}
