/*++

Module Name:

    CallMerge.h

Abstract:

    The threads of a session in the order of time, for replay and for exports.

--*/

#ifndef TRACER_CALL_MERGE_H
#define TRACER_CALL_MERGE_H

#include "../Base/BaseOptions.h"
#include "CallStream.h"

//
// One thread: the first member of what the caller keeps of it.
//

typedef struct _READER_MERGE_THREAD {
    READER_STREAM Stream;
    ULONGLONG Timestamp;            // the caller's: of what it gives next
} READER_MERGE_THREAD;
typedef READER_MERGE_THREAD *PREADER_MERGE_THREAD;

//
// The caller's, for a thread whose stream was just opened: finds what it gives
// first and sets Timestamp.  STATUS_END_OF_FILE: it gives nothing.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_MERGE_BEGIN)(
    _In_ PVOID Context,
    _Inout_ PREADER_MERGE_THREAD Thread
    );
typedef READER_MERGE_BEGIN *PREADER_MERGE_BEGIN;

//
// The caller's, for a thread that is about to be closed.
//

typedef
VOID
(READER_MERGE_END)(
    _In_ PVOID Context,
    _Inout_ PREADER_MERGE_THREAD Thread
    );
typedef READER_MERGE_END *PREADER_MERGE_END;

typedef struct _READER_MERGE {
    PREADER_SESSION Session;
    PREADER_MERGE_BEGIN Begin;
    PREADER_MERGE_END End;          // NULL: none
    PVOID RoutineContext;
    SIZE_T SizeOfThread;            // bytes, of the caller's structure
    PREADER_MERGE_THREAD *Heap;     // the earliest first
    ULONG NumberInHeap;
    ULONG CapacityOfHeap;
    PULONG Order;                   // threads by their first record
    ULONG NumberInOrder;
    ULONG NextInOrder;
    ULONG ExitCode;                 // READER_EXIT_FAILURE: a thread failed
} READER_MERGE;
typedef READER_MERGE *PREADER_MERGE;

//
// Puts the threads that --thread selects in order.  Session, the routines,
// their context and SizeOfThread are there, and the rest is zero.
//

_Must_inspect_result_
NTSTATUS
CallBeginMerge(
    _Inout_ PREADER_MERGE Merge,
    _In_ PCREADER_OPTIONS Options
    );

//
// Finds the thread with the earliest time stamp, opening those that are due.
// STATUS_END_OF_FILE when there is none.  Threads that cannot be read have been
// reported.
//

_Must_inspect_result_
NTSTATUS
CallFirstInMerge(
    _Inout_ PREADER_MERGE Merge,
    _Outptr_ PREADER_MERGE_THREAD *Thread
    );

//
// Takes note that the first thread has a new time stamp, or of why it has
// none: then it is closed. Puts the thread that was first where it belongs
// now.
//

VOID
CallMoveInMerge(
    _Inout_ PREADER_MERGE Merge,
    _In_ NTSTATUS Status
    );

//
// Closes what is open and frees everything.
// Merge: the merge; all zeroes but the session will do.
//

VOID
CallEndMerge(
    _Inout_ PREADER_MERGE Merge
    );

#endif // TRACER_CALL_MERGE_H
