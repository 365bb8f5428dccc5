/*++

Module Name:

    CallSiteTable.c

Abstract:

    What one worker knows of the sites whose calls it adds up, and the sums of
    their functions.

--*/

#include "../Functions/FunctionWaits.h"
#include "CallSite.h"
#include "CallSiteTable.h"

_Use_decl_annotations_
VOID
CallInitializeTally(
    PREADER_TALLY Tally,
    PREADER_FUNCTIONS Functions,
    PREADER_LOCK Lock
    )
{
    PCALLOCATOR Allocator = Functions->Session->Context->Allocator;

    RtlZeroBytes(Tally, sizeof(*Tally));
    Tally->Functions = Functions;
    Tally->Lock = Lock;
    Tally->Totals.Allocator = Allocator;
    BaseInitializeMap(&Tally->Indexes, Allocator);
    BaseInitializeMap(&Tally->Inlined, Allocator);
}

_Use_decl_annotations_
VOID
CallRundownTally(
    PREADER_TALLY Tally
    )
{
    PCALLOCATOR Allocator = Tally->Totals.Allocator;
    ULONG Index;

    for (Index = 0; Index < Tally->CapacityOfModules; Index++) {
        CoreRundownSites(&Tally->Modules[Index]);
    }

    CoreDestroyArena(Tally->Arena);
    Tally->Arena = NULL;
    Allocator->Free(Allocator->Context, Tally->Histograms);
    Allocator->Free(Allocator->Context, Tally->ProbeTotals);
    Allocator->Free(Allocator->Context, Tally->Waited);
    Allocator->Free(Allocator->Context, Tally->Noted);
    Allocator->Free(Allocator->Context, Tally->Modules);
    Allocator->Free(Allocator->Context, Tally->List);
    Tally->Histograms = NULL;
    Tally->CapacityOfHistograms = 0;
    Tally->ProbeTotals = NULL;
    Tally->CapacityOfProbe = 0;
    Tally->Waited = NULL;
    Tally->CapacityOfWaited = 0;
    Tally->Noted = NULL;
    Tally->CapacityOfNoted = 0;
    Tally->Modules = NULL;
    Tally->List = NULL;
    Tally->CapacityOfModules = 0;
    Tally->CapacityOfList = 0;
    Tally->NumberOfFunctions = 0;
    CoreRundownTotals(&Tally->Totals);
    BaseRundownMap(&Tally->Indexes);
    BaseRundownMap(&Tally->Inlined);
}

_Use_decl_annotations_
NTSTATUS
CallPrepareTally(
    PREADER_TALLY Tally
    )
{
    PREADER_SESSION Session = Tally->Functions->Session;
    PCALLOCATOR Allocator = Tally->Totals.Allocator;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Tally->Modules,
                           &Tally->CapacityOfModules,
                           Session->NumberOfModules,
                           sizeof(CORE_SITES));
    for (Index = 0; Index < Tally->CapacityOfModules; Index++) {
        Tally->Modules[Index].Allocator = Allocator;
    }

    if (NT_SUCCESS(Status) && Tally->IsNoting) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Tally->Noted,
                               &Tally->CapacityOfNoted,
                               Session->NumberOfModules,
                               sizeof(ULONGLONG));
    }

    return Status;
}

_Use_decl_annotations_
VOID
CallNoteModule(
    PREADER_TALLY Tally,
    ULONG Module
    )
{
    PREADER_SESSION Session = Tally->Functions->Session;

    if (Tally->IsSaidAtOnce || !Tally->Functions->IsQuiet) {
        FunctionWarnOfSymbols(Session, Session->Modules[Module]);
    } else if (Tally->Noted != NULL && Tally->Noted[Module] == 0) {
        Tally->Noted[Module] = ((ULONGLONG)Tally->Thread + 1) << 32 |
                               Tally->NumberNoted;
        Tally->NumberNoted += 1;
    }
}

_Use_decl_annotations_
NTSTATUS
CallAddFunctionToTally(
    PREADER_TALLY Tally,
    ULONG Function,
    PULONG Index
    )
{
    PCALLOCATOR Allocator = Tally->Totals.Allocator;
    NTSTATUS Status;

    if (BaseFindInMap(&Tally->Indexes, Function, Index)) {
        return STATUS_SUCCESS;
    }

    *Index = Tally->NumberOfFunctions;
    Status = CoreGrowTotals(&Tally->Totals, *Index + 1);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Tally->List,
                           &Tally->CapacityOfList,
                           *Index + 1,
                           sizeof(READER_TALLY_FUNCTION));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Tally->HasProbe && Tally->Paths == NULL) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Tally->ProbeTotals,
                               &Tally->CapacityOfProbe,
                               *Index + 1,
                               sizeof(CORE_PROBE_TOTALS));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Tally->Functions->Session->Waits != NULL && Tally->Paths == NULL) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Tally->Waited,
                               &Tally->CapacityOfWaited,
                               *Index + 1,
                               sizeof(ULONGLONG));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    if (Tally->HasHistograms) {

        if (Tally->Arena == NULL) {
            Tally->Arena = CoreCreateArena(Allocator);
            if (Tally->Arena == NULL) {
                return STATUS_NO_MEMORY;
            }
        }

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Tally->Histograms,
                               &Tally->CapacityOfHistograms,
                               *Index + 1,
                               sizeof(CORE_HISTOGRAM));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }
    }

    Status = BaseAddToMap(&Tally->Indexes, Function, *Index);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Tally->List[*Index].Function = Function;
    Tally->List[*Index].Thread = Tally->Thread;
    Tally->NumberOfFunctions += 1;
    return STATUS_SUCCESS;
}

//
// Finds out what there is to know of a site that is new to a tally.
// Call: a call from it, which receives what the image says.
//

_Must_inspect_result_
static
NTSTATUS
CallAddSiteToTally(
    _Inout_ PREADER_TALLY Tally,
    _Inout_ PCORE_CALL Call
    )
{
    PREADER_FUNCTIONS Functions = Tally->Functions;
    PREADER_SESSION Session = Functions->Session;
    BOOLEAN IsEntry = Call->Kind == TRACE_KIND_ENTER ||
                      Call->Kind == TRACE_KIND_ENTER_FUNCTION;
    ULONG Module = (ULONG)(Call->Site >> 32);
    ULONG Function = 0;
    ULONG Caller = 0;
    ULONG Index = 0;
    BOOLEAN IsWatched = FALSE;
    NTSTATUS Status;

    BaseAcquireLock(Tally->Lock);
    Status = CallDescribeCall(Session, Call);
    if (NT_SUCCESS(Status) && IsEntry) {
        Status = FunctionFindFunction(Functions,
                                      Call->Site,
                                      Tally->IsSilent,
                                      &Function);

        //
        // The name of a chain's function is asked for when the chain is new.
        //

        if (NT_SUCCESS(Status) && Tally->IsNotingCallers) {
            Status = FunctionNoteCaller(Functions, Call->Site, Function);
        }

        if (NT_SUCCESS(Status) && Tally->AreCallersApart) {
            Status = FunctionFindImporter(Functions, Call->Site, &Caller);
        }

        if (NT_SUCCESS(Status) && Functions->IsQuiet && Tally->Paths == NULL) {
            CallNoteModule(Tally, Module);
        }

        if (NT_SUCCESS(Status)) {
            Call->Flags |= FunctionQueryWaitFlags(Functions, Function);
        }
    }

    BaseReleaseLock(Tally->Lock);

    if (NT_SUCCESS(Status) && IsEntry) {
        Status = CallAddFunctionToTally(Tally, Function, &Index);
        if (NT_SUCCESS(Status) && Tally->Watch != NULL) {
            Status = Tally->Watch(Tally->WatchContext, Index, &IsWatched);
        }
    }

    if (NT_SUCCESS(Status)) {
        Status = CoreAddSite(&Tally->Modules[Module], Call, Index);
    }

    if (NT_SUCCESS(Status) && Caller != 0) {
        CoreSetSitePath(&Tally->Modules[Module],
                        (ULONG)Call->Site,
                        Call->Kind,
                        CallMakePath(Index, Caller));
    }

    if (NT_SUCCESS(Status) && IsWatched) {
        CoreWatchSite(&Tally->Modules[Module], (ULONG)Call->Site, Call->Kind);
    }

    Tally->LastIndex = Index;
    return Status;
}

_Use_decl_annotations_
NTSTATUS
CallDescribeCallInTally(
    PREADER_TALLY Tally,
    PCORE_CALL Call
    )
{
    PCCORE_SITE Site;

    Site = CoreFindSite(&Tally->Modules[(ULONG)(Call->Site >> 32)],
                        (ULONG)Call->Site,
                        Call->Kind);
    if (Site == NULL) {
        return CallAddSiteToTally(Tally, Call);
    }

    Call->Function = Site->Function;
    Call->JumpTarget = Site->JumpTarget;
    Call->FrameSize = Site->FrameSize;
    if ((Site->Flags & CORE_CALL_CHAIN) != 0) {
        Call->FrameSize = 0;        // see CoreAddSite
    }

    Call->BodySize = Site->BodySize;
    Call->Flags = Site->Flags;
    Tally->LastIndex = Site->Index;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
ULONG
CallCountInlinedInTally(
    PVOID Context,
    ULONGLONG Outer,
    ULONGLONG Inner
    )
{
    PREADER_TALLY Tally = (PREADER_TALLY)Context;
    ULONGLONG Key = (Outer << 32) | (ULONG)Inner;
    BOOLEAN IsKept = (Outer >> 32) == 0 && (Inner >> 32) == 0;
    ULONG Answer;
    NTSTATUS Status;

    //
    // The answers about the first module are kept here, too: most programs
    // have no other.
    //

    if (IsKept && BaseFindInMap(&Tally->Inlined, Key, &Answer)) {
        return Answer;
    }

    BaseAcquireLock(Tally->Lock);
    Answer = CallCountInlinedInSession(Tally->Functions->Session,
                                       Outer,
                                       Inner);
    BaseReleaseLock(Tally->Lock);

    if (IsKept) {
        Status = BaseAddToMap(&Tally->Inlined, Key, Answer);
        (VOID)Status;
    }

    return Answer;
}

_Use_decl_annotations_
NTSTATUS
CallTallyEvent(
    PREADER_TALLY Tally,
    const CORE_EVENT *Event
    )
{
    ULONGLONG Probe;
    ULONG Index;

    switch (Event->Kind) {

    case CoreEventEnter:
        Event->Frame->Function = Tally->LastIndex;
        Tally->Totals.Active[Tally->LastIndex] += 1;
        break;

    case CoreEventUnmatched:
        Tally->Unmatched += 1;
        break;

    default:
        Index = Event->Frame->Function;
        Tally->Totals.Active[Index] -= 1;
        CoreAddToStatistics(&Tally->List[Index].Statistics,
                            Event,
                            Tally->Totals.Active[Index] == 0);
        if (Tally->HasHistograms && Event->Kind != CoreEventAbandoned) {
            Probe = Event->InclusiveProbe / TRACE_PROBE_UNIT;
            return CoreAddToHistogram(&Tally->Histograms[Index],
                                      Tally->Arena,
                                      Event->InclusiveTicks > Probe
                                          ? Event->InclusiveTicks - Probe
                                          : 0);
        }
        break;
    }

    return STATUS_SUCCESS;
}
