/*++

Module Name:

    FuzzCodecDecode.c

Abstract:

    Fuzz target: any bytes as a block of the codec (Codec/).

    The input: one byte, and the block.  If the byte is odd, the magic, the
    version and the sum are made right, and EncodedBytes is what follows the
    header, so that the contents are reached.  What is decoded must then come
    back when it is encoded and decoded again.

--*/

#include "FuzzSupport.h"
#include "../../Codec/Codec.h"
#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    static PCODEC_DECODER Decoder;
    static PCODEC_PACKER Packer;
    FUZZ_INPUT Input = { Data, Size };
    ULONG Flags = (ULONG)FuzzTake(&Input, 1);
    SIZE_T SizeOfBlock = Input.Left;
    CODEC_BLOCK Header;
    PCODEC_BLOCK Changed;
    PUCHAR Again;
    PUCHAR Block = malloc(SizeOfBlock + (SizeOfBlock == 0));
    PUCHAR Encoded;
    PUCHAR Raw;
    ULONG Capacity = 0;
    NTSTATUS Status;

    if (Decoder == NULL) {
        Decoder = malloc(CODEC_DECODER_SIZE);
        Packer = malloc(CODEC_PACKER_SIZE);
    }

    if (Decoder == NULL || Packer == NULL || Block == NULL) {
        abort();
    }

    //
    // Otherwise the memory is as the input before left it.
    //

    if ((Flags & 0xF0) == 0xF0) {
        memset(Decoder, (int)Flags, CODEC_DECODER_SIZE);
    }

    memcpy(Block, Input.Bytes, SizeOfBlock);
    Changed = (PCODEC_BLOCK)Block;
    if ((Flags & 1) != 0 && SizeOfBlock >= CODEC_HEADER_SIZE) {
        Changed->Magic = CODEC_MAGIC;
        Changed->Version = CODEC_VERSION;
        Changed->Unused = 0;
        Changed->Unused2 = 0;
        Changed->EncodedBytes = (ULONG)(SizeOfBlock - CODEC_HEADER_SIZE);
        if (Changed->Method == CODEC_METHOD_TOKENS) {
            Changed->OperandBytes = Changed->EncodedBytes -
                                    Changed->RawBytes / 16 -
                                    Changed->RawBytes % 16;
        }

        Changed->Sum = CodecSumBlock(Changed, Block + CODEC_HEADER_SIZE);
    }

    Status = CodecReadHeader(Block, SizeOfBlock, &Header);
    if (NT_SUCCESS(Status)) {
        FUZZ_CHECK(Header.RawBytes <= CODEC_MAXIMUM_BYTES);
        FUZZ_CHECK(Header.EncodedBytes <= SizeOfBlock - CODEC_HEADER_SIZE);
        Capacity = Header.RawBytes;
    }

    Raw = malloc((SIZE_T)Capacity + (Capacity == 0));
    if (Raw == NULL) {
        abort();
    }

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(SizeOfBlock + Capacity));
    if (Capacity != 0) {
        FUZZ_CHECK(CodecDecode(Decoder, Block, SizeOfBlock, Raw, Capacity - 1,
                               &Header) == STATUS_BUFFER_TOO_SMALL);
    }

    Status = CodecDecode(Decoder, Block, SizeOfBlock, Raw, Capacity, &Header);
    if (NT_SUCCESS(Status)) {

        FUZZ_CHECK(Header.RawBytes == Capacity);
        Again = malloc((SIZE_T)Capacity + (Capacity == 0));
        Encoded = malloc(CODEC_BOUND(Capacity));
        if (Again == NULL || Encoded == NULL) {
            abort();
        }

        SizeOfBlock = CodecPack(Packer, Raw, Capacity, 0, Encoded);
        FUZZ_CHECK(NT_SUCCESS(CodecDecode(Decoder, Encoded, SizeOfBlock,
                                          Again, Capacity, &Header)));
        FUZZ_CHECK(memcmp(Raw, Again, Capacity) == 0);
        free(Encoded);
        free(Again);
    }

    (VOID)FuzzEndWork();
    free(Raw);
    free(Block);
    return 0;
}
