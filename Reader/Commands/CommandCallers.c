/*++

Module Name:

    CommandCallers.c

Abstract:

    TraceReader callers and callees: the calls of a function by who made them,
    and the calls that it made, by function.

    Both come from the call tree.  An edge is a caller and a callee, or with
    --depth a longer chain of callers; its calls are those of all nodes of the
    tree that end such a chain.  The total of an edge, like that of a function,
    counts a call only if it is not inside another one of the same edge.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Functions/FunctionFindByName.h"
#include "../Functions/FunctionStub.h"
#include "../Calls/CallWaits.h"
#include "../Sums/SumPaths.h"
#include "../Sums/SumPutStatistics.h"
#include "../Sums/SumStates.h"
#include "Command.h"

#define READER_MAXIMUM_CALLER_DEPTH 256u

#define READER_EDGE_COLUMNS                                                 \
    { "Share, %", "share_percent", ReaderColumnHundredths, 8,               \
      READER_COLUMN_NULLABLE,                                               \
      "Of the function's total time; percent with two decimals." },         \
    { "", "relation", ReaderColumnText, 8, READER_COLUMN_DATA,              \
      "function: the function itself; caller; callee." },                   \
    { "", "level", ReaderColumnNumber, 0, READER_COLUMN_DATA,               \
      "How many calls away from the function; 0 is the function itself." }

#define READER_EDGE_FUNCTION_COLUMNS                                        \
    { "Module", "module", ReaderColumnText, 16,                             \
      READER_COLUMN_NULLABLE | READER_COLUMN_MODULE,                        \
      "The module's file name; null for (outermost)." },                    \
    { "Function", "function", ReaderColumnText, 0, 0,                       \
      "The function's name, or module+0xRVA." }

static const READER_COLUMN ReaderCallersColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_EDGE_COLUMNS,
    READER_EDGE_FUNCTION_COLUMNS
};

static const READER_COLUMN ReaderCallersStateColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_FUNCTION_STATE_COLUMNS,
    READER_EDGE_COLUMNS,
    READER_EDGE_FUNCTION_COLUMNS
};

static const READER_COLUMN ReaderCalleesColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_EDGE_COLUMNS,
    READER_CALLER_COLUMN(READER_COLUMN_CALLER),
    READER_EDGE_FUNCTION_COLUMNS
};

static const READER_COLUMN ReaderCalleesStateColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_FUNCTION_STATE_COLUMNS,
    READER_EDGE_COLUMNS,
    READER_CALLER_COLUMN(READER_COLUMN_CALLER),
    READER_EDGE_FUNCTION_COLUMNS
};

#define READER_CALLERS_TABLE(Columns)                                       \
    { "callers", Columns, RTL_NUMBER_OF(Columns), FALSE, FALSE,             \
      "The function itself (level 0), then its callers, each before its "   \
      "own." }

#define READER_CALLEES_TABLE(Columns)                                       \
    { "callees", Columns, RTL_NUMBER_OF(Columns), FALSE, FALSE,             \
      "The function itself (level 0), then its callees, each before its "   \
      "own." }

//
// By whether --etl was given.
//

static const READER_TABLE ReaderCallersKinds[2] = {
    READER_CALLERS_TABLE(ReaderCallersColumns),
    READER_CALLERS_TABLE(ReaderCallersStateColumns)
};

static const READER_TABLE ReaderCalleesKinds[2] = {
    READER_CALLEES_TABLE(ReaderCalleesColumns),
    READER_CALLEES_TABLE(ReaderCalleesStateColumns)
};

//
// An edge.  The one with index 0 stands for the function itself.
//

typedef struct _READER_EDGE {
    READER_STATISTICS Statistics;
    READER_FUNCTION_STATES States;
    ULONG Function;                 // READER_NONE: above the outermost call;
                                    // or a calling module
    ULONG Parent;                   // the chain without its last caller
    ULONG Level;                    // callers in the chain
    ULONG FirstChild;               // READER_NONE: none
    ULONG NextSibling;              // READER_NONE: the last
    ULONG NumberOfOpenNodes;        // of the edge, around the tree's node that
                                    // is looked at
} READER_EDGE;
typedef READER_EDGE *PREADER_EDGE;

typedef struct _READER_EDGES {
    PCREADER_OPTIONS Options;
    const READER_TREE *Tree;
    const READER_STATES *States;    // of its nodes
    PUCHAR IsMeant;                 // by function
    PULONG Alike;                   // by function: FunctionFindAlike
    BOOLEAN AreCallees;
    ULONG Depth;
    PREADER_EDGE Edges;
    ULONG NumberOfEdges;
    ULONG CapacityOfEdges;
    READER_MAP Indexes;             // (parent << 32) | function to edge
} READER_EDGES;
typedef READER_EDGES *PREADER_EDGES;


//
// Adds the calls of a node to an edge, and goes into the node.
//

static
VOID
CommandAddNodeToEdge(
    _Inout_ PREADER_EDGE Edge,
    _In_ const READER_EDGES *Edges,
    _In_ ULONG Node
    )
{
    CoreAddStatistics(&Edge->Statistics,
                      &Edges->Tree->Nodes[Node].Statistics,
                      Edge->NumberOfOpenNodes == 0);
    SumStatesAddNode(&Edge->States,
                     SumStatesFind(Edges->States, Node),
                     Edge->NumberOfOpenNodes == 0);
    Edge->NumberOfOpenNodes += 1;
}


//
// Finds an edge, and adds it if it is not there.
// Parent: the chain without its last caller; READER_NONE for the function
// itself.
// Edge: the edge's index.
//

_Must_inspect_result_
static
NTSTATUS
CommandFindEdge(
    _Inout_ PREADER_EDGES Edges,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _Out_ PULONG Edge
    )
{
    ULONGLONG Key = ((ULONGLONG)Parent << 32) | Function;
    PREADER_EDGE New;
    NTSTATUS Status;

    if (BaseFindInMap(&Edges->Indexes, Key, Edge)) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Edges->Tree->Session->Context->Allocator,
                           (PVOID *)&Edges->Edges,
                           &Edges->CapacityOfEdges,
                           Edges->NumberOfEdges + 1,
                           sizeof(READER_EDGE));
    if (NT_SUCCESS(Status)) {
        Status = BaseAddToMap(&Edges->Indexes, Key, Edges->NumberOfEdges);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    *Edge = Edges->NumberOfEdges;
    New = &Edges->Edges[*Edge];
    New->Function = Function;
    New->Parent = Parent;
    New->FirstChild = READER_NONE;
    New->NextSibling = READER_NONE;
    if (Parent != READER_NONE) {
        New->Level = Edges->Edges[Parent].Level + 1;
    }

    Edges->NumberOfEdges += 1;
    return STATUS_SUCCESS;
}


//
// Goes into a node, or out of it, for all edges that end with it.
// NodeIndex: the node of the tree, not its root.
// IsLeaving: whether to go out of it.
// Returns STATUS_SUCCESS or STATUS_NO_MEMORY, which leaving does not give.
//

_Must_inspect_result_
static
NTSTATUS
CommandVisitNode(
    _Inout_ PREADER_EDGES Edges,
    _In_ ULONG NodeIndex,
    _In_ BOOLEAN IsLeaving
    )
{
    const READER_TREE *Tree = Edges->Tree;
    const READER_NODE *Node = &Tree->Nodes[NodeIndex];
    BOOLEAN IsMeant = Edges->IsMeant[Node->Function];
    ULONG Above = Node->Parent;
    ULONG Below = Node->Function;   // READER_NONE: Above has called
    ULONG Edge = 0;
    ULONG Function;
    ULONG Module;
    ULONG Level;
    NTSTATUS Status;

    if (IsMeant) {
        if (IsLeaving) {
            Edges->Edges[0].NumberOfOpenNodes -= 1;
        } else {
            CommandAddNodeToEdge(&Edges->Edges[0], Edges, NodeIndex);
        }
    }

    if (Edges->AreCallees) {
        if (Above == READER_ROOT_NODE ||
            !Edges->IsMeant[Tree->Nodes[Above].Function]) {
            return STATUS_SUCCESS;
        }
    } else if (!IsMeant) {
        return STATUS_SUCCESS;
    }

    for (Level = 0; Level < Edges->Depth; Level++) {

        Module = Edges->AreCallees
                     ? 0
                     : FunctionStubFindCaller(Tree->Functions,
                                              Below,
                                              Tree->Nodes[Above].Function);
        if (Edges->AreCallees) {
            Function = Node->Function;
        } else if (Module != 0) {
            Function = READER_MAKE_CALLING_MODULE(Module);
        } else if (Above != READER_ROOT_NODE) {
            Function = Edges->Alike[Tree->Nodes[Above].Function];
        } else {
            Function = READER_NONE;
        }

        Status = CommandFindEdge(Edges, Edge, Function, &Edge);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (IsLeaving) {
            Edges->Edges[Edge].NumberOfOpenNodes -= 1;
        } else {
            CommandAddNodeToEdge(&Edges->Edges[Edge], Edges, NodeIndex);
        }

        if (Module != 0) {
            Below = READER_NONE;
        } else if (Above == READER_ROOT_NODE) {
            break;
        } else {
            Below = Tree->Nodes[Above].Function;
            Above = Tree->Nodes[Above].Parent;
        }
    }

    return STATUS_SUCCESS;
}


//
// Goes through the tree and adds everything up.
// Edges: the edges, none yet.
//

_Must_inspect_result_
static
NTSTATUS
CommandFindEdges(
    _Inout_ PREADER_EDGES Edges
    )
{
    const READER_TREE *Tree = Edges->Tree;
    ULONG Node = Tree->Nodes[READER_ROOT_NODE].FirstChild;
    ULONG Self;
    NTSTATUS Status;

    Status = CommandFindEdge(Edges, READER_NONE, READER_NONE, &Self);
    while (NT_SUCCESS(Status) && Node != READER_NONE) {

        Status = CommandVisitNode(Edges, Node, FALSE);
        if (Tree->Nodes[Node].FirstChild != READER_NONE) {
            Node = Tree->Nodes[Node].FirstChild;
            continue;
        }

        while (NT_SUCCESS(Status)) {

            Status = CommandVisitNode(Edges, Node, TRUE);
            if (Tree->Nodes[Node].NextSibling != READER_NONE) {
                Node = Tree->Nodes[Node].NextSibling;
                break;
            }

            Node = Tree->Nodes[Node].Parent;
            if (Node == READER_ROOT_NODE) {
                return Status;
            }
        }
    }

    return Status;
}


//
// Orders edges as --sort says, then by name, then as they were met.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareEdges(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_EDGES Edges = (PREADER_EDGES)Context;
    const READER_EDGE *One = &Edges->Edges[First];
    const READER_EDGE *Other = &Edges->Edges[Second];
    PCREADER_FUNCTION Functions = Edges->Tree->Functions->Functions;
    LONG Order;

    Order = SumCompareStatistics(&One->Statistics,
                                 &Other->Statistics,
                                 Edges->Options->SortKey);
    if (Order == 0 && One->Function < READER_CALLING_MODULE &&
        Other->Function < READER_CALLING_MODULE) {
        Order = FunctionCompareNames(&Functions[One->Function],
                                     &Functions[Other->Function]);
    }

    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


//
// Links the edges to those that they prolong, in order.
//

_Must_inspect_result_
static
NTSTATUS
CommandSortEdges(
    _Inout_ PREADER_EDGES Edges
    )
{
    PCALLOCATOR Allocator = Edges->Tree->Session->Context->Allocator;
    PREADER_EDGE Edge;
    PULONG Order;
    ULONG Index;

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Edges->NumberOfEdges * sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Edges->NumberOfEdges; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order, Edges->NumberOfEdges, CommandCompareEdges, Edges);
    for (Index = Edges->NumberOfEdges; Index != 0; Index--) {

        Edge = &Edges->Edges[Order[Index - 1]];
        if (Edge->Parent != READER_NONE) {
            Edge->NextSibling = Edges->Edges[Edge->Parent].FirstChild;
            Edges->Edges[Edge->Parent].FirstChild = Order[Index - 1];
        }
    }

    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


//
// Writes an edge's row.
// Index: the edge; 0 is the function itself.
// Function: the function that is meant, or the first one.
//

static
VOID
CommandPutEdge(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_EDGES *Edges,
    _In_ ULONG Index,
    _In_ ULONG Function
    )
{
    const READER_TREE *Tree = Edges->Tree;
    const READER_EDGE *Edge = &Edges->Edges[Index];
    PCREADER_FUNCTION This;
    ULONGLONG Total = Edges->Edges[0].Statistics.TotalTicks;

    SumPutStatistics(Output, &Edge->Statistics);
    if (Edges->States->Etl->IsThere) {
        SumStatesPut(Output, &Edge->States, &Edge->Statistics);
    }

    if (Total != 0) {
        OutputPutNumber(Output,
                        CoreMultiplyDivide(Edge->Statistics.TotalTicks,
                                           10000,
                                           Total));
    } else {
        OutputPutNothing(Output);
    }

    OutputPutString(Output,
                    Index == 0            ? "function"
                    : Edges->AreCallees ? "callee"
                                        : "caller");
    OutputPutNumber(Output, Edge->Level);
    if (Index != 0) {
        Function = Edge->Function;
    }

    if (Function == READER_NONE) {
        OutputPutNothing(Output);
        OutputPutIndentedText(Output, Edge->Level, "(outermost)", 11);
        return;
    }

    if (READER_IS_CALLING_MODULE(Function)) {
        FunctionStubPutCallingModule(Output,
                                     Tree->Functions,
                                     Function,
                                     Edge->Level);
        return;
    }

    This = &Tree->Functions->Functions[Function];
    if (Edges->AreCallees && Index != 0) {
        FunctionStubPutCaller(Output, Tree->Functions, This);
    } else if (Edges->AreCallees) {
        OutputPutNothing(Output);
    }

    OutputPutText(Output, This->ModuleName, This->ModuleNameLength);
    OutputPutIndentedText(Output,
                          Edge->Level,
                          This->Name,
                          This->NameLength);
}


//
// Writes all edges, each before those that prolong it.
// Edges: the edges, sorted.
// Function: the function that is meant, or the first one.
//

static
VOID
CommandPutEdges(
    _In_ const READER_EDGES *Edges,
    _In_ ULONG Function
    )
{
    PREADER_SESSION Session = Edges->Tree->Session;
    PCREADER_OPTIONS Options = Edges->Options;
    PCREADER_STATISTICS Statistics = &Edges->Edges[0].Statistics;
    READER_OUTPUT Output;
    ULONGLONG Abandoned = Statistics->Abandoned;
    ULONGLONG Unfinished = Statistics->Unfinished;
    ULONGLONG Uncertain = Statistics->Uncertain;
    ULONGLONG BegunBefore = Statistics->BegunBefore;
    ULONGLONG Waited = Statistics->WaitedTicks;
    ULONGLONG Rows = 0;
    ULONG When;
    ULONG Edge;

    for (Edge = 1; Edge < Edges->NumberOfEdges; Edge++) {
        Abandoned += Edges->Edges[Edge].Statistics.Abandoned;
        Unfinished += Edges->Edges[Edge].Statistics.Unfinished;
        Uncertain += Edges->Edges[Edge].Statistics.Uncertain;
        BegunBefore += Edges->Edges[Edge].Statistics.BegunBefore;
        Waited |= Edges->Edges[Edge].Statistics.WaitedTicks;
    }

    When = SumSelectColumns(Abandoned,
                            Unfinished,
                            Uncertain,
                            BegunBefore,
                            Session->NumberOfModules) |
           FunctionStubSelectColumn(Edges->Tree->Functions);
    if (Waited != 0) {
        When |= READER_COLUMN_WAITED;
    }

    if (Edges->States->Etl->States.NumberOfSamples != 0) {
        When |= READER_COLUMN_SAMPLES;
    }

    OutputBeginDocument(&Output,
                        Session->Context->Output,
                        Options->Format,
                        &Session->Clock,
                        Edges->AreCallees ? "callees" : "callers",
                        FALSE);
    OutputBeginTable(&Output,
                     Edges->AreCallees
                         ? &ReaderCalleesKinds[Edges->States->Etl->IsThere]
                         : &ReaderCallersKinds[Edges->States->Etl->IsThere],
                     When);
    CommandPutEdge(&Output, Edges, 0, Function);

    Edge = Edges->Edges[0].FirstChild;
    while (Edge != READER_NONE && Rows < Options->Limit) {

        CommandPutEdge(&Output, Edges, Edge, Function);
        Rows += 1;
        if (Edges->Edges[Edge].FirstChild != READER_NONE) {
            Edge = Edges->Edges[Edge].FirstChild;
            continue;
        }

        while (Edge != 0 && Edges->Edges[Edge].NextSibling == READER_NONE) {
            Edge = Edges->Edges[Edge].Parent;
        }

        Edge = Edge == 0 ? READER_NONE : Edges->Edges[Edge].NextSibling;
    }

    OutputEndTable(&Output);
    if (Abandoned != 0) {
        OutputPutNote(&Output, SumQueryAbandonedNote(Session));
    }

    if (Unfinished != 0) {
        OutputPutNote(&Output,
                      Edges->Tree->Range->IsGiven
                          ? READER_UNFINISHED_RANGE_NOTE
                          : READER_UNFINISHED_NOTE_OF(Session));
    }

    if (Uncertain != 0) {
        OutputPutNote(&Output, READER_UNCERTAIN_NOTE);
    }

    CallPutRangeNote(&Output, Options, BegunBefore);
    SumStatesPutNote(&Output, Edges->States->Etl);
    SessionPutClockNote(&Output, Session);
    OutputEndDocument(&Output);
}


//
// Finds the function, adds up its edges and shows them.
// Edges: the edges, none yet, with the tree.
//

static
ULONG
CommandShowEdges(
    _Inout_ PREADER_EDGES Edges
    )
{
    PREADER_FUNCTIONS Functions = Edges->Tree->Functions;
    PCREADER_CONTEXT Context = Functions->Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    PCSZ Command = Edges->AreCallees ? "callees" : "callers";
    READER_NAME Name;
    PUCHAR IsSeen;
    ULONG ExitCode;
    ULONG Function;
    ULONG Index;
    BOOLEAN IsFound;
    NTSTATUS Status;

    FunctionGiveShortNames(Functions);
    IsSeen = (PUCHAR)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Functions->NumberOfFunctions + 1);
    if (IsSeen == NULL) {
        return BaseFail(Context,
                        Command,
                        Edges->Options->PathUtf8,
                        STATUS_NO_MEMORY);
    }

    for (Index = READER_ROOT_NODE + 1;
         Index < Edges->Tree->NumberOfNodes;
         Index++) {
        IsSeen[Edges->Tree->Nodes[Index].Function] = TRUE;
    }

    ExitCode = READER_EXIT_FAILURE;
    IsFound = FunctionInitializeName(&Name,
                                     Functions,
                                     Command,
                                     Edges->Options->FirstUtf8) &&
              FunctionResolveName(&Name,
                                  IsSeen,
                                  Functions->NumberOfFunctions,
                                  &Edges->IsMeant,
                                  &Function,
                                  &ExitCode);
    FunctionRundownName(&Name);
    Allocator->Free(Allocator->Context, IsSeen);
    if (!IsFound) {
        return ExitCode;
    }

    BaseInitializeMap(&Edges->Indexes, Allocator);
    Edges->Alike = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Functions->NumberOfFunctions + 1) * sizeof(ULONG));
    Status = Edges->Alike != NULL
                 ? FunctionFindAlike(Functions, Edges->Alike)
                 : STATUS_NO_MEMORY;
    if (NT_SUCCESS(Status)) {
        Status = CommandFindEdges(Edges);
    }

    if (NT_SUCCESS(Status)) {
        Status = CommandSortEdges(Edges);
    }

    if (!NT_SUCCESS(Status)) {

        ExitCode = BaseFail(Context,
                            Command,
                            Edges->Options->PathUtf8,
                            Status);

    } else if (Edges->Edges[0].Statistics.Calls == 0) {

        RtlWriteText(Context->Errors,
                     "TraceReader: %s: no call of %T was found in the data "
                     "that was read\n",
                     Command,
                     Name.Text);
        RtlFlushWriter(Context->Errors);
        ExitCode = READER_EXIT_NOTHING;

    } else {
        CommandPutEdges(Edges, Function);
    }

    BaseRundownMap(&Edges->Indexes);
    Allocator->Free(Allocator->Context, Edges->Edges);
    Allocator->Free(Allocator->Context, Edges->IsMeant);
    Allocator->Free(Allocator->Context, Edges->Alike);
    return ExitCode;
}


//
// AreCallees: whether it is callees.
//

static
ULONG
CommandRunEdges(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_ BOOLEAN AreCallees
    )
{
    READER_TEAM Team;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    READER_EDGES Edges;
    READER_STATES States;
    READER_ETL Etl;
    READER_TREE Tree;
    READER_COST Cost;
    ULONG ExitCode = READER_EXIT_FAILURE;
    ULONG Code;

    CommandBeginReading(Context, &Cost);
    BaseInitializeTeam(&Team, Context, Options->NumberOfWorkers);
    if (!CommandBeginCommand(&Session, &Team.Context, Options)) {
        goto End;
    }

    if (!CallBeginWaits(&Session, Options) ||
        !CallQueryRange(&Session, Options, &Range)) {
        CommandCloseCommandSession(&Session);
        goto End;
    }

    if (!SumEtlOpen(&Etl, &Session, Options)) {
        SumEtlClose(&Etl);
        CommandCloseCommandSession(&Session);
        goto End;
    }

    FunctionInitializeFunctions(&Functions, &Session);
    Functions.AreStubsApart = TRUE;
    SumInitializeTree(&Tree, &Functions, &Range, READER_NONE, FALSE);
    Tree.Team = &Team;
    ExitCode = SumBuildTree(&Tree, Options);
    SumStatesReadTree(&States, &Etl, &Tree, Options);
    if (Tree.NumberOfNodes != 0) {

        RtlZeroBytes(&Edges, sizeof(Edges));
        Edges.Options = Options;
        Edges.Tree = &Tree;
        Edges.States = &States;
        Edges.AreCallees = AreCallees;
        Edges.Depth = 1;
        if ((Options->Given & READER_OPTION_DEPTH) != 0) {
            Edges.Depth = Options->Depth < READER_MAXIMUM_CALLER_DEPTH
                              ? Options->Depth
                              : READER_MAXIMUM_CALLER_DEPTH;
        }

        Code = CommandShowEdges(&Edges);
        if (ExitCode == READER_EXIT_SUCCESS) {
            ExitCode = Code;
        }
    }

    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        Cost.NumberOfRecords = Tree.NumberOfRecords;
        Cost.NumberOfOrdinary = Tree.NumberOfOrdinary;
        Cost.NumberOfThreads = Tree.NumberOfThreads;
        Cost.NumberOfWorkers = Tree.NumberOfWorkers;
        CommandPutReading(&Session, &Cost);
    }

    SumStatesRundown(&States);
    SumRundownTree(&Tree);
    SumEtlClose(&Etl);
    FunctionRundownFunctions(&Functions);
    CommandCloseCommandSession(&Session);

End:
    BaseRundownTeam(&Team);
    return ExitCode;
}


static
ULONG
CommandCallers(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    return CommandRunEdges(Context, Options, FALSE);
}


static
ULONG
CommandCallees(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    return CommandRunEdges(Context, Options, TRUE);
}


#define READER_EDGE_NOTE                                                    \
    "The first row is the function itself, level 0.  The times of the\n"    \
    "others are those of the calls from the one to the other: self is the\n" \
    "callee's own time in these calls.  Total counts a call once that is\n" \
    "inside another one from the same function to the same function, so\n"  \
    "that a recursive function has an edge to itself whose total is that\n" \
    "of its outermost calls by itself.  share is the part of the\n"         \
    "function's total; with recursion the shares add up to more than 100.\n"

#define READER_EDGE_OPTIONS                                                 \
    (READER_OPTION_FORMAT | READER_OPTION_WIDTH | READER_OPTION_COLOR |    \
     READER_OPTION_SORT | READER_OPTION_LIMIT |                             \
     READER_OPTION_THREAD | READER_OPTION_FROM | READER_OPTION_TO |         \
     READER_OPTION_WORKERS | READER_OPTION_GENERAL |                        \
     READER_OPTION_VERBOSE | READER_OPTION_PAGER | READER_OPTION_WAITS |    \
     READER_OPTION_ETL |                                                    \
     READER_OPTIONS_OF_READING)

//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderCallersTables[] = {
    &ReaderCallersKinds[1],
    NULL
};

const READER_COMMAND ReaderCallersCommand = {
    "callers",
    "FUNCTION [PATH]",
    "Shows who called a function, how often and for how long",
    READER_NAME_NOTE
    "With --depth N (default: 1, at most 256) each caller is followed by\n"
    "its own callers, N levels of them: a row of level 3 is a chain of three\n"
    "callers.  (outermost) is the caller of calls that were not made by a\n"
    "traced function.\n"
    READER_UNSEEN_CALLER_NOTE
    READER_EDGE_NOTE
    READER_WAITS_NOTE
    READER_ETL_NOTE
    READER_FRAMES_NOTE
    READER_RANGE_NOTE
    READER_TICKS_NOTE,
    "  TraceReader callers Game::Load SESSION\n"
    "  TraceReader callers --depth 4 --sort calls malloc SESSION\n",
    READER_EDGE_OPTIONS | READER_OPTION_DEPTH,
    CommandCallers,
    ReaderCallersTables,
    NULL
};

//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderCalleesTables[] = {
    &ReaderCalleesKinds[1],
    NULL
};

const READER_COMMAND ReaderCalleesCommand = {
    "callees",
    "FUNCTION [PATH]",
    "Shows whom a function called, how often and for how long",
    READER_NAME_NOTE
    READER_EDGE_NOTE
    READER_WAITS_NOTE
    READER_ETL_NOTE
    READER_FRAMES_NOTE
    READER_RANGE_NOTE
    READER_TICKS_NOTE,
    "  TraceReader callees Game::Update SESSION\n"
    "  TraceReader callees --sort self --limit 10 game.exe!main SESSION\n",
    READER_EDGE_OPTIONS,
    CommandCallees,
    ReaderCalleesTables,
    NULL
};
