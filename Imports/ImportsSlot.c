/*++

Module Name:

    ImportsSlot.c

Abstract:

    The slots that were changed, and what they had: they are given that back.

--*/

#include "ImportsSlot.h"

#define IMPORTS_CURRENT_PROCESS ((HANDLE)(LONG_PTR)-1)

typedef struct _IMPORTS_SLOT {
    PVOID *Place;
    PVOID Found;
    PVOID Given;
    ULONG Module;
    BOOLEAN IsStub;                 // it records: not one that only follows
    BOOLEAN IsLater;                // changed since all that was there was
} IMPORTS_SLOT;
typedef IMPORTS_SLOT *PIMPORTS_SLOT;

#define IMPORTS_SLOT_BLOCK_SIZE 0x10000
#define IMPORTS_SLOTS_PER_BLOCK                                             \
    ((IMPORTS_SLOT_BLOCK_SIZE - 2 * sizeof(PVOID)) / sizeof(IMPORTS_SLOT))

typedef struct _IMPORTS_SLOT_BLOCK {
    struct _IMPORTS_SLOT_BLOCK *Next;
    ULONGLONG NumberOfSlots;
    IMPORTS_SLOT Slots[IMPORTS_SLOTS_PER_BLOCK];
} IMPORTS_SLOT_BLOCK;
typedef IMPORTS_SLOT_BLOCK *PIMPORTS_SLOT_BLOCK;

C_ASSERT(sizeof(IMPORTS_SLOT_BLOCK) <= IMPORTS_SLOT_BLOCK_SIZE);

//
// The first one has room, or all are full.  They are kept for the next time.
//

static PIMPORTS_SLOT_BLOCK ImportsSlotBlocks;
static PIMPORTS_SLOT_BLOCK ImportsSpareBlocks;

//
// The pages that are writable now, from one slot to the next: changing what may
// be done with a page takes some microseconds, and a page has 512 slots.
//

static struct {
    PVOID Base;                     // NULL: none
    SIZE_T Size;
    ULONG Protection;               // to be given back
    ULONG Wanted;
} ImportsOpen;

_Use_decl_annotations_
VOID
ImportsCloseSlots(
    VOID
    )
{
    ULONG Ignored;

    if (ImportsOpen.Base != NULL &&
        ImportsOpen.Protection != ImportsOpen.Wanted) {

        (VOID)ImportsState.Rtl.NtProtectVirtualMemory(IMPORTS_CURRENT_PROCESS,
                                                      &ImportsOpen.Base,
                                                      &ImportsOpen.Size,
                                                      ImportsOpen.Protection,
                                                      &Ignored);
    }

    ImportsOpen.Base = NULL;
}

static
NTSTATUS
ImportsOpenSlot(
    _In_ ULONG Module,
    _In_ PVOID *Slot
    )
{
    PVOID Base;
    SIZE_T Size;
    ULONG Wanted;
    NTSTATUS Status;

    if (ImportsOpen.Base != NULL && (PBYTE)Slot >= (PBYTE)ImportsOpen.Base &&
        (PBYTE)(Slot + 1) <= (PBYTE)ImportsOpen.Base + ImportsOpen.Size) {

        return STATUS_SUCCESS;
    }

    ImportsCloseSlots();

    //
    // Some linkers put the slots beside code, which other threads may be
    // running.
    //

    Wanted = PAGE_READWRITE;
    if ((ImportsQuerySection(&ImportsModules[Module], Slot) &
         IMAGE_SCN_MEM_EXECUTE) != 0) {

        Wanted = PAGE_EXECUTE_READWRITE;
    }

    Base = Slot;
    Size = sizeof(*Slot);
    Status = ImportsState.Rtl.NtProtectVirtualMemory(IMPORTS_CURRENT_PROCESS,
                                                     &Base,
                                                     &Size,
                                                     Wanted,
                                                     &ImportsOpen.Protection);
    if (NT_SUCCESS(Status)) {
        ImportsOpen.Base = Base;
        ImportsOpen.Size = Size;
        ImportsOpen.Wanted = Wanted;
    }

    return Status;
}

//
// Puts a value into a slot that has another: STATUS_REVISION_MISMATCH if it has
// something else, or why its page cannot be made writable.
//

static
NTSTATUS
ImportsWriteSlot(
    _In_ ULONG Module,
    _Inout_ PVOID *Slot,
    _In_ PVOID Old,
    _In_ PVOID New
    )
{
    NTSTATUS Status;

    if (*(PVOID volatile *)Slot != Old) {
        return STATUS_REVISION_MISMATCH;
    }

    Status = ImportsOpenSlot(Module, Slot);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (InterlockedCompareExchangePointer((PVOID volatile *)Slot, New, Old) !=
        Old) {

        return STATUS_REVISION_MISMATCH;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
BOOLEAN
ImportsChangeSlot(
    ULONG Module,
    PVOID *Slot,
    PVOID Found,
    PVOID Given
    )
{
    PIMPORTS_SLOT_BLOCK Block;
    PIMPORTS_SLOT New;
    PVOID Base;

    //
    // What cannot be remembered is not changed.
    //

    Block = ImportsSlotBlocks;
    if (Block == NULL || Block->NumberOfSlots == IMPORTS_SLOTS_PER_BLOCK) {
        Block = ImportsSpareBlocks;
        if (Block != NULL) {
            ImportsSpareBlocks = Block->Next;
        } else if (NT_SUCCESS(RtlAllocatePages(&ImportsState.Rtl,
                                               IMPORTS_SLOT_BLOCK_SIZE,
                                               &Base))) {
            Block = (PIMPORTS_SLOT_BLOCK)Base;
        } else {
            return FALSE;
        }

        Block->Next = ImportsSlotBlocks;
        Block->NumberOfSlots = 0;
        ImportsSlotBlocks = Block;
    }

    if (!NT_SUCCESS(ImportsWriteSlot(Module, Slot, Found, Given))) {
        return FALSE;
    }

    New = &Block->Slots[Block->NumberOfSlots];
    New->Place = Slot;
    New->Found = Found;
    New->Given = Given;
    New->Module = Module;
    New->IsStub = ImportsFindStub(Given) != IMPORTS_NONE;
    New->IsLater = ImportsState.IsComplete;
    Block->NumberOfSlots += 1;
    return TRUE;
}

//
// What a slot that has a stub is to have again, though somebody else has put
// the stub there: the compiler's helper for delayed imports, which asks
// GetProcAddress.
//

static
PVOID
ImportsFindTarget(
    _In_ const VOID *Given
    )
{
    ULONG Stub = ImportsFindStub(Given);
    PVOID Target;

    if (Stub == IMPORTS_NONE) {
        return NULL;
    }

    Target = ImportsTargets[Stub];
    if (Target == ImportsState.OwnGetAddress) {
        Target = (PVOID)(ULONG_PTR)ImportsState.GetAddress[0];
    } else if (Target == ImportsState.OwnResolve) {
        Target = (PVOID)(ULONG_PTR)ImportsState.Resolve[0];
    } else if (Target != NULL && Target == ImportsState.OwnCreate) {
        Target = ImportsState.Create;
    }

    return Target;
}

static
VOID
ImportsRestoreDelayed(
    _In_ ULONG Index,
    _Inout_ PIMPORTS_RESTORED Restored
    )
{
    PIMPORTS_MODULE Module = &ImportsModules[Index];
    const IMAGE_DELAYLOAD_DESCRIPTOR *Delayed;
    PVOID *Slot;
    PVOID Given;
    PVOID Target;
    ULONG Size;

    Delayed = (const IMAGE_DELAYLOAD_DESCRIPTOR *)ImportsFindDirectory(
        Module, IMAGE_DIRECTORY_ENTRY_DELAY_IMPORT, &Size);
    for (;
         Delayed != NULL && Size >= sizeof(*Delayed) &&
         Delayed->DllNameRVA != 0;
         Size -= sizeof(*Delayed), Delayed += 1) {

        if ((Delayed->Attributes.AllAttributes & 1) == 0 ||
            Delayed->ImportAddressTableRVA == 0 ||
            Delayed->ImportAddressTableRVA >= Module->SizeInBytes) {

            continue;
        }

        Slot = (PVOID *)(Module->Base + Delayed->ImportAddressTableRVA);
        for (; (PBYTE)(Slot + 1) <= Module->Base + Module->SizeInBytes &&
               *Slot != NULL;
             Slot += 1) {

            Given = *Slot;
            Target = ImportsFindTarget(Given);
            if (Target == NULL) {
                continue;
            }

            if (NT_SUCCESS(ImportsWriteSlot(Index, Slot, Given, Target))) {
                Restored->NumberRestored += 1;
                Restored->NumberLater += 1;
            } else {
                Restored->NumberFailed += 1;
            }
        }
    }
}

_Use_decl_annotations_
VOID
ImportsRestoreSlots(
    PIMPORTS_RESTORED Restored
    )
{
    PIMPORTS_SLOT_BLOCK Block;
    PIMPORTS_SLOT Slot;
    NTSTATUS Status;
    ULONG Index;

    RtlZeroBytes(Restored, sizeof(*Restored));
    while (ImportsSlotBlocks != NULL) {
        Block = ImportsSlotBlocks;
        while (Block->NumberOfSlots != 0) {
            Block->NumberOfSlots -= 1;
            Slot = &Block->Slots[Block->NumberOfSlots];
            if (ImportsModules[Slot->Module].IsGone) {
                Restored->NumberGone += Slot->IsStub;
                continue;
            }

            Status = ImportsWriteSlot(Slot->Module,
                                      Slot->Place,
                                      Slot->Given,
                                      Slot->Found);
            if (NT_SUCCESS(Status)) {
                Restored->NumberRestored += Slot->IsStub;
                Restored->NumberLater += Slot->IsStub && Slot->IsLater;
            } else if (Status == STATUS_REVISION_MISMATCH) {
                Restored->NumberForeign += *Slot->Place != Slot->Found;
            } else {
                Restored->NumberFailed += 1;
            }
        }

        ImportsSlotBlocks = Block->Next;
        Block->Next = ImportsSpareBlocks;
        ImportsSpareBlocks = Block;
    }

    for (Index = 0; Index < ImportsState.NumberOfModules; Index += 1) {
        if (!ImportsModules[Index].IsGone && ImportsModules[Index].IsPatched &&
            ImportsModules[Index].IsCaller) {

            ImportsRestoreDelayed(Index, Restored);
        }
        ImportsModules[Index].IsPatched = FALSE;
    }

    ImportsCloseSlots();
}
