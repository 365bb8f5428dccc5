/*++

Module Name:

    ImageInstruction.h

Abstract:

    The bytes of x64 instructions that are looked for in an image's code.

--*/

#ifndef TRACER_IMAGE_INSTRUCTION_H
#define TRACER_IMAGE_INSTRUCTION_H

#define X64_CALL_NEAR                   0xE8
#define X64_JUMP_NEAR                   0xE9
#define X64_JUMP_SHORT                  0xEB
#define X64_JUMP_IF_SHORT               0x70    // + condition
#define X64_JUMP_IF_NEAR                0x80    // behind 0x0F, + condition
#define X64_INDIRECT                    0xFF    // with 0x15: call [rip + n]
#define X64_CALL_INDIRECT               0x15
#define X64_JUMP_INDIRECT               0x25    // likewise
#define X64_TWO_BYTES                   0x0F    // with 0x8n: jcc near
#define X64_LEA                         0x8D
#define X64_MOVE_TO                     0x89    // mov rm, r
#define X64_MOVE_FROM                   0x8B    // mov r, rm
#define X64_EXCHANGE                    0x87    // xchg rm, r
#define X64_EXCHANGE_RAX                0x90    // + register
#define X64_MOVE_IMMEDIATE              0xB8    // + register: mov r, imm64
#define X64_MOVE_IF                     0x40    // behind 0x0F, + condition
#define X64_MOVE_TO_XMM                 0x6E    // behind 0x66, REX and 0x0F:
#define X64_MOVE_FROM_XMM               0x7E    // movq between xmm and rm
#define X64_OPERAND_SIZE                0x66
#define X64_REPEAT                      0xF3
#define X64_REPEAT_NOT                  0xF2
#define X64_SEGMENT                     0x26    // es; cs, ss, ds: + 8 each
#define X64_SEGMENT_FS                  0x64    // gs, 66 and 67 follow
#define X64_REX                         0x40    // + W, R, X and B
#define X64_REX_W                       0x48    // 64 bits; R: the register,
#define X64_REX_WR                      0x4C    // B: rm is one of r8 to r15
#define X64_REX_B                       0x41
#define X64_PUSH_R10                    0x52    // behind REX.B
#define X64_POP_R10                     0x5A    // likewise
#define X64_RCX                         1
#define X64_NEAR_SIZE                   5
#define X64_LEA_SIZE                    7
#define X64_MOVE_SIZE                   3
#define X64_IMMEDIATE_SIZE              10
#define X64_INDIRECT_SIZE               6
#define X64_JUMP_IF_SIZE                6

#endif // TRACER_IMAGE_INSTRUCTION_H
