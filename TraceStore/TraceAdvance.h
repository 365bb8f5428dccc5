/*++

Module Name:

    TraceAdvance.h

Abstract:

    The hook gets room; where the next view lies, and how large it is.

--*/

#ifndef TRACER_TRACE_ADVANCE_H
#define TRACER_TRACE_ADVANCE_H

#include "../Rtl/RtlTypes.h"
#include "TraceTypes.h"

//
// Makes room for the hook, which found the cursor at the store's limit: raises
// the limit to what has been prepared, prepares a few pages if nothing has, or
// moves on to the next view. Afterwards there is room for at least one record,
// or the store is stopped.
//
// Store: the store of the calling thread, its owner.
//

VOID
TraceStoreAdvance(
    _Inout_ PTRACE_STORE Store
    );

//
// Computes the size of the view that follows: what the file has already, so
// that sizes double at most, but no more than the thread is likely to need in
// a while, nor than the maximum.
//
// FileSizeInBytes: the size of the file, the end of the last view.
// MaximumViewSize: the largest size that a view may have.
// DemandInBytes: what the thread needs for as long as a view is to last.
// Returns the size in bytes, a power of two, TRACE_VIEW_MINIMUM_SIZE or more.
//

ULONGLONG
TraceAdvanceNextSize(
    _In_ ULONGLONG FileSizeInBytes,
    _In_ ULONGLONG MaximumViewSize,
    _In_ ULONGLONG DemandInBytes
    );

//
// Says whether preparing a view has taken longer than it does when there is
// memory for its pages.
// Ticks: a time in ticks of the time stamp counter.
// Microseconds: the same time.
// Returns TRUE or FALSE.
//

BOOLEAN
TraceAdvanceIsSlow(
    _In_ PCTRACE_VIEW View,
    _In_ ULONGLONG Ticks,
    _In_ ULONGLONG Microseconds
    );

//
// Decides where the view that follows lies, and how large it is. In a ring
// this is where the store wraps, and where what the view overwrites is given
// up. The work lock is held.
//
// View: position, FileOffset and SizeInBytes.
// STATUS_QUOTA_EXCEEDED: the store may not grow any more.
//

_Must_inspect_result_
NTSTATUS
TraceAdvancePlaceNext(
    _Inout_ PTRACE_STORE Store,
    _Inout_ PTRACE_VIEW View
    );

//
// Notes that the file has been extended to the end of the next view.
// Store: the store. The work lock is held.
//

VOID
TraceAdvanceGrow(
    _Inout_ PTRACE_STORE Store
    );

#endif // TRACER_TRACE_ADVANCE_H
