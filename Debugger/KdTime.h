/*++

Module Name:

    KdTime.h

Abstract:

    Times as text: microseconds with three decimals, or ticks.

--*/

#ifndef TRACER_KD_TIME_H
#define TRACER_KD_TIME_H

#include "../Reader/Core/CoreClock.h"
#include "KdContext.h"

//
// "us" or "ticks": what KdTimeWrite writes.
//

PCSZ
KdTimeUnit(
    _In_ const KD_CONTEXT *Context,
    _In_ PCCORE_CLOCK Clock
    );

//
// Writes a time, right-aligned.
//

VOID
KdTimeWrite(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks,
    _In_ ULONG Width
    );

#endif // TRACER_KD_TIME_H
