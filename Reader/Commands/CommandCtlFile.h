/*++

Module Name:

    CommandCtlFile.h

Abstract:

    The control file, as ctl sees it.

--*/

#ifndef TRACER_COMMAND_CTL_FILE_H
#define TRACER_COMMAND_CTL_FILE_H

#include "../Base/BaseErrors.h"
#include "../Base/BaseFile.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionName.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionStoreOpen.h"
#include "../Session/SessionTarget.h"
#include "Command.h"

//
// What is copied at a time.
//

#define READER_CTL_BUFFER_SIZE  0x10000u
#define READER_CTL_ACTIONS                                                  \
    (READER_CTL_BUFFER_SIZE / TRACE_CONTROL_ACTION_SIZE)
#define READER_CTL_PAGE_SIZE    0x1000u

typedef enum _READER_CTL_VERB {
    ReaderCtlStart = 0,
    ReaderCtlStop,
    ReaderCtlClear,
    ReaderCtlMark,
    ReaderCtlSnapshot,
    ReaderCtlStatus,
    ReaderCtlUnknown
} READER_CTL_VERB;

typedef struct _READER_CTL {
    PCREADER_CONTEXT Context;
    PCREADER_OPTIONS Options;
    READER_CTL_VERB Verb;
    READER_SESSION Session;
    PREADER_SESSION Whole;          // that this is one of; NULL: it is alone
    ULONG Process;                  // index, in that
    TRACE_STORE_HEADER Identity;    // for a session without a valid store
    HANDLE File;                    // NULL: there is no control file
    TRACE_CONTROL Header;           // a copy
    ULONG Capacity;                 // actions, as long as the file is now
    ULONG Count;                    // claimed
    ULONG NumberOfInstances;
    ULONG NumberOfWaiters;          // of them, without a worker
    ULONG LastAction;               // start or stop; READER_NONE: none yet
    BOOLEAN IsStopped;
    ULONGLONG Since;                // FILETIME
    READER_TARGET Target;           // snapshot's directory
    ULONGLONG Buffer[READER_CTL_BUFFER_SIZE / sizeof(ULONGLONG)];
} READER_CTL;
typedef READER_CTL *PREADER_CTL;

//
// Makes Session->Path that of a file in the session's directory. The caller
// sets its length back to DirectoryLength.
// Returns STATUS_SUCCESS or STATUS_NAME_TOO_LONG.
//

_Must_inspect_result_
NTSTATUS
CommandCtlNameBeside(
    _Inout_ PREADER_SESSION Session,
    _In_ PCUNICODE_STRING Name
    );

//
// Opens a control file.
// Directory: the index of the directory that it is in.
// IsWritten: whether an action is to be appended.
//

_Must_inspect_result_
NTSTATUS
CommandCtlOpenFile(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG Directory,
    _In_ BOOLEAN IsWritten
    );

//
// Decides whether a module instance looks at the control file all the time.
// Ctl: the command's state, with the header.
// Returns FALSE if it has no worker (yet): its threads look when they come by.
//

BOOLEAN
CommandCtlFollows(
    _In_ const READER_CTL *Ctl,
    _In_ ULONG Index
    );

//
// Reads the control file's header.
// Ctl: the command's state, with the file open.
// Returns STATUS_SUCCESS, STATUS_FILE_INVALID, or what failed.
//

_Must_inspect_result_
NTSTATUS
CommandCtlReadHeader(
    _Inout_ PREADER_CTL Ctl
    );

//
// Reads actions into the buffer.
// Ctl: the command's state, with the header read.
// Number: how many there are; 0 at the end.
//

_Must_inspect_result_
NTSTATUS
CommandCtlReadActions(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG First,
    _Out_ PULONG Number
    );

//
// Finds out whether recording is stopped, and since when.
// Ctl: the command's state, with the header read.
//

_Must_inspect_result_
NTSTATUS
CommandCtlFindState(
    _Inout_ PREADER_CTL Ctl
    );

//
// Puts a process's state in a word.
// Returns a literal.
//

PCSZ
CommandCtlDescribeProcess(
    _In_ READER_PROCESS_STATE State
    );

//
// Appends an action.
// Ctl: the command's state, with the control file open for writing.
// Kind: TRACE_ACTION_*.
// Text: its text; what does not fit is cut at a character.
// StatusPointer: what failed.
// Returns FALSE if it failed.
//

BOOLEAN
CommandCtlAppend(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG Kind,
    _In_z_ PCSZ Text,
    _Out_ PULONG Number,
    _Out_ PNTSTATUS StatusPointer
    );

//
// Waits until every module instance that looks at the control file has seen an
// action. One without a worker is not waited for: what its threads record
// counts up to the action's time, and from it on, whenever they come by.
//
// Returns how many have not, when the time is over.
//

ULONG
CommandCtlWait(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG Number
    );

#endif // TRACER_COMMAND_CTL_FILE_H
