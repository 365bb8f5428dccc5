/*++

Module Name:

    EtlSpans.c

Abstract:

    A thread's events become spans of time with a state; and what they say of
    a part of time.

--*/

#include "EtlSpans.h"

//
// Events of one time are taken in an order that makes sense, among so many.
//

#define ETL_MAXIMUM_TIES 8u

#define ETL_NUMBER_OF_REASONS 256u

typedef struct _ETL_MAKER {
    PETL_STATES States;
    PETL_THREAD Thread;
    ULONGLONG Start;                // of the span that is open
    ULONG Processor;                // of running
    ETL_STATE State;
    UCHAR Reason;
    BOOLEAN IsBegun;                // there is such a span
    ETL_SUMS Sums;                  // of those that are not open
} ETL_MAKER;
typedef ETL_MAKER *PETL_MAKER;


//
// Adds a part of a span; what is of the same state as the one before it goes
// on, unless it is a wait.
//

_Must_inspect_result_
static
NTSTATUS
EtlAddPart(
    _Inout_ PETL_MAKER Maker,
    _In_ const ETL_SPAN *New,
    _In_ ETL_STATE State,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
{
    PETL_THREAD Thread = Maker->Thread;
    PETL_SPAN Span;
    NTSTATUS Status;

    if (Start >= End) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Maker->States->Allocator,
                           (PVOID *)&Thread->Spans,
                           &Thread->CapacityOfSpans,
                           Thread->NumberOfSpans + 1,
                           sizeof(ETL_SPAN));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Span = &Thread->Spans[Thread->NumberOfSpans];
    *Span = *New;
    Span->Start = Start;
    Span->State = (UCHAR)State;
    Span->Running = Maker->Sums.Running;
    Span->Ready = Maker->Sums.Ready;
    Span->Waiting = Maker->Sums.Waiting;
    Maker->Sums.Running += State == EtlStateRunning ? End - Start : 0;
    Maker->Sums.Ready += State == EtlStateReady ? End - Start : 0;
    Maker->Sums.Waiting += State == EtlStateWaiting ? End - Start : 0;
    Thread->NumberOfSpans += 1;
    return STATUS_SUCCESS;
}


//
// Adds a span without the pauses in it.
//

_Must_inspect_result_
static
NTSTATUS
EtlAddSpan(
    _Inout_ PETL_MAKER Maker,
    _In_ const ETL_SPAN *New,
    _In_ ETL_STATE State,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
{
    PCCORE_PAUSE Pauses = Maker->Thread->Pauses;
    ULONG Count = Maker->Thread->NumberOfPauses;
    ULONG Low = 0;
    ULONG High = Count;
    ULONG Middle;
    ULONGLONG Stop;
    NTSTATUS Status = STATUS_SUCCESS;

    //
    // Low becomes the first pause that ends after the start.
    //

    while (Low != High) {
        Middle = Low + (High - Low) / 2;
        if (Pauses[Middle].Start <= Start) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    for (; NT_SUCCESS(Status) && Low < Count && Pauses[Low].Stop < End; Low++) {

        Stop = Pauses[Low].Stop > Start ? Pauses[Low].Stop : Start;
        Status = EtlAddPart(Maker, New, State, Start, Stop);
        Start = Pauses[Low].Start < End ? Pauses[Low].Start : End;
        if (NT_SUCCESS(Status)) {
            Status = EtlAddPart(Maker, New, EtlStatePaused, Stop, Start);
        }
    }

    return NT_SUCCESS(Status) ? EtlAddPart(Maker, New, State, Start, End)
                              : Status;
}


//
// Finds where the first gap begins that a span has a part of; its end, if it
// has none. What is true of a thread that runs is seen on its processor; of
// any other, something may have been lost on each.
//

static
ULONGLONG
EtlFindGap(
    _In_ const ETL_MAKER *Maker,
    _In_ ETL_STATE State,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    )
{
    PCETL_STATES States = Maker->States;
    BOOLEAN IsRunning = State == EtlStateRunning;
    PCETL_GAP Gaps = IsRunning ? States->Gaps : States->AllGaps;
    ULONG Count = IsRunning ? States->NumberOfGaps : States->NumberOfAllGaps;
    ULONG Low = 0;
    ULONG High = Count;
    ULONG Middle;

    while (Low != High) {
        Middle = Low + (High - Low) / 2;
        if ((IsRunning && Gaps[Middle].Processor < Maker->Processor) ||
            ((!IsRunning || Gaps[Middle].Processor == Maker->Processor) &&
             Gaps[Middle].End <= Start)) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    if (Low == Count ||
        (IsRunning && Gaps[Low].Processor != Maker->Processor) ||
        Gaps[Low].Start >= End) {
        return End;
    }

    return Gaps[Low].Start > Start ? Gaps[Low].Start : Start;
}


//
// Ends the open span.
// IsTrue: whether what ends it goes together with its state.
// Record: what ends it; NULL: the log does.
//

_Must_inspect_result_
static
NTSTATUS
EtlEndSpan(
    _Inout_ PETL_MAKER Maker,
    _In_ ULONGLONG End,
    _In_ BOOLEAN IsTrue,
    _In_opt_ PCETL_RECORD Record
    )
{
    ETL_STATE State = IsTrue ? Maker->State : EtlStateUnknown;
    ULONGLONG Known = End;
    ETL_SPAN Span;
    NTSTATUS Status;

    if (!Maker->IsBegun) {
        return STATUS_SUCCESS;
    }

    if (!IsTrue && Maker->State != EtlStateUnknown) {
        Maker->States->Contradictions += 1;
    }

    RtlZeroBytes(&Span, sizeof(Span));
    Span.By = ETL_NO_THREAD;
    if (State != EtlStateUnknown) {
        Known = EtlFindGap(Maker, State, Maker->Start, End);
    }

    if (State == EtlStateWaiting) {
        Span.Reason = Maker->Reason;
        Span.IsEnded = Record != NULL && Known == End;
        if (Span.IsEnded && Record->Kind == EtlRecordReady) {
            Span.By = Record->By;
            Span.IsInterrupt = Record->IsInterrupt;
        }
    }

    Status = EtlAddSpan(Maker, &Span, State, Maker->Start, Known);
    if (NT_SUCCESS(Status)) {
        Span.IsEnded = FALSE;
        Status = EtlAddSpan(Maker, &Span, EtlStateUnknown, Known, End);
    }

    return Status;
}


//
// Whether an event goes together with the state that the thread is in.
//

static
BOOLEAN
EtlIsFitting(
    _In_ const ETL_MAKER *Maker,
    _In_ PCETL_RECORD Record
    )
{
    switch (Record->Kind) {

    case EtlRecordOut:
        return Maker->State == EtlStateRunning &&
               Maker->Processor == Record->Processor;

    case EtlRecordIn:
        return Maker->State != EtlStateRunning;

    default:
        return Maker->State == EtlStateWaiting;
    }
}


//
// The state of a thread that does not run any more.
//

static
ETL_STATE
EtlFindState(
    _In_ UCHAR State
    )
{
    switch (State) {

    case ETL_THREAD_READY:
    case ETL_THREAD_STANDBY:
    case ETL_THREAD_DEFERRED:
        return EtlStateReady;

    case ETL_THREAD_WAITING:
    case ETL_THREAD_TRANSITION:
    case ETL_THREAD_GATE:
    case ETL_THREAD_IN_SWAP:
        return EtlStateWaiting;

    default:
        return EtlStateUnknown;
    }
}


_Must_inspect_result_
static
NTSTATUS
EtlTakeRecord(
    _Inout_ PETL_MAKER Maker,
    _In_ PCETL_RECORD Record
    )
{
    BOOLEAN IsFitting = EtlIsFitting(Maker, Record);
    NTSTATUS Status;

    //
    // A thread that runs, or is ready, may be made ready: by somebody who is
    // too early, or too late.  That says nothing.
    //

    if (Record->Kind == EtlRecordReady && !IsFitting && Maker->IsBegun &&
        Maker->State != EtlStateUnknown) {
        return STATUS_SUCCESS;
    }

    Status = EtlEndSpan(Maker, Record->Timestamp, IsFitting, Record);
    Maker->IsBegun = TRUE;
    Maker->Start = Record->Timestamp;
    Maker->Reason = 0;
    switch (Record->Kind) {

    case EtlRecordOut:
        Maker->State = EtlFindState(Record->State);
        Maker->Reason = Record->Reason;
        break;

    case EtlRecordIn:
        Maker->State = EtlStateRunning;
        Maker->Processor = Record->Processor;
        break;

    default:
        Maker->State = EtlStateReady;
        break;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
EtlMakeSpans(
    PETL_STATES States,
    PETL_THREAD Thread,
    const ULONG *Order,
    ULONG Count
    )
{
    PCETL_RECORD Ties[ETL_MAXIMUM_TIES];
    PCETL_RECORD Record;
    ETL_MAKER Maker;
    ETL_SPAN Last;
    ULONG NumberOfTies = 0;
    ULONG Index = 0;
    ULONG Chosen;
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(&Maker, sizeof(Maker));
    Maker.States = States;
    Maker.Thread = Thread;
    while (NT_SUCCESS(Status) && (Index < Count || NumberOfTies != 0)) {

        while (Index < Count && NumberOfTies < ETL_MAXIMUM_TIES) {

            Record = &States->Records[Order[Index]];
            if (NumberOfTies != 0 &&
                Record->Timestamp != Ties[0]->Timestamp) {
                break;
            }

            Index += 1;
            if (Record->Kind != EtlRecordSample) {
                Ties[NumberOfTies] = Record;
                NumberOfTies += 1;
            }
        }

        if (NumberOfTies == 0) {
            break;
        }

        for (Chosen = 0; Chosen < NumberOfTies; Chosen++) {
            if (EtlIsFitting(&Maker, Ties[Chosen])) {
                break;
            }
        }

        if (Chosen == NumberOfTies) {
            Chosen = 0;
        }

        Record = Ties[Chosen];
        NumberOfTies -= 1;
        for (; Chosen < NumberOfTies; Chosen++) {
            Ties[Chosen] = Ties[Chosen + 1];
        }

        Status = EtlTakeRecord(&Maker, Record);
    }

    if (NT_SUCCESS(Status) && Maker.IsBegun) {
        Status = EtlEndSpan(&Maker, States->End, TRUE, NULL);
    }

    //
    // What comes then is unknown.
    //

    if (NT_SUCCESS(Status) && Maker.IsBegun) {
        RtlZeroBytes(&Last, sizeof(Last));
        Last.By = ETL_NO_THREAD;
        Status = EtlAddPart(&Maker,
                            &Last,
                            EtlStateUnknown,
                            Maker.Start > States->End ? Maker.Start
                                                      : States->End,
                            ETL_MAXIMUM_TIME);
    }

    return Status;
}


//
// Finds the span that a time is in; the number of spans, if it is before all.
//

static
ULONG
EtlFindSpan(
    _In_ PCETL_THREAD Thread,
    _In_ ULONGLONG Time
    )
{
    ULONG Low = 0;
    ULONG High = Thread->NumberOfSpans;
    ULONG Middle;

    while (Low != High) {
        Middle = Low + (High - Low) / 2;
        if (Thread->Spans[Middle].Start <= Time) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    return Low == 0 ? Thread->NumberOfSpans : Low - 1;
}


//
// Says what a thread had done up to a time.
//

static
VOID
EtlQueryUpTo(
    _In_ PCETL_STATES States,
    _In_ PCETL_THREAD Thread,
    _In_ ULONGLONG Time,
    _Out_ PETL_SUMS Sums
    )
{
    ULONG Index = EtlFindSpan(Thread, Time);
    ULONG Low = 0;
    ULONG High = Thread->NumberOfSamples;
    ULONG Middle;
    PCETL_SPAN Span;

    RtlZeroBytes(Sums, sizeof(*Sums));
    while (Low != High) {
        Middle = Low + (High - Low) / 2;
        if (States->Samples[Thread->FirstSample + Middle] < Time) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    Sums->Samples = Low;
    if (Index == Thread->NumberOfSpans) {
        return;
    }

    Span = &Thread->Spans[Index];
    Sums->Running = Span->Running;
    Sums->Ready = Span->Ready;
    Sums->Waiting = Span->Waiting;
    switch (Span->State) {

    case EtlStateRunning:
        Sums->Running += Time - Span->Start;
        break;

    case EtlStateReady:
        Sums->Ready += Time - Span->Start;
        break;

    case EtlStateWaiting:
        Sums->Waiting += Time - Span->Start;
        break;

    default:
        break;
    }
}


_Use_decl_annotations_
VOID
EtlQuerySums(
    PCETL_STATES States,
    ULONG Thread,
    ULONGLONG Start,
    ULONGLONG End,
    PETL_SUMS Sums
    )
{
    ETL_SUMS Before;

    if (End < Start) {
        End = Start;
    }

    EtlQueryUpTo(States, &States->Threads[Thread], Start, &Before);
    EtlQueryUpTo(States, &States->Threads[Thread], End, Sums);
    Sums->Running -= Before.Running;
    Sums->Ready -= Before.Ready;
    Sums->Waiting -= Before.Waiting;
    Sums->Samples -= Before.Samples;
}


_Use_decl_annotations_
BOOLEAN
EtlFindWait(
    PCETL_STATES States,
    ULONG Thread,
    ULONGLONG Start,
    ULONGLONG End,
    PETL_WAIT Wait
    )
{
    PCETL_THREAD This = &States->Threads[Thread];
    ULONG First = EtlFindSpan(This, Start);
    ULONGLONG Totals[ETL_NUMBER_OF_REASONS];
    PCETL_SPAN Span;
    ULONGLONG From;
    ULONGLONG To;
    ULONG Pass;
    ULONG Index;

    RtlZeroBytes(Wait, sizeof(*Wait));
    RtlZeroBytes(Totals, sizeof(Totals));
    Wait->By = ETL_NO_THREAD;
    if (First == This->NumberOfSpans) {
        First = 0;
    }

    //
    // First the reasons' sums, then the longest wait of the greatest of them.
    //

    for (Pass = 0; Pass < 2; Pass++) {

        for (Index = First; Index < This->NumberOfSpans; Index++) {

            Span = &This->Spans[Index];
            if (Span->Start >= End) {
                break;
            }

            From = Span->Start > Start ? Span->Start : Start;
            To = Index + 1 < This->NumberOfSpans ? This->Spans[Index + 1].Start
                                                 : ETL_MAXIMUM_TIME;
            To = To < End ? To : End;
            if (Span->State != EtlStateWaiting || From >= To) {
                continue;
            }

            if (Pass == 0) {
                Totals[Span->Reason] += To - From;
            } else if (Span->Reason == Wait->Reason &&
                       Wait->LongestTicks < To - From) {
                Wait->LongestTicks = To - From;
                Wait->End = This->Spans[Index + 1].Start;
                Wait->By = Span->By;
                Wait->IsInterrupt = Span->IsInterrupt;
                Wait->IsEnded = Span->IsEnded;
            }
        }

        for (Index = 0; Pass == 0 && Index < ETL_NUMBER_OF_REASONS; Index++) {
            if (Wait->Ticks < Totals[Index]) {
                Wait->Ticks = Totals[Index];
                Wait->Reason = (UCHAR)Index;
            }
        }
    }

    return Wait->Ticks != 0;
}


_Use_decl_annotations_
PCSZ
EtlNameReason(
    UCHAR Reason
    )
{
    static const PCSZ Names[] = {
        "Executive", "FreePage", "PageIn", "PoolAllocation",
        "DelayExecution", "Suspended", "UserRequest", "WrExecutive",
        "WrFreePage", "WrPageIn", "WrPoolAllocation", "WrDelayExecution",
        "WrSuspended", "WrUserRequest", "WrEventPair", "WrQueue",
        "WrLpcReceive", "WrLpcReply", "WrVirtualMemory", "WrPageOut",
        "WrRendezvous", "WrKeyedEvent", "WrTerminated", "WrProcessInSwap",
        "WrCpuRateControl", "WrCalloutStack", "WrKernel", "WrResource",
        "WrPushLock", "WrMutex", "WrQuantumEnd", "WrDispatchInt",
        "WrPreempted", "WrYieldExecution", "WrFastMutex", "WrGuardedMutex",
        "WrRundown", "WrAlertByThreadId", "WrDeferredPreempt",
        "WrPhysicalFault"
    };

    return Reason < RTL_NUMBER_OF(Names) ? Names[Reason] : NULL;
}
