/*++

Module Name:

    LiveModel.h

Abstract:

    A refresh as numbers and names, without a session.

--*/

#ifndef TRACER_LIVE_MODEL_H
#define TRACER_LIVE_MODEL_H

#include "LiveRead.h"

typedef struct _READER_LIVE_FUNCTION_ROW {
    PCSZ Name;                      // UTF-8, as the image has it
    ULONG NameLength;               // bytes
    BOOLEAN IsShown;                // --function, --exclude
    BOOLEAN IsRunning;              // it ran in this interval
    ULONGLONG Calls;                // of the interval
    ULONGLONG CallsPerSecond;
    ULONGLONG SelfTicks;            // of the interval
    ULONGLONG SelfPerSecond;        // ticks
    ULONGLONG SelfPerMille;         // of all functions' in the interval
    ULONGLONG AllCalls;
    ULONGLONG AllTotalTicks;
    ULONGLONG AllSelfTicks;
    ULONGLONG AverageTicks;
    BOOLEAN HasAverage;             // a call has ended
    ULONG PlaceLength;              // bytes; 0: no other one has its name
    CHAR Place[96];                 // the module, and the process if another
                                    // one has a module of that name
    ULONG Function;                 // in the table of functions
} READER_LIVE_FUNCTION_ROW;
typedef READER_LIVE_FUNCTION_ROW *PREADER_LIVE_FUNCTION_ROW;
typedef const READER_LIVE_FUNCTION_ROW *PCREADER_LIVE_FUNCTION_ROW;

typedef struct _READER_LIVE_THREAD_ROW {
    ULONG ThreadId;
    const CHAR *Name;
    ULONG NameLength;               // bytes; 0: it has none
    PCSZ State;                     // a literal
    ULONGLONG CallsPerSecond;
    ULONGLONG Records;              // since reading began
    ULONGLONG SizeInBytes;          // of its stores' records
    ULONG FirstFrame;               // index
    ULONG Depth;                    // number of frames
    PCSZ Innermost;                 // the running function's name
    ULONG InnermostLength;          // bytes; 0: none
    ULONG Same;                     // the session's thread that this is: its
                                    // index, or that of the first of these
    BOOLEAN IsRunning;
    CHAR Label[256];                // what Name is where there are several
                                    // processes: the process's, and its own
} READER_LIVE_THREAD_ROW;
typedef READER_LIVE_THREAD_ROW *PREADER_LIVE_THREAD_ROW;
typedef const READER_LIVE_THREAD_ROW *PCREADER_LIVE_THREAD_ROW;

typedef struct _READER_LIVE_FRAME_ROW {
    PCSZ Name;
    ULONG NameLength;               // bytes
    ULONG Track;                    // 0: the thread's own stack
    ULONGLONG AgeInTicks;
    ULONG Function;                 // in the table of functions
    BOOLEAN IsShown;                // --function, --exclude
    BOOLEAN IsAssumed;              // records after its entry were left out
} READER_LIVE_FRAME_ROW;
typedef READER_LIVE_FRAME_ROW *PREADER_LIVE_FRAME_ROW;
typedef const READER_LIVE_FRAME_ROW *PCREADER_LIVE_FRAME_ROW;

//
// A chain of calls.  The first two are the root and what is in no chain.
//

#define READER_LIVE_FIRST_NODE 2u

typedef struct _READER_LIVE_NODE {
    PCSZ Name;
    ULONG NameLength;               // bytes
    ULONG Function;                 // in the table of functions; READER_NONE:
                                    // of the first two
    ULONG Row;                      // of the functions; READER_NONE: none
    ULONG Caller;                   // the function above, or the module that
                                    // called: READER_IS_CALLING_MODULE
    PCSZ CallerName;                // of such a module
    ULONG CallerLength;             // bytes
    ULONG Parent;
    ULONG FirstChild;               // by time; READER_NONE: none
    ULONG NextSibling;              // READER_NONE: the last
    ULONG Depth;                    // 0 is the outermost
    BOOLEAN IsShown;                // --function, --exclude: of a function
                                    // that is, or inside of one
    BOOLEAN IsExcluded;             // or inside of one that is
    ULONGLONG Calls;
    ULONGLONG SelfTicks;
    ULONGLONG TotalTicks;
} READER_LIVE_NODE;
typedef READER_LIVE_NODE *PREADER_LIVE_NODE;
typedef const READER_LIVE_NODE *PCREADER_LIVE_NODE;

//
// A function may have been seen without a call where calls are counted.
//

#define READER_LIVE_WAS_SEEN(Row)                                           \
    ((Row)->AllCalls != 0 || (Row)->AllSelfTicks != 0 ||                    \
     (Row)->AllTotalTicks != 0)

#define READER_LIVE_SENTENCE_SIZE 240   // bytes

//
// The beginning of a line on what is followed.
//

#define READER_PUT_LIVE_PROCESS(Writer, Model, First)                       \
    do {                                                                    \
        if ((Model)->NumberOfProcesses > 1) {                               \
            RtlWriteText((Writer),                                          \
                         "%u processes",                                    \
                         (Model)->NumberOfProcesses);                       \
        } else {                                                            \
            RtlWriteText((Writer),                                          \
                         "%srocess %u",                                     \
                         (First),                                           \
                         (Model)->ProcessId);                               \
        }                                                                   \
    } while (0)

typedef struct _READER_LIVE_MODEL {
    PCALLOCATOR Allocator;
    PCSZ Path;                      // UTF-8, of the session
    PCCORE_CLOCK Clock;
    ULONG ProcessId;
    ULONG NumberOfProcesses;        // of several, ProcessId is the first's
    ULONG NumberOfRunning;          // threads
    ULONGLONG SystemTime;           // FILETIME
    ULONGLONG IntervalInNanoseconds;    // 0: not known
    ULONGLONG NewRecords;           // of a session of trees alone, calls
    ULONGLONG AllRecords;
    ULONGLONG CallsPerSecond;
    ULONGLONG SamplePerMille;       // of the interval's records; 1000: all
    ULONG ThreadsOfTrees;           // with more than one
    BOOLEAN IsOfTrees;              // there are no records
    BOOLEAN IsEnded;                // the numbers are those of the whole run
    BOOLEAN IsWhole;                // likewise: it had ended before
    BOOLEAN IsLate;                 // reading does not keep up
    ULONGLONG CallsLimit;           // per second, and
    ULONGLONG AllCallsLimit;        // since reading began: what the calls of
                                    // a function stay below of which none
                                    // was seen
    ULONGLONG SincePerMille;        // of those since reading began, read
    BOOLEAN IsEstimated;            // some of All* are
    BOOLEAN IsBackUnread;           // frames from before are not known
    ULONGLONG Overtaken;            // records overwritten before they were
                                    // read
    ULONGLONG AgeInMilliseconds;    // of what is shown
    PCSZ ClockName;                 // NULL: that of the time stamp counter
    CHAR End[READER_LIVE_SENTENCE_SIZE];    // how the program ended
    ULONG EndLength;
    PREADER_LIVE_FUNCTION_ROW Functions;
    ULONG NumberOfFunctions;
    ULONG CapacityOfFunctions;
    ULONG NumberOfPlaced;           // of them, whose Place is known
    PULONG ByName;                  // for finding names that meet twice
    ULONG CapacityOfByName;
    PREADER_LIVE_THREAD_ROW Threads;
    ULONG NumberOfThreads;
    ULONG CapacityOfThreads;
    PREADER_LIVE_FRAME_ROW Frames;  // by thread, the outermost first
    ULONG NumberOfFrames;
    ULONG CapacityOfFrames;
    PREADER_LIVE_NODE Nodes;        // a parent before its children; one stays
                                    // where it is until they are begun anew
    ULONG NumberOfNodes;            // 0: chains are not kept
    ULONG CapacityOfNodes;
    PULONG NodeOrder;               // by time
    ULONG CapacityOfNodeOrder;
    PULONG RowOf;                   // by function of the table
    ULONG CapacityOfRowOf;
    ULONG Generation;               // how often they were begun
    BOOLEAN AreNodesWhole;          // of the whole run, exactly
    BOOLEAN AreNodesOfTrees;        // some are, since recording began
    BOOLEAN AreNodesEstimated;
    ULONGLONG NodesTicks;           // of all calls in chains
    ULONGLONG NodesCalls;
    ULONGLONG NodesNanoseconds;     // since they were begun
    ULONGLONG NodesPerMille;        // of the records since then, read
    ULONGLONG NodesLimit;           // what a chain's calls stay below of which
                                    // none was seen
} READER_LIVE_MODEL;
typedef READER_LIVE_MODEL *PREADER_LIVE_MODEL;
typedef const READER_LIVE_MODEL *PCREADER_LIVE_MODEL;

//
// What NewRecords and AllRecords are.
//

#define READER_LIVE_UNIT(Model) ((Model)->IsOfTrees ? "calls" : "records")

//
// Makes the model of what has been read. What it points to stays until the
// session is closed.
//
// IsWhole: whether the interval is all that there is: the program had ended
// before it was looked at.
//

_Must_inspect_result_
NTSTATUS
LiveMakeLiveModel(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model,
    _In_ BOOLEAN IsWhole
    );

//
// Makes the model of a whole session whose program has ended, from a tally of
// all its threads.
// Model: the model, which is made anew in the memory that it has.
//

_Must_inspect_result_
NTSTATUS
LiveMakeEndedModel(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_MODEL Model,
    _In_ const READER_TALLY *Tally
    );

//
// Frees what a model holds.
// Model: the model, or all zeroes.
//

VOID
LiveRundownModel(
    _Inout_ PREADER_LIVE_MODEL Model
    );

//
// Says how the program ended, without a line feed; the process is gone.
//

VOID
LiveWriteLiveEnd(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session
    );

//
// Says in plain words how fresh and how good the numbers are, without a line
// feed.
//

VOID
LiveWriteLiveState(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_LIVE_MODEL Model
    );

//
// Write a number in a column of that width, and a time in one of
// READER_TIME_WIDTH.  An estimate has a ~ and three digits at most.
//

#define READER_ESTIMATE_SIZE 16     // bytes, of such a number or time

//
// Writes a number that may be an estimate.
// IsEstimate: whether it is one.
// Limit: what it stays below if it is an estimate of 0: none was seen, which
// is not to say that there was none.
// Width: of the column.
//

VOID
LiveWriteLiveNumber(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Number,
    _In_ BOOLEAN IsEstimate,
    _In_ ULONGLONG Limit,
    _In_ int Width
    );

//
// Writes a time that may be an estimate.
// IsEstimate: whether it is one; of 0 it is a "-": nothing is known, because
// one long call may take any time.
//

VOID
LiveWriteLiveTime(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks,
    _In_ BOOLEAN IsEstimate
    );

#endif // TRACER_LIVE_MODEL_H
