/*++

Module Name:

    BaseGzip.h

Abstract:

    A file in the format of gzip (RFC 1952): one member, without a name or a
    time, so that the same bytes give the same file.

--*/

#ifndef TRACER_BASE_GZIP_H
#define TRACER_BASE_GZIP_H

#include "../../Rtl/Rtl.h"
#include "BaseCrc.h"
#include "BaseDeflate.h"

typedef struct _READER_GZIP {
    PCRTL Rtl;
    HANDLE File;                    // the caller's
    PREADER_DEFLATE Deflate;
    ULONGLONG FileOffset;           // of the next compressed bytes
    ULONG Crc;                      // of what was compressed
    ULONG SizeInBytes;              // of it, modulo 2^32
    READER_CRC_TABLES Tables;
} READER_GZIP;
typedef READER_GZIP *PREADER_GZIP;

//
// Begins a file that is empty.  A failure leaves nothing to destroy.
//

_Must_inspect_result_
NTSTATUS
BaseCreateGzip(
    _In_ PCALLOCATOR Allocator,
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _Outptr_ PREADER_GZIP *Gzip
    );

NTSTATUS
BaseWriteGzip(
    _Inout_ PREADER_GZIP Gzip,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Writes what is missing of the file; the caller closes it.
//

NTSTATUS
BaseEndGzip(
    _Inout_ PREADER_GZIP Gzip
    );

VOID
BaseDestroyGzip(
    _In_ PCALLOCATOR Allocator,
    _In_opt_ PREADER_GZIP Gzip
    );

#endif // TRACER_BASE_GZIP_H
