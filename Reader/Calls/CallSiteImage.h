/*++

Module Name:

    CallSiteImage.h

Abstract:

    What an image says of the place that a hook is called from.  It is of no
    session: the debugger's extension reads images from memory.

--*/

#ifndef TRACER_CALL_SITE_IMAGE_H
#define TRACER_CALL_SITE_IMAGE_H

#include "../Core/CorePair.h"
#include "../Image/ImageUnwind.h"

//
// The part of a site that says which module.
//

#define READER_SITE_MODULE(Key) ((Key) & 0xFFFFFFFF00000000ULL)

//
// Fills in Function, JumpTarget, FrameSize, BodySize and Flags of a call from
// its Site, which is (module << 32) | RVA, and its Kind; what is not known
// becomes 0.
//

VOID
CallSiteImageRead(
    _Inout_ PREADER_UNWIND Unwind,
    _Inout_ PCORE_CALL Call
    );

#endif // TRACER_CALL_SITE_IMAGE_H
