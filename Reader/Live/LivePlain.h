/*++

Module Name:

    LivePlain.h

Abstract:

    A refresh as lines.

--*/

#ifndef TRACER_LIVE_PLAIN_H
#define TRACER_LIVE_PLAIN_H

#include "../Functions/FunctionFilter.h"
#include "LiveModel.h"

typedef struct _READER_LIVE_PLAIN {
    READER_OUTPUT Output;
    ULONGLONG Limit;
    PULONG Order;
    ULONG CapacityOfOrder;
    ULONGLONG NumberShown;          // rows and frames, of all refreshes
    READER_NOT_SHOWN NotShown;      // likewise
} READER_LIVE_PLAIN;
typedef READER_LIVE_PLAIN *PREADER_LIVE_PLAIN;

//
// Writes a refresh.
// Plain: the state of the lines.
// Returns STATUS_SUCCESS or what failed, which has been said.
//

_Must_inspect_result_
NTSTATUS
LivePutLivePlain(
    _Inout_ PREADER_LIVE_PLAIN Plain,
    _In_ PCREADER_LIVE Live,
    _In_ PCREADER_LIVE_MODEL Model
    );

#endif // TRACER_LIVE_PLAIN_H
