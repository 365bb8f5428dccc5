/*++

Module Name:

    TraceCall.h

Abstract:

    A call of a hook, as the slow path has it.

--*/

#ifndef TRACER_TRACE_CALL_H
#define TRACER_TRACE_CALL_H

#include "../Rtl/RtlTypes.h"
#include "TraceFormat.h"

typedef struct _TRACE_REGISTERS {
    ULONGLONG R15;
    ULONGLONG R14;
    ULONGLONG R13;
    ULONGLONG R12;
    ULONGLONG Rdi;
    ULONGLONG Rsi;
    ULONGLONG Rbx;
    ULONGLONG Rbp;
} TRACE_REGISTERS;
typedef TRACE_REGISTERS *PTRACE_REGISTERS;
typedef const TRACE_REGISTERS *PCTRACE_REGISTERS;

typedef struct _TRACE_TREE_CALL {
    PCTRACE_REGISTERS Registers;    // those that calls preserve; NULL: not
                                    // known
    ULONGLONG Stack;                // RSP at the call of the hook
    ULONGLONG Place;                // the hook's return address
    ULONGLONG Timestamp;            // of the store's clock
    ULONG Site;                     // as a record's
    ULONG Kind;                     // TRACE_KIND_*
    BOOLEAN IsJump;                 // the hook was jumped to from the end of
                                    // the function
} TRACE_TREE_CALL;
typedef TRACE_TREE_CALL *PTRACE_TREE_CALL;
typedef const TRACE_TREE_CALL *PCTRACE_TREE_CALL;

#endif // TRACER_TRACE_CALL_H
