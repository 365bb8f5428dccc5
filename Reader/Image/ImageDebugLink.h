/*++

Module Name:

    ImageDebugLink.h

Abstract:

    The file that holds an image's debugging information apart from it, as
    "objcopy --only-keep-debug" makes it: the image names it, and a checksum
    of all its bytes, in the section .gnu_debuglink.

    The code is pure C over bytes and also builds natively.

--*/

#ifndef TRACER_IMAGE_DEBUG_LINK_H
#define TRACER_IMAGE_DEBUG_LINK_H

#include "ImageCoff.h"

#define READER_DEBUG_LINK_MAXIMUM_NAME 255

typedef struct _READER_DEBUG_LINK {
    ULONG Checksum;
    ULONG NameLength;               // bytes; 0: there is no such file
    CHAR Name[READER_DEBUG_LINK_MAXIMUM_NAME + 1];
} READER_DEBUG_LINK;
typedef READER_DEBUG_LINK *PREADER_DEBUG_LINK;
typedef const READER_DEBUG_LINK *PCREADER_DEBUG_LINK;

//
// Reads what the image whose file is at Image, and whose tables are Coff,
// says. A name that is not that of a file alone (it has a folder, a drive or a
// stream) counts as none. A terminated name, then, at the next multiple of
// four, the checksum.
//

VOID
ImageFindDebugLink(
    _In_ PCREADER_COFF Coff,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PREADER_DEBUG_LINK Link
    );

//
// The checksum of a file: CRC-32, as in Ethernet and ZIP.
//

ULONG
ImageChecksumDebugFile(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONGLONG SizeInBytes
    );

//
// Says whether two files are of one build: they have the same base and the
// same code.
// DebugFile: the tables of the file with debugging information.
// Image: those of the image.
//

BOOLEAN
ImageIsDebugFileOf(
    _In_ PCREADER_COFF DebugFile,
    _In_ PCREADER_COFF Image
    );

#endif // TRACER_IMAGE_DEBUG_LINK_H
