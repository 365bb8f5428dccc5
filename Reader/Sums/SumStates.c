/*++

Module Name:

    SumStates.c

Abstract:

    What threads did during the calls of each function.

    From one event of a thread to the next its innermost call is the one whose
    own time that is; the states in it are that call's own, and become the
    function's when it ends with its exit, or is open at the end.

--*/

#include "SumStates.h"


static
VOID
SumStatesAdd(
    _Inout_ PETL_SUMS Sums,
    _In_ PCETL_SUMS More
    )
{
    Sums->Running += More->Running;
    Sums->Ready += More->Ready;
    Sums->Waiting += More->Waiting;
    Sums->Samples += More->Samples;
}


//
// Begins a call.
//

_Must_inspect_result_
static
NTSTATUS
SumStatesEnter(
    _Inout_ PREADER_STATES States,
    _In_ const CORE_EVENT *Event
    )
{
    PCALLOCATOR Allocator = States->Etl->Session->Context->Allocator;
    ULONG Function = Event->Frame->Function;
    ULONG Index = States->FreeOpen;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&States->List,
                           &States->CapacityOfList,
                           Function + 1,
                           sizeof(READER_FUNCTION_STATES));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&States->Active,
                               &States->CapacityOfActive,
                               Function + 1,
                               sizeof(ULONG));
    }

    if (NT_SUCCESS(Status) && Index == 0) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&States->Open,
                               &States->CapacityOfOpen,
                               States->NumberOfOpen + 1,
                               sizeof(READER_OPEN_STATES));
        if (NT_SUCCESS(Status)) {
            States->NumberOfOpen += 1;
            Index = States->NumberOfOpen;
        }
    } else if (NT_SUCCESS(Status)) {
        States->FreeOpen = States->Open[Index - 1].NextFree;
    }

    if (NT_SUCCESS(Status)) {
        RtlZeroBytes(&States->Open[Index - 1], sizeof(READER_OPEN_STATES));
        States->Open[Index - 1].Enter = Event->Timestamp;
        States->Active[Function] += 1;
        Event->Frame->Node = Index;
    }

    return Status;
}


//
// Ends a call. What was abandoned is in no sum, as in reports.
//

static
VOID
SumStatesLeave(
    _Inout_ PREADER_STATES States,
    _In_ const CORE_EVENT *Event
    )
{
    ULONG Function = Event->Frame->Function;
    ULONG Index = Event->Frame->Node;
    PREADER_OPEN_STATES Open;
    ETL_SUMS Sums;

    if (Index == 0) {
        return;
    }

    Open = &States->Open[Index - 1];
    States->Active[Function] -= 1;
    if (Event->Kind != CoreEventAbandoned) {
        SumStatesAdd(&States->List[Function].Self, &Open->Self);
        if (States->Active[Function] == 0) {
            EtlQuerySums(&States->Etl->States,
                         States->Thread,
                         Open->Enter,
                         Event->Timestamp,
                         &Sums);
            SumStatesAdd(&States->List[Function].Total, &Sums);
        }
    }

    Open->NextFree = States->FreeOpen;
    States->FreeOpen = Index;
    Event->Frame->Node = 0;
}


_Use_decl_annotations_
static
NTSTATUS
SumStatesEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
{
    PREADER_STATES States = (PREADER_STATES)Walk->Context;
    const READER_SESSION *Session = States->Etl->Session;
    PCORE_FRAME Frame;
    ETL_SUMS Sums;
    NTSTATUS Status = STATUS_SUCCESS;

    (VOID)IsBegunBefore;
    if (States->Process != READER_NONE &&
        Session->Threads[Walk->Thread].Process != States->Process) {
        return STATUS_SUCCESS;
    }

    if (States->Thread != Walk->Thread) {

        States->Thread = Walk->Thread;
        States->Current = 0;
        States->NumberOfOpen = 0;
        States->FreeOpen = 0;
        if (States->Active != NULL) {
            RtlZeroBytes(States->Active,
                         States->CapacityOfActive * sizeof(ULONG));
        }
    }

    if (States->Current != 0 && States->LastTimestamp < Event->Timestamp) {
        EtlQuerySums(&States->Etl->States,
                     States->Thread,
                     States->LastTimestamp,
                     Event->Timestamp,
                     &Sums);
        SumStatesAdd(&States->Open[States->Current - 1].Self, &Sums);
    }

    States->LastTimestamp = Event->Timestamp;
    if (Event->Kind == CoreEventEnter) {
        Status = SumStatesEnter(States, Event);
    } else if (Event->Kind != CoreEventUnmatched) {
        SumStatesLeave(States, Event);
    }

    Frame = CoreCurrentFrame(&Walk->Stream->Pair);
    States->Current = Frame != NULL ? Frame->Node : 0;
    return Status;
}


_Use_decl_annotations_
ULONG
SumStatesRead(
    PREADER_STATES States
    )
{
    States->Thread = READER_NONE;
    States->Walk.Event = SumStatesEvent;
    States->Walk.Context = States;
    return CallWalkThreads(&States->Walk);
}


_Use_decl_annotations_
VOID
SumStatesRundown(
    PREADER_STATES States
    )
{
    PCALLOCATOR Allocator;

    if (States->Etl == NULL) {
        return;
    }

    Allocator = States->Etl->Session->Context->Allocator;
    Allocator->Free(Allocator->Context, States->List);
    Allocator->Free(Allocator->Context, States->Active);
    Allocator->Free(Allocator->Context, States->Open);
    States->List = NULL;
    States->Active = NULL;
    States->Open = NULL;
    States->CapacityOfList = 0;
    States->CapacityOfActive = 0;
    States->CapacityOfOpen = 0;
    States->NumberOfOpen = 0;
    States->FreeOpen = 0;
}


//
// What is left of a time is unknown.
//

static
VOID
SumStatesPutSums(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCETL_SUMS Found,
    _In_ ULONGLONG Ticks
    )
{
    READER_STATE_SUMS Sums;
    ULONGLONG Known = Found->Running + Found->Ready + Found->Waiting;

    Sums.Running = Found->Running;
    Sums.Ready = Found->Ready;
    Sums.Waiting = Found->Waiting;
    Sums.Unknown = Ticks > Known ? Ticks - Known : 0;
    SumEtlPutSums(Output, &Sums);
}


_Use_decl_annotations_
VOID
SumStatesPut(
    PREADER_OUTPUT Output,
    const READER_STATES *States,
    ULONG Function,
    PCREADER_STATISTICS Statistics
    )
{
    static const READER_FUNCTION_STATES Nothing;
    PCREADER_FUNCTION_STATES This = &Nothing;

    if (Statistics->InTrees != 0) {
        SumEtlPutSums(Output, NULL);
        SumEtlPutSums(Output, NULL);
        OutputPutNothing(Output);
        return;
    }

    if (Function < States->CapacityOfList) {
        This = &States->List[Function];
    }

    SumStatesPutSums(Output, &This->Total, Statistics->TotalTicks);
    SumStatesPutSums(Output, &This->Self, Statistics->SelfTicks);
    OutputPutNumber(Output, This->Self.Samples);
}
