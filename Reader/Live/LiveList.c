/*++

Module Name:

    LiveList.c

Abstract:

    Lists of live that grow.

--*/

#include "LiveList.h"

_Use_decl_annotations_
NTSTATUS
LiveGrowLiveList(
    PREADER_LIVE Live
    )
{
    return BaseGrowArray(Live->Session.Context->Allocator,
                         (PVOID *)&Live->List,
                         &Live->CapacityOfList,
                         Live->Tally.NumberOfFunctions,
                         sizeof(READER_LIVE_FUNCTION));
}
