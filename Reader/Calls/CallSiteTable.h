/*++

Module Name:

    CallSiteTable.h

Abstract:

    What one worker knows of the sites whose calls it adds up, and the sums of
    their functions.

--*/

#ifndef TRACER_CALL_SITE_TABLE_H
#define TRACER_CALL_SITE_TABLE_H

#include "../Core/CoreFast.h"
#include "../Core/CoreStatistics.h"
#include "../Base/BaseWorkers.h"
#include "../Functions/Function.h"
#include "CallRange.h"
#include "CallStream.h"

//
// Is asked of each function that is entered, when a site of its is new to the
// tally; TRUE: the events of its calls, and of those made from them, are.
// Function: its index in the tally.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_WATCH_FUNCTION)(
    _In_ PVOID Context,
    _In_ ULONG Function,
    _Out_ PBOOLEAN IsWatched
    );
typedef READER_WATCH_FUNCTION *PREADER_WATCH_FUNCTION;

typedef struct _READER_TALLY_FUNCTION {
    READER_STATISTICS Statistics;   // what is not in the totals
    ULONG Function;                 // in the table that all workers share
    ULONG Thread;                   // where it was seen first
    BOOLEAN IsNoted;                // its module was, for it
} READER_TALLY_FUNCTION;
typedef READER_TALLY_FUNCTION *PREADER_TALLY_FUNCTION;

typedef struct _READER_TALLY {
    PREADER_FUNCTIONS Functions;    // with the session, the workers'
    PREADER_LOCK Lock;              // of both; NULL: there is one worker
    PCORE_SITES Modules;            // the sites, by module
    ULONG CapacityOfModules;
    ULONG Thread;                   // that is being read
    CORE_TOTALS_TABLE Totals;       // by index here
    PREADER_TALLY_FUNCTION List;    // likewise, in the order of appearance
    ULONG NumberOfFunctions;
    ULONG CapacityOfList;
    ULONG CapacityOfHistograms;
    READER_MAP Indexes;             // function to index here
    READER_MAP Inlined;             // as in READER_MODULE, of the first
    ULONG LastIndex;                // of the entry that was described last
    BOOLEAN IsGeneral;              // without the fast path
    BOOLEAN IsFromStart;            // CallSkipStream uses no marks
    BOOLEAN HasHistograms;          // the caller's, before the first thread
    PCORE_ARENA Arena;              // what these are in
    PCORE_HISTOGRAM Histograms;     // by index here, of the calls that were
                                    // not abandoned; NULL: there are none
    PCORE_PATHS Paths;              // the caller's: calls are added up by
                                    // chain, in these; NULL: by function
    BOOLEAN IsByBoth;               // likewise: by both, with Paths
    PULONG Roots;                   // likewise, by track: what is above its
    ULONG CapacityOfRoots;          // outermost calls; NULL: one root
    PCORE_PROBE_TOTALS ProbeTotals; // by what the totals are by
    ULONG CapacityOfProbe;
    ULONG CapacityOfWaited;
    PULONGLONG Waited;              // likewise, ticks, if the session's
                                    // functions may wait
    BOOLEAN HasProbe;               // likewise: ProbeTotals are kept
    BOOLEAN IsSaidAtOnce;           // likewise: what is wrong with a module or
                                    // a store, as soon as it is seen
    BOOLEAN IsSilent;               // likewise: not at all, of modules without
                                    // names
    PREADER_WATCH_FUNCTION Watch;   // likewise: nothing is added up; or NULL
    PVOID WatchContext;
    PCORE_ENDED_LIST Ended;         // likewise: where the ordinary calls that
                                    // end are put; or NULL
    BOOLEAN IsEndedAlone;           // likewise: and nothing is added up
    BOOLEAN IsAddedApart;           // likewise: and the caller adds them up
    PULONGLONG Noted;               // by module: see CallNoteModule; NULL:
    ULONG CapacityOfNoted;          // that is not kept
    ULONG NumberNoted;
    BOOLEAN IsNoting;               // the caller's: Noted is kept
    BOOLEAN IsNotingCallers;        // likewise: FunctionNoteCaller
    BOOLEAN AreCallersApart;        // likewise: what Paths have for a function
                                    // is by CallMakePath
    PCREADER_RANGE Range;           // what is added up, or NULL: everything
    PREADER_TALLY Before;           // for what comes before the range
    ULONGLONG Unmatched;
    volatile ULONGLONG NumberOfRecords; // others read it while it grows
    ULONGLONG NumberOfOrdinary;     // of those, taken by the fast path
    PREADER_WAIT Progress;          // called now and then, or NULL
    PVOID ProgressContext;
} READER_TALLY;

//
// What chains have for a function that a stub calls, where AreCallersApart: the
// function's index, and which module called (index + 1 in Imported).  Beyond a
// number of either, which nobody has, the module is not told.
//

#define CALL_PATH_HAS_CALLER    0x80000000u
#define CALL_PATH_CALLER_BITS   9
#define CALL_PATH_FUNCTION_BITS 22

CORE_INLINE
ULONG
CallMakePath(
    _In_ ULONG Function,
    _In_ ULONG Caller
    )
{
    if (Caller == 0 || (Caller + 1) >> CALL_PATH_CALLER_BITS != 0 ||
        Function >> CALL_PATH_FUNCTION_BITS != 0) {
        return Function;
    }

    return CALL_PATH_HAS_CALLER | Caller << CALL_PATH_FUNCTION_BITS | Function;
}

//
// These two are the parts of what that made.
//

CORE_INLINE
ULONG
CallQueryPathFunction(
    _In_ ULONG Path
    )
{
    return (Path & CALL_PATH_HAS_CALLER) != 0
               ? Path & ((1u << CALL_PATH_FUNCTION_BITS) - 1)
               : Path;
}

CORE_INLINE
ULONG
CallQueryPathCaller(
    _In_ ULONG Path
    )
{
    return (Path & CALL_PATH_HAS_CALLER) != 0
               ? (Path & ~CALL_PATH_HAS_CALLER) >> CALL_PATH_FUNCTION_BITS
               : 0;
}

//
// Makes an empty tally.
// Functions: the table of functions that all workers share.
// Lock: for the table and its session; NULL: there is one worker.
//

VOID
CallInitializeTally(
    _Out_ PREADER_TALLY Tally,
    _In_ PREADER_FUNCTIONS Functions,
    _In_opt_ PREADER_LOCK Lock
    );

//
// Frees what a tally holds.
//

VOID
CallRundownTally(
    _Inout_ PREADER_TALLY Tally
    );

//
// Makes room for the sites of all modules that there are now; the lock is
// held. This and the two below are the steps of reading a thread, for those
// who do not read it to its end at once.
//

_Must_inspect_result_
NTSTATUS
CallPrepareTally(
    _Inout_ PREADER_TALLY Tally
    );

//
// Finds a function's index in a tally, and adds it if it is not there.
// Function: the function's index in the table of all.
//

_Must_inspect_result_
NTSTATUS
CallAddFunctionToTally(
    _Inout_ PREADER_TALLY Tally,
    _In_ ULONG Function,
    _Out_ PULONG Index
    );

//
// Says, or notes, that a module's names are asked for: what it lacks is to be
// said then. Noted by module is (thread + 1) << 32 | how many were before it;
// 0: it was not.
//

VOID
CallNoteModule(
    _Inout_ PREADER_TALLY Tally,
    _In_ ULONG Module
    );

//
// Adds an event.
// Tally: the tally, which has described the call last.
//

_Must_inspect_result_
NTSTATUS
CallTallyEvent(
    _Inout_ PREADER_TALLY Tally,
    _In_ const CORE_EVENT *Event
    );

//
// Fills in what the image says of a call's site, as CallDescribeCall does,
// from what the tally knows.
// Tally: the tally; its LastIndex is set.
//

_Must_inspect_result_
NTSTATUS
CallDescribeCallInTally(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PCORE_CALL Call
    );

//
// Counts how often a function may have been inlined into another one, as
// CallCountInlinedInSession does.
// Outer: the function around, (module << 32) | RVA.
// Inner: the function inside.
// Returns at least as many times as it was.
//

CORE_COUNT_INLINED CallCountInlinedInTally;

#endif // TRACER_CALL_SITE_TABLE_H
