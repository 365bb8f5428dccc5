/*++

Module Name:

    EtlXpress.c

Abstract:

    Plain LZ77, decompressed.

    Groups of 32 flags come before what they are of: a byte, or a match.  A
    match is 16 bits, of which the low three are its length, less three, and
    the others its distance, less one.  A length that these bits do not hold
    goes on in half a byte, whose other half is the next such length's; then in
    a byte; then in 16 bits; then in 32.

--*/

#include "EtlXpress.h"

#define ETL_MINIMUM_MATCH 3u

typedef struct _ETL_XPRESS {
    const UCHAR *Source;
    ULONG SourceSize;
    ULONG Position;
    ULONG HalfAt;                   // of a byte whose high half is left; 0:
                                    // there is none
} ETL_XPRESS;


//
// Takes a number of 1, 2 or 4 bytes. FALSE: there are not as many.
//

_Success_(return != FALSE)
static
BOOLEAN
EtlTakeNumber(
    _Inout_ ETL_XPRESS *Xpress,
    _In_ ULONG SizeInBytes,
    _Out_ PULONG Number
    )
{
    ULONG Index;

    *Number = 0;
    if (Xpress->SourceSize - Xpress->Position < SizeInBytes) {
        return FALSE;
    }

    for (Index = 0; Index < SizeInBytes; Index++) {
        *Number |= (ULONG)Xpress->Source[Xpress->Position + Index]
                   << (8 * Index);
    }

    Xpress->Position += SizeInBytes;
    return TRUE;
}


//
// Reads what is left of a length whose three bits are all set. Each place says
// how much more than all the earlier ones can hold; the last two, how much it
// is in all.
//

_Success_(return != FALSE)
static
BOOLEAN
EtlTakeLength(
    _Inout_ ETL_XPRESS *Xpress,
    _Out_ PULONG Length
    )
{
    ULONG Number;

    if (Xpress->HalfAt != 0) {
        Number = Xpress->Source[Xpress->HalfAt] >> 4;
        Xpress->HalfAt = 0;
    } else {
        Xpress->HalfAt = Xpress->Position;
        if (!EtlTakeNumber(Xpress, 1, &Number)) {
            return FALSE;
        }

        Number &= 15;
    }

    *Length = 7 + Number;
    if (Number != 15) {
        return TRUE;
    }

    if (!EtlTakeNumber(Xpress, 1, &Number)) {
        return FALSE;
    }

    *Length = 7 + 15 + Number;
    if (Number != 255) {
        return TRUE;
    }

    if (!EtlTakeNumber(Xpress, 2, Length) ||
        (*Length == 0 && !EtlTakeNumber(Xpress, 4, Length))) {
        return FALSE;
    }

    return *Length >= 7 + 15;
}


_Use_decl_annotations_
ULONG
EtlDecodeXpress(
    const UCHAR *Source,
    ULONG SourceSize,
    PUCHAR Target,
    ULONG TargetSize
    )
{
    ETL_XPRESS Xpress = { Source, SourceSize, 0, 0 };
    ULONG Written = 0;
    ULONG Flags = 0;
    ULONG FlagsLeft = 0;
    ULONG Match;
    ULONG Distance;
    ULONG Length;

    //
    // What follows when the target is full is padding.
    //

    while (Xpress.Position < SourceSize && Written < TargetSize) {

        if (FlagsLeft == 0) {

            //
            // Flags that nothing follows are all ones and end the input.
            //

            if (!EtlTakeNumber(&Xpress, 4, &Flags)) {
                return ETL_XPRESS_BAD;
            }

            FlagsLeft = 32;
            continue;
        }

        FlagsLeft -= 1;
        if ((Flags >> FlagsLeft & 1) == 0) {
            Target[Written] = Source[Xpress.Position];
            Written += 1;
            Xpress.Position += 1;
            continue;
        }

        if (!EtlTakeNumber(&Xpress, 2, &Match)) {
            return ETL_XPRESS_BAD;
        }

        Distance = (Match >> 3) + 1;
        Length = Match & 7;
        if (Length == 7 && !EtlTakeLength(&Xpress, &Length)) {
            return ETL_XPRESS_BAD;
        }

        if (Distance > Written ||
            Length > TargetSize - Written ||
            ETL_MINIMUM_MATCH > TargetSize - Written - Length) {
            return ETL_XPRESS_BAD;
        }

        for (Length += ETL_MINIMUM_MATCH; Length != 0; Length--) {
            Target[Written] = Target[Written - Distance];
            Written += 1;
        }
    }

    return Written;
}
