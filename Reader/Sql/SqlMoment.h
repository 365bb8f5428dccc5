/*++

Module Name:

    SqlMoment.h

Abstract:

    What the statements that run see of a program that goes on: for all of
    them, and for each of their scans, the records up to one time stamp, and of
    these no more than were in the stores when the first of them looked, by one
    clock.  A record's time is read before the record is written, so the time
    alone would let in what came to be there in between.

--*/

#ifndef TRACER_SQL_MOMENT_H
#define TRACER_SQL_MOMENT_H

#include "SqlWorld.h"

//
// Gives a world whose path and boot are there its moment: that of the
// statements which have these open, or a new one.
// Now: for a new one, read before the session was opened.
//

_Must_inspect_result_
NTSTATUS
SqlBeginMoment(
    _Inout_ PSQL_WORLD World,
    _In_ ULONGLONG Now
    );

//
// Lets go of it.
//

VOID
SqlEndMoment(
    _Inout_ PSQL_WORLD World
    );

//
// Moves the ends of the stores of a session that was just opened to where they
// are for its moment; so does every opening of one from then on.
//

_Must_inspect_result_
NTSTATUS
SqlKeepMoment(
    _Inout_ PSQL_WORLD World
    );

#endif // TRACER_SQL_MOMENT_H
