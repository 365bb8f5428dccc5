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
#define X64_JUMP_IF_SHORT               0x70    // + condition
#define X64_JUMP_IF_NEAR                0x80    // behind 0x0F, + condition
#define X64_INDIRECT                    0xFF    // with 0x15: call [rip + n]
#define X64_CALL_INDIRECT               0x15
#define X64_JUMP_INDIRECT               0x25    // likewise
#define X64_TWO_BYTES                   0x0F    // with 0x8n: jcc near
#define X64_LEA                         0x8D
#define X64_MOVE_TO                     0x89    // mov rm, r
#define X64_MOVE_FROM                   0x8B    // mov r, rm
#define X64_EXCHANGE                    0x87    // xchg rm, r
#define X64_EXCHANGE_RAX                0x90    // + register
#define X64_MOVE_IMMEDIATE              0xB8    // + register: mov r, imm64
#define X64_MOVE_IF                     0x40    // behind 0x0F, + condition
#define X64_MOVE_TO_XMM                 0x6E    // behind 0x66, REX and 0x0F:
#define X64_MOVE_FROM_XMM               0x7E    // movq between xmm and rm
#define X64_OPERAND_SIZE                0x66
#define X64_REX_W                       0x48    // 64 bits; R: the register,
#define X64_REX_WR                      0x4C    // B: rm is one of r8 to r15
#define X64_RCX                         1
#define X64_NEAR_SIZE                   5
#define X64_LEA_SIZE                    7
#define X64_MOVE_SIZE                   3
#define X64_IMMEDIATE_SIZE              10
#define X64_INDIRECT_SIZE               6
#define X64_JUMP_IF_SIZE                6

//
// How far from a call its argument is looked for, and the largest function
// that is searched for calls; both in bytes.
//

#define READER_MAXIMUM_ARGUMENT         256
#define READER_MAXIMUM_SEARCHED         0x40000

typedef struct _READER_CODE {
    const UCHAR *Bytes;
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

_Use_decl_annotations_
const UCHAR *
ReaderGetUnwindBytes(
    PCREADER_UNWIND Unwind,
    ULONG Rva,
    ULONG SizeInBytes
    )
/*++

Routine Description:

    Finds the bytes of a range of addresses, in code or in unwind data.

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
        if (!Section->IsSlots &&
            Rva >= Section->Rva &&
            Rva - Section->Rva < Section->SizeInBytes &&
            SizeInBytes <= Section->SizeInBytes - (Rva - Section->Rva)) {
            return Section->Bytes + (Rva - Section->Rva);
        }
    }

    return NULL;
}

_Use_decl_annotations_
ULONG
ReaderReadSlot(
    PCREADER_UNWIND Unwind,
    ULONG Rva
    )
/*++

Routine Description:

    Reads the address that a variable has from the start.

Arguments:

    Unwind - Supplies the image's sections.

    Rva - Supplies where the variable is.

Return Value:

    The address, image-relative, or 0 if there is none in the image.

--*/
{
    PCREADER_UNWIND_SECTION Section;
    const UCHAR *Bytes;
    ULONGLONG Value;
    ULONG Index;

    if ((Rva & 7) != 0) {
        return 0;
    }

    for (Index = 0; Index < Unwind->NumberOfSections; Index++) {

        Section = &Unwind->Sections[Index];
        if (Rva >= Section->Rva &&
            Rva - Section->Rva < Section->SizeInBytes &&
            Section->SizeInBytes - (Rva - Section->Rva) >= sizeof(Value)) {

            Bytes = Section->Bytes + (Rva - Section->Rva);
            Value = (ULONGLONG)ReaderLoadUlong(Bytes) |
                    ((ULONGLONG)ReaderLoadUlong(Bytes + 4) << 32);
            Value -= Unwind->ImageBase;
            return Value < Unwind->SizeOfImage ? (ULONG)Value : 0;
        }
    }

    return 0;
}

_Use_decl_annotations_
const UCHAR *
ReaderFindUnwindEntry(
    PCREADER_UNWIND Unwind,
    ULONG Rva
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
    Kept->IsSlots = FALSE;
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

static
BOOLEAN
ReaderKeepSlots(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ PCREADER_COFF Coff,
    _In_ const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes
    )
/*++

Routine Description:

    Keeps the sections that have variables with functions' addresses, if the
    code loads them: gcc has one, called .refptr.NAME, for a function that may
    be in another image.

Arguments:

    Unwind - Supplies the code; receives the sections.

    Coff - Supplies the image's sections.

    Image - Supplies the image's file.

    SizeInBytes - Supplies the file's size.

Return Value:

    FALSE if there is no memory.

--*/
{
    PCREADER_UNWIND_SECTION Code;
    PCREADER_COFF_SECTION Section;
    PCREADER_COFF_SECTION Target;
    const UCHAR *Bytes;
    ULONGLONG Value;
    ULONG Index;
    ULONG NumberOfSections = Unwind->NumberOfSections;
    ULONG Offset;
    ULONG Rva;

    for (Index = 0; Index < NumberOfSections; Index++) {

        Code = &Unwind->Sections[Index];
        Section = ReaderFindSectionOf(Coff, Code->Rva);
        if (Section == NULL || !Section->IsExecutable) {
            continue;
        }

        Section = NULL;
        for (Offset = 2; Offset + 5 <= Code->SizeInBytes; Offset++) {

            //
            // mov r, [rip + n], or the same with a condition; or the jump that
            // our hooks begin with.
            //

            Bytes = Code->Bytes + Offset;
            if ((Bytes[0] & 0xC7) != 5 ||
                (Bytes[-1] != X64_MOVE_FROM &&
                 (Bytes[-1] != X64_INDIRECT ||
                  Bytes[0] != X64_JUMP_INDIRECT) &&
                 ((Bytes[-1] & 0xF0) != X64_MOVE_IF ||
                  Bytes[-2] != X64_TWO_BYTES))) {
                continue;
            }

            Rva = Code->Rva + Offset + 5 + ReaderLoadUlong(Bytes + 1);
            if ((Rva & 7) != 0) {
                continue;
            }

            if (Section == NULL ||
                Rva < Section->StartRva || Rva >= Section->EndRva) {
                Section = ReaderFindSectionOf(Coff, Rva);
            }

            if (Section == NULL ||
                Section->IsExecutable ||
                Rva - Section->StartRva >= Section->RawSizeInBytes ||
                SizeInBytes < sizeof(Value) ||
                (ULONGLONG)Section->RawOffset + (Rva - Section->StartRva) >
                    SizeInBytes - sizeof(Value)) {
                continue;
            }

            Bytes = Image + Section->RawOffset + (Rva - Section->StartRva);
            Value = (ULONGLONG)ReaderLoadUlong(Bytes) |
                    ((ULONGLONG)ReaderLoadUlong(Bytes + 4) << 32);
            Value -= Coff->ImageBase;
            if (Value >= Coff->SizeOfImage) {
                continue;
            }

            Target = ReaderFindSectionOf(Coff, (ULONG)Value);
            if (Target == NULL || !Target->IsExecutable) {
                continue;
            }

            Rva = Unwind->NumberOfSections;
            if (!ReaderCopySection(Unwind, Section, Image, SizeInBytes)) {
                return FALSE;
            }

            if (Unwind->NumberOfSections != Rva) {
                Unwind->Sections[Rva].IsSlots = TRUE;
            }
        }
    }

    return TRUE;
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
    Unwind->ImageBase = Coff->ImageBase;
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

    if (!ReaderKeepSlots(Unwind, Coff, Image, SizeInBytes)) {
        return STATUS_NO_MEMORY;
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
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Target
    )
/*++

Routine Description:

    Finds the first place where a function's address is made (lea, as a rule)
    or loaded: where the distance to it, or to a variable that has it, stands,
    and not in a call or a jump.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the code.

    Target - Supplies the address.

Return Value:

    The offset of the distance, or the size of the code.

--*/
{
    ULONG Before;
    ULONG Offset;
    ULONG Rva;

    for (Offset = 2; Offset + 4 <= Code->SizeInBytes; Offset++) {

        Rva = Code->Rva + Offset + 4 + ReaderLoadUlong(Code->Bytes + Offset);
        if (Rva != Target &&
            ((Code->Bytes[Offset - 1] & 0xC7) != 5 ||
             ReaderReadSlot(Unwind, Rva) != Target)) {
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
ULONG
ReaderGetSource(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG ModRm,
    _In_ BOOLEAN IsLea
    )
/*++

Routine Description:

    Finds the address that an instruction with the operand [rip + n], and
    nothing behind it, gives to its register.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the code.

    ModRm - Supplies the offset of the byte that n follows.

    IsLea - Supplies whether it is a lea, not a load.

Return Value:

    The address, or 0 if it is none in the image.

--*/
{
    ULONG Rva;

    if (Code->SizeInBytes - ModRm < 1 + sizeof(ULONG)) {
        return 0;
    }

    Rva = Code->Rva + ModRm + 1 + (ULONG)sizeof(ULONG) +
          ReaderLoadUlong(Code->Bytes + ModRm + 1);
    return IsLea ? Rva : ReaderReadSlot(Unwind, Rva);
}

static
BOOLEAN
ReaderIsImmediate(
    _In_ PCREADER_UNWIND Unwind,
    _In_ const UCHAR *Bytes,
    _In_ ULONG Address
    )
/*++

Routine Description:

    Says whether eight bytes of an instruction are a function's address.

Arguments:

    Unwind - Supplies the image.

    Bytes - Supplies them.

    Address - Supplies the address, image-relative.

Return Value:

    TRUE if so.

--*/
{
    ULONGLONG Value = (ULONGLONG)ReaderLoadUlong(Bytes) |
                      ((ULONGLONG)ReaderLoadUlong(Bytes + 4) << 32);

    return (BOOLEAN)(Value - Unwind->ImageBase == Address);
}

static
VOID
ReaderFollowInstruction(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Offset,
    _Inout_ PREADER_HOLDERS Holders
    )
/*++

Routine Description:

    Adds where a function's address may be after an instruction, if it is one
    that makes or copies 64 bits.

    A push is not among them: what is pushed are the caller's registers.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the code.

    Offset - Supplies where the instruction is.

    Holders - Supplies where the address may be before it, and receives where
        after it.

Return Value:

    None.

--*/
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
            ReaderIsImmediate(Unwind, Bytes + 2, Holders->Address)) {
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
            IsHeld = (BOOLEAN)(ReaderGetSource(
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

static
VOID
ReaderFindHolders(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG Address,
    _Out_ PREADER_HOLDERS Holders
    )
/*++

Routine Description:

    Finds where a function may have another one's address, at any time.  Every
    byte is taken for the start of an instruction, so that none is missed.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the function's code.

    Address - Supplies the other one's address.

    Holders - Receives where it may be.

Return Value:

    None.

--*/
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
            ReaderFollowInstruction(Unwind, Code, Offset, Holders);
        }

    } while (Registers != Holders->Registers ||
             IsSpilled != Holders->IsSpilled);
}

static
READER_ARGUMENT
ReaderFindArgument(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG First,
    _In_ ULONG Call,
    _In_ PCREADER_HOLDERS Holders
    )
/*++

Routine Description:

    Decides whether a call may hand on an address as its first argument, in
    rcx.  The last instruction before the call that writes rcx tells.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the code.

    First - Supplies the offset of the call before this one, or of the start.

    Call - Supplies the offset of the call.

    Holders - Supplies the address, and where the function may have it.

Return Value:

    ReaderArgumentOther only if it certainly does not.

--*/
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
        if (Size < X64_MOVE_SIZE) {
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

            IsIt = ReaderIsImmediate(Unwind, Bytes + 2, Holders->Address);

        } else if ((Bytes[1] == X64_LEA || Bytes[1] == X64_MOVE_FROM) &&
                   (Bytes[0] & 4) == 0 &&
                   Bytes[2] == ((X64_RCX << 3) | 5)) {

            if (Size < X64_LEA_SIZE) {
                continue;
            }

            IsIt = (BOOLEAN)(ReaderGetSource(
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

static
BOOLEAN
ReaderIsMerged(
    _In_ PCREADER_UNWIND Unwind,
    _In_ PCREADER_CODE Code,
    _In_ ULONG First,
    _In_ ULONG Offset,
    _In_ ULONG Hook,
    _In_ PCREADER_HOLDERS Holders
    )
/*++

Routine Description:

    Says whether there may be a jump at some place that takes an address in rcx
    to a call of the hook, where other addresses arrive, too.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the code.

    First - Supplies the offset of the call before the place, or of the start.

    Offset - Supplies the place.

    Hook - Supplies the hook's address.

    Holders - Supplies the address, and where the function may have it.

Return Value:

    TRUE if so.

--*/
{
    const UCHAR *Bytes = Code->Bytes + Offset;
    ULONG Remaining = Code->SizeInBytes - Offset;
    ULONG Call;
    ULONG Target;
    ULONG Address;

    if (Remaining >= 2 &&
        (Bytes[0] == X64_JUMP_SHORT ||
         (Bytes[0] & 0xF0) == X64_JUMP_IF_SHORT)) {

        Target = Offset + 2 + (ULONG)(LONG)(signed char)Bytes[1];

    } else if (Remaining >= X64_NEAR_SIZE && Bytes[0] == X64_JUMP_NEAR) {

        Target = Offset + X64_NEAR_SIZE + ReaderLoadUlong(Bytes + 1);

    } else if (Remaining >= X64_JUMP_IF_SIZE &&
               Bytes[0] == X64_TWO_BYTES &&
               (Bytes[1] & 0xF0) == X64_JUMP_IF_NEAR) {

        Target = Offset + X64_JUMP_IF_SIZE + ReaderLoadUlong(Bytes + 2);

    } else {
        return FALSE;
    }

    if (Target >= Code->SizeInBytes ||
        (Holders->Registers & (1u << X64_RCX)) == 0 ||
        ReaderFindArgument(Unwind, Code, First, Offset, Holders) !=
            ReaderArgumentIt) {
        return FALSE;
    }

    Call = Target;
    while (!ReaderIsCall(Unwind, Code, Call, &Address)) {
        Call += 1;
        if (Call == Code->SizeInBytes) {
            return FALSE;
        }
        if (Call - Target > READER_MAXIMUM_ARGUMENT) {
            return TRUE;
        }
    }

    if (Address != Hook ||
        ReaderFindArgument(Unwind, Code, Target, Call, Holders) !=
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
        if (ReaderIsCall(Unwind, Code, Address, &Target)) {
            return TRUE;
        }
    }

    return (BOOLEAN)(ReaderFindArgument(Unwind,
                                        Code,
                                        Offset,
                                        Call,
                                        Holders) != ReaderArgumentUnknown);
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
    first call, after its own address was made, that hands it on.  main calls
    __main before, which takes nothing.

Arguments:

    Unwind - Supplies the image.

    Code - Supplies the function's code.

    Hook - Receives the hook's address (see ReaderIsCall).

    Offset - Receives where the call is.

Return Value:

    FALSE if there is none.

--*/
{
    READER_HOLDERS Holders;

    *Offset = ReaderFindReference(Unwind, Code, Code->Rva) +
              (ULONG)sizeof(ULONG);
    if (*Offset < Code->PrologueSize) {
        *Offset = Code->PrologueSize;
    }

    if (*Offset >= Code->SizeInBytes ||
        Code->SizeInBytes > READER_MAXIMUM_SEARCHED) {
        return FALSE;
    }

    ReaderFindHolders(Unwind, Code, Code->Rva, &Holders);
    while (*Offset < Code->SizeInBytes) {
        if (ReaderIsCall(Unwind, Code, *Offset, Hook) &&
            ReaderFindArgument(Unwind, Code, 0, *Offset, &Holders) ==
                ReaderArgumentIt) {
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
        ReaderFindReference(Unwind, Code, Code->Rva) < Code->SizeInBytes) {
        return TRUE;
    }

    for (Offset = 0; Offset + X64_LEA_SIZE <= Code->SizeInBytes; Offset++) {

        Bytes = Code->Bytes + Offset;
        if ((Bytes[0] != X64_REX_W && Bytes[0] != X64_REX_WR) ||
            (Bytes[1] != X64_LEA && Bytes[1] != X64_MOVE_FROM) ||
            (Bytes[2] & 0xC7) != 5) {
            continue;
        }

        Target = Code->Rva + Offset + X64_LEA_SIZE + ReaderLoadUlong(Bytes + 3);
        if (Bytes[1] == X64_MOVE_FROM) {
            Target = ReaderReadSlot(Unwind, Target);
        }

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
    handing its own address to the hook: the first call that does is one of the
    entry hook.  Any other call of that hook is for a function that was
    inlined, whose address it hands on.

Arguments:

    Unwind - Supplies the image.

    Outer - Supplies the function around, its first address.

    Inner - Supplies the function inside, likewise.

Return Value:

    At least as many times as it was; READER_INLINED_UNKNOWN if the code does
    not say.

--*/
{
    READER_HOLDERS Holders;
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

    //
    // If the address is made nowhere, no call hands it on.
    //

    ReaderFindHolders(Unwind, &Code, Inner, &Holders);
    if (Holders.Registers == 0) {
        return 0;
    }

    First = Offset;
    for (Offset += X64_NEAR_SIZE; Offset < Code.SizeInBytes; Offset++) {

        if (ReaderIsCall(Unwind, &Code, Offset, &Target)) {

            if (Target == Hook &&
                ReaderFindArgument(Unwind, &Code, First, Offset, &Holders) !=
                    ReaderArgumentOther) {
                Count += 1;
            }

            First = Offset;

        } else if (ReaderIsMerged(Unwind,
                                  &Code,
                                  First,
                                  Offset,
                                  Hook,
                                  &Holders)) {
            Count += 1;
        }
    }

    return Count;
}
