/*++

Module Name:

    BaseNearest.h

Abstract:

    Of names, the one that somebody may have meant.

--*/

#ifndef TRACER_BASE_NEAREST_H
#define TRACER_BASE_NEAREST_H

#include "../../Rtl/Rtl.h"

//
// Longer names are not compared.
//

#define READER_NEAREST_MAXIMUM 31

typedef struct _READER_NEAREST {
    PCSZ Name;                      // what was given
    ULONG LengthInBytes;            // of it
    PCSZ Best;                      // NULL: nothing is near
    ULONG Distance;                 // of that
} READER_NEAREST;
typedef READER_NEAREST *PREADER_NEAREST;

//
// Begins to look for the name that is nearest to one.  Name must outlive the
// search; what its end, or a '=', comes before is compared.
//

VOID
BaseBeginNearest(
    _Out_ PREADER_NEAREST Nearest,
    _In_z_ PCSZ Name
    );

//
// Offers a name, in the order of preference.  It is near if it begins with what
// was given, or if it takes few letters, added, removed, changed or exchanged
// with their neighbours, to make the one of the other.  The case of ASCII
// letters does not matter.
//

VOID
BaseOfferNearest(
    _Inout_ PREADER_NEAREST Nearest,
    _In_z_ PCSZ Candidate
    );

#endif // TRACER_BASE_NEAREST_H
