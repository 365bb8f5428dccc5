/*++

Module Name:

    TraceTreeStack.h

Abstract:

    The stacks of a tree and their frames, for those who keep them: TraceTree.c,
    TraceTreeEnter.c, TraceCaller.c.

--*/

#ifndef TRACER_TRACE_TREE_STACK_H
#define TRACER_TRACE_TREE_STACK_H

#include "TraceSession.h"

//
// How much is prepared at once: at first, and later.
//

#define TRACE_TREE_PREPARE_FIRST    0x4000
#define TRACE_TREE_PREPARE_NEXT     0x10000

#define TRACE_TREE_FIRST_FRAME(Stack) \
    ((PTRACE_FRAME)((PBYTE)(Stack) + sizeof(TRACE_TREE_STACK)))

//
// End of the pages of a stack's frames that are prepared, a writer address.
//

#define TRACE_TREE_PREPARED(Stack)  ((Stack)->Reserved[0])

//
// Lowest address of a stack.
//

#define TRACE_TREE_STACK_LOW(Stack) ((Stack)->Reserved[1])

//
// The outermost frame of a chronological range that is open on a stack, a
// writer address; 0 if none is.
//

#define TRACE_TREE_RANGE(Stack)     ((Stack)->Reserved[2])

#define TRACE_TREE_HALTED           (TRACE_HOOK_STOPPED | TRACE_HOOK_PAUSED)

//
// The innermost frame of the stack in use, the first of all if no call is open.
//

static
__inline
PTRACE_FRAME
TraceTreeTop(
    _In_ PTRACE_STORE Store
    )
{
    return (PTRACE_FRAME)(ULONG_PTR)Store->Header->Cursor;
}

//
// Tells the hook which stack is in use. While a chronological range is open on
// it, and once the thread is ending, the hook is told that it has no place, and
// so leaves every call to TraceTreeEnter.c.
//

static
__inline
VOID
TraceTreeUseStack(
    _Inout_ PTRACE_STORE Store
    )
{
    PTRACE_TREE Tree;

    Tree = &Store->Tree;
    Tree->StackLow = TRACE_TREE_STACK_LOW(Tree->Stack);
    Tree->StackSize = TRACE_TREE_RANGE(Tree->Stack) != 0 || Tree->IsEnding ?
                      0 : Tree->Stack->StackBase - Tree->StackLow;
}

//
// The time stamp that the hook would take now.
//

static
__inline
ULONGLONG
TraceTreeReadClock(
    _In_ PTRACE_STORE Store
    )
{
    ULONGLONG volatile *Place;

    Place = Store->Session->Clock.Place;
    return Store->Header->Clock == TRACE_CLOCK_THREAD && Place != NULL ?
           *Place : __rdtsc();
}

//
// Computes a time.
// Since, Now: the time stamps.
// Returns the ticks between them; 0 if the counter has gone back.
//

static
__inline
ULONGLONG
TraceTreeElapsed(
    _In_ ULONGLONG Since,
    _In_ ULONGLONG Now
    )
{
    return Now > Since ? Now - Since : 0;
}

//
// Ends the innermost open call.
// Store: the store, which has an open call.
// IsExit: whether this is its own exit. If not, when it was left is not known,
// only that it was before.
//

static
__inline
VOID
TraceTreePop(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Now,
    _In_ BOOLEAN IsExit
    )
{
    PTRACE_FRAME Frame;
    PTRACE_NODE Node;
    ULONGLONG Ticks;

    Frame = TraceTreeTop(Store);
    Node = (PTRACE_NODE)(ULONG_PTR)Frame->Node;
    Ticks = TraceTreeElapsed(Frame->Start, Now);

    if (IsExit || (Frame->Flags & TRACE_FRAME_STALE) == 0) {
        if (Frame[-1].Node != Frame->Node) {
            RtlStoreRelease64(&Node->Total, Node->Total + Ticks);
            if (IsExit) {
                if (Node->Minimum == MAXULONG64) {
                    Node->First = Ticks;
                }
                if (Node->Minimum > Ticks) {
                    Node->Minimum = Ticks;
                }
                if (Node->Maximum < Ticks) {
                    Node->Maximum = Ticks;
                }
            } else {
                RtlStoreRelease64(&Node->AbandonedTotal,
                                  Node->AbandonedTotal + Ticks);
            }
        }
        if (!IsExit) {
            Node->Abandoned += 1;
        }
    }

    Store->Tree.NumberTooDeep = 0;
    RtlStoreRelease64(&Store->Header->Cursor, (ULONG_PTR)(Frame - 1));

    if (TRACE_TREE_RANGE(Store->Tree.Stack) == (ULONG_PTR)Frame) {
        TRACE_TREE_RANGE(Store->Tree.Stack) = 0;
        TraceTreeUseStack(Store);
    }
}

#endif // TRACER_TRACE_TREE_STACK_H
