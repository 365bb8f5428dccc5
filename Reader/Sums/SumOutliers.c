/*++

Module Name:

    SumOutliers.c

Abstract:

    Adds up a function's calls for outliers, event by event.

--*/

#include "SumOutliers.h"


//
// Finds the slot of a callee.
// Call: the open call's index.
//

static
ULONG
SumHashChild(
    _In_ const READER_OUTLIERS *Outliers,
    _In_ ULONG Call,
    _In_ ULONG Function
    )
{
    ULONGLONG Key = ((ULONGLONG)Call << 32) | Function;

    return (ULONG)((Key * 0x9E3779B97F4A7C15ULL) >> 32) &
           (Outliers->NumberOfSlots - 1);
}


//
// Doubles the number of slots.
//

_Must_inspect_result_
static
NTSTATUS
SumGrowSlots(
    _Inout_ PREADER_OUTLIERS Outliers
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    ULONG Number = Outliers->NumberOfSlots == 0 ? 64
                                                : Outliers->NumberOfSlots * 2;
    PULONG Old = Outliers->Slots;
    ULONG OldNumber = Outliers->NumberOfSlots;
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

    Outliers->Slots = New;
    Outliers->NumberOfSlots = Number;
    for (Index = 0; Index < OldNumber; Index++) {
        for (Child = Old[Index]; Child != 0; Child = Next) {

            PREADER_CHILD This = &Outliers->Children[Child - 1];

            Next = This->NextInSlot;
            Slot = SumHashChild(Outliers, This->Call, This->Function);
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
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ ULONG Call,
    _In_ ULONG Function,
    _In_ ULONGLONG Ticks
    )
{
    PREADER_OPEN_CALL Open = &Outliers->OpenCalls[Call];
    PREADER_CHILD Child = NULL;
    ULONG Slot;
    ULONG Index = 0;
    NTSTATUS Status;

    if (Outliers->NumberOfSlots != 0) {
        Index = Outliers->Slots[SumHashChild(Outliers, Call, Function)];
    }

    for (; Index != 0; Index = Child->NextInSlot) {
        Child = &Outliers->Children[Index - 1];
        if (Child->Call == Call && Child->Function == Function) {
            break;
        }
    }

    if (Index == 0) {

        if (Outliers->FreeChild != 0) {

            Index = Outliers->FreeChild;
            Child = &Outliers->Children[Index - 1];
            Outliers->FreeChild = Child->NextInCall;

        } else {

            Status = BaseGrowArray(Outliers->Session.Context->Allocator,
                                   (PVOID *)&Outliers->Children,
                                   &Outliers->CapacityOfChildren,
                                   Outliers->NumberOfChildren + 1,
                                   sizeof(READER_CHILD));
            if (NT_SUCCESS(Status) &&
                Outliers->NumberOfChildren >= Outliers->NumberOfSlots) {
                Status = SumGrowSlots(Outliers);
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Outliers->NumberOfChildren += 1;
            Index = Outliers->NumberOfChildren;
            Child = &Outliers->Children[Index - 1];
        }

        Slot = SumHashChild(Outliers, Call, Function);
        Child->Ticks = 0;
        Child->Call = Call;
        Child->Function = Function;
        Child->NextInSlot = Outliers->Slots[Slot];
        Outliers->Slots[Slot] = Index;
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
    _Inout_ PREADER_OUTLIERS Outliers,
    _Out_ PULONG Call
    )
{
    PREADER_OPEN_CALL Open;
    NTSTATUS Status;

    if (Outliers->FreeOpenCall != 0) {

        *Call = Outliers->FreeOpenCall - 1;
        Open = &Outliers->OpenCalls[*Call];
        Outliers->FreeOpenCall = Open->FirstChild;

    } else {

        Status = BaseGrowArray(Outliers->Session.Context->Allocator,
                               (PVOID *)&Outliers->OpenCalls,
                               &Outliers->CapacityOfOpenCalls,
                               Outliers->NumberOfOpenCalls + 1,
                               sizeof(READER_OPEN_CALL));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        *Call = Outliers->NumberOfOpenCalls;
        Open = &Outliers->OpenCalls[*Call];
        Outliers->NumberOfOpenCalls += 1;
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
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ ULONG Call
    )
{
    PREADER_OPEN_CALL Open = &Outliers->OpenCalls[Call];
    PREADER_CHILD Child;
    PULONG Link;
    ULONG Index;
    ULONG Next;

    for (Index = Open->FirstChild; Index != 0; Index = Next) {

        Child = &Outliers->Children[Index - 1];
        Next = Child->NextInCall;
        Link = &Outliers->Slots[SumHashChild(Outliers,
                                             Call,
                                             Child->Function)];
        while (*Link != Index) {
            Link = &Outliers->Children[*Link - 1].NextInSlot;
        }

        *Link = Child->NextInSlot;
        Child->NextInCall = Outliers->FreeChild;
        Outliers->FreeChild = Index;
    }

    Open->FirstChild = Outliers->FreeOpenCall;
    Outliers->FreeOpenCall = Call + 1;
}


//
// Frees what a group holds.
// Group: the group, which is empty then.
//

static
VOID
SumRundownGroup(
    _Inout_ PREADER_OUTLIERS Outliers,
    _Inout_ PREADER_OUTLIER_GROUP Group
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Group->NumberOfCallers; Index++) {
        CoreRundownHistogram(&Group->Callers[Index].Histogram,
                             Outliers->Arena);
    }

    CoreRundownHistogram(&Group->All.Histogram, Outliers->Arena);
    Allocator->Free(Allocator->Context, Group->Callers);
    Allocator->Free(Allocator->Context, Group->Heap);
    BaseRundownMap(&Group->CallerIndexes);
    RtlZeroBytes(Group, sizeof(*Group));
    BaseInitializeMap(&Group->CallerIndexes, Allocator);
    Group->Function = READER_NONE;
}


//
// Finds the group that a function's calls go to.
// Group: the group, or NULL: it is another function.
//

_Must_inspect_result_
static
NTSTATUS
SumFindGroup(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ ULONG Function,
    _Outptr_result_maybenull_ PREADER_OUTLIER_GROUP *Group
    )
{
    PREADER_OUTLIER_GROUP This;
    READER_MATCH Match;
    NTSTATUS Status;

    *Group = NULL;
    Status = BaseGrowArray(Outliers->Session.Context->Allocator,
                           (PVOID *)&Outliers->Matches,
                           &Outliers->CapacityOfMatches,
                           Function + 1,
                           sizeof(UCHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Outliers->Matches[Function] == 0) {
        Match = FunctionMatchName(&Outliers->Name, Function);
        Outliers->Matches[Function] = (UCHAR)(Match + 1);
    }

    Match = (READER_MATCH)(Outliers->Matches[Function] - 1);
    if (Match == ReaderMatchNone) {
        return STATUS_SUCCESS;
    }

    This = &Outliers->Groups[Match - 1];
    if (This->Function == READER_NONE) {
        This->Function = Function;
    }

    if (This->Function != Function && !This->IsAmbiguous &&
        !FunctionAreNamesEqual(&Outliers->Functions,
                               This->Function,
                               Function)) {
        SumRundownGroup(Outliers, This);
        This->Function = Function;
        This->IsAmbiguous = TRUE;
    }

    if (!This->IsAmbiguous) {
        *Group = This;
    }

    return STATUS_SUCCESS;
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

    return First->Depth > Second->Depth;
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
    _Inout_ PREADER_OUTLIERS Outliers,
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
        if (BaseFindInMap(&Outliers->PathIndexes, Key, Path)) {
            Above = *Path;
            continue;
        }

        Status = BaseGrowArray(Outliers->Session.Context->Allocator,
                               (PVOID *)&Outliers->Paths,
                               &Outliers->CapacityOfPaths,
                               Outliers->NumberOfPaths + 1,
                               sizeof(READER_PATH));
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&Outliers->PathIndexes,
                                  Key,
                                  Outliers->NumberOfPaths);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Outliers->Paths[Outliers->NumberOfPaths].Parent = Above;
        Outliers->Paths[Outliers->NumberOfPaths].Function =
            Frames[Index].Function;
        Above = Outliers->NumberOfPaths;
        Outliers->NumberOfPaths += 1;
    }

    *Path = Above;
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
    _Inout_ PREADER_OUTLIERS Outliers,
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ const CORE_EVENT *Event
    )
{
    const READER_OPEN_CALL *Open = &Outliers->OpenCalls[Event->Frame->Node - 1];
    READER_OUTLIER New;
    ULONG Above;
    ULONG Index;
    NTSTATUS Status;

    New.Ticks = Event->InclusiveTicks;
    New.SelfTicks = Event->SelfTicks;
    New.EnterTimestamp = Event->EnterTimestamp;
    New.ChildTicks = Open->LargestTicks;
    New.Child = Open->Largest;
    New.Function = Event->Frame->Function;
    New.Thread = Outliers->Walk.Thread;
    New.Track = Event->Track;
    New.Depth = Event->Depth;
    New.Path = READER_NONE;

    if (Group->NumberOfOutliers == Outliers->Limit &&
        !SumIsFaster(&Group->Heap[0], &New)) {
        return STATUS_SUCCESS;
    }

    Status = SumFindPath(Outliers,
                         Event->Frame - Event->Depth,
                         Event->Depth,
                         &New.Path);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Group->NumberOfOutliers == Outliers->Limit) {
        Group->Heap[0] = New;
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
        if (!SumIsFaster(&New, &Group->Heap[Above])) {
            break;
        }

        Group->Heap[Index] = Group->Heap[Above];
    }

    Group->Heap[Index] = New;
    Group->NumberOfOutliers += 1;
    return STATUS_SUCCESS;
}


//
// Adds how long a call took.
// Ticks: the time.
//

_Must_inspect_result_
static
NTSTATUS
SumAddDuration(
    _Inout_ PREADER_OUTLIERS Outliers,
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
    if (Outliers->Arena == NULL) {
        Outliers->Arena =
            CoreCreateArena(Outliers->Session.Context->Allocator);
        if (Outliers->Arena == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    return CoreAddToHistogram(&Durations->Histogram, Outliers->Arena, Ticks);
}


//
// Adds how long a call took to the calls of its caller.
// Caller: the caller; READER_NONE: it was an outermost call.
// Ticks: the time.
//

_Must_inspect_result_
static
NTSTATUS
SumAddToCaller(
    _Inout_ PREADER_OUTLIERS Outliers,
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ ULONG Caller,
    _In_ ULONGLONG Ticks
    )
{
    ULONG Index;
    NTSTATUS Status;

    if (!BaseFindInMap(&Group->CallerIndexes, Caller, &Index)) {

        Index = Group->NumberOfCallers;
        Status = BaseGrowArray(Outliers->Session.Context->Allocator,
                               (PVOID *)&Group->Callers,
                               &Group->CapacityOfCallers,
                               Index + 1,
                               sizeof(READER_DURATIONS));
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&Group->CallerIndexes, Caller, Index);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Group->Callers[Index].Function = Caller;
        Group->NumberOfCallers += 1;
    }

    return SumAddDuration(Outliers, &Group->Callers[Index], Ticks);
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
    _Inout_ PREADER_OUTLIERS Outliers,
    _Inout_ PREADER_OUTLIER_GROUP Group,
    _In_ const CORE_EVENT *Event
    )
{
    ULONGLONG Ticks = Event->InclusiveTicks;
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

    Status = SumAddDuration(Outliers, &Group->All, Ticks);
    if (NT_SUCCESS(Status)) {
        Status = SumAddToCaller(Outliers,
                                Group,
                                Event->Parent != NULL
                                   ? Event->Parent->Function
                                   : READER_NONE,
                                Ticks);
    }

    if (NT_SUCCESS(Status)) {
        Status = SumAddOutlier(Outliers, Group, Event);
    }

    Group->Counts[SumFindDuration(Outliers, Ticks)] += 1;
    Group->SumLow += Ticks;
    if (Group->SumLow < Ticks) {
        Group->SumHigh += 1;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
SumOutliersEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
{
    PREADER_OUTLIERS Outliers = (PREADER_OUTLIERS)Walk->Context;
    PREADER_OUTLIER_GROUP Group;
    ULONG Call;
    NTSTATUS Status;

    if (Event->Kind == CoreEventUnmatched) {
        return STATUS_SUCCESS;
    }

    Status = SumFindGroup(Outliers, Event->Frame->Function, &Group);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Event->Kind == CoreEventEnter) {

        if (Group == NULL) {
            return STATUS_SUCCESS;
        }

        Group->BegunBefore += IsBegunBefore;
        Status = SumBeginCall(Outliers, &Call);
        if (NT_SUCCESS(Status)) {
            Event->Frame->Node = Call + 1;
        }

        return Status;
    }

    if (Event->Parent != NULL && Event->Parent->Node != 0) {
        Status = SumAddChild(Outliers,
                             Event->Parent->Node - 1,
                             Event->Frame->Function,
                             Event->InclusiveTicks);
    }

    if (Event->Frame->Node != 0) {

        if (NT_SUCCESS(Status) && Group != NULL) {
            Status = SumAddToGroup(Outliers, Group, Event);
        }

        SumEndCall(Outliers, Event->Frame->Node - 1);
        Event->Frame->Node = 0;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
SumWatchOutliers(
    PVOID Context,
    ULONG Function,
    PBOOLEAN IsWatched
    )
{
    PREADER_OUTLIER_GROUP Group;
    NTSTATUS Status;

    Status = SumFindGroup((PREADER_OUTLIERS)Context, Function, &Group);
    *IsWatched = Group != NULL;
    return Status;
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


_Use_decl_annotations_
BOOLEAN
SumInitializeOutliers(
    PREADER_OUTLIERS Outliers
    )
{
    PREADER_SESSION Session = &Outliers->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;

    ULONG Index;

    SumFindThresholds(Outliers);
    FunctionInitializeFunctions(&Outliers->Functions, Session);
    BaseInitializeMap(&Outliers->PathIndexes, Allocator);
    for (Index = 0; Index < READER_NUMBER_OF_MATCHES; Index++) {
        BaseInitializeMap(&Outliers->Groups[Index].CallerIndexes,
                          Allocator);
        Outliers->Groups[Index].Function = READER_NONE;
    }

    return FunctionInitializeName(&Outliers->Name,
                                  &Outliers->Functions,
                                  "outliers",
                                  Outliers->Options->FirstUtf8);
}


_Use_decl_annotations_
VOID
SumRundownOutliers(
    PREADER_OUTLIERS Outliers
    )
{
    PCALLOCATOR Allocator = Outliers->Session.Context->Allocator;

    ULONG Index;

    for (Index = 0; Index < READER_NUMBER_OF_MATCHES; Index++) {
        SumRundownGroup(Outliers, &Outliers->Groups[Index]);
    }

    FunctionRundownName(&Outliers->Name);
    CoreDestroyArena(Outliers->Arena);
    BaseRundownMap(&Outliers->PathIndexes);
    Allocator->Free(Allocator->Context, Outliers->Paths);
    Allocator->Free(Allocator->Context, Outliers->Slots);
    Allocator->Free(Allocator->Context, Outliers->Children);
    Allocator->Free(Allocator->Context, Outliers->OpenCalls);
    Allocator->Free(Allocator->Context, Outliers->Matches);
    FunctionRundownFunctions(&Outliers->Functions);
}
