/*++

Module Name:

    TraceView.h

Abstract:

    Views of a store's file: mapped, made present, unmapped.

--*/

#ifndef TRACER_TRACE_VIEW_H
#define TRACER_TRACE_VIEW_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// A view of this size or more is mapped at an address that agrees with its
// file offset modulo this: Linux file systems then map large pages, a tenth of
// the cost of 4 KiB ones.  Windows has no such rule and loses nothing by it.
//

#define TRACE_LARGE_PAGE_SIZE   0x200000        // 2 MiB

//
// Extends a store's file to the end of a view, unless it is that large, and
// maps the view. None of its pages is touched yet.
//
// FileSizeInBytes: the size that it has.
// View: FileOffset, a multiple of 64 KiB, and SizeInBytes. On success Base is
// set and nothing is prepared; on failure Base is NULL.
// Reason: on failure, the TRACE_REASON_*.
// Returns STATUS_SUCCESS, or the status of the call that failed:
// STATUS_DISK_FULL among others.
//

_Must_inspect_result_
NTSTATUS
TraceViewMap(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileSizeInBytes,
    _Inout_ PTRACE_VIEW View,
    _Out_ PULONG Reason
    );

//
// Makes the next pages of a view present, writable and empty: at most
// SizeInBytes of them and at most TRACE_ZEROS_SIZE.
//
// SizeInBytes: how much to prepare, a multiple of 4,096; less is done where
// the view ends.
// Returns STATUS_SUCCESS, NtWriteFile's status (STATUS_DISK_FULL), or the
// exception that the page raised: STATUS_IN_PAGE_ERROR where the disk is full
// or fails, STATUS_ACCESS_VIOLATION under Wine.
//

_Must_inspect_result_
NTSTATUS
TraceViewPrepare(
    _Inout_ PTRACE_SESSION Session,
    _In_ HANDLE File,
    _Inout_ PTRACE_VIEW View,
    _In_ ULONGLONG SizeInBytes
    );

//
// Gives back what a thread that was killed may have been mapping or unmapping.
// A store's known views, but for its first, are unmapped already. The worker,
// or the owner. What it left behind would keep the file from being cut.
//
// The store knows the addresses and the handles, but not whether the killed
// thread's last call was carried out. If it was to unmap or to close, the
// address or the handle may be somebody else's by now: a view of another
// module's store, say. So the system is asked which file lies there, and
// whether that is the one of the first view. The store's other views are
// unmapped already, and nobody else in the process writes this file; so a view
// of it at that address is the one that was left behind.
//
// A worker may also have been killed long after its call, while it waited for
// a lock that a killed owner has left taken.
//
// Store: the store. Nobody else uses it any more.
// If the system does not say, what was left behind stays.
//

VOID
TraceViewReclaim(
    _Inout_ PTRACE_STORE Store
    );

//
// Unmaps a full view. If the session's Flush is set it is written to the disk
// before that; a disk that does not take the pages keeps them in memory, and
// the system says so when it gives up.
// Base: the view; NULL is allowed.
//

VOID
TraceViewRetire(
    _In_ PTRACE_SESSION Session,
    _In_opt_ PVOID Base
    );

#endif // TRACER_TRACE_VIEW_H
