/*++

Module Name:

    CoreRecord.c

Abstract:

    Validation of one record.  Each record stands by itself, so one that is
    bad costs nothing but itself.

--*/

#include "ReaderCore.h"


_Use_decl_annotations_
VOID
CoreInitializeRecordCheck(
    PCORE_RECORD_CHECK Check,
    PCTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Takes from a header what its records are checked against.

Arguments:

    Check - Receives it.

    Header - A valid header.

Return Value:

    None.

--*/
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
/*++

Routine Description:

    Validates one record against its header and the record before it.

Arguments:

    Check - What to check against; its previous time stamp becomes this
        record's if the record is valid.

    Record - The record.

    IsLast - Whether it is the last one of the store: only that one may be
        reserved and not written.

Return Value:

    What the record is.

--*/
{
    ULONG Kind;

    if (Record->Timestamp == 0) {
        return IsLast ? CoreRecordReserved : CoreRecordMissing;
    }

    Kind = Record->StackKind & TRACE_KIND_MASK;
    if (Kind < TRACE_KIND_ENTER || Kind > TRACE_KIND_EXIT_FUNCTION) {
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
BOOLEAN
CoreIsOnThreadStack(
    PCCORE_RECORD_CHECK Check,
    PCTRACE_RECORD Record
    )
/*++

Routine Description:

    Decides whether a record was made on the thread's own stack.

Arguments:

    Check - Of the store.

    Record - A valid record.

Return Value:

    TRUE if so, or if the thread's stack is not known.

--*/
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
/*++

Routine Description:

    Puts a record's state in words.

Arguments:

    State - The state.

Return Value:

    A literal.

--*/
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
    }

    return "unknown";
}
