/*++

Module Name:

    TraceCaller.c

Abstract:

    Who has called a function that is entered: which of the calls that seem to
    be open are.

    A call that an exception, a jump or something else has left without its exit
    is shown gone by the next entry, if that one's return address is not below
    the call's stack pointer.  It always is not where a function with hooks
    calls another and its frame has one size: all its calls put their return
    addresses to one place.  But a function without hooks in between (one that
    is excluded, or of a library; a catch block calls __cxa_end_catch, and that
    the destructor) may have a larger frame than the call that was left, and
    then the entry seems to be inside of that.

    So where an entry's return address is not known to be in a function with
    hooks, the stack is walked: a call is open if and only if its return address
    is one that the walk comes to, and the function that the walk goes out of
    there is the call's own.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceCaller.h"
#include "TraceControlFile.h"
#include "TraceFixed.h"
#include "TraceFrame.h"
#include "TraceTree.h"
#include "TraceTreeModule.h"
#include "TraceTreeStack.h"

//
// The address of a place in a module's code, of which the low 32 bits are
// known.
//

#define CALLER_ADDRESS(Base, Low) \
    ((Base) + (ULONG)((Low) - (ULONG)(Base)))

#define CALLER_CALL             0xE8
#define CALLER_JUMP             0xE9
#define CALLER_MAXIMUM_THUNKS   3

#define CALLER_MAXIMUM_LOOKED_AT 4096

//
// What an exception has left is seen by the first entries after it: those that
// run while the stack is unwound, and those of the catch block.  A call that is
// open for as long as the program may be the only one that could tell by its
// exit that it is over; nor may it cost much where callers are looked for again
// and again (qsort and its comparisons).
//

#define CALLER_ARMED_CALLS      0x10000
#define CALLER_CHECKED_CALLS    (CALLER_ARMED_CALLS / 64)

_Use_decl_annotations_
VOID
TraceCallerNotePlace(
    PTRACE_SESSION Session,
    ULONG Site,
    ULONGLONG Place
    )
{
    if (Session->Places != NULL) {
        RtlStoreRelease64(&Session->Places[TRACE_PLACE_INDEX(Place)],
                          TRACE_PLACE_KEY(Site, Place));
    }
}

_Use_decl_annotations_
BOOLEAN
TraceCallerMoves(
    const TRACE_WALK *Walk
    )
{
    ULONGLONG volatile *Known;
    ULONGLONG Value;

    if (!Walk->IsDynamic || !Walk->IsOurs || Walk->IsPart) {
        return Walk->IsDynamic;
    }

    Known = &Walk->Session->Fixed[TRACE_FIXED_INDEX(Walk->Begin)];
    Value = *Known;
    if (Value >> 1 != Walk->Begin) {
        Value = Walk->Begin << 1 |
                TraceFixedFind(Walk->Base,
                               Walk->Session->Template->ModuleSize,
                               (ULONG)(Walk->Begin - (ULONG_PTR)Walk->Base));
        *Known = Value;
    }
    return (Value & 1) == 0;
}

//
// A place in the function of an open call, and where its return address is.
//

static
ULONGLONG
TraceCallerFrame(
    _In_ PTRACE_STORE Store,
    _In_ const TRACE_FRAME *Frame,
    _Out_ PULONGLONG Slot
    )
{
    PTRACE_NODE Node;
    ULONGLONG Base;
    ULONGLONG Place;
    TRACE_FRAME_LAYOUT Layout;

    Node = (PTRACE_NODE)(ULONG_PTR)Frame->Node;
    Base = ((PTRACE_SHARED)Store)->ModuleBase[Node->Module];
    if (Node->Kind == TRACE_KIND_ENTER && Node->FrameSize != 0xFFFFFFFF) {
        *Slot = Frame->Stack + Node->FrameSize;
        return CALLER_ADDRESS(Base, Node->Site);
    }

    Place = CALLER_ADDRESS(Base,
                           Node->Kind == TRACE_KIND_ENTER ?
                           Node->Site : (ULONG)(Frame->Flags >> 32));

    //
    // A call in a module that has been unloaded is gone, and nothing can be
    // read there.
    //

    if (!TraceTreeIsLoaded(Store, Node->Module)) {
        *Slot = Frame->Stack;
        return Place;
    }

    (VOID)TraceFrameFind((PVOID)(ULONG_PTR)Base,
                         ((PTRACE_SHARED)Store)->ModuleSize[Node->Module],
                         Place,
                         &Layout);
    *Slot = Frame->Stack + Layout.SizeInBytes;
    return Place;
}

_Use_decl_annotations_
VOID
TraceCallerArm(
    PTRACE_STORE Store
    )
{
    PTRACE_STORE_HEADER Header;

    //
    // The hooks that leave calls out look at the limit only.
    //

    Header = Store->Header;
    if (Store->Session->IsHook == NULL ||
        Header->State == TRACE_STATE_STOPPED ||
        Header->MaximumDepth != 0 ||
        Header->MinimumDuration != 0) {

        return;
    }

    Store->ArmedCalls = CALLER_ARMED_CALLS;
    if (Store->IsArmed) {
        return;
    }

    //
    // An exception that comes again and again while one exit is in the hook
    // (single steps, and whoever handles them) must not keep it there.
    //

    Store->IsArmed = TRUE;
    if (Store->EndCursor != Header->Cursor) {
        Store->Highest = 0;
    }
    Store->Checked = 0;
    Store->ArmedBase = __readgsqword(TEB_STACK_BASE);
    Store->ArmedLimit = Header->Limit;
    InterlockedExchange64((LONGLONG volatile *)&Header->Limit, 0);

    //
    // Whoever wants the owner to come by sets Attention first and the limits
    // then (TraceControl.c).
    //

    if (Store->Attention) {
        RtlStoreRelease64(&Store->ArmedLimit, 0);
    }
}

//
// Has the thread called hooks of _penter's convention lately?
//

static
BOOLEAN
TraceCallerIsMixed(
    _In_ const TRACE_STORE *Store
    )
{
    const TRACE_RECORD *First;
    const TRACE_RECORD *Record;

    First = (const TRACE_RECORD *)Store->Floor;
    Record = (const TRACE_RECORD *)(ULONG_PTR)Store->Header->Cursor;
    if (Record - First > CALLER_MAXIMUM_LOOKED_AT) {
        First = Record - CALLER_MAXIMUM_LOOKED_AT;
    }

    while (Record > First) {
        Record -= 1;
        if ((Record->StackKind & TRACE_KIND_MASK) == TRACE_KIND_ENTER) {
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
VOID
TraceCallerNoteExit(
    PTRACE_STORE Store,
    ULONGLONG Stack,
    BOOLEAN IsFunction,
    BOOLEAN IsJump
    )
{
    if (!Store->IsArmed || Stack <= Store->Highest) {
        return;
    }

    //
    // gcc calls this exit hook while it unwinds, too.  That is the end where
    // all functions are like that, for then their calls that are left end by
    // exits.  On another stack (a fiber's) the exit says nothing of this one.
    //

    if (IsJump ||
        Store->ArmedBase != __readgsqword(TEB_STACK_BASE) ||
        (IsFunction && TraceCallerIsMixed(Store))) {

        Store->Highest = Stack;
        return;
    }

    Store->Highest = Stack;
    Store->EndCursor = Store->Header->Cursor;
    Store->IsArmed = FALSE;
    Store->ArmedLimit = 0;
}

_Use_decl_annotations_
VOID
TraceCallerNoteEntry(
    PTRACE_STORE Store
    )
{
    if (Store->IsArmed && Store->ArmedCalls < 0) {
        Store->IsArmed = FALSE;
        Store->ArmedLimit = 0;
    }
}

//
// The target of a call or jump at a place, as far as that is in the module, and
// of the jumps that linkers put between.
//

static
const BYTE *
TraceCallerFollow(
    _In_ PTRACE_SESSION Session,
    _In_ const BYTE *Place
    )
{
    ULONG_PTR Base;
    ULONG_PTR Target;
    ULONG Count;
    ULONG Size;

    Base = (ULONG_PTR)Session->ModuleBase;
    Size = Session->Template->ModuleSize;
    for (Count = 0; Count < CALLER_MAXIMUM_THUNKS; Count += 1) {
        Target = (ULONG_PTR)Place + 5 + *(const LONG UNALIGNED *)(Place + 1);
        if (Target - Base >= Size - 5) {
            return NULL;
        }
        Place = (const BYTE *)Target;
        if (*Place != CALLER_JUMP || Session->IsHook(Place)) {
            break;
        }
    }

    return Place;
}

//
// Does a part of the module's code call a hook?  What was taken out of it does
// not.
//

static
BOOLEAN
TraceCallerIsRecorded(
    _In_ PTRACE_SESSION Session,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End
    )
{
    const BYTE *Place;
    const BYTE *Target;

    for (Place = (const BYTE *)(ULONG_PTR)Begin;
         Place + 5 <= (const BYTE *)(ULONG_PTR)End;
         Place += 1) {

        if (*Place == CALLER_CALL || *Place == CALLER_JUMP) {
            Target = TraceCallerFollow(Session, Place);
            if (Target != NULL && Session->IsHook(Target)) {
                return TRUE;
            }
        }
    }

    return FALSE;
}

//
// Says that every call whose stack pointer is below Stack has been left.  There
// is room for the record.
//

static
VOID
TraceCallerAppendGone(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Site,
    _In_ ULONGLONG Stack
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_RECORD Record;
    ULONGLONG Timestamp;

    Header = Store->Header;
    Record = (PTRACE_RECORD)(ULONG_PTR)Header->Cursor;
    RtlStoreRelease64(&Header->Cursor, Header->Cursor + TRACE_RECORD_SIZE);

    if (Header->Clock == TRACE_CLOCK_NONE) {
        Timestamp = (ULONG_PTR)Record + Header->CursorToFileOffset;
    } else if (Header->Clock == TRACE_CLOCK_THREAD &&
               Store->Session->Clock.Place != NULL) {
        Timestamp = *Store->Session->Clock.Place;
    } else {
        Timestamp = __rdtsc();
    }

    Record->Site = Site;
    Record->StackKind = (ULONG)Stack | TRACE_KIND_GONE;
    RtlStoreRelease64(&Record->Timestamp, Timestamp);
}

_Use_decl_annotations_
VOID
TraceCallerCheck(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call
    )
{
    TRACE_WALK Walk;
    ULONGLONG Entry;
    PTRACE_SESSION Session;

    Store->Checked = Call->Stack;
    Session = Store->Session;

    //
    // Where all functions are of the -finstrument-functions convention, their
    // calls that are left end by exits; and an inlined function's call has the
    // stack pointer of the function around it, which a record of this kind
    // cannot tell apart.
    //

    if (Call->Kind == TRACE_KIND_ENTER_FUNCTION &&
        !TraceCallerIsMixed(Store)) {

        Store->ArmedCalls -= CALLER_CHECKED_CALLS;
        return;
    }

    if (!TraceWalkBegin(Session, Call, &Walk) || !TraceWalkNext(&Walk)) {
        Store->ArmedCalls -= CALLER_CHECKED_CALLS;
        return;
    }

    //
    // The functions from the caller on, up to the first that is recorded:  none
    // of the others can be an open call, and what is below that one's RSP and
    // open was left.  So it is, too, where the walk cannot go on.  A part of a
    // function that lies elsewhere may be one of a function that is recorded.
    //

    Entry = Walk.Place;
    while (Walk.Count < TRACE_WALK_MAXIMUM && TraceWalkNext(&Walk)) {

        //
        // A module with hooks of its own writes records of its own, which do
        // not tell here which of its functions have hooks:  any may be an open
        // call.  Below its RSP none of any module is.
        //

        if (!Walk.IsOurs &&
            TraceControlIsTraced(Session, (ULONG_PTR)Walk.Base)) {

            if (Walk.Count == 2 && !TraceCallerMoves(&Walk)) {
                Store->ArmedCalls -= CALLER_CHECKED_CALLS;
                return;
            }
            break;
        }
        if (Walk.IsOurs && Walk.Begin != 0 &&
            TraceCallerIsRecorded(Session, Walk.Begin, Walk.End)) {

            if (Walk.Count == 2 && !TraceCallerMoves(&Walk)) {
                if (Call->Kind != TRACE_KIND_ENTER ||
                    *(const ULONGLONG *)(ULONG_PTR)Call->Stack == Entry) {

                    TraceCallerNotePlace(Session, Call->Site, Entry);
                }
                return;
            }
            break;
        }
        if (Walk.IsOurs && Walk.IsPart) {
            break;
        }
    }

    Store->ArmedCalls -= CALLER_CHECKED_CALLS;
    TraceCallerAppendGone(Store, Call->Site, Walk.Lowest);
}

_Use_decl_annotations_
VOID
TraceCallerCheckTree(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call
    )
{
    TRACE_WALK Walk;
    ULONGLONG Entry;
    ULONGLONG Place;
    ULONGLONG Slot;
    PTRACE_FRAME Frame;
    BOOLEAN IsOwn;

    Store->Checked = Call->Stack;
    Entry = 0;
    if (!TraceWalkBegin(Store->Session, Call, &Walk)) {
        return;
    }

    Frame = TraceTreeTop(Store);
    while (Frame->Stack != MAXULONG64) {

        if (Walk.Count == TRACE_WALK_MAXIMUM || !TraceWalkNext(&Walk)) {
            return;
        }
        if (Walk.Count == 1) {
            Entry = Walk.Place;
        }

        //
        // Calls whose return address has been passed over are gone.  Of a call
        // that has no node of its own it is not known which function it is of,
        // and so not how far its return address is from its stack pointer.
        //

        for (;;) {
            if ((((PTRACE_NODE)(ULONG_PTR)Frame->Node)->Flags &
                 TRACE_NODE_OTHER) != 0) {

                return;
            }
            Place = TraceCallerFrame(Store, Frame, &Slot);
            if (Slot > Walk.Slot) {
                break;
            }

            //
            // A part of a function that lies elsewhere has an entry of its own,
            // which does not say whose it is.
            //
            // And a function that moves RSP may have called its hook with
            // another one than its prolog leaves.
            //

            IsOwn = Place > Walk.Begin && Place <= Walk.End;
            if (IsOwn && Walk.IsDynamic && Frame->Stack >= Walk.Lowest &&
                TraceCallerMoves(&Walk)) {

                return;
            }
            if (Slot == Walk.Slot && (IsOwn || Walk.IsPart)) {
                if (Walk.Count == 2 && IsOwn && !TraceCallerMoves(&Walk)) {
                    TraceCallerNotePlace(Store->Session, Call->Site, Entry);
                    Store->Checked = 0;
                }
                return;
            }

            TraceTreeEndCall(Store);
            Frame = TraceTreeTop(Store);
            if (Frame->Stack == MAXULONG64) {
                return;
            }
        }
    }
}
