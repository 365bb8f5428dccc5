/*++

Module Name:

    BaseContainer.h

Abstract:

    Maps, sorting, and arrays that grow.

--*/

#ifndef TRACER_BASE_CONTAINER_H
#define TRACER_BASE_CONTAINER_H

#include "../../Rtl/Allocator.h"
#include "../../StringTable/StringTable.h"

//
// Makes room for NumberOfElements in an array that grows by doubling. New
// elements are zero.
// Allocator: where the array comes from.
// Array: the array; may move.
// Capacity: the elements it has room for.
// SizeOfElement: in bytes.
//

_Must_inspect_result_
NTSTATUS
BaseGrowArray(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PVOID *Array,
    _Inout_ PULONG Capacity,
    _In_ ULONG NumberOfElements,
    _In_ SIZE_T SizeOfElement
    );

//
// A map from a ULONGLONG to a ULONG.
//

typedef struct _READER_MAP_SLOT {
    ULONGLONG Key;
    ULONG Value;
    ULONG IsUsed;
} READER_MAP_SLOT;
typedef READER_MAP_SLOT *PREADER_MAP_SLOT;

typedef struct _READER_MAP {
    PCALLOCATOR Allocator;
    PREADER_MAP_SLOT Slots;
    ULONG Capacity;             // a power of two, or 0
    ULONG Count;
} READER_MAP;
typedef READER_MAP *PREADER_MAP;

//
// Makes an empty map.
// Allocator: for its slots.
//

VOID
BaseInitializeMap(
    _Out_ PREADER_MAP Map,
    _In_ PCALLOCATOR Allocator
    );

//
// Frees a map's slots.
// Map: the map; empty afterwards.
//

VOID
BaseRundownMap(
    _Inout_ PREADER_MAP Map
    );

//
// Looks a key up.
// Value: its value if it is there.
//

_Success_(return != FALSE)
BOOLEAN
BaseFindInMap(
    _In_ const READER_MAP *Map,
    _In_ ULONGLONG Key,
    _Out_ PULONG Value
    );

//
// Adds a key that is not in the map.
//

_Must_inspect_result_
NTSTATUS
BaseAddToMap(
    _Inout_ PREADER_MAP Map,
    _In_ ULONGLONG Key,
    _In_ ULONG Value
    );

//
// Sorts indexes in place; Compare is negative when First comes first.
//

typedef
LONG
(READER_COMPARE)(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    );
typedef READER_COMPARE *PREADER_COMPARE;

//
// Sorts, by heap sort: no memory, no recursion, no bad case.
// Indexes: what to sort; at most 2^31.
// Count: how many.
// Compare, Context: the order; ties end up in any order, so a comparison that
// wants one decides them.
//

VOID
BaseSort(
    _Inout_updates_(Count) PULONG Indexes,
    _In_ ULONG Count,
    _In_ PREADER_COMPARE Compare,
    _In_ PVOID Context
    );

//
// Orders two texts by their bytes. Of two that begin alike, the shorter is the
// first.
// Second, SecondLength: the other.
// Returns negative, zero or positive.
//

LONG
BaseCompareText(
    _In_reads_bytes_(FirstLength) const CHAR *First,
    _In_ ULONG FirstLength,
    _In_reads_bytes_(SecondLength) const CHAR *Second,
    _In_ ULONG SecondLength
    );

//
// Are two texts the same but for the case of ASCII letters?
//

BOOLEAN
BaseIsTextAlike(
    _In_reads_bytes_(FirstLength) const CHAR *First,
    _In_ ULONG FirstLength,
    _In_reads_bytes_(SecondLength) const CHAR *Second,
    _In_ ULONG SecondLength
    );

#endif // TRACER_BASE_CONTAINER_H
