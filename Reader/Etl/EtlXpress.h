/*++

Module Name:

    EtlXpress.h

Abstract:

    Plain LZ77, as Windows compresses buffers of a log with it ("Xpress").
    Documented in [MS-XCA], section 2.4, "Plain LZ77 Decompression Algorithm
    Details".

--*/

#ifndef TRACER_ETL_XPRESS_H
#define TRACER_ETL_XPRESS_H

#include "../../Rtl/RtlTypes.h"

//
// Decompresses the input, until it ends or the target is full, and returns how
// many bytes that made.  ETL_XPRESS_BAD: the input is none, or a match in it
// goes beyond the target; what is in Target then is of no use.
//

#define ETL_XPRESS_BAD 0xFFFFFFFFu

ULONG
EtlDecodeXpress(
    _In_reads_bytes_(SourceSize) const UCHAR *Source,
    _In_ ULONG SourceSize,
    _Out_writes_bytes_to_(TargetSize, return) PUCHAR Target,
    _In_ ULONG TargetSize
    );

#endif // TRACER_ETL_XPRESS_H
