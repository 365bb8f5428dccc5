/*++

Module Name:

    CoreRecord.h

Abstract:

    Is a record valid, and what is its time?

--*/

#ifndef TRACER_CORE_RECORD_H
#define TRACER_CORE_RECORD_H

#include "../../Rtl/RtlTypes.h"
#include "../../TraceStore/TraceFormat.h"

typedef enum _CORE_RECORD_STATE {
    CoreRecordValid = 0,
    CoreRecordReserved,         // the last one, and not (yet) written
    CoreRecordMissing,          // Timestamp 0 before the end
    CoreRecordBadKind,
    CoreRecordBadSite,          // outside the module
    CoreRecordBadTime,          // earlier than the one before it
    CoreRecordBadBlock          // in a block that is not good
} CORE_RECORD_STATE;

typedef struct _CORE_RECORD_CHECK {
    ULONGLONG PreviousTimestamp;    // of the last valid record, ticks
    ULONG ModuleBase;               // low 32 bits
    ULONG ModuleSize;               // bytes
    ULONG StackBase;                // low 32 bits
    ULONG StackSize;                // bytes; 0: not known
} CORE_RECORD_CHECK;
typedef CORE_RECORD_CHECK *PCORE_RECORD_CHECK;
typedef const CORE_RECORD_CHECK *PCCORE_RECORD_CHECK;

//
// Takes from a header what its records are checked against.
// Header: a valid header.
//

VOID
CoreInitializeRecordCheck(
    _Out_ PCORE_RECORD_CHECK Check,
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// Validates one record against its header and the record before it.
//
// Check: what to check against; its previous time stamp becomes this record's
// if the record is valid.
// IsLast: whether it is the last one of the store: only that one may be
// reserved and not written.
//

CORE_RECORD_STATE
CoreValidateRecord(
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ PCTRACE_RECORD Record,
    _In_ BOOLEAN IsLast
    );

//
// How many records from the first on are valid, as CoreValidateRecord has it
// one by one.
// Check: of their store; knows the last of these afterwards.
//

ULONG
CoreCountValid(
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    );

//
// Is this record's RSP in the thread's own stack? On a fiber it is not.
// Decides whether a record was made on the thread's own stack.
// Check: of the store.
//

BOOLEAN
CoreIsOnThreadStack(
    _In_ PCCORE_RECORD_CHECK Check,
    _In_ PCTRACE_RECORD Record
    );

//
// Puts a record's state in words. A sentence's end for a state: "unknown
// kind", ... A literal.
//

PCSZ
CoreDescribeRecordState(
    _In_ CORE_RECORD_STATE State
    );

#endif // TRACER_CORE_RECORD_H
