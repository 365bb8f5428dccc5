/*++

Module Name:

    CallHold.c

Abstract:

    A thread's calls without those that are shorter than a time or deeper than
    a depth.  What a short call calls is shorter still, so that entries and
    ends of what is left match as before.

--*/

#include "../Functions/FunctionWaits.h"
#include "CallHold.h"
#include "CallRange.h"

//
// What a frame's field Node says of its entry: that it was taken here.
//

#define READER_HOLD_ENTERED 1u

_Use_decl_annotations_
BOOLEAN
CallQueryMinimumTicks(
    const READER_SESSION *Session,
    PCREADER_OPTIONS Options,
    PULONGLONG Ticks
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;

    *Ticks = 0;
    if (Options->MinimumDuration == 0) {
        return TRUE;
    }

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        RtlWriteText(Errors,
                     "TraceReader: %s: --min-duration: the session has no "
                     "times: it was recorded with TRACER_CLOCK=none\n",
                     Options->Command);
        RtlFlushWriter(Errors);
        return FALSE;
    }

    *Ticks = CallFindTime(&Session->Clock, 0, Options->MinimumDuration);
    return TRUE;
}


_Use_decl_annotations_
VOID
CallInitializeHoldRules(
    PREADER_HOLD_RULES Rules,
    PREADER_FUNCTIONS Functions,
    PCREADER_OPTIONS Options,
    ULONGLONG MinimumTicks,
    PREADER_NOT_SHOWN NotShown
    )
{
    RtlZeroBytes(Rules, sizeof(*Rules));
    Rules->Functions = Functions;
    Rules->MinimumTicks = MinimumTicks;
    Rules->Depth = Options->Depth;
    Rules->NotShown = NotShown;
    NotShown->HasLimits = (Options->Given &
                           (READER_OPTION_MIN_DURATION |
                            READER_OPTION_DEPTH)) != 0;
}


//
// Adds an event behind those that are held.
//

_Must_inspect_result_
static
NTSTATUS
CallHoldEvent(
    _In_ PREADER_HOLD_RULES Rules,
    _Inout_ PREADER_HOLD Hold,
    _In_ PCREADER_CALL_EVENT Event
    )
{
    ULONG Index;
    NTSTATUS Status;

    if (Hold->First == Hold->End) {
        Hold->First = 0;
        Hold->End = 0;
    }

    //
    // Room is made at the beginning once that is half of what there is.
    //

    if (Hold->End == Hold->Capacity) {

        if (Hold->First > Hold->Capacity / 2) {

            for (Index = Hold->First; Index < Hold->End; Index++) {
                Hold->Events[Index - Hold->First] = Hold->Events[Index];
            }

            Hold->End -= Hold->First;
            Hold->First = 0;

        } else {

            Status = BaseGrowArray(
                Rules->Functions->Session->Context->Allocator,
                (PVOID *)&Hold->Events,
                &Hold->Capacity,
                Hold->End + 1,
                sizeof(READER_CALL_EVENT));
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    Hold->Events[Hold->End] = *Event;
    Hold->End += 1;
    return STATUS_SUCCESS;
}


//
// Finds the entry of a call among those that are held.  It is the last or
// nearly so: only other stacks' events can be behind it.
// Returns its index; READER_NONE if it is not held.
//

static
ULONG
CallFindHeld(
    _In_ const READER_HOLD *Hold,
    _In_ const CORE_EVENT *Event
    )
{
    ULONG Index;

    for (Index = Hold->End; Index > Hold->First; Index--) {

        PCREADER_CALL_EVENT Held = &Hold->Events[Index - 1];

        if (Held->IsHeld && Held->Track == Event->Track &&
            Held->Depth == Event->Depth) {
            return Index - 1;
        }
    }

    return READER_NONE;
}


//
// Decides, at the end of a call, whether it is shown.
//

static
BOOLEAN
CallIsEndShown(
    _Inout_ PREADER_HOLD_RULES Rules,
    _Inout_ PREADER_HOLD Hold,
    _In_ const CORE_EVENT *Event
    )
{
    BOOLEAN IsLong = Event->InclusiveTicks >= Rules->MinimumTicks;
    ULONG Held;

    if (Rules->MinimumTicks == 0) {
        return TRUE;
    }

    Held = CallFindHeld(Hold, Event);
    if (Held == READER_NONE) {

        //
        // It was found to be long enough, unless it was never entered here.
        //

        return Event->Frame->Node == READER_HOLD_ENTERED || IsLong;
    }

    if (IsLong) {
        Hold->Events[Held].IsHeld = FALSE;
        return TRUE;
    }

    Rules->NotShown->ShortCalls += 1;
    for (; Held + 1 < Hold->End; Held++) {
        Hold->Events[Held] = Hold->Events[Held + 1];
    }

    Hold->End -= 1;
    return FALSE;
}


//
// Lets the entries go that are old enough by now, from the first one on.
// Timestamp: of an event whose record has no others to give.
//

static
VOID
CallReleaseHeld(
    _In_ const READER_HOLD_RULES *Rules,
    _Inout_ PREADER_HOLD Hold,
    _In_ const READER_STREAM *Stream,
    _In_ ULONGLONG Timestamp
    )
{
    PREADER_CALL_EVENT Held;
    const CORE_FRAME *Frame;
    ULONG Index;

    for (Index = Hold->First; Index < Hold->End; Index++) {

        Held = &Hold->Events[Index];
        if (!Held->IsHeld) {
            continue;
        }

        Frame = &Stream->Pair.Stacks[Held->Track].Frames[Held->Depth];
        if (Timestamp < Frame->EnterTimestamp ||
            Timestamp - Frame->EnterTimestamp < Rules->MinimumTicks) {
            break;
        }

        Held->IsHeld = FALSE;
    }
}


_Use_decl_annotations_
NTSTATUS
CallHoldOpenCalls(
    PREADER_HOLD_RULES Rules,
    PREADER_HOLD Hold,
    PREADER_STREAM Stream
    )
{
    READER_CALL_EVENT Entry;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {

        Stack = &Stream->Pair.Stacks[Index];
        for (Depth = 0;
             NT_SUCCESS(Status) && Depth < Stack->NumberOfFrames &&
             Depth < Rules->Depth;
             Depth++) {

            Frame = &Stack->Frames[Depth];
            Frame->Node = READER_HOLD_ENTERED;
            RtlZeroBytes(&Entry, sizeof(Entry));
            Entry.Kind = CoreEventEnter;
            Entry.Depth = (ULONG)Depth;
            Entry.Function = Frame->Function;
            Entry.Track = Index;
            Entry.IsOpenBefore = TRUE;
            Entry.IsHeld = Rules->MinimumTicks != 0;
            Entry.Timestamp = Stream->Start;
            Entry.EnterTimestamp = CallFindEntry(Stream, Frame);
            Status = CallHoldEvent(Rules, Hold, &Entry);
        }

        Rules->NotShown->DeepCalls += Stack->NumberOfFrames - Depth;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
CallNextHeldEvent(
    PREADER_HOLD_RULES Rules,
    PREADER_HOLD Hold,
    PREADER_STREAM Stream,
    PREADER_CALL_EVENT Event
    )
{
    CORE_EVENT Taken;
    NTSTATUS Status;

    for (;;) {

        if (Hold->First != Hold->End && !Hold->Events[Hold->First].IsHeld) {
            *Event = Hold->Events[Hold->First];
            Hold->First += 1;
            return STATUS_SUCCESS;
        }

        Status = CallNextEvent(Stream, &Taken);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Rules->NumberOfRecords += 1;
        RtlZeroBytes(Event, sizeof(*Event));
        if (Taken.Frame == NULL || Taken.Kind == CoreEventEnter) {

            Status = FunctionFindFunction(Rules->Functions,
                                          Taken.Site,
                                          FALSE,
                                          &Event->Function);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            if (Taken.Frame != NULL) {
                Taken.Frame->Function = Event->Function;
                Taken.Frame->Flags |=
                    FunctionQueryWaitFlags(Rules->Functions, Event->Function);
                Taken.Frame->Node = READER_HOLD_ENTERED;
            }

        } else {
            Event->Function = Taken.Frame->Function;
            Event->EnterTimestamp = Taken.EnterTimestamp;
        }

        Event->Kind = Taken.Kind;
        Event->Depth = Taken.Depth;
        Event->Track = Taken.Track;
        Event->IsTailCall = Taken.IsTailCall;
        Event->IsAfterJump = Taken.IsAfterJump;
        Event->Timestamp = Taken.Timestamp;
        Event->InclusiveTicks = Taken.InclusiveTicks;
        if (Taken.Depth >= Rules->Depth) {

            if (Taken.Kind == CoreEventEnter) {
                Rules->NotShown->DeepCalls += 1;
            }

        } else if (Rules->MinimumTicks == 0) {

            if (Hold->First == Hold->End) {
                return STATUS_SUCCESS;
            }

            Status = CallHoldEvent(Rules, Hold, Event);

        } else if (Taken.Kind == CoreEventEnter ||
                   Taken.Kind == CoreEventUnmatched ||
                   CallIsEndShown(Rules, Hold, &Taken)) {

            Event->IsHeld = Taken.Kind == CoreEventEnter;
            Status = CallHoldEvent(Rules, Hold, Event);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        //
        // Of a record that also proves calls gone, their ends come first.
        //

        if (!Stream->Pair.IsPending) {
            CallReleaseHeld(Rules, Hold, Stream, Taken.Timestamp);
        }
    }
}


_Use_decl_annotations_
VOID
CallRundownHold(
    PREADER_HOLD_RULES Rules,
    PREADER_HOLD Hold
    )
{
    PCALLOCATOR Allocator = Rules->Functions->Session->Context->Allocator;

    Allocator->Free(Allocator->Context, Hold->Events);
    RtlZeroBytes(Hold, sizeof(*Hold));
}
