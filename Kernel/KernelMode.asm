;++
;
; Module Name:
;
;   KernelMode.asm
;
; Abstract:
;
;   Where drivers run.  Tests stand in for these.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

%define SHARED_DATA             0FFFFF78000000000h
%define SHARED_DATA_USER        7FFE0000h

        section .text code align=16

        global KernelIsUserMode
        global KernelSharedData

;++
;
; BOOLEAN
; KernelIsUserMode(VOID)
;
; Routine Description:
;
;   Whether the code segment's privilege level is not the kernel's.
;
;--

        align 16
KernelIsUserMode:
        mov     eax, cs
        test    al, 3
        setnz   al
        movzx   eax, al
        ret

;++
;
; const BYTE *
; KernelSharedData(VOID)
;
; Routine Description:
;
;   KUSER_SHARED_DATA, where the kernel or where user mode sees it.
;
;--

        align 16
KernelSharedData:
        mov     rax, SHARED_DATA
        mov     ecx, cs
        test    cl, 3
        jz      .done
        mov     eax, SHARED_DATA_USER
.done:
        ret
