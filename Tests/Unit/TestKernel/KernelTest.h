/*++

Module Name:

    KernelTest.h

Abstract:

    What the parts of TestKernel share: a kernel that is not there, and calls of
    hooks.

--*/

#ifndef TRACER_KERNEL_TEST_H
#define TRACER_KERNEL_TEST_H

#include "../../Library/Test.h"
#include "../../../Kernel/Kernel.h"

//
// KernelCallers.asm.
//

extern ULONG KernelTestProcessor;
extern ULONG KernelTestRotate;
extern ULONG KernelTestIrql;
extern ULONG KernelTestMisaligned;
extern ULONG_PTR KernelTestGetterStack;

KERNEL_GET_PROCESSOR KernelTestGetProcessor;
KERNEL_GET_THREAD KernelTestGetThread;
KERNEL_GET_IRQL KernelTestGetIrql;
KERNEL_GET_PROCESSOR KernelTestPlainProcessor;
KERNEL_GET_THREAD KernelTestPlainThread;
KERNEL_GET_IRQL KernelTestPlainIrql;

#define KERNEL_TEST_SITES   64

extern const ULONG_PTR KernelTestSites[KERNEL_TEST_SITES];

VOID
KernelTestClockPair(
    _In_ ULONGLONG Count
    );

VOID
KernelTestCallFrom(
    _In_ PKERNEL_ROUTINE Hook,
    _In_ ULONG_PTR Rsp,
    _In_ ULONG_PTR Function,
    _In_ ULONG_PTR Site
    );

//
// KernelTestOs.c: what the library asks of the kernel.
//

typedef enum _KERNEL_TEST_STEP {
    KernelTestNothing,
    KernelTestSectionCreate,
    KernelTestViewMap,
    KernelTestViewSize,
    KernelTestMdlAllocate,
    KernelTestPagesLock,
    KernelTestPagesMap,
    KernelTestKeyOpen,
    KernelTestParametersOpen,
    KernelTestValueQuery,
    KernelTestNumberOfSteps
} KERNEL_TEST_STEP;

typedef struct _KERNEL_TEST_VALUE {
    PCWSTR Name;
    ULONG Type;
    ULONG Size;
    const VOID *Data;
} KERNEL_TEST_VALUE;

typedef struct _KERNEL_TEST_OS {

    //
    // What it is to be like.
    //

    BOOLEAN IsUserMode;
    BOOLEAN HasNoNames;                 // no \BaseNamedObjects
    BOOLEAN LacksRoutines;              // but for that which counts processors
    ULONG Processors;
    KERNEL_TEST_STEP Fails;
    NTSTATUS Status;
    ULONG NumberOfValues;
    KERNEL_TEST_VALUE Values[16];

    //
    // What it has been asked.
    //

    LONG Sections;
    LONG Views;
    LONG Mdls;
    LONG Locks;
    LONG Flushes;                   // of DPCs
    LONG Keys;
    WCHAR SectionName[160];
    ULONG SectionNameChars;
    const VOID *Security;
    CHAR Printed[2048];
    ULONG PrintedLength;
} KERNEL_TEST_OS;

extern KERNEL_TEST_OS KernelTestOs;

//
// A kernel of user mode with two processors, where nothing fails.
//

VOID
KernelTestReset(
    VOID
    );

VOID
KernelTestSetNumber(
    _In_z_ PCWSTR Name,
    _In_ const ULONG *Number
    );

//
// Starts the library under the name of \Registry\...\Driver.
//

NTSTATUS
KernelTestStart(
    VOID
    );

BOOLEAN
KernelTestHasPrinted(
    _In_z_ PCSZ Text
    );

//
// Nothing is left of what was made.
//

VOID
KernelTestCheckNothingLeft(
    VOID
    );

//
// The parts.
//

VOID
KernelTestStarting(
    VOID
    );

VOID
KernelTestState(
    VOID
    );

VOID
KernelTestInterrupts(
    VOID
    );

VOID
KernelTestTables(
    VOID
    );

VOID
KernelTestThreads(
    VOID
    );

//
// What several of them ask of the tables.
//

ULONGLONG
KernelTestReserved(
    VOID
    );

ULONGLONG
KernelTestCounter(
    _In_ ULONG Offset
    );

#define KERNEL_TEST_COUNTER(Name) \
    KernelTestCounter(FIELD_OFFSET(TRACE_KERNEL_RING, Name))

//
// The records of a ring that are still there and whole, and those that are not.
//

ULONG
KernelTestWholeRecords(
    _In_ ULONG Ring,
    _Out_ PULONG Missing
    );

//
// The sum of a site's slots.
//

VOID
KernelTestFunction(
    _In_ ULONG_PTR Site,
    _Out_ PTRACE_KERNEL_FUNCTION Sum
    );

ULONG
KernelTestOpenCalls(
    VOID
    );

#endif // TRACER_KERNEL_TEST_H
