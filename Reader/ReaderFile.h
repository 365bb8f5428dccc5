/*++

Module Name:

    ReaderFile.h

Abstract:

    Files that commands write.  What is written goes to NAME.tmp, which takes
    the place of NAME when it is complete: whoever opens NAME finds all of it,
    or what was there before.

--*/

#ifndef TRACER_READER_FILE_H
#define TRACER_READER_FILE_H

#include "Reader.h"

typedef struct _READER_FILE {
    PCREADER_CONTEXT Context;
    PCSZ Name;                      // UTF-8, for messages
    HANDLE Handle;                  // NULL: there is nothing to close
    PVOID Memory;
    UNICODE_STRING Path;            // NT path
    UNICODE_STRING TemporaryPath;   // NT path
    RTL_WRITER Writer;
} READER_FILE;
typedef READER_FILE *PREADER_FILE;

//
// Creates NAME.tmp, or empties it.  FALSE: the failure has been written and
// there is nothing to close.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_CREATE_FILE)(
    _Out_ PREADER_FILE File,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ NameUtf8
    );
READER_CREATE_FILE ReaderCreateFile;

//
// How many bytes have been written.
//

#define READER_FILE_SIZE(File)                                              \
    ((File)->Writer.FileOffset + (File)->Writer.LengthInBytes)

//
// Closes the file and gives it its name.  With IsComplete FALSE, or when
// something could not be written, it is deleted instead, and NAME stays as it
// was.  Returns READER_EXIT_*; a failure has been written.
//

typedef
ULONG
(READER_CLOSE_FILE)(
    _Inout_ PREADER_FILE File,
    _In_ BOOLEAN IsComplete
    );
READER_CLOSE_FILE ReaderCloseFile;

//
// What the above is made of, for paths of NT.  A temporary file is created, or
// emptied; whoever else has it open for writing keeps it.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_OPEN_TEMPORARY_FILE)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PHANDLE Handle
    );
READER_OPEN_TEMPORARY_FILE ReaderOpenTemporaryFile;

//
// Gives an open file its name.  STATUS_OBJECT_NAME_COLLISION: there is one of
// that name, which is not to be replaced.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_RENAME_FILE)(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Handle,
    _In_ PCUNICODE_STRING NtPath,
    _In_ BOOLEAN IsReplacing
    );
READER_RENAME_FILE ReaderRenameFile;

//
// Deletes an open file, once it is closed.
//

typedef
VOID
(READER_REMOVE_FILE)(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Handle
    );
READER_REMOVE_FILE ReaderRemoveFile;

#endif // TRACER_READER_FILE_H
