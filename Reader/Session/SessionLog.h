/*++

Module Name:

    SessionLog.h

Abstract:

    What the library said of a session: the lines of its logs.

--*/

#ifndef TRACER_SESSION_LOG_H
#define TRACER_SESSION_LOG_H

#include "../Base/BaseContext.h"
#include "../../Rtl/Rtl.h"

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
// Hands out the lines of the logs in a directory.  What cannot be read has no
// lines.
// NtPath: the directory's.
// Suffix: what a log's name ends with, in upper case.
//

VOID
SessionListLog(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath,
    _In_z_ PCWSTR Suffix,
    _In_ PREADER_LOG_ROUTINE Routine,
    _In_opt_ PVOID RoutineContext
    );

#endif // TRACER_SESSION_LOG_H
