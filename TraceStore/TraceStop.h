/*++

Module Name:

    TraceStop.h

Abstract:

    A store is stopped, or marked as ended.

--*/

#ifndef TRACER_TRACE_STOP_H
#define TRACER_TRACE_STOP_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// Marks an open store as ended, with its last anchor. Records may still
// follow; the store stays mapped until TraceStoreClose. A store that has
// stopped, or has been marked before, is left as it is, but for the processor
// times of one that has stopped.
//
// Reason: a TRACE_REASON_* that says why.
//

VOID
TraceStopFinish(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Reason
    );

//
// Notes in a store's header what processor time the system has counted: of the
// thread, if it is the calling one, and at the end of the process.  What the
// system does not tell is not noted.
//
// Header: the store's, which may not be in Store yet.
//

VOID
TraceStopNoteTimes(
    _In_ PTRACE_STORE Store,
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ BOOLEAN IsEnd
    );

//
// Stops a store for good and says why in its header. What it holds stays
// valid, the hook counts what comes after, the program goes on.
//

VOID
TraceStoreStop(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Reason,
    _In_ NTSTATUS Status
    );

//
// Writes an anchor so that a reader can tell a torn one: Check goes to a value
// that does not fit first.
// Anchor: the anchor in a mapped header.
//

VOID
TraceStopSetAnchor(
    _Out_ PTRACE_CLOCK_ANCHOR Anchor,
    _In_ const RTL_CLOCK_READING *Reading
    );

#endif // TRACER_TRACE_STOP_H
