/*++

Module Name:

    ReaderTreeStore.c

Abstract:

    Stores that hold a thread's calling-context tree in place of records: the
    tree is copied out of the file, a live one as its writer leaves it between
    two of its steps, and each node is given its function.

--*/

#include "Reader.h"

//
// Nodes or frames that are copied at a time.
//

#define READER_TREE_BUFFER_SIZE 0x10000u
#define READER_TREE_NODES (READER_TREE_BUFFER_SIZE / TRACE_NODE_SIZE)
#define READER_TREE_FRAMES (READER_TREE_BUFFER_SIZE / TRACE_FRAME_SIZE)

//
// A clearing takes a thread some milliseconds at most, so that these tries,
// with a millisecond between two of them, run out only on one that is held up
// in its midst; what is read then is what there is.
//

#define READER_TREE_TRIES 50
#define READER_TREE_PAUSE 10000         // 100 ns


_Must_inspect_result_
static
NTSTATUS
ReaderReadNodes(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ PVOID Buffer,
    _Inout_ PCORE_TREE Tree
    )
/*++

Routine Description:

    Reads the nodes of an open store.

Arguments:

    Context - The context.

    Store - The store.

    Buffer - READER_TREE_BUFFER_SIZE bytes.

    Tree - Receives the nodes.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    ULONGLONG Offset = Store->Header->NodesFileOffset;
    ULONGLONG Left = Store->NumberOfNodes;
    ULONG Count;
    NTSTATUS Status;

    while (Left != 0) {

        Count = Left < READER_TREE_NODES ? (ULONG)Left : READER_TREE_NODES;
        Status = ReaderReadTree(Context,
                                Store,
                                Offset,
                                Buffer,
                                TRACE_NODE_SIZE,
                                Count);
        if (NT_SUCCESS(Status)) {
            Status = CoreAddNodes(Tree, (PCTRACE_NODE)Buffer, Count);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Offset += (ULONGLONG)Count * TRACE_NODE_SIZE;
        Left -= Count;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadFrames(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ PVOID Buffer,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG NumberOfFrames,
    _In_ ULONGLONG Before,
    _Inout_ PCORE_TREE Tree
    )
/*++

Routine Description:

    Reads the frames of one stack.

Arguments:

    Context - The context.

    Store - The store, open.

    Buffer - READER_TREE_BUFFER_SIZE bytes.

    Offset - File offset of the first frame.

    NumberOfFrames - How many there are, all of them in the file.

    Before - When the first node was read.

    Tree - Receives the frames.

Return Value:

    STATUS_SUCCESS or what failed; bad frames are no failure.

--*/
{
    PCTRACE_FRAME Frames = (PCTRACE_FRAME)Buffer;
    ULONG Node = CORE_TREE_NO_NODE;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    while (NumberOfFrames != 0) {

        Count = NumberOfFrames < READER_TREE_FRAMES ? (ULONG)NumberOfFrames
                                                    : READER_TREE_FRAMES;
        Status = ReaderReadTree(Context,
                                Store,
                                Offset,
                                Buffer,
                                TRACE_FRAME_SIZE,
                                Count);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        for (Index = 0; Index < Count; Index++) {

            Status = CoreAddTreeFrame(Tree,
                                      &Frames[Index],
                                      Offset,
                                      Before,
                                      &Node);
            if (Status == STATUS_FILE_INVALID) {
                return STATUS_SUCCESS;
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Offset += TRACE_FRAME_SIZE;
        }

        NumberOfFrames -= Count;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderReadStacks(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ PVOID Buffer,
    _In_ ULONGLONG Before,
    _Inout_ PCORE_TREE Tree
    )
/*++

Routine Description:

    Reads the open calls of all stacks of the thread.

Arguments:

    Context - The context.

    Store - The store, open, with a header that was read after the nodes.

    Buffer - READER_TREE_BUFFER_SIZE bytes.

    Before - When the first node was read.

    Tree - The tree, with all nodes; receives the frames.

Return Value:

    STATUS_SUCCESS or what failed; what is bad is noted in the tree.

--*/
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    TRACE_TREE_STACK Stack;
    ULONGLONG Offset = TRACE_TREE_FIRST_STACK;
    ULONGLONG Link = FIELD_OFFSET(TRACE_STORE_HEADER, StackFileOffset);
    ULONGLONG Cursor;
    ULONGLONG End;
    ULONGLONG First;
    ULONGLONG Count;
    ULONGLONG StacksLeft = Store->FileSize /
                           (sizeof(TRACE_TREE_STACK) + TRACE_FRAME_SIZE);
    ULONGLONG FramesLeft = Store->FileSize / TRACE_FRAME_SIZE;
    ULONGLONG Mark = 0;
    ULONGLONG Steps = 0;
    SIZE_T Frames;
    BOOLEAN IsInUse;
    NTSTATUS Status;

    while (Offset != 0) {

        First = Offset + sizeof(TRACE_TREE_STACK);
        if (Offset < TRACE_TREE_FIRST_STACK ||
            Offset % sizeof(ULONGLONG) != 0 ||
            First < Offset ||
            First > Store->FileSize ||
            Store->FileSize - First < TRACE_FRAME_SIZE ||
            StacksLeft == 0 ||
            Offset == Mark) {

            CoreNoteTreeProblem(Tree,
                                Link,
                                "stack",
                                "NextFileOffset",
                                StacksLeft == 0 || Offset == Mark
                                    ? "goes in a circle"
                                    : "is no stack's",
                                Offset);
            return STATUS_SUCCESS;
        }

        //
        // A circle comes by the place that was remembered last.
        //

        StacksLeft -= 1;
        Steps += 1;
        if ((Steps & (Steps - 1)) == 0) {
            Mark = Offset;
        }

        Status = ReaderReadTree(Context,
                                Store,
                                Offset,
                                &Stack,
                                TRACE_FRAME_SIZE,
                                sizeof(Stack) / TRACE_FRAME_SIZE);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        IsInUse = Offset == Header->StackFileOffset;

        //
        // While recording is stopped the cursor is not where it was.
        //

        Cursor = (IsInUse && !Tree->IsStopped ? Header->Cursor : Stack.Top) -
                 Header->BaseAddress;
        End = Stack.End - Header->BaseAddress;
        if (End > Store->FileSize) {
            End = Store->FileSize;
        }

        Count = 0;
        if (Cursor >= First && Cursor < End &&
            End - Cursor >= TRACE_FRAME_SIZE &&
            (Cursor - First) % TRACE_FRAME_SIZE == 0) {

            Count = (Cursor - First) / TRACE_FRAME_SIZE + 1;

        } else if (!Tree->IsLive) {

            CoreNoteTreeProblem(Tree,
                                IsInUse
                                    ? FIELD_OFFSET(TRACE_STORE_HEADER, Cursor)
                                    : Offset + FIELD_OFFSET(TRACE_TREE_STACK,
                                                            Top),
                                IsInUse ? "header" : "stack",
                                IsInUse ? "Cursor" : "Top",
                                "is at no frame of its stack",
                                IsInUse ? Header->Cursor : Stack.Top);
        }

        //
        // Stacks that lie in each other are of no use.
        //

        if (Count > FramesLeft) {
            CoreNoteTreeProblem(Tree,
                                Link,
                                "stack",
                                "NextFileOffset",
                                "leads to stacks that lie in each other",
                                Offset);
            return STATUS_SUCCESS;
        }

        FramesLeft -= Count;
        Frames = Tree->NumberOfFrames;
        Status = ReaderReadFrames(Context,
                                  Store,
                                  Buffer,
                                  First,
                                  Count,
                                  Before,
                                  Tree);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        CoreEndTreeStack(Tree, Frames, Stack.LeftTimestamp, IsInUse);
        Link = Offset + FIELD_OFFSET(TRACE_TREE_STACK, NextFileOffset);
        Offset = Stack.NextFileOffset;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderRefreshTreeStore(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
/*++

Routine Description:

    Reads the header of an open store again.

Arguments:

    Context - The context.

    Store - The store.

Return Value:

    STATUS_SUCCESS - It is still a valid one of a tree.

    Otherwise what failed.

--*/
{
    NTSTATUS Status;

    Status = ReaderRefreshStore(Context, Store);
    if (NT_SUCCESS(Status) &&
        (Store->HeaderResult.State != CoreHeaderValid ||
         Store->Header->Mode != TRACE_MODE_TREE ||
         Store->EndState == CoreEndBad)) {
        Store->Status = STATUS_FILE_INVALID;
        Store->FailedStep = "read the header again";
        Status = STATUS_FILE_INVALID;
    }

    return Status;
}


static
ULONGLONG
ReaderFindTreeEnd(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG Latest
    )
/*++

Routine Description:

    Finds the last time that a store's header knows of.

Arguments:

    Header - The header.

    Latest - Another time.

Return Value:

    The latest of all.

--*/
{
    if (CoreIsAnchorValid(&Header->OpenAnchor) &&
        Header->OpenAnchor.Tsc > Latest) {
        Latest = Header->OpenAnchor.Tsc;
    }

    if (CoreIsAnchorValid(&Header->LastAnchor) &&
        Header->LastAnchor.Tsc > Latest) {
        Latest = Header->LastAnchor.Tsc;
    }

    if (Header->ClearTimestamp > Latest &&
        (LONGLONG)Header->ClearTimestamp > 0) {
        Latest = Header->ClearTimestamp;
    }

    return Latest;
}


static
VOID
ReaderApplyActions(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store,
    _In_ PCTRACE_STORE_HEADER Header,
    _Inout_ PCORE_TREE Tree
    )
/*++

Routine Description:

    Carries out what was asked of the session and the thread has not come by to
    do: it stands still, or had ended.

Arguments:

    Session - The session.

    Store - The store.

    Header - The store's, as it was read with the tree.

    Tree - The tree, not finished.

Return Value:

    None.

--*/
{
    ULONG Process = READER_PROCESS_OF_STORE(Session, Store);
    PCREADER_CONTROL Control;
    PCTRACE_CONTROL_ACTION Action;
    ULONG Index;

    if (Process == READER_NONE) {
        return;
    }

    Control = READER_CONTROL_OF(Session, Process);
    for (Index = 0; Index < Control->NumberOfActions; Index++) {
        Action = &Control->Actions[Index];
        if (Action->Reserved >= Header->NumberOfActions) {
            CoreApplyToTree(Tree, Action->Kind, Action->Timestamp);
        }
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderReadTreeStore(
    PREADER_SESSION Session,
    PREADER_STORE Store,
    PCORE_TREE Tree
    )
/*++

Routine Description:

    Reads a store's tree.

    The nodes are read first, then the header once more, then the frames, so
    that a frame that was open before has its call in its node.  What ended and
    began meanwhile is in neither, or in one of them: the times of a thread
    that runs on are good to what it did while it was looked at.

Arguments:

    Session - The session.

    Store - The store, open or closed; stays so.

    Tree - Receives the tree; to be run down even after a failure.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCREADER_CONTEXT Context = Session->Context;
    RTL_CLOCK_READING Now;
    LARGE_INTEGER Pause;
    PVOID Buffer;
    ULONG Generation;
    ULONG Try;
    BOOLEAN IsLive;
    BOOLEAN WasOpen = Store->File != NULL;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Tree, sizeof(*Tree));
    Buffer = Context->Allocator->Allocate(Context->Allocator->Context,
                                          READER_TREE_BUFFER_SIZE);
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (!WasOpen) {
        Status = ReaderOpenSessionStore(Session, Store);
    }

    for (Try = 1; NT_SUCCESS(Status); Try++) {

        RtlReadClocks(Context->Rtl, &Now);
        Status = ReaderRefreshTreeStore(Context, Store);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Generation = Store->Header->Generation;
        IsLive = !ReaderIsWriterGone(Session, Store) &&
                 Store->Header->State == TRACE_STATE_OPEN;
        if (IsLive && (Generation & 1) != 0 && Try < READER_TREE_TRIES) {
            goto Again;
        }

        CoreRundownTree(Tree);
        CoreInitializeTree(Tree, Context->Allocator, Store->Header, IsLive);
        Status = ReaderReadNodes(Context, Store, Buffer, Tree);
        if (NT_SUCCESS(Status) && IsLive) {
            Status = ReaderRefreshTreeStore(Context, Store);
        }

        if (NT_SUCCESS(Status) && Tree->NumberOfNodes != 0) {
            Status = ReaderReadStacks(Context,
                                      Store,
                                      Buffer,
                                      IsLive ? Now.Tsc
                                             : READER_MAXIMUM_TIMESTAMP,
                                      Tree);
        }

        if (NT_SUCCESS(Status) && IsLive) {
            Status = ReaderRefreshTreeStore(Context, Store);
        }

        if (!NT_SUCCESS(Status)) {
            break;
        }

        if (!IsLive || Try == READER_TREE_TRIES ||
            Store->Header->Generation == Generation) {
            Tree->LatestTimestamp = ReaderFindTreeEnd(Store->Header,
                                                      Tree->LatestTimestamp);
            ReaderApplyActions(Session, Store, Store->Header, Tree);
            CoreFinishTree(Tree, IsLive ? Now.Tsc : 0);
            break;
        }

Again:
        Pause.QuadPart = -READER_TREE_PAUSE;
        Context->Rtl->NtDelayExecution(FALSE, &Pause);
    }

    if (!WasOpen) {
        ReaderCloseStore(Context, Store);
    }

    Context->Allocator->Free(Context->Allocator->Context, Buffer);
    return Status;
}


_Use_decl_annotations_
VOID
ReaderGetNodeStatistics(
    PCCORE_TREE_NODE Node,
    PREADER_STATISTICS Statistics
    )
/*++

Routine Description:

    Says what a node's calls are in sums.  The time of calls that were
    abandoned is not known apart from that of the others, unless there are no
    others.

Arguments:

    Node - The node, finished.

    Statistics - Receives the sums.

Return Value:

    None.

--*/
{
    RtlZeroBytes(Statistics, sizeof(*Statistics));
    Statistics->Calls = Node->Calls;
    Statistics->InTrees = Node->Calls;
    Statistics->Abandoned = Node->Abandoned;
    Statistics->Unfinished = Node->Open;
    if (Node->Calls == Node->Abandoned) {
        Statistics->AbandonedTicks = Node->Total;
        return;
    }

    Statistics->AbandonedInTotal = Node->Abandoned;
    Statistics->TotalTicks = Node->Total;
    Statistics->SelfTicks = Node->Self;
    Statistics->SumLow = Node->Total;
    if (Node->Minimum <= Node->Maximum) {
        Statistics->MinimumTicks = Node->Minimum;
        Statistics->MaximumTicks = Node->Maximum;
        if (Node->Open == 1 && Node->OpenTicks < Node->Minimum) {
            Statistics->MinimumTicks = Node->OpenTicks;
        }

        if (Node->Open == 1 && Node->OpenTicks > Node->Maximum) {
            Statistics->MaximumTicks = Node->OpenTicks;
        }

    } else {
        Statistics->MinimumTicks = Node->Total;
        Statistics->MaximumTicks = Node->Total;
    }
}


_Use_decl_annotations_
VOID
ReaderDescribeTreeProblem(
    PCCORE_TREE Tree,
    PRTL_WRITER Writer
    )
/*++

Routine Description:

    Says what is wrong with a tree, without a line feed.

Arguments:

    Tree - The tree, with something bad in it.

    Writer - Where to say it.

Return Value:

    None.

--*/
{
    RtlWriteText(Writer,
                 "%llu bad nodes or open calls left out, the first at offset "
                 "%llu: %s: %s %s (0x%llx)",
                 Tree->NumberBad,
                 Tree->FirstProblem.FileOffset,
                 Tree->FirstProblem.Object,
                 Tree->FirstProblem.Field,
                 Tree->FirstProblem.Problem,
                 Tree->FirstProblem.Value);
}


_Must_inspect_result_
static
NTSTATUS
ReaderVisitStore(
    _Inout_ PREADER_FUNCTIONS Functions,
    _Inout_ PREADER_STORE Store,
    _In_ PREADER_VISIT_NODE Visit,
    _In_opt_ PREADER_VISIT_FRAME VisitFrame,
    _In_ PVOID VisitContext
    )
/*++

Routine Description:

    Shows the nodes of one store.

Arguments:

    Functions - The table of functions, with the session.

    Store - The store, of a tree.

    Visit - The routine that is shown them.

    VisitFrame - The routine that is shown the open calls, or NULL.

    VisitContext - What it is given.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_TREE_NODE Node;
    READER_TREE_FRAME Frame;
    PREADER_NODE_PLACE Places = NULL;
    CORE_TREE Tree;
    SIZE_T Index;
    NTSTATUS Status;

    Status = ReaderReadTreeStore(Session, Store, &Tree);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (Tree.NumberBad != 0 && !Store->IsWarned) {
        Store->IsWarned = TRUE;
        RtlWriteText(Session->Context->Errors,
                     "TraceReader: warning: %Z: ",
                     &Store->Name);
        ReaderDescribeTreeProblem(&Tree, Session->Context->Errors);
        RtlWriteText(Session->Context->Errors, "\n");
        RtlFlushWriter(Session->Context->Errors);
    }

    Places = (PREADER_NODE_PLACE)
        Allocator->Allocate(Allocator->Context,
                            (Tree.NumberOfNodes + 1) *
                                sizeof(READER_NODE_PLACE));
    if (Places == NULL) {
        Status = STATUS_NO_MEMORY;
        goto End;
    }

    Places[0].Function = READER_NONE;
    Places[0].Depth = 0;
    Places[0].Value = 0;
    for (Index = 1; Index < Tree.NumberOfNodes; Index++) {

        PCCORE_TREE_NODE This = &Tree.Nodes[Index];
        PREADER_NODE_PLACE Above = &Places[This->Parent];
        PREADER_NODE_PLACE Place = &Places[Index];

        if (!This->IsUsed || This->IsBad) {
            continue;
        }

        Status = ReaderFindFunction(
            Functions,
            ((ULONGLONG)Store->Module << 32) |
                (This->IsOther ? READER_OTHER_RVA : This->Rva),
            &Place->Function);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        Session->HasOther = Session->HasOther || This->IsOther;
        Place->Depth = Above->Depth + 1;
        Node.Node = This;
        Node.Function = Place->Function;
        Node.FunctionAbove = Above->Function;
        Node.Depth = Above->Depth;
        Node.ValueAbove = Above->Value;
        Node.Value = 0;
        Node.Now = Tree.Now;
        Node.Module = Store->Module;
        Status = Visit(VisitContext, &Node);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        Place->Value = Node.Value;
    }

    for (Index = 0;
         VisitFrame != NULL && Index < Tree.NumberOfFrames;
         Index++) {

        Frame.Function = Places[Tree.Frames[Index].Node].Function;
        Frame.Stack = Tree.Frames[Index].Stack;
        Frame.Start = Tree.Frames[Index].Start;
        Frame.IsInnermost = Tree.Frames[Index].IsInUse;
        Status = VisitFrame(VisitContext, &Frame);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }
    }

End:
    Allocator->Free(Allocator->Context, Places);
    CoreRundownTree(&Tree);
    return Status;
}


_Use_decl_annotations_
NTSTATUS
ReaderVisitTrees(
    PREADER_FUNCTIONS Functions,
    ULONG Thread,
    PREADER_VISIT_NODE Visit,
    PREADER_VISIT_FRAME VisitFrame,
    PVOID VisitContext
    )
/*++

Routine Description:

    Shows a routine the nodes of a thread's trees, a node's parent before the
    node.  A tree that cannot be read does not hide the others.

Arguments:

    Functions - The table of functions, with the session.

    Thread - The thread.

    Visit - The routine.

    VisitFrame - One for the open calls, or NULL.

    VisitContext - What it is given.

Return Value:

    STATUS_SUCCESS or the first thing that failed.

--*/
{
    PREADER_SESSION Session = Functions->Session;
    NTSTATUS Result = STATUS_SUCCESS;
    NTSTATUS Status;
    ULONG Index;

    for (Index = Session->Threads[Thread].FirstStore;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {

        if (!Session->Stores[Index]->IsTree) {
            continue;
        }

        Status = ReaderVisitStore(Functions,
                                  Session->Stores[Index],
                                  Visit,
                                  VisitFrame,
                                  VisitContext);
        if (!NT_SUCCESS(Status) && NT_SUCCESS(Result)) {
            Result = Status;
        }
    }

    return Result;
}


_Use_decl_annotations_
BOOLEAN
ReaderIsAside(
    const READER_SESSION *Session,
    PCREADER_STORE Store
    )
/*++

Routine Description:

    Decides whether a store is left out because its calls are in the thread's
    tree, too.

Arguments:

    Session - The session.

    Store - The store.

Return Value:

    TRUE if so.

--*/
{
    ULONG Index;

    if (Session->ShowsAside || Store->IsTree || Store->Thread == READER_NONE ||
        (Store->Header->Flags & TRACE_FLAG_CHRONOLOGICAL) == 0) {
        return FALSE;
    }

    for (Index = Session->Threads[Store->Thread].FirstStore;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {
        if (Session->Stores[Index]->IsTree) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
ReaderHasRecords(
    const READER_SESSION *Session,
    ULONG Thread
    )
/*++

Routine Description:

    Decides whether there is a store with records that is not left out.

Arguments:

    Session - The session.

    Thread - The thread; READER_NONE: any.

Return Value:

    TRUE if so.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE && !Store->IsTree &&
            (Thread == READER_NONE || Store->Thread == Thread) &&
            !ReaderIsAside(Session, Store)) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
ReaderRequireCalls(
    PREADER_SESSION Session,
    PCSZ What
    )
/*++

Routine Description:

    Says so if there are stores without single calls.  Those with some are all
    shown from now on.

Arguments:

    Session - The session.

    What - What needs single calls: a command or an option.

Return Value:

    FALSE if there is nothing else.

--*/
{
    PRTL_WRITER Errors = Session->Context->Errors;
    BOOLEAN HasOthers;
    BOOLEAN HasRecords;

    if (Session->NumberOfTrees == 0 || Session->ShowsAside) {
        return TRUE;
    }

    HasOthers = ReaderHasRecords(Session, READER_NONE);
    Session->ShowsAside = TRUE;
    HasRecords = ReaderHasRecords(Session, READER_NONE);
    if (HasRecords && !HasOthers) {
        RtlWriteText(Errors,
                     "TraceReader: %s: warning: %u of the session's stores "
                     "hold trees, which have no single calls: only those in "
                     "chronological ranges are here\n",
                     What,
                     Session->NumberOfTrees);
    } else if (HasRecords) {
        RtlWriteText(Errors,
                     "TraceReader: %s: warning: %u of the session's stores "
                     "hold trees, which have no single calls: left out\n",
                     What,
                     Session->NumberOfTrees);
    } else {
        RtlWriteText(Errors,
                     "TraceReader: %s: the session's stores hold trees, which "
                     "have no single calls (report, tree, callers, callees, "
                     "threads, modules, diff, live and export --format "
                     "folded, callgrind, csv, csv-osr or csv-cap show them; "
                     "to record calls, run the program with "
                     "TRACER_MODE=file, or name functions with "
                     "TRACER_CHRONO)\n",
                     What);
    }

    RtlFlushWriter(Errors);
    return HasRecords;
}
