/*++

Module Name:

    ReaderContainer.c

Abstract:

    The few containers that the reader needs: an array that grows, a map from
    numbers to numbers, a sort.

--*/

#include "Reader.h"

#define READER_FIRST_ARRAY_CAPACITY 16
#define READER_FIRST_MAP_CAPACITY 256

//
// 2^64 divided by the golden ratio: multiplying by it spreads keys that differ
// in any of their bits over the top bits of the product.
//

#define READER_MAP_MULTIPLIER 0x9E3779B97F4A7C15ULL


_Use_decl_annotations_
NTSTATUS
ReaderGrowArray(
    PCALLOCATOR Allocator,
    PVOID *Array,
    PULONG Capacity,
    ULONG NumberOfElements,
    SIZE_T SizeOfElement
    )
/*++

Routine Description:

    Makes room in an array; new elements are zero.

Arguments:

    Allocator - Where the array comes from.

    Array - The array; may move.

    Capacity - The elements it has room for.

    NumberOfElements - The elements it must have room for.

    SizeOfElement - In bytes.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
ReaderInitializeMap(
    PREADER_MAP Map,
    PCALLOCATOR Allocator
    )
/*++

Routine Description:

    Makes an empty map.

Arguments:

    Map - Receives it.

    Allocator - For its slots.

Return Value:

    None.

--*/
{
    Map->Allocator = Allocator;
    Map->Slots = NULL;
    Map->Capacity = 0;
    Map->Count = 0;
}


_Use_decl_annotations_
VOID
ReaderRundownMap(
    PREADER_MAP Map
    )
/*++

Routine Description:

    Frees a map's slots.

Arguments:

    Map - The map; empty afterwards.

Return Value:

    None.

--*/
{
    if (Map->Slots != NULL) {
        Map->Allocator->Free(Map->Allocator->Context, Map->Slots);
    }

    Map->Slots = NULL;
    Map->Capacity = 0;
    Map->Count = 0;
}


static
PREADER_MAP_SLOT
ReaderLocateSlot(
    _In_ const READER_MAP *Map,
    _In_ ULONGLONG Key
    )
/*++

Routine Description:

    Finds the slot that a key is in or would go to.

Arguments:

    Map - The map, with a slot free.

    Key - The key.

Return Value:

    The slot.

--*/
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
ReaderFindInMap(
    const READER_MAP *Map,
    ULONGLONG Key,
    PULONG Value
    )
/*++

Routine Description:

    Looks a key up.

Arguments:

    Map - The map.

    Key - The key.

    Value - Receives its value if it is there.

Return Value:

    TRUE if it is.

--*/
{
    PREADER_MAP_SLOT Slot;

    if (Map->Capacity == 0) {
        return FALSE;
    }

    Slot = ReaderLocateSlot(Map, Key);
    if (Slot->IsUsed == 0) {
        return FALSE;
    }

    *Value = Slot->Value;
    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
ReaderAddToMap(
    PREADER_MAP Map,
    ULONGLONG Key,
    ULONG Value
    )
/*++

Routine Description:

    Adds a key.

Arguments:

    Map - The map; does not hold the key.

    Key - The key.

    Value - Its value.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
                Slot = ReaderLocateSlot(&Larger, Map->Slots[Index].Key);
                *Slot = Map->Slots[Index];
            }
        }

        ReaderRundownMap(Map);
        *Map = Larger;
    }

    Slot = ReaderLocateSlot(Map, Key);
    Slot->Key = Key;
    Slot->Value = Value;
    Slot->IsUsed = 1;
    Map->Count += 1;
    return STATUS_SUCCESS;
}


static
VOID
ReaderSiftDown(
    _Inout_updates_(Count) PULONG Indexes,
    _In_ ULONG Root,
    _In_ ULONG Count,
    _In_ PREADER_COMPARE Compare,
    _In_ PVOID Context
    )
/*++

Routine Description:

    Restores the heap below one element.

Arguments:

    Indexes - The heap: no element comes after its parent.

    Root - The element.

    Count - The heap's size.

    Compare, Context - The order.

Return Value:

    None.

--*/
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
ReaderSort(
    PULONG Indexes,
    ULONG Count,
    PREADER_COMPARE Compare,
    PVOID Context
    )
/*++

Routine Description:

    Sorts, by heap sort: no memory, no recursion, no bad case.

Arguments:

    Indexes - What to sort; at most 2^31.

    Count - How many.

    Compare, Context - The order; ties end up in any order, so a comparison
        that wants one decides them.

Return Value:

    None.

--*/
{
    ULONG Index;
    ULONG Largest;

    for (Index = Count / 2; Index != 0; Index--) {
        ReaderSiftDown(Indexes, Index - 1, Count, Compare, Context);
    }

    for (Index = Count; Index > 1; Index--) {
        Largest = Indexes[0];
        Indexes[0] = Indexes[Index - 1];
        Indexes[Index - 1] = Largest;
        ReaderSiftDown(Indexes, 0, Index - 1, Compare, Context);
    }
}


_Use_decl_annotations_
LONG
ReaderCompareText(
    const CHAR *First,
    ULONG FirstLength,
    const CHAR *Second,
    ULONG SecondLength
    )
/*++

Routine Description:

    Orders two texts by their bytes; of two that begin alike, the shorter is
    the first.

Arguments:

    First, FirstLength - One, and its length in bytes.

    Second, SecondLength - The other.

Return Value:

    Negative, zero or positive.

--*/
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
