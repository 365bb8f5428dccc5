/*++

Module Name:

    Command.c

Abstract:

    How a command begins and ends: its session, its symbol cache, and what is
    said of them.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionImports.h"
#include "../Session/SessionModule.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionTreeStore.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionWaits.h"
#include "../Output/OutputGrid.h"
#include "Command.h"

//
// NtQueryInformationProcess: ProcessVmCounters.
//

#define READER_PROCESS_VM_COUNTERS 3

typedef struct _READER_VM_COUNTERS {
    SIZE_T PeakVirtualSize;
    SIZE_T VirtualSize;
    ULONG NumberOfPageFaults;
    SIZE_T PeakWorkingSetSize;      // bytes
    SIZE_T Others[7];
} READER_VM_COUNTERS;

//
// Says that there are runs that are not read.
//

static
VOID
CommandWriteRuns(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    ULONG Index;

    //
    // Processes are in the order in which they were created.
    //

    RtlWriteText(Errors, "TraceReader: %s: ", Options->Command);
    for (Index = 0; Index == 0 && Index < Session->NumberOfProcesses; Index++) {
        SessionWriteProcess(Errors, Session, Index);
        if (Session->NumberOfProcesses > 1) {
            RtlWriteText(Errors,
                         " and %u other%s",
                         Session->NumberOfProcesses - 1,
                         Session->NumberOfProcesses == 2 ? "" : "s");
        }

        RtlWriteText(Errors, ", ");
    }

    RtlWriteText(Errors,
                 "the newest of %u runs in %T (--all-runs adds them up, "
                 "TraceReader sessions lists them)\n",
                 Session->NumberOfRuns,
                 Options->PathUtf8);
    RtlFlushWriter(Errors);
}

_Use_decl_annotations_
BOOLEAN
CommandAreNamesShort(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    if ((Options->Given & READER_OPTION_NAMES) != 0) {
        return Options->FunctionNames == READER_NAMES_SHORT;
    }

    if (Options->Format != ReaderFormatText ||
        (Options->Given & READER_OPTION_EXPORT) != 0 ||
        Options->Width == READER_WIDTH_NONE) {
        return FALSE;
    }

    return Options->Width != READER_WIDTH_AUTO ||
           OutputQueryTerminalWidth(Context->Output) != 0;
}

_Use_decl_annotations_
BOOLEAN
CommandOpenCommandSession(
    PREADER_SESSION Session,
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    RTL_ERROR Error;

    if (!NT_SUCCESS(SessionOpenSessionOf(Session,
                                         Context,
                                         Options->Path,
                                         Options->Process,
                                         (Options->Given &
                                          READER_OPTION_ALL_RUNS) != 0,
                                         READER_NONE,
                                         &Error))) {
        BaseWriteFailure(Context, &Error);
        return FALSE;
    }

    Session->IndexInterval = Options->IndexInterval;
    Session->Clock.IsRaw = Options->IsRaw;
    Session->SymbolPath = Options->Symbols;
    Session->AreNamesShort = CommandAreNamesShort(Context, Options);
    Session->IsAll = (Options->Given & READER_OPTION_ALL) != 0;
    if (Session->NumberOfRuns > 1) {
        CommandWriteRuns(Session, Options);
    }

    return TRUE;
}

//
// Says so when --thread or --module selects nothing, because the result will
// be empty.
//

static
VOID
CommandWarnOfSelection(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    BOOLEAN IsThreadFound = FALSE;
    BOOLEAN IsModuleFound = FALSE;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (READER_IS_THREAD_SELECTED(Options,
                                      Session->Threads[Index].ThreadId)) {
            IsThreadFound = TRUE;
        }
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        if (Session->Modules[Index]->IsSelected) {
            IsModuleFound = TRUE;
        }
    }

    if (!IsThreadFound) {
        RtlWriteText(Errors,
                     "TraceReader: warning: there is no thread %u "
                     "(TraceReader threads lists them)\n",
                     Options->ThreadId);
    }

    if (!IsModuleFound && !SessionImportsAreSelected(Session)) {
        RtlWriteText(Errors,
                     "TraceReader: warning: no module's name begins with "
                     "%S\n",
                     Options->Module);
    }

    RtlFlushWriter(Errors);
}

_Use_decl_annotations_
BOOLEAN
CommandBeginCommand(
    PREADER_SESSION Session,
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options
    )
{
    BOOLEAN IsBeingCreated;
    ULONG Index;
    ULONG Threads;

    if (!CommandOpenCommandSession(Session, Context, Options)) {
        return FALSE;
    }

    SessionWarnOfStores(Session);
    if (Session->NumberOfValidStores == 0) {

        IsBeingCreated = TRUE;
        for (Index = 0; Index < Session->NumberOfStores; Index++) {
            if (!NT_SUCCESS(Session->Stores[Index]->Status) ||
                Session->Stores[Index]->HeaderResult.State !=
                    CoreHeaderBeingCreated) {
                IsBeingCreated = FALSE;
            }
        }

        BaseFail(Context,
                 IsBeingCreated
                       ? "find a store that is not still being created"
                       : "find a store that can be read",
                 Options->PathUtf8,
                 IsBeingCreated ? STATUS_NOT_FOUND : STATUS_FILE_INVALID);
        CommandCloseCommandSession(Session);
        return FALSE;
    }

    Session->IsSearchedAnew = (Options->Given & READER_OPTION_SYMBOLS) != 0;
    if ((Options->Given & READER_OPTION_NO_CACHE) == 0) {
        FunctionOpenCache(Session);
    }

    SessionSelectModules(Session, Options->Module);
    CommandWarnOfSelection(Session, Options);

    //
    // Text has this below its table.
    //

    Threads = SessionCountThreadsOfTrees(Session);
    if (Threads != 0 &&
        (Options->Format != ReaderFormatText ||
         (Options->Given & READER_OPTION_EXPORT) != 0)) {

        RtlWriteText(Context->Errors,
                     "TraceReader: warning: " READER_THREADS_OF_TREES_TEXT
                     "\n",
                     Threads,
                     Threads == 1 ? "" : "s");
        RtlFlushWriter(Context->Errors);
    }

    return TRUE;
}


_Use_decl_annotations_
BOOLEAN
CommandCheckSortKey(
    PCREADER_CONTEXT Context,
    PCREADER_OPTIONS Options,
    PCSZ Command
    )
{
    switch (Options->SortKey) {

    case ReaderSortAverage:
    case ReaderSortMinimum:
    case ReaderSortMaximum:
    case ReaderSortWaited:
        RtlWriteText(Context->Errors,
                     "TraceReader: %s: --sort takes total, self, calls or "
                     "name here (see TraceReader %s --help)\n",
                     Command,
                     Command);
        RtlFlushWriter(Context->Errors);
        return FALSE;

    default:
        return TRUE;
    }
}

_Use_decl_annotations_
VOID
CommandCloseCommandSession(
    PREADER_SESSION Session
    )
{
    FunctionEndWaits(Session);
    FunctionCloseCache(Session);
    SessionCloseSession(Session);
}

_Use_decl_annotations_
VOID
CommandBeginReading(
    PCREADER_CONTEXT Context,
    PREADER_COST Cost
    )
{
    LARGE_INTEGER Start;

    RtlZeroBytes(Cost, sizeof(*Cost));
    if (NT_SUCCESS(Context->Rtl->NtQueryPerformanceCounter(&Start, NULL))) {
        Cost->Start = Start.QuadPart;
    }
}

_Use_decl_annotations_
VOID
CommandPutReading(
    const READER_SESSION *Session,
    const READER_COST *Cost
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PCRTL Rtl = Context->Rtl;
    READER_VM_COUNTERS Counters;
    LARGE_INTEGER Now;
    LARGE_INTEGER Frequency;
    ULONGLONG Microseconds = 0;
    ULONGLONG Rate = 0;
    ULONGLONG Records = Cost->NumberOfRecords - Session->NumberPassedBy;

    RtlZeroBytes(&Counters, sizeof(Counters));
    (VOID)Rtl->NtQueryInformationProcess((HANDLE)(LONG_PTR)-1,
                                         READER_PROCESS_VM_COUNTERS,
                                         &Counters,
                                         sizeof(Counters),
                                         NULL);
    if (NT_SUCCESS(Rtl->NtQueryPerformanceCounter(&Now, &Frequency)) &&
        Frequency.QuadPart > 0) {
        Microseconds =
            CoreMultiplyDivide((ULONGLONG)(Now.QuadPart - Cost->Start),
                               1000000,
                               (ULONGLONG)Frequency.QuadPart);
    }

    if (Microseconds != 0) {
        Rate = CoreMultiplyDivide(Records,
                                  1000000,
                                  Microseconds);
    }

    RtlWriteText(Context->Errors,
                 "TraceReader: %llu records of %u threads in %llu us by %u "
                 "workers: %llu records/s; %llu were ordinary; peak working "
                 "set %llu KiB\n",
                 Records,
                 Cost->NumberOfThreads,
                 Microseconds,
                 Cost->NumberOfWorkers,
                 Rate,
                 Cost->NumberOfOrdinary,
                 (ULONGLONG)(Counters.PeakWorkingSetSize / 1024));
    RtlFlushWriter(Context->Errors);
}
