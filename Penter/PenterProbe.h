/*++

Module Name:

    PenterProbe.h

Abstract:

    What a pair of hooks costs is measured.

--*/

#ifndef TRACER_PENTER_PROBE_H
#define TRACER_PENTER_PROBE_H

#include "PenterSwitch.h"

//
// Measures what a pair of hooks costs and writes it into the template of the
// stores' headers. This is left out where nothing could be made of it: if
// calls may be left out, which cost time and are in no record; and where the
// calling thread has no place yet for a TLS slot as high as the hooks'.
//
// Penter: the hooks, which no store has been made for by the calling thread.
//

VOID
PenterMeasureProbe(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER Penter
    );

#endif // TRACER_PENTER_PROBE_H
