/*++

Module Name:

    SessionProcess.h

Abstract:

    The processes of a directory of sessions.

--*/

#ifndef TRACER_SESSION_PROCESS_H
#define TRACER_SESSION_PROCESS_H

#include "Session.h"

//
// The process that a store or a thread is of; READER_NONE for a store of whose
// directory nothing is known.
//

#define READER_PROCESS_OF_STORE(Session, Store) \
    ((Session)->Directories[(Store)->Directory].Process)

//
// Has a store's process ended?
//

BOOLEAN
SessionIsWriterGone(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );

//
// Finds what to wait for until all have ended: the handle of the one process
// that still runs, or NULL if there are several or none.
//

HANDLE
SessionGetLastProcess(
    _In_ const READER_SESSION *Session
    );

//
// Adds a directory.
// Name: the directory's, in the session's; empty for that itself.
//

_Must_inspect_result_
NTSTATUS
SessionAddDirectory(
    _Inout_ PREADER_SESSION Session,
    _In_ PCUNICODE_STRING Name
    );

//
// Adds the directories below the session's that are not known, and lists them
// all; Callback is called for each entry of each, with VisitedDirectory set.
// Returns STATUS_SUCCESS; what Callback gave; or what kept the session's own
// directory from being listed. One below that cannot be listed is passed over.
//

_Must_inspect_result_
NTSTATUS
SessionListDirectories(
    _Inout_ PREADER_SESSION Session,
    _In_ PRTL_DIRECTORY_CALLBACK Callback
    );

//
// Gives a store's directory its process, if it has none yet, and decides
// whether --process selects it. STATUS_NOT_SUPPORTED: it ran on another boot
// than the others. Finds or makes the process of a directory.
//
// STATUS_SUCCESS: the directory has its process, or is left out.
//

_Must_inspect_result_
NTSTATUS
SessionAssignProcess(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_STORE Store
    );

//
// Gives a store's directory its process, whatever --process selects and
// whatever boot it ran on: SessionChooseRun decides.
//

_Must_inspect_result_
NTSTATUS
SessionAddProcess(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_STORE Store
    );

//
// Leaves the processes of one run: a process that none of the others started,
// and all that it started, directly or not. It is the run that began last, of
// those that have a process that --process selects; what it does not select
// goes, too. The directories of the others are left out. Sets NumberOfRuns.
//

_Must_inspect_result_
NTSTATUS
SessionChooseRun(
    _Inout_ PREADER_SESSION Session
    );

//
// Finds another store of the session that this one is a copy of, if there is
// one: a session that lies beside its copy must not count twice.
// Store: the store, with a valid header.
//

BOOLEAN
SessionIsStoreCopied(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );

//
// Were two stores made on one boot of a machine?
// First, Second: their headers.
// Returns FALSE if their clocks say that they were not.
//

BOOLEAN
SessionIsOnSameBoot(
    _In_ PCTRACE_STORE_HEADER First,
    _In_ PCTRACE_STORE_HEADER Second
    );

//
// May a process have started another, by identifiers and times?
//

BOOLEAN
SessionIsParent(
    _In_ PCTRACE_STORE_HEADER Parent,
    _In_ PCTRACE_STORE_HEADER Child
    );

//
// Returns the index of the process that started a process, or READER_NONE if
// that is not known or not of this session.
//

ULONG
SessionProcessFindParent(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );

//
// Writes "process 12 name.exe".
//

VOID
SessionWriteProcess(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );

//
// Frees what a session has of processes and directories.
//

VOID
SessionRundownProcesses(
    _Inout_ PREADER_SESSION Session
    );

//
// Names a file that is beside a process's stores.
// File, LengthInChars: its name.
// NtPath: its path, whose buffer is the caller's to free.
//

_Must_inspect_result_
NTSTATUS
SessionNameProcessFile(
    _In_ PREADER_SESSION Session,
    _In_ ULONG Process,
    _In_reads_(LengthInChars) PCWSTR File,
    _In_ ULONG LengthInChars,
    _Out_ PUNICODE_STRING NtPath
    );

#endif // TRACER_SESSION_PROCESS_H
