/*++

Module Name:

    RtlCpu.c

Abstract:

    Which instruction sets the processor has and the operating system saves.

--*/

#include "Rtl.h"

//
// Indexes of the registers that CPUID gives.
//

#define RTLP_EAX 0
#define RTLP_EBX 1
#define RTLP_ECX 2
#define RTLP_EDX 3

//
// State components of XCR0: xmm and ymm; these and the three of AVX-512.
//

#define RTLP_XCR0_AVX       0x06
#define RTLP_XCR0_AVX512    0xE6

//
// The intrinsics are refused by clang in a file that is compiled for processors
// without XSAVE, which is the point of asking; the instructions are not.
//

//
// Executes CPUID with subleaf 0.
// Registers: eax, ebx, ecx and edx.
//

static
VOID
RtlpReadCpuid(
    _In_ ULONG Leaf,
    _Out_writes_(4) PULONG Registers
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    __cpuidex((int *)Registers, (int)Leaf, 0);

#else

    __asm__ __volatile__("cpuid"
                         : "=a"(Registers[RTLP_EAX]),
                           "=b"(Registers[RTLP_EBX]),
                           "=c"(Registers[RTLP_ECX]),
                           "=d"(Registers[RTLP_EDX])
                         : "a"(Leaf), "c"(0));

#endif
}

//
// Reads the low half of extended control register 0. Only to be called when
// CPUID reports OSXSAVE.
// Returns its value: one bit for each state component that the system saves.
//

static
ULONG
RtlpReadXcr0(
    VOID
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    return (ULONG)_xgetbv(0);

#else

    ULONG Low;
    ULONG High;

    __asm__ __volatile__("xgetbv" : "=a"(Low), "=d"(High) : "c"(0));

    UNREFERENCED_PARAMETER(High);

    return Low;

#endif
}

_Use_decl_annotations_
RTL_CPU_FEATURES
RtlQueryCpuFeatures(
    VOID
    )
/*++

Routine Description:

    Asks the processor.

Arguments:

    None.

Return Value:

    The features.

--*/
{
    RTL_CPU_FEATURES Features;
    ULONG Registers[4];
    ULONG MaximumLeaf;
    ULONG MaximumExtendedLeaf;
    ULONG Ecx1;
    ULONG Ebx7 = 0;
    ULONG Xcr0 = 0;

    Features.AsULong = 0;

    RtlpReadCpuid(0, Registers);
    MaximumLeaf = Registers[RTLP_EAX];

    RtlpReadCpuid(1, Registers);
    Ecx1 = Registers[RTLP_ECX];

    if (MaximumLeaf >= 7) {
        RtlpReadCpuid(7, Registers);
        Ebx7 = Registers[RTLP_EBX];
    }

    Features.Sse42 = (Ecx1 >> 20) & 1;
    Features.Bmi2 = (Ebx7 >> 8) & 1;
    Features.Xsave = (Ecx1 >> 27) & 1;

    if (Features.Xsave) {
        Xcr0 = RtlpReadXcr0();
    }

    //
    // AVX (leaf 1 ECX bit 28), AVX2 (leaf 7 EBX bit 5), and the ymm registers
    // saved over a context switch.
    //

    if (((Ecx1 >> 28) & 1) && (Xcr0 & RTLP_XCR0_AVX) == RTLP_XCR0_AVX) {

        Features.Avx2 = (Ebx7 >> 5) & 1;

        //
        // F is bit 16, DQ 17, BW 30 and VL 31.
        //

        if ((Xcr0 & RTLP_XCR0_AVX512) == RTLP_XCR0_AVX512) {
            Features.Avx512 = (Ebx7 & 0xC0030000) == 0xC0030000;
        }
    }

    RtlpReadCpuid(0x80000000, Registers);
    MaximumExtendedLeaf = Registers[RTLP_EAX];

    if (MaximumExtendedLeaf >= 0x80000007) {
        RtlpReadCpuid(0x80000007, Registers);
        Features.InvariantTsc = (Registers[RTLP_EDX] >> 8) & 1;
    }

    return Features;
}
