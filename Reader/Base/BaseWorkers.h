/*++

Module Name:

    BaseWorkers.h

Abstract:

    Threads that share a command's work.

--*/

#ifndef TRACER_BASE_WORKERS_H
#define TRACER_BASE_WORKERS_H

#include "../../StringTable/StringTable.h"
#include "BaseContext.h"

#define READER_MAXIMUM_WORKERS 32u

typedef struct _READER_LOCK {
    PCRTL Rtl;
    HANDLE Event;                   // set for one of those that wait
    volatile LONG Count;            // of threads that have it or wait for it
} READER_LOCK;
typedef READER_LOCK *PREADER_LOCK;

//
// Makes a lock.
// Lock: it; good for BaseRundownLock even after a failure.
// Returns STATUS_SUCCESS or NtCreateEvent's.
//

_Must_inspect_result_
NTSTATUS
BaseInitializeLock(
    _Out_ PREADER_LOCK Lock,
    _In_ PCRTL Rtl
    );

//
// Closes a lock that nobody has.
//

VOID
BaseRundownLock(
    _Inout_ PREADER_LOCK Lock
    );

//
// The system is asked only if somebody else has it.
// Lock: the lock, which this thread does not have; NULL is no lock: both do
// nothing.
//

VOID
BaseAcquireLock(
    _Inout_opt_ PREADER_LOCK Lock
    );

//
// Gives a lock back, to one that waits for it if there is one.
// Lock: the lock, which this thread has; NULL: nothing is done.
//

VOID
BaseReleaseLock(
    _Inout_opt_ PREADER_LOCK Lock
    );

//
// An allocator for several threads, over one for a single thread.  It must
// not move.
//

typedef struct _READER_LOCKED_ALLOCATOR {
    ALLOCATOR Allocator;
    PCALLOCATOR Inner;
    READER_LOCK Lock;
} READER_LOCKED_ALLOCATOR;
typedef READER_LOCKED_ALLOCATOR *PREADER_LOCKED_ALLOCATOR;

//
// Makes an allocator that several threads may use of one that they may not.
// Context: its Allocator is the one that is used.
//

_Must_inspect_result_
NTSTATUS
BaseInitializeLockedAllocator(
    _Out_ PREADER_LOCKED_ALLOCATOR Locked,
    _In_ PCREADER_CONTEXT Context
    );

//
// What a command whose work is shared has from its beginning on: a context for
// all its workers, with the lock of what they share.  It must not move.
//

typedef struct _READER_TEAM {
    READER_CONTEXT Context;             // with an allocator for all workers
    READER_LOCKED_ALLOCATOR Allocator;
    READER_LOCK Lock;
    ULONG MaximumWorkers;
} READER_TEAM;
typedef READER_TEAM *PREADER_TEAM;

//
// Makes a team.  Without the locks there is one worker.
// NumberOfWorkers: at most; 0: one for each processor.
//

VOID
BaseInitializeTeam(
    _Out_ PREADER_TEAM Team,
    _In_ PCREADER_CONTEXT Context,
    _In_ ULONG NumberOfWorkers
    );

//
// Closes a team's locks; what its allocator gave has been freed.
//

VOID
BaseRundownTeam(
    _Inout_ PREADER_TEAM Team
    );

//
// Runs Routine as workers 0 (in this thread) to NumberOfWorkers - 1, and waits
// for all.
//

typedef
VOID
(READER_WORK)(
    _In_ PVOID Context,
    _In_ ULONG Worker
    );
typedef READER_WORK *PREADER_WORK;

typedef VOID (READER_WAIT)(_In_ PVOID Context);
typedef READER_WAIT *PREADER_WAIT;

//
// Runs a routine in several threads at once, and waits for all of them.
// NumberOfWorkers: in how many, the caller's with them; at most
// READER_MAXIMUM_WORKERS.
// Routine: what each does: it takes shares of the work for as long as there
// are any.
// WaitRoutine: called ten times a second while the caller's thread has nothing
// to do but to wait, or NULL.
//

VOID
BaseRunWorkers(
    _In_ PCREADER_CONTEXT Context,
    _In_ ULONG NumberOfWorkers,
    _In_ PREADER_WORK Routine,
    _In_ PVOID RoutineContext,
    _In_opt_ PREADER_WAIT WaitRoutine
    );

#endif // TRACER_BASE_WORKERS_H
