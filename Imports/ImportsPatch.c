/*++

Module Name:

    ImportsPatch.c

Abstract:

    A module's import slots get the addresses of stubs.

    A slot is changed if its module's imports and what it imports are asked for,
    and if its target is code of a module that is loaded: what is data stays,
    and so does what is not resolved yet, and what somebody else has put there.

--*/

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
    if (Owner == IMPORTS_NONE || Owner == Importer ||
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
// Patches what one descriptor names.
//

static
VOID
ImportsPatchSlots(
    _In_ ULONG Index,
    _In_ ULONG Exporter,
    _In_ const ULONGLONG *Lookup,
    _Inout_ PVOID *Slots
    )
{
    PIMPORTS_MODULE Module = &ImportsModules[Index];
    PTRACE_IMPORTS_HEADER Counts = &ImportsState.Counts;
    IMPORTS_NAME Name;
    ULONG Count;
    ULONG Slot;

    while (*Lookup != 0) {
        for (Count = 0;
             Count < IMPORTS_SLOTS && Lookup[Count] != 0;
             Count += 1) {

            ImportsReadName(Module, Exporter, Lookup[Count], &Name);
            ImportsSlotFound[Count] = Slots[Count];
            ImportsSlotValues[Count] = ImportsWrap(Index,
                                                   Exporter,
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

        Lookup += Count;
        Slots += Count;
    }
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

    //
    // Without a lookup table the slots have lost the names.
    //

    for (;
         Size >= sizeof(*Descriptor) && Descriptor->Name != 0;
         Size -= sizeof(*Descriptor), Descriptor += 1) {

        if (Descriptor->OriginalFirstThunk == 0 ||
            Descriptor->OriginalFirstThunk >= Module->SizeInBytes ||
            Descriptor->FirstThunk >= Module->SizeInBytes ||
            Descriptor->Name >= Module->SizeInBytes) {

            continue;
        }

        ImportsPatchSlots(
            Index,
            ImportsFindModuleByName((PCSZ)Module->Base + Descriptor->Name),
            (const ULONGLONG *)(Module->Base +
                                Descriptor->OriginalFirstThunk),
            (PVOID *)(Module->Base + Descriptor->FirstThunk));
    }
}

//
// Has the loader filled a module's slots?  Until then each has what its lookup
// entry has.
//

static
BOOLEAN
ImportsIsFilled(
    _In_ const IMPORTS_MODULE *Module
    )
{
    PIMAGE_IMPORT_DESCRIPTOR Descriptor;
    ULONG Size;

    Descriptor = (PIMAGE_IMPORT_DESCRIPTOR)
        ImportsFindDirectory(Module, IMAGE_DIRECTORY_ENTRY_IMPORT, &Size);
    if (Descriptor == NULL || Size < sizeof(*Descriptor) ||
        Descriptor->Name == 0 || Descriptor->OriginalFirstThunk == 0 ||
        Descriptor->OriginalFirstThunk >= Module->SizeInBytes ||
        Descriptor->FirstThunk >= Module->SizeInBytes) {

        return TRUE;
    }

    return *(const ULONGLONG *)(Module->Base + Descriptor->FirstThunk) == 0 ||
           *(const ULONGLONG *)(Module->Base + Descriptor->FirstThunk) !=
               *(const ULONGLONG *)(Module->Base +
                                    Descriptor->OriginalFirstThunk);
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
