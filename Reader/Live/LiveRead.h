/*++

Module Name:

    LiveRead.h

Abstract:

    Passes over the threads' records, all of them or a sample.

--*/

#ifndef TRACER_LIVE_READ_H
#define TRACER_LIVE_READ_H

#include "../Base/BaseProgress.h"
#include "../Calls/CallSiteTable.h"
#include "../Calls/CallVisit.h"

//
// A function, by its index in the tally.
//

typedef struct _READER_LIVE_FUNCTION {
    ULONGLONG OtherCalls;           // that ended and are not in the tally:
    ULONGLONG OtherSelfTicks;       // of abandoned ones, and of those that
    ULONGLONG OtherTotalTicks;      // were open where records were left out
    ULONGLONG ClosedCalls;          // of calls that had ended when it was
    ULONGLONG ClosedSelfTicks;      // looked at last
    ULONGLONG ClosedTotalTicks;
    LONGLONG Calls;                 // these three since then, and not added
    LONGLONG SelfTicks;             // to those below yet
    LONGLONG TotalTicks;
    ULONGLONG PieceCalls;           // that began in a thread's pieces
    ULONGLONG IntervalCalls;        // these may be estimates
    ULONGLONG IntervalSelfTicks;
    ULONGLONG AllCalls;             // since reading began
    ULONGLONG AllSelfTicks;
    ULONGLONG AllTotalTicks;
    ULONGLONG TreeCalls;            // these two of calls in trees, without
    ULONGLONG TreeTicks;            // those that are open; for the average
} READER_LIVE_FUNCTION;
typedef READER_LIVE_FUNCTION *PREADER_LIVE_FUNCTION;
typedef const READER_LIVE_FUNCTION *PCREADER_LIVE_FUNCTION;

//
// An open frame when it was looked at last.
//

typedef struct _READER_LIVE_OPEN {
    ULONG Function;                 // index in the tally
    ULONG Chain;                    // 0: not known, or there are none
    ULONGLONG SelfTicks;            // so far
    ULONGLONG TotalTicks;           // likewise; 0 inside a call of its own
} READER_LIVE_OPEN;
typedef READER_LIVE_OPEN *PREADER_LIVE_OPEN;

//
// What a thread's trees had of a function when they were looked at last.
//

typedef struct _READER_LIVE_TREE_SUM {
    ULONGLONG Calls;
    ULONGLONG SelfTicks;
    ULONGLONG TotalTicks;
    ULONGLONG EndedCalls;
    ULONGLONG EndedTicks;
} READER_LIVE_TREE_SUM;
typedef READER_LIVE_TREE_SUM *PREADER_LIVE_TREE_SUM;

typedef struct _READER_LIVE_THREAD {
    READER_STREAM Stream;
    PREADER_LIVE_OPEN Open;
    ULONG NumberOfOpen;
    ULONG CapacityOfOpen;
    ULONGLONG TakenTo;              // time stamp up to which time is counted
    ULONGLONG WindowStart;          // time stamp; 0: this pass read all
    ULONGLONG PieceRecords;         // of those that calls are counted in
    ULONGLONG PassStart;            // time stamp of the record before it
    ULONGLONG GapTicks;             // that were left out just now
    ULONGLONG PassRecords;          // of this pass, read or not
    ULONGLONG PassRead;             // of those, read
    ULONGLONG AllRecords;           // since reading began, read or not
    ULONGLONG IntervalRecords;      // of those, of this interval
    ULONGLONG IntervalLooked;       // of those, where calls were counted
    ULONGLONG SinceRecords;         // but for those before the first refresh
    ULONGLONG SinceLooked;          // of those, where calls were counted
    ULONG GapJumps;                 // frames with fewer were open where
                                    // records were left out
    ULONG LongFunction;             // index in the tally: it was innermost
                                    // when there were no records for long
    ULONG LongChain;                // likewise, while chains are kept; 0: none
    ULONGLONG ChainRecords;         // since that began, read or not
    ULONGLONG ChainRead;            // of those, read
    BOOLEAN HasLongFunction;
    BOOLEAN IsBegun;                // it has been read
    BOOLEAN IsDone;                 // read to its end, and closed
    BOOLEAN HasTrees;               // these up to the end are of its trees
    ULONGLONG IntervalCalls;
    ULONGLONG ClearTimestamp;       // of all of them, added
    PREADER_LIVE_TREE_SUM Sums;     // by index in the tally
    ULONG CapacityOfSums;
    ULONG NumberOfFrames;
    PREADER_TREE_FRAME Frames;      // their functions are those of the table
    ULONG CapacityOfFrames;
    ULONG Innermost;                // function; READER_NONE: none is open
} READER_LIVE_THREAD;
typedef READER_LIVE_THREAD *PREADER_LIVE_THREAD;
typedef const READER_LIVE_THREAD *PCREADER_LIVE_THREAD;

//
// A chain of calls, by its index in the paths.
//

typedef struct _READER_LIVE_CHAIN {
    ULONGLONG ClosedCalls;          // of calls that had ended when it was
    ULONGLONG ClosedSelfTicks;      // looked at last
    LONGLONG Calls;                 // these two since then, and not added to
    LONGLONG SelfTicks;             // those below yet
    ULONGLONG AllCalls;             // these two may be estimates
    ULONGLONG AllSelfTicks;
    ULONGLONG TreeCalls;            // of trees, and of what was read to its
    ULONGLONG TreeSelfTicks;        // end
    ULONGLONG TreeTotalTicks;
    ULONGLONG DoneCalls;            // of those, of threads that have ended
    ULONGLONG DoneSelfTicks;
    ULONGLONG DoneTotalTicks;
} READER_LIVE_CHAIN;
typedef READER_LIVE_CHAIN *PREADER_LIVE_CHAIN;
typedef const READER_LIVE_CHAIN *PCREADER_LIVE_CHAIN;

//
// The chains of the calls that are read, while somebody looks at them.
//

typedef struct _READER_LIVE_CHAINS {
    CORE_PATHS Paths;               // a frame's Node is its chain's
    PREADER_LIVE_CHAIN List;        // by path
    ULONG CapacityOfList;
    ULONG Generation;               // how often they were begun
    PREADER_TALLY Tally;            // whose indexes the functions are
    ULONGLONG BeginQpc;             // counts
    BOOLEAN IsOn;
    BOOLEAN IsWhole;                // of the whole run, read to its end
} READER_LIVE_CHAINS;
typedef READER_LIVE_CHAINS *PREADER_LIVE_CHAINS;
typedef const READER_LIVE_CHAINS *PCREADER_LIVE_CHAINS;

#define READER_LIVE_NUMBER_OF_SAMPLES 32

typedef struct _READER_LIVE {
    PCREADER_OPTIONS Options;
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TALLY Tally;
    READER_TALLY Before;            // for what is passed over
    PREADER_LIVE_FUNCTION List;     // by index in the tally
    ULONG CapacityOfList;
    READER_LIVE_CHAINS Chains;
    PREADER_LIVE_THREAD *Threads;   // as the session's
    ULONG NumberOfThreads;
    ULONG CapacityOfThreads;
    ULONGLONG Horizon;              // the time stamp that has been read up to
    ULONGLONG IntervalStart;        // time stamp
    ULONGLONG IntervalQpc;          // counts, when the interval began
    RTL_CLOCK_READING Reading;      // when the last pass began
    ULONGLONG NewRecords;           // of this interval
    ULONGLONG NewRead;              // of those, read
    ULONGLONG AllRecords;           // since reading began
    ULONGLONG SinceRecords;         // but for those before the first refresh
    ULONGLONG SinceRead;            // of those, read
    ULONGLONG Random;               // for where pieces are
    ULONGLONG Overtaken;            // records that were overwritten before
                                    // they were read, of closed threads
    ULONGLONG Age;                  // nanoseconds, of the oldest data shown
    READER_PROGRESS Progress;       // until the first refresh
    ULONGLONG Since;                // time stamp from which on the records of
                                    // all threads are read; 0: all are
    ULONG BudgetInPercent;          // of a processor; 100: read everything
    ULONGLONG Allowance;            // records that a pass may read
    ULONGLONG Busy;                 // nanoseconds of drawing since the last
                                    // pass
    ULONGLONG Drawing;              // the same, of a pass on the average
    ULONGLONG Fixed;                // nanoseconds of a pass, but for reading
    ULONGLONG Samples[READER_LIVE_NUMBER_OF_SAMPLES];   // nanoseconds that
                                    // threads' parts of this pass took
    ULONG NumberOfSamples;
    ULONG NumberOfParts;            // of this pass
    ULONGLONG PartTime;             // nanoseconds of all of them
    ULONGLONG Spent;                // of the budget, in millionths: the last
                                    // passes on the average
    BOOLEAN IsBefore;               // the first refresh has not begun
    BOOLEAN IsPassedOver;           // something was
    BOOLEAN IsSampling;             // records were left out, at least once
    BOOLEAN IsPassSampled;          // by the last pass
    BOOLEAN IsBackUnread;           // and those before the first refresh
    BOOLEAN HasPage;                // --html: one has been written
    ULONG ExitCode;
} READER_LIVE;
typedef READER_LIVE *PREADER_LIVE;
typedef const READER_LIVE *PCREADER_LIVE;

//
// Data older than this, in nanoseconds, is read again before it is shown,
// unless the writer is faster than the reader can be.
//

#define READER_LIVE_MAXIMUM_AGE 50000000ULL

//
// Prepares reading. All zeroes but for Options and Session.
//

VOID
LiveInitializeLive(
    _Inout_ PREADER_LIVE Live
    );

//
// Frees what reading holds, but for the session.
//

VOID
LiveRundownLive(
    _Inout_ PREADER_LIVE Live
    );

//
// Reads what was recorded before the first refresh.
//

NTSTATUS
LiveBeginLive(
    _Inout_ PREADER_LIVE Live
    );

//
// Forgets what the last interval had, and closes threads that have ended.
//

VOID
LiveBeginLiveInterval(
    _Inout_ PREADER_LIVE Live
    );

//
// Reads until what has been read is fresh, and charges the running functions
// up to then.  IsRefresh is FALSE for a pass in the middle of an interval.
// IsRefresh: whether what comes of it is shown.
//

_Must_inspect_result_
NTSTATUS
LiveCatchUpLive(
    _Inout_ PREADER_LIVE Live,
    _In_ BOOLEAN IsRefresh
    );

//
// Decides whether a thread may write more.
// Returns TRUE if the process runs and one of the thread's stores is open.
//

BOOLEAN
LiveIsLiveThreadGrowing(
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_THREAD Thread
    );

//
// A thread's records that its writer overwrote before they were read.
//

ULONGLONG
LiveCountLiveOvertaken(
    _In_ PCREADER_LIVE_THREAD Thread
    );

#endif // TRACER_LIVE_READ_H
