/*++

Module Name:

    TraceDepth.c

Abstract:

    The depth of calls, which the hook counts for TRACER_MAX_DEPTH.  Each stack
    that a thread runs on has a depth of its own: its fibers' calls go on where
    they were left.

--*/

#include "TraceStore.h"

#define TEB_STACK_BASE  0x08

_Use_decl_annotations_
NTSTATUS
TraceDepthOpen(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes a depth for the stack that the calling thread runs on, and puts it
    before those that the store has.

Arguments:

    Store - Supplies the store.

Return Value:

    STATUS_SUCCESS, also if there is no limit to the depth, or the status of
    allocating memory.

--*/
{
    NTSTATUS Status;
    ULONG Maximum;
    PVOID Base;
    PTRACE_DEPTH Depth;

    Maximum = Store->Session->Template->MaximumDepth;
    if (Maximum == 0) {
        return STATUS_SUCCESS;
    }

    Status = RtlAllocatePages(&Store->Session->Rtl,
                              FIELD_OFFSET(TRACE_DEPTH, Calls) +
                              Maximum * sizeof(Depth->Calls[0]),
                              &Base);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Depth = (PTRACE_DEPTH)Base;
    Depth->StackBase = __readgsqword(TEB_STACK_BASE);
    Depth->Maximum = Maximum;
    Depth->Next = Store->Depth;
    Store->Depth = Depth;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
TraceDepthSwitch(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Brings the depth of the stack that the calling thread runs on to the front.
    If there can be no more, the one that was used least recently is taken.

Arguments:

    Store - Supplies the store, which has a depth.

Return Value:

    None.

--*/
{
    ULONGLONG StackBase;
    ULONG Count;
    PTRACE_DEPTH *Link;
    PTRACE_DEPTH Depth;

    StackBase = __readgsqword(TEB_STACK_BASE);

    Count = 1;
    Link = &Store->Depth;
    while ((*Link)->StackBase != StackBase && (*Link)->Next != NULL) {
        Link = &(*Link)->Next;
        Count += 1;
    }

    Depth = *Link;
    if (Depth->StackBase != StackBase) {
        if (Count < TRACE_DEPTH_STACKS && NT_SUCCESS(TraceDepthOpen(Store))) {
            return;
        }
        Depth->StackBase = StackBase;
        Depth->Count = 0;
        Depth->Skipped = 0;
    }

    *Link = Depth->Next;
    Depth->Next = Store->Depth;
    Store->Depth = Depth;
}

_Use_decl_annotations_
VOID
TraceDepthClose(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Frees the depths of a store.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    PTRACE_DEPTH Depth;

    while (Store->Depth != NULL) {
        Depth = Store->Depth;
        Store->Depth = Depth->Next;
        RtlFreePages(&Store->Session->Rtl, Depth);
    }
}
