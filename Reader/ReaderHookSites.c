/*++

Module Name:

    ReaderHookSites.c

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

#include "ReaderExclude.h"
#include "ReaderDecode.h"

//
// How many addresses of functions one function may make, and how many jumps a
// linker may have put between a call and its hook.
//

#define READER_MAXIMUM_MADE     32
#define READER_MAXIMUM_THUNKS   2

//
// The pointers: how they are aligned, and how many there are.
//

#define READER_POINTERS_ALIGNMENT   64
#define READER_POINTERS             4

//
// Marks of a byte of code.
//

#define READER_MARK_START       1       // an instruction begins
#define READER_MARK_TARGET      2       // a jump arrives

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
} READER_HOOK_RANGE;
typedef READER_HOOK_RANGE *PREADER_HOOK_RANGE;

//
// What is known while the ranges of one function are looked at.  A mask has a
// bit for each address in Made.
//

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
    BOOLEAN IsNamed;                // the image says what moved parts are of
    BOOLEAN IsWhole;                // all that the function makes is seen
    BOOLEAN IsDamaged;              // it cannot be decoded
    ULONG Made[READER_MAXIMUM_MADE];
    ULONG Holds[16];                // masks: registers, at any time
    ULONG Pool;                     // memory and xmm registers
    ULONG Known[16];                // masks of one bit: at this place, 0 if
                                    // that is not known
    ULONG Argument;                 // mask: rcx at this place
} READER_HOOK_SCAN;
typedef READER_HOOK_SCAN *PREADER_HOOK_SCAN;

//
// What an instruction does with an address.
//

typedef struct _READER_MOVE {
    ULONG Target;                   // register, or READER_NONE: none, or memory
    ULONG Source;                   // register, or READER_NONE
    ULONG Mask;                     // of an address that it makes
    BOOLEAN IsMade;                 // what it gives does not depend on Source
    BOOLEAN IsFromPool;
    BOOLEAN IsToPool;
    BOOLEAN IsEither;               // or nothing happens, or both ways
} READER_MOVE;
typedef READER_MOVE *PREADER_MOVE;


static
ULONG
ReaderLoadWord(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
/*++

Routine Description:

    Reads a little-endian 32-bit number, whatever its alignment.

Arguments:

    Bytes - Its first byte.

Return Value:

    The number.

--*/
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}


static
ULONG
ReaderFindHookKind(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    )
/*++

Routine Description:

    Says whether a hook begins at some address, or a jump to one.

Arguments:

    Unwind - The image.

    Rva - The address.

Return Value:

    TRACE_KIND_*, or 0.

--*/
{
    const UCHAR *Bytes;
    ULONG Thunks;
    ULONG Slot;
    ULONG Index;
    ULONG Target;

    for (Thunks = 0; Thunks <= READER_MAXIMUM_THUNKS; Thunks++) {

        Bytes = ReaderGetUnwindBytes(Unwind, Rva, 6);
        if (Bytes == NULL) {
            return 0;
        }

        if (Bytes[0] == X64_JUMP) {
            Rva += X64_NEAR_SIZE + ReaderLoadWord(Bytes + 1);
            continue;
        }

        if (Bytes[0] != X64_INDIRECT || Bytes[1] != 0x25) {
            return 0;
        }

        Slot = Rva + 6 + ReaderLoadWord(Bytes + 2);
        Index = Slot % READER_POINTERS_ALIGNMENT;
        Slot -= Index;
        if (Index % sizeof(ULONGLONG) != 0 ||
            Index / sizeof(ULONGLONG) >= READER_POINTERS) {
            return 0;
        }

        for (Thunks = 0; Thunks < READER_POINTERS; Thunks++) {
            Target = ReaderReadSlot(Unwind,
                                    Slot + Thunks * sizeof(ULONGLONG));
            if (Target == 0 ||
                ReaderGetUnwindBytes(Unwind, Target, 1) == NULL) {
                return 0;
            }
        }

        return TRACE_KIND_ENTER + Index / sizeof(ULONGLONG);
    }

    return 0;
}


static
ULONG
ReaderFindMade(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ ULONG Rva,
    _In_ BOOLEAN IsAdding
    )
/*++

Routine Description:

    Finds a function's address among those that are made.

Arguments:

    Scan - The function that makes it.

    Rva - The address; it may be none of a function.

    IsAdding - Whether it is added if it is not there.

Return Value:

    Its mask, or 0.

--*/
{
    const UCHAR *Entry;
    ULONG Index;

    for (Index = 0; Index < Scan->NumberMade; Index++) {
        if (Scan->Made[Index] == Rva) {
            return 1u << Index;
        }
    }

    if (!IsAdding) {
        return 0;
    }

    if (ReaderFindHookKind(Scan->Unwind, Rva) != 0) {
        Scan->IsIndirect = TRUE;
        return 0;
    }

    Entry = ReaderFindUnwindEntry(Scan->Unwind, Rva);
    if (Entry == NULL || ReaderLoadWord(Entry + PE_FUNCTION_BEGIN) != Rva) {
        return 0;
    }

    if (Scan->NumberMade == READER_MAXIMUM_MADE) {
        Scan->IsTooMuch = TRUE;
        return 0;
    }

    Scan->Made[Scan->NumberMade] = Rva;
    Scan->NumberMade += 1;
    return 1u << (Scan->NumberMade - 1);
}


static
ULONG
ReaderFindMadeAddress(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ ULONGLONG Address,
    _In_ BOOLEAN IsAdding
    )
/*++

Routine Description:

    The same for an address as the image has it before it is loaded.

Arguments:

    Scan - The function that makes it.

    Address - The address.

    IsAdding - Whether it is added if it is not there.

Return Value:

    Its mask, or 0.

--*/
{
    Address -= Scan->Unwind->ImageBase;
    return Address < Scan->Unwind->SizeOfImage
               ? ReaderFindMade(Scan, (ULONG)Address, IsAdding)
               : 0;
}


static
VOID
ReaderReadMove(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ PCREADER_INSTRUCTION Instruction,
    _In_ ULONG Offset,
    _In_ BOOLEAN IsAdding,
    _Out_ PREADER_MOVE Move
    )
/*++

Routine Description:

    Says what an instruction does with addresses of functions, if it makes or
    moves one.

Arguments:

    Scan - The function.

    Instruction - The instruction.

    Offset - Where it is in the range.

    IsAdding - Whether addresses that are not known yet are added.

    Move - Receives it; Target and Source READER_NONE, and no pool: nothing.

Return Value:

    None.

--*/
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
                  ReaderLoadWord(Bytes + Instruction->DisplacementOffset);
    }

    if (Instruction->Table == READER_OPCODES_0F &&
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

    if (Instruction->Table == READER_OPCODES_0F &&
        (Opcode & 0xF0) == 0x40) {
        Opcode = 0x8B;
        Move->IsEither = TRUE;
    } else if (Instruction->Table != READER_OPCODES_PRIMARY) {
        return;
    }

    switch (Opcode) {

    case 0x8D:                          // lea
        if (IsRelative) {
            Move->Target = Register;
            Move->IsMade = TRUE;
            Move->Mask = ReaderFindMade(Scan, Address, IsAdding);
        }
        break;

    case 0x8B:                          // mov r, rm
        Move->Target = Register;
        if (IsRegister) {
            Move->Source = Other;
        } else {
            if (IsRelative) {
                Address = ReaderReadSlot(Scan->Unwind, Address);
                if (Address != 0) {
                    Move->Mask = ReaderFindMade(Scan, Address, IsAdding);
                }
            }
            Move->IsMade = Move->Mask != 0;
            Move->IsFromPool = !Move->IsMade;
        }
        break;

    case 0x89:                          // mov rm, r
        Move->Source = Register;
        if (IsRegister) {
            Move->Target = Other;
        } else {
            Move->IsToPool = TRUE;
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
            Move->Mask = ReaderFindMadeAddress(
                Scan,
                ReaderLoadWord(Bytes + Instruction->ImmediateOffset),
                IsAdding);
        }
        break;

    default:
        if ((Opcode & 0xF8) == 0xB8) {  // mov r, imm

            Value = 0;
            if (Instruction->ImmediateSize >= 4) {
                Value = ReaderLoadWord(Bytes + Instruction->ImmediateOffset);
            }
            if (Instruction->ImmediateSize == 8) {
                Value |= (ULONGLONG)ReaderLoadWord(
                             Bytes + Instruction->ImmediateOffset + 4)
                         << 32;
            }
            Move->Target = (Opcode & 7) | ((Instruction->Rex & 1u) << 3);
            Move->IsMade = TRUE;
            Move->Mask = ReaderFindMadeAddress(Scan, Value, IsAdding);

        } else if ((Opcode & 0xF8) == 0x90 &&
                   (Opcode != 0x90 || (Instruction->Rex & 1) != 0)) {

            Move->Target = (Opcode & 7) | ((Instruction->Rex & 1u) << 3);
            Move->Source = 0;           // xchg r, rax
            Move->IsEither = TRUE;
        }
        break;
    }
}


static
BOOLEAN
ReaderMayWriteRegister(
    _In_ PCREADER_INSTRUCTION Instruction,
    _In_ ULONG Number
    )
/*++

Routine Description:

    Says whether an instruction that moves no address may change a register.

Arguments:

    Instruction - The instruction.

    Number - The register.

Return Value:

    FALSE only if it does not.

--*/
{
    BOOLEAN IsRegister =
        Instruction->HasModRm &&
        (((Instruction->ModRm >> 3) & 7u) | ((Instruction->Rex & 4u) << 1)) ==
            Number;
    BOOLEAN IsOther =
        Instruction->HasModRm && Instruction->ModRm >> 6 == 3 &&
        ((Instruction->ModRm & 7u) | ((Instruction->Rex & 1u) << 3)) == Number;
    BOOLEAN IsEmbedded =
        ((Instruction->Opcode & 7u) | ((Instruction->Rex & 1u) << 3)) ==
        Number;
    ULONG Opcode = Instruction->Opcode;

    //
    // rax and rdx are what multiplications, cpuid and their like change.
    //

    if (Number == 0 || Number == 2) {
        return TRUE;
    }

    if (Instruction->Table == READER_OPCODES_0F38 ||
        Instruction->Table == READER_OPCODES_0F3A) {
        return (IsRegister || IsOther || Instruction->IsVector) &&
               (Opcode >= 0xF0 || (Opcode >= 0x14 && Opcode <= 0x17));
    }

    if (Instruction->Table == READER_OPCODES_0F) {

        if ((Opcode >= 0x10 && Opcode <= 0x2B) ||
            (Opcode >= 0x51 && Opcode <= 0x7D) || Opcode == 0x7F ||
            (Opcode >= 0x80 && Opcode <= 0x8F) ||
            (Opcode >= 0xD8 && Opcode <= 0xFE) || Opcode == 0x2E ||
            Opcode == 0x2F || Opcode == 0x0B || Opcode == 0x0D) {
            return FALSE;               // vectors, and what changes none
        }

        return IsRegister || IsOther || IsEmbedded ||
               !Instruction->HasModRm || Opcode <= 0x01;
    }

    if (Opcode < 0x40) {

        if (Opcode >= 0x38) {
            return FALSE;               // cmp
        }

        return (Opcode & 4) == 0 &&
               ((Opcode & 2) != 0 ? IsRegister : IsOther);
    }

    switch (Opcode) {

    case 0x80:
    case 0x81:
    case 0x83:
        return IsOther && ((Instruction->ModRm >> 3) & 7) != 7;

    case 0x84:                          // test
    case 0x85:
    case 0x90:                          // nop
    case X64_JUMP:
    case X64_JUMP_SHORT:
    case X64_RETURN:
    case 0xCC:
        return FALSE;

    case 0x88:
    case 0x89:
    case 0xC6:
    case 0xC7:
    case 0xFE:
    case 0xFF:
        return IsOther;

    default:
        if ((Opcode & 0xF8) == 0x50 ||  // push
            (Opcode & 0xF0) == 0x70) {  // jcc
            return FALSE;
        }

        if ((Opcode & 0xF8) == 0x58 || (Opcode & 0xF0) == 0xB0) {
            return IsEmbedded ||
                   (Opcode & 0xF8) == 0xB0;
        }

        if ((Opcode >= 0xD8 && Opcode <= 0xDF) ||
            (Opcode >= 0xA8 && Opcode <= 0xA9) || Opcode == 0x68 ||
            Opcode == 0x6A || Opcode == 0x98 || Opcode == 0x99) {
            return FALSE;
        }

        //
        // Strings and loops count in rcx, and strings move rsi and rdi.
        //

        return !Instruction->HasModRm || IsRegister || IsOther;
    }
}


static
BOOLEAN
ReaderMarkRange(
    _Inout_ PREADER_HOOK_SCAN Scan
    )
/*++

Routine Description:

    Decodes a range, and marks where instructions begin and jumps arrive.

Arguments:

    Scan - The range; receives the marks.

Return Value:

    FALSE if it is not all made of instructions.

--*/
{
    READER_INSTRUCTION Instruction;
    const UCHAR *Bytes = Scan->Bytes;
    ULONG Size = Scan->Range->SizeInBytes;
    ULONG Offset;
    ULONG Target;

    RtlZeroBytes(Scan->Marks, Size);
    for (Offset = 0; Offset < Size; Offset += Instruction.Length) {

        if (!ReaderDecodeInstruction(Bytes + Offset,
                                     Size - Offset,
                                     &Instruction)) {
            return FALSE;
        }

        Scan->Marks[Offset] |= READER_MARK_START;
        Target = Offset + Instruction.Length;
        if (Instruction.Table == READER_OPCODES_PRIMARY &&
            (Instruction.Opcode == X64_JUMP_SHORT ||
             (Instruction.Opcode & 0xF0) == 0x70 ||
             (Instruction.Opcode & 0xFC) == 0xE0)) {

            Target += (ULONG)(LONG)(signed char)
                          Bytes[Offset + Instruction.ImmediateOffset];

        } else if ((Instruction.Table == READER_OPCODES_PRIMARY &&
                    Instruction.Opcode == X64_JUMP) ||
                   (Instruction.Table == READER_OPCODES_0F &&
                    !Instruction.IsVector &&
                    (Instruction.Opcode & 0xF0) == 0x80)) {

            Target += ReaderLoadWord(Bytes + Offset +
                                     Instruction.ImmediateOffset);

        } else {

            if (Instruction.Table == READER_OPCODES_PRIMARY &&
                Instruction.Opcode == X64_INDIRECT &&
                ((Instruction.ModRm >> 3) & 7) == 4) {
                Scan->HasTable = TRUE;
            }
            continue;
        }

        if (Target < Size) {
            Scan->Marks[Target] |= READER_MARK_TARGET;
        }
    }

    for (Offset = 0; Offset < Size; Offset++) {
        if (Scan->Marks[Offset] == READER_MARK_TARGET) {
            return FALSE;
        }
    }

    return TRUE;
}


static
BOOLEAN
ReaderFollowMoves(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ BOOLEAN IsAdding
    )
/*++

Routine Description:

    Follows addresses through a range once.

Arguments:

    Scan - The range; receives who may hold them.

    IsAdding - Whether those that are made are only gathered.

Return Value:

    TRUE if something was added.

--*/
{
    READER_INSTRUCTION Instruction;
    READER_MOVE Move;
    BOOLEAN IsMore = FALSE;
    ULONG Size = Scan->Range->SizeInBytes;
    ULONG Offset;
    ULONG Mask;

    for (Offset = 0; Offset < Size; Offset += Instruction.Length) {

        if (!ReaderDecodeInstruction(Scan->Bytes + Offset,
                                     Size - Offset,
                                     &Instruction)) {
            break;
        }

        ReaderReadMove(Scan, &Instruction, Offset, IsAdding, &Move);
        if (IsAdding) {
            continue;
        }

        Mask = Move.Mask;
        if (Move.Source != READER_NONE) {
            Mask |= Scan->Holds[Move.Source];
        }

        if (Move.IsToPool && (Mask & ~Scan->Pool) != 0) {
            Scan->Pool |= Mask;
            IsMore = TRUE;
        }

        if (Move.IsFromPool) {
            Mask = Scan->Pool;
        }

        if (Move.Target != READER_NONE &&
            (Mask & ~Scan->Holds[Move.Target]) != 0) {
            Scan->Holds[Move.Target] |= Mask;
            IsMore = TRUE;
        }

        //
        // xchg, the other way.
        //

        if (Move.IsEither && Move.Target != READER_NONE &&
            Move.Source != READER_NONE &&
            (Scan->Holds[Move.Target] & ~Scan->Holds[Move.Source]) != 0 &&
            Instruction.Table == READER_OPCODES_PRIMARY) {
            Scan->Holds[Move.Source] |= Scan->Holds[Move.Target];
            IsMore = TRUE;
        }
    }

    return IsMore;
}


static
VOID
ReaderForgetRegisters(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ ULONG Registers
    )
/*++

Routine Description:

    Forgets what registers hold.

Arguments:

    Scan - What is known.

    Registers - A bit for each of them.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = 0; Index < RTL_NUMBER_OF(Scan->Known); Index++) {
        if ((Registers >> Index & 1) != 0) {
            Scan->Known[Index] = 0;
        }
    }

    if ((Registers >> X64_RCX & 1) != 0) {
        Scan->Argument = 0xFFFFFFFF;
    }
}


static
VOID
ReaderFollowInLine(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ PCREADER_INSTRUCTION Instruction,
    _In_ ULONG Offset
    )
/*++

Routine Description:

    Follows addresses through an instruction, in the order of the code.

Arguments:

    Scan - What is known before it; receives what is known behind it.

    Instruction - The instruction.

    Offset - Where it is in the range.

Return Value:

    None.

--*/
{
    READER_MOVE Move;
    ULONG Opcode = Instruction->Opcode;
    ULONG Index;
    ULONG Mask;

    if (Instruction->Table == READER_OPCODES_PRIMARY) {

        if (Opcode == X64_CALL ||
            (Opcode == X64_INDIRECT &&
             ((Instruction->ModRm >> 3) & 7) == 2)) {

            //
            // Behind a call that does not return there may be a place where an
            // exception arrives.
            //

            ReaderForgetRegisters(Scan,
                                  Scan->Range->HasHandler ? 0xFFFFu
                                                          : X64_VOLATILE);
            return;
        }

        if (Opcode == X64_JUMP || Opcode == X64_JUMP_SHORT ||
            Opcode == X64_RETURN ||
            (Opcode == X64_INDIRECT &&
             ((Instruction->ModRm >> 3) & 7) == 4)) {
            ReaderForgetRegisters(Scan, 0xFFFFu);
            return;
        }
    }

    ReaderReadMove(Scan, Instruction, Offset, FALSE, &Move);
    if (Move.Target == READER_NONE) {

        if (Move.IsToPool) {
            return;
        }

        for (Index = 0; Index < RTL_NUMBER_OF(Scan->Known); Index++) {
            if (ReaderMayWriteRegister(Instruction, Index)) {
                ReaderForgetRegisters(Scan, 1u << Index);
            }
        }
        return;
    }

    if (Move.IsEither && Move.Source != READER_NONE) {

        Mask = Scan->Holds[Move.Source] | Scan->Holds[Move.Target];
        ReaderForgetRegisters(Scan, (1u << Move.Source) | (1u << Move.Target));

    } else if (Move.IsEither) {

        Mask = Move.Mask | Scan->Holds[Move.Target] |
               (Move.IsFromPool ? Scan->Pool : 0);
        ReaderForgetRegisters(Scan, 1u << Move.Target);

    } else if (Move.Source != READER_NONE && !Move.IsFromPool) {

        //
        // A jump that nobody can tell the target of may arrive in between.
        //

        Mask = Scan->Holds[Move.Source];
        Scan->Known[Move.Target] = 0;
        if (Scan->Known[Move.Source] != 0 && !Scan->HasTable) {
            Mask = Scan->Known[Move.Source];
            Scan->Known[Move.Target] = Mask;
        }

    } else {

        Mask = Move.IsMade ? Move.Mask : Scan->Pool;
        Scan->Known[Move.Target] = Move.IsMade ? Move.Mask : 0;
    }

    if (Move.Target == X64_RCX) {
        Scan->Argument = Mask != 0 ? Mask : 0xFFFFFFFF;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderAddHookSite(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ ULONG Rva,
    _In_ ULONG Kind,
    _In_ ULONG Form
    )
/*++

Routine Description:

    Adds a place.

Arguments:

    Scan - The function around, and what is known at the place.

    Rva - The place.

    Kind - The hook's kind.

    Form - How it is called.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_EXCLUDE Exclude = Scan->Exclude;
    PCALLOCATOR Allocator = Exclude->Functions->Session->Context->Allocator;
    ULONGLONG Module = (ULONGLONG)Scan->Module << 32;
    PREADER_HOOK_SITE Site;
    ULONG Mask = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Exclude->Sites,
                             &Exclude->CapacityOfSites,
                             Exclude->NumberOfSites + 1,
                             sizeof(READER_HOOK_SITE));
    if (NT_SUCCESS(Status)) {
        Status = ReaderGrowArray(Allocator,
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

        Status = ReaderFindFunction(
            Exclude->Functions,
            Module | (Form == ReaderHookFormJump ? Rva : Rva + X64_NEAR_SIZE),
            &Exclude->List[Exclude->NumberInList]);
        Exclude->NumberInList += NT_SUCCESS(Status);

    } else {

        if (Scan->IsDamaged || Scan->IsIndirect || Scan->IsTooMuch) {
            Mask = 0xFFFFFFFF;
        } else if (Scan->Known[X64_RCX] != 0) {
            Mask = Scan->Known[X64_RCX];
        } else {
            Mask = Scan->Argument;
            if (!Scan->IsWhole) {
                Site->Form = ReaderHookFormOther;
                Exclude->NumberUnknown += 1;
            }
        }

        if (Scan->NumberMade == 0) {
            Site->Form = ReaderHookFormOther;
            Exclude->NumberUnknown += 1;
        }

        for (Index = 0;
             Index < Scan->NumberMade && NT_SUCCESS(Status);
             Index++) {

            if ((Mask >> Index & 1) != 0) {
                Status = ReaderFindFunction(
                    Exclude->Functions,
                    Module | Scan->Made[Index],
                    &Exclude->List[Exclude->NumberInList]);
                Exclude->NumberInList += NT_SUCCESS(Status);
            }
        }
    }

    Site->NumberOfFunctions = Exclude->NumberInList - Site->FirstFunction;
    Exclude->NumberOfSites += NT_SUCCESS(Status);
    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindSitesInRange(
    _Inout_ PREADER_HOOK_SCAN Scan
    )
/*++

Routine Description:

    Adds the places of a range.

Arguments:

    Scan - The range, and what is known of the whole function.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    READER_INSTRUCTION Instruction;
    BOOLEAN IsOther = Scan->IsDamaged || Scan->IsIndirect || Scan->IsTooMuch;
    ULONG Size = Scan->Range->SizeInBytes;
    ULONG Offset;
    ULONG Target;
    ULONG Kind;
    ULONG Form;
    NTSTATUS Status;

    ReaderForgetRegisters(Scan, 0xFFFFu);
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
        } else if (!ReaderDecodeInstruction(Scan->Bytes + Offset,
                                            Size - Offset,
                                            &Instruction)) {
            break;
        } else if ((Scan->Marks[Offset] & READER_MARK_TARGET) != 0) {
            ReaderForgetRegisters(Scan, 0xFFFFu);
        }

        Form = READER_NONE;
        if (Instruction.Table == READER_OPCODES_PRIMARY) {
            if (Instruction.Opcode == X64_CALL) {
                Form = ReaderHookFormCall;
            } else if (Instruction.Opcode == X64_JUMP) {
                Form = ReaderHookFormJump;
            }
        } else if (Instruction.Table == READER_OPCODES_0F &&
                   !Instruction.IsVector &&
                   (Instruction.Opcode & 0xF0) == 0x80) {
            Form = ReaderHookFormOther;
        }

        if (Form != READER_NONE) {

            Target = Scan->Range->Rva + Offset +
                     ReaderLoadWord(Scan->Bytes + Offset +
                                    Instruction.ImmediateOffset) +
                     (Scan->IsDamaged ? X64_NEAR_SIZE : Instruction.Length);
            Kind = ReaderFindHookKind(Scan->Unwind, Target);

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

                Status = ReaderAddHookSite(Scan,
                                           Scan->Range->Rva + Offset,
                                           Kind,
                                           Form);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }

        if (!Scan->IsDamaged) {
            ReaderFollowInLine(Scan, &Instruction, Offset);
        }
    }

    return STATUS_SUCCESS;
}


static
BOOLEAN
ReaderHasHookCall(
    _In_ PCREADER_UNWIND Unwind,
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG Rva,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Says whether a range may call a hook.

Arguments:

    Unwind - The image.

    Bytes, Rva, SizeInBytes - The range.

Return Value:

    FALSE only if it does not.

--*/
{
    ULONG Offset;

    for (Offset = 0; Offset + X64_NEAR_SIZE <= SizeInBytes; Offset++) {

        //
        // A jump under a condition ends with the same four bytes.
        //

        if ((Bytes[Offset] == X64_CALL || Bytes[Offset] == X64_JUMP ||
             (Bytes[Offset] & 0xF0) == 0x80) &&
            ReaderFindHookKind(Unwind,
                               Rva + Offset + X64_NEAR_SIZE +
                                   ReaderLoadWord(Bytes + Offset + 1)) != 0) {
            return TRUE;
        }
    }

    return FALSE;
}


static
LONG
ReaderCompareHookRanges(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders ranges by function, then by address.

Arguments:

    CompareContext - The ranges.

    First, Second - Two of them.

Return Value:

    Negative, zero or positive.

--*/
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


static
VOID
ReaderPointScan(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ const READER_HOOK_RANGE *Range
    )
/*++

Routine Description:

    Goes on to a range.

Arguments:

    Scan - Receives it.

    Range - The range, whose bytes are there.

Return Value:

    None.

--*/
{
    Scan->Range = Range;
    Scan->Bytes = ReaderGetUnwindBytes(Scan->Unwind,
                                       Range->Rva,
                                       Range->SizeInBytes);
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindSitesOfFunction(
    _Inout_ PREADER_HOOK_SCAN Scan,
    _In_ const READER_HOOK_RANGE *Ranges,
    _In_reads_(Count) const ULONG *Order,
    _In_ ULONG Count
    )
/*++

Routine Description:

    Adds the places of a function's ranges.

Arguments:

    Scan - The image; room for the marks of any range.

    Ranges - The ranges.

    Order, Count - Those of the function.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    BOOLEAN IsMore;
    ULONG Index;
    ULONG Made;
    NTSTATUS Status = STATUS_SUCCESS;

    Scan->NumberMade = 0;
    Scan->IsTooMuch = FALSE;
    Scan->IsIndirect = FALSE;
    Scan->HasTable = FALSE;
    Scan->IsDamaged = FALSE;
    Scan->Pool = 0;
    RtlZeroBytes(Scan->Holds, sizeof(Scan->Holds));

    for (Index = 0; Index < Count; Index++) {
        ReaderPointScan(Scan, &Ranges[Order[Index]]);
        if (!ReaderMarkRange(Scan)) {
            Scan->IsDamaged = TRUE;
        }
        (VOID)ReaderFollowMoves(Scan, TRUE);
    }

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

    do {
        IsMore = FALSE;
        for (Index = 0; Index < Count; Index++) {
            ReaderPointScan(Scan, &Ranges[Order[Index]]);
            if (ReaderFollowMoves(Scan, FALSE)) {
                IsMore = TRUE;
            }
        }
    } while (IsMore);

    for (Index = 0; Index < Count && NT_SUCCESS(Status); Index++) {
        ReaderPointScan(Scan, &Ranges[Order[Index]]);
        (VOID)ReaderMarkRange(Scan);
        Status = ReaderFindSitesInRange(Scan);
    }

    return Status;
}


_Must_inspect_result_
static
NTSTATUS
ReaderGatherHookRanges(
    _In_ PREADER_EXCLUDE Exclude,
    _In_ ULONG Module,
    _In_ PCREADER_UNWIND Unwind,
    _Inout_ PREADER_HOOK_RANGE *Ranges,
    _Out_ PULONG NumberOfRanges,
    _Out_ PULONG LargestInBytes
    )
/*++

Routine Description:

    Gathers the ranges of code that may call hooks.

Arguments:

    Exclude - The functions.

    Module - The module's index.

    Unwind - Its image.

    Ranges, NumberOfRanges - Receive them, allocated.

    LargestInBytes - Receives the size of the largest.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
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
        Rva = ReaderLoadWord(Entry + PE_FUNCTION_BEGIN);
        Size = ReaderLoadWord(Entry + PE_FUNCTION_END) - Rva;

        //
        // Linkers sort them; in a damaged image they might overlap, and take
        // for ever.
        //

        Bytes = ReaderGetUnwindBytes(Unwind, Rva, Size);
        if (Bytes == NULL || Rva < Before) {
            continue;
        }

        Before = Rva + Size;
        if (!ReaderHasHookCall(Unwind, Bytes, Rva, Size)) {
            continue;
        }

        First = Rva;
        if (ReaderFindUnwindFrame(Unwind, Rva + 1, &Frame)) {
            First = Frame.FunctionRva;
        }

        Status = ReaderGrowArray(
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
        Information = ReaderGetUnwindBytes(
            Unwind,
            ReaderLoadWord(Entry + PE_FUNCTION_UNWIND),
            1);
        Range->HasHandler = Information == NULL ||
                            (Information[0] & PE_UNWIND_HANDLER) != 0;
        Status = ReaderFindFunction(Exclude->Functions,
                                    ((ULONGLONG)Module << 32) | First,
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
ReaderFindHookSites(
    PREADER_EXCLUDE Exclude,
    ULONG Module
    )
/*++

Routine Description:

    Finds the places where a module calls hooks.

Arguments:

    Exclude - Receives them.

    Module - The module's index.

Return Value:

    STATUS_SUCCESS, STATUS_NOT_FOUND or STATUS_NO_MEMORY.

--*/
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

    Status = ReaderLoadModuleImage(Session, This);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlZeroBytes(&Scan, sizeof(Scan));
    Scan.Exclude = Exclude;
    Scan.Module = Module;
    Scan.Unwind = This->Symbols != NULL ? ReaderGetUnwind(This->Symbols)
                                        : NULL;
    if (Scan.Unwind == NULL || Scan.Unwind->NumberOfFunctions == 0) {
        return STATUS_NOT_FOUND;
    }

    Scan.IsNamed =
        ReaderGetSymbolSource(This->Symbols) >= ReaderSymbolSourcePdb &&
        ReaderGetSymbolSource(This->Symbols) <= ReaderSymbolSourceCoff;
    Status = ReaderGatherHookRanges(Exclude,
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

    ReaderSort(Order, NumberOfRanges, ReaderCompareHookRanges, Ranges);
    First = 0;
    for (Index = 1; Index <= NumberOfRanges; Index++) {

        if (Index != NumberOfRanges &&
            Ranges[Order[Index]].Owner == Ranges[Order[First]].Owner) {
            continue;
        }

        Status = ReaderFindSitesOfFunction(&Scan,
                                           Ranges,
                                           Order + First,
                                           Index - First);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        First = Index;
    }

End:

    Allocator->Free(Allocator->Context, Scan.Marks);
    Allocator->Free(Allocator->Context, Order);
    Allocator->Free(Allocator->Context, Ranges);
    return Status;
}
