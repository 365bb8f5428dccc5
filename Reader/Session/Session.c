/*++

Module Name:

    Session.c

Abstract:

    A session: the stores of one process, or of several that lie in directories
    side by side, their modules, threads, clock, and whether they still run.

    A thread has one store for each module instance that it called, so a
    thread here is the set of stores that belong together: the same process,
    the same thread identifier and the same stack, at overlapping times (an
    identifier is used again when its thread has ended).

--*/

#include "SessionControl.h"
#include "SessionDescribe.h"
#include "SessionImports.h"
#include "SessionModule.h"
#include "SessionName.h"
#include "SessionProcess.h"
#include "SessionSource.h"
#include "SessionStoreOpen.h"
#include "SessionTreeStore.h"

//
// The Fowler-Noll-Vo hash of a name.
//

#define READER_HASH_SEED 0xCBF29CE484222325ULL
#define READER_HASH_MULTIPLIER 0x00000100000001B3ULL

//
// How often a ring's first record is looked for.
//

#define READER_MAXIMUM_TRIES 16

//
// Without a clock a thread's time stamps are positions; they are told from
// other threads' by what is above these bits.
//

#define READER_POSITION_BITS 48

static const WCHAR ReaderSuffix[] = L".TRACE";   // TRACE_FILE_SUFFIX


//
// Decides whether a file's name is that of a store.
//

static
BOOLEAN
SessionHasSuffix(
    _In_ PCREADER_CONTEXT Context,
    _In_ PCUNICODE_STRING Name
    )
{
    return SessionEndsWith(Context->Rtl,
                           Name,
                           ReaderSuffix,
                           RTL_NUMBER_OF(ReaderSuffix) - 1);
}


//
// Adds a store to the list, not yet opened.
// Name: of the file, in the session's directory; its own is the one that is
// being listed.
//

_Must_inspect_result_
static
NTSTATUS
SessionAddStore(
    _Inout_ PREADER_SESSION Session,
    _In_ PCUNICODE_STRING Name
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_STORE Store;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Session->Stores,
                           &Session->CapacityOfStores,
                           Session->NumberOfStores + 1,
                           sizeof(PREADER_STORE));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Store = (PREADER_STORE)
        Allocator->Allocate(Allocator->Context,
                            sizeof(READER_STORE) + Name->Length);
    if (Store == NULL) {
        return STATUS_NO_MEMORY;
    }

    RtlCopyBytes(Store + 1, Name->Buffer, Name->Length);
    RtlPointUnicodeString(&Store->Name,
                          (PCWSTR)(Store + 1),
                          Name->Length / sizeof(WCHAR));
    Store->HeaderResult.State = CoreHeaderBeingCreated;
    Store->Directory = Session->VisitedDirectory;
    Store->Module = READER_NONE;
    Store->Thread = READER_NONE;
    Store->NextInThread = READER_NONE;

    Session->Stores[Session->NumberOfStores] = Store;
    Session->NumberOfStores += 1;
    return STATUS_SUCCESS;
}


//
// Decides whether the session has a store of that name.
// Key: the key of the name in the map of names.
//

static
BOOLEAN
SessionIsKnownName(
    _In_ const READER_SESSION *Session,
    _In_ PCUNICODE_STRING Name,
    _Out_ PULONGLONG Key
    )
{
    ULONGLONG Hash = READER_HASH_SEED;
    ULONG Index;
    ULONG Known;

    for (Index = 0; Index < Name->Length / sizeof(WCHAR); Index++) {
        Hash = (Hash ^ Name->Buffer[Index]) * READER_HASH_MULTIPLIER;
    }

    //
    // Two names with one hash take keys that follow each other.
    //

    while (BaseFindInMap(&Session->Names, Hash, &Known)) {

        PCUNICODE_STRING KnownName = &Session->Stores[Known]->Name;

        if (KnownName->Length == Name->Length &&
            RtlAreBytesEqual(KnownName->Buffer, Name->Buffer, Name->Length)) {
            return TRUE;
        }

        Hash += 1;
    }

    *Key = Hash;
    return FALSE;
}


//
// Adds a directory's entry to the session if it is a store that the session
// does not have.
// SizeInBytes: not used: a live file's entry may be older than the file.
// IsDirectory: whether the entry is one.
// Returns STATUS_SUCCESS, STATUS_NAME_TOO_LONG or STATUS_NO_MEMORY.
//

static
NTSTATUS
SessionVisitEntry(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_SESSION Session = (PREADER_SESSION)CallbackContext;
    WCHAR Buffer[READER_MAXIMUM_NAME_IN_CHARS];
    UNICODE_STRING Path;
    ULONGLONG Key;
    NTSTATUS Status;

    UNREFERENCED_PARAMETER(SizeInBytes);

    if (IsDirectory || !SessionHasSuffix(Session->Context, Name) ||
        !SessionAdmitName(Session, Name)) {
        return STATUS_SUCCESS;
    }

    //
    // A store in a directory below has that in its name.
    //

    Status = SessionComposeName(Session, Name, Buffer, &Path);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (SessionIsKnownName(Session, &Path, &Key)) {
        return STATUS_SUCCESS;
    }

    Status = BaseAddToMap(&Session->Names, Key, Session->NumberOfStores);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    return SessionAddStore(Session, &Path);
}


//
// Reads the first and the last time stamp of an open store.
// Store: the store; its FirstTimestamp and LastTimestamp are set, to 0 if
// there are no records.
//

static
VOID
SessionReadTimeRange(
    _In_ PCREADER_CONTEXT Context,
    _Inout_ PREADER_STORE Store
    )
{
    TRACE_RECORD Records[1];
    ULONGLONG Position = Store->StartOfRecords;
    ULONG NumberRead = 0;
    ULONG Try;
    NTSTATUS Status;

    Store->FirstTimestamp = 0;
    Store->LastTimestamp = 0;

    //
    // The writer of a ring may overwrite the first record before it is read.
    //

    for (Try = 0; Try < READER_MAXIMUM_TRIES; Try++) {

        Status = SessionReadRecords(Context,
                                    Store,
                                    Position,
                                    Records,
                                    1,
                                    &NumberRead);
        if (!NT_SUCCESS(Status)) {
            return;
        }

        if (NumberRead != 0) {
            break;
        }

        if (Position < Store->LostEnd) {
            Position = Store->LostEnd;
        }

        if (Position < Store->StartOfRecords) {
            Position = Store->StartOfRecords;
        }
    }

    if (NumberRead == 0) {
        return;
    }

    Store->FirstTimestamp = Records[0].Timestamp;
    Store->LastTimestamp = Records[0].Timestamp;

    //
    // The very last record may be reserved and not written.
    //

    Position = Store->EndOfRecords - TRACE_RECORD_SIZE;
    while (Position > Store->StartOfRecords) {

        Status = SessionReadRecords(Context,
                                    Store,
                                    Position,
                                    Records,
                                    1,
                                    &NumberRead);
        if (NT_SUCCESS(Status) && Store->LostEnd != 0) {
            Position = Store->LostStart - TRACE_RECORD_SIZE;
            continue;
        }

        if (!NT_SUCCESS(Status) || NumberRead == 0) {
            return;
        }

        if (Records[0].Timestamp != 0) {
            Store->LastTimestamp = Records[0].Timestamp;
            return;
        }

        if (Position + TRACE_RECORD_SIZE != Store->EndOfRecords) {
            return;
        }

        Position -= TRACE_RECORD_SIZE;
    }
}


//
// Finds the time that a tree is of.
// Store: the store, open; its FirstTimestamp and LastTimestamp are set, to 0
// if they are not known.
//

static
VOID
SessionReadTreeRange(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store
    )
{
    CORE_TREE Tree;

    Store->FirstTimestamp = 0;
    Store->LastTimestamp = 0;
    if (CoreIsAnchorValid(&Store->Header->OpenAnchor)) {
        Store->FirstTimestamp = Store->Header->OpenAnchor.Tsc;
    }

    if (NT_SUCCESS(SessionReadTreeStore(Session, Store, &Tree))) {
        Store->LastTimestamp = Tree.Now;
    }

    if (Store->LastTimestamp < Store->FirstTimestamp) {
        Store->LastTimestamp = Store->FirstTimestamp;
    }

    CoreRundownTree(&Tree);
}


//
// Finds out when a store was begun, by the time stamp counter.
// Store: the store, with a valid header and its time range.
// Returns the time stamp of its first record, if that is one of the counter
// and the first that was made; otherwise when the store was created, if that
// is known.
//

static
ULONGLONG
SessionFindBeginning(
    _In_ PCREADER_STORE Store
    )
{
    PCTRACE_STORE_HEADER Header = Store->Header;

    if (Store->FirstTimestamp == 0 ||
        ((Header->Clock != TRACE_CLOCK_TSC ||
          Store->StartOfRecords > Header->HeaderSize) &&
         CoreIsAnchorValid(&Header->OpenAnchor))) {
        return Header->OpenAnchor.Tsc;
    }

    return Store->FirstTimestamp;
}


//
// Finds out whether a new thread is one that is known: one that was detached
// from, and has been attached to again.  What was recorded is kept apart, as
// the calls that were open in between have no end.
//

static
VOID
SessionFindSame(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG Index
    )
{
    PREADER_THREAD Thread = &Session->Threads[Index];
    PREADER_THREAD Other;
    ULONGLONG Creation;
    ULONG Known;

    Thread->Same = Index;
    Thread->IsAgain = FALSE;

    //
    // Times without a clock, which each store has for itself, cannot be added.
    //

    Creation = Session->Stores[Thread->FirstStore]->Header->Clock ==
                       TRACE_CLOCK_NONE
                   ? 0
                   : CoreGetThreadCreation(
                         Session->Stores[Thread->FirstStore]->Header);
    for (Known = 0; Known < Index && Creation != 0; Known++) {

        Other = &Session->Threads[Known];
        if (Other->ThreadId == Thread->ThreadId &&
            Other->Process == Thread->Process &&
            CoreGetThreadCreation(Session->Stores[Other->FirstStore]
                                      ->Header) == Creation) {

            Session->NumberOfSame += Thread->Same == Index;
            Thread->Same = Other->Same;
            Other->IsAgain = TRUE;
        }
    }
}


//
// Finds or makes the thread of a store.
// StoreIndex: the store, with a valid header and its time range.
//

_Must_inspect_result_
static
NTSTATUS
SessionAssignThread(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG StoreIndex
    )
{
    PREADER_STORE Store = Session->Stores[StoreIndex];
    PCTRACE_STORE_HEADER Known;
    PREADER_THREAD Thread;
    BOOLEAN IsLive;
    BOOLEAN IsToTheEnd;
    ULONGLONG End;
    ULONGLONG First;
    ULONG Process = READER_PROCESS_OF_STORE(Session, Store);
    ULONG Index;
    ULONG Last;
    NTSTATUS Status;

    //
    // A store that was never closed, or was when the process ended, may be of
    // a thread that lived until then, however early its last record.
    //

    IsLive = Store->Header->State == TRACE_STATE_OPEN;
    IsToTheEnd = IsLive || Store->Header->Reason == TRACE_REASON_PROCESS_EXIT;
    End = Store->LastTimestamp;
    if (CoreIsAnchorValid(&Store->Header->LastAnchor) &&
        Store->Header->LastAnchor.Tsc > End) {
        End = Store->Header->LastAnchor.Tsc;
    }

    First = Store->FirstTimestamp;
    if (First == 0 && Store->Header->Clock != TRACE_CLOCK_NONE) {
        First = Store->Header->OpenAnchor.Tsc;
    }

    //
    // Without a clock nothing says in which order the records of two stores
    // were made: each store is by itself.
    //

    Index = Session->NumberOfThreads;
    if (Store->Header->Clock == TRACE_CLOCK_NONE) {
        Index = 0;
    }

    for (; Index != 0; Index--) {

        Thread = &Session->Threads[Index - 1];

        if (Thread->ThreadId != Store->Header->ThreadId ||
            Thread->Process != Process) {
            continue;
        }

        //
        // A thread that was ended by force left its store open; one that has
        // its number now has another stack.  A fiber's stack tells nothing.
        //

        Known = Session->Stores[Thread->FirstStore]->Header;
        if (Known->Clock == TRACE_CLOCK_NONE) {
            continue;
        }

        if (((Known->Flags | Store->Header->Flags) & TRACE_FLAG_FIBER) == 0 &&
            Known->StackBase != Store->Header->StackBase) {
            continue;
        }

        if (Thread->IsToTheEnd ||
            SessionFindBeginning(Store) <= Thread->EndTimestamp) {
            break;
        }
    }

    if (Index == 0) {

        Status = BaseGrowArray(Session->Context->Allocator,
                               (PVOID *)&Session->Threads,
                               &Session->CapacityOfThreads,
                               Session->NumberOfThreads + 1,
                               sizeof(READER_THREAD));
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Index = Session->NumberOfThreads;
        Session->NumberOfThreads += 1;

        Thread = &Session->Threads[Index];
        Thread->ThreadId = Store->Header->ThreadId;
        Thread->Process = Process;
        Thread->FirstStore = StoreIndex;
        Thread->NumberOfStores = 1;
        SessionFindSame(Session, Index);
        Thread->IsLive = IsLive;
        Thread->IsToTheEnd = IsToTheEnd;
        if (Store->Header->Clock == TRACE_CLOCK_NONE) {
            Thread->TimestampBase = (ULONGLONG)Index << READER_POSITION_BITS;
        }

        Thread->FirstTimestamp = First + Thread->TimestampBase;
        Thread->LastTimestamp = Thread->FirstTimestamp;
        Thread->EndTimestamp = Thread->FirstTimestamp;
        Store->Thread = Index;

    } else {

        Index -= 1;
        Thread = &Session->Threads[Index];
        Last = Thread->FirstStore;
        while (Session->Stores[Last]->NextInThread != READER_NONE) {
            Last = Session->Stores[Last]->NextInThread;
        }

        Session->Stores[Last]->NextInThread = StoreIndex;
        Store->Thread = Index;
        Thread->NumberOfStores += 1;
        Thread->IsLive = Thread->IsLive || IsLive;
        Thread->IsToTheEnd = Thread->IsToTheEnd || IsToTheEnd;
        if (First < Thread->FirstTimestamp) {
            Thread->FirstTimestamp = First;
        }
    }

    if (Store->LastTimestamp + Thread->TimestampBase > Thread->LastTimestamp) {
        Thread->LastTimestamp = Store->LastTimestamp + Thread->TimestampBase;
    }

    if (End > Thread->EndTimestamp) {
        Thread->EndTimestamp = End;
    }

    return STATUS_SUCCESS;
}


//
// Finds out what the time stamps of the session are: no time if that is so in
// one of its stores, and as coarse as in the coarsest.
// Session: the session; its clock has no kind yet.
//

static
VOID
SessionFindClock(
    _Inout_ PREADER_SESSION Session
    )
{
    PCORE_CLOCK Clock = &Session->Clock;
    ULONG Index;

    Session->NumberOfClockFreezes = 0;
    Session->MaximumClockStep = 0;
    Session->JumpTicks = 0;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];
        PCTRACE_STORE_HEADER Header = Store->Header;

        if (Store->Thread == READER_NONE) {
            continue;
        }

        if (Header->Clock > Clock->Kind) {
            Clock->Kind = Header->Clock;
        }

        if (Header->Clock != TRACE_CLOCK_THREAD) {
            continue;
        }

        if (Header->ClockResolution > Clock->Resolution) {
            Clock->Resolution = Header->ClockResolution;
        }

        Session->NumberOfClockFreezes += Header->NumberOfClockFreezes;
        if (Header->MaximumClockStep > Session->MaximumClockStep) {
            Session->MaximumClockStep = Header->MaximumClockStep;
        }
    }

    //
    // Where the clock never froze, a long time between two records is one.
    //

    if (Clock->Kind == TRACE_CLOCK_THREAD &&
        Session->NumberOfClockFreezes != 0 &&
        Clock->Resolution < ~0ULL / TRACE_CLOCK_FREEZE) {
        Session->JumpTicks = Clock->Resolution * TRACE_CLOCK_FREEZE;
    }
}


//
// Works the clock out from the anchors of all stores.
//

static
VOID
SessionPoolAnchors(
    _Inout_ PREADER_SESSION Session
    )
{
    PCORE_CLOCK Clock = &Session->Clock;
    BOOLEAN IsRaw = Clock->IsRaw;
    RTL_CLOCK_READING Reading;
    TRACE_CLOCK_ANCHOR Anchor;
    ULONG Index;

    CoreInitializeClock(Clock);
    Clock->IsRaw = IsRaw;
    Session->IsClockRead = FALSE;
    SessionFindClock(Session);

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE) {
            CoreAddAnchor(Clock,
                          &Store->Header->OpenAnchor,
                          Store->Header->QpcFrequency);
            CoreAddAnchor(Clock,
                          &Store->Header->LastAnchor,
                          Store->Header->QpcFrequency);
        }
    }

    if (Clock->Ticks != 0 && Clock->Nanoseconds >= READER_MINIMUM_CLOCK_SPAN) {
        return;
    }

    //
    // A reading now is farther from the others than they are from each other,
    // and on their clocks if the machine has not been booted since.
    //

    RtlReadClocks(Session->Context->Rtl, &Reading);
    Anchor.Tsc = Reading.Tsc;
    Anchor.Qpc = Reading.Qpc;
    Anchor.SystemTime = Reading.SystemTime;
    Anchor.Check = Anchor.Tsc ^ Anchor.Qpc ^ Anchor.SystemTime;
    if (CoreIsSameBoot(Clock, &Anchor, Reading.QpcFrequency)) {
        CoreAddAnchor(Clock, &Anchor, Reading.QpcFrequency);
        Session->IsClockRead = TRUE;
    }
}


//
// Opens a store for the first time, to see what it is.
// Store: the store; closed again.
// IsProcessOnly: its directory gets its process, and nothing else is done.
// STATUS_SUCCESS: the store may be bad all the same; it says so itself.
// STATUS_NOT_SUPPORTED: its process ran on another boot than the others.
//

_Must_inspect_result_
static
NTSTATUS
SessionLookAtStore(
    _Inout_ PREADER_SESSION Session,
    _Inout_ PREADER_STORE Store,
    _In_ BOOLEAN IsProcessOnly
    )
{
    PCTRACE_STORE_HEADER Known;
    NTSTATUS Status;

    if (Session->Directories[Store->Directory].IsLeftOut) {
        return STATUS_SUCCESS;
    }

    Status = SessionOpenSessionStore(Session, Store);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
    }

    Status = STATUS_SUCCESS;
    if (Store->HeaderResult.State != CoreHeaderValid ||
        Store->EndState == CoreEndBad) {
        goto End;
    }

    if (READER_PROCESS_OF_STORE(Session, Store) == READER_NONE) {

        if (IsProcessOnly) {
            Status = SessionAddProcess(Session, Store);
            goto End;
        }

        Status = SessionAssignProcess(Session, Store);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        if (SessionIsWriterGone(Session, Store) &&
            Store->Header->MinimumDuration != 0) {

            //
            // What looked as if it might still vanish stays.
            //

            Store->IsWriterGone = TRUE;
            Status = SessionRefreshStore(Session->Context, Store);
            if (!NT_SUCCESS(Status)) {
                Status = STATUS_SUCCESS;
                goto End;
            }
        }
    }

    if (Session->Directories[Store->Directory].IsLeftOut) {
        goto End;
    }

    Known = Session->Processes[READER_PROCESS_OF_STORE(Session, Store)].Header;
    if (Store->Header->ProcessId != Known->ProcessId ||
        Store->Header->ProcessCreationTime != Known->ProcessCreationTime) {
        Store->IsForeign = TRUE;
        goto End;
    }

    if (SessionIsStoreCopied(Session, Store)) {
        Store->IsCopy = TRUE;
        goto End;
    }

    Store->IsTree = Store->Header->Mode == TRACE_MODE_TREE;
    Status = SessionAssignModule(Session, Store->Header, &Store->Module);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Store->Modules[0] = Store->Module;
    Store->NumberOfModules = 1;
    if (Store->IsTree) {
        SessionReadTreeRange(Session, Store);
    } else {
        SessionReadTimeRange(Session->Context, Store);
    }

End:
    SessionCloseStore(Session->Context, Store);
    return Status;
}


//
// Orders stores by name.
// CompareContext: the session.
// First, Second: store indexes.
// Returns negative, zero or positive.
//

static
LONG
SessionCompareStoreNames(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_SESSION Session = (PREADER_SESSION)CompareContext;
    PCUNICODE_STRING FirstName = &Session->Stores[First]->Name;
    PCUNICODE_STRING SecondName = &Session->Stores[Second]->Name;
    ULONG Index;

    for (Index = 0;
         Index < FirstName->Length / sizeof(WCHAR) &&
             Index < SecondName->Length / sizeof(WCHAR);
         Index++) {
        if (FirstName->Buffer[Index] != SecondName->Buffer[Index]) {
            return (LONG)FirstName->Buffer[Index] -
                   (LONG)SecondName->Buffer[Index];
        }
    }

    return (LONG)FirstName->Length - (LONG)SecondName->Length;
}


//
// Orders stores by their beginning, then by name.
// CompareContext: the session.
// First, Second: store indexes.
// Returns negative, zero or positive.
//

static
LONG
SessionCompareStoreTimes(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_SESSION Session = (PREADER_SESSION)CompareContext;
    ULONGLONG FirstTime = SessionFindBeginning(Session->Stores[First]);
    ULONGLONG SecondTime = SessionFindBeginning(Session->Stores[Second]);

    if (FirstTime != SecondTime) {
        return FirstTime < SecondTime ? -1 : 1;
    }

    return SessionCompareStoreNames(CompareContext, First, Second);
}


//
// Makes the map of names again, which goes by index.
//

_Must_inspect_result_
static
NTSTATUS
SessionMapNames(
    _Inout_ PREADER_SESSION Session
    )
{
    ULONGLONG Key;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    BaseRundownMap(&Session->Names);
    for (Index = 0;
         NT_SUCCESS(Status) && Index < Session->NumberOfStores;
         Index++) {
        SessionIsKnownName(Session, &Session->Stores[Index]->Name, &Key);
        Status = BaseAddToMap(&Session->Names, Key, Index);
    }

    return Status;
}


//
// Forgets the stores of processes that --process does not select, and those of
// processes that are not known yet.
// FirstNew: the index of the first store that was never looked at before;
// nothing refers to it or to those after it.
//

_Must_inspect_result_
static
NTSTATUS
SessionDropStores(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG FirstNew
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Kept = FirstNew;
    ULONG Index;

    for (Index = FirstNew; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        if (READER_PROCESS_OF_STORE(Session, Store) != READER_NONE ||
            (Session->ProcessSelection == NULL &&
             !Session->Directories[Store->Directory].IsLeftOut)) {
            Session->Stores[Kept] = Store;
            Kept += 1;
        } else {
            SessionRundownStore(Session->Context, Store);
            Allocator->Free(Allocator->Context, Store);
        }
    }

    if (Kept == Session->NumberOfStores) {
        return STATUS_SUCCESS;
    }

    Session->NumberOfStores = Kept;
    return SessionMapNames(Session);
}


//
// Orders processes by when they were created, then by identifier.
// CompareContext: the session.
// First, Second: process indexes.
// Returns negative, zero or positive.
//

static
LONG
SessionCompareProcesses(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PREADER_SESSION Session = (PREADER_SESSION)CompareContext;
    PCTRACE_STORE_HEADER One = Session->Processes[First].Header;
    PCTRACE_STORE_HEADER Other = Session->Processes[Second].Header;

    if (One->ProcessCreationTime != Other->ProcessCreationTime) {
        return One->ProcessCreationTime < Other->ProcessCreationTime ? -1 : 1;
    }

    if (One->ProcessId != Other->ProcessId) {
        return One->ProcessId < Other->ProcessId ? -1 : 1;
    }

    return 0;
}


//
// Puts the processes in the order in which they were created.
// Session: the session, of whose processes only directories know.
//

_Must_inspect_result_
static
NTSTATUS
SessionSortProcesses(
    _Inout_ PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_PROCESS Sorted;
    PULONG Order;
    ULONG Number = Session->NumberOfProcesses;
    ULONG Index;
    ULONG Place;

    if (Number < 2) {
        return STATUS_SUCCESS;
    }

    Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                        (SIZE_T)Number * sizeof(ULONG));
    Sorted = (PREADER_PROCESS)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Number * sizeof(READER_PROCESS));
    if (Order == NULL || Sorted == NULL) {
        Allocator->Free(Allocator->Context, Order);
        Allocator->Free(Allocator->Context, Sorted);
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Number; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order, Number, SessionCompareProcesses, Session);
    for (Place = 0; Place < Number; Place++) {
        Sorted[Place] = Session->Processes[Order[Place]];
    }

    Allocator->Free(Allocator->Context, Session->Processes);
    Session->Processes = Sorted;
    Session->CapacityOfProcesses = Number;
    Session->Header = Sorted[0].Header;
    for (Index = 0; Index < Session->NumberOfDirectories; Index++) {

        PREADER_DIRECTORY Directory = &Session->Directories[Index];

        for (Place = 0;
             Directory->Process != READER_NONE && Place < Number;
             Place++) {
            if (Order[Place] == Directory->Process) {
                Directory->Process = Place;
                break;
            }
        }
    }

    Allocator->Free(Allocator->Context, Order);
    return STATUS_SUCCESS;
}


//
// Leaves out the directories that are not of the run that is shown.
// Session: the session, of none of whose stores anything is known.
//

_Must_inspect_result_
static
NTSTATUS
SessionLeaveOutRuns(
    _Inout_ PREADER_SESSION Session
    )
{
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         NT_SUCCESS(Status) && Index < Session->NumberOfStores;
         Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        if (READER_PROCESS_OF_STORE(Session, Store) == READER_NONE) {
            Status = SessionLookAtStore(Session, Store, TRUE);
        }
    }

    return NT_SUCCESS(Status) ? SessionChooseRun(Session) : Status;
}


//
// Looks at stores that are not part of the session yet, and gives those that
// are good their modules and threads.
// FirstNew: the index of the first store that was never looked at.
// Returns STATUS_SUCCESS, STATUS_NO_MEMORY, or STATUS_NOT_SUPPORTED if they
// are of several boots.
//

_Must_inspect_result_
static
NTSTATUS
SessionAdmitStores(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG FirstNew
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PULONG Order = NULL;
    ULONG CapacityOfOrder = 0;
    PREADER_STORE Store;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Order,
                           &CapacityOfOrder,
                           Session->NumberOfStores + 1,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        Store = Session->Stores[Index];
        if (Index < FirstNew &&
            (!NT_SUCCESS(Store->Status) ||
             Store->HeaderResult.State != CoreHeaderBeingCreated)) {
            continue;
        }

        Status = SessionLookAtStore(Session, Store, FALSE);
        if (Status == STATUS_NOT_SUPPORTED && FirstNew != 0) {

            //
            // Somebody has put it there since.
            //

            Session->Directories[Store->Directory].IsLeftOut = TRUE;
            RtlWriteText(Session->Context->Errors,
                         "TraceReader: warning: %Z: its process ran on "
                         "another boot; left out\n",
                         &Store->Name);
            Status = STATUS_SUCCESS;
        }

        if (!NT_SUCCESS(Status)) {
            Session->IsOfSeveralBoots = Status == STATUS_NOT_SUPPORTED;
            goto End;
        }
    }

    Status = SessionDropStores(Session, FirstNew);
    if (NT_SUCCESS(Status) && FirstNew == 0) {
        Status = SessionSortProcesses(Session);
    }

    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Count = 0;
    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        Store = Session->Stores[Index];
        if (Store->Module != READER_NONE && Store->Thread == READER_NONE) {
            Order[Count] = Index;
            Count += 1;
        }
    }

    //
    // Threads are made in the order of their first records, which is what
    // tells one thread from the next with the same identifier.
    //

    BaseSort(Order, Count, SessionCompareStoreTimes, Session);
    for (Index = 0; Index < Count; Index++) {
        Status = SessionAssignThread(Session, Order[Index]);
        if (!NT_SUCCESS(Status)) {
            goto End;
        }

        Session->NumberOfValidStores += 1;
        if (Session->Stores[Order[Index]]->IsTree) {
            Session->NumberOfTrees += 1;
        }
    }

    SessionTreeStoreFindApart(Session);
    SessionPoolAnchors(Session);
    Status = SessionReadControl(Session);

End:
    Allocator->Free(Allocator->Context, Order);
    return Status;
}


//
// Puts the stores in the order of their names, so that output does not depend
// on the file system.
// Session: the session, whose stores nothing refers to yet.
//

_Must_inspect_result_
static
NTSTATUS
SessionSortStores(
    _Inout_ PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_STORE *Sorted = NULL;
    ULONG CapacityOfSorted = 0;
    PULONG Order = NULL;
    ULONG CapacityOfOrder = 0;
    ULONG Index;
    NTSTATUS Status;

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Order,
                           &CapacityOfOrder,
                           Session->NumberOfStores,
                           sizeof(ULONG));
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Sorted,
                           &CapacityOfSorted,
                           Session->NumberOfStores,
                           sizeof(PREADER_STORE));
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order,
             Session->NumberOfStores,
             SessionCompareStoreNames,
             Session);

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        Sorted[Index] = Session->Stores[Order[Index]];
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {
        Session->Stores[Index] = Sorted[Index];
    }

    Status = SessionMapNames(Session);

End:
    Allocator->Free(Allocator->Context, Sorted);
    Allocator->Free(Allocator->Context, Order);
    return Status;
}


//
// Makes a pack the session's directory.
// Session: whose path is that of a file.
// STATUS_NOT_A_DIRECTORY: it is no pack, but perhaps a store.
//

_Must_inspect_result_
static
NTSTATUS
SessionEnterPack(
    _Inout_ PREADER_SESSION Session
    )
{
    NTSTATUS Status;

    Status = BaseOpenPack(Session->Context, &Session->Path, &Session->Pack);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NOT_SUPPORTED ? STATUS_NOT_A_DIRECTORY
                                              : Status;
    }

    Status = SessionEnterPackFolder(Session->Pack, &Session->Path);
    Session->DirectoryLength = Session->Path.Length;
    return NT_SUCCESS(Status) ? BaseListPack(Session->Pack,
                                             &Session->Path,
                                             SessionVisitEntry,
                                             Session)
                              : Status;
}


_Use_decl_annotations_
NTSTATUS
SessionOpenSessionOf(
    PREADER_SESSION Session,
    PCREADER_CONTEXT Context,
    PCWSTR Path,
    PCWSTR Process,
    BOOLEAN IsAllRuns,
    ULONG Boot,
    PRTL_ERROR Error
    )
{
    UNICODE_STRING Given;
    UNICODE_STRING Name;
    ULONG LengthInChars;
    NTSTATUS Status;

    RtlZeroBytes(Session, sizeof(*Session));
    Session->Context = Context;
    Session->ProcessSelection = Process;
    Session->IsByBoot = Boot != READER_NONE;
    Session->Boot = Boot;
    CoreInitializeClock(&Session->Clock);
    BaseInitializeMap(&Session->Names, Context->Allocator);
    BaseInitializeMap(&Session->SiteIndexes, Context->Allocator);

    LengthInChars = RtlLengthOfWideString(Path);
    if (LengthInChars > RTL_MAXIMUM_PATH_IN_CHARS) {
        return RtlSetError(Error,
                           "open the session",
                           NULL,
                           STATUS_NAME_TOO_LONG);
    }

    RtlPointUnicodeString(&Given, Path, LengthInChars);
    RtlPointUnicodeString(&Name, NULL, 0);

    Session->PathBuffer = (PWSTR)
        Context->Allocator->Allocate(Context->Allocator->Context,
                                     RTL_MAXIMUM_PATH_IN_CHARS *
                                         sizeof(WCHAR));
    if (Session->PathBuffer == NULL ||
        !NT_SUCCESS(SessionAddDirectory(Session, &Name))) {
        Status = RtlSetError(Error,
                             "open the session",
                             &Given,
                             STATUS_NO_MEMORY);
        goto Error;
    }

    Status = RtlDosPathToNtPath(Context->Rtl,
                                &Given,
                                Session->PathBuffer,
                                RTL_MAXIMUM_PATH_IN_CHARS,
                                &Session->Path);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, "open the session", &Given, Status);
        goto Error;
    }

    //
    // Path may have been given room to append by the length of the buffer
    // that it points into.
    //

    Session->Path.MaximumLength = (USHORT)
        ((RTL_MAXIMUM_PATH_IN_CHARS -
          (ULONG)(Session->Path.Buffer - Session->PathBuffer)) *
         sizeof(WCHAR));
    Session->DirectoryLength = Session->Path.Length;

    Status = RtlEnumerateDirectory(Context->Rtl,
                                   &Session->Path,
                                   SessionVisitEntry,
                                   Session);
    if (Status == STATUS_NOT_A_DIRECTORY) {
        Status = SessionEnterPack(Session);
    }

    if (NT_SUCCESS(Status)) {

        Session->IsDirectory = TRUE;
        if (Session->NumberOfStores == 0) {
            Status = SessionListDirectories(Session, SessionVisitEntry);
            if (!NT_SUCCESS(Status)) {
                RtlSetError(Error, "list the sessions", &Given, Status);
                goto Error;
            }
        }

        if (Session->NumberOfStores == 0) {
            Status = RtlSetError(Error,
                                 "find a store (*" TRACE_FILE_SUFFIX
                                     ") in the directory or in one below it",
                                 &Given,
                                 STATUS_NOT_FOUND);
            goto Error;
        }

    } else if (Status == STATUS_NOT_A_DIRECTORY) {

        RtlBaseName(&Session->Path, &Name);
        Status = SessionAddStore(Session, &Name);
        if (!NT_SUCCESS(Status)) {
            RtlSetError(Error, "open the store", &Given, Status);
            goto Error;
        }

    } else {
        RtlSetError(Error, "open the session", &Given, Status);
        goto Error;
    }

    Status = SessionSortStores(Session);
    if (NT_SUCCESS(Status) && Session->HasDirectories && !IsAllRuns) {
        Status = SessionLeaveOutRuns(Session);
    }

    if (NT_SUCCESS(Status)) {
        Status = SessionAdmitStores(Session, 0);
    }

    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error,
                    Session->IsOfSeveralBoots
                        ? "combine processes of different boots, which have no "
                          "common clock (name one session, or choose with "
                          "--process; TraceReader sessions lists them)"
                        : "read the session",
                    &Given,
                    Status);
        goto Error;
    }

    if (Session->NumberOfStores == 0) {
        Status = RtlSetError(Error,
                             "find a process that --process selects "
                             "(TraceReader sessions lists them)",
                             &Given,
                             STATUS_NOT_FOUND);
        goto Error;
    }

    return STATUS_SUCCESS;

Error:
    SessionCloseSession(Session);
    return Status;
}


_Use_decl_annotations_
NTSTATUS
SessionRefreshSession(
    PREADER_SESSION Session,
    PRTL_ERROR Error
    )
{
    ULONG FirstNew = Session->NumberOfStores;
    NTSTATUS Status;

    if (Session->IsDirectory) {
        Session->Path.Length = Session->DirectoryLength;
        if (Session->HasDirectories) {
            Status = SessionListDirectories(Session, SessionVisitEntry);
        } else {
            Status = SessionListDirectory(Session->Context,
                                          Session->Pack,
                                          &Session->Path,
                                          SessionVisitEntry,
                                          Session);
        }

        if (!NT_SUCCESS(Status)) {
            return RtlSetError(Error,
                               "list the session",
                               &Session->Path,
                               Status);
        }
    }

    Status = SessionAdmitStores(Session, FirstNew);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error, "read the session", &Session->Path, Status);
    }

    return STATUS_SUCCESS;
}


_Use_decl_annotations_
VOID
SessionCloseSession(
    PREADER_SESSION Session
    )
{
    PCREADER_CONTEXT Context = Session->Context;
    PCALLOCATOR Allocator = Context->Allocator;
    ULONG Index;

    for (Index = 0; Index < Session->NumberOfModules; Index++) {
        SymbolDestroySymbols(Session->Modules[Index]->Symbols);
        BaseRundownMap(&Session->Modules[Index]->Inlined);
        SessionCloseImports(Session->Context->Allocator,
                            Session->Modules[Index]);
        Allocator->Free(Allocator->Context, Session->Modules[Index]->OwnHeader);
        Allocator->Free(Allocator->Context, Session->Modules[Index]);
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        SessionRundownStore(Context, Store);
        Allocator->Free(Allocator->Context, Store);
    }

    SessionCloseControl(Session);
    BaseClosePack(Session->Pack);
    SessionRundownProcesses(Session);
    BaseRundownMap(&Session->Names);
    BaseRundownMap(&Session->SiteIndexes);
    Allocator->Free(Allocator->Context, Session->Sites);
    Allocator->Free(Allocator->Context, Session->Modules);
    Allocator->Free(Allocator->Context, Session->Stores);
    Allocator->Free(Allocator->Context, Session->Threads);
    Allocator->Free(Allocator->Context, Session->PathBuffer);
    RtlZeroBytes(Session, sizeof(*Session));
    Session->Context = Context;
}
