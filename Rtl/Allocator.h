/*++

Module Name:

    Allocator.h

Abstract:

    The allocator that a caller passes to whatever needs memory.  It is a pair
    of routines and their context, so that tests can count, fail and fence
    allocations and native builds can use the C library.

--*/

#ifndef TRACER_ALLOCATOR_H
#define TRACER_ALLOCATOR_H

#include "RtlTypes.h"

//
// Returns SizeInBytes of zeroed memory aligned on 16 bytes, or NULL.
//

typedef
_Must_inspect_result_
_Ret_maybenull_
PVOID
(ALLOCATOR_ALLOCATE)(
    _In_opt_ PVOID Context,
    _In_ SIZE_T SizeInBytes
    );
typedef ALLOCATOR_ALLOCATE *PALLOCATOR_ALLOCATE;

//
// Frees what Allocate returned; NULL is allowed.
//

typedef
VOID
(ALLOCATOR_FREE)(
    _In_opt_ PVOID Context,
    _In_opt_ PVOID Address
    );
typedef ALLOCATOR_FREE *PALLOCATOR_FREE;

typedef struct _ALLOCATOR {
    PVOID Context;
    PALLOCATOR_ALLOCATE Allocate;
    PALLOCATOR_FREE Free;
} ALLOCATOR;
typedef ALLOCATOR *PALLOCATOR;
typedef const ALLOCATOR *PCALLOCATOR;

#endif // TRACER_ALLOCATOR_H
