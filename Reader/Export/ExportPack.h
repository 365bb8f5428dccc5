/*++

Module Name:

    ExportPack.h

Abstract:

    A session as a pack (../Base/BasePack.h): the file that the command pack
    makes, and what a page for a browser has in it.

--*/

#ifndef TRACER_EXPORT_PACK_H
#define TRACER_EXPORT_PACK_H

#include "../Base/BasePackWrite.h"
#include "../Sums/SumRead.h"

typedef struct _READER_PACKING {
    PCREADER_CONTEXT Context;       // these are the caller's
    PCREADER_OPTIONS Options;
    PREADER_SESSION Session;        // open
    PREADER_FUNCTIONS Functions;    // of it
    PREADER_TEAM Team;
    HANDLE File;                    // empty, and open for writing
    BOOLEAN IsWithoutIndexes;
    ULONGLONG MaximumBytes;         // of the file; 0: as many as it takes
    READER_RANGE Range;             // from here on all zeroes at first: all
    READER_READING Reading;
    PREADER_PACK_WRITER Writer;
    PUCHAR Buffer;
    PCHAR Name;                     // of an entry, UTF-8
    ULONG FolderLength;             // bytes of it that all names begin with
    ULONG NumberOfLogs;
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOvertaken;      // records of rings
    ULONGLONG NumberOfNames;        // functions with a name
    PCSZ FailedStep;
} READER_PACKING;
typedef READER_PACKING *PREADER_PACKING;

//
// Writes all of the pack.  STATUS_FILE_TOO_LARGE: it would have more bytes than
// the caller wants.  What failed is in FailedStep.
//

_Must_inspect_result_
NTSTATUS
ExportWritePack(
    _Inout_ PREADER_PACKING Pack
    );

//
// Asks the images for everything that a reader of the session may ask: reads
// all records, and then looks for the source line of each site and of each
// function.  ExportWritePack does it.
//

_Must_inspect_result_
NTSTATUS
ExportAskForAll(
    _Inout_ PREADER_PACKING Pack
    );

//
// Frees what it holds.
//

VOID
ExportRundownPack(
    _Inout_ PREADER_PACKING Pack
    );

#endif // TRACER_EXPORT_PACK_H
