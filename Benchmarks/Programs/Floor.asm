;++
;
; Module Name:
;
;   Floor.asm
;
; Abstract:
;
;   The floor that BenchHooks.sh compares with: hooks that read the time stamp
;   counter, keep rax and rdx, and do nothing else.
;
;--

        bits 64
        default rel

        section .text code align=64

        global _penter
        global __return__
        global _monstartup

        align 64
_penter:
        push    rax
        push    rdx
        rdtsc
        pop     rdx
        pop     rax
        ret

        align 64
__return__:
        push    rax
        push    rdx
        rdtsc
        pop     rdx
        pop     rax
        ret

        align 16
_monstartup:
        ret
