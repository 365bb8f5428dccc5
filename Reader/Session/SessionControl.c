/*++

Module Name:

    SessionControl.c

Abstract:

    The control files of a session's processes, as far as reading goes: the
    actions in the order of time, and what they mean for what was recorded.
    CoreControl.c validates them.

    A process without the file is one that nobody steered; a file that is
    damaged is said to be, and counts for nothing.

--*/

#include "../Base/BaseOptions.h"
#include "SessionControl.h"
#include "SessionExit.h"
#include "SessionProcess.h"
#include "SessionSource.h"

#define READER_CONTROL_MULTIPLIER 0x9E3779B97F4A7C15ULL

//
// So many places are read at once.
//

#define READER_CONTROL_PLACES 2048u


//
// Orders actions by time, then by their places.
// First, Second: indexes.
// Returns negative, zero or positive.
//

static
LONG
SessionCompareActions(
    _In_ PVOID CompareContext,
    _In_ ULONG First,
    _In_ ULONG Second
    )
{
    PCTRACE_CONTROL_ACTION Actions = (PCTRACE_CONTROL_ACTION)CompareContext;

    if (Actions[First].Timestamp != Actions[Second].Timestamp) {
        return Actions[First].Timestamp < Actions[Second].Timestamp ? -1 : 1;
    }

    return First < Second ? -1 : First > Second;
}


//
// Puts actions in the order of time.
// Allocator: where they are.
// Actions: the actions; receives where they are now.
// Count: how many there are, not 0.
//

_Must_inspect_result_
static
NTSTATUS
SessionSortActions(
    _In_ PCALLOCATOR Allocator,
    _Inout_updates_(Count) PTRACE_CONTROL_ACTION *Actions,
    _In_ ULONG Count
    )
{
    PTRACE_CONTROL_ACTION Sorted;
    PULONG Order;
    ULONG Index;
    BOOLEAN IsSorted = TRUE;

    for (Index = 1; Index < Count; Index++) {
        if ((*Actions)[Index - 1].Timestamp > (*Actions)[Index].Timestamp) {
            IsSorted = FALSE;
        }
    }

    if (IsSorted) {
        return STATUS_SUCCESS;
    }

    Sorted = (PTRACE_CONTROL_ACTION)
        Allocator->Allocate(Allocator->Context,
                            (SIZE_T)Count * sizeof(TRACE_CONTROL_ACTION));
    Order = (PULONG)Allocator->Allocate(Allocator->Context,
                                        (SIZE_T)Count * sizeof(ULONG));
    if (Sorted == NULL || Order == NULL) {
        Allocator->Free(Allocator->Context, Sorted);
        Allocator->Free(Allocator->Context, Order);
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Count; Index++) {
        Order[Index] = Index;
    }

    BaseSort(Order, Count, SessionCompareActions, *Actions);
    for (Index = 0; Index < Count; Index++) {
        Sorted[Index] = (*Actions)[Order[Index]];
    }

    Allocator->Free(Allocator->Context, Order);
    Allocator->Free(Allocator->Context, *Actions);
    *Actions = Sorted;
    return STATUS_SUCCESS;
}


//
// Forgets what a control file said.
// Allocator: where that is.
//

static
VOID
SessionForgetActions(
    _In_ PCALLOCATOR Allocator,
    _Inout_ PREADER_CONTROL Control
    )
{
    Allocator->Free(Allocator->Context, Control->OldActions);
    Allocator->Free(Allocator->Context, Control->Pauses);
    Allocator->Free(Allocator->Context, Control->Orders);
    Control->OldActions = Control->Actions;
    Control->Actions = NULL;
    Control->Pauses = NULL;
    Control->Orders = NULL;
    Control->NumberOfOrders = 0;
    Control->NumberOfActions = 0;
    Control->NumberOfPauses = 0;
    Control->ClearTimestamp = 0;
    Control->PauseHash = 0;
}


//
// Reads the actions, in the order of their places. There is memory for those
// that are there, not for those that the file speaks of.
// Control: the actions, and how many there are.
// File: the control file, valid.
// NumberOfPlaces: how many places may have an action.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadActions(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_CONTROL Control,
    _Inout_ PREADER_SOURCE File,
    _In_ ULONG NumberOfPlaces
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PTRACE_CONTROL_ACTION Buffer;
    ULONG Capacity = 0;
    ULONG First;
    ULONG Number;
    ULONG Index;
    ULONG ReadInBytes;
    NTSTATUS Status = STATUS_SUCCESS;

    Buffer = (PTRACE_CONTROL_ACTION)
        Allocator->Allocate(Allocator->Context,
                            READER_CONTROL_PLACES *
                                sizeof(TRACE_CONTROL_ACTION));
    if (Buffer == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (First = 0; First < NumberOfPlaces; First += Number) {

        Number = NumberOfPlaces - First;
        if (Number > READER_CONTROL_PLACES) {
            Number = READER_CONTROL_PLACES;
        }

        Status = SessionReadSource(File,
                                   TRACE_CONTROL_HEADER_SIZE +
                                       (ULONGLONG)First *
                                           sizeof(TRACE_CONTROL_ACTION),
                                   Buffer,
                                   Number * sizeof(TRACE_CONTROL_ACTION),
                                   &ReadInBytes);
        if (Status == STATUS_END_OF_FILE) {
            Status = STATUS_SUCCESS;
            break;
        }

        Number = ReadInBytes / sizeof(TRACE_CONTROL_ACTION);
        if (!NT_SUCCESS(Status) || Number == 0) {
            break;
        }

        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Control->Actions,
                               &Capacity,
                               Control->NumberOfActions + Number,
                               sizeof(TRACE_CONTROL_ACTION));
        if (!NT_SUCCESS(Status)) {
            break;
        }

        for (Index = 0; Index < Number; Index++) {
            if (CoreValidateAction(&Buffer[Index])) {
                Buffer[Index].Reserved = First + Index;
                Control->Actions[Control->NumberOfActions] = Buffer[Index];
                Control->NumberOfActions += 1;
            }
        }
    }

    Allocator->Free(Allocator->Context, Buffer);
    return Status;
}


//
// Reads the actions and finds what they mean.
// Control: them; what it knew is forgotten.
// File: the control file, valid.
// NumberOfPlaces: how many places may have an action.
//

_Must_inspect_result_
static
NTSTATUS
SessionTakeActions(
    _In_ const READER_SESSION *Session,
    _Inout_ PREADER_CONTROL Control,
    _Inout_ PREADER_SOURCE File,
    _In_ ULONG NumberOfPlaces
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PCTRACE_CONTROL_ACTION Actions;
    ULONGLONG Hash = 0;
    ULONG NumberOfStops = 0;
    ULONG NumberOfOrders = 0;
    ULONG Count;
    ULONG Index;
    NTSTATUS Status;

    if (NumberOfPlaces == 0) {
        return STATUS_SUCCESS;
    }

    Status = SessionReadActions(Session, Control, File, NumberOfPlaces);
    Count = Control->NumberOfActions;
    if (!NT_SUCCESS(Status) || Count == 0) {
        return Status;
    }

    Status = SessionSortActions(Allocator, &Control->Actions, Count);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Actions = Control->Actions;
    for (Index = 0; Index < Count; Index++) {
        NumberOfOrders += Actions[Index].Kind != TRACE_ACTION_MARK;
        NumberOfStops += Actions[Index].Kind == TRACE_ACTION_STOP;
    }

    Control->Orders = (PULONG)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)NumberOfOrders + 1) * sizeof(ULONG));
    Control->Pauses = (PCORE_PAUSE)
        Allocator->Allocate(Allocator->Context,
                            ((SIZE_T)NumberOfStops + 1) * sizeof(CORE_PAUSE));
    if (Control->Orders == NULL || Control->Pauses == NULL) {
        return STATUS_NO_MEMORY;
    }

    for (Index = 0; Index < Count; Index++) {
        if (Actions[Index].Kind != TRACE_ACTION_MARK) {
            Control->Orders[Control->NumberOfOrders] = Index;
            Control->NumberOfOrders += 1;
        }
    }

    //
    // Without a clock nothing is before or after an action.
    //

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        return STATUS_SUCCESS;
    }

    for (Index = 0; Index < Count; Index++) {
        if (Actions[Index].Kind == TRACE_ACTION_CLEAR) {
            Control->ClearTimestamp = Actions[Index].Timestamp;
        }
    }

    Control->NumberOfPauses = CoreFindPauses(Actions, Count, Control->Pauses);
    for (Index = 0; Index < Control->NumberOfPauses; Index++) {
        Hash = (Hash ^ Control->Pauses[Index].Stop) *
               READER_CONTROL_MULTIPLIER;
        Hash = (Hash ^ (Hash >> 29) ^ Control->Pauses[Index].Start) *
               READER_CONTROL_MULTIPLIER;
    }

    if (Control->NumberOfPauses != 0) {
        Control->PauseHash = (ULONG)(Hash >> 32) | 1;
    }

    return STATUS_SUCCESS;
}


//
// Reads a process's control file, if it has one and something in it is new.
// Process: the process's index.
// IsNew: set if the actions are others now.
// STATUS_SUCCESS: also if there is none, or it cannot be read: the process's
// Control says so.
//

_Must_inspect_result_
static
NTSTATUS
SessionReadProcessControl(
    _Inout_ PREADER_SESSION Session,
    _In_ ULONG Process,
    _Inout_ PBOOLEAN IsNew
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PREADER_CONTROL Control = READER_CONTROL_OF(Session, Process);
    PCTRACE_STORE_HEADER Owner = Session->Processes[Process].Header;
    TRACE_CONTROL Header;
    UNICODE_STRING NtPath;
    ULONGLONG FileSize;
    READER_SOURCE File;
    ULONG NumberBefore = Control->Result.NumberOfActions;
    ULONG ReadInBytes;
    NTSTATUS Status;

    Status = SessionNameProcessFile(Session,
                                    Process,
                                    L"" TRACE_CONTROL_FILE_NAME,
                                    RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1,
                                    &NtPath);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
    }

    Status = SessionOpenSource(Session->Context,
                               Session->Pack,
                               &NtPath,
                               &File);
    Allocator->Free(Allocator->Context, NtPath.Buffer);
    if (!NT_SUCCESS(Status)) {
        Control->Status = Status;
        Control->IsThere = Status != STATUS_OBJECT_NAME_NOT_FOUND &&
                           Status != STATUS_OBJECT_PATH_NOT_FOUND;
        return STATUS_SUCCESS;
    }

    Control->IsThere = TRUE;
    RtlZeroBytes(&Header, sizeof(Header));

    //
    // The size comes last: the file grows before a place is claimed.
    //

    Status = SessionReadSource(&File,
                               0,
                               &Header,
                               sizeof(Header),
                               &ReadInBytes);
    if (Status == STATUS_END_OF_FILE) {
        Status = STATUS_SUCCESS;
    }
    if (NT_SUCCESS(Status)) {
        Status = SessionQuerySource(&File, &FileSize);
    }

    if (NT_SUCCESS(Status)) {

        CoreValidateControl(&Header,
                            FileSize,
                            Owner->ProcessId,
                            Owner->ProcessCreationTime,
                            &Control->Result);

        //
        // A place that had none may have an action by now.
        //

        if (Control->Result.NumberOfActions != NumberBefore ||
            Control->NumberOfActions != NumberBefore) {
            *IsNew = TRUE;
            SessionForgetActions(Allocator, Control);
            Status = SessionTakeActions(Session,
                                        Control,
                                        &File,
                                        Control->Result.NumberOfActions);
            if (!NT_SUCCESS(Status)) {
                SessionForgetActions(Allocator, Control);
            }
        }
    }

    SessionCloseSource(&File);
    Control->Status = Status;
    return Status == STATUS_NO_MEMORY ? Status : STATUS_SUCCESS;
}


//
// Puts the actions of all processes into one list.
//

_Must_inspect_result_
static
NTSTATUS
SessionMergeActions(
    _Inout_ PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    PCREADER_CONTROL Control;
    PCTRACE_CONTROL_ACTION Next;
    PCTRACE_CONTROL_ACTION Best;
    PULONG Taken = NULL;
    ULONG CapacityOfTaken = 0;
    ULONG Count = 0;
    ULONG Owner = 0;
    ULONG Index;
    ULONG Process;
    NTSTATUS Status;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {
        Count += READER_CONTROL_OF(Session, Process)->NumberOfActions;
    }

    Session->NumberOfActions = 0;
    if (Count == 0) {
        return STATUS_SUCCESS;
    }

    Status = BaseGrowArray(Allocator,
                           (PVOID *)&Session->Actions,
                           &Session->CapacityOfActions,
                           Count,
                           sizeof(READER_ACTION));
    if (NT_SUCCESS(Status)) {
        Status = BaseGrowArray(Allocator,
                               (PVOID *)&Taken,
                               &CapacityOfTaken,
                               Session->NumberOfProcesses,
                               sizeof(ULONG));
    }

    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    for (Index = 0; Index < Count; Index++) {

        Best = NULL;
        for (Process = 0; Process < Session->NumberOfProcesses; Process++) {

            Control = READER_CONTROL_OF(Session, Process);
            if (Taken[Process] == Control->NumberOfActions) {
                continue;
            }

            Next = &Control->Actions[Taken[Process]];
            if (Best == NULL || Next->Timestamp < Best->Timestamp) {
                Best = Next;
                Owner = Process;
            }
        }

        Session->Actions[Index].Action = Best;
        Session->Actions[Index].Process = Owner;
        Taken[Owner] += 1;
    }

    Session->NumberOfActions = Count;
    Allocator->Free(Allocator->Context, Taken);
    return STATUS_SUCCESS;
}


//
// Notes which processes have come to close a store because they ended.
//

static
VOID
SessionNoteEnds(
    _Inout_ PREADER_SESSION Session
    )
{
    ULONG Index;
    ULONG Process;

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PCREADER_STORE Store = Session->Stores[Index];

        if (Store->Thread != READER_NONE &&
            Store->Header->State == TRACE_STATE_CLOSED &&
            Store->Header->Reason == TRACE_REASON_PROCESS_EXIT) {

            Process = READER_PROCESS_OF_STORE(Session, Store);
            if (Process != READER_NONE) {
                Session->Processes[Process].HasClosed = TRUE;
            }
        }
    }
}


_Use_decl_annotations_
NTSTATUS
SessionReadControl(
    PREADER_SESSION Session
    )
{
    BOOLEAN IsNew = FALSE;
    ULONG Process;
    NTSTATUS Status = STATUS_SUCCESS;

    SessionNoteEnds(Session);

    for (Process = 0;
         Process < Session->NumberOfProcesses && NT_SUCCESS(Status);
         Process++) {
        Status = SessionReadProcessControl(Session, Process, &IsNew);
        if (!Session->Processes[Process].IsExitKnown) {
            SessionReadExit(Session, Process);
        }
    }

    if (IsNew) {
        Session->NumberOfActions = 0;
        if (NT_SUCCESS(Status)) {
            Status = SessionMergeActions(Session);
        }
    }

    return Status;
}


_Use_decl_annotations_
VOID
SessionCloseControl(
    PREADER_SESSION Session
    )
{
    PCALLOCATOR Allocator = Session->Context->Allocator;
    ULONG Process;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {
        SessionForgetActions(Allocator, READER_CONTROL_OF(Session, Process));
        SessionForgetActions(Allocator, READER_CONTROL_OF(Session, Process));
    }

    Allocator->Free(Allocator->Context, Session->Actions);
    Session->Actions = NULL;
    Session->NumberOfActions = 0;
    Session->CapacityOfActions = 0;
}


_Use_decl_annotations_
VOID
SessionWarnOfControl(
    PREADER_SESSION Session
    )
{
    PRTL_WRITER Errors = Session->Context->Errors;
    PREADER_CONTROL Control;
    ULONG Process;

    for (Process = 0; Process < Session->NumberOfProcesses; Process++) {

        Control = READER_CONTROL_OF(Session, Process);
        if (Control->IsWarned || !Control->IsThere ||
            (NT_SUCCESS(Control->Status) &&
             Control->Result.State != CoreControlBad &&
             Control->Result.NumberLeftOut == 0 &&
             Control->Result.NumberRefused == 0)) {
            continue;
        }

        Control->IsWarned = TRUE;
        RtlWriteText(Errors, "TraceReader: warning: ");
        if (Session->NumberOfProcesses > 1) {
            SessionWriteProcess(Errors, Session, Process);
            RtlWriteText(Errors, ": ");
        }

        RtlWriteText(Errors, TRACE_CONTROL_FILE_NAME ": it ");
        if (!NT_SUCCESS(Control->Status)) {
            RtlWriteText(Errors,
                         "cannot be read (0x%08X) and is ignored\n",
                         (ULONG)Control->Status);
        } else if (Control->Result.State == CoreControlBad) {
            RtlWriteText(Errors, "%s; ignored\n", Control->Result.Problem);
        } else if (Control->Result.NumberLeftOut != 0) {
            RtlWriteText(Errors,
                         "has %u more actions than are read\n",
                         Control->Result.NumberLeftOut);
        } else {
            RtlWriteText(Errors,
                         "has no place for %llu marks or requests of the "
                         "program, which are left out\n",
                         Control->Result.NumberRefused);
        }
    }

    RtlFlushWriter(Errors);
}


_Use_decl_annotations_
ULONG
SessionControlFindPause(
    PCREADER_CONTROL Control,
    ULONGLONG Timestamp
    )
{
    ULONG Low = 0;
    ULONG High = Control->NumberOfPauses;
    ULONG Middle;

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (Control->Pauses[Middle].Start > Timestamp) {
            High = Middle;
        } else {
            Low = Middle + 1;
        }
    }

    return Low;
}


_Use_decl_annotations_
PCSZ
SessionControlDescribeAction(
    ULONG Kind
    )
{
    static const PCSZ Names[] = {
        "none", "start", "stop", "clear", "mark", "name"
    };

    return Kind < RTL_NUMBER_OF(Names) ? Names[Kind] : "unknown";
}


_Use_decl_annotations_
ULONG
SessionFirstInstant(
    const READER_SESSION *Session,
    ULONGLONG Timestamp
    )
{
    ULONG Low = 0;
    ULONG High = Session->NumberOfActions;
    ULONG Middle;

    if (Session->Clock.Kind == TRACE_CLOCK_NONE) {
        return Session->NumberOfActions;
    }

    while (Low < High) {
        Middle = Low + (High - Low) / 2;
        if (Session->Actions[Middle].Action->Timestamp < Timestamp) {
            Low = Middle + 1;
        } else {
            High = Middle;
        }
    }

    return Low;
}


_Use_decl_annotations_
PCREADER_ACTION
SessionControlFindInstant(
    const READER_SESSION *Session,
    PCREADER_OPTIONS Options,
    PULONG Index,
    ULONGLONG Timestamp
    )
{
    for (; *Index < Session->NumberOfActions; *Index += 1) {

        PCTRACE_CONTROL_ACTION Action = Session->Actions[*Index].Action;

        if (Action->Timestamp > Timestamp) {
            return NULL;
        }

        if (Action->Kind != TRACE_ACTION_NAME &&
            (Action->ThreadId == 0 ||
             READER_IS_THREAD_SELECTED(Options, Action->ThreadId)) &&
            (Session->NumberOfProcesses == 1 ||
             Action->Timestamp >=
                 READER_CLEAR_OF(Session, Session->Actions[*Index].Process))) {
            return &Session->Actions[*Index];
        }
    }

    return NULL;
}


_Use_decl_annotations_
const CHAR *
SessionControlNameInstant(
    PCTRACE_CONTROL_ACTION Action,
    PULONG LengthInBytes
    )
{
    PCSZ Name;

    switch (Action->Kind) {

    case TRACE_ACTION_MARK:
        *LengthInBytes = Action->TextLength;
        return Action->Text;

    case TRACE_ACTION_START:
        Name = "recording started";
        break;

    case TRACE_ACTION_STOP:
        Name = "recording stopped";
        break;

    default:
        Name = "cleared";
        break;
    }

    *LengthInBytes = RtlLengthOfString(Name);
    return Name;
}


_Use_decl_annotations_
VOID
SessionQueryThreadName(
    const READER_SESSION *Session,
    ULONG ThreadIndex,
    const CHAR **Name,
    PULONG LengthInBytes
    )
{
    const READER_THREAD *Thread = &Session->Threads[ThreadIndex];
    PCREADER_CONTROL Control = READER_CONTROL_OF(Session, Thread->Process);
    ULONGLONG After = 0;
    ULONG StoreIndex;
    ULONG Index;

    *Name = "";
    *LengthInBytes = 0;
    for (StoreIndex = Thread->FirstStore;
         StoreIndex != READER_NONE;
         StoreIndex = Session->Stores[StoreIndex]->NextInThread) {

        PCTRACE_STORE_HEADER Header = Session->Stores[StoreIndex]->Header;

        if (Header->ThreadNameLength != 0) {
            *Name = Header->ThreadName;
            *LengthInBytes = Header->ThreadNameLength;
            return;
        }
    }

    if (Control->NumberOfOrders == 0) {
        return;
    }

    //
    // An identifier is used again when its thread has ended.
    //

    for (Index = 0; Index < ThreadIndex; Index++) {
        if (Session->Threads[Index].ThreadId == Thread->ThreadId &&
            Session->Threads[Index].Process == Thread->Process &&
            Session->Threads[Index].EndTimestamp > After &&
            Session->Threads[Index].EndTimestamp < Thread->FirstTimestamp) {
            After = Session->Threads[Index].EndTimestamp;
        }
    }

    for (Index = Control->NumberOfOrders; Index != 0; Index--) {

        PCTRACE_CONTROL_ACTION Action =
            &Control->Actions[Control->Orders[Index - 1]];

        if (Action->Kind == TRACE_ACTION_NAME &&
            Action->ThreadId == Thread->ThreadId &&
            Action->Timestamp > After &&
            (Thread->IsToTheEnd || Action->Timestamp <= Thread->EndTimestamp ||
             Session->Clock.Kind == TRACE_CLOCK_NONE)) {
            *Name = Action->Text;
            *LengthInBytes = Action->TextLength;
            return;
        }
    }
}
