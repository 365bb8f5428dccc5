/*++

Module Name:

    SessionCopy.h

Abstract:

    A session's files are read to be copied: by pack, ctl snapshot and recover.

--*/

#ifndef TRACER_SESSION_COPY_H
#define TRACER_SESSION_COPY_H

#include "Session.h"
#include "SessionStore.h"

//
// What a file of a session's directory is by its name, in either case.
//

typedef enum _READER_FILE_KIND {
    ReaderFileOther = 0,
    ReaderFileLog,                  // *.log
    ReaderFileCache,                // symbols.cache
    ReaderFileControl,              // session.control
    ReaderFileExit,                 // session.exit
    ReaderFileImports               // session.imports
} READER_FILE_KIND;

READER_FILE_KIND
SessionQueryFileKind(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Name
    );

//
// Opens a file of the session for reading.  Name is relative to the session's
// directory; if the session is one store, the store is opened instead.
//
//     File           the handle, or NULL
//     SizeInBytes    0 on failure
//

_Must_inspect_result_
NTSTATUS
SessionOpenFile(
    _Inout_ PREADER_SESSION Session,
    _In_ PCUNICODE_STRING Name,
    _Out_ PHANDLE File,
    _Out_ PULONGLONG SizeInBytes
    );

//
// Takes bytes of a file.  A failure ends the copy.
//

typedef
NTSTATUS
(READER_COPY_ROUTINE)(
    _In_ PVOID Target,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );
typedef READER_COPY_ROUTINE *PREADER_COPY_ROUTINE;

//
// Reads a part of a file and gives it away, in order.  Start and End are file
// offsets; a file that ends sooner is no failure.
//
//     Buffer         room for SizeInBytes
//     WriteStatus    what Routine returned last, or STATUS_SUCCESS
//
// Pieces are of whole records, counted from Start, if SizeInBytes is; only the
// last one may not be.
//
// Returns what reading gave.
//

_Must_inspect_result_
NTSTATUS
SessionCopyPart(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Source,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _Out_writes_bytes_(SizeInBytes) PVOID Buffer,
    _In_ ULONG SizeInBytes,
    _In_ PREADER_COPY_ROUTINE Routine,
    _In_ PVOID Target,
    _Out_ NTSTATUS *WriteStatus
    );

//
// The routine whose target is a file: the same place in it.
//

typedef struct _READER_COPY_FILE {
    PCREADER_CONTEXT Context;
    HANDLE File;
    BOOLEAN IsSparse;               // what is all zeroes is not written; the
                                    // file has its size, and zeroes
} READER_COPY_FILE;
typedef READER_COPY_FILE *PREADER_COPY_FILE;

NTSTATUS
SessionCopyToFile(
    _In_ PVOID Target,
    _In_ ULONGLONG FileOffset,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ ULONG SizeInBytes
    );

//
// Takes records of a store.  Position is that of the first of them; it may be
// anywhere behind the last ones, where a ring was faster: then they begin there
// now.  Else a block is not good that is in between.
//

typedef
NTSTATUS
(READER_RECORDS_ROUTINE)(
    _In_ PVOID Target,
    _In_ ULONGLONG Position,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    );
typedef READER_RECORDS_ROUTINE *PREADER_RECORDS_ROUTINE;

//
// Reads the records that a store has now, from the oldest on, and gives them
// away.  Of a ring those come next that are still there.  Parameters and
// results as of SessionCopyPart; STATUS_END_OF_FILE: the file has not all of
// them.
//

_Must_inspect_result_
NTSTATUS
SessionCopyRecords(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _Out_writes_bytes_(SizeInBytes) PVOID Buffer,
    _In_ ULONG SizeInBytes,
    _In_ PREADER_RECORDS_ROUTINE Routine,
    _In_ PVOID Target,
    _Out_ NTSTATUS *WriteStatus
    );

//
// Has the header of a copy say that its records lie one behind the other,
// directly behind it, and that nobody writes any more.  It is not compact.
// End: where the records end, in the file.
//

VOID
SessionStraightenHeader(
    _Inout_ PTRACE_STORE_HEADER Header,
    _In_ ULONGLONG End
    );

#endif // TRACER_SESSION_COPY_H
