/*++

Module Name:

    ImageUnwind.h

Abstract:

    What the code of a PE32+ x64 image says of the places that hooks are called
    from: what a place jumps to next, which functions were inlined or copied.

    The bytes may be anything; nothing in them is believed before it is
    checked.  The code is pure C over bytes and also builds natively.

--*/

#ifndef TRACER_IMAGE_UNWIND_H
#define TRACER_IMAGE_UNWIND_H

#include "ImageUnwindData.h"

//
// Says whether a hook is called as gcc does where a function has a static
// chain (nested functions of C, Ada and Fortran). Whether the call in front of
// Rva has the function's static chain saved around it (push r10, call, pop
// r10), which the unwind data does not say.
//

BOOLEAN
ImageSavesChain(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG FunctionRva,
    _In_ ULONG Rva
    );

//
// Finds where the jump at a place goes. If the instruction at Rva is a direct
// jump out of its function: where to.
// Unwind: the image.
//

_Success_(return != FALSE)
BOOLEAN
ImageFindJumpTarget(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _Out_ PULONG Target
    );

//
// Decides whether the function that begins at Rva may jump to an exit hook,
// directly or through the import table. FALSE only if it certainly does not.
// Unwind: the image.
// Rva: the function's first address.
//

BOOLEAN
ImageMayJumpOut(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );

//
// May a function that is instrumented with -finstrument-functions (its first
// address) also run as a copy, which the optimizer made for some of its
// callers?  Such a copy calls the hooks with the function's address, but has
// another stack frame.  The image is searched when this is asked first;
// without memory for that the answer is TRUE.
//
// Returns FALSE only if it certainly does not.
//

BOOLEAN
ImageHasClone(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ ULONG Rva
    );

//
// What ImageCountInlined says if the image does not tell.
//

#define READER_INLINED_UNKNOWN 0xFFFFFFFFu

//
// Counts how often a function may have been inlined into another one.
//
// A function that is instrumented with -finstrument-functions begins by
// handing its own address to the hook: the first call that does is one of the
// entry hook. Any other call of that hook is for a function that was inlined,
// whose address it hands on.
//
// Unwind: the image.
// Outer: the function around, its first address.
// Inner: the function inside, likewise.
// Returns at least as many times as it was; READER_INLINED_UNKNOWN if the code
// does not say.
//

ULONG
ImageCountInlined(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Outer,
    _In_ ULONG Inner
    );

#endif // TRACER_IMAGE_UNWIND_H
