/*++

Module Name:

    TestKernel.c

Abstract:

    TracerPenterKernel.lib in a program, with a kernel that is not there
    (KernelTestOs.c): starting and its failures, what a hook changes, interrupts
    at each of its instructions, full tables, and several processors.

--*/

#include "TestKernel/KernelTest.h"

ULONGLONG
KernelTestReserved(
    VOID
    )
{
    return KERNEL_TEST_COUNTER(Reserved);
}

ULONGLONG
KernelTestCounter(
    _In_ ULONG Offset
    )
{
    ULONGLONG Sum;
    ULONG Ring;

    Sum = 0;
    for (Ring = 0; Ring < KernelState.NumberOfRings; Ring += 1) {
        Sum += *(const ULONGLONG *)((const BYTE *)&KernelState.Rings[Ring] +
                                    Offset);
    }
    return Sum;
}

ULONG
KernelTestWholeRecords(
    _In_ ULONG Ring,
    _Out_ PULONG Missing
    )
{
    const TRACE_KERNEL_RECORD *Record;
    ULONGLONG Reserved;
    ULONGLONG Number;
    ULONG Whole;

    Reserved = KernelState.Rings[Ring].Reserved;
    Number = 0;
    if (Reserved > KernelState.RecordMask + 1) {
        Number = Reserved - KernelState.RecordMask - 1;
    }
    Whole = 0;
    *Missing = 0;
    for (; Number < Reserved; Number += 1) {
        Record = KernelState.Records + Ring * (KernelState.RecordMask + 1) +
                 (Number & KernelState.RecordMask);
        if (Record->Number == TRACE_KERNEL_NUMBER(Number)) {
            Whole += 1;
        } else {
            *Missing += 1;
        }
    }
    return Whole;
}

VOID
KernelTestFunction(
    _In_ ULONG_PTR Site,
    _Out_ PTRACE_KERNEL_FUNCTION Sum
    )
{
    const TRACE_KERNEL_FUNCTION *Function;
    ULONGLONG Index;

    RtlZeroBytes(Sum, sizeof(*Sum));
    Sum->Minimum = MAXULONG64;
    for (Index = 0;
         Index < KernelState.NumberOfRings * (KernelState.FunctionMask + 1);
         Index += 1) {

        Function = &KernelState.Functions[Index];
        if (Function->Site != Site) {
            continue;
        }
        Sum->Site = Site;
        Sum->Calls += Function->Calls;
        Sum->Ticks += Function->Ticks;
        Sum->Entries += Function->Entries;
        if (Function->Minimum < Sum->Minimum) {
            Sum->Minimum = Function->Minimum;
        }
        if (Function->Maximum > Sum->Maximum) {
            Sum->Maximum = Function->Maximum;
        }
    }
}

ULONG
KernelTestOpenCalls(
    VOID
    )
{
    ULONGLONG Index;
    ULONG Count;

    Count = 0;
    for (Index = 0; Index <= KernelState.OpenCallMask; Index += 1) {
        if (KernelState.OpenCalls[Index].Stack != 0) {
            TEST_EQUAL(KernelState.OpenCalls[Index].Stack & 4, 0);
            Count += 1;
        }
    }
    return Count;
}

VOID
TestMain(
    _In_ PCRTL Rtl,
    _In_ PCALLOCATOR Allocator
    )
{
    UNREFERENCED_PARAMETER(Rtl);
    UNREFERENCED_PARAMETER(Allocator);

    KernelTestStarting();
    KernelTestState();
    KernelTestInterrupts();
    KernelTestTables();
    KernelTestThreads();
    TEST_EQUAL(KernelTestMisaligned, 0);
}
