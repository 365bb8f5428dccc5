/*++

Module Name:

    TraceStore.h

Abstract:

    The writer of trace stores: a session (one per module instance), its
    thread stores, their views, and the worker thread that prepares views
    ahead of need.  The format that all of this writes is TraceFormat.h.

    Who calls what:

        start               TraceSessionCreate
        first call of a     TraceStoreOpen: the store's header, mapped, is
        thread              what the hook appends through
        hook, view full     TraceStoreAdvance
        thread exit         TraceStoreClose
        module unload       TraceSessionDestroy
        process exit        TraceSessionProcessExit

        control             TraceControlServe, on the slow path: what was asked
                            for in the session's control file

    Everything here runs on traced threads (but for the worker) inside the
    hook's slow path: all routines of the system are reached through the RTL,
    nothing allocates from the process heap, no lock is held while waiting for
    anything that could need the loader lock.

--*/

#ifndef TRACER_TRACE_STORE_H
#define TRACER_TRACE_STORE_H

#include "../Rtl/Rtl.h"
#include "TraceFormat.h"

//
// A view's size is a power of two between these.  The first view is always
// the smallest.  In a store that keeps everything each next one starts where
// the file ends and is at most as large as the file is, so that sizes double;
// it should last for some 100 ms, and is no larger than the session's
// MaximumViewSize.  The views of a ring are its segments, all of one size.
//

#define TRACE_VIEW_MINIMUM_SIZE     0x00010000      // 64 KiB
#define TRACE_VIEW_DEFAULT_SIZE     0x02000000      // 32 MiB
#define TRACE_VIEW_MAXIMUM_SIZE     0x40000000      // 1 GiB

//
// How much of its first view a thread prepares at once: little, since it may
// make ten calls and end.
//

#define TRACE_PREPARE_FIRST         0x4000          // 16 KiB

//
// The zeroes that pages are prepared with, bytes: the most that is prepared at
// once.
//

#define TRACE_ZEROS_SIZE            0x80000         // 512 KiB

//
// A ring has at least that many segments, or half as many at its least size.
// One of them is being filled and one is empty.
//

#define TRACE_RING_SEGMENTS         31

//
// The least number of bytes that a store may be limited to.
//

#define TRACE_MAXIMUM_BYTES_LEAST   0x00100000      // 1 MiB

typedef struct _TRACE_VIEW {
    PBYTE Base;                     // NULL: no view
    ULONGLONG Position;             // of Base (TraceFormat.h, "Positions")
    ULONGLONG FileOffset;           // of Base, bytes
    ULONGLONG SizeInBytes;
    ULONGLONG PreparedInBytes;      // pages from Base that are present and
                                    // writable; a multiple of 4,096
    ULONGLONG PrepareTicks;         // that this took, of the time stamp counter
    ULONGLONG LongestTicks;         // that a piece of it took
    HANDLE Section;                 // that Base is being mapped from; NULL: it
                                    // has been, or nothing has
} TRACE_VIEW;
typedef TRACE_VIEW *PTRACE_VIEW;
typedef const TRACE_VIEW *PCTRACE_VIEW;

typedef struct _TRACE_SESSION TRACE_SESSION;
typedef TRACE_SESSION *PTRACE_SESSION;

//
// A function whose calls are recorded, with all that they call, beside the tree
// (TraceChrono.c): image-relative addresses.
//

typedef struct _TRACE_CHRONO_RANGE {
    ULONG First;
    ULONG End;                      // behind the last
} TRACE_CHRONO_RANGE;
typedef TRACE_CHRONO_RANGE *PTRACE_CHRONO_RANGE;
typedef const TRACE_CHRONO_RANGE *PCTRACE_CHRONO_RANGE;

//
// Values of TRACE_STORE.Use.
//

#define TRACE_STORE_FREE        0
#define TRACE_STORE_USED        1
#define TRACE_STORE_CLOSING     2

//
// How many full views may wait for the worker to unmap them.  The worker
// prepares first and unmaps when it has time; a view of 32 MiB takes it, or
// the owner if there is no place left, some 4 ms.
//

#define TRACE_RETIRED_VIEWS 16

//
// Who unmaps which of TRACE_STORE.Leaving.
//

#define TRACE_LEAVING_OWNER     0
#define TRACE_LEAVING_WORKER    1
#define TRACE_LEAVING_VIEWS     2

//
// Values of TRACE_STORE.WorkerBusy.
//

#define TRACE_WORKER_IDLE       0
#define TRACE_WORKER_MAPS       1   // Next
#define TRACE_WORKER_UNMAPS     2   // a retired view
#define TRACE_WORKER_PREPARES_NEXT 4    // a piece of Next; when the owner moves
                                    // on to that view, it becomes
#define TRACE_WORKER_PREPARES_CURRENT 8
#define TRACE_WORKER_ANY        15

//
// The calls that are open and recorded on one stack, for TRACER_MAX_DEPTH.  The
// hook uses it (PenterHooks.asm); the fields up to Calls are in
// Asm/TraceLayout.inc.  Stack pointers are those of the hook's calls, their low
// 32 bits.
//

typedef struct _TRACE_DEPTH_CALL {
    ULONG Stack;
    ULONG Function;                 // in the -finstrument-functions convention,
                                    // its low 32 bits; else 0
} TRACE_DEPTH_CALL;

typedef struct _TRACE_DEPTH TRACE_DEPTH;
typedef TRACE_DEPTH *PTRACE_DEPTH;

struct _TRACE_DEPTH {
    ULONGLONG StackBase;            // highest address of the stack
    PTRACE_DEPTH Next;              // another stack of the same thread
    ULONG Count;                    // of calls that are open
    ULONG Maximum;
    ULONG Skipped;                  // calls that are open and left out, all
                                    // inside the one whose stack pointer is
    ULONG SkipStack;                // this
    ULONG SkipFunction;             // and its Function
    ULONG Unused;
    TRACE_DEPTH_CALL Calls[1];      // Maximum of them, the deepest last
};

//
// The largest depth that may be asked for, and how many stacks a thread may
// have: a fiber beyond that number takes the place of the one that was used
// longest ago.
//

#define TRACE_MAXIMUM_DEPTH         16000
#define TRACE_DEPTH_STACKS          1024

//
// What the writer knows of a thread's tree beside the tree itself
// (TraceTree.c).  The hooks use the first five fields, which are in
// Asm/TraceLayout.inc.  The buckets hold the nodes but for the root and those
// of TRACE_NODE_OTHER, linked by HashNext; their number is a power of two.
//

#define TRACE_TREE_HASH             0x9E3779B1u
#define TRACE_TREE_HASH_SHIFT       12
#define TRACE_TREE_MAXIMUM_BUCKETS  0x00100000
#define TRACE_CHRONO_BUCKETS        4096

//
// How far RSP is below that at its call when the hook looks where it is: this
// decides which stack it is on.
//

#define TRACE_TREE_HOOK_FRAME       56

typedef struct _TRACE_TREE {
    ULONGLONG StackLow;             // lowest address of the stack in use
    ULONGLONG StackSize;            // bytes
    PTRACE_NODE Nodes;              // the root, the first of them
    PTRACE_NODE *Buckets;
    ULONG Mask;                     // number of buckets less 1
    ULONG NumberTooDeep;            // calls that are open, without a frame,
                                    // inside the innermost frame
    PTRACE_TREE_STACK Stack;        // in use
    ULONGLONG NodesPrepared;        // writer address: end of the pages
    ULONGLONG NodesEnd;             // writer address: end of the nodes' room
    ULONGLONG NumberOfSites;        // nodes but those of TRACE_NODE_OTHER
    ULONGLONG LostAtStop;           // NumberOfEventsLost, when it was stopped
                                    // from outside
    struct _TRACE_STORE *Chrono;    // the thread's second store; NULL: none yet
    BOOLEAN IsChronoFailed;         // there can be none
    PTRACE_NODE *ChronoBuckets;     // TRACE_CHRONO_BUCKETS: of nodes that the
                                    // hook must not find; NULL: there are none
} TRACE_TREE;
typedef TRACE_TREE *PTRACE_TREE;

//
// What a store of a tree may have, bytes, and what it has by default.
//

#define TRACE_TREE_MAXIMUM_BYTES    0x40000000      // 1 GiB
#define TRACE_TREE_DEFAULT_BYTES    0x02000000      // 32 MiB

//
// One thread's store, in the writer's memory.  Fields without a remark are
// written by the owning thread alone.
//

typedef struct _TRACE_STORE {

    volatile LONG Use;              // claimed and freed by compare-exchange
    volatile LONG WorkLock;         // 1 while the owner or the worker changes
                                    // the fields marked (W)
    ULONG ThreadId;
    volatile LONG InSlowPath;       // the owner is inside the library

    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;     // mapped by the first view
    HANDLE File;
    PTRACE_DEPTH Depth;             // of the stack in use; NULL: no limit
    PBYTE Floor;                    // records below are not taken back: where
                                    // the current view begins, or where
                                    // recording was started again
    TRACE_TREE Tree;                // TRACE_MODE_TREE

    TRACE_VIEW Current;             // (W) where the hook appends
    TRACE_VIEW Next;                // (W) prepared ahead; Base NULL: none
    TRACE_VIEW Mapping;             // what the worker maps, outside the lock;
                                    // it becomes Next
    PVOID Retired[TRACE_RETIRED_VIEWS]; // (W) for the worker to unmap
    PVOID Leaving[TRACE_LEAVING_VIEWS]; // being unmapped; each its thread's
    ULONGLONG FileSizeInBytes;      // (W) what the file was extended to
    ULONGLONG DemandInBytes;        // what a view should have to last for a
                                    // while; before WantNext
    ULONG SlowViews;                // how many more are kept small
    ULONG WorkerBusy;               // (W) what the worker does for the store
                                    // outside the lock: TRACE_WORKER_*
    ULONG volatile WantNext;        // the worker may map Next, and then sets
                                    // this to FALSE
    NTSTATUS NextStatus;            // (W) why the worker could not
    ULONG NextReason;               // (W) TRACE_REASON_* that goes with it
    volatile LONG Attention;        // there may be actions that the owner has
                                    // not carried out (TraceControl.c)
    BOOLEAN IsPausedSlowly;         // every hook call takes the slow path,
                                    // which counts it: there is no worker
    ULONGLONG LostBefore;           // NumberOfEventsLost before the pause
    ULONGLONG ActionTimestamp;      // of the last action

} TRACE_STORE;
typedef TRACE_STORE *PTRACE_STORE;

//
// Stores live in blocks of 64 KiB that are linked, never moved and freed only
// by TraceSessionDestroy.
//

#define TRACE_STORE_BLOCK_SIZE 0x10000

typedef struct _TRACE_STORE_BLOCK TRACE_STORE_BLOCK;
typedef TRACE_STORE_BLOCK *PTRACE_STORE_BLOCK;

#define TRACE_STORES_PER_BLOCK \
    ((TRACE_STORE_BLOCK_SIZE - 64) / sizeof(TRACE_STORE))

struct _TRACE_STORE_BLOCK {
    PTRACE_STORE_BLOCK Next;
    ULONGLONG Reserved[7];
    TRACE_STORE Stores[TRACE_STORES_PER_BLOCK];
};
C_ASSERT(sizeof(TRACE_STORE_BLOCK) <= TRACE_STORE_BLOCK_SIZE);

//
// States of the worker.
//

#define TRACE_WORKER_NONE       0   // not started
#define TRACE_WORKER_STARTING   1
#define TRACE_WORKER_RUNNING    2
#define TRACE_WORKER_REFUSED    3   // must not or could not be started

//
// How many threads of the program the worker waits for at a time: the system
// takes 64 objects, and one is its event.
//

#define TRACE_WATCHED_THREADS   63

typedef struct _TRACE_WORKER {
    volatile LONG State;
    volatile LONG Stop;             // set by TraceWorkerStop
    volatile LONG Waiting;          // the worker waits for WakeEvent
    volatile LONG Claimed;          // set by the worker when it begins, or by
                                    // TraceWorkerStop if that comes first
    ULONG ThreadId;
    HANDLE Thread;
    HANDLE WakeEvent;
    HANDLE GoneEvent;               // set in the same system call in which the
                                    // worker goes to sleep for good
    HANDLE NeverEvent;
    BOOLEAN IsWatching;             // the system has what that takes
    ULONG NumberWatched;
    HANDLE Watched[TRACE_WATCHED_THREADS];
    PVOID volatile LastThread;      // a handle of the one that said last that
                                    // it ends, or at first of the one that
                                    // started the worker; or NULL
    NTSTATUS LastExitStatus;        // of those that have ended
    LONGLONG LastExitTime;          // FILETIME
} TRACE_WORKER;
typedef TRACE_WORKER *PTRACE_WORKER;

//
// The clock thread (TraceClock.c).
//

typedef struct _TRACE_CLOCK {
    ULONGLONG volatile *Place;      // where the hooks read; NULL: no thread
    ULONGLONG Resolution;           // ticks; 0: not known yet
    ULONGLONG NumberOfFreezes;
    ULONGLONG MaximumStep;          // ticks
} TRACE_CLOCK;
typedef TRACE_CLOCK *PTRACE_CLOCK;

//
// Values of TRACE_SESSION.Coherence: whether what is written to a file is seen
// in its views.
//

#define TRACE_COHERENCE_UNKNOWN 0
#define TRACE_COHERENCE_SEEN    1
#define TRACE_COHERENCE_MISSED  2

//
// A session: what all the stores of one module instance share.
//

struct _TRACE_SESSION {

    RTL Rtl;

    PVOID ModuleBase;
    ULONGLONG MaximumViewSize;
    ULONGLONG SegmentSize;          // of rings, bytes; 0: everything is kept
    PVOID Zeros;                    // TRACE_ZEROS_SIZE bytes
    ULONG volatile Coherence;       // TRACE_COHERENCE_*
    BOOLEAN Flush;                  // views that are full are written to disk
    BOOLEAN WorkerAllowed;
    BOOLEAN WorkerPrepares;         // FALSE: it leaves the processor to the
                                    // clock thread
    BOOLEAN volatile IsAlone;       // no other thread is in this module any
                                    // more: the process exits or unloads it
    BOOLEAN volatile WorkerIsGone;  // somebody has terminated the worker

    //
    // A header with all that the stores have in common; not mapped.
    //

    PTRACE_STORE_HEADER Template;

    //
    // The session directory: its NT path, and a handle once it exists.
    //

    UNICODE_STRING Directory;
    PVOID volatile DirectoryHandle;
    UNICODE_STRING ModuleName;      // base name of the module's file
    UNICODE_STRING LogName;         // NT path, used while there is no directory

    volatile LONG NextSequenceNumber;
    volatile LONG NumberOfErrorsLogged;
    PTRACE_STORE_BLOCK volatile Blocks;
    TRACE_WORKER Worker;
    TRACE_WORKER ClockWorker;       // the clock thread, which has no work
    TRACE_CLOCK Clock;

    //
    // TraceControl.c.
    //

    ULONGLONG ControlSize;          // bytes; 0: the user wants no control file
    PTRACE_CONTROL volatile Control;    // mapped; NULL: not yet, or none
    ULONG ControlCapacity;          // actions
    ULONG ControlInstance;          // of the file's Instances
    volatile LONG ControlFailed;    // it cannot be had or read: said once
    volatile LONG ControlReported;  // that there is no worker
    volatile LONG ControlSeen;      // actions that are there
    volatile LONG ControlNotified;  // of them, that every store was told of
    volatile LONG ControlAgain;     // some store's lock was taken
    ULONG ControlHole;              // the worker's: an action that is missing,
    ULONGLONG ControlHoleTime;      // and since when (Qpc); 0: none is

    //
    // TraceChrono.c.  Whoever sets them keeps them until the session is gone.
    //

    PCTRACE_CHRONO_RANGE Chrono;    // in order, none overlaps another
    ULONG NumberOfChrono;           // 0: none; set before the hooks are
    ULONGLONG ChronoMaximumBytes;   // of a second store; 0: no limit

};

//
// TraceSession.c
//

typedef struct _TRACE_SESSION_PARAMETERS {
    PVOID ModuleBase;               // image base of the module that is traced
    UNICODE_STRING RootDirectory;   // DOS path: where session directories go
    ULONGLONG MaximumViewSize;      // bytes, a power of two; 0: the default
    ULONGLONG MaximumBytes;         // of each store, TRACE_MAXIMUM_BYTES_LEAST
                                    // or more; 0: no limit
    BOOLEAN IsRing;                 // keep the last MaximumBytes, rather than
                                    // the first
    BOOLEAN IsTree;                 // keep a tree, in at most MaximumBytes (0:
                                    // TRACE_TREE_DEFAULT_BYTES)
    BOOLEAN Flush;                  // write views that are full to disk
    BOOLEAN WorkerAllowed;          // FALSE: views are prepared by the traced
                                    // threads themselves
    ULONG Clock;                    // TRACE_CLOCK_*; that of a thread goes
                                    // after TraceClockStart
    ULONG MaximumDepth;             // of calls; 0: no limit
    ULONGLONG MinimumDuration;      // of calls, nanoseconds; 0: none
    ULONGLONG ControlSize;          // of the control file, bytes, from
                                    // TRACE_CONTROL_LEAST to _MOST; 0: none
} TRACE_SESSION_PARAMETERS;
typedef TRACE_SESSION_PARAMETERS *PTRACE_SESSION_PARAMETERS;
typedef const TRACE_SESSION_PARAMETERS *PCTRACE_SESSION_PARAMETERS;

//
// Creates a session in memory of its own.  Touches no file: the directory
// appears with the first store.  Every error is the failing call's.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_SESSION_CREATE)(
    _In_ PCRTL Rtl,
    _In_ const TRACE_SESSION_PARAMETERS *Parameters,
    _Outptr_ PTRACE_SESSION *Session,
    _Out_ PRTL_ERROR Error
    );
TRACE_SESSION_CREATE TraceSessionCreate;

//
// Stops the worker, closes every store with Reason and frees the session's
// memory.  No thread may be using it.
//

typedef
VOID
(TRACE_SESSION_DESTROY)(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Reason
    );
TRACE_SESSION_DESTROY TraceSessionDestroy;

//
// At process exit, when every other thread is gone: closes every store but
// the calling thread's, waiting for nobody.  The memory stays, since the
// calling thread may still make calls; its own store is closed too if
// CloseOwn.
//

typedef
VOID
(TRACE_SESSION_PROCESS_EXIT)(
    _Inout_ PTRACE_SESSION Session,
    _In_opt_ PTRACE_STORE OwnStore,
    _In_ BOOLEAN CloseOwn
    );
TRACE_SESSION_PROCESS_EXIT TraceSessionProcessExit;

//
// Gives up the processor while the worker is waited for; and notices if that
// is in vain.  Count says how often the caller has been here: after
// TRACE_PATIENCE times, some tens of milliseconds, it is suspicious.  A worker
// that is merely behind is never that late, and asking after it takes longer
// than its chunk of pages.
//

#define TRACE_PATIENCE 100000

typedef
VOID
(TRACE_SESSION_YIELD)(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Count
    );
TRACE_SESSION_YIELD TraceSessionYield;

//
// Opens (once) the session directory.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_SESSION_OPEN_DIRECTORY)(
    _Inout_ PTRACE_SESSION Session,
    _Outptr_ PHANDLE Directory,
    _Out_ PRTL_ERROR Error
    );
TRACE_SESSION_OPEN_DIRECTORY TraceSessionOpenDirectory;

//
// TraceStore.c
//

//
// Opens a store for the calling thread.  On success *Store's header is ready
// for the hook.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_STORE_OPEN)(
    _Inout_ PTRACE_SESSION Session,
    _Outptr_ PTRACE_STORE *Store,
    _Out_ PRTL_ERROR Error
    );
TRACE_STORE_OPEN TraceStoreOpen;

//
// Likewise, for one of TRACE_FLAG_CHRONOLOGICAL, beside the thread's tree.
//

TRACE_STORE_OPEN TraceStoreOpenChrono;

//
// Marks an open store as ended, with its last anchor.  Records may still
// follow; the store stays mapped until TraceStoreClose.
//

typedef
VOID
(TRACE_STORE_FINISH)(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Reason
    );
TRACE_STORE_FINISH TraceStoreFinish;

//
// Closes a store: finishes it if that has not been done, unmaps its views, cuts
// the file after its last record (if no reader has it mapped), closes it.  A
// store that had stopped stays stopped.
//

typedef
VOID
(TRACE_STORE_CLOSE)(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Reason
    );
TRACE_STORE_CLOSE TraceStoreClose;

//
// Stops a store for good and says why in its header.  The hook counts what
// comes after.
//

typedef
VOID
(TRACE_STORE_STOP)(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG Reason,
    _In_ NTSTATUS Status
    );
TRACE_STORE_STOP TraceStoreStop;

//
// Writes an anchor so that a reader can tell a torn one: Check goes to a value
// that does not fit first.
//

typedef
VOID
(TRACE_STORE_SET_ANCHOR)(
    _Out_ PTRACE_CLOCK_ANCHOR Anchor,
    _In_ const RTL_CLOCK_READING *Reading
    );
TRACE_STORE_SET_ANCHOR TraceStoreSetAnchor;

//
// TraceView.c
//

//
// Called by the owner when the hook found the cursor at the limit.  Afterwards
// there is room for at least one record, or the store is stopped.
//

typedef
VOID
(TRACE_STORE_ADVANCE)(
    _Inout_ PTRACE_STORE Store
    );
TRACE_STORE_ADVANCE TraceStoreAdvance;

//
// Extends the file to the end of the view and maps it.  On failure *Reason
// receives the TRACE_REASON_*.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_VIEW_MAP)(
    _In_ PCRTL Rtl,
    _In_ HANDLE File,
    _In_ ULONGLONG FileSizeInBytes,
    _Inout_ PTRACE_VIEW View,
    _Out_ PULONG Reason
    );
TRACE_VIEW_MAP TraceViewMap;

//
// Prepares the next pages of a view, at most SizeInBytes of them and at most
// TRACE_ZEROS_SIZE.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_VIEW_PREPARE)(
    _Inout_ PTRACE_SESSION Session,
    _In_ HANDLE File,
    _Inout_ PTRACE_VIEW View,
    _In_ ULONGLONG SizeInBytes
    );
TRACE_VIEW_PREPARE TraceViewPrepare;

//
// Gives back what a thread that was killed may have been mapping or unmapping.
// A store's known views, but for its first, are unmapped already.
//

typedef VOID (TRACE_STORE_RECLAIM)(_Inout_ PTRACE_STORE Store);
TRACE_STORE_RECLAIM TraceStoreReclaim;

//
// Unmaps a full view, which the session's Flush has written to disk first.
//

typedef
VOID
(TRACE_VIEW_RETIRE)(
    _In_ PTRACE_SESSION Session,
    _In_opt_ PVOID Base
    );
TRACE_VIEW_RETIRE TraceViewRetire;

typedef
ULONGLONG
(TRACE_VIEW_NEXT_SIZE)(
    _In_ ULONGLONG FileSizeInBytes,
    _In_ ULONGLONG MaximumViewSize,
    _In_ ULONGLONG DemandInBytes
    );
TRACE_VIEW_NEXT_SIZE TraceViewNextSize;

typedef
BOOLEAN
(TRACE_VIEW_IS_SLOW)(
    _In_ PCTRACE_VIEW View,
    _In_ ULONGLONG Ticks,
    _In_ ULONGLONG Microseconds
    );
TRACE_VIEW_IS_SLOW TraceViewIsSlow;

//
// Where the next view lies, and (afterwards) that it is there.  Both under the
// work lock.  STATUS_QUOTA_EXCEEDED: the store may not grow any more.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_STORE_PLACE_NEXT)(
    _Inout_ PTRACE_STORE Store,
    _Inout_ PTRACE_VIEW View
    );
TRACE_STORE_PLACE_NEXT TraceStorePlaceNext;

typedef VOID (TRACE_STORE_GROW)(_Inout_ PTRACE_STORE Store);
TRACE_STORE_GROW TraceStoreGrow;

typedef VOID (TRACE_STORE_LOCK)(_Inout_ PTRACE_STORE Store);
TRACE_STORE_LOCK TraceStoreAcquireWorkLock;
TRACE_STORE_LOCK TraceStoreReleaseWorkLock;

//
// Waits while the worker does one of What (TRACE_WORKER_*) for the store,
// outside the lock.  The lock is held on entry and on return.
//

typedef
VOID
(TRACE_STORE_WAIT_FOR_WORKER)(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG What
    );
TRACE_STORE_WAIT_FOR_WORKER TraceStoreWaitForWorker;

typedef BOOLEAN (TRACE_STORE_TRY_LOCK)(_Inout_ PTRACE_STORE Store);
TRACE_STORE_TRY_LOCK TraceStoreTryAcquireWorkLock;

//
// TraceWatch.c: the worker ends the process when only workers are left.
//

typedef BOOLEAN (TRACE_WATCH_IS_POSSIBLE)(_In_ PCRTL Rtl);
TRACE_WATCH_IS_POSSIBLE TraceWatchIsPossible;   // the system has what it takes

typedef VOID (TRACE_WATCH_MARK_CALLER)(VOID);
TRACE_WATCH_MARK_CALLER TraceWatchMark;     // any thread of the library

typedef VOID (TRACE_WATCH_CHANGE)(_Inout_ PTRACE_SESSION Session);
TRACE_WATCH_CHANGE TraceWatchBegin;
TRACE_WATCH_CHANGE TraceWatchEnd;
TRACE_WATCH_CHANGE TraceWatchCaller;        // before the worker begins
TRACE_WATCH_CHANGE TraceWatchThreadEnds;    // the calling thread does

typedef
NTSTATUS
(TRACE_WATCH_WAIT)(
    _Inout_ PTRACE_SESSION Session
    );
TRACE_WATCH_WAIT TraceWatchWait;

//
// TraceWorker.c
//

//
// Starts the worker if it is allowed and not yet there, and wakes it if it
// waits.
//

typedef
VOID
(TRACE_WORKER_REQUEST)(
    _Inout_ PTRACE_SESSION Session
    );
TRACE_WORKER_REQUEST TraceWorkerRequest;

//
// Starts a thread of the library at Main, which claims its place and goes away
// as TraceWorkerMain does.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_WORKER_START)(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PTRACE_WORKER Worker,
    _In_ PVOID Main
    );
TRACE_WORKER_START TraceWorkerStart;

//
// The end of such a thread: says that it is gone and sleeps for good.
//

typedef
VOID
(TRACE_WORKER_GONE)(
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_WORKER Worker
    );
TRACE_WORKER_GONE TraceWorkerGone;

//
// Makes a thread of the library leave this module's code for good.  May be
// called under the loader lock: nothing that needs it is waited for.
//

typedef
VOID
(TRACE_WORKER_STOP)(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PTRACE_WORKER Worker
    );
TRACE_WORKER_STOP TraceWorkerStop;

//
// TraceClock.c: the clock of TRACE_CLOCK_THREAD.
//

//
// Starts the clock thread.  The clock has a value at once; it goes when the
// thread has begun, which in a module that is being loaded is when that is
// done.
//
// Called before any store is opened: where the process has fewer than three
// processors, the worker prepares no views from then on.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_CLOCK_START)(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ ULONGLONG volatile *Place
    );
TRACE_CLOCK_START TraceClockStart;

//
// Writes what is known of the clock into a store's header.
//

typedef
VOID
(TRACE_CLOCK_DESCRIBE)(
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_STORE_HEADER Header
    );
TRACE_CLOCK_DESCRIBE TraceClockDescribe;

//
// The ticks of the time stamp counter in a second, measured against the
// performance counter; 0 if that cannot be read.  Takes about 2 ms.  The time
// stamps that are read meanwhile are published, if Place is not NULL.
//

typedef
ULONGLONG
(TRACE_CLOCK_MEASURE)(
    _In_ PCRTL Rtl,
    _Inout_opt_ ULONGLONG volatile *Place
    );
TRACE_CLOCK_MEASURE TraceClockMeasure;

//
// TraceDepth.c: the depth of calls, for each stack of a thread.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_DEPTH_OPEN)(
    _Inout_ PTRACE_STORE Store
    );
TRACE_DEPTH_OPEN TraceDepthOpen;            // for the stack in use

typedef VOID (TRACE_DEPTH_CHANGE)(_Inout_ PTRACE_STORE Store);
TRACE_DEPTH_CHANGE TraceDepthSwitch;        // to the stack in use
TRACE_DEPTH_CHANGE TraceDepthClose;

//
// TraceControl.c: the control file.
//

//
// The least and the most that it may have, bytes; and what it has if the user
// does not say: room for 8,160 actions.
//

#define TRACE_CONTROL_LEAST     0x00010000      // 64 KiB
#define TRACE_CONTROL_MOST      0x10000000      // 256 MiB
#define TRACE_CONTROL_DEFAULT   0x00100000      // 1 MiB

//
// How often the worker looks at it, in 100 ns units; and for how many seconds
// whoever has claimed a place may leave it empty.
//

#define TRACE_CONTROL_INTERVAL  500000          // 50 ms
#define TRACE_CONTROL_PATIENCE  1

typedef VOID (TRACE_CONTROL_SESSION)(_Inout_ PTRACE_SESSION Session);
TRACE_CONTROL_SESSION TraceControlOpen;     // unless it is open
TRACE_CONTROL_SESSION TraceControlClose;
TRACE_CONTROL_SESSION TraceControlPoll;     // any thread
TRACE_CONTROL_SESSION TraceControlWatch;    // the worker
TRACE_CONTROL_SESSION TraceControlDoWithoutWorker;  // it is refused

//
// Appends an action of the calling thread.
//
//     STATUS_NOT_FOUND    there is no control file
//     STATUS_LOG_FULL     it has no room
//

typedef
NTSTATUS
(TRACE_CONTROL_APPEND)(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Kind,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );
TRACE_CONTROL_APPEND TraceControlAppend;

//
// Carries out what was asked for.  The caller is the store's owner, on the slow
// path, and calls this until Attention stays 0.  TRUE: recording is stopped,
// and there is no room to be made.
//

typedef BOOLEAN (TRACE_CONTROL_SERVE)(_Inout_ PTRACE_STORE Store);
TRACE_CONTROL_SERVE TraceControlServe;

//
// The same for a store that is being closed, under its work lock.
//

typedef VOID (TRACE_CONTROL_SETTLE)(_Inout_ PTRACE_STORE Store);
TRACE_CONTROL_SETTLE TraceControlSettle;

//
// TraceTree.c: stores of TRACE_MODE_TREE.
//

//
// A call of a hook, as the slow path has it.
//

typedef struct _TRACE_TREE_CALL {
    ULONGLONG Stack;                // RSP at the call of the hook
    ULONGLONG Place;                // the hook's return address
    ULONGLONG Timestamp;            // of the store's clock
    ULONG Site;                     // as a record's
    ULONG Kind;                     // TRACE_KIND_*
    BOOLEAN IsJump;                 // the hook was jumped to from the end of
                                    // the function
} TRACE_TREE_CALL;
typedef const TRACE_TREE_CALL *PCTRACE_TREE_CALL;

//
// Makes the tree of a new store: its view is mapped, its header's pages are
// prepared.  TraceTreeDescribe fills the header.
//

typedef
_Must_inspect_result_
NTSTATUS
(TRACE_TREE_OPEN)(
    _Inout_ PTRACE_STORE Store
    );
TRACE_TREE_OPEN TraceTreeOpen;

typedef
VOID
(TRACE_TREE_DESCRIBE)(
    _In_ PTRACE_STORE Store,
    _Inout_ PTRACE_STORE_HEADER Header
    );
TRACE_TREE_DESCRIBE TraceTreeDescribe;

//
// What the hook cannot do by itself.  TraceTreeEnter returns TRUE if the hook
// should be entered again: then it can.
//

typedef
BOOLEAN
(TRACE_TREE_ENTER)(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    );
TRACE_TREE_ENTER TraceTreeEnter;

typedef
VOID
(TRACE_TREE_EXIT)(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call
    );
TRACE_TREE_EXIT TraceTreeExit;

//
// Stops counting, starts it again, and sets all back to nothing, as of a time
// of the store's clock that is over.  Called by the owner, in its slow path.
//

typedef
VOID
(TRACE_TREE_ACTION)(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    );
TRACE_TREE_ACTION TraceTreeStop;
TRACE_TREE_ACTION TraceTreeStart;
TRACE_TREE_ACTION TraceTreeClear;

//
// Lets the hook push frames again, as far as pages are prepared, unless the
// store has stopped: after something has set the header's Limit to 0.
//

typedef VOID (TRACE_TREE_CHANGE)(_Inout_ PTRACE_STORE Store);
TRACE_TREE_CHANGE TraceTreeSetLimit;

//
// Charges open calls with the time up to now and hides them: nothing is pushed,
// popped or added any more, whatever follows.
//

TRACE_TREE_CHANGE TraceTreeHalt;

//
// Ends a tree.  Returns the size that the file needs.
//

typedef ULONGLONG (TRACE_TREE_CLOSE)(_Inout_ PTRACE_STORE Store);
TRACE_TREE_CLOSE TraceTreeClose;

//
// TraceChrono.c: the second store of a thread that has a tree.  Store is that
// of the tree.
//

typedef
BOOLEAN
(TRACE_CHRONO_IS_LISTED)(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG Site
    );
TRACE_CHRONO_IS_LISTED TraceChronoIsListed;

//
// Opens the second store, unless that has been done; FALSE if there can be
// none.
//

typedef BOOLEAN (TRACE_CHRONO_OPEN)(_Inout_ PTRACE_STORE Store);
TRACE_CHRONO_OPEN TraceChronoOpen;

//
// Makes room for a record in it; and appends one, or counts it as lost if there
// is no room.
//

typedef VOID (TRACE_CHRONO_MAKE_ROOM)(_Inout_ PTRACE_STORE Store);
TRACE_CHRONO_MAKE_ROOM TraceChronoMakeRoom;

typedef
VOID
(TRACE_CHRONO_APPEND)(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_TREE_CALL Call,
    _In_ ULONGLONG Timestamp
    );
TRACE_CHRONO_APPEND TraceChronoAppend;

//
// TraceFrame.c: what the module's unwind data says of a place in its code.
//

typedef struct _TRACE_FRAME_LAYOUT {
    ULONG Function;                 // low 32 bits of the address of the
                                    // function's first instruction
    ULONG SizeInBytes;              // that its prolog has taken from RSP up to
                                    // the place
    ULONG FullSizeInBytes;          // that all of the prolog takes
    BOOLEAN IsDynamic;              // RSP may move in the body
} TRACE_FRAME_LAYOUT;
typedef TRACE_FRAME_LAYOUT *PTRACE_FRAME_LAYOUT;

//
// FALSE if there is no unwind data for the place (a leaf): then all is 0.
//

typedef
BOOLEAN
(TRACE_FRAME_FIND)(
    _In_ PVOID ModuleBase,
    _In_ ULONG ModuleSize,
    _In_ ULONGLONG Place,
    _Out_ PTRACE_FRAME_LAYOUT Layout
    );
TRACE_FRAME_FIND TraceFrameFind;

//
// TraceLog.c
//

//
// Reports an error once: one line to the debugger (OutputDebugString) and to
// the log file of the module, <module>.log in the session directory, or
// %TEMP%\Tracer-<module>-<pid>.log where that cannot be had or written.
// Consequence is a literal that says what happens now.  After
// TRACE_LOG_MAXIMUM_ERRORS nothing more is reported.
//

#define TRACE_LOG_MAXIMUM_ERRORS 32

typedef
VOID
(TRACE_LOG_ERROR)(
    _Inout_ PTRACE_SESSION Session,
    _In_ PCRTL_ERROR Error,
    _In_z_ PCSZ Consequence
    );
TRACE_LOG_ERROR TraceLogError;

#endif // TRACER_TRACE_STORE_H
