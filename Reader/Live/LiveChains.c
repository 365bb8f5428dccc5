/*++

Module Name:

    LiveChains.c

Abstract:

    The chains of the calls that live reads, for its call tree and for who
    called a function.  They are kept while somebody looks at them; otherwise
    calls are added up by function alone, which costs less.

    What a chain had when it was looked at last is taken from what it has now,
    as for functions.  A chain is on a stack once at most, so that its time is
    that of its calls themselves and of the chains below it.

    Memory is bounded by the number of chains.  Nothing here recurses.

--*/

#include "../Calls/CallRead.h"
#include "LiveChains.h"

typedef struct _READER_LIVE_CHAIN_TREES {
    PREADER_LIVE_CHAINS Chains;
    BOOLEAN IsDone;                 // of threads that have ended
} READER_LIVE_CHAIN_TREES;
typedef READER_LIVE_CHAIN_TREES *PREADER_LIVE_CHAIN_TREES;

//
// What a reading to the end needs.
//

typedef struct _READER_LIVE_CHAIN_READING {
    PREADER_LIVE_CHAINS Chains;
    PREADER_FUNCTIONS Functions;
    const BOOLEAN *IsStopping;
} READER_LIVE_CHAIN_READING;
typedef READER_LIVE_CHAIN_READING *PREADER_LIVE_CHAIN_READING;


//
// Finds a chain, and adds it if it is not there and there is room.
// Parent: the chain above.
// Depth: of the call; 0: it is outermost.
// Function: what CallMakePath makes of its index in the tally.
//

_Must_inspect_result_
static
NTSTATUS
LiveFindChain(
    _Inout_ PREADER_LIVE_CHAINS Chains,
    _In_ ULONG Parent,
    _In_ SIZE_T Depth,
    _In_ ULONG Function,
    _Out_ PULONG Chain
    )
{
    PCORE_PATHS Paths = &Chains->Paths;
    NTSTATUS Status;

    *Chain = CORE_PATH_OUTSIDE;
    if (Depth >= Paths->MaximumDepth || Parent == CORE_PATH_OUTSIDE) {
        return STATUS_SUCCESS;
    }

    *Chain = CoreFindPath(Paths->Slots,
                          Paths->NumberOfSlots - 1,
                          Parent,
                          Function);
    if (*Chain != CORE_PATH_NONE) {
        return STATUS_SUCCESS;
    }

    *Chain = CORE_PATH_OUTSIDE;
    if (Paths->NumberOfPaths >= READER_LIVE_MOST_CHAINS) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Paths->Allocator,
                           (PVOID *)&Chains->List,
                           &Chains->CapacityOfList,
                           Paths->NumberOfPaths + 1,
                           sizeof(READER_LIVE_CHAIN));
    if (NT_SUCCESS(Status)) {
        Status = CoreAddPath(Paths, Parent, Function, Chain);
    }

    return Status;
}


//
// Makes what chains have for a frame's function.
//

_Must_inspect_result_
static
NTSTATUS
LiveFindPathOfFrame(
    _In_ const READER_LIVE_CHAINS *Chains,
    _In_ const CORE_FRAME *Frame,
    _Out_ PULONG Path
    )
{
    PREADER_TALLY Tally = Chains->Tally;
    ULONG Module = (ULONG)(Frame->Site >> 32);
    PCCORE_SITE Site = NULL;
    ULONG Caller = 0;
    NTSTATUS Status;

    if (Module < Tally->CapacityOfModules) {
        Site = CoreFindSite(&Tally->Modules[Module],
                            (ULONG)Frame->Site,
                            Frame->Kind);
    }

    if (Site != NULL) {
        *Path = Site->PathIndex;
        return STATUS_SUCCESS;
    }

    Status = FunctionFindImporter(Tally->Functions, Frame->Site, &Caller);
    *Path = CallMakePath(Frame->Function, Caller);
    return Status;
}


//
// Gives the frames of a thread that are open their chains.
//

_Must_inspect_result_
static
NTSTATUS
LiveBeginChainsOfThread(
    _Inout_ PREADER_LIVE_CHAINS Chains,
    _Inout_ PREADER_LIVE_THREAD Thread
    )
{
    PCORE_PAIR Pair = &Thread->Stream.Pair;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    SIZE_T Count = 0;
    ULONG Function;
    ULONG Parent;
    ULONG Place;
    NTSTATUS Status;

    for (Place = 0; Place < Thread->NumberOfOpen; Place++) {
        Thread->Open[Place].Chain = CORE_PATH_NONE;
    }

    for (Place = 0; Place < Pair->NumberOfStacks; Place++) {

        Parent = CORE_PATH_ROOT;
        for (Depth = 0; Depth < Pair->Stacks[Place].NumberOfFrames; Depth++) {

            Frame = &Pair->Stacks[Place].Frames[Depth];
            Status = LiveFindPathOfFrame(Chains, Frame, &Function);
            if (NT_SUCCESS(Status)) {
                Status = LiveFindChain(Chains,
                                       Parent,
                                       Depth,
                                       Function,
                                       &Frame->Node);
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Parent = Frame->Node;
            if (Count < Thread->NumberOfOpen) {
                Thread->Open[Count].Chain = Parent;
            }

            if (Thread->HasLongFunction && Place == Pair->Current &&
                Frame->Function == Thread->LongFunction) {
                Thread->LongChain = Parent;
            }

            Count += 1;
        }
    }

    return STATUS_SUCCESS;
}


//
// Adds a node of a thread's tree.
//

_Use_decl_annotations_
static
NTSTATUS
LiveChainOfNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_LIVE_CHAIN_TREES Trees = (PREADER_LIVE_CHAIN_TREES)Context;
    PREADER_LIVE_CHAINS Chains = Trees->Chains;
    READER_STATISTICS Statistics;
    PREADER_LIVE_CHAIN Chain;
    ULONG Caller = 0;
    ULONG Function;
    NTSTATUS Status;

    Status = CallAddFunctionToTally(Chains->Tally, Node->Function, &Function);
    if (NT_SUCCESS(Status) && !Node->Node->IsOther) {
        Status = FunctionFindImporter(
            Chains->Tally->Functions,
            ((ULONGLONG)Node->Module << 32) | Node->Node->Rva,
            &Caller);
    }

    if (NT_SUCCESS(Status)) {
        Status = LiveFindChain(Chains,
                               Node->Depth == 0 ? CORE_PATH_ROOT
                                                : Node->ValueAbove,
                               Node->Depth,
                               CallMakePath(Function, Caller),
                               &Node->Value);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    CoreGetNodeStatistics(Node->Node, &Statistics);
    Chain = &Chains->List[Node->Value];
    if (Trees->IsDone) {
        Chain->DoneCalls += Statistics.Calls;
        Chain->DoneSelfTicks += Statistics.SelfTicks;
        Chain->DoneTotalTicks += Statistics.TotalTicks;
    } else {
        Chain->TreeCalls += Statistics.Calls;
        Chain->TreeSelfTicks += Statistics.SelfTicks;
        Chain->TreeTotalTicks += Statistics.TotalTicks;
    }

    return STATUS_SUCCESS;
}


//
// Makes a state without chains, and room for those that are none.
//

_Must_inspect_result_
static
NTSTATUS
LiveInitializeChains(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_TALLY Tally
    )
{
    PREADER_LIVE_CHAINS Chains = &Live->Chains;
    PCALLOCATOR Allocator = Live->Session.Context->Allocator;
    NTSTATUS Status;

    LiveEndChains(Live);
    Status = CoreInitializePaths(&Chains->Paths,
                                 Allocator,
                                 READER_LIVE_DEEPEST_CHAIN);
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Chains->List,
                               &Chains->CapacityOfList,
                               CORE_FIRST_PATH,
                               sizeof(READER_LIVE_CHAIN));
    }

    Chains->Tally = Tally;
    Chains->Generation += 1;
    return Status;
}


_Use_decl_annotations_
VOID
LiveEndChains(
    PREADER_LIVE Live
    )
{
    PREADER_LIVE_CHAINS Chains = &Live->Chains;
    PCALLOCATOR Allocator = Live->Session.Context->Allocator;

    Live->Tally.Paths = NULL;
    Live->Tally.IsByBoth = FALSE;
    CoreRundownPaths(&Chains->Paths);
    Allocator->Free(Allocator->Context, Chains->List);
    Chains->List = NULL;
    Chains->CapacityOfList = 0;
    Chains->Tally = NULL;
    Chains->IsOn = FALSE;
    Chains->IsWhole = FALSE;
}


_Use_decl_annotations_
NTSTATUS
LiveBeginChains(
    PREADER_LIVE Live
    )
{
    PREADER_LIVE_CHAINS Chains = &Live->Chains;
    PREADER_LIVE_THREAD Thread;
    ULONG Index;
    NTSTATUS Status;

    Status = LiveInitializeChains(Live, &Live->Tally);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Live->NumberOfThreads;
         Index++) {

        Thread = Live->Threads[Index];
        Thread->LongChain = CORE_PATH_NONE;
        Thread->ChainRecords = 0;
        Thread->ChainRead = 0;
        if (!Thread->IsDone) {
            Status = LiveBeginChainsOfThread(Chains, Thread);
        } else if (Thread->HasTrees) {
            LiveAddDoneTrees(Live, Index);
        }
    }

    if (!NT_SUCCESS(Status)) {
        LiveEndChains(Live);
        return Status;
    }

    Chains->BeginQpc = Live->Reading.Qpc;
    Chains->IsOn = TRUE;
    Live->Tally.Paths = &Chains->Paths;
    Live->Tally.IsByBoth = TRUE;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
LiveEnterChain(
    PREADER_LIVE_CHAINS Chains,
    const CORE_EVENT *Event
    )
{
    ULONG Function;
    NTSTATUS Status;

    Status = LiveFindPathOfFrame(Chains, Event->Frame, &Function);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    return LiveFindChain(Chains,
                         Event->Parent != NULL ? Event->Parent->Node
                                               : CORE_PATH_ROOT,
                         Event->Depth,
                         Function,
                         &Event->Frame->Node);
}


_Use_decl_annotations_
VOID
LiveLeaveChain(
    PREADER_LIVE_CHAINS Chains,
    const CORE_EVENT *Event,
    BOOLEAN IsAbandonedTime
    )
{
    PCORE_PATH Path = &Chains->Paths.Paths[Event->Frame->Node];

    Path->Calls += 1;
    if (Event->Kind != CoreEventAbandoned || IsAbandonedTime) {
        Path->SelfTicks += Event->SelfTicks;
        Path->SumLow += Event->InclusiveTicks;
    }
}


_Use_decl_annotations_
VOID
LiveChainsTakeClosed(
    PREADER_LIVE_CHAINS Chains,
    BOOLEAN HasTimes
    )
{
    PREADER_LIVE_CHAIN Chain;
    PCCORE_PATH Path;
    ULONG Index;

    for (Index = CORE_PATH_OUTSIDE;
         Index < Chains->Paths.NumberOfPaths;
         Index++) {

        Path = &Chains->Paths.Paths[Index];
        Chain = &Chains->List[Index];
        Chain->Calls += (LONGLONG)(Path->Calls - Chain->ClosedCalls);
        Chain->ClosedCalls = Path->Calls;

        //
        // The times of a damaged store may be anything: a sum may wrap.
        //

        if (HasTimes) {
            Chain->SelfTicks =
                (LONGLONG)((ULONGLONG)Chain->SelfTicks + Path->SelfTicks -
                           Chain->ClosedSelfTicks);
            Chain->ClosedSelfTicks = Path->SelfTicks;
        }
    }
}


_Use_decl_annotations_
VOID
LiveAddTakenChains(
    PREADER_LIVE_CHAINS Chains,
    ULONGLONG Records,
    ULONGLONG RecordsRead,
    ULONGLONG Ticks,
    PREADER_LIVE_THREAD Thread
    )
{
    PREADER_LIVE_CHAIN Chain;
    ULONGLONG Number;
    ULONGLONG Sum = 0;
    ULONGLONG Most = 0;
    ULONG Largest = CORE_PATH_NONE;
    ULONG Index;

    for (Index = CORE_PATH_OUTSIDE;
         Index < Chains->Paths.NumberOfPaths;
         Index++) {

        Chain = &Chains->List[Index];
        Chain->AllCalls += LiveScale(Chain->Calls, Records, RecordsRead);
        Number = LiveScale(Chain->SelfTicks, Records, RecordsRead);
        Chain->AllSelfTicks += Number;
        Chain->Calls = 0;
        Chain->SelfTicks = 0;
        Sum += Number;
        if (Number > Most) {
            Most = Number;
            Largest = Index;
        }
    }

    if (Thread == NULL || Largest == CORE_PATH_NONE) {
        return;
    }

    //
    // What is rare and long may be in it too often or not at all: see
    // LiveAddTaken.
    //

    if (Sum > Ticks) {
        Sum -= Ticks;
        if (Sum > Ticks / 4) {
            Thread->LongChain = Largest;
        }

        Chains->List[Largest].AllSelfTicks -= Sum < Most ? Sum : Most;
    } else if (Thread->LongChain != CORE_PATH_NONE) {
        Chains->List[Thread->LongChain].AllSelfTicks += Ticks - Sum;
    }
}


_Use_decl_annotations_
VOID
LiveAddDoneTrees(
    PREADER_LIVE Live,
    ULONG Thread
    )
{
    READER_LIVE_CHAIN_TREES Trees;

    Trees.Chains = &Live->Chains;
    Trees.IsDone = TRUE;
    (VOID)CallVisitTrees(&Live->Functions,
                         Live->Threads[Thread]->Stream.Thread,
                         LiveChainOfNode,
                         NULL,
                         &Trees);
}


_Use_decl_annotations_
NTSTATUS
LiveChainsReadTrees(
    PREADER_LIVE Live
    )
{
    PREADER_LIVE_CHAINS Chains = &Live->Chains;
    READER_LIVE_CHAIN_TREES Trees;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0; Index < Chains->Paths.NumberOfPaths; Index++) {
        Chains->List[Index].TreeCalls = 0;
        Chains->List[Index].TreeSelfTicks = 0;
        Chains->List[Index].TreeTotalTicks = 0;
    }

    Trees.Chains = Chains;
    Trees.IsDone = FALSE;
    for (Index = 0; Index < Live->NumberOfThreads; Index++) {

        if (Live->Threads[Index]->IsDone || !Live->Threads[Index]->HasTrees) {
            continue;
        }

        Status = CallVisitTrees(&Live->Functions,
                                Live->Threads[Index]->Stream.Thread,
                                LiveChainOfNode,
                                NULL,
                                &Trees);
        if (Status == STATUS_NO_MEMORY) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}


//
// Takes a frame that was open when a range began: there are no ranges.
//

_Use_decl_annotations_
static
NTSTATUS
LiveReadOpenFrame(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Stream);
    UNREFERENCED_PARAMETER(Track);
    UNREFERENCED_PARAMETER(Depth);
    UNREFERENCED_PARAMETER(Frame);
    return STATUS_SUCCESS;
}


//
// Adds an event of a thread that is read to its end.
//

_Use_decl_annotations_
static
NTSTATUS
LiveReadChainEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    PREADER_LIVE_CHAIN_READING Reading = (PREADER_LIVE_CHAIN_READING)Context;
    PREADER_LIVE_CHAINS Chains = Reading->Chains;

    UNREFERENCED_PARAMETER(Stream);

    if (*Reading->IsStopping) {
        return STATUS_CANCELLED;
    }

    if (Event->Kind == CoreEventEnter) {
        Event->Frame->Function = Chains->Tally->LastIndex;
        return LiveEnterChain(Chains, Event);
    }

    if (Event->Kind != CoreEventUnmatched) {
        LiveLeaveChain(Chains, Event, FALSE);
    }

    return STATUS_SUCCESS;
}


//
// Adds the trees of a thread that was read to its end.
//

_Use_decl_annotations_
static
NTSTATUS
LiveReadChainTreesOfThread(
    PVOID Context,
    ULONG Thread
    )
{
    PREADER_LIVE_CHAIN_READING Reading = (PREADER_LIVE_CHAIN_READING)Context;
    READER_LIVE_CHAIN_TREES Trees;

    Trees.Chains = Reading->Chains;
    Trees.IsDone = TRUE;
    return CallVisitTrees(Reading->Functions,
                          Thread,
                          LiveChainOfNode,
                          NULL,
                          &Trees);
}


_Use_decl_annotations_
NTSTATUS
LiveChainsReadAll(
    PREADER_LIVE Live,
    PREADER_WAIT Progress,
    PVOID ProgressContext,
    const BOOLEAN *IsStopping
    )
{
    static const READER_VISITOR Visitor = {
        LiveReadOpenFrame,
        LiveReadChainEvent,
        LiveReadChainTreesOfThread
    };
    PREADER_LIVE_CHAINS Chains = &Live->Chains;
    READER_LIVE_CHAIN_READING Reading;
    READER_TALLY Tally;
    PREADER_LIVE_CHAIN Chain;
    PCORE_PATH Path;
    ULONG Function;
    ULONG Index;
    NTSTATUS Status;

    CallInitializeTally(&Tally, &Live->Functions, NULL);
    Tally.AreCallersApart = TRUE;
    Status = LiveInitializeChains(Live, &Tally);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Tally.Paths = &Chains->Paths;
    Tally.Progress = Progress;
    Tally.ProgressContext = ProgressContext;
    Reading.Chains = Chains;
    Reading.Functions = &Live->Functions;
    Reading.IsStopping = IsStopping;
    for (Index = 0;
         Index < Live->Session.NumberOfThreads && !*IsStopping;
         Index++) {
        Status = CallReadThread(&Tally, Index, &Visitor, &Reading);
        if (Status == STATUS_NO_MEMORY) {
            goto End;
        }
    }

    //
    // The functions are those of the table from here on, because the tally
    // goes.  Without a clock the differences of time stamps are no times.
    //

    Status = STATUS_SUCCESS;
    for (Index = CORE_PATH_OUTSIDE;
         Index < Chains->Paths.NumberOfPaths;
         Index++) {

        Path = &Chains->Paths.Paths[Index];
        Chain = &Chains->List[Index];
        Chain->TreeCalls = Path->Calls;
        if (Live->Session.Clock.Kind != TRACE_CLOCK_NONE) {
            Chain->TreeSelfTicks = Path->SelfTicks;
            Chain->TreeTotalTicks = Path->SumLow;
        }

        if (Index >= CORE_FIRST_PATH) {
            Function = CallQueryPathFunction(Path->Function);
            Path->Function = CallMakePath(Tally.List[Function].Function,
                                          CallQueryPathCaller(Path->Function));
        }
    }

    Chains->IsWhole = TRUE;

End:
    Chains->Tally = NULL;
    CallRundownTally(&Tally);
    if (!NT_SUCCESS(Status)) {
        LiveEndChains(Live);
    }

    return Status;
}
