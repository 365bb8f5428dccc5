/*++

Module Name:

    TraceControlOpen.h

Abstract:

    The control file is made, or found, and mapped.

--*/

#ifndef TRACER_TRACE_CONTROL_OPEN_H
#define TRACER_TRACE_CONTROL_OPEN_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// Makes and maps the control file, unless that was done or the user wants none;
// the worker then looks at it.
//
// Without a control file everything else goes on.
//

VOID
TraceControlOpen(
    _Inout_ PTRACE_SESSION Session
    );

//
// Takes the module instance out of the control file and unmaps it.
// Session: the session, which nobody uses any more.
//

VOID
TraceControlClose(
    _Inout_ PTRACE_SESSION Session
    );

#endif // TRACER_TRACE_CONTROL_OPEN_H
