/*++

Module Name:

    TraceChrono.c

Abstract:

    Chronological ranges: in a thread that keeps a tree, what is called inside
    the calls of chosen functions is recorded as well, in a second store.

    TraceTree.c says when a range begins and ends.  Inside one every call of a
    hook takes the slow path, which keeps the tree and appends here, in the
    order in which the hook does it: the cursor first, the time stamp last.

--*/

#include "TraceStore.h"

_Use_decl_annotations_
BOOLEAN
TraceChronoIsListed(
    PTRACE_SESSION Session,
    ULONG Site
    )
/*++

Routine Description:

    Says whether a function is one of those that are recorded.

Arguments:

    Session - Supplies the session.

    Site - Supplies the site of an entry.

Return Value:

    TRUE or FALSE.

--*/
{
    PCTRACE_CHRONO_RANGE Ranges;
    ULONG Rva;
    ULONG Low;
    ULONG High;
    ULONG Middle;

    Ranges = Session->Chrono;
    Rva = Site - (ULONG)(ULONG_PTR)Session->ModuleBase;
    Low = 0;
    High = Session->NumberOfChrono;
    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (Ranges[Middle].End <= Rva) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    return Low < Session->NumberOfChrono && Rva >= Ranges[Low].First;
}

static
VOID
TraceChronoReportStop(
    _In_ PTRACE_STORE Chrono
    )
/*++

Routine Description:

    Reports that a second store has stopped.

Arguments:

    Chrono - Supplies the store.

Return Value:

    None.

--*/
{
    RTL_ERROR Error;
    PCSZ Step;

    switch (Chrono->Header->Reason) {
    case TRACE_REASON_MAXIMUM_BYTES:
        return;
    case TRACE_REASON_EXTEND_FAILED:
        Step = "extending a thread's chronological store";
        break;
    case TRACE_REASON_MAP_FAILED:
        Step = "mapping a thread's chronological store";
        break;
    case TRACE_REASON_PAGE_FAILED:
        Step = "writing a thread's chronological store";
        break;
    default:
        Step = "checking a thread's chronological store";
        break;
    }

    RtlSetError(&Error,
                Step,
                &Chrono->Session->ModuleName,
                (NTSTATUS)Chrono->Header->Status);
    TraceLogError(Chrono->Session,
                  &Error,
                  "this thread's calls are counted in its tree and no longer "
                  "recorded in their order");
}

_Use_decl_annotations_
BOOLEAN
TraceChronoOpen(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Opens the second store of the calling thread, unless that has been done.

Arguments:

    Store - Supplies the thread's store, a tree.

Return Value:

    FALSE if there can be none; the log has said why.

--*/
{
    PTRACE_STORE Chrono;
    RTL_ERROR Error;

    if (Store->Tree.Chrono != NULL) {
        return TRUE;
    }
    if (Store->Tree.IsChronoFailed) {
        return FALSE;
    }

    if (!NT_SUCCESS(TraceStoreOpenChrono(Store->Session, &Chrono, &Error))) {
        Store->Tree.IsChronoFailed = TRUE;
        TraceLogError(Store->Session,
                      &Error,
                      "this thread's calls are counted in its tree and not "
                      "recorded in their order");
        return FALSE;
    }

    Store->Tree.Chrono = Chrono;
    return TRUE;
}

_Use_decl_annotations_
VOID
TraceChronoMakeRoom(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes room for a record, if that can be.

Arguments:

    Store - Supplies the thread's store, a tree that has a second store.

Return Value:

    None.

--*/
{
    PTRACE_STORE Chrono;
    PTRACE_STORE_HEADER Header;
    BOOLEAN IsPaused;

    Chrono = Store->Tree.Chrono;
    Header = Chrono->Header;
    if (Header->Cursor < Header->Limit ||
        Header->State == TRACE_STATE_STOPPED) {

        return;
    }

    //
    // Whether recording is stopped was seen by the tree before; what has been
    // asked for since is carried out here first.
    //

    do {
        IsPaused = TraceControlServe(Chrono);
        if (!IsPaused) {
            TraceStoreAdvance(Chrono);
        }
    } while (Chrono->Attention);

    if (Header->State == TRACE_STATE_STOPPED) {
        TraceChronoReportStop(Chrono);
    }
}

_Use_decl_annotations_
VOID
TraceChronoAppend(
    PTRACE_STORE Store,
    PCTRACE_TREE_CALL Call,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Appends a record.

Arguments:

    Store - Supplies the thread's store, a tree that has a second store.

    Call - Supplies the call of a hook.

    Timestamp - Supplies when it was.

Return Value:

    None.  What there is no room for is counted as lost.

--*/
{
    PTRACE_STORE_HEADER Header;
    PTRACE_RECORD Record;

    TraceChronoMakeRoom(Store);

    //
    // The owner alone moves the cursor; another thread may set the limit to 0
    // at any time, and the room is there nevertheless.
    //

    Header = Store->Tree.Chrono->Header;
    if (Header->Cursor >= Header->Limit) {
        Header->NumberOfEventsLost += 1;
        return;
    }

    Record = (PTRACE_RECORD)(ULONG_PTR)Header->Cursor;
    RtlStoreRelease64(&Header->Cursor, Header->Cursor + TRACE_RECORD_SIZE);
    Record->Site = Call->Site;
    Record->StackKind = (ULONG)Call->Stack | Call->Kind;
    RtlStoreRelease64(&Record->Timestamp, Timestamp);
}
