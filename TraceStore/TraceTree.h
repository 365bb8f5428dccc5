/*++

Module Name:

    TraceTree.h

Abstract:

    Stores of TRACE_MODE_TREE: their memory, stacks and open calls.

--*/

#ifndef TRACER_TRACE_TREE_H
#define TRACER_TRACE_TREE_H

#include "TraceCall.h"
#include "TraceTypes.h"

//
// Makes the tree of a new store: its view is mapped, its header's pages are
// prepared. TraceTreeDescribe fills the header. A root, and the thread's own
// stack without an open frame.
//
// Returns STATUS_SUCCESS, or why there is no memory or no page.
//

_Must_inspect_result_
NTSTATUS
TraceTreeOpen(
    _Inout_ PTRACE_STORE Store
    );

//
// Fills the fields of a header that are different in the store of a tree.
//

VOID
TraceTreeDescribe(
    _In_ PTRACE_STORE Store,
    _Inout_ PTRACE_STORE_HEADER Header
    );

//
// Goes over to the frames of the stack that a call was made on. Where there is
// no room for them, the stack that was left longest ago makes room: it is
// probably gone. And so is one at the same place of which the system says
// something else now.
//

VOID
TraceTreeSwitch(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    );

//
// Ends the innermost open call of the stack in use, without an exit, now.
//

VOID
TraceTreeEndCall(
    _Inout_ PTRACE_STORE Store
    );

//
// Stops counting, starts it again, and sets all back to nothing, as of a time
// of the store's clock that is over.  Called by the owner, in its slow path.
//

typedef
VOID
(TRACE_TREE_ACTION)(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    );
TRACE_TREE_ACTION TraceTreeStop;

//
// Starts counting again. The calls that were open are taken to be so still,
// until an entry or an exit shows them gone.
// Timestamp: the time as of which.
//

TRACE_TREE_ACTION TraceTreeStart;

//
// Sets every node back to nothing, but for the calls that are open: they begin
// now. The nodes stay.
// Timestamp: the time as of which.
//

TRACE_TREE_ACTION TraceTreeClear;

typedef VOID (TRACE_TREE_CHANGE)(_Inout_ PTRACE_STORE Store);

//
// Lets the hook push frames as far as pages are prepared, unless the store has
// stopped: after something has set the header's Limit to 0.
//

TRACE_TREE_CHANGE TraceTreeSetLimit;

//
// Charges open calls with the time up to now and hides them: nothing is pushed,
// popped or added any more, whatever follows.
// Store: the store, which is about to be marked as stopped.
//

TRACE_TREE_CHANGE TraceTreeHalt;

//
// Says that the thread, or the process, ends: what is still called comes after
// all that the library is told of. From now on each call leaves its time as the
// store's last, which the calls that stay open are counted up to.
//
// Store: the calling thread's; nothing is done to one that is no tree.
//

TRACE_TREE_CHANGE TraceTreeEnd;

//
// Ends a tree. Returns the size that the file needs. Frees what is not in the
// file.
// Store: the store, still mapped.
//

ULONGLONG
TraceTreeClose(
    _Inout_ PTRACE_STORE Store
    );

//
// Makes pages of the store present, writable and empty; at most 64 KiB.
// Address: the first page.
// SizeInBytes: the size, a multiple of 4,096, TRACE_TREE_PREPARE_NEXT at most.
// Returns STATUS_SUCCESS or why they cannot be had.
//

NTSTATUS
TraceTreePrepare(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Address,
    _In_ ULONGLONG SizeInBytes
    );

//
// PenterTree.asm does the same. Where a node is looked for: the index of a
// bucket; and the bucket of one that the hook must not find, in a tree that
// has such buckets.
//

ULONG
TraceTreeHash(
    _In_ const TRACE_TREE *Tree,
    _In_ const TRACE_NODE *Parent,
    _In_ ULONG Site
    );

//
// Gives the bucket of a node that the hook must not find: one of a
// chronological function, or, where there are such functions, that of
// TRACE_NODE_OTHER, whose site is 0.
//
// Tree: the tree, which has such buckets.
//

PTRACE_NODE *
TraceTreeChronoBucket(
    _In_ const TRACE_TREE *Tree,
    _In_ const TRACE_NODE *Parent,
    _In_ ULONG Site
    );

#endif // TRACER_TRACE_TREE_H
