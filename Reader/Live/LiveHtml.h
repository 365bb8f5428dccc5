/*++

Module Name:

    LiveHtml.h

Abstract:

    A refresh as a page.

--*/

#ifndef TRACER_LIVE_HTML_H
#define TRACER_LIVE_HTML_H

#include "LiveModel.h"

//
// Writes the page that --html names.  Returns READER_EXIT_*; a failure has
// been written.  Only the first page and the last one can fail.
// IntervalInMilliseconds: between two refreshes.
//

ULONG
LiveWriteLivePage(
    _Inout_ PREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model,
    _In_ ULONG IntervalInMilliseconds
    );

#endif // TRACER_LIVE_HTML_H
