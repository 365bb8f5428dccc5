/*++

Module Name:

    SumStates.h

Abstract:

    What threads did during the calls of each function, or of each node of a
    call tree, from an event trace log.

--*/

#ifndef TRACER_SUM_STATES_H
#define TRACER_SUM_STATES_H

#include "../Calls/CallWalk.h"
#include "SumEtl.h"
#include "SumTree.h"

//
// Of a function: its calls but for those that were abandoned, as total and self
// of a report count them.  Unknown is not in it: it is what is left of them.
//

typedef struct _READER_FUNCTION_STATES {
    ETL_SUMS Total;                 // without samples
    ETL_SUMS Self;
} READER_FUNCTION_STATES;
typedef READER_FUNCTION_STATES *PREADER_FUNCTION_STATES;
typedef const READER_FUNCTION_STATES *PCREADER_FUNCTION_STATES;

//
// What is open while a thread is read.
//

typedef struct _READER_OPEN_STATES {
    ULONGLONG Enter;                // time stamp, pauses or not
    ETL_SUMS Self;
    ULONG Slot;                     // whose sums: a function, or a node;
                                    // READER_NONE: --depth leaves it out
    ULONG NextFree;                 // index + 1
} READER_OPEN_STATES;
typedef READER_OPEN_STATES *PREADER_OPEN_STATES;

typedef struct _READER_STATES {
    PCREADER_ETL Etl;               // these three are the caller's
    ULONG Process;                  // whose threads count; READER_NONE: all
    READER_WALK Walk;               // Functions, Range and Options
    const READER_TREE *Tree;        // the caller's, too: whose nodes count in
                                    // place of functions; NULL: none
    PREADER_FUNCTION_STATES List;   // by function, or by node
    ULONG CapacityOfList;
    PULONG Active;                  // likewise: calls that are open
    ULONG CapacityOfActive;
    PREADER_OPEN_STATES Open;
    ULONG NumberOfOpen;
    ULONG CapacityOfOpen;
    ULONG FreeOpen;                 // index + 1
    ULONG Thread;                   // that is being read
    ULONG Current;                  // open states of the innermost call, index
                                    // + 1; 0: there is none
    ULONGLONG LastTimestamp;        // of the thread's events
} READER_STATES;
typedef READER_STATES *PREADER_STATES;

//
// Reads all threads that are selected, by the general way. Returns
// READER_EXIT_*; threads that cannot be read have been reported, unless the
// walk is silent.
//

ULONG
SumStatesRead(
    _Inout_ PREADER_STATES States
    );

//
// The same of a tree, which has been built, by its nodes.  What could not be
// read was said when it was.
//

VOID
SumStatesReadTree(
    _Out_ PREADER_STATES States,
    _In_ PCREADER_ETL Etl,
    _In_ const READER_TREE *Tree,
    _In_ PCREADER_OPTIONS Options
    );

//
// The sums of a function or node; zero if there are none.
//

PCREADER_FUNCTION_STATES
SumStatesFind(
    _In_ const READER_STATES *States,
    _In_ ULONG Slot
    );

//
// Adds a node's sums.
// IsOutermost: whether its total counts, too.
//

VOID
SumStatesAddNode(
    _Inout_ PREADER_FUNCTION_STATES Sums,
    _In_ PCREADER_FUNCTION_STATES Node,
    _In_ BOOLEAN IsOutermost
    );

VOID
SumStatesRundown(
    _Inout_ PREADER_STATES States
    );

//
// Further columns of functions, and the cells of all of them.  Ticks are those
// of the report; NULL: the function has calls without times.
//

#define READER_FUNCTION_STATE_COLUMNS                                       \
    READER_STATE_COLUMNS,                                                   \
    { "Self running", "self_running", ReaderColumnTime, READER_TIME_WIDTH,  \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The same of the time without the calls inside." },                   \
    { "Self ready", "self_ready", ReaderColumnTime, READER_TIME_WIDTH,      \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The same." },                                                        \
    { "Self waiting", "self_waiting", ReaderColumnTime, READER_TIME_WIDTH,  \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The same." },                                                        \
    { "Self unknown", "self_unknown", ReaderColumnTime, READER_TIME_WIDTH,  \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The same." },                                                        \
    { "Samples", "samples", ReaderColumnNumber, 7,                          \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE |                     \
          READER_COLUMN_SAMPLES,                                            \
      "How many profile samples of the log fell into the time without the " \
      "calls inside." }

#define READER_COLUMN_SAMPLES READER_COLUMN_OWN(8)

VOID
SumStatesPut(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_FUNCTION_STATES Sums,
    _In_ PCREADER_STATISTICS Statistics
    );

//
// Says, in text output, what the log covers and lacks, and where there are no
// times.
//

VOID
SumStatesPutNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_ETL Etl
    );

#endif // TRACER_SUM_STATES_H
