/*++

Module Name:

    CoreTreeStack.h

Abstract:

    The open calls of a tree: its stacks, which are a list, and the frames of
    each, wherever they are read from.

--*/

#ifndef TRACER_CORE_TREE_STACK_H
#define TRACER_CORE_TREE_STACK_H

#include "CoreTree.h"

//
// What is read at a time at most, bytes.
//

#define CORE_TREE_BUFFER_SIZE       0x10000u

//
// Reads items of a store's file into memory that does not change.
// NumberRead: receives how many there are; fewer than were asked for is no
// failure.
// What it fails with ends the reading.
//

typedef
NTSTATUS
(CORE_READ_TREE)(
    _In_opt_ PVOID ReadContext,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_(NumberOfItems * SizeOfItem) PVOID Destination,
    _In_ ULONG SizeOfItem,
    _In_ ULONG NumberOfItems,
    _Out_ PULONG NumberRead
    );
typedef CORE_READ_TREE *PCORE_READ_TREE;

//
// Adds the open calls of all stacks; all nodes are there.  What is bad, in a
// circle or not there is noted in the tree, and ends its stack or the list.
// Header: the store's, read after the nodes.
// FileSize: bytes of the store's file; nothing beyond is asked for.
// Before: when the first node was read (CoreAddTreeFrame).
// Buffer: CORE_TREE_BUFFER_SIZE bytes, aligned as items are.
//     STATUS_NO_MEMORY, what Read fails with
//

_Must_inspect_result_
NTSTATUS
CoreReadTreeStacks(
    _Inout_ PCORE_TREE Tree,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG FileSize,
    _In_ ULONGLONG Before,
    _Out_writes_bytes_(CORE_TREE_BUFFER_SIZE) PVOID Buffer,
    _In_ PCORE_READ_TREE Read,
    _In_opt_ PVOID ReadContext
    );

#endif // TRACER_CORE_TREE_STACK_H
