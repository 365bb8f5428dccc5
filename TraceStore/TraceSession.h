/*++

Module Name:

    TraceSession.h

Abstract:

    A session: what all the stores of one module instance share, its threads,
    and how it begins and ends.

--*/

#ifndef TRACER_TRACE_SESSION_H
#define TRACER_TRACE_SESSION_H

#include "../Rtl/Rtl.h"
#include "TraceTypes.h"

//
// Pieces that a control file is mapped in: enough for all that its numbers can
// count, if the first is as small as it may be (TraceControlFile.c).
//

#define TRACE_CONTROL_VIEWS     96

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
    volatile LONG Stop;             // set by TraceThreadStop
    volatile LONG Waiting;          // the worker waits for WakeEvent
    volatile LONG Claimed;          // set by the worker when it begins, or by
                                    // TraceThreadStop if that comes first
    ULONG ThreadId;
    HANDLE Thread;
    HANDLE WakeEvent;
    HANDLE GoneEvent;               // set in the same system call in which the
                                    // worker goes to sleep for good
    HANDLE NeverEvent;
    BOOLEAN IsWatching;             // the system has what that takes
    ULONG NumberWatched;
    HANDLE Watched[TRACE_WATCHED_THREADS];
    HANDLE volatile Found[2];       // threads that it looks at, of which one
                                    // may be watched as well; or NULL
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
    ULONGLONG SegmentSize;          // of rings and of raw rings, bytes; 0:
                                    // views are of any size
    PVOID CompactMemory;            // the worker encodes with; NULL: none
    PVOID volatile SpareMemory;     // the same, for one owner at a time
    PVOID Zeros;                    // TRACE_ZEROS_SIZE bytes
    ULONG volatile Coherence;       // TRACE_COHERENCE_*
    ULONGLONG MinimumFree;          // TraceVolume.c: bytes, and a percentage of
    ULONG MinimumFreePercent;       // the disk; the smaller one holds, 0: none
    ULONGLONG volatile VolumeFree;  // when there was too little room: what was
    ULONGLONG volatile VolumeKept;  // free, and what is to stay free, bytes
    BOOLEAN Flush;                  // views that are full are written to disk
    BOOLEAN WorkerAllowed;
    BOOLEAN WorkerPrepares;         // FALSE: it leaves the processor to the
                                    // clock thread
    BOOLEAN volatile IsAlone;       // no other thread is in this module any
                                    // more: the process exits or unloads it
    BOOLEAN volatile WorkerIsGone;  // somebody has terminated the worker
    BOOLEAN volatile ThreadsReturn; // threads of the library end by themselves:
                                    // the module stays mapped

    //
    // A header with all that the stores have in common; not mapped.
    //

    PTRACE_STORE_HEADER Template;

    //
    // The session directory: its NT path, and a handle once it exists.
    //

    UNICODE_STRING Directory;
    UNICODE_STRING Fallback;        // where it is if Directory cannot be;
                                    // empty: nowhere
    BOOLEAN volatile IsFallback;    // it is there
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
    PVOID volatile ControlFile;     // its handle
    PVOID volatile ControlViews[TRACE_CONTROL_VIEWS];   // what is mapped of
                                    // the rest of it, TraceControlFile.c
    ULONG ControlInstance;          // of the file's Instances
    volatile LONG ControlFailed;    // it cannot be had or read: said once
    volatile LONG ControlReported;  // that there is no worker
    volatile LONGLONG ControlLook;  // actions that are there, times 2, plus 1
                                    // if recording is stopped after them
    volatile LONG ControlOrders;    // up to and with the last that is for
                                    // stores
    volatile LONG ControlNotified;  // that every store was told of
    volatile LONG ControlAnswered;  // that the file says this instance has seen
    volatile LONG ControlAgain;     // some store's lock was taken
    volatile LONG ControlFollows;   // the worker looks
    volatile LONG ControlReady;     // places whose pages are there
    volatile LONG ControlRefusals;  // marks to refuse before the next try
    volatile LONGLONG ControlLeftOut;   // actions that could not be written
    ULONG ControlHole;              // the worker's: an action that is missing,
    ULONGLONG ControlHoleTime;      // and since when (Qpc); 0: none is

    //
    // TraceChrono.c.  Whoever sets them keeps them until the session is gone.
    //

    ULONGLONG volatile *Places;     // TRACE_NUMBER_OF_PLACES: see TraceCaller.c
    ULONGLONG volatile *Fixed;      // TRACE_NUMBER_OF_FIXED, likewise

    BOOLEAN (*IsHook)(_In_ const BYTE *Address);    // one begins there; NULL:
                                    // no callers are looked at

    PCTRACE_CHRONO_RANGE Chrono;    // in order, none overlaps another
    ULONG NumberOfChrono;           // 0: none; set before the hooks are
    ULONGLONG ChronoMaximumBytes;   // of a second store; 0: no limit

    LONGLONG NameTime;              // the worker's: performance counter, when
                                    // names were made due

    //
    // What is made is the user's alone: the descriptors that Rtl points to.
    //

    RTL_USER User;                  // SidSize 0: the system cannot be asked
    RTL_PRIVATE_DESCRIPTOR DirectoryDescriptor;
    RTL_PRIVATE_DESCRIPTOR FileDescriptor;

    PVOID WorkerMain;               // what TraceThreadRequest starts

};

typedef struct _TRACE_SESSION_PARAMETERS {
    PVOID ModuleBase;               // image base of the module that is traced
    UNICODE_STRING RootDirectory;   // DOS path: where session directories go
    BOOLEAN HasFallback;            // and if they cannot, the current directory
    ULONGLONG MaximumViewSize;      // bytes, a power of two; 0: the default
    ULONGLONG MaximumBytes;         // of each store, TRACE_MAXIMUM_BYTES_LEAST
                                    // or more; 0: no limit
    BOOLEAN IsRing;                 // keep the last MaximumBytes, rather than
                                    // the first
    BOOLEAN IsCompact;              // keep records in blocks
    BOOLEAN IsTree;                 // keep a tree, in at most MaximumBytes (0:
                                    // TRACE_TREE_DEFAULT_BYTES)
    BOOLEAN Flush;                  // write views that are full to disk
    BOOLEAN WorkerAllowed;          // FALSE: views are prepared by the traced
                                    // threads themselves
    ULONG Clock;                    // TRACE_CLOCK_*; that of a thread goes
                                    // after TraceClockStart
    ULONG MaximumDepth;             // of calls; 0: no limit
    ULONGLONG MinimumDuration;      // of calls, nanoseconds; 0: none
    ULONGLONG MinimumFree;          // what stays free of the disk: bytes, and a
    ULONG MinimumFreePercent;       // percentage; the smaller one of those that
                                    // are not 0; both 0: no limit
    ULONGLONG ControlSize;          // of the control file, bytes, from
                                    // TRACE_CONTROL_LEAST to _MOST; 0: none
} TRACE_SESSION_PARAMETERS;
typedef TRACE_SESSION_PARAMETERS *PTRACE_SESSION_PARAMETERS;
typedef const TRACE_SESSION_PARAMETERS *PCTRACE_SESSION_PARAMETERS;

//
// Creates a session in memory of its own.  Touches no file: the directory
// appears with the first store.  Every error is the failing call's.
// Rtl: the RTL; it is copied.
// Parameters: what the user asked for.
//

_Must_inspect_result_
NTSTATUS
TraceSessionCreate(
    _In_ PCRTL Rtl,
    _In_ const TRACE_SESSION_PARAMETERS *Parameters,
    _Outptr_ PTRACE_SESSION *Session,
    _Out_ PRTL_ERROR Error
    );

//
// Stops the worker, closes every store with Reason and frees the session's
// memory.  No thread may be using it.
//

VOID
TraceSessionDestroy(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Reason
    );

//
// At process exit, when every other thread is gone: closes every store but
// the calling thread's, waiting for nobody.  The memory stays, since the
// calling thread may still make calls; its own store is closed too if
// CloseOwn.
//

VOID
TraceSessionProcessExit(
    _Inout_ PTRACE_SESSION Session,
    _In_opt_ PTRACE_STORE OwnStore,
    _In_ BOOLEAN CloseOwn
    );

#endif // TRACER_TRACE_SESSION_H
