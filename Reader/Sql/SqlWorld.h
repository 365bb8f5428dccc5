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
// Where a store ends for a moment.
//

typedef struct _SQL_END {
    ULONGLONG Position;
    ULONGLONG LastTimestamp;        // of the record before it
} SQL_END;
typedef SQL_END *PSQL_END;

//
// When the statements that are running look at the sessions of a path that are
// of one boot.  Those that begin while another one has them open on the same
// connection see the same: SqlMoment.h.
//

typedef struct _SQL_MOMENT {
    struct _SQL_MOMENT *Next;
    ULONG References;               // of cursors
    ULONG Boot;
    ULONGLONG Horizon;              // the last time stamp that they see
    BOOLEAN HasClock;
    CORE_CLOCK Clock;               // its rate is known better the longer a
                                    // program runs: that of the first look
    READER_MAP Places;              // by what a store is known by: in Ends
    PSQL_END Ends;
    ULONG NumberOfEnds;
    ULONG CapacityOfEnds;
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
    ULONGLONG NumberOfCursors;      // ever
    PCSZ DefaultPath;               // of a table without an argument, UTF-8;
                                    // NULL: it has to have one
    PRTL_WRITER Errors;             // the program's, for what is no error; or
                                    // NULL: SQLite's log
} SQL_CONNECTION;
typedef SQL_CONNECTION *PSQL_CONNECTION;

#define SQL_SAID_BYTES 512

//
// Room for a session's name.
//

#define SQL_NAME_BYTES 780

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
    ULONG Boot;                     // which of the path's boots it is
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
// Opens what of a path is of one boot of a machine: the first is 0, and the
// session says how many there are.  To be closed even after a failure, of which
// Error receives the step, the object and the status.
// TakesDamaged: it is no failure if no store can be read.
//

_Must_inspect_result_
NTSTATUS
SqlOpenWorld(
    _Out_ PSQL_WORLD World,
    _In_ PSQL_CONNECTION Connection,
    _In_reads_bytes_(PathLength) const CHAR *Path,
    _In_ ULONG PathLength,
    _In_ ULONG Boot,
    _In_ BOOLEAN TakesDamaged,
    _Inout_ PRTL_WRITER Error
    );

//
// Is there something wrong with a store, which trace_problems says?  Stores of
// which no process is known are those of the first boot.
//

BOOLEAN
SqlHasProblem(
    _In_ const SQL_WORLD *World,
    _In_ PCREADER_STORE Store
    );

//
// Finds a session of which no store can be read, and says what is wrong with
// the first: FALSE: there is none.
// Name: of the session, or NULL: all.
//

BOOLEAN
SqlDescribeDamage(
    _In_ const SQL_WORLD *World,
    _In_opt_z_ PCSZ Name,
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
// What a process's session, or a directory of the session's, is called: its
// name, without the path.
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

ULONG
SqlNameDirectory(
    _In_ const SQL_WORLD *World,
    _In_ ULONG Directory,
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
