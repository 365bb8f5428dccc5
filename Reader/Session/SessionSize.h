/*++

Module Name:

    SessionSize.h

Abstract:

    How many bytes a store takes.

--*/

#ifndef TRACER_SESSION_SIZE_H
#define TRACER_SESSION_SIZE_H

#include "SessionStore.h"

//
// How many bytes the header, the records and the blocks take.
//

ULONGLONG
SessionCountStoredBytes(
    _In_ PCREADER_STORE Store
    );

//
// How many records of a compact store are raw.
//

ULONGLONG
SessionCountRawRecords(
    _In_ PCREADER_STORE Store
    );

#endif // TRACER_SESSION_SIZE_H
