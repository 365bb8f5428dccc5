/*++

Module Name:

    ExportVectors.c

Abstract:

    The columns of calls with AVX2.  Their differences, bounds and conversions
    took two thirds of what an export to Parquet takes beside the pairing.

--*/

#include "ExportBits.h"
#include "ExportVectors.h"

#include <immintrin.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define EXPORT_TARGET
#else
#define EXPORT_TARGET __attribute__((target("avx2,bmi,bmi2")))
#endif

#define EXPORT_LANES 4u
#define EXPORT_VECTORS_IN_PART (READER_DELTA_PART / EXPORT_LANES)
#define EXPORT_VECTORS_IN_BLOCK (READER_DELTA_BLOCK / EXPORT_LANES)

#define EXPORT_LOAD(Source) _mm256_loadu_si256((const __m256i *)(Source))
#define EXPORT_STORE(Target, Vector)                                        \
    _mm256_storeu_si256((__m256i *)(Target), (Vector))

C_ASSERT(sizeof(CORE_ENDED) == 32);
C_ASSERT(FIELD_OFFSET(CORE_ENDED, ExitTimestamp) == 8);
C_ASSERT(FIELD_OFFSET(CORE_ENDED, Depth) == 16);


CORE_INLINE
EXPORT_TARGET
__m256i
ExportVectorMinimum(
    _In_ __m256i First,
    _In_ __m256i Second
    )
{
    return _mm256_blendv_epi8(First,
                              Second,
                              _mm256_cmpgt_epi64(First, Second));
}


CORE_INLINE
EXPORT_TARGET
__m256i
ExportVectorMaximum(
    _In_ __m256i First,
    _In_ __m256i Second
    )
{
    return _mm256_blendv_epi8(Second,
                              First,
                              _mm256_cmpgt_epi64(First, Second));
}


CORE_INLINE
EXPORT_TARGET
LONGLONG
ExportVectorLowest(
    _In_ __m256i Vector
    )
{
    LONGLONG Lanes[EXPORT_LANES];
    ULONG Index;

    EXPORT_STORE(Lanes, Vector);
    for (Index = 1; Index < EXPORT_LANES; Index++) {
        Lanes[0] = Lanes[Index] < Lanes[0] ? Lanes[Index] : Lanes[0];
    }

    return Lanes[0];
}


CORE_INLINE
EXPORT_TARGET
LONGLONG
ExportVectorHighest(
    _In_ __m256i Vector
    )
{
    LONGLONG Lanes[EXPORT_LANES];
    ULONG Index;

    EXPORT_STORE(Lanes, Vector);
    for (Index = 1; Index < EXPORT_LANES; Index++) {
        Lanes[0] = Lanes[Index] > Lanes[0] ? Lanes[Index] : Lanes[0];
    }

    return Lanes[0];
}


//
// How many bits the largest of four numbers has, as bits of all of them.
//

CORE_INLINE
EXPORT_TARGET
ULONG
ExportVectorWidth(
    _In_ __m256i Vector
    )
{
    __m128i Half = _mm_or_si128(_mm256_castsi256_si128(Vector),
                                _mm256_extracti128_si256(Vector, 1));
    ULONGLONG All = (ULONGLONG)_mm_cvtsi128_si64(
        _mm_or_si128(Half, _mm_unpackhi_epi64(Half, Half)));

    return ExportBitsOf(All);
}


//
// Joins neighbours of two vectors: the first's are in the lower lanes of the
// halves.
//

CORE_INLINE
EXPORT_TARGET
__m256i
ExportVectorJoin(
    _In_ __m256i First,
    _In_ __m256i Second
    )
{
    return _mm256_or_si256(_mm256_unpacklo_epi64(First, Second),
                           _mm256_unpackhi_epi64(First, Second));
}


//
// Packs a part's numbers of up to 16 bits: four become one, and two of these
// are Width bytes.  Up to 15 bytes behind the end are overwritten.
//

CORE_INLINE
EXPORT_TARGET
PUCHAR
ExportVectorPackFours(
    _Out_ PUCHAR Target,
    _In_reads_(EXPORT_VECTORS_IN_PART) const __m256i *Vectors,
    _In_ ULONG Width
    )
{
    __m256i Shifts = _mm256_mul_epu32(_mm256_set_epi64x(3, 2, 1, 0),
                                      _mm256_set1_epi64x(Width));
    ULONGLONG Fours[EXPORT_VECTORS_IN_PART];
    __m256i Low;
    __m256i High;
    ULONG Index;

    for (Index = 0; Index < EXPORT_VECTORS_IN_PART; Index += 4) {

        Low = ExportVectorJoin(_mm256_sllv_epi64(Vectors[Index], Shifts),
                               _mm256_sllv_epi64(Vectors[Index + 1], Shifts));
        High = ExportVectorJoin(_mm256_sllv_epi64(Vectors[Index + 2], Shifts),
                                _mm256_sllv_epi64(Vectors[Index + 3], Shifts));
        EXPORT_STORE(&Fours[Index],
                     _mm256_or_si256(
                         _mm256_permute2x128_si256(Low, High, 0x20),
                         _mm256_permute2x128_si256(Low, High, 0x31)));
    }

    for (Index = 0; Index < EXPORT_VECTORS_IN_PART; Index += 2) {
        ExportBitsStoreEight(Target, Fours[Index], Fours[Index + 1], Width);
        Target += Width;
    }

    return Target;
}


//
// Packs numbers one after the other, wherever bytes end.  Up to seven bytes
// behind the end are overwritten.
//

CORE_INLINE
EXPORT_TARGET
PUCHAR
ExportVectorPackEach(
    _Out_ PUCHAR Target,
    _In_reads_(Count) const ULONGLONG *Values,
    _In_ ULONG Count,
    _In_ ULONG Width
    )
{
    ULONGLONG Gathered = 0;
    ULONG Bits = 0;
    ULONG Index;

    if (Width > 56) {
        return ExportBitsPack(Target, Values, Count, Width);
    }

    //
    // As many bits and the seven that are left of a byte are one store, without
    // a branch that depends on where the number ends.
    //

    for (Index = 0; Index < Count; Index++) {
        Gathered |= Values[Index] << Bits;
        ExportBitsStore64(Target, Gathered);
        Bits += Width;
        Target += Bits / 8;
        Gathered >>= Bits & ~7u;
        Bits &= 7;
    }

    ExportBitsStore64(Target, Gathered);
    return Target + (Bits + 7) / 8;
}


//
// Packs a part's numbers of up to 32 bits, two as one.
//

CORE_INLINE
EXPORT_TARGET
PUCHAR
ExportVectorPackPairs(
    _Out_ PUCHAR Target,
    _In_reads_(EXPORT_VECTORS_IN_PART) const __m256i *Vectors,
    _In_ ULONG Width
    )
{
    __m256i Shifts = _mm256_set_epi64x(Width, 0, Width, 0);
    ULONGLONG Pairs[READER_DELTA_PART / 2];
    __m256i Joined;
    ULONG Index;

    for (Index = 0; Index < EXPORT_VECTORS_IN_PART; Index += 2) {
        Joined = ExportVectorJoin(
            _mm256_sllv_epi64(Vectors[Index], Shifts),
            _mm256_sllv_epi64(Vectors[Index + 1], Shifts));
        EXPORT_STORE(&Pairs[Index * 2],
                     _mm256_permute4x64_epi64(Joined, 0xD8));
    }

    return ExportVectorPackEach(Target,
                                Pairs,
                                READER_DELTA_PART / 2,
                                2 * Width);
}


_Use_decl_annotations_
EXPORT_TARGET
PUCHAR
ExportVectorDelta(
    PUCHAR Target,
    const ULONGLONG *Values
    )
{
    __m256i Vectors[EXPORT_VECTORS_IN_PART];
    __m256i Smallest;
    __m256i Other;
    __m256i All;
    LONGLONG Least;
    ULONGLONG Number;
    PUCHAR Widths;
    ULONG Index;
    ULONG Part;
    ULONG Width;

#define EXPORT_DIFFERENCE(Index)                                            \
    _mm256_sub_epi64(EXPORT_LOAD(Values + (Index)),                         \
                     EXPORT_LOAD(Values + (Index) - 1))

    Smallest = EXPORT_DIFFERENCE(0);
    Other = EXPORT_DIFFERENCE(EXPORT_LANES);
    for (Index = 2 * EXPORT_LANES;
         Index < READER_DELTA_BLOCK;
         Index += 2 * EXPORT_LANES) {

        Smallest = ExportVectorMinimum(Smallest, EXPORT_DIFFERENCE(Index));
        Other = ExportVectorMinimum(Other,
                                    EXPORT_DIFFERENCE(Index + EXPORT_LANES));
    }

    Least = ExportVectorLowest(ExportVectorMinimum(Smallest, Other));
    for (Number = READER_ZIGZAG(Least); Number >= 0x80; Number >>= 7) {
        *Target++ = (UCHAR)(Number | 0x80);
    }

    *Target++ = (UCHAR)Number;
    Widths = Target;
    Target += READER_DELTA_PARTS;
    Smallest = _mm256_set1_epi64x(Least);
    for (Part = 0; Part < READER_DELTA_PARTS; Part++) {

        All = _mm256_setzero_si256();
        for (Index = 0; Index < EXPORT_VECTORS_IN_PART; Index++) {
            Vectors[Index] = _mm256_sub_epi64(
                EXPORT_DIFFERENCE(Index * EXPORT_LANES),
                Smallest);
            All = _mm256_or_si256(All, Vectors[Index]);
        }

        Width = ExportVectorWidth(All);
        Widths[Part] = (UCHAR)Width;
        Values += READER_DELTA_PART;
        if (Width == 0) {
            continue;
        }

        if (Width <= 16) {
            Target = ExportVectorPackFours(Target, Vectors, Width);
        } else if (Width <= 32) {
            Target = ExportVectorPackPairs(Target, Vectors, Width);
        } else {
            Target = ExportVectorPackEach(Target,
                                          (const ULONGLONG *)Vectors,
                                          READER_DELTA_PART,
                                          Width);
        }
    }

#undef EXPORT_DIFFERENCE

    return Target;
}


_Use_decl_annotations_
EXPORT_TARGET
VOID
ExportVectorBounds(
    const ULONGLONG *Values,
    ULONG Count,
    PLONGLONG Minimum,
    PLONGLONG Maximum
    )
{
    __m256i Lowest = _mm256_set1_epi64x(*Minimum);
    __m256i Highest = _mm256_set1_epi64x(*Maximum);
    LONGLONG Least;
    LONGLONG Most;
    ULONG Index;

    for (Index = 0; Index + EXPORT_LANES <= Count; Index += EXPORT_LANES) {

        __m256i These = EXPORT_LOAD(Values + Index);

        Lowest = ExportVectorMinimum(Lowest, These);
        Highest = ExportVectorMaximum(Highest, These);
    }

    Least = ExportVectorLowest(Lowest);
    Most = ExportVectorHighest(Highest);
    for (; Index < Count; Index++) {

        LONGLONG Value = (LONGLONG)Values[Index];

        Least = Value < Least ? Value : Least;
        Most = Value > Most ? Value : Most;
    }

    *Minimum = Least;
    *Maximum = Most;
}


//
// The upper 64 of the 128 bits of a product.  Nearest receives what says
// whether the next number could be meant: the upper half of the lower 64 bits,
// added to that of what was multiplied.
//

CORE_INLINE
EXPORT_TARGET
__m256i
ExportVectorMultiply(
    _In_ __m256i Number,
    _In_ __m256i Factor,
    _In_ __m256i FactorHigh,
    _Out_ __m256i *Nearest
    )
{
    __m256i Mask = _mm256_set1_epi64x(0xFFFFFFFF);
    __m256i NumberHigh = _mm256_srli_epi64(Number, 32);
    __m256i LowLow = _mm256_mul_epu32(Number, Factor);
    __m256i LowHigh = _mm256_mul_epu32(Number, FactorHigh);
    __m256i HighLow = _mm256_mul_epu32(NumberHigh, Factor);
    __m256i HighHigh = _mm256_mul_epu32(NumberHigh, FactorHigh);
    __m256i Middle;

    //
    // Neither sum has more than 64 bits: a product of 32 bits leaves room for
    // two numbers of as many.
    //

    LowHigh = _mm256_add_epi64(LowHigh, _mm256_srli_epi64(LowLow, 32));
    Middle = _mm256_add_epi64(HighLow, _mm256_and_si256(LowHigh, Mask));
    *Nearest = _mm256_add_epi64(_mm256_and_si256(Middle, Mask), NumberHigh);
    return _mm256_add_epi64(
        _mm256_add_epi64(HighHigh, _mm256_srli_epi64(LowHigh, 32)),
        _mm256_srli_epi64(Middle, 32));
}


_Use_decl_annotations_
EXPORT_TARGET
ULONG
ExportVectorCalls(
    ULONGLONG Factor,
    ULONG Shift,
    ULONGLONG First,
    PCCORE_ENDED Calls,
    ULONG Count,
    PULONGLONG Starts,
    PULONGLONG Durations,
    PULONGLONG Depths
    )
{
    __m256i FactorLow = _mm256_set1_epi64x((LONGLONG)Factor);
    __m256i FactorHigh = _mm256_srli_epi64(FactorLow, 32);
    __m256i Origin = _mm256_set1_epi64x((LONGLONG)First);
    __m256i TooLarge = _mm256_set1_epi64x((LONGLONG)0xFF00000000000000ULL);
    __m256i Sure = _mm256_set1_epi64x(0xFFFFFFFE);
    __m256i Mask = _mm256_set1_epi64x(0xFFFFFFFF);
    __m128i Left = _mm_cvtsi32_si128((int)Shift);
    ULONG Index;

    if ((LONGLONG)First < 0) {
        return 0;
    }

    for (Index = 0; Index + EXPORT_LANES <= Count; Index += EXPORT_LANES) {

        const CORE_ENDED *Four = Calls + Index;
        __m256i One = EXPORT_LOAD(&Four[0]);
        __m256i Two = EXPORT_LOAD(&Four[1]);
        __m256i Three = EXPORT_LOAD(&Four[2]);
        __m256i Last = EXPORT_LOAD(&Four[3]);
        __m256i Enter;
        __m256i Exit;
        __m256i Depth;
        __m256i Start;
        __m256i Duration;
        __m256i StartNearest;
        __m256i DurationNearest;

        Start = _mm256_unpacklo_epi64(One, Two);
        Duration = _mm256_unpacklo_epi64(Three, Last);
        Enter = _mm256_permute2x128_si256(Start, Duration, 0x20);
        Depth = _mm256_permute2x128_si256(Start, Duration, 0x31);
        Exit = _mm256_permute2x128_si256(_mm256_unpackhi_epi64(One, Two),
                                         _mm256_unpackhi_epi64(Three, Last),
                                         0x20);

        //
        // An entry before the first record is at 0.
        //

        Start = _mm256_and_si256(_mm256_sub_epi64(Enter, Origin),
                                 _mm256_cmpgt_epi64(Enter, Origin));
        Duration = _mm256_sub_epi64(Exit, Enter);
        if (_mm256_movemask_pd(_mm256_castsi256_pd(Enter)) != 0 ||
            !_mm256_testz_si256(_mm256_or_si256(Start, Duration), TooLarge)) {
            break;
        }

        Start = ExportVectorMultiply(_mm256_sll_epi64(Start, Left),
                                     FactorLow,
                                     FactorHigh,
                                     &StartNearest);
        Duration = ExportVectorMultiply(_mm256_sll_epi64(Duration, Left),
                                        FactorLow,
                                        FactorHigh,
                                        &DurationNearest);
        if (_mm256_movemask_epi8(_mm256_or_si256(
                _mm256_cmpgt_epi64(StartNearest, Sure),
                _mm256_cmpgt_epi64(DurationNearest, Sure))) != 0) {
            break;
        }

        EXPORT_STORE(Starts + Index, Start);
        EXPORT_STORE(Durations + Index, Duration);
        EXPORT_STORE(Depths + Index, _mm256_and_si256(Depth, Mask));
    }

    return Index;
}
