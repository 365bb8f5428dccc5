/*++

Module Name:

    SumRead.c

Abstract:

    A command's threads, read by several workers.  Nothing that comes of it
    depends on how many there are, or on which of them read what.

--*/

#include "../Base/BaseErrors.h"
#include "../Session/SessionDescribe.h"
#include "SumRead.h"

//
// The progress is looked at once in so many calls of SumShowProgress.
//

#define READER_READING_PROGRESS_CALLS 256

//
// The order in which one worker meets functions: by thread, what comes before
// the range first, and in each in the order of the tally.
//

#define READER_RANK(Thread, IsInRange, Index) \
    ((ULONGLONG)(Thread) << 33 | (ULONGLONG)(IsInRange) << 32 | (Index))

typedef struct _READER_RANKS {
    PULONGLONG Ranks;
    PULONG Order;                   // what is where, in the order of ranks
} READER_RANKS;
typedef READER_RANKS *PREADER_RANKS;


//
// Says how far the workers are.
//

static
VOID
SumWriteProgress(
    _In_ PVOID Context
    )
{
    PREADER_READING Reading = (PREADER_READING)Context;
    ULONGLONG Records = Reading->NumberOfRecords;
    ULONG Index;

    for (Index = 0; Index < 2 * Reading->NumberOfWorkers; Index++) {
        Records += Reading->Tallies[Index].NumberOfRecords;
    }

    BaseShowProgress(&Reading->Progress, Records);
}


//
// Called by the first worker for each buffer that it has read.
//

static
VOID
SumShowProgress(
    _In_ PVOID Context
    )
{
    PREADER_READING Reading = (PREADER_READING)Context;

    Reading->ProgressCalls += 1;
    if (Reading->ProgressCalls % READER_READING_PROGRESS_CALLS == 0) {
        SumWriteProgress(Reading);
    }
}


//
// Decides whether a thread is one of those that are read.
//

static
BOOLEAN
SumIsThreadRead(
    _In_ const READER_READING *Reading,
    _In_ ULONG Thread
    )
{
    const READER_THREAD *Known =
        &Reading->Functions->Session->Threads[Thread];

    return READER_IS_THREAD_SELECTED(Reading->Options, Known->ThreadId) &&
           (Reading->Process == READER_NONE ||
            Reading->Process == Known->Process) &&
           (Reading->Selected == NULL || Reading->Selected[Thread]);
}


_Use_decl_annotations_
NTSTATUS
SumInitializeReading(
    PREADER_READING Reading
    )
{
    PREADER_SESSION Session = Reading->Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Number = Reading->Team != NULL ? Reading->Team->MaximumWorkers : 1;
    PREADER_TALLY Tally;
    ULONG NumberOfThreads = 0;
    ULONG Index;

    Reading->NextThread = 0;
    for (Index = 0; Index < Session->NumberOfThreads; Index++) {
        if (SumIsThreadRead(Reading, Index)) {
            NumberOfThreads += 1;
        }
    }

    Reading->NumberOfThreads += NumberOfThreads;
    if (Number > NumberOfThreads) {
        Number = NumberOfThreads;
    }

    if (Number == 0 || Session->NumberOfTrees != 0) {
        Number = 1;
    }

    if (Number > 1) {
        Reading->ThreadStatus = (NTSTATUS *)
            Allocator->Allocate(Allocator->Context,
                                (SIZE_T)Session->NumberOfThreads *
                                    sizeof(NTSTATUS));
        if (Reading->ThreadStatus == NULL) {
            return STATUS_NO_MEMORY;
        }
    }

    Reading->Tallies = (PREADER_TALLY)
        Allocator->Allocate(Allocator->Context,
                            2 * (SIZE_T)Number * sizeof(READER_TALLY));
    if (Reading->Tallies == NULL) {
        return STATUS_NO_MEMORY;
    }

    Reading->NumberOfWorkers = Number;
    for (Index = 0; Index < 2 * Number; Index++) {

        Tally = &Reading->Tallies[Index];
        CallInitializeTally(Tally,
                            Reading->Functions,
                            Number > 1 ? &Reading->Team->Lock : NULL);
        Tally->IsSaidAtOnce = Number == 1;
        Tally->IsNoting = Number > 1;
        if (Index < Number && Reading->Range->IsGiven) {
            Tally->Range = Reading->Range;
            Tally->Before = &Reading->Tallies[Number + Index];
        }
    }

    BaseInitializeProgress(&Reading->Progress,
                           Session->Context,
                           "",
                           SessionCountRecords(Session, Reading->Options));
    if (Session->Context->Errors->IsConsole) {
        Reading->Tallies[0].Progress = SumShowProgress;
        Reading->Tallies[0].ProgressContext = Reading;
        Reading->Tallies[Number].Progress = SumShowProgress;
        Reading->Tallies[Number].ProgressContext = Reading;
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
SumRundownReading(
    PREADER_READING Reading
    )
{
    PCALLOCATOR Allocator;
    ULONG Index;

    if (Reading->Functions == NULL) {
        return;
    }

    Allocator = Reading->Functions->Session->Context->Allocator;
    for (Index = 0; Index < 2 * Reading->NumberOfWorkers; Index++) {
        CallRundownTally(&Reading->Tallies[Index]);
    }

    Allocator->Free(Allocator->Context, Reading->Tallies);
    Allocator->Free(Allocator->Context, Reading->ThreadStatus);
    Reading->Tallies = NULL;
    Reading->ThreadStatus = NULL;
    Reading->NumberOfWorkers = 0;
}


//
// Reads threads for as long as there are any that no worker has taken.
//

static
VOID
SumReadShare(
    _In_ PVOID Context,
    _In_ ULONG Worker
    )
{
    PREADER_READING Reading = (PREADER_READING)Context;
    ULONG Thread;

    for (;;) {

        Thread = (ULONG)InterlockedIncrement(&Reading->NextThread) - 1;
        if (Thread >= Reading->Functions->Session->NumberOfThreads) {
            return;
        }

        if (SumIsThreadRead(Reading, Thread)) {
            Reading->ThreadStatus[Thread] = Reading->Read(Reading->Context,
                                                          Worker,
                                                          Thread);
        }
    }
}


//
// Orders by rank.
// CompareContext: the ranks.
// Returns negative, zero or positive.
//

static
LONG
SumCompareRanks(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PULONGLONG Ranks = ((PREADER_RANKS)CompareContext)->Ranks;

    if (Ranks[First] != Ranks[Second]) {
        return Ranks[First] < Ranks[Second] ? -1 : 1;
    }

    return First < Second ? -1 : First > Second ? 1 : 0;
}


//
// Makes ranks, all last, and an order to sort.
//

_Must_inspect_result_
static
NTSTATUS
SumInitializeRanks(
    _Out_ PREADER_RANKS Ranks,
    _In_ PCALLOCATOR Allocator,
    _In_ ULONG Number
    )
{
    ULONG Index;

    Ranks->Ranks = (PULONGLONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Number + 1) * sizeof(ULONGLONG));
    Ranks->Order = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)Number + 1) * sizeof(ULONG));
    if (Ranks->Ranks == NULL || Ranks->Order == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Number; Index++) {
        Ranks->Ranks[Index] = ~0ULL;
        Ranks->Order[Index] = Index;
    }

    return STATUS_SUCCESS;
}


static
VOID
SumRundownRanks(
    _Inout_ PREADER_RANKS Ranks,
    _In_ PCALLOCATOR Allocator
    )
{
    Allocator->Free(Allocator->Context, Ranks->Ranks);
    Allocator->Free(Allocator->Context, Ranks->Order);
}


//
// Gives a map's functions their new indexes.
// NewIndex: by the old one.
//

static
VOID
SumRenumberMap(
    _Inout_ PREADER_MAP Map,
    _In_ const ULONG *NewIndex
    )
{
    ULONG Slot;

    for (Slot = 0; Slot < Map->Capacity; Slot++) {
        if (Map->Slots[Slot].IsUsed) {
            Map->Slots[Slot].Value = NewIndex[Map->Slots[Slot].Value];
        }
    }
}


//
// Gives the functions of the noted callers their new indexes (their keys have
// them: FunctionNoteCaller).
// NewIndex: by the old one.
//

_Must_inspect_result_
static
NTSTATUS
SumRenumberCallers(
    _Inout_ PREADER_MAP Callers,
    _In_ const ULONG *NewIndex
    )
{
    READER_MAP New;
    PREADER_MAP_SLOT This;
    ULONG Slot;
    NTSTATUS Status = STATUS_SUCCESS;

    BaseInitializeMap(&New, Callers->Allocator);
    for (Slot = 0; NT_SUCCESS(Status) && Slot < Callers->Capacity; Slot++) {
        This = &Callers->Slots[Slot];
        if (This->IsUsed) {
            Status = BaseAddToMap(
                &New,
                ((ULONGLONG)NewIndex[This->Key >> 32] << 32) |
                    (ULONG)This->Key,
                This->Value);
        }
    }

    if (!NT_SUCCESS(Status)) {
        BaseRundownMap(&New);
        return Status;
    }

    BaseRundownMap(Callers);
    *Callers = New;
    return STATUS_SUCCESS;
}


//
// Puts the functions in the order in which one worker would have met them.
// The tallies' lists follow; what they find functions by is of no use then.
// First: the first function that was not there before; those before it stay.
//

_Must_inspect_result_
static
NTSTATUS
SumOrderFunctions(
    _Inout_ PREADER_READING Reading,
    _In_ ULONG First
    )
{
    PREADER_FUNCTIONS Functions = Reading->Functions;
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;
    ULONG Number = Functions->NumberOfFunctions;
    PREADER_FUNCTION Old = Functions->Functions;
    PREADER_FUNCTION New = NULL;
    PREADER_TALLY Tally;
    READER_RANKS Ranks;
    PULONG NewIndex = NULL;
    ULONGLONG Rank;
    ULONG Index;
    ULONG Place;
    NTSTATUS Status;

    Status = SumInitializeRanks(&Ranks, Allocator, Number);
    New = (PREADER_FUNCTION)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Functions->CapacityOfFunctions *
                                sizeof(READER_FUNCTION));
    NewIndex = (PULONG)Allocator->Allocate(
        Allocator->Context,
        ((SIZE_T)Number + 1) * sizeof(ULONG));
    if (!NT_SUCCESS(Status) || NewIndex == NULL ||
        (New == NULL && Number != 0)) {
        Status = STATUS_NO_MEMORY;
        goto End;
    }

    for (Index = 0; Index < First; Index++) {
        Ranks.Ranks[Index] = 0;
    }

    for (Place = 0; Place < 2 * Reading->NumberOfWorkers; Place++) {

        Tally = &Reading->Tallies[Place];
        for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {
            Rank = READER_RANK(Tally->List[Index].Thread,
                               Place < Reading->NumberOfWorkers,
                               Index);
            if (Rank < Ranks.Ranks[Tally->List[Index].Function]) {
                Ranks.Ranks[Tally->List[Index].Function] = Rank;
            }
        }
    }

    BaseSort(Ranks.Order, Number, SumCompareRanks, &Ranks);
    for (Index = 0; Index < Number; Index++) {
        New[Index] = Old[Ranks.Order[Index]];
        NewIndex[Ranks.Order[Index]] = Index;
    }

    Status = SumRenumberCallers(&Functions->Callers, NewIndex);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    SumRenumberMap(&Functions->Sites, NewIndex);
    SumRenumberMap(&Functions->Starts, NewIndex);
    for (Place = 0; Place < 2 * Reading->NumberOfWorkers; Place++) {

        Tally = &Reading->Tallies[Place];
        BaseRundownMap(&Tally->Indexes);
        for (Index = 0; Index < Tally->NumberOfFunctions; Index++) {
            Tally->List[Index].Function =
                NewIndex[Tally->List[Index].Function];
        }
    }

    Functions->Functions = New;
    New = Old;

End:
    Allocator->Free(Allocator->Context, New);
    Allocator->Free(Allocator->Context, NewIndex);
    SumRundownRanks(&Ranks, Allocator);
    return Status;
}


//
// Finds in which order the names of modules were asked for.
// Ranks: by module; ~0: they were not.
//

_Must_inspect_result_
static
NTSTATUS
SumOrderModules(
    _In_ const READER_READING *Reading,
    _Out_ PREADER_RANKS Ranks
    )
{
    PREADER_SESSION Session = Reading->Functions->Session;
    const READER_TALLY *Tally;
    ULONGLONG Noted;
    ULONGLONG Rank;
    ULONG Module;
    ULONG Place;
    NTSTATUS Status;

    Status = SumInitializeRanks(Ranks,
                                Session->Context->Allocator,
                                Session->NumberOfModules);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Place = 0; Place < 2 * Reading->NumberOfWorkers; Place++) {

        Tally = &Reading->Tallies[Place];
        for (Module = 0;
             Tally->Noted != NULL && Module < Session->NumberOfModules;
             Module++) {

            Noted = Tally->Noted[Module];
            if (Noted != 0) {
                Rank = READER_RANK((Noted >> 32) - 1,
                                   Place < Reading->NumberOfWorkers,
                                   (ULONG)Noted);
                if (Rank < Ranks->Ranks[Module]) {
                    Ranks->Ranks[Module] = Rank;
                }
            }
        }
    }

    BaseSort(Ranks->Order, Session->NumberOfModules, SumCompareRanks, Ranks);
    return STATUS_SUCCESS;
}


//
// Says what a thread's stores had of bad records.
//

static
VOID
SumWarnOfThread(
    _In_ PREADER_SESSION Session,
    _In_ ULONG Thread
    )
{
    ULONG Store;

    for (Store = Session->Threads[Thread].FirstStore;
         Store != READER_NONE;
         Store = Session->Stores[Store]->NextInThread) {
        if (!Session->Stores[Store]->IsTree) {
            CallWarnOfRecords(Session->Context, Session->Stores[Store]);
        }
    }
}


//
// Says what went wrong while several workers read, as one would have said it.
//

static
ULONG
SumWarnOfThreads(
    _Inout_ PREADER_READING Reading
    )
{
    PREADER_SESSION Session = Reading->Functions->Session;
    PCALLOCATOR Allocator = Session->Context->Allocator;
    READER_RANKS Ranks;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Module = 0;
    ULONG Thread;
    BOOLEAN AreOrdered = NT_SUCCESS(SumOrderModules(Reading, &Ranks));

    for (Thread = 0; Thread < Session->NumberOfThreads; Thread++) {

        while (AreOrdered && Module < Session->NumberOfModules &&
               Ranks.Ranks[Ranks.Order[Module]] >> 33 <= Thread) {
            FunctionWarnOfSymbols(Session,
                                  Session->Modules[Ranks.Order[Module]]);
            Module += 1;
        }

        if (!SumIsThreadRead(Reading, Thread)) {
            continue;
        }

        SumWarnOfThread(Session, Thread);
        if (!NT_SUCCESS(Reading->ThreadStatus[Thread])) {
            ExitCode = SessionFailThread(Session,
                                         Thread,
                                         Reading->ThreadStatus[Thread]);
        }
    }

    SumRundownRanks(&Ranks, Allocator);
    return ExitCode;
}


_Use_decl_annotations_
ULONG
SumReadThreads(
    PREADER_READING Reading
    )
{
    PREADER_SESSION Session = Reading->Functions->Session;
    ULONG First = Reading->Functions->NumberOfFunctions;
    ULONG ExitCode = READER_EXIT_SUCCESS;
    ULONG Index;
    NTSTATUS Status;

    Reading->Functions->IsQuiet = TRUE;
    if (Reading->NumberOfWorkers > 1) {

        BaseRunWorkers(Session->Context,
                       Reading->NumberOfWorkers,
                       SumReadShare,
                       Reading,
                       Reading->Tallies[0].Progress != NULL
                           ? SumWriteProgress
                           : NULL);
        BaseEraseProgress(&Reading->Progress);
        Status = SumOrderFunctions(Reading, First);
        ExitCode = SumWarnOfThreads(Reading);
        if (!NT_SUCCESS(Status)) {
            ExitCode = BaseFail(Session->Context,
                                Reading->Options->Command,
                                Reading->Options->PathUtf8,
                                Status);
        }

    } else {

        for (Index = 0; Index < Session->NumberOfThreads; Index++) {

            if (!SumIsThreadRead(Reading, Index)) {
                continue;
            }

            Status = Reading->Read(Reading->Context, 0, Index);
            if (!NT_SUCCESS(Status)) {
                BaseEraseProgress(&Reading->Progress);
                ExitCode = SessionFailThread(Session, Index, Status);
            }
        }

        BaseEraseProgress(&Reading->Progress);
    }

    Reading->Functions->IsQuiet = FALSE;
    for (Index = 0; Index < 2 * Reading->NumberOfWorkers; Index++) {
        Reading->NumberOfRecords += Reading->Tallies[Index].NumberOfRecords;
        Reading->NumberOfOrdinary += Reading->Tallies[Index].NumberOfOrdinary;
    }

    return ExitCode;
}
