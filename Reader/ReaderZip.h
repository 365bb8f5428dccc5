/*++

Module Name:

    ReaderZip.h

Abstract:

    Writes a ZIP file whose entries are stored as they are (PKWARE's
    APPNOTE.TXT 6.3: method 0, CRC-32, Zip64 where a number needs it, names in
    UTF-8).  An entry's parts may be written in any order.

--*/

#ifndef TRACER_READER_ZIP_H
#define TRACER_READER_ZIP_H

#include "Reader.h"

#define READER_ZIP_MAXIMUM_NAME 0xFFFFu     // bytes

typedef struct _READER_ZIP_ENTRY {
    ULONGLONG Offset;               // of its local header
    ULONGLONG SizeInBytes;
    ULONG Crc;
    ULONG Name;                     // offset among the names
    ULONG NameLength;               // bytes
    ULONG Unused;
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
    PULONG Tables;                  // of the CRC, 8 of 256 each
    PUCHAR Buffer;
    ULONGLONG EndOfEntries;         // file offset; the data of the entry that
                                    // is open begin there
    ULONGLONG NumberWritten;        // bytes of that entry, from its start on,
                                    // that are in Crc
    ULONG Crc;
    BOOLEAN IsScattered;            // its parts did not come in their order
    USHORT Time;                    // of all entries, as DOS has it
    USHORT Date;
} READER_ZIP;
typedef READER_ZIP *PREADER_ZIP;

//
// Begins a file, which is open for reading and writing, and empty.  SystemTime
// is what all entries are dated.  After a failure, too, the structure is good
// for ReaderRundownZip.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_ZIP)(
    _Out_ PREADER_ZIP Zip,
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE File,
    _In_ ULONGLONG SystemTime
    );
READER_INITIALIZE_ZIP ReaderInitializeZip;

typedef VOID (READER_RUNDOWN_ZIP)(_Inout_ PREADER_ZIP Zip);
READER_RUNDOWN_ZIP ReaderRundownZip;

//
// Begins an entry of a size that is known, whose name has slashes.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_BEGIN_ZIP_ENTRY)(
    _Inout_ PREADER_ZIP Zip,
    _In_reads_bytes_(NameLength) const CHAR *Name,
    _In_ ULONG NameLength,
    _In_ ULONGLONG SizeInBytes
    );
READER_BEGIN_ZIP_ENTRY ReaderBeginZipEntry;

//
// Writes a part of the entry; what is never written is zero.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_WRITE_ZIP_ENTRY)(
    _Inout_ PREADER_ZIP Zip,
    _In_ ULONGLONG Offset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );
READER_WRITE_ZIP_ENTRY ReaderWriteZipEntry;

typedef
_Must_inspect_result_
NTSTATUS
(READER_END_ZIP_ENTRY)(
    _Inout_ PREADER_ZIP Zip
    );
READER_END_ZIP_ENTRY ReaderEndZipEntry;

//
// Writes the directory, which ends the file.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_END_ZIP)(
    _Inout_ PREADER_ZIP Zip
    );
READER_END_ZIP ReaderEndZip;

#endif // TRACER_READER_ZIP_H
