/*++

Module Name:

    TraceDepth.h

Abstract:

    The depth of calls, for each stack of a thread.

--*/

#ifndef TRACER_TRACE_DEPTH_H
#define TRACER_TRACE_DEPTH_H

#include "TraceCall.h"
#include "TraceTypes.h"

//
// The calls that are open and recorded on one stack, for TRACER_MAX_DEPTH.  The
// hook uses it (PenterHooks.asm); the fields up to Calls are in
// Asm/TraceLayout.inc.  Stack pointers and addresses are their low 32 bits.
//

typedef struct _TRACE_DEPTH_CALL {
    ULONG Stack;                    // RSP at the hook's call
    ULONG Function;                 // in the -finstrument-functions convention;
                                    // else 0
    ULONG Place;                    // the hook's return address
    ULONG Before;                   // how many events had been left out
} TRACE_DEPTH_CALL;
typedef TRACE_DEPTH_CALL *PTRACE_DEPTH_CALL;

//
// No stack pointer, and no place in code.
//

#define TRACE_DEPTH_UNSETTLED   1

//
// What the hook need not ask for again: how far the return address of an
// entered function is above RSP (0 also where it is inlined), and a place that
// calls it, of which it is known that it is in a function with hooks.
//

typedef struct _TRACE_DEPTH_SITE {
    ULONG Hook;                     // return address of the hook; 0: none
    ULONG SizeInBytes;
    ULONGLONG Place;                // TRACE_DEPTH_UNSETTLED: none is known
} TRACE_DEPTH_SITE;
typedef TRACE_DEPTH_SITE *PTRACE_DEPTH_SITE;

#define TRACE_DEPTH_SITE_SHIFT  20
#define TRACE_DEPTH_SITES       (1u << (32 - TRACE_DEPTH_SITE_SHIFT))

//
// Of a thread, for all its stacks.  Functions has those that have hooks of
// their own, where TRACE_DEPTH_INDEX puts them.
//

typedef struct _TRACE_DEPTH_SITES_OF {
    TRACE_DEPTH_SITE Sites[TRACE_DEPTH_SITES];
    ULONG Functions[TRACE_DEPTH_SITES];
} TRACE_DEPTH_SITES_OF;
typedef TRACE_DEPTH_SITES_OF *PTRACE_DEPTH_SITES_OF;

#define TRACE_DEPTH_INDEX(Address) \
    ((ULONG)(Address) * TRACE_TREE_HASH >> TRACE_DEPTH_SITE_SHIFT)

//
// How many functions that are inlined into one that is left out are told apart.
//

#define TRACE_DEPTH_INLINED     16

struct _TRACE_DEPTH {
    ULONGLONG StackBase;            // highest address of the stack
    PTRACE_DEPTH Next;              // another stack of the same thread
    ULONG Count;                    // of calls that are open
    ULONG Maximum;
    ULONG Skipped;                  // calls that are open and left out, all
                                    // inside
    ULONG NumberInlined;            // and of those, the ones with Skip's stack
                                    // pointer: Calls[Maximum] and so on
    TRACE_DEPTH_CALL Skip;          // this one
    ULONG Entered;                  // the hook's own: what the call that it is
                                    // entered for would have as Stack,
    ULONG Slot;                     // and where its return address is
    ULONG Settled;                  // RSP of a hook's call that
                                    // TraceDepthDecide has dealt with;
                                    // TRACE_DEPTH_UNSETTLED
    ULONG IsLeftOut;                // and whether it is too deep
    PTRACE_DEPTH_SITES_OF Sites;
    ULONGLONG Reserved;
    TRACE_DEPTH_CALL Calls[1];      // Maximum of them, the deepest last, and
                                    // TRACE_DEPTH_INLINED more
};

//
// The largest depth that may be asked for, and how many stacks a thread may
// have: a fiber beyond that number takes the place of the one that was used
// longest ago.
//

#define TRACE_MAXIMUM_DEPTH         16000
#define TRACE_DEPTH_STACKS          1024

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_DEPTH_OPEN)(
    _Inout_ PTRACE_STORE Store
    );
TRACE_DEPTH_OPEN TraceDepthOpen;            // for the stack in use

typedef VOID (TRACE_DEPTH_CHANGE)(_Inout_ PTRACE_STORE Store);
TRACE_DEPTH_CHANGE TraceDepthSwitch;        // to the stack in use

//
// Frees the depths of a store, and what they have in common.
//

TRACE_DEPTH_CHANGE TraceDepthClose;

//
// Does for TRACER_MAX_DEPTH what the hook leaves to it, and says in Settled and
// IsLeftOut what has become of the call.
//

VOID
TraceDepthDecide(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    );

#endif // TRACER_TRACE_DEPTH_H
