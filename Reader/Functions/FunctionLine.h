/*++

Module Name:

    FunctionLine.h

Abstract:

    The source line of a site, from the cache or from the module's symbols.

--*/

#ifndef TRACER_FUNCTION_LINE_H
#define TRACER_FUNCTION_LINE_H

#include "../Session/Session.h"

//
// Finds the source line that the code at a place comes from: from the cache,
// or else from the module's symbols. The source line of a site, which is
// (module << 32) | RVA: what commands call instead of SymbolFindSourceLine.
//
// Returns TRUE if it is known; otherwise nothing is written.
//

_Success_(return != FALSE)
BOOLEAN
FunctionFindLine(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Site,
    _Out_ PREADER_SOURCE_LINE Line
    );

#endif // TRACER_FUNCTION_LINE_H
