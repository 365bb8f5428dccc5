/*++

Module Name:

    LiveTake.c

Abstract:

    What a thread did in an interval is taken over into what live shows.

--*/

#include "LiveChains.h"
#include "LiveTake.h"

_Use_decl_annotations_
VOID
LiveActivateFrames(
    PREADER_LIVE Live,
    PREADER_LIVE_THREAD Thread,
    BOOLEAN IsActive
    )
{
    const CORE_STACK *Stack;
    SIZE_T Depth;
    ULONG Function;
    ULONG Index;

    for (Index = 0; Index < Thread->Stream.Pair.NumberOfStacks; Index++) {
        Stack = &Thread->Stream.Pair.Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Live->Tally.Totals.Active[Stack->Frames[Depth].Function] = 0;
        }
    }

    for (Index = 0;
         IsActive && Index < Thread->Stream.Pair.NumberOfStacks;
         Index++) {
        Stack = &Thread->Stream.Pair.Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Function = Stack->Frames[Depth].Function;
            if (Live->Tally.Totals.Active[Function] == 0) {
                Live->List[Function].OtherTotalTicks -= Thread->GapTicks;
            }

            Live->Tally.Totals.Active[Function] += 1;
        }
    }

    if (IsActive) {
        Thread->GapTicks = 0;
    }
}

_Use_decl_annotations_
NTSTATUS
LiveEvent(
    PREADER_LIVE Live,
    PCREADER_LIVE_THREAD Thread,
    const CORE_EVENT *Event
    )
{
    PREADER_LIVE_FUNCTION Function;
    PULONG Active;

    NTSTATUS Status;

    if (Event->Kind == CoreEventEnter) {
        Status = CallTallyEvent(&Live->Tally, Event);
        if (NT_SUCCESS(Status) && Live->Chains.IsOn) {
            Status = LiveEnterChain(&Live->Chains, Event);
        }

        return Status;
    }

    if (Event->Frame == NULL) {
        return CallTallyEvent(&Live->Tally, Event);
    }

    if (Live->Chains.IsOn) {
        LiveLeaveChain(&Live->Chains, Event, TRUE);
    }

    Function = &Live->List[Event->Frame->Function];
    Active = &Live->Tally.Totals.Active[Event->Frame->Function];
    if (Event->Frame->NumberOfJumps < Thread->GapJumps) {
        *Active -= 1;
        Function->OtherCalls += 1;
        Function->OtherSelfTicks += Event->SelfTicks;
        if (*Active == 0) {
            Function->OtherTotalTicks += Event->InclusiveTicks;
        }

        return STATUS_SUCCESS;
    }

    if (Event->Kind == CoreEventAbandoned) {
        Function->OtherSelfTicks += Event->SelfTicks;
        if (*Active == 1) {
            Function->OtherTotalTicks += Event->InclusiveTicks;
        }
    }

    return CallTallyEvent(&Live->Tally, Event);
}

//
// Adds times, or takes the negative of one away. Those of a damaged store may
// be anything: their sum wraps, which a signed addition must not.
// Ticks: what is added.
//

static
VOID
LiveAddTicks(
    _Inout_ PLONGLONG Sum,
    _In_ ULONGLONG Ticks
    )
{
    *Sum = (LONGLONG)((ULONGLONG)*Sum + Ticks);
}

_Use_decl_annotations_
VOID
LiveTakeClosed(
    PREADER_LIVE Live
    )
{
    BOOLEAN HasTimes = Live->Session.Clock.Kind != TRACE_CLOCK_NONE;
    ULONG Index;

    for (Index = 0; Index < Live->Tally.NumberOfFunctions; Index++) {

        PCCORE_TOTALS Totals = &Live->Tally.Totals.Totals[Index];
        PCREADER_STATISTICS Statistics = &Live->Tally.List[Index].Statistics;
        PREADER_LIVE_FUNCTION Function = &Live->List[Index];
        ULONGLONG Calls;
        ULONGLONG Ticks;

        Calls = Totals->Calls + Statistics->Calls + Function->OtherCalls;
        Function->Calls += (LONGLONG)(Calls - Function->ClosedCalls);
        Function->ClosedCalls = Calls;
        if (!HasTimes) {
            continue;
        }

        Ticks = Totals->SelfTicks + Statistics->SelfTicks +
                Function->OtherSelfTicks;
        LiveAddTicks(&Function->SelfTicks,
                     Ticks - Function->ClosedSelfTicks);
        Function->ClosedSelfTicks = Ticks;
        Ticks = Totals->TotalTicks + Statistics->TotalTicks +
                Function->OtherTotalTicks;
        LiveAddTicks(&Function->TotalTicks,
                     Ticks - Function->ClosedTotalTicks);
        Function->ClosedTotalTicks = Ticks;
    }

    if (Live->Chains.IsOn) {
        LiveChainsTakeClosed(&Live->Chains, HasTimes);
    }
}

_Use_decl_annotations_
NTSTATUS
LiveTakeOpen(
    PREADER_LIVE Live,
    PREADER_LIVE_THREAD Thread,
    ULONGLONG Now
    )
{
    PCORE_PAIR Pair = &Thread->Stream.Pair;
    BOOLEAN HasTimes = Live->Session.Clock.Kind != TRACE_CLOCK_NONE;
    BOOLEAN HasChains = Live->Chains.IsOn;
    PREADER_LIVE_OPEN Open;
    PULONG Active;
    SIZE_T Count = 0;
    SIZE_T Depth;
    ULONG Place;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Thread->NumberOfOpen; Index++) {
        Open = &Thread->Open[Index];
        Live->List[Open->Function].Calls -= 1;
        LiveAddTicks(&Live->List[Open->Function].SelfTicks,
                     0 - Open->SelfTicks);
        LiveAddTicks(&Live->List[Open->Function].TotalTicks,
                     0 - Open->TotalTicks);
        if (HasChains) {
            Live->Chains.List[Open->Chain].Calls -= 1;
            LiveAddTicks(&Live->Chains.List[Open->Chain].SelfTicks,
                         0 - Open->SelfTicks);
        }
    }

    Thread->NumberOfOpen = 0;
    for (Place = 0; Place < Pair->NumberOfStacks; Place++) {
        Count += Pair->Stacks[Place].NumberOfFrames;
    }

    if (Count > 0x7FFFFFFF) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(Live->Session.Context->Allocator,
                           (PVOID *)&Thread->Open,
                           &Thread->CapacityOfOpen,
                           (ULONG)Count,
                           sizeof(READER_LIVE_OPEN));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Open = Thread->Open;
    for (Place = 0; Place < Pair->NumberOfStacks; Place++) {

        const CORE_STACK *Stack = &Pair->Stacks[Place];
        ULONGLONG End = Now;

        //
        // The innermost frame of a stack that does not run stands still.
        //

        if (Place != Pair->Current && Stack->LeftTimestamp != 0) {
            End = Stack->LeftTimestamp;
        }

        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++, Open++) {

            PCORE_FRAME Frame = &Stack->Frames[Depth];
            ULONGLONG Ticks = 0;
            ULONGLONG Gain;
            ULONGLONG Inside = Frame->ChildTicks;

            if (Depth + 1 < Stack->NumberOfFrames &&
                End > Frame[1].EnterTimestamp) {
                Inside += End - Frame[1].EnterTimestamp;
            }

            if (HasTimes && End > Frame->EnterTimestamp &&
                End - Frame->EnterTimestamp > Inside) {
                Ticks = End - Frame->EnterTimestamp - Inside;
            }

            //
            // The time up to the last look is somebody else's, if a frame
            // that was entered before it is new.
            //

            Gain = Ticks;
            if ((Frame->Flags & CORE_FRAME_LOOKED_AT) == 0 &&
                Frame->EnterTimestamp < Thread->TakenTo &&
                (Now <= Thread->TakenTo ||
                 Gain > Now - Thread->TakenTo)) {
                Gain = Now > Thread->TakenTo ? Now - Thread->TakenTo : 0;
            }

            Open->Function = Frame->Function;
            Open->SelfTicks = Ticks;
            Live->List[Open->Function].Calls += 1;
            LiveAddTicks(&Live->List[Open->Function].SelfTicks, Gain);
            Open->Chain = 0;
            if (HasChains) {
                Open->Chain = Frame->Node;
                Live->Chains.List[Open->Chain].Calls += 1;
                LiveAddTicks(&Live->Chains.List[Open->Chain].SelfTicks, Gain);
            }

            //
            // Of a function that called itself the outermost call counts.
            //

            Open->TotalTicks = 0;
            Active = &Live->Tally.Totals.Active[Frame->Function];
            if (*Active == 0 && HasTimes &&
                Now > Frame->EnterTimestamp) {
                Gain = Now - Frame->EnterTimestamp;
                Open->TotalTicks = Gain;
                if ((Frame->Flags & CORE_FRAME_LOOKED_AT) == 0 &&
                    Frame->EnterTimestamp < Thread->TakenTo) {
                    Gain = Now > Thread->TakenTo ? Now - Thread->TakenTo : 0;
                }

                LiveAddTicks(&Live->List[Open->Function].TotalTicks,
                             Gain);
            }

            *Active = 1;
            Frame->Flags |= CORE_FRAME_LOOKED_AT;
        }
    }

    LiveActivateFrames(Live, Thread, FALSE);
    Thread->NumberOfOpen = (ULONG)Count;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
LiveAddTaken(
    PREADER_LIVE Live,
    ULONGLONG Records,
    ULONGLONG RecordsRead,
    ULONGLONG Ticks,
    PREADER_LIVE_THREAD Thread
    )
{
    PREADER_LIVE_FUNCTION Function;
    ULONGLONG Number;
    ULONGLONG Sum = 0;
    ULONGLONG Most = 0;
    ULONGLONG Missing = 0;
    ULONGLONG Excess = 0;
    ULONG Largest = READER_NONE;
    ULONG Top = READER_NONE;
    ULONGLONG Longest = 0;
    ULONG Index;

    if (Thread != NULL) {

        //
        // Records may have been seen late, after the time that they are of
        // was counted.
        //

        Longest = Thread->Stream.Pair.LastTimestamp - Thread->PassStart;

        for (Index = 0; Index < Thread->NumberOfOpen; Index++) {
            if (Thread->Open[Index].TotalTicks > Ticks) {
                Live->List[Thread->Open[Index].Function].TotalTicks =
                    (LONGLONG)Ticks;
            }
        }

        for (Index = 0; Index < Live->Tally.NumberOfFunctions; Index++) {
            Number = LiveScale(Live->List[Index].SelfTicks,
                               Records,
                               RecordsRead);
            Sum += Number;
            if (Number > Most) {
                Most = Number;
                Largest = Index;
            }
        }

        if (Sum < Ticks) {
            Missing = Ticks - Sum;
        } else {
            Excess = Sum - Ticks;
        }

        if (Excess > Ticks / 4 && Largest != READER_NONE) {
            Thread->LongFunction = Largest;
            Thread->HasLongFunction = TRUE;
            Thread->LongChain = CORE_PATH_NONE;
        }

        if (Thread->HasLongFunction) {
            Top = Thread->LongFunction;
        }
    }

    for (Index = 0; Index < Live->Tally.NumberOfFunctions; Index++) {

        Function = &Live->List[Index];
        Number = LiveScale(Function->Calls, Records, RecordsRead);
        if (Thread != NULL && Thread->PieceRecords != 0) {
            Number = LiveScale((LONGLONG)Function->PieceCalls,
                               Records,
                               Thread->PieceRecords);
        }

        Function->PieceCalls = 0;
        Function->IntervalCalls += Number;
        Function->AllCalls += Number;

        Number = LiveScale(Function->SelfTicks, Records, RecordsRead);
        if (Index == Largest) {
            Number -= Number < Excess ? Number : Excess;
        }

        if (Index == Top) {
            Number += Missing;
        }

        Function->IntervalSelfTicks += Number;
        Function->AllSelfTicks += Number;

        Number = LiveScale(Function->TotalTicks, Records, RecordsRead);
        if (Thread != NULL && Number > Longest) {
            Number = Longest;
        }

        Function->AllTotalTicks += Number;

        Function->Calls = 0;
        Function->SelfTicks = 0;
        Function->TotalTicks = 0;
    }

    if (Live->Chains.IsOn) {
        LiveAddTakenChains(&Live->Chains, Records, RecordsRead, Ticks, Thread);
    }
}
