/*++

Module Name:

    SqlCallThread.c

Abstract:

    The calls of a thread, as they end, or in the order of their beginnings.

    A frame's Function is the index in the tally, as the fast way has it.  Its
    Node is 0 if the call is no row; else 1 and more: without a window whether
    it is a tail call, with one the sequence of its row.

--*/

#include "../Calls/CallSkip.h"
#include "../Functions/FunctionFilter.h"
#include "SqlCallThread.h"

#define SQL_NODE_ROW    1u
#define SQL_NODE_TAIL   2u

#define SQL_EVENTS_BETWEEN_LOOKS 0x3FFu

#define SQL_FIRST_WINDOW 256u

#define SQL_ENDED_CALLS 1024u

#define SQL_IS_WINDOWED(State)                                              \
    ((State)->NeedsEnds && ((State)->Cursor->Query.IsOrdered))

//
// Is a function's call a row?
//

_Must_inspect_result_
static
NTSTATUS
SqlAskFunction(
    _Inout_ PSQL_CALLS State,
    _In_ ULONG Function,
    _Out_ PBOOLEAN IsAsked
    )
{
    PSQL_WORLD World = State->World;
    NTSTATUS Status;

    *IsAsked = TRUE;
    if (!State->IsWatching) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(World->Context.Allocator,
                           (PVOID *)&State->Asked,
                           &State->CapacityOfAsked,
                           Function + 1,
                           sizeof(UCHAR));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (State->Asked[Function] == 0) {
        State->Asked[Function] =
            SqlIsFunctionAsked(State->Cursor,
                               &World->Functions.Functions[Function])
                ? 1
                : 2;
    }

    *IsAsked = State->Asked[Function] == 1;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
static
NTSTATUS
SqlWatchFunction(
    PVOID Context,
    ULONG Function,
    PBOOLEAN IsWatched
    )
{
    PSQL_CALLS State = (PSQL_CALLS)Context;

    return SqlAskFunction(State,
                          State->Tally.List[Function].Function,
                          IsWatched);
}

_Use_decl_annotations_
static
NTSTATUS
SqlWatchNothing(
    PVOID Context,
    ULONG Function,
    PBOOLEAN IsWatched
    )
{
    UNREFERENCED_PARAMETER(Context);
    UNREFERENCED_PARAMETER(Function);

    *IsWatched = FALSE;
    return STATUS_SUCCESS;
}

//
// The table's index of a frame's function; READER_NONE: there is no frame.
//

static
ULONG
SqlGetFunction(
    _In_ const SQL_CALLS *State,
    _In_opt_ const CORE_FRAME *Frame
    )
{
    return Frame == NULL ? READER_NONE
                         : State->Tally.List[Frame->Function].Function;
}

//
// Says that a row begins; with a window, it waits there.
//

_Must_inspect_result_
static
NTSTATUS
SqlBeginRow(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _In_ ULONGLONG Start,
    _In_ ULONG Depth,
    _In_ ULONG Track,
    _In_ ULONG Flags,
    _Inout_ PCORE_FRAME Frame,
    _In_opt_ const CORE_FRAME *Parent,
    _Inout_ PBOOLEAN IsRow
    )
{
    PCALLOCATOR Allocator = State->World->Context.Allocator;
    PSQL_CALL Ring;
    PSQL_CALL Row;
    ULONGLONG Index;
    ULONG Capacity;

    Frame->Node = SQL_NODE_ROW;
    if ((Flags & SQL_CALL_TAIL) != 0) {
        Frame->Node |= SQL_NODE_TAIL;
    }

    Row = &Thread->Row;
    if (SQL_IS_WINDOWED(State)) {

        Frame->Node = (ULONG)Thread->End + 1;
        if (Frame->Node == 0) {
            Frame->Node = 1;
        }

        if (State->IsForLong) {
            Thread->End += 1;
            return STATUS_SUCCESS;
        }

        if (Thread->End - Thread->First == Thread->Capacity) {

            Capacity = Thread->Capacity == 0 ? SQL_FIRST_WINDOW
                                             : 2 * Thread->Capacity;
            Ring = (PSQL_CALL)
                Allocator->Allocate(Allocator->Context,
                                    (SIZE_T)Capacity * sizeof(SQL_CALL));
            if (Ring == NULL) {
                return STATUS_NO_MEMORY;
            }

            for (Index = Thread->First; Index < Thread->End; Index++) {
                Ring[Index & (Capacity - 1)] =
                    Thread->Ring[Index & (Thread->Capacity - 1)];
            }

            Allocator->Free(Allocator->Context, Thread->Ring);
            Thread->Ring = Ring;
            Thread->Capacity = Capacity;
        }

        Row = &Thread->Ring[Thread->End & (Thread->Capacity - 1)];
        Row->Sequence = Thread->End;
        Thread->End += 1;
    } else if (State->NeedsEnds) {
        Thread->NumberOpen += 1;
        return STATUS_SUCCESS;
    } else {
        *IsRow = TRUE;
    }

    Row->Start = Start;
    Row->Duration = 0;
    Row->Self = 0;
    Row->Waited = 0;
    Row->Function = SqlGetFunction(State, Frame);
    Row->Parent = SqlGetFunction(State, Parent);
    Row->Depth = Depth;
    Row->Track = Track;
    Row->Flags = Flags;
    return STATUS_SUCCESS;
}

//
// Takes the entry of a call.
//

_Must_inspect_result_
static
NTSTATUS
SqlTakeEntry(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _In_ const CORE_EVENT *Event,
    _Inout_ PBOOLEAN IsRow
    )
{
    PCORE_FRAME Frame = Event->Frame;
    PCCORE_SITE Site;
    BOOLEAN IsAsked;
    NTSTATUS Status;

    Site = CoreFindSite(&State->Tally.Modules[(ULONG)(Frame->Site >> 32)],
                        (ULONG)Frame->Site,
                        Frame->Kind);
    if (Site == NULL) {
        return STATUS_INTERNAL_ERROR;
    }

    Frame->Node = 0;
    Frame->Function = Site->Index;
    if (Event->Timestamp > State->Last) {
        Thread->IsPast = TRUE;
    }

    if (Thread->IsPast || Event->Timestamp < State->First) {
        return STATUS_SUCCESS;
    }

    Status = SqlAskFunction(State,
                            State->Tally.List[Site->Index].Function,
                            &IsAsked);
    if (!NT_SUCCESS(Status) || !IsAsked) {
        return Status;
    }

    return SqlBeginRow(State,
                       Thread,
                       Event->Timestamp,
                       Event->Depth,
                       Event->Track,
                       Event->IsTailCall ? SQL_CALL_TAIL : 0,
                       Frame,
                       Event->Parent,
                       IsRow);
}

//
// What an end says of its call.
//

static
ULONG
SqlDescribeEnd(
    _In_ const CORE_EVENT *Event
    )
{
    return SQL_CALL_ENDED |
           (Event->Kind == CoreEventAbandoned ? SQL_CALL_ABANDONED : 0) |
           (Event->Kind == CoreEventOpen ? SQL_CALL_UNFINISHED : 0) |
           (Event->IsUncertain ? SQL_CALL_UNCERTAIN : 0);
}

_Must_inspect_result_
static
NTSTATUS
SqlAddLongCall(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _In_ const CORE_EVENT *Event
    )
{
    PSQL_LONG_CALL Long;
    ULONG Age = (ULONG)Thread->End - (Event->Frame->Node - 1);
    NTSTATUS Status;

    if (Age < SQL_WINDOW) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(State->World->Context.Allocator,
                           (PVOID *)&Thread->Long,
                           &Thread->CapacityOfLong,
                           Thread->NumberOfLong + 1,
                           sizeof(SQL_LONG_CALL));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Long = &Thread->Long[Thread->NumberOfLong];
    Thread->NumberOfLong += 1;
    Long->Sequence = Thread->End - Age;
    Long->Start = Event->EnterTimestamp;
    Long->Duration = Event->InclusiveTicks;
    Long->Self = Event->SelfTicks;
    Long->Waited = Event->WaitedTicks;
    Long->Flags = SqlDescribeEnd(Event);
    return STATUS_SUCCESS;
}

//
// Takes the end of a call that is a row.
//

_Must_inspect_result_
static
NTSTATUS
SqlTakeEnd(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _In_ const CORE_EVENT *Event,
    _Inout_ PBOOLEAN IsRow
    )
{
    PSQL_CALL Row = &Thread->Row;
    ULONGLONG Sequence;

    if (Event->Frame->Node == 0 || !State->NeedsEnds) {
        return STATUS_SUCCESS;
    }

    if (State->IsForLong) {
        return SqlAddLongCall(State, Thread, Event);
    }

    if (SQL_IS_WINDOWED(State)) {

        //
        // One that is not in the window was a row before it ended.
        //

        Sequence = Thread->End -
                   ((ULONG)Thread->End - (Event->Frame->Node - 1));
        if (Sequence < Thread->First || Sequence >= Thread->End) {
            return STATUS_SUCCESS;
        }

        Row = &Thread->Ring[Sequence & (Thread->Capacity - 1)];
        Row->Flags |= SqlDescribeEnd(Event);
    } else {
        *IsRow = TRUE;
        Thread->NumberOpen -= 1;
        Row->Start = Event->EnterTimestamp;
        Row->Function = SqlGetFunction(State, Event->Frame);
        Row->Parent = SqlGetFunction(State, Event->Parent);
        Row->Depth = Event->Depth;
        Row->Track = Event->Track;
        Row->Flags = SqlDescribeEnd(Event);
        if ((Event->Frame->Node & SQL_NODE_TAIL) != 0) {
            Row->Flags |= SQL_CALL_TAIL;
        }
    }

    Row->Duration = Event->InclusiveTicks;
    Row->Self = Event->SelfTicks;
    Row->Waited = Event->WaitedTicks;
    return STATUS_SUCCESS;
}

//
// Takes the calls that were open when recording was cleared, one for each call
// of this routine.  STATUS_END_OF_FILE: there are no more.
//

_Must_inspect_result_
static
NTSTATUS
SqlTakeOpenCall(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _Inout_ PBOOLEAN IsRow
    )
{
    PREADER_STREAM Stream = &Thread->Merge.Stream;
    PCORE_STACK Stack;
    PCORE_FRAME Frame;
    ULONG Depth;
    BOOLEAN IsAsked;
    NTSTATUS Status;

    for (;;) {

        if (Thread->NextOpenTrack >= Stream->Pair.NumberOfStacks) {
            return STATUS_END_OF_FILE;
        }

        Stack = &Stream->Pair.Stacks[Thread->NextOpenTrack];
        if (Thread->NextOpen < Stack->NumberOfFrames) {
            break;
        }

        Thread->NextOpenTrack += 1;
        Thread->NextOpen = 0;
    }

    Depth = Thread->NextOpen;
    Thread->NextOpen += 1;
    Frame = &Stack->Frames[Depth];
    Status = SqlAskFunction(State, SqlGetFunction(State, Frame), &IsAsked);
    if (!NT_SUCCESS(Status) || !IsAsked) {
        return Status;
    }

    return SqlBeginRow(State,
                       Thread,
                       Stream->Start,
                       Depth,
                       Thread->NextOpenTrack,
                       SQL_CALL_BEGUN_BEFORE,
                       Frame,
                       Depth != 0 ? Frame - 1 : NULL,
                       IsRow);
}

_Use_decl_annotations_
BOOLEAN
SqlTakeEnded(
    const SQL_CALLS *State,
    PSQL_CALL_THREAD Thread
    )
{
    PSQL_CALL Row = &Thread->Row;
    PCCORE_ENDED Call;

    while (Thread->NextEnded < Thread->Ended.NumberOfCalls) {

        Call = &Thread->Ended.Calls[Thread->NextEnded];
        Thread->NextEnded += 1;
        if (Call->EnterTimestamp < State->First) {
            continue;
        }

        Row->Start = Call->EnterTimestamp;
        Row->Duration = Call->ExitTimestamp - Call->EnterTimestamp;
        Row->Function = State->Tally.List[Call->Function].Function;
        Row->Depth = Call->Depth;
        Row->Track = Thread->Merge.Stream.Pair.Current;
        Row->Flags = SQL_CALL_ENDED;
        return TRUE;
    }

    Thread->NextEnded = 0;
    Thread->Ended.NumberOfCalls = 0;
    return FALSE;
}

//
// Takes all ordinary calls that have ended.  Returns how many of them are rows.
//

static
ULONG
SqlCountEnded(
    _In_ const SQL_CALLS *State,
    _Inout_ PSQL_CALL_THREAD Thread
    )
{
    ULONG Number = 0;
    ULONG Index;

    for (Index = 0; Index < Thread->Ended.NumberOfCalls; Index++) {
        Number += Thread->Ended.Calls[Index].EnterTimestamp >= State->First;
    }

    Thread->Ended.NumberOfCalls = 0;
    return Number;
}

//
// Reads on until there is a row, with ordinary calls as many at a time as there
// are.  A run of these is of one stack.
//

_Must_inspect_result_
static
NTSTATUS
SqlReadAtOnce(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread
    )
{
    PREADER_STREAM Stream = &Thread->Merge.Stream;
    PSQL_CALL Row = &Thread->Row;
    PCCORE_SITE Site;
    CORE_EVENT Event;
    ULONG Number;
    NTSTATUS Status;

    for (;;) {

        if (Thread->NumberPassed != 0) {
            SqlCountRows(State->Cursor, &Thread->NumberPassed);
            return STATUS_SUCCESS;
        }

        if (State->Cursor->IsCounting) {
            Number = SqlCountEnded(State, Thread);
            if (Number != 0) {
                State->Cursor->NumberAlike = Number - 1;
                return STATUS_SUCCESS;
            }
        } else if (SqlTakeEnded(State, Thread)) {
            return STATUS_SUCCESS;
        }

        if (!Stream->Pair.IsPending) {

            Status = SqlLookForInterrupt(State->World);
            if (!NT_SUCCESS(Status)) {
                State->IsCancelled = TRUE;
                return Status;
            }

            State->Tally.Ended = &Thread->Ended;
            Status = CallRunStream(Stream);
            State->Tally.Ended = NULL;
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            if (Thread->Ended.NumberOfCalls != 0) {
                continue;
            }
        }

        Status = CallNextEvent(Stream, &Event);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Event.Kind == CoreEventEnter) {

            Site = CoreFindSite(
                &State->Tally.Modules[(ULONG)(Event.Frame->Site >> 32)],
                (ULONG)Event.Frame->Site,
                Event.Frame->Kind);
            if (Site == NULL) {
                return STATUS_INTERNAL_ERROR;
            }

            Event.Frame->Node = 0;
            Event.Frame->Function = Site->Index;

        } else if (Event.Kind != CoreEventUnmatched &&
                   Event.EnterTimestamp >= State->First) {

            Row->Start = Event.EnterTimestamp;
            Row->Duration = Event.InclusiveTicks;
            Row->Function = SqlGetFunction(State, Event.Frame);
            Row->Depth = Event.Depth;
            Row->Track = Event.Track;
            Row->Flags = SqlDescribeEnd(&Event);
            return STATUS_SUCCESS;
        }
    }
}

//
// Reads on until there is a row, or with a window one more in it or one of
// those ended.  STATUS_END_OF_FILE: there are no more events.
//

_Must_inspect_result_
static
NTSTATUS
SqlReadOn(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _Out_ PBOOLEAN IsRow
    )
{
    PREADER_STREAM Stream = &Thread->Merge.Stream;
    CORE_EVENT Event;
    ULONG Events = 0;
    NTSTATUS Status;

    *IsRow = FALSE;
    if (Thread->IsAtOnce) {
        Status = SqlReadAtOnce(State, Thread);
        *IsRow = NT_SUCCESS(Status);
        return Status;
    }

    if (Thread->IsPast && Thread->NumberOpen == 0 && !SQL_IS_WINDOWED(State)) {
        return STATUS_END_OF_FILE;
    }

    if (Thread->NextOpenTrack != READER_NONE) {
        Status = SqlTakeOpenCall(State, Thread, IsRow);
        if (Status != STATUS_END_OF_FILE) {
            return Status;
        }

        Thread->NextOpenTrack = READER_NONE;
    }

    do {

        Events += 1;
        if ((Events & SQL_EVENTS_BETWEEN_LOOKS) == 0) {
            Status = SqlLookForInterrupt(State->World);
            if (!NT_SUCCESS(Status)) {
                State->IsCancelled = TRUE;
                return Status;
            }
        }

        //
        // Behind the range only the ends of rows are waited for.
        //

        if (!Stream->Pair.IsPending &&
            (State->IsWatching || Thread->IsPast)) {

            if (!State->IsWatching) {
                State->Tally.Watch = SqlWatchNothing;
            }

            Status = CallRunStream(Stream);
            if (!State->IsWatching) {
                State->Tally.Watch = NULL;
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }

        Status = CallNextEvent(Stream, &Event);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        if (Event.Kind == CoreEventEnter) {
            Status = SqlTakeEntry(State, Thread, &Event, IsRow);
            if (NT_SUCCESS(Status) && Thread->IsPast &&
                Thread->NumberOpen == 0 && !SQL_IS_WINDOWED(State)) {
                return STATUS_END_OF_FILE;
            }
        } else if (Event.Kind != CoreEventUnmatched) {
            Status = SqlTakeEnd(State, Thread, &Event, IsRow);
        }
    } while (NT_SUCCESS(Status) && !*IsRow && !SQL_IS_WINDOWED(State));

    return Status;
}

static
LONG
SqlCompareLongCalls(
    _In_ PVOID Context,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PSQL_LONG_CALL Long = (PSQL_LONG_CALL)Context;

    return Long[First].Sequence < Long[Second].Sequence   ? -1
           : Long[First].Sequence > Long[Second].Sequence ? 1
                                                          : 0;
}

//
// Gives a thread the long calls that a further reading found, in order.
//

_Must_inspect_result_
static
NTSTATUS
SqlTakeLongCalls(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _In_ const SQL_CALL_THREAD *Other
    )
{
    PCALLOCATOR Allocator = State->World->Context.Allocator;
    PULONG Order;
    ULONG Index;
    SIZE_T Number = Other->NumberOfLong;

    Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                        (Number + 1) * sizeof(ULONG));
    Thread->Long = (PSQL_LONG_CALL)
        Allocator->Allocate(Allocator->Context,
                            (Number + 1) * sizeof(SQL_LONG_CALL));
    if (Order == NULL || Thread->Long == NULL) {
        Allocator->Free(Allocator->Context, Order);
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Number; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order, (ULONG)Number, SqlCompareLongCalls, Other->Long);
    for (Index = 0; Index < Number; Index++) {
        Thread->Long[Index] = Other->Long[Order[Index]];
    }

    Allocator->Free(Allocator->Context, Order);
    Thread->NumberOfLong = (ULONG)Number;
    Thread->AreLongKnown = TRUE;
    return STATUS_SUCCESS;
}

//
// Reads a thread of another opening of the session to its end, for its long
// calls.
//

_Must_inspect_result_
static
NTSTATUS
SqlReadForLong(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _Inout_ PSQL_CALLS Other
    )
{
    PCALLOCATOR Allocator = State->World->Context.Allocator;
    const READER_THREAD *Wanted =
        &State->World->Session.Threads[Thread->Merge.Stream.Thread];
    PREADER_MERGE_THREAD Merged;
    const READER_THREAD *Known;
    ULONG Index;
    BOOLEAN IsRow;
    NTSTATUS Status;

    Other->Merge.Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                                     sizeof(ULONG));
    if (Other->Merge.Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Other->World->Session.NumberOfThreads; Index++) {
        Known = &Other->World->Session.Threads[Index];
        if (Known->ThreadId == Wanted->ThreadId &&
            Known->FirstTimestamp == Wanted->FirstTimestamp) {
            Other->Merge.Order[0] = Index;
            Other->Merge.NumberInOrder = 1;
        }
    }

    Status = CallFirstInMerge(&Other->Merge, &Merged);
    if (Status == STATUS_END_OF_FILE) {

        //
        // The ring of a running program has gone on: nobody knows the ends.
        //

        if (Other->Merge.ExitCode != READER_EXIT_SUCCESS) {
            return STATUS_FILE_INVALID;
        }

        Thread->AreLongKnown = TRUE;
        return STATUS_SUCCESS;
    }

    while (NT_SUCCESS(Status)) {
        Status = SqlReadOn(Other, (PSQL_CALL_THREAD)Merged, &IsRow);
    }

    if (Status != STATUS_END_OF_FILE) {
        State->IsCancelled = State->IsCancelled || Other->IsCancelled;
        return Status;
    }

    return SqlTakeLongCalls(State, Thread, (PSQL_CALL_THREAD)Merged);
}

//
// Finds the ends of a thread's long calls.
//

_Must_inspect_result_
static
NTSTATUS
SqlFindLongCalls(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread
    )
{
    PCALLOCATOR Allocator = State->World->Context.Allocator;
    PSQL_WORLD World;
    PSQL_CALLS Other;
    RTL_WRITER Error;
    CHAR Text[16];
    NTSTATUS Status;

    World = (PSQL_WORLD)Allocator->Allocate(Allocator->Context,
                                            sizeof(*World));
    Other = (PSQL_CALLS)Allocator->Allocate(Allocator->Context,
                                            sizeof(*Other));
    if (World == NULL || Other == NULL) {
        Allocator->Free(Allocator->Context, World);
        Allocator->Free(Allocator->Context, Other);
        return STATUS_NO_MEMORY;
    }

    RtlInitializeBufferWriter(&Error, Text, sizeof(Text));
    Status = SqlOpenWorld(World,
                          State->World->Connection,
                          State->World->Path,
                          State->World->PathLength,
                          State->World->Boot,
                          FALSE,
                          &Error);
    if (NT_SUCCESS(Status)) {
        World->Session.ShowsAside = State->World->Session.ShowsAside;
        SqlInitializeCalls(Other, State->Cursor, World, TRUE, TRUE);
        Other->IsForLong = TRUE;
        Status = SqlReadForLong(State, Thread, Other);
        SqlRundownCalls(Other);
    }

    SqlCloseWorld(World);
    Allocator->Free(Allocator->Context, World);
    Allocator->Free(Allocator->Context, Other);
    return Status;
}

//
// Gives the first row of a full window its end, which comes later.
//

_Must_inspect_result_
static
NTSTATUS
SqlEndLongCall(
    _Inout_ PSQL_CALLS State,
    _Inout_ PSQL_CALL_THREAD Thread,
    _Inout_ PSQL_CALL Row
    )
{
    PSQL_LONG_CALL Long;
    NTSTATUS Status;

    if (!Thread->AreLongKnown) {
        Status = SqlFindLongCalls(State, Thread);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    while (Thread->NextLong < Thread->NumberOfLong &&
           Thread->Long[Thread->NextLong].Sequence < Row->Sequence) {
        Thread->NextLong += 1;
    }

    //
    // Of a program that runs, a store may have lost records since.
    //

    Row->Flags |= SQL_CALL_ENDED | SQL_CALL_UNFINISHED;
    if (Thread->NextLong < Thread->NumberOfLong &&
        Thread->Long[Thread->NextLong].Sequence == Row->Sequence &&
        ((Row->Flags & SQL_CALL_BEGUN_BEFORE) != 0 ||
         Thread->Long[Thread->NextLong].Start == Row->Start)) {

        Long = &Thread->Long[Thread->NextLong];
        Row->Flags &= ~SQL_CALL_UNFINISHED;
        Row->Flags |= Long->Flags;
        Row->Duration = Long->Duration;
        Row->Self = Long->Self;
        Row->Waited = Long->Waited;
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
SqlAdvanceThread(
    PSQL_CALLS State,
    PSQL_CALL_THREAD Thread
    )
{
    PSQL_CALL Row;
    BOOLEAN IsRow;
    NTSTATUS Status;

    if (!SQL_IS_WINDOWED(State)) {

        do {
            Status = SqlReadOn(State, Thread, &IsRow);
        } while (NT_SUCCESS(Status) && !IsRow);

        if (NT_SUCCESS(Status) && State->Cursor->Query.IsOrdered) {
            Thread->Merge.Timestamp = Thread->Row.Start;
        }

        return Status;
    }

    for (;;) {

        if (Thread->First != Thread->End) {

            Row = &Thread->Ring[Thread->First & (Thread->Capacity - 1)];
            if ((Row->Flags & SQL_CALL_ENDED) == 0 &&
                (Thread->IsRead ||
                 Thread->End - Thread->First == SQL_WINDOW)) {

                Status = SqlEndLongCall(State, Thread, Row);
                if (!NT_SUCCESS(Status)) {
                    return Status;
                }
            }

            if ((Row->Flags & SQL_CALL_ENDED) != 0) {
                Thread->Row = *Row;
                Thread->First += 1;
                Thread->Merge.Timestamp = Thread->Row.Start;
                return STATUS_SUCCESS;
            }
        } else if (Thread->IsRead || Thread->IsPast) {
            return STATUS_END_OF_FILE;
        }

        Status = SqlReadOn(State, Thread, &IsRow);
        if (Status == STATUS_END_OF_FILE) {
            Thread->IsRead = TRUE;
        } else if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }
}

//
// Gives the frames that are open after what was passed over the tally's
// functions, and takes them for no rows.
//

_Must_inspect_result_
static
NTSTATUS
SqlConvertFrames(
    _Inout_ PSQL_CALLS State,
    _Inout_ PREADER_STREAM Stream
    )
{
    PCORE_STACK Stack;
    SIZE_T Depth;
    ULONG Index;
    NTSTATUS Status;

    for (Index = 0; Index < Stream->Pair.NumberOfStacks; Index++) {
        Stack = &Stream->Pair.Stacks[Index];
        for (Depth = 0; Depth < Stack->NumberOfFrames; Depth++) {

            Status = CallAddFunctionToTally(&State->Tally,
                                            Stack->Frames[Depth].Function,
                                            &Stack->Frames[Depth].Function);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }

            Stack->Frames[Depth].Node = 0;
        }
    }

    return STATUS_SUCCESS;
}

//
// Can rows be counted by an index?  Of a program that runs they are up to a
// moment; what is before a clear are no rows, but what is open then.
//

static
BOOLEAN
SqlIsCountedByIndex(
    _In_ const SQL_CALLS *State,
    _In_ ULONGLONG Start
    )
{
    return State->Cursor->IsCounting && !State->IsForLong && Start == 0 &&
           State->Last == READER_MAXIMUM_TIMESTAMP &&
           State->Cursor->Query.To == MAXLONG64;
}

//
// Moves a thread that was just opened to where rows may begin, and finds its
// first one.
//

_Use_decl_annotations_
static
NTSTATUS
SqlBeginThread(
    PVOID Context,
    PREADER_MERGE_THREAD Merged
    )
{
    PSQL_CALLS State = (PSQL_CALLS)Context;
    PSQL_CALL_THREAD Thread = (PSQL_CALL_THREAD)Merged;
    PREADER_STREAM Stream = &Merged->Stream;
    PSQL_WORLD World = State->World;
    PCALLOCATOR Allocator = World->Context.Allocator;
    ULONGLONG Start = World->Range.Start;
    NTSTATUS Status;

    Thread->NextOpenTrack = READER_NONE;
    Stream->Horizon = World->Moment->Horizon;
    Status = CallPrepareTally(&State->Tally);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (State->First > Start) {
        Start = State->First;
    }

    State->Tally.Thread = Stream->Thread;
    State->Before.Thread = Stream->Thread;
    Status = SqlIsCountedByIndex(State, Start)
                 ? CallSkipCounted(&State->Before,
                                   Stream,
                                   &Thread->NumberPassed)
                 : CallSkipStream(&State->Before, Stream, Start);
    if (Status == STATUS_CANCELLED) {
        State->IsCancelled = TRUE;
    }

    if (NT_SUCCESS(Status)) {
        Status = SqlConvertFrames(State, Stream);
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // What was open at a clear began then.
    //

    if (Stream->Start > State->First) {
        CallClipStream(Stream, Stream->Start, World->Moment->Horizon);
        if (!Stream->IsFinished) {
            Thread->NextOpenTrack = 0;
        }
    }

    if (!State->NeedsEvents && !State->IsWatching &&
        !State->Cursor->Query.IsOrdered && Thread->NextOpenTrack != 0 &&
        State->Cursor->Query.To == MAXLONG64) {

        Thread->Ended.Calls = (PCORE_ENDED)
            Allocator->Allocate(Allocator->Context,
                                SQL_ENDED_CALLS * sizeof(CORE_ENDED));
        if (Thread->Ended.Calls == NULL) {
            return STATUS_NO_MEMORY;
        }

        Thread->Ended.Capacity = SQL_ENDED_CALLS;
        Thread->IsAtOnce = TRUE;
        State->Tally.IsEndedAlone = TRUE;
    }

    CallSetStreamTally(Stream, &State->Tally);
    if (State->IsForLong) {
        return STATUS_SUCCESS;
    }

    return SqlAdvanceThread(State, Thread);
}

_Use_decl_annotations_
static
VOID
SqlEndThread(
    PVOID Context,
    PREADER_MERGE_THREAD Merged
    )
{
    PSQL_CALLS State = (PSQL_CALLS)Context;
    PSQL_CALL_THREAD Thread = (PSQL_CALL_THREAD)Merged;
    PCALLOCATOR Allocator = State->World->Context.Allocator;

    Allocator->Free(Allocator->Context, Thread->Ring);
    Allocator->Free(Allocator->Context, Thread->Long);
    Allocator->Free(Allocator->Context, Thread->Ended.Calls);
    Thread->Ended.Calls = NULL;
    Thread->Ring = NULL;
    Thread->Long = NULL;

    //
    // Without the tally the stores' bad records are said.
    //

    CallSetStreamTally(&Merged->Stream, NULL);
}

_Use_decl_annotations_
VOID
SqlInitializeCalls(
    PSQL_CALLS State,
    PSQL_CURSOR Cursor,
    PSQL_WORLD World,
    BOOLEAN NeedsEnds,
    BOOLEAN NeedsEvents
    )
{
    PCCORE_CLOCK Clock = &World->Session.Clock;
    ULONGLONG First = World->Range.FirstTimestamp;

    State->Cursor = Cursor;
    State->World = World;
    State->NeedsEnds = NeedsEnds;
    State->NeedsEvents = NeedsEvents;
    State->IsWatching = Cursor->Query.NumberOfTests != 0;
    CallInitializeTally(&State->Tally, &World->Functions, NULL);
    CallInitializeTally(&State->Before, &World->Functions, NULL);
    State->Tally.IsSilent = TRUE;
    State->Before.IsSilent = TRUE;
    if (State->IsWatching) {
        State->Tally.Watch = SqlWatchFunction;
        State->Tally.WatchContext = State;
    }

    State->First = 0;
    State->Last = World->Moment->Horizon;
    if (SQL_HAS_TIMES(World) && Cursor->Query.From > 0) {
        State->First = CallFindTime(Clock,
                                    First,
                                    (ULONGLONG)Cursor->Query.From);
    }

    if (SQL_HAS_TIMES(World) && Cursor->Query.To != MAXLONG64) {

        ULONGLONG End = Cursor->Query.To < 0
                            ? 1
                            : CallFindTime(Clock,
                                           First,
                                           (ULONGLONG)Cursor->Query.To + 1);

        if (End != READER_MAXIMUM_TIMESTAMP && End - 1 < State->Last) {
            State->Last = End - 1;
        }
    }

    State->Merge.Session = &World->Session;
    State->Merge.Begin = SqlBeginThread;
    State->Merge.End = SqlEndThread;
    State->Merge.RoutineContext = State;
    State->Merge.SizeOfThread = sizeof(SQL_CALL_THREAD);
}

_Use_decl_annotations_
VOID
SqlRundownCalls(
    PSQL_CALLS State
    )
{
    PCALLOCATOR Allocator;

    if (State->World == NULL) {
        return;
    }

    Allocator = State->World->Context.Allocator;
    CallEndMerge(&State->Merge);
    CallRundownTally(&State->Tally);
    CallRundownTally(&State->Before);
    Allocator->Free(Allocator->Context, State->Asked);
    State->Asked = NULL;
}
