;++
;
; Module Name:
;
;   PenterGcc.asm
;
; Abstract:
;
;   The names that MinGW gcc calls beside _penter:
;
;       __return__      -minstrument-return=call: directly before ret, or
;                       before the jmp of a tail call
;       _monstartup     referenced by main when compiled with -pg; we need
;                       nothing of it
;
;   The linker directive keeps the library's symbols out of the export table
;   that GNU ld makes for a DLL when it is told nothing else: an EXE would
;   otherwise bind to the DLL's copy of the hooks.  GNU ld 2.40 and later know
;   it, and so does lld.  The list is generated (ExcludeSymbols.inc).
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "PenterHook.inc"

        OBJECT_FEATURES

        extern PenterExitRoutine

        section .drectve info
%include "ExcludeSymbols.inc"

        section .text code align=16

        global __return__
        PUBLIC_HOOK __return__
        jmp     [PenterExitRoutine]

        global _monstartup
        align 16
_monstartup:
        ret
