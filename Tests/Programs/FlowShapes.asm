;++
;
; Module Name:
;
;   FlowShapes.asm
;
; Abstract:
;
;   Functions in the shapes that MSVC gives them under /Gh and /GH, with frames
;   of many sizes.  Each hands what it was given, and its number, to
;   FlowShapeBody (FlowShapes.c) and returns what that returns:
;
;       SHAPE           pushes, an allocation, _penter, the body, _pexit
;       SHAPE_ALLOCA    a frame register; the stack grows, then the body
;       SHAPE_GROWS     a frame register; the body, then the stack grows
;       FlowLeaf        no frame: _penter and _pexit only
;
;   RAX and the argument registers are live at the calls of the hooks.
;
;--

        bits 64
        default rel

        extern _penter
        extern _pexit
        extern FlowShapeBody

        section .xdata rdata align=4
        section .pdata rdata align=4
        section .text code align=16

%define PUSH_RBX        0x30
%define PUSH_RBP        0x50
%define PUSH_RSI        0x60
%define PUSH_RDI        0x70
%define ALLOCATE_LARGE  0x01
%define SET_FRAME       0x03

;
; Sizes of instructions: a label inside a function would be taken for the name
; of the code behind it.
;

%define SUB_SIZE(Size)  (7 - 3 * ((Size) < 128))
%define LEA_SIZE        5
%define PROBE_SIZE(Size) (8 * ((Size) / 4096))

;
; Touches every page of an allocation of %1 bytes, as a stack probe does.
;

%macro PROBE 1
%assign Touched 4096
%rep %1 / 4096
        mov     byte [rsp - Touched], 0
%assign Touched Touched + 4096
%endrep
%endmacro

%macro FUNCTION_TABLE 1
        section .pdata
        dd      %1 wrt ..imagebase
        dd      %1_end wrt ..imagebase
        dd      %1_info wrt ..imagebase
        section .text
%endmacro

;
; SHAPE Name, number, pushes (0 to 3), bytes allocated.
;

%macro SHAPE 4
        global  %1
        align 16
%1:
%if %3 > 0
        push    rbx
%endif
%if %3 > 1
        push    rsi
%endif
%if %3 > 2
        push    rdi
%endif
        PROBE   %4
        sub     rsp, %4
        call    _penter
        mov     edx, %2
        call    FlowShapeBody
        call    _pexit
        add     rsp, %4
%if %3 > 2
        pop     rdi
%endif
%if %3 > 1
        pop     rsi
%endif
%if %3 > 0
        pop     rbx
%endif
        ret
%1_end:

        section .xdata
        align 4, db 0
%1_info:
        db      1
        db      %3 + PROBE_SIZE(%4) + SUB_SIZE(%4)
        db      %3 + 2
        db      0
        db      %3 + PROBE_SIZE(%4) + SUB_SIZE(%4), ALLOCATE_LARGE
        dw      (%4) / 8
%if %3 > 2
        db      3, PUSH_RDI
%endif
%if %3 > 1
        db      2, PUSH_RSI
%endif
%if %3 > 0
        db      1, PUSH_RBX
%endif
        align 4, db 0
        FUNCTION_TABLE %1
%endmacro

;
; The prolog, epilog and unwind data of a function with a frame register: rbp
; is 32 bytes above the bottom of the fixed frame, which is 72 bytes.
;

%macro FRAME_BEGIN 1
        global  %1
        align 16
%1:
        push    rbp
        push    rbx
        sub     rsp, 72
        lea     rbp, [rsp + 32]
        call    _penter
%endmacro

%macro FRAME_END 1
        call    _pexit
        lea     rsp, [rbp + 40]
        pop     rbx
        pop     rbp
        ret
%1_end:

        section .xdata
        align 4, db 0
%1_info:
        db      1
        db      2 + SUB_SIZE(72) + LEA_SIZE
        db      5
        db      0x25
        db      2 + SUB_SIZE(72) + LEA_SIZE, SET_FRAME
        db      2 + SUB_SIZE(72), ALLOCATE_LARGE
        dw      72 / 8
        db      2, PUSH_RBX
        db      1, PUSH_RBP
        align 4, db 0
        FUNCTION_TABLE %1
%endmacro

;
; SHAPE_ALLOCA Name, number, bytes that the stack grows by.
;

%macro SHAPE_ALLOCA 3
        FRAME_BEGIN %1
        PROBE   %3
        sub     rsp, %3
        mov     edx, %2
        call    FlowShapeBody
        FRAME_END %1
%endmacro

%macro SHAPE_GROWS 3
        FRAME_BEGIN %1
        mov     edx, %2
        call    FlowShapeBody
        PROBE   %3
        sub     rsp, %3
        FRAME_END %1
%endmacro

        SHAPE   Shape40, 0, 0, 40
        SHAPE   Shape56, 1, 0, 56
        SHAPE   Shape104, 2, 0, 104
        SHAPE   Shape520, 3, 0, 520
        SHAPE   Shape4104, 4, 0, 4104
        SHAPE   Shape70008, 5, 0, 70008
        SHAPE   ShapePush32, 6, 1, 32
        SHAPE   ShapePush96, 7, 1, 96
        SHAPE   ShapePush1024, 8, 1, 1024
        SHAPE   ShapePushTwo40, 9, 2, 40
        SHAPE   ShapePushTwo9000, 10, 2, 9000
        SHAPE   ShapePushThree32, 11, 3, 32
        SHAPE   ShapePushThree256, 12, 3, 256
        SHAPE   ShapePushThree30000, 13, 3, 30000
        SHAPE_ALLOCA ShapeAlloca16, 14, 16
        SHAPE_ALLOCA ShapeAlloca8000, 15, 8000
        SHAPE_GROWS ShapeGrows32, 16, 32
        SHAPE_GROWS ShapeGrows6400, 17, 6400
        SHAPE_GROWS ShapeGrows50000, 18, 50000

        global  FlowLeaf
        align 16
FlowLeaf:
        call    _penter
        lea     eax, [rcx + rcx * 2]
        call    _pexit
        ret
