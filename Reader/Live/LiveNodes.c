/*++

Module Name:

    LiveNodes.c

Abstract:

    The chains of calls as nodes of a tree, and who called a function.

    Of calls that were read one by one a node's time is that of its own calls
    and of the nodes below it, so that shares add up whatever part of the
    records was read.  Trees, and what was read to its end, have exact totals.

--*/

#include "../Functions/FunctionFilter.h"
#include "../Functions/FunctionStub.h"
#include "../Session/SessionTreeStore.h"
#include "LiveChains.h"
#include "LiveNodes.h"


//
// Says which row of the functions is which function's.
//

_Must_inspect_result_
static
NTSTATUS
LiveIndexRows(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    ULONG Count = Live->Functions.NumberOfFunctions;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->RowOf,
                           &Model->CapacityOfRowOf,
                           Count,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Count; Index++) {
        Model->RowOf[Index] = READER_NONE;
    }

    for (Index = 0; Index < Model->NumberOfFunctions; Index++) {
        if (Model->Functions[Index].Function < Count) {
            Model->RowOf[Model->Functions[Index].Function] = Index;
        }
    }

    return STATUS_SUCCESS;
}


//
// Orders nodes by time, then by calls, then by name.
//

static
LONG
LiveCompareNodes(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_LIVE_NODE Nodes = (PCREADER_LIVE_NODE)Context;
    LONG Order;

    if (Nodes[First].TotalTicks != Nodes[Second].TotalTicks) {
        return Nodes[First].TotalTicks > Nodes[Second].TotalTicks ? -1 : 1;
    }

    if (Nodes[First].Calls != Nodes[Second].Calls) {
        return Nodes[First].Calls > Nodes[Second].Calls ? -1 : 1;
    }

    Order = BaseCompareText(Nodes[First].Name,
                            Nodes[First].NameLength,
                            Nodes[Second].Name,
                            Nodes[Second].NameLength);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


//
// Links the nodes to those above them, in order.
// Model: the model, with its nodes' times.
//

_Must_inspect_result_
static
NTSTATUS
LiveLinkNodes(
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    PREADER_LIVE_NODE Node;
    PREADER_LIVE_NODE Above;
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Model->Allocator,
                           (PVOID *)&Model->NodeOrder,
                           &Model->CapacityOfNodeOrder,
                           Model->NumberOfNodes,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = READER_LIVE_FIRST_NODE;
         Index < Model->NumberOfNodes;
         Index++) {
        Model->NodeOrder[Count] = Index;
        Count += 1;
    }

    BaseSort(Model->NodeOrder, Count, LiveCompareNodes, Model->Nodes);
    while (Count != 0) {
        Count -= 1;
        Node = &Model->Nodes[Model->NodeOrder[Count]];
        Above = &Model->Nodes[Node->Parent];
        Node->NextSibling = Above->FirstChild;
        Above->FirstChild = Model->NodeOrder[Count];
    }

    return STATUS_SUCCESS;
}


//
// Says since when the chains are kept, and of how much of the records they
// are.
//

static
VOID
LiveModelNodesState(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model
    )
{
    PCREADER_LIVE_THREAD Thread;
    ULONGLONG Records = 0;
    ULONGLONG Read = 0;
    ULONGLONG Number;
    ULONG Index;

    Model->Generation = Live->Chains.Generation;
    Model->AreNodesWhole = Live->Chains.IsWhole;
    Model->AreNodesOfTrees = Live->Session.NumberOfTrees != 0;
    Model->AreNodesEstimated = FALSE;
    Model->NodesNanoseconds = 0;
    Model->NodesPerMille = 1000;
    Model->NodesLimit = 0;
    if (Live->Chains.IsWhole) {
        return;
    }

    if (Live->Reading.QpcFrequency != 0) {
        Model->NodesNanoseconds =
            CoreMultiplyDivide(Live->Reading.Qpc - Live->Chains.BeginQpc,
                               CORE_NANOSECONDS_PER_SECOND,
                               Live->Reading.QpcFrequency);
    }

    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        Thread = Live->Threads[Index];
        Records += Thread->ChainRecords;
        Read += Thread->ChainRead;
        if (Thread->ChainRead >= Thread->ChainRecords) {
            continue;
        }

        Number = Thread->ChainRecords;
        if (Thread->ChainRead > 3) {
            Number = CoreMultiplyDivide(Number, 3, Thread->ChainRead);
        }

        Model->NodesLimit = Number > Model->NodesLimit ? Number
                                                       : Model->NodesLimit;
    }

    if (Read < Records) {
        Model->AreNodesEstimated = TRUE;
        Model->NodesPerMille = CoreMultiplyDivide(Read, 1000, Records);
    }
}


//
// Says who called a node: the function above, or the module whose import it is
// where that function is another module's.
//

static
VOID
LiveFindCallerOfNode(
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Path,
    _Inout_ PREADER_LIVE_NODE Node
    )
{
    PCREADER_IMPORTED Imported;
    ULONG Module;

    Node->Caller = Model->Nodes[Node->Parent].Function;
    Module = FunctionStubFindOtherCaller(&Live->Functions,
                                         CallQueryPathCaller(Path),
                                         Node->Caller);
    if (Module != 0) {
        Imported = &Live->Functions.Imported[Module - 1];
        Node->Caller = READER_MAKE_CALLING_MODULE(Module);
        Node->CallerName = Imported->Name;
        Node->CallerLength = Imported->NameLength;
    }
}


//
// Fills in a node: all but its place among the others.
// Node: the node, whose parent is there.
//

static
VOID
LiveFillNode(
    _In_ PCREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model,
    _In_ ULONG Index
    )
{
    PCREADER_LIVE_CHAINS Chains = &Live->Chains;
    PCREADER_LIVE_CHAIN Chain = &Chains->List[Index];
    PCCORE_PATH Path = &Chains->Paths.Paths[Index];
    PREADER_LIVE_NODE Node = &Model->Nodes[Index];
    PREADER_LIVE_NODE Above;
    PCREADER_FUNCTION Function;

    RtlZeroBytes(Node, sizeof(*Node));
    Node->FirstChild = READER_NONE;
    Node->NextSibling = READER_NONE;
    Node->Function = READER_NONE;
    Node->Row = READER_NONE;
    Node->Calls = Chain->AllCalls + Chain->TreeCalls + Chain->DoneCalls;
    Node->SelfTicks = Chain->AllSelfTicks + Chain->TreeSelfTicks +
                      Chain->DoneSelfTicks;
    Node->TotalTicks = Chain->AllSelfTicks;
    if (Index < READER_LIVE_FIRST_NODE) {
        return;
    }

    Node->Function = CallQueryPathFunction(Path->Function);
    if (Chains->Tally != NULL) {
        Node->Function = Chains->Tally->List[Node->Function].Function;
    }

    Function = &Live->Functions.Functions[Node->Function];
    Node->Name = Function->Name;
    Node->NameLength = Function->NameLength;
    Node->Row = Model->RowOf[Node->Function];
    Node->Parent = Path->Parent;
    LiveFindCallerOfNode(Live, Model, Path->Function, Node);
    Above = &Model->Nodes[Node->Parent];
    Node->Depth = Node->Parent < READER_LIVE_FIRST_NODE ? 0
                                                        : Above->Depth + 1;
    Node->IsExcluded = Above->IsExcluded || Function->IsExcluded;
    Node->IsShown = !Node->IsExcluded &&
                    (Above->IsShown || Function->IsShown);
}


_Use_decl_annotations_
NTSTATUS
LiveMakeNodes(
    PREADER_LIVE Live,
    PREADER_LIVE_MODEL Model
    )
{
    PREADER_LIVE_CHAINS Chains = &Live->Chains;
    PREADER_LIVE_NODE Node;
    PCREADER_LIVE_CHAIN Chain;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    Model->NumberOfNodes = 0;
    if (!Chains->IsWhole) {
        Status = LiveChainsReadTrees(Live);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Count = Chains->Paths.NumberOfPaths;
    FunctionFilterFunctions(&Live->Functions, Live->Options->Filter);
    Status = LiveIndexRows(Live, Model);
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Model->Allocator,
                               (PVOID *)&Model->Nodes,
                               &Model->CapacityOfNodes,
                               Count,
                               sizeof(READER_LIVE_NODE));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Count; Index++) {
        LiveFillNode(Live, Model, Index);
    }

    //
    // A node comes after the one above it.
    //

    for (Index = Count - 1; Index >= READER_LIVE_FIRST_NODE; Index--) {
        Node = &Model->Nodes[Index];
        Model->Nodes[Node->Parent].TotalTicks += Node->TotalTicks;
    }

    Model->NodesTicks = Model->Nodes[CORE_PATH_OUTSIDE].TotalTicks;
    Model->NodesCalls = 0;
    for (Index = CORE_PATH_OUTSIDE; Index < Count; Index++) {

        Node = &Model->Nodes[Index];
        Chain = &Chains->List[Index];
        Model->NodesCalls += Node->Calls;
        if (Index >= READER_LIVE_FIRST_NODE) {
            Node->TotalTicks += Chain->TreeTotalTicks + Chain->DoneTotalTicks;
            Model->NodesTicks += Node->Depth == 0 ? Node->TotalTicks : 0;
        }
    }

    Model->NumberOfNodes = Count;
    LiveModelNodesState(Live, Model);
    return LiveLinkNodes(Model);
}


//
// Decides whether a call is made while another one of the same is open: of
// the function, or of the function by the same caller.
// Index: the call's node.
//

static
BOOLEAN
LiveIsInsideOfSame(
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG Index,
    _In_ BOOLEAN IsByCaller
    )
{
    PCREADER_LIVE_NODE Nodes = Model->Nodes;
    ULONG Node = Nodes[Index].Parent;

    while (Node >= READER_LIVE_FIRST_NODE) {
        if (Nodes[Node].Function == Nodes[Index].Function &&
            (!IsByCaller || Nodes[Node].Caller == Nodes[Index].Caller)) {
            return TRUE;
        }

        Node = Nodes[Node].Parent;
    }

    return FALSE;
}


//
// Adds a node's calls to an edge.
//

static
VOID
LiveAddNodeToEdge(
    _Inout_ PREADER_LIVE_EDGE Edge,
    _In_ PCREADER_LIVE_NODE Node,
    _In_ BOOLEAN IsOutermost
    )
{
    Edge->Calls += Node->Calls;
    Edge->SelfTicks += Node->SelfTicks;
    Edge->TotalTicks += IsOutermost ? Node->TotalTicks : 0;
}


_Use_decl_annotations_
NTSTATUS
LiveFindEdges(
    PCREADER_LIVE_MODEL Model,
    ULONG Function,
    PREADER_LIVE_EDGE *Edges,
    PULONG Capacity,
    PULONG NumberOfEdges
    )
{
    PCREADER_LIVE_NODE Node;
    PREADER_LIVE_EDGE Edge;
    READER_LIVE_EDGE Moved;
    ULONG Caller;
    ULONG Place;
    ULONG Index;
    NTSTATUS Status;

    *NumberOfEdges = 0;
    for (Index = READER_LIVE_FIRST_NODE;
         Index < Model->NumberOfNodes;
         Index++) {

        Node = &Model->Nodes[Index];
        if (Node->Function != Function) {
            continue;
        }

        Caller = Node->Caller;
        for (Place = 1; Place < *NumberOfEdges; Place++) {
            if ((*Edges)[Place].Function == Caller) {
                break;
            }
        }

        if (Place >= *NumberOfEdges) {

            Status = BaseGrowArray(Model->Allocator,
                                   (PVOID *)Edges,
                                   Capacity,
                                   Place + 1,
                                   sizeof(READER_LIVE_EDGE));
            if (!NT_SUCCESS(Status)) {
                *NumberOfEdges = 0;
                return Status;
            }

            if (*NumberOfEdges == 0) {
                RtlZeroBytes(*Edges, sizeof(READER_LIVE_EDGE));
                (*Edges)[0].Node = Index;
                (*Edges)[0].Function = Function;
            }

            RtlZeroBytes(&(*Edges)[Place], sizeof(READER_LIVE_EDGE));
            (*Edges)[Place].Node = READER_IS_CALLING_MODULE(Caller)
                                       ? Index
                                       : Node->Parent;
            (*Edges)[Place].Function = Caller;
            *NumberOfEdges = Place + 1;
        }

        LiveAddNodeToEdge(&(*Edges)[0],
                          Node,
                          !LiveIsInsideOfSame(Model, Index, FALSE));
        LiveAddNodeToEdge(&(*Edges)[Place],
                          Node,
                          !LiveIsInsideOfSame(Model, Index, TRUE));
    }

    //
    // There are few callers: each goes where it belongs.
    //

    for (Index = 2; Index < *NumberOfEdges; Index++) {

        Moved = (*Edges)[Index];
        for (Place = Index; Place > 1; Place--) {
            Edge = &(*Edges)[Place - 1];
            if (Edge->TotalTicks > Moved.TotalTicks ||
                (Edge->TotalTicks == Moved.TotalTicks &&
                 Edge->Calls >= Moved.Calls)) {
                break;
            }

            (*Edges)[Place] = *Edge;
        }

        (*Edges)[Place] = Moved;
    }

    return STATUS_SUCCESS;
}


//
// Writes a share of something, in percent with one decimal.
//

static
VOID
LiveWriteShare(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Part,
    _In_ ULONGLONG Whole
    )
{
    ULONGLONG PerMille = Whole != 0 ? CoreMultiplyDivide(Part, 1000, Whole)
                                    : 0;

    RtlWriteText(Writer, "%llu.%llu %%", PerMille / 10, PerMille % 10);
}


_Use_decl_annotations_
VOID
LiveWriteNodesState(
    PRTL_WRITER Writer,
    PCREADER_LIVE_MODEL Model
    )
{
    PCREADER_LIVE_NODE Outside;
    ULONGLONG Tenths = Model->NodesNanoseconds / 100000000;

    if (Model->NumberOfNodes == 0) {
        RtlWriteText(Writer, "Calls are added up by chain from now on.");
        return;
    }

    if (Model->AreNodesWhole) {
        RtlWriteText(Writer,
                     "The numbers are those of the whole run, exactly.");
    } else if (Model->IsOfTrees) {
        RtlWriteText(Writer, "All calls since recording began, exactly.");
    } else if (Model->AreNodesEstimated) {
        RtlWriteText(Writer,
                     "Estimated from %llu.%llu %% of the records of the last "
                     "%llu.%llu s; others may differ.",
                     Model->NodesPerMille / 10,
                     Model->NodesPerMille % 10,
                     Tenths / 10,
                     Tenths % 10);
    } else {
        RtlWriteText(Writer,
                     "All calls of the last %llu.%llu s%s.",
                     Tenths / 10,
                     Tenths % 10,
                     Model->AreNodesOfTrees
                           ? ", and trees from their beginning"
                           : "");
    }

    Outside = &Model->Nodes[CORE_PATH_OUTSIDE];
    if (Outside->Calls != 0 || Outside->SelfTicks != 0) {
        RtlWriteText(Writer, "  Too deep to be shown: ");
        if (Model->NodesTicks != 0 && !Model->AreNodesWhole) {
            LiveWriteShare(Writer, Outside->SelfTicks, Model->NodesTicks);
            RtlWriteText(Writer, " of the time.");
        } else {
            RtlWriteText(Writer, "%'llu calls.", Outside->Calls);
        }
    }
}
