/*++

Module Name:

    PenterThrow.h

Abstract:

    The EXE's stores of records are told of exceptions.

--*/

#ifndef TRACER_PENTER_THROW_H
#define TRACER_PENTER_THROW_H

#include "PenterSwitch.h"

//
// Without this (memory may be short), what exceptions leave is found by stack
// pointers alone, and the log says so.
//

VOID
PenterWatchExceptions(
    _In_ PCRTL Rtl,
    _Inout_ PPENTER Penter
    );

VOID
PenterForgetExceptions(
    VOID
    );

#endif // TRACER_PENTER_THROW_H
