/*++

Module Name:

    KernelImage.c

Abstract:

    What the driver's own image says of itself, as it is in memory.

--*/

#include "Kernel.h"

#define IMAGE_CODEVIEW_RSDS     0x53445352
#define IMAGE_MAXIMUM_ENTRIES   16

//
// The linker's symbol for the image's first byte.
//

extern const IMAGE_DOS_HEADER __ImageBase;

typedef struct _IMAGE_CODEVIEW {
    ULONG Signature;
    BYTE Guid[16];
    ULONG Age;
    BYTE Path[1];
} IMAGE_CODEVIEW;

C_ASSERT(FIELD_OFFSET(IMAGE_CODEVIEW, Path) == 24);

//
// Copies a CodeView entry of SizeInBytes bytes.
//

static
VOID
KernelImageTakeCodeView(
    _In_ const IMAGE_CODEVIEW *Entry,
    _In_ ULONG SizeInBytes,
    _Inout_ PTRACE_KERNEL_HEADER Header
    )
{
    ULONG Length;
    ULONG Index;

    if (SizeInBytes < FIELD_OFFSET(IMAGE_CODEVIEW, Path) ||
        Entry->Signature != IMAGE_CODEVIEW_RSDS) {
        return;
    }

    for (Index = 0; Index < sizeof(Entry->Guid); Index += 1) {
        Header->CodeViewGuid[Index] = Entry->Guid[Index];
    }
    Header->CodeViewAge = Entry->Age;

    Length = SizeInBytes - FIELD_OFFSET(IMAGE_CODEVIEW, Path);
    if (Length > sizeof(Header->PdbPath)) {
        Length = sizeof(Header->PdbPath);
    }
    for (Index = 0; Index < Length && Entry->Path[Index] != 0; Index += 1) {
        Header->PdbPath[Index] = Entry->Path[Index];
    }
    Header->PdbPathLength = Index;
}

static
const IMAGE_NT_HEADERS64 *
KernelImageHeaders(
    VOID
    )
{
    return (const IMAGE_NT_HEADERS64 *)((const BYTE *)&__ImageBase +
                                        __ImageBase.e_lfanew);
}

//
// Finds a directory.
// Returns NULL if there is none, or it is not within the image.
//

static
const IMAGE_DATA_DIRECTORY *
KernelImageDirectory(
    _In_ ULONG Index
    )
{
    const IMAGE_NT_HEADERS64 *Nt;
    const IMAGE_DATA_DIRECTORY *Directory;
    ULONG Size;

    Nt = KernelImageHeaders();
    Size = Nt->OptionalHeader.SizeOfImage;
    Directory = &Nt->OptionalHeader.DataDirectory[Index];
    if (Nt->OptionalHeader.NumberOfRvaAndSizes <= Index ||
        Directory->VirtualAddress == 0 || Directory->VirtualAddress >= Size ||
        Directory->Size > Size - Directory->VirtualAddress) {

        return NULL;
    }
    return Directory;
}

_Use_decl_annotations_
ULONG
KernelImageCountFunctions(
    VOID
    )
{
    const IMAGE_DATA_DIRECTORY *Directory;

    Directory = KernelImageDirectory(IMAGE_DIRECTORY_ENTRY_EXCEPTION);
    return Directory == NULL ?
           0 : Directory->Size / sizeof(IMAGE_RUNTIME_FUNCTION_ENTRY);
}

_Use_decl_annotations_
VOID
KernelImageDescribe(
    PTRACE_KERNEL_HEADER Header
    )
{
    const BYTE *Base;
    const IMAGE_NT_HEADERS64 *Nt;
    const IMAGE_DATA_DIRECTORY *Directory;
    const IMAGE_DEBUG_DIRECTORY *Entry;
    ULONG Size;
    ULONG Index;

    Base = (const BYTE *)&__ImageBase;
    Nt = KernelImageHeaders();
    Size = Nt->OptionalHeader.SizeOfImage;

    Header->ModuleBase = (ULONG_PTR)Base;
    Header->ModuleSize = Size;
    Header->ModuleTimeDateStamp = Nt->FileHeader.TimeDateStamp;
    Header->ModuleCheckSum = Nt->OptionalHeader.CheckSum;

    Directory = KernelImageDirectory(IMAGE_DIRECTORY_ENTRY_DEBUG);
    if (Directory == NULL) {
        return;
    }

    Entry = (const IMAGE_DEBUG_DIRECTORY *)(Base + Directory->VirtualAddress);
    for (Index = 0;
         Index < Directory->Size / sizeof(*Entry) &&
         Index < IMAGE_MAXIMUM_ENTRIES;
         Index += 1) {

        //
        // What is not mapped has no address.  Nothing of a driver's debug data
        // is discarded before DriverEntry has returned.
        //

        if (Entry[Index].Type == IMAGE_DEBUG_TYPE_CODEVIEW &&
            Entry[Index].AddressOfRawData != 0 &&
            Entry[Index].AddressOfRawData < Size &&
            Entry[Index].SizeOfData <= Size - Entry[Index].AddressOfRawData) {

            KernelImageTakeCodeView(
                (const IMAGE_CODEVIEW *)(Base +
                                         Entry[Index].AddressOfRawData),
                Entry[Index].SizeOfData,
                Header);
            return;
        }
    }
}
