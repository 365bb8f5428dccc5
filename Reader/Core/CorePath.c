/*++

Module Name:

    CorePath.c

Abstract:

    Chains of calls: a tree in which a node is a chain, and its parent the
    chain without its innermost call.

    Memory is bounded by the number of chains.  Nothing here recurses.

--*/

#include "CorePath.h"

#define CORE_CACHE_LINE 64
#define CORE_FIRST_PATHS 64
#define CORE_MAXIMUM_PATHS 0x20000000u

C_ASSERT(sizeof(CORE_PATH) == CORE_CACHE_LINE);


//
// Makes room for as many chains again, and for their slots: half of these stay
// free, so that nearly every chain is in its first.
//

_Must_inspect_result_
static
NTSTATUS
CoreGrowPaths(
    _Inout_ PCORE_PATHS Paths
    )
{
    PCALLOCATOR Allocator = Paths->Allocator;
    ULONG Capacity = Paths->Capacity == 0 ? CORE_FIRST_PATHS
                                          : Paths->Capacity * 2;
    ULONG NumberOfSlots = Capacity * 2;
    PCORE_PATH_SLOT Slots;
    PCORE_PATH NewPaths;
    ULONGLONG Key;
    PVOID Memory;
    ULONG Index;
    ULONG Slot;

    if (Paths->Capacity >= CORE_MAXIMUM_PATHS) {
        return STATUS_NO_MEMORY;
    }

    Memory = Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Capacity + 1) * sizeof(CORE_PATH));
    Slots = (PCORE_PATH_SLOT)Allocator->Allocate(
        Allocator->Context,
        (SIZE_T)NumberOfSlots * sizeof(CORE_PATH_SLOT));
    if (Memory == NULL || Slots == NULL) {
        Allocator->Free(Allocator->Context, Memory);
        Allocator->Free(Allocator->Context, Slots);
        return STATUS_NO_MEMORY;
    }

    NewPaths = (PCORE_PATH)(((ULONG_PTR)Memory + CORE_CACHE_LINE - 1) &
                            ~(ULONG_PTR)(CORE_CACHE_LINE - 1));
    for (Index = 0; Index < Paths->NumberOfPaths; Index++) {

        NewPaths[Index] = Paths->Paths[Index];
        if (Index < CORE_FIRST_PATH) {
            continue;
        }

        Key = CORE_PATH_KEY(NewPaths[Index].Parent, NewPaths[Index].Function);
        Slot = CORE_PATH_SLOT_OF(Key, NumberOfSlots - 1);
        while (Slots[Slot].Key != 0) {
            Slot = (Slot + 1) & (NumberOfSlots - 1);
        }

        Slots[Slot].Key = Key;
        Slots[Slot].Path = Index;
    }

    Allocator->Free(Allocator->Context, Paths->Memory);
    Allocator->Free(Allocator->Context, Paths->Slots);
    Paths->Memory = Memory;
    Paths->Paths = NewPaths;
    Paths->Capacity = Capacity;
    Paths->Slots = Slots;
    Paths->NumberOfSlots = NumberOfSlots;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CoreInitializePaths(
    PCORE_PATHS Paths,
    PCALLOCATOR Allocator,
    ULONG MaximumDepth
    )
{
    NTSTATUS Status;
    ULONG Index;

    Paths->Allocator = Allocator;
    Paths->Memory = NULL;
    Paths->Paths = NULL;
    Paths->NumberOfPaths = 0;
    Paths->Capacity = 0;
    Paths->Slots = NULL;
    Paths->NumberOfSlots = 0;
    Paths->Root = CORE_PATH_ROOT;
    Paths->MaximumDepth = MaximumDepth;
    Paths->Thread = 0;
    Status = CoreGrowPaths(Paths);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < CORE_FIRST_PATH; Index++) {
        Paths->Paths[Index].MinimumTicks = ~0ULL;
        Paths->Paths[Index].FirstTicks = ~0ULL;
    }

    Paths->NumberOfPaths = CORE_FIRST_PATH;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
CoreRundownPaths(
    PCORE_PATHS Paths
    )
{
    if (Paths->Memory != NULL) {
        Paths->Allocator->Free(Paths->Allocator->Context, Paths->Memory);
        Paths->Allocator->Free(Paths->Allocator->Context, Paths->Slots);
        Paths->Memory = NULL;
        Paths->Paths = NULL;
        Paths->NumberOfPaths = 0;
        Paths->Capacity = 0;
        Paths->Slots = NULL;
        Paths->NumberOfSlots = 0;
    }
}


_Use_decl_annotations_
NTSTATUS
CoreAddPath(
    PCORE_PATHS Paths,
    ULONG Parent,
    ULONG Function,
    PULONG Path
    )
{
    ULONGLONG Key = CORE_PATH_KEY(Parent, Function);
    PCORE_PATH New;
    ULONG Slot;
    NTSTATUS Status;

    if (Paths->NumberOfPaths == Paths->Capacity) {
        Status = CoreGrowPaths(Paths);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Slot = CORE_PATH_SLOT_OF(Key, Paths->NumberOfSlots - 1);
    while (Paths->Slots[Slot].Key != 0) {
        Slot = (Slot + 1) & (Paths->NumberOfSlots - 1);
    }

    *Path = Paths->NumberOfPaths;
    Paths->Slots[Slot].Key = Key;
    Paths->Slots[Slot].Path = *Path;
    New = &Paths->Paths[*Path];
    New->MinimumTicks = ~0ULL;
    New->FirstTicks = ~0ULL;
    New->Parent = Parent;
    New->Function = Function;
    Paths->NumberOfPaths += 1;
    return STATUS_SUCCESS;
}
