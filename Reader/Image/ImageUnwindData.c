/*++

Module Name:

    ImageUnwindData.c

Abstract:

    Unwind data: entries are kept and found, and give the size of a frame.

--*/

#include "ImageInstruction.h"
#include "ImageUnwindData.h"

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

_Use_decl_annotations_
ULONG
ImageLoadUlong(
    const UCHAR *Bytes
    )
{
    return (ULONG)Bytes[0] | ((ULONG)Bytes[1] << 8) |
           ((ULONG)Bytes[2] << 16) | ((ULONG)Bytes[3] << 24);
}

_Use_decl_annotations_
const UCHAR *
ImageGetUnwindBytes(
    PCREADER_UNWIND Unwind,
    ULONG Rva,
    ULONG SizeInBytes
    )
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
ImageReadSlot(
    PCREADER_UNWIND Unwind,
    ULONG Rva
    )
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
            Value = (ULONGLONG)ImageLoadUlong(Bytes) |
                    ((ULONGLONG)ImageLoadUlong(Bytes + 4) << 32);
            Value -= Unwind->ImageBase;
            return Value < Unwind->SizeOfImage ? (ULONG)Value : 0;
        }
    }

    return 0;
}

_Use_decl_annotations_
const UCHAR *
ImageFindUnwindEntry(
    PCREADER_UNWIND Unwind,
    ULONG Rva
    )
{
    const UCHAR *Entry;
    ULONG First = 0;
    ULONG Last = Unwind->NumberOfFunctions;
    ULONG Middle;

    while (First < Last) {

        Middle = First + (Last - First) / 2;
        Entry = Unwind->Functions + (SIZE_T)Middle * PE_FUNCTION_SIZE;
        if (Rva < ImageLoadUlong(Entry + PE_FUNCTION_BEGIN)) {
            Last = Middle;
        } else if (Rva >= ImageLoadUlong(Entry + PE_FUNCTION_END)) {
            First = Middle + 1;
        } else {
            return Entry;
        }
    }

    return NULL;
}

_Use_decl_annotations_
BOOLEAN
ImageFindUnwindStart(
    PCREADER_UNWIND Unwind,
    ULONG Rva,
    PULONG StartRva
    )
{
    const UCHAR *Entry;
    const UCHAR *Information;
    ULONG Link;
    ULONG UnwindRva;

    Entry = ImageFindUnwindEntry(Unwind, Rva);
    for (Link = 0; Entry != NULL && Link < READER_MAXIMUM_CHAIN; Link++) {

        UnwindRva = ImageLoadUlong(Entry + PE_FUNCTION_UNWIND);
        if ((UnwindRva & 1) != 0) {
            Entry = ImageGetUnwindBytes(Unwind,
                                        UnwindRva - 1,
                                        PE_FUNCTION_SIZE);
            continue;
        }

        Information = ImageGetUnwindBytes(Unwind,
                                          UnwindRva,
                                          PE_UNWIND_HEADER_SIZE);
        if (Information == NULL) {
            return FALSE;
        }

        if (((Information[0] >> 3) & PE_UNWIND_FLAG_CHAINED) == 0) {
            *StartRva = ImageLoadUlong(Entry + PE_FUNCTION_BEGIN);
            return TRUE;
        }

        Entry = ImageGetUnwindBytes(Unwind,
                                    UnwindRva + PE_UNWIND_HEADER_SIZE +
                                        (((ULONG)Information[2] + 1) & ~1u) *
                                            2,
                                    PE_FUNCTION_SIZE);
    }

    return FALSE;
}

//
// Keeps a section, unless it is kept already or has no bytes in the file.
// Sections of a damaged image can share their bytes: together, no more are
// kept than the file has.
//
// Unwind: it; has room.
// Returns FALSE if there is no memory.
//

static
BOOLEAN
ImageCopySection(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ PCREADER_COFF_SECTION Section,
    _In_ const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes
    )
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

//
// Finds the section that holds an address, code or not.
// Returns the section, or NULL.
//

static
_Ret_maybenull_
PCREADER_COFF_SECTION
ImageFindSectionOf(
    _In_ PCREADER_COFF Coff,
    _In_ ULONG Rva
    )
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

//
// Keeps the sections that have variables with functions' addresses, if the
// code loads them: gcc has one, called .refptr.NAME, for a function that may
// be in another image.
//
// Unwind: the code; receives the sections.
// Image: the image's file.
// SizeInBytes: the file's size.
// Returns FALSE if there is no memory.
//

static
BOOLEAN
ImageKeepSlots(
    _Inout_ PREADER_UNWIND Unwind,
    _In_ PCREADER_COFF Coff,
    _In_ const UCHAR *Image,
    _In_ ULONGLONG SizeInBytes
    )
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
        Section = ImageFindSectionOf(Coff, Code->Rva);
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

            Rva = Code->Rva + Offset + 5 + ImageLoadUlong(Bytes + 1);
            if ((Rva & 7) != 0) {
                continue;
            }

            if (Section == NULL ||
                Rva < Section->StartRva || Rva >= Section->EndRva) {
                Section = ImageFindSectionOf(Coff, Rva);
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
            Value = (ULONGLONG)ImageLoadUlong(Bytes) |
                    ((ULONGLONG)ImageLoadUlong(Bytes + 4) << 32);
            Value -= Coff->ImageBase;
            if (Value >= Coff->SizeOfImage) {
                continue;
            }

            Target = ImageFindSectionOf(Coff, (ULONG)Value);
            if (Target == NULL || !Target->IsExecutable) {
                continue;
            }

            Rva = Unwind->NumberOfSections;
            if (!ImageCopySection(Unwind, Section, Image, SizeInBytes)) {
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
ImageInitializeUnwind(
    PCALLOCATOR Allocator,
    PCREADER_COFF Coff,
    const UCHAR *Image,
    ULONGLONG SizeInBytes,
    PREADER_UNWIND Unwind
    )
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

    Section = ImageFindSectionOf(Coff, Coff->ExceptionRva);
    if (Section == NULL) {
        return STATUS_SUCCESS;
    }

    if (!ImageCopySection(Unwind, Section, Image, SizeInBytes)) {
        return STATUS_NO_MEMORY;
    }

    Unwind->Functions = ImageGetUnwindBytes(Unwind,
                                            Coff->ExceptionRva,
                                            Coff->ExceptionSizeInBytes);
    if (Unwind->Functions == NULL) {
        return STATUS_SUCCESS;
    }

    Unwind->NumberOfFunctions = Coff->ExceptionSizeInBytes / PE_FUNCTION_SIZE;

    for (Index = 0; Index < Coff->NumberOfSections; Index++) {
        if (Coff->Sections[Index].IsExecutable &&
            !ImageCopySection(Unwind,
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

        Rva = ImageLoadUlong(Unwind->Functions +
                             (SIZE_T)Index * PE_FUNCTION_SIZE +
                             PE_FUNCTION_UNWIND);
        if (Last != NULL && Rva >= Last->StartRva && Rva < Last->EndRva) {
            continue;
        }

        Section = ImageFindSectionOf(Coff, Rva);
        if (Section == NULL) {
            continue;
        }

        Last = Section;
        if (!ImageCopySection(Unwind, Section, Image, SizeInBytes)) {
            return STATUS_NO_MEMORY;
        }
    }

    if (!ImageKeepSlots(Unwind, Coff, Image, SizeInBytes)) {
        return STATUS_NO_MEMORY;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
ImageRundownUnwind(
    PREADER_UNWIND Unwind
    )
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

//
// Measures one unwind code.
// NumberOfSlots: how many two-byte slots there are.
// Version: the version of the unwind information.
// Slot: the code's first slot, and receives the next one's.
// SizeInBytes: by how much it lowered RSP.
// Returns FALSE if the code is not known or is cut off.
//

static
BOOLEAN
ImageMeasureCode(
    _In_reads_bytes_(NumberOfSlots * 2) const UCHAR *Codes,
    _In_ ULONG NumberOfSlots,
    _In_ ULONG Version,
    _Inout_ PULONG Slot,
    _Out_ PULONG SizeInBytes
    )
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
                           : ImageLoadUlong(Operand);
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
ImageFindUnwindFrame(
    PCREADER_UNWIND Unwind,
    ULONG Rva,
    PREADER_UNWIND_FRAME Frame
    )
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

    Entry = Rva == 0 ? NULL : ImageFindUnwindEntry(Unwind, Rva - 1);
    Frame->IsDynamic = FALSE;
    Frame->SavedInBytes = 0;

    for (Link = 0; Entry != NULL && Link < READER_MAXIMUM_CHAIN; Link++) {

        Begin = ImageLoadUlong(Entry + PE_FUNCTION_BEGIN);
        UnwindRva = ImageLoadUlong(Entry + PE_FUNCTION_UNWIND);

        //
        // Bit 0 says that the other 31 are where another entry is, whose
        // unwind information counts.
        //

        if ((UnwindRva & 1) != 0) {
            Entry = ImageGetUnwindBytes(Unwind,
                                        UnwindRva - 1,
                                        PE_FUNCTION_SIZE);
            continue;
        }

        Information = ImageGetUnwindBytes(Unwind,
                                          UnwindRva,
                                          PE_UNWIND_HEADER_SIZE);
        if (Information == NULL ||
            (Information[0] & 7) < 1 ||
            (Information[0] & 7) > 2) {
            return FALSE;
        }

        SlotsInBytes = (((ULONG)Information[2] + 1) & ~1u) * 2;
        if (ImageGetUnwindBytes(Unwind,
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
            if (!ImageMeasureCode(Information + PE_UNWIND_HEADER_SIZE,
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

        Entry = ImageGetUnwindBytes(Unwind,
                                    UnwindRva + PE_UNWIND_HEADER_SIZE +
                                         SlotsInBytes,
                                    PE_FUNCTION_SIZE);
    }

    return FALSE;
}

_Use_decl_annotations_
ULONG
ImageQueryUnwindRange(
    PCREADER_UNWIND Unwind,
    ULONG Index
    )
{
    return ImageLoadUlong(Unwind->Functions +
                          (SIZE_T)Index * PE_FUNCTION_SIZE +
                          PE_FUNCTION_BEGIN);
}
