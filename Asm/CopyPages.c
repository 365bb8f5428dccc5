/*++

Module Name:

    CopyPages.c

Abstract:

    CopyPages.asm in C: the same contract and the same instruction set, so that
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
AsmCopyPagesInC(
    PVOID Destination,
    const VOID *Source,
    SIZE_T SizeInBytes
    )
/*++

Routine Description:

    Copies pages, from the first to the last.

Arguments:

    Destination - Receives the bytes; aligned on 4,096.

    Source - Supplies the bytes; aligned on 4,096.

    SizeInBytes - Supplies the size, a multiple of 4,096; 0 is allowed.

Return Value:

    TRUE, or FALSE if an argument is not aligned, if the ranges have a byte in
    common, or if one goes beyond the end of the address space; then nothing
    was written.

--*/
{
    const __m256i *From;
    __m256i *Next;
    __m256i *End;
    __m256i Bytes[4];
    ULONG_PTR To;
    ULONG_PTR Start;
    ULONG Index;

    To = (ULONG_PTR)Destination;
    Start = (ULONG_PTR)Source;
    if (((To | Start | SizeInBytes) & (ASM_PAGE_SIZE - 1)) != 0 ||
        To + SizeInBytes < To ||
        Start + SizeInBytes < Start ||
        To - Start < SizeInBytes ||
        Start - To < SizeInBytes) {

        return FALSE;
    }

    From = (const __m256i *)Source;
    Next = (__m256i *)Destination;
    End = (__m256i *)(To + SizeInBytes);

    if (SizeInBytes < ASM_COPY_PAGES_STREAM) {
        while (Next != End) {
            for (Index = 0; Index < 4; Index += 1) {
                Bytes[Index] = _mm256_load_si256(From + Index);
            }
            for (Index = 0; Index < 4; Index += 1) {
                _mm256_store_si256(Next + Index, Bytes[Index]);
            }
            From += 4;
            Next += 4;
        }
    } else {
        while (Next != End) {
            for (Index = 0; Index < 4; Index += 1) {
                Bytes[Index] = _mm256_load_si256(From + Index);
            }
            for (Index = 0; Index < 4; Index += 1) {
                _mm256_stream_si256(Next + Index, Bytes[Index]);
            }
            From += 4;
            Next += 4;
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
