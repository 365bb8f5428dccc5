/*++

Module Name:

    ReaderMerge.h

Abstract:

    The threads of a session in the order of time, for replay and for exports.

--*/

#ifndef TRACER_READER_MERGE_H
#define TRACER_READER_MERGE_H

#include "Reader.h"

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

typedef
_Must_inspect_result_
NTSTATUS
(READER_BEGIN_MERGE)(
    _Inout_ PREADER_MERGE Merge,
    _In_ PCREADER_OPTIONS Options
    );
READER_BEGIN_MERGE ReaderBeginMerge;

//
// Finds the thread with the earliest time stamp, opening those that are due.
// STATUS_END_OF_FILE when there is none.  Threads that cannot be read have been
// reported.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_FIRST_IN_MERGE)(
    _Inout_ PREADER_MERGE Merge,
    _Outptr_ PREADER_MERGE_THREAD *Thread
    );
READER_FIRST_IN_MERGE ReaderFirstInMerge;

//
// Takes note that the first thread has a new time stamp, or of why it has none:
// then it is closed.
//

typedef
VOID
(READER_MOVE_IN_MERGE)(
    _Inout_ PREADER_MERGE Merge,
    _In_ NTSTATUS Status
    );
READER_MOVE_IN_MERGE ReaderMoveInMerge;

//
// Closes what is open and frees everything.
//

typedef VOID (READER_END_MERGE)(_Inout_ PREADER_MERGE Merge);
READER_END_MERGE ReaderEndMerge;

#endif // TRACER_READER_MERGE_H
