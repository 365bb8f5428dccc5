/*++

Module Name:

    CoreFast.h

Abstract:

    Runs of ordinary calls, paired several times as fast as CorePair does.

--*/

#ifndef TRACER_CORE_FAST_H
#define TRACER_CORE_FAST_H

#include "CoreHistogram.h"
#include "CorePair.h"
#include "CorePath.h"
#include "CoreRecord.h"

//
// What is known of a site and kind of call, in the order in which it goes
// into a frame.  One is a cache line.
//

typedef struct _CORE_SITE {
    ULONGLONG Key;                  // RVA and kind; 0: none is here
    ULONGLONG JumpTarget;           // this and what follows as in CORE_CALL
    ULONGLONG Site;
    ULONGLONG Function;
    ULONG BodySize;
    ULONG Kind;
    ULONG Flags;
    ULONG Index;                    // the caller's: of the function's totals
    ULONG FrameSize;                // 0: not known
    ULONG PathIndex;                // likewise: what chains have for it, Index
                                    // unless CoreSetSitePath was called
    BOOLEAN IsAnywhere;             // an EXIT_FUNCTION's RSP says nothing
    BOOLEAN IsWatched;              // see CORE_RUN
    UCHAR Unused[6];
} CORE_SITE;
typedef CORE_SITE *PCORE_SITE;
typedef const CORE_SITE *PCCORE_SITE;

//
// The sites of one module.  One with an allocator, and zeroes else, is empty.
//

typedef struct _CORE_SITES {
    PCALLOCATOR Allocator;
    PVOID Memory;                   // that Slots are in
    PCORE_SITE Slots;
    ULONG Capacity;                 // a power of two, or 0
    ULONG Count;
    BOOLEAN HasWaits;               // one is of a function that waits
} CORE_SITES;
typedef CORE_SITES *PCORE_SITES;

//
// Frees a table.
// Sites: the table, or all zeroes.
//

VOID
CoreRundownSites(
    _Inout_ PCORE_SITES Sites
    );

//
// Finds a site.
// Sites: the table of its module.
// Kind: TRACE_KIND_*.
// Returns the site, good until one is added, or NULL.
//

_Ret_maybenull_
PCCORE_SITE
CoreFindSite(
    _In_ const CORE_SITES *Sites,
    _In_ ULONG Rva,
    _In_ ULONG Kind
    );

//
// Says what chains have for a site, in place of its Index.
// Sites: the table of its module, in which it is.
//

VOID
CoreSetSitePath(
    _Inout_ PCORE_SITES Sites,
    _In_ ULONG Rva,
    _In_ ULONG Kind,
    _In_ ULONG PathIndex
    );

//
// Has the events of a site's entries asked for: see CORE_RUN.
// Sites: the table of its module, in which it is.
//

VOID
CoreWatchSite(
    _Inout_ PCORE_SITES Sites,
    _In_ ULONG Rva,
    _In_ ULONG Kind
    );

//
// Adds a site that is not there; Index is the caller's.
//
//     STATUS_NO_MEMORY
//
// Sites: the table of its module, in which it is not.
// Call: a call from it, with what the image says of it. The lower half of its
// Site is the RVA.
// Index: the caller's own: that of the totals of an entry's function.
//

_Must_inspect_result_
NTSTATUS
CoreAddSite(
    _Inout_ PCORE_SITES Sites,
    _In_ PCCORE_CALL Call,
    _In_ ULONG Index
    );

//
// What is added up for a function.  One is a cache line.
//

typedef struct _CORE_TOTALS {
    ULONGLONG Calls;                // that ended with their exit, and of those:
    ULONGLONG TotalTicks;           // inclusive; recursion counted once
    ULONGLONG SelfTicks;
    ULONGLONG SumLow;               // of the inclusive ticks of each call,
    ULONGLONG SumHigh;              // 128 bits
    ULONGLONG MinimumTicks;         // ~0: no call has ended
    ULONGLONG MaximumTicks;
    ULONGLONG Unused;
} CORE_TOTALS;
typedef CORE_TOTALS *PCORE_TOTALS;
typedef const CORE_TOTALS *PCCORE_TOTALS;

//
// The calls that are open are apart: that is all an entry counts, and sixteen
// functions' share a cache line.
//

typedef struct _CORE_TOTALS_TABLE {
    PCALLOCATOR Allocator;
    PVOID Memory;                   // that Totals and Active are in
    PCORE_TOTALS Totals;
    PULONG Active;                  // by the same index: calls that are open
    ULONG Capacity;
    ULONG Unused;
} CORE_TOTALS_TABLE;
typedef CORE_TOTALS_TABLE *PCORE_TOTALS_TABLE;

//
// Makes room for more totals.
// Count: how many there have to be.
//

_Must_inspect_result_
NTSTATUS
CoreGrowTotals(
    _Inout_ PCORE_TOTALS_TABLE Table,
    _In_ ULONG Count
    );

//
// Frees the totals.
// Table: the table, or all zeroes.
//

VOID
CoreRundownTotals(
    _Inout_ PCORE_TOTALS_TABLE Table
    );

//
// What the hooks themselves cost, in 256ths of a tick: Reader/Calls/CallProbe.c
// has the account.
//

typedef struct _CORE_PROBE_FRAME {
    ULONGLONG Entered;              // the sum after the call's own entry
    ULONGLONG Callees;              // what those made directly from it left
                                    // in its own time
} CORE_PROBE_FRAME;
typedef CORE_PROBE_FRAME *PCORE_PROBE_FRAME;

typedef struct _CORE_PROBE {
    PCORE_PROBE_FRAME Frames;       // of the stack that ran last, by depth
    ULONG Capacity;
    ULONG Module;                   // index: the records'
    ULONG Inner;                    // of a pair of the module's hooks; 0: not
                                    // known
    ULONG Total;
    ULONGLONG Sum;                  // of all calls entered
} CORE_PROBE;
typedef CORE_PROBE *PCORE_PROBE;

typedef struct _CORE_PROBE_TOTALS {
    ULONGLONG TotalProbe;           // as in READER_STATISTICS
    ULONGLONG SelfProbe;
    ULONGLONG SumProbe;
    ULONGLONG Unused;
} CORE_PROBE_TOTALS;
typedef CORE_PROBE_TOTALS *PCORE_PROBE_TOTALS;

//
// What the calls are added up in, and what else is asked of them:
//
//     totals by function, and histograms, if there are any;
//     with Paths, by chain, in place of the totals: a frame's Node is its;
//     with HasTotals too, by both;
//     with Probe, what the hooks cost too, by what the totals are by;
//     with WaitedTotals, how long calls waited, likewise, unless the totals
//     are by both;
//     with IsWatching nothing is added up: an entry of a watched site is not
//     ordinary, nor is the exit of a frame that has a Node, or whose caller
//     has one;
//     with Ended the calls that end are put there, with IsWatching or by
//     function, without a probe; when it is full no end is ordinary, nor is
//     ever that of a frame that is stale;
//     with IsAddedApart too, nothing but the waits is added up: the caller
//     does that with CoreAddEnded, many calls at a time.
//

typedef struct _CORE_ENDED {
    ULONGLONG EnterTimestamp;
    ULONGLONG ExitTimestamp;
    ULONG Depth;
    ULONG Function;                 // the frame's
    union {
        ULONGLONG Site;             // the frame's, without IsAddedApart
        ULONGLONG Self;             // with it: ticks, and whether no other call
                                    // of the function is open
    };
} CORE_ENDED;
typedef CORE_ENDED *PCORE_ENDED;
typedef const CORE_ENDED *PCCORE_ENDED;

#define CORE_ENDED_OUTERMOST 0x8000000000000000ULL

typedef struct _CORE_ENDED_LIST {
    PCORE_ENDED Calls;
    ULONG NumberOfCalls;
    ULONG Capacity;
} CORE_ENDED_LIST;
typedef CORE_ENDED_LIST *PCORE_ENDED_LIST;

typedef struct _CORE_RUN {
    PCORE_TOTALS Totals;            // by the sites' Index, and so by the
                                    // frames' Function
    PULONG Active;                  // likewise
    PCORE_HISTOGRAM Histograms;     // likewise; NULL: there are none
    PCORE_PATHS Paths;              // or NULL
    PCORE_PROBE Probe;              // or NULL
    PCORE_PROBE_TOTALS ProbeTotals;
    PULONGLONG WaitedTotals;        // by what the totals are by: ticks; as in
                                    // READER_STATISTICS; NULL: not asked for
    ULONGLONG Limit;                // the first time stamp that is not taken
    ULONGLONG JumpTicks;            // the clock has jumped if more lie between
                                    // two records; 0: it never does
    ULONG NumberOfJumps;            // how often it has, so far
    BOOLEAN IsWatching;
    BOOLEAN HasTotals;              // with Paths
    PCORE_ENDED_LIST Ended;         // or NULL
    BOOLEAN IsAddedApart;
} CORE_RUN;
typedef CORE_RUN *PCORE_RUN;
typedef const CORE_RUN *PCCORE_RUN;

//
// Takes records of one store for as long as they are valid, ordinary and
// earlier than the limit; returns how many.  The next one is CoreAddCall's.
// The frames' NumberOfJumps are those of the clock when they were entered.
// The histograms, if there are any, are as many as the totals; the end of a
// call that is in no bucket that there is is not ordinary, nor is the entry of
// a chain that is not there.
//
// The loop is there once for each thing that is asked: looking for jumps of
// the clock takes a tenth of the time, and histograms take as much.
//

ULONG
CoreRunRecords(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _In_ PCCORE_RUN Run,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    );

//
// Adds up calls that ended with IsAddedApart, as it is done without it.  Here
// one does not wait for what the one before it was counted in.
//
// Totals, Histograms: of the run; Histograms and Arena NULL: there are none.
//
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
CoreAddEnded(
    _Inout_ PCORE_TOTALS Totals,
    _Inout_opt_ PCORE_HISTOGRAM Histograms,
    _Inout_opt_ PCORE_ARENA Arena,
    _In_reads_(Count) PCCORE_ENDED Calls,
    _In_ ULONG Count
    );

#endif // TRACER_CORE_FAST_H
