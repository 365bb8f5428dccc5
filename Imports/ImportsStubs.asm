;++
;
; Module Name:
;
;   ImportsStubs.asm
;
; Abstract:
;
;   The stubs: each calls one function of another module between the two hooks.
;
;   A stub is an ordinary function with a frame, a place for the hooks and
;   unwind data.  It calls its target, and returns to whoever has called it: no
;   return address is changed and no code is made while the program runs.  So
;   whatever goes through the frames of compiled functions goes through these:
;   exceptions, longjmp, fibers, walks over the stack, shadow stacks.
;
;   What the target has on the stack of its caller is copied: a stub cannot know
;   how much that is, so it is as much as its kind has room for, and not beyond
;   the end of the stack.  Registers stay as they are but rax and r11, which no
;   argument is in.
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "ImportsLayout.inc"

        OBJECT_FEATURES

        extern _penter
        extern _pexit

;
; Thread environment block: the highest address of the stack.
;

%define TEB_STACK_BASE                  0x08

;
; The frame of a kind: the shadow space and the arguments, which leaves the
; stack aligned for the call.  The caller's arguments begin behind the return
; address and its shadow space.
;

%define FRAME(Arguments)        (0x20 + 8 * (Arguments))
%define FROM(Arguments)         (FRAME(Arguments) + 8 + 0x20)
%define TO                      0x20

%if FRAME(IMPORTS_SMALL_ARGUMENTS) % 16 != 8
%error "a call from a small stub would not be aligned"
%endif
%if FRAME(IMPORTS_LARGE_ARGUMENTS) % 16 != 8
%error "a call from a large stub would not be aligned"
%endif

        section .bss bss align=64

        global ImportsTargets
ImportsTargets:
        resq    IMPORTS_SMALL_STUBS + IMPORTS_LARGE_STUBS

        section .text code align=64

;++
;
; COPY_ROUTINE Name, Arguments
;
; Macro Description:
;
;   A leaf that a stub calls: copies so many arguments from the frame of the
;   stub's caller to the stub's own; where the stack ends before, up to there.
;   On a stack that is not the thread's own it is not known where that is.
;
;   Two at a time, through xmm5: of 61 arguments that takes 13 ns a call where
;   one at a time took 28.  The instructions are SSE's, which leave the upper
;   parts of the register alone, and it is kept where the target will have its
;   shadow space, for a vector may be an argument there.
;
; Registers:
;
;   rax, r11 and the flags are lost; all others are as they were.
;
;--

%if IMPORTS_SMALL_ARGUMENTS % 2 != 1 || IMPORTS_LARGE_ARGUMENTS % 2 != 1
%error "one argument is copied after the pairs"
%endif

%macro COPY_ROUTINE 2

        align   64
        global %1
%1:
        lea     r11, [rsp + 8 + FROM(%2) + 8 * (%2)]
        cmp     r11, [gs:TEB_STACK_BASE]
        ja      %%end_is_near
%%all:
        movaps  [rsp + 8], xmm5
%assign Argument 0
%rep %2 / 2
        movups  xmm5, [rsp + 8 + FROM(%2) + 8 * Argument]
        movaps  [rsp + 8 + TO + 8 * Argument], xmm5
%assign Argument Argument + 2
%endrep
        mov     rax, [rsp + 8 + FROM(%2) + 8 * Argument]
        mov     [rsp + 8 + TO + 8 * Argument], rax
        movaps  xmm5, [rsp + 8]
        ret

%%end_is_near:
        cmp     rsp, [gs:TEB_STACK_BASE]
        jae     %%all
        lea     r11, [rsp + 8 + FROM(%2)]
%%next:
        cmp     r11, [gs:TEB_STACK_BASE]
        jae     %%done
        mov     rax, [r11]
        mov     [r11 + TO - FROM(%2)], rax
        add     r11, 8
        jmp     %%next
%%done:
        ret

%endmacro

        COPY_ROUTINE ImportsCopySmall, IMPORTS_SMALL_ARGUMENTS
        COPY_ROUTINE ImportsCopyLarge, IMPORTS_LARGE_ARGUMENTS

;++
;
; STUBS Name, Count, First, Arguments, Copy
;
; Macro Description:
;
;   Count stubs of a kind, of IMPORTS_STUB_SIZE bytes each, and their unwind
;   data: the stub with the index k of all calls [ImportsTargets + 8 * k].
;
; Frame, of one:
;
;   rsp + 0     shadow space of the target
;   rsp + 20h   its arguments on the stack
;   rsp + FRAME return address of the stub
;
; Registers:
;
;   As of a call; rax and r11 are lost on the way to the target.  The hooks keep
;   all of them.
;
;--

%macro STUBS 5

        align   64
        global %1
%1:
%assign Stub 0
%rep %2
        sub     rsp, FRAME(%4)
        call    _penter
        call    %5
        call    [ImportsTargets + 8 * (%3 + Stub)]
        call    _pexit
        add     rsp, FRAME(%4)
        ret
        times %1 + IMPORTS_STUB_SIZE * (Stub + 1) - $ int3
%assign Stub Stub + 1
%endrep

        section .xdata rdata align=4
        align 4, db 0

        ;
        ; Version 1, a prolog of 7 bytes, two slots, no frame register.  Behind
        ; it UWOP_ALLOC_LARGE with the size in units of 8 bytes.
        ;

%%info:
        db 1, 7, 2, 0
        db 7, 1
        dw FRAME(%4) / 8

        section .pdata rdata align=4
%assign Stub 0
%rep %2
        dd (%1 + IMPORTS_STUB_SIZE * Stub) wrt ..imagebase
        dd (%1 + IMPORTS_STUB_SIZE * Stub + IMPORTS_STUB_LENGTH) wrt ..imagebase
        dd %%info wrt ..imagebase
%assign Stub Stub + 1
%endrep

        section .text

%endmacro

        STUBS ImportsSmallStubs, IMPORTS_SMALL_STUBS, 0, \
            IMPORTS_SMALL_ARGUMENTS, ImportsCopySmall
        STUBS ImportsLargeStubs, IMPORTS_LARGE_STUBS, IMPORTS_SMALL_STUBS, \
            IMPORTS_LARGE_ARGUMENTS, ImportsCopyLarge
