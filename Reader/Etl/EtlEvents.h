/*++

Module Name:

    EtlEvents.h

Abstract:

    The events of a log that say what threads do.

--*/

#ifndef TRACER_ETL_EVENTS_H
#define TRACER_ETL_EVENTS_H

#include "EtlFile.h"

#define ETL_NO_THREAD 0xFFFFFFFFu
#define ETL_MAXIMUM_TIME 0xFFFFFFFFFFFFFFFFULL

typedef enum _ETL_EVENT_KIND {
    EtlEventSwitch = 0,             // Thread runs, Other does not any more
    EtlEventReady,                  // Other has made Thread ready
    EtlEventSample,                 // Thread was running
    EtlEventThreadStart,            // Thread is one of process Other from here
    EtlEventThreadEnd,              // likewise, up to here
    EtlEventProcess,                // process Other has a name
    EtlEventGap                     // of the processor something is lost
} ETL_EVENT_KIND;

typedef struct _ETL_EVENT {
    ETL_EVENT_KIND Kind;
    ULONG Processor;
    ULONGLONG Timestamp;            // on the log's clock; of a gap its end
    ULONGLONG Start;                // of a gap
    ULONG Thread;                   // identifier
    ULONG Other;                    // ETL_NO_THREAD: not known
    UCHAR State;                    // Other's, of a switch: ETL_THREAD_*
    UCHAR Reason;                   // what it waits for: KWAIT_REASON
    BOOLEAN IsInterrupt;            // of a ready: it was none of a thread's
    UCHAR NameLength;               // of a process: bytes
    const CHAR *Name;               // valid until the next event
} ETL_EVENT;
typedef ETL_EVENT *PETL_EVENT;
typedef const ETL_EVENT *PCETL_EVENT;

//
// Takes an event.  What it fails with ends the reading.
//

typedef
_Must_inspect_result_
NTSTATUS
(ETL_TAKE_EVENT)(
    _In_ PVOID Context,
    _In_ PCETL_EVENT Event
    );
typedef ETL_TAKE_EVENT *PETL_TAKE_EVENT;

typedef struct _ETL_COUNTS {
    ULONGLONG Switches;
    ULONGLONG Readies;
    ULONGLONG Samples;
    ULONGLONG Threads;              // starts and ends
    ULONGLONG Processes;            // that have names
    ULONGLONG Others;               // that are of no use here
    ULONGLONG Compact;              // batches of compact switches: not read
    ULONGLONG Malformed;            // events, with what follows in the buffer
    ULONGLONG BadBuffers;           // that cannot be decompressed
    ULONGLONG Gaps;
    ULONGLONG FirstTimestamp;       // of the switches; these three are 0 if
    ULONGLONG LastSwitch;           // there is none
    ULONGLONG LastTimestamp;        // of all events
} ETL_COUNTS;
typedef ETL_COUNTS *PETL_COUNTS;
typedef const ETL_COUNTS *PCETL_COUNTS;

//
// Reads all events, one processor's after the other's.  Those of one are in
// the order in which it wrote them, so their times are in order but for what
// interrupts did; those of a thread are to be put in order by who takes them.
//
//     STATUS_NO_MEMORY, what reading the file failed with, or Take
//

_Must_inspect_result_
NTSTATUS
EtlReadEvents(
    _In_ PCETL_FILE File,
    _In_ PETL_TAKE_EVENT Take,
    _In_ PVOID Context,
    _Out_ PETL_COUNTS Counts
    );

#endif // TRACER_ETL_EVENTS_H
