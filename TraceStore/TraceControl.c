/*++

Module Name:

    TraceControl.c

Abstract:

    The control file of a session: how recording is stopped, started and cleared
    while the program runs, from outside and by the program itself.

    The file is a log of actions (TraceFormat.h).  Every module instance maps it
    and looks for new ones: its worker every TRACE_CONTROL_INTERVAL, a traced
    thread whenever it is on the slow path, and a thread of the program that has
    just appended one.  Looking takes no lock; whoever finds something says so
    to every store of the instance.

    A store is changed by its owner alone.  So that the owner comes by, Limit in
    its header becomes 0: the next hook finds no room and takes the slow path.
    The hook of a store that is paused does not take it, as TRACE_HOOK_STOPPED
    tells it; that bit is taken away until the owner has been there.

    No request is lost.  Attention is set first, then Limit, under the store's
    work lock.  The owner takes Attention back under the same lock, before it
    reads how many actions there are; and it sets Limit under that lock too, and
    looks at Attention again before it leaves the slow path.  Whoever finds the
    lock taken leaves Limit to the owner, if that is who has it, and in any case
    to the worker's next look.

    An action carries the time at which it was asked for.  A thread that comes
    by later carries out all that it has missed, in order, with those times.

    The file is anybody's to write: it is never believed where it says how large
    it is, and read and written under __try, since it may be cut while it is
    mapped, and its disk may be full.

--*/

#include "TraceStore.h"

#define TEB_THREAD_ID   0x48

C_ASSERT(sizeof(((PTRACE_CONTROL_ACTION)0)->Text) <=
         sizeof(((PTRACE_STORE_HEADER)0)->ThreadName));

typedef struct _TRACE_THREAD_TIMES {
    LARGE_INTEGER CreateTime;
    LARGE_INTEGER ExitTime;
    LARGE_INTEGER KernelTime;
    LARGE_INTEGER UserTime;
} TRACE_THREAD_TIMES;
typedef TRACE_THREAD_TIMES *PTRACE_THREAD_TIMES;

static
PTRACE_CONTROL_ACTION
TraceControlAction(
    _In_ PTRACE_CONTROL Control,
    _In_ ULONG Index
    )
/*++

Routine Description:

    Finds an action's place.

Arguments:

    Control - Supplies the control file.

    Index - Supplies the action's number, less than the capacity.

Return Value:

    The place.

--*/
{
    return (PTRACE_CONTROL_ACTION)((PBYTE)Control + TRACE_CONTROL_HEADER_SIZE) +
           Index;
}

static
VOID
TraceControlRaise(
    _Inout_ LONG volatile *Number,
    _In_ ULONG Value
    )
/*++

Routine Description:

    Raises a number that never falls.

Arguments:

    Number - Supplies the number.

    Value - Supplies what it is to be at least.

Return Value:

    None.

--*/
{
    LONG Old;

    for (Old = *Number;
         (ULONG)Old < Value;
         Old = *Number) {

        if (InterlockedCompareExchange(Number, (LONG)Value, Old) == Old) {
            break;
        }
    }
}

static
VOID
TraceControlFail(
    _Inout_ PTRACE_SESSION Session,
    _In_z_ PCSZ Step,
    _In_ NTSTATUS Status
    )
/*++

Routine Description:

    Gives the control file up, and says so once.

Arguments:

    Session - Supplies the session.

    Step - Supplies what failed.

    Status - Supplies the status of that.

Return Value:

    None.

--*/
{
    RTL_ERROR Error;
    UNICODE_STRING Name;

    if (InterlockedExchange(&Session->ControlFailed, 1) != 0) {
        return;
    }

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    RtlSetError(&Error, Step, &Name, Status);
    TraceLogError(Session, &Error, "the session cannot be controlled");
}

static
NTSTATUS
TraceControlCreateFile(
    _In_ PTRACE_SESSION Session,
    _In_ HANDLE Directory,
    _Out_ PHANDLE File
    )
/*++

Routine Description:

    Creates the control file, or opens the one that another module instance has
    made.

Arguments:

    Session - Supplies the session.

    Directory - Supplies the session directory.

    File - Receives the handle.

Return Value:

    STATUS_SUCCESS or NtCreateFile's status.

--*/
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING Name;

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    InitializeObjectAttributes(&Attributes,
                               &Name,
                               OBJ_CASE_INSENSITIVE,
                               Directory,
                               NULL);

    return Session->Rtl.NtCreateFile(File,
                                     GENERIC_READ | GENERIC_WRITE | SYNCHRONIZE,
                                     &Attributes,
                                     &IoStatus,
                                     NULL,
                                     FILE_ATTRIBUTE_NORMAL,
                                     FILE_SHARE_READ | FILE_SHARE_WRITE |
                                     FILE_SHARE_DELETE,
                                     FILE_OPEN_IF,
                                     FILE_NON_DIRECTORY_FILE |
                                     FILE_SYNCHRONOUS_IO_NONALERT,
                                     NULL,
                                     0);
}

static
NTSTATUS
TraceControlFillHeader(
    _In_ PTRACE_SESSION Session,
    _Inout_ PTRACE_CONTROL Control,
    _In_ ULONG Capacity,
    _Out_ PULONG Instance
    )
/*++

Routine Description:

    Fills the header of the control file and enters the module instance in it.
    Instances that do this at the same time write the same.

Arguments:

    Session - Supplies the session.

    Control - Supplies the control file.

    Capacity - Supplies how many actions it has room for.

    Instance - Receives the place of the module instance;
        TRACE_CONTROL_INSTANCES if there is none left.

Return Value:

    STATUS_SUCCESS; STATUS_FILE_INVALID if it is the file of another process;
    or the exception that writing to it raised.

--*/
{
    LONGLONG volatile *Base;
    NTSTATUS Status;
    PTRACE_STORE_HEADER Template;
    ULONG Index;
    ULONGLONG Found;

    Template = Session->Template;
    Status = STATUS_SUCCESS;
    Index = 0;

    __try {

        if (Control->Magic == 0) {
            Control->MajorVersion = TRACE_FORMAT_MAJOR;
            Control->MinorVersion = TRACE_FORMAT_MINOR;
            Control->ProcessId = Template->ProcessId;
            Control->ProcessCreationTime = Template->ProcessCreationTime;
            Control->Capacity = Capacity;
            RtlStoreRelease64(&Control->Magic, TRACE_CONTROL_MAGIC);
        }

        if (Control->Magic != TRACE_CONTROL_MAGIC ||
            Control->MajorVersion != TRACE_FORMAT_MAJOR ||
            Control->ProcessId != Template->ProcessId ||
            Control->ProcessCreationTime != Template->ProcessCreationTime) {

            Status = STATUS_FILE_INVALID;

        } else {

            //
            // An instance that was not unloaded in good order left its entry.
            //

            for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index += 1) {
                Base = (LONGLONG volatile *)
                    &Control->Instances[Index].ModuleBase;
                Found = (ULONGLONG)InterlockedCompareExchange64(
                    Base,
                    (LONGLONG)(ULONG_PTR)Session->ModuleBase,
                    0);
                if (Found == 0 ||
                    Found == (ULONG_PTR)Session->ModuleBase) {

                    Control->Instances[Index].NumberSeen = 0;
                    Control->Instances[Index].State = TRACE_ACTION_START;
                    break;
                }
            }
        }

    } __except (Status = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Index = 0;
    }

    *Instance = Index;
    return Status;
}

static
VOID
TraceControlStartWorker(
    _Inout_ PTRACE_SESSION Session
    )
/*++

Routine Description:

    Starts the worker, unless it runs already.

Arguments:

    Session - Supplies the session.

Return Value:

    None.

--*/
{
    //
    // A worker that cannot tell when the program's last thread ends would keep
    // the process, and is not started for this.
    //

    if (Session->Worker.State != TRACE_WORKER_NONE ||
        TraceWatchIsPossible(&Session->Rtl)) {

        TraceWorkerRequest(Session);
    }
}

_Use_decl_annotations_
VOID
TraceControlOpen(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Makes and maps the control file, unless that has been done, or the user
    wants none.  The worker begins to look at it.

Arguments:

    Session - Supplies the session.

Return Value:

    None.  Without a control file everything else goes on.

--*/
{
    HANDLE Directory;
    HANDLE File;
    HANDLE Section;
    NTSTATUS Status;
    PCSZ Step;
    PVOID Base;
    RTL_ERROR Error;
    ULONG Instance;
    ULONGLONG Size;

    if (Session->Control != NULL ||
        Session->ControlSize == 0 ||
        Session->ControlFailed) {

        return;
    }

    if (!NT_SUCCESS(TraceSessionOpenDirectory(Session, &Directory, &Error))) {
        return;
    }

    Base = NULL;
    Step = "creating the control file";
    Status = TraceControlCreateFile(Session, Directory, &File);
    if (!NT_SUCCESS(Status)) {
        goto End;
    }

    //
    // What another instance has made stays as large as it is: it is mapped.
    //

    Step = "extending the control file";
    Status = RtlQueryFileSize(&Session->Rtl, File, &Size);
    if (NT_SUCCESS(Status) && Size < TRACE_CONTROL_LEAST) {
        Size = Session->ControlSize;
        Status = RtlSetFileSize(&Session->Rtl, File, Size);
    }
    if (Size > TRACE_CONTROL_MOST) {
        Size = TRACE_CONTROL_MOST;
    }
    if (NT_SUCCESS(Status)) {
        Step = "mapping the control file";
        Status = RtlCreateFileSection(&Session->Rtl,
                                      File,
                                      Size,
                                      TRUE,
                                      &Section);
    }
    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(&Session->Rtl,
                                   Section,
                                   0,
                                   (SIZE_T)Size,
                                   TRUE,
                                   NULL,
                                   &Base);
        if (!NT_SUCCESS(Status)) {
            Base = NULL;
        }
        RtlClose(&Session->Rtl, Section);
    }
    RtlClose(&Session->Rtl, File);

    if (NT_SUCCESS(Status)) {
        Step = "writing the control file";
        Status = TraceControlFillHeader(
            Session,
            (PTRACE_CONTROL)Base,
            (ULONG)((Size - TRACE_CONTROL_HEADER_SIZE) /
                    TRACE_CONTROL_ACTION_SIZE),
            &Instance);
    }

End:

    if (!NT_SUCCESS(Status)) {
        RtlUnmapFileSection(&Session->Rtl, Base);
        TraceControlFail(Session, Step, Status);
        return;
    }

    //
    // Threads that came together have written the same.
    //

    Session->ControlInstance = Instance;
    Session->ControlCapacity =
        (ULONG)((Size - TRACE_CONTROL_HEADER_SIZE) /
                TRACE_CONTROL_ACTION_SIZE);
    if (InterlockedCompareExchangePointer((PVOID volatile *)&Session->Control,
                                          Base,
                                          NULL) != NULL) {

        RtlUnmapFileSection(&Session->Rtl, Base);
        return;
    }

    //
    // A store of records makes the worker start when it leaves its first view;
    // one of a tree never does, and is there to be looked at for days.
    //

    if (Session->Template->Mode == TRACE_MODE_TREE) {
        TraceControlStartWorker(Session);
    }
}

_Use_decl_annotations_
VOID
TraceControlClose(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Takes the module instance out of the control file and unmaps it.

Arguments:

    Session - Supplies the session, which nobody uses any more.

Return Value:

    None.

--*/
{
    PTRACE_CONTROL Control;

    Control = Session->Control;
    if (Control == NULL) {
        return;
    }

    Session->Control = NULL;
    __try {
        if (Session->ControlInstance < TRACE_CONTROL_INSTANCES) {
            Control->Instances[Session->ControlInstance].ModuleBase = 0;
        }
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        Session->ControlFailed = 1;
    }
    RtlUnmapFileSection(&Session->Rtl, Control);
}

static
BOOLEAN
TraceControlLook(
    _Inout_ PTRACE_SESSION Session,
    _Inout_ PULONG Seen,
    _Out_ PULONG Claimed,
    _Inout_ PULONG State
    )
/*++

Routine Description:

    Looks how many actions there are.

Arguments:

    Session - Supplies the session.

    Seen - Supplies how many were seen; receives how many there are without one
        missing.

    Claimed - Receives how many places have been claimed.

    State - Receives TRACE_ACTION_START or TRACE_ACTION_STOP if there is a new
        one.

Return Value:

    FALSE if the file cannot be read.

--*/
{
    BOOLEAN IsRead;
    ULONG Count;
    ULONG Index;
    ULONG Kind;

    IsRead = TRUE;
    Count = 0;
    Index = *Seen;

    __try {

        Count = *(ULONG volatile *)&Session->Control->NumberClaimed;
        if (Count > Session->ControlCapacity) {
            Count = Session->ControlCapacity;
        }

        while (Index < Count) {
            Kind = *(ULONG volatile *)
                &TraceControlAction(Session->Control, Index)->Kind;
            if (Kind == TRACE_ACTION_NONE) {
                break;
            }
            if (Kind == TRACE_ACTION_START || Kind == TRACE_ACTION_STOP) {
                *State = Kind;
            }
            Index += 1;
        }

    } __except (EXCEPTION_EXECUTE_HANDLER) {
        IsRead = FALSE;
    }

    *Claimed = Count;
    *Seen = Index;
    return IsRead;
}

static
VOID
TraceControlAnswer(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Seen,
    _In_ ULONG State
    )
/*++

Routine Description:

    Says in the control file how many actions this instance has seen.

Arguments:

    Session - Supplies the session.

    Seen - Supplies how many.

    State - Supplies TRACE_ACTION_START or TRACE_ACTION_STOP, or 0 if that is
        what it was.

Return Value:

    None.

--*/
{
    TRACE_CONTROL_INSTANCE *Instance;

    if (Session->ControlInstance >= TRACE_CONTROL_INSTANCES) {
        return;
    }

    Instance = &Session->Control->Instances[Session->ControlInstance];
    __try {
        if (State != 0 && Instance->NumberSeen < Seen) {
            Instance->State = State;
        }
        TraceControlRaise((LONG volatile *)&Instance->NumberSeen, Seen);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        Session->ControlFailed = 1;
    }
}

static
VOID
TraceControlNotify(
    _Inout_ PTRACE_SESSION Session,
    _In_ ULONG Seen
    )
/*++

Routine Description:

    Makes the owner of every store come by.

Arguments:

    Session - Supplies the session.

    Seen - Supplies how many actions there are.

Return Value:

    None.

--*/
{
    PTRACE_STORE Store;
    PTRACE_STORE_BLOCK Block;
    PTRACE_STORE_HEADER Header;
    ULONG Index;

    for (Block = Session->Blocks; Block != NULL; Block = Block->Next) {
        for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {

            Store = &Block->Stores[Index];
            if (Store->Use != TRACE_STORE_USED) {
                continue;
            }

            InterlockedExchange(&Store->Attention, 1);
            if (!TraceStoreTryAcquireWorkLock(Store)) {
                Session->ControlAgain = 1;
                continue;
            }

            //
            // While the lock is held and the store is used, it is mapped.
            //

            if (Store->Use == TRACE_STORE_USED) {
                Header = Store->Header;
                if (Header->State != TRACE_STATE_STOPPED &&
                    Header->NumberOfActions < Seen) {

                    RtlStoreRelease64(&Header->Limit, 0);
                    if ((Header->HookFlags & TRACE_HOOK_PAUSED) != 0) {
                        RtlStoreRelease32(&Header->HookFlags,
                                          Header->HookFlags &
                                          ~TRACE_HOOK_STOPPED);
                    }
                }
            }
            TraceStoreReleaseWorkLock(Store);
        }
    }
}

_Use_decl_annotations_
VOID
TraceControlDoWithoutWorker(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Makes the owner of every store come by when there will be no worker: one
    that is paused may count on it.

Arguments:

    Session - Supplies the session, whose worker is refused.

Return Value:

    None.

--*/
{
    if (Session->Control != NULL) {
        TraceControlNotify(Session, 0xFFFFFFFF);
    }
}

static
VOID
TraceControlReportNoWorker(
    _Inout_ PTRACE_SESSION Session
    )
/*++

Routine Description:

    Says once that nobody looks at the control file but the traced threads.

Arguments:

    Session - Supplies the session.

Return Value:

    None.

--*/
{
    RTL_ERROR Error;

    if (Session->Worker.State == TRACE_WORKER_STARTING ||
        Session->Worker.State == TRACE_WORKER_RUNNING ||
        Session->IsAlone ||
        InterlockedExchange(&Session->ControlReported, 1) != 0) {

        return;
    }

    RtlSetError(&Error,
                "controlling a module without a worker",
                &Session->ModuleName,
                STATUS_NOT_SUPPORTED);
    TraceLogError(Session,
                  &Error,
                  "its threads follow when they need new pages");
}

_Use_decl_annotations_
VOID
TraceControlPoll(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    Looks for new actions, and makes the owner of every store come by if there
    are any.

Arguments:

    Session - Supplies the session.

Return Value:

    None.

--*/
{
    ULONG Claimed;
    ULONG Seen;
    ULONG State;

    if (Session->Control == NULL || Session->ControlFailed) {
        return;
    }

    State = 0;
    Seen = (ULONG)Session->ControlSeen;
    if (!TraceControlLook(Session, &Seen, &Claimed, &State)) {
        TraceControlFail(Session,
                         "reading the control file",
                         STATUS_IN_PAGE_ERROR);
        return;
    }

    if (Seen == (ULONG)Session->ControlNotified && !Session->ControlAgain) {
        return;
    }

    //
    // Who asks for something once may do so again, and a thread that is paused
    // has nobody else to tell it.
    //

    TraceControlRaise(&Session->ControlSeen, Seen);
    Session->ControlAgain = 0;
    if (!Session->IsAlone) {
        TraceControlStartWorker(Session);
    }
    TraceControlReportNoWorker(Session);
    TraceControlNotify(Session, Seen);
    TraceControlRaise(&Session->ControlNotified, Seen);
    TraceControlAnswer(Session, Seen, State);
}

_Use_decl_annotations_
VOID
TraceControlWatch(
    PTRACE_SESSION Session
    )
/*++

Routine Description:

    The worker's look: as any other, and gives up a place that somebody has
    claimed and not filled, so that what comes after it counts.

Arguments:

    Session - Supplies the session.

Return Value:

    None.

--*/
{
    LONG volatile *Kind;
    RTL_CLOCK_READING Reading;
    ULONG Claimed;
    ULONG Seen;
    ULONG State;

    TraceControlPoll(Session);
    if (Session->Control == NULL || Session->ControlFailed) {
        return;
    }

    Seen = (ULONG)Session->ControlSeen;
    if (!TraceControlLook(Session, &Seen, &Claimed, &State) ||
        Seen >= Claimed) {

        Session->ControlHoleTime = 0;
        return;
    }

    RtlReadClocks(&Session->Rtl, &Reading);
    if (Session->ControlHoleTime == 0 || Session->ControlHole != Seen) {
        Session->ControlHole = Seen;
        Session->ControlHoleTime = Reading.Qpc;
        return;
    }
    if (Reading.Qpc - Session->ControlHoleTime <
        Reading.QpcFrequency * TRACE_CONTROL_PATIENCE) {

        return;
    }

    Session->ControlHoleTime = 0;
    __try {
        Kind = (LONG volatile *)
            &TraceControlAction(Session->Control, Seen)->Kind;
        InterlockedCompareExchange(Kind, TRACE_ACTION_VOID, TRACE_ACTION_NONE);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        Session->ControlFailed = 1;
    }
}

_Use_decl_annotations_
NTSTATUS
TraceControlAppend(
    PTRACE_SESSION Session,
    ULONG Kind,
    const CHAR *Text,
    ULONG LengthInBytes
    )
/*++

Routine Description:

    Appends an action of the calling thread.

Arguments:

    Session - Supplies the session.

    Kind - Supplies a TRACE_ACTION_*.

    Text - Supplies its text, UTF-8; it is cut at a character.

    LengthInBytes - Supplies the length of that.

Return Value:

    STATUS_SUCCESS, STATUS_NOT_FOUND if there is no control file,
    STATUS_LOG_FULL, or the exception that writing to the file raised.

--*/
{
    LARGE_INTEGER Now;
    NTSTATUS Status;
    PTRACE_CONTROL Control;
    PTRACE_CONTROL_ACTION Action;
    ULONG Index;
    ULONG Length;

    Control = Session->Control;
    if (Control == NULL || Session->ControlFailed) {
        return STATUS_NOT_FOUND;
    }

    Length = LengthInBytes;
    if (Length > sizeof(Action->Text)) {
        Length = sizeof(Action->Text);
        while (Length > 0 && ((UCHAR)Text[Length] & 0xC0) == 0x80) {
            Length -= 1;
        }
    }

    Now.QuadPart = 0;
    Session->Rtl.NtQuerySystemTime(&Now);
    Status = STATUS_SUCCESS;

    __try {

        Index = Session->ControlCapacity;
        if (*(ULONG volatile *)&Control->NumberClaimed < Index) {
            Index = (ULONG)InterlockedIncrement(
                (LONG volatile *)&Control->NumberClaimed) - 1;
        }

        if (Index >= Session->ControlCapacity) {
            Status = STATUS_LOG_FULL;
        } else {
            Action = TraceControlAction(Control, Index);
            Action->ThreadId = __readgsdword(TEB_THREAD_ID);
            Action->Timestamp = __rdtsc();
            Action->SystemTime = (ULONGLONG)Now.QuadPart;
            Action->TextLength = Length;
            RtlCopyBytes(Action->Text, Text, Length);
            InterlockedCompareExchange((LONG volatile *)&Action->Kind,
                                       (LONG)Kind,
                                       TRACE_ACTION_NONE);
        }

    } __except (Status = (NTSTATUS)GetExceptionCode(),
                EXCEPTION_EXECUTE_HANDLER) {

        Session->ControlFailed = 1;
    }

    return Status;
}

static
BOOLEAN
TraceControlRead(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG Index,
    _Out_ PTRACE_CONTROL_ACTION Action
    )
/*++

Routine Description:

    Copies an action.

Arguments:

    Session - Supplies the session.

    Index - Supplies the action's number.

    Action - Receives the copy; TextLength is no more than Text has.

Return Value:

    FALSE if it cannot be read.

--*/
{
    BOOLEAN IsRead;

    if (Session->Control == NULL || Index >= Session->ControlCapacity) {
        return FALSE;
    }

    IsRead = TRUE;
    __try {
        RtlCopyBytes(Action,
                     TraceControlAction(Session->Control, Index),
                     sizeof(*Action));
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        IsRead = FALSE;
    }

    if (IsRead && Action->TextLength > sizeof(Action->Text)) {
        Action->TextLength = sizeof(Action->Text);
    }

    return IsRead;
}

static
VOID
TraceControlName(
    _Inout_ PTRACE_STORE Store,
    _In_ PCTRACE_CONTROL_ACTION Action
    )
/*++

Routine Description:

    Writes the name of its thread into a store.

Arguments:

    Store - Supplies the store of the calling thread.

    Action - Supplies the name.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    TRACE_THREAD_TIMES Times;

    //
    // The identifier may have been another thread's before.
    //

    if (Action->ThreadId != Store->ThreadId ||
        Store->ThreadId != __readgsdword(TEB_THREAD_ID) ||
        !NT_SUCCESS(Store->Session->Rtl.NtQueryInformationThread(
            (HANDLE)-2,
            RTL_THREAD_TIMES,
            &Times,
            sizeof(Times),
            NULL)) ||
        (LONGLONG)Action->SystemTime < Times.CreateTime.QuadPart) {

        return;
    }

    Header = Store->Header;
    RtlStoreRelease32(&Header->ThreadNameLength, 0);
    RtlCopyBytes(Header->ThreadName, Action->Text, Action->TextLength);
    Header->ThreadNameFullLength = Action->TextLength;
    RtlStoreRelease32(&Header->ThreadNameLength, Action->TextLength);
}

static
VOID
TraceControlStop(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Pauses a store: from now on the hook counts.

Arguments:

    Store - Supplies the store, whose work lock is held.

    Timestamp - Supplies when that was asked for.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeStop(Store, Timestamp);
        return;
    }

    if ((Header->HookFlags & TRACE_HOOK_PAUSED) == 0) {
        Store->LostBefore = Header->NumberOfEventsLost;
        RtlStoreRelease32(&Header->HookFlags,
                          Header->HookFlags | TRACE_HOOK_PAUSED);
    }
}

static
VOID
TraceControlStart(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONGLONG Timestamp
    )
/*++

Routine Description:

    Ends the pause of a store.  What the hook counted meanwhile was not lost but
    left out.

Arguments:

    Store - Supplies the store, whose work lock is held.

    Timestamp - Supplies when that was asked for.

Return Value:

    None.

--*/
{
    PTRACE_DEPTH Depth;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Missed;

    Header = Store->Header;
    if (Header->Mode == TRACE_MODE_TREE) {
        Store->IsPausedSlowly = FALSE;
        TraceTreeStart(Store, Timestamp);
        return;
    }

    if ((Header->HookFlags & TRACE_HOOK_PAUSED) == 0) {
        return;
    }

    Missed = Header->NumberOfEventsLost - Store->LostBefore;
    RtlStoreRelease64(&Header->NumberOfEventsLost, Store->LostBefore);
    RtlStoreRelease64(&Header->NumberOfEventsPaused,
                      Header->NumberOfEventsPaused + Missed);

    //
    // The hook follows the depth while it pauses (PenterHooks.asm), unless it
    // came to the slow path each time.
    //

    if (Store->IsPausedSlowly) {
        Store->IsPausedSlowly = FALSE;
        for (Depth = Store->Depth; Depth != NULL; Depth = Depth->Next) {
            Depth->Count = 0;
            Depth->Skipped = 0;
        }
    }

    //
    // An entry from before is not taken back: it need not be the one that the
    // next exit belongs to.
    //

    Store->Floor = (PBYTE)(ULONG_PTR)Header->Cursor;
    RtlStoreRelease32(&Header->HookFlags,
                      Header->HookFlags & ~(ULONG)(TRACE_HOOK_PAUSED |
                                                   TRACE_HOOK_STOPPED));
}

static
VOID
TraceControlCarryOut(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Carries out what a store has missed.

Arguments:

    Store - Supplies the store, whose work lock is held.

Return Value:

    None.

--*/
{
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    TRACE_CONTROL_ACTION Action;
    ULONG Seen;
    ULONGLONG Now;

    Session = Store->Session;
    Header = Store->Header;

    InterlockedExchange(&Store->Attention, 0);
    Seen = (ULONG)Session->ControlSeen;
    Now = __rdtsc();
    if (Header->State == TRACE_STATE_STOPPED) {
        return;
    }

    while (Header->NumberOfActions < Seen &&
           TraceControlRead(Session, Header->NumberOfActions, &Action)) {

        //
        // Time goes on, whatever the file says.
        //

        if (Store->ActionTimestamp < Header->OpenAnchor.Tsc) {
            Store->ActionTimestamp = Header->OpenAnchor.Tsc;
        }
        if (Action.Timestamp < Store->ActionTimestamp) {
            Action.Timestamp = Store->ActionTimestamp;
        } else if (Action.Timestamp > Now) {
            Action.Timestamp = Now;
        }
        Store->ActionTimestamp = Action.Timestamp;

        switch (Action.Kind) {

        case TRACE_ACTION_STOP:
            TraceControlStop(Store, Action.Timestamp);
            break;

        case TRACE_ACTION_START:
            TraceControlStart(Store, Action.Timestamp);
            break;

        case TRACE_ACTION_CLEAR:
            if (Header->Mode == TRACE_MODE_TREE) {
                TraceTreeClear(Store, Action.Timestamp);
            } else {
                RtlStoreRelease64(&Header->ClearTimestamp, Action.Timestamp);
            }
            break;

        case TRACE_ACTION_NAME:
            TraceControlName(Store, &Action);
            break;

        default:
            break;
        }

        RtlStoreRelease32(&Header->NumberOfActions,
                          Header->NumberOfActions + 1);
    }
}

_Use_decl_annotations_
BOOLEAN
TraceControlServe(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Looks for new actions and carries out what the calling thread's store has
    missed.

Arguments:

    Store - Supplies the store.

Return Value:

    TRUE if recording is stopped.  The hook then finds no room; it counts by
    itself if its flags have TRACE_HOOK_STOPPED, which they have where there is
    a worker to take it away.

--*/
{
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    ULONGLONG Ticks;

    Session = Store->Session;
    Header = Store->Header;

    TraceControlPoll(Session);
    if (!Store->Attention && (Header->HookFlags & TRACE_HOOK_PAUSED) == 0) {
        return FALSE;
    }


    Ticks = __rdtsc();
    TraceStoreAcquireWorkLock(Store);
    TraceControlCarryOut(Store);
    if ((Header->HookFlags & TRACE_HOOK_PAUSED) != 0) {
        RtlStoreRelease64(&Header->Limit, 0);
        if (Session->Worker.State == TRACE_WORKER_RUNNING ||
            Session->Worker.State == TRACE_WORKER_STARTING) {

            RtlStoreRelease32(&Header->HookFlags,
                              Header->HookFlags | TRACE_HOOK_STOPPED);
        } else {
            RtlStoreRelease32(&Header->HookFlags,
                              Header->HookFlags & ~(ULONG)TRACE_HOOK_STOPPED);
            Store->IsPausedSlowly = TRUE;
        }
    } else if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeSetLimit(Store);
    }
    TraceStoreReleaseWorkLock(Store);

    Ticks = __rdtsc() - Ticks;
    Header->InlineTicks += Ticks;
    if (Header->MaximumInlineTicks < Ticks) {
        Header->MaximumInlineTicks = Ticks;
    }

    return (Header->HookFlags & TRACE_HOOK_PAUSED) != 0;
}

_Use_decl_annotations_
VOID
TraceControlSettle(
    PTRACE_STORE Store
    )
/*++

Routine Description:

    Carries out what a store that is being closed has missed, and says for good
    what was left out and what was lost.

Arguments:

    Store - Supplies the store, whose work lock is held and whose owner makes no
        more calls.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    TraceControlCarryOut(Store);
    if (Header->State != TRACE_STATE_STOPPED &&
        (Header->HookFlags & TRACE_HOOK_PAUSED) != 0) {

        TraceControlStart(Store, __rdtsc());
    }
}
