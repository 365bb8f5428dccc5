/*++

Module Name:

    SessionKernel.h

Abstract:

    What is to be said of a session that was collected from a driver
    (Docs/Format.md, section 24).

--*/

#ifndef TRACER_SESSION_KERNEL_H
#define TRACER_SESSION_KERNEL_H

#include "../Output/OutputTable.h"
#include "Session.h"

extern const READER_TABLE ReaderKernelTable;

//
// Says that the session is of a driver: a note in text output, else the table,
// in which other sessions have no row.
//

VOID
SessionPutKernel(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    );

#endif // TRACER_SESSION_KERNEL_H
