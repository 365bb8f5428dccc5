/*++

Module Name:

    ImportsState.c

Abstract:

    What all parts of this DLL share: its state, and where the stubs are.

--*/

#include "Imports.h"

IMPORTS ImportsState;
IMPORTS_MODULE ImportsModules[IMPORTS_MAXIMUM_MODULES];

_Use_decl_annotations_
PVOID
ImportsGetStubAddress(
    ULONG Stub
    )
{
    return (PVOID)(Stub < IMPORTS_SMALL_STUBS
                       ? ImportsSmallStubs + Stub * IMPORTS_STUB_SIZE
                       : ImportsLargeStubs + (Stub - IMPORTS_SMALL_STUBS) *
                                                 IMPORTS_STUB_SIZE);
}

_Use_decl_annotations_
ULONG
ImportsFindStub(
    const VOID *Address
    )
{
    ULONG_PTR Offset;

    Offset = (ULONG_PTR)Address - (ULONG_PTR)ImportsSmallStubs;
    if (Offset < sizeof(ImportsSmallStubs)) {
        return (ULONG)(Offset / IMPORTS_STUB_SIZE);
    }

    Offset = (ULONG_PTR)Address - (ULONG_PTR)ImportsLargeStubs;
    if (Offset < sizeof(ImportsLargeStubs)) {
        return IMPORTS_SMALL_STUBS + (ULONG)(Offset / IMPORTS_STUB_SIZE);
    }

    return IMPORTS_NONE;
}
