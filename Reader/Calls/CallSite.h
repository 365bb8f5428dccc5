/*++

Module Name:

    CallSite.h

Abstract:

    What the image says of a call's site.

--*/

#ifndef TRACER_CALL_SITE_H
#define TRACER_CALL_SITE_H

#include "../Core/CorePair.h"
#include "../Session/Session.h"

//
// Fills in what the image says of a call's Site, which is (module << 32) |
// RVA; Kind must be there.
//

_Must_inspect_result_
NTSTATUS
CallDescribeCall(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PCORE_CALL Call
    );

//
// Counts how often a function may have been inlined into another one.
// Outer: the function around, (module << 32) | RVA.
// Inner: the function inside.
// Returns at least as many times as it was.
//

CORE_COUNT_INLINED CallCountInlinedInSession;

#endif // TRACER_CALL_SITE_H
