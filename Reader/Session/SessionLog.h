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
// Writes the lines of the logs in a directory, each behind Indent.  What cannot
// be read has no lines.
// Directory: a DOS path.
// Suffix: what a log's name ends with, in upper case.
// Writer: NULL: they are only counted.
// Most: how many are written; what there is more is said in a line.
// Returns how many lines there are.
//

ULONG
SessionWriteLogs(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Directory,
    _In_z_ PCWSTR Suffix,
    _Inout_opt_ PRTL_WRITER Writer,
    _In_z_ PCSZ Indent,
    _In_ ULONG Most
    );

#endif // TRACER_SESSION_LOG_H
