;++
;
; Module Name:
;
;   KernelGcc.asm
;
; Abstract:
;
;   The names that MinGW gcc and clang call beside _penter and _pexit:
;
;       __return__      gcc -minstrument-return=call: directly before ret, or
;                       before the jmp of a tail call
;       __fentry__      clang -pg -mfentry: entries only
;       __cyg_profile_func_enter, _exit
;                       -finstrument-functions: rcx is the function
;       _monstartup     referenced where -pg was given; nothing of it is needed
;
;   The linker directive keeps them out of the exports that GNU ld makes for a
;   driver that is linked with -shared.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

        extern KernelEnterRoutine
        extern KernelExitRoutine
        extern KernelEnterFunctionRoutine
        extern KernelExitFunctionRoutine

        section .drectve info
        db " -exclude-symbols:_penter,_pexit,__return__,_monstartup"
        db ",__fentry__,__cyg_profile_func_enter,__cyg_profile_func_exit "

        section .text code align=16

        global __return__
        global __fentry__
        global __cyg_profile_func_enter
        global __cyg_profile_func_exit
        global _monstartup

        align 16
__return__:
        jmp     [KernelExitRoutine]

        align 16
__fentry__:
        jmp     [KernelEnterRoutine]

        align 16
__cyg_profile_func_enter:
        jmp     [KernelEnterFunctionRoutine]

        align 16
__cyg_profile_func_exit:
        jmp     [KernelExitFunctionRoutine]

        align 16
_monstartup:
        ret
