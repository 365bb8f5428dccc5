/*++

Module Name:

    KernelProbe.c

Abstract:

    Measures what a pair of hooks costs, in the driver's own rings, before they
    are seen by anybody.

--*/

#include "Kernel.h"

#define PROBE_PAIRS             8
#define PROBE_BATCHES           64
#define PROBE_FAILED            0xFFFFFFFFu

//
// What all rings have together, and the ring that has grown.
//

static
ULONG
KernelProbeFindRing(
    _In_ const KERNEL_STATE *State,
    _Inout_updates_(1) PULONGLONG Total
    )
{
    ULONGLONG Sum;
    ULONG Found;
    ULONG Index;

    Sum = 0;
    Found = PROBE_FAILED;
    for (Index = 0; Index < State->NumberOfRings; Index += 1) {
        Sum += State->Rings[Index].Reserved;
        if (State->Rings[Index].Reserved >= 2 * PROBE_PAIRS) {
            Found = Index;
        }
    }
    *Total = Sum;
    return Found;
}

//
// Makes the rings empty that the hooks have used.
//

static
VOID
KernelProbeClearRings(
    _In_ const TRACE_KERNEL_HEADER *Header,
    _Inout_ PKERNEL_STATE State
    )
{
    ULONG Ring;

    for (Ring = 0; Ring < State->NumberOfRings; Ring += 1) {
        if (State->Rings[Ring].Reserved != 0) {
            KernelTextFill(State->Records + Ring * Header->RecordsPerRing,
                           2 * PROBE_PAIRS * sizeof(TRACE_KERNEL_RECORD));
            KernelTextFill(&State->Rings[Ring], sizeof(TRACE_KERNEL_RING));
        }
    }
}

//
// Makes the tables empty.
//

static
VOID
KernelProbeClearTables(
    _In_ const TRACE_KERNEL_HEADER *Header,
    _Inout_ PKERNEL_STATE State
    )
{
    PTRACE_KERNEL_FUNCTION Function;
    ULONGLONG Count;
    ULONGLONG Index;

    Count = (ULONGLONG)Header->NumberOfRings * Header->FunctionSlots;
    for (Index = 0; Index < Count; Index += 1) {
        Function = &State->Functions[Index];
        if (Function->Site != 0) {
            KernelTextFill(Function, sizeof(*Function));
            Function->Minimum = MAXULONG64;
        }
    }
    for (Index = 0; Index < Header->OpenCallSlots; Index += 1) {
        if (State->OpenCalls[Index].Site != 0) {
            KernelTextFill(&State->OpenCalls[Index],
                           sizeof(State->OpenCalls[Index]));
        }
    }
}

//
// Times one batch.
// Returns FALSE if the thread went to another processor meanwhile.
//

static
BOOLEAN
KernelProbeBatch(
    _In_ const TRACE_KERNEL_HEADER *Header,
    _Inout_ PKERNEL_STATE State,
    _Out_ PULONG Inner,
    _Out_ PULONG Total
    )
{
    const TRACE_KERNEL_RECORD *Records;
    ULONGLONG Start;
    ULONGLONG Middle;
    ULONGLONG End;
    ULONGLONG Between;
    ULONGLONG Sum;
    ULONG Ring;
    ULONG Index;

    *Inner = 0;
    *Total = 0;
    Start = __rdtsc();
    for (Index = 0; Index < PROBE_PAIRS; Index += 1) {
        KernelCallPair(KernelReturn, KernelReturn);
    }
    Middle = __rdtsc();
    for (Index = 0; Index < PROBE_PAIRS; Index += 1) {
        KernelCallPair(KernelRecordEnter, KernelRecordExit);
    }
    End = __rdtsc();

    Ring = KernelProbeFindRing(State, &Sum);
    Between = 0;
    if (Ring != PROBE_FAILED) {
        Records = State->Records + Ring * Header->RecordsPerRing;
        for (Index = 0; Index < 2 * PROBE_PAIRS; Index += 2) {
            Between += Records[Index + 1].Timestamp - Records[Index].Timestamp;
        }
    }
    KernelProbeClearRings(Header, State);

    End -= Middle;
    Middle -= Start;
    if (Ring == PROBE_FAILED || Sum != 2 * PROBE_PAIRS || End < Middle ||
        End >= PROBE_FAILED / TRACE_PROBE_UNIT || Between > End) {
        return FALSE;
    }
    *Inner = (ULONG)(Between * TRACE_PROBE_UNIT / PROBE_PAIRS);
    *Total = (ULONG)((End - Middle) * TRACE_PROBE_UNIT / PROBE_PAIRS);
    return TRUE;
}

//
// Sorts, and takes the one in the middle.
//

static
ULONG
KernelProbeMedian(
    _Inout_updates_(Count) PULONG Values,
    _In_ ULONG Count
    )
{
    ULONG Index;
    ULONG Place;
    ULONG Value;

    for (Index = 1; Index < Count; Index += 1) {
        Value = Values[Index];
        for (Place = Index; Place > 0 && Values[Place - 1] > Value;
             Place -= 1) {
            Values[Place] = Values[Place - 1];
        }
        Values[Place] = Value;
    }
    return Count == 0 ? 0 : Values[Count / 2];
}

_Use_decl_annotations_
VOID
KernelProbeMeasure(
    PTRACE_KERNEL_HEADER Header,
    PKERNEL_STATE State
    )
{
    ULONG Inner[PROBE_BATCHES];
    ULONG Total[PROBE_BATCHES];
    ULONG Batch;
    ULONG Count;

    Count = 0;
    for (Batch = 0; Batch < PROBE_BATCHES; Batch += 1) {
        if (KernelProbeBatch(Header, State, &Inner[Count], &Total[Count])) {
            Count += 1;
        }
    }
    KernelProbeClearTables(Header, State);

    Header->ProbeInner = KernelProbeMedian(Inner, Count);
    Header->ProbeTotal = KernelProbeMedian(Total, Count);
    if (Header->ProbeInner > Header->ProbeTotal) {
        Header->ProbeInner = Header->ProbeTotal;
    }
}
