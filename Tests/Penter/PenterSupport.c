/*++

Module Name:

    PenterSupport.c

Abstract:

    One call of a hook with the machine's state set before and compared after.

--*/

#include "PenterSupport.h"

const TEST_HOOK TestHooks[TEST_NUMBER_OF_HOOKS] = {
    { "_penter", _penter, TRACE_KIND_ENTER, FALSE },
    { "_pexit", _pexit, TRACE_KIND_EXIT, FALSE },
    { "__return__", __return__, TRACE_KIND_EXIT, FALSE },
    { "__fentry__", __fentry__, TRACE_KIND_ENTER, FALSE },
    { "__cyg_profile_func_enter", __cyg_profile_func_enter,
      TRACE_KIND_ENTER_FUNCTION, TRUE },
    { "__cyg_profile_func_exit", __cyg_profile_func_exit,
      TRACE_KIND_EXIT_FUNCTION, TRUE }
};

//
// CF 001, PF 004, AF 010, ZF 040, SF 080, DF 400, OF 800.
//

const ULONG TestFlags[TEST_NUMBER_OF_FLAGS] = {
    0x000, 0x001, 0x004, 0x010, 0x040, 0x080, 0x800, 0x400,
    0x8D5, 0xCD5, 0x801, 0x881, 0x044, 0x085, 0x411, 0xC00, 0x8C4, 0x055
};

#define TEST_FLAGS_MASK 0xCD5

//
// Values of MXCSR and of the x87 control word that differ from the usual ones;
// all exceptions stay masked.
//

static const ULONG TestMxcsr[] = {
    0x3F80, 0x5FA0, 0x7FBF, 0x9F81, 0xFFC0
};

static const ULONG TestX87Control[] = { 0x0F7F, 0x0C7F, 0x067F, 0x0A7F };

#define TEST_MAXIMUM_MESSAGES 20

PCRTL PenterTestRtl;
BOOLEAN PenterTestQuick;

static ULONGLONG TestRandomState = 0x9E3779B97F4A7C15;
static ULONG TestNumberOfMessages;
static ULONGLONG TestClockBefore;

ULONGLONG
PenterTestRandom(
    VOID
    )
{
    TestRandomState ^= TestRandomState << 13;
    TestRandomState ^= TestRandomState >> 7;
    TestRandomState ^= TestRandomState << 17;
    return TestRandomState;
}

ULONG
PenterTestVectorLevel(
    VOID
    )
{
    if (PenterTestRtl->CpuFeatures.Avx512) {
        return 2;
    }

    return PenterTestRtl->CpuFeatures.Avx2 ? 1 : 0;
}

VOID
PenterTestFillState(
    PPENTER_ROUTINE Hook,
    ULONG StackOffset,
    ULONG Flags
    )
{
    PULONGLONG Word;
    PHOOK_STATE State;
    ULONGLONG Random;
    ULONG Index;

    State = &HookCall.Expected;
    Word = (PULONGLONG)State;
    for (Index = 0; Index < sizeof(*State) / sizeof(*Word); Index += 1) {
        Word[Index] = PenterTestRandom();
    }
    RtlFillBytes(&HookCall.Actual, sizeof(HookCall.Actual), 0xA5);

    //
    // Bit 1 is always set, and so is IF outside of the kernel.
    //

    Random = PenterTestRandom();
    State->Flags = 0x202 | Flags;
    State->Mxcsr = TestMxcsr[Random % RTL_NUMBER_OF(TestMxcsr)];

    TestClockBefore = PenterClock;
    HookCall.Hook = Hook;
    HookCall.StackOffset = StackOffset;
    HookCall.VectorLevel = PenterTestVectorLevel();
    HookCall.X87Control =
        TestX87Control[(Random >> 32) % RTL_NUMBER_OF(TestX87Control)];

    //
    // Doubles from 1 to below 2.
    //

    for (Index = 0; Index < RTL_NUMBER_OF(HookCall.X87Values); Index += 1) {
        HookCall.X87Values[Index] =
            (PenterTestRandom() >> 12) | 0x3FF0000000000000;
    }
}

//
// Notes a property that differs, if it does.
// Difference: the list.
// Details: what differs, 0 for nothing.
//

static
VOID
PenterTestNote(
    _Inout_ PHOOK_DIFFERENCE Difference,
    _In_ ULONG Property,
    _In_ ULONGLONG Details
    )
{
    if (Details != 0) {
        Difference->Properties |= 1UL << Property;
        Difference->Details[Property] |= Details;
    }
}

//
// Compares two images of the x87 unit. The addresses of the last instruction
// and of its operand are left out: processors differ in when they save them.
// Returns 1: control word, 2: status word, 4: tags, 8: registers.
//

static
ULONGLONG
PenterTestCompareX87(
    _In_ const HOOK_STATE *Expected,
    _In_ const HOOK_STATE *Actual
    )
{
    ULONGLONG Details;

    Details = 0;
    if (!RtlAreBytesEqual(Expected->X87, Actual->X87, 2)) {
        Details |= 1;
    }
    if (!RtlAreBytesEqual(Expected->X87 + 4, Actual->X87 + 4, 2)) {
        Details |= 2;
    }
    if (!RtlAreBytesEqual(Expected->X87 + 8, Actual->X87 + 8, 2)) {
        Details |= 4;
    }
    if (!RtlAreBytesEqual(Expected->X87 + 28, Actual->X87 + 28, 80)) {
        Details |= 8;
    }

    return Details;
}

VOID
PenterTestCompareStates(
    PHOOK_DIFFERENCE Difference
    )
{
    const HOOK_STATE *Expected;
    const HOOK_STATE *Actual;
    ULONG Index;
    ULONG Count;

    RtlZeroBytes(Difference, sizeof(*Difference));
    Expected = &HookCall.Expected;
    Actual = &HookCall.Actual;

    for (Index = 0; Index < 16; Index += 1) {
        PenterTestNote(Difference,
                       Index,
                       Expected->General[Index] ^ Actual->General[Index]);
    }

    PenterTestNote(Difference,
                   HOOK_PROPERTY_FLAGS,
                   (Expected->Flags ^ Actual->Flags) & TEST_FLAGS_MASK);
    PenterTestNote(Difference,
                   HOOK_PROPERTY_MXCSR,
                   Expected->Mxcsr ^ Actual->Mxcsr);
    PenterTestNote(Difference,
                   HOOK_PROPERTY_X87,
                   PenterTestCompareX87(Expected, Actual));
    PenterTestNote(Difference,
                   HOOK_PROPERTY_LAST_ERROR,
                   Expected->LastError ^ Actual->LastError);
    PenterTestNote(Difference,
                   HOOK_PROPERTY_LAST_STATUS,
                   Expected->LastStatus ^ Actual->LastStatus);

    Count = (HookCall.VectorLevel == 2) ? 32 : 16;
    for (Index = 0; Index < Count; Index += 1) {
        if (!RtlAreBytesEqual(Expected->Vectors[Index],
                              Actual->Vectors[Index],
                              16)) {

            PenterTestNote(Difference, HOOK_PROPERTY_LOW, 1ULL << Index);
        }
        if (HookCall.VectorLevel >= 1 &&
            !RtlAreBytesEqual(Expected->Vectors[Index] + 16,
                              Actual->Vectors[Index] + 16,
                              16)) {

            PenterTestNote(Difference, HOOK_PROPERTY_MIDDLE, 1ULL << Index);
        }
        if (HookCall.VectorLevel == 2 &&
            !RtlAreBytesEqual(Expected->Vectors[Index] + 32,
                              Actual->Vectors[Index] + 32,
                              32)) {

            PenterTestNote(Difference, HOOK_PROPERTY_HIGH, 1ULL << Index);
        }
    }

    if (HookCall.VectorLevel == 2) {
        for (Index = 0; Index < 8; Index += 1) {
            if (Expected->Masks[Index] != Actual->Masks[Index]) {
                PenterTestNote(Difference,
                               HOOK_PROPERTY_MASKS,
                               1ULL << Index);
            }
        }
    }

    for (Index = 0; Index < RTL_NUMBER_OF(Expected->Stack); Index += 1) {
        if (Expected->Stack[Index] != Actual->Stack[Index]) {
            PenterTestNote(Difference, HOOK_PROPERTY_STACK, 1ULL << Index);
        }
    }
}

PCPENTER_ROUTINES
PenterTestRoutines(
    PULONG Clock,
    PBOOLEAN Chooses,
    PBOOLEAN Expansion
    )
{
    PCPENTER_ROUTINES Routines;
    ULONG Index;

    Routines = &PenterRoutines[0][0][0];
    for (Index = 0; Index < PENTER_NUMBER_OF_CLOCKS * 4; Index += 1) {
        if (Routines[Index].Enter == PenterEnterRoutine &&
            Routines[Index].Exit == PenterExitRoutine &&
            Routines[Index].EnterFunction == PenterEnterFunctionRoutine &&
            Routines[Index].ExitFunction == PenterExitFunctionRoutine) {

            *Clock = Index / 4;
            *Chooses = (Index & 2) != 0;
            *Expansion = (Index & 1) != 0;
            return &Routines[Index];
        }
    }

    *Chooses = FALSE;
    Routines = &PenterTreeRoutines[0][0];
    for (Index = 0; Index < 4; Index += 1) {
        if (Routines[Index].Enter == PenterEnterRoutine &&
            Routines[Index].Exit == PenterExitRoutine &&
            Routines[Index].EnterFunction == PenterEnterFunctionRoutine &&
            Routines[Index].ExitFunction == PenterExitFunctionRoutine) {

            *Clock = Index / 2;
            *Expansion = (Index & 1) != 0;
            return &Routines[Index];
        }
    }

    *Clock = TRACE_CLOCK_TSC;
    *Expansion = FALSE;
    return NULL;
}

PTRACE_STORE_HEADER
PenterTestContext(
    VOID
    )
{
    ULONG_PTR Slots;
    ULONG Clock;
    BOOLEAN Chooses;
    BOOLEAN Expansion;

    if (PenterTestRoutines(&Clock, &Chooses, &Expansion) == NULL) {
        return NULL;
    }

    if (!Expansion) {
        return (PTRACE_STORE_HEADER)__readgsqword(PenterSlotOffset);
    }

    Slots = __readgsqword(TEB_TLS_EXPANSION_SLOTS);
    return Slots == 0 ? NULL :
           *(PTRACE_STORE_HEADER *)(Slots + PenterSlotOffset);
}

VOID
PenterTestResetDepth(
    VOID
    )
{
    PTRACE_STORE_HEADER Header;
    PTRACE_STORE Store;

    Header = PenterTestContext();
    if (Header == NULL) {
        return;
    }

    Store = (PTRACE_STORE)(ULONG_PTR)Header->WriterContext;
    if (Store != NULL && Store->Depth != NULL) {
        Store->Depth->Count = 0;
        Store->Depth->Skipped = 0;
        Store->Depth->Settled = TRACE_DEPTH_UNSETTLED;
    }
}

//
// Checks the record of the call that was just made, where it lies in memory.
// Hook: the hook that was called.
// Returns TRUE if it is right.
//

static
BOOLEAN
PenterTestCheckRecord(
    _In_ PCTEST_HOOK Hook
    )
{
    PTRACE_STORE_HEADER Header;
    PCTRACE_RECORD Record;
    ULONG Site;

    Header = PenterTestContext();
    if (Header == NULL || Header->Magic != TRACE_STORE_MAGIC) {
        return FALSE;
    }

    Site = (ULONG)(ULONG_PTR)HookCallOnceSite;
    if (Hook->SiteIsArgument) {
        Site = (ULONG)HookCall.Expected.General[HOOK_RCX];
    }

    Record = (PCTRACE_RECORD)(ULONG_PTR)(Header->Cursor - sizeof(*Record));
    if (Record->Site != Site ||
        Record->StackKind !=
        (ULONG)HookCall.Expected.General[HOOK_RSP] + Hook->Kind) {

        return FALSE;
    }

    if (Header->Clock == TRACE_CLOCK_NONE) {
        return Record->Timestamp ==
               Header->Cursor + Header->CursorToFileOffset - sizeof(*Record);
    }

    //
    // The clock of a thread shows what was published last: before the call, or
    // during it.
    //

    if (Header->Clock == TRACE_CLOCK_THREAD) {
        return Record->Timestamp >= TestClockBefore &&
               Record->Timestamp <= PenterClock;
    }

    //
    // Threads move between processors: their counters agree only where the
    // processor says so.
    //

    return !PenterTestRtl->CpuFeatures.InvariantTsc ||
           (Record->Timestamp >= HookCall.TscBefore &&
            Record->Timestamp <= HookCall.TscAfter);
}

BOOLEAN
PenterTestCompareCall(
    PCTEST_HOOK Hook,
    ULONG StackOffset,
    ULONG Flags,
    BOOLEAN RecordIsRight
    )
{
    HOOK_DIFFERENCE Difference;
    ULONG Index;

    PenterTestCompareStates(&Difference);
    if (Difference.Properties == 0 && RecordIsRight) {
        return TRUE;
    }

    TestNumberOfMessages += 1;
    if (TestNumberOfMessages <= TEST_MAXIMUM_MESSAGES) {
        RtlWriteText(TestOutput,
                     "%s, stack offset %u, flags %x: record %s",
                     Hook->Name,
                     StackOffset,
                     Flags,
                     RecordIsRight ? "right" : "wrong");
        for (Index = 0; Index < HOOK_NUMBER_OF_PROPERTIES; Index += 1) {
            if ((Difference.Properties & (1UL << Index)) != 0) {
                RtlWriteText(TestOutput,
                             ", property %u differs (%llx)",
                             Index,
                             Difference.Details[Index]);
            }
        }
        RtlWriteText(TestOutput, "\n");
    }

    return FALSE;
}

BOOLEAN
PenterTestCall(
    PCTEST_HOOK Hook,
    ULONG StackOffset,
    ULONG Flags,
    BOOLEAN Recorded
    )
{
    PenterTestFillState(Hook->Routine, StackOffset, Flags);
    HookCallOnce();
    return PenterTestCompareCall(Hook,
                                 StackOffset,
                                 Flags,
                                 !Recorded || PenterTestCheckRecord(Hook));
}

VOID
PenterTestTakeSlots(
    VOID
    )
{
    ULONG Index;
    ULONG Slot;

    if (TestNumberOfArguments < 3 ||
        !RtlAreStringsEqual(TestArguments[2].Utf8, "expansion")) {

        return;
    }

    for (Index = 0; Index <= TEB_TLS_NUMBER_OF_SLOTS; Index += 1) {
        Slot = PenterTestRtl->TlsAlloc();
        if (Slot >= TEB_TLS_NUMBER_OF_SLOTS) {
            PenterTestRtl->TlsFree(Slot);
            break;
        }
    }
}
