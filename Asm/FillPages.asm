;++
;
; Module Name:
;
;   FillPages.asm
;
; Abstract:
;
;   Fills whole pages with a byte, with AVX2.  FillPages.c is the same in C.
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
; AsmFillPages(
;     _Out_writes_bytes_(SizeInBytes) PVOID Destination,
;     _In_ SIZE_T SizeInBytes,
;     _In_ BYTE Value
;     );
;
; Routine Description:
;
;   Fills pages from the first to the last.  Below FILL_PAGES_STREAM bytes the
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
;   SizeInBytes (rdx) - Supplies the size, a multiple of 4,096; 0 is allowed.
;
;   Value (r8b) - Supplies the byte.
;
; Return Value:
;
;   TRUE (al), or FALSE if an argument is not aligned or the range goes beyond
;   the end of the address space; then nothing was written.
;
; Registers: rax, rcx and r9 are written; ymm0; flags.  The upper halves of all
;   vector registers are zero afterwards, but not if FALSE is returned.
;
;   rcx - The next byte.
;
;   r9 - The end of the range.
;
;--

        global AsmFillPages
        align 64
AsmFillPages:
        mov     eax, ecx
        or      eax, edx
        test    eax, PAGES_SIZE - 1
        jnz     .refuse
        mov     r9, rcx
        add     r9, rdx
        jc      .refuse
        test    rdx, rdx
        jz      .nothing

        vmovd   xmm0, r8d
        vpbroadcastb ymm0, xmm0
        cmp     rdx, FILL_PAGES_STREAM
        jae     .stream

        align 32
.next:
%assign Offset 0
%rep 8
        vmovdqa [rcx + Offset], ymm0
%assign Offset Offset + 32
%endrep
        add     rcx, 256
        cmp     rcx, r9
        jb      .next
        vzeroupper

.nothing:
        mov     eax, 1
        ret

        align 32
.stream:
%assign Offset 0
%rep 8
        vmovntdq [rcx + Offset], ymm0
%assign Offset Offset + 32
%endrep
        add     rcx, 256
        cmp     rcx, r9
        jb      .stream
        sfence
        vzeroupper
        mov     eax, 1
        ret

.refuse:
        xor     eax, eax
        ret
