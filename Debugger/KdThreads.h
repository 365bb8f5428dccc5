/*++

Module Name:

    KdThreads.h

Abstract:

    Which threads a command is about, and what their stores have in memory.

--*/

#ifndef TRACER_KD_THREADS_H
#define TRACER_KD_THREADS_H

#include "KdArguments.h"
#include "KdStores.h"

//
// Finds the thread that a command is told (by its system ID, or * for all), or
// else the debugger's current one; Thread is its ID, or KD_NONE for all.
// FALSE: the word is no thread, which was said.
//

_Success_(return != FALSE)
BOOLEAN
KdThreadsFind(
    _Inout_ PKD_CONTEXT Context,
    _In_opt_ PCKD_ARGUMENT Argument,
    _Out_ PULONG Thread
    );

//
// The first store of a thread; KD_NONE, and it was said: there is none.
//

ULONG
KdThreadsFindStore(
    _In_ const KD_STORES *Stores,
    _In_ ULONG Thread
    );

//
// Shows the threads of a process, each with Show: one by its ID, or, with
// KD_NONE, all, until the command is stopped or its output is cut.  What failed
// is said.
// Wanted: for Show.
//

typedef
NTSTATUS
KD_SHOW_THREAD(
    _Inout_ PKD_STORES Stores,
    _In_ ULONG Store,
    _In_ ULONG Wanted
    );
typedef KD_SHOW_THREAD *PKD_SHOW_THREAD;

VOID
KdThreadsShow(
    _Inout_ PKD_CONTEXT Context,
    _In_ ULONG Thread,
    _In_ PKD_SHOW_THREAD Show,
    _In_ ULONG Wanted
    );

//
// Writes the line that a thread's calls begin with.
//

VOID
KdThreadsWrite(
    _In_ const KD_STORES *Stores,
    _In_ ULONG Store
    );

//
// Says what of a thread's records is not shown: in files, not in the dump, bad.
//

VOID
KdThreadsWriteMissing(
    _In_ const KD_STORES *Stores,
    _In_ ULONG Store
    );

#endif // TRACER_KD_THREADS_H
