/*++

Module Name:

    CallStream.c

Abstract:

    One thread's events.  A thread that called several modules has a store for
    each; their records are merged by time before they are paired, so that a
    call from one module into another nests as it ran.

--*/

#include "../Session/SessionControl.h"
#include "../Session/SessionProcess.h"
#include "../Session/SessionStoreOpen.h"
#include "../Session/SessionTreeStore.h"
#include "CallIndex.h"
#include "CallProbe.h"
#include "CallSite.h"
#include "CallSiteTable.h"


//
// Finds the header that says where a thread's own stack is: one that was not
// made on a fiber, if there is one.
// Thread: the thread's index.
//

static
PCTRACE_STORE_HEADER
CallFindStack(
    _In_ const READER_SESSION *Session,
    _In_ ULONG Thread
    )
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


//
// Adds a store to a stream and opens it.
//

_Must_inspect_result_
static
NTSTATUS
CallAttachStore(
    _Inout_ PREADER_STREAM Stream,
    _In_ ULONG StoreIndex
    )
{
    PREADER_SESSION Session = Stream->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_STORE Store = Session->Stores[StoreIndex];
    PREADER_STREAM_STORE Part;
    PCTRACE_STORE_HEADER Header;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
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

    Status = SessionOpenSessionStore(Session, Store);
    if (NT_SUCCESS(Status) && Store->HeaderResult.State != CoreHeaderValid) {
        Store->Status = STATUS_FILE_INVALID;
        Store->FailedStep = "read the header again";
        Status = STATUS_FILE_INVALID;
    }

    if (NT_SUCCESS(Status)) {
        Status = SessionInitializeIterator(&Part->Iterator,
                                           Session->Context,
                                           Store);
    }

    if (NT_SUCCESS(Status) && !Stream->IsPaired) {
        Header = CallFindStack(Session, Stream->Thread);
        Status = CoreInitializePair(&Stream->Pair,
                                    Allocator,
                                    Header->StackBase,
                                    Header->StackLimit);
        Stream->IsPaired = NT_SUCCESS(Status);
        Stream->Pair.ContentionTicks = Session->ContentionTicks;
        Stream->Pair.CountInlined = CallCountInlinedInSession;
        Stream->Pair.InlineContext = Session;
    }

    if (!NT_SUCCESS(Status)) {
        SessionRundownIterator(&Part->Iterator);
        SessionCloseStore(Session->Context, Store);
        Allocator->Free(Allocator->Context, Part);
        return Status;
    }

    Stream->Stores[Stream->NumberOfStores] = Part;
    Stream->NumberOfStores += 1;
    return STATUS_SUCCESS;
}


//
// Adds those of the thread's stores of records that the stream does not have:
// they are the last ones in the thread's list.
//

_Must_inspect_result_
static
NTSTATUS
CallAttachNewStores(
    _Inout_ PREADER_STREAM Stream
    )
{
    PREADER_SESSION Session = Stream->Session;
    ULONG StoreIndex = Session->Threads[Stream->Thread].FirstStore;
    ULONG Position;
    NTSTATUS Status;

    for (Position = 0; StoreIndex != READER_NONE;) {

        if (!Session->Stores[StoreIndex]->IsTree &&
            !SessionIsAside(Session, Session->Stores[StoreIndex])) {

            if (Position >= Stream->NumberOfStores) {
                Status = CallAttachStore(Stream, StoreIndex);
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
CallOpenStream(
    PREADER_STREAM Stream,
    PREADER_SESSION Session,
    ULONG Thread,
    BOOLEAN IsLive
    )
{
    NTSTATUS Status;

    RtlZeroBytes(Stream, sizeof(*Stream));
    Stream->Session = Session;
    Stream->Thread = Thread;
    Stream->IsLive = IsLive;
    Stream->Horizon = READER_MAXIMUM_TIMESTAMP;
    Stream->PauseHash = READER_CONTROL_OF_THREAD(Session, Thread)->PauseHash;

    Status = CallAttachNewStores(Stream);
    CallSetStreamPause(Stream);
    if (NT_SUCCESS(Status) && Stream->NumberOfStores != 0) {
        CallOpenIndex(Stream);
        Status = CallOpenProbe(Session, &Stream->Probe);
    }

    return Status;
}


_Use_decl_annotations_
NTSTATUS
CallRefreshStream(
    PREADER_STREAM Stream,
    ULONGLONG Horizon
    )
{
    PREADER_SESSION Session = Stream->Session;
    ULONG Index;
    NTSTATUS Status;

    Stream->Horizon = Horizon;
    Status = CallAttachNewStores(Stream);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    CallSetStreamPause(Stream);
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

        Store->IsWriterGone = SessionIsWriterGone(Session, Store);
        Status = SessionRefreshStore(Session->Context, Store);
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


//
// An entry's kind is odd, and so is that of what the writer says is gone, which
// has the place of an exit among records of one time.
//

static
BOOLEAN
CallIsEntry(
    _In_ ULONG StackKind
    )
{
    return (StackKind & 1) != 0 &&
           (StackKind & TRACE_KIND_MASK) != TRACE_KIND_GONE;
}


//
// Decides which of two records of one thread, in different stores, came first.
//
// Time stamps of a clock thread are often equal. Then the stack pointers tell,
// as far as they can: of two entries the outer one was first, of two exits the
// inner one, of an entry and an exit the one that is deeper, and the exit at
// the same place.
//
// Returns TRUE if First did.
//

static
BOOLEAN
CallIsEarlier(
    _In_ PCTRACE_RECORD First,
    _In_ PCTRACE_RECORD Second
    )
{
    BOOLEAN IsFirstEntry = CallIsEntry(First->StackKind);
    BOOLEAN IsSecondEntry = CallIsEntry(Second->StackKind);
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


//
// Ends the open frames where records are missing: what became of them is not
// known.
// Pair: the pairing, with no events left to take.
//

static
VOID
CallBreakPair(
    _Inout_ PCORE_PAIR Pair
    )
{
    ULONG Index;

    for (Index = 0; Index < Pair->NumberOfStacks; Index++) {
        Pair->Stacks[Index].JumpTarget = 0;
    }

    CoreFinishPair(Pair);
}


//
// Says of an event what the clock did, and takes times away where there is
// none.
//

static
VOID
CallMarkEvent(
    _In_ const READER_STREAM *Stream,
    _Inout_ PCORE_EVENT Event
    )
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
        Event->EnterTimestamp = CallFindEntry(Stream, Event->Frame);
    }

    if (Stream->Session->Clock.Kind == TRACE_CLOCK_NONE) {
        Event->InclusiveTicks = 0;
        Event->SelfTicks = 0;
        Event->WaitedTicks = 0;
    }
}


//
// Notes in which order the first entries of the stores come.
// Records, NumberOfRecords: what was taken from it, valid.
//

static
VOID
CallNoteEntries(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_STREAM_STORE Part,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    ULONG Index;

    for (Index = 0; Part->Entered == 0 && Index < NumberOfRecords; Index++) {
        if (CallIsEntry(Records[Index].StackKind)) {
            Stream->NumberEntered += 1;
            Part->Entered = Stream->NumberEntered;
        }
    }
}


//
// Sees to it that a store's next record is at hand, if there is one.
// STATUS_SUCCESS: head may be NULL all the same: there is none (yet).
//

_Must_inspect_result_
static
NTSTATUS
CallFillHead(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_STREAM_STORE Part
    )
{
    NTSTATUS Status;

    if (Part->Head != NULL || Part->IsEnded) {
        return STATUS_SUCCESS;
    }

    Status = SessionNextRecord(&Part->Iterator, &Part->Head);
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
CallSetStreamPause(
    PREADER_STREAM Stream
    )
{
    PCREADER_CONTROL Control =
        READER_CONTROL_OF_THREAD(Stream->Session, Stream->Thread);
    ULONGLONG Timestamp = Stream->LastTimestamp;

    if (Stream->Pair.StartTimestamp > Timestamp) {
        Timestamp = Stream->Pair.StartTimestamp;
    }

    Stream->Pause = SessionControlFindPause(Control, Timestamp);
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
CallPassPauses(
    PREADER_STREAM Stream,
    ULONGLONG Timestamp
    )
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
CallFindEntry(
    const READER_STREAM *Stream,
    const CORE_FRAME *Frame
    )
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


//
// Takes the earliest record of the thread's stores.
// Returns STATUS_SUCCESS, STATUS_END_OF_FILE, STATUS_RETRY (records before it
// were overtaken: the frames that are open are to be ended first),
// STATUS_MORE_ENTRIES (it was left out) or what failed.
//

_Must_inspect_result_
static
NTSTATUS
CallNextCall(
    _Inout_ PREADER_STREAM Stream,
    _Out_ PCORE_CALL Call
    )
{
    PREADER_STREAM_STORE Best = NULL;
    PREADER_STREAM_STORE Part;
    ULONGLONG Timestamp;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->NumberOfStores; Index++) {

        Part = Stream->Stores[Index];

        Status = CallFillHead(Stream, Part);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Part->Head == NULL) {
            continue;
        }

        if (Best == NULL || CallIsEarlier(Part->Head, Best->Head)) {
            Best = Part;
        }
    }

    if (READER_IS_MARK_DUE(Stream)) {
        CallMarkStream(Stream);
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

        Timestamp = CallPassPauses(Stream, Best->Head->Timestamp);
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
    CallNoteEntries(Stream, Best, Best->Head, 1);
    Stream->NumberOfEntries += CallIsEntry(Best->Head->StackKind);
    Best->Head = NULL;
    Stream->NumberOfRecords += 1;
    if (Call->Kind == TRACE_KIND_GONE) {
        Call->Function = 0;
        Call->JumpTarget = 0;
        Call->FrameSize = 0;
        Call->BodySize = 0;
        Call->Flags = 0;
        return STATUS_SUCCESS;
    }
    if (Stream->Tally != NULL) {
        return CallDescribeCallInTally(Stream->Tally, Call);
    }

    return CallDescribeCall(Stream->Session, Call);
}


_Use_decl_annotations_
VOID
CallSetStreamTally(
    PREADER_STREAM Stream,
    PREADER_TALLY Tally
    )
{
    Stream->Tally = Tally;
    if (Tally != NULL) {
        Stream->Pair.CountInlined = CallCountInlinedInTally;
        Stream->Pair.InlineContext = Tally;
    } else {
        Stream->Pair.CountInlined = CallCountInlinedInSession;
        Stream->Pair.InlineContext = Stream->Session;
    }
}


//
// Takes the ordinary calls that come next in a store.
//
// Records that lie together in the buffer follow one another in the store;
// where some were overtaken, a buffer ends, and the first record after that is
// CallNextCall's.
//
// Part: the store, whose next record is the earliest of all.
// Limit: the first time stamp that another store's record may come before.
// Returns how many were taken.
//

static
ULONG
CallRunStore(
    _Inout_ PREADER_STREAM Stream,
    _Inout_ PREADER_STREAM_STORE Part,
    _In_ ULONGLONG Limit
    )
{
    PREADER_TALLY Tally = Stream->Tally;
    PCTRACE_RECORD Records;
    CORE_PROBE Probe;
    CORE_RUN Run;
    LONGLONG Depth;
    ULONG Count;
    ULONG Taken;

    if (Part->Iterator.IsAfterGap) {
        return 0;
    }

    Run.Totals = Tally->Totals.Totals;
    Run.Active = Tally->Totals.Active;
    Run.Histograms = Tally->Histograms;
    Run.Paths = Tally->Paths;
    Run.Probe = NULL;
    Run.ProbeTotals = Tally->ProbeTotals;
    Run.WaitedTotals = Tally->Waited;
    Run.Limit = Limit;
    Run.JumpTicks = Stream->Session->JumpTicks;
    Run.NumberOfJumps = Stream->NumberOfJumps;
    Run.IsWatching = Tally->Watch != NULL || Tally->IsEndedAlone;
    Run.Ended = Tally->Ended;
    Run.IsAddedApart = Tally->IsAddedApart;
    Run.HasTotals = Tally->IsByBoth;
    if (Tally->Roots != NULL) {

        //
        // The first call on a stack makes its root.
        //

        if (Stream->Pair.Current >= Tally->CapacityOfRoots ||
            Tally->Roots[Stream->Pair.Current] == CORE_PATH_NONE) {
            return 0;
        }

        Run.Paths->Root = Tally->Roots[Stream->Pair.Current];
    }

    if (Tally->HasProbe && Stream->Probe != NULL) {
        CallBeginProbeRun(Stream->Probe,
                          Part->Module,
                          Stream->Pair.Current,
                          &Probe);
        Run.Probe = &Probe;
    }

    if (Part->Head != NULL) {
        SessionReturnRecord(&Part->Iterator);
        Part->Head = NULL;
    }

    Depth = (LONGLONG)
        Stream->Pair.Stacks[Stream->Pair.Current].NumberOfFrames;
    Records = SessionPeekRecords(&Part->Iterator, &Count);
    Taken = CoreRunRecords(&Stream->Pair,
                           &Part->Iterator.Check,
                           &Tally->Modules[Part->Module],
                           &Run,
                           Records,
                           Count);
    if (Run.Probe != NULL) {
        CallEndProbeRun(Stream->Probe, &Probe);
    }

    if (Taken != 0) {
        CallNoteEntries(Stream, Part, Records, Taken);
        Stream->LastTimestamp = Stream->Pair.LastTimestamp;
        Stream->IsAfterJump = FALSE;
        Stream->Pair.IsAfterPause = FALSE;
    }

    //
    // Each of them is an entry, which adds a frame, or takes one away.
    //

    Depth = (LONGLONG)
        Stream->Pair.Stacks[Stream->Pair.Current].NumberOfFrames - Depth;
    Stream->NumberOfEntries += (Taken + Depth) / 2;
    SessionSkipRecords(&Part->Iterator, Taken);
    Stream->NumberOfRecords += Taken;
    Stream->NumberOfOrdinary += Taken;
    return Taken;
}


_Use_decl_annotations_
NTSTATUS
CallRunStream(
    PREADER_STREAM Stream
    )
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
        CallRunStore(Stream, Stream->Stores[0], LastLimit);
        if (READER_IS_MARK_DUE(Stream)) {
            CallMarkStream(Stream);
        }

        return STATUS_SUCCESS;
    }

    do {

        Best = NULL;
        Limit = LastLimit;

        for (Index = 0; Index < Stream->NumberOfStores; Index++) {

            Part = Stream->Stores[Index];
            Status = CallFillHead(Stream, Part);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            if (Part->Head == NULL) {
                continue;
            }

            //
            // Which of two with the same time stamp comes first is for
            // CallIsEarlier to say.
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
            CallMarkStream(Stream);
        }

    } while (Best != NULL && CallRunStore(Stream, Best, Limit) != 0);

    return STATUS_SUCCESS;
}


//
// Finds up to when the calls are open that are open at the end. Where a range
// ends and the thread goes on, that is the end of the range; where recording
// was stopped and it goes on, the stop; otherwise the thread's last record.
//
// Stream: the stream, of which all was taken.
//

static
VOID
CallReachEnd(
    _Inout_ PREADER_STREAM Stream
    )
{
    if (Stream->LastStop > Stream->Pair.LastTimestamp) {
        Stream->Pair.LastTimestamp = Stream->LastStop;
    }

    if (CallHasWaitingRecords(Stream)) {
        Stream->Pair.LastTimestamp = CallPassPauses(Stream, Stream->Horizon);
    }
}


_Use_decl_annotations_
NTSTATUS
CallNextEvent(
    PREADER_STREAM Stream,
    PCORE_EVENT Event
    )
{
    CORE_CALL Call;
    NTSTATUS Status;

    for (;;) {

        if (CoreNextEvent(&Stream->Pair, Event)) {
            CallMarkEvent(Stream, Event);
            return Stream->Probe == NULL
                       ? STATUS_SUCCESS
                       : CallAddToProbe(Stream->Probe, Event);
        }

        if (Stream->IsFinished) {
            return STATUS_END_OF_FILE;
        }

        Status = CallNextCall(Stream, &Call);
        if (Status == STATUS_MORE_ENTRIES) {
            continue;
        }

        if (Status == STATUS_RETRY) {
            CallBreakPair(&Stream->Pair);
            continue;
        }

        if (Status == STATUS_END_OF_FILE) {

            if (Stream->IsLive) {
                return Status;
            }

            CallReachEnd(Stream);
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
CallClipStream(
    PREADER_STREAM Stream,
    ULONGLONG Start,
    ULONGLONG End
    )
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

    if (!CallHasWaitingRecords(Stream)) {
        Stream->IsFinished = TRUE;
        return;
    }

    (VOID)CallPassPauses(Stream, Start);
    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {

        Stack = &Stream->Pair.Stacks[Index];
        if (Stack->LeftTimestamp != 0) {
            Stack->LeftTimestamp = Start;
        }

        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {
            Stack->Frames[Depth].EnterTimestamp = Start;
            Stack->Frames[Depth].ChildTicks = 0;
            CORE_STACK_WAITED(Stack)[Depth] = 0;
            Stack->Frames[Depth].NumberOfJumps = Stream->NumberOfJumps;
        }
    }

    CallResetProbe(Stream->Probe);

    //
    // These frames are not for a mark.
    //

    if (Stream->Index != NULL) {
        Stream->Index->Due = READER_MAXIMUM_TIMESTAMP;
    }
}


_Use_decl_annotations_
BOOLEAN
CallHasWaitingRecords(
    const READER_STREAM *Stream
    )
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
CallWarnOfRecords(
    PCREADER_CONTEXT Context,
    PREADER_STORE Store
    )
{
    if (Store->NumberOfBadRecords != 0 && !Store->IsWarned) {
        Store->IsWarned = TRUE;
        RtlWriteText(Context->Errors,
                     "TraceReader: warning: %Z: %llu bad records skipped, the "
                     "first at offset %llu: %s\n",
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
CallCloseStream(
    PREADER_STREAM Stream
    )
{
    PREADER_SESSION Session = Stream->Session;
    PCREADER_CONTEXT Context = Session->Context;
    ULONG Index;

    CallCloseIndex(Stream);
    CallCloseProbe(Session, Stream->Probe);
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
            CallWarnOfRecords(Context, Store);
        }

        SessionRundownIterator(Iterator);
        SessionCloseStore(Context, Store);
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
