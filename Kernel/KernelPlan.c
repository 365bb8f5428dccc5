/*++

Module Name:

    KernelPlan.c

Abstract:

    What lies where in the section, and the tables before the first call.

--*/

#include "Kernel.h"

#define PLAN_PAGE               0x1000ULL

//
// All that a driver may take of memory that is not paged.
//

#define PLAN_MAXIMUM_SIZE       0x40000000ULL
#define PLAN_MINIMUM_RECORDS    16

static
ULONGLONG
KernelPlanAlign(
    _In_ ULONGLONG Size
    )
{
    return (Size + PLAN_PAGE - 1) & ~(PLAN_PAGE - 1);
}

_Use_decl_annotations_
VOID
KernelPlanSection(
    PKERNEL_SETTINGS Settings,
    ULONG NumberOfRings,
    PTRACE_KERNEL_HEADER Header
    )
{
    ULONGLONG Offset;

    for (;;) {
        Offset = sizeof(TRACE_KERNEL_HEADER);
        Header->RingsOffset = Offset;
        Offset += KernelPlanAlign((ULONGLONG)NumberOfRings *
                                  sizeof(TRACE_KERNEL_RING));
        Header->RecordsOffset = Offset;
        Offset += KernelPlanAlign((ULONGLONG)NumberOfRings *
                                  Settings->Records *
                                  sizeof(TRACE_KERNEL_RECORD));
        Header->FunctionsOffset = Offset;
        Offset += KernelPlanAlign((ULONGLONG)NumberOfRings *
                                  Settings->Functions *
                                  sizeof(TRACE_KERNEL_FUNCTION));
        Header->OpenCallsOffset = Offset;
        Offset += KernelPlanAlign((ULONGLONG)Settings->OpenCalls *
                                  sizeof(TRACE_KERNEL_OPEN_CALL));
        if (Offset <= PLAN_MAXIMUM_SIZE) {
            break;
        }
        if (Settings->Records > PLAN_MINIMUM_RECORDS &&
            (Settings->Functions <= PLAN_MINIMUM_RECORDS ||
             (ULONGLONG)Settings->Records * sizeof(TRACE_KERNEL_RECORD) >=
                 (ULONGLONG)Settings->Functions *
                     sizeof(TRACE_KERNEL_FUNCTION))) {

            Settings->Records /= 2;
        } else if (Settings->Functions > PLAN_MINIMUM_RECORDS) {
            Settings->Functions /= 2;
        } else {
            break;
        }
    }

    Header->SectionSize = Offset;
    Header->NumberOfRings = NumberOfRings;
    Header->RecordsPerRing = Settings->Records;
    Header->FunctionSlots = Settings->Functions;
    Header->OpenCallSlots = Settings->OpenCalls;
}

static
ULONG
KernelPlanShift(
    _In_ ULONGLONG Power
    )
{
    ULONG Shift;

    Shift = 0;
    while ((1ULL << Shift) < Power) {
        Shift += 1;
    }
    return Shift;
}

_Use_decl_annotations_
VOID
KernelPlanTables(
    PTRACE_KERNEL_HEADER Header,
    PKERNEL_STATE State
    )
{
    PBYTE Base;
    ULONGLONG Index;

    Base = (PBYTE)Header;
    State->Rings = (PTRACE_KERNEL_RING)(Base + Header->RingsOffset);
    State->Records = (PTRACE_KERNEL_RECORD)(Base + Header->RecordsOffset);
    State->Functions = (PTRACE_KERNEL_FUNCTION)(Base +
                                                Header->FunctionsOffset);
    State->OpenCalls = NULL;
    if (Header->OpenCallSlots != 0) {
        State->OpenCalls = (PTRACE_KERNEL_OPEN_CALL)(Base +
                                                     Header->OpenCallsOffset);
    }
    State->RecordMask = Header->RecordsPerRing - 1;
    State->FunctionMask = Header->FunctionSlots - 1;
    State->OpenCallMask = (ULONGLONG)Header->OpenCallSlots - 1;
    State->NumberOfRings = Header->NumberOfRings;
    State->RecordsShift = KernelPlanShift(Header->RecordsPerRing *
                                          sizeof(TRACE_KERNEL_RECORD));
    State->FunctionsShift = KernelPlanShift((ULONGLONG)Header->FunctionSlots *
                                            sizeof(TRACE_KERNEL_FUNCTION));

    for (Index = 0;
         Index < (ULONGLONG)Header->NumberOfRings * Header->FunctionSlots;
         Index += 1) {

        State->Functions[Index].Minimum = MAXULONG64;
    }
}
