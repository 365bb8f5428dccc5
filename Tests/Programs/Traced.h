/*++

Module Name:

    Traced.h

Abstract:

    What the programs with threads, fibers and DLLs have in common.  TRACED
    functions have hooks, begin with ENTER() and end with LEAVE(); PLAIN ones
    have none.  Output goes through Say, which needs no end of the C runtime:
    some of these programs end without.

--*/

#ifndef TRACER_TESTS_TRACED_H
#define TRACER_TESTS_TRACED_H

#include <windows.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "Witness.h"

#define TRACED __attribute__((noinline))
#define PLAIN __attribute__((noinline, no_instrument_function))

#define PLAIN_INLINE                                                        \
    __attribute__((no_instrument_function, unused)) static

#define ENTER() WitnessEnter(__func__)
#define LEAVE() WitnessLeave()

//
// The same for a DLL that may be unloaded.
//

#define ENTER_KEPT()                                                        \
    do {                                                                    \
        static const char *KeptName;                                        \
        if (KeptName == NULL) {                                             \
            KeptName = WitnessKeep(__func__);                               \
        }                                                                   \
        WitnessEnter(KeptName);                                             \
    } while (0)

//
// The headers' interlocked functions are inline, and some compilers put hooks
// into those too.
//

#define ADD(Target, Value) \
    __atomic_fetch_add((Target), (Value), __ATOMIC_SEQ_CST)

//
// Pseudorandom numbers, the same in every build.
//

PLAIN_INLINE unsigned
NextRandom(
    unsigned *State
    )
{
    *State = *State * 1664525u + 1013904223u;
    return *State >> 8;
}

PLAIN_INLINE void
SayTo(
    DWORD Which,
    const char *Format,
    ...
    )
{
    char Text[500];
    DWORD Written;
    va_list Arguments;
    int Length;

    va_start(Arguments, Format);
    Length = _vsnprintf(Text, sizeof(Text), Format, Arguments);
    va_end(Arguments);
    if (Length > 0) {
        WriteFile(GetStdHandle(Which), Text, (DWORD)Length, &Written, NULL);
    }
}

//
// Say is for what is the same in every run, Note for what is not.
//

#define Say(...) SayTo(STD_OUTPUT_HANDLE, __VA_ARGS__)
#define Note(...) SayTo(STD_ERROR_HANDLE, __VA_ARGS__)

#endif // TRACER_TESTS_TRACED_H
