/*++

Module Name:

    StringTableAvx512.c

Abstract:

    The searches with AVX-512: 64 bytes at a time, four bytes a key, and loads
    that leave out what is not the string's.

--*/

#include "StringTablePrivate.h"

#if STRING_TABLE_HAS_VECTORS

#include <immintrin.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define KERNEL_TARGET
#else
#define KERNEL_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl," \
                          "bmi,bmi2")))
#endif

#define KERNEL_NAME(Name) KERNEL_NAME_OF(Name)
#define KERNEL_NAME_OF(Name) KERNEL_##Name
#define KERNEL_Flat StringTableFlatAvx512
#define KERNEL_FlatBytes StringTableFlatAvx512Bytes
#define KERNEL_FlatUtf16 StringTableFlatAvx512Utf16
#define KERNEL_Wide StringTableWideAvx512
#define KERNEL_WideBytes StringTableWideAvx512Bytes
#define KERNEL_WideUtf16 StringTableWideAvx512Utf16
#define KERNEL_Trie StringTableTrieAvx512
#define KERNEL_TrieBytes StringTableTrieAvx512Bytes
#define KERNEL_TrieUtf16 StringTableTrieAvx512Utf16
#define KERNEL_WIDTH 64
#define KERNEL_SLOT_WIDTH 64
#define KERNEL_ARE_LONG AreLong64
#define KERNEL_IS_MASKED 1

typedef struct _KERNEL_STRING {
    __m512i All;
} KERNEL_STRING;

STRING_TABLE_INLINE
KERNEL_TARGET
__m512i
KernelFold(
    _In_ __m512i Bytes,
    _In_ ULONG Fold
    )
/*++

Routine Description:

    Makes the letters A to Z small.

Arguments:

    Bytes - The characters.

    Fold - How they are folded.

Return Value:

    The folded characters.

--*/
{
    __mmask64 Letters;
    __mmask32 WideLetters;

    if (Fold == STRING_TABLE_FOLD_BYTES) {
        Letters = _mm512_cmplt_epu8_mask(
            _mm512_sub_epi8(Bytes,
                _mm512_set1_epi8((char)StringTableHide('A'))),
            _mm512_set1_epi8((char)StringTableHide(26)));
        Bytes = _mm512_mask_add_epi8(Bytes,
                                     Letters,
                                     Bytes,
                                     _mm512_set1_epi8(
                                         (char)StringTableHide(0x20)));
    } else if (Fold == STRING_TABLE_FOLD_UTF16) {
        WideLetters = _mm512_cmplt_epu16_mask(
            _mm512_sub_epi16(Bytes,
                _mm512_set1_epi16((short)StringTableHide('A'))),
            _mm512_set1_epi16((short)StringTableHide(26)));
        Bytes = _mm512_mask_add_epi16(Bytes,
                                      WideLetters,
                                      Bytes,
                                      _mm512_set1_epi16(
                                          (short)StringTableHide(0x20)));
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
    __m512i Bytes;
    ULONGLONG Difference;

    Bytes = KernelFold(_mm512_loadu_si512(String), Fold);
    Difference = _mm512_cmpneq_epi8_mask(Bytes, _mm512_loadu_si512(Prefix));

    return Difference == 0 ? KERNEL_WIDTH : StringTableLowestBit(Difference);
}

STRING_TABLE_INLINE
KERNEL_TARGET
KERNEL_STRING
KernelLoad(
    _In_reads_bytes_(Length) const UCHAR *String,
    _In_ ULONG Length,
    _In_ ULONG Fold
    )
{
    KERNEL_STRING Bytes;
    __mmask64 Mask;

    Mask = _bzhi_u64(~0ULL, Length < 64 ? Length : 64);
    Bytes.All = KernelFold(_mm512_maskz_loadu_epi8(Mask, String), Fold);

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
    __m512i Key;

    Key = _mm512_shuffle_i32x4(Bytes.All, Bytes.All, 0);
    Key = _mm512_shuffle_epi8(Key, *(const __m512i *)Flat->Places4);

    return _mm512_cmpeq_epi32_mask(Key, *(const __m512i *)Flat->Keys4);
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
    const __m512i *Places = (const __m512i *)Flat->Places4;
    const __m512i *Keys = (const __m512i *)Flat->Keys4;
    __m512i Key;
    ULONGLONG First;
    ULONGLONG Second;
    ULONGLONG Third;
    ULONGLONG Fourth;

    Key = _mm512_shuffle_i32x4(Bytes.All, Bytes.All, 0);
    First = _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi8(Key, Places[0]),
                                    Keys[0]);
    Second = _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi8(Key, Places[1]),
                                     Keys[1]);
    Third = _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi8(Key, Places[2]),
                                    Keys[2]);
    Fourth = _mm512_cmpeq_epi32_mask(_mm512_shuffle_epi8(Key, Places[3]),
                                     Keys[3]);

    return First | Second << 16 | Third << 32 | Fourth << 48;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONGLONG
KernelDifference(
    _In_ KERNEL_STRING Bytes,
    _In_ const UCHAR *Slot
    )
{
    return _mm512_cmpneq_epi8_mask(Bytes.All, *(const __m512i *)Slot);
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
    KERNEL_STRING Bytes;

    Bytes = KernelLoad(String, Length, Fold);

    return _mm512_cmpneq_epi8_mask(Bytes.All, _mm512_loadu_si512(Prefix));
}

#include "StringTableKernel.h"

#endif
