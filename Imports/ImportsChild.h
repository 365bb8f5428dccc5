/*++

Module Name:

    ImportsChild.h

Abstract:

    Processes that this one starts (TRACER_CHILDREN).

--*/

#ifndef TRACER_IMPORTS_CHILD_H
#define TRACER_IMPORTS_CHILD_H

#include "ImportsEnvironment.h"

//
// Finds what the process that has started this one has left in its memory.
// FALSE if there is nothing.
//

_Success_(return != FALSE)
BOOLEAN
ImportsFindInherited(
    _Out_ PIMPORTS_SETTINGS Settings
    );

//
// Finds what that takes, before any slot is changed: ImportsState.Create and
// OwnCreate.  Without it no process is followed.
//

VOID
ImportsPrepareChildren(
    VOID
    );

//
// Makes the system's own routines tell of processes that they make: slots of
// the modules that have CreateProcess.  Under the lock.
//

VOID
ImportsFollowChildren(
    VOID
    );

#endif // TRACER_IMPORTS_CHILD_H
