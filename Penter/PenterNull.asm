;++
;
; Module Name:
;
;   PenterNull.asm
;
; Abstract:
;
;   TracerPenterNull.lib: every name of TracerPenter.lib with nothing behind
;   it, so that an instrumented build runs untraced without being recompiled.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

        section .drectve info
        db " -exclude-symbols:_penter,_pexit,__return__,_monstartup"
        db ",__fentry__,__cyg_profile_func_enter,__cyg_profile_func_exit"
        db ",PenterMark,PenterNameThread,PenterStart,PenterStop,PenterClear"
        db ",PenterMarkGnu,PenterNameThreadGnu,PenterStartGnu,PenterStopGnu"
        db ",PenterClearGnu "

        section .text code align=16

        global _penter
        global _pexit
        global __return__
        global __fentry__
        global _monstartup
        global __cyg_profile_func_enter
        global __cyg_profile_func_exit
        global PenterMark
        global PenterNameThread
        global PenterStart
        global PenterStop
        global PenterClear
        global PenterMarkGnu
        global PenterNameThreadGnu
        global PenterStartGnu
        global PenterStopGnu
        global PenterClearGnu

_penter:
_pexit:
__return__:
__fentry__:
_monstartup:
__cyg_profile_func_enter:
__cyg_profile_func_exit:
PenterMark:
PenterNameThread:
PenterStart:
PenterStop:
PenterClear:
PenterMarkGnu:
PenterNameThreadGnu:
PenterStartGnu:
PenterStopGnu:
PenterClearGnu:
        ret

;
; TraceReader run looks for it in a program that has left no session
; (CommandRun.c).
;

        align 16
        db "Tracer: the hooks that record nothing", 0
