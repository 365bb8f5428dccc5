/*++

Module Name:

    SessionDescribe.c

Abstract:

    The words for states, reasons and problems, and what is to be said of a
    session below its tables.

--*/

#include "../Base/BaseExit.h"
#include "SessionControl.h"
#include "SessionDescribe.h"
#include "SessionProcess.h"
#include "SessionSize.h"
#include "SessionTreeStore.h"

//
// The first four bytes of a ZIP file, which pack writes.
//

#define READER_ZIP_MAGIC 0x04034B50u

#define SESSION_IS_DETACHED(Header)                                         \
    (((Header)->Flags & TRACE_FLAG_IMPORTS) != 0 &&                         \
     (Header)->Reason == TRACE_REASON_MODULE_UNLOAD)


_Use_decl_annotations_
PCSZ
SessionDescribeReason(
    PCTRACE_STORE_HEADER Header
    )
{
    switch (Header->Reason) {

    case TRACE_REASON_NONE:
        return "none";

    case TRACE_REASON_THREAD_EXIT:
        return "thread exit";

    case TRACE_REASON_MODULE_UNLOAD:
        return SESSION_IS_DETACHED(Header) ? "detached" : "module unload";

    case TRACE_REASON_PROCESS_EXIT:
        return "process exit";

    case TRACE_REASON_EXTEND_FAILED:
        return "the file cannot grow";

    case TRACE_REASON_MAP_FAILED:
        return "the file cannot be mapped";

    case TRACE_REASON_PAGE_FAILED:
        return "a page of the file is not available";

    case TRACE_REASON_INVARIANT:
        return "the library found itself inconsistent";

    case TRACE_REASON_MAXIMUM_BYTES:
        return "the maximum size was reached";

    case TRACE_REASON_MINIMUM_FREE:
        return "the disk has too little room left";
    }

    return "of a newer version";
}


_Use_decl_annotations_
BOOLEAN
SessionIsRingOverwritten(
    const READER_SESSION *Session
    )
{
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE &&
            Store->StartOfRecords > Store->Header->HeaderSize) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
BOOLEAN
SessionHasEnded(
    const READER_SESSION *Session,
    ULONG Process
    )
{
    PCREADER_PROCESS Owner;

    if (Process == READER_NONE) {
        return FALSE;
    }

    Owner = &Session->Processes[Process];
    return Owner->IsExitKnown ? !BaseIsCrash(Owner->ExitCode)
                              : Owner->HasClosed;
}


_Use_decl_annotations_
PCSZ
SessionDescribeStoreState(
    const READER_SESSION *Session,
    PCREADER_STORE Store
    )
{
    switch (Store->Header->State) {

    case TRACE_STATE_CLOSED:
        return "closed";

    case TRACE_STATE_STOPPED:
        return "stopped";

    default:
        return !SessionIsWriterGone(Session, Store) ? "open"
               : SessionHasEnded(Session,
                                 READER_PROCESS_OF_STORE(Session, Store))
                   ? "ended"
                   : "died";
    }
}


_Use_decl_annotations_
ULONG
SessionNextStore(
    const READER_SESSION *Session,
    ULONG Store
    )
{
    ULONG Next = Session->Stores[Store]->NextInThread;
    ULONG Thread = Session->Stores[Store]->Thread;
    ULONG Index;

    for (Index = Thread + 1;
         Next == READER_NONE && Index < Session->NumberOfThreads &&
         Session->NumberOfSame != 0;
         Index++) {

        if (Session->Threads[Index].Same == Session->Threads[Thread].Same) {
            Next = Session->Threads[Index].FirstStore;
        }
    }

    return Next;
}


_Use_decl_annotations_
PCSZ
SessionDescribeProcessState(
    const READER_SESSION *Session,
    ULONG Process,
    PREADER_STORE *Because
    )
{
    PREADER_STORE Unclosed = NULL;
    READER_PROCESS_STATE State = Session->ProcessState;
    BOOLEAN HasDied = FALSE;
    BOOLEAN IsDetached = FALSE;
    ULONG Owner;
    ULONG Index;

    if (Process != READER_NONE) {
        State = Session->Processes[Process].State;
    }

    *Because = NULL;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        Owner = READER_PROCESS_OF_STORE(Session, Store);
        if (Store->Thread == READER_NONE ||
            (Process != READER_NONE && Owner != Process)) {
            continue;
        }

        if (Store->Header->State == TRACE_STATE_STOPPED) {
            *Because = Store;
            return "stopped";
        }

        IsDetached = IsDetached || (SESSION_IS_DETACHED(Store->Header) &&
                                    Owner != READER_NONE &&
                                    Session->Processes[Owner].State ==
                                        ReaderProcessRunning);
        if (Store->Header->State == TRACE_STATE_OPEN && !HasDied) {
            HasDied = !SessionHasEnded(Session, Owner);
            if (HasDied || Unclosed == NULL) {
                Unclosed = Store;
            }
        }
    }

    if (State == ReaderProcessRunning) {
        return Unclosed == NULL && IsDetached ? "detached" : "open";
    }

    if (Unclosed == NULL) {
        return "closed";
    }

    if (State == ReaderProcessUnknown) {
        return "open";
    }

    *Because = Unclosed;
    return HasDied ? "died" : "ended";
}


_Use_decl_annotations_
PCSZ
SessionDescribeSymbolSource(
    READER_SYMBOL_SOURCE Source
    )
{
    switch (Source) {

    case ReaderSymbolSourcePdb:
        return "pdb";

    case ReaderSymbolSourceDwarf:
        return "dwarf";

    case ReaderSymbolSourceCoff:
        return "coff";

    case ReaderSymbolSourceExports:
        return "exports";

    default:
        return "none";
    }
}


//
// Says how long a store's file must be.
// Store: the store, its end beyond the file.
// Returns bytes.
//

static
ULONGLONG
SessionSizeOfRecords(
    _In_ PCREADER_STORE Store
    )
{
    ULONGLONG RingEnd = Store->Header->RingFileOffset +
                        Store->Header->RingSizeInBytes;

    return Store->Header->RingSizeInBytes != 0 &&
                   RingEnd < Store->PublishedEnd
               ? RingEnd
               : Store->PublishedEnd;
}


_Use_decl_annotations_
VOID
SessionDescribeStoreProblem(
    PCREADER_STORE Store,
    PRTL_WRITER Writer
    )
{
    PCCORE_HEADER_RESULT Result = &Store->HeaderResult;

    if (!NT_SUCCESS(Store->Status)) {

        PCSZ Name = RtlStatusName(Store->Status);

        RtlWriteText(Writer,
                     "%s: 0x%08X%s%s%s",
                     Store->FailedStep != NULL ? Store->FailedStep : "read",
                     (ULONG)Store->Status,
                     Name != NULL ? " (" : "",
                     Name != NULL ? Name : "",
                     Name != NULL ? ")" : "");
        return;
    }

    switch (Result->State) {

    case CoreHeaderValid:
        break;

    case CoreHeaderBeingCreated:
        RtlWriteText(Writer, "being created");
        return;

    case CoreHeaderTooShort:
        RtlWriteText(Writer,
                     "header: the file ends inside it, at offset %llu",
                     Result->Value);
        return;

    default:
        if (Result->FileOffset == 0 &&
            (ULONG)Result->Value == READER_ZIP_MAGIC) {
            RtlWriteText(Writer,
                         "it is a ZIP file: unpack it, and give TraceReader "
                         "the folder that is in it");
            return;
        }

        RtlWriteText(Writer,
                     "header: %s at offset 0x%x %s (0x%llx)",
                     Result->Field,
                     Result->FileOffset,
                     Result->Problem,
                     Result->Value);
        return;
    }

    if (Store->IsForeign) {
        RtlWriteText(Writer,
                     "it is of another process (%u) than the session",
                     Store->Header->ProcessId);
        return;
    }

    if (Store->IsCopy) {
        RtlWriteText(Writer, "it is a copy of a store in another directory");
        return;
    }

    switch (Store->EndState) {

    case CoreEndBad:
        RtlWriteText(Writer,
                     "header: the end of the records (0x%llx) is not the end "
                     "of a record",
                     Store->PublishedEnd);
        return;

    case CoreEndBeyondFile:
        if (Store->Header->Mode == TRACE_MODE_TREE) {
            RtlWriteText(Writer,
                         "the file ends at offset %llu, %llu bytes before "
                         "the end of its nodes",
                         Store->FileSize,
                         Store->PublishedEnd - Store->FileSize);
            return;
        }

        if (READER_IS_STORE_COMPACT(Store)) {
            RtlWriteText(Writer,
                         "the file ends at offset %llu, before %llu of its "
                         "records",
                         Store->FileSize,
                         (Store->PublishedEnd - Store->EndOfRecords) /
                             TRACE_RECORD_SIZE);
            return;
        }

        RtlWriteText(Writer,
                     "the file ends at offset %llu, %llu bytes before the "
                     "end of its records",
                     Store->FileSize,
                     SessionSizeOfRecords(Store) - Store->FileSize);
        return;

    default:
        return;
    }
}

_Use_decl_annotations_
ULONG
SessionFailThread(
    const READER_SESSION *Session,
    ULONG Thread,
    NTSTATUS Status
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONG StoreIndex;

    for (StoreIndex = Session->Threads[Thread].FirstStore;
         StoreIndex != READER_NONE;
         StoreIndex = Session->Stores[StoreIndex]->NextInThread) {

        PREADER_STORE Store = Session->Stores[StoreIndex];

        if (!NT_SUCCESS(Store->Status)) {
            RtlWriteText(Errors, "TraceReader: %Z: ", &Store->Name);
            SessionDescribeStoreProblem(Store, Errors);
            RtlWriteText(Errors, "\n");
            RtlFlushWriter(Errors);
            return READER_EXIT_FAILURE;
        }
    }

    RtlWriteText(Errors,
                 "TraceReader: read thread %u: 0x%08X\n",
                 Session->Threads[Thread].ThreadId,
                 (ULONG)Status);
    RtlFlushWriter(Errors);
    return READER_EXIT_FAILURE;
}

//
// Writes a time of the time stamp counter without blanks before it.
// Clock: the session's.
//

static
VOID
SessionWriteTrimmedTime(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks
    )
{
    CORE_CLOCK Exact = *Clock;
    RTL_WRITER TimeWriter;
    CHAR Time[32];
    ULONG Skip = 0;

    Exact.Kind = TRACE_CLOCK_TSC;
    RtlInitializeBufferWriter(&TimeWriter, Time, sizeof(Time));
    OutputWriteTime(&TimeWriter, &Exact, Ticks);
    while (Skip < TimeWriter.LengthInBytes && Time[Skip] == ' ') {
        Skip += 1;
    }

    RtlWriteBytes(Writer, Time + Skip, TimeWriter.LengthInBytes - Skip);
    if (Clock->Ticks == 0) {
        RtlWriteText(Writer, " ticks");
    }
}

//
// Says what a clock thread's times are worth.
//

static
VOID
SessionWriteThreadClock(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session
    )
{
    PCCORE_CLOCK Clock = &Session->Clock;

    RtlWriteText(Writer, "Times are those of a clock thread, in steps of ");
    if (Clock->Resolution != 0) {
        SessionWriteTrimmedTime(Writer, Clock, Clock->Resolution);
    } else {
        RtlWriteText(Writer, "a size that is not known");
    }

    if (Session->NumberOfClockFreezes != 0) {
        RtlWriteText(Writer,
                     ".  It stood still %llu times, the longest for ",
                     Session->NumberOfClockFreezes);
        SessionWriteTrimmedTime(Writer, Clock, Session->MaximumClockStep);
    }

    RtlWriteText(Writer, ".\n");
}

//
// Says which calls were not kept while the session was recorded, because their
// time is in that of others.
//

static
VOID
SessionWriteLeftOut(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session
    )
{
    PCTRACE_STORE_HEADER Header = Session->Header;
    ULONGLONG Calls = 0;
    ULONGLONG Doubtful = 0;
    ULONGLONG Kept = 0;
    ULONGLONG Minimum = 0;
    RTL_WRITER Time;
    CHAR Text[32];
    ULONG Index;
    ULONG Skip = 0;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        if (Session->Stores[Index]->Thread != READER_NONE) {
            Calls += Session->Stores[Index]->Header->NumberOfCallsTakenBack;
            if (Session->Stores[Index]->Header->MinimumDuration > Minimum) {
                Minimum = Session->Stores[Index]->Header->MinimumDuration;
            }
            Doubtful +=
                Session->Stores[Index]->Header->NumberOfEventsDoubtful;
            if (!Session->Stores[Index]->IsTree) {
                Kept += Session->Stores[Index]->Header->NumberOfCallsDoubtful;
            }
        }
    }

    if (Calls != 0) {

        RtlInitializeBufferWriter(&Time, Text, sizeof(Text));
        OutputWriteTime(&Time, &Session->Clock, Minimum);
        while (Skip < Time.LengthInBytes && Text[Skip] == ' ') {
            Skip += 1;
        }

        RtlWriteText(Writer,
                     "TRACER_MIN_DURATION: %llu call%s that took less than ",
                     Calls,
                     Calls == 1 ? "" : "s");
        RtlWriteBytes(Writer, Text + Skip, Time.LengthInBytes - Skip);
        RtlWriteText(Writer,
                     " were taken back; their time is in the self time of "
                     "their callers.\n");
    }

    if (Kept != 0) {
        RtlWriteText(Writer,
                     "%llu call%s that took less %s kept: without unwind data "
                     "it cannot be known whether the latest entry is that of "
                     "the call which ends.\n",
                     Kept,
                     Kept == 1 ? "" : "s",
                     Kept == 1 ? "was" : "were");
    }

    if (Header->MaximumDepth != 0) {
        RtlWriteText(Writer,
                     "TRACER_MAX_DEPTH: calls deeper than %u were not "
                     "recorded; their time is in the self time of those "
                     "above.\n",
                     Header->MaximumDepth);
    }

    if (Doubtful != 0) {
        RtlWriteText(Writer,
                     "Up to %llu of the hook calls that were left out may not "
                     "have been deeper: the depth is not certain where calls "
                     "are left without an exit.\n",
                     Doubtful);
    }
}

_Use_decl_annotations_
VOID
SessionPutProcess(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session,
    ULONG Process
    )
{
    PCREADER_PROCESS Known = &Session->Processes[Process];

    OutputPutNumber(Output, Known->Header->ProcessId);
    OutputPutText(Output, Known->Name, Known->NameLength);
}

_Use_decl_annotations_
VOID
SessionPutClockNote(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session
    )
{
    ULONG Threads;

    if (Output->Format == ReaderFormatText) {
        SessionWriteLeftOut(Output->Writer, Session);
    }

    if (Session->HasOther) {
        OutputPutNote(Output,
                      "(other): calls of functions for which a tree had no "
                      "more room (TRACER_MAX_BYTES), and of what these "
                      "called.");
    }

    Threads = SessionCountThreadsOfTrees(Session);
    if (Threads != 0 && Output->Format == ReaderFormatText) {
        RtlWriteText(Output->Writer,
                     READER_THREADS_OF_TREES_TEXT "\n",
                     Threads,
                     Threads == 1 ? "" : "s");
    }

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        OutputPutNote(Output,
                      "There are no times: the session was recorded with "
                      "TRACER_CLOCK=none.  Calls and their order are right.");
        return;
    }

    if (Session->Clock.IsRaw && Session->Clock.Ticks != 0) {
        OutputPutNote(Output, "Times are whole nanoseconds.");
    }

    if (Session->Clock.Kind == TRACE_CLOCK_THREAD &&
        Output->Format == ReaderFormatText) {
        SessionWriteThreadClock(Output->Writer, Session);
    }

    if (Session->Clock.Ticks == 0) {
        OutputPutNote(Output,
                      "Times are ticks of the time stamp counter: the stores "
                      "hold no two readings of the clocks.");
    } else if ((Session->Header->Flags & TRACE_FLAG_TSC_INVARIANT) == 0) {
        OutputPutNote(Output,
                      "Times are approximate: the time stamp counter is not "
                      "invariant.");
    } else if (Session->Clock.Nanoseconds < READER_MINIMUM_CLOCK_SPAN) {
        OutputPutNote(Output,
                      "Times are approximate: the readings of the clocks are "
                      "less than 10 ms apart.");
    }
}

_Use_decl_annotations_
ULONGLONG
SessionCountRecords(
    const READER_SESSION *Session,
    PCREADER_OPTIONS Options
    )
{
    ULONGLONG Records = 0;
    PCREADER_STORE Store;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread != READER_NONE &&
            READER_IS_THREAD_SELECTED(
                Options,
                Session->Threads[Store->Thread].ThreadId) &&
            Store->EndOfRecords > Store->StartOfRecords) {
            Records += (Store->EndOfRecords - Store->StartOfRecords) /
                       TRACE_RECORD_SIZE;
        }
    }

    return Records;
}


_Use_decl_annotations_
VOID
SessionPutStopNote(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session
    )
{
    PCREADER_STORE Stopped = NULL;
    ULONGLONG Lost = 0;
    ULONG Stores = 0;
    ULONG Index;

    if (Output->Format != ReaderFormatText) {
        return;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE &&
            Store->Header->State == TRACE_STATE_STOPPED &&
            Store->Header->Reason == TRACE_REASON_MINIMUM_FREE) {
            Stopped = Store;
            Lost += Store->Header->NumberOfEventsLost;
            Stores += 1;
        }
    }

    if (Stopped != NULL) {
        RtlWriteText(Output->Writer,
                     "Stopped: %s: %llu events of %u store%s are not "
                     "recorded.\n",
                     SessionDescribeReason(Stopped->Header),
                     Lost,
                     Stores,
                     Stores == 1 ? "" : "s");
    }
}


static
BOOLEAN
SessionQueryThreadCpu(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread,
    _Out_ PULONGLONG Time
    )
{
    ULONGLONG First = ~0ULL;
    ULONGLONG Last = 0;
    ULONGLONG Begin;
    ULONGLONG End;
    ULONG Index;

    //
    // Stores of several modules overlap.
    //

    for (Index = Session->Threads[Thread].FirstStore;
         Index != READER_NONE;
         Index = SessionNextStore(Session, Index)) {

        PCTRACE_STORE_HEADER Header = Session->Stores[Index]->Header;

        if (Header->State == TRACE_STATE_OPEN ||
            !CoreGetThreadTimes(Header, &Begin, &End)) {
            return FALSE;
        }

        First = Begin < First ? Begin : First;
        Last = End > Last ? End : Last;
    }

    *Time = Last - First;
    return First <= Last;
}


_Use_decl_annotations_
BOOLEAN
SessionQueryProcessCpu(
    const READER_SESSION *Session,
    ULONG Process,
    PULONGLONG Time
    )
{
    ULONGLONG Sum = 0;
    ULONGLONG One;
    ULONGLONG Largest;
    ULONG Number;
    ULONG Index;
    BOOLEAN IsKnown;

    for (Number = 0; Number < Session->NumberOfProcesses; Number++) {

        if (Process != READER_NONE && Process != Number) {
            continue;
        }

        IsKnown = FALSE;
        Largest = 0;
        for (Index = 0; Index < Session->NumberOfStores; Index++) {

            PCREADER_STORE Store = Session->Stores[Index];

            if (Store->Thread != READER_NONE &&
                READER_PROCESS_OF_STORE(Session, Store) == Number &&
                Store->Header->Reason == TRACE_REASON_PROCESS_EXIT &&
                CoreGetProcessTime(Store->Header, &One)) {
                IsKnown = TRUE;
                Largest = One > Largest ? One : Largest;
            }
        }

        if (!IsKnown && Session->Processes[Number].ExitCpuTime != 0) {
            IsKnown = TRUE;
            Largest = Session->Processes[Number].ExitCpuTime;
        }

        if (!IsKnown || Sum + Largest < Sum) {
            return FALSE;
        }

        Sum += Largest;
    }

    *Time = Sum;
    return Session->NumberOfProcesses != 0;
}


_Use_decl_annotations_
VOID
SessionPutThreadCpu(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session,
    ULONG Thread
    )
{
    ULONGLONG Time;

    if (SessionQueryThreadCpu(Session, Thread, &Time)) {
        OutputPutNumber(Output, Time);
    } else {
        OutputPutNothing(Output);
    }
}


_Use_decl_annotations_
VOID
SessionPutDate(
    PREADER_OUTPUT Output,
    PCCORE_CLOCK Clock,
    ULONGLONG Timestamp
    )
{
    if (Timestamp == 0 || Clock->Ticks == 0 ||
        Clock->Kind == TRACE_CLOCK_NONE) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output, CoreTimestampToSystemTime(Clock, Timestamp));
    }
}


_Use_decl_annotations_
VOID
SessionPutExitText(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session,
    ULONG Process
    )
{
    PCREADER_PROCESS Owner = &Session->Processes[Process];
    RTL_WRITER Writer;
    CHAR Text[64];

    if (Owner->IsExitKnown) {
        RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
        BaseDescribeExit(&Writer, Owner->ExitCode, TRUE);
        OutputPutText(Output, Text, Writer.LengthInBytes);
    } else if (Owner->State == ReaderProcessRunning) {
        OutputPutString(Output, "none yet");
    } else if (Session->Header != NULL &&
               (Session->Header->Flags & TRACE_FLAG_KERNEL) != 0) {
        OutputPutString(Output, "not known (a driver has none)");
    } else {
        OutputPutString(Output, "not known (TraceReader run keeps it)");
    }
}


_Use_decl_annotations_
VOID
SessionPutProcessExit(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session,
    ULONG Process
    )
{
    if (Session->Processes[Process].IsExitKnown) {
        OutputPutNumber(Output, Session->Processes[Process].ExitCode);
    } else {
        OutputPutNothing(Output);
    }
}


_Use_decl_annotations_
VOID
SessionPutProcessCpu(
    PREADER_OUTPUT Output,
    const READER_SESSION *Session,
    ULONG Process
    )
{
    ULONGLONG Time;

    if (SessionQueryProcessCpu(Session, Process, &Time)) {
        OutputPutNumber(Output, Time);
    } else {
        OutputPutNothing(Output);
    }
}


_Use_decl_annotations_
VOID
SessionQueryStoredBytes(
    PCREADER_STORE Store,
    PULONGLONG Bytes,
    PULONGLONG Lost
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;

    *Bytes = SessionCountStoredBytes(Store);
    *Lost = READER_EVENTS_LOST(Header) + Header->NumberOfEventsReentered;
}

_Use_decl_annotations_
VOID
SessionWarnOfStores(
    PREADER_SESSION Session
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        if (Store->IsWarned ||
            (Store->Thread != READER_NONE &&
             Store->EndState == CoreEndValid)) {
            continue;
        }

        if (NT_SUCCESS(Store->Status) &&
            Store->HeaderResult.State == CoreHeaderBeingCreated) {
            continue;
        }

        Store->IsWarned = TRUE;
        RtlWriteText(Errors, "TraceReader: warning: %Z: ", &Store->Name);
        SessionDescribeStoreProblem(Store, Errors);
        RtlWriteText(Errors,
                     Store->Thread == READER_NONE ? "; left out\n" : "\n");
    }

    SessionWarnOfControl(Session);
    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
VOID
SessionQueryThreadSpan(
    const READER_SESSION *Session,
    ULONG Thread,
    PULONGLONG First,
    PULONGLONG Last
    )
{
    const READER_THREAD *This = &Session->Threads[Thread];
    ULONG Index;

    *First = This->FirstTimestamp;
    *Last = This->LastTimestamp;
    for (Index = Thread + 1;
         This->IsAgain && Index < Session->NumberOfThreads;
         Index++) {
        if (Session->Threads[Index].Same == Thread) {
            if (Session->Threads[Index].FirstTimestamp < *First) {
                *First = Session->Threads[Index].FirstTimestamp;
            }
            if (Session->Threads[Index].LastTimestamp > *Last) {
                *Last = Session->Threads[Index].LastTimestamp;
            }
        }
    }
}
