/*++

Module Name:

    TraceControlFile.h

Abstract:

    The control file of a session as a file.  What is in it is only touched here
    and by means of this; whatever its pages are, nothing here raises an
    exception.

--*/

#ifndef TRACER_TRACE_CONTROL_FILE_H
#define TRACER_TRACE_CONTROL_FILE_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// No number of places is larger.
//

#define TRACE_CONTROL_MAXIMUM   0xFFFF0000u

//
// No more places than this are taken to have been claimed since the last look.
//

#define TRACE_CONTROL_AHEAD     0x00100000

//
// TraceControlCount finds how many places have been claimed, of which Seen are
// known; TraceControlReadKind tells what is in one, and TraceControlRead copies
// it, its text no longer than its room.  FALSE: it cannot be read.
//

BOOLEAN
TraceControlCount(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Seen,
    _Out_ PULONG Count
    );

//
// Reads what an action is.
// Index: the action's number.
// Kind: it; TRACE_ACTION_NONE where the file is not that long.
// Returns FALSE if the file cannot be read.
//

BOOLEAN
TraceControlReadKind(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Index,
    _Out_ PULONG Kind
    );

//
// Copies an action.
// Index: the action's number.
// Action: the copy; TextLength is no more than Text has.
// Returns FALSE if it cannot be read.
//

BOOLEAN
TraceControlRead(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Index,
    _Out_ PTRACE_CONTROL_ACTION Action
    );

//
// Gives up a place that somebody has claimed and not filled.
// Index: the action's number.
//

VOID
TraceControlGiveUp(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Index
    );

//
// Says in the file how many actions this instance has seen.
//

VOID
TraceControlAnswer(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Seen,
    _In_ ULONG State
    );

//
// Gives the file up, and says so once.
//

VOID
TraceControlFail(
    _Inout_ PTRACE_SESSION Session,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status
    );

//
// May a module, by its base address, have hooks that record?  Without a control
// file nobody knows: then it may.
//

BOOLEAN
TraceControlIsTraced(
    _In_ PTRACE_SESSION Session,
    _In_ ULONGLONG ModuleBase
    );

//
// Raises a number of the session that never falls.
// Number: the number, in the library's own memory.
// Value: what it is to be at least.
//

VOID
TraceControlRaise(
    _Inout_ LONG volatile *Number,
    _In_ ULONG Value
    );

//
// Reads a field; FALSE if its page is not there.
//

BOOLEAN
TraceControlFetch(
    _Out_ PULONG Value,
    _In_ ULONG volatile *Place
    );

//
// Compares and exchanges a field; likewise.
//

BOOLEAN
TraceControlSwap(
    _Inout_ LONG volatile *Place,
    _In_ LONG New,
    _In_ LONG Old,
    _Out_ PLONG Found
    );

BOOLEAN
TraceControlSwap64(
    _Inout_ LONGLONG volatile *Place,
    _In_ LONGLONG New,
    _In_ LONGLONG Old,
    _Out_ PLONGLONG Found
    );

//
// Copies to the file, or from it; likewise.
//

BOOLEAN
TraceControlCopy(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_reads_bytes_(SizeInBytes) const VOID *Source,
    _In_ SIZE_T SizeInBytes
    );

//
// Maps a piece of the file, which grows if it is not as long.
//

PVOID
TraceControlMapView(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONGLONG FileOffset,
    _In_ ULONGLONG SizeInBytes,
    _Out_ PNTSTATUS StatusPointer
    );

//
// Finds an action's place.
//

NTSTATUS
TraceControlFind(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Index,
    _In_ BOOLEAN MayGrow,
    _Out_ PTRACE_CONTROL_ACTION *Action
    );

//
// Says something about the control file in the log.
//

VOID
TraceControlReport(
    _Inout_ PTRACE_SESSION Session,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status,
    _In_z_ PCSZ Consequence
    );

#endif // TRACER_TRACE_CONTROL_FILE_H
