/*++

Module Name:

    TraceControlFile.c

Abstract:

    The control file of a session as a file: its pieces, and what is in them.
    TraceControlOpen.c makes it, TraceControlAppend.c appends actions, and
    TraceControl.c says what is done about them.

    It is mapped piece by piece and stays mapped, since any thread may read it
    at any time: the first piece has ControlSize bytes, the next three as many
    each, and from then on every four are twice as large as those before.

    The file is anybody's to write.  It is never believed where it says how
    large it is: a place is mapped where the file is as long, and no instance
    follows NumberClaimed by more than TRACE_CONTROL_AHEAD places at once.  What
    an action says is copied before it is looked at.  The pages may vanish
    while they are mapped: every access is a call of a routine below, under
    __try.  (A call it must be: the compiler knows no exceptions of loads and
    stores in the same routine.)

--*/

#include "TraceControlFile.h"
#include "TraceLog.h"
#include "TraceSession.h"

//
// What touches the file.
//

//
// Reads a field.
//

static
DECLSPEC_NOINLINE
VOID
TraceControlLoad(
    _Out_ PULONG Value,
    _In_ ULONG volatile *Place
    )
{
    *Value = *Place;
}

//
// Compares and exchanges a field.
//

static
DECLSPEC_NOINLINE
VOID
TraceControlExchange(
    _Inout_ LONG volatile *Place,
    _In_ LONG New,
    _In_ LONG Old,
    _Out_ PLONG Found
    )
{
    *Found = InterlockedCompareExchange(Place, New, Old);
}

//
// Compares and exchanges a field of eight bytes.
//

static
DECLSPEC_NOINLINE
VOID
TraceControlExchange64(
    _Inout_ LONGLONG volatile *Place,
    _In_ LONGLONG New,
    _In_ LONGLONG Old,
    _Out_ PLONGLONG Found
    )
{
    *Found = InterlockedCompareExchange64(Place, New, Old);
}

//
// Reads a field, whatever state its page is in.
//

_Use_decl_annotations_
BOOLEAN
TraceControlFetch(
    PULONG Value,
    ULONG volatile *Place
    )
{
    BOOLEAN IsDone;

    IsDone = TRUE;
    *Value = 0;
    __try {
        TraceControlLoad(Value, Place);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        IsDone = FALSE;
    }

    return IsDone;
}

//
// Compares and exchanges a field, whatever state its page is in.
//

_Use_decl_annotations_
BOOLEAN
TraceControlSwap(
    LONG volatile *Place,
    LONG New,
    LONG Old,
    PLONG Found
    )
{
    BOOLEAN IsDone;

    IsDone = TRUE;
    *Found = ~Old;
    __try {
        TraceControlExchange(Place, New, Old, Found);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        IsDone = FALSE;
    }

    return IsDone;
}

//
// The same with a field of eight bytes.
//

_Use_decl_annotations_
BOOLEAN
TraceControlSwap64(
    LONGLONG volatile *Place,
    LONGLONG New,
    LONGLONG Old,
    PLONGLONG Found
    )
{
    BOOLEAN IsDone;

    IsDone = TRUE;
    *Found = ~Old;
    __try {
        TraceControlExchange64(Place, New, Old, Found);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        IsDone = FALSE;
    }

    return IsDone;
}

//
// Copies to the file, or from it, whatever state its pages are in.
//

_Use_decl_annotations_
BOOLEAN
TraceControlCopy(
    PVOID Destination,
    const VOID *Source,
    SIZE_T SizeInBytes
    )
{
    BOOLEAN IsDone;

    IsDone = TRUE;
    __try {
        RtlCopyBytes(Destination, Source, SizeInBytes);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        IsDone = FALSE;
    }

    return IsDone;
}

//
// Where things are.
//

//
// Finds the piece that something is in.
//

static
ULONG
TraceControlFindView(
    _In_ ULONGLONG Number,
    _Out_ PULONGLONG Begin,
    _Out_ PULONGLONG Size
    )
{
    ULONG High;
    ULONG Part;

    if (Number < 4) {
        *Begin = Number;
        *Size = 1;
        return (ULONG)Number;
    }

    High = 2;
    while ((Number >> High) > 1) {
        High += 1;
    }

    Part = (ULONG)(Number >> (High - 2)) & 3;
    *Begin = (ULONGLONG)(4 + Part) << (High - 2);
    *Size = 1ULL << (High - 2);
    return 4 * (High - 1) + Part;
}

//
// Maps a piece of the file, which grows if it is not as long.
//

_Use_decl_annotations_
PVOID
TraceControlMapView(
    PTRACE_SESSION Session,
    ULONGLONG FileOffset,
    ULONGLONG SizeInBytes,
    PNTSTATUS StatusPointer
    )
{
    NTSTATUS Status;
    HANDLE Section;
    PVOID Base;

    Base = NULL;
    Status = RtlCreateFileSection(&Session->Rtl,
                                  (HANDLE)Session->ControlFile,
                                  FileOffset + SizeInBytes,
                                  TRUE,
                                  &Section);
    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(&Session->Rtl,
                                   Section,
                                   FileOffset,
                                   (SIZE_T)SizeInBytes,
                                   TRUE,
                                   NULL,
                                   &Base);
        if (!NT_SUCCESS(Status)) {
            Base = NULL;
        }
        RtlClose(&Session->Rtl, Section);
    }

    *StatusPointer = Status;
    return Base;
}

//
// Finds an action's place.
//

_Use_decl_annotations_
NTSTATUS
TraceControlFind(
    PTRACE_SESSION Session,
    ULONG Index,
    BOOLEAN MayGrow,
    PTRACE_CONTROL_ACTION *Action
    )
{
    NTSTATUS Status;
    PVOID Base;
    ULONG View;
    ULONGLONG Begin;
    ULONGLONG FileSize;
    ULONGLONG Position;
    ULONGLONG Size;

    Position = TRACE_CONTROL_HEADER_SIZE +
               (ULONGLONG)Index * TRACE_CONTROL_ACTION_SIZE;
    View = TraceControlFindView(Position / Session->ControlSize,
                                &Begin,
                                &Size);
    if (View == 0) {
        Base = Session->Control;
    } else if (View >= TRACE_CONTROL_VIEWS) {
        return STATUS_SECTION_TOO_BIG;
    } else {
        Base = Session->ControlViews[View];
    }

    Begin *= Session->ControlSize;
    Size *= Session->ControlSize;
    if (Base == NULL) {

        if (!MayGrow) {
            Status = RtlQueryFileSize(&Session->Rtl,
                                      (HANDLE)Session->ControlFile,
                                      &FileSize);
            if (!NT_SUCCESS(Status)) {
                return Status;
            }
            if (FileSize < Position + TRACE_CONTROL_ACTION_SIZE) {
                return STATUS_END_OF_FILE;
            }
        }

        Base = TraceControlMapView(Session, Begin, Size, &Status);
        if (Base == NULL) {
            return Status;
        }

        //
        // Another thread may have mapped it meanwhile.
        //

        if (InterlockedCompareExchangePointer(
                (PVOID volatile *)&Session->ControlViews[View],
                Base,
                NULL) != NULL) {

            RtlUnmapFileSection(&Session->Rtl, Base);
            Base = Session->ControlViews[View];
        }
    }

    *Action = (PTRACE_CONTROL_ACTION)((PBYTE)Base + (Position - Begin));
    return STATUS_SUCCESS;
}

_Use_decl_annotations_
VOID
TraceControlRaise(
    LONG volatile *Number,
    ULONG Value
    )
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

//
// Says something about the control file in the log.
//

_Use_decl_annotations_
VOID
TraceControlReport(
    PTRACE_SESSION Session,
    PCSZ Step,
    NTSTATUS Status,
    PCSZ Consequence
    )
{
    RTL_ERROR Error;
    UNICODE_STRING Name;

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    RtlSetError(&Error, Step, &Name, Status);
    TraceLogError(Session, &Error, Consequence);
}

_Use_decl_annotations_
VOID
TraceControlFail(
    PTRACE_SESSION Session,
    PCSZ Step,
    NTSTATUS Status
    )
{
    if (InterlockedExchange(&Session->ControlFailed, 1) == 0) {
        TraceControlReport(Session,
                           Step,
                           Status,
                           "the session cannot be controlled");
    }
}

_Use_decl_annotations_
BOOLEAN
TraceControlIsTraced(
    PTRACE_SESSION Session,
    ULONGLONG ModuleBase
    )
{
    PTRACE_CONTROL Control;
    ULONG Index;
    BOOLEAN IsTraced;

    Control = Session->Control;
    if (Control == NULL) {
        return TRUE;
    }

    //
    // Where all places are taken, others may have found none.
    //

    IsTraced = TRUE;
    __try {
        for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index += 1) {
            if (Control->Instances[Index].ModuleBase == ModuleBase) {
                return TRUE;
            }
        }
        IsTraced = Control->Instances[Index - 1].ModuleBase != 0;
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        IsTraced = TRUE;
    }

    return IsTraced;
}

_Use_decl_annotations_
BOOLEAN
TraceControlCount(
    PTRACE_SESSION Session,
    ULONG Seen,
    PULONG Count
    )
{
    ULONG Claimed;

    *Count = Seen;
    if (!TraceControlFetch(&Claimed,
                           (ULONG volatile *)
                           &Session->Control->NumberClaimed)) {

        return FALSE;
    }

    if (Claimed > TRACE_CONTROL_MAXIMUM) {
        Claimed = TRACE_CONTROL_MAXIMUM;
    }
    if (Claimed > Seen) {
        *Count = Claimed - Seen > TRACE_CONTROL_AHEAD ?
                 Seen + TRACE_CONTROL_AHEAD : Claimed;
    }

    return TRUE;
}

_Use_decl_annotations_
BOOLEAN
TraceControlReadKind(
    PTRACE_SESSION Session,
    ULONG Index,
    PULONG Kind
    )
{
    NTSTATUS Status;
    PTRACE_CONTROL_ACTION Action;

    *Kind = TRACE_ACTION_NONE;
    Status = TraceControlFind(Session, Index, FALSE, &Action);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_END_OF_FILE;
    }

    return TraceControlFetch(Kind, (ULONG volatile *)&Action->Kind);
}

_Use_decl_annotations_
BOOLEAN
TraceControlRead(
    PTRACE_SESSION Session,
    ULONG Index,
    PTRACE_CONTROL_ACTION Action
    )
{
    PTRACE_CONTROL_ACTION Place;

    if (Session->Control == NULL ||
        !NT_SUCCESS(TraceControlFind(Session, Index, FALSE, &Place)) ||
        !TraceControlCopy(Action, Place, sizeof(*Action))) {

        return FALSE;
    }

    if (Action->TextLength > sizeof(Action->Text)) {
        Action->TextLength = sizeof(Action->Text);
    }

    return TRUE;
}

_Use_decl_annotations_
VOID
TraceControlGiveUp(
    PTRACE_SESSION Session,
    ULONG Index
    )
{
    LONG Found;
    PTRACE_CONTROL_ACTION Place;

    if (NT_SUCCESS(TraceControlFind(Session, Index, FALSE, &Place)) &&
        !TraceControlSwap((LONG volatile *)&Place->Kind,
                          TRACE_ACTION_VOID,
                          TRACE_ACTION_NONE,
                          &Found)) {

        TraceControlFail(Session,
                         "writing the control file",
                         STATUS_IN_PAGE_ERROR);
    }
}

_Use_decl_annotations_
VOID
TraceControlAnswer(
    PTRACE_SESSION Session,
    ULONG Seen,
    ULONG State
    )
{
    ULONG Found;
    LONG Old;
    TRACE_CONTROL_INSTANCE *Instance;

    if (Session->ControlInstance >= TRACE_CONTROL_INSTANCES) {
        return;
    }

    Instance = &Session->Control->Instances[Session->ControlInstance];
    if (TraceControlFetch(&Found, (ULONG volatile *)&Instance->NumberSeen) &&
        (Found > Seen ||
         (TraceControlCopy(&Instance->State, &State, sizeof(State)) &&
          (Found == Seen ||
           TraceControlSwap((LONG volatile *)&Instance->NumberSeen,
                            (LONG)Seen,
                            (LONG)Found,
                            &Old))))) {

        return;
    }

    TraceControlFail(Session,
                     "writing the control file",
                     STATUS_IN_PAGE_ERROR);
}
