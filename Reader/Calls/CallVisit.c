/*++

Module Name:

    CallVisit.c

Abstract:

    Shows a session's trees, node by node, each with its function.

--*/

#include "../Functions/FunctionWaits.h"
#include "../Session/SessionTreeStore.h"
#include "CallVisit.h"

_Must_inspect_result_
static
NTSTATUS
CallFindNodeFunction(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ const READER_STORE *Store,
    _In_ PCCORE_TREE_NODE Node,
    _Out_ PULONG Function
    )
{
    return FunctionFindFunction(
        Functions,
        ((ULONGLONG)Store->Modules[Node->Module] << 32) |
            (Node->IsOther ? READER_OTHER_RVA : Node->Rva),
        FALSE,
        Function);
}


//
// How long the calls of a lock's node waited.  Of single calls a tree has only
// the shortest and the longest: if the one did not wait long enough, the other
// alone is sure to have.
// Returns ticks.
//

static
ULONGLONG
CallFindContention(
    _In_ PCCORE_TREE_NODE Node,
    _In_ ULONGLONG ContentionTicks
    )
{
    READER_STATISTICS Statistics;

    CoreGetNodeStatistics(Node, &Statistics);
    if (Statistics.TotalTicks == 0 ||
        Statistics.MaximumTicks < ContentionTicks) {
        return 0;
    }

    return Statistics.MinimumTicks >= ContentionTicks ? Statistics.TotalTicks
                                                      : Statistics.MaximumTicks;
}


//
// Finds how long the calls of each node waited.
//

_Must_inspect_result_
static
NTSTATUS
CallFindWaitsOfNodes(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ const READER_STORE *Store,
    _In_ PCCORE_TREE Tree,
    _Inout_updates_(Tree->NumberOfNodes) PREADER_NODE_PLACE Places
    )
{
    ULONGLONG ContentionTicks = Functions->Session->ContentionTicks;
    PCCORE_TREE_NODE Node;
    ULONGLONG Ticks;
    SIZE_T Index;
    ULONG Flags;
    NTSTATUS Status;

    if (Functions->Session->Clock.Kind == TRACE_CLOCK_NONE) {
        return STATUS_SUCCESS;
    }

    for (Index = 1; Index < Tree->NumberOfNodes; Index++) {

        if (Tree->Nodes[Index].IsUsed && !Tree->Nodes[Index].IsBad) {
            Status = CallFindNodeFunction(Functions,
                                          Store,
                                          &Tree->Nodes[Index],
                                          &Places[Index].Function);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    //
    // A node comes after the one above it.
    //

    for (Index = Tree->NumberOfNodes; Index-- > 1;) {

        Node = &Tree->Nodes[Index];
        if (!Node->IsUsed || Node->IsBad) {
            continue;
        }

        Ticks = Places[Index].WaitedTicks;
        if (Ticks > Node->Total) {
            Ticks = Node->Total;
        }

        Flags = FunctionQueryWaitFlags(Functions, Places[Index].Function);
        if ((Flags & CORE_CALL_WAIT) != 0) {
            Ticks = Node->Total;
        } else if ((Flags & CORE_CALL_LOCK) != 0 &&
                   CallFindContention(Node, ContentionTicks) > Ticks) {
            Ticks = CallFindContention(Node, ContentionTicks);
        }

        Places[Index].WaitedTicks = Ticks;
        Places[Node->Parent].WaitedTicks += Ticks;
    }

    return STATUS_SUCCESS;
}


//
// Shows the nodes of one store.
// Functions: the table of functions, with the session.
// Store: the store, of a tree.
// Visit: the routine that is shown them.
// VisitFrame: the routine that is shown the open calls, or NULL.
// VisitContext: what it is given.
//

_Must_inspect_result_
static
NTSTATUS
CallVisitStore(
    _Inout_ PREADER_FUNCTIONS Functions,
    _Inout_ PREADER_STORE Store,
    _In_ PREADER_VISIT_NODE Visit,
    _In_opt_ PREADER_VISIT_FRAME VisitFrame,
    _In_ PVOID VisitContext
    )
{
    PREADER_SESSION Session = Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_TREE_NODE Node;
    READER_TREE_FRAME Frame;
    PREADER_NODE_PLACE Places = NULL;
    CORE_TREE Tree;
    SIZE_T Index;
    NTSTATUS Status;

    Status = SessionReadTreeStore(Session, Store, &Tree);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (Tree.NumberBad != 0 && !Store->IsWarned) {
        Store->IsWarned = TRUE;
        RtlWriteText(Session->Context->Errors,
                     "TraceReader: warning: %Z: ",
                     &Store->Name);
        SessionTreeStoreDescribeProblem(&Tree, Session->Context->Errors);
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
    if (Session->Waits != NULL) {
        Status = CallFindWaitsOfNodes(Functions, Store, &Tree, Places);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }
    }

    for (Index = 1; Index < Tree.NumberOfNodes; Index++) {

        PCCORE_TREE_NODE This = &Tree.Nodes[Index];
        PREADER_NODE_PLACE Above = &Places[This->Parent];
        PREADER_NODE_PLACE Place = &Places[Index];
        ULONG Module = Store->Modules[This->Module];

        if (!This->IsUsed || This->IsBad) {
            continue;
        }

        Status = CallFindNodeFunction(Functions,
                                      Store,
                                      This,
                                      &Place->Function);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        if (Functions->AreCallersNoted && This->Calls != 0) {
            Status = FunctionNoteCaller(
                Functions,
                ((ULONGLONG)Module << 32) | This->Rva,
                Place->Function);
            if (!NT_SUCCESS(Status)) {
                goto End;
            }
        }

        if (Store->IsApart) {
            Status = FunctionMarkApart(Functions, Place->Function);
            if (!NT_SUCCESS(Status)) {
                goto End;
            }
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
        Node.Module = Module;
        Node.WaitedTicks = Place->WaitedTicks;
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
CallVisitTrees(
    PREADER_FUNCTIONS Functions,
    ULONG Thread,
    PREADER_VISIT_NODE Visit,
    PREADER_VISIT_FRAME VisitFrame,
    PVOID VisitContext
    )
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

        Status = CallVisitStore(Functions,
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
