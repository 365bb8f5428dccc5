/*++

Module Name:

    StringTableSse.c

Abstract:

    The searches with SSE4.2: 16 bytes at a time.

--*/

#include "StringTablePrivate.h"

#if STRING_TABLE_HAS_VECTORS

#include <immintrin.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define KERNEL_TARGET
#else
#define KERNEL_TARGET __attribute__((target("sse4.2")))
#endif

#define KERNEL_NAME(Name) KERNEL_NAME_OF(Name)
#define KERNEL_NAME_OF(Name) KERNEL_##Name
#define KERNEL_Flat StringTableFlatSse
#define KERNEL_FlatBytes StringTableFlatSseBytes
#define KERNEL_FlatUtf16 StringTableFlatSseUtf16
#define KERNEL_Wide StringTableWideSse
#define KERNEL_WideBytes StringTableWideSseBytes
#define KERNEL_WideUtf16 StringTableWideSseUtf16
#define KERNEL_Trie StringTableTrieSse
#define KERNEL_TrieBytes StringTableTrieSseBytes
#define KERNEL_TrieUtf16 StringTableTrieSseUtf16
#define KERNEL_WIDTH 16
#define KERNEL_SLOT_WIDTH 32
#define KERNEL_ARE_LONG AreLong32

typedef struct _KERNEL_STRING {
    __m128i Low;
    __m128i High;
} KERNEL_STRING;

STRING_TABLE_INLINE
KERNEL_TARGET
__m128i
KernelFold(
    _In_ __m128i Bytes,
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
    __m128i Others;

    if (Fold == STRING_TABLE_FOLD_BYTES) {
        Others = _mm_cmpgt_epi8(
            _mm_add_epi8(Bytes, _mm_set1_epi8((char)(0x80 - 'A'))),
            _mm_set1_epi8((char)(0x80 + 25)));
        Bytes = _mm_or_si128(
            Bytes,
            _mm_andnot_si128(Others, _mm_set1_epi8(0x20)));
    } else if (Fold == STRING_TABLE_FOLD_UTF16) {
        Others = _mm_cmpgt_epi16(
            _mm_add_epi16(Bytes, _mm_set1_epi16((short)(0x8000 - 'A'))),
            _mm_set1_epi16((short)(0x8000 + 25)));
        Bytes = _mm_or_si128(
            Bytes,
            _mm_andnot_si128(Others, _mm_set1_epi16(0x20)));
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
    __m128i Bytes;
    ULONG Equal;

    Bytes = KernelFold(_mm_loadu_si128((const __m128i *)String), Fold);
    Bytes = _mm_cmpeq_epi8(Bytes, _mm_loadu_si128((const __m128i *)Prefix));
    Equal = (ULONG)_mm_movemask_epi8(Bytes);

    return StringTableLowestBit(Equal ^ 0x1FFFFu);
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

    Bytes.Low = _mm_loadu_si128((const __m128i *)String);
    Bytes.High = _mm_loadu_si128((const __m128i *)String + 1);
    Bytes.Low = KernelFold(Bytes.Low, Fold);
    Bytes.High = KernelFold(Bytes.High, Fold);

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
    const __m128i *Places = (const __m128i *)Flat->Places2;
    const __m128i *Keys = (const __m128i *)Flat->Keys2;
    __m128i Low;
    __m128i High;

    Low = _mm_cmpeq_epi16(_mm_shuffle_epi8(Bytes.Low, Places[0]), Keys[0]);
    High = _mm_cmpeq_epi16(_mm_shuffle_epi8(Bytes.Low, Places[1]), Keys[1]);

    return (ULONG)_mm_movemask_epi8(_mm_packs_epi16(Low, High));
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONG
KernelLowestBit(
    _In_ ULONGLONG Set
    )
{
    return Set == 0 ? 64 : StringTableLowestBit(Set);
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONGLONG
KernelWideCandidates(
    _In_ PCSTRING_TABLE_FLAT Flat,
    _In_ KERNEL_STRING Bytes
    )
{
    const __m128i *Places = (const __m128i *)Flat->Places2;
    const __m128i *Keys = (const __m128i *)Flat->Keys2;
    __m128i First;
    __m128i Second;
    ULONGLONG Set;
    ULONG Index;
    ULONG At;

    Set = 0;
    for (Index = 0; Index < 4; Index += 1) {
        At = (Index & 2) * 2 + (Index & 1);
        First = _mm_shuffle_epi8(Bytes.Low, Places[At]);
        Second = _mm_shuffle_epi8(Bytes.Low, Places[At + 2]);
        First = _mm_cmpeq_epi16(First, Keys[At]);
        Second = _mm_cmpeq_epi16(Second, Keys[At + 2]);
        First = _mm_packs_epi16(First, Second);
        Set |= (ULONGLONG)(ULONG)_mm_movemask_epi8(First) << (16 * Index);
    }

    return Set;
}

STRING_TABLE_INLINE
KERNEL_TARGET
ULONGLONG
KernelDifference(
    _In_ KERNEL_STRING Bytes,
    _In_ const UCHAR *Slot
    )
{
    __m128i Low;
    __m128i High;
    ULONG Equal;

    Low = _mm_cmpeq_epi8(Bytes.Low, *(const __m128i *)Slot);
    High = _mm_cmpeq_epi8(Bytes.High, *((const __m128i *)Slot + 1));
    Equal = (ULONG)_mm_movemask_epi8(Low) |
            (ULONG)_mm_movemask_epi8(High) << 16;

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
    __m128i Bytes;
    ULONGLONG Equal;
    ULONG Offset;

    UNREFERENCED_PARAMETER(Length);

    Equal = 0;
    for (Offset = 0; Offset < 64; Offset += 16) {
        Bytes = _mm_loadu_si128((const __m128i *)(String + Offset));
        Bytes = KernelFold(Bytes, Fold);
        Bytes = _mm_cmpeq_epi8(
            Bytes,
            _mm_loadu_si128((const __m128i *)(Prefix + Offset)));
        Equal |= (ULONGLONG)(ULONG)_mm_movemask_epi8(Bytes) << Offset;
    }

    return ~Equal;
}

#include "StringTableKernel.h"

#endif
