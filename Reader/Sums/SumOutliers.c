/*++

Module Name:

    SumOutliers.c

Abstract:

    Adds up a function's calls for outliers, event by event, each worker for
    itself, and puts together what the workers have.

--*/

#include "../Functions/FunctionStub.h"
#include "../Calls/CallRead.h"
#include "../Base/BaseErrors.h"
#include "SumOutliers.h"


//
// Finds the slot of a callee.
// Call: the open call's index.
//

static
ULONG
SumHashChild(
    _In_ const READER_OUTLIER_WORKER *Worker,
    _In_ ULONG Call,
    _In_ ULONG Function
    )
{
    ULONGLONG Key = ((ULONGLONG)Call << 32) | Function;

    return (ULONG)((Key * 0x9E3779B97F4A7C15ULL) >> 32) &
           (Worker->NumberOfSlots - 1);
}


//
// Doubles the number of slots.
//

_Must_inspect_result_
static
NTSTATUS
SumGrowSlots(
    _Inout_ PREADER_OUTLIER_WORKER Worker
    )
{
    PCALLOCATOR Allocator = Worker->Allocator;
    ULONG Number = Worker->NumberOfSlots == 0 ? 64
                                              : Worker->NumberOfSlots * 2;
    PULONG Old = Worker->Slots;
    ULONG OldNumber = Worker->NumberOfSlots;
    PULONG New;
    ULONG Child;
    ULONG Index;
    ULONG Next;
    ULONG Slot;

    if (Number == 0) {
        return STATUS_NO_MEMORY;
    }

    New = (PULONG)Allocator->Allocate(Allocator->Context,
                                      (SIZE_T)Number * sizeof(ULONG));
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    Worker->Slots = New;
    Worker->NumberOfSlots = Number;
    for (Index = 0; Index < OldNumber; Index++) {
        for (Child = Old[Index]; Child != 0; Child = Next) {

            PREADER_CHILD This = &Worker->Children[Child - 1];

            Next = This->NextInSlot;
            Slot = SumHashChild(Worker, This->Call, This->Function);
            This->NextInSlot = New[Slot];
            New[Slot] = Child;
        }
    }

    Allocator->Free(Allocator->Context, Old);
    return STATUS_SUCCESS;
}


//
// Adds the time of a callee's call to an open call.
// Call: the open call's index.
//

_Must_inspect_result_
static
NTSTATUS
SumAddChild(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _In_ ULONG Call,
    _In_ ULONG Function,
    _In_ ULONGLONG Ticks
    )
{
    PREADER_OPEN_CALL Open = &Worker->OpenCalls[Call];
    PREADER_CHILD Child = NULL;
    ULONG Slot;
    ULONG Index = 0;
    NTSTATUS Status;

    if (Worker->NumberOfSlots != 0) {
        Index = Worker->Slots[SumHashChild(Worker, Call, Function)];
    }

    for (; Index != 0; Index = Child->NextInSlot) {
        Child = &Worker->Children[Index - 1];
        if (Child->Call == Call && Child->Function == Function) {
            break;
        }
    }

    if (Index == 0) {

        if (Worker->FreeChild != 0) {

            Index = Worker->FreeChild;
            Child = &Worker->Children[Index - 1];
            Worker->FreeChild = Child->NextInCall;

        } else {

            Status = BaseGrowArray(Worker->Allocator,
                                   (PVOID *)&Worker->Children,
                                   &Worker->CapacityOfChildren,
                                   Worker->NumberOfChildren + 1,
                                   sizeof(READER_CHILD));
            if (NT_SUCCESS(Status) &&
                Worker->NumberOfChildren >= Worker->NumberOfSlots) {
                Status = SumGrowSlots(Worker);
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Worker->NumberOfChildren += 1;
            Index = Worker->NumberOfChildren;
            Child = &Worker->Children[Index - 1];
        }

        Slot = SumHashChild(Worker, Call, Function);
        Child->Ticks = 0;
        Child->Call = Call;
        Child->Function = Function;
        Child->NextInSlot = Worker->Slots[Slot];
        Worker->Slots[Slot] = Index;
        Child->NextInCall = Open->FirstChild;
        Open->FirstChild = Index;
    }

    Child->Ticks += Ticks;
    if (Open->Largest == READER_NONE || Child->Ticks > Open->LargestTicks) {
        Open->Largest = Function;
        Open->LargestTicks = Child->Ticks;
    }

    return STATUS_SUCCESS;
}


//
// Makes an open call.
// Call: its index.
//

_Must_inspect_result_
static
NTSTATUS
SumBeginCall(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _Out_ PULONG Call
    )
{
    PREADER_OPEN_CALL Open;
    NTSTATUS Status;

    if (Worker->FreeOpenCall != 0) {

        *Call = Worker->FreeOpenCall - 1;
        Open = &Worker->OpenCalls[*Call];
        Worker->FreeOpenCall = Open->FirstChild;

    } else {

        Status = BaseGrowArray(Worker->Allocator,
                               (PVOID *)&Worker->OpenCalls,
                               &Worker->CapacityOfOpenCalls,
                               Worker->NumberOfOpenCalls + 1,
                               sizeof(READER_OPEN_CALL));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        *Call = Worker->NumberOfOpenCalls;
        Open = &Worker->OpenCalls[*Call];
        Worker->NumberOfOpenCalls += 1;
    }

    Open->LargestTicks = 0;
    Open->Largest = READER_NONE;
    Open->FirstChild = 0;
    return STATUS_SUCCESS;
}


//
// Gives an open call and its callees back.
// Call: the open call's index.
//

static
VOID
SumEndCall(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _In_ ULONG Call
    )
{
    PREADER_OPEN_CALL Open = &Worker->OpenCalls[Call];
    PREADER_CHILD Child;
    PULONG Link;
    ULONG Index;
    ULONG Next;

    for (Index = Open->FirstChild; Index != 0; Index = Next) {

        Child = &Worker->Children[Index - 1];
        Next = Child->NextInCall;
        Link = &Worker->Slots[SumHashChild(Worker, Call, Child->Function)];
        while (*Link != Index) {
            Link = &Worker->Children[*Link - 1].NextInSlot;
        }

        *Link = Child->NextInSlot;
        Child->NextInCall = Worker->FreeChild;
        Worker->FreeChild = Index;
    }

    Open->FirstChild = Worker->FreeOpenCall;
    Worker->FreeOpenCall = Call + 1;
}


//
// Makes an empty group of all zeroes.
//

static
VOID
SumInitializeGroup(
    _Out_ PREADER_OUTLIER_GROUP Group,
    _In_ PCALLOCATOR Allocator
    )
{
    RtlZeroBytes(Group, sizeof(*Group));
    BaseInitializeMap(&Group->CallerIndexes, Allocator);
    Group->Function = READER_NONE;
}


//
// Frees what a group holds; it is empty then.
// Arena: that its histograms are in.
//

static
VOID
SumRundownGroup(
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ PCALLOCATOR Allocator,
    _Inout_opt_ PCORE_ARENA Arena
    )
{
    ULONG Index;

    for (Index = 0; Index < Group->NumberOfCallers; Index++) {
        CoreRundownHistogram(&Group->Callers[Index].Histogram, Arena);
    }

    CoreRundownHistogram(&Group->All.Histogram, Arena);
    Allocator->Free(Allocator->Context, Group->Callers);
    Allocator->Free(Allocator->Context, Group->Heap);
    BaseRundownMap(&Group->CallerIndexes);
    SumInitializeGroup(Group, Allocator);
}


//
// Decides which group a function's calls go to, unless that was done before.
//

_Must_inspect_result_
static
NTSTATUS
SumMatchFunction(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _In_ ULONG Function
    )
{
    PREADER_OUTLIERS Outliers = Worker->Outliers;
    const READER_TALLY *Tally = Worker->Tally;
    PREADER_OUTLIER_GROUP Group;
    READER_MATCH Match;
    NTSTATUS Status;

    Status = BaseGrowArray(Worker->Allocator,
                           (PVOID *)&Worker->Matches,
                           &Worker->CapacityOfMatches,
                           Function + 1,
                           sizeof(UCHAR));
    if (!NT_SUCCESS(Status) || Worker->Matches[Function] != 0) {
        return Status;
    }

    //
    // Others may be growing the table of functions.
    //

    BaseAcquireLock(Tally->Lock);
    Match = FunctionMatchName(&Outliers->Name, Tally->List[Function].Function);
    if (Match != ReaderMatchNone) {

        Group = &Worker->Groups[Match - 1];
        if (Group->Function == READER_NONE) {
            Group->Function = Function;
        }

        if (!Group->IsAmbiguous &&
            !FunctionAreNamesEqual(&Outliers->Functions,
                                   Tally->List[Group->Function].Function,
                                   Tally->List[Function].Function)) {
            SumRundownGroup(Group, Worker->Allocator, Worker->Arena);
            Group->Function = Function;
            Group->IsAmbiguous = TRUE;
        }
    }

    BaseReleaseLock(Tally->Lock);
    Worker->Matches[Function] = (UCHAR)(Match + 1);
    return STATUS_SUCCESS;
}


//
// Finds the group that a function's calls go to.
// Function: one that SumMatchFunction was asked of.
// Returns the group, or NULL: it is another function.
//

static
PREADER_OUTLIER_GROUP
SumFindGroup(
    _In_ PREADER_OUTLIER_WORKER Worker,
    _In_ ULONG Function
    )
{
    READER_MATCH Match = (READER_MATCH)(Worker->Matches[Function] - 1);

    return Match != ReaderMatchNone && !Worker->Groups[Match - 1].IsAmbiguous
               ? &Worker->Groups[Match - 1]
               : NULL;
}


_Use_decl_annotations_
BOOLEAN
SumIsFaster(
    const READER_OUTLIER *First,
    const READER_OUTLIER *Second
    )
{
    if (First->Ticks != Second->Ticks) {
        return First->Ticks < Second->Ticks;
    }

    if (First->EnterTimestamp != Second->EnterTimestamp) {
        return First->EnterTimestamp > Second->EnterTimestamp;
    }

    if (First->Thread != Second->Thread) {
        return First->Thread > Second->Thread;
    }

    if (First->Depth != Second->Depth) {
        return First->Depth > Second->Depth;
    }

    return First->Order > Second->Order;
}


//
// Moves an element of a heap down to where it belongs.
// Index: the element, which may be slower than those below it.
//

static
VOID
SumSinkOutlier(
    _Inout_updates_(Count) PREADER_OUTLIER Heap,
    _In_ ULONG Count,
    _In_ ULONG Index
    )
{
    READER_OUTLIER Moved = Heap[Index];
    ULONG Child;

    for (;;) {

        if (Index >= Count / 2) {
            break;
        }

        Child = 2 * Index + 1;
        if (Child + 1 < Count &&
            SumIsFaster(&Heap[Child + 1], &Heap[Child])) {
            Child += 1;
        }

        if (!SumIsFaster(&Heap[Child], &Moved)) {
            break;
        }

        Heap[Index] = Heap[Child];
        Index = Child;
    }

    Heap[Index] = Moved;
}


//
// Finds the chain of some open calls, and adds it if it is not there.
// Frames, Depth: the calls, the outermost first.
// Path: the chain; READER_NONE: there are no calls.
//

_Must_inspect_result_
static
NTSTATUS
SumFindPath(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _In_reads_(Depth) const CORE_FRAME *Frames,
    _In_ ULONG Depth,
    _Out_ PULONG Path
    )
{
    ULONGLONG Key;
    ULONG Above = READER_NONE;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Depth; Index++) {

        Key = ((ULONGLONG)(Above + 1) << 32) | Frames[Index].Function;
        if (BaseFindInMap(&Worker->PathIndexes, Key, Path)) {
            Above = *Path;
            continue;
        }

        Status = BaseGrowArray(Worker->Allocator,
                               (PVOID *)&Worker->Paths,
                               &Worker->CapacityOfPaths,
                               Worker->NumberOfPaths + 1,
                               sizeof(READER_PATH));
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&Worker->PathIndexes,
                                  Key,
                                  Worker->NumberOfPaths);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Worker->Paths[Worker->NumberOfPaths].Parent = Above;
        Worker->Paths[Worker->NumberOfPaths].Function =
            Frames[Index].Function;
        Above = Worker->NumberOfPaths;
        Worker->NumberOfPaths += 1;
    }

    *Path = Above;
    return STATUS_SUCCESS;
}


//
// Tells whether a call is one of the slowest of a group.
//

static
BOOLEAN
SumIsOutlier(
    _In_ const READER_OUTLIERS *Outliers,
    _In_ const READER_OUTLIER_GROUP *Group,
    _In_ const READER_OUTLIER *New
    )
{
    return Group->NumberOfOutliers != Outliers->Limit ||
           SumIsFaster(&Group->Heap[0], New);
}


//
// Puts a call among the slowest ones, of which it is one.
//

_Must_inspect_result_
static
NTSTATUS
SumPutOutlier(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ const READER_OUTLIER *New
    )
{
    ULONG Above;
    ULONG Index;
    NTSTATUS Status;

    if (Group->NumberOfOutliers == Outliers->Limit) {
        Group->Heap[0] = *New;
        SumSinkOutlier(Group->Heap, Group->NumberOfOutliers, 0);
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Outliers->Session.Context->Allocator,
                           (PVOID *)&Group->Heap,
                           &Group->CapacityOfOutliers,
                           Group->NumberOfOutliers + 1,
                           sizeof(READER_OUTLIER));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = Group->NumberOfOutliers; Index != 0; Index = Above) {

        Above = (Index - 1) / 2;
        if (!SumIsFaster(New, &Group->Heap[Above])) {
            break;
        }

        Group->Heap[Index] = Group->Heap[Above];
    }

    Group->Heap[Index] = *New;
    Group->NumberOfOutliers += 1;
    return STATUS_SUCCESS;
}


//
// Puts a call among the slowest ones if it is one of them.
// Event: the call's exit.
//

_Must_inspect_result_
static
NTSTATUS
SumAddOutlier(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ const CORE_EVENT *Event
    )
{
    const READER_OPEN_CALL *Open = &Worker->OpenCalls[Event->Frame->Node - 1];
    READER_OUTLIER New;
    NTSTATUS Status;

    New.Ticks = Event->InclusiveTicks;
    New.SelfTicks = Event->SelfTicks;
    New.WaitedTicks = Event->WaitedTicks;
    New.EnterTimestamp = Event->EnterTimestamp;
    New.ChildTicks = Open->LargestTicks;
    New.Child = Open->Largest;
    New.Order = Worker->NumberEnded;
    New.Function = Event->Frame->Function;
    New.Thread = Worker->Tally->Thread;
    New.Track = Event->Track;
    New.Depth = Event->Depth;
    New.Path = READER_NONE;
    New.Worker = (ULONG)(Worker - Worker->Outliers->Workers);
    Worker->NumberEnded += 1;

    if (!SumIsOutlier(Worker->Outliers, Group, &New)) {
        return STATUS_SUCCESS;
    }

    Status = SumFindPath(Worker,
                         Event->Frame - Event->Depth,
                         Event->Depth,
                         &New.Path);
    return NT_SUCCESS(Status) ? SumPutOutlier(Worker->Outliers, Group, &New)
                              : Status;
}


//
// Adds how long a call took.
// Ticks: the time.
//

_Must_inspect_result_
static
NTSTATUS
SumAddDuration(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _Inout_ PREADER_DURATIONS Durations,
    _In_ ULONGLONG Ticks
    )
{
    if (Durations->Calls == 0 || Ticks < Durations->MinimumTicks) {
        Durations->MinimumTicks = Ticks;
    }

    if (Ticks > Durations->MaximumTicks) {
        Durations->MaximumTicks = Ticks;
    }

    Durations->Calls += 1;
    return CoreAddToHistogram(&Durations->Histogram, Worker->Arena, Ticks);
}


//
// Finds a caller of a group's calls, and adds it if it is not there.
// Function: the caller; READER_NONE: the calls are outermost ones.
// Callee: of a worker's; 0 at the end.
// Thread: in which it is seen.
//

_Must_inspect_result_
static
NTSTATUS
SumFindCaller(
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG Function,
    _In_ ULONG Callee,
    _In_ ULONG Thread,
    _Out_ PREADER_DURATIONS *Caller
    )
{
    ULONGLONG Key = ((ULONGLONG)Callee << 32) | Function;
    ULONG Index;
    NTSTATUS Status;

    if (!BaseFindInMap(&Group->CallerIndexes, Key, &Index)) {

        Index = Group->NumberOfCallers;
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Group->Callers,
                               &Group->CapacityOfCallers,
                               Index + 1,
                               sizeof(READER_DURATIONS));
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&Group->CallerIndexes, Key, Index);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Group->Callers[Index].Function = Function;
        Group->Callers[Index].Callee = Callee;
        Group->Callers[Index].Thread = Thread;
        Group->NumberOfCallers += 1;
    }

    *Caller = &Group->Callers[Index];
    return STATUS_SUCCESS;
}


//
// Finds the row of the histogram that is shown.
// Outliers: the command's state, with thresholds.
// Ticks: a call's time.
// Returns the last row that does not begin later.
//

static
ULONG
SumFindDuration(
    _In_ const READER_OUTLIERS *Outliers,
    _In_ ULONGLONG Ticks
    )
{
    ULONG Low = 0;
    ULONG High = READER_OUTLIERS_DURATIONS - 1;
    ULONG Middle;

    while (Low < High) {
        Middle = Low + (High - Low + 1) / 2;
        if (Outliers->Thresholds[Middle] <= Ticks) {
            Low = Middle;
        } else {
            High = Middle - 1;
        }
    }

    return Low;
}


//
// Adds a call that ended.
// Event: an exit, abandoned or open event.
//

_Must_inspect_result_
static
NTSTATUS
SumAddToGroup(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ const CORE_EVENT *Event
    )
{
    ULONGLONG Ticks = Event->InclusiveTicks;
    PREADER_DURATIONS Caller;
    NTSTATUS Status;

    Group->Uncertain += Event->IsUncertain;
    if (Event->Kind == CoreEventAbandoned) {

        Group->Abandoned += 1;
        if (Ticks > Group->LongestAbandoned) {
            Group->LongestAbandoned = Ticks;
        }
        return STATUS_SUCCESS;
    }

    if (Event->Kind == CoreEventOpen) {

        Group->Unfinished += 1;
        if (Ticks > Group->LongestUnfinished) {
            Group->LongestUnfinished = Ticks;
        }
        return STATUS_SUCCESS;
    }

    Status = SumAddDuration(Worker, &Group->All, Ticks);
    if (NT_SUCCESS(Status)) {
        Status = SumFindCaller(Group,
                               Worker->Allocator,
                               Event->Parent != NULL
                                   ? Event->Parent->Function
                                   : READER_NONE,
                               Event->Frame->Function,
                               Worker->Tally->Thread,
                               &Caller);
    }

    if (NT_SUCCESS(Status)) {
        Status = SumAddDuration(Worker, Caller, Ticks);
    }

    if (NT_SUCCESS(Status)) {
        Status = SumAddOutlier(Worker, Group, Event);
    }

    Group->Counts[SumFindDuration(Worker->Outliers, Ticks)] += 1;
    Group->SumLow += Ticks;
    if (Group->SumLow < Ticks) {
        Group->SumHigh += 1;
    }

    return Status;
}


//
// Says whether a function's calls are among those that the name may mean.
// Context: the worker.
//

_Use_decl_annotations_
static
NTSTATUS
SumWatchFunction(
    PVOID Context,
    ULONG Function,
    PBOOLEAN IsWatched
    )
{
    PREADER_OUTLIER_WORKER Worker = (PREADER_OUTLIER_WORKER)Context;
    NTSTATUS Status;

    *IsWatched = FALSE;
    Status = SumMatchFunction(Worker, Function);
    if (NT_SUCCESS(Status)) {
        *IsWatched = SumFindGroup(Worker, Function) != NULL;
    }

    return Status;
}


//
// Begins a call, which is not yet one that the name may mean.
//

_Must_inspect_result_
static
NTSTATUS
SumEnterFrame(
    _Inout_ PREADER_OUTLIER_WORKER Worker,
    _Inout_ PCORE_FRAME Frame,
    _In_ BOOLEAN IsBegunBefore
    )
{
    PREADER_OUTLIER_GROUP Group = SumFindGroup(Worker, Frame->Function);
    ULONG Call;
    NTSTATUS Status;

    Frame->Node = 0;
    if (Group == NULL) {
        return STATUS_SUCCESS;
    }

    Group->BegunBefore += IsBegunBefore;
    Status = SumBeginCall(Worker, &Call);
    if (NT_SUCCESS(Status)) {
        Frame->Node = Call + 1;
    }

    return Status;
}


//
// Takes a frame that was open when the range began.
//

_Use_decl_annotations_
static
NTSTATUS
SumOpenOutlier(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    PREADER_OUTLIER_WORKER Worker = (PREADER_OUTLIER_WORKER)Context;
    ULONG Function;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Stream);
    UNREFERENCED_PARAMETER(Track);
    UNREFERENCED_PARAMETER(Depth);

    Status = CallAddFunctionToTally(Worker->Tally, Frame->Function, &Function);
    if (NT_SUCCESS(Status)) {
        Frame->Function = Function;
        Status = SumMatchFunction(Worker, Function);
    }

    return NT_SUCCESS(Status) ? SumEnterFrame(Worker, Frame, TRUE) : Status;
}


//
// Takes an event of a call that is watched, or of one that such a call makes.
//

_Use_decl_annotations_
static
NTSTATUS
SumOutliersEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    PREADER_OUTLIER_WORKER Worker = (PREADER_OUTLIER_WORKER)Context;
    PREADER_OUTLIER_GROUP Group;
    NTSTATUS Status = STATUS_SUCCESS;

    UNREFERENCED_PARAMETER(Stream);

    if (Event->Kind == CoreEventUnmatched) {
        return STATUS_SUCCESS;
    }

    if (Event->Kind == CoreEventEnter) {
        Event->Frame->Function = Worker->Tally->LastIndex;
        return SumEnterFrame(Worker, Event->Frame, FALSE);
    }

    if (Event->Parent != NULL && Event->Parent->Node != 0) {
        Status = SumAddChild(Worker,
                             Event->Parent->Node - 1,
                             Event->Frame->Function,
                             Event->InclusiveTicks);
    }

    if (Event->Frame->Node != 0) {

        Group = SumFindGroup(Worker, Event->Frame->Function);
        if (NT_SUCCESS(Status) && Group != NULL) {
            Status = SumAddToGroup(Worker, Group, Event);
        }

        SumEndCall(Worker, Event->Frame->Node - 1);
        Event->Frame->Node = 0;
    }

    return Status;
}


//
// Reads a thread.
// Context: the command's state.
//

_Use_decl_annotations_
static
NTSTATUS
SumReadThreadOfOutliers(
    PVOID Context,
    ULONG Worker,
    ULONG Thread
    )
{
    static const READER_VISITOR Visitor = {
        SumOpenOutlier,
        SumOutliersEvent,
        NULL
    };
    PREADER_OUTLIERS Outliers = (PREADER_OUTLIERS)Context;

    return CallReadThread(&Outliers->Reading.Tallies[Worker],
                          Thread,
                          &Visitor,
                          &Outliers->Workers[Worker]);
}


//
// Finds the first ticks of each row of the histogram: row 0 is 0 ns, row N
// begins with the first tick that is 2 to the power of N - 1 ns or more.
// Outliers: the command's state, with the session.
//

static
VOID
SumFindThresholds(
    _Inout_ PREADER_OUTLIERS Outliers
    )
{
    ULONGLONG High;
    ULONGLONG Low;
    ULONGLONG Middle;
    ULONGLONG Time;
    ULONG Index;

    Outliers->Thresholds[0] = 0;
    for (Index = 1; Index < READER_OUTLIERS_DURATIONS; Index++) {

        Low = Outliers->Thresholds[Index - 1];
        High = READER_MAXIMUM_TIMESTAMP;
        while (Low < High) {
            Middle = Low + (High - Low) / 2;
            CoreTicksToNanoseconds(&Outliers->Session.Clock, Middle, &Time);
            if (Time < 1ULL << (Index - 1)) {
                Low = Middle + 1;
            } else {
                High = Middle;
            }
        }

        Outliers->Thresholds[Index] = Low;
    }
}


//
// Makes what each worker has.
//

_Must_inspect_result_
static
NTSTATUS
SumInitializeOutlierWorkers(
    _Inout_ PREADER_OUTLIERS Outliers
    )
{
    PREADER_READING Reading = &Outliers->Reading;
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    PREADER_OUTLIER_WORKER Worker;
    ULONG Index;
    ULONG Group;

    Outliers->Workers = (PREADER_OUTLIER_WORKER)Allocator->Allocate(
        Allocator->Context,
        Reading->NumberOfWorkers * sizeof(READER_OUTLIER_WORKER));
    if (Outliers->Workers == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Reading->NumberOfWorkers; Index++) {

        Worker = &Outliers->Workers[Index];
        Worker->Outliers = Outliers;
        Worker->Allocator = Allocator;
        Worker->Tally = &Reading->Tallies[Index];
        Worker->Tally->Watch = SumWatchFunction;
        Worker->Tally->WatchContext = Worker;
        BaseInitializeMap(&Worker->PathIndexes, Allocator);
        for (Group = 0; Group < READER_NUMBER_OF_MATCHES; Group++) {
            SumInitializeGroup(&Worker->Groups[Group], Allocator);
        }

        Worker->Arena = CoreCreateArena(Allocator);
        if (Worker->Arena == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
BOOLEAN
SumInitializeOutliers(
    PREADER_OUTLIERS Outliers,
    PREADER_TEAM Team
    )
{
    PREADER_SESSION Session = &Outliers->Session;
    PREADER_READING Reading = &Outliers->Reading;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Index;
    NTSTATUS Status;

    SumFindThresholds(Outliers);
    SumInitializeGroup(&Outliers->Group, Allocator);
    FunctionInitializeFunctions(&Outliers->Functions, Session);
    Outliers->Functions.AreStubsApart = TRUE;
    if (!FunctionInitializeName(&Outliers->Name,
                                &Outliers->Functions,
                                "outliers",
                                Outliers->Options->FirstUtf8)) {
        return FALSE;
    }

    Reading->Functions = &Outliers->Functions;
    Reading->Options = Outliers->Options;
    Reading->Range = &Outliers->Range;
    Reading->Team = Team;
    Reading->Process = READER_NONE;
    Reading->Read = SumReadThreadOfOutliers;
    Reading->Context = Outliers;
    Status = SumInitializeReading(Reading);
    if (NT_SUCCESS(Status)) {
        Status = SumInitializeOutlierWorkers(Outliers);
    }

    if (!NT_SUCCESS(Status)) {
        BaseFail(Session->Context,
                 "outliers",
                 Outliers->Options->PathUtf8,
                 Status);
        return FALSE;
    }

    for (Index = 0; Index < 2 * Reading->NumberOfWorkers; Index++) {
        Reading->Tallies[Index].IsGeneral =
            (Outliers->Options->Given & READER_OPTION_GENERAL) != 0;
    }

    return TRUE;
}


//
// Frees what a worker has.
//

static
VOID
SumRundownOutlierWorker(
    _Inout_ PREADER_OUTLIER_WORKER Worker
    )
{
    PCALLOCATOR Allocator = Worker->Allocator;
    ULONG Index;

    if (Allocator == NULL) {
        return;
    }

    for (Index = 0; Index < READER_NUMBER_OF_MATCHES; Index++) {
        SumRundownGroup(&Worker->Groups[Index], Allocator, Worker->Arena);
    }

    CoreDestroyArena(Worker->Arena);
    BaseRundownMap(&Worker->PathIndexes);
    Allocator->Free(Allocator->Context, Worker->Paths);
    Allocator->Free(Allocator->Context, Worker->Slots);
    Allocator->Free(Allocator->Context, Worker->Children);
    Allocator->Free(Allocator->Context, Worker->OpenCalls);
    Allocator->Free(Allocator->Context, Worker->Matches);
}


_Use_decl_annotations_
VOID
SumRundownOutliers(
    PREADER_OUTLIERS Outliers
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    ULONG Index;

    for (Index = 0;
         Outliers->Workers != NULL &&
         Index < Outliers->Reading.NumberOfWorkers;
         Index++) {
        SumRundownOutlierWorker(&Outliers->Workers[Index]);
    }

    FunctionRundownName(&Outliers->Name);
    SumRundownGroup(&Outliers->Group, Allocator, Outliers->Arena);
    CoreDestroyArena(Outliers->Arena);
    Allocator->Free(Allocator->Context, Outliers->Workers);
    Allocator->Free(Allocator->Context, Outliers->IsSeen);
    SumRundownReading(&Outliers->Reading);
    FunctionRundownFunctions(&Outliers->Functions);
}


_Use_decl_annotations_
ULONG
SumOutliersRead(
    PREADER_OUTLIERS Outliers
    )
{
    ULONG ExitCode = SumReadThreads(&Outliers->Reading);
    PREADER_OUTLIER_WORKER Worker;
    ULONG Index;
    ULONG Path;

    //
    // The order of functions is settled now.
    //

    for (Index = 0; Index < Outliers->Reading.NumberOfWorkers; Index++) {
        Worker = &Outliers->Workers[Index];
        for (Path = 0; Path < Worker->NumberOfPaths; Path++) {
            Worker->Paths[Path].Function =
                Worker->Tally->List[Worker->Paths[Path].Function].Function;
        }
    }

    return ExitCode;
}


_Use_decl_annotations_
NTSTATUS
SumListSeenFunctions(
    PREADER_OUTLIERS Outliers
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    const READER_TALLY *Tally;
    ULONG Worker;
    ULONG Index;

    Outliers->IsSeen = (PUCHAR)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)Outliers->Functions.NumberOfFunctions + 1);
    if (Outliers->IsSeen == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Worker = 0; Worker < Outliers->Reading.NumberOfWorkers; Worker++) {
        Tally = &Outliers->Reading.Tallies[Worker];
        for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {
            Outliers->IsSeen[Tally->List[Index].Function] = TRUE;
        }
    }

    return STATUS_SUCCESS;
}


//
// Adds how long others of the same calls took.
//

_Must_inspect_result_
static
NTSTATUS
SumMergeDurations(
    _In_ const READER_OUTLIERS *Outliers,
    _Inout_ PREADER_DURATIONS Durations,
    _In_ const READER_DURATIONS *Others
    )
{
    if (Others->Calls == 0) {
        return STATUS_SUCCESS;
    }

    if (Durations->Calls == 0 ||
        Others->MinimumTicks < Durations->MinimumTicks) {
        Durations->MinimumTicks = Others->MinimumTicks;
    }

    if (Others->MaximumTicks > Durations->MaximumTicks) {
        Durations->MaximumTicks = Others->MaximumTicks;
    }

    Durations->Calls += Others->Calls;
    return CoreMergeHistogram(&Durations->Histogram,
                              Outliers->Arena,
                              &Others->Histogram);
}


//
// Puts the callers together, in the order in which one worker would have met
// them.  A worker's are in the order of the threads in which they came up, and
// no thread was read by two.  Which module called is known from the callee, so
// that those of stubs of several modules come together only here.
// Alike: by function: FunctionFindAlike.
//

_Must_inspect_result_
static
NTSTATUS
SumMergeCallers(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ READER_MATCH Match,
    _In_ const ULONG *Alike
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    ULONG Next[READER_MAXIMUM_WORKERS];
    const READER_OUTLIER_GROUP *Group;
    const READER_DURATIONS *First;
    const READER_DURATIONS *This;
    PREADER_DURATIONS Caller;
    PREADER_TALLY_FUNCTION List;
    ULONG Function;
    ULONG Module;
    ULONG Worker;
    ULONG Best = 0;
    NTSTATUS Status;

    RtlZeroBytes(Next, sizeof(Next));
    for (;;) {

        First = NULL;
        for (Worker = 0;
             Worker < Outliers->Reading.NumberOfWorkers;
             Worker++) {

            Group = &Outliers->Workers[Worker].Groups[Match - 1];
            if (Next[Worker] == Group->NumberOfCallers) {
                continue;
            }

            This = &Group->Callers[Next[Worker]];
            if (First == NULL || This->Thread < First->Thread) {
                First = This;
                Best = Worker;
            }
        }

        if (First == NULL) {
            return STATUS_SUCCESS;
        }

        Next[Best] += 1;
        List = Outliers->Workers[Best].Tally->List;
        Function = First->Function != READER_NONE
                       ? List[First->Function].Function
                       : READER_NONE;
        Module = FunctionStubFindCaller(&Outliers->Functions,
                                        List[First->Callee].Function,
                                        Function);
        if (Module != 0) {
            Function = READER_MAKE_CALLING_MODULE(Module);
        } else if (Function != READER_NONE) {
            Function = Alike[Function];
        }

        Status = SumFindCaller(&Outliers->Group,
                               Allocator,
                               Function,
                               0,
                               First->Thread,
                               &Caller);
        if (NT_SUCCESS(Status)) {
            Status = SumMergeDurations(Outliers, Caller, First);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
}


//
// Adds the calls of a worker's group, but for the callers.
//

_Must_inspect_result_
static
NTSTATUS
SumMergeGroup(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ const READER_OUTLIER_WORKER *Worker,
    _In_ const READER_OUTLIER_GROUP *Group
    )
{
    const READER_TALLY_FUNCTION *List = Worker->Tally->List;
    PREADER_OUTLIER_GROUP Sum = &Outliers->Group;
    READER_OUTLIER Call;
    ULONG Index;
    NTSTATUS Status;

    Sum->Uncertain += Group->Uncertain;
    Sum->BegunBefore += Group->BegunBefore;
    Sum->Unfinished += Group->Unfinished;
    Sum->Abandoned += Group->Abandoned;
    if (Group->LongestUnfinished > Sum->LongestUnfinished) {
        Sum->LongestUnfinished = Group->LongestUnfinished;
    }

    if (Group->LongestAbandoned > Sum->LongestAbandoned) {
        Sum->LongestAbandoned = Group->LongestAbandoned;
    }

    Sum->SumHigh += Group->SumHigh;
    Sum->SumLow += Group->SumLow;
    if (Sum->SumLow < Group->SumLow) {
        Sum->SumHigh += 1;
    }

    for (Index = 0; Index < READER_OUTLIERS_DURATIONS; Index++) {
        Sum->Counts[Index] += Group->Counts[Index];
    }

    Status = SumMergeDurations(Outliers, &Sum->All, &Group->All);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Group->NumberOfOutliers;
         Index++) {

        Call = Group->Heap[Index];
        Call.Function = List[Call.Function].Function;
        if (Call.Child != READER_NONE) {
            Call.Child = List[Call.Child].Function;
        }

        if (SumIsOutlier(Outliers, Sum, &Call)) {
            Status = SumPutOutlier(Outliers, Sum, &Call);
        }
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
SumMergeOutliers(
    PREADER_OUTLIERS Outliers,
    READER_MATCH Match
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    PREADER_OUTLIER_WORKER Worker;
    PREADER_OUTLIER_GROUP Group;
    PULONG Alike;
    ULONG Index;
    NTSTATUS Status;

    Outliers->Arena = CoreCreateArena(Allocator);
    if (Outliers->Arena == NULL) {
        return STATUS_NO_MEMORY;
    }

    Alike = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Outliers->Functions.NumberOfFunctions + 1) * sizeof(ULONG));
    Status = Alike != NULL ? FunctionFindAlike(&Outliers->Functions, Alike)
                           : STATUS_NO_MEMORY;
    if (NT_SUCCESS(Status)) {
        Status = SumMergeCallers(Outliers, Match, Alike);
    }

    Allocator->Free(Allocator->Context, Alike);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Outliers->Reading.NumberOfWorkers;
         Index++) {

        Worker = &Outliers->Workers[Index];
        Group = &Worker->Groups[Match - 1];
        Status = SumMergeGroup(Outliers, Worker, Group);
        SumRundownGroup(Group, Allocator, Worker->Arena);
    }

    return Status;
}
