;
; Module Name:
;
;   StringTableAvx2.asm
;
; Abstract:
;
;   The search of a flat string table with AVX2: one pass over 16 slots.
;   StringTableAvx2.c has its twin in C.
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

        extern  StringTableFlatScalar
        extern  StringTableFlatScalarBytes
        extern  StringTableFlatScalarUtf16

        section .text code align=64

;
; What makes the letters A to Z small: they are moved to the lowest numbers
; that there are, with a sign, and compared once.
;

        align   32
FoldBytesMove:          times 32 db 0x80 - 'A'
FoldBytesLast:          times 32 db 0x80 + 25
FoldBytesBit:           times 32 db 0x20
FoldUtf16Move:          times 16 dw 0x8000 - 'A'
FoldUtf16Last:          times 16 dw 0x8000 + 25
FoldUtf16Bit:           times 16 dw 0x20

;
; FOLD HOW: folds ymm0; changes ymm2.
;

%macro FOLD 1
%ifidn %1, Bytes
        vpaddb  ymm2, ymm0, [FoldBytesMove]
        vpcmpgtb ymm2, ymm2, [FoldBytesLast]
        vpandn  ymm2, ymm2, [FoldBytesBit]
        vpor    ymm0, ymm0, ymm2
%elifidn %1, Utf16
        vpaddw  ymm2, ymm0, [FoldUtf16Move]
        vpcmpgtw ymm2, ymm2, [FoldUtf16Last]
        vpandn  ymm2, ymm2, [FoldUtf16Bit]
        vpor    ymm0, ymm0, ymm2
%endif
%endmacro

;
; CANDIDATES: the candidates of ymm1 and ymm4, in eax; changes r11.
;

%macro CANDIDATES 0
        vmovmskps eax, ymm1
        vmovmskps r11d, ymm4
        shl     r11d, 8
        or      eax, r11d
%endmacro

;
; uint32_t
; StringTableFlatAvx2(
;     PCSTRING_TABLE Table,
;     const void *String,
;     uint32_t LengthInBytes
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
;   A slot whose four key bytes are the string's is a candidate.  The first one,
;   or the slot after the last, which stands for none, is compared, and the
;   result chosen without a branch.  Branches are for a prefix of more than 64
;   bytes, and for a first candidate that was none while there are others.
;
;   64 bytes are read from the string's first one on.  If these go beyond its
;   page and the string is shorter, the scalar search does it all.
;
; Arguments:
;
;   rcx - the table.
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
;   rcx     the table
;   rdx     the string
;   r8d     the string's length in bytes
;   rax     the candidates, a bit each; then the slot
;   r9      the bytes that differ; later the slot
;   r10     the other candidates; later the prefix's length and a position
;   r11     scratch; later the prefix's bytes
;   ymm0    the string's first 32 bytes, folded; later others
;   ymm1    what the first eight slots' keys are compared with, and the result
;   ymm2    scratch
;   ymm3    the string's next 32 bytes, folded
;   ymm4    the same as ymm1, of the other eight slots
;

%macro SEARCH 2

        align   64
        global  %1
%1:
        test    r8d, r8d
        jz      %%None

        mov     eax, edx
        and     eax, PAGE_IN_BYTES - 1
        cmp     eax, PAGE_IN_BYTES - 2 * VECTOR_IN_BYTES
        ja      %%AtPageEnd

%%Load: mov     r8d, r8d                ; its upper half may be anything
%ifidn %2, None
        vmovdqu ymm0, [rdx]
        vmovdqu ymm3, [rdx + VECTOR_IN_BYTES]
        vbroadcasti128 ymm1, [rdx]
%else
        vmovdqu ymm0, [rdx + VECTOR_IN_BYTES]
        FOLD    %2
        vmovdqa ymm3, ymm0
        vmovdqu ymm0, [rdx]
        FOLD    %2
        vperm2i128 ymm1, ymm0, ymm0, 0
%endif
        vpshufb ymm4, ymm1, [rcx + TABLE_PLACES4 + VECTOR_IN_BYTES]
        vpshufb ymm1, ymm1, [rcx + TABLE_PLACES4]
        vpcmpeqd ymm4, ymm4, [rcx + TABLE_KEYS4 + VECTOR_IN_BYTES]
        vpcmpeqd ymm1, ymm1, [rcx + TABLE_KEYS4]
        CANDIDATES

        lea     r10d, [rax - 1]
        and     r10d, eax
        bts     eax, TABLE_NONE
        tzcnt   eax, eax

        mov     r9d, eax
        shl     r9d, TABLE_SLOT_SHIFT
        vpcmpeqb ymm3, ymm3, [rcx + r9 + TABLE_BYTES + VECTOR_IN_BYTES]
        vpcmpeqb ymm0, ymm0, [rcx + r9 + TABLE_BYTES]
        vpmovmskb r11d, ymm3
        vpmovmskb r9d, ymm0
        shl     r11, VECTOR_IN_BYTES
        or      r9, r11
        not     r9
        and     r9, [rcx + rax * 8 + TABLE_MASKS]

;
; A prefix that is longer than the string differs: the length is not 0.
;

        cmp     r8d, [rcx + rax * 4 + TABLE_LENGTHS]
        cmovb   r9, r8

        mov     r11d, 0xFFFFFFFF        ; STRING_TABLE_NOT_FOUND
        test    r9, r9
        cmovz   r10d, [rcx + rax * 4 + TABLE_ARE_LONG64]
        mov     eax, [rcx + rax * 4 + TABLE_INDEXES]
        cmovnz  eax, r11d
        test    r10d, r10d
        jnz     %%Candidates

        vzeroupper
        ret

;
; One candidate after the other, the longest prefix first.  tzcnt is never
; given zero, where it would differ from bsf, which is what it is to a
; processor that does not know it; above there is the bit of the slot for none.
;

        align   16
%%Candidates:
        CANDIDATES

%%Next: tzcnt   r9d, eax
        mov     r10d, [rcx + r9 * 4 + TABLE_LENGTHS]
        mov     r11, [rcx + r9 * 8 + TABLE_PREFIXES]
        cmp     r10d, r8d
        ja      %%Reject
        sub     r10, VECTOR_IN_BYTES
        jbe     %%Short

;
; More than 32 bytes: the last 32, the 32 before these, and so on, and in the
; end the first 32, which may overlap the ones before.  All are within the
; string, and a code unit is not cut in two.
;

%%Long: vmovdqu ymm0, [rdx + r10]
        FOLD    %2
        vpxor   ymm0, ymm0, [r11 + r10]
        vptest  ymm0, ymm0
        jnz     %%Reject
        sub     r10, VECTOR_IN_BYTES
        ja      %%Long

%%Short:
        vmovdqu ymm0, [rdx]
        FOLD    %2
        vpcmpeqb ymm0, ymm0, [r11]
        vpmovmskb r11d, ymm0
        not     r11d
        test    r11d, [rcx + r9 * 8 + TABLE_MASKS]
        jnz     %%Reject

        mov     eax, [rcx + r9 * 4 + TABLE_INDEXES]
        vzeroupper
        ret

%%Reject:
        lea     r9d, [rax - 1]
        and     eax, r9d
        jnz     %%Next

        vzeroupper
%%None: mov     eax, 0xFFFFFFFF         ; STRING_TABLE_NOT_FOUND
        ret

%%AtPageEnd:
        cmp     r8d, 2 * VECTOR_IN_BYTES
        jae     %%Load
%ifidn %2, None
        jmp     StringTableFlatScalar
%else
        jmp     StringTableFlatScalar%2
%endif

%endmacro

        SEARCH  StringTableFlatAvx2, None
        SEARCH  StringTableFlatAvx2Bytes, Bytes
        SEARCH  StringTableFlatAvx2Utf16, Utf16
