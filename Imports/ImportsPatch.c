/*++

Module Name:

    ImportsPatch.c

Abstract:

    A module's import slots get the addresses of stubs.

    A slot is changed if its module's imports and what it imports are asked for,
    and if its target is code of a module that is loaded: what is data stays,
    and so does what is not resolved yet, and what somebody else has put there.
    Its name is in the lookup table, or, of an old linker's image, whatever the
    address in it is exported as.

--*/

#include "ImportsExport.h"
#include "ImportsList.h"
#include "ImportsSlot.h"

//
// So many slots are looked at before any of them is written.
//

#define IMPORTS_SLOTS 4096

static PVOID ImportsSlotFound[IMPORTS_SLOTS];
static PVOID ImportsSlotValues[IMPORTS_SLOTS];

//
// The routine that takes the place of a function, if it is one of those that
// give out addresses; else NULL.
//

_Ret_maybenull_
static
PVOID
ImportsFindReplacement(
    _In_ PVOID Target
    )
{
    PIMPORTS State = &ImportsState;

    if (Target == (PVOID)(ULONG_PTR)State->GetAddress[0] ||
        Target == (PVOID)(ULONG_PTR)State->GetAddress[1]) {

        return State->OwnGetAddress;
    }

    if (Target == (PVOID)(ULONG_PTR)State->Resolve[0] ||
        Target == (PVOID)(ULONG_PTR)State->Resolve[1] ||
        Target == (PVOID)(ULONG_PTR)State->Resolve[2]) {

        return State->OwnResolve;
    }

    return State->AreChildren && State->Create != NULL &&
                   Target == State->Create
               ? State->OwnCreate
               : NULL;
}

_Use_decl_annotations_
PVOID
ImportsWrap(
    ULONG Importer,
    ULONG Exporter,
    PVOID Target,
    PCIMPORTS_NAME Name
    )
{
    PTRACE_IMPORTS_HEADER Counts = &ImportsState.Counts;
    IMPORTS_TRAITS Traits;
    IMPORTS_CHOICE Choice;
    PVOID Replacement;
    ULONG Owner;
    ULONG Stub;

    if (Target == NULL) {
        return Target;
    }

    Owner = ImportsFindModule(Target);
    if (Exporter == IMPORTS_NONE) {
        Exporter = Owner;
    }

    if (Owner != IMPORTS_NONE && ImportsModules[Owner].IsOurs) {
        return Target;
    }

    Replacement = ImportsFindReplacement(Target);
    Choice = Exporter == IMPORTS_NONE
                 ? ImportsUnwanted
                 : ImportsChoose(&ImportsModules[Importer],
                                 &ImportsModules[Exporter],
                                 Name);
    if (Choice == ImportsUnwanted) {
        return Replacement != NULL ? Replacement : Target;
    }

    Counts->NumberOfImports += 1;
    ImportsQueryTraits(Name, &Traits);
    if (Owner == IMPORTS_NONE || Owner == Importer || Name->IsUnknown ||
        !ImportsIsCode(&ImportsModules[Owner], Target)) {

        Counts->NumberLeftOut[TRACE_IMPORTS_DATA] += 1;
        return Target;
    }

    if (Traits.IsNever) {
        Counts->NumberLeftOut[TRACE_IMPORTS_NEVER] += 1;
        return Target;
    }

    if (Traits.IsTrivial && Choice != ImportsNamed) {
        Counts->NumberLeftOut[TRACE_IMPORTS_TRIVIAL] += 1;
        return Target;
    }

    //
    // No function of the system has more arguments than a small stub copies,
    // but those that take as many as their callers like.
    //

    Target = Replacement != NULL ? Replacement : Target;
    Stub = ImportsGetStub(Importer,
                          Exporter,
                          Target,
                          Name,
                          Traits.IsLarge || !ImportsModules[Owner].IsSystem);
    if (Stub == IMPORTS_NONE) {
        Counts->NumberLeftOut[TRACE_IMPORTS_NO_STUB] += 1;
        return Target;
    }

    return ImportsGetStubAddress(Stub);
}

//
// What a slot imports, by its lookup entry.
//

static
VOID
ImportsReadName(
    _In_ const IMPORTS_MODULE *Module,
    _In_ ULONG Exporter,
    _In_ ULONGLONG Lookup,
    _Out_ PIMPORTS_NAME Name
    )
{
    Name->Text = NULL;
    Name->Length = 0;
    Name->Ordinal = 0;
    Name->IsUnknown = FALSE;
    if ((Lookup & IMAGE_ORDINAL_FLAG64) != 0) {
        Name->Ordinal = (USHORT)Lookup;
        if (Exporter != IMPORTS_NONE) {
            ImportsNameOrdinal(&ImportsModules[Exporter], Name);
        }
    } else if (Lookup != 0 && Lookup < Module->SizeInBytes - 2) {
        Name->Text = (const CHAR *)Module->Base + Lookup +
                     FIELD_OFFSET(IMAGE_IMPORT_BY_NAME, Name);
        Name->Length = RtlLengthOfString(Name->Text);
    }
}

//
// What a slot imports, by the address in it: as its descriptor's module exports
// it, Exporter, or else the one that it leads to.  Returns which of the two, or
// Exporter if there is no such name.
//

static
ULONG
ImportsReadAddress(
    _In_ ULONG Importer,
    _In_ ULONG Exporter,
    _In_ const VOID *Address,
    _Out_ PIMPORTS_NAME Name
    )
{
    ULONG Owner;

    Owner = ImportsFindModule(Address);
    if (Owner != IMPORTS_NONE && Owner != Importer) {
        if (Exporter != IMPORTS_NONE && Exporter != Owner &&
            ImportsNameForwarded(&ImportsModules[Exporter],
                                 &ImportsModules[Owner],
                                 Address,
                                 Name)) {

            return Exporter;
        }

        if (ImportsNameAddress(&ImportsModules[Owner], Address, Name)) {
            return Owner;
        }
    }

    RtlZeroBytes(Name, sizeof(*Name));
    Name->IsUnknown = TRUE;
    return Exporter;
}

//
// Patches what one descriptor names.
//

static
VOID
ImportsPatchSlots(
    _In_ ULONG Index,
    _In_ ULONG Exporter,
    _In_opt_ const ULONGLONG *Lookup,
    _Inout_ PVOID *Slots
    )
{
    PIMPORTS_MODULE Module = &ImportsModules[Index];
    PTRACE_IMPORTS_HEADER Counts = &ImportsState.Counts;
    const ULONGLONG *Entries;
    const BYTE *Last;
    IMPORTS_NAME Name;
    ULONGLONG Left;
    ULONG Chosen;
    ULONG Count;
    ULONG Slot;

    //
    // Without a lookup table the slots have lost the names.  Neither leaves the
    // module.
    //

    Entries = Lookup != NULL ? Lookup : (const ULONGLONG *)Slots;
    Last = (const BYTE *)Entries;
    if ((const BYTE *)Slots > Last) {
        Last = (const BYTE *)Slots;
    }

    Left = (ULONG)(Module->Base + Module->SizeInBytes - Last) / sizeof(*Slots);
    while (Left != 0 && *Entries != 0) {
        for (Count = 0;
             Count < IMPORTS_SLOTS && Count < Left && Entries[Count] != 0;
             Count += 1) {

            Chosen = Exporter;
            ImportsSlotFound[Count] = Slots[Count];
            if (Lookup != NULL) {
                ImportsReadName(Module, Exporter, Entries[Count], &Name);
            } else {
                Chosen = ImportsReadAddress(Index,
                                            Exporter,
                                            ImportsSlotFound[Count],
                                            &Name);
            }
            ImportsSlotValues[Count] = ImportsWrap(Index,
                                                   Chosen,
                                                   ImportsSlotFound[Count],
                                                   &Name);
        }

        if (!ImportsState.IsStarting) {
            ImportsFlushFile();
        }

        for (Slot = 0; Slot < Count; Slot += 1) {
            if (ImportsSlotValues[Slot] == ImportsSlotFound[Slot]) {
                continue;
            }

            if (!ImportsChangeSlot(Index,
                                   &Slots[Slot],
                                   ImportsSlotFound[Slot],
                                   ImportsSlotValues[Slot])) {
                Counts->NumberLeftOut[TRACE_IMPORTS_NO_ACCESS] += 1;
            } else if (ImportsFindStub(ImportsSlotValues[Slot]) !=
                       IMPORTS_NONE) {
                Counts->NumberPatched += 1;
            }
        }

        Entries += Count;
        Slots += Count;
        Left -= Count;
    }
}

//
// The lookup table of a descriptor; NULL of one that an old linker has made, or
// a packer.
//

_Ret_maybenull_
static
const ULONGLONG *
ImportsFindLookup(
    _In_ const IMPORTS_MODULE *Module,
    _In_ const IMAGE_IMPORT_DESCRIPTOR *Descriptor
    )
{
    return Descriptor->OriginalFirstThunk == 0
               ? NULL
               : (const ULONGLONG *)(Module->Base +
                                     Descriptor->OriginalFirstThunk);
}

static
VOID
ImportsPatchModule(
    _In_ ULONG Index
    )
{
    PIMPORTS_MODULE Module = &ImportsModules[Index];
    PIMAGE_IMPORT_DESCRIPTOR Descriptor;
    ULONG Size;

    Descriptor = (PIMAGE_IMPORT_DESCRIPTOR)
        ImportsFindDirectory(Module, IMAGE_DIRECTORY_ENTRY_IMPORT, &Size);
    if (Descriptor == NULL) {
        return;
    }

    for (;
         Size >= sizeof(*Descriptor) && Descriptor->Name != 0;
         Size -= sizeof(*Descriptor), Descriptor += 1) {

        if (Descriptor->OriginalFirstThunk >= Module->SizeInBytes ||
            Descriptor->FirstThunk == 0 ||
            Descriptor->FirstThunk >= Module->SizeInBytes ||
            Descriptor->Name >= Module->SizeInBytes) {

            continue;
        }

        ImportsPatchSlots(
            Index,
            ImportsFindModuleByName((PCSZ)Module->Base + Descriptor->Name),
            ImportsFindLookup(Module, Descriptor),
            (PVOID *)(Module->Base + Descriptor->FirstThunk));
    }
}

//
// Has the loader filled a module's slots?  Until then each has what its lookup
// entry has, if there is one: where in the module a name is, or an ordinal.
//

static
BOOLEAN
ImportsIsFilled(
    _In_ const IMPORTS_MODULE *Module
    )
{
    PIMAGE_IMPORT_DESCRIPTOR Descriptor;
    const ULONGLONG *Lookup;
    ULONGLONG Slot;
    ULONG Size;

    Descriptor = (PIMAGE_IMPORT_DESCRIPTOR)
        ImportsFindDirectory(Module, IMAGE_DIRECTORY_ENTRY_IMPORT, &Size);
    if (Descriptor == NULL || Size < sizeof(*Descriptor) ||
        Descriptor->Name == 0 || Descriptor->FirstThunk == 0 ||
        Descriptor->OriginalFirstThunk > Module->SizeInBytes - sizeof(Slot) ||
        Descriptor->FirstThunk > Module->SizeInBytes - sizeof(Slot)) {

        return TRUE;
    }

    Lookup = ImportsFindLookup(Module, Descriptor);
    Slot = *(const ULONGLONG *)(Module->Base + Descriptor->FirstThunk);
    if (Lookup == NULL) {
        return Slot == 0 || (Slot >= Module->SizeInBytes &&
                             (Slot & IMAGE_ORDINAL_FLAG64) == 0);
    }

    return Slot == 0 || Slot != *Lookup;
}

_Use_decl_annotations_
VOID
ImportsPatchModules(
    VOID
    )
{
    PIMPORTS_MODULE Module;
    ULONG Index;

    ImportsState.IsPending = FALSE;
    for (Index = 0; Index < ImportsState.NumberOfModules; Index += 1) {
        Module = &ImportsModules[Index];
        if (Module->IsPatched || Module->IsGone) {
            continue;
        }

        if (Module->IsCaller && !ImportsIsFilled(Module)) {
            ImportsState.IsPending = TRUE;
            continue;
        }

        Module->IsPatched = TRUE;
        if (Module->IsCaller) {
            ImportsPatchModule(Index);
            ImportsCloseSlots();
        }
    }

    ImportsFlushFile();
}
