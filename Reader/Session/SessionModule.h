/*++

Module Name:

    SessionModule.h

Abstract:

    The modules of a session: found or made for what headers and tables of trees
    name.

--*/

#ifndef TRACER_SESSION_MODULE_H
#define TRACER_SESSION_MODULE_H

#include "Session.h"

//
// Sets which modules --module selects: those whose name begins with Prefix,
// in any case; NULL selects all.
//

VOID
SessionSelectModules(
    _Inout_ PREADER_SESSION Session,
    _In_opt_z_ PCWSTR Prefix
    );

//
// Does --module select a module of this name?
//

BOOLEAN
SessionIsNameSelected(
    _In_ const READER_SESSION *Session,
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    );

//
// Finds or makes the module that a store's table names next.
//

_Must_inspect_result_
NTSTATUS
SessionAssignTreeModule(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _In_ PCTRACE_TREE_MODULE Module
    );

//
// Finds or makes the module that a header names.  The header stays as long as
// the session, if the module is a new one.
//

_Must_inspect_result_
NTSTATUS
SessionAssignModule(
    _Inout_ PREADER_SESSION Session,
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONG ModuleIndex
    );

#endif // TRACER_SESSION_MODULE_H
