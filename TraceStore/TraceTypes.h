/*++

Module Name:

    TraceTypes.h

Abstract:

    What a thread's store is in the writer's memory, with its views and its
    tree.  A session is in TraceSession.h, and the depth of calls in
    TraceDepth.h.  The format that all of this writes is TraceFormat.h; each
    source's routines are in a header of its own name.

--*/

#ifndef TRACER_TRACE_TYPES_H
#define TRACER_TRACE_TYPES_H

#include "../Rtl/RtlTypes.h"
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

typedef struct _TRACE_DEPTH TRACE_DEPTH;
typedef TRACE_DEPTH *PTRACE_DEPTH;

//
// Values of TRACE_STORE.Use.
//

#define TRACE_STORE_FREE        0
#define TRACE_STORE_USED        1
#define TRACE_STORE_CLOSING     2
#define TRACE_STORE_MEMBER      3   // a session's part in the tree of a thread,
                                    // which is elsewhere (TraceShare.c)

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
#define TRACE_WORKER_ENCODES    16  // a full view (TraceCompact.c); the owner
                                    // may do it as well, and need not wait
#define TRACE_WORKER_WRITES     32  // what it has encoded
#define TRACE_WORKER_ANY        63

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
    PTRACE_NODE *ChronoBuckets;     // TRACE_CHRONO_BUCKETS: of nodes that the
                                    // hook must not find; NULL: there are none
    struct _TRACE_MEMBER *Member;   // whose code the thread was in when it came
                                    // by last (TraceShare.c)
    ULONGLONG ModulesPrepared;      // writer address: the table of modules is
                                    // prepared from here up to Nodes

    //
    // Of a member (TRACE_STORE_MEMBER) alone.
    //

    struct _TRACE_STORE *Shared;    // the thread's tree
    struct _TRACE_STORE *Chrono;    // the module's second store of the thread;
                                    // NULL: none yet
    BOOLEAN IsChronoFailed;         // there can be none

    //
    // Of the tree again.
    //

    BOOLEAN IsEnding;               // the thread ends: each call may be its
                                    // last (TraceTreeEnd)
} TRACE_TREE;
typedef TRACE_TREE *PTRACE_TREE;

//
// What a store of a tree may have, bytes, and what it has by default.
//

#define TRACE_TREE_MAXIMUM_BYTES    0x40000000      // 1 GiB
#define TRACE_TREE_DEFAULT_BYTES    0x02000000      // 32 MiB

//
// How the raw ring of a compact store is divided: this many views, no larger
// than that, fewer and smaller ones if MaximumBytes is little (TraceSession.c).
//

#define TRACE_COMPACT_VIEWS         16
#define TRACE_COMPACT_VIEWS_LEAST   3
#define TRACE_COMPACT_VIEW_SIZE     0x00080000      // 512 KiB

//
// What the writer knows of the blocks of a compact store (TraceCompact.c).
//
// Position and StreamEnd change together, whenever the thread that changes
// them is killed: the ones that are not in use are set, and then State.
//

typedef struct _TRACE_COMPACT_STATE {
    ULONGLONG Position;             // records before it are in blocks
    ULONGLONG StreamEnd;            // stream offset of the end of these
} TRACE_COMPACT_STATE;
typedef TRACE_COMPACT_STATE *PTRACE_COMPACT_STATE;

typedef struct _TRACE_COMPACT {
    TRACE_VIEW Ring;                // (W) all of the raw ring; Base NULL: none
                                    // of it is used yet
    TRACE_COMPACT_STATE States[2];  // (W)
    ULONG volatile State;           // (W) index of the one that is in use
    NTSTATUS Status;                // (W) why a block could not be written
    ULONG Reason;                   // (W) TRACE_REASON_* that goes with it
    ULONGLONG Room;                 // (W) position up to which records may be
                                    // written: views before it are empty
    PVOID Memory;                   // (W) the owner encodes with; NULL: none
} TRACE_COMPACT;
typedef TRACE_COMPACT *PTRACE_COMPACT;
typedef const TRACE_COMPACT *PCTRACE_COMPACT;

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
    ULONGLONG JumpPlace;            // for PenterJump.c: what the hook asks;
                                    // 0: nothing
    ULONGLONG volatile ArmedLimit;  // what the header's Limit would be, while
                                    // an exception may have left calls; 0: none
                                    // has
    ULONGLONG Highest;              // RSP at the entries since then, the
                                    // highest
    ULONGLONG Checked;              // RSP at an entry whose callers have been
                                    // looked at; 0: none
    LONGLONG ArmedCalls;            // entries for which ArmedLimit stays in use
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
    ULONGLONG ArmedBase;            // of the stack that the exception was on
    ULONGLONG EndCursor;            // the header's Cursor when an exit, at
                                    // Highest, has ended that
    BOOLEAN IsArmed;                // ArmedLimit is in use
    BOOLEAN IsPausedSlowly;         // every hook call takes the slow path,
                                    // which counts it: there is no worker
    ULONGLONG LostBefore;           // NumberOfEventsLost before the pause
    ULONGLONG ActionTimestamp;      // of the last action
    volatile LONG NameDue;          // the thread's name is to be read again
    ULONGLONG NameTicks;            // rdtsc, when it was
    ULONGLONG NameHash;             // of the one that was read last; 0: none
    ULONGLONG NoticedTimestamp;     // when the hook was told to come by; 0: it
                                    // was not, since the owner did last
    TRACE_COMPACT Compact;          // TRACE_MODE_COMPACT

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

#endif // TRACER_TRACE_TYPES_H
