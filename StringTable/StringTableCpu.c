/*++

Module Name:

    StringTableCpu.c

Abstract:

    Which instruction sets a string table can use.

--*/

#include "StringTablePrivate.h"
#include "../Rtl/Rtl.h"

_Use_decl_annotations_
uint32_t
StringTableQueryInstructions(
    void
    )
/*++

Routine Description:

    Asks the processor.

Arguments:

    None.

Return Value:

    The instruction sets.

--*/
{
    RTL_CPU_FEATURES Features;
    uint32_t Instructions;

    Features = RtlQueryCpuFeatures();

    Instructions = STRING_TABLE_SCALAR;
    if (Features.Sse42) {
        Instructions |= STRING_TABLE_SSE42;
    }
    if (Features.Avx2 && Features.Bmi2) {
        Instructions |= STRING_TABLE_AVX2;
    }
    if (Features.Avx512 && Features.Bmi2) {
        Instructions |= STRING_TABLE_AVX512;
    }

    return Instructions;
}
