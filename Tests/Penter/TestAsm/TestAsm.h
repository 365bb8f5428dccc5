/*++

Module Name:

    TestAsm.h

Abstract:

    What the sources of TestAsm share.

--*/

#ifndef TRACER_TEST_ASM_H
#define TRACER_TEST_ASM_H

#include "../../../Asm/Asm.h"
#include "../PenterSupport.h"

typedef struct _TEST_FILL {
    PCSZ Name;
    PASM_FILL_PAGES Routine;
    ULONG Problems;                 // what must be found, all of it
} TEST_FILL;

typedef struct _TEST_COPY {
    PCSZ Name;
    PASM_COPY_PAGES Routine;
    ULONG Problems;
} TEST_COPY;

extern BOOLEAN TestQuick;

extern const TEST_FILL TestFills[];

extern const TEST_COPY TestCopies[];

//
// Places.c.
//

//
// Gets pages with addresses before and after them that have no memory.
// SizeInBytes: the size, a multiple of 4,096; 0 is allowed.
// Returns the first byte; NULL if there is no memory.
//

PBYTE
TestAllocate(
    _In_ SIZE_T SizeInBytes
    );

//
// Gives the memory of TestAllocate back.
// Pages: what TestAllocate returned.
//

VOID
TestFree(
    _In_opt_ PBYTE Pages
    );

VOID
TestMakePattern(
    _Out_writes_bytes_(SizeInBytes) PBYTE Bytes,
    _In_ SIZE_T SizeInBytes,
    _In_ ULONG Seed
    );

//
// Compares bytes with a pattern.
// SizeInBytes: their number.
// Returns TRUE if they are the same.
//

BOOLEAN
TestIsPattern(
    _In_reads_bytes_(SizeInBytes) const BYTE *Bytes,
    _In_ SIZE_T SizeInBytes,
    _In_ ULONG Seed
    );

//
// Looks whether all bytes have one value.
// SizeInBytes: their number.
//

BOOLEAN
TestIsFilled(
    _In_reads_bytes_(SizeInBytes) const BYTE *Bytes,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value
    );

//
// What TestAsm.c calls, source by source.
//

VOID TestContract(VOID);                // Routines.c
VOID TestSizes(VOID);                   // Routines.c
VOID TestFarAndLarge(VOID);             // Routines.c

VOID TestState(VOID);                   // State.c
VOID TestCode(VOID);                    // State.c
VOID TestFaults(VOID);                  // State.c

#endif // TRACER_TEST_ASM_H
