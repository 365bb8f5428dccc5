/*++

Module Name:

    TraceTreeEnter.h

Abstract:

    Entries and exits of a tree, as far as the hooks (PenterTree.asm) leave them
    to C.

--*/

#ifndef TRACER_TRACE_TREE_ENTER_H
#define TRACER_TRACE_TREE_ENTER_H

#include "TraceCall.h"
#include "TraceTypes.h"

//
// Does what the hook cannot do by itself for an entry. Returns TRUE if the
// hook should be entered again: then it can.
// Store: the store of the calling thread.
//

BOOLEAN
TraceTreeEnter(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    );

//
// Does what the hook cannot do for an exit.
// Store: the store of the calling thread.
//

VOID
TraceTreeExit(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    );

#endif // TRACER_TRACE_TREE_ENTER_H
