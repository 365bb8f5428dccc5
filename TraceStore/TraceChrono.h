/*++

Module Name:

    TraceChrono.h

Abstract:

    The second store of a thread that has a tree.  Store is that of the tree.

--*/

#ifndef TRACER_TRACE_CHRONO_H
#define TRACER_TRACE_CHRONO_H

#include "TraceCall.h"
#include "TraceTypes.h"

//
// Says whether a function is one of those that are recorded.
// Site: the site of an entry.
// Returns TRUE or FALSE.
//

BOOLEAN
TraceChronoIsListed(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG Site
    );

//
// Opens the second store of the calling thread, that of the module that it is
// in, unless that has been done.
//
// Store: the thread's store, a tree.
// Returns FALSE if there can be none; the log has said why.
//

BOOLEAN
TraceChronoOpen(
    _Inout_ PTRACE_STORE Store
    );

//
// Makes room for a record in the second store.
// Store: the thread's store, a tree that has a second store.
//

VOID
TraceChronoMakeRoom(
    _Inout_ PTRACE_STORE Store
    );

//
// Appends a record.
// Store: the thread's store, a tree that has a second store.
// Call: the call of a hook.
// Timestamp: when it was.
// What there is no room for is counted as lost.
//

VOID
TraceChronoAppend(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call,
    _In_ ULONGLONG Timestamp
    );

#endif // TRACER_TRACE_CHRONO_H
