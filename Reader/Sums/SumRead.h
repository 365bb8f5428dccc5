/*++

Module Name:

    SumRead.h

Abstract:

    A command's threads, read by several workers.

--*/

#ifndef TRACER_SUM_READ_H
#define TRACER_SUM_READ_H

#include "../Base/BaseProgress.h"
#include "../Calls/CallSiteTable.h"

//
// Reads a thread for a worker, whose threads come in ascending order.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_READ_THREAD)(
    _In_ PVOID Context,
    _In_ ULONG Worker,
    _In_ ULONG Thread
    );
typedef READER_READ_THREAD *PREADER_READ_THREAD;

typedef struct _READER_READING {
    PREADER_FUNCTIONS Functions;    // these up to Context are the caller's
    PCREADER_OPTIONS Options;       // for --thread
    PCREADER_RANGE Range;
    PREADER_TEAM Team;              // NULL: one worker
    ULONG Process;                  // whose threads are read; READER_NONE: all
    const UCHAR *Selected;          // by thread: whether it is read; NULL: all
    PREADER_READ_THREAD Read;
    PVOID Context;
    PREADER_TALLY Tallies;          // by worker; then, for each, that of what
                                    // comes before the range
    ULONG NumberOfWorkers;
    ULONG NumberOfThreads;          // selected; this and the next two go on
                                    // when a reading is made again
    ULONGLONG NumberOfRecords;      // of all workers, when they have read
    ULONGLONG NumberOfOrdinary;     // likewise
    volatile LONG NextThread;       // that no worker has taken
    NTSTATUS *ThreadStatus;         // by thread, when it has been read; NULL:
                                    // there is one worker
    READER_PROGRESS Progress;
    ULONG ProgressCalls;
} READER_READING;
typedef READER_READING *PREADER_READING;

//
// Decides how many workers there are, and makes their tallies, which the
// caller may tell then what to keep.  Where there are trees there is one.
// Reading: zero, but for the caller's fields, or one that was run down; good
// for SumRundownReading even after a failure.
//

_Must_inspect_result_
NTSTATUS
SumInitializeReading(
    _Inout_ PREADER_READING Reading
    );

//
// Frees the tallies.
// Reading: it, or all zeroes.
//

VOID
SumRundownReading(
    _Inout_ PREADER_READING Reading
    );

//
// Reads the threads that --thread selects, of the process. Returns
// READER_EXIT_*; failures have been written, in the order of threads. One that
// cannot be read to its end does not hide the others.
//
// Afterwards the functions are in the order in which one worker would have
// met them, whoever did; those that were there before keep their places.
//

ULONG
SumReadThreads(
    _Inout_ PREADER_READING Reading
    );

#endif // TRACER_SUM_READ_H
