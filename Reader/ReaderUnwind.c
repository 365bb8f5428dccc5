/*++

Module Name:

    ReaderUnwind.c

Abstract:

    What an image says of the places that hooks are called from.
    ReaderUnwind.h says what the routines promise; the layouts are those of
    Microsoft's "x64 exception handling" and "PE Format" pages.

--*/

#include "ReaderUnwind.h"

//
// A .pdata entry: first RVA, the RVA after the last, RVA of the unwind
// information.
//

#define PE_FUNCTION_BEGIN               0
#define PE_FUNCTION_END                 4
#define PE_FUNCTION_UNWIND              8
#define PE_FUNCTION_SIZE                12

//
// Unwind information: version and flags, size of the prologue, number of
// codes, frame register; then the codes, two bytes each; then, if it is
// chained, the entry that it continues.
//

#define PE_UNWIND_HEADER_SIZE           4
#define PE_UNWIND_FLAG_CHAINED          0x4
#define PE_UNWIND_REGISTER_MASK         0x0F

//
// The unwind code of a register that was pushed.
//

#define UNWIND_PUSH                     0

//
// How many entries may be chained.  Windows itself follows 32.
//

#define READER_MAXIMUM_CHAIN            32

//
// An image with more sections than this is none that a linker made.
//

#define READER_MAXIMUM_SECTIONS         256

//
// The largest frame that is believed, bytes.
//

#define READER_MAXIMUM_FRAME            0x40000000u

//
// Instructions.
//

#define X64_CALL_NEAR                   0xE8
#define X64_JUMP_NEAR                   0xE9
#define X64_JUMP_SHORT                  0xEB
#define X64_INDIRECT                    0xFF    // with 0x15: call [rip + n]
#define X64_CALL_INDIRECT               0x15
#define X64_JUMP_INDIRECT               0x25    // likewise
#define X64_TWO_BYTES                   0x0F    // with 0x8n: jcc near
#define X64_LEA                         0x8D
#define X64_MOVE_TO                     0x89    // mov rm, r
#define X64_MOVE_FROM                   0x8B    // mov r, rm
#define X64_MODRM_RCX_RIP               0x0D    // rcx, [rip + n]
#define X64_REX_W                       0x48    // 64 bits; R: the register,
#define X64_REX_WR                      0x4C    // B: rm is one of r8 to r15
#define X64_REX_WB                      0x49
#define X64_NEAR_SIZE                   5
#define X64_LEA_SIZE                    7
#define X64_MOVE_SIZE                   3
#define X64_INDIRECT_SIZE               6

typedef struct _READER_CODE {
    const UCHAR *Bytes;
    ULONG Rva;
    ULONG SizeInBytes;
    ULONG PrologueSize;             // bytes
} READER_CODE;
typedef READER_CODE *PREADER_CODE;
typedef const READER_CODE *PCREADER_CODE;

static
ULONG
ReaderLoadUlong(
    _In_reads_bytes_(4) const UCHAR *Bytes
    )
/*++

Routine Description:

    Reads a little-endian 32-bit number, whatever its alignment.

Arguments:

    Bytes - Supplies its first byte.

Return Value:

    The number.

--*/
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}

static
_Ret_maybenull_
const UCHAR *
ReaderGetUnwindBytes(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _In_ ULONG SizeInBytes
    )
/*++

Routine Description:

    Finds the bytes of a range of addresses.

Arguments:

    Unwind - Supplies the image's sections.

    Rva - Supplies the first address.

    SizeInBytes - Supplies the size of the range.

Return Value:

    The first byte, or NULL if not all of them are kept.

--*/
{
    PCREADER_UNWIND_SECTION Section;
    ULONG Index;

    for (Index = 0; Index < Unwind->NumberOfSections; Index++) {

        Section = &Unwind->Sections[Index];
        if (Rva >= Section->Rva &&
            Rva - Section->Rva < Section->SizeInBytes &&
            SizeInBytes <= Section->SizeInBytes - (Rva - Section->Rva)) {
            return Section->Bytes + (Rva - Section->Rva);
        }
    }

    return NULL;
}

static
_Ret_maybenull_
const UCHAR *
ReaderFindUnwindEntry(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva
    )
/*++

Routine Description:

    Finds the .pdata entry that an address belongs to.

Arguments:

    Unwind - Supplies the entries, which linkers sort by address.

    Rva - Supplies the address.

Return Value:

    The entry, or NULL.

--*/
{
    const UCHAR *Entry;
    ULONG First = 0;
    ULONG Last = Unwind->NumberOfFunctions;
    ULONG Middle;

    while (First < Last) {

        Middle = First + (Last - First) / 2;
        Entry = Unwind->Functions + (SIZE_T)Middle * PE_FUNCTION_SIZE;
        if (Rva < ReaderLoadUlong(Entry + PE_FUNCTION_BEGIN)) {
            Last = Middle;
        } else if (Rva >= ReaderLoadUlong(Entry + PE_FUNCTION_END)) {
            First = Middle + 1;
        } else {
            return Entry;
        }
    }

    return NULL;
}

static
BOOLEAN
ReaderCopySection(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ PCREADER_COFF_SECTION Section,
    _In_ const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Keeps a section, unless it is kept already or has no bytes in the file.
    Sections of a damaged image can share their bytes: together, no more are
    kept than the file has.

Arguments:

    Unwind - Receives it; has room.

    Section - Supplies where it is.

    Image - Supplies the image's file.

    SizeInBytes - Supplies the file's size.

Return Value:

    FALSE if there is no memory.

--*/
{
    PREADER_UNWIND_SECTION Kept;
    ULONGLONG KeptInBytes = 0;
    ULONG Index;
    ULONG Size;

    for (Index = 0; Index < Unwind->NumberOfSections; Index++) {
        if (Unwind->Sections[Index].Rva == Section->StartRva) {
            return TRUE;
        }
        KeptInBytes += Unwind->Sections[Index].SizeInBytes;
    }

    Size = Section->EndRva - Section->StartRva;
    if (Size > Section->RawSizeInBytes) {
        Size = Section->RawSizeInBytes;
    }

    if (Section->RawOffset >= SizeInBytes) {
        Size = 0;
    } else if (Size > SizeInBytes - Section->RawOffset) {
        Size = (ULONG)(SizeInBytes - Section->RawOffset);
    }

    if (Size == 0 || Size > SizeInBytes - KeptInBytes) {
        return TRUE;
    }

    Kept = &Unwind->Sections[Unwind->NumberOfSections];
    Kept->Bytes = (PUCHAR)
        Unwind->Allocator->Allocate(Unwind->Allocator->Context, Size);
    if (Kept->Bytes == NULL) {
        return FALSE;
    }

    //
    // Counted before the bytes are read, which may raise an exception: then
    // it is there to be freed.
    //

    Kept->Rva = Section->StartRva;
    Kept->SizeInBytes = Size;
    Unwind->NumberOfSections += 1;
    for (Index = 0; Index < Size; Index++) {
        Kept->Bytes[Index] = Image[Section->RawOffset + Index];
    }

    return TRUE;
}

static
_Ret_maybenull_
PCREADER_COFF_SECTION
ReaderFindSectionOf(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    )
/*++

Routine Description:

    Finds the section that holds an address, code or not.

Arguments:

    Coff - Supplies the sections.

    Rva - Supplies the address.

Return Value:

    The section, or NULL.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Coff->NumberOfSections; Index++) {
        if (Rva >= Coff->Sections[Index].StartRva &&
            Rva < Coff->Sections[Index].EndRva) {
            return &Coff->Sections[Index];
        }
    }

    return NULL;
}

_Use_decl_annotations_
NTSTATUS
ReaderInitializeUnwind(
    PCALLOCATOR Allocator,
    PCREADER_COFF Coff,
    const UCHAR *Image,
    ULONGLONG SizeInBytes,
    PREADER_UNWIND Unwind
    )
/*++

Routine Description:

    Keeps an image's code and unwind data.

Arguments:

    Allocator - Supplies the memory; it must outlive Unwind.

    Coff - Supplies the image's sections.

    Image - Supplies the image's file.

    SizeInBytes - Supplies its size.

    Unwind - Receives what was kept.

Return Value:

    STATUS_SUCCESS, also when the image has no unwind data.

    STATUS_NO_MEMORY.

--*/
{
    static const READER_UNWIND EmptyUnwind = { 0 };
    PCREADER_COFF_SECTION Section;
    PCREADER_COFF_SECTION Last;
    ULONG Index;
    ULONG Rva;

    *Unwind = EmptyUnwind;
    Unwind->Allocator = Allocator;
    Unwind->SizeOfImage = Coff->SizeOfImage;
    if (Coff->ExceptionRva == 0 ||
        Coff->ExceptionSizeInBytes < PE_FUNCTION_SIZE ||
        Coff->NumberOfSections == 0 ||
        Coff->NumberOfSections > READER_MAXIMUM_SECTIONS) {
        return STATUS_SUCCESS;
    }

    Unwind->Sections = (PREADER_UNWIND_SECTION)
        Allocator->Allocate(Allocator->Context,
                            Coff->NumberOfSections *
                                sizeof(READER_UNWIND_SECTION));
    if (Unwind->Sections == NULL) {
        return STATUS_NO_MEMORY;
    }

    Section = ReaderFindSectionOf(Coff, Coff->ExceptionRva);
    if (Section == NULL) {
        return STATUS_SUCCESS;
    }

    if (!ReaderCopySection(Unwind, Section, Image, SizeInBytes)) {
        return STATUS_NO_MEMORY;
    }

    Unwind->Functions = ReaderGetUnwindBytes(Unwind,
                                             Coff->ExceptionRva,
                                             Coff->ExceptionSizeInBytes);
    if (Unwind->Functions == NULL) {
        return STATUS_SUCCESS;
    }

    Unwind->NumberOfFunctions = Coff->ExceptionSizeInBytes / PE_FUNCTION_SIZE;

    for (Index = 0; Index < Coff->NumberOfSections; Index++) {
        if (Coff->Sections[Index].IsExecutable &&
            !ReaderCopySection(Unwind,
                               &Coff->Sections[Index],
                               Image,
                               SizeInBytes)) {
            return STATUS_NO_MEMORY;
        }
    }

    //
    // Unwind information is all in one section as a rule.
    //

    Last = NULL;
    for (Index = 0; Index < Unwind->NumberOfFunctions; Index++) {

        Rva = ReaderLoadUlong(Unwind->Functions +
                              (SIZE_T)Index * PE_FUNCTION_SIZE +
                              PE_FUNCTION_UNWIND);
        if (Last != NULL && Rva >= Last->StartRva && Rva < Last->EndRva) {
            continue;
        }

        Section = ReaderFindSectionOf(Coff, Rva);
        if (Section == NULL) {
            continue;
        }

        Last = Section;
        if (!ReaderCopySection(Unwind, Section, Image, SizeInBytes)) {
            return STATUS_NO_MEMORY;
        }
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
ReaderRundownUnwind(
    PREADER_UNWIND Unwind
    )
/*++

Routine Description:

    Frees what ReaderInitializeUnwind allocated.  It may be called after a
    failure, twice, and on zeroes.

Arguments:

    Unwind - Supplies the structure.

Return Value:

    None.

--*/
{
    ULONG Index;

    if (Unwind->Allocator == NULL) {
        return;
    }

    for (Index = 0; Index < Unwind->NumberOfSections; Index++) {
        Unwind->Allocator->Free(Unwind->Allocator->Context,
                                Unwind->Sections[Index].Bytes);
    }

    Unwind->Allocator->Free(Unwind->Allocator->Context, Unwind->Sections);
    Unwind->Allocator->Free(Unwind->Allocator->Context, Unwind->Cloned);
    Unwind->Cloned = NULL;
    Unwind->NumberOfCloned = 0;
    Unwind->CapacityOfCloned = 0;
    Unwind->IsClonesSearched = FALSE;
    Unwind->Sections = NULL;
    Unwind->Functions = NULL;
    Unwind->NumberOfSections = 0;
    Unwind->NumberOfFunctions = 0;
    Unwind->Allocator = NULL;
}

static
BOOLEAN
ReaderMeasureCode(
    _In_reads_bytes_(NumberOfSlots * 2) const UCHAR *Codes,
    _In_ ULONG NumberOfSlots,
    _In_ ULONG Version,
    _Inout_ PULONG Slot,
    _Out_ PULONG SizeInBytes
    )
/*++

Routine Description:

    Measures one unwind code.

Arguments:

    Codes - Supplies the codes.

    NumberOfSlots - Supplies how many two-byte slots there are.

    Version - Supplies the version of the unwind information.

    Slot - Supplies the code's first slot, and receives the next one's.

    SizeInBytes - Receives by how much it lowered RSP.

Return Value:

    FALSE if the code is not known or is cut off.

--*/
{
    ULONG Information = Codes[*Slot * 2 + 1] >> 4;
    ULONG Operation = Codes[*Slot * 2 + 1] & 15;
    const UCHAR *Operand = Codes + *Slot * 2 + 2;
    ULONG Slots;

    *SizeInBytes = 0;

    switch (Operation) {

    case UNWIND_PUSH:
        Slots = 1;
        *SizeInBytes = 8;
        break;

    case 1:                         // allocate, large
        Slots = Information == 0 ? 2 : 3;
        if (Information > 1 || *Slot + Slots > NumberOfSlots) {
            return FALSE;
        }
        *SizeInBytes = Information == 0
                           ? ((ULONG)Operand[0] | ((ULONG)Operand[1] << 8)) * 8
                           : ReaderLoadUlong(Operand);
        break;

    case 2:                         // allocate, small
        Slots = 1;
        *SizeInBytes = Information * 8 + 8;
        break;

    case 3:                         // set the frame register
        Slots = 1;
        break;

    case 4:                         // save a register
    case 8:                         // save an xmm register
        Slots = 2;
        break;

    case 5:                         // the same, far away
    case 9:
        Slots = 3;
        break;

    case 6:                         // version 2: where an epilogue is
        Slots = 1;
        if (Version < 2) {
            return FALSE;
        }
        break;

    case 10:                        // machine frame
        Slots = 1;
        *SizeInBytes = Information == 0 ? 40 : 48;
        break;

    default:
        return FALSE;
    }

    *Slot += Slots;
    return (BOOLEAN)(*Slot <= NumberOfSlots);
}

_Use_decl_annotations_
BOOLEAN
ReaderFindUnwindFrame(
    PCREADER_UNWIND Unwind,
    ULONG Rva,
    PREADER_UNWIND_FRAME Frame
    )
/*++

Routine Description:

    Finds the stack frame at a place.

Arguments:

    Unwind - Supplies the image's unwind data.

    Rva - Supplies the place, an address that a call returns to.

    Frame - Receives the frame.

Return Value:

    FALSE if the unwind data does not say.

--*/
{
    const UCHAR *Entry;
    const UCHAR *Information;
    ULONGLONG Body = 0;
    ULONGLONG Here = 0;
    ULONG Begin;
    ULONG Link;
    ULONG Offset;
    ULONG Operation;
    ULONG Size;
    ULONG Slot;
    ULONG SlotsInBytes;
    ULONG UnwindRva;

    //
    // The call is in front of the place; it may be the function's last
    // instruction.
    //

    Entry = Rva == 0 ? NULL : ReaderFindUnwindEntry(Unwind, Rva - 1);
    Frame->IsDynamic = FALSE;
    Frame->SavedInBytes = 0;

    for (Link = 0; Entry != NULL && Link < READER_MAXIMUM_CHAIN; Link++) {

        Begin = ReaderLoadUlong(Entry + PE_FUNCTION_BEGIN);
        UnwindRva = ReaderLoadUlong(Entry + PE_FUNCTION_UNWIND);

        //
        // Bit 0 says that the other 31 are where another entry is, whose
        // unwind information counts.
        //

        if ((UnwindRva & 1) != 0) {
            Entry = ReaderGetUnwindBytes(Unwind,
                                         UnwindRva - 1,
                                         PE_FUNCTION_SIZE);
            continue;
        }

        Information = ReaderGetUnwindBytes(Unwind,
                                           UnwindRva,
                                           PE_UNWIND_HEADER_SIZE);
        if (Information == NULL ||
            (Information[0] & 7) < 1 ||
            (Information[0] & 7) > 2) {
            return FALSE;
        }

        SlotsInBytes = (((ULONG)Information[2] + 1) & ~1u) * 2;
        if (ReaderGetUnwindBytes(Unwind,
                                 UnwindRva,
                                 PE_UNWIND_HEADER_SIZE + SlotsInBytes) ==
                NULL) {
            return FALSE;
        }

        if ((Information[3] & PE_UNWIND_REGISTER_MASK) != 0) {
            Frame->IsDynamic = TRUE;
        }

        //
        // What happened in the prologue up to the place.  All of a chained
        // entry's parents has happened.
        //

        Slot = 0;
        while (Slot < Information[2]) {

            Offset = Information[PE_UNWIND_HEADER_SIZE + Slot * 2];
            Operation = Information[PE_UNWIND_HEADER_SIZE + Slot * 2 + 1] &
                        15;
            if (!ReaderMeasureCode(Information + PE_UNWIND_HEADER_SIZE,
                                   Information[2],
                                   Information[0] & 7,
                                   &Slot,
                                   &Size)) {
                return FALSE;
            }

            Body += Size;
            if (Operation == UNWIND_PUSH && Body <= READER_MAXIMUM_FRAME) {
                Frame->SavedInBytes += Size;
            }

            if (Link != 0 || Offset < Rva - Begin) {
                Here += Size;
            }
        }

        if (((Information[0] >> 3) & PE_UNWIND_FLAG_CHAINED) == 0) {

            if (Body > READER_MAXIMUM_FRAME) {
                return FALSE;
            }

            Frame->FunctionRva = Begin;
            Frame->SizeInBytes = (ULONG)Here;
            Frame->BodySizeInBytes = (ULONG)Body;
            return TRUE;
        }

        Entry = ReaderGetUnwindBytes(Unwind,
                                     UnwindRva + PE_UNWIND_HEADER_SIZE +
                                         SlotsInBytes,
                                     PE_FUNCTION_SIZE);
    }

    return FALSE;
}

_Use_decl_annotations_
ULONG
ReaderQueryUnwindRange(
    PCREADER_UNWIND Unwind,
    ULONG Index
    )
/*++

Routine Description:

    Says where a range with unwind data begins.

Arguments:

    Unwind - Supplies the image's unwind data.

    Index - Supplies which range.

Return Value:

    Its first address.

--*/
{
    return ReaderLoadUlong(Unwind->Functions +
                           (SIZE_T)Index * PE_FUNCTION_SIZE +
                           PE_FUNCTION_BEGIN);
}

static
BOOLEAN
ReaderGetCode(
    _In_ PCREADER_UNWIND Unwind,
    _In_ ULONG Rva,
    _Out_ PREADER_CODE Code
    )
/*++

Routine Description:

    Finds the code of the function that an address is in.

Arguments:

    Unwind - Supplies the image.

    Rva - Supplies the address.

    Code - Receives the code.

Return Value:

    FALSE if it is not there.

--*/
{
    const UCHAR *Entry = ReaderFindUnwindEntry(Unwind, Rva);
    const UCHAR *Information;

    if (Entry == NULL) {
        return FALSE;
    }

    Code->Rva = ReaderLoadUlong(Entry + PE_FUNCTION_BEGIN);
    Code->SizeInBytes = ReaderLoadUlong(Entry + PE_FUNCTION_END) - Code->Rva;
    Code->Bytes = ReaderGetUnwindBytes(Unwind, Code->Rva, Code->SizeInBytes);

    Information = ReaderGetUnwindBytes(
        Unwind,
        ReaderLoadUlong(Entry + PE_FUNCTION_UNWIND),
        PE_UNWIND_HEADER_SIZE);
    Code->PrologueSize = Information != NULL ? Information[1] : 0;
    return (BOOLEAN)(Code->Bytes != NULL);
}

_Use_decl_annotations_
BOOLEAN
ReaderFindJumpTarget(
    PCREADER_UNWIND Unwind,
    ULONG Rva,
    PULONG Target
    )
/*++

Routine Description:

    Finds where the jump at a place goes.

Arguments:

    Unwind - Supplies the image.

    Rva - Supplies the place.

    Target - Receives the address.

Return Value:

    FALSE if there is no direct jump that leaves the function.

--*/
{
    READER_CODE Code;
    ULONG Offset;

    if (!ReaderGetCode(Unwind, Rva, &Code)) {
        return FALSE;
    }

    Offset = Rva - Code.Rva;
    if (Code.Bytes[Offset] == X64_JUMP_NEAR &&
        Code.SizeInBytes - Offset >= X64_NEAR_SIZE) {
        *Target = Rva + X64_NEAR_SIZE +
                  ReaderLoadUlong(Code.Bytes + Offset + 1);
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
ReaderMayJumpOut(
    PCREADER_UNWIND Unwind,
    ULONG Rva
    )
/*++

Routine Description:

    Decides whether a function may jump to an exit hook: directly, or through
    the import table.  Every byte is taken for
    the start of an instruction, so that none is missed.

Arguments:

    Unwind - Supplies the image.

    Rva - Supplies the function's first address.

Return Value:

    FALSE only if it certainly does not.

--*/
{
    READER_CODE Code;
    ULONG Offset;
    ULONG Target;

    if (!ReaderGetCode(Unwind, Rva, &Code) || Code.Rva != Rva) {
        return TRUE;
    }

    for (Offset = 0; Offset + 2 <= Code.SizeInBytes; Offset++) {

        //
        // Through a register or a table only a switch jumps.
        //

        if (Code.Bytes[Offset] == X64_INDIRECT &&
            Code.Bytes[Offset + 1] == X64_JUMP_INDIRECT &&
            Code.SizeInBytes - Offset >= X64_INDIRECT_SIZE) {

            Target = Rva + Offset + X64_INDIRECT_SIZE +
                     ReaderLoadUlong(Code.Bytes + Offset + 2);
            if (Target < Unwind->SizeOfImage &&
                Target - Rva >= Code.SizeInBytes &&
                (Target & 7) == 0) {
                return TRUE;
            }
        }

        if (Code.Bytes[Offset] == X64_JUMP_NEAR &&
            Code.SizeInBytes - Offset >= X64_NEAR_SIZE) {

            Target = Rva + Offset + X64_NEAR_SIZE +
                     ReaderLoadUlong(Code.Bytes + Offset + 1);
            if (Target - Rva >= Code.SizeInBytes &&
                ReaderGetUnwindBytes(Unwind, Target, 1) != NULL) {
                return TRUE;
            }
        }
    }

    return FALSE;
}

static
ULONG
ReaderFindReference(
    _In_ PCREADER_CODE Code,
    _In_ ULONG Target
    )
/*++

Routine Description:

    Finds the first place where a function's address is made (lea, as a rule):
    where the distance to it stands, and not in a call or a jump.

Arguments:

    Code - Supplies the code.

    Target - Supplies the address.

Return Value:

    The offset of the distance, or the size of the code.

--*/
{
    ULONG Before;
    ULONG Offset;

    for (Offset = 2; Offset + 4 <= Code->SizeInBytes; Offset++) {

        if (Code->Rva + Offset + 4 +
                ReaderLoadUlong(Code->Bytes + Offset) != Target) {
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

static
BOOLEAN
ReaderIsCall(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Offset,
    _Out_ PULONG Target
    )
/*++

Routine Description:

    Says whether there may be a call at some place: one that leaves the
    function and arrives in the image.  What looks like a call may be part of
    another instruction, whose other bytes rarely make such a target.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the code.

    Offset - Supplies the place.

    Target - Receives the address that is called, or the address of the
        variable that has it.

Return Value:

    TRUE if so.

--*/
{
    ULONG Remaining = Code->SizeInBytes - Offset;

    if (Remaining >= X64_NEAR_SIZE && Code->Bytes[Offset] == X64_CALL_NEAR) {
        *Target = Code->Rva + Offset + X64_NEAR_SIZE +
                  ReaderLoadUlong(Code->Bytes + Offset + 1);
        return *Target - Code->Rva >= Code->SizeInBytes &&
               ReaderGetUnwindBytes(Unwind, *Target, 1) != NULL;
    }

    if (Remaining >= X64_INDIRECT_SIZE &&
        Code->Bytes[Offset] == X64_INDIRECT &&
        Code->Bytes[Offset + 1] == X64_CALL_INDIRECT) {
        *Target = Code->Rva + Offset + X64_INDIRECT_SIZE +
                  ReaderLoadUlong(Code->Bytes + Offset + 2);
        return *Target < Unwind->SizeOfImage;
    }

    return FALSE;
}

static
BOOLEAN
ReaderMayBeMade(
    _In_ PCREADER_CODE Code,
    _In_ ULONG Register,
    _In_ ULONG Address
    )
/*++

Routine Description:

    Decides whether a register may hold an address: whether there is a lea that
    makes it, or none that makes any.

Arguments:

    Code - Supplies the code.

    Register - Supplies the register's number.

    Address - Supplies the address.

Return Value:

    FALSE only if it certainly does not.

--*/
{
    BOOLEAN IsMade = FALSE;
    ULONG Offset;

    for (Offset = 0; Offset + X64_LEA_SIZE <= Code->SizeInBytes; Offset++) {

        if (Code->Bytes[Offset] == (Register < 8 ? X64_REX_W : X64_REX_WR) &&
            Code->Bytes[Offset + 1] == X64_LEA &&
            Code->Bytes[Offset + 2] == (((Register & 7) << 3) | 5)) {

            if (Code->Rva + Offset + X64_LEA_SIZE +
                    ReaderLoadUlong(Code->Bytes + Offset + 3) == Address) {
                return TRUE;
            }

            IsMade = TRUE;
        }
    }

    return (BOOLEAN)!IsMade;
}

static
BOOLEAN
ReaderMayBeArgument(
    _In_ PCREADER_CODE Code,
    _In_ ULONG First,
    _In_ ULONG Call,
    _In_ ULONG Address
    )
/*++

Routine Description:

    Decides whether a call may hand on an address as its first argument, in
    rcx.  The last instruction before the call that writes rcx tells: a lea, or
    a move from a register that is the result of one.

Arguments:

    Code - Supplies the code.

    First - Supplies the offset of the call before this one, or of the start.

    Call - Supplies the offset of the call.

    Address - Supplies the address.

Return Value:

    FALSE only if it certainly does not.

--*/
{
    const UCHAR *Bytes;
    ULONG Offset;

    for (Offset = Call; Offset > First; Offset--) {

        Bytes = Code->Bytes + Offset - 1;

        if (Call - (Offset - 1) >= X64_LEA_SIZE &&
            Bytes[0] == X64_REX_W &&
            Bytes[1] == X64_LEA &&
            Bytes[2] == X64_MODRM_RCX_RIP) {

            return (BOOLEAN)(Code->Rva + Offset - 1 + X64_LEA_SIZE +
                                 ReaderLoadUlong(Bytes + 3) == Address);
        }

        if (Call - (Offset - 1) < X64_MOVE_SIZE) {
            continue;
        }

        if ((Bytes[0] == X64_REX_W || Bytes[0] == X64_REX_WR) &&
            Bytes[1] == X64_MOVE_TO &&
            (Bytes[2] & 0xC7) == 0xC1) {

            return ReaderMayBeMade(Code,
                                   ((Bytes[2] >> 3) & 7) |
                                       (Bytes[0] == X64_REX_WR ? 8 : 0),
                                   Address);
        }

        if ((Bytes[0] == X64_REX_W || Bytes[0] == X64_REX_WB) &&
            Bytes[1] == X64_MOVE_FROM &&
            (Bytes[2] & 0x38) == 0x08) {

            return (Bytes[2] & 0xC0) != 0xC0 ||
                   ReaderMayBeMade(Code,
                                   (Bytes[2] & 7) |
                                       (Bytes[0] == X64_REX_WB ? 8 : 0),
                                   Address);
        }
    }

    return TRUE;
}

static
BOOLEAN
ReaderFindHook(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _Out_ PULONG Hook,
    _Out_ PULONG Offset
    )
/*++

Routine Description:

    Finds the entry hook that a function of -finstrument-functions calls: the
    first call after its own address was made.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the function's code.

    Hook - Receives the hook's address (see ReaderIsCall).

    Offset - Receives where the call is.

Return Value:

    FALSE if there is none.

--*/
{
    *Offset = ReaderFindReference(Code, Code->Rva) + sizeof(ULONG);
    if (*Offset < Code->PrologueSize) {
        *Offset = Code->PrologueSize;
    }

    while (*Offset < Code->SizeInBytes) {
        if (ReaderIsCall(Unwind, Code, *Offset, Hook)) {
            return TRUE;
        }
        *Offset += 1;
    }

    return FALSE;
}

static
BOOLEAN
ReaderAddCloned(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ ULONG Rva
    )
/*++

Routine Description:

    Adds a function to those that have copies.

Arguments:

    Unwind - Supplies the image.

    Rva - Supplies the function's first address.

Return Value:

    FALSE if there is no memory.

--*/
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

static
BOOLEAN
ReaderSearchCopy(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Hook
    )
/*++

Routine Description:

    Looks at one function: if it calls the entry hook but does not make its own
    address it is a copy of one of the functions whose addresses it makes.

Arguments:

    Unwind - Supplies the image; receives those functions.

    Code - Supplies the function's code.

    Hook - Supplies the hook's address.

Return Value:

    FALSE if there is no memory.

--*/
{
    const UCHAR *Bytes;
    const UCHAR *Entry;
    ULONG Offset;
    ULONG Target;

    for (Offset = 0; Offset < Code->SizeInBytes; Offset++) {
        if (ReaderIsCall(Unwind, Code, Offset, &Target) && Target == Hook) {
            break;
        }
    }

    if (Offset == Code->SizeInBytes ||
        ReaderFindReference(Code, Code->Rva) < Code->SizeInBytes) {
        return TRUE;
    }

    for (Offset = 0; Offset + X64_LEA_SIZE <= Code->SizeInBytes; Offset++) {

        Bytes = Code->Bytes + Offset;
        if ((Bytes[0] != X64_REX_W && Bytes[0] != X64_REX_WR) ||
            Bytes[1] != X64_LEA ||
            (Bytes[2] & 0xC7) != 5) {
            continue;
        }

        Target = Code->Rva + Offset + X64_LEA_SIZE + ReaderLoadUlong(Bytes + 3);
        Entry = ReaderFindUnwindEntry(Unwind, Target);
        if (Entry != NULL &&
            ReaderLoadUlong(Entry + PE_FUNCTION_BEGIN) == Target &&
            !ReaderAddCloned(Unwind, Target)) {
            return FALSE;
        }
    }

    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
ReaderHasClone(
    PREADER_UNWIND Unwind,
    ULONG Rva
    )
/*++

Routine Description:

    Decides whether a function may also run as a copy.

Arguments:

    Unwind - Supplies the image.

    Rva - Supplies the function's first address.

Return Value:

    FALSE only if it certainly does not.

--*/
{
    READER_CODE Code;
    ULONG Hook;
    ULONG Index;
    ULONG Offset;

    if (!Unwind->IsClonesSearched) {

        if (!ReaderGetCode(Unwind, Rva, &Code) ||
            Code.Rva != Rva ||
            !ReaderFindHook(Unwind, &Code, &Hook, &Offset)) {
            return TRUE;
        }

        for (Index = 0; Index < Unwind->NumberOfFunctions; Index++) {

            if (ReaderGetCode(Unwind,
                              ReaderLoadUlong(Unwind->Functions +
                                              (SIZE_T)Index *
                                                  PE_FUNCTION_SIZE),
                              &Code) &&
                !ReaderSearchCopy(Unwind, &Code, Hook)) {
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
ReaderCountInlined(
    PCREADER_UNWIND Unwind,
    ULONG Outer,
    ULONG Inner
    )
/*++

Routine Description:

    Counts how often a function may have been inlined into another one.

    A function that is instrumented with -finstrument-functions begins by
    handing its own address to the hook: the first call after its address was
    made is one of the entry hook.  Any other call of that hook is for a
    function that was inlined, whose address it hands on.

Arguments:

    Unwind - Supplies the image.

    Outer - Supplies the function around, its first address.

    Inner - Supplies the function inside, likewise.

Return Value:

    At least as many times as it was; READER_INLINED_UNKNOWN if the code does
    not say.

--*/
{
    READER_CODE Code;
    ULONG Count = 0;
    ULONG First;
    ULONG Hook;
    ULONG Offset;
    ULONG Target;

    if (!ReaderGetCode(Unwind, Outer, &Code) ||
        Code.Rva != Outer ||
        !ReaderFindHook(Unwind, &Code, &Hook, &Offset)) {
        return READER_INLINED_UNKNOWN;
    }

    First = Offset;
    for (Offset += X64_NEAR_SIZE; Offset < Code.SizeInBytes; Offset++) {

        if (ReaderIsCall(Unwind, &Code, Offset, &Target)) {

            if (Target == Hook &&
                ReaderMayBeArgument(&Code, First, Offset, Inner)) {
                Count += 1;
            }

            First = Offset;
        }
    }

    return Count;
}
