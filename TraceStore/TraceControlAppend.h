/*++

Module Name:

    TraceControlAppend.h

Abstract:

    Actions are appended to the control file.

--*/

#ifndef TRACER_TRACE_CONTROL_APPEND_H
#define TRACER_TRACE_CONTROL_APPEND_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// Appends an action of the calling thread.
//
//     STATUS_NOT_FOUND    there is no control file
//
// With any other failure it is left out, which has been counted.
//
// Text: its text, UTF-8; it is cut at a character.
//

NTSTATUS
TraceControlAppend(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Kind,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

#endif // TRACER_TRACE_CONTROL_APPEND_H
