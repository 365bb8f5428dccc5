/*++

Module Name:

    ReaderDecode.h

Abstract:

    How long an x64 instruction is, and where its parts are.

    The bytes may be anything.  The code is pure C over bytes and also builds
    natively.

--*/

#ifndef TRACER_READER_DECODE_H
#define TRACER_READER_DECODE_H

#include "../Rtl/RtlTypes.h"

//
// The table that an instruction's opcode is of; those of VEX and EVEX are
// numbered as the others are.
//

#define READER_OPCODES_PRIMARY  0
#define READER_OPCODES_0F       1
#define READER_OPCODES_0F38     2
#define READER_OPCODES_0F3A     3

typedef struct _READER_INSTRUCTION {
    UCHAR Length;                   // bytes
    UCHAR Table;                    // READER_OPCODES_*
    UCHAR Opcode;
    UCHAR Rex;                      // 0: none; as if, of VEX
    BOOLEAN IsVector;               // VEX or EVEX
    BOOLEAN HasOperandSize;         // prefix 66
    BOOLEAN HasModRm;
    UCHAR ModRm;
    UCHAR DisplacementOffset;       // from the first byte; 0: none
    UCHAR DisplacementSize;         // bytes
    UCHAR ImmediateOffset;          // likewise
    UCHAR ImmediateSize;
} READER_INSTRUCTION;
typedef READER_INSTRUCTION *PREADER_INSTRUCTION;
typedef const READER_INSTRUCTION *PCREADER_INSTRUCTION;

//
// FALSE if the bytes are no instruction of 64-bit code that is known, or not
// all of one.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_DECODE_INSTRUCTION)(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _Out_ PREADER_INSTRUCTION Instruction
    );
READER_DECODE_INSTRUCTION ReaderDecodeInstruction;

#endif // TRACER_READER_DECODE_H
