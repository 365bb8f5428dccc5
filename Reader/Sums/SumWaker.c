/*++

Module Name:

    SumWaker.c

Abstract:

    What a thread did during single calls, and who made it ready.

    Who did is a thread that ran at that time.  If it is one of the session's,
    its records say which function it was in: it is read once, and asked at each
    of its events about the times since the one before.

--*/

#include "SumWaker.h"

typedef struct _READER_WAKER {
    PREADER_CALL_STATES Calls;
    ULONG Count;
    ULONG Thread;                   // that is asked, index
    ULONG Function;                 // that it is in; READER_NONE: none
    BOOLEAN IsEnding;               // only open calls come
} READER_WAKER;
typedef READER_WAKER *PREADER_WAKER;


//
// Finds the session's thread of an identifier at a time; READER_NONE: there is
// none.
//

static
ULONG
SumWakerFindThread(
    _In_ const READER_SESSION *Session,
    _In_ ULONG ThreadId,
    _In_ ULONGLONG Timestamp
    )
{
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfThreads; Index++) {

        const READER_THREAD *Thread = &Session->Threads[Index];

        if (Thread->ThreadId == ThreadId &&
            Thread->FirstTimestamp <= Timestamp &&
            (Thread->LastTimestamp >= Timestamp ||
             Thread->EndTimestamp >= Timestamp)) {
            return Index;
        }
    }

    return READER_NONE;
}


//
// Answers what was asked about the times before one.
//

static
VOID
SumWakerAnswer(
    _In_ PREADER_WAKER Waker,
    _In_ ULONGLONG Before
    )
{
    PREADER_CALL_STATES Call;
    ULONG Index;

    for (Index = 0; Index < Waker->Count; Index++) {

        Call = &Waker->Calls[Index];
        if (Call->HasWaited && !Call->IsAnswered &&
            Call->Waker == Waker->Thread && Call->Wait.End < Before) {
            Call->Function = Waker->Function;
            Call->IsAnswered = TRUE;
        }
    }
}


_Use_decl_annotations_
static
NTSTATUS
SumWakerEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
{
    PREADER_WAKER Waker = (PREADER_WAKER)Walk->Context;
    PCORE_FRAME Frame;

    (VOID)IsBegunBefore;
    if (Walk->Thread != Waker->Thread || Waker->IsEnding) {
        return STATUS_SUCCESS;
    }

    //
    // What is open at the end has been open since, as far as is known.
    //

    if (Event->Kind == CoreEventOpen) {
        Waker->IsEnding = TRUE;
        SumWakerAnswer(Waker, READER_MAXIMUM_TIMESTAMP);
        return STATUS_SUCCESS;
    }

    SumWakerAnswer(Waker, Event->Timestamp);
    Frame = CoreCurrentFrame(&Walk->Stream->Pair);
    Waker->Function = Frame != NULL ? Frame->Function : READER_NONE;
    return STATUS_SUCCESS;
}


//
// Asks a thread about all of the calls.
//

static
VOID
SumWakerAsk(
    _Inout_ PREADER_FUNCTIONS Functions,
    _In_ PCREADER_OPTIONS Options,
    _Inout_updates_(Count) PREADER_CALL_STATES Calls,
    _In_ ULONG Count,
    _In_ ULONG Thread
    )
{
    READER_WAKER Waker = { Calls, Count, Thread, READER_NONE, FALSE };
    READER_OPTIONS Only = *Options;
    READER_RANGE Range;
    READER_WALK Walk;
    ULONG Index;

    RtlZeroBytes(&Range, sizeof(Range));
    Range.End = READER_MAXIMUM_TIMESTAMP;
    Only.Given |= READER_OPTION_THREAD;
    Only.ThreadId = Functions->Session->Threads[Thread].ThreadId;
    RtlZeroBytes(&Walk, sizeof(Walk));
    Walk.Functions = Functions;
    Walk.Range = &Range;
    Walk.Options = &Only;
    Walk.Event = SumWakerEvent;
    Walk.Context = &Waker;
    Walk.IsSilent = TRUE;
    (VOID)CallWalkThreads(&Walk);
    for (Index = 0; Index < Count; Index++) {
        Calls[Index].IsAnswered |= Calls[Index].Waker == Thread;
    }
}


_Use_decl_annotations_
VOID
SumWakerDescribe(
    PCREADER_ETL Etl,
    PREADER_FUNCTIONS Functions,
    PCREADER_OPTIONS Options,
    PREADER_CALL_STATES Calls,
    ULONG Count
    )
{
    const READER_SESSION *Session = Etl->Session;
    PREADER_CALL_STATES Call;
    PCREADER_PROCESS Process;
    ULONGLONG End;
    ULONG Index;

    for (Index = 0; Index < Count; Index++) {

        Call = &Calls[Index];
        End = SumEtlFindEnd(Etl, Call->Thread, Call->Start, Call->Ticks);
        SumEtlQuery(Etl,
                    Call->Thread,
                    Call->Start,
                    End,
                    Call->Ticks,
                    &Call->Sums);
        Call->HasWaited = EtlFindWait(&Etl->States,
                                      Call->Thread,
                                      Call->Start,
                                      End,
                                      &Call->Wait);
        Call->IsAnswered = FALSE;
        Call->Waker = READER_NONE;
        Call->Process = READER_NONE;
        Call->Name = NULL;
        Call->Function = READER_NONE;
        if (!Call->HasWaited || Call->Wait.IsInterrupt ||
            Call->Wait.By == ETL_NO_THREAD) {
            continue;
        }

        Call->Waker = SumWakerFindThread(Session,
                                         Call->Wait.By,
                                         Call->Wait.End);
        if (Call->Waker != READER_NONE) {

            Process =
                &Session->Processes[Session->Threads[Call->Waker].Process];
            Call->Process = Process->Header->ProcessId;
            Call->Name = Process->Name;
            Call->NameLength = Process->NameLength;

        } else {

            Call->Process = EtlFindProcess(&Etl->States,
                                           Call->Wait.By,
                                           Call->Wait.End);
            Call->Name = EtlFindProcessName(&Etl->States,
                                            Call->Process,
                                            Call->Wait.End,
                                            &Call->NameLength);
        }
    }

    for (Index = 0; Index < Count; Index++) {
        if (Calls[Index].Waker != READER_NONE && !Calls[Index].IsAnswered) {
            SumWakerAsk(Functions, Options, Calls, Count, Calls[Index].Waker);
        }
    }
}


_Use_decl_annotations_
VOID
SumWakerPut(
    PREADER_OUTPUT Output,
    const READER_FUNCTIONS *Functions,
    PCREADER_CALL_STATES Call
    )
{
    BOOLEAN IsText = Output->Format == ReaderFormatText;
    BOOLEAN IsThread = Call->HasWaited && !Call->Wait.IsInterrupt &&
                       Call->Wait.By != ETL_NO_THREAD;
    PCSZ Reason = NULL;
    RTL_WRITER Writer;
    CHAR Text[128];

    SumEtlPutSums(Output, &Call->Sums);
    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (Call->HasWaited) {
        Reason = EtlNameReason(Call->Wait.Reason);
        if (Reason != NULL) {
            RtlWriteText(&Writer, "%s", Reason);
        } else {
            RtlWriteText(&Writer, "reason %u", Call->Wait.Reason);
        }

        OutputPutText(Output, Text, Writer.LengthInBytes);
    } else {
        OutputPutNothing(Output);
    }

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    if (Call->HasWaited && Call->Wait.IsInterrupt) {
        OutputPutString(Output, "interrupt");
    } else if (!IsThread) {
        OutputPutNothing(Output);
    } else if (!IsText) {
        OutputPutString(Output, "thread");
    } else {
        RtlWriteText(&Writer, "%u", Call->Wait.By);
        if (Call->Name != NULL) {
            RtlWriteText(&Writer, " of ");
            RtlWriteCleanText(&Writer, Call->Name, Call->NameLength);
        } else if (Call->Process != READER_NONE) {
            RtlWriteText(&Writer, " of process %u", Call->Process);
        }

        OutputPutText(Output, Text, Writer.LengthInBytes);
    }

    if (IsThread) {
        OutputPutNumber(Output, Call->Wait.By);
    } else {
        OutputPutNothing(Output);
    }

    if (IsThread && Call->Process != READER_NONE) {
        OutputPutNumber(Output, Call->Process);
    } else {
        OutputPutNothing(Output);
    }

    if (IsThread && Call->Name != NULL) {
        OutputPutText(Output, Call->Name, Call->NameLength);
    } else {
        OutputPutNothing(Output);
    }

    if (Call->Function != READER_NONE) {
        OutputPutText(Output,
                      Functions->Functions[Call->Function].Name,
                      Functions->Functions[Call->Function].NameLength);
    } else {
        OutputPutNothing(Output);
    }
}
