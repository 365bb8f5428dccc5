/*++

Module Name:

    KdThreads.c

Abstract:

    Which threads a command is about, and what their stores have in memory.

--*/

#include "KdThreads.h"

_Use_decl_annotations_
BOOLEAN
KdThreadsFind(
    PKD_CONTEXT Context,
    PCKD_ARGUMENT Argument,
    PULONG Thread
    )
{
    ULONGLONG Number;

    *Thread = KD_NONE;
    if (Argument == NULL) {

        //
        // In a kernel the engine has no such ID, and all threads are meant.
        //

        if (Context->System != NULL && !Context->IsKernel) {
            if (FAILED(Context->System->Methods->GetCurrentThreadSystemId(
                    Context->System,
                    Thread))) {
                *Thread = KD_NONE;
            }
        }

        return TRUE;
    }

    if (Argument->Length == 1 && Argument->Text[0] == '*') {
        return TRUE;
    }

    if (!KdArgumentsReadNumber(Argument, FALSE, &Number) ||
        Number >= KD_NONE) {
        RtlWriteText(&Context->Writer,
                     "%.*T: is no thread's system ID (hexadecimal, as ~ shows "
                     "it; 0n for decimal)",
                     (int)Argument->Length,
                     Argument->Text);
        KdContextEndLine(Context);
        return FALSE;
    }

    *Thread = (ULONG)Number;
    return TRUE;
}

_Use_decl_annotations_
ULONG
KdThreadsFindStore(
    const KD_STORES *Stores,
    ULONG Thread
    )
{
    PKD_CONTEXT Context = Stores->Context;
    ULONG Index;

    for (Index = KdStoresNextThread(Stores, KD_NONE);
         Index != KD_NONE;
         Index = KdStoresNextThread(Stores, Index)) {
        if (Stores->Stores[Index]->Header->ThreadId == Thread) {
            return Index;
        }
    }

    RtlWriteText(&Context->Writer,
                 "Thread %x (%u) has no store in memory; there are stores of "
                 "these:",
                 Thread,
                 Thread);
    for (Index = KdStoresNextThread(Stores, KD_NONE);
         Index != KD_NONE && !KdContextIsStopped(Context);
         Index = KdStoresNextThread(Stores, Index)) {
        RtlWriteText(&Context->Writer,
                     " %x",
                     Stores->Stores[Index]->Header->ThreadId);
    }

    KdContextEndLine(Context);
    return KD_NONE;
}

_Use_decl_annotations_
VOID
KdThreadsShow(
    PKD_CONTEXT Context,
    ULONG Thread,
    PKD_SHOW_THREAD Show,
    ULONG Wanted
    )
{
    KD_STORES Stores;
    ULONG Store;
    NTSTATUS Status;

    Status = KdStoresOpen(Context, &Stores);
    if (NT_SUCCESS(Status)) {

        Store = KdStoresNextThread(&Stores, KD_NONE);
        if (Store == KD_NONE) {
            KdStoresWriteNone(&Stores);
        } else if (Thread != KD_NONE) {
            Store = KdThreadsFindStore(&Stores, Thread);
            if (Store != KD_NONE) {
                Status = Show(&Stores, Store, Wanted);
            }
        } else {
            while (Store != KD_NONE && NT_SUCCESS(Status) &&
                   !KdContextIsStopped(Context) && !Context->IsCut) {
                Status = Show(&Stores, Store, Wanted);
                Store = KdStoresNextThread(&Stores, Store);
            }
        }
    }

    KdContextWriteStatus(Context, Status);
    KdStoresRundown(&Stores);
}

//
// The store behind Index of the same thread, or KD_NONE.
//

static
ULONG
KdThreadsNextStore(
    _In_ const KD_STORES *Stores,
    _In_ ULONG Index
    )
{
    ULONG Next = Index + 1;

    return Next < Stores->NumberOfStores &&
                   KD_IS_STORE_GOOD(Stores->Stores[Next]) &&
                   Stores->Stores[Next]->Header->ThreadId ==
                       Stores->Stores[Index]->Header->ThreadId
               ? Next
               : KD_NONE;
}

_Use_decl_annotations_
VOID
KdThreadsWrite(
    const KD_STORES *Stores,
    ULONG Store
    )
{
    PKD_CONTEXT Context = Stores->Context;
    PCTRACE_STORE_HEADER Header = Stores->Stores[Store]->Header;
    PKD_MODULE Module;
    ULONG Length = Header->ThreadNameLength;
    ULONG Index;

    RtlWriteText(&Context->Writer,
                 "Thread %x (%u)",
                 Header->ThreadId,
                 Header->ThreadId);
    if (Length != 0 && Length <= sizeof(Header->ThreadName)) {
        RtlWriteText(&Context->Writer, " \"");
        KdNamesWriteText(Context, Header->ThreadName, Length);
        RtlWriteText(&Context->Writer, "\"");
    }

    for (Index = Store;
         Index != KD_NONE;
         Index = KdThreadsNextStore(Stores, Index)) {

        Module = Stores->Names.Modules[Stores->Stores[Index]->Module];
        RtlWriteText(&Context->Writer, Index == Store ? ": " : ", ");
        KdNamesWriteText(Context, Module->Name, Module->NameLength);
        RtlWriteText(&Context->Writer,
                     " (%s)",
                     KdStoresDescribeMode(Stores->Stores[Index]->Header));
    }

    KdContextEndLine(Context);
}

_Use_decl_annotations_
VOID
KdThreadsWriteMissing(
    const KD_STORES *Stores,
    ULONG Store
    )
{
    PKD_CONTEXT Context = Stores->Context;
    PKD_STORE This;
    PKD_MODULE Module;
    ULONGLONG All;
    ULONG Index;

    for (Index = Store;
         Index != KD_NONE && !KdContextIsStopped(Context);
         Index = KdThreadsNextStore(Stores, Index)) {

        This = Stores->Stores[Index];
        Module = Stores->Names.Modules[This->Module];
        All = This->End - This->First;
        if (KD_IS_TREE(This)) {
            continue;
        }

        if (All > This->MappedInBytes) {
            RtlWriteText(&Context->Writer,
                         "# %llu of %llu records of ",
                         (All - This->MappedInBytes) / TRACE_RECORD_SIZE,
                         All / TRACE_RECORD_SIZE);
            KdNamesWriteText(Context, Module->Name, Module->NameLength);
            RtlWriteText(&Context->Writer,
                         " are in the store's file alone");
            KdContextEndLine(Context);
        }

        if (This->Header->Mode == TRACE_MODE_COMPACT && This->First >
                This->Header->HeaderSize) {
            RtlWriteText(&Context->Writer,
                         "# %llu records before these are in blocks, or gone: "
                         "in the store's file",
                         (This->First - This->Header->HeaderSize) /
                             TRACE_RECORD_SIZE);
            KdContextEndLine(Context);
        }

        if (This->UnreadInBytes != 0) {
            RtlWriteText(&Context->Writer,
                         "# %llu records are not in the target's memory that "
                         "can be read",
                         This->UnreadInBytes / TRACE_RECORD_SIZE);
            KdContextEndLine(Context);
        }

        if (This->NumberBad != 0) {
            RtlWriteText(&Context->Writer,
                         "# %llu records cannot be what they are, and were "
                         "left out",
                         This->NumberBad);
            KdContextEndLine(Context);
        }

        if (!Module->IsThere && Module->IsOpened) {
            RtlWriteText(&Context->Writer,
                         "# the image at %016llx is not the one that was "
                         "traced, or is not in memory: no names",
                         Module->Base);
            KdContextEndLine(Context);
        }
    }
}
