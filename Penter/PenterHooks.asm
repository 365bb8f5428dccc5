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
;   sets: to the routine that initializes (at the start), to one of the
;   recording routines, or to a bare return (tracing off).  The jump costs
;   nothing that can be measured beside rdtsc and touches no flag and no
;   register.  A module that is left out gets a return in place of the jump
;   (PenterPatch.c): one call and one return are left.
;
;   There is a recording routine for each clock, for each of the two places
;   where a thread's context may be, and in two kinds: the plain ones, and those
;   that can leave calls out (by duration and by depth).
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
%include "PenterHook.inc"
%include "PenterState.inc"

        OBJECT_FEATURES

        extern PenterSlowPath
        extern PenterCheck

;
; Thread environment block.
;

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
; And what looking at the callers needs.
;

%define CHECK_STACK                     0x2000

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
        global PenterEnterCheck
        global PenterEnterFunctionCheck
        global PenterExitFunctionCheck
        global PenterEnterSlow
        global PenterExitSlow
        global PenterEnterFunctionSlow
        global PenterExitFunctionSlow

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
; The clock of TRACER_CLOCK=thread, alone on its line: the latest time stamp
; counter that the library's clock thread has read.
;

        global PenterClock
PenterClock:                    dq 0

        align 64, db 0

;
; Events that were left out for lack of stack or of a TLS slot, until a slow
; path of any thread counts them in its store.
;

        global PenterEventsLeftOut
PenterEventsLeftOut:            dq 0

;
; See PenterHooks.h.
;

%define PENTER_NUMBER_OF_JUMPS          1024
%define PENTER_JUMP_CERTAIN             96
%define PENTER_JUMP_NEAR                0x1000

        section .bss bss align=64

        global PenterJumps
PenterJumps:                    resq PENTER_NUMBER_OF_JUMPS

;
; See TraceCaller.h.
;

        global PenterPlaces
PenterPlaces:                   resq TRACE_NUMBER_OF_PLACES

        section .text code align=64

;
; Public names.
;

        global _penter
        global _pexit

        PUBLIC_HOOK _penter
        jmp     [PenterEnterRoutine]

        PUBLIC_HOOK _pexit
        jmp     [PenterExitRoutine]

        global PenterReturn
        align 16
PenterReturn:
        ret

;++
;
; RECORDING_ROUTINE Name, Kind, SiteOffset, Expansion, Slow, Clock, Check
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
;   Clock - TRACE_CLOCK_*: rdtsc; the value that the clock thread has published
;       last; or none, the record's own position.
;
;--

%macro RECORDING_ROUTINE 7

        align 64
UNWIND_BEGIN %1
        SAVE_STATE
UNWIND_END_PROLOG

        CONTEXT %4, %%slow
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        cmp     rdx, [rcx + TRACE_HEADER_LIMIT]
        jae     %%full
%%append:
        add     qword [rcx + TRACE_HEADER_CURSOR], TRACE_RECORD_SIZE

%if %6 == TRACE_CLOCK_TSC
        mov     rcx, rdx
        mov     eax, [rsp + %3]
        mov     [rcx + TRACE_RECORD_SITE], eax
        lea     eax, [rsp + 40 + %2]        ; RSP at the call, plus the kind
        mov     [rcx + TRACE_RECORD_STACK_KIND], eax
        rdtsc
        shl     rdx, 32
        or      rax, rdx
        mov     [rcx + TRACE_RECORD_TIMESTAMP], rax
%else
        mov     eax, [rsp + %3]
        mov     [rdx + TRACE_RECORD_SITE], eax
        lea     eax, [rsp + 40 + %2]
        mov     [rdx + TRACE_RECORD_STACK_KIND], eax
%if %6 == TRACE_CLOCK_THREAD
        mov     rax, [PenterClock]
%else
        mov     rax, [rcx + TRACE_HEADER_TO_POSITION]
        add     rax, rdx
%endif
        mov     [rdx + TRACE_RECORD_TIMESTAMP], rax
%endif

%%done:
        RESTORE_STATE
        ret

%%full:
        mov     eax, [rcx + TRACE_HEADER_HOOK_FLAGS]
        test    eax, TRACE_HOOK_STOPPED
        jz      %%armed
        COUNT_LOST
        jmp     %%done

        ;
        ; There is room all the same while calls may have been left by an
        ; exception.  Then it is looked who has called, unless PenterPlaces has
        ; the place.  The exit of a call that was open before shows that this is
        ; over; so do many entries.
        ;

%%armed:
        mov     rax, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        test    rax, rax
        jz      %%slow
        cmp     rdx, [rax + TRACE_STORE_ARMED_LIMIT]
        jae     %%slow
        lea     rdx, [rsp + 40]
        cmp     rdx, [rax + TRACE_STORE_HIGHEST]
%if %2 == TRACE_KIND_EXIT || %2 == TRACE_KIND_EXIT_FUNCTION
        ja      %%slow
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        jmp     %%append
%else
        jbe     %%lower
        mov     [rax + TRACE_STORE_HIGHEST], rdx
%%lower:
        dec     qword [rax + TRACE_STORE_ARMED_CALLS]
        js      %%slow
        mov     edx, [rsp + %3]
        shl     rdx, 32
%if %2 == TRACE_KIND_ENTER
        xor     rdx, [rsp + 40]
%else
        xor     rdx, [rsp + 8]
%endif
        mov     ecx, edx
        and     ecx, TRACE_NUMBER_OF_PLACES - 1
        lea     rax, [PenterPlaces]
        cmp     rdx, [rax + rcx * 8]
        jne     %%unsure
        CONTEXT %4, %%slow
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        jmp     %%append
%%unsure:
        CONTEXT %4, %%slow
        mov     rax, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        lea     rdx, [rsp + 40]
        cmp     rdx, [rax + TRACE_STORE_CHECKED]
        jne     %%check
        mov     qword [rax + TRACE_STORE_CHECKED], 0
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        jmp     %%append
%%check:
        RESTORE_STATE
        jmp     %7
%endif

%%slow:
        RESTORE_STATE
        jmp     %5
UNWIND_END %1

%endmacro

;++
;
; SAVES_CHAIN Place, No
;
; Macro Description:
;
;   Jumps to No unless a hook was called as gcc does where a function has a
;   static chain (nested functions of C, Ada and Fortran):
;
;       push    r10
;       call    _penter             ; 5 bytes, or 6 by way of a variable
;       pop     r10
;
; Arguments:
;
;   Place - Register with the return address of the hook's call, in code of this
;       module.
;
;--

%define PUSH_R10        5241h
%define POP_R10         5A41h

%macro SAVES_CHAIN 2
        cmp     word [%1], POP_R10
        jne     %2
        cmp     word [%1 - 7], PUSH_R10
        je      %%yes
        cmp     word [%1 - 8], PUSH_R10
        jne     %2
%%yes:
%endmacro

;++
;
; DEPTH_TOP Depth, Index, No
;
; Macro Description:
;
;   Loads the offset from Depth of what is behind the innermost call that is
;   open and recorded into Index, less that of Calls; jumps to No if there is
;   none.
;
;--

%macro DEPTH_TOP 3
        mov     %2d, [%1 + TRACE_DEPTH_COUNT]
        shl     %2, TRACE_DEPTH_CALL_SHIFT
        jz      %3
%endmacro

;
; Fields of the innermost call, and of the one around it, by what DEPTH_TOP has
; loaded.
;

%define DEPTH_INNER(Depth, Index, Field) \
        Depth + Index + TRACE_DEPTH_CALLS - TRACE_DEPTH_CALL_SIZE + Field
%define DEPTH_OUTER(Depth, Index, Field) \
        DEPTH_INNER(Depth, Index, Field) - TRACE_DEPTH_CALL_SIZE

;++
;
; CHOOSING_ROUTINE Name, Kind, SiteOffset, Expansion, Slow, Clock, Check
;
; Macro Description:
;
;   As RECORDING_ROUTINE, and leaves calls out if the user asks for that.
;
;   Depth.  The context's store has the stack pointers of the calls that are
;   open and recorded, the deepest last (TRACE_DEPTH).  An entry closes those at
;   or below its return address (they were left by an exception or a jump) and
;   is left out if as many as allowed remain.  While such a call is open, what
;   is called inside it is only counted.  An exit above it shows that it has
;   gone.  An exit closes the calls below it and the next one, which is its own.
;   Stack pointers are compared by their low halves, and a stack that is not the
;   one the calls are on (a fiber's) leads to the slow path.
;
;   How far the return address is above RSP, TRACE_DEPTH_SITE has.  A function
;   without hooks in between may have a larger frame than a call that was left.
;   So the place that the function is called from is looked at, as in trees
;   (TREE_ENTER): from one that is not known, and at a site that is not,
;   TraceDepthDecide finds out what has gone, and does what is to be done.
;
;   In the -finstrument-functions convention an inlined function has its
;   caller's stack pointer, and no return address of its own.  The hook does by
;   itself what comes where nothing was left: an entry below the innermost call,
;   or inlined into it at a place that has no open call there; an exit that is
;   the innermost call's own, or inside one that is left out.  Where the exit
;   hook was jumped to from the end of a function, the return address is the one
;   that the hook is given: then the stack pointer is the caller's.  All else is
;   TraceDepthDecide's.
;
;   Duration.  An exit takes its entry back if that is the latest record, in the
;   same view, with a stack pointer less than 4 KiB above its own, and younger
;   than the duration: then no call was recorded in between, and none of another
;   fiber, whose stack ends two guard pages away.  The record loses its time
;   stamp first, so that a reader cannot take it for the next one, and the
;   cursor moves back.  Where the exit hook was jumped to (see above), the
;   entry's stack pointer is lower, by the frame that has gone.  This needs no
;   room, and yet the limit comes first: at
;   the limit entries are left out (the store has stopped, or this is a call
;   from inside the library), and the exit of one of those would take the entry
;   of another call.  Nor is anything taken back from before a pause.
;
;   While the store is paused the depth is followed all the same, so that it
;   is right when recording goes on.
;
;   Nothing is changed before it is certain that the slow path is not taken.
;   What TraceDepthDecide has changed it says in Settled, until the hook has
;   gone on from there.
;
; Frame, after the prolog:
;
;   rsp + 0     caller's r9
;   rsp + 8     caller's r8
;   rsp + 16    flags, as above
;   rsp + 24    caller's rdx
;   rsp + 32    caller's rcx
;   rsp + 40    caller's rax
;   rsp + 48    return address into the instrumented function
;
;--

%define CHOOSING_FRAME  16                  ; more than RECORDING_ROUTINE's
%define CHOOSING_CALL   56                  ; from rsp to RSP at the call

%macro CHOOSING_ROUTINE 7

%if %2 == TRACE_KIND_ENTER || %2 == TRACE_KIND_ENTER_FUNCTION
%define IsEnter 1
%else
%define IsEnter 0
%endif
%if %2 == TRACE_KIND_ENTER_FUNCTION || %2 == TRACE_KIND_EXIT_FUNCTION
%define IsFunction 1
%else
%define IsFunction 0
%endif

        align 64
UNWIND_BEGIN %1
        SAVE_STATE
        push    r8
        UNWIND_ALLOCATE 8
        push    r9
        UNWIND_ALLOCATE 8
UNWIND_END_PROLOG

        CONTEXT %4, %%slow
        xor     r8d, r8d
        mov     rdx, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        test    rdx, rdx
        jz      %%limit                     ; a stand-in
        mov     r8, [rdx + TRACE_STORE_DEPTH]
        test    r8, r8
        jz      %%duration
        mov     rax, [gs:TEB_STACK_BASE]
        cmp     rax, [r8 + TRACE_DEPTH_STACK_BASE]
        jne     %%slow
%if IsEnter || IsFunction
        lea     eax, [rsp + CHOOSING_CALL]
        cmp     eax, [r8 + TRACE_DEPTH_SETTLED]
        je      %%settled
%endif

%if IsEnter

        ;
        ; Is the site known, and the place that calls?
        ;

        mov     r9, [rsp + CHOOSING_CALL - 8]
        imul    eax, r9d, TRACE_TREE_HASH
        shr     eax, TRACE_DEPTH_SITE_SHIFT
        shl     eax, TRACE_DEPTH_SITE_SIZE_SHIFT
        add     rax, [r8 + TRACE_DEPTH_SITES]
        cmp     r9d, [rax + TRACE_DEPTH_SITE_HOOK]
        jne     %%undecided
        mov     edx, [rax + TRACE_DEPTH_SITE_SIZE]
%if IsFunction
        mov     r9, [rsp + 24]
%else
        mov     r9, [rsp + rdx + CHOOSING_CALL]
%endif
        cmp     r9, [rax + TRACE_DEPTH_SITE_PLACE]
        jne     %%place
%%known:
        lea     eax, [rsp + CHOOSING_CALL]
        add     edx, eax
        mov     [r8 + TRACE_DEPTH_SLOT], edx
%if !IsFunction

        ;
        ; RSP at the exit will be 8 more where the function has saved its static
        ; chain around the call (SAVES_CHAIN).
        ;

        test    al, 8
        jnz     %%entered                   ; RSP is as gcc has it otherwise
        mov     r9, [rsp + CHOOSING_CALL - 8]
        SAVES_CHAIN r9, %%entered
        add     eax, 8
%%entered:
        mov     [r8 + TRACE_DEPTH_ENTERED], eax
        cmp     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        je      %%duration
        sub     edx, [r8 + TRACE_DEPTH_SKIP + TRACE_DEPTH_CALL_STACK]
        jns     %%duration                  ; it has gone
%%inside:
        add     dword [r8 + TRACE_DEPTH_SKIPPED], 1
        jmp     %%deeper
%else
        mov     [r8 + TRACE_DEPTH_ENTERED], eax
        cmp     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        jne     %%skipping
        DEPTH_TOP r8, r9, %%duration
        cmp     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        je      %%inlined
        sub     edx, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        js      %%duration
        jmp     %%undecided
%%skipping:
        cmp     eax, [r8 + TRACE_DEPTH_SKIP + TRACE_DEPTH_CALL_STACK]
        je      %%undecided
        sub     edx, [r8 + TRACE_DEPTH_SKIP + TRACE_DEPTH_CALL_STACK]
        jns     %%undecided
        add     dword [r8 + TRACE_DEPTH_SKIPPED], 1
        jmp     %%deeper

        ;
        ; At the innermost call's stack pointer: inlined into that, unless it is
        ; open already at this place, or the function's own code is there.
        ;

%%inlined:
        cmp     edx, eax
        jne     %%undecided
        mov     edx, [rsp + CHOOSING_CALL - 8]
%%same:
        cmp     edx, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_PLACE)]
        je      %%undecided
        sub     r9, TRACE_DEPTH_CALL_SIZE
        jz      %%duration
        cmp     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        je      %%same
        jmp     %%duration
%endif

        ;
        ; Called from r9, which is not the place that the site has.
        ;

%%place:
        mov     edx, [r8 + TRACE_DEPTH_COUNT]
        or      edx, [r8 + TRACE_DEPTH_SKIPPED]
        jz      %%sure
        mov     edx, [rsp + %3 + CHOOSING_FRAME]
        shl     rdx, 32
        xor     rdx, r9
        mov     r9d, edx
        and     r9d, TRACE_NUMBER_OF_PLACES - 1
        lea     rax, [PenterPlaces]
        cmp     rdx, [rax + r9 * 8]
        je      %%sure
%if IsFunction

        ;
        ; The caller of a function that is inlined into the innermost call is
        ; known.
        ;

        cmp     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        jne     %%undecided
        DEPTH_TOP r8, r9, %%undecided
        lea     eax, [rsp + CHOOSING_CALL]
        cmp     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        jne     %%undecided
%else
        jmp     %%undecided
%endif
%%sure:
        mov     r9, [rsp + CHOOSING_CALL - 8]
        imul    eax, r9d, TRACE_TREE_HASH
        shr     eax, TRACE_DEPTH_SITE_SHIFT
        shl     eax, TRACE_DEPTH_SITE_SIZE_SHIFT
        add     rax, [r8 + TRACE_DEPTH_SITES]
        mov     edx, [rax + TRACE_DEPTH_SITE_SIZE]
        jmp     %%known

%elif IsFunction

        ;
        ; An exit: is it the innermost call's own?
        ;

        mov     r9, [rsp + CHOOSING_CALL - 8]
        cmp     r9, [rsp + 24]
        je      %%jump
        cmp     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        jne     %%skipping
        DEPTH_TOP r8, r9, %%duration
        sub     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        cmp     eax, 0
        jg      %%undecided
%%function:
        mov     eax, [rsp + %3 + CHOOSING_FRAME]
        cmp     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_FUNCTION)]
        je      %%duration
        jmp     %%undecided
%%skipping:
        sub     eax, [r8 + TRACE_DEPTH_SKIP + TRACE_DEPTH_CALL_STACK]
        js      %%inside
        jnz     %%undecided
%%base:
        cmp     dword [r8 + TRACE_DEPTH_NUMBER_INLINED], 0
        jne     %%undecided
        mov     eax, [rsp + %3 + CHOOSING_FRAME]
        cmp     eax, [r8 + TRACE_DEPTH_SKIP + TRACE_DEPTH_CALL_FUNCTION]
        jne     %%undecided
        mov     dword [r8 + TRACE_DEPTH_SKIPPED], 1
%%inside:
        sub     dword [r8 + TRACE_DEPTH_SKIPPED], 1
        jmp     %%deeper

        ;
        ; The hook was jumped to: the outermost call below is its own.
        ;

%%jump:
        cmp     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        jne     %%skippingjump
        DEPTH_TOP r8, r9, %%duration
        sub     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        cmp     eax, 0
        jle     %%undecided
        cmp     r9, TRACE_DEPTH_CALL_SIZE
        je      %%function
        lea     eax, [rsp + CHOOSING_CALL]
        sub     eax, [DEPTH_OUTER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        cmp     eax, 0
        jle     %%function
        jmp     %%undecided
%%skippingjump:
        sub     eax, [r8 + TRACE_DEPTH_SKIP + TRACE_DEPTH_CALL_STACK]
        cmp     eax, 0
        jle     %%inside
        DEPTH_TOP r8, r9, %%base
        lea     eax, [rsp + CHOOSING_CALL]
        sub     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        cmp     eax, 0
        jle     %%base
        jmp     %%undecided
%else

        ;
        ; An exit: inside a call that was left out, or its own, which has the
        ; same stack pointer?
        ;

        cmp     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        je      %%duration
        lea     eax, [rsp + CHOOSING_CALL]
        sub     eax, [r8 + TRACE_DEPTH_SKIP + TRACE_DEPTH_CALL_STACK]
        cmp     eax, 0
        jg      %%duration
        jl      %%inside
        mov     dword [r8 + TRACE_DEPTH_SKIPPED], 1
%%inside:
        sub     dword [r8 + TRACE_DEPTH_SKIPPED], 1
%endif
%%deeper:
        add     qword [rcx + TRACE_HEADER_TOO_DEEP], 1
        jmp     %%done

%if IsEnter || IsFunction
%%settled:
        cmp     dword [r8 + TRACE_DEPTH_IS_LEFT_OUT], 0
        je      %%duration
        mov     dword [r8 + TRACE_DEPTH_SETTLED], TRACE_DEPTH_UNSETTLED
        jmp     %%deeper
%endif

%%duration:
%if !IsEnter
        mov     r9, [rcx + TRACE_HEADER_MINIMUM_DURATION]
        test    r9, r9
        jz      %%limit
        mov     rax, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        cmp     rdx, [rcx + TRACE_HEADER_LIMIT]
        jae     %%full
        cmp     rdx, [rax + TRACE_STORE_FLOOR]
        je      %%limit                     ; no record to take back
        mov     eax, [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_STACK_KIND]
        sub     eax, esp
        sub     eax, CHOOSING_CALL + %2 - 1
        test    eax, ~0xFF8
%if IsFunction
        jnz     %%jumped
        mov     eax, [rsp + %3 + CHOOSING_FRAME]
        cmp     eax, [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_SITE]
        jne     %%limit
%%young:
%else
        jnz     %%chain
%%young:
%endif
        READ_CLOCK %6
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        sub     rax, [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_TIMESTAMP]
        cmp     rax, r9
        jae     %%kept
        mov     qword [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_TIMESTAMP], 0
        sub     qword [rcx + TRACE_HEADER_CURSOR], TRACE_RECORD_SIZE
        add     qword [rcx + TRACE_HEADER_TAKEN_BACK], 1
        test    r8, r8
        jz      %%done
%if IsFunction
        lea     eax, [rsp + CHOOSING_CALL]
        cmp     eax, [r8 + TRACE_DEPTH_SETTLED]
        jne     %%close
        mov     dword [r8 + TRACE_DEPTH_SETTLED], TRACE_DEPTH_UNSETTLED
        jmp     %%done
%%close:
%endif
        cmp     dword [r8 + TRACE_DEPTH_COUNT], 0
        je      %%done
        mov     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        sub     dword [r8 + TRACE_DEPTH_COUNT], 1
        jmp     %%done

        ;
        ; Without a limit of depth all is known that the record needs: another
        ; reading of the clock would take 8 ns.
        ;

%%kept:
        test    r8, r8
        jnz     %%limit
        add     rax, [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_TIMESTAMP]
        mov     r9, rax
        add     qword [rcx + TRACE_HEADER_CURSOR], TRACE_RECORD_SIZE
        mov     eax, [rsp + %3 + CHOOSING_FRAME]
        mov     [rdx + TRACE_RECORD_SITE], eax
        lea     eax, [rsp + CHOOSING_CALL + %2]
        mov     [rdx + TRACE_RECORD_STACK_KIND], eax
        mov     [rdx + TRACE_RECORD_TIMESTAMP], r9
        jmp     %%done
%if !IsFunction

        ;
        ; Not the entry's stack pointer; 8 more if its function has saved the
        ; static chain around the call.
        ;

%%chain:
        cmp     eax, -8
        jne     %%limit
        mov     eax, [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_SITE]
        mov     r9, [rsp + CHOOSING_CALL - 8]
        sub     eax, r9d
        cdqe
        add     rax, r9
        SAVES_CHAIN rax, %%limit
        mov     r9, [rcx + TRACE_HEADER_MINIMUM_DURATION]
        jmp     %%young
%endif
%if IsFunction

        ;
        ; The hook was jumped to: eax is how far above RSP the entry's was.
        ;

%%jumped:
        neg     eax
        js      %%limit                     ; it was above
        test    eax, 7
        jnz     %%limit                     ; no entry of a function
        mov     r9, [rsp + CHOOSING_CALL - 8]
        cmp     r9, [rsp + 24]
        jne     %%limit                     ; it was called
        mov     r9d, [rsp + %3 + CHOOSING_FRAME]
        cmp     r9d, [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_SITE]
        jne     %%limit
        cmp     eax, PENTER_JUMP_CERTAIN
        jb      %%latest
        lea     edx, [rax + r9]
        shr     edx, 4
        and     edx, PENTER_NUMBER_OF_JUMPS - 1
        shl     rax, 32
        or      rax, r9
        lea     r9, [PenterJumps]
        mov     r9, [r9 + rdx * 8]
        cmp     r9, rax
        je      %%latest
        bts     rax, 33
        cmp     r9, rax
        je      %%doubtful
        btr     rax, 33
        bts     rax, 32
        cmp     r9, rax
        je      %%limit                     ; it is known to be another's

        ;
        ; Nothing is known yet.  The slow path overwrites what is below RSP.
        ;

        shr     rax, 32
        cmp     eax, PENTER_JUMP_NEAR
        jae     %%far
        neg     rax
        mov     r9, [rsp + rax + CHOOSING_CALL + 1 - 8]
        test    r9, r9
        jnz     %%ask
%%far:
        mov     r9d, 1
%%ask:
        mov     rdx, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        mov     [rdx + TRACE_STORE_JUMP_PLACE], r9
        jmp     %%slow

        ;
        ; Nobody can tell: it is kept, and counted if it would have been taken
        ; back.
        ;

%%doubtful:
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        READ_CLOCK %6
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        sub     rax, [rdx - TRACE_RECORD_SIZE + TRACE_RECORD_TIMESTAMP]
        cmp     rax, [rcx + TRACE_HEADER_MINIMUM_DURATION]
        jae     %%limit
        add     qword [rcx + TRACE_HEADER_CALLS_DOUBTFUL], 1
        jmp     %%limit
%%latest:
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        mov     r9, [rcx + TRACE_HEADER_MINIMUM_DURATION]
        jmp     %%young
%endif
%endif

%%limit:
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        cmp     rdx, [rcx + TRACE_HEADER_LIMIT]
        jae     %%full

        test    r8, r8
        jz      %%append
%%follow:
%if IsEnter || IsFunction
        lea     eax, [rsp + CHOOSING_CALL]
        cmp     eax, [r8 + TRACE_DEPTH_SETTLED]
        je      %%followed
%endif
        mov     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        mov     r9d, [r8 + TRACE_DEPTH_COUNT]
        shl     r9, TRACE_DEPTH_CALL_SHIFT
%if !IsFunction
%%gone:
        jz      %%closed
%if IsEnter
        mov     eax, [r8 + TRACE_DEPTH_SLOT]
        sub     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        js      %%closed
%else
        lea     eax, [rsp + CHOOSING_CALL]
        sub     eax, [DEPTH_INNER(r8, r9, TRACE_DEPTH_CALL_STACK)]
        cmp     eax, 0
        jle     %%closed
%endif
        sub     r9, TRACE_DEPTH_CALL_SIZE
        jmp     %%gone
%%closed:
%endif
%if IsEnter
        mov     eax, [r8 + TRACE_DEPTH_ENTERED]
        mov     edx, r9d
        shr     edx, TRACE_DEPTH_CALL_SHIFT
        cmp     edx, [r8 + TRACE_DEPTH_MAXIMUM]
        jae     %%toodeep
        lea     r9, [r8 + r9 + TRACE_DEPTH_CALLS]
        add     edx, 1
        mov     [r8 + TRACE_DEPTH_COUNT], edx
%%fill:
        mov     [r9 + TRACE_DEPTH_CALL_STACK], eax
%if IsFunction
        mov     eax, [rsp + %3 + CHOOSING_FRAME]
%else
        xor     eax, eax
%endif
        mov     [r9 + TRACE_DEPTH_CALL_FUNCTION], eax
        mov     eax, [rsp + CHOOSING_CALL - 8]
        mov     [r9 + TRACE_DEPTH_CALL_PLACE], eax
        mov     eax, [rcx + TRACE_HEADER_TOO_DEEP]
        mov     [r9 + TRACE_DEPTH_CALL_BEFORE], eax
        cmp     dword [r8 + TRACE_DEPTH_SKIPPED], 0
        jne     %%deeper
%else
        shr     r9, TRACE_DEPTH_CALL_SHIFT
        sub     r9d, 1
        adc     r9d, 0                      ; none is open: it stays 0
        mov     [r8 + TRACE_DEPTH_COUNT], r9d
%endif
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        cmp     rdx, [rcx + TRACE_HEADER_LIMIT]
        jae     %%lost                      ; paused, or to come by next

%%append:
        add     qword [rcx + TRACE_HEADER_CURSOR], TRACE_RECORD_SIZE
        mov     eax, [rsp + %3 + CHOOSING_FRAME]
        mov     [rdx + TRACE_RECORD_SITE], eax
        lea     eax, [rsp + CHOOSING_CALL + %2]
        mov     [rdx + TRACE_RECORD_STACK_KIND], eax
        mov     r8, rdx
        READ_CLOCK %6
        mov     [r8 + TRACE_RECORD_TIMESTAMP], rax

%%done:
        RESTORE_CHOOSING_STATE
        ret

%if IsEnter || IsFunction
%%followed:
        mov     dword [r8 + TRACE_DEPTH_SETTLED], TRACE_DEPTH_UNSETTLED
        cmp     rdx, [rcx + TRACE_HEADER_LIMIT]
        jae     %%lost
        jmp     %%append
%endif

%if IsEnter
%%toodeep:
        mov     [r8 + TRACE_DEPTH_COUNT], edx
        mov     dword [r8 + TRACE_DEPTH_SKIPPED], 1
        mov     dword [r8 + TRACE_DEPTH_NUMBER_INLINED], 0
        lea     r9, [r8 + TRACE_DEPTH_SKIP]
        jmp     %%fill
%endif

%%full:
        mov     eax, [rcx + TRACE_HEADER_HOOK_FLAGS]
        test    eax, TRACE_HOOK_STOPPED
        jz      %%slow
        test    eax, TRACE_HOOK_PAUSED
        jz      %%count
        test    r8, r8
        jnz     %%follow
%%count:
        COUNT_LOST
        jmp     %%done
%%lost:
        mov     eax, [rcx + TRACE_HEADER_HOOK_FLAGS]
        test    eax, TRACE_HOOK_PAUSED
        jz      %%append                    ; there was room
        jmp     %%count

%if IsEnter || IsFunction
%%undecided:
        RESTORE_CHOOSING_STATE
        jmp     %7
%endif

%%slow:
        RESTORE_CHOOSING_STATE
        jmp     %5
UNWIND_END %1

%endmacro

;++
;
; SLOW_ROUTINE Name, Hook, Kind, IsCheck
;
; Macro Description:
;
;   Entered with the machine exactly as at the call of the hook.  Saves all
;   that C and the system's routines may change (general registers, flags, the
;   vector state as far as the system knows it, the last error and the last
;   status value), calls
;
;       BOOLEAN PenterSlowPath(Call, Kind, Timestamp)
;
;   (PENTER_SLOW_CALL in PenterHooks.h) and puts everything back.  A thread
;   that has too little stack left for that goes on at once and the event is
;   counted.  If PenterSlowPath returned TRUE the hook is entered again (the
;   context is there, or has room); otherwise the event has been dealt with and
;   the instrumented function goes on.
;
;   The XSAVE area is at most 2,696 bytes with AVX-512, so that together with
;   the rest no page of the stack is skipped (a guard page would be missed).
;
;   With IsCheck it calls
;
;       BOOLEAN PenterCheck(Call, Kind)
;
;   instead, which calls nothing of the system's but RtlLookupFunctionEntry: of
;   the vector state the registers are saved that a routine may change, as far
;   as instructions without VEX prefixes do.
;
; Frame: rbp points to the saved flags; above it rbp, r11, r10, r9, r8, rdx,
;   rcx, rax and the return address.  Below it the last error and the last
;   status value, PenterSlowPath's answer, the time stamp counter, the registers
;   that calls preserve, from r15 on: all this is PENTER_SLOW_CALL.  Below,
;   aligned on 64, the XSAVE area and 32 bytes of shadow space.
;
;--

%macro SLOW_ROUTINE 4

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
%if %4
        cmp     rax, CHECK_STACK
        jb      %%noroom
        mov     [rbp - 32], rbx
        mov     [rbp - 40], rsi
        mov     [rbp - 48], rdi
        mov     [rbp - 56], r12
        mov     [rbp - 64], r13
        mov     [rbp - 72], r14
        mov     [rbp - 80], r15
        lea     rsp, [rsp - 80 - 96 - 40]
        and     rsp, -16
        movups  [rsp + 32], xmm0
        movups  [rsp + 48], xmm1
        movups  [rsp + 64], xmm2
        movups  [rsp + 80], xmm3
        movups  [rsp + 96], xmm4
        movups  [rsp + 112], xmm5
        lea     rcx, [rbp - 80]
        mov     edx, %3
        call    PenterCheck
        movups  xmm0, [rsp + 32]
        movups  xmm1, [rsp + 48]
        movups  xmm2, [rsp + 64]
        movups  xmm3, [rsp + 80]
        movups  xmm4, [rsp + 96]
        movups  xmm5, [rsp + 112]
        mov     rsp, rbp
        test    al, al
        jnz     %%again
%else
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
        lea     rsp, [rsp - 80]
        mov     [rbp - 32], rbx
        mov     [rbp - 40], rsi
        mov     [rbp - 48], rdi
        mov     [rbp - 56], r12
        mov     [rbp - 64], r13
        mov     [rbp - 72], r14
        mov     [rbp - 80], r15
        rdtsc
        mov     [rbp - 24], eax
        mov     [rbp - 20], edx
        mov     eax, [gs:TEB_LAST_ERROR]
        mov     [rbp - 8], eax
        mov     eax, [gs:TEB_LAST_STATUS]
        mov     [rbp - 4], eax
        sub     rsp, rcx
        and     rsp, -64
        call    PenterSaveVectors
        lea     rsp, [rsp - 32]
        lea     rcx, [rbp - 80]
        mov     edx, %3
        mov     r8, [rbp - 24]
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
%endif

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

;++
;
; FOUR_ROUTINES Macro, Suffix, Expansion, Clock
;
; Macro Description:
;
;   The four routines of a set, and their addresses in PenterRoutines.
;
;--

%macro FOUR_ROUTINES 4
        %1 PenterEnter%2, TRACE_KIND_ENTER, 32, %3, PenterEnterSlow, %4, \
           PenterEnterCheck
        %1 PenterExit%2, TRACE_KIND_EXIT, 32, %3, PenterExitSlow, %4, 0
        %1 PenterEnterFunction%2, TRACE_KIND_ENTER_FUNCTION, 16, %3, \
           PenterEnterFunctionSlow, %4, PenterEnterFunctionCheck
        %1 PenterExitFunction%2, TRACE_KIND_EXIT_FUNCTION, 16, %3, \
           PenterExitFunctionSlow, %4, PenterExitFunctionCheck
        section .rdata rdata align=16
        dq PenterEnter%2, PenterExit%2
        dq PenterEnterFunction%2, PenterExitFunction%2
        section .text
%endmacro

;
; PENTER_ROUTINES PenterRoutines[Clock][Chooses][Expansion] (PenterHooks.h).
;

        section .rdata rdata align=16
        global PenterRoutines
PenterRoutines:
        section .text

FOUR_ROUTINES RECORDING_ROUTINE, Tsc, 0, TRACE_CLOCK_TSC
FOUR_ROUTINES RECORDING_ROUTINE, TscExpansion, 1, TRACE_CLOCK_TSC
FOUR_ROUTINES CHOOSING_ROUTINE, TscChoosing, 0, TRACE_CLOCK_TSC
FOUR_ROUTINES CHOOSING_ROUTINE, TscChoosingExpansion, 1, TRACE_CLOCK_TSC

FOUR_ROUTINES RECORDING_ROUTINE, Thread, 0, TRACE_CLOCK_THREAD
FOUR_ROUTINES RECORDING_ROUTINE, ThreadExpansion, 1, TRACE_CLOCK_THREAD
FOUR_ROUTINES CHOOSING_ROUTINE, ThreadChoosing, 0, TRACE_CLOCK_THREAD
FOUR_ROUTINES CHOOSING_ROUTINE, ThreadChoosingExpansion, 1, TRACE_CLOCK_THREAD

FOUR_ROUTINES RECORDING_ROUTINE, None, 0, TRACE_CLOCK_NONE
FOUR_ROUTINES RECORDING_ROUTINE, NoneExpansion, 1, TRACE_CLOCK_NONE
FOUR_ROUTINES CHOOSING_ROUTINE, NoneChoosing, 0, TRACE_CLOCK_NONE
FOUR_ROUTINES CHOOSING_ROUTINE, NoneChoosingExpansion, 1, TRACE_CLOCK_NONE

;
; Not through the public hooks: what calls or jumps to those is the program's
; code, and may be taken out of it (PenterExclude.c).
;

SLOW_ROUTINE PenterEnterSlow, PenterEnterJump, TRACE_KIND_ENTER, 0
SLOW_ROUTINE PenterExitSlow, PenterExitJump, TRACE_KIND_EXIT, 0
SLOW_ROUTINE PenterEnterFunctionSlow, PenterEnterFunctionJump, \
             TRACE_KIND_ENTER_FUNCTION, 0
SLOW_ROUTINE PenterExitFunctionSlow, PenterExitFunctionJump, \
             TRACE_KIND_EXIT_FUNCTION, 0
SLOW_ROUTINE PenterEnterCheck, PenterEnterJump, TRACE_KIND_ENTER, 1
SLOW_ROUTINE PenterEnterFunctionCheck, PenterEnterFunctionJump, \
             TRACE_KIND_ENTER_FUNCTION, 1
SLOW_ROUTINE PenterExitFunctionCheck, PenterExitFunctionJump, \
             TRACE_KIND_EXIT_FUNCTION, 1

        align 16
PenterEnterJump:
        jmp     [PenterEnterRoutine]

        align 16
PenterExitJump:
        jmp     [PenterExitRoutine]

        global PenterEnterFunctionJump
        align 16
PenterEnterFunctionJump:
        jmp     [PenterEnterFunctionRoutine]

        global PenterExitFunctionJump
        align 16
PenterExitFunctionJump:
        jmp     [PenterExitFunctionRoutine]
