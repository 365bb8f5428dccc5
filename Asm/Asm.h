/*++

Module Name:

    Asm.h

Abstract:

    The routines in Asm/, for C.  Their contracts stand with their code.

--*/

#ifndef TRACER_ASM_H
#define TRACER_ASM_H

#include "../Rtl/RtlTypes.h"

//
// TouchPages.asm: writes to every page of the range without changing a byte.
// Raises what the page raises.
//

typedef
VOID
(ASM_TOUCH_PAGES)(
    _Inout_updates_bytes_(SizeInBytes) PVOID Address,
    _In_ SIZE_T SizeInBytes
    );
ASM_TOUCH_PAGES AsmTouchPages;

#endif // TRACER_ASM_H
