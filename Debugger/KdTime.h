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

//
// Adds a reading of this machine's clocks to anchors that are too close to each
// other, or single, if it is the machine that they were taken on, not booted
// since: a process that has crashed soon after it began has no others.
//

VOID
KdTimeImprove(
    _In_ const KD_CONTEXT *Context,
    _Inout_ PCORE_CLOCK Clock
    );

#endif // TRACER_KD_TIME_H
