/*++

Module Name:

    ReaderProgress.c

Abstract:

    A line on a terminal's error output that says how far a command is, for as
    long as it has nothing else to show.

--*/

#include "Reader.h"

//
// It is written at most so often, in 100 ns, and for the first time after as
// long.
//

#define READER_PROGRESS_INTERVAL 1000000

#define READER_PROGRESS_WIDTH 78


_Use_decl_annotations_
VOID
ReaderInitializeProgress(
    PREADER_PROGRESS Progress,
    PCREADER_CONTEXT Context,
    PCSZ Doing,
    ULONGLONG Expected
    )
/*++

Routine Description:

    Begins.

Arguments:

    Progress - Receives the state.

    Context - The context.

    Doing - What is being done, before the numbers; may be empty.

    Expected - How many records there are to read; 0: nothing is shown.

Return Value:

    None.

--*/
{
    RtlZeroBytes(Progress, sizeof(*Progress));
    Progress->Context = Context;
    Progress->Doing = Doing;
    if (Context->Errors->IsConsole) {
        Progress->Expected = Expected;
    }
}


_Use_decl_annotations_
ULONGLONG
ReaderCountRecords(
    const READER_SESSION *Session,
    PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Counts the records of the threads that are selected.

Arguments:

    Session - The session.

    Options - The command's options.

Return Value:

    As many as there were when the session was opened.

--*/
{
    ULONGLONG Records = 0;
    PCREADER_STORE Store;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Store->Thread != READER_NONE &&
            READER_IS_THREAD_SELECTED(
                Options,
                Session->Threads[Store->Thread].ThreadId) &&
            Store->EndOfRecords > Store->StartOfRecords) {
            Records += (Store->EndOfRecords - Store->StartOfRecords) /
                       TRACE_RECORD_SIZE;
        }
    }

    return Records;
}


_Use_decl_annotations_
VOID
ReaderShowProgress(
    PREADER_PROGRESS Progress,
    ULONGLONG Records
    )
/*++

Routine Description:

    Writes how far it is, unless that was done a moment ago.

Arguments:

    Progress - The state.

    Records - How many have been read.

Return Value:

    None.

--*/
{
    PRTL_WRITER Errors = Progress->Context->Errors;
    LARGE_INTEGER Now;

    if (Progress->Expected == 0 ||
        !NT_SUCCESS(Progress->Context->Rtl->NtQuerySystemTime(&Now))) {
        return;
    }

    if (Progress->Time == 0) {
        Progress->Time = Now.QuadPart;
    }

    if (Now.QuadPart - Progress->Time < READER_PROGRESS_INTERVAL) {
        return;
    }

    if (Records > Progress->Expected) {
        Records = Progress->Expected;
    }

    Progress->Time = Now.QuadPart;
    Progress->IsShown = TRUE;
    RtlWriteText(Errors,
                 "\rTraceReader: %s%3llu %% of %llu records",
                 Progress->Doing,
                 CoreMultiplyDivide(Records, 100, Progress->Expected),
                 Progress->Expected);
    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
VOID
ReaderEraseProgress(
    PREADER_PROGRESS Progress
    )
/*++

Routine Description:

    Takes the line away, and ends.

Arguments:

    Progress - The state; all zeroes will do.

Return Value:

    None.

--*/
{
    if (Progress->IsShown) {
        RtlWriteText(Progress->Context->Errors,
                     "\r%*s\r",
                     READER_PROGRESS_WIDTH,
                     "");
        RtlFlushWriter(Progress->Context->Errors);
    }

    Progress->IsShown = FALSE;
    Progress->Expected = 0;
}
