/*++

Module Name:

    BaseNearest.c

Abstract:

    Of names, the one that somebody may have meant.

--*/

#include "BaseNearest.h"

#define READER_NEAREST_NONE 0xFF

static
CHAR
BaseFoldLetter(
    _In_ CHAR Letter
    )
{
    return Letter >= 'A' && Letter <= 'Z' ? (CHAR)(Letter + 'a' - 'A')
                                          : Letter;
}

static
ULONG
BaseLeastOf(
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    return First < Second ? First : Second;
}

//
// How many letters have to be added, removed, changed or exchanged with their
// neighbours (optimal string alignment: no place is touched twice).
//

static
ULONG
BaseMeasureDistance(
    _In_reads_(FirstLength) PCSZ First,
    _In_ ULONG FirstLength,
    _In_reads_(SecondLength) PCSZ Second,
    _In_ ULONG SecondLength
    )
{
    UCHAR Table[READER_NEAREST_MAXIMUM + 1][READER_NEAREST_MAXIMUM + 1];
    ULONG Row;
    ULONG Column;
    ULONG Best;
    BOOLEAN IsSame;

    for (Row = 0; Row <= FirstLength; Row++) {
        for (Column = 0; Column <= SecondLength; Column++) {

            if (Row == 0 || Column == 0) {
                Table[Row][Column] = (UCHAR)(Row + Column);
                continue;
            }

            IsSame = BaseFoldLetter(First[Row - 1]) ==
                     BaseFoldLetter(Second[Column - 1]);
            Best = BaseLeastOf(Table[Row - 1][Column] + 1u,
                               Table[Row][Column - 1] + 1u);
            Best = BaseLeastOf(Best,
                               Table[Row - 1][Column - 1] + (IsSame ? 0u : 1u));
            if (Row > 1 && Column > 1 &&
                BaseFoldLetter(First[Row - 1]) ==
                    BaseFoldLetter(Second[Column - 2]) &&
                BaseFoldLetter(First[Row - 2]) ==
                    BaseFoldLetter(Second[Column - 1])) {

                Best = BaseLeastOf(Best, Table[Row - 2][Column - 2] + 1u);
            }

            Table[Row][Column] = (UCHAR)Best;
        }
    }

    return Table[FirstLength][SecondLength];
}

_Use_decl_annotations_
VOID
BaseBeginNearest(
    PREADER_NEAREST Nearest,
    PCSZ Name
    )
{
    Nearest->Name = Name;
    Nearest->LengthInBytes = 0;
    while (Name[Nearest->LengthInBytes] != 0 &&
           Name[Nearest->LengthInBytes] != '=') {
        Nearest->LengthInBytes += 1;
    }

    Nearest->Best = NULL;
    Nearest->Distance = READER_NEAREST_NONE;
}

_Use_decl_annotations_
VOID
BaseOfferNearest(
    PREADER_NEAREST Nearest,
    PCSZ Candidate
    )
{
    ULONG Length = RtlLengthOfString(Candidate);
    ULONG Distance;
    ULONG Index = 0;

    if (Nearest->LengthInBytes < 2 ||
        Nearest->LengthInBytes > READER_NEAREST_MAXIMUM ||
        Length > READER_NEAREST_MAXIMUM) {
        return;
    }

    while (Index < Nearest->LengthInBytes && Index < Length &&
           BaseFoldLetter(Nearest->Name[Index]) ==
               BaseFoldLetter(Candidate[Index])) {
        Index += 1;
    }

    if (Index == Nearest->LengthInBytes) {
        Distance = 1;
    } else {
        Distance = BaseMeasureDistance(Nearest->Name,
                                       Nearest->LengthInBytes,
                                       Candidate,
                                       Length);
    }

    if (Distance <= 1 + Nearest->LengthInBytes / 5 &&
        Distance < Nearest->Distance) {
        Nearest->Distance = Distance;
        Nearest->Best = Candidate;
    }
}
