/*++

Module Name:

    ExportBits.h

Abstract:

    Numbers as bits one after the other, wherever bytes end: what the scalar
    and the AVX2 encoder of Parquet's pages share.

--*/

#ifndef TRACER_EXPORT_BITS_H
#define TRACER_EXPORT_BITS_H

#include "../Core/CoreHistogram.h"

//
// How many bits a number has; 0 has none.
//

CORE_INLINE
ULONG
ExportBitsOf(
    _In_ ULONGLONG Value
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    unsigned long Position;

    return _BitScanReverse64(&Position, Value) ? (ULONG)Position + 1 : 0;

#else

    return Value == 0 ? 0 : 64 - (ULONG)__builtin_clzll(Value);

#endif
}


//
// Store where nothing is aligned.
//

CORE_INLINE
VOID
ExportBitsStore64(
    _Out_ PUCHAR Target,
    _In_ ULONGLONG Value
    )
{
#if defined(_MSC_VER) && !defined(__clang__)
    *(ULONGLONG __unaligned *)Target = Value;
#else
    __builtin_memcpy(Target, &Value, sizeof(Value));
#endif
}


//
// Stores eight numbers of up to 16 bits, which are Width bytes: four in the low
// bits of each of two.  Up to 15 bytes behind them are overwritten.
//

CORE_INLINE
VOID
ExportBitsStoreEight(
    _Out_ PUCHAR Target,
    _In_ ULONGLONG Low,
    _In_ ULONGLONG High,
    _In_ ULONG Width
    )
{
    if (Width <= 8) {
        ExportBitsStore64(Target, Low | High << 4 * Width);
    } else if (Width < 16) {
        ExportBitsStore64(Target, Low | High << 4 * Width);
        ExportBitsStore64(Target + sizeof(ULONGLONG),
                          High >> (64 - 4 * Width));
    } else {
        ExportBitsStore64(Target, Low);
        ExportBitsStore64(Target + sizeof(ULONGLONG), High);
    }
}


//
// Packs numbers of up to 64 bits, each less than 2^Width, and returns where
// they end.  Up to seven bytes behind that are overwritten.
//

CORE_INLINE
PUCHAR
ExportBitsPack(
    _Out_ PUCHAR Target,
    _In_reads_(Count) const ULONGLONG *Values,
    _In_ ULONG Count,
    _In_ ULONG Width
    )
{
    ULONGLONG Gathered = 0;
    ULONG Bits = 0;
    ULONG Index;

    if (Width == 0) {
        return Target;
    }

    for (Index = 0; Index < Count; Index++) {

        ULONGLONG Value = Values[Index];

        Gathered |= Value << Bits;
        Bits += Width;
        if (Bits >= 64) {
            ExportBitsStore64(Target, Gathered);
            Target += sizeof(ULONGLONG);
            Bits -= 64;
            Gathered = Bits == 0 ? 0 : Value >> (Width - Bits);
        }
    }

    ExportBitsStore64(Target, Gathered);
    return Target + (Bits + 7) / 8;
}

#endif // TRACER_EXPORT_BITS_H
