/*++

Module Name:

    CorePair.h

Abstract:

    A thread's records as events: entries are paired with exits.

--*/

#ifndef TRACER_CORE_PAIR_H
#define TRACER_CORE_PAIR_H

#include "../../Rtl/Allocator.h"
#include "../../StringTable/StringTable.h"
#include "../../TraceStore/TraceFormat.h"

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
#define CORE_CALL_CHAIN         0x8 // an entry while the static chain is saved:
                                    // RSP is 8 lower than at the exit
#define CORE_FRAME_INLINED      0x8 // of a frame: it is in another one's
#define CORE_FRAME_STALE        0x10 // likewise: it was open when recording
                                    // was stopped and started again
#define CORE_FRAME_LOOKED_AT    0x20 // likewise: the caller's, of an open one
#define CORE_CALL_WAIT          0x40 // an entry's function waits,
#define CORE_CALL_LOCK          0x80 // or does if a call takes long enough
#define CORE_CALL_WAITS         (CORE_CALL_WAIT | CORE_CALL_LOCK)

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

//
// Behind the frames that there is room for are as many numbers: of each, how
// long the calls waited that were made from it and have ended, ticks.  They
// are zero when they are allocated.
//

#define CORE_STACK_BYTES(Capacity)                                          \
    ((SIZE_T)(Capacity) * (sizeof(CORE_FRAME) + sizeof(ULONGLONG)))

#define CORE_STACK_WAITED(Stack)                                            \
    ((PULONGLONG)((Stack)->Frames + (Stack)->Capacity))

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
    ULONGLONG WaitedTicks;          // of InclusiveTicks: inside calls that
                                    // waited; likewise 0
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
    ULONGLONG NumberSearched;       // frames, by searches that found none
    ULONGLONG ContentionTicks;      // the caller's: a call of a lock waited if
                                    // it took as long
    BOOLEAN HasWaits;               // one of CORE_CALL_WAITS was entered: until
                                    // then no call has waited
} CORE_PAIR;
typedef CORE_PAIR *PCORE_PAIR;

//
// Makes the pairing of one thread, with no frame open.
// StackBase: the highest address of the thread's stack.
// StackLimit: the lowest; both 0 if not known.
//

_Must_inspect_result_
NTSTATUS
CoreInitializePair(
    _Out_ PCORE_PAIR Pair,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONGLONG StackBase,
    _In_ ULONGLONG StackLimit
    );

//
// Frees what a pairing holds.
// Pair: initialized, or all zeroes.
//

VOID
CoreRundownPair(
    _Inout_ PCORE_PAIR Pair
    );

//
// Adds a call: decides what it means; CoreNextEvent carries that out.
// Pair: the pairing; all events of the call before have been taken.
//
// STATUS_NO_MEMORY: the call is not added.
// STATUS_INVALID_PARAMETER: events are left, or the kind is unknown.
//

_Must_inspect_result_
NTSTATUS
CoreAddCall(
    _Inout_ PCORE_PAIR Pair,
    _In_ PCCORE_CALL Call
    );

//
// Says that recording was stopped, and started again, between the calls that
// were added and those that will be; all events must have been taken.  The time
// in between is in no call.  Of the calls that are open nobody knows which of
// them ended meanwhile: those that a later one proves gone ended at the stop.
//
// The open frames' entries become later by that time, as if it had not passed.
//
// StartTimestamp: when it was started, not before.
//

VOID
CorePausePair(
    _Inout_ PCORE_PAIR Pair,
    _In_ ULONGLONG StopTimestamp,
    _In_ ULONGLONG StartTimestamp
    );

//
// Says that there are no more calls: the frames that are open become events,
// the innermost first.
// Pair: the pairing, with no events left to take.
//

VOID
CoreFinishPair(
    _Inout_ PCORE_PAIR Pair
    );

//
// The next event; FALSE when there is none until a call is added.
// Pair: the pairing.
//

_Success_(return != FALSE)
BOOLEAN
CoreNextEvent(
    _Inout_ PCORE_PAIR Pair,
    _Out_ PCORE_EVENT Event
    );

//
// Gives a pairing that has just been made the stacks that another one had.
// Order is that of all but the first by ascending address.  The frames' memory
// becomes the pairing's, unless this fails.
//
//     STATUS_NO_MEMORY, STATUS_INVALID_PARAMETER (the ranges overlap)
//
// Stacks: the stacks; [0] is the thread's own.
// NumberOfStacks: how many there are, 1 at least.
// Current: the stack of the last record.
// LastTimestamp: that record's.
//

_Must_inspect_result_
NTSTATUS
CoreRestorePair(
    _Inout_ PCORE_PAIR Pair,
    _In_reads_(NumberOfStacks) const CORE_STACK *Stacks,
    _In_reads_(NumberOfStacks - 1) const ULONG *Order,
    _In_ ULONG NumberOfStacks,
    _In_ ULONG Current,
    _In_ ULONGLONG LastTimestamp
    );

//
// The innermost open frame of the stack that ran last; NULL: there is none.
//

PCORE_FRAME
CoreCurrentFrame(
    _In_ const CORE_PAIR *Pair
    );

#endif // TRACER_CORE_PAIR_H
