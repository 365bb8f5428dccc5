/*++

Module Name:

    ExportEncode.h

Abstract:

    The encodings of Parquet's pages: numbers plain or as differences, and
    small numbers as runs or packed bits.

--*/

#ifndef TRACER_EXPORT_ENCODE_H
#define TRACER_EXPORT_ENCODE_H

#include "ExportThrift.h"

//
// DELTA_BINARY_PACKED, in blocks of 128 with four parts.  HasVectors: the
// processor can do what is in ExportVectors.h, which gives the same bytes.
//

VOID
ExportEncodeDelta(
    _Inout_ PREADER_BYTES Bytes,
    _In_reads_(Count) const ULONGLONG *Values,
    _In_ ULONG Count,
    _In_ BOOLEAN HasVectors
    );

//
// PLAIN: SizeInBytes, 4 or 8, of each.
//

VOID
ExportEncodePlain(
    _Inout_ PREADER_BYTES Bytes,
    _In_reads_(Count) const ULONGLONG *Values,
    _In_ ULONG Count,
    _In_ ULONG SizeInBytes
    );

//
// The hybrid of runs and packed bits: Count numbers of Width bits, from 1 to
// 32, as one run of a number or all packed.
//

VOID
ExportEncodeRun(
    _Inout_ PREADER_BYTES Bytes,
    _In_ ULONG Value,
    _In_ ULONG Count,
    _In_ ULONG Width
    );

VOID
ExportEncodePacked(
    _Inout_ PREADER_BYTES Bytes,
    _In_reads_(Count) const ULONG *Values,
    _In_ ULONG Count,
    _In_ ULONG Width
    );

//
// How many bits a number has, at least one.
//

ULONG
ExportEncodeQueryWidth(
    _In_ ULONGLONG Value
    );

#endif // TRACER_EXPORT_ENCODE_H
