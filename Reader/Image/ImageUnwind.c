/*++

Module Name:

    ImageUnwind.c

Abstract:

    What an image says of the places that hooks are called from.
    ImageUnwind.h says what the routines promise; the layouts are those of
    Microsoft's "x64 exception handling" and "PE Format" pages.

--*/

#include "../../Rtl/RtlDecode.h"
#include "ImageInstruction.h"
#include "ImageUnwind.h"

//
// How far from a call its argument is looked for, and the largest function
// that is searched for calls; both in bytes.
//

#define READER_MAXIMUM_ARGUMENT         256
#define READER_MAXIMUM_SEARCHED         0x40000

//
// Marks, beside those of RtlMarkInstructions: only prefixes are between the
// start of an instruction and this byte.
//

#define READER_MARK_OPCODE              4

typedef struct _READER_CODE {
    const UCHAR *Bytes;
    PUCHAR Marks;                   // by byte; NULL: an instruction may begin
                                    // at any
    ULONG Rva;
    ULONG SizeInBytes;
    ULONG PrologueSize;             // bytes
} READER_CODE;
typedef READER_CODE *PREADER_CODE;
typedef const READER_CODE *PCREADER_CODE;

//
// Where a function may have the address of another one: in registers, one bit
// for each; in its stack frame.
//

typedef struct _READER_HOLDERS {
    ULONG Address;
    ULONG Registers;
    BOOLEAN IsSpilled;
} READER_HOLDERS;
typedef READER_HOLDERS *PREADER_HOLDERS;
typedef const READER_HOLDERS *PCREADER_HOLDERS;

//
// Whether a call hands on an address as its first argument.
//

typedef enum _READER_ARGUMENT {
    ReaderArgumentOther = 0,        // certainly not
    ReaderArgumentUnknown,          // nothing was seen that makes it
    ReaderArgumentIt                // it is made, or may be
} READER_ARGUMENT;

//
// Finds the code of the function that an address is in.
// Unwind: the image.
// Returns FALSE if it is not there.
//

static
BOOLEAN
ImageGetCode(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _Out_ PREADER_CODE Code
    )
{
    const UCHAR *Entry = ImageFindUnwindEntry(Unwind, Rva);
    const UCHAR *Information;

    if (Entry == NULL) {
        return FALSE;
    }

    Code->Rva = ImageLoadUlong(Entry + PE_FUNCTION_BEGIN);
    Code->SizeInBytes = ImageLoadUlong(Entry + PE_FUNCTION_END) - Code->Rva;
    Code->Bytes = ImageGetUnwindBytes(Unwind, Code->Rva, Code->SizeInBytes);

    Information = ImageGetUnwindBytes(
        Unwind,
        ImageLoadUlong(Entry + PE_FUNCTION_UNWIND),
        PE_UNWIND_HEADER_SIZE);
    Code->PrologueSize = Information != NULL ? Information[1] : 0;
    Code->Marks = NULL;
    return (BOOLEAN)(Code->Bytes != NULL);
}

//
// Finds where a function's instructions begin. Code that is not decoded to its
// last byte, or for whose marks there is no memory, has none: then every byte
// is taken for the start of an instruction, so that none is missed, and a
// constant or a distance may look like one.
//
// Unwind: the image.
// Code: the function's code; receives the marks, which the caller frees by
// ImageFreeMarks.
//

static
VOID
ImageMarkCode(
    _In_ PCREADER_UNWIND Unwind,
    _Inout_ PREADER_CODE Code
    )
{
    PCALLOCATOR Allocator = Unwind->Allocator;
    BOOLEAN HasIndirectJump;
    ULONG Offset;
    UCHAR Byte;

    Code->Marks = (PUCHAR)Allocator->Allocate(Allocator->Context,
                                              (SIZE_T)Code->SizeInBytes + 1);
    if (Code->Marks == NULL) {
        return;
    }

    if (!RtlMarkInstructions(Code->Bytes,
                             Code->SizeInBytes,
                             Code->Marks,
                             &HasIndirectJump)) {
        Allocator->Free(Allocator->Context, Code->Marks);
        Code->Marks = NULL;
        return;
    }

    for (Offset = 0; Offset + 1 < Code->SizeInBytes; Offset++) {

        Byte = Code->Bytes[Offset];
        if (Code->Marks[Offset] != 0 &&
            ((Byte & 0xF0) == X64_REX ||
             (Byte & 0xE7) == X64_SEGMENT ||
             (Byte & 0xFC) == X64_SEGMENT_FS ||
             Byte == X64_REPEAT || Byte == X64_REPEAT_NOT)) {
            Code->Marks[Offset + 1] |= READER_MARK_OPCODE;
        }
    }
}

//
// Unwind: the image.
// Code: the code, which has no marks afterwards.
//

static
VOID
ImageFreeMarks(
    _In_ PCREADER_UNWIND Unwind,
    _Inout_ PREADER_CODE Code
    )
{
    Unwind->Allocator->Free(Unwind->Allocator->Context, Code->Marks);
    Code->Marks = NULL;
}

//
// Says whether an instruction may begin at some place, or its opcode behind
// prefixes.
//

static
BOOLEAN
ImageMayBegin(
    _In_ PCREADER_CODE Code,
    _In_ ULONG Offset
    )
{
    return (BOOLEAN)(Code->Marks == NULL || Code->Marks[Offset] != 0);
}

_Use_decl_annotations_
BOOLEAN
ImageSavesChain(
    PCREADER_UNWIND Unwind,
    ULONG FunctionRva,
    ULONG Rva
    )
{
    const UCHAR *Bytes;
    ULONG Size;

    for (Size = 2 + X64_NEAR_SIZE; Size <= 2 + X64_INDIRECT_SIZE; Size++) {

        if (Rva < Size || Rva - Size < FunctionRva) {
            continue;
        }

        Bytes = ImageGetUnwindBytes(Unwind, Rva - Size, Size + 2);
        if (Bytes != NULL &&
            Bytes[0] == X64_REX_B && Bytes[1] == X64_PUSH_R10 &&
            Bytes[Size] == X64_REX_B && Bytes[Size + 1] == X64_POP_R10 &&
            (Size == 2 + X64_NEAR_SIZE
                 ? Bytes[2] == X64_CALL_NEAR
                 : Bytes[2] == X64_INDIRECT &&
                       Bytes[3] == X64_CALL_INDIRECT)) {
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
BOOLEAN
ImageFindJumpTarget(
    PCREADER_UNWIND Unwind,
    ULONG Rva,
    PULONG Target
    )
{
    READER_CODE Code;
    ULONG Offset;

    if (!ImageGetCode(Unwind, Rva, &Code)) {
        return FALSE;
    }

    Offset = Rva - Code.Rva;
    if (Code.Bytes[Offset] == X64_JUMP_NEAR &&
        Code.SizeInBytes - Offset >= X64_NEAR_SIZE) {
        *Target = Rva + X64_NEAR_SIZE +
                  ImageLoadUlong(Code.Bytes + Offset + 1);
    } else if (Code.Bytes[Offset] == X64_JUMP_SHORT &&
               Code.SizeInBytes - Offset >= 2) {
        *Target = Rva + 2 + (ULONG)(LONG)(signed char)Code.Bytes[Offset + 1];
    } else {
        return FALSE;
    }

    return (BOOLEAN)(*Target - Code.Rva >= Code.SizeInBytes ||
                     *Target == Code.Rva);
}

_Use_decl_annotations_
BOOLEAN
ImageMayJumpOut(
    PCREADER_UNWIND Unwind,
    ULONG Rva
    )
{
    READER_CODE Code;
    BOOLEAN MayJump = FALSE;
    ULONG Offset;
    ULONG Target;

    if (!ImageGetCode(Unwind, Rva, &Code) || Code.Rva != Rva) {
        return TRUE;
    }

    ImageMarkCode(Unwind, &Code);
    for (Offset = 0; Offset + 2 <= Code.SizeInBytes && !MayJump; Offset++) {

        if (!ImageMayBegin(&Code, Offset)) {
            continue;
        }

        //
        // Through a register or a table only a switch jumps.
        //

        if (Code.Bytes[Offset] == X64_INDIRECT &&
            Code.Bytes[Offset + 1] == X64_JUMP_INDIRECT &&
            Code.SizeInBytes - Offset >= X64_INDIRECT_SIZE) {

            Target = Rva + Offset + X64_INDIRECT_SIZE +
                     ImageLoadUlong(Code.Bytes + Offset + 2);
            if (Target < Unwind->SizeOfImage &&
                Target - Rva >= Code.SizeInBytes &&
                (Target & 7) == 0) {
                MayJump = TRUE;
            }
        }

        if (Code.Bytes[Offset] == X64_JUMP_NEAR &&
            Code.SizeInBytes - Offset >= X64_NEAR_SIZE) {

            Target = Rva + Offset + X64_NEAR_SIZE +
                     ImageLoadUlong(Code.Bytes + Offset + 1);
            if (Target - Rva >= Code.SizeInBytes &&
                ImageGetUnwindBytes(Unwind, Target, 1) != NULL) {
                MayJump = TRUE;
            }
        }
    }

    ImageFreeMarks(Unwind, &Code);
    return MayJump;
}

//
// Finds the first place where a function's address is made (lea, as a rule) or
// loaded: where the distance to it, or to a variable that has it, stands, and
// not in a call or a jump.
//
// Unwind: the image.
// Returns the offset of the distance, or the size of the code.
//

static
ULONG
ImageFindReference(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Target
    )
{
    ULONG Before;
    ULONG Offset;
    ULONG Rva;

    for (Offset = 2; Offset + 4 <= Code->SizeInBytes; Offset++) {

        Rva = Code->Rva + Offset + 4 + ImageLoadUlong(Code->Bytes + Offset);
        if (Rva != Target &&
            ((Code->Bytes[Offset - 1] & 0xC7) != 5 ||
             ImageReadSlot(Unwind, Rva) != Target)) {
            continue;
        }

        Before = Code->Bytes[Offset - 1];
        if (Before == X64_CALL_NEAR || Before == X64_JUMP_NEAR ||
            ((Before & 0xF0) == 0x80 &&
             Code->Bytes[Offset - 2] == X64_TWO_BYTES)) {
            continue;
        }

        return Offset;
    }

    return Code->SizeInBytes;
}

//
// Says whether there may be a call at some place: one that leaves the function
// and arrives in the image. In code without marks what looks like a call may
// be part of another instruction, whose other bytes rarely make such a target.
//
// Target: the address that is called, or the address of the variable that has
// it.
//

static
BOOLEAN
ImageIsCall(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Offset,
    _Out_ PULONG Target
    )
{
    ULONG Remaining = Code->SizeInBytes - Offset;

    if (!ImageMayBegin(Code, Offset)) {
        return FALSE;
    }

    if (Remaining >= X64_NEAR_SIZE && Code->Bytes[Offset] == X64_CALL_NEAR) {
        *Target = Code->Rva + Offset + X64_NEAR_SIZE +
                  ImageLoadUlong(Code->Bytes + Offset + 1);
        return *Target - Code->Rva >= Code->SizeInBytes &&
               ImageGetUnwindBytes(Unwind, *Target, 1) != NULL;
    }

    if (Remaining >= X64_INDIRECT_SIZE &&
        Code->Bytes[Offset] == X64_INDIRECT &&
        Code->Bytes[Offset + 1] == X64_CALL_INDIRECT) {
        *Target = Code->Rva + Offset + X64_INDIRECT_SIZE +
                  ImageLoadUlong(Code->Bytes + Offset + 2);
        return *Target < Unwind->SizeOfImage;
    }

    return FALSE;
}

//
// Finds the address that an instruction with the operand [rip + n], and
// nothing behind it, gives to its register.
// Unwind: the image.
// ModRm: the offset of the byte that n follows.
// IsLea: whether it is a lea, not a load.
// Returns the address, or 0 if it is none in the image.
//

static
ULONG
ImageGetSource(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG ModRm,
    _In_ BOOLEAN IsLea
    )
{
    ULONG Rva;

    if (Code->SizeInBytes - ModRm < 1 + sizeof(ULONG)) {
        return 0;
    }

    Rva = Code->Rva + ModRm + 1 + (ULONG)sizeof(ULONG) +
          ImageLoadUlong(Code->Bytes + ModRm + 1);
    return IsLea ? Rva : ImageReadSlot(Unwind, Rva);
}

//
// Says whether eight bytes of an instruction are a function's address.
// Unwind: the image.
// Address: the address, image-relative.
//

static
BOOLEAN
ImageIsImmediate(
    _In_ PCREADER_UNWIND Unwind,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Address
    )
{
    ULONGLONG Value = (ULONGLONG)ImageLoadUlong(Bytes) |
                      ((ULONGLONG)ImageLoadUlong(Bytes + 4) << 32);

    return (BOOLEAN)(Value - Unwind->ImageBase == Address);
}

//
// Adds where a function's address may be after an instruction, if it is one
// that makes or copies 64 bits.
//
// A push is not among them: what is pushed are the caller's registers.
//
// Unwind: the image.
// Holders: where the address may be before it, and receives where after it.
//

static
VOID
ImageFollowInstruction(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Offset,
    _Inout_ PREADER_HOLDERS Holders
    )
{
    const UCHAR *Bytes = Code->Bytes + Offset;
    ULONG Remaining = Code->SizeInBytes - Offset;
    ULONG ModRm = 2;
    ULONG Operand;
    ULONG Operation;
    ULONG Prefix;
    ULONG Register;
    ULONG Holding;
    BOOLEAN IsHeld;

    //
    // The opcode, then which registers: both may be behind 0x0F.
    //

    if (Bytes[0] == X64_OPERAND_SIZE &&
        Remaining >= 5 &&
        (Bytes[1] & 0xF8) == X64_REX_W &&
        Bytes[2] == X64_TWO_BYTES &&
        (Bytes[4] & 0xC0) == 0xC0) {

        Operand = 1u << ((Bytes[4] & 7) | ((Bytes[1] & 1) << 3));
        if (Bytes[3] == X64_MOVE_TO_XMM &&
            (Holders->Registers & Operand) != 0) {
            Holders->IsSpilled = TRUE;
        } else if (Bytes[3] == X64_MOVE_FROM_XMM && Holders->IsSpilled) {
            Holders->Registers |= Operand;
        }
        return;
    }

    if ((Bytes[0] & 0xF8) != X64_REX_W || Remaining < X64_MOVE_SIZE) {
        return;
    }

    Prefix = Bytes[0];
    Operation = Bytes[1];
    Operand = 1u << ((Operation & 7) | ((Prefix & 1) << 3));
    if ((Operation & 0xF8) == X64_MOVE_IMMEDIATE) {
        if (Remaining >= X64_IMMEDIATE_SIZE &&
            ImageIsImmediate(Unwind, Bytes + 2, Holders->Address)) {
            Holders->Registers |= Operand;
        }
        return;
    }

    if ((Operation & 0xF8) == X64_EXCHANGE_RAX) {
        if ((Holders->Registers & (Operand | 1)) != 0) {
            Holders->Registers |= Operand | 1;
        }
        return;
    }

    if (Operation == X64_TWO_BYTES &&
        Remaining > X64_MOVE_SIZE &&
        (Bytes[2] & 0xF0) == X64_MOVE_IF) {
        Operation = X64_MOVE_FROM;
        ModRm = 3;
    }

    Register = 1u << (((Bytes[ModRm] >> 3) & 7) | ((Prefix & 4) << 1));
    if (Operation == X64_LEA || Operation == X64_MOVE_FROM) {

        Operand = 1u << ((Bytes[ModRm] & 7) | ((Prefix & 1) << 3));
        if ((Bytes[ModRm] & 0xC7) == 5) {
            IsHeld = (BOOLEAN)(ImageGetSource(
                                   Unwind,
                                   Code,
                                   Offset + ModRm,
                                   (BOOLEAN)(Operation == X64_LEA)) ==
                               Holders->Address);
        } else if (Operation == X64_LEA) {
            IsHeld = FALSE;
        } else if ((Bytes[ModRm] & 0xC0) == 0xC0) {
            IsHeld = (BOOLEAN)((Holders->Registers & Operand) != 0);
        } else {
            IsHeld = Holders->IsSpilled;
        }

        if (IsHeld) {
            Holders->Registers |= Register;
        }
        return;
    }

    if (Operation != X64_MOVE_TO && Operation != X64_EXCHANGE) {
        return;
    }

    Operand = 1u << ((Bytes[ModRm] & 7) | ((Prefix & 1) << 3));
    Holding = Holders->Registers;
    if ((Bytes[ModRm] & 0xC0) != 0xC0) {

        if (Operation == X64_EXCHANGE && Holders->IsSpilled) {
            Holders->Registers |= Register;
        }
        if ((Holding & Register) != 0) {
            Holders->IsSpilled = TRUE;
        }
        return;
    }

    if ((Holding & Register) != 0) {
        Holders->Registers |= Operand;
    }

    if (Operation == X64_EXCHANGE && (Holding & Operand) != 0) {
        Holders->Registers |= Register;
    }
}

//
// Finds where a function may have another one's address, at any time.
// Unwind: the image.
// Address: the other one's address.
//

static
VOID
ImageFindHolders(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Address,
    _Out_ PREADER_HOLDERS Holders
    )
{
    ULONG Offset;
    ULONG Registers;
    BOOLEAN IsSpilled;

    Holders->Address = Address;
    Holders->Registers = 0;
    Holders->IsSpilled = FALSE;

    //
    // Until nothing is added.  Each round adds one of 17 places at least.
    //

    do {

        Registers = Holders->Registers;
        IsSpilled = Holders->IsSpilled;
        for (Offset = 0; Offset < Code->SizeInBytes; Offset++) {
            if (ImageMayBegin(Code, Offset)) {
                ImageFollowInstruction(Unwind, Code, Offset, Holders);
            }
        }

    } while (Registers != Holders->Registers ||
             IsSpilled != Holders->IsSpilled);
}

//
// Decides whether a call may hand on an address as its first argument, in rcx.
// The last instruction before the call that writes rcx tells.
// Unwind: the image.
// First: the offset of the call before this one, or of the start.
// Call: the offset of the call.
// Holders: the address, and where the function may have it.
// Returns ReaderArgumentOther only if it certainly does not.
//

static
READER_ARGUMENT
ImageFindArgument(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG First,
    _In_ ULONG Call,
    _In_ PCREADER_HOLDERS Holders
    )
{
    const UCHAR *Bytes;
    ULONG Offset;
    ULONG Size;
    BOOLEAN IsIt;

    if (Call > First && Call - First > READER_MAXIMUM_ARGUMENT) {
        First = Call - READER_MAXIMUM_ARGUMENT;
    }

    for (Offset = Call; Offset > First; Offset--) {

        Bytes = Code->Bytes + Offset - 1;
        Size = Call - (Offset - 1);
        if (Size < X64_MOVE_SIZE || !ImageMayBegin(Code, Offset - 1)) {
            continue;
        }

        if (Bytes[0] == X64_OPERAND_SIZE &&
            Size >= 5 &&
            Bytes[1] == X64_REX_W &&
            Bytes[2] == X64_TWO_BYTES &&
            Bytes[3] == X64_MOVE_FROM_XMM &&
            Bytes[4] == (0xC0 | X64_RCX)) {

            IsIt = Holders->IsSpilled;

        } else if ((Bytes[0] & 0xF8) != X64_REX_W) {

            continue;

        } else if (Bytes[0] == X64_REX_W &&
                   Bytes[1] == (X64_MOVE_IMMEDIATE | X64_RCX) &&
                   Size >= X64_IMMEDIATE_SIZE) {

            IsIt = ImageIsImmediate(Unwind, Bytes + 2, Holders->Address);

        } else if ((Bytes[1] == X64_LEA || Bytes[1] == X64_MOVE_FROM) &&
                   (Bytes[0] & 4) == 0 &&
                   Bytes[2] == ((X64_RCX << 3) | 5)) {

            if (Size < X64_LEA_SIZE) {
                continue;
            }

            IsIt = (BOOLEAN)(ImageGetSource(
                                 Unwind,
                                 Code,
                                 Offset + 1,
                                 (BOOLEAN)(Bytes[1] == X64_LEA)) ==
                             Holders->Address);

        } else if (Bytes[1] == X64_MOVE_FROM &&
                   (Bytes[0] & 4) == 0 &&
                   (Bytes[2] & 0x38) == (X64_RCX << 3)) {

            IsIt = (Bytes[2] & 0xC0) != 0xC0
                       ? Holders->IsSpilled
                       : (BOOLEAN)((Holders->Registers >>
                                    ((Bytes[2] & 7) |
                                     ((Bytes[0] & 1) << 3)) & 1) != 0);

        } else if (Bytes[1] == X64_MOVE_TO &&
                   (Bytes[0] & 1) == 0 &&
                   (Bytes[2] & 0xC7) == (0xC0 | X64_RCX)) {

            IsIt = (BOOLEAN)((Holders->Registers >>
                              (((Bytes[2] >> 3) & 7) |
                               ((Bytes[0] & 4) << 1)) & 1) != 0);

        } else if ((Bytes[1] == X64_TWO_BYTES &&
                    Size > X64_MOVE_SIZE &&
                    (Bytes[2] & 0xF0) == X64_MOVE_IF &&
                    (Bytes[0] & 4) == 0 &&
                    (Bytes[3] & 0x38) == (X64_RCX << 3)) ||
                   (Bytes[1] == X64_EXCHANGE &&
                    (((Bytes[0] & 4) == 0 &&
                      (Bytes[2] & 0x38) == (X64_RCX << 3)) ||
                     ((Bytes[0] & 1) == 0 &&
                      (Bytes[2] & 0xC7) == (0xC0 | X64_RCX)))) ||
                   Bytes[1] == (X64_EXCHANGE_RAX | X64_RCX)) {

            //
            // Under a condition, or two ways: whatever rcx may be.
            //

            IsIt = (BOOLEAN)((Holders->Registers & (1u << X64_RCX)) != 0);

        } else {
            continue;
        }

        return IsIt ? ReaderArgumentIt : ReaderArgumentOther;
    }

    return ReaderArgumentUnknown;
}

//
// Says whether there may be a jump at some place that takes an address in rcx
// to a call of the hook, where other addresses arrive, too.
// Unwind: the image.
// First: the offset of the call before the place, or of the start.
// Holders: the address, and where the function may have it.
//

static
BOOLEAN
ImageIsMerged(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG First,
    _In_ ULONG Offset,
    _In_ ULONG Hook,
    _In_ PCREADER_HOLDERS Holders
    )
{
    const UCHAR *Bytes = Code->Bytes + Offset;
    ULONG Remaining = Code->SizeInBytes - Offset;
    ULONG Call;
    ULONG Target;
    ULONG Address;

    if (!ImageMayBegin(Code, Offset)) {
        return FALSE;
    }

    if (Remaining >= 2 &&
        (Bytes[0] == X64_JUMP_SHORT ||
         (Bytes[0] & 0xF0) == X64_JUMP_IF_SHORT)) {

        Target = Offset + 2 + (ULONG)(LONG)(signed char)Bytes[1];

    } else if (Remaining >= X64_NEAR_SIZE && Bytes[0] == X64_JUMP_NEAR) {

        Target = Offset + X64_NEAR_SIZE + ImageLoadUlong(Bytes + 1);

    } else if (Remaining >= X64_JUMP_IF_SIZE &&
               Bytes[0] == X64_TWO_BYTES &&
               (Bytes[1] & 0xF0) == X64_JUMP_IF_NEAR) {

        Target = Offset + X64_JUMP_IF_SIZE + ImageLoadUlong(Bytes + 2);

    } else {
        return FALSE;
    }

    if (Target >= Code->SizeInBytes ||
        (Holders->Registers & (1u << X64_RCX)) == 0 ||
        ImageFindArgument(Unwind, Code, First, Offset, Holders) !=
            ReaderArgumentIt) {
        return FALSE;
    }

    Call = Target;
    while (!ImageIsCall(Unwind, Code, Call, &Address)) {
        Call += 1;
        if (Call == Code->SizeInBytes) {
            return FALSE;
        }
        if (Call - Target > READER_MAXIMUM_ARGUMENT) {
            return TRUE;
        }
    }

    if (Address != Hook ||
        ImageFindArgument(Unwind, Code, Target, Call, Holders) !=
            ReaderArgumentUnknown) {
        return FALSE;
    }

    //
    // Of the next call that is known without the jump.
    //

    if (Call < Offset || Call - Offset > READER_MAXIMUM_ARGUMENT) {
        return TRUE;
    }

    for (Address = Offset; Address < Call; Address++) {
        if (ImageIsCall(Unwind, Code, Address, &Target)) {
            return TRUE;
        }
    }

    return (BOOLEAN)(ImageFindArgument(Unwind,
                                       Code,
                                       Offset,
                                       Call,
                                       Holders) != ReaderArgumentUnknown);
}

//
// Finds the entry hook that a function of -finstrument-functions calls: the
// first call, after its own address was made, that hands it on. main calls
// __main before, which takes nothing.
//
// Unwind: the image.
// Hook: the hook's address (see ImageIsCall).
// Offset: where the call is.
// Returns FALSE if there is none.
//

static
BOOLEAN
ImageFindHook(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _Out_ PULONG Hook,
    _Out_ PULONG Offset
    )
{
    READER_HOLDERS Holders;

    *Offset = ImageFindReference(Unwind, Code, Code->Rva) +
              (ULONG)sizeof(ULONG);
    if (*Offset < Code->PrologueSize) {
        *Offset = Code->PrologueSize;
    }

    if (*Offset >= Code->SizeInBytes ||
        Code->SizeInBytes > READER_MAXIMUM_SEARCHED) {
        return FALSE;
    }

    ImageFindHolders(Unwind, Code, Code->Rva, &Holders);
    while (*Offset < Code->SizeInBytes) {
        if (ImageIsCall(Unwind, Code, *Offset, Hook) &&
            ImageFindArgument(Unwind, Code, 0, *Offset, &Holders) ==
                ReaderArgumentIt) {
            return TRUE;
        }
        *Offset += 1;
    }

    return FALSE;
}

//
// Adds a function to those that have copies.
// Unwind: the image.
// Rva: the function's first address.
// Returns FALSE if there is no memory.
//

static
BOOLEAN
ImageAddCloned(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ ULONG Rva
    )
{
    PCALLOCATOR Allocator = Unwind->Allocator;
    PULONG Grown;
    ULONG Index;

    for (Index = 0; Index < Unwind->NumberOfCloned; Index++) {
        if (Unwind->Cloned[Index] == Rva) {
            return TRUE;
        }
    }

    if (Unwind->NumberOfCloned == Unwind->CapacityOfCloned) {

        if (Unwind->CapacityOfCloned >= 0x10000000) {
            return FALSE;
        }

        Grown = (PULONG)
            Allocator->Allocate(Allocator->Context,
                                ((SIZE_T)Unwind->CapacityOfCloned * 2 + 16) *
                                    sizeof(ULONG));
        if (Grown == NULL) {
            return FALSE;
        }

        for (Index = 0; Index < Unwind->NumberOfCloned; Index++) {
            Grown[Index] = Unwind->Cloned[Index];
        }

        Allocator->Free(Allocator->Context, Unwind->Cloned);
        Unwind->Cloned = Grown;
        Unwind->CapacityOfCloned = Unwind->CapacityOfCloned * 2 + 16;
    }

    Unwind->Cloned[Unwind->NumberOfCloned] = Rva;
    Unwind->NumberOfCloned += 1;
    return TRUE;
}

//
// Says whether a function may call a hook.
// Unwind: the image.
// Hook: the hook's address.
//

static
BOOLEAN
ImageCallsHook(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Hook
    )
{
    ULONG Offset;
    ULONG Target;

    for (Offset = 0; Offset < Code->SizeInBytes; Offset++) {
        if (ImageIsCall(Unwind, Code, Offset, &Target) && Target == Hook) {
            return TRUE;
        }
    }

    return FALSE;
}

//
// Looks at a function that does not make its own address: if it calls the
// entry hook it is a copy of one of the functions whose addresses it makes.
// Unwind: the image; receives those functions.
// Returns FALSE if there is no memory.
//

static
BOOLEAN
ImageSearchCopy(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Hook
    )
{
    const UCHAR *Bytes;
    const UCHAR *Entry;
    ULONG Offset;
    ULONG Target;

    if (!ImageCallsHook(Unwind, Code, Hook)) {
        return TRUE;
    }

    for (Offset = 0; Offset + X64_LEA_SIZE <= Code->SizeInBytes; Offset++) {

        Bytes = Code->Bytes + Offset;
        if (!ImageMayBegin(Code, Offset) ||
            (Bytes[0] != X64_REX_W && Bytes[0] != X64_REX_WR) ||
            (Bytes[1] != X64_LEA && Bytes[1] != X64_MOVE_FROM) ||
            (Bytes[2] & 0xC7) != 5) {
            continue;
        }

        Target = Code->Rva + Offset + X64_LEA_SIZE + ImageLoadUlong(Bytes + 3);
        if (Bytes[1] == X64_MOVE_FROM) {
            Target = ImageReadSlot(Unwind, Target);
        }

        Entry = ImageFindUnwindEntry(Unwind, Target);
        if (Entry != NULL &&
            ImageLoadUlong(Entry + PE_FUNCTION_BEGIN) == Target &&
            !ImageAddCloned(Unwind, Target)) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
ImageHasClone(
    PREADER_UNWIND Unwind,
    ULONG Rva
    )
{
    READER_CODE Code;
    BOOLEAN IsDone;
    ULONG Hook;
    ULONG Index;
    ULONG Offset;

    if (!Unwind->IsClonesSearched) {

        if (!ImageGetCode(Unwind, Rva, &Code) || Code.Rva != Rva) {
            return TRUE;
        }

        ImageMarkCode(Unwind, &Code);
        IsDone = ImageFindHook(Unwind, &Code, &Hook, &Offset);
        ImageFreeMarks(Unwind, &Code);
        if (!IsDone) {
            return TRUE;
        }

        for (Index = 0; Index < Unwind->NumberOfFunctions; Index++) {

            //
            // Few are left to be decoded.
            //

            if (!ImageGetCode(Unwind,
                              ImageLoadUlong(Unwind->Functions +
                                             (SIZE_T)Index *
                                                   PE_FUNCTION_SIZE),
                              &Code) ||
                !ImageCallsHook(Unwind, &Code, Hook) ||
                ImageFindReference(Unwind, &Code, Code.Rva) <
                    Code.SizeInBytes) {
                continue;
            }

            ImageMarkCode(Unwind, &Code);
            IsDone = ImageSearchCopy(Unwind, &Code, Hook);
            ImageFreeMarks(Unwind, &Code);
            if (!IsDone) {
                return TRUE;
            }
        }

        Unwind->IsClonesSearched = TRUE;
    }

    for (Index = 0; Index < Unwind->NumberOfCloned; Index++) {
        if (Unwind->Cloned[Index] == Rva) {
            return TRUE;
        }
    }

    return FALSE;
}

_Use_decl_annotations_
ULONG
ImageCountInlined(
    PCREADER_UNWIND Unwind,
    ULONG Outer,
    ULONG Inner
    )
{
    READER_HOLDERS Holders;
    READER_CODE Code;
    ULONG Count = 0;
    ULONG First;
    ULONG Hook;
    ULONG Offset;
    ULONG Target;

    if (!ImageGetCode(Unwind, Outer, &Code) || Code.Rva != Outer) {
        return READER_INLINED_UNKNOWN;
    }

    ImageMarkCode(Unwind, &Code);
    if (!ImageFindHook(Unwind, &Code, &Hook, &Offset)) {
        Count = READER_INLINED_UNKNOWN;
        goto End;
    }

    //
    // If the address is made nowhere, no call hands it on.
    //

    ImageFindHolders(Unwind, &Code, Inner, &Holders);
    if (Holders.Registers == 0) {
        goto End;
    }

    First = Offset;
    for (Offset += X64_NEAR_SIZE; Offset < Code.SizeInBytes; Offset++) {

        if (ImageIsCall(Unwind, &Code, Offset, &Target)) {

            if (Target == Hook &&
                ImageFindArgument(Unwind, &Code, First, Offset, &Holders) !=
                    ReaderArgumentOther) {
                Count += 1;
            }

            First = Offset;

        } else if (ImageIsMerged(Unwind,
                                 &Code,
                                 First,
                                 Offset,
                                 Hook,
                                 &Holders)) {
            Count += 1;
        }
    }

End:

    ImageFreeMarks(Unwind, &Code);
    return Count;
}
