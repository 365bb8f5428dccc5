/*++

Module Name:

    KdStores.c

Abstract:

    The stores of a process, as its own threads have them mapped.

    A store's first view begins with its header and stays mapped until the store
    is closed.  So each region of mapped memory is looked at where it begins; if
    the engine does not tell regions, the threads' TLS slots are, one of which
    leads to the header.  What else is mapped the header says: the view that the
    thread writes to begins where the position ViewFileOffset is, and Cursor and
    CursorToFileOffset say at which address.

--*/

#include "../Reader/Core/CoreLive.h"
#include "KdStores.h"
#include "KdTime.h"

//
// A view of a file begins at a multiple of this.
//

#define KD_GRANULARITY              0x10000u

//
// The first view's size, and the most that another one has, bytes.
//

#define KD_FIRST_VIEW               0x10000u
#define KD_LARGEST_VIEW             0x40000000ULL

#define KD_MAXIMUM_REGIONS          0x400000u
#define KD_MAXIMUM_STORES           0x4000u
#define KD_MAXIMUM_THREADS          0x10000u

//
// Thread environment block: 64 TLS slots, and a pointer to 1,024 more.
//

#define KD_TEB_SLOTS                0x1480u
#define KD_TEB_NUMBER_OF_SLOTS      64u
#define KD_TEB_MORE_SLOTS           0x1780u
#define KD_TEB_NUMBER_OF_MORE       1024u

//
// Says which records are mapped.
//

static
VOID
KdStoresAddRun(
    _Inout_ PKD_STORE Store,
    _In_ ULONGLONG Position,
    _In_ ULONGLONG End,
    _In_ ULONGLONG Address
    )
{
    PKD_RUN Run;
    ULONGLONG Size;

    if (Position < Store->First) {
        Address += Store->First - Position;
        Position = Store->First;
    }

    if (End > Store->End) {
        End = Store->End;
    }

    if (Position >= End || Store->NumberOfRuns == KD_MAXIMUM_RUNS) {
        return;
    }

    Size = End - Position;
    if (Size > KD_LARGEST_VIEW) {
        Size = KD_LARGEST_VIEW;
    }

    Run = &Store->Runs[Store->NumberOfRuns];
    Run->Position = Position;
    Run->Address = Address;
    Run->SizeInBytes = Size - Size % TRACE_RECORD_SIZE;
    if (Run->SizeInBytes != 0) {
        Store->NumberOfRuns += 1;
        Store->MappedInBytes += Run->SizeInBytes;
    }
}

static
VOID
KdStoresFindRuns(
    _Inout_ PKD_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    ULONGLONG View = Header->ViewFileOffset;
    ULONGLONG Base = View - Header->CursorToFileOffset;
    ULONGLONG RingEnd;
    ULONGLONG InRing;
    ULONGLONG Left;

    if (!CoreReadEndOfRecords(Header, &Store->End) ||
        Store->End < Header->HeaderSize ||
        Store->End > CORE_MAXIMUM_STREAM ||
        (Store->End - Header->HeaderSize) % TRACE_RECORD_SIZE != 0) {
        Store->End = 0;
        return;
    }

    Store->First = CoreReadFirstRecord(Header);
    if (Store->First > Store->End) {
        Store->First = Store->End;
    }

    KdStoresAddRun(Store,
                   Header->HeaderSize,
                   KD_FIRST_VIEW,
                   Store->Address + Header->HeaderSize);
    if ((Header->Generation & 1) != 0 ||
        View < KD_FIRST_VIEW ||
        View > Store->End ||
        Base % KD_GRANULARITY != 0) {
        return;
    }

    if (Header->Mode != TRACE_MODE_COMPACT) {
        KdStoresAddRun(Store, View, Store->End, Base);
        return;
    }

    //
    // All of the raw ring is one view.  What is behind its end comes again at
    // its beginning.
    //

    if (View < Header->RingFileOffset ||
        Header->RingFileOffset < KD_FIRST_VIEW ||
        Header->RingSizeInBytes == 0 ||
        Header->RingSizeInBytes > KD_LARGEST_VIEW) {
        return;
    }

    InRing = (View - Header->RingFileOffset) % Header->RingSizeInBytes;
    Base -= InRing;
    View = Store->First < Header->RingFileOffset ? Header->RingFileOffset
                                                 : Store->First;
    if (View >= Store->End) {
        return;
    }

    InRing = (View - Header->RingFileOffset) % Header->RingSizeInBytes;
    Left = Header->RingSizeInBytes - InRing;
    RingEnd = View + Left;
    KdStoresAddRun(Store, View, RingEnd, Base + InRing);
    if (RingEnd < Store->End) {
        KdStoresAddRun(Store,
                       RingEnd,
                       RingEnd + Header->RingSizeInBytes - Left,
                       Base);
    }
}

//
// Looks whether an address is that of a store's header, and adds it.
//

_Must_inspect_result_
static
NTSTATUS
KdStoresTry(
    _Inout_ PKD_STORES Stores,
    _In_ ULONGLONG Address
    )
{
    PKD_CONTEXT Context = Stores->Context;
    PCTRACE_STORE_HEADER Header;
    PKD_STORE Store;
    ULONGLONG Magic;
    ULONG Index;
    ULONG Length;
    NTSTATUS Status;

    if (Address % KD_GRANULARITY != 0 ||
        !KdContextRead(Context, Address, &Magic, sizeof(Magic)) ||
        Magic != TRACE_STORE_MAGIC) {
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < Stores->NumberOfStores; Index++) {
        if (Stores->Stores[Index]->Address == Address) {
            return STATUS_SUCCESS;
        }
    }

    if (Stores->NumberOfStores == KD_MAXIMUM_STORES) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(&Context->Allocator,
                           (PVOID *)&Stores->Stores,
                           &Stores->Capacity,
                           Stores->NumberOfStores + 1,
                           sizeof(PKD_STORE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Store = (PKD_STORE)KdContextAllocate(Context,
                                         sizeof(*Store) + TRACE_HEADER_SIZE);
    if (Store == NULL) {
        return STATUS_NO_MEMORY;
    }

    Stores->Stores[Stores->NumberOfStores] = Store;
    Stores->NumberOfStores += 1;
    Store->Address = Address;
    Store->Module = KD_NONE;
    Store->Header = (PTRACE_STORE_HEADER)(Store + 1);
    Store->Result.Field = "";
    Store->Result.Problem = "";
    Store->Result.State = CoreHeaderTooShort;
    if (KdContextRead(Context, Address, Store->Header, TRACE_HEADER_SIZE)) {
        CoreValidateHeader(Store->Header, TRACE_HEADER_SIZE, &Store->Result);
    }

    if (!KD_IS_STORE_GOOD(Store)) {
        Stores->NumberBad += 1;
        return STATUS_SUCCESS;
    }

    Header = Store->Header;
    if (Header->Mode != TRACE_MODE_TREE) {
        KdStoresFindRuns(Store);
    }

    CoreAddAnchor(&Stores->Clock, &Header->OpenAnchor, Header->QpcFrequency);
    CoreAddAnchor(&Stores->Clock, &Header->LastAnchor, Header->QpcFrequency);
    Stores->Clock.Kind = Header->Clock;
    Length = Header->ModulePathLength;
    if (Length > sizeof(Header->ModulePath)) {
        Length = sizeof(Header->ModulePath);
    }

    return KdNamesAddModule(&Stores->Names,
                            Header->ModuleBase,
                            Header->ModuleSize,
                            Header->ModuleTimeDateStamp,
                            Header->Flags,
                            Header->ModulePath,
                            Length,
                            &Store->Module);
}

_Must_inspect_result_
static
NTSTATUS
KdStoresFindInRegions(
    _Inout_ PKD_STORES Stores
    )
{
    PKD_CONTEXT Context = Stores->Context;
    MEMORY_BASIC_INFORMATION64 Region;
    ULONGLONG Address = 0;
    ULONGLONG Next;
    NTSTATUS Status;

    while (Stores->NumberOfRegions < KD_MAXIMUM_REGIONS) {

        if (KdContextIsStopped(Context)) {
            return STATUS_CANCELLED;
        }

        RtlZeroBytes(&Region, sizeof(Region));
        if (FAILED(Context->Data->Methods->QueryVirtual(Context->Data,
                                                        Address,
                                                        &Region))) {
            break;
        }

        Next = Region.BaseAddress + Region.RegionSize;
        if (Region.RegionSize == 0 || Next <= Address) {
            break;
        }

        Stores->NumberOfRegions += 1;
        if (Region.State == MEM_COMMIT &&
            Region.Type != MEM_IMAGE &&
            Region.BaseAddress >= Address) {

            Status = KdStoresTry(Stores, Region.BaseAddress);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        Address = Next;
    }

    return STATUS_SUCCESS;
}

//
// Looks at the TLS slots of one thread.
//

_Must_inspect_result_
static
NTSTATUS
KdStoresFindInThread(
    _Inout_ PKD_STORES Stores,
    _In_ ULONGLONG Teb
    )
{
    PKD_CONTEXT Context = Stores->Context;
    ULONGLONG Slots[KD_TEB_NUMBER_OF_SLOTS];
    ULONGLONG More = 0;
    ULONG Part;
    ULONG Index;
    NTSTATUS Status;

    for (Part = 0;
         Part <= KD_TEB_NUMBER_OF_MORE / KD_TEB_NUMBER_OF_SLOTS;
         Part++) {

        if (Part == 1 &&
            !KdContextRead(Context,
                           Teb + KD_TEB_MORE_SLOTS,
                           &More,
                           sizeof(More))) {
            break;
        }

        if (Part != 0 && More == 0) {
            break;
        }

        if (!KdContextRead(Context,
                           Part == 0 ? Teb + KD_TEB_SLOTS
                                     : More + (Part - 1) * sizeof(Slots),
                           Slots,
                           sizeof(Slots))) {
            break;
        }

        for (Index = 0; Index < KD_TEB_NUMBER_OF_SLOTS; Index++) {
            if (Slots[Index] != 0) {
                Status = KdStoresTry(Stores, Slots[Index]);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }
        }
    }

    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
KdStoresFindInThreads(
    _Inout_ PKD_STORES Stores
    )
{
    PKD_SYSTEM System = Stores->Context->System;
    ULONG Number = 0;
    ULONG Current = KD_ANY_ID;
    ULONG Index;
    ULONG Id;
    ULONGLONG Teb;
    NTSTATUS Status = STATUS_SUCCESS;

    if (System == NULL ||
        FAILED(System->Methods->GetNumberThreads(System, &Number)) ||
        FAILED(System->Methods->GetCurrentThreadId(System, &Current))) {
        return STATUS_SUCCESS;
    }

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Number && Index < KD_MAXIMUM_THREADS;
         Index++) {

        if (KdContextIsStopped(Stores->Context)) {
            Status = STATUS_CANCELLED;
            break;
        }

        if (SUCCEEDED(System->Methods->GetThreadIdsByIndex(System,
                                                           Index,
                                                           1,
                                                           &Id,
                                                           NULL)) &&
            SUCCEEDED(System->Methods->SetCurrentThreadId(System, Id)) &&
            SUCCEEDED(System->Methods->GetCurrentThreadTeb(System, &Teb))) {
            Status = KdStoresFindInThread(Stores, Teb);
        }
    }

    System->Methods->SetCurrentThreadId(System, Current);
    return Status;
}

static
LONG
KdStoresCompare(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PKD_STORE *Stores = (PKD_STORE *)Context;
    PCTRACE_STORE_HEADER One = Stores[First]->Header;
    PCTRACE_STORE_HEADER Other = Stores[Second]->Header;

    if (KD_IS_STORE_GOOD(Stores[First]) != KD_IS_STORE_GOOD(Stores[Second])) {
        return KD_IS_STORE_GOOD(Stores[First]) ? -1 : 1;
    }

    if (One->ThreadId != Other->ThreadId) {
        return One->ThreadId < Other->ThreadId ? -1 : 1;
    }

    if (One->OpenAnchor.Tsc != Other->OpenAnchor.Tsc) {
        return One->OpenAnchor.Tsc < Other->OpenAnchor.Tsc ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}

//
// Puts the stores in the order of threads, those that are no good last.
//

_Must_inspect_result_
static
NTSTATUS
KdStoresSort(
    _Inout_ PKD_STORES Stores
    )
{
    PKD_STORE *Sorted;
    PULONG Order;
    ULONG Index;

    if (Stores->NumberOfStores < 2) {
        return STATUS_SUCCESS;
    }

    Order = (PULONG)KdContextAllocate(
        Stores->Context,
        Stores->NumberOfStores * sizeof(ULONG));
    Sorted = (PKD_STORE *)KdContextAllocate(
        Stores->Context,
        Stores->NumberOfStores * sizeof(PKD_STORE));
    if (Order == NULL || Sorted == NULL) {
        KdContextFree(Stores->Context, Order);
        KdContextFree(Stores->Context, Sorted);
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Stores->NumberOfStores; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order, Stores->NumberOfStores, KdStoresCompare, Stores->Stores);
    for (Index = 0; Index < Stores->NumberOfStores; Index++) {
        Sorted[Index] = Stores->Stores[Order[Index]];
    }

    KdContextFree(Stores->Context, Order);
    KdContextFree(Stores->Context, Stores->Stores);
    Stores->Stores = Sorted;
    Stores->Capacity = Stores->NumberOfStores;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
KdStoresOpen(
    PKD_CONTEXT Context,
    PKD_STORES Stores
    )
{
    NTSTATUS Status = STATUS_SUCCESS;

    RtlZeroBytes(Stores, sizeof(*Stores));
    Stores->Context = Context;
    CoreInitializeClock(&Stores->Clock);
    KdNamesInitialize(Context, &Stores->Names);
    if (Context->HasQuery) {
        Status = KdStoresFindInRegions(Stores);
    }

    if (NT_SUCCESS(Status) && Stores->NumberOfStores == 0) {
        Stores->IsByThreads = TRUE;
        Status = KdStoresFindInThreads(Stores);
    }

    if (NT_SUCCESS(Status)) {
        KdTimeImprove(Context, &Stores->Clock);
        Status = KdStoresSort(Stores);
    }

    return Status;
}

_Use_decl_annotations_
VOID
KdStoresRundown(
    PKD_STORES Stores
    )
{
    ULONG Index;

    if (Stores->Context == NULL) {
        return;
    }

    for (Index = 0; Index < Stores->NumberOfStores; Index++) {
        KdContextFree(Stores->Context, Stores->Stores[Index]);
    }

    KdContextFree(Stores->Context, Stores->Stores);
    KdNamesRundown(&Stores->Names);
    RtlZeroBytes(Stores, sizeof(*Stores));
}

_Use_decl_annotations_
VOID
KdStoresWriteNone(
    const KD_STORES *Stores
    )
{
    PKD_CONTEXT Context = Stores->Context;

    RtlWriteText(&Context->Writer,
                 "No store is mapped in this process (looked at %llu regions "
                 "of memory%s).",
                 Stores->NumberOfRegions,
                 Stores->IsByThreads ? " and at the threads' TLS slots" : "");
    if (!KdContextEndLine(Context)) {
        return;
    }

    RtlWriteText(&Context->Writer,
                 "It may not be traced, its threads may have ended, or the "
                 "dump has no mapped memory (.dump /ma has).");
    KdContextEndLine(Context);
}

_Use_decl_annotations_
ULONG
KdStoresNextThread(
    const KD_STORES *Stores,
    ULONG Index
    )
{
    ULONG Next = Index == KD_NONE ? 0 : Index + 1;

    while (Next < Stores->NumberOfStores &&
           KD_IS_STORE_GOOD(Stores->Stores[Next]) &&
           Index != KD_NONE &&
           Stores->Stores[Next]->Header->ThreadId ==
               Stores->Stores[Index]->Header->ThreadId) {
        Next += 1;
    }

    return Next < Stores->NumberOfStores &&
                   KD_IS_STORE_GOOD(Stores->Stores[Next])
               ? Next
               : KD_NONE;
}

_Use_decl_annotations_
PCSZ
KdStoresDescribeMode(
    PCTRACE_STORE_HEADER Header
    )
{
    if (Header->Mode == TRACE_MODE_TREE) {
        return "tree";
    }

    if (Header->Mode == TRACE_MODE_COMPACT) {
        return Header->BlocksCapacity != 0 ? "compact ring" : "compact";
    }

    return Header->RingSizeInBytes != 0 ? "ring" : "records";
}
