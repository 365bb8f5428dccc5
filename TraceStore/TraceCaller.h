/*++

Module Name:

    TraceCaller.h

Abstract:

    Who has called, and what is shown to be gone by that.

--*/

#ifndef TRACER_TRACE_CALLER_H
#define TRACER_TRACE_CALLER_H

#include "TraceWalk.h"

//
// Pairs of a function that is entered and a place that calls it, of which it is
// known that the place is in a function whose frame has one size and whose
// calls are recorded.  A pair is there as its key, at the place's low bits; any
// thread may write it.
//

#define TRACE_NUMBER_OF_PLACES  4096

#define TRACE_PLACE_KEY(Site, Place) \
    ((ULONGLONG)(Site) << 32 ^ (ULONGLONG)(Place))
#define TRACE_PLACE_INDEX(Place) \
    ((ULONG)(Place) & (TRACE_NUMBER_OF_PLACES - 1))

//
// What is known of functions with frame pointers, each at a place that its
// address gives: the address and, in the lowest bit, what TraceFixedFind says.
//

#define TRACE_NUMBER_OF_FIXED   4096

#define TRACE_FIXED_INDEX(Begin) \
    ((ULONG)((Begin) >> 4) & (TRACE_NUMBER_OF_FIXED - 1))

//
// Notes that a place calls a function, and that the function that it is in has
// a frame of one size and is recorded.
//

VOID
TraceCallerNotePlace(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG Site,
    _In_ ULONGLONG Place
    );

//
// May the function that the walk has gone out of last move RSP after its
// prolog?  Then what it calls from one place can have its return address now
// here and now there.
//

BOOLEAN
TraceCallerMoves(
    _In_ const TRACE_WALK *Walk
    );

//
// Looks who has called, before an entry, and ends the calls that are shown to
// be gone.
//

typedef
VOID
(TRACE_CALLER_CHECK)(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    );
TRACE_CALLER_CHECK TraceCallerCheckTree;

//
// The same where there are records: what has gone is said by a record of its
// own.
//

TRACE_CALLER_CHECK TraceCallerCheck;

//
// From now on callers are looked at, before TraceStoreAdvance is called.
//

VOID
TraceCallerArm(
    _Inout_ PTRACE_STORE Store
    );

//
// An exit at Stack: callers are looked at no longer if the calls are gone that
// what has armed the store has left.  Where the hook was jumped to, RSP is
// above what it was at the entry.
//

VOID
TraceCallerNoteExit(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Stack,
    _In_ BOOLEAN IsFunction,
    _In_ BOOLEAN IsJump
    );

//
// The same where there have been so many entries that it is over.
//

VOID
TraceCallerNoteEntry(
    _Inout_ PTRACE_STORE Store
    );

#endif // TRACER_TRACE_CALLER_H
