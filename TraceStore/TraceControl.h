/*++

Module Name:

    TraceControl.h

Abstract:

    What is done about the actions in a session's control file.

--*/

#ifndef TRACER_TRACE_CONTROL_H
#define TRACER_TRACE_CONTROL_H

#include "TraceSession.h"

//
// The least and the most that it may have at first, bytes, which is also how
// much it begins to grow by; and what that is if the user does not say: room
// for 8,160 actions.
//

#define TRACE_CONTROL_LEAST     0x00010000      // 64 KiB
#define TRACE_CONTROL_MOST      0x10000000      // 256 MiB
#define TRACE_CONTROL_DEFAULT   0x00100000      // 1 MiB

//
// For how many seconds whoever has claimed a place may leave it empty.
//

#define TRACE_CONTROL_PATIENCE  1

//
// How many actions this instance has seen, and whether recording is stopped.
//

#define TRACE_CONTROL_SEEN(Session) \
    ((ULONG)((ULONGLONG)(Session)->ControlLook >> 1))
#define TRACE_CONTROL_IS_STOPPED(Session) (((Session)->ControlLook & 1) != 0)

//
// Poll and Watch look for new actions.  RequestWorker does what
// TraceThreadRequest does; where there can be no worker, it makes the owners of
// all stores come by, which may be paused and count on one.
//

typedef VOID (TRACE_CONTROL_SESSION)(_Inout_ PTRACE_SESSION Session);
TRACE_CONTROL_SESSION TraceControlPoll;     // any thread
TRACE_CONTROL_SESSION TraceControlWatch;    // the worker
TRACE_CONTROL_SESSION TraceControlStartWorker;  // unless it runs, or must not
TRACE_CONTROL_SESSION TraceControlRequestWorker;

//
// Carries out what was asked for.  The caller is the store's owner, on the slow
// path, and calls this until Attention stays 0.  TRUE: recording is stopped,
// and there is no room to be made.
//

typedef BOOLEAN (TRACE_CONTROL_SERVE)(_Inout_ PTRACE_STORE Store);

//
// Looks for new actions and carries out what the calling thread's store has
// missed.
// Returns TRUE if recording is stopped. The hook then finds no room; it counts
// by itself if its flags have TRACE_HOOK_STOPPED, which they have where there
// is a worker to take it away.
//

TRACE_CONTROL_SERVE TraceControlServe;
TRACE_CONTROL_SERVE TraceControlBegin;      // of a store that has been made

//
// Carries out what a store that is being closed has missed, under its work
// lock, and says for good what was left out and what was lost.
//

VOID
TraceControlSettle(
    _Inout_ PTRACE_STORE Store
    );

#endif // TRACER_TRACE_CONTROL_H
