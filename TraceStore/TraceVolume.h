/*++

Module Name:

    TraceVolume.h

Abstract:

    What stays free of the disk that a session is on.

--*/

#ifndef TRACER_TRACE_VOLUME_H
#define TRACER_TRACE_VOLUME_H

#include "TraceTypes.h"

//
// The step of the report that it has come to that.
//

#define TRACE_VOLUME_STEP "keeping TRACER_MIN_FREE of the disk"

//
// Whether a store's file may grow as far as a view needs: the disk then has
// still as much left as the user wants.  TRUE if nothing is wanted, if the file
// has the room already, or if the system does not tell.  FALSE sets the
// session's VolumeFree and VolumeKept.
//
// Store: the store, whose File is open.  No lock is needed: the file grows
// under the hand of whoever asks.
//

BOOLEAN
TraceVolumeHasRoom(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_VIEW View
    );

#endif // TRACER_TRACE_VOLUME_H
