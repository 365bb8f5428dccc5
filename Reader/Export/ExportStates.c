/*++

Module Name:

    ExportStates.c

Abstract:

    What threads did, from an event trace log, beside their calls.

    The changes of all threads are put in order before the walk begins: their
    number is bounded by the log's events.  What the log does not say is a gap,
    and so is time in which recording was stopped.

--*/

#include "../Session/SessionDescribe.h"
#include "ExportStates.h"
#include "ExportTracks.h"


_Use_decl_annotations_
PCSZ
ExportNameState(
    ULONG State
    )
{
    return State == EtlStateRunning ? "Running"
           : State == EtlStateReady ? "Ready"
                                    : "Waiting";
}


_Must_inspect_result_
static
NTSTATUS
ExportAddChange(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONGLONG Timestamp,
    _In_ ULONG Thread,
    _In_ ULONG Span
    )
{
    READER_EXPORT_STATES *States = Events->States;
    PREADER_STATE_CHANGE Change;
    NTSTATUS Status;

    if (States->NumberOfChanges >= 0x40000000u) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(Events->Export->Context->Allocator,
                           (PVOID *)&States->Changes,
                           &States->CapacityOfChanges,
                           States->NumberOfChanges + 1,
                           sizeof(READER_STATE_CHANGE));
    if (NT_SUCCESS(Status)) {
        Change = &States->Changes[States->NumberOfChanges];
        Change->Timestamp = Timestamp;
        Change->Thread = Thread;
        Change->Span = Span;
        States->NumberOfChanges += 1;
    }

    return Status;
}


//
// Finds the changes of a thread: its first state begins with its first record,
// its last one ends with its last record.
//

_Must_inspect_result_
static
NTSTATUS
ExportAddChanges(
    _Inout_ PREADER_EVENTS Events,
    _In_ ULONG Thread
    )
{
    PREADER_EXPORT Export = Events->Export;
    PCETL_THREAD Known = &Export->Etl->States.Threads[Thread];
    ULONGLONG First;
    ULONGLONG Last;
    ULONGLONG Start;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    SessionQueryThreadSpan(&Export->Session, Thread, &First, &Last);
    First = First > Export->Range.Start ? First : Export->Range.Start;
    Last = Last < Export->Range.End ? Last : Export->Range.End;
    if (Known->NumberOfSpans == 0 || First >= Last) {
        return STATUS_SUCCESS;
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Known->NumberOfSpans &&
         Known->Spans[Index].Start < Last;
         Index++) {

        Start = Known->Spans[Index].Start;
        if (Index + 1 < Known->NumberOfSpans &&
            Known->Spans[Index + 1].Start <= First) {
            continue;
        }

        Status = ExportAddChange(Events,
                                 Start > First ? Start : First,
                                 Thread,
                                 Index);
    }

    return NT_SUCCESS(Status)
               ? ExportAddChange(Events, Last, Thread, READER_NONE)
               : Status;
}


//
// Orders changes by time; a thread's are in order already.
//

static
LONG
ExportCompareChanges(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    const READER_EXPORT_STATES *States = CompareContext;
    ULONGLONG One = States->Changes[First].Timestamp;
    ULONGLONG Other = States->Changes[Second].Timestamp;

    return One < Other ? -1 : One > Other ? 1 : First < Second ? -1 : 1;
}


_Use_decl_annotations_
NTSTATUS
ExportBeginStates(
    PREADER_EVENTS Events
    )
{
    PREADER_EXPORT Export = Events->Export;
    PCALLOCATOR Allocator = Export->Context->Allocator;
    READER_EXPORT_STATES *States;
    ULONG Thread;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    if (Export->Etl == NULL || !Export->Etl->IsThere) {
        return STATUS_SUCCESS;
    }

    States = (READER_EXPORT_STATES *)
        Allocator->Allocate(Allocator->Context, sizeof(*States));
    if (States == NULL) {
        return STATUS_NO_MEMORY;
    }

    Events->States = States;
    States->Tracks = (PREADER_STATE_TRACK)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Export->Session.NumberOfThreads + 1) *
            sizeof(READER_STATE_TRACK));
    if (States->Tracks == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Thread = 0;
         NT_SUCCESS(Status) && Thread < Export->Session.NumberOfThreads;
         Thread++) {
        if (Export->Session.Threads[Thread].Same == Thread &&
            READER_IS_THREAD_SELECTED(
                Export->Options,
                Export->Session.Threads[Thread].ThreadId)) {
            Status = ExportAddChanges(Events, Thread);
        }
    }

    if (NT_SUCCESS(Status)) {
        States->Order = (PULONG)Allocator->Allocate(
            Allocator->Context,
            ((SIZE_T)States->NumberOfChanges + 1) * sizeof(ULONG));
        if (States->Order == NULL) {
            return STATUS_NO_MEMORY;
        }

        for (Index = 0; Index < States->NumberOfChanges; Index++) {
            States->Order[Index] = Index;
        }

        BaseSort(States->Order,
                 States->NumberOfChanges,
                 ExportCompareChanges,
                 States);
    }

    return Status;
}


_Use_decl_annotations_
VOID
ExportRundownStates(
    PREADER_EVENTS Events
    )
{
    PCALLOCATOR Allocator = Events->Export->Context->Allocator;

    if (Events->States != NULL) {
        Allocator->Free(Allocator->Context, Events->States->Changes);
        Allocator->Free(Allocator->Context, Events->States->Order);
        Allocator->Free(Allocator->Context, Events->States->Tracks);
        Allocator->Free(Allocator->Context, Events->States);
        Events->States = NULL;
    }
}


//
// Gives the format a state that ends at the walk's time.
//

static
VOID
ExportPutState(
    _Inout_ PREADER_EVENTS Events,
    _Inout_ PREADER_STATE_TRACK This
    )
{
    if (This->Now.Start >= Events->Time) {
        return;
    }

    if (This->Track->Part != Events->Part) {
        This->Track->Part = Events->Part;
        Events->Format->BeginTrack(Events, This->Track);
    }

    This->Now.End = Events->Time;
    Events->Format->State(Events, This->Track, &This->Now);
    Events->EventsInPart += 1;
    Events->NumberOfEvents += 1;
}


//
// Ends what a thread did, and begins what it does from now on.
//

static
VOID
ExportChangeState(
    _Inout_ PREADER_EVENTS Events,
    _In_ const READER_STATE_CHANGE *Change
    )
{
    PREADER_EXPORT Export = Events->Export;
    PREADER_STATE_TRACK This = &Events->States->Tracks[Change->Thread];
    PCETL_SPAN Span;
    NTSTATUS Status;

    if (This->Now.State != EtlStateUnknown) {
        ExportPutState(Events, This);
        This->Now.State = EtlStateUnknown;
    }

    if (Change->Span == READER_NONE) {
        return;
    }

    Span = &Export->Etl->States.Threads[Change->Thread].Spans[Change->Span];
    if (Span->State != EtlStateRunning && Span->State != EtlStateReady &&
        Span->State != EtlStateWaiting) {
        return;
    }

    if (This->Track == NULL) {
        Status = ExportAddTrack(Events,
                                Change->Thread,
                                0,
                                TRUE,
                                &This->Track);
        if (!NT_SUCCESS(Status)) {
            READER_KEEP_STATUS(Events, Status);
            return;
        }
    }

    This->Now.State = Span->State;
    This->Now.Reason = SumEtlNameReason(Span);
    This->Now.Start = Events->Time;
}


_Use_decl_annotations_
VOID
ExportPutStates(
    PREADER_EVENTS Events,
    ULONGLONG Timestamp
    )
{
    READER_EXPORT_STATES *States = Events->States;
    const READER_STATE_CHANGE *Change;

    while (States != NULL && States->Next < States->NumberOfChanges &&
           !ExportHasFailed(Events)) {

        Change = &States->Changes[States->Order[States->Next]];
        if (Change->Timestamp > Timestamp) {
            break;
        }

        States->Next += 1;
        ExportSetEventTime(Events, Change->Timestamp);
        ExportChangeState(Events, Change);
    }
}


_Use_decl_annotations_
VOID
ExportBreakStates(
    PREADER_EVENTS Events
    )
{
    PREADER_STATE_TRACK This;
    ULONG Thread;

    for (Thread = 0;
         Events->States != NULL &&
         Thread < Events->Export->Session.NumberOfThreads;
         Thread++) {

        This = &Events->States->Tracks[Thread];
        if (This->Now.State != EtlStateUnknown) {
            ExportPutState(Events, This);
            This->Now.Start = Events->Time;
        }
    }
}
