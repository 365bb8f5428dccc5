/*++

Module Name:

    TestAsm.c

Abstract:

    Tests the routines in Asm/ that fill and copy pages, in assembly and in C,
    and the one that touches them.

    The contents are compared with what a loop over bytes makes.  Each range
    stands between addresses that have no memory, so that nothing before or
    after it can be read or written unseen.  The checks are made of routines
    with known faults too, and must find each.

--*/

#include "../../Asm/Asm.h"
#include "PenterSupport.h"

//
// What was found wrong with a routine.
//

#define TEST_WRONG_RESULT   0x01    // refused what it has to take
#define TEST_WRONG_BYTES    0x02
#define TEST_WRONG_SOURCE   0x04    // the source has changed
#define TEST_WRONG_RANGE    0x08    // met addresses beyond the ranges
#define TEST_WRONG_TAKEN    0x10    // took what it has to refuse
#define TEST_WRONG_WRITTEN  0x20    // refused, and wrote

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

static BOOLEAN TestQuick;

//
// Memory between addresses without any.
//

//
// Gets pages with addresses before and after them that have no memory.
// SizeInBytes: the size, a multiple of 4,096; 0 is allowed.
// Returns the first byte; NULL if there is no memory.
//

static
PBYTE
TestAllocate(
    _In_ SIZE_T SizeInBytes
    )
{
    PBYTE Base;

    Base = (PBYTE)VirtualAlloc(NULL,
                               SizeInBytes + 2 * ASM_PAGE_SIZE,
                               MEM_RESERVE,
                               PAGE_NOACCESS);
    if (!TEST(Base != NULL)) {
        return NULL;
    }

    if (SizeInBytes != 0 &&
        !TEST(VirtualAlloc(Base + ASM_PAGE_SIZE,
                           SizeInBytes,
                           MEM_COMMIT,
                           PAGE_READWRITE) != NULL)) {

        VirtualFree(Base, 0, MEM_RELEASE);
        return NULL;
    }

    return Base + ASM_PAGE_SIZE;
}

//
// Gives the memory of TestAllocate back.
// Pages: what TestAllocate returned.
//

static
VOID
TestFree(
    _In_opt_ PBYTE Pages
    )
{
    if (Pages != NULL) {
        VirtualFree(Pages - ASM_PAGE_SIZE, 0, MEM_RELEASE);
    }
}

//
// Makes the byte of a pattern in which no two pages, and no two lines of one,
// are the same.
// Offset: where the byte is.
//

static
BYTE
TestByte(
    _In_ SIZE_T Offset,
    _In_ ULONG Seed
    )
{
    ULONG Word;

    Word = ((ULONG)(Offset >> 2) + Seed) * 2654435761U;
    return (BYTE)(Word >> (8 * (Offset & 3)));
}

static
VOID
TestMakePattern(
    _Out_writes_bytes_(SizeInBytes) PBYTE Bytes,
    _In_ SIZE_T SizeInBytes,
    _In_ ULONG Seed
    )
{
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes; Index += 1) {
        Bytes[Index] = TestByte(Index, Seed);
    }
}

//
// Compares bytes with a pattern.
// SizeInBytes: their number.
// Returns TRUE if they are the same.
//

static
BOOLEAN
TestIsPattern(
    _In_reads_bytes_(SizeInBytes) const BYTE *Bytes,
    _In_ SIZE_T SizeInBytes,
    _In_ ULONG Seed
    )
{
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes; Index += 1) {
        if (Bytes[Index] != TestByte(Index, Seed)) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Looks whether all bytes have one value.
// SizeInBytes: their number.
//

static
BOOLEAN
TestIsFilled(
    _In_reads_bytes_(SizeInBytes) const BYTE *Bytes,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value
    )
{
    SIZE_T Index;

    for (Index = 0; Index < SizeInBytes; Index += 1) {
        if (Bytes[Index] != Value) {
            return FALSE;
        }
    }

    return TRUE;
}

//
// Calls that may raise an exception: TRUE if they did.
//

//
// Destination, SizeInBytes, Value: its arguments.
// Result: what it returned.
// Returns TRUE if there was an exception.
//

static
BOOLEAN
TestCallFill(
    _In_ PASM_FILL_PAGES Routine,
    _In_ PVOID Destination,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value,
    _Out_ PBOOLEAN Result
    )
{
    *Result = FALSE;
    __try {
        *Result = Routine(Destination, SizeInBytes, Value);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return TRUE;
    }

    return FALSE;
}

//
// Calls a routine that copies.
// Destination, Source, SizeInBytes: its arguments.
// Result: what it returned.
// Returns TRUE if there was an exception.
//

static
BOOLEAN
TestCallCopy(
    _In_ PASM_COPY_PAGES Routine,
    _In_ PVOID Destination,
    _In_ const VOID *Source,
    _In_ SIZE_T SizeInBytes,
    _Out_ PBOOLEAN Result
    )
{
    *Result = FALSE;
    __try {
        *Result = Routine(Destination, Source, SizeInBytes);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return TRUE;
    }

    return FALSE;
}

//
// Fills pages once.
// SizeInBytes: how much.
// Returns TEST_WRONG_*.
//

static
ULONG
TestFillSize(
    _In_ PASM_FILL_PAGES Routine,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value
    )
{
    PBYTE Pages;
    BOOLEAN Result;
    ULONG Problems;

    Pages = TestAllocate(SizeInBytes);
    if (Pages == NULL) {
        return 0;
    }

    //
    // Every byte differs from Value before.
    //

    RtlFillBytes(Pages, SizeInBytes, (BYTE)~Value);
    Problems = 0;
    if (TestCallFill(Routine, Pages, SizeInBytes, Value, &Result)) {
        Problems |= TEST_WRONG_RANGE;
    } else if (Result != TRUE) {
        Problems |= TEST_WRONG_RESULT;
    }

    if (!TestIsFilled(Pages, SizeInBytes, Value)) {
        Problems |= TEST_WRONG_BYTES;
    }

    TestFree(Pages);
    return Problems;
}

//
// Copies pages once.
// SizeInBytes: how much.
// Seed: which pattern.
// Returns TEST_WRONG_*.
//

static
ULONG
TestCopySize(
    _In_ PASM_COPY_PAGES Routine,
    _In_ SIZE_T SizeInBytes,
    _In_ ULONG Seed
    )
{
    PBYTE Source;
    PBYTE Pages;
    BOOLEAN Result;
    ULONG Problems;

    Source = TestAllocate(SizeInBytes);
    Pages = TestAllocate(SizeInBytes);
    Problems = 0;
    if (Source == NULL || Pages == NULL) {
        goto End;
    }

    TestMakePattern(Source, SizeInBytes, Seed);
    if (TestCallCopy(Routine, Pages, Source, SizeInBytes, &Result)) {
        Problems |= TEST_WRONG_RANGE;
    } else if (Result != TRUE) {
        Problems |= TEST_WRONG_RESULT;
    }

    if (!TestIsPattern(Pages, SizeInBytes, Seed)) {
        Problems |= TEST_WRONG_BYTES;
    }
    if (!TestIsPattern(Source, SizeInBytes, Seed)) {
        Problems |= TEST_WRONG_SOURCE;
    }

End:
    TestFree(Source);
    TestFree(Pages);
    return Problems;
}

//
// Calls a routine with what it has to refuse: every misalignment of the
// address, of the size and of both, and sizes that go round the end of the
// address space.
//
// Returns TEST_WRONG_*.
//

static
ULONG
TestFillRefusals(
    _In_ PASM_FILL_PAGES Routine
    )
{
    const SIZE_T SizeInBytes = 4 * ASM_PAGE_SIZE;
    PBYTE Pages;
    PBYTE Address;
    SIZE_T Size;
    ULONG Problems;
    ULONG Offset;
    ULONG Case;
    BOOLEAN Result;

    Pages = TestAllocate(SizeInBytes);
    if (Pages == NULL) {
        return 0;
    }

    RtlFillBytes(Pages, SizeInBytes, 0x5A);
    Problems = 0;
    for (Offset = 1; Offset <= ASM_PAGE_SIZE; Offset += 1) {
        for (Case = 0; Case < 5; Case += 1) {

            Address = Pages;
            Size = 2 * ASM_PAGE_SIZE;
            if (Offset == ASM_PAGE_SIZE) {

                //
                // Nothing is misaligned, but the range does not end before the
                // address space does.
                //

                Size = ((SIZE_T)0 - (SIZE_T)Pages) +
                       (SIZE_T)Case * ASM_PAGE_SIZE;
            } else if (Case == 0) {
                Address += Offset;
            } else if (Case == 1) {
                Size += Offset;
            } else if (Case == 2) {
                Address += Offset;
                Size -= Offset;
            } else if (Case == 3) {
                Size = Offset;
            } else {
                Address += Offset;
                Size = 0;
            }

            if (TestCallFill(Routine, Address, Size, 0xA5, &Result)) {
                Problems |= TEST_WRONG_RANGE;
            } else if (Result != FALSE) {
                Problems |= TEST_WRONG_TAKEN;
            }

            if (*Pages != 0x5A || Pages[SizeInBytes - 1] != 0x5A ||
                !RtlAreBytesEqual(Pages, Pages + 1, SizeInBytes - 1)) {

                Problems |= TEST_WRONG_WRITTEN;
                RtlFillBytes(Pages, SizeInBytes, 0x5A);
            }
        }
    }

    TestFree(Pages);
    return Problems;
}

//
// Calls a routine with what it has to refuse but overlaps: every misalignment
// of the addresses and of the size, and sizes that go round the end of the
// address space.
//
// Returns TEST_WRONG_*.
//

static
ULONG
TestCopyRefusals(
    _In_ PASM_COPY_PAGES Routine
    )
{
    const SIZE_T SizeInBytes = 4 * ASM_PAGE_SIZE;
    PBYTE Source;
    PBYTE Pages;
    PBYTE From;
    PBYTE To;
    SIZE_T Size;
    ULONG Problems;
    ULONG Offset;
    ULONG Case;
    BOOLEAN Result;

    Source = TestAllocate(SizeInBytes);
    Pages = TestAllocate(SizeInBytes);
    Problems = 0;
    if (Source == NULL || Pages == NULL) {
        goto End;
    }

    RtlFillBytes(Source, SizeInBytes, 0xA5);
    RtlFillBytes(Pages, SizeInBytes, 0x5A);
    for (Offset = 1; Offset <= ASM_PAGE_SIZE; Offset += 1) {
        for (Case = 0; Case < 6; Case += 1) {

            From = Source;
            To = Pages;
            Size = 2 * ASM_PAGE_SIZE;
            if (Offset == ASM_PAGE_SIZE) {

                //
                // The end of one of the ranges: the address space's, or behind
                // it.
                //

                Size = (SIZE_T)0 - (SIZE_T)((Case & 1) != 0 ? From : To);
                Size += (SIZE_T)Case * ASM_PAGE_SIZE;
            } else if (Case == 0) {
                To += Offset;
            } else if (Case == 1) {
                From += Offset;
            } else if (Case == 2) {
                Size += Offset;
            } else if (Case == 3) {
                To += Offset;
                From += Offset;
            } else if (Case == 4) {
                To += Offset;
                From += Offset;
                Size -= Offset;
            } else {
                To += Offset;
                Size = 0;
            }

            if (TestCallCopy(Routine, To, From, Size, &Result)) {
                Problems |= TEST_WRONG_RANGE;
            } else if (Result != FALSE) {
                Problems |= TEST_WRONG_TAKEN;
            }

            if (*Pages != 0x5A || Pages[SizeInBytes - 1] != 0x5A ||
                !RtlAreBytesEqual(Pages, Pages + 1, SizeInBytes - 1)) {

                Problems |= TEST_WRONG_WRITTEN;
                RtlFillBytes(Pages, SizeInBytes, 0x5A);
            }
        }
    }

    if (!TestIsFilled(Source, SizeInBytes, 0xA5)) {
        Problems |= TEST_WRONG_SOURCE;
    }

End:
    TestFree(Source);
    TestFree(Pages);
    return Problems;
}

//
// Copies from and to all places among a few pages: TRUE and the right bytes
// where the ranges have no page in common, FALSE and no change where they do.
// Whether they do is counted page by page.
//
// Returns TEST_WRONG_*.
//

static
ULONG
TestCopyOverlaps(
    _In_ PASM_COPY_PAGES Routine
    )
{
    enum { Pages = 9 };
    PBYTE Base;
    PBYTE Before;
    ULONG Problems;
    ULONG From;
    ULONG To;
    ULONG Count;
    ULONG Index;
    BOOLEAN Common;
    BOOLEAN Result;
    BOOLEAN Raised;

    Base = TestAllocate(Pages * ASM_PAGE_SIZE);
    Before = TestAllocate(Pages * ASM_PAGE_SIZE);
    Problems = 0;
    if (Base == NULL || Before == NULL) {
        goto End;
    }

    TestMakePattern(Before, Pages * ASM_PAGE_SIZE, 7);
    for (Count = 0; Count <= 4; Count += 1) {
        for (From = 0; From + Count <= Pages; From += 1) {
            for (To = 0; To + Count <= Pages; To += 1) {

                Common = FALSE;
                for (Index = 0; Index < Pages; Index += 1) {
                    if (Index >= From && Index < From + Count &&
                        Index >= To && Index < To + Count) {

                        Common = TRUE;
                    }
                }

                RtlCopyBytes(Base, Before, Pages * ASM_PAGE_SIZE);
                Raised = TestCallCopy(Routine,
                                      Base + To * ASM_PAGE_SIZE,
                                      Base + From * ASM_PAGE_SIZE,
                                      Count * ASM_PAGE_SIZE,
                                      &Result);
                if (Raised) {
                    Problems |= TEST_WRONG_RANGE;
                } else if (Result && Common) {
                    Problems |= TEST_WRONG_TAKEN;
                } else if (!Result && !Common) {
                    Problems |= TEST_WRONG_RESULT;
                }

                for (Index = 0; Index < Pages; Index += 1) {
                    if (RtlAreBytesEqual(
                            Base + Index * ASM_PAGE_SIZE,
                            Before +
                                (!Common && Index >= To && Index < To + Count ?
                                    Index - To + From : Index) *
                                    ASM_PAGE_SIZE,
                            ASM_PAGE_SIZE)) {

                        continue;
                    }
                    Problems |= Common ? TEST_WRONG_WRITTEN : TEST_WRONG_BYTES;
                }
            }
        }
    }

End:
    TestFree(Base);
    TestFree(Before);
    return Problems;
}

//
// What is looked for in every routine that fills, the right ones and the wrong
// ones: some sizes, and what must be refused.
// Returns TEST_WRONG_*.
//

static
ULONG
TestFillAll(
    _In_ PASM_FILL_PAGES Routine
    )
{
    ULONG Problems;
    ULONG Pages;

    Problems = TestFillRefusals(Routine);
    for (Pages = 0; Pages <= 40; Pages += 1) {
        Problems |= TestFillSize(Routine,
                                 (SIZE_T)Pages * ASM_PAGE_SIZE,
                                 (BYTE)(Pages * 37));
    }

    return Problems;
}

//
// What is looked for in every routine that copies: some sizes, what must be
// refused, and overlaps.
// Returns TEST_WRONG_*.
//

static
ULONG
TestCopyAll(
    _In_ PASM_COPY_PAGES Routine
    )
{
    ULONG Problems;
    ULONG Pages;

    Problems = TestCopyRefusals(Routine) | TestCopyOverlaps(Routine);
    for (Pages = 0; Pages <= 40; Pages += 1) {
        Problems |= TestCopySize(Routine,
                                 (SIZE_T)Pages * ASM_PAGE_SIZE,
                                 Pages);
    }

    return Problems;
}

//
// Routines with a fault.  Each is right in all but that.
//

//
// Does what AsmFillPages has to do, byte by byte.
// Returns as there.
//

static
BOOLEAN
TestFillInBytes(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_ SIZE_T SizeInBytes,
    _In_ BYTE Value
    )
{
    ULONG_PTR Address = (ULONG_PTR)Destination;

    if (Address % 4096 != 0 || SizeInBytes % 4096 != 0 ||
        SizeInBytes > ~Address) {

        return FALSE;
    }

    RtlFillBytes(Destination, SizeInBytes, Value);
    return TRUE;
}

//
// Does what AsmCopyPages has to do, byte by byte.
// Returns as there.
//

static
BOOLEAN
TestCopyInBytes(
    _Out_writes_bytes_(SizeInBytes) PVOID Destination,
    _In_reads_bytes_(SizeInBytes) const VOID *Source,
    _In_ SIZE_T SizeInBytes
    )
{
    ULONG_PTR To = (ULONG_PTR)Destination;
    ULONG_PTR From = (ULONG_PTR)Source;

    if (To % 4096 != 0 || From % 4096 != 0 || SizeInBytes % 4096 != 0 ||
        SizeInBytes > ~To || SizeInBytes > ~From ||
        (SizeInBytes != 0 && To < From + SizeInBytes &&
         From < To + SizeInBytes)) {

        return FALSE;
    }

    RtlCopyBytes(Destination, Source, SizeInBytes);
    return TRUE;
}

#define BROKEN_FILL(Name, Code)                                             \
static BOOLEAN Name(PVOID Destination, SIZE_T SizeInBytes, BYTE Value)      \
{                                                                           \
    BOOLEAN Result = TestFillInBytes(Destination, SizeInBytes, Value);      \
    PBYTE To = (PBYTE)Destination;                                          \
    BOOLEAN Filled = Result && SizeInBytes != 0;                            \
    (VOID)To;                                                               \
    (VOID)Filled;                                                           \
    Code                                                                    \
    return Result;                                                          \
}

#define BROKEN_COPY(Name, Code)                                             \
static BOOLEAN Name(PVOID Destination, const VOID *Source,                  \
                    SIZE_T SizeInBytes)                                     \
{                                                                           \
    BOOLEAN Result = TestCopyInBytes(Destination, Source, SizeInBytes);     \
    PBYTE To = (PBYTE)Destination;                                          \
    volatile BYTE *From = (volatile BYTE *)Source;                          \
    BOOLEAN Copied = Result && SizeInBytes != 0;                            \
    (VOID)To;                                                               \
    (VOID)From;                                                             \
    (VOID)Copied;                                                           \
    Code                                                                    \
    return Result;                                                          \
}

BROKEN_FILL(TestFillLast, if (Filled) { To[SizeInBytes - 1] ^= 1; })
BROKEN_FILL(TestFillFirst, if (Filled) { To[0] ^= 0x80; })
BROKEN_FILL(TestFillMiddle, if (Filled) { To[SizeInBytes / 2 + 31] ^= 1; })
BROKEN_FILL(TestFillBehind, if (Filled) { To[SizeInBytes] = Value; })
BROKEN_FILL(TestFillBefore, if (Filled) { To[-1] = Value; })
BROKEN_FILL(TestFillNothing, if (Result && !Filled) { To[0] = Value; })
BROKEN_FILL(TestFillFalse, if (Filled) { Result = FALSE; })
BROKEN_FILL(TestFillTwo, if (Filled) { Result = 2; })
BROKEN_FILL(TestFillTakes, Result = TRUE;)
BROKEN_FILL(TestFillTakesOne,
            if (SizeInBytes % 4096 == 2048) { Result = TRUE; })
BROKEN_FILL(TestFillTakesWrap,
            if ((SizeInBytes | (ULONG_PTR)To) % 4096 == 0) { Result = TRUE; })
BROKEN_FILL(TestFillWrites,
            if (!Result && SizeInBytes == 4096 + 7) { To[0] = Value; })
BROKEN_FILL(TestFillWritesLater,
            if (!Result && SizeInBytes == 4096 * 3 - 1) { To[4095] = Value; })

BROKEN_COPY(TestCopyLast, if (Copied) { To[SizeInBytes - 1] ^= 1; })
BROKEN_COPY(TestCopyFirst, if (Copied) { To[0] ^= 0x80; })
BROKEN_COPY(TestCopyMiddle, if (Copied) { To[SizeInBytes / 2 + 31] ^= 1; })
BROKEN_COPY(TestCopyLines,
            if (Copied) { RtlCopyBytes(To, To + 64, 64); })
BROKEN_COPY(TestCopyBehind, if (Copied) { To[SizeInBytes] = 0; })
BROKEN_COPY(TestCopyBefore, if (Copied) { To[-1] = 0; })
BROKEN_COPY(TestCopyReads, if (Copied) { (VOID)From[SizeInBytes]; })
BROKEN_COPY(TestCopyReadsBefore, if (Copied) { (VOID)From[-1]; })
BROKEN_COPY(TestCopySource, if (Copied) { From[SizeInBytes - 1] ^= 1; })
BROKEN_COPY(TestCopyFalse, if (Copied) { Result = FALSE; })
BROKEN_COPY(TestCopyTakes, Result = TRUE;)
BROKEN_COPY(TestCopyTakesSource,
            if ((SizeInBytes | (ULONG_PTR)To) % 4096 == 0) { Result = TRUE; })
BROKEN_COPY(TestCopyTakesSame,
            if (To == From && (SizeInBytes | (ULONG_PTR)To) % 4096 == 0) {
                Result = TRUE;
            })
BROKEN_COPY(TestCopyRefusesNext,
            if (To == From + SizeInBytes || From == To + SizeInBytes) {
                Result = FALSE;
            })
BROKEN_COPY(TestCopyWrites,
            if (!Result && SizeInBytes == 4096 * 2 + 7) { To[0] = 1; })
BROKEN_COPY(TestCopyOverlapWrites,
            if (!Result && From + 4096 == To) { To[0] ^= 1; })

static const TEST_FILL TestFills[] = {
    { "assembly", AsmFillPages, 0 },
    { "C", AsmFillPagesInC, 0 },
    { "bytes", TestFillInBytes, 0 },
    { "last byte", TestFillLast, TEST_WRONG_BYTES },
    { "first byte", TestFillFirst, TEST_WRONG_BYTES },
    { "byte in the middle", TestFillMiddle, TEST_WRONG_BYTES },
    { "writes behind", TestFillBehind, TEST_WRONG_RANGE },
    { "writes before", TestFillBefore, TEST_WRONG_RANGE },
    { "writes at size 0", TestFillNothing, TEST_WRONG_RANGE },
    { "FALSE", TestFillFalse, TEST_WRONG_RESULT },
    { "neither TRUE nor FALSE", TestFillTwo, TEST_WRONG_RESULT },
    { "takes all", TestFillTakes, TEST_WRONG_TAKEN },
    { "takes one misaligned size", TestFillTakesOne, TEST_WRONG_TAKEN },
    { "takes what wraps", TestFillTakesWrap, TEST_WRONG_TAKEN },
    { "writes and refuses", TestFillWrites, TEST_WRONG_WRITTEN },
    { "writes later and refuses", TestFillWritesLater, TEST_WRONG_WRITTEN },
};

static const TEST_COPY TestCopies[] = {
    { "assembly", AsmCopyPages, 0 },
    { "C", AsmCopyPagesInC, 0 },
    { "bytes", TestCopyInBytes, 0 },
    { "last byte", TestCopyLast, TEST_WRONG_BYTES },
    { "first byte", TestCopyFirst, TEST_WRONG_BYTES },
    { "byte in the middle", TestCopyMiddle, TEST_WRONG_BYTES },
    { "lines", TestCopyLines, TEST_WRONG_BYTES },
    { "writes behind", TestCopyBehind, TEST_WRONG_RANGE },
    { "writes before", TestCopyBefore, TEST_WRONG_RANGE },
    { "reads behind", TestCopyReads, TEST_WRONG_RANGE },
    { "reads before", TestCopyReadsBefore, TEST_WRONG_RANGE },
    { "changes the source", TestCopySource, TEST_WRONG_SOURCE },
    { "FALSE", TestCopyFalse, TEST_WRONG_RESULT },
    { "takes all", TestCopyTakes, TEST_WRONG_TAKEN },
    { "takes misaligned sources", TestCopyTakesSource, TEST_WRONG_TAKEN },
    { "takes the same pages", TestCopyTakesSame, TEST_WRONG_TAKEN },
    { "refuses neighbours", TestCopyRefusesNext, TEST_WRONG_RESULT },
    { "writes and refuses", TestCopyWrites, TEST_WRONG_WRITTEN },
    { "changes what overlaps", TestCopyOverlapWrites, TEST_WRONG_WRITTEN },
};

//
// Checks all routines, and that nothing is found in the right ones and the
// fault in each of the wrong ones.
//

static
VOID
TestContract(
    VOID
    )
{
    ULONG Problems;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(TestFills); Index += 1) {
        Problems = TestFillAll(TestFills[Index].Routine);
        if (TestFills[Index].Problems == 0 ?
            !TEST_EQUAL(Problems, 0) :
            !TEST_EQUAL(Problems & TestFills[Index].Problems,
                        TestFills[Index].Problems)) {

            RtlWriteText(TestOutput,
                         "fill, %s: found 0x%x\n",
                         TestFills[Index].Name,
                         Problems);
        }
    }

    for (Index = 0; Index < RTL_NUMBER_OF(TestCopies); Index += 1) {
        Problems = TestCopyAll(TestCopies[Index].Routine);
        if (TestCopies[Index].Problems == 0 ?
            !TEST_EQUAL(Problems, 0) :
            !TEST_EQUAL(Problems & TestCopies[Index].Problems,
                        TestCopies[Index].Problems)) {

            RtlWriteText(TestOutput,
                         "copy, %s: found 0x%x\n",
                         TestCopies[Index].Name,
                         Problems);
        }
    }
}

//
// Fills and copies in every size class: powers of two, a page less and a page
// more, up to where the stores go past the caches and beyond; and all values
// of the byte.
//

static
VOID
TestSizes(
    VOID
    )
{
    SIZE_T Size;
    SIZE_T Limit;
    ULONG Routine;
    ULONG Value;
    LONG Difference;
    ULONG Wrong;

    for (Routine = 0; Routine < 2; Routine += 1) {

        Wrong = 0;
        for (Value = 0; Value < 256; Value += 1) {
            Wrong |= TestFillSize(TestFills[Routine].Routine,
                                  ASM_PAGE_SIZE,
                                  (BYTE)Value);
        }
        TEST_EQUAL(Wrong, 0);

        //
        // The classes below the largest are left out by a quick run: they take
        // the same way as the smaller ones.
        //

        Limit = TestQuick ? 0x100000 : ASM_FILL_PAGES_STREAM / 2;
        for (Size = 0x40000; Size <= Limit; Size *= 2) {
            for (Difference = -1; Difference <= 1; Difference += 1) {
                Wrong |= TestFillSize(TestFills[Routine].Routine,
                                      Size + Difference * ASM_PAGE_SIZE,
                                      (BYTE)(Size >> 17));
            }
        }
        TEST_EQUAL(Wrong, 0);

        Limit = TestQuick ? 0x100000 : ASM_COPY_PAGES_STREAM / 2;
        for (Size = 0x40000; Size <= Limit; Size *= 2) {
            for (Difference = -1; Difference <= 1; Difference += 1) {
                Wrong |= TestCopySize(TestCopies[Routine].Routine,
                                      Size + Difference * ASM_PAGE_SIZE,
                                      (ULONG)Size);
            }
        }
        TEST_EQUAL(Wrong, 0);

        for (Difference = -1; Difference <= 1; Difference += 1) {
            TEST_EQUAL(TestFillSize(TestFills[Routine].Routine,
                                    ASM_FILL_PAGES_STREAM +
                                        Difference * ASM_PAGE_SIZE,
                                    (BYTE)(0xC3 + Difference)), 0);
            TEST_EQUAL(TestCopySize(TestCopies[Routine].Routine,
                                    ASM_COPY_PAGES_STREAM +
                                        Difference * ASM_PAGE_SIZE,
                                    0xC3), 0);
        }
    }

    //
    // That a single wrong byte is found in the largest.
    //

    TEST_EQUAL(TestFillSize(TestFillMiddle, ASM_FILL_PAGES_STREAM, 1),
               TEST_WRONG_BYTES);
    TEST_EQUAL(TestCopySize(TestCopyMiddle, ASM_COPY_PAGES_STREAM, 1),
               TEST_WRONG_BYTES);
}

//
// Copies where a comparison of 32 bits would be wrong, and refuses overlaps of
// a size whose stores go past the caches.
//

static
VOID
TestFarAndLarge(
    VOID
    )
{
    const SIZE_T Distance = 0x100000000ULL;
    const SIZE_T SizeInBytes = ASM_COPY_PAGES_STREAM + ASM_PAGE_SIZE;
    const PVOID Last = (PVOID)~(ULONG_PTR)4095;
    PBYTE Base;
    PBYTE Pages;
    BOOLEAN Result;
    ULONG Index;

    Base = (PBYTE)VirtualAlloc(NULL,
                               Distance + 0x10000,
                               MEM_RESERVE,
                               PAGE_NOACCESS);
    if (Base == NULL) {
        TEST_SKIP("copies over 4 GiB: no range of addresses is so large");
    } else {
        TEST(VirtualAlloc(Base, 0x2000, MEM_COMMIT, PAGE_READWRITE) != NULL);
        TEST(VirtualAlloc(Base + Distance,
                          0x2000,
                          MEM_COMMIT,
                          PAGE_READWRITE) != NULL);
        for (Index = 0; Index < 2; Index += 1) {
            TestMakePattern(Base, 0x2000, Index);
            TEST(TestCopies[Index].Routine(Base + Distance, Base, 0x2000));
            TEST(TestIsPattern(Base + Distance, 0x2000, Index));
            TestMakePattern(Base + Distance, 0x2000, Index + 5);
            TEST(TestCopies[Index].Routine(Base, Base + Distance, 0x2000));
            TEST(TestIsPattern(Base, 0x2000, Index + 5));

            //
            // Sizes and ranges that are nothing, or small, in 32 bits.
            //

            TEST(!TestCopies[Index].Routine(Base + Distance,
                                            Base,
                                            Distance + ASM_PAGE_SIZE));
            TEST(!TestCopies[Index].Routine(Base,
                                            Base + Distance,
                                            Distance + ASM_PAGE_SIZE));
        }
        VirtualFree(Base, 0, MEM_RELEASE);
    }

    Pages = TestAllocate(SizeInBytes + ASM_PAGE_SIZE);
    if (Pages == NULL) {
        return;
    }

    TestMakePattern(Pages, SizeInBytes + ASM_PAGE_SIZE, 3);
    for (Index = 0; Index < 2; Index += 1) {
        TEST(!TestCopies[Index].Routine(Pages,
                                        Pages + ASM_PAGE_SIZE,
                                        SizeInBytes));
        TEST(!TestCopies[Index].Routine(Pages + ASM_PAGE_SIZE,
                                        Pages,
                                        SizeInBytes));
        TEST(!TestCopies[Index].Routine(Pages, Pages, SizeInBytes));
    }
    TEST(TestIsPattern(Pages, SizeInBytes + ASM_PAGE_SIZE, 3));
    TestFree(Pages);

    //
    // For no bytes any aligned address will do; one that is not aligned does
    // not.
    //

    for (Index = 0; Index < 2; Index += 1) {
        TEST(TestFills[Index].Routine(NULL, 0, 1));
        TEST(TestCopies[Index].Routine(NULL, NULL, 0));
        TEST(TestFills[Index].Routine(Last, 0, 1));
        TEST(TestCopies[Index].Routine(Last, Last, 0));
        TEST(!TestFills[Index].Routine((PVOID)1, 0, 1));
        TEST(!TestCopies[Index].Routine((PVOID)1, NULL, 0));

        //
        // The last page of the address space, refused before it is met.
        //

        TEST(!TestCallFill(TestFills[Index].Routine,
                           Last,
                           ASM_PAGE_SIZE,
                           1,
                           &Result) &&
             !Result);
        TEST(!TestCallCopy(TestCopies[Index].Routine,
                           NULL,
                           Last,
                           ASM_PAGE_SIZE,
                           &Result) &&
             !Result);
        TEST(!TestCallCopy(TestCopies[Index].Routine,
                           Last,
                           NULL,
                           ASM_PAGE_SIZE,
                           &Result) &&
             !Result);
    }
}

//
// The state of the machine.  What the calling convention leaves to a routine,
// and what the assembly says that it uses of that.
//

#define TEST_VOLATILE_GENERAL   0x0F07  // rax rcx rdx r8 to r11
#define TEST_FILL_GENERAL       0x0203  // rax rcx r9
#define TEST_COPY_GENERAL       0x0207  // rax rcx rdx r9
#define TEST_VOLATILE_VECTORS   0xFFFF003FULL
#define TEST_FILL_VECTORS       0x01ULL
#define TEST_COPY_VECTORS       0x0FULL
#define TEST_HOME_SPACE         0x0FULL // of the 16 slots from RSP up
#define TEST_DIRECTION          0x400
#define TEST_ARITHMETIC         0x8D5   // the flags that calculations set

typedef struct _TEST_STATE_RULES {
    ULONG General;                  // registers that may change
    ULONGLONG Vectors;              // registers whose low half may change
    ULONGLONG Stack;                // slots that may change
    BOOLEAN IsUpperZero;            // after vzeroupper; else unchanged
} TEST_STATE_RULES;
typedef const TEST_STATE_RULES *PCTEST_STATE_RULES;

//
// Compares the state after HookCallOnce with what the rules allow.
// Returns a mask of the HOOK_PROPERTY_* that are not as they should be.
//

static
ULONG
TestFindChanges(
    _In_ PCTEST_STATE_RULES Rules
    )
{
    HOOK_DIFFERENCE Difference;
    ULONG Changed;
    ULONG Index;
    ULONG High;

    PenterTestCompareStates(&Difference);
    Changed = Difference.Properties & ~Rules->General;

    if ((Difference.Details[HOOK_PROPERTY_FLAGS] &
         ~(ULONGLONG)TEST_ARITHMETIC) == 0) {

        Changed &= ~(1UL << HOOK_PROPERTY_FLAGS);
    }
    if ((Difference.Details[HOOK_PROPERTY_LOW] & ~Rules->Vectors) == 0) {
        Changed &= ~(1UL << HOOK_PROPERTY_LOW);
    }
    if ((Difference.Details[HOOK_PROPERTY_STACK] & ~Rules->Stack) == 0) {
        Changed &= ~(1UL << HOOK_PROPERTY_STACK);
    }

    //
    // vzeroupper leaves the registers from 16 on alone.
    //

    if (Rules->IsUpperZero) {
        Changed &= ~((1UL << HOOK_PROPERTY_MIDDLE) |
                     (1UL << HOOK_PROPERTY_HIGH));
        High = HookCall.VectorLevel == 2 ? 64 : 32;
        for (Index = 0; Index < 16; Index += 1) {
            if (!TestIsFilled(HookCall.Actual.Vectors[Index] + 16,
                              High - 16,
                              0)) {

                Changed |= 1UL << HOOK_PROPERTY_MIDDLE;
            }
        }
        if (((Difference.Details[HOOK_PROPERTY_MIDDLE] |
              Difference.Details[HOOK_PROPERTY_HIGH]) >> 16) != 0) {

            Changed |= 1UL << HOOK_PROPERTY_HIGH;
        }
    }

    return Changed;
}

//
// Calls a routine with random values in all other registers.
// IsCopy: whether it copies.
// IsAssembly: whether only those registers may change that it names.
// IsTaken: whether it has to do it.
//

static
VOID
TestStateOf(
    _In_ PVOID Routine,
    _In_ BOOLEAN IsCopy,
    _In_ BOOLEAN IsAssembly,
    _In_ SIZE_T SizeInBytes,
    _In_ BOOLEAN IsTaken,
    _In_ ULONG Flags
    )
{
    TEST_STATE_RULES Rules;
    SIZE_T Allocated;
    PBYTE Source;
    PBYTE Pages;
    ULONG Changed;

    Allocated = (SizeInBytes + ASM_PAGE_SIZE - 1) & ~(SIZE_T)4095;
    Source = TestAllocate(Allocated);
    Pages = TestAllocate(Allocated);
    if (Source == NULL || Pages == NULL) {
        goto End;
    }
    TestMakePattern(Source, Allocated, 11);
    RtlFillBytes(Pages, Allocated, 0x11);

    PenterTestFillState((PPENTER_ROUTINE)(ULONG_PTR)Routine, 0, Flags);
    HookCall.Expected.General[1] = (ULONG_PTR)Pages;
    if (IsCopy) {
        HookCall.Expected.General[2] = (ULONG_PTR)Source;
        HookCall.Expected.General[8] = SizeInBytes;
    } else {
        HookCall.Expected.General[2] = SizeInBytes;
        HookCall.Expected.General[8] |= 0xFF;
        HookCall.Expected.General[8] ^= 0x81;
    }
    HookCallOnce();

    if (IsAssembly) {
        Rules.General = IsCopy ? TEST_COPY_GENERAL : TEST_FILL_GENERAL;
        Rules.Vectors = IsCopy ? TEST_COPY_VECTORS : TEST_FILL_VECTORS;
        Rules.Stack = 0;
    } else {
        Rules.General = TEST_VOLATILE_GENERAL;
        Rules.Vectors = TEST_VOLATILE_VECTORS;
        Rules.Stack = TEST_HOME_SPACE;
    }

    //
    // Where nothing is done there is no vzeroupper in the assembly; a compiler
    // may have it everywhere or nowhere.
    //

    Rules.IsUpperZero = IsTaken && SizeInBytes != 0;
    Changed = TestFindChanges(&Rules);
    if (!IsAssembly && !Rules.IsUpperZero) {
        Changed &= ~((1UL << HOOK_PROPERTY_MIDDLE) |
                     (1UL << HOOK_PROPERTY_HIGH));
    }

    if (!TEST_EQUAL(Changed, 0)) {
        RtlWriteText(TestOutput,
                     "%s, %s, %llu bytes, flags 0x%x\n",
                     IsCopy ? "copy" : "fill",
                     IsAssembly ? "assembly" : "C",
                     (ULONGLONG)SizeInBytes,
                     Flags);
    }

    TEST_EQUAL((BYTE)HookCall.Actual.General[0], IsTaken);
    if (!IsTaken) {
        TEST(TestIsFilled(Pages, Allocated, 0x11));
    } else if (IsCopy) {
        TEST(TestIsPattern(Pages, Allocated, 11));
    } else {
        TEST(TestIsFilled(Pages, Allocated, 0x7E));
    }

End:
    TestFree(Source);
    TestFree(Pages);
}

//
// Looks at all registers and flags after the routines, each of their ways; and
// that each change that no routine may make is found.
//

static
VOID
TestState(
    VOID
    )
{
    static const SIZE_T Sizes[] = {
        0, ASM_PAGE_SIZE, 0x10000, ASM_COPY_PAGES_STREAM, ASM_FILL_PAGES_STREAM,
        5
    };
    const ULONG AllFlags = TEST_ARITHMETIC;
    TEST_STATE_RULES Rules;
    PCHOOK_BROKEN Broken;
    BOOLEAN IsTaken;
    BOOLEAN IsAllowed;
    ULONG Changed;
    ULONG Unseen;
    ULONG Seen;
    ULONG Wrong;
    ULONG Zeroed;
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Sizes); Index += 1) {
        IsTaken = Sizes[Index] % ASM_PAGE_SIZE == 0;
        TestStateOf(AsmFillPages, FALSE, TRUE, Sizes[Index], IsTaken, 0);
        TestStateOf(AsmCopyPages, TRUE, TRUE, Sizes[Index], IsTaken, AllFlags);
        TestStateOf(AsmFillPagesInC, FALSE, FALSE, Sizes[Index], IsTaken, 0);
        TestStateOf(AsmCopyPagesInC, TRUE, FALSE, Sizes[Index], IsTaken, 0);

        //
        // The assembly goes upwards whatever the direction flag says, and
        // leaves it.  In a C routine it must be clear, by the convention.
        //

        TestStateOf(AsmFillPages,
                    FALSE,
                    TRUE,
                    Sizes[Index],
                    IsTaken,
                    TEST_DIRECTION | AllFlags);
        TestStateOf(AsmCopyPages,
                    TRUE,
                    TRUE,
                    Sizes[Index],
                    IsTaken,
                    TEST_DIRECTION);
    }

    //
    // The controls: routines that change one thing.  Under the rules of the
    // convention, all are found but those that change what is volatile.
    //

    Unseen = 0;
    Seen = 0;
    Wrong = 0;
    Zeroed = 0;
    for (Index = 0; Index < HookNumberOfBroken; Index += 1) {
        Broken = &HookBrokenTable[Index];
        if (Broken->VectorLevel > PenterTestVectorLevel()) {
            continue;
        }

        Rules.General = TEST_VOLATILE_GENERAL;
        Rules.Vectors = TEST_VOLATILE_VECTORS;
        Rules.Stack = TEST_HOME_SPACE;
        Rules.IsUpperZero = FALSE;
        PenterTestFillState(Broken->Routine, 0, 0);
        HookCallOnce();
        Changed = TestFindChanges(&Rules);

        IsAllowed = FALSE;
        if (Broken->Property < 16) {
            IsAllowed = (Rules.General >> Broken->Property & 1) != 0;
        } else if (Broken->Property == HOOK_PROPERTY_FLAGS) {
            IsAllowed = (Broken->Details & ~(ULONGLONG)TEST_ARITHMETIC) == 0;
        } else if (Broken->Property == HOOK_PROPERTY_LOW) {
            IsAllowed = (Broken->Details & ~Rules.Vectors) == 0;
        } else if (Broken->Property == HOOK_PROPERTY_STACK) {
            IsAllowed = (Broken->Details & ~Rules.Stack) == 0;
        }

        if (!IsAllowed && (Changed >> Broken->Property & 1) == 0) {
            RtlWriteText(TestOutput, "not seen: %s\n", Broken->Name);
            Unseen += 1;
        }
        Seen += !IsAllowed;

        //
        // One of them zeroes all upper halves; of all the others it is found
        // that they do not.
        //

        if (PenterTestVectorLevel() >= 1) {
            Rules.IsUpperZero = TRUE;
            Changed = TestFindChanges(&Rules) >> HOOK_PROPERTY_MIDDLE & 1;
            if (Broken->Property == HOOK_PROPERTY_MIDDLE &&
                Broken->Details == 0xFFFF) {

                Zeroed += 1;
                Wrong += Changed;
            } else {
                Wrong += !Changed;
            }
        }
    }

    TEST_EQUAL(Unseen, 0);
    TEST_EQUAL(Wrong, 0);
    TEST_EQUAL(Zeroed, 1);
    TEST(Seen > 40);
}

#define TEST_NOT_FOUND 0xFFFFFFFF

//
// Looks for an instruction in a routine's code, up to where it refuses its
// arguments, which is the last that it has.
// Start: where to begin.
// Result: where it begins, or TEST_NOT_FOUND.
//

static
ULONG
TestFindBytes(
    _In_ const VOID *Code,
    _In_ ULONG Start,
    _In_ const BYTE *Bytes,
    _In_ ULONG Count
    )
{
    static const BYTE Refuse[] = { 0x31, 0xC0, 0xC3 };  // xor eax, eax; ret
    const BYTE *Next;
    ULONG Index;

    for (Index = 0; Index < 512; Index += 1) {
        Next = (const BYTE *)Code + Index;
        if (RtlAreBytesEqual(Next, Refuse, sizeof(Refuse))) {
            break;
        }
        if (Index >= Start && RtlAreBytesEqual(Next, Bytes, Count)) {
            return Index;
        }
    }

    return TEST_NOT_FOUND;
}

//
// Looks whether a routine's code compares the size with that from which on the
// stores are non-temporal, and has sfence and vzeroupper between the last of
// these stores and the return.
//
// Compare: the first three bytes of the comparison: CMP of the register with a
// number of 32 bits.
// SizeInBytes: the number.
// Returns how many of the four steps were found.
//

static
ULONG
TestFindStream(
    _In_ const VOID *Code,
    _In_ const BYTE *Compare,
    _In_ ULONG SizeInBytes
    )
{
    static const BYTE Store[] = { 0xC5, 0xFD, 0xE7 };   // vmovntdq [], ymm0
    static const BYTE Fence[] = { 0x0F, 0xAE, 0xF8 };   // sfence
    static const BYTE Zero[] = { 0xC5, 0xF8, 0x77 };    // vzeroupper
    BYTE Instruction[7];
    ULONG Place;
    ULONG Next;

    RtlCopyBytes(Instruction, Compare, 3);
    RtlCopyBytes(Instruction + 3, &SizeInBytes, sizeof(SizeInBytes));
    Place = TestFindBytes(Code, 0, Instruction, sizeof(Instruction));
    if (Place == TEST_NOT_FOUND) {
        return 0;
    }

    Place = TestFindBytes(Code, 0, Store, sizeof(Store));
    if (Place == TEST_NOT_FOUND) {
        return 1;
    }
    for (;;) {
        Next = TestFindBytes(Code, Place + 1, Store, sizeof(Store));
        if (Next == TEST_NOT_FOUND || Next > Place + 64) {
            break;
        }
        Place = Next;
    }

    Next = TestFindBytes(Code, Place, Fence, sizeof(Fence));
    if (Next == TEST_NOT_FOUND || Next > Place + 128) {
        return 2;
    }
    Place = TestFindBytes(Code, Next, Zero, sizeof(Zero));
    return Place == Next + sizeof(Fence) ? 4 : 3;
}

//
// Checks what has no effect that could be seen: that the stores are
// non-temporal from the sizes on that Asm.h names, and that they are put in
// order before the return.
//

static
VOID
TestCode(
    VOID
    )
{
    static const BYTE CompareRdx[] = { 0x48, 0x81, 0xFA };
    static const BYTE CompareR8[] = { 0x49, 0x81, 0xF8 };
    PVOID Code;

    Code = (PVOID)(ULONG_PTR)AsmFillPages;
    TEST_EQUAL(TestFindStream(Code, CompareRdx, ASM_FILL_PAGES_STREAM), 4);
    TEST_EQUAL(TestFindStream(Code, CompareRdx, ASM_FILL_PAGES_STREAM + 4096),
               0);
    Code = (PVOID)(ULONG_PTR)AsmCopyPages;
    TEST_EQUAL(TestFindStream(Code, CompareR8, ASM_COPY_PAGES_STREAM), 4);
    TEST_EQUAL(TestFindStream(Code, CompareR8, ASM_COPY_PAGES_STREAM + 4096),
               0);
}

//
// Lets a page that cannot be had stop the routines: what comes before it has
// been written, the exception names its first byte, and the caller goes on.
//

static
VOID
TestFaults(
    VOID
    )
{
    const SIZE_T SizeInBytes = 3 * ASM_PAGE_SIZE;
    PEXCEPTION_RECORD Record;
    ULONG_PTR volatile Address;
    NTSTATUS volatile Status;
    PBYTE Pages;
    PBYTE Source;
    PBYTE Missing;
    DWORD Old;
    ULONG Case;

    Pages = TestAllocate(SizeInBytes);
    Source = TestAllocate(SizeInBytes);
    if (Pages == NULL || Source == NULL) {
        goto End;
    }
    TestMakePattern(Source, SizeInBytes, 21);

    //
    // Case 0 to 3: the destination's second page; 4, 5: the source's; 6, 7:
    // none, the control; 8: AsmTouchPages.
    //

    for (Case = 0; Case < 9; Case += 1) {
        Missing = NULL;
        if (Case < 4 || Case == 8) {
            Missing = Pages + ASM_PAGE_SIZE;
        } else if (Case < 6) {
            Missing = Source + ASM_PAGE_SIZE;
        }
        RtlFillBytes(Pages, SizeInBytes, 0x11);
        if (Missing != NULL) {
            TEST(VirtualProtect(Missing,
                                ASM_PAGE_SIZE,
                                PAGE_NOACCESS,
                                &Old));
        }

        Status = STATUS_SUCCESS;
        Address = 0;
        __try {
            if (Case == 8) {
                AsmTouchPages(Pages, SizeInBytes);
            } else if (Case == 0 || Case == 1) {
                TestFills[Case].Routine(Pages, SizeInBytes, 0x22);
            } else {
                TestCopies[Case & 1].Routine(Pages, Source, SizeInBytes);
            }
        } __except (Record = ((PEXCEPTION_POINTERS)
                              GetExceptionInformation())->ExceptionRecord,
                    Status = (NTSTATUS)Record->ExceptionCode,
                    Address = Record->ExceptionInformation[1],
                    EXCEPTION_EXECUTE_HANDLER) {
        }

        if (Missing != NULL) {
            TEST(VirtualProtect(Missing,
                                ASM_PAGE_SIZE,
                                PAGE_READWRITE,
                                &Old));
            TEST_STATUS(Status, STATUS_ACCESS_VIOLATION);
            TEST_EQUAL(Address, Missing);
            TEST(TestIsFilled(Pages + ASM_PAGE_SIZE, 2 * ASM_PAGE_SIZE, 0x11));
        } else {
            TEST_STATUS(Status, STATUS_SUCCESS);
            TEST(TestIsPattern(Pages, SizeInBytes, 21));
        }

        if (Case == 8) {
            TEST(TestIsFilled(Pages, ASM_PAGE_SIZE, 0x11));
        } else if (Case == 0 || Case == 1) {
            TEST(TestIsFilled(Pages, ASM_PAGE_SIZE, 0x22));
        } else {
            TEST(TestIsPattern(Pages, ASM_PAGE_SIZE, 21));
        }
    }

    //
    // AsmTouchPages changes no byte, and touches no page outside.
    //

    TestMakePattern(Pages, SizeInBytes, 22);
    AsmTouchPages(Pages, SizeInBytes);
    AsmTouchPages(Pages + SizeInBytes, 0);
    TEST(TestIsPattern(Pages, SizeInBytes, 22));

End:
    TestFree(Pages);
    TestFree(Source);
}

//
// Runs the tests.
//

_Use_decl_annotations_
VOID
TestMain(
    PCRTL Rtl,
    PCALLOCATOR Allocator
    )
{
    WCHAR Value[4];

    UNREFERENCED_PARAMETER(Allocator);

    PenterTestRtl = Rtl;
    TestQuick = GetEnvironmentVariableW(L"TRACER_QUICK",
                                        Value,
                                        RTL_NUMBER_OF(Value)) != 0;

    TEST_EQUAL(ASM_FILL_PAGES_STREAM % ASM_PAGE_SIZE, 0);
    TEST_EQUAL(ASM_COPY_PAGES_STREAM % ASM_PAGE_SIZE, 0);
    if (!Rtl->CpuFeatures.Avx2) {
        TEST_SKIP("AsmFillPages and AsmCopyPages: this processor has no AVX2");
        return;
    }

    TestContract();
    TestSizes();
    TestFarAndLarge();
    TestState();
    TestCode();
    TestFaults();
}
