/*++

Module Name:

    TraceClose.h

Abstract:

    A store's place in its session, and its end.

--*/

#ifndef TRACER_TRACE_CLOSE_H
#define TRACER_TRACE_CLOSE_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// Claims a free store, adding a block of them when none is free.  No lock is
// taken: a thread that is killed in here leaves at worst one store unused.
//
// Returns STATUS_SUCCESS, or the status of allocating memory.
//

_Must_inspect_result_
NTSTATUS
TraceCloseClaimPlace(
    _Inout_ PTRACE_SESSION Session,
    _Outptr_ PTRACE_STORE *Store
    );

//
// Makes a claimed store free again. Session stays as it is: the worker may be
// looking at the store's lock at this moment.
//

VOID
TraceCloseFreePlace(
    _Inout_ PTRACE_STORE Store
    );

//
// Closes a store that its caller, who found that nobody uses it any more, has
// set to TRACE_STORE_CLOSING; Use is what it was before.
// Reason: a TRACE_REASON_* that says why.
//

VOID
TraceStoreCloseClaimed(
    _Inout_ PTRACE_STORE Store,
    _In_ LONG Use,
    _In_ ULONG Reason
    );

//
// Closes a store that is not a tree, unless somebody else does, and gives its
// place back.
//

VOID
TraceStoreCloseOwn(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Reason
    );

#endif // TRACER_TRACE_CLOSE_H
