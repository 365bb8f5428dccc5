/*++

Module Name:

    TraceStore.h

Abstract:

    Opening and closing one thread's store; and who calls what in this folder.

    Who calls what:

        start               TraceSessionCreate
        first call of a     TraceStoreOpen: the store's header, mapped, is
        thread              what the hook appends through
        hook, view full     TraceStoreAdvance
                            or, in a tree that another module's copy of this
                            library has made, TraceShareJoin (by
                            TraceStoreOpen)
        thread exit         TraceStoreClose
        module unload       TraceSessionDestroy
        process exit        TraceSessionProcessExit

        control             TraceControlServe, on the slow path: what was asked
                            for in the session's control file

    Everything here runs on traced threads (but for the worker) inside the
    hook's slow path: all routines of the system are reached through the RTL,
    nothing allocates from the process heap, no lock is held while waiting for
    anything that could need the loader lock.

--*/

#ifndef TRACER_TRACE_STORE_H
#define TRACER_TRACE_STORE_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// Opens a store for the calling thread, or takes part in the tree that it has
// by another copy of the library. On success *Store's header is ready for the
// hook.
//
// Error: what failed.
// Returns STATUS_SUCCESS or the failing call's status; STATUS_RETRY, of which
// there is nothing to say, if that copy is at work at this moment.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_STORE_OPEN)(
    _Inout_ PTRACE_SESSION Session,
    _Outptr_ PTRACE_STORE *Store,
    _Out_ PRTL_ERROR Error
    );
TRACE_STORE_OPEN TraceStoreOpen;

//
// Opens the second store of the calling thread, which has a tree: one of
// TRACE_FLAG_CHRONOLOGICAL.
// Error: what failed.
// Returns STATUS_SUCCESS or the failing call's status.
//

TRACE_STORE_OPEN TraceStoreOpenChrono;

//
// Closes a store, or ends a session's part in a tree: finishes it if that has
// not been done, unmaps its views, cuts the file after its last record (if no
// reader has it mapped), closes it. A store that had stopped stays stopped.
//
// Called by its owner at thread exit, or by whoever ends the session when no
// other thread can be in it; then one whose owner was killed while it closed
// it, or made it, is closed as well.
//
// Store: the store; a part of a session in a tree, or the tree, which stands
// for that of the session whose thread came by last.
// Reason: a TRACE_REASON_* that says why.
//

VOID
TraceStoreClose(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Reason
    );

#endif // TRACER_TRACE_STORE_H
