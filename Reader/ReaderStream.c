/*++

Module Name:

    ReaderStream.c

Abstract:

    One thread's events.  A thread that called several modules has a store for
    each; their records are merged by time before they are paired, so that a
    call from one module into another nests as it ran.

--*/

#include "ReaderProbe.h"
#include "Reader.h"


static
PCTRACE_STORE_HEADER
ReaderFindStack(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    )
/*++

Routine Description:

    Finds the header that says where a thread's own stack is: one that was not
    made on a fiber, if there is one.

Arguments:

    Session - The session.

    Thread - The thread's index.

Return Value:

    The header.

--*/
{
    PCTRACE_STORE_HEADER Header;
    ULONG First = Session->Threads[Thread].FirstStore;
    ULONG Index;

    for (Index = First;
         Index != READER_NONE;
         Index = Session->Stores[Index]->NextInThread) {

        Header = Session->Stores[Index]->Header;
        if ((Header->Flags & TRACE_FLAG_FIBER) == 0) {
            return Header;
        }
    }

    return Session->Stores[First]->Header;
}


_Must_inspect_result_
static
NTSTATUS
ReaderAttachStore(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONG StoreIndex
    )
/*++

Routine Description:

    Adds a store to a stream and opens it.

Arguments:

    Stream - The stream.

    StoreIndex - The store.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_STORE Store = Session->Stores[StoreIndex];
    PREADER_STREAM_STORE Part;
    PCTRACE_STORE_HEADER Header;
    NTSTATUS Status;

    Status = ReaderGrowArray(Allocator,
                             (PVOID *)&Stream->Stores,
                             &Stream->CapacityOfStores,
                             Stream->NumberOfStores + 1,
                             sizeof(PREADER_STREAM_STORE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Part = (PREADER_STREAM_STORE)
        Allocator->Allocate(Allocator->Context, sizeof(READER_STREAM_STORE));
    if (Part == NULL) {
        return STATUS_NO_MEMORY;
    }

    Part->Store = StoreIndex;
    Part->Module = Store->Module;
    Part->Head = NULL;
    Part->Entered = 0;
    Part->IsEnded = FALSE;

    Status = ReaderOpenSessionStore(Session, Store);
    if (NT_SUCCESS(Status) && Store->HeaderResult.State != CoreHeaderValid) {
        Store->Status = STATUS_FILE_INVALID;
        Store->FailedStep = "read the header again";
        Status = STATUS_FILE_INVALID;
    }

    if (NT_SUCCESS(Status)) {
        Status = ReaderInitializeIterator(&Part->Iterator,
                                          Session->Context,
                                          Store);
    }

    if (NT_SUCCESS(Status) && !Stream->IsPaired) {
        Header = ReaderFindStack(Session, Stream->Thread);
        Status = CoreInitializePair(&Stream->Pair,
                                    Allocator,
                                    Header->StackBase,
                                    Header->StackLimit);
        Stream->IsPaired = NT_SUCCESS(Status);
        Stream->Pair.CountInlined = ReaderCountInlinedInSession;
        Stream->Pair.InlineContext = Session;
    }

    if (!NT_SUCCESS(Status)) {
        ReaderRundownIterator(&Part->Iterator);
        ReaderCloseStore(Session->Context, Store);
        Allocator->Free(Allocator->Context, Part);
        return Status;
    }

    Stream->Stores[Stream->NumberOfStores] = Part;
    Stream->NumberOfStores += 1;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderAttachNewStores(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Adds those of the thread's stores of records that the stream does not have:
    they are the last ones in the thread's list.

Arguments:

    Stream - The stream.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    ULONG StoreIndex = Session->Threads[Stream->Thread].FirstStore;
    ULONG Position;
    NTSTATUS Status;

    for (Position = 0; StoreIndex != READER_NONE;) {

        if (!Session->Stores[StoreIndex]->IsTree &&
            !ReaderIsAside(Session, Session->Stores[StoreIndex])) {

            if (Position >= Stream->NumberOfStores) {
                Status = ReaderAttachStore(Stream, StoreIndex);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }

            Position += 1;
        }

        StoreIndex = Session->Stores[StoreIndex]->NextInThread;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
NTSTATUS
ReaderOpenStream(
    PREADER_STREAM Stream,
    PREADER_SESSION Session,
    ULONG Thread,
    BOOLEAN IsLive
    )
/*++

Routine Description:

    Opens a thread's events.

Arguments:

    Stream - Receives the stream; to be closed even after a failure.

    Session - The session.

    Thread - Its index.

    IsLive - Whether more may come.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    NTSTATUS Status;

    RtlZeroBytes(Stream, sizeof(*Stream));
    Stream->Session = Session;
    Stream->Thread = Thread;
    Stream->IsLive = IsLive;
    Stream->Horizon = READER_MAXIMUM_TIMESTAMP;
    Stream->PauseHash = READER_CONTROL_OF_THREAD(Session, Thread)->PauseHash;

    Status = ReaderAttachNewStores(Stream);
    ReaderSetStreamPause(Stream);
    if (NT_SUCCESS(Status) && Stream->NumberOfStores != 0) {
        ReaderOpenIndex(Stream);
        Status = ReaderOpenProbe(Session, &Stream->Probe);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
ReaderRefreshStream(
    PREADER_STREAM Stream,
    ULONGLONG Horizon
    )
/*++

Routine Description:

    Takes the ends of the thread's stores again.

    The stores' ends cannot be taken at one moment.  The thread writes its
    records in the order of their time stamps, so every record that is not
    later than a reading of the counter made before is there when the ends are
    taken; those that are later wait for the next time.

Arguments:

    Stream - The stream.

    Horizon - The time stamp of the last record to let through, read before
        the session was refreshed.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    ULONG Index;
    NTSTATUS Status;

    Stream->Horizon = Horizon;
    Status = ReaderAttachNewStores(Stream);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderSetStreamPause(Stream);
    if (Stream->Index != NULL &&
        Stream->PauseHash !=
            READER_CONTROL_OF_THREAD(Session, Stream->Thread)->PauseHash) {

        //
        // What was read before may lie in a pause that was not known of.
        //

        Stream->Index->Due = READER_MAXIMUM_TIMESTAMP;
    }

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Stream->Stores[Index]->Store];
        ULONGLONG OldEnd = Store->EndOfRecords;

        if (Store->Header->Clock == TRACE_CLOCK_NONE) {
            Stream->Horizon = READER_MAXIMUM_TIMESTAMP;
        }

        Store->IsWriterGone = ReaderIsWriterGone(Session, Store);
        Status = ReaderRefreshStore(Session->Context, Store);
        if (Status == STATUS_RETRY) {

            //
            // The writer was busy; its next state of rest will do.
            //

            Store->Status = STATUS_SUCCESS;
            Store->EndOfRecords = OldEnd;
            continue;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Store->EndOfRecords < OldEnd) {
            Store->EndOfRecords = OldEnd;
        }

        //
        // The other stores' records wait for those that may yet vanish.
        //

        if (Stream->NumberOfStores > 1 && Store->TailTimestamp != 0 &&
            Store->TailTimestamp - 1 < Stream->Horizon) {
            Stream->Horizon = Store->TailTimestamp - 1;
        }
    }

    return STATUS_SUCCESS;
}


static
BOOLEAN
ReaderIsEarlier(
    _In_ PCTRACE_RECORD First,
    _In_ PCTRACE_RECORD Second
    )
/*++

Routine Description:

    Decides which of two records of one thread, in different stores, came
    first.

    Time stamps of a clock thread are often equal.  Then the stack pointers
    tell, as far as they can: of two entries the outer one was first, of two
    exits the inner one, of an entry and an exit the one that is deeper, and
    the exit at the same place.

Arguments:

    First, Second - The records.

Return Value:

    TRUE if First did.

--*/
{
    BOOLEAN IsFirstEntry = (First->StackKind & 1) != 0;
    BOOLEAN IsSecondEntry = (Second->StackKind & 1) != 0;
    LONG Difference = (LONG)((First->StackKind & ~TRACE_KIND_MASK) -
                             (Second->StackKind & ~TRACE_KIND_MASK));

    if (First->Timestamp != Second->Timestamp) {
        return First->Timestamp < Second->Timestamp;
    }

    if (IsFirstEntry && IsSecondEntry) {
        return Difference > 0;
    }

    if (Difference == 0) {
        return !IsFirstEntry && IsSecondEntry;
    }

    return Difference < 0;
}


static
VOID
ReaderBreakPair(
    _Inout_ PCORE_PAIR Pair
    )
/*++

Routine Description:

    Ends the open frames where records are missing: what became of them is
    not known.

Arguments:

    Pair - The pairing, with no events left to take.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
        Pair->Stacks[Index].JumpTarget = 0;
    }

    CoreFinishPair(Pair);
}


static
VOID
ReaderMarkEvent(
    _In_ const READER_STREAM *Stream,
    _Inout_ PCORE_EVENT Event
    )
/*++

Routine Description:

    Says of an event what the clock did, and takes times away where there is
    none.

Arguments:

    Stream - The stream.

    Event - Its event.

Return Value:

    None.

--*/
{
    Event->IsAfterJump = Stream->IsAfterJump;
    Event->IsUncertain = FALSE;
    Event->InclusiveProbe = 0;
    Event->SelfProbe = 0;

    if (Event->Kind == CoreEventEnter) {
        Event->Frame->NumberOfJumps = Stream->NumberOfJumps;
    } else if (Event->Frame != NULL) {
        Event->IsUncertain = Event->Frame->NumberOfJumps !=
                             Stream->NumberOfJumps;
        Event->EnterTimestamp = ReaderFindEntry(Stream, Event->Frame);
    }

    if (Stream->Session->Clock.Kind == TRACE_CLOCK_NONE) {
        Event->InclusiveTicks = 0;
        Event->SelfTicks = 0;
    }
}


static
VOID
ReaderNoteEntries(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_STREAM_STORE Part,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
/*++

Routine Description:

    Notes in which order the first entries of the stores come.

Arguments:

    Stream - The stream.

    Part - One of its stores.

    Records, NumberOfRecords - What was taken from it, valid.

Return Value:

    None.

--*/
{
    ULONG Index;

    for (Index = 0; Part->Entered == 0 && Index < NumberOfRecords; Index++) {
        if ((Records[Index].StackKind & 1) != 0) {
            Stream->NumberEntered += 1;
            Part->Entered = Stream->NumberEntered;
        }
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderFillHead(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_STREAM_STORE Part
    )
/*++

Routine Description:

    Sees to it that a store's next record is at hand, if there is one.

Arguments:

    Stream - The stream.

    Part - One of its stores.

Return Value:

    STATUS_SUCCESS - Head may be NULL all the same: there is none (yet).

    Otherwise what failed.

--*/
{
    NTSTATUS Status;

    if (Part->Head != NULL || Part->IsEnded) {
        return STATUS_SUCCESS;
    }

    Status = ReaderNextRecord(&Part->Iterator, &Part->Head);
    if (NT_SUCCESS(Status)) {
        return STATUS_SUCCESS;
    }

    Part->Head = NULL;
    if (Status != STATUS_END_OF_FILE) {
        return Status;
    }

    Part->IsEnded = !Stream->IsLive;
    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
ReaderSetStreamPause(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Finds a stream's next pause.

Arguments:

    Stream - The stream, with nothing left to take.

Return Value:

    None.

--*/
{
    PCREADER_CONTROL Control =
        READER_CONTROL_OF_THREAD(Stream->Session, Stream->Thread);
    ULONGLONG Timestamp = Stream->LastTimestamp;

    if (Stream->Pair.StartTimestamp > Timestamp) {
        Timestamp = Stream->Pair.StartTimestamp;
    }

    Stream->Pause = ReaderFindPause(Control, Timestamp);
    Stream->NextStop = READER_MAXIMUM_TIMESTAMP;
    if (Stream->Pause < Control->NumberOfPauses) {
        Stream->NextStop = Control->Pauses[Stream->Pause].Stop;
    }

    //
    // The frames of a stream that did not begin at its beginning.
    //

    if (Stream->Pause != 0 && Stream->Pair.StartTimestamp == 0) {
        Stream->Pair.StopTimestamp = Control->Pauses[Stream->Pause - 1].Stop;
        Stream->Pair.StartTimestamp = Control->Pauses[Stream->Pause - 1].Start;
    }
}


_Use_decl_annotations_
ULONGLONG
ReaderPassPauses(
    PREADER_STREAM Stream,
    ULONGLONG Timestamp
    )
/*++

Routine Description:

    Passes the pauses that are over at a time.

Arguments:

    Stream - The stream, with nothing left to take.

    Timestamp - The time.

Return Value:

    The time, or the beginning of the pause that it is in.

--*/
{
    PCREADER_CONTROL Control =
        READER_CONTROL_OF_THREAD(Stream->Session, Stream->Thread);
    PCCORE_PAUSE Pause;

    while (Stream->Pause < Control->NumberOfPauses) {

        Pause = &Control->Pauses[Stream->Pause];
        if (Timestamp < Pause->Stop) {
            break;
        }

        if (Timestamp < Pause->Start ||
            Pause->Start == READER_MAXIMUM_TIMESTAMP) {
            Timestamp = Pause->Stop;
            break;
        }

        CorePausePair(&Stream->Pair, Pause->Stop, Pause->Start);
        Stream->Pause += 1;
    }

    Stream->NextStop = READER_MAXIMUM_TIMESTAMP;
    if (Stream->Pause < Control->NumberOfPauses) {
        Stream->NextStop = Control->Pauses[Stream->Pause].Stop;
    }

    return Timestamp;
}


_Use_decl_annotations_
ULONGLONG
ReaderFindEntry(
    const READER_STREAM *Stream,
    const CORE_FRAME *Frame
    )
/*++

Routine Description:

    Finds when a frame was entered.

Arguments:

    Stream - The stream.

    Frame - One of its open frames, or one that an event has just ended.

Return Value:

    Its time stamp.

--*/
{
    PCREADER_CONTROL Control =
        READER_CONTROL_OF_THREAD(Stream->Session, Stream->Thread);
    ULONGLONG Timestamp = Frame->EnterTimestamp;
    PCCORE_PAUSE Pause;
    ULONG Index;

    if ((Frame->Flags & CORE_FRAME_STALE) == 0) {
        return Timestamp;
    }

    for (Index = Stream->Pause; Index != 0; Index--) {

        Pause = &Control->Pauses[Index - 1];
        if (Timestamp >= Pause->Start) {
            break;
        }

        Timestamp -= Pause->Start - Pause->Stop;
    }

    return Timestamp;
}


_Must_inspect_result_
static
NTSTATUS
ReaderNextCall(
    _Inout_ PREADER_STREAM Stream,
    _Out_ PCORE_CALL Call
    )
/*++

Routine Description:

    Takes the earliest record of the thread's stores.

Arguments:

    Stream - The stream.

    Call - Receives it.

Return Value:

    STATUS_SUCCESS, STATUS_END_OF_FILE, STATUS_RETRY (records before it were
    overtaken: the frames that are open are to be ended first),
    STATUS_MORE_ENTRIES (it was left out) or what failed.

--*/
{
    PREADER_STREAM_STORE Best = NULL;
    PREADER_STREAM_STORE Part;
    ULONGLONG Timestamp;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];

        Status = ReaderFillHead(Stream, Part);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Part->Head == NULL) {
            continue;
        }

        if (Best == NULL || ReaderIsEarlier(Part->Head, Best->Head)) {
            Best = Part;
        }
    }

    if (READER_IS_MARK_DUE(Stream)) {
        ReaderMarkStream(Stream);
    }

    if (Best == NULL || Best->Head->Timestamp > Stream->Horizon) {
        return STATUS_END_OF_FILE;
    }

    if (Best->Iterator.IsAfterGap) {
        Best->Iterator.IsAfterGap = FALSE;
        return STATUS_RETRY;
    }

    if (Best->Head->Timestamp >= Stream->NextStop) {

        //
        // What was recorded before the program knew that it was to stop is as
        // if it had not been.
        //

        Timestamp = ReaderPassPauses(Stream, Best->Head->Timestamp);
        if (Timestamp != Best->Head->Timestamp ||
            Timestamp == Stream->NextStop) {
            Stream->LastStop = Timestamp;
            Stream->NumberOfRecords += 1;
            Best->Head = NULL;
            return STATUS_MORE_ENTRIES;
        }
    }

    Call->Timestamp = Best->Head->Timestamp +
                      Stream->Session->Threads[Stream->Thread].TimestampBase;
    Stream->IsAfterJump =
        Stream->Session->JumpTicks != 0 &&
        Stream->LastTimestamp != 0 &&
        Call->Timestamp > Stream->LastTimestamp &&
        Call->Timestamp - Stream->LastTimestamp > Stream->Session->JumpTicks;
    Stream->NumberOfJumps += Stream->IsAfterJump;
    Stream->LastTimestamp = Call->Timestamp;
    Call->Site = ((ULONGLONG)Best->Module << 32) |
                 (ULONG)(Best->Head->Site - Best->Iterator.Check.ModuleBase);
    Call->Stack = Best->Head->StackKind & ~TRACE_KIND_MASK;
    Call->Kind = Best->Head->StackKind & TRACE_KIND_MASK;
    ReaderNoteEntries(Stream, Best, Best->Head, 1);
    Best->Head = NULL;
    Stream->NumberOfRecords += 1;
    if (Stream->Tally != NULL) {
        return ReaderDescribeCallInTally(Stream->Tally, Call);
    }

    return ReaderDescribeCall(Stream->Session, Call);
}


_Use_decl_annotations_
VOID
ReaderSetStreamTally(
    PREADER_STREAM Stream,
    PREADER_TALLY Tally
    )
/*++

Routine Description:

    Gives a stream a tally.

Arguments:

    Stream - The stream, with no events left to take.

    Tally - The tally, which must outlive the stream; NULL takes it away.

Return Value:

    None.

--*/
{
    Stream->Tally = Tally;
    if (Tally != NULL) {
        Stream->Pair.CountInlined = ReaderCountInlinedInTally;
        Stream->Pair.InlineContext = Tally;
    } else {
        Stream->Pair.CountInlined = ReaderCountInlinedInSession;
        Stream->Pair.InlineContext = Stream->Session;
    }
}


static
ULONG
ReaderRunStore(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_STREAM_STORE Part,
    _In_ ULONGLONG Limit
    )
/*++

Routine Description:

    Takes the ordinary calls that come next in a store.

    Records that lie together in the buffer follow one another in the store;
    where some were overtaken, a buffer ends, and the first record after that
    is ReaderNextCall's.

Arguments:

    Stream - The stream.

    Part - The store, whose next record is the earliest of all.

    Limit - The first time stamp that another store's record may come before.

Return Value:

    How many were taken.

--*/
{
    PCTRACE_RECORD Records;
    ULONG Count;
    ULONG Taken;

    if (Part->Iterator.IsAfterGap) {
        return 0;
    }

    if (Part->Head != NULL) {
        ReaderReturnRecord(&Part->Iterator);
        Part->Head = NULL;
    }

    Records = ReaderPeekRecords(&Part->Iterator, &Count);
    Taken = CoreRunRecords(&Stream->Pair,
                           &Part->Iterator.Check,
                           &Stream->Tally->Modules[Part->Module],
                           Stream->Tally->Totals.Totals,
                           Stream->Tally->Histograms,
                           Records,
                           Count,
                           Limit,
                           Stream->Session->JumpTicks,
                           Stream->NumberOfJumps);
    if (Taken != 0) {
        ReaderNoteEntries(Stream, Part, Records, Taken);
        Stream->LastTimestamp = Stream->Pair.LastTimestamp;
        Stream->IsAfterJump = FALSE;
        Stream->Pair.IsAfterPause = FALSE;
    }

    ReaderSkipRecords(&Part->Iterator, Taken);
    Stream->NumberOfRecords += Taken;
    Stream->NumberOfOrdinary += Taken;
    return Taken;
}


_Use_decl_annotations_
NTSTATUS
ReaderRunStream(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Takes the ordinary calls that come next, and adds them to the tally.

    It stops where a store's buffer ends, too: ReaderNextEvent fills it.

Arguments:

    Stream - The stream, with a tally.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STREAM_STORE Best;
    PREADER_STREAM_STORE Part;
    ULONGLONG LastLimit = READER_MAXIMUM_TIMESTAMP;
    ULONGLONG Limit;
    ULONG Index;
    NTSTATUS Status;

    if (Stream->IsFinished) {
        return STATUS_SUCCESS;
    }

    if (Stream->Horizon != READER_MAXIMUM_TIMESTAMP) {
        LastLimit = Stream->Horizon + 1;
    }

    if (Stream->NextStop < LastLimit) {
        LastLimit = Stream->NextStop;
    }

    if (Stream->NumberOfStores == 1) {
        ReaderRunStore(Stream, Stream->Stores[0], LastLimit);
        if (READER_IS_MARK_DUE(Stream)) {
            ReaderMarkStream(Stream);
        }

        return STATUS_SUCCESS;
    }

    do {

        Best = NULL;
        Limit = LastLimit;

        for (Index = 0; Index < Stream->NumberOfStores; Index++) {

            Part = Stream->Stores[Index];
            Status = ReaderFillHead(Stream, Part);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            if (Part->Head == NULL) {
                continue;
            }

            //
            // Which of two with the same time stamp comes first is for
            // ReaderIsEarlier to say.
            //

            if (Best == NULL) {
                Best = Part;
            } else if (Part->Head->Timestamp < Best->Head->Timestamp) {
                if (Best->Head->Timestamp < Limit) {
                    Limit = Best->Head->Timestamp;
                }
                Best = Part;
            } else if (Part->Head->Timestamp < Limit) {
                Limit = Part->Head->Timestamp;
            }
        }

        if (READER_IS_MARK_DUE(Stream)) {
            ReaderMarkStream(Stream);
        }

    } while (Best != NULL && ReaderRunStore(Stream, Best, Limit) != 0);

    return STATUS_SUCCESS;
}


static
VOID
ReaderReachEnd(
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Finds up to when the calls are open that are open at the end.  Where a range
    ends and the thread goes on, that is the end of the range; where recording
    was stopped and it goes on, the stop; otherwise the thread's last record.

Arguments:

    Stream - The stream, of which all was taken.

Return Value:

    None.

--*/
{
    if (Stream->LastStop > Stream->Pair.LastTimestamp) {
        Stream->Pair.LastTimestamp = Stream->LastStop;
    }

    if (ReaderHasWaitingRecords(Stream)) {
        Stream->Pair.LastTimestamp = ReaderPassPauses(Stream, Stream->Horizon);
    }
}


_Use_decl_annotations_
NTSTATUS
ReaderNextEvent(
    PREADER_STREAM Stream,
    PCORE_EVENT Event
    )
/*++

Routine Description:

    Takes the thread's next event.

Arguments:

    Stream - The stream.

    Event - Receives it.

Return Value:

    STATUS_SUCCESS, STATUS_END_OF_FILE or what failed.

--*/
{
    CORE_CALL Call;
    NTSTATUS Status;

    for (;;) {

        if (CoreNextEvent(&Stream->Pair, Event)) {
            ReaderMarkEvent(Stream, Event);
            return Stream->Probe == NULL
                       ? STATUS_SUCCESS
                       : ReaderAddToProbe(Stream->Probe, Event);
        }

        if (Stream->IsFinished) {
            return STATUS_END_OF_FILE;
        }

        Status = ReaderNextCall(Stream, &Call);
        if (Status == STATUS_MORE_ENTRIES) {
            continue;
        }

        if (Status == STATUS_RETRY) {
            ReaderBreakPair(&Stream->Pair);
            continue;
        }

        if (Status == STATUS_END_OF_FILE) {

            if (Stream->IsLive) {
                return Status;
            }

            ReaderReachEnd(Stream);
            CoreFinishPair(&Stream->Pair);
            Stream->IsFinished = TRUE;
            continue;
        }

        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Status = CoreAddCall(&Stream->Pair, &Call);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
}


_Use_decl_annotations_
VOID
ReaderClipStream(
    PREADER_STREAM Stream,
    ULONGLONG Start,
    ULONGLONG End
    )
/*++

Routine Description:

    Limits a stream to a range of time.

Arguments:

    Stream - The stream, which does not go on, with nothing left to take.

    Start - What comes before, or before the last clear, was passed over; 0:
        nothing was.

    End - The last time stamp that is in the range.

Return Value:

    None.

--*/
{
    PCORE_STACK Stack;
    ULONGLONG Clear = READER_CLEAR_OF(
        Stream->Session,
        Stream->Session->Threads[Stream->Thread].Process);
    SIZE_T Depth;
    ULONG Index;

    Stream->Horizon = End;
    if (Start < Clear) {
        Start = Clear;
    }

    Stream->Start = Start;
    if (Start == 0) {
        return;
    }

    //
    // One process of several may have been cleared after the range.
    //

    if (Start > End) {
        Stream->IsFinished = TRUE;
        return;
    }

    //
    // Nobody knows what becomes of a thread's frames after its last record.
    //

    if (!ReaderHasWaitingRecords(Stream)) {
        Stream->IsFinished = TRUE;
        return;
    }

    (VOID)ReaderPassPauses(Stream, Start);
    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {

        Stack = &Stream->Pair.Stacks[Index];
        if (Stack->LeftTimestamp != 0) {
            Stack->LeftTimestamp = Start;
        }

        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Stack->Frames[Depth].EnterTimestamp = Start;
            Stack->Frames[Depth].ChildTicks = 0;
            Stack->Frames[Depth].NumberOfJumps = Stream->NumberOfJumps;
        }
    }

    ReaderResetProbe(Stream->Probe);

    //
    // These frames are not for a mark.
    //

    if (Stream->Index != NULL) {
        Stream->Index->Due = READER_MAXIMUM_TIMESTAMP;
    }
}


_Use_decl_annotations_
BOOLEAN
ReaderHasWaitingRecords(
    const READER_STREAM *Stream
    )
/*++

Routine Description:

    Decides whether records wait for a later horizon.

Arguments:

    Stream - The stream, after STATUS_END_OF_FILE.

Return Value:

    TRUE if so.

--*/
{
    ULONG Index;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {
        if (Stream->Stores[Index]->Head != NULL) {
            return TRUE;
        }
    }

    return FALSE;
}


_Use_decl_annotations_
VOID
ReaderWarnOfRecords(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
/*++

Routine Description:

    Says that a store had bad records, or records that were overtaken.

Arguments:

    Context - The context.

    Store - The store, which a stream has read.

Return Value:

    None.

--*/
{
    if (Store->NumberOfBadRecords != 0 && !Store->IsWarned) {
        Store->IsWarned = TRUE;
        RtlWriteText(Context->Errors,
                     "TraceReader: warning: %Z: %llu bad records passed "
                     "over, the first at offset %llu: %s\n",
                     &Store->Name,
                     Store->NumberOfBadRecords,
                     Store->FirstBadOffset,
                     CoreDescribeRecordState(Store->FirstBadState));
        RtlFlushWriter(Context->Errors);
    }

    if (Store->NumberOvertaken != 0) {
        RtlWriteText(Context->Errors,
                     "TraceReader: warning: %Z: %llu records were "
                     "overwritten before they could be read\n",
                     &Store->Name,
                     Store->NumberOvertaken);
        RtlFlushWriter(Context->Errors);
    }
}


_Use_decl_annotations_
VOID
ReaderCloseStream(
    PREADER_STREAM Stream
    )
/*++

Routine Description:

    Says what was bad, and closes the stream and its stores.

Arguments:

    Stream - The stream, whole or half open.

Return Value:

    None.

--*/
{
    PREADER_SESSION Session = Stream->Session;
    PCREADER_CONTEXT Context = Session->Context;
    ULONG Index;

    ReaderCloseIndex(Stream);
    ReaderCloseProbe(Session, Stream->Probe);
    Stream->Probe = NULL;
    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        PREADER_STREAM_STORE Part = Stream->Stores[Index];
        PREADER_STORE Store = Session->Stores[Part->Store];
        PREADER_ITERATOR Iterator = &Part->Iterator;

        Store->NumberOfBadRecords = Iterator->NumberOfBadRecords;
        Store->FirstBadOffset = Iterator->FirstBadOffset;
        Store->FirstBadState = Iterator->FirstBadState;
        Store->NumberOvertaken = Iterator->NumberOvertaken;
        if (Stream->Tally == NULL) {
            ReaderWarnOfRecords(Context, Store);
        }

        ReaderRundownIterator(Iterator);
        ReaderCloseStore(Context, Store);
        Context->Allocator->Free(Context->Allocator->Context, Part);
    }

    Context->Allocator->Free(Context->Allocator->Context, Stream->Stores);
    Stream->Stores = NULL;
    Stream->NumberOfStores = 0;
    Stream->CapacityOfStores = 0;
    if (Stream->IsPaired) {
        CoreRundownPair(&Stream->Pair);
        Stream->IsPaired = FALSE;
    }
}
