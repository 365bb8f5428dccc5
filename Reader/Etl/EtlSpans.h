/*++

Module Name:

    EtlSpans.h

Abstract:

    What is kept of a log while its threads' spans are made.

--*/

#ifndef TRACER_ETL_SPANS_H
#define TRACER_ETL_SPANS_H

#include "EtlStates.h"

#define ETL_MAXIMUM_RECORDS 0x7FFFFFFFu

typedef enum _ETL_RECORD_KIND {
    EtlRecordOut = 0,               // the thread does not run any more
    EtlRecordIn,                    // it runs
    EtlRecordReady,                 // it was made ready
    EtlRecordSample
} ETL_RECORD_KIND;

typedef struct _ETL_RECORD {
    ULONGLONG Timestamp;            // of the session
    ULONG Thread;                   // index, of the first of its identifier
    ULONG By;                       // of a ready: a thread's identifier
    USHORT Processor;
    UCHAR Kind;                     // ETL_RECORD_KIND
    UCHAR State;                    // of an out: ETL_THREAD_*
    UCHAR Reason;                   // likewise: KWAIT_REASON
    BOOLEAN IsInterrupt;            // of a ready
    UCHAR Unused[2];
} ETL_RECORD;
typedef const ETL_RECORD *PCETL_RECORD;

typedef struct _ETL_GAP {
    ULONGLONG Start;                // time stamps, of the session
    ULONGLONG End;
    ULONG Processor;
    ULONG Unused;
} ETL_GAP;
typedef const ETL_GAP *PCETL_GAP;

typedef struct _ETL_OWNER {
    ULONGLONG Timestamp;            // of the session
    ULONG ThreadId;
    ULONG ProcessId;
    BOOLEAN IsStart;                // it is that process's from here on; else
                                    // up to here
} ETL_OWNER;
typedef const ETL_OWNER *PCETL_OWNER;

//
// A process's name, from a time on; or up to it, if there is none before.
//

typedef struct _ETL_PROCESS {
    ULONGLONG Timestamp;            // of the session
    ULONG ProcessId;
    ULONG NameLength;               // bytes
    CHAR Name[ETL_MAXIMUM_NAME];
} ETL_PROCESS;
typedef const ETL_PROCESS *PCETL_PROCESS;

//
// Makes a thread's spans from its records, in the order of time.
//

_Must_inspect_result_
NTSTATUS
EtlMakeSpans(
    _Inout_ PETL_STATES States,
    _Inout_ PETL_THREAD Thread,
    _In_reads_(Count) const ULONG *Order,
    _In_ ULONG Count
    );

#endif // TRACER_ETL_SPANS_H
