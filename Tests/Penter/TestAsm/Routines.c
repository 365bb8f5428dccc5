/*++

Module Name:

    Routines.c

Abstract:

    The routines that fill and copy, their twins in C, and wrong ones, each of
    which the tests must catch: what they take, what they refuse, and what they
    write, in every size.

--*/

#include "TestAsm.h"

//
// What was found wrong with a routine.
//

#define TEST_WRONG_RESULT   0x01    // refused what it has to take
#define TEST_WRONG_BYTES    0x02
#define TEST_WRONG_SOURCE   0x04    // the source has changed
#define TEST_WRONG_RANGE    0x08    // met addresses beyond the ranges
#define TEST_WRONG_TAKEN    0x10    // took what it has to refuse
#define TEST_WRONG_WRITTEN  0x20    // refused, and wrote

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

const TEST_FILL TestFills[] = {
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

const TEST_COPY TestCopies[] = {
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
