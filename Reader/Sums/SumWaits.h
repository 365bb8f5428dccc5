/*++

Module Name:

    SumWaits.h

Abstract:

    What a session's threads waited for: calls of functions that wait, the
    outermost of each other, added up by function, by caller and by thread.

--*/

#ifndef TRACER_SUM_WAITS_H
#define TRACER_SUM_WAITS_H

#include "../Functions/FunctionWaits.h"
#include "SumRead.h"

//
// Some calls that waited.
//

typedef struct _READER_WAIT_SUM {
    ULONGLONG Calls;                // that are not abandoned
    ULONGLONG TotalTicks;
    ULONGLONG MaximumTicks;
    ULONGLONG Unfinished;           // of the calls
    ULONGLONG InTrees;              // of the calls: not in the histogram
    CORE_HISTOGRAM Histogram;
    ULONG Function;                 // that waits, the first one that it is
                                    // like; READER_NONE: several
    ULONG Caller;                   // the nearest function with hooks around
                                    // it, or the module that called it;
                                    // READER_NONE: there is none
    ULONG Thread;                   // index
    READER_WAIT_KIND Kind;
} READER_WAIT_SUM;
typedef READER_WAIT_SUM *PREADER_WAIT_SUM;
typedef const READER_WAIT_SUM *PCREADER_WAIT_SUM;

typedef struct _READER_WAIT_LIST {
    READER_MAP Indexes;
    PREADER_WAIT_SUM Sums;          // in the order in which they came up
    ULONG NumberOfSums;
    ULONG CapacityOfSums;
} READER_WAIT_LIST;
typedef READER_WAIT_LIST *PREADER_WAIT_LIST;
typedef const READER_WAIT_LIST *PCREADER_WAIT_LIST;

//
// Where a node of a store's tree is.
//

typedef struct _READER_WAIT_PLACE {
    ULONG Caller;                   // of what waits in it, as in the sum
    BOOLEAN IsInside;               // of a call that waits, or one itself
} READER_WAIT_PLACE;
typedef READER_WAIT_PLACE *PREADER_WAIT_PLACE;

typedef struct _READER_WAITED {
    PCREADER_OPTIONS Options;       // these up to Functions are the caller's
    PREADER_SESSION Session;
    PCREADER_RANGE Range;
    PREADER_FUNCTIONS Functions;    // AreStubsApart
    READER_READING Reading;
    PCORE_ARENA Arena;
    READER_MAP Alike;               // (module << 32) | FirstRva of a stub to
                                    // the first function that is called so
    READER_WAIT_LIST ByFunction;
    READER_WAIT_LIST ByCaller;      // and function
    READER_WAIT_LIST ByThread;      // and kind
    PULONG Depths;                  // by track of the thread that is read: how
    ULONG CapacityOfDepths;         // many calls are open that wait
    PREADER_WAIT_PLACE Places;
    ULONG NumberOfPlaces;
    ULONG CapacityOfPlaces;
} READER_WAITED;
typedef READER_WAITED *PREADER_WAITED;

//
// Reads the threads that --thread selects. Returns READER_EXIT_*; failures have
// been written.
// Waited: all zeroes, but for the caller's fields.
//

ULONG
SumReadWaits(
    _Inout_ PREADER_WAITED Waited
    );

//
// Puts a list in order: the longest total first.
// Order: an element for each of its sums.
//

VOID
SumSortWaits(
    _In_ PCREADER_WAIT_LIST List,
    _Out_writes_(List->NumberOfSums) PULONG Order
    );

//
// Frees what there is.
//

VOID
SumRundownWaits(
    _Inout_ PREADER_WAITED Waited
    );

#endif // TRACER_SUM_WAITS_H
