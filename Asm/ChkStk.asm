;++
;
; Module Name:
;
;   ChkStk.asm
;
; Abstract:
;
;   The stack probe that compilers call before they move RSP by a page or more,
;   for programs without a C runtime.  TracerPenter.lib does not need it: its
;   frames are smaller than a page.
;
;   The object is harmless where it is not wanted: it has this one symbol, no
;   data, and refers to nothing.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

        section .text code align=16

;++
;
; VOID
; __chkstk (
;     rax = size of the frame in bytes
;     )
;
; Routine Description:
;
;   Reads one byte of each page from the caller's RSP down to RSP - RAX, from
;   the top, so that guard pages are met one after the other and the system
;   extends the stack.  The caller then subtracts RAX from RSP.
;
; Arguments:
;
;   rax - Supplies the size in bytes.
;
; Return Value:
;
;   None.
;
; Registers:
;
;   All are preserved but r10, r11 and the flags.  RSP does not move, so this
;   is a leaf function without unwind data.
;
;   r10 - Bytes that are left.
;
;   r11 - The address probed last.
;
;--

        global __chkstk
        align 16
__chkstk:
        mov     r10, rax
        lea     r11, [rsp + 8]              ; caller's RSP
        jmp     short .compare

.page:
        sub     r11, 4096
        test    [r11], r10b                 ; probe
        sub     r10, 4096

.compare:
        cmp     r10, 4096
        ja      short .page

        sub     r11, r10
        test    [r11], r10b                 ; probe the last one
        ret
