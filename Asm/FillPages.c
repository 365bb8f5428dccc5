/*++

Module Name:

    FillPages.c

Abstract:

    FillPages.asm in C: the same contract and the same instruction set, so that
    one can be held against the other.

--*/

#include "Asm.h"
#include <immintrin.h>

//
// Only this routine may have AVX2; cl.exe needs no leave for intrinsics.
//

#if defined(__clang__) || defined(__GNUC__)
__attribute__((target("avx2")))
#endif
_Use_decl_annotations_
BOOLEAN
AsmFillPagesInC(
    PVOID Destination,
    SIZE_T SizeInBytes,
    BYTE Value
    )
/*++

Routine Description:

    Fills pages with a byte, from the first to the last.

Arguments:

    Destination - Receives the bytes; aligned on 4,096.

    SizeInBytes - Supplies the size, a multiple of 4,096; 0 is allowed.

    Value - Supplies the byte.

Return Value:

    TRUE, or FALSE if an argument is not aligned or the range goes beyond the
    end of the address space; then nothing was written.

--*/
{
    __m256i *Next;
    __m256i *End;
    __m256i Bytes;
    ULONG_PTR Address;
    ULONG Index;

    Address = (ULONG_PTR)Destination;
    if (((Address | SizeInBytes) & (ASM_PAGE_SIZE - 1)) != 0 ||
        Address + SizeInBytes < Address) {

        return FALSE;
    }

    Next = (__m256i *)Destination;
    End = (__m256i *)(Address + SizeInBytes);
    Bytes = _mm256_set1_epi8((char)Value);

    if (SizeInBytes < ASM_FILL_PAGES_STREAM) {
        while (Next != End) {
            for (Index = 0; Index < 8; Index += 1) {
                _mm256_store_si256(Next + Index, Bytes);
            }
            Next += 8;
        }
    } else {
        while (Next != End) {
            for (Index = 0; Index < 8; Index += 1) {
                _mm256_stream_si256(Next + Index, Bytes);
            }
            Next += 8;
        }
        _mm_sfence();
    }

    //
    // clang and gcc end the use of ymm registers by themselves; told to, clang
    // saves all the registers that the instruction might change.
    //

#if defined(_MSC_VER) && !defined(__clang__)
    _mm256_zeroupper();
#endif

    return TRUE;
}
