/*++

Module Name:

    TraceWatch.h

Abstract:

    The worker ends the process when only workers are left.

--*/

#ifndef TRACER_TRACE_WATCH_H
#define TRACER_TRACE_WATCH_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// How long TraceWatchWait waits at most while there is a control file to be
// looked at, in 100 ns units.
//

#define TRACE_CONTROL_INTERVAL  500000          // 50 ms

typedef BOOLEAN (TRACE_WATCH_IS_POSSIBLE)(_In_ PCRTL Rtl);
TRACE_WATCH_IS_POSSIBLE TraceWatchIsPossible;   // the system has what it takes

typedef VOID (TRACE_WATCH_MARK_CALLER)(VOID);
TRACE_WATCH_MARK_CALLER TraceWatchMark;     // any thread of the library

typedef VOID (TRACE_WATCH_CHANGE)(_Inout_ PTRACE_SESSION Session);

//
// Called by the worker when it begins.
//

TRACE_WATCH_CHANGE TraceWatchBegin;

//
// Lets go of the threads that are watched.
// Session: the session, whose worker does not run any more.
//

TRACE_WATCH_CHANGE TraceWatchEnd;
TRACE_WATCH_CHANGE TraceWatchCaller;        // before the worker begins
TRACE_WATCH_CHANGE TraceWatchThreadEnds;    // the calling thread does

//
// The worker waits until it is woken, for no longer than TRACE_CONTROL_INTERVAL
// where there is a control file: STATUS_TIMEOUT.  Ends the process if its last
// thread ends meanwhile.
//

NTSTATUS
TraceWatchWait(
    _Inout_ PTRACE_SESSION Session
    );

#endif // TRACER_TRACE_WATCH_H
