/*++

Module Name:

    CoreControl.h

Abstract:

    The control file of a session: what was asked for, and when.

--*/

#ifndef TRACER_CORE_CONTROL_H
#define TRACER_CORE_CONTROL_H

#include "../../Rtl/RtlTypes.h"
#include "../../TraceStore/TraceFormat.h"

typedef enum _CORE_CONTROL_STATE {
    CoreControlValid = 0,
    CoreControlBeingCreated,    // the magic is not there yet
    CoreControlBad
} CORE_CONTROL_STATE;

typedef struct _CORE_CONTROL_RESULT {
    CORE_CONTROL_STATE State;
    PCSZ Problem;               // what is wrong, a literal; "" when nothing is
    ULONG NumberOfActions;      // places that may have one
    ULONG NumberLeftOut;        // places beyond those that are looked at
    ULONGLONG NumberRefused;    // actions that could not be written
} CORE_CONTROL_RESULT;
typedef CORE_CONTROL_RESULT *PCORE_CONTROL_RESULT;

//
// So many actions are looked at.
//

#define CORE_MAXIMUM_ACTIONS 0x4000000u

//
// Validates a copy of the file's header.  FileSize is the file's; the process
// is that of the stores.
// ProcessId, ProcessCreationTime: of the session's stores.
// Result: what it is, and how many places may have an action.
//

BOOLEAN
CoreValidateControl(
    _In_ PCTRACE_CONTROL Control,
    _In_ ULONGLONG FileSize,
    _In_ ULONG ProcessId,
    _In_ ULONGLONG ProcessCreationTime,
    _Out_ PCORE_CONTROL_RESULT Result
    );

//
// Decides whether an action is in a place. One that is has a text no longer
// than its room.
//
// Action: a copy of the place, of which Kind was read first. Its text is cut
// to its room.
// Returns FALSE if there is none (yet), or one that is not known here.
//

BOOLEAN
CoreValidateAction(
    _Inout_ PTRACE_CONTROL_ACTION Action
    );

//
// A time without recording: from Stop on, up to but not including Start.
//

typedef struct _CORE_PAUSE {
    ULONGLONG Stop;
    ULONGLONG Start;            // all ones: not yet
} CORE_PAUSE;
typedef CORE_PAUSE *PCORE_PAUSE;
typedef const CORE_PAUSE *PCCORE_PAUSE;

//
// Finds the pauses that actions, in the order of time, make. There are no more
// than actions. Returns how many. Finds the times without recording. A stop
// while recording is stopped, and a start while it is not, change nothing.
//

ULONG
CoreFindPauses(
    _In_reads_(NumberOfActions) PCTRACE_CONTROL_ACTION Actions,
    _In_ ULONG NumberOfActions,
    _Out_writes_to_(NumberOfActions, return) PCORE_PAUSE Pauses
    );

#endif // TRACER_CORE_CONTROL_H
