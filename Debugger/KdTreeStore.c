/*++

Module Name:

    KdTreeStore.c

Abstract:

    A store of a tree, read from the memory where its thread keeps it: all of
    its file is one view, so a file offset is an offset in memory.  Its thread
    stands still, or is gone.

--*/

#include "../Reader/Core/CoreTreeStack.h"
#include "KdRecords.h"
#include "KdTreeStore.h"

#define KD_TREE_BUFFER              CORE_TREE_BUFFER_SIZE

//
// The largest store, bytes: TRACE_TREE_MAXIMUM_BYTES of the library.
//

#define KD_TREE_LARGEST             0x40000000ULL

//
// Reads items of a store's file.  Returns how many there are.
//

static
ULONG
KdTreeStoreRead(
    _Inout_ PKD_CONTEXT Context,
    _In_ PKD_STORE Store,
    _In_ ULONGLONG Offset,
    _Out_writes_bytes_(Count * ItemSize) PVOID Buffer,
    _In_ ULONG Count,
    _In_ ULONG ItemSize
    )
{
    if (Offset >= KD_TREE_LARGEST) {
        return 0;
    }

    return KdContextReadSome(Context,
                             Store->Address + Offset,
                             Buffer,
                             Count * ItemSize) / ItemSize;
}

_Must_inspect_result_
static
NTSTATUS
KdTreeStoreReadModules(
    _Inout_ PKD_STORES Stores,
    _In_ PKD_STORE Store,
    _Inout_ PCORE_TREE Core,
    _Inout_ PVOID Buffer,
    _Out_writes_(TRACE_TREE_MODULES + 1) PULONG Modules
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    PCTRACE_TREE_MODULE Module = (PCTRACE_TREE_MODULE)Buffer;
    ULONG Count = Header->NumberOfModules;
    ULONG Number;
    ULONG Length;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Number = 0; Number <= TRACE_TREE_MODULES; Number++) {
        Modules[Number] = Store->Module;
    }

    if (Count > TRACE_TREE_MODULES ||
        Header->NodesFileOffset <
            TRACE_HEADER_SIZE + (ULONGLONG)Count * TRACE_TREE_MODULE_SIZE) {
        return STATUS_SUCCESS;
    }

    for (Number = 1; Number <= Count && NT_SUCCESS(Status); Number++) {

        if (KdTreeStoreRead(Stores->Context,
                            Store,
                            Header->NodesFileOffset -
                                (ULONGLONG)Number * TRACE_TREE_MODULE_SIZE,
                            Buffer,
                            1,
                            sizeof(*Module)) != 1 ||
            !CoreAddTreeModule(Core, Module)) {
            break;
        }

        Length = Module->ModulePathLength;
        if (Length > sizeof(Module->ModulePath)) {
            Length = sizeof(Module->ModulePath);
        }

        Status = KdNamesAddModule(&Stores->Names,
                                  Module->ModuleBase,
                                  Module->ModuleSize,
                                  Module->ModuleTimeDateStamp,
                                  Module->Flags,
                                  Module->ModulePath,
                                  Length,
                                  &Modules[Number]);
    }

    return Status;
}

_Must_inspect_result_
static
NTSTATUS
KdTreeStoreReadNodes(
    _Inout_ PKD_CONTEXT Context,
    _In_ PKD_STORE Store,
    _Inout_ PCORE_TREE Core,
    _Inout_ PVOID Buffer,
    _Inout_ PULONGLONG NumberMissing
    )
{
    ULONGLONG Offset = Store->Header->NodesFileOffset;
    ULONGLONG Left = Store->Header->NumberOfNodes;
    ULONG Count;
    ULONG Read;
    NTSTATUS Status;

    if (Left > KD_TREE_LARGEST / TRACE_NODE_SIZE) {
        Left = KD_TREE_LARGEST / TRACE_NODE_SIZE;
    }

    while (Left != 0) {

        if (KdContextIsStopped(Context)) {
            return STATUS_CANCELLED;
        }

        Count = KD_TREE_BUFFER / TRACE_NODE_SIZE;
        if (Count > Left) {
            Count = (ULONG)Left;
        }

        Read = KdTreeStoreRead(Context,
                               Store,
                               Offset,
                               Buffer,
                               Count,
                               TRACE_NODE_SIZE);
        Status = Read != 0 ? CoreAddNodes(Core, (PCTRACE_NODE)Buffer, Read)
                           : STATUS_SUCCESS;
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Left -= Read;
        Offset += (ULONGLONG)Read * TRACE_NODE_SIZE;
        if (Read != Count) {

            //
            // A node's children may lie anywhere behind it: the rest would say
            // something wrong.
            //

            *NumberMissing += Left;
            break;
        }
    }

    return STATUS_SUCCESS;
}

//
// A CORE_READ_TREE.
//

typedef struct _KD_TREE_SOURCE {
    PKD_CONTEXT Context;
    PKD_STORE Store;
} KD_TREE_SOURCE;
typedef KD_TREE_SOURCE *PKD_TREE_SOURCE;

static
NTSTATUS
KdTreeStoreReadItems(
    _In_opt_ PVOID ReadContext,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_(NumberOfItems * SizeOfItem) PVOID Destination,
    _In_ ULONG SizeOfItem,
    _In_ ULONG NumberOfItems,
    _Out_ PULONG NumberRead
    )
{
    PKD_TREE_SOURCE Source = (PKD_TREE_SOURCE)ReadContext;

    *NumberRead = KdTreeStoreRead(Source->Context,
                                  Source->Store,
                                  FileOffset,
                                  Destination,
                                  NumberOfItems,
                                  SizeOfItem);
    return KdContextIsStopped(Source->Context) ? STATUS_CANCELLED
                                               : STATUS_SUCCESS;
}

//
// Adds the nodes to the tree of functions.
//

_Must_inspect_result_
static
NTSTATUS
KdTreeStoreAddNodes(
    _Inout_ PKD_TREE Tree,
    _Inout_ PKD_STORES Stores,
    _In_ PCCORE_TREE Core,
    _In_reads_(TRACE_TREE_MODULES + 1) const ULONG *Modules,
    _Inout_updates_(Core->NumberOfNodes) PULONG Places
    )
{
    READER_STATISTICS Statistics;
    PCCORE_TREE_NODE Node;
    SIZE_T Index;
    ULONG Function;
    ULONG Module;
    NTSTATUS Status;

    for (Index = 1; Index < Core->NumberOfNodes; Index++) {

        Node = &Core->Nodes[Index];
        Places[Index] = 0;
        if (!Node->IsUsed || Node->IsBad) {
            continue;
        }

        Module = Modules[Node->Module <= TRACE_TREE_MODULES ? Node->Module : 0];
        Status = Node->IsOther
                     ? KdNamesFindOther(&Stores->Names, &Function)
                     : KdNamesFindFunction(
                           &Stores->Names,
                           Module,
                           Stores->Names.Modules[Module]->Base + Node->Rva,
                           &Function);
        if (NT_SUCCESS(Status)) {
            Status = KdTreeFindChild(Tree,
                                     Places[Node->Parent],
                                     Function,
                                     &Places[Index]);
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        CoreGetNodeStatistics(Node, &Statistics);
        CoreAddStatistics(&Tree->Nodes[Places[Index]].Statistics,
                          &Statistics,
                          TRUE);
        if (Node->Open != 0) {
            Tree->Nodes[Places[Index]].IsOpen = TRUE;
        }
    }

    return STATUS_SUCCESS;
}

//
// Adds what a store's own tree says.
//

_Must_inspect_result_
static
NTSTATUS
KdTreeStoreAdd(
    _Inout_ PKD_TREE Tree,
    _Inout_ PKD_STORES Stores,
    _Inout_ PKD_STORE Store
    )
{
    PKD_CONTEXT Context = Stores->Context;
    PCTRACE_STORE_HEADER Header = Store->Header;
    KD_TREE_SOURCE Source = { Context, Store };
    CORE_TREE Core;
    ULONG Modules[TRACE_TREE_MODULES + 1];
    PVOID Buffer;
    PULONG Places = NULL;
    ULONGLONG NumberMissing = 0;
    NTSTATUS Status;

    Buffer = KdContextAllocate(Context, KD_TREE_BUFFER);
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    CoreInitializeTree(&Core, &Context->Allocator, Header, FALSE);
    Status = KdTreeStoreReadModules(Stores,
                                    Store,
                                    &Core,
                                    Buffer,
                                    Modules);
    if (NT_SUCCESS(Status)) {
        Status = KdTreeStoreReadNodes(Context,
                                      Store,
                                      &Core,
                                      Buffer,
                                      &NumberMissing);
    }

    if (NT_SUCCESS(Status) && Core.NumberOfNodes != 0) {
        Status = CoreReadTreeStacks(&Core,
                                    Header,
                                    KD_TREE_LARGEST,
                                    ~0ULL >> 1,
                                    Buffer,
                                    KdTreeStoreReadItems,
                                    &Source);
    }

    if (NT_SUCCESS(Status)) {
        CoreNoteTreeEnd(&Core, Header);
        CoreFinishTree(&Core, 0);
        Places = (PULONG)KdContextAllocate(
            Context,
            ((ULONGLONG)Core.NumberOfNodes + 1) * sizeof(ULONG));
        Status = Places == NULL ? STATUS_NO_MEMORY
                                : KdTreeStoreAddNodes(Tree,
                                                      Stores,
                                                      &Core,
                                                      Modules,
                                                      Places);
        Tree->NumberBad += Core.NumberBad + NumberMissing;
    }

    KdContextFree(Context, Places);
    KdContextFree(Context, Buffer);
    CoreRundownTree(&Core);
    return Status;
}

_Use_decl_annotations_
NTSTATUS
KdTreeStoreAddThread(
    PKD_TREE Tree,
    PKD_STORES Stores,
    ULONG Store
    )
{
    KD_RECORDS_FEED Feed;
    ULONG Thread = Stores->Stores[Store]->Header->ThreadId;
    ULONG Index;
    NTSTATUS Status;

    Status = KdRecordsOpen(Stores, Store, ~0ULL, TRUE, &Feed);
    if (NT_SUCCESS(Status) && Feed.NumberOfCursors != 0) {
        Tree->Feed = &Feed.Feed;
        Status = KdFeedWalk(&Feed.Feed, KdTreeVisit, Tree);
    }

    KdRecordsClose(&Feed);
    for (Index = Store;
         NT_SUCCESS(Status) && Index < Stores->NumberOfStores &&
         KD_IS_STORE_GOOD(Stores->Stores[Index]) &&
         Stores->Stores[Index]->Header->ThreadId == Thread;
         Index++) {

        if (KD_IS_TREE(Stores->Stores[Index])) {
            Status = KdTreeStoreAdd(Tree, Stores, Stores->Stores[Index]);
        }
    }

    return Status;
}
