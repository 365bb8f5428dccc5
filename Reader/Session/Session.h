/*++

Module Name:

    Session.h

Abstract:

    A directory of stores: its modules, threads, clock and state.

--*/

#ifndef TRACER_SESSION_H
#define TRACER_SESSION_H

#include "../Core/CoreClock.h"
#include "../Core/CoreControl.h"
#include "../Base/BaseContainer.h"
#include "../Symbols/Symbols.h"
#include "SessionStore.h"

//
// With less than this between the two farthest readings of the clocks, the
// rate of the time stamp counter is not good to a part in a thousand.
//

#define READER_MINIMUM_CLOCK_SPAN 10000000ULL   // 10 ms, in nanoseconds

typedef enum _READER_PROCESS_STATE {
    ReaderProcessGone = 0,
    ReaderProcessRunning,
    ReaderProcessUnknown            // it may not be asked
} READER_PROCESS_STATE;

typedef struct _READER_IMPORTS *PREADER_IMPORTS;

typedef struct _READER_MODULE {
    PCTRACE_STORE_HEADER Header;    // of the first of its stores
    PTRACE_STORE_HEADER OwnHeader;  // this, if it has none and is known from
                                    // another module's tree; else NULL
    const CHAR *Name;               // the path's last part, in the header
    ULONG NameLength;               // bytes
    BOOLEAN IsSelected;             // by --module
    BOOLEAN IsApart;                // one of its stores is,
    BOOLEAN IsRecordApart;          // and that one has records
    BOOLEAN IsSymbolsTried;
    BOOLEAN IsSymbolsWarned;
    BOOLEAN IsImageTried;           // Symbols were looked for
    BOOLEAN IsImageMissed;          // they were needed, and there is no image
    BOOLEAN IsPairingMissed;        // calls are paired without them
    ULONG CachedModule;             // in the cache, or READER_NONE
    READER_SYMBOL_SOURCE CachedSource;
    PREADER_SYMBOLS Symbols;        // NULL until the first site that the
                                    // cache does not know
    READER_MAP Inlined;             // (outer RVA << 32) | inner RVA to how
                                    // often one may be inlined into the other
    RTL_ERROR SymbolError;          // why there are none
    PREADER_IMPORTS Imports;        // of a module of stubs, once they were
                                    // asked for: SessionImports.c
    ULONG ProbeInner;               // what its hooks cost: CallProbe.h
    ULONG ProbeTotal;
} READER_MODULE;
typedef READER_MODULE *PREADER_MODULE;

typedef struct _READER_THREAD {
    ULONG ThreadId;
    ULONG Process;                  // index
    ULONG FirstStore;               // store index
    ULONG NumberOfStores;
    ULONG Same;                     // index of the first that is the same
                                    // thread, attached to once more: its own,
                                    // or one before
    BOOLEAN IsAgain;                // others follow that are this thread
    BOOLEAN IsLive;                 // one of its stores has not been closed
    BOOLEAN IsToTheEnd;             // or was when the process ended
    ULONGLONG FirstTimestamp;
    ULONGLONG LastTimestamp;        // of its records
    ULONGLONG EndTimestamp;         // when the last of its stores was closed
    ULONGLONG TimestampBase;        // added to those of its records
} READER_THREAD;
typedef READER_THREAD *PREADER_THREAD;

//
// What the control file of a process says.
//

typedef struct _READER_CONTROL {
    PTRACE_CONTROL_ACTION Actions;  // that are there, in the order of time
    PTRACE_CONTROL_ACTION OldActions;   // before they were read anew: names in
                                    // them are used until then
    ULONG NumberOfActions;
    PULONG Orders;                  // indexes of those that are no marks
    ULONG NumberOfOrders;
    PCORE_PAUSE Pauses;
    ULONG NumberOfPauses;
    ULONG PauseHash;                // 0: there are none
    ULONGLONG ClearTimestamp;       // the last one's; 0: there is none
    CORE_CONTROL_RESULT Result;
    NTSTATUS Status;                // of opening and reading it
    BOOLEAN IsThere;
    BOOLEAN IsWarned;               // the reader has said that it is bad
} READER_CONTROL;
typedef READER_CONTROL *PREADER_CONTROL;
typedef const READER_CONTROL *PCREADER_CONTROL;

//
// One of the actions of all processes.
//

typedef struct _READER_ACTION {
    PCTRACE_CONTROL_ACTION Action;
    ULONG Process;                  // index
} READER_ACTION;
typedef READER_ACTION *PREADER_ACTION;
typedef const READER_ACTION *PCREADER_ACTION;

//
// A process, and a directory with stores of one.  The session that was opened
// is itself the one directory, with an empty name, or holds directories.
//

typedef struct _READER_PROCESS {
    PCTRACE_STORE_HEADER Header;    // of the first of its valid stores
    const CHAR *Name;               // the image path's last part, in the header
    ULONG NameLength;               // bytes
    READER_PROCESS_STATE State;
    HANDLE Handle;                  // NULL when it is gone
    BOOLEAN IsExitKnown;            // SessionReadExit
    BOOLEAN HasClosed;              // a store was closed since it ended
    ULONG ExitCode;
    ULONGLONG ExitCpuTime;          // 100 ns; 0: not known
    READER_CONTROL Control;
} READER_PROCESS;
typedef READER_PROCESS *PREADER_PROCESS;
typedef const READER_PROCESS *PCREADER_PROCESS;

typedef struct _READER_DIRECTORY {
    UNICODE_STRING Name;            // allocated; in the session's directory
    ULONG Process;                  // index, or READER_NONE: not known yet
    BOOLEAN IsLeftOut;              // --process does not select its process
} READER_DIRECTORY;
typedef READER_DIRECTORY *PREADER_DIRECTORY;

//
// A boot of a machine: what the first store that was made on it says of its
// clocks.
//

typedef struct _READER_BOOT {
    TRACE_CLOCK_ANCHOR Anchor;
    ULONGLONG QpcFrequency;
} READER_BOOT;
typedef READER_BOOT *PREADER_BOOT;

//
// What the image says of a site; see CORE_CALL.
//

typedef struct _READER_SITE {
    ULONGLONG Function;
    ULONGLONG JumpTarget;
    ULONG FrameSize;                // bytes
    ULONG BodySize;                 // bytes
    ULONG Flags;                    // CORE_CALL_*
    ULONG Unused;
} READER_SITE;
typedef READER_SITE *PREADER_SITE;
typedef const READER_SITE *PCREADER_SITE;

typedef struct _READER_CACHE *PREADER_CACHE;
typedef struct _READER_WAITS *PREADER_WAITS;

//
// Is what is read still wanted?  FALSE: reading ends with STATUS_CANCELLED.
//

typedef
BOOLEAN
(READER_IS_WANTED)(
    _In_ PVOID Context
    );
typedef READER_IS_WANTED *PREADER_IS_WANTED;

//
// A store of the session was opened: what is behind the end of its records may
// be made to count for nothing.
//

typedef
VOID
(READER_STORE_OPENED)(
    _In_ PVOID Context,
    _Inout_ PREADER_STORE Store
    );
typedef READER_STORE_OPENED *PREADER_STORE_OPENED;

typedef struct _READER_SESSION {
    PCREADER_CONTEXT Context;
    PREADER_IS_WANTED IsWanted;     // the caller's: asked for each buffer of
    PVOID WantedContext;            // records; NULL: it is
    PREADER_STORE_OPENED StoreOpened;   // these two: the caller's, or NULL
    PVOID StoreOpenedContext;
    PWSTR PathBuffer;               // RTL_MAXIMUM_PATH_IN_CHARS
    UNICODE_STRING Path;            // the NT path, in the buffer
    USHORT DirectoryLength;         // bytes of it that are the directory's
    PREADER_PACK Pack;              // that the directory is in; NULL: it is in
                                    // none
    BOOLEAN IsDirectory;
    BOOLEAN HasDirectories;         // it holds directories that hold stores
    BOOLEAN IsOfSeveralBoots;       // why it could not be opened
    BOOLEAN IsByBoot;               // those of Boot alone are read, and the
    ULONG Boot;                     // others' directories are left out
    PREADER_BOOT Boots;             // in the order in which they were met
    ULONG NumberOfBoots;
    BOOLEAN IsNameWarned;           // of an entry that is not looked at
    PREADER_DIRECTORY Directories;  // one at least
    ULONG NumberOfDirectories;
    ULONG CapacityOfDirectories;
    ULONG VisitedDirectory;         // index, while it is listed
    PREADER_PROCESS Processes;
    ULONG NumberOfProcesses;
    ULONG CapacityOfProcesses;
    PCWSTR ProcessSelection;        // --process; NULL: all
    ULONG NumberOfRuns;             // there are; 0: they were not looked for
    PREADER_STORE *Stores;
    ULONG NumberOfStores;
    ULONG CapacityOfStores;
    ULONG NumberOfValidStores;
    READER_MAP Names;               // hash of a store's name to its index
    PREADER_MODULE *Modules;
    PCWSTR ModulePrefix;        // of those that --module selects, or NULL
    ULONG NumberOfModules;
    ULONG CapacityOfModules;
    PREADER_THREAD Threads;
    ULONG NumberOfThreads;
    ULONG NumberOfSame;             // of these, that are one before once more
    ULONG CapacityOfThreads;
    PCTRACE_STORE_HEADER Header;    // of the first valid store
    READER_MAP SiteIndexes;         // a site and its kind to its index
    PREADER_SITE Sites;
    ULONG NumberOfSites;
    ULONG CapacityOfSites;
    PREADER_CACHE Cache;            // of symbols; NULL: there is none
    BOOLEAN IsSearchedAnew;         // for symbols: --symbols
    CORE_CLOCK Clock;
    BOOLEAN IsClockRead;            // one of the readings is the reader's
    READER_PROCESS_STATE ProcessState; // gone: all processes are
    ULONGLONG NumberOfClockFreezes; // of all stores
    ULONGLONG MaximumClockStep;     // ticks
    ULONGLONG JumpTicks;            // a step longer than that is marked; 0:
                                    // none is
    PCWSTR SymbolPath;              // --symbols; NULL: not given
    PRTL_WRITER NameErrors;         // where it is said that a module has no
                                    // names; NULL: Context->Errors
    ULONGLONG IndexInterval;        // records between two marks of an index;
                                    // 0: there are none
    ULONGLONG FineIndexInterval;    // the same, of threads that are not too
                                    // long; 0: as others
    BOOLEAN AreRingsIndexed;        // the viewer's, of a session that does not
                                    // go on: rings have indexes like others;
                                    // nobody else sees these
    ULONGLONG NumberOfMarks;        // in the indexes that were closed
    ULONGLONG NumberLeftOut;        // of marks, for which there was no room
    ULONGLONG NumberPassedBy;       // of records, thanks to indexes
    BOOLEAN IsProbeSubtracted;      // CallBeginProbe
    PREADER_WAITS Waits;            // which functions wait; NULL: nobody asks
    ULONGLONG ContentionTicks;      // a call of a lock that took as long waited
    ULONG NumberOfTrees;            // valid stores that are of a tree
    BOOLEAN ShowsAside;             // SessionIsAside
    BOOLEAN HasOther;               // one of them had no room for a function
    BOOLEAN IsAll;                  // --all: clears count for nothing
    BOOLEAN AreNamesShort;          // --names: FunctionGiveShortNames
    PREADER_ACTION Actions;         // of all processes, in the order of time
    ULONG NumberOfActions;
    ULONG CapacityOfActions;
} READER_SESSION;
typedef READER_SESSION *PREADER_SESSION;

//
// Opens a session directory, a directory of such directories, or one store.
// Process is a process's identifier or the beginning of its image's name, and
// selects processes; NULL is all.  Of sessions of several runs only the newest
// run is read, unless IsAllRuns (SessionChooseRun).  Stores that are bad stay
// in the list, with what is wrong in them; Error says what failed as a whole.
//
// Boot chooses the processes that ran on one boot of a machine: 0 is that of
// the store whose name is the first, 1 the next one that is met, and so on, up
// to the session's NumberOfBoots; stores of which nothing is known are there
// whatever it is.  READER_NONE: all have to be of one.
//
// Context: the context; must outlive the session.
// Path: a session directory, one of several, or a store, as the user gave it.
// STATUS_SUCCESS: there is one store at least, good or bad.
// STATUS_NOT_SUPPORTED: the processes are of several boots.
//

_Must_inspect_result_
NTSTATUS
SessionOpenSessionOf(
    _Out_ PREADER_SESSION Session,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _In_opt_z_ PCWSTR Process,
    _In_ BOOLEAN IsAllRuns,
    _In_ ULONG Boot,
    _Out_ PRTL_ERROR Error
    );

#define SessionOpenSession(Session, Context, Path, Error)                   \
    SessionOpenSessionOf((Session),                                         \
                         (Context),                                         \
                         (Path),                                            \
                         NULL,                                              \
                         TRUE,                                              \
                         READER_NONE,                                       \
                         (Error))

//
// Looks for new stores, and at those that were still being created.
// Error: what failed.
//

_Must_inspect_result_
NTSTATUS
SessionRefreshSession(
    _Inout_ PREADER_SESSION Session,
    _Out_ PRTL_ERROR Error
    );

//
// Closes a session and frees what it holds.
// Session: the session, whole or half built.
//

VOID
SessionCloseSession(
    _Inout_ PREADER_SESSION Session
    );

//
// Makes the name of a file of the directory that is being listed, as it is in
// the session's: Buffer is for READER_MAXIMUM_NAME_IN_CHARS, and Name may be
// the result.
//

#define READER_MAXIMUM_NAME_IN_CHARS 512

//
// Asks again whether the traced processes run: the state of all together.
// Returns running if one of them does; else unknown if that is not known of
// one of them; else gone.
//

READER_PROCESS_STATE
SessionQueryProcess(
    _Inout_ PREADER_SESSION Session
    );

#endif // TRACER_SESSION_H
