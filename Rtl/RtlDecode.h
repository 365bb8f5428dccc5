/*++

Module Name:

    RtlDecode.h

Abstract:

    How long an x64 instruction is, and where its parts are; where instructions
    begin in a function.

    The bytes may be anything.  The code is pure C over bytes and also builds
    natively.

--*/

#ifndef TRACER_RTL_DECODE_H
#define TRACER_RTL_DECODE_H

#include "RtlTypes.h"

//
// The table that an instruction's opcode is of; those of VEX and EVEX are
// numbered as the others are.
//

#define RTL_OPCODES_PRIMARY  0
#define RTL_OPCODES_0F       1
#define RTL_OPCODES_0F38     2
#define RTL_OPCODES_0F3A     3

typedef struct _RTL_INSTRUCTION {
    UCHAR Length;                   // bytes
    UCHAR Table;                    // RTL_OPCODES_*
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
} RTL_INSTRUCTION;
typedef RTL_INSTRUCTION *PRTL_INSTRUCTION;
typedef const RTL_INSTRUCTION *PCRTL_INSTRUCTION;

//
// Marks of a byte of code.
//

#define RTL_MARK_START          1       // an instruction begins
#define RTL_MARK_TARGET         2       // a jump arrives

//
// FALSE if the bytes are no instruction of 64-bit code that is known, or not
// all of one.
//

_Success_(return != FALSE)
BOOLEAN
RtlDecodeInstruction(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _Out_ PRTL_INSTRUCTION Instruction
    );

//
// Says where a direct jump goes to; Address is that of the instruction and
// whatever it counts from.  FALSE if it is no direct jump.
//

_Success_(return != FALSE)
BOOLEAN
RtlFindJump(
    _In_ PCRTL_INSTRUCTION Instruction,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Address,
    _Out_ PULONG Target
    );

//
// Decodes a function from its first byte to its last, and marks where
// instructions begin and where its jumps arrive in it.  FALSE, and the marks
// say nothing, if it is not all made of instructions, or a jump arrives in the
// middle of one: then something else than code is in it, and what follows that
// need not be what it looks like.  HasIndirectJump is whether it jumps where
// nobody can tell.
//

BOOLEAN
RtlMarkInstructions(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _Out_writes_bytes_(SizeInBytes) PUCHAR Marks,
    _Out_ PBOOLEAN HasIndirectJump
    );

#endif // TRACER_RTL_DECODE_H
