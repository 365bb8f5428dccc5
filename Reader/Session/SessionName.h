/*++

Module Name:

    SessionName.h

Abstract:

    The names of the files in a session's directory.

--*/

#ifndef TRACER_SESSION_NAME_H
#define TRACER_SESSION_NAME_H

#include "Session.h"

//
// Makes the name of a file in the session's directory.
// Session: the session; VisitedDirectory has the file.
// Name: the file's own name.
// Buffer: room for the result.
// Composed: the result, which lies in Buffer.
// Returns STATUS_SUCCESS or STATUS_NAME_TOO_LONG.
//

_Must_inspect_result_
NTSTATUS
SessionComposeName(
    _In_ const READER_SESSION *Session,
    _In_ PCUNICODE_STRING Name,
    _Out_writes_(READER_MAXIMUM_NAME_IN_CHARS) PWCHAR Buffer,
    _Out_ PUNICODE_STRING Composed
    );

//
// A file system may be somebody else's, and give names that lead elsewhere.
// Whether an entry of a session's directory is looked at: FALSE for a name
// that is not plain (RtlIsPlainName). The first one is named in a warning.
//

BOOLEAN
SessionAdmitName(
    _Inout_ PREADER_SESSION Session,
    _In_ PCUNICODE_STRING Name
    );

//
// Copies the name of a directory in the session's.
// Name: the name; empty for the session's own, of which nothing is allocated.
// Copy: its buffer is the caller's to free; untouched after a failure.
// Returns STATUS_SUCCESS or STATUS_NO_MEMORY.
//

_Must_inspect_result_
NTSTATUS
SessionNameCopy(
    _In_ PCALLOCATOR Allocator,
    _In_ PCUNICODE_STRING Name,
    _Out_ PUNICODE_STRING Copy
    );

//
// Finds where the name of a process's or a module's image begins.
// Path: the image's path.
// Returns how many bytes its folders are.
//

ULONG
SessionSkipFolders(
    _In_reads_bytes_(LengthInBytes) const CHAR *Path,
    _In_ ULONG LengthInBytes
    );

//
// Does a file's name end with a text, in either case?  Text is in upper case.
//

BOOLEAN
SessionEndsWith(
    _In_ PCRTL Rtl,
    _In_ PCUNICODE_STRING Name,
    _In_reads_(LengthInChars) PCWSTR Text,
    _In_ ULONG LengthInChars
    );

#endif // TRACER_SESSION_NAME_H
