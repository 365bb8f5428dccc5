/*++

Module Name:

    CommandTree.c

Abstract:

    TraceReader tree: the call tree of all threads, merged.  A node is a chain
    of calls from an outermost function; the same chain on another thread is
    the same node.  With --per-thread each thread has its own tree, and each
    fiber that it ran: a track.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionProcess.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionStub.h"
#include "../Calls/CallHold.h"
#include "../Calls/CallIndex.h"
#include "../Calls/CallProbe.h"
#include "../Calls/CallWaits.h"
#include "../Sums/SumPaths.h"
#include "../Sums/SumPutStatistics.h"
#include "../Sums/SumStates.h"
#include "Command.h"

//
// The columns after those of the statistics and, with --subtract-probe, of the
// probe.
//

#define READER_NODE_COLUMNS                                                 \
    { "", "node", ReaderColumnNumber, 0, READER_COLUMN_DATA,                \
      "The node's number." },                                               \
    { "", "parent", ReaderColumnNumber, 0, READER_COLUMN_DATA,              \
      "The number of the parent node; 0 for the outermost." },              \
    { "", "depth", ReaderColumnNumber, 0, READER_COLUMN_DATA,               \
      "0 is the outermost." },                                              \
    { "", "track", ReaderColumnNumber, 0,                                   \
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,                          \
      "With --per-thread the track's number; else null." },                 \
    { "", "thread", ReaderColumnNumber, 0,                                  \
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,                          \
      "With --per-thread the thread's identifier; else null." },            \
    { "", "fiber", ReaderColumnNumber, 0,                                   \
      READER_COLUMN_NULLABLE | READER_COLUMN_DATA,                          \
      "0: the thread's own stack; otherwise the number of one of its "      \
      "fibers. null in tree without --per-thread." },                       \
    READER_PROCESS_COLUMNS_OF(READER_COLUMN_DATA),                          \
    READER_CALLER_COLUMN(READER_COLUMN_CALLER),                             \
    { "Module", "module", ReaderColumnText, 16, READER_COLUMN_MODULE,       \
      "The module's file name." },                                          \
    { "Function", "function", ReaderColumnText, 0, 0,                       \
      "The function's name, or module+0xRVA." }

static const READER_COLUMN ReaderTreeColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_NODE_COLUMNS
};

static const READER_COLUMN ReaderTreeProbeColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_PROBE_COLUMNS,
    READER_NODE_COLUMNS
};

static const READER_COLUMN ReaderTreeStateColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_FUNCTION_STATE_COLUMNS,
    READER_NODE_COLUMNS
};

static const READER_COLUMN ReaderTreeAllColumns[] = {
    READER_STATISTICS_COLUMNS,
    READER_PROBE_COLUMNS,
    READER_FUNCTION_STATE_COLUMNS,
    READER_NODE_COLUMNS
};

static const READER_TABLE ReaderTreeTable = {
    "nodes",
    ReaderTreeColumns,
    RTL_NUMBER_OF(ReaderTreeColumns),
    FALSE,
    FALSE,
    "The nodes of the call tree; each before its children."
};

static const READER_TABLE ReaderTreeProbeTable = {
    "nodes",
    ReaderTreeProbeColumns,
    RTL_NUMBER_OF(ReaderTreeProbeColumns),
    FALSE,
    FALSE,
    "The nodes of the call tree; each before its children."
};

static const READER_TABLE ReaderTreeStateTable = {
    "nodes",
    ReaderTreeStateColumns,
    RTL_NUMBER_OF(ReaderTreeStateColumns),
    FALSE,
    FALSE,
    "The nodes of the call tree; each before its children."
};

static const READER_TABLE ReaderTreeAllTable = {
    "nodes",
    ReaderTreeAllColumns,
    RTL_NUMBER_OF(ReaderTreeAllColumns),
    FALSE,
    FALSE,
    "The nodes of the call tree; each before its children."
};


//
// Writes a node's row.
// Track: the track's index; READER_NONE when all are merged.
//

static
VOID
CommandPutNode(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_TREE *Tree,
    _In_ const READER_STATES *States,
    _In_ ULONG Track,
    _In_ ULONG Index
    )
{
    const READER_NODE *Node = &Tree->Nodes[Index];
    PCREADER_FUNCTION Function = &Tree->Functions->Functions[Node->Function];

    SumPutStatistics(Output, &Node->Statistics);
    CallPutProbe(Output, Tree->Session, &Node->Statistics);
    if (States->Etl->IsThere) {
        SumStatesPut(Output, SumStatesFind(States, Index), &Node->Statistics);
    }

    OutputPutNumber(Output, Index);
    OutputPutNumber(Output, Node->Depth == 0 ? 0 : Node->Parent);
    OutputPutNumber(Output, Node->Depth);
    if (Track != READER_NONE) {
        OutputPutNumber(Output, Track);
        OutputPutNumber(Output, Tree->Tracks[Track].ThreadId);
        OutputPutNumber(Output, Tree->Tracks[Track].Fiber);
        SessionPutProcess(Output, Tree->Session, Tree->Tracks[Track].Process);
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }
    FunctionStubPutCaller(Output, Tree->Functions, Function);
    OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
    OutputPutIndentedText(Output,
                          Node->Depth,
                          Function->Name,
                          Function->NameLength);
}


//
// Writes a track's row, in a text; elsewhere each node's row has it.
// Track: the track's index.
//

static
VOID
CommandPutTrack(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_TREE *Tree,
    _In_ ULONG Track
    )
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
        SessionWriteProcess(&Writer,
                            Tree->Session,
                            Tree->Tracks[Track].Process);
    }
    RtlWriteText(&Writer, "]");

    for (Index = 0; Index < Output->Table->NumberOfColumns - 1; Index++) {
        OutputPutNothing(Output);
    }
    OutputPutText(Output, Name, Writer.LengthInBytes);
}


//
// Writes the tree, each node before its children.
// Tree: the tree, sorted.
//

static
VOID
CommandPutTree(
    _In_ const READER_TREE *Tree,
    _In_ const READER_STATES *States,
    _In_ PCREADER_OPTIONS Options
    )
{
    PCREADER_CONTEXT Context = Tree->Session->Context;
    READER_OUTPUT Output;
    ULONGLONG Abandoned = 0;
    ULONGLONG Unfinished = 0;
    ULONGLONG Uncertain = 0;
    ULONGLONG BegunBefore = 0;
    ULONGLONG Waited = 0;
    ULONGLONG Total = 0;            // of what nothing called
    ULONGLONG Rows = 0;
    ULONGLONG More = 0;
    ULONG When;
    ULONG Node;
    ULONG Track = READER_NONE;

    for (Node = 0; Node < Tree->NumberOfNodes; Node++) {
        Abandoned += Tree->Nodes[Node].Statistics.Abandoned;
        Unfinished += Tree->Nodes[Node].Statistics.Unfinished;
        Uncertain += Tree->Nodes[Node].Statistics.Uncertain;
        BegunBefore += Tree->Nodes[Node].Statistics.BegunBefore;
        Waited |= Tree->Nodes[Node].Statistics.WaitedTicks;
        if (Tree->Nodes[Node].Function != READER_NONE &&
            Tree->Nodes[Node].Depth == 0) {
            Total += Tree->Nodes[Node].Statistics.TotalTicks;
        }
    }

    When = SumSelectColumns(Abandoned,
                            Unfinished,
                            Uncertain,
                            BegunBefore,
                            Tree->Session->NumberOfModules) |
           FunctionStubSelectColumn(Tree->Functions);
    if (Waited != 0) {
        When |= READER_COLUMN_WAITED;
    }

    if (States->Etl->States.NumberOfSamples != 0) {
        When |= READER_COLUMN_SAMPLES;
    }

    OutputBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Tree->Session->Clock,
                        "tree",
                        FALSE);
    Output.HasProcesses = Tree->HasTracks &&
                          Tree->Session->NumberOfProcesses > 1;
    Output.WholeField = "total";
    Output.Whole = Total;
    OutputBeginTable(&Output,
                     States->Etl->IsThere             ? &ReaderTreeStateTable
                     : Tree->Session->IsProbeSubtracted ? &ReaderTreeProbeTable
                                                        : &ReaderTreeTable,
                     When);

    Node = SumNextNode(Tree, READER_ROOT_NODE);
    while (Node != READER_NONE && Rows < Options->Limit) {

        if (Tree->Nodes[Node].Function == READER_NONE) {
            Track = Tree->Nodes[Node].Depth;
            CommandPutTrack(&Output, Tree, Track);
        } else {
            CommandPutNode(&Output, Tree, States, Track, Node);
            Rows += 1;
        }

        Node = SumNextNode(Tree, Node);
    }

    OutputEndTable(&Output);
    while (Node != READER_NONE) {
        if (Tree->Nodes[Node].Function != READER_NONE) {
            More += 1;
        }
        Node = SumNextNode(Tree, Node);
    }

    OutputPutMore(&Output, More, "node");
    if (Abandoned != 0) {
        OutputPutNote(&Output, SumQueryAbandonedNote(Tree->Session));
    }

    if (Unfinished != 0) {
        OutputPutNote(&Output,
                      Tree->Range->IsGiven
                          ? READER_UNFINISHED_RANGE_NOTE
                          : READER_UNFINISHED_NOTE_OF(Tree->Session));
    }

    if (Uncertain != 0) {
        OutputPutNote(&Output, READER_UNCERTAIN_NOTE);
    }

    FunctionPutNotShown(&Output, Options->Filter, &Tree->NotShown);
    CallPutRangeNote(&Output, Options, BegunBefore);
    CallPutProbeNote(&Output, Tree->Session);
    SumStatesPutNote(&Output, States->Etl);
    SessionPutClockNote(&Output, Tree->Session);
    OutputEndDocument(&Output);
}


static
ULONG
CommandTree(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_TEAM Team;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    READER_STATES States;
    READER_ETL Etl;
    READER_TREE Tree;
    READER_COST Cost;
    ULONG ExitCode = READER_EXIT_FAILURE;
    ULONGLONG MinimumTicks;
    ULONG Index;
    NTSTATUS Status;

    CommandBeginReading(Context, &Cost);
    BaseInitializeTeam(&Team, Context, Options->NumberOfWorkers);
    if (!CommandBeginCommand(&Session, &Team.Context, Options)) {
        goto EndTeam;
    }

    if (!CallBeginProbe(&Session, Options) ||
        !CallBeginWaits(&Session, Options) ||
        !CallQueryRange(&Session, Options, &Range) ||
        !CallQueryMinimumTicks(&Session, Options, &MinimumTicks)) {
        CommandCloseCommandSession(&Session);
        goto EndTeam;
    }

    if (!SumEtlOpen(&Etl, &Session, Options)) {
        SumEtlClose(&Etl);
        CommandCloseCommandSession(&Session);
        goto EndTeam;
    }

    FunctionInitializeFunctions(&Functions, &Session);
    Functions.AreStubsApart = TRUE;
    SumInitializeTree(&Tree,
                      &Functions,
                      &Range,
                      Options->Depth,
                      (Options->Given & READER_OPTION_TRACKS) != 0);

    Tree.Team = &Team;
    ExitCode = SumBuildTree(&Tree, Options);
    SumStatesReadTree(&States, &Etl, &Tree, Options);
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    for (Index = 0; Index < Tree.NumberOfNodes; Index++) {
        CallSubtractProbe(&Session, &Tree.Nodes[Index].Statistics);
    }

    SumFilterTree(&Tree, Options->Filter, MinimumTicks);
    Tree.SortKey = Options->SortKey;
    Status = SumSortTree(&Tree);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context, "tree", Options->PathUtf8, Status);
        goto End;
    }

    CommandPutTree(&Tree, &States, Options);
    ExitCode = FunctionEndFilter(Context,
                                 Options->Filter,
                                 &Functions,
                                 Tree.NumberShown,
                                 &Tree.NotShown,
                                 ExitCode);
    FunctionSaveCache(&Session, (Options->Given & READER_OPTION_VERBOSE) != 0);
    if ((Options->Given & READER_OPTION_VERBOSE) != 0) {
        Cost.NumberOfRecords = Tree.NumberOfRecords;
        Cost.NumberOfOrdinary = Tree.NumberOfOrdinary;
        Cost.NumberOfThreads = Tree.NumberOfThreads;
        Cost.NumberOfWorkers = Tree.NumberOfWorkers;
        CommandPutReading(&Session, &Cost);
        FunctionPutFilterCost(&Functions, Options->Filter);
        CallPutIndexCost(&Session);
    }

End:
    SumStatesRundown(&States);
    SumRundownTree(&Tree);
    SumEtlClose(&Etl);
    FunctionRundownFunctions(&Functions);
    CommandCloseCommandSession(&Session);

EndTeam:
    BaseRundownTeam(&Team);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderTreeTables[] = {
    &ReaderTreeAllTable,
    &ReaderNodesNotShownTable,
    &ReaderLimitsTable,
    NULL
};

const READER_COMMAND ReaderTreeCommand = {
    "tree",
    "[PATH]",
    "Shows the call tree of all threads, merged",
    READER_FRAMES_NOTE
    READER_RANGE_NOTE
    READER_FILTER_NOTE
    "A function that --function names is shown with the calls that lead\n"
    "to it and the calls inside; one that is excluded is left out with\n"
    "the calls inside.\n"
    "--sort orders the calls from one function; the default is total.\n"
    "--min-duration hides nodes whose total, with the time of abandoned\n"
    "calls, is less than TIME; not those that lead to one that has it.\n"
    "A function that several modules import is a node for each of them.\n"
    READER_NOT_SHOWN_NOTE("nodes")
    READER_WAITS_NOTE
    READER_ETL_NOTE
    READER_PROBE_HELP
    READER_TICKS_NOTE,
    "  TraceReader tree --depth 6 SESSION\n"
    "  TraceReader tree --function Game::Load SESSION\n"
    "  TraceReader tree --per-thread --thread 4712 SESSION\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_DEPTH | READER_OPTION_LIMIT |
        READER_OPTION_SORT |
        READER_OPTION_THREAD | READER_OPTION_TRACKS |
        READER_OPTION_WORKERS | READER_OPTION_GENERAL |
        READER_OPTION_FROM | READER_OPTION_TO | READER_OPTION_VERBOSE |
        READER_OPTIONS_OF_READING |
        READER_OPTION_FILTER | READER_OPTION_PROBE |
        READER_OPTION_MIN_DURATION | READER_OPTION_WAITS | READER_OPTION_ETL,
    CommandTree,
    ReaderTreeTables,
    NULL
};
