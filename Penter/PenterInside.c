/*++

Module Name:

    PenterInside.c

Abstract:

    Which threads the hooks are at work on: the hooks of a module can be taken
    apart while other threads run once there are none.

    What the hooks do inside this module can be seen by a thread's instruction
    pointer.  On the slow path it may be elsewhere, in a routine of the
    system's; then the thread has a store that says so, or the stand-in of those
    that get their store, or it is making its place for either.

--*/

#include "../TraceStore/TraceShare.h"
#include "../TraceStore/TraceStore.h"
#include "PenterInside.h"
#include "PenterSwitch.h"

//
// A thread's context, as PenterGetContext reads that of the calling one.
//

static
PVOID
PenterInsideGetContext(
    _In_ PPENTER Penter,
    _In_ const VOID *Teb
    )
{
    const BYTE *Block = (const BYTE *)Teb;
    const PVOID *Expansion;

    if (Penter->TlsIndex < TEB_TLS_NUMBER_OF_SLOTS) {
        return ((const PVOID *)(Block + TEB_TLS_SLOTS))[Penter->TlsIndex];
    }

    Expansion = *(const PVOID *const *)(Block + TEB_TLS_EXPANSION_SLOTS);
    return Expansion == NULL
               ? NULL
               : Expansion[Penter->TlsIndex - TEB_TLS_NUMBER_OF_SLOTS];
}

_Use_decl_annotations_
BOOLEAN
PenterInsideThread(
    ULONG ThreadId,
    const VOID *Teb
    )
{
    PPENTER Penter = PenterInstance;
    PTRACE_STORE_BLOCK Block;
    PTRACE_STORE Store;
    ULONG Index;

    if (Penter == NULL) {
        return FALSE;
    }

    if (PenterIsMakingContext(ThreadId) ||
        PenterInsideGetContext(Penter, Teb) == (PVOID)&Penter->Attaching) {

        return TRUE;
    }

    for (Block = Penter->Session->Blocks; Block != NULL; Block = Block->Next) {
        for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {
            Store = &Block->Stores[Index];
            if (Store->ThreadId != ThreadId) {
                continue;
            }

            if (Store->Use == TRACE_STORE_MEMBER &&
                Store->Tree.Shared != NULL) {
                Store = Store->Tree.Shared;
            }
            if (Store->InSlowPath) {
                return TRUE;
            }
        }
    }

    return FALSE;
}
