/*++

Module Name:

    RtlAllocator.c

Abstract:

    The process heap as an ALLOCATOR.

--*/

#include "Rtl.h"

//
// Allocates from the process heap. The heap aligns on 16 bytes on x64.
// SizeInBytes: the number of bytes; 0 gives a valid block.
// Returns the zeroed memory, or NULL.
//

static
_Must_inspect_result_
_Ret_maybenull_
PVOID
RtlpHeapAllocate(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PCRTL Rtl = (PCRTL)Context;

    return Rtl->RtlAllocateHeap(Rtl->ProcessHeap,
                                HEAP_ZERO_MEMORY,
                                SizeInBytes);
}

//
// Frees what RtlpHeapAllocate returned.
// Address: the block, or NULL.
//

static
VOID
RtlpHeapFree(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    PCRTL Rtl = (PCRTL)Context;

    if (Address != NULL) {
        Rtl->RtlFreeHeap(Rtl->ProcessHeap, 0, Address);
    }
}

_Use_decl_annotations_
VOID
RtlInitializeHeapAllocator(
    PCRTL Rtl,
    PALLOCATOR Allocator
    )
/*++

Routine Description:

    Makes an allocator of the process heap.

Arguments:

    Rtl - Supplies the RTL, which must outlive the allocator.

    Allocator - Receives the allocator.

Return Value:

    None.

--*/
{
    Allocator->Context = (PVOID)Rtl;
    Allocator->Allocate = RtlpHeapAllocate;
    Allocator->Free = RtlpHeapFree;
}

_Use_decl_annotations_
NTSTATUS
RtlAllocatePages(
    PCRTL Rtl,
    SIZE_T SizeInBytes,
    PVOID *Base
    )
/*++

Routine Description:

    Allocates zeroed memory from the system.

Arguments:

    Rtl - Supplies the RTL.

    SizeInBytes - Supplies the size.

    Base - Receives the memory; NULL on failure.

Return Value:

    STATUS_SUCCESS or NtAllocateVirtualMemory's status.

--*/
{
    NTSTATUS Status;

    *Base = NULL;
    Status = Rtl->NtAllocateVirtualMemory((HANDLE)-1,
                                          Base,
                                          0,
                                          &SizeInBytes,
                                          MEM_RESERVE | MEM_COMMIT,
                                          PAGE_READWRITE);
    if (!NT_SUCCESS(Status)) {
        *Base = NULL;
    }

    return Status;
}

_Use_decl_annotations_
VOID
RtlFreePages(
    PCRTL Rtl,
    PVOID Base
    )
/*++

Routine Description:

    Frees what RtlAllocatePages gave.

Arguments:

    Rtl - Supplies the RTL.

    Base - Supplies the memory, or NULL.

Return Value:

    None.

--*/
{
    SIZE_T Size;

    if (Base != NULL) {
        Size = 0;
        Rtl->NtFreeVirtualMemory((HANDLE)-1, &Base, &Size, MEM_RELEASE);
    }
}

//
// ALLOCATOR_ALLOCATE over RtlAllocatePages.
// Returns the memory or NULL.
//

static
PVOID
RtlPageAllocate(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
{
    PVOID Base;

    if (!NT_SUCCESS(RtlAllocatePages((PCRTL)Context, SizeInBytes, &Base))) {
        return NULL;
    }

    return Base;
}

//
// ALLOCATOR_FREE over RtlFreePages.
// Address: the memory, or NULL.
//

static
VOID
RtlPageFree(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
{
    RtlFreePages((PCRTL)Context, Address);
}

_Use_decl_annotations_
VOID
RtlInitializePageAllocator(
    PCRTL Rtl,
    PALLOCATOR Allocator
    )
/*++

Routine Description:

    Makes an ALLOCATOR whose every allocation is pages of its own.

Arguments:

    Rtl - Supplies the RTL, which must outlive the allocator.

    Allocator - Receives it.

Return Value:

    None.

--*/
{
    Allocator->Context = (PVOID)Rtl;
    Allocator->Allocate = RtlPageAllocate;
    Allocator->Free = RtlPageFree;
}
