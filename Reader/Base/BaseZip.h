/*++

Module Name:

    BaseZip.h

Abstract:

    Writes a ZIP file whose entries are compressed (PKWARE's APPNOTE.TXT 6.3:
    method 8, CRC-32, Zip64 where a number needs it, names in UTF-8).

--*/

#ifndef TRACER_BASE_ZIP_H
#define TRACER_BASE_ZIP_H

#include "../../StringTable/StringTable.h"
#include "BaseContext.h"
#include "BaseCrc.h"
#include "BaseDeflate.h"

#define READER_ZIP_MAXIMUM_NAME 0xFFFFu     // bytes

typedef struct _READER_ZIP_ENTRY {
    ULONGLONG Offset;               // of its local header
    ULONGLONG SizeInBytes;
    ULONGLONG CompressedSize;       // bytes
    ULONG Crc;
    ULONG Name;                     // offset among the names
    ULONG NameLength;               // bytes
    BOOLEAN Is64;                   // its sizes are in Zip64 parts
} READER_ZIP_ENTRY;
typedef READER_ZIP_ENTRY *PREADER_ZIP_ENTRY;

typedef struct _READER_ZIP {
    PCREADER_CONTEXT Context;
    HANDLE File;                    // the caller's
    PREADER_ZIP_ENTRY Entries;
    ULONG NumberOfEntries;
    ULONG CapacityOfEntries;
    PCHAR Names;
    ULONG SizeOfNames;              // bytes
    ULONG CapacityOfNames;
    PREADER_DEFLATE Deflate;
    PUCHAR Buffer;
    ULONGLONG EndOfEntries;         // file offset; the data of the entry that
                                    // is open begin there
    ULONGLONG NumberWritten;        // bytes of that entry that are in Crc
    ULONGLONG CompressedSize;       // of these, so far
    ULONGLONG ScatteredOffset;      // of a scattered entry: where its bytes
                                    // are until it ends
    ULONG Crc;
    BOOLEAN IsScattered;            // its parts may come in any order
    USHORT Time;                    // of all entries, as DOS has it
    USHORT Date;
    READER_CRC_TABLES Tables;
} READER_ZIP;
typedef READER_ZIP *PREADER_ZIP;

//
// Begins a file, which is open for reading and writing, and empty.  SystemTime
// is what all entries are dated.  After a failure, too, the structure is good
// for BaseRundownZip.
//

_Must_inspect_result_
NTSTATUS
BaseInitializeZip(
    _Out_ PREADER_ZIP Zip,
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE File,
    _In_ ULONGLONG SystemTime
    );

//
// Frees what is kept of a file.
//

VOID
BaseRundownZip(
    _Inout_ PREADER_ZIP Zip
    );

//
// Begins an entry of a size that is known, whose name has slashes. Writes its
// local header, still without the CRC and the compressed size.
// Zip: the file, with no entry open.
// IsScattered: its parts may come in any order.  Until it ends it takes its
// whole size in the file, and is read again then.
//

_Must_inspect_result_
NTSTATUS
BaseBeginZipEntry(
    _Inout_ PREADER_ZIP Zip,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsScattered
    );

//
// Writes a part of the entry; what is never written is zero.
// Offset: where in the entry; the part ends inside it.
// STATUS_INVALID_PARAMETER: the parts of this entry have an order, and it lies
// before the end of the last one.
//

_Must_inspect_result_
NTSTATUS
BaseWriteZipEntry(
    _Inout_ PREADER_ZIP Zip,
    _In_ ULONGLONG Offset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Ends the entry that is open: what was not known goes into its local header.
// Zip: the file.
//

_Must_inspect_result_
NTSTATUS
BaseEndZipEntry(
    _Inout_ PREADER_ZIP Zip
    );

//
// Writes the directory, which ends the file.
// Zip: the file, with no entry open.
//

_Must_inspect_result_
NTSTATUS
BaseEndZip(
    _Inout_ PREADER_ZIP Zip
    );

#endif // TRACER_BASE_ZIP_H
