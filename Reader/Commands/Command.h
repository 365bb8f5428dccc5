/*++

Module Name:

    Command.h

Abstract:

    What a command is, what the help of several has in common, and how a command
    begins.

--*/

#ifndef TRACER_COMMAND_H
#define TRACER_COMMAND_H

#include "../Base/BaseOptions.h"
#include "../Functions/FunctionPattern.h"
#include "../Output/OutputTable.h"
#include "../Session/Session.h"

typedef
ULONG
(READER_COMMAND_ROUTINE)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );
typedef READER_COMMAND_ROUTINE *PREADER_COMMAND_ROUTINE;

typedef struct _READER_OTHER_TABLES {
    PCSZ Option;                    // "--by module"
    const PCREADER_TABLE *Tables;   // then NULL
} READER_OTHER_TABLES;

typedef struct _READER_COMMAND {
    PCSZ Name;
    PCSZ Arguments;                 // "PATH", or two: "FUNCTION PATH", or
                                    // "PATH NAME..."; or "PATH VERB [TEXT]",
                                    // of which the last may be missing
    PCSZ Summary;                   // one line
    PCSZ Notes;                     // help: what it does; may be ""
    PCSZ Examples;                  // help: lines of "  TraceReader ..."
    ULONGLONG Options;              // READER_OPTION_* that it takes
    PREADER_COMMAND_ROUTINE Routine;
    const PCREADER_TABLE *Tables;   // of CSV and JSON, then NULL; NULL: it
                                    // writes none
    const READER_OTHER_TABLES *Other;   // with an option instead; or NULL
} READER_COMMAND;
typedef const READER_COMMAND *PCREADER_COMMAND;

//
// All of them, in the order of the help (CommandHelp.c).
//

extern const PCREADER_COMMAND ReaderCommands[];
extern const ULONG ReaderNumberOfCommands;

//
// What the commands' help has in common.
//

#define READER_TICKS_NOTE                                                   \
    "When the rate of the time stamp counter is not known, fields end\n"    \
    "with _ticks in place of _ns, and time_unit (JSON) says \"ticks\".\n"    \
    "clock (JSON; in CSV a last column) is thread if times are those of a\n" \
    "clock thread, rounded down to its step; none if there are no times,\n"  \
    "which are then empty or null; else tsc (CSV: no such column).\n"

#define READER_FRAMES_NOTE                                                  \
    "A call is abandoned when its function was left without an exit (an\n"  \
    "exception, longjmp, a call that never returned).  Its time, up to the\n" \
    "record that proved it gone, is in the abandoned time alone.  A call is\n" \
    "unfinished if it was open at the end of the data; it counts up to the\n" \
    "last record of its thread, or of those before records of a ring that\n" \
    "were overwritten before they could be read.  A call is uncertain if\n"  \
    "the clock thread may have stood still during it.\n"

#define READER_RANGE_NOTE                                                   \
    "With --from or --to, calls are those that were open at some time from\n" \
    "the one to the other, both included, and times are of the part of them\n" \
    "in between: a call that goes on after --to ends there and is\n"       \
    "unfinished; begun_before are calls that began before --from (0 without\n" \
    "it).  Both need a session with times.\n"

#define READER_FILTER_NOTE                                                  \
    "LIST of --function and --exclude is PREFIX[,PREFIX...] or @FILE: UTF-8\n" \
    "text with one prefix per line; empty lines and those that begin with #\n" \
    "are ignored.  PREFIX may be a pattern, and is the beginning of a\n"     \
    "name in full, in the same case, without a module, with or without the\n" \
    "return type that functions of C++ templates have; blanks around it are\n" \
    "ignored.  With a module before it (kernel32!Read, game.exe!, k*!*File)\n" \
    "it means functions of that module, with or without its extension and\n" \
    "in any case; where one with a module and one without disagree, what\n" \
    "excludes decides.\n"                                                   \
    "Of the prefixes that a name begins with, the longest\n"                \
    "decides; of two equal ones, the first.  Before it comes a pattern that\n" \
    "excludes, behind it one that does not; PREFIX* is PREFIX, and * all of\n" \
    "which nothing else says anything.  Without --function, all remain\n"   \
    "that are not excluded.  In --function, -PREFIX excludes.  Both may be\n" \
    "given several times.\n"                                                \
    READER_PATTERN_NOTE

#define READER_PERCENTILES_NOTE                                             \
    "A percentile is never below the exact value and at most 3.125 % above\n" \
    "it; up to 63 ticks of the time stamp counter it is exact.  Abandoned\n" \
    "calls are not included.\n"

#define READER_WAITS_NOTE                                                   \
    "Waited is the time inside the outermost calls of functions that wait\n" \
    "(Sleep, WaitForSingleObject, recv ...: Docs/Waits.md, --waits), or of\n" \
    "the call itself if it is one; ran is the rest of the total.  A call of\n" \
    "a lock waited if it took --contention or longer.  Text has the two\n"   \
    "where something waited.\n"

#define READER_NOT_SHOWN_NOTE(Rows)                                         \
    "Numbers are the same as without them.  JSON then also has the array\n" \
    "not_shown with " Rows ", calls: what was left out.\n"

//
// Are functions shown by short names: --names, or to a terminal, for which
// --width N stands.
//

BOOLEAN
CommandAreNamesShort(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );

//
// Names an option that a command does not have, and the one that is near, or
// the commands that have it (CommandHelp.c).
//

VOID
CommandWriteUnknownOption(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _In_z_ PCSZ Argument
    );

//
// Writes help (CommandHelp.c).
// Command: the command; NULL for the program.
//

VOID
CommandWriteHelp(
    _Inout_ PRTL_WRITER Writer,
    _In_opt_ PCREADER_COMMAND Command
    );

//
// Writes the JSON Schema of what all commands write with --json
// (CommandHelp.c).
//

VOID
CommandWriteSchema(
    _Inout_ PRTL_WRITER Writer
    );

//
// Writes the script with which a shell completes commands, options and their
// values (CommandHelp.c).
// Shell: its name.
// Returns FALSE, and writes nothing, if it is not one of those that are known.
//

_Success_(return != FALSE)
BOOLEAN
CommandWriteCompletions(
    _Inout_ PRTL_WRITER Writer,
    _In_z_ PCSZ Shell
    );

//
// The program, given its arguments (the first is its own name).  Returns an
// exit code.
//

ULONG
CommandMain(
    _In_ PCREADER_CONTEXT Context,
    _In_reads_(NumberOfArguments) PCRTL_ARGUMENT Arguments,
    _In_ ULONG NumberOfArguments
    );

//
// Opens the session that a command was given.
// Returns FALSE if it cannot be read; the error has been written and there is
// nothing to close.
//

_Success_(return != FALSE)
BOOLEAN
CommandOpenCommandSession(
    _Out_ PREADER_SESSION Session,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );

//
// The same, and then says what is wrong with its stores and applies --module;
// a session without a store that can be read is a failure.
// Returns FALSE if it cannot be read, or has no store that can; the error has
// been written and there is nothing to close.
//

_Success_(return != FALSE)
BOOLEAN
CommandBeginCommand(
    _Out_ PREADER_SESSION Session,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );

//
// Looks whether there is such a column. FALSE if --sort names a key that
// threads and modules have not; that has been written.
//

_Success_(return != FALSE)
BOOLEAN
CommandCheckSortKey(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options,
    _In_z_ PCSZ Command
    );

//
// The commands: Command<Name>.c.
//

extern const READER_COMMAND ReaderAttachCommand;
extern const READER_COMMAND ReaderCalleesCommand;
extern const READER_COMMAND ReaderCallersCommand;
extern const READER_COMMAND ReaderCtlCommand;
extern const READER_COMMAND ReaderDetachCommand;
extern const READER_COMMAND ReaderCollectCommand;   // CollectCommand.c
extern const READER_COMMAND ReaderDiffCommand;
extern const READER_COMMAND ReaderExportCommand;
extern const READER_COMMAND ReaderHotCommand;
extern const READER_COMMAND ReaderExcludeCommand;
extern const READER_COMMAND ReaderInfoCommand;
extern const READER_COMMAND ReaderLiveCommand;
extern const READER_COMMAND ReaderModulesCommand;
extern const READER_COMMAND ReaderOutliersCommand;
extern const READER_COMMAND ReaderPackCommand;
extern const READER_COMMAND ReaderUnpackCommand;
extern const READER_COMMAND ReaderRecoverCommand;
extern const READER_COMMAND ReaderReplayCommand;
extern const READER_COMMAND ReaderReportCommand;
extern const READER_COMMAND ReaderRunCommand;
extern const READER_COMMAND ReaderSessionsCommand;
extern const READER_COMMAND ReaderSqlCommand;   // Reader/Sql/SqlCommand.c
extern const READER_COMMAND ReaderStackCommand;
extern const READER_COMMAND ReaderThreadsCommand;
extern const READER_COMMAND ReaderTreeCommand;
extern const READER_COMMAND ReaderVerifyCommand;
extern const READER_COMMAND ReaderViewCommand;
extern const READER_COMMAND ReaderWaitsCommand;

//
// Closes a session that was opened so, and its symbol cache.
// Session: the session, whole or half built.
//

VOID
CommandCloseCommandSession(
    _Inout_ PREADER_SESSION Session
    );

//
// What a command that reads records says of that with --verbose.
//

typedef struct _READER_COST {
    LONGLONG Start;                 // the performance counter
    ULONGLONG NumberOfRecords;      // these four are the command's; with those
                                    // that an index passed by
    ULONGLONG NumberOfOrdinary;     // of those, taken by the fast way
    ULONG NumberOfThreads;          // selected
    ULONG NumberOfWorkers;
} READER_COST;
typedef READER_COST *PREADER_COST;

//
// Notes when a command began.
//

VOID
CommandBeginReading(
    _In_ PCREADER_CONTEXT Context,
    _Out_ PREADER_COST Cost
    );

//
// Writes, on the error output, what was read, how fast and in how much memory.
//

VOID
CommandPutReading(
    _In_ const READER_SESSION *Session,
    _In_ const READER_COST *Cost
    );

#endif // TRACER_COMMAND_H
