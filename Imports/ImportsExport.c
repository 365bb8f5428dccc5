/*++

Module Name:

    ImportsExport.c

Abstract:

    What modules export: the name of an ordinal; and of an address, for slots
    whose descriptors have no lookup table any more.

--*/

#include "ImportsExport.h"

//
// A module's exports, whose tables lie inside of it, or NULL.
//

_Ret_maybenull_
static
PIMAGE_EXPORT_DIRECTORY
ImportsFindExports(
    _In_ const IMPORTS_MODULE *Module
    )
{
    PIMAGE_EXPORT_DIRECTORY Exports;
    ULONG Size;

    Exports = (PIMAGE_EXPORT_DIRECTORY)
        ImportsFindDirectory(Module, IMAGE_DIRECTORY_ENTRY_EXPORT, &Size);
    if (Exports == NULL || Size < sizeof(*Exports) ||
        Exports->NumberOfNames > Module->SizeInBytes / sizeof(ULONG) ||
        Exports->NumberOfFunctions > Module->SizeInBytes / sizeof(ULONG) ||
        Exports->AddressOfNames > Module->SizeInBytes -
            Exports->NumberOfNames * sizeof(ULONG) ||
        Exports->AddressOfFunctions > Module->SizeInBytes -
            Exports->NumberOfFunctions * sizeof(ULONG) ||
        Exports->AddressOfNameOrdinals > Module->SizeInBytes -
            Exports->NumberOfNames * sizeof(USHORT)) {

        return NULL;
    }

    return Exports;
}

_Use_decl_annotations_
VOID
ImportsNameOrdinal(
    const IMPORTS_MODULE *Module,
    PIMPORTS_NAME Name
    )
{
    PIMAGE_EXPORT_DIRECTORY Exports;
    const USHORT *Ordinals;
    const ULONG *Names;
    ULONG Index;

    Exports = ImportsFindExports(Module);
    if (Exports == NULL) {
        return;
    }

    Names = (const ULONG *)(Module->Base + Exports->AddressOfNames);
    Ordinals = (const USHORT *)(Module->Base + Exports->AddressOfNameOrdinals);
    for (Index = 0; Index < Exports->NumberOfNames; Index += 1) {
        if (Ordinals[Index] + Exports->Base == Name->Ordinal &&
            Names[Index] < Module->SizeInBytes) {

            Name->Text = (const CHAR *)Module->Base + Names[Index];
            Name->Length = RtlLengthOfString(Name->Text);
            return;
        }
    }
}

//
// The next name, from Index on, that a module exports an RVA by; their number
// if there is none.
//

static
ULONG
ImportsNextName(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const IMAGE_EXPORT_DIRECTORY *Exports,
    _In_ ULONG Rva,
    _In_ ULONG Index
    )
{
    const ULONG *Functions;
    const USHORT *Ordinals;
    const ULONG *Names;

    Functions = (const ULONG *)(Module->Base + Exports->AddressOfFunctions);
    Names = (const ULONG *)(Module->Base + Exports->AddressOfNames);
    Ordinals = (const USHORT *)(Module->Base + Exports->AddressOfNameOrdinals);
    while (Index < Exports->NumberOfNames &&
           (Ordinals[Index] >= Exports->NumberOfFunctions ||
            Functions[Ordinals[Index]] != Rva ||
            Names[Index] >= Module->SizeInBytes)) {

        Index += 1;
    }

    return Index;
}

static
VOID
ImportsSetName(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const IMAGE_EXPORT_DIRECTORY *Exports,
    _In_ ULONG Index,
    _Out_ PIMPORTS_NAME Name
    )
{
    RtlZeroBytes(Name, sizeof(*Name));
    Name->Text = (const CHAR *)Module->Base +
                 ((const ULONG *)(Module->Base +
                                  Exports->AddressOfNames))[Index];
    Name->Length = RtlLengthOfString(Name->Text);
}

_Use_decl_annotations_
BOOLEAN
ImportsNameAddress(
    const IMPORTS_MODULE *Module,
    const VOID *Address,
    PIMPORTS_NAME Name
    )
{
    PIMAGE_EXPORT_DIRECTORY Exports;
    const ULONG *Functions;
    ULONG Index;
    ULONG Rva;

    RtlZeroBytes(Name, sizeof(*Name));
    Exports = ImportsFindExports(Module);
    if (Exports == NULL) {
        return FALSE;
    }

    Rva = (ULONG)((const BYTE *)Address - Module->Base);
    Index = ImportsNextName(Module, Exports, Rva, 0);
    if (Index < Exports->NumberOfNames) {
        ImportsSetName(Module, Exports, Index, Name);
        return TRUE;
    }

    Functions = (const ULONG *)(Module->Base + Exports->AddressOfFunctions);
    for (Index = 0; Index < Exports->NumberOfFunctions; Index += 1) {
        if (Functions[Index] == Rva && (USHORT)(Index + Exports->Base) != 0) {
            Name->Ordinal = (USHORT)(Index + Exports->Base);
            return TRUE;
        }
    }

    return FALSE;
}

//
// The index of the name by which a module forwards to a function of another, or
// the number of its names.  A forwarder is "module.function" in the exports'
// own directory; which module that is need not be asked, as the loader has
// found the function through one of them.
//

static
ULONG
ImportsFindForwarder(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const IMAGE_EXPORT_DIRECTORY *Exports,
    _In_ PCSZ Function
    )
{
    const ULONG *Functions;
    const USHORT *Ordinals;
    const ULONG *Names;
    const BYTE *Directory;
    ULONG Length;
    ULONG Size;
    ULONG Index;
    ULONG Start;
    ULONG Place;
    PCSZ Text;

    Directory = (const BYTE *)ImportsFindDirectory(
        Module, IMAGE_DIRECTORY_ENTRY_EXPORT, &Size);
    Functions = (const ULONG *)(Module->Base + Exports->AddressOfFunctions);
    Names = (const ULONG *)(Module->Base + Exports->AddressOfNames);
    Ordinals = (const USHORT *)(Module->Base + Exports->AddressOfNameOrdinals);
    Length = RtlLengthOfString(Function);
    for (Index = 0; Index < Exports->NumberOfNames; Index += 1) {
        if (Ordinals[Index] >= Exports->NumberOfFunctions ||
            Functions[Ordinals[Index]] - (ULONG)(Directory - Module->Base) >=
                Size ||
            Names[Index] >= Module->SizeInBytes) {

            continue;
        }

        Text = (PCSZ)Module->Base + Functions[Ordinals[Index]];
        Start = 0;
        for (Place = 0; Text[Place] != 0; Place += 1) {
            if (Text[Place] == '.') {
                Start = Place + 1;
            }
        }

        if (Start != 0 && Place - Start == Length &&
            RtlAreBytesEqual(Text + Start, Function, Length)) {

            break;
        }
    }

    return Index;
}

_Use_decl_annotations_
BOOLEAN
ImportsNameForwarded(
    const IMPORTS_MODULE *Module,
    const IMPORTS_MODULE *Owner,
    const VOID *Address,
    PIMPORTS_NAME Name
    )
{
    PIMAGE_EXPORT_DIRECTORY Exports;
    PIMAGE_EXPORT_DIRECTORY Others;
    IMPORTS_NAME Other;
    ULONG Index;
    ULONG Found;
    ULONG Rva;

    Exports = ImportsFindExports(Module);
    Others = ImportsFindExports(Owner);
    if (Exports == NULL || Others == NULL) {
        return FALSE;
    }

    Rva = (ULONG)((const BYTE *)Address - Owner->Base);
    for (Index = ImportsNextName(Owner, Others, Rva, 0);
         Index < Others->NumberOfNames;
         Index = ImportsNextName(Owner, Others, Rva, Index + 1)) {

        ImportsSetName(Owner, Others, Index, &Other);
        Found = ImportsFindForwarder(Module, Exports, Other.Text);
        if (Found < Exports->NumberOfNames) {
            ImportsSetName(Module, Exports, Found, Name);
            return TRUE;
        }
    }

    return FALSE;
}
