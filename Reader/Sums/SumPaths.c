/*++

Module Name:

    SumPaths.c

Abstract:

    A call tree built by the fast way.  CoreRunRecords adds ordinary calls to
    their chains; every other event is added here.  A worker's chains are those
    of all threads that it reads, in the order in which they came up; the
    workers' are merged in the order of threads, in which one worker would have
    met them.

    Memory is bounded by the number of chains.  Nothing here recurses.

--*/

#include "../Base/BaseErrors.h"
#include "../Calls/CallRead.h"
#include "SumPaths.h"
#include "SumRead.h"

//
// What CORE_PATH has no room for.
//

typedef struct _READER_PATH_NODE {
    ULONG Thread;                   // where it came up
    ULONG Sums;                     // index + 1 of what the fast way has not
                                    // added up; 0: nothing
} READER_PATH_NODE;
typedef READER_PATH_NODE *PREADER_PATH_NODE;

typedef struct _READER_PATHS {
    PREADER_TREE Tree;
    PREADER_TALLY Tally;
    CORE_PATHS Core;
    PREADER_PATH_NODE Nodes;        // by path
    ULONG CapacityOfNodes;
    PREADER_STATISTICS Sums;
    ULONG NumberOfSums;
    ULONG CapacityOfSums;
    ULONG NumberOfTracks;           // that have a node
    PULONG Fibers;                  // by track
    ULONG CapacityOfFibers;
} READER_PATHS;
typedef READER_PATHS *PREADER_PATHS;

typedef struct _READER_PATHS_OF_ALL {
    READER_READING Reading;
    PREADER_TREE Tree;
    PREADER_PATHS Paths;            // by worker
    ULONG CapacityOfFirst;
    PULONG FirstThread;             // by node of the tree: whose FirstTicks it
                                    // has + 1; 0: none yet
} READER_PATHS_OF_ALL;
typedef READER_PATHS_OF_ALL *PREADER_PATHS_OF_ALL;


//
// Adds a chain.
// Function: the tally's index, or that of a track.
//

_Must_inspect_result_
static
NTSTATUS
SumAddPath(
    _Inout_ PREADER_PATHS Paths,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _Out_ PULONG Path
    )
{
    PREADER_TALLY Tally = Paths->Tally;
    PCALLOCATOR Allocator = Paths->Core.Allocator;
    ULONG Next = Paths->Core.NumberOfPaths;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Paths->Nodes,
                           &Paths->CapacityOfNodes,
                           Next + 1,
                           sizeof(READER_PATH_NODE));
    if (NT_SUCCESS(Status) && Tally->HasProbe) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Tally->ProbeTotals,
                               &Tally->CapacityOfProbe,
                               Next + 1,
                               sizeof(CORE_PROBE_TOTALS));
    }

    if (NT_SUCCESS(Status) && Tally->Functions->Session->Waits != NULL) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Tally->Waited,
                               &Tally->CapacityOfWaited,
                               Next + 1,
                               sizeof(ULONGLONG));
    }

    if (NT_SUCCESS(Status)) {
        Status = CoreAddPath(&Paths->Core, Parent, Function, Path);
    }

    if (NT_SUCCESS(Status)) {
        Paths->Nodes[*Path].Thread = Tally->Thread;
    }

    return Status;
}


//
// Finds what is above the outermost calls on a stack of the thread that is
// read: the root, or the stack's own track.
//

_Must_inspect_result_
static
NTSTATUS
SumFindPathRoot(
    _Inout_ PREADER_PATHS Paths,
    _In_ ULONG Fiber,
    _Out_ PULONG Root
    )
{
    PREADER_TALLY Tally = Paths->Tally;
    PCALLOCATOR Allocator = Paths->Core.Allocator;
    NTSTATUS Status;

    *Root = CORE_PATH_ROOT;
    if (!Paths->Tree->HasTracks) {
        return STATUS_SUCCESS;
    }

    if (Fiber >= 0x80000000u) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Tally->Roots,
                           &Tally->CapacityOfRoots,
                           Fiber + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status) || Tally->Roots[Fiber] != CORE_PATH_NONE) {
        *Root = NT_SUCCESS(Status) ? Tally->Roots[Fiber] : CORE_PATH_ROOT;
        return Status;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Paths->Fibers,
                           &Paths->CapacityOfFibers,
                           Paths->NumberOfTracks + 1,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        Status = SumAddPath(Paths,
                            CORE_PATH_ROOT,
                            Paths->NumberOfTracks,
                            Root);
    }

    if (NT_SUCCESS(Status)) {
        Tally->Roots[Fiber] = *Root;
        Paths->Fibers[Paths->NumberOfTracks] = Fiber;
        Paths->NumberOfTracks += 1;
    }

    return Status;
}


//
// Finds the chain of a call, and adds it if it is not there.
// Parent: the chain above it, if Depth is not 0.
// Function: the tally's index.
// IsNamed: what its module lacks has been said.
//

_Must_inspect_result_
static
NTSTATUS
SumEnterPath(
    _Inout_ PREADER_PATHS Paths,
    _In_ ULONG Track,
    _In_ ULONG Depth,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _In_ BOOLEAN IsNamed,
    _Out_ PULONG Path
    )
{
    PREADER_TALLY Tally = Paths->Tally;
    PREADER_TALLY_FUNCTION Entry = &Tally->List[Function];
    NTSTATUS Status;

    *Path = CORE_PATH_OUTSIDE;
    if (Depth >= Paths->Core.MaximumDepth) {
        return STATUS_SUCCESS;
    }

    if (Depth == 0) {
        Status = SumFindPathRoot(Paths, Track, &Parent);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    *Path = CoreFindPath(Paths->Core.Slots,
                         Paths->Core.NumberOfSlots - 1,
                         Parent,
                         Function);
    if (*Path != CORE_PATH_NONE) {
        return STATUS_SUCCESS;
    }

    if (!Entry->IsNoted && !IsNamed) {
        Entry->IsNoted = TRUE;
        BaseAcquireLock(Tally->Lock);
        CallNoteModule(
            Tally,
            Tally->Functions->Functions[Entry->Function].Module);
        BaseReleaseLock(Tally->Lock);
    }

    return SumAddPath(Paths, Parent, Function, Path);
}


//
// Finds what the fast way does not add to, of a chain.
//

_Must_inspect_result_
static
NTSTATUS
SumFindPathSums(
    _Inout_ PREADER_PATHS Paths,
    _In_ ULONG Path,
    _Out_ PREADER_STATISTICS *Sums
    )
{
    NTSTATUS Status;

    if (Paths->Nodes[Path].Sums == 0) {

        Status = BaseGrowArray(Paths->Core.Allocator,
                               (PVOID *)&Paths->Sums,
                               &Paths->CapacityOfSums,
                               Paths->NumberOfSums + 1,
                               sizeof(READER_STATISTICS));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Paths->NumberOfSums += 1;
        Paths->Nodes[Path].Sums = Paths->NumberOfSums;
    }

    *Sums = &Paths->Sums[Paths->Nodes[Path].Sums - 1];
    return STATUS_SUCCESS;
}


//
// Notes how long the first call of a chain took.
//

static
VOID
SumNoteFirst(
    _Inout_ PREADER_PATHS Paths,
    _In_ ULONG Path,
    _In_ ULONGLONG Ticks
    )
{
    PCORE_PATH This = &Paths->Core.Paths[Path];

    if (This->FirstTicks == ~0ULL) {
        This->FirstTicks = Ticks;
        This->FirstThread = Paths->Tally->Thread;
    }
}


//
// Gives a frame that was open when the range began its chain.
//

_Use_decl_annotations_
static
NTSTATUS
SumOpenPath(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    PREADER_PATHS Paths = (PREADER_PATHS)Context;
    PREADER_STATISTICS Sums;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Stream);

    Status = CallAddFunctionToTally(Paths->Tally,
                                    Frame->Function,
                                    &Frame->Function);
    if (NT_SUCCESS(Status)) {
        Status = SumEnterPath(Paths,
                              Track,
                              Depth,
                              Depth != 0 ? Frame[-1].Node : CORE_PATH_ROOT,
                              Frame->Function,
                              TRUE,
                              &Frame->Node);
    }

    if (NT_SUCCESS(Status) && Frame->Node != CORE_PATH_OUTSIDE) {
        Status = SumFindPathSums(Paths, Frame->Node, &Sums);
        if (NT_SUCCESS(Status)) {
            Sums->BegunBefore += 1;
        }
    }

    return Status;
}


//
// Adds an event that the fast way has left.
//

_Use_decl_annotations_
static
NTSTATUS
SumPathEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    PREADER_PATHS Paths = (PREADER_PATHS)Context;
    PREADER_STATISTICS Sums;
    ULONG Path;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Stream);

    switch (Event->Kind) {

    case CoreEventEnter:
        Event->Frame->Function = Paths->Tally->LastIndex;
        return SumEnterPath(Paths,
                            Event->Track,
                            Event->Depth,
                            Event->Parent != NULL ? Event->Parent->Node
                                                  : CORE_PATH_ROOT,
                            Event->Frame->Function,
                            FALSE,
                            &Event->Frame->Node);

    case CoreEventUnmatched:
        return STATUS_SUCCESS;

    default:
        Path = Event->Frame->Node;
        if (Path == CORE_PATH_OUTSIDE) {
            return STATUS_SUCCESS;
        }

        if (Event->Kind != CoreEventAbandoned) {
            SumNoteFirst(Paths, Path, Event->InclusiveTicks);
        }

        Status = SumFindPathSums(Paths, Path, &Sums);
        if (NT_SUCCESS(Status)) {
            CoreAddToStatistics(Sums, Event, TRUE);
        }

        return Status;
    }
}


//
// Adds a node of a thread's tree.
// Context: the chains that it is added to; its value is the chain's.
//

_Use_decl_annotations_
static
NTSTATUS
SumPathOfNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_PATHS Paths = (PREADER_PATHS)Context;
    READER_STATISTICS Statistics;
    PREADER_STATISTICS Sums;
    ULONGLONG FirstTicks;
    ULONG Function;
    NTSTATUS Status;

    Status = CallAddFunctionToTally(Paths->Tally, Node->Function, &Function);
    if (NT_SUCCESS(Status)) {
        Status = SumEnterPath(Paths,
                              0,
                              Node->Depth,
                              Node->ValueAbove,
                              Function,
                              TRUE,
                              &Node->Value);
    }

    if (!NT_SUCCESS(Status) || Node->Value == CORE_PATH_OUTSIDE) {
        return Status;
    }

    if (SumGetNodeStatistics(Paths->Tree->Session,
                             Node,
                             &Statistics,
                             &FirstTicks)) {
        SumNoteFirst(Paths, Node->Value, FirstTicks);
    }

    Status = SumFindPathSums(Paths, Node->Value, &Sums);
    if (NT_SUCCESS(Status)) {
        CoreAddStatistics(Sums, &Statistics, TRUE);
    }

    return Status;
}


//
// Adds the trees of a thread's stores.
//

_Use_decl_annotations_
static
NTSTATUS
SumPathsOfTrees(
    PVOID Context,
    ULONG ThreadIndex
    )
{
    PREADER_PATHS Paths = (PREADER_PATHS)Context;

    if (!Paths->Tree->Range->HasTrees) {
        return STATUS_SUCCESS;
    }

    return CallVisitTrees(Paths->Tree->Functions,
                          ThreadIndex,
                          SumPathOfNode,
                          NULL,
                          Paths);
}


//
// Reads a thread.
// Context: the chains of all workers.
//

_Use_decl_annotations_
static
NTSTATUS
SumReadPaths(
    PVOID Context,
    ULONG Worker,
    ULONG Thread
    )
{
    static const READER_VISITOR Visitor = {
        SumOpenPath,
        SumPathEvent,
        SumPathsOfTrees
    };
    PREADER_PATHS Paths = &((PREADER_PATHS_OF_ALL)Context)->Paths[Worker];

    Paths->Core.Thread = Thread;
    RtlZeroBytes(Paths->Tally->Roots,
                 (SIZE_T)Paths->Tally->CapacityOfRoots * sizeof(ULONG));
    return CallReadThread(Paths->Tally, Thread, &Visitor, Paths);
}


//
// Adds what a worker has of a chain to its node.
//

_Must_inspect_result_
static
NTSTATUS
SumMergePath(
    _Inout_ PREADER_PATHS_OF_ALL All,
    _In_ const READER_PATHS *Paths,
    _In_ ULONG Path,
    _In_ ULONG Index
    )
{
    PREADER_TREE Tree = All->Tree;
    PREADER_NODE Node = &Tree->Nodes[Index];
    PCCORE_PATH This = &Paths->Core.Paths[Path];
    READER_STATISTICS Ordinary;
    BOOLEAN IsTimed = Tree->Session->Clock.Kind != TRACE_CLOCK_NONE;
    NTSTATUS Status;

    RtlZeroBytes(&Ordinary, sizeof(Ordinary));
    Ordinary.Calls = This->Calls;

    //
    // Without a clock the differences of time stamps are no times.
    //

    if (IsTimed) {
        Ordinary.TotalTicks = This->SumLow;
        Ordinary.SelfTicks = This->SelfTicks;
        Ordinary.SumLow = This->SumLow;
        Ordinary.SumHigh = This->SumHigh;
        Ordinary.MinimumTicks = This->MinimumTicks;
        Ordinary.MaximumTicks = This->MaximumTicks;
        if (Paths->Tally->Waited != NULL) {
            Ordinary.WaitedTicks = Paths->Tally->Waited[Path];
        }
    }

    if (Paths->Tally->ProbeTotals != NULL) {

        PCORE_PROBE_TOTALS Probe = &Paths->Tally->ProbeTotals[Path];

        Ordinary.TotalProbe = Probe->TotalProbe;
        Ordinary.SelfProbe = Probe->SelfProbe;
        Ordinary.SumProbe = Probe->SumProbe;
    }

    CoreAddStatistics(&Node->Statistics, &Ordinary, TRUE);
    if (Paths->Nodes[Path].Sums != 0) {
        CoreAddStatistics(&Node->Statistics,
                          &Paths->Sums[Paths->Nodes[Path].Sums - 1],
                          TRUE);
    }

    Status = BaseGrowArray(Tree->Session->Context->Allocator,
                           (PVOID *)&All->FirstThread,
                           &All->CapacityOfFirst,
                           Index + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (This->FirstTicks != ~0ULL &&
        (All->FirstThread[Index] == 0 ||
         This->FirstThread < All->FirstThread[Index] - 1)) {
        Node->FirstTicks = IsTimed ? This->FirstTicks : 0;
        All->FirstThread[Index] = This->FirstThread + 1;
    }

    return STATUS_SUCCESS;
}


//
// Makes one tree of what the workers have.  A worker's chains are in the order
// of the threads in which they came up, and no thread was read by two.
//

_Must_inspect_result_
static
NTSTATUS
SumMergePaths(
    _Inout_ PREADER_PATHS_OF_ALL All
    )
{
    PREADER_TREE Tree = All->Tree;
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;
    PULONG Nodes[READER_MAXIMUM_WORKERS];
    ULONG Next[READER_MAXIMUM_WORKERS];
    ULONG Number = All->Reading.NumberOfWorkers;
    PREADER_PATHS Paths;
    PCCORE_PATH This;
    ULONG Thread = READER_NONE;
    ULONG Worker;
    ULONG Best;
    ULONG Node = READER_ROOT_NODE;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Worker = 0; Worker < Number; Worker++) {
        Next[Worker] = CORE_FIRST_PATH;
        Nodes[Worker] = (PULONG)Allocator->Allocate(
            Allocator->Context,
            (SIZE_T)All->Paths[Worker].Core.NumberOfPaths * sizeof(ULONG));
        if (Nodes[Worker] == NULL) {
            Status = STATUS_NO_MEMORY;
        } else {
            Nodes[Worker][CORE_PATH_ROOT] = READER_ROOT_NODE;
        }
    }

    while (NT_SUCCESS(Status)) {

        Best = READER_NONE;
        for (Worker = 0; Worker < Number; Worker++) {
            Paths = &All->Paths[Worker];
            if (Next[Worker] < Paths->Core.NumberOfPaths &&
                (Best == READER_NONE ||
                 Paths->Nodes[Next[Worker]].Thread <
                     All->Paths[Best].Nodes[Next[Best]].Thread)) {
                Best = Worker;
            }
        }

        if (Best == READER_NONE) {
            break;
        }

        Paths = &All->Paths[Best];
        This = &Paths->Core.Paths[Next[Best]];
        if (Paths->Nodes[Next[Best]].Thread != Thread) {
            Thread = Paths->Nodes[Next[Best]].Thread;
            SumBeginThreadOfTree(Tree, Thread);
        }

        if (Tree->HasTracks && This->Parent == CORE_PATH_ROOT) {
            Status = SumFindTrack(Tree, Paths->Fibers[This->Function], &Node);
        } else {
            Status = SumFindNode(Tree,
                                 Nodes[Best][This->Parent],
                                 Paths->Tally->List[This->Function].Function,
                                 &Node);
            if (NT_SUCCESS(Status)) {
                Status = SumMergePath(All, Paths, Next[Best], Node);
            }
        }

        Nodes[Best][Next[Best]] = Node;
        Next[Best] += 1;
    }

    for (Worker = 0; Worker < Number; Worker++) {
        Allocator->Free(Allocator->Context, Nodes[Worker]);
    }

    return Status;
}


//
// Makes what each worker adds up in.
//

_Must_inspect_result_
static
NTSTATUS
SumInitializePaths(
    _Inout_ PREADER_PATHS_OF_ALL All
    )
{
    PREADER_TREE Tree = All->Tree;
    PCALLOCATOR Allocator = Tree->Session->Context->Allocator;
    PREADER_PATHS Paths;
    ULONG Worker;
    NTSTATUS Status;

    Status = SumInitializeReading(&All->Reading);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    All->Paths = (PREADER_PATHS)Allocator->Allocate(
        Allocator->Context,
        All->Reading.NumberOfWorkers * sizeof(READER_PATHS));
    if (All->Paths == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Worker = 0; Worker < All->Reading.NumberOfWorkers; Worker++) {

        Paths = &All->Paths[Worker];
        Paths->Tree = Tree;
        Paths->Tally = &All->Reading.Tallies[Worker];
        Status = CoreInitializePaths(&Paths->Core,
                                     Allocator,
                                     Tree->MaximumDepth);
        if (NT_SUCCESS(Status) && Tree->HasTracks) {
            Status = BaseGrowArray(Allocator,
                                   (PVOID *)&Paths->Tally->Roots,
                                   &Paths->Tally->CapacityOfRoots,
                                   1,
                                   sizeof(ULONG));
        }

        if (NT_SUCCESS(Status) && Tree->Session->IsProbeSubtracted) {
            Paths->Tally->HasProbe = TRUE;
            Status = BaseGrowArray(Allocator,
                                   (PVOID *)&Paths->Tally->ProbeTotals,
                                   &Paths->Tally->CapacityOfProbe,
                                   CORE_FIRST_PATH,
                                   sizeof(CORE_PROBE_TOTALS));
        }

        if (NT_SUCCESS(Status) && Tree->Session->Waits != NULL) {
            Status = BaseGrowArray(Allocator,
                                   (PVOID *)&Paths->Tally->Waited,
                                   &Paths->Tally->CapacityOfWaited,
                                   CORE_FIRST_PATH,
                                   sizeof(ULONGLONG));
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Paths->Tally->Paths = &Paths->Core;
    }

    return STATUS_SUCCESS;
}


//
// Frees what the workers have.
//

static
VOID
SumRundownPaths(
    _Inout_ PREADER_PATHS_OF_ALL All
    )
{
    PCALLOCATOR Allocator = All->Tree->Session->Context->Allocator;
    PREADER_PATHS Paths;
    ULONG Worker;

    for (Worker = 0;
         All->Paths != NULL && Worker < All->Reading.NumberOfWorkers;
         Worker++) {

        Paths = &All->Paths[Worker];
        CoreRundownPaths(&Paths->Core);
        Allocator->Free(Allocator->Context, Paths->Nodes);
        Allocator->Free(Allocator->Context, Paths->Sums);
        Allocator->Free(Allocator->Context, Paths->Fibers);
        if (Paths->Tally != NULL) {
            Allocator->Free(Allocator->Context, Paths->Tally->Roots);
        }
    }

    Allocator->Free(Allocator->Context, All->Paths);
    Allocator->Free(Allocator->Context, All->FirstThread);
    SumRundownReading(&All->Reading);
}


_Use_decl_annotations_
ULONG
SumBuildTree(
    PREADER_TREE Tree,
    PCREADER_OPTIONS Options
    )
{
    READER_PATHS_OF_ALL All;
    ULONG ExitCode = READER_EXIT_FAILURE;
    NTSTATUS Status;

    if (Tree->Watch != NULL ||
        (Options->Given & READER_OPTION_GENERAL) != 0) {
        return SumBuildTreeOfEvents(Tree, Options);
    }

    RtlZeroBytes(&All, sizeof(All));
    All.Tree = Tree;
    All.Reading.Functions = Tree->Functions;
    All.Reading.Options = Options;
    All.Reading.Range = Tree->Range;
    All.Reading.Team = Tree->Team;
    All.Reading.Process = READER_NONE;
    All.Reading.Selected = Tree->Selected;
    All.Reading.Read = SumReadPaths;
    All.Reading.Context = &All;
    Status = SumAddRoot(Tree);
    if (NT_SUCCESS(Status)) {
        Status = SumInitializePaths(&All);
    }

    if (NT_SUCCESS(Status)) {

        ExitCode = SumReadThreads(&All.Reading);
        Tree->NumberOfRecords = All.Reading.NumberOfRecords;
        Tree->NumberOfOrdinary = All.Reading.NumberOfOrdinary;
        Tree->NumberOfThreads = All.Reading.NumberOfThreads;
        Tree->NumberOfWorkers = All.Reading.NumberOfWorkers;
        Status = SumMergePaths(&All);
    }

    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Tree->Session->Context,
                            "build the call tree",
                            Options->PathUtf8,
                            Status);
    }

    SumRundownPaths(&All);
    return ExitCode;
}
