/*++

Module Name:

    ViewPrivate.h

Abstract:

    What the sources of the view share.

--*/

#ifndef TRACER_VIEW_PRIVATE_H
#define TRACER_VIEW_PRIVATE_H

#include "View.h"

//
// How many records a thread has, as far as they are there.
//

ULONGLONG
ViewCountRecords(
    _In_ const READER_VIEW *View,
    _In_ ULONG Thread
    );

//
// Finds the row of a depth on a stack, and adds it if it is not there.
//

_Must_inspect_result_
NTSTATUS
ViewFindRow(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_VIEW_THREAD Thread,
    _In_ ULONG Track,
    _In_ ULONG Depth,
    _Out_ PULONG Row
    );

//
// Which module called an import, by the stub that a site is in: as in
// READER_BOX.
//

USHORT
ViewFindCaller(
    _Inout_ PREADER_VIEW View,
    _In_ ULONGLONG Site
    );

//
// Makes the box of a call.
//

VOID
ViewFillBox(
    _Inout_ PREADER_VIEW View,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG Stop,
    _In_ ULONGLONG Site,
    _In_ ULONG Function,
    _In_ ULONG Flags,
    _Out_ PREADER_BOX Box
    );

//
// Makes the box of a call that has ended; FALSE: the event is none's.
// Tally: the one whose index the frame's Function is; NULL: it is the one in
// the table of functions.
//

_Success_(return != FALSE)
BOOLEAN
ViewMakeBox(
    _Inout_ PREADER_VIEW View,
    _In_opt_ const READER_TALLY *Tally,
    _In_ const CORE_EVENT *Event,
    _Out_ PREADER_BOX Box
    );

//
// Frees what there is of a thread.
//

VOID
ViewRundownThread(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_VIEW_THREAD Thread
    );

//
// Frees what ViewSum, ViewSumTree and ViewFindCalls have found.
//

VOID
ViewRundownSums(
    _Inout_ PREADER_VIEW View
    );

#endif // TRACER_VIEW_PRIVATE_H
