/*++

Module Name:

    CodecEncode.c

Abstract:

    Encodes records as tokens and operands.

    The loop looks at four records at once, one of each lane.  If all of them
    were predicted and came soon after those before them, their tokens are all
    that is written, and nothing else changes.  Anything else goes the slow
    way, record by record.

--*/

#include "CodecPrivate.h"

//
// Writes the token that a record has if it is ordinary.
//
// A lane's last record is the one before it in memory: for that no registers
// are needed.
//
// Record: with one before it.
// Wrong: receives bits if no slot is right.
// Late: counts it if its ticks are no token.
//

CODEC_INLINE
VOID
CodecTry(
    _In_ const CODEC_MODEL *Model,
    _In_ ULONG Context,
    _In_ PCCODEC_RECORD Record,
    _Out_ PUCHAR Token,
    _Inout_ PULONGLONG Wrong,
    _Inout_ PULONGLONG Late
    )
{
    const ULONGLONG *Slots = &Model->Slots[0][0];
    SIZE_T Place = CODEC_PLACE(Context);
    ULONGLONG Growth = Record->Word - Record[-1].Word;
    ULONGLONG Ticks = Record->Timestamp - Record[-1].Timestamp;
    ULONG IsNotFirst = Slots[Place] != Growth;

    *Wrong |= Slots[Place | (SIZE_T)IsNotFirst << CODEC_PLACE_BITS] ^ Growth;
    *Late += Ticks >= CODEC_SHORT;
    *Token = (UCHAR)((ULONG)Ticks | (IsNotFirst << CODEC_SLOT_SHIFT));
}


//
// Appends the low bytes of a number to the operands.  What is written behind
// them is written over.
//

CODEC_INLINE
VOID
CodecPutOperand(
    _Inout_ PCODEC_ENCODER Encoder,
    _In_ ULONGLONG Value,
    _In_ ULONG SizeInBytes
    )
{
    CodecStore64(Encoder->Operand, Value);
    Encoder->Operand += SizeInBytes;
}


//
// Appends what is to be said of a record that no slot predicted.
// TimeBytes: how many bytes its ticks take.
//

static
VOID
CodecPutMiss(
    _Inout_ PCODEC_ENCODER Encoder,
    _In_ const CODEC_LANE *Lane,
    _In_ ULONGLONG Word,
    _In_ ULONGLONG Ticks,
    _In_ ULONG TimeBytes
    )
{
    PCODEC_MODEL Model = &Encoder->Model;
    ULONG Site = (ULONG)Word;
    ULONG Hash = CODEC_HASH(Site);
    ULONG Pair = CODEC_PAIR(Lane->Word, Site);
    ULONG Number = Encoder->Numbers[Hash];
    ULONG StackChange = (ULONG)(Word >> 32) - (ULONG)(Lane->Word >> 32);
    ULONG Folded = (StackChange << 1) ^ (0u - (StackChange >> 31));
    ULONG SiteForm = CODEC_SITE_NEW;
    ULONG StackForm = 0;

    if (Number < Model->NumberOfSites && Model->Sites[Number] == Site) {
        SiteForm = Number <= 0xFF ? CODEC_SITE_BYTE : CODEC_SITE_WORD;
    }

    if (Model->Pairs[Pair] != StackChange) {
        StackForm = Folded <= 0xFF ? 1 : Folded <= 0xFFFF ? 2 : 3;
    }

    CodecPutOperand(Encoder,
                    TimeBytes | SiteForm |
                        (StackForm << CODEC_MISS_STACK_SHIFT),
                    1);
    CodecPutOperand(Encoder, Ticks, TimeBytes);
    if (SiteForm == CODEC_SITE_NEW) {
        CodecPutOperand(Encoder, Site, sizeof(Site));
        Encoder->Numbers[Hash] = (USHORT)Model->NumberOfSites;
        CodecNumberSite(Model, Site);
    } else {
        CodecPutOperand(Encoder, Number, SiteForm == CODEC_SITE_BYTE ? 1 : 2);
    }

    CodecPutOperand(Encoder,
                    Folded,
                    StackForm == 3 ? sizeof(Folded) : StackForm);
    CodecLearn(Model, Lane->Context, Word - Lane->Word, Pair, StackChange);
}


//
// Encodes a record that is not ordinary.
// Lane: as it is before the record.
// Token: receives its token.
// Returns FALSE: there is no room for its operands.
//

CODEC_NOINLINE
BOOLEAN
CodecEncodeOther(
    _Inout_ PCODEC_ENCODER Encoder,
    _In_ const CODEC_LANE *Lane,
    _In_ PCCODEC_RECORD Record,
    _Out_ PUCHAR Token
    )
{
    ULONGLONG Word = Record->Word;
    ULONGLONG Growth = Word - Lane->Word;
    ULONGLONG Ticks = Record->Timestamp - Lane->Timestamp;
    ULONG Place = CODEC_PLACE(Lane->Context);
    BOOLEAN IsFirst = Encoder->Model.Slots[0][Place] == Growth;
    ULONG TimeBytes = CodecCountBytes(Ticks);

    if (Encoder->Limit - Encoder->Operand < CODEC_ROOM_FOR_OPERANDS) {
        return FALSE;
    }

    if (IsFirst || Encoder->Model.Slots[1][Place] == Growth) {

        *Token = (UCHAR)(IsFirst ? 0 : 1 << CODEC_SLOT_SHIFT);
        if (Ticks < CODEC_SHORT) {
            *Token |= (UCHAR)Ticks;
        } else {
            *Token |= (UCHAR)(CODEC_SHORT - 1 + TimeBytes);
            CodecPutOperand(Encoder, Ticks, TimeBytes);
        }

    } else {
        *Token = CODEC_MISSED;
        CodecPutMiss(Encoder, Lane, Word, Ticks, TimeBytes);
    }

    return TRUE;
}


//
// Encodes a record, ordinary or not, that has one before it.
//

CODEC_INLINE
BOOLEAN
CodecEncodeAny(
    _Inout_ PCODEC_ENCODER Encoder,
    _In_ ULONG Context,
    _In_ PCCODEC_RECORD Record,
    _Out_ PUCHAR Token
    )
{
    ULONGLONG Late = 0;
    ULONGLONG Wrong = 0;
    CODEC_LANE Lane;

    CodecTry(&Encoder->Model, Context, Record, Token, &Wrong, &Late);
    if ((Wrong | Late) == 0) {
        return TRUE;
    }

    Lane.Timestamp = Record[-1].Timestamp;
    Lane.Word = Record[-1].Word;
    Lane.Context = Context;
    Lane.Unused = 0;
    return CodecEncodeOther(Encoder, &Lane, Record, Token);
}


//
// Encodes a record of each lane, one after the other.
// Stride: from a lane's record to the next one's, in records.
//

CODEC_NOINLINE
BOOLEAN
CodecEncodeFour(
    _Inout_ PCODEC_ENCODER Encoder,
    _In_reads_(CODEC_LANES) const ULONG *Contexts,
    _In_ PCCODEC_RECORD Record,
    _In_ SIZE_T Stride,
    _Out_writes_bytes_(CODEC_LANES) PUCHAR Tokens
    )
{
    return CodecEncodeAny(Encoder, Contexts[0], Record, Tokens) &&
           CodecEncodeAny(Encoder, Contexts[1], Record + Stride, Tokens + 1) &&
           CodecEncodeAny(Encoder, Contexts[2], Record + 2 * Stride,
                          Tokens + 2) &&
           CodecEncodeAny(Encoder, Contexts[3], Record + 3 * Stride,
                          Tokens + 3);
}


//
// Encodes records, one at least.
//
// The lanes' contexts are variables of their own, so that the compiler keeps
// them in registers.
//
// Tokens: receives one for each record.
// Returns FALSE: the operands have no room.
//

static
BOOLEAN
CodecEncodeRecords(
    _Inout_ PCODEC_ENCODER Encoder,
    _In_reads_(NumberOfRecords) PCCODEC_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _Out_writes_bytes_(NumberOfRecords) PUCHAR Tokens
    )
{
    ULONG Length = NumberOfRecords / CODEC_LANES;
    const CODEC_MODEL *Model = &Encoder->Model;
    PCCODEC_RECORD Record = Records;
    PCCODEC_RECORD End = Records + Length;
    CODEC_LANE First;
    SIZE_T Stride = Length;
    ULONG Contexts[CODEC_LANES];
    ULONGLONG Late;
    ULONGLONG Wrong;
    ULONG A = 0;
    ULONG B = 0;
    ULONG C = 0;
    ULONG D = 0;
    ULONG Index;

    //
    // Before the first record of a lane there is none.
    //

    First.Timestamp = Records[0].Timestamp;
    First.Word = 0;
    First.Context = 0;
    First.Unused = 0;
    for (Index = 0; Index < CODEC_LANES && Length != 0; Index++, Tokens++) {
        if (!CodecEncodeOther(Encoder, &First, Record + Index * Stride,
                              Tokens)) {
            return FALSE;
        }
    }

    if (Length != 0) {
        A = CODEC_NEXT_CONTEXT(A, Record->Word);
        B = CODEC_NEXT_CONTEXT(B, Record[Stride].Word);
        C = CODEC_NEXT_CONTEXT(C, Record[2 * Stride].Word);
        D = CODEC_NEXT_CONTEXT(D, Record[3 * Stride].Word);
        Record += 1;
    }

    for (; Record != End; Record++, Tokens += CODEC_LANES) {

        Late = 0;
        Wrong = 0;
        CodecTry(Model, A, Record, Tokens, &Wrong, &Late);
        CodecTry(Model, B, Record + Stride, Tokens + 1, &Wrong, &Late);
        CodecTry(Model, C, Record + 2 * Stride, Tokens + 2, &Wrong, &Late);
        CodecTry(Model, D, Record + 3 * Stride, Tokens + 3, &Wrong, &Late);
        if (CODEC_UNLIKELY((Wrong | Late) != 0)) {

            Contexts[0] = A;
            Contexts[1] = B;
            Contexts[2] = C;
            Contexts[3] = D;
            if (!CodecEncodeFour(Encoder, Contexts, Record, Stride, Tokens)) {
                return FALSE;
            }
        }

        A = CODEC_NEXT_CONTEXT(A, Record->Word);
        B = CODEC_NEXT_CONTEXT(B, Record[Stride].Word);
        C = CODEC_NEXT_CONTEXT(C, Record[2 * Stride].Word);
        D = CODEC_NEXT_CONTEXT(D, Record[3 * Stride].Word);
    }

    //
    // The last lane has what the others leave.
    //

    First.Context = D;
    for (Index = Length * CODEC_LANES; Index < NumberOfRecords; Index++) {

        if (Index != 0) {
            First.Timestamp = Records[Index - 1].Timestamp;
            First.Word = Records[Index - 1].Word;
        }

        if (!CodecEncodeOther(Encoder, &First, &Records[Index], Tokens)) {
            return FALSE;
        }

        First.Context = CODEC_NEXT_CONTEXT(First.Context, Records[Index].Word);
        Tokens += 1;
    }

    return TRUE;
}


_Use_decl_annotations_
ULONG
CodecEncode(
    PCODEC_ENCODER Encoder,
    const VOID *Raw,
    ULONG SizeInBytes,
    ULONGLONG Position,
    PVOID Block
    )
{
    PCODEC_BLOCK Header = (PCODEC_BLOCK)Block;
    PUCHAR Encoded = (PUCHAR)Block + CODEC_HEADER_SIZE;
    PCCODEC_RECORD Records = (PCCODEC_RECORD)Raw;
    ULONG NumberOfRecords = SizeInBytes / (ULONG)sizeof(CODEC_RECORD);
    ULONG Tail = SizeInBytes % (ULONG)sizeof(CODEC_RECORD);
    BOOLEAN IsSmaller = FALSE;

    if (SizeInBytes > CODEC_MAXIMUM_BYTES) {
        return 0;
    }

    Header->Magic = CODEC_MAGIC;
    Header->Version = CODEC_VERSION;
    Header->Method = CODEC_METHOD_STORED;
    Header->Unused = 0;
    Header->RawBytes = SizeInBytes;
    Header->EncodedBytes = SizeInBytes;
    Header->Position = Position;
    Header->FirstTimestamp = 0;
    Header->LastTimestamp = 0;
    Header->Unused3 = 0;
    Header->OperandBytes = 0;
    Header->Unused2 = 0;

    if (NumberOfRecords != 0) {

        Header->FirstTimestamp = Records[0].Timestamp;
        Header->LastTimestamp = Records[NumberOfRecords - 1].Timestamp;
        CodecBeginModel(&Encoder->Model);
        CodecZero(Encoder->Numbers, sizeof(Encoder->Numbers));

        Encoder->Operand = Encoded + NumberOfRecords;
        Encoder->Limit = Encoded + SizeInBytes - Tail;
        IsSmaller = CodecEncodeRecords(Encoder,
                                       Records,
                                       NumberOfRecords,
                                       Encoded);
    }

    if (IsSmaller) {
        Header->Method = CODEC_METHOD_TOKENS;
        Header->OperandBytes =
            (ULONG)(Encoder->Operand - Encoded) - NumberOfRecords;
        Header->EncodedBytes = NumberOfRecords + Header->OperandBytes + Tail;
        CodecCopy(Encoder->Operand, Records + NumberOfRecords, Tail);
    } else {
        CodecCopy(Encoded, Raw, SizeInBytes);
    }

    Header->Sum = CodecSumBlock(Header, Encoded);
    return CODEC_HEADER_SIZE + Header->EncodedBytes;
}
