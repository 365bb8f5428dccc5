/*++

Module Name:

    ReaderCore.h

Abstract:

    The reader's core: validation of headers and records, the live end of a
    store, pairing of entries with exits, and the clock.  It works on bytes
    that the caller has, calls nothing but the allocator that it is given, and
    builds on any platform with a C11 compiler.

--*/

#ifndef TRACER_READER_CORE_H
#define TRACER_READER_CORE_H

#include "../Rtl/RtlTypes.h"
#include "../Rtl/Allocator.h"
#include "../TraceStore/TraceFormat.h"

//
// CoreHeader.c
//

typedef enum _CORE_HEADER_STATE {
    CoreHeaderValid = 0,
    CoreHeaderBeingCreated,     // empty, or the magic is not there yet
    CoreHeaderTooShort,         // the file ends inside its header
    CoreHeaderForeign,          // the magic is another one: not a store
    CoreHeaderNewerVersion,     // of a major version that is not known here
    CoreHeaderBad               // a field cannot be what it is
} CORE_HEADER_STATE;

typedef struct _CORE_HEADER_RESULT {
    CORE_HEADER_STATE State;
    ULONG FileOffset;           // of the field that is bad
    PCSZ Field;                 // its name, a literal; "" when none
    PCSZ Problem;               // what is wrong with it, a literal; "" likewise
    ULONGLONG Value;            // what it holds
} CORE_HEADER_RESULT;
typedef CORE_HEADER_RESULT *PCORE_HEADER_RESULT;
typedef const CORE_HEADER_RESULT *PCCORE_HEADER_RESULT;

//
// The longest header that a minor version may have.
//

#define CORE_MAXIMUM_HEADER_SIZE 65536u

//
// Validates the first SizeInBytes bytes of a file (all of it if it is shorter
// than a header).  Bytes is aligned on 8.  TRUE if the state is valid.
//

typedef
BOOLEAN
(CORE_VALIDATE_HEADER)(
    _In_reads_bytes_(SizeInBytes) const VOID *Bytes,
    _In_ SIZE_T SizeInBytes,
    _Out_ PCORE_HEADER_RESULT Result
    );
CORE_VALIDATE_HEADER CoreValidateHeader;

//
// CoreRecord.c
//

typedef enum _CORE_RECORD_STATE {
    CoreRecordValid = 0,
    CoreRecordReserved,         // the last one, and not (yet) written
    CoreRecordMissing,          // Timestamp 0 before the end
    CoreRecordBadKind,
    CoreRecordBadSite,          // outside the module
    CoreRecordBadTime           // earlier than the one before it
} CORE_RECORD_STATE;

typedef struct _CORE_RECORD_CHECK {
    ULONGLONG PreviousTimestamp;    // of the last valid record, ticks
    ULONG ModuleBase;               // low 32 bits
    ULONG ModuleSize;               // bytes
    ULONG StackBase;                // low 32 bits
    ULONG StackSize;                // bytes; 0: not known
} CORE_RECORD_CHECK;
typedef CORE_RECORD_CHECK *PCORE_RECORD_CHECK;
typedef const CORE_RECORD_CHECK *PCCORE_RECORD_CHECK;

typedef
VOID
(CORE_INITIALIZE_RECORD_CHECK)(
    _Out_ PCORE_RECORD_CHECK Check,
    _In_ PCTRACE_STORE_HEADER Header
    );
CORE_INITIALIZE_RECORD_CHECK CoreInitializeRecordCheck;

//
// Validates one record; a valid one becomes the previous one.
//

typedef
CORE_RECORD_STATE
(CORE_VALIDATE_RECORD)(
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ PCTRACE_RECORD Record,
    _In_ BOOLEAN IsLast
    );
CORE_VALIDATE_RECORD CoreValidateRecord;

//
// Is this record's RSP in the thread's own stack?  On a fiber it is not.
//

typedef
BOOLEAN
(CORE_IS_ON_THREAD_STACK)(
    _In_ PCCORE_RECORD_CHECK Check,
    _In_ PCTRACE_RECORD Record
    );
CORE_IS_ON_THREAD_STACK CoreIsOnThreadStack;

//
// A sentence's end for a state: "unknown kind", ...  A literal.
//

typedef PCSZ (CORE_DESCRIBE_RECORD_STATE)(_In_ CORE_RECORD_STATE State);
CORE_DESCRIBE_RECORD_STATE CoreDescribeRecordState;

//
// CoreLive.c
//

//
// Takes the position of the end of the records from a header that its writer
// may be changing.  FALSE if the writer was never found at rest: then the
// caller keeps the end that it had.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(CORE_READ_END_OF_RECORDS)(
    _In_ PCTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG EndOfRecords
    );
CORE_READ_END_OF_RECORDS CoreReadEndOfRecords;

//
// The position of the first record that is there, from the same header; it
// is read after what was copied before the call.
//

typedef
ULONGLONG
(CORE_READ_FIRST_RECORD)(
    _In_ PCTRACE_STORE_HEADER Header
    );
CORE_READ_FIRST_RECORD CoreReadFirstRecord;

//
// Where a position is in the file; SizeInBytes receives how much follows it
// there without going around.
//

typedef
ULONGLONG
(CORE_POSITION_TO_FILE_OFFSET)(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG Position,
    _Out_ PULONGLONG SizeInBytes
    );
CORE_POSITION_TO_FILE_OFFSET CorePositionToFileOffset;

//
// The positions of the records that a file of that size has.
//

typedef enum _CORE_END_STATE {
    CoreEndValid = 0,
    CoreEndBad,                 // before the first record or between two
    CoreEndBeyondFile           // the file is shorter: cut off
} CORE_END_STATE;

typedef struct _CORE_RANGE {
    ULONGLONG Start;            // position of the first record
    ULONGLONG End;              // of the end of the last
} CORE_RANGE;
typedef CORE_RANGE *PCORE_RANGE;
typedef const CORE_RANGE *PCCORE_RANGE;

typedef
CORE_END_STATE
(CORE_FIND_RECORDS)(
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG EndOfRecords,
    _In_ ULONGLONG FirstRecord,
    _In_ ULONGLONG FileSize,
    _Out_ PCORE_RANGE Range
    );
CORE_FIND_RECORDS CoreFindRecords;

//
// The newest records of a store that takes short calls back may vanish.  This
// looks through them, the newest first, for the end of those that cannot.
//

typedef struct _CORE_TAIL {
    ULONGLONG MinimumDuration;  // ticks
    ULONGLONG Now;              // of the time stamp counter, read before the
                                // records; 0: not known
    ULONGLONG Newest;           // the latest time stamp seen; 0: none yet
} CORE_TAIL;
typedef CORE_TAIL *PCORE_TAIL;

//
// An entry that old, in ticks, beyond the minimum duration, is taken for one
// that stays: a thread can be interrupted between the reading of the clock
// and the taking back.
//

#define CORE_TAIL_ALLOWANCE 0x100000000ULL

typedef
VOID
(CORE_INITIALIZE_TAIL)(
    _Out_ PCORE_TAIL Tail,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ ULONGLONG Now
    );
CORE_INITIALIZE_TAIL CoreInitializeTail;

//
// How many of the records, from the first on, stay: if none, those before
// them are to be looked at.
//

typedef
SIZE_T
(CORE_COUNT_FINAL_RECORDS)(
    _Inout_ PCORE_TAIL Tail,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ SIZE_T NumberOfRecords
    );
CORE_COUNT_FINAL_RECORDS CoreCountFinalRecords;

//
// Copies records that may be being written: each one's Timestamp is read
// first, so that one that reads non-zero belongs to a whole record.
//

typedef
VOID
(CORE_COPY_RECORDS)(
    _Out_writes_(NumberOfRecords) PTRACE_RECORD Destination,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Source,
    _In_ SIZE_T NumberOfRecords
    );
CORE_COPY_RECORDS CoreCopyRecords;

//
// The same for records that may be taken back and written anew, and the
// newest first: one that changed meanwhile has Timestamp 0.
//

CORE_COPY_RECORDS CoreCopyTail;

//
// CoreClock.c
//

typedef struct _CORE_CLOCK {
    TRACE_CLOCK_ANCHOR Earliest;
    TRACE_CLOCK_ANCHOR Latest;
    ULONGLONG QpcFrequency;         // counts per second
    ULONGLONG Ticks;                // between the two; 0: rate not known
    ULONGLONG Nanoseconds;          // between the two
    ULONGLONG Resolution;           // ticks; 0 or 1: that of the counter
    ULONG NumberOfAnchors;
    ULONG Kind;                     // TRACE_CLOCK_*: what time stamps are
    BOOLEAN IsRaw;                  // the reader's: times are shown as whole
                                    // nanoseconds
} CORE_CLOCK;
typedef CORE_CLOCK *PCORE_CLOCK;
typedef const CORE_CLOCK *PCCORE_CLOCK;

#define CORE_NANOSECONDS_PER_SECOND 1000000000ULL

typedef VOID (CORE_INITIALIZE_CLOCK)(_Out_ PCORE_CLOCK Clock);
CORE_INITIALIZE_CLOCK CoreInitializeClock;

typedef BOOLEAN (CORE_IS_ANCHOR_VALID)(_In_ PCTRACE_CLOCK_ANCHOR Anchor);
CORE_IS_ANCHOR_VALID CoreIsAnchorValid;

//
// Adds an anchor to the pool; the two farthest apart give the rate.  FALSE if
// it is not valid or belongs to another counter.
//

typedef
BOOLEAN
(CORE_ADD_ANCHOR)(
    _Inout_ PCORE_CLOCK Clock,
    _In_ PCTRACE_CLOCK_ANCHOR Anchor,
    _In_ ULONGLONG QpcFrequency
    );
CORE_ADD_ANCHOR CoreAddAnchor;

//
// Can Later have been read after the clock's latest anchor on the same boot
// of the same machine?  QPC and system time must have advanced alike.
//

typedef
BOOLEAN
(CORE_IS_SAME_BOOT)(
    _In_ PCCORE_CLOCK Clock,
    _In_ PCTRACE_CLOCK_ANCHOR Later,
    _In_ ULONGLONG QpcFrequency
    );
CORE_IS_SAME_BOOT CoreIsSameBoot;

//
// Ticks in nanoseconds, rounded down; FALSE (and the ticks themselves) when
// the rate is not known.  A result too large is the largest there is.
//

typedef
BOOLEAN
(CORE_TICKS_TO_NANOSECONDS)(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Ticks,
    _Out_ PULONGLONG Nanoseconds
    );
CORE_TICKS_TO_NANOSECONDS CoreTicksToNanoseconds;

//
// The step of the times that are shown: the smallest power of ten of
// nanoseconds, or of ticks where the rate is not known, that is no finer than
// the clock's resolution.
//

typedef ULONGLONG (CORE_QUERY_GRANULARITY)(_In_ PCCORE_CLOCK Clock);
CORE_QUERY_GRANULARITY CoreQueryGranularity;

//
// Ticks per second; 0 when the rate is not known.
//

typedef ULONGLONG (CORE_QUERY_TICK_RATE)(_In_ PCCORE_CLOCK Clock);
CORE_QUERY_TICK_RATE CoreQueryTickRate;

//
// The system time (FILETIME) of a timestamp; 0 when the rate is not known.
//

typedef
ULONGLONG
(CORE_TIMESTAMP_TO_SYSTEM_TIME)(
    _In_ PCCORE_CLOCK Clock,
    _In_ ULONGLONG Timestamp
    );
CORE_TIMESTAMP_TO_SYSTEM_TIME CoreTimestampToSystemTime;

//
// 128-bit arithmetic: the product of two, the quotient by a non-zero divisor
// (the largest ULONGLONG if it does not fit), and Value * Multiplier / Divisor.
//

typedef
VOID
(CORE_MULTIPLY)(
    _In_ ULONGLONG First,
    _In_ ULONGLONG Second,
    _Out_ PULONGLONG High,
    _Out_ PULONGLONG Low
    );
CORE_MULTIPLY CoreMultiply;

typedef
ULONGLONG
(CORE_DIVIDE)(
    _In_ ULONGLONG High,
    _In_ ULONGLONG Low,
    _In_ ULONGLONG Divisor
    );
CORE_DIVIDE CoreDivide;

typedef
ULONGLONG
(CORE_MULTIPLY_DIVIDE)(
    _In_ ULONGLONG Value,
    _In_ ULONGLONG Multiplier,
    _In_ ULONGLONG Divisor
    );
CORE_MULTIPLY_DIVIDE CoreMultiplyDivide;

//
// CorePair.c: a thread's records as events.
//
// The rules are those of Docs/Format.md, section 11, in short: a stack grows
// down, and a call that is still active has the return address of every call
// made from it below its own RSP.  So an entry proves that every open frame
// at or below its return address is gone: left by an exception, a longjmp, a
// jump in tail position or a call that never returned.  An exit proves the
// same of every frame below it, and closes the frame of its own function.
//
// A thread has one stack of its own and as many others as it runs fibers.
// RSP outside the thread's own range belongs to the fiber whose frames are
// nearest; each has its open frames to itself, and is a track of its own.
//

//
// One hook call: a record whose Site has been made a key of the caller's
// choice (the same function's ENTER_FUNCTION and EXIT_FUNCTION have the same),
// and what the module's image says of the site.  All of that may be unknown.
//

#define CORE_CALL_FRAME_KNOWN   0x1 // FrameSize and BodySize are
#define CORE_CALL_DYNAMIC       0x2 // the function moves RSP in its body
#define CORE_CALL_JUMPS         0x4 // it may jump to its exit hook
#define CORE_FRAME_INLINED      0x8 // of a frame: it is in another one's
#define CORE_FRAME_STALE        0x10 // likewise: it was open when recording
                                    // was stopped and started again

typedef struct _CORE_CALL {
    ULONGLONG Timestamp;
    ULONGLONG Site;
    ULONGLONG Function;             // that the hook was called from, as a key
                                    // like Site; 0: not known
    ULONGLONG JumpTarget;           // of an EXIT: the function that is jumped
                                    // to now, as such a key; 0: none or not
                                    // known
    ULONG Stack;                    // low 32 bits of RSP
    ULONG Kind;                     // TRACE_KIND_*
    ULONG FrameSize;                // of an entry: from RSP up to the
                                    // function's return address, bytes
    ULONG BodySize;                 // of an entry: from RSP down to RSP in the
                                    // function's body, bytes
    ULONG Flags;                    // CORE_CALL_*
    ULONG Unused;
} CORE_CALL;
typedef CORE_CALL *PCORE_CALL;
typedef const CORE_CALL *PCCORE_CALL;

typedef struct _CORE_FRAME {
    ULONGLONG EnterTimestamp;       // later by as long as recording was
                                    // stopped since
    ULONGLONG ChildTicks;           // inclusive ticks of calls that ended, and
                                    // of other stacks that ran meanwhile
    ULONGLONG Site;
    ULONGLONG Physical;             // the function whose stack frame it has:
                                    // its own, or the one it was inlined into
    ULONG Stack;
    ULONG Top;                      // where its return address is, or Stack
    ULONG BodySize;
    ULONG Kind;
    ULONG Flags;                    // CORE_CALL_*
    ULONG Function;                 // these three are the caller's, written
    ULONG Node;                     // when it gets the enter event
    ULONG NumberOfJumps;            // of the clock
} CORE_FRAME;
typedef CORE_FRAME *PCORE_FRAME;

typedef struct _CORE_STACK {
    PCORE_FRAME Frames;             // the outermost first
    SIZE_T NumberOfFrames;
    SIZE_T Capacity;
    ULONGLONG JumpTarget;           // of the last record, an exit
    ULONGLONG LeftTimestamp;        // when another stack took over
    ULONG Lowest;                   // RSP seen, relative to StackBase
    ULONG Highest;
} CORE_STACK;
typedef CORE_STACK *PCORE_STACK;

typedef enum _CORE_EVENT_KIND {
    CoreEventEnter = 0,
    CoreEventExit,
    CoreEventAbandoned,             // gone without an exit
    CoreEventUnmatched,             // an exit without a frame
    CoreEventOpen                   // still open at the end of the data
} CORE_EVENT_KIND;

typedef struct _CORE_EVENT {
    CORE_EVENT_KIND Kind;
    ULONG Depth;                    // of the frame; 0 is the outermost
    ULONG Track;                    // 0: the thread's own stack; else a
                                    // fiber, numbered as they appeared
    BOOLEAN IsTailCall;             // of an enter: the function before it
                                    // jumped to this one
    ULONGLONG EnterTimestamp;       // the caller's: of an end, when the call
                                    // was entered, pauses or not
    BOOLEAN IsAfterJump;            // these two are the caller's: the clock
    BOOLEAN IsUncertain;            // jumped before the record that told, or
                                    // between the call's entry and it
    ULONGLONG Timestamp;            // of the record that told
    ULONGLONG Site;                 // of the frame (unmatched: of the exit)
    ULONGLONG InclusiveTicks;       // 0 for enter and unmatched
    ULONGLONG SelfTicks;            // likewise
    PCORE_FRAME Frame;              // valid until the next call; NULL for
                                    // unmatched
    PCORE_FRAME Parent;             // the frame below it, or NULL
    ULONGLONG InclusiveProbe;       // these two are the caller's: what the
    ULONGLONG SelfProbe;            // hooks cost in the ticks
} CORE_EVENT;
typedef CORE_EVENT *PCORE_EVENT;

//
// Says how often Inner may have been inlined into Outer (keys of functions):
// never less than it was.
//

typedef
ULONG
(CORE_COUNT_INLINED)(
    _In_opt_ PVOID Context,
    _In_ ULONGLONG Outer,
    _In_ ULONGLONG Inner
    );
typedef CORE_COUNT_INLINED *PCORE_COUNT_INLINED;

typedef struct _CORE_PAIR {
    PCALLOCATOR Allocator;
    PCORE_COUNT_INLINED CountInlined;   // the caller's; NULL: any number
    PVOID InlineContext;
    PCORE_STACK Stacks;             // [0] is the thread's own
    PULONG Order;                   // the others, by ascending address
    ULONG NumberOfStacks;
    ULONG CapacityOfStacks;
    ULONG Current;                  // the stack of the last record
    ULONG StackBase;                // low 32 bits
    ULONG StackSize;                // bytes; 0: not known
    BOOLEAN IsPending;              // events of Call are still to be taken
    BOOLEAN IsFinishing;            // those of the open frames are
    BOOLEAN IsInlined;              // the entry's function, into the top frame
    BOOLEAN IsTailCall;             // the entry
    SIZE_T NumberToAbandon;
    CORE_EVENT_KIND Final;          // what comes after those
    CORE_CALL Call;
    ULONGLONG LastTimestamp;
    ULONGLONG StopTimestamp;        // these two of the last pause
    ULONGLONG StartTimestamp;       // 0: there was none
    BOOLEAN IsAfterPause;           // no call was added since
    BOOLEAN IsFirstAfterPause;      // of Call
} CORE_PAIR;
typedef CORE_PAIR *PCORE_PAIR;

typedef
_Must_inspect_result_
NTSTATUS
(CORE_INITIALIZE_PAIR)(
    _Out_ PCORE_PAIR Pair,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONGLONG StackBase,
    _In_ ULONGLONG StackLimit
    );
CORE_INITIALIZE_PAIR CoreInitializePair;

typedef VOID (CORE_RUNDOWN_PAIR)(_Inout_ PCORE_PAIR Pair);
CORE_RUNDOWN_PAIR CoreRundownPair;

//
// Adds a call; all events of the one before must have been taken.
//
//     STATUS_NO_MEMORY, STATUS_INVALID_PARAMETER
//

typedef
_Must_inspect_result_
NTSTATUS
(CORE_ADD_CALL)(
    _Inout_ PCORE_PAIR Pair,
    _In_ PCCORE_CALL Call
    );
CORE_ADD_CALL CoreAddCall;

//
// Says that recording was stopped, and started again, between the calls that
// were added and those that will be; all events must have been taken.  The time
// in between is in no call.  Of the calls that are open nobody knows which of
// them ended meanwhile: those that a later one proves gone ended at the stop.
//

typedef
VOID
(CORE_PAUSE_PAIR)(
    _Inout_ PCORE_PAIR Pair,
    _In_ ULONGLONG StopTimestamp,
    _In_ ULONGLONG StartTimestamp
    );
CORE_PAUSE_PAIR CorePausePair;

//
// Says that there are no more calls: the frames that are open become events,
// the innermost first.
//

typedef VOID (CORE_FINISH_PAIR)(_Inout_ PCORE_PAIR Pair);
CORE_FINISH_PAIR CoreFinishPair;

//
// The next event; FALSE when there is none until a call is added.
//

typedef
_Success_(return != FALSE)
BOOLEAN
(CORE_NEXT_EVENT)(
    _Inout_ PCORE_PAIR Pair,
    _Out_ PCORE_EVENT Event
    );
CORE_NEXT_EVENT CoreNextEvent;

//
// CoreTree.c: the nodes and the open frames of a tree.
//
// The caller copies them out of the file with CoreCopyWords, the nodes first
// and in order, and gives them to CoreAddNodes; then the stacks that there
// are, each with its frames; CoreFinishTree works out the times.  Everything
// in them is checked here: a node that is bad is left out with all below it,
// a frame that is bad with all above it on its stack.
//

typedef struct _CORE_TREE_PROBLEM {
    ULONGLONG FileOffset;           // of the field
    PCSZ Object;                    // "node", "open call", "stack": literals,
    PCSZ Field;                     // like these two
    PCSZ Problem;
    ULONGLONG Value;                // what the field holds
} CORE_TREE_PROBLEM;
typedef CORE_TREE_PROBLEM *PCORE_TREE_PROBLEM;
typedef const CORE_TREE_PROBLEM *PCCORE_TREE_PROBLEM;

#define CORE_TREE_NO_NODE 0xFFFFFFFFu

typedef struct _CORE_TREE_NODE {
    ULONGLONG Calls;                // with those that are open
    ULONGLONG Total;                // ticks; after CoreFinishTree likewise
    ULONGLONG Self;                 // ticks; after CoreFinishTree
    ULONGLONG Minimum;              // ticks; more than Maximum: no call has
    ULONGLONG Maximum;              // ended
    ULONGLONG First;                // ticks
    ULONGLONG Abandoned;            // calls
    ULONGLONG Away;                 // ticks
    ULONGLONG InChildren;           // ticks; after CoreFinishTree
    ULONGLONG OpenTicks;            // of the open calls, in Total; likewise
    ULONGLONG Open;                 // calls
    ULONGLONG CallsOfChildren;      // these two after CoreFinishTree
    ULONGLONG CallsBelow;           // of all nodes below it
    ULONG Parent;                   // less than its own index; the root's is 0
    ULONG Rva;                      // of its site; other: 0
    ULONG Kind;                     // TRACE_KIND_*
    BOOLEAN IsOther;
    BOOLEAN IsBad;                  // or below one that is
    BOOLEAN IsUsed;                 // it or one below it has calls
} CORE_TREE_NODE;
typedef CORE_TREE_NODE *PCORE_TREE_NODE;
typedef const CORE_TREE_NODE *PCCORE_TREE_NODE;

typedef struct _CORE_TREE_FRAME {
    ULONGLONG Start;                // time stamp
    ULONGLONG LeftTimestamp;        // of the innermost of a stack that another
                                    // one took over from; 0: of none
    ULONG Node;
    ULONG Stack;                    // 0: the thread's own
    BOOLEAN IsInner;                // the one below it has the same node
    BOOLEAN IsInUse;                // innermost of the stack in use
} CORE_TREE_FRAME;
typedef CORE_TREE_FRAME *PCORE_TREE_FRAME;

typedef struct _CORE_TREE {
    PCALLOCATOR Allocator;
    PCORE_TREE_NODE Nodes;
    PCORE_TREE_FRAME Frames;        // of all stacks
    SIZE_T NumberOfNodes;
    SIZE_T CapacityOfNodes;
    SIZE_T NumberOfFrames;
    SIZE_T CapacityOfFrames;
    SIZE_T NumberOfStacks;
    ULONGLONG BaseAddress;          // these five from the header
    ULONGLONG NodesFileOffset;
    ULONG ModuleBase;
    ULONG ModuleSize;
    BOOLEAN IsLive;                 // its writer may be at work
    BOOLEAN IsStopped;              // the time of open calls is in their nodes
    ULONGLONG Now;                  // these two from CoreFinishTree: up to
                                    // when open calls count
    ULONGLONG NumberOfOpenCalls;
    ULONGLONG LatestTimestamp;      // of those that were seen
    ULONGLONG NumberBad;            // nodes, frames and stacks
    CORE_TREE_PROBLEM FirstProblem; // of them
} CORE_TREE;
typedef CORE_TREE *PCORE_TREE;
typedef const CORE_TREE *PCCORE_TREE;

//
// Copies from memory that its writer may be changing: items of as many words
// of 8 bytes, each item's last word first, so that a node's Calls are never
// less than what else it says of them.
//

typedef
VOID
(CORE_COPY_WORDS)(
    _Out_writes_(NumberOfItems * WordsInItem) uint64_t *Destination,
    _In_reads_(NumberOfItems * WordsInItem) const uint64_t *Source,
    _In_ SIZE_T NumberOfItems,
    _In_ SIZE_T WordsInItem
    );
CORE_COPY_WORDS CoreCopyWords;

//
// Header is valid, of a tree.
//

typedef
VOID
(CORE_INITIALIZE_TREE)(
    _Out_ PCORE_TREE Tree,
    _In_ PCALLOCATOR Allocator,
    _In_ PCTRACE_STORE_HEADER Header,
    _In_ BOOLEAN IsLive
    );
CORE_INITIALIZE_TREE CoreInitializeTree;

typedef VOID (CORE_RUNDOWN_TREE)(_Inout_ PCORE_TREE Tree);
CORE_RUNDOWN_TREE CoreRundownTree;

//
// Notes what is wrong, if it is the first thing.
//

typedef
VOID
(CORE_NOTE_TREE_PROBLEM)(
    _Inout_ PCORE_TREE Tree,
    _In_ ULONGLONG FileOffset,
    _In_z_ PCSZ Object,
    _In_z_ PCSZ Field,
    _In_z_ PCSZ Problem,
    _In_ ULONGLONG Value
    );
CORE_NOTE_TREE_PROBLEM CoreNoteTreeProblem;

//
// Adds the nodes that come next.  STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(CORE_ADD_NODES)(
    _Inout_ PCORE_TREE Tree,
    _In_reads_(NumberOfNodes) PCTRACE_NODE Nodes,
    _In_ SIZE_T NumberOfNodes
    );
CORE_ADD_NODES CoreAddNodes;

//
// Adds the frame that comes next on a stack, the outermost first; FileOffset
// is its own.  Above is the frame below it on the same stack: CORE_TREE_NO_NODE
// before the first, else what the call before gave.  Before is when the first
// node was read: a frame that is younger does not count.
//
//     STATUS_SUCCESS, STATUS_NO_MEMORY,
//     STATUS_FILE_INVALID (the rest of the stack's frames are of no use)
//

typedef
_Must_inspect_result_
NTSTATUS
(CORE_ADD_TREE_FRAME)(
    _Inout_ PCORE_TREE Tree,
    _In_ PCTRACE_FRAME Frame,
    _In_ ULONGLONG FileOffset,
    _In_ ULONGLONG Before,
    _Inout_ PULONG Node
    );
CORE_ADD_TREE_FRAME CoreAddTreeFrame;

//
// Says that the frames that were added since NumberOfFrames was First are all
// of one stack, which another one took over from at LeftTimestamp, or which is
// in use (0).
//

typedef
VOID
(CORE_END_TREE_STACK)(
    _Inout_ PCORE_TREE Tree,
    _In_ SIZE_T First,
    _In_ ULONGLONG LeftTimestamp,
    _In_ BOOLEAN IsInUse
    );
CORE_END_TREE_STACK CoreEndTreeStack;

//
// Carries out an action of the control file (TRACE_ACTION_*) that the thread
// has not carried out; all nodes and frames are there.
//

typedef
VOID
(CORE_APPLY_TO_TREE)(
    _Inout_ PCORE_TREE Tree,
    _In_ ULONG Action,
    _In_ ULONGLONG Timestamp
    );
CORE_APPLY_TO_TREE CoreApplyToTree;

//
// Works out the times.  Now is up to when open calls count; 0: up to the last
// time that the tree itself proves.
//

typedef
VOID
(CORE_FINISH_TREE)(
    _Inout_ PCORE_TREE Tree,
    _In_ ULONGLONG Now
    );
CORE_FINISH_TREE CoreFinishTree;

//
// Gives a pairing that has just been made the stacks that another one had.
// Order is that of all but the first by ascending address.  The frames' memory
// becomes the pairing's, unless this fails.
//
//     STATUS_NO_MEMORY, STATUS_INVALID_PARAMETER (the ranges overlap)
//

typedef
_Must_inspect_result_
NTSTATUS
(CORE_RESTORE_PAIR)(
    _Inout_ PCORE_PAIR Pair,
    _In_reads_(NumberOfStacks) const CORE_STACK *Stacks,
    _In_reads_(NumberOfStacks - 1) const ULONG *Order,
    _In_ ULONG NumberOfStacks,
    _In_ ULONG Current,
    _In_ ULONGLONG LastTimestamp
    );
CORE_RESTORE_PAIR CoreRestorePair;

//
// The innermost open frame of the stack that ran last, or NULL.
//

typedef PCORE_FRAME (CORE_CURRENT_FRAME)(_In_ const CORE_PAIR *Pair);
CORE_CURRENT_FRAME CoreCurrentFrame;

//
// CoreControl.c: the control file of a session.
//

typedef enum _CORE_CONTROL_STATE {
    CoreControlValid = 0,
    CoreControlBeingCreated,    // the magic is not there yet
    CoreControlBad
} CORE_CONTROL_STATE;

typedef struct _CORE_CONTROL_RESULT {
    CORE_CONTROL_STATE State;
    PCSZ Problem;               // what is wrong, a literal; "" when nothing is
    ULONG NumberOfActions;      // places that may have one
    ULONG NumberLeftOut;        // places beyond those that are looked at
} CORE_CONTROL_RESULT;
typedef CORE_CONTROL_RESULT *PCORE_CONTROL_RESULT;

//
// So many actions are looked at.
//

#define CORE_MAXIMUM_ACTIONS 0x40000u

//
// Validates a copy of the file's header.  FileSize is the file's; the process
// is that of the stores.
//

typedef
BOOLEAN
(CORE_VALIDATE_CONTROL)(
    _In_ PCTRACE_CONTROL Control,
    _In_ ULONGLONG FileSize,
    _In_ ULONG ProcessId,
    _In_ ULONGLONG ProcessCreationTime,
    _Out_ PCORE_CONTROL_RESULT Result
    );
CORE_VALIDATE_CONTROL CoreValidateControl;

//
// Is an action there, in the copy of a place?  One that is has a text no longer
// than its room.
//

typedef
BOOLEAN
(CORE_VALIDATE_ACTION)(
    _Inout_ PTRACE_CONTROL_ACTION Action
    );
CORE_VALIDATE_ACTION CoreValidateAction;

//
// A time without recording: from Stop on, up to but not including Start.
//

typedef struct _CORE_PAUSE {
    ULONGLONG Stop;
    ULONGLONG Start;            // all ones: not yet
} CORE_PAUSE;
typedef CORE_PAUSE *PCORE_PAUSE;
typedef const CORE_PAUSE *PCCORE_PAUSE;

//
// Finds the pauses that actions, in the order of time, make.  There are no more
// than actions.  Returns how many.
//

typedef
ULONG
(CORE_FIND_PAUSES)(
    _In_reads_(NumberOfActions) PCTRACE_CONTROL_ACTION Actions,
    _In_ ULONG NumberOfActions,
    _Out_writes_to_(NumberOfActions, return) PCORE_PAUSE Pauses
    );
CORE_FIND_PAUSES CoreFindPauses;

//
// CoreHistogram.c: how often calls took how long.
//
// A bucket holds one value up to 63 ticks, and is no wider than a 32nd of the
// values in it above that.  What is read out of it is the largest value of a
// bucket, and so at most 3.125 % too large.
//

#define CORE_BUCKETS_PER_OCTAVE 32u
#define CORE_NUMBER_OF_BUCKETS 1920u

typedef struct _CORE_HISTOGRAM {
    PULONGLONG Counts;              // of NumberOfBuckets, from the first on
    ULONG FirstBucket;
    ULONG NumberOfBuckets;          // 0: it is empty
} CORE_HISTOGRAM;
typedef CORE_HISTOGRAM *PCORE_HISTOGRAM;

//
// The bucket of a value.
//

#if defined(_MSC_VER) && !defined(__clang__)
#define CORE_INLINE static __forceinline
#else
#define CORE_INLINE static inline __attribute__((always_inline))
#endif

CORE_INLINE
ULONG
CoreQueryBucket(
    _In_ ULONGLONG Value
    )
{
    ULONG Shift;

#if defined(_MSC_VER) && !defined(__clang__)

    unsigned long Position;

    _BitScanReverse64(&Position, Value | CORE_BUCKETS_PER_OCTAVE);
    Shift = (ULONG)Position - 5;

#else

    Shift = 58 - (ULONG)__builtin_clzll(Value | CORE_BUCKETS_PER_OCTAVE);

#endif

    return Shift * CORE_BUCKETS_PER_OCTAVE + (ULONG)(Value >> Shift);
}

//
// The largest value that goes into a bucket.
//

typedef ULONGLONG (CORE_QUERY_BUCKET_END)(_In_ ULONG Bucket);
CORE_QUERY_BUCKET_END CoreQueryBucketEnd;

//
// Where histograms have their counts: many small pieces.  All of them are gone
// when it is destroyed.  CoreCreateArena returns NULL if there is no memory.
//

typedef struct _CORE_ARENA *PCORE_ARENA;

typedef
_Must_inspect_result_
_Ret_maybenull_
PCORE_ARENA
(CORE_CREATE_ARENA)(
    _In_ PCALLOCATOR Allocator
    );
CORE_CREATE_ARENA CoreCreateArena;

typedef VOID (CORE_DESTROY_ARENA)(_Inout_opt_ PCORE_ARENA Arena);
CORE_DESTROY_ARENA CoreDestroyArena;

//
// Adds a call.  STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(CORE_ADD_TO_HISTOGRAM)(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_ARENA Arena,
    _In_ ULONGLONG Ticks
    );
CORE_ADD_TO_HISTOGRAM CoreAddToHistogram;

//
// Adds the calls of another one.  STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(CORE_MERGE_HISTOGRAM)(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_ PCORE_ARENA Arena,
    _In_ const CORE_HISTOGRAM *Other
    );
CORE_MERGE_HISTOGRAM CoreMergeHistogram;

typedef
VOID
(CORE_RUNDOWN_HISTOGRAM)(
    _Inout_ PCORE_HISTOGRAM Histogram,
    _Inout_opt_ PCORE_ARENA Arena
    );
CORE_RUNDOWN_HISTOGRAM CoreRundownHistogram;

//
// A time that Share in CORE_ALL_CALLS of the calls did not exceed: not less
// than the exact one, at most 3.125 % more, and not more than Maximum, the
// longest call's.
//

#define CORE_ALL_CALLS 1000u

typedef
ULONGLONG
(CORE_QUERY_PERCENTILE)(
    _In_ const CORE_HISTOGRAM *Histogram,
    _In_ ULONG Share,
    _In_ ULONGLONG Maximum
    );
CORE_QUERY_PERCENTILE CoreQueryPercentile;

//
// CoreFast.c: runs of ordinary calls.
//

//
// What is known of a site and kind of call, in the order in which it goes
// into a frame.  One is a cache line.
//

typedef struct _CORE_SITE {
    ULONGLONG Key;                  // RVA and kind; 0: none is here
    ULONGLONG JumpTarget;           // this and what follows as in CORE_CALL
    ULONGLONG Site;
    ULONGLONG Function;
    ULONG BodySize;
    ULONG Kind;
    ULONG Flags;
    ULONG Index;                    // the caller's: of the function's totals
    ULONG FrameSize;                // 0: not known
    BOOLEAN IsAnywhere;             // an EXIT_FUNCTION's RSP says nothing
    UCHAR Unused[11];
} CORE_SITE;
typedef CORE_SITE *PCORE_SITE;
typedef const CORE_SITE *PCCORE_SITE;

//
// The sites of one module.
//

typedef struct _CORE_SITES {
    PCALLOCATOR Allocator;
    PVOID Memory;                   // that Slots are in
    PCORE_SITE Slots;
    ULONG Capacity;                 // a power of two, or 0
    ULONG Count;
} CORE_SITES;
typedef CORE_SITES *PCORE_SITES;

typedef
VOID
(CORE_INITIALIZE_SITES)(
    _Out_ PCORE_SITES Sites,
    _In_ PCALLOCATOR Allocator
    );
CORE_INITIALIZE_SITES CoreInitializeSites;

typedef VOID (CORE_RUNDOWN_SITES)(_Inout_ PCORE_SITES Sites);
CORE_RUNDOWN_SITES CoreRundownSites;

typedef
_Ret_maybenull_
PCCORE_SITE
(CORE_FIND_SITE)(
    _In_ const CORE_SITES *Sites,
    _In_ ULONG Rva,
    _In_ ULONG Kind
    );
CORE_FIND_SITE CoreFindSite;

//
// Adds a site that is not there; Index is the caller's.
//
//     STATUS_NO_MEMORY
//

typedef
_Must_inspect_result_
NTSTATUS
(CORE_ADD_SITE)(
    _Inout_ PCORE_SITES Sites,
    _In_ PCCORE_CALL Call,
    _In_ ULONG Index
    );
CORE_ADD_SITE CoreAddSite;

//
// What is added up for a function.  One is a cache line.  ActiveCalls stands
// apart from Calls: an exit that took both in one load would have to wait for
// its entry's store of the first.
//

typedef struct _CORE_TOTALS {
    ULONGLONG Calls;                // that ended with their exit, and of those:
    ULONGLONG TotalTicks;           // inclusive; recursion counted once
    ULONGLONG SelfTicks;
    ULONGLONG SumLow;               // of the inclusive ticks of each call,
    ULONGLONG SumHigh;              // 128 bits
    ULONGLONG MinimumTicks;         // ~0: no call has ended
    ULONGLONG MaximumTicks;
    ULONGLONG ActiveCalls;          // that are open
} CORE_TOTALS;
typedef CORE_TOTALS *PCORE_TOTALS;
typedef const CORE_TOTALS *PCCORE_TOTALS;

typedef struct _CORE_TOTALS_TABLE {
    PCALLOCATOR Allocator;
    PVOID Memory;                   // that Totals are in
    PCORE_TOTALS Totals;
    ULONG Capacity;
    ULONG Unused;
} CORE_TOTALS_TABLE;
typedef CORE_TOTALS_TABLE *PCORE_TOTALS_TABLE;

typedef
_Must_inspect_result_
NTSTATUS
(CORE_GROW_TOTALS)(
    _Inout_ PCORE_TOTALS_TABLE Table,
    _In_ ULONG Count
    );
CORE_GROW_TOTALS CoreGrowTotals;

typedef VOID (CORE_RUNDOWN_TOTALS)(_Inout_ PCORE_TOTALS_TABLE Table);
CORE_RUNDOWN_TOTALS CoreRundownTotals;

//
// Takes records of one store for as long as they are valid, ordinary and
// earlier than Limit; returns how many.  The next one is CoreAddCall's.  The
// frames' NumberOfJumps are those of the clock when they were entered.  The
// histograms, if there are any, are as many as the totals; the end of a call
// that is in no bucket that there is is not ordinary.
//

typedef
ULONG
(CORE_RUN_RECORDS)(
    _Inout_ PCORE_PAIR Pair,
    _Inout_ PCORE_RECORD_CHECK Check,
    _In_ const CORE_SITES *Sites,
    _Inout_ PCORE_TOTALS Totals,
    _Inout_opt_ PCORE_HISTOGRAM Histograms,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords,
    _In_ ULONGLONG Limit,
    _In_ ULONGLONG JumpTicks,
    _In_ ULONG NumberOfJumps
    );
CORE_RUN_RECORDS CoreRunRecords;

#endif // TRACER_READER_CORE_H
