/*++

Module Name:

    PenterJump.c

Abstract:

    Exit hooks that were jumped to, for TRACER_MIN_DURATION: whether the latest
    record, an entry of the same function, is the one of the call that ends.

    Another call of the function that was left by a jump or an exception has its
    entry farther below.  So what is looked for is the size of the frame of that
    entry, which the unwind data has: of the function's own code, or of the code
    that has last called something from there.  That one's return address lies
    where the frame ended; it may be in a copy of the function, or in one that
    the function was inlined into and that has no hooks.

--*/

#include "../TraceStore/TraceFrame.h"
#include "../TraceStore/TraceSession.h"
#include "PenterJump.h"

_Use_decl_annotations_
VOID
PenterCheckJump(
    PTRACE_STORE Store,
    PCPENTER_SLOW_CALL Call
    )
{
    PTRACE_SESSION Session;
    const TRACE_RECORD *Record;
    TRACE_FRAME_LAYOUT Layout;
    ULONG Distance;
    ULONG Size;
    ULONGLONG Answer;
    BOOLEAN IsKnown;
    BOOLEAN IsOwn;

    Session = Store->Session;
    Record = (const TRACE_RECORD *)(ULONG_PTR)Store->Header->Cursor - 1;
    Distance = (ULONG)(ULONG_PTR)(Call + 1) -
               (Record->StackKind - TRACE_KIND_ENTER_FUNCTION);

    IsKnown = FALSE;
    IsOwn = FALSE;
    if (TraceFrameFind(Session->ModuleBase,
                       Store->Header->ModuleSize,
                       Store->JumpPlace,
                       &Layout)) {

        Size = Layout.SizeInBytes + sizeof(Call->ReturnAddress);
        IsOwn = Size == Distance;
        IsKnown = TRUE;
    }

    //
    // Where RSP may move in the body it may have been aligned, too: there is
    // still no room for another frame of that size.
    //

    if (!IsOwn &&
        TraceFrameFind(Session->ModuleBase,
                       Store->Header->ModuleSize,
                       Call->Rcx + 1,
                       &Layout) &&
        Layout.Function == (ULONG)Call->Rcx) {

        Size = Layout.FullSizeInBytes + sizeof(Call->ReturnAddress);
        IsOwn = Size == Distance ||
                (Layout.IsDynamic &&
                 Distance > Size && Distance - Size < Size);
        IsKnown = TRUE;
    }

    Answer = (ULONGLONG)Distance << 32 | (ULONG)Call->Rcx;
    if (!IsOwn) {
        Answer |= (IsKnown ? 1ULL : 2ULL) << 32;
    }

    PenterJumps[(Distance + (ULONG)Call->Rcx) >> 4 &
                (PENTER_NUMBER_OF_JUMPS - 1)] = Answer;
}
