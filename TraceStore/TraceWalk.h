/*++

Module Name:

    TraceWalk.h

Abstract:

    The calling thread's stack, from a hook's call outwards.

--*/

#ifndef TRACER_TRACE_WALK_H
#define TRACER_TRACE_WALK_H

#include "TraceCall.h"
#include "TraceTypes.h"

#define TRACE_WALK_REGISTERS    16

//
// How many functions that have no hooks a walk goes through.
//

#define TRACE_WALK_MAXIMUM      512

typedef struct _TRACE_WALK {
    PTRACE_SESSION Session;
    ULONGLONG Place;                // behind the call that is open in the next
                                    // function
    ULONGLONG Slot;                 // where the last function's return address
                                    // is: Place
    ULONGLONG Begin;                // of the last function's code, or of the
    ULONGLONG End;                  // part of it that the place was in; 0: not
                                    // known
    PBYTE Base;                     // of its module
    ULONG Count;                    // functions, so far
    BOOLEAN IsOurs;                 // it is in the traced module
    BOOLEAN IsDynamic;              // it may move RSP
    BOOLEAN IsPart;                 // it is a part that lies elsewhere
    BOOLEAN IsMachine;              // it was not called: it interrupts Place
    BOOLEAN IsExact;                // Place is no return address
    ULONGLONG Lowest;               // that may be read
    ULONGLONG StackBase;
    ULONGLONG FrameBase;
    ULONGLONG Registers[TRACE_WALK_REGISTERS];
} TRACE_WALK;
typedef TRACE_WALK *PTRACE_WALK;

//
// Begins at a hook's call.  FALSE: the stack is not known.
//

_Must_inspect_result_
BOOLEAN
TraceWalkBegin(
    _In_ PTRACE_SESSION Session,
    _In_ PCTRACE_TREE_CALL Call,
    _Out_ PTRACE_WALK Walk
    );

//
// Goes out of the next function, which becomes the last: first of all that
// which called the hook.  FALSE: it is not known how.
//

_Must_inspect_result_
BOOLEAN
TraceWalkNext(
    _Inout_ PTRACE_WALK Walk
    );

#endif // TRACER_TRACE_WALK_H
