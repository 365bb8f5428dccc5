/*++

Module Name:

    CodecDecode.c

Abstract:

    Decodes blocks, of which anything may be wrong.

    A token is right whatever it is, or refused; an operand is only taken if
    it is there.  So what is decoded is as many records as the header says, and
    nothing outside of the block is read, or outside of them written.

--*/

#include "CodecPrivate.h"

//
// What to ask of four tokens at once: has one of them a value in its low seven
// bits that is CODEC_SHORT or more?
//

#define CODEC_LOW_BITS      0x7F7F7F7Fu
#define CODEC_TO_CARRY      0x10101010u     // 128 - CODEC_SHORT
#define CODEC_CARRIES       0x80808080u

//
// Where the operands are.
//

typedef struct _CODEC_OPERANDS {
    const UCHAR *Next;
    const UCHAR *End;
} CODEC_OPERANDS;
typedef CODEC_OPERANDS *PCODEC_OPERANDS;


//
// Decodes an ordinary record.
// Token: its token, in the low 8 bits.
//

CODEC_INLINE
VOID
CodecTake(
    _In_ const CODEC_MODEL *Model,
    _Inout_ PCODEC_LANE Lane,
    _In_ ULONG Token,
    _Out_ PCODEC_RECORD Record
    )
{
    //
    // The slots are one array to a token, whose upper bit says which half.
    //

    const ULONGLONG *Slots = &Model->Slots[0][0];
    ULONG Place = CODEC_PLACE(Lane->Context) +
                  ((Token << (CODEC_PLACE_BITS - CODEC_SLOT_SHIFT)) &
                   CODEC_CONTEXTS);

    Lane->Timestamp += Token & 0x7F;
    Lane->Word += Slots[Place];
    Lane->Context = CODEC_NEXT_CONTEXT(Lane->Context, Lane->Word);
    Record->Timestamp = Lane->Timestamp;
    Record->Word = Lane->Word;
}


//
// Takes a number off the operands.
// SizeInBytes: 0 to 8.
// Returns FALSE: they have come to an end.
//

_Success_(return != FALSE)
CODEC_INLINE
BOOLEAN
CodecTakeOperand(
    _Inout_ PCODEC_OPERANDS Operands,
    _In_ ULONG SizeInBytes,
    _Out_ PULONGLONG Value
    )
{
    ULONG Index;

    //
    // Eight bytes at once, if they are there.
    //

    if (Operands->End - Operands->Next >= 8) {
        *Value = CodecLowBytes(CodecLoad64(Operands->Next), SizeInBytes);
        Operands->Next += SizeInBytes;
        return TRUE;
    }

    *Value = 0;
    if ((SIZE_T)(Operands->End - Operands->Next) < SizeInBytes) {
        return FALSE;
    }

    for (Index = 0; Index < SizeInBytes; Index++) {
        *Value |= (ULONGLONG)Operands->Next[Index] << (8 * Index);
    }

    Operands->Next += SizeInBytes;
    return TRUE;
}


//
// Decodes the operands of a record that no slot predicted.
//

_Success_(return != FALSE)
static
BOOLEAN
CodecTakeMiss(
    _Inout_ PCODEC_MODEL Model,
    _In_ const CODEC_LANE *Lane,
    _Inout_ PCODEC_OPERANDS Operands,
    _Out_ PULONGLONG Ticks,
    _Out_ PULONGLONG Growth
    )
{
    ULONGLONG Forms;
    ULONGLONG Value;
    ULONG StackForm;
    ULONG StackChange;
    ULONG StackKind;
    ULONG Pair;
    ULONG Site;

    if (!CodecTakeOperand(Operands, 1, &Forms) ||
        (Forms & CODEC_MISS_TIME) > CODEC_MAXIMUM_TIME_BYTES ||
        !CodecTakeOperand(Operands, (ULONG)Forms & CODEC_MISS_TIME, Ticks)) {
        return FALSE;
    }

    switch ((ULONG)Forms & CODEC_MISS_SITE) {

    case CODEC_SITE_NEW:
        if (!CodecTakeOperand(Operands, sizeof(Site), &Value)) {
            return FALSE;
        }

        Site = (ULONG)Value;
        CodecNumberSite(Model, Site);
        break;

    case CODEC_SITE_BYTE:
    case CODEC_SITE_WORD:
        if (!CodecTakeOperand(
                Operands,
                ((ULONG)Forms & CODEC_MISS_SITE) == CODEC_SITE_BYTE ? 1 : 2,
                &Value) ||
            Value >= Model->NumberOfSites) {
            return FALSE;
        }

        Site = Model->Sites[Value];
        break;

    default:
        return FALSE;
    }

    Pair = CODEC_PAIR(Lane->Word, Site);
    StackForm = (ULONG)Forms >> CODEC_MISS_STACK_SHIFT;
    if (StackForm == 0) {
        StackChange = Model->Pairs[Pair];
    } else {

        if (!CodecTakeOperand(Operands,
                              StackForm == 3 ? sizeof(StackChange) : StackForm,
                              &Value)) {
            return FALSE;
        }

        StackChange = ((ULONG)Value >> 1) ^ (0u - ((ULONG)Value & 1));
    }

    StackKind = (ULONG)(Lane->Word >> 32) + StackChange;
    *Growth = ((ULONGLONG)StackKind << 32 | Site) - Lane->Word;
    CodecLearn(Model, Lane->Context, *Growth, Pair, StackChange);
    return TRUE;
}


//
// Decodes a record that is not ordinary.
// Returns FALSE: its token means nothing, or its operands are not there.
//

_Success_(return != FALSE)
CODEC_NOINLINE
BOOLEAN
CodecTakeOther(
    _Inout_ PCODEC_MODEL Model,
    _Inout_ PCODEC_LANE Lane,
    _In_ ULONG Token,
    _Inout_ PCODEC_OPERANDS Operands,
    _Out_ PCODEC_RECORD Record
    )
{
    ULONG TimeBytes = (Token & 0x7F) - (CODEC_SHORT - 1);
    ULONGLONG Growth;
    ULONGLONG Ticks;

    if (Token == CODEC_MISSED) {

        if (!CodecTakeMiss(Model, Lane, Operands, &Ticks, &Growth)) {
            return FALSE;
        }

    } else {

        if (TimeBytes > CODEC_MAXIMUM_TIME_BYTES ||
            !CodecTakeOperand(Operands, TimeBytes, &Ticks)) {
            return FALSE;
        }

        Growth = Model->Slots[Token >> CODEC_SLOT_SHIFT]
                             [CODEC_PLACE(Lane->Context)];
    }

    Lane->Timestamp += Ticks;
    Lane->Word += Growth;
    Lane->Context = CODEC_NEXT_CONTEXT(Lane->Context, Lane->Word);
    Record->Timestamp = Lane->Timestamp;
    Record->Word = Lane->Word;
    return TRUE;
}


//
// Decodes a record, ordinary or not.  What the compiler has in registers goes
// through memory for the second kind alone.
// Token: its token, in the low 8 bits.
//

_Success_(return != FALSE)
CODEC_INLINE
BOOLEAN
CodecTakeAny(
    _Inout_ PCODEC_MODEL Model,
    _Inout_ PCODEC_LANE Lane,
    _In_ ULONG Token,
    _Inout_ PCODEC_OPERANDS Operands,
    _Out_ PCODEC_RECORD Record
    )
{
    CODEC_LANE Copy;

    if ((Token & 0x7F) < CODEC_SHORT) {
        CodecTake(Model, Lane, Token, Record);
        return TRUE;
    }

    Copy = *Lane;
    if (!CodecTakeOther(Model, &Copy, Token & 0xFF, Operands, Record)) {
        return FALSE;
    }

    *Lane = Copy;
    return TRUE;
}


//
// Decodes a block's records.
// Tokens: one for each.
// Timestamp: that all lanes begin with.
// Returns FALSE: the block is damaged.
//

_Success_(return != FALSE)
static
BOOLEAN
CodecDecodeRecords(
    _Inout_ PCODEC_MODEL Model,
    _In_reads_bytes_(NumberOfRecords) const UCHAR *Tokens,
    _Inout_ PCODEC_OPERANDS Operands,
    _In_ ULONGLONG Timestamp,
    _Out_writes_(NumberOfRecords) PCODEC_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    ULONG Length = NumberOfRecords / CODEC_LANES;
    PCODEC_RECORD Record = Records;
    PCODEC_RECORD End = Records + Length;
    CODEC_LANE A;
    CODEC_LANE B;
    CODEC_LANE C;
    CODEC_LANE D;
    ULONG Index;

    A.Timestamp = Timestamp;
    A.Word = 0;
    A.Context = 0;
    A.Unused = 0;
    B = A;
    C = A;
    D = A;

    for (; Record != End; Record++, Tokens += CODEC_LANES) {

        PCODEC_RECORD Third = Record + 2 * (SIZE_T)Length;
        ULONG Four = CodecLoad32(Tokens);

        if (CODEC_UNLIKELY((((Four & CODEC_LOW_BITS) + CODEC_TO_CARRY) &
                            CODEC_CARRIES) != 0)) {

            if (!CodecTakeAny(Model, &A, Four, Operands, Record) ||
                !CodecTakeAny(Model, &B, Four >> 8, Operands,
                              Record + Length) ||
                !CodecTakeAny(Model, &C, Four >> 16, Operands, Third) ||
                !CodecTakeAny(Model, &D, Four >> 24, Operands,
                              Third + Length)) {
                return FALSE;
            }

            continue;
        }

        CodecTake(Model, &A, Four, Record);
        CodecTake(Model, &B, Four >> 8, Record + Length);
        CodecTake(Model, &C, Four >> 16, Third);
        CodecTake(Model, &D, Four >> 24, Third + Length);
    }

    for (Index = Length * CODEC_LANES; Index < NumberOfRecords; Index++) {
        if (!CodecTakeAny(Model, &D, *Tokens, Operands, &Records[Index])) {
            return FALSE;
        }

        Tokens += 1;
    }

    return TRUE;
}


static
BOOLEAN
CodecAreTimesRight(
    _In_ PCCODEC_BLOCK Header,
    _In_reads_(NumberOfRecords) PCCODEC_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    return NumberOfRecords == 0 ||
           (Records[0].Timestamp == Header->FirstTimestamp &&
            Records[NumberOfRecords - 1].Timestamp == Header->LastTimestamp);
}


_Use_decl_annotations_
NTSTATUS
CodecDecode(
    PCODEC_DECODER Decoder,
    const VOID *Bytes,
    SIZE_T SizeInBytes,
    PVOID Raw,
    SIZE_T CapacityInBytes,
    PCODEC_BLOCK Header
    )
{
    const UCHAR *Encoded = (const UCHAR *)Bytes + CODEC_HEADER_SIZE;
    PCODEC_RECORD Records = (PCODEC_RECORD)Raw;
    ULONG NumberOfRecords;
    CODEC_OPERANDS Operands;
    const UCHAR *Tokens;
    ULONG Left;
    ULONG Tail;
    NTSTATUS Status;

    Status = CodecReadHeader(Bytes, SizeInBytes, Header);
    if (!NT_SUCCESS(Status)) {
        CodecZero(Header, sizeof(*Header));
        return Status;
    }

    if (Header->RawBytes > CapacityInBytes) {
        return STATUS_BUFFER_TOO_SMALL;
    }

    if (CODEC_SUM_IS_CHECKED &&
        CodecSumBlock(Header, Encoded) != Header->Sum) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    NumberOfRecords = Header->RawBytes / (ULONG)sizeof(CODEC_RECORD);
    Tail = Header->RawBytes % (ULONG)sizeof(CODEC_RECORD);
    if (Header->Method == CODEC_METHOD_STORED) {
        CodecCopy(Raw, Encoded, Header->RawBytes);
        return CodecAreTimesRight(Header, Records, NumberOfRecords)
                   ? STATUS_SUCCESS
                   : STATUS_FILE_CORRUPT_ERROR;
    }

    if (Header->Method == CODEC_METHOD_TOKENS) {
        Tokens = Encoded;
        Left = Tail;
    } else {

        if (!CodecUnpack(Decoder, Encoded, Header, &Left) || Left != Tail) {
            return STATUS_FILE_CORRUPT_ERROR;
        }

        Tokens = Decoder->Bytes;
    }

    Operands.Next = Tokens + NumberOfRecords;
    Operands.End = Operands.Next + Header->OperandBytes;
    CodecBeginModel(&Decoder->Model);
    if (!CodecDecodeRecords(&Decoder->Model,
                            Tokens,
                            &Operands,
                            Header->FirstTimestamp,
                            Records,
                            NumberOfRecords)) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    //
    // What is said twice must agree, and nothing may be left.
    //

    if (Operands.Next != Operands.End ||
        !CodecAreTimesRight(Header, Records, NumberOfRecords)) {
        return STATUS_FILE_CORRUPT_ERROR;
    }

    CodecCopy(Records + NumberOfRecords,
              Encoded + Header->EncodedBytes - Tail,
              Tail);
    return STATUS_SUCCESS;
}
