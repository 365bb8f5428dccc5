/*++

Module Name:

    EtlStates.h

Abstract:

    What some threads did at any time, from a log: ran, were ready to, or
    waited.

    Time of which the log does not say what a thread did is unknown, and never
    counted as one of these: what is before its first event and after the log's
    last one, what comes after something was lost until the next event that
    says what was before, and what two events say differently.

    Memory is bounded by the events of the threads that were asked for, the
    starts and ends of threads, and the log's buffers.

--*/

#ifndef TRACER_ETL_STATES_H
#define TRACER_ETL_STATES_H

#include "../Core/CoreClock.h"
#include "../Core/CoreControl.h"
#include "../Base/BaseContainer.h"
#include "EtlEvents.h"

typedef enum _ETL_STATE {
    EtlStateUnknown = 0,
    EtlStateRunning,
    EtlStateReady,
    EtlStateWaiting,
    EtlStatePaused                  // recording was stopped: not counted
} ETL_STATE;

//
// Ticks; of a sum up to a time, those since the first event.
//

typedef struct _ETL_SUMS {
    ULONGLONG Running;
    ULONGLONG Ready;
    ULONGLONG Waiting;
    ULONGLONG Samples;
} ETL_SUMS;
typedef ETL_SUMS *PETL_SUMS;
typedef const ETL_SUMS *PCETL_SUMS;

//
// From here to the next one a thread was in a state.
//

typedef struct _ETL_SPAN {
    ULONGLONG Start;                // time stamp, of the session
    ULONGLONG Running;              // up to here, in all; these three in ticks
    ULONGLONG Ready;
    ULONGLONG Waiting;
    ULONG By;                       // of waiting: who ended it, a thread;
                                    // ETL_NO_THREAD: not known
    UCHAR State;                    // ETL_STATE
    UCHAR Reason;                   // KWAIT_REASON
    BOOLEAN IsInterrupt;            // of waiting: no thread ended it
    BOOLEAN IsEnded;                // of waiting: it was seen to end
} ETL_SPAN;
typedef ETL_SPAN *PETL_SPAN;
typedef const ETL_SPAN *PCETL_SPAN;

//
// A thread that was asked for.
//

typedef struct _ETL_THREAD {
    ULONG ThreadId;
    ULONG NextSame;                 // of the same identifier; ETL_NO_THREAD
    PCCORE_PAUSE Pauses;            // the caller's, in order: not counted
    ULONG NumberOfPauses;
    PETL_SPAN Spans;
    ULONG NumberOfSpans;
    ULONG CapacityOfSpans;
    ULONG FirstSample;              // of the samples' times
    ULONG NumberOfSamples;
} ETL_THREAD;
typedef ETL_THREAD *PETL_THREAD;
typedef const ETL_THREAD *PCETL_THREAD;

typedef struct _ETL_RECORD *PETL_RECORD;
typedef struct _ETL_GAP *PETL_GAP;
typedef struct _ETL_OWNER *PETL_OWNER;
typedef struct _ETL_PROCESS *PETL_PROCESS;

//
// Time on the log's clock and on the session's: two moments of both.  With
// Counts 0 the clocks are one.
//

typedef struct _ETL_CLOCK {
    ULONGLONG Counter;              // the earlier moment, the log's
    ULONGLONG Timestamp;            // the session's
    ULONGLONG Counts;               // from it to the later one
    ULONGLONG Ticks;                // likewise
} ETL_CLOCK;
typedef ETL_CLOCK *PETL_CLOCK;
typedef const ETL_CLOCK *PCETL_CLOCK;

typedef struct _ETL_STATES {
    PCALLOCATOR Allocator;
    ETL_CLOCK Clock;                // the caller's
    READER_MAP Indexes;             // identifier to the first of its threads
    PETL_THREAD Threads;            // as they were added
    ULONG NumberOfThreads;
    ULONG CapacityOfThreads;
    PETL_RECORD Records;            // these are kept only while it is read
    PULONG RecordOrder;
    ULONG NumberOfRecords;
    ULONG CapacityOfRecords;
    PETL_GAP Gaps;                  // by processor, in the order of time
    ULONG NumberOfGaps;
    ULONG CapacityOfGaps;
    PETL_GAP AllGaps;               // of all, put together
    ULONG NumberOfAllGaps;
    PETL_OWNER Owners;
    PULONG OwnerOrder;
    ULONG NumberOfOwners;
    ULONG CapacityOfOwners;
    PETL_PROCESS Processes;         // that have names, as they came
    ULONG NumberOfProcesses;
    ULONG CapacityOfProcesses;
    PULONGLONG Samples;             // time stamps, by thread and time
    ULONG NumberOfSamples;
    ULONGLONG Start;                // time stamps: of the first switch,
    ULONGLONG End;                  // and of the last event
    ULONGLONG Contradictions;       // events that do not go together with
                                    // those before them
    ETL_COUNTS Counts;
} ETL_STATES;
typedef ETL_STATES *PETL_STATES;
typedef const ETL_STATES *PCETL_STATES;

//
// Makes a state without threads.
//

VOID
EtlInitializeStates(
    _Out_ PETL_STATES States,
    _In_ PCALLOCATOR Allocator
    );

VOID
EtlRundownStates(
    _Inout_ PETL_STATES States
    );

//
// Asks for a thread, before the log is read.  Its index is the number of those
// before it.
// Pauses: in the order of time; must outlive the states.
//

_Must_inspect_result_
NTSTATUS
EtlAddThread(
    _Inout_ PETL_STATES States,
    _In_ ULONG ThreadId,
    _In_reads_(NumberOfPauses) PCCORE_PAUSE Pauses,
    _In_ ULONG NumberOfPauses
    );

//
// Reads the log.
//

_Must_inspect_result_
NTSTATUS
EtlReadStates(
    _Inout_ PETL_STATES States,
    _In_ PCETL_FILE File
    );

//
// Converts a time of the log to a time stamp of the session.
//

ULONGLONG
EtlConvertTime(
    _In_ PCETL_CLOCK Clock,
    _In_ ULONGLONG Time
    );

//
// Says what a thread did between two times, in all.
//

VOID
EtlQuerySums(
    _In_ PCETL_STATES States,
    _In_ ULONG Thread,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Out_ PETL_SUMS Sums
    );

//
// The wait that made up most: of all reasons the one that took longest in
// total, and its longest wait.  FALSE: the thread did not wait.
//

typedef struct _ETL_WAIT {
    ULONGLONG Ticks;                // of the reason, in all
    ULONGLONG LongestTicks;         // of the wait, in the call
    ULONGLONG End;                  // when it ended; it may be after the call
    ULONG By;                       // as of ETL_SPAN
    UCHAR Reason;
    BOOLEAN IsInterrupt;
    BOOLEAN IsEnded;
} ETL_WAIT;
typedef ETL_WAIT *PETL_WAIT;
typedef const ETL_WAIT *PCETL_WAIT;

_Success_(return != FALSE)
BOOLEAN
EtlFindWait(
    _In_ PCETL_STATES States,
    _In_ ULONG Thread,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Out_ PETL_WAIT Wait
    );

//
// The process that a thread was of at a time; ETL_NO_THREAD: the log does not
// say.
//

ULONG
EtlFindProcess(
    _In_ PCETL_STATES States,
    _In_ ULONG ThreadId,
    _In_ ULONGLONG Timestamp
    );

//
// The name of a process at a time, not terminated; NULL: the log does not say.
//

const CHAR *
EtlFindProcessName(
    _In_ PCETL_STATES States,
    _In_ ULONG ProcessId,
    _In_ ULONGLONG Timestamp,
    _Out_ PULONG LengthInBytes
    );

//
// Names a reason to wait, as KWAIT_REASON does; NULL: it is not known.
//

PCSZ
EtlNameReason(
    _In_ UCHAR Reason
    );

#endif // TRACER_ETL_STATES_H
