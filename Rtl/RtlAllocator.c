/*++

Module Name:

    RtlAllocator.c

Abstract:

    The process heap as an ALLOCATOR.

--*/

#include "Rtl.h"

static
_Must_inspect_result_
_Ret_maybenull_
PVOID
RtlpHeapAllocate(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Allocates from the process heap.  The heap aligns on 16 bytes on x64.

Arguments:

    Context - Supplies the RTL.

    SizeInBytes - Supplies the number of bytes; 0 gives a valid block.

Return Value:

    The zeroed memory, or NULL.

--*/
{
    PCRTL Rtl = (PCRTL)Context;

    return Rtl->RtlAllocateHeap(Rtl->ProcessHeap,
                                HEAP_ZERO_MEMORY,
                                SizeInBytes);
}

static
VOID
RtlpHeapFree(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    )
/*++

Routine Description:

    Frees what RtlpHeapAllocate returned.

Arguments:

    Context - Supplies the RTL.

    Address - Supplies the block, or NULL.

Return Value:

    None.

--*/
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
