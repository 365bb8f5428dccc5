/*++

Module Name:

    TraceCompact.h

Abstract:

    Stores of TRACE_MODE_COMPACT: the views that the hook appends to, and the
    blocks that full ones become.

--*/

#ifndef TRACER_TRACE_COMPACT_H
#define TRACER_TRACE_COMPACT_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// Whether a store is one.
//

#define TRACE_IS_COMPACT(Store) ((Store)->Header->Mode == TRACE_MODE_COMPACT)

//
// Gets a new store ready, whose header is filled.
//

VOID
TraceCompactOpen(
    _Inout_ PTRACE_STORE Store
    );

//
// Sets Next to the view that follows, if that is empty. The work lock is held.
//

VOID
TraceCompactOffer(
    _Inout_ PTRACE_STORE Store
    );

//
// Makes sure that a store has a next view: maps the raw ring at first, and
// later encodes the oldest view here if the worker has not done it.
//
// Store: the calling thread's. The work lock is held; it is released and
// acquired again while the worker writes.
// Reason: the TRACE_REASON_* of a failure.
// Waited: is set to TRUE unless the view was there.
// Returns STATUS_SUCCESS, or why there is no next view.
//

_Must_inspect_result_
NTSTATUS
TraceCompactProvideNext(
    _Inout_ PTRACE_STORE Store,
    _Out_ PULONG Reason,
    _Inout_ PBOOLEAN Waited
    );

//
// Whether the worker is to be woken: half of the raw ring waits for it.  To
// wake it for each view would cost the thread as much as the records do.
//

BOOLEAN
TraceCompactIsDue(
    _In_ PTRACE_STORE Store
    );

//
// The worker's part: encodes the oldest view that is full. The work lock is
// held on entry and on return, but not in between.
// FALSE: there is nothing to do, or it cannot be done.
//

BOOLEAN
TraceCompactServe(
    _Inout_ PTRACE_STORE Store
    );

//
// Unmaps the raw ring. FALSE: it was not mapped, and no view is in it.
//

BOOLEAN
TraceCompactUnmap(
    _Inout_ PTRACE_STORE Store
    );

//
// Ends a store: encodes what is left, and brings the file into as few bytes as
// it can have. The work lock is held, and the worker does nothing for it.
//
// End: position of the end of the records.
// Returns where the file may be cut.
//

ULONGLONG
TraceCompactClose(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG End
    );

#endif // TRACER_TRACE_COMPACT_H
