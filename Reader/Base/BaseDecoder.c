/*++

Module Name:

    BaseDecoder.c

Abstract:

    The memory that blocks are decoded with.

--*/

#include "BaseDecoder.h"


_Use_decl_annotations_
PCODEC_DECODER
BaseAcquireDecoder(
    PCREADER_CONTEXT Context
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PVOID Decoder = NULL;

    if (Context->Decoder != NULL) {
        Decoder = InterlockedExchangePointer(Context->Decoder, NULL);
    }

    if (Decoder == NULL) {
        Decoder = Allocator->Allocate(Allocator->Context, CODEC_DECODER_SIZE);
    }

    return (PCODEC_DECODER)Decoder;
}


_Use_decl_annotations_
VOID
BaseReleaseDecoder(
    PCREADER_CONTEXT Context,
    PCODEC_DECODER Decoder
    )
{
    PCALLOCATOR Allocator = Context->Allocator;
    PVOID Other = Decoder;

    if (Context->Decoder != NULL) {
        Other = InterlockedExchangePointer(Context->Decoder, Decoder);
    }

    Allocator->Free(Allocator->Context, Other);
}
