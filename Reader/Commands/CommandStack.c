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

    The frame of an import's stub is the library's: what lies below it counts as
    if it were not there.  The function behind it has no record of its own: how
    much it takes shows where a call is recorded that was made from it.

    Memory is bounded by the number of functions and the deepest stacks.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "../Session/SessionTreeStore.h"
#include "../Functions/FunctionCache.h"
#include "../Functions/FunctionFilter.h"
#include "../Functions/FunctionStub.h"
#include "../Calls/CallWalk.h"
#include "Command.h"
#include "CommandStack.h"

//
// Above the frame's return address.
//

#define READER_STACK_SLOT sizeof(ULONGLONG)

//
// The levels at either end of a longer chain that text output shows.
//

#define READER_STACK_LEVELS 32

static const READER_COLUMN ReaderStackThreadColumns[] = {
    { "Thread", "thread", ReaderColumnNumber, 8, 0,
      "The thread's identifier." },
    READER_PROCESS_COLUMNS,
    { "Fiber", "fiber", ReaderColumnNumber, 5, 0,
      "0: the thread's own stack; otherwise the number of one of its "
      "fibers." },
    { "Reserved", "reserved", ReaderColumnNumber, 12, READER_COLUMN_NULLABLE,
      "The maximum size of the thread's stack in bytes; null for a fiber." },
    { "Used", "used", ReaderColumnNumber, 12, 0,
      "Bytes of stack at the deepest call that was recorded." },
    { "Levels", "levels", ReaderColumnNumber, 8, 0,
      "Recorded calls that were open there." },
    { "Exact", "exact", ReaderColumnText, 5, 0,
      "yes: with the deepest function's own frame, from the image's unwind "
      "data; no: without it, as where that is an import." },
    { "Deepest function", "function", ReaderColumnText, 0, 0,
      "The deepest one." }
};

static const READER_TABLE ReaderStackThreadTable = {
    "stacks",
    ReaderStackThreadColumns,
    RTL_NUMBER_OF(ReaderStackThreadColumns),
    FALSE,
    FALSE,
    "A row for each thread and for each fiber that it ran."
};

static const READER_COLUMN ReaderStackPathColumns[] = {
    { "Thread", "thread", ReaderColumnNumber, 8, 0,
      "The thread's identifier." },
    READER_PROCESS_COLUMNS,
    { "Fiber", "fiber", ReaderColumnNumber, 5, 0,
      "0: the thread's own stack; otherwise the number of one of its "
      "fibers." },
    { "Level", "level", ReaderColumnNumber, 8, 0,
      "0: what was on the stack before the first recorded call." },
    { "Bytes", "bytes", ReaderColumnNumber, 12, 0,
      "Bytes from the caller's frame to this one; of an import at the end, its "
      "return address alone." },
    { "Down to here", "total", ReaderColumnNumber, 12, 0,
      "Bytes down to here." },
    READER_CALLER_COLUMN(READER_COLUMN_CALLER),
    { "Module", "module", ReaderColumnText, 16,
      READER_COLUMN_NULLABLE | READER_COLUMN_MODULE,
      "The module's file name." },
    { "Function", "function", ReaderColumnText, 0, 0,
      "The function's name, or module+0xRVA." }
};

static const READER_TABLE ReaderStackPathTable = {
    "paths",
    ReaderStackPathColumns,
    RTL_NUMBER_OF(ReaderStackPathColumns),
    FALSE,
    FALSE,
    "The calls that were open there, the outermost first."
};

static const READER_COLUMN ReaderStackFunctionColumns[] = {
    { "Calls", "calls", ReaderColumnNumber, 10, 0,
      "Calls, including those that were abandoned." },
    { "Least", "least", ReaderColumnNumber, 10, READER_COLUMN_NULLABLE,
      "Bytes of the smallest frame of it that was seen; of an import, down to "
      "a call made from it, and null if none was recorded." },
    { "Most", "most", ReaderColumnNumber, 10, READER_COLUMN_NULLABLE,
      "Bytes of the largest frame of it that was seen; likewise." },
    { "With callees", "with_callees", ReaderColumnNumber, 12,
      READER_COLUMN_NULLABLE,
      "Bytes from its entry to the deepest point below it; likewise." },
    { "Exact", "exact", ReaderColumnText, 5, 0,
      "no: the size of a frame was not known, as an import's never is, and "
      "more may have been used." },
    READER_CALLER_COLUMN(READER_COLUMN_CALLER),
    { "Module", "module", ReaderColumnText, 16, READER_COLUMN_MODULE,
      "The module's file name." },
    { "", "rva", ReaderColumnHexadecimal, 0, READER_COLUMN_DATA,
      "Where the function begins, from the image base; hexadecimal." },
    { "Function", "function", ReaderColumnText, 0, 0,
      "The function's name, or module+0xRVA." }
};

static const READER_TABLE ReaderStackFunctionTable = {
    "functions",
    ReaderStackFunctionColumns,
    RTL_NUMBER_OF(ReaderStackFunctionColumns),
    FALSE,
    FALSE,
    "A row for each function that was called; of one that several modules "
    "import, for each of them."
};

typedef struct _READER_STACK_FUNCTION {
    ULONGLONG Calls;
    ULONGLONG Measured;             // of these, whose share is known
    ULONG Least;                    // bytes, of the shares of those
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
    ULONG Stubs;                    // bytes of the stubs' frames around it,
                                    // which all addresses here are higher by
    BOOLEAN HasCallee;              // that was recorded
} READER_STACK_CALL;
typedef READER_STACK_CALL *PREADER_STACK_CALL;

//
// A level of the deepest chain.
//

typedef struct _READER_STACK_LEVEL {
    ULONG Function;                 // index
    ULONG Top;                      // where its return address is
    BOOLEAN IsGuessed;
    BOOLEAN IsImport;
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
    READER_RANGE Range;
    READER_WALK Walk;
    PCREADER_OPTIONS Options;
    PREADER_STACK_FUNCTION List;    // by function
    ULONG CapacityOfList;
    PREADER_STACK_TRACK Tracks;     // of all threads
    ULONG NumberOfTracks;
    ULONG CapacityOfTracks;
    ULONG FirstTrack;               // of the thread that is read
    ULONG Thread;                   // its index; READER_NONE: none yet
    BOOLEAN IsGuessed;              // somewhere
    BOOLEAN HasImports;             // and nothing says what they take
    READER_NOT_SHOWN NotShown;
    ULONGLONG NumberShown;
} READER_STACK;
typedef READER_STACK *PREADER_STACK;


//
// Measures the distance between two addresses of a stack, by their lower
// halves.
// Returns bytes; 0 if they are the other way round.
//

static
ULONG
CommandMeasureStack(
    _In_ ULONG High,
    _In_ ULONG Low
    )
{
    return (LONG)(High - Low) > 0 ? High - Low : 0;
}


//
// Says whether a frame's size is known: from its unwind entry, or because the
// image has such entries and none for it, so that it is a leaf. What the cache
// of symbols has of a site came from the image.
//
// Returns FALSE if it was taken for 0.
//

static
BOOLEAN
CommandIsFrameKnown(
    _In_ const READER_SESSION *Session,
    _In_ const CORE_FRAME *Frame
    )
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

    Unwind = Module->Symbols != NULL ? SymbolGetUnwind(Module->Symbols) : NULL;
    return Unwind != NULL && Unwind->NumberOfFunctions != 0;
}


//
// Measures what a call's stub takes, if it has one: its frame, and the return
// address of the function that it calls, which lies where the one that it has
// returned to would have been.
//

static
ULONG
CommandMeasureStub(
    _In_ const READER_STACK *Stack,
    _In_ const CORE_FRAME *Frame
    )
{
    if (!Stack->Functions.Functions[Frame->Function].IsStub) {
        return 0;
    }

    return CommandMeasureStack(Frame->Top + READER_STACK_SLOT, Frame->Stack);
}


//
// Finds the track of an event, with room for its call.
// Stack: what is added up.
//

_Must_inspect_result_
static
NTSTATUS
CommandFindStackTrack(
    _Inout_ PREADER_STACK Stack,
    _In_ const CORE_EVENT *Event,
    _Out_ PREADER_STACK_TRACK *Track
    )
{
    const CORE_PAIR *Pair = &Stack->Walk.Stream->Pair;
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    PREADER_STACK_TRACK Found;
    ULONG Index = Stack->FirstTrack + Event->Track;
    NTSTATUS Status;

    if (Index < Stack->FirstTrack || Index >= 0x80000000u ||
        Event->Depth >= 0x80000000u) {
        return STATUS_NO_MEMORY;
    }

    if (Index >= Stack->NumberOfTracks) {

        Status = BaseGrowArray(Allocator,
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
        if (Event->Track == 0 && Pair->StackSize != 0) {
            Found->Base = Pair->StackBase;
            Found->Reserved = Pair->StackSize;
        }

        Found->Lowest = Found->Base;
    }

    if (Event->Depth >= Found->CapacityOfCalls) {

        Status = BaseGrowArray(Allocator,
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


//
// Notes how far down a call reached.
//

static
VOID
CommandReachStack(
    _Inout_ PREADER_STACK_TRACK Track,
    _In_ ULONG Depth,
    _In_ ULONG Address
    )
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


//
// Copies the chain of calls that reached the lowest address. What it has in
// common with the one before is there already, so that copying takes no more
// than making the calls did.
//
// Stack: what is added up.
// Track: the stack.
// Frames: the open frames, the outermost first.
// Depth: of the innermost.
//

_Must_inspect_result_
static
NTSTATUS
CommandCopyChain(
    _Inout_ PREADER_STACK Stack,
    _Inout_ PREADER_STACK_TRACK Track,
    _In_reads_(Depth + 1) const CORE_FRAME *Frames,
    _In_ ULONG Depth
    )
{
    PREADER_STACK_LEVEL Level;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Stack->Session.Context->Allocator,
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
        Level->IsImport =
            Stack->Functions.Functions[Level->Function].IsStub;
        Level->Top = Frames[Index].Top + Track->Calls[Index].Stubs;
        Level->IsGuessed = !CommandIsFrameKnown(&Stack->Session,
                                                &Frames[Index]);
    }

    Track->NumberOfLevels = Depth + 1;
    Track->NumberInCommon = Depth + 1;
    Track->IsPending = FALSE;
    return STATUS_SUCCESS;
}


//
// Adds a call that is entered.
// Stack: what is added up.
//

_Must_inspect_result_
static
NTSTATUS
CommandEnterStack(
    _Inout_ PREADER_STACK Stack,
    _Inout_ PREADER_STACK_TRACK Track,
    _In_ const CORE_EVENT *Event
    )
{
    PCORE_FRAME Frame = Event->Frame;
    PREADER_STACK_CALL Call = &Track->Calls[Event->Depth];
    BOOLEAN IsImport = Stack->Functions.Functions[Frame->Function].IsStub;
    ULONG Bottom = Frame->Stack;
    ULONG High;
    ULONG Share;
    NTSTATUS Status;

    Status = BaseGrowArray(Stack->Session.Context->Allocator,
                           (PVOID *)&Stack->List,
                           &Stack->CapacityOfList,
                           Stack->Functions.NumberOfFunctions,
                           sizeof(READER_STACK_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (IsImport) {
        Bottom = Frame->Top;
    } else if ((Frame->Flags & CORE_CALL_FRAME_KNOWN) != 0) {
        Bottom -= Frame->BodySize;
    }

    Call->HasCallee = FALSE;
    Call->Stubs = 0;
    if (Event->Parent != NULL) {
        Call->Stubs = Call[-1].Stubs +
                      CommandMeasureStub(Stack, Event->Parent);
    }

    Bottom += Call->Stubs;
    High = Frame->Top + READER_STACK_SLOT + Call->Stubs;

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
        Share = CommandMeasureStack(Event->Parent->Top + Call[-1].Stubs,
                                    Frame->Top + Call->Stubs);
        Call[-1].HasCallee = TRUE;
        if (Call[-1].Share < Share) {
            Call[-1].Share = Share;
        }
    }

    Call->Share = CommandMeasureStack(High, Bottom);
    Call->Lowest = Bottom;
    CommandReachStack(Track, Event->Depth, Bottom);
    return STATUS_SUCCESS;
}


//
// Adds a call that ends.
// Stack: what is added up.
//

_Must_inspect_result_
static
NTSTATUS
CommandLeaveStack(
    _Inout_ PREADER_STACK Stack,
    _Inout_ PREADER_STACK_TRACK Track,
    _In_ const CORE_EVENT *Event
    )
{
    const CORE_PAIR *Pair = &Stack->Walk.Stream->Pair;
    const CORE_FRAME *Frame = Event->Frame;
    PREADER_STACK_CALL Call = &Track->Calls[Event->Depth];
    PREADER_STACK_FUNCTION Function = &Stack->List[Frame->Function];
    BOOLEAN IsImport = Stack->Functions.Functions[Frame->Function].IsStub;
    ULONG High = Frame->Top + READER_STACK_SLOT + Call->Stubs;
    ULONG Rsp;
    ULONG WithCallees;
    NTSTATUS Status;

    //
    // What was allocated since the entry shows at the exit.
    //

    if (Event->Kind == CoreEventExit && !IsImport) {
        Rsp = Pair->Call.Stack + Call->Stubs;
        if (Call->Share < CommandMeasureStack(High, Rsp)) {
            Call->Share = CommandMeasureStack(High, Rsp);
        }

        CommandReachStack(Track, Event->Depth, Rsp);
    }

    if (Track->IsPending && Track->PendingDepth == Event->Depth) {
        Status = CommandCopyChain(Stack,
                                  Track,
                                  Pair->Stacks[Event->Track].Frames,
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

    Function->Calls += 1;
    if (IsImport) {
        Function->IsGuessed = TRUE;
        Stack->HasImports = TRUE;
        if (!Call->HasCallee) {
            return STATUS_SUCCESS;
        }
    }

    WithCallees = CommandMeasureStack(High, Call->Lowest);
    if (Function->Measured == 0 || Call->Share < Function->Least) {
        Function->Least = Call->Share;
    }

    if (Call->Share > Function->Most) {
        Function->Most = Call->Share;
    }

    if (WithCallees > Function->WithCallees) {
        Function->WithCallees = WithCallees;
    }

    Function->Measured += 1;
    if (!Function->IsGuessed &&
        !CommandIsFrameKnown(&Stack->Session, Frame)) {
        Function->IsGuessed = TRUE;
        Stack->IsGuessed = TRUE;
    }

    return STATUS_SUCCESS;
}


//
// Ends a thread: its calls have ended, or are of no more use.
//

static
VOID
CommandEndStackThread(
    _Inout_ PREADER_STACK Stack
    )
{
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    ULONG Index;

    for (Index = Stack->FirstTrack; Index < Stack->NumberOfTracks; Index++) {
        Allocator->Free(Allocator->Context, Stack->Tracks[Index].Calls);
        Stack->Tracks[Index].Calls = NULL;
        Stack->Tracks[Index].CapacityOfCalls = 0;
    }

    Stack->FirstTrack = Stack->NumberOfTracks;
}


_Use_decl_annotations_
static
NTSTATUS
CommandStackEvent(
    PREADER_WALK Walk,
    const CORE_EVENT *Event,
    BOOLEAN IsBegunBefore
    )
{
    PREADER_STACK Stack = (PREADER_STACK)Walk->Context;
    PREADER_STACK_TRACK Track;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(IsBegunBefore);

    if (Stack->Thread != Walk->Thread) {
        CommandEndStackThread(Stack);
        Stack->Thread = Walk->Thread;
    }

    if (Event->Kind == CoreEventUnmatched) {
        return STATUS_SUCCESS;
    }

    Status = CommandFindStackTrack(Stack, Event, &Track);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    return Event->Kind == CoreEventEnter
               ? CommandEnterStack(Stack, Track, Event)
               : CommandLeaveStack(Stack, Track, Event);
}


//
// Writes the table of stacks.
// Stack: what was added up.
//

static
VOID
CommandPutStacks(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack
    )
{
    PCREADER_STACK_TRACK Track;
    PCREADER_FUNCTION Function;
    BOOLEAN IsGuessed;
    ULONG Index;
    ULONG Level;

    OutputBeginTable(Output, &ReaderStackThreadTable, 0);
    for (Index = 0; Index < Stack->NumberOfTracks; Index++) {

        Track = &Stack->Tracks[Index];
        if (Track->NumberOfLevels == 0) {
            continue;
        }

        IsGuessed = Track->Levels[Track->NumberOfLevels - 1].IsImport;
        for (Level = 0; Level < Track->NumberOfLevels; Level++) {
            IsGuessed = IsGuessed || Track->Levels[Level].IsGuessed;
        }

        OutputPutNumber(Output, Track->ThreadId);
        SessionPutProcess(Output, &Stack->Session, Track->Process);
        OutputPutNumber(Output, Track->Fiber);
        if (Track->Reserved != 0) {
            OutputPutNumber(Output, Track->Reserved);
        } else {
            OutputPutNothing(Output);
        }

        OutputPutNumber(Output,
                        CommandMeasureStack(Track->Base, Track->Lowest));
        OutputPutNumber(Output, Track->NumberOfLevels);
        OutputPutString(Output, IsGuessed ? "no" : "yes");
        Function = &Stack->Functions.Functions
                        [Track->Levels[Track->NumberOfLevels - 1].Function];
        OutputPutText(Output, Function->Name, Function->NameLength);
    }

    OutputEndTable(Output);
}


//
// Writes a row of a chain.
// Stack: what was added up.
// Track: the stack.
// Level: the level, from 1; 0 is what lies above the first.
// Bytes: what it takes.
// Total: the same, with all above it.
//

static
VOID
CommandPutLevel(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack,
    _In_ PCREADER_STACK_TRACK Track,
    _In_ ULONG Level,
    _In_ ULONG Bytes,
    _In_ ULONG Total
    )
{
    PCREADER_FUNCTION Function;

    OutputPutNumber(Output, Track->ThreadId);
    SessionPutProcess(Output, &Stack->Session, Track->Process);
    OutputPutNumber(Output, Track->Fiber);
    OutputPutNumber(Output, Level);
    OutputPutNumber(Output, Bytes);
    OutputPutNumber(Output, Total);
    if (Level == 0) {
        OutputPutNothing(Output);
        OutputPutNothing(Output);
        OutputPutString(Output, "(before the first traced call)");
        return;
    }

    Function = &Stack->Functions
                    .Functions[Track->Levels[Level - 1].Function];
    FunctionStubPutCaller(Output, &Stack->Functions, Function);
    OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
    OutputPutText(Output, Function->Name, Function->NameLength);
}


//
// Writes a row for the levels in the middle of a long chain.
// Stack: what was added up.
// Track: the stack.
// Count: how many levels are not shown.
// Bytes: what they take.
// Total: the same, with all above them.
//

static
VOID
CommandPutSkippedLevels(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack,
    _In_ PCREADER_STACK_TRACK Track,
    _In_ ULONG Count,
    _In_ ULONG Bytes,
    _In_ ULONG Total
    )
{
    RTL_WRITER Writer;
    CHAR Name[32];

    RtlInitializeBufferWriter(&Writer, Name, sizeof(Name));
    RtlWriteText(&Writer, "(%u levels)", Count);
    OutputPutNumber(Output, Track->ThreadId);
    SessionPutProcess(Output, &Stack->Session, Track->Process);
    OutputPutNumber(Output, Track->Fiber);
    OutputPutNothing(Output);
    OutputPutNumber(Output, Bytes);
    OutputPutNumber(Output, Total);
    OutputPutNothing(Output);
    OutputPutNothing(Output);
    OutputPutText(Output, Name, Writer.LengthInBytes);
}


//
// Writes the table of the deepest chains.
// Stack: what was added up.
//

static
VOID
CommandPutChains(
    _Inout_ PREADER_OUTPUT Output,
    _In_ const READER_STACK *Stack
    )
{
    PCREADER_STACK_TRACK Track;
    ULONG Bytes;
    ULONG High;
    ULONG Index;
    ULONG Level;
    ULONG Low;
    ULONG Skipped;
    ULONG SkippedBytes;

    OutputBeginTable(Output,
                     &ReaderStackPathTable,
                     (Stack->Session.NumberOfModules != 1 ? READER_COLUMN_MODULE
                                                          : 0) |
                         FunctionStubSelectColumn(&Stack->Functions));
    for (Index = 0; Index < Stack->NumberOfTracks; Index++) {

        Track = &Stack->Tracks[Index];
        if (Track->NumberOfLevels == 0) {
            continue;
        }

        High = Track->Base;
        Low = Track->Levels[0].Top + READER_STACK_SLOT;
        Bytes = CommandMeasureStack(High, Low);
        if (Bytes != 0) {
            CommandPutLevel(Output, Stack, Track, 0, Bytes, Bytes);
        }

        Skipped = 0;
        SkippedBytes = 0;
        for (Level = 1; Level <= Track->NumberOfLevels; Level++) {

            High = Low;
            Low = Level < Track->NumberOfLevels
                      ? Track->Levels[Level].Top + READER_STACK_SLOT
                      : Track->Lowest;
            Bytes = CommandMeasureStack(High, Low);

            if (Output->Format == ReaderFormatText &&
                Track->NumberOfLevels > 2 * READER_STACK_LEVELS + 1 &&
                Level > READER_STACK_LEVELS &&
                Level <= Track->NumberOfLevels - READER_STACK_LEVELS) {
                Skipped += 1;
                SkippedBytes += Bytes;
                continue;
            }

            if (Skipped != 0) {
                CommandPutSkippedLevels(Output,
                                        Stack,
                                        Track,
                                        Skipped,
                                        SkippedBytes,
                                        CommandMeasureStack(Track->Base, High));
                Skipped = 0;
            }

            CommandPutLevel(Output,
                            Stack,
                            Track,
                            Level,
                            Bytes,
                            CommandMeasureStack(Track->Base, Low));
        }
    }

    OutputEndTable(Output);
}


//
// Orders functions by what they take, the largest first.
// CompareContext: what was added up.
// First, Second: function indexes.
// Returns negative, zero or positive.
//

static
LONG
CommandCompareStackRows(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
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

    Order = FunctionCompareNames(FirstFunction, SecondFunction);
    if (Order == 0 && First != Second) {
        Order = First < Second ? -1 : 1;
    }

    return Order;
}


//
// Writes the table of functions.
// Stack: what was added up.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutStackFunctions(
    _Inout_ PREADER_OUTPUT Output,
    _Inout_ PREADER_STACK Stack
    )
{
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    PCREADER_OPTIONS Options = Stack->Options;
    PREADER_STACK_FUNCTION Row;
    PCREADER_FUNCTION Function;
    PULONG Order;
    ULONG Count = 0;
    ULONG Index;
    NTSTATUS Status;

    //
    // A thread that could not be read may have left a function that nothing
    // was added to.
    //

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Stack->List,
                           &Stack->CapacityOfList,
                           Stack->Functions.NumberOfFunctions + 1,
                           sizeof(READER_STACK_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Stack->Functions.NumberOfFunctions + 1) *
                                sizeof(ULONG));
    if (Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    FunctionFilterFunctions(&Stack->Functions, Options->Filter);
    for (Index = 0; Index < Stack->Functions.NumberOfFunctions; Index++) {

        Row = &Stack->List[Index];
        Function = &Stack->Functions.Functions[Index];
        if (Row->Calls == 0 || Row->Most < Options->Minimum ||
            !Function->IsSelected) {
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
    BaseSort(Order, Count, CommandCompareStackRows, Stack);
    OutputBeginTable(Output,
                     &ReaderStackFunctionTable,
                     (Stack->Session.NumberOfModules != 1 ? READER_COLUMN_MODULE
                                                          : 0) |
                         FunctionStubSelectColumn(&Stack->Functions));
    for (Index = 0; Index < Count && Index < Options->Limit; Index++) {

        Row = &Stack->List[Order[Index]];
        Function = &Stack->Functions.Functions[Order[Index]];
        OutputPutNumber(Output, Row->Calls);
        if (Row->Measured != 0) {
            OutputPutNumber(Output, Row->Least);
            OutputPutNumber(Output, Row->Most);
            OutputPutNumber(Output, Row->WithCallees);
        } else {
            OutputPutNothing(Output);
            OutputPutNothing(Output);
            OutputPutNothing(Output);
        }

        OutputPutString(Output, Row->IsGuessed ? "no" : "yes");
        FunctionStubPutCaller(Output, &Stack->Functions, Function);
        OutputPutText(Output, Function->ModuleName, Function->ModuleNameLength);
        OutputPutNumber(Output, Function->Rva);
        OutputPutText(Output, Function->Name, Function->NameLength);
    }

    OutputEndTable(Output);
    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


//
// Writes all tables.
// Stack: what was added up.
//

_Must_inspect_result_
static
NTSTATUS
CommandPutStack(
    _Inout_ PREADER_STACK Stack
    )
{
    READER_OUTPUT Output;
    NTSTATUS Status;

    FunctionGiveShortNames(&Stack->Functions);
    OutputBeginDocument(&Output,
                        Stack->Session.Context->Output,
                        Stack->Options->Format,
                        &Stack->Session.Clock,
                        "stack",
                        TRUE);
    Output.HasProcesses = Stack->Session.NumberOfProcesses > 1;
    CommandPutStacks(&Output, Stack);
    CommandPutChains(&Output, Stack);
    Status = CommandPutStackFunctions(&Output, Stack);
    OutputPutNote(&Output,
                  "Bytes are from just above a call's return address down to "
                  "just above that of the call\nmade from it, functions that "
                  "are not traced included; for the last one, down to the "
                  "end\nof its own frame, as given by the image's unwind "
                  "data.");
    if (Stack->IsGuessed) {
        OutputPutNote(&Output,
                      "Not exact: no unwind data tells the size of a frame.  "
                      "What lies below its hook's stack\npointer is missing, "
                      "and what lies above may be another call's.");
    }

    if (Stack->HasImports) {
        OutputPutNote(&Output,
                      "Imports: how much a function takes that was not "
                      "compiled with hooks is not known, but for\nwhat lies "
                      "above a recorded call made from it; at the end of a "
                      "chain its return address\ncounts alone.  What Tracer "
                      "itself has on the stack for an import is not counted.");
    }

    FunctionPutNotShown(&Output, Stack->Options->Filter, &Stack->NotShown);
    OutputEndDocument(&Output);
    return Status;
}


//
// Frees what was added up.
// Stack: what was added up.
//

static
VOID
CommandRundownStack(
    _Inout_ PREADER_STACK Stack
    )
{
    PCALLOCATOR Allocator = Stack->Session.Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Stack->NumberOfTracks; Index++) {
        Allocator->Free(Allocator->Context, Stack->Tracks[Index].Levels);
        Allocator->Free(Allocator->Context, Stack->Tracks[Index].Calls);
    }

    Allocator->Free(Allocator->Context, Stack->Tracks);
    Allocator->Free(Allocator->Context, Stack->List);
    FunctionRundownFunctions(&Stack->Functions);
    CommandCloseCommandSession(&Stack->Session);
}


static
ULONG
CommandStack(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCREADER_OPTIONS Options
    )
{
    READER_STACK Stack;
    ULONG ExitCode;
    NTSTATUS Status;

    if ((Options->Given & READER_OPTION_STATIC) != 0) {
        return CommandShowStaticStack(Context, Options);
    }

    RtlZeroBytes(&Stack, sizeof(Stack));
    Stack.Options = Options;
    if (!CommandBeginCommand(&Stack.Session, Context, Options)) {
        return READER_EXIT_FAILURE;
    }

    if (!SessionRequireCalls(&Stack.Session, "stack")) {
        CommandCloseCommandSession(&Stack.Session);
        return READER_EXIT_FAILURE;
    }

    if (!CallQueryRange(&Stack.Session, Options, &Stack.Range)) {
        CommandCloseCommandSession(&Stack.Session);
        return READER_EXIT_FAILURE;
    }

    FunctionInitializeFunctions(&Stack.Functions, &Stack.Session);
    Stack.Functions.AreStubsApart = TRUE;
    Stack.Thread = READER_NONE;
    Stack.Walk.Functions = &Stack.Functions;
    Stack.Walk.Range = &Stack.Range;
    Stack.Walk.Options = Options;
    Stack.Walk.Event = CommandStackEvent;
    Stack.Walk.Context = &Stack;
    ExitCode = CallWalkThreads(&Stack.Walk);
    CommandEndStackThread(&Stack);
    Status = CommandPutStack(&Stack);
    if (!NT_SUCCESS(Status)) {
        ExitCode = BaseFail(Context, "stack", Options->PathUtf8, Status);
    } else {
        ExitCode = FunctionEndFilter(Context,
                                     Options->Filter,
                                     &Stack.Functions,
                                     Stack.NumberShown,
                                     &Stack.NotShown,
                                     ExitCode);
        FunctionSaveCache(&Stack.Session, FALSE);
    }

    CommandRundownStack(&Stack);
    return ExitCode;
}


//
// Of CSV and JSON.
//

static const PCREADER_TABLE ReaderStackTables[] = {
    &ReaderStackThreadTable,
    &ReaderStackPathTable,
    &ReaderStackFunctionTable,
    &ReaderNotShownTable,
    NULL
};

const READER_COMMAND ReaderStackCommand = {
    "stack",
    "[PATH]",
    "Shows how much stack the threads and functions used",
    "All sizes are in bytes.  CSV has the columns table, row, field, value.\n"
    "A call takes what lies from just above its return address down to just\n"
    "above the return address of the call made from it; what functions that\n"
    "are not traced take is in that.  The last call of a chain takes its own\n"
    "frame, which the unwind data of the image tells: without the image, or\n"
    "for what the program's own system and library calls take below it,\n"
    "more was used.  Of an import only its return address is known, and what\n"
    "lies above recorded calls made from it; what Tracer has on the stack for\n"
    "it is not counted.\n"
    "With --static, PATH may also be an image (.exe, .dll), and there is one\n"
    "table: of what the image's unwind data says.  Functions without such\n"
    "data take nothing but their return address.\n"
    "--min leaves out functions that took less.\n"
    READER_FILTER_NOTE
    READER_NOT_SHOWN_NOTE("functions"),
    "  TraceReader stack SESSION\n"
    "  TraceReader stack --thread 4712 --min 1K SESSION\n"
    "  TraceReader stack --static --limit 20 SESSION\n"
    "  TraceReader stack --static --function Parse bin\\game.exe\n",
    READER_OPTION_WIDTH |
        READER_OPTION_COLOR | READER_OPTION_PAGER |
        READER_OPTION_FORMAT | READER_OPTION_LIMIT | READER_OPTION_THREAD |
        READER_OPTION_MODULE | READER_OPTION_FILTER |
        READER_OPTION_MINIMUM | READER_OPTION_STATIC |
        READER_OPTIONS_OF_READING,
    CommandStack,
    ReaderStackTables,
    &ReaderStackStatic
};
