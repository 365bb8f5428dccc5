/*++

Module Name:

    BaseOptions.h

Abstract:

    What the user asked a command for: data only. CommandOptions.c fills it in.

--*/

#ifndef TRACER_BASE_OPTIONS_H
#define TRACER_BASE_OPTIONS_H

#include "BaseSettings.h"

#define READER_OPTION_FORMAT      0x1ULL        // --csv, --json, --raw
#define READER_OPTION_SORT        0x2ULL
#define READER_OPTION_LIMIT       0x4ULL
#define READER_OPTION_THREAD      0x8ULL
#define READER_OPTION_MODULE      0x10ULL
#define READER_OPTION_DEPTH       0x20ULL
#define READER_OPTION_INTERVAL    0x40ULL
#define READER_OPTION_COUNT       0x80ULL
#define READER_OPTION_TRACKS      0x100ULL      // --per-thread
#define READER_OPTION_WORKERS     0x200ULL
#define READER_OPTION_GENERAL     0x400ULL
#define READER_OPTION_VERBOSE     0x800ULL
#define READER_OPTION_FROM        0x1000ULL
#define READER_OPTION_TO          0x2000ULL
#define READER_OPTION_NO_INDEX    0x4000ULL
#define READER_OPTION_MARKS       0x8000ULL     // --mark-every
#define READER_OPTION_FROM_START  0x10000ULL
#define READER_OPTION_FILTER      0x20000ULL    // --function, --exclude
#define READER_OPTION_TIMES       0x40000ULL
#define READER_OPTION_SYMBOLS     0x80000ULL
#define READER_OPTION_NO_CACHE    0x100000ULL
#define READER_OPTION_LINES       0x200000ULL
#define READER_OPTION_PROBE       0x400000ULL   // --subtract-probe
#define READER_OPTION_PERCENTILES 0x800000ULL
#define READER_OPTION_OUTPUT      0x1000000ULL
#define READER_OPTION_EXPORT      0x2000000ULL  // --format
#define READER_OPTION_SPLIT       0x4000000ULL  // --split-size
#define READER_OPTION_MINIMUM     0x8000000ULL  // --min
#define READER_OPTION_STATIC      0x10000000ULL
#define READER_OPTION_HTML        0x20000000ULL
#define READER_OPTION_BUDGET      0x40000000ULL
#define READER_OPTION_PLAIN       0x80000000ULL
#define READER_OPTION_PROCESS     0x10000000000ULL
#define READER_OPTION_BY          0x20000000000ULL
#define READER_OPTION_ALL         0x100000000ULL
#define READER_OPTION_SETTING     0x200000000ULL    // those of run
#define READER_OPTION_REPORT      0x400000000ULL
#define READER_OPTION_NO_SYMBOLS  0x800000000ULL
#define READER_OPTION_NAMES_FROM  0x40000000000ULL  // --functions-from
#define READER_OPTION_EXCLUDE_LIST 0x80000000000ULL
#define READER_OPTION_ETL         0x2000000000000000ULL
#define READER_OPTION_GZIP        0x4000000000000000ULL
#define READER_OPTION_DATASET     0x8000000000ULL   // --append and its kin
#define READER_OPTION_TAIL        0x100000000000ULL
#define READER_OPTION_NAMES       0x200000000000ULL
#define READER_OPTION_WIDTH       0x100000000000000ULL
#define READER_OPTION_OLDER       0x10000000000000ULL   // those of sessions
#define READER_OPTION_KEEP        0x20000000000000ULL
#define READER_OPTION_LARGER      0x40000000000000ULL
#define READER_OPTION_REMOVE      0x80000000000000ULL
#define READER_OPTION_INTERNALS   0x8000000000000ULL
#define READER_OPTION_ALL_RUNS    0x800000000000ULL
#define READER_OPTION_MIN_DURATION 0x1000000000000ULL
#define READER_OPTION_OPEN        0x2000000000000ULL
#define READER_OPTION_WALL        0x4000000000000ULL
#define READER_OPTION_COLOR       0x200000000000000ULL
#define READER_OPTION_PAGER       0x1000000000ULL   // and --no-pager
#define READER_OPTION_EMBED       0x2000000000ULL
#define READER_OPTION_NO_OPEN     0x4000000000ULL
#define READER_OPTION_COLLECT     0x400000000000ULL     // --seconds
#define READER_OPTION_WAITS       0x1000000000000000ULL // and --contention
#define READER_OPTION_LEVELS      0x400000000000000ULL

//
// What all commands take that read records and name functions.
//

#define READER_OPTIONS_OF_READING                                           \
    (READER_OPTION_NO_INDEX | READER_OPTION_MARKS |                         \
     READER_OPTION_SYMBOLS | READER_OPTION_NO_CACHE |                       \
     READER_OPTION_PROCESS | READER_OPTION_ALL | READER_OPTION_ALL_RUNS |   \
     READER_OPTION_NAMES)

//
// --width: tables are laid out for a terminal, if there is one, or not.
//

#define READER_WIDTH_AUTO       0u
#define READER_WIDTH_NONE       0xFFFFFFFFu

//
// --names, in the order of its words.
//

#define READER_NAMES_SHORT      0u
#define READER_NAMES_FULL       1u

//
// --encoding, in the order of its words.
//

#define READER_ENCODING_DELTA   0u
#define READER_ENCODING_PLAIN   1u

//
// --color, in the order of its words.
//

#define READER_BY_PROCESS       0u
#define READER_BY_MODULE        1u
#define READER_BY_BOTH          2u      // and 3: process,module and the reverse

#define READER_IS_BY_PROCESS(Options)                                       \
    (((Options)->Given & READER_OPTION_BY) != 0 &&                          \
     (Options)->By != READER_BY_MODULE)

#define READER_IS_BY_MODULE(Options)                                        \
    (((Options)->Given & READER_OPTION_BY) != 0 &&                          \
     (Options)->By != READER_BY_PROCESS)

#define READER_COLOR_AUTO       0u
#define READER_COLOR_ALWAYS     1u
#define READER_COLOR_NEVER      2u

//
// Records from one mark of an index to the next: 1 MiB of them.
//

#define READER_INDEX_INTERVAL   0x10000u

typedef enum _READER_FORMAT {
    ReaderFormatText = 0,
    ReaderFormatCsv,
    ReaderFormatJson
} READER_FORMAT;

typedef enum _READER_SORT_KEY {
    ReaderSortTotal = 0,
    ReaderSortSelf,
    ReaderSortCalls,
    ReaderSortAverage,
    ReaderSortMinimum,
    ReaderSortMaximum,
    ReaderSortWaited,
    ReaderSortName
} READER_SORT_KEY;

//
// A time is nanoseconds after the session's first record, or before its last,
// or of a clock: since midnight or, with a date, since 1601, local or UTC.
//

#define READER_TIME_AFTER_FIRST 0
#define READER_TIME_BEFORE_LAST 1
#define READER_TIME_CLOCK       2       // or more: a clock's
#define READER_TIME_DATE        0x4     // it has a date
#define READER_TIME_UTC         0x8

#define READER_IS_CLOCK_TIME(Kind) ((Kind) >= READER_TIME_CLOCK)

#define READER_MAXIMUM_NAMES 32

typedef struct _READER_FILTER *PREADER_FILTER;      // FunctionFilter.h

typedef struct _READER_OPTIONS {
    PCSZ Command;                   // its name
    PCWSTR Path;
    PCSZ PathUtf8;
    READER_FORMAT Format;
    BOOLEAN IsRaw;                  // --raw
    BOOLEAN IsWallUtc;              // --wall utc
    READER_SORT_KEY SortKey;
    ULONG By;                       // READER_BY_*, with READER_OPTION_BY
    PCWSTR First;                   // the argument before the path; "" if
    PCSZ FirstUtf8;                 // the command takes none
    PCWSTR Second;                  // of a command that takes its path first,
    PCSZ SecondUtf8;                // what comes behind First; or ""
    PCSZ Unknown;                   // an option that the command has not
    ULONGLONG Given;                // READER_OPTION_*: what the user gave
    ULONGLONG Limit;
    ULONGLONG Count;
    ULONG Tail;                     // lines; 0: not given
    ULONG ThreadId;
    ULONG Depth;
    ULONGLONG MinimumDuration;      // nanoseconds (ticks, if the rate is
                                    // unknown); 0: not given
    ULONG IntervalInMilliseconds;
    ULONG NumberOfWorkers;          // 0: one for each processor
    ULONGLONG From;                 // nanoseconds after the session's first
    ULONGLONG To;                   // record (ticks, if the rate is unknown)
    UCHAR FromKind;                 // READER_TIME_*: what these two are
    UCHAR ToKind;
    PCSZ FromMark;                  // instead of these: a mark's text; NULL:
    PCSZ ToMark;                    // not given
    PCSZ FromText;                  // the values, as they were given
    PCSZ ToText;
    ULONGLONG IndexInterval;        // 0: no index
    PCWSTR Module;
    PCWSTR Process;                 // --process; NULL: not given
    PREADER_FILTER Filter;          // NULL: there is none
    PCWSTR Symbols;                 // --symbols; NULL: not given
    PCWSTR Output;                  // --output; NULL: not given
    PCSZ OutputUtf8;
    PCWSTR Html;                    // --html; NULL: not given
    PCSZ HtmlUtf8;
    ULONG ExportFormat;             // --format: of ReaderExportFormats
    ULONGLONG SplitSize;            // bytes; 0: not given
    PCWSTR Append;                  // --append; NULL: not given
    PCSZ AppendUtf8;
    PCWSTR Tables;                  // --tables; NULL: not given
    PCWSTR Host;                    // --host; NULL: not given
    ULONG Encoding;                 // READER_ENCODING_*
    ULONGLONG Minimum;              // bytes
    ULONGLONG Embed;                // bytes
    ULONGLONG Older;                // 100 ns; 0: not given
    ULONGLONG Keep;                 // sessions
    ULONGLONG Larger;               // bytes
    ULONG BudgetInPercent;          // of a processor; 0: not given
    ULONG NumberOfNames;            // what follows the path, of a command
    PCSZ Names[READER_MAXIMUM_NAMES];       // whose arguments end with "..."
    PCWSTR NamesFrom;               // --functions-from; NULL: not given
    PCSZ NamesFromUtf8;
    PCWSTR Etl;                     // --etl; NULL: not given
    PCSZ EtlUtf8;
    PCWSTR ExcludeList;             // --exclude-list; NULL: not given
    PCSZ ExcludeListUtf8;
    PCWSTR Waits;                   // --waits; NULL: not given
    PCSZ WaitsUtf8;
    ULONGLONG Contention;           // nanoseconds (ticks, if the rate is
                                    // unknown)
    ULONG Width;                    // of tables in text; READER_WIDTH_*
    ULONG FunctionNames;            // READER_NAMES_*
    ULONG Color;                    // READER_COLOR_*
    PCWSTR Pager;                   // --pager; NULL: not given
    BOOLEAN IsUnpaged;              // --no-pager
    PCWSTR Settings[ReaderSettingCount];    // of run; NULL: not given
    PCWSTR Program;                 // of run: what follows the program, as it
                                    // was given
    PVOID FoundPaths[2];            // allocated: what First and Path are, if
                                    // they were found
} READER_OPTIONS;
typedef READER_OPTIONS *PREADER_OPTIONS;
typedef const READER_OPTIONS *PCREADER_OPTIONS;

//
// Is the thread one that --thread selects?
//

#define READER_IS_THREAD_SELECTED(Options, ThreadIdentifier)                \
    (((Options)->Given & READER_OPTION_THREAD) == 0 ||                      \
     (Options)->ThreadId == (ThreadIdentifier))

#endif // TRACER_BASE_OPTIONS_H
