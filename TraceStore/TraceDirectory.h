/*++

Module Name:

    TraceDirectory.h

Abstract:

    The session directory.

--*/

#ifndef TRACER_TRACE_DIRECTORY_H
#define TRACER_TRACE_DIRECTORY_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// Creates the session directory, and all above it that is missing, and opens
// it; after the first time, returns the handle.
//
// Another module of this process may have created it. Anybody else who has was
// guessing its name, where he can make directories, to have what goes in: one
// that is not the user's is not used.
//
// Where the session has another directory to fall back to, it is there if it
// cannot be in the first one, and the log says so.
//
// Directory: the handle, which belongs to the session.
// Error: what failed.
// Returns STATUS_SUCCESS or the failing call's status.
//

_Must_inspect_result_
NTSTATUS
TraceDirectoryOpenSession(
    _Inout_ PTRACE_SESSION Session,
    _Outptr_ PHANDLE Directory,
    _Out_ PRTL_ERROR Error
    );

//
// The path of the session directory, once it has been created.
//

PCUNICODE_STRING
TraceDirectoryGetPath(
    _In_ const TRACE_SESSION *Session
    );

//
// Is there a session directory of this process, which other modules may have
// created?  Creates none.
//

BOOLEAN
TraceDirectoryIsThere(
    _In_ PTRACE_SESSION Session
    );

#endif // TRACER_TRACE_DIRECTORY_H
