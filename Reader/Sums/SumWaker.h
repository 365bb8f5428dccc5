/*++

Module Name:

    SumWaker.h

Abstract:

    What a thread did during single calls, from an event trace log: what it
    waited for, and who made it ready again.

--*/

#ifndef TRACER_SUM_WAKER_H
#define TRACER_SUM_WAKER_H

#include "../Calls/CallWalk.h"
#include "SumEtl.h"

typedef struct _READER_CALL_STATES {
    ULONG Thread;                   // index; these three are the caller's
    ULONGLONG Start;                // time stamp
    ULONGLONG Ticks;
    READER_STATE_SUMS Sums;
    ETL_WAIT Wait;
    BOOLEAN HasWaited;              // Wait is there
    BOOLEAN IsAnswered;             // Function was looked for
    ULONG Waker;                    // who ended it: the session's thread,
                                    // index; READER_NONE: none of them
    ULONG Process;                  // of who ended it, identifier; READER_NONE:
                                    // not known
    const CHAR *Name;               // its image's; NULL: not known
    ULONG NameLength;               // bytes
    ULONG Function;                 // that it was in; READER_NONE: in none that
                                    // was recorded
} READER_CALL_STATES;
typedef READER_CALL_STATES *PREADER_CALL_STATES;
typedef const READER_CALL_STATES *PCREADER_CALL_STATES;

#define READER_CALL_STATE_COLUMNS                                           \
    READER_STATE_COLUMNS,                                                   \
    { "Wait reason", "wait_reason", ReaderColumnText, 13,                   \
      READER_COLUMN_OF_ETL,                                                 \
      "With --etl: the reason to wait that took longest in total, as "      \
      "KWAIT_REASON names it; null if the thread did not wait." },          \
    { "Made ready by", "ready_by", ReaderColumnText, 20,                    \
      READER_COLUMN_OF_ETL,                                                 \
      "Who ended the longest of these waits: thread, or interrupt; null if " \
      "that is not known." },                                               \
    { "", "ready_by_thread", ReaderColumnNumber, 0,                         \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "That thread's identifier." },                                        \
    { "", "ready_by_process", ReaderColumnNumber, 0,                        \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "Its process's identifier; null if it is not known." },               \
    { "", "ready_by_process_name", ReaderColumnText, 0,                     \
      READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_DATA, \
      "The file name of its process's image; null if it is not known." },   \
    { "In", "ready_by_function", ReaderColumnText, 12,                      \
      READER_COLUMN_OF_ETL,                                                 \
      "The innermost function that it was in then; null if it was in none " \
      "that is recorded." }

//
// Finds what is to be known of some calls.  The threads that ended their waits
// are read for that, as far as they are the session's.
// Functions: the table of functions, which may grow.
//

VOID
SumWakerDescribe(
    _In_ PCREADER_ETL Etl,
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ PCREADER_OPTIONS Options,
    _Inout_updates_(Count) PREADER_CALL_STATES Calls,
    _In_ ULONG Count
    );

//
// Writes the cells of READER_CALL_STATE_COLUMNS.
//

VOID
SumWakerPut(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_FUNCTIONS *Functions,
    _In_ PCREADER_CALL_STATES Call
    );

#endif // TRACER_SUM_WAKER_H
