/*++

Module Name:

    ExportEncode.c

Abstract:

    The encodings of Parquet's pages (github.com/apache/parquet-format,
    Encodings.md).  A processor that runs this stores the lowest byte first, as
    the format does.

--*/

#include "ExportEncode.h"
#include "ExportBits.h"
#include "ExportVectors.h"


CORE_INLINE
VOID
ExportEncodeStore32(
    _Out_ PUCHAR Target,
    _In_ ULONG Value
    )
{
#if defined(_MSC_VER) && !defined(__clang__)
    *(ULONG __unaligned *)Target = Value;
#else
    __builtin_memcpy(Target, &Value, sizeof(Value));
#endif
}


_Use_decl_annotations_
ULONG
ExportEncodeQueryWidth(
    ULONGLONG Value
    )
{
    ULONG Bits = ExportBitsOf(Value);

    return Bits == 0 ? 1 : Bits;
}


//
// Packs the numbers of a part.  Eight numbers are Width bytes, so that narrow
// ones need no look at where a byte ends: they are joined two by two, and two
// of these again.  Up to 15 bytes behind the end are overwritten.
//

CORE_INLINE
PUCHAR
ExportEncodePackPart(
    _Out_ PUCHAR Target,
    _In_reads_(READER_DELTA_PART) const ULONGLONG *Values,
    _In_ ULONG Width
    )
{
    ULONGLONG Pairs[READER_DELTA_PART / 2];
    ULONGLONG Fours[READER_DELTA_PART / 4];
    ULONG Index;

    if (Width == 0) {
        return Target;
    }

    if (Width > 32) {
        return ExportBitsPack(Target, Values, READER_DELTA_PART, Width);
    }

    for (Index = 0; Index < READER_DELTA_PART / 2; Index++) {
        Pairs[Index] = Values[2 * Index] | Values[2 * Index + 1] << Width;
    }

    if (Width > 16) {
        return ExportBitsPack(Target,
                              Pairs,
                              READER_DELTA_PART / 2,
                              2 * Width);
    }

    for (Index = 0; Index < READER_DELTA_PART / 4; Index++) {
        Fours[Index] = Pairs[2 * Index] | Pairs[2 * Index + 1] << 2 * Width;
    }

    for (Index = 0; Index < READER_DELTA_PART / 8; Index++) {

        ULONGLONG Low = Fours[2 * Index];
        ULONGLONG High = Fours[2 * Index + 1];

        ExportBitsStoreEight(Target, Low, High, Width);
        Target += Width;
    }

    return Target;
}


//
// Makes a whole block's differences; returns the smallest of them.
//

CORE_INLINE
LONGLONG
ExportEncodeSubtract(
    _Out_writes_(READER_DELTA_BLOCK) PULONGLONG Differences,
    _In_reads_(READER_DELTA_BLOCK) const ULONGLONG *Values,
    _In_ ULONGLONG Previous
    )
{
    LONGLONG Smallest = (LONGLONG)(Values[0] - Previous);
    LONGLONG Other = (LONGLONG)(Values[1] - Values[0]);
    ULONG Index;

    //
    // Two at a time: the one does not wait for the other.
    //

    Differences[0] = (ULONGLONG)Smallest;
    Differences[1] = (ULONGLONG)Other;
    for (Index = 2; Index < READER_DELTA_BLOCK; Index += 2) {

        LONGLONG First = (LONGLONG)(Values[Index] - Values[Index - 1]);
        LONGLONG Second = (LONGLONG)(Values[Index + 1] - Values[Index]);

        Differences[Index] = (ULONGLONG)First;
        Differences[Index + 1] = (ULONGLONG)Second;
        Smallest = First < Smallest ? First : Smallest;
        Other = Second < Other ? Second : Other;
    }

    return Other < Smallest ? Other : Smallest;
}


_Use_decl_annotations_
VOID
ExportEncodeDelta(
    PREADER_BYTES Bytes,
    const ULONGLONG *Values,
    ULONG Count,
    BOOLEAN HasVectors
    )
{
    ULONGLONG Differences[READER_DELTA_BLOCK];
    ULONGLONG Previous = Count == 0 ? 0 : Values[0];
    LONGLONG Smallest;
    PUCHAR Widths;
    PUCHAR Target;
    ULONG Number;
    ULONG Index;
    ULONG Part;
    ULONG First;

    ExportThriftPutVarint(Bytes, READER_DELTA_BLOCK);
    ExportThriftPutVarint(Bytes, READER_DELTA_PARTS);
    ExportThriftPutVarint(Bytes, Count);
    ExportThriftPutVarint(Bytes, READER_ZIGZAG(Previous));

    for (First = 1; First < Count; First += READER_DELTA_BLOCK) {

        Number = Count - First;
        if (Number > READER_DELTA_BLOCK) {
            Number = READER_DELTA_BLOCK;
        }

        if (ExportThriftReserve(Bytes, READER_DELTA_BLOCK_BYTES) == NULL) {
            return;
        }

        if (Number == READER_DELTA_BLOCK && HasVectors) {

            Target = ExportVectorDelta(Bytes->Bytes + Bytes->Length,
                                       Values + First);
            Bytes->Length = (SIZE_T)(Target - Bytes->Bytes);
            Previous = Values[First + READER_DELTA_BLOCK - 1];
            continue;
        }

        if (Number == READER_DELTA_BLOCK) {

            Smallest = ExportEncodeSubtract(Differences,
                                            Values + First,
                                            Previous);
            Previous = Values[First + READER_DELTA_BLOCK - 1];
            Index = READER_DELTA_BLOCK;

        } else {

            Smallest = 0x7FFFFFFFFFFFFFFFLL;
            for (Index = 0; Index < Number; Index++) {

                ULONGLONG Value = Values[First + Index];
                LONGLONG Difference = (LONGLONG)(Value - Previous);

                Differences[Index] = (ULONGLONG)Difference;
                Smallest = Difference < Smallest ? Difference : Smallest;
                Previous = Value;
            }
        }

        //
        // What the last block lacks is as if it were the smallest difference;
        // its parts without any number have no bits.
        //

        for (; Index < READER_DELTA_BLOCK; Index++) {
            Differences[Index] = (ULONGLONG)Smallest;
        }

        ExportThriftPutVarint(Bytes, READER_ZIGZAG(Smallest));
        Widths = Bytes->Bytes + Bytes->Length;
        Target = Widths + READER_DELTA_PARTS;
        for (Part = 0; Part < READER_DELTA_PARTS; Part++) {

            PULONGLONG These = &Differences[Part * READER_DELTA_PART];
            ULONGLONG All = 0;

            for (Index = 0; Index < READER_DELTA_PART; Index++) {
                These[Index] -= (ULONGLONG)Smallest;
                All |= These[Index];
            }

            Widths[Part] = (UCHAR)ExportBitsOf(All);
            Target = ExportEncodePackPart(Target, These, Widths[Part]);
        }

        Bytes->Length = (SIZE_T)(Target - Bytes->Bytes);
    }
}


_Use_decl_annotations_
VOID
ExportEncodePlain(
    PREADER_BYTES Bytes,
    const ULONGLONG *Values,
    ULONG Count,
    ULONG SizeInBytes
    )
{
    PUCHAR Target;
    ULONG Index;

    if (SizeInBytes == sizeof(ULONGLONG)) {
        ExportThriftAppend(Bytes, Values, (SIZE_T)Count * sizeof(ULONGLONG));
        return;
    }

    Target = ExportThriftReserve(Bytes, (SIZE_T)Count * sizeof(ULONG));
    if (Target == NULL) {
        return;
    }

    for (Index = 0; Index < Count; Index++) {
        ExportEncodeStore32(Target + Index * sizeof(ULONG),
                            (ULONG)Values[Index]);
    }

    Bytes->Length += (SIZE_T)Count * sizeof(ULONG);
}


_Use_decl_annotations_
VOID
ExportEncodeRun(
    PREADER_BYTES Bytes,
    ULONG Value,
    ULONG Count,
    ULONG Width
    )
{
    ExportThriftPutVarint(Bytes, (ULONGLONG)Count << 1);
    ExportThriftAppend(Bytes, &Value, (Width + 7) / 8);
}


//
// Packs eight numbers of up to 16 bits, which are Width bytes.  Up to 15 bytes
// behind them are overwritten.
//

CORE_INLINE
VOID
ExportEncodePackEight(
    _Out_ PUCHAR Target,
    _In_reads_(8) const ULONG *Values,
    _In_ ULONG Width
    )
{
    ULONGLONG Low = ((ULONGLONG)Values[0] | (ULONGLONG)Values[1] << Width) |
                    ((ULONGLONG)Values[2] | (ULONGLONG)Values[3] << Width)
                        << 2 * Width;
    ULONGLONG High = ((ULONGLONG)Values[4] | (ULONGLONG)Values[5] << Width) |
                     ((ULONGLONG)Values[6] | (ULONGLONG)Values[7] << Width)
                         << 2 * Width;

    ExportBitsStoreEight(Target, Low, High, Width);
}


_Use_decl_annotations_
VOID
ExportEncodePacked(
    PREADER_BYTES Bytes,
    const ULONG *Values,
    ULONG Count,
    ULONG Width
    )
{
    ULONG Groups = (Count + 7) / 8;
    ULONGLONG Gathered = 0;
    ULONG Bits = 0;
    PUCHAR Target;
    PUCHAR End;
    ULONG Index = 0;

    ExportThriftPutVarint(Bytes, (ULONGLONG)Groups << 1 | 1);
    Target = ExportThriftReserve(Bytes, (SIZE_T)Groups * Width + 16);
    if (Target == NULL) {
        return;
    }

    End = Target + (SIZE_T)Groups * Width;
    if (Width <= 16) {
        for (; Index + 8 <= Count; Index += 8) {
            ExportEncodePackEight(Target, Values + Index, Width);
            Target += Width;
        }
    }

    for (; Index < Count; Index++) {

        Gathered |= (ULONGLONG)Values[Index] << Bits;
        Bits += Width;
        if (Bits >= 32) {
            ExportEncodeStore32(Target, (ULONG)Gathered);
            Target += sizeof(ULONG);
            Gathered >>= 32;
            Bits -= 32;
        }
    }

    ExportBitsStore64(Target, Gathered);
    for (Target += (Bits + 7) / 8; Target < End; Target++) {
        *Target = 0;
    }

    Bytes->Length = (SIZE_T)(End - Bytes->Bytes);
}
