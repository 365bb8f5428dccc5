/*++

Module Name:

    RtlDecode.c

Abstract:

    The lengths of x64 instructions, by the opcode maps of the processors'
    manuals, and where instructions begin in a function.

--*/

#include "Rtl.h"
#include "RtlDecode.h"

//
// An instruction has at most so many bytes.
//

#define X64_MAXIMUM_LENGTH 15

#define X64_JUMP                0xE9
#define X64_JUMP_SHORT          0xEB
#define X64_INDIRECT            0xFF

//
// What follows an opcode:
//
//     .  it is none       p  nothing          m  ModRM
//     b  one byte         B  ModRM, one byte
//     z  two or four bytes, by the operand's size
//     M  ModRM and those
//     i  the same, or eight bytes
//     r  four bytes, a jump's distance        w  two bytes
//     e  three bytes (enter)                  o  an address
//     t  ModRM, one byte if it is a test
//     T  ModRM, two or four bytes likewise
//

static const char RtlpPrimaryOpcodes[] =
    "mmmmbz..mmmmbz.."
    "mmmmbz..mmmmbz.."
    "mmmmbz..mmmmbz.."
    "mmmmbz..mmmmbz.."
    "................"
    "pppppppppppppppp"
    "...m....zMbBpppp"
    "bbbbbbbbbbbbbbbb"
    "BM.Bmmmmmmmmmmmm"
    "pppppppppp.ppppp"
    "ooooppppbzpppppp"
    "bbbbbbbbiiiiiiii"
    "BBwp..BMepwppb.p"
    "mmmm...pmmmmmmmm"
    "bbbbbbbbrr.bpppp"
    ".p..pptTppppppmm";

static const char RtlpSecondaryOpcodes[] =
    "mmmm.ppppp.p.mpB"
    "mmmmmmmmmmmmmmmm"
    "mmmm....mmmmmmmm"
    "pppppp.p........"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "BBBBmmmpmm..mmmm"
    "rrrrrrrrrrrrrrrr"
    "mmmmmmmmmmmmmmmm"
    "pppmBm..pppmBmmm"
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBmpppppppp"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm";

C_ASSERT(sizeof(RtlpPrimaryOpcodes) == 257);
C_ASSERT(sizeof(RtlpSecondaryOpcodes) == 257);

//
// Passes over an instruction's prefixes.
// Bytes, SizeInBytes: the code.
// Instruction: what they say.
// HasAddressSize: whether 67 is among them.
// Returns their size in bytes.
//

static
ULONG
RtlpMeasurePrefixes(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _Inout_ PRTL_INSTRUCTION Instruction,
    _Out_ PBOOLEAN HasAddressSize
    )
{
    ULONG At;

    *HasAddressSize = FALSE;
    for (At = 0; At < SizeInBytes; At++) {

        switch (Bytes[At]) {

        case 0x66:
            Instruction->HasOperandSize = TRUE;
            break;

        case 0x67:
            *HasAddressSize = TRUE;
            break;

        case 0x26:                  // segments, repetition and lock
        case 0x2E:
        case 0x36:
        case 0x3E:
        case 0x64:
        case 0x65:
        case 0xF0:
        case 0xF2:
        case 0xF3:
            break;

        default:

            //
            // REX comes last.
            //

            if ((Bytes[At] & 0xF0) == 0x40) {
                Instruction->Rex = Bytes[At];
                At += 1;
            }

            return At;
        }
    }

    return At;
}

//
// Reads what VEX and EVEX have in front of the opcode.
// Bytes, SizeInBytes: the code, from C4, C5 or 62 on.
// Instruction: the opcode's table and the bits of REX.
// Returns the size of the prefix, or 0 if it is none.
//

static
ULONG
RtlpMeasureVectorPrefix(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _Inout_ PRTL_INSTRUCTION Instruction
    )
{
    ULONG Size = Bytes[0] == 0xC5 ? 2 : Bytes[0] == 0xC4 ? 3 : 4;
    ULONG Table;

    if (SizeInBytes < Size) {
        return 0;
    }

    Instruction->IsVector = TRUE;
    Instruction->Rex = (UCHAR)(0x40 | ((~Bytes[1] >> 5) & 4));
    if (Size == 2) {
        Instruction->Table = RTL_OPCODES_0F;
        return Size;
    }

    //
    // R, X and B are stored inverted.  Tables 5 and 6 are those of 16-bit
    // floating point numbers, which have no immediate bytes, as table 2.
    //

    Instruction->Rex = (UCHAR)(0x40 | ((~Bytes[1] >> 5) & 7) |
                               ((Bytes[2] >> 4) & 8));
    Table = Bytes[1] & (Size == 3 ? 0x1F : 7);
    if (Size == 4 && (Table == 5 || Table == 6)) {
        Table = RTL_OPCODES_0F38;
    }

    Instruction->Table = (UCHAR)Table;
    return Table >= RTL_OPCODES_0F && Table <= RTL_OPCODES_0F3A ? Size
                                                                      : 0;
}

//
// Reads the opcode, and VEX or EVEX before it.
// Bytes, SizeInBytes: the code.
// At: where the prefixes end.
// Instruction: the opcode and its table.
// Result: where what follows it begins, or 0 if there is no opcode.
//

static
ULONG
RtlpMeasureOpcode(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _In_ ULONG At,
    _Inout_ PRTL_INSTRUCTION Instruction
    )
{
    ULONG Size;

    if (At >= SizeInBytes) {
        return 0;
    }

    if (Bytes[At] == 0xC4 || Bytes[At] == 0xC5 || Bytes[At] == 0x62) {

        Size = RtlpMeasureVectorPrefix(Bytes + At,
                                         SizeInBytes - At,
                                         Instruction);
        if (Size == 0) {
            return 0;
        }

        At += Size;

    } else if (Bytes[At] == 0x0F) {

        At += 1;
        Instruction->Table = RTL_OPCODES_0F;
        if (At < SizeInBytes && (Bytes[At] == 0x38 || Bytes[At] == 0x3A)) {
            Instruction->Table = Bytes[At] == 0x38 ? RTL_OPCODES_0F38
                                                   : RTL_OPCODES_0F3A;
            At += 1;
        }
    }

    if (At >= SizeInBytes) {
        return 0;
    }

    Instruction->Opcode = Bytes[At];
    return At + 1;
}

//
// Reads ModRM and what belongs to it.
// Bytes, SizeInBytes: the code.
// At: where it is.
// Instruction: it and the displacement's place.
// Result: where it ends, or 0 if it is cut off.
//

static
ULONG
RtlpMeasureModRm(
    _In_reads_bytes_(SizeInBytes) const UCHAR *Bytes,
    _In_ ULONG SizeInBytes,
    _In_ ULONG At,
    _Inout_ PRTL_INSTRUCTION Instruction
    )
{
    ULONG Mode;
    ULONG Base;
    ULONG Size = 0;

    if (At >= SizeInBytes) {
        return 0;
    }

    Instruction->HasModRm = TRUE;
    Instruction->ModRm = Bytes[At];
    Mode = Bytes[At] >> 6;
    Base = Bytes[At] & 7;
    At += 1;
    if (Mode == 3) {
        return At;
    }

    if (Base == 4) {

        if (At >= SizeInBytes) {
            return 0;
        }

        Base = Bytes[At] & 7;
        At += 1;
    }

    if (Mode == 2 || (Mode == 0 && Base == 5)) {
        Size = 4;
    } else if (Mode == 1) {
        Size = 1;
    }

    if (Size != 0) {
        Instruction->DisplacementOffset = (UCHAR)At;
        Instruction->DisplacementSize = (UCHAR)Size;
    }

    return At + Size;
}

_Use_decl_annotations_
BOOLEAN
RtlDecodeInstruction(
    const UCHAR *Bytes,
    ULONG SizeInBytes,
    PRTL_INSTRUCTION Instruction
    )
/*++

Routine Description:

    Measures an instruction.

Arguments:

    Bytes, SizeInBytes - Supply the code.

    Instruction - Receives its parts.

Return Value:

    FALSE if there is none.

--*/
{
    static const RTL_INSTRUCTION EmptyInstruction = { 0 };
    BOOLEAN HasAddressSize;
    CHAR Form;
    ULONG At;
    ULONG Size = 0;
    ULONG Wide;

    *Instruction = EmptyInstruction;
    if (SizeInBytes > X64_MAXIMUM_LENGTH) {
        SizeInBytes = X64_MAXIMUM_LENGTH;
    }

    At = RtlpMeasurePrefixes(Bytes,
                               SizeInBytes,
                               Instruction,
                               &HasAddressSize);
    At = RtlpMeasureOpcode(Bytes, SizeInBytes, At, Instruction);
    if (At == 0) {
        return FALSE;
    }

    switch (Instruction->Table) {

    case RTL_OPCODES_PRIMARY:
        Form = RtlpPrimaryOpcodes[Instruction->Opcode];
        break;

    case RTL_OPCODES_0F:
        Form = RtlpSecondaryOpcodes[Instruction->Opcode];
        break;

    case RTL_OPCODES_0F38:
        Form = 'm';
        break;

    default:
        Form = 'B';
        break;
    }

    if (Form == 'm' || Form == 'B' || Form == 'M' ||
        Form == 't' || Form == 'T') {

        At = RtlpMeasureModRm(Bytes, SizeInBytes, At, Instruction);
        if (At == 0) {
            return FALSE;
        }
    }

    Wide = Instruction->HasOperandSize && (Instruction->Rex & 8) == 0 ? 2 : 4;
    switch (Form) {

    case 'p':
    case 'm':

        //
        // What looks like a pop of another kind is an instruction that only
        // some processors have had.
        //

        if (Instruction->Table == RTL_OPCODES_PRIMARY &&
            Instruction->Opcode == 0x8F &&
            (Instruction->ModRm & 0x38) != 0) {
            return FALSE;
        }
        break;

    case 'b':
    case 'B':
        Size = 1;
        break;

    case 'z':
    case 'M':
        Size = Wide;
        break;

    case 'i':
        Size = (Instruction->Rex & 8) != 0 ? 8 : Wide;
        break;

    case 'r':

        //
        // Processors do not agree on what an operand's size means here.
        //

        if (Instruction->HasOperandSize || Instruction->IsVector) {
            return FALSE;
        }

        Size = 4;
        break;

    case 'w':
        Size = 2;
        break;

    case 'e':
        Size = 3;
        break;

    case 'o':
        Size = HasAddressSize ? 4 : 8;
        break;

    case 't':
        Size = (Instruction->ModRm & 0x30) == 0 ? 1 : 0;
        break;

    case 'T':
        Size = (Instruction->ModRm & 0x30) == 0 ? Wide : 0;
        break;

    default:
        return FALSE;
    }

    if (Size != 0) {
        Instruction->ImmediateOffset = (UCHAR)At;
        Instruction->ImmediateSize = (UCHAR)Size;
    }

    if (Size > SizeInBytes || At > SizeInBytes - Size) {
        return FALSE;
    }

    Instruction->Length = (UCHAR)(At + Size);
    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
RtlFindJump(
    PCRTL_INSTRUCTION Instruction,
    const UCHAR *Bytes,
    ULONG Address,
    PULONG Target
    )
{
    const UCHAR *Distance;

    *Target = Address + Instruction->Length;
    Distance = Bytes + Instruction->ImmediateOffset;
    if (Instruction->Table == RTL_OPCODES_PRIMARY &&
        (Instruction->Opcode == X64_JUMP_SHORT ||
         (Instruction->Opcode & 0xF0) == 0x70 ||
         (Instruction->Opcode & 0xFC) == 0xE0)) {

        *Target += (ULONG)(LONG)(signed char)Distance[0];
        return TRUE;
    }

    if ((Instruction->Table == RTL_OPCODES_PRIMARY &&
         Instruction->Opcode == X64_JUMP) ||
        (Instruction->Table == RTL_OPCODES_0F &&
         !Instruction->IsVector &&
         (Instruction->Opcode & 0xF0) == 0x80)) {

        *Target += (ULONG)Distance[0] | ((ULONG)Distance[1] << 8) |
                   ((ULONG)Distance[2] << 16) | ((ULONG)Distance[3] << 24);
        return TRUE;
    }

    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
RtlMarkInstructions(
    const UCHAR *Bytes,
    ULONG SizeInBytes,
    PUCHAR Marks,
    PBOOLEAN HasIndirectJump
    )
{
    RTL_INSTRUCTION Instruction;
    ULONG Offset;
    ULONG Target;

    *HasIndirectJump = FALSE;
    RtlZeroBytes(Marks, SizeInBytes);
    for (Offset = 0; Offset < SizeInBytes; Offset += Instruction.Length) {

        if (!RtlDecodeInstruction(Bytes + Offset,
                                  SizeInBytes - Offset,
                                  &Instruction)) {
            return FALSE;
        }

        Marks[Offset] |= RTL_MARK_START;
        if (!RtlFindJump(&Instruction, Bytes + Offset, Offset, &Target)) {

            if (Instruction.Table == RTL_OPCODES_PRIMARY &&
                Instruction.Opcode == X64_INDIRECT &&
                ((Instruction.ModRm >> 3) & 7) == 4) {
                *HasIndirectJump = TRUE;
            }
            continue;
        }

        if (Target < SizeInBytes) {
            Marks[Target] |= RTL_MARK_TARGET;
        }
    }

    for (Offset = 0; Offset < SizeInBytes; Offset += 1) {
        if (Marks[Offset] == RTL_MARK_TARGET) {
            return FALSE;
        }
    }

    return TRUE;
}
