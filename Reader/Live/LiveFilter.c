/*++

Module Name:

    LiveFilter.c

Abstract:

    Which names a view shows.

--*/

#include "LiveFilter.h"


//
// Makes an ASCII letter small.
// Character: the byte.
// Returns the byte, made small if it is a letter.
//

static
UCHAR
LiveLowerCase(
    _In_ CHAR Character
    )
{
    UCHAR Byte = (UCHAR)Character;

    return Byte >= 'A' && Byte <= 'Z' ? (UCHAR)(Byte + ('a' - 'A')) : Byte;
}


_Use_decl_annotations_
BOOLEAN
LiveIsInView(
    PCREADER_VIEW View,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    ULONG Start;
    ULONG Index;

    if (View->FilterLength == 0) {
        return TRUE;
    }

    for (Start = 0;
         View->FilterLength <= LengthInBytes &&
             Start <= LengthInBytes - View->FilterLength;
         Start++) {

        for (Index = 0; Index < View->FilterLength; Index++) {
            if (LiveLowerCase(Text[Start + Index]) !=
                LiveLowerCase(View->Filter[Index])) {
                break;
            }
        }

        if (Index == View->FilterLength) {
            return TRUE;
        }
    }

    return FALSE;
}
