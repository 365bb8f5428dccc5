/*++

Module Name:

    BaseProgress.c

Abstract:

    A line on a terminal's error output that says how far a command is, for as
    long as it has nothing else to show.

--*/

#include "../Core/CoreClock.h"
#include "BaseProgress.h"

//
// It is written at most so often, in 100 ns, and for the first time after as
// long.
//

#define READER_PROGRESS_INTERVAL 1000000

#define READER_PROGRESS_WIDTH 78


_Use_decl_annotations_
VOID
BaseInitializeProgress(
    PREADER_PROGRESS Progress,
    PCREADER_CONTEXT Context,
    PCSZ Doing,
    ULONGLONG Expected
    )
{
    RtlZeroBytes(Progress, sizeof(*Progress));
    Progress->Context = Context;
    Progress->Doing = Doing;
    if (Context->Errors->IsConsole) {
        Progress->Expected = Expected;
    }
}


_Use_decl_annotations_
VOID
BaseShowProgress(
    PREADER_PROGRESS Progress,
    ULONGLONG Records
    )
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
BaseEraseProgress(
    PREADER_PROGRESS Progress
    )
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
