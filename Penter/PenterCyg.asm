;++
;
; Module Name:
;
;   PenterCyg.asm
;
; Abstract:
;
;   The hooks of -finstrument-functions, which gcc and clang call as ordinary
;   functions: rcx is the address of the instrumented function, rdx that of its
;   call site.
;
;   The linker directive is that of PenterGcc.asm.
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "PenterHook.inc"

        OBJECT_FEATURES

        extern PenterEnterFunctionRoutine
        extern PenterExitFunctionRoutine

        section .drectve info
%include "ExcludeSymbols.inc"

        section .text code align=16

        global __cyg_profile_func_enter
        PUBLIC_HOOK __cyg_profile_func_enter
        jmp     [PenterEnterFunctionRoutine]

        global __cyg_profile_func_exit
        PUBLIC_HOOK __cyg_profile_func_exit
        jmp     [PenterExitFunctionRoutine]
