/*++

Module Name:

    State.c

Abstract:

    What the routines do with registers and flags, the instructions that they
    consist of, and faults in them.

--*/

#include "TestAsm.h"

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
