/*++

Module Name:

    BaseFile.h

Abstract:

    Files that commands write.  What is written goes to NAME.tmp, which takes
    the place of NAME when it is complete: whoever opens NAME finds all of it,
    or what was there before.

--*/

#ifndef TRACER_BASE_FILE_H
#define TRACER_BASE_FILE_H

#include "../../StringTable/StringTable.h"
#include "BaseContext.h"
#include "BaseGzip.h"

//
// Makes a path of NT of a DOS path.
// NtPath: is given memory, which the caller frees (Buffer); NULL after a
// failure.
// Returns STATUS_NO_MEMORY, STATUS_NAME_TOO_LONG, or why it is no path.
//

_Must_inspect_result_
NTSTATUS
BaseMakeNtPath(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _Out_ PUNICODE_STRING NtPath
    );

//
// Makes a path that users write of a path of NT, in its memory: one with a
// server in it is changed.
//

VOID
BaseMakeDosPath(
    _In_ PCUNICODE_STRING NtPath,
    _Out_ PUNICODE_STRING Path
    );

typedef struct _READER_FILE {
    PCREADER_CONTEXT Context;
    PCSZ Name;                      // UTF-8, for messages
    HANDLE Handle;                  // NULL: there is nothing to close
    PVOID Memory;
    UNICODE_STRING Path;            // NT path
    UNICODE_STRING TemporaryPath;   // NT path
    RTL_WRITER Writer;
    PREADER_GZIP Gzip;              // NULL: the file is not compressed
} READER_FILE;
typedef READER_FILE *PREADER_FILE;

//
// Creates NAME.tmp, or empties it. FALSE: the failure has been written and
// there is nothing to close. Creates a file under its temporary name.
// NameUtf8: the same, for messages; must outlive the file.
// IsCompressed: whether it is a gzip file of what is written.
//

_Success_(return != FALSE)
BOOLEAN
BaseCreateFile(
    _Out_ PREADER_FILE File,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Name,
    _In_z_ PCSZ NameUtf8,
    _In_ BOOLEAN IsCompressed
    );

//
// Reads a whole file that a user has named, with a NUL behind it.
//
//     STATUS_FILE_TOO_LARGE, or what failed
//
// Bytes: is given memory, which the caller frees; NULL after a failure.
//

_Must_inspect_result_
NTSTATUS
BaseReadFile(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Name,
    _In_ ULONG MaximumBytes,
    _Outptr_result_maybenull_ PVOID *Bytes,
    _Out_ PULONG SizeInBytes
    );

//
// How many bytes have been written, before they are compressed.
//

#define READER_FILE_SIZE(File)                                              \
    ((File)->Writer.FileOffset + (File)->Writer.LengthInBytes)

//
// Closes the file and gives it its name.  With IsComplete FALSE, or when
// something could not be written, it is deleted instead, and NAME stays as it
// was.  Returns READER_EXIT_*; a failure has been written.
//

ULONG
BaseCloseFile(
    _Inout_ PREADER_FILE File,
    _In_ BOOLEAN IsComplete
    );

//
// Creates a file that will be renamed, or empties it; whoever else has it open
// for writing keeps it. Of this the above is made, for paths of NT.
//
// IsPrivate: it is the user's alone, as what belongs to a session or to the
// cache; otherwise whoever may read what its folder has may read it.
// Handle: the handle, or NULL.
//

_Must_inspect_result_
NTSTATUS
BaseOpenTemporaryFile(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath,
    _In_ BOOLEAN IsPrivate,
    _Out_ PHANDLE Handle
    );

//
// Gives an open file its name.  STATUS_OBJECT_NAME_COLLISION: there is one of
// that name, which is not to be replaced.
// NtPath: its name, in the same folder.
// IsReplacing: whether in place of what has it.
//

_Must_inspect_result_
NTSTATUS
BaseRenameFile(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Handle,
    _In_ PCUNICODE_STRING NtPath,
    _In_ BOOLEAN IsReplacing
    );

//
// Deletes an open file, once it is closed.
//

VOID
BaseRemoveFile(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Handle
    );

//
// The same of a file or an empty directory, with what came of it; IsDeleted
// FALSE takes it back while the handle is open.
//

_Must_inspect_result_
NTSTATUS
BaseMarkFile(
    _In_ PCREADER_CONTEXT Context,
    _In_ HANDLE Handle,
    _In_ BOOLEAN IsDeleted
    );

#endif // TRACER_BASE_FILE_H
