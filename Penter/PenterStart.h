/*++

Module Name:

    PenterStart.h

Abstract:

    The hooks of a module are prepared, and taken apart.

--*/

#ifndef TRACER_PENTER_START_H
#define TRACER_PENTER_START_H

#include "../Rtl/RtlTypes.h"
#include "../TraceStore/TraceTypes.h"

//
// Prepares the hooks on behalf of the calling thread, which is not doing it
// already.  FALSE if something failed and another thread is still at it.
//

BOOLEAN
PenterPrepare(
    VOID
    );

//
// Finds the session of this module, and prepares the hooks if need be. The
// session of this module, which begins with it; NULL if nothing is recorded.
//

PTRACE_SESSION
PenterGetSession(
    VOID
    );

//
// Prepares the hooks when the module is loaded, unless an instrumented
// callback or constructor has caused it before. The loader maps this module;
// this DLL is being unloaded.
//

VOID
PenterModuleLoad(
    VOID
    );

//
// Takes the hooks of a DLL apart before it is unmapped. Called by the loader,
// under its lock; no thread may be running the DLL's code any more.
//

VOID
PenterModuleUnload(
    VOID
    );

//
// Does the image's TLS directory list our callback?
// Returns TRUE if the loader will call it.
//

BOOLEAN
PenterHasTlsCallback(
    _In_ PVOID ModuleBase
    );

#endif // TRACER_PENTER_START_H
