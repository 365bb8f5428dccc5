/*++

Module Name:

    CallProbe.c

Abstract:

    Takes what the hooks themselves cost out of the times.

    Of a pair of hooks, a part lies between the two time stamps of its call
    (inner), and the rest in its caller.  A call's own time has its own inner
    part and the rest of each call made directly from it; its total has its own
    inner part and all of every call inside, whoever made it.

    A stream keeps the sum of what all calls entered so far cost.  What a call
    contains is the sum at its end less the sum at its entry, so that nothing
    has to be counted call by call: one number for each open frame, and one
    more for the direct callees.

    Costs are kept in 256ths of a tick until all has been added up.

--*/

#include "../Base/BaseErrors.h"
#include "CallProbe.h"

typedef struct _READER_PROBE_TRACK {
    PCORE_PROBE_FRAME Frames;     // by depth
    ULONG Capacity;
    ULONG Unused;
} READER_PROBE_TRACK;
typedef READER_PROBE_TRACK *PREADER_PROBE_TRACK;

struct _READER_PROBE {
    const READER_SESSION *Session;
    PREADER_PROBE_TRACK Tracks;     // by number
    ULONG NumberOfTracks;
    ULONG CapacityOfTracks;
    ULONGLONG Sum;                  // of all calls entered
};


_Use_decl_annotations_
VOID
CallQueryProbe(
    PCTRACE_STORE_HEADER Header,
    PULONG Inner,
    PULONG Total
    )
{
    *Inner = Header->ProbeInner;
    *Total = Header->ProbeTotal;
    if (*Inner > *Total || Header->Clock != TRACE_CLOCK_TSC) {
        *Inner = 0;
    }
}


_Use_decl_annotations_
BOOLEAN
CallBeginProbe(
    PREADER_SESSION Session,
    PCREADER_OPTIONS Options
    )
{
    PREADER_STORE Store;
    PREADER_MODULE Module;
    BOOLEAN IsKnown = FALSE;
    ULONG Inner;
    ULONG Total;
    ULONG Number;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Header == NULL || Store->Module == READER_NONE) {
            continue;
        }

        Module = Session->Modules[Store->Module];
        CallQueryProbe(Store->Header, &Inner, &Total);
        if (Total != 0 && (Module->ProbeTotal == 0 ||
                           (Module->ProbeInner == 0 && Inner != 0))) {
            Module->ProbeInner = Inner;
            Module->ProbeTotal = Total;
        }

        IsKnown = IsKnown || Module->ProbeInner != 0;
    }

    //
    // A module that only ever took part in other modules' trees has left no
    // header of its own: its hooks are the same.
    //

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Header == NULL || Store->Module == READER_NONE) {
            continue;
        }

        for (Number = 1; Number < Store->NumberOfModules; Number++) {
            Module = Session->Modules[Store->Modules[Number]];
            if (Module->OwnHeader != NULL && Module->ProbeTotal == 0) {
                CallQueryProbe(Store->Header, &Inner, &Total);
                Module->ProbeInner = Inner;
                Module->ProbeTotal = Total;
            }
        }
    }

    if ((Options->Given & READER_OPTION_PROBE) == 0) {
        return TRUE;
    }

    if (Session->NumberOfTrees != 0 &&
        !RtlAreStringsEqual(Options->Command, "hot")) {
        RtlWriteText(Session->Context->Errors,
                     "TraceReader: --subtract-probe: the session's stores hold "
                     "trees: the cost of the hooks cannot be subtracted from "
                     "minima and maxima (hot subtracts it from sums)\n");
        RtlFlushWriter(Session->Context->Errors);
        return FALSE;
    }

    if (!IsKnown || Session->Clock.Kind != TRACE_CLOCK_TSC) {
        BaseFail(Session->Context,
                 "find what the hooks cost, which is measured only with "
                 "TRACER_CLOCK=tsc and without TRACER_MIN_DURATION and "
                 "TRACER_MAX_DEPTH",
                 Options->PathUtf8,
                 STATUS_NOT_FOUND);
        return FALSE;
    }

    Session->IsProbeSubtracted = TRUE;
    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
CallOpenProbe(
    const READER_SESSION *Session,
    PREADER_PROBE *Probe
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;

    *Probe = NULL;
    if (!Session->IsProbeSubtracted) {
        return STATUS_SUCCESS;
    }

    *Probe = (PREADER_PROBE)Allocator->Allocate(Allocator->Context,
                                                sizeof(READER_PROBE));
    if (*Probe == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlZeroBytes(*Probe, sizeof(READER_PROBE));
    (*Probe)->Session = Session;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CallCloseProbe(
    const READER_SESSION *Session,
    PREADER_PROBE Probe
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Index;

    if (Probe == NULL) {
        return;
    }

    for (Index = 0; Index < Probe->NumberOfTracks; Index++) {
        Allocator->Free(Allocator->Context, Probe->Tracks[Index].Frames);
    }

    Allocator->Free(Allocator->Context, Probe->Tracks);
    Allocator->Free(Allocator->Context, Probe);
}


_Use_decl_annotations_
VOID
CallResetProbe(
    PREADER_PROBE Probe
    )
{
    ULONG Index;

    if (Probe == NULL) {
        return;
    }

    Probe->Sum = 0;
    for (Index = 0; Index < Probe->NumberOfTracks; Index++) {
        RtlZeroBytes(Probe->Tracks[Index].Frames,
                     (SIZE_T)Probe->Tracks[Index].Capacity *
                         sizeof(CORE_PROBE_FRAME));
    }
}


//
// Finds the account's part for an event's frame.
// Frame: the part, which is new if it was not there.
//

_Must_inspect_result_
static
NTSTATUS
CallFindProbeFrame(
    _Inout_ PREADER_PROBE Probe,
    _In_ const CORE_EVENT *Event,
    _Out_ PCORE_PROBE_FRAME *Frame
    )
{
    PCALLOCATOR Allocator = Probe->Session->Context->Allocator;
    PREADER_PROBE_TRACK Track;
    NTSTATUS Status;

    if (Event->Track >= 0x80000000u || Event->Depth >= 0x80000000u) {
        return STATUS_NO_MEMORY;
    }

    if (Event->Track >= Probe->NumberOfTracks) {

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Probe->Tracks,
                               &Probe->CapacityOfTracks,
                               Event->Track + 1,
                               sizeof(READER_PROBE_TRACK));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Probe->NumberOfTracks = Event->Track + 1;
    }

    Track = &Probe->Tracks[Event->Track];
    if (Event->Depth >= Track->Capacity) {

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Track->Frames,
                               &Track->Capacity,
                               Event->Depth + 1,
                               sizeof(CORE_PROBE_FRAME));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    *Frame = &Track->Frames[Event->Depth];
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CallAddToProbe(
    PREADER_PROBE Probe,
    PCORE_EVENT Event
    )
{
    PCORE_PROBE_FRAME Frame;
    const READER_MODULE *Module;
    NTSTATUS Status;

    if (Event->Kind == CoreEventUnmatched) {
        return STATUS_SUCCESS;
    }

    Module = Probe->Session->Modules[(ULONG)(Event->Site >> 32)];
    Status = CallFindProbeFrame(Probe, Event, &Frame);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // A cost whose inner part is not known cannot be taken out.
    //

    if (Event->Kind != CoreEventEnter) {
        Event->InclusiveProbe = Module->ProbeInner +
                                (Probe->Sum - Frame->Entered);
        Event->SelfProbe = Module->ProbeInner + Frame->Callees;
        return STATUS_SUCCESS;
    }

    if (Module->ProbeInner != 0) {
        Probe->Sum += Module->ProbeTotal;
    }

    Frame->Entered = Probe->Sum;
    Frame->Callees = 0;
    if (Event->Depth != 0 && Module->ProbeInner != 0) {
        Frame[-1].Callees += Module->ProbeTotal - Module->ProbeInner;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CallBeginProbeRun(
    PREADER_PROBE Probe,
    ULONG Module,
    ULONG Track,
    PCORE_PROBE Run
    )
{
    Run->Frames = NULL;
    Run->Capacity = 0;
    if (Track < Probe->NumberOfTracks) {
        Run->Frames = Probe->Tracks[Track].Frames;
        Run->Capacity = Probe->Tracks[Track].Capacity;
    }

    Run->Module = Module;
    Run->Inner = Probe->Session->Modules[Module]->ProbeInner;
    Run->Total = Probe->Session->Modules[Module]->ProbeTotal;
    Run->Sum = Probe->Sum;
}


_Use_decl_annotations_
VOID
CallEndProbeRun(
    PREADER_PROBE Probe,
    const CORE_PROBE *Run
    )
{
    Probe->Sum = Run->Sum;
}


//
// Subtracts a cost from a time.
// Ticks: the time; 0 afterwards if the cost is larger.
// Cost: in 256ths of a tick.
// Returns the cost in ticks.
//

static
ULONGLONG
CallTakeOut(
    _Inout_ PULONGLONG Ticks,
    _In_ ULONGLONG Cost
    )
{
    ULONGLONG Subtracted = Cost / TRACE_PROBE_UNIT +
                           (Cost % TRACE_PROBE_UNIT >= TRACE_PROBE_UNIT / 2);

    *Ticks = *Ticks > Subtracted ? *Ticks - Subtracted : 0;
    return Subtracted;
}


_Use_decl_annotations_
VOID
CallSubtractProbe(
    const READER_SESSION *Session,
    PREADER_STATISTICS Statistics
    )
{
    ULONGLONG Subtracted;

    if (!Session->IsProbeSubtracted) {
        return;
    }

    Statistics->TotalProbe = CallTakeOut(&Statistics->TotalTicks,
                                         Statistics->TotalProbe);
    Statistics->SelfProbe = CallTakeOut(&Statistics->SelfTicks,
                                        Statistics->SelfProbe);
    Subtracted = Statistics->SumProbe / TRACE_PROBE_UNIT;
    if (Statistics->SumHigh == 0 && Statistics->SumLow < Subtracted) {
        Statistics->SumLow = 0;
    } else {
        Statistics->SumHigh -= Statistics->SumLow < Subtracted;
        Statistics->SumLow -= Subtracted;
    }

    Statistics->SumProbe = Subtracted;
}


_Use_decl_annotations_
VOID
CallPutSubtracted(
    PREADER_OUTPUT Output,
    ULONGLONG Ticks,
    ULONGLONG Probe
    )
{
    static const PCSZ Units[] = { " ns", " us", " ms", " s" };
    RTL_WRITER Writer;
    ULONGLONG Value;
    ULONG Unit = 0;
    ULONG Width;
    CHAR Bound[32];
    CHAR Cell[48];

    if (Output->Format != ReaderFormatText || Output->Clock->IsRaw ||
        Probe == 0 ||
        Ticks >= (Probe + READER_PROBE_NOISE - 1) / READER_PROBE_NOISE) {
        OutputPutNumber(Output, Ticks);
        return;
    }

    //
    // Rounded up to a number of three digits.
    //

    RtlInitializeBufferWriter(&Writer, Bound, sizeof(Bound));
    Value = (Probe + READER_PROBE_NOISE - 1) / READER_PROBE_NOISE;
    if (CoreTicksToNanoseconds(Output->Clock, Value, &Value)) {

        Value += 1;
        while (Value >= 1000 && Unit + 1 < RTL_NUMBER_OF(Units)) {
            Value = (Value + 999) / 1000;
            Unit += 1;
        }

        RtlWriteText(&Writer, "< %llu%s", Value, Units[Unit]);
    } else {
        RtlWriteText(&Writer, "< %llu", Value);
    }

    Width = Output->Table->Columns[Output->Column].Width;
    if (Width > sizeof(Cell)) {
        Width = sizeof(Cell);
    }

    Value = Writer.LengthInBytes;
    RtlInitializeBufferWriter(&Writer, Cell, sizeof(Cell));
    if (Value < Width) {
        RtlWriteText(&Writer, "%*s", (int)(Width - Value), "");
    }

    RtlWriteBytes(&Writer, Bound, (ULONG)Value);
    OutputPutText(Output, Cell, Writer.LengthInBytes);
}


_Use_decl_annotations_
VOID
CallPutProbe(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session,
    PCREADER_STATISTICS Statistics
    )
{
    if (Session->IsProbeSubtracted) {
        OutputPutNumber(Output, Statistics->TotalProbe);
        OutputPutNumber(Output, Statistics->SelfProbe);
    }
}


_Use_decl_annotations_
VOID
CallWriteProbe(
    PRTL_WRITER Writer,
    PCCORE_CLOCK Clock,
    ULONG Cost
    )
{
    ULONGLONG Tenths = (ULONGLONG)Cost * 10;

    if (Clock->Ticks != 0) {
        Tenths = CoreMultiplyDivide(Tenths, Clock->Nanoseconds, Clock->Ticks);
    }

    Tenths = (Tenths + TRACE_PROBE_UNIT / 2) / TRACE_PROBE_UNIT;
    RtlWriteText(Writer,
                 "%llu.%llu %s",
                 Tenths / 10,
                 Tenths % 10,
                 Clock->Ticks != 0 ? "ns" : "ticks");
}


_Use_decl_annotations_
VOID
CallPutProbeNote(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session
    )
{
    const READER_MODULE *Module;
    READER_NOTE Note;
    ULONG Index;

    if (!Session->IsProbeSubtracted || Output->Format != ReaderFormatText) {
        return;
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        Module = Session->Modules[Index];
        OutputBeginNote(&Note);
        RtlWriteText(&Note.Writer, "The hooks' own cost ");
        if (Session->NumberOfModules > 1) {
            RtlWriteText(&Note.Writer, "in ");
            RtlWriteCleanText(&Note.Writer, Module->Name, Module->NameLength);
            RtlWriteText(&Note.Writer, " ");
        }

        if (Module->ProbeInner == 0) {
            RtlWriteText(&Note.Writer,
                         "is not known and is included in the times.");
        } else {
            RtlWriteText(&Note.Writer, "is subtracted: ");
            CallWriteProbe(&Note.Writer, &Session->Clock, Module->ProbeInner);
            RtlWriteText(&Note.Writer, " from each call, and ");
            CallWriteProbe(&Note.Writer,
                           &Session->Clock,
                           Module->ProbeTotal - Module->ProbeInner);
            RtlWriteText(&Note.Writer, " more from its callers.");
        }

        OutputEndNote(Output, &Note);
    }
}
