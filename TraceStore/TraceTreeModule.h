/*++

Module Name:

    TraceTreeModule.h

Abstract:

    The modules of a tree.

--*/

#ifndef TRACER_TRACE_TREE_MODULE_H
#define TRACER_TRACE_TREE_MODULE_H

#include "TraceShare.h"

//
// The room of the table of modules, bytes, and the nodes that the hook does not
// find: all calls of them come to the slow path.
//

#define TRACE_TREE_MODULES_SIZE     0x20000
C_ASSERT(TRACE_TREE_MODULES * TRACE_TREE_MODULE_SIZE <=
         TRACE_TREE_MODULES_SIZE);

#define TRACE_TREE_UNSEEN           (TRACE_NODE_CHRONOLOGICAL | \
                                     TRACE_NODE_HIDDEN)

//
// Whether another module lies where this one was; whether a module is loaded:
// it takes part in the tree, or is the EXE, whose part ends before its calls do
// when the thread or the process ends; and whether a site may be that of
// another module, too.
//

typedef
BOOLEAN
(TRACE_TREE_IS_GONE)(
    _In_ const TRACE_STORE *Store,
    _In_ ULONG Module
    );
TRACE_TREE_IS_GONE TraceTreeIsGone;
TRACE_TREE_IS_GONE TraceTreeIsLoaded;

BOOLEAN
TraceTreeIsAmbiguous(
    _In_ const TRACE_STORE *Store,
    _In_ ULONG Site,
    _In_ ULONG Module
    );

//
// Makes the module of a session known to the tree, as that of Store's member;
// FALSE if it cannot be told from the others there. A module that is loaded
// again where it was has the nodes that it had. Where a module lies at
// addresses of another, that one is gone, and nothing that is called from now
// on is a call of its functions. Where only the low 32 bits of the addresses
// are the same, which is all that the hooks compare, the hooks find neither
// module's functions there, and this file compares more.
//
// Store: the store of the calling thread, which serves the session.
// Member: its place in the store; Module is set.
//

BOOLEAN
TraceTreeAddModule(
    _Inout_ PTRACE_STORE Store,
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_MEMBER Member
    );

#endif // TRACER_TRACE_TREE_MODULE_H
