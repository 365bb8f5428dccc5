/*++

Module Name:

    BaseContainer.c

Abstract:

    The few containers that the reader needs: an array that grows, a map from
    numbers to numbers, a sort.

--*/

#include "../../Rtl/Rtl.h"
#include "BaseContainer.h"

#define READER_FIRST_ARRAY_CAPACITY 16
#define READER_FIRST_MAP_CAPACITY 256

//
// 2^64 divided by the golden ratio: multiplying by it spreads keys that differ
// in any of their bits over the top bits of the product.
//

#define READER_MAP_MULTIPLIER 0x9E3779B97F4A7C15ULL


_Use_decl_annotations_
NTSTATUS
BaseGrowArray(
    PCALLOCATOR Allocator,
    PVOID *Array,
    PULONG Capacity,
    ULONG NumberOfElements,
    SIZE_T SizeOfElement
    )
{
    PVOID NewArray;
    ULONG NewCapacity;

    if (NumberOfElements <= *Capacity) {
        return STATUS_SUCCESS;
    }

    NewCapacity = *Capacity == 0 ? READER_FIRST_ARRAY_CAPACITY : *Capacity;
    while (NewCapacity < NumberOfElements) {

        if (NewCapacity >= 0x80000000u) {
            return STATUS_NO_MEMORY;
        }

        NewCapacity *= 2;
    }

    NewArray = Allocator->Allocate(Allocator->Context,
                                   NewCapacity * SizeOfElement);
    if (NewArray == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (*Array != NULL) {
        RtlCopyBytes(NewArray, *Array, *Capacity * SizeOfElement);
        Allocator->Free(Allocator->Context, *Array);
    }

    *Array = NewArray;
    *Capacity = NewCapacity;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
BaseInitializeMap(
    PREADER_MAP Map,
    PCALLOCATOR Allocator
    )
{
    Map->Allocator = Allocator;
    Map->Slots = NULL;
    Map->Capacity = 0;
    Map->Count = 0;
}


_Use_decl_annotations_
VOID
BaseRundownMap(
    PREADER_MAP Map
    )
{
    if (Map->Slots != NULL) {
        Map->Allocator->Free(Map->Allocator->Context, Map->Slots);
    }

    Map->Slots = NULL;
    Map->Capacity = 0;
    Map->Count = 0;
}


//
// Finds the slot that a key is in or would go to.
// Map: the map, with a slot free.
//

static
PREADER_MAP_SLOT
BaseLocateSlot(
    _In_ const READER_MAP *Map,
    _In_ ULONGLONG Key
    )
{
    ULONGLONG Hash = Key * READER_MAP_MULTIPLIER;
    ULONG Mask = Map->Capacity - 1;
    ULONG Index = (ULONG)(Hash >> 32) & Mask;

    while (Map->Slots[Index].IsUsed != 0 && Map->Slots[Index].Key != Key) {
        Index = (Index + 1) & Mask;
    }

    return &Map->Slots[Index];
}


_Use_decl_annotations_
BOOLEAN
BaseFindInMap(
    const READER_MAP *Map,
    ULONGLONG Key,
    PULONG Value
    )
{
    PREADER_MAP_SLOT Slot;

    if (Map->Capacity == 0) {
        return FALSE;
    }

    Slot = BaseLocateSlot(Map, Key);
    if (Slot->IsUsed == 0) {
        return FALSE;
    }

    *Value = Slot->Value;
    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
BaseAddToMap(
    PREADER_MAP Map,
    ULONGLONG Key,
    ULONG Value
    )
{
    READER_MAP Larger;
    PREADER_MAP_SLOT Slot;
    ULONG Index;

    //
    // At most half of the slots are used: searches stay short, and always end.
    //

    if (Map->Count >= Map->Capacity / 2) {

        if (Map->Capacity >= 0x40000000u) {
            return STATUS_NO_MEMORY;
        }

        Larger.Allocator = Map->Allocator;
        Larger.Count = Map->Count;
        Larger.Capacity = Map->Capacity == 0 ? READER_FIRST_MAP_CAPACITY
                                             : Map->Capacity * 2;
        Larger.Slots = (PREADER_MAP_SLOT)
            Map->Allocator->Allocate(Map->Allocator->Context,
                                     Larger.Capacity *
                                         sizeof(READER_MAP_SLOT));
        if (Larger.Slots == NULL) {
            return STATUS_NO_MEMORY;
        }

        for (Index = 0; Index < Map->Capacity; Index++) {
            if (Map->Slots[Index].IsUsed != 0) {
                Slot = BaseLocateSlot(&Larger, Map->Slots[Index].Key);
                *Slot = Map->Slots[Index];
            }
        }

        BaseRundownMap(Map);
        *Map = Larger;
    }

    Slot = BaseLocateSlot(Map, Key);
    Slot->Key = Key;
    Slot->Value = Value;
    Slot->IsUsed = 1;
    Map->Count += 1;
    return STATUS_SUCCESS;
}


//
// Restores the heap below one element.
// Indexes: the heap: no element comes after its parent.
// Count: the heap's size.
// Compare, Context: the order.
//

static
VOID
BaseSiftDown(
    _Inout_updates_(Count) PULONG Indexes,
    _In_ ULONG Root,
    _In_ ULONG Count,
    _In_ PREADER_COMPARE Compare,
    _In_ PVOID Context
    )
{
    ULONG Value = Indexes[Root];
    ULONG Child;

    while ((Child = Root * 2 + 1) < Count) {

        if (Child + 1 < Count &&
            Compare(Context, Indexes[Child], Indexes[Child + 1]) < 0) {
            Child += 1;
        }

        if (Compare(Context, Value, Indexes[Child]) >= 0) {
            break;
        }

        Indexes[Root] = Indexes[Child];
        Root = Child;
    }

    Indexes[Root] = Value;
}


_Use_decl_annotations_
VOID
BaseSort(
    PULONG Indexes,
    ULONG Count,
    PREADER_COMPARE Compare,
    PVOID Context
    )
{
    ULONG Index;
    ULONG Largest;

    for (Index = Count / 2; Index != 0; Index--) {
        BaseSiftDown(Indexes, Index - 1, Count, Compare, Context);
    }

    for (Index = Count; Index > 1; Index--) {
        Largest = Indexes[0];
        Indexes[0] = Indexes[Index - 1];
        Indexes[Index - 1] = Largest;
        BaseSiftDown(Indexes, 0, Index - 1, Compare, Context);
    }
}


_Use_decl_annotations_
LONG
BaseCompareText(
    const CHAR *First,
    ULONG FirstLength,
    const CHAR *Second,
    ULONG SecondLength
    )
{
    ULONG Index;

    for (Index = 0; Index < FirstLength && Index < SecondLength; Index++) {
        if (First[Index] != Second[Index]) {
            return (LONG)(UCHAR)First[Index] - (LONG)(UCHAR)Second[Index];
        }
    }

    return FirstLength == SecondLength ? 0
                                       : FirstLength < SecondLength ? -1 : 1;
}


_Use_decl_annotations_
BOOLEAN
BaseIsTextAlike(
    const CHAR *First,
    ULONG FirstLength,
    const CHAR *Second,
    ULONG SecondLength
    )
{
    ULONG Index;
    UCHAR Letter;

    if (FirstLength != SecondLength) {
        return FALSE;
    }

    for (Index = 0; Index < FirstLength; Index++) {

        Letter = (UCHAR)(First[Index] | 0x20);
        if (First[Index] != Second[Index] &&
            (Letter != (UCHAR)(Second[Index] | 0x20) ||
             Letter < 'a' || Letter > 'z')) {
            return FALSE;
        }
    }

    return TRUE;
}
