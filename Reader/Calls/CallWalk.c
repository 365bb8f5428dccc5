/*++

Module Name:

    CallWalk.c

Abstract:

    The events of all threads, one thread after another, with the functions
    that they are of; also those of a part of a session.

--*/

#include "../Session/SessionDescribe.h"
#include "CallRead.h"
#include "CallWalk.h"

//
// The progress is looked at once in so many calls of CallShowWalkProgress.
//

#define READER_WALK_PROGRESS_CALLS 0x1000


//
// Makes an event of a frame that is open where the range begins.
//

_Use_decl_annotations_
static
NTSTATUS
CallWalkOpen(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    PREADER_WALK Walk = (PREADER_WALK)Context;
    CORE_EVENT Event;
    NTSTATUS Status;

    RtlZeroBytes(&Event, sizeof(Event));
    Event.Kind = CoreEventEnter;
    Event.Depth = Depth;
    Event.Track = Track;
    Event.Timestamp = Stream->Start;
    Event.Frame = Frame;
    Event.Parent = Depth != 0 ? Frame - 1 : NULL;
    Event.Site = Frame->Site;
    Frame->Node = 0;
    Walk->Stream = Stream;
    Status = Walk->Event(Walk, &Event, TRUE);
    Walk->IsInCall = CoreCurrentFrame(&Stream->Pair) != NULL;
    return Status;
}


_Use_decl_annotations_
static
NTSTATUS
CallWalkEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    PREADER_WALK Walk = (PREADER_WALK)Context;
    const READER_TALLY *Tally = &Walk->Tally;
    NTSTATUS Status;

    if (Event->Kind == CoreEventEnter) {
        Event->Frame->Node = 0;
        Event->Frame->Function = Tally->List[Tally->LastIndex].Function;
    }

    Walk->Stream = Stream;
    Status = Walk->Event(Walk, Event, FALSE);
    Walk->IsInCall = CoreCurrentFrame(&Stream->Pair) != NULL;
    return Status;
}


_Use_decl_annotations_
static
NTSTATUS
CallWalkTrees(
    PVOID Context,
    ULONG ThreadIndex
    )
{
    PREADER_WALK Walk = (PREADER_WALK)Context;

    return Walk->Node != NULL && Walk->Range->HasTrees
               ? CallVisitTrees(Walk->Functions,
                                ThreadIndex,
                                Walk->Node,
                                NULL,
                                Walk)
               : STATUS_SUCCESS;
}


//
// Called for each buffer, or each event, that was read.
//

static
VOID
CallShowWalkProgress(
    _In_ PVOID Context
    )
{
    PREADER_WALK Walk = (PREADER_WALK)Context;

    Walk->ProgressCalls += 1;
    if (Walk->ProgressCalls % READER_WALK_PROGRESS_CALLS == 0) {
        BaseShowProgress(&Walk->Progress,
                         Walk->Tally.NumberOfRecords +
                             Walk->Before.NumberOfRecords);
    }
}


_Use_decl_annotations_
ULONG
CallWalkThreads(
    PREADER_WALK Walk
    )
{
    static const READER_VISITOR Visitor = {
        CallWalkOpen,
        CallWalkEvent,
        CallWalkTrees
    };
    PREADER_SESSION Session = Walk->Functions->Session;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    NTSTATUS Status;

    CallInitializeTally(&Walk->Tally, Walk->Functions, NULL);
    CallInitializeTally(&Walk->Before, Walk->Functions, NULL);
    Walk->Tally.IsGeneral = TRUE;
    Walk->Before.IsGeneral =
        (Walk->Options->Given & READER_OPTION_GENERAL) != 0;
    Walk->Tally.IsSaidAtOnce = TRUE;
    Walk->Tally.IsSilent = Walk->IsSilent;
    if (Walk->Range->IsGiven) {
        Walk->Tally.Range = Walk->Range;
        Walk->Tally.Before = &Walk->Before;
    }

    if (Session->Context->Errors->IsConsole) {
        Walk->Tally.Progress = CallShowWalkProgress;
        Walk->Tally.ProgressContext = Walk;
        Walk->Before.Progress = CallShowWalkProgress;
        Walk->Before.ProgressContext = Walk;
    }

    BaseInitializeProgress(&Walk->Progress,
                           Session->Context,
                           "",
                           SessionCountRecords(Session, Walk->Options));
    for (Walk->Thread = 0;
         Walk->Thread < Session->NumberOfThreads;
         Walk->Thread++) {

        if (!READER_IS_THREAD_SELECTED(
                Walk->Options,
                Session->Threads[Walk->Thread].ThreadId) ||
            (Walk->Selected != NULL && !Walk->Selected[Walk->Thread])) {
            continue;
        }

        Walk->IsInCall = FALSE;
        Walk->NumberOfThreads += 1;
        Status = CallReadThread(&Walk->Tally, Walk->Thread, &Visitor, Walk);
        if (!NT_SUCCESS(Status)) {
            BaseEraseProgress(&Walk->Progress);
            ExitCode = SessionFailThread(Session, Walk->Thread, Status);
        }
    }

    BaseEraseProgress(&Walk->Progress);
    Walk->NumberOfRecords = Walk->Tally.NumberOfRecords +
                            Walk->Before.NumberOfRecords;
    CallRundownTally(&Walk->Tally);
    CallRundownTally(&Walk->Before);
    return ExitCode;
}
