/*++

Module Name:

    SessionAccess.c

Abstract:

    What is read from a view of a file, under a guard: a page that cannot be
    had is an error of the store, not of this program.

--*/

#include "../../Rtl/Rtl.h"
#include "../Core/CoreTree.h"
#include "SessionAccess.h"

//
// Reads from a view. This is a call of its own because a compiler may see no
// exception in a plain access.
// Destination: bytes, records, or the start or end of records.
// Count: of bytes, records, nodes or frames.
// Returns FALSE if the writer was not found at rest.
//

__declspec(noinline)
static
BOOLEAN
SessionAccessView(
    _In_ READER_ACCESS Access,
    _In_ const VOID *Source,
    _Out_ PVOID Destination,
    _In_ ULONG Count
    )
{
    switch (Access) {

    case ReaderAccessBytes:
        RtlCopyBytes(Destination, Source, Count);
        return TRUE;

    case ReaderAccessRecords:
        CoreCopyRecords((PTRACE_RECORD)Destination,
                        (PCTRACE_RECORD)Source,
                        Count);
        return TRUE;

    case ReaderAccessTail:
        CoreCopyTail((PTRACE_RECORD)Destination,
                     (PCTRACE_RECORD)Source,
                     Count);
        return TRUE;

    case ReaderAccessNodes:
        CoreCopyWords((uint64_t *)Destination,
                      (const uint64_t *)Source,
                      Count,
                      TRACE_NODE_SIZE / sizeof(uint64_t));
        return TRUE;

    case ReaderAccessFrames:
        CoreCopyWords((uint64_t *)Destination,
                      (const uint64_t *)Source,
                      Count,
                      TRACE_FRAME_SIZE / sizeof(uint64_t));
        return TRUE;

    case ReaderAccessFirst:
        *(PULONGLONG)Destination =
            CoreReadFirstRecord((PCTRACE_STORE_HEADER)Source);
        return TRUE;

    case ReaderAccessBlocks:
        CoreReadBlocks((PCTRACE_STORE_HEADER)Source,
                       (PCORE_BLOCKS)Destination);
        return TRUE;

    default:
        return CoreReadEndOfRecords((PCTRACE_STORE_HEADER)Source,
                                    (PULONGLONG)Destination);
    }
}


//
// Decides which exceptions are a page's.
// Code: the exception code. (Wine reports a page past the end of a file that
// was cut off as a misaligned access.)
// Returns EXCEPTION_EXECUTE_HANDLER or EXCEPTION_CONTINUE_SEARCH.
//

static
LONG
SessionFilterException(
    _In_ ULONG Code
    )
{
    if (Code == (ULONG)STATUS_IN_PAGE_ERROR ||
        Code == (ULONG)STATUS_ACCESS_VIOLATION ||
        Code == (ULONG)STATUS_DATATYPE_MISALIGNMENT) {
        return EXCEPTION_EXECUTE_HANDLER;
    }

    return EXCEPTION_CONTINUE_SEARCH;
}


_Use_decl_annotations_
NTSTATUS
SessionAccessGuarded(
    READER_ACCESS Access,
    const VOID *Source,
    PVOID Destination,
    ULONG Count
    )
{
    NTSTATUS Status = STATUS_RETRY;

    __try {
        if (SessionAccessView(Access, Source, Destination, Count)) {
            Status = STATUS_SUCCESS;
        }
    } __except (SessionFilterException(GetExceptionCode())) {
        Status = STATUS_IN_PAGE_ERROR;
    }

    return Status;
}
