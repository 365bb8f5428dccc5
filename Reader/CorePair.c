/*++

Module Name:

    CorePair.c

Abstract:

    Turns a thread's hook calls into events: see ReaderCore.h for the rules.

    Memory is bounded by the frames that are open at one time.  Nothing here
    recurses.

--*/

#include "ReaderCore.h"

#define CORE_FIRST_CAPACITY 64
#define CORE_FIRST_STACKS 4

//
// How far from the frames that are known a fiber's next one may be, in bytes.
// Fibers' stacks are reserved in 64 KiB at least, so a call farther below is
// more likely another fiber's.
//

#define CORE_FIBER_REACH_BELOW 0x8000u
#define CORE_FIBER_REACH_ABOVE 0x1000u

//
// RSP is known modulo 2^32; two values of one stack are less than 2 GiB apart,
// so the sign of their difference orders them.
//

#define CORE_STACK_DIFFERENCE(First, Second) ((LONG)((First) - (Second)))


_Use_decl_annotations_
NTSTATUS
CoreInitializePair(
    PCORE_PAIR Pair,
    PCALLOCATOR Allocator,
    ULONGLONG StackBase,
    ULONGLONG StackLimit
    )
/*++

Routine Description:

    Makes the pairing of one thread, with no frame open.

Arguments:

    Pair - Receives it.

    Allocator - For the frames.

    StackBase - The highest address of the thread's stack.

    StackLimit - The lowest; both 0 if not known.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    Pair->Allocator = Allocator;
    Pair->NumberOfStacks = 1;
    Pair->CapacityOfStacks = CORE_FIRST_STACKS;
    Pair->Current = 0;
    Pair->StackBase = (ULONG)StackBase;
    Pair->StackSize = (ULONG)(StackBase - StackLimit);
    Pair->IsPending = FALSE;
    Pair->IsFinishing = FALSE;
    Pair->NumberToAbandon = 0;
    Pair->Final = CoreEventUnmatched;
    Pair->LastTimestamp = 0;
    Pair->Stacks = (PCORE_STACK)
        Allocator->Allocate(Allocator->Context,
                            CORE_FIRST_STACKS * sizeof(CORE_STACK));

    return Pair->Stacks == NULL ? STATUS_NO_MEMORY : STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CoreRundownPair(
    PCORE_PAIR Pair
    )
/*++

Routine Description:

    Frees what a pairing holds.

Arguments:

    Pair - Initialized, or all zeroes.

Return Value:

    None.

--*/
{
    ULONG Index;

    if (Pair->Stacks == NULL) {
        return;
    }

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
        Pair->Allocator->Free(Pair->Allocator->Context,
                              Pair->Stacks[Index].Frames);
    }

    Pair->Allocator->Free(Pair->Allocator->Context, Pair->Stacks);
    Pair->Stacks = NULL;
    Pair->NumberOfStacks = 0;
}


static
ULONG
CoreDistanceToFiber(
    _In_ const CORE_STACK *Stack,
    _In_ ULONG Rsp
    )
/*++

Routine Description:

    Tells how far an RSP is from what is known of a fiber's stack.

Arguments:

    Stack - The fiber's.

    Rsp - Its low 32 bits.

Return Value:

    Bytes; 0 inside; the largest ULONG if it is out of reach or if nothing is
    open there.

--*/
{
    if (Stack->NumberOfFrames == 0) {
        return 0xFFFFFFFF;
    }

    if (CORE_STACK_DIFFERENCE(Rsp, Stack->Lowest) < 0) {

        ULONG Below = Stack->Lowest - Rsp;

        return Below <= CORE_FIBER_REACH_BELOW ? Below : 0xFFFFFFFF;
    }

    if (CORE_STACK_DIFFERENCE(Rsp, Stack->Highest) > 0) {

        ULONG Above = Rsp - Stack->Highest;

        return Above <= CORE_FIBER_REACH_ABOVE ? Above : 0xFFFFFFFF;
    }

    return 0;
}


_Must_inspect_result_
static
NTSTATUS
CoreSelectStack(
    _Inout_ PCORE_PAIR Pair,
    _In_ ULONG Rsp
    )
/*++

Routine Description:

    Makes current the stack that an RSP belongs to.

Arguments:

    Pair - The pairing.

    Rsp - Its low 32 bits.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_STACK Stacks;
    PCORE_STACK Stack;
    ULONG Index;
    ULONG Best;
    ULONG BestDistance;
    ULONG Empty;

    if (Pair->StackSize == 0 ||
        (ULONG)(Pair->StackBase - Rsp) <= Pair->StackSize) {
        Pair->Current = 0;
        return STATUS_SUCCESS;
    }

    //
    // A fiber.  Most often it is the one that ran last.
    //

    Best = Pair->Current;
    if (Best != 0 && CoreDistanceToFiber(&Pair->Stacks[Best], Rsp) == 0) {
        return STATUS_SUCCESS;
    }

    Best = 0;
    Empty = 0;
    BestDistance = 0xFFFFFFFF;
    for (Index = 1; Index < Pair->NumberOfStacks; Index++) {

        ULONG Distance = CoreDistanceToFiber(&Pair->Stacks[Index], Rsp);

        if (Distance < BestDistance) {
            Best = Index;
            BestDistance = Distance;
        }

        if (Pair->Stacks[Index].NumberOfFrames == 0) {
            Empty = Index;
        }
    }

    if (Best == 0 && Empty == 0) {

        if (Pair->NumberOfStacks == Pair->CapacityOfStacks) {

            ULONG Capacity = Pair->CapacityOfStacks * 2;

            Stacks = (PCORE_STACK)
                Pair->Allocator->Allocate(Pair->Allocator->Context,
                                          Capacity * sizeof(CORE_STACK));
            if (Stacks == NULL) {
                return STATUS_NO_MEMORY;
            }

            for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
                Stacks[Index] = Pair->Stacks[Index];
            }

            Pair->Allocator->Free(Pair->Allocator->Context, Pair->Stacks);
            Pair->Stacks = Stacks;
            Pair->CapacityOfStacks = Capacity;
        }

        Empty = Pair->NumberOfStacks;
        Pair->NumberOfStacks += 1;
    }

    if (Best == 0) {
        Best = Empty;
        Pair->Stacks[Best].Lowest = Rsp;
        Pair->Stacks[Best].Highest = Rsp;
    }

    Stack = &Pair->Stacks[Best];
    if (CORE_STACK_DIFFERENCE(Rsp, Stack->Lowest) < 0) {
        Stack->Lowest = Rsp;
    }

    if (CORE_STACK_DIFFERENCE(Rsp, Stack->Highest) > 0) {
        Stack->Highest = Rsp;
    }

    Pair->Current = Best;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
CoreMakeRoom(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_STACK Stack
    )
/*++

Routine Description:

    Makes room for one more frame.

Arguments:

    Pair - The pairing.

    Stack - The stack.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_FRAME Frames;
    SIZE_T Capacity;
    SIZE_T Index;

    if (Stack->NumberOfFrames < Stack->Capacity) {
        return STATUS_SUCCESS;
    }

    Capacity = Stack->Capacity == 0 ? CORE_FIRST_CAPACITY
                                    : Stack->Capacity * 2;
    Frames = (PCORE_FRAME)
        Pair->Allocator->Allocate(Pair->Allocator->Context,
                                  Capacity * sizeof(CORE_FRAME));
    if (Frames == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Stack->NumberOfFrames; Index++) {
        Frames[Index] = Stack->Frames[Index];
    }

    Pair->Allocator->Free(Pair->Allocator->Context, Stack->Frames);
    Stack->Frames = Frames;
    Stack->Capacity = Capacity;
    return STATUS_SUCCESS;
}


static
VOID
CorePlanExit(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
/*++

Routine Description:

    Decides what an exit does, by RSP.

Arguments:

    Pair - The pairing; its NumberToAbandon and Final are set.

    Stack - The exit's stack.

Return Value:

    None.

--*/
{
    SIZE_T Remaining = Stack->NumberOfFrames;

    while (Remaining != 0 &&
           CORE_STACK_DIFFERENCE(Stack->Frames[Remaining - 1].Stack,
                                 Pair->Call.Stack) < 0) {
        Remaining -= 1;
    }

    //
    // A frame of the other kind of hook cannot be what this one closes.
    //

    Pair->NumberToAbandon = Stack->NumberOfFrames - Remaining;
    Pair->Final = CoreEventUnmatched;
    if (Remaining != 0 &&
        Stack->Frames[Remaining - 1].Kind == TRACE_KIND_ENTER) {
        Pair->Final = CoreEventExit;
    }
}


static
VOID
CorePlanExitFunction(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
/*++

Routine Description:

    Decides what an exit does, by Site.

Arguments:

    Pair - The pairing; its NumberToAbandon and Final are set.

    Stack - The exit's stack.

Return Value:

    None.

--*/
{
    SIZE_T Remaining = Stack->NumberOfFrames;

    Pair->NumberToAbandon = 0;
    Pair->Final = CoreEventUnmatched;

    while (Remaining != 0) {

        const CORE_FRAME *Frame = &Stack->Frames[Remaining - 1];

        if (Frame->Kind == TRACE_KIND_ENTER_FUNCTION &&
            Frame->Site == Pair->Call.Site) {
            Pair->NumberToAbandon = Stack->NumberOfFrames - Remaining;
            Pair->Final = CoreEventExit;
            return;
        }

        //
        // The first frame above the exit's RSP is the last that can be its:
        // those farther out have not been returned to.
        //

        if (CORE_STACK_DIFFERENCE(Frame->Stack, Pair->Call.Stack) > 0) {
            return;
        }

        Remaining -= 1;
    }
}


_Use_decl_annotations_
NTSTATUS
CoreAddCall(
    PCORE_PAIR Pair,
    PCCORE_CALL Call
    )
/*++

Routine Description:

    Adds a call.  What it means is decided here; CoreNextEvent carries it out.

Arguments:

    Pair - The pairing, with no events left to take.

    Call - The call.

Return Value:

    STATUS_SUCCESS

    STATUS_NO_MEMORY - Nothing has changed.

    STATUS_INVALID_PARAMETER - Events are left, or the kind is unknown.

--*/
{
    PCORE_STACK Stack;
    SIZE_T Remaining;
    LONG Gone;
    NTSTATUS Status;

    if (Pair->IsPending || Pair->IsFinishing) {
        return STATUS_INVALID_PARAMETER;
    }

    Status = CoreSelectStack(Pair, Call->Stack);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Stack = &Pair->Stacks[Pair->Current];
    Pair->Call = *Call;

    switch (Call->Kind) {

    case TRACE_KIND_ENTER:
    case TRACE_KIND_ENTER_FUNCTION:

        Status = CoreMakeRoom(Pair, Stack);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        //
        // A function that the compiler has inlined shares its caller's frame:
        // with -finstrument-functions, which instruments it all the same, its
        // entry has the RSP of its caller's.
        //

        Gone = Call->Kind == TRACE_KIND_ENTER ? 0 : -1;
        Remaining = Stack->NumberOfFrames;
        while (Remaining != 0 &&
               CORE_STACK_DIFFERENCE(Stack->Frames[Remaining - 1].Stack,
                                     Call->Stack) <= Gone) {
            Remaining -= 1;
        }

        Pair->NumberToAbandon = Stack->NumberOfFrames - Remaining;
        Pair->Final = CoreEventEnter;
        break;

    case TRACE_KIND_EXIT:
        CorePlanExit(Pair, Stack);
        break;

    case TRACE_KIND_EXIT_FUNCTION:
        CorePlanExitFunction(Pair, Stack);
        break;

    default:
        return STATUS_INVALID_PARAMETER;
    }

    Pair->LastTimestamp = Call->Timestamp;
    Pair->IsPending = TRUE;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CoreFinishPair(
    PCORE_PAIR Pair
    )
/*++

Routine Description:

    Says that there are no more calls.

Arguments:

    Pair - The pairing, with no events left to take.

Return Value:

    None.

--*/
{
    Pair->IsFinishing = TRUE;
}


static
VOID
CorePopFrame(
    _Inout_ PCORE_STACK Stack,
    _In_ CORE_EVENT_KIND Kind,
    _In_ ULONGLONG Timestamp,
    _Out_ PCORE_EVENT Event
    )
/*++

Routine Description:

    Takes the innermost frame away and makes its event.

Arguments:

    Stack - The stack, not empty.

    Kind - Why the frame is gone.

    Timestamp - When.

    Event - Receives the event.

Return Value:

    None.

--*/
{
    PCORE_FRAME Frame;
    PCORE_FRAME Parent;
    ULONGLONG Inclusive;

    Stack->NumberOfFrames -= 1;
    Frame = &Stack->Frames[Stack->NumberOfFrames];
    Parent = Stack->NumberOfFrames != 0 ? Frame - 1 : NULL;

    Inclusive = 0;
    if (Timestamp > Frame->EnterTimestamp) {
        Inclusive = Timestamp - Frame->EnterTimestamp;
    }

    if (Parent != NULL) {
        Parent->ChildTicks += Inclusive;
    }

    Event->Kind = Kind;
    Event->Depth = (ULONG)Stack->NumberOfFrames;
    Event->Timestamp = Timestamp;
    Event->Site = Frame->Site;
    Event->InclusiveTicks = Inclusive;
    Event->SelfTicks = Inclusive > Frame->ChildTicks
                           ? Inclusive - Frame->ChildTicks
                           : 0;
    Event->Frame = Frame;
    Event->Parent = Parent;
}


static
VOID
CorePushFrame(
    _Inout_ PCORE_STACK Stack,
    _In_ PCCORE_CALL Call,
    _Out_ PCORE_EVENT Event
    )
/*++

Routine Description:

    Opens a frame and makes its event.

Arguments:

    Stack - The stack, with room.

    Call - The entry.

    Event - Receives the event.

Return Value:

    None.

--*/
{
    PCORE_FRAME Frame = &Stack->Frames[Stack->NumberOfFrames];

    Frame->EnterTimestamp = Call->Timestamp;
    Frame->ChildTicks = 0;
    Frame->Site = Call->Site;
    Frame->Stack = Call->Stack;
    Frame->Kind = Call->Kind;
    Frame->Function = 0;
    Frame->Node = 0;

    Event->Kind = CoreEventEnter;
    Event->Depth = (ULONG)Stack->NumberOfFrames;
    Event->Timestamp = Call->Timestamp;
    Event->Site = Call->Site;
    Event->InclusiveTicks = 0;
    Event->SelfTicks = 0;
    Event->Frame = Frame;
    Event->Parent = Stack->NumberOfFrames != 0 ? Frame - 1 : NULL;

    Stack->NumberOfFrames += 1;
}


_Use_decl_annotations_
BOOLEAN
CoreNextEvent(
    PCORE_PAIR Pair,
    PCORE_EVENT Event
    )
/*++

Routine Description:

    Takes the next event.

Arguments:

    Pair - The pairing.

    Event - Receives it.

Return Value:

    FALSE when there is none until a call is added.

--*/
{
    PCORE_STACK Stack;
    ULONG Index;

    if (Pair->IsPending) {

        Stack = &Pair->Stacks[Pair->Current];

        if (Pair->NumberToAbandon != 0) {
            Pair->NumberToAbandon -= 1;
            CorePopFrame(Stack,
                         CoreEventAbandoned,
                         Pair->Call.Timestamp,
                         Event);
            return TRUE;
        }

        Pair->IsPending = FALSE;

        switch (Pair->Final) {

        case CoreEventEnter:
            CorePushFrame(Stack, &Pair->Call, Event);
            return TRUE;

        case CoreEventExit:
            CorePopFrame(Stack, CoreEventExit, Pair->Call.Timestamp, Event);
            return TRUE;

        default:
            Event->Kind = CoreEventUnmatched;
            Event->Depth = (ULONG)Stack->NumberOfFrames;
            Event->Timestamp = Pair->Call.Timestamp;
            Event->Site = Pair->Call.Site;
            Event->InclusiveTicks = 0;
            Event->SelfTicks = 0;
            Event->Frame = NULL;
            Event->Parent = NULL;
            return TRUE;
        }
    }

    if (Pair->IsFinishing) {

        for (Index = Pair->NumberOfStacks; Index != 0; Index--) {

            Stack = &Pair->Stacks[Index - 1];

            if (Stack->NumberOfFrames != 0) {
                CorePopFrame(Stack,
                             CoreEventOpen,
                             Pair->LastTimestamp,
                             Event);
                return TRUE;
            }
        }

        Pair->IsFinishing = FALSE;
    }

    return FALSE;
}


_Use_decl_annotations_
PCORE_FRAME
CoreCurrentFrame(
    const CORE_PAIR *Pair
    )
/*++

Routine Description:

    Finds the frame that is running.

Arguments:

    Pair - The pairing.

Return Value:

    The innermost open frame of the stack that ran last, or NULL.

--*/
{
    const CORE_STACK *Stack = &Pair->Stacks[Pair->Current];

    if (Stack->NumberOfFrames == 0) {
        return NULL;
    }

    return &Stack->Frames[Stack->NumberOfFrames - 1];
}
