/*++

Module Name:

    TraceFixed.c

Abstract:

    Whether a function moves RSP behind its prolog, by its code.  Unwind data
    does not tell: it says of a function with a frame pointer only that it may.

    Behind the prolog RSP may be moved by an epilog alone: from the instruction
    that moves it first up to a return, or to a jump out of the function, there
    is no other jump, and no call but one right before the end: gcc calls the
    exit hook there.  A part that the compiler has moved away is looked at, too.

    Compilers move RSP by few instructions.  Of another one, or of bytes that
    are no code, nothing is said but that it is not certain.

--*/

#include "../Rtl/Rtl.h"
#include "TraceFixed.h"
#include "TraceFrame.h"
#include "../Rtl/RtlDecode.h"

#define FIXED_RSP               4
#define FIXED_COMPARE      7       // opcode extension of cmp

//
// A function that is larger than this (bytes) is not looked at.  One of that
// size takes some milliseconds, once.
//

#define FIXED_MAXIMUM_SIZE      0x100000

//
// The first of an entry's unwind data.
//

#define FIXED_FLAG_CHAINED      0x4

typedef struct _FIXED_UNWIND {
    UCHAR VersionAndFlags;
    UCHAR SizeOfProlog;
    UCHAR NumberOfCodes;
} FIXED_UNWIND;
typedef const FIXED_UNWIND *PCFIXED_UNWIND;

typedef struct _FIXED_SCAN {
    PBYTE Base;
    ULONG ModuleSize;
    PCTRACE_FUNCTION Function;
    PCTRACE_FUNCTION Part;              // of it that lies elsewhere, or NULL
} FIXED_SCAN;
typedef FIXED_SCAN *PFIXED_SCAN;

static
PCFIXED_UNWIND
TraceFixedGetUnwind(
    _In_ const FIXED_SCAN *Scan,
    _In_ PCTRACE_FUNCTION Function
    )
{
    if (Function->End > Scan->ModuleSize ||
        Function->Begin >= Function->End ||
        Function->End - Function->Begin > FIXED_MAXIMUM_SIZE ||
        !TraceFrameIsWithin(Scan->Base, Scan->ModuleSize, Function)) {

        return NULL;
    }

    return (PCFIXED_UNWIND)(Scan->Base + Function->Unwind);
}

//
// Is a jump's target in the function?
//

static
BOOLEAN
TraceFixedIsInside(
    _Inout_ PFIXED_SCAN Scan,
    _In_ ULONG Target
    )
{
    PCTRACE_FUNCTION Part;
    PCFIXED_UNWIND Unwind;

    if (Target - Scan->Function->Begin <
        Scan->Function->End - Scan->Function->Begin) {

        return TRUE;
    }

    if (Scan->Part == NULL) {

        //
        // A part begins where all of the prolog has run.
        //

        Part = TraceFrameFindEntry(Scan->Base, Scan->ModuleSize, Target);
        if (Part == NULL) {
            return FALSE;
        }
        Unwind = TraceFixedGetUnwind(Scan, Part);
        if (Unwind == NULL ||
            ((Unwind->VersionAndFlags >> 3 & FIXED_FLAG_CHAINED) == 0 &&
             (Unwind->SizeOfProlog != 0 || Unwind->NumberOfCodes == 0))) {

            return FALSE;
        }
        Scan->Part = Part;
    }

    return Target - Scan->Part->Begin < Scan->Part->End - Scan->Part->Begin;
}

static
BOOLEAN
TraceFixedMovesStack(
    _In_ PCRTL_INSTRUCTION Instruction
    )
{
    ULONG Extension;
    BOOLEAN IsFirst;
    BOOLEAN IsSecond;

    if (Instruction->Table != RTL_OPCODES_PRIMARY || Instruction->IsVector) {
        return FALSE;
    }

    Extension = (Instruction->ModRm >> 3) & 7;
    IsFirst = Instruction->HasModRm && Instruction->ModRm >= 0xC0 &&
              (Instruction->ModRm & 7) == FIXED_RSP &&
              (Instruction->Rex & 1) == 0;
    IsSecond = Instruction->HasModRm && Extension == FIXED_RSP &&
               (Instruction->Rex & 4) == 0;

    switch (Instruction->Opcode) {
    case 0x68:                          // push n
    case 0x6A:
    case 0x8F:                          // pop
    case 0x9C:                          // pushf, popf
    case 0x9D:
    case 0xC8:                          // enter, leave
    case 0xC9:
        return TRUE;
    case 0x81:                          // add and others, n
    case 0x83:
        return IsFirst && Extension != FIXED_COMPARE;
    case 0x01:                          // add, or, adc, sbb, and, sub, xor
    case 0x09:
    case 0x11:
    case 0x19:
    case 0x21:
    case 0x29:
    case 0x31:
    case 0x89:                          // mov
    case 0xC1:                          // shifts
    case 0xC7:                          // mov n
    case 0xD1:
    case 0xD3:
    case 0xF7:                          // not, neg and others
        return IsFirst;
    case 0x03:                          // likewise, the other way
    case 0x0B:
    case 0x13:
    case 0x1B:
    case 0x23:
    case 0x2B:
    case 0x33:
    case 0x63:                          // movsxd
    case 0x69:                          // imul
    case 0x6B:
    case 0x8B:
    case 0x8D:                          // lea
        return IsSecond;
    case 0x87:                          // xchg
        return IsFirst || IsSecond;
    case 0x94:                          // xchg rax
    case 0xBC:                          // mov n
        return (Instruction->Rex & 1) == 0;
    case 0xFF:                          // inc, dec, push
        return (IsFirst && Extension < 2) || Extension == 6;
    default:
        return (Instruction->Opcode & 0xF0) == 0x50;    // push, pop
    }
}

static
BOOLEAN
TraceFixedScan(
    _Inout_ PFIXED_SCAN Scan,
    _In_ PCTRACE_FUNCTION Function,
    _In_ ULONG SizeOfProlog
    )
{
    RTL_INSTRUCTION Instruction;
    ULONG At;
    ULONG Target;
    ULONG Extension;
    BOOLEAN IsInside;
    BOOLEAN IsJump;
    BOOLEAN InEpilog;
    BOOLEAN HasCalled;

    InEpilog = FALSE;
    HasCalled = FALSE;
    for (At = Function->Begin + SizeOfProlog;
         At < Function->End;
         At += Instruction.Length) {

        if (!RtlDecodeInstruction(Scan->Base + At,
                                  Function->End - At,
                                  &Instruction)) {

            return FALSE;
        }

        Extension = (Instruction.ModRm >> 3) & 7;
        if (RtlFindJump(&Instruction, Scan->Base + At, At, &Target)) {
            IsInside = TraceFixedIsInside(Scan, Target);
            IsJump = Instruction.Table == RTL_OPCODES_PRIMARY &&
                     (Instruction.Opcode == 0xE9 || Instruction.Opcode == 0xEB);
            if (IsInside ? InEpilog : !InEpilog || !IsJump) {
                return FALSE;
            }
            InEpilog = FALSE;
            HasCalled = FALSE;
            continue;
        }

        if (Instruction.Table == RTL_OPCODES_PRIMARY &&
            (Instruction.Opcode == 0xC2 || Instruction.Opcode == 0xC3 ||
             (Instruction.Opcode == 0xFF &&
              (Extension == 4 || Extension == 5)))) {

            InEpilog = FALSE;
            HasCalled = FALSE;
            continue;
        }

        if (HasCalled) {
            return FALSE;
        }

        if (Instruction.Table == RTL_OPCODES_PRIMARY &&
            (Instruction.Opcode == 0xE8 ||
             (Instruction.Opcode == 0xFF &&
              (Extension == 2 || Extension == 3)))) {

            HasCalled = InEpilog;
        } else if (TraceFixedMovesStack(&Instruction)) {
            InEpilog = TRUE;
        }
    }

    return !InEpilog;
}

_Use_decl_annotations_
BOOLEAN
TraceFixedFind(
    PVOID ModuleBase,
    ULONG ModuleSize,
    ULONG Begin
    )
{
    FIXED_SCAN Scan;
    PCFIXED_UNWIND Unwind;

    Scan.Base = (PBYTE)ModuleBase;
    Scan.ModuleSize = ModuleSize;
    Scan.Part = NULL;
    Scan.Function = TraceFrameFindEntry(ModuleBase, ModuleSize, Begin);
    if (Scan.Function == NULL || Scan.Function->Begin != Begin) {
        return FALSE;
    }

    Unwind = TraceFixedGetUnwind(&Scan, Scan.Function);
    if (Unwind == NULL ||
        (Unwind->VersionAndFlags >> 3 & FIXED_FLAG_CHAINED) != 0 ||
        Unwind->SizeOfProlog > Scan.Function->End - Begin) {

        return FALSE;
    }

    return TraceFixedScan(&Scan, Scan.Function, Unwind->SizeOfProlog) &&
           (Scan.Part == NULL || TraceFixedScan(&Scan, Scan.Part, 0));
}
