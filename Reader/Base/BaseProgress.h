/*++

Module Name:

    BaseProgress.h

Abstract:

    A line on a terminal that says how far a command is.

--*/

#ifndef TRACER_BASE_PROGRESS_H
#define TRACER_BASE_PROGRESS_H

#include "../../StringTable/StringTable.h"
#include "BaseContext.h"

#define READER_PROGRESS_EVENTS 0x10000u

typedef struct _READER_PROGRESS {
    PCREADER_CONTEXT Context;
    PCSZ Doing;
    ULONGLONG Expected;             // records; 0: nothing is shown
    LONGLONG Time;                  // system time when it was written
    BOOLEAN IsShown;
} READER_PROGRESS;
typedef READER_PROGRESS *PREADER_PROGRESS;

//
// Doing: a literal, what is being done, before the numbers; may be "".
// Expected: how many records there are to read; 0: nothing is shown.
//

VOID
BaseInitializeProgress(
    _Out_ PREADER_PROGRESS Progress,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCSZ Doing,
    _In_ ULONGLONG Expected
    );

//
// Writes that so many records have been read, unless that was done a moment
// ago.
//

VOID
BaseShowProgress(
    _Inout_ PREADER_PROGRESS Progress,
    _In_ ULONGLONG Records
    );

//
// Takes the line away, and ends.
// Progress: the state; all zeroes will do.
//

VOID
BaseEraseProgress(
    _Inout_ PREADER_PROGRESS Progress
    );

#endif // TRACER_BASE_PROGRESS_H
