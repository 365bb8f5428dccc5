/*++

Module Name:

    BaseDecoder.h

Abstract:

    The memory that blocks are decoded with: more than a megabyte, which all
    who decode take in turn.

--*/

#ifndef TRACER_BASE_DECODER_H
#define TRACER_BASE_DECODER_H

#include "../../Codec/Codec.h"
#include "BaseContext.h"

//
// Takes a decoder: the context's, if nobody has it, or a new one.  NULL: there
// is no memory.
//

_Must_inspect_result_
PCODEC_DECODER
BaseAcquireDecoder(
    _In_ PCREADER_CONTEXT Context
    );

VOID
BaseReleaseDecoder(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCODEC_DECODER Decoder
    );

#endif // TRACER_BASE_DECODER_H
