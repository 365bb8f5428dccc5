/*++

Module Name:

    PenterLeftOut.h

Abstract:

    A module that TRACER_MODULES does not have, in a process of which nothing is
    recorded.

--*/

#ifndef TRACER_PENTER_LEFT_OUT_H
#define TRACER_PENTER_LEFT_OUT_H

#include "PenterConfig.h"

//
// Remembers the configuration of a module that no prefix of TRACER_MODULES is
// for, until the process ends.
//
// Config: the configuration, which is kept if this returns TRUE.
//

BOOLEAN
PenterKeepUnmatched(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER_CONFIG Config
    );

//
// If the process ends, and no module of it has made a session, says in a log
// that TRACER_MODULES fits none.
//

VOID
PenterCloseUnmatched(
    VOID
    );

//
// The module is unloaded before the process ends.
//

VOID
PenterForgetUnmatched(
    VOID
    );

#endif // TRACER_PENTER_LEFT_OUT_H
