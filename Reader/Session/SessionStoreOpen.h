/*++

Module Name:

    SessionStoreOpen.h

Abstract:

    One store of a session: opens it, and names the file of its index.

--*/

#ifndef TRACER_SESSION_STORE_OPEN_H
#define TRACER_SESSION_STORE_OPEN_H

#include "Session.h"

//
// Opens one of the session's stores (again).
//

_Must_inspect_result_
NTSTATUS
SessionOpenSessionStore(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store
    );

//
// Names a file that belongs to a store, and to those that follow it in its
// thread: the store's name with a suffix.
// NtPath: the name, whose buffer is the caller's to free.
// Returns STATUS_SUCCESS, STATUS_NAME_TOO_LONG or STATUS_NO_MEMORY.
//

_Must_inspect_result_
NTSTATUS
SessionComposeNameBeside(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_STORE Store,
    _In_z_ PCWSTR Suffix,
    _Out_ PUNICODE_STRING NtPath
    );

#endif // TRACER_SESSION_STORE_OPEN_H
