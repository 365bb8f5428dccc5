/*++

Module Name:

    CallWaits.c

Abstract:

    How long calls waited.

    A call that waits does so from its entry to its exit.  Any other call waited
    as long as those together that were made from it.  So what a call waited is
    known when it ends, from its own time and from what its callees have left:
    CorePair.c and CoreFast.c add that up, by frame.

--*/

#include "../Functions/FunctionWaits.h"
#include "CallRange.h"
#include "CallWaits.h"


_Use_decl_annotations_
BOOLEAN
CallBeginWaits(
    PREADER_SESSION Session,
    PCREADER_OPTIONS Options
    )
{
    Session->ContentionTicks = 0;
    if (Options->Contention != 0) {
        Session->ContentionTicks = CallFindTime(&Session->Clock,
                                                0,
                                                Options->Contention);
    }

    return FunctionBeginWaits(Session, Options);
}
