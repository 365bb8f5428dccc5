/*++

Module Name:

    LiveList.h

Abstract:

    Lists of live that grow.

--*/

#ifndef TRACER_LIVE_LIST_H
#define TRACER_LIVE_LIST_H

#include "LiveRead.h"

//
// Makes room in the list for the tally's functions.
//

_Must_inspect_result_
NTSTATUS
LiveGrowLiveList(
    _Inout_ PREADER_LIVE Live
    );

#endif // TRACER_LIVE_LIST_H
