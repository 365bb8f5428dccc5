/*++

Module Name:

    ViewSums.c

Abstract:

    What a range adds up to, by the code that `report` and `tree` have, and the
    calls of one function in it.

--*/

#include "../Base/BaseErrors.h"
#include "../Calls/CallRead.h"
#include "../Session/SessionImports.h"
#include "../Sums/SumPaths.h"
#include "../Sums/SumTally.h"
#include "ViewPrivate.h"


_Use_decl_annotations_
VOID
ViewRundownSums(
    PREADER_VIEW View
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;

    Allocator->Free(Allocator->Context, View->Sums);
    View->Sums = NULL;
    View->NumberOfSums = 0;
    if (View->HasTree) {
        SumRundownTree(&View->Tree);
        View->HasTree = FALSE;
    }

    if (View->Calls.Arena != NULL) {
        CoreDestroyArena(View->Calls.Arena);
        View->Calls.Arena = NULL;
    }
}


//
// Makes the range that is asked for.
//

static
VOID
ViewSetRange(
    _Inout_ PREADER_VIEW View,
    _In_ ULONGLONG Begin,
    _In_ ULONGLONG End
    )
{
    View->Asked = View->Range;
    if (Begin == READER_VIEW_ALL) {
        return;
    }

    View->Asked.IsGiven = TRUE;
    View->Asked.HasTrees = FALSE;
    View->Asked.Start = Begin > View->Range.FirstTimestamp ? Begin : 0;
    View->Asked.End = End;
}


//
// Makes a reading with one worker.
//

static
VOID
ViewInitializeReading(
    _Inout_ PREADER_VIEW View,
    _In_opt_ const UCHAR *Selected,
    _Out_ PREADER_READING Reading
    )
{
    RtlZeroBytes(Reading, sizeof(*Reading));
    Reading->Functions = &View->Functions;
    Reading->Options = &View->Options;
    Reading->Range = &View->Asked;
    Reading->Process = READER_NONE;
    Reading->Selected = Selected;
    Reading->Context = Reading;
}


//
// Adds up what the pass has of threads; FALSE: it does not have all of it.
//

_Success_(return != FALSE)
static
BOOLEAN
ViewSumThreads(
    _Inout_ PREADER_VIEW View,
    _In_opt_ const UCHAR *Selected
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    PREADER_VIEW_THREAD Thread;
    ULONG Index;
    ULONG Number;

    for (Number = 0; Number < View->NumberOfThreads; Number++) {
        if ((Selected == NULL || Selected[Number]) &&
            !View->Threads[Number].HasSums) {
            return FALSE;
        }
    }

    View->NumberOfSums = View->Functions.NumberOfFunctions;
    View->Sums = (PREADER_STATISTICS)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)View->NumberOfSums + 1) * sizeof(READER_STATISTICS));
    if (View->Sums == NULL) {
        View->NumberOfSums = 0;
        return FALSE;
    }

    RtlZeroBytes(View->Sums,
                 ((SIZE_T)View->NumberOfSums + 1) *
                     sizeof(READER_STATISTICS));
    for (Number = 0; Number < View->NumberOfThreads; Number++) {

        Thread = &View->Threads[Number];
        for (Index = 0;
             (Selected == NULL || Selected[Number]) &&
             Index < Thread->NumberOfSums;
             Index++) {
            CoreAddStatistics(&View->Sums[Thread->Sums[Index].Function],
                              &Thread->Sums[Index].Statistics,
                              TRUE);
        }
    }

    return TRUE;
}


_Use_decl_annotations_
NTSTATUS
ViewSum(
    PREADER_VIEW View,
    ULONGLONG Begin,
    ULONGLONG End,
    const UCHAR *Selected
    )
{
    PCALLOCATOR Allocator = View->Context->Allocator;
    READER_READING Reading;
    PREADER_TALLY Tally;
    ULONG Index;
    ULONG ExitCode = READER_EXIT_FAILURE;
    NTSTATUS Status;

    ViewRundownSums(View);
    if (Begin == READER_VIEW_ALL && ViewSumThreads(View, Selected)) {
        return STATUS_SUCCESS;
    }

    ViewSetRange(View, Begin, End);
    ViewInitializeReading(View, Selected, &Reading);
    Reading.Read = SumTallyThreadOfReading;
    Status = SumInitializeReading(&Reading);
    if (NT_SUCCESS(Status)) {

        ExitCode = SumReadThreads(&Reading);
        View->NumberOfSums = View->Functions.NumberOfFunctions;
        View->Sums = (PREADER_STATISTICS)Allocator->Allocate(
            Allocator->Context,
            ((SIZE_T)View->NumberOfSums + 1) * sizeof(READER_STATISTICS));
        Tally = &Reading.Tallies[0];
        for (Index = 0;
             View->Sums != NULL && Index < Tally->NumberOfFunctions;
             Index++) {
            SumMergeStatistics(&View->Sums[Tally->List[Index].Function],
                               Tally,
                               Index);
        }

        if (View->Sums == NULL) {
            View->NumberOfSums = 0;
            Status = STATUS_NO_MEMORY;
        }
    }

    SumRundownReading(&Reading);
    if (NT_SUCCESS(Status) && ExitCode != READER_EXIT_SUCCESS) {
        Status = STATUS_UNSUCCESSFUL;
    }

    return Status;
}


//
// The table of a tree's functions: by what a range adds up to an import is one
// function, and in a tree it is a node for each module that called.
//

static
PREADER_FUNCTIONS
ViewGetTreeFunctions(
    _Inout_ PREADER_VIEW View
    )
{
    const READER_SESSION *Session = &View->Session;
    ULONG Index;

    if (View->Apart.Session != NULL) {
        return &View->Apart;
    }

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        if (SessionHasImports(Session->Modules[Index])) {
            FunctionInitializeFunctions(&View->Apart, &View->Session);
            View->Apart.AreStubsApart = TRUE;
            return &View->Apart;
        }
    }

    return &View->Functions;
}


_Use_decl_annotations_
NTSTATUS
ViewSumTree(
    PREADER_VIEW View,
    ULONGLONG Begin,
    ULONGLONG End,
    const UCHAR *Selected
    )
{
    ViewRundownSums(View);
    ViewSetRange(View, Begin, End);
    SumInitializeTree(&View->Tree,
                      ViewGetTreeFunctions(View),
                      &View->Asked,
                      View->Options.Depth,
                      FALSE);
    View->HasTree = TRUE;
    View->Tree.Selected = Selected;
    return SumBuildTree(&View->Tree, &View->Options) == READER_EXIT_SUCCESS
               ? STATUS_SUCCESS
               : STATUS_UNSUCCESSFUL;
}


//
// Whether a function of the tally is the one that is wanted.
//

static
BOOLEAN
ViewIsWanted(
    _In_ const READER_VIEW *View,
    _In_ const READER_TALLY *Tally,
    _In_ ULONG Index
    )
{
    PCREADER_FUNCTION Function =
        &View->Functions.Functions[Tally->List[Index].Function];

    return Function->Module == View->Calls.Module &&
           Function->Rva == View->Calls.Rva;
}


//
// What a reading of single calls has.
//

typedef struct _READER_VIEW_SEARCH {
    PREADER_VIEW View;
    PREADER_TALLY Tally;
    ULONG Thread;
} READER_VIEW_SEARCH;
typedef READER_VIEW_SEARCH *PREADER_VIEW_SEARCH;


_Use_decl_annotations_
static
NTSTATUS
ViewWatchFunction(
    PVOID Context,
    ULONG Function,
    PBOOLEAN IsWatched
    )
{
    PREADER_VIEW_SEARCH Search = (PREADER_VIEW_SEARCH)Context;

    *IsWatched = ViewIsWanted(Search->View, Search->Tally, Function);
    return STATUS_SUCCESS;
}


//
// A frame that is open where the range begins.  One of the function that is
// wanted has a Node, by which its end is an event.
//

_Use_decl_annotations_
static
NTSTATUS
ViewOpenFrame(
    PVOID Context,
    PREADER_STREAM Stream,
    ULONG Track,
    ULONG Depth,
    PCORE_FRAME Frame
    )
{
    PREADER_VIEW_SEARCH Search = (PREADER_VIEW_SEARCH)Context;
    ULONG Index;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Stream);
    UNREFERENCED_PARAMETER(Track);
    UNREFERENCED_PARAMETER(Depth);

    Status = CallAddFunctionToTally(Search->Tally, Frame->Function, &Index);
    Frame->Node = 0;
    if (NT_SUCCESS(Status)) {
        Frame->Function = Index;
        Frame->Node = ViewIsWanted(Search->View, Search->Tally, Index);
    }

    return Status;
}


//
// Puts a call among the slowest, if it is one of them.
//

static
VOID
ViewNoteSlow(
    _Inout_ PREADER_VIEW_CALLS Calls,
    _In_ PCREADER_VIEW_CALL Call
    )
{
    ULONG Place;

    if (Calls->NumberFound == READER_VIEW_SLOWEST &&
        Call->Ticks <= Calls->Found[READER_VIEW_SLOWEST - 1].Ticks) {
        return;
    }

    if (Calls->NumberFound < READER_VIEW_SLOWEST) {
        Calls->NumberFound += 1;
    }

    for (Place = Calls->NumberFound - 1;
         Place != 0 && Calls->Found[Place - 1].Ticks < Call->Ticks;
         Place--) {
        Calls->Found[Place] = Calls->Found[Place - 1];
    }

    Calls->Found[Place] = *Call;
}


//
// An event that the fast way has left.  STATUS_CANCELLED: what is wanted was
// found.
//

_Use_decl_annotations_
static
NTSTATUS
ViewFindEvent(
    PVOID Context,
    PREADER_STREAM Stream,
    const CORE_EVENT *Event
    )
{
    PREADER_VIEW_SEARCH Search = (PREADER_VIEW_SEARCH)Context;
    PREADER_VIEW_CALLS Calls = &Search->View->Calls;
    READER_VIEW_CALL Call;

    UNREFERENCED_PARAMETER(Stream);

    if (Event->Kind == CoreEventUnmatched) {
        return STATUS_SUCCESS;
    }

    Call.Thread = Search->Thread;
    Call.Depth = Event->Depth;
    if (Event->Kind == CoreEventEnter) {

        Event->Frame->Function = Search->Tally->LastIndex;
        Event->Frame->Node = ViewIsWanted(Search->View,
                                          Search->Tally,
                                          Event->Frame->Function);
        if (!Event->Frame->Node || Calls->Kind == ReaderViewSlowest) {
            return STATUS_SUCCESS;
        }

        Call.Start = Event->Timestamp;
        Call.Stop = Event->Timestamp;
        Call.Ticks = 0;
        Calls->Found[0] = Call;
        Calls->NumberFound = 1;
        return Calls->Kind == ReaderViewFirst ? STATUS_CANCELLED
                                              : STATUS_SUCCESS;
    }

    if (Event->Frame->Node == 0 || Calls->Kind != ReaderViewSlowest) {
        return STATUS_SUCCESS;
    }

    if (Event->Kind == CoreEventAbandoned) {
        Calls->Abandoned += 1;
        return STATUS_SUCCESS;
    }

    //
    // How long a call takes that is open at the end is not known: outliers
    // leaves it out, too.
    //

    if (Event->Kind == CoreEventOpen) {
        return STATUS_SUCCESS;
    }

    Call.Start = Event->EnterTimestamp;
    Call.Stop = Event->Timestamp;
    Call.Ticks = Event->InclusiveTicks;
    Calls->Number += 1;
    if (Call.Ticks > Calls->MaximumTicks) {
        Calls->MaximumTicks = Call.Ticks;
    }

    ViewNoteSlow(Calls, &Call);
    return CoreAddToHistogram(&Calls->Histogram, Calls->Arena, Call.Ticks);
}


static
_Must_inspect_result_
NTSTATUS
ViewFindInThread(
    _In_ PVOID Context,
    _In_ ULONG Worker,
    _In_ ULONG Thread
    )
{
    static const READER_VISITOR Visitor = {
        ViewOpenFrame,
        ViewFindEvent,
        NULL
    };
    PREADER_VIEW_SEARCH Search = (PREADER_VIEW_SEARCH)Context;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(Worker);

    Search->Thread = Thread;
    Status = CallReadThread(Search->Tally, Thread, &Visitor, Search);
    return Status == STATUS_CANCELLED ? STATUS_SUCCESS : Status;
}


_Use_decl_annotations_
NTSTATUS
ViewFindCalls(
    PREADER_VIEW View,
    ULONGLONG Begin,
    ULONGLONG End,
    const UCHAR *Selected
    )
{
    PREADER_VIEW_CALLS Calls = &View->Calls;
    READER_READING Reading;
    READER_VIEW_SEARCH Search;
    ULONG ExitCode = READER_EXIT_FAILURE;
    NTSTATUS Status;

    ViewRundownSums(View);
    RtlZeroBytes(&Calls->Histogram, sizeof(Calls->Histogram));
    Calls->Number = 0;
    Calls->Abandoned = 0;
    Calls->MaximumTicks = 0;
    Calls->NumberFound = 0;
    Calls->Arena = CoreCreateArena(View->Context->Allocator);
    if (Calls->Arena == NULL) {
        return STATUS_NO_MEMORY;
    }

    ViewSetRange(View, Begin, End);
    ViewInitializeReading(View, Selected, &Reading);
    Reading.Read = ViewFindInThread;
    Reading.Context = &Search;
    Status = SumInitializeReading(&Reading);
    if (NT_SUCCESS(Status)) {
        Search.View = View;
        Search.Tally = &Reading.Tallies[0];
        Search.Tally->Watch = ViewWatchFunction;
        Search.Tally->WatchContext = &Search;
        ExitCode = SumReadThreads(&Reading);
    }

    SumRundownReading(&Reading);
    if (NT_SUCCESS(Status) && ExitCode != READER_EXIT_SUCCESS) {
        Status = STATUS_UNSUCCESSFUL;
    }

    return Status;
}
