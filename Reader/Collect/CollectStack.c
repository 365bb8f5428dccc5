/*++

Module Name:

    CollectStack.c

Abstract:

    Whose a record is.  A hook leaves the thread that was current, the IRQL and
    RSP.  Below DISPATCH_LEVEL a record is the thread's.  From there on it is
    the processor's, since interrupts and DPCs run in the context of whichever
    thread is current, unless the thread has an open call on the very stack that
    the record is on: then the thread has raised the IRQL itself.  An exit is
    whose its entry was.

    Kernel stacks are anywhere in 64 bits, and a store has 32 bits for RSP.  So
    each stack is moved to a place of its own among these, as a whole, which
    changes nothing between its calls.  A thread may go on on another stack
    (KeExpandKernelStackAndCallout): that is put below the first, where what it
    calls belongs.  What interrupts a processor's code on a stack of its own is
    put far away from it, as another stack: it was not called by that.

--*/

#include "CollectStack.h"

#define COLLECT_IS_ENTER(Kind)                                              \
    ((Kind) == TRACE_KIND_ENTER || (Kind) == TRACE_KIND_ENTER_FUNCTION)

#define COLLECT_FIRST_FRAMES 32u

static
_Ret_maybenull_
PCOLLECT_OWNER
CollectStackAddOwner(
    _Inout_ PCOLLECT_STACKS Stacks,
    _In_ ULONG Id,
    _In_ BOOLEAN IsProcessor
    )
{
    PCALLOCATOR Allocator = Stacks->Allocator;
    PCOLLECT_OWNER Owner;

    if (!NT_SUCCESS(BaseGrowArray(Allocator,
                                  (PVOID *)&Stacks->Owners,
                                  &Stacks->CapacityOfOwners,
                                  Stacks->NumberOfOwners + 1,
                                  sizeof(PCOLLECT_OWNER)))) {
        return NULL;
    }

    Owner = (PCOLLECT_OWNER)Allocator->Allocate(Allocator->Context,
                                                sizeof(*Owner));
    if (Owner == NULL) {
        return NULL;
    }

    RtlZeroBytes(Owner, sizeof(*Owner));
    Owner->Id = Id;
    Owner->IsProcessor = IsProcessor;
    if (!IsProcessor &&
        !NT_SUCCESS(BaseAddToMap(&Stacks->Threads,
                                 Id,
                                 Stacks->NumberOfOwners))) {
        Allocator->Free(Allocator->Context, Owner);
        return NULL;
    }

    Stacks->Owners[Stacks->NumberOfOwners] = Owner;
    Stacks->NumberOfOwners += 1;
    return Owner;
}

_Use_decl_annotations_
NTSTATUS
CollectStacksBegin(
    PCOLLECT_STACKS Stacks,
    PCALLOCATOR Allocator,
    ULONG NumberOfProcessors,
    PCOLLECT_PUT Put,
    PVOID PutContext
    )
{
    ULONG Index;

    RtlZeroBytes(Stacks, sizeof(*Stacks));
    Stacks->Allocator = Allocator;
    Stacks->NumberOfProcessors = NumberOfProcessors;
    Stacks->Put = Put;
    Stacks->PutContext = PutContext;
    BaseInitializeMap(&Stacks->Threads, Allocator);
    for (Index = 0; Index < NumberOfProcessors; Index++) {
        if (CollectStackAddOwner(Stacks,
                                 COLLECT_PROCESSOR_ID(Index),
                                 TRUE) == NULL) {
            CollectStacksEnd(Stacks);
            return STATUS_NO_MEMORY;
        }
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
CollectStacksEnd(
    PCOLLECT_STACKS Stacks
    )
{
    PCALLOCATOR Allocator = Stacks->Allocator;
    ULONG Index;

    for (Index = 0; Index < Stacks->NumberOfOwners; Index++) {
        if (Stacks->Owners[Index]->Frames != NULL) {
            Allocator->Free(Allocator->Context, Stacks->Owners[Index]->Frames);
        }
        Allocator->Free(Allocator->Context, Stacks->Owners[Index]);
    }

    if (Stacks->Owners != NULL) {
        Allocator->Free(Allocator->Context, Stacks->Owners);
    }

    BaseRundownMap(&Stacks->Threads);
    Stacks->Owners = NULL;
    Stacks->NumberOfOwners = 0;
}

//
// Finds a thread's owner, or NULL.
//

static
_Ret_maybenull_
PCOLLECT_OWNER
CollectStackFindThread(
    _Inout_ PCOLLECT_STACKS Stacks,
    _In_ ULONG Thread
    )
{
    ULONG Index;

    if (Stacks->Recent != NULL && Stacks->Recent->Id == Thread) {
        return Stacks->Recent;
    }

    if (!BaseFindInMap(&Stacks->Threads, Thread, &Index)) {
        return NULL;
    }

    Stacks->Recent = Stacks->Owners[Index];
    return Stacks->Recent;
}

//
// Is RSP on a stack, as far as its open calls show?
//

static
BOOLEAN
CollectStackIsOn(
    _In_ const COLLECT_OWNER *Owner,
    _In_ const COLLECT_STACK *Stack,
    _In_ ULONG EndOfFrames,
    _In_ ULONGLONG Rsp
    )
{
    ULONGLONG Outermost = Owner->Frames[Stack->FirstFrame].Stack;
    ULONGLONG Innermost = Owner->Frames[EndOfFrames - 1].Stack;

    return Rsp <= Outermost + COLLECT_STACK_SIZE &&
           Rsp + COLLECT_STACK_SIZE >= Innermost &&
           Rsp + COLLECT_STACK_SIZE >= Outermost;
}

//
// Finds the stack of an owner that has open calls and that RSP is on, from the
// innermost outwards; NULL: there is none.
//

static
_Ret_maybenull_
PCOLLECT_STACK
CollectStackFind(
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ ULONG Thread,
    _In_ ULONGLONG Rsp
    )
{
    ULONG End = Owner->NumberOfFrames;
    ULONG Index = Owner->NumberOfStacks;

    if (End == 0) {
        return NULL;
    }

    while (Index != 0) {

        PCOLLECT_STACK Stack = &Owner->Stacks[Index - 1];

        if (Stack->FirstFrame < End && Stack->Thread == Thread &&
            CollectStackIsOn(Owner, Stack, End, Rsp)) {
            return Stack;
        }

        if (Stack->FirstFrame < End) {
            End = Stack->FirstFrame;
        }

        Index -= 1;
    }

    return NULL;
}

//
// Writes that all calls of an owner's stack from a frame on have been left.
//

static
VOID
CollectStackEndFrames(
    _Inout_ PCOLLECT_STACKS Stacks,
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ const COLLECT_STACK *Stack,
    _In_ ULONG FirstFrame,
    _In_ ULONGLONG Timestamp
    )
{
    ULONGLONG Above = FirstFrame == Stack->FirstFrame
                          ? Owner->Frames[FirstFrame].Stack + 8
                          : Owner->Frames[FirstFrame - 1].Stack;

    Stacks->Put(Stacks->PutContext,
                Owner,
                Timestamp,
                (ULONG)Owner->Frames[FirstFrame].Site,
                ((ULONG)Above + Stack->Delta) | TRACE_KIND_GONE);
}

static
VOID
CollectStackWiden(
    _Inout_ PCOLLECT_STACK Stack,
    _In_ ULONGLONG Rsp
    )
{
    if (Rsp < Stack->Low) {
        Stack->Low = Rsp;
    }

    if (Rsp > Stack->High) {
        Stack->High = Rsp;
    }
}

//
// Begins a stack of an owner at the place that is its own.
//

static
PCOLLECT_STACK
CollectStackBegin(
    _Inout_ PCOLLECT_STACKS Stacks,
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ ULONG Thread,
    _In_ ULONGLONG Rsp,
    _In_ ULONGLONG Timestamp
    )
{
    PCOLLECT_STACK Stack;
    ULONG Place;

    while (Owner->NumberOfStacks > 1 &&
           Owner->Stacks[Owner->NumberOfStacks - 1].FirstFrame >=
               Owner->NumberOfFrames) {
        Owner->NumberOfStacks -= 1;
    }

    if (Owner->NumberOfFrames == 0) {

        //
        // With nothing open, the first stack begins anew; where it is the same
        // one, it keeps its place.
        //

        Stack = &Owner->Stacks[0];
        if (Owner->NumberOfStacks != 0 && Stack->Thread == Thread &&
            Rsp + COLLECT_STACK_SIZE >= Stack->High &&
            Rsp <= Stack->Low + COLLECT_STACK_SIZE) {
            CollectStackWiden(Stack, Rsp);
            return Stack;
        }

        Owner->NumberOfStacks = 0;
    }

    if (Owner->NumberOfStacks == COLLECT_MAXIMUM_STACKS) {

        //
        // Nobody nests so deep: exits were lost.
        //

        Owner->NumberOfStacks -= 1;
        Stack = &Owner->Stacks[Owner->NumberOfStacks];
        if (Stack->FirstFrame < Owner->NumberOfFrames) {
            CollectStackEndFrames(Stacks,
                                  Owner,
                                  Stack,
                                  Stack->FirstFrame,
                                  Timestamp);
            Owner->NumberOfFrames = Stack->FirstFrame;
        }
    }

    Stack = &Owner->Stacks[Owner->NumberOfStacks];
    if (Owner->IsProcessor || Owner->NumberOfFrames == 0) {
        Place = COLLECT_PLACE - Owner->NumberOfStacks * COLLECT_APART;
    } else {
        Place = (ULONG)Owner->Frames[Owner->NumberOfFrames - 1].Stack +
                Owner->Stacks[Owner->NumberOfStacks - 1].Delta -
                COLLECT_BETWEEN;
    }

    Stack->Low = Rsp;
    Stack->High = Rsp;
    Stack->Delta = Place - (ULONG)Rsp;
    Stack->Thread = Thread;
    Stack->FirstFrame = Owner->NumberOfFrames;
    Owner->NumberOfStacks += 1;
    return Stack;
}

//
// Finds or begins the stack of an owner that a record is on.  Stacks inside of
// it have been left.
//

static
PCOLLECT_STACK
CollectStackUse(
    _Inout_ PCOLLECT_STACKS Stacks,
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ ULONG Thread,
    _In_ ULONGLONG Rsp,
    _In_ ULONGLONG Timestamp
    )
{
    PCOLLECT_STACK Stack = CollectStackFind(Owner, Thread, Rsp);

    if (Stack == NULL) {
        return CollectStackBegin(Stacks, Owner, Thread, Rsp, Timestamp);
    }

    while (&Owner->Stacks[Owner->NumberOfStacks - 1] != Stack) {

        PCOLLECT_STACK Inner = &Owner->Stacks[Owner->NumberOfStacks - 1];

        if (Inner->FirstFrame < Owner->NumberOfFrames) {
            if (Owner->IsProcessor) {
                CollectStackEndFrames(Stacks,
                                      Owner,
                                      Inner,
                                      Inner->FirstFrame,
                                      Timestamp);
            }
            Owner->NumberOfFrames = Inner->FirstFrame;
        }

        Owner->NumberOfStacks -= 1;
    }

    CollectStackWiden(Stack, Rsp);
    return Stack;
}

//
// Notes that a call was entered.  The law of all pairing holds: what is at or
// below it on its stack was left.
//

_Must_inspect_result_
static
NTSTATUS
CollectStackPush(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ const COLLECT_STACK *Stack,
    _In_ const TRACE_KERNEL_RECORD *Record
    )
{
    ULONGLONG Rsp = Record->Stack & ~(ULONGLONG)TRACE_KIND_MASK;
    ULONG Kind = (ULONG)Record->Stack & TRACE_KIND_MASK;
    PCOLLECT_FRAME Frame;
    NTSTATUS Status;

    while (Owner->NumberOfFrames > Stack->FirstFrame) {

        Frame = &Owner->Frames[Owner->NumberOfFrames - 1];
        if (Frame->Stack > Rsp ||
            (Frame->Stack == Rsp && Kind == TRACE_KIND_ENTER_FUNCTION)) {
            break;
        }

        Owner->NumberOfFrames -= 1;
        Owner->NumberLeftOut = 0;
    }

    if (Owner->NumberOfFrames == COLLECT_MAXIMUM_FRAMES) {
        Owner->NumberLeftOut += 1;
        return STATUS_SUCCESS;
    }

    if (Owner->NumberOfFrames == Owner->CapacityOfFrames) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Owner->Frames,
                               &Owner->CapacityOfFrames,
                               Owner->NumberOfFrames == 0
                                   ? COLLECT_FIRST_FRAMES
                                   : Owner->NumberOfFrames + 1,
                               sizeof(COLLECT_FRAME));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Frame = &Owner->Frames[Owner->NumberOfFrames];
    Frame->Stack = Rsp;
    Frame->Site = Record->Site;
    Frame->Timestamp = Record->Timestamp;
    Frame->Thread = TRACE_KERNEL_THREAD(Record->ThreadIrql);
    Frame->Kind = Kind;
    Owner->NumberOfFrames += 1;
    return STATUS_SUCCESS;
}

//
// Notes that a call has ended.  Which one exactly is for readers to find, who
// have the image: what matters here is which calls remain.
//

static
VOID
CollectStackPop(
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ const COLLECT_STACK *Stack,
    _In_ const TRACE_KERNEL_RECORD *Record
    )
{
    ULONGLONG Rsp = Record->Stack & ~(ULONGLONG)TRACE_KIND_MASK;
    ULONG Kind = (ULONG)Record->Stack & TRACE_KIND_MASK;
    ULONG Index;

    if (Kind == TRACE_KIND_EXIT_FUNCTION) {

        for (Index = Owner->NumberOfFrames; Index > Stack->FirstFrame;
             Index--) {
            if (Owner->Frames[Index - 1].Site == Record->Site) {
                Owner->NumberOfFrames = Index - 1;
                Owner->NumberLeftOut = 0;
                return;
            }
        }

        return;
    }

    if (Owner->NumberOfFrames > Stack->FirstFrame &&
        Rsp < Owner->Frames[Owner->NumberOfFrames - 1].Stack &&
        Owner->NumberLeftOut != 0) {
        Owner->NumberLeftOut -= 1;
        return;
    }

    while (Owner->NumberOfFrames > Stack->FirstFrame &&
           Owner->Frames[Owner->NumberOfFrames - 1].Stack < Rsp) {
        Owner->NumberOfFrames -= 1;
        Owner->NumberLeftOut = 0;
    }

    //
    // After an alloca RSP is lower than it was at the entry.  Behind a gap it
    // is rather the exit of a call whose entry was lost; if not, the caller's
    // exit ends this one, too.
    //

    if (Owner->NumberOfFrames > Stack->FirstFrame) {
        if (Owner->NumberOfFrames <= Owner->NumberKept &&
            Rsp < Owner->Frames[Owner->NumberOfFrames - 1].Stack) {
            return;
        }
        Owner->NumberOfFrames -= 1;
    }

    if (Owner->NumberKept > Owner->NumberOfFrames) {
        Owner->NumberKept = Owner->NumberOfFrames;
    }
}

//
// Is this the exit of an open call of an owner: of one with this RSP, or, by
// the hooks that say which function they are of, with this site?
//

static
BOOLEAN
CollectStackHasEntry(
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ const TRACE_KERNEL_RECORD *Record
    )
{
    ULONGLONG Rsp = Record->Stack & ~(ULONGLONG)TRACE_KIND_MASK;
    ULONG Thread = TRACE_KERNEL_THREAD(Record->ThreadIrql);
    BOOLEAN IsBySite = (Record->Stack & TRACE_KIND_MASK) ==
                       TRACE_KIND_EXIT_FUNCTION;
    ULONG Index;

    for (Index = Owner->NumberOfFrames; Index != 0; Index--) {

        PCCOLLECT_FRAME Frame = &Owner->Frames[Index - 1];

        if (Frame->Thread == Thread &&
            (IsBySite ? Frame->Site == Record->Site &&
                            Frame->Stack + COLLECT_STACK_SIZE > Rsp &&
                            Rsp + COLLECT_STACK_SIZE > Frame->Stack
                      : Frame->Stack == Rsp)) {
            return TRUE;
        }
    }

    return FALSE;
}

//
// Decides whose a record is; NULL: a thread's for which there is no owner yet.
//

static
_Ret_maybenull_
PCOLLECT_OWNER
CollectStackChoose(
    _Inout_ PCOLLECT_STACKS Stacks,
    _In_ const TRACE_KERNEL_RECORD *Record,
    _In_ ULONG Processor
    )
{
    ULONGLONG Rsp = Record->Stack & ~(ULONGLONG)TRACE_KIND_MASK;
    ULONG Kind = (ULONG)Record->Stack & TRACE_KIND_MASK;
    ULONG Thread = TRACE_KERNEL_THREAD(Record->ThreadIrql);
    PCOLLECT_OWNER Owner = CollectStackFindThread(Stacks, Thread);
    BOOLEAN IsHigh = TRACE_KERNEL_IRQL(Record->ThreadIrql) >=
                     COLLECT_IRQL_DISPATCH;
    ULONG Index;

    if (COLLECT_IS_ENTER(Kind)) {
        return !IsHigh || (Owner != NULL &&
                           CollectStackFind(Owner, Thread, Rsp) != NULL)
                   ? Owner
                   : Stacks->Owners[Processor];
    }

    if (Owner != NULL && CollectStackHasEntry(Owner, Record)) {
        return Owner;
    }

    //
    // An exit at a low IRQL may be of a call that was entered at a high one,
    // and on another processor.
    //

    if (CollectStackHasEntry(Stacks->Owners[Processor], Record)) {
        return Stacks->Owners[Processor];
    }

    for (Index = 0; Index < Stacks->NumberOfProcessors; Index++) {
        if (Stacks->Owners[Index]->NumberOfFrames != 0 &&
            CollectStackHasEntry(Stacks->Owners[Index], Record)) {
            return Stacks->Owners[Index];
        }
    }

    return !IsHigh || (Owner != NULL &&
                       CollectStackFind(Owner, Thread, Rsp) != NULL)
               ? Owner
               : Stacks->Owners[Processor];
}

//
// Takes what nearly every record is: an entry below the innermost open call of
// the thread that had the record before, or that call's exit; or its outermost
// call.
// Returns FALSE, with nothing done, if it is not one of these.
//

static
BOOLEAN
CollectStackTakeOrdinary(
    _Inout_ PCOLLECT_STACKS Stacks,
    _In_ const TRACE_KERNEL_RECORD *Record
    )
{
    ULONGLONG Rsp = Record->Stack & ~(ULONGLONG)TRACE_KIND_MASK;
    ULONG Kind = (ULONG)Record->Stack & TRACE_KIND_MASK;
    ULONG Thread = TRACE_KERNEL_THREAD(Record->ThreadIrql);
    PCOLLECT_OWNER Owner = Stacks->Recent;
    PCOLLECT_STACK Stack;
    PCOLLECT_FRAME Frame;

    if (Owner == NULL || Owner->Id != Thread || Owner->NumberOfStacks == 0 ||
        Owner->NumberLeftOut != 0 ||
        Owner->NumberOfFrames == Owner->CapacityOfFrames) {
        return FALSE;
    }

    Stack = &Owner->Stacks[Owner->NumberOfStacks - 1];
    Frame = &Owner->Frames[Owner->NumberOfFrames];
    if (Owner->NumberOfFrames == 0) {

        if (Kind != TRACE_KIND_ENTER || Owner->NumberOfStacks != 1 ||
            TRACE_KERNEL_IRQL(Record->ThreadIrql) >= COLLECT_IRQL_DISPATCH ||
            Rsp < Stack->Low || Rsp > Stack->High) {
            return FALSE;
        }

    } else if (Stack->FirstFrame >= Owner->NumberOfFrames) {

        return FALSE;

    } else if (Kind == TRACE_KIND_EXIT && Rsp == Frame[-1].Stack) {

        Owner->NumberOfFrames -= 1;

    } else if (Kind != TRACE_KIND_ENTER || Rsp >= Frame[-1].Stack ||
               Rsp < Stack->Low) {

        return FALSE;
    }

    if (Kind == TRACE_KIND_ENTER) {
        Frame->Stack = Rsp;
        Frame->Site = Record->Site;
        Frame->Timestamp = Record->Timestamp;
        Frame->Thread = Thread;
        Frame->Kind = Kind;
        Owner->NumberOfFrames += 1;
    }

    Stacks->Put(Stacks->PutContext,
                Owner,
                Record->Timestamp,
                (ULONG)Record->Site,
                ((ULONG)Rsp + Stack->Delta) | Kind);
    return TRUE;
}

_Use_decl_annotations_
NTSTATUS
CollectStacksTake(
    PCOLLECT_STACKS Stacks,
    const TRACE_KERNEL_RECORD *Record,
    ULONG Processor
    )
{
    ULONGLONG Rsp = Record->Stack & ~(ULONGLONG)TRACE_KIND_MASK;
    ULONG Kind = (ULONG)Record->Stack & TRACE_KIND_MASK;
    ULONG Thread = TRACE_KERNEL_THREAD(Record->ThreadIrql);
    PCOLLECT_OWNER Owner;
    PCOLLECT_STACK Stack;
    NTSTATUS Status = STATUS_SUCCESS;

    if (CollectStackTakeOrdinary(Stacks, Record)) {
        return STATUS_SUCCESS;
    }

    Owner = CollectStackChoose(Stacks, Record, Processor);
    if (Owner == NULL) {

        if (Stacks->NumberOfOwners ==
            Stacks->NumberOfProcessors + COLLECT_MAXIMUM_OWNERS) {
            Stacks->NumberWithoutOwner += 1;
            return STATUS_SUCCESS;
        }

        Owner = CollectStackAddOwner(Stacks, Thread, FALSE);
        if (Owner == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    Stack = CollectStackUse(Stacks, Owner, Thread, Rsp, Record->Timestamp);
    Stacks->Put(Stacks->PutContext,
                Owner,
                Record->Timestamp,
                (ULONG)Record->Site,
                ((ULONG)Rsp + Stack->Delta) | Kind);
    if (COLLECT_IS_ENTER(Kind)) {
        Status = CollectStackPush(Stacks->Allocator, Owner, Stack, Record);
    } else {
        CollectStackPop(Owner, Stack, Record);
    }

    return Status;
}

_Use_decl_annotations_
VOID
CollectStacksBreak(
    PCOLLECT_STACKS Stacks,
    ULONGLONG Timestamp,
    PCOLLECT_IS_OPEN IsOpen,
    PVOID IsOpenContext
    )
{
    ULONG Index;

    for (Index = 0; Index < Stacks->NumberOfOwners; Index++) {

        PCOLLECT_OWNER Owner = Stacks->Owners[Index];
        ULONG Kept = Owner->NumberOfFrames;
        ULONG Place = Owner->NumberOfStacks;

        //
        // Of a stack, what is outside of an open call is open, too.
        //

        while (Kept != 0 &&
               !IsOpen(IsOpenContext, &Owner->Frames[Kept - 1])) {
            Kept -= 1;
        }

        Owner->NumberKept = Kept;
        if (Kept == Owner->NumberOfFrames) {
            continue;
        }

        while (Place != 0) {

            PCOLLECT_STACK Stack = &Owner->Stacks[Place - 1];
            ULONG First = Stack->FirstFrame > Kept ? Stack->FirstFrame : Kept;

            if (Stack->FirstFrame < Owner->NumberOfFrames &&
                First < Owner->NumberOfFrames) {
                CollectStackEndFrames(Stacks, Owner, Stack, First, Timestamp);
                Owner->NumberOfFrames = First;
            }

            Place -= 1;
        }

        Owner->NumberLeftOut = 0;
        while (Owner->NumberOfStacks > 1 &&
               Owner->Stacks[Owner->NumberOfStacks - 1].FirstFrame >=
                   Owner->NumberOfFrames) {
            Owner->NumberOfStacks -= 1;
        }
    }
}
