;++
;
; Module Name:
;
;   PenterFentry.asm
;
; Abstract:
;
;   __fentry__, which clang calls at function entry with -pg -mfentry.  It has
;   no counterpart at the exit: calls are counted, their ends are not known.
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "PenterHook.inc"

        OBJECT_FEATURES

        extern PenterEnterRoutine

        section .text code align=16

        global __fentry__
        PUBLIC_HOOK __fentry__
        jmp     [PenterEnterRoutine]
