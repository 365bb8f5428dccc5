/*++

Module Name:

    KernelClock.c

Abstract:

    Clocks, and routines that not every kernel exports.

--*/

#include "Kernel.h"

#define CLOCK_TRIES             3
#define CLOCK_NAME_CHARS        64

//
// 64 bits whose high half is there twice: a reader takes it when both agree.
//

typedef struct _CLOCK_SHARED_TIME {
    ULONG Low;
    ULONG High;
    ULONG High2;
} CLOCK_SHARED_TIME;

_Use_decl_annotations_
PVOID
KernelFindRoutine(
    const WCHAR *Name
    )
{
    UNICODE_STRING String;

    String = KernelTextString(Name);
    return MmGetSystemRoutineAddress(&String);
}

//
// The time of the last tick, which the kernel's header reads in the same way.
//

static
ULONGLONG
KernelClockReadShared(
    VOID
    )
{
    const volatile CLOCK_SHARED_TIME *Time;
    ULONG High;
    ULONG Low;

    Time = (const volatile CLOCK_SHARED_TIME *)(KernelSharedData() +
                                                KERNEL_SHARED_SYSTEM_TIME);
    do {
        High = Time->High;
        Low = Time->Low;
    } while (High != Time->High2);
    return ((ULONGLONG)High << 32) | Low;
}

_Use_decl_annotations_
ULONG
KernelClockBootId(
    VOID
    )
{
    return *(const ULONG *)(KernelSharedData() + KERNEL_SHARED_BOOT_ID);
}

_Use_decl_annotations_
VOID
KernelClockRead(
    PTRACE_CLOCK_ANCHOR Anchor,
    uint64_t *QpcFrequency
    )
{
    PKERNEL_QUERY_COUNTER QueryCounter;
    PKERNEL_QUERY_TIME QueryTime;
    LARGE_INTEGER Counter;
    LARGE_INTEGER Frequency;
    LARGE_INTEGER Time;
    ULONGLONG Before;
    ULONGLONG Middle;
    ULONGLONG After;
    ULONGLONG Best;
    ULONG Try;

    QueryCounter = (PKERNEL_QUERY_COUNTER)(ULONG_PTR)
        KernelFindRoutine(L"KeQueryPerformanceCounter");
    QueryTime = (PKERNEL_QUERY_TIME)(ULONG_PTR)
        KernelFindRoutine(L"KeQuerySystemTimePrecise");

    //
    // Of the tries that counts whose readings lie closest together.
    //

    Best = MAXULONG64;
    Frequency.QuadPart = 0;
    Counter.QuadPart = 0;
    Anchor->Tsc = 0;
    Anchor->Qpc = 0;
    Anchor->SystemTime = 0;
    for (Try = 0; Try < CLOCK_TRIES; Try += 1) {
        Before = __rdtsc();
        if (QueryCounter != NULL) {
            Counter = QueryCounter(&Frequency);
        }
        Middle = __rdtsc();
        if (QueryTime != NULL) {
            QueryTime(&Time);
        } else {
            Time.QuadPart = (LONGLONG)KernelClockReadShared();
        }
        After = __rdtsc();
        if (After - Before < Best) {
            Best = After - Before;
            Anchor->Tsc = Before + (Middle - Before) / 2;
            Anchor->Qpc = (uint64_t)Counter.QuadPart;
            Anchor->SystemTime = (uint64_t)Time.QuadPart;
        }
    }
    Anchor->Check = Anchor->Tsc ^ Anchor->Qpc ^ Anchor->SystemTime;
    if (QpcFrequency != NULL) {
        *QpcFrequency = (uint64_t)Frequency.QuadPart;
    }
}
