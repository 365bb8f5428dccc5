/*++

Module Name:

    SessionDescribe.h

Abstract:

    The words for states, and what is to be said of a session below its tables.

--*/

#ifndef TRACER_SESSION_DESCRIBE_H
#define TRACER_SESSION_DESCRIBE_H

#include "../Output/OutputTable.h"
#include "Session.h"

//
// Has a process, which is gone, ended by an exit code that is none of a crash,
// or at least come to close a store because it ended?  A store that is open
// still is then one that nobody was told to close.
//

BOOLEAN
SessionHasEnded(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );

//
// Puts a store's state in a word.
// Store: one of its stores, with a valid header.
// Returns a literal.
//

PCSZ
SessionDescribeStoreState(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );

//
// Puts a process's state in a word: stopped if any store was stopped, else
// open while the process runs, else died or ended (SessionHasEnded) if any
// store was not closed, else closed.
//
// Process: the process's index, or READER_NONE for all together.
// Because: the store that decided it when it is "stopped", "died" or "ended",
// or NULL.
// Returns a literal.
//

PCSZ
SessionDescribeProcessState(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process,
    _Outptr_result_maybenull_ PREADER_STORE *Because
    );

//
// The store of a thread that follows one, or the first of the next one that is
// the same thread, attached to again; READER_NONE: there is none.
//

ULONG
SessionNextStore(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Store
    );

#define SessionDescribeState(Session, Because) \
    SessionDescribeProcessState((Session), READER_NONE, (Because))

//
// Has a ring of the session lost its oldest records? Decides whether entries
// are missing because rings keep the newest records.
// Returns TRUE if a store's first record is not the first that was made.
//

BOOLEAN
SessionIsRingOverwritten(
    _In_ const READER_SESSION *Session
    );

//
// Puts the reason why a store ended in words. The imports' DLL stays until the
// process ends: one of its stores that says that the module was unloaded is of
// a process that was detached from.
// Returns a literal.
//

PCSZ
SessionDescribeReason(
    _In_ PCTRACE_STORE_HEADER Header
    );

//
// Puts the source of a module's symbols in a word.
// Returns a literal.
//

PCSZ
SessionDescribeSymbolSource(
    _In_ READER_SYMBOL_SOURCE Source
    );

//
// Says what is wrong with a store as a whole, without a line feed; nothing if
// nothing is.
// Store: the store, looked at.
//

VOID
SessionDescribeStoreProblem(
    _In_ PCREADER_STORE Store,
    _Inout_ PRTL_WRITER Writer
    );

//
// Says which thread could not be read to its end, and which of its stores
// failed; returns READER_EXIT_FAILURE.
//

ULONG
SessionFailThread(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread,
    _In_ NTSTATUS Status
    );

//
// Writes the cells that say which process a row is of. The cells of
// READER_PROCESS_COLUMNS, for a process's index.
//

VOID
SessionPutProcess(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );

//
// Says, in text output, what is to be known about the times: which clock they
// are of, that they are ticks, or approximate.
//

VOID
SessionPutClockNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    );

//
// Says, in text output, that recording has stopped to keep room on the disk,
// and what is missing.
//

VOID
SessionPutStopNote(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    );

//
// Writes the processor time of a thread from when it had its first store to its
// end; nothing if it is not known, since the thread runs or was killed.
//

VOID
SessionPutThreadCpu(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    );

//
// The processor time of a process when it ended, 100 ns.  FALSE if it is not
// known.
// Process: its index, or READER_NONE for the sum of all.
//

BOOLEAN
SessionQueryProcessCpu(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process,
    _Out_ PULONGLONG Time
    );

//
// Writes it, or nothing.
//

VOID
SessionPutProcessCpu(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );

//
// Writes a process's exit code, or nothing.  SessionPutExitText: as text, which
// also says that it is not known.
//

VOID
SessionPutProcessExit(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );

VOID
SessionPutExitText(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );

//
// Writes the time of day of a time stamp.
// Clock: the session's.
// Timestamp: ticks; 0 for none.
//

VOID
SessionPutDate(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Timestamp
    );

//
// How many records the threads have that --thread selects.
// Returns as many as there were when the session was opened.
//

ULONGLONG
SessionCountRecords(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options
    );

//
// Says how many bytes a store's file has, header and records, and how many
// events it lacks.
// Lost: how many events were lost.
//

VOID
SessionQueryStoredBytes(
    _In_ PCREADER_STORE Store,
    _Out_ PULONGLONG Bytes,
    _Out_ PULONGLONG Lost
    );

//
// Says on the error output what is wrong with stores that are not read, each
// once. Says which stores are left out, and which are cut off.
//

VOID
SessionWarnOfStores(
    _Inout_ PREADER_SESSION Session
    );

//
// When the first record of a thread was, and the last one, of all that is the
// same thread.
// Thread: index of the first of these.
//

VOID
SessionQueryThreadSpan(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread,
    _Out_ PULONGLONG First,
    _Out_ PULONGLONG Last
    );

#endif // TRACER_SESSION_DESCRIBE_H
