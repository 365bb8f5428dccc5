/*++

Module Name:

    SessionTreeStore.h

Abstract:

    Stores that hold a thread's calling-context tree.

--*/

#ifndef TRACER_SESSION_TREE_STORE_H
#define TRACER_SESSION_TREE_STORE_H

#include "../Core/CoreTree.h"
#include "Session.h"

//
// Reads the tree of a store, open or closed, as it is now; it is the caller's
// to run down, even after a failure. The nodes are read first, then the header
// once more, then the frames, so that a frame that was open before has its
// call in its node. What ended and began meanwhile is in neither, or in one of
// them: the times of a thread that runs on are good to what it did while it
// was looked at.
//

_Must_inspect_result_
NTSTATUS
SessionReadTreeStore(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _Out_ PCORE_TREE Tree
    );

//
// Writes what is wrong with a tree: "3 bad, the first ...". Says what is wrong
// with a tree, without a line feed.
//

VOID
SessionTreeStoreDescribeProblem(
    _In_ PCCORE_TREE Tree,
    _Inout_ PRTL_WRITER Writer
    );

//
// Is a store left out?  One of records that are in the thread's tree, too
// (TRACE_FLAG_CHRONOLOGICAL), is, unless single calls are required.
//

BOOLEAN
SessionIsAside(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );

//
// Has the thread a store of records that is not left out, or, READER_NONE, has
// any?
//

BOOLEAN
SessionHasRecords(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    );

//
// Says so if there are stores without single calls. Those with some are all
// shown from now on. For a command about single calls: a tree store has none.
// TRUE if there are stores that have some; else the error has been written.
//
// What: What needs single calls: a command or an option.
// Returns FALSE if there is nothing else.
//

BOOLEAN
SessionRequireCalls(
    _Inout_ PREADER_SESSION Session,
    _In_z_ PCSZ What
    );

//
// Finds the stores and modules that are apart.  A thread has one tree for all
// its modules, but where these have the library in several versions, or there
// are more of them than a tree has room for, or not all keep trees.  What a
// function in one of its stores called in modules of another is then in its
// self time, and counted there as an outermost call.
//

VOID
SessionTreeStoreFindApart(
    _Inout_ PREADER_SESSION Session
    );

//
// How many threads have such stores.
//

ULONG
SessionCountThreadsOfTrees(
    _In_ const READER_SESSION *Session
    );

#define READER_THREADS_OF_TREES_TEXT                                        \
    "%u thread%s with more than one tree (Docs/Tree.md): there the self "    \
    "time of a function with" READER_APART_SUFFIX " after its name "         \
    "includes the time of its callees in modules with another tree, and "    \
    "these calls count as outermost ones."

#define READER_APART_SUFFIX " [+other trees]"

#endif // TRACER_SESSION_TREE_STORE_H
