/*++

Module Name:

    CommandStack.c

Abstract:

    TraceReader stack: how much of their stacks the threads and fibers used, by
    which chain of calls, and what each function takes.

    Every record has the stack pointer.  With the image's unwind data a frame
    also has the place of its return address (Top) and how far the function's
    body lowers the stack pointer.  A call's share is what lies from just above
    its return address down to just above the return address of the call that
    was made from it: so the shares of a chain of calls add up to what it used.
    Functions that are not traced are in the share of the one that called them.

    Memory is bounded by the number of functions and the deepest stacks.

--*/

#include "ReaderStack.h"

//
// Above the frame's return address.
//

#define READER_STACK_SLOT sizeof(ULONGLONG)

//
// The levels at either end of a longer chain that text output shows.
//

#define READER_STACK_LEVELS 32

//
// The progress is shown once in so many events.
//

#define READER_STACK_EVENTS 0x10000

static const READER_COLUMN ReaderStackThreadColumns[] = {
    { "Thread", "thread", ReaderColumnNumber, 8 },
    READER_PROCESS_COLUMNS,
    { "Fiber", "fiber", ReaderColumnNumber, 5 },
    { "Reserved", "reserved", ReaderColumnNumber, 12 },
    { "Used", "used", ReaderColumnNumber, 12 },
    { "Levels", "levels", ReaderColumnNumber, 8 },
    { "Exact", "exact", ReaderColumnText, 5 },
    { "Deepest function", "function", ReaderColumnText, 0 }
};

static const READER_TABLE ReaderStackThreadTable = {
    "stacks",
    ReaderStackThreadColumns,
    RTL_NUMBER_OF(ReaderStackThreadColumns),
    FALSE
};

static const READER_COLUMN ReaderStackPathColumns[] = {
    { "Thread", "thread", ReaderColumnNumber, 8 },
    READER_PROCESS_COLUMNS,
    { "Fiber", "fiber", ReaderColumnNumber, 5 },
    { "Level", "level", ReaderColumnNumber, 8 },
    { "Bytes", "bytes", ReaderColumnNumber, 12 },
    { "Down to here", "total", ReaderColumnNumber, 12 },
    { "Module", "module", ReaderColumnText, 16 },
    { "Function", "function", ReaderColumnText, 0 }
};

#define READER_STACK_PATH_MODULE_COLUMN 7

static const READER_TABLE ReaderStackPathTable = {
    "paths",
    ReaderStackPathColumns,
    RTL_NUMBER_OF(ReaderStackPathColumns),
    FALSE
};

static const READER_COLUMN ReaderStackFunctionColumns[] = {
    { "Calls", "calls", ReaderColumnNumber, 10 },
    { "Least", "least", ReaderColumnNumber, 10 },
    { "Most", "most", ReaderColumnNumber, 10 },
    { "With callees", "with_callees", ReaderColumnNumber, 12 },
    { "Exact", "exact", ReaderColumnText, 5 },
    { "Module", "module", ReaderColumnText, 16 },
    { "", "rva", ReaderColumnHexadecimal, 0 },
    { "Function", "function", ReaderColumnText, 0 }
};

#define READER_STACK_MODULE_COLUMN 5
#define READER_STACK_RVA_COLUMN 6

static const READER_TABLE ReaderStackFunctionTable = {
    "functions",
    ReaderStackFunctionColumns,
    RTL_NUMBER_OF(ReaderStackFunctionColumns),
    FALSE
};

typedef struct _READER_STACK_FUNCTION {
    ULONGLONG Calls;
    ULONG Least;                    // bytes, of the shares of its calls
    ULONG Most;
    ULONG WithCallees;              // bytes, the most
    BOOLEAN IsGuessed;              // a frame's size was not known
} READER_STACK_FUNCTION;
typedef READER_STACK_FUNCTION *PREADER_STACK_FUNCTION;

//
// A call that is open.
//

typedef struct _READER_STACK_CALL {
    ULONG Share;                    // bytes, the most so far
    ULONG Lowest;                   // address that it or a callee reached
} READER_STACK_CALL;
typedef READER_STACK_CALL *PREADER_STACK_CALL;

//
// A level of the deepest chain.
//

typedef struct _READER_STACK_LEVEL {
    ULONG Function;                 // index
    ULONG Top;                      // where its return address is
    BOOLEAN IsGuessed;
} READER_STACK_LEVEL;
typedef READER_STACK_LEVEL *PREADER_STACK_LEVEL;

typedef struct _READER_STACK_TRACK {
    PREADER_STACK_CALL Calls;       // by depth
    ULONG CapacityOfCalls;
    PREADER_STACK_LEVEL Levels;     // of the deepest chain, the outermost first
    ULONG NumberOfLevels;
    ULONG CapacityOfLevels;
    ULONG NumberInCommon;           // of them, that are open still
    ULONG Base;                     // the highest address
    ULONG Lowest;                   // the lowest that was reached
    ULONG PendingDepth;             // of the call that reached it
    ULONG ThreadId;
    ULONG Process;                  // index
    ULONG Fiber;                    // 0: the thread's own stack
    ULONG Reserved;                 // bytes; 0: not known
    BOOLEAN IsUsed;
    BOOLEAN IsPending;              // the chain is still to be copied
} READER_STACK_TRACK;
typedef READER_STACK_TRACK *PREADER_STACK_TRACK;
typedef const READER_STACK_TRACK *PCREADER_STACK_TRACK;

typedef struct _READER_STACK {
    READER_SESSION Session;
    READER_FUNCTIONS Functions;
    READER_TALLY Before;            // for what was recorded before the last
    READER_RANGE Range;             // clear
    PCREADER_OPTIONS Options;
    PREADER_STACK_FUNCTION List;    // by function
    ULONG CapacityOfList;
    PREADER_STACK_TRACK Tracks;     // of all threads
    ULONG NumberOfTracks;
    ULONG CapacityOfTracks;
    ULONG FirstTrack;               // of the thread that is read
    ULONG Thread;                   // its index
    BOOLEAN IsGuessed;              // somewhere
    READER_NOT_SHOWN NotShown;
    ULONGLONG NumberShown;
    ULONGLONG NumberOfRecords;      // of the threads before
    READER_PROGRESS Progress;
} READER_STACK;
typedef READER_STACK *PREADER_STACK;


static
ULONG
ReaderMeasureStack(
    _In_ ULONG High,
    _In_ ULONG Low
    )
/*++

Routine Description:

    Measures the distance between two addresses of a stack, by their lower
    halves.

Arguments:

    High, Low - The addresses.

Return Value:

    Bytes; 0 if they are the other way round.

--*/
{
    return (LONG)(High - Low) > 0 ? High - Low : 0;
}


static
BOOLEAN
ReaderIsFrameKnown(
    _In_ const READER_SESSION *Session,
    _In_ const CORE_FRAME *Frame
    )
/*++

Routine Description:

    Says whether a frame's size is known: from its unwind entry, or because the
    image has such entries and none for it, so that it is a leaf.  What the
    cache of symbols has of a site came from the image.

Arguments:

    Session - The session.

    Frame - The frame.

Return Value:

    FALSE if it was taken for 0.

--*/
{
    const READER_MODULE *Module = Session->Modules[(ULONG)(Frame->Site >> 32)];
    PREADER_UNWIND Unwind;

    if ((Frame->Flags & CORE_CALL_FRAME_KNOWN) != 0) {
        return TRUE;
    }

    if (Frame->Kind != TRACE_KIND_ENTER) {
        return FALSE;
    }

    if (!Module->IsImageTried) {
        return Module->CachedModule != READER_NONE;
    }

    Unwind = Module->Symbols != NULL ? ReaderGetUnwind(Module->Symbols) : NULL;
    return Unwind != NULL && Unwind->NumberOfFunctions != 0;
}


_Must_inspect_result_
static
NTSTATUS
ReaderFindStackTrack(
    _Inout_ PREADER_STACK Stack,
    _In_ const READER_STREAM *Stream,
    _In_ const CORE_EVENT *Event,
    _Out_ PREADER_STACK_TRACK *Track
    )
/*++

Routine Description:

    Finds the track of an event, with room for its call.

Arguments:

    Stack - What is added up.

    Stream - The thread.

    Event - The event.

    Track - Receives the track.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    PREADER_STACK_TRACK Found;
    ULONG Index = Stack->FirstTrack + Event->Track;
    NTSTATUS Status;

    if (Index < Stack->FirstTrack || Index >= 0x80000000u ||
        Event->Depth >= 0x80000000u) {
        return STATUS_NO_MEMORY;
    }

    if (Index >= Stack->NumberOfTracks) {

        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Stack->Tracks,
                                 &Stack->CapacityOfTracks,
                                 Index + 1,
                                 sizeof(READER_STACK_TRACK));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Stack->NumberOfTracks = Index + 1;
    }

    Found = &Stack->Tracks[Index];
    if (!Found->IsUsed) {

        Found->IsUsed = TRUE;
        Found->ThreadId = Stack->Session.Threads[Stack->Thread].ThreadId;
        Found->Process = Stack->Session.Threads[Stack->Thread].Process;
        Found->Fiber = Event->Track;
        Found->Base = Event->Frame->Top + READER_STACK_SLOT;
        if (Event->Track == 0 && Stream->Pair.StackSize != 0) {
            Found->Base = Stream->Pair.StackBase;
            Found->Reserved = Stream->Pair.StackSize;
        }

        Found->Lowest = Found->Base;
    }

    if (Event->Depth >= Found->CapacityOfCalls) {

        Status = ReaderGrowArray(Allocator,
                                 (PVOID *)&Found->Calls,
                                 &Found->CapacityOfCalls,
                                 Event->Depth + 1,
                                 sizeof(READER_STACK_CALL));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    *Track = Found;
    return STATUS_SUCCESS;
}


static
VOID
ReaderReachStack(
    _Inout_ PREADER_STACK_TRACK Track,
    _In_ ULONG Depth,
    _In_ ULONG Address
    )
/*++

Routine Description:

    Notes how far down a call reached.

Arguments:

    Track - The stack.

    Depth - The call's depth.

    Address - The address.

Return Value:

    None.

--*/
{
    PREADER_STACK_CALL Call = &Track->Calls[Depth];

    if ((LONG)(Address - Call->Lowest) < 0) {
        Call->Lowest = Address;
    }

    if ((LONG)(Address - Track->Lowest) < 0) {
        Track->Lowest = Address;
        Track->PendingDepth = Depth;
        Track->IsPending = TRUE;
    }
}


_Must_inspect_result_
static
NTSTATUS
ReaderCopyChain(
    _Inout_ PREADER_STACK Stack,
    _Inout_ PREADER_STACK_TRACK Track,
    _In_reads_(Depth + 1) const CORE_FRAME *Frames,
    _In_ ULONG Depth
    )
/*++

Routine Description:

    Copies the chain of calls that reached the lowest address.  What it has in
    common with the one before is there already, so that copying takes no more
    than making the calls did.

Arguments:

    Stack - What is added up.

    Track - The stack.

    Frames - The open frames, the outermost first.

    Depth - Of the innermost.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PREADER_STACK_LEVEL Level;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderGrowArray(Stack->Session.Context->Allocator,
                             (PVOID *)&Track->Levels,
                             &Track->CapacityOfLevels,
                             Depth + 1,
                             sizeof(READER_STACK_LEVEL));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = Track->NumberInCommon; Index <= Depth; Index++) {
        Level = &Track->Levels[Index];
        Level->Function = Frames[Index].Function;
        Level->Top = Frames[Index].Top;
        Level->IsGuessed = !ReaderIsFrameKnown(&Stack->Session,
                                               &Frames[Index]);
    }

    Track->NumberOfLevels = Depth + 1;
    Track->NumberInCommon = Depth + 1;
    Track->IsPending = FALSE;
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderEnterStack(
    _Inout_ PREADER_STACK Stack,
    _Inout_ PREADER_STACK_TRACK Track,
    _In_ const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds a call that is entered.

Arguments:

    Stack - What is added up.

    Track - The stack.

    Event - The event.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCORE_FRAME Frame = Event->Frame;
    PREADER_STACK_CALL Call = &Track->Calls[Event->Depth];
    ULONG Bottom = Frame->Stack;
    ULONG High = Frame->Top + READER_STACK_SLOT;
    ULONG Share;
    NTSTATUS Status;

    Status = ReaderFindFunction(&Stack->Functions,
                                Event->Site,
                                &Frame->Function);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = ReaderGrowArray(Stack->Session.Context->Allocator,
                             (PVOID *)&Stack->List,
                             &Stack->CapacityOfList,
                             Stack->Functions.NumberOfFunctions,
                             sizeof(READER_STACK_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if ((Frame->Flags & CORE_CALL_FRAME_KNOWN) != 0) {
        Bottom -= Frame->BodySize;
    }

    //
    // Nobody says where a fiber's stack begins: at its outermost call, then.
    //

    if (Event->Depth == 0 && Track->Reserved == 0 &&
        (LONG)(High - Track->Base) > 0) {
        Track->Base = High;
    }

    if (Track->NumberInCommon > Event->Depth) {
        Track->NumberInCommon = Event->Depth;
    }

    if (Event->Parent != NULL) {
        Share = ReaderMeasureStack(Event->Parent->Top, Frame->Top);
        if (Call[-1].Share < Share) {
            Call[-1].Share = Share;
        }
    }

    Call->Share = ReaderMeasureStack(High, Bottom);
    Call->Lowest = Bottom;
    ReaderReachStack(Track, Event->Depth, Bottom);
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderLeaveStack(
    _Inout_ PREADER_STACK Stack,
    _Inout_ PREADER_STACK_TRACK Track,
    _In_ const READER_STREAM *Stream,
    _In_ const CORE_EVENT *Event
    )
/*++

Routine Description:

    Adds a call that ends.

Arguments:

    Stack - What is added up.

    Track - The stack.

    Stream - The thread.

    Event - The event.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    const CORE_FRAME *Frame = Event->Frame;
    PREADER_STACK_CALL Call = &Track->Calls[Event->Depth];
    PREADER_STACK_FUNCTION Function = &Stack->List[Frame->Function];
    ULONG High = Frame->Top + READER_STACK_SLOT;
    ULONG Rsp;
    ULONG WithCallees;
    NTSTATUS Status;

    //
    // What was allocated since the entry shows at the exit.
    //

    if (Event->Kind == CoreEventExit) {
        Rsp = Stream->Pair.Call.Stack;
        if (Call->Share < ReaderMeasureStack(High, Rsp)) {
            Call->Share = ReaderMeasureStack(High, Rsp);
        }

        ReaderReachStack(Track, Event->Depth, Rsp);
    }

    if (Track->IsPending && Track->PendingDepth == Event->Depth) {
        Status = ReaderCopyChain(
            Stack,
            Track,
            Stream->Pair.Stacks[Event->Track].Frames,
            Event->Depth);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Track->NumberInCommon > Event->Depth) {
        Track->NumberInCommon = Event->Depth;
    }

    if (Event->Depth != 0 && (LONG)(Call->Lowest - Call[-1].Lowest) < 0) {
        Call[-1].Lowest = Call->Lowest;
    }

    WithCallees = ReaderMeasureStack(High, Call->Lowest);
    if (Function->Calls == 0 || Call->Share < Function->Least) {
        Function->Least = Call->Share;
    }

    if (Call->Share > Function->Most) {
        Function->Most = Call->Share;
    }

    if (WithCallees > Function->WithCallees) {
        Function->WithCallees = WithCallees;
    }

    Function->Calls += 1;
    if (!Function->IsGuessed &&
        !ReaderIsFrameKnown(&Stack->Session, Frame)) {
        Function->IsGuessed = TRUE;
        Stack->IsGuessed = TRUE;
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderBeginStackRange(
    _Inout_ PREADER_STACK Stack,
    _Inout_ PREADER_STREAM Stream
    )
/*++

Routine Description:

    Moves a thread that was just opened to the last clear, and adds the calls
    that are open there.

Arguments:

    Stack - What is added up.

    Stream - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PREADER_STACK_TRACK Track;
    PCORE_STACK Open;
    CORE_EVENT Event;
    SIZE_T Depth;
    ULONG Index;
    NTSTATUS Status;

    Status = ReaderSkipStream(&Stack->Before, Stream, Stack->Range.Start);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    ReaderClipStream(Stream, Stack->Range.Start, Stack->Range.End);
    for (Index = 0;
         Index < Stream->Pair.NumberOfStacks && !Stream->IsFinished;
         Index++) {

        Open = &Stream->Pair.Stacks[Index];
        for (Depth = 0; Depth < Open->NumberOfFrames; Depth++) {

            RtlZeroBytes(&Event, sizeof(Event));
            Event.Kind = CoreEventEnter;
            Event.Depth = (ULONG)Depth;
            Event.Track = Index;
            Event.Timestamp = Stream->Start;
            Event.Frame = &Open->Frames[Depth];
            Event.Parent = Depth != 0 ? Event.Frame - 1 : NULL;
            Event.Site = Event.Frame->Site;
            Status = ReaderFindStackTrack(Stack, Stream, &Event, &Track);
            if (NT_SUCCESS(Status)) {
                Status = ReaderEnterStack(Stack, Track, &Event);
            }

            if (!NT_SUCCESS(Status)) {
                return Status;
            }
        }
    }

    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderStackThread(
    _Inout_ PREADER_STACK Stack,
    _In_ ULONG ThreadIndex
    )
/*++

Routine Description:

    Adds a thread.

Arguments:

    Stack - What is added up.

    ThreadIndex - The thread.

Return Value:

    STATUS_SUCCESS or what failed.

--*/
{
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    PREADER_STACK_TRACK Track;
    READER_STREAM Stream;
    CORE_EVENT Event;
    ULONG Events = 0;
    ULONG Index;
    NTSTATUS Status;

    Stack->Thread = ThreadIndex;
    Stack->FirstTrack = Stack->NumberOfTracks;
    Status = ReaderOpenStream(&Stream, &Stack->Session, ThreadIndex, FALSE);
    if (NT_SUCCESS(Status) && Stack->Range.IsGiven) {
        Status = ReaderBeginStackRange(Stack, &Stream);
    }

    while (NT_SUCCESS(Status)) {

        Status = ReaderNextEvent(&Stream, &Event);
        if (!NT_SUCCESS(Status) || Event.Kind == CoreEventUnmatched) {
            continue;
        }

        Status = ReaderFindStackTrack(Stack, &Stream, &Event, &Track);
        if (!NT_SUCCESS(Status)) {
            break;
        }

        Status = Event.Kind == CoreEventEnter
                     ? ReaderEnterStack(Stack, Track, &Event)
                     : ReaderLeaveStack(Stack, Track, &Stream, &Event);
        Events += 1;
        if (Events % READER_STACK_EVENTS == 0) {
            ReaderShowProgress(&Stack->Progress,
                               Stack->NumberOfRecords +
                                   Stream.NumberOfRecords);
        }
    }

    Stack->NumberOfRecords += Stream.NumberOfRecords;
    ReaderCloseStream(&Stream);
    for (Index = Stack->FirstTrack; Index < Stack->NumberOfTracks; Index++) {
        Allocator->Free(Allocator->Context, Stack->Tracks[Index].Calls);
        Stack->Tracks[Index].Calls = NULL;
        Stack->Tracks[Index].CapacityOfCalls = 0;
    }

    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}


static
VOID
ReaderPutStacks(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack
    )
/*++

Routine Description:

    Writes the table of stacks.

Arguments:

    Output - The output.

    Stack - What was added up.

Return Value:

    None.

--*/
{
    PCREADER_STACK_TRACK Track;
    PCREADER_FUNCTION Function;
    BOOLEAN IsGuessed;
    ULONG Index;
    ULONG Level;

    ReaderBeginTable(Output, &ReaderStackThreadTable, 0);
    for (Index = 0; Index < Stack->NumberOfTracks; Index++) {

        Track = &Stack->Tracks[Index];
        if (Track->NumberOfLevels == 0) {
            continue;
        }

        IsGuessed = FALSE;
        for (Level = 0; Level < Track->NumberOfLevels; Level++) {
            IsGuessed = IsGuessed || Track->Levels[Level].IsGuessed;
        }

        ReaderPutNumber(Output, Track->ThreadId);
        ReaderPutProcess(Output, &Stack->Session, Track->Process);
        ReaderPutNumber(Output, Track->Fiber);
        if (Track->Reserved != 0) {
            ReaderPutNumber(Output, Track->Reserved);
        } else {
            ReaderPutNothing(Output);
        }

        ReaderPutNumber(Output,
                        ReaderMeasureStack(Track->Base, Track->Lowest));
        ReaderPutNumber(Output, Track->NumberOfLevels);
        ReaderPutString(Output, IsGuessed ? "no" : "yes");
        Function = &Stack->Functions.Functions
                        [Track->Levels[Track->NumberOfLevels - 1].Function];
        ReaderPutText(Output, Function->Name, Function->NameLength);
    }

    ReaderEndTable(Output);
}


static
VOID
ReaderPutLevel(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack,
    _In_ PCREADER_STACK_TRACK Track,
    _In_ ULONG Level,
    _In_ ULONG Bytes,
    _In_ ULONG Total
    )
/*++

Routine Description:

    Writes a row of a chain.

Arguments:

    Output - The output.

    Stack - What was added up.

    Track - The stack.

    Level - The level, from 1; 0 is what lies above the first.

    Bytes - What it takes.

    Total - The same, with all above it.

Return Value:

    None.

--*/
{
    PCREADER_FUNCTION Function;
    const READER_MODULE *Module;

    ReaderPutNumber(Output, Track->ThreadId);
    ReaderPutProcess(Output, &Stack->Session, Track->Process);
    ReaderPutNumber(Output, Track->Fiber);
    ReaderPutNumber(Output, Level);
    ReaderPutNumber(Output, Bytes);
    ReaderPutNumber(Output, Total);
    if (Level == 0) {
        ReaderPutNothing(Output);
        ReaderPutString(Output, "(before the first traced call)");
        return;
    }

    Function = &Stack->Functions
                    .Functions[Track->Levels[Level - 1].Function];
    Module = Stack->Session.Modules[Function->Module];
    ReaderPutText(Output, Module->Name, Module->NameLength);
    ReaderPutText(Output, Function->Name, Function->NameLength);
}


static
VOID
ReaderPutSkippedLevels(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack,
    _In_ PCREADER_STACK_TRACK Track,
    _In_ ULONG Count,
    _In_ ULONG Bytes,
    _In_ ULONG Total
    )
/*++

Routine Description:

    Writes a row for the levels in the middle of a long chain.

Arguments:

    Output - The output, text.

    Stack - What was added up.

    Track - The stack.

    Count - How many levels are not shown.

    Bytes - What they take.

    Total - The same, with all above them.

Return Value:

    None.

--*/
{
    RTL_WRITER Writer;
    CHAR Name[32];

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteText(&Writer, "(%u levels)", Count);
    ReaderPutNumber(Output, Track->ThreadId);
    ReaderPutProcess(Output, &Stack->Session, Track->Process);
    ReaderPutNumber(Output, Track->Fiber);
    ReaderPutNothing(Output);
    ReaderPutNumber(Output, Bytes);
    ReaderPutNumber(Output, Total);
    ReaderPutNothing(Output);
    ReaderPutText(Output, Name, Writer.LengthInBytes);
}


static
VOID
ReaderPutChains(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack
    )
/*++

Routine Description:

    Writes the table of the deepest chains.

Arguments:

    Output - The output.

    Stack - What was added up.

Return Value:

    None.

--*/
{
    PCREADER_STACK_TRACK Track;
    ULONGLONG HiddenColumns = 0;
    ULONG Bytes;
    ULONG High;
    ULONG Index;
    ULONG Level;
    ULONG Low;
    ULONG Skipped;
    ULONG SkippedBytes;

    if (Stack->Session.NumberOfModules == 1) {
        HiddenColumns = 1ULL << READER_STACK_PATH_MODULE_COLUMN;
    }

    ReaderBeginTable(Output, &ReaderStackPathTable, HiddenColumns);
    for (Index = 0; Index < Stack->NumberOfTracks; Index++) {

        Track = &Stack->Tracks[Index];
        if (Track->NumberOfLevels == 0) {
            continue;
        }

        High = Track->Base;
        Low = Track->Levels[0].Top + READER_STACK_SLOT;
        Bytes = ReaderMeasureStack(High, Low);
        if (Bytes != 0) {
            ReaderPutLevel(Output, Stack, Track, 0, Bytes, Bytes);
        }

        Skipped = 0;
        SkippedBytes = 0;
        for (Level = 1; Level <= Track->NumberOfLevels; Level++) {

            High = Low;
            Low = Level < Track->NumberOfLevels
                      ? Track->Levels[Level].Top + READER_STACK_SLOT
                      : Track->Lowest;
            Bytes = ReaderMeasureStack(High, Low);

            if (Output->Format == ReaderFormatText &&
                Track->NumberOfLevels > 2 * READER_STACK_LEVELS + 1 &&
                Level > READER_STACK_LEVELS &&
                Level <= Track->NumberOfLevels - READER_STACK_LEVELS) {
                Skipped += 1;
                SkippedBytes += Bytes;
                continue;
            }

            if (Skipped != 0) {
                ReaderPutSkippedLevels(Output,
                                       Stack,
                                       Track,
                                       Skipped,
                                       SkippedBytes,
                                       ReaderMeasureStack(Track->Base, High));
                Skipped = 0;
            }

            ReaderPutLevel(Output,
                           Stack,
                           Track,
                           Level,
                           Bytes,
                           ReaderMeasureStack(Track->Base, Low));
        }
    }

    ReaderEndTable(Output);
}


static
LONG
ReaderCompareStackRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
/*++

Routine Description:

    Orders functions by what they take, the largest first.

Arguments:

    CompareContext - What was added up.

    First, Second - Function indexes.

Return Value:

    Negative, zero or positive.

--*/
{
    PREADER_STACK Stack = (PREADER_STACK)CompareContext;
    PREADER_STACK_FUNCTION FirstRow = &Stack->List[First];
    PREADER_STACK_FUNCTION SecondRow = &Stack->List[Second];
    PCREADER_FUNCTION FirstFunction = &Stack->Functions.Functions[First];
    PCREADER_FUNCTION SecondFunction = &Stack->Functions.Functions[Second];
    LONG Order;

    if (FirstRow->Most != SecondRow->Most) {
        return FirstRow->Most > SecondRow->Most ? -1 : 1;
    }

    if (FirstRow->WithCallees != SecondRow->WithCallees) {
        return FirstRow->WithCallees > SecondRow->WithCallees ? -1 : 1;
    }

    Order = ReaderCompareText(FirstFunction->Name,
                              FirstFunction->NameLength,
                              SecondFunction->Name,
                              SecondFunction->NameLength);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutStackFunctions(
    _Inout_ PREADER_OUTPUT Output,
    _Inout_ PREADER_STACK Stack
    )
/*++

Routine Description:

    Writes the table of functions.

Arguments:

    Output - The output.

    Stack - What was added up.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    PCREADER_OPTIONS Options = Stack->Options;
    PREADER_STACK_FUNCTION Row;
    PCREADER_FUNCTION Function;
    const READER_MODULE *Module;
    ULONGLONG HiddenColumns = 1ULL << READER_STACK_RVA_COLUMN;
    PULONG Order;
    ULONG Count = 0;
    ULONG Index;

    Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Stack->Functions.NumberOfFunctions + 1) *
                                sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    if (Stack->Session.NumberOfModules == 1) {
        HiddenColumns |= 1ULL << READER_STACK_MODULE_COLUMN;
    }

    ReaderFilterFunctions(&Stack->Functions, Options->Filter);
    for (Index = 0; Index < Stack->Functions.NumberOfFunctions; Index++) {

        Row = &Stack->List[Index];
        Function = &Stack->Functions.Functions[Index];
        if (Row->Calls == 0 || Row->Most < Options->Minimum ||
            !Stack->Session.Modules[Function->Module]->IsSelected) {
            continue;
        }

        if (!Function->IsShown) {
            Stack->NotShown.Rows += 1;
            Stack->NotShown.Calls += Row->Calls;
            continue;
        }

        Order[Count] = Index;
        Count += 1;
    }

    Stack->NumberShown = Count;
    ReaderSort(Order, Count, ReaderCompareStackRows, Stack);
    ReaderBeginTable(Output, &ReaderStackFunctionTable, HiddenColumns);
    for (Index = 0; Index < Count && Index < Options->Limit; Index++) {

        Row = &Stack->List[Order[Index]];
        Function = &Stack->Functions.Functions[Order[Index]];
        Module = Stack->Session.Modules[Function->Module];
        ReaderPutNumber(Output, Row->Calls);
        ReaderPutNumber(Output, Row->Least);
        ReaderPutNumber(Output, Row->Most);
        ReaderPutNumber(Output, Row->WithCallees);
        ReaderPutString(Output, Row->IsGuessed ? "no" : "yes");
        ReaderPutText(Output, Module->Name, Module->NameLength);
        ReaderPutNumber(Output, Function->Rva);
        ReaderPutText(Output, Function->Name, Function->NameLength);
    }

    ReaderEndTable(Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


_Must_inspect_result_
static
NTSTATUS
ReaderPutStack(
    _Inout_ PREADER_STACK Stack
    )
/*++

Routine Description:

    Writes all tables.

Arguments:

    Stack - What was added up.

Return Value:

    STATUS_SUCCESS or STATUS_NO_MEMORY.

--*/
{
    READER_OUTPUT Output;
    NTSTATUS Status;

    ReaderBeginDocument(&Output,
                        Stack->Session.Context->Output,
                        Stack->Options->Format,
                        &Stack->Session.Clock,
                        "stack",
                        TRUE);
    Output.HasProcesses = Stack->Session.NumberOfProcesses > 1;
    ReaderPutStacks(&Output, Stack);
    ReaderPutChains(&Output, Stack);
    Status = ReaderPutStackFunctions(&Output, Stack);
    ReaderPutNote(&Output,
                  "Bytes are from just above a call's return address down to "
                  "just above that of the call\nmade from it, functions that "
                  "are not traced included; for the last one, down to the "
                  "end\nof its own frame, as the image's unwind data has it.");
    if (Stack->IsGuessed) {
        ReaderPutNote(&Output,
                      "Not exact: no unwind data tells the size of a frame.  "
                      "What lies below its hook's stack\npointer is missing, "
                      "and what lies above may be another call's.");
    }

    ReaderPutNotShown(&Output, Stack->Options->Filter, &Stack->NotShown);
    ReaderEndDocument(&Output);
    return Status;
}


static
VOID
ReaderRundownStack(
    _Inout_ PREADER_STACK Stack
    )
/*++

Routine Description:

    Frees what was added up.

Arguments:

    Stack - What was added up.

Return Value:

    None.

--*/
{
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Stack->NumberOfTracks; Index++) {
        Allocator->Free(Allocator->Context, Stack->Tracks[Index].Levels);
        Allocator->Free(Allocator->Context, Stack->Tracks[Index].Calls);
    }

    Allocator->Free(Allocator->Context, Stack->Tracks);
    Allocator->Free(Allocator->Context, Stack->List);
    ReaderRundownTally(&Stack->Before);
    ReaderRundownFunctions(&Stack->Functions);
    ReaderCloseSession(&Stack->Session);
}


static
ULONG
ReaderCommandStack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
/*++

Routine Description:

    Runs stack.

Arguments:

    Context - The context.

    Options - The options.

Return Value:

    READER_EXIT_*.

--*/
{
    READER_STACK Stack;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    if ((Options->Given & READER_OPTION_STATIC) != 0) {
        return ReaderShowStaticStack(Context, Options);
    }

    RtlZeroBytes(&Stack, sizeof(Stack));
    Stack.Options = Options;
    if (!ReaderBeginCommand(&Stack.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!ReaderRequireCalls(&Stack.Session, "stack")) {
        ReaderCloseSession(&Stack.Session);
        return READER_EXIT_FAILURE;
    }

    if (!ReaderQueryRange(&Stack.Session, Options, &Stack.Range)) {
        ReaderCloseSession(&Stack.Session);
        return READER_EXIT_FAILURE;
    }

    ReaderInitializeFunctions(&Stack.Functions, &Stack.Session);
    ReaderInitializeTally(&Stack.Before, &Stack.Functions, NULL);
    ReaderInitializeProgress(&Stack.Progress,
                             Context,
                             "",
                             ReaderCountRecords(&Stack.Session, Options));
    for (Index = 0; Index < Stack.Session.NumberOfThreads; Index++) {

        if (!READER_IS_THREAD_SELECTED(
                Options,
                Stack.Session.Threads[Index].ThreadId)) {
            continue;
        }

        Status = ReaderStackThread(&Stack, Index);
        if (!NT_SUCCESS(Status)) {
            ReaderEraseProgress(&Stack.Progress);
            ExitCode = ReaderFailThread(&Stack.Session, Index, Status);
        }
    }

    ReaderEraseProgress(&Stack.Progress);
    Status = ReaderPutStack(&Stack);
    if (!NT_SUCCESS(Status)) {
        ExitCode = ReaderFail(Context, "stack", Options->PathUtf8, Status);
    } else {
        ExitCode = ReaderEndFilter(Context,
                                   Options->Filter,
                                   Stack.NumberShown,
                                   &Stack.NotShown,
                                   ExitCode);
        ReaderSaveCache(&Stack.Session, FALSE);
    }

    ReaderRundownStack(&Stack);
    return ExitCode;
}


const READER_COMMAND ReaderStackCommand = {
    "stack",
    "PATH",
    "Shows how much stack the threads and functions used",
    "CSV has the columns table, row, field, value; JSON has the tables as\n"
    "arrays of objects, all sizes in bytes:\n"
    "  stacks: thread, fiber (0: the thread's own stack), reserved, used\n"
    "    (the most at any time), levels (calls of the chain that used it),\n"
    "    exact (no: the size of a frame was not known), function (the last\n"
    "    of the chain)\n"
    "  paths: thread, fiber, level, bytes, total (down to its end), module,\n"
    "    function: the chain, the outermost first; level 0 is what lies\n"
    "    above it\n"
    "  functions: calls, least, most (that one of its calls took for\n"
    "    itself), with_callees (the most, with all calls inside), exact,\n"
    "    module, rva, function\n"
    "A call takes what lies from just above its return address down to just\n"
    "above the return address of the call made from it; what functions that\n"
    "are not traced take is in that.  The last call of a chain takes its own\n"
    "frame, which the unwind data of the image tells: without the image, or\n"
    "for what the program's own system and library calls take below it,\n"
    "more was used.\n"
    "With --static, PATH may also be an image (.exe, .dll); the table\n"
    "functions has, for each function that the image's unwind data\n"
    "describes, frame, locals, saved (bytes, in all with the return address,\n"
    "for variables, and for registers), dynamic (yes: a frame register is\n"
    "set up, so that the function may take more while it runs, as with\n"
    "alloca), module, rva, function.  Functions without such data take\n"
    "nothing but their return address.\n"
    "--min leaves out functions that took less.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions"),
    "  TraceReader stack SESSION\n"
    "  TraceReader stack --thread 4712 --min 1K SESSION\n"
    "  TraceReader stack --static --limit 20 SESSION\n"
    "  TraceReader stack --static --function Parse bin\\game.exe\n",
    READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_THREAD |
        READER_OPTION_MODULE | READER_OPTION_FILTER |
        READER_OPTION_MINIMUM | READER_OPTION_STATIC |
        READER_OPTIONS_OF_READING,
    ReaderCommandStack
};
