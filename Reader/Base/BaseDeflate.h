/*++

Module Name:

    BaseDeflate.h

Abstract:

    Compresses a stream of bytes into the format of RFC 1951 (deflate), which
    gzip and ZIP contain.  It takes 1.9 MiB of memory, whatever the length.

--*/

#ifndef TRACER_BASE_DEFLATE_H
#define TRACER_BASE_DEFLATE_H

#include "../../Rtl/Rtl.h"

typedef struct _READER_DEFLATE READER_DEFLATE;
typedef READER_DEFLATE *PREADER_DEFLATE;

//
// Takes compressed bytes, in their order.  A failure is what the routine that
// led to it returns.
//

typedef
NTSTATUS
(READER_DEFLATE_SINK)(
    _In_ PVOID Target,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );
typedef READER_DEFLATE_SINK *PREADER_DEFLATE_SINK;

//
// Returns NULL if there is no memory.
//

PREADER_DEFLATE
BaseCreateDeflate(
    _In_ PCALLOCATOR Allocator
    );

VOID
BaseDestroyDeflate(
    _In_opt_ PREADER_DEFLATE Deflate
    );

//
// Begins a stream; what there was of another is forgotten.
//

VOID
BaseBeginDeflate(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_ PREADER_DEFLATE_SINK Sink,
    _In_ PVOID Target
    );

//
// Adds bytes to the stream.  After a failure nothing more reaches the sink, and
// every call returns that failure.
//

NTSTATUS
BaseWriteDeflate(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Ends the stream: its last block, padded to a whole byte.
//

NTSTATUS
BaseEndDeflate(
    _Inout_ PREADER_DEFLATE Deflate
    );

#endif // TRACER_BASE_DEFLATE_H
