/*++

Module Name:

    TraceThread.h

Abstract:

    Threads of the library: how they begin, how they are woken, and how they go
    away.

--*/

#ifndef TRACER_TRACE_THREAD_H
#define TRACER_TRACE_THREAD_H

#include "TraceSession.h"

//
// Starts the worker, which runs the session's WorkerMain, if it is allowed and
// not yet there, and wakes it if it waits. FALSE: there can be none, as this
// call has found out. Called on the slow path of traced threads: no waiting.
//

BOOLEAN
TraceThreadRequest(
    _Inout_ PTRACE_SESSION Session
    );

//
// Starts a thread of the library at Main, which claims its place and goes away
// as TraceWorkerMain does. It is created suspended, so that its id is known
// before it runs any code, and asked not to announce itself to the DLLs of the
// process: their thread attach routines may be instrumented and are not the
// program's doing. Its stack has the size that the image asks for, since the
// end of the process may run on it (TraceWatch.c).
//
// Returns STATUS_SUCCESS or the failing call's status.
//

_Must_inspect_result_
NTSTATUS
TraceThreadStart(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PTRACE_WORKER Worker,
    _In_ PVOID Main
    );

//
// The end of such a thread: says that it is gone and sleeps for good; or, where
// the session says so, returns, without touching the session after it.
//

VOID
TraceThreadGone(
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_WORKER Worker
    );

//
// Makes a thread of the library leave this module's code for good.  May be
// called under the loader lock: nothing that needs it is waited for.
//

VOID
TraceThreadStop(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PTRACE_WORKER Worker
    );

//
// Lets 10 ms pass, so that a call that the system refuses is not repeated at
// full speed.
//

VOID
TraceThreadSleep(
    _In_ PCRTL Rtl
    );

#endif // TRACER_TRACE_THREAD_H
