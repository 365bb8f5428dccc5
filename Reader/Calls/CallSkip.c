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

//
// Gives a stream the tally, and moves it to the last mark before a time.
// Timestamp: 0: to none.
//

_Must_inspect_result_
static
NTSTATUS
CallBeginSkip(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONGLONG Timestamp,
    _Out_ PBOOLEAN IsRestored
    )
{
    PREADER_LOCK Lock = Tally->Lock;
    NTSTATUS Status;

    *IsRestored = FALSE;

    //
    // Looking a site up takes the lock, which is held here.
    //

    BaseAcquireLock(Lock);
    Tally->Lock = NULL;
    Status = CallPrepareTally(Tally);
    if (NT_SUCCESS(Status)) {
        CallSetStreamTally(Stream, Tally);
        if (Timestamp != 0) {
            *IsRestored = CallRestoreStream(Tally, Stream, Timestamp);
        }
    }

    Tally->Lock = Lock;
    BaseReleaseLock(Lock);
    return Status;
}

//
// Takes the tally from the stream: its frames' functions are the table's now.
// Returns how many frames there are.
//

static
ULONGLONG
CallEndSkip(
    _In_ const READER_TALLY *Tally,
    _Inout_ PREADER_STREAM Stream
    )
{
    ULONGLONG NumberOfFrames = 0;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    SIZE_T Depth;
    ULONG Index;

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {
        Stack = &Stream->Pair.Stacks[Index];
        NumberOfFrames += Stack->NumberOfFrames;
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Frame = &Stack->Frames[Depth];
            Frame->Function = Tally->List[Frame->Function].Function;
        }
    }

    CallSetStreamTally(Stream, NULL);
    return NumberOfFrames;
}

_Use_decl_annotations_
NTSTATUS
CallSkipCounted(
    PREADER_TALLY Tally,
    PREADER_STREAM Stream,
    PULONGLONG NumberOfCalls
    )
{
    PCALLOCATOR Allocator = Stream->Session->Context->Allocator;
    PREADER_COUNTED Counted;
    ULONGLONG NumberOfEntries;
    ULONGLONG NumberOfFrames;
    BOOLEAN IsRestored = FALSE;
    NTSTATUS Status;

    *NumberOfCalls = 0;
    if (READER_CLEAR_OF(Stream->Session,
                        Stream->Session->Threads[Stream->Thread].Process) !=
        0) {
        return CallSkipStream(Tally, Stream, 0);
    }

    Counted = (PREADER_COUNTED)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Stream->NumberOfStores + 1) *
                                sizeof(READER_COUNTED));
    if (Counted == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (!CallCountByIndex(Stream, Counted, &NumberOfEntries)) {
        NumberOfEntries = 0;
    }

    Allocator->Free(Allocator->Context, Counted);
    if (NumberOfEntries == 0) {
        return STATUS_SUCCESS;
    }

    Status = CallBeginSkip(Tally,
                           Stream,
                           READER_MAXIMUM_TIMESTAMP,
                           &IsRestored);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    NumberOfFrames = CallEndSkip(Tally, Stream);
    if (IsRestored && NumberOfEntries > NumberOfFrames) {
        *NumberOfCalls = NumberOfEntries - NumberOfFrames;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
CallSkipStream(
    PREADER_TALLY Tally,
    PREADER_STREAM Stream,
    ULONGLONG Timestamp
    )
{
    PREADER_SESSION Session = Stream->Session;
    CORE_EVENT Event;
    ULONGLONG Clear = READER_CLEAR_OF(
        Session,
        Session->Threads[Stream->Thread].Process);
    BOOLEAN IsLive = Stream->IsLive;
    ULONGLONG Horizon = Stream->Horizon;
    ULONGLONG Counted = 0;
    BOOLEAN IsRestored;
    NTSTATUS Status;

    if (Timestamp < Clear) {
        Timestamp = Clear;
    }

    Stream->Start = Timestamp;
    if (Timestamp == 0) {
        return STATUS_SUCCESS;
    }

    Status = CallBeginSkip(Tally,
                           Stream,
                           Tally->IsFromStart ? 0 : Timestamp,
                           &IsRestored);
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

    Tally->NumberOfRecords += Stream->NumberOfRecords - Counted;
    Stream->Horizon = Horizon;
    Stream->IsLive = IsLive;
    (VOID)CallEndSkip(Tally, Stream);
    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}
