/*++

Module Name:

    SumOutliers.h

Abstract:

    What outliers adds up of a function's calls.

    The session is read once, by several workers.  Which functions the name
    means is known at the end: one that matches it better may come late.  So
    the calls are added up for each way to match: the very name, one with
    parameters after it, one that begins with it, and one that it is a pattern
    of.  Nothing is kept of a way once a worker has met two names.  What the
    workers have of the way that is meant is put together then, as one worker
    would have it.

    Memory is bounded, for each worker, by the number of calls that are shown,
    of functions, of the calls' chains, and of the frames that are open at a
    time with their callees.

--*/

#ifndef TRACER_SUM_OUTLIERS_H
#define TRACER_SUM_OUTLIERS_H

#include "../Functions/FunctionFindByName.h"
#include "SumEtl.h"
#include "SumRead.h"

#define READER_OUTLIERS_DURATIONS 65u       // 0, and one for each power of 2

//
// A call that is among the slowest so far.  Functions, here and below, are
// indexes in the worker's tally; in what is put together at the end, in the
// table of functions.
//

typedef struct _READER_OUTLIER {
    ULONGLONG Ticks;                // inclusive
    ULONGLONG SelfTicks;
    ULONGLONG WaitedTicks;
    ULONGLONG EnterTimestamp;
    ULONGLONG ChildTicks;           // in Child
    ULONGLONG Order;                // of its end, among its thread's calls
    ULONG Child;                    // the direct callee that took longest, a
                                    // function; READER_NONE: there is none
    ULONG Function;
    ULONG Thread;                   // index
    ULONG Track;
    ULONG Depth;
    ULONG Path;                     // its caller's chain; READER_NONE: none
    ULONG Worker;                   // in whose paths that is
} READER_OUTLIER;
typedef READER_OUTLIER *PREADER_OUTLIER;

//
// How long some calls took that ended with their exit.
//

typedef struct _READER_DURATIONS {
    CORE_HISTOGRAM Histogram;
    ULONGLONG Calls;
    ULONGLONG MinimumTicks;
    ULONGLONG MaximumTicks;
    ULONG Function;                 // that made them; READER_NONE: none did;
                                    // at the end also a calling module
    ULONG Callee;                   // a worker's: whose calls they are
    ULONG Thread;                   // index: in which it was first seen to
} READER_DURATIONS;
typedef READER_DURATIONS *PREADER_DURATIONS;

//
// All calls of functions of one name.
//

typedef struct _READER_OUTLIER_GROUP {
    PREADER_OUTLIER Heap;           // the fastest of them first
    ULONG NumberOfOutliers;
    ULONG CapacityOfOutliers;
    READER_DURATIONS All;
    ULONGLONG SumLow;               // of all durations, 128 bits
    ULONGLONG SumHigh;
    ULONGLONG Counts[READER_OUTLIERS_DURATIONS];
    PREADER_DURATIONS Callers;
    ULONG NumberOfCallers;
    ULONG CapacityOfCallers;
    READER_MAP CallerIndexes;       // (callee << 32) | function to index
    ULONGLONG Uncertain;
    ULONGLONG BegunBefore;
    ULONGLONG Unfinished;
    ULONGLONG LongestUnfinished;    // ticks
    ULONGLONG Abandoned;
    ULONGLONG LongestAbandoned;     // ticks
    ULONG Function;                 // the first one; READER_NONE: none yet
    BOOLEAN IsAmbiguous;            // there is one of another name: nothing is
                                    // kept
} READER_OUTLIER_GROUP;
typedef READER_OUTLIER_GROUP *PREADER_OUTLIER_GROUP;

//
// What an open call of such a function has spent in its callees.
//

typedef struct _READER_CHILD {
    ULONGLONG Ticks;
    ULONG Call;                     // index of the open call
    ULONG Function;
    ULONG NextInSlot;               // of the hash; this and the next index +
    ULONG NextInCall;               // 1; also links those that are free
} READER_CHILD;
typedef READER_CHILD *PREADER_CHILD;

typedef struct _READER_OPEN_CALL {
    ULONGLONG LargestTicks;
    ULONG Largest;                  // function; READER_NONE: none
    ULONG FirstChild;               // index + 1; of a free one: the next free
} READER_OPEN_CALL;
typedef READER_OPEN_CALL *PREADER_OPEN_CALL;

typedef struct _READER_PATH {
    ULONG Parent;                   // READER_NONE: the outermost
    ULONG Function;
} READER_PATH;
typedef READER_PATH *PREADER_PATH;

typedef struct _READER_OUTLIERS READER_OUTLIERS;
typedef READER_OUTLIERS *PREADER_OUTLIERS;

//
// What one worker has.
//

typedef struct _READER_OUTLIER_WORKER {
    PREADER_OUTLIERS Outliers;      // of which it only reads, but for what the
                                    // tally's lock is for
    PCALLOCATOR Allocator;
    PREADER_TALLY Tally;
    PCORE_ARENA Arena;              // that its histograms are in
    PUCHAR Matches;                 // by function: READER_MATCH + 1; 0: not
    ULONG CapacityOfMatches;        // known yet
    READER_OUTLIER_GROUP Groups[READER_NUMBER_OF_MATCHES];  // by match - 1
    ULONGLONG NumberEnded;          // of the calls of all groups
    PREADER_OPEN_CALL OpenCalls;
    ULONG NumberOfOpenCalls;
    ULONG CapacityOfOpenCalls;
    ULONG FreeOpenCall;             // index + 1
    PREADER_CHILD Children;
    ULONG NumberOfChildren;
    ULONG CapacityOfChildren;
    ULONG FreeChild;                // index + 1
    PULONG Slots;                   // hash of call and function to child
    ULONG NumberOfSlots;            // a power of two, or 0
    PREADER_PATH Paths;
    ULONG NumberOfPaths;
    ULONG CapacityOfPaths;
    READER_MAP PathIndexes;         // ((parent + 1) << 32) | function
} READER_OUTLIER_WORKER;
typedef READER_OUTLIER_WORKER *PREADER_OUTLIER_WORKER;

typedef struct _READER_OUTLIERS {
    PCREADER_OPTIONS Options;       // these up to the limit are the caller's
    READER_SESSION Session;
    READER_RANGE Range;
    READER_ETL Etl;
    ULONG Limit;
    READER_FUNCTIONS Functions;
    READER_READING Reading;
    READER_NAME Name;
    ULONGLONG Thresholds[READER_OUTLIERS_DURATIONS];    // the first ticks of
                                                        // a duration
    PREADER_OUTLIER_WORKER Workers; // as many as the reading has
    PUCHAR IsSeen;                  // these are made when all is read: by
                                    // function, whether it was called
    READER_OUTLIER_GROUP Group;     // the calls that are meant
    PCORE_ARENA Arena;              // that its histograms are in
} READER_OUTLIERS;

//
// Makes an empty state.  Returns FALSE if the name is none, or memory is
// lacking, which has been written.
// Outliers: all zeroes, but for the caller's fields; good for
// SumRundownOutliers even after a failure.
// Team: for its workers.
//

_Must_inspect_result_
BOOLEAN
SumInitializeOutliers(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ PREADER_TEAM Team
    );

//
// Frees what a state holds, but for the session.
//

VOID
SumRundownOutliers(
    _Inout_ PREADER_OUTLIERS Outliers
    );

//
// Reads all threads, as SumReadThreads does, whose exit code is returned.
//

ULONG
SumOutliersRead(
    _Inout_ PREADER_OUTLIERS Outliers
    );

//
// Says of each function whether it was called, in IsSeen.
//

_Must_inspect_result_
NTSTATUS
SumListSeenFunctions(
    _Inout_ PREADER_OUTLIERS Outliers
    );

//
// Puts together in Group what the workers have, once.
// Match: how the functions match the name that are meant, all of one name.
//

_Must_inspect_result_
NTSTATUS
SumMergeOutliers(
    _Inout_ PREADER_OUTLIERS Outliers,
    _In_ READER_MATCH Match
    );

//
// TRUE if First is to be left out before Second: of two that took as long, the
// later one is.  No two calls are equal.
//

BOOLEAN
SumIsFaster(
    _In_ const READER_OUTLIER *First,
    _In_ const READER_OUTLIER *Second
    );

#endif // TRACER_SUM_OUTLIERS_H
