/*++

Module Name:

    SessionAccess.h

Abstract:

    What is read from a view of a file that another process may be writing, or
    cut off.

--*/

#ifndef TRACER_SESSION_ACCESS_H
#define TRACER_SESSION_ACCESS_H

#include "../Core/CoreLive.h"

typedef enum _READER_ACCESS {
    ReaderAccessBytes = 0,
    ReaderAccessRecords,
    ReaderAccessTail,
    ReaderAccessFirst,              // where a header says that records begin
    ReaderAccessBlocks,             // where it says that blocks are
    ReaderAccessNodes,
    ReaderAccessFrames,
    ReaderAccessEnd                 // where it says that records end
} READER_ACCESS;

//
// Reads from a view, whatever state its pages are in.
//
// Source: a header where Access says so.
// Destination: bytes, records, nodes or frames, the start or end of records,
// or a CORE_BLOCKS.
// Count: of bytes, records, nodes or frames.
//
//     STATUS_IN_PAGE_ERROR (the page cannot be had), STATUS_RETRY (the writer
//     was not found at rest)
//

_Must_inspect_result_
NTSTATUS
SessionAccessGuarded(
    _In_ READER_ACCESS Access,
    _In_ const VOID *Source,
    _Out_ PVOID Destination,
    _In_ ULONG Count
    );

#endif // TRACER_SESSION_ACCESS_H
