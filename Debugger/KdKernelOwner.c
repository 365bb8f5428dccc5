/*++

Module Name:

    KdKernelOwner.c

Abstract:

    Whose a driver's records are.

    Interrupts and DPCs run in the context of whichever thread is current, on
    stacks of their own: among that thread's calls they would end them.

--*/

#include "../Reader/Collect/CollectStack.h"
#include "KdKernelOwner.h"

//
// Records of each ring among which the newest of all is looked for.
//

#define KD_NEWEST_RECORDS           64u

C_ASSERT(KD_ALL_THREADS == KD_NONE);

//
// A KD_FEED_NEXT: the next call of the owner that is shown.
//

static
NTSTATUS
KdKernelNextCall(
    _Inout_ PKD_FEED Feed,
    _Out_ PCORE_CALL Call
    )
{
    PKD_KERNEL_OWNERS This = (PKD_KERNEL_OWNERS)Feed;
    PKD_KERNEL_CALL Next;

    if (This->Next == KD_NONE) {
        return STATUS_END_OF_FILE;
    }

    Next = &This->Calls[This->Next];
    This->Next = Next->Next;
    Call->Timestamp = Next->Timestamp;
    Call->Site = Next->Rva;
    Call->Stack = Next->StackKind & ~TRACE_KIND_MASK;
    Call->Kind = Next->StackKind & TRACE_KIND_MASK;
    return STATUS_SUCCESS;
}

static
BOOLEAN
KdKernelIsOwner(
    _In_ const KD_KERNEL_OWNERS *This,
    _In_ ULONG Index,
    _In_ ULONG Id,
    _In_ BOOLEAN IsProcessor
    )
{
    return Index < This->NumberOfOwners && This->Owners[Index].Id == Id &&
           This->Owners[Index].IsProcessor == IsProcessor;
}

//
// Finds an owner, or adds it; KD_NONE: there is no memory.
//

static
ULONG
KdKernelFindOwner(
    _Inout_ PKD_KERNEL_OWNERS This,
    _In_ const COLLECT_OWNER *Owner
    )
{
    ULONG Id = Owner->IsProcessor ? Owner->Id / 4 : Owner->Id;
    PKD_KERNEL_OWNER New;
    ULONG Index;

    if (KdKernelIsOwner(This, This->Recent, Id, Owner->IsProcessor)) {
        return This->Recent;
    }

    for (Index = 0; Index < This->NumberOfOwners; Index++) {
        if (KdKernelIsOwner(This, Index, Id, Owner->IsProcessor)) {
            This->Recent = Index;
            return Index;
        }
    }

    This->Status = BaseGrowArray(&This->Driver->Context->Allocator,
                                 (PVOID *)&This->Owners,
                                 &This->CapacityOfOwners,
                                 This->NumberOfOwners + 1,
                                 sizeof(KD_KERNEL_OWNER));
    if (!NT_SUCCESS(This->Status)) {
        return KD_NONE;
    }

    New = &This->Owners[This->NumberOfOwners];
    New->Id = Id;
    New->IsProcessor = Owner->IsProcessor;
    New->NumberOfRecords = 0;
    New->First = KD_NONE;
    New->Last = KD_NONE;
    This->Recent = This->NumberOfOwners;
    This->NumberOfOwners += 1;
    return This->Recent;
}

//
// A COLLECT_PUT.
//

static
VOID
KdKernelPut(
    _In_opt_ PVOID Context,
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ ULONGLONG Timestamp,
    _In_ ULONG Site,
    _In_ ULONG StackKind
    )
{
    PKD_KERNEL_OWNERS This = (PKD_KERNEL_OWNERS)Context;
    PKD_KERNEL_OWNER Whose;
    PKD_KERNEL_CALL Call;
    ULONG Index;

    if (!NT_SUCCESS(This->Status)) {
        return;
    }

    Index = KdKernelFindOwner(This, Owner);
    if (Index == KD_NONE) {
        return;
    }

    This->Status = BaseGrowArray(&This->Driver->Context->Allocator,
                                 (PVOID *)&This->Calls,
                                 &This->CapacityOfCalls,
                                 This->NumberOfCalls + 1,
                                 sizeof(KD_KERNEL_CALL));
    if (!NT_SUCCESS(This->Status)) {
        return;
    }

    Call = &This->Calls[This->NumberOfCalls];
    Call->Timestamp = Timestamp;
    Call->Rva = Site - (ULONG)This->Driver->Header->ModuleBase;
    Call->StackKind = StackKind;
    Call->Next = KD_NONE;
    Call->Unused = 0;
    Whose = &This->Owners[Index];
    if (Whose->NumberOfRecords == 0) {
        Whose->First = This->NumberOfCalls;
    } else {
        This->Calls[Whose->Last].Next = This->NumberOfCalls;
    }

    Whose->Last = This->NumberOfCalls;
    Whose->NumberOfRecords += 1;
    This->NumberOfCalls += 1;
}

//
// Gathers the records of a thread, or of all, and gives them to whom they
// belong.  Good for KdKernelCloseOwners after a failure, too.
//

_Must_inspect_result_
static
NTSTATUS
KdKernelOpenOwners(
    _Inout_ PKD_DRIVER Driver,
    _In_ ULONG Thread,
    _In_ ULONG MaximumInRing,
    _Out_ PKD_KERNEL_OWNERS Owners
    )
{
    PKD_KERNEL_RECORD Record;
    COLLECT_STACKS Stacks;
    KD_KERNEL_FEED Feed;
    ULONG Index;
    NTSTATUS Status;

    RtlZeroBytes(Owners, sizeof(*Owners));
    Owners->Driver = Driver;
    Owners->Feed.Next = KdKernelNextCall;
    Owners->Feed.Names = &Driver->Names;
    Driver->UnreadInBytes = 0;
    Driver->NumberBad = 0;
    Status = KdKernelOpenFeed(Driver,
                              Thread,
                              KD_ALL_RINGS,
                              MaximumInRing,
                              &Feed);
    if (NT_SUCCESS(Status)) {
        Status = CollectStacksBegin(&Stacks,
                                    &Driver->Context->Allocator,
                                    Driver->Header->NumberOfRings,
                                    KdKernelPut,
                                    Owners);
    }

    if (!NT_SUCCESS(Status)) {
        KdKernelCloseFeed(&Feed);
        return Status;
    }

    for (Index = 0; NT_SUCCESS(Status) && Index < Feed.Count; Index++) {

        Record = &Feed.Records[Feed.Order[Index]];
        Status = CollectStacksTake(&Stacks, &Record->Record, Record->Ring);
        if (NT_SUCCESS(Status)) {
            Status = Owners->Status;
        }

        if (NT_SUCCESS(Status) && KdContextIsStopped(Driver->Context)) {
            Status = STATUS_CANCELLED;
        }
    }

    CollectStacksEnd(&Stacks);
    KdKernelCloseFeed(&Feed);
    return Status;
}

static
VOID
KdKernelCloseOwners(
    _Inout_ PKD_KERNEL_OWNERS Owners
    )
{
    PKD_CONTEXT Context = Owners->Driver->Context;

    KdContextFree(Context, Owners->Calls);
    KdContextFree(Context, Owners->Owners);
}

//
// The thread of the newest record; KD_NONE: there is no record.
//

_Must_inspect_result_
static
NTSTATUS
KdKernelFindThread(
    _Inout_ PKD_DRIVER Driver,
    _Out_ PULONG Thread
    )
{
    KD_KERNEL_FEED Feed;
    NTSTATUS Status;

    *Thread = KD_NONE;
    Status = KdKernelOpenFeed(Driver,
                              KD_ALL_THREADS,
                              KD_ALL_RINGS,
                              KD_NEWEST_RECORDS,
                              &Feed);
    if (NT_SUCCESS(Status) && Feed.Count != 0) {
        *Thread = TRACE_KERNEL_THREAD(
            Feed.Records[Feed.Order[Feed.Count - 1]].Record.ThreadIrql);
    }

    KdKernelCloseFeed(&Feed);
    return Status;
}

//
// Makes the feed that of an owner, says whose it is, and shows it.
// Thread: in whose context; KD_NONE: in that of any.
//

_Must_inspect_result_
static
NTSTATUS
KdKernelShowOwner(
    _Inout_ PKD_KERNEL_OWNERS Owners,
    _In_ ULONG Index,
    _In_ ULONG Thread,
    _In_ PKD_SHOW_OWNER Show,
    _In_ ULONG Wanted
    )
{
    PKD_DRIVER Driver = Owners->Driver;
    PKD_CONTEXT Context = Driver->Context;
    PKD_KERNEL_OWNER Owner = &Owners->Owners[Index];

    Owners->Next = Owner->First;
    Owners->Feed.StackBase = 0;
    Owners->Feed.StackLimit = 0;
    if (Owner->IsProcessor) {
        Owners->Feed.StackBase = COLLECT_PLACE + COLLECT_STACK_SIZE;
        Owners->Feed.StackLimit = COLLECT_PLACE - COLLECT_PLACE_BELOW;
        RtlWriteText(&Context->Writer,
                     "Processor %u, DISPATCH_LEVEL and above",
                     Owner->Id);
        if (Thread != KD_NONE) {
            RtlWriteText(&Context->Writer,
                         ", in the context of thread %x (%u)",
                         Thread,
                         Thread);
        }
    } else {
        RtlWriteText(&Context->Writer, "Thread %x (%u)", Owner->Id, Owner->Id);
    }

    RtlWriteText(&Context->Writer, ": ");
    KdNamesWriteText(Context,
                     Driver->Names.Modules[0]->Name,
                     Driver->Names.Modules[0]->NameLength);
    RtlWriteText(&Context->Writer,
                 " (%u records in the rings of %u processors)",
                 Owner->NumberOfRecords,
                 Driver->Header->NumberOfRings);
    return KdContextEndLine(Context) ? Show(Owners, Wanted) : STATUS_SUCCESS;
}

static
VOID
KdKernelWriteMissing(
    _In_ const KD_DRIVER *Driver
    )
{
    PKD_CONTEXT Context = Driver->Context;

    if (Driver->UnreadInBytes != 0) {
        RtlWriteText(&Context->Writer,
                     "# %llu records are not in memory that can be read",
                     Driver->UnreadInBytes / sizeof(TRACE_KERNEL_RECORD));
        KdContextEndLine(Context);
    }

    if (Driver->NumberBad != 0) {
        RtlWriteText(&Context->Writer,
                     "# %llu records cannot be what they are, and were left "
                     "out",
                     Driver->NumberBad);
        KdContextEndLine(Context);
    }
}

//
// Shows the threads, and behind them the processors.
//

_Must_inspect_result_
static
NTSTATUS
KdKernelShowOwners(
    _Inout_ PKD_DRIVER Driver,
    _In_ ULONG Thread,
    _In_ ULONG MaximumInRing,
    _In_ PKD_SHOW_OWNER Show,
    _In_ ULONG Wanted
    )
{
    PKD_CONTEXT Context = Driver->Context;
    KD_KERNEL_OWNERS Owners;
    ULONG Place;
    ULONG Index;
    NTSTATUS Status;

    Status = KdKernelOpenOwners(Driver, Thread, MaximumInRing, &Owners);
    for (Place = 0;
         NT_SUCCESS(Status) && Place < 2 * Owners.NumberOfOwners;
         Place++) {

        if (KdContextIsStopped(Context) || Context->IsCut) {
            break;
        }

        Index = Place % Owners.NumberOfOwners;
        if (Owners.Owners[Index].IsProcessor ==
            (Place >= Owners.NumberOfOwners)) {
            Status = KdKernelShowOwner(&Owners, Index, Thread, Show, Wanted);
        }
    }

    if (NT_SUCCESS(Status)) {

        if (Owners.NumberOfOwners == 0) {
            if (Thread == KD_NONE) {
                RtlWriteText(&Context->Writer, "No record is in memory.");
            } else {
                RtlWriteText(&Context->Writer,
                             "No record of thread %x (%u) is in the rings.",
                             Thread,
                             Thread);
            }
            KdContextEndLine(Context);
        }

        KdKernelWriteMissing(Driver);
    }

    KdKernelCloseOwners(&Owners);
    return Status;
}

_Use_decl_annotations_
VOID
KdKernelShow(
    PKD_CONTEXT Context,
    PCKD_ARGUMENT Module,
    ULONG Thread,
    BOOLEAN IsAll,
    ULONG MaximumInRing,
    PKD_SHOW_OWNER Show,
    ULONG Wanted
    )
{
    KD_DRIVER Driver;
    NTSTATUS Status = STATUS_SUCCESS;

    if (KdKernelOpenNamed(Context, Module->Text, Module->Length, &Driver)) {

        if (Thread == KD_NONE && !IsAll) {
            Status = KdKernelFindThread(&Driver, &Thread);
            IsAll = Thread == KD_NONE;
        }

        //
        // So many records there is room for.
        //

        if (IsAll && MaximumInRing >
                KD_MAXIMUM_GATHERED / Driver.Header->NumberOfRings) {
            MaximumInRing = KD_MAXIMUM_GATHERED / Driver.Header->NumberOfRings;
        }

        if (NT_SUCCESS(Status)) {
            Status = KdKernelShowOwners(&Driver,
                                        Thread,
                                        MaximumInRing,
                                        Show,
                                        Wanted);
        }

        KdContextWriteStatus(Context, Status);
    }

    KdKernelClose(&Driver);
}
