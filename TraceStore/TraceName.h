/*++

Module Name:

    TraceName.h

Abstract:

    A thread's name, which the system has (SetThreadDescription).

--*/

#ifndef TRACER_TRACE_NAME_H
#define TRACER_TRACE_NAME_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// Writes the calling thread's name into a new store's header, which is being
// filled.
//

VOID
TraceNameBegin(
    _Inout_ PTRACE_STORE Store,
    _Inout_ PTRACE_STORE_HEADER Header
    );

typedef VOID (TRACE_NAME_CHANGE)(_Inout_ PTRACE_STORE Store);

//
// Reads the calling thread's name again.
// Store: the calling thread's store.
//

TRACE_NAME_CHANGE TraceNameRefresh;

//
// Reads the calling thread's name again if that is due, or was not done for
// long: a thread with a tree comes by for each new node, and has no views.
// Store: the calling thread's store.
//

TRACE_NAME_CHANGE TraceNameServe;

//
// Makes the owner of every store read its name at its next call, once a
// second.
//

VOID
TraceNameWatch(
    _Inout_ PTRACE_SESSION Session
    );

#endif // TRACER_TRACE_NAME_H
