/*++

Module Name:

    TraceFixed.h

Abstract:

    Which functions leave RSP where their prologs have put it.

--*/

#ifndef TRACER_TRACE_FIXED_H
#define TRACER_TRACE_FIXED_H

#include "../Rtl/RtlTypes.h"

//
// Does RSP, wherever the function that begins at Begin (image-relative) may
// call others, stay where the prolog has left it?  FALSE if that is not
// certain.  A function with a frame pointer may well do so: all have one that
// are compiled without optimization.
//

BOOLEAN
TraceFixedFind(
    _In_ PVOID ModuleBase,
    _In_ ULONG ModuleSize,
    _In_ ULONG Begin
    );

#endif // TRACER_TRACE_FIXED_H
