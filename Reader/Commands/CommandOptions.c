/*++

Module Name:

    CommandOptions.c

Abstract:

    The options: one row each, with what its value may be and the field that
    it sets; and the parser, which knows no option by name but -o and --help.

--*/

#include "../Base/BaseErrors.h"
#include "../Base/BaseWorkers.h"
#include "../Base/BaseZone.h"
#include "../Export/Export.h"
#include "../Functions/FunctionFilter.h"
#include "../Output/OutputGrid.h"
#include "../Session/SessionFind.h"
#include "CommandOptions.h"

static const PCSZ ReaderSortNames[] = {
    "total",
    "self",
    "calls",
    "avg",
    "min",
    "max",
    "waited",
    "name"
};

static const PCSZ ReaderColorNames[] = {
    "auto",
    "always",
    "never"
};

static const PCSZ ReaderZoneNames[] = {
    "local",
    "utc"
};

static const PCSZ ReaderEncodingNames[] = {
    "delta",
    "plain"
};

static const PCSZ ReaderNamesNames[] = {
    "short",
    "full"
};

static const PCSZ ReaderByNames[] = {
    "process",
    "module",
    "process,module",
    "module,process"
};

//
// What a row says of an option's value: which field of READER_OPTIONS it sets,
// and between what bounds.  Words are an array of names, or of structures that
// begin with one.
//

#define READER_FIELD_NONE .Kind = ReaderOptionGiven
#define READER_FIELD(Field)                                                 \
    .Offset = FIELD_OFFSET(READER_OPTIONS, Field),                          \
    .SizeInBytes = sizeof(((PREADER_OPTIONS)0)->Field)
#define READER_FIELD_SET(Field, Value)                                      \
    .Kind = ReaderOptionSet, READER_FIELD(Field), .Minimum = (Value)
#define READER_FIELD_NUMBER(Field, Least, Most, Otherwise)                  \
    .Kind = ReaderOptionNumber, READER_FIELD(Field), .Minimum = (Least),    \
    .Maximum = (Most), .Default = (Otherwise)
#define READER_FIELD_SIZE(Field, Least)                                     \
    .Kind = ReaderOptionSize, READER_FIELD(Field), .Minimum = (Least)
#define READER_FIELD_AGE(Field)                                             \
    .Kind = ReaderOptionAge, READER_FIELD(Field)
#define READER_FIELD_TIME(Field, Mark, Otherwise)                           \
    .Kind = ReaderOptionTime, READER_FIELD(Field),                          \
    .SecondOffset = FIELD_OFFSET(READER_OPTIONS, Mark),                     \
    .ThirdOffset = FIELD_OFFSET(READER_OPTIONS, Field##Kind),               \
    .FourthOffset = FIELD_OFFSET(READER_OPTIONS, Field##Text),              \
    .Default = (Otherwise)
#define READER_FIELD_TEXT(Field)                                            \
    .Kind = ReaderOptionText, READER_FIELD(Field)
#define READER_FIELD_TEXTS(Field)                                           \
    .Kind = ReaderOptionText, READER_FIELD(Field),                          \
    .SecondOffset = FIELD_OFFSET(READER_OPTIONS, Field##Utf8)
#define READER_WORDS(Words)                                                 \
    .Kind = ReaderOptionWord, .FirstWord = &(Words)[0],                     \
    .WordSizeInBytes = sizeof((Words)[0]),                                  \
    .NumberOfWords = RTL_NUMBER_OF(Words)
#define READER_FIELD_WORD(Field, Words)                                     \
    READER_WORDS(Words), READER_FIELD(Field)
#define READER_FIELD_PREFIXES(IsExclude)                                    \
    .Kind = ReaderOptionPrefixes, .Minimum = (IsExclude)
#define READER_FIELD_SETTING(Setting)                                       \
    .Kind = ReaderOptionSetting, .Minimum = (Setting)

const READER_OPTION ReaderOptionList[] = {
    { "sort", "KEY", READER_OPTION_SORT, NULL,
      "total, self, calls, avg, min, max, waited or name, if it has that "
      "column", READER_FIELD_WORD(SortKey, ReaderSortNames) },
    { "limit", "N", READER_OPTION_LIMIT, NULL,
      "show at most N lines", READER_FIELD_NUMBER(Limit, 1, ~0ULL, ~0ULL) },
    { "tail", "N", READER_OPTION_TAIL, NULL,
      "show only the last N lines", READER_FIELD_NUMBER(Tail, 1, 1000000, 0) },
    { "thread", "TID", READER_OPTION_THREAD, NULL,
      "only threads with this identifier",
      READER_FIELD_NUMBER(ThreadId, 0, 0xFFFFFFFF, 0) },
    { "process", "PROCESS", READER_OPTION_PROCESS,
      "a process's identifier, or the beginning of its image's name",
      "only processes with this identifier or name",
      READER_FIELD_TEXT(Process) },
    { "by", "KEY", READER_OPTION_BY, NULL,
      "process: separate results for each process; module: a row for each "
      "module, of the calls into it; process,module: both",
      READER_FIELD_WORD(By, ReaderByNames) },
    { "module", "PREFIX", READER_OPTION_MODULE,
      "the beginning of a file name",
      "only functions of modules whose name begins with PREFIX",
      READER_FIELD_TEXT(Module) },
    { "function", "LIST", READER_OPTION_FILTER,
      "beginnings of functions' names, separated by commas, or @FILE",
      "only functions whose names begin with a prefix of LIST",
      READER_FIELD_PREFIXES(FALSE) },
    { "exclude", "LIST", READER_OPTION_FILTER,
      "beginnings of functions' names, separated by commas, or @FILE",
      "no functions whose names begin with a prefix of LIST",
      READER_FIELD_PREFIXES(TRUE) },
    { "depth", "N", READER_OPTION_DEPTH, NULL,
      "at most N levels",
      READER_FIELD_NUMBER(Depth, 1, 0xFFFFFFFF, 0xFFFFFFFF) },
    { "min-duration", "TIME", READER_OPTION_MIN_DURATION,
      "nanoseconds, as a number, or as one with us, ms or s after it",
      "no calls that are shorter than TIME (10us); of a tree, no nodes whose "
      "total is less",
      .Kind = ReaderOptionDuration, READER_FIELD(MinimumDuration) },
    { "per-thread", NULL, READER_OPTION_TRACKS, NULL,
      "a tree for each thread, and one for each fiber it ran",
      READER_FIELD_NONE },
    { "interval", "MS", READER_OPTION_INTERVAL, NULL,
      "milliseconds between two refreshes (default: 1000, minimum: 10)",
      READER_FIELD_NUMBER(IntervalInMilliseconds, 10, 3600000, 1000) },
    { "count", "N", READER_OPTION_COUNT, NULL,
      "end after N refreshes", READER_FIELD_NUMBER(Count, 1, ~0ULL, ~0ULL) },
    { "workers", "N", READER_OPTION_WORKERS, NULL,
      "read N threads at a time (default: one for each processor)",
      READER_FIELD_NUMBER(NumberOfWorkers, 1, READER_MAXIMUM_WORKERS, 0) },
    { "general", NULL, READER_OPTION_GENERAL, NULL,
      "use only the general pairing rules: slower, with the same result",
      READER_FIELD_NONE },
    { "verbose", NULL, READER_OPTION_VERBOSE, NULL,
      "at the end, print what was read, the speed and the memory used",
      READER_FIELD_NONE },
    { "from", "TIME", READER_OPTION_FROM,
      "whole nanoseconds, as a number, or as one with us, ms or s after it, "
      "or these with - before them; a time of day (14:03:22.5, or with Z in "
      "UTC), or a date and one (2026-11-26T14:03); or mark:TEXT",
      "from TIME after the first record on (1500000, 1500us, 1.5ms), or "
      "before the last one (-50ms), or a time of day (14:03:22.5; with a Z "
      "in UTC; 2026-11-26T14:03), or from the first mark TEXT (mark:TEXT)",
      READER_FIELD_TIME(From, FromMark, 0) },
    { "to", "TIME", READER_OPTION_TO,
      "whole nanoseconds, as a number, or as one with us, ms or s after it, "
      "or these with - before them; a time of day (14:03:22.5, or with Z in "
      "UTC), or a date and one (2026-11-26T14:03); or mark:TEXT",
      "up to TIME after the first record, or before the last one (-50ms), or "
      "a time of day, or to the next mark TEXT",
      READER_FIELD_TIME(To, ToMark, READER_MAXIMUM_TIMESTAMP) },
    { "all", NULL, READER_OPTION_ALL, NULL,
      "include what was recorded before the last clear (TraceReader ctl)",
      READER_FIELD_NONE },
    { "all-runs", NULL, READER_OPTION_ALL_RUNS, NULL,
      "add up all runs in a directory, not only the newest",
      READER_FIELD_NONE },
    { "times", NULL, READER_OPTION_TIMES, NULL,
      "show the time of each event, in seconds after the first record",
      READER_FIELD_NONE },
    { "wall", "ZONE", READER_OPTION_WALL, NULL,
      "show the time of day of each event: local or utc",
      READER_FIELD_WORD(IsWallUtc, ReaderZoneNames) },
    { "open", NULL, READER_OPTION_OPEN, NULL,
      "also in CSV and JSON, the calls that are open at --from",
      READER_FIELD_NONE },
    { "from-start", NULL, READER_OPTION_FROM_START, NULL,
      "read all records, not only those from an index's last mark on",
      READER_FIELD_NONE },
    { "no-index", NULL, READER_OPTION_NO_INDEX, NULL,
      "neither use nor write an index (*" TRACE_FILE_SUFFIX ".index)",
      READER_FIELD_NONE },
    { "mark-every", "N", READER_OPTION_MARKS, NULL,
      "records from one mark of a new index to the next (default: 65536)",
      READER_FIELD_NUMBER(IndexInterval, 64, 0x100000000ULL,
                          READER_INDEX_INTERVAL) },
    { "lines", NULL, READER_OPTION_LINES, NULL,
      "show the source file and line of each function", READER_FIELD_NONE },
    { "percentiles", NULL, READER_OPTION_PERCENTILES, NULL,
      "show how long 50, 90 and 99 of 100 calls of each function took at most",
      READER_FIELD_NONE },
    { "waits", "FILE", READER_OPTION_WAITS,
      "a file's name",
      "take from FILE which functions wait (module!function KIND), or do not "
      "(-module!function)", READER_FIELD_TEXTS(Waits) },
    { "contention", "TIME", READER_OPTION_WAITS,
      "nanoseconds, as a number, or as one with us, ms or s after it",
      "a call of a lock waited if it took TIME or longer (default: 1us)",
      .Kind = ReaderOptionDuration, READER_FIELD(Contention),
      .Default = 1000 },
    { "subtract-probe", NULL, READER_OPTION_PROBE, NULL,
      "subtract the cost of the hooks from the times", READER_FIELD_NONE },
    { "internals", NULL, READER_OPTION_INTERNALS, NULL,
      "show all that is known, also of the clock, the hooks and the workers",
      READER_FIELD_NONE },
    { "static", NULL, READER_OPTION_STATIC, NULL,
      "bytes of stack that each function reserves, from the image alone",
      READER_FIELD_NONE },
    { "min", "SIZE", READER_OPTION_MINIMUM,
      "bytes, as a number, or as one with K, M or G after it",
      "only rows of SIZE bytes or more", READER_FIELD_SIZE(Minimum, 0) },
    { "format", "FORMAT", READER_OPTION_EXPORT, NULL,
      "what kind of file to write; see below",
      READER_FIELD_WORD(ExportFormat, ReaderExportFormats) },
    { "output", "FILE", READER_OPTION_OUTPUT,
      "a file's name; - (standard output) is none",
      "write to FILE (-o FILE is the same)", READER_FIELD_TEXTS(Output) },
    { "split-size", "SIZE", READER_OPTION_SPLIT,
      "64K or more, as a number of bytes, or one with K, M or G after it",
      "begin a new file when one has SIZE bytes",
      READER_FIELD_SIZE(SplitSize, 0x10000) },
    { "gzip", NULL, READER_OPTION_GZIP, NULL,
      "compress the file (as gzip does; FILE is best named .gz)",
      READER_FIELD_NONE },
    { "embed", "SIZE", READER_OPTION_EMBED,
      "a number of bytes, or one with K, M or G after it",
      "the session is in the page if it takes at most SIZE as a pack (default: "
      "16M; 0: it is not)", READER_FIELD_SIZE(Embed, 0) },
    { "no-open", NULL, READER_OPTION_NO_OPEN, NULL,
      "write the page, and do not open it", READER_FIELD_NONE },
    { "levels", NULL, READER_OPTION_LEVELS, NULL,
      "add up beside the session (*" TRACE_FILE_SUFFIX ".levels) what the page "
      "shows first, which then needs not read all records", READER_FIELD_NONE },
    { "append", "DIR", READER_OPTION_DATASET,
      "a folder's path",
      "add to the dataset of Parquet files in DIR, in place of --output",
      READER_FIELD_TEXTS(Append) },
    { "tables", "LIST", READER_OPTION_DATASET,
      "functions, calls and marks, separated by commas",
      "write these tables (default: all; with --append functions,marks)",
      READER_FIELD_TEXT(Tables) },
    { "encoding", "KIND", READER_OPTION_DATASET, NULL,
      "delta: small files (the default); plain: for any reader of Parquet",
      READER_FIELD_WORD(Encoding, ReaderEncodingNames) },
    { "host", "NAME", READER_OPTION_DATASET,
      "a computer's name",
      "say that it was recorded on NAME (default: this computer)",
      READER_FIELD_TEXT(Host) },
    { "older", "AGE", READER_OPTION_OLDER,
      "a whole number with m (minutes), h (hours), d (days) or w (weeks) "
      "after it",
      "only sessions that began AGE ago or earlier (90m, 12h, 7d, 4w)",
      READER_FIELD_AGE(Older) },
    { "keep", "N", READER_OPTION_KEEP, NULL,
      "not the N sessions that began last",
      READER_FIELD_NUMBER(Keep, 0, ~0ULL, 0) },
    { "larger", "SIZE", READER_OPTION_LARGER,
      "a number of bytes, or one with K, M or G after it",
      "only sessions whose stores have more than SIZE bytes",
      READER_FIELD_SIZE(Larger, 0) },
    { "remove", NULL, READER_OPTION_REMOVE, NULL,
      "remove the sessions that --older, --keep and --larger leave",
      READER_FIELD_NONE },
    { "html", "FILE", READER_OPTION_HTML,
      "a file's name",
      "keep a page that refreshes itself up to date in FILE",
      READER_FIELD_TEXTS(Html) },
    { "budget", "PERCENT", READER_OPTION_BUDGET, NULL,
      "read with at most PERCENT of a processor; 100: read everything",
      READER_FIELD_NUMBER(BudgetInPercent, 1, 100, 0) },
    { "plain", NULL, READER_OPTION_PLAIN, NULL,
      "write lines, even to a terminal", READER_FIELD_NONE },
    { "symbols", "PATHS", READER_OPTION_SYMBOLS,
      "folders, separated by semicolons",
      "also look for images and their symbols in these folders",
      READER_FIELD_TEXT(Symbols) },
    { "etl", "FILE", READER_OPTION_ETL,
      "a file's name",
      "also say from this event trace log what threads did",
      READER_FIELD_TEXTS(Etl) },
    { "no-cache", NULL, READER_OPTION_NO_CACHE, NULL,
      "neither use nor write the session's cache of symbols",
      READER_FIELD_NONE },
    { "functions-from", "FILE", READER_OPTION_NAMES_FROM,
      "a file's name",
      "also take names from FILE, one per line (# begins a comment)",
      READER_FIELD_TEXTS(NamesFrom) },
    { "exclude-list", "FILE", READER_OPTION_EXCLUDE_LIST,
      "a file's name",
      "write the list for TRACER_EXCLUDE to FILE; needs the images",
      READER_FIELD_TEXTS(ExcludeList) },
    { "csv", NULL, READER_OPTION_FORMAT,
      "--csv and --json exclude each other:",
      "comma-separated values (RFC 4180)",
      READER_FIELD_SET(Format, ReaderFormatCsv) },
    { "json", NULL, READER_OPTION_FORMAT,
      "--csv and --json exclude each other:",
      "JSON (UTF-8)", READER_FIELD_SET(Format, ReaderFormatJson) },
    { "raw", NULL, READER_OPTION_FORMAT, NULL,
      "in text: whole nanoseconds and bytes, without units",
      READER_FIELD_SET(IsRaw, TRUE) },
    { "width", "WIDTH", READER_OPTION_WIDTH,
      "auto, none, or a number from 40 to 1000",
      "fit tables to WIDTH columns: a number, none or auto (a terminal's)",
      .Kind = ReaderOptionWidth, READER_FIELD(Width),
      .Minimum = READER_GRID_MINIMUM_WIDTH,
      .Maximum = READER_GRID_MAXIMUM_WIDTH },
    { "names", "KIND", READER_OPTION_NAMES, NULL,
      "short names of functions (the default on a terminal), or full ones",
      READER_FIELD_WORD(FunctionNames, ReaderNamesNames) },
    { "color", "WHEN", READER_OPTION_COLOR, NULL,
      "colours: auto (on a terminal, without NO_COLOR), always or never",
      READER_FIELD_WORD(Color, ReaderColorNames) },
    { "pager", "COMMAND", READER_OPTION_PAGER, "a program's command line",
      "the program that shows long text on a terminal (less -R)",
      READER_FIELD_TEXT(Pager) },
    { "no-pager", NULL, READER_OPTION_PAGER, NULL,
      "write long text to a terminal at once",
      READER_FIELD_SET(IsUnpaged, TRUE) },
    { "seconds", "N", READER_OPTION_COLLECT, NULL,
      "end after N seconds", READER_FIELD_NUMBER(Count, 1, ~0ULL, ~0ULL) },
    { "directory", "DIR", READER_OPTION_SETTING | READER_OPTION_COLLECT,
      "a directory's path",
      "where the session goes (default: %LOCALAPPDATA%\\Tracer)",
      READER_FIELD_SETTING(ReaderSettingOfDirectory) },
    { "mode", "MODE", READER_OPTION_SETTING,
      "file, ring, tree, compact or compact-ring",
      "file (all calls), ring (each thread's last), compact, compact-ring "
      "(the same in a tenth of the bytes) or tree (call trees)",
      READER_FIELD_SETTING(ReaderSettingOfMode) },
    { "modules", "LIST", READER_OPTION_SETTING,
      "beginnings of file names, separated by semicolons",
      "the modules to record (game;engine), or not to (-third)",
      READER_FIELD_SETTING(ReaderSettingOfModules) },
    { "executables", "LIST", READER_OPTION_SETTING,
      "beginnings of file names, separated by semicolons",
      "the programs to trace, of those that the program starts",
      READER_FIELD_SETTING(ReaderSettingOfExecutables) },
    { "imports", "LIST", READER_OPTION_SETTING,
      "beginnings of module!function, separated by semicolons, * or @ini",
      "also record calls of these functions by any module (kernel32, *)",
      READER_FIELD_SETTING(ReaderSettingOfImports) },
    { "callers", "LIST", READER_OPTION_SETTING,
      "beginnings of file names, separated by semicolons, * or @ini",
      "also record what these modules call in others (game.exe)",
      READER_FIELD_SETTING(ReaderSettingOfCallers) },
    { "children", NULL, READER_OPTION_SETTING, NULL,
      "with these: also in the processes that the program starts",
      READER_FIELD_SETTING(ReaderSettingOfChildren) },
    { "exclude", "FILE", READER_OPTION_SETTING, "a file's name",
      "functions without hooks: a list of TraceReader exclude or hot",
      READER_FIELD_SETTING(ReaderSettingOfExclude) },
    { "chrono", "FILE", READER_OPTION_SETTING, "a file's name",
      "with --mode tree: functions whose calls are recorded in order",
      READER_FIELD_SETTING(ReaderSettingOfChrono) },
    { "max-bytes", "SIZE", READER_OPTION_SETTING,
      "1M or more, as a number of bytes, or one with K, M or G after it",
      "the largest size of a thread's file",
      READER_FIELD_SETTING(ReaderSettingOfMaximumBytes) },
    { "min-free", "SIZE", READER_OPTION_SETTING,
      "a number of bytes, one with K, M or G after it, or a percentage up to "
      "99%",
      "what stays free of the disk: 5%, 10G; 0: nothing",
      READER_FIELD_SETTING(ReaderSettingOfMinimumFree) },
    { "min-duration", "TIME", READER_OPTION_SETTING,
      "a whole number of nanoseconds, or one with us, ms or s after it, up to "
      "an hour",
      "shorter calls are only counted (10us)",
      READER_FIELD_SETTING(ReaderSettingOfMinimumDuration) },
    { "max-depth", "N", READER_OPTION_SETTING, "a number from 1 to 16000",
      "deeper calls are only counted",
      READER_FIELD_SETTING(ReaderSettingOfMaximumDepth) },
    { "clock", "CLOCK", READER_OPTION_SETTING, "tsc, thread or none",
      "where times come from: tsc, thread or none",
      READER_FIELD_SETTING(ReaderSettingOfClock) },
    { "stopped", NULL, READER_OPTION_SETTING, NULL,
      "nothing is recorded until TraceReader ctl SESSION start",
      READER_FIELD_SETTING(ReaderSettingOfStopped) },
    { "flush", NULL, READER_OPTION_SETTING, NULL,
      "full parts of a file go to the disk at once",
      READER_FIELD_SETTING(ReaderSettingOfFlush) },
    { "view-size", "SIZE", READER_OPTION_SETTING,
      "a power of two from 64K to 1G",
      "the largest part of a file that is mapped at a time",
      READER_FIELD_SETTING(ReaderSettingOfViewSize) },
    { "control", "SIZE", READER_OPTION_SETTING, "0, or 64K to 256M",
      "the size of the control file; 0: there is none",
      READER_FIELD_SETTING(ReaderSettingOfControl) },
    { "config", "FILE", READER_OPTION_SETTING, "a file's name",
      "the ini file; NUL: none", READER_FIELD_SETTING(ReaderSettingOfConfig) },
    { "report", NULL, READER_OPTION_REPORT, NULL,
      "at the end, show the first rows of the report", READER_FIELD_NONE },
    { "no-symbols", NULL, READER_OPTION_NO_SYMBOLS, NULL,
      "do not keep the functions' names and lines in the session",
      READER_FIELD_NONE },
};

const ULONG ReaderNumberOfOptions = RTL_NUMBER_OF(ReaderOptionList);

//
// Problem: what is wrong.
//

static
VOID
CommandWriteUsageError(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _In_z_ PCSZ Problem,
    _In_z_ PCSZ Subject
    )
{
    RtlWriteText(Context->Errors,
                 "TraceReader: %s: %s%s%T (see TraceReader %s --help)\n",
                 Command->Name,
                 Problem,
                 Subject[0] != 0 ? " " : "",
                 Subject,
                 Command->Name);
    RtlFlushWriter(Context->Errors);
}

//
// Finds the option that an argument names.
// ValueOffset: the offset of the value in the argument in bytes (and in 16-bit
// units, because names are ASCII), or 0.
// Returns the option, or NULL if the command has no such option.
//

static
PCREADER_OPTION
CommandFindOption(
    _In_ PCREADER_COMMAND Command,
    _In_z_ PCSZ Argument,
    _Out_ PULONG ValueOffset
    )
{
    ULONG Index;
    ULONG Char;

    for (Index = 0; Index < ReaderNumberOfOptions; Index++) {

        PCREADER_OPTION Option = &ReaderOptionList[Index];

        if ((Command->Options & Option->Flag) == 0) {
            continue;
        }

        Char = 0;
        while (Option->Name[Char] != 0 &&
               Option->Name[Char] == Argument[2 + Char]) {
            Char += 1;
        }

        if (Option->Name[Char] != 0) {
            continue;
        }

        if (Argument[2 + Char] == 0) {
            *ValueOffset = 0;
            return Option;
        }

        if (Argument[2 + Char] == '=') {
            *ValueOffset = 2 + Char + 1;
            return Option;
        }
    }

    return NULL;
}

//
// Parses an option's number.
// Minimum, Maximum: the least and the most that it may be.
// Returns FALSE if it is not such a number.
//

static
BOOLEAN
CommandTakeNumber(
    _In_z_ PCWSTR Value,
    _In_ ULONGLONG Minimum,
    _In_ ULONGLONG Maximum,
    _Out_ PULONGLONG Number
    )
{
    return RtlParseNumber(Value, RtlLengthOfWideString(Value), Number) &&
           *Number >= Minimum &&
           *Number <= Maximum;
}

//
// Parses an option's time.
// Value: the text: a number, and ns (which may be left out), us, ms or s. The
// number may have as many decimals as there are nanoseconds to say: none is
// cut off.
// Returns FALSE if it is not such a time.
//

static
BOOLEAN
CommandTakeTime(
    _In_z_ PCWSTR Value,
    _Out_ PULONGLONG Nanoseconds
    )
{
    static const struct {
        WCHAR Letter;
        ULONG Nanoseconds;
    } Units[] = {
        { L'n', 1 },
        { L'u', 1000 },
        { L'm', 1000000 }
    };
    ULONG Length = RtlLengthOfWideString(Value);
    ULONG Point;
    ULONG Unit = 1;
    ULONG Place;
    ULONG Index;
    ULONGLONG Fraction = 0;

    if (Length != 0 && Value[Length - 1] == L's') {

        Unit = 1000000000;
        Length -= 1;
        for (Index = 0; Length != 0 && Index < RTL_NUMBER_OF(Units); Index++) {
            if (Value[Length - 1] == Units[Index].Letter) {
                Unit = Units[Index].Nanoseconds;
                Length -= 1;
                break;
            }
        }
    }

    for (Point = 0; Point < Length && Value[Point] != L'.'; Point++) {
    }

    Place = Unit;
    for (Index = Point + 1; Index < Length; Index++) {
        Place /= 10;
        if (Place == 0 || Value[Index] < L'0' || Value[Index] > L'9') {
            return FALSE;
        }

        Fraction += (ULONGLONG)(Value[Index] - L'0') * Place;
    }

    if (Length - Point == 1 ||
        !RtlParseNumber(Value, Point, Nanoseconds) ||
        *Nanoseconds > (~0ULL - Fraction) / Unit) {
        return FALSE;
    }

    *Nanoseconds = *Nanoseconds * Unit + Fraction;
    return TRUE;
}

//
// Parses an option's size.
// Value: the text: a number, and K, M or G, in either case, or nothing.
// Minimum: the least that it may be.
// Returns FALSE if it is not such a size.
//

static
BOOLEAN
CommandTakeSize(
    _In_z_ PCWSTR Value,
    _In_ ULONGLONG Minimum,
    _Out_ PULONGLONG Bytes
    )
{
    ULONG Length = RtlLengthOfWideString(Value);
    ULONG Shift = 0;

    if (Length != 0) {

        switch (Value[Length - 1] | 0x20) {
        case L'k':
            Shift = 10;
            break;
        case L'm':
            Shift = 20;
            break;
        case L'g':
            Shift = 30;
            break;
        default:
            break;
        }

        if (Shift != 0) {
            Length -= 1;
        }
    }

    if (!RtlParseNumber(Value, Length, Bytes) ||
        *Bytes > ~0ULL >> Shift) {
        return FALSE;
    }

    *Bytes <<= Shift;
    return *Bytes >= Minimum;
}

//
// Parses an option's age.
// Value: the text: a number, and m, h, d or w.
// Age: in units of 100 ns.
// Returns FALSE if it is not such an age.
//

static
BOOLEAN
CommandTakeAge(
    _In_z_ PCWSTR Value,
    _Out_ PULONGLONG Age
    )
{
    static const struct {
        WCHAR Letter;
        ULONG Minutes;
    } Units[] = {
        { L'm', 1 },
        { L'h', 60 },
        { L'd', 24 * 60 },
        { L'w', 7 * 24 * 60 }
    };
    ULONG Length = RtlLengthOfWideString(Value);
    ULONGLONG Unit;
    ULONG Index;

    for (Index = 0; Length != 0 && Index < RTL_NUMBER_OF(Units); Index++) {

        if (Value[Length - 1] != Units[Index].Letter) {
            continue;
        }

        Unit = Units[Index].Minutes * 600000000ULL;
        if (!RtlParseNumber(Value, Length - 1, Age) || *Age > ~0ULL / Unit) {
            return FALSE;
        }

        *Age *= Unit;
        return TRUE;
    }

    return FALSE;
}

//
// Takes the name of a mark.
// Value: the option's value.
// Mark: the mark's text; NULL if the value is no mark.
// Returns FALSE if it is none.
//

static
BOOLEAN
CommandTakeMark(
    _In_z_ PCSZ Value,
    _Outptr_result_maybenull_ PCSZ *Mark
    )
{
    static const CHAR Prefix[] = "mark:";
    ULONG Index;

    *Mark = NULL;
    for (Index = 0; Index < RTL_NUMBER_OF(Prefix) - 1; Index++) {
        if (Value[Index] != Prefix[Index]) {
            return FALSE;
        }
    }

    *Mark = Value + Index;
    return TRUE;
}

//
// Sets a field of one to eight bytes.
//

static
VOID
CommandSetField(
    _Inout_ PREADER_OPTIONS Options,
    _In_ ULONG Offset,
    _In_ ULONG SizeInBytes,
    _In_ ULONGLONG Value
    )
{
    RtlCopyBytes((PUCHAR)Options + Offset, &Value, SizeInBytes);
}

//
// Writes what values an option takes.
//

static
VOID
CommandWriteRule(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCREADER_OPTION Option
    )
{
    ULONG Index;

    switch (Option->Kind) {

    case ReaderOptionNumber:
        RtlWriteText(Writer, "a number");
        if (Option->Maximum < 0xFFFFFFFF) {
            RtlWriteText(Writer,
                         " from %llu to %llu",
                         Option->Minimum,
                         Option->Maximum);
        } else if (Option->Minimum != 0) {
            RtlWriteText(Writer, " of %llu or more", Option->Minimum);
        }

        break;

    case ReaderOptionWord:
        for (Index = 0; Index < Option->NumberOfWords; Index++) {
            RtlWriteText(Writer,
                         "%s%s",
                         Index == 0                          ? ""
                         : Index + 1 < Option->NumberOfWords ? ", "
                                                             : " or ",
                         READER_WORD(Option, Index));
        }

        break;

    default:
        RtlWriteText(Writer, "%s", Option->Rule);
        break;
    }
}

//
// Value, ValueUtf8: the value; empty for an option that has none.
// IsBadValue: whether the value is not one of those it can have.  Returns FALSE
// without it if something failed, which has been written.
//

static
BOOLEAN
CommandTakeOption(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_OPTIONS Options,
    _In_ PCREADER_OPTION Option,
    _In_z_ PCWSTR Value,
    _In_z_ PCSZ ValueUtf8,
    _Out_ PBOOLEAN IsBadValue
    )
{
    PUCHAR Field = (PUCHAR)Options + Option->Offset;
    PUCHAR SecondField = (PUCHAR)Options + Option->SecondOffset;
    ULONGLONG Number = 0;
    ULONG Index;
    BOOLEAN HasDate;
    BOOLEAN IsUtc;
    BOOLEAN IsGood = TRUE;
    UCHAR Kind;
    NTSTATUS Status;

    *IsBadValue = FALSE;
    Options->Given |= Option->Flag;

    switch (Option->Kind) {

    case ReaderOptionGiven:
        break;

    case ReaderOptionSet:
        CommandSetField(Options,
                        Option->Offset,
                        Option->SizeInBytes,
                        Option->Minimum);
        break;

    case ReaderOptionNumber:
        IsGood = CommandTakeNumber(Value,
                                   Option->Minimum,
                                   Option->Maximum,
                                   &Number);
        CommandSetField(Options, Option->Offset, Option->SizeInBytes, Number);
        break;

    case ReaderOptionWidth:
        Number = READER_WIDTH_AUTO;
        if (RtlAreStringsEqual(ValueUtf8, "none")) {
            Number = READER_WIDTH_NONE;
        } else if (!RtlAreStringsEqual(ValueUtf8, "auto")) {
            IsGood = CommandTakeNumber(Value,
                                       Option->Minimum,
                                       Option->Maximum,
                                       &Number);
        }

        CommandSetField(Options, Option->Offset, Option->SizeInBytes, Number);
        break;

    case ReaderOptionSize:
        IsGood = CommandTakeSize(Value,
                                 Option->Minimum,
                                 (PULONGLONG)Field);
        break;

    case ReaderOptionAge:
        IsGood = CommandTakeAge(Value, (PULONGLONG)Field);
        break;

    case ReaderOptionDuration:
        IsGood = CommandTakeTime(Value, (PULONGLONG)Field);
        break;

    case ReaderOptionTime:
        *(PULONGLONG)Field = Option->Default;
        *(PCSZ *)SecondField = NULL;
        *(PCSZ *)((PUCHAR)Options + Option->FourthOffset) = ValueUtf8;
        Kind = READER_TIME_AFTER_FIRST;
        if (Value[0] == L'-') {
            Kind = READER_TIME_BEFORE_LAST;
            IsGood = CommandTakeTime(Value + 1, (PULONGLONG)Field);
        } else if (BaseParseClock(Value, &Number, &HasDate, &IsUtc)) {
            *(PULONGLONG)Field = Number;
            Kind = (UCHAR)(READER_TIME_CLOCK |
                           (HasDate ? READER_TIME_DATE : 0) |
                           (IsUtc ? READER_TIME_UTC : 0));
        } else {
            IsGood = CommandTakeMark(ValueUtf8, (PCSZ *)SecondField) ||
                     CommandTakeTime(Value, (PULONGLONG)Field);
        }

        *((PUCHAR)Options + Option->ThirdOffset) = Kind;

        break;

    case ReaderOptionText:
        *(PCWSTR *)Field = Value;
        if (Option->SecondOffset != 0) {
            *(PCSZ *)SecondField = ValueUtf8;
        }

        //
        // Those with both texts are files, and - is none.
        //

        IsGood = Value[0] != 0 &&
                 (Option->SecondOffset == 0 ||
                  !RtlAreStringsEqual(ValueUtf8, "-"));
        break;

    case ReaderOptionWord:
        for (Index = 0; Index < Option->NumberOfWords; Index++) {
            if (RtlAreStringsEqual(READER_WORD(Option, Index), ValueUtf8)) {
                break;
            }
        }

        IsGood = Index < Option->NumberOfWords;
        CommandSetField(Options, Option->Offset, Option->SizeInBytes, Index);
        break;

    case ReaderOptionSetting:
        if (Option->Value == NULL) {
            Value = L"1";
        }

        Options->Settings[Option->Minimum] = Value;
        IsGood = BaseIsSettingGood(&BaseSettings[Option->Minimum], Value);
        break;

    default:
        Status = FunctionAddPrefixes(Context,
                                     &Options->Filter,
                                     Option->Minimum != 0,
                                     Value,
                                     ValueUtf8,
                                     IsBadValue);
        return NT_SUCCESS(Status);
    }

    *IsBadValue = !IsGood;
    return IsGood;
}

//
// Finds the session that a text means, if it is no path.  FALSE: there is none
// (which has been written), or no memory.
// Found: receives what has to be freed.
// Path: what was given, or NULL; receives the session's path.
//

static
BOOLEAN
CommandFindSession(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _Inout_ PVOID *Found,
    _Inout_ PCWSTR *Path,
    _Inout_ PCSZ *PathUtf8
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PCWSTR Text = *Path != NULL ? *Path : L"";
    BOOLEAN IsAge = Text[0] == L'@';
    BOOLEAN IsNumber = IsAge;
    READER_FOUND_LIST List;
    CHAR Nearest[READER_NEAREST_MAXIMUM + 1];
    PWSTR Result;
    PCHAR Utf8;
    NTSTATUS Status;
    ULONG Others;
    ULONG Empty = 0;
    ULONG Length;

    //
    // An empty argument means nothing: a script's variable that is not set.
    //

    if (*Path != NULL &&
        (Text[0] == 0 || (!IsAge && SessionIsPath(Context, Text)))) {

        if (Text[0] == 0 || !SessionIsImage(Context, Text)) {
            return TRUE;
        }

        RtlWriteText(Context->Errors,
                     "TraceReader: %s: %T is a program, not what Tracer "
                     "recorded of one: give a session's directory, the "
                     "beginning of the program's name without a path, or "
                     "nothing for the newest session (TraceReader run starts "
                     "a program and records it)\n",
                     Command->Name,
                     *PathUtf8);
        RtlFlushWriter(Context->Errors);
        return FALSE;
    }

    if (Command == &ReaderSessionsCommand) {
        Status = SessionFindPlace(Context, &Result, &List);
        Others = 0;
        if (NT_SUCCESS(Status)) {
            SessionFreeFound(&List);
        }
    } else {
        Status = SessionFind(Context,
                             Text,
                             &Result,
                             &Others,
                             &IsNumber,
                             &Empty);
    }

    if (NT_SUCCESS(Status)) {

        Length = RtlLengthOfWideString(Result);
        Utf8 = (PCHAR)Allocator->Allocate(Allocator->Context,
                                          ((SIZE_T)Length + 1) *
                                                  sizeof(WCHAR) +
                                              (SIZE_T)Length * 3 + 1);
        if (Utf8 == NULL) {
            Status = STATUS_NO_MEMORY;
        } else {
            *Found = Utf8;
            *Path = (PCWSTR)Utf8;
            RtlCopyBytes(Utf8, Result, ((SIZE_T)Length + 1) * sizeof(WCHAR));
            Utf8 += ((SIZE_T)Length + 1) * sizeof(WCHAR);
            *PathUtf8 = Utf8;
            RtlWideToUtf8(Result, Length, Utf8, Length * 3, &Length);
            Utf8[Length] = 0;
        }

        Allocator->Free(Allocator->Context, Result);
    }

    if (NT_SUCCESS(Status)) {
        RtlWriteText(Context->Errors,
                     "TraceReader: %s: %T",
                     Command->Name,
                     *PathUtf8);
        if (!IsNumber && Others != 0) {
            RtlWriteText(Context->Errors,
                         ", the newest of %u%s (TraceReader sessions lists "
                         "them)",
                         Others + 1,
                         Empty == 0 ? "" : " that has a store");
        }

        RtlWriteText(Context->Errors, "\n");
        if (Empty != 0) {
            RtlWriteText(Context->Errors,
                         "  %u that %s newer %s none: nothing was recorded "
                         "there, or not yet\n",
                         Empty,
                         Empty == 1 ? "is" : "are",
                         Empty == 1 ? "has" : "have");
        }
        RtlFlushWriter(Context->Errors);
        return TRUE;
    }

    //
    // Of a name the command says what it says of every path that is not there.
    //

    if (IsNumber || (Status != STATUS_NOT_FOUND && Text[0] != 0)) {
        BaseFail(Context,
                 "find the session by its age",
                 *PathUtf8,
                 Status);
        if (Status == STATUS_OBJECT_NAME_INVALID) {
            RtlWriteText(Context->Errors,
                         "  @1 is the newest session, @2 the one before it, "
                         "game@2 the second newest of game\n");
        } else if (Others != 0) {
            RtlWriteText(Context->Errors,
                         "  there %s %u%s: @%u is the oldest (TraceReader "
                         "sessions lists them)\n",
                         Others == 1 ? "is" : "are",
                         Others,
                         IsAge ? "" : " of that program",
                         Others);
        } else {
            RtlWriteText(Context->Errors,
                         "  no session was found (TraceReader sessions lists "
                         "what there is)\n");
        }

        RtlFlushWriter(Context->Errors);
        return FALSE;
    }

    if (Text[0] != 0) {
        SessionFindNearest(Context, *PathUtf8, Nearest);
        RtlWriteText(Context->Errors,
                     "TraceReader: %s: no program with a session is "
                     "called %T",
                     Command->Name,
                     *PathUtf8);
        if (Nearest[0] != 0) {
            RtlWriteText(Context->Errors, "; did you mean %T?", Nearest);
        }

        RtlWriteText(Context->Errors,
                     " (TraceReader sessions lists them)\n");
        RtlFlushWriter(Context->Errors);
    }

    return TRUE;
}

//
// Takes the only argument of sql for the statement, if it begins like one: then
// the session is the newest.
//

static
VOID
CommandTakeStatement(
    _Inout_ PREADER_OPTIONS Options
    )
{
    static const PCSZ Words[] = { "SELECT", "WITH", "VALUES", "EXPLAIN" };
    ULONG Index;
    ULONG Length;

    if (Options->NumberOfNames != 0 || Options->Path == NULL) {
        return;
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Words); Index++) {

        Length = RtlLengthOfString(Words[Index]);
        if (RtlLengthOfString(Options->PathUtf8) > Length &&
            BaseIsTextAlike(Options->PathUtf8, Length, Words[Index], Length) &&
            (Options->PathUtf8[Length] <= ' ' ||
             Options->PathUtf8[Length] == '(')) {

            Options->Names[0] = Options->PathUtf8;
            Options->NumberOfNames = 1;
            Options->Path = NULL;
            Options->PathUtf8 = NULL;
            return;
        }
    }
}

//
// Finds what the paths of a command mean.  FALSE: an error has been written.
//

static
BOOLEAN
CommandFindSessions(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _Inout_ PREADER_OPTIONS Options
    )
{
    //
    // A pack does not change, and is not listed.
    //

    if ((Command == &ReaderCtlCommand || Command == &ReaderPackCommand ||
         Command == &ReaderRecoverCommand ||
         Command == &ReaderSessionsCommand) &&
        Options->Path != NULL && SessionIsPack(Context, Options->Path)) {

        RtlWriteText(Context->Errors,
                     "TraceReader: %s: %T is a pack (TraceReader unpack makes "
                     "the session's files again)\n",
                     Command->Name,
                     Options->PathUtf8);
        RtlFlushWriter(Context->Errors);
        return FALSE;
    }

    //
    // exclude has an image, unpack a pack, sessions a directory above them;
    // --static has either.  sql without a statement needs none.
    //

    if (Command == &ReaderExcludeCommand || Command == &ReaderUnpackCommand ||
        (Command == &ReaderSqlCommand && Options->NumberOfNames == 0) ||
        (Command == &ReaderSessionsCommand && Options->Path != NULL) ||
        (Options->Given & READER_OPTION_STATIC) != 0) {
        return TRUE;
    }

    if (Command == &ReaderDiffCommand && Options->First[0] != 0 &&
        !CommandFindSession(Context,
                            Command,
                            &Options->FoundPaths[0],
                            &Options->First,
                            &Options->FirstUtf8)) {
        return FALSE;
    }

    //
    // A command whose path comes first, or that needs two, is not guessed at.
    //

    if (Options->Path == NULL &&
        (Command == &ReaderDiffCommand || Command == &ReaderCtlCommand)) {
        return TRUE;
    }

    return CommandFindSession(Context,
                              Command,
                              &Options->FoundPaths[1],
                              &Options->Path,
                              &Options->PathUtf8);
}

_Use_decl_annotations_
VOID
CommandFreeOptions(
    PCREADER_CONTEXT Context,
    PREADER_OPTIONS Options
    )
{
    ULONG Index;

    FunctionDestroyFilter(Options->Filter);
    Options->Filter = NULL;
    for (Index = 0; Index < RTL_NUMBER_OF(Options->FoundPaths); Index++) {
        if (Options->FoundPaths[Index] != NULL) {
            Context->Allocator->Free(Context->Allocator->Context,
                                     Options->FoundPaths[Index]);
            Options->FoundPaths[Index] = NULL;
        }
    }
}

_Use_decl_annotations_
BOOLEAN
CommandParseOptions(
    PCREADER_CONTEXT Context,
    PCREADER_COMMAND Command,
    PCRTL_ARGUMENT Arguments,
    ULONG NumberOfArguments,
    PREADER_OPTIONS Options,
    PBOOLEAN IsHelp
    )
{
    PCREADER_OPTION Option;
    BOOLEAN IsEnded = FALSE;
    BOOLEAN IsOpen = FALSE;             // any number of names follow the path
    BOOLEAN IsProcess = Command == &ReaderAttachCommand ||
                        Command == &ReaderDetachCommand ||
                        Command == &ReaderCollectCommand;
    BOOLEAN IsProgram = Command == &ReaderRunCommand;
    BOOLEAN IsBadValue;
    BOOLEAN IsWithoutPath = FALSE;
    BOOLEAN IsPathFirst;
    ULONG NumberOfPlaces = 1;
    ULONG NumberOfPaths = 0;
    ULONG ValueOffset;
    ULONG Index;

    RtlZeroBytes(Options, sizeof(*Options));
    Options->Command = Command->Name;
    Options->First = L"";
    Options->FirstUtf8 = "";
    Options->Second = L"";
    Options->SecondUtf8 = "";
    *IsHelp = FALSE;

    //
    // A command that adds nothing up does not choose among runs.
    //

    if ((Command->Options & READER_OPTION_ALL_RUNS) == 0) {
        Options->Given |= READER_OPTION_ALL_RUNS;
    }

    for (Index = 0; Index < ReaderNumberOfOptions; Index++) {
        if (ReaderOptionList[Index].Default != 0) {
            CommandSetField(Options,
                            ReaderOptionList[Index].Offset,
                            ReaderOptionList[Index].SizeInBytes,
                            ReaderOptionList[Index].Default);
        }
    }

    for (Index = 0; Command->Arguments[Index] != 0; Index++) {
        if (Command->Arguments[Index] == ' ') {
            NumberOfPlaces += 1;
        }
        if (Command->Arguments[Index] == '.') {
            IsOpen = TRUE;
        }
    }

    //
    // Otherwise the path is the last one.
    //

    IsPathFirst = NumberOfPlaces == 3;

    for (Index = 0; Index < NumberOfArguments; Index++) {

        PCSZ Argument = Arguments[Index].Utf8;
        PCWSTR Value = L"";
        PCSZ ValueUtf8 = "";

        if (IsEnded || Argument[0] != '-' || Argument[1] == 0 ||
            (IsOpen && Options->Path != NULL && Argument[1] != '-' &&
             !RtlAreStringsEqual(Argument, "-h") &&
             !RtlAreStringsEqual(Argument, "-o"))) {

            //
            // What follows a program is its own.
            //

            if (IsProgram) {
                Options->Path = Arguments[Index].Wide;
                Options->PathUtf8 = Argument;
                Options->Program = Index + 1 < NumberOfArguments
                                       ? Arguments[Index + 1].Rest
                                       : L"";
                break;
            }

            //
            // Among names, -NAME is one.
            //

            if (IsOpen && Options->Path != NULL &&
                Options->NumberOfNames < RTL_NUMBER_OF(Options->Names)) {

                Options->Names[Options->NumberOfNames] = Argument;
                Options->NumberOfNames += 1;
                continue;
            }

            if (NumberOfPaths == NumberOfPlaces ||
                (IsOpen && Options->Path != NULL)) {

                CommandWriteUsageError(Context,
                                       Command,
                                       "too many arguments:",
                                       Argument);
                return FALSE;
            }

            NumberOfPaths += 1;
            if (NumberOfPaths == 3) {
                Options->Second = Arguments[Index].Wide;
                Options->SecondUtf8 = Argument;
            } else if (IsOpen ||
                       NumberOfPaths == (IsPathFirst ? 1 : NumberOfPlaces)) {
                Options->Path = Arguments[Index].Wide;
                Options->PathUtf8 = Argument;
            } else {
                Options->First = Arguments[Index].Wide;
                Options->FirstUtf8 = Argument;
            }
            continue;
        }

        if (RtlAreStringsEqual(Argument, "--")) {
            IsEnded = TRUE;
            continue;
        }

        if (RtlAreStringsEqual(Argument, "--help") ||
            RtlAreStringsEqual(Argument, "-h") ||
            RtlAreStringsEqual(Argument, "-?")) {
            *IsHelp = TRUE;
            return FALSE;
        }

        Option = NULL;
        if (Argument[1] == '-') {
            Option = CommandFindOption(Command, Argument, &ValueOffset);
        } else if (RtlAreStringsEqual(Argument, "-o")) {
            Option = CommandFindOption(Command, "--output", &ValueOffset);
        }

        if (Option == NULL) {
            Options->Unknown = Argument;
            return FALSE;
        }

        if (Option->Value == NULL) {

            if (ValueOffset != 0) {
                CommandWriteUsageError(Context,
                                       Command,
                                       "the option takes no value:",
                                       Argument);
                return FALSE;
            }

        } else if (ValueOffset != 0) {

            Value = Arguments[Index].Wide + ValueOffset;
            ValueUtf8 = Argument + ValueOffset;

        } else {

            Index += 1;
            if (Index == NumberOfArguments) {
                CommandWriteUsageError(Context,
                                       Command,
                                       "the option needs a value:",
                                       Argument);
                return FALSE;
            }

            Value = Arguments[Index].Wide;
            ValueUtf8 = Arguments[Index].Utf8;
        }

        if (Option->Flag == READER_OPTION_FORMAT &&
            Option->Rule != NULL &&
            Options->Format != ReaderFormatText) {
            CommandWriteUsageError(Context, Command, Option->Rule, Argument);
            return FALSE;
        }

        if (!CommandTakeOption(Context,
                               Options,
                               Option,
                               Value,
                               ValueUtf8,
                               &IsBadValue) &&
            !IsBadValue) {
            return FALSE;
        }

        if (IsBadValue) {
            RtlWriteText(Context->Errors,
                         "TraceReader: %s: bad value \"%T\" for --%s: "
                         "it takes ",
                         Command->Name,
                         ValueUtf8,
                         Option->Name);
            CommandWriteRule(Context->Errors, Option);
            RtlWriteText(Context->Errors, "\n");
            RtlFlushWriter(Context->Errors);
            return FALSE;
        }
    }

    if (IsProgram && (Options->Path == NULL || Options->Path[0] == 0)) {
        CommandWriteUsageError(Context, Command, "a program is missing", "");
        return FALSE;
    }

    if (Command == &ReaderSqlCommand) {
        CommandTakeStatement(Options);
        IsWithoutPath = Options->NumberOfNames == 0;
    }

    if (!IsProgram && !IsProcess &&
        !CommandFindSessions(Context, Command, Options)) {
        return FALSE;
    }

    if ((!IsWithoutPath &&
         (Options->Path == NULL || Options->Path[0] == 0)) ||
        (NumberOfPlaces != 1 && !IsOpen && !IsProgram &&
         Options->First[0] == 0)) {
        CommandWriteUsageError(Context,
                               Command,
                               Command == &ReaderUnpackCommand
                                  ? "a pack is missing"
                              : Command == &ReaderCollectCommand
                                  ? "the name of a driver's service is missing"
                              : IsProcess
                                  ? "a process's identifier is missing"
                              : (NumberOfPlaces == 1 ||
                                 Command == &ReaderSqlCommand) &&
                                    Options->Path == NULL
                                  ? "a session directory or store is missing, "
                                    "and there is no session where they go: "
                                    "TraceReader run PROGRAM makes one"
                              : NumberOfPlaces == 1
                                  ? "a session directory or store is missing"
                              : Command == &ReaderDiffCommand
                                  ? "two arguments are needed:"
                                  : "an argument is needed:",
                               NumberOfPlaces == 1 ? "" : Command->Arguments);
        return FALSE;
    }

    //
    // Whichever of the two comes first.
    //

    if ((Options->Given & READER_OPTION_NO_INDEX) != 0) {
        Options->IndexInterval = 0;
    }

    return FunctionBuildFilter(Context, Options->Filter);
}
