;++
;
; Module Name:
;
;   CopyPages.asm
;
; Abstract:
;
;   Copies whole pages, with AVX2.  CopyPages.c is the same in C.
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "Pages.inc"

        OBJECT_FEATURES

        section .text code align=64

;++
;
; BOOLEAN
; AsmCopyPages(
;     _Out_writes_bytes_(SizeInBytes) PVOID Destination,
;     _In_reads_bytes_(SizeInBytes) const VOID *Source,
;     _In_ SIZE_T SizeInBytes
;     );
;
; Routine Description:
;
;   Copies pages from the first to the last.  Below COPY_PAGES_STREAM bytes the
;   stores are ordinary ones.  From there on they are non-temporal, and an
;   sfence makes them visible before anything that the caller stores later.
;
;   The processor must have AVX2 (RTL_CPU_FEATURES); this is not looked at.
;
;   A page that cannot be had raises an exception here.  A leaf: RSP does not
;   move, so no unwind data is needed and an exception unwinds straight to the
;   caller.
;
; Arguments:
;
;   Destination (rcx) - Receives the bytes; aligned on 4,096.
;
;   Source (rdx) - Supplies the bytes; aligned on 4,096.
;
;   SizeInBytes (r8) - Supplies the size, a multiple of 4,096; 0 is allowed.
;
; Return Value:
;
;   TRUE (al), or FALSE if an argument is not aligned, if the ranges have a byte
;   in common, or if one goes beyond the end of the address space; then nothing
;   was written.
;
; Registers: rax, rcx, rdx and r9 are written; ymm0 to ymm3; flags.  The upper
;   halves of all vector registers are zero afterwards, but not if FALSE is
;   returned.
;
;   rcx - The next byte to write.
;
;   rdx - The next byte to read.
;
;   r9 - The end of the destination.
;
;--

        global AsmCopyPages
        align 64
AsmCopyPages:
        mov     eax, ecx
        or      eax, edx
        or      eax, r8d
        test    eax, PAGES_SIZE - 1
        jnz     .refuse
        mov     rax, rdx
        add     rax, r8
        jc      .refuse
        mov     r9, rcx
        add     r9, r8
        jc      .refuse

        ;
        ; The one that begins later does not begin within the other.
        ;

        mov     rax, rcx
        sub     rax, rdx
        cmp     rax, r8
        jb      .refuse
        neg     rax
        cmp     rax, r8
        jb      .refuse
        test    r8, r8
        jz      .nothing
        cmp     r8, COPY_PAGES_STREAM
        jae     .stream

%macro COPY_256 1
%assign Offset 0
%rep 2
        vmovdqa ymm0, [rdx + Offset]
        vmovdqa ymm1, [rdx + Offset + 32]
        vmovdqa ymm2, [rdx + Offset + 64]
        vmovdqa ymm3, [rdx + Offset + 96]
        %1      [rcx + Offset], ymm0
        %1      [rcx + Offset + 32], ymm1
        %1      [rcx + Offset + 64], ymm2
        %1      [rcx + Offset + 96], ymm3
%assign Offset Offset + 128
%endrep
        add     rdx, 256
        add     rcx, 256
        cmp     rcx, r9
%endmacro

        align 32
.next:
        COPY_256 vmovdqa
        jb      .next
        vzeroupper

.nothing:
        mov     eax, 1
        ret

        align 32
.stream:
        COPY_256 vmovntdq
        jb      .stream
        sfence
        vzeroupper
        mov     eax, 1
        ret

.refuse:
        xor     eax, eax
        ret
