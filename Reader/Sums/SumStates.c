/*++

Module Name:

    SumStates.c

Abstract:

    What threads did during the calls of each function, or node of a tree.

    From one event of a thread to the next its innermost call is the one whose
    own time that is; the states in it are that call's own, and become the
    function's when it ends with its exit, or is open at the end.  Nodes are
    found as they were when the tree was built.

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
// Whose sums a call's are.
//

static
ULONG
SumStatesFindSlot(
    _In_ const READER_STATES *States,
    _In_ const CORE_EVENT *Event
    )
{
    const READER_TREE *Tree = States->Tree;
    ULONG Above = READER_ROOT_NODE;
    ULONG Node;

    if (Tree == NULL) {
        return Event->Frame->Function;
    }

    if (Event->Parent != NULL) {
        Above = Event->Parent->Node != 0
                    ? States->Open[Event->Parent->Node - 1].Slot
                    : READER_NONE;
    } else if (Tree->HasTracks) {
        Above = SumQueryTrack(Tree, States->Thread, Event->Track);
    }

    return Above != READER_NONE &&
                   BaseFindInMap(&Tree->Children,
                                 ((ULONGLONG)Above << 32) |
                                     Event->Frame->Function,
                                 &Node)
               ? Node
               : READER_NONE;
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
    ULONG Slot = SumStatesFindSlot(States, Event);
    ULONG Index = States->FreeOpen;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Slot != READER_NONE) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&States->List,
                               &States->CapacityOfList,
                               Slot + 1,
                               sizeof(READER_FUNCTION_STATES));
        if (NT_SUCCESS(Status)) {
            Status = BaseGrowArray(Allocator,
                                   (PVOID *)&States->Active,
                                   &States->CapacityOfActive,
                                   Slot + 1,
                                   sizeof(ULONG));
        }
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
        States->Open[Index - 1].Slot = Slot;
        if (Slot != READER_NONE) {
            States->Active[Slot] += 1;
        }

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
    ULONG Index = Event->Frame->Node;
    PREADER_OPEN_STATES Open;
    ETL_SUMS Sums;
    ULONG Slot;

    if (Index == 0) {
        return;
    }

    Open = &States->Open[Index - 1];
    Slot = Open->Slot;
    if (Slot != READER_NONE) {
        States->Active[Slot] -= 1;
    }

    if (Slot != READER_NONE && Event->Kind != CoreEventAbandoned) {
        SumStatesAdd(&States->List[Slot].Self, &Open->Self);
        if (States->Active[Slot] == 0) {
            EtlQuerySums(&States->Etl->States,
                         States->Thread,
                         Open->Enter,
                         Event->Timestamp,
                         &Sums);
            SumStatesAdd(&States->List[Slot].Total, &Sums);
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
SumStatesReadTree(
    PREADER_STATES States,
    PCREADER_ETL Etl,
    const READER_TREE *Tree,
    PCREADER_OPTIONS Options
    )
{
    RtlZeroBytes(States, sizeof(*States));
    States->Etl = Etl;
    States->Process = READER_NONE;
    States->Tree = Tree;
    States->Walk.Functions = Tree->Functions;
    States->Walk.Range = Tree->Range;
    States->Walk.Options = Options;
    States->Walk.IsSilent = TRUE;
    if (Etl->IsThere) {
        (VOID)SumStatesRead(States);
    }
}


_Use_decl_annotations_
PCREADER_FUNCTION_STATES
SumStatesFind(
    const READER_STATES *States,
    ULONG Slot
    )
{
    static const READER_FUNCTION_STATES Nothing;

    return Slot < States->CapacityOfList ? &States->List[Slot] : &Nothing;
}


_Use_decl_annotations_
VOID
SumStatesAddNode(
    PREADER_FUNCTION_STATES Sums,
    PCREADER_FUNCTION_STATES Node,
    BOOLEAN IsOutermost
    )
{
    SumStatesAdd(&Sums->Self, &Node->Self);
    if (IsOutermost) {
        SumStatesAdd(&Sums->Total, &Node->Total);
    }
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
    PCREADER_FUNCTION_STATES Sums,
    PCREADER_STATISTICS Statistics
    )
{
    if (Statistics->InTrees != 0) {
        SumEtlPutSums(Output, NULL);
        SumEtlPutSums(Output, NULL);
        OutputPutNothing(Output);
        return;
    }

    SumStatesPutSums(Output, &Sums->Total, Statistics->TotalTicks);
    SumStatesPutSums(Output, &Sums->Self, Statistics->SelfTicks);
    OutputPutNumber(Output, Sums->Self.Samples);
}


_Use_decl_annotations_
VOID
SumStatesPutNote(
    PREADER_OUTPUT Output,
    PCREADER_ETL Etl
    )
{
    SumEtlPutNote(Output, Etl);
    if (Etl->IsThere && Etl->Session->NumberOfTrees != 0) {
        OutputPutNote(Output,
                      "Calls in trees have no times of their own: what threads "
                      "did during them is not known.");
    }
}
