/*++

Module Name:

    PenterProbe.c

Abstract:

    What a pair of hooks costs on this machine, measured once when the hooks of
    a module are prepared, so that a reader can take it out of the times.

    The hooks that will record are called by an empty function in a loop, with a
    scratch header in the calling thread's slot, and write their records behind
    it.  The time of the loop, less that of a loop that calls a function without
    hooks, is what pairs of hooks cost; what lies between the two time stamps of
    a pair is the part of it that the empty function would be said to have
    taken.

    Hooks that keep a tree find a scratch tree there, of a root and one child,
    which has the time between the time stamps.

    A batch of pairs is short, so that most of them are not interrupted, and the
    mean is taken of the middle half of the batches.  All of them together take
    some 35 microseconds; where reading the clock is slow there are fewer.

--*/

#include "PenterProbe.h"

#define PENTER_PROBE_PAIRS              32      // in a batch
#define PENTER_PROBE_BATCHES            32      // at most
#define PENTER_PROBE_MINIMUM_BATCHES    8

//
// No further batch is begun after so many ticks: 100 microseconds at 3 GHz.
//

#define PENTER_PROBE_TICKS              300000

//
// The header and the records.
//

#define PENTER_PROBE_SIZE                                                   \
    (TRACE_HEADER_SIZE + 2 * PENTER_PROBE_PAIRS * TRACE_RECORD_SIZE)

//
// The header and what there is of a tree.
//

typedef struct _PENTER_PROBE_TREE {
    UCHAR Header[TRACE_HEADER_SIZE];
    TRACE_RECORD Records[2];
    TRACE_FRAME Frames[2];
    TRACE_NODE Nodes[2];
    TRACE_STORE Store;
    PTRACE_NODE Bucket;
} PENTER_PROBE_TREE;
typedef PENTER_PROBE_TREE *PPENTER_PROBE_TREE;

#define PENTER_PROBE_FAILED             0xFFFFFFFF

//
// Makes a time of a batch one that can be sorted with the others.
// Ticks: the time; negative if the thread went to a processor whose counter is
// behind.
// Returns the time, or the largest value if it is out of the ordinary.
//

static
ULONG
PenterProbeTicks(
    _In_ ULONGLONG Ticks
    )
{
    return Ticks >= PENTER_PROBE_FAILED >> 8 ? PENTER_PROBE_FAILED :
                                               (ULONG)Ticks;
}

//
// An empty function with hooks.
//

static
DECLSPEC_NOINLINE
VOID
PenterProbeFunction(
    _In_ PPENTER_ROUTINE Enter,
    _In_ PPENTER_ROUTINE Exit
    )
{
    Enter();
    Exit();

    //
    // The second call must not become a jump.
    //

    _ReadWriteBarrier();
}

//
// Runs a batch of pairs.
// Routines: the hooks.
// Header: the scratch header, which is in the thread's slot, with room for the
// records, or the tree, behind it.
// Inner: the ticks between the time stamps, of all pairs.
// Total: the ticks that the hooks took of it.
//

static
VOID
PenterProbeBatch(
    _In_ PCPENTER_ROUTINES Routines,
    _Inout_ PTRACE_STORE_HEADER Header,
    _Out_ PULONG Inner,
    _Out_ PULONG Total
    )
{
    PPENTER_ROUTINE volatile Empty;
    PPENTER_ROUTINE Enter;
    PPENTER_ROUTINE Exit;
    PCTRACE_RECORD Records;
    PTRACE_NODE Child;
    ULONGLONG Start;
    ULONGLONG Middle;
    ULONGLONG End;
    ULONGLONG Between;
    ULONG Index;

    Empty = PenterReturn;
    Enter = Routines->Enter;
    Exit = Routines->Exit;
    Records = (PCTRACE_RECORD)((PBYTE)Header + TRACE_HEADER_SIZE);

    Child = NULL;
    if (Header->Mode == TRACE_MODE_TREE) {
        Child = &((PPENTER_PROBE_TREE)Header)->Nodes[1];
        Child->Total = 0;
    } else {
        Header->Cursor = (ULONG_PTR)Records;
        Header->Limit = Header->Cursor + PENTER_PROBE_SIZE -
                        TRACE_HEADER_SIZE;
    }

    Start = __rdtsc();
    for (Index = 0; Index < PENTER_PROBE_PAIRS; Index += 1) {
        Empty();
    }
    Middle = __rdtsc();
    for (Index = 0; Index < PENTER_PROBE_PAIRS; Index += 1) {
        PenterProbeFunction(Enter, Exit);
    }
    End = __rdtsc();

    Between = 0;
    if (Child != NULL) {
        Between = Child->Total;
    } else {
        for (Index = 0; Index < 2 * PENTER_PROBE_PAIRS; Index += 2) {
            Between += Records[Index + 1].Timestamp -
                       Records[Index].Timestamp;
        }
    }

    *Inner = PenterProbeTicks(Between);
    *Total = PenterProbeTicks(End - Middle - (Middle - Start));
}

//
// Takes the mean of the middle half of the batches.
// Values: their times; they are sorted.
// Count: their number, a multiple of 4.
// Returns the time of one pair, in 256ths of a tick; 0 if it cannot be said.
//

static
ULONG
PenterProbeMean(
    _Inout_updates_(Count) PULONG Values,
    _In_ ULONG Count
    )
{
    ULONG Index;
    ULONG Place;
    ULONG Value;
    ULONGLONG Sum;

    for (Index = 1; Index < Count; Index += 1) {
        Value = Values[Index];
        for (Place = Index; Place > 0 && Values[Place - 1] > Value;
             Place -= 1) {
            Values[Place] = Values[Place - 1];
        }
        Values[Place] = Value;
    }

    Sum = 0;
    for (Index = Count / 4; Index < Count - Count / 4; Index += 1) {
        if (Values[Index] == PENTER_PROBE_FAILED) {
            return 0;
        }
        Sum += Values[Index];
    }

    Sum = Sum * TRACE_PROBE_UNIT / (Count / 2) / PENTER_PROBE_PAIRS;
    return Sum > 0xFFFFFFFF ? 0 : (ULONG)Sum;
}

//
// Makes the scratch tree. The child's site is that of the empty function,
// which the hooks that write records tell.
// Probe: the tree, all zeroes, whose header is in the thread's slot.
//

static
VOID
PenterProbePrepareTree(
    _Inout_ PPENTER_PROBE_TREE Probe,
    _In_ PCPENTER_ROUTINES Recording
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_NODE Root;
    PTRACE_NODE Child;

    Header = (PTRACE_STORE_HEADER)Probe;
    Header->Cursor = (ULONG_PTR)Probe->Records;
    Header->Limit = (ULONG_PTR)Probe->Frames;
    PenterProbeFunction(Recording->Enter, Recording->Exit);

    Header->Mode = TRACE_MODE_TREE;
    Header->WriterContext = (ULONG_PTR)&Probe->Store;
    Header->Cursor = (ULONG_PTR)Probe->Frames;
    Header->Limit = (ULONG_PTR)&Probe->Frames[1];

    Root = &Probe->Nodes[0];
    Child = &Probe->Nodes[1];
    Root->LastChild = (ULONG_PTR)Child;
    Child->Site = Probe->Records[0].Site;
    Child->LastChild = (ULONG_PTR)Root;
    Child->Maximum = MAXULONG64;
    Probe->Frames[0].Stack = MAXULONG64;
    Probe->Frames[0].Node = (ULONG_PTR)Root;

    Probe->Store.Header = Header;
    Probe->Store.Tree.StackSize = MAXULONG64;
    Probe->Store.Tree.Nodes = Root;
    Probe->Store.Tree.Buckets = &Probe->Bucket;
}

_Use_decl_annotations_
VOID
PenterMeasureProbe(
    PCRTL Rtl,
    PPENTER Penter
    )
{
    NTSTATUS Status;
    PVOID Base;
    PVOID *Expansion;
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE_HEADER Template;
    PCPENTER_ROUTINES Routines;
    ULONGLONG Start;
    ULONG Count;
    ULONG InnerTicks;
    ULONG TotalTicks;
    ULONG Inner[PENTER_PROBE_BATCHES];
    ULONG Total[PENTER_PROBE_BATCHES];

    if (Penter->Chooses) {
        return;
    }

    Expansion = NULL;
    if (Penter->TlsIndex >= TEB_TLS_NUMBER_OF_SLOTS) {
        Expansion = (PVOID *)__readgsqword(TEB_TLS_EXPANSION_SLOTS);
        if (Expansion == NULL) {
            return;
        }
        Expansion += Penter->TlsIndex - TEB_TLS_NUMBER_OF_SLOTS;
    }

    Status = RtlAllocatePages(Rtl,
                              Penter->IsTree ? sizeof(PENTER_PROBE_TREE) :
                                               PENTER_PROBE_SIZE,
                              &Base);
    if (!NT_SUCCESS(Status)) {
        return;
    }
    Header = (PTRACE_STORE_HEADER)Base;

    //
    // The routines read the slot's offset.  It is the same for whoever sets it.
    //

    Routines = PenterSetSlot(Penter);
    if (Expansion != NULL) {
        *Expansion = Header;
    } else {
        __writegsqword(TEB_TLS_SLOTS + Penter->TlsIndex * sizeof(PVOID),
                       (ULONG_PTR)Header);
    }

    if (Penter->IsTree) {
        PenterProbePrepareTree((PPENTER_PROBE_TREE)Header,
                               &PenterRoutines[Penter->Clock][0]
                                              [Expansion != NULL]);
    }

    Start = __rdtsc();
    for (Count = 0; Count < PENTER_PROBE_BATCHES; Count += 1) {
        if (Count % 4 == 0 && Count >= PENTER_PROBE_MINIMUM_BATCHES &&
            __rdtsc() - Start > PENTER_PROBE_TICKS) {
            break;
        }
        PenterProbeBatch(Routines, Header, &Inner[Count], &Total[Count]);
    }

    if (Expansion != NULL) {
        *Expansion = NULL;
    } else {
        __writegsqword(TEB_TLS_SLOTS + Penter->TlsIndex * sizeof(PVOID), 0);
    }

    RtlFreePages(Rtl, Base);

    //
    // Only the time stamp counter shows what lies between two hooks.
    //

    Template = Penter->Session->Template;
    TotalTicks = PenterProbeMean(Total, Count);
    InnerTicks = 0;
    if (Penter->Clock == TRACE_CLOCK_TSC) {
        InnerTicks = PenterProbeMean(Inner, Count);
    }
    Template->ProbeTotal = TotalTicks;
    Template->ProbeInner = InnerTicks < TotalTicks ? InnerTicks : TotalTicks;
}
