/*++

Module Name:

    TraceWorker.h

Abstract:

    The worker thread of a session.

--*/

#ifndef TRACER_TRACE_WORKER_H
#define TRACER_TRACE_WORKER_H

#include "../Rtl/RtlTypes.h"

//
// What it runs; the parameter is the session.
//

ULONG
WINAPI
TraceWorkerMain(
    _In_ PVOID Parameter
    );

#endif // TRACER_TRACE_WORKER_H
