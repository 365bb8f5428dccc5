/*++

Module Name:

    CommandTree.c

Abstract:

    TraceReader tree: the call tree of all threads, merged.  A node is a chain
    of calls from an outermost function; the same chain on another thread is
    the same node.  With --per-thread each thread has its own tree, and each
    fiber that it ran: a track.

--*/

#include "ReaderProbe.h"
#include "ReaderTree.h"

static const READER_COLUMN ReaderTreeColumns[] = {
    READER_STATISTICS_COLUMNS,
    { "", "node", ReaderColumnNumber, 0 },
    { "", "parent", ReaderColumnNumber, 0 },
    { "", "depth", ReaderColumnNumber, 0 },
    { "", "track", ReaderColumnNumber, 0 },
    { "", "thread", ReaderColumnNumber, 0 },
    { "", "fiber", ReaderColumnNumber, 0 },
    READER_PROCESS_COLUMNS,
    { "Module", "module", ReaderColumnText, 16 },
    { "Function", "function", ReaderColumnText, 0 }
};

static const READER_COLUMN ReaderTreeProbeColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_PROBE_COLUMNS,
    { "", "node", ReaderColumnNumber, 0 },
    { "", "parent", ReaderColumnNumber, 0 },
    { "", "depth", ReaderColumnNumber, 0 },
    { "", "track", ReaderColumnNumber, 0 },
    { "", "thread", ReaderColumnNumber, 0 },
    { "", "fiber", ReaderColumnNumber, 0 },
    READER_PROCESS_COLUMNS,
    { "Module", "module", ReaderColumnText, 16 },
    { "Function", "function", ReaderColumnText, 0 }
};

#define READER_TREE_NODE_COLUMN READER_STATISTICS_NUMBER_OF_COLUMNS
#define READER_TREE_MODULE_COLUMN (READER_STATISTICS_NUMBER_OF_COLUMNS + 8)

static const READER_TABLE ReaderTreeTable = {
    "nodes",
    ReaderTreeColumns,
    RTL_NUMBER_OF(ReaderTreeColumns),
    FALSE
};

static const READER_TABLE ReaderTreeProbeTable = {
    "nodes",
    ReaderTreeProbeColumns,
    RTL_NUMBER_OF(ReaderTreeProbeColumns),
    FALSE
};


static
VOID
ReaderPutNode(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_TREE *Tree,
    _In_ ULONG Track,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Writes a node's row.

Arguments:

    Output - The output.

    Tree - The tree.

    Track - The track's index; READER_NONE when all are merged.

    Index - The node's.

Return Value:

    None.

--*/
{
    const READER_NODE *Node = &Tree->Nodes[Index];
    PCREADER_FUNCTION Function = &Tree->Functions->Functions[Node->Function];
    const READER_MODULE *Module = Tree->Session->Modules[Function->Module];

    ReaderPutStatistics(Output, &Node->Statistics);
    ReaderPutProbe(Output, Tree->Session, &Node->Statistics);
    ReaderPutNumber(Output, Index);
    ReaderPutNumber(Output, Node->Depth == 0 ? 0 : Node->Parent);
    ReaderPutNumber(Output, Node->Depth);
    if (Track != READER_NONE) {
        ReaderPutNumber(Output, Track);
        ReaderPutNumber(Output, Tree->Tracks[Track].ThreadId);
        ReaderPutNumber(Output, Tree->Tracks[Track].Fiber);
        ReaderPutProcess(Output, Tree->Session, Tree->Tracks[Track].Process);
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }
    ReaderPutText(Output, Module->Name, Module->NameLength);
    ReaderPutIndentedText(Output,
                          Node->Depth,
                          Function->Name,
                          Function->NameLength);
}


static
VOID
ReaderPutTrack(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_TREE *Tree,
    _In_ ULONG Track
    )
/*++

Routine Description:

    Writes a track's row, in a text; elsewhere each node's row has it.

Arguments:

    Output - The output.

    Tree - The tree.

    Track - The track's index.

Return Value:

    None.

--*/
{
    RTL_WRITER Writer;
    CHAR Name[512];
    ULONG Index;

    if (Output->Format != ReaderFormatText) {
        return;
    }

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteText(&Writer, "[thread %u", Tree->Tracks[Track].ThreadId);
    if (Tree->Tracks[Track].Fiber != 0) {
        RtlWriteText(&Writer, ", fiber %u", Tree->Tracks[Track].Fiber);
    }
    if (Output->HasProcesses) {
        RtlWriteText(&Writer, ", ");
        ReaderWriteProcess(&Writer,
                           Tree->Session,
                           Tree->Tracks[Track].Process);
    }
    RtlWriteText(&Writer, "]");

    for (Index = 0; Index < Output->Table->NumberOfColumns - 1; Index++) {
        ReaderPutNothing(Output);
    }
    ReaderPutText(Output, Name, Writer.LengthInBytes);
}


static
VOID
ReaderPutTree(
    _In_ const READER_TREE *Tree,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Writes the tree, each node before its children.

Arguments:

    Tree - The tree, sorted.

    Options - The options.

Return Value:

    None.

--*/
{
    PCREADER_CONTEXT Context = Tree->Session->Context;
    READER_OUTPUT Output;
    ULONGLONG Abandoned = 0;
    ULONGLONG Unfinished = 0;
    ULONGLONG Uncertain = 0;
    ULONGLONG BegunBefore = 0;
    ULONGLONG Rows = 0;
    ULONGLONG More = 0;
    ULONGLONG HiddenColumns;
    ULONG Node;
    ULONG Track = READER_NONE;

    for (Node = 0; Node < Tree->NumberOfNodes; Node++) {
        Abandoned += Tree->Nodes[Node].Statistics.Abandoned;
        Unfinished += Tree->Nodes[Node].Statistics.Unfinished;
        Uncertain += Tree->Nodes[Node].Statistics.Uncertain;
        BegunBefore += Tree->Nodes[Node].Statistics.BegunBefore;
    }

    HiddenColumns = 255u << READER_TREE_NODE_COLUMN;
    if (Abandoned == 0) {
        HiddenColumns |= READER_STATISTICS_ABANDONED_COLUMNS;
    }

    if (Unfinished == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNFINISHED_COLUMN;
    }

    if (Uncertain == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_UNCERTAIN_COLUMN;
    }

    if (BegunBefore == 0) {
        HiddenColumns |= 1u << READER_STATISTICS_BEGUN_BEFORE_COLUMN;
    }

    if (Tree->Session->NumberOfModules == 1) {
        HiddenColumns |= 1u << READER_TREE_MODULE_COLUMN;
    }

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Tree->Session->Clock,
                        "tree",
                        FALSE);
    Output.HasProcesses = Tree->HasTracks &&
                          Tree->Session->NumberOfProcesses > 1;
    if (Tree->Session->IsProbeSubtracted) {
        HiddenColumns = (HiddenColumns & READER_STATISTICS_ALL_COLUMNS) |
                        (HiddenColumns & ~READER_STATISTICS_ALL_COLUMNS)
                            << READER_PROBE_NUMBER_OF_COLUMNS |
                        READER_PROBE_HIDDEN_COLUMNS;
        ReaderBeginTable(&Output, &ReaderTreeProbeTable, HiddenColumns);
    } else {
        ReaderBeginTable(&Output, &ReaderTreeTable, HiddenColumns);
    }

    Node = ReaderNextNode(Tree, READER_ROOT_NODE);
    while (Node != READER_NONE && Rows < Options->Limit) {

        if (Tree->Nodes[Node].Function == READER_NONE) {
            Track = Tree->Nodes[Node].Depth;
            ReaderPutTrack(&Output, Tree, Track);
        } else {
            ReaderPutNode(&Output, Tree, Track, Node);
            Rows += 1;
        }

        Node = ReaderNextNode(Tree, Node);
    }

    ReaderEndTable(&Output);
    while (Node != READER_NONE) {
        if (Tree->Nodes[Node].Function != READER_NONE) {
            More += 1;
        }
        Node = ReaderNextNode(Tree, Node);
    }

    ReaderPutMore(&Output, More, "node");
    if (Abandoned != 0) {
        ReaderPutNote(&Output, READER_ABANDONED_NOTE_OF(Tree->Session));
    }

    if (Unfinished != 0) {
        ReaderPutNote(&Output,
                      Tree->Range->IsGiven
                          ? READER_UNFINISHED_RANGE_NOTE
                          : READER_UNFINISHED_NOTE_OF(Tree->Session));
    }

    if (Uncertain != 0) {
        ReaderPutNote(&Output, READER_UNCERTAIN_NOTE);
    }

    ReaderPutNotShown(&Output, Options->Filter, &Tree->NotShown);
    ReaderPutRangeNote(&Output, Options, BegunBefore);
    ReaderPutProbeNote(&Output, Tree->Session);
    ReaderPutClockNote(&Output, Tree->Session);
    ReaderEndDocument(&Output);
}


static
ULONG
ReaderCommandTree(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs tree.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    READER_TREE Tree;
    ULONG ExitCode;
    ULONG Index;
    NTSTATUS Status;

    if (!ReaderBeginCommand(&Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!ReaderBeginProbe(&Session, Options) ||
        !ReaderQueryRange(&Session, Options, &Range)) {
        ReaderCloseSession(&Session);
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Functions, &Session);
    ReaderInitializeTree(&Tree,
                         &Functions,
                         &Range,
                         Options->Depth,
                         (Options->Given & READER_OPTION_TRACKS) != 0);

    ExitCode = ReaderBuildTree(&Tree, Options);
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    for (Index = 0; Index < Tree.NumberOfNodes; Index++) {
        ReaderSubtractProbe(&Session, &Tree.Nodes[Index].Statistics);
    }

    ReaderFilterTree(&Tree, Options->Filter);
    Status = ReaderSortTree(&Tree);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context, "tree", Options->PathUtf8, Status);
        goto End;
    }

    ReaderPutTree(&Tree, Options);
    ExitCode = ReaderEndFilter(Context,
                               Options->Filter,
                               Tree.NumberShown,
                               &Tree.NotShown,
                               ExitCode);
    ReaderSaveCache(&Session, (Options->Given & READER_OPTION_VERBOSE) != 0);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        ReaderPutFilterCost(&Functions, Options->Filter);
        ReaderPutIndexCost(&Session);
    }

End:
    ReaderRundownTree(&Tree);
    ReaderRundownFunctions(&Functions);
    ReaderCloseSession(&Session);
    return ExitCode;
}


const READER_COMMAND ReaderTreeCommand = {
    "tree",
    "PATH",
    "Shows the call tree of all threads, merged",
    "CSV, and JSON in the array nodes, hold\n"
    READER_STATISTICS_FIELDS "\n  node, parent, depth, "
    "track, thread, fiber (with --per-thread), module,\n  function "
    "(parent is 0 for the outermost; fiber is 0 for the thread's own\n"
    "  stack)\n"
    READER_FRAMES_NOTE
    READER_RANGE_NOTE
    READER_FILTER_NOTE
    "A function that --function names is shown with the calls that lead\n"
    "to it and the calls inside; one that is excluded is left out with\n"
    "the calls inside.\n"
    READER_NOT_SHOWN_NOTE("nodes")
    READER_PROBE_HELP
    READER_TICKS_NOTE,
    "  TraceReader tree --depth 6 SESSION\n"
    "  TraceReader tree --function Game::Load SESSION\n"
    "  TraceReader tree --per-thread --thread 4712 SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_DEPTH | READER_OPTION_LIMIT |
        READER_OPTION_THREAD | READER_OPTION_TRACKS |
        READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_VERBOSE |
        READER_OPTIONS_OF_READING |
        READER_OPTION_FILTER | READER_OPTION_PROBE,
    ReaderCommandTree
};
