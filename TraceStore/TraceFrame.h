/*++

Module Name:

    TraceFrame.h

Abstract:

    What a module's unwind data says of a place in its code.

--*/

#ifndef TRACER_TRACE_FRAME_H
#define TRACER_TRACE_FRAME_H

#include "../Rtl/RtlTypes.h"

typedef struct _TRACE_FRAME_LAYOUT {
    ULONG Function;                 // low 32 bits of the address of the
                                    // function's first instruction
    ULONG SizeInBytes;              // that its prolog has taken from RSP up to
                                    // the place
    ULONG FullSizeInBytes;          // that all of the prolog takes
    BOOLEAN IsDynamic;              // RSP may move in the body
    BOOLEAN HasChain;               // the static chain is saved around the
                                    // call: RSP is 8 lower than that says
} TRACE_FRAME_LAYOUT;
typedef TRACE_FRAME_LAYOUT *PTRACE_FRAME_LAYOUT;

//
// Finds the function that holds a place in the module's code, and how far RSP
// is below the function's return address there. FALSE if there is no unwind
// data for the place (a leaf): then all is 0.
//
// ModuleSize: its size in bytes.
// Place: the address behind a call.
// Layout: what is known.
//

BOOLEAN
TraceFrameFind(
    _In_ PVOID ModuleBase,
    _In_ ULONG ModuleSize,
    _In_ ULONGLONG Place,
    _Out_ PTRACE_FRAME_LAYOUT Layout
    );

//
// An entry of an exception directory: image-relative addresses.
//

typedef struct _TRACE_FUNCTION {
    ULONG Begin;
    ULONG End;
    ULONG Unwind;
} TRACE_FUNCTION;
typedef const TRACE_FUNCTION *PCTRACE_FUNCTION;

//
// The entry that covers an image-relative address, or NULL.
//

PCTRACE_FUNCTION
TraceFrameFindEntry(
    _In_ PVOID ModuleBase,
    _In_ ULONG ModuleSize,
    _In_ ULONG Address
    );

//
// Does all of an entry's unwind data lie within the module?
//

BOOLEAN
TraceFrameIsWithin(
    _In_ PVOID ModuleBase,
    _In_ ULONG ModuleSize,
    _In_ PCTRACE_FUNCTION Function
    );

#endif // TRACER_TRACE_FRAME_H
