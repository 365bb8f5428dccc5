;
; Module Name:
;
;   StringTableAvx2.asm
;
; Abstract:
;
;   The search of a string table with AVX2: 32 prefixes are sifted at a time,
;   and 32 bytes compared at a time.
;

        default rel

%include "StringTable.inc"

%define VECTOR_IN_BYTES 32
%define PAGE_IN_BYTES   4096

;
; The object keeps the rules of control flow guard: it has no indirect call.
;

$@feat.00 equ 0x4800
        static  $@feat.00

        section .text code align=64

;
; ULONG
; StringTableSearchAvx2(
;     PCSTRING_TABLE_BLOCK Blocks,
;     const VOID *String,
;     ULONG LengthInBytes
;     );
;
; Routine Description:
;
;   Finds the longest prefix that a string begins with.  The processor must
;   have AVX2 and the operating system must save its registers.
;
;   A leaf: it moves neither the stack pointer nor a nonvolatile register, so
;   it needs no unwind data, and it does not touch the stack but to return.
;
;   Bytes of the string are read in three ways, none of which leaves the pages
;   that hold a byte of it: within the string; 32 bytes from its first one if
;   these are in one page; or, if they are not, the 32 bytes that end with the
;   compared part, which begin in the first byte's page.
;
; Arguments:
;
;   rcx - the first block.
;
;   rdx - the string.
;
;   r8d - its length in bytes.
;
; Return Value:
;
;   eax - the index of the prefix, or STRING_TABLE_NOT_FOUND.
;
; Registers:
;
;   rcx     the block
;   rdx     the string
;   r8d     the string's length in bytes
;   r9      scratch
;   r10d    the lanes of the block that are still candidates
;   rax     the candidate's lane, then its bytes
;   r11     the candidate's length in bytes, then a position
;   ymm0    scratch
;   ymm1    the string's length, or 255 if it is longer, in every byte
;   ymm2    scratch
;   ymm3    scratch
;

        align   64
        global  StringTableSearchAvx2
StringTableSearchAvx2:

        mov     eax, 255
        cmp     r8d, eax
        cmovb   eax, r8d
        vmovd   xmm1, eax
        vpbroadcastb ymm1, xmm1

;
; A string that is shorter than all prefixes of the block may not have the key
; byte: nothing of it is read.
;

.Block: cmp     r8d, [rcx + BLOCK_SHORTEST_LENGTH]
        jb      .NextBlock

        mov     eax, [rcx + BLOCK_KEY_OFFSET]
        vpbroadcastb ymm0, [rdx + rax]
        vpcmpeqb ymm0, ymm0, [rcx + BLOCK_KEYS]

;
; Not longer than the string: the smaller of both lengths is the prefix's.
;

        vmovdqu ymm2, [rcx + BLOCK_SHORT_LENGTHS]
        vpminub ymm3, ymm1, ymm2
        vpcmpeqb ymm2, ymm2, ymm3

        vpand   ymm0, ymm0, ymm2
        vpmovmskb r10d, ymm0
        and     r10d, [rcx + BLOCK_LANE_MASK]
        jnz     .Candidate

.NextBlock:
        cmp     dword [rcx + BLOCK_NUMBER_OF_BLOCKS_AFTER], 0
        lea     rcx, [rcx + BLOCK_SIZE]
        jne     .Block

        mov     eax, 0xFFFFFFFF         ; STRING_TABLE_NOT_FOUND
        vzeroupper
        ret

;
; The lowest lane has the longest prefix.  Its length was compared as a byte;
; where both are 255 or more it is compared here.
;
; tzcnt is never given zero, where it would differ from bsf, which is what it
; is to a processor that does not know it.
;

        align   16
.Candidate:
        tzcnt   eax, r10d
        mov     r11d, [rcx + rax * 4 + BLOCK_LENGTHS]
        mov     rax, [rcx + rax * 8 + BLOCK_PREFIXES]
        cmp     r11d, r8d
        ja      .Reject

        sub     r11, VECTOR_IN_BYTES
        jb      .Short
        jmp     .Long

.Reject:
        lea     r9d, [r10 - 1]
        and     r10d, r9d
        jnz     .Candidate
        jmp     .NextBlock

;
; 32 bytes or more: the last 32, the 32 before these, and so on, and in the
; end the first 32, which may overlap the ones before.  All are within the
; string.
;

        align   16
.Long:  vmovdqu ymm0, [rax + r11]
        vpxor   ymm0, ymm0, [rdx + r11]
        vptest  ymm0, ymm0
        jnz     .Reject
        sub     r11, VECTOR_IN_BYTES
        ja      .Long

        vmovdqu ymm0, [rax]
        vpxor   ymm0, ymm0, [rdx]
        vptest  ymm0, ymm0
        jnz     .Reject

;
; The prefix matches.
;

.Found: tzcnt   eax, r10d
        mov     eax, [rcx + rax * 4 + BLOCK_INDEXES]
        vzeroupper
        ret

;
; Less than 32 bytes; r11 is the length less 32.
;

        align   16
.Short: mov     r9d, edx
        and     r9d, PAGE_IN_BYTES - 1
        cmp     r9d, PAGE_IN_BYTES - VECTOR_IN_BYTES
        ja      .ShortAtPageEnd

;
; The position of the first byte that differs must be at or beyond the length.
; Bits 32 to 63 of r9 are ones after the not, so it is 32 if none differs.
;

        vmovdqu ymm0, [rdx]
        vpcmpeqb ymm0, ymm0, [rax]
        vpmovmskb r9d, ymm0
        not     r9
        tzcnt   r9, r9
        add     r11d, VECTOR_IN_BYTES
        cmp     r9d, r11d
        jae     .Found
        jmp     .Reject

;
; The string begins in the last 31 bytes of its page, so the 32 bytes before
; the end of the compared part begin in that page too.  The prefix is read at
; the same distance.  The position of the last byte that differs must be below
; that of the compared part, 32 less the length.
;

.ShortAtPageEnd:
        vmovdqu ymm0, [rdx + r11]
        vpcmpeqb ymm0, ymm0, [rax + r11]
        vpmovmskb r9d, ymm0
        xor     r9d, 0xFFFFFFFF
        jz      .Found
        bsr     r9d, r9d
        add     r9d, r11d
        jl      .Found
        jmp     .Reject
