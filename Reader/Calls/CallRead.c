/*++

Module Name:

    CallRead.c

Abstract:

    The one walk over a thread's calls.

--*/

#include "CallRead.h"
#include "CallSkip.h"


//
// Moves a stream that was just opened to where a tally's range begins, and
// shows the frames that are open there.
//

_Must_inspect_result_
static
NTSTATUS
CallBeginRange(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PREADER_STREAM Stream,
    _In_ PCREADER_VISITOR Visitor,
    _In_ PVOID Context
    )
{
    PCORE_STACK Stack;
    SIZE_T Depth;
    ULONG Track;
    NTSTATUS Status;

    Status = CallSkipStream(Tally->Before, Stream, Tally->Range->Start);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    CallClipStream(Stream, Tally->Range->Start, Tally->Range->End);
    if (Stream->IsFinished) {
        return STATUS_SUCCESS;
    }

    for (Track = 0; Track < Stream->Pair.NumberOfStacks; Track++) {

        Stack = &Stream->Pair.Stacks[Track];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Status = Visitor->Open(Context,
                                   Stream,
                                   Track,
                                   (ULONG)Depth,
                                   &Stack->Frames[Depth]);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
CallReadThread(
    PREADER_TALLY Tally,
    ULONG ThreadIndex,
    PCREADER_VISITOR Visitor,
    PVOID Context
    )
{
    PREADER_SESSION Session = Tally->Functions->Session;
    READER_STREAM Stream;
    CORE_EVENT Event;
    ULONGLONG Counted = 0;
    BOOLEAN IsQuiet = Tally->Functions->IsQuiet;
    NTSTATUS Status;

    Tally->Thread = ThreadIndex;
    if (Tally->Range != NULL) {
        Tally->Before->Thread = ThreadIndex;
    }

    BaseAcquireLock(Tally->Lock);
    Status = CallPrepareTally(Tally);
    if (NT_SUCCESS(Status)) {
        Status = CallOpenStream(&Stream, Session, ThreadIndex, FALSE);
    } else {
        RtlZeroBytes(&Stream, sizeof(Stream));
        Stream.Session = Session;
    }

    BaseReleaseLock(Tally->Lock);

    if (NT_SUCCESS(Status)) {
        if (Tally->Range != NULL) {
            Status = CallBeginRange(Tally, &Stream, Visitor, Context);
        }

        Counted = Stream.NumberOfRecords;
        CallSetStreamTally(&Stream, Tally);
    }

    while (NT_SUCCESS(Status)) {

        if (!Tally->IsGeneral) {
            Status = CallRunStream(&Stream);
            if (!NT_SUCCESS(Status)) {
                break;
            }
        }

        Tally->NumberOfRecords += Stream.NumberOfRecords - Counted;
        Counted = Stream.NumberOfRecords;
        if (Tally->Progress != NULL) {
            Tally->Progress(Tally->ProgressContext);
        }

        if (Session->IsWanted != NULL &&
            !Session->IsWanted(Session->WantedContext)) {
            Status = STATUS_CANCELLED;
            break;
        }

        do {
            Status = CallNextEvent(&Stream, &Event);
            if (NT_SUCCESS(Status)) {
                Status = Visitor->Event(Context, &Stream, &Event);
            }
        } while (NT_SUCCESS(Status) && Stream.Pair.IsPending);
    }

    Tally->NumberOfRecords += Stream.NumberOfRecords - Counted;
    Tally->NumberOfOrdinary += Stream.NumberOfOrdinary;
    BaseAcquireLock(Tally->Lock);
    if (Tally->IsSaidAtOnce) {
        CallSetStreamTally(&Stream, NULL);
    }

    CallCloseStream(&Stream);
    if (Status == STATUS_END_OF_FILE) {

        //
        // The functions of trees are not the tally's to say anything of.
        //

        Tally->Functions->IsQuiet = IsQuiet && !Tally->IsSaidAtOnce;
        Status = Visitor->Trees != NULL ? Visitor->Trees(Context, ThreadIndex)
                                        : STATUS_SUCCESS;
        Tally->Functions->IsQuiet = IsQuiet;
    }

    BaseReleaseLock(Tally->Lock);
    return Status;
}
