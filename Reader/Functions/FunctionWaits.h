/*++

Module Name:

    FunctionWaits.h

Abstract:

    Which functions wait, and for what.

--*/

#ifndef TRACER_FUNCTION_WAITS_H
#define TRACER_FUNCTION_WAITS_H

#include "../Base/BaseOptions.h"
#include "Function.h"

//
// What a function waits for, in the order of ReaderWaitKindNames.
//

typedef enum _READER_WAIT_KIND {
    ReaderWaitNone = 0,             // it does not
    ReaderWaitObject,               // a handle, or several
    ReaderWaitSleep,
    ReaderWaitLock,                 // if the call takes long enough
    ReaderWaitCondition,
    ReaderWaitThread,               // its end
    ReaderWaitFile,
    ReaderWaitPipe,
    ReaderWaitSocket,
    ReaderWaitPort,                 // of completion, or of messages
    ReaderWaitMessage,              // of a window
    ReaderWaitConsole,
    ReaderNumberOfWaitKinds
} READER_WAIT_KIND;

//
// Their words in files and tables; none is "".
//

extern const PCSZ ReaderWaitKindNames[];

//
// Gives a session the functions that wait: those of the table, and what the
// file of --waits adds and takes out.  The functions that are found from then
// on have their Wait.
// Returns FALSE if the file cannot be read, or is not good; that has been
// written, and the session has none.
//

_Success_(return != FALSE)
BOOLEAN
FunctionBeginWaits(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options
    );

//
// Frees what a session has of them, if anything.
//

VOID
FunctionEndWaits(
    _Inout_ PREADER_SESSION Session
    );

//
// Says for what a function waits.
//

READER_WAIT_KIND
FunctionFindWait(
    _In_ PREADER_WAITS Waits,
    _In_ PCREADER_FUNCTION Function
    );

//
// The flags of CORE_CALL that a function's entries have for it.
// Function: its index in the table.
//

ULONG
FunctionQueryWaitFlags(
    _In_ const READER_FUNCTIONS *Functions,
    _In_ ULONG Function
    );

#endif // TRACER_FUNCTION_WAITS_H
