/*++

Module Name:

    KdTreeStore.h

Abstract:

    What a thread's stores have in memory becomes a tree.

--*/

#ifndef TRACER_KD_TREE_STORE_H
#define TRACER_KD_TREE_STORE_H

#include "KdStores.h"
#include "KdTree.h"

//
// Adds all that a thread's stores have in memory: records and trees.  Store is
// the index of the first.  Nodes and open calls that are bad, or not in memory,
// are left out and counted in Tree->NumberBad.
//     STATUS_CANCELLED, STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdTreeStoreAddThread(
    _Inout_ PKD_TREE Tree,
    _Inout_ PKD_STORES Stores,
    _In_ ULONG Store
    );

#endif // TRACER_KD_TREE_STORE_H
