/*++

Module Name:

    SessionCompact.h

Abstract:

    How small compact stores are.

--*/

#ifndef TRACER_SESSION_COMPACT_H
#define TRACER_SESSION_COMPACT_H

#include "../Output/OutputTable.h"
#include "Session.h"
#include "SessionSize.h"

extern const READER_TABLE ReaderCompactTable;

//
// Writes the table, if the session has compact stores.
//

_Must_inspect_result_
NTSTATUS
SessionPutCompact(
    _Inout_ PREADER_OUTPUT Output,
    _Inout_ PREADER_SESSION Session
    );

#endif // TRACER_SESSION_COMPACT_H
