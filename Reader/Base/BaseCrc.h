/*++

Module Name:

    BaseCrc.h

Abstract:

    The CRC-32 of ZIP and gzip (RFC 1952, section 8).

--*/

#ifndef TRACER_BASE_CRC_H
#define TRACER_BASE_CRC_H

#include "../../Rtl/Rtl.h"

#define READER_CRC_START 0xFFFFFFFFu

//
// Table n says what a byte does that has n more after it.
//

typedef struct _READER_CRC_TABLES {
    ULONG Table[8][256];
} READER_CRC_TABLES;
typedef READER_CRC_TABLES *PREADER_CRC_TABLES;
typedef const READER_CRC_TABLES *PCREADER_CRC_TABLES;

VOID
BaseMakeCrcTables(
    _Out_ PREADER_CRC_TABLES Tables
    );

//
// Adds bytes to a CRC.
// Crc: of what came before; READER_CRC_START at first.
// Returns the CRC; the complement of the last one is the result.
//

ULONG
BaseAddToCrc(
    _In_ PCREADER_CRC_TABLES Tables,
    _In_ ULONG Crc,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );

#endif // TRACER_BASE_CRC_H
