/*++

Module Name:

    SessionLog.h

Abstract:

    What the library said of a session: the lines of its logs.

--*/

#ifndef TRACER_SESSION_LOG_H
#define TRACER_SESSION_LOG_H

#include "../Output/OutputTable.h"
#include "Session.h"

//
// How much of a log tells whether it is one.
//

#define READER_LOG_HEAD 1024

//
// Is a file that is called *.log one that the library wrote?  Its first line
// names its module, and the file is called by that; it may be cut off anywhere.
//
// Name: the file's, without a directory.
// Head: its first READER_LOG_HEAD bytes, or all.
//

BOOLEAN
SessionIsLog(
    _In_ PCUNICODE_STRING Name,
    _In_reads_bytes_(LengthInBytes) const CHAR *Head,
    _In_ ULONG LengthInBytes
    );

//
// Takes a line, without its end.
//

typedef
VOID
(READER_LOG_ROUTINE)(
    _In_opt_ PVOID Context,
    _In_reads_bytes_(LengthInBytes) const CHAR *Line,
    _In_ ULONG LengthInBytes
    );
typedef READER_LOG_ROUTINE *PREADER_LOG_ROUTINE;

//
// Hands out the lines of the library's logs in a directory.  What cannot be
// read has no lines.
// Pack: that has the directory; NULL: it is the file system's.
// NtPath: the directory's.
// IsTemporary: it is the temporary directory: of the library's logs, which are
// named Tracer-MODULE-PID.log there, those whose name ends with Suffix.
// Suffix: what a log's name ends with, in upper case.
//

VOID
SessionListLog(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PREADER_PACK Pack,
    _In_ PCUNICODE_STRING NtPath,
    _In_ BOOLEAN IsTemporary,
    _In_z_ PCWSTR Suffix,
    _In_ PREADER_LOG_ROUTINE Routine,
    _In_opt_ PVOID RoutineContext
    );

//
// The same of all directories of a session, but for those that --process
// leaves out.
//

VOID
SessionListLogs(
    _In_ const READER_SESSION *Session,
    _In_ PREADER_LOG_ROUTINE Routine,
    _In_opt_ PVOID RoutineContext
    );

//
// Says that there are such lines, in text.
//

VOID
SessionPutLogNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    );

#endif // TRACER_SESSION_LOG_H
