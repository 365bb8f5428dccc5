/*++

Module Name:

    CallSkip.c

Abstract:

    Passes over what comes before a time in a thread's events.

--*/

#include "../Session/SessionControl.h"
#include "CallIndex.h"
#include "CallSiteTable.h"
#include "CallSkip.h"

_Use_decl_annotations_
NTSTATUS
CallSkipStream(
    PREADER_TALLY Tally,
    PREADER_STREAM Stream,
    ULONGLONG Timestamp
    )
{
    PREADER_SESSION Session = Stream->Session;
    PREADER_LOCK Lock = Tally->Lock;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    CORE_EVENT Event;
    ULONGLONG Clear = READER_CLEAR_OF(
        Session,
        Session->Threads[Stream->Thread].Process);
    BOOLEAN IsLive = Stream->IsLive;
    ULONGLONG Horizon = Stream->Horizon;
    ULONGLONG Counted = 0;
    SIZE_T Depth;
    ULONG Index;
    NTSTATUS Status;

    if (Timestamp < Clear) {
        Timestamp = Clear;
    }

    Stream->Start = Timestamp;
    if (Timestamp == 0) {
        return STATUS_SUCCESS;
    }

    //
    // Looking a site up takes the lock, which is held here.
    //

    BaseAcquireLock(Lock);
    Tally->Lock = NULL;
    Status = CallPrepareTally(Tally);
    if (NT_SUCCESS(Status)) {
        CallSetStreamTally(Stream, Tally);
        if (!Tally->IsFromStart) {
            (VOID)CallRestoreStream(Tally, Stream, Timestamp);
        }
    }

    Tally->Lock = Lock;
    BaseReleaseLock(Lock);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // A stream that goes on does not end its frames at the horizon.
    //

    Stream->IsLive = TRUE;
    Stream->Horizon = Timestamp - 1;

    do {
        Status = Tally->IsGeneral ? STATUS_SUCCESS : CallRunStream(Stream);
        Tally->NumberOfRecords += Stream->NumberOfRecords - Counted;
        Counted = Stream->NumberOfRecords;
        if (Tally->Progress != NULL) {
            Tally->Progress(Tally->ProgressContext);
        }

        if (NT_SUCCESS(Status) && Session->IsWanted != NULL &&
            !Session->IsWanted(Session->WantedContext)) {
            Status = STATUS_CANCELLED;
        }

        do {
            if (NT_SUCCESS(Status)) {
                Status = CallNextEvent(Stream, &Event);
            }
            if (NT_SUCCESS(Status)) {
                Status = CallTallyEvent(Tally, &Event);
            }
        } while (NT_SUCCESS(Status) && Stream->Pair.IsPending);
    } while (NT_SUCCESS(Status));

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {
        Stack = &Stream->Pair.Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Frame = &Stack->Frames[Depth];
            Frame->Function = Tally->List[Frame->Function].Function;
        }
    }

    Tally->NumberOfRecords += Stream->NumberOfRecords - Counted;
    Stream->Horizon = Horizon;
    Stream->IsLive = IsLive;
    CallSetStreamTally(Stream, NULL);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}
