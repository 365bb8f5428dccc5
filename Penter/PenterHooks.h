/*++

Module Name:

    PenterHooks.h

Abstract:

    What PenterHooks.asm and PenterTree.asm have for C, and what the slow path
    gets from them.

--*/

#ifndef TRACER_PENTER_HOOKS_H
#define TRACER_PENTER_HOOKS_H

#include "../Rtl/RtlTypes.h"
#include "../TraceStore/TraceCaller.h"

//
// PenterHooks.asm: the pointers that the public hooks jump through, and the
// routines that they may point at.
//

typedef VOID (PENTER_ROUTINE)(VOID);
typedef PENTER_ROUTINE *PPENTER_ROUTINE;

extern PPENTER_ROUTINE volatile PenterEnterRoutine;
extern PPENTER_ROUTINE volatile PenterExitRoutine;
extern PPENTER_ROUTINE volatile PenterEnterFunctionRoutine;
extern PPENTER_ROUTINE volatile PenterExitFunctionRoutine;
extern ULONG volatile PenterSlotOffset;

//
// Events that were left out because their thread had no stack left for the
// slow path, or no memory for its TLS slot, and are not yet counted in a store.
//

extern LONGLONG volatile PenterEventsLeftOut;

//
// The clock that a thread of the library publishes, in ticks of the time stamp
// counter.
//

extern ULONGLONG volatile PenterClock;

//
// The session's Places.
//

extern ULONGLONG volatile PenterPlaces[TRACE_NUMBER_OF_PLACES];

PENTER_ROUTINE PenterReturn;

//
// The recording routines: for each clock, without and with what leaves calls
// out, for a TLS slot in the thread environment block and for one in the
// expansion array.
//

typedef struct _PENTER_ROUTINES {
    PPENTER_ROUTINE Enter;
    PPENTER_ROUTINE Exit;
    PPENTER_ROUTINE EnterFunction;
    PPENTER_ROUTINE ExitFunction;
} PENTER_ROUTINES;
typedef const PENTER_ROUTINES *PCPENTER_ROUTINES;

#define PENTER_NUMBER_OF_CLOCKS 3               // TRACE_CLOCK_*

extern const PENTER_ROUTINES PenterRoutines[PENTER_NUMBER_OF_CLOCKS][2][2];

//
// Those that keep a tree: for the clocks that have a time, and for both places
// of a TLS slot.
//

extern const PENTER_ROUTINES PenterTreeRoutines[2][2];

//
// What the slow path has saved (SLOW_ROUTINE).  RSP at the call of the hook was
// behind it.
//

typedef struct _PENTER_SLOW_CALL {
    ULONGLONG R15;
    ULONGLONG R14;
    ULONGLONG R13;
    ULONGLONG R12;
    ULONGLONG Rdi;
    ULONGLONG Rsi;
    ULONGLONG Rbx;
    ULONGLONG Own[3];                   // SLOW_ROUTINE's
    ULONGLONG Flags;
    ULONGLONG Rbp;
    ULONGLONG R11;
    ULONGLONG R10;
    ULONGLONG R9;
    ULONGLONG R8;
    ULONGLONG Rdx;
    ULONGLONG Rcx;
    ULONGLONG Rax;
    ULONGLONG ReturnAddress;
} PENTER_SLOW_CALL;
typedef const PENTER_SLOW_CALL *PCPENTER_SLOW_CALL;

#endif // TRACER_PENTER_HOOKS_H
