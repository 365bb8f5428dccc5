/*++

Module Name:

    LiveTree.h

Abstract:

    What live takes from threads that have trees.

--*/

#ifndef TRACER_LIVE_TREE_H
#define TRACER_LIVE_TREE_H

#include "LiveRead.h"

//
// Reads a thread's trees and adds what is new in them to what is to be taken.
//

_Must_inspect_result_
NTSTATUS
LiveTreeReadAll(
    _Inout_ PREADER_LIVE Live,
    _Inout_ PREADER_LIVE_THREAD Thread
    );

#endif // TRACER_LIVE_TREE_H
