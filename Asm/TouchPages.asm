;++
;
; Module Name:
;
;   TouchPages.asm
;
; Abstract:
;
;   Makes the pages of a view present and writable before records are written
;   into them.
;
;--

        bits 64
        default rel

%include "Unwind.inc"

        OBJECT_FEATURES

        section .text code align=16

;++
;
; VOID
; AsmTouchPages(
;     _Inout_updates_bytes_(SizeInBytes) PVOID Address,
;     _In_ SIZE_T SizeInBytes
;     );
;
; Routine Description:
;
;   Writes to every 4 KiB page of the range without changing a byte.  A page
;   that cannot be had raises an exception here (in-page error, access
;   violation): call this under __try.
;
;   A leaf: RSP does not move, so no unwind data is needed and an exception
;   unwinds straight to the caller.
;
; Arguments:
;
;   Address (rcx) - Supplies the first byte, aligned on 4,096.
;
;   SizeInBytes (rdx) - Supplies the size, a multiple of 4,096.
;
; Registers: rcx and rdx are written; flags.
;
;--

        global AsmTouchPages
        align 16
AsmTouchPages:
        add     rdx, rcx
        cmp     rcx, rdx
        jae     .done
.next:
        lock or dword [rcx], 0          ; dirties the page, keeps its bytes
        add     rcx, 4096
        cmp     rcx, rdx
        jb      .next
.done:
        ret
