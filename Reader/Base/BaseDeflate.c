/*++

Module Name:

    BaseDeflate.c

Abstract:

    Compresses a stream into the format of RFC 1951.  Each 256 KiB become a
    block: matches with the 32 KiB before are found by a hash of four bytes,
    then the block is written with Huffman codes of its own, with the fixed
    ones, or as it is, whichever is shortest.

--*/

#include "BaseDeflate.h"

//
// The window: what matches may refer to, and the block.  The block is a
// multiple of the history, so that a position keeps its place among the
// predecessors when the window slides.
//

#define DEFLATE_HISTORY 0x8000u
#define DEFLATE_BLOCK 0x40000u
#define DEFLATE_WINDOW (DEFLATE_HISTORY + DEFLATE_BLOCK)
#define DEFLATE_PADDING 16u             // loads may pass the end

C_ASSERT(DEFLATE_BLOCK % DEFLATE_HISTORY == 0);

#define DEFLATE_HASH_BITS 15
#define DEFLATE_HASH_SIZE (1u << DEFLATE_HASH_BITS)

//
// How hard it tries.  Of a chrome export (text), a chain of 12 gives 2 % more
// bytes than one of 64 does, in half the time.
//

#define DEFLATE_CHAIN 12u               // candidates for each match
#define DEFLATE_NICE 96u                // a match that long is good enough
#define DEFLATE_LAZY 24u                // after one that long the next byte is
                                        // not tried

#define DEFLATE_LEAST_MATCH 4u          // the format has 3; the hash needs 4
#define DEFLATE_LONGEST_MATCH 258u

#define DEFLATE_LITERALS 286u           // literals, end of block, lengths
#define DEFLATE_FIXED_LITERALS 288u     // with two that are never used
#define DEFLATE_END_OF_BLOCK 256u
#define DEFLATE_DISTANCES 30u
#define DEFLATE_LENGTHS 19u             // codes of code lengths
#define DEFLATE_CODE_LIMIT 15u          // bits of a code
#define DEFLATE_LENGTHS_LIMIT 7u
#define DEFLATE_STORED_LIMIT 0xFFFFu    // bytes of a stored block

#define DEFLATE_STORED 0u               // kinds of blocks
#define DEFLATE_FIXED 1u
#define DEFLATE_DYNAMIC 2u

//
// A token is a literal, or a match with this flag, its length less three, and
// its distance less one.
//

#define DEFLATE_MATCH 0x80000000u

//
// Bytes at any address.
//

#pragma pack(push, 1)
typedef union _DEFLATE_WORD {
    ULONG AsULong;
    ULONGLONG AsULongLong;
} DEFLATE_WORD;
typedef DEFLATE_WORD *PDEFLATE_WORD;
#pragma pack(pop)

typedef struct _DEFLATE_CODE {
    USHORT Bits;                        // the first bit of the code is bit 0
    USHORT Length;                      // 0: the symbol does not occur
} DEFLATE_CODE;
typedef DEFLATE_CODE *PDEFLATE_CODE;
typedef const DEFLATE_CODE *PCDEFLATE_CODE;

//
// What code lengths are found with.  Leaves come first, then inner nodes.
//

typedef struct _DEFLATE_NODES {
    USHORT Symbols[DEFLATE_LITERALS];
    ULONG Weights[2 * DEFLATE_LITERALS];
    USHORT Parents[2 * DEFLATE_LITERALS];
    UCHAR Depths[2 * DEFLATE_LITERALS];
} DEFLATE_NODES;
typedef DEFLATE_NODES *PDEFLATE_NODES;

struct _READER_DEFLATE {
    PCALLOCATOR Allocator;
    PREADER_DEFLATE_SINK Sink;
    PVOID Target;
    NTSTATUS Status;
    ULONGLONG Bits;                     // that are no whole byte yet
    ULONG NumberOfBits;
    ULONG OutputLength;                 // bytes
    ULONG Start;                        // of the block, in the window
    ULONG End;                          // of the bytes in the window
    ULONG NumberOfTokens;
    ULONG LiteralCounts[DEFLATE_LITERALS];
    ULONG DistanceCounts[DEFLATE_DISTANCES];
    DEFLATE_CODE Literals[DEFLATE_LITERALS];
    DEFLATE_CODE Distances[DEFLATE_DISTANCES];
    DEFLATE_CODE FixedLiterals[DEFLATE_FIXED_LITERALS];
    DEFLATE_CODE FixedDistances[DEFLATE_DISTANCES];
    DEFLATE_NODES Nodes;
    UCHAR LengthSymbols[256];           // of a length less three: less 257
    UCHAR DistanceSymbols[512];         // of a distance less one; from 256 on
                                        // of its 128ths

    //
    // Positions in the window, plus one; 0: none.
    //

    ULONG Heads[DEFLATE_HASH_SIZE];     // the latest of each hash
    ULONG Predecessors[DEFLATE_HISTORY];

    ULONG Tokens[DEFLATE_BLOCK];
    UCHAR Window[DEFLATE_WINDOW + DEFLATE_PADDING];
    UCHAR Output[DEFLATE_BLOCK + 0x1000];
};

//
// RFC 1951, 3.2.5: the least length and distance of each symbol, and the bits
// that follow it.  3.2.7: the order of the code lengths' lengths.
//

static const USHORT BaseLengthBases[29] = {
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59,
    67, 83, 99, 115, 131, 163, 195, 227, 258
};

static const UCHAR BaseLengthBits[29] = {
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
    4, 4, 4, 4, 5, 5, 5, 5, 0
};

static const USHORT BaseDistanceBases[DEFLATE_DISTANCES] = {
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513,
    769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577
};

static const UCHAR BaseDistanceBits[DEFLATE_DISTANCES] = {
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8,
    9, 9, 10, 10, 11, 11, 12, 12, 13, 13
};

static const UCHAR BaseLengthOrder[DEFLATE_LENGTHS] = {
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15
};


FORCEINLINE
ULONG
BaseLoad32(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
{
    return ((const DEFLATE_WORD *)Bytes)->AsULong;
}


FORCEINLINE
ULONGLONG
BaseLoad64(
    _In_reads_bytes_(8) const UCHAR *Bytes
    )
{
    return ((const DEFLATE_WORD *)Bytes)->AsULongLong;
}


FORCEINLINE
ULONG
BaseHash(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
{
    return (BaseLoad32(Bytes) * 0x9E3779B1u) >> (32 - DEFLATE_HASH_BITS);
}


FORCEINLINE
ULONG
BaseGetDistanceSymbol(
    _In_ const READER_DEFLATE *Deflate,
    _In_ ULONG DistanceLessOne
    )
{
    return DistanceLessOne < 256
               ? Deflate->DistanceSymbols[DistanceLessOne]
               : Deflate->DistanceSymbols[256 + (DistanceLessOne >> 7)];
}


//
// Puts bits into the output, which has room for them.
//

FORCEINLINE
VOID
BasePutBits(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_ ULONGLONG Bits,
    _In_ ULONG NumberOfBits             // 48 at most
    )
{
    Deflate->Bits |= Bits << Deflate->NumberOfBits;
    Deflate->NumberOfBits += NumberOfBits;
    ((PDEFLATE_WORD)&Deflate->Output[Deflate->OutputLength])->AsULongLong =
        Deflate->Bits;
    Deflate->OutputLength += Deflate->NumberOfBits >> 3;
    Deflate->Bits >>= Deflate->NumberOfBits & ~7u;
    Deflate->NumberOfBits &= 7;
}


//
// Finds the lengths of the shortest codes of at most Limit bits.
//

static
VOID
BaseFindCodeLengths(
    _Out_ PDEFLATE_NODES Nodes,
    _In_reads_(NumberOfSymbols) const ULONG *Counts,
    _In_ ULONG NumberOfSymbols,
    _In_ ULONG Limit,
    _Out_writes_(NumberOfSymbols) PDEFLATE_CODE Codes
    )
{
    PUSHORT Symbols = Nodes->Symbols;
    PULONG Weights = Nodes->Weights;
    PUCHAR Depths = Nodes->Depths;
    ULONG NumberOfLength[DEFLATE_CODE_LIMIT + 1] = { 0 };
    ULONG Used = 0;
    ULONG Leaf = 0;
    ULONG Inner;
    ULONG Node;
    ULONG Index;
    ULONG Child;
    ULONG Sum = 0;
    ULONG Length;

    //
    // The symbols that occur, the rarest first.
    //

    for (Index = 0; Index < NumberOfSymbols; Index++) {

        Codes[Index].Length = 0;
        if (Counts[Index] == 0) {
            continue;
        }

        for (Node = Used;
             Node != 0 && Counts[Symbols[Node - 1]] > Counts[Index];
             Node--) {
            Symbols[Node] = Symbols[Node - 1];
        }

        Symbols[Node] = (USHORT)Index;
        Used += 1;
    }

    if (Used == 1) {
        Codes[Symbols[0]].Length = 1;
    }

    if (Used < 2) {
        return;
    }

    //
    // The two lightest nodes become one, until there is one.  Inner nodes are
    // made in the order of their weights, so both kinds are sorted.
    //

    for (Index = 0; Index < Used; Index++) {
        Weights[Index] = Counts[Symbols[Index]];
    }

    Inner = Used;
    for (Node = Used; Node < 2 * Used - 1; Node++) {

        Weights[Node] = 0;
        for (Index = 0; Index < 2; Index++) {

            if (Leaf < Used &&
                (Inner == Node || Weights[Leaf] <= Weights[Inner])) {
                Child = Leaf++;
            } else {
                Child = Inner++;
            }

            Weights[Node] += Weights[Child];
            Nodes->Parents[Child] = (USHORT)Node;
        }
    }

    //
    // How many codes have which length, none above the limit.
    //

    Depths[2 * Used - 2] = 0;
    for (Node = 2 * Used - 2; Node-- != 0;) {

        Depths[Node] = (UCHAR)(Depths[Nodes->Parents[Node]] + 1);
        if (Node < Used) {
            Length = Depths[Node] < Limit ? Depths[Node] : Limit;
            NumberOfLength[Length] += 1;
            Sum += 1u << (Limit - Length);
        }
    }

    //
    // Codes that were cut take more than there is of the space of codes.  One
    // of them goes below a shorter code, which becomes a bit longer.
    //

    while (Sum > 1u << Limit) {

        Length = Limit - 1;
        while (NumberOfLength[Length] == 0) {
            Length -= 1;
        }

        NumberOfLength[Length] -= 1;
        NumberOfLength[Length + 1] += 2;
        NumberOfLength[Limit] -= 1;
        Sum -= 1;
    }

    Length = Limit;
    for (Index = 0; Index < Used; Index++) {

        while (NumberOfLength[Length] == 0) {
            Length -= 1;
        }

        NumberOfLength[Length] -= 1;
        Codes[Symbols[Index]].Length = (USHORT)Length;
    }
}


//
// Gives codes of known lengths their bits (RFC 1951, 3.2.2).
//

static
VOID
BaseAssignCodes(
    _Inout_updates_(NumberOfSymbols) PDEFLATE_CODE Codes,
    _In_ ULONG NumberOfSymbols
    )
{
    ULONG Next[DEFLATE_CODE_LIMIT + 2] = { 0 };
    ULONG Index;
    ULONG Length;
    ULONG Code;
    ULONG Reversed;

    for (Index = 0; Index < NumberOfSymbols; Index++) {
        Next[Codes[Index].Length + 1] += Codes[Index].Length != 0;
    }

    for (Length = 1; Length <= DEFLATE_CODE_LIMIT + 1; Length++) {
        Next[Length] = (Next[Length] + Next[Length - 1]) << 1;
    }

    for (Index = 0; Index < NumberOfSymbols; Index++) {

        if (Codes[Index].Length == 0) {
            continue;
        }

        Code = Next[Codes[Index].Length]++;
        Reversed = 0;
        for (Length = 0; Length < Codes[Index].Length; Length++) {
            Reversed = Reversed << 1 | (Code & 1);
            Code >>= 1;
        }

        Codes[Index].Bits = (USHORT)Reversed;
    }
}


//
// The bits that the tokens take with these codes, without their extra bits.
//

static
ULONGLONG
BaseCountBits(
    _In_ const READER_DEFLATE *Deflate,
    _In_reads_(DEFLATE_LITERALS) PCDEFLATE_CODE Literals,
    _In_reads_(DEFLATE_DISTANCES) PCDEFLATE_CODE Distances
    )
{
    ULONGLONG Bits = 0;
    ULONG Index;

    for (Index = 0; Index < DEFLATE_LITERALS; Index++) {
        Bits += (ULONGLONG)Deflate->LiteralCounts[Index] *
                Literals[Index].Length;
    }

    for (Index = 0; Index < DEFLATE_DISTANCES; Index++) {
        Bits += (ULONGLONG)Deflate->DistanceCounts[Index] *
                Distances[Index].Length;
    }

    return Bits;
}


//
// How a block's codes are described: their lengths, runs of the same length
// shortened, and a code for that.
//

typedef struct _DEFLATE_DESCRIPTION {
    ULONG NumberOfLiterals;
    ULONG NumberOfDistances;
    ULONG NumberOfOrders;
    ULONG NumberOfRuns;
    UCHAR Symbols[DEFLATE_LITERALS + DEFLATE_DISTANCES];
    UCHAR Extras[DEFLATE_LITERALS + DEFLATE_DISTANCES];
    DEFLATE_CODE Codes[DEFLATE_LENGTHS];
    ULONG SizeInBits;
} DEFLATE_DESCRIPTION;
typedef DEFLATE_DESCRIPTION *PDEFLATE_DESCRIPTION;

static const UCHAR BaseRunBits[3] = { 2, 3, 7 };    // of symbols 16, 17, 18


static
VOID
BaseDescribeCodes(
    _Inout_ PREADER_DEFLATE Deflate,
    _Out_ PDEFLATE_DESCRIPTION Description
    )
{
    UCHAR Lengths[DEFLATE_LITERALS + DEFLATE_DISTANCES];
    ULONG Counts[DEFLATE_LENGTHS] = { 0 };
    ULONG NumberOfLengths;
    ULONG Run;
    ULONG Index;
    ULONG Symbol;
    ULONG Extra;

    Description->NumberOfLiterals = DEFLATE_LITERALS;
    while (Deflate->Literals[Description->NumberOfLiterals - 1].Length == 0) {
        Description->NumberOfLiterals -= 1;
    }

    Description->NumberOfDistances = DEFLATE_DISTANCES;
    while (Description->NumberOfDistances > 1 &&
           Deflate->Distances[Description->NumberOfDistances - 1].Length ==
               0) {
        Description->NumberOfDistances -= 1;
    }

    NumberOfLengths = 0;
    for (Index = 0; Index < Description->NumberOfLiterals; Index++) {
        Lengths[NumberOfLengths++] = (UCHAR)Deflate->Literals[Index].Length;
    }

    for (Index = 0; Index < Description->NumberOfDistances; Index++) {
        Lengths[NumberOfLengths++] = (UCHAR)Deflate->Distances[Index].Length;
    }

    Description->NumberOfRuns = 0;
    for (Index = 0; Index < NumberOfLengths; Index += Run) {

        Run = 1;
        while (Index + Run < NumberOfLengths &&
               Lengths[Index + Run] == Lengths[Index]) {
            Run += 1;
        }

        Symbol = Lengths[Index];
        Extra = 0;
        if (Symbol == 0 && Run >= 3) {

            Run = Run < 138 ? Run : 138;
            Symbol = Run < 11 ? 17 : 18;
            Extra = Run - (Run < 11 ? 3 : 11);

        } else if (Index != 0 && Lengths[Index - 1] == Symbol && Run >= 3) {

            Run = Run < 6 ? Run : 6;
            Symbol = 16;
            Extra = Run - 3;

        } else {
            Run = 1;
        }

        Counts[Symbol] += 1;
        Description->Symbols[Description->NumberOfRuns] = (UCHAR)Symbol;
        Description->Extras[Description->NumberOfRuns] = (UCHAR)Extra;
        Description->NumberOfRuns += 1;
    }

    BaseFindCodeLengths(&Deflate->Nodes,
                        Counts,
                        DEFLATE_LENGTHS,
                        DEFLATE_LENGTHS_LIMIT,
                        Description->Codes);
    BaseAssignCodes(Description->Codes, DEFLATE_LENGTHS);
    Description->NumberOfOrders = DEFLATE_LENGTHS;
    while (Description->NumberOfOrders > 4 &&
           Description->Codes[
               BaseLengthOrder[Description->NumberOfOrders - 1]].Length == 0) {
        Description->NumberOfOrders -= 1;
    }

    Description->SizeInBits = 5 + 5 + 4 + 3 * Description->NumberOfOrders;
    for (Index = 0; Index < DEFLATE_LENGTHS; Index++) {
        Description->SizeInBits +=
            Counts[Index] * (Description->Codes[Index].Length +
                             (Index >= 16 ? BaseRunBits[Index - 16] : 0u));
    }
}


static
VOID
BasePutDescription(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_ const DEFLATE_DESCRIPTION *Description
    )
{
    ULONG Index;
    ULONG Symbol;

    BasePutBits(Deflate, Description->NumberOfLiterals - 257, 5);
    BasePutBits(Deflate, Description->NumberOfDistances - 1, 5);
    BasePutBits(Deflate, Description->NumberOfOrders - 4, 4);
    for (Index = 0; Index < Description->NumberOfOrders; Index++) {
        BasePutBits(Deflate,
                    Description->Codes[BaseLengthOrder[Index]].Length,
                    3);
    }

    for (Index = 0; Index < Description->NumberOfRuns; Index++) {

        Symbol = Description->Symbols[Index];
        BasePutBits(Deflate,
                    Description->Codes[Symbol].Bits,
                    Description->Codes[Symbol].Length);
        if (Symbol >= 16) {
            BasePutBits(Deflate,
                        Description->Extras[Index],
                        BaseRunBits[Symbol - 16]);
        }
    }
}


static
VOID
BasePutTokens(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_reads_(DEFLATE_LITERALS) PCDEFLATE_CODE Literals,
    _In_reads_(DEFLATE_DISTANCES) PCDEFLATE_CODE Distances
    )
{
    ULONG Index;
    ULONG Token;
    ULONG Length;
    ULONG Distance;
    ULONG Symbol;
    ULONG Shift;
    ULONGLONG Bits;

    for (Index = 0; Index < Deflate->NumberOfTokens; Index++) {

        Token = Deflate->Tokens[Index];
        if ((Token & DEFLATE_MATCH) == 0) {
            BasePutBits(Deflate, Literals[Token].Bits, Literals[Token].Length);
            continue;
        }

        Length = (Token >> 16) & 0xFF;
        Symbol = Deflate->LengthSymbols[Length];
        Bits = Literals[257 + Symbol].Bits;
        Shift = Literals[257 + Symbol].Length;
        Bits |= (ULONGLONG)(Length + 3 - BaseLengthBases[Symbol]) << Shift;
        Shift += BaseLengthBits[Symbol];

        Distance = Token & 0xFFFF;
        Symbol = BaseGetDistanceSymbol(Deflate, Distance);
        Bits |= (ULONGLONG)Distances[Symbol].Bits << Shift;
        Shift += Distances[Symbol].Length;
        Bits |= (ULONGLONG)(Distance + 1 - BaseDistanceBases[Symbol]) << Shift;
        Shift += BaseDistanceBits[Symbol];
        BasePutBits(Deflate, Bits, Shift);
    }

    BasePutBits(Deflate,
                Literals[DEFLATE_END_OF_BLOCK].Bits,
                Literals[DEFLATE_END_OF_BLOCK].Length);
}


//
// Writes the block's bytes as they are.
//

static
VOID
BasePutStored(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_ BOOLEAN IsLast
    )
{
    const UCHAR *Bytes = Deflate->Window + Deflate->Start;
    ULONG Left = Deflate->End - Deflate->Start;
    ULONG Size;

    do {

        Size = Left < DEFLATE_STORED_LIMIT ? Left : DEFLATE_STORED_LIMIT;
        Left -= Size;
        BasePutBits(Deflate, IsLast && Left == 0, 1);
        BasePutBits(Deflate, DEFLATE_STORED, 2);
        BasePutBits(Deflate, 0, (8 - Deflate->NumberOfBits) & 7);
        BasePutBits(Deflate, Size | (~Size & 0xFFFFu) << 16, 32);
        RtlCopyBytes(Deflate->Output + Deflate->OutputLength, Bytes, Size);
        Deflate->OutputLength += Size;
        Bytes += Size;

    } while (Left != 0);
}


//
// Writes the block in the shortest of the three ways.
//

static
VOID
BasePutBlock(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_ BOOLEAN IsLast
    )
{
    DEFLATE_DESCRIPTION Description;
    ULONG Size = Deflate->End - Deflate->Start;
    ULONGLONG Extra = 0;
    ULONGLONG Fixed;
    ULONGLONG Dynamic;
    ULONG Index;

    Deflate->LiteralCounts[DEFLATE_END_OF_BLOCK] = 1;
    BaseFindCodeLengths(&Deflate->Nodes,
                        Deflate->LiteralCounts,
                        DEFLATE_LITERALS,
                        DEFLATE_CODE_LIMIT,
                        Deflate->Literals);
    BaseFindCodeLengths(&Deflate->Nodes,
                        Deflate->DistanceCounts,
                        DEFLATE_DISTANCES,
                        DEFLATE_CODE_LIMIT,
                        Deflate->Distances);
    BaseAssignCodes(Deflate->Literals, DEFLATE_LITERALS);
    BaseAssignCodes(Deflate->Distances, DEFLATE_DISTANCES);
    BaseDescribeCodes(Deflate, &Description);

    for (Index = 0; Index < RTL_NUMBER_OF(BaseLengthBits); Index++) {
        Extra += (ULONGLONG)Deflate->LiteralCounts[257 + Index] *
                 BaseLengthBits[Index];
    }

    for (Index = 0; Index < DEFLATE_DISTANCES; Index++) {
        Extra += (ULONGLONG)Deflate->DistanceCounts[Index] *
                 BaseDistanceBits[Index];
    }

    Fixed = Extra + BaseCountBits(Deflate,
                                  Deflate->FixedLiterals,
                                  Deflate->FixedDistances);
    Dynamic = Extra + Description.SizeInBits +
              BaseCountBits(Deflate, Deflate->Literals, Deflate->Distances);

    if ((ULONGLONG)Size * 8 < Fixed && (ULONGLONG)Size * 8 < Dynamic) {
        BasePutStored(Deflate, IsLast);
    } else if (Fixed <= Dynamic) {
        BasePutBits(Deflate, (IsLast ? 1u : 0u) | DEFLATE_FIXED << 1, 3);
        BasePutTokens(Deflate,
                      Deflate->FixedLiterals,
                      Deflate->FixedDistances);
    } else {
        BasePutBits(Deflate, (IsLast ? 1u : 0u) | DEFLATE_DYNAMIC << 1, 3);
        BasePutDescription(Deflate, &Description);
        BasePutTokens(Deflate, Deflate->Literals, Deflate->Distances);
    }
}


//
// Makes a position known.  Returns the latest one before it with the same hash,
// plus one, or 0.
//

FORCEINLINE
ULONG
BaseInsert(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_ ULONG Position
    )
{
    PULONG Head = &Deflate->Heads[BaseHash(Deflate->Window + Position)];
    ULONG Candidate = *Head;

    Deflate->Predecessors[Position & (DEFLATE_HISTORY - 1)] = Candidate;
    *Head = Position + 1;
    return Candidate;
}


//
// How many of the low bytes are zero of a word that is not.
//

FORCEINLINE
ULONG
BaseCountEqualBytes(
    _In_ ULONGLONG Difference
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    unsigned long Position;

    _BitScanForward64(&Position, Difference);
    return (ULONG)Position >> 3;

#else

    return (ULONG)__builtin_ctzll(Difference) >> 3;

#endif
}


//
// How many bytes two positions have in common, at most Longest.
//

FORCEINLINE
ULONG
BaseMeasureMatch(
    _In_ const UCHAR *Left,
    _In_ const UCHAR *Right,
    _In_ ULONG Longest
    )
{
    ULONG Length = 0;
    ULONGLONG Difference;

    while (Length < Longest) {

        Difference = BaseLoad64(Left + Length) ^ BaseLoad64(Right + Length);
        if (Difference != 0) {
            Length += BaseCountEqualBytes(Difference);
            break;
        }

        Length += 8;
    }

    return Length < Longest ? Length : Longest;
}


//
// Finds the longest of the latest matches with a position.
// Candidate: what BaseInsert returned.
// Length: the match that there is already; only a longer one counts.
// Returns the length, and the distance if it is longer.
//

static
ULONG
BaseFindMatch(
    _In_ const READER_DEFLATE *Deflate,
    _In_ ULONG Position,
    _In_ ULONG Candidate,
    _In_ ULONG Length,
    _Inout_ PULONG Distance
    )
{
    const UCHAR *Bytes = Deflate->Window + Position;
    ULONG Longest = Deflate->End - Position;
    ULONG Chain = DEFLATE_CHAIN;
    ULONG Found;

    if (Longest > DEFLATE_LONGEST_MATCH) {
        Longest = DEFLATE_LONGEST_MATCH;
    }

    while (Candidate != 0 &&
           Position + 1 - Candidate <= DEFLATE_HISTORY &&
           Length < Longest) {

        const UCHAR *Other = Deflate->Window + Candidate - 1;

        //
        // The byte behind what there is already decides most of them.
        //

        if (Other[Length] == Bytes[Length] &&
            BaseLoad32(Other) == BaseLoad32(Bytes)) {

            Found = BaseMeasureMatch(Bytes, Other, Longest);
            if (Found > Length) {
                Length = Found;
                *Distance = Position + 1 - Candidate;
                if (Length >= DEFLATE_NICE) {
                    break;
                }
            }
        }

        Chain -= 1;
        if (Chain == 0) {
            break;
        }

        Candidate = Deflate->Predecessors[(Candidate - 1) &
                                          (DEFLATE_HISTORY - 1)];
    }

    return Length;
}


//
// Makes tokens of the block's bytes.
//

static
VOID
BaseMakeTokens(
    _Inout_ PREADER_DEFLATE Deflate
    )
{
    ULONG Position = Deflate->Start;
    ULONG LastStart;                    // where a match can begin at the latest
    ULONG Length;
    ULONG NextLength;
    ULONG Distance = 0;
    ULONG NextDistance = 0;
    ULONG MatchEnd;
    PULONG Token = Deflate->Tokens;

    if (Deflate->End - Deflate->Start < DEFLATE_LEAST_MATCH) {
        LastStart = 0;
    } else {
        LastStart = Deflate->End - DEFLATE_LEAST_MATCH + 1;
    }

    while (Position < LastStart) {

        Length = BaseFindMatch(Deflate,
                               Position,
                               BaseInsert(Deflate, Position),
                               DEFLATE_LEAST_MATCH - 1,
                               &Distance);

        //
        // A longer match may begin at the next byte.
        //

        while (Length >= DEFLATE_LEAST_MATCH &&
               Length < DEFLATE_LAZY &&
               Position + 1 < LastStart) {

            NextLength = BaseFindMatch(Deflate,
                                       Position + 1,
                                       BaseInsert(Deflate, Position + 1),
                                       Length,
                                       &NextDistance);
            if (NextLength == Length) {
                break;
            }

            Deflate->LiteralCounts[Deflate->Window[Position]] += 1;
            *Token++ = Deflate->Window[Position];
            Position += 1;
            Length = NextLength;
            Distance = NextDistance;
        }

        if (Length < DEFLATE_LEAST_MATCH) {
            Deflate->LiteralCounts[Deflate->Window[Position]] += 1;
            *Token++ = Deflate->Window[Position];
            Position += 1;
            continue;
        }

        Deflate->LiteralCounts[257 + Deflate->LengthSymbols[Length - 3]] += 1;
        Deflate->DistanceCounts[
            BaseGetDistanceSymbol(Deflate, Distance - 1)] += 1;
        *Token++ = DEFLATE_MATCH | (Length - 3) << 16 | (Distance - 1);

        //
        // Position is known already, and the next one if it was tried.
        //

        MatchEnd = Position + Length;
        if (Length < DEFLATE_LAZY && Position + 1 < LastStart) {
            Position += 1;
        }

        for (Position += 1;
             Position < MatchEnd && Position < LastStart;
             Position++) {
            (VOID)BaseInsert(Deflate, Position);
        }

        Position = MatchEnd;
    }

    for (; Position < Deflate->End; Position++) {
        Deflate->LiteralCounts[Deflate->Window[Position]] += 1;
        *Token++ = Deflate->Window[Position];
    }

    Deflate->NumberOfTokens = (ULONG)(Token - Deflate->Tokens);
}


//
// Gives the output's whole bytes to the sink.
//

static
VOID
BaseFlushOutput(
    _Inout_ PREADER_DEFLATE Deflate
    )
{
    if (NT_SUCCESS(Deflate->Status) && Deflate->OutputLength != 0) {
        Deflate->Status = Deflate->Sink(Deflate->Target,
                                        Deflate->Output,
                                        Deflate->OutputLength);
    }

    Deflate->OutputLength = 0;
}


//
// Compresses what is in the window, as a block.
//

static
VOID
BaseCompressBlock(
    _Inout_ PREADER_DEFLATE Deflate,
    _In_ BOOLEAN IsLast
    )
{
    RtlZeroBytes(Deflate->LiteralCounts, sizeof(Deflate->LiteralCounts));
    RtlZeroBytes(Deflate->DistanceCounts, sizeof(Deflate->DistanceCounts));
    BaseMakeTokens(Deflate);
    BasePutBlock(Deflate, IsLast);
    if (IsLast) {
        BasePutBits(Deflate, 0, (8 - Deflate->NumberOfBits) & 7);
    }

    BaseFlushOutput(Deflate);
    Deflate->Start = Deflate->End;
}


//
// Makes room in a full window; its end stays, for matches.
//

static
VOID
BaseSlideWindow(
    _Inout_ PREADER_DEFLATE Deflate
    )
{
    ULONG Index;

    RtlCopyBytes(Deflate->Window,
                 Deflate->Window + DEFLATE_BLOCK,
                 DEFLATE_HISTORY);
    Deflate->Start = DEFLATE_HISTORY;
    Deflate->End = DEFLATE_HISTORY;
    for (Index = 0; Index < DEFLATE_HASH_SIZE; Index++) {
        Deflate->Heads[Index] = Deflate->Heads[Index] > DEFLATE_BLOCK
                                    ? Deflate->Heads[Index] - DEFLATE_BLOCK
                                    : 0;
    }

    for (Index = 0; Index < DEFLATE_HISTORY; Index++) {
        Deflate->Predecessors[Index] =
            Deflate->Predecessors[Index] > DEFLATE_BLOCK
                ? Deflate->Predecessors[Index] - DEFLATE_BLOCK
                : 0;
    }
}


_Use_decl_annotations_
PREADER_DEFLATE
BaseCreateDeflate(
    PCALLOCATOR Allocator
    )
{
    PREADER_DEFLATE Deflate;
    ULONG Symbol;
    ULONG Value;

    Deflate = (PREADER_DEFLATE)Allocator->Allocate(Allocator->Context,
                                                   sizeof(READER_DEFLATE));
    if (Deflate == NULL) {
        return NULL;
    }

    RtlZeroBytes(Deflate, FIELD_OFFSET(READER_DEFLATE, Tokens));
    Deflate->Allocator = Allocator;

    //
    // A length of 258 has a symbol of its own, which comes last.
    //

    for (Symbol = 0; Symbol < RTL_NUMBER_OF(BaseLengthBases); Symbol++) {
        for (Value = 0;
             Value < 1u << BaseLengthBits[Symbol] &&
             BaseLengthBases[Symbol] + Value <= DEFLATE_LONGEST_MATCH;
             Value++) {
            Deflate->LengthSymbols[BaseLengthBases[Symbol] + Value - 3] =
                (UCHAR)Symbol;
        }
    }

    for (Symbol = 0; Symbol < DEFLATE_DISTANCES; Symbol++) {
        for (Value = BaseDistanceBases[Symbol] - 1u;
             Value < BaseDistanceBases[Symbol] - 1u +
                     (1u << BaseDistanceBits[Symbol]);
             Value++) {
            Deflate->DistanceSymbols[Value < 256 ? Value
                                                 : 256 + (Value >> 7)] =
                (UCHAR)Symbol;
        }
    }

    //
    // RFC 1951, 3.2.6.
    //

    for (Symbol = 0; Symbol < DEFLATE_FIXED_LITERALS; Symbol++) {
        Deflate->FixedLiterals[Symbol].Length = Symbol < 144   ? 8
                                                : Symbol < 256 ? 9
                                                : Symbol < 280 ? 7
                                                               : 8;
    }

    for (Symbol = 0; Symbol < DEFLATE_DISTANCES; Symbol++) {
        Deflate->FixedDistances[Symbol].Length = 5;
    }

    BaseAssignCodes(Deflate->FixedLiterals, DEFLATE_FIXED_LITERALS);
    BaseAssignCodes(Deflate->FixedDistances, DEFLATE_DISTANCES);
    return Deflate;
}


_Use_decl_annotations_
VOID
BaseDestroyDeflate(
    PREADER_DEFLATE Deflate
    )
{
    if (Deflate != NULL) {
        Deflate->Allocator->Free(Deflate->Allocator->Context, Deflate);
    }
}


_Use_decl_annotations_
VOID
BaseBeginDeflate(
    PREADER_DEFLATE Deflate,
    PREADER_DEFLATE_SINK Sink,
    PVOID Target
    )
{
    Deflate->Sink = Sink;
    Deflate->Target = Target;
    Deflate->Status = STATUS_SUCCESS;
    Deflate->Bits = 0;
    Deflate->NumberOfBits = 0;
    Deflate->OutputLength = 0;
    Deflate->Start = DEFLATE_HISTORY;
    Deflate->End = DEFLATE_HISTORY;

    //
    // Predecessors are reached from heads only.
    //

    RtlZeroBytes(Deflate->Heads, sizeof(Deflate->Heads));
}


_Use_decl_annotations_
NTSTATUS
BaseWriteDeflate(
    PREADER_DEFLATE Deflate,
    const VOID *Bytes,
    ULONG SizeInBytes
    )
{
    const UCHAR *Next = (const UCHAR *)Bytes;
    ULONG Size;

    while (SizeInBytes != 0 && NT_SUCCESS(Deflate->Status)) {

        if (Deflate->End == DEFLATE_WINDOW) {
            BaseCompressBlock(Deflate, FALSE);
            BaseSlideWindow(Deflate);
        }

        Size = DEFLATE_WINDOW - Deflate->End;
        Size = Size < SizeInBytes ? Size : SizeInBytes;
        RtlCopyBytes(Deflate->Window + Deflate->End, Next, Size);
        Deflate->End += Size;
        Next += Size;
        SizeInBytes -= Size;
    }

    return Deflate->Status;
}


_Use_decl_annotations_
NTSTATUS
BaseEndDeflate(
    PREADER_DEFLATE Deflate
    )
{
    if (NT_SUCCESS(Deflate->Status)) {
        BaseCompressBlock(Deflate, TRUE);
    }

    return Deflate->Status;
}
