/*++

Module Name:

    StringTableAvx2.c

Abstract:

    The searches with AVX2: 32 bytes at a time.  Those of flat tables are the
    twins of the ones in StringTableAvx2.asm.

--*/

#include "StringTablePrivate.h"

#if STRING_TABLE_HAS_VECTORS

#include <immintrin.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define KERNEL_TARGET
#else
#define KERNEL_TARGET __attribute__((target("avx2,bmi,bmi2")))
#endif

#define KERNEL_NAME(Name) KERNEL_NAME_OF(Name)
#define KERNEL_NAME_OF(Name) KERNEL_##Name
#define KERNEL_Flat StringTableFlatAvx2C
#define KERNEL_FlatBytes StringTableFlatAvx2CBytes
#define KERNEL_FlatUtf16 StringTableFlatAvx2CUtf16
#define KERNEL_Wide StringTableWideAvx2C
#define KERNEL_WideBytes StringTableWideAvx2CBytes
#define KERNEL_WideUtf16 StringTableWideAvx2CUtf16
#define KERNEL_Trie StringTableTrieAvx2C
#define KERNEL_TrieBytes StringTableTrieAvx2CBytes
#define KERNEL_TrieUtf16 StringTableTrieAvx2CUtf16
#define KERNEL_WIDTH 32
#define KERNEL_SLOT_WIDTH 64
#define KERNEL_ARE_LONG AreLong64

typedef struct _KERNEL_STRING {
    __m256i Low;
    __m256i High;
} KERNEL_STRING;

STRING_TABLE_INLINE
KERNEL_TARGET
__m256i
KernelFold(
    _In_ __m256i Bytes,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Makes the letters A to Z small: they are moved to the lowest numbers that
    there are, with a sign, and compared once.

Arguments:

    Bytes - The characters.

    Fold - How they are folded.

Return Value:

    The folded characters.

--*/
{
    __m256i Others;

    if (Fold == STRING_TABLE_FOLD_BYTES) {
        Others = _mm256_cmpgt_epi8(
            _mm256_add_epi8(Bytes,
                _mm256_set1_epi8((char)StringTableHide(0x80 - 'A'))),
            _mm256_set1_epi8((char)StringTableHide(0x80 + 25)));
        Bytes = _mm256_or_si256(
            Bytes,
            _mm256_andnot_si256(Others,
                _mm256_set1_epi8((char)StringTableHide(0x20))));
    } else if (Fold == STRING_TABLE_FOLD_UTF16) {
        Others = _mm256_cmpgt_epi16(
            _mm256_add_epi16(Bytes,
                _mm256_set1_epi16((short)StringTableHide(0x8000 - 'A'))),
            _mm256_set1_epi16((short)StringTableHide(0x8000 + 25)));
        Bytes = _mm256_or_si256(
            Bytes,
            _mm256_andnot_si256(Others,
                _mm256_set1_epi16((short)StringTableHide(0x20))));
    }

    return Bytes;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONG
KernelEqual(
    _In_reads_bytes_(KERNEL_WIDTH) const UCHAR *String,
    _In_reads_bytes_(KERNEL_WIDTH) const UCHAR *Prefix,
    _In_ ULONG Fold
    )
{
    __m256i Bytes;
    ULONGLONG Equal;

    Bytes = KernelFold(_mm256_loadu_si256((const __m256i *)String), Fold);
    Bytes = _mm256_cmpeq_epi8(Bytes,
                              _mm256_loadu_si256((const __m256i *)Prefix));
    Equal = (ULONG)_mm256_movemask_epi8(Bytes);

    return StringTableLowestBit(Equal ^ 0x1FFFFFFFFULL);
}

STRING_TABLE_INLINE
KERNEL_TARGET
KERNEL_STRING
KernelLoad(
    _In_reads_bytes_(KERNEL_SLOT_WIDTH) const UCHAR *String,
    _In_ ULONG Length,
    _In_ ULONG Fold
    )
{
    KERNEL_STRING Bytes;

    UNREFERENCED_PARAMETER(Length);

    Bytes.Low = KernelFold(_mm256_loadu_si256((const __m256i *)String), Fold);
    Bytes.High = KernelFold(_mm256_loadu_si256((const __m256i *)String + 1),
                            Fold);

    return Bytes;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONGLONG
KernelCandidates(
    _In_ PCSTRING_TABLE_FLAT Flat,
    _In_ KERNEL_STRING Bytes
    )
{
    const __m256i *Places = (const __m256i *)Flat->Places4;
    const __m256i *Keys = (const __m256i *)Flat->Keys4;
    __m256i Key;
    __m256i First;
    __m256i Second;

    Key = _mm256_permute2x128_si256(Bytes.Low, Bytes.Low, 0);
    First = _mm256_cmpeq_epi32(_mm256_shuffle_epi8(Key, Places[0]), Keys[0]);
    Second = _mm256_cmpeq_epi32(_mm256_shuffle_epi8(Key, Places[1]), Keys[1]);

    return (ULONG)_mm256_movemask_ps(_mm256_castsi256_ps(First)) |
           (ULONG)_mm256_movemask_ps(_mm256_castsi256_ps(Second)) << 8;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONG
KernelLowestBit(
    _In_ ULONGLONG Set
    )
{
    return (ULONG)_tzcnt_u64(Set);
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONGLONG
KernelWideCandidates(
    _In_ PCSTRING_TABLE_FLAT Flat,
    _In_ KERNEL_STRING Bytes
    )
{
    const __m256i *Places = (const __m256i *)Flat->Places2;
    const __m256i *Keys = (const __m256i *)Flat->Keys2;
    __m256i Key;
    __m256i First;
    __m256i Second;
    ULONG Low;
    ULONG High;

    Key = _mm256_permute2x128_si256(Bytes.Low, Bytes.Low, 0);
    First = _mm256_cmpeq_epi16(_mm256_shuffle_epi8(Key, Places[0]), Keys[0]);
    Second = _mm256_cmpeq_epi16(_mm256_shuffle_epi8(Key, Places[1]), Keys[1]);
    Low = (ULONG)_mm256_movemask_epi8(_mm256_packs_epi16(First, Second));
    First = _mm256_cmpeq_epi16(_mm256_shuffle_epi8(Key, Places[2]), Keys[2]);
    Second = _mm256_cmpeq_epi16(_mm256_shuffle_epi8(Key, Places[3]), Keys[3]);
    High = (ULONG)_mm256_movemask_epi8(_mm256_packs_epi16(First, Second));

    return Low | (ULONGLONG)High << 32;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONGLONG
KernelDifference(
    _In_ KERNEL_STRING Bytes,
    _In_ const UCHAR *Slot
    )
{
    __m256i Low;
    __m256i High;
    ULONGLONG Equal;

    Low = _mm256_cmpeq_epi8(Bytes.Low, ((const __m256i *)Slot)[0]);
    High = _mm256_cmpeq_epi8(Bytes.High, ((const __m256i *)Slot)[1]);
    Equal = (ULONG)_mm256_movemask_epi8(Low) |
            (ULONGLONG)(ULONG)_mm256_movemask_epi8(High) << 32;

    return ~Equal;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONGLONG
KernelDifference64(
    _In_reads_bytes_(64) const UCHAR *String,
    _In_ ULONG Length,
    _In_reads_bytes_(64) const UCHAR *Prefix,
    _In_ ULONG Fold
    )
{
    __m256i Low;
    __m256i High;
    ULONGLONG Equal;

    UNREFERENCED_PARAMETER(Length);

    Low = KernelFold(_mm256_loadu_si256((const __m256i *)String), Fold);
    High = KernelFold(_mm256_loadu_si256((const __m256i *)String + 1), Fold);
    Low = _mm256_cmpeq_epi8(Low,
                            _mm256_loadu_si256((const __m256i *)Prefix));
    High = _mm256_cmpeq_epi8(High,
                             _mm256_loadu_si256((const __m256i *)Prefix + 1));
    Equal = (ULONG)_mm256_movemask_epi8(Low) |
            (ULONGLONG)(ULONG)_mm256_movemask_epi8(High) << 32;

    return ~Equal;
}

#include "StringTableKernel.h"

#endif
