/*++

Module Name:

    SqlWorld.h

Abstract:

    What a connection has, and what a cursor reads from: the session that its
    path leads to, at the moment of its statement.

    Nothing is shared by two connections.  A cursor has a session of its own,
    because a store is read from one place at a time.

--*/

#ifndef TRACER_SQL_WORLD_H
#define TRACER_SQL_WORLD_H

#include "../Base/BaseContext.h"
#include "../Calls/CallRange.h"
#include "../Functions/Function.h"
#include "../Session/Session.h"
#include "SqlTables.h"

//
// When the statements that are running look at a session.  Those that begin
// while another one has it open on the same connection see the same.
//

typedef struct _SQL_MOMENT {
    struct _SQL_MOMENT *Next;
    ULONG References;               // of cursors
    ULONGLONG Horizon;              // the last time stamp that they see
    ULONG PathLength;               // bytes
    CHAR Path[ANYSIZE_ARRAY];
} SQL_MOMENT;
typedef SQL_MOMENT *PSQL_MOMENT;

//
// A connection; a table's context.
//

typedef struct _SQL_CONNECTION {
    SQL_API Api;
    SQL_DATABASE *Database;
    RTL Rtl;
    ALLOCATOR Allocator;            // SQLite's
    RTL_USER User;                  // these three: of what is made (an index)
    RTL_PRIVATE_DESCRIPTOR DirectoryDescriptor;
    RTL_PRIVATE_DESCRIPTOR FileDescriptor;
    LONG References;                // of modules that are registered
    BOOLEAN IsOutOfMemory;          // an allocation has failed, in this scan
    PSQL_MOMENT Moments;
    PCSZ DefaultPath;               // of a table without an argument, UTF-8;
                                    // NULL: it has to have one
    PRTL_WRITER Errors;             // the program's, for what is no error; or
                                    // NULL: SQLite's log
} SQL_CONNECTION;
typedef SQL_CONNECTION *PSQL_CONNECTION;

#define SQL_SAID_BYTES 512

//
// Takes what the reader says besides.
//

typedef struct _SQL_LISTENER {
    RTL_WRITER Writer;              // the first member
    PSQL_CONNECTION Connection;
    ULONG LengthInBytes;
    CHAR Said[SQL_SAID_BYTES];      // the last line
    CHAR Buffer[SQL_SAID_BYTES];
} SQL_LISTENER;
typedef SQL_LISTENER *PSQL_LISTENER;

typedef struct _SQL_WORLD {
    PSQL_CONNECTION Connection;
    PCSZ TableName;
    PSQL_MOMENT Moment;
    READER_CONTEXT Context;
    PVOID volatile Decoder;
    SQL_LISTENER Listener;
    READER_OPTIONS Options;         // none was given, but for --thread
    READER_SESSION Session;
    BOOLEAN IsOpen;
    BOOLEAN IsReady;                // it was opened without a failure
    BOOLEAN IsInterrupted;          // the statement was
    READER_FUNCTIONS Functions;
    READER_RANGE Range;
    SQL_STATEMENT *Probe;           // asks whether it was interrupted; or NULL
    ULONG NumberOfLooks;
    PCHAR Path;                     // allocated: that was opened
    ULONG PathLength;
} SQL_WORLD;
typedef SQL_WORLD *PSQL_WORLD;

//
// Makes a connection.  Its API is there already; the rest is zero.
// Missing: with STATUS_ENTRYPOINT_NOT_FOUND, what the system lacks.
//

_Must_inspect_result_
NTSTATUS
SqlInitializeConnection(
    _Inout_ PSQL_CONNECTION Connection,
    _In_ SQL_DATABASE *Database,
    _Out_ PCSZ *Missing
    );

//
// Opens what a path leads to; to be closed even after a failure, of which Error
// receives the step, the object and the status.
// TakesDamaged: stores that cannot be read are no failure.
//

_Must_inspect_result_
NTSTATUS
SqlOpenWorld(
    _Out_ PSQL_WORLD World,
    _In_ PSQL_CONNECTION Connection,
    _In_reads_bytes_(PathLength) const CHAR *Path,
    _In_ ULONG PathLength,
    _In_ BOOLEAN TakesDamaged,
    _Inout_ PRTL_WRITER Error
    );

//
// World: open, half open or all zeroes.
//

VOID
SqlCloseWorld(
    _Inout_ PSQL_WORLD World
    );

//
// To be called now and then where no row is made.
// STATUS_CANCELLED: the statement was interrupted.
//

_Must_inspect_result_
NTSTATUS
SqlLookForInterrupt(
    _Inout_ PSQL_WORLD World
    );

//
// What a process's session is called: its directory's name, without the path.
// Buffer: receives it, UTF-8, cut to what fits; not terminated.
// Returns its length in bytes.
//

ULONG
SqlNameSession(
    _In_ const SQL_WORLD *World,
    _In_ ULONG Process,
    _Out_writes_(CapacityInBytes) PCHAR Buffer,
    _In_ ULONG CapacityInBytes
    );

//
// A time stamp as nanoseconds after the session's first record, and a number
// of ticks as nanoseconds; ticks where the rate is not known.
//

LONGLONG
SqlQueryTime(
    _In_ const SQL_WORLD *World,
    _In_ ULONGLONG Timestamp
    );

LONGLONG
SqlQueryDuration(
    _In_ const SQL_WORLD *World,
    _In_ ULONGLONG Ticks
    );

//
// Does the session have times?
//

#define SQL_HAS_TIMES(World) \
    ((World)->Session.Clock.Kind != TRACE_CLOCK_NONE)

#endif // TRACER_SQL_WORLD_H
