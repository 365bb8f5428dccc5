/*++

Module Name:

    KdFeed.c

Abstract:

    Calls become events.

--*/

#include "KdFeed.h"

//
// Hands on the events that there are.
//

_Must_inspect_result_
static
NTSTATUS
KdFeedShow(
    _Inout_ PKD_FEED Feed,
    _Inout_ PCORE_PAIR Pair,
    _In_ ULONG Function,
    _In_ PKD_VISIT Visit,
    _Inout_ PVOID VisitContext
    )
{
    CORE_EVENT Event;
    NTSTATUS Status = STATUS_SUCCESS;

    //
    // Some fields are the caller's: what hooks cost is not subtracted here.
    //

    RtlZeroBytes(&Event, sizeof(Event));
    while (NT_SUCCESS(Status) && CoreNextEvent(Pair, &Event)) {

        if (Event.Kind == CoreEventUnmatched) {
            Feed->NumberUnmatched += 1;
            continue;
        }

        if (Event.Kind == CoreEventEnter) {
            Event.Frame->Function = Function;
            Event.Frame->Node = KD_NONE;
        }

        Status = Visit(VisitContext, &Event);
        if (NT_SUCCESS(Status) && KdContextIsStopped(Feed->Names->Context)) {
            Status = STATUS_CANCELLED;
        }
    }

    return Status;
}

_Must_inspect_result_
static
NTSTATUS
KdFeedBeginPair(
    _In_ PKD_FEED Feed,
    _Out_ PCORE_PAIR Pair
    )
{
    NTSTATUS Status;

    Status = CoreInitializePair(Pair,
                                &Feed->Names->Context->Allocator,
                                Feed->StackBase,
                                Feed->StackLimit);
    if (NT_SUCCESS(Status)) {
        Pair->CountInlined = KdNamesCountInlined;
        Pair->InlineContext = Feed->Names;
    }

    return Status;
}

_Use_decl_annotations_
NTSTATUS
KdFeedWalk(
    PKD_FEED Feed,
    PKD_VISIT Visit,
    PVOID VisitContext
    )
{
    CORE_PAIR Pair;
    CORE_CALL Call;
    ULONG Function;
    NTSTATUS Status;

    Feed->NumberOfRecords = 0;
    Feed->NumberOfGaps = 0;
    Feed->NumberUnmatched = 0;
    Feed->FirstTimestamp = 0;
    Feed->LastTimestamp = 0;

    Status = KdFeedBeginPair(Feed, &Pair);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (;;) {

        RtlZeroBytes(&Call, sizeof(Call));
        Function = KD_NONE;
        Status = Feed->Next(Feed, &Call);
        if (Status == STATUS_RETRY) {

            Feed->NumberOfGaps += 1;
            Feed->IsAtGap = TRUE;
            CoreFinishPair(&Pair);
            Status = KdFeedShow(Feed, &Pair, KD_NONE, Visit, VisitContext);
            Feed->IsAtGap = FALSE;
            CoreRundownPair(&Pair);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Status = KdFeedBeginPair(Feed, &Pair);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            continue;
        }

        if (!NT_SUCCESS(Status)) {
            break;
        }

        if (Feed->NumberOfRecords == 0) {
            Feed->FirstTimestamp = Call.Timestamp;
        }

        Feed->NumberOfRecords += 1;
        Feed->LastTimestamp = Call.Timestamp;
        if (Call.Kind != TRACE_KIND_GONE) {
            Status = KdNamesDescribe(Feed->Names, &Call, &Function);
        }

        if (NT_SUCCESS(Status)) {
            Status = CoreAddCall(&Pair, &Call);
        }

        if (Status == STATUS_INVALID_PARAMETER) {
            continue;
        }

        if (NT_SUCCESS(Status)) {
            Status = KdFeedShow(Feed, &Pair, Function, Visit, VisitContext);
        }

        if (!NT_SUCCESS(Status)) {
            break;
        }
    }

    if (Status == STATUS_END_OF_FILE) {
        CoreFinishPair(&Pair);
        Status = KdFeedShow(Feed, &Pair, KD_NONE, Visit, VisitContext);
    }

    CoreRundownPair(&Pair);
    return Status;
}
