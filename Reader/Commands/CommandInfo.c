/*++

Module Name:

    CommandInfo.c

Abstract:

    TraceReader info: what a session is and what it holds.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionCompact.h"
#include "../Session/SessionImports.h"
#include "../Session/SessionControl.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionKernel.h"
#include "../Session/SessionLog.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionTreeStore.h"
#include "../Functions/Function.h"
#include "../Calls/CallProbe.h"
#include "../Sums/SumEtlInfo.h"
#include "Command.h"

//
// When text shows some of the columns: not what is 0 and was not asked for.
//

#define READER_INFO_REASON READER_COLUMN_OWN(0)
#define READER_INFO_RING READER_COLUMN_OWN(1)
#define READER_INFO_CLOCK READER_COLUMN_OWN(2)
#define READER_INFO_DURATION READER_COLUMN_OWN(3)
#define READER_INFO_KEPT READER_COLUMN_OWN(4)
#define READER_INFO_DEPTH READER_COLUMN_OWN(5)
#define READER_INFO_DOUBTFUL READER_COLUMN_OWN(6)
#define READER_INFO_BYTES READER_COLUMN_OWN(7)
#define READER_INFO_CLEARED READER_COLUMN_OWN(8)
#define READER_INFO_TREES READER_COLUMN_OWN(9)
#define READER_INFO_LEFT_OUT READER_COLUMN_OWN(10)
#define READER_INFO_CPU READER_COLUMN_OWN(11)

//
// What text begins with.  All of it is in the tables of CSV and JSON, too.
//

static const READER_COLUMN ReaderInfoSummaryColumns[] = {
    { "Program", "process_path", ReaderColumnText, 0, 0, "" },
    { "Command line", "command_line", ReaderColumnText, 0, 0, "" },
    { "Processes", "processes", ReaderColumnProcessId, 0,
      READER_COLUMN_OPTIONAL, "" },
    { "PID", "process_id", ReaderColumnNumber, 0, 0, "" },
    { "Started", "start_time", ReaderColumnDate, 0, 0, "" },
    { "Duration", "duration", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE, "" },
    { "CPU time", "cpu", ReaderColumnCpuTime, 0, READER_INFO_CPU, "" },
    { "Exit code", "exit_code", ReaderColumnText, 0, 0, "" },
    { "State", "state", ReaderColumnText, 0, 0, "" },
    { "Reason", "reason", ReaderColumnText, 0, READER_INFO_REASON, "" },
    { "Status", "status", ReaderColumnHexadecimal, 0, READER_INFO_REASON, "" },
    { "Mode", "mode", ReaderColumnText, 0, 0, "" },
    { "Threads", "threads", ReaderColumnNumber, 0, 0, "" },
    { "Calls in trees", "calls", ReaderColumnNumber, 0, READER_INFO_TREES,
      "" },
    { "Records", "records", ReaderColumnNumber, 0, 0, "" },
    { "Bytes", "bytes", ReaderColumnBytes, 0, 0, "" },
    { "Lost", "lost", ReaderColumnNumber, 0, 0, "" },
    { "Overwritten", "overwritten", ReaderColumnNumber, 0, READER_INFO_RING,
      "" },
    { "Taken back", "taken_back", ReaderColumnNumber, 0, READER_INFO_DURATION,
      "" },
    { "Too deep", "too_deep", ReaderColumnNumber, 0, READER_INFO_DEPTH, "" },
    { "Stores left out", "stores_left_out", ReaderColumnNumber, 0,
      READER_INFO_LEFT_OUT, "" }
};

static const READER_TABLE ReaderInfoSummaryTable = {
    "summary",
    ReaderInfoSummaryColumns,
    RTL_NUMBER_OF(ReaderInfoSummaryColumns),
    TRUE,
    FALSE,
    ""
};

static const READER_COLUMN ReaderInfoSessionColumns[] = {
    { "State", "state", ReaderColumnText, 0, 0,
      "open, closed, stopped, ended or died; of a session the worst of its "
      "stores, or detached: the process runs, and none of its stores is open "
      "since." },
    { "Reason", "reason", ReaderColumnText, 0,
      READER_COLUMN_NULLABLE | READER_INFO_REASON,
      "Why it was stopped or closed; null if it was not." },
    { "Status", "status", ReaderColumnHexadecimal, 0,
      READER_COLUMN_NULLABLE | READER_INFO_REASON,
      "The NTSTATUS that stopped it, in hexadecimal; null if none did." },
    { "Process", "process_id", ReaderColumnNumber, 0, 0,
      "Of the traced process." },
    { "Image", "process_path", ReaderColumnText, 0, 0,
      "Its image's path." },
    { "Command line", "command_line", ReaderColumnText, 0, 0,
      "Its command line, truncated to the size of the field in a store's "
      "header." },
    { "Started", "start_time", ReaderColumnDate, 0, 0,
      "When it was started, ISO 8601, UTC." },
    { "Running", "process_running", ReaderColumnText, 0, 0,
      "yes, no, or unknown if the system does not allow the query." },
    { "Clock, ticks/s", "clock_rate_hz", ReaderColumnNumber, 0,
      READER_COLUMN_NULLABLE,
      "Ticks of the time stamp counter per second; 0 or null if the rate is "
      "not known." },
    { "Invariant clock", "tsc_invariant", ReaderColumnText, 0, 0,
      "yes if the processor reports that the counter's rate never changes." },
    { "Clock readings", "clock_readings", ReaderColumnNumber, 0, 0,
      "Readings of the clocks from which the rate was taken." },
    { "Stores", "stores", ReaderColumnNumber, 0, 0,
      "Store files." },
    { "Stores left out", "stores_left_out", ReaderColumnNumber, 0, 0,
      "Store files that are damaged or of another version; verify says why." },
    { "Records", "records", ReaderColumnNumber, 0, 0,
      "Records: two for a call that ended." },
    { "Bytes", "bytes", ReaderColumnBytes, 0, 0,
      "Bytes of records and headers." },
    { "Lost when stopped", "lost_after_stop", ReaderColumnNumber, 0, 0,
      "Events after a store had stopped." },
    { "Lost inside a hook", "lost_reentered", ReaderColumnNumber, 0, 0,
      "Events inside a hook: calls made by the library itself, or by a "
      "handler that ran during a hook." },
    { "Views used up", "view_changes", ReaderColumnNumber, 0, 0,
      "How often threads changed their view of a store." },
    { "Mapped in hooks", "views_mapped_inline", ReaderColumnNumber, 0, 0,
      "Of these, the views that the traced thread had to map itself, in a "
      "hook." },
    { "Prepared in hooks", "inline_preparations", ReaderColumnNumber, 0, 0,
      "Pieces of views whose pages the traced thread prepared itself, in a "
      "hook." },
    { "Time of these", "inline_wait", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE,
      "The total time of these mappings and preparations." },
    { "Longest of these", "longest_inline_wait", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE,
      "The longest of them." },
    { "First record", "first_time", ReaderColumnDate, 0,
      READER_COLUMN_NULLABLE,
      "When the first record was made, ISO 8601, UTC; null without records "
      "or times." },
    { "Last record", "last_time", ReaderColumnDate, 0, READER_COLUMN_NULLABLE,
      "When the last record was made." },
    { "CPU time", "cpu", ReaderColumnCpuTime, 0,
      READER_COLUMN_NULLABLE,
      "The processor time that the system counted for the process, or for all "
      "of several, when it ended; null if it runs, or was killed and not "
      "started by run." },
    { "Processes", "processes", ReaderColumnProcessId, 0,
      READER_COLUMN_OPTIONAL,
      "How many processes there are; only if there are several. process_id, "
      "process_path, command_line, start_time and exit_code are of the first "
      "of them." },
    { "Exit code", "exit_code", ReaderColumnExitCode, 0,
      READER_COLUMN_NULLABLE,
      "The process's exit code, unsigned; null if it runs, or if TraceReader "
      "run did not start it." }
};

static const READER_TABLE ReaderInfoSessionTable = {
    "session",
    ReaderInfoSessionColumns,
    RTL_NUMBER_OF(ReaderInfoSessionColumns),
    TRUE,
    FALSE,
    "One row: the session as a whole."
};

//
// How it was recorded, and what was left out for that.
//

static const READER_COLUMN ReaderInfoRecordingColumns[] = {
    { "Mode", "mode", ReaderColumnText, 0, 0,
      "file; ring: the newest records of each thread; tree: sums for each "
      "calling context; ranges: the calls of chronological functions; "
      "compact, compact-ring: the same in blocks; ring and file, tree and "
      "records, tree and ranges, or compact and others: both kinds." },
    { "Ring, bytes", "ring_bytes", ReaderColumnBytes, 0, READER_INFO_RING,
      "The size of a ring; 0 with file." },
    { "Overwritten", "overwritten", ReaderColumnNumber, 0, READER_INFO_RING,
      "Records that rings have overwritten." },
    { "Clock", "clock", ReaderColumnText, 0, 0,
      "The source of the time stamps: tsc, the time stamp counter; thread, "
      "a clock thread (times are rounded down to its step); none, no times." },
    { "Clock's step", "clock_resolution", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE | READER_INFO_CLOCK,
      "The clock thread's step; null with another clock." },
    { "Clock froze", "clock_freezes", ReaderColumnNumber, 0,
      READER_INFO_CLOCK,
      "How often the clock thread stood still for more than 64 times its "
      "resolution." },
    { "Longest freeze", "longest_clock_step", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE | READER_INFO_CLOCK,
      "The longest of these." },
    { "Minimum duration", "minimum_duration", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE | READER_INFO_DURATION,
      "TRACER_MIN_DURATION; 0: none." },
    { "Taken back", "taken_back", ReaderColumnNumber, 0, READER_INFO_DURATION,
      "Calls that were taken back." },
    { "Short and kept", "taken_back_doubtful", ReaderColumnNumber, 0,
      READER_INFO_KEPT,
      "Calls that were shorter and were kept: without unwind data it is not "
      "certain which entries are theirs." },
    { "Maximum depth", "maximum_depth", ReaderColumnNumber, 0,
      READER_INFO_DEPTH,
      "TRACER_MAX_DEPTH; 0: none." },
    { "Too deep", "too_deep", ReaderColumnNumber, 0, READER_INFO_DEPTH,
      "Events of calls that were deeper." },
    { "Perhaps not", "too_deep_doubtful", ReaderColumnNumber, 0,
      READER_INFO_DOUBTFUL,
      "At most this many of these may not have been too deep." },
    { "Maximum bytes", "maximum_bytes", ReaderColumnBytes, 0,
      READER_INFO_BYTES,
      "TRACER_MAX_BYTES; 0: none." },
    { "Waits for pages", "waits", ReaderColumnNumber, 0, 0,
      "How often threads waited for pages." },
    { "Time of waits", "wait", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE,
      "The total time of these waits." },
    { "Longest, at most", "longest_wait", ReaderColumnExactTime, 0,
      READER_COLUMN_NULLABLE,
      "The longest wait." }
};

static const READER_TABLE ReaderInfoRecordingTable = {
    "recording",
    ReaderInfoRecordingColumns,
    RTL_NUMBER_OF(ReaderInfoRecordingColumns),
    TRUE,
    FALSE,
    "One row: how it was recorded."
};

static const READER_COLUMN ReaderInfoProcessColumns[] = {
    { "PID", "process_id", ReaderColumnNumber, 8, 0,
      "The process's identifier." },
    { "Parent", "parent_id", ReaderColumnNumber, 8, READER_COLUMN_NULLABLE,
      "That of the process that started it; null if that is not known." },
    { "Started", "start_time", ReaderColumnDate, 24, 0,
      "When it was created, ISO 8601, UTC." },
    { "State", "state", ReaderColumnText, 8, 0,
      "open, closed, stopped, ended, died or detached." },
    { "Threads", "threads", ReaderColumnNumber, 7, 0,
      "Its threads." },
    { "Stores", "stores", ReaderColumnNumber, 6, 0,
      "Its stores that can be read." },
    { "Records", "records", ReaderColumnNumber, 12, 0,
      "Their records." },
    { "Bytes", "bytes", ReaderColumnBytes, 11, 0,
      "Their bytes." },
    { "CPU", "cpu", ReaderColumnCpuTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "Its processor time when it ended; null if it runs, or was killed and "
      "not started by run." },
    { "Exit code", "exit_code", ReaderColumnExitCode, 10,
      READER_COLUMN_NULLABLE,
      "Its exit code, unsigned; null if TraceReader run did not start it." },
    { "", "command_line", ReaderColumnText, 0, READER_COLUMN_DATA,
      "Its command line." },
    { "Process", "path", ReaderColumnText, 0, 0,
      "Its image's path." }
};

static const READER_TABLE ReaderInfoProcessTable = {
    "processes",
    ReaderInfoProcessColumns,
    RTL_NUMBER_OF(ReaderInfoProcessColumns),
    FALSE,
    TRUE,
    "The processes, by when they were created; only if there are several."
};

static const READER_COLUMN ReaderInfoTreeColumns[] = {
    { "Trees", "stores", ReaderColumnNumber, 0, 0,
      "Stores that hold a tree." },
    { "Nodes", "nodes", ReaderColumnNumber, 0, 0,
      "Their nodes: calling contexts." },
    { "Nodes for others", "nodes_for_others", ReaderColumnNumber, 0, 0,
      "Of these, nodes for functions for whose own nodes there was no room." },
    { "Calls", "calls", ReaderColumnNumber, 0, 0,
      "Calls." },
    { "Open calls", "open_calls", ReaderColumnNumber, 0, 0,
      "Of these, calls that are open." },
    { "Stacks", "stacks", ReaderColumnNumber, 0, 0,
      "Stacks: the threads' own and fibers'." },
    { "Room used", "used_bytes", ReaderColumnBytes, 0, 0,
      "Bytes of nodes." },
    { "Of", "room_bytes", ReaderColumnBytes, 0, 0,
      "Bytes available for nodes and for the stacks of fibers." },
    { "Exits without entry", "unmatched_exits", ReaderColumnNumber, 0, 0,
      "Exits without an entry." },
    { "Cleared", "cleared", ReaderColumnDate, 0,
      READER_COLUMN_NULLABLE | READER_INFO_CLEARED,
      "When a tree was cleared last, ISO 8601, UTC; null if none was." }
};

static const READER_TABLE ReaderInfoTreeTable = {
    "trees",
    ReaderInfoTreeColumns,
    RTL_NUMBER_OF(ReaderInfoTreeColumns),
    TRUE,
    TRUE,
    "One row, only where stores hold trees."
};

static const READER_COLUMN ReaderInfoModuleColumns[] = {
    { "Base", "base", ReaderColumnHexadecimal, 18, 0,
      "Image base, hexadecimal." },
    { "Size", "size", ReaderColumnNumber, 10, 0,
      "Of the image, in bytes." },
    { "Time stamp", "time_date_stamp", ReaderColumnHexadecimal, 10, 0,
      "The image's, hexadecimal; with its size it identifies the build." },
    { "Check sum", "check_sum", ReaderColumnHexadecimal, 10, 0,
      "The image's, hexadecimal." },
    { "Symbols", "symbols", ReaderColumnText, 7, 0,
      "Where names come from: pdb, dwarf, coff, exports, or none." },
    { "Hooks, ps", "probe_total_ps", ReaderColumnNumber, 9,
      READER_COLUMN_NULLABLE,
      "What the two hooks of a call add to the time of its caller, "
      "picoseconds; null if it was not measured." },
    { "Inner, ps", "probe_inner_ps", ReaderColumnNumber, 9,
      READER_COLUMN_NULLABLE,
      "The part of this between the call's own two time stamps, "
      "picoseconds." },
    { "PDB", "pdb", ReaderColumnText, 24, READER_COLUMN_NULLABLE,
      "The PDB's path as in the image; null if the image names none." },
    { "Module", "path", ReaderColumnText, 0, 0,
      "The image's path." }
};

static const READER_TABLE ReaderInfoModuleTable = {
    "modules",
    ReaderInfoModuleColumns,
    RTL_NUMBER_OF(ReaderInfoModuleColumns),
    FALSE,
    FALSE,
    "The modules that were recorded."
};

static const READER_COLUMN ReaderInfoThreadColumns[] = {
    { "Thread", "thread_id", ReaderColumnNumber, 8, 0,
      "The thread's identifier." },
    READER_PROCESS_COLUMNS,
    { "State", "state", ReaderColumnText, 8, 0,
      "open, closed, stopped, ended, died, or what is wrong with it." },
    { "Reason", "reason", ReaderColumnText, 14, READER_COLUMN_NULLABLE,
      "Why its store was closed or stopped; null while it is open." },
    { "Stores", "stores", ReaderColumnNumber, 6, 0,
      "Its stores: one for each module that it was in, and more if the "
      "thread continued after a store had ended." },
    { "Records", "records", ReaderColumnNumber, 12, 0,
      "Records: two for a call that ended." },
    { "Bytes", "bytes", ReaderColumnBytes, 11, 0,
      "Bytes of records and headers." },
    { "Start", "start", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "From the session's first record to the thread's first." },
    { "Duration", "duration", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "From the thread's first record to its last." },
    { "CPU", "cpu", ReaderColumnCpuTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "The processor time that the system counted for the thread, from its "
      "first recorded call to its end; null if it runs or was killed." },
    { "Lost", "lost", ReaderColumnNumber, 8, 0,
      "Events that were lost." },
    { "Name", "name", ReaderColumnText, 0, 0,
      "The thread's description, if it has one." }
};

static const READER_TABLE ReaderInfoThreadTable = {
    "threads",
    ReaderInfoThreadColumns,
    RTL_NUMBER_OF(ReaderInfoThreadColumns),
    FALSE,
    FALSE,
    "The threads that made records, in the order of their first records."
};

//
// What was requested: of one process a list, of several a line each.
//

#define READER_INFO_CONTROL_COLUMNS(TimeType, LeftOutTitle)                 \
    READER_PROCESS_COLUMNS,                                                 \
    { "Actions", "actions", ReaderColumnNumber, 7, 0,                       \
      "All of them." },                                                     \
    { "Marks", "marks", ReaderColumnNumber, 7, 0,                           \
      "Marks." },                                                           \
    { "Names", "names", ReaderColumnNumber, 7, 0,                           \
      "Thread names that were set." },                                      \
    { "Pauses", "pauses", ReaderColumnNumber, 7, 0,                         \
      "Periods without recording, each from a stop to the next start." },   \
    { "Paused", "paused", TimeType, READER_TIME_WIDTH,                      \
      READER_COLUMN_NULLABLE,                                               \
      "The total length; a period that has not ended counts up to the last " \
      "record." },                                                          \
    { LeftOutTitle, "events_left_out", ReaderColumnNumber, 12, 0,           \
      "Hook calls during these periods, which were counted and not "        \
      "recorded." },                                                        \
    { "Clears", "clears", ReaderColumnNumber, 7, 0,                         \
      "Clears." },                                                          \
    { "Last clear", "last_clear", TimeType, READER_TIME_WIDTH,              \
      READER_COLUMN_NULLABLE,                                               \
      "When the last one was, from the session's first record; null if "    \
      "there was none." },                                                  \
    { "Actions left out", "actions_left_out", ReaderColumnNumber, 16, 0,    \
      "Marks and requests that could not be written or were not read." }

static const READER_COLUMN ReaderInfoControlColumns[] = {
    READER_INFO_CONTROL_COLUMNS(ReaderColumnExactTime, "Events left out")
};

static const READER_TABLE ReaderInfoControlTable = {
    "control",
    ReaderInfoControlColumns,
    RTL_NUMBER_OF(ReaderInfoControlColumns),
    TRUE,
    FALSE,
    "The requests made while the session was recorded; one row for each "
    "process."
};

static const READER_COLUMN ReaderInfoControlsColumns[] = {
    READER_INFO_CONTROL_COLUMNS(ReaderColumnTime, "Left out")
};

static const READER_TABLE ReaderInfoControlsTable = {
    "control",
    ReaderInfoControlsColumns,
    RTL_NUMBER_OF(ReaderInfoControlsColumns),
    FALSE,
    FALSE,
    "The requests made while the session was recorded; one row for each "
    "process."
};

static const READER_COLUMN ReaderInfoActionColumns[] = {
    { "Time", "time", ReaderColumnTime, READER_TIME_WIDTH,
      READER_COLUMN_NULLABLE,
      "From the session's first record; 0 if it was before that." },
    { "Thread", "thread_id", ReaderColumnNumber, 8, READER_COLUMN_NULLABLE,
      "The thread that made the request; null if it was made from outside "
      "the program." },
    READER_PROCESS_COLUMNS,
    { "Action", "action", ReaderColumnText, 7, 0,
      "start, stop, clear, mark or name." },
    { "Text", "text", ReaderColumnText, 0, 0,
      "A mark's text, or the name; else empty." }
};

static const READER_TABLE ReaderInfoActionTable = {
    "actions",
    ReaderInfoActionColumns,
    RTL_NUMBER_OF(ReaderInfoActionColumns),
    FALSE,
    FALSE,
    "The actions in the order of time."
};

static const READER_COLUMN ReaderInfoLogColumns[] = {
    { "Log", "line", ReaderColumnText, 0, 0,
      "A line, with its time." }
};

static const READER_TABLE ReaderInfoLogTable = {
    "log",
    ReaderInfoLogColumns,
    RTL_NUMBER_OF(ReaderInfoLogColumns),
    FALSE,
    FALSE,
    "What the library reported, by log: settings that it could not use, and "
    "why recording stopped."
};

typedef struct _READER_LOG_TABLE {
    PREADER_OUTPUT Output;
    BOOLEAN IsBegun;
} READER_LOG_TABLE;
typedef READER_LOG_TABLE *PREADER_LOG_TABLE;

typedef struct _READER_TOTALS {
    ULONGLONG Trees;                // stores; these up to Cleared are theirs
    ULONGLONG Nodes;
    ULONGLONG NodesForOthers;
    ULONGLONG Calls;
    ULONGLONG OpenCalls;
    ULONGLONG Stacks;
    ULONGLONG UsedBytes;
    ULONGLONG RoomBytes;
    ULONGLONG Unmatched;
    ULONGLONG Cleared;              // time stamp of the last time; 0: never
    ULONGLONG Records;
    ULONGLONG Bytes;
    ULONGLONG Lost;
    ULONGLONG Paused;               // events left out
    ULONGLONG Reentered;
    ULONGLONG ViewChanges;
    ULONGLONG ViewsInline;
    ULONGLONG PagesInline;
    ULONGLONG InlineTicks;
    ULONGLONG MaximumInlineTicks;
    ULONGLONG FirstTimestamp;
    ULONGLONG LastTimestamp;
    ULONGLONG RingSizeInBytes;      // the largest; 0: no ring
    ULONGLONG Overwritten;          // records
    ULONGLONG MinimumDuration;      // this and the next two: the largest
    ULONGLONG MaximumDepth;
    ULONGLONG MaximumBytes;
    ULONGLONG TakenBack;
    ULONGLONG Kept;                 // though they were short
    ULONGLONG TooDeep;
    ULONGLONG Doubtful;             // of these
    ULONGLONG Waits;
    ULONGLONG WaitTicks;
    ULONGLONG LongestWait;          // of the stores that waited: the longest
                                    // time on the slow path
    ULONG NumberOfRings;
    ULONG NumberOfCompact;
    ULONG NumberOfFiles;
    ULONG NumberOfRanges;           // of TRACE_FLAG_CHRONOLOGICAL
} READER_TOTALS;
typedef READER_TOTALS *PREADER_TOTALS;

static
ULONGLONG
CommandLarger(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second
    )
{
    return First > Second ? First : Second;
}

static
VOID
CommandAddRecording(
    _Inout_ PREADER_TOTALS Totals,
    _In_ PCREADER_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;

    if (READER_IS_STORE_COMPACT(Store)) {
        Totals->NumberOfCompact += 1;
        Totals->RingSizeInBytes = CommandLarger(Totals->RingSizeInBytes,
                                                Header->BlocksCapacity);
        Totals->Overwritten += (Store->StartOfRecords - Header->HeaderSize) /
                               TRACE_RECORD_SIZE;
    } else if (Header->RingSizeInBytes != 0) {
        Totals->NumberOfRings += 1;
        Totals->RingSizeInBytes = CommandLarger(Totals->RingSizeInBytes,
                                                Header->RingSizeInBytes);
        if (Header->FirstPosition > Header->HeaderSize) {
            Totals->Overwritten +=
                (Header->FirstPosition - Header->HeaderSize) /
                TRACE_RECORD_SIZE;
        }
    } else if (Store->IsTree) {
        Totals->Trees += 1;
        Totals->UsedBytes += Store->NumberOfNodes * TRACE_NODE_SIZE;
        Totals->RoomBytes += Header->MaximumBytes > Header->NodesFileOffset
                                 ? Header->MaximumBytes -
                                       Header->NodesFileOffset
                                 : 0;
        Totals->Unmatched += Header->NumberOfUnmatchedExits;
        Totals->Cleared = CommandLarger(Totals->Cleared,
                                        Header->ClearTimestamp);
    } else if ((Header->Flags & TRACE_FLAG_CHRONOLOGICAL) != 0) {
        Totals->NumberOfRanges += 1;
    } else {
        Totals->NumberOfFiles += 1;
    }

    Totals->MinimumDuration = CommandLarger(Totals->MinimumDuration,
                                            Header->MinimumDuration);
    Totals->MaximumDepth = CommandLarger(Totals->MaximumDepth,
                                         Header->MaximumDepth);
    Totals->MaximumBytes = CommandLarger(Totals->MaximumBytes,
                                         Header->MaximumBytes);
    Totals->TakenBack += Header->NumberOfCallsTakenBack;
    if (!Store->IsTree) {
        Totals->Kept += Header->NumberOfCallsDoubtful;
    }
    Totals->TooDeep += Header->NumberOfEventsTooDeep;
    Totals->Doubtful += Header->NumberOfEventsDoubtful;
    Totals->Waits += Header->NumberOfWaits;
    Totals->WaitTicks += Header->WaitTicks;
    if (Header->NumberOfWaits != 0) {
        Totals->LongestWait =
            CommandLarger(Totals->LongestWait,
                          Header->MaximumInlineTicks < Header->WaitTicks
                             ? Header->MaximumInlineTicks
                             : Header->WaitTicks);
    }
}

static
VOID
CommandAddToTotals(
    _Inout_ PREADER_TOTALS Totals,
    _In_ PCREADER_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;

    //
    // The writer of a ring may have gone around since the end was read.
    //

    if (Store->EndOfRecords > Store->StartOfRecords) {
        Totals->Records += (Store->EndOfRecords - Store->StartOfRecords) /
                           TRACE_RECORD_SIZE;
    }

    Totals->Bytes += SessionCountStoredBytes(Store);
    CommandAddRecording(Totals, Store);
    Totals->Lost += READER_EVENTS_LOST(Header);
    Totals->Paused += READER_EVENTS_PAUSED(Header);
    Totals->Reentered += Header->NumberOfEventsReentered;
    Totals->ViewChanges += Header->NumberOfViewChanges;
    Totals->ViewsInline += Header->NumberOfViewsMappedInline;
    Totals->PagesInline += Header->NumberOfInlinePreparations;
    Totals->InlineTicks += Header->InlineTicks;
    Totals->MaximumInlineTicks = CommandLarger(Totals->MaximumInlineTicks,
                                               Header->MaximumInlineTicks);

    if (Store->FirstTimestamp != 0 &&
        (Totals->FirstTimestamp == 0 ||
         Store->FirstTimestamp < Totals->FirstTimestamp)) {
        Totals->FirstTimestamp = Store->FirstTimestamp;
    }

    if (Store->LastTimestamp > Totals->LastTimestamp) {
        Totals->LastTimestamp = Store->LastTimestamp;
    }
}

static
VOID
CommandPutSession(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session,
    _In_ const READER_TOTALS *Totals
    )
{
    PCTRACE_STORE_HEADER Header = Session->Header;
    PREADER_STORE Because;
    PCSZ State;
    PCSZ Running;
    ULONGLONG Rate;
    ULONG When = 0;

    State = SessionDescribeState(Session, &Because);
    if (Because != NULL && Because->Header->State == TRACE_STATE_STOPPED) {
        When |= READER_INFO_REASON;
    }

    OutputBeginTable(Output, &ReaderInfoSessionTable, When);

    OutputPutString(Output, State);
    if ((When & READER_INFO_REASON) != 0) {
        OutputPutString(Output, SessionDescribeReason(Because->Header));
        OutputPutNumber(Output, Because->Header->Status);
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    OutputPutNumber(Output, Header->ProcessId);
    OutputPutText(Output, Header->ProcessPath, Header->ProcessPathLength);
    OutputPutText(Output, Header->CommandLine, Header->CommandLineLength);
    OutputPutNumber(Output, Header->ProcessCreationTime);

    Running = "unknown";
    if (Session->ProcessState == ReaderProcessRunning) {
        Running = "yes";
    } else if (Session->ProcessState == ReaderProcessGone) {
        Running = "no";
    }

    OutputPutString(Output, Running);

    Rate = CoreQueryTickRate(&Session->Clock);
    if (Rate == 0) {
        OutputPutNothing(Output);
    } else {
        OutputPutNumber(Output, Rate);
    }

    OutputPutString(Output,
                    (Header->Flags & TRACE_FLAG_TSC_INVARIANT) != 0 ? "yes"
                                                                    : "no");
    OutputPutNumber(Output, Session->Clock.NumberOfAnchors);
    OutputPutNumber(Output, Session->NumberOfValidStores);
    OutputPutNumber(Output,
                    Session->NumberOfStores - Session->NumberOfValidStores);
    OutputPutNumber(Output, Totals->Records);
    OutputPutNumber(Output, Totals->Bytes);
    OutputPutNumber(Output, Totals->Lost);
    OutputPutNumber(Output, Totals->Reentered);
    OutputPutNumber(Output, Totals->ViewChanges);
    OutputPutNumber(Output, Totals->ViewsInline);
    OutputPutNumber(Output, Totals->PagesInline);
    OutputPutNumber(Output, Totals->InlineTicks);
    OutputPutNumber(Output, Totals->MaximumInlineTicks);
    SessionPutDate(Output, &Session->Clock, Totals->FirstTimestamp);
    SessionPutDate(Output, &Session->Clock, Totals->LastTimestamp);
    SessionPutProcessCpu(Output, Session, READER_NONE);
    OutputPutNumber(Output, Session->NumberOfProcesses);
    SessionPutProcessExit(Output, Session, 0);
    OutputEndTable(Output);
}

static
VOID
CommandPutProcesses(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session
    )
{
    READER_TOTALS Totals;
    PREADER_STORE Because;
    ULONG NumberOfThreads;
    ULONG NumberOfStores;
    ULONG Process;
    ULONG Index;

    OutputBeginTable(Output, &ReaderInfoProcessTable, 0);
    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {
        PCTRACE_STORE_HEADER Header = Session->Processes[Process].Header;

        RtlZeroBytes(&Totals, sizeof(Totals));
        NumberOfStores = 0;
        NumberOfThreads = 0;
        for (Index = 0; Index < Session->NumberOfStores; Index++) {

            PREADER_STORE Store = Session->Stores[Index];

            if (Store->Thread != READER_NONE &&
                READER_PROCESS_OF_STORE(Session, Store) == Process) {
                CommandAddToTotals(&Totals, Store);
                NumberOfStores += 1;
            }
        }

        for (Index = 0; Index < Session->NumberOfThreads; Index++) {
            if (Session->Threads[Index].Process == Process &&
                Session->Threads[Index].Same == Index) {
                NumberOfThreads += 1;
            }
        }

        OutputPutNumber(Output, Header->ProcessId);
        if (Header->ParentProcessId != 0) {
            OutputPutNumber(Output, Header->ParentProcessId);
        } else {
            OutputPutNothing(Output);
        }

        OutputPutNumber(Output, Header->ProcessCreationTime);
        OutputPutString(Output,
                        SessionDescribeProcessState(Session,
                                                    Process,
                                                    &Because));
        OutputPutNumber(Output, NumberOfThreads);
        OutputPutNumber(Output, NumberOfStores);
        OutputPutNumber(Output, Totals.Records);
        OutputPutNumber(Output, Totals.Bytes);
        SessionPutProcessCpu(Output, Session, Process);
        SessionPutProcessExit(Output, Session, Process);
        OutputPutText(Output, Header->CommandLine, Header->CommandLineLength);
        OutputPutText(Output, Header->ProcessPath, Header->ProcessPathLength);
    }

    OutputEndTable(Output);
}

//
// How stores were recorded.  Returns a literal.
//

static
PCSZ
CommandDescribeMode(
    _In_ const READER_TOTALS *Totals
    )
{
    if (Totals->NumberOfCompact != 0) {
        if (Totals->Trees != 0) {
            return "tree and records";
        }
        return Totals->NumberOfRings + Totals->NumberOfFiles != 0
                   ? "compact and others"
               : Totals->RingSizeInBytes != 0 ? "compact-ring" : "compact";
    }

    if (Totals->NumberOfRings + Totals->NumberOfFiles == 0) {
        if (Totals->Trees != 0) {
            return Totals->NumberOfRanges != 0 ? "tree and ranges" : "tree";
        }
        return Totals->NumberOfRanges != 0 ? "ranges" : "file";
    }

    if (Totals->Trees != 0) {
        return "tree and records";
    }
    if (Totals->NumberOfRings != 0) {
        return Totals->NumberOfFiles == 0 ? "ring" : "ring and file";
    }
    return "file";
}

//
// Writes what text begins with.
// Totals: of all the session's stores, and what their trees hold.
//

static
VOID
CommandPutSummary(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session,
    _In_ const READER_TOTALS *Totals
    )
{
    PCTRACE_STORE_HEADER Header = Session->Header;
    ULONG LeftOut = Session->NumberOfStores - Session->NumberOfValidStores;
    ULONG When = 0;
    ULONGLONG Time = 0;
    PREADER_STORE Because;
    PCSZ State = SessionDescribeState(Session, &Because);

    if (SessionQueryProcessCpu(Session, READER_NONE, &Time)) {
        When |= READER_INFO_CPU;
    }
    if (Because != NULL && Because->Header->State == TRACE_STATE_STOPPED) {
        When |= READER_INFO_REASON;
    }
    if (Totals->Trees != 0) {
        When |= READER_INFO_TREES;
    }
    if (Totals->RingSizeInBytes != 0) {
        When |= READER_INFO_RING;
    }
    if (Totals->MinimumDuration != 0 || Totals->TakenBack != 0) {
        When |= READER_INFO_DURATION;
    }
    if (Totals->MaximumDepth != 0 || Totals->TooDeep != 0) {
        When |= READER_INFO_DEPTH;
    }
    if (LeftOut != 0) {
        When |= READER_INFO_LEFT_OUT;
    }

    OutputBeginTable(Output, &ReaderInfoSummaryTable, When);
    OutputPutText(Output, Header->ProcessPath, Header->ProcessPathLength);
    OutputPutText(Output, Header->CommandLine, Header->CommandLineLength);
    OutputPutNumber(Output, Session->NumberOfProcesses);
    OutputPutNumber(Output, Header->ProcessId);
    OutputPutNumber(Output, Header->ProcessCreationTime);
    if (Totals->FirstTimestamp != 0 &&
        Session->Clock.Kind != TRACE_CLOCK_NONE) {
        OutputPutNumber(Output,
                        Totals->LastTimestamp > Totals->FirstTimestamp
                            ? Totals->LastTimestamp - Totals->FirstTimestamp
                            : 0);
    } else {
        OutputPutNothing(Output);
    }

    SessionPutProcessCpu(Output, Session, READER_NONE);
    SessionPutExitText(Output, Session, 0);
    OutputPutString(Output, State);
    if ((When & READER_INFO_REASON) != 0) {
        OutputPutString(Output, SessionDescribeReason(Because->Header));
        OutputPutNumber(Output, Because->Header->Status);
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    OutputPutString(Output, CommandDescribeMode(Totals));
    OutputPutNumber(Output, Session->NumberOfThreads - Session->NumberOfSame);
    OutputPutNumber(Output, Totals->Calls);
    OutputPutNumber(Output, Totals->Records);
    OutputPutNumber(Output, Totals->Bytes);
    OutputPutNumber(Output, Totals->Lost + Totals->Reentered);
    OutputPutNumber(Output, Totals->Overwritten);
    OutputPutNumber(Output, Totals->TakenBack);
    OutputPutNumber(Output, Totals->TooDeep);
    OutputPutNumber(Output, LeftOut);
    OutputEndTable(Output);
}

static
VOID
CommandPutRecording(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ const READER_TOTALS *Totals
    )
{
    PCCORE_CLOCK Clock = &Session->Clock;
    ULONG When = 0;

    if (Totals->RingSizeInBytes != 0) {
        When |= READER_INFO_RING;
    }

    if (Clock->Kind == TRACE_CLOCK_THREAD) {
        When |= READER_INFO_CLOCK;
    }
    if (Totals->MinimumDuration != 0 || Totals->TakenBack != 0) {
        When |= READER_INFO_DURATION;
    }
    if (Totals->MaximumDepth != 0 || Totals->TooDeep != 0) {
        When |= READER_INFO_DEPTH;
    }
    if (Totals->Kept != 0) {
        When |= READER_INFO_KEPT;
    }
    if (Totals->Doubtful != 0) {
        When |= READER_INFO_DOUBTFUL;
    }
    if (Totals->MaximumBytes != 0) {
        When |= READER_INFO_BYTES;
    }

    OutputBeginTable(Output, &ReaderInfoRecordingTable, When);
    OutputPutString(Output, CommandDescribeMode(Totals));
    OutputPutNumber(Output, Totals->RingSizeInBytes);
    OutputPutNumber(Output, Totals->Overwritten);
    OutputPutString(Output, OutputDescribeClock(Clock));
    if (Clock->Resolution != 0) {
        OutputPutNumber(Output, Clock->Resolution);
    } else {
        OutputPutNothing(Output);
    }

    OutputPutNumber(Output, Session->NumberOfClockFreezes);
    OutputPutNumber(Output, Session->MaximumClockStep);
    OutputPutNumber(Output, Totals->MinimumDuration);
    OutputPutNumber(Output, Totals->TakenBack);
    OutputPutNumber(Output, Totals->Kept);
    OutputPutNumber(Output, Totals->MaximumDepth);
    OutputPutNumber(Output, Totals->TooDeep);
    OutputPutNumber(Output, Totals->Doubtful);
    OutputPutNumber(Output, Totals->MaximumBytes);
    OutputPutNumber(Output, Totals->Waits);
    OutputPutNumber(Output, Totals->WaitTicks);
    OutputPutNumber(Output, Totals->LongestWait);
    OutputEndTable(Output);
}

//
// Adds to the totals what the trees hold.
//

_Must_inspect_result_
static
NTSTATUS
CommandAddTrees(
    _Inout_ PREADER_SESSION Session,
    _Inout_ READER_TOTALS *Totals
    )
{
    CORE_TREE Tree;
    SIZE_T Node;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        if (Session->Stores[Index]->Thread == READER_NONE ||
            !Session->Stores[Index]->IsTree) {
            continue;
        }

        Status = SessionReadTreeStore(Session, Session->Stores[Index], &Tree);
        if (NT_SUCCESS(Status)) {
            Totals->Nodes += Tree.NumberOfNodes;
            Totals->OpenCalls += Tree.NumberOfOpenCalls;
            Totals->Stacks += Tree.NumberOfStacks;
            for (Node = 0; Node < Tree.NumberOfNodes; Node++) {
                Totals->NodesForOthers += Tree.Nodes[Node].IsOther;
                Totals->Calls += Tree.Nodes[Node].Calls;
            }
        }

        CoreRundownTree(&Tree);
        if (Status == STATUS_NO_MEMORY) {
            return Status;
        }
    }

    return STATUS_SUCCESS;
}

//
// Writes the table of the trees, if there are any.
//

static
VOID
CommandPutTrees(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ const READER_TOTALS *Totals
    )
{
    if (Totals->Trees == 0) {
        return;
    }

    OutputBeginTable(Output,
                     &ReaderInfoTreeTable,
                     Totals->Cleared != 0 ? READER_INFO_CLEARED : 0);
    OutputPutNumber(Output, Totals->Trees);
    OutputPutNumber(Output, Totals->Nodes);
    OutputPutNumber(Output, Totals->NodesForOthers);
    OutputPutNumber(Output, Totals->Calls);
    OutputPutNumber(Output, Totals->OpenCalls);
    OutputPutNumber(Output, Totals->Stacks);
    OutputPutNumber(Output, Totals->UsedBytes);
    OutputPutNumber(Output, Totals->RoomBytes);
    OutputPutNumber(Output, Totals->Unmatched);
    SessionPutDate(Output, &Session->Clock, Totals->Cleared);
    OutputEndTable(Output);
}

//
// Writes what hooks cost, in picoseconds.
// Cost: in 256ths of a tick; 0: not known.
//

static
VOID
CommandPutCost(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Cost
    )
{
    PCCORE_CLOCK Clock = Output->Clock;

    if (Cost == 0 || Clock->Ticks == 0) {
        OutputPutNothing(Output);
        return;
    }

    OutputPutNumber(Output,
                    CoreMultiplyDivide((ULONGLONG)Cost * 1000,
                                       Clock->Nanoseconds,
                                       Clock->Ticks) / TRACE_PROBE_UNIT);
}

_Must_inspect_result_
static
NTSTATUS
CommandPutModules(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session
    )
{
    ULONG Index;
    NTSTATUS Status;

    OutputBeginTable(Output, &ReaderInfoModuleTable, 0);
    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        PREADER_MODULE Module = Session->Modules[Index];
        PCTRACE_STORE_HEADER Header = Module->Header;

        Status = FunctionLoadModuleSymbols(Session, Module);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        OutputPutNumber(Output, Header->ModuleBase);
        OutputPutNumber(Output, Header->ModuleSize);
        OutputPutNumber(Output, Header->ModuleTimeDateStamp);
        OutputPutNumber(Output, Header->ModuleCheckSum);
        OutputPutString(Output,
                        SessionDescribeSymbolSource(
                            FunctionGetModuleSource(Module)));
        CommandPutCost(Output, Module->ProbeTotal);
        CommandPutCost(Output, Module->ProbeInner);
        if (Header->PdbPathLength != 0) {
            OutputPutText(Output, Header->PdbPath, Header->PdbPathLength);
        } else {
            OutputPutNothing(Output);
        }

        OutputPutText(Output, Header->ModulePath, Header->ModulePathLength);
    }

    OutputEndTable(Output);
    return STATUS_SUCCESS;
}

static
VOID
CommandPutThread(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session,
    _In_ ULONG ThreadIndex,
    _In_ ULONGLONG SessionStart
    )
{
    const READER_THREAD *Thread = &Session->Threads[ThreadIndex];
    PREADER_STORE Teller = Session->Stores[Thread->FirstStore];
    READER_TOTALS Totals;
    const CHAR *Name;
    ULONG Length;
    ULONG StoreIndex;
    ULONG Count = 0;

    //
    // Of several stores, one that was stopped tells the thread's state, else
    // one that is open, else one of the last time that it was attached to.
    //

    RtlZeroBytes(&Totals, sizeof(Totals));
    for (StoreIndex = Thread->FirstStore;
         StoreIndex != READER_NONE;
         StoreIndex = SessionNextStore(Session, StoreIndex)) {
        PREADER_STORE Store = Session->Stores[StoreIndex];

        CommandAddToTotals(&Totals, Store);
        Count += 1;
        if (Store->Header->State == TRACE_STATE_STOPPED ||
            ((Store->Header->State == TRACE_STATE_OPEN ||
              Store->Thread != Teller->Thread) &&
             Teller->Header->State == TRACE_STATE_CLOSED)) {
            Teller = Store;
        }
    }

    OutputPutNumber(Output, Thread->ThreadId);
    SessionPutProcess(Output, Session, Thread->Process);
    OutputPutString(Output, SessionDescribeStoreState(Session, Teller));
    if (Teller->Header->Reason != TRACE_REASON_NONE) {
        OutputPutString(Output, SessionDescribeReason(Teller->Header));
    } else {
        OutputPutNothing(Output);
    }
    OutputPutNumber(Output, Count);
    OutputPutNumber(Output, Totals.Records);
    OutputPutNumber(Output, Totals.Bytes);
    if (Totals.FirstTimestamp != 0) {
        OutputPutNumber(Output,
                        Totals.FirstTimestamp > SessionStart
                            ? Totals.FirstTimestamp - SessionStart
                            : 0);
        OutputPutNumber(Output,
                        Totals.LastTimestamp > Totals.FirstTimestamp
                            ? Totals.LastTimestamp - Totals.FirstTimestamp
                            : 0);
    } else {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
    }

    SessionPutThreadCpu(Output, Session, ThreadIndex);
    OutputPutNumber(Output, Totals.Lost + Totals.Reentered);
    SessionQueryThreadName(Session, ThreadIndex, &Name, &Length);
    OutputPutText(Output, Name, Length);
}

//
// Writes how much was asked of a process while it was recorded.
// Totals: of all its stores.
// Process: the process's index.
//

static
VOID
CommandPutControlOfProcess(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ const READER_TOTALS *Totals,
    _In_ ULONG Process
    )
{
    PCREADER_CONTROL Control = READER_CONTROL_OF(Session, Process);
    ULONGLONG LastTimestamp = 0;
    ULONGLONG LeftOut = 0;
    ULONGLONG Paused = 0;
    ULONGLONG End;
    ULONG Counts[TRACE_ACTION_NAME + 1];
    ULONG Index;

    RtlZeroBytes(Counts, sizeof(Counts));
    for (Index = 0; Index < Control->NumberOfActions; Index++) {
        Counts[Control->Actions[Index].Kind] += 1;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE &&
            Session->Threads[Store->Thread].Process == Process) {
            LeftOut += READER_EVENTS_PAUSED(Store->Header);
            LastTimestamp = CommandLarger(
                LastTimestamp,
                Session->Threads[Store->Thread].LastTimestamp);
        }
    }

    if (Session->NumberOfProcesses == 1) {
        LastTimestamp = Totals->LastTimestamp;
    }

    //
    // A pause that goes on counts up to the last record.
    //

    for (Index = 0; Index < Control->NumberOfPauses; Index++) {
        End = Control->Pauses[Index].Start;
        if (End == READER_MAXIMUM_TIMESTAMP) {
            End = CommandLarger(LastTimestamp, Control->Pauses[Index].Stop);
        }

        Paused += End - Control->Pauses[Index].Stop;
    }

    SessionPutProcess(Output, Session, Process);
    OutputPutNumber(Output, Control->NumberOfActions);
    OutputPutNumber(Output, Counts[TRACE_ACTION_MARK]);
    OutputPutNumber(Output, Counts[TRACE_ACTION_NAME]);
    OutputPutNumber(Output, Control->NumberOfPauses);
    OutputPutNumber(Output, Paused);
    OutputPutNumber(Output, LeftOut);
    OutputPutNumber(Output, Counts[TRACE_ACTION_CLEAR]);
    if (Control->ClearTimestamp != 0) {
        OutputPutNumber(Output,
                        Control->ClearTimestamp > Totals->FirstTimestamp
                            ? Control->ClearTimestamp - Totals->FirstTimestamp
                            : 0);
    } else {
        OutputPutNothing(Output);
    }

    OutputPutNumber(Output, READER_ACTIONS_LEFT_OUT(Control));
}

//
// Writes what was asked of the session's processes while they were recorded.
// Totals: of all its stores.
// IsRaw: whether text shows every action, too.
//

static
VOID
CommandPutControl(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ const READER_TOTALS *Totals,
    _In_ BOOLEAN IsRaw
    )
{
    BOOLEAN HasTimes = Session->Clock.Kind != TRACE_CLOCK_NONE;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    PCREADER_ACTION Instant;
    PCTRACE_CONTROL_ACTION Action;
    ULONGLONG LeftOut = 0;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        LeftOut += READER_ACTIONS_LEFT_OUT(READER_CONTROL_OF(Session, Index));
    }

    if (IsText && Session->NumberOfActions == 0 && LeftOut == 0) {
        return;
    }

    //
    // Text leaves out the processes of which nothing was asked.
    //

    OutputBeginTable(Output,
                     Session->NumberOfProcesses > 1 ? &ReaderInfoControlsTable
                                                    : &ReaderInfoControlTable,
                     0);

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        if (!IsText ||
            READER_CONTROL_OF(Session, Index)->NumberOfActions != 0 ||
            READER_ACTIONS_LEFT_OUT(READER_CONTROL_OF(Session, Index)) != 0) {
            CommandPutControlOfProcess(Output, Session, Totals, Index);
        }
    }

    OutputEndTable(Output);
    if (IsText && !IsRaw) {
        return;
    }

    OutputBeginTable(Output, &ReaderInfoActionTable, 0);
    for (Index = 0; Index < Session->NumberOfActions; Index++) {

        Instant = &Session->Actions[Index];
        Action = Instant->Action;
        if (HasTimes) {
            OutputPutNumber(Output,
                            Action->Timestamp > Totals->FirstTimestamp
                                ? Action->Timestamp - Totals->FirstTimestamp
                                : 0);
        } else {
            OutputPutNothing(Output);
        }

        if (Action->ThreadId != 0) {
            OutputPutNumber(Output, Action->ThreadId);
        } else {
            OutputPutNothing(Output);
        }

        SessionPutProcess(Output, Session, Instant->Process);
        OutputPutString(Output, SessionControlDescribeAction(Action->Kind));
        OutputPutText(Output, Action->Text, Action->TextLength);
    }

    OutputEndTable(Output);
}

static
VOID
CommandPutLogLine(
    _In_opt_ PVOID RoutineContext,
    _In_reads_bytes_(LengthInBytes) const CHAR *Line,
    _In_ ULONG LengthInBytes
    )
{
    PREADER_LOG_TABLE Table = (PREADER_LOG_TABLE)RoutineContext;

    if (!Table->IsBegun) {
        Table->IsBegun = TRUE;
        OutputBeginTable(Table->Output, &ReaderInfoLogTable, 0);
    }

    OutputPutText(Table->Output, Line, LengthInBytes);
}

//
// The lines of the logs, of each process's directory; text has nothing where
// there are none.
//

static
VOID
CommandPutLogs(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    )
{
    READER_LOG_TABLE Table;

    Table.Output = Output;
    Table.IsBegun = Output->Format != ReaderFormatText;
    if (Table.IsBegun) {
        OutputBeginTable(Output, &ReaderInfoLogTable, 0);
    }

    SessionListLogs(Session, CommandPutLogLine, &Table);
    if (Table.IsBegun) {
        OutputEndTable(Output);
    }
}

static
ULONG
CommandInfo(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_SESSION Session;
    READER_OUTPUT Output;
    READER_TOTALS Totals;
    BOOLEAN IsWhole;
    ULONG ExitCode;
    ULONG Index;
    NTSTATUS Status;

    if (!CommandBeginCommand(&Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    (VOID)CallBeginProbe(&Session, Options);
    RtlZeroBytes(&Totals, sizeof(Totals));
    for (Index = 0; Index < Session.NumberOfStores; Index++) {
        if (Session.Stores[Index]->Thread != READER_NONE) {
            CommandAddToTotals(&Totals, Session.Stores[Index]);
        }
    }

    OutputBeginDocument(&Output, Context->Output, Options->Format,
                        &Session.Clock, "info", TRUE);
    Output.HasProcesses = Session.NumberOfProcesses > 1;
    Status = CommandAddTrees(&Session, &Totals);
    if (NT_SUCCESS(Status)) {
        if (Output.Format == ReaderFormatText) {
            CommandPutSummary(&Output, &Session, &Totals);
        }

        IsWhole = Output.Format != ReaderFormatText ||
                  (Options->Given & READER_OPTION_INTERNALS) != 0;
        if (IsWhole) {
            CommandPutSession(&Output, &Session, &Totals);
        }

        SessionPutKernel(&Output, &Session);
        if (Session.NumberOfProcesses > 1) {
            CommandPutProcesses(&Output, &Session);
        }

        if (IsWhole) {
            CommandPutRecording(&Output, &Session, &Totals);
            CommandPutTrees(&Output, &Session, &Totals);
            Status = SessionPutCompact(&Output, &Session);
        }
        SessionImportsPut(&Output, &Session);
    }

    if (NT_SUCCESS(Status)) {
        Status = CommandPutModules(&Output, &Session);
    }

    if (!NT_SUCCESS(Status)) {
        CommandCloseCommandSession(&Session);
        return BaseFail(Context, "load the symbols", Options->PathUtf8, Status);
    }

    OutputBeginTable(&Output, &ReaderInfoThreadTable, 0);
    for (Index = 0; Index < Session.NumberOfThreads; Index++) {
        if (Session.Threads[Index].Same == Index) {
            CommandPutThread(&Output, &Session, Index, Totals.FirstTimestamp);
        }
    }

    OutputEndTable(&Output);
    CommandPutControl(&Output, &Session, &Totals, Options->IsRaw);
    CommandPutLogs(&Output, &Session);
    ExitCode = SumEtlInfoPut(&Output, &Session, Options);
    SessionPutClockNote(&Output, &Session);
    OutputEndDocument(&Output);
    CommandCloseCommandSession(&Session);
    return ExitCode;
}

static const PCREADER_TABLE ReaderInfoTables[] = {
    &ReaderInfoSessionTable,
    &ReaderKernelTable,
    &ReaderInfoProcessTable,
    &ReaderInfoRecordingTable,
    &ReaderInfoTreeTable,
    &ReaderCompactTable,
    &ReaderImportsTable,
    &ReaderInfoModuleTable,
    &ReaderInfoControlsTable,
    &ReaderInfoActionTable,
    &ReaderInfoThreadTable,
    &ReaderInfoLogTable,
    &ReaderEtlTable,
    NULL
};

const READER_COMMAND ReaderInfoCommand = {
    "info",
    "[PATH]",
    "Shows the process, its modules and threads, the clock and totals",
    "Text begins with what the session is and what was lost; --internals adds\n"
    "the clock and the work of hooks and workers.  Lost are calls that a\n"
    "hook made itself, and events after a store had stopped.\n"
    "A view is the piece of a store that is mapped; a worker thread maps the\n"
    "next one and prepares its pages before it is needed.  What it was too\n"
    "late for was done by the traced thread, in a hook: \"Mapped in hooks\"\n"
    "counts views, \"Prepared in hooks\" pieces of views, and the two lines\n"
    "after them say how long that took.  A store that is left out is\n"
    "damaged: verify says why, recover saves what is in it.\n"
    "CSV has the columns table, row, field, value.  --raw: text has actions.\n"
    READER_TICKS_NOTE,
    "  TraceReader info traces\\game.exe-4711-20261120-101500-123\n"
    "  TraceReader info --internals @2\n"
    "  TraceReader info --json SESSION\n",
    READER_OPTION_WIDTH | READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_SYMBOLS | READER_OPTION_NO_CACHE |
        READER_OPTION_PROCESS | READER_OPTION_INTERNALS |
        READER_OPTION_ALL_RUNS | READER_OPTION_ETL,
    CommandInfo,
    ReaderInfoTables,
    NULL
};
