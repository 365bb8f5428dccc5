/*++

Module Name:

    KdImage.c

Abstract:

    An image as it lies in the target's memory.

--*/

#include "KdImage.h"

#define KD_MAXIMUM_SECTIONS         96u
#define KD_MAXIMUM_IMAGE            0x20000000u
#define KD_MAXIMUM_NAMES            0x00100000u

//
// After so many pages in a row that are not there the rest is not asked for.
//

#define KD_MISSING_PAGES            256u

static
_Success_(return != FALSE)
BOOLEAN
KdImageReadHeaders(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Base,
    _Out_ PIMAGE_NT_HEADERS64 Headers,
    _Out_ PULONG SectionsOffset
    )
{
    IMAGE_DOS_HEADER Dos;

    RtlZeroBytes(Headers, sizeof(*Headers));
    *SectionsOffset = 0;
    if (!KdContextRead(Context, Base, &Dos, sizeof(Dos)) ||
        Dos.e_magic != IMAGE_DOS_SIGNATURE ||
        Dos.e_lfanew < (LONG)sizeof(Dos) ||
        Dos.e_lfanew > 0x10000 ||
        !KdContextRead(Context,
                       Base + (ULONG)Dos.e_lfanew,
                       Headers,
                       sizeof(*Headers))) {
        return FALSE;
    }

    *SectionsOffset = (ULONG)Dos.e_lfanew +
                      FIELD_OFFSET(IMAGE_NT_HEADERS64, OptionalHeader) +
                      Headers->FileHeader.SizeOfOptionalHeader;
    return TRUE;
}

static
_Success_(return != FALSE)
BOOLEAN
KdImageReadSection(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Base,
    _In_ PIMAGE_NT_HEADERS64 Headers,
    _In_ ULONG SectionsOffset,
    _In_ ULONG Index,
    _Out_ PIMAGE_SECTION_HEADER Section
    )
{
    ULONG Size = Headers->OptionalHeader.SizeOfImage;

    if (Index >= Headers->FileHeader.NumberOfSections ||
        Index >= KD_MAXIMUM_SECTIONS ||
        !KdContextRead(Context,
                       Base + SectionsOffset + Index * sizeof(*Section),
                       Section,
                       sizeof(*Section))) {
        return FALSE;
    }

    if (Section->VirtualAddress > Size) {
        Section->VirtualAddress = Size;
    }

    if (Section->Misc.VirtualSize > Size - Section->VirtualAddress) {
        Section->Misc.VirtualSize = Size - Section->VirtualAddress;
    }

    return TRUE;
}

//
// Keeps a section's bytes.
//

_Must_inspect_result_
static
NTSTATUS
KdImageKeep(
    _Inout_ PKD_CONTEXT Context,
    _Inout_ PKD_IMAGE Image,
    _In_ const IMAGE_SECTION_HEADER *Section,
    _In_ BOOLEAN IsSlots
    )
{
    PREADER_UNWIND Unwind = &Image->Unwind;
    PREADER_UNWIND_SECTION Kept;
    ULONG Size = Section->Misc.VirtualSize;
    ULONG Done = 0;
    ULONG Missing = 0;
    ULONG Read;
    ULONG Index;

    for (Index = 0; Index < Unwind->NumberOfSections; Index++) {
        if (Unwind->Sections[Index].Rva == Section->VirtualAddress) {
            return STATUS_SUCCESS;
        }
    }

    if (Size == 0 || Unwind->NumberOfSections == KD_MAXIMUM_SECTIONS) {
        return STATUS_SUCCESS;
    }

    Kept = &Unwind->Sections[Unwind->NumberOfSections];
    Kept->Bytes = (PUCHAR)KdContextAllocate(Context, Size);
    if (Kept->Bytes == NULL) {
        return STATUS_NO_MEMORY;
    }

    Kept->Rva = Section->VirtualAddress;
    Kept->SizeInBytes = Size;
    Kept->IsSlots = IsSlots;
    Unwind->NumberOfSections += 1;

    while (Done < Size) {

        Read = KdContextReadSome(Context,
                                 Image->Base + Kept->Rva + Done,
                                 Kept->Bytes + Done,
                                 Size - Done);
        Done += Read;
        if (Context->IsStopped) {
            return STATUS_CANCELLED;
        }

        if (Done < Size) {

            //
            // To the next page.
            //

            Missing = Read == 0 ? Missing + 1 : 1;
            Read = KD_PAGE_SIZE - (Kept->Rva + Done) % KD_PAGE_SIZE;
            if (Read > Size - Done || Missing == KD_MISSING_PAGES) {
                Read = Size - Done;
            }

            Image->MissingInBytes += Read;
            Done += Read;
        }
    }

    return STATUS_SUCCESS;
}

//
// Keeps the section that an address is in.
//

_Must_inspect_result_
static
NTSTATUS
KdImageKeepAt(
    _Inout_ PKD_CONTEXT Context,
    _Inout_ PKD_IMAGE Image,
    _In_reads_(NumberOfSections) const IMAGE_SECTION_HEADER *Sections,
    _In_ ULONG NumberOfSections,
    _In_ ULONG Rva
    )
{
    ULONG Index;

    for (Index = 0; Index < NumberOfSections; Index++) {
        if (Rva >= Sections[Index].VirtualAddress &&
            Rva - Sections[Index].VirtualAddress <
                Sections[Index].Misc.VirtualSize) {
            return KdImageKeep(Context, Image, &Sections[Index], FALSE);
        }
    }

    return STATUS_SUCCESS;
}

//
// Keeps all that the unwind data is in, and, if it is wanted, the code.
//

_Must_inspect_result_
static
NTSTATUS
KdImageKeepAll(
    _Inout_ PKD_CONTEXT Context,
    _Inout_ PKD_IMAGE Image,
    _In_reads_(NumberOfSections) const IMAGE_SECTION_HEADER *Sections,
    _In_ ULONG NumberOfSections,
    _In_ const IMAGE_DATA_DIRECTORY *Exception,
    _In_ BOOLEAN WithCode
    )
{
    PREADER_UNWIND Unwind = &Image->Unwind;
    ULONG Rva = Exception->VirtualAddress;
    ULONG Last = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = KdImageKeepAt(Context, Image, Sections, NumberOfSections, Rva);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Unwind->Functions = ImageGetUnwindBytes(Unwind, Rva, Exception->Size);
    if (Unwind->Functions == NULL) {
        return STATUS_SUCCESS;
    }

    Unwind->NumberOfFunctions = Exception->Size / PE_FUNCTION_SIZE;

    for (Index = 0;
         WithCode && NT_SUCCESS(Status) && Index < NumberOfSections;
         Index++) {
        if ((Sections[Index].Characteristics & IMAGE_SCN_MEM_EXECUTE) != 0) {
            Status = KdImageKeep(Context, Image, &Sections[Index], FALSE);
        }
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Unwind->NumberOfFunctions;
         Index++) {

        Rva = ImageLoadUlong(Unwind->Functions +
                             (SIZE_T)Index * PE_FUNCTION_SIZE +
                             PE_FUNCTION_UNWIND);
        if (Index == 0 || Rva < Last || Rva - Last > KD_PAGE_SIZE) {
            Status = KdImageKeepAt(Context,
                                   Image,
                                   Sections,
                                   NumberOfSections,
                                   Rva);
            Last = Rva;
        }

        if (KdContextIsStopped(Context)) {
            Status = STATUS_CANCELLED;
        }
    }

    for (Index = 0;
         WithCode && NT_SUCCESS(Status) && Index < NumberOfSections;
         Index++) {
        Status = KdImageKeep(Context, Image, &Sections[Index], TRUE);
    }

    return Status;
}

//
// What an image's headers say.
//

static
NTSTATUS
KdImageOpenParts(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONGLONG Base,
    _Out_ PIMAGE_NT_HEADERS64 Headers,
    _Out_ PULONG SectionsOffset,
    _Out_ PKD_IMAGE Image
    )
{
    PIMAGE_DATA_DIRECTORY Directory;

    RtlZeroBytes(Image, sizeof(*Image));
    Image->Base = Base;
    if (!KdImageReadHeaders(Context, Base, Headers, SectionsOffset)) {
        return Context->IsStopped ? STATUS_CANCELLED : STATUS_PARTIAL_COPY;
    }

    if (Headers->Signature != IMAGE_NT_SIGNATURE ||
        Headers->FileHeader.Machine != IMAGE_FILE_MACHINE_AMD64 ||
        Headers->OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC ||
        Headers->OptionalHeader.SizeOfImage > KD_MAXIMUM_IMAGE ||
        Headers->OptionalHeader.NumberOfRvaAndSizes <=
            IMAGE_DIRECTORY_ENTRY_EXCEPTION) {
        return STATUS_INVALID_IMAGE_FORMAT;
    }

    Image->SizeOfImage = Headers->OptionalHeader.SizeOfImage;
    Image->TimeDateStamp = Headers->FileHeader.TimeDateStamp;
    Directory = &Headers->OptionalHeader
                     .DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    Image->ExportRva = Directory->VirtualAddress;
    Image->ExportSizeInBytes = Directory->Size;
    Image->Unwind.Allocator = &Context->Allocator;
    Image->Unwind.SizeOfImage = Image->SizeOfImage;
    Image->Unwind.ImageBase = Base;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
KdImageOpenHeaders(
    PKD_CONTEXT Context,
    ULONGLONG Base,
    PKD_IMAGE Image
    )
{
    IMAGE_NT_HEADERS64 Headers;
    ULONG SectionsOffset;

    return KdImageOpenParts(Context, Base, &Headers, &SectionsOffset, Image);
}

_Use_decl_annotations_
NTSTATUS
KdImageOpen(
    PKD_CONTEXT Context,
    ULONGLONG Base,
    BOOLEAN WithCode,
    PKD_IMAGE Image
    )
{
    IMAGE_NT_HEADERS64 Headers;
    PIMAGE_SECTION_HEADER Sections;
    PIMAGE_DATA_DIRECTORY Directory;
    ULONG SectionsOffset;
    ULONG Count = 0;
    NTSTATUS Status;

    Status = KdImageOpenParts(Context, Base, &Headers, &SectionsOffset, Image);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Directory = Headers.OptionalHeader.DataDirectory;
    Directory += IMAGE_DIRECTORY_ENTRY_EXCEPTION;
    if (Directory->VirtualAddress == 0 || Directory->Size < PE_FUNCTION_SIZE) {
        return STATUS_SUCCESS;
    }

    Image->Unwind.Sections = (PREADER_UNWIND_SECTION)
        KdContextAllocate(Context,
                          KD_MAXIMUM_SECTIONS * sizeof(READER_UNWIND_SECTION));
    Sections = (PIMAGE_SECTION_HEADER)
        KdContextAllocate(Context,
                          KD_MAXIMUM_SECTIONS * sizeof(IMAGE_SECTION_HEADER));
    if (Image->Unwind.Sections == NULL || Sections == NULL) {
        KdContextFree(Context, Sections);
        return STATUS_NO_MEMORY;
    }

    while (KdImageReadSection(Context,
                              Base,
                              &Headers,
                              SectionsOffset,
                              Count,
                              &Sections[Count])) {
        Count += 1;
        if (Count == KD_MAXIMUM_SECTIONS) {
            break;
        }
    }

    Status = KdImageKeepAll(Context,
                            Image,
                            Sections,
                            Count,
                            Directory,
                            WithCode);
    KdContextFree(Context, Sections);
    return Status;
}

_Use_decl_annotations_
VOID
KdImageRundown(
    PKD_IMAGE Image
    )
{
    ImageRundownUnwind(&Image->Unwind);
}

_Use_decl_annotations_
ULONGLONG
KdImageFindExport(
    PKD_CONTEXT Context,
    const KD_IMAGE *Image,
    PCSZ Name
    )
{
    IMAGE_EXPORT_DIRECTORY Directory;
    CHAR Found[64];
    ULONG Length = RtlLengthOfString(Name) + 1;
    ULONG Index;
    ULONG Rva;
    USHORT Ordinal;

    if (Image->ExportRva == 0 ||
        Length > sizeof(Found) ||
        !KdContextRead(Context,
                       Image->Base + Image->ExportRva,
                       &Directory,
                       sizeof(Directory)) ||
        Directory.NumberOfNames > KD_MAXIMUM_NAMES) {
        return 0;
    }

    for (Index = 0; Index < Directory.NumberOfNames; Index++) {

        if (KdContextIsStopped(Context) ||
            !KdContextRead(Context,
                           Image->Base + Directory.AddressOfNames +
                               Index * sizeof(ULONG),
                           &Rva,
                           sizeof(Rva))) {
            return 0;
        }

        if (!KdContextRead(Context, Image->Base + Rva, Found, Length) ||
            !RtlAreBytesEqual(Found, Name, Length)) {
            continue;
        }

        if (!KdContextRead(Context,
                           Image->Base + Directory.AddressOfNameOrdinals +
                               Index * sizeof(USHORT),
                           &Ordinal,
                           sizeof(Ordinal)) ||
            Ordinal >= Directory.NumberOfFunctions ||
            !KdContextRead(Context,
                           Image->Base + Directory.AddressOfFunctions +
                               Ordinal * sizeof(ULONG),
                           &Rva,
                           sizeof(Rva)) ||
            Rva >= Image->SizeOfImage) {
            return 0;
        }

        return Image->Base + Rva;
    }

    return 0;
}

_Use_decl_annotations_
BOOLEAN
KdImageGetDataSection(
    PKD_CONTEXT Context,
    const KD_IMAGE *Image,
    ULONG Index,
    PULONG Rva,
    PULONG SizeInBytes
    )
{
    IMAGE_NT_HEADERS64 Headers;
    IMAGE_SECTION_HEADER Section;
    ULONG SectionsOffset;

    *Rva = 0;
    *SizeInBytes = 0;
    if (!KdImageReadHeaders(Context, Image->Base, &Headers, &SectionsOffset) ||
        Headers.OptionalHeader.SizeOfImage > KD_MAXIMUM_IMAGE ||
        !KdImageReadSection(Context,
                            Image->Base,
                            &Headers,
                            SectionsOffset,
                            Index,
                            &Section)) {
        return FALSE;
    }

    if ((Section.Characteristics & IMAGE_SCN_MEM_WRITE) != 0 &&
        (Section.Characteristics & (IMAGE_SCN_MEM_EXECUTE |
                                    IMAGE_SCN_MEM_DISCARDABLE)) == 0) {
        *Rva = Section.VirtualAddress;
        *SizeInBytes = Section.Misc.VirtualSize;
    }

    return TRUE;
}
