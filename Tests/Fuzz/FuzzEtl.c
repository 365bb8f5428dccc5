/*++

Module Name:

    FuzzEtl.c

Abstract:

    Fuzz target: an event trace log is read (Reader/Etl), and what its threads
    did is asked for.

    The input: two bytes that say which allocation fails, one which call that
    reads, one for the clock and the pauses, and then the log.

--*/

#include "FuzzSupport.h"
#include "../../Reader/Etl/EtlStates.h"
#include <stdlib.h>
#include <string.h>

#define FUZZ_ETL_THREADS    10u         // 0x1000, 0x1004 ..., as in the seeds
#define FUZZ_ETL_QUERIES    40u

typedef struct _FUZZ_LOG {
    const UCHAR *Bytes;
    SIZE_T SizeInBytes;
    ULONG CallsLeft;                    // before one fails; 0: none does
    ULONGLONG NumberOfEvents;
    ULONG Processor;                    // of the last event
} FUZZ_LOG;
typedef FUZZ_LOG *PFUZZ_LOG;

static
NTSTATUS
FuzzReadLog(
    PVOID Context,
    ULONGLONG Offset,
    PVOID Bytes,
    ULONG SizeInBytes
    )
{
    PFUZZ_LOG Log = Context;

    FUZZ_CHECK(Offset <= Log->SizeInBytes);
    FUZZ_CHECK(SizeInBytes <= Log->SizeInBytes - Offset);
    FuzzSpendWork(SizeInBytes);
    if (Log->CallsLeft != 0) {
        Log->CallsLeft -= 1;
        if (Log->CallsLeft == 0) {
            return STATUS_UNSUCCESSFUL;
        }
    }

    memcpy(Bytes, Log->Bytes + Offset, SizeInBytes);
    return STATUS_SUCCESS;
}

static
NTSTATUS
FuzzTakeEvent(
    PVOID Context,
    PCETL_EVENT Event
    )
{
    PFUZZ_LOG Log = Context;

    FUZZ_CHECK(Event->Kind <= EtlEventGap);
    FUZZ_CHECK(Event->Kind != EtlEventProcess ||
               (Event->NameLength <= ETL_MAXIMUM_NAME &&
                memchr(Event->Name, 0, Event->NameLength) == NULL));
    FUZZ_CHECK(Event->Processor < ETL_MAXIMUM_PROCESSORS);
    FUZZ_CHECK(Event->Processor >= Log->Processor);
    FUZZ_CHECK(Event->Kind != EtlEventGap || Event->Start < Event->Timestamp);
    Log->Processor = Event->Processor;
    Log->NumberOfEvents += 1;
    return STATUS_SUCCESS;
}

//
// Adds up a thread's spans between two times, one after the other.
//

static
VOID
FuzzAddUp(
    PCETL_THREAD Thread,
    ULONGLONG Start,
    ULONGLONG End,
    PETL_SUMS Sums
    )
{
    ULONG Index;
    ULONGLONG From;
    ULONGLONG To;

    memset(Sums, 0, sizeof(*Sums));
    for (Index = 0; Index < Thread->NumberOfSpans; Index++) {

        PCETL_SPAN Span = &Thread->Spans[Index];

        From = Span->Start > Start ? Span->Start : Start;
        To = Index + 1 < Thread->NumberOfSpans ? Span[1].Start
                                               : ETL_MAXIMUM_TIME;
        To = To < End ? To : End;
        if (From < To) {
            Sums->Running += Span->State == EtlStateRunning ? To - From : 0;
            Sums->Ready += Span->State == EtlStateReady ? To - From : 0;
            Sums->Waiting += Span->State == EtlStateWaiting ? To - From : 0;
        }
    }
}

static
VOID
FuzzCheckThread(
    PCETL_STATES States,
    ULONG Index,
    PFUZZ_INPUT Numbers
    )
{
    PCETL_THREAD Thread = &States->Threads[Index];
    ULONGLONG Width = States->End > States->Start ? States->End - States->Start
                                                  : 0;
    ULONGLONG Start;
    ULONGLONG End;
    ETL_SUMS Sums;
    ETL_SUMS Other;
    ETL_WAIT Wait;
    ULONG Length;
    ULONG Number;

    FUZZ_CHECK((ULONGLONG)Thread->FirstSample + Thread->NumberOfSamples <=
               States->NumberOfSamples);
    for (Number = 0; Number < Thread->NumberOfSpans; Number++) {
        FUZZ_CHECK(Thread->Spans[Number].State <= EtlStatePaused);
        FUZZ_CHECK(Number == 0 ||
                   Thread->Spans[Number - 1].Start <
                       Thread->Spans[Number].Start);
    }

    FUZZ_CHECK(Thread->NumberOfSpans == 0 ||
               Thread->Spans[Thread->NumberOfSpans - 1].State ==
                   EtlStateUnknown);
    for (Number = 0; Number < FUZZ_ETL_QUERIES; Number++) {

        Start = 0;
        End = ETL_MAXIMUM_TIME;
        if (Number != 0) {
            Start = States->Start +
                    CoreMultiplyDivide(Width, FuzzTake(Numbers, 2), 0xF000);
            End = Start +
                  CoreMultiplyDivide(Width, FuzzTake(Numbers, 2), 0x10000);
            if (End < Start) {
                continue;
            }
        }

        EtlQuerySums(States, Index, Start, End, &Sums);
        FuzzAddUp(Thread, Start, End, &Other);
        FUZZ_CHECK(Sums.Running == Other.Running);
        FUZZ_CHECK(Sums.Ready == Other.Ready);
        FUZZ_CHECK(Sums.Waiting == Other.Waiting);
        FUZZ_CHECK(Sums.Running + Sums.Ready + Sums.Waiting <= End - Start);
        FUZZ_CHECK(Sums.Samples <= Thread->NumberOfSamples);
        FUZZ_CHECK(EtlFindWait(States, Index, Start, End, &Wait) ==
                   (Sums.Waiting != 0));
        FUZZ_CHECK(Wait.LongestTicks <= Wait.Ticks);
        FUZZ_CHECK(Wait.Ticks <= Sums.Waiting);
        FUZZ_CHECK(Sums.Waiting == 0 || Wait.LongestTicks != 0);
        (VOID)EtlNameReason(Wait.Reason);
        (VOID)EtlFindProcess(States, Wait.By, Start);
        FUZZ_CHECK((EtlFindProcessName(States, Number, Start, &Length) ==
                    NULL) == (Length == 0));
    }
}

//
// Whether reading may fail so.
//

static
BOOLEAN
FuzzIsExpected(
    NTSTATUS Status,
    const FUZZ_ALLOCATOR *Allocator,
    const FUZZ_LOG *Log
    )
{
    (VOID)Log;
    return Status == STATUS_UNSUCCESSFUL ||
           (Status == STATUS_NO_MEMORY && Allocator->FailAfter == 0);
}

//
// Runs one input.
// Returns 0.
//

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    static CORE_PAUSE Pauses[3];
    FUZZ_ALLOCATOR Allocator;
    FUZZ_INPUT Input = { Data, Size };
    FUZZ_INPUT Numbers = { Data, Size };
    FUZZ_LOG Log;
    ETL_FILE File;
    ETL_COUNTS Counts;
    ETL_STATES States;
    ULONG Flags;
    ULONG Index;
    NTSTATUS Status;

    memset(&Log, 0, sizeof(Log));
    memset(&File, 0, sizeof(File));
    FuzzInitializeAllocator(&Allocator, (ULONG)FuzzTake(&Input, 2));
    Log.CallsLeft = (ULONG)FuzzTake(&Input, 1);
    Flags = (ULONG)FuzzTake(&Input, 1);
    Log.Bytes = Input.Bytes;
    Log.SizeInBytes = Input.Left;
    FuzzBeginWork(8 * FUZZ_WORK_OF_INPUT(Size) +
                  4ULL * ETL_MAXIMUM_BUFFER * (Size / 64));
    File.Allocator = &Allocator.Allocator;
    File.Read = FuzzReadLog;
    File.ReadContext = &Log;
    File.SizeInBytes = Log.SizeInBytes;
    Status = EtlInitializeFile(&File);
    FUZZ_CHECK((Status == STATUS_FILE_INVALID) == (File.Problem != NULL));
    FUZZ_CHECK(NT_SUCCESS(Status) || Status == STATUS_FILE_INVALID ||
               FuzzIsExpected(Status, &Allocator, &Log));
    EtlInitializeStates(&States, &Allocator.Allocator);
    if (NT_SUCCESS(Status)) {

        FUZZ_CHECK(File.NumberOfBuffers != 0);
        Status = EtlReadEvents(&File, FuzzTakeEvent, &Log, &Counts);
        FUZZ_CHECK(!NT_SUCCESS(Status) ||
                   Log.NumberOfEvents == Counts.Switches + Counts.Readies +
                                             Counts.Samples + Counts.Threads +
                                             Counts.Processes + Counts.Gaps);
    }

    if ((Flags & 1) != 0) {
        States.Clock.Counter = File.StartTimestamp;
        States.Clock.Timestamp = 0x100000000ULL;
        States.Clock.Counts = 10000000;
        States.Clock.Ticks = 2900000000ULL + Flags;
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < RTL_NUMBER_OF(Pauses);
         Index++) {
        Pauses[Index].Stop = EtlConvertTime(
            &States.Clock,
            File.StartTimestamp + (ULONGLONG)Flags * 40 * (Index + 1));
        Pauses[Index].Start = Pauses[Index].Stop + Flags * 20;
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < FUZZ_ETL_THREADS; Index++) {
        Status = EtlAddThread(&States,
                              0x1000 + 4 * (Index / 2 * 2),
                              Pauses,
                              (Flags & 2) != 0 && Index % 2 != 0
                                  ? RTL_NUMBER_OF(Pauses)
                                  : 0);
    }

    if (NT_SUCCESS(Status)) {
        Status = EtlReadStates(&States, &File);
    }

    FUZZ_CHECK(NT_SUCCESS(Status) || Status == STATUS_FILE_INVALID ||
               FuzzIsExpected(Status, &Allocator, &Log));
    for (Index = 0; NT_SUCCESS(Status) && Index < States.NumberOfThreads;
         Index++) {
        FuzzCheckThread(&States, Index, &Numbers);
    }

    EtlRundownStates(&States);
    EtlRundownStates(&States);
    EtlRundownFile(&File);
    EtlRundownFile(&File);
    FUZZ_CHECK(Allocator.Count == 0);
    (VOID)FuzzEndWork();
    return 0;
}
