/*++

Module Name:

    Reader.h

Abstract:

    What the parts of TraceReader share: sessions and stores, the validated
    iterator, threads' events, functions, tables and commands.

    The layers, each of which knows only those before it:

        Core*           bytes to records to events (ReaderCore.h)
        ReaderContainer maps, sorting, arrays that grow
        ReaderStore     one file, through a window that slides over it
        ReaderTreeStore one that holds a tree (Core: CoreTree)
        ReaderIterator  a store's valid records: everything reads through it
        ReaderSession   a directory of stores: modules, threads, clock, state
        ReaderProcess   the processes of a directory of such directories
        ReaderControl   what was asked of the session while it was recorded
        ReaderStream    one thread's events, over all its stores
        ReaderIndex     where a stream can begin without what came before
                        (ReaderIndex*.c; ReaderIndex.h is theirs alone)
        ReaderCache     what is known of sites without asking the images
                        (ReaderCache*.c; ReaderCache.h is theirs alone)
        ReaderFunction  sites to functions
        ReaderFilter    which of them --function and --exclude show
        ReaderTable     text, CSV and JSON
        ReaderRange     the part of a session that --from and --to select
        ReaderStatistics what report and tree add up
        ReaderProgress  how far a command is, on a terminal
        ReaderWorkers   threads that share the work
        ReaderTally     what one of them adds up
        Command*        one command each

--*/

#ifndef TRACER_READER_H
#define TRACER_READER_H

#include "../Rtl/Rtl.h"
#include "ReaderCore.h"
#include "ReaderSymbols.h"

#define READER_NONE 0xFFFFFFFFu

//
// With less than this between the two farthest readings of the clocks, the
// rate of the time stamp counter is not good to a part in a thousand.
//

#define READER_MINIMUM_CLOCK_SPAN 10000000ULL   // 10 ms, in nanoseconds

#define READER_MAXIMUM_TIMESTAMP 0xFFFFFFFFFFFFFFFFULL

//
// The exit codes of the program.
//

#define READER_EXIT_SUCCESS 0
#define READER_EXIT_FAILURE 1   // usage, or something could not be read
#define READER_EXIT_BAD     2   // verify: something is bad or lost
#define READER_EXIT_NOTHING 3   // --function, --exclude: nothing is left

//
// What every part is given: where memory and output come from and go to.
//

typedef struct _READER_CONTEXT {
    PCRTL Rtl;
    PCALLOCATOR Allocator;
    PRTL_WRITER Output;
    PRTL_WRITER Errors;
    ULONG NumberOfProcessors;   // 0: not known
} READER_CONTEXT;
typedef READER_CONTEXT *PREADER_CONTEXT;
typedef const READER_CONTEXT *PCREADER_CONTEXT;

//
// ReaderContainer.c
//

//
// Makes room for NumberOfElements in an array that grows by doubling.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_GROW_ARRAY)(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PVOID *Array,
    _Inout_ PULONG Capacity,
    _In_ ULONG NumberOfElements,
    _In_ SIZE_T SizeOfElement
    );
READER_GROW_ARRAY ReaderGrowArray;

//
// A map from a ULONGLONG to a ULONG.
//

typedef struct _READER_MAP_SLOT {
    ULONGLONG Key;
    ULONG Value;
    ULONG IsUsed;
} READER_MAP_SLOT;
typedef READER_MAP_SLOT *PREADER_MAP_SLOT;

typedef struct _READER_MAP {
    PCALLOCATOR Allocator;
    PREADER_MAP_SLOT Slots;
    ULONG Capacity;             // a power of two, or 0
    ULONG Count;
} READER_MAP;
typedef READER_MAP *PREADER_MAP;

typedef
VOID
(READER_INITIALIZE_MAP)(
    _Out_ PREADER_MAP Map,
    _In_ PCALLOCATOR Allocator
    );
READER_INITIALIZE_MAP ReaderInitializeMap;

typedef VOID (READER_RUNDOWN_MAP)(_Inout_ PREADER_MAP Map);
READER_RUNDOWN_MAP ReaderRundownMap;

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_IN_MAP)(
    _In_ const READER_MAP *Map,
    _In_ ULONGLONG Key,
    _Out_ PULONG Value
    );
READER_FIND_IN_MAP ReaderFindInMap;

//
// Adds a key that is not in the map.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_TO_MAP)(
    _Inout_ PREADER_MAP Map,
    _In_ ULONGLONG Key,
    _In_ ULONG Value
    );
READER_ADD_TO_MAP ReaderAddToMap;

//
// Sorts indexes in place; Compare is negative when First comes first.
//

typedef
LONG
(READER_COMPARE)(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    );
typedef READER_COMPARE *PREADER_COMPARE;

typedef
VOID
(READER_SORT)(
    _Inout_updates_(Count) PULONG Indexes,
    _In_ ULONG Count,
    _In_ PREADER_COMPARE Compare,
    _In_ PVOID Context
    );
READER_SORT ReaderSort;

//
// Orders two texts by their bytes.
//

typedef
LONG
(READER_COMPARE_TEXT)(
    _In_reads_bytes_(FirstLength) const CHAR *First,
    _In_ ULONG FirstLength,
    _In_reads_bytes_(SecondLength) const CHAR *Second,
    _In_ ULONG SecondLength
    );
READER_COMPARE_TEXT ReaderCompareText;

//
// ReaderStore.c
//

typedef struct _READER_STORE {

    UNICODE_STRING Name;        // of the file, in its directory

    //
    // The file, while it is open.  The header view is of the first page and
    // stays; the window slides.
    //

    HANDLE File;
    HANDLE Section;
    ULONGLONG SectionSize;
    PVOID HeaderView;
    ULONG HeaderViewSize;
    PVOID Window;
    ULONGLONG WindowOffset;
    ULONGLONG WindowSize;

    //
    // What was found when it was last opened or refreshed.
    //

    PTRACE_STORE_HEADER Header; // a copy; NULL until there is a valid one
    CORE_HEADER_RESULT HeaderResult;
    NTSTATUS Status;            // of opening and reading
    PCSZ FailedStep;            // a literal, when Status is a failure
    ULONGLONG FileSize;
    ULONGLONG PublishedEnd;     // position, as the header says
    ULONGLONG StartOfRecords;   // position of the first that is there
    ULONGLONG EndOfRecords;     // position, as the file has them, of the
                                // last that stays
    ULONGLONG TailTimestamp;    // records behind EndOfRecords that may yet
                                // vanish are not earlier; 0: there are none
    ULONGLONG NumberOfNodes;    // of a tree, that the file has
    CORE_END_STATE EndState;
    BOOLEAN IsTree;             // the session's: it was of TRACE_MODE_TREE
                                // when it was first looked at
    BOOLEAN IsWriterGone;       // the caller's, set before it is looked at:
                                // nothing can be taken back any more
    BOOLEAN IsRead;             // the caller's: records are read from the
                                // file, not mapped; for a few of them, none
                                // of which is being written

    //
    // The session's.
    //

    ULONGLONG FirstTimestamp;   // 0: no records
    ULONGLONG LastTimestamp;
    ULONG Directory;            // index
    ULONG Module;               // index, or READER_NONE
    ULONG Thread;               // index, or READER_NONE
    ULONG NextInThread;         // store index, or READER_NONE
    ULONGLONG NumberOfBadRecords;   // that a stream has passed over
    ULONGLONG FirstBadOffset;   // file offset
    CORE_RECORD_STATE FirstBadState;
    ULONGLONG NumberOvertaken;  // records, of the last stream that read it
    BOOLEAN IsForeign;          // of another process than its directory
    BOOLEAN IsCopy;             // another directory has the same store
    BOOLEAN IsWarned;           // the reader has said that it is bad

} READER_STORE;
typedef READER_STORE *PREADER_STORE;
typedef const READER_STORE *PCREADER_STORE;

//
// Opens a store and reads its header; NtPath is the file's.  Success means
// that the file could be read, not that its header is valid: HeaderResult says
// that.  A store stays open until ReaderCloseStore.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_OPEN_STORE)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING NtPath,
    _Inout_ PREADER_STORE Store
    );
READER_OPEN_STORE ReaderOpenStore;

//
// Reads the header of an open store again.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_REFRESH_STORE)(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );
READER_REFRESH_STORE ReaderRefreshStore;

//
// Copies records out of an open store: as many as there are up to the end,
// and at most as many as the window holds.  None are read, and StartOfRecords
// is beyond Position, if its writer has overwritten the first of them.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_READ_RECORDS)(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG Position,
    _Out_writes_to_(NumberOfRecords, *NumberRead) PTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _Out_ PULONG NumberRead
    );
READER_READ_RECORDS ReaderReadRecords;

//
// Copies nodes or frames of a tree out of an open store; see CoreCopyWords.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_READ_TREE)(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store,
    _In_ ULONGLONG FileOffset,
    _Out_writes_bytes_(NumberOfItems * SizeOfItem) PVOID Destination,
    _In_ ULONG SizeOfItem,
    _In_ ULONG NumberOfItems
    );
READER_READ_TREE ReaderReadTree;

//
// Closes the file; what was found stays.
//

typedef
VOID
(READER_CLOSE_STORE)(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );
READER_CLOSE_STORE ReaderCloseStore;

//
// ReaderIterator.c
//

typedef struct _READER_ITERATOR {
    PCREADER_CONTEXT Context;
    PREADER_STORE Store;
    CORE_RECORD_CHECK Check;
    PTRACE_RECORD Buffer;
    ULONG Index;                    // of the next record in the buffer
    ULONG Count;                    // of records in the buffer
    ULONGLONG BufferPosition;       // of the buffer's first
    ULONGLONG EndAtFill;            // the end of records when it was filled
    ULONGLONG NumberOvertaken;      // records overwritten before they were
                                    // read
    ULONGLONG NumberOfRecords;      // valid
    ULONGLONG NumberOfBadRecords;
    ULONGLONG FirstBadOffset;       // file offset
    CORE_RECORD_STATE FirstBadState;
    ULONGLONG NumberOnFibers;       // valid, outside the thread's own stack
    BOOLEAN IsTailReserved;         // the last one is not written
    BOOLEAN IsGap;                  // before the next valid record
    BOOLEAN IsAfterGap;             // the last one that was given: records
                                    // before it were overtaken
} READER_ITERATOR;
typedef READER_ITERATOR *PREADER_ITERATOR;

//
// The store is open, with a valid header, and stays the caller's.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_ITERATOR)(
    _Out_ PREADER_ITERATOR Iterator,
    _In_ PCREADER_CONTEXT Context,
    _In_ PREADER_STORE Store
    );
READER_INITIALIZE_ITERATOR ReaderInitializeIterator;

typedef VOID (READER_RUNDOWN_ITERATOR)(_Inout_ PREADER_ITERATOR Iterator);
READER_RUNDOWN_ITERATOR ReaderRundownIterator;

//
// The next valid record, good until the next call; bad ones are counted and
// passed over.  STATUS_END_OF_FILE when there is none: after the store has
// been refreshed there may be more.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_NEXT_RECORD)(
    _Inout_ PREADER_ITERATOR Iterator,
    _Outptr_ PCTRACE_RECORD *Record
    );
READER_NEXT_RECORD ReaderNextRecord;

//
// The records that ReaderNextRecord would look at next and that are at hand,
// in memory that does not change.  The caller validates them with Check, and
// says how many of them it took.
//

typedef
PCTRACE_RECORD
(READER_PEEK_RECORDS)(
    _In_ const READER_ITERATOR *Iterator,
    _Out_ PULONG NumberOfRecords
    );
READER_PEEK_RECORDS ReaderPeekRecords;

typedef
VOID
(READER_SKIP_RECORDS)(
    _Inout_ PREADER_ITERATOR Iterator,
    _In_ ULONG NumberOfRecords
    );
READER_SKIP_RECORDS ReaderSkipRecords;

//
// Where the iterator is, and moving it to where another one was.
//

typedef
ULONGLONG
(READER_QUERY_POSITION)(
    _In_ const READER_ITERATOR *Iterator
    );
READER_QUERY_POSITION ReaderQueryPosition;

typedef
VOID
(READER_SEEK_ITERATOR)(
    _Inout_ PREADER_ITERATOR Iterator,
    _In_ ULONGLONG Position,
    _In_ ULONGLONG PreviousTimestamp
    );
READER_SEEK_ITERATOR ReaderSeekIterator;

//
// Undoes the last success of ReaderNextRecord.
//

typedef VOID (READER_RETURN_RECORD)(_Inout_ PREADER_ITERATOR Iterator);
READER_RETURN_RECORD ReaderReturnRecord;

//
// ReaderSession.c
//

typedef enum _READER_PROCESS_STATE {
    ReaderProcessGone = 0,
    ReaderProcessRunning,
    ReaderProcessUnknown            // it may not be asked
} READER_PROCESS_STATE;

typedef struct _READER_MODULE {
    PCTRACE_STORE_HEADER Header;    // of the first of its stores
    const CHAR *Name;               // the path's last part, in the header
    ULONG NameLength;               // bytes
    BOOLEAN IsSelected;             // by --module
    BOOLEAN IsSymbolsTried;
    BOOLEAN IsSymbolsWarned;
    BOOLEAN IsImageTried;           // Symbols were looked for
    BOOLEAN IsImageMissed;          // they were needed, and there is no image
    ULONG CachedModule;             // in the cache, or READER_NONE
    READER_SYMBOL_SOURCE CachedSource;
    PREADER_SYMBOLS Symbols;        // NULL until the first site that the
                                    // cache does not know
    READER_MAP Inlined;             // (outer RVA << 32) | inner RVA to how
                                    // often one may be inlined into the other
    RTL_ERROR SymbolError;          // why there are none
    ULONG ProbeInner;               // what its hooks cost: ReaderProbe.h
    ULONG ProbeTotal;
} READER_MODULE;
typedef READER_MODULE *PREADER_MODULE;

typedef struct _READER_THREAD {
    ULONG ThreadId;
    ULONG Process;                  // index
    ULONG FirstStore;               // store index
    ULONG NumberOfStores;
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

typedef struct _READER_SESSION {
    PCREADER_CONTEXT Context;
    PWSTR PathBuffer;               // RTL_MAXIMUM_PATH_IN_CHARS
    UNICODE_STRING Path;            // the NT path, in the buffer
    USHORT DirectoryLength;         // bytes of it that are the directory's
    BOOLEAN IsDirectory;
    BOOLEAN HasDirectories;         // it holds directories that hold stores
    BOOLEAN IsOfSeveralBoots;       // why it could not be opened
    PREADER_DIRECTORY Directories;  // one at least
    ULONG NumberOfDirectories;
    ULONG CapacityOfDirectories;
    ULONG VisitedDirectory;         // index, while it is listed
    PREADER_PROCESS Processes;
    ULONG NumberOfProcesses;
    ULONG CapacityOfProcesses;
    PCWSTR ProcessSelection;        // --process; NULL: all
    PREADER_STORE *Stores;
    ULONG NumberOfStores;
    ULONG CapacityOfStores;
    ULONG NumberOfValidStores;
    READER_MAP Names;               // hash of a store's name to its index
    PREADER_MODULE *Modules;
    ULONG NumberOfModules;
    ULONG CapacityOfModules;
    PREADER_THREAD Threads;
    ULONG NumberOfThreads;
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
    ULONGLONG IndexInterval;        // records between two marks of an index;
                                    // 0: there are none
    ULONGLONG NumberOfMarks;        // in the indexes that were closed
    ULONGLONG NumberLeftOut;        // of marks, for which there was no room
    ULONGLONG NumberPassedBy;       // of records, thanks to indexes
    BOOLEAN IsProbeSubtracted;      // ReaderBeginProbe
    ULONG NumberOfTrees;            // valid stores that are of a tree
    BOOLEAN ShowsAside;             // ReaderIsAside
    BOOLEAN HasOther;               // one of them had no room for a function
    BOOLEAN IsAll;                  // --all: clears count for nothing
    PREADER_ACTION Actions;         // of all processes, in the order of time
    ULONG NumberOfActions;
    ULONG CapacityOfActions;
} READER_SESSION;
typedef READER_SESSION *PREADER_SESSION;

//
// Opens a session directory, a directory of such directories, or one store.
// Process is a process's identifier or the beginning of its image's name, and
// selects processes; NULL is all.  Stores that are bad stay in the list, with
// what is wrong in them; Error says what failed as a whole.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_OPEN_SESSION_OF)(
    _Out_ PREADER_SESSION Session,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCWSTR Path,
    _In_opt_z_ PCWSTR Process,
    _Out_ PRTL_ERROR Error
    );
READER_OPEN_SESSION_OF ReaderOpenSessionOf;

#define ReaderOpenSession(Session, Context, Path, Error) \
    ReaderOpenSessionOf((Session), (Context), (Path), NULL, (Error))

//
// Looks for new stores, and at those that were still being created.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_REFRESH_SESSION)(
    _Inout_ PREADER_SESSION Session,
    _Out_ PRTL_ERROR Error
    );
READER_REFRESH_SESSION ReaderRefreshSession;

typedef VOID (READER_CLOSE_SESSION)(_Inout_ PREADER_SESSION Session);
READER_CLOSE_SESSION ReaderCloseSession;

//
// Makes the name of a file of the directory that is being listed, as it is in
// the session's: Buffer is for READER_MAXIMUM_NAME_IN_CHARS, and Name may be
// the result.
//

#define READER_MAXIMUM_NAME_IN_CHARS 512

typedef
_Must_inspect_result_
NTSTATUS
(READER_COMPOSE_NAME)(
    _In_ const READER_SESSION *Session,
    _In_ PCUNICODE_STRING Name,
    _Out_writes_(READER_MAXIMUM_NAME_IN_CHARS) PWCHAR Buffer,
    _Out_ PUNICODE_STRING Composed
    );
READER_COMPOSE_NAME ReaderComposeName;

//
// Opens one of the session's stores (again).
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_OPEN_SESSION_STORE)(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store
    );
READER_OPEN_SESSION_STORE ReaderOpenSessionStore;

//
// Names the file of the index that begins with a store.  The name's buffer is
// allocated.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_NAME_INDEX)(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_STORE Store,
    _Out_ PUNICODE_STRING NtPath
    );
READER_NAME_INDEX ReaderNameIndex;

//
// Asks again whether the traced processes run: the state of all together.
//

typedef
READER_PROCESS_STATE
(READER_QUERY_PROCESS)(
    _Inout_ PREADER_SESSION Session
    );
READER_QUERY_PROCESS ReaderQueryProcess;

//
// Sets which modules --module selects: those whose name begins with Prefix,
// in any case; NULL selects all.
//

typedef
VOID
(READER_SELECT_MODULES)(
    _Inout_ PREADER_SESSION Session,
    _In_opt_z_ PCWSTR Prefix
    );
READER_SELECT_MODULES ReaderSelectModules;

//
// Says on the error output what is wrong with stores that are not read, each
// once.
//

typedef VOID (READER_WARN_OF_STORES)(_Inout_ PREADER_SESSION Session);
READER_WARN_OF_STORES ReaderWarnOfStores;

//
// ReaderProcess.c
//

//
// The process that a store or a thread is of; READER_NONE for a store of whose
// directory nothing is known.
//

#define READER_PROCESS_OF_STORE(Session, Store) \
    ((Session)->Directories[(Store)->Directory].Process)

//
// Has a store's process ended?
//

typedef
BOOLEAN
(READER_IS_WRITER_GONE)(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );
READER_IS_WRITER_GONE ReaderIsWriterGone;

//
// The handle of the one process that still runs, or NULL if there are several
// or none.
//

typedef HANDLE (READER_GET_LAST_PROCESS)(_In_ const READER_SESSION *Session);
READER_GET_LAST_PROCESS ReaderGetLastProcess;

//
// Adds a directory.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_DIRECTORY)(
    _Inout_ PREADER_SESSION Session,
    _In_ PCUNICODE_STRING Name
    );
READER_ADD_DIRECTORY ReaderAddDirectory;

//
// Adds the directories below the session's that are not known, and lists them
// all; Callback is called for each entry of each, with VisitedDirectory set.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_LIST_DIRECTORIES)(
    _Inout_ PREADER_SESSION Session,
    _In_ PRTL_DIRECTORY_CALLBACK Callback
    );
READER_LIST_DIRECTORIES ReaderListDirectories;

//
// Gives a store's directory its process, if it has none yet, and decides
// whether --process selects it.  STATUS_NOT_SUPPORTED: it ran on another boot
// than the others.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_ASSIGN_PROCESS)(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_STORE Store
    );
READER_ASSIGN_PROCESS ReaderAssignProcess;

//
// Another store of the session that this one is a copy of, if there is one.
//

typedef
BOOLEAN
(READER_IS_STORE_COPIED)(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );
READER_IS_STORE_COPIED ReaderIsStoreCopied;

//
// Were two stores made on one boot of a machine?
//

typedef
BOOLEAN
(READER_IS_ON_SAME_BOOT)(
    _In_ PCTRACE_STORE_HEADER First,
    _In_ PCTRACE_STORE_HEADER Second
    );
READER_IS_ON_SAME_BOOT ReaderIsOnSameBoot;

//
// The index of the process that started a process, or READER_NONE.
//

typedef
ULONG
(READER_FIND_PARENT)(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );
READER_FIND_PARENT ReaderFindParent;

//
// Writes "process 12 name.exe".
//

typedef
VOID
(READER_WRITE_PROCESS)(
    _Inout_ PRTL_WRITER Writer,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );
READER_WRITE_PROCESS ReaderWriteProcess;

typedef VOID (READER_RUNDOWN_PROCESSES)(_Inout_ PREADER_SESSION Session);
READER_RUNDOWN_PROCESSES ReaderRundownProcesses;

//
// ReaderControl.c: the session's control file.
//
// While a store is paused, its hook counts what is left out where it counts
// what is lost.
//

#define READER_EVENTS_LOST(Header)                                          \
    (((Header)->HookFlags & TRACE_HOOK_PAUSED) != 0                         \
         ? 0                                                                \
         : (Header)->NumberOfEventsLost)
#define READER_EVENTS_PAUSED(Header)                                        \
    ((Header)->NumberOfEventsPaused +                                       \
     (((Header)->HookFlags & TRACE_HOOK_PAUSED) != 0                        \
          ? (Header)->NumberOfEventsLost                                    \
          : 0))

//
// Reads those of all processes, if something in them is new.  A failure that is
// not for lack of memory is in the process's Control.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_READ_CONTROL)(
    _Inout_ PREADER_SESSION Session
    );
READER_READ_CONTROL ReaderReadControl;

typedef VOID (READER_CLOSE_CONTROL)(_Inout_ PREADER_SESSION Session);
READER_CLOSE_CONTROL ReaderCloseControl;

//
// Says on the error output what is wrong with them, once.
//

typedef VOID (READER_WARN_OF_CONTROL)(_Inout_ PREADER_SESSION Session);
READER_WARN_OF_CONTROL ReaderWarnOfControl;

//
// The control file's contents for a process's, and for a thread's index.
//

#define READER_CONTROL_OF(Session, Process)                                 \
    (&(Session)->Processes[Process].Control)

#define READER_CONTROL_OF_THREAD(Session, Thread)                           \
    READER_CONTROL_OF(Session, (Session)->Threads[Thread].Process)

//
// When a process was cleared last; 0: it was not, or that counts for nothing.
//

#define READER_CLEAR_OF(Session, Process)                                   \
    ((Session)->IsAll ? 0                                                   \
                      : READER_CONTROL_OF(Session, Process)->ClearTimestamp)

//
// The index of the first pause that is not over at a time.
//

typedef
ULONG
(READER_FIND_PAUSE)(
    _In_ PCREADER_CONTROL Control,
    _In_ ULONGLONG Timestamp
    );
READER_FIND_PAUSE ReaderFindPause;

//
// The name of a kind of action.  A literal.
//

typedef PCSZ (READER_DESCRIBE_ACTION)(_In_ ULONG Kind);
READER_DESCRIBE_ACTION ReaderDescribeAction;

//
// The instants that are shown between calls: marks, and starts, stops and
// clears.  ReaderFirstInstant gives the index of the first action from a time
// on; ReaderFindInstant the first instant from an action on, up to a time
// (Options: of a thread that is selected, or of none); NULL: there is none.
//

struct _READER_OPTIONS;

typedef
ULONG
(READER_FIRST_INSTANT)(
    _In_ const READER_SESSION *Session,
    _In_ ULONGLONG Timestamp
    );
READER_FIRST_INSTANT ReaderFirstInstant;

typedef
PCREADER_ACTION
(READER_FIND_INSTANT)(
    _In_ const READER_SESSION *Session,
    _In_ const struct _READER_OPTIONS *Options,
    _Inout_ PULONG Index,
    _In_ ULONGLONG Timestamp
    );
READER_FIND_INSTANT ReaderFindInstant;

//
// What an instant is called: a mark's text, or a literal.
//

typedef
const CHAR *
(READER_NAME_INSTANT)(
    _In_ PCTRACE_CONTROL_ACTION Action,
    _Out_ PULONG LengthInBytes
    );
READER_NAME_INSTANT ReaderNameInstant;

//
// A thread's name, as its stores or an action give it; "" if it has none.
//

typedef
VOID
(READER_QUERY_THREAD_NAME)(
    _In_ const READER_SESSION *Session,
    _In_ ULONG ThreadIndex,
    _Out_ const CHAR **Name,
    _Out_ PULONG LengthInBytes
    );
READER_QUERY_THREAD_NAME ReaderQueryThreadName;

//
// ReaderTreeStore.c: stores that hold a thread's calling-context tree.
//

//
// Reads the tree of a store, open or closed, as it is now; it is the caller's
// to run down, even after a failure.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_READ_TREE_STORE)(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _Out_ PCORE_TREE Tree
    );
READER_READ_TREE_STORE ReaderReadTreeStore;

//
// What a node's calls are in sums.
//

typedef struct _READER_STATISTICS *PREADER_STATISTICS;

typedef
VOID
(READER_GET_NODE_STATISTICS)(
    _In_ PCCORE_TREE_NODE Node,
    _Out_ PREADER_STATISTICS Statistics
    );
READER_GET_NODE_STATISTICS ReaderGetNodeStatistics;

//
// Writes what is wrong with a tree: "3 bad, the first ...".
//

typedef
VOID
(READER_DESCRIBE_TREE_PROBLEM)(
    _In_ PCCORE_TREE Tree,
    _Inout_ PRTL_WRITER Writer
    );
READER_DESCRIBE_TREE_PROBLEM ReaderDescribeTreeProblem;

//
// Shows the nodes of a thread's trees that have calls, or are above some.
//

typedef struct _READER_TREE_NODE {
    PCCORE_TREE_NODE Node;
    ULONGLONG Now;                  // of the tree
    ULONG Module;                   // index
    ULONG Function;
    ULONG FunctionAbove;            // READER_NONE: it is outermost
    ULONG Depth;                    // 0: likewise
    ULONG ValueAbove;               // what the routine gave the one above; 0:
                                    // there is none
    ULONG Value;                    // the routine's own
} READER_TREE_NODE;
typedef READER_TREE_NODE *PREADER_TREE_NODE;

typedef struct _READER_NODE_PLACE {
    ULONG Function;
    ULONG Depth;
    ULONG Value;
} READER_NODE_PLACE;
typedef READER_NODE_PLACE *PREADER_NODE_PLACE;

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_NODE)(
    _In_ PVOID Context,
    _Inout_ PREADER_TREE_NODE Node
    );
typedef READER_VISIT_NODE *PREADER_VISIT_NODE;

//
// And, once all nodes of a tree were shown, its open calls, the outermost of
// each stack first.
//

typedef struct _READER_TREE_FRAME {
    ULONG Function;
    ULONG Stack;                    // 0: the thread's own
    ULONGLONG Start;                // time stamp
    BOOLEAN IsInnermost;            // of the stack in use
} READER_TREE_FRAME;
typedef READER_TREE_FRAME *PREADER_TREE_FRAME;
typedef const READER_TREE_FRAME *PCREADER_TREE_FRAME;

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_FRAME)(
    _In_ PVOID Context,
    _In_ PCREADER_TREE_FRAME Frame
    );
typedef READER_VISIT_FRAME *PREADER_VISIT_FRAME;

typedef struct _READER_FUNCTIONS *PREADER_FUNCTIONS;

typedef
_Must_inspect_result_
NTSTATUS
(READER_VISIT_TREES)(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONG Thread,
    _In_ PREADER_VISIT_NODE Visit,
    _In_opt_ PREADER_VISIT_FRAME VisitFrame,
    _In_ PVOID VisitContext
    );
READER_VISIT_TREES ReaderVisitTrees;

//
// Is a store left out?  One of records that are in the thread's tree, too
// (TRACE_FLAG_CHRONOLOGICAL), is, unless single calls are required.
//

typedef
BOOLEAN
(READER_IS_ASIDE)(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );
READER_IS_ASIDE ReaderIsAside;

//
// Has the thread a store of records that is not left out, or, READER_NONE, has
// any?
//

typedef
BOOLEAN
(READER_HAS_RECORDS)(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    );
READER_HAS_RECORDS ReaderHasRecords;

//
// For a command about single calls: a tree store has none.  TRUE if there are
// stores that have some; else the error has been written.
//

typedef
BOOLEAN
(READER_REQUIRE_CALLS)(
    _Inout_ PREADER_SESSION Session,
    _In_z_ PCSZ What
    );
READER_REQUIRE_CALLS ReaderRequireCalls;

//
// ReaderDescribe.c: the words for states.  All are literals but the last,
// which writes a sentence.
//

typedef
PCSZ
(READER_DESCRIBE_STORE_STATE)(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_STORE Store
    );
READER_DESCRIBE_STORE_STATE ReaderDescribeStoreState;

typedef
PCSZ
(READER_DESCRIBE_PROCESS_STATE)(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process,
    _Outptr_result_maybenull_ PREADER_STORE *Because
    );
READER_DESCRIBE_PROCESS_STATE ReaderDescribeProcessState;

#define ReaderDescribeSessionState(Session, Because) \
    ReaderDescribeProcessState((Session), READER_NONE, (Because))

//
// Has a ring of the session lost its oldest records?
//

typedef
BOOLEAN
(READER_IS_RING_OVERWRITTEN)(
    _In_ const READER_SESSION *Session
    );
READER_IS_RING_OVERWRITTEN ReaderIsRingOverwritten;

typedef PCSZ (READER_DESCRIBE_REASON)(_In_ ULONG Reason);
READER_DESCRIBE_REASON ReaderDescribeReason;

typedef
PCSZ
(READER_DESCRIBE_SYMBOL_SOURCE)(
    _In_ READER_SYMBOL_SOURCE Source
    );
READER_DESCRIBE_SYMBOL_SOURCE ReaderDescribeSymbolSource;

typedef
VOID
(READER_DESCRIBE_STORE_PROBLEM)(
    _In_ PCREADER_STORE Store,
    _Inout_ PRTL_WRITER Writer
    );
READER_DESCRIBE_STORE_PROBLEM ReaderDescribeStoreProblem;

//
// ReaderStream.c
//

typedef struct _READER_STREAM_STORE {
    READER_ITERATOR Iterator;
    ULONG Store;                    // index
    ULONG Module;                   // index
    PCTRACE_RECORD Head;            // the next record, or NULL: none now
    ULONG Entered;                  // which of the stores was the first with
                                    // an entry, the second, ...; 0: no entry
    BOOLEAN IsEnded;                // there will be none
} READER_STREAM_STORE;
typedef READER_STREAM_STORE *PREADER_STREAM_STORE;

typedef struct _READER_TALLY *PREADER_TALLY;
typedef struct _READER_INDEX *PREADER_INDEX;
typedef struct _READER_PROBE READER_PROBE;
typedef READER_PROBE *PREADER_PROBE;

typedef struct _READER_STREAM {
    PREADER_SESSION Session;
    ULONG Thread;                   // index
    PREADER_STREAM_STORE *Stores;
    ULONG NumberOfStores;
    ULONG CapacityOfStores;
    BOOLEAN IsLive;                 // open frames stay open at the end
    BOOLEAN IsPaired;               // Pair is there
    BOOLEAN IsFinished;
    CORE_PAIR Pair;
    ULONGLONG Horizon;              // later records wait, ticks
    ULONGLONG NumberOfRecords;
    ULONGLONG NumberOfOrdinary;     // of those, taken by ReaderRunStream
    ULONGLONG LastTimestamp;        // of the last record; 0: none yet
    ULONG NumberOfJumps;            // of the clock, so far
    BOOLEAN IsAfterJump;            // the last record is
    PREADER_TALLY Tally;            // what ReaderRunStream adds to, or NULL
    PREADER_INDEX Index;            // where it can begin, or NULL
    PREADER_PROBE Probe;            // what is to be subtracted, or NULL
    ULONGLONG NumberPassedBy;       // of the records, thanks to the index
    ULONGLONG PassedTimestamp;      // of the last of them
    ULONG NumberEntered;            // stores of which entries were read
    ULONG PauseHash;                // the process's, when it was opened
    ULONG Pause;                    // the process's first that was not passed
    ULONGLONG NextStop;             // when it begins; all ones: there is none
    ULONGLONG Start;                // what is before was passed over; 0:
                                    // nothing was
    ULONGLONG LastStop;             // the beginning of the last one that had
                                    // records; 0: there was none
} READER_STREAM;
typedef READER_STREAM *PREADER_STREAM;

//
// Opens the events of a thread.  With IsLive the open frames do not become
// events at the end of the data, and ReaderRefreshStream looks for more.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_OPEN_STREAM)(
    _Out_ PREADER_STREAM Stream,
    _In_ PREADER_SESSION Session,
    _In_ ULONG Thread,
    _In_ BOOLEAN IsLive
    );
READER_OPEN_STREAM ReaderOpenStream;

//
// Takes the ends of the thread's stores again and lets records up to Horizon
// through.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_REFRESH_STREAM)(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Horizon
    );
READER_REFRESH_STREAM ReaderRefreshStream;

//
// The next event, or STATUS_END_OF_FILE.  Its Site is (module index << 32) |
// RVA.  Where records were overtaken by the writer of a ring, the open frames
// become events as at the end of the data, and pairing begins anew.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_NEXT_EVENT)(
    _Inout_ PREADER_STREAM Stream,
    _Out_ PCORE_EVENT Event
    );
READER_NEXT_EVENT ReaderNextEvent;

//
// Are there records that were read and are later than the horizon?
//

typedef
BOOLEAN
(READER_HAS_WAITING_RECORDS)(
    _In_ const READER_STREAM *Stream
    );
READER_HAS_WAITING_RECORDS ReaderHasWaitingRecords;

//
// Gives a stream a tally: its sites are then described from that, and
// ReaderRunStream takes what ordinary calls come next, of which there are no
// events.
//

typedef
VOID
(READER_SET_STREAM_TALLY)(
    _Inout_ PREADER_STREAM Stream,
    _Inout_opt_ PREADER_TALLY Tally
    );
READER_SET_STREAM_TALLY ReaderSetStreamTally;

typedef
_Must_inspect_result_
NTSTATUS
(READER_RUN_STREAM)(
    _Inout_ PREADER_STREAM Stream
    );
READER_RUN_STREAM ReaderRunStream;

//
// Finds the stream's next pause again: it was moved, or there are others now.
//

typedef VOID (READER_SET_STREAM_PAUSE)(_Inout_ PREADER_STREAM Stream);
READER_SET_STREAM_PAUSE ReaderSetStreamPause;

//
// Passes the pauses that are over at a time; there are no events left to take,
// and no records before it.  Returns the time, or the beginning of the pause
// that it is in.
//

typedef
ULONGLONG
(READER_PASS_PAUSES)(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp
    );
READER_PASS_PAUSES ReaderPassPauses;

//
// When an open frame was entered, pauses or not.
//

typedef
ULONGLONG
(READER_FIND_ENTRY)(
    _In_ const READER_STREAM *Stream,
    _In_ const CORE_FRAME *Frame
    );
READER_FIND_ENTRY ReaderFindEntry;

//
// Limits a stream to a range: the frames that are open have no time before
// Start, or the last clear if that is later, and those that are open after End
// end there.  What is before was passed over by ReaderSkipStream with the same
// Start; the stream's Start 0: nothing was.  A stream without records from
// there on has no events.
//

typedef
VOID
(READER_CLIP_STREAM)(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Start,
    _In_ ULONGLONG End
    );
READER_CLIP_STREAM ReaderClipStream;

//
// Says on the error output that a store had bad records, if it had any, unless
// that was said before, and how many of its records were overtaken.
//

typedef
VOID
(READER_WARN_OF_RECORDS)(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    );
READER_WARN_OF_RECORDS ReaderWarnOfRecords;

//
// Says which stores had bad records or overtaken ones, unless the stream has a
// tally, and closes.
//

typedef VOID (READER_CLOSE_STREAM)(_Inout_ PREADER_STREAM Stream);
READER_CLOSE_STREAM ReaderCloseStream;

//
// ReaderIndex.c
//

//
// What an index has at its beginning.
//

typedef struct _READER_INDEX_HEADER {
    ULONGLONG Magic;
    ULONG Version;
    ULONG PauseHash;                // the process's
    ULONGLONG NumberOfMarks;
    ULONGLONG LastMark;             // file offset
    ULONGLONG EndOfMarks;           // file offset
    ULONGLONG JumpTicks;            // the session's
    ULONGLONG NumberLeftOut;        // marks for which there was no room
    ULONGLONG Checksum;             // of what comes before
} READER_INDEX_HEADER;

typedef struct _READER_INDEX {
    UNICODE_STRING Path;            // NT path
    HANDLE Reading;                 // NULL: there is no index yet
    HANDLE Writing;                 // NULL until a mark is added
    READER_INDEX_HEADER Header;     // without marks: it is none
    ULONGLONG Interval;             // records from one mark to the next
    ULONGLONG Due;                  // the number of records for the next one
    ULONGLONG MaximumSize;          // bytes
    ULONGLONG LastTimestamp;        // of the last mark
    ULONGLONG Offsets[33];          // of marks: see ReaderFindOffsets
    PVOID Buffer;                   // for one mark
    ULONG Capacity;                 // of it, 8 bytes each
    ULONG NumberOfUnnamed;          // marks that the file's header lacks
} READER_INDEX;

//
// Gives a stream that was just opened its index, and takes it away.
//

typedef VOID (READER_OPEN_INDEX)(_Inout_ PREADER_STREAM Stream);
READER_OPEN_INDEX ReaderOpenIndex;

typedef VOID (READER_CLOSE_INDEX)(_Inout_ PREADER_STREAM Stream);
READER_CLOSE_INDEX ReaderCloseIndex;

//
// Says, for --verbose, what indexes there were.
//

typedef VOID (READER_PUT_INDEX_COST)(_In_ const READER_SESSION *Session);
READER_PUT_INDEX_COST ReaderPutIndexCost;

//
// Adds a mark, which is due; no events may be left to take, and each store's
// next record is at hand.
//

typedef VOID (READER_MARK_STREAM)(_Inout_ PREADER_STREAM Stream);
READER_MARK_STREAM ReaderMarkStream;

//
// Names in the file what marks were added, so that others can use them.
//

typedef VOID (READER_NAME_MARKS)(_Inout_ PREADER_STREAM Stream);
READER_NAME_MARKS ReaderNameMarks;

#define READER_IS_MARK_DUE(Stream)                                          \
    ((Stream)->Index != NULL &&                                             \
     (Stream)->NumberOfRecords >= (Stream)->Index->Due)

//
// Moves a stream to the last mark before a time.  FALSE: it is where it was.
//

typedef
BOOLEAN
(READER_RESTORE_STREAM)(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp
    );
READER_RESTORE_STREAM ReaderRestoreStream;

//
// ReaderSite.c
//

//
// Fills in what the image says of a call's Site, which is (module << 32) |
// RVA; Kind must be there.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_DESCRIBE_CALL)(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PCORE_CALL Call
    );
READER_DESCRIBE_CALL ReaderDescribeCall;

CORE_COUNT_INLINED ReaderCountInlinedInSession;

//
// ReaderFunction.c
//

//
// The site that stands for the functions without nodes of their own in a tree.
//

#define READER_OTHER_RVA 0xFFFFFFFFu

typedef struct _READER_FUNCTION {
    ULONG Module;                   // index
    ULONG Rva;                      // of its start, or of the site, or
                                    // READER_OTHER_RVA: it has none
    PCSZ Name;                      // UTF-8
    ULONG NameLength;               // bytes
    ULONG FoldedLength;             // bytes
    PCSZ FoldedNames;               // of other functions with the same code,
                                    // joined by "; "; ""
    BOOLEAN IsNameOwned;            // module+0xRVA, or "... [+2 folded]"
    BOOLEAN IsShown;                // these two by ReaderFilterFunctions
    BOOLEAN IsExcluded;             // the longest prefix is one of --exclude
    BOOLEAN IsLeftOut;              // the command's: it was, at least once
} READER_FUNCTION;
typedef READER_FUNCTION *PREADER_FUNCTION;
typedef const READER_FUNCTION *PCREADER_FUNCTION;

typedef struct _READER_FUNCTIONS {
    PREADER_SESSION Session;
    READER_MAP Sites;               // site to function
    READER_MAP Starts;              // (module << 32) | start RVA to function
    PREADER_FUNCTION Functions;
    ULONG NumberOfFunctions;
    ULONG CapacityOfFunctions;
    ULONG NumberOfDecided;          // by ReaderFilterFunctions
    ULONGLONG NumberOfDecisions;    // that it has made
    ULONGLONG FilterMicroseconds;   // that this took
    BOOLEAN IsQuiet;                // the caller warns of missing symbols
} READER_FUNCTIONS;

typedef
VOID
(READER_INITIALIZE_FUNCTIONS)(
    _Out_ PREADER_FUNCTIONS Functions,
    _In_ PREADER_SESSION Session
    );
READER_INITIALIZE_FUNCTIONS ReaderInitializeFunctions;

typedef VOID (READER_RUNDOWN_FUNCTIONS)(_Inout_ PREADER_FUNCTIONS Functions);
READER_RUNDOWN_FUNCTIONS ReaderRundownFunctions;

//
// The index of the function that a site is in.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_FIND_FUNCTION)(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ ULONGLONG Site,
    _Out_ PULONG Function
    );
READER_FIND_FUNCTION ReaderFindFunction;

//
// How many bytes of a function's name are a return type and the blank behind
// it, which C++ names of templates' functions have and others have not.
//

typedef
ULONG
(READER_SKIP_RETURN_TYPE)(
    _In_reads_bytes_(LengthInBytes) const CHAR *Name,
    _In_ ULONG LengthInBytes
    );
READER_SKIP_RETURN_TYPE ReaderSkipReturnType;

//
// Says why a module's functions have no names, if they have none, unless that
// was said before.
//

typedef
VOID
(READER_WARN_OF_SYMBOLS)(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_MODULE Module
    );
READER_WARN_OF_SYMBOLS ReaderWarnOfSymbols;

//
// Makes ready what is known of a module, unless that was tried before: the
// cache, if it has the module with good symbols, else its image's symbols.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_LOAD_MODULE_SYMBOLS)(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_MODULE Module
    );
READER_LOAD_MODULE_SYMBOLS ReaderLoadModuleSymbols;

//
// Loads the symbols of a module's image, for what the cache does not know,
// unless that was tried before.
//

READER_LOAD_MODULE_SYMBOLS ReaderLoadModuleImage;

//
// Where a module's names come from, now or when they came into the cache.
//

typedef
READER_SYMBOL_SOURCE
(READER_GET_MODULE_SOURCE)(
    _In_ const READER_MODULE *Module
    );
READER_GET_MODULE_SOURCE ReaderGetModuleSource;

//
// ReaderCache.c: what was ever asked of the images, in a file of the session's
// directory.
//

//
// Gives a session its cache, and takes it away.
//

typedef VOID (READER_OPEN_CACHE)(_Inout_ PREADER_SESSION Session);
READER_OPEN_CACHE ReaderOpenCache;

typedef VOID (READER_CLOSE_CACHE)(_Inout_ PREADER_SESSION Session);
READER_CLOSE_CACHE ReaderCloseCache;

//
// Looks for a module in the cache; sets its CachedModule and CachedSource.
//

typedef
BOOLEAN
(READER_FIND_MODULE_IN_CACHE)(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_MODULE Module
    );
READER_FIND_MODULE_IN_CACHE ReaderFindModuleInCache;

//
// Forgets what the cache has of a module.
//

typedef
VOID
(READER_DROP_MODULE_FROM_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_MODULE Module
    );
READER_DROP_MODULE_FROM_CACHE ReaderDropModuleFromCache;

//
// What the cache knows (FALSE: it does not), and telling it what the image
// said.  The module's symbols are loaded.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_NAME_IN_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Site,
    _Out_ PREADER_SYMBOL Symbol,
    _Out_ PBOOLEAN IsFound
    );
READER_FIND_NAME_IN_CACHE ReaderFindNameInCache;

typedef
VOID
(READER_ADD_NAME_TO_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Site,
    _In_opt_ const READER_SYMBOL *Symbol
    );
READER_ADD_NAME_TO_CACHE ReaderAddNameToCache;

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_SITE_IN_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Key,
    _In_ BOOLEAN IsFunction,
    _Out_ PREADER_SITE Site
    );
READER_FIND_SITE_IN_CACHE ReaderFindSiteInCache;

typedef
VOID
(READER_ADD_SITE_TO_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Key,
    _In_ BOOLEAN IsFunction,
    _In_ PCREADER_SITE Site
    );
READER_ADD_SITE_TO_CACHE ReaderAddSiteToCache;

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_INLINED_IN_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ ULONGLONG Key,
    _Out_ PULONG Number
    );
READER_FIND_INLINED_IN_CACHE ReaderFindInlinedInCache;

typedef
VOID
(READER_ADD_INLINED_TO_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG ModuleIndex,
    _In_ ULONGLONG Key,
    _In_ ULONG Number
    );
READER_ADD_INLINED_TO_CACHE ReaderAddInlinedToCache;

//
// The source line of a site, which is (module << 32) | RVA: what commands call
// instead of ReaderFindSourceLine.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_FIND_LINE)(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONGLONG Site,
    _Out_ PREADER_SOURCE_LINE Line
    );
READER_FIND_LINE ReaderFindLine;

//
// The cache's file, in memory of the allocator, with what is new.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_MAKE_CACHE)(
    _In_ PREADER_SESSION Session,
    _Outptr_ PVOID *Bytes,
    _Out_ PULONG SizeInBytes
    );
READER_MAKE_CACHE ReaderMakeCache;

//
// Writes the cache, if there is something new in it; what a command does that
// has read everything.
//

typedef
VOID
(READER_SAVE_CACHE)(
    _Inout_ PREADER_SESSION Session,
    _In_ BOOLEAN IsVerbose
    );
READER_SAVE_CACHE ReaderSaveCache;

//
// ReaderTable.c
//

typedef enum _READER_FORMAT {
    ReaderFormatText = 0,
    ReaderFormatCsv,
    ReaderFormatJson
} READER_FORMAT;

typedef enum _READER_COLUMN_TYPE {
    ReaderColumnText = 0,
    ReaderColumnNumber,
    ReaderColumnBytes,
    ReaderColumnTime,               // given in ticks of the session's clock
    ReaderColumnExactTime,          // in ticks of the time stamp counter
    ReaderColumnHexadecimal,
    ReaderColumnDate,               // given as a FILETIME
    ReaderColumnHundredths,         // given times 100: has two decimals
    ReaderColumnSigned,             // these two given as a LONGLONG
    ReaderColumnSignedTime,
    ReaderColumnProcessId,          // number and text that only an output has
    ReaderColumnProcess             // that tells processes apart
} READER_COLUMN_TYPE;

//
// The columns of ReaderPutProcess; not a table's first.
//

#define READER_PROCESS_COLUMNS                                              \
    { "PID", "process_id", ReaderColumnProcessId, 8 },                      \
    { "Process", "process", ReaderColumnProcess, 16 }

#define READER_IS_TEXT_COLUMN(Column)                                       \
    ((Column)->Type == ReaderColumnText ||                                  \
     (Column)->Type == ReaderColumnProcess)

typedef struct _READER_COLUMN {
    PCSZ Title;                     // in text
    PCSZ Field;                     // in CSV and JSON; times get _ns
    READER_COLUMN_TYPE Type;
    ULONG Width;                    // in text
} READER_COLUMN;
typedef const READER_COLUMN *PCREADER_COLUMN;

typedef struct _READER_TABLE {
    PCSZ Name;
    PCREADER_COLUMN Columns;
    ULONG NumberOfColumns;
    BOOLEAN IsList;                 // in text, a line for each cell
} READER_TABLE;
typedef const READER_TABLE *PCREADER_TABLE;

typedef struct _READER_OUTPUT {
    PRTL_WRITER Writer;
    READER_FORMAT Format;
    PCCORE_CLOCK Clock;
    PCREADER_TABLE Table;
    BOOLEAN IsLongCsv;              // several tables: table,row,field,value
    BOOLEAN HasProcesses;           // the caller's: there are columns of them
    ULONGLONG HiddenColumns;        // in text, a mask
    ULONG Column;                   // the next cell's
    ULONG NumberOfTables;
    ULONGLONG NumberOfRows;         // of this table
} READER_OUTPUT;
typedef READER_OUTPUT *PREADER_OUTPUT;

typedef
VOID
(READER_BEGIN_DOCUMENT)(
    _Out_ PREADER_OUTPUT Output,
    _In_ PRTL_WRITER Writer,
    _In_ READER_FORMAT Format,
    _In_ PCCORE_CLOCK Clock,
    _In_z_ PCSZ Command,
    _In_ BOOLEAN HasSeveralTables
    );
READER_BEGIN_DOCUMENT ReaderBeginDocument;

typedef VOID (READER_END_DOCUMENT)(_Inout_ PREADER_OUTPUT Output);
READER_END_DOCUMENT ReaderEndDocument;

typedef
VOID
(READER_BEGIN_TABLE)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_TABLE Table,
    _In_ ULONGLONG HiddenColumns
    );
READER_BEGIN_TABLE ReaderBeginTable;

typedef VOID (READER_END_TABLE)(_Inout_ PREADER_OUTPUT Output);
READER_END_TABLE ReaderEndTable;

//
// A row is as many cells as the table has columns, in their order.
//

typedef
VOID
(READER_PUT_TEXT)(
    _Inout_ PREADER_OUTPUT Output,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );
READER_PUT_TEXT ReaderPutText;

typedef
VOID
(READER_PUT_STRING)(
    _Inout_ PREADER_OUTPUT Output,
    _In_z_ PCSZ String
    );
READER_PUT_STRING ReaderPutString;

//
// A text below Depth levels of indentation, which only text output shows.
//

typedef
VOID
(READER_PUT_INDENTED_TEXT)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONG Depth,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );
READER_PUT_INDENTED_TEXT ReaderPutIndentedText;

//
// A number, time, date or hexadecimal, as the column's type says.
//

typedef
VOID
(READER_PUT_NUMBER)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Number
    );
READER_PUT_NUMBER ReaderPutNumber;

typedef VOID (READER_PUT_NOTHING)(_Inout_ PREADER_OUTPUT Output);
READER_PUT_NOTHING ReaderPutNothing;

//
// The cells of READER_PROCESS_COLUMNS, for a process's index.
//

typedef
VOID
(READER_PUT_PROCESS)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session,
    _In_ ULONG Process
    );
READER_PUT_PROCESS ReaderPutProcess;

//
// A line outside the tables, in text output alone.
//

typedef
VOID
(READER_PUT_NOTE)(
    _Inout_ PREADER_OUTPUT Output,
    _In_z_ PCSZ Line
    );
READER_PUT_NOTE ReaderPutNote;

//
// Says, in text output, how many rows --limit has left out, if any; What is
// "function", say.
//

typedef
VOID
(READER_PUT_MORE)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ ULONGLONG Count,
    _In_z_ PCSZ What
    );
READER_PUT_MORE ReaderPutMore;

//
// Says, in text output, what is to be known about the times: which clock they
// are of, that they are ticks, or approximate.
//

typedef
VOID
(READER_PUT_CLOCK_NOTE)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_SESSION *Session
    );
READER_PUT_CLOCK_NOTE ReaderPutClockNote;

//
// A clock's name: "tsc", "thread", "none".  A literal.
//

typedef PCSZ (READER_DESCRIBE_CLOCK)(_In_ PCCORE_CLOCK Clock);
READER_DESCRIBE_CLOCK ReaderDescribeClock;

//
// Writes a time in human units, right aligned in ten columns: "  1.234 ms",
// no finer than the clock is; with --raw whole nanoseconds in fourteen.
//

typedef
VOID
(READER_WRITE_TIME)(
    _Inout_ PRTL_WRITER Writer,
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks
    );
READER_WRITE_TIME ReaderWriteTime;

#define READER_TIME_WIDTH 10
#define READER_RAW_TIME_WIDTH 14

//
// Writes a number of bytes in human units: "1.50 MiB".
//

typedef
VOID
(READER_WRITE_SIZE)(
    _Inout_ PRTL_WRITER Writer,
    _In_ ULONGLONG Bytes
    );
READER_WRITE_SIZE ReaderWriteSize;

//
// Writes UTF-8 with control characters and ill-formed bytes replaced.
//

typedef
VOID
(READER_WRITE_CLEAN_TEXT)(
    _Inout_ PRTL_WRITER Writer,
    _In_reads_bytes_(LengthInBytes) const CHAR *Text,
    _In_ ULONG LengthInBytes
    );
READER_WRITE_CLEAN_TEXT ReaderWriteCleanText;

//
// ReaderFilter.c
//

typedef struct _READER_FILTER *PREADER_FILTER;
typedef const struct _READER_FILTER *PCREADER_FILTER;

//
// Adds the prefixes that the value of --function or --exclude names, which has
// to stay until ReaderBuildFilter; a filter that is NULL is made.  A failure
// that is not a bad value has been written.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_PREFIXES)(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_FILTER *Filter,
    _In_ BOOLEAN IsExclude,
    _In_z_ PCWSTR Value,
    _In_z_ PCSZ ValueUtf8,
    _Out_ PBOOLEAN IsBadValue
    );
READER_ADD_PREFIXES ReaderAddPrefixes;

//
// Makes a filter ready when it has all its prefixes.  FALSE: the failure has
// been written.
//

typedef
_Must_inspect_result_
BOOLEAN
(READER_BUILD_FILTER)(
    _In_ PCREADER_CONTEXT Context,
    _Inout_opt_ PREADER_FILTER Filter
    );
READER_BUILD_FILTER ReaderBuildFilter;

typedef VOID (READER_DESTROY_FILTER)(_Inout_opt_ PREADER_FILTER Filter);
READER_DESTROY_FILTER ReaderDestroyFilter;

//
// Decides which functions are shown, each once; NULL shows all.  To be called
// before IsShown is looked at: functions may have been added.
//

typedef
VOID
(READER_FILTER_FUNCTIONS)(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_opt_ PCREADER_FILTER Filter
    );
READER_FILTER_FUNCTIONS ReaderFilterFunctions;

//
// What a filter left out of what there would be without it.
//

typedef struct _READER_NOT_SHOWN {
    ULONGLONG Rows;                 // functions, or nodes
    ULONGLONG Calls;
    BOOLEAN AreNodes;
} READER_NOT_SHOWN;
typedef READER_NOT_SHOWN *PREADER_NOT_SHOWN;
typedef const READER_NOT_SHOWN *PCREADER_NOT_SHOWN;

typedef
VOID
(READER_PUT_NOT_SHOWN)(
    _Inout_ PREADER_OUTPUT Output,
    _In_opt_ PCREADER_FILTER Filter,
    _In_ PCREADER_NOT_SHOWN NotShown
    );
READER_PUT_NOT_SHOWN ReaderPutNotShown;

//
// Says so if the filter left nothing to show; returns the exit code.
//

typedef
ULONG
(READER_END_FILTER)(
    _In_ PCREADER_CONTEXT Context,
    _In_opt_ PCREADER_FILTER Filter,
    _In_ ULONGLONG NumberShown,
    _In_ PCREADER_NOT_SHOWN NotShown,
    _In_ ULONG ExitCode
    );
READER_END_FILTER ReaderEndFilter;

//
// Says, for --verbose, what filtering took.
//

typedef
VOID
(READER_PUT_FILTER_COST)(
    _In_ const READER_FUNCTIONS *Functions,
    _In_opt_ PCREADER_FILTER Filter
    );
READER_PUT_FILTER_COST ReaderPutFilterCost;

//
// ReaderOptions.c
//

#define READER_OPTION_FORMAT      0x1ULL        // --csv, --json, --raw
#define READER_OPTION_SORT        0x2ULL
#define READER_OPTION_LIMIT       0x4ULL
#define READER_OPTION_THREAD      0x8ULL
#define READER_OPTION_MODULE      0x10ULL
#define READER_OPTION_DEPTH       0x20ULL
#define READER_OPTION_INTERVAL    0x40ULL
#define READER_OPTION_COUNT       0x80ULL
#define READER_OPTION_TRACKS      0x100ULL      // --per-thread
#define READER_OPTION_WORKERS     0x200ULL
#define READER_OPTION_GENERAL     0x400ULL
#define READER_OPTION_VERBOSE     0x800ULL
#define READER_OPTION_FROM        0x1000ULL
#define READER_OPTION_TO          0x2000ULL
#define READER_OPTION_NO_INDEX    0x4000ULL
#define READER_OPTION_MARKS       0x8000ULL     // --mark-every
#define READER_OPTION_FROM_START  0x10000ULL
#define READER_OPTION_FILTER      0x20000ULL    // --function, --exclude
#define READER_OPTION_TIMES       0x40000ULL
#define READER_OPTION_SYMBOLS     0x80000ULL
#define READER_OPTION_NO_CACHE    0x100000ULL
#define READER_OPTION_LINES       0x200000ULL
#define READER_OPTION_PROBE       0x400000ULL   // --subtract-probe
#define READER_OPTION_PERCENTILES 0x800000ULL
#define READER_OPTION_OUTPUT      0x1000000ULL
#define READER_OPTION_EXPORT      0x2000000ULL  // --format
#define READER_OPTION_SPLIT       0x4000000ULL  // --split-size
#define READER_OPTION_MINIMUM     0x8000000ULL  // --min
#define READER_OPTION_STATIC      0x10000000ULL
#define READER_OPTION_HTML        0x20000000ULL
#define READER_OPTION_BUDGET      0x40000000ULL
#define READER_OPTION_PLAIN       0x80000000ULL
#define READER_OPTION_PROCESS     0x10000000000ULL
#define READER_OPTION_BY          0x20000000000ULL
#define READER_OPTION_ALL         0x100000000ULL
#define READER_OPTION_NAMES_FROM  0x40000000000ULL  // --functions-from
#define READER_OPTION_EXCLUDE_LIST 0x80000000000ULL

//
// What all commands take that read records and name functions.
//

#define READER_OPTIONS_OF_READING                                           \
    (READER_OPTION_NO_INDEX | READER_OPTION_MARKS |                         \
     READER_OPTION_SYMBOLS | READER_OPTION_NO_CACHE |                       \
     READER_OPTION_PROCESS | READER_OPTION_ALL)

//
// Records from one mark of an index to the next: 1 MiB of them.
//

#define READER_INDEX_INTERVAL   0x10000u

typedef enum _READER_SORT_KEY {
    ReaderSortTotal = 0,
    ReaderSortSelf,
    ReaderSortCalls,
    ReaderSortAverage,
    ReaderSortMinimum,
    ReaderSortMaximum,
    ReaderSortName
} READER_SORT_KEY;

#define READER_MAXIMUM_NAMES 32

typedef struct _READER_OPTIONS {
    PCSZ Command;                   // its name
    PCWSTR Path;
    PCSZ PathUtf8;
    READER_FORMAT Format;
    BOOLEAN IsRaw;                  // --raw
    READER_SORT_KEY SortKey;
    PCWSTR First;                   // the argument before the path; "" if
    PCSZ FirstUtf8;                 // the command takes none
    PCWSTR Second;                  // of a command that takes its path first,
    PCSZ SecondUtf8;                // what comes behind First; or ""
    ULONGLONG Given;                // READER_OPTION_*: what the user gave
    ULONGLONG Limit;
    ULONGLONG Count;
    ULONG ThreadId;
    ULONG Depth;
    ULONG IntervalInMilliseconds;
    ULONG NumberOfWorkers;          // 0: one for each processor
    ULONGLONG From;                 // nanoseconds after the session's first
    ULONGLONG To;                   // record (ticks, if the rate is unknown)
    PCSZ FromMark;                  // instead of these: a mark's text; NULL:
    PCSZ ToMark;                    // not given
    ULONGLONG IndexInterval;        // 0: no index
    PCWSTR Module;
    PCWSTR Process;                 // --process; NULL: not given
    PREADER_FILTER Filter;          // NULL: there is none
    PCWSTR Symbols;                 // --symbols; NULL: not given
    PCWSTR Output;                  // --output; NULL: not given
    PCSZ OutputUtf8;
    PCWSTR Html;                    // --html; NULL: not given
    PCSZ HtmlUtf8;
    PCSZ ExportFormat;              // --format; NULL: not given
    ULONGLONG SplitSize;            // bytes; 0: not given
    ULONGLONG Minimum;              // bytes
    ULONG BudgetInPercent;          // of a processor; 0: not given
    ULONG NumberOfNames;            // what follows the path, of a command
    PCSZ Names[READER_MAXIMUM_NAMES];       // whose arguments end with "..."
    PCWSTR NamesFrom;               // --functions-from; NULL: not given
    PCSZ NamesFromUtf8;
    PCWSTR ExcludeList;             // --exclude-list; NULL: not given
    PCSZ ExcludeListUtf8;
} READER_OPTIONS;
typedef READER_OPTIONS *PREADER_OPTIONS;
typedef const READER_OPTIONS *PCREADER_OPTIONS;

typedef
ULONG
(READER_COMMAND_ROUTINE)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );
typedef READER_COMMAND_ROUTINE *PREADER_COMMAND_ROUTINE;

typedef struct _READER_COMMAND {
    PCSZ Name;
    PCSZ Arguments;                 // "PATH", or two: "FUNCTION PATH", or
                                    // "PATH NAME..."; or "PATH VERB [TEXT]",
                                    // of which the last may be missing
    PCSZ Summary;                   // one line
    PCSZ Fields;                    // help: what CSV and JSON hold; may be ""
    PCSZ Examples;                  // help: lines of "  TraceReader ..."
    ULONGLONG Options;              // READER_OPTION_* that it takes
    PREADER_COMMAND_ROUTINE Routine;
} READER_COMMAND;
typedef const READER_COMMAND *PCREADER_COMMAND;

//
// ReaderMain.c: all of them, in the order of the help.
//

extern const PCREADER_COMMAND ReaderCommands[];
extern const ULONG ReaderNumberOfCommands;

//
// What the commands' help has in common.
//

#define READER_STATISTICS_FIELDS                                            \
    "  calls, total_ns, self_ns, average_ns, min_ns, max_ns, abandoned,\n"  \
    "  abandoned_time_ns, unfinished, uncertain, begun_before,"

#define READER_TICKS_NOTE                                                   \
    "When the rate of the time stamp counter is not known, fields end\n"    \
    "with _ticks in place of _ns, and time_unit (JSON) says \"ticks\".\n"    \
    "clock (JSON; in CSV a last column) is thread if times are those of a\n" \
    "clock thread, rounded down to its step; none if there are no times,\n"  \
    "which are then empty or null; else tsc (CSV: no such column).\n"

#define READER_FRAMES_NOTE                                                  \
    "A call is abandoned when its function was left without an exit (an\n"  \
    "exception, longjmp, a call that never returned).  Its time, up to the\n" \
    "record that proved it gone, is in the abandoned time alone.  A call is\n" \
    "unfinished if it was open at the end of the data; it counts up to the\n" \
    "last record of its thread, or of those before records of a ring that\n" \
    "were overwritten before they could be read.  A call is uncertain if\n"  \
    "the clock thread may have stood still during it.\n"

#define READER_RANGE_NOTE                                                   \
    "With --from or --to, calls are those that were open at some time from\n" \
    "the one to the other, both included, and times are of the part of them\n" \
    "in between: a call that goes on after --to ends there and is\n"       \
    "unfinished; begun_before are calls that began before --from (0 without\n" \
    "it).  Both need a session with times.\n"

#define READER_FILTER_NOTE                                                  \
    "LIST of --function and --exclude is PREFIX[,PREFIX...] or @FILE: UTF-8\n" \
    "text with one prefix a line; empty lines and those that begin with #\n" \
    "count for nothing.  A prefix is the beginning of a name as it is\n"    \
    "shown, in the same case, without a module, and with or without the\n" \
    "return type that functions of C++ templates have; blanks around it are\n" \
    "dropped.  Of the prefixes that a name begins with the longest decides,\n" \
    "of two equal ones the first.  Without --function all stay that are\n"  \
    "not excluded.  In --function, -PREFIX excludes.  Both may be given\n"  \
    "several times.\n"

#define READER_PERCENTILES_NOTE                                             \
    "A percentile is never less than the exact one and at most 3.125 %\n"   \
    "more; up to 63 ticks of the time stamp counter it is exact.  Abandoned\n" \
    "calls are not in it.\n"

#define READER_NOT_SHOWN_NOTE(Rows)                                         \
    "Numbers are the same as without them.  JSON then also has the array\n" \
    "not_shown with " Rows ", calls: what was left out.\n"

//
// Parses what follows the command's name.  FALSE: IsHelp says whether help
// was asked for, otherwise a usage error has been written.  The caller destroys
// the options' filter in every case.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_PARSE_OPTIONS)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_COMMAND Command,
    _In_reads_(NumberOfArguments) PCRTL_ARGUMENT Arguments,
    _In_ ULONG NumberOfArguments,
    _Out_ PREADER_OPTIONS Options,
    _Out_ PBOOLEAN IsHelp
    );
READER_PARSE_OPTIONS ReaderParseOptions;

typedef
VOID
(READER_WRITE_HELP)(
    _Inout_ PRTL_WRITER Writer,
    _In_opt_ PCREADER_COMMAND Command
    );
READER_WRITE_HELP ReaderWriteHelp;

//
// ReaderMain.c: the program, given its arguments (the first is its own name).
// Returns an exit code.
//

typedef
ULONG
(READER_MAIN)(
    _In_ PCREADER_CONTEXT Context,
    _In_reads_(NumberOfArguments) PCRTL_ARGUMENT Arguments,
    _In_ ULONG NumberOfArguments
    );
READER_MAIN ReaderMain;

//
// Writes "TraceReader: step: object: status" to the error output.
//

typedef
VOID
(READER_WRITE_FAILURE)(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCRTL_ERROR Error
    );
READER_WRITE_FAILURE ReaderWriteFailure;

//
// The same from a step and a UTF-8 object; returns READER_EXIT_FAILURE.
//

typedef
ULONG
(READER_FAIL)(
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCSZ Step,
    _In_z_ PCSZ Object,
    _In_ NTSTATUS Status
    );
READER_FAIL ReaderFail;

//
// Opens a command's session.  FALSE: the failure has been written.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_OPEN_COMMAND_SESSION)(
    _Out_ PREADER_SESSION Session,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );
READER_OPEN_COMMAND_SESSION ReaderOpenCommandSession;

//
// The same, and then says what is wrong with its stores and applies --module;
// a session without a store that can be read is a failure.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_BEGIN_COMMAND)(
    _Out_ PREADER_SESSION Session,
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    );
READER_BEGIN_COMMAND ReaderBeginCommand;

//
// Says which thread could not be read to its end, and which of its stores
// failed; returns READER_EXIT_FAILURE.
//

typedef
ULONG
(READER_FAIL_THREAD)(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread,
    _In_ NTSTATUS Status
    );
READER_FAIL_THREAD ReaderFailThread;

//
// Is the thread one that --thread selects?
//

#define READER_IS_THREAD_SELECTED(Options, ThreadIdentifier)                \
    (((Options)->Given & READER_OPTION_THREAD) == 0 ||                      \
     (Options)->ThreadId == (ThreadIdentifier))

//
// ReaderRange.c: the part of a session that --from and --to select.
//

typedef struct _READER_RANGE {
    ULONGLONG FirstTimestamp;       // the session's
    ULONGLONG Start;                // 0: from the first record on
    ULONGLONG End;                  // the last one that is in the range
    BOOLEAN IsGiven;
    BOOLEAN HasTrees;               // trees are in it: by themselves they leave
                                    // out what was before a clear
} READER_RANGE;
typedef READER_RANGE *PREADER_RANGE;
typedef const READER_RANGE *PCREADER_RANGE;

//
// FALSE: there is no such range, and the error has been written.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(READER_QUERY_RANGE)(
    _Inout_ PREADER_SESSION Session,
    _In_ PCREADER_OPTIONS Options,
    _Out_ PREADER_RANGE Range
    );
READER_QUERY_RANGE ReaderQueryRange;

//
// Says, in text output, which range a table is of, if one was given.
//

typedef
VOID
(READER_PUT_RANGE_NOTE)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_OPTIONS Options,
    _In_ ULONGLONG BegunBefore
    );
READER_PUT_RANGE_NOTE ReaderPutRangeNote;

//
// ReaderStatistics.c: what report and tree add up for a function or a node.
//

typedef struct _READER_STATISTICS {
    ULONGLONG Calls;                // with those that were abandoned
    ULONGLONG TotalTicks;           // inclusive; recursion counted once; this
                                    // and the next five without abandoned ones
    ULONGLONG SelfTicks;
    ULONGLONG SumLow;               // of the inclusive ticks of each call,
    ULONGLONG SumHigh;              // 128 bits
    ULONGLONG MinimumTicks;
    ULONGLONG MaximumTicks;
    ULONGLONG Abandoned;
    ULONGLONG AbandonedTicks;       // inclusive, up to the record that told
    ULONGLONG Unfinished;
    ULONGLONG Uncertain;            // the clock jumped during the call
    ULONGLONG BegunBefore;          // open when the range began
    ULONGLONG InTrees;              // calls, of which there are sums alone
    ULONGLONG AbandonedInTotal;     // of Abandoned: their time is in the
                                    // total, self and sum, and not apart
    ULONGLONG TotalProbe;           // what the hooks cost, in TotalTicks, in
    ULONGLONG SelfProbe;            // SelfTicks and in the sum; 256ths of a
    ULONGLONG SumProbe;             // tick until ReaderSubtractProbe
} READER_STATISTICS;
typedef const READER_STATISTICS *PCREADER_STATISTICS;

//
// Adds a call that ended (exit, abandoned, open).  IsOutermost: no other call
// of the same is open around it.
//

typedef
VOID
(READER_ADD_TO_STATISTICS)(
    _Inout_ PREADER_STATISTICS Statistics,
    _In_ const CORE_EVENT *Event,
    _In_ BOOLEAN IsOutermost
    );
READER_ADD_TO_STATISTICS ReaderAddToStatistics;

//
// Adds calls that were added up elsewhere.  IsOutermost: likewise.
//

typedef
VOID
(READER_ADD_STATISTICS)(
    _Inout_ PREADER_STATISTICS Statistics,
    _In_ PCREADER_STATISTICS Others,
    _In_ BOOLEAN IsOutermost
    );
READER_ADD_STATISTICS ReaderAddStatistics;

typedef
ULONGLONG
(READER_QUERY_AVERAGE)(
    _In_ PCREADER_STATISTICS Statistics
    );
READER_QUERY_AVERAGE ReaderQueryAverage;

//
// Orders two by a key other than the name, the larger first.
//

typedef
LONG
(READER_COMPARE_STATISTICS)(
    _In_ PCREADER_STATISTICS First,
    _In_ PCREADER_STATISTICS Second,
    _In_ READER_SORT_KEY SortKey
    );
READER_COMPARE_STATISTICS ReaderCompareStatistics;

//
// The columns that both have, and the cells for them.
//

#define READER_STATISTICS_COLUMNS                                           \
    { "Calls", "calls", ReaderColumnNumber, 10 },                           \
    { "Total", "total", ReaderColumnTime, READER_TIME_WIDTH },              \
    { "Self", "self", ReaderColumnTime, READER_TIME_WIDTH },                \
    { "Average", "average", ReaderColumnTime, READER_TIME_WIDTH },          \
    { "Min", "min", ReaderColumnTime, READER_TIME_WIDTH },                  \
    { "Max", "max", ReaderColumnTime, READER_TIME_WIDTH },                  \
    { "Abandoned", "abandoned", ReaderColumnNumber, 9 },                    \
    { "Abandoned time", "abandoned_time", ReaderColumnTime, 14 },           \
    { "Unfinished", "unfinished", ReaderColumnNumber, 10 },                 \
    { "Uncertain", "uncertain", ReaderColumnNumber, 9 },                    \
    { "Begun before", "begun_before", ReaderColumnNumber, 12 }

#define READER_STATISTICS_NUMBER_OF_COLUMNS 11
#define READER_STATISTICS_ABANDONED_COLUMNS (3u << 6)
#define READER_STATISTICS_UNFINISHED_COLUMN 8
#define READER_STATISTICS_UNCERTAIN_COLUMN 9
#define READER_STATISTICS_BEGUN_BEFORE_COLUMN 10

#define READER_ABANDONED_NOTE                                               \
    "Abandoned: left without an exit (exception, longjmp, no return).  "     \
    "Their time, up to the record that told it, is in no other column; that " \
    "of calls inside others of the same function is in theirs."

#define READER_UNFINISHED_NOTE                                              \
    "Unfinished: open at the end of the data; counted up to the thread's "   \
    "last record."

#define READER_UNFINISHED_RANGE_NOTE                                        \
    "Unfinished: open at the end of the range; counted up to there, or to "  \
    "the thread's last record."

#define READER_ABANDONED_NOTE_OF(Session)                                   \
    ((Session)->NumberOfTrees != 0                                          \
         ? "Abandoned: left without an exit (exception, longjmp, no "       \
           "return).  In trees their time, up to when that was seen, is in " \
           "total and self."                                                \
         : READER_ABANDONED_NOTE)

#define READER_UNFINISHED_NOTE_OF(Session)                                  \
    ((Session)->NumberOfTrees != 0                                          \
         ? "Unfinished: open; counted up to now, or to the last time that "  \
           "is known of a thread that has ended."                           \
         : READER_UNFINISHED_NOTE)

#define READER_UNCERTAIN_NOTE                                               \
    "Uncertain: the clock jumped during the call, so that its time may be "  \
    "wrong by that."

typedef
VOID
(READER_PUT_STATISTICS)(
    _Inout_ PREADER_OUTPUT Output,
    _In_ PCREADER_STATISTICS Statistics
    );
READER_PUT_STATISTICS ReaderPutStatistics;

//
// ReaderProgress.c: a line on a terminal's error output that says how far a
// command is.  It is looked at once in so many records or events.
//

#define READER_PROGRESS_EVENTS 0x10000u

typedef struct _READER_PROGRESS {
    PCREADER_CONTEXT Context;
    PCSZ Doing;
    ULONGLONG Expected;             // records; 0: nothing is shown
    LONGLONG Time;                  // system time when it was written
    BOOLEAN IsShown;
} READER_PROGRESS;
typedef READER_PROGRESS *PREADER_PROGRESS;

//
// Doing is a literal that comes before the numbers, or "".
//

typedef
VOID
(READER_INITIALIZE_PROGRESS)(
    _Out_ PREADER_PROGRESS Progress,
    _In_ PCREADER_CONTEXT Context,
    _In_z_ PCSZ Doing,
    _In_ ULONGLONG Expected
    );
READER_INITIALIZE_PROGRESS ReaderInitializeProgress;

//
// How many records the threads have that --thread selects.
//

typedef
ULONGLONG
(READER_COUNT_RECORDS)(
    _In_ const READER_SESSION *Session,
    _In_ PCREADER_OPTIONS Options
    );
READER_COUNT_RECORDS ReaderCountRecords;

//
// Says that so many records have been read, unless something was said a moment
// ago.
//

typedef
VOID
(READER_SHOW_PROGRESS)(
    _Inout_ PREADER_PROGRESS Progress,
    _In_ ULONGLONG Records
    );
READER_SHOW_PROGRESS ReaderShowProgress;

typedef VOID (READER_ERASE_PROGRESS)(_Inout_ PREADER_PROGRESS Progress);
READER_ERASE_PROGRESS ReaderEraseProgress;

//
// ReaderWorkers.c: threads that share a command's work.
//

#define READER_MAXIMUM_WORKERS 32u

typedef struct _READER_LOCK {
    PCRTL Rtl;
    HANDLE Event;                   // set for one of those that wait
    volatile LONG Count;            // of threads that have it or wait for it
} READER_LOCK;
typedef READER_LOCK *PREADER_LOCK;

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_LOCK)(
    _Out_ PREADER_LOCK Lock,
    _In_ PCRTL Rtl
    );
READER_INITIALIZE_LOCK ReaderInitializeLock;

typedef VOID (READER_RUNDOWN_LOCK)(_Inout_ PREADER_LOCK Lock);
READER_RUNDOWN_LOCK ReaderRundownLock;

//
// NULL is no lock: both do nothing.
//

typedef VOID (READER_ACQUIRE_LOCK)(_Inout_opt_ PREADER_LOCK Lock);
READER_ACQUIRE_LOCK ReaderAcquireLock;

typedef VOID (READER_RELEASE_LOCK)(_Inout_opt_ PREADER_LOCK Lock);
READER_RELEASE_LOCK ReaderReleaseLock;

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

typedef
_Must_inspect_result_
NTSTATUS
(READER_INITIALIZE_LOCKED_ALLOCATOR)(
    _Out_ PREADER_LOCKED_ALLOCATOR Locked,
    _In_ PCREADER_CONTEXT Context
    );
READER_INITIALIZE_LOCKED_ALLOCATOR ReaderInitializeLockedAllocator;

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

typedef
VOID
(READER_RUN_WORKERS)(
    _In_ PCREADER_CONTEXT Context,
    _In_ ULONG NumberOfWorkers,
    _In_ PREADER_WORK Routine,
    _In_ PVOID RoutineContext,
    _In_opt_ PREADER_WAIT WaitRoutine
    );
READER_RUN_WORKERS ReaderRunWorkers;

//
// ReaderTally.c: what one worker adds up.
//

typedef struct _READER_TALLY_FUNCTION {
    READER_STATISTICS Statistics;   // what is not in the totals
    ULONG Function;                 // in the table that all workers share
    ULONG Thread;                   // where it was seen first
} READER_TALLY_FUNCTION;
typedef READER_TALLY_FUNCTION *PREADER_TALLY_FUNCTION;

typedef struct _READER_TALLY {
    PREADER_FUNCTIONS Functions;    // with the session, the workers'
    PREADER_LOCK Lock;              // of both; NULL: there is one worker
    PCORE_SITES Modules;            // the sites, by module
    ULONG CapacityOfModules;
    ULONG Thread;                   // that is being read
    CORE_TOTALS_TABLE Totals;       // by index here
    PREADER_TALLY_FUNCTION List;    // likewise, in the order of appearance
    ULONG NumberOfFunctions;
    ULONG CapacityOfList;
    ULONG CapacityOfHistograms;
    READER_MAP Indexes;             // function to index here
    READER_MAP Inlined;             // as in READER_MODULE, of the first
    ULONG LastIndex;                // of the entry that was described last
    BOOLEAN IsGeneral;              // without the fast path
    BOOLEAN IsFromStart;            // ReaderSkipStream uses no marks
    BOOLEAN HasHistograms;          // the caller's, before the first thread
    PCORE_ARENA Arena;              // what these are in
    PCORE_HISTOGRAM Histograms;     // by index here, of the calls that were
                                    // not abandoned; NULL: there are none
    PCREADER_RANGE Range;           // what is added up, or NULL: everything
    PREADER_TALLY Before;           // for what comes before the range
    ULONGLONG Unmatched;
    volatile ULONGLONG NumberOfRecords; // others read it while it grows
    ULONGLONG NumberOfOrdinary;     // of those, taken by the fast path
    PREADER_WAIT Progress;          // called now and then, or NULL
    PVOID ProgressContext;
} READER_TALLY;

typedef
VOID
(READER_INITIALIZE_TALLY)(
    _Out_ PREADER_TALLY Tally,
    _In_ PREADER_FUNCTIONS Functions,
    _In_opt_ PREADER_LOCK Lock
    );
READER_INITIALIZE_TALLY ReaderInitializeTally;

typedef VOID (READER_RUNDOWN_TALLY)(_Inout_ PREADER_TALLY Tally);
READER_RUNDOWN_TALLY ReaderRundownTally;

//
// The steps of reading a thread, for those who do not read it to its end at
// once: room for the sites of all modules that there are now (the lock is
// held), a function's index in the tally, and an event of the call that was
// described last.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_PREPARE_TALLY)(
    _Inout_ PREADER_TALLY Tally
    );
READER_PREPARE_TALLY ReaderPrepareTally;

typedef
_Must_inspect_result_
NTSTATUS
(READER_ADD_FUNCTION_TO_TALLY)(
    _Inout_ PREADER_TALLY Tally,
    _In_ ULONG Function,
    _Out_ PULONG Index
    );
READER_ADD_FUNCTION_TO_TALLY ReaderAddFunctionToTally;

typedef
_Must_inspect_result_
NTSTATUS
(READER_TALLY_EVENT)(
    _Inout_ PREADER_TALLY Tally,
    _In_ const CORE_EVENT *Event
    );
READER_TALLY_EVENT ReaderTallyEvent;

//
// ReaderDescribeCall, from what the tally knows.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_DESCRIBE_CALL_IN_TALLY)(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PCORE_CALL Call
    );
READER_DESCRIBE_CALL_IN_TALLY ReaderDescribeCallInTally;

CORE_COUNT_INLINED ReaderCountInlinedInTally;

//
// Reads a thread to its end and adds its calls.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_TALLY_THREAD)(
    _Inout_ PREADER_TALLY Tally,
    _In_ ULONG ThreadIndex
    );
READER_TALLY_THREAD ReaderTallyThread;

//
// Passes over what comes before a time in a stream that was just opened: as
// fast as ReaderTallyThread, from a mark of its index if it has one, and with
// the same frames open as otherwise.  The tally's number of records grows by
// what was passed over.
//

typedef
_Must_inspect_result_
NTSTATUS
(READER_SKIP_STREAM)(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp
    );
READER_SKIP_STREAM ReaderSkipStream;

//
// Adds what a tally has of a function.
//

typedef
VOID
(READER_MERGE_STATISTICS)(
    _Inout_ PREADER_STATISTICS Statistics,
    _In_ const READER_TALLY *Tally,
    _In_ ULONG Index
    );
READER_MERGE_STATISTICS ReaderMergeStatistics;

//
// The commands: Command<Name>.c.
//

extern const READER_COMMAND ReaderCalleesCommand;
extern const READER_COMMAND ReaderCallersCommand;
extern const READER_COMMAND ReaderCtlCommand;
extern const READER_COMMAND ReaderDiffCommand;
extern const READER_COMMAND ReaderExportCommand;
extern const READER_COMMAND ReaderHotCommand;
extern const READER_COMMAND ReaderExcludeCommand;
extern const READER_COMMAND ReaderInfoCommand;
extern const READER_COMMAND ReaderLiveCommand;
extern const READER_COMMAND ReaderModulesCommand;
extern const READER_COMMAND ReaderOutliersCommand;
extern const READER_COMMAND ReaderPackCommand;
extern const READER_COMMAND ReaderRecoverCommand;
extern const READER_COMMAND ReaderReplayCommand;
extern const READER_COMMAND ReaderReportCommand;
extern const READER_COMMAND ReaderSessionsCommand;
extern const READER_COMMAND ReaderStackCommand;
extern const READER_COMMAND ReaderThreadsCommand;
extern const READER_COMMAND ReaderTreeCommand;
extern const READER_COMMAND ReaderVerifyCommand;

#endif // TRACER_READER_H
