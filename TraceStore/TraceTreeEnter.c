/*++

Module Name:

    TraceTreeEnter.c

Abstract:

    Entries and exits of a tree: what the hooks (PenterTree.asm) cannot do by
    themselves.  Nodes are found and made, calls that are gone are ended,
    chronological ranges begin and end.

--*/

#include "TraceCaller.h"
#include "TraceChrono.h"
#include "TraceClock.h"
#include "TraceFrame.h"
#include "TraceStop.h"
#include "TraceTree.h"
#include "TraceTreeEnter.h"
#include "TraceTreeModule.h"
#include "TraceTreeStack.h"

//
// How many frames are looked at for the entry of a function that moves RSP.
//

#define TREE_SEARCH                 4096

//
// Ends the calls whose stack pointers are below a value.
//

static
VOID
TraceTreeDropBelow(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Stack,
    _In_ ULONGLONG Now
    )
{
    while (TraceTreeTop(Store)->Stack < Stack) {
        TraceTreePop(Store, Now, FALSE);
    }
}

//
// Ends the calls inside a frame.
// Frame: the frame, which stays.
//

static
VOID
TraceTreeDropTo(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_FRAME Frame,
    _In_ ULONGLONG Now
    )
{
    while (TraceTreeTop(Store) > Frame) {
        TraceTreePop(Store, Now, FALSE);
    }
}

//
// Returns the node, or NULL.
//

static
PTRACE_NODE
TraceTreeFindChild(
    _In_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent,
    _In_ ULONG Site
    )
{
    PTRACE_TREE Tree;
    PTRACE_NODE Node;
    ULONGLONG Index;
    ULONG Module;

    Tree = &Store->Tree;
    Index = (ULONGLONG)(Parent - Tree->Nodes);
    Module = Site == 0 ? 0 : Tree->Member->Module;
    if (Tree->ChronoBuckets != NULL) {
        for (Node = *TraceTreeChronoBucket(Tree, Parent, Site);
             Node != NULL;
             Node = (PTRACE_NODE)(ULONG_PTR)Node->HashNext) {

            if (Node->Site == Site &&
                Node->Parent == Index &&
                Node->Module == Module) {

                return Node;
            }
        }
    }

    Node = Tree->Buckets[TraceTreeHash(Tree, Parent, Site)];
    while (Node != NULL &&
           (Node->Site != Site ||
            Node->Parent != Index ||
            Node->Module != Module)) {

        Node = (PTRACE_NODE)(ULONG_PTR)Node->HashNext;
    }

    return Node;
}

//
// Makes four times as many buckets. If there is no memory the lists get longer
// instead.
//

static
VOID
TraceTreeGrowBuckets(
    _Inout_ PTRACE_STORE Store
    )
{
    PTRACE_TREE Tree;
    PTRACE_NODE Node;
    PTRACE_NODE *Bucket;
    PVOID Old;
    PVOID New;
    ULONG Count;
    ULONGLONG Index;

    Tree = &Store->Tree;
    Count = (Tree->Mask + 1) * 4;
    if (Count > TRACE_TREE_MAXIMUM_BUCKETS ||
        !NT_SUCCESS(RtlAllocatePages(&Store->Session->Rtl,
                                     Count * sizeof(PTRACE_NODE),
                                     &New))) {
        return;
    }

    Old = Tree->Buckets;
    Tree->Buckets = (PTRACE_NODE *)New;
    Tree->Mask = Count - 1;

    for (Index = 1; Index < Store->Header->NumberOfNodes; Index += 1) {
        Node = &Tree->Nodes[Index];
        if ((Node->Flags & (TRACE_NODE_OTHER | TRACE_TREE_UNSEEN)) == 0 &&
            !TraceTreeIsGone(Store, Node->Module)) {

            Bucket = &Tree->Buckets[TraceTreeHash(Tree,
                                                  &Tree->Nodes[Node->Parent],
                                                  Node->Site)];
            Node->HashNext = (ULONG_PTR)*Bucket;
            *Bucket = Node;
        }
    }

    RtlFreePages(&Store->Session->Rtl, Old);
}

//
// Writes the clocks into the header, for a store that will not be closed, or
// will be used after that.
//

static
VOID
TraceTreeSetAnchor(
    _Inout_ PTRACE_STORE Store
    )
{
    RTL_CLOCK_READING Reading;

    RtlReadClocks(&Store->Session->Rtl, &Reading);
    TraceStopSetAnchor(&Store->Header->LastAnchor, &Reading);
    TraceClockDescribe(Store->Session, Store->Header);
}

//
// Store: the store, which has room for it.
// Kind: the kind of its entries.
// Flags: TRACE_NODE_OTHER, or any of TRACE_TREE_UNSEEN.
// Returns the node; NULL if its page cannot be had: then the store has
// stopped.
//

static
PTRACE_NODE
TraceTreeAddNode(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent,
    _In_ ULONG Site,
    _In_ ULONG Kind,
    _In_ ULONG Flags
    )
{
    NTSTATUS Status;
    PTRACE_TREE Tree;
    PTRACE_STORE_HEADER Header;
    PTRACE_NODE Node;
    PTRACE_NODE *Bucket;
    ULONGLONG Size;

    Tree = &Store->Tree;
    Header = Store->Header;
    Node = &Tree->Nodes[Header->NumberOfNodes];

    if ((ULONG_PTR)(Node + 1) > Tree->NodesPrepared) {
        Size = Tree->NodesEnd - Tree->NodesPrepared;
        if (Size > TRACE_TREE_PREPARE_NEXT) {
            Size = TRACE_TREE_PREPARE_NEXT;
        }
        Header->NumberOfInlinePreparations += 1;
        Status = TraceTreePrepare(Store, Tree->NodesPrepared, Size);
        if (!NT_SUCCESS(Status)) {
            TraceStoreStop(Store, TRACE_REASON_PAGE_FAILED, Status);
            return NULL;
        }
        Tree->NodesPrepared += Size;
        TraceTreeSetAnchor(Store);
    }

    Node->Minimum = MAXULONG64;
    Node->LastChild = (ULONG_PTR)Tree->Nodes;
    Node->Site = Site;
    Node->Kind = Kind;
    Node->Flags = Flags;
    Node->Parent = (ULONGLONG)(Parent - Tree->Nodes);
    Node->Module = Tree->Member->Module;
    if ((Flags & TRACE_NODE_OTHER) != 0) {
        Node->Module = 0;
        Node->LastChild = (ULONG_PTR)Node;
        Node->OtherChild = (ULONG_PTR)Node;
    }
    RtlStoreRelease64(&Header->NumberOfNodes, Header->NumberOfNodes + 1);

    //
    // A parent may get a child that the hook must not find, and then it must
    // not take this one for that.
    //

    if ((Flags & TRACE_NODE_OTHER) != 0 && Tree->ChronoBuckets == NULL) {
        RtlStoreRelease64(&Parent->OtherChild, (ULONG_PTR)Node);
        return Node;
    }

    if (Flags != 0) {
        Bucket = TraceTreeChronoBucket(Tree, Parent, Site);
        Node->HashNext = (ULONG_PTR)*Bucket;
        *Bucket = Node;
        Tree->NumberOfSites += (Flags & TRACE_NODE_OTHER) == 0;
        return Node;
    }

    Bucket = &Tree->Buckets[TraceTreeHash(Tree, Parent, Site)];
    Node->HashNext = (ULONG_PTR)*Bucket;
    *Bucket = Node;
    Tree->NumberOfSites += 1;
    if (Tree->NumberOfSites > (ULONGLONG)Tree->Mask + 1) {
        TraceTreeGrowBuckets(Store);
    }

    return Node;
}

//
// Finds the child of a node that all is charged to that has no node.
// Returns the child, or NULL.
//

static
PTRACE_NODE
TraceTreeFindOther(
    _In_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent
    )
{
    if (Parent->OtherChild == 0 && Store->Tree.ChronoBuckets != NULL) {
        return TraceTreeFindChild(Store, Parent, 0);
    }

    return (PTRACE_NODE)(ULONG_PTR)Parent->OtherChild;
}

//
// Gives the child of a node that all is charged to that has no node. There is
// always room for it.
// Returns the child; NULL if its page cannot be had: then the store has
// stopped.
//

static
PTRACE_NODE
TraceTreeGetOther(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent
    )
{
    PTRACE_NODE Other;

    Other = TraceTreeFindOther(Store, Parent);
    if (Other != NULL) {
        return Other;
    }

    return TraceTreeAddNode(Store, Parent, 0, 0, TRACE_NODE_OTHER);
}

//
// Gives the node of a call.
// FrameSize: the distance from RSP at the call up to the return address.
// Returns the node; NULL if its page cannot be had: then the store has
// stopped.
//

static
PTRACE_NODE
TraceTreeGetChild(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent,
    _In_ PCTRACE_TREE_CALL Call,
    _In_ ULONG FrameSize
    )
{
    PTRACE_TREE Tree;
    PTRACE_NODE Node;
    ULONG Flags;

    Tree = &Store->Tree;
    Node = TraceTreeFindChild(Store, Parent, Call->Site);
    if (Node == NULL) {
        if (TraceTreeFindOther(Store, Parent) != NULL ||
            2 * (Tree->NumberOfSites + 1) * TRACE_NODE_SIZE >
                Tree->NodesEnd - (ULONG_PTR)Tree->Nodes) {

            return TraceTreeGetOther(Store, Parent);
        }
        Flags = 0;
        if (Tree->ChronoBuckets != NULL) {
            if (TraceChronoIsListed(Store->Session, Call->Site)) {
                Flags |= TRACE_NODE_CHRONOLOGICAL;
            }
            if (TraceTreeIsAmbiguous(Store,
                                     Call->Site,
                                     Tree->Member->Module)) {

                Flags |= TRACE_NODE_HIDDEN;
            }
        }
        Node = TraceTreeAddNode(Store, Parent, Call->Site, Call->Kind, Flags);
        if (Node == NULL) {
            return NULL;
        }
        Node->FrameSize = FrameSize;
    }

    //
    // A function that its caller has inlined in one place and not in another.
    //

    if (Node->FrameSize > FrameSize) {
        Node->FrameSize = FrameSize;
    }
    if ((Node->Flags & TRACE_TREE_UNSEEN) == 0) {
        Parent->LastChild = (ULONG_PTR)Node;
    }
    return Node;
}

//
// Makes sure that a frame can be pushed.
// Returns FALSE if the stack in use has all the frames that it may have, or
// the store has stopped because a page cannot be had.
//

static
BOOLEAN
TraceTreeMakeRoom(
    _Inout_ PTRACE_STORE Store
    )
{
    NTSTATUS Status;
    PTRACE_TREE_STACK Stack;
    ULONGLONG Size;

    Stack = Store->Tree.Stack;
    if (Store->Header->Cursor + 2 * TRACE_FRAME_SIZE >
        TRACE_TREE_PREPARED(Stack)) {

        Size = Stack->End - TRACE_TREE_PREPARED(Stack);
        if (Size == 0) {
            return FALSE;
        }
        if (Size > TRACE_TREE_PREPARE_NEXT) {
            Size = TRACE_TREE_PREPARE_NEXT;
        }
        Store->Header->NumberOfInlinePreparations += 1;
        Status = TraceTreePrepare(Store, TRACE_TREE_PREPARED(Stack), Size);
        if (!NT_SUCCESS(Status)) {
            TraceStoreStop(Store, TRACE_REASON_PAGE_FAILED, Status);
            return FALSE;
        }
        TRACE_TREE_PREPARED(Stack) += Size;
    }

    TraceTreeSetLimit(Store);
    return TRUE;
}

//
// Says whether a call was made on the stack in use.
// Returns TRUE or FALSE.
//

static
BOOLEAN
TraceTreeIsCurrent(
    _In_ const TRACE_TREE *Tree,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    return Call->Stack - TRACE_TREE_HOOK_FRAME - Tree->StackLow <
           Tree->Stack->StackBase - Tree->StackLow;
}

//
// Comes before all that is done for a hook: a store that has stopped counts
// the event, one that something in the process has written over is stopped,
// and the stack in use is the thread's.
//
// Returns FALSE if the event has been dealt with.
//

static
BOOLEAN
TraceTreeBegin(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_TREE_STACK Stack;
    ULONGLONG Used;

    Header = Store->Header;
    Stack = Store->Tree.Stack;

    if ((Header->HookFlags & TRACE_TREE_HALTED) == 0) {
        Used = Header->Cursor - (ULONG_PTR)TRACE_TREE_FIRST_FRAME(Stack);
        if (Header->Cursor >= (ULONG_PTR)TRACE_TREE_FIRST_FRAME(Stack) &&
            Header->Cursor < TRACE_TREE_PREPARED(Stack) &&
            Used % TRACE_FRAME_SIZE == 0) {

            if (!TraceTreeIsCurrent(&Store->Tree, Call)) {
                TraceTreeSwitch(Store, Call);
            } else {
                TraceTreeUseStack(Store);
            }
            return TRUE;
        }

        Header->Cursor = (ULONG_PTR)TRACE_TREE_FIRST_FRAME(Stack);
        TraceStoreStop(Store, TRACE_REASON_INVARIANT, STATUS_INTERNAL_ERROR);
    }

    Header->NumberOfEventsLost += 1;
    return FALSE;
}

static
BOOLEAN
TraceTreeFindLayout(
    _In_ const TRACE_STORE *Store,
    _In_ ULONGLONG Place,
    _Out_ PTRACE_FRAME_LAYOUT Layout
    )
//
// As TraceFrameFind, for the module that the thread is in.
//
{
    return TraceFrameFind(Store->Session->ModuleBase,
                          Store->Session->Template->ModuleSize,
                          Place,
                          Layout);
}

static
BOOLEAN
TraceTreeIsSame(
    _In_ const TRACE_STORE *Store,
    _In_ const TRACE_FRAME *Frame,
    _In_ ULONG Site
    )
//
// Says whether a frame is one of a site of the module that the thread is in.
//
{
    const TRACE_NODE *Node;

    Node = (const TRACE_NODE *)(ULONG_PTR)Frame->Node;
    return Node->Site == Site && Node->Module == Store->Tree.Member->Module;
}

//
// Ends the calls that an entry of the -finstrument-functions convention shows
// gone.
//
// The hook is called in the body of the function, or of one that it was
// inlined into and whose stack pointer it then has. The same place in the code
// cannot come again at the same stack pointer before the function that it
// belongs to has ended. Where the function's own code calls the hook, and no
// call of it is open there, it is not inlined, and its return address tells
// what is gone.
//
// Layout: what the unwind data says of the place.
// Returns how far the return address is above RSP; 0 if the function is
// inlined.
//

static
ULONG
TraceTreeDropForFunction(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call,
    _In_ const TRACE_FRAME_LAYOUT *Layout
    )
{
    PTRACE_FRAME Frame;
    BOOLEAN IsInside;

    TraceTreeDropBelow(Store, Call->Stack, Call->Timestamp);

    IsInside = FALSE;
    for (Frame = TraceTreeTop(Store);
         Frame->Stack == Call->Stack;
         Frame -= 1) {

        if (Frame->Flags >> 32 == (ULONG)Call->Place) {
            TraceTreeDropTo(Store, Frame - 1, Call->Timestamp);
            IsInside = FALSE;
        } else if (TraceTreeIsSame(Store, Frame, Call->Site)) {
            IsInside = TRUE;
        }
    }

    if (IsInside || Layout->Function != Call->Site) {
        return 0;
    }

    TraceTreeDropBelow(Store,
                       Call->Stack + Layout->SizeInBytes + 1,
                       Call->Timestamp);
    return Layout->SizeInBytes;
}

//
// Does what an entry needs.
// Returns TRUE if the hook can do the rest.
//

static
BOOLEAN
TraceTreeDoEnter(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_FRAME Top;
    PTRACE_FRAME New;
    PTRACE_NODE Parent;
    PTRACE_NODE Node;
    ULONG FrameSize;
    ULONGLONG Stack;
    ULONGLONG Start;
    ULONGLONG Checked;
    BOOLEAN IsListed;
    BOOLEAN IsInRange;
    BOOLEAN IsRecorded;
    TRACE_FRAME_LAYOUT Layout;

    Header = Store->Header;
    (VOID)TraceTreeFindLayout(Store, Call->Place, &Layout);
    Stack = Call->Stack;
    if (Call->Kind == TRACE_KIND_ENTER) {
        FrameSize = Layout.SizeInBytes;
        if (Layout.HasChain) {
            Stack += sizeof(ULONGLONG);
        }
        TraceTreeDropBelow(Store, Stack + FrameSize + 1, Call->Timestamp);
    } else {
        FrameSize = TraceTreeDropForFunction(Store, Call, &Layout);
    }

    if (Store->Checked != Call->Stack) {
        TraceCallerCheckTree(Store, Call);
    }

    Top = TraceTreeTop(Store);
    Parent = (PTRACE_NODE)(ULONG_PTR)Top->Node;

    if (!TraceTreeMakeRoom(Store)) {

        //
        // All the frames are there that may be: the call is counted and not
        // timed.
        //

        Node = NULL;
        if ((Header->HookFlags & TRACE_TREE_HALTED) == 0) {
            Node = TraceTreeGetOther(Store, Parent);
        }
        if (Node == NULL) {
            Header->NumberOfEventsLost += 1;
            return FALSE;
        }
        RtlStoreRelease64(&Node->Calls, Node->Calls + 1);
        Header->NumberOfEventsTooDeep += 1;
        Store->Tree.NumberTooDeep += 1;
        if (TRACE_TREE_RANGE(Store->Tree.Stack) != 0 &&
            TraceChronoOpen(Store)) {

            TraceChronoAppend(Store, Call, TraceTreeReadClock(Store));
        }
        return FALSE;
    }

    Checked = Store->Checked;
    Store->Checked = 0;
    Node = TraceTreeGetChild(Store,
                             Parent,
                             Call,
                             Layout.HasChain && Call->Kind == TRACE_KIND_ENTER ?
                             TRACE_FRAME_SIZE_CHAIN : FrameSize);
    if (Node == NULL) {
        Header->NumberOfEventsLost += 1;
        return FALSE;
    }

    IsListed = (Node->Flags & TRACE_NODE_CHRONOLOGICAL) != 0;
    IsInRange = TRACE_TREE_RANGE(Store->Tree.Stack) != 0;

    //
    // The hook comes as far as this by itself: its time stamp is the better
    // one.
    //

    if ((Node->Flags & TRACE_TREE_UNSEEN) == 0 &&
        !IsInRange &&
        !Store->Tree.IsEnding &&
        ((Node->Flags & TRACE_NODE_OTHER) == 0 ||
         Parent->OtherChild == (ULONG_PTR)Node) &&
        (Node->FrameSize == TRACE_FRAME_SIZE_CHAIN ||
         Stack + Node->FrameSize < Top->Stack)) {

        if (Node->FrameSize != TRACE_FRAME_SIZE_CHAIN) {
            Store->Checked = Checked;
        }
        return TRUE;
    }

    //
    // What takes long comes before the call begins.  Each module has its own
    // records of what is called in a range, wherever that began.
    //

    IsRecorded = (IsListed || IsInRange) && TraceChronoOpen(Store);
    Start = Call->Timestamp;
    if (IsRecorded) {
        TraceChronoMakeRoom(Store);
        Start = TraceTreeReadClock(Store);
    }

    New = Top + 1;
    New->Stack = Stack;
    New->Node = (ULONG_PTR)Node;
    New->Flags = Call->Kind == TRACE_KIND_ENTER ? 0 : Call->Place << 32;
    New->Start = Start;
    RtlStoreRelease64(&Node->Calls, Node->Calls + 1);
    RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)New);

    if (IsRecorded) {
        if (!IsInRange) {
            TRACE_TREE_RANGE(Store->Tree.Stack) = (ULONG_PTR)New;
            TraceTreeUseStack(Store);
        }
        TraceChronoAppend(Store, Call, Start);
    }

    return FALSE;
}

//
// Says whether a frame may be one of a function.
// Site: the function, in the -finstrument-functions convention.
// Returns TRUE or FALSE.
//

static
BOOLEAN
TraceTreeIsOf(
    _In_ PTRACE_STORE Store,
    _In_ const TRACE_FRAME *Frame,
    _In_ ULONG Site
    )
{
    const TRACE_NODE *Node;

    Node = (const TRACE_NODE *)(ULONG_PTR)Frame->Node;
    return TraceTreeIsSame(Store, Frame, Site) ||
           (Node->Flags & TRACE_NODE_OTHER) != 0;
}

//
// Finds the frame of an exit of the -finstrument-functions convention, and
// ends the calls that it shows gone.
// Returns the frame, or NULL.
//

static
PTRACE_FRAME
TraceTreeFindFunction(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_FRAME Frame;
    PTRACE_FRAME Own;
    ULONG Count;
    TRACE_FRAME_LAYOUT Layout;

    //
    // A jump has put the stack pointer above all of the function's.
    //

    if (Call->IsJump) {
        Own = NULL;
        for (Frame = TraceTreeTop(Store);
             Frame->Stack < Call->Stack;
             Frame -= 1) {

            if (TraceTreeIsOf(Store, Frame, Call->Site)) {
                Own = Frame;
            }
        }
        if (Own == NULL) {
            TraceTreeDropBelow(Store, Call->Stack, Call->Timestamp);
        }
        return Own;
    }

    TraceTreeDropBelow(Store, Call->Stack, Call->Timestamp);
    for (Frame = TraceTreeTop(Store);
         Frame->Stack == Call->Stack;
         Frame -= 1) {

        if (TraceTreeIsOf(Store, Frame, Call->Site)) {
            return Frame;
        }
    }

    //
    // A function that has moved RSP since its entry; or a call without a frame.
    //

    if (Store->Tree.NumberTooDeep != 0 ||
        !TraceTreeFindLayout(Store, Call->Place, &Layout) ||
        !Layout.IsDynamic) {

        return NULL;
    }

    Frame = TraceTreeTop(Store);
    for (Count = 0;
         Count < TREE_SEARCH && Frame->Stack != MAXULONG64;
         Count += 1) {

        if (TraceTreeIsSame(Store, Frame, Call->Site)) {
            return Frame;
        }
        Frame -= 1;
    }

    return NULL;
}

//
// Finds the frame of an exit, and ends the calls that it shows gone.
// Returns the frame, or NULL.
//

static
PTRACE_FRAME
TraceTreeFindOwn(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_FRAME Frame;
    ULONG Count;
    ULONG Base;
    PTRACE_NODE Node;
    TRACE_FRAME_LAYOUT Layout;
    TRACE_FRAME_LAYOUT Entry;

    TraceTreeDropBelow(Store, Call->Stack, Call->Timestamp);
    Frame = TraceTreeTop(Store);
    if (Frame->Stack == Call->Stack) {
        return Frame;
    }

    //
    // A function that has moved RSP since its entry: only the code tells whose
    // exit this is.  Or a call without a frame.
    //

    if (Store->Tree.NumberTooDeep != 0 ||
        !TraceTreeFindLayout(Store, Call->Place, &Layout)) {

        return NULL;
    }

    Base = (ULONG)(ULONG_PTR)Store->Session->ModuleBase;
    for (Count = 0;
         Count < TREE_SEARCH && Frame->Stack != MAXULONG64;
         Count += 1) {

        Node = (PTRACE_NODE)(ULONG_PTR)Frame->Node;
        if (Node->Kind == TRACE_KIND_ENTER &&
            Node->Module == Store->Tree.Member->Module &&
            TraceTreeFindLayout(Store,
                                (ULONG_PTR)Store->Session->ModuleBase +
                                (ULONG)(Node->Site - Base),
                                &Entry) &&
            Entry.Function == Layout.Function) {

            return Frame;
        }
        if (!Layout.IsDynamic) {
            break;
        }
        Frame -= 1;
    }

    return NULL;
}

//
// Does what an exit needs.
//

static
VOID
TraceTreeDoExit(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
{
    PTRACE_FRAME Frame;
    BOOLEAN IsInRange;

    if (Call->Kind == TRACE_KIND_EXIT) {
        Frame = TraceTreeFindOwn(Store, Call);
    } else {
        Frame = TraceTreeFindFunction(Store, Call);
    }

    if (Frame != NULL) {
        TraceTreeDropTo(Store, Frame, Call->Timestamp);
    }
    IsInRange = TRACE_TREE_RANGE(Store->Tree.Stack) != 0;

    if (Frame != NULL) {
        TraceTreePop(Store, Call->Timestamp, TRUE);
    } else if (Store->Tree.NumberTooDeep != 0) {
        Store->Tree.NumberTooDeep -= 1;
    } else {
        Store->Header->NumberOfUnmatchedExits += 1;
    }

    if (IsInRange && Store->Tree.Member->Entry->Tree.Chrono != NULL) {
        TraceChronoAppend(Store, Call, Call->Timestamp);
    }
}

//
// Counts what the slow path has taken; of a thread that is ending, this may be
// the last.
// Ticks: the time stamp counter when it began.
//

static
VOID
TraceTreeCountTicks(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Ticks
    )
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (Store->Tree.IsEnding) {
        TraceTreeSetAnchor(Store);
    }

    Ticks = __rdtsc() - Ticks;
    Header->InlineTicks += Ticks;
    if (Header->MaximumInlineTicks < Ticks) {
        Header->MaximumInlineTicks = Ticks;
    }
}

_Use_decl_annotations_
BOOLEAN
TraceTreeEnter(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call
    )
{
    ULONGLONG Ticks;
    BOOLEAN Again;

    Ticks = __rdtsc();
    Again = TraceTreeBegin(Store, Call) && TraceTreeDoEnter(Store, Call);
    TraceTreeCountTicks(Store, Ticks);
    return Again;
}

_Use_decl_annotations_
VOID
TraceTreeExit(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call
    )
{
    ULONGLONG Ticks;

    Ticks = __rdtsc();
    if (TraceTreeBegin(Store, Call)) {
        TraceTreeDoExit(Store, Call);
    }
    TraceTreeCountTicks(Store, Ticks);
}
