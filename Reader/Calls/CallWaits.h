/*++

Module Name:

    CallWaits.h

Abstract:

    A command's wish to know how long calls waited.

--*/

#ifndef TRACER_CALL_WAITS_H
#define TRACER_CALL_WAITS_H

#include "../Base/BaseOptions.h"
#include "../Session/Session.h"

//
// Gives a session the functions that wait (FunctionWaits.h) and the time from
// which on a call of a lock does; before functions are found.
// Returns FALSE if --waits is not good, which has been written.
//

_Success_(return != FALSE)
BOOLEAN
CallBeginWaits(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options
    );

#endif // TRACER_CALL_WAITS_H
