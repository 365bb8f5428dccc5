;++
;
; Module Name:
;
;   KernelMachine.asm
;
; Abstract:
;
;   What C cannot ask the processor for.  See KernelHooks.h.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

        section .text code align=16

        global KernelReadIrql
        global KernelPassiveIrql
        global KernelIsTscInvariant
        global KernelCallPair

;++
;
; UCHAR
; KernelReadIrql(VOID)
;
; Routine Description:
;
;   The task priority register, which is the IRQL.  A privileged instruction.
;
;--

        align 16
KernelReadIrql:
        mov     rax, cr8
        ret

;++
;
; UCHAR
; KernelPassiveIrql(VOID)
;
; Routine Description:
;
;   The IRQL where there is only one.
;
;--

        align 16
KernelPassiveIrql:
        xor     eax, eax
        ret

;++
;
; BOOLEAN
; KernelIsTscInvariant(VOID)
;
; Routine Description:
;
;   CPUID leaf 80000007h, EDX bit 8.
;
;--

        align 16
UNWIND_BEGIN KernelIsTscInvariant
        push    rbx
        UNWIND_PUSH UNWIND_RBX
UNWIND_END_PROLOG
        mov     eax, 80000000h
        cpuid
        cmp     eax, 80000007h
        mov     eax, 0
        jb      .done
        mov     eax, 80000007h
        cpuid
        mov     eax, edx
        shr     eax, 8
        and     eax, 1
.done:
        pop     rbx
        ret
UNWIND_END KernelIsTscInvariant

;++
;
; VOID
; KernelCallPair(PKERNEL_ROUTINE Enter, PKERNEL_ROUTINE Exit)
;
; Routine Description:
;
;   An empty function with hooks, which keep rcx and rdx.
;
;--

        align 16
UNWIND_BEGIN KernelCallPair
        sub     rsp, 40
        UNWIND_ALLOCATE 40
UNWIND_END_PROLOG
        call    rcx
        call    rdx
        add     rsp, 40
        ret
UNWIND_END KernelCallPair
