/*++

Module Name:

    FunctionHookSites.c

Abstract:

    Where the functions of an image call the hooks.

    A hook is a jump through one of the four pointers that the library has at
    the beginning of its data (Penter/PenterHooks.asm), which tell what kind it
    is.  A place is where an instruction calls a hook or jumps to it: the code
    is decoded from each function's beginning to its end, and what is not
    decoded to the last byte, or has a jump into the middle of an instruction,
    is not believed.

    Hooks of the kind of _penter are called for the function that they are
    called from.  Those of -finstrument-functions are told the function in rcx,
    and a function that was inlined calls them from another one's code: the
    addresses that the code makes are followed to the calls.

--*/

#include "../../Rtl/RtlDecode.h"
#include "FunctionHookSites.h"

//
// How many addresses of functions one function may make, and how many jumps a
// linker may have put between a call and its hook.
//

#define READER_MAXIMUM_MADE     64
#define READER_MAXIMUM_THUNKS   2

//
// How many places of its stack frame are told apart.
//

#define READER_MAXIMUM_SLOTS    64

//
// The pointers: how they are aligned, and how many there are.
//

#define READER_POINTERS_ALIGNMENT   64
#define READER_POINTERS             4

#define X64_CALL                0xE8
#define X64_JUMP                0xE9
#define X64_NEAR_SIZE           5
#define X64_JUMP_SHORT          0xEB
#define X64_RETURN              0xC3
#define X64_INDIRECT            0xFF
#define X64_RCX                 1

//
// The registers that a call may change: rax, rcx, rdx, r8 to r11.
//

#define X64_VOLATILE            0x0F07u

//
// Flags of unwind information, in its first byte: the function has a handler.
//

#define PE_UNWIND_HANDLER       0x18

typedef struct _READER_HOOK_RANGE {
    ULONG Owner;                    // the function that it is a part of
    ULONG Rva;
    ULONG SizeInBytes;
    BOOLEAN HasHandler;
    BOOLEAN IsDynamic;
} READER_HOOK_RANGE;
typedef READER_HOOK_RANGE *PREADER_HOOK_RANGE;

//
// What is known while the ranges of one function are looked at.  A mask has a
// bit for each address in Made: those that a register may hold at some place,
// whatever way leads there.  What a register has besides does not matter: the
// hook is told one of these addresses.
//

typedef struct _READER_HOOK_STATE {
    ULONGLONG Masks[16];            // by register
} READER_HOOK_STATE;
typedef READER_HOOK_STATE *PREADER_HOOK_STATE;
typedef const READER_HOOK_STATE *PCREADER_HOOK_STATE;

typedef struct _READER_HOOK_SLOT {
    ULONG Displacement;             // from RSP
    ULONGLONG Mask;                 // at any time
} READER_HOOK_SLOT;
typedef READER_HOOK_SLOT *PREADER_HOOK_SLOT;

typedef struct _READER_HOOK_SCAN {
    PREADER_EXCLUDE Exclude;
    PCREADER_UNWIND Unwind;
    ULONG Module;
    const READER_HOOK_RANGE *Range;
    const UCHAR *Bytes;             // of Range
    PUCHAR Marks;                   // likewise
    ULONG NumberMade;
    BOOLEAN IsTooMuch;              // more than Made holds
    BOOLEAN IsIndirect;             // a hook's address is made
    BOOLEAN HasTable;               // it jumps where nobody can tell
    BOOLEAN HasHandler;             // exceptions arrive where nobody can tell
    BOOLEAN IsDynamic;              // RSP moves
    BOOLEAN IsNamed;                // the image says what moved parts are of
    BOOLEAN IsWhole;                // all that the function makes is seen
    BOOLEAN IsDamaged;              // it cannot be decoded
    BOOLEAN IsMore;                 // something was added to what is known
    ULONG Made[READER_MAXIMUM_MADE];
    PULONG Labels;                  // where jumps arrive, ascending
    ULONG NumberOfLabels;
    ULONG CapacityOfLabels;
    PREADER_HOOK_STATE States;      // by label
    ULONG CapacityOfStates;
    ULONG NumberOfSlots;
    READER_HOOK_STATE Here;
    READER_HOOK_STATE Table;        // at all jumps of HasTable
    READER_HOOK_STATE Thrown;       // at all calls
    ULONGLONG Pool;                 // mask: other memory, and xmm registers
    READER_HOOK_SLOT Slots[READER_MAXIMUM_SLOTS];
} READER_HOOK_SCAN;
typedef READER_HOOK_SCAN *PREADER_HOOK_SCAN;

//
// What an instruction does with an address.
//

typedef struct _READER_MOVE {
    PREADER_HOOK_SLOT Slot;         // of a pool that is one place, or NULL
    ULONG Target;                   // register, or READER_NONE: none, or memory
    ULONG Source;                   // register, or READER_NONE
    ULONGLONG Mask;                 // of an address that it makes
    BOOLEAN IsMade;                 // what it gives does not depend on Source
    BOOLEAN IsFromPool;
    BOOLEAN IsToPool;
    BOOLEAN IsEither;               // or nothing happens, or both ways
} READER_MOVE;
typedef READER_MOVE *PREADER_MOVE;


//
// Reads a little-endian 32-bit number, whatever its alignment.
// Bytes: its first byte.
//

static
ULONG
FunctionLoadWord(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}


//
// Says whether a hook begins at some address, or a jump to one.
// Unwind: the image.
// Returns TRACE_KIND_*, or 0.
//

static
ULONG
FunctionFindHookKind(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    )
{
    const UCHAR *Bytes;
    ULONG Thunks;
    ULONG Slot;
    ULONG Index;
    ULONG Target;

    for (Thunks = 0; Thunks <= READER_MAXIMUM_THUNKS; Thunks++) {

        Bytes = ImageGetUnwindBytes(Unwind, Rva, 6);
        if (Bytes == NULL) {
            return 0;
        }

        if (Bytes[0] == X64_JUMP) {
            Rva += X64_NEAR_SIZE + FunctionLoadWord(Bytes + 1);
            continue;
        }

        if (Bytes[0] != X64_INDIRECT || Bytes[1] != 0x25) {
            return 0;
        }

        Slot = Rva + 6 + FunctionLoadWord(Bytes + 2);
        Index = Slot % READER_POINTERS_ALIGNMENT;
        Slot -= Index;
        if (Index % sizeof(ULONGLONG) != 0 ||
            Index / sizeof(ULONGLONG) >= READER_POINTERS) {
            return 0;
        }

        for (Thunks = 0; Thunks < READER_POINTERS; Thunks++) {
            Target = ImageReadSlot(Unwind,
                                   Slot + Thunks * sizeof(ULONGLONG));
            if (Target == 0 ||
                ImageGetUnwindBytes(Unwind, Target, 1) == NULL) {
                return 0;
            }
        }

        return TRACE_KIND_ENTER + Index / sizeof(ULONGLONG);
    }

    return 0;
}


//
// Finds a function's address among those that are made.
// Scan: the function that makes it.
// Rva: the address; it may be none of a function.
// IsAdding: whether it is added if it is not there.
// Returns its mask, or 0.
//

static
ULONGLONG
FunctionFindMade(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ ULONG Rva,
    _In_ BOOLEAN IsAdding
    )
{
    const UCHAR *Entry;
    ULONG Index;

    for (Index = 0; Index < Scan->NumberMade; Index++) {
        if (Scan->Made[Index] == Rva) {
            return 1ULL << Index;
        }
    }

    if (!IsAdding) {
        return 0;
    }

    if (FunctionFindHookKind(Scan->Unwind, Rva) != 0) {
        Scan->IsIndirect = TRUE;
        return 0;
    }

    Entry = ImageFindUnwindEntry(Scan->Unwind, Rva);
    if (Entry == NULL || FunctionLoadWord(Entry + PE_FUNCTION_BEGIN) != Rva) {
        return 0;
    }

    if (Scan->NumberMade == READER_MAXIMUM_MADE) {
        Scan->IsTooMuch = TRUE;
        return 0;
    }

    Scan->Made[Scan->NumberMade] = Rva;
    Scan->NumberMade += 1;
    return 1ULL << (Scan->NumberMade - 1);
}


//
// The same for an address as the image has it before it is loaded.
// Scan: the function that makes it.
// IsAdding: whether it is added if it is not there.
// Returns its mask, or 0.
//

static
ULONGLONG
FunctionFindMadeAddress(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ ULONGLONG Address,
    _In_ BOOLEAN IsAdding
    )
{
    Address -= Scan->Unwind->ImageBase;
    return Address < Scan->Unwind->SizeOfImage
               ? FunctionFindMade(Scan, (ULONG)Address, IsAdding)
               : 0;
}


//
// Finds the place of the stack frame that an instruction's operand is, if it
// is RSP with a distance alone.
// Scan: the function.
// Returns the place, or NULL: it may be anywhere.
//

static
_Ret_maybenull_
PREADER_HOOK_SLOT
FunctionFindSlot(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ PCRTL_INSTRUCTION Instruction,
    _In_ const UCHAR *Bytes
    )
{
    ULONG Mode = Instruction->ModRm >> 6;
    ULONG Displacement = 0;
    ULONG Index;

    if (Scan->IsDynamic || Mode == 3 || (Instruction->ModRm & 7) != 4 ||
        (Instruction->Rex & 3) != 0) {
        return NULL;
    }

    //
    // SIB follows ModRM, and the distance follows it.
    //

    if (Mode == 0 || Instruction->DisplacementOffset == 0 ||
        Bytes[Instruction->DisplacementOffset - 1] != 0x24) {
        return NULL;
    }

    Displacement = Mode == 1
                       ? (ULONG)(LONG)(signed char)
                             Bytes[Instruction->DisplacementOffset]
                       : FunctionLoadWord(Bytes +
                                          Instruction->DisplacementOffset);
    for (Index = 0; Index < Scan->NumberOfSlots; Index++) {
        if (Scan->Slots[Index].Displacement == Displacement) {
            return &Scan->Slots[Index];
        }
    }

    if (Scan->NumberOfSlots == READER_MAXIMUM_SLOTS) {
        return NULL;
    }

    Scan->Slots[Scan->NumberOfSlots].Displacement = Displacement;
    Scan->Slots[Scan->NumberOfSlots].Mask = 0;
    Scan->NumberOfSlots += 1;
    return &Scan->Slots[Scan->NumberOfSlots - 1];
}


//
// Says what an instruction does with addresses of functions, if it makes or
// moves one.
// Offset: where it is in the range.
// IsAdding: whether addresses that are not known yet are added.
// Move: it; Target and Source READER_NONE, and no pool: nothing.
//

static
VOID
FunctionReadMove(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ PCRTL_INSTRUCTION Instruction,
    _In_ ULONG Offset,
    _In_ BOOLEAN IsAdding,
    _Out_ PREADER_MOVE Move
    )
{
    const UCHAR *Bytes = Scan->Bytes + Offset;
    ULONG Register = ((Instruction->ModRm >> 3) & 7) |
                     ((Instruction->Rex & 4u) << 1);
    ULONG Other = (Instruction->ModRm & 7) | ((Instruction->Rex & 1u) << 3);
    BOOLEAN IsRegister = Instruction->ModRm >> 6 == 3;
    BOOLEAN IsRelative = (Instruction->ModRm & 0xC7) == 5;
    ULONG Opcode = Instruction->Opcode;
    ULONG Address = 0;
    ULONGLONG Value;

    RtlZeroBytes(Move, sizeof(*Move));
    Move->Target = READER_NONE;
    Move->Source = READER_NONE;
    if (IsRelative && Instruction->DisplacementSize == 4) {
        Address = Scan->Range->Rva + Offset + Instruction->Length +
                  FunctionLoadWord(Bytes + Instruction->DisplacementOffset);
    }

    if (Instruction->Table == RTL_OPCODES_0F &&
        (Opcode == 0x6E || Opcode == 0x7E)) {

        //
        // movq between xmm and a register or memory.
        //

        if (Opcode == 0x6E) {
            Move->IsToPool = TRUE;
            Move->Source = IsRegister ? Other : READER_NONE;
        } else if (IsRegister) {
            Move->Target = Other;
            Move->IsFromPool = TRUE;
        }
        return;
    }

    if (Instruction->IsVector) {
        return;
    }

    if (Instruction->Table == RTL_OPCODES_0F &&
        (Opcode & 0xF0) == 0x40) {
        Opcode = 0x8B;
        Move->IsEither = TRUE;
    } else if (Instruction->Table != RTL_OPCODES_PRIMARY) {
        return;
    }

    switch (Opcode) {

    case 0x8D:                          // lea
        if (IsRelative) {
            Move->Target = Register;
            Move->IsMade = TRUE;
            Move->Mask = FunctionFindMade(Scan, Address, IsAdding);
        }
        break;

    case 0x8B:                          // mov r, rm
        Move->Target = Register;
        if (IsRegister) {
            Move->Source = Other;
        } else {
            if (IsRelative) {
                Address = ImageReadSlot(Scan->Unwind, Address);
                if (Address != 0) {
                    Move->Mask = FunctionFindMade(Scan, Address, IsAdding);
                }
            }
            Move->IsMade = Move->Mask != 0;
            Move->IsFromPool = !Move->IsMade;
            Move->Slot = FunctionFindSlot(Scan, Instruction, Bytes);
        }
        break;

    case 0x89:                          // mov rm, r
        Move->Source = Register;
        if (IsRegister) {
            Move->Target = Other;
        } else {
            Move->IsToPool = TRUE;
            Move->Slot = FunctionFindSlot(Scan, Instruction, Bytes);
        }
        break;

    case 0x87:                          // xchg
        Move->Source = Register;
        if (IsRegister) {
            Move->Target = Other;
            Move->IsEither = TRUE;
        } else {
            Move->Target = Register;
            Move->IsToPool = TRUE;
            Move->IsFromPool = TRUE;
        }
        break;

    case 0xC7:                          // mov rm, imm
        if (IsRegister && Instruction->ImmediateSize == 4) {
            Move->Target = Other;
            Move->IsMade = TRUE;
            Move->Mask = FunctionFindMadeAddress(
                Scan,
                FunctionLoadWord(Bytes + Instruction->ImmediateOffset),
                IsAdding);
        }
        break;

    default:
        if ((Opcode & 0xF8) == 0xB8) {  // mov r, imm

            Value = 0;
            if (Instruction->ImmediateSize >= 4) {
                Value = FunctionLoadWord(Bytes + Instruction->ImmediateOffset);
            }
            if (Instruction->ImmediateSize == 8) {
                Value |= (ULONGLONG)FunctionLoadWord(
                             Bytes + Instruction->ImmediateOffset + 4)
                         << 32;
            }
            Move->Target = (Opcode & 7) | ((Instruction->Rex & 1u) << 3);
            Move->IsMade = TRUE;
            Move->Mask = FunctionFindMadeAddress(Scan, Value, IsAdding);

        } else if ((Opcode & 0xF8) == 0x90 &&
                   (Opcode != 0x90 || (Instruction->Rex & 1) != 0)) {

            Move->Target = (Opcode & 7) | ((Instruction->Rex & 1u) << 3);
            Move->Source = 0;           // xchg r, rax
            Move->IsEither = TRUE;
        }
        break;
    }
}


//
// Gathers the addresses that a range makes, and where its jumps go to.
//

_Must_inspect_result_
static
NTSTATUS
FunctionGatherMade(
    _Inout_ PREADER_HOOK_SCAN Scan
    )
{
    RTL_INSTRUCTION Instruction;
    READER_MOVE Move;
    ULONG Size = Scan->Range->SizeInBytes;
    ULONG Offset;
    ULONG Target;
    NTSTATUS Status;

    for (Offset = 0; Offset < Size; Offset += Instruction.Length) {

        if (!RtlDecodeInstruction(Scan->Bytes + Offset,
                                     Size - Offset,
                                     &Instruction)) {
            break;
        }

        FunctionReadMove(Scan, &Instruction, Offset, TRUE, &Move);
        if (RtlFindJump(&Instruction,
                           Scan->Bytes + Offset,
                           Scan->Range->Rva + Offset,
                           &Target)) {

            Status = BaseGrowArray(
                Scan->Exclude->Functions->Session->Context->Allocator,
                (PVOID *)&Scan->Labels,
                &Scan->CapacityOfLabels,
                Scan->NumberOfLabels + 1,
                sizeof(ULONG));
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Scan->Labels[Scan->NumberOfLabels] = Target;
            Scan->NumberOfLabels += 1;
        }
    }

    return STATUS_SUCCESS;
}


//
// Orders addresses.
// CompareContext: nothing.
// Returns negative, zero or positive.
//

static
LONG
FunctionCompareLabels(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    UNREFERENCED_PARAMETER(CompareContext);

    return First < Second ? -1 : First > Second;
}


//
// Finds the first label that is not below an address.
// Returns its index; NumberOfLabels if there is none.
//

static
ULONG
FunctionFindLabel(
    _In_ const READER_HOOK_SCAN *Scan,
    _In_ ULONG Rva
    )
{
    ULONG First = 0;
    ULONG Last = Scan->NumberOfLabels;
    ULONG Middle;

    while (First < Last) {

        Middle = First + (Last - First) / 2;
        if (Scan->Labels[Middle] < Rva) {
            First = Middle + 1;
        } else {
            Last = Middle;
        }
    }

    return First;
}


//
// Adds what registers may hold on one more way to a place.
// Scan: whether this is more than was known.
// Into: what they may hold there.
// From: what they may hold on that way.
//

static
VOID
FunctionMergeState(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _Inout_ PREADER_HOOK_STATE Into,
    _In_ PCREADER_HOOK_STATE From
    )
{
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Into->Masks); Index++) {
        if ((From->Masks[Index] & ~Into->Masks[Index]) != 0) {
            Into->Masks[Index] |= From->Masks[Index];
            Scan->IsMore = TRUE;
        }
    }
}


//
// Follows an address from one place to another.
// Scan: what is known; receives what is known afterwards.
// Move: what is moved.
//

static
VOID
FunctionFollowMove(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ const READER_MOVE *Move
    )
{
    PULONGLONG Masks = Scan->Here.Masks;
    PULONGLONG Pool = Move->Slot != NULL ? &Move->Slot->Mask : &Scan->Pool;
    ULONGLONG Mask = Move->Mask;
    ULONG Index;

    if (Move->Source != READER_NONE) {
        Mask |= Masks[Move->Source];
    }

    if (Move->IsToPool && (Mask & ~*Pool) != 0) {
        *Pool |= Mask;
        Scan->IsMore = TRUE;
    }

    if (Move->Target == READER_NONE) {
        return;
    }

    if (Move->IsFromPool) {

        //
        // What is not one place may be any of them.
        //

        Mask = Scan->Pool;
        if (Move->Slot != NULL) {
            Mask |= Move->Slot->Mask;
        } else {
            for (Index = 0; Index < Scan->NumberOfSlots; Index++) {
                Mask |= Scan->Slots[Index].Mask;
            }
        }
    }

    if (Move->IsEither) {
        Mask |= Masks[Move->Target];
        if (Move->Source != READER_NONE) {
            Masks[Move->Source] |= Mask;
        }
    }

    Masks[Move->Target] = Mask;
}


//
// Follows addresses through an instruction, in the order of the code.
// Scan: what is known before it; receives what is known behind it.
// Offset: where it is in the range.
// IsEntered: whether an exception may arrive behind it.
//

static
VOID
FunctionFollowInLine(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ PCRTL_INSTRUCTION Instruction,
    _In_ ULONG Offset,
    _Inout_ PBOOLEAN IsEntered
    )
{
    static const READER_HOOK_STATE EmptyState = { 0 };
    READER_MOVE Move;
    ULONG Rva = Scan->Range->Rva + Offset;
    ULONG Opcode = Instruction->Opcode;
    ULONG Extension = (Instruction->ModRm >> 3) & 7;
    ULONG Index;
    ULONG Target;

    *IsEntered = FALSE;
    if (RtlFindJump(Instruction, Scan->Bytes + Offset, Rva, &Target)) {

        Index = FunctionFindLabel(Scan, Target);
        if (Index < Scan->NumberOfLabels && Scan->Labels[Index] == Target) {
            FunctionMergeState(Scan, &Scan->States[Index], &Scan->Here);
        }

        if (Instruction->Table == RTL_OPCODES_PRIMARY &&
            (Opcode == X64_JUMP || Opcode == X64_JUMP_SHORT)) {
            Scan->Here = EmptyState;
            *IsEntered = TRUE;
        }
        return;
    }

    if (Instruction->Table == RTL_OPCODES_PRIMARY) {

        if (Opcode == X64_CALL ||
            (Opcode == X64_INDIRECT && Extension == 2)) {

            for (Index = 0; Index < RTL_NUMBER_OF(Scan->Here.Masks); Index++) {
                if ((X64_VOLATILE >> Index & 1) != 0) {
                    Scan->Here.Masks[Index] = 0;
                }
            }

            //
            // An exception arrives with what the others have here; and behind
            // a call that does not return, perhaps.
            //

            FunctionMergeState(Scan, &Scan->Thrown, &Scan->Here);
            *IsEntered = TRUE;
            return;
        }

        if (Opcode == X64_RETURN ||
            (Opcode == X64_INDIRECT && Extension == 4)) {

            if (Opcode == X64_INDIRECT) {
                FunctionMergeState(Scan, &Scan->Table, &Scan->Here);
            }

            Scan->Here = EmptyState;
            *IsEntered = TRUE;
            return;
        }
    }

    FunctionReadMove(Scan, Instruction, Offset, FALSE, &Move);
    FunctionFollowMove(Scan, &Move);
}


//
// Adds a place.
// Scan: the function around, and what is known at the place.
// Form: how it is called.
//

_Must_inspect_result_
static
NTSTATUS
FunctionAddHookSite(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ ULONG Rva,
    _In_ ULONG Kind,
    _In_ ULONG Form
    )
{
    PREADER_EXCLUDE Exclude = Scan->Exclude;
    PCALLOCATOR Allocator = Exclude->Functions->Session->Context->Allocator;
    ULONGLONG Module = (ULONGLONG)Scan->Module << 32;
    PREADER_HOOK_SITE Site;
    ULONGLONG Mask = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Exclude->Sites,
                           &Exclude->CapacityOfSites,
                           Exclude->NumberOfSites + 1,
                           sizeof(READER_HOOK_SITE));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Exclude->List,
                               &Exclude->CapacityOfList,
                               Exclude->NumberInList +
                                     READER_MAXIMUM_MADE + 1,
                               sizeof(ULONG));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Site = &Exclude->Sites[Exclude->NumberOfSites];
    Site->Module = Scan->Module;
    Site->Rva = Rva;
    Site->Form = Form;
    Site->IsEntry = Kind == TRACE_KIND_ENTER ||
                    Kind == TRACE_KIND_ENTER_FUNCTION;
    Site->FirstFunction = Exclude->NumberInList;
    Site->NumberOfFunctions = 0;

    if (Kind == TRACE_KIND_ENTER || Kind == TRACE_KIND_EXIT) {

        //
        // As the hook would record it, where the call returns to; a jump has
        // no such place.
        //

        Status = FunctionFindFunction(
            Exclude->Functions,
            Module | (Form == ReaderHookFormJump ? Rva : Rva + X64_NEAR_SIZE),
            FALSE,
            &Exclude->List[Exclude->NumberInList]);
        Exclude->NumberInList += NT_SUCCESS(Status);

    } else {

        if (!Scan->IsDamaged && !Scan->IsIndirect && !Scan->IsTooMuch) {
            Mask = Scan->Here.Masks[X64_RCX];
        }

        if (Mask == 0) {
            Mask = ~0ULL;
        }

        if (!Scan->IsWhole || Scan->NumberMade == 0) {
            Site->Form = ReaderHookFormOther;
            Exclude->NumberUnknown += 1;
        }

        for (Index = 0;
             Index < Scan->NumberMade && NT_SUCCESS(Status);
             Index++) {

            if ((Mask >> Index & 1) != 0) {
                Status = FunctionFindFunction(
                    Exclude->Functions,
                    Module | Scan->Made[Index],
                    FALSE,
                    &Exclude->List[Exclude->NumberInList]);
                Exclude->NumberInList += NT_SUCCESS(Status);
            }
        }
    }

    Site->NumberOfFunctions = Exclude->NumberInList - Site->FirstFunction;
    Exclude->NumberOfSites += NT_SUCCESS(Status);
    return Status;
}


//
// Follows addresses through a range, and adds its places.
// Scan: the range, and what is known of the whole function.
// IsLast: whether all is known, and the places are added.
//

_Must_inspect_result_
static
NTSTATUS
FunctionFollowRange(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ BOOLEAN IsLast
    )
{
    static const READER_HOOK_STATE EmptyState = { 0 };
    RTL_INSTRUCTION Instruction;
    BOOLEAN IsEntered = FALSE;
    BOOLEAN IsMore;
    BOOLEAN IsOther = Scan->IsDamaged || Scan->IsIndirect || Scan->IsTooMuch;
    ULONG Size = Scan->Range->SizeInBytes;
    ULONG Offset;
    ULONG Target;
    ULONG Kind;
    ULONG Form;
    ULONG Label = FunctionFindLabel(Scan, Scan->Range->Rva);
    NTSTATUS Status;

    Scan->Here = EmptyState;
    for (Offset = 0; Offset < Size; Offset += Instruction.Length) {

        //
        // Of code that cannot be decoded all bytes are looked at.
        //

        if (Scan->IsDamaged) {
            RtlZeroBytes(&Instruction, sizeof(Instruction));
            Instruction.Length = 1;
            Instruction.Opcode = Scan->Bytes[Offset];
            Instruction.ImmediateOffset = 1;
            if (Size - Offset < X64_NEAR_SIZE) {
                break;
            }
        } else if (!RtlDecodeInstruction(Scan->Bytes + Offset,
                                            Size - Offset,
                                            &Instruction)) {
            break;
        } else {

            //
            // What is known here alone is found again the next time.
            //

            IsMore = Scan->IsMore;
            if (Scan->HasTable) {
                FunctionMergeState(Scan, &Scan->Here, &Scan->Table);
            }

            if (Scan->HasHandler && IsEntered) {
                FunctionMergeState(Scan, &Scan->Here, &Scan->Thrown);
            }

            Scan->IsMore = IsMore;

            while (Label < Scan->NumberOfLabels &&
                   Scan->Labels[Label] < Scan->Range->Rva + Offset) {
                Label += 1;
            }

            if (Label < Scan->NumberOfLabels &&
                Scan->Labels[Label] == Scan->Range->Rva + Offset) {
                FunctionMergeState(Scan, &Scan->States[Label], &Scan->Here);
                Scan->Here = Scan->States[Label];
            }
        }

        Form = READER_NONE;
        if (!IsLast) {

            //
            // Nothing is added yet.
            //

        } else if (Instruction.Table == RTL_OPCODES_PRIMARY) {
            if (Instruction.Opcode == X64_CALL) {
                Form = ReaderHookFormCall;
            } else if (Instruction.Opcode == X64_JUMP) {
                Form = ReaderHookFormJump;
            }
        } else if (Instruction.Table == RTL_OPCODES_0F &&
                   !Instruction.IsVector &&
                   (Instruction.Opcode & 0xF0) == 0x80) {
            Form = ReaderHookFormOther;
        }

        if (Form != READER_NONE) {

            Target = Scan->Range->Rva + Offset +
                     FunctionLoadWord(Scan->Bytes + Offset +
                                      Instruction.ImmediateOffset) +
                     (Scan->IsDamaged ? X64_NEAR_SIZE : Instruction.Length);
            Kind = FunctionFindHookKind(Scan->Unwind, Target);

            //
            // Only the exit hooks of -finstrument-functions are jumped to; the
            // library's own jumps lead to the same places, but make no address.
            //

            if (Form == ReaderHookFormJump &&
                (Kind != TRACE_KIND_EXIT_FUNCTION || Scan->NumberMade == 0)) {
                Kind = 0;
            }

            //
            // Prefixes would stay behind.
            //

            if (Kind != 0) {
                if (IsOther ||
                    (!Scan->IsDamaged &&
                     Instruction.Length != X64_NEAR_SIZE)) {
                    Form = ReaderHookFormOther;
                }

                Status = FunctionAddHookSite(Scan,
                                             Scan->Range->Rva + Offset,
                                             Kind,
                                             Form);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }

        if (!Scan->IsDamaged) {
            FunctionFollowInLine(Scan, &Instruction, Offset, &IsEntered);
        }
    }

    return STATUS_SUCCESS;
}


//
// Says whether a range may call a hook.
// Unwind: the image.
// Returns FALSE only if it does not.
//

static
BOOLEAN
FunctionHasHookCall(
    _In_ PCREADER_UNWIND Unwind,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG Rva,
    _In_ ULONG SizeInBytes
    )
{
    ULONG Offset;

    for (Offset = 0; Offset + X64_NEAR_SIZE <= SizeInBytes; Offset++) {

        //
        // A jump under a condition ends with the same four bytes.
        //

        if ((Bytes[Offset] == X64_CALL || Bytes[Offset] == X64_JUMP ||
             (Bytes[Offset] & 0xF0) == 0x80) &&
            FunctionFindHookKind(
                Unwind,
                Rva + Offset + X64_NEAR_SIZE +
                    FunctionLoadWord(Bytes + Offset + 1)) != 0) {
            return TRUE;
        }
    }

    return FALSE;
}


//
// Orders ranges by function, then by address.
// First, Second: two of them.
// Returns negative, zero or positive.
//

static
LONG
FunctionCompareHookRanges(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    const READER_HOOK_RANGE *Ranges = (const READER_HOOK_RANGE *)CompareContext;

    if (Ranges[First].Owner != Ranges[Second].Owner) {
        return Ranges[First].Owner < Ranges[Second].Owner ? -1 : 1;
    }

    if (Ranges[First].Rva != Ranges[Second].Rva) {
        return Ranges[First].Rva < Ranges[Second].Rva ? -1 : 1;
    }

    return 0;
}


//
// Goes on to a range.
// Range: the range, whose bytes are there.
//

static
VOID
FunctionPointScan(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ const READER_HOOK_RANGE *Range
    )
{
    Scan->Range = Range;
    Scan->Bytes = ImageGetUnwindBytes(Scan->Unwind,
                                      Range->Rva,
                                      Range->SizeInBytes);
}


//
// Adds the places of a function's ranges.
// Scan: the image; room for the marks of any range.
// Order, Count: those of the function.
//

_Must_inspect_result_
static
NTSTATUS
FunctionFindSitesOfFunction(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ const READER_HOOK_RANGE *Ranges,
    _In_reads_(Count) const ULONG *Order,
    _In_ ULONG Count
    )
{
    BOOLEAN HasTable;
    ULONG Index;
    ULONG Made;
    NTSTATUS Status = STATUS_SUCCESS;

    Scan->NumberMade = 0;
    Scan->NumberOfLabels = 0;
    Scan->NumberOfSlots = 0;
    Scan->IsTooMuch = FALSE;
    Scan->IsIndirect = FALSE;
    Scan->HasTable = FALSE;
    Scan->HasHandler = FALSE;
    Scan->IsDynamic = FALSE;
    Scan->IsDamaged = FALSE;
    Scan->Pool = 0;
    RtlZeroBytes(&Scan->Table, sizeof(Scan->Table));
    RtlZeroBytes(&Scan->Thrown, sizeof(Scan->Thrown));

    for (Index = 0; Index < Count && NT_SUCCESS(Status); Index++) {
        FunctionPointScan(Scan, &Ranges[Order[Index]]);
        Scan->HasHandler = Scan->HasHandler || Scan->Range->HasHandler;
        Scan->IsDynamic = Scan->IsDynamic || Scan->Range->IsDynamic;
        if (!RtlMarkInstructions(Scan->Bytes,
                                 Scan->Range->SizeInBytes,
                                 Scan->Marks,
                                 &HasTable)) {
            Scan->IsDamaged = TRUE;
        }
        Scan->HasTable = Scan->HasTable || HasTable;
        Status = FunctionGatherMade(Scan);
    }

    if (NT_SUCCESS(Status)) {
        BaseSort(Scan->Labels,
                 Scan->NumberOfLabels,
                 FunctionCompareLabels,
                 NULL);
        Status = BaseGrowArray(
            Scan->Exclude->Functions->Session->Context->Allocator,
            (PVOID *)&Scan->States,
            &Scan->CapacityOfStates,
            Scan->NumberOfLabels + 1,
            sizeof(READER_HOOK_STATE));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlZeroBytes(Scan->States,
                 (SIZE_T)Scan->NumberOfLabels * sizeof(READER_HOOK_STATE));

    //
    // A part that a compiler has moved away has the function's address from
    // the rest of it.
    //

    Scan->IsWhole = Scan->IsNamed;
    for (Index = 0; Index < Count; Index++) {
        for (Made = 0; Made < Scan->NumberMade; Made++) {
            if (Scan->Made[Made] == Ranges[Order[Index]].Rva) {
                Scan->IsWhole = TRUE;
            }
        }
    }

    //
    // Until nothing is added.  With one address there is nothing to tell
    // apart.
    //

    Scan->IsMore = Scan->NumberMade > 1 && !Scan->IsDamaged;
    while (Scan->IsMore) {

        Scan->IsMore = FALSE;
        for (Index = 0; Index < Count; Index++) {
            FunctionPointScan(Scan, &Ranges[Order[Index]]);
            Status = FunctionFollowRange(Scan, FALSE);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    for (Index = 0; Index < Count && NT_SUCCESS(Status); Index++) {
        FunctionPointScan(Scan, &Ranges[Order[Index]]);
        Status = FunctionFollowRange(Scan, TRUE);
    }

    return Status;
}


//
// Gathers the ranges of code that may call hooks.
// Exclude: the functions.
// Module: the module's index.
// Unwind: its image.
// Ranges, NumberOfRanges: them, allocated.
// LargestInBytes: the size of the largest.
//

_Must_inspect_result_
static
NTSTATUS
FunctionGatherHookRanges(
    _In_ PREADER_EXCLUDE Exclude,
    _In_ ULONG Module,
    _In_ PCREADER_UNWIND Unwind,
    _Inout_ PREADER_HOOK_RANGE *Ranges,
    _Out_ PULONG NumberOfRanges,
    _Out_ PULONG LargestInBytes
    )
{
    PREADER_HOOK_RANGE Range;
    READER_UNWIND_FRAME Frame;
    const UCHAR *Entry;
    const UCHAR *Bytes;
    const UCHAR *Information;
    ULONG Capacity = 0;
    ULONG Before = 0;
    ULONG Index;
    ULONG Rva;
    ULONG Size;
    ULONG First;
    NTSTATUS Status = STATUS_SUCCESS;

    *NumberOfRanges = 0;
    *LargestInBytes = 0;
    for (Index = 0; Index < Unwind->NumberOfFunctions; Index++) {

        Entry = Unwind->Functions + (SIZE_T)Index * PE_FUNCTION_SIZE;
        Rva = FunctionLoadWord(Entry + PE_FUNCTION_BEGIN);
        Size = FunctionLoadWord(Entry + PE_FUNCTION_END) - Rva;

        //
        // Linkers sort them; in a damaged image they might overlap, and take
        // for ever.
        //

        Bytes = ImageGetUnwindBytes(Unwind, Rva, Size);
        if (Bytes == NULL || Rva < Before) {
            continue;
        }

        Before = Rva + Size;
        if (!FunctionHasHookCall(Unwind, Bytes, Rva, Size)) {
            continue;
        }

        First = Rva;
        Frame.IsDynamic = TRUE;
        if (ImageFindUnwindFrame(Unwind, Rva + 1, &Frame)) {
            First = Frame.FunctionRva;
        }

        Status = BaseGrowArray(
            Exclude->Functions->Session->Context->Allocator,
            (PVOID *)Ranges,
            &Capacity,
            *NumberOfRanges + 1,
            sizeof(READER_HOOK_RANGE));
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Range = &(*Ranges)[*NumberOfRanges];
        Range->Rva = Rva;
        Range->SizeInBytes = Size;
        Range->IsDynamic = Frame.IsDynamic;
        Information = ImageGetUnwindBytes(
            Unwind,
            FunctionLoadWord(Entry + PE_FUNCTION_UNWIND),
            1);
        Range->HasHandler = Information == NULL ||
                            (Information[0] & PE_UNWIND_HANDLER) != 0;
        Status = FunctionFindFunction(Exclude->Functions,
                                      ((ULONGLONG)Module << 32) | First,
                                      FALSE,
                                      &Range->Owner);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        *NumberOfRanges += 1;
        if (Size > *LargestInBytes) {
            *LargestInBytes = Size;
        }
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
FunctionFindHookSites(
    PREADER_EXCLUDE Exclude,
    ULONG Module
    )
{
    PREADER_SESSION Session = Exclude->Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_MODULE This = Session->Modules[Module];
    READER_HOOK_SCAN Scan;
    PREADER_HOOK_RANGE Ranges = NULL;
    PULONG Order = NULL;
    ULONG NumberOfRanges = 0;
    ULONG Largest;
    ULONG First;
    ULONG Index;
    NTSTATUS Status;

    Status = FunctionLoadModuleImage(Session, This);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlZeroBytes(&Scan, sizeof(Scan));
    Scan.Exclude = Exclude;
    Scan.Module = Module;
    Scan.Unwind = This->Symbols != NULL ? SymbolGetUnwind(This->Symbols)
                                        : NULL;
    if (Scan.Unwind == NULL || Scan.Unwind->NumberOfFunctions == 0) {
        return STATUS_NOT_FOUND;
    }

    Scan.IsNamed =
        SymbolGetSymbolSource(This->Symbols) >= ReaderSymbolSourcePdb &&
        SymbolGetSymbolSource(This->Symbols) <= ReaderSymbolSourceCoff;
    Status = FunctionGatherHookRanges(Exclude,
                                      Module,
                                      Scan.Unwind,
                                      &Ranges,
                                      &NumberOfRanges,
                                      &Largest);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Order = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)NumberOfRanges + 1) * sizeof(ULONG));
    Scan.Marks = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                             (SIZE_T)Largest + 1);
    if (Order == NULL || Scan.Marks == NULL) {
        Status = STATUS_NO_MEMORY;
        goto End;
    }

    for (Index = 0; Index < NumberOfRanges; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order, NumberOfRanges, FunctionCompareHookRanges, Ranges);
    First = 0;
    for (Index = 1; Index <= NumberOfRanges; Index++) {

        if (Index != NumberOfRanges &&
            Ranges[Order[Index]].Owner == Ranges[Order[First]].Owner) {
            continue;
        }

        Status = FunctionFindSitesOfFunction(&Scan,
                                             Ranges,
                                             Order + First,
                                             Index - First);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        First = Index;
    }

End:

    Allocator->Free(Allocator->Context, Scan.Labels);
    Allocator->Free(Allocator->Context, Scan.States);
    Allocator->Free(Allocator->Context, Scan.Marks);
    Allocator->Free(Allocator->Context, Order);
    Allocator->Free(Allocator->Context, Ranges);
    return Status;
}
