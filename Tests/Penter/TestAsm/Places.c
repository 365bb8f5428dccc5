/*++

Module Name:

    Places.c

Abstract:

    Memory between pages that fault, and what is in it.

--*/

#include "TestAsm.h"

BOOLEAN TestQuick;

_Use_decl_annotations_
PBYTE
TestAllocate(
    SIZE_T SizeInBytes
    )
{
    PBYTE Base;

    Base = (PBYTE)VirtualAlloc(NULL,
                               SizeInBytes + 2 * ASM_PAGE_SIZE,
                               MEM_RESERVE,
                               PAGE_NOACCESS);
    if (!TEST(Base != NULL)) {
        return NULL;
    }

    if (SizeInBytes != 0 &&
        !TEST(VirtualAlloc(Base + ASM_PAGE_SIZE,
                           SizeInBytes,
                           MEM_COMMIT,
                           PAGE_READWRITE) != NULL)) {

        VirtualFree(Base, 0, MEM_RELEASE);
        return NULL;
    }

    return Base + ASM_PAGE_SIZE;
}

_Use_decl_annotations_
VOID
TestFree(
    PBYTE Pages
    )
{
    if (Pages != NULL) {
        VirtualFree(Pages - ASM_PAGE_SIZE, 0, MEM_RELEASE);
    }
}

//
// Makes the byte of a pattern in which no two pages, and no two lines of one,
// are the same.
// Offset: where the byte is.
//

static
BYTE
TestByte(
    _In_ SIZE_T Offset,
    _In_ ULONG Seed
    )
{
    ULONG Word;

    Word = ((ULONG)(Offset >> 2) + Seed) * 2654435761U;
    return (BYTE)(Word >> (8 * (Offset & 3)));
}

_Use_decl_annotations_
VOID
TestMakePattern(
    PBYTE Bytes,
    SIZE_T SizeInBytes,
    ULONG Seed
    )
{
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes; Index += 1) {
        Bytes[Index] = TestByte(Index, Seed);
    }
}

_Use_decl_annotations_
BOOLEAN
TestIsPattern(
    const BYTE *Bytes,
    SIZE_T SizeInBytes,
    ULONG Seed
    )
{
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes; Index += 1) {
        if (Bytes[Index] != TestByte(Index, Seed)) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
TestIsFilled(
    const BYTE *Bytes,
    SIZE_T SizeInBytes,
    BYTE Value
    )
{
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes; Index += 1) {
        if (Bytes[Index] != Value) {
            return FALSE;
        }
    }

    return TRUE;
}
