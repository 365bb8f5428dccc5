/*++

Module Name:

    SumEtl.h

Abstract:

    An event trace log (--etl), joined with a session: what its threads did, on
    the session's clock.

--*/

#ifndef TRACER_SUM_ETL_H
#define TRACER_SUM_ETL_H

#include "../Base/BaseOptions.h"
#include "../Etl/EtlStates.h"
#include "../Output/OutputTable.h"
#include "../Session/Session.h"

typedef struct _READER_ETL {
    PREADER_SESSION Session;
    PCSZ Name;                      // UTF-8, as it was given
    HANDLE Handle;                  // NULL: it is not open
    ETL_FILE File;
    ETL_STATES States;              // its threads are the session's
    BOOLEAN IsThere;                // --etl was given
} READER_ETL;
typedef READER_ETL *PREADER_ETL;
typedef const READER_ETL *PCREADER_ETL;

//
// What a thread did in a part of time; the parts make up all of it.
//

typedef struct _READER_STATE_SUMS {
    ULONGLONG Running;              // ticks
    ULONGLONG Ready;
    ULONGLONG Waiting;
    ULONGLONG Unknown;
} READER_STATE_SUMS;
typedef READER_STATE_SUMS *PREADER_STATE_SUMS;
typedef const READER_STATE_SUMS *PCREADER_STATE_SUMS;

#define READER_COLUMN_OF_ETL                                                \
    (READER_COLUMN_OPTIONAL | READER_COLUMN_NULLABLE | READER_COLUMN_ASKED)

#define READER_STATE_COLUMNS                                                \
    { "Running", "running", ReaderColumnTime, READER_TIME_WIDTH,            \
      READER_COLUMN_OF_ETL,                                                 \
      "With --etl: the part of the time in which the thread ran. Null, "    \
      "like the next three fields, where there are no times of calls." },   \
    { "Ready", "ready", ReaderColumnTime, READER_TIME_WIDTH,                \
      READER_COLUMN_OF_ETL,                                                 \
      "The part in which it could have run, but no processor was free." },  \
    { "Waiting", "waiting", ReaderColumnTime, READER_TIME_WIDTH,            \
      READER_COLUMN_OF_ETL,                                                 \
      "The part in which it waited." },                                     \
    { "Unknown", "unknown", ReaderColumnTime, READER_TIME_WIDTH,            \
      READER_COLUMN_OF_ETL,                                                 \
      "The part of which the log does not say what the thread did." }

#define READER_ETL_NOTE                                                     \
    "With --etl FILE, an event trace log that Windows recorded at the same\n" \
    "time says in which part of the time a thread ran, was ready to, or\n"  \
    "waited.  Unknown is what it does not say: before a thread's first\n"   \
    "event, after the last one, and around what it lost.\n"

//
// Opens the log that --etl names, if it does, and joins it with the session.
// FALSE: it cannot be joined, and the reason has been written.
// Etl: good for SumEtlClose in any case.
//

_Success_(return != FALSE)
BOOLEAN
SumEtlOpen(
    _Out_ PREADER_ETL Etl,
    _In_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options
    );

VOID
SumEtlClose(
    _Inout_ PREADER_ETL Etl
    );

//
// Says what a thread did in a time of so many ticks.
// Ticks: what the time between the two is to be counted as.
//

VOID
SumEtlQuery(
    _In_ PCREADER_ETL Etl,
    _In_ ULONG Thread,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End,
    _In_ ULONGLONG Ticks,
    _Out_ PREADER_STATE_SUMS Sums
    );

//
// Finds when something ends that took so many ticks in which recording was not
// stopped.
//

ULONGLONG
SumEtlFindEnd(
    _In_ PCREADER_ETL Etl,
    _In_ ULONG Thread,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG Ticks
    );

//
// Says what a thread did in a call that took so many of them.
//

VOID
SumEtlQueryCall(
    _In_ PCREADER_ETL Etl,
    _In_ ULONG Thread,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG Ticks,
    _Out_ PREADER_STATE_SUMS Sums
    );

//
// The ticks between two times in which recording was not stopped.
//

ULONGLONG
SumEtlCountTicks(
    _In_ PCREADER_ETL Etl,
    _In_ ULONG Thread,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    );

//
// The reason of a wait, as KWAIT_REASON names it; NULL: none, or not known.
//

PCSZ
SumEtlNameReason(
    _In_ PCETL_SPAN Span
    );

//
// Writes the cells of READER_STATE_COLUMNS; NULL: there are no values.
//

VOID
SumEtlPutSums(
    _Inout_ PREADER_OUTPUT Output,
    _In_opt_ PCREADER_STATE_SUMS Sums
    );

//
// Writes them into a line of text, each behind a blank, in READER_TIME_WIDTH
// places; and their titles.
//

VOID
SumEtlWriteSums(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_opt_ PCREADER_STATE_SUMS Sums
    );

VOID
SumEtlWriteTitles(
    _Inout_ PRTL_WRITER Writer
    );

//
// When the session's first record was, and its last one: time stamps.
//

VOID
SumEtlQuerySession(
    _In_ PCREADER_ETL Etl,
    _Out_ PULONGLONG First,
    _Out_ PULONGLONG Last
    );

//
// The share of the session that the log covers, percent with two decimals.
//

ULONGLONG
SumEtlQueryCoverage(
    _In_ PCREADER_ETL Etl
    );

//
// Says, in text output, what the log covers and what it lacks.
//

VOID
SumEtlPutNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_ETL Etl
    );

#endif // TRACER_SUM_ETL_H
