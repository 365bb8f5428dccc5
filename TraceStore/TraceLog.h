/*++

Module Name:

    TraceLog.h

Abstract:

    Errors of the traced side are reported.

--*/

#ifndef TRACER_TRACE_LOG_H
#define TRACER_TRACE_LOG_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// Reports an error once: one line to the debugger (OutputDebugString) and to
// the log file of the module, <module>.log in the session directory, or
// %TEMP%\Tracer-<module>-<pid>.log where that cannot be had or written.
// Consequence is a literal that says what happens now.  After
// TRACE_LOG_MAXIMUM_ERRORS nothing more is reported.
//

#define TRACE_LOG_MAXIMUM_ERRORS 32

//
// Reports an error.
// Error: what failed.
// Consequence: what happens now.
// A report that cannot be written is shown to the debugger alone.
//

VOID
TraceLogError(
    _Inout_ PTRACE_SESSION Session,
    _In_ PCRTL_ERROR Error,
    _In_z_ PCSZ Consequence
    );

#endif // TRACER_TRACE_LOG_H
