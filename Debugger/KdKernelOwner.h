/*++

Module Name:

    KdKernelOwner.h

Abstract:

    Whose a driver's records are: a thread's, or what a processor ran at
    DISPATCH_LEVEL and above that is no thread's.  The rule is the collector's
    (Reader/Collect/CollectStack.h).

--*/

#ifndef TRACER_KD_KERNEL_OWNER_H
#define TRACER_KD_KERNEL_OWNER_H

#include "KdArguments.h"
#include "KdKernel.h"

//
// A record with its place among the stacks of its owner, or the end of calls
// that were left (TRACE_KIND_GONE).
//

typedef struct _KD_KERNEL_CALL {
    ULONGLONG Timestamp;
    ULONG Rva;
    ULONG StackKind;
    ULONG Next;                     // index of its owner's next; KD_NONE: none
    ULONG Unused;
} KD_KERNEL_CALL;
typedef KD_KERNEL_CALL *PKD_KERNEL_CALL;

typedef struct _KD_KERNEL_OWNER {
    ULONG Id;                       // of a thread; of a processor its number
    BOOLEAN IsProcessor;
    ULONG NumberOfRecords;
    ULONG First;                    // index of its first call, and of the last
    ULONG Last;
} KD_KERNEL_OWNER;
typedef KD_KERNEL_OWNER *PKD_KERNEL_OWNER;

typedef struct _KD_KERNEL_OWNERS {
    KD_FEED Feed;                   // first: the calls of the one that is shown
    PKD_DRIVER Driver;
    PKD_KERNEL_CALL Calls;          // of all, each one's in the order of time
    PKD_KERNEL_OWNER Owners;
    ULONG NumberOfCalls;
    ULONG CapacityOfCalls;
    ULONG NumberOfOwners;
    ULONG CapacityOfOwners;
    ULONG Recent;                   // index of the owner of the last record
    ULONG Next;                     // index of the next call; KD_NONE: none
    NTSTATUS Status;                // of what is added
} KD_KERNEL_OWNERS;
typedef KD_KERNEL_OWNERS *PKD_KERNEL_OWNERS;

//
// Shows the calls of one owner, whom a line has named: Owners->Feed has them.
//     STATUS_NO_MEMORY, STATUS_CANCELLED
//

typedef
_Must_inspect_result_
NTSTATUS
(KD_SHOW_OWNER)(
    _Inout_ PKD_KERNEL_OWNERS Owners,
    _In_ ULONG Wanted
    );
typedef KD_SHOW_OWNER *PKD_SHOW_OWNER;

//
// Shows what the rings of a driver have of a thread, and behind that what
// processors ran in its context; says what cannot be shown.
// Module: the driver's, or the first that is found if its Text is NULL.
// Thread: KD_NONE for the one that ran last.
// IsAll: whether all threads are shown instead.
// MaximumInRing: the newest records of each ring that are looked at.
//

VOID
KdKernelShow(
    _Inout_ PKD_CONTEXT Context,
    _In_ PCKD_ARGUMENT Module,
    _In_ ULONG Thread,
    _In_ BOOLEAN IsAll,
    _In_ ULONG MaximumInRing,
    _In_ PKD_SHOW_OWNER Show,
    _In_ ULONG Wanted
    );

#endif // TRACER_KD_KERNEL_OWNER_H
