/*++

Module Name:

    CommandReplay.h

Abstract:

    The columns of replay, in CSV and JSON.

--*/

#ifndef TRACER_COMMAND_REPLAY_H
#define TRACER_COMMAND_REPLAY_H

#include "../Session/SessionProcess.h"
#include "../Functions/FunctionStub.h"

#define READER_REPLAY_COLUMNS                                                  \
    { "", "time", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,                 \
      "From the session's first record." },                                    \
    { "", "thread_id", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,          \
      "The thread's identifier; null for a mark, start, stop or clear that "   \
      "was requested from outside the program." },                             \
    READER_PROCESS_COLUMNS,                                                    \
    { "", "event", ReaderColumnText, 0, 0,                                     \
      "enter, exit, abandoned, unmatched (an exit without an entry) or open "  \
      "(at the end of the data); with --open, open_before (a call that was "   \
      "open at --from: time is when it was entered, and these are a thread's " \
      "first rows); mark, start, stop or clear, of which the fields depth to " \
      "clock_jump are null." },                                                \
    { "", "depth", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,              \
      "0 is the outermost." },                                                 \
    { "", "duration", ReaderColumnTime, 0, READER_COLUMN_NULLABLE,             \
      "How long the call took; null for enter and unmatched." },               \
    READER_CALLER_COLUMN(0),                                                   \
    { "", "module", ReaderColumnText, 0, READER_COLUMN_NULLABLE,               \
      "The module's file name." },                                             \
    { "", "function", ReaderColumnText, 0, READER_COLUMN_NULLABLE,             \
      "The function's name, or module+0xRVA." },                               \
    { "", "fiber", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,              \
      "0: the thread's own stack; otherwise the number of one of its "         \
      "fibers." },                                                             \
    { "", "tail_call", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,          \
      "1 for an enter if the function that ended just before jumped here." },  \
    { "", "clock_jump", ReaderColumnNumber, 0, READER_COLUMN_NULLABLE,         \
      "1: the clock thread may have stood still before this." },               \
    { "", "text", ReaderColumnText, 0, READER_COLUMN_NULLABLE,                 \
      "A mark's text; null for all others." }

#define READER_REPLAY_WALL_COLUMN                                              \
    { "", "wall_time", ReaderColumnText, 0, READER_COLUMN_OPTIONAL,            \
      "With --wall only: date and time of day (ISO 8601), with Z or the "      \
      "difference from UTC." }

#define READER_REPLAY_TABLE(Columns)                                           \
    { "events", Columns, RTL_NUMBER_OF(Columns), FALSE, FALSE,                 \
      "Events in the order of time." }

#endif // TRACER_COMMAND_REPLAY_H
