/*++

Module Name:

    FaultSupport.h

Abstract:

    The seam of TestFaults: every routine of the RTL's lists behind one wrapper
    that counts the calls, makes the chosen one fail, and keeps a list of what
    the library has and has not given back.

--*/

#ifndef TRACER_FAULT_SUPPORT_H
#define TRACER_FAULT_SUPPORT_H

#include "../../Penter/PenterEnd.h"
#include "../../Penter/PenterStart.h"
#include "Test.h"

#define FAULT_DYNAMIC_CODE_BLOCKED ((NTSTATUS)0xC0000604)

#define FAULT_ROUTINES(ENTRY)                                               \
    RTL_NTDLL_REQUIRED(ENTRY)                                               \
    RTL_NTDLL_OPTIONAL(ENTRY)                                               \
    RTL_KERNEL32_REQUIRED(ENTRY)

#define FAULT_NUMBER(Type, Name) Fault##Name,

enum {
    FAULT_ROUTINES(FAULT_NUMBER)
    FaultNumberOfRoutines
};

extern const PCSZ FaultNames[FaultNumberOfRoutines];

//
// A documented failure of a routine: what it returns, the last error that goes
// with it (kernel32), and the status that the library should report.
//

typedef struct _FAULT_ERROR {
    ULONG Routine;
    ULONG Value;
    ULONG LastError;
    NTSTATUS Reported;
} FAULT_ERROR;
typedef const FAULT_ERROR *PCFAULT_ERROR;

extern const FAULT_ERROR FaultErrors[];
extern const ULONG FaultNumberOfErrors;

//
// What is done to a call.
//

#define FAULT_FAIL      0       // it fails
#define FAULT_HIDE      1       // it does nothing and says that it succeeded
#define FAULT_READ_ONLY 2       // a view without the right to write
#define FAULT_PRIVATE   3       // a view that is not of the file at all
#define FAULT_BOTH      4       // no worker, and it fails
#define FAULT_MISSING   5       // the export does not exist

typedef struct _FAULT {
    ULONG Mode;
    LONG Call;                  // counted from 1; 0: none
    BOOLEAN Sticky;             // and all after it
    FAULT_ERROR Error;
} FAULT;
typedef FAULT *PFAULT;
typedef const FAULT *PCFAULT;

//
// The state of the seam, for one run.
//

extern FAULT FaultCurrent;
extern volatile LONG FaultCalls[FaultNumberOfRoutines];
extern volatile LONG FaultFired;
extern volatile LONG FaultBadCalls;

//
// What the library said to the debugger.
//

#define FAULT_TEXT_CAPACITY 0x10000

extern CHAR FaultText[FAULT_TEXT_CAPACITY];
extern ULONG FaultTextLength;
extern volatile LONG FaultNumberOfReports;

//
// Forgets the last run and sets the fault of the next; NULL: none.
//

VOID
FaultBegin(
    _In_opt_ PCFAULT Fault
    );

//
// The wrapper of an export, or NULL if it is to be missing; Real where there is
// no such routine in the lists.
//

PVOID
FaultResolve(
    _In_z_ PCSZ Name,
    _In_opt_ PVOID Real
    );

//
// Waits until the worker, if there is one, has nothing to do, and has seen as
// many threads end.  FALSE if it does not come to rest.
//

BOOLEAN
FaultSettle(
    ULONG NumberEnded
    );

//
// Counts what the library has not given back, and gives back itself what it
// was made to fail to.
//

ULONG
FaultCleanUp(
    VOID
    );

#endif // TRACER_FAULT_SUPPORT_H
