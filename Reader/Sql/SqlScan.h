/*++

Module Name:

    SqlScan.h

Abstract:

    A scan over all of a path: what is of one boot of a machine has one clock,
    and is a lane.  The lanes are read one after the other, or, in the order of
    time, side by side.

    The cursor's World, State, IsBegun, Item and NextItem are those of the lane
    that has the current row; the others' wait in Lanes.

--*/

#ifndef TRACER_SQL_SCAN_H
#define TRACER_SQL_SCAN_H

#include "SqlCursor.h"

//
// Takes the first lane, of what the path leads to; what is open of the same
// path stays, and all else is closed.  Error: receives what failed.
//

_Must_inspect_result_
NTSTATUS
SqlOpenScan(
    _Inout_ PSQL_CURSOR Cursor,
    _In_reads_bytes_(PathLength) const CHAR *Path,
    _In_ ULONG PathLength,
    _Inout_ PRTL_WRITER Error
    );

//
// Begins the scan of the query, and finds its first row.
// STATUS_END_OF_FILE: there is none.
//

_Must_inspect_result_
NTSTATUS
SqlBeginScan(
    _Inout_ PSQL_CURSOR Cursor,
    _Inout_ PRTL_WRITER Error
    );

//
// Goes on from what the table's Next gave in a scan that has, or may get,
// several lanes.
//

_Must_inspect_result_
NTSTATUS
SqlMoveScan(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ NTSTATUS Status,
    _Inout_ PRTL_WRITER Error
    );

//
// Ends the scan in all lanes.  IsKept: of tables that keep their state, it
// stays.
//

VOID
SqlEndScan(
    _Inout_ PSQL_CURSOR Cursor,
    _In_ BOOLEAN IsKept
    );

//
// Closes everything.
//

VOID
SqlForgetScan(
    _Inout_ PSQL_CURSOR Cursor
    );

#endif // TRACER_SQL_SCAN_H
