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
// How far from what is known of a fiber its next call may be, in bytes.  Each
// stack is reserved at a multiple of 64 KiB, so one that is farther away is
// more likely another fiber's.
//

#define CORE_FIBER_REACH_BELOW 0x8000u
#define CORE_FIBER_REACH_ABOVE 0x1000u
#define CORE_FIBER_GRANULE 0x10000u

//
// The same where the function that runs moves RSP by any amount.
//

#define CORE_FIBER_REACH_DYNAMIC 0x100000u

#define CORE_OUT_OF_REACH 0xFFFFFFFFu

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
    Pair->CountInlined = NULL;
    Pair->InlineContext = NULL;
    Pair->NumberOfStacks = 1;
    Pair->CapacityOfStacks = CORE_FIRST_STACKS;
    Pair->Current = 0;
    Pair->StackBase = (ULONG)StackBase;
    Pair->StackSize = (ULONG)(StackBase - StackLimit);
    Pair->IsPending = FALSE;
    Pair->IsFinishing = FALSE;
    Pair->IsInlined = FALSE;
    Pair->IsTailCall = FALSE;
    Pair->NumberToAbandon = 0;
    Pair->Final = CoreEventUnmatched;
    Pair->LastTimestamp = 0;
    Pair->StopTimestamp = 0;
    Pair->StartTimestamp = 0;
    Pair->IsAfterPause = FALSE;
    Pair->IsFirstAfterPause = FALSE;
    Pair->Stacks = (PCORE_STACK)
        Allocator->Allocate(Allocator->Context,
                            CORE_FIRST_STACKS * sizeof(CORE_STACK));
    Pair->Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            CORE_FIRST_STACKS * sizeof(ULONG));

    if (Pair->Stacks == NULL || Pair->Order == NULL) {
        Allocator->Free(Allocator->Context, Pair->Stacks);
        Allocator->Free(Allocator->Context, Pair->Order);
        Pair->Stacks = NULL;
        Pair->Order = NULL;
        Pair->NumberOfStacks = 0;
        return STATUS_NO_MEMORY;
    }

    return STATUS_SUCCESS;
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
    Pair->Allocator->Free(Pair->Allocator->Context, Pair->Order);
    Pair->Stacks = NULL;
    Pair->Order = NULL;
    Pair->NumberOfStacks = 0;
}


_Use_decl_annotations_
NTSTATUS
CoreRestorePair(
    PCORE_PAIR Pair,
    const CORE_STACK *Stacks,
    const ULONG *Order,
    ULONG NumberOfStacks,
    ULONG Current,
    ULONGLONG LastTimestamp
    )
/*++

Routine Description:

    Gives a pairing the stacks of another one.

Arguments:

    Pair - The pairing, without frames.

    Stacks - The stacks; [0] is the thread's own.

    Order - The others, by ascending address.

    NumberOfStacks - How many there are, 1 at least.

    Current - The stack of the last record.

    LastTimestamp - That record's.

Return Value:

    STATUS_SUCCESS - The frames are the pairing's.

    STATUS_NO_MEMORY, STATUS_INVALID_PARAMETER - Nothing has changed.

--*/
{
    PCALLOCATOR Allocator = Pair->Allocator;
    const CORE_STACK *Stack;
    PCORE_STACK NewStacks;
    PULONG NewOrder;
    ULONG Capacity = CORE_FIRST_STACKS;
    ULONG Index;

    if (Current >= NumberOfStacks || NumberOfStacks > 0x40000000u) {
        return STATUS_INVALID_PARAMETER;
    }

    for (Index = 0; Index + 1 < NumberOfStacks; Index++) {
        Stack = &Stacks[Order[Index]];
        if (Stack->Lowest > Stack->Highest ||
            (Index != 0 &&
             Stacks[Order[Index - 1]].Highest >= Stack->Lowest)) {
            return STATUS_INVALID_PARAMETER;
        }
    }

    while (Capacity < NumberOfStacks) {
        Capacity *= 2;
    }

    NewStacks = (PCORE_STACK)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Capacity * sizeof(CORE_STACK));
    NewOrder = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Capacity * sizeof(ULONG));
    if (NewStacks == NULL || NewOrder == NULL) {
        Allocator->Free(Allocator->Context, NewStacks);
        Allocator->Free(Allocator->Context, NewOrder);
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < NumberOfStacks; Index++) {
        NewStacks[Index] = Stacks[Index];
        if (Index + 1 < NumberOfStacks) {
            NewOrder[Index] = Order[Index];
        }
    }

    CoreRundownPair(Pair);
    Pair->Stacks = NewStacks;
    Pair->Order = NewOrder;
    Pair->NumberOfStacks = NumberOfStacks;
    Pair->CapacityOfStacks = Capacity;
    Pair->Current = Current;
    Pair->LastTimestamp = LastTimestamp;
    return STATUS_SUCCESS;
}


static
VOID
CoreChargeAbsence(
    _Inout_ PCORE_STACK Stack,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Takes the time that other stacks ran out of the innermost frame's own time.

Arguments:

    Stack - The stack.

    Timestamp - When it runs again.

Return Value:

    None.

--*/
{
    if (Stack->NumberOfFrames != 0 &&
        Stack->LeftTimestamp != 0 &&
        Stack->LeftTimestamp < Timestamp) {
        Stack->Frames[Stack->NumberOfFrames - 1].ChildTicks +=
            Timestamp - Stack->LeftTimestamp;
    }
}


static
ULONG
CoreDistanceToFiberAbove(
    _In_ const CORE_PAIR *Pair,
    _In_ ULONG Index,
    _In_ ULONG Address
    )
/*++

Routine Description:

    Tells how far an address is below the fiber whose known range begins above
    it.  What counts is where the fiber's innermost function is: it alone can
    have called from farther down.

Arguments:

    Pair - The pairing.

    Index - The fiber's stack.

    Address - Relative to the base of the thread's own stack.

Return Value:

    Bytes, or CORE_OUT_OF_REACH.

--*/
{
    const CORE_STACK *Stack = &Pair->Stacks[Index];
    const CORE_FRAME *Frame;
    ULONG Distance;
    ULONG Reach;

    if (Stack->NumberOfFrames == 0) {

        Distance = Stack->Lowest - Address;
        if (Distance > CORE_FIBER_REACH_BELOW ||
            Stack->Lowest / CORE_FIBER_GRANULE !=
                Address / CORE_FIBER_GRANULE) {
            return CORE_OUT_OF_REACH;
        }

        return Distance;
    }

    Frame = &Stack->Frames[Stack->NumberOfFrames - 1];
    Distance = Frame->Stack - Pair->StackBase - Address;
    Distance = Distance > Frame->BodySize ? Distance - Frame->BodySize : 0;

    Reach = CORE_FIBER_REACH_BELOW;
    if (Index == Pair->Current && (Frame->Flags & CORE_CALL_DYNAMIC) != 0) {
        Reach = CORE_FIBER_REACH_DYNAMIC;
    }

    return Distance <= Reach ? Distance : CORE_OUT_OF_REACH;
}


_Must_inspect_result_
static
NTSTATUS
CoreAddStack(
    _Inout_ PCORE_PAIR Pair,
    _In_ ULONG Position
    )
/*++

Routine Description:

    Adds a fiber's stack, which becomes the last one.

Arguments:

    Pair - The pairing.

    Position - Its place in Order.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Pair->Allocator;
    PCORE_STACK Stacks;
    PULONG Order;
    ULONG Capacity;
    ULONG Index;

    if (Pair->NumberOfStacks == Pair->CapacityOfStacks) {

        if (Pair->CapacityOfStacks >= 0x40000000u) {
            return STATUS_NO_MEMORY;
        }

        Capacity = Pair->CapacityOfStacks * 2;
        Stacks = (PCORE_STACK)
            Allocator->Allocate(Allocator->Context,
                                (SIZE_T)Capacity * sizeof(CORE_STACK));
        Order = (PULONG)
            Allocator->Allocate(Allocator->Context,
                                (SIZE_T)Capacity * sizeof(ULONG));
        if (Stacks == NULL || Order == NULL) {
            Allocator->Free(Allocator->Context, Stacks);
            Allocator->Free(Allocator->Context, Order);
            return STATUS_NO_MEMORY;
        }

        for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
            Stacks[Index] = Pair->Stacks[Index];
            Order[Index] = Pair->Order[Index];
        }

        Allocator->Free(Allocator->Context, Pair->Stacks);
        Allocator->Free(Allocator->Context, Pair->Order);
        Pair->Stacks = Stacks;
        Pair->Order = Order;
        Pair->CapacityOfStacks = Capacity;
    }

    for (Index = Pair->NumberOfStacks - 1; Index > Position; Index--) {
        Pair->Order[Index] = Pair->Order[Index - 1];
    }

    Pair->Order[Position] = Pair->NumberOfStacks;
    Pair->NumberOfStacks += 1;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
CoreFindFiber(
    _Inout_ PCORE_PAIR Pair,
    _In_ PCCORE_CALL Call,
    _Out_ PULONG Found
    )
/*++

Routine Description:

    Finds the fiber that a call was made on.

Arguments:

    Pair - The pairing.

    Call - The call, not on the thread's own stack.

    Found - Receives the fiber's stack.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_STACK Stack;
    ULONG Rsp = Call->Stack - Pair->StackBase;
    ULONG Address = Rsp;
    ULONG First = 0;
    ULONG Last = Pair->NumberOfStacks - 1;
    ULONG Middle;
    ULONG Above;
    ULONG Below;
    ULONG DistanceAbove = CORE_OUT_OF_REACH;
    ULONG DistanceBelow = CORE_OUT_OF_REACH;
    NTSTATUS Status;

    //
    // The ranges do not overlap.  First becomes the first one that ends at or
    // above the call.
    //

    while (First < Last) {
        Middle = First + (Last - First) / 2;
        if (Pair->Stacks[Pair->Order[Middle]].Highest < Rsp) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    Above = 0;
    Below = 0;
    if (First < Pair->NumberOfStacks - 1) {
        Above = Pair->Order[First];
        if (Pair->Stacks[Above].Lowest <= Rsp) {
            *Found = Above;
            return STATUS_SUCCESS;
        }
    }

    if (First != 0) {
        Below = Pair->Order[First - 1];
    }

    //
    // A function's return address is at the end of its caller's frame, however
    // large its own frame is.  An exit belongs to a frame that is there.
    //

    if (Above != 0) {
        if ((Call->Flags & CORE_CALL_FRAME_KNOWN) != 0 &&
            Call->FrameSize < Pair->Stacks[Above].Lowest - Rsp) {
            Address += Call->FrameSize;
        }

        DistanceAbove = CoreDistanceToFiberAbove(Pair, Above, Address);
        if (DistanceAbove == CORE_OUT_OF_REACH &&
            Above == Pair->Current &&
            (Call->Kind == TRACE_KIND_EXIT ||
             Call->Kind == TRACE_KIND_EXIT_FUNCTION) &&
            Pair->Stacks[Above].Lowest - Rsp <= CORE_FIBER_REACH_DYNAMIC) {
            DistanceAbove = CORE_FIBER_REACH_DYNAMIC;
        }
    }

    if (Below != 0) {
        DistanceBelow = Rsp - Pair->Stacks[Below].Highest;
        if (DistanceBelow > CORE_FIBER_REACH_ABOVE) {
            DistanceBelow = CORE_OUT_OF_REACH;
        }
    }

    if (DistanceAbove == CORE_OUT_OF_REACH &&
        DistanceBelow == CORE_OUT_OF_REACH) {

        Status = CoreAddStack(Pair, First);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        *Found = Pair->NumberOfStacks - 1;
        Stack = &Pair->Stacks[*Found];
        Stack->Frames = NULL;
        Stack->NumberOfFrames = 0;
        Stack->Capacity = 0;
        Stack->JumpTarget = 0;
        Stack->LeftTimestamp = 0;
        Stack->Lowest = Rsp;
        Stack->Highest = Rsp;
        return STATUS_SUCCESS;
    }

    if (DistanceAbove != CORE_OUT_OF_REACH &&
        (DistanceAbove <= DistanceBelow || Above == Pair->Current)) {
        *Found = Above;
        Pair->Stacks[Above].Lowest = Rsp;
    } else {
        *Found = Below;
        Pair->Stacks[Below].Highest = Rsp;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
CoreSelectStack(
    _Inout_ PCORE_PAIR Pair,
    _In_ PCCORE_CALL Call
    )
/*++

Routine Description:

    Makes current the stack that a call was made on.  The time that a stack
    was left for another one is not its functions' own.

Arguments:

    Pair - The pairing.

    Call - The call.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_STACK Stack;
    ULONG Found = 0;
    NTSTATUS Status;

    if (Pair->StackSize != 0 &&
        (ULONG)(Pair->StackBase - Call->Stack) > Pair->StackSize) {

        Status = CoreFindFiber(Pair, Call, &Found);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Found != Pair->Current) {
        Pair->Stacks[Pair->Current].LeftTimestamp = Call->Timestamp;
        Pair->Current = Found;
        Stack = &Pair->Stacks[Found];
        CoreChargeAbsence(Stack, Call->Timestamp);
        Stack->LeftTimestamp = 0;
        Stack->JumpTarget = 0;
    }

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
SIZE_T
CoreFindInlined(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack,
    _In_ SIZE_T Remaining
    )
/*++

Routine Description:

    Decides whether an entry can be of a function that was inlined into that of
    the innermost frame.

    A function that was inlined once can be open once.  If it is, it has been
    left, and so has all that was called from it.

Arguments:

    Pair - The pairing, with the entry; IsInlined is set.

    Stack - The entry's stack.

    Remaining - How many frames are left; the last is the innermost.

Return Value:

    How many frames stay, if it can be.

--*/
{
    PCCORE_CALL Call = &Pair->Call;
    const CORE_FRAME *Frame = &Stack->Frames[Remaining - 1];
    SIZE_T Index;
    ULONG Count;

    Pair->IsInlined = TRUE;
    if (Pair->CountInlined == NULL ||
        Frame->Physical == 0 ||
        Call->Function == 0) {
        return Remaining;
    }

    Count = Pair->CountInlined(Pair->InlineContext,
                               Frame->Physical,
                               Call->Function);
    if (Count == 0) {
        Pair->IsInlined = FALSE;
    }

    if (Count != 1) {
        return Remaining;
    }

    for (Index = Remaining; Index != 0; Index--) {

        Frame = &Stack->Frames[Index - 1];
        if ((Frame->Flags & CORE_FRAME_INLINED) == 0) {
            break;
        }

        if (Frame->Site == Call->Site) {
            return Index - 1;
        }
    }

    return Remaining;
}


static
VOID
CorePlanEnter(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
/*++

Routine Description:

    Decides which frames an entry proves gone: all whose RSP is not above the
    entry's return address.

    -finstrument-functions also instruments what the compiler then inlines, and
    that runs in the frame of the function around it.  So there a frame between
    the entry's RSP and where its return address would be stays, if the function
    may have been inlined into that frame's.

Arguments:

    Pair - The pairing; NumberToAbandon, Final, IsInlined and IsTailCall are
        set.

    Stack - The entry's stack.

Return Value:

    None.

--*/
{
    PCCORE_CALL Call = &Pair->Call;
    SIZE_T Remaining = Stack->NumberOfFrames;
    ULONG Reach = 0;
    LONG Distance;

    if ((Call->Flags & CORE_CALL_FRAME_KNOWN) != 0) {
        Reach = Call->FrameSize;
    }

    Pair->IsInlined = FALSE;
    while (Remaining != 0) {

        const CORE_FRAME *Frame = &Stack->Frames[Remaining - 1];

        Distance = CORE_STACK_DIFFERENCE(Frame->Stack, Call->Stack);
        if (Distance >= 0) {

            if ((ULONG)Distance > Reach) {
                break;
            }

            if (Call->Kind == TRACE_KIND_ENTER_FUNCTION &&
                Frame->Kind == TRACE_KIND_ENTER_FUNCTION) {
                Remaining = CoreFindInlined(Pair, Stack, Remaining);
                if (Pair->IsInlined) {
                    break;
                }
            }
        }

        Remaining -= 1;
    }

    Pair->NumberToAbandon = Stack->NumberOfFrames - Remaining;
    Pair->Final = CoreEventEnter;
    Pair->IsTailCall = Stack->JumpTarget != 0 &&
                       Stack->JumpTarget == Call->Function;
}


static
VOID
CorePlanExit(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
/*++

Routine Description:

    Decides what an EXIT does.  Frames below its RSP are gone.  A function that
    does not move RSP in its body exits at the RSP of its entry; one that does
    exits at or below that, and is told from calls that it has lost by its
    identity.  An exit at the return address is gcc's and needs none: there a
    part of the function that the compiler has moved away may have its own
    unwind data, and so another identity.

Arguments:

    Pair - The pairing; its NumberToAbandon and Final are set.

    Stack - The exit's stack.

Return Value:

    None.

--*/
{
    PCCORE_CALL Call = &Pair->Call;
    const CORE_FRAME *Frame;
    SIZE_T Remaining = Stack->NumberOfFrames;
    SIZE_T Match;
    BOOLEAN IsDynamic = (Call->Flags & CORE_CALL_DYNAMIC) != 0;
    BOOLEAN IsItself;

    while (Remaining != 0 &&
           CORE_STACK_DIFFERENCE(Stack->Frames[Remaining - 1].Stack,
                                 Call->Stack) < 0) {
        Remaining -= 1;
    }

    Pair->NumberToAbandon = Stack->NumberOfFrames - Remaining;
    Pair->Final = CoreEventUnmatched;

    for (Match = Remaining; Match != 0; Match--) {

        //
        // A frame of the other kind of hook cannot be what this one closes.
        //

        Frame = &Stack->Frames[Match - 1];
        if (Frame->Kind == TRACE_KIND_ENTER) {

            if (Call->Function == 0 || Frame->Physical == 0) {
                IsItself = TRUE;
            } else if (Frame->Physical == Call->Function) {
                IsItself = TRUE;
            } else {
                IsItself = Frame->Stack == Call->Stack &&
                           (!IsDynamic || Frame->Top == Frame->Stack);
            }

            if (IsItself) {
                Pair->NumberToAbandon = Stack->NumberOfFrames - Match;
                Pair->Final = CoreEventExit;
                return;
            }
        }

        if (!IsDynamic) {
            return;
        }
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

    Decides what an EXIT_FUNCTION does, by its Site.

Arguments:

    Pair - The pairing; its NumberToAbandon and Final are set.

    Stack - The exit's stack.

Return Value:

    None.

--*/
{
    PCCORE_CALL Call = &Pair->Call;
    const CORE_FRAME *Frame;
    SIZE_T Remaining = Stack->NumberOfFrames;
    BOOLEAN IsDynamic = (Call->Flags & CORE_CALL_DYNAMIC) != 0;
    BOOLEAN IsAnywhere = (Call->Flags & CORE_CALL_FRAME_KNOWN) == 0 ||
                         (Call->Flags & CORE_CALL_JUMPS) != 0;

    Pair->NumberToAbandon = 0;
    Pair->Final = CoreEventUnmatched;

    //
    // gcc jumps to this hook after it has released the frame, with nothing but
    // the return address left.  As no call pushed another one, RSP at the call
    // counts as just above it.
    //

    while (Remaining != 0) {

        Frame = &Stack->Frames[Remaining - 1];
        if ((Frame->Flags & CORE_CALL_FRAME_KNOWN) == 0 ||
            CORE_STACK_DIFFERENCE(Frame->Top + sizeof(ULONGLONG),
                                  Call->Stack) >= 0) {
            break;
        }

        Remaining -= 1;
    }

    while (Remaining != 0) {

        Frame = &Stack->Frames[Remaining - 1];
        if (Frame->Kind == TRACE_KIND_ENTER_FUNCTION &&
            Frame->Site == Call->Site &&
            (IsAnywhere ||
             CORE_STACK_DIFFERENCE(Frame->Stack, Call->Stack) >= 0)) {
            Pair->NumberToAbandon = Stack->NumberOfFrames - Remaining;
            Pair->Final = CoreEventExit;
            return;
        }

        //
        // The first frame above the exit's RSP is the last that can be its,
        // unless the function moves RSP: those farther out have not been
        // returned to.
        //

        if (!IsDynamic &&
            CORE_STACK_DIFFERENCE(Frame->Stack, Call->Stack) > 0) {
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
    NTSTATUS Status;

    if (Pair->IsPending || Pair->IsFinishing ||
        Call->Kind < TRACE_KIND_ENTER ||
        Call->Kind > TRACE_KIND_EXIT_FUNCTION) {
        return STATUS_INVALID_PARAMETER;
    }

    Status = CoreSelectStack(Pair, Call);
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

        CorePlanEnter(Pair, Stack);
        break;

    case TRACE_KIND_EXIT:
        CorePlanExit(Pair, Stack);
        break;

    default:
        CorePlanExitFunction(Pair, Stack);
        break;
    }

    Stack->JumpTarget = Call->Kind == TRACE_KIND_EXIT ? Call->JumpTarget : 0;
    Pair->LastTimestamp = Call->Timestamp;
    Pair->IsPending = TRUE;
    Pair->IsFirstAfterPause = Pair->IsAfterPause;
    Pair->IsAfterPause = FALSE;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CorePausePair(
    PCORE_PAIR Pair,
    ULONGLONG StopTimestamp,
    ULONGLONG StartTimestamp
    )
/*++

Routine Description:

    Says that recording was stopped and started again.  The open frames' entries
    become later by that time, as if it had not passed.

Arguments:

    Pair - The pairing, with no events left to take.

    StopTimestamp - When it was stopped.  No call that was added is as late.

    StartTimestamp - When it was started, not before.

Return Value:

    None.

--*/
{
    ULONGLONG Pause = StartTimestamp - StopTimestamp;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    ULONG Index;

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {

        Stack = &Pair->Stacks[Index];
        Stack->JumpTarget = 0;
        if (Stack->LeftTimestamp != 0) {
            if (Stack->LeftTimestamp < StopTimestamp) {
                Stack->LeftTimestamp += Pause;
            } else if (Stack->LeftTimestamp < StartTimestamp) {
                Stack->LeftTimestamp = StartTimestamp;
            }
        }

        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            //
            // A range of time may begin in the pause, or after it, and its
            // frames with it.
            //

            Frame = &Stack->Frames[Depth];
            Frame->Flags |= CORE_FRAME_STALE;
            if (Frame->EnterTimestamp < StopTimestamp) {
                Frame->EnterTimestamp += Pause;
            } else if (Frame->EnterTimestamp < StartTimestamp) {
                Frame->EnterTimestamp = StartTimestamp;
            }
        }
    }

    Pair->StopTimestamp = StopTimestamp;
    Pair->StartTimestamp = StartTimestamp;
    Pair->IsAfterPause = TRUE;
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
    ULONG Index;

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
        CoreChargeAbsence(&Pair->Stacks[Index], Pair->LastTimestamp);
    }

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
    Event->IsTailCall = FALSE;
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
CoreDropFrame(
    _In_ const CORE_PAIR *Pair,
    _Inout_ PCORE_STACK Stack,
    _Out_ PCORE_EVENT Event
    )
/*++

Routine Description:

    Takes away the innermost frame, which the call that was added proves gone,
    and makes its event.

    One that was open at a stop may have ended any time since, by its exit as
    likely as not.  It counts as ended at the stop.  What has run above it since
    then was another's, which is taken to be its caller.

Arguments:

    Pair - The pairing.

    Stack - The stack, not empty.

    Event - Receives the event.

Return Value:

    None.

--*/
{
    PCORE_FRAME Frame = &Stack->Frames[Stack->NumberOfFrames - 1];

    if ((Frame->Flags & CORE_FRAME_STALE) == 0) {
        CorePopFrame(Stack, CoreEventAbandoned, Pair->Call.Timestamp, Event);
        return;
    }

    CorePopFrame(Stack, CoreEventExit, Pair->StartTimestamp, Event);
    if (Event->Parent != NULL && Frame->ChildTicks > Event->InclusiveTicks) {
        Event->Parent->ChildTicks += Frame->ChildTicks - Event->InclusiveTicks;
    }

    //
    // Events come in the order of time.
    //

    Event->Timestamp = Pair->Call.Timestamp;
    if (Pair->IsFirstAfterPause) {
        Event->Timestamp = Frame->EnterTimestamp < Pair->StartTimestamp
                               ? Pair->StopTimestamp
                               : Frame->EnterTimestamp;
    }
}


static
VOID
CorePushFrame(
    _Inout_ PCORE_STACK Stack,
    _In_ const CORE_PAIR *Pair,
    _Out_ PCORE_EVENT Event
    )
/*++

Routine Description:

    Opens a frame for the call that was planned and makes its event.

Arguments:

    Stack - The stack, with room.

    Pair - The pairing.

    Event - Receives the event.

Return Value:

    None.

--*/
{
    PCCORE_CALL Call = &Pair->Call;
    PCORE_FRAME Frame = &Stack->Frames[Stack->NumberOfFrames];
    PCORE_FRAME Parent = Stack->NumberOfFrames != 0 ? Frame - 1 : NULL;

    Frame->EnterTimestamp = Call->Timestamp;
    Frame->ChildTicks = 0;
    Frame->Site = Call->Site;
    Frame->Stack = Call->Stack;
    Frame->Kind = Call->Kind;
    Frame->Function = 0;
    Frame->Node = 0;

    if (Pair->IsInlined && Parent != NULL) {
        Frame->Physical = Parent->Physical;
        Frame->Top = Parent->Top;
        Frame->BodySize = 0;
        Frame->Flags = (Parent->Flags & ~CORE_FRAME_STALE) |
                       CORE_FRAME_INLINED;
    } else {
        Frame->Physical = Call->Function;
        Frame->Flags = Call->Flags;
        Frame->Top = Call->Stack;
        Frame->BodySize = 0;
        if ((Call->Flags & CORE_CALL_FRAME_KNOWN) != 0) {
            Frame->Top += Call->FrameSize;
            Frame->BodySize = Call->BodySize;
        }
    }

    Event->Kind = CoreEventEnter;
    Event->Depth = (ULONG)Stack->NumberOfFrames;
    Event->IsTailCall = Pair->IsTailCall;
    Event->Timestamp = Call->Timestamp;
    Event->Site = Call->Site;
    Event->InclusiveTicks = 0;
    Event->SelfTicks = 0;
    Event->Frame = Frame;
    Event->Parent = Parent;

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
        Event->Track = Pair->Current;

        if (Pair->NumberToAbandon != 0) {
            Pair->NumberToAbandon -= 1;
            CoreDropFrame(Pair, Stack, Event);
            return TRUE;
        }

        Pair->IsPending = FALSE;

        switch (Pair->Final) {

        case CoreEventEnter:
            CorePushFrame(Stack, Pair, Event);
            return TRUE;

        case CoreEventExit:
            CorePopFrame(Stack, CoreEventExit, Pair->Call.Timestamp, Event);
            return TRUE;

        default:
            Event->Kind = CoreEventUnmatched;
            Event->IsTailCall = FALSE;
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
                Event->Track = Index - 1;
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
    const CORE_STACK *Stack;

    if (Pair->NumberOfStacks == 0 ||
        Pair->Stacks[Pair->Current].NumberOfFrames == 0) {
        return NULL;
    }

    Stack = &Pair->Stacks[Pair->Current];
    return &Stack->Frames[Stack->NumberOfFrames - 1];
}
