;++
;
; Module Name:
;
;   KernelCallers.asm
;
; Abstract:
;
;   For TestKernel: stand-ins for the routines that the kernel's hooks call,
;   which ruin every register and flag that they may, and tell whether the stack
;   was aligned; and calls of hooks at a stack pointer and from a site that the
;   test chooses.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

        section .data data align=64

        global KernelTestProcessor
        global KernelTestRotate
        global KernelTestIrql
        global KernelTestMisaligned
        global KernelTestGetterStack

KernelTestProcessor:    dd 0
KernelTestRotate:       dd 0            ; 0, or so many processors in turn
KernelTestIrql:         dd 0
KernelTestMisaligned:   dd 0
KernelTestGetterStack:  dq 0            ; RSP at a getter's first instruction

        section .text code align=64

;
; Spoils what a routine of C may change, and the 32 bytes above its return
; address.
;

%macro SPOIL 0
        mov     [KernelTestGetterStack], rsp
        lea     rcx, [rsp + 8]
        test    cl, 15
        jz      %%aligned
        lock inc dword [KernelTestMisaligned]
%%aligned:
%assign Index 0
%rep 4
        mov     qword [rsp + 8 + Index * 8], -1
%assign Index Index + 1
%endrep
%assign Index 0
%rep 6
        pcmpeqd xmm%[Index], xmm%[Index]
%assign Index Index + 1
%endrep
        mov     rcx, -1
        mov     rdx, rcx
        mov     r8, rcx
        mov     r9, rcx
        mov     r10, rcx
        mov     r11, rcx
%endmacro

        global KernelTestGetProcessor
        global KernelTestGetThread
        global KernelTestGetIrql

        align 16
KernelTestGetProcessor:
        SPOIL
        mov     eax, [KernelTestProcessor]
        mov     edx, [KernelTestRotate]
        test    edx, edx
        jz      .done
        mov     ecx, edx
        mov     eax, 1
        lock xadd [KernelTestProcessor], eax
        xor     edx, edx
        div     ecx
        mov     eax, edx
        mov     edx, -1
.done:
        add     ecx, -1                     ; flags
        ret

        align 16
KernelTestGetThread:
        SPOIL
        mov     rax, [gs:48h]
        add     ecx, -1
        ret

        align 16
KernelTestGetIrql:
        SPOIL
        mov     eax, -1
        mov     al, [KernelTestIrql]        ; the rest of eax is undefined
        add     ecx, -1
        ret

;
; The same, as a kernel has them: a load and a return.
;

        global KernelTestPlainProcessor
        global KernelTestPlainThread
        global KernelTestPlainIrql

        align 16
KernelTestPlainProcessor:
        mov     eax, [KernelTestProcessor]
        ret

        align 16
KernelTestPlainThread:
        mov     rax, [gs:30h]
        mov     rax, [rax + 48h]
        ret

        align 16
KernelTestPlainIrql:
        movzx   eax, byte [KernelTestIrql]
        ret

;++
;
; VOID
; KernelTestClockPair(ULONGLONG Count)
;
; Routine Description:
;
;   What two readings of the clock cost, Count times.
;
;--

        global KernelTestClockPair

        align 16
KernelTestClockPair:
        rdtsc
        rdtsc
        dec     rcx
        jnz     KernelTestClockPair
        ret

;++
;
; VOID
; KernelTestCallFrom(PKERNEL_ROUTINE Hook, ULONG_PTR Rsp, ULONG_PTR Function,
;                    ULONG_PTR Site)
;
; Routine Description:
;
;   Calls Hook with RSP at Rsp and Function in rcx; its return address is entry
;   Site of KernelTestSites.
;
;--

        global KernelTestCallFrom
        global KernelTestSites

%define NUMBER_OF_SITES         64

        align 16
UNWIND_BEGIN KernelTestCallFrom
        push    rbp
        UNWIND_PUSH UNWIND_RBP
        push    rbx
        UNWIND_PUSH UNWIND_RBX
        mov     rbp, rsp
        UNWIND_SET_FRAME UNWIND_RBP
UNWIND_END_PROLOG
        mov     rax, rcx
        mov     rsp, rdx
        mov     rcx, r8
        lea     rbx, [.calls]
        shl     r9, 4
        add     rbx, r9
        jmp     rbx
        align   16
.calls:
%assign Index 0
%rep NUMBER_OF_SITES
        align   16
        call    rax
KernelTestSite%[Index]:
        jmp     KernelTestBack
%assign Index Index + 1
%endrep
KernelTestBack:
        lea     rsp, [rbp]
        pop     rbx
        pop     rbp
        ret
UNWIND_END KernelTestCallFrom

        section .rdata rdata align=8
KernelTestSites:
%assign Index 0
%rep NUMBER_OF_SITES
        dq      KernelTestSite%[Index]
%assign Index Index + 1
%endrep
