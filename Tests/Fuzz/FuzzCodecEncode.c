/*++

Module Name:

    FuzzCodecEncode.c

Abstract:

    Fuzz target: bytes are encoded at both levels (Codec/), and what is decoded
    must be the same bytes, of a block no larger than is promised.

    The input: one byte for the memory that the encoder finds (what was there
    before, or, with its low four bits set, this byte); then what the bytes are
    made of, each a byte whose lowest three bits say what follows,
    see FuzzExpand.

--*/

#include "FuzzSupport.h"
#include "../../Codec/Codec.h"
#include <stdlib.h>
#include <string.h>

typedef struct _FUZZ_BYTES {
    PUCHAR Bytes;
    ULONG SizeInBytes;
} FUZZ_BYTES;
typedef FUZZ_BYTES *PFUZZ_BYTES;

//
// Appends a record, or as much of it as there is room for.
//

static
VOID
FuzzAppendRecord(
    PFUZZ_BYTES Target,
    ULONGLONG Timestamp,
    ULONG Site,
    ULONG StackKind
    )
{
    TRACE_RECORD Record = { Timestamp, Site, StackKind };
    ULONG Size = sizeof(Record);

    if (Size > CODEC_MAXIMUM_BYTES - Target->SizeInBytes) {
        Size = CODEC_MAXIMUM_BYTES - Target->SizeInBytes;
    }

    memcpy(Target->Bytes + Target->SizeInBytes, &Record, Size);
    Target->SizeInBytes += Size;
}

//
// Makes the bytes: calls of a few sites, earlier records again and later, any
// records, any bytes, one byte many times, noise.
//

static
VOID
FuzzExpand(
    FUZZ_INPUT *Input,
    PFUZZ_BYTES Target
    )
{
    ULONGLONG Time = 1000;
    ULONG Rsp = 0x10000;
    ULONG State = 1;
    TRACE_RECORD Record;
    ULONG Distance;
    ULONG Kind;
    ULONG Length;
    ULONG Site;

    while (Input->Left != 0 && Target->SizeInBytes < CODEC_MAXIMUM_BYTES) {

        Kind = (ULONG)FuzzTake(Input, 1);
        switch (Kind & 7) {

        case 0:
        case 1:
            Site = (ULONG)FuzzTake(Input, 1);
            Time += FuzzTake(Input, 1);
            Rsp += (Kind & 8) != 0 ? 0x40 : 0u - 0x40;
            FuzzAppendRecord(Target, Time, 0x401000 + Site * 16,
                             Rsp | ((Kind & 8) != 0 ? 2 : 1));
            break;

        case 2:
        case 3:
            Distance = (ULONG)FuzzTake(Input, 2) * sizeof(Record);
            Length = (ULONG)FuzzTake(Input, 2) % 1000;
            for (; Length != 0 && Distance + sizeof(Record) <=
                                      Target->SizeInBytes; Length--) {
                memcpy(&Record,
                       Target->Bytes + Target->SizeInBytes -
                           sizeof(Record) - Distance,
                       sizeof(Record));
                State = State * 1664525u + Kind;
                FuzzAppendRecord(Target,
                                 Record.Timestamp + (Kind >> 3) +
                                     ((Kind & 1) != 0 ? State >> 29 : 0),
                                 Record.Site,
                                 Record.StackKind);
            }
            break;

        case 4:
            Time = FuzzTake(Input, 8);
            Site = (ULONG)FuzzTake(Input, 4);
            FuzzAppendRecord(Target, Time, Site, (ULONG)FuzzTake(Input, 4));
            break;

        case 5:
            for (Length = (Kind >> 3) + 1;
                 Length != 0 && Target->SizeInBytes < CODEC_MAXIMUM_BYTES;
                 Length--) {
                Target->Bytes[Target->SizeInBytes] =
                    (UCHAR)FuzzTake(Input, 1);
                Target->SizeInBytes += 1;
            }
            break;

        case 6:
            Length = (ULONG)FuzzTake(Input, 2) % 10000;
            if (Length > CODEC_MAXIMUM_BYTES - Target->SizeInBytes) {
                Length = CODEC_MAXIMUM_BYTES - Target->SizeInBytes;
            }

            memset(Target->Bytes + Target->SizeInBytes,
                   (int)FuzzTake(Input, 1),
                   Length);
            Target->SizeInBytes += Length;
            break;

        default:
            Length = (ULONG)FuzzTake(Input, 2) % 2000;
            State ^= (ULONG)FuzzTake(Input, 1);
            for (; Length != 0; Length--) {
                State = State * 1664525u + 1013904223u;
                Time += (State >> 28) << (Kind >> 5);
                FuzzAppendRecord(Target,
                                 Time,
                                 State >> (Kind & 0x18),
                                 (State >> 9 & 7) | 0x1000);
            }
            break;
        }
    }
}

int
LLVMFuzzerTestOneInput(
    const UCHAR *Data,
    SIZE_T Size
    )
{
    FUZZ_BYTES Bytes = { malloc(CODEC_MAXIMUM_BYTES + 16), 0 };
    static PCODEC_ENCODER Encoder;
    static PCODEC_PACKER Packer;
    static PCODEC_DECODER Decoder;
    FUZZ_INPUT Input = { Data, Size };
    CODEC_BLOCK Header;
    PUCHAR Block;
    PUCHAR Raw;
    ULONG First = 0;
    ULONG Level;
    ULONG SizeOfBlock;
    UCHAR Fill;

    if (Encoder == NULL) {
        Encoder = malloc(CODEC_ENCODER_SIZE);
        Packer = malloc(CODEC_PACKER_SIZE);
        Decoder = malloc(CODEC_DECODER_SIZE);
    }

    if (Bytes.Bytes == NULL || Encoder == NULL || Packer == NULL ||
        Decoder == NULL) {
        abort();
    }

    //
    // Filling all of it takes longer than most inputs do: otherwise it is as
    // the input before left it.
    //

    Fill = (UCHAR)FuzzTake(&Input, 1);
    if ((Fill & 15) == 15) {
        memset(Encoder, Fill, CODEC_ENCODER_SIZE);
        memset(Packer, Fill, CODEC_PACKER_SIZE);
        memset(Decoder, Fill, CODEC_DECODER_SIZE);
    }

    FuzzExpand(&Input, &Bytes);

    //
    // Exactly as large as they must be.
    //

    Block = malloc(CODEC_BOUND(Bytes.SizeInBytes));
    Raw = malloc((SIZE_T)Bytes.SizeInBytes + (Bytes.SizeInBytes == 0));
    if (Block == NULL || Raw == NULL) {
        abort();
    }

    FuzzBeginWork(FUZZ_WORK_OF_INPUT(Bytes.SizeInBytes));
    for (Level = 1; Level <= 2; Level++) {

        SizeOfBlock = Level == 1
                          ? CodecEncode(Encoder, Bytes.Bytes,
                                        Bytes.SizeInBytes, Size, Block)
                          : CodecPack(Packer, Bytes.Bytes, Bytes.SizeInBytes,
                                      Size, Block);
        FUZZ_CHECK(SizeOfBlock >= CODEC_HEADER_SIZE);
        FUZZ_CHECK(SizeOfBlock <= CODEC_BOUND(Bytes.SizeInBytes));
        FUZZ_CHECK(Level == 1 || SizeOfBlock <= First);
        First = SizeOfBlock;
        memset(Raw, ~Fill, Bytes.SizeInBytes);
        FUZZ_CHECK(NT_SUCCESS(CodecDecode(Decoder, Block, SizeOfBlock, Raw,
                                          Bytes.SizeInBytes, &Header)));
        FUZZ_CHECK(Header.RawBytes == Bytes.SizeInBytes);
        FUZZ_CHECK(Header.Position == Size);
        FUZZ_CHECK(memcmp(Raw, Bytes.Bytes, Bytes.SizeInBytes) == 0);
        FUZZ_CHECK(CodecDecode(Decoder, Block, SizeOfBlock - 1, Raw,
                               Bytes.SizeInBytes, &Header) ==
                   STATUS_END_OF_FILE);
    }

    (VOID)FuzzEndWork();
    free(Raw);
    free(Block);
    free(Bytes.Bytes);
    return 0;
}
