/*++

Module Name:

    ReaderTally.c

Abstract:

    What one worker adds up of the threads that it reads: each function's
    calls and times.  What it knows of the sites is its own, so that it meets
    the other workers only at a site that is new to it.

    The fast path adds to Totals and everything else to Statistics; the two
    are put together at the end.

--*/

#include "ReaderTree.h"


_Use_decl_annotations_
VOID
ReaderInitializeTally(
    PREADER_TALLY Tally,
    PREADER_FUNCTIONS Functions,
    PREADER_LOCK Lock
    )
/*++

Routine Description:

    Makes an empty tally.

Arguments:

    Tally - Receives it.

    Functions - The table of functions that all workers share.

    Lock - For the table and its session; NULL: there is one worker.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;

    RtlZeroBytes(Tally, sizeof(*Tally));
    Tally->Functions = Functions;
    Tally->Lock = Lock;
    Tally->Totals.Allocator = Allocator;
    ReaderInitializeMap(&Tally->Indexes, Allocator);
    ReaderInitializeMap(&Tally->Inlined, Allocator);
}


_Use_decl_annotations_
VOID
ReaderRundownTally(
    PREADER_TALLY Tally
    )
/*++

Routine Description:

    Frees what a tally holds.

Arguments:

    Tally - The tally.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Tally->Totals.Allocator;
    ULONG Index;

    for (Index = 0; Index < Tally->CapacityOfModules; Index++) {
        CoreRundownSites(&Tally->Modules[Index]);
    }

    CoreDestroyArena(Tally->Arena);
    Tally->Arena = NULL;
    Allocator->Free(Allocator->Context, Tally->Histograms);
    Allocator->Free(Allocator->Context, Tally->Modules);
    Allocator->Free(Allocator->Context, Tally->List);
    Tally->Histograms = NULL;
    Tally->CapacityOfHistograms = 0;
    Tally->Modules = NULL;
    Tally->List = NULL;
    Tally->CapacityOfModules = 0;
    Tally->CapacityOfList = 0;
    Tally->NumberOfFunctions = 0;
    CoreRundownTotals(&Tally->Totals);
    ReaderRundownMap(&Tally->Indexes);
    ReaderRundownMap(&Tally->Inlined);
}


_Use_decl_annotations_
NTSTATUS
ReaderAddFunctionToTally(
    PREADER_TALLY Tally,
    ULONG Function,
    PULONG Index
    )
/*++

Routine Description:

    Finds a function's index in a tally, and adds it if it is not there.

Arguments:

    Tally - The tally.

    Function - The function's index in the table of all.

    Index - Receives its index here.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Tally->Totals.Allocator;
    NTSTATUS Status;

    if (ReaderFindInMap(&Tally->Indexes, Function, Index)) {
        return STATUS_SUCCESS;
    }

    *Index = Tally->NumberOfFunctions;
    Status = CoreGrowTotals(&Tally->Totals, *Index + 1);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Tally->List,
                             &Tally->CapacityOfList,
                             *Index + 1,
                             sizeof(READER_TALLY_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Tally->HasHistograms) {

        if (Tally->Arena == NULL) {
            Tally->Arena = CoreCreateArena(Allocator);
            if (Tally->Arena == NULL) {
                return STATUS_NO_MEMORY;
            }
        }

        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Tally->Histograms,
                                 &Tally->CapacityOfHistograms,
                                 *Index + 1,
                                 sizeof(CORE_HISTOGRAM));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Status = ReaderAddToMap(&Tally->Indexes, Function, *Index);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Tally->List[*Index].Function = Function;
    Tally->List[*Index].Thread = Tally->Thread;
    Tally->NumberOfFunctions += 1;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddSiteToTally(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PCORE_CALL Call
    )
/*++

Routine Description:

    Finds out what there is to know of a site that is new to a tally.

Arguments:

    Tally - The tally.

    Call - A call from it, which receives what the image says.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_FUNCTIONS Functions = Tally->Functions;
    PREADER_SESSION Session = Functions->Session;
    BOOLEAN IsEntry = Call->Kind == TRACE_KIND_ENTER ||
                      Call->Kind == TRACE_KIND_ENTER_FUNCTION;
    ULONG Module = (ULONG)(Call->Site >> 32);
    ULONG Function = 0;
    ULONG Index = 0;
    NTSTATUS Status;

    ReaderAcquireLock(Tally->Lock);
    Status = ReaderDescribeCall(Session, Call);
    if (NT_SUCCESS(Status) && IsEntry) {
        Status = ReaderFindFunction(Functions, Call->Site, &Function);
    }

    ReaderReleaseLock(Tally->Lock);

    if (NT_SUCCESS(Status) && IsEntry) {
        Status = ReaderAddFunctionToTally(Tally, Function, &Index);
    }

    if (NT_SUCCESS(Status)) {
        Status = CoreAddSite(&Tally->Modules[Module], Call, Index);
    }

    Tally->LastIndex = Index;
    return Status;
}


_Use_decl_annotations_
NTSTATUS
ReaderDescribeCallInTally(
    PREADER_TALLY Tally,
    PCORE_CALL Call
    )
/*++

Routine Description:

    Fills in what the image says of a call's site, as ReaderDescribeCall does.

Arguments:

    Tally - The tally; its LastIndex is set.

    Call - The call.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCCORE_SITE Site;

    Site = CoreFindSite(&Tally->Modules[(ULONG)(Call->Site >> 32)],
                        (ULONG)Call->Site,
                        Call->Kind);
    if (Site == NULL) {
        return ReaderAddSiteToTally(Tally, Call);
    }

    Call->Function = Site->Function;
    Call->JumpTarget = Site->JumpTarget;
    Call->FrameSize = Site->FrameSize;
    Call->BodySize = Site->BodySize;
    Call->Flags = Site->Flags;
    Tally->LastIndex = Site->Index;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONG
ReaderCountInlinedInTally(
    PVOID Context,
    ULONGLONG Outer,
    ULONGLONG Inner
    )
/*++

Routine Description:

    Counts how often a function may have been inlined into another one, as
    ReaderCountInlinedInSession does.

Arguments:

    Context - The tally.

    Outer - The function around, (module << 32) | RVA.

    Inner - The function inside.

Return Value:

    At least as many times as it was.

--*/
{
    PREADER_TALLY Tally = (PREADER_TALLY)Context;
    ULONGLONG Key = (Outer << 32) | (ULONG)Inner;
    BOOLEAN IsKept = (Outer >> 32) == 0 && (Inner >> 32) == 0;
    ULONG Answer;
    NTSTATUS Status;

    //
    // The answers about the first module are kept here, too: most programs
    // have no other.
    //

    if (IsKept && ReaderFindInMap(&Tally->Inlined, Key, &Answer)) {
        return Answer;
    }

    ReaderAcquireLock(Tally->Lock);
    Answer = ReaderCountInlinedInSession(Tally->Functions->Session,
                                         Outer,
                                         Inner);
    ReaderReleaseLock(Tally->Lock);

    if (IsKept) {
        Status = ReaderAddToMap(&Tally->Inlined, Key, Answer);
        (VOID)Status;
    }

    return Answer;
}


_Use_decl_annotations_
NTSTATUS
ReaderTallyEvent(
    PREADER_TALLY Tally,
    const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds an event.

Arguments:

    Tally - The tally, which has described the call last.

    Event - The event.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_TOTALS Totals;
    ULONGLONG Probe;
    ULONG Index;

    switch (Event->Kind) {

    case CoreEventEnter:
        Event->Frame->Function = Tally->LastIndex;
        Tally->Totals.Totals[Tally->LastIndex].ActiveCalls += 1;
        break;

    case CoreEventUnmatched:
        Tally->Unmatched += 1;
        break;

    default:
        Index = Event->Frame->Function;
        Totals = &Tally->Totals.Totals[Index];
        Totals->ActiveCalls -= 1;
        ReaderAddToStatistics(&Tally->List[Index].Statistics,
                              Event,
                              Totals->ActiveCalls == 0);
        if (Tally->HasHistograms && Event->Kind != CoreEventAbandoned) {
            Probe = Event->InclusiveProbe / TRACE_PROBE_UNIT;
            return CoreAddToHistogram(&Tally->Histograms[Index],
                                      Tally->Arena,
                                      Event->InclusiveTicks > Probe
                                          ? Event->InclusiveTicks - Probe
                                          : 0);
        }
        break;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ReaderPrepareTally(
    PREADER_TALLY Tally
    )
/*++

Routine Description:

    Makes room for the sites of all modules that there are now.

Arguments:

    Tally - The tally; its lock is held.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_SESSION Session = Tally->Functions->Session;
    PCALLOCATOR Allocator = Tally->Totals.Allocator;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Tally->Modules,
                             &Tally->CapacityOfModules,
                             Session->NumberOfModules,
                             sizeof(CORE_SITES));
    for (Index = 0; Index < Tally->CapacityOfModules; Index++) {
        Tally->Modules[Index].Allocator = Allocator;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
ReaderSkipStream(
    PREADER_TALLY Tally,
    PREADER_STREAM Stream,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Reads what comes before a time, or before the last clear if that is later,
    of which there are no events.  The frames
    that are open then are as if there had been.

Arguments:

    Tally - For the sites; what it adds up is of no use.  Its lock is free.

    Stream - The stream, of which nothing has been read; the frames' Function
        is the index in the table of functions.

    Timestamp - The first one that is not to be passed over.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_LOCK Lock = Tally->Lock;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    CORE_EVENT Event;
    ULONGLONG Clear = READER_CLEAR_OF(
        Session,
        Session->Threads[Stream->Thread].Process);
    BOOLEAN IsLive = Stream->IsLive;
    ULONGLONG Horizon = Stream->Horizon;
    ULONGLONG Counted = 0;
    SIZE_T Depth;
    ULONG Index;
    NTSTATUS Status;

    if (Timestamp < Clear) {
        Timestamp = Clear;
    }

    Stream->Start = Timestamp;
    if (Timestamp == 0) {
        return STATUS_SUCCESS;
    }

    //
    // Looking a site up takes the lock, which is held here.
    //

    ReaderAcquireLock(Lock);
    Tally->Lock = NULL;
    Status = ReaderPrepareTally(Tally);
    if (NT_SUCCESS(Status)) {
        ReaderSetStreamTally(Stream, Tally);
        if (!Tally->IsFromStart) {
            (VOID)ReaderRestoreStream(Tally, Stream, Timestamp);
        }
    }

    Tally->Lock = Lock;
    ReaderReleaseLock(Lock);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // A stream that goes on does not end its frames at the horizon.
    //

    Stream->IsLive = TRUE;
    Stream->Horizon = Timestamp - 1;

    do {
        Status = Tally->IsGeneral ? STATUS_SUCCESS : ReaderRunStream(Stream);
        Tally->NumberOfRecords += Stream->NumberOfRecords - Counted;
        Counted = Stream->NumberOfRecords;
        if (Tally->Progress != NULL) {
            Tally->Progress(Tally->ProgressContext);
        }

        do {
            if (NT_SUCCESS(Status)) {
                Status = ReaderNextEvent(Stream, &Event);
            }
            if (NT_SUCCESS(Status)) {
                Status = ReaderTallyEvent(Tally, &Event);
            }
        } while (NT_SUCCESS(Status) && Stream->Pair.IsPending);
    } while (NT_SUCCESS(Status));

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {
        Stack = &Stream->Pair.Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Frame = &Stack->Frames[Depth];
            Frame->Function = Tally->List[Frame->Function].Function;
        }
    }

    Tally->NumberOfRecords += Stream->NumberOfRecords - Counted;
    Stream->Horizon = Horizon;
    Stream->IsLive = IsLive;
    ReaderSetStreamTally(Stream, NULL);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderBeginRange(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Moves a stream that was just opened to where a tally's range begins, and
    adds the calls that are open there.

Arguments:

    Tally - The tally, with a range.

    Stream - The stream.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCORE_STACK Stack;
    SIZE_T Depth;
    ULONG Index;
    ULONG Place;
    NTSTATUS Status;

    Status = ReaderSkipStream(Tally->Before, Stream, Tally->Range->Start);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderClipStream(Stream, Tally->Range->Start, Tally->Range->End);
    if (Stream->IsFinished) {
        return STATUS_SUCCESS;
    }

    for (Place = 0; Place < Stream->Pair.NumberOfStacks; Place++) {

        Stack = &Stream->Pair.Stacks[Place];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Status = ReaderAddFunctionToTally(Tally,
                                              Stack->Frames[Depth].Function,
                                              &Index);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Stack->Frames[Depth].Function = Index;
            Tally->Totals.Totals[Index].ActiveCalls += 1;
            Tally->List[Index].Statistics.BegunBefore += 1;
        }
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderTallyTrees(
    _Inout_ PREADER_TALLY Tally,
    _In_ ULONG ThreadIndex
    )
/*++

Routine Description:

    Adds the trees of a thread's stores.

Arguments:

    Tally - The tally; its lock is held.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_FUNCTIONS Functions = Tally->Functions;
    PREADER_SESSION Session = Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_STATISTICS Sums = NULL;
    READER_RANGE Range;
    READER_TREE Tree;
    ULONG Function;
    ULONG Index;
    ULONG Node;
    NTSTATUS Result;
    NTSTATUS Status;

    RtlZeroBytes(&Range, sizeof(Range));
    ReaderInitializeTree(&Tree, Functions, &Range, READER_NONE, FALSE);
    Result = ReaderAddTreesToTree(&Tree, ThreadIndex);
    Status = STATUS_SUCCESS;
    if (Tree.NumberOfNodes == 0) {
        goto End;
    }

    Sums = (PREADER_STATISTICS)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Functions->NumberOfFunctions + 1) *
                                sizeof(READER_STATISTICS));
    Status = Sums != NULL ? ReaderSumTree(&Tree, Sums) : STATUS_NO_MEMORY;
    for (Node = READER_ROOT_NODE + 1;
         NT_SUCCESS(Status) && Node < Tree.NumberOfNodes;
         Node++) {

        Function = Tree.Nodes[Node].Function;
        if (Sums[Function].Calls == 0) {
            continue;
        }

        Status = ReaderAddFunctionToTally(Tally, Function, &Index);
        if (NT_SUCCESS(Status)) {
            ReaderAddStatistics(&Tally->List[Index].Statistics,
                                &Sums[Function],
                                TRUE);
            Sums[Function].Calls = 0;
        }
    }

    for (Index = Session->Threads[ThreadIndex].FirstStore;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {
        if (Session->Stores[Index]->IsTree) {
            Tally->Unmatched +=
                Session->Stores[Index]->Header->NumberOfUnmatchedExits;
        }
    }

End:
    Allocator->Free(Allocator->Context, Sums);
    ReaderRundownTree(&Tree);
    return NT_SUCCESS(Result) ? Status : Result;
}


_Use_decl_annotations_
NTSTATUS
ReaderTallyThread(
    PREADER_TALLY Tally,
    ULONG ThreadIndex
    )
/*++

Routine Description:

    Adds a thread.  One worker's threads come in ascending order.

Arguments:

    Tally - The tally.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = Tally->Functions->Session;
    READER_STREAM Stream;
    CORE_EVENT Event;
    ULONGLONG Counted = 0;
    ULONG Index;
    NTSTATUS Status;

    Tally->Thread = ThreadIndex;

    ReaderAcquireLock(Tally->Lock);
    Status = ReaderPrepareTally(Tally);
    if (NT_SUCCESS(Status)) {
        Status = ReaderOpenStream(&Stream, Session, ThreadIndex, FALSE);
    } else {
        RtlZeroBytes(&Stream, sizeof(Stream));
        Stream.Session = Session;
    }

    ReaderReleaseLock(Tally->Lock);

    if (NT_SUCCESS(Status)) {
        if (Tally->Range != NULL) {
            Status = ReaderBeginRange(Tally, &Stream);
        }

        Counted = Stream.NumberOfRecords;
        ReaderSetStreamTally(&Stream, Tally);
    }

    while (NT_SUCCESS(Status)) {

        if (!Tally->IsGeneral) {
            Status = ReaderRunStream(&Stream);
            if (!NT_SUCCESS(Status)) {
                break;
            }
        }

        Tally->NumberOfRecords += Stream.NumberOfRecords - Counted;
        Counted = Stream.NumberOfRecords;
        if (Tally->Progress != NULL) {
            Tally->Progress(Tally->ProgressContext);
        }

        do {
            Status = ReaderNextEvent(&Stream, &Event);
            if (NT_SUCCESS(Status)) {
                Status = ReaderTallyEvent(Tally, &Event);
            }
        } while (NT_SUCCESS(Status) && Stream.Pair.IsPending);
    }

    //
    // Every frame has ended, so the counts of active calls are zero again,
    // unless the thread could not be read to its end.
    //

    if (Status != STATUS_END_OF_FILE) {
        for (Index = 0; Index < Tally->Totals.Capacity; Index++) {
            Tally->Totals.Totals[Index].ActiveCalls = 0;
        }
    }

    Tally->NumberOfRecords += Stream.NumberOfRecords - Counted;
    Tally->NumberOfOrdinary += Stream.NumberOfOrdinary;
    ReaderAcquireLock(Tally->Lock);
    ReaderCloseStream(&Stream);
    if (Status == STATUS_END_OF_FILE) {
        Status = Session->NumberOfTrees != 0 &&
                         (Tally->Range == NULL || Tally->Range->HasTrees)
                     ? ReaderTallyTrees(Tally, ThreadIndex)
                     : STATUS_SUCCESS;
    }

    ReaderReleaseLock(Tally->Lock);
    return Status;
}


_Use_decl_annotations_
VOID
ReaderMergeStatistics(
    PREADER_STATISTICS Statistics,
    const READER_TALLY *Tally,
    ULONG Index
    )
/*++

Routine Description:

    Adds what a tally has of a function.  The order in which tallies are added
    makes no difference.

Arguments:

    Statistics - What to add to.

    Tally - The tally.

    Index - The function's index in it.

Return Value:

    None.

--*/
{
    const READER_SESSION *Session = Tally->Functions->Session;
    CORE_TOTALS Totals = Tally->Totals.Totals[Index];
    READER_STATISTICS Ordinary;

    RtlZeroBytes(&Ordinary, sizeof(Ordinary));
    Ordinary.Calls = Totals.Calls;

    //
    // Without a clock the differences of time stamps are no times.
    //

    if (Session->Clock.Kind != TRACE_CLOCK_NONE) {
        Ordinary.TotalTicks = Totals.TotalTicks;
        Ordinary.SelfTicks = Totals.SelfTicks;
        Ordinary.SumLow = Totals.SumLow;
        Ordinary.SumHigh = Totals.SumHigh;
        Ordinary.MinimumTicks = Totals.MinimumTicks;
        Ordinary.MaximumTicks = Totals.MaximumTicks;
    }

    ReaderAddStatistics(Statistics, &Ordinary, TRUE);
    ReaderAddStatistics(Statistics, &Tally->List[Index].Statistics, TRUE);
}
