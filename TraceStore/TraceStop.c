/*++

Module Name:

    TraceStop.c

Abstract:

    A store is stopped for good, or marked as ended, and why, in its header.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceClock.h"
#include "TraceSession.h"
#include "TraceShare.h"
#include "TraceStop.h"
#include "TraceTree.h"

_Use_decl_annotations_
VOID
TraceStopSetAnchor(
    PTRACE_CLOCK_ANCHOR Anchor,
    const RTL_CLOCK_READING *Reading
    )
{
    ULONGLONG Check;

    //
    // First a Check that fits neither the old nor the new fields, then the
    // fields, then the right one.
    //

    Check = Reading->Tsc ^ Reading->Qpc ^ Reading->SystemTime;
    RtlStoreRelease64(&Anchor->Check, ~Check ^ Anchor->Check);
    RtlStoreRelease64(&Anchor->Tsc, Reading->Tsc);
    RtlStoreRelease64(&Anchor->Qpc, Reading->Qpc);
    RtlStoreRelease64(&Anchor->SystemTime, Reading->SystemTime);
    RtlStoreRelease64(&Anchor->Check, Check);
}

_Use_decl_annotations_
VOID
TraceStopNoteTimes(
    PTRACE_STORE Store,
    PTRACE_STORE_HEADER Header,
    BOOLEAN IsEnd
    )
{
    PCRTL Rtl;
    LARGE_INTEGER Times[4];             // creation, exit, kernel, user

    Rtl = &Store->Session->Rtl;
    if (Store->ThreadId == __readgsdword(TEB_THREAD_ID) &&
        NT_SUCCESS(Rtl->NtQueryInformationThread((HANDLE)-2,
                                                 RTL_THREAD_TIMES,
                                                 Times,
                                                 sizeof(Times),
                                                 NULL))) {

        if (IsEnd) {
            Header->EndKernelTime = (ULONGLONG)Times[2].QuadPart;
            Header->EndUserTime = (ULONGLONG)Times[3].QuadPart;
        } else {
            Header->OpenKernelTime = (ULONGLONG)Times[2].QuadPart;
            Header->OpenUserTime = (ULONGLONG)Times[3].QuadPart;
            Header->ThreadCreationTime = (ULONGLONG)Times[0].QuadPart;
        }
        RtlStoreRelease32(&Header->TimesValid,
                          Header->TimesValid |
                          (IsEnd ? TRACE_TIMES_END
                                 : TRACE_TIMES_OPEN | TRACE_TIMES_CREATED));
    }

    if (IsEnd &&
        NT_SUCCESS(Rtl->NtQueryInformationProcess((HANDLE)-1,
                                                  RTL_PROCESS_TIMES,
                                                  Times,
                                                  sizeof(Times),
                                                  NULL))) {

        Header->ProcessKernelTime = (ULONGLONG)Times[2].QuadPart;
        Header->ProcessUserTime = (ULONGLONG)Times[3].QuadPart;
        RtlStoreRelease32(&Header->TimesValid,
                          Header->TimesValid | TRACE_TIMES_PROCESS);
    }
}

_Use_decl_annotations_
VOID
TraceStoreStop(
    PTRACE_STORE Store,
    ULONG Reason,
    NTSTATUS Status
    )
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeHalt(Store);
    }
    Header->Reason = Reason;
    Header->Status = (ULONG)Status;
    RtlStoreRelease32(&Header->State, TRACE_STATE_STOPPED);

    //
    // The hook looks at its flags only when the cursor is at the limit.
    //

    RtlStoreRelease32(&Header->HookFlags,
                      Header->HookFlags | TRACE_HOOK_STOPPED);
    RtlStoreRelease64(&Header->Limit, Header->Cursor);
    RtlStoreRelease64(&Store->ArmedLimit, 0);
}

_Use_decl_annotations_
VOID
TraceStopFinish(
    PTRACE_STORE Store,
    ULONG Reason
    )
{
    PTRACE_STORE_HEADER Header;
    RTL_CLOCK_READING Reading;

    if (Store->Tree.Member != NULL &&
        Store->Tree.Member->Session == Store->Session &&
        Store->Tree.Member->Entry->Tree.Chrono != NULL) {

        TraceStopFinish(Store->Tree.Member->Entry->Tree.Chrono, Reason);
    }

    Header = Store->Header;
    if (Header->State == TRACE_STATE_CLOSED) {
        return;
    }

    TraceStopNoteTimes(Store, Header, TRUE);
    if (Header->State != TRACE_STATE_OPEN) {
        return;
    }

    RtlReadClocks(&Store->Session->Rtl, &Reading);
    TraceStopSetAnchor(&Header->LastAnchor, &Reading);
    TraceClockDescribe(Store->Session, Header);
    Header->Reason = Reason;
    RtlStoreRelease32(&Header->State, TRACE_STATE_CLOSED);
}
