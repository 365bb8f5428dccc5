/*++

Module Name:

    PenterInside.h

Abstract:

    Which threads the hooks are at work on.

--*/

#ifndef TRACER_PENTER_INSIDE_H
#define TRACER_PENTER_INSIDE_H

#include "../Rtl/RtlTypes.h"

//
// Are the hooks of this module at work on a thread, which is suspended?  What a
// thread's instruction pointer says is not looked at: this is about those that
// the slow path has led out of this module.  The loader's lock is held, and the
// hooks have been turned off; so once the answer is no it stays that.
// Teb: the thread's environment block.
//

BOOLEAN
PenterInsideThread(
    _In_ ULONG ThreadId,
    _In_ const VOID *Teb
    );

//
// Is a thread making the place for its TLS slot (PenterSlow.c)?
//

BOOLEAN
PenterIsMakingContext(
    _In_ ULONG ThreadId
    );

#endif // TRACER_PENTER_INSIDE_H
