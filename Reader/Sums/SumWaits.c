/*++

Module Name:

    SumWaits.c

Abstract:

    What a session's threads waited for.  Only events of functions that wait
    are looked at; the fast way takes everything else.

    A call that waits inside another one is not counted: it is the same wait.

--*/

#include "../Base/BaseErrors.h"
#include "../Calls/CallRead.h"
#include "../Calls/CallVisit.h"
#include "../Functions/FunctionStub.h"
#include "SumWaits.h"

//
// What a frame's field Node says of a call that waits: whether it is inside
// another one.
//

#define READER_WAIT_OUTERMOST   1u
#define READER_WAIT_INSIDE      2u

//
// So many frames are looked at for a function with hooks, so that reading
// takes no longer than there is to read.
//

#define READER_WAIT_REACH 1024u


//
// Finds a sum, and adds it if it is not there.
//

_Must_inspect_result_
static
NTSTATUS
SumFindWaits(
    _In_ PREADER_WAITED Waited,
    _Inout_ PREADER_WAIT_LIST List,
    _In_ ULONGLONG Key,
    _Out_ PREADER_WAIT_SUM *Sum
    )
{
    PCALLOCATOR Allocator = Waited->Session->Context->Allocator;
    ULONG Index;
    NTSTATUS Status;

    *Sum = NULL;
    if (!BaseFindInMap(&List->Indexes, Key, &Index)) {

        Index = List->NumberOfSums;
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&List->Sums,
                               &List->CapacityOfSums,
                               Index + 1,
                               sizeof(READER_WAIT_SUM));
        if (NT_SUCCESS(Status)) {
            Status = BaseAddToMap(&List->Indexes, Key, Index);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        List->NumberOfSums += 1;
        List->Sums[Index].Function = READER_NONE;
        List->Sums[Index].Caller = READER_NONE;
        List->Sums[Index].Thread = READER_NONE;
    }

    *Sum = &List->Sums[Index];
    return STATUS_SUCCESS;
}


//
// Adds calls to a sum.
// Calls: what they are; of one call its time is the total.
//

_Must_inspect_result_
static
NTSTATUS
SumAddWaits(
    _In_ PREADER_WAITED Waited,
    _Inout_ PREADER_WAIT_SUM Sum,
    _In_ PCREADER_WAIT_SUM Calls
    )
{
    Sum->Calls += Calls->Calls;
    Sum->TotalTicks += Calls->TotalTicks;
    Sum->Unfinished += Calls->Unfinished;
    Sum->InTrees += Calls->InTrees;
    if (Sum->MaximumTicks < Calls->MaximumTicks) {
        Sum->MaximumTicks = Calls->MaximumTicks;
    }

    Sum->Kind = Calls->Kind;
    return Calls->InTrees != 0 ? STATUS_SUCCESS
                               : CoreAddToHistogram(&Sum->Histogram,
                                                    Waited->Arena,
                                                    Calls->TotalTicks);
}


//
// What several modules import is one function.
//

_Must_inspect_result_
static
NTSTATUS
SumFindWaitAlike(
    _Inout_ PREADER_WAITED Waited,
    _Inout_ PULONG Function
    )
{
    PCREADER_FUNCTION This = &Waited->Functions->Functions[*Function];
    ULONGLONG Key = ((ULONGLONG)This->Module << 32) | This->FirstRva;

    if (!This->IsStub || BaseFindInMap(&Waited->Alike, Key, Function)) {
        return STATUS_SUCCESS;
    }

    return BaseAddToMap(&Waited->Alike, Key, *Function);
}


//
// Adds calls by all that they are added by.
//

_Must_inspect_result_
static
NTSTATUS
SumTakeWaits(
    _Inout_ PREADER_WAITED Waited,
    _Inout_ PREADER_WAIT_SUM Calls
    )
{
    const ULONG Thread = Waited->Session->Threads[Calls->Thread].Same;
    PREADER_WAIT_SUM Sum;
    NTSTATUS Status;

    Status = SumFindWaitAlike(Waited, &Calls->Function);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = SumFindWaits(Waited,
                          &Waited->ByFunction,
                          Calls->Function,
                          &Sum);
    if (NT_SUCCESS(Status)) {
        Sum->Function = Calls->Function;
        Status = SumAddWaits(Waited, Sum, Calls);
    }

    if (NT_SUCCESS(Status)) {
        Status = SumFindWaits(Waited,
                              &Waited->ByCaller,
                              (ULONGLONG)Calls->Caller << 32 | Calls->Function,
                              &Sum);
    }

    if (NT_SUCCESS(Status)) {
        Sum->Function = Calls->Function;
        Sum->Caller = Calls->Caller;
        Status = SumAddWaits(Waited, Sum, Calls);
    }

    if (NT_SUCCESS(Status)) {
        Status = SumFindWaits(Waited,
                              &Waited->ByThread,
                              (ULONGLONG)Thread << 32 | Calls->Kind,
                              &Sum);
    }

    if (NT_SUCCESS(Status)) {
        Sum->Thread = Thread;
        Status = SumAddWaits(Waited, Sum, Calls);
    }

    return Status;
}


//
// Says whether a function's calls are looked at.
// Function: its index in the tally.
//

_Use_decl_annotations_
static
NTSTATUS
SumWatchWaits(
    PVOID Context,
    ULONG Function,
    PBOOLEAN IsWatched
    )
{
    PREADER_WAITED Waited = (PREADER_WAITED)Context;
    const READER_TALLY *Tally = &Waited->Reading.Tallies[0];

    *IsWatched =
        Waited->Functions->Functions[Tally->List[Function].Function].Wait !=
        ReaderWaitNone;
    return STATUS_SUCCESS;
}


//
// Takes a call that was entered, or was open when the range began.
// Frame: its frame, whose Function is the tally's index.
//

_Must_inspect_result_
static
NTSTATUS
SumEnterWait(
    _Inout_ PREADER_WAITED Waited,
    _In_ ULONG Track,
    _Inout_ PCORE_FRAME Frame
    )
{
    BOOLEAN IsWatched;
    NTSTATUS Status;

    Frame->Node = 0;
    Status = SumWatchWaits(Waited, Frame->Function, &IsWatched);
    if (!NT_SUCCESS(Status) || !IsWatched) {
        return Status;
    }

    if (Track >= 0x80000000u) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(Waited->Session->Context->Allocator,
                           (PVOID *)&Waited->Depths,
                           &Waited->CapacityOfDepths,
                           Track + 1,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status)) {
        Frame->Node = Waited->Depths[Track] == 0 ? READER_WAIT_OUTERMOST
                                                 : READER_WAIT_INSIDE;
        Waited->Depths[Track] += 1;
    }

    return Status;
}


_Use_decl_annotations_
static
NTSTATUS
SumOpenWait(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    PREADER_WAITED Waited = (PREADER_WAITED)Context;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Stream);
    UNREFERENCED_PARAMETER(Depth);

    Status = CallAddFunctionToTally(&Waited->Reading.Tallies[0],
                                    Frame->Function,
                                    &Frame->Function);
    return NT_SUCCESS(Status) ? SumEnterWait(Waited, Track, Frame) : Status;
}


//
// For whom what is called in a stub waits, if no function with hooks is around
// it: for the module that called the stub.
// Around: for whom a call beside it would wait.
//

static
ULONG
SumPassWaitCaller(
    _In_ PCREADER_FUNCTION Stub,
    _In_ ULONG Around
    )
{
    return Stub->Importer != 0 && Around >= READER_CALLING_MODULE
               ? READER_MAKE_CALLING_MODULE(Stub->Importer)
               : Around;
}


//
// Finds for whom a call waited: the nearest function with hooks around it, or
// without one the module that has called, if it was by an import.
//

static
ULONG
SumFindWaitCaller(
    _In_ const READER_WAITED *Waited,
    _In_ const CORE_EVENT *Event
    )
{
    const READER_TALLY *Tally = &Waited->Reading.Tallies[0];
    const CORE_FRAME *Frame = Event->Frame;
    PCREADER_FUNCTION Functions = Waited->Functions->Functions;
    ULONG Function = Tally->List[Frame->Function].Function;
    ULONG Caller = SumPassWaitCaller(&Functions[Function], READER_NONE);
    ULONG Depth;

    for (Depth = Event->Depth;
         Depth != 0 && Event->Depth - Depth < READER_WAIT_REACH;
         Depth--) {

        Frame -= 1;
        Function = Tally->List[Frame->Function].Function;
        if (!Functions[Function].IsStub) {
            return Function;
        }

        if (Caller == READER_NONE) {
            Caller = SumPassWaitCaller(&Functions[Function], READER_NONE);
        }
    }

    return Caller;
}


//
// Adds a call that has ended, if it has waited.
//

_Must_inspect_result_
static
NTSTATUS
SumEndWait(
    _Inout_ PREADER_WAITED Waited,
    _In_ const CORE_EVENT *Event
    )
{
    const READER_TALLY *Tally = &Waited->Reading.Tallies[0];
    READER_WAIT_SUM Call;

    RtlZeroBytes(&Call, sizeof(Call));
    Call.Function = Tally->List[Event->Frame->Function].Function;
    Call.Kind = (READER_WAIT_KIND)
        Waited->Functions->Functions[Call.Function].Wait;
    if (Event->Kind == CoreEventAbandoned ||
        (Call.Kind == ReaderWaitLock &&
         Event->InclusiveTicks < Waited->Session->ContentionTicks)) {
        return STATUS_SUCCESS;
    }

    Call.Calls = 1;
    Call.TotalTicks = Event->InclusiveTicks;
    Call.MaximumTicks = Event->InclusiveTicks;
    Call.Unfinished = Event->Kind == CoreEventOpen;
    Call.Caller = SumFindWaitCaller(Waited, Event);
    Call.Thread = Tally->Thread;
    return SumTakeWaits(Waited, &Call);
}


_Use_decl_annotations_
static
NTSTATUS
SumWaitEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    PREADER_WAITED Waited = (PREADER_WAITED)Context;
    NTSTATUS Status = STATUS_SUCCESS;

    UNREFERENCED_PARAMETER(Stream);

    if (Event->Kind == CoreEventUnmatched) {
        return STATUS_SUCCESS;
    }

    if (Event->Kind == CoreEventEnter) {
        Event->Frame->Function = Waited->Reading.Tallies[0].LastIndex;
        return SumEnterWait(Waited, Event->Track, Event->Frame);
    }

    if (Event->Frame->Node != 0) {

        if (Event->Frame->Node == READER_WAIT_OUTERMOST) {
            Status = SumEndWait(Waited, Event);
        }

        Waited->Depths[Event->Track] -= 1;
        Event->Frame->Node = 0;
    }

    return Status;
}


//
// Adds a node of a thread's tree.
// Node: the node, whose value is its place's index + 1.
//

_Use_decl_annotations_
static
NTSTATUS
SumWaitNode(
    PVOID Context,
    PREADER_TREE_NODE Node
    )
{
    PREADER_WAITED Waited = (PREADER_WAITED)Context;
    PCREADER_FUNCTION Function = &Waited->Functions->Functions[Node->Function];
    READER_STATISTICS Statistics;
    READER_WAIT_PLACE Above = { READER_NONE, FALSE };
    PREADER_WAIT_PLACE Place;
    READER_WAIT_SUM Calls;
    ULONGLONG Ticks;
    NTSTATUS Status;

    Status = BaseGrowArray(Waited->Session->Context->Allocator,
                           (PVOID *)&Waited->Places,
                           &Waited->CapacityOfPlaces,
                           Waited->NumberOfPlaces + 1,
                           sizeof(READER_WAIT_PLACE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Node->ValueAbove != 0) {
        Above = Waited->Places[Node->ValueAbove - 1];
    }

    Place = &Waited->Places[Waited->NumberOfPlaces];
    Waited->NumberOfPlaces += 1;
    Node->Value = Waited->NumberOfPlaces;
    Place->Caller = Function->IsStub
                        ? SumPassWaitCaller(Function, Above.Caller)
                        : Node->Function;
    Place->IsInside = Above.IsInside || Function->Wait != ReaderWaitNone;
    CoreGetNodeStatistics(Node->Node, &Statistics);
    if (Above.IsInside || Function->Wait == ReaderWaitNone ||
        Statistics.Calls == Statistics.Abandoned || Node->WaitedTicks == 0) {
        return STATUS_SUCCESS;
    }

    //
    // Of a lock's node it may be only the longest call.  Abandoned calls are
    // in no sum of the function's own.
    //

    Ticks = Node->WaitedTicks;
    if (Ticks > Statistics.TotalTicks) {
        Ticks = Statistics.TotalTicks;
    }

    RtlZeroBytes(&Calls, sizeof(Calls));
    Calls.Function = Node->Function;
    Calls.Kind = (READER_WAIT_KIND)Function->Wait;
    Calls.Calls = Ticks < Statistics.TotalTicks
                      ? 1
                      : Statistics.Calls - Statistics.Abandoned +
                            Statistics.AbandonedInTotal;
    Calls.InTrees = Calls.Calls;
    Calls.TotalTicks = Ticks;
    Calls.MaximumTicks = Statistics.MaximumTicks;
    Calls.Unfinished = Statistics.Unfinished;
    Calls.Caller = Function->IsStub ? Place->Caller : Above.Caller;
    Calls.Thread = Waited->Reading.Tallies[0].Thread;
    return SumTakeWaits(Waited, &Calls);
}


_Use_decl_annotations_
static
NTSTATUS
SumWaitTrees(
    PVOID Context,
    ULONG ThreadIndex
    )
{
    PREADER_WAITED Waited = (PREADER_WAITED)Context;

    Waited->NumberOfPlaces = 0;
    return Waited->Range->HasTrees ? CallVisitTrees(Waited->Functions,
                                                    ThreadIndex,
                                                    SumWaitNode,
                                                    NULL,
                                                    Waited)
                                   : STATUS_SUCCESS;
}


_Use_decl_annotations_
static
NTSTATUS
SumReadThreadOfWaits(
    PVOID Context,
    ULONG Worker,
    ULONG Thread
    )
{
    static const READER_VISITOR Visitor = {
        SumOpenWait,
        SumWaitEvent,
        SumWaitTrees
    };
    PREADER_WAITED Waited = (PREADER_WAITED)Context;

    RtlZeroBytes(Waited->Depths,
                 (SIZE_T)Waited->CapacityOfDepths * sizeof(ULONG));
    return CallReadThread(&Waited->Reading.Tallies[Worker],
                          Thread,
                          &Visitor,
                          Waited);
}


_Use_decl_annotations_
ULONG
SumReadWaits(
    PREADER_WAITED Waited
    )
{
    PCREADER_CONTEXT Context = Waited->Session->Context;
    PREADER_READING Reading = &Waited->Reading;
    NTSTATUS Status;

    BaseInitializeMap(&Waited->Alike, Context->Allocator);
    BaseInitializeMap(&Waited->ByFunction.Indexes, Context->Allocator);
    BaseInitializeMap(&Waited->ByCaller.Indexes, Context->Allocator);
    BaseInitializeMap(&Waited->ByThread.Indexes, Context->Allocator);
    Waited->Arena = CoreCreateArena(Context->Allocator);
    Reading->Functions = Waited->Functions;
    Reading->Options = Waited->Options;
    Reading->Range = Waited->Range;
    Reading->Process = READER_NONE;
    Reading->Read = SumReadThreadOfWaits;
    Reading->Context = Waited;
    Status = Waited->Arena != NULL ? SumInitializeReading(Reading)
                                   : STATUS_NO_MEMORY;
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        Waited->Options->Command,
                        Waited->Options->PathUtf8,
                        Status);
    }

    Reading->Tallies[0].Watch = SumWatchWaits;
    Reading->Tallies[0].WatchContext = Waited;
    Reading->Tallies[0].IsGeneral =
        (Waited->Options->Given & READER_OPTION_GENERAL) != 0;
    Reading->Tallies[1].IsGeneral = Reading->Tallies[0].IsGeneral;
    return SumReadThreads(Reading);
}


//
// Orders sums by their totals, then as they came up.
// CompareContext: the list.
// Returns negative, zero or positive.
//

static
LONG
SumCompareWaits(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCREADER_WAIT_LIST List = (PCREADER_WAIT_LIST)CompareContext;
    ULONGLONG FirstTicks = List->Sums[First].TotalTicks;
    ULONGLONG SecondTicks = List->Sums[Second].TotalTicks;

    if (FirstTicks != SecondTicks) {
        return FirstTicks > SecondTicks ? -1 : 1;
    }

    return First < Second ? -1 : First != Second;
}


_Use_decl_annotations_
VOID
SumSortWaits(
    PCREADER_WAIT_LIST List,
    PULONG Order
    )
{
    ULONG Index;

    for (Index = 0; Index < List->NumberOfSums; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order, List->NumberOfSums, SumCompareWaits, (PVOID)List);
}


_Use_decl_annotations_
VOID
SumRundownWaits(
    PREADER_WAITED Waited
    )
{
    PCALLOCATOR Allocator = Waited->Session->Context->Allocator;

    BaseRundownMap(&Waited->Alike);
    BaseRundownMap(&Waited->ByFunction.Indexes);
    BaseRundownMap(&Waited->ByCaller.Indexes);
    BaseRundownMap(&Waited->ByThread.Indexes);
    Allocator->Free(Allocator->Context, Waited->ByFunction.Sums);
    Allocator->Free(Allocator->Context, Waited->ByCaller.Sums);
    Allocator->Free(Allocator->Context, Waited->ByThread.Sums);
    Allocator->Free(Allocator->Context, Waited->Depths);
    Allocator->Free(Allocator->Context, Waited->Places);
    CoreDestroyArena(Waited->Arena);
    SumRundownReading(&Waited->Reading);
}
