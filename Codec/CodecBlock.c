/*++

Module Name:

    CodecBlock.c

Abstract:

    The header of a block, and its sum.

--*/

#include "CodecPrivate.h"

#define CODEC_SUM_MULTIPLIER 0x9FB21C651E98DF25ULL
#define CODEC_SUM_ROTATION 23

//
// The sum's lanes begin with these.
//

#define CODEC_SUM_START 0x2545F4914F6CDD1DULL


_Use_decl_annotations_
VOID
CodecBeginModel(
    PCODEC_MODEL Model
    )
{
    CodecZero(Model->Slots, sizeof(Model->Slots));
    CodecZero(Model->Pairs, sizeof(Model->Pairs));
    Model->NumberOfSites = 0;
}


_Use_decl_annotations_
VOID
CodecZero(
    PVOID Words,
    ULONG SizeInBytes
    )
{
    PULONGLONG Word = (PULONGLONG)Words;

    for (; SizeInBytes != 0; SizeInBytes -= CODEC_ZERO_SIZE) {

        Word[0] = 0;
        Word[1] = 0;
        Word[2] = 0;
        Word[3] = 0;
        Word[4] = 0;
        Word[5] = 0;
        Word[6] = 0;
        Word[7] = 0;
        Word += CODEC_ZERO_SIZE / sizeof(*Word);

        //
        // Or the compiler makes a call of memset of the loop, which a program
        // would get from the library.
        //

        RtlCompilerBarrier();
    }
}


_Use_decl_annotations_
VOID
CodecCopy(
    PVOID Destination,
    const VOID *Source,
    ULONG SizeInBytes
    )
{
    PUCHAR To = (PUCHAR)Destination;
    const UCHAR *From = (const UCHAR *)Source;

    for (; SizeInBytes >= 16; SizeInBytes -= 16, To += 16, From += 16) {
        CodecStore64(To, CodecLoad64(From));
        CodecStore64(To + 8, CodecLoad64(From + 8));
    }

    for (; SizeInBytes != 0; SizeInBytes--, To++, From++) {
        *To = *From;
    }
}


//
// Adds a word to a lane of the sum: for each word a bijection, so that no
// change of a single word goes unseen.
//

CODEC_INLINE
ULONGLONG
CodecAddToSum(
    _In_ ULONGLONG Sum,
    _In_ ULONGLONG Word
    )
{
    Sum ^= Word;
    Sum = (Sum << CODEC_SUM_ROTATION) | (Sum >> (64 - CODEC_SUM_ROTATION));
    return Sum * CODEC_SUM_MULTIPLIER;
}


_Use_decl_annotations_
ULONGLONG
CodecSumBlock(
    PCCODEC_BLOCK Header,
    const VOID *Encoded
    )
{
    const UCHAR *Byte = (const UCHAR *)Header;
    ULONG Left = CODEC_HEADER_SIZE - (ULONG)sizeof(Header->Sum);
    ULONGLONG First = CODEC_SUM_START;
    ULONGLONG Second = CODEC_SUM_START + 1;
    ULONGLONG Third = CODEC_SUM_START + 2;
    ULONGLONG Fourth = CODEC_SUM_START + 3;
    ULONGLONG Sum = CODEC_SUM_START + 4;

    for (; Left != 0; Left -= 8, Byte += 8) {
        Sum = CodecAddToSum(Sum, CodecLoad64(Byte));
    }

    Byte = (const UCHAR *)Encoded;
    Left = Header->EncodedBytes;
    for (; Left >= 32; Left -= 32, Byte += 32) {
        First = CodecAddToSum(First, CodecLoad64(Byte));
        Second = CodecAddToSum(Second, CodecLoad64(Byte + 8));
        Third = CodecAddToSum(Third, CodecLoad64(Byte + 16));
        Fourth = CodecAddToSum(Fourth, CodecLoad64(Byte + 24));
    }

    Sum = CodecAddToSum(Sum, First);
    Sum = CodecAddToSum(Sum, Second);
    Sum = CodecAddToSum(Sum, Third);
    Sum = CodecAddToSum(Sum, Fourth);
    for (; Left >= 8; Left -= 8, Byte += 8) {
        Sum = CodecAddToSum(Sum, CodecLoad64(Byte));
    }

    for (; Left != 0; Left--, Byte++) {
        Sum = CodecAddToSum(Sum, *Byte);
    }

    return Sum ^ (Sum >> 32);
}


_Use_decl_annotations_
NTSTATUS
CodecReadHeader(
    const VOID *Bytes,
    SIZE_T SizeInBytes,
    PCODEC_BLOCK Header
    )
{
    ULONG NumberOfRecords;
    ULONG Tail;

    if (SizeInBytes < CODEC_HEADER_SIZE) {
        return STATUS_END_OF_FILE;
    }

    CodecCopy(Header, Bytes, CODEC_HEADER_SIZE);
    if (Header->Magic != CODEC_MAGIC) {
        return STATUS_FILE_INVALID;
    }

    if (Header->Version != CODEC_VERSION ||
        Header->Method > CODEC_METHOD_DENSE) {
        return STATUS_REVISION_MISMATCH;
    }

    if (Header->RawBytes > CODEC_MAXIMUM_BYTES ||
        Header->EncodedBytes > Header->RawBytes ||
        Header->Unused != 0 ||
        Header->Unused2 != 0) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    NumberOfRecords = Header->RawBytes / sizeof(CODEC_RECORD);
    Tail = Header->RawBytes % sizeof(CODEC_RECORD);
    if (Header->Method == CODEC_METHOD_STORED) {

        if (Header->EncodedBytes != Header->RawBytes ||
            Header->OperandBytes != 0) {
            return STATUS_FILE_CORRUPT_ERROR;
        }

    } else if (Header->OperandBytes >
                   Header->RawBytes - NumberOfRecords - Tail ||
               (Header->Method == CODEC_METHOD_TOKENS &&
                Header->EncodedBytes !=
                    NumberOfRecords + Header->OperandBytes + Tail)) {

        return STATUS_FILE_CORRUPT_ERROR;
    }

    if (SizeInBytes - CODEC_HEADER_SIZE < Header->EncodedBytes) {
        return STATUS_END_OF_FILE;
    }

    return STATUS_SUCCESS;
}
