/*++

Module Name:

    TraceTree.c

Abstract:

    Stores of TRACE_MODE_TREE: making one, its stacks, stopping, starting and
    clearing, and the end.  Entries and exits are in TraceTreeEnter.c.

    The file is mapped as a whole:

        header | the thread's own stack and its open frames | ...
            ... <- further modules | nodes -> ...
                                    ... <- the frames of its fibers' stacks

    Nodes grow upwards and are never moved.  For each node there is room for one
    more, its child that all is charged to when there is no room for others.

    The hook touches no page but those that were prepared here, under __try: a
    disk that is full is met in TraceTreePrepare.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceTree.h"
#include "TraceTreeModule.h"
#include "TraceTreeStack.h"
#include "TraceView.h"

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
// What is done to all open frames.
//

typedef enum _TREE_VISIT {
    TreeVisitHalt,
    TreeVisitStart,
    TreeVisitClear
} TREE_VISIT;

//
// Gives the stack at a file offset.
// FileOffset: the offset; 0 is none.
// Returns the stack, or NULL.
//

static
PTRACE_TREE_STACK
TraceTreeStackAt(
    _In_ PTRACE_STORE Store,
    _In_ ULONGLONG FileOffset
    )
{
    return FileOffset == 0 ? NULL :
           (PTRACE_TREE_STACK)(Store->Current.Base + FileOffset);
}

//
// Makes Generation odd: a reader waits.
//

static
VOID
TraceTreeBeginChange(
    _Inout_ PTRACE_STORE Store
    )
{
    RtlStoreRelease32(&Store->Header->Generation,
                      Store->Header->Generation | 1);
}

//
// Makes Generation even.
//

static
VOID
TraceTreeEndChange(
    _Inout_ PTRACE_STORE Store
    )
{
    RtlStoreRelease32(&Store->Header->Generation,
                      (Store->Header->Generation | 1) + 1);
}

_Use_decl_annotations_
NTSTATUS
TraceTreePrepare(
    PTRACE_STORE Store,
    ULONGLONG Address,
    ULONGLONG SizeInBytes
    )
{
    TRACE_VIEW View;

    RtlZeroBytes(&View, sizeof(View));
    View.Base = (PBYTE)(ULONG_PTR)Address;
    View.FileOffset = Address - (ULONG_PTR)Store->Current.Base;
    View.Position = View.FileOffset;
    View.SizeInBytes = SizeInBytes;
    return TraceViewPrepare(Store->Session, Store->File, &View, SizeInBytes);
}

//
// Tells where the stack is that the thread runs on. What the system knows of
// is in the thread environment block; a program may have moved RSP elsewhere
// by itself.
//
// Low: the lowest address.
// Size: the size in bytes.
// Returns FALSE if the system does not know this stack.
//

static
BOOLEAN
TraceTreeGetRange(
    _In_ ULONGLONG Stack,
    _Out_ PULONGLONG Low,
    _Out_ PULONGLONG Size
    )
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

//
// Makes an empty stack.
// End: the end of its room, a writer address.
// Prepared: the end of its pages that are prepared.
// Low, Size: where it is.
//

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
{
    PTRACE_FRAME First;

    First = TRACE_TREE_FIRST_FRAME(Stack);
    First->Stack = MAXULONG64;
    First->Start = 0;
    First->Node = (ULONG_PTR)Store->Tree.Nodes;
    First->Flags = 0;

    Stack->StackBase = Low + Size;
    Stack->Top = (ULONG_PTR)First;
    Stack->End = End;
    Stack->LeftTimestamp = 0;
    TRACE_TREE_PREPARED(Stack) = Prepared;
    TRACE_TREE_STACK_LOW(Stack) = Low;
    TRACE_TREE_RANGE(Stack) = 0;
}

_Use_decl_annotations_
NTSTATUS
TraceTreeOpen(
    PTRACE_STORE Store
    )
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

    Tree->Nodes = (PTRACE_NODE)(Base + Room + TRACE_TREE_MODULES_SIZE);
    Tree->ModulesPrepared = (ULONG_PTR)Tree->Nodes;
    Tree->NodesEnd = (ULONG_PTR)Base + Store->Current.SizeInBytes;
    Tree->NodesPrepared = (ULONG_PTR)Tree->Nodes;
    Status = TraceTreePrepare(Store,
                              Tree->NodesPrepared,
                              TRACE_TREE_PREPARE_FIRST);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }
    Tree->NodesPrepared += TRACE_TREE_PREPARE_FIRST;

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
                             (ULONG_PTR)Base + Room,
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
{
    PTRACE_TREE Tree;
    ULONG_PTR Base;

    Tree = &Store->Tree;
    Base = (ULONG_PTR)Store->Current.Base;
    Header->BaseAddress = Base;
    Header->NodesFileOffset = (ULONG_PTR)Tree->Nodes - Base;
    Header->NumberOfNodes = 1;
    Header->StackFileOffset = TRACE_TREE_FIRST_STACK;
    Header->Cursor = (ULONG_PTR)TRACE_TREE_FIRST_FRAME(Tree->Stack);
    Header->Limit = TRACE_TREE_PREPARED(Tree->Stack) - TRACE_FRAME_SIZE;
}

_Use_decl_annotations_
VOID
TraceTreeSetLimit(
    PTRACE_STORE Store
    )
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
                          (Header->HookFlags & TRACE_TREE_HALTED) != 0 ? 0 :
                          (LONGLONG)(TRACE_TREE_PREPARED(Store->Tree.Stack) -
                                     TRACE_FRAME_SIZE));
    if (Store->Attention) {
        RtlStoreRelease64(&Header->Limit, 0);
    }
}

_Use_decl_annotations_
VOID
TraceTreeEndCall(
    PTRACE_STORE Store
    )
{
    TraceTreePop(Store, TraceTreeReadClock(Store), FALSE);
}

_Use_decl_annotations_
ULONG
TraceTreeHash(
    const TRACE_TREE *Tree,
    const TRACE_NODE *Parent,
    ULONG Site
    )
{
    ULONG Hash;

    Hash = ((ULONG)(ULONG_PTR)Parent >> 3 ^ Site) * TRACE_TREE_HASH;
    return Hash >> TRACE_TREE_HASH_SHIFT & Tree->Mask;
}

_Use_decl_annotations_
PTRACE_NODE *
TraceTreeChronoBucket(
    const TRACE_TREE *Tree,
    const TRACE_NODE *Parent,
    ULONG Site
    )
{
    ULONG Hash;

    Hash = ((ULONG)(ULONG_PTR)Parent >> 3 ^ Site) * TRACE_TREE_HASH;
    return &Tree->ChronoBuckets[Hash >> TRACE_TREE_HASH_SHIFT &
                                (TRACE_CHRONO_BUCKETS - 1)];
}

//
// Makes room for the frames of one more stack.
// Low, Size: where the stack is.
// Returns the stack; NULL if there is no room or no page for it.
//

static
PTRACE_TREE_STACK
TraceTreeCarveStack(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Low,
    _In_ ULONGLONG Size
    )
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

    Prepared = Room < TRACE_TREE_PREPARE_FIRST ?
               Room : TRACE_TREE_PREPARE_FIRST;
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

_Use_decl_annotations_
VOID
TraceTreeSwitch(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call
    )
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

        if (Call->Stack - TRACE_TREE_HOOK_FRAME - TRACE_TREE_STACK_LOW(Stack) <
            Stack->StackBase - TRACE_TREE_STACK_LOW(Stack)) {

            Found = Stack;
            if (!IsKnown ||
                (Low == TRACE_TREE_STACK_LOW(Stack) &&
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
        while (TraceTreeTop(Store) != TRACE_TREE_FIRST_FRAME(Found)) {
            TraceTreePop(Store, Found->LeftTimestamp, FALSE);
        }
        Found->Top = Header->Cursor;
        Found->LeftTimestamp = 0;
        Found->StackBase = Low + Size;
        TRACE_TREE_STACK_LOW(Found) = Low;
        TRACE_TREE_RANGE(Found) = 0;
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

//
// Does something to all open frames, of all stacks; their Top is right.
// What: what is done.
// Timestamp: the time that goes with it.
//

static
VOID
TraceTreeVisit(
    _Inout_ PTRACE_STORE Store,
    _In_ TREE_VISIT What,
    _In_ ULONGLONG Timestamp
    )
{
    PTRACE_TREE_STACK Stack;
    PTRACE_FRAME Frame;
    PTRACE_NODE Node;

    for (Stack = TraceTreeStackAt(Store, TRACE_TREE_FIRST_STACK);
         Stack != NULL;
         Stack = TraceTreeStackAt(Store, Stack->NextFileOffset)) {

        for (Frame = TRACE_TREE_FIRST_FRAME(Stack) + 1;
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

//
// Charges open calls with the time up to now, and puts the cursor where no
// exit finds its own frame and no entry has room.
//

static
VOID
TraceTreeHide(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_TREE_STACK Stack;

    Header = Store->Header;
    Stack = Store->Tree.Stack;
    if ((Header->HookFlags & TRACE_TREE_HALTED) != 0) {
        return;
    }

    TraceTreeBeginChange(Store);
    Stack->Top = Header->Cursor;
    TraceTreeVisit(Store, TreeVisitHalt, Timestamp);
    RtlStoreRelease64(&Header->Limit, 0);
    RtlStoreRelease64(&Header->Cursor,
                      (ULONG_PTR)TRACE_TREE_FIRST_FRAME(Stack));
    TraceTreeEndChange(Store);
}

_Use_decl_annotations_
VOID
TraceTreeHalt(
    PTRACE_STORE Store
    )
{
    TraceTreeHide(Store, TraceTreeReadClock(Store));
}

_Use_decl_annotations_
VOID
TraceTreeStop(
    PTRACE_STORE Store,
    ULONGLONG Timestamp
    )
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if ((Header->HookFlags & TRACE_TREE_HALTED) != 0) {
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
    InterlockedAnd((LONG volatile *)&Header->HookFlags, ~TRACE_TREE_HALTED);
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
{
    PTRACE_STORE_HEADER Header;
    PTRACE_NODE Node;
    ULONGLONG Cleared;
    ULONGLONG Index;

    Header = Store->Header;
    TraceTreeBeginChange(Store);
    if ((Header->HookFlags & TRACE_TREE_HALTED) == 0) {
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
        Node->AbandonedTotal = 0;
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

//
// Copies a stack with its frames to a lower place, in pages that need not be
// prepared.
// New: the copy; it may overlap the other.
// SizeInBytes: how much of it.
// Returns FALSE if a page cannot be had.
//

static
BOOLEAN
TraceTreeCopy(
    _Out_ PTRACE_TREE_STACK New,
    _In_ PCTRACE_TREE_STACK Old,
    _In_ ULONGLONG SizeInBytes
    )
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

//
// Moves the stacks of fibers that have open calls down, behind the last node,
// and forgets the others, so that the file can be cut.
// Returns the end of all that is used: an offset in the file.
//

static
ULONGLONG
TraceTreeGather(
    _Inout_ PTRACE_STORE Store
    )
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
            (Header->HookFlags & TRACE_TREE_HALTED) == 0) {

            Old->Top = Header->Cursor;
        }
        Next = Old->NextFileOffset;
        if (Old != Store->Tree.Stack &&
            Old->Top == (ULONG_PTR)TRACE_TREE_FIRST_FRAME(Old)) {

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
VOID
TraceTreeEnd(
    PTRACE_STORE Store
    )
{
    if (Store->Header->Mode == TRACE_MODE_TREE) {
        Store->Tree.IsEnding = TRUE;
        TraceTreeUseStack(Store);
    }
}

_Use_decl_annotations_
ULONGLONG
TraceTreeClose(
    PTRACE_STORE Store
    )
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
