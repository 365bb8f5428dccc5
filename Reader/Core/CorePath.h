/*++

Module Name:

    CorePath.h

Abstract:

    Chains of calls: a tree in which a node is a chain, and its parent the
    chain without its innermost call.  What one worker adds calls up in.

--*/

#ifndef TRACER_CORE_PATH_H
#define TRACER_CORE_PATH_H

#include "CoreHistogram.h"
#include "../../StringTable/StringTable.h"

//
// The root is nobody's child, so that it can stand for a child that is not
// there.  All chains that are too deep are one.
//

#define CORE_PATH_ROOT      0u
#define CORE_PATH_NONE      0u
#define CORE_PATH_OUTSIDE   1u
#define CORE_FIRST_PATH     2u      // of those that are chains

//
// What is added up for a chain.  One is a cache line.
//

typedef struct _CORE_PATH {
    ULONGLONG Calls;                // that ended with their exit, and of those:
    ULONGLONG SelfTicks;
    ULONGLONG SumLow;               // of the inclusive ticks of each call,
    ULONGLONG MinimumTicks;         // ~0: no call has ended
    ULONGLONG MaximumTicks;
    ULONGLONG FirstTicks;           // of the first call that was not
                                    // abandoned; ~0: not known
    ULONG SumHigh;                  // 96 bits
    ULONG FirstThread;              // whose call that was
    ULONG Parent;
    ULONG Function;                 // the caller's own index
} CORE_PATH;
typedef CORE_PATH *PCORE_PATH;
typedef const CORE_PATH *PCCORE_PATH;

typedef struct _CORE_PATH_SLOT {
    ULONGLONG Key;                  // ((parent + 1) << 32) | function
    ULONG Path;                     // CORE_PATH_NONE: the slot is free
    ULONG Unused;
} CORE_PATH_SLOT;
typedef CORE_PATH_SLOT *PCORE_PATH_SLOT;

typedef struct _CORE_PATHS {
    PCALLOCATOR Allocator;
    PVOID Memory;                   // that Paths are in
    PCORE_PATH Paths;               // a parent before its children
    ULONG NumberOfPaths;
    ULONG Capacity;
    PCORE_PATH_SLOT Slots;
    ULONG NumberOfSlots;            // a power of two
    ULONG Root;                     // above the outermost calls that come next
    ULONG MaximumDepth;             // deeper calls are CORE_PATH_OUTSIDE
    ULONG Thread;                   // whose they are
} CORE_PATHS;
typedef CORE_PATHS *PCORE_PATHS;

#define CORE_PATH_KEY(Parent, Function) \
    (((ULONGLONG)(Parent) + 1) << 32 | (Function))

#define CORE_PATH_SLOT_OF(Key, Mask) \
    ((ULONG)(((Key) * 0x9E3779B97F4A7C15ULL) >> 32) & (Mask))

//
// Makes a tree with a root.
//
//     STATUS_NO_MEMORY
//
// Paths: good for CoreRundownPaths even after a failure.
// MaximumDepth: calls that are as deep or deeper are outside.
//

_Must_inspect_result_
NTSTATUS
CoreInitializePaths(
    _Out_ PCORE_PATHS Paths,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG MaximumDepth
    );

//
// Frees a tree.
// Paths: the tree, or all zeroes.
//

VOID
CoreRundownPaths(
    _Inout_ PCORE_PATHS Paths
    );

//
// Adds a chain that is not there.
//
//     STATUS_NO_MEMORY
//
// Parent: the chain above.
// Path: its index.
//

_Must_inspect_result_
NTSTATUS
CoreAddPath(
    _Inout_ PCORE_PATHS Paths,
    _In_ ULONG Parent,
    _In_ ULONG Function,
    _Out_ PULONG Path
    );

//
// Finds a chain.
// Slots, Mask: the tree's, which a loop keeps in registers.
// Returns its index, or CORE_PATH_NONE.
//

CORE_INLINE
ULONG
CoreFindPath(
    _In_ const CORE_PATH_SLOT *Slots,
    _In_ ULONG Mask,
    _In_ ULONG Parent,
    _In_ ULONG Function
    )
{
    ULONGLONG Key = CORE_PATH_KEY(Parent, Function);
    ULONG Slot = CORE_PATH_SLOT_OF(Key, Mask);

    while (Slots[Slot].Key != Key && Slots[Slot].Key != 0) {
        Slot = (Slot + 1) & Mask;
    }

    return Slots[Slot].Path;
}

#endif // TRACER_CORE_PATH_H
