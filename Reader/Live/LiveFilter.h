/*++

Module Name:

    LiveFilter.h

Abstract:

    Which names a view shows.

--*/

#ifndef TRACER_LIVE_FILTER_H
#define TRACER_LIVE_FILTER_H

#include "LiveView.h"

//
// Decides whether a text has the view's filter in it, in any case.
// Returns TRUE if so, or if there is no filter.
//

BOOLEAN
LiveIsInView(
    _In_ PCREADER_VIEW View,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );

#endif // TRACER_LIVE_FILTER_H
