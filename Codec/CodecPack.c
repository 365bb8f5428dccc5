/*++

Module Name:

    CodecPack.c

Abstract:

    Makes a block dense: its tokens, and its operands, in prefix codes.

    A code is a Huffman code whose lengths are cut to what a small table
    decodes at once.  Four streams take turns, a symbol each, so that four can
    be decoded at a time.

--*/

#include "CodecPrivate.h"

typedef struct _CODEC_WRITER {
    PUCHAR Next;
    PUCHAR End;                     // that may be written to
    ULONGLONG Bits;
    ULONG NumberOfBits;             // that are not written yet, fewer than 8
} CODEC_WRITER;                     // after CodecFlush
typedef CODEC_WRITER *PCODEC_WRITER;


//
// Sorts the symbols that occur, the rarest first.  No symbol has a length yet.
// Returns how many there are.
//

static
ULONG
CodecSortSymbols(
    _Inout_ PCODEC_PACKER Packer
    )
{
    ULONG Gap;
    ULONG Index;
    ULONG Number = 0;
    ULONG Place;
    USHORT Symbol;

    for (Index = 0; Index < CODEC_SYMBOLS; Index++) {
        Packer->Lengths[Index] = 0;
        if (Packer->Counts[Index] != 0) {
            Packer->Order[Number] = (USHORT)Index;
            Number += 1;
        }
    }

    //
    // Shell's way, for 256 numbers at most.  Equal counts are in the order of
    // their symbols, so that a block is the same on every machine.
    //

    for (Gap = 57; Gap != 0; Gap = (Gap - 1) / 3) {

        for (Index = Gap; Index < Number; Index++) {

            Symbol = Packer->Order[Index];
            for (Place = Index; Place >= Gap; Place -= Gap) {

                ULONG Other = Packer->Order[Place - Gap];

                if (Packer->Counts[Other] < Packer->Counts[Symbol] ||
                    (Packer->Counts[Other] == Packer->Counts[Symbol] &&
                     Other < Symbol)) {
                    break;
                }

                Packer->Order[Place] = (USHORT)Other;
            }

            Packer->Order[Place] = Symbol;
        }
    }

    return Number;
}


//
// Finds the lengths of a code.
//
// Huffman's way with two queues: the symbols by their counts, and the nodes,
// which come about in the order of theirs.
//

static
VOID
CodecFindLengths(
    _Inout_ PCODEC_PACKER Packer
    )
{
    ULONG Number = CodecSortSymbols(Packer);
    ULONG OfLength[CODEC_CODE_BITS + 1];
    ULONG Index;
    ULONG Leaf;
    ULONG Length;
    ULONG Node;
    ULONG Taken;
    ULONG Next;
    ULONG Used;
    ULONG Which;

    //
    // A code is complete, so that it has two symbols at least.
    //

    if (Number == 1) {
        Packer->Lengths[Packer->Order[0]] = 1;
        Packer->Lengths[Packer->Order[0] ^ 1] = 1;
        return;
    }

    for (Index = 0; Index < Number; Index++) {
        Packer->Weights[Index] = Packer->Counts[Packer->Order[Index]];
    }

    Leaf = 0;
    Next = Number;
    for (Node = Number; Node < 2 * Number - 1; Node++) {

        Packer->Weights[Node] = 0;
        for (Taken = 0; Taken < 2; Taken++) {

            if (Leaf < Number &&
                (Next == Node ||
                 Packer->Weights[Leaf] <= Packer->Weights[Next])) {
                Which = Leaf;
                Leaf += 1;
            } else {
                Which = Next;
                Next += 1;
            }

            Packer->Weights[Node] += Packer->Weights[Which];
            Packer->Parents[Which] = (USHORT)Node;
        }
    }

    //
    // From the root down, the weights become depths.
    //

    for (Index = 0; Index <= CODEC_CODE_BITS; Index++) {
        OfLength[Index] = 0;
    }

    Used = 0;
    Packer->Weights[2 * Number - 2] = 0;
    for (Index = 2 * Number - 2; Index-- != 0;) {

        Length = Packer->Weights[Packer->Parents[Index]] + 1;
        Packer->Weights[Index] = Length;
        if (Index < Number) {

            if (Length > CODEC_CODE_BITS) {
                Length = CODEC_CODE_BITS;
            }

            OfLength[Length] += 1;
            Used += CODEC_CODES >> Length;
        }
    }

    //
    // Cut lengths use more codes than there are.  The longest of the others
    // become longer until they do not, and where that was too much, those of
    // the greatest length become shorter by one.
    //

    while (Used > CODEC_CODES) {

        Length = CODEC_CODE_BITS - 1;
        while (OfLength[Length] == 0) {
            Length -= 1;
        }

        OfLength[Length] -= 1;
        OfLength[Length + 1] += 1;
        Used -= CODEC_CODES >> (Length + 1);
    }

    while (Used < CODEC_CODES) {
        OfLength[CODEC_CODE_BITS] -= 1;
        OfLength[CODEC_CODE_BITS - 1] += 1;
        Used += 1;
    }

    Index = 0;
    for (Length = CODEC_CODE_BITS; Length != 0; Length--) {
        for (; OfLength[Length] != 0; OfLength[Length]--) {
            Packer->Lengths[Packer->Order[Index]] = (UCHAR)Length;
            Index += 1;
        }
    }
}


//
// Makes the codes from the lengths: shorter ones first, and those of a length
// in the order of their symbols.  A code's first bit becomes its lowest.
//

static
VOID
CodecMakeCodes(
    _Inout_ PCODEC_PACKER Packer
    )
{
    ULONG Bit;
    ULONG Code = 0;
    ULONG Length;
    ULONG Reversed;
    ULONG Symbol;

    for (Length = 1; Length <= CODEC_CODE_BITS; Length++) {

        for (Symbol = 0; Symbol < CODEC_SYMBOLS; Symbol++) {

            if (Packer->Lengths[Symbol] != Length) {
                continue;
            }

            Reversed = 0;
            for (Bit = 0; Bit < Length; Bit++) {
                Reversed |= ((Code >> Bit) & 1) << (Length - 1 - Bit);
            }

            Packer->Codes[Symbol] = (USHORT)Reversed;
            Code += 1;
        }

        Code <<= 1;
    }
}


//
// Describes the lengths: a byte for up to 16 neighbours with the same one.
// Returns how many bytes.
//

static
ULONG
CodecDescribeLengths(
    _Inout_ PCODEC_PACKER Packer
    )
{
    ULONG Number = 0;
    ULONG Run;
    ULONG Symbol;

    for (Symbol = 0; Symbol < CODEC_SYMBOLS; Symbol += Run) {

        Run = 1;
        while (Run < 16 && Symbol + Run < CODEC_SYMBOLS &&
               Packer->Lengths[Symbol + Run] == Packer->Lengths[Symbol]) {
            Run += 1;
        }

        Packer->Described[Number] =
            (UCHAR)(Packer->Lengths[Symbol] | (Run - 1) << 4);
        Number += 1;
    }

    return Number;
}


//
// Writes the whole bytes of the bits that are waiting.
//

CODEC_INLINE
VOID
CodecFlush(
    _Inout_ PCODEC_WRITER Writer
    )
{
    if (Writer->End - Writer->Next >= 8) {

        CodecStore64(Writer->Next, Writer->Bits);
        Writer->Next += Writer->NumberOfBits >> 3;
        Writer->Bits >>= Writer->NumberOfBits & 0x38;
        Writer->NumberOfBits &= 7;

    } else {

        for (; Writer->NumberOfBits >= 8; Writer->NumberOfBits -= 8) {
            *Writer->Next = (UCHAR)Writer->Bits;
            Writer->Next += 1;
            Writer->Bits >>= 8;
        }
    }
}


//
// Writes every fourth symbol of some bytes.
//

static
VOID
CodecWriteStream(
    _In_ const CODEC_PACKER *Packer,
    _Inout_ PCODEC_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _In_ ULONG First
    )
{
    ULONG Index = First;
    ULONG Round;
    ULONG Symbol;

    Writer->Bits = 0;
    Writer->NumberOfBits = 0;
    while (Index < SizeInBytes) {

        //
        // 7 bits that wait, and four codes, are fewer than 64.
        //

        for (Round = 0; Round < 4 && Index < SizeInBytes; Round++) {
            Symbol = Bytes[Index];
            Writer->Bits |= (ULONGLONG)Packer->Codes[Symbol]
                            << Writer->NumberOfBits;
            Writer->NumberOfBits += Packer->Lengths[Symbol];
            Index += CODEC_LANES;
        }

        CodecFlush(Writer);
    }

    if (Writer->NumberOfBits != 0) {
        *Writer->Next = (UCHAR)Writer->Bits;
        Writer->Next += 1;
    }
}


//
// Writes a part, in a code if that makes it smaller.
// Writer: with room for one byte more than there are.
//

static
VOID
CodecWritePart(
    _Inout_ PCODEC_PACKER Packer,
    _Inout_ PCODEC_WRITER Writer,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes
    )
{
    ULONGLONG NumberOfBits = 0;
    PUCHAR Sizes;
    PUCHAR Start;
    ULONG Described;
    ULONG Index;

    CodecZero(Packer->Counts, sizeof(Packer->Counts));

    for (Index = 0; Index < SizeInBytes; Index++) {
        Packer->Counts[Bytes[Index]] += 1;
    }

    if (SizeInBytes > CODEC_STREAM_SIZES) {

        CodecFindLengths(Packer);
        Described = CodecDescribeLengths(Packer);
        for (Index = 0; Index < CODEC_SYMBOLS; Index++) {
            NumberOfBits +=
                (ULONGLONG)Packer->Counts[Index] * Packer->Lengths[Index];
        }

        if (NumberOfBits / 8 + CODEC_LANES + Described + CODEC_STREAM_SIZES <
            SizeInBytes) {

            CodecMakeCodes(Packer);
            *Writer->Next = CODEC_PART_CODED;
            CodecCopy(Writer->Next + 1, Packer->Described, Described);
            Sizes = Writer->Next + 1 + Described;
            Writer->Next = Sizes + CODEC_STREAM_SIZES;
            for (Index = 0; Index < CODEC_LANES; Index++) {
                Start = Writer->Next;
                CodecWriteStream(Packer, Writer, Bytes, SizeInBytes, Index);
                CodecStore32(Sizes + 4 * Index,
                             (ULONG)(Writer->Next - Start));
            }

            return;
        }
    }

    *Writer->Next = CODEC_PART_RAW;
    CodecCopy(Writer->Next + 1, Bytes, SizeInBytes);
    Writer->Next += 1 + SizeInBytes;
}


_Use_decl_annotations_
ULONG
CodecPack(
    PCODEC_PACKER Packer,
    const VOID *Raw,
    ULONG SizeInBytes,
    ULONGLONG Position,
    PVOID Block
    )
{
    PCODEC_BLOCK Header = (PCODEC_BLOCK)Packer->Block;
    PUCHAR Target = (PUCHAR)Block;
    const UCHAR *Tokens = (PUCHAR)Packer->Block + CODEC_HEADER_SIZE;
    ULONG NumberOfRecords = SizeInBytes / (ULONG)sizeof(CODEC_RECORD);
    ULONG Tail = SizeInBytes % (ULONG)sizeof(CODEC_RECORD);
    ULONG EncodedBytes;
    CODEC_WRITER Writer;

    if (CodecEncode(&Packer->Encoder, Raw, SizeInBytes, Position, Header) ==
        0) {
        return 0;
    }

    //
    // A part may take one byte more than it has.
    //

    if (Header->Method == CODEC_METHOD_TOKENS &&
        Header->EncodedBytes + 2 <= SizeInBytes) {

        Writer.Next = Target + CODEC_HEADER_SIZE;
        Writer.End = Writer.Next + SizeInBytes;
        CodecWritePart(Packer, &Writer, Tokens, NumberOfRecords);
        CodecWritePart(Packer,
                       &Writer,
                       Tokens + NumberOfRecords,
                       Header->OperandBytes);
        CodecCopy(Writer.Next,
                  (const UCHAR *)Raw + SizeInBytes - Tail,
                  Tail);
        Writer.Next += Tail;
        EncodedBytes = (ULONG)(Writer.Next - Target) - CODEC_HEADER_SIZE;
        if (EncodedBytes < Header->EncodedBytes) {
            Header->Method = CODEC_METHOD_DENSE;
            Header->EncodedBytes = EncodedBytes;
            Header->Sum = CodecSumBlock(Header, Target + CODEC_HEADER_SIZE);
            CodecCopy(Target, Header, CODEC_HEADER_SIZE);
            return CODEC_HEADER_SIZE + EncodedBytes;
        }
    }

    CodecCopy(Target, Header, CODEC_HEADER_SIZE + Header->EncodedBytes);
    return CODEC_HEADER_SIZE + Header->EncodedBytes;
}
