;++
;
; Module Name:
;
;   PenterHooks.asm
;
; Abstract:
;
;   The hooks: where a record is written.
;
;   Every public hook is one indirect jump through a pointer that the C side
;   sets: to the routine that initializes (at the start), to one of the two
;   recording routines, or to a bare return (module left out, tracing off).
;   The jump costs nothing that can be measured beside rdtsc, touches no flag
;   and no register, and makes a module that is left out cost one call, one
;   jump and one return.
;
; Contract:
;
;   - Every register and flag is preserved: the compilers place these calls
;     where arguments, return values and arithmetic flags are live.
;   - The stack may be aligned on 8 or on 16, and there is no shadow space: no
;     byte at or above the return address is written.
;   - The recording routines use general registers only, and no instruction
;     that is serializing or microcoded but rdtsc.  lahf and seto save the six
;     arithmetic flags in about a nanosecond where pushfq and popfq take
;     eight.  The flags are restored last, so that the clock's two halves can
;     be joined with shl and or; shlx or rorx would need BMI2 and gains
;     nothing that can be measured.
;   - The thread's context is the header of its own trace store, mapped: the
;     cursor that the hook advances is the one that readers see.
;
; The record protocol (TraceFormat.h): the cursor is advanced first, so that
; whatever runs next on this thread gets the next record; then Site and
; StackKind are written; Timestamp comes last, in one 8-byte store.  x64 makes
; stores visible in program order.
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "TraceLayout.inc"

        OBJECT_FEATURES

        extern PenterSlowPath

;
; Thread environment block: the first 64 TLS slots, and the pointer to the
; array of the other 1,024 (NULL until the thread has set one of them).
;

%define TEB_TLS_EXPANSION_SLOTS         0x1780
%define TEB_LAST_ERROR                  0x68
%define TEB_LAST_STATUS                 0x1250
%define TEB_DEALLOCATION_STACK          0x1478

;
; What the slow path may need of the stack, bytes: the system's routines at a
; thread's first call are the deepest, 6 KiB seen.  A thread that has less left
; is about to overflow its stack, which must not happen in here.
;

%define SLOW_PATH_STACK                 0x6000

;
; What the hooks read on every call, on a cache line that is never written
; after the start.
;

        section .data data align=64

        global PenterEnterRoutine
        global PenterExitRoutine
        global PenterEnterFunctionRoutine
        global PenterExitFunctionRoutine
        global PenterSlotOffset

PenterEnterRoutine:             dq PenterEnterSlow
PenterExitRoutine:              dq PenterExitSlow
PenterEnterFunctionRoutine:     dq PenterEnterFunctionSlow
PenterExitFunctionRoutine:      dq PenterExitFunctionSlow

;
; Offset of the thread's context pointer: from gs for the direct routines,
; from the expansion array for the others.
;

PenterSlotOffset:               dd 0

;
; What XSAVE is told to save on the slow path: components (0: the processor or
; the system has no XSAVE, FXSAVE serves) and bytes (0: not yet known).
;

PenterXsaveMask:                dd 0
PenterXsaveSize:                dd 0

        align 64, db 0

;
; Events that were left out for lack of stack or of a TLS slot, until a slow
; path of any thread counts them in its store.
;

        global PenterEventsLeftOut
PenterEventsLeftOut:            dq 0

        section .text code align=64

;
; Public names.
;

        global _penter
        global _pexit

        align 16
_penter:
        jmp     [PenterEnterRoutine]

        align 16
_pexit:
        jmp     [PenterExitRoutine]

        global PenterReturn
        align 16
PenterReturn:
        ret

;++
;
; RECORDING_ROUTINE Name, Kind, SiteOffset, Expansion, Slow
;
; Macro Description:
;
;   Appends one record and returns to the caller of the hook.  If the thread
;   has no context yet, or its prepared pages are full, everything is put back
;   as it was and Slow takes over as if it had been called.  A stopped store
;   counts the event and returns.
;
; Frame, after the prolog:
;
;   rsp + 0     flags: AH as lahf left it, AL 1 if the overflow flag was set
;   rsp + 8     caller's rdx
;   rsp + 16    caller's rcx
;   rsp + 24    caller's rax
;   rsp + 32    return address into the instrumented function
;
; Arguments:
;
;   SiteOffset - Where in the frame the site is: 32 for the return address, 16
;       for the caller's rcx (the function's address in the gcc convention).
;
;--

%macro RECORDING_ROUTINE 5

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
UNWIND_END_PROLOG

        mov     edx, [PenterSlotOffset]
%if %4
        mov     rcx, [gs:TEB_TLS_EXPANSION_SLOTS]
        test    rcx, rcx
        jz      %%slow
        mov     rcx, [rcx + rdx]
%else
        mov     rcx, [gs:rdx]
%endif
        test    rcx, rcx
        jz      %%slow                      ; not attached yet
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        cmp     rdx, [rcx + TRACE_HEADER_LIMIT]
        jae     %%full
        add     qword [rcx + TRACE_HEADER_CURSOR], TRACE_RECORD_SIZE

        mov     rcx, rdx
        mov     eax, [rsp + %3]
        mov     [rcx + TRACE_RECORD_SITE], eax
        lea     eax, [rsp + 40 + %2]        ; RSP at the call, plus the kind
        mov     [rcx + TRACE_RECORD_STACK_KIND], eax
        rdtsc
        shl     rdx, 32
        or      rax, rdx
        mov     [rcx + TRACE_RECORD_TIMESTAMP], rax

%%done:
        mov     rax, [rsp]
        add     al, 7Fh                     ; overflow flag
        sahf                                ; the other five
        lea     rsp, [rsp + 8]
        pop     rdx
        pop     rcx
        pop     rax
        ret

%%full:
        mov     eax, [rcx + TRACE_HEADER_HOOK_FLAGS]
        test    eax, TRACE_HOOK_STOPPED
        jz      %%slow
        test    eax, TRACE_HOOK_SHARED
        jnz     %%shared
        add     qword [rcx + TRACE_HEADER_EVENTS_LOST], 1
        jmp     %%done

        ;
        ; Threads without a store share a stand-in.  A locked addition costs
        ; about 6 ns more than the other.
        ;

%%shared:
        lock add qword [rcx + TRACE_HEADER_EVENTS_LOST], 1
        jmp     %%done

%%slow:
        mov     rax, [rsp]
        add     al, 7Fh
        sahf
        lea     rsp, [rsp + 8]
        pop     rdx
        pop     rcx
        pop     rax
        jmp     %5
UNWIND_END %1

%endmacro

;++
;
; SLOW_ROUTINE Name, Hook
;
; Macro Description:
;
;   Entered with the machine exactly as at the call of the hook.  Saves all
;   that C and the system's routines may change (general registers, flags, the
;   vector state as far as the system knows it, the last error and the last
;   status value), calls
;
;       BOOLEAN PenterSlowPath(VOID)
;
;   and puts everything back.  A thread that has too little stack left for that
;   goes on at once and the event is counted.  If PenterSlowPath returned TRUE
;   the hook is entered again (the context is there, or has room); otherwise the
;   event has been dealt with and the instrumented function goes on.
;
;   The XSAVE area is at most 2,696 bytes with AVX-512, so that together with
;   the rest no page of the stack is skipped (a guard page would be missed).
;
; Frame: rbp points to the saved flags; above it rbp, r11, r10, r9, r8, rdx,
;   rcx, rax and the return address; below it the last error and the last status
;   value, PenterSlowPath's answer and, aligned on 64, the XSAVE area and 32
;   bytes of shadow space.
;
;--

%macro SLOW_ROUTINE 2

        align 16
UNWIND_BEGIN %1
        push    rax
        UNWIND_ALLOCATE 8
        push    rcx
        UNWIND_ALLOCATE 8
        push    rdx
        UNWIND_ALLOCATE 8
        push    r8
        UNWIND_ALLOCATE 8
        push    r9
        UNWIND_ALLOCATE 8
        push    r10
        UNWIND_ALLOCATE 8
        push    r11
        UNWIND_ALLOCATE 8
        push    rbp
        UNWIND_PUSH UNWIND_RBP
        pushfq
        UNWIND_ALLOCATE 8
        mov     rbp, rsp
        UNWIND_SET_FRAME UNWIND_RBP
UNWIND_END_PROLOG

        cld
        mov     rax, rsp
        sub     rax, [gs:TEB_DEALLOCATION_STACK]
        cmp     rax, SLOW_PATH_STACK
        jb      %%noroom
        mov     ecx, [PenterXsaveSize]
        test    ecx, ecx
        jnz     %%known
        lea     rsp, [rsp - 32]
        and     rsp, -16
        call    PenterQueryXsave            ; changes no vector register
        mov     rsp, rbp
        mov     ecx, [PenterXsaveSize]
%%known:
        lea     rsp, [rsp - 16]
        mov     eax, [gs:TEB_LAST_ERROR]
        mov     [rbp - 8], eax
        mov     eax, [gs:TEB_LAST_STATUS]
        mov     [rbp - 4], eax
        sub     rsp, rcx
        and     rsp, -64
        call    PenterSaveVectors
        lea     rsp, [rsp - 32]
        call    PenterSlowPath
        lea     rsp, [rsp + 32]
        mov     [rbp - 16], al
        call    PenterRestoreVectors
        mov     eax, [rbp - 8]
        mov     [gs:TEB_LAST_ERROR], eax
        mov     eax, [rbp - 4]
        mov     [gs:TEB_LAST_STATUS], eax
        cmp     byte [rbp - 16], 0
        mov     rsp, rbp
        jne     %%again

%%leave:
        popfq
        pop     rbp
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rdx
        pop     rcx
        pop     rax
        ret

%%noroom:
        lock inc qword [PenterEventsLeftOut]
        jmp     %%leave

%%again:
        popfq
        pop     rbp
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rdx
        pop     rcx
        pop     rax
        jmp     %2
UNWIND_END %1

%endmacro

;++
;
; PenterSaveVectors, PenterRestoreVectors
;
; Routine Description:
;
;   Save the vector state into, and restore it from, the area that begins
;   above the return address: rsp + 8 on entry is aligned on 64.  rax, rcx and
;   rdx are written.  Leaves: RSP does not move.
;
;--

        align 16
PenterSaveVectors:
        mov     eax, [PenterXsaveMask]
        test    eax, eax
        jz      .fxsave
        xor     edx, edx

        ;
        ; XSAVE reads its header (bytes 512 to 575), which must be zero but
        ; for the component bits that it sets.
        ;

        xor     ecx, ecx
%assign Offset 512
%rep 8
        mov     [rsp + 8 + Offset], rcx
%assign Offset Offset + 8
%endrep
        xsave64 [rsp + 8]
        ret
.fxsave:
        fxsave64 [rsp + 8]
        ret

        align 16
PenterRestoreVectors:
        mov     eax, [PenterXsaveMask]
        test    eax, eax
        jz      .fxrstor
        xor     edx, edx
        xrstor64 [rsp + 8]
        ret
.fxrstor:
        fxrstor64 [rsp + 8]
        ret

;++
;
; PenterQueryXsave
;
; Routine Description:
;
;   Finds out what the slow path saves: x87, SSE, AVX and AVX-512 (components
;   0, 1, 2, 5, 6, 7), as far as the system has them on, and the size of the
;   area in the standard format.  Threads that come here at the same time
;   write the same values; the size is written last.
;
;   rax, rcx, rdx and r8 to r10 are written.
;
;--

        align 16
UNWIND_BEGIN PenterQueryXsave
        push    rbx
        UNWIND_PUSH UNWIND_RBX
UNWIND_END_PROLOG
        mov     r8d, 512                    ; FXSAVE
        mov     eax, 1
        xor     ecx, ecx
        cpuid
        bt      ecx, 27                     ; OSXSAVE
        jnc     .store
        xor     ecx, ecx
        xgetbv
        and     eax, 0E7h
        mov     [PenterXsaveMask], eax
        mov     r9d, eax
        shr     r9d, 2
        mov     r8d, 576                    ; legacy area and header
        mov     ecx, 2
.next:
        test    r9d, 1
        jz      .skip
        mov     r10d, ecx
        mov     eax, 0Dh
        cpuid                               ; eax size, ebx offset
        mov     ecx, r10d
        add     eax, ebx
        cmp     eax, r8d
        cmova   r8d, eax
.skip:
        inc     ecx
        shr     r9d, 1
        jnz     .next
.store:
        mov     [PenterXsaveSize], r8d
        pop     rbx
        ret
UNWIND_END PenterQueryXsave

;
; The routines: for a TLS slot in the thread environment block, for one in the
; expansion array, and the slow paths.
;

RECORDING_ROUTINE PenterEnter, TRACE_KIND_ENTER, 32, 0, PenterEnterSlow
RECORDING_ROUTINE PenterExit, TRACE_KIND_EXIT, 32, 0, PenterExitSlow
RECORDING_ROUTINE PenterEnterFunction, TRACE_KIND_ENTER_FUNCTION, 16, 0, \
                  PenterEnterFunctionSlow
RECORDING_ROUTINE PenterExitFunction, TRACE_KIND_EXIT_FUNCTION, 16, 0, \
                  PenterExitFunctionSlow

RECORDING_ROUTINE PenterEnterExpansion, TRACE_KIND_ENTER, 32, 1, \
                  PenterEnterSlow
RECORDING_ROUTINE PenterExitExpansion, TRACE_KIND_EXIT, 32, 1, PenterExitSlow
RECORDING_ROUTINE PenterEnterFunctionExpansion, TRACE_KIND_ENTER_FUNCTION, \
                  16, 1, PenterEnterFunctionSlow
RECORDING_ROUTINE PenterExitFunctionExpansion, TRACE_KIND_EXIT_FUNCTION, \
                  16, 1, PenterExitFunctionSlow

SLOW_ROUTINE PenterEnterSlow, _penter
SLOW_ROUTINE PenterExitSlow, _pexit
SLOW_ROUTINE PenterEnterFunctionSlow, PenterEnterFunctionJump
SLOW_ROUTINE PenterExitFunctionSlow, PenterExitFunctionJump

        global PenterEnterFunctionJump
        align 16
PenterEnterFunctionJump:
        jmp     [PenterEnterFunctionRoutine]

        global PenterExitFunctionJump
        align 16
PenterExitFunctionJump:
        jmp     [PenterExitFunctionRoutine]
