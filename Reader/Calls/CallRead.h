/*++

Module Name:

    CallRead.h

Abstract:

    The one walk over a thread's calls: open, skip to the range, begin the
    frames that are open there, take the ordinary calls by the fast way and
    the others event by event, and then the thread's trees.

--*/

#ifndef TRACER_CALL_READ_H
#define TRACER_CALL_READ_H

#include "CallSiteTable.h"

//
// Takes a frame that was open when the range began, the outermost of a stack
// first.  Its Function is the index in the table of functions; the routine
// gives it what the others of the tally have.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_OPEN)(
    _In_ PVOID Context,
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONG Track,
    _In_ ULONG Depth,
    _Inout_ PCORE_FRAME Frame
    );
typedef READER_VISIT_OPEN *PREADER_VISIT_OPEN;

//
// Takes an event that the fast way has left.  For an entry the tally's
// LastIndex is that of its function.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_EVENT)(
    _In_ PVOID Context,
    _Inout_ PREADER_STREAM Stream,
    _In_ const CORE_EVENT *Event
    );
typedef READER_VISIT_EVENT *PREADER_VISIT_EVENT;

//
// Takes the trees of a thread that was read to its end; the tally's lock is
// held.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_THREAD)(
    _In_ PVOID Context,
    _In_ ULONG Thread
    );
typedef READER_VISIT_THREAD *PREADER_VISIT_THREAD;

typedef struct _READER_VISITOR {
    PREADER_VISIT_OPEN Open;
    PREADER_VISIT_EVENT Event;
    PREADER_VISIT_THREAD Trees;     // or NULL
} READER_VISITOR;
typedef const READER_VISITOR *PCREADER_VISITOR;

//
// Reads a thread to its end, or to that of the range.  What a routine fails
// with ends the thread.
// Tally: whose sites are used; with a range, its Before is there too.  One
// tally's threads come in ascending order.
// Context: the routines'.
//

_Must_inspect_result_
NTSTATUS
CallReadThread(
    _Inout_ PREADER_TALLY Tally,
    _In_ ULONG ThreadIndex,
    _In_ PCREADER_VISITOR Visitor,
    _In_ PVOID Context
    );

#endif // TRACER_CALL_READ_H
