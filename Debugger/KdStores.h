/*++

Module Name:

    KdStores.h

Abstract:

    The stores of a process, as its own threads have them mapped.

--*/

#ifndef TRACER_KD_STORES_H
#define TRACER_KD_STORES_H

#include "../Reader/Core/CoreClock.h"
#include "../Reader/Core/CoreHeader.h"
#include "KdNames.h"

//
// Records that lie together in memory.
//

typedef struct _KD_RUN {
    ULONGLONG Position;             // of the first (TraceFormat.h)
    ULONGLONG Address;
    ULONGLONG SizeInBytes;
} KD_RUN;
typedef KD_RUN *PKD_RUN;

#define KD_MAXIMUM_RUNS             4u

typedef struct _KD_STORE {
    ULONGLONG Address;              // of the header, in the target
    PTRACE_STORE_HEADER Header;     // a copy
    CORE_HEADER_RESULT Result;
    ULONG Module;                   // index in KD_STORES.Names
    ULONGLONG First;                // positions: of the oldest record, and of
    ULONGLONG End;                  // the end; 0 for trees
    ULONG NumberOfRuns;
    KD_RUN Runs[KD_MAXIMUM_RUNS];   // what is mapped of them, in order
    ULONGLONG MappedInBytes;        // of records
    ULONGLONG UnreadInBytes;        // of these, that could not be read
    ULONGLONG NumberBad;            // records that cannot be what they are
} KD_STORE;
typedef KD_STORE *PKD_STORE;

#define KD_IS_STORE_GOOD(Store) ((Store)->Result.State == CoreHeaderValid)
#define KD_IS_TREE(Store) ((Store)->Header->Mode == TRACE_MODE_TREE)

typedef struct _KD_STORES {
    PKD_CONTEXT Context;
    KD_NAMES Names;
    CORE_CLOCK Clock;
    PKD_STORE *Stores;              // by thread, and by when they were opened
    ULONG NumberOfStores;
    ULONG Capacity;
    ULONG NumberBad;                // of them
    ULONGLONG NumberOfRegions;      // of memory that were looked at
    BOOLEAN IsByThreads;            // the engine does not tell regions: looked
                                    // for through the threads' TLS
} KD_STORES;
typedef KD_STORES *PKD_STORES;

//
// Finds the stores in the target's memory.  Good for KdStoresRundown after a
// failure, too.
//     STATUS_CANCELLED, STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdStoresOpen(
    _Inout_ PKD_CONTEXT Context,
    _Out_ PKD_STORES Stores
    );

VOID
KdStoresRundown(
    _Inout_ PKD_STORES Stores
    );

//
// Says that there are none, and what that may come from.
//

VOID
KdStoresWriteNone(
    _In_ const KD_STORES *Stores
    );

//
// The first store of the thread that comes behind the one of Index; KD_NONE:
// there is no other.  KD_NONE as Index gives the first of all.
//

ULONG
KdStoresNextThread(
    _In_ const KD_STORES *Stores,
    _In_ ULONG Index
    );

//
// "in ring mode", ...: a literal.
//

PCSZ
KdStoresDescribeMode(
    _In_ PCTRACE_STORE_HEADER Header
    );

#endif // TRACER_KD_STORES_H
