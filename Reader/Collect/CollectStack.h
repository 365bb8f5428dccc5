/*++

Module Name:

    CollectStack.h

Abstract:

    Whose a record is: that of a thread, or of a processor, and where its stack
    is among the stacks of that.  Docs/Format.md has the rule.

--*/

#ifndef TRACER_COLLECT_STACK_H
#define TRACER_COLLECT_STACK_H

#include "../Base/BaseContainer.h"
#include "CollectSection.h"

//
// No kernel stack is larger, bytes; what is farther from an open call is on
// another one.
//

#define COLLECT_STACK_SIZE          0x12000u

//
// Where the stacks of a store are put, of 32-bit addresses.  A thread's are one
// above the other, as they call each other; those of a processor are apart.
//

#define COLLECT_PLACE               0x70000000u
#define COLLECT_PLACE_BELOW         0x1000000u
#define COLLECT_BETWEEN             0x10000u
#define COLLECT_APART               0x4000000u

//
// Stacks of one owner that are in use at a time, open calls of it that are
// known, and owners.
//

#define COLLECT_MAXIMUM_STACKS      16u
#define COLLECT_MAXIMUM_FRAMES      4096u
#define COLLECT_MAXIMUM_OWNERS      8192u

//
// The ThreadId of a processor's store: those of threads are multiples of 4.
//

#define COLLECT_PROCESSOR_ID(Ring)  (4 * (Ring) + 1)

#define COLLECT_IRQL_DISPATCH       2u

//
// An open call.
//

typedef struct _COLLECT_FRAME {
    ULONGLONG Stack;                // RSP at its entry, whole
    ULONGLONG Site;
    ULONGLONG Timestamp;
    ULONG Thread;
    ULONG Kind;
} COLLECT_FRAME;
typedef COLLECT_FRAME *PCOLLECT_FRAME;
typedef const COLLECT_FRAME *PCCOLLECT_FRAME;

typedef struct _COLLECT_STACK {
    ULONGLONG Low;                  // lowest and highest RSP that was seen
    ULONGLONG High;
    ULONG Delta;                    // added to RSP, it is the place
    ULONG Thread;                   // whose context it was entered in
    ULONG FirstFrame;               // index of the first of its open calls
} COLLECT_STACK;
typedef COLLECT_STACK *PCOLLECT_STACK;

typedef struct _COLLECT_OWNER {
    ULONG Id;                       // a thread's, or COLLECT_PROCESSOR_ID
    BOOLEAN IsProcessor;
    ULONG NumberOfStacks;           // 1 at least, once there was a record
    COLLECT_STACK Stacks[COLLECT_MAXIMUM_STACKS];
    PCOLLECT_FRAME Frames;          // the innermost last
    ULONG NumberOfFrames;
    ULONG CapacityOfFrames;
    ULONG NumberLeftOut;            // open calls for which there was no room
    ULONG NumberKept;               // outermost calls that a gap has left open
    struct _COLLECT_STORE *Store;   // NULL: it has none yet
} COLLECT_OWNER;
typedef COLLECT_OWNER *PCOLLECT_OWNER;

//
// Takes a record for an owner's store.
// StackKind: its place, and the kind.
//

typedef
VOID
(COLLECT_PUT)(
    _In_opt_ PVOID Context,
    _Inout_ PCOLLECT_OWNER Owner,
    _In_ ULONGLONG Timestamp,
    _In_ ULONG Site,
    _In_ ULONG StackKind
    );
typedef COLLECT_PUT *PCOLLECT_PUT;

typedef struct _COLLECT_STACKS {
    PCALLOCATOR Allocator;
    ULONG NumberOfProcessors;
    PCOLLECT_OWNER *Owners;         // first the processors'; those of threads
    ULONG NumberOfOwners;           // as they come
    ULONG CapacityOfOwners;
    READER_MAP Threads;             // identifier to index
    PCOLLECT_OWNER Recent;          // a thread's, or NULL
    PCOLLECT_PUT Put;
    PVOID PutContext;
    ULONGLONG NumberWithoutOwner;   // records of threads beyond the last owner
} COLLECT_STACKS;
typedef COLLECT_STACKS *PCOLLECT_STACKS;

//
// Does the driver say that a call is open still?
//

typedef
BOOLEAN
(COLLECT_IS_OPEN)(
    _In_opt_ PVOID Context,
    _In_ PCCOLLECT_FRAME Frame
    );
typedef COLLECT_IS_OPEN *PCOLLECT_IS_OPEN;

_Must_inspect_result_
NTSTATUS
CollectStacksBegin(
    _Out_ PCOLLECT_STACKS Stacks,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG NumberOfProcessors,
    _In_ PCOLLECT_PUT Put,
    _In_opt_ PVOID PutContext
    );

VOID
CollectStacksEnd(
    _Inout_ PCOLLECT_STACKS Stacks
    );

//
// Gives a record to whom it belongs.  STATUS_NO_MEMORY; that of a thread for
// which there is no room is counted, and is no failure.
// Processor: whose ring it was in.
//

_Must_inspect_result_
NTSTATUS
CollectStacksTake(
    _Inout_ PCOLLECT_STACKS Stacks,
    _In_ const TRACE_KERNEL_RECORD *Record,
    _In_ ULONG Processor
    );

//
// Records are missing before this time: of each owner, the open calls that the
// driver does not know any more may have been left, and are ended by a record
// of TRACE_KIND_GONE.
//

VOID
CollectStacksBreak(
    _Inout_ PCOLLECT_STACKS Stacks,
    _In_ ULONGLONG Timestamp,
    _In_ PCOLLECT_IS_OPEN IsOpen,
    _In_opt_ PVOID IsOpenContext
    );

#endif // TRACER_COLLECT_STACK_H
