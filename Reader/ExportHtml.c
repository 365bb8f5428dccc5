/*++

Module Name:

    ExportHtml.c

Abstract:

    One page for a browser: a timeline of each thread, a flame graph, a table
    of functions.  Everything is read once.  Numbers are exact; what the
    timeline shows is bounded (ExportHtmlDetail.c).

--*/

#include "ExportHtml.h"
#include "ReaderFile.h"


_Must_inspect_result_
static
NTSTATUS
ReaderFindHtmlTrack(
    _Inout_ PREADER_HTML Html,
    _In_ ULONG Fiber,
    _Out_ PULONG Track
    )
/*++

Routine Description:

    Finds a track of the thread that is read, and adds it if it is not there.

Arguments:

    Html - The export.

    Fiber - The fiber; 0 is the thread's own stack.

    Track - Receives the track's index; READER_NONE: there are too many.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    NTSTATUS Status;

    *Track = READER_NONE;
    Status = ReaderGrowArray(Html->Export->Context->Allocator,
                             (PVOID *)&Html->TrackOfFiber,
                             &Html->CapacityOfFibers,
                             Fiber + 1,
                             sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Fiber > Html->HighestFiber) {
        Html->HighestFiber = Fiber;
    }

    if (Html->TrackOfFiber[Fiber] == 0) {

        if (Html->Detail.NumberOfTracks == READER_HTML_MAXIMUM_TRACKS) {
            Html->TrackOfFiber[Fiber] = READER_NONE;
            Html->TracksLeftOut += 1;
            return STATUS_SUCCESS;
        }

        Status = ReaderAddDetailTrack(&Html->Detail,
                                      Html->Thread,
                                      Fiber,
                                      Track);
        if (NT_SUCCESS(Status)) {
            Html->TrackOfFiber[Fiber] = *Track + 1;
        }

        return Status;
    }

    if (Html->TrackOfFiber[Fiber] != READER_NONE) {
        *Track = Html->TrackOfFiber[Fiber] - 1;
    }

    return STATUS_SUCCESS;
}


static
VOID
ReaderBeginHtmlThread(
    _Inout_ PREADER_HTML Html,
    _In_ ULONG Thread
    )
/*++

Routine Description:

    Forgets the thread before: its frames have ended, unless it could not be
    read to its end.

Arguments:

    Html - The export.

    Thread - The thread that is read from now on.

Return Value:

    None.

--*/
{
    ULONG Index;

    Html->Thread = Thread;
    if (Html->NumberActive != 0) {
        for (Index = 0; Index < Html->CapacityOfFunctions; Index++) {
            Html->Functions[Index].Active = 0;
        }
        Html->NumberActive = 0;
    }

    for (Index = 0;
         Index < Html->CapacityOfFibers && Index <= Html->HighestFiber;
         Index++) {
        Html->TrackOfFiber[Index] = 0;
    }

    Html->HighestFiber = 0;
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddHtmlCall(
    _Inout_ PREADER_HTML Html,
    _In_ const CORE_EVENT *Event,
    _In_ ULONG Function
    )
/*++

Routine Description:

    Adds a call that ended to the timeline.

Arguments:

    Html - The export.

    Event - Its end.

    Function - Its function.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_DETAIL_TRACK On;
    READER_DETAIL_ITEM Item;
    ULONG Track;
    NTSTATUS Status;

    ReaderFilterFunctions(&Html->Export->Functions,
                          Html->Export->Options->Filter);
    Status = ReaderFindHtmlTrack(Html, Event->Track, &Track);
    if (!NT_SUCCESS(Status) || Track == READER_NONE) {
        return Status;
    }

    RtlZeroBytes(&Item, sizeof(Item));
    Item.Start = Event->EnterTimestamp;
    Item.End = Item.Start + Event->InclusiveTicks;
    if ((Event->Frame->Flags & CORE_FRAME_STALE) != 0) {
        Item.End = Event->Timestamp;
    }

    Item.Function = Function;
    Item.Depth = Event->Depth;
    if (Event->Kind == CoreEventAbandoned) {
        Item.Flags |= READER_DETAIL_ABANDONED;
    } else if (Event->Kind == CoreEventOpen) {
        Item.Flags |= READER_DETAIL_OPEN;
    }

    if (Event->IsUncertain) {
        Item.Flags |= READER_DETAIL_UNCERTAIN;
    }

    On = &Html->Detail.Tracks[Track];
    if (Event->Depth < On->NumberBegunBefore) {
        On->NumberBegunBefore = Event->Depth;
        Item.Flags |= READER_DETAIL_BEGUN_BEFORE;
    }

    if (!Html->Export->Functions.Functions[Function].IsShown) {
        return STATUS_SUCCESS;
    }

    return ReaderAddDetail(&Html->Detail, Track, &Item);
}


static
NTSTATUS
ReaderWatchHtmlEvent(
    _In_ PVOID Context,
    _In_ ULONG Thread,
    _In_ const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds an event to what is known of its function, and to the timeline.

Arguments:

    Context - The export.

    Thread - The thread.

    Event - The event; the tree has it.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_HTML Html = (PREADER_HTML)Context;
    PREADER_HTML_FUNCTION Entry;
    ULONG Function;
    ULONG Track;
    NTSTATUS Status;

    if (Thread != Html->Thread) {
        ReaderBeginHtmlThread(Html, Thread);
    }

    if (Event->Kind == CoreEventUnmatched) {
        Html->Unmatched += 1;
        return STATUS_SUCCESS;
    }

    if (Event->Frame->Node == READER_NONE) {
        return STATUS_SUCCESS;
    }

    Function = Html->Tree.Nodes[Event->Frame->Node].Function;
    if (Function >= Html->CapacityOfFunctions) {
        Status = ReaderGrowArray(Html->Export->Context->Allocator,
                                 (PVOID *)&Html->Functions,
                                 &Html->CapacityOfFunctions,
                                 Function + 1,
                                 sizeof(READER_HTML_FUNCTION));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Entry = &Html->Functions[Function];
    if (Event->Kind == CoreEventEnter) {

        Entry->Active += 1;
        Html->NumberActive += 1;
        if (Event->Timestamp != 0) {
            return STATUS_SUCCESS;
        }

        //
        // It was open where the range begins.
        //

        Entry->Statistics.BegunBefore += 1;
        Status = ReaderFindHtmlTrack(Html, Event->Track, &Track);
        if (NT_SUCCESS(Status) && Track != READER_NONE) {
            Html->Detail.Tracks[Track].NumberBegunBefore = Event->Depth + 1;
        }

        return Status;
    }

    Entry->Active -= 1;
    Html->NumberActive -= 1;
    Html->NumberOfCalls += 1;
    ReaderAddToStatistics(&Entry->Statistics, Event, Entry->Active == 0);
    if (Html->Export->Session.Clock.Kind == TRACE_CLOCK_NONE) {
        return STATUS_SUCCESS;
    }

    return ReaderAddHtmlCall(Html, Event, Function);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPrepareHtml(
    _Inout_ PREADER_HTML Html
    )
/*++

Routine Description:

    Decides what is written.

Arguments:

    Html - The export, with all threads.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    NTSTATUS Status;

    ReaderFilterTree(&Html->Tree, Html->Export->Options->Filter);
    Status = ReaderSortTree(&Html->Tree);
    if (NT_SUCCESS(Status)) {
        Status = ReaderChooseHtmlFunctions(Html);
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderMergeTracks(&Html->Merged, &Html->Tree);
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderFitHtmlData(Html);
    }

    return Status;
}


_Use_decl_annotations_
ULONG
ReaderExportHtml(
    PREADER_EXPORT Export
    )
/*++

Routine Description:

    Writes the page.

Arguments:

    Export - The export.

Return Value:

    READER_EXIT_*.

--*/
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_OPTIONS Options = Export->Options;
    READER_HTML Html;
    READER_NOT_SHOWN NotShown;
    READER_FILE File;
    ULONG ExitCode;
    ULONG Code;
    NTSTATUS Status;

    RtlZeroBytes(&Html, sizeof(Html));
    Html.Export = Export;
    Html.Thread = READER_NONE;
    ReaderInitializeDetail(&Html.Detail,
                           Allocator,
                           READER_HTML_MAXIMUM_ITEMS,
                           READER_HTML_MAXIMUM_ROWS);
    ReaderInitializeTree(&Html.Tree,
                         &Export->Functions,
                         &Export->Range,
                         0xFFFFFFFF,
                         TRUE);
    Html.Tree.Watch = ReaderWatchHtmlEvent;
    Html.Tree.WatchContext = &Html;
    ExitCode = ReaderBuildTree(&Html.Tree, Options);
    if (Html.Tree.NumberOfNodes == 0) {
        goto End;
    }

    Status = ReaderPrepareHtml(&Html);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Export->Context,
                              "export",
                              Options->PathUtf8,
                              Status);
        goto End;
    }

    if (!ReaderCreateFile(&File,
                          Export->Context,
                          Options->Output,
                          Options->OutputUtf8)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    RtlWriteBytes(&File.Writer, ReaderHtmlHead, ReaderHtmlHeadSize);
    ReaderWriteHtmlAbout(&Html, &File.Writer);
    ReaderWriteHtmlData(&Html, &File.Writer);
    RtlWriteBytes(&File.Writer, ReaderHtmlTail, ReaderHtmlTailSize);
    Code = ReaderCloseFile(&File, TRUE);
    if (Code != READER_EXIT_SUCCESS) {
        ExitCode = Code;
    }

    RtlZeroBytes(&NotShown, sizeof(NotShown));
    NotShown.Rows = Html.FunctionsNotShown;
    NotShown.Calls = Html.CallsNotShown;
    ExitCode = ReaderEndFilter(Export->Context,
                               Options->Filter,
                               Html.NumberOfFunctions,
                               &NotShown,
                               ExitCode);

End:
    Allocator->Free(Allocator->Context, Html.Functions);
    Allocator->Free(Allocator->Context, Html.Order);
    Allocator->Free(Allocator->Context, Html.TrackOfFiber);
    ReaderRundownHtmlTree(&Html.Merged, Allocator);
    ReaderRundownDetail(&Html.Detail);
    ReaderRundownTree(&Html.Tree);
    return ExitCode;
}
