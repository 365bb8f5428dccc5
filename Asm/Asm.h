/*++

Module Name:

    Asm.h

Abstract:

    The routines in Asm/, for C.  Their contracts stand with their code.

--*/

#ifndef TRACER_ASM_H
#define TRACER_ASM_H

#include "../Rtl/RtlTypes.h"

//
// TouchPages.asm: writes to every page of the range without changing a byte.
// Raises what the page raises.
//

VOID
AsmTouchPages(
    _Inout_updates_bytes_(SizeInBytes) PVOID Address,
    _In_ SIZE_T SizeInBytes
    );

//
// FillPages.asm, CopyPages.asm: fill and copy whole pages, with AVX2, which the
// caller has looked for (RTL_CPU_FEATURES); where it is missing there are
// RtlFillBytes and RtlCopyBytes.  FillPages.c and CopyPages.c are the same in
// C, with AVX2 too.  Tracer itself calls neither (Docs/figures/Pages.md has the
// reasons), and TracerPenter.lib does not have them.
//
// Addresses and sizes are multiples of 4,096 bytes; a size of 0 is allowed, and
// nothing is done.  FALSE, and nothing is written, if one is not a multiple, if
// a range goes up to the end of the address space or beyond, or if the two
// ranges of a copy have a byte in common.  They raise what a page raises.
//
// From *_STREAM bytes on, the stores go past the caches.  They are in order
// with what the caller stores after the return.
//

#define ASM_PAGE_SIZE           0x1000
#define ASM_FILL_PAGES_STREAM   0x2000000   // Pages.inc has both
#define ASM_COPY_PAGES_STREAM   0x1000000

typedef
BOOLEAN
(ASM_FILL_PAGES)(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value
    );
typedef ASM_FILL_PAGES *PASM_FILL_PAGES;
ASM_FILL_PAGES AsmFillPages;
ASM_FILL_PAGES AsmFillPagesInC;

typedef
BOOLEAN
(ASM_COPY_PAGES)(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_reads_bytes_(SizeInBytes) const VOID *Source,
    _In_ SIZE_T SizeInBytes
    );
typedef ASM_COPY_PAGES *PASM_COPY_PAGES;
ASM_COPY_PAGES AsmCopyPages;
ASM_COPY_PAGES AsmCopyPagesInC;

#endif // TRACER_ASM_H
