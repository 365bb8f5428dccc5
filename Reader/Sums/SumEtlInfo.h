/*++

Module Name:

    SumEtlInfo.h

Abstract:

    What an event trace log has of a session, and what it lacks.

--*/

#ifndef TRACER_SUM_ETL_INFO_H
#define TRACER_SUM_ETL_INFO_H

#include "SumEtl.h"

extern const READER_TABLE ReaderEtlTable;

//
// Writes a table of the log that --etl names, if it does. Returns
// READER_EXIT_*: why it cannot be joined has been written.
//

ULONG
SumEtlInfoPut(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options
    );

#endif // TRACER_SUM_ETL_INFO_H
