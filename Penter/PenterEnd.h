/*++

Module Name:

    PenterEnd.h

Abstract:

    The end of a thread, and of the process.

--*/

#ifndef TRACER_PENTER_END_H
#define TRACER_PENTER_END_H

#include "PenterSwitch.h"

typedef VOID (PENTER_NOTIFICATION)(VOID);
PENTER_NOTIFICATION PenterThreadStart;      // a thread starts (DLL only)
PENTER_NOTIFICATION PenterThreadExit;       // this thread ends
PENTER_NOTIFICATION PenterProcessExit;      // the process ends

//
// And at the end of each thread and fiber, which matters only to an EXE
// without a TLS callback. What FlsAlloc is given: the exiting thread, at
// process exit, and the end of each thread and fiber.
//
// Value: nothing of use: a fiber may be deleted by another thread than the one
// that set it.
//

VOID
NTAPI
PenterFlsCallback(
    PVOID Value
    );

//
// Does the process end, rather than this module alone? Says whether the
// process ends. The loader tells a TLS callback only that the module goes
// away.
//
// Returns FALSE also if the hooks were never prepared, or the system cannot
// say.
//

BOOLEAN
PenterIsProcessEnding(
    VOID
    );

//
// Reports, at the end, how many events are in no store and counted in none.
// Those of threads that could not have one.
//

VOID
PenterReportLeftOut(
    _Inout_ PPENTER Penter
    );

#endif // TRACER_PENTER_END_H
