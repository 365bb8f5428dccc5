/*++

Module Name:

    Codec.h

Abstract:

    Records in a tenth of their size and less: blocks that stand alone.

    A block is up to 1 MiB of a store's records, or of any other bytes: what
    is decoded is what was encoded, whatever it was.  Docs/Format.md, section
    19, has the layout and the rules.

    All of this is portable C without system calls.  Nothing is allocated: the
    caller gives the memory of an encoder, a packer or a decoder, whose size
    is fixed, and which needs no initialization; each call begins anew.  The
    same bytes always give the same block.

--*/

#ifndef TRACER_CODEC_H
#define TRACER_CODEC_H

#include "../Rtl/RtlTypes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CODEC_MAGIC             0x4B425254u // "TRBK"
#define CODEC_VERSION           1
#define CODEC_HEADER_SIZE       64u
#define CODEC_MAXIMUM_RECORDS   65536u
#define CODEC_MAXIMUM_BYTES     (CODEC_MAXIMUM_RECORDS * 16u)

//
// The largest block that so many bytes become.
//

#define CODEC_BOUND(SizeInBytes) (CODEC_HEADER_SIZE + (SizeInBytes))

//
// What a block holds after its header.
//

#define CODEC_METHOD_STORED     0   // the bytes
#define CODEC_METHOD_TOKENS     1   // tokens and operands
#define CODEC_METHOD_DENSE      2   // the same in prefix codes

typedef struct _CODEC_BLOCK {
    ULONG Magic;
    UCHAR Version;
    UCHAR Method;                   // CODEC_METHOD_*
    USHORT Unused;                  // 0
    ULONG RawBytes;                 // that were encoded
    ULONG EncodedBytes;             // that follow this header
    ULONGLONG Position;             // the caller's: where the bytes were
    ULONGLONG FirstTimestamp;       // these two of the first and the last
    ULONGLONG LastTimestamp;        // whole record; 0: there is none
    ULONGLONG Unused3;              // 0
    ULONG OperandBytes;             // of methods 1 and 2
    ULONG Unused2;                  // 0
    ULONGLONG Sum;                  // CodecSumBlock
} CODEC_BLOCK;
typedef CODEC_BLOCK *PCODEC_BLOCK;
typedef const CODEC_BLOCK *PCCODEC_BLOCK;

C_ASSERT(sizeof(CODEC_BLOCK) == CODEC_HEADER_SIZE);

//
// What the three work with; see CodecPrivate.h.  SIZE bytes, aligned by 8.
//

typedef struct _CODEC_ENCODER *PCODEC_ENCODER;
typedef struct _CODEC_PACKER *PCODEC_PACKER;
typedef struct _CODEC_DECODER *PCODEC_DECODER;

#define CODEC_ENCODER_SIZE  0x20000u    // 128 KiB
#define CODEC_PACKER_SIZE   0x124000u   // 1,168 KiB
#define CODEC_DECODER_SIZE  0x11A000u   // 1,128 KiB

//
// Encodes bytes, fast: STORED or TOKENS.  What it costs is in proportion to
// their number, whatever they are, beside some microseconds to begin with.
//
// Raw: the bytes, aligned by 8.  Should they change meanwhile, the block may
// hold any of what they were, or not be decodable.
// SizeInBytes: how many, at most CODEC_MAXIMUM_BYTES.
// Position: put into the header.
// Block: receives the block; CODEC_BOUND(SizeInBytes) bytes, aligned by 8.
// Returns its size in bytes; 0: there are too many bytes.
//

ULONG
CodecEncode(
    _Out_ PCODEC_ENCODER Encoder,
    _In_reads_bytes_(SizeInBytes) const VOID *Raw,
    _In_ ULONG SizeInBytes,
    _In_ ULONGLONG Position,
    _Out_writes_bytes_to_(CODEC_BOUND(SizeInBytes), return) PVOID Block
    );

//
// The same, smaller and at half the rate: the smallest of all three methods.
//

ULONG
CodecPack(
    _Out_ PCODEC_PACKER Packer,
    _In_reads_bytes_(SizeInBytes) const VOID *Raw,
    _In_ ULONG SizeInBytes,
    _In_ ULONGLONG Position,
    _Out_writes_bytes_to_(CODEC_BOUND(SizeInBytes), return) PVOID Block
    );

//
// Checks the header of a block and copies it: then RawBytes and EncodedBytes
// may be relied upon. The sum is not checked.
//
//     STATUS_END_OF_FILE (there are not that many bytes), STATUS_FILE_INVALID
//     (no block), STATUS_REVISION_MISMATCH (another version or method),
//     STATUS_FILE_CORRUPT_ERROR (fields that contradict each other)
//
// Bytes: the block; what is behind its end is not read.
// SizeInBytes: how many bytes there are.
//

_Must_inspect_result_
NTSTATUS
CodecReadHeader(
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_ PCODEC_BLOCK Header
    );

//
// Decodes a block, whoever made it.
//
//     what CodecReadHeader returns; STATUS_FILE_CORRUPT_ERROR (the sum or the
//     contents are wrong), STATUS_BUFFER_TOO_SMALL
//
// Bytes, SizeInBytes: as for CodecReadHeader.  They may change meanwhile: then
// the result is any bytes, or an error.
// Raw: receives RawBytes bytes, aligned by 8; anything after a failure.
// CapacityInBytes: how many there is room for.
// Header: receives the block's header; all zeroes if that is not good.
//

_Must_inspect_result_
NTSTATUS
CodecDecode(
    _Out_ PCODEC_DECODER Decoder,
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_writes_bytes_(CapacityInBytes) PVOID Raw,
    _In_ SIZE_T CapacityInBytes,
    _Out_ PCODEC_BLOCK Header
    );

//
// The sum over a header, except for its Sum, and what follows it.
//

ULONGLONG
CodecSumBlock(
    _In_ PCCODEC_BLOCK Header,
    _In_reads_bytes_(Header->EncodedBytes) const VOID *Encoded
    );

#ifdef __cplusplus
}
#endif

#endif // TRACER_CODEC_H
