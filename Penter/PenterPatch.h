/*++

Module Name:

    PenterPatch.h

Abstract:

    The public hooks of this module, as code.

--*/

#ifndef TRACER_PENTER_PATCH_H
#define TRACER_PENTER_PATCH_H

#include "../Rtl/Rtl.h"

//
// Writes a return over the first byte of every public hook of this module, for
// good.
// Returns STATUS_SUCCESS, also if another thread does it, or the first
// failure.
//

NTSTATUS
PenterPatchHooks(
    _In_ PCRTL Rtl
    );

//
// Is this the first byte of one of this module's public hooks? Looks for an
// address among this module's public hooks.
//

BOOLEAN
PenterIsHook(
    _In_ const BYTE *Address
    );

#endif // TRACER_PENTER_PATCH_H
