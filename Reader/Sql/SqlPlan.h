/*++

Module Name:

    SqlPlan.h

Abstract:

    What SQLite asks of a scan becomes a plan, and the plan with its values a
    query.

--*/

#ifndef TRACER_SQL_PLAN_H
#define TRACER_SQL_PLAN_H

#include "SqlCursor.h"

//
// Makes a plan: its text goes to the index, and the value of each constraint
// that it takes will be an argument.
// Returns SQLite's result.
//

int
SqlMakePlan(
    _In_ PSQL_CONNECTION Connection,
    _In_ PCSQL_TABLE Table,
    _Inout_ PSQL_INDEX Index
    );

//
// Makes the query of a plan and its values.  The query is to be freed even
// after a failure.
// Path, PathLength: the path that it has, the first argument's; valid as long
// as that; NULL: it has none.
//

_Must_inspect_result_
NTSTATUS
SqlReadPlan(
    _In_ PSQL_CONNECTION Connection,
    _In_z_ PCSZ Text,
    _In_ BOOLEAN IsOrdered,
    _In_ int NumberOfArguments,
    _In_ SQL_VALUE **Arguments,
    _Out_ PSQL_QUERY Query,
    _Outptr_ PCSZ *Path,
    _Out_ PULONG PathLength
    );

VOID
SqlFreeQuery(
    _In_ PSQL_CONNECTION Connection,
    _Inout_ PSQL_QUERY Query
    );

#endif // TRACER_SQL_PLAN_H
