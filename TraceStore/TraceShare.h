/*++

Module Name:

    TraceShare.h

Abstract:

    One tree for a thread, whatever module its code is in.

--*/

#ifndef TRACER_TRACE_SHARE_H
#define TRACER_TRACE_SHARE_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// The store of a thread's tree, which all the copies of this library in the
// process have in common, in memory of its own: whoever of them closes it frees
// it (TraceShare.c).  Modules are numbered as in the file: 0 is the one whose
// copy has made the store.
//
// Another version of the library must not touch it: whatever changes here, in
// TRACE_STORE or in what is done with them, changes TRACE_SHARED_VERSION.
//

#define TRACE_SHARED_VERSION        3
#define TRACE_SHARED_MEMBERS        64

typedef struct _TRACE_MEMBER {
    PTRACE_SESSION volatile Session;    // NULL: none
    PTRACE_STORE Entry;                 // of the session's, TRACE_STORE_MEMBER
    ULONG Module;
    ULONG Unused;
} TRACE_MEMBER;
typedef TRACE_MEMBER *PTRACE_MEMBER;

typedef struct _TRACE_SHARED {
    TRACE_STORE Store;
    ULONG Version;                  // TRACE_SHARED_VERSION
    ULONG SizeInBytes;              // of this
    ULONG NumberOfModules;
    BOOLEAN IsAmbiguous;            // modules at addresses with the same low 32
                                    // bits
    ULONGLONG GoneModules;          // bit n: another one lies where module n
                                    // was
    TRACE_MEMBER Members[TRACE_SHARED_MEMBERS];
    ULONGLONG ModuleBase[TRACE_TREE_MODULES + 1];
    ULONG ModuleSize[TRACE_TREE_MODULES + 1];
} TRACE_SHARED;
typedef TRACE_SHARED *PTRACE_SHARED;
C_ASSERT(TRACE_TREE_MODULES + 1 <= 64);

//
// Makes the memory of a tree, for the module that begins it.
// Entry: the session's part in the tree.
//

VOID
TraceShareInitialize(
    _Out_ PTRACE_SHARED Shared,
    _In_ PTRACE_SESSION Session,
    _In_ PTRACE_STORE Entry
    );

//
// Looks for the tree that another copy of the library keeps for the calling
// thread, and takes part in it.
//
//     STATUS_NOT_FOUND    there is none
//     STATUS_RETRY        there is, and that copy is at work at this moment
//

_Must_inspect_result_
NTSTATUS
TraceShareJoin(
    _Inout_ PTRACE_SESSION Session,
    _Outptr_ PTRACE_STORE *Store
    );

//
// Says that the calling thread, which the store is of, has come by in the code
// of a session's module.
//

VOID
TraceShareServe(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PTRACE_STORE Store
    );

//
// A session's own part in a store: the store itself if it is no tree; NULL if
// it has none.
//

PTRACE_STORE
TraceShareFindEntry(
    _In_ PTRACE_SESSION Session,
    _In_ PTRACE_STORE Store
    );

//
// Ends a session's part in a tree. The last to leave closes it. Called for a
// thread that has ended or is about to, or when the session's module is
// unloaded: nobody is in that module any more, but the thread may be in
// another.
//
// Entry: the part. One whose end was cut short, since the thread that was at
// it was terminated, is ended as well when no other thread is left.
// Reason: a TRACE_REASON_* that says why.
//

VOID
TraceShareLeave(
    _Inout_ PTRACE_STORE Entry,
    _In_ ULONG Reason
    );

#endif // TRACER_TRACE_SHARE_H
