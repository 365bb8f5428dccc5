/*++

Module Name:

    KdTreeStore.c

Abstract:

    A store of a tree, read from the memory where its thread keeps it: all of
    its file is one view, so a file offset is an offset in memory.  Its thread
    stands still, or is gone.

--*/

#include "../Reader/Core/CoreTree.h"
#include "KdRecords.h"
#include "KdTreeStore.h"

#define KD_TREE_BUFFER              0x10000u

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
// Reads the open calls of a stack.
//

_Must_inspect_result_
static
NTSTATUS
KdTreeStoreReadFrames(
    _Inout_ PKD_CONTEXT Context,
    _In_ PKD_STORE Store,
    _Inout_ PCORE_TREE Core,
    _Inout_ PVOID Buffer,
    _In_ ULONGLONG Offset,
    _In_ ULONGLONG Count
    )
{
    PCTRACE_FRAME Frames = (PCTRACE_FRAME)Buffer;
    ULONG Node = CORE_TREE_NO_NODE;
    ULONG Wanted;
    ULONG Read;
    ULONG Index;
    NTSTATUS Status;

    while (Count != 0) {

        Wanted = KD_TREE_BUFFER / TRACE_FRAME_SIZE;
        if (Wanted > Count) {
            Wanted = (ULONG)Count;
        }

        Read = KdTreeStoreRead(Context,
                               Store,
                               Offset,
                               Buffer,
                               Wanted,
                               TRACE_FRAME_SIZE);
        for (Index = 0; Index < Read; Index++) {

            Status = CoreAddTreeFrame(Core,
                                      &Frames[Index],
                                      Offset,
                                      ~0ULL >> 1,
                                      &Node);
            if (Status == STATUS_FILE_INVALID) {
                return STATUS_SUCCESS;
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Offset += TRACE_FRAME_SIZE;
        }

        Count -= Read;
        if (Read != Wanted) {
            break;
        }
    }

    return STATUS_SUCCESS;
}

_Must_inspect_result_
static
NTSTATUS
KdTreeStoreReadStacks(
    _Inout_ PKD_CONTEXT Context,
    _In_ PKD_STORE Store,
    _Inout_ PCORE_TREE Core,
    _Inout_ PVOID Buffer
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;
    TRACE_TREE_STACK Stack;
    ULONGLONG Offset = TRACE_TREE_FIRST_STACK;
    ULONGLONG FramesLeft = KD_TREE_LARGEST / TRACE_FRAME_SIZE;
    ULONGLONG StacksLeft = 0x10000;
    ULONGLONG First;
    ULONGLONG Cursor;
    ULONGLONG End;
    ULONGLONG Count;
    SIZE_T Frames;
    BOOLEAN IsInUse;
    NTSTATUS Status;

    while (Offset != 0 && StacksLeft != 0) {

        if (KdContextIsStopped(Context)) {
            return STATUS_CANCELLED;
        }

        StacksLeft -= 1;
        First = Offset + sizeof(Stack);
        if (Offset < TRACE_TREE_FIRST_STACK ||
            Offset % sizeof(ULONGLONG) != 0 ||
            Offset >= KD_TREE_LARGEST ||
            KdTreeStoreRead(Context,
                            Store,
                            Offset,
                            &Stack,
                            1,
                            sizeof(Stack)) != 1) {
            CoreNoteTreeProblem(Core, Offset, "stack", "", "is not there", 0);
            break;
        }

        IsInUse = Offset == Header->StackFileOffset;
        Cursor = (IsInUse && !Core->IsStopped ? Header->Cursor : Stack.Top) -
                 Header->BaseAddress;
        End = Stack.End - Header->BaseAddress;
        if (End > KD_TREE_LARGEST) {
            End = KD_TREE_LARGEST;
        }

        Count = 0;
        if (Cursor >= First && Cursor < End &&
            End - Cursor >= TRACE_FRAME_SIZE &&
            (Cursor - First) % TRACE_FRAME_SIZE == 0) {
            Count = (Cursor - First) / TRACE_FRAME_SIZE + 1;
        } else {
            CoreNoteTreeProblem(Core,
                                Offset,
                                "stack",
                                "Top",
                                "is not at a frame of its stack",
                                Cursor);
        }

        if (Count > FramesLeft) {
            break;
        }

        FramesLeft -= Count;
        Frames = Core->NumberOfFrames;
        Status = KdTreeStoreReadFrames(Context,
                                       Store,
                                       Core,
                                       Buffer,
                                       First,
                                       Count);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        CoreEndTreeStack(Core, Frames, Stack.LeftTimestamp, IsInUse);
        Offset = Stack.NextFileOffset;
    }

    return STATUS_SUCCESS;
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
        Status = KdTreeStoreReadStacks(Context, Store, &Core, Buffer);
    }

    if (NT_SUCCESS(Status)) {

        if (CoreIsAnchorValid(&Header->LastAnchor) &&
            Header->LastAnchor.Tsc > Core.LatestTimestamp) {
            Core.LatestTimestamp = Header->LastAnchor.Tsc;
        }

        if (CoreIsAnchorValid(&Header->OpenAnchor) &&
            Header->OpenAnchor.Tsc > Core.LatestTimestamp) {
            Core.LatestTimestamp = Header->OpenAnchor.Tsc;
        }

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
