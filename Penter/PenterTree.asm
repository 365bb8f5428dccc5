;++
;
; Module Name:
;
;   PenterTree.asm
;
; Abstract:
;
;   The hooks of TRACER_MODE=tree: instead of writing a record they keep the
;   thread's calling-context tree (TraceFormat.h, "Trees").  PenterHooks.asm has
;   the contract; it is the same here.
;
;   An entry takes the innermost open frame's node for the parent, finds the
;   child of its call site, adds 1 to its calls and pushes a frame.  An exit
;   that is the innermost frame's own adds its time to the node and pops it.
;   Frames that were left by an exception or a jump, or in programs without exit
;   hooks, are ended by an entry.  Everything else is left to
;   TraceStore/TraceTreeEnter.c: a child that is not there yet, such frames in
;   the -finstrument-functions convention, another stack, the end of the pages
;   that are prepared.
;
;   No page is touched that TraceTree.c has not prepared: an entry writes below
;   the header's limit, all else is there already.
;
;   The cursor is written last: a frame is whole before it is open, and its time
;   is in its node before it is closed.
;
;--

        bits 64
        default rel

%include "Unwind.inc"
%include "TraceLayout.inc"
%include "PenterState.inc"

        OBJECT_FEATURES

        extern PenterSlotOffset
        extern PenterClock
        extern PenterEnterSlow
        extern PenterExitSlow
        extern PenterEnterFunctionSlow
        extern PenterExitFunctionSlow
        extern PenterEnterCheck
        extern PenterEnterFunctionCheck
        extern PenterPlaces

        section .text code align=64

;
; Frame, after the prolog:
;
;   rsp + 0     caller's r9
;   rsp + 8     caller's r8
;   rsp + 16    flags: AH as lahf left it, AL 1 if the overflow flag was set
;   rsp + 24    caller's rdx
;   rsp + 32    caller's rcx
;   rsp + 40    caller's rax
;   rsp + 48    return address into the instrumented function
;

%define TREE_RDX        24
%define TREE_RCX        32
%define TREE_RETURN     48
%define TREE_CALL       56                  ; from rsp to RSP at the call:
                                            ; TRACE_TREE_HOOK_FRAME

%macro SAVE_TREE_STATE 0
        SAVE_STATE
        push    r8
        UNWIND_ALLOCATE 8
        push    r9
        UNWIND_ALLOCATE 8
%endmacro

;++
;
; TREE_ENTER Name, IsFunction, Expansion, Slow, Clock, Check
;
; Macro Description:
;
;   An entry.
;
;   By the law of pairing, the innermost frame is still open if and only if the
;   return address of the function that is entered lies below the frame's stack
;   pointer.  How far above RSP that return address is was read from the
;   module's unwind data when the node was made: it is the same for all nodes
;   of a site.
;
;   That is so as long as one function with hooks calls another.  A function
;   without hooks in between, which the frame's caller has called since, may
;   have a larger frame than the one that is gone.  So the place that the
;   function is called from is looked at: the node has one that is in its
;   parent's function, PenterPlaces has others.  From any other the stack is
;   walked (TraceCallerCheckTree).
;
;   In the -finstrument-functions convention an inlined function has its
;   caller's stack pointer, and its node's FrameSize is 0.  A frame of the same
;   stack pointer that was pushed from the same place in the code has gone.
;
;--

%macro TREE_ENTER 6

        align 64
UNWIND_BEGIN %1
        SAVE_TREE_STATE
UNWIND_END_PROLOG

        CONTEXT %3, %%slow
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        cmp     rdx, [rcx + TRACE_HEADER_LIMIT]
        jae     %%full
        mov     r8, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        mov     rax, rsp
        sub     rax, [r8 + TRACE_STORE_TREE_STACK_LOW]
        cmp     rax, [r8 + TRACE_STORE_TREE_STACK_SIZE]
        jae     %%slow                      ; another stack

%%parent:
        mov     r8, [rdx + TRACE_FRAME_NODE]
        mov     rax, [r8 + TRACE_NODE_LAST_CHILD]
%if %2
        mov     r8d, [rsp + TREE_RCX]
%else
        mov     r8d, [rsp + TREE_RETURN]
%endif
        cmp     r8d, [rax + TRACE_NODE_SITE]
        jne     %%find
%%child:
        mov     r8d, [rax + TRACE_NODE_FRAME_SIZE]
        lea     r8, [rsp + r8 + TREE_CALL]
        cmp     r8, [rdx + TRACE_FRAME_STACK]
        jae     %%left
%if %2
        mov     r9, [rsp + TREE_RDX]
%else
        mov     r9, [r8]
%endif
        cmp     r9d, [rax + TRACE_NODE_PLACE]
        jne     %%place
%%push:
        add     qword [rax + TRACE_NODE_CALLS], 1
        lea     r8, [rsp + TREE_CALL]
        mov     [rdx + TRACE_FRAME_SIZE + TRACE_FRAME_STACK], r8
        mov     [rdx + TRACE_FRAME_SIZE + TRACE_FRAME_NODE], rax
%if %2
        mov     r8d, [rsp + TREE_RETURN]
        shl     r8, 32
        mov     [rdx + TRACE_FRAME_SIZE + TRACE_FRAME_FLAGS], r8
%else
        mov     qword [rdx + TRACE_FRAME_SIZE + TRACE_FRAME_FLAGS], 0
%endif
        lea     r8, [rdx + TRACE_FRAME_SIZE]
        READ_CLOCK %5
        mov     [r8 + TRACE_FRAME_START], rax
        mov     [rcx + TRACE_HEADER_CURSOR], r8

%%done:
        RESTORE_CHOOSING_STATE
        ret

        ;
        ; Called from elsewhere, r9: from another place in the caller, or by a
        ; function that has no hooks.  That one's frame may hide that the
        ; innermost call has gone, which then has to be found out.
        ;

%%place:
        test    dword [rax + TRACE_NODE_FLAGS], TRACE_NODE_OTHER
        jnz     %%push
        mov     r8d, [rax + TRACE_NODE_SITE]
        shl     r8, 32
        xor     r9, r8
        mov     r8d, r9d
        and     r8d, TRACE_NUMBER_OF_PLACES - 1
        lea     rdx, [PenterPlaces]
        cmp     r9, [rdx + r8 * 8]
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        jne     %%unsure
        mov     [rax + TRACE_NODE_PLACE], r9d
        jmp     %%push
%%unsure:
        cmp     qword [rdx + TRACE_FRAME_STACK], -1
        je      %%push                      ; nothing is open
        mov     r8, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        lea     r9, [rsp + TREE_CALL]
        cmp     r9, [r8 + TRACE_STORE_CHECKED]
        jne     %%check
        mov     qword [r8 + TRACE_STORE_CHECKED], 0
        jmp     %%push
%%check:
        RESTORE_CHOOSING_STATE
        jmp     %6

        ;
        ; Not the child that was called last: r8d is the site, rdx the frame.
        ;

%%find:
%if !%2
        lea     r9, [rsp + TREE_CALL]
        cmp     r9, [rdx + TRACE_FRAME_STACK]
        jae     %%above                     ; the parent is another
%endif
        mov     rcx, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        mov     r9, [rdx + TRACE_FRAME_NODE]
        mov     eax, r9d
        shr     eax, 3
        xor     eax, r8d
        imul    eax, eax, TRACE_TREE_HASH
        shr     eax, TRACE_TREE_HASH_SHIFT
        and     eax, [rcx + TRACE_STORE_TREE_MASK]
        shl     rax, 3
        add     rax, [rcx + TRACE_STORE_TREE_BUCKETS]
        mov     rax, [rax]
        sub     r9, [rcx + TRACE_STORE_TREE_NODES]
        shr     r9, TRACE_NODE_SHIFT
        mov     rcx, [rcx + TRACE_STORE_HEADER]
%%next:
        test    rax, rax
        jz      %%none
        cmp     r8d, [rax + TRACE_NODE_SITE]
        jne     %%skip
        cmp     r9, [rax + TRACE_NODE_PARENT]
        je      %%found
%%skip:
        mov     rax, [rax + TRACE_NODE_HASH_NEXT]
        jmp     %%next
%%found:
        mov     r8, [rdx + TRACE_FRAME_NODE]
        mov     [r8 + TRACE_NODE_LAST_CHILD], rax
        jmp     %%child
%%none:
        mov     r8, [rdx + TRACE_FRAME_NODE]
        mov     rax, [r8 + TRACE_NODE_OTHER_CHILD]
        test    rax, rax
        jnz     %%child
        jmp     %%slow

%%left:
%if %2
        lea     r8, [rsp + TREE_CALL]
        cmp     r8, [rdx + TRACE_FRAME_STACK]
        jne     %%slow
        cmp     dword [rax + TRACE_NODE_FRAME_SIZE], 0
        jne     %%slow
        mov     r9d, [rsp + TREE_RETURN]
%%same:
        cmp     r9d, [rdx + TRACE_FRAME_FLAGS + 4]
        je      %%slow
        sub     rdx, TRACE_FRAME_SIZE
        cmp     r8, [rdx + TRACE_FRAME_STACK]
        je      %%same
        mov     rdx, [rcx + TRACE_HEADER_CURSOR]
        jmp     %%push
%else

        ;
        ; Frames at or below the return address, r8, have gone: each ends now,
        ; without an exit.  Then the parent is another.
        ;

        cmp     dword [rax + TRACE_NODE_FRAME_SIZE], TRACE_FRAME_SIZE_CHAIN
        je      %%chain
        mov     r9, r8
%%above:
        mov     r8, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        mov     dword [r8 + TRACE_STORE_TREE_TOO_DEEP], 0
        mov     r8, rdx
        READ_CLOCK %5
%%gone:
        test    dword [r8 + TRACE_FRAME_FLAGS], TRACE_FRAME_STALE
        jnz     %%pop
        mov     rdx, [r8 + TRACE_FRAME_NODE]
        add     qword [rdx + TRACE_NODE_ABANDONED], 1
        cmp     rdx, [r8 - TRACE_FRAME_SIZE + TRACE_FRAME_NODE]
        je      %%pop
        sub     rax, [r8 + TRACE_FRAME_START]
        jb      %%back
        add     [rdx + TRACE_NODE_TOTAL], rax
        add     [rdx + TRACE_NODE_ABANDONED_TOTAL], rax
%%back:
        add     rax, [r8 + TRACE_FRAME_START]
%%pop:
        sub     r8, TRACE_FRAME_SIZE
        mov     [rcx + TRACE_HEADER_CURSOR], r8
        cmp     r9, [r8 + TRACE_FRAME_STACK]
        jae     %%gone
        mov     rdx, r8
        jmp     %%parent

        ;
        ; The function has pushed its static chain before it called, and pops it
        ; then: at its exit RSP will be where its return address is now.
        ;

%%chain:
        lea     r9, [rsp + TREE_CALL + 8]
        cmp     r9, [rdx + TRACE_FRAME_STACK]
        jae     %%above
        add     qword [rax + TRACE_NODE_CALLS], 1
        mov     [rdx + TRACE_FRAME_SIZE + TRACE_FRAME_STACK], r9
        mov     [rdx + TRACE_FRAME_SIZE + TRACE_FRAME_NODE], rax
        mov     qword [rdx + TRACE_FRAME_SIZE + TRACE_FRAME_FLAGS], 0
        lea     r8, [rdx + TRACE_FRAME_SIZE]
        READ_CLOCK %5
        mov     [r8 + TRACE_FRAME_START], rax
        mov     [rcx + TRACE_HEADER_CURSOR], r8
        jmp     %%done
%endif

%%full:
        mov     eax, [rcx + TRACE_HEADER_HOOK_FLAGS]
        test    eax, TRACE_HOOK_STOPPED
        jz      %%slow
        COUNT_LOST
        jmp     %%done

%%slow:
        RESTORE_CHOOSING_STATE
        jmp     %4
UNWIND_END %1

%endmacro

;++
;
; TREE_EXIT Name, IsFunction, Expansion, Slow, Clock
;
; Macro Description:
;
;   An exit.
;
;   In the -finstrument-functions convention it is the innermost frame's own if
;   it is of the same function too.  Where the exit hook was jumped to from the
;   end of a function, the return address is the one that the hook is given:
;   then the stack pointer is the caller's, and its own frame is the last of
;   those below.
;
;   The calls of TRACE_NODE_OTHER may be inside each other: only the outermost
;   adds its time.
;
;--

%macro TREE_EXIT 5

        align 64
UNWIND_BEGIN %1
        SAVE_TREE_STATE
UNWIND_END_PROLOG

        CONTEXT %3, %%slow
        mov     rdx, [rcx + TRACE_HEADER_WRITER_CONTEXT]
        test    rdx, rdx
        jz      %%full                      ; a stand-in
        mov     rax, rsp
        sub     rax, [rdx + TRACE_STORE_TREE_STACK_LOW]
        cmp     rax, [rdx + TRACE_STORE_TREE_STACK_SIZE]
        jae     %%full                      ; another stack
        mov     r8, [rcx + TRACE_HEADER_CURSOR]
        READ_CLOCK %5
        mov     rdx, rax

        lea     rax, [rsp + TREE_CALL]
        cmp     rax, [r8 + TRACE_FRAME_STACK]
%if %2
        jne     %%jumped
%%function:
        mov     rax, [r8 + TRACE_FRAME_NODE]
        mov     r9d, [rsp + TREE_RCX]
        cmp     r9d, [rax + TRACE_NODE_SITE]
        jne     %%other
%else
        jne     %%full
        mov     rax, [r8 + TRACE_FRAME_NODE]
%endif
%%own:
        sub     rdx, [r8 + TRACE_FRAME_START]
        jb      %%full
        cmp     rax, [r8 - TRACE_FRAME_SIZE + TRACE_FRAME_NODE]
        je      %%pop
        add     [rax + TRACE_NODE_TOTAL], rdx
        cmp     rdx, [rax + TRACE_NODE_MINIMUM]
        jb      %%minimum
%%most:
        cmp     rdx, [rax + TRACE_NODE_MAXIMUM]
        ja      %%maximum
%%pop:
        sub     r8, TRACE_FRAME_SIZE
        mov     [rcx + TRACE_HEADER_CURSOR], r8

%%done:
        RESTORE_CHOOSING_STATE
        ret

%%minimum:
        cmp     qword [rax + TRACE_NODE_MINIMUM], -1
        jne     %%least
        mov     [rax + TRACE_NODE_FIRST], rdx
%%least:
        mov     [rax + TRACE_NODE_MINIMUM], rdx
        jmp     %%most

%%maximum:
        mov     [rax + TRACE_NODE_MAXIMUM], rdx
        jmp     %%pop

%if %2
%%jumped:
        jb      %%full
        mov     r9, [rsp + TREE_RETURN]
        cmp     r9, [rsp + TREE_RDX]
        jne     %%full
        cmp     rax, [r8 - TRACE_FRAME_SIZE + TRACE_FRAME_STACK]
        jbe     %%function
        jmp     %%full
%%other:
        test    dword [rax + TRACE_NODE_FLAGS], TRACE_NODE_OTHER
        jnz     %%own
%endif

%%full:
        mov     eax, [rcx + TRACE_HEADER_HOOK_FLAGS]
        test    eax, TRACE_HOOK_STOPPED
        jz      %%slow
        COUNT_LOST
        jmp     %%done

%%slow:
        RESTORE_CHOOSING_STATE
        jmp     %4
UNWIND_END %1

%endmacro

;++
;
; FOUR_TREE_ROUTINES Suffix, Expansion, Clock
;
; Macro Description:
;
;   The four routines of a set, and their addresses in PenterTreeRoutines.
;
;--

%macro FOUR_TREE_ROUTINES 3
        TREE_ENTER PenterTreeEnter%1, 0, %2, PenterEnterSlow, %3, \
                   PenterEnterCheck
        TREE_EXIT PenterTreeExit%1, 0, %2, PenterExitSlow, %3
        TREE_ENTER PenterTreeEnterFunction%1, 1, %2, \
                   PenterEnterFunctionSlow, %3, PenterEnterFunctionCheck
        TREE_EXIT PenterTreeExitFunction%1, 1, %2, PenterExitFunctionSlow, %3
        section .rdata rdata align=16
        dq PenterTreeEnter%1, PenterTreeExit%1
        dq PenterTreeEnterFunction%1, PenterTreeExitFunction%1
        section .text
%endmacro

;
; PENTER_ROUTINES PenterTreeRoutines[Clock][Expansion] (PenterHooks.h).
;

        section .rdata rdata align=16
        global PenterTreeRoutines
PenterTreeRoutines:
        section .text

FOUR_TREE_ROUTINES Tsc, 0, TRACE_CLOCK_TSC
FOUR_TREE_ROUTINES TscExpansion, 1, TRACE_CLOCK_TSC
FOUR_TREE_ROUTINES Thread, 0, TRACE_CLOCK_THREAD
FOUR_TREE_ROUTINES ThreadExpansion, 1, TRACE_CLOCK_THREAD
