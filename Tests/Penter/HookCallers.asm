;++
;
; Module Name:
;
;   HookCallers.asm
;
; Abstract:
;
;   Calls hooks for TestPenter: once, with the whole state of the machine set
;   before and stored after; and many times from call sites that are known.
;   And hooks that are broken on purpose, one for each property that the
;   comparison has to catch.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

;
; HOOK_STATE and HOOK_CALL of HookCallers.h, which asserts these values.
;

%define STATE_GENERAL           0       ; rax rcx rdx rbx rsp rbp rsi rdi r8...
%define STATE_FLAGS             128
%define STATE_MXCSR             136
%define STATE_LAST_ERROR        140
%define STATE_LAST_STATUS       144
%define STATE_X87               160
%define STATE_STACK             320
%define STATE_MASKS             448
%define STATE_VECTORS           512
%define STATE_SIZE              2560

%define CALL_HOOK               0
%define CALL_STACK_OFFSET       8
%define CALL_VECTOR_LEVEL       16
%define CALL_TSC_BEFORE         24
%define CALL_TSC_AFTER          32
%define CALL_X87_CONTROL        40
%define CALL_X87_VALUES         48
%define CALL_EXPECTED           128
%define CALL_ACTUAL             (CALL_EXPECTED + STATE_SIZE)
%define CALL_SIZE               (CALL_ACTUAL + STATE_SIZE)

%define EXPECTED(Field)         HookCall + CALL_EXPECTED + Field
%define ACTUAL(Field)           HookCall + CALL_ACTUAL + Field

%define TEB_LAST_ERROR          0x68
%define TEB_LAST_STATUS         0x1250

        section .bss bss align=64

        global HookCall
HookCall:                       resb CALL_SIZE

        alignb 16
DriverVectors:                  resb 10 * 16
DriverStack:                    resq 1
DriverMxcsr:                    resd 1
DriverX87Control:               resd 1

        section .text code align=64

;++
;
; VOID
; HookCallOnce(VOID)
;
; Routine Description:
;
;   Makes the call that HookCall describes.  The general registers, the flags,
;   the vector and mask registers, MXCSR, the x87 unit, the thread's last error
;   and last status values and the 128 bytes from RSP up are loaded from
;   Expected; after the call they are stored in Actual.  Expected's own RSP and
;   x87 image are made here.
;
;   One thread at a time may be in here.  The state is read through addresses,
;   not through a register, so that every register can hold a test's value.
;
;--

        global HookCallOnce
        global HookCallOnceSite

UNWIND_BEGIN HookCallOnce
        push    rbx
        UNWIND_PUSH UNWIND_RBX
        push    rbp
        UNWIND_PUSH UNWIND_RBP
        push    rsi
        UNWIND_PUSH UNWIND_RSI
        push    rdi
        UNWIND_PUSH UNWIND_RDI
        push    r12
        UNWIND_PUSH 12
        push    r13
        UNWIND_PUSH 13
        push    r14
        UNWIND_PUSH 14
        push    r15
        UNWIND_PUSH 15
        mov     rbp, rsp
        UNWIND_SET_FRAME UNWIND_RBP
UNWIND_END_PROLOG

        mov     [DriverStack], rsp
        stmxcsr [DriverMxcsr]
        fnstcw  [DriverX87Control]
%assign Index 6
%rep 10
        movups  [DriverVectors + (Index - 6) * 16], xmm%[Index]
%assign Index Index + 1
%endrep

        lfence
        rdtsc
        lfence
        shl     rdx, 32
        or      rax, rdx
        mov     [HookCall + CALL_TSC_BEFORE], rax

        fninit
        fldcw   [HookCall + CALL_X87_CONTROL]
        fld     qword [HookCall + CALL_X87_VALUES]
        fld     qword [HookCall + CALL_X87_VALUES + 8]
        fld     qword [HookCall + CALL_X87_VALUES + 16]
        fnsave  [EXPECTED(STATE_X87)]
        frstor  [EXPECTED(STATE_X87)]

        mov     eax, [HookCall + CALL_VECTOR_LEVEL]
        cmp     eax, 1
        ja      .load512
        je      .load256
%assign Index 0
%rep 16
        movups  xmm%[Index], [EXPECTED(STATE_VECTORS) + Index * 64]
%assign Index Index + 1
%endrep
        jmp     .loaded
.load256:
%assign Index 0
%rep 16
        vmovups ymm%[Index], [EXPECTED(STATE_VECTORS) + Index * 64]
%assign Index Index + 1
%endrep
        jmp     .loaded
.load512:
%assign Index 0
%rep 32
        vmovups zmm%[Index], [EXPECTED(STATE_VECTORS) + Index * 64]
%assign Index Index + 1
%endrep
%assign Index 0
%rep 8
        kmovq   k%[Index], [EXPECTED(STATE_MASKS) + Index * 8]
%assign Index Index + 1
%endrep
.loaded:

        lea     rsp, [rsp - 512]
        and     rsp, -64
        sub     rsp, [HookCall + CALL_STACK_OFFSET]
        mov     [EXPECTED(STATE_GENERAL) + 4 * 8], rsp
%assign Index 0
%rep 16
        mov     rax, [EXPECTED(STATE_STACK) + Index * 8]
        mov     [rsp + Index * 8], rax
%assign Index Index + 1
%endrep

        ldmxcsr [EXPECTED(STATE_MXCSR)]
        mov     eax, [EXPECTED(STATE_LAST_ERROR)]
        mov     [gs:TEB_LAST_ERROR], eax
        mov     eax, [EXPECTED(STATE_LAST_STATUS)]
        mov     [gs:TEB_LAST_STATUS], eax

        mov     rax, [EXPECTED(STATE_GENERAL) + 0 * 8]
        mov     rcx, [EXPECTED(STATE_GENERAL) + 1 * 8]
        mov     rdx, [EXPECTED(STATE_GENERAL) + 2 * 8]
        mov     rbx, [EXPECTED(STATE_GENERAL) + 3 * 8]
        mov     rbp, [EXPECTED(STATE_GENERAL) + 5 * 8]
        mov     rsi, [EXPECTED(STATE_GENERAL) + 6 * 8]
        mov     rdi, [EXPECTED(STATE_GENERAL) + 7 * 8]
%assign Index 8
%rep 8
        mov     r%[Index], [EXPECTED(STATE_GENERAL) + Index * 8]
%assign Index Index + 1
%endrep
        push    qword [EXPECTED(STATE_FLAGS)]
        popfq
        call    [HookCall + CALL_HOOK]

HookCallOnceSite:

        ;
        ; Moves leave the flags alone.  From here on RSP is what it has to be,
        ; not what the hook left: the bytes above it stay above it.
        ;

        mov     [ACTUAL(STATE_GENERAL) + 4 * 8], rsp
        mov     rsp, [EXPECTED(STATE_GENERAL) + 4 * 8]
        mov     [ACTUAL(STATE_GENERAL) + 0 * 8], rax
        mov     [ACTUAL(STATE_GENERAL) + 1 * 8], rcx
        mov     [ACTUAL(STATE_GENERAL) + 2 * 8], rdx
        mov     [ACTUAL(STATE_GENERAL) + 3 * 8], rbx
        mov     [ACTUAL(STATE_GENERAL) + 5 * 8], rbp
        mov     [ACTUAL(STATE_GENERAL) + 6 * 8], rsi
        mov     [ACTUAL(STATE_GENERAL) + 7 * 8], rdi
%assign Index 8
%rep 8
        mov     [ACTUAL(STATE_GENERAL) + Index * 8], r%[Index]
%assign Index Index + 1
%endrep
        pushfq
        pop     qword [ACTUAL(STATE_FLAGS)]
        cld

        stmxcsr [ACTUAL(STATE_MXCSR)]
        fnsave  [ACTUAL(STATE_X87)]
        mov     eax, [gs:TEB_LAST_ERROR]
        mov     [ACTUAL(STATE_LAST_ERROR)], eax
        mov     eax, [gs:TEB_LAST_STATUS]
        mov     [ACTUAL(STATE_LAST_STATUS)], eax
%assign Index 0
%rep 16
        mov     rax, [rsp + Index * 8]
        mov     [ACTUAL(STATE_STACK) + Index * 8], rax
%assign Index Index + 1
%endrep

        mov     eax, [HookCall + CALL_VECTOR_LEVEL]
        cmp     eax, 1
        ja      .store512
        je      .store256
%assign Index 0
%rep 16
        movups  [ACTUAL(STATE_VECTORS) + Index * 64], xmm%[Index]
%assign Index Index + 1
%endrep
        jmp     .stored
.store256:
%assign Index 0
%rep 16
        vmovups [ACTUAL(STATE_VECTORS) + Index * 64], ymm%[Index]
%assign Index Index + 1
%endrep
        vzeroupper
        jmp     .stored
.store512:
%assign Index 0
%rep 32
        vmovups [ACTUAL(STATE_VECTORS) + Index * 64], zmm%[Index]
%assign Index Index + 1
%endrep
%assign Index 0
%rep 8
        kmovq   [ACTUAL(STATE_MASKS) + Index * 8], k%[Index]
%assign Index Index + 1
%endrep
        vzeroupper
.stored:

        lfence
        rdtsc
        shl     rdx, 32
        or      rax, rdx
        mov     [HookCall + CALL_TSC_AFTER], rax

        fninit
        fldcw   [DriverX87Control]
        ldmxcsr [DriverMxcsr]
%assign Index 6
%rep 10
        movups  xmm%[Index], [DriverVectors + (Index - 6) * 16]
%assign Index Index + 1
%endrep

        mov     rsp, [DriverStack]
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rdi
        pop     rsi
        pop     rbp
        pop     rbx
        ret
UNWIND_END HookCallOnce

;++
;
; ULONG_PTR
; HookRepeat(PPENTER_ROUTINE Hook, ULONGLONG Count, ULONG_PTR Argument)
;
; Routine Description:
;
;   Calls Hook Count times (1 or more), with Argument in rcx and rdx, from
;   HookRepeatSite.  Returns RSP at the calls.
;
;--

        global HookRepeat
        global HookRepeatSite

        align 16
UNWIND_BEGIN HookRepeat
        push    rbx
        UNWIND_PUSH UNWIND_RBX
        push    rsi
        UNWIND_PUSH UNWIND_RSI
        push    rdi
        UNWIND_PUSH UNWIND_RDI
        sub     rsp, 32
        UNWIND_ALLOCATE 32
UNWIND_END_PROLOG
        mov     rbx, rcx
        mov     rsi, rdx
        mov     rdi, r8
HookRepeatNext:
        mov     rcx, rdi
        mov     rdx, rdi
        call    rbx
HookRepeatSite:
        dec     rsi
        jnz     HookRepeatNext
        mov     rax, rsp
        add     rsp, 32
        pop     rdi
        pop     rsi
        pop     rbx
        ret
UNWIND_END HookRepeat

;++
;
; ULONG_PTR
; HookRepeatPair(PPENTER_ROUTINE Enter, PPENTER_ROUTINE Exit, ULONGLONG Count,
;                ULONG_PTR Argument)
;
; Routine Description:
;
;   Calls Enter from HookPairEnterSite and Exit from HookPairExitSite, Count
;   times (1 or more), with Argument in rcx and rdx.  Returns RSP at the calls.
;
;--

        global HookRepeatPair
        global HookPairEnterSite
        global HookPairExitSite

        align 16
UNWIND_BEGIN HookRepeatPair
        push    rbx
        UNWIND_PUSH UNWIND_RBX
        push    rbp
        UNWIND_PUSH UNWIND_RBP
        push    rsi
        UNWIND_PUSH UNWIND_RSI
        push    rdi
        UNWIND_PUSH UNWIND_RDI
        sub     rsp, 40
        UNWIND_ALLOCATE 40
UNWIND_END_PROLOG
        mov     rbx, rcx
        mov     rbp, rdx
        mov     rsi, r8
        mov     rdi, r9
HookPairNext:
        mov     rcx, rdi
        mov     rdx, rdi
        call    rbx
HookPairEnterSite:
        mov     rcx, rdi
        mov     rdx, rdi
        call    rbp
HookPairExitSite:
        dec     rsi
        jnz     HookPairNext
        mov     rax, rsp
        add     rsp, 40
        pop     rdi
        pop     rsi
        pop     rbp
        pop     rbx
        ret
UNWIND_END HookRepeatPair

;++
;
; VOID
; HookCallAt(PPENTER_ROUTINE Hook, ULONG_PTR Rsp, ULONG_PTR Argument)
;
; Routine Description:
;
;   Calls Hook once with RSP at Rsp, with Argument in rcx and rdx, from
;   HookCallAtSite.
;
;--

        global HookCallAt
        global HookCallAtSite

        align 16
UNWIND_BEGIN HookCallAt
        push    rbp
        UNWIND_PUSH UNWIND_RBP
        mov     rbp, rsp
        UNWIND_SET_FRAME UNWIND_RBP
UNWIND_END_PROLOG
        mov     rax, rcx
        mov     rsp, rdx
        mov     rcx, r8
        mov     rdx, r8
        call    rax
HookCallAtSite:
        mov     rsp, rbp
        pop     rbp
        ret
UNWIND_END HookCallAt

;++
;
; VOID
; HookCallBare<n>(PPENTER_ROUTINE Hook, ULONG_PTR Rsp, ULONG_PTR Argument,
;                 ULONG_PTR CallSite)
;
; Routine Description:
;
;   As HookCallAt, from places of which there is no unwind data: nothing is
;   known of the frame, and stacks cannot be walked.  HookBare has the routines
;   and, behind each, the place.
;
;--

        section .rdata rdata align=16
        global HookBare
HookBare:
        section .text

%macro BARE_CALL 1
        align   16
HookCallBare%1:
        push    rbp
        mov     rbp, rsp
        mov     rax, rcx
        mov     rsp, rdx
        mov     rcx, r8
        mov     rdx, r9
        call    rax
%%site:
        mov     rsp, rbp
        pop     rbp
        ret
        section .rdata
        dq      HookCallBare%1, %%site
        section .text
%endmacro

        BARE_CALL 1
        BARE_CALL 2
        BARE_CALL 3

;
; Exits that are broken after all: what the hook did is right, and something
; changes on the way back.
;

        extern _pexit

%macro BROKEN_EXIT 2+
        global HookBrokenExit%1
        align 16
UNWIND_BEGIN HookBrokenExit%1
        lea     rsp, [rsp - 8]
        UNWIND_ALLOCATE 8
UNWIND_END_PROLOG
        call    _pexit
        lea     rsp, [rsp + 8]
        %2
        ret
UNWIND_END HookBrokenExit%1
%endmacro

        BROKEN_EXIT Carry, cmc
        BROKEN_EXIT R8, lea r8, [r8 + 1]
        BROKEN_EXIT R9, lea r9, [r9 + 1]

;
; The broken hooks.  HookBrokenTable has one HOOK_BROKEN for each: the routine,
; the vector level that it needs, the property that it changes, the details
; that must be found (0: any), the other properties that change with it, and
; its name.
;

%define PROPERTY_FLAGS          16
%define PROPERTY_MXCSR          17
%define PROPERTY_X87            18
%define PROPERTY_LAST_ERROR     19
%define PROPERTY_LAST_STATUS    20
%define PROPERTY_LOW            21
%define PROPERTY_MIDDLE         22
%define PROPERTY_HIGH           23
%define PROPERTY_MASKS          24
%define PROPERTY_STACK          25

%assign NumberOfBroken 0

        section .rdata rdata align=16
        global HookBrokenTable
HookBrokenTable:
        section .text

;
; BROKEN Name, Level, Property, Details, Also: the routine's code follows.
;

%macro BROKEN 5
        section .rdata
%%entry:
        dq      %%routine
        dd      %2
        dd      %3
        dq      %4
        dd      %5
        dd      0
%%name: db      %1
        times 32 - ($ - %%name) db 0
        section .text
        align 16
%%routine:
%assign NumberOfBroken NumberOfBroken + 1
%endmacro

%macro BROKEN_GENERAL 2
        BROKEN  "register %1", 0, %2, 0, 0
        lea     %1, [%1 + 1]
        ret
%endmacro

        BROKEN_GENERAL rax, 0
        BROKEN_GENERAL rcx, 1
        BROKEN_GENERAL rdx, 2
        BROKEN_GENERAL rbx, 3
        BROKEN_GENERAL rbp, 5
        BROKEN_GENERAL rsi, 6
        BROKEN_GENERAL rdi, 7
        BROKEN_GENERAL r8, 8
        BROKEN_GENERAL r9, 9
        BROKEN_GENERAL r10, 10
        BROKEN_GENERAL r11, 11
        BROKEN_GENERAL r12, 12
        BROKEN_GENERAL r13, 13
        BROKEN_GENERAL r14, 14
        BROKEN_GENERAL r15, 15

        BROKEN  "register rsp", 0, 4, 0, 0
        ret     8

%macro BROKEN_FLAG 2
        BROKEN  %1, 0, PROPERTY_FLAGS, %2, 0
        pushfq
        xor     qword [rsp], %2
        popfq
        ret
%endmacro

        BROKEN_FLAG "carry flag", 0x001
        BROKEN_FLAG "parity flag", 0x004
        BROKEN_FLAG "adjust flag", 0x010
        BROKEN_FLAG "zero flag", 0x040
        BROKEN_FLAG "sign flag", 0x080
        BROKEN_FLAG "direction flag", 0x400
        BROKEN_FLAG "overflow flag", 0x800

        BROKEN  "MXCSR as a whole", 0, PROPERTY_MXCSR, 0, 0
        mov     dword [rsp - 8], 0x1F80
        ldmxcsr [rsp - 8]
        ret

        BROKEN  "MXCSR rounding", 0, PROPERTY_MXCSR, 0x2000, 0
        stmxcsr [rsp - 16]
        pushfq
        xor     dword [rsp - 8], 0x2000
        popfq
        ldmxcsr [rsp - 16]
        ret

        BROKEN  "MXCSR sticky flag", 0, PROPERTY_MXCSR, 0x20, 0
        stmxcsr [rsp - 16]
        pushfq
        xor     dword [rsp - 8], 0x20
        popfq
        ldmxcsr [rsp - 16]
        ret

        BROKEN  "x87 control word", 0, PROPERTY_X87, 1, 0
        fnstcw  [rsp - 16]
        pushfq
        xor     word [rsp - 8], 0x100
        popfq
        fldcw   [rsp - 16]
        ret

        BROKEN  "x87 value", 0, PROPERTY_X87, 0, 0
        fchs
        ret

        BROKEN  "x87 pop", 0, PROPERTY_X87, 0, 0
        fstp    st0
        ret

        BROKEN  "x87 emms", 0, PROPERTY_X87, 0, 0
        emms
        ret

        BROKEN  "last error", 0, PROPERTY_LAST_ERROR, 0, 0
        not     dword [gs:TEB_LAST_ERROR]
        ret

        BROKEN  "last status", 0, PROPERTY_LAST_STATUS, 0, 0
        not     dword [gs:TEB_LAST_STATUS]
        ret

%assign Index 0
%rep 16
        BROKEN  "stack above, qword %[Index]", 0, PROPERTY_STACK, \
                1 << Index, 0
        not     byte [rsp + 8 + Index * 8]
        ret
%assign Index Index + 1
%endrep

%assign Index 0
%rep 16
        BROKEN  "xmm%[Index]", 0, PROPERTY_LOW, 1 << Index, 0
        pcmpeqb xmm%[Index], xmm%[Index]
        ret

        BROKEN  "upper half of ymm%[Index]", 1, PROPERTY_MIDDLE, \
                1 << Index, 1 << PROPERTY_HIGH
        vmovdqa xmm%[Index], xmm%[Index]
        ret
%assign Index Index + 1
%endrep

        BROKEN  "all upper halves", 1, PROPERTY_MIDDLE, 0xFFFF, \
                1 << PROPERTY_HIGH
        vzeroupper
        ret

%assign Index 0
%rep 32
        BROKEN  "upper half of zmm%[Index]", 2, PROPERTY_HIGH, 1 << Index, 0
        vmovdqa32 ymm%[Index], ymm%[Index]
        ret
%assign Index Index + 1
%endrep

%assign Index 16
%rep 16
        BROKEN  "xmm%[Index]", 2, PROPERTY_LOW, 1 << Index, \
                (1 << PROPERTY_MIDDLE) | (1 << PROPERTY_HIGH)
        vpternlogd zmm%[Index], zmm%[Index], zmm%[Index], 0xFF
        ret
%assign Index Index + 1
%endrep

%assign Index 0
%rep 8
        BROKEN  "k%[Index]", 2, PROPERTY_MASKS, 1 << Index, 0
        knotq   k%[Index], k%[Index]
        ret
%assign Index Index + 1
%endrep

        section .rdata
        align 8, db 0
        global HookNumberOfBroken
HookNumberOfBroken:
        dd      NumberOfBroken
        section .text

;
; Hooks that change nothing and whose unwind data is wrong: there is none; it
; forgets a non-volatile register; it gives a wrong size.
;

        global HookUnwindMissing
        align 16
HookUnwindMissing:
        push    rax
        nop
        pop     rax
        ret

        global HookUnwindRegister
        align 16
UNWIND_BEGIN HookUnwindRegister
        push    rbx
        UNWIND_ALLOCATE 8
UNWIND_END_PROLOG
        lea     rbx, [rsp]
        nop
        pop     rbx
        ret
UNWIND_END HookUnwindRegister

        global HookUnwindSize
        align 16
UNWIND_BEGIN HookUnwindSize
        lea     rsp, [rsp - 16]
        UNWIND_ALLOCATE 8
UNWIND_END_PROLOG
        nop
        lea     rsp, [rsp + 16]
        ret
UNWIND_END HookUnwindSize

;
; And one with right unwind data, which must pass.
;

        global HookUnwindRight
        align 16
UNWIND_BEGIN HookUnwindRight
        push    rbx
        UNWIND_PUSH UNWIND_RBX
        lea     rsp, [rsp - 16]
        UNWIND_ALLOCATE 16
UNWIND_END_PROLOG
        lea     rbx, [rsp]
        nop
        lea     rsp, [rsp + 16]
        pop     rbx
        ret
UNWIND_END HookUnwindRight
