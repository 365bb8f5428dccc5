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
