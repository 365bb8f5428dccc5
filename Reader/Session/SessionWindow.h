/*++

Module Name:

    SessionWindow.h

Abstract:

    The window that slides over a store's file.

--*/

#ifndef TRACER_SESSION_WINDOW_H
#define TRACER_SESSION_WINDOW_H

#include "SessionStore.h"

//
// Keeps what failed.
// Step: what was being done, a literal.
// Status: what it gave.
// Returns Status.
//

NTSTATUS
SessionFailStore(
    _Inout_ PREADER_STORE Store,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status
    );

//
// Finds out how large the file is.
//

_Must_inspect_result_
NTSTATUS
SessionQueryStoreSize(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );

//
// Unmaps the window and closes the section.
//

VOID
SessionDropSection(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );

//
// Makes a section of the file as large as the file is now.
// Store: the store, with the file open and not empty.
//

_Must_inspect_result_
NTSTATUS
SessionMakeSection(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );

//
// Slides the window to a record, a node or a frame, unless it is there.
// Store: the store, open, with a valid header.
// Size: of it, in bytes.
//

_Must_inspect_result_
NTSTATUS
SessionMapWindow(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG FileOffset,
    _In_ ULONG Size
    );

#endif // TRACER_SESSION_WINDOW_H
