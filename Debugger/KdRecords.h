/*++

Module Name:

    KdRecords.h

Abstract:

    A thread's records that are in memory, of all its stores, in the order of
    time.

--*/

#ifndef TRACER_KD_RECORDS_H
#define TRACER_KD_RECORDS_H

#include "../Reader/Core/CoreRecord.h"
#include "KdFeed.h"
#include "KdStores.h"

//
// Records that are read at a time.
//

#define KD_RECORDS                  4096u

typedef struct _KD_CURSOR {
    PKD_STORE Store;
    ULONG Run;
    ULONG Count;                    // these two of Records
    ULONG Next;
    ULONG Misses;                   // pages that are not there, in a row
    ULONGLONG Skip;                 // records of the store not wanted, bytes
    ULONGLONG Offset;               // in the run
    BOOLEAN IsAfterGap;             // before Records[Next] some are missing
    CORE_RECORD_CHECK Check;
    TRACE_RECORD Records[KD_RECORDS];
} KD_CURSOR;
typedef KD_CURSOR *PKD_CURSOR;

typedef struct _KD_RECORDS_FEED {
    KD_FEED Feed;                   // first: what it is used as
    PKD_STORES Stores;
    PKD_CURSOR *Cursors;
    ULONG NumberOfCursors;
} KD_RECORDS_FEED;
typedef KD_RECORDS_FEED *PKD_RECORDS_FEED;

//
// Opens the records of the thread that Store, an index, is the first store of:
// the last MaximumInBytes of each store.  Stores of records that a tree has as
// well are left out with WithoutTrees.  Good for KdRecordsClose after a
// failure, too.
//     STATUS_NO_MEMORY
//

_Must_inspect_result_
NTSTATUS
KdRecordsOpen(
    _Inout_ PKD_STORES Stores,
    _In_ ULONG Store,
    _In_ ULONGLONG MaximumInBytes,
    _In_ BOOLEAN WithoutTrees,
    _Out_ PKD_RECORDS_FEED Feed
    );

VOID
KdRecordsClose(
    _Inout_ PKD_RECORDS_FEED Feed
    );

#endif // TRACER_KD_RECORDS_H
