/*++

Module Name:

    CoreRecord.c

Abstract:

    Validation of one record.  Each record stands by itself, so one that is
    bad costs nothing but itself.

--*/

#include "CoreRecord.h"


_Use_decl_annotations_
VOID
CoreInitializeRecordCheck(
    PCORE_RECORD_CHECK Check,
    PCTRACE_STORE_HEADER Header
    )
{
    Check->PreviousTimestamp = 0;
    Check->ModuleBase = (ULONG)Header->ModuleBase;
    Check->ModuleSize = Header->ModuleSize;
    Check->StackBase = (ULONG)Header->StackBase;
    Check->StackSize = (ULONG)(Header->StackBase - Header->StackLimit);
}


_Use_decl_annotations_
CORE_RECORD_STATE
CoreValidateRecord(
    PCORE_RECORD_CHECK Check,
    PCTRACE_RECORD Record,
    BOOLEAN IsLast
    )
{
    ULONG Kind;

    if (Record->Timestamp == 0) {
        return IsLast ? CoreRecordReserved : CoreRecordMissing;
    }

    Kind = Record->StackKind & TRACE_KIND_MASK;
    if (Kind < TRACE_KIND_ENTER || Kind > TRACE_KIND_GONE) {
        return CoreRecordBadKind;
    }

    if ((ULONG)(Record->Site - Check->ModuleBase) >= Check->ModuleSize) {
        return CoreRecordBadSite;
    }

    if (Record->Timestamp < Check->PreviousTimestamp) {
        return CoreRecordBadTime;
    }

    Check->PreviousTimestamp = Record->Timestamp;
    return CoreRecordValid;
}


_Use_decl_annotations_
ULONG
CoreCountValid(
    PCORE_RECORD_CHECK Check,
    PCTRACE_RECORD Records,
    ULONG NumberOfRecords
    )
{
    ULONGLONG Previous = Check->PreviousTimestamp;
    ULONG ModuleBase = Check->ModuleBase;
    ULONG ModuleSize = Check->ModuleSize;
    ULONG Index;

    for (Index = 0; Index < NumberOfRecords; Index++) {

        ULONGLONG Timestamp = Records[Index].Timestamp;
        ULONG Kind = Records[Index].StackKind & TRACE_KIND_MASK;

        if (Timestamp == 0 || Timestamp < Previous ||
            Kind < TRACE_KIND_ENTER || Kind > TRACE_KIND_GONE ||
            (ULONG)(Records[Index].Site - ModuleBase) >= ModuleSize) {
            break;
        }

        Previous = Timestamp;
    }

    Check->PreviousTimestamp = Previous;
    return Index;
}


_Use_decl_annotations_
BOOLEAN
CoreIsOnThreadStack(
    PCCORE_RECORD_CHECK Check,
    PCTRACE_RECORD Record
    )
{
    ULONG Stack = Record->StackKind & ~TRACE_KIND_MASK;

    return Check->StackSize == 0 ||
           (ULONG)(Check->StackBase - Stack) <= Check->StackSize;
}


_Use_decl_annotations_
PCSZ
CoreDescribeRecordState(
    CORE_RECORD_STATE State
    )
{
    switch (State) {

    case CoreRecordValid:
        return "valid";

    case CoreRecordReserved:
        return "reserved and not written";

    case CoreRecordMissing:
        return "not written, with records after it";

    case CoreRecordBadKind:
        return "of no known kind";

    case CoreRecordBadSite:
        return "from outside the module";

    case CoreRecordBadTime:
        return "earlier than the one before it";

    case CoreRecordBadBlock:
        return "in a damaged block";
    }

    return "unknown";
}
