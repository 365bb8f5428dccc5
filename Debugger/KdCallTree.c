/*++

Module Name:

    KdCallTree.c

Abstract:

    !calltree: what a thread called from where, added up.

--*/

#include "KdCommands.h"
#include "KdKernelOwner.h"
#include "KdThreads.h"
#include "KdTime.h"
#include "KdTreeStore.h"

#define KD_MAXIMUM_INDENT           60u

static
NTSTATUS
KdCallTreeWrite(
    _Inout_ PKD_TREE Tree,
    _In_ const KD_NAMES *Names,
    _In_ PCCORE_CLOCK Clock
    )
{
    PKD_CONTEXT Context = Tree->Context;
    PKD_NODE Node;
    ULONG Index;
    ULONG Indent;
    BOOLEAN IsWanted;
    NTSTATUS Status;

    Status = KdTreeSort(Tree);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlWriteText(&Context->Writer,
                 "%12s %13s %2s%13s %2s   call",
                 "calls",
                 "total",
                 KdTimeUnit(Context, Clock),
                 "self",
                 KdTimeUnit(Context, Clock));
    IsWanted = KdContextEndLine(Context);
    for (Index = KdTreeNext(Tree, 0);
         IsWanted && Index != KD_NONE;
         Index = KdTreeNext(Tree, Index)) {

        Node = &Tree->Nodes[Index];
        Indent = Node->Depth - 1 < KD_MAXIMUM_INDENT ? Node->Depth - 1
                                                     : KD_MAXIMUM_INDENT;
        RtlWriteText(&Context->Writer, "%12llu ", Node->Statistics.Calls);
        KdTimeWrite(Context, Clock, Node->Statistics.TotalTicks, 16);
        KdTimeWrite(Context, Clock, Node->Statistics.SelfTicks, 16);
        RtlWriteText(&Context->Writer,
                     " %c %*s",
                     Node->IsOpen ? '>' : ' ',
                     (int)Indent * 2,
                     "");
        KdNamesWrite(Context, &Names->Functions[Node->Function]);
        IsWanted = KdContextEndLine(Context);
    }

    if (Tree->NumberBad != 0) {
        RtlWriteText(&Context->Writer,
                     "# %llu nodes or open calls cannot be what they are, or "
                     "are not in memory, and were left out",
                     Tree->NumberBad);
        KdContextEndLine(Context);
    }

    return STATUS_SUCCESS;
}

static
NTSTATUS
KdCallTreeOfThread(
    _Inout_ PKD_STORES Stores,
    _In_ ULONG Store,
    _In_ ULONG Wanted
    )
{
    KD_TREE Tree;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Wanted);

    KdThreadsWrite(Stores, Store);
    Status = KdTreeInitialize(Stores->Context, &Tree);
    if (NT_SUCCESS(Status)) {
        Status = KdTreeStoreAddThread(&Tree, Stores, Store);
    }

    if (NT_SUCCESS(Status)) {
        Status = KdCallTreeWrite(&Tree, &Stores->Names, &Stores->Clock);
    }

    if (NT_SUCCESS(Status)) {
        KdThreadsWriteMissing(Stores, Store);
    }

    KdTreeRundown(&Tree);
    return Status;
}

//
// A KD_SHOW_OWNER.
//

_Must_inspect_result_
static
NTSTATUS
KdCallTreeOfOwner(
    _Inout_ PKD_KERNEL_OWNERS Owners,
    _In_ ULONG Wanted
    )
{
    PKD_DRIVER Driver = Owners->Driver;
    KD_TREE Tree;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Wanted);

    Status = KdTreeInitialize(Driver->Context, &Tree);
    if (NT_SUCCESS(Status)) {
        Tree.Feed = &Owners->Feed;
        Status = KdFeedWalk(&Owners->Feed, KdTreeVisit, &Tree);
    }

    if (NT_SUCCESS(Status)) {
        Status = KdCallTreeWrite(&Tree, &Driver->Names, &Driver->Clock);
    }

    KdTreeRundown(&Tree);
    return Status;
}

_Use_decl_annotations_
VOID
KdCallTree(
    PKD_CONTEXT Context,
    PCSTR Arguments
    )
{
    KD_ARGUMENTS Parsed;
    ULONG Thread;
    ULONG Kernel = Context->IsKernel ? KD_OPTION('m') : 0;

    if (!KdArgumentsParse(Context,
                          Arguments,
                          KD_OPTION('k') | Kernel,
                          Kernel,
                          1,
                          &Parsed) ||
        !KdThreadsFind(Context,
                       Parsed.Count != 0 ? &Parsed.Items[0] : NULL,
                       &Thread)) {
        return;
    }

    Context->IsTicks = KD_HAS_OPTION(&Parsed, 'k');
    if (!Context->IsKernel) {
        KdThreadsShow(Context, Thread, KdCallTreeOfThread, 0);
    } else {
        KdKernelShow(Context,
                     &Parsed.Values['m' - 'a'],
                     Thread,
                     Parsed.Count != 0 && Thread == KD_NONE,
                     ~0u,
                     KdCallTreeOfOwner,
                     0);
    }
}
