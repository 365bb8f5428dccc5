/*++

Module Name:

    CorePair.c

Abstract:

    Turns a thread's hook calls into events: see CorePair.h for the rules.

    Memory is bounded by the frames that are open at one time.  Nothing here
    recurses.

--*/

#include "CoreTree.h"

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
// An exit may have to be looked for among all open frames, and one that is not
// found leaves them as they are: a damaged store can have as many such exits as
// open frames.  After so many frames that were looked at in vain, searches go
// no farther than a few frames out, so that reading takes no longer than what
// there is to read is worth.  Sound stores do not come near it.
//

#ifndef CORE_MAXIMUM_SEARCHED
#define CORE_MAXIMUM_SEARCHED 0x4000000ULL
#endif

#define CORE_SHORT_SEARCH 64

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


//
// Allocates room for so many stacks and for their order; both or
// neither, and then both are NULL.
//

_Must_inspect_result_
static
BOOLEAN
CoreAllocateStacks(
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG Capacity,
    _Outptr_result_maybenull_ PCORE_STACK *Stacks,
    _Outptr_result_maybenull_ PULONG *Order
    )
{
    *Stacks = (PCORE_STACK)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Capacity * sizeof(CORE_STACK));
    *Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Capacity * sizeof(ULONG));
    if (*Stacks != NULL && *Order != NULL) {
        return TRUE;
    }

    Allocator->Free(Allocator->Context, *Stacks);
    Allocator->Free(Allocator->Context, *Order);
    *Stacks = NULL;
    *Order = NULL;
    return FALSE;
}


_Use_decl_annotations_
NTSTATUS
CoreInitializePair(
    PCORE_PAIR Pair,
    PCALLOCATOR Allocator,
    ULONGLONG StackBase,
    ULONGLONG StackLimit
    )
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
    Pair->NumberSearched = 0;
    Pair->ContentionTicks = 0;
    Pair->HasWaits = FALSE;
    if (!CoreAllocateStacks(Allocator,
                            CORE_FIRST_STACKS,
                            &Pair->Stacks,
                            &Pair->Order)) {
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
{
    PCALLOCATOR Allocator = Pair->Allocator;
    const CORE_STACK *Stack;
    PCORE_STACK NewStacks;
    PULONG NewOrder;
    SIZE_T Depth;
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

    if (!CoreAllocateStacks(Allocator, Capacity, &NewStacks, &NewOrder)) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < NumberOfStacks; Index++) {
        NewStacks[Index] = Stacks[Index];
        if (Index + 1 < NumberOfStacks) {
            NewOrder[Index] = Order[Index];
        }

        for (Depth = 0; Depth < Stacks[Index].NumberOfFrames; Depth++) {
            if ((Stacks[Index].Frames[Depth].Flags & CORE_CALL_WAITS) != 0) {
                Pair->HasWaits = TRUE;
            }
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


//
// Takes the time that other stacks ran out of the innermost frame's own time.
// Timestamp: when it runs again.
//

static
VOID
CoreChargeAbsence(
    _Inout_ PCORE_STACK Stack,
    _In_ ULONGLONG Timestamp
    )
{
    if (Stack->NumberOfFrames != 0 &&
        Stack->LeftTimestamp != 0 &&
        Stack->LeftTimestamp < Timestamp) {
        Stack->Frames[Stack->NumberOfFrames - 1].ChildTicks +=
            Timestamp - Stack->LeftTimestamp;
    }
}


//
// Tells how far an address is below the fiber whose known range begins above
// it. What counts is where the fiber's innermost function is: it alone can
// have called from farther down.
//
// Pair: the pairing.
// Index: the fiber's stack.
// Address: relative to the base of the thread's own stack.
// Returns bytes, or CORE_OUT_OF_REACH.
//

static
ULONG
CoreDistanceToFiberAbove(
    _In_ const CORE_PAIR *Pair,
    _In_ ULONG Index,
    _In_ ULONG Address
    )
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


//
// Adds a fiber's stack, which becomes the last one.
// Pair: the pairing.
// Position: its place in Order.
//

_Must_inspect_result_
static
NTSTATUS
CoreAddStack(
    _Inout_ PCORE_PAIR Pair,
    _In_ ULONG Position
    )
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
        if (!CoreAllocateStacks(Allocator, Capacity, &Stacks, &Order)) {
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


//
// Finds the fiber that a call was made on.
// Pair: the pairing.
// Call: the call, not on the thread's own stack.
// Found: the fiber's stack.
//

_Must_inspect_result_
static
NTSTATUS
CoreFindFiber(
    _Inout_ PCORE_PAIR Pair,
    _In_ PCCORE_CALL Call,
    _Out_ PULONG Found
    )
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


//
// Makes current the stack that a call was made on. The time that a stack was
// left for another one is not its functions' own.
// Pair: the pairing.
//

_Must_inspect_result_
static
NTSTATUS
CoreSelectStack(
    _Inout_ PCORE_PAIR Pair,
    _In_ PCCORE_CALL Call
    )
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


//
// Where a search from the innermost of so many frames outwards ends.
//

static
SIZE_T
CoreFindLastToSearch(
    _In_ const CORE_PAIR *Pair,
    _In_ SIZE_T Remaining
    )
{
    if (Pair->NumberSearched < CORE_MAXIMUM_SEARCHED ||
        Remaining < CORE_SHORT_SEARCH) {
        return 0;
    }

    return Remaining - CORE_SHORT_SEARCH;
}


//
// Makes room for one more frame.
// Pair: the pairing.
//

_Must_inspect_result_
static
NTSTATUS
CoreMakeRoom(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_STACK Stack
    )
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
                                  CORE_STACK_BYTES(Capacity));
    if (Frames == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Stack->NumberOfFrames; Index++) {
        Frames[Index] = Stack->Frames[Index];
        ((PULONGLONG)(Frames + Capacity))[Index] =
            CORE_STACK_WAITED(Stack)[Index];
    }

    Pair->Allocator->Free(Pair->Allocator->Context, Stack->Frames);
    Stack->Frames = Frames;
    Stack->Capacity = Capacity;
    return STATUS_SUCCESS;
}


//
// Decides whether an entry can be of a function that was inlined into that of
// the innermost frame.
//
// A function that was inlined once can be open once. If it is, it has been
// left, and so has all that was called from it.
//
// Pair: the pairing, with the entry; IsInlined is set.
// Remaining: how many frames are left; the last is the innermost.
// Returns how many frames stay, if it can be.
//

static
SIZE_T
CoreFindInlined(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack,
    _In_ SIZE_T Remaining
    )
{
    PCCORE_CALL Call = &Pair->Call;
    const CORE_FRAME *Frame = &Stack->Frames[Remaining - 1];
    SIZE_T Last = CoreFindLastToSearch(Pair, Remaining);
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

    for (Index = Remaining; Index != Last; Index--) {

        Frame = &Stack->Frames[Index - 1];
        if ((Frame->Flags & CORE_FRAME_INLINED) == 0) {
            break;
        }

        if (Frame->Site == Call->Site) {
            return Index - 1;
        }
    }

    Pair->NumberSearched += Remaining - Index;
    return Remaining;
}


//
// Decides which frames an entry proves gone: all whose RSP is not above the
// entry's return address.
//
// -finstrument-functions also instruments what the compiler then inlines, and
// that runs in the frame of the function around it. So there a frame between
// the entry's RSP and where its return address would be stays, if the function
// may have been inlined into that frame's.
//
// Pair: the pairing; NumberToAbandon, Final, IsInlined and IsTailCall are set.
//

static
VOID
CorePlanEnter(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
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


//
// Decides what an EXIT does. Frames below its RSP are gone. A function that
// does not move RSP in its body exits at the RSP of its entry; one that does
// exits at or below that, and is told from calls that it has lost by its
// identity. An exit at the return address is gcc's and needs none: there a
// part of the function that the compiler has moved away may have its own
// unwind data, and so another identity.
//
// Pair: the pairing; its NumberToAbandon and Final are set.
//

static
VOID
CorePlanExit(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
{
    PCCORE_CALL Call = &Pair->Call;
    const CORE_FRAME *Frame;
    SIZE_T Remaining = Stack->NumberOfFrames;
    SIZE_T Last;
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

    Last = CoreFindLastToSearch(Pair, Remaining);
    for (Match = Remaining; Match != Last; Match--) {

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

    Pair->NumberSearched += Remaining - Last;
}


//
// Decides what an EXIT_FUNCTION does, by its Site.
// Pair: the pairing; its NumberToAbandon and Final are set.
//

static
VOID
CorePlanExitFunction(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
{
    PCCORE_CALL Call = &Pair->Call;
    const CORE_FRAME *Frame;
    SIZE_T Remaining = Stack->NumberOfFrames;
    SIZE_T Last = CoreFindLastToSearch(Pair, Remaining);
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

    while (Remaining != Last) {

        Frame = &Stack->Frames[Remaining - 1];
        if ((Frame->Flags & CORE_CALL_FRAME_KNOWN) == 0 ||
            CORE_STACK_DIFFERENCE(Frame->Top + sizeof(ULONGLONG),
                                  Call->Stack) >= 0) {
            break;
        }

        Remaining -= 1;
    }

    while (Remaining != Last) {

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
            break;
        }

        Remaining -= 1;
    }

    Pair->NumberSearched += Stack->NumberOfFrames - Remaining;
}


//
// Decides what a record does by which the writer says that calls have been
// left: all frames whose RSP is below its own are gone.
// Pair: the pairing; its NumberToAbandon is set.
//

static
VOID
CorePlanGone(
    _Inout_ PCORE_PAIR Pair,
    _In_ const CORE_STACK *Stack
    )
{
    SIZE_T Remaining = Stack->NumberOfFrames;

    while (Remaining != 0 &&
           CORE_STACK_DIFFERENCE(Stack->Frames[Remaining - 1].Stack,
                                 Pair->Call.Stack) < 0) {
        Remaining -= 1;
    }

    Pair->NumberToAbandon = Stack->NumberOfFrames - Remaining;
    Pair->Final = CoreEventAbandoned;
}


_Use_decl_annotations_
NTSTATUS
CoreAddCall(
    PCORE_PAIR Pair,
    PCCORE_CALL Call
    )
{
    PCORE_STACK Stack;
    NTSTATUS Status;

    if (Pair->IsPending || Pair->IsFinishing ||
        Call->Kind < TRACE_KIND_ENTER ||
        Call->Kind > TRACE_KIND_GONE) {
        return STATUS_INVALID_PARAMETER;
    }

    //
    // As if the function had not saved its static chain: then RSP would be
    // that at its exit.
    //

    Pair->Call = *Call;
    if ((Call->Flags & CORE_CALL_CHAIN) != 0) {
        Pair->Call.Stack += sizeof(ULONGLONG);
    }

    Call = &Pair->Call;
    Status = CoreSelectStack(Pair, Call);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Stack = &Pair->Stacks[Pair->Current];

    switch (Call->Kind) {

    case TRACE_KIND_ENTER:
    case TRACE_KIND_ENTER_FUNCTION:

        Status = CoreMakeRoom(Pair, Stack);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        CorePlanEnter(Pair, Stack);
        if ((Call->Flags & CORE_CALL_WAITS) != 0) {
            Pair->HasWaits = TRUE;
        }

        break;

    case TRACE_KIND_EXIT:
        CorePlanExit(Pair, Stack);
        break;

    case TRACE_KIND_EXIT_FUNCTION:
        CorePlanExitFunction(Pair, Stack);
        break;

    default:

        //
        // The entry that follows is what this comes before.
        //

        CorePlanGone(Pair, Stack);
        Pair->LastTimestamp = Call->Timestamp;
        Pair->IsPending = TRUE;
        Pair->IsFirstAfterPause = Pair->IsAfterPause;
        return STATUS_SUCCESS;
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
{
    ULONG Index;

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
        CoreChargeAbsence(&Pair->Stacks[Index], Pair->LastTimestamp);
    }

    Pair->IsFinishing = TRUE;
}


//
// Takes the innermost frame away and makes its event.
// Pair: the pairing.
// Stack: the stack, not empty.
// Kind: why the frame is gone.
//

static
VOID
CorePopFrame(
    _In_ const CORE_PAIR *Pair,
    _Inout_ PCORE_STACK Stack,
    _In_ CORE_EVENT_KIND Kind,
    _In_ ULONGLONG Timestamp,
    _Out_ PCORE_EVENT Event
    )
{
    PCORE_FRAME Frame;
    PCORE_FRAME Parent;
    PULONGLONG Below;
    ULONGLONG Inclusive;
    ULONGLONG Waited;

    Stack->NumberOfFrames -= 1;
    Frame = &Stack->Frames[Stack->NumberOfFrames];
    Parent = Stack->NumberOfFrames != 0 ? Frame - 1 : NULL;
    Below = &CORE_STACK_WAITED(Stack)[Stack->NumberOfFrames];

    Inclusive = 0;
    if (Timestamp > Frame->EnterTimestamp) {
        Inclusive = Timestamp - Frame->EnterTimestamp;
    }

    Waited = *Below < Inclusive ? *Below : Inclusive;
    if ((Frame->Flags & CORE_CALL_WAIT) != 0 ||
        ((Frame->Flags & CORE_CALL_LOCK) != 0 &&
         Inclusive >= Pair->ContentionTicks)) {
        Waited = Inclusive;
    }

    if (Parent != NULL) {
        Parent->ChildTicks += Inclusive;
        Below[-1] += Waited;
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
    Event->WaitedTicks = Waited;
    Event->Frame = Frame;
    Event->Parent = Parent;
}


//
// Takes away the innermost frame, which the call that was added proves gone,
// and makes its event.
//
// One that was open at a stop may have ended any time since, by its exit as
// likely as not. It counts as ended at the stop. What has run above it since
// then was another's, which is taken to be its caller.
//
// Pair: the pairing.
// Stack: the stack, not empty.
//

static
VOID
CoreDropFrame(
    _In_ const CORE_PAIR *Pair,
    _Inout_ PCORE_STACK Stack,
    _Out_ PCORE_EVENT Event
    )
{
    PCORE_FRAME Frame = &Stack->Frames[Stack->NumberOfFrames - 1];
    PULONGLONG Below = &CORE_STACK_WAITED(Stack)[Stack->NumberOfFrames - 1];

    if ((Frame->Flags & CORE_FRAME_STALE) == 0) {
        CorePopFrame(Pair,
                     Stack,
                     CoreEventAbandoned,
                     Pair->Call.Timestamp,
                     Event);
        return;
    }

    CorePopFrame(Pair, Stack, CoreEventExit, Pair->StartTimestamp, Event);
    if (Event->Parent != NULL && Frame->ChildTicks > Event->InclusiveTicks) {
        Event->Parent->ChildTicks += Frame->ChildTicks - Event->InclusiveTicks;
    }

    if (Event->Parent != NULL && *Below > Event->WaitedTicks) {
        Below[-1] += *Below - Event->WaitedTicks;
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


//
// Opens a frame for the call that was planned and makes its event.
// Stack: the stack, with room.
// Pair: the pairing.
//

static
VOID
CorePushFrame(
    _Inout_ PCORE_STACK Stack,
    _In_ const CORE_PAIR *Pair,
    _Out_ PCORE_EVENT Event
    )
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
    CORE_STACK_WAITED(Stack)[Stack->NumberOfFrames] = 0;

    if (Pair->IsInlined && Parent != NULL) {
        Frame->Physical = Parent->Physical;
        Frame->Top = Parent->Top;
        Frame->BodySize = 0;
        Frame->Flags = (Parent->Flags & ~(CORE_FRAME_STALE |
                                          CORE_FRAME_LOOKED_AT |
                                          CORE_CALL_WAITS)) |
                       CORE_FRAME_INLINED | (Call->Flags & CORE_CALL_WAITS);
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
    Event->WaitedTicks = 0;
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
        if (Pair->Call.Kind == TRACE_KIND_GONE) {
            return FALSE;
        }

        switch (Pair->Final) {

        case CoreEventEnter:
            CorePushFrame(Stack, Pair, Event);
            return TRUE;

        case CoreEventExit:
            CorePopFrame(Pair,
                         Stack,
                         CoreEventExit,
                         Pair->Call.Timestamp,
                         Event);
            return TRUE;

        default:
            Event->Kind = CoreEventUnmatched;
            Event->IsTailCall = FALSE;
            Event->Depth = (ULONG)Stack->NumberOfFrames;
            Event->Timestamp = Pair->Call.Timestamp;
            Event->Site = Pair->Call.Site;
            Event->InclusiveTicks = 0;
            Event->SelfTicks = 0;
            Event->WaitedTicks = 0;
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
                CorePopFrame(Pair,
                             Stack,
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
{
    const CORE_STACK *Stack;

    if (Pair->NumberOfStacks == 0 ||
        Pair->Stacks[Pair->Current].NumberOfFrames == 0) {
        return NULL;
    }

    Stack = &Pair->Stacks[Pair->Current];
    return &Stack->Frames[Stack->NumberOfFrames - 1];
}
