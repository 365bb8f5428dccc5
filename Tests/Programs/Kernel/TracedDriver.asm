;++
;
; Module Name:
;
;   TracedDriver.asm
;
; Abstract:
;
;   Functions for TracedDriver.c as Microsoft's compiler shapes them with /Gh
;   and /GH: the hooks are called behind the prolog and before the epilog; in a
;   leaf without a frame, where the stack is aligned on 8 alone; with values in
;   registers and flags that the hooks must keep.
;
;       AsmFramed(Value) = AsmLeaf(Value) + Value, by way of flags
;       AsmLeaf(Value) = Value * 2 + 1
;
;--

        bits 64
        default rel

        extern _penter
        extern _pexit
        extern Counts
        extern Wrong

        global AsmFramed
        global AsmLeaf

        section .text code align=16

;
; eax, ecx, xmm0 and the carry are alive at the hooks.
;

        align 16
AsmLeaf:
        movd    xmm0, ecx
        movd    xmm5, ecx
        mov     r11d, ecx
        mov     r10d, ecx
        stc
        call    _penter
        adc     ecx, ecx                    ; Value * 2 + 1
        lock inc qword [Counts + COUNT_LEAF * 8]
        mov     eax, ecx
        movd    r8d, xmm0
        movd    r9d, xmm5
        cmp     r8d, r9d
        jne     .wrong
        cmp     r8d, r10d
        jne     .wrong
        cmp     r8d, r11d
        jne     .wrong
        cmp     eax, eax
        call    _pexit
        jne     .wrong
        ret
.wrong:
        lock inc qword [Wrong]
        ret

        align 16
AsmFramed:
        push    rbx
        sub     rsp, 32
        mov     rbx, rcx
        call    _penter
        lock inc qword [Counts + COUNT_FRAMED * 8]
        mov     ecx, ebx
        call    AsmLeaf
        add     eax, ebx
        call    _pexit
        add     rsp, 32
        pop     rbx
        ret
