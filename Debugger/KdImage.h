/*++

Module Name:

    KdImage.h

Abstract:

    An image as it lies in the target's memory: its headers, unwind data and
    code, in the form that Reader/Image knows.

--*/

#ifndef TRACER_KD_IMAGE_H
#define TRACER_KD_IMAGE_H

#include "../Reader/Image/ImageUnwind.h"
#include "KdContext.h"

typedef struct _KD_IMAGE {
    ULONGLONG Base;
    ULONG SizeOfImage;              // bytes
    ULONG TimeDateStamp;
    ULONG ExportRva;                // these two 0: it exports nothing
    ULONG ExportSizeInBytes;
    ULONGLONG MissingInBytes;       // of what was wanted and is not there
    READER_UNWIND Unwind;
} KD_IMAGE;
typedef KD_IMAGE *PKD_IMAGE;

//
// Reads the image at Base; with WithCode also what the pairing of calls asks
// of its code.  Pages that are not there are zeroes, and counted.  After a
// failure, too, Image is good for KdImageRundown.
//
//     STATUS_PARTIAL_COPY (its headers are not there),
//     STATUS_INVALID_IMAGE_FORMAT, STATUS_CANCELLED, STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdImageOpen(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Base,
    _In_ BOOLEAN WithCode,
    _Out_ PKD_IMAGE Image
    );

//
// As KdImageOpen, but for what the headers say alone: exports and sections.
//

_Must_inspect_result_
NTSTATUS
KdImageOpenHeaders(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Base,
    _Out_ PKD_IMAGE Image
    );

VOID
KdImageRundown(
    _Inout_ PKD_IMAGE Image
    );

//
// The address of what an image exports under a name; 0: nothing, or the
// directory is not there.
//

ULONGLONG
KdImageFindExport(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_IMAGE *Image,
    _In_z_ PCSZ Name
    );

//
// A section's range of addresses, image-relative, if it is for variables.
// FALSE: there are no more sections.  SizeInBytes 0: it is not.
//

_Success_(return != FALSE)
BOOLEAN
KdImageGetDataSection(
    _Inout_ PKD_CONTEXT Context,
    _In_ const KD_IMAGE *Image,
    _In_ ULONG Index,
    _Out_ PULONG Rva,
    _Out_ PULONG SizeInBytes
    );

#endif // TRACER_KD_IMAGE_H
