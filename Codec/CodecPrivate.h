/*++

Module Name:

    CodecPrivate.h

Abstract:

    What encoder and decoder share: the model that predicts records, and the
    bytes that say where it was wrong.

    A block's records are four runs of equal length, one for each lane.  The
    lanes take turns, a record each, so that four searches are under way at
    once; they share what has been learned.

--*/

#ifndef TRACER_CODEC_PRIVATE_H
#define TRACER_CODEC_PRIVATE_H

#include "Codec.h"

#if defined(_MSC_VER) && !defined(__clang__)
#define CODEC_INLINE static __forceinline
#define CODEC_NOINLINE static __declspec(noinline)
#define CODEC_UNLIKELY(Condition) (Condition)
#else
#define CODEC_INLINE static inline __attribute__((always_inline))
#define CODEC_NOINLINE static __attribute__((noinline))
#define CODEC_UNLIKELY(Condition) __builtin_expect(!!(Condition), 0)
#endif

//
// A fuzz target has to get beyond the sum.
//

#ifndef CODEC_SUM_IS_CHECKED
#define CODEC_SUM_IS_CHECKED 1
#endif

#define CODEC_LANES 4u

//
// A record as the codec sees it: the second half, Site and StackKind, is one
// number.  What is predicted is how much it grows, modulo 2^64.
//

typedef struct _CODEC_RECORD {
    ULONGLONG Timestamp;
    ULONGLONG Word;
} CODEC_RECORD;
typedef CODEC_RECORD *PCODEC_RECORD;
typedef const CODEC_RECORD *PCCODEC_RECORD;

#define CODEC_PLACE_BITS 12
#define CODEC_CONTEXTS (1u << CODEC_PLACE_BITS)
#define CODEC_PAIRS 4096u
#define CODEC_SITES 4096u

//
// A context is a hash of the latest sites.  Its upper bits say where its two
// predictions are.
//

#define CODEC_SITE_MULTIPLIER 0x9E3779B1u
#define CODEC_LAST_MULTIPLIER 0x85EBCA6Bu
#define CODEC_HASH_SHIFT 20         // leaves 12 bits, as the three above have
#define CODEC_CONTEXT_SHIFT 7

#define CODEC_NEXT_CONTEXT(Context, Word) \
    (((Context) << CODEC_CONTEXT_SHIFT) ^ \
     ((ULONG)(Word) * CODEC_SITE_MULTIPLIER))
#define CODEC_PLACE(Context) ((Context) >> CODEC_HASH_SHIFT)
#define CODEC_HASH(Site) \
    (((ULONG)(Site) * CODEC_SITE_MULTIPLIER) >> CODEC_HASH_SHIFT)
#define CODEC_PAIR(Last, Site) \
    ((((ULONG)(Last) * CODEC_LAST_MULTIPLIER) ^ \
      ((ULONG)(Site) * CODEC_SITE_MULTIPLIER)) >> CODEC_HASH_SHIFT)

//
// A token's upper bit is the slot that is right.  The other bits are the ticks
// since the lane's last record, if they are fewer than CODEC_SHORT; or
// CODEC_SHORT - 1 and the number of bytes that they take among the operands.
// One token says that no slot is right.
//

#define CODEC_SLOT_SHIFT 7
#define CODEC_SHORT 112u
#define CODEC_MAXIMUM_TIME_BYTES 8u
#define CODEC_MISSED 127u

//
// Its first operand: how many bytes of ticks follow, then the form of the
// site, then that of the change of StackKind, which follow in this order.
//

#define CODEC_MISS_TIME         0x0Fu
#define CODEC_MISS_SITE         0x30u
#define CODEC_SITE_BYTE         0x00u   // its number
#define CODEC_SITE_WORD         0x10u   // its number
#define CODEC_SITE_NEW          0x20u   // itself, which gets the next number
#define CODEC_MISS_STACK_SHIFT  6       // 0: that of the same pair of sites;
                                        // 1, 2: so many bytes; 3: four

//
// An encoder writes eight bytes for each operand, of which some count: the last
// of a record begins behind 13 others at most.
//

#define CODEC_ROOM_FOR_OPERANDS (1 + 8 + 4 + 8)

typedef struct _CODEC_LANE {
    ULONGLONG Timestamp;            // these two of its last record
    ULONGLONG Word;
    ULONG Context;
    ULONG Unused;
} CODEC_LANE;
typedef CODEC_LANE *PCODEC_LANE;

//
// What is learned while a block is coded.
//

// What follows a context is predicted by two slots, the newest first.  One that
// is right is not touched, so that what is ordinary changes nothing.
//

typedef struct _CODEC_MODEL {
    ULONGLONG Slots[2][CODEC_CONTEXTS];
    ULONG Pairs[CODEC_PAIRS];       // the change of StackKind
    ULONG Sites[CODEC_SITES];       // by number
    ULONG NumberOfSites;
    ULONG Unused;
} CODEC_MODEL;
typedef CODEC_MODEL *PCODEC_MODEL;

typedef struct _CODEC_ENCODER {
    CODEC_MODEL Model;
    USHORT Numbers[CODEC_SITES];    // of a site, by its hash, if it has one
    PUCHAR Operand;                 // the next one
    PUCHAR Limit;                   // the block would not be smaller
} CODEC_ENCODER;

//
// Prefix codes: no longer than this, and complete.
//

#define CODEC_CODE_BITS 11u
#define CODEC_CODES (1u << CODEC_CODE_BITS)
#define CODEC_SYMBOLS 256u

//
// A part of a dense block is one of these, and then what it says.
//

#define CODEC_PART_RAW      0
#define CODEC_PART_CODED    1

#define CODEC_STREAM_SIZES (CODEC_LANES * (ULONG)sizeof(ULONG))

typedef struct _CODEC_PACKER {
    CODEC_ENCODER Encoder;
    ULONG Counts[CODEC_SYMBOLS];
    ULONG Weights[2 * CODEC_SYMBOLS];
    USHORT Parents[2 * CODEC_SYMBOLS];
    USHORT Order[CODEC_SYMBOLS];
    USHORT Codes[CODEC_SYMBOLS];
    UCHAR Lengths[CODEC_SYMBOLS];
    UCHAR Described[CODEC_SYMBOLS];
    ULONGLONG Block[CODEC_BOUND(CODEC_MAXIMUM_BYTES) / 8];
} CODEC_PACKER;

typedef struct _CODEC_DECODER {
    CODEC_MODEL Model;
    USHORT Codes[CODEC_CODES];      // symbol, and length << 8
    UCHAR Lengths[CODEC_SYMBOLS];
    UCHAR Bytes[CODEC_MAXIMUM_BYTES + 8];   // tokens, then operands
} CODEC_DECODER;

C_ASSERT(sizeof(CODEC_ENCODER) <= CODEC_ENCODER_SIZE);
C_ASSERT(FIELD_OFFSET(CODEC_ENCODER, Numbers) % sizeof(ULONGLONG) == 0);
C_ASSERT(FIELD_OFFSET(CODEC_PACKER, Counts) % sizeof(ULONGLONG) == 0);
C_ASSERT(sizeof(CODEC_PACKER) <= CODEC_PACKER_SIZE);
C_ASSERT(sizeof(CODEC_DECODER) <= CODEC_DECODER_SIZE);

//
// Numbers at any address, little endian.
//

CODEC_INLINE
ULONGLONG
CodecLoad64(
    _In_reads_bytes_(8) const VOID *Address
    )
{
    ULONGLONG Value;

#if defined(_MSC_VER) && !defined(__clang__)
    Value = *(const ULONGLONG __unaligned *)Address;
#else
    __builtin_memcpy(&Value, Address, sizeof(Value));
#endif
    return Value;
}

CODEC_INLINE
ULONG
CodecLoad32(
    _In_reads_bytes_(4) const VOID *Address
    )
{
    ULONG Value;

#if defined(_MSC_VER) && !defined(__clang__)
    Value = *(const ULONG __unaligned *)Address;
#else
    __builtin_memcpy(&Value, Address, sizeof(Value));
#endif
    return Value;
}

CODEC_INLINE
VOID
CodecStore64(
    _Out_writes_bytes_(8) PVOID Address,
    _In_ ULONGLONG Value
    )
{
#if defined(_MSC_VER) && !defined(__clang__)
    *(ULONGLONG __unaligned *)Address = Value;
#else
    __builtin_memcpy(Address, &Value, sizeof(Value));
#endif
}

CODEC_INLINE
VOID
CodecStore32(
    _Out_writes_bytes_(4) PVOID Address,
    _In_ ULONG Value
    )
{
#if defined(_MSC_VER) && !defined(__clang__)
    *(ULONG __unaligned *)Address = Value;
#else
    __builtin_memcpy(Address, &Value, sizeof(Value));
#endif
}

//
// The low bytes of a number.
// SizeInBytes: 0 to 8.
//

CODEC_INLINE
ULONGLONG
CodecLowBytes(
    _In_ ULONGLONG Value,
    _In_ ULONG SizeInBytes
    )
{
    return SizeInBytes == 0 ? 0 : Value & (~0ULL >> (64 - 8 * SizeInBytes));
}

//
// How many bytes a number takes, 0 to 8.
//

CODEC_INLINE
ULONG
CodecCountBytes(
    _In_ ULONGLONG Value
    )
{
#if defined(_MSC_VER) && !defined(__clang__)

    unsigned long Position;

    return _BitScanReverse64(&Position, Value) ? (ULONG)Position / 8 + 1 : 0;

#else

    return Value == 0 ? 0 : 8 - (ULONG)__builtin_clzll(Value) / 8;

#endif
}

//
// Forgets what was learned.  CodecBlock.c
//

VOID
CodecBeginModel(
    _Out_ PCODEC_MODEL Model
    );

//
// Takes a record that no slot predicted into the model.
// Growth: of the second half, as a slot has it.
// StackChange: of StackKind alone.
//

CODEC_INLINE
VOID
CodecLearn(
    _Inout_ PCODEC_MODEL Model,
    _In_ ULONG Context,
    _In_ ULONGLONG Growth,
    _In_ ULONG Pair,
    _In_ ULONG StackChange
    )
{
    ULONG Place = CODEC_PLACE(Context);

    Model->Slots[1][Place] = Model->Slots[0][Place];
    Model->Slots[0][Place] = Growth;
    Model->Pairs[Pair] = StackChange;
}

//
// Gives a site the next number, if there is one left.
//

CODEC_INLINE
VOID
CodecNumberSite(
    _Inout_ PCODEC_MODEL Model,
    _In_ ULONG Site
    )
{
    if (Model->NumberOfSites < CODEC_SITES) {
        Model->Sites[Model->NumberOfSites] = Site;
        Model->NumberOfSites += 1;
    }
}

//
// Zeroes words.  CodecBlock.c
// SizeInBytes: a multiple of CODEC_ZERO_SIZE.
//

#define CODEC_ZERO_SIZE 64u

C_ASSERT(sizeof(CODEC_BLOCK) % CODEC_ZERO_SIZE == 0);

VOID
CodecZero(
    _Out_writes_bytes_(SizeInBytes) PVOID Words,
    _In_ ULONG SizeInBytes
    );

//
// Copies bytes that do not overlap.  CodecBlock.c
//

VOID
CodecCopy(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_reads_bytes_(SizeInBytes) const VOID *Source,
    _In_ ULONG SizeInBytes
    );

//
// Takes a dense block apart into tokens and operands, one behind the other.
// CodecUnpack.c.  FALSE: it is damaged.
//
// Encoded: what follows the header.
// Header: good, of method CODEC_METHOD_DENSE.
// Left: receives how many bytes are left behind the two parts.
//

_Success_(return != FALSE)
BOOLEAN
CodecUnpack(
    _Inout_ PCODEC_DECODER Decoder,
    _In_ const UCHAR *Encoded,
    _In_ PCCODEC_BLOCK Header,
    _Out_ PULONG Left
    );

#endif // TRACER_CODEC_PRIVATE_H
