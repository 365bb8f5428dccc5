/*++

Module Name:

    KernelHooks.h

Abstract:

    What the hooks (KernelHooks.asm) and the C side share: the addresses and
    sizes that a hook reads on every call, and where it jumps to.

--*/

#ifndef TRACER_KERNEL_HOOKS_H
#define TRACER_KERNEL_HOOKS_H

#include "../Rtl/RtlTypes.h"
#include "KernelFormat.h"

//
// Callable at any IRQL, and of the C calling convention.
//

typedef
ULONG
(NTAPI KERNEL_GET_PROCESSOR)(
    _In_opt_ PVOID Unused
    );
typedef KERNEL_GET_PROCESSOR *PKERNEL_GET_PROCESSOR;

typedef
HANDLE
(NTAPI KERNEL_GET_THREAD)(
    VOID
    );
typedef KERNEL_GET_THREAD *PKERNEL_GET_THREAD;

typedef
UCHAR
(NTAPI KERNEL_GET_IRQL)(
    VOID
    );
typedef KERNEL_GET_IRQL *PKERNEL_GET_IRQL;

//
// Written while no hook records, and read by each that does.
//

typedef struct _KERNEL_STATE {
    PTRACE_KERNEL_RING Rings;
    PTRACE_KERNEL_RECORD Records;
    PTRACE_KERNEL_FUNCTION Functions;
    PTRACE_KERNEL_OPEN_CALL OpenCalls;  // NULL: no call is timed
    PKERNEL_GET_PROCESSOR GetProcessor;
    PKERNEL_GET_THREAD GetThread;
    PKERNEL_GET_IRQL GetIrql;
    ULONGLONG RecordMask;               // records of a ring, less 1
    ULONGLONG FunctionMask;
    ULONGLONG OpenCallMask;
    ULONG NumberOfRings;
    ULONG RecordsShift;                 // of a ring's number, to bytes
    ULONG FunctionsShift;
    ULONG Spare[9];
} KERNEL_STATE;
typedef KERNEL_STATE *PKERNEL_STATE;

extern KERNEL_STATE KernelState;

//
// A hook, or what it jumps to.  None of them has arguments in the sense of C,
// and none changes a register or a flag.
//

typedef
VOID
(KERNEL_ROUTINE)(
    VOID
    );
typedef KERNEL_ROUTINE *PKERNEL_ROUTINE;

extern PKERNEL_ROUTINE KernelEnterRoutine;
extern PKERNEL_ROUTINE KernelExitRoutine;
extern PKERNEL_ROUTINE KernelEnterFunctionRoutine;
extern PKERNEL_ROUTINE KernelExitFunctionRoutine;

KERNEL_ROUTINE KernelReturn;            // does nothing
KERNEL_ROUTINE KernelCountPaused;
KERNEL_ROUTINE KernelRecordEnter;
KERNEL_ROUTINE KernelRecordExit;
KERNEL_ROUTINE KernelRecordEnterFunction;
KERNEL_ROUTINE KernelRecordExitFunction;

KERNEL_ROUTINE _penter;
KERNEL_ROUTINE _pexit;
KERNEL_ROUTINE __return__;
KERNEL_ROUTINE __fentry__;
KERNEL_ROUTINE __cyg_profile_func_enter;
KERNEL_ROUTINE __cyg_profile_func_exit;

//
// KernelMachine.asm.
//

//
// The IRQL, by way of CR8.  Only where KernelIsUserMode is FALSE.
//

KERNEL_GET_IRQL KernelReadIrql;

//
// 0, where drivers run in user mode.
//

KERNEL_GET_IRQL KernelPassiveIrql;

//
// Whether the time stamp counter runs at the same rate always.
//

BOOLEAN
KernelIsTscInvariant(
    VOID
    );

//
// Calls Enter and Exit, as a function with hooks does.
//

VOID
KernelCallPair(
    _In_ PKERNEL_ROUTINE Enter,
    _In_ PKERNEL_ROUTINE Exit
    );

//
// KernelMode.asm.
//

//
// Whether drivers run in user mode, as under Wine: then memory need not be
// locked, and privileged instructions do not work.
//

BOOLEAN
KernelIsUserMode(
    VOID
    );

//
// KUSER_SHARED_DATA.
//

const BYTE *
KernelSharedData(
    VOID
    );

#endif // TRACER_KERNEL_HOOKS_H
