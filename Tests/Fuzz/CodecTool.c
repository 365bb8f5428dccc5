/*++

Module Name:

    CodecTool.c

Abstract:

    Encodes and decodes files with the codec (Codec/), natively, for scripts.

    usage: CodecTool encode|pack|decode FROM TO [RECORDS]

    The file of blocks has them one after the other.  RECORDS is how many go
    into a block, 65,536 by default.  It exits with 1 if a block is refused.

--*/

#include "../../Codec/Codec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(
    int Count,
    char **Arguments
    )
{
    PCODEC_ENCODER Encoder = malloc(CODEC_ENCODER_SIZE);
    PCODEC_PACKER Packer = malloc(CODEC_PACKER_SIZE);
    PCODEC_DECODER Decoder = malloc(CODEC_DECODER_SIZE);
    PUCHAR Raw = malloc(CODEC_BOUND(CODEC_MAXIMUM_BYTES));
    PUCHAR Block = malloc(CODEC_BOUND(CODEC_MAXIMUM_BYTES));
    SIZE_T SizeOfBlock = CODEC_MAXIMUM_BYTES;
    CODEC_BLOCK Header;
    FILE *From;
    FILE *To;
    SIZE_T Size;
    NTSTATUS Status;

    if (Count < 4 || Encoder == NULL || Packer == NULL || Decoder == NULL ||
        Raw == NULL || Block == NULL) {
        fprintf(stderr, "usage: CodecTool encode|pack|decode FROM TO\n");
        return 2;
    }

    if (Count > 4) {
        SizeOfBlock = strtoul(Arguments[4], NULL, 0) * 16;
    }

    From = fopen(Arguments[2], "rb");
    To = fopen(Arguments[3], "wb");
    if (From == NULL || To == NULL) {
        perror(Arguments[From == NULL ? 2 : 3]);
        return 2;
    }

    if (strcmp(Arguments[1], "decode") != 0) {

        while ((Size = fread(Raw, 1, SizeOfBlock, From)) != 0) {
            Size = strcmp(Arguments[1], "pack") == 0
                       ? CodecPack(Packer, Raw, (ULONG)Size, 4096, Block)
                       : CodecEncode(Encoder, Raw, (ULONG)Size, 4096, Block);
            fwrite(Block, 1, Size, To);
        }

        return fclose(To) != 0;
    }

    while ((Size = fread(Block, 1, CODEC_HEADER_SIZE, From)) != 0) {

        memcpy(&Header, Block, sizeof(Header));
        if (Header.EncodedBytes <= CODEC_MAXIMUM_BYTES) {
            Size += fread(Block + Size, 1, Header.EncodedBytes, From);
        }

        Status = CodecDecode(Decoder, Block, Size, Raw, CODEC_MAXIMUM_BYTES,
                             &Header);
        if (!NT_SUCCESS(Status)) {
            fprintf(stderr, "CodecTool: 0x%08X\n", (unsigned)Status);
            return 1;
        }

        fwrite(Raw, 1, Header.RawBytes, To);
    }

    return fclose(To) != 0;
}
