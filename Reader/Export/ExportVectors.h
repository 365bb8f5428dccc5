/*++

Module Name:

    ExportVectors.h

Abstract:

    What ExportEncode.c and ExportParquet.c do number by number, with AVX2:
    four 64-bit numbers at a time, and the same results.  The caller has asked
    the processor (RTL_CPU_FEATURES: Avx2 and Bmi2).

--*/

#ifndef TRACER_EXPORT_VECTORS_H
#define TRACER_EXPORT_VECTORS_H

#include "../Core/CoreFast.h"
#include "ExportThrift.h"

#define READER_DELTA_BLOCK 128u
#define READER_DELTA_PART 32u
#define READER_DELTA_PARTS (READER_DELTA_BLOCK / READER_DELTA_PART)

//
// A block's smallest difference, its parts' widths and 64 bits for each number,
// and what the packing stores too much.
//

#define READER_DELTA_BLOCK_BYTES (10 + READER_DELTA_PARTS +                 \
                                  READER_DELTA_BLOCK * 8 + 16)

//
// Encodes a whole block of DELTA_BINARY_PACKED; returns where it ends.
// Target: READER_DELTA_BLOCK_BYTES.
// Values: the first of the block, behind the one from which it differs.
//

PUCHAR
ExportVectorDelta(
    _Out_writes_bytes_(READER_DELTA_BLOCK_BYTES) PUCHAR Target,
    _In_reads_(READER_DELTA_BLOCK) const ULONGLONG *Values
    );

//
// Takes the smallest and the largest of numbers, which have a sign.
//

VOID
ExportVectorBounds(
    _In_reads_(Count) const ULONGLONG *Values,
    _In_ ULONG Count,
    _Inout_ PLONGLONG Minimum,
    _Inout_ PLONGLONG Maximum
    );

//
// Turns calls into nanoseconds after First, durations and depths.  Returns how
// many, a multiple of four: among the next four, if there are as many, is one
// that ExportCellsConvert is to decide.
// Factor, Shift: of a READER_RATIO, whose Shift is at most 6.
//

ULONG
ExportVectorCalls(
    _In_ ULONGLONG Factor,
    _In_ ULONG Shift,
    _In_ ULONGLONG First,
    _In_reads_(Count) PCCORE_ENDED Calls,
    _In_ ULONG Count,
    _Out_writes_(Count) PULONGLONG Starts,
    _Out_writes_(Count) PULONGLONG Durations,
    _Out_writes_(Count) PULONGLONG Depths
    );

#endif // TRACER_EXPORT_VECTORS_H
