/*++

Module Name:

    TraceControlAppend.c

Abstract:

    Appends actions to the control file of a session.

    The file grows by itself: whoever claims a place makes sure first that its
    page is there, so that a full disk refuses a request rather than leave a
    place that nobody can write.  Marks and names, of which there may be any
    number, stop TRACE_CONTROL_SPARE places earlier than stop, start and clear:
    these find room when marks do not any more.  What is refused is counted.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceControl.h"
#include "TraceControlAppend.h"
#include "TraceControlFile.h"
#include "Asm.h"

//
// Places are made ready so many at once: whole pages.
//

#define CONTROL_STEP        TRACE_CONTROL_SPARE

#define CONTROL_PAGE_SIZE   0x1000
#define CONTROL_PAGE_PLACES (CONTROL_PAGE_SIZE / TRACE_CONTROL_ACTION_SIZE)

//
// How often a place is tried for, and how many marks are refused without a
// look whether the disk is still full.
//

#define CONTROL_TRIES       10000
#define CONTROL_REFUSALS    255

//
// How many places an action may lose: whoever has claimed one and gets no
// processor for a second finds it given up.
//

#define CONTROL_PLACES      16

C_ASSERT(CONTROL_STEP % CONTROL_PAGE_PLACES == 0);
C_ASSERT(TRACE_CONTROL_HEADER_SIZE % CONTROL_PAGE_SIZE == 0);

//
// Makes a page present and writable.
//

static
NTSTATUS
TraceControlTouch(
    _Inout_ PVOID Page
    )
{
    NTSTATUS Status;

    Status = STATUS_SUCCESS;
    __try {
        AsmTouchPages(Page, CONTROL_PAGE_SIZE);
    } __except (Status = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        if (NT_SUCCESS(Status)) {
            Status = STATUS_IN_PAGE_ERROR;
        }
    }

    return Status;
}

//
// Makes the pages of the next places present.
//

static
NTSTATUS
TraceControlPrepare(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Claimed,
    _In_ ULONG Needed
    )
{
    NTSTATUS Status;
    PTRACE_CONTROL_ACTION Place;
    ULONG End;
    ULONG Index;

    //
    // What is before was made ready by those who claimed it.
    //

    Index = (ULONG)Session->ControlReady;
    if (Index < Claimed) {
        Index = Claimed / CONTROL_PAGE_PLACES * CONTROL_PAGE_PLACES;
    }

    Status = STATUS_SUCCESS;
    End = (Needed + CONTROL_STEP - 1) / CONTROL_STEP * CONTROL_STEP;
    while (Index < End) {
        Status = TraceControlFind(Session, Index, TRUE, &Place);
        if (NT_SUCCESS(Status)) {
            Status = TraceControlTouch(Place);
        }
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Index += CONTROL_PAGE_PLACES;
        TraceControlRaise(&Session->ControlReady, Index);
    }

    return Status;
}

//
// Claims a place, whose page is there.
//

static
NTSTATUS
TraceControlClaim(
    _Inout_ PTRACE_SESSION Session,
    _In_ BOOLEAN IsSpare,
    _Out_ PULONG Index
    )
{
    NTSTATUS Status;
    LONG volatile *Place;
    LONG Found;
    ULONG Claimed;
    ULONG Needed;
    ULONG Seen;
    ULONG Try;

    Place = (LONG volatile *)&Session->Control->NumberClaimed;
    for (Try = 0; Try < CONTROL_TRIES; Try += 1) {

        //
        // This instance may not have looked for long.
        //

        Seen = TRACE_CONTROL_SEEN(Session);
        if (!TraceControlFetch(&Claimed, (ULONG volatile *)Place)) {
            return STATUS_IN_PAGE_ERROR;
        }
        if (Claimed - Seen > TRACE_CONTROL_AHEAD - TRACE_CONTROL_SPARE ||
            Claimed >= TRACE_CONTROL_MAXIMUM - 2 * TRACE_CONTROL_SPARE) {

            if (Try == 0) {
                TraceControlPoll(Session);
                continue;
            }
            return STATUS_FILE_CORRUPT_ERROR;
        }

        Needed = Claimed + 1 + (IsSpare ? TRACE_CONTROL_SPARE : 0);
        if (Needed > (ULONG)Session->ControlReady) {

            if (IsSpare && Session->ControlRefusals > 0) {
                InterlockedDecrement(&Session->ControlRefusals);
                return STATUS_DISK_FULL;
            }

            Status = TraceControlPrepare(Session, Claimed, Needed);
            if (!NT_SUCCESS(Status) &&
                (IsSpare || Claimed >= (ULONG)Session->ControlReady)) {

                InterlockedExchange(&Session->ControlRefusals,
                                    CONTROL_REFUSALS);
                return STATUS_DISK_FULL;
            }
        }

        if (!TraceControlSwap(Place,
                              (LONG)(Claimed + 1),
                              (LONG)Claimed,
                              &Found)) {

            return STATUS_IN_PAGE_ERROR;
        }
        if (Found == (LONG)Claimed) {
            *Index = Claimed;
            return STATUS_SUCCESS;
        }
    }

    return STATUS_RETRY;
}

//
// Counts an action that could not be written, where a reader sees it, and says
// why in the log, once.
//

static
VOID
TraceControlLeaveOut(
    _Inout_ PTRACE_SESSION Session,
    _In_ NTSTATUS Status
    )
{
    LONGLONG volatile *Place;
    LONGLONG Found;
    LONGLONG Old;
    ULONG Try;

    Place = (LONGLONG volatile *)&Session->Control->NumberLeftOut;
    Old = 0;
    for (Try = 0; Try < CONTROL_TRIES; Try += 1) {
        if (!TraceControlSwap64(Place, Old + 1, Old, &Found) || Found == Old) {
            break;
        }
        Old = Found;
    }

    if (InterlockedIncrement64(&Session->ControlLeftOut) == 1) {
        TraceControlReport(Session,
                           "appending to the control file",
                           Status,
                           "a mark or a request is left out; others may "
                           "follow");
    }
}

//
// Claims a place and fills it.
// Action: without its kind, which is written last, and its time.
// Returns STATUS_IO_TIMEOUT if the place has been given up meanwhile.
//

static
NTSTATUS
TraceControlTryAppend(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Kind,
    _Inout_ PTRACE_CONTROL_ACTION Action
    )
{
    LONG Found;
    NTSTATUS Status;
    PTRACE_CONTROL_ACTION Place;
    ULONG Before;
    ULONG Index;

    Status = TraceControlClaim(Session,
                               Kind == TRACE_ACTION_MARK ||
                               Kind == TRACE_ACTION_NAME,
                               &Index);
    if (NT_SUCCESS(Status)) {
        Status = TraceControlFind(Session, Index, FALSE, &Place);
    }
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Action->Timestamp = __rdtsc();
    if (!TraceControlFetch(&Before, (ULONG volatile *)&Place->Kind)) {
        return STATUS_IN_PAGE_ERROR;
    }
    if (Before != TRACE_ACTION_NONE) {
        return STATUS_IO_TIMEOUT;
    }
    if (!TraceControlCopy(&Place->ThreadId,
                          &Action->ThreadId,
                          sizeof(*Action) -
                          FIELD_OFFSET(TRACE_CONTROL_ACTION, ThreadId)) ||
        !TraceControlSwap((LONG volatile *)&Place->Kind,
                          (LONG)Kind,
                          TRACE_ACTION_NONE,
                          &Found)) {

        return STATUS_IN_PAGE_ERROR;
    }

    return Found == TRACE_ACTION_NONE ? STATUS_SUCCESS : STATUS_IO_TIMEOUT;
}

_Use_decl_annotations_
NTSTATUS
TraceControlAppend(
    PTRACE_SESSION Session,
    ULONG Kind,
    const CHAR *Text,
    ULONG LengthInBytes
    )
{
    LARGE_INTEGER Now;
    NTSTATUS Status;
    TRACE_CONTROL_ACTION Action;
    ULONG Length;
    ULONG Try;

    if (Session->Control == NULL || Session->ControlFailed) {
        return STATUS_NOT_FOUND;
    }

    Length = LengthInBytes;
    if (Length > sizeof(Action.Text)) {
        Length = sizeof(Action.Text);
        while (Length > 0 && ((UCHAR)Text[Length] & 0xC0) == 0x80) {
            Length -= 1;
        }
    }

    RtlZeroBytes(&Action, sizeof(Action));
    RtlCopyBytes(Action.Text, Text, Length);
    Action.TextLength = Length;
    Action.ThreadId = __readgsdword(TEB_THREAD_ID);

    Status = STATUS_IO_TIMEOUT;
    for (Try = 0; Try < CONTROL_PLACES && Status == STATUS_IO_TIMEOUT;
         Try += 1) {

        Now.QuadPart = 0;
        Session->Rtl.NtQuerySystemTime(&Now);
        Action.SystemTime = (ULONGLONG)Now.QuadPart;
        Status = TraceControlTryAppend(Session, Kind, &Action);
    }

    if (Status == STATUS_IN_PAGE_ERROR) {
        TraceControlFail(Session, "writing the control file", Status);
    }

    if (!NT_SUCCESS(Status)) {
        TraceControlLeaveOut(Session, Status);
    }

    return Status;
}
