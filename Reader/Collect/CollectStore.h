/*++

Module Name:

    CollectStore.h

Abstract:

    The stores that a collector writes, so that they can be read meanwhile.

--*/

#ifndef TRACER_COLLECT_STORE_H
#define TRACER_COLLECT_STORE_H

#include "../Session/SessionTarget.h"
#include "CollectStack.h"

//
// Records that are gathered before they are written, and for how many stores at
// a time.
//

#define COLLECT_CHUNK               4096u
#define COLLECT_CHUNKS              256u

typedef struct _COLLECT_STORE {
    HANDLE File;
    PTRACE_STORE_HEADER Header;     // the file's, mapped
    ULONGLONG Position;             // the end of what is in the file
    ULONGLONG LastTimestamp;
    PTRACE_RECORD Chunk;            // NULL: none
    ULONG Count;                    // records in it
    BOOLEAN IsStopped;
} COLLECT_STORE;
typedef COLLECT_STORE *PCOLLECT_STORE;

typedef struct _COLLECT_STORES {
    PCREADER_CONTEXT Context;
    READER_TARGET Target;
    TRACE_STORE_HEADER Template;
    CHAR ModulePath[4096];          // of the driver, UTF-8, not terminated
    WCHAR ModuleName[260];          // of the driver: what files are named after
    ULONG ModuleNameLength;
    ULONG Sequence;
    PTRACE_RECORD Memory;           // COLLECT_CHUNKS of COLLECT_CHUNK
    PTRACE_RECORD Free[COLLECT_CHUNKS];
    PCOLLECT_STORE Filled[COLLECT_CHUNKS];  // stores that have a chunk
    ULONG NumberOfFree;
    ULONG NumberOfFilled;
    ULONGLONG NumberWithoutStore;   // records
    ULONGLONG NumberLate;           // records that got a later time stamp
    NTSTATUS Status;                // of the first store that failed
    PCSZ Step;
} COLLECT_STORES;
typedef COLLECT_STORES *PCOLLECT_STORES;

//
// Begins: the directory is there and empty (SessionOpenTarget).
// Section: the driver's.
// Name: its section's.
//

_Must_inspect_result_
NTSTATUS
CollectStoresBegin(
    _Inout_ PCOLLECT_STORES Stores,
    _In_ PCCOLLECT_SECTION Section,
    _In_ PCUNICODE_STRING Name
    );

//
// A COLLECT_PUT: appends a record to its owner's store, which is made if there
// is none.  What cannot be written is counted in the store, or if there is none
// in NumberWithoutStore.
//

VOID
CollectStoresPut(
    _In_opt_ PVOID Context,
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ ULONGLONG Timestamp,
    _In_ ULONG Site,
    _In_ ULONG StackKind
    );

//
// The owner's store, which is made if there is none; NULL if it cannot be.
//

_Ret_maybenull_
PCOLLECT_STORE
CollectStoresGet(
    _Inout_ PCOLLECT_STORES Stores,
    _Inout_ PCOLLECT_OWNER Owner
    );

//
// Writes all records that were gathered, and says so in the headers.
//

VOID
CollectStoresFlush(
    _Inout_ PCOLLECT_STORES Stores
    );

//
// Takes a reading of the clocks for all stores.
//

VOID
CollectStoresAnchor(
    _Inout_ PCOLLECT_STORES Stores,
    _In_ const COLLECT_STACKS *Stacks
    );

//
// Closes all stores in good order.
// Reason: TRACE_REASON_MODULE_UNLOAD or TRACE_REASON_PROCESS_EXIT.
//

VOID
CollectStoresEnd(
    _Inout_ PCOLLECT_STORES Stores,
    _In_ const COLLECT_STACKS *Stacks,
    _In_ ULONG Reason
    );

#endif // TRACER_COLLECT_STORE_H
