/*++

Module Name:

    Flow.h

Abstract:

    What the Flow programs have in common: programs of hard control flow, each
    function of which tells Witness.dll what happens to it, so that the call
    tree that a trace shows can be compared with the true one.

    FlowMain.c runs each scenario of a program's table on a thread of its own.

    How a build's hooks see a function comes from the command line:

        FLOW_TAIL_EXITS     the function that ends in a jump to another exits
                            first (without it there are no such jumps)
        FLOW_UNWIND_EXITS   C++ exceptions call the exit hooks of the frames
                            that they leave
        FLOW_INLINE         the compiler may inline, the hooks stay
        FLOW_ENTRIES        there are no exit hooks: that a call has ended
                            shows when its caller calls the next one

    Between a traced function and the traced functions that it calls there is
    no function that is not, unless it ends before anything is abandoned: such
    a function's frame could hide that an abandoned call is gone.

--*/

#ifndef TRACER_TESTS_FLOW_H
#define TRACER_TESTS_FLOW_H

#include "Witness.h"

#ifdef __cplusplus
#define FLOW_C extern "C"
#else
#define FLOW_C extern
#endif

#if defined(__clang__)
#define FLOW_KEEP __attribute__((noinline))
#else
#define FLOW_KEEP __attribute__((noinline, noclone))
#endif

//
// PLAIN routines have no hooks.  TRACED ones have, and begin with ENTER and
// end with LEAVE.  ARRIVE_AT is for where a jump arrives.
//

#define PLAIN __attribute__((no_instrument_function)) FLOW_KEEP

#ifdef FLOW_INLINE
#define TRACED
#else
#define TRACED FLOW_KEEP
#endif

#ifdef FLOW_ENTRIES
FLOW_C unsigned FlowDepth;
#define WitnessEnter(Name)                                                  \
    (WitnessLeaveTo(FlowDepth, 1), FlowDepth += 1, (WitnessEnter)(Name))
#define WitnessLeave() (FlowDepth -= 1)
#define WitnessDepth() (FlowDepth)
#define ARRIVE_AT(Depth) (FlowDepth = (Depth))
#else
#define ARRIVE_AT(Depth) WitnessLeaveTo(Depth, 1)
#endif

#define ENTER() WitnessEnter(__func__)
#define LEAVE() WitnessLeave()

//
// The end of a function that calls another in tail position.
//

#ifdef FLOW_TAIL_EXITS
#define LEAVE_BY_CALL(Type, Call)                                           \
    do {                                                                    \
        WitnessLeave();                                                     \
        return Call;                                                        \
    } while (0)
#else
#define LEAVE_BY_CALL(Type, Call)                                           \
    do {                                                                    \
        Type ResultOfCall = Call;                                           \
        WitnessLeave();                                                     \
        return ResultOfCall;                                                \
    } while (0)
#endif

//
// Whether a frame that a C++ exception leaves is abandoned.
//

#ifdef FLOW_UNWIND_EXITS
#define FLOW_UNWOUND 0
#else
#define FLOW_UNWOUND 1
#endif

typedef struct FLOW_SCENARIO {
    const char *Name;
    unsigned (*Run)(void);
    unsigned StackSizeInMegabytes;
} FLOW_SCENARIO;

//
// A program's scenarios; the last one has no name.
//

FLOW_C const FLOW_SCENARIO FlowScenarios[];

//
// Pseudorandom numbers, the same in every build.
//

#define FLOW_RANDOM(State)                                                  \
    ((State) = (State) * 1664525u + 1013904223u, (State) >> 8)

//
// A number that the compiler does not know: 0.
//

FLOW_C volatile unsigned FlowZero;

#endif // TRACER_TESTS_FLOW_H
