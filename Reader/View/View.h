/*++

Module Name:

    View.h

Abstract:

    A session as the viewer asks for it: what was open when, at any zoom, and
    what a range adds up to.  Portable, like the rest of the reader above its
    RTL; the page runs it as WebAssembly.

--*/

#ifndef TRACER_VIEW_H
#define TRACER_VIEW_H

#include "../Base/BaseOptions.h"
#include "../Calls/CallSiteTable.h"
#include "../Core/CoreHistogram.h"
#include "../Functions/Function.h"
#include "../Sums/SumTree.h"
#include "ViewLevels.h"

//
// A box of the finest level is of so many records, as far as they come at one
// rate: fewer where there are few; and a query that has no more of them in its
// range reads the records themselves.  Where they are many bytes (a browser
// takes 5 to 10 ms for each MiB), it does if the boxes would be wider than some
// pixels.
//

#define READER_VIEW_LEAST_RECORDS 16u
#define READER_VIEW_MOST_RECORDS 64u
#define READER_VIEW_HUGE_RECORDS 512u
#define READER_VIEW_HUGE 0x8000000ULL
#define READER_VIEW_RAW 0x18000u
#define READER_VIEW_RAW_BYTES 0x140000u
#define READER_VIEW_RAW_PIXELS 4u
#define READER_VIEW_SAMPLE 4096u

//
// Records from one mark of the page's indexes to the next, 256 KiB of them: a
// query reads from the mark before its range on.  Indexes beside the stores,
// which TraceReader writes, and those of long threads have fewer.
//

#define READER_VIEW_INDEX_INTERVAL 0x4000u
#define READER_VIEW_ENDED 0x4000u       // ordinary calls at a time
#define READER_VIEW_SINGLE 4096u        // as many calls are boxes each

//
// Boxes of all threads, and of one at least; where there are more a thread's
// finest level goes.
//

#define READER_VIEW_MAXIMUM_BOXES 0x600000ULL
#define READER_VIEW_LEAST_BOXES 0x8000ULL

typedef struct _READER_VIEW_ROW {
    ULONG Track;                    // 0: the thread's own stack; else a fiber
    ULONG Depth;
} READER_VIEW_ROW;
typedef READER_VIEW_ROW *PREADER_VIEW_ROW;

//
// Where records of a thread could not be read: they are damaged, or their
// writer was faster.  There are so many at most; the last is of all that
// follow.
//

#define READER_VIEW_MAXIMUM_LOSSES 256u

typedef struct _READER_VIEW_LOSS {
    ULONGLONG Start;                // of the record before
    ULONGLONG Stop;                 // of the record behind
    ULONGLONG Number;               // of records
} READER_VIEW_LOSS;
typedef READER_VIEW_LOSS *PREADER_VIEW_LOSS;

//
// What all of a thread adds up to, of a function.
//

typedef struct _READER_VIEW_SUM {
    READER_STATISTICS Statistics;
    ULONG Function;
} READER_VIEW_SUM;
typedef READER_VIEW_SUM *PREADER_VIEW_SUM;

typedef struct _READER_VIEW_THREAD {
    READER_LEVELS Levels;
    READER_MAP RowIndexes;          // (track << 32) | depth to row
    PREADER_VIEW_ROW Rows;
    ULONG NumberOfRows;
    ULONG CapacityOfRows;
    PULONGLONG Samples;             // the time of each READER_VIEW_SAMPLEth
    ULONG NumberOfSamples;          // record
    ULONG CapacityOfSamples;
    ULONGLONG NumberOfMarks;        // of the index that was used last; 0: none
    ULONGLONG NumberOfRecords;      // read so far
    ULONGLONG Known;                // the time of the last that was read
    PREADER_VIEW_LOSS Losses;       // in the order of time
    ULONG NumberOfLosses;
    ULONG CapacityOfLosses;
    ULONGLONG NumberLost;           // in all of them
    PREADER_VIEW_SUM Sums;          // if it HasSums: of the functions that
    ULONG NumberOfSums;             // have any
    ULONG CapacityOfSums;
    PREADER_BOX OpenCalls;          // of a session that goes on: those that are
    ULONG NumberOfOpenCalls;        // open there; Unused is their row
    ULONG CapacityOfOpenCalls;
    BOOLEAN IsBegun;
    BOOLEAN IsDone;                 // for now
    BOOLEAN HasSums;                // all that a command would say of it
    NTSTATUS Status;                // why it could not be read to its end
} READER_VIEW_THREAD;
typedef READER_VIEW_THREAD *PREADER_VIEW_THREAD;

//
// The calls of one function.
//

#define READER_VIEW_SLOWEST 100u

typedef struct _READER_VIEW_CALL {
    ULONGLONG Start;
    ULONGLONG Stop;
    ULONGLONG Ticks;                // that it took, without pauses
    ULONG Thread;
    ULONG Depth;
} READER_VIEW_CALL;
typedef READER_VIEW_CALL *PREADER_VIEW_CALL;
typedef const READER_VIEW_CALL *PCREADER_VIEW_CALL;

typedef enum _READER_VIEW_CALLS_KIND {
    ReaderViewSlowest = 0,          // all of them are looked at
    ReaderViewFirst,                // until the first that begins in the range
    ReaderViewLast                  // only the last one of these is wanted
} READER_VIEW_CALLS_KIND;

typedef struct _READER_VIEW_CALLS {
    READER_VIEW_CALLS_KIND Kind;
    ULONG Module;                   // these two name the function
    ULONG Rva;
    ULONGLONG Number;               // that ended by an exit, or are open
    ULONGLONG Abandoned;
    PCORE_ARENA Arena;
    CORE_HISTOGRAM Histogram;
    ULONGLONG MaximumTicks;
    READER_VIEW_CALL Found[READER_VIEW_SLOWEST];
    ULONG NumberFound;              // the slowest first, or the one
} READER_VIEW_CALLS;
typedef READER_VIEW_CALLS *PREADER_VIEW_CALLS;

typedef struct _READER_VIEW {
    PCREADER_CONTEXT Context;
    READER_OPTIONS Options;         // none given
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_MAP Callers;             // site of a stub to the module that calls
                                    // it: READER_BOX
    READER_RANGE Range;             // all there is
    READER_TALLY Tally;             // for the sites, of the pass and of
    READER_TALLY Before;            // queries
    CORE_ENDED_LIST Ended;          // of the pass
    PREADER_VIEW_THREAD Threads;    // by index
    ULONG NumberOfThreads;
    ULONG Passing;                  // the thread that is read; READER_NONE
    READER_STREAM Stream;           // of that
    READER_LEVELS Found;            // what was asked for
    ULONG FoundThread;
    READER_RANGE Asked;             // what is added up
    PREADER_STATISTICS Sums;        // by function; NULL: there are none
    ULONG NumberOfSums;
    READER_FUNCTIONS Apart;         // of the tree, with AreStubsApart; no
                                    // Session: there is none yet
    READER_TREE Tree;               // its functions are those of Apart, if
    BOOLEAN HasTree;                // there are imports
    READER_VIEW_CALLS Calls;
    BOOLEAN IsOpen;
    BOOLEAN IsLive;                 // the session goes on
    BOOLEAN HasFunctions;
} READER_VIEW;
typedef READER_VIEW *PREADER_VIEW;

//
// Opens a session.  FALSE: what is wrong has been written to the context's
// errors.  To be closed in any case.
// IsLive: it may go on.
// IsPrivate: nobody else sees what is written beside its stores.
// IsAllRuns: of sessions of several runs all are read, if they are of one boot.
//

_Success_(return != FALSE)
BOOLEAN
ViewOpen(
    _Out_ PREADER_VIEW View,
    _In_ PCREADER_CONTEXT Context,
    _In_ BOOLEAN IsLive,
    _In_ BOOLEAN IsPrivate,
    _In_ BOOLEAN IsAllRuns,
    _In_z_ PCWSTR Path,
    _In_z_ PCSZ PathUtf8
    );

//
// Looks what there is by now of a session that goes on; no thread is in the
// middle of its pass.  ViewPass then reads on where it was.  FALSE: what is
// wrong has been written.
//

_Success_(return != FALSE)
BOOLEAN
ViewRefresh(
    _Inout_ PREADER_VIEW View
    );

VOID
ViewClose(
    _Inout_ PREADER_VIEW View
    );

//
// Reads so many further records of a thread into its levels; once it has been
// begun no other thread is read before it is done.
//
//     STATUS_END_OF_FILE: it is done
//

_Must_inspect_result_
NTSTATUS
ViewPass(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread,
    _In_ ULONG NumberOfRecords
    );

//
// Finds the boxes of a thread for a picture of a range: View->Found has one
// level with them.
// Begin, End: time stamps.
// Pixels: as many as the picture is wide.
//

_Must_inspect_result_
NTSTATUS
ViewQuery(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_ ULONG Pixels,
    _In_ ULONG MaximumDepth
    );

//
// The same from the records alone, of a thread that is not in the middle of its
// pass and may not have begun it: where a call ends that is open at the end of
// the range is found nearby only.
// MaximumRecords: STATUS_BUFFER_OVERFLOW if there are more in the range.
//

_Must_inspect_result_
NTSTATUS
ViewQueryAtOnce(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Thread,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_ ULONG Pixels,
    _In_ ULONG MaximumDepth,
    _In_ ULONGLONG MaximumRecords
    );

//
// About how many bytes of the thread's files ViewQuery will read, one after the
// other, with the same arguments, once the thread has been read.
// 0: none.
//

ULONGLONG
ViewEstimateReading(
    _In_ const READER_VIEW *View,
    _In_ ULONG Thread,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_ ULONG Pixels
    );

//
// The following read what they are asked for, from a mark of an index on; no
// thread may be in the middle of its pass.  The range is from Begin to End,
// both of it; READER_VIEW_ALL and any End: everything, trees too.
//
// Selected: by thread, whether it is read; NULL: all.
//

#define READER_VIEW_ALL 0xFFFFFFFFFFFFFFFFULL

//
// Adds up each function's calls, as `report` does: View->Sums.  Of everything
// the pass has done that already for threads that HaveSums.
//

_Must_inspect_result_
NTSTATUS
ViewSum(
    _Inout_ PREADER_VIEW View,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_opt_ const UCHAR *Selected
    );

//
// Adds up chains of calls, as `tree` does: View->Tree.
//

_Must_inspect_result_
NTSTATUS
ViewSumTree(
    _Inout_ PREADER_VIEW View,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_opt_ const UCHAR *Selected
    );

//
// The function of a node of View->Tree, in View->Functions, and, of an import,
// the module that called: as in READER_BOX.
//

_Must_inspect_result_
NTSTATUS
ViewFindNode(
    _Inout_ PREADER_VIEW View,
    _In_ ULONG Node,
    _Out_ PULONG Function,
    _Out_ PUSHORT Caller
    );

//
// Looks at the calls of one function; View->Calls says which, and what is
// wanted, and receives it.
//

_Must_inspect_result_
NTSTATUS
ViewFindCalls(
    _Inout_ PREADER_VIEW View,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End,
    _In_opt_ const UCHAR *Selected
    );

#endif // TRACER_VIEW_H
