/*++

Module Name:

    RtlLog.h

Abstract:

    What sessions are called and how a line of their logs begins: said once for
    the programs that are traced and for those that collect from elsewhere.

--*/

#ifndef TRACER_RTL_LOG_H
#define TRACER_RTL_LOG_H

#include "Rtl.h"

//
// The room that a session's name needs behind the program's, in characters.
//

#define RTL_SESSION_SUFFIX_CHARS    64

//
// Makes the name of a session's directory, "game.exe-4711-20261120-101500-123":
// the program, and the process that writes, which is the caller, with its
// creation time, UTC.  A program's name that is too long is cut.
// CapacityInChars: of Buffer, more than RTL_SESSION_SUFFIX_CHARS.
// Name: points into Buffer, which is not terminated.
//

VOID
RtlMakeSessionName(
    _In_ PCUNICODE_STRING Program,
    _In_ ULONGLONG CreationTime,
    _Out_writes_(CapacityInChars) PWCHAR Buffer,
    _In_ ULONG CapacityInChars,
    _Out_ PUNICODE_STRING Name
    );

//
// Writes what a line of a log begins with: the time, UTC, the module, and the
// process and thread of the caller: "...Z Tracer: game.exe (process 4711,
// thread 4712): ".
//

VOID
RtlWriteLogHead(
    _In_ PCRTL Rtl,
    _Inout_ PRTL_WRITER Writer,
    _In_ PCUNICODE_STRING Module
    );

#endif // TRACER_RTL_LOG_H
