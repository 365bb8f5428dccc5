/*++

Module Name:

    TraceChrono.c

Abstract:

    Chronological ranges: in a thread that keeps a tree, what is called inside
    the calls of chosen functions is recorded as well, in a second store.

    TraceTreeEnter.c says when a range begins and ends.  Inside one every call
    of a hook takes the slow path, which keeps the tree and appends here, in the
    order in which the hook does it: the cursor first, the time stamp last.

--*/

#include "TraceAdvance.h"
#include "TraceChrono.h"
#include "TraceControl.h"
#include "TraceDirectory.h"
#include "TraceLog.h"
#include "TraceShare.h"
#include "TraceStore.h"
#include "TraceVolume.h"

_Use_decl_annotations_
BOOLEAN
TraceChronoIsListed(
    PTRACE_SESSION Session,
    ULONG Site
    )
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

//
// Reports that a second store has stopped.
//

static
VOID
TraceChronoReportStop(
    _In_ PTRACE_STORE Chrono
    )
{
    RTL_ERROR Error;
    PCUNICODE_STRING Object;
    PCSZ Step;

    Object = &Chrono->Session->ModuleName;
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
    case TRACE_REASON_MINIMUM_FREE:
        Object = TraceDirectoryGetPath(Chrono->Session);
        Step = TRACE_VOLUME_STEP;
        break;
    default:
        Step = "checking a thread's chronological store";
        break;
    }

    RtlSetError(&Error,
                Step,
                Object,
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
{
    PTRACE_STORE Entry;
    PTRACE_STORE Chrono;
    RTL_ERROR Error;

    Entry = Store->Tree.Member->Entry;
    if (Entry->Tree.Chrono != NULL) {
        return TRUE;
    }
    if (Entry->Tree.IsChronoFailed) {
        return FALSE;
    }

    if (!NT_SUCCESS(TraceStoreOpenChrono(Store->Session, &Chrono, &Error))) {
        Entry->Tree.IsChronoFailed = TRUE;
        TraceLogError(Store->Session,
                      &Error,
                      "this thread's calls are counted in its tree and not "
                      "recorded in their order");
        return FALSE;
    }

    Entry->Tree.Chrono = Chrono;
    if (Chrono->Header->State == TRACE_STATE_STOPPED) {
        TraceChronoReportStop(Chrono);
    }
    return TRUE;
}

_Use_decl_annotations_
VOID
TraceChronoMakeRoom(
    PTRACE_STORE Store
    )
{
    PTRACE_STORE Chrono;
    PTRACE_STORE_HEADER Header;
    BOOLEAN IsPaused;

    Chrono = Store->Tree.Member->Entry->Tree.Chrono;
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
{
    PTRACE_STORE_HEADER Header;
    PTRACE_RECORD Record;

    TraceChronoMakeRoom(Store);

    //
    // The owner alone moves the cursor; another thread may set the limit to 0
    // at any time, and the room is there nevertheless.
    //

    Header = Store->Tree.Member->Entry->Tree.Chrono->Header;
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
