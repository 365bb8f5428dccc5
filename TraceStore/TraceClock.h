/*++

Module Name:

    TraceClock.h

Abstract:

    The clock of TRACE_CLOCK_THREAD.

--*/

#ifndef TRACER_TRACE_CLOCK_H
#define TRACER_TRACE_CLOCK_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// Starts the clock thread.  The clock has a value at once; it goes when the
// thread has begun, which in a module that is being loaded is when that is
// done.
//
// Called before any store is opened: where the process has fewer than three
// processors, the worker prepares no views from then on.
//
// Place: where the hooks read the clock.
// Returns STATUS_SUCCESS, STATUS_NOT_SUPPORTED if the session may have no
// threads, or the failing call's status.
//

_Must_inspect_result_
NTSTATUS
TraceClockStart(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ ULONGLONG volatile *Place
    );

//
// Writes what is known of the clock into a store's header. At its creation, at
// each change of its view, and at its end. A clock that stands still at this
// moment counts as one freeze more.
//

VOID
TraceClockDescribe(
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_STORE_HEADER Header
    );

//
// The ticks of the time stamp counter in a second, measured against the
// performance counter; 0 if that cannot be read.  Takes about 2 ms.  The time
// stamps that are read meanwhile are published, if Place is not NULL.
//

ULONGLONG
TraceClockMeasure(
    _In_ PCRTL Rtl,
    _Inout_opt_ ULONGLONG volatile *Place
    );

#endif // TRACER_TRACE_CLOCK_H
