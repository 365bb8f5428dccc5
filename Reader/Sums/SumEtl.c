/*++

Module Name:

    SumEtl.c

Abstract:

    An event trace log, joined with a session.

    A log's times are counts of the performance counter, and a session's stores
    have moments of both that and the time stamp counter: between the two that
    are farthest apart, and beyond them, one is a line over the other.  That the
    log is of the same boot is seen by its system time.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "SumEtl.h"

#define READER_SYSTEM_TIME_PER_SECOND 10000000ULL

//
// How far the system times of log and session may be apart at one moment: two
// seconds (a clock that was set) and a thousandth of the time in between.
//

#define READER_ETL_TOLERANCE (2 * READER_SYSTEM_TIME_PER_SECOND)
#define READER_ETL_TOLERANCE_DIVISOR 1000


static
NTSTATUS
SumEtlRead(
    _In_ PVOID Context,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(SizeInBytes) PVOID Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PCREADER_ETL Etl = (PCREADER_ETL)Context;
    ULONG Read = 0;
    ULONG Done = 0;
    NTSTATUS Status = STATUS_SUCCESS;

    while (NT_SUCCESS(Status) && Done < SizeInBytes) {

        Status = RtlReadFile(Etl->Session->Context->Rtl,
                             Etl->Handle,
                             Offset + Done,
                             (PUCHAR)Bytes + Done,
                             SizeInBytes - Done,
                             &Read);
        if (NT_SUCCESS(Status) && Read == 0) {
            Status = STATUS_END_OF_FILE;
        }

        Done += Read;
    }

    return Status;
}


//
// Says why a log cannot be joined. Returns FALSE.
//

static
BOOLEAN
SumEtlRefuse(
    _In_ PCREADER_ETL Etl,
    _In_z_ PCSZ Problem
    )
{
    PRTL_WRITER Errors = Etl->Session->Context->Errors;

    RtlWriteText(Errors,
                 "TraceReader: %T cannot be joined with the session: %s\n",
                 Etl->Name,
                 Problem);
    RtlFlushWriter(Errors);
    return FALSE;
}


//
// Decides whether the log and the session had one system time at the log's
// start.
//

static
BOOLEAN
SumEtlIsSameBoot(
    _In_ PCREADER_ETL Etl
    )
{
    PCCORE_CLOCK Clock = &Etl->Session->Clock;
    PCETL_FILE File = &Etl->File;
    ULONGLONG Here;
    ULONGLONG Difference;
    ULONGLONG Passed;

    if (File->ClockType == ETL_CLOCK_CYCLES) {
        Here = CoreTimestampToSystemTime(Clock, File->StartTimestamp);
    } else if (File->StartTimestamp >= Clock->Earliest.Qpc) {
        Here = Clock->Earliest.SystemTime +
               CoreMultiplyDivide(File->StartTimestamp - Clock->Earliest.Qpc,
                                  READER_SYSTEM_TIME_PER_SECOND,
                                  File->Frequency);
    } else {
        Here = Clock->Earliest.SystemTime -
               CoreMultiplyDivide(Clock->Earliest.Qpc - File->StartTimestamp,
                                  READER_SYSTEM_TIME_PER_SECOND,
                                  File->Frequency);
    }

    Difference = Here > File->StartTime ? Here - File->StartTime
                                        : File->StartTime - Here;
    Passed = Here > Clock->Earliest.SystemTime
                 ? Here - Clock->Earliest.SystemTime
                 : Clock->Earliest.SystemTime - Here;
    return Difference <= READER_ETL_TOLERANCE +
                             Passed / READER_ETL_TOLERANCE_DIVISOR;
}


//
// Finds how times of the log become the session's.
//

static
BOOLEAN
SumEtlJoinClocks(
    _Inout_ PREADER_ETL Etl
    )
{
    PCCORE_CLOCK Clock = &Etl->Session->Clock;
    PETL_CLOCK Joined = &Etl->States.Clock;

    if (Clock->Ticks == 0) {
        return SumEtlRefuse(Etl,
                            "the session does not have two readings of the "
                            "clocks");
    }

    if (Etl->File.ClockType == ETL_CLOCK_COUNTER) {

        if (Etl->File.Frequency != Clock->QpcFrequency) {
            return SumEtlRefuse(Etl,
                                "its counter has another rate: it is of "
                                "another machine");
        }

        Joined->Counter = Clock->Earliest.Qpc;
        Joined->Timestamp = Clock->Earliest.Tsc;
        Joined->Counts = Clock->Latest.Qpc - Clock->Earliest.Qpc;
        Joined->Ticks = Clock->Latest.Tsc - Clock->Earliest.Tsc;
    }

    if (!SumEtlIsSameBoot(Etl)) {
        return SumEtlRefuse(Etl,
                            "it was another time then: it is of another boot "
                            "or machine");
    }

    return TRUE;
}


//
// Reads what the session's threads did.
//

static
BOOLEAN
SumEtlReadStates(
    _Inout_ PREADER_ETL Etl
    )
{
    PREADER_SESSION Session = Etl->Session;
    const READER_CONTROL *Control;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Session->NumberOfThreads;
         Index++) {

        Control = &Session->Processes[Session->Threads[Index].Process].Control;
        Status = EtlAddThread(&Etl->States,
                              Session->Threads[Index].ThreadId,
                              Control->Pauses,
                              Control->NumberOfPauses);
    }

    if (NT_SUCCESS(Status)) {
        Status = EtlReadStates(&Etl->States, &Etl->File);
    }

    if (!NT_SUCCESS(Status)) {
        (VOID)BaseFail(Session->Context, "read the log", Etl->Name, Status);
        return FALSE;
    }

    if (Etl->States.Counts.Switches == 0) {
        return SumEtlRefuse(
            Etl,
            Etl->States.Counts.Compact != 0
                ? "its context switches are compact ones, which are not read"
                : "there are no context switches in it: record them with "
                  "CSWITCH");
    }

    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
SumEtlOpen(
    PREADER_ETL Etl,
    PREADER_SESSION Session,
    PCREADER_OPTIONS Options
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    UNICODE_STRING NtPath;
    NTSTATUS Status;

    RtlZeroBytes(Etl, sizeof(*Etl));
    Etl->Session = Session;
    Etl->Name = Options->EtlUtf8;
    EtlInitializeStates(&Etl->States, Context->Allocator);
    if ((Options->Given & READER_OPTION_ETL) == 0) {
        return TRUE;
    }

    Etl->IsThere = TRUE;
    if (Session->IsProbeSubtracted) {
        return SumEtlRefuse(Etl,
                            "what hooks cost is not taken out of what threads "
                            "did: --etl and --subtract-probe exclude each "
                            "other");
    }

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        return SumEtlRefuse(Etl,
                            "it was recorded with TRACER_CLOCK=none and has no "
                            "times");
    }

    Status = BaseMakeNtPath(Context, Options->Etl, &NtPath);
    if (NT_SUCCESS(Status)) {
        Status = RtlOpenFileForReading(Context->Rtl, &NtPath, &Etl->Handle);
        if (!NT_SUCCESS(Status)) {
            Etl->Handle = NULL;
        }

        Context->Allocator->Free(Context->Allocator->Context, NtPath.Buffer);
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlQueryFileSize(Context->Rtl,
                                  Etl->Handle,
                                  &Etl->File.SizeInBytes);
    }

    if (NT_SUCCESS(Status)) {
        Etl->File.Allocator = Context->Allocator;
        Etl->File.Read = SumEtlRead;
        Etl->File.ReadContext = Etl;
        Status = EtlInitializeFile(&Etl->File);
    }

    if (Etl->File.Problem != NULL) {
        return SumEtlRefuse(Etl, Etl->File.Problem);
    }

    if (!NT_SUCCESS(Status)) {
        (VOID)BaseFail(Context, "read the log", Etl->Name, Status);
        return FALSE;
    }

    return SumEtlJoinClocks(Etl) && SumEtlReadStates(Etl);
}


_Use_decl_annotations_
VOID
SumEtlClose(
    PREADER_ETL Etl
    )
{
    EtlRundownStates(&Etl->States);
    EtlRundownFile(&Etl->File);
    if (Etl->Handle != NULL) {
        RtlClose(Etl->Session->Context->Rtl, Etl->Handle);
        Etl->Handle = NULL;
    }
}


_Use_decl_annotations_
VOID
SumEtlQuery(
    PCREADER_ETL Etl,
    ULONG Thread,
    ULONGLONG Start,
    ULONGLONG End,
    ULONGLONG Ticks,
    PREADER_STATE_SUMS Sums
    )
{
    ULONGLONG Known;
    ETL_SUMS Found;

    EtlQuerySums(&Etl->States, Thread, Start, End, &Found);
    Sums->Running = Found.Running;
    Sums->Ready = Found.Ready;
    Sums->Waiting = Found.Waiting;
    Known = Found.Running + Found.Ready + Found.Waiting;
    Sums->Unknown = Ticks > Known ? Ticks - Known : 0;
}


_Use_decl_annotations_
ULONGLONG
SumEtlFindEnd(
    PCREADER_ETL Etl,
    ULONG Thread,
    ULONGLONG Start,
    ULONGLONG Ticks
    )
{
    PCETL_THREAD This = &Etl->States.Threads[Thread];
    ULONGLONG End = Start + Ticks;
    ULONG Index;

    for (Index = 0; Index < This->NumberOfPauses; Index++) {
        if (This->Pauses[Index].Stop >= Start &&
            This->Pauses[Index].Stop < End &&
            This->Pauses[Index].Start != READER_MAXIMUM_TIMESTAMP) {
            End += This->Pauses[Index].Start - This->Pauses[Index].Stop;
        }
    }

    return End;
}


_Use_decl_annotations_
VOID
SumEtlQueryCall(
    PCREADER_ETL Etl,
    ULONG Thread,
    ULONGLONG Start,
    ULONGLONG Ticks,
    PREADER_STATE_SUMS Sums
    )
{
    SumEtlQuery(Etl,
                Thread,
                Start,
                SumEtlFindEnd(Etl, Thread, Start, Ticks),
                Ticks,
                Sums);
}


_Use_decl_annotations_
ULONGLONG
SumEtlCountTicks(
    PCREADER_ETL Etl,
    ULONG Thread,
    ULONGLONG Start,
    ULONGLONG End
    )
{
    PCETL_THREAD This = &Etl->States.Threads[Thread];
    ULONGLONG Ticks = End > Start ? End - Start : 0;
    ULONGLONG From;
    ULONGLONG To;
    ULONG Index;

    for (Index = 0; Index < This->NumberOfPauses; Index++) {

        From = This->Pauses[Index].Stop;
        To = This->Pauses[Index].Start;
        From = From > Start ? From : Start;
        To = To < End ? To : End;
        if (From < To) {
            Ticks -= To - From;
        }
    }

    return Ticks;
}


_Use_decl_annotations_
PCSZ
SumEtlNameReason(
    PCETL_SPAN Span
    )
{
    return Span->State == EtlStateWaiting ? EtlNameReason(Span->Reason) : NULL;
}


_Use_decl_annotations_
VOID
SumEtlPutSums(
    PREADER_OUTPUT Output,
    PCREADER_STATE_SUMS Sums
    )
{
    if (Sums == NULL) {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        return;
    }

    OutputPutNumber(Output, Sums->Running);
    OutputPutNumber(Output, Sums->Ready);
    OutputPutNumber(Output, Sums->Waiting);
    OutputPutNumber(Output, Sums->Unknown);
}


_Use_decl_annotations_
VOID
SumEtlWriteSums(
    PRTL_WRITER Writer,
    PCCORE_CLOCK Clock,
    PCREADER_STATE_SUMS Sums
    )
{
    ULONGLONG Times[4];
    ULONG Index;

    if (Sums == NULL) {
        RtlWriteText(Writer, "%*s", 4 * (READER_TIME_WIDTH + 1), "");
        return;
    }

    Times[0] = Sums->Running;
    Times[1] = Sums->Ready;
    Times[2] = Sums->Waiting;
    Times[3] = Sums->Unknown;
    for (Index = 0; Index < RTL_NUMBER_OF(Times); Index++) {
        RtlWriteText(Writer, " ");
        OutputWriteTime(Writer, Clock, Times[Index]);
    }
}


_Use_decl_annotations_
VOID
SumEtlWriteTitles(
    PRTL_WRITER Writer
    )
{
    static const PCSZ Titles[] = { "Running", "Ready", "Waiting", "Unknown" };
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Titles); Index++) {
        RtlWriteText(Writer, " %*s", READER_TIME_WIDTH, Titles[Index]);
    }
}


_Use_decl_annotations_
VOID
SumEtlQuerySession(
    PCREADER_ETL Etl,
    PULONGLONG First,
    PULONGLONG Last
    )
{
    const READER_SESSION *Session = Etl->Session;
    const READER_THREAD *Thread;
    ULONG Index;

    *First = READER_MAXIMUM_TIMESTAMP;
    *Last = 0;
    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        Thread = &Session->Threads[Index];
        *First = *First < Thread->FirstTimestamp ? *First
                                                 : Thread->FirstTimestamp;
        *Last = *Last > Thread->LastTimestamp ? *Last : Thread->LastTimestamp;
    }
}


_Use_decl_annotations_
ULONGLONG
SumEtlQueryCoverage(
    PCREADER_ETL Etl
    )
{
    ULONGLONG First;
    ULONGLONG Last;
    ULONGLONG Start = Etl->States.Start;
    ULONGLONG End = Etl->States.End;

    SumEtlQuerySession(Etl, &First, &Last);
    Start = Start > First ? Start : First;
    End = End < Last ? End : Last;
    if (Last <= First || Start >= End) {
        return 0;
    }

    return CoreMultiplyDivide(End - Start, 10000, Last - First);
}


_Use_decl_annotations_
VOID
SumEtlPutNote(
    PREADER_OUTPUT Output,
    PCREADER_ETL Etl
    )
{
    const ETL_COUNTS *Counts = &Etl->States.Counts;
    PCETL_FILE File = &Etl->File;
    ULONGLONG Coverage;
    READER_NOTE Note;

    if (!Etl->IsThere || Output->Format != ReaderFormatText) {
        return;
    }

    Coverage = SumEtlQueryCoverage(Etl);
    OutputBeginNote(&Note);
    RtlWriteText(&Note.Writer,
                 "%T covers %llu.%02llu %% of the session's time; what it does "
                 "not say is unknown.",
                 Etl->Name,
                 Coverage / 100,
                 Coverage % 100);
    OutputEndNote(Output, &Note);
    if (File->EventsLost != 0 || File->BuffersLost != 0 || Counts->Gaps != 0) {
        OutputBeginNote(&Note);
        RtlWriteText(&Note.Writer,
                     "The log says that it lost %u events and %u buffers; "
                     "%llu gaps are seen in it, around which what threads did "
                     "is unknown.",
                     File->EventsLost,
                     File->BuffersLost,
                     Counts->Gaps);
        OutputEndNote(Output, &Note);
    }

    if (Counts->Readies == 0) {
        OutputPutNote(Output,
                      "The log does not say when threads were made ready: "
                      "ready is part of waiting (record with DISPATCHER).");
    }

    if (Counts->Compact != 0) {
        OutputPutNote(Output,
                      "The log also has compact context switches, which are "
                      "not read.");
    }
}
