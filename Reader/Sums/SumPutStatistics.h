/*++

Module Name:

    SumPutStatistics.h

Abstract:

    The order of statistics, and their cells in a table.

--*/

#ifndef TRACER_SUM_PUT_STATISTICS_H
#define TRACER_SUM_PUT_STATISTICS_H

#include "../Core/CoreStatistics.h"
#include "../Output/OutputTable.h"
#include "../Session/Session.h"

//
// Orders two by a key other than the name, the larger first.
// Returns negative, zero or positive.
//

LONG
SumCompareStatistics(
    _In_ PCREADER_STATISTICS First,
    _In_ PCREADER_STATISTICS Second,
    _In_ READER_SORT_KEY SortKey
    );

//
// The columns that tables of functions and of nodes share, and their cells.
//

#define READER_STATISTICS_COLUMNS                                           \
    { "Calls", "calls", ReaderColumnNumber, 10, 0,                          \
      "Calls, including those that were abandoned." },                      \
    { "Total", "total", ReaderColumnTime, READER_TIME_WIDTH,                \
      READER_COLUMN_NULLABLE,                                               \
      "Inclusive time of the calls; recursive calls count once. Abandoned " \
      "calls are not included in this and the next five fields." },         \
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH,                  \
      READER_COLUMN_NULLABLE,                                               \
      "The same times without the time of the calls inside." },             \
    { "Average", "average", ReaderColumnTime, READER_TIME_WIDTH,            \
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,                        \
      "Average inclusive time of a call; null in a tree of an earlier "     \
      "version, where abandoned ones are in the total." },                  \
    { "Min", "min", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,                        \
      "Shortest inclusive time of a call." },                               \
    { "Max", "max", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_LESSER,                        \
      "Longest inclusive time of a call." },                                \
    { "Abandoned", "abandoned", ReaderColumnNumber, 9,                      \
      READER_COLUMN_ABANDONED,                                              \
      "Calls that were left without an exit: exception, longjmp, no "       \
      "return. In a session of records, what was called until the next "    \
      "record of a caller may be shown inside them." },                     \
    { "Abandoned time", "abandoned_time", ReaderColumnTime, 14,             \
      READER_COLUMN_NULLABLE | READER_COLUMN_ABANDONED,                     \
      "Their inclusive time, up to the record that proved them gone; null " \
      "where it is part of total and self, in a tree of an earlier "        \
      "version." },                                                         \
    { "Unfinished", "unfinished", ReaderColumnNumber, 10,                   \
      READER_COLUMN_UNFINISHED,                                             \
      "Calls that were open at the end of the data or of the range; "       \
      "counted up to there." },                                             \
    { "Uncertain", "uncertain", ReaderColumnNumber, 9,                      \
      READER_COLUMN_UNCERTAIN,                                              \
      "Calls during which the clock thread may have stood still." },        \
    { "Begun before", "begun_before", ReaderColumnNumber, 12,               \
      READER_COLUMN_BEGUN_BEFORE,                                           \
      "Calls that were open when the range of --from began." },             \
    { "Waited", "waited", ReaderColumnTime, READER_TIME_WIDTH,              \
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,                        \
      "Of total, the time inside functions that wait (Docs/Waits.md)." },   \
    { "Ran", "ran", ReaderColumnTime, READER_TIME_WIDTH,                    \
      READER_COLUMN_NULLABLE | READER_COLUMN_WAITED,                        \
      "Total without waited." }

//
// Returns READER_COLUMN_WHEN's bits for text: which numbers are there in the
// rows, added up, and whether there are several modules.
//

ULONG
SumSelectColumns(
    _In_ ULONGLONG Abandoned,
    _In_ ULONGLONG Unfinished,
    _In_ ULONGLONG Uncertain,
    _In_ ULONGLONG BegunBefore,
    _In_ ULONG NumberOfModules
    );

#define READER_ABANDONED_NOTE                                               \
    "Abandoned: left without an exit (exception, longjmp, no return).  "     \
    "Their time, up to the record that showed it, is in no other column; "  \
    "that of calls inside others of the same function is in theirs.  What "  \
    "was called until then (by handlers, destructors) may be shown inside "  \
    "them."

#define READER_UNFINISHED_NOTE                                              \
    "Unfinished: open at the end of the data; counted up to the thread's "   \
    "last record."

#define READER_UNFINISHED_RANGE_NOTE                                        \
    "Unfinished: open at the end of the range; counted up to there, or to "  \
    "the thread's last record."

#define READER_ABANDONED_TREE_NOTE                                          \
    "Abandoned: left without an exit (exception, longjmp, no return).  "     \
    "Their time, up to when that was seen, is in no other column, but for "  \
    "self: in trees that is at most what is shown."

#define READER_ABANDONED_OLD_TREE_NOTE                                      \
    "Abandoned: left without an exit (exception, longjmp, no return).  In "  \
    "trees of an earlier version their time, up to when that was seen, is "  \
    "in total and self, unless all calls of a chain were abandoned."

//
// What is to be said of abandoned calls, by what is in the session.
//

PCSZ
SumQueryAbandonedNote(
    _In_ const READER_SESSION *Session
    );

#define READER_UNFINISHED_NOTE_OF(Session)                                  \
    ((Session)->NumberOfTrees != 0                                          \
         ? "Unfinished: open; counted up to now, or to the last time that "  \
           "is known of a thread that has ended."                           \
         : READER_UNFINISHED_NOTE)

#define READER_UNCERTAIN_NOTE                                               \
    "Uncertain: the clock jumped during the call, so that its time may be "  \
    "wrong by that."

//
// Writes the cells of READER_STATISTICS_COLUMNS.
//

VOID
SumPutStatistics(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_STATISTICS Statistics
    );

#endif // TRACER_SUM_PUT_STATISTICS_H
