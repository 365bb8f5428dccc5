/*++

Module Name:

    CommandInfo.c

Abstract:

    TraceReader info: what a session is and what it holds.

--*/

#include "ReaderProbe.h"

static const READER_COLUMN ReaderInfoSessionColumns[] = {
    { "State", "state", ReaderColumnText, 0 },
    { "Reason", "reason", ReaderColumnText, 0 },
    { "Status", "status", ReaderColumnHexadecimal, 0 },
    { "Process", "process_id", ReaderColumnNumber, 0 },
    { "Image", "process_path", ReaderColumnText, 0 },
    { "Command line", "command_line", ReaderColumnText, 0 },
    { "Started", "start_time", ReaderColumnDate, 0 },
    { "Running", "process_running", ReaderColumnText, 0 },
    { "Clock, ticks/s", "clock_rate_hz", ReaderColumnNumber, 0 },
    { "Invariant clock", "tsc_invariant", ReaderColumnText, 0 },
    { "Clock readings", "clock_readings", ReaderColumnNumber, 0 },
    { "Stores", "stores", ReaderColumnNumber, 0 },
    { "Stores left out", "stores_left_out", ReaderColumnNumber, 0 },
    { "Records", "records", ReaderColumnNumber, 0 },
    { "Bytes", "bytes", ReaderColumnBytes, 0 },
    { "Lost when stopped", "lost_after_stop", ReaderColumnNumber, 0 },
    { "Lost inside a hook", "lost_reentered", ReaderColumnNumber, 0 },
    { "Views used up", "view_changes", ReaderColumnNumber, 0 },
    { "Mapped in hooks", "views_mapped_inline", ReaderColumnNumber, 0 },
    { "Prepared in hooks", "inline_preparations", ReaderColumnNumber, 0 },
    { "Time of these", "inline_wait", ReaderColumnExactTime, 0 },
    { "Longest of these", "longest_inline_wait", ReaderColumnExactTime, 0 },
    { "First record", "first_time", ReaderColumnDate, 0 },
    { "Last record", "last_time", ReaderColumnDate, 0 },
    { "Processes", "processes", ReaderColumnProcessId, 0 }
};

//
// In text, the reason and status are shown when there are any.
//

#define READER_INFO_REASON_COLUMNS 0x6u

static const READER_TABLE ReaderInfoSessionTable = {
    "session",
    ReaderInfoSessionColumns,
    RTL_NUMBER_OF(ReaderInfoSessionColumns),
    TRUE
};

//
// How it was recorded, and what was left out for that.  In text, what is 0
// and was not asked for is not shown.
//

static const READER_COLUMN ReaderInfoRecordingColumns[] = {
    { "Mode", "mode", ReaderColumnText, 0 },
    { "Ring, bytes", "ring_bytes", ReaderColumnBytes, 0 },
    { "Overwritten", "overwritten", ReaderColumnNumber, 0 },
    { "Clock", "clock", ReaderColumnText, 0 },
    { "Clock's step", "clock_resolution", ReaderColumnExactTime, 0 },
    { "Clock froze", "clock_freezes", ReaderColumnNumber, 0 },
    { "Longest freeze", "longest_clock_step", ReaderColumnExactTime, 0 },
    { "Minimum duration", "minimum_duration", ReaderColumnExactTime, 0 },
    { "Taken back", "taken_back", ReaderColumnNumber, 0 },
    { "Maximum depth", "maximum_depth", ReaderColumnNumber, 0 },
    { "Too deep", "too_deep", ReaderColumnNumber, 0 },
    { "Maximum bytes", "maximum_bytes", ReaderColumnBytes, 0 },
    { "Waits for pages", "waits", ReaderColumnNumber, 0 },
    { "Time of waits", "wait", ReaderColumnExactTime, 0 },
    { "Longest, at most", "longest_wait", ReaderColumnExactTime, 0 }
};

static const READER_TABLE ReaderInfoRecordingTable = {
    "recording",
    ReaderInfoRecordingColumns,
    RTL_NUMBER_OF(ReaderInfoRecordingColumns),
    TRUE
};

#define READER_INFO_RING_COLUMNS 0x6u
#define READER_INFO_CLOCK_COLUMNS 0x70u
#define READER_INFO_DURATION_COLUMNS 0x180u
#define READER_INFO_DEPTH_COLUMNS 0x600u
#define READER_INFO_BYTES_COLUMN 0x800u

static const READER_COLUMN ReaderInfoProcessColumns[] = {
    { "PID", "process_id", ReaderColumnNumber, 8 },
    { "Parent", "parent_id", ReaderColumnNumber, 8 },
    { "Started", "start_time", ReaderColumnDate, 24 },
    { "State", "state", ReaderColumnText, 8 },
    { "Threads", "threads", ReaderColumnNumber, 7 },
    { "Stores", "stores", ReaderColumnNumber, 6 },
    { "Records", "records", ReaderColumnNumber, 12 },
    { "Bytes", "bytes", ReaderColumnBytes, 11 },
    { "", "command_line", ReaderColumnText, 0 },
    { "Process", "path", ReaderColumnText, 0 }
};

#define READER_INFO_COMMAND_LINE_COLUMN 0x100u

static const READER_TABLE ReaderInfoProcessTable = {
    "processes",
    ReaderInfoProcessColumns,
    RTL_NUMBER_OF(ReaderInfoProcessColumns),
    FALSE
};

static const READER_COLUMN ReaderInfoTreeColumns[] = {
    { "Trees", "stores", ReaderColumnNumber, 0 },
    { "Nodes", "nodes", ReaderColumnNumber, 0 },
    { "Nodes for others", "nodes_for_others", ReaderColumnNumber, 0 },
    { "Calls", "calls", ReaderColumnNumber, 0 },
    { "Open calls", "open_calls", ReaderColumnNumber, 0 },
    { "Stacks", "stacks", ReaderColumnNumber, 0 },
    { "Room used", "used_bytes", ReaderColumnBytes, 0 },
    { "Of", "room_bytes", ReaderColumnBytes, 0 },
    { "Exits without entry", "unmatched_exits", ReaderColumnNumber, 0 },
    { "Cleared", "cleared", ReaderColumnDate, 0 }
};

static const READER_TABLE ReaderInfoTreeTable = {
    "trees",
    ReaderInfoTreeColumns,
    RTL_NUMBER_OF(ReaderInfoTreeColumns),
    TRUE
};

#define READER_INFO_CLEARED_COLUMN 0x200u

static const READER_COLUMN ReaderInfoModuleColumns[] = {
    { "Base", "base", ReaderColumnHexadecimal, 18 },
    { "Size", "size", ReaderColumnNumber, 10 },
    { "Time stamp", "time_date_stamp", ReaderColumnHexadecimal, 10 },
    { "Check sum", "check_sum", ReaderColumnHexadecimal, 10 },
    { "Symbols", "symbols", ReaderColumnText, 7 },
    { "Hooks, ps", "probe_total_ps", ReaderColumnNumber, 9 },
    { "Inner, ps", "probe_inner_ps", ReaderColumnNumber, 9 },
    { "PDB", "pdb", ReaderColumnText, 24 },
    { "Module", "path", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderInfoModuleTable = {
    "modules",
    ReaderInfoModuleColumns,
    RTL_NUMBER_OF(ReaderInfoModuleColumns),
    FALSE
};

static const READER_COLUMN ReaderInfoThreadColumns[] = {
    { "Thread", "thread_id", ReaderColumnNumber, 8 },
    READER_PROCESS_COLUMNS,
    { "State", "state", ReaderColumnText, 8 },
    { "Reason", "reason", ReaderColumnText, 14 },
    { "Stores", "stores", ReaderColumnNumber, 6 },
    { "Records", "records", ReaderColumnNumber, 12 },
    { "Bytes", "bytes", ReaderColumnBytes, 11 },
    { "Start", "start", ReaderColumnTime, READER_TIME_WIDTH },
    { "Duration", "duration", ReaderColumnTime, READER_TIME_WIDTH },
    { "Lost", "lost", ReaderColumnNumber, 8 },
    { "Name", "name", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderInfoThreadTable = {
    "threads",
    ReaderInfoThreadColumns,
    RTL_NUMBER_OF(ReaderInfoThreadColumns),
    FALSE
};

static const READER_COLUMN ReaderInfoControlColumns[] = {
    READER_PROCESS_COLUMNS,
    { "Actions", "actions", ReaderColumnNumber, 0 },
    { "Marks", "marks", ReaderColumnNumber, 0 },
    { "Names", "names", ReaderColumnNumber, 0 },
    { "Pauses", "pauses", ReaderColumnNumber, 0 },
    { "Paused", "paused", ReaderColumnExactTime, 0 },
    { "Events left out", "events_left_out", ReaderColumnNumber, 0 },
    { "Clears", "clears", ReaderColumnNumber, 0 },
    { "Last clear", "last_clear", ReaderColumnExactTime, 0 }
};

static const READER_TABLE ReaderInfoControlTable = {
    "control",
    ReaderInfoControlColumns,
    RTL_NUMBER_OF(ReaderInfoControlColumns),
    TRUE
};

//
// In text, a line for each of several processes.
//

static const READER_COLUMN ReaderInfoControlsColumns[] = {
    READER_PROCESS_COLUMNS,
    { "Actions", "actions", ReaderColumnNumber, 7 },
    { "Marks", "marks", ReaderColumnNumber, 7 },
    { "Names", "names", ReaderColumnNumber, 7 },
    { "Pauses", "pauses", ReaderColumnNumber, 7 },
    { "Paused", "paused", ReaderColumnTime, READER_TIME_WIDTH },
    { "Left out", "events_left_out", ReaderColumnNumber, 12 },
    { "Clears", "clears", ReaderColumnNumber, 7 },
    { "Last clear", "last_clear", ReaderColumnTime, READER_TIME_WIDTH }
};

static const READER_TABLE ReaderInfoControlsTable = {
    "control",
    ReaderInfoControlsColumns,
    RTL_NUMBER_OF(ReaderInfoControlsColumns),
    FALSE
};

static const READER_COLUMN ReaderInfoActionColumns[] = {
    { "Time", "time", ReaderColumnTime, READER_TIME_WIDTH },
    { "Thread", "thread_id", ReaderColumnNumber, 8 },
    READER_PROCESS_COLUMNS,
    { "Action", "action", ReaderColumnText, 7 },
    { "Text", "text", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderInfoActionTable = {
    "actions",
    ReaderInfoActionColumns,
    RTL_NUMBER_OF(ReaderInfoActionColumns),
    FALSE
};

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
    ULONGLONG TooDeep;
    ULONGLONG Waits;
    ULONGLONG WaitTicks;
    ULONGLONG LongestWait;          // of the stores that waited: the longest
                                    // time on the slow path
    ULONG NumberOfRings;
    ULONG NumberOfFiles;
    ULONG NumberOfRanges;           // of TRACE_FLAG_CHRONOLOGICAL
} READER_TOTALS;
typedef READER_TOTALS *PREADER_TOTALS;


static
ULONGLONG
ReaderLarger(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second
    )
/*++

Routine Description:

    Gives the larger of two numbers.

Arguments:

    First, Second - The numbers.

Return Value:

    The larger.

--*/
{
    return First > Second ? First : Second;
}


static
VOID
ReaderAddRecording(
    _Inout_ PREADER_TOTALS Totals,
    _In_ PCREADER_STORE Store
    )
/*++

Routine Description:

    Adds how a store was recorded.

Arguments:

    Totals - What to add to.

    Store - The store.

Return Value:

    None.

--*/
{
    PCTRACE_STORE_HEADER Header = Store->Header;

    if (Header->RingSizeInBytes != 0) {
        Totals->NumberOfRings += 1;
        Totals->RingSizeInBytes = ReaderLarger(Totals->RingSizeInBytes,
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
        Totals->Cleared = ReaderLarger(Totals->Cleared,
                                       Header->ClearTimestamp);
    } else if ((Header->Flags & TRACE_FLAG_CHRONOLOGICAL) != 0) {
        Totals->NumberOfRanges += 1;
    } else {
        Totals->NumberOfFiles += 1;
    }

    Totals->MinimumDuration = ReaderLarger(Totals->MinimumDuration,
                                           Header->MinimumDuration);
    Totals->MaximumDepth = ReaderLarger(Totals->MaximumDepth,
                                        Header->MaximumDepth);
    Totals->MaximumBytes = ReaderLarger(Totals->MaximumBytes,
                                        Header->MaximumBytes);
    Totals->TakenBack += Header->NumberOfCallsTakenBack;
    Totals->TooDeep += Header->NumberOfEventsTooDeep;
    Totals->Waits += Header->NumberOfWaits;
    Totals->WaitTicks += Header->WaitTicks;
    if (Header->NumberOfWaits != 0) {
        Totals->LongestWait =
            ReaderLarger(Totals->LongestWait,
                         Header->MaximumInlineTicks < Header->WaitTicks
                             ? Header->MaximumInlineTicks
                             : Header->WaitTicks);
    }
}


static
VOID
ReaderAddToTotals(
    _Inout_ PREADER_TOTALS Totals,
    _In_ PCREADER_STORE Store
    )
/*++

Routine Description:

    Adds a store.

Arguments:

    Totals - What to add to.

    Store - The store.

Return Value:

    None.

--*/
{
    PCTRACE_STORE_HEADER Header = Store->Header;

    ULONGLONG Size = Store->EndOfRecords;

    //
    // The writer of a ring may have gone around since the end was read.
    //

    if (Store->EndOfRecords > Store->StartOfRecords) {
        Totals->Records += (Store->EndOfRecords - Store->StartOfRecords) /
                           TRACE_RECORD_SIZE;
    }

    if (Header->RingSizeInBytes != 0 &&
        Size > Header->RingFileOffset + Header->RingSizeInBytes) {
        Size = Header->RingFileOffset + Header->RingSizeInBytes;
    }

    if (Store->IsTree) {
        Size = Store->FileSize;
    }

    Totals->Bytes += Size;
    ReaderAddRecording(Totals, Store);
    Totals->Lost += READER_EVENTS_LOST(Header);
    Totals->Paused += READER_EVENTS_PAUSED(Header);
    Totals->Reentered += Header->NumberOfEventsReentered;
    Totals->ViewChanges += Header->NumberOfViewChanges;
    Totals->ViewsInline += Header->NumberOfViewsMappedInline;
    Totals->PagesInline += Header->NumberOfInlinePreparations;
    Totals->InlineTicks += Header->InlineTicks;
    if (Header->MaximumInlineTicks > Totals->MaximumInlineTicks) {
        Totals->MaximumInlineTicks = Header->MaximumInlineTicks;
    }

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
ReaderPutDate(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Writes the time of day of a time stamp.

Arguments:

    Output - The output.

    Clock - The session's.

    Timestamp - Ticks; 0 for none.

Return Value:

    None.

--*/
{
    if (Timestamp == 0 || Clock->Ticks == 0 ||
        Clock->Kind == TRACE_CLOCK_NONE) {
        ReaderPutNothing(Output);
    } else {
        ReaderPutNumber(Output, CoreTimestampToSystemTime(Clock, Timestamp));
    }
}


static
VOID
ReaderPutSession(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session,
    _In_ const READER_TOTALS *Totals
    )
/*++

Routine Description:

    Writes the session's table.

Arguments:

    Output - The output.

    Session - The session.

    Totals - Of all its stores.

Return Value:

    None.

--*/
{
    PCTRACE_STORE_HEADER Header = Session->Header;
    PREADER_STORE Because;
    PCSZ State;
    PCSZ Running;
    ULONGLONG Rate;

    State = ReaderDescribeSessionState(Session, &Because);
    ReaderBeginTable(Output,
                     &ReaderInfoSessionTable,
                     Because == NULL ||
                             Because->Header->State != TRACE_STATE_STOPPED
                         ? READER_INFO_REASON_COLUMNS
                         : 0);

    ReaderPutString(Output, State);
    if (Because != NULL && Because->Header->State == TRACE_STATE_STOPPED) {
        ReaderPutString(Output,
                        ReaderDescribeReason(Because->Header->Reason));
        ReaderPutNumber(Output, Because->Header->Status);
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, Header->ProcessId);
    ReaderPutText(Output, Header->ProcessPath, Header->ProcessPathLength);
    ReaderPutText(Output, Header->CommandLine, Header->CommandLineLength);
    ReaderPutNumber(Output, Header->ProcessCreationTime);

    Running = "unknown";
    if (Session->ProcessState == ReaderProcessRunning) {
        Running = "yes";
    } else if (Session->ProcessState == ReaderProcessGone) {
        Running = "no";
    }

    ReaderPutString(Output, Running);

    Rate = CoreQueryTickRate(&Session->Clock);
    if (Rate == 0) {
        ReaderPutNothing(Output);
    } else {
        ReaderPutNumber(Output, Rate);
    }

    ReaderPutString(Output,
                    (Header->Flags & TRACE_FLAG_TSC_INVARIANT) != 0 ? "yes"
                                                                    : "no");
    ReaderPutNumber(Output, Session->Clock.NumberOfAnchors);
    ReaderPutNumber(Output, Session->NumberOfValidStores);
    ReaderPutNumber(Output,
                    Session->NumberOfStores - Session->NumberOfValidStores);
    ReaderPutNumber(Output, Totals->Records);
    ReaderPutNumber(Output, Totals->Bytes);
    ReaderPutNumber(Output, Totals->Lost);
    ReaderPutNumber(Output, Totals->Reentered);
    ReaderPutNumber(Output, Totals->ViewChanges);
    ReaderPutNumber(Output, Totals->ViewsInline);
    ReaderPutNumber(Output, Totals->PagesInline);
    ReaderPutNumber(Output, Totals->InlineTicks);
    ReaderPutNumber(Output, Totals->MaximumInlineTicks);
    ReaderPutDate(Output, &Session->Clock, Totals->FirstTimestamp);
    ReaderPutDate(Output, &Session->Clock, Totals->LastTimestamp);
    ReaderPutNumber(Output, Session->NumberOfProcesses);
    ReaderEndTable(Output);
}


static
VOID
ReaderPutProcesses(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session
    )
/*++

Routine Description:

    Writes the processes' table.

Arguments:

    Output - The output.

    Session - The session.

Return Value:

    None.

--*/
{
    READER_TOTALS Totals;
    PREADER_STORE Because;
    ULONG NumberOfThreads;
    ULONG NumberOfStores;
    ULONG Process;
    ULONG Index;

    ReaderBeginTable(Output,
                     &ReaderInfoProcessTable,
                     READER_INFO_COMMAND_LINE_COLUMN);
    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {

        PCTRACE_STORE_HEADER Header = Session->Processes[Process].Header;

        RtlZeroBytes(&Totals, sizeof(Totals));
        NumberOfStores = 0;
        NumberOfThreads = 0;
        for (Index = 0; Index < Session->NumberOfStores; Index++) {

            PREADER_STORE Store = Session->Stores[Index];

            if (Store->Thread != READER_NONE &&
                READER_PROCESS_OF_STORE(Session, Store) == Process) {
                ReaderAddToTotals(&Totals, Store);
                NumberOfStores += 1;
            }
        }

        for (Index = 0; Index < Session->NumberOfThreads; Index++) {
            if (Session->Threads[Index].Process == Process) {
                NumberOfThreads += 1;
            }
        }

        ReaderPutNumber(Output, Header->ProcessId);
        if (Header->ParentProcessId != 0) {
            ReaderPutNumber(Output, Header->ParentProcessId);
        } else {
            ReaderPutNothing(Output);
        }

        ReaderPutNumber(Output, Header->ProcessCreationTime);
        ReaderPutString(Output,
                        ReaderDescribeProcessState(Session,
                                                   Process,
                                                   &Because));
        ReaderPutNumber(Output, NumberOfThreads);
        ReaderPutNumber(Output, NumberOfStores);
        ReaderPutNumber(Output, Totals.Records);
        ReaderPutNumber(Output, Totals.Bytes);
        ReaderPutText(Output, Header->CommandLine, Header->CommandLineLength);
        ReaderPutText(Output, Header->ProcessPath, Header->ProcessPathLength);
    }

    ReaderEndTable(Output);
}


static
VOID
ReaderPutRecording(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ const READER_TOTALS *Totals
    )
/*++

Routine Description:

    Writes the table of how the session was recorded.

Arguments:

    Output - The output.

    Session - The session.

    Totals - Of all its stores.

Return Value:

    None.

--*/
{
    PCCORE_CLOCK Clock = &Session->Clock;
    ULONG Hidden = 0;
    PCSZ Mode;

    if (Totals->NumberOfRings == 0) {
        Hidden |= READER_INFO_RING_COLUMNS;
    }

    if (Clock->Kind != TRACE_CLOCK_THREAD) {
        Hidden |= READER_INFO_CLOCK_COLUMNS;
    }

    if (Totals->MinimumDuration == 0 && Totals->TakenBack == 0) {
        Hidden |= READER_INFO_DURATION_COLUMNS;
    }

    if (Totals->MaximumDepth == 0 && Totals->TooDeep == 0) {
        Hidden |= READER_INFO_DEPTH_COLUMNS;
    }

    if (Totals->MaximumBytes == 0) {
        Hidden |= READER_INFO_BYTES_COLUMN;
    }

    Mode = "file";
    if (Totals->NumberOfRings + Totals->NumberOfFiles == 0) {
        if (Totals->Trees != 0) {
            Mode = Totals->NumberOfRanges != 0 ? "tree and ranges" : "tree";
        } else if (Totals->NumberOfRanges != 0) {
            Mode = "ranges";
        }
    } else if (Totals->Trees != 0) {
        Mode = "tree and records";
    } else if (Totals->NumberOfRings != 0) {
        Mode = Totals->NumberOfFiles == 0 ? "ring" : "ring and file";
    }

    ReaderBeginTable(Output, &ReaderInfoRecordingTable, Hidden);
    ReaderPutString(Output, Mode);
    ReaderPutNumber(Output, Totals->RingSizeInBytes);
    ReaderPutNumber(Output, Totals->Overwritten);
    ReaderPutString(Output, ReaderDescribeClock(Clock));
    if (Clock->Resolution != 0) {
        ReaderPutNumber(Output, Clock->Resolution);
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, Session->NumberOfClockFreezes);
    ReaderPutNumber(Output, Session->MaximumClockStep);
    ReaderPutNumber(Output, Totals->MinimumDuration);
    ReaderPutNumber(Output, Totals->TakenBack);
    ReaderPutNumber(Output, Totals->MaximumDepth);
    ReaderPutNumber(Output, Totals->TooDeep);
    ReaderPutNumber(Output, Totals->MaximumBytes);
    ReaderPutNumber(Output, Totals->Waits);
    ReaderPutNumber(Output, Totals->WaitTicks);
    ReaderPutNumber(Output, Totals->LongestWait);
    ReaderEndTable(Output);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutTrees(
    _Inout_ PREADER_OUTPUT Output,
    _Inout_ PREADER_SESSION Session,
    _Inout_ READER_TOTALS *Totals
    )
/*++

Routine Description:

    Writes the table of the trees, if there are any.

Arguments:

    Output - The output.

    Session - The session.

    Totals - Of all its stores; what the trees hold is added.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    CORE_TREE Tree;
    SIZE_T Node;
    ULONG Index;
    NTSTATUS Status;

    if (Totals->Trees == 0) {
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        if (Session->Stores[Index]->Thread == READER_NONE ||
            !Session->Stores[Index]->IsTree) {
            continue;
        }

        Status = ReaderReadTreeStore(Session, Session->Stores[Index], &Tree);
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

    ReaderBeginTable(Output,
                     &ReaderInfoTreeTable,
                     Totals->Cleared == 0 ? READER_INFO_CLEARED_COLUMN : 0);
    ReaderPutNumber(Output, Totals->Trees);
    ReaderPutNumber(Output, Totals->Nodes);
    ReaderPutNumber(Output, Totals->NodesForOthers);
    ReaderPutNumber(Output, Totals->Calls);
    ReaderPutNumber(Output, Totals->OpenCalls);
    ReaderPutNumber(Output, Totals->Stacks);
    ReaderPutNumber(Output, Totals->UsedBytes);
    ReaderPutNumber(Output, Totals->RoomBytes);
    ReaderPutNumber(Output, Totals->Unmatched);
    ReaderPutDate(Output, &Session->Clock, Totals->Cleared);
    ReaderEndTable(Output);
    return STATUS_SUCCESS;
}


static
VOID
ReaderPutCost(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Cost
    )
/*++

Routine Description:

    Writes what hooks cost, in picoseconds.

Arguments:

    Output - The output.

    Cost - In 256ths of a tick; 0: not known.

Return Value:

    None.

--*/
{
    PCCORE_CLOCK Clock = Output->Clock;

    if (Cost == 0 || Clock->Ticks == 0) {
        ReaderPutNothing(Output);
        return;
    }

    ReaderPutNumber(Output,
                    CoreMultiplyDivide((ULONGLONG)Cost * 1000,
                                       Clock->Nanoseconds,
                                       Clock->Ticks) / TRACE_PROBE_UNIT);
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutModules(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session
    )
/*++

Routine Description:

    Writes the modules' table.

Arguments:

    Output - The output.

    Session - The session; the modules' symbols are loaded.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    ULONG Index;
    NTSTATUS Status;

    ReaderBeginTable(Output, &ReaderInfoModuleTable, 0);
    for (Index = 0; Index < Session->NumberOfModules; Index++) {

        PREADER_MODULE Module = Session->Modules[Index];
        PCTRACE_STORE_HEADER Header = Module->Header;

        Status = ReaderLoadModuleSymbols(Session, Module);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        ReaderPutNumber(Output, Header->ModuleBase);
        ReaderPutNumber(Output, Header->ModuleSize);
        ReaderPutNumber(Output, Header->ModuleTimeDateStamp);
        ReaderPutNumber(Output, Header->ModuleCheckSum);
        ReaderPutString(Output,
                        ReaderDescribeSymbolSource(
                            ReaderGetModuleSource(Module)));
        ReaderPutCost(Output, Module->ProbeTotal);
        ReaderPutCost(Output, Module->ProbeInner);
        if (Header->PdbPathLength != 0) {
            ReaderPutText(Output, Header->PdbPath, Header->PdbPathLength);
        } else {
            ReaderPutNothing(Output);
        }

        ReaderPutText(Output, Header->ModulePath, Header->ModulePathLength);
    }

    ReaderEndTable(Output);
    return STATUS_SUCCESS;
}


static
VOID
ReaderPutThread(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session,
    _In_ ULONG ThreadIndex,
    _In_ ULONGLONG SessionStart
    )
/*++

Routine Description:

    Writes a thread's row.

Arguments:

    Output - The output.

    Session - The session.

    ThreadIndex - The thread.

    SessionStart - The first time stamp of all.

Return Value:

    None.

--*/
{
    const READER_THREAD *Thread = &Session->Threads[ThreadIndex];
    PREADER_STORE Teller = Session->Stores[Thread->FirstStore];
    READER_TOTALS Totals;
    const CHAR *Name;
    ULONG Length;
    ULONG StoreIndex;

    //
    // Of several stores, one that was stopped tells the thread's state, else
    // one that is open.
    //

    RtlZeroBytes(&Totals, sizeof(Totals));
    for (StoreIndex = Thread->FirstStore;
         StoreIndex != READER_NONE;
         StoreIndex = Session->Stores[StoreIndex]->NextInThread) {

        PREADER_STORE Store = Session->Stores[StoreIndex];

        ReaderAddToTotals(&Totals, Store);
        if (Store->Header->State == TRACE_STATE_STOPPED ||
            (Store->Header->State == TRACE_STATE_OPEN &&
             Teller->Header->State == TRACE_STATE_CLOSED)) {
            Teller = Store;
        }
    }

    ReaderPutNumber(Output, Thread->ThreadId);
    ReaderPutProcess(Output, Session, Thread->Process);
    ReaderPutString(Output, ReaderDescribeStoreState(Session, Teller));
    if (Teller->Header->Reason != TRACE_REASON_NONE) {
        ReaderPutString(Output, ReaderDescribeReason(Teller->Header->Reason));
    } else {
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, Thread->NumberOfStores);
    ReaderPutNumber(Output, Totals.Records);
    ReaderPutNumber(Output, Totals.Bytes);
    if (Totals.FirstTimestamp != 0) {
        ReaderPutNumber(Output,
                        Totals.FirstTimestamp > SessionStart
                            ? Totals.FirstTimestamp - SessionStart
                            : 0);
        ReaderPutNumber(Output,
                        Totals.LastTimestamp > Totals.FirstTimestamp
                            ? Totals.LastTimestamp - Totals.FirstTimestamp
                            : 0);
    } else {
        ReaderPutNothing(Output);
        ReaderPutNothing(Output);
    }

    ReaderPutNumber(Output, Totals.Lost + Totals.Reentered);
    ReaderQueryThreadName(Session, ThreadIndex, &Name, &Length);
    ReaderPutText(Output, Name, Length);
}


static
VOID
ReaderPutControlOfProcess(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ const READER_TOTALS *Totals,
    _In_ ULONG Process
    )
/*++

Routine Description:

    Writes how much was asked of a process while it was recorded.

Arguments:

    Output - The output.

    Session - The session.

    Totals - Of all its stores.

    Process - The process's index.

Return Value:

    None.

--*/
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
            LastTimestamp = ReaderLarger(
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
            End = ReaderLarger(LastTimestamp, Control->Pauses[Index].Stop);
        }

        Paused += End - Control->Pauses[Index].Stop;
    }

    ReaderPutProcess(Output, Session, Process);
    ReaderPutNumber(Output, Control->NumberOfActions);
    ReaderPutNumber(Output, Counts[TRACE_ACTION_MARK]);
    ReaderPutNumber(Output, Counts[TRACE_ACTION_NAME]);
    ReaderPutNumber(Output, Control->NumberOfPauses);
    ReaderPutNumber(Output, Paused);
    ReaderPutNumber(Output, LeftOut);
    ReaderPutNumber(Output, Counts[TRACE_ACTION_CLEAR]);
    if (Control->ClearTimestamp != 0) {
        ReaderPutNumber(Output,
                        Control->ClearTimestamp > Totals->FirstTimestamp
                            ? Control->ClearTimestamp - Totals->FirstTimestamp
                            : 0);
    } else {
        ReaderPutNothing(Output);
    }
}


static
VOID
ReaderPutControl(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ const READER_TOTALS *Totals,
    _In_ BOOLEAN IsRaw
    )
/*++

Routine Description:

    Writes what was asked of the session's processes while they were recorded.

Arguments:

    Output - The output.

    Session - The session.

    Totals - Of all its stores.

    IsRaw - Whether text shows every action, too.

Return Value:

    None.

--*/
{
    BOOLEAN HasTimes = Session->Clock.Kind != TRACE_CLOCK_NONE;
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    PCREADER_ACTION Instant;
    PCTRACE_CONTROL_ACTION Action;
    ULONG Index;

    if (IsText && Session->NumberOfActions == 0) {
        return;
    }

    //
    // Text leaves out the processes of which nothing was asked.
    //

    if (Session->NumberOfProcesses > 1) {
        ReaderBeginTable(Output, &ReaderInfoControlsTable, 0);
    } else {
        ReaderBeginTable(Output, &ReaderInfoControlTable, 0);
    }

    for (Index = 0; Index < Session->NumberOfProcesses; Index++) {
        if (!IsText ||
            READER_CONTROL_OF(Session, Index)->NumberOfActions != 0) {
            ReaderPutControlOfProcess(Output, Session, Totals, Index);
        }
    }

    ReaderEndTable(Output);
    if (IsText && !IsRaw) {
        return;
    }

    ReaderBeginTable(Output, &ReaderInfoActionTable, 0);
    for (Index = 0; Index < Session->NumberOfActions; Index++) {

        Instant = &Session->Actions[Index];
        Action = Instant->Action;
        if (HasTimes) {
            ReaderPutNumber(Output,
                            Action->Timestamp > Totals->FirstTimestamp
                                ? Action->Timestamp - Totals->FirstTimestamp
                                : 0);
        } else {
            ReaderPutNothing(Output);
        }

        if (Action->ThreadId != 0) {
            ReaderPutNumber(Output, Action->ThreadId);
        } else {
            ReaderPutNothing(Output);
        }

        ReaderPutProcess(Output, Session, Instant->Process);
        ReaderPutString(Output, ReaderDescribeAction(Action->Kind));
        ReaderPutText(Output, Action->Text, Action->TextLength);
    }

    ReaderEndTable(Output);
}


static
ULONG
ReaderCommandInfo(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs info.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_SESSION Session;
    READER_OUTPUT Output;
    READER_TOTALS Totals;
    ULONG Index;
    NTSTATUS Status;

    if (!ReaderBeginCommand(&Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    (VOID)ReaderBeginProbe(&Session, Options);
    RtlZeroBytes(&Totals, sizeof(Totals));
    for (Index = 0; Index < Session.NumberOfStores; Index++) {
        if (Session.Stores[Index]->Thread != READER_NONE) {
            ReaderAddToTotals(&Totals, Session.Stores[Index]);
        }
    }

    ReaderBeginDocument(&Output,
                        Context->Output,
                        Options->Format,
                        &Session.Clock,
                        "info",
                        TRUE);
    Output.HasProcesses = Session.NumberOfProcesses > 1;
    ReaderPutSession(&Output, &Session, &Totals);
    if (Session.NumberOfProcesses > 1) {
        ReaderPutProcesses(&Output, &Session);
    }

    ReaderPutRecording(&Output, &Session, &Totals);
    Status = ReaderPutTrees(&Output, &Session, &Totals);
    if (NT_SUCCESS(Status)) {
        Status = ReaderPutModules(&Output, &Session);
    }

    if (!NT_SUCCESS(Status)) {
        ReaderCloseSession(&Session);
        return ReaderFail(Context,
                          "load the symbols",
                          Options->PathUtf8,
                          Status);
    }

    ReaderBeginTable(&Output, &ReaderInfoThreadTable, 0);
    for (Index = 0; Index < Session.NumberOfThreads; Index++) {
        ReaderPutThread(&Output, &Session, Index, Totals.FirstTimestamp);
    }

    ReaderEndTable(&Output);
    ReaderPutControl(&Output, &Session, &Totals, Options->IsRaw);
    ReaderPutClockNote(&Output, &Session);
    ReaderEndDocument(&Output);
    ReaderCloseSession(&Session);
    return READER_EXIT_SUCCESS;
}


const READER_COMMAND ReaderInfoCommand = {
    "info",
    "PATH",
    "Shows the process, its modules and threads, the clock and totals",
    "A view is the piece of a store that is mapped; a worker thread maps the\n"
    "next one and prepares its pages before it is needed.  What the worker\n"
    "was too late for was done by the traced thread, in a hook: \"Mapped in\n"
    "hooks\" counts views, \"Prepared in hooks\" pieces of views, and the two\n"
    "lines after them say how long that took.  \"Lost inside a hook\" are\n"
    "calls that a hook made itself, or a handler that ran in one; \"Lost when\n"
    "stopped\" are events after a store had stopped.  A store that is left\n"
    "out is damaged: verify says why, recover saves what is in it.\n"
    "CSV has the columns table, row, field, value; JSON has the tables as\n"
    "arrays of objects:\n"
    "  session: state, reason, status, process_id, process_path,\n"
    "    command_line, start_time, process_running, clock_rate_hz,\n"
    "    tsc_invariant, clock_readings, stores, stores_left_out, records,\n"
    "    bytes, lost_after_stop, lost_reentered, view_changes,\n"
    "    views_mapped_inline, inline_preparations, inline_wait_ns,\n"
    "    longest_inline_wait_ns, first_time, last_time\n"
    "  recording: mode (file, ring, tree, ranges: the calls of chronological\n"
    "    functions), ring_bytes, overwritten (records),\n"
    "    clock (tsc, thread, none), clock_resolution_ns, clock_freezes,\n"
    "    longest_clock_step_ns, minimum_duration_ns, taken_back (calls),\n"
    "    maximum_depth, too_deep (events), maximum_bytes, waits (of\n"
    "    threads, for pages), wait_ns, longest_wait_ns (no longer than)\n"
    "  trees (only where there are some): stores, nodes,\n"
    "    nodes_for_others (without room for functions of their own), calls,\n"
    "    open_calls, stacks, used_bytes, room_bytes (of nodes),\n"
    "    unmatched_exits, cleared (when)\n"
    "  modules: base, size, time_date_stamp, check_sum, symbols,\n"
    "    probe_total_ps, probe_inner_ps (what a pair of hooks costs, and\n"
    "    the part between its time stamps), pdb, path\n"
    "  processes (if there are several): process_id, parent_id, start_time,\n"
    "    state, threads, stores, records, bytes, command_line, path\n"
    "  threads: thread_id, state, reason, stores, records, bytes,\n"
    "    start_ns, duration_ns, lost, name\n"
    "  control (of each process): actions, marks, names (of threads),\n"
    "    pauses, paused_ns, events_left_out (in them), clears,\n"
    "    last_clear_ns\n"
    "  actions: time_ns, thread_id (empty: asked for from outside), action\n"
    "    (start, stop, clear, mark, name), text; in text with --raw\n"
    READER_TICKS_NOTE,
    "  TraceReader info traces\\game.exe-4711-20261120-101500-123\n"
    "  TraceReader info --json SESSION\n",
    READER_OPTION_FORMAT | READER_OPTION_SYMBOLS | READER_OPTION_NO_CACHE |
        READER_OPTION_PROCESS,
    ReaderCommandInfo
};
