/*++

Module Name:

    CallSiteImage.c

Abstract:

    What an image says of the place that a hook is called from.

--*/

#include "CallSiteImage.h"

_Use_decl_annotations_
VOID
CallSiteImageRead(
    PREADER_UNWIND Unwind,
    PCORE_CALL Call
    )
{
    READER_UNWIND_FRAME Frame;
    ULONG Rva = (ULONG)Call->Site;
    ULONG Target;

    Call->Function = 0;
    Call->JumpTarget = 0;
    Call->FrameSize = 0;
    Call->BodySize = 0;
    Call->Flags = 0;

    if (Call->Kind == TRACE_KIND_ENTER_FUNCTION ||
        Call->Kind == TRACE_KIND_EXIT_FUNCTION) {

        //
        // The site is the function's first address, and the hook is called
        // from its body, or from that of a copy, of which nothing is known.
        //

        if (!ImageFindUnwindFrame(Unwind, Rva + 1, &Frame) ||
            Frame.FunctionRva != Rva ||
            ImageHasClone(Unwind, Rva)) {
            return;
        }

        Call->Function = Call->Site;
        Call->FrameSize = Frame.BodySizeInBytes;
        if (ImageMayJumpOut(Unwind, Rva)) {
            Call->Flags = CORE_CALL_JUMPS;
        }

    } else {

        if (!ImageFindUnwindFrame(Unwind, Rva, &Frame)) {
            return;
        }

        Call->Function = READER_SITE_MODULE(Call->Site) | Frame.FunctionRva;
        Call->FrameSize = Frame.SizeInBytes;
        Call->BodySize = Frame.BodySizeInBytes - Frame.SizeInBytes;
        if (Call->Kind == TRACE_KIND_ENTER &&
            Frame.SizeInBytes == 0 &&
            ImageSavesChain(Unwind, Frame.FunctionRva, Rva)) {
            Call->Flags = CORE_CALL_CHAIN;
        }

        if (Call->Kind == TRACE_KIND_EXIT &&
            ImageFindJumpTarget(Unwind, Rva, &Target)) {
            Call->JumpTarget = READER_SITE_MODULE(Call->Site) | Target;
        }
    }

    Call->Flags |= CORE_CALL_FRAME_KNOWN;
    if (Frame.IsDynamic) {
        Call->Flags |= CORE_CALL_DYNAMIC;
    }
}
