/*++

Module Name:

    ReaderStack.h

Abstract:

    What stack and stack --static share.

--*/

#ifndef TRACER_READER_STACK_H
#define TRACER_READER_STACK_H

#include "Reader.h"

//
// CommandStackStatic.c: stack --static.  Returns READER_EXIT_*.
//

typedef
ULONG
(READER_SHOW_STATIC_STACK)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );
READER_SHOW_STATIC_STACK ReaderShowStaticStack;

#endif // TRACER_READER_STACK_H
