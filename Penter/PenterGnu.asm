;++
;
; Module Name:
;
;   PenterGnu.asm
;
; Abstract:
;
;   The names that MinGW's compilers call Penter.h's routines by.  They bring
;   the linker directive of PenterGcc.asm with them, into a DLL that has no
;   hooks, too.  Microsoft's linker does not know it, and its compiler calls the
;   routines by their own names.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

        section .drectve info
%include "ExcludeSymbols.inc"

        section .text code align=16

%macro GNU_NAME 1
        extern  %1
        global  %1Gnu
        align   16
%1Gnu:
        jmp     %1
%endmacro

        GNU_NAME PenterMark
        GNU_NAME PenterNameThread
        GNU_NAME PenterStart
        GNU_NAME PenterStop
        GNU_NAME PenterClear
