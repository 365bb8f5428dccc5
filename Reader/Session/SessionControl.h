/*++

Module Name:

    SessionControl.h

Abstract:

    What was asked of a session while it was recorded: its control file.

--*/

#ifndef TRACER_SESSION_CONTROL_H
#define TRACER_SESSION_CONTROL_H

#include "Session.h"

// While a store is paused, its hook counts what is left out where it counts
// what is lost.
//

#define READER_EVENTS_LOST(Header)                                          \
    (((Header)->HookFlags & TRACE_HOOK_PAUSED) != 0                         \
         ? 0                                                                \
         : (Header)->NumberOfEventsLost)
#define READER_EVENTS_PAUSED(Header)                                        \
    ((Header)->NumberOfEventsPaused +                                       \
     (((Header)->HookFlags & TRACE_HOOK_PAUSED) != 0                        \
          ? (Header)->NumberOfEventsLost                                    \
          : 0))

//
// Reads those of all processes, if something in them is new. A failure that is
// not for lack of memory is in the process's Control. Reads the control files
// of a session's processes.
//

_Must_inspect_result_
NTSTATUS
SessionReadControl(
    _Inout_ PREADER_SESSION Session
    );

//
// Frees what a session knows of control files.
// Session: the session, with its processes.
//

VOID
SessionCloseControl(
    _Inout_ PREADER_SESSION Session
    );

//
// Says on the error output what is wrong with them, once.
//

VOID
SessionWarnOfControl(
    _Inout_ PREADER_SESSION Session
    );

//
// The control file's contents for a process's, and for a thread's index.
//

#define READER_CONTROL_OF(Session, Process)                                 \
    (&(Session)->Processes[Process].Control)

#define READER_CONTROL_OF_THREAD(Session, Thread)                           \
    READER_CONTROL_OF(Session, (Session)->Threads[Thread].Process)

//
// Actions of a process that could not be written, or are not looked at.
//

#define READER_ACTIONS_LEFT_OUT(Control)                                    \
    ((Control)->Result.NumberRefused + (Control)->Result.NumberLeftOut)

//
// When a process was cleared last; 0: it was not, or that counts for nothing.
//

#define READER_CLEAR_OF(Session, Process)                                   \
    ((Session)->IsAll ? 0                                                   \
                      : READER_CONTROL_OF(Session, Process)->ClearTimestamp)

//
// The index of the first pause that is not over at a time.
// Control: the process's.
//

ULONG
SessionControlFindPause(
    _In_ PCREADER_CONTROL Control,
    _In_ ULONGLONG Timestamp
    );

//
// The name of a kind of action.  A literal.
//

PCSZ
SessionControlDescribeAction(
    _In_ ULONG Kind
    );

//
// The instants that are shown between calls: marks, and starts, stops and
// clears.  SessionFirstInstant gives the index of the first action from a time
// on; SessionControlFindInstant the first instant from an action on, up to a
// time (Options: of a thread that is selected, or of none); NULL: there is
// none.
//

struct _READER_OPTIONS;

//
// Finds the first action that is not before a time.
// Returns its index. Without a clock, the number of actions.
//

ULONG
SessionFirstInstant(
    _In_ const READER_SESSION *Session,
    _In_ ULONGLONG Timestamp
    );

//
// Finds the next action that is shown.
// Index: the action to begin with; receives that of the one that is found, or
// of the first that is later than Timestamp.
// Timestamp: the last time.
// Returns the action; NULL if there is none.
//

PCREADER_ACTION
SessionControlFindInstant(
    _In_ const READER_SESSION *Session,
    _In_ const struct _READER_OPTIONS *Options,
    _Inout_ PULONG Index,
    _In_ ULONGLONG Timestamp
    );

//
// What an instant is called: a mark's text, or a literal.
//

const CHAR *
SessionControlNameInstant(
    _In_ PCTRACE_CONTROL_ACTION Action,
    _Out_ PULONG LengthInBytes
    );

//
// A thread's name: the one in its stores' headers, else the last that an
// action gave it while it lived.
// Name, LengthInBytes: the name; empty if it has none.
//

VOID
SessionQueryThreadName(
    _In_ const READER_SESSION *Session,
    _In_ ULONG ThreadIndex,
    _Out_ const CHAR **Name,
    _Out_ PULONG LengthInBytes
    );

#endif // TRACER_SESSION_CONTROL_H
