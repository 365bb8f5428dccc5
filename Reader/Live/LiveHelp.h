/*++

Module Name:

    LiveHelp.h

Abstract:

    What the screen says of its keys and of its numbers.

--*/

#ifndef TRACER_LIVE_HELP_H
#define TRACER_LIVE_HELP_H

#include "LiveView.h"

//
// Writes which keys a view has, as many as fit; the last line of the screen.
// Width: of the screen, in cells.
//

VOID
LiveWriteHints(
    _Inout_ PRTL_WRITER Writer,
    _In_ READER_VIEW_KIND Kind,
    _In_ ULONG Width
    );

//
// Draws the help; what there is no room for is further down.
//

VOID
LiveDrawHelp(
    _Inout_ PREADER_VIEW View,
    _Inout_ PREADER_SCREEN Screen
    );

#endif // TRACER_LIVE_HELP_H
