/*++

Module Name:

    CoreTree.c

Abstract:

    The calling-context tree of a store: its nodes and its open frames, checked
    and added up.  Whatever they hold, a node's parent comes before it, so that
    there are no circles, and every sum ends at the largest number there is.

--*/

#include "CoreClock.h"
#include "CoreTree.h"

#define CORE_ALL_ONES 0xFFFFFFFFFFFFFFFFULL

//
// No thread makes more calls, or runs longer, than this.
//

#define CORE_MAXIMUM_TREE_NUMBER 0x0FFFFFFFFFFFFFFFULL


//
// Adds two numbers.
// Returns the sum, or the largest number there is.
//

static
ULONGLONG
CoreAddLimited(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second
    )
{
    return First + Second < First ? CORE_ALL_ONES : First + Second;
}


//
// Subtracts a number from another one.
// Returns the difference, or 0 if it is negative.
//

static
ULONGLONG
CoreSubtractLimited(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second
    )
{
    return First > Second ? First - Second : 0;
}


//
// Makes room in an array that grows by doubling.
// Allocator: where its memory comes from.
// Capacity: of it, in elements.
// Count: how many elements there is to be room for.
// SizeOfElement: in bytes.
//

_Must_inspect_result_
static
NTSTATUS
CoreGrowTreeArray(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PVOID *Array,
    _Inout_ SIZE_T *Capacity,
    _In_ SIZE_T Count,
    _In_ SIZE_T SizeOfElement
    )
{
    PULONGLONG Old = (PULONGLONG)*Array;
    PULONGLONG New;
    SIZE_T NewCapacity = *Capacity;
    SIZE_T Index;

    if (Count <= *Capacity) {
        return STATUS_SUCCESS;
    }

    if (Count > ((SIZE_T)-1) / 4 / SizeOfElement) {
        return STATUS_NO_MEMORY;
    }

    if (NewCapacity == 0) {
        NewCapacity = 16;
    }

    while (NewCapacity < Count) {
        NewCapacity *= 2;
    }

    New = (PULONGLONG)Allocator->Allocate(Allocator->Context,
                                          NewCapacity * SizeOfElement);
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0;
         Index < *Capacity * SizeOfElement / sizeof(ULONGLONG);
         Index++) {
        New[Index] = Old[Index];
    }

    Allocator->Free(Allocator->Context, Old);
    *Array = New;
    *Capacity = NewCapacity;
    return STATUS_SUCCESS;
}

C_ASSERT(sizeof(CORE_TREE_NODE) % sizeof(ULONGLONG) == 0);
C_ASSERT(sizeof(CORE_TREE_FRAME) % sizeof(ULONGLONG) == 0);


_Use_decl_annotations_
VOID
CoreCopyWords(
    uint64_t *Destination,
    const uint64_t *Source,
    SIZE_T NumberOfItems,
    SIZE_T WordsInItem
    )
{
    SIZE_T Item;
    SIZE_T Word;

    for (Item = 0; Item < NumberOfItems; Item++) {
        for (Word = WordsInItem; Word != 0; Word--) {
            Destination[Item * WordsInItem + Word - 1] =
                RtlLoadAcquire64(&Source[Item * WordsInItem + Word - 1]);
        }
    }
}


_Use_decl_annotations_
VOID
CoreInitializeTree(
    PCORE_TREE Tree,
    PCALLOCATOR Allocator,
    PCTRACE_STORE_HEADER Header,
    BOOLEAN IsLive
    )
{
    static const CORE_TREE Empty;

    *Tree = Empty;
    Tree->Allocator = Allocator;
    Tree->BaseAddress = Header->BaseAddress;
    Tree->NodesFileOffset = Header->NodesFileOffset;
    Tree->NumberOfModules = 1;
    Tree->Modules[0].Base = (ULONG)Header->ModuleBase;
    Tree->Modules[0].Size = Header->ModuleSize;
    Tree->IsLive = IsLive;
    Tree->IsAbandonedKnown = Header->MinorVersion >= TRACE_MINOR_ABANDONED;
    Tree->IsStopped = (Header->HookFlags & TRACE_HOOK_STOPPED) != 0;
}


_Use_decl_annotations_
BOOLEAN
CoreAddTreeModule(
    PCORE_TREE Tree,
    PCTRACE_TREE_MODULE Module
    )
{
    ULONG Number = Tree->NumberOfModules;
    PCSZ Field;
    ULONGLONG Value;
    SIZE_T Offset;

    if (Module->ModuleBase == 0 || Module->ModuleBase % 4096 != 0) {
        Field = "ModuleBase";
        Value = Module->ModuleBase;
        Offset = offsetof(TRACE_TREE_MODULE, ModuleBase);
    } else if (Module->ModuleSize == 0 || Module->ModuleSize > 0x7FFFFFFF) {
        Field = "ModuleSize";
        Value = Module->ModuleSize;
        Offset = offsetof(TRACE_TREE_MODULE, ModuleSize);
    } else if (Module->ModulePathLength > sizeof(Module->ModulePath) ||
               Module->ModulePathFullLength < Module->ModulePathLength) {
        Field = "ModulePathLength";
        Value = Module->ModulePathLength;
        Offset = offsetof(TRACE_TREE_MODULE, ModulePathLength);
    } else if (Module->PdbPathLength > sizeof(Module->PdbPath) ||
               Module->PdbPathFullLength < Module->PdbPathLength) {
        Field = "PdbPathLength";
        Value = Module->PdbPathLength;
        Offset = offsetof(TRACE_TREE_MODULE, PdbPathLength);
    } else if (Number > TRACE_TREE_MODULES) {
        Field = "ModuleBase";
        Value = Module->ModuleBase;
        Offset = 0;
    } else {
        Tree->Modules[Number].Base = (ULONG)Module->ModuleBase;
        Tree->Modules[Number].Size = Module->ModuleSize;
        Tree->NumberOfModules = Number + 1;
        return TRUE;
    }

    CoreNoteTreeProblem(Tree,
                        Tree->NodesFileOffset -
                            (ULONGLONG)Number * TRACE_TREE_MODULE_SIZE +
                            Offset,
                        "module",
                        Field,
                        "is not possible",
                        Value);
    return FALSE;
}


_Use_decl_annotations_
VOID
CoreRundownTree(
    PCORE_TREE Tree
    )
{
    if (Tree->Allocator != NULL) {
        Tree->Allocator->Free(Tree->Allocator->Context, Tree->Nodes);
        Tree->Allocator->Free(Tree->Allocator->Context, Tree->Frames);
    }

    Tree->Nodes = NULL;
    Tree->Frames = NULL;
    Tree->NumberOfNodes = 0;
    Tree->CapacityOfNodes = 0;
    Tree->NumberOfFrames = 0;
    Tree->CapacityOfFrames = 0;
}


_Use_decl_annotations_
VOID
CoreNoteTreeProblem(
    PCORE_TREE Tree,
    ULONGLONG FileOffset,
    PCSZ Object,
    PCSZ Field,
    PCSZ Problem,
    ULONGLONG Value
    )
{
    if (Tree->NumberBad == 0) {
        Tree->FirstProblem.FileOffset = FileOffset;
        Tree->FirstProblem.Object = Object;
        Tree->FirstProblem.Field = Field;
        Tree->FirstProblem.Problem = Problem;
        Tree->FirstProblem.Value = Value;
    }

    Tree->NumberBad += 1;
}


//
// Checks a node by itself, and that its parent can be one.
// Tree: the tree, with all nodes before it; notes what is wrong.
// Returns TRUE if it is good.
//

static
BOOLEAN
CoreCheckNode(
    _Inout_ PCORE_TREE Tree,
    _In_ PCTRACE_NODE Node,
    _In_ SIZE_T Index
    )
{
    PCSZ Field = NULL;
    PCSZ Problem = NULL;
    ULONGLONG Value = 0;
    SIZE_T Offset = 0;
    BOOLEAN IsOther = (Node->Flags & TRACE_NODE_OTHER) != 0;

#define CORE_NODE_IS_BAD(Name, Text)                                        \
    do {                                                                    \
        Field = #Name;                                                      \
        Problem = Text;                                                     \
        Value = Node->Name;                                                 \
        Offset = offsetof(TRACE_NODE, Name);                                \
    } while (0)

    if (Index == 0) {

        if (Node->Parent != 0) {
            CORE_NODE_IS_BAD(Parent, "is not the root's own, 0");
        } else if (Node->Kind != 0) {
            CORE_NODE_IS_BAD(Kind, "is not the root's, 0");
        } else if (Node->Site != 0) {
            CORE_NODE_IS_BAD(Site, "is not the root's, 0");
        } else if (IsOther) {
            CORE_NODE_IS_BAD(Flags, "says that the root is another's child");
        }

    } else if (Node->Parent >= Index) {
        CORE_NODE_IS_BAD(Parent, "does not come before the node");
    } else if (Tree->Nodes[Node->Parent].IsOther) {
        CORE_NODE_IS_BAD(Parent, "is an (other) node, which cannot have "
                                 "children");
    } else if (IsOther) {

        if (Node->Kind != 0) {
            CORE_NODE_IS_BAD(Kind, "is not 0, as required for an (other) node");
        } else if (Node->Site != 0) {
            CORE_NODE_IS_BAD(Site, "is not 0, as required for an (other) node");
        }

    } else if (Node->Kind != TRACE_KIND_ENTER &&
               Node->Kind != TRACE_KIND_ENTER_FUNCTION) {
        CORE_NODE_IS_BAD(Kind, "is not that of an entry");
    } else if (Node->Module >= Tree->NumberOfModules) {
        CORE_NODE_IS_BAD(Module, "is not in the store's table");
    } else if (Node->Site - Tree->Modules[Node->Module].Base >=
               Tree->Modules[Node->Module].Size) {
        CORE_NODE_IS_BAD(Site, "is outside the module");
    }

    if (Problem == NULL) {
        if (Node->Calls > CORE_MAXIMUM_TREE_NUMBER) {
            CORE_NODE_IS_BAD(Calls, "is not a possible number");
        } else if (Node->Abandoned > Node->Calls) {
            CORE_NODE_IS_BAD(Abandoned, "is more than Calls");
        } else if (Node->Total > CORE_MAXIMUM_TREE_NUMBER) {
            CORE_NODE_IS_BAD(Total, "is not a possible time");
        } else if (Tree->IsAbandonedKnown &&
                   Node->AbandonedTotal > Node->Total) {
            CORE_NODE_IS_BAD(AbandonedTotal, "is more than Total");
        } else if (Node->Maximum > CORE_MAXIMUM_TREE_NUMBER) {
            CORE_NODE_IS_BAD(Maximum, "is not a possible time");
        } else if (Node->Minimum > CORE_MAXIMUM_TREE_NUMBER &&
                   Node->Minimum != CORE_ALL_ONES) {
            CORE_NODE_IS_BAD(Minimum, "is not a possible time");
        } else if (Node->First > CORE_MAXIMUM_TREE_NUMBER) {
            CORE_NODE_IS_BAD(First, "is not a possible time");
        } else if (Node->Away > CORE_MAXIMUM_TREE_NUMBER) {
            CORE_NODE_IS_BAD(Away, "is not a possible time");
        }
    }

#undef CORE_NODE_IS_BAD

    if (Problem == NULL) {
        return TRUE;
    }

    //
    // A module may have joined since the table was read.
    //

    if (Tree->IsLive && offsetof(TRACE_NODE, Module) == Offset) {
        return FALSE;
    }

    CoreNoteTreeProblem(Tree,
                        Tree->NodesFileOffset +
                            (ULONGLONG)Index * TRACE_NODE_SIZE + Offset,
                        "node",
                        Field,
                        Problem,
                        Value);
    return FALSE;
}


_Use_decl_annotations_
NTSTATUS
CoreAddNodes(
    PCORE_TREE Tree,
    PCTRACE_NODE Nodes,
    SIZE_T NumberOfNodes
    )
{
    PCORE_TREE_NODE New;
    PCTRACE_NODE Node;
    SIZE_T Index;
    SIZE_T Place;
    NTSTATUS Status;

    if (NumberOfNodes >= CORE_TREE_NO_NODE - Tree->NumberOfNodes) {
        return STATUS_NO_MEMORY;
    }

    Status = CoreGrowTreeArray(Tree->Allocator,
                               (PVOID *)&Tree->Nodes,
                               &Tree->CapacityOfNodes,
                               Tree->NumberOfNodes + NumberOfNodes,
                               sizeof(CORE_TREE_NODE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < NumberOfNodes; Index++) {

        Node = &Nodes[Index];
        Place = Tree->NumberOfNodes;
        New = &Tree->Nodes[Place];

        New->IsBad = !CoreCheckNode(Tree, Node, Place);
        New->Parent = Node->Parent < Place ? (ULONG)Node->Parent : 0;
        if (Place != 0 && Tree->Nodes[New->Parent].IsBad &&
            New->Parent != 0) {
            New->IsBad = TRUE;
        }

        New->IsOther = (Node->Flags & TRACE_NODE_OTHER) != 0;
        New->IsUsed = FALSE;
        New->Kind = Node->Kind;
        New->Module = Node->Kind != 0 && !New->IsBad ? Node->Module : 0;
        New->Unused = 0;
        New->Rva = Node->Kind != 0
                       ? Node->Site - Tree->Modules[New->Module].Base
                       : 0;
        New->Calls = Node->Calls;
        New->Total = Node->Total;
        New->Self = 0;
        New->InChildren = 0;
        New->OpenTicks = 0;
        New->Open = 0;
        New->CallsOfChildren = 0;
        New->CallsBelow = 0;
        New->Abandoned = Node->Abandoned;
        New->AbandonedTotal = 0;
        if (Tree->IsAbandonedKnown) {
            New->AbandonedTotal = Node->AbandonedTotal;
        } else if (Node->Abandoned != 0) {
            New->AbandonedTotal = CORE_UNKNOWN;
        }
        New->Away = Node->Away;
        New->Maximum = Node->Maximum;
        New->Minimum = Node->Minimum;
        New->First = Node->First;

        //
        // A call that has just ended may be in the one and not in the other.
        //

        if (New->Minimum != CORE_ALL_ONES && New->Maximum < New->Minimum) {
            New->Maximum = New->Minimum;
        }

        if (New->IsBad || Place == 0) {
            New->Calls = 0;
            New->Total = 0;
            New->Abandoned = 0;
            New->AbandonedTotal = 0;
            New->Away = 0;
        }

        Tree->NumberOfNodes += 1;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CoreAddTreeFrame(
    PCORE_TREE Tree,
    PCTRACE_FRAME Frame,
    ULONGLONG FileOffset,
    ULONGLONG Before,
    PULONG Node
    )
{
    PCORE_TREE_FRAME New;
    PCSZ Field = NULL;
    PCSZ Problem = NULL;
    ULONGLONG Offset = Frame->Node - Tree->BaseAddress;
    ULONGLONG Value = Frame->Node;
    ULONGLONG Place = offsetof(TRACE_FRAME, Node);
    ULONG Below = *Node;
    ULONG Own = 0;
    BOOLEAN IsCounted;
    NTSTATUS Status;

    if (Offset < Tree->NodesFileOffset ||
        (Offset - Tree->NodesFileOffset) % TRACE_NODE_SIZE != 0 ||
        (Offset - Tree->NodesFileOffset) / TRACE_NODE_SIZE >=
            Tree->NumberOfNodes) {
        Field = "Node";
        Problem = "is not a node's address";
    } else {
        Own = (ULONG)((Offset - Tree->NodesFileOffset) / TRACE_NODE_SIZE);
        if (Below == CORE_TREE_NO_NODE) {
            if (Own != 0) {
                Field = "Node";
                Problem = "is not the root, as required for a stack's first "
                          "frame";
            } else if (Frame->Stack != CORE_ALL_ONES) {
                Field = "Stack";
                Problem = "is not all ones, as required for a stack's first "
                          "frame";
                Value = Frame->Stack;
                Place = offsetof(TRACE_FRAME, Stack);
            }
        } else if (Own == 0 ||
                   (Own != Below && Tree->Nodes[Own].Parent != Below) ||
                   (Own == Below && !Tree->Nodes[Own].IsOther)) {
            Field = "Node";
            Problem = "is not a child of the node of the frame below";
        } else if (Tree->Nodes[Own].IsBad) {
            Field = "Node";
            Problem = "is bad itself";
        } else if (Frame->Start > CORE_MAXIMUM_TREE_NUMBER) {
            Field = "Start";
            Problem = "is not a possible time stamp";
            Value = Frame->Start;
            Place = offsetof(TRACE_FRAME, Start);
        }
    }

    if (Problem != NULL) {

        //
        // While the thread goes on, frames are popped and pushed as they are
        // read.
        //

        if (!Tree->IsLive) {
            CoreNoteTreeProblem(Tree,
                                FileOffset + Place,
                                "open call",
                                Field,
                                Problem,
                                Value);
        }

        return STATUS_FILE_INVALID;
    }

    *Node = Own;
    if (Below == CORE_TREE_NO_NODE) {
        return STATUS_SUCCESS;
    }

    //
    // What was entered after the first node was read may not be in its node's
    // calls.  A clearing counts one call at most for each node.
    //

    IsCounted = Tree->Nodes[Own].Open <
                Tree->Nodes[Own].Calls - Tree->Nodes[Own].Abandoned;
    if (Tree->IsLive && (Frame->Start >= Before || !IsCounted)) {
        return STATUS_FILE_INVALID;
    }

    if (!IsCounted && !Tree->Nodes[Own].IsOther &&
        (Frame->Flags & TRACE_FRAME_STALE) == 0) {
        CoreNoteTreeProblem(Tree,
                            FileOffset + Place,
                            "open call",
                            "Node",
                            "has no call that can be open",
                            Frame->Node);
        return STATUS_FILE_INVALID;
    }

    Status = CoreGrowTreeArray(Tree->Allocator,
                               (PVOID *)&Tree->Frames,
                               &Tree->CapacityOfFrames,
                               Tree->NumberOfFrames + 1,
                               sizeof(CORE_TREE_FRAME));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    New = &Tree->Frames[Tree->NumberOfFrames];
    New->Start = Frame->Start;
    New->LeftTimestamp = 0;
    New->Node = Own;
    New->Stack = (ULONG)Tree->NumberOfStacks;
    New->IsInner = Own == Below;
    New->IsInUse = FALSE;
    Tree->NumberOfFrames += 1;
    Tree->Nodes[Own].Open += IsCounted;
    if (Frame->Start > Tree->LatestTimestamp) {
        Tree->LatestTimestamp = Frame->Start;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CoreEndTreeStack(
    PCORE_TREE Tree,
    SIZE_T First,
    ULONGLONG LeftTimestamp,
    BOOLEAN IsInUse
    )
{
    PCORE_TREE_FRAME Innermost;

    Tree->NumberOfStacks += 1;
    if (Tree->NumberOfFrames == First) {
        return;
    }

    Innermost = &Tree->Frames[Tree->NumberOfFrames - 1];
    Innermost->IsInUse = IsInUse;
    if (!IsInUse && LeftTimestamp <= CORE_MAXIMUM_TREE_NUMBER) {
        Innermost->LeftTimestamp = LeftTimestamp;
        if (LeftTimestamp > Tree->LatestTimestamp) {
            Tree->LatestTimestamp = LeftTimestamp;
        }
    }
}


_Use_decl_annotations_
VOID
CoreApplyToTree(
    PCORE_TREE Tree,
    ULONG Action,
    ULONGLONG Timestamp
    )
{
    PCORE_TREE_FRAME Frame;
    PCORE_TREE_NODE Node;
    SIZE_T Index;

    if (Timestamp > CORE_MAXIMUM_TREE_NUMBER ||
        (Action == TRACE_ACTION_STOP && Tree->IsStopped) ||
        (Action == TRACE_ACTION_START && !Tree->IsStopped) ||
        (Action != TRACE_ACTION_STOP && Action != TRACE_ACTION_START &&
         Action != TRACE_ACTION_CLEAR)) {
        return;
    }

    if (Timestamp > Tree->LatestTimestamp) {
        Tree->LatestTimestamp = Timestamp;
    }

    for (Index = 0;
         Action == TRACE_ACTION_CLEAR && Index < Tree->NumberOfNodes;
         Index++) {

        Node = &Tree->Nodes[Index];
        Node->Calls = Node->Open;
        Node->Total = 0;
        Node->Minimum = CORE_ALL_ONES;
        Node->Maximum = 0;
        Node->First = 0;
        Node->Abandoned = 0;
        Node->AbandonedTotal = 0;
        Node->Away = 0;
    }

    for (Index = 0; Index < Tree->NumberOfFrames; Index++) {

        Frame = &Tree->Frames[Index];
        Node = &Tree->Nodes[Frame->Node];
        if (Action == TRACE_ACTION_STOP) {

            if (!Frame->IsInner) {
                Node->Total = CoreAddLimited(
                    Node->Total,
                    CoreSubtractLimited(Timestamp, Frame->Start));
            }

            if (Frame->LeftTimestamp != 0) {
                Node->Away = CoreAddLimited(
                    Node->Away,
                    CoreSubtractLimited(Timestamp, Frame->LeftTimestamp));
            }

        } else if (Action == TRACE_ACTION_START || Frame->Start < Timestamp) {
            Frame->Start = Timestamp;
        }

        if (Frame->LeftTimestamp != 0) {
            Frame->LeftTimestamp = Timestamp;
        }
    }

    if (Action != TRACE_ACTION_CLEAR) {
        Tree->IsStopped = Action == TRACE_ACTION_STOP;
    }
}


//
// A stop or a start that changes nothing is none.
//

static
BOOLEAN
CoreIsTreeAction(
    _In_ PCTRACE_CONTROL_ACTION Action,
    _In_ ULONG NumberDone,
    _In_ BOOLEAN IsStopped
    )
{
    return Action->Reserved >= NumberDone &&
           Action->Timestamp <= CORE_MAXIMUM_TREE_NUMBER &&
           (Action->Kind == TRACE_ACTION_CLEAR ||
            (Action->Kind == TRACE_ACTION_STOP && !IsStopped) ||
            (Action->Kind == TRACE_ACTION_START && IsStopped));
}


_Use_decl_annotations_
VOID
CoreApplyActionsToTree(
    PCORE_TREE Tree,
    PCTRACE_CONTROL_ACTION Actions,
    ULONG NumberOfActions,
    ULONG NumberDone
    )
{
    PCTRACE_CONTROL_ACTION Action;
    PCORE_TREE_FRAME Frame;
    ULONGLONG Start = 0;
    ULONGLONG Last = 0;
    ULONGLONG Ticks = 0;
    ULONG Clear = NumberOfActions;
    ULONG Index;
    SIZE_T Place;
    BOOLEAN IsStarted = FALSE;

    for (Index = 0; Index < NumberOfActions; Index++) {
        if (Actions[Index].Kind == TRACE_ACTION_CLEAR &&
            CoreIsTreeAction(&Actions[Index], NumberDone, FALSE)) {
            Clear = Index;
        }
    }

    //
    // What stood in the nodes before the last clearing does not count any
    // more: up to there, only when it was started last matters.  After the
    // first start from then on all frames are alike, and what a stop gives to
    // their nodes is added up for all of them.
    //

    for (Index = 0; Index < NumberOfActions; Index++) {

        Action = &Actions[Index];
        if (!CoreIsTreeAction(Action, NumberDone, Tree->IsStopped)) {
            continue;
        }

        if (Index == Clear) {

            for (Place = 0;
                 IsStarted && Place < Tree->NumberOfFrames;
                 Place++) {
                Tree->Frames[Place].Start = Start;
            }

            IsStarted = FALSE;
            CoreApplyToTree(Tree, Action->Kind, Action->Timestamp);
            continue;
        }

        if (Action->Kind == TRACE_ACTION_STOP && !IsStarted &&
            (Clear == NumberOfActions || Index > Clear)) {
            CoreApplyToTree(Tree, Action->Kind, Action->Timestamp);
            continue;
        }

        if (Action->Timestamp > Tree->LatestTimestamp) {
            Tree->LatestTimestamp = Action->Timestamp;
        }

        Last = Action->Timestamp;
        if (Action->Kind == TRACE_ACTION_START) {
            Start = Last;
            IsStarted = TRUE;
            Tree->IsStopped = FALSE;
        } else if (Action->Kind == TRACE_ACTION_STOP) {
            Tree->IsStopped = TRUE;
            if (Clear == NumberOfActions || Index > Clear) {
                Ticks = CoreAddLimited(Ticks,
                                       CoreSubtractLimited(Last, Start));
            }
        }
    }

    for (Place = 0; IsStarted && Place < Tree->NumberOfFrames; Place++) {

        Frame = &Tree->Frames[Place];
        Frame->Start = Start;
        if (!Frame->IsInner) {
            Tree->Nodes[Frame->Node].Total =
                CoreAddLimited(Tree->Nodes[Frame->Node].Total, Ticks);
        }

        if (Frame->LeftTimestamp != 0) {
            Tree->Nodes[Frame->Node].Away =
                CoreAddLimited(Tree->Nodes[Frame->Node].Away, Ticks);
            Frame->LeftTimestamp = Last;
        }
    }
}


_Use_decl_annotations_
VOID
CoreNoteTreeEnd(
    PCORE_TREE Tree,
    PCTRACE_STORE_HEADER Header
    )
{
    ULONGLONG Latest = Tree->LatestTimestamp;

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

    Tree->LatestTimestamp = Latest;
}


_Use_decl_annotations_
VOID
CoreFinishTree(
    PCORE_TREE Tree,
    ULONGLONG Now
    )
{
    PCORE_TREE_NODE Nodes = Tree->Nodes;
    PCORE_TREE_NODE Node;
    PCORE_TREE_FRAME Frame;
    ULONGLONG Ticks;
    SIZE_T Index;

    //
    // The calls that a function has made, and that have ended, took no longer
    // than it has been running: the one that is open no less than what is not
    // in the total of those that have ended.
    //

    for (Index = 1; Index < Tree->NumberOfNodes; Index++) {
        Node = &Nodes[Nodes[Index].Parent];
        Node->InChildren = CoreAddLimited(Node->InChildren,
                                          Nodes[Index].Total);
    }

    for (Index = 0; Index < Tree->NumberOfFrames; Index++) {

        Frame = &Tree->Frames[Index];
        if (!Frame->IsInUse || Frame->IsInner || Tree->IsStopped) {
            continue;
        }

        Node = &Nodes[Frame->Node];
        Ticks = CoreSubtractLimited(CoreAddLimited(Node->InChildren,
                                                   Node->Away),
                                    Node->Total);
        Ticks = CoreAddLimited(Ticks, Frame->Start);
        if (Ticks <= CORE_MAXIMUM_TREE_NUMBER &&
            Ticks > Tree->LatestTimestamp) {
            Tree->LatestTimestamp = Ticks;
        }
    }

    Tree->Now = Now != 0 ? Now : Tree->LatestTimestamp;
    for (Index = 0; Index < Tree->NumberOfFrames; Index++) {

        Frame = &Tree->Frames[Index];
        Node = &Nodes[Frame->Node];
        Node->IsUsed = TRUE;
        if (Tree->IsStopped) {
            continue;
        }

        if (!Frame->IsInner) {
            Ticks = CoreSubtractLimited(Tree->Now, Frame->Start);
            Node->OpenTicks = CoreAddLimited(Node->OpenTicks, Ticks);
        }

        if (Frame->LeftTimestamp != 0) {
            Ticks = CoreSubtractLimited(Tree->Now, Frame->LeftTimestamp);
            Node->Away = CoreAddLimited(Node->Away, Ticks);
        }
    }

    for (Index = 0; Index < Tree->NumberOfNodes; Index++) {
        Nodes[Index].InChildren = 0;
        Tree->NumberOfOpenCalls += Nodes[Index].Open;
    }

    for (Index = Tree->NumberOfNodes; Index > 1; Index--) {

        Node = &Nodes[Index - 1];
        Node->Total = CoreAddLimited(Node->Total, Node->OpenTicks);
        Node->Self = CoreSubtractLimited(Node->Total,
                                         CoreAddLimited(Node->InChildren,
                                                        Node->Away));
        Nodes[Node->Parent].InChildren =
            CoreAddLimited(Nodes[Node->Parent].InChildren, Node->Total);

        Nodes[Node->Parent].CallsOfChildren =
            CoreAddLimited(Nodes[Node->Parent].CallsOfChildren, Node->Calls);
        Nodes[Node->Parent].CallsBelow =
            CoreAddLimited(Nodes[Node->Parent].CallsBelow,
                           CoreAddLimited(Node->CallsBelow, Node->Calls));

        if (Node->Calls != 0) {
            Node->IsUsed = TRUE;
        }

        if (Node->IsUsed) {
            Nodes[Node->Parent].IsUsed = TRUE;
        }
    }
}

_Use_decl_annotations_
VOID
CoreGetNodeStatistics(
    PCCORE_TREE_NODE Node,
    PREADER_STATISTICS Statistics
    )
{
    static const READER_STATISTICS Nothing = { 0 };

    *Statistics = Nothing;
    Statistics->Calls = Node->Calls;
    Statistics->InTrees = Node->Calls;
    Statistics->Abandoned = Node->Abandoned;
    Statistics->Unfinished = Node->Open;
    if (Node->Calls == Node->Abandoned) {
        Statistics->AbandonedTicks = Node->Total;
        return;
    }

    //
    // What the node has as its own time is also that of its abandoned calls;
    // how much of that is not known, but the others took no more than their
    // total.
    //

    Statistics->TotalTicks = Node->Total;
    Statistics->SelfTicks = Node->Self;
    if (Node->AbandonedTotal == CORE_UNKNOWN) {
        Statistics->AbandonedInTotal = Node->Abandoned;
    } else {
        Statistics->AbandonedTicks = Node->AbandonedTotal;
        Statistics->TotalTicks -= Node->AbandonedTotal;
        if (Statistics->SelfTicks > Statistics->TotalTicks) {
            Statistics->SelfTicks = Statistics->TotalTicks;
        }
    }

    Statistics->SumLow = Statistics->TotalTicks;
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
        Statistics->MinimumTicks = Statistics->TotalTicks;
        Statistics->MaximumTicks = Statistics->TotalTicks;
    }
}
