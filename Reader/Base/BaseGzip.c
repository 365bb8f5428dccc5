/*++

Module Name:

    BaseGzip.c

Abstract:

    A file in the format of gzip: a header, a deflate stream, the CRC and size
    of what it contains.

--*/

#include "BaseGzip.h"

#define GZIP_HEADER_SIZE 10u
#define GZIP_TRAILER_SIZE 8u


//
// Takes compressed bytes: a READER_DEFLATE_SINK.
//

static
NTSTATUS
BasePutGzipBytes(
    _In_ PVOID Target,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    PREADER_GZIP Gzip = (PREADER_GZIP)Target;
    NTSTATUS Status;

    Status = RtlWriteFile(Gzip->Rtl,
                          Gzip->File,
                          Gzip->FileOffset,
                          Bytes,
                          SizeInBytes);
    if (NT_SUCCESS(Status)) {
        Gzip->FileOffset += SizeInBytes;
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
BaseCreateGzip(
    PCALLOCATOR Allocator,
    PCRTL Rtl,
    HANDLE File,
    PREADER_GZIP *Gzip
    )
{
    //
    // RFC 1952, 2.3: magic, method 8 (deflate), no flags, no time, no hint of
    // how hard it was tried, system 11 (NTFS).
    //

    static const UCHAR Header[GZIP_HEADER_SIZE] = {
        0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 11
    };
    PREADER_GZIP New;
    NTSTATUS Status = STATUS_NO_MEMORY;

    New = (PREADER_GZIP)Allocator->Allocate(Allocator->Context,
                                            sizeof(READER_GZIP));
    if (New == NULL) {
        return STATUS_NO_MEMORY;
    }

    New->Rtl = Rtl;
    New->File = File;
    New->FileOffset = 0;
    New->Crc = READER_CRC_START;
    New->SizeInBytes = 0;
    BaseMakeCrcTables(&New->Tables);
    New->Deflate = BaseCreateDeflate(Allocator);
    if (New->Deflate != NULL) {
        BaseBeginDeflate(New->Deflate, BasePutGzipBytes, New);
        Status = BasePutGzipBytes(New, Header, sizeof(Header));
    }

    if (!NT_SUCCESS(Status)) {
        BaseDestroyGzip(Allocator, New);
        return Status;
    }

    *Gzip = New;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
BaseWriteGzip(
    PREADER_GZIP Gzip,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    Gzip->Crc = BaseAddToCrc(&Gzip->Tables, Gzip->Crc, Bytes, SizeInBytes);
    Gzip->SizeInBytes += SizeInBytes;
    return BaseWriteDeflate(Gzip->Deflate, Bytes, SizeInBytes);
}


_Use_decl_annotations_
NTSTATUS
BaseEndGzip(
    PREADER_GZIP Gzip
    )
{
    ULONG Trailer[GZIP_TRAILER_SIZE / sizeof(ULONG)];
    NTSTATUS Status;

    Status = BaseEndDeflate(Gzip->Deflate);
    if (NT_SUCCESS(Status)) {
        Trailer[0] = ~Gzip->Crc;
        Trailer[1] = Gzip->SizeInBytes;
        Status = BasePutGzipBytes(Gzip, Trailer, sizeof(Trailer));
    }

    return Status;
}


_Use_decl_annotations_
VOID
BaseDestroyGzip(
    PCALLOCATOR Allocator,
    PREADER_GZIP Gzip
    )
{
    if (Gzip != NULL) {
        BaseDestroyDeflate(Gzip->Deflate);
        Allocator->Free(Allocator->Context, Gzip);
    }
}
