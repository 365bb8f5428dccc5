/*++

Module Name:

    Memory.c

Abstract:

    The allocator; copies, fills and comparisons; and what stands in for the C
    runtime.

--*/

#include "TestRtl.h"

//
// C runtime routines of RtlCrt.c, called by name.
//

void *memcpy(void *Destination, const void *Source, size_t SizeInBytes);
void *memmove(void *Destination, const void *Source, size_t SizeInBytes);
void *memset(void *Destination, int Value, size_t SizeInBytes);
int memcmp(const void *First, const void *Second, size_t SizeInBytes);

//
// RtlAllocator.c
//

//
// Tests the heap allocator.
//

_Use_decl_annotations_
VOID
TestAllocator(
    PCALLOCATOR Allocator
    )
{
    PBYTE Blocks[64];
    ULONG Index;
    ULONG Round;
    SIZE_T Byte;
    BOOLEAN IsZero = TRUE;
    BOOLEAN IsAligned = TRUE;
    BOOLEAN IsThere = TRUE;

    //
    // Blocks of the second round are blocks of the first that were written.
    //

    for (Round = 0; Round < 2; Round++) {

        for (Index = 0; Index < RTL_NUMBER_OF(Blocks); Index++) {

            Blocks[Index] = Allocator->Allocate(Allocator->Context,
                                                Index * 7);
            if (Blocks[Index] == NULL) {
                IsThere = FALSE;
                continue;
            }

            if ((ULONG_PTR)Blocks[Index] % 16 != 0) {
                IsAligned = FALSE;
            }

            for (Byte = 0; Byte < Index * 7; Byte++) {
                if (Blocks[Index][Byte] != 0) {
                    IsZero = FALSE;
                }
            }

            RtlFillBytes(Blocks[Index], Index * 7, 0xA5);
        }

        for (Index = 0; Index < RTL_NUMBER_OF(Blocks); Index++) {
            Allocator->Free(Allocator->Context, Blocks[Index]);
        }
    }

    TEST(IsThere);
    TEST(IsAligned);
    TEST(IsZero);

    Allocator->Free(Allocator->Context, NULL);

    TEST(Allocator->Allocate(Allocator->Context, (SIZE_T)1 << 62) == NULL);
}

//
// RtlMemory.c and RtlCrt.c
//

//
// Tests the memory routines, each size up to 100, at the end of a page behind
// which there is nothing.
//

VOID
TestMemory(
    VOID
    )
{
    PBYTE From;
    PBYTE To;
    ULONG Size;
    ULONG Index;
    BOOLEAN Copied = TRUE;
    BOOLEAN Filled = TRUE;
    BOOLEAN Guarded = TRUE;
    BOOLEAN Equal = TRUE;
    BOOLEAN Different = TRUE;

    From = VirtualAlloc(NULL, 2 * TEST_PAGE_SIZE, MEM_RESERVE, PAGE_NOACCESS);
    To = VirtualAlloc(NULL, 2 * TEST_PAGE_SIZE, MEM_RESERVE, PAGE_NOACCESS);
    VirtualAlloc(From, TEST_PAGE_SIZE, MEM_COMMIT, PAGE_READWRITE);
    VirtualAlloc(To, TEST_PAGE_SIZE, MEM_COMMIT, PAGE_READWRITE);

    From += TEST_PAGE_SIZE;
    To += TEST_PAGE_SIZE;

    for (Size = 0; Size <= 100; Size++) {

        for (Index = 1; Index <= Size + 8; Index++) {
            *(From - Index) = (BYTE)(Index * 37 + Size);
            *(To - Index) = 0xEE;
        }

        RtlCopyBytes(To - Size, From - Size, Size);

        for (Index = 1; Index <= Size; Index++) {
            if (*(To - Index) != (BYTE)(Index * 37 + Size)) {
                Copied = FALSE;
            }
        }

        if (!RtlAreBytesEqual(To - Size, From - Size, Size)) {
            Equal = FALSE;
        }

        for (Index = 1; Index <= Size; Index++) {
            *(To - Index) = (BYTE)(*(To - Index) ^ 0x80);
            if (RtlAreBytesEqual(To - Size, From - Size, Size)) {
                Different = FALSE;
            }
            *(To - Index) = (BYTE)(*(To - Index) ^ 0x80);
        }

        RtlFillBytes(To - Size, Size, 0x5A);
        for (Index = 1; Index <= Size; Index++) {
            if (*(To - Index) != 0x5A) {
                Filled = FALSE;
            }
        }

        RtlZeroBytes(To - Size, Size);
        for (Index = 1; Index <= Size; Index++) {
            if (*(To - Index) != 0) {
                Filled = FALSE;
            }
        }

        for (Index = Size + 1; Index <= Size + 8; Index++) {
            if (*(To - Index) != 0xEE) {
                Guarded = FALSE;
            }
        }
    }

    TEST(Copied);
    TEST(Equal);
    TEST(Different);
    TEST(Filled);
    TEST(Guarded);

    VirtualFree(From - TEST_PAGE_SIZE, 0, MEM_RELEASE);
    VirtualFree(To - TEST_PAGE_SIZE, 0, MEM_RELEASE);
}

//
// Tests the routines that compilers call.
//

VOID
TestCrt(
    VOID
    )
{
    CHAR Text[16];

    TEST(memcpy(Text, "abcdefghijklmno", 16) == Text);
    TEST_EQUAL_STRING(Text, "abcdefghijklmno");

    TEST(memmove(Text + 3, Text, 10) == Text + 3);
    TEST_EQUAL_STRING(Text, "abcabcdefghijno");

    memmove(Text, Text + 3, 12);
    TEST_EQUAL_STRING(Text, "abcdefghijnojno");

    memmove(Text, Text, 15);
    TEST_EQUAL_STRING(Text, "abcdefghijnojno");

    memmove(Text + 8, Text, 0);
    memmove(Text + 8, Text, 8);
    TEST_EQUAL_BYTES(Text, "abcdefghabcdefgh", 16);

    TEST(memset(Text + 1, 0x158, 3) == Text + 1);
    TEST_EQUAL_BYTES(Text, "aXXXefgh", 8);

    TEST(memcmp("abc", "abd", 3) < 0);
    TEST(memcmp("abd", "abc", 3) > 0);
    TEST(memcmp("abd", "abc", 2) == 0);
    TEST(memcmp("\x80", "\x7f", 1) > 0);
    TEST(memcmp("a", "b", 0) == 0);
}
