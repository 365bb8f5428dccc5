/*++

Module Name:

    ExportCallgrind.c

Abstract:

    The profile format of Valgrind's callgrind (its manual, "Callgrind Format
    Specification"), which callgrind_annotate and KCachegrind read: each
    function's self time, and for each function that it called how often, and
    the inclusive time of these calls.

    Costs are nanoseconds.  A position is the line where the function begins,
    0 if it is not known.  Calls that were abandoned are counted and have no
    cost.  The format has no recursion: its readers add up what a function's
    calls took.  So a call has no inclusive time where the function that it
    calls is open already: of one that calls itself the time counts once, as
    in report; of several that call each other in turns a little more than
    that is shown.

    Between an import whose caller is not recorded and the function around it is
    the module that called it, a function "[game.exe]" of that module.  It has
    no time of its own; it is called as often as it calls imports.

--*/

#include "../Functions/FunctionLine.h"
#include "../Functions/FunctionStub.h"
#include "Export.h"

//
// All calls of one function by another.  An index is that of a function, the
// first of those that are alike, or, behind all of them, that of a module that
// called, which has those of Imported.
//

typedef struct _READER_EDGE {
    ULONG Caller;                   // index; READER_NONE: it is an outermost
                                    // call
    ULONG Callee;                   // index
    ULONGLONG Calls;
    ULONGLONG Ticks;                // inclusive, recursion counted once
} READER_EDGE;
typedef READER_EDGE *PREADER_EDGE;

typedef struct _READER_CALLGRIND {
    PREADER_EXPORT Export;
    const READER_TREE *Tree;
    PRTL_WRITER Writer;
    PREADER_STATISTICS Statistics;  // by function
    PULONG Alike;                   // by function: FunctionFindAlike
    PULONG Active;                  // by index: on the way to the node
    READER_MAP Index;               // (caller << 32) | callee to edge
    PREADER_EDGE Edges;
    ULONG NumberOfEdges;
    ULONG CapacityOfEdges;
    PULONG Order;                   // edges by caller
    PUCHAR IsNamed;                 // by index: 1: its name was written; by
                                    // module, behind them: likewise
} READER_CALLGRIND;
typedef READER_CALLGRIND *PREADER_CALLGRIND;


//
// Adds a node's calls to those of its caller.
// Callgrind: the export.
// Caller: the caller's index; READER_NONE: there is none.
// Callee: the index of who is called: the node's function, or the module that
// calls it.
//

_Must_inspect_result_
static
NTSTATUS
ExportAddEdge(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_ ULONG Caller,
    _In_ ULONG Callee,
    _In_ const READER_NODE *Node
    )
{
    ULONGLONG Key = ((ULONGLONG)Caller << 32) | Callee;
    PREADER_EDGE Edge;
    ULONG Index;
    NTSTATUS Status;

    if (!BaseFindInMap(&Callgrind->Index, Key, &Index)) {

        Index = Callgrind->NumberOfEdges;
        Status = BaseGrowArray(Callgrind->Export->Context->Allocator,
                               (PVOID *)&Callgrind->Edges,
                               &Callgrind->CapacityOfEdges,
                               Index + 1,
                               sizeof(READER_EDGE));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = BaseAddToMap(&Callgrind->Index, Key, Index);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Callgrind->Edges[Index].Caller = Caller;
        Callgrind->Edges[Index].Callee = Callee;
        Callgrind->NumberOfEdges += 1;
    }

    Edge = &Callgrind->Edges[Index];
    Edge->Calls += Node->Statistics.Calls;
    if (Callgrind->Active[Callee] == 0) {
        Edge->Ticks += Node->Statistics.TotalTicks;
    }

    return STATUS_SUCCESS;
}


//
// Orders edges by caller, then by callee.
// CompareContext: the export.
// First, Second: edge indexes.
// Returns negative, zero or positive.
//

static
LONG
ExportCompareEdges(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_EDGE Edges = ((PREADER_CALLGRIND)CompareContext)->Edges;

    if (Edges[First].Caller != Edges[Second].Caller) {
        return Edges[First].Caller < Edges[Second].Caller ? -1 : 1;
    }

    if (Edges[First].Callee != Edges[Second].Callee) {
        return Edges[First].Callee < Edges[Second].Callee ? -1 : 1;
    }

    return 0;
}


//
// Writes a name, in the format's compressed form: with a number, which alone
// stands for it from then on.
// Callgrind: the export.
// Key: what is named: "fn", "ob", ...
// Mark: where IsNamed has it.
//

static
VOID
ExportWriteCallgrindName(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_z_ PCSZ Key,
    _In_ ULONG Number,
    _In_ ULONG Mark,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    )
{
    RtlWriteText(Callgrind->Writer, "%s=(%u)", Key, Number + 1);
    if (!Callgrind->IsNamed[Mark]) {
        Callgrind->IsNamed[Mark] = 1;
        RtlWriteText(Callgrind->Writer, LengthInBytes != 0 ? " " : " ???");
        RtlWriteCleanText(Callgrind->Writer, Name, LengthInBytes);
    }

    RtlWriteText(Callgrind->Writer, "\n");
}


//
// Decides whether a name could be taken for the number of another.
// Returns TRUE if it begins with a parenthesis.
//

static
BOOLEAN
ExportStartsNumber(
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    )
{
    ULONG Index = 0;

    while (Index < LengthInBytes && Text[Index] == ' ') {
        Index += 1;
    }

    return Index < LengthInBytes && Text[Index] == '(';
}


//
// Writes which function the lines that follow are of, or call.
// Callgrind: the export.
// IsCallee: whether it is called.
// Returns the line where it begins; 0 if that is not known.
//

static
ULONG
ExportWriteCallgrindFunction(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_ BOOLEAN IsCallee,
    _In_ ULONG Index
    )
{
    PREADER_FUNCTIONS Functions = Callgrind->Tree->Functions;
    PCREADER_FUNCTION Function = NULL;
    READER_SOURCE_LINE Line;
    RTL_WRITER Writer;
    const CHAR *ModuleName;
    ULONG ModuleNameLength;
    ULONG Module;
    ULONG Caller = 0;
    CHAR Name[300];

    if (Index < Functions->NumberOfFunctions) {
        Function = &Functions->Functions[Index];
        Module = FunctionNumberModule(Functions, Function);
        ModuleName = Function->ModuleName;
        ModuleNameLength = Function->ModuleNameLength;
    } else {
        Caller = Index - Functions->NumberOfFunctions + 1;
        Module = Functions->Session->NumberOfModules + Caller - 1;
        ModuleName = Functions->Imported[Caller - 1].Name;
        ModuleNameLength = Functions->Imported[Caller - 1].NameLength;
    }

    ExportWriteCallgrindName(Callgrind,
                             IsCallee ? "cob" : "ob",
                             Module,
                             Functions->NumberOfFunctions +
                                 Functions->NumberOfImported + Module,
                             ModuleName,
                             ModuleNameLength);

    //
    // A file's name is written in full each time: the readers take both forms.
    // One that begins with a parenthesis would be taken for a number.
    //

    Line.LineNumber = 0;
    RtlWriteText(Callgrind->Writer, IsCallee ? "cfi=" : "fl=");
    if (Function != NULL &&
        FunctionFindLine(Functions->Session,
                         ((ULONGLONG)Function->Module << 32) | Function->Rva,
                         &Line)) {
        RtlWriteText(Callgrind->Writer,
                     ExportStartsNumber(Line.FileName, Line.LengthInBytes)
                         ? "./"
                         : "");
        RtlWriteCleanText(Callgrind->Writer,
                          Line.FileName,
                          Line.LengthInBytes);
    } else {
        Line.LineNumber = 0;
        RtlWriteText(Callgrind->Writer, "???");
    }

    RtlWriteText(Callgrind->Writer, "\n");
    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    if (Function == NULL) {
        FunctionStubWriteCaller(&Writer, Functions, Caller);
    }

    ExportWriteCallgrindName(Callgrind,
                             IsCallee ? "cfn" : "fn",
                             Index,
                             Index,
                             Function != NULL ? Function->Name : Name,
                             Function != NULL ? Function->NameLength
                                              : Writer.LengthInBytes);
    return Line.LineNumber;
}


//
// Writes what comes before the functions.
// Callgrind: the export, with the statistics.
//

static
VOID
ExportWriteCallgrindHeader(
    _Inout_ PREADER_CALLGRIND Callgrind
    )
{
    PCTRACE_STORE_HEADER Header = Callgrind->Tree->Session->Header;
    PCCORE_CLOCK Clock = &Callgrind->Tree->Session->Clock;
    PRTL_WRITER Writer = Callgrind->Writer;
    ULONGLONG Self;
    ULONGLONG Sum = 0;
    BOOLEAN IsRateKnown = TRUE;
    ULONG Index;

    for (Index = 0;
         Index < Callgrind->Tree->Functions->NumberOfFunctions;
         Index++) {
        IsRateKnown = CoreTicksToNanoseconds(
            Clock,
            Callgrind->Statistics[Index].SelfTicks,
            &Self);
        Sum += Self;
    }

    RtlWriteText(Writer,
                 "# callgrind format\nversion: 1\ncreator: TraceReader\n"
                 "pid: %u\ncmd: ",
                 Header->ProcessId);
    RtlWriteCleanText(Writer, Header->CommandLine,
                      Header->CommandLineLength);
    RtlWriteText(Writer,
                 "\npart: 1\n\npositions: line\n"
                 "event: Time : Self time in %s\nevents: Time\n"
                 "summary: %llu\n\n",
                 IsRateKnown ? "nanoseconds" : "ticks",
                 Sum);
}


//
// Writes what a function called.
// Callgrind: the export, with its edges in order.
// Line: where it begins.
// Next: the next edge that is to be written; receives the one after the
// function's last.
//

static
VOID
ExportWriteCallgrindCalls(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_ ULONG Caller,
    _In_ ULONG Line,
    _Inout_ PULONG Next
    )
{
    const READER_EDGE *Edge;
    ULONGLONG Time;
    ULONG CalleeLine;

    while (*Next < Callgrind->NumberOfEdges) {

        Edge = &Callgrind->Edges[Callgrind->Order[*Next]];
        if (Edge->Caller != Caller) {
            break;
        }

        CalleeLine = ExportWriteCallgrindFunction(Callgrind,
                                                  TRUE,
                                                  Edge->Callee);
        CoreTicksToNanoseconds(&Callgrind->Tree->Session->Clock,
                               Edge->Ticks,
                               &Time);
        RtlWriteText(Callgrind->Writer,
                     "calls=%llu %u\n%u %llu\n",
                     Edge->Calls,
                     CalleeLine,
                     Line,
                     Time);
        *Next += 1;
    }

    RtlWriteText(Callgrind->Writer, "\n");
}


//
// Writes the functions and what they called.
// Callgrind: the export, with statistics and edges.
//

static
VOID
ExportWriteCallgrindFunctions(
    _Inout_ PREADER_CALLGRIND Callgrind
    )
{
    PREADER_FUNCTIONS Functions = Callgrind->Tree->Functions;
    ULONGLONG Ticks;
    ULONGLONG Time;
    ULONG Function;
    ULONG Line;
    ULONG Next = 0;

    for (Function = 0;
         Function < Functions->NumberOfFunctions + Functions->NumberOfImported;
         Function++) {

        Ticks = 0;
        if (Function < Functions->NumberOfFunctions) {
            if (Callgrind->Statistics[Function].Calls == 0) {
                continue;
            }

            Ticks = Callgrind->Statistics[Function].SelfTicks;

        } else if (Next >= Callgrind->NumberOfEdges ||
                   Callgrind->Edges[Callgrind->Order[Next]].Caller !=
                       Function) {
            continue;
        }

        Line = ExportWriteCallgrindFunction(Callgrind, FALSE, Function);
        CoreTicksToNanoseconds(&Callgrind->Tree->Session->Clock,
                               Ticks,
                               &Time);
        RtlWriteText(Callgrind->Writer, "%u %llu\n", Line, Time);
        ExportWriteCallgrindCalls(Callgrind, Function, Line, &Next);
    }

    RtlWriteText(Callgrind->Writer, "ob=\nfl=???\nfn=(outermost)\n0 0\n");
    ExportWriteCallgrindCalls(Callgrind, READER_NONE, 0, &Next);
}


//
// The index of the module that called a node's function, or READER_NONE: the
// function above did.
//

static
ULONG
ExportFindCallgrindModule(
    _In_ const READER_CALLGRIND *Callgrind,
    _In_ ULONG Node
    )
{
    const READER_TREE *Tree = Callgrind->Tree;
    ULONG Caller;

    Caller = FunctionStubFindCaller(
        Tree->Functions,
        Tree->Nodes[Node].Function,
        Tree->Nodes[Tree->Nodes[Node].Parent].Function);
    return Caller != 0 ? Tree->Functions->NumberOfFunctions + Caller - 1
                       : READER_NONE;
}


//
// Adds a node: to its function, and to the edges that lead to it.
//

_Must_inspect_result_
static
NTSTATUS
ExportAddCallgrindNode(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_ ULONG Index
    )
{
    const READER_TREE *Tree = Callgrind->Tree;
    const READER_NODE *Node = &Tree->Nodes[Index];
    ULONG Above = Tree->Nodes[Node->Parent].Function;
    ULONG Module = ExportFindCallgrindModule(Callgrind, Index);
    ULONG Function = Callgrind->Alike[Node->Function];
    NTSTATUS Status;

    //
    // The root has no function, READER_NONE.
    //

    if (Above != READER_NONE) {
        Above = Callgrind->Alike[Above];
    }

    CoreAddStatistics(&Callgrind->Statistics[Function],
                      &Node->Statistics,
                      Callgrind->Active[Function] == 0);
    if (Module != READER_NONE) {
        Status = ExportAddEdge(Callgrind, Above, Module, Node);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Callgrind->Active[Module] += 1;
        Above = Module;
    }

    Status = ExportAddEdge(Callgrind, Above, Function, Node);
    Callgrind->Active[Function] += 1;
    return Status;
}


//
// Adds up the functions and their edges.
// Callgrind: the export.
//

_Must_inspect_result_
static
NTSTATUS
ExportPrepareCallgrind(
    _Inout_ PREADER_CALLGRIND Callgrind
    )
{
    PCALLOCATOR Allocator = Callgrind->Export->Context->Allocator;
    const READER_TREE *Tree = Callgrind->Tree;
    SIZE_T Number = Tree->Functions->NumberOfFunctions;
    ULONG Above = READER_ROOT_NODE;
    ULONG Module;
    ULONG Node;
    ULONG Index;
    NTSTATUS Status;

    Callgrind->Statistics = (PREADER_STATISTICS)
        Allocator->Allocate(Allocator->Context,
                            (Number + 1) * sizeof(READER_STATISTICS));
    Callgrind->IsNamed = (PUCHAR)
        Allocator->Allocate(Allocator->Context,
                            Number + Tree->Session->NumberOfModules +
                                2 * (SIZE_T)Tree->Functions->NumberOfImported);
    Callgrind->Alike = (PULONG)
        Allocator->Allocate(Allocator->Context, (Number + 1) * sizeof(ULONG));
    Callgrind->Active = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            (Number + Tree->Functions->NumberOfImported + 1) *
                                sizeof(ULONG));
    if (Callgrind->Statistics == NULL || Callgrind->IsNamed == NULL ||
        Callgrind->Alike == NULL || Callgrind->Active == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = FunctionFindAlike(Tree->Functions, Callgrind->Alike);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Node = SumNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = SumNextNode(Tree, Node)) {

        while (Above != Tree->Nodes[Node].Parent) {
            Index = Callgrind->Alike[Tree->Nodes[Above].Function];
            Callgrind->Active[Index] -= 1;
            Module = ExportFindCallgrindModule(Callgrind, Above);
            if (Module != READER_NONE) {
                Callgrind->Active[Module] -= 1;
            }

            Above = Tree->Nodes[Above].Parent;
        }

        Above = Node;
        Status = ExportAddCallgrindNode(Callgrind, Node);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Callgrind->Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Callgrind->NumberOfEdges + 1) *
                                sizeof(ULONG));
    if (Callgrind->Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Callgrind->NumberOfEdges; Index++) {
        Callgrind->Order[Index] = Index;
    }

    BaseSort(Callgrind->Order,
             Callgrind->NumberOfEdges,
             ExportCompareEdges,
             Callgrind);
    return STATUS_SUCCESS;
}


//
// Writes the profile.
//

_Must_inspect_result_
static
NTSTATUS
ExportWriteCallgrind(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    READER_CALLGRIND Callgrind;
    NTSTATUS Status;

    RtlZeroBytes(&Callgrind, sizeof(Callgrind));
    Callgrind.Export = Export;
    Callgrind.Tree = Tree;
    Callgrind.Writer = Writer;
    BaseInitializeMap(&Callgrind.Index, Allocator);

    Status = ExportPrepareCallgrind(&Callgrind);
    if (NT_SUCCESS(Status)) {
        ExportWriteCallgrindHeader(&Callgrind);
        ExportWriteCallgrindFunctions(&Callgrind);
    }

    Allocator->Free(Allocator->Context, Callgrind.Statistics);
    Allocator->Free(Allocator->Context, Callgrind.Alike);
    Allocator->Free(Allocator->Context, Callgrind.Active);
    Allocator->Free(Allocator->Context, Callgrind.IsNamed);
    Allocator->Free(Allocator->Context, Callgrind.Edges);
    Allocator->Free(Allocator->Context, Callgrind.Order);
    BaseRundownMap(&Callgrind.Index);
    return Status;
}


_Use_decl_annotations_
ULONG
ExportCallgrind(
    PREADER_EXPORT Export
    )
{
    return ExportTree(Export, 0, ExportWriteCallgrind);
}
