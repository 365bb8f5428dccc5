/*++

Module Name:

    TraceDepth.c

Abstract:

    The depth of calls, which the hook counts for TRACER_MAX_DEPTH.  Each stack
    that a thread runs on has a depth of its own: its fibers' calls go on where
    they were left.

    A call that is taken for open and has been left, by a jump or an exception,
    would make others too deep that are not.  So the rules are those of trees
    (TraceTreeEnter.c, TraceCaller.c): an entry shows each call gone whose stack
    pointer is not above the entry's own return address; the same place in the
    code cannot come again at the same stack pointer before the function that it
    belongs to has ended; and where it is not known that the caller has hooks,
    the stack is walked.  The hook does what is plain and asks for the rest.

    What cannot be known is counted: calls that are left out while the stack
    could not be walked, and while an inlined function was taken for open that,
    as it turns out, had been left.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceCaller.h"
#include "TraceDepth.h"
#include "TraceFrame.h"
#include "TraceSession.h"

//
// An address in the module of which the low 32 bits are known; no call, and the
// largest number; is one value of 32 bits beyond another?
//

#define DEPTH_ADDRESS(Base, Low)    ((Base) + (ULONG)((Low) - (ULONG)(Base)))
#define DEPTH_NONE                  0xFFFFFFFFu
#define DEPTH_IS_ABOVE(Left, Right) ((LONG)((Left) - (Right)) > 0)

//
// Makes a depth for the stack that the calling thread runs on, and puts it
// before those that the store has.
// Returns STATUS_SUCCESS, also if there is no limit to the depth, or the
// status of allocating memory.
//

_Use_decl_annotations_
NTSTATUS
TraceDepthOpen(
    PTRACE_STORE Store
    )
{
    NTSTATUS Status;
    ULONG Maximum;
    PVOID Base;
    PVOID Sites;
    PTRACE_DEPTH Depth;

    Maximum = Store->Session->Template->MaximumDepth;
    if (Maximum == 0) {
        return STATUS_SUCCESS;
    }

    Status = RtlAllocatePages(&Store->Session->Rtl,
                              FIELD_OFFSET(TRACE_DEPTH, Calls) +
                              (Maximum + TRACE_DEPTH_INLINED) *
                              sizeof(Depth->Calls[0]),
                              &Base);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Store->Depth != NULL) {
        Sites = Store->Depth->Sites;
    } else {
        Status = RtlAllocatePages(&Store->Session->Rtl,
                                  sizeof(*Depth->Sites),
                                  &Sites);
        if (!NT_SUCCESS(Status)) {
            RtlFreePages(&Store->Session->Rtl, Base);
            return Status;
        }
    }

    Depth = (PTRACE_DEPTH)Base;
    Depth->StackBase = __readgsqword(TEB_STACK_BASE);
    Depth->Maximum = Maximum;
    Depth->Settled = TRACE_DEPTH_UNSETTLED;
    Depth->Sites = (PTRACE_DEPTH_SITES_OF)Sites;
    Depth->Next = Store->Depth;
    Store->Depth = Depth;
    return STATUS_SUCCESS;
}

//
// Brings the depth of the stack that the calling thread runs on to the front.
// If there can be no more, the one that was used least recently is taken.
// Store: the store, which has a depth.
//

_Use_decl_annotations_
VOID
TraceDepthSwitch(
    PTRACE_STORE Store
    )
{
    ULONGLONG StackBase;
    ULONG Count;
    PTRACE_DEPTH *Link;
    PTRACE_DEPTH Depth;

    StackBase = __readgsqword(TEB_STACK_BASE);

    Count = 1;
    Link = &Store->Depth;
    while ((*Link)->StackBase != StackBase && (*Link)->Next != NULL) {
        Link = &(*Link)->Next;
        Count += 1;
    }

    Depth = *Link;
    if (Depth->StackBase != StackBase) {
        if (Count < TRACE_DEPTH_STACKS && NT_SUCCESS(TraceDepthOpen(Store))) {
            return;
        }
        Depth->StackBase = StackBase;
        Depth->Count = 0;
        Depth->Skipped = 0;
        Depth->Settled = TRACE_DEPTH_UNSETTLED;
    }

    *Link = Depth->Next;
    Depth->Next = Store->Depth;
    Store->Depth = Depth;
}

_Use_decl_annotations_
VOID
TraceDepthClose(
    PTRACE_STORE Store
    )
{
    PTRACE_DEPTH Depth;

    if (Store->Depth != NULL) {
        RtlFreePages(&Store->Session->Rtl, Store->Depth->Sites);
    }
    while (Store->Depth != NULL) {
        Depth = Store->Depth;
        Store->Depth = Depth->Next;
        RtlFreePages(&Store->Session->Rtl, Depth);
    }
}

//
// Counts events that were left out and perhaps were not too deep.
//

static
VOID
TraceDepthDoubt(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG NumberOfEvents
    )
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (NumberOfEvents > DEPTH_NONE - Header->NumberOfEventsDoubtful) {
        NumberOfEvents = DEPTH_NONE - Header->NumberOfEventsDoubtful;
    }
    RtlStoreRelease32(&Header->NumberOfEventsDoubtful,
                      Header->NumberOfEventsDoubtful + NumberOfEvents);
}

//
// The innermost call that is open; NULL: none is.
//

static
PTRACE_DEPTH_CALL
TraceDepthTop(
    _In_ PTRACE_DEPTH Depth
    )
{
    if (Depth->Skipped != 0) {
        return &Depth->Skip;
    }

    return Depth->Count == 0 ? NULL : &Depth->Calls[Depth->Count - 1];
}

//
// Is a call at the stack pointer of the one around it: was it inlined there?
//

static
BOOLEAN
TraceDepthIsInlined(
    _In_ const TRACE_DEPTH *Depth,
    _In_ ULONG Index
    )
{
    return Index != 0 &&
           Depth->Calls[Index].Stack == Depth->Calls[Index - 1].Stack;
}

//
// The calls from Count on have gone, all of them without an exit but the one at
// Own, DEPTH_NONE if none is.
//
// When an inlined one was left nobody can tell.  It is not known which of the
// calls since its entry were as deep as they seemed.
//

static
VOID
TraceDepthEndCalls(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Count,
    _In_ ULONG Own
    )
{
    PTRACE_DEPTH Depth;
    ULONG Index;
    ULONG Events;
    ULONG Most;

    Depth = Store->Depth;
    Most = 0;
    for (Index = Count; Index < Depth->Count; Index += 1) {
        if (Index != Own && TraceDepthIsInlined(Depth, Index)) {
            Events = (ULONG)Store->Header->NumberOfEventsTooDeep -
                     Depth->Calls[Index].Before;
            if (Most < Events) {
                Most = Events;
            }
        }
    }

    TraceDepthDoubt(Store, Most);
    Depth->Skipped = 0;
    Depth->Count = Count;
}

//
// The innermost call has gone.
//

static
VOID
TraceDepthEndTop(
    _Inout_ PTRACE_STORE Store
    )
{
    PTRACE_DEPTH Depth;

    Depth = Store->Depth;
    if (Depth->Skipped != 0) {
        Depth->Skipped = 0;
    } else {
        TraceDepthEndCalls(Store, Depth->Count - 1, DEPTH_NONE);
    }
}

//
// The calls whose stack pointers are below a value have gone.
//

static
VOID
TraceDepthEndBelow(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Stack
    )
{
    PTRACE_DEPTH Depth;
    ULONG Count;

    Depth = Store->Depth;
    if (Depth->Skipped != 0 && DEPTH_IS_ABOVE(Stack, Depth->Skip.Stack)) {
        Depth->Skipped = 0;
    }

    Count = Depth->Count;
    while (Count != 0 &&
           DEPTH_IS_ABOVE(Stack, Depth->Calls[Count - 1].Stack)) {

        Count -= 1;
    }
    if (Count != Depth->Count) {
        TraceDepthEndCalls(Store, Count, DEPTH_NONE);
    }
}

//
// Of the calls that are left out and have Skip's stack pointer: Index 0 is Skip
// itself.
//

static
PTRACE_DEPTH_CALL
TraceDepthSkipped(
    _In_ PTRACE_DEPTH Depth,
    _In_ ULONG Index
    )
{
    return Index == 0 ? &Depth->Skip :
                        &Depth->Calls[Depth->Maximum + Index - 1];
}

//
// Ends the calls with a stack pointer that were made from the same place, and
// all inside them.  Says whether one of the same function is left.
//

static
BOOLEAN
TraceDepthEndSame(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_DEPTH Depth;
    PTRACE_DEPTH_CALL Open;
    ULONG Index;
    ULONG First;
    BOOLEAN IsInside;

    Depth = Store->Depth;
    IsInside = FALSE;

    if (Depth->Skipped != 0 && Depth->Skip.Stack == (ULONG)Call->Stack) {
        for (Index = 0; Index <= Depth->NumberInlined; Index += 1) {
            Open = TraceDepthSkipped(Depth, Index);
            if (Open->Place == (ULONG)Call->Place) {
                if (Index == 0) {
                    Depth->Skipped = 0;
                } else {
                    Depth->NumberInlined = Index - 1;
                }
                break;
            }
            if (Open->Function == Call->Site) {
                IsInside = TRUE;
            }
        }
    }

    First = Depth->Count;
    for (Index = Depth->Count;
         Index != 0 && Depth->Calls[Index - 1].Stack == (ULONG)Call->Stack;
         Index -= 1) {

        Open = &Depth->Calls[Index - 1];
        if (Open->Place == (ULONG)Call->Place) {
            First = Index - 1;
            IsInside = FALSE;
        } else if (Open->Function == Call->Site) {
            IsInside = TRUE;
        }
    }
    if (First != Depth->Count) {
        TraceDepthEndCalls(Store, First, DEPTH_NONE);
    }

    return IsInside;
}

//
// A place in the function of an open call, and where its return address is.
//

static
ULONGLONG
TraceDepthFrame(
    _In_ PTRACE_STORE Store,
    _In_ const TRACE_DEPTH_CALL *Open,
    _Out_ PULONG Slot
    )
{
    ULONGLONG Place;
    TRACE_FRAME_LAYOUT Layout;

    Place = DEPTH_ADDRESS((ULONG_PTR)Store->Session->ModuleBase, Open->Place);
    (VOID)TraceFrameFind(Store->Session->ModuleBase,
                         Store->Session->Template->ModuleSize,
                         Place,
                         &Layout);
    *Slot = Open->Stack + Layout.SizeInBytes;
    return Place;
}

//
// Finds out which of the calls that seem to be open are, by who has called.
// FALSE if that cannot be known.
//
// A call is open if the walk comes to its return address and goes out of its
// function there.  And so is all that is open if the walk comes to a function
// with hooks: when that was entered it was looked at, too.
//

static
BOOLEAN
TraceDepthWalk(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call,
    _Inout_ PTRACE_DEPTH_SITE Site
    )
{
    PTRACE_DEPTH Depth;
    PTRACE_DEPTH_CALL Top;
    TRACE_WALK Walk;
    ULONGLONG Entry;
    ULONGLONG Place;
    ULONG Slot;
    BOOLEAN IsOwn;

    Depth = Store->Depth;
    if (!TraceWalkBegin(Store->Session, Call, &Walk) ||
        !TraceWalkNext(&Walk)) {

        return FALSE;
    }

    Entry = Walk.Place;
    if (Store->Session->Places != NULL &&
        Store->Session->Places[TRACE_PLACE_INDEX(Entry)] ==
            TRACE_PLACE_KEY(Call->Site, Entry)) {

        Site->Place = Entry;
        return TRUE;
    }

    for (;;) {
        IsOwn = FALSE;
        for (;;) {
            Top = TraceDepthTop(Depth);
            if (Top == NULL) {
                return TRUE;
            }
            Place = TraceDepthFrame(Store, Top, &Slot);
            if (DEPTH_IS_ABOVE(Slot, (ULONG)Walk.Slot)) {
                break;
            }
            IsOwn = Place > Walk.Begin && Place <= Walk.End;
            if ((Walk.IsDynamic && IsOwn &&
                 !DEPTH_IS_ABOVE((ULONG)Walk.Lowest, Top->Stack)) ||
                (Slot == (ULONG)Walk.Slot && (IsOwn || Walk.IsPart))) {

                goto Found;
            }
            TraceDepthEndTop(Store);
            IsOwn = FALSE;
        }

        if (Walk.Count > 1 && Walk.IsOurs && Walk.Begin != 0 &&
            Depth->Sites->Functions[TRACE_DEPTH_INDEX(Walk.Begin)] ==
                (ULONG)Walk.Begin) {

            IsOwn = TRUE;
            goto Found;
        }
        if (Walk.Count == TRACE_WALK_MAXIMUM || !TraceWalkNext(&Walk)) {
            return FALSE;
        }
    }

Found:

    if (Walk.Count == 2 && IsOwn && !TraceCallerMoves(&Walk)) {
        TraceCallerNotePlace(Store->Session, Call->Site, Entry);
        Site->Place = Entry;
    }
    return TRUE;
}

static
VOID
TraceDepthEnter(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_DEPTH Depth;
    PTRACE_DEPTH_SITE Site;
    PTRACE_DEPTH_CALL Top;
    PTRACE_DEPTH_CALL New;
    TRACE_FRAME_LAYOUT Layout;
    ULONG Stack;
    BOOLEAN IsFunction;
    BOOLEAN IsInside;
    BOOLEAN IsKnown;

    Depth = Store->Depth;
    Stack = (ULONG)Call->Stack;
    IsFunction = Call->Kind == TRACE_KIND_ENTER_FUNCTION;

    //
    // What the hook will know from now on.
    //

    (VOID)TraceFrameFind(Store->Session->ModuleBase,
                         Store->Session->Template->ModuleSize,
                         Call->Place,
                         &Layout);
    if (!IsFunction && Layout.HasChain) {
        Stack += sizeof(ULONGLONG);
    }

    Site = &Depth->Sites->Sites[TRACE_DEPTH_INDEX(Call->Place)];
    Site->Hook = (ULONG)Call->Place;
    Site->Place = TRACE_DEPTH_UNSETTLED;
    Site->SizeInBytes = 0;
    if (Layout.Function != 0 &&
        (!IsFunction || Layout.Function == Call->Site)) {

        Site->SizeInBytes = Stack - (ULONG)Call->Stack + Layout.SizeInBytes;
        Depth->Sites->Functions[TRACE_DEPTH_INDEX(Layout.Function)] =
            Layout.Function;
    }

    //
    // What stack pointers and places show to be gone; a function that is
    // inlined has no return address of its own.
    //

    IsInside = FALSE;
    if (IsFunction) {
        TraceDepthEndBelow(Store, Stack);
        IsInside = TraceDepthEndSame(Store, Call);
    }
    if (!IsFunction || (Site->SizeInBytes != 0 && !IsInside)) {
        TraceDepthEndBelow(Store,
                           (ULONG)Call->Stack + Site->SizeInBytes + 1);
    }

    Top = TraceDepthTop(Depth);
    IsKnown = Top == NULL || (IsFunction && Top->Stack == Stack) ||
              TraceDepthWalk(Store, Call, Site);

    if (Depth->Skipped != 0 || Depth->Count >= Depth->Maximum) {
        Depth->IsLeftOut = TRUE;
        Depth->Skipped += 1;
        New = &Depth->Skip;
        if (Depth->Skipped == 1) {
            Depth->NumberInlined = 0;
        } else if (!IsFunction || Depth->Skip.Stack != Stack ||
                   Depth->NumberInlined == TRACE_DEPTH_INLINED) {

            New = NULL;
        } else {
            Depth->NumberInlined += 1;
            New = TraceDepthSkipped(Depth, Depth->NumberInlined);
        }

        //
        // It and its exit.
        //

        if (!IsKnown) {
            TraceDepthDoubt(Store, 2);
        }
    } else {
        Depth->IsLeftOut = FALSE;
        New = &Depth->Calls[Depth->Count];
        Depth->Count += 1;
    }

    if (New != NULL) {
        New->Stack = Stack;
        New->Function = IsFunction ? Call->Site : 0;
        New->Place = (ULONG)Call->Place;
        New->Before = (ULONG)Store->Header->NumberOfEventsTooDeep;
    }
}

//
// An exit inside a call that is left out: its own, or one within.  FALSE if
// that call has gone.
//

static
BOOLEAN
TraceDepthExitSkipped(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_DEPTH Depth;
    PTRACE_DEPTH_CALL Top;
    ULONG Stack;
    ULONG Index;

    Depth = Store->Depth;
    Stack = (ULONG)Call->Stack;
    Top = Depth->Count == 0 ? NULL : &Depth->Calls[Depth->Count - 1];

    if (Call->IsJump && DEPTH_IS_ABOVE(Stack, Depth->Skip.Stack)) {

        //
        // The outermost call below is its own.
        //

        if ((Top != NULL && DEPTH_IS_ABOVE(Stack, Top->Stack)) ||
            Depth->Skip.Function != Call->Site) {

            return FALSE;
        }
        Depth->Skipped = 0;
        return TRUE;
    }
    if (DEPTH_IS_ABOVE(Stack, Depth->Skip.Stack)) {
        return FALSE;
    }

    if (!Call->IsJump && Stack == Depth->Skip.Stack) {
        for (Index = Depth->NumberInlined + 1; Index != 0; Index -= 1) {
            if (TraceDepthSkipped(Depth, Index - 1)->Function == Call->Site) {
                if (Index == 1) {
                    Depth->Skipped = 0;
                    return TRUE;
                }
                Depth->NumberInlined = Index - 2;
                break;
            }
        }
        if (Index == 0) {
            for (Index = Depth->Count;
                 Index != 0 && Depth->Calls[Index - 1].Stack == Stack;
                 Index -= 1) {

                if (Depth->Calls[Index - 1].Function == Call->Site) {
                    return FALSE;
                }
            }
        }
    }

    if (Depth->Skipped > 1) {
        Depth->Skipped -= 1;
    } else if (Stack != Depth->Skip.Stack) {
        Depth->Skipped = 0;
    }
    return TRUE;
}

static
VOID
TraceDepthExit(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_DEPTH Depth;
    ULONG Stack;
    ULONG Index;
    ULONG Group;

    Depth = Store->Depth;
    Stack = (ULONG)Call->Stack;
    if (Depth->Skipped != 0) {
        Depth->IsLeftOut = TraceDepthExitSkipped(Store, Call);
        if (Depth->IsLeftOut) {
            return;
        }
        Depth->Skipped = 0;
    }

    Depth->IsLeftOut = FALSE;
    Index = Depth->Count;
    while (Index != 0 && DEPTH_IS_ABOVE(Stack, Depth->Calls[Index - 1].Stack)) {
        Index -= 1;
    }

    //
    // The hook was jumped to: the outermost of these is its own.
    //

    if (Call->IsJump) {
        TraceDepthEndCalls(Store, Index, Index);
        return;
    }

    //
    // Of the calls with one stack pointer it is that of its function.
    //

    Group = Index;
    while (Group != 0 &&
           Depth->Calls[Group - 1].Stack == Depth->Calls[Index - 1].Stack) {

        if (Depth->Calls[Group - 1].Function == Call->Site) {
            TraceDepthEndCalls(Store, Group - 1, Group - 1);
            return;
        }
        Group -= 1;
    }

    TraceDepthEndCalls(Store, Index, DEPTH_NONE);
}

_Use_decl_annotations_
VOID
TraceDepthDecide(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call
    )
{
    if (Call->Kind == TRACE_KIND_ENTER ||
        Call->Kind == TRACE_KIND_ENTER_FUNCTION) {

        TraceDepthEnter(Store, Call);
    } else {
        TraceDepthExit(Store, Call);
    }

    Store->Depth->Settled = (ULONG)Call->Stack;
}
