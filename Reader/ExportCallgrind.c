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

--*/

#include "ReaderExport.h"

//
// All calls of one function by another.
//

typedef struct _READER_EDGE {
    ULONG Caller;                   // function index; READER_NONE: it is an
                                    // outermost call
    ULONG Callee;
    ULONGLONG Calls;
    ULONGLONG Ticks;                // inclusive, recursion counted once
} READER_EDGE;
typedef READER_EDGE *PREADER_EDGE;

typedef struct _READER_CALLGRIND {
    PREADER_EXPORT Export;
    const READER_TREE *Tree;
    PRTL_WRITER Writer;
    PREADER_STATISTICS Statistics;  // by function
    READER_MAP Index;               // (caller << 32) | callee to edge
    PREADER_EDGE Edges;
    ULONG NumberOfEdges;
    ULONG CapacityOfEdges;
    PULONG Order;                   // edges by caller
    PUCHAR IsNamed;                 // by function: 1: its name was written;
                                    // by module, behind them: likewise
} READER_CALLGRIND;
typedef READER_CALLGRIND *PREADER_CALLGRIND;


_Must_inspect_result_
static
NTSTATUS
ReaderAddEdge(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_ ULONG Caller,
    _In_ const READER_NODE *Node
    )
/*++

Routine Description:

    Adds a node's calls to those of its caller.

Arguments:

    Callgrind - The export.

    Caller - The caller's function; READER_NONE: there is none.

    Node - The node.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    ULONGLONG Key = ((ULONGLONG)Caller << 32) | Node->Function;
    PREADER_EDGE Edge;
    ULONG Index;
    NTSTATUS Status;

    if (!ReaderFindInMap(&Callgrind->Index, Key, &Index)) {

        Index = Callgrind->NumberOfEdges;
        Status = ReaderGrowArray(Callgrind->Export->Context->Allocator,
                                 (PVOID *)&Callgrind->Edges,
                                 &Callgrind->CapacityOfEdges,
                                 Index + 1,
                                 sizeof(READER_EDGE));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = ReaderAddToMap(&Callgrind->Index, Key, Index);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Callgrind->Edges[Index].Caller = Caller;
        Callgrind->Edges[Index].Callee = Node->Function;
        Callgrind->NumberOfEdges += 1;
    }

    Edge = &Callgrind->Edges[Index];
    Edge->Calls += Node->Statistics.Calls;
    if (Node->IsOutermost) {
        Edge->Ticks += Node->Statistics.TotalTicks;
    }

    return STATUS_SUCCESS;
}


static
LONG
ReaderCompareEdges(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders edges by caller, then by callee.

Arguments:

    CompareContext - The export.

    First, Second - Edge indexes.

Return Value:

    Negative, zero or positive.

--*/
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


static
VOID
ReaderWriteCallgrindName(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_z_ PCSZ Key,
    _In_ ULONG Number,
    _In_ ULONG Mark,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    )
/*++

Routine Description:

    Writes a name, in the format's compressed form: with a number, which alone
    stands for it from then on.

Arguments:

    Callgrind - The export.

    Key - What is named: "fn", "ob", ...

    Number - Its number.

    Mark - Where IsNamed has it.

    Name, LengthInBytes - Its name.

Return Value:

    None.

--*/
{
    RtlWriteText(Callgrind->Writer, "%s=(%u)", Key, Number + 1);
    if (!Callgrind->IsNamed[Mark]) {
        Callgrind->IsNamed[Mark] = 1;
        RtlWriteText(Callgrind->Writer, " ");
        ReaderWriteCleanText(Callgrind->Writer, Name, LengthInBytes);
    }

    RtlWriteText(Callgrind->Writer, "\n");
}


static
ULONG
ReaderWriteCallgrindFunction(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_ BOOLEAN IsCallee,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Writes which function the lines that follow are of, or call.

Arguments:

    Callgrind - The export.

    IsCallee - Whether it is called.

    Index - The function.

Return Value:

    The line where it begins; 0 if that is not known.

--*/
{
    PREADER_FUNCTIONS Functions = Callgrind->Tree->Functions;
    PCREADER_FUNCTION Function = &Functions->Functions[Index];
    PREADER_MODULE Module = Functions->Session->Modules[Function->Module];
    READER_SOURCE_LINE Line;

    ReaderWriteCallgrindName(Callgrind,
                             IsCallee ? "cob" : "ob",
                             Function->Module,
                             Functions->NumberOfFunctions + Function->Module,
                             Module->Name,
                             Module->NameLength);

    //
    // A file's name is written in full each time: the readers take both forms.
    //

    Line.LineNumber = 0;
    RtlWriteText(Callgrind->Writer, IsCallee ? "cfi=" : "fl=");
    if (ReaderFindLine(Functions->Session,
                       ((ULONGLONG)Function->Module << 32) | Function->Rva,
                       &Line)) {
        ReaderWriteCleanText(Callgrind->Writer,
                             Line.FileName,
                             Line.LengthInBytes);
    } else {
        Line.LineNumber = 0;
        RtlWriteText(Callgrind->Writer, "???");
    }

    RtlWriteText(Callgrind->Writer, "\n");
    ReaderWriteCallgrindName(Callgrind,
                             IsCallee ? "cfn" : "fn",
                             Index,
                             Index,
                             Function->Name,
                             Function->NameLength);
    return Line.LineNumber;
}


static
VOID
ReaderWriteCallgrindHeader(
    _Inout_ PREADER_CALLGRIND Callgrind
    )
/*++

Routine Description:

    Writes what comes before the functions.

Arguments:

    Callgrind - The export, with the statistics.

Return Value:

    None.

--*/
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
    ReaderWriteCleanText(Writer, Header->CommandLine,
                         Header->CommandLineLength);
    RtlWriteText(Writer,
                 "\npart: 1\n\npositions: line\n"
                 "event: Time : Self time in %s\nevents: Time\n"
                 "summary: %llu\n\n",
                 IsRateKnown ? "nanoseconds" : "ticks",
                 Sum);
}


static
VOID
ReaderWriteCallgrindCalls(
    _Inout_ PREADER_CALLGRIND Callgrind,
    _In_ ULONG Caller,
    _In_ ULONG Line,
    _Inout_ PULONG Next
    )
/*++

Routine Description:

    Writes what a function called.

Arguments:

    Callgrind - The export, with its edges in order.

    Caller - The function.

    Line - Where it begins.

    Next - The next edge that is to be written; receives the one after the
        function's last.

Return Value:

    None.

--*/
{
    const READER_EDGE *Edge;
    ULONGLONG Time;
    ULONG CalleeLine;

    while (*Next < Callgrind->NumberOfEdges) {

        Edge = &Callgrind->Edges[Callgrind->Order[*Next]];
        if (Edge->Caller != Caller) {
            break;
        }

        CalleeLine = ReaderWriteCallgrindFunction(Callgrind,
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


static
VOID
ReaderWriteCallgrindFunctions(
    _Inout_ PREADER_CALLGRIND Callgrind
    )
/*++

Routine Description:

    Writes the functions and what they called.

Arguments:

    Callgrind - The export, with statistics and edges.

Return Value:

    None.

--*/
{
    ULONGLONG Time;
    ULONG Function;
    ULONG Line;
    ULONG Next = 0;

    for (Function = 0;
         Function < Callgrind->Tree->Functions->NumberOfFunctions;
         Function++) {

        if (Callgrind->Statistics[Function].Calls == 0) {
            continue;
        }

        Line = ReaderWriteCallgrindFunction(Callgrind, FALSE, Function);
        CoreTicksToNanoseconds(&Callgrind->Tree->Session->Clock,
                               Callgrind->Statistics[Function].SelfTicks,
                               &Time);
        RtlWriteText(Callgrind->Writer, "%u %llu\n", Line, Time);
        ReaderWriteCallgrindCalls(Callgrind, Function, Line, &Next);
    }

    RtlWriteText(Callgrind->Writer, "ob=\nfl=???\nfn=(outermost)\n0 0\n");
    ReaderWriteCallgrindCalls(Callgrind, READER_NONE, 0, &Next);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPrepareCallgrind(
    _Inout_ PREADER_CALLGRIND Callgrind
    )
/*++

Routine Description:

    Adds up the functions and their edges.

Arguments:

    Callgrind - The export.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Callgrind->Export->Context->Allocator;
    const READER_TREE *Tree = Callgrind->Tree;
    SIZE_T Number = Tree->Functions->NumberOfFunctions;
    ULONG Above;
    ULONG Node;
    ULONG Index;
    NTSTATUS Status;

    Callgrind->Statistics = (PREADER_STATISTICS)
        Allocator->Allocate(Allocator->Context,
                            (Number + 1) * sizeof(READER_STATISTICS));
    Callgrind->IsNamed = (PUCHAR)
        Allocator->Allocate(Allocator->Context,
                            Number + Tree->Session->NumberOfModules);
    if (Callgrind->Statistics == NULL || Callgrind->IsNamed == NULL) {
        return STATUS_NO_MEMORY;
    }

    Status = ReaderSumTree(Tree, Callgrind->Statistics);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Node = ReaderNextNode(Tree, READER_ROOT_NODE);
         Node != READER_NONE;
         Node = ReaderNextNode(Tree, Node)) {

        //
        // The root has no function, READER_NONE.
        //

        Above = Tree->Nodes[Node].Parent;
        Status = ReaderAddEdge(Callgrind,
                               Tree->Nodes[Above].Function,
                               &Tree->Nodes[Node]);
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

    ReaderSort(Callgrind->Order,
               Callgrind->NumberOfEdges,
               ReaderCompareEdges,
               Callgrind);
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderWriteCallgrind(
    _Inout_ PREADER_EXPORT Export,
    _In_ const READER_TREE *Tree,
    _Inout_ PRTL_WRITER Writer
    )
/*++

Routine Description:

    Writes the profile.

Arguments:

    Export - The export.

    Tree - The tree.

    Writer - Where to write.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Export->Context->Allocator;
    READER_CALLGRIND Callgrind;
    NTSTATUS Status;

    RtlZeroBytes(&Callgrind, sizeof(Callgrind));
    Callgrind.Export = Export;
    Callgrind.Tree = Tree;
    Callgrind.Writer = Writer;
    ReaderInitializeMap(&Callgrind.Index, Allocator);

    Status = ReaderPrepareCallgrind(&Callgrind);
    if (NT_SUCCESS(Status)) {
        ReaderWriteCallgrindHeader(&Callgrind);
        ReaderWriteCallgrindFunctions(&Callgrind);
    }

    Allocator->Free(Allocator->Context, Callgrind.Statistics);
    Allocator->Free(Allocator->Context, Callgrind.IsNamed);
    Allocator->Free(Allocator->Context, Callgrind.Edges);
    Allocator->Free(Allocator->Context, Callgrind.Order);
    ReaderRundownMap(&Callgrind.Index);
    return Status;
}


_Use_decl_annotations_
ULONG
ReaderExportCallgrind(
    PREADER_EXPORT Export
    )
/*++

Routine Description:

    Writes a callgrind profile.

Arguments:

    Export - The export.

Return Value:

    READER_EXIT_*.

--*/
{
    return ReaderExportTree(Export, 0, ReaderWriteCallgrind);
}
