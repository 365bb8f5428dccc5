;++
;
; Module Name:
;
;   KernelHooks.asm
;
; Abstract:
;
;   The hooks of TracerPenterKernel.lib: one 32-byte record in the processor's
;   ring, and what a call adds to its function's statistics.
;
;   Every public hook is an indirect jump through a pointer: to a bare return
;   (not started, or gone), to a counter (paused), or to a recording routine.
;   The pointers and all that a hook reads lie in .data, and its code in .text:
;   neither is paged in a driver, unless the driver's author asks for that.
;
; Contract:
;
;   - Any IRQL, any processor, with interrupts on or off.  Nothing is allocated,
;     waited for or locked; no loop is longer than KERNEL_PROBES, but for a
;     minimum or maximum that other processors change at the same time.
;   - Every register and flag is preserved.  The three routines of the system
;     that are called are documented as callable at any IRQL; they are C, so
;     that the volatile registers, xmm0 to xmm5 too, are saved around them.
;     What lies above the xmm halves is not: they do not touch it.
;   - The stack may be aligned on 8 or on 16; there is no shadow space: no byte
;     at or above the return address is written.  A hook takes 256 bytes of
;     stack, the return address among them, and what those routines take.
;   - An interrupt may come between any two instructions, and its hooks may take
;     places in the same ring; the thread may go on on another processor, while
;     this one's ring is written by others.  So everything that is shared is
;     changed by one locked instruction, or by who owns it: see KernelFormat.h.
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "KernelLayout.inc"

        OBJECT_FEATURES

;
; 2^64 divided by the golden ratio: the high bits of a product with it are a
; good hash.
;

%define KERNEL_HASH                 9E3779B97F4A7C15h

        section .data data align=64

        global KernelState
        global KernelEnterRoutine
        global KernelExitRoutine
        global KernelEnterFunctionRoutine
        global KernelExitFunctionRoutine
        global TracerKernelHeader

KernelState:                    times STATE_SIZE db 0
KernelEnterRoutine:             dq KernelReturn
KernelExitRoutine:              dq KernelReturn
KernelEnterFunctionRoutine:     dq KernelReturn
KernelExitFunctionRoutine:      dq KernelReturn

;
; For debuggers: where the section is; 0 when there is none.  They know it by
; what lies before it, too (TRACE_KERNEL_RINGS_BEFORE).
;

TracerKernelHeader:             dq 0

%define STATE(Field)                KernelState + STATE_ %+ Field

        section .text code align=64

        global _penter
        global _pexit
        global KernelReturn

        align 16
_penter:
        jmp     [KernelEnterRoutine]

        align 16
_pexit:
        jmp     [KernelExitRoutine]

        align 16
KernelReturn:
        ret

;++
;
; VOID
; KernelCountPaused(VOID)
;
; Routine Description:
;
;   A hook while recording is paused: counts itself in the first ring.
;
;--

        global KernelCountPaused

        align 16
UNWIND_BEGIN KernelCountPaused
        push    rax
        UNWIND_ALLOCATE 8
        push    rcx
        UNWIND_ALLOCATE 8
UNWIND_END_PROLOG
        lahf
        seto    al
        mov     rcx, [STATE(RINGS)]
        lock inc qword [rcx + KERNEL_RING_PAUSED]
        add     al, 7Fh
        sahf
        pop     rcx
        pop     rax
        ret
UNWIND_END KernelCountPaused

;++
;
; RECORDING_ROUTINE Name, Kind
;
; Macro Description:
;
;   Appends one record, and adds to the statistics.
;
; Frame, from rbp:
;
;   0     caller's rbp, rdi, rsi, rbx, r11, r10, r9, r8
;   64    flags: AH as lahf left it, AL 1 if the overflow flag was set
;   72    caller's rdx, rcx, rax
;   96    return address into the instrumented function
;   104   RSP at the call
;
;   Below it, aligned on 16: shadow space, and xmm0 to xmm5.
;
; Registers, once the system's routines have been called:
;
;   rbx - The processor's number, or 0 if there is no ring for it.
;   rsi - The thread's ID and the IRQL, as in a record.
;   rdi - The time.
;   r8 - The ring.
;
;--

%define FRAME_RCX               80
%define FRAME_SITE              96
%define FRAME_CALL              104
%define FRAME_FLAGS             64
%define FRAME_SIZE              (32 + 6 * 16)

;
; The clock, into rdi; rax and rdx are lost.
;

%macro READ_TIME 0
        rdtsc
        shl     rdx, 32
        or      rax, rdx
        mov     rdi, rax
%endmacro

;
; Adds 1 to a counter of the ring.
;

%macro COUNT 1
        lock inc qword [r8 + KERNEL_RING_ %+ %1]
%endmacro

;
; LOAD_SITE Register: what the record's Site is.
;

%macro LOAD_SITE 1
%if IsFunction
        mov     %1, [rbp + FRAME_RCX]
%else
        mov     %1, [rbp + FRAME_SITE]
%endif
%endmacro

;
; APPEND Kind: takes a place in the ring and writes the record; rax, rcx, rdx
; and r9 are lost.
;

%macro APPEND 1
        mov     ecx, [STATE(RECORDS_SHIFT)]
        mov     r9, rbx
        shl     r9, cl
        add     r9, [STATE(RECORDS)]
        mov     eax, 1
        lock xadd [r8 + KERNEL_RING_RESERVED], rax
        lea     ecx, [rax + 1]
        add     ecx, ecx                    ; TRACE_KERNEL_NUMBER
        and     rax, [STATE(RECORD_MASK)]
        shl     rax, KERNEL_RECORD_SHIFT
        lea     rdx, [r9 + rax]

        ;
        ; The place is free for this record if what it holds is whole and older.
        ;

        mov     eax, [rdx + KERNEL_RECORD_NUMBER]
        test    al, 1
        jnz     %%collided
        mov     r9d, eax
        sub     r9d, ecx
        jns     %%collided
        lea     r9d, [rcx + 1]
        lock cmpxchg [rdx + KERNEL_RECORD_NUMBER], r9d
        jne     %%collided

        mov     [rdx + KERNEL_RECORD_TIMESTAMP], rdi
        LOAD_SITE rax
        mov     [rdx + KERNEL_RECORD_SITE], rax
        lea     rax, [rbp + FRAME_CALL + %1]
        mov     [rdx + KERNEL_RECORD_STACK], rax
        mov     [rdx + KERNEL_RECORD_THREAD_IRQL], esi
        mov     [rdx + KERNEL_RECORD_NUMBER], ecx
        jmp     %%done
%%collided:
        COUNT   COLLIDED
%%done:
%endmacro

;
; FIND_FUNCTION None: the slot of the function whose entry's site is in r10,
; into rdx; jumps to None, with the loss counted, if there is none.  rax, rcx,
; r9 and r11 are lost.
;

%macro FIND_FUNCTION 1
        mov     rax, KERNEL_HASH
        imul    rax, r10
        shr     rax, 40
        mov     r11, rax
        mov     ecx, [STATE(FUNCTIONS_SHIFT)]
        mov     r9, rbx
        shl     r9, cl
        add     r9, [STATE(FUNCTIONS)]
        mov     ecx, KERNEL_PROBES
%%next:
        and     r11, [STATE(FUNCTION_MASK)]
        mov     rdx, r11
        shl     rdx, KERNEL_FUNCTION_SHIFT
        add     rdx, r9
        mov     rax, [rdx + KERNEL_FUNCTION_SITE]
        cmp     rax, r10
        je      %%found
        test    rax, rax
        jnz     %%taken
        lock cmpxchg [rdx + KERNEL_FUNCTION_SITE], r10
        je      %%found
        cmp     rax, r10
        je      %%found
%%taken:
        inc     r11
        dec     ecx
        jnz     %%next
        COUNT   STATISTICS_LOST
        jmp     %1
%%found:
%endmacro

;
; HASH_CALL: the first place of an open call, into r11, from its Stack in r10;
; rax is lost.  Function hooks may have several at the same RSP.
;

%macro HASH_CALL 0
        mov     r11, r10
        shr     r11, 3
%if IsFunction
        add     r11, [rbp + FRAME_RCX]
%endif
        mov     rax, KERNEL_HASH
        imul    r11, rax
        shr     r11, 40
%endmacro

;
; OPEN_PLACE: the address of place r11 of the open calls, into rdx.
;

%macro OPEN_PLACE 0
        and     r11, [STATE(OPEN_MASK)]
        mov     rdx, r11
        shl     rdx, KERNEL_OPEN_SHIFT
        add     rdx, [STATE(OPEN_CALLS)]
%endmacro

%macro RECORDING_ROUTINE 2

%if %2 == KERNEL_KIND_ENTER_FUNCTION || %2 == KERNEL_KIND_EXIT_FUNCTION
%define IsFunction 1
%else
%define IsFunction 0
%endif
%if %2 == KERNEL_KIND_ENTER || %2 == KERNEL_KIND_ENTER_FUNCTION
%define IsEnter 1
%else
%define IsEnter 0
%endif

        global %1

        align 64
UNWIND_BEGIN %1
        push    rax
        UNWIND_ALLOCATE 8
        push    rcx
        UNWIND_ALLOCATE 8
        push    rdx
        UNWIND_ALLOCATE 8
        lahf
        seto    al
        push    rax
        UNWIND_ALLOCATE 8
        push    r8
        UNWIND_ALLOCATE 8
        push    r9
        UNWIND_ALLOCATE 8
        push    r10
        UNWIND_ALLOCATE 8
        push    r11
        UNWIND_ALLOCATE 8
        push    rbx
        UNWIND_PUSH UNWIND_RBX
        push    rsi
        UNWIND_PUSH UNWIND_RSI
        push    rdi
        UNWIND_PUSH UNWIND_RDI
        push    rbp
        UNWIND_PUSH UNWIND_RBP
        mov     rbp, rsp
        UNWIND_SET_FRAME UNWIND_RBP
UNWIND_END_PROLOG
        sub     rsp, FRAME_SIZE
        and     rsp, -16
%assign Index 0
%rep 6
        movaps  [rsp + 32 + Index * 16], xmm%[Index]
%assign Index Index + 1
%endrep

%if !IsEnter
        READ_TIME
%endif
        xor     ecx, ecx
        call    [STATE(GET_PROCESSOR)]
        xor     ebx, ebx
        cmp     eax, [STATE(NUMBER_OF_RINGS)]
        cmovb   ebx, eax
        call    [STATE(GET_THREAD)]
        mov     esi, eax
        call    [STATE(GET_IRQL)]
        shl     eax, 28
        shl     esi, 2
        shr     esi, 4
        or      esi, eax
        mov     r8, rbx
        shl     r8, KERNEL_RING_SHIFT
        add     r8, [STATE(RINGS)]

%if IsEnter

        ;
        ; The call is counted, and noted as open: everything that can be done
        ; before the time is read.
        ;

        LOAD_SITE r10
        FIND_FUNCTION %%counted
        lock inc qword [rdx + KERNEL_FUNCTION_ENTRIES]
%%counted:
        cmp     qword [STATE(OPEN_CALLS)], 0
        je      %%unopened

        lea     r10, [rbp + FRAME_CALL + %2]
        HASH_CALL
        mov     r9, r10
        or      r9, KERNEL_OPEN_BUSY
        mov     ecx, KERNEL_PROBES
%%next:
        OPEN_PLACE
        mov     rax, [rdx + KERNEL_OPEN_STACK]
        test    rax, rax
        jz      %%claim
        cmp     rax, r10
        jne     %%taken
%if IsFunction
        LOAD_SITE rax
        cmp     rax, [rdx + KERNEL_OPEN_SITE]
        jne     %%taken
        mov     rax, r10
%endif

        ;
        ; A call of this very frame that has not returned: it was left.
        ;

        lock cmpxchg [rdx + KERNEL_OPEN_STACK], r9
        jne     %%taken
        COUNT   ABANDONED
        jmp     %%opened
%%claim:
        lock cmpxchg [rdx + KERNEL_OPEN_STACK], r9
        je      %%opened
%%taken:
        inc     r11
        dec     ecx
        jnz     %%next

        ;
        ; All places are taken: the oldest call gives way.  It may have been
        ; left long ago.
        ;

        mov     rdi, -1
        xor     r9d, r9d
        mov     ecx, KERNEL_PROBES
%%older:
        dec     r11
        OPEN_PLACE
        test    byte [rdx + KERNEL_OPEN_STACK], KERNEL_OPEN_BUSY
        jnz     %%younger
        cmp     [rdx + KERNEL_OPEN_TIMESTAMP], rdi
        jae     %%younger
        mov     rdi, [rdx + KERNEL_OPEN_TIMESTAMP]
        mov     r9, rdx
%%younger:
        dec     ecx
        jnz     %%older
        test    r9, r9
        jz      %%unopened_lost
        mov     rdx, r9
        mov     r9, r10
        or      r9, KERNEL_OPEN_BUSY
        mov     rax, [rdx + KERNEL_OPEN_STACK]
        test    al, KERNEL_OPEN_BUSY
        jnz     %%unopened_lost
        lock cmpxchg [rdx + KERNEL_OPEN_STACK], r9
        jne     %%unopened_lost
        test    rax, rax
        jz      %%opened                    ; it has returned meanwhile
        COUNT   ABANDONED

%%opened:
        LOAD_SITE rax
        mov     [rdx + KERNEL_OPEN_SITE], rax
        mov     [rdx + KERNEL_OPEN_THREAD], rsi
        mov     r9, rdx
        READ_TIME
        mov     [r9 + KERNEL_OPEN_TIMESTAMP], rdi
        mov     [r9 + KERNEL_OPEN_STACK], r10
        APPEND  %2
        jmp     %%done

%%unopened_lost:
        COUNT   OPEN_LOST
%%unopened:
        READ_TIME
        APPEND  %2

%else

        APPEND  %2
        cmp     qword [STATE(OPEN_CALLS)], 0
        je      %%done

        ;
        ; The call is taken from the open ones, and what it took is added to its
        ; function.  Nobody but who takes the place can change what is in it.
        ;

        lea     r10, [rbp + FRAME_CALL + %2 - 1]
        HASH_CALL
        mov     ecx, KERNEL_PROBES
%%next:
        OPEN_PLACE
        cmp     [rdx + KERNEL_OPEN_STACK], r10
        jne     %%other
        mov     r9, [rdx + KERNEL_OPEN_SITE]
%if IsFunction
        LOAD_SITE rax
        cmp     rax, r9
        jne     %%other
%endif
        sub     rdi, [rdx + KERNEL_OPEN_TIMESTAMP]
        mov     rax, r10
        mov     r10d, 0
        cmovb   rdi, r10
        lock cmpxchg [rdx + KERNEL_OPEN_STACK], r10
        jne     %%unpaired
        mov     r10, r9
        FIND_FUNCTION %%done
        lock inc qword [rdx + KERNEL_FUNCTION_CALLS]
        lock add [rdx + KERNEL_FUNCTION_TICKS], rdi
        mov     rax, [rdx + KERNEL_FUNCTION_MINIMUM]
%%shorter:
        cmp     rdi, rax
        jae     %%maximum
        lock cmpxchg [rdx + KERNEL_FUNCTION_MINIMUM], rdi
        jne     %%shorter
%%maximum:
        mov     rax, [rdx + KERNEL_FUNCTION_MAXIMUM]
%%longer:
        cmp     rdi, rax
        jbe     %%done
        lock cmpxchg [rdx + KERNEL_FUNCTION_MAXIMUM], rdi
        jne     %%longer
        jmp     %%done
%%other:
        inc     r11
        dec     ecx
        jnz     %%next
%%unpaired:
        COUNT   UNPAIRED
%endif

%%done:
%assign Index 0
%rep 6
        movaps  xmm%[Index], [rsp + 32 + Index * 16]
%assign Index Index + 1
%endrep
        mov     rax, [rbp + FRAME_FLAGS]
        add     al, 7Fh                     ; overflow flag
        sahf                                ; the other five
        lea     rsp, [rbp]
        pop     rbp
        pop     rdi
        pop     rsi
        pop     rbx
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rax                         ; the flags' place
        pop     rdx
        pop     rcx
        pop     rax
        ret
UNWIND_END %1

%endmacro

        RECORDING_ROUTINE KernelRecordEnter, KERNEL_KIND_ENTER
        RECORDING_ROUTINE KernelRecordExit, KERNEL_KIND_EXIT
        RECORDING_ROUTINE KernelRecordEnterFunction, KERNEL_KIND_ENTER_FUNCTION
        RECORDING_ROUTINE KernelRecordExitFunction, KERNEL_KIND_EXIT_FUNCTION
