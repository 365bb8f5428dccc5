/*++

Module Name:

    ExportHtml.c

Abstract:

    One page for a browser: the viewer with the session in it, if that is small
    and all of it is wanted (ExportView.c); else a picture of it: a timeline of
    each thread, a flame graph, a table of functions.  Everything is read once.
    Numbers are exact; what the timeline shows is bounded (ExportHtmlDetail.c).

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Sums/SumPaths.h"
#include "ExportHtml.h"
#include "ExportView.h"

//
// Options with which the viewer shows what was asked for: all of the session.
//

#define READER_HTML_OPTIONS_OF_ALL                                          \
    (READER_OPTION_EXPORT | READER_OPTION_OUTPUT | READER_OPTION_EMBED |    \
     READER_OPTION_SYMBOLS | READER_OPTION_NO_CACHE |                       \
     READER_OPTION_NO_INDEX | READER_OPTION_MARKS |                         \
     READER_OPTION_WORKERS | READER_OPTION_GENERAL |                        \
     READER_OPTION_VERBOSE | READER_OPTION_ALL_RUNS | READER_OPTION_NAMES)


//
// Finds a track of the thread that is read, and adds it if it is not there.
// Html: the export.
// Fiber: the fiber; 0 is the thread's own stack.
// Track: the track's index; READER_NONE: there are too many.
//

_Must_inspect_result_
static
NTSTATUS
ExportFindHtmlTrack(
    _Inout_ PREADER_HTML Html,
    _In_ ULONG Fiber,
    _Out_ PULONG Track
    )
{
    ULONG Thread = Html->Thread;
    NTSTATUS Status;

    *Track = READER_NONE;
    Status = BaseGrowArray(Html->Export->Context->Allocator,
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

    if (Fiber == 0 && Html->TrackOfFiber[0] == 0) {

        Thread = Html->Export->Session.Threads[Thread].Same;
        Status = BaseGrowArray(Html->Export->Context->Allocator,
                               (PVOID *)&Html->TrackOfThread,
                               &Html->CapacityOfThreads,
                               Thread + 1,
                               sizeof(ULONG));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Html->TrackOfFiber[0] = Html->TrackOfThread[Thread];
    }

    if (Html->TrackOfFiber[Fiber] == 0) {

        if (Html->Detail.NumberOfTracks == READER_HTML_MAXIMUM_TRACKS) {
            Html->TrackOfFiber[Fiber] = READER_NONE;
            Html->TracksLeftOut += 1;
            return STATUS_SUCCESS;
        }

        Status = ExportAddDetailTrack(&Html->Detail,
                                      Thread,
                                      Fiber,
                                      Track);
        if (NT_SUCCESS(Status)) {
            Html->TrackOfFiber[Fiber] = *Track + 1;
            if (Fiber == 0) {
                Html->TrackOfThread[Thread] = *Track + 1;
            }
        }

        return Status;
    }

    if (Html->TrackOfFiber[Fiber] != READER_NONE) {
        *Track = Html->TrackOfFiber[Fiber] - 1;
    }

    return STATUS_SUCCESS;
}


//
// Forgets the thread before: its frames have ended, unless it could not be
// read to its end.
// Html: the export.
// Thread: the thread that is read from now on.
//

static
VOID
ExportBeginHtmlThread(
    _Inout_ PREADER_HTML Html,
    _In_ ULONG Thread
    )
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


//
// Adds a call that ended to the timeline.
// Html: the export.
// Event: its end.
//

_Must_inspect_result_
static
NTSTATUS
ExportAddHtmlCall(
    _Inout_ PREADER_HTML Html,
    _In_ const CORE_EVENT *Event,
    _In_ ULONG Function
    )
{
    PREADER_DETAIL_TRACK On;
    READER_DETAIL_ITEM Item;
    ULONG Track;
    NTSTATUS Status;

    FunctionFilterFunctions(&Html->Export->Functions,
                            Html->Export->Options->Filter);
    Status = ExportFindHtmlTrack(Html, Event->Track, &Track);
    if (!NT_SUCCESS(Status) || Track == READER_NONE) {
        return Status;
    }

    RtlZeroBytes(&Item, sizeof(Item));
    Item.Start = Event->EnterTimestamp;
    Item.End = Item.Start + Event->InclusiveTicks;
    if ((Event->Frame->Flags & CORE_FRAME_STALE) != 0) {
        Item.End = Event->Timestamp;
    }

    Item.Function = Html->Functions[Function].Alike;
    Item.Called = Function;
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

    return ExportAddDetail(&Html->Detail, Track, &Item);
}


//
// Adds an event to what is known of its function, and to the timeline.
// Event: the event; the tree has it.
//

static
NTSTATUS
ExportWatchHtmlEvent(
    _In_ PVOID Context,
    _In_ ULONG Thread,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsBegunBefore
    )
{
    PREADER_HTML Html = (PREADER_HTML)Context;
    PREADER_HTML_FUNCTION Entry;
    ULONG Function;
    ULONG Track;
    NTSTATUS Status;

    if (Thread != Html->Thread) {
        ExportBeginHtmlThread(Html, Thread);
    }

    if (Event->Kind == CoreEventUnmatched) {
        Html->Unmatched += 1;
        return STATUS_SUCCESS;
    }

    if (Event->Frame->Node == READER_NONE) {
        return STATUS_SUCCESS;
    }

    Function = Html->Tree.Nodes[Event->Frame->Node].Function;
    if (Function >= Html->NumberKnown) {
        Status = ExportGrowHtmlFunctions(Html);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Entry = &Html->Functions[Html->Functions[Function].Alike];
    if (Event->Kind == CoreEventEnter) {

        Entry->Active += 1;
        Html->NumberActive += 1;
        if (!IsBegunBefore) {
            return STATUS_SUCCESS;
        }

        Entry->Statistics.BegunBefore += 1;
        Status = ExportFindHtmlTrack(Html, Event->Track, &Track);
        if (NT_SUCCESS(Status) && Track != READER_NONE) {
            Html->Detail.Tracks[Track].NumberBegunBefore = Event->Depth + 1;
        }

        return Status;
    }

    Entry->Active -= 1;
    Html->NumberActive -= 1;
    Html->NumberOfCalls += 1;
    CoreAddToStatistics(&Entry->Statistics, Event, Entry->Active == 0);
    if (Html->Export->Session.Clock.Kind == TRACE_CLOCK_NONE) {
        return STATUS_SUCCESS;
    }

    return ExportAddHtmlCall(Html, Event, Function);
}


//
// Adds what is known of functions from stores of trees, which have no events:
// the same sums as the report's.
// Html: the export; its tree has been built, so that what could not be read
// has been said.
//

_Must_inspect_result_
static
NTSTATUS
ExportAddHtmlTrees(
    _Inout_ PREADER_HTML Html
    )
{
    PREADER_EXPORT Export = Html->Export;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    READER_FUNCTIONS Functions;
    PREADER_STATISTICS Sums;
    ULONGLONG Unmatched;
    ULONG NumberOfSums;
    ULONG Thread;
    ULONG Index;
    ULONG Own;
    NTSTATUS Status;

    Status = ExportGrowHtmlFunctions(Html);
    if (!NT_SUCCESS(Status) ||
        Export->Session.NumberOfTrees == 0 || !Export->Range.HasTrees) {
        return Status;
    }

    //
    // A function's sums are not those of its imports by who called: one call
    // may be inside of another one.
    //

    FunctionInitializeFunctions(&Functions, &Export->Session);
    Functions.IsQuiet = TRUE;

    for (Thread = 0;
         NT_SUCCESS(Status) && Thread < Export->Session.NumberOfThreads;
         Thread++) {

        if (!READER_IS_THREAD_SELECTED(
                Export->Options,
                Export->Session.Threads[Thread].ThreadId)) {
            continue;
        }

        Status = SumTreesOfThread(&Functions,
                                  Thread,
                                  &Sums,
                                  &NumberOfSums,
                                  &Unmatched);
        if (Status != STATUS_NO_MEMORY) {
            Status = STATUS_SUCCESS;
            Html->Unmatched += Unmatched;
            for (Index = 0; Index < NumberOfSums; Index++) {

                if (Sums[Index].Calls == 0 ||
                    !BaseFindInMap(&Html->Alike,
                                   READER_HTML_KEY(&Functions.Functions[Index]),
                                   &Own)) {
                    continue;
                }

                Html->NumberOfCalls += Sums[Index].Calls;
                CoreAddStatistics(&Html->Functions[Own].Statistics,
                                  &Sums[Index],
                                  TRUE);
            }
        }

        Allocator->Free(Allocator->Context, Sums);
    }

    FunctionRundownFunctions(&Functions);
    return Status;
}


//
// Decides what is written.
// Html: the export, with all threads.
//

_Must_inspect_result_
static
NTSTATUS
ExportPrepareHtml(
    _Inout_ PREADER_HTML Html
    )
{
    NTSTATUS Status;

    Status = ExportAddHtmlTrees(Html);
    SumFilterTree(&Html->Tree, Html->Export->Options->Filter, 0);
    if (NT_SUCCESS(Status)) {
        Status = SumSortTree(&Html->Tree);
    }

    if (NT_SUCCESS(Status)) {
        Status = ExportChooseHtmlFunctions(Html);
    }

    if (NT_SUCCESS(Status)) {
        Status = ExportMergeTracks(&Html->Merged, &Html->Tree);
    }

    if (NT_SUCCESS(Status)) {
        Status = ExportFitHtmlData(Html);
    }

    return Status;
}


//
// Writes the viewer's page, if the session can be in it.
// IsWritten: whether the file is there, or something failed; FALSE: the picture
// is wanted.
// Returns READER_EXIT_*.
//

static
ULONG
ExportEmbedHtml(
    _Inout_ PREADER_EXPORT Export,
    _Out_ PBOOLEAN IsWritten
    )
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_OPTIONS Options = Export->Options;
    READER_FUNCTIONS Functions;
    READER_VIEW_PAGE Page;
    ULONG ExitCode;

    *IsWritten = FALSE;
    RtlZeroBytes(&Page, sizeof(Page));
    Page.MaximumBytes = (Options->Given & READER_OPTION_EMBED) != 0
                            ? Options->Embed
                            : READER_VIEW_MAXIMUM_BYTES;
    if (Page.MaximumBytes == 0 ||
        ReaderViewAfterSize == 0 ||
        (Options->Given & ~READER_HTML_OPTIONS_OF_ALL) != 0 ||
        Export->Session.NumberOfTrees != 0 ||
        Export->Session.Clock.Kind == TRACE_CLOCK_NONE) {
        return READER_EXIT_SUCCESS;
    }

    Page.Packing = (PREADER_PACKING)
        Allocator->Allocate(Allocator->Context, sizeof(READER_PACKING));
    if (Page.Packing == NULL) {
        *IsWritten = TRUE;
        return BaseFail(Export->Context,
                        "export",
                        Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    FunctionInitializeFunctions(&Functions, &Export->Session);
    Page.Packing->Context = Export->Context;
    Page.Packing->Options = Options;
    Page.Packing->Session = &Export->Session;
    Page.Packing->Functions = &Functions;
    Page.Packing->Team = Export->Team;
    Page.Output = Options->Output;
    Page.OutputUtf8 = Options->OutputUtf8;
    Page.IsOnlyEmbedded = TRUE;
    ExitCode = ExportWriteViewPage(&Page);
    *IsWritten = ExitCode != READER_EXIT_SUCCESS || Page.EmbeddedBytes != 0;
    ExportRundownPack(Page.Packing);
    FunctionRundownFunctions(&Functions);
    Allocator->Free(Allocator->Context, Page.Packing);
    return ExitCode;
}


_Use_decl_annotations_
ULONG
ExportHtml(
    PREADER_EXPORT Export
    )
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    PCREADER_OPTIONS Options = Export->Options;
    READER_HTML Html;
    READER_NOT_SHOWN NotShown;
    READER_FILE File;
    BOOLEAN IsWritten;
    ULONG ExitCode;
    ULONG Code;
    NTSTATUS Status;

    ExitCode = ExportEmbedHtml(Export, &IsWritten);
    if (IsWritten) {
        return ExitCode;
    }

    RtlZeroBytes(&Html, sizeof(Html));
    Html.Export = Export;
    Html.Thread = READER_NONE;
    BaseInitializeMap(&Html.Alike, Allocator);
    ExportInitializeDetail(&Html.Detail,
                           Allocator,
                           READER_HTML_MAXIMUM_ITEMS,
                           READER_HTML_MAXIMUM_ROWS);
    SumInitializeTree(&Html.Tree,
                      &Export->Functions,
                      &Export->Range,
                      0xFFFFFFFF,
                      TRUE);
    Html.Tree.Watch = ExportWatchHtmlEvent;
    Html.Tree.WatchContext = &Html;
    ExitCode = SumBuildTree(&Html.Tree, Options);
    if (Html.Tree.NumberOfNodes == 0) {
        goto End;
    }

    Status = ExportPrepareHtml(&Html);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Export->Context,
                            "export",
                            Options->PathUtf8,
                            Status);
        goto End;
    }

    if (!BaseCreateFile(&File,
                        Export->Context,
                        Options->Output,
                        Options->OutputUtf8,
                        FALSE)) {
        ExitCode = READER_EXIT_FAILURE;
        goto End;
    }

    RtlWriteBytes(&File.Writer, ReaderHtmlHead, ReaderHtmlHeadSize);
    ExportWriteHtmlAbout(&Html, &File.Writer);
    ExportWriteHtmlData(&Html, &File.Writer);
    RtlWriteBytes(&File.Writer, ReaderHtmlTail, ReaderHtmlTailSize);
    Code = BaseCloseFile(&File, TRUE);
    if (Code != READER_EXIT_SUCCESS) {
        ExitCode = Code;
    }

    RtlZeroBytes(&NotShown, sizeof(NotShown));
    NotShown.Rows = Html.FunctionsNotShown;
    NotShown.Calls = Html.CallsNotShown;
    ExitCode = FunctionEndFilter(Export->Context,
                                 Options->Filter,
                                 &Export->Functions,
                                 Html.NumberOfFunctions,
                                 &NotShown,
                                 ExitCode);

End:
    Allocator->Free(Allocator->Context, Html.Functions);
    Allocator->Free(Allocator->Context, Html.Order);
    Allocator->Free(Allocator->Context, Html.TrackOfThread);
    Allocator->Free(Allocator->Context, Html.TrackOfFiber);
    BaseRundownMap(&Html.Alike);
    ExportRundownHtmlTree(&Html.Merged, Allocator);
    ExportRundownDetail(&Html.Detail);
    SumRundownTree(&Html.Tree);
    return ExitCode;
}
