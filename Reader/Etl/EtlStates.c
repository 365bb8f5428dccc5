/*++

Module Name:

    EtlStates.c

Abstract:

    What threads did, from a log: its events are put in order by thread, and
    become spans of time with a state.

--*/

#include "EtlSpans.h"


_Use_decl_annotations_
VOID
EtlInitializeStates(
    PETL_STATES States,
    PCALLOCATOR Allocator
    )
{
    RtlZeroBytes(States, sizeof(*States));
    States->Allocator = Allocator;
    BaseInitializeMap(&States->Indexes, Allocator);
}


//
// Frees what is needed only while the log is read.
//

static
VOID
EtlFreeRecords(
    _Inout_ PETL_STATES States
    )
{
    PCALLOCATOR Allocator = States->Allocator;

    Allocator->Free(Allocator->Context, States->Records);
    Allocator->Free(Allocator->Context, States->RecordOrder);
    Allocator->Free(Allocator->Context, States->Gaps);
    Allocator->Free(Allocator->Context, States->AllGaps);
    States->Records = NULL;
    States->RecordOrder = NULL;
    States->Gaps = NULL;
    States->AllGaps = NULL;
    States->NumberOfRecords = 0;
    States->CapacityOfRecords = 0;
    States->NumberOfGaps = 0;
    States->CapacityOfGaps = 0;
    States->NumberOfAllGaps = 0;
}


_Use_decl_annotations_
VOID
EtlRundownStates(
    PETL_STATES States
    )
{
    PCALLOCATOR Allocator = States->Allocator;
    ULONG Index;

    if (Allocator == NULL) {
        return;
    }

    EtlFreeRecords(States);
    for (Index = 0; Index < States->NumberOfThreads; Index++) {
        Allocator->Free(Allocator->Context, States->Threads[Index].Spans);
    }

    Allocator->Free(Allocator->Context, States->Threads);
    Allocator->Free(Allocator->Context, States->Owners);
    Allocator->Free(Allocator->Context, States->OwnerOrder);
    Allocator->Free(Allocator->Context, States->Processes);
    Allocator->Free(Allocator->Context, States->Samples);
    BaseRundownMap(&States->Indexes);
    RtlZeroBytes(States, sizeof(*States));
}


_Use_decl_annotations_
NTSTATUS
EtlAddThread(
    PETL_STATES States,
    ULONG ThreadId,
    PCCORE_PAUSE Pauses,
    ULONG NumberOfPauses
    )
{
    ULONG Index = States->NumberOfThreads;
    PETL_THREAD Thread;
    PETL_THREAD First;
    ULONG Other;
    NTSTATUS Status;

    Status = BaseGrowArray(States->Allocator,
                           (PVOID *)&States->Threads,
                           &States->CapacityOfThreads,
                           Index + 1,
                           sizeof(ETL_THREAD));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Thread = &States->Threads[Index];
    RtlZeroBytes(Thread, sizeof(*Thread));
    Thread->ThreadId = ThreadId;
    Thread->NextSame = ETL_NO_THREAD;
    Thread->Pauses = Pauses;
    Thread->NumberOfPauses = NumberOfPauses;
    if (BaseFindInMap(&States->Indexes, ThreadId, &Other)) {
        First = &States->Threads[Other];
        Thread->NextSame = First->NextSame;
        First->NextSame = Index;
    } else {
        Status = BaseAddToMap(&States->Indexes, ThreadId, Index);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    States->NumberOfThreads += 1;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
ULONGLONG
EtlConvertTime(
    PCETL_CLOCK Clock,
    ULONGLONG Time
    )
{
    ULONGLONG Ticks;

    if (Clock->Counts == 0 || Time == 0 || Time == ETL_MAXIMUM_TIME) {
        return Time;
    }

    if (Time >= Clock->Counter) {
        Ticks = CoreMultiplyDivide(Time - Clock->Counter,
                                   Clock->Ticks,
                                   Clock->Counts);
        return Ticks < ETL_MAXIMUM_TIME - Clock->Timestamp
                   ? Clock->Timestamp + Ticks
                   : ETL_MAXIMUM_TIME - 1;
    }

    Ticks = CoreMultiplyDivide(Clock->Counter - Time,
                               Clock->Ticks,
                               Clock->Counts);
    return Ticks < Clock->Timestamp ? Clock->Timestamp - Ticks : 1;
}


//
// Keeps an event of a thread that was asked for.
//

_Must_inspect_result_
static
NTSTATUS
EtlAddRecord(
    _Inout_ PETL_STATES States,
    _In_ PCETL_EVENT Event,
    _In_ ULONG ThreadId,
    _In_ ETL_RECORD_KIND Kind
    )
{
    PETL_RECORD Record;
    ULONG Thread;
    NTSTATUS Status;

    if (!BaseFindInMap(&States->Indexes, ThreadId, &Thread)) {
        return STATUS_SUCCESS;
    }

    if (States->NumberOfRecords == ETL_MAXIMUM_RECORDS) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(States->Allocator,
                           (PVOID *)&States->Records,
                           &States->CapacityOfRecords,
                           States->NumberOfRecords + 1,
                           sizeof(ETL_RECORD));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Record = &States->Records[States->NumberOfRecords];
    States->NumberOfRecords += 1;
    States->NumberOfSamples += Kind == EtlRecordSample;
    Record->Timestamp = EtlConvertTime(&States->Clock, Event->Timestamp);
    Record->Thread = Thread;
    Record->By = Event->Other;
    Record->Processor = (USHORT)Event->Processor;
    Record->Kind = (UCHAR)Kind;
    Record->State = Event->State;
    Record->Reason = Event->Reason;
    Record->IsInterrupt = Event->IsInterrupt;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
EtlAddOwner(
    _Inout_ PETL_STATES States,
    _In_ PCETL_EVENT Event
    )
{
    PETL_OWNER Owner;
    NTSTATUS Status;

    if (States->NumberOfOwners == ETL_MAXIMUM_RECORDS) {
        return STATUS_NO_MEMORY;
    }

    Status = BaseGrowArray(States->Allocator,
                           (PVOID *)&States->Owners,
                           &States->CapacityOfOwners,
                           States->NumberOfOwners + 1,
                           sizeof(ETL_OWNER));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Owner = &States->Owners[States->NumberOfOwners];
    States->NumberOfOwners += 1;
    Owner->Timestamp = EtlConvertTime(&States->Clock, Event->Timestamp);
    Owner->ThreadId = Event->Thread;
    Owner->ProcessId = Event->Other;
    Owner->IsStart = Event->Kind == EtlEventThreadStart;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
EtlAddProcess(
    _Inout_ PETL_STATES States,
    _In_ PCETL_EVENT Event
    )
{
    PETL_PROCESS Process;
    NTSTATUS Status;

    Status = BaseGrowArray(States->Allocator,
                           (PVOID *)&States->Processes,
                           &States->CapacityOfProcesses,
                           States->NumberOfProcesses + 1,
                           sizeof(ETL_PROCESS));
    if (NT_SUCCESS(Status)) {
        Process = &States->Processes[States->NumberOfProcesses];
        States->NumberOfProcesses += 1;
        Process->Timestamp = EtlConvertTime(&States->Clock, Event->Timestamp);
        Process->ProcessId = Event->Other;
        Process->NameLength = Event->NameLength;
        RtlCopyBytes(Process->Name, Event->Name, Event->NameLength);
    }

    return Status;
}


//
// Keeps a gap. Those of a processor come in the order of time.
//

_Must_inspect_result_
static
NTSTATUS
EtlAddGap(
    _Inout_ PETL_STATES States,
    _In_ PCETL_EVENT Event
    )
{
    PETL_GAP Gap;
    NTSTATUS Status;

    Status = BaseGrowArray(States->Allocator,
                           (PVOID *)&States->Gaps,
                           &States->CapacityOfGaps,
                           States->NumberOfGaps + 1,
                           sizeof(ETL_GAP));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Gap = &States->Gaps[States->NumberOfGaps];
    States->NumberOfGaps += 1;
    Gap->Start = EtlConvertTime(&States->Clock, Event->Start);
    Gap->End = EtlConvertTime(&States->Clock, Event->Timestamp);
    Gap->Processor = Event->Processor;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
EtlTakeEvent(
    _In_ PVOID Context,
    _In_ PCETL_EVENT Event
    )
{
    PETL_STATES States = (PETL_STATES)Context;
    NTSTATUS Status;

    switch (Event->Kind) {

    case EtlEventSwitch:
        Status = EtlAddRecord(States, Event, Event->Other, EtlRecordOut);
        return NT_SUCCESS(Status)
                   ? EtlAddRecord(States, Event, Event->Thread, EtlRecordIn)
                   : Status;

    case EtlEventReady:
        return EtlAddRecord(States, Event, Event->Thread, EtlRecordReady);

    case EtlEventSample:
        return EtlAddRecord(States, Event, Event->Thread, EtlRecordSample);

    case EtlEventThreadStart:
    case EtlEventThreadEnd:
        return EtlAddOwner(States, Event);

    case EtlEventProcess:
        return EtlAddProcess(States, Event);

    case EtlEventGap:
        return EtlAddGap(States, Event);

    default:
        return STATUS_SUCCESS;
    }
}


//
// Orders records by thread and time, then as they came; READER_COMPARE.
//

static
LONG
EtlCompareRecords(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCETL_STATES States = (PCETL_STATES)Context;
    PCETL_RECORD One = &States->Records[First];
    PCETL_RECORD Other = &States->Records[Second];

    if (One->Thread != Other->Thread) {
        return One->Thread < Other->Thread ? -1 : 1;
    }

    if (One->Timestamp != Other->Timestamp) {
        return One->Timestamp < Other->Timestamp ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}


static
LONG
EtlCompareOwners(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCETL_STATES States = (PCETL_STATES)Context;
    PCETL_OWNER One = &States->Owners[First];
    PCETL_OWNER Other = &States->Owners[Second];

    if (One->ThreadId != Other->ThreadId) {
        return One->ThreadId < Other->ThreadId ? -1 : 1;
    }

    if (One->Timestamp != Other->Timestamp) {
        return One->Timestamp < Other->Timestamp ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}


static
LONG
EtlCompareGaps(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCETL_STATES States = (PCETL_STATES)Context;

    if (States->Gaps[First].Start != States->Gaps[Second].Start) {
        return States->Gaps[First].Start < States->Gaps[Second].Start ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}


//
// Makes an order of some elements.
//

_Must_inspect_result_
static
NTSTATUS
EtlSort(
    _In_ PETL_STATES States,
    _In_ ULONG Count,
    _In_ PREADER_COMPARE Compare,
    _Outptr_result_maybenull_ PULONG *Order
    )
{
    ULONG Capacity = 0;
    ULONG Index;
    NTSTATUS Status;

    *Order = NULL;
    Status = BaseGrowArray(States->Allocator,
                           (PVOID *)Order,
                           &Capacity,
                           Count,
                           sizeof(ULONG));
    if (NT_SUCCESS(Status)) {

        for (Index = 0; Index < Count; Index++) {
            (*Order)[Index] = Index;
        }

        BaseSort(*Order, Count, Compare, States);
    }

    return Status;
}


//
// Puts the gaps of all processors together.
//

_Must_inspect_result_
static
NTSTATUS
EtlMergeGaps(
    _Inout_ PETL_STATES States
    )
{
    ULONG Capacity = 0;
    PULONG Order;
    PCETL_GAP Gap;
    PETL_GAP Last = NULL;
    ULONG Index;
    NTSTATUS Status;

    Status = EtlSort(States, States->NumberOfGaps, EtlCompareGaps, &Order);
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(States->Allocator,
                               (PVOID *)&States->AllGaps,
                               &Capacity,
                               States->NumberOfGaps,
                               sizeof(ETL_GAP));
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < States->NumberOfGaps;
         Index++) {

        Gap = &States->Gaps[Order[Index]];
        if (Last != NULL && Gap->Start <= Last->End) {
            Last->End = Last->End > Gap->End ? Last->End : Gap->End;
        } else {
            Last = &States->AllGaps[States->NumberOfAllGaps];
            *Last = *Gap;
            States->NumberOfAllGaps += 1;
        }
    }

    States->Allocator->Free(States->Allocator->Context, Order);
    return Status;
}


//
// Makes the samples and the spans of all threads, from the records in order.
//

_Must_inspect_result_
static
NTSTATUS
EtlMakeThreads(
    _Inout_ PETL_STATES States
    )
{
    ULONG Capacity = 0;
    ULONG NumberOfSamples = 0;
    ULONG First;
    ULONG Index;
    ULONG Thread;
    ULONG FirstSample;
    NTSTATUS Status;

    Status = BaseGrowArray(States->Allocator,
                           (PVOID *)&States->Samples,
                           &Capacity,
                           States->NumberOfSamples,
                           sizeof(ULONGLONG));
    for (First = 0; NT_SUCCESS(Status) && First < States->NumberOfRecords;
         First = Index) {

        Thread = States->Records[States->RecordOrder[First]].Thread;
        FirstSample = NumberOfSamples;
        for (Index = First; Index < States->NumberOfRecords; Index++) {

            PCETL_RECORD Record = &States->Records[States->RecordOrder[Index]];

            if (Record->Thread != Thread) {
                break;
            }

            if (Record->Kind == EtlRecordSample) {
                States->Samples[NumberOfSamples] = Record->Timestamp;
                NumberOfSamples += 1;
            }
        }

        for (; NT_SUCCESS(Status) && Thread != ETL_NO_THREAD;
             Thread = States->Threads[Thread].NextSame) {
            States->Threads[Thread].FirstSample = FirstSample;
            States->Threads[Thread].NumberOfSamples =
                NumberOfSamples - FirstSample;
            Status = EtlMakeSpans(States,
                                  &States->Threads[Thread],
                                  States->RecordOrder + First,
                                  Index - First);
        }
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
EtlReadStates(
    PETL_STATES States,
    PCETL_FILE File
    )
{
    PETL_COUNTS Counts = &States->Counts;
    NTSTATUS Status;

    Status = EtlReadEvents(File, EtlTakeEvent, States, Counts);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    if (Counts->Switches != 0) {
        States->Start = EtlConvertTime(&States->Clock, Counts->FirstTimestamp);
        States->End = EtlConvertTime(&States->Clock, Counts->LastTimestamp);
    }

    Status = EtlSort(States,
                     States->NumberOfRecords,
                     EtlCompareRecords,
                     &States->RecordOrder);
    if (NT_SUCCESS(Status)) {
        Status = EtlSort(States,
                         States->NumberOfOwners,
                         EtlCompareOwners,
                         &States->OwnerOrder);
    }

    if (NT_SUCCESS(Status)) {
        Status = EtlMergeGaps(States);
    }

    if (NT_SUCCESS(Status)) {
        Status = EtlMakeThreads(States);
    }

End:

    EtlFreeRecords(States);
    return Status;
}


_Use_decl_annotations_
ULONG
EtlFindProcess(
    PCETL_STATES States,
    ULONG ThreadId,
    ULONGLONG Timestamp
    )
{
    PCETL_OWNER Owner;
    ULONG Low = 0;
    ULONG High = States->NumberOfOwners;
    ULONG Middle;

    //
    // Low becomes the first one that is later.
    //

    while (Low != High) {

        Middle = Low + (High - Low) / 2;
        Owner = &States->Owners[States->OwnerOrder[Middle]];
        if (Owner->ThreadId < ThreadId ||
            (Owner->ThreadId == ThreadId && Owner->Timestamp <= Timestamp)) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    //
    // A thread that was there when the log began is told of some time later.
    //

    if (Low != 0) {
        Owner = &States->Owners[States->OwnerOrder[Low - 1]];
        if (Owner->ThreadId == ThreadId && Owner->IsStart) {
            return Owner->ProcessId;
        }
    }

    if (Low != States->NumberOfOwners) {
        Owner = &States->Owners[States->OwnerOrder[Low]];
        if (Owner->ThreadId == ThreadId) {
            return Owner->ProcessId;
        }
    }

    return ETL_NO_THREAD;
}


_Use_decl_annotations_
const CHAR *
EtlFindProcessName(
    PCETL_STATES States,
    ULONG ProcessId,
    ULONGLONG Timestamp,
    PULONG LengthInBytes
    )
{
    PCETL_PROCESS Best = NULL;
    PCETL_PROCESS Process;
    BOOLEAN IsBetter;
    ULONG Index;

    //
    // The last one up to the time, else the first one after it.
    //

    for (Index = 0; Index < States->NumberOfProcesses; Index++) {

        Process = &States->Processes[Index];
        if (Process->ProcessId != ProcessId) {
            continue;
        }

        if (Best == NULL) {
            IsBetter = TRUE;
        } else if (Process->Timestamp <= Timestamp) {
            IsBetter = Best->Timestamp > Timestamp ||
                       Best->Timestamp <= Process->Timestamp;
        } else {
            IsBetter = Best->Timestamp > Process->Timestamp;
        }

        if (IsBetter) {
            Best = Process;
        }
    }

    *LengthInBytes = Best != NULL ? Best->NameLength : 0;
    return Best != NULL ? Best->Name : NULL;
}
