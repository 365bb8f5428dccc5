/*++

Module Name:

    CommandCtlSnapshot.h

Abstract:

    A session is copied while it is written.

--*/

#ifndef TRACER_COMMAND_CTL_SNAPSHOT_H
#define TRACER_COMMAND_CTL_SNAPSHOT_H

#include "CommandCtlFile.h"

//
// How much of a log is copied, how often a tree is tried that is being
// cleared, and how many actions status shows in text.
//

#define READER_CTL_LARGEST_LOG  0x1000000u
#define READER_CTL_TREE_TRIES   100u
#define READER_CTL_SHOWN        10u

//
// Copies the session as it is.
//

ULONG
CommandCtlTakeSnapshot(
    _Inout_ PREADER_CTL Ctl
    );

#endif // TRACER_COMMAND_CTL_SNAPSHOT_H
