/*++

Module Name:

    TraceTree.c

Abstract:

    Stores of TRACE_MODE_TREE: making one, what the hooks (PenterTree.asm)
    cannot do by themselves, stopping, starting and clearing, and the end.

    The file is mapped as a whole:

        header | the thread's own stack and its open frames | nodes -> ...
                                    ... <- the frames of its fibers' stacks

    Nodes grow upwards and are never moved.  For each node there is room for one
    more, its child that all is charged to when there is no room for others.

    The hook touches no page but those that were prepared here, under __try: a
    disk that is full is met in this file.

--*/

#include "TraceStore.h"

#define TEB_STACK_BASE              0x08
#define TEB_DEALLOCATION_STACK      0x1478

//
// How much is prepared at once: at first, and later.
//

#define TREE_PREPARE_FIRST          0x4000
#define TREE_PREPARE_NEXT           0x10000

#define TREE_PAGE_SIZE              0x1000

//
// How many bytes of frames there is room for: so much for each byte of the
// stack, but no more than a part of the file for the thread's own stack, and no
// more than a part of what is left for a fiber's.
//

#define TREE_FRAMES_FACTOR          2
#define TREE_OWN_PART               4
#define TREE_FIBER_PART             32

//
// A stack that the thread environment block says nothing of is taken for one
// that is that large, and lies at a multiple of that.
//

#define TREE_UNKNOWN_RESERVE        0x10000
#define TREE_MAXIMUM_RESERVE        0x40000000

#define TREE_FIRST_BUCKETS          512

//
// How many frames are looked at for the entry of a function that moves RSP.
//

#define TREE_SEARCH                 4096

#define TREE_FIRST_FRAME(Stack) \
    ((PTRACE_FRAME)((PBYTE)(Stack) + sizeof(TRACE_TREE_STACK)))

//
// End of the pages of a stack's frames that are prepared, a writer address.
//

#define TREE_PREPARED(Stack)        ((Stack)->Reserved[0])

//
// Lowest address of a stack.
//

#define TREE_STACK_LOW(Stack)       ((Stack)->Reserved[1])

//
// The outermost frame of a chronological range that is open on a stack, a
// writer address; 0 if none is.
//

#define TREE_RANGE(Stack)           ((Stack)->Reserved[2])

#define TREE_HALTED                 (TRACE_HOOK_STOPPED | TRACE_HOOK_PAUSED)

//
// What is done to all open frames.
//

typedef enum _TREE_VISIT {
    TreeVisitHalt,
    TreeVisitStart,
    TreeVisitClear
} TREE_VISIT;

static
PTRACE_TREE_STACK
TraceTreeStackAt(
    _In_ PTRACE_STORE Store,
    _In_ ULONGLONG FileOffset
    )
/*++

Routine Description:

    Gives the stack at a file offset.

Arguments:

    Store - Supplies the store.

    FileOffset - Supplies the offset; 0 is none.

Return Value:

    The stack, or NULL.

--*/
{
    return FileOffset == 0 ? NULL :
           (PTRACE_TREE_STACK)(Store->Current.Base + FileOffset);
}

static
PTRACE_FRAME
TraceTreeTop(
    _In_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Gives the innermost frame of the stack in use.

Arguments:

    Store - Supplies the store.

Return Value:

    The frame; the first of all if no call is open.

--*/
{
    return (PTRACE_FRAME)(ULONG_PTR)Store->Header->Cursor;
}

static
VOID
TraceTreeUseStack(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Tells the hook which stack is in use.  While a chronological range is open
    on it, the hook is told that it has no place, and so leaves every call to
    this file.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    PTRACE_TREE Tree;

    Tree = &Store->Tree;
    Tree->StackLow = TREE_STACK_LOW(Tree->Stack);
    Tree->StackSize = TREE_RANGE(Tree->Stack) != 0 ?
                      0 : Tree->Stack->StackBase - Tree->StackLow;
}

static
ULONGLONG
TraceTreeReadClock(
    _In_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Reads the store's clock.

Arguments:

    Store - Supplies the store.

Return Value:

    The time stamp.

--*/
{
    ULONGLONG volatile *Place;

    Place = Store->Session->Clock.Place;
    return Store->Header->Clock == TRACE_CLOCK_THREAD && Place != NULL ?
           *Place : __rdtsc();
}

static
VOID
TraceTreeBeginChange(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes Generation odd: a reader waits.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    RtlStoreRelease32(&Store->Header->Generation,
                      Store->Header->Generation | 1);
}

static
VOID
TraceTreeEndChange(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes Generation even.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    RtlStoreRelease32(&Store->Header->Generation,
                      (Store->Header->Generation | 1) + 1);
}

static
NTSTATUS
TraceTreePrepare(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Address,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Makes pages of the store present, writable and empty.

Arguments:

    Store - Supplies the store.

    Address - Supplies the first page.

    SizeInBytes - Supplies the size, a multiple of 4,096, TREE_PREPARE_NEXT at
        most.

Return Value:

    STATUS_SUCCESS or why they cannot be had.

--*/
{
    TRACE_VIEW View;

    RtlZeroBytes(&View, sizeof(View));
    View.Base = (PBYTE)(ULONG_PTR)Address;
    View.FileOffset = Address - (ULONG_PTR)Store->Current.Base;
    View.Position = View.FileOffset;
    View.SizeInBytes = SizeInBytes;
    return TraceViewPrepare(Store->Session, Store->File, &View, SizeInBytes);
}

static
BOOLEAN
TraceTreeGetRange(
    _In_ ULONGLONG Stack,
    _Out_ PULONGLONG Low,
    _Out_ PULONGLONG Size
    )
/*++

Routine Description:

    Tells where the stack is that the thread runs on.  What the system knows of
    is in the thread environment block; a program may have moved RSP elsewhere
    by itself.

Arguments:

    Stack - Supplies RSP.

    Low - Receives the lowest address.

    Size - Receives the size in bytes.

Return Value:

    FALSE if the system does not know this stack.

--*/
{
    *Low = __readgsqword(TEB_DEALLOCATION_STACK);
    *Size = __readgsqword(TEB_STACK_BASE) - *Low;
    if (Stack - *Low < *Size && *Size <= TREE_MAXIMUM_RESERVE) {
        return TRUE;
    }

    *Low = Stack / TREE_UNKNOWN_RESERVE * TREE_UNKNOWN_RESERVE;
    *Size = TREE_UNKNOWN_RESERVE;
    return FALSE;
}

static
VOID
TraceTreeInitializeStack(
    _In_ PTRACE_STORE Store,
    _Out_ PTRACE_TREE_STACK Stack,
    _In_ ULONGLONG End,
    _In_ ULONGLONG Prepared,
    _In_ ULONGLONG Low,
    _In_ ULONGLONG Size
    )
/*++

Routine Description:

    Makes an empty stack.

Arguments:

    Store - Supplies the store.

    Stack - Receives it.

    End - Supplies the end of its room, a writer address.

    Prepared - Supplies the end of its pages that are prepared.

    Low, Size - Supply where it is.

Return Value:

    None.

--*/
{
    PTRACE_FRAME First;

    First = TREE_FIRST_FRAME(Stack);
    First->Stack = MAXULONG64;
    First->Start = 0;
    First->Node = (ULONG_PTR)Store->Tree.Nodes;
    First->Flags = 0;

    Stack->StackBase = Low + Size;
    Stack->Top = (ULONG_PTR)First;
    Stack->End = End;
    Stack->LeftTimestamp = 0;
    TREE_PREPARED(Stack) = Prepared;
    TREE_STACK_LOW(Stack) = Low;
    TREE_RANGE(Stack) = 0;
}

_Use_decl_annotations_
NTSTATUS
TraceTreeOpen(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes the tree of a new store: a root, and the thread's own stack without an
    open frame.

Arguments:

    Store - Supplies the store, whose view is mapped, with TRACE_PREPARE_FIRST
        bytes of it prepared.

Return Value:

    STATUS_SUCCESS, or why there is no memory or no page.

--*/
{
    NTSTATUS Status;
    PTRACE_TREE Tree;
    PBYTE Base;
    PVOID Buckets;
    ULONGLONG Room;
    ULONGLONG Low;
    ULONGLONG Size;
    PTRACE_NODE Root;

    Tree = &Store->Tree;
    Base = Store->Current.Base;

    (VOID)TraceTreeGetRange((ULONG_PTR)&Room, &Low, &Size);
    Room = Size * TREE_FRAMES_FACTOR;
    if (Room > Store->Current.SizeInBytes / TREE_OWN_PART) {
        Room = Store->Current.SizeInBytes / TREE_OWN_PART;
    }
    Room = (Room + TRACE_HEADER_SIZE + TRACE_VIEW_MINIMUM_SIZE - 1) /
           TRACE_VIEW_MINIMUM_SIZE * TRACE_VIEW_MINIMUM_SIZE;

    Tree->Nodes = (PTRACE_NODE)(Base + Room);
    Tree->NodesEnd = (ULONG_PTR)Base + Store->Current.SizeInBytes;
    Tree->NodesPrepared = (ULONG_PTR)Tree->Nodes;
    Status = TraceTreePrepare(Store, Tree->NodesPrepared, TREE_PREPARE_FIRST);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Tree->NodesPrepared += TREE_PREPARE_FIRST;

    Status = RtlAllocatePages(&Store->Session->Rtl,
                              TREE_FIRST_BUCKETS * sizeof(PTRACE_NODE),
                              &Buckets);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Tree->Buckets = (PTRACE_NODE *)Buckets;
    Tree->Mask = TREE_FIRST_BUCKETS - 1;

    if (Store->Session->NumberOfChrono != 0) {
        Status = RtlAllocatePages(&Store->Session->Rtl,
                                  TRACE_CHRONO_BUCKETS * sizeof(PTRACE_NODE),
                                  &Buckets);
        if (!NT_SUCCESS(Status)) {
            RtlFreePages(&Store->Session->Rtl, Tree->Buckets);
            return Status;
        }
        Tree->ChronoBuckets = (PTRACE_NODE *)Buckets;
    }

    Root = Tree->Nodes;
    Root->Minimum = MAXULONG64;
    Root->LastChild = (ULONG_PTR)Root;
    Tree->NumberOfSites = 1;

    Tree->Stack = (PTRACE_TREE_STACK)(Base + TRACE_TREE_FIRST_STACK);
    TraceTreeInitializeStack(Store,
                             Tree->Stack,
                             (ULONG_PTR)Tree->Nodes,
                             (ULONG_PTR)Base +
                             Store->Current.PreparedInBytes,
                             Low,
                             Size);
    TraceTreeUseStack(Store);
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
TraceTreeDescribe(
    PTRACE_STORE Store,
    PTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Fills the fields of a header that are different in the store of a tree.

Arguments:

    Store - Supplies the store.

    Header - Supplies the header.

Return Value:

    None.

--*/
{
    PTRACE_TREE Tree;
    ULONG_PTR Base;

    Tree = &Store->Tree;
    Base = (ULONG_PTR)Store->Current.Base;
    Header->BaseAddress = Base;
    Header->NodesFileOffset = (ULONG_PTR)Tree->Nodes - Base;
    Header->NumberOfNodes = 1;
    Header->StackFileOffset = TRACE_TREE_FIRST_STACK;
    Header->Cursor = (ULONG_PTR)TREE_FIRST_FRAME(Tree->Stack);
    Header->Limit = TREE_PREPARED(Tree->Stack) - TRACE_FRAME_SIZE;
}

_Use_decl_annotations_
VOID
TraceTreeSetLimit(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Lets the hook push frames as far as pages are prepared.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;

    //
    // A frame is pushed behind the innermost one if that begins below the
    // limit.
    //
    // Who wants the owner to come by sets Attention first and the limit then
    // (TraceControl.c).  After the exchange, which nothing passes, either that
    // is seen here, or the limit that is set there is the last.
    //

    Header = Store->Header;
    InterlockedExchange64((LONGLONG volatile *)&Header->Limit,
                          (Header->HookFlags & TREE_HALTED) != 0 ? 0 :
                          (LONGLONG)(TREE_PREPARED(Store->Tree.Stack) -
                                     TRACE_FRAME_SIZE));
    if (Store->Attention) {
        RtlStoreRelease64(&Header->Limit, 0);
    }
}

static
ULONGLONG
TraceTreeElapsed(
    _In_ ULONGLONG Since,
    _In_ ULONGLONG Now
    )
/*++

Routine Description:

    Computes a time.

Arguments:

    Since, Now - Supply the time stamps.

Return Value:

    The ticks between them; 0 if the counter has gone back.

--*/
{
    return Now > Since ? Now - Since : 0;
}

static
VOID
TraceTreePop(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Now,
    _In_ BOOLEAN IsExit
    )
/*++

Routine Description:

    Ends the innermost open call.

Arguments:

    Store - Supplies the store, which has an open call.

    Now - Supplies when.

    IsExit - Supplies whether this is its own exit.  If not, when it was left is
        not known, only that it was before.

Return Value:

    None.

--*/
{
    PTRACE_FRAME Frame;
    PTRACE_NODE Node;
    ULONGLONG Ticks;

    Frame = TraceTreeTop(Store);
    Node = (PTRACE_NODE)(ULONG_PTR)Frame->Node;
    Ticks = TraceTreeElapsed(Frame->Start, Now);

    if (IsExit || (Frame->Flags & TRACE_FRAME_STALE) == 0) {
        if (Frame[-1].Node != Frame->Node) {
            RtlStoreRelease64(&Node->Total, Node->Total + Ticks);
            if (IsExit) {
                if (Node->Minimum == MAXULONG64) {
                    Node->First = Ticks;
                }
                if (Node->Minimum > Ticks) {
                    Node->Minimum = Ticks;
                }
                if (Node->Maximum < Ticks) {
                    Node->Maximum = Ticks;
                }
            }
        }
        if (!IsExit) {
            Node->Abandoned += 1;
        }
    }

    Store->Tree.NumberTooDeep = 0;
    RtlStoreRelease64(&Store->Header->Cursor, (ULONG_PTR)(Frame - 1));

    if (TREE_RANGE(Store->Tree.Stack) == (ULONG_PTR)Frame) {
        TREE_RANGE(Store->Tree.Stack) = 0;
        TraceTreeUseStack(Store);
    }
}

static
VOID
TraceTreeDropBelow(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Stack,
    _In_ ULONGLONG Now
    )
/*++

Routine Description:

    Ends the calls whose stack pointers are below a value.

Arguments:

    Store - Supplies the store.

    Stack - Supplies the value.

    Now - Supplies when.

Return Value:

    None.

--*/
{
    while (TraceTreeTop(Store)->Stack < Stack) {
        TraceTreePop(Store, Now, FALSE);
    }
}

static
VOID
TraceTreeDropTo(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_FRAME Frame,
    _In_ ULONGLONG Now
    )
/*++

Routine Description:

    Ends the calls inside a frame.

Arguments:

    Store - Supplies the store.

    Frame - Supplies the frame, which stays.

    Now - Supplies when.

Return Value:

    None.

--*/
{
    while (TraceTreeTop(Store) > Frame) {
        TraceTreePop(Store, Now, FALSE);
    }
}

static
ULONG
TraceTreeHash(
    _In_ const TRACE_TREE *Tree,
    _In_ const TRACE_NODE *Parent,
    _In_ ULONG Site
    )
/*++

Routine Description:

    Gives the bucket of a node.  PenterTree.asm does the same.

Arguments:

    Tree - Supplies the tree.

    Parent - Supplies the node's parent.

    Site - Supplies its site.

Return Value:

    The index of the bucket.

--*/
{
    ULONG Hash;

    Hash = ((ULONG)(ULONG_PTR)Parent >> 3 ^ Site) * TRACE_TREE_HASH;
    return Hash >> TRACE_TREE_HASH_SHIFT & Tree->Mask;
}

static
PTRACE_NODE *
TraceTreeChronoBucket(
    _In_ const TRACE_TREE *Tree,
    _In_ const TRACE_NODE *Parent,
    _In_ ULONG Site
    )
/*++

Routine Description:

    Gives the bucket of a node that the hook must not find: one of a
    chronological function, or, where there are such functions, that of
    TRACE_NODE_OTHER, whose site is 0.

Arguments:

    Tree - Supplies the tree, which has such buckets.

    Parent - Supplies the node's parent.

    Site - Supplies its site.

Return Value:

    The bucket.

--*/
{
    ULONG Hash;

    Hash = ((ULONG)(ULONG_PTR)Parent >> 3 ^ Site) * TRACE_TREE_HASH;
    return &Tree->ChronoBuckets[Hash >> TRACE_TREE_HASH_SHIFT &
                                (TRACE_CHRONO_BUCKETS - 1)];
}

static
PTRACE_NODE
TraceTreeFindChild(
    _In_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent,
    _In_ ULONG Site
    )
/*++

Routine Description:

    Finds a node.

Arguments:

    Store - Supplies the store.

    Parent - Supplies its parent.

    Site - Supplies its site.

Return Value:

    The node, or NULL.

--*/
{
    PTRACE_TREE Tree;
    PTRACE_NODE Node;
    ULONGLONG Index;

    Tree = &Store->Tree;
    Index = (ULONGLONG)(Parent - Tree->Nodes);
    if (Tree->ChronoBuckets != NULL) {
        for (Node = *TraceTreeChronoBucket(Tree, Parent, Site);
             Node != NULL;
             Node = (PTRACE_NODE)(ULONG_PTR)Node->HashNext) {

            if (Node->Site == Site && Node->Parent == Index) {
                return Node;
            }
        }
    }

    Node = Tree->Buckets[TraceTreeHash(Tree, Parent, Site)];
    while (Node != NULL && (Node->Site != Site || Node->Parent != Index)) {
        Node = (PTRACE_NODE)(ULONG_PTR)Node->HashNext;
    }

    return Node;
}

static
VOID
TraceTreeGrowBuckets(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes four times as many buckets.  If there is no memory the lists get
    longer instead.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
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
        if ((Node->Flags &
             (TRACE_NODE_OTHER | TRACE_NODE_CHRONOLOGICAL)) == 0) {

            Bucket = &Tree->Buckets[TraceTreeHash(Tree,
                                                  &Tree->Nodes[Node->Parent],
                                                  Node->Site)];
            Node->HashNext = (ULONG_PTR)*Bucket;
            *Bucket = Node;
        }
    }

    RtlFreePages(&Store->Session->Rtl, Old);
}

static
VOID
TraceTreeSetAnchor(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Writes the clocks into the header, for a store that will not be closed.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    RTL_CLOCK_READING Reading;

    RtlReadClocks(&Store->Session->Rtl, &Reading);
    TraceStoreSetAnchor(&Store->Header->LastAnchor, &Reading);
    TraceClockDescribe(Store->Session, Store->Header);
}

static
PTRACE_NODE
TraceTreeAddNode(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent,
    _In_ ULONG Site,
    _In_ ULONG Kind,
    _In_ ULONG Flags
    )
/*++

Routine Description:

    Adds a node.

Arguments:

    Store - Supplies the store, which has room for it.

    Parent - Supplies its parent.

    Site - Supplies its site.

    Kind - Supplies the kind of its entries.

    Flags - Supplies TRACE_NODE_OTHER, TRACE_NODE_CHRONOLOGICAL or 0.

Return Value:

    The node; NULL if its page cannot be had: then the store has stopped.

--*/
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
        if (Size > TREE_PREPARE_NEXT) {
            Size = TREE_PREPARE_NEXT;
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
    if ((Flags & TRACE_NODE_OTHER) != 0) {
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

static
PTRACE_NODE
TraceTreeFindOther(
    _In_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent
    )
/*++

Routine Description:

    Finds the child of a node that all is charged to that has no node.

Arguments:

    Store - Supplies the store.

    Parent - Supplies the node.

Return Value:

    The child, or NULL.

--*/
{
    if (Parent->OtherChild == 0 && Store->Tree.ChronoBuckets != NULL) {
        return TraceTreeFindChild(Store, Parent, 0);
    }

    return (PTRACE_NODE)(ULONG_PTR)Parent->OtherChild;
}

static
PTRACE_NODE
TraceTreeGetOther(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent
    )
/*++

Routine Description:

    Gives the child of a node that all is charged to that has no node.  There is
    always room for it.

Arguments:

    Store - Supplies the store.

    Parent - Supplies the node.

Return Value:

    The child; NULL if its page cannot be had: then the store has stopped.

--*/
{
    PTRACE_NODE Other;

    Other = TraceTreeFindOther(Store, Parent);
    if (Other != NULL) {
        return Other;
    }

    return TraceTreeAddNode(Store, Parent, 0, 0, TRACE_NODE_OTHER);
}

static
PTRACE_NODE
TraceTreeGetChild(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_NODE Parent,
    _In_ PCTRACE_TREE_CALL Call,
    _In_ ULONG FrameSize
    )
/*++

Routine Description:

    Gives the node of a call.

Arguments:

    Store - Supplies the store.

    Parent - Supplies the caller's node.

    Call - Supplies the call.

    FrameSize - Supplies the distance from RSP at the call up to the return
        address.

Return Value:

    The node; NULL if its page cannot be had: then the store has stopped.

--*/
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
        Flags = Tree->ChronoBuckets != NULL &&
                TraceChronoIsListed(Store->Session, Call->Site) ?
                TRACE_NODE_CHRONOLOGICAL : 0;
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
    if ((Node->Flags & TRACE_NODE_CHRONOLOGICAL) == 0) {
        Parent->LastChild = (ULONG_PTR)Node;
    }
    return Node;
}

static
PTRACE_TREE_STACK
TraceTreeCarveStack(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Low,
    _In_ ULONGLONG Size
    )
/*++

Routine Description:

    Makes room for the frames of one more stack.

Arguments:

    Store - Supplies the store.

    Low, Size - Supply where the stack is.

Return Value:

    The stack; NULL if there is no room or no page for it.

--*/
{
    PTRACE_TREE Tree;
    PTRACE_TREE_STACK First;
    PTRACE_TREE_STACK Stack;
    ULONGLONG Used;
    ULONGLONG Room;
    ULONGLONG Prepared;

    Tree = &Store->Tree;
    Used = (ULONG_PTR)(Tree->Nodes + 2 * Tree->NumberOfSites + 2);
    if (Used > Tree->NodesEnd - TREE_PAGE_SIZE) {
        return NULL;
    }

    Room = (Tree->NodesEnd - Used) / TREE_FIBER_PART;
    if (Room > Size * TREE_FRAMES_FACTOR) {
        Room = Size * TREE_FRAMES_FACTOR;
    }
    Room = Room / TREE_PAGE_SIZE * TREE_PAGE_SIZE;
    if (Room == 0) {
        Room = TREE_PAGE_SIZE;
    }

    Prepared = Room < TREE_PREPARE_FIRST ? Room : TREE_PREPARE_FIRST;
    Stack = (PTRACE_TREE_STACK)(ULONG_PTR)(Tree->NodesEnd - Room);
    if (!NT_SUCCESS(TraceTreePrepare(Store, (ULONG_PTR)Stack, Prepared))) {
        return NULL;
    }

    TraceTreeInitializeStack(Store,
                             Stack,
                             Tree->NodesEnd,
                             (ULONG_PTR)Stack + Prepared,
                             Low,
                             Size);
    Tree->NodesEnd -= Room;

    First = TraceTreeStackAt(Store, TRACE_TREE_FIRST_STACK);
    Stack->NextFileOffset = First->NextFileOffset;
    RtlStoreRelease64(&First->NextFileOffset,
                      (ULONGLONG)((PBYTE)Stack - Store->Current.Base));
    return Stack;
}

static
VOID
TraceTreeSwitch(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Goes over to the frames of the stack that the thread runs on.  Where there
    is no room for them, the stack that was left longest ago makes room: it is
    probably gone.  And so is one at the same place of which the system says
    something else now.

Arguments:

    Store - Supplies the store.

    Call - Supplies the call.

Return Value:

    None.

--*/
{
    PTRACE_TREE Tree;
    PTRACE_STORE_HEADER Header;
    PTRACE_TREE_STACK Stack;
    PTRACE_TREE_STACK Oldest;
    PTRACE_TREE_STACK Found;
    PTRACE_FRAME Top;
    PTRACE_NODE Node;
    ULONGLONG Low;
    ULONGLONG Size;
    BOOLEAN IsKnown;
    BOOLEAN IsGone;

    Tree = &Store->Tree;
    Header = Store->Header;
    IsKnown = TraceTreeGetRange(Call->Stack - TRACE_TREE_HOOK_FRAME,
                                &Low,
                                &Size);

    Found = NULL;
    Oldest = NULL;
    for (Stack = TraceTreeStackAt(Store, TRACE_TREE_FIRST_STACK);
         Stack != NULL;
         Stack = TraceTreeStackAt(Store, Stack->NextFileOffset)) {

        if (Call->Stack - TRACE_TREE_HOOK_FRAME - TREE_STACK_LOW(Stack) <
            Stack->StackBase - TREE_STACK_LOW(Stack)) {

            Found = Stack;
            if (!IsKnown ||
                (Low == TREE_STACK_LOW(Stack) &&
                 Low + Size == Stack->StackBase)) {

                break;
            }
        }
        if (Stack != Tree->Stack &&
            (Oldest == NULL || Oldest->LeftTimestamp > Stack->LeftTimestamp)) {

            Oldest = Stack;
        }
    }

    IsGone = FALSE;
    if (Found == NULL) {
        Found = TraceTreeCarveStack(Store, Low, Size);
        if (Found == NULL) {
            Found = Oldest != NULL ? Oldest : Tree->Stack;
            IsGone = TRUE;
        }
    } else if (Stack == NULL) {
        IsGone = TRUE;
    }

    TraceTreeBeginChange(Store);

    Tree->Stack->Top = Header->Cursor;
    Tree->Stack->LeftTimestamp = Call->Timestamp;
    Tree->NumberTooDeep = 0;

    if (IsGone) {
        Header->Cursor = Found->Top;
        while (TraceTreeTop(Store) != TREE_FIRST_FRAME(Found)) {
            TraceTreePop(Store, Found->LeftTimestamp, FALSE);
        }
        Found->Top = Header->Cursor;
        Found->LeftTimestamp = 0;
        Found->StackBase = Low + Size;
        TREE_STACK_LOW(Found) = Low;
        TREE_RANGE(Found) = 0;
    }

    Top = (PTRACE_FRAME)(ULONG_PTR)Found->Top;
    if (Found->LeftTimestamp != 0) {
        Node = (PTRACE_NODE)(ULONG_PTR)Top->Node;
        RtlStoreRelease64(&Node->Away,
                          Node->Away +
                          TraceTreeElapsed(Found->LeftTimestamp,
                                           Call->Timestamp));
        Found->LeftTimestamp = 0;
    }

    Tree->Stack = Found;
    TraceTreeUseStack(Store);
    RtlStoreRelease64(&Header->StackFileOffset,
                      (ULONGLONG)((PBYTE)Found - Store->Current.Base));
    RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)Top);
    TraceTreeSetLimit(Store);
    TraceTreeEndChange(Store);
}

static
BOOLEAN
TraceTreeMakeRoom(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes sure that a frame can be pushed.

Arguments:

    Store - Supplies the store.

Return Value:

    FALSE if the stack in use has all the frames that it may have, or the store
    has stopped because a page cannot be had.

--*/
{
    NTSTATUS Status;
    PTRACE_TREE_STACK Stack;
    ULONGLONG Size;

    Stack = Store->Tree.Stack;
    if (Store->Header->Cursor + 2 * TRACE_FRAME_SIZE > TREE_PREPARED(Stack)) {
        Size = Stack->End - TREE_PREPARED(Stack);
        if (Size == 0) {
            return FALSE;
        }
        if (Size > TREE_PREPARE_NEXT) {
            Size = TREE_PREPARE_NEXT;
        }
        Store->Header->NumberOfInlinePreparations += 1;
        Status = TraceTreePrepare(Store, TREE_PREPARED(Stack), Size);
        if (!NT_SUCCESS(Status)) {
            TraceStoreStop(Store, TRACE_REASON_PAGE_FAILED, Status);
            return FALSE;
        }
        TREE_PREPARED(Stack) += Size;
    }

    TraceTreeSetLimit(Store);
    return TRUE;
}

static
BOOLEAN
TraceTreeIsCurrent(
    _In_ const TRACE_TREE *Tree,
    _In_ PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Says whether a call was made on the stack in use.

Arguments:

    Tree - Supplies the tree.

    Call - Supplies the call.

Return Value:

    TRUE or FALSE.

--*/
{
    return Call->Stack - TRACE_TREE_HOOK_FRAME - Tree->StackLow <
           Tree->Stack->StackBase - Tree->StackLow;
}

static
BOOLEAN
TraceTreeBegin(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Comes before all that is done for a hook: a store that has stopped counts
    the event, one that something in the process has written over is stopped,
    and the stack in use is the thread's.

Arguments:

    Store - Supplies the store.

    Call - Supplies the call.

Return Value:

    FALSE if the event has been dealt with.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_TREE_STACK Stack;
    ULONGLONG Used;

    Header = Store->Header;
    Stack = Store->Tree.Stack;

    if ((Header->HookFlags & TREE_HALTED) == 0) {
        Used = Header->Cursor - (ULONG_PTR)TREE_FIRST_FRAME(Stack);
        if (Header->Cursor >= (ULONG_PTR)TREE_FIRST_FRAME(Stack) &&
            Header->Cursor < TREE_PREPARED(Stack) &&
            Used % TRACE_FRAME_SIZE == 0) {

            if (!TraceTreeIsCurrent(&Store->Tree, Call)) {
                TraceTreeSwitch(Store, Call);
            } else {
                TraceTreeUseStack(Store);
            }
            return TRUE;
        }

        Header->Cursor = (ULONG_PTR)TREE_FIRST_FRAME(Stack);
        TraceStoreStop(Store, TRACE_REASON_INVARIANT, STATUS_INTERNAL_ERROR);
    }

    Header->NumberOfEventsLost += 1;
    return FALSE;
}

static
ULONG
TraceTreeDropForFunction(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call,
    _In_ const TRACE_FRAME_LAYOUT *Layout
    )
/*++

Routine Description:

    Ends the calls that an entry of the -finstrument-functions convention shows
    gone.

    The hook is called in the body of the function, or of one that it was
    inlined into and whose stack pointer it then has.  The same place in the
    code cannot come again at the same stack pointer before the function that
    it belongs to has ended.  Where the function's own code calls the hook, and
    no call of it is open there, it is not inlined, and its return address tells
    what is gone.

Arguments:

    Store - Supplies the store.

    Call - Supplies the entry.

    Layout - Supplies what the unwind data says of the place.

Return Value:

    How far the return address is above RSP; 0 if the function is inlined.

--*/
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
        } else if (((PTRACE_NODE)(ULONG_PTR)Frame->Node)->Site == Call->Site) {
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

static
BOOLEAN
TraceTreeDoEnter(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Does what an entry needs.

Arguments:

    Store - Supplies the store.

    Call - Supplies the entry.

Return Value:

    TRUE if the hook can do the rest.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_FRAME Top;
    PTRACE_FRAME New;
    PTRACE_NODE Parent;
    PTRACE_NODE Node;
    ULONG FrameSize;
    ULONGLONG Start;
    BOOLEAN IsListed;
    BOOLEAN IsInRange;
    TRACE_FRAME_LAYOUT Layout;

    Header = Store->Header;
    (VOID)TraceFrameFind(Store->Session->ModuleBase,
                         Header->ModuleSize,
                         Call->Place,
                         &Layout);
    if (Call->Kind == TRACE_KIND_ENTER) {
        FrameSize = Layout.SizeInBytes;
        TraceTreeDropBelow(Store,
                           Call->Stack + FrameSize + 1,
                           Call->Timestamp);
    } else {
        FrameSize = TraceTreeDropForFunction(Store, Call, &Layout);
    }

    Top = TraceTreeTop(Store);
    Parent = (PTRACE_NODE)(ULONG_PTR)Top->Node;

    if (!TraceTreeMakeRoom(Store)) {

        //
        // All the frames are there that may be: the call is counted and not
        // timed.
        //

        Node = NULL;
        if ((Header->HookFlags & TREE_HALTED) == 0) {
            Node = TraceTreeGetOther(Store, Parent);
        }
        if (Node == NULL) {
            Header->NumberOfEventsLost += 1;
            return FALSE;
        }
        RtlStoreRelease64(&Node->Calls, Node->Calls + 1);
        Header->NumberOfEventsTooDeep += 1;
        Store->Tree.NumberTooDeep += 1;
        if (TREE_RANGE(Store->Tree.Stack) != 0) {
            TraceChronoAppend(Store, Call, TraceTreeReadClock(Store));
        }
        return FALSE;
    }

    Node = TraceTreeGetChild(Store, Parent, Call, FrameSize);
    if (Node == NULL) {
        Header->NumberOfEventsLost += 1;
        return FALSE;
    }

    IsListed = (Node->Flags & TRACE_NODE_CHRONOLOGICAL) != 0;
    IsInRange = TREE_RANGE(Store->Tree.Stack) != 0;

    //
    // The hook comes as far as this by itself: its time stamp is the better
    // one.
    //

    if (!IsListed &&
        !IsInRange &&
        ((Node->Flags & TRACE_NODE_OTHER) == 0 ||
         Parent->OtherChild == (ULONG_PTR)Node) &&
        Call->Stack + Node->FrameSize < Top->Stack) {

        return TRUE;
    }

    //
    // What takes long comes before the call begins.
    //

    if (IsListed && !IsInRange) {
        IsInRange = TraceChronoOpen(Store);
    }
    Start = Call->Timestamp;
    if (IsInRange) {
        TraceChronoMakeRoom(Store);
        Start = TraceTreeReadClock(Store);
    }

    New = Top + 1;
    New->Stack = Call->Stack;
    New->Node = (ULONG_PTR)Node;
    New->Flags = Call->Kind == TRACE_KIND_ENTER ? 0 : Call->Place << 32;
    New->Start = Start;
    RtlStoreRelease64(&Node->Calls, Node->Calls + 1);
    RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)New);

    if (IsInRange) {
        if (TREE_RANGE(Store->Tree.Stack) == 0) {
            TREE_RANGE(Store->Tree.Stack) = (ULONG_PTR)New;
            TraceTreeUseStack(Store);
        }
        TraceChronoAppend(Store, Call, Start);
    }

    return FALSE;
}

static
BOOLEAN
TraceTreeIsOf(
    _In_ const TRACE_FRAME *Frame,
    _In_ ULONG Site
    )
/*++

Routine Description:

    Says whether a frame may be one of a function.

Arguments:

    Frame - Supplies the frame.

    Site - Supplies the function, in the -finstrument-functions convention.

Return Value:

    TRUE or FALSE.

--*/
{
    const TRACE_NODE *Node;

    Node = (const TRACE_NODE *)(ULONG_PTR)Frame->Node;
    return Node->Site == Site || (Node->Flags & TRACE_NODE_OTHER) != 0;
}

static
PTRACE_FRAME
TraceTreeFindFunction(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Finds the frame of an exit of the -finstrument-functions convention, and
    ends the calls that it shows gone.

Arguments:

    Store - Supplies the store.

    Call - Supplies the exit.

Return Value:

    The frame, or NULL.

--*/
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

            if (TraceTreeIsOf(Frame, Call->Site)) {
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

        if (TraceTreeIsOf(Frame, Call->Site)) {
            return Frame;
        }
    }

    //
    // A function that has moved RSP since its entry; or a call without a frame.
    //

    if (Store->Tree.NumberTooDeep != 0 ||
        !TraceFrameFind(Store->Session->ModuleBase,
                        Store->Header->ModuleSize,
                        Call->Place,
                        &Layout) || !Layout.IsDynamic) {

        return NULL;
    }

    Frame = TraceTreeTop(Store);
    for (Count = 0;
         Count < TREE_SEARCH && Frame->Stack != MAXULONG64;
         Count += 1) {

        if (((PTRACE_NODE)(ULONG_PTR)Frame->Node)->Site == Call->Site) {
            return Frame;
        }
        Frame -= 1;
    }

    return NULL;
}

static
PTRACE_FRAME
TraceTreeFindOwn(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Finds the frame of an exit, and ends the calls that it shows gone.

Arguments:

    Store - Supplies the store.

    Call - Supplies the exit.

Return Value:

    The frame, or NULL.

--*/
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
        !TraceFrameFind(Store->Session->ModuleBase,
                        Store->Header->ModuleSize,
                        Call->Place,
                        &Layout)) {

        return NULL;
    }

    Base = (ULONG)(ULONG_PTR)Store->Session->ModuleBase;
    for (Count = 0;
         Count < TREE_SEARCH && Frame->Stack != MAXULONG64;
         Count += 1) {

        Node = (PTRACE_NODE)(ULONG_PTR)Frame->Node;
        if (Node->Kind == TRACE_KIND_ENTER &&
            TraceFrameFind(Store->Session->ModuleBase,
                           Store->Header->ModuleSize,
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

static
VOID
TraceTreeDoExit(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Does what an exit needs.

Arguments:

    Store - Supplies the store.

    Call - Supplies the exit.

Return Value:

    None.

--*/
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
    IsInRange = TREE_RANGE(Store->Tree.Stack) != 0;

    if (Frame != NULL) {
        TraceTreePop(Store, Call->Timestamp, TRUE);
    } else if (Store->Tree.NumberTooDeep != 0) {
        Store->Tree.NumberTooDeep -= 1;
    } else {
        Store->Header->NumberOfUnmatchedExits += 1;
    }

    if (IsInRange) {
        TraceChronoAppend(Store, Call, Call->Timestamp);
    }
}

static
VOID
TraceTreeCountTicks(
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ ULONGLONG Ticks
    )
/*++

Routine Description:

    Counts what the slow path has taken.

Arguments:

    Header - Supplies the header.

    Ticks - Supplies the time stamp counter when it began.

Return Value:

    None.

--*/
{
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
/*++

Routine Description:

    Does what the hook cannot do for an entry.

Arguments:

    Store - Supplies the store of the calling thread.

    Call - Supplies the entry.

Return Value:

    TRUE if the hook should be entered again, FALSE if the call has been dealt
    with.

--*/
{
    ULONGLONG Ticks;
    BOOLEAN Again;

    Ticks = __rdtsc();
    Again = TraceTreeBegin(Store, Call) && TraceTreeDoEnter(Store, Call);
    TraceTreeCountTicks(Store->Header, Ticks);
    return Again;
}

_Use_decl_annotations_
VOID
TraceTreeExit(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call
    )
/*++

Routine Description:

    Does what the hook cannot do for an exit.

Arguments:

    Store - Supplies the store of the calling thread.

    Call - Supplies the exit.

Return Value:

    None.

--*/
{
    ULONGLONG Ticks;

    Ticks = __rdtsc();
    if (TraceTreeBegin(Store, Call)) {
        TraceTreeDoExit(Store, Call);
    }
    TraceTreeCountTicks(Store->Header, Ticks);
}

static
VOID
TraceTreeVisit(
    _Inout_ PTRACE_STORE Store,
    _In_ TREE_VISIT What,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Does something to all open frames, of all stacks; their Top is right.

Arguments:

    Store - Supplies the store.

    What - Supplies what is done.

    Timestamp - Supplies the time that goes with it.

Return Value:

    None.

--*/
{
    PTRACE_TREE_STACK Stack;
    PTRACE_FRAME Frame;
    PTRACE_NODE Node;

    for (Stack = TraceTreeStackAt(Store, TRACE_TREE_FIRST_STACK);
         Stack != NULL;
         Stack = TraceTreeStackAt(Store, Stack->NextFileOffset)) {

        for (Frame = TREE_FIRST_FRAME(Stack) + 1;
             (ULONG_PTR)Frame <= Stack->Top;
             Frame += 1) {

            Node = (PTRACE_NODE)(ULONG_PTR)Frame->Node;
            if (What == TreeVisitHalt) {
                if (Frame[-1].Node != Frame->Node) {
                    Node->Total += TraceTreeElapsed(Frame->Start, Timestamp);
                }
            } else {
                if (What == TreeVisitStart || Frame->Start < Timestamp) {
                    Frame->Start = Timestamp;
                }
                Frame->Flags |= TRACE_FRAME_STALE;
                if (What == TreeVisitClear) {
                    Node->Calls += 1;
                }
            }
        }

        if (Stack->LeftTimestamp != 0) {
            if (What == TreeVisitHalt) {
                Node = (PTRACE_NODE)(ULONG_PTR)
                       ((PTRACE_FRAME)(ULONG_PTR)Stack->Top)->Node;
                Node->Away += TraceTreeElapsed(Stack->LeftTimestamp,
                                               Timestamp);
            }
            Stack->LeftTimestamp = Timestamp;
        }
    }
}

static
VOID
TraceTreeHide(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Charges open calls with the time up to now, and puts the cursor where no
    exit finds its own frame and no entry has room.

Arguments:

    Store - Supplies the store.

    Timestamp - Supplies when.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_TREE_STACK Stack;

    Header = Store->Header;
    Stack = Store->Tree.Stack;
    if ((Header->HookFlags & TREE_HALTED) != 0) {
        return;
    }

    TraceTreeBeginChange(Store);
    Stack->Top = Header->Cursor;
    TraceTreeVisit(Store, TreeVisitHalt, Timestamp);
    RtlStoreRelease64(&Header->Limit, 0);
    RtlStoreRelease64(&Header->Cursor, (ULONG_PTR)TREE_FIRST_FRAME(Stack));
    TraceTreeEndChange(Store);
}

_Use_decl_annotations_
VOID
TraceTreeHalt(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Charges open calls with the time up to now and hides them.

Arguments:

    Store - Supplies the store, which is about to be marked as stopped.

Return Value:

    None.

--*/
{
    TraceTreeHide(Store, TraceTreeReadClock(Store));
}

_Use_decl_annotations_
VOID
TraceTreeStop(
    PTRACE_STORE Store,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Stops counting, until it is started again.

Arguments:

    Store - Supplies the store.

    Timestamp - Supplies the time as of which.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if ((Header->HookFlags & TREE_HALTED) != 0) {
        return;
    }

    TraceTreeHide(Store, Timestamp);
    Store->Tree.LostAtStop = Header->NumberOfEventsLost;
    InterlockedOr((LONG volatile *)&Header->HookFlags,
                  TRACE_HOOK_STOPPED | TRACE_HOOK_PAUSED);
}

_Use_decl_annotations_
VOID
TraceTreeStart(
    PTRACE_STORE Store,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Starts counting again.  The calls that were open are taken to be so still,
    until an entry or an exit shows them gone.

Arguments:

    Store - Supplies the store.

    Timestamp - Supplies the time as of which.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if ((Header->HookFlags & TRACE_HOOK_PAUSED) == 0) {
        return;
    }

    TraceTreeBeginChange(Store);
    TraceTreeVisit(Store, TreeVisitStart, Timestamp);
    Header->NumberOfEventsPaused += Header->NumberOfEventsLost -
                                    Store->Tree.LostAtStop;
    Header->NumberOfEventsLost = Store->Tree.LostAtStop;
    InterlockedAnd((LONG volatile *)&Header->HookFlags, ~TREE_HALTED);
    RtlStoreRelease64(&Header->Cursor, Store->Tree.Stack->Top);
    TraceTreeSetLimit(Store);
    TraceTreeEndChange(Store);
}

_Use_decl_annotations_
VOID
TraceTreeClear(
    PTRACE_STORE Store,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Sets every node back to nothing, but for the calls that are open: they begin
    now.  The nodes stay.

Arguments:

    Store - Supplies the store.

    Timestamp - Supplies the time as of which.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_NODE Node;
    ULONGLONG Cleared;
    ULONGLONG Index;

    Header = Store->Header;
    TraceTreeBeginChange(Store);
    if ((Header->HookFlags & TREE_HALTED) == 0) {
        Store->Tree.Stack->Top = Header->Cursor;
    }

    Cleared = 0;
    for (Index = 0; Index < Header->NumberOfNodes; Index += 1) {
        Node = &Store->Tree.Nodes[Index];
        Cleared += Node->Calls;
        Node->Calls = 0;
        Node->Total = 0;
        Node->Minimum = MAXULONG64;
        Node->Maximum = 0;
        Node->First = 0;
        Node->Abandoned = 0;
        Node->Away = 0;
    }

    //
    // The calls that are open are in their nodes again.
    //

    TraceTreeVisit(Store, TreeVisitClear, Timestamp);
    for (Index = 0; Index < Header->NumberOfNodes; Index += 1) {
        Cleared -= Store->Tree.Nodes[Index].Calls;
    }
    Header->NumberOfCallsCleared += Cleared;
    RtlStoreRelease64(&Header->ClearTimestamp, Timestamp);
    TraceTreeEndChange(Store);
}

static
BOOLEAN
TraceTreeCopy(
    _Out_ PTRACE_TREE_STACK New,
    _In_ PCTRACE_TREE_STACK Old,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Copies a stack with its frames to a lower place, in pages that need not be
    prepared.

Arguments:

    New - Receives the copy; it may overlap the other.

    Old - Supplies the stack.

    SizeInBytes - Supplies how much of it.

Return Value:

    FALSE if a page cannot be had.

--*/
{
    ULONGLONG volatile *To;
    ULONGLONG const volatile *From;
    ULONGLONG Count;
    BOOLEAN Copied;

    To = (ULONGLONG volatile *)New;
    From = (ULONGLONG const volatile *)Old;
    Copied = TRUE;

    __try {
        for (Count = SizeInBytes / sizeof(*To); Count != 0; Count -= 1) {
            *To = *From;
            To += 1;
            From += 1;
        }
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        Copied = FALSE;
    }

    return Copied;
}

static
ULONGLONG
TraceTreeGather(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Moves the stacks of fibers that have open calls down, behind the last node,
    and forgets the others, so that the file can be cut.

Arguments:

    Store - Supplies the store.

Return Value:

    The end of all that is used: an offset in the file.

--*/
{
    PTRACE_STORE_HEADER Header;
    PBYTE Base;
    PTRACE_TREE_STACK Last;
    PTRACE_TREE_STACK Old;
    PTRACE_TREE_STACK New;
    ULONGLONG Next;
    ULONGLONG End;
    ULONGLONG Delta;
    ULONGLONG Size;

    Header = Store->Header;
    Base = Store->Current.Base;
    End = Header->NodesFileOffset + Header->NumberOfNodes * TRACE_NODE_SIZE;
    Last = TraceTreeStackAt(Store, TRACE_TREE_FIRST_STACK);

    //
    // They are linked by ascending address, so that none is overwritten before
    // its turn.
    //

    for (Next = Last->NextFileOffset; Next != 0;) {
        Old = TraceTreeStackAt(Store, Next);
        if (Old == Store->Tree.Stack &&
            (Header->HookFlags & TREE_HALTED) == 0) {

            Old->Top = Header->Cursor;
        }
        Next = Old->NextFileOffset;
        if (Old != Store->Tree.Stack &&
            Old->Top == (ULONG_PTR)TREE_FIRST_FRAME(Old)) {

            RtlStoreRelease64(&Last->NextFileOffset, Next);
            continue;
        }

        New = (PTRACE_TREE_STACK)(Base + End);
        Delta = (ULONGLONG)((PBYTE)Old - (PBYTE)New);
        Size = Old->Top + TRACE_FRAME_SIZE - (ULONG_PTR)Old;
        if (!TraceTreeCopy(New, Old, Size)) {
            return Store->FileSizeInBytes;
        }

        New->Top -= Delta;
        New->End = (ULONG_PTR)New + Size;
        RtlStoreRelease64(&Last->NextFileOffset, End);
        if (Old == Store->Tree.Stack) {
            Store->Tree.Stack = New;
            RtlStoreRelease64(&Header->StackFileOffset, End);
            RtlStoreRelease64(&Header->Cursor, Header->Cursor - Delta);
        }
        End += Size;
        Last = New;
    }

    return End;
}

_Use_decl_annotations_
ULONGLONG
TraceTreeClose(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Ends a tree: frees what is not in the file.

Arguments:

    Store - Supplies the store, still mapped.

Return Value:

    The size that the file needs.

--*/
{
    ULONGLONG End;

    RtlFreePages(&Store->Session->Rtl, Store->Tree.Buckets);
    Store->Tree.Buckets = NULL;
    RtlFreePages(&Store->Session->Rtl, Store->Tree.ChronoBuckets);
    Store->Tree.ChronoBuckets = NULL;

    //
    // A thread that was terminated may have left Generation odd.
    //

    TraceTreeBeginChange(Store);
    End = TraceTreeGather(Store);
    TraceTreeEndChange(Store);
    return End;
}
