/*++

Module Name:

    ReaderOptions.c

Abstract:

    Options and help.

--*/

#include "ReaderExport.h"

//
// The options that there are, apart from --help, which every command takes.
//

typedef struct _READER_OPTION {
    PCSZ Name;                  // without the dashes
    PCSZ Value;                 // what its value is called, or NULL
    ULONGLONG Flag;             // READER_OPTION_*
    PCSZ Rule;                  // what its value has to be, or NULL
    PCSZ Description;
} READER_OPTION;

static const READER_OPTION ReaderOptionList[] = {
    { "sort", "KEY", READER_OPTION_SORT,
      "total, self, calls, avg, min, max or name",
      "total, self, calls, avg, min, max or name, if it has that column" },
    { "limit", "N", READER_OPTION_LIMIT,
      "a number of 1 or more",
      "at most N lines of result" },
    { "thread", "TID", READER_OPTION_THREAD,
      "a number",
      "only threads with this identifier" },
    { "process", "PROCESS", READER_OPTION_PROCESS,
      "a process's identifier, or the beginning of its image's name",
      "of several processes only those with this identifier or name" },
    { "by", "KEY", READER_OPTION_BY,
      "process",
      "process: results for each process by itself" },
    { "module", "PREFIX", READER_OPTION_MODULE,
      "the beginning of a file name",
      "only functions of modules whose name begins with PREFIX" },
    { "function", "LIST", READER_OPTION_FILTER,
      "beginnings of functions' names, separated by commas, or @FILE",
      "only functions whose names begin with a prefix of LIST" },
    { "exclude", "LIST", READER_OPTION_FILTER,
      "beginnings of functions' names, separated by commas, or @FILE",
      "no functions whose names begin with a prefix of LIST" },
    { "depth", "N", READER_OPTION_DEPTH,
      "a number of 1 or more",
      "at most N levels" },
    { "per-thread", NULL, READER_OPTION_TRACKS,
      NULL,
      "a tree for each thread, and one for each fiber it ran" },
    { "interval", "MS", READER_OPTION_INTERVAL,
      "a number from 10 to 3600000",
      "milliseconds between two refreshes (default: 1000, minimum: 10)" },
    { "count", "N", READER_OPTION_COUNT,
      "a number of 1 or more",
      "end after N refreshes" },
    { "workers", "N", READER_OPTION_WORKERS,
      "a number from 1 to 32",
      "read N threads at a time (default: one for each processor)" },
    { "general", NULL, READER_OPTION_GENERAL,
      NULL,
      "pair by the general rules alone: slower, with the same result" },
    { "verbose", NULL, READER_OPTION_VERBOSE,
      NULL,
      "say at the end what was read, how fast and in how much memory" },
    { "from", "TIME", READER_OPTION_FROM,
      "whole nanoseconds, as a number, or as one with us, ms or s after it; or "
      "mark:TEXT",
      "from TIME after the first record on (1500000, 1500us, 1.5ms), or from\n"
      "                      the first mark TEXT (mark:TEXT)" },
    { "to", "TIME", READER_OPTION_TO,
      "whole nanoseconds, as a number, or as one with us, ms or s after it; or "
      "mark:TEXT",
      "up to TIME after the first record, or to the next mark TEXT" },
    { "all", NULL, READER_OPTION_ALL,
      NULL,
      "also what was recorded before the last clear (TraceReader ctl)" },
    { "times", NULL, READER_OPTION_TIMES,
      NULL,
      "show when each event was, in seconds after the first record" },
    { "from-start", NULL, READER_OPTION_FROM_START,
      NULL,
      "read all records, not only those from an index's last mark on" },
    { "no-index", NULL, READER_OPTION_NO_INDEX,
      NULL,
      "neither use nor write an index (*" TRACE_FILE_SUFFIX ".index)" },
    { "mark-every", "N", READER_OPTION_MARKS,
      "a number of 64 or more",
      "records from one mark of a new index to the next (default: 65536)" },
    { "lines", NULL, READER_OPTION_LINES,
      NULL,
      "show the source file and line of each function" },
    { "percentiles", NULL, READER_OPTION_PERCENTILES,
      NULL,
      "show the median and the 99th percentile of each function's calls" },
    { "subtract-probe", NULL, READER_OPTION_PROBE,
      NULL,
      "take what the hooks themselves cost out of the times" },
    { "static", NULL, READER_OPTION_STATIC,
      NULL,
      "bytes of stack that each function reserves, from the image alone" },
    { "min", "SIZE", READER_OPTION_MINIMUM,
      "bytes, as a number, or as one with K, M or G after it",
      "only what has SIZE bytes or more" },
    { "format", "FORMAT", READER_OPTION_EXPORT,
      "html, chrome, perfetto, fxt, speedscope, folded, callgrind, csv, "
      "csv-osr or csv-cap",
      "what kind of file to write; see below" },
    { "output", "FILE", READER_OPTION_OUTPUT,
      "a file's name",
      "write to FILE (-o FILE is the same)" },
    { "split-size", "SIZE", READER_OPTION_SPLIT,
      "64K or more, as a number of bytes, or one with K, M or G after it",
      "begin a new file when one has SIZE bytes" },
    { "html", "FILE", READER_OPTION_HTML,
      "a file's name",
      "keep a page that refreshes itself up to date in FILE" },
    { "budget", "PERCENT", READER_OPTION_BUDGET,
      "a number from 1 to 100",
      "read with at most PERCENT of a processor; 100: read everything" },
    { "plain", NULL, READER_OPTION_PLAIN,
      NULL,
      "write lines, even to a terminal" },
    { "symbols", "PATHS", READER_OPTION_SYMBOLS,
      "folders, separated by semicolons",
      "look for images and their symbols in these folders, too" },
    { "no-cache", NULL, READER_OPTION_NO_CACHE,
      NULL,
      "neither use nor write the session's cache of symbols" },
    { "functions-from", "FILE", READER_OPTION_NAMES_FROM,
      "a file's name",
      "take names from FILE, too, one a line (# begins a comment)" },
    { "exclude-list", "FILE", READER_OPTION_EXCLUDE_LIST,
      "a file's name",
      "write the list for TRACER_EXCLUDE to FILE; needs the images" },
    { "csv", NULL, READER_OPTION_FORMAT,
      NULL,
      "comma-separated values (RFC 4180)" },
    { "json", NULL, READER_OPTION_FORMAT,
      NULL,
      "JSON (UTF-8)" },
    { "raw", NULL, READER_OPTION_FORMAT,
      NULL,
      "in text: whole nanoseconds and bytes, without units" },
};

static const PCSZ ReaderSortNames[] = {
    "total",
    "self",
    "calls",
    "avg",
    "min",
    "max",
    "name"
};

//
// --interval's bounds.  Below ten milliseconds there would be no time to read.
//

#define READER_MINIMUM_INTERVAL 10
#define READER_MAXIMUM_INTERVAL 3600000
#define READER_DEFAULT_INTERVAL 1000

#define READER_MINIMUM_INDEX_INTERVAL 64u
#define READER_MAXIMUM_INDEX_INTERVAL 0x100000000ULL

#define READER_MINIMUM_SPLIT_SIZE 0x10000u

static
VOID
ReaderWriteOptionHelp(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Name,
    _In_opt_z_ PCSZ Value,
    _In_z_ PCSZ Description
    )
/*++

Routine Description:

    Writes one option's line.

Arguments:

    Writer - Where to write.

    Name - The option's name without the dashes.

    Value - What its value is called, or NULL.

    Description - What it does.

Return Value:

    None.

--*/
{
    ULONG Length = RtlLengthOfString(Name);

    if (Value != NULL) {
        Length += 1 + RtlLengthOfString(Value);
    }

    RtlWriteText(Writer,
                 "  --%s%s%s%*s  %s\n",
                 Name,
                 Value != NULL ? " " : "",
                 Value != NULL ? Value : "",
                 Length < 16 ? (int)(16 - Length) : 0,
                 "",
                 Description);
}


_Use_decl_annotations_
VOID
ReaderWriteHelp(
    PRTL_WRITER Writer,
    PCREADER_COMMAND Command
    )
/*++

Routine Description:

    Writes the help of the program or of a command.

Arguments:

    Writer - Where to write.

    Command - The command; NULL for the program.

Return Value:

    None.

--*/
{
    ULONG Index;

    if (Command == NULL) {

        RtlWriteText(Writer,
                     "usage: TraceReader COMMAND [OPTIONS] PATH\n\n"
                     "Reads what Tracer recorded.  PATH is a session "
                     "directory or one store in it\n(*" TRACE_FILE_SUFFIX
                     "), or the directory in which sessions of several "
                     "processes lie; the\ntraced programs may still be "
                     "running.\n\n"
                     "Commands:\n");
        for (Index = 0; Index < ReaderNumberOfCommands; Index++) {
            RtlWriteText(Writer,
                         "  %-8s  %s\n",
                         ReaderCommands[Index]->Name,
                         ReaderCommands[Index]->Summary);
        }

        RtlWriteText(Writer,
                     "\nTraceReader COMMAND --help lists a command's "
                     "options and shows examples.\nTraceReader --version "
                     "says which stores it reads.\n\n"
                     "Exit codes: 0 success; 1 usage error, or something "
                     "could not be read;\n2 verify or recover found something "
                     "bad or lost; 3 nothing to show: --function or\n--exclude "
                     "leave no function, or none has the name that was "
                     "given.\n");
        return;
    }

    RtlWriteText(Writer,
                 "usage: TraceReader %s [OPTIONS] %s\n\n%s.\n\nOptions:\n",
                 Command->Name,
                 Command->Arguments,
                 Command->Summary);
    for (Index = 0; Index < RTL_NUMBER_OF(ReaderOptionList); Index++) {

        const READER_OPTION *Option = &ReaderOptionList[Index];

        if ((Command->Options & Option->Flag) != 0) {
            ReaderWriteOptionHelp(Writer,
                                  Option->Name,
                                  Option->Value,
                                  Option->Description);
        }
    }

    ReaderWriteOptionHelp(Writer, "help", NULL, "this text");
    if (Command->Fields[0] != 0) {
        RtlWriteText(Writer, "\n%s", Command->Fields);
    }

    RtlWriteText(Writer, "\nExamples:\n%s", Command->Examples);
}


static
VOID
ReaderWriteUsageError(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _In_z_ PCSZ Problem,
    _In_z_ PCSZ Subject
    )
/*++

Routine Description:

    Writes a usage error.

Arguments:

    Context - The context.

    Command - The command.

    Problem - What is wrong.

    Subject - With what.

Return Value:

    None.

--*/
{
    RtlWriteText(Context->Errors,
                 "TraceReader: %s: %s%s%s (see TraceReader %s --help)\n",
                 Command->Name,
                 Problem,
                 Subject[0] != 0 ? " " : "",
                 Subject,
                 Command->Name);
    RtlFlushWriter(Context->Errors);
}


static
const READER_OPTION *
ReaderFindOption(
    _In_ PCREADER_COMMAND Command,
    _In_z_ PCSZ Argument,
    _Out_ PULONG ValueOffset
    )
/*++

Routine Description:

    Finds the option that an argument names.

Arguments:

    Command - The command.

    Argument - "--name" or "--name=value".

    ValueOffset - Receives the offset of the value in the argument in bytes
        (and in 16-bit units, because names are ASCII), or 0.

Return Value:

    The option, or NULL if the command has no such option.

--*/
{
    ULONG Index;
    ULONG Char;

    for (Index = 0; Index < RTL_NUMBER_OF(ReaderOptionList); Index++) {

        const READER_OPTION *Option = &ReaderOptionList[Index];

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


static
BOOLEAN
ReaderTakeNumber(
    _In_z_ PCWSTR Value,
    _In_ ULONGLONG Minimum,
    _In_ ULONGLONG Maximum,
    _Out_ PULONGLONG Number
    )
/*++

Routine Description:

    Parses an option's number.

Arguments:

    Value - The text.

    Minimum, Maximum - The least and the most that it may be.

    Number - Receives it.

Return Value:

    FALSE if it is not such a number.

--*/
{
    return RtlParseNumber(Value, RtlLengthOfWideString(Value), Number) &&
           *Number >= Minimum &&
           *Number <= Maximum;
}


static
BOOLEAN
ReaderTakeTime(
    _In_z_ PCWSTR Value,
    _Out_ PULONGLONG Nanoseconds
    )
/*++

Routine Description:

    Parses an option's time.

Arguments:

    Value - The text: a number, and ns (which may be left out), us, ms or s.
        The number may have as many decimals as there are nanoseconds to say:
        none is cut off.

    Nanoseconds - Receives it.

Return Value:

    FALSE if it is not such a time.

--*/
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


static
BOOLEAN
ReaderTakeSize(
    _In_z_ PCWSTR Value,
    _In_ ULONGLONG Minimum,
    _Out_ PULONGLONG Bytes
    )
/*++

Routine Description:

    Parses an option's size.

Arguments:

    Value - The text: a number, and K, M or G, in either case, or nothing.

    Minimum - The least that it may be.

    Bytes - Receives it.

Return Value:

    FALSE if it is not such a size.

--*/
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


static
BOOLEAN
ReaderTakeMark(
    _In_z_ PCSZ Value,
    _Outptr_result_maybenull_ PCSZ *Mark
    )
/*++

Routine Description:

    Takes the name of a mark.

Arguments:

    Value - The option's value.

    Mark - Receives the mark's text; NULL if the value is no mark.

Return Value:

    FALSE if it is none.

--*/
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


static
BOOLEAN
ReaderTakeOption(
    _Inout_ PREADER_OPTIONS Options,
    _In_ const READER_OPTION *Option,
    _In_z_ PCWSTR Value,
    _In_z_ PCSZ ValueUtf8
    )
/*++

Routine Description:

    Takes an option's value.

Arguments:

    Options - Receives it.

    Option - The option.

    Value, ValueUtf8 - The value; empty for an option that has none.

Return Value:

    FALSE if the value is not one of those it can have.

--*/
{
    ULONGLONG Number = 0;
    ULONG Index;

    Options->Given |= Option->Flag;

    switch (Option->Flag) {

    case READER_OPTION_FORMAT:
        switch (Option->Name[0]) {
        case 'c':
            Options->Format = ReaderFormatCsv;
            break;
        case 'j':
            Options->Format = ReaderFormatJson;
            break;
        default:
            Options->IsRaw = TRUE;
            break;
        }
        return TRUE;

    case READER_OPTION_TRACKS:
    case READER_OPTION_GENERAL:
    case READER_OPTION_VERBOSE:
    case READER_OPTION_FROM_START:
    case READER_OPTION_TIMES:
    case READER_OPTION_NO_CACHE:
    case READER_OPTION_LINES:
    case READER_OPTION_PROBE:
    case READER_OPTION_PERCENTILES:
    case READER_OPTION_STATIC:
    case READER_OPTION_PLAIN:
    case READER_OPTION_ALL:
        return TRUE;

    case READER_OPTION_PROCESS:
        Options->Process = Value;
        return Value[0] != 0;

    case READER_OPTION_BY:
        return RtlAreStringsEqual(ValueUtf8, "process");

    case READER_OPTION_SYMBOLS:
        Options->Symbols = Value;
        return Value[0] != 0;

    case READER_OPTION_OUTPUT:
        Options->Output = Value;
        Options->OutputUtf8 = ValueUtf8;
        return Value[0] != 0;

    case READER_OPTION_NAMES_FROM:
        Options->NamesFrom = Value;
        Options->NamesFromUtf8 = ValueUtf8;
        return Value[0] != 0;

    case READER_OPTION_EXCLUDE_LIST:
        Options->ExcludeList = Value;
        Options->ExcludeListUtf8 = ValueUtf8;
        return Value[0] != 0;

    case READER_OPTION_HTML:
        Options->Html = Value;
        Options->HtmlUtf8 = ValueUtf8;
        return Value[0] != 0;

    case READER_OPTION_EXPORT:
        Options->ExportFormat = ValueUtf8;
        return ReaderIsExportFormat(ValueUtf8);

    case READER_OPTION_SPLIT:
        return ReaderTakeSize(Value,
                              READER_MINIMUM_SPLIT_SIZE,
                              &Options->SplitSize);

    case READER_OPTION_MINIMUM:
        return ReaderTakeSize(Value, 0, &Options->Minimum);

    case READER_OPTION_BUDGET:
        if (!ReaderTakeNumber(Value, 1, 100, &Number)) {
            return FALSE;
        }
        Options->BudgetInPercent = (ULONG)Number;
        return TRUE;

    case READER_OPTION_NO_INDEX:
        Options->IndexInterval = 0;
        return TRUE;

    case READER_OPTION_MARKS:
        if (!ReaderTakeNumber(Value,
                              READER_MINIMUM_INDEX_INTERVAL,
                              READER_MAXIMUM_INDEX_INTERVAL,
                              &Number)) {
            return FALSE;
        }
        if ((Options->Given & READER_OPTION_NO_INDEX) == 0) {
            Options->IndexInterval = Number;
        }
        return TRUE;

    case READER_OPTION_FROM:
        Options->From = 0;
        return ReaderTakeMark(ValueUtf8, &Options->FromMark) ||
               ReaderTakeTime(Value, &Options->From);

    case READER_OPTION_TO:
        Options->To = READER_MAXIMUM_TIMESTAMP;
        return ReaderTakeMark(ValueUtf8, &Options->ToMark) ||
               ReaderTakeTime(Value, &Options->To);

    case READER_OPTION_WORKERS:
        if (!ReaderTakeNumber(Value, 1, READER_MAXIMUM_WORKERS, &Number)) {
            return FALSE;
        }
        Options->NumberOfWorkers = (ULONG)Number;
        return TRUE;

    case READER_OPTION_SORT:
        for (Index = 0; Index < RTL_NUMBER_OF(ReaderSortNames); Index++) {
            if (RtlAreStringsEqual(ReaderSortNames[Index], ValueUtf8)) {
                Options->SortKey = (READER_SORT_KEY)Index;
                return TRUE;
            }
        }
        return FALSE;

    case READER_OPTION_LIMIT:
        return ReaderTakeNumber(Value, 1, ~0ULL, &Options->Limit);

    case READER_OPTION_COUNT:
        return ReaderTakeNumber(Value, 1, ~0ULL, &Options->Count);

    case READER_OPTION_THREAD:
        if (!ReaderTakeNumber(Value, 0, 0xFFFFFFFF, &Number)) {
            return FALSE;
        }
        Options->ThreadId = (ULONG)Number;
        return TRUE;

    case READER_OPTION_DEPTH:
        if (!ReaderTakeNumber(Value, 1, 0xFFFFFFFF, &Number)) {
            return FALSE;
        }
        Options->Depth = (ULONG)Number;
        return TRUE;

    case READER_OPTION_INTERVAL:
        if (!ReaderTakeNumber(Value,
                              READER_MINIMUM_INTERVAL,
                              READER_MAXIMUM_INTERVAL,
                              &Number)) {
            return FALSE;
        }
        Options->IntervalInMilliseconds = (ULONG)Number;
        return TRUE;

    default:
        Options->Module = Value;
        return Value[0] != 0;
    }
}


_Use_decl_annotations_
BOOLEAN
ReaderParseOptions(
    PCREADER_CONTEXT Context,
    PCREADER_COMMAND Command,
    PCRTL_ARGUMENT Arguments,
    ULONG NumberOfArguments,
    PREADER_OPTIONS Options,
    PBOOLEAN IsHelp
    )
/*++

Routine Description:

    Parses a command's arguments.

Arguments:

    Context - The context.

    Command - The command.

    Arguments, NumberOfArguments - What follows the command's name.

    Options - Receives the options.

    IsHelp - Receives whether help was asked for.

Return Value:

    TRUE if the command is to run; otherwise either help was asked for or the
    error has been written.  The options may have a filter either way.

--*/
{
    const READER_OPTION *Option;
    BOOLEAN IsEnded = FALSE;
    BOOLEAN IsOpen = FALSE;             // any number of names follow the path
    BOOLEAN IsBadValue;
    BOOLEAN IsPathFirst;
    ULONG NumberOfPlaces = 1;
    ULONG NumberOfPaths = 0;
    ULONG ValueOffset;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(Options, sizeof(*Options));
    Options->Command = Command->Name;
    Options->First = L"";
    Options->FirstUtf8 = "";
    Options->Second = L"";
    Options->SecondUtf8 = "";
    Options->Limit = ~0ULL;
    Options->Count = ~0ULL;
    Options->To = ~0ULL;
    Options->Depth = 0xFFFFFFFF;
    Options->IntervalInMilliseconds = READER_DEFAULT_INTERVAL;
    Options->IndexInterval = READER_INDEX_INTERVAL;
    *IsHelp = FALSE;
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

        if (IsEnded || Argument[0] != '-' || Argument[1] == 0) {

            if (IsOpen && Options->Path != NULL &&
                Options->NumberOfNames < RTL_NUMBER_OF(Options->Names)) {

                Options->Names[Options->NumberOfNames] = Argument;
                Options->NumberOfNames += 1;
                continue;
            }

            if (NumberOfPaths == NumberOfPlaces ||
                (IsOpen && Options->Path != NULL)) {

                ReaderWriteUsageError(Context,
                                      Command,
                                      "there is one argument too many:",
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
            RtlAreStringsEqual(Argument, "-h")) {
            *IsHelp = TRUE;
            return FALSE;
        }

        Option = NULL;
        if (Argument[1] == '-') {
            Option = ReaderFindOption(Command, Argument, &ValueOffset);
        } else if (RtlAreStringsEqual(Argument, "-o")) {
            Option = ReaderFindOption(Command, "--output", &ValueOffset);
        }

        if (Option == NULL) {
            ReaderWriteUsageError(Context,
                                  Command,
                                  "unknown option",
                                  Argument);
            return FALSE;
        }

        if (Option->Value == NULL) {

            if (ValueOffset != 0) {
                ReaderWriteUsageError(Context,
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
                ReaderWriteUsageError(Context,
                                      Command,
                                      "the option needs a value:",
                                      Argument);
                return FALSE;
            }

            Value = Arguments[Index].Wide;
            ValueUtf8 = Arguments[Index].Utf8;
        }

        if (Option->Flag == READER_OPTION_FORMAT &&
            Option->Name[0] != 'r' &&
            Options->Format != ReaderFormatText) {
            ReaderWriteUsageError(Context,
                                  Command,
                                  "only one of --csv and --json, not also",
                                  Argument);
            return FALSE;
        }

        IsBadValue = FALSE;
        if (Option->Flag == READER_OPTION_FILTER) {

            Options->Given |= READER_OPTION_FILTER;
            Status = ReaderAddPrefixes(Context,
                                       &Options->Filter,
                                       Option->Name[0] == 'e',
                                       Value,
                                       ValueUtf8,
                                       &IsBadValue);
            if (!NT_SUCCESS(Status) && !IsBadValue) {
                return FALSE;
            }

        } else {
            IsBadValue = !ReaderTakeOption(Options, Option, Value, ValueUtf8);
        }

        if (IsBadValue) {
            RtlWriteText(Context->Errors,
                         "TraceReader: %s: bad value \"%s\" for --%s: "
                         "it takes %s\n",
                         Command->Name,
                         ValueUtf8,
                         Option->Name,
                         Option->Rule);
            RtlFlushWriter(Context->Errors);
            return FALSE;
        }
    }

    if (Options->Path == NULL || Options->Path[0] == 0 ||
        (IsPathFirst && Options->First[0] == 0)) {
        ReaderWriteUsageError(Context,
                              Command,
                              NumberOfPlaces == 1
                                  ? "a session directory or store is missing"
                                  : "two arguments are needed:",
                              NumberOfPlaces == 1 ? "" : Command->Arguments);
        return FALSE;
    }

    return ReaderBuildFilter(Context, Options->Filter);
}
