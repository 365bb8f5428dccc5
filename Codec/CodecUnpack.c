/*++

Module Name:

    CodecUnpack.c

Abstract:

    Takes the prefix codes of a dense block apart.

    A code is complete, so that every bits mean a symbol: what a damaged block
    can do is to mean others.  Behind a stream's end are zeroes; one that has
    used more or fewer bytes than it has is damaged.

--*/

#include "CodecPrivate.h"

//
// How many symbols of each stream can be decoded from 56 bits.
//

#define CODEC_ROUNDS (56u / CODEC_CODE_BITS)

typedef struct _CODEC_STREAM {
    const UCHAR *Bytes;
    ULONG SizeInBytes;
    ULONG Offset;                   // of the next byte
    ULONGLONG Bits;
    ULONG NumberOfBits;
    ULONG Unused;
} CODEC_STREAM;
typedef CODEC_STREAM *PCODEC_STREAM;

typedef struct _CODEC_READER {
    const UCHAR *Next;
    const UCHAR *End;
} CODEC_READER;
typedef CODEC_READER *PCODEC_READER;


//
// Reads the lengths of a code and makes the table that decodes it.
// Returns FALSE: it is not complete, or it is cut off.
//

static
BOOLEAN
CodecReadCode(
    _Inout_ PCODEC_DECODER Decoder,
    _Inout_ PCODEC_READER Reader
    )
{
    ULONG Bit;
    ULONG Code = 0;
    ULONG Index;
    ULONG Length;
    ULONG Reversed;
    ULONG Run;
    ULONG Symbol;

    Length = 0;
    Run = 0;
    for (Symbol = 0; Symbol < CODEC_SYMBOLS; Symbol++, Run--) {

        if (Run == 0) {

            if (Reader->Next == Reader->End) {
                return FALSE;
            }

            Length = *Reader->Next & 0x0F;
            Run = (*Reader->Next >> 4) + 1u;
            Reader->Next += 1;
            if (Length > CODEC_CODE_BITS || Run > CODEC_SYMBOLS - Symbol) {
                return FALSE;
            }
        }

        Decoder->Lengths[Symbol] = (UCHAR)Length;
    }

    for (Length = 1; Length <= CODEC_CODE_BITS; Length++) {

        for (Symbol = 0; Symbol < CODEC_SYMBOLS; Symbol++) {

            if (Decoder->Lengths[Symbol] != Length) {
                continue;
            }

            if (Code >= 1u << Length) {
                return FALSE;
            }

            Reversed = 0;
            for (Bit = 0; Bit < Length; Bit++) {
                Reversed |= ((Code >> Bit) & 1) << (Length - 1 - Bit);
            }

            for (Index = Reversed; Index < CODEC_CODES; Index += 1u << Length) {
                Decoder->Codes[Index] = (USHORT)(Symbol | Length << 8);
            }

            Code += 1;
        }

        Code <<= 1;
    }

    return Code == 2 * CODEC_CODES;
}


//
// Fills a stream's bits up, with zeroes behind its end.
//

CODEC_INLINE
VOID
CodecFillBits(
    _Inout_ PCODEC_STREAM Stream
    )
{
    while (Stream->NumberOfBits < CODEC_CODE_BITS) {
        if (Stream->Offset < Stream->SizeInBytes) {
            Stream->Bits |= (ULONGLONG)Stream->Bytes[Stream->Offset]
                            << Stream->NumberOfBits;
        }

        Stream->Offset += 1;
        Stream->NumberOfBits += 8;
    }
}


//
// The same at once, where eight bytes are there.
//

CODEC_INLINE
VOID
CodecFillAllBits(
    _Inout_ PCODEC_STREAM Stream
    )
{
    Stream->Bits |= CodecLoad64(Stream->Bytes + Stream->Offset)
                    << Stream->NumberOfBits;
    Stream->Offset += (63 - Stream->NumberOfBits) >> 3;
    Stream->NumberOfBits |= 56;
}


CODEC_INLINE
ULONG
CodecTakeSymbol(
    _In_reads_(CODEC_CODES) const USHORT *Codes,
    _Inout_ PCODEC_STREAM Stream
    )
{
    ULONG Code = Codes[Stream->Bits & (CODEC_CODES - 1)];

    Stream->Bits >>= Code >> 8;
    Stream->NumberOfBits -= Code >> 8;
    return Code & 0xFF;
}


CODEC_INLINE
BOOLEAN
CodecHasEight(
    _In_ const CODEC_STREAM *Stream
    )
{
    return Stream->SizeInBytes >= 8 &&
           Stream->Offset <= Stream->SizeInBytes - 8;
}


//
// Decodes what four streams hold.
// Returns FALSE: one of them has another length.
//

static
BOOLEAN
CodecReadStreams(
    _In_reads_(CODEC_CODES) const USHORT *Codes,
    _Inout_updates_(CODEC_LANES) PCODEC_STREAM Streams,
    _Out_writes_bytes_(SizeInBytes) PUCHAR Bytes,
    _In_ ULONG SizeInBytes
    )
{
    CODEC_STREAM A = Streams[0];
    CODEC_STREAM B = Streams[1];
    CODEC_STREAM C = Streams[2];
    CODEC_STREAM D = Streams[3];
    ULONG Four;
    ULONG Index = 0;
    ULONG Round;
    PCODEC_STREAM Stream;

    while (SizeInBytes - Index >= CODEC_ROUNDS * CODEC_LANES &&
           CodecHasEight(&A) && CodecHasEight(&B) && CodecHasEight(&C) &&
           CodecHasEight(&D)) {

        CodecFillAllBits(&A);
        CodecFillAllBits(&B);
        CodecFillAllBits(&C);
        CodecFillAllBits(&D);
        for (Round = 0; Round < CODEC_ROUNDS; Round++) {
            Four = CodecTakeSymbol(Codes, &A);
            Four |= CodecTakeSymbol(Codes, &B) << 8;
            Four |= CodecTakeSymbol(Codes, &C) << 16;
            Four |= CodecTakeSymbol(Codes, &D) << 24;
            CodecStore32(Bytes + Index, Four);
            Index += CODEC_LANES;
        }
    }

    Streams[0] = A;
    Streams[1] = B;
    Streams[2] = C;
    Streams[3] = D;
    for (; Index < SizeInBytes; Index++) {
        Stream = &Streams[Index % CODEC_LANES];
        CodecFillBits(Stream);
        Bytes[Index] = (UCHAR)CodecTakeSymbol(Codes, Stream);
    }

    for (Index = 0; Index < CODEC_LANES; Index++) {
        Stream = &Streams[Index];
        if (Stream->Offset - Stream->NumberOfBits / 8 != Stream->SizeInBytes) {
            return FALSE;
        }
    }

    return TRUE;
}


//
// Reads a part.
// SizeInBytes: that it becomes.
// Returns FALSE: it is damaged.
//

static
BOOLEAN
CodecReadPart(
    _Inout_ PCODEC_DECODER Decoder,
    _Inout_ PCODEC_READER Reader,
    _Out_writes_bytes_(SizeInBytes) PUCHAR Bytes,
    _In_ ULONG SizeInBytes
    )
{
    CODEC_STREAM Streams[CODEC_LANES];
    const UCHAR *Sizes;
    ULONG Form;
    ULONG Index;

    if (Reader->Next == Reader->End) {
        return FALSE;
    }

    Form = *Reader->Next;
    Reader->Next += 1;
    if (Form == CODEC_PART_RAW) {

        if ((SIZE_T)(Reader->End - Reader->Next) < SizeInBytes) {
            return FALSE;
        }

        CodecCopy(Bytes, Reader->Next, SizeInBytes);
        Reader->Next += SizeInBytes;
        return TRUE;
    }

    if (Form != CODEC_PART_CODED || !CodecReadCode(Decoder, Reader) ||
        Reader->End - Reader->Next < (LONG_PTR)CODEC_STREAM_SIZES) {
        return FALSE;
    }

    Sizes = Reader->Next;
    Reader->Next += CODEC_STREAM_SIZES;
    for (Index = 0; Index < CODEC_LANES; Index++) {

        Streams[Index].Bytes = Reader->Next;
        Streams[Index].SizeInBytes = CodecLoad32(Sizes + 4 * Index);
        Streams[Index].Offset = 0;
        Streams[Index].Bits = 0;
        Streams[Index].NumberOfBits = 0;
        Streams[Index].Unused = 0;
        if (Streams[Index].SizeInBytes >
            (SIZE_T)(Reader->End - Reader->Next)) {
            return FALSE;
        }

        Reader->Next += Streams[Index].SizeInBytes;
    }

    return CodecReadStreams(Decoder->Codes, Streams, Bytes, SizeInBytes);
}


_Use_decl_annotations_
BOOLEAN
CodecUnpack(
    PCODEC_DECODER Decoder,
    const UCHAR *Encoded,
    PCCODEC_BLOCK Header,
    PULONG Left
    )
{
    ULONG NumberOfRecords = Header->RawBytes / (ULONG)sizeof(CODEC_RECORD);
    CODEC_READER Reader;

    Reader.Next = Encoded;
    Reader.End = Encoded + Header->EncodedBytes;
    if (!CodecReadPart(Decoder, &Reader, Decoder->Bytes, NumberOfRecords) ||
        !CodecReadPart(Decoder,
                       &Reader,
                       Decoder->Bytes + NumberOfRecords,
                       Header->OperandBytes)) {
        return FALSE;
    }

    *Left = (ULONG)(Reader.End - Reader.Next);
    return TRUE;
}
