/*++

Module Name:

    CommandCtlFile.c

Abstract:

    The control file of a session: it is found, mapped, and asked.

--*/

#include "CommandCtlFile.h"

//
// How long an answer is waited for, and how often it is looked for, in 100 ns
// units.
//

#define READER_CTL_PATIENCE     10000000LL      // 1 s
#define READER_CTL_INTERVAL     50000LL         // 5 ms

//
// How often a place is tried for that others may claim first.
//

#define READER_CTL_TRIES        10000u

//
// How many claimed places an action may lose.
//

#define READER_CTL_LOST         16u

_Use_decl_annotations_
NTSTATUS
CommandCtlNameBeside(
    PREADER_SESSION Session,
    PCUNICODE_STRING Name
    )
{
    UNICODE_STRING Base;

    Session->Path.Length = Session->DirectoryLength;
    if (!Session->IsDirectory) {
        RtlBaseName(&Session->Path, &Base);
        Session->Path.Length -= Base.Length;
    }

    return RtlAppendPath(&Session->Path,
                         Name->Buffer,
                         Name->Length / sizeof(WCHAR),
                         TRUE);
}

_Use_decl_annotations_
NTSTATUS
CommandCtlOpenFile(
    PREADER_CTL Ctl,
    ULONG Directory,
    BOOLEAN IsWritten
    )
{
    PREADER_SESSION Session = &Ctl->Session;
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;
    UNICODE_STRING Name;
    HANDLE File;
    NTSTATUS Status;

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    Status = STATUS_SUCCESS;
    if (Session->Directories[Directory].Name.Length == 0) {
        Status = CommandCtlNameBeside(Session, &Name);
    } else {
        Status = CommandCtlNameBeside(Session,
                                      &Session->Directories[Directory].Name);
        if (NT_SUCCESS(Status)) {
            Status = RtlAppendPath(&Session->Path,
                                   Name.Buffer,
                                   Name.Length / sizeof(WCHAR),
                                   TRUE);
        }
    }

    if (NT_SUCCESS(Status)) {

        InitializeObjectAttributes(&Attributes,
                                   &Session->Path,
                                   OBJ_CASE_INSENSITIVE,
                                   NULL,
                                   NULL);
        Status = Ctl->Context->Rtl->NtCreateFile(
            &File,
            FILE_GENERIC_READ | (IsWritten ? FILE_GENERIC_WRITE : 0),
            &Attributes,
            &IoStatus,
            NULL,
            FILE_ATTRIBUTE_NORMAL,
            FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
            FILE_OPEN,
            FILE_NON_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT,
            NULL,
            0);
        if (NT_SUCCESS(Status)) {
            Ctl->File = File;
        }
    }

    Session->Path.Length = Session->DirectoryLength;
    return Status;
}

_Use_decl_annotations_
BOOLEAN
CommandCtlFollows(
    const READER_CTL *Ctl,
    ULONG Index
    )
{
    return Ctl->Header.MinorVersion < 4 ||
           (Ctl->Header.Instances[Index].State & TRACE_CONTROL_FOLLOWS) != 0;
}

_Use_decl_annotations_
NTSTATUS
CommandCtlReadHeader(
    PREADER_CTL Ctl
    )
{
    PCRTL Rtl = Ctl->Context->Rtl;
    PCTRACE_STORE_HEADER Header = Ctl->Session.Header;
    PCTRACE_CONTROL Control = &Ctl->Header;
    ULONGLONG Size;
    ULONG Read;
    ULONG Index;
    NTSTATUS Status;

    //
    // The size comes last: the file grows before a place is claimed.
    //

    Status = RtlReadFile(Rtl,
                         Ctl->File,
                         0,
                         &Ctl->Header,
                         sizeof(Ctl->Header),
                         &Read);
    if (!NT_SUCCESS(Status)) {
        return Status == STATUS_END_OF_FILE ? STATUS_FILE_INVALID : Status;
    }

    Status = RtlQueryFileSize(Rtl, Ctl->File, &Size);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    if (Read != sizeof(Ctl->Header) ||
        Size < TRACE_CONTROL_HEADER_SIZE + TRACE_CONTROL_ACTION_SIZE ||
        Control->Magic != TRACE_CONTROL_MAGIC ||
        Control->MajorVersion != TRACE_FORMAT_MAJOR ||
        (Header != NULL && Ctl->Session.NumberOfDirectories == 1 &&
         (Control->ProcessId != Header->ProcessId ||
          Control->ProcessCreationTime != Header->ProcessCreationTime))) {

        return STATUS_FILE_INVALID;
    }

    Size = (Size - TRACE_CONTROL_HEADER_SIZE) / TRACE_CONTROL_ACTION_SIZE;
    Ctl->Capacity = Size < 0xFFFFFFFF ? (ULONG)Size : 0xFFFFFFFF;
    Ctl->Count = Control->NumberClaimed < Ctl->Capacity
                     ? Control->NumberClaimed
                     : Ctl->Capacity;

    Ctl->NumberOfInstances = 0;
    Ctl->NumberOfWaiters = 0;
    for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index++) {
        if (Control->Instances[Index].ModuleBase != 0) {
            Ctl->NumberOfInstances += 1;
            Ctl->NumberOfWaiters += !CommandCtlFollows(Ctl, Index);
        }
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
NTSTATUS
CommandCtlReadActions(
    PREADER_CTL Ctl,
    ULONG First,
    PULONG Number
    )
{
    ULONG Wanted = Ctl->Count - First;
    ULONG Read;
    NTSTATUS Status;

    *Number = 0;
    if (First >= Ctl->Count) {
        return STATUS_SUCCESS;
    }

    if (Wanted > READER_CTL_ACTIONS) {
        Wanted = READER_CTL_ACTIONS;
    }

    Status = RtlReadFile(Ctl->Context->Rtl,
                         Ctl->File,
                         TRACE_CONTROL_HEADER_SIZE +
                             (ULONGLONG)First * TRACE_CONTROL_ACTION_SIZE,
                         Ctl->Buffer,
                         Wanted * TRACE_CONTROL_ACTION_SIZE,
                         &Read);
    if (NT_SUCCESS(Status)) {
        *Number = Read / TRACE_CONTROL_ACTION_SIZE;
    }

    return Status == STATUS_END_OF_FILE ? STATUS_SUCCESS : Status;
}

_Use_decl_annotations_
NTSTATUS
CommandCtlFindState(
    PREADER_CTL Ctl
    )
{
    PCTRACE_CONTROL_ACTION Action;
    BOOLEAN IsStop;
    ULONG First;
    ULONG Number;
    ULONG Index;
    NTSTATUS Status;

    Ctl->IsStopped = FALSE;
    Ctl->LastAction = READER_NONE;
    Ctl->Since = 0;

    for (First = 0; First < Ctl->Count; First += Number) {

        Status = CommandCtlReadActions(Ctl, First, &Number);
        if (!NT_SUCCESS(Status) || Number == 0) {
            return Status;
        }

        for (Index = 0; Index < Number; Index++) {
            Action = (PCTRACE_CONTROL_ACTION)Ctl->Buffer + Index;
            if (Action->Kind != TRACE_ACTION_START &&
                Action->Kind != TRACE_ACTION_STOP) {
                continue;
            }

            IsStop = Action->Kind == TRACE_ACTION_STOP;
            if (IsStop != Ctl->IsStopped) {
                Ctl->IsStopped = IsStop;
                Ctl->LastAction = First + Index;
                Ctl->Since = Action->SystemTime;
            }
        }
    }

    return STATUS_SUCCESS;
}

_Use_decl_annotations_
PCSZ
CommandCtlDescribeProcess(
    READER_PROCESS_STATE State
    )
{
    switch (State) {
    case ReaderProcessRunning:
        return "running";
    case ReaderProcessGone:
        return "ended";
    default:
        return "unknown";
    }
}

//
// Maps a part of the control file for writing. It grows if it ends before
// that.
// Ctl: the command's state, with the control file open for writing.
// FileOffset, End: the part, in bytes.
// Base: the view.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlMap(
    _In_ const READER_CTL *Ctl,
    _In_ ULONGLONG FileOffset,
    _In_ ULONGLONG End,
    _Out_ PVOID *Base
    )
{
    PCRTL Rtl = Ctl->Context->Rtl;
    HANDLE Section;
    NTSTATUS Status;

    Status = RtlCreateFileSection(Rtl, Ctl->File, End, TRUE, &Section);
    if (NT_SUCCESS(Status)) {
        Status = RtlMapFileSection(Rtl,
                                   Section,
                                   FileOffset,
                                   (SIZE_T)(End - FileOffset),
                                   TRUE,
                                   NULL,
                                   Base);
        RtlClose(Rtl, Section);
    }

    return Status;
}

//
// Claims the place of an action and fills it. Everything in here may raise an
// exception: the file is mapped.
// Control: the header.
// Page, End: the pages that must be there before it is claimed.
// STATUS_RETRY: another one has claimed the place.
// STATUS_IO_TIMEOUT: it has been given up meanwhile.
//

static
DECLSPEC_NOINLINE
NTSTATUS
CommandCtlWrite(
    _Inout_ PTRACE_CONTROL Control,
    _In_ ULONG Number,
    _Inout_ PBYTE Place,
    _In_reads_(End) PBYTE Page,
    _In_ PBYTE End,
    _In_ PCTRACE_CONTROL_ACTION Action
    )
{
    PTRACE_CONTROL_ACTION Target = (PTRACE_CONTROL_ACTION)Place;

    for (; Page < End; Page += READER_CTL_PAGE_SIZE) {
        InterlockedOr((LONG volatile *)Page, 0);
    }

    if (InterlockedCompareExchange((LONG volatile *)&Control->NumberClaimed,
                                   (LONG)(Number + 1),
                                   (LONG)Number) != (LONG)Number) {
        return STATUS_RETRY;
    }

    Target->ThreadId = Action->ThreadId;
    Target->Timestamp = __rdtsc();
    Target->SystemTime = Action->SystemTime;
    Target->TextLength = Action->TextLength;
    RtlCopyBytes(Target->Text, Action->Text, Action->TextLength);
    if (InterlockedCompareExchange((LONG volatile *)&Target->Kind,
                                   (LONG)Action->Kind,
                                   TRACE_ACTION_NONE) != TRACE_ACTION_NONE) {
        return STATUS_IO_TIMEOUT;
    }

    return STATUS_SUCCESS;
}

//
// Appends an action behind those that the header speaks of.
// Ctl: the command's state, with the header just read.
// Returns STATUS_SUCCESS; STATUS_RETRY if there is another one by now; or what
// failed.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlTryAppend(
    _Inout_ PREADER_CTL Ctl,
    _In_ PCTRACE_CONTROL_ACTION Action
    )
{
    PCRTL Rtl = Ctl->Context->Rtl;
    ULONGLONG Position;
    ULONGLONG Begin;
    ULONGLONG End;
    PVOID Control = NULL;
    PVOID Window = NULL;
    NTSTATUS Status;

    //
    // A claim of more than the file has is not to be believed.
    //

    if (Ctl->Header.NumberClaimed > Ctl->Capacity) {
        return STATUS_FILE_INVALID;
    }

    Position = TRACE_CONTROL_HEADER_SIZE +
               (ULONGLONG)Ctl->Count * TRACE_CONTROL_ACTION_SIZE;
    End = Position + TRACE_CONTROL_ACTION_SIZE;
    if (Action->Kind == TRACE_ACTION_MARK) {
        End += TRACE_CONTROL_SPARE * TRACE_CONTROL_ACTION_SIZE;
    }

    Begin = Position / READER_CTL_BUFFER_SIZE * READER_CTL_BUFFER_SIZE;
    End = (End + READER_CTL_PAGE_SIZE - 1) / READER_CTL_PAGE_SIZE *
          READER_CTL_PAGE_SIZE;
    Position -= Begin;

    Status = CommandCtlMap(Ctl, 0, TRACE_CONTROL_HEADER_SIZE, &Control);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = CommandCtlMap(Ctl, Begin, End, &Window);
    if (NT_SUCCESS(Status)) {

        __try {
            Status = CommandCtlWrite(
                (PTRACE_CONTROL)Control,
                Ctl->Count,
                (PBYTE)Window + Position,
                (PBYTE)Window + Position / READER_CTL_PAGE_SIZE *
                                     READER_CTL_PAGE_SIZE,
                (PBYTE)Window + (End - Begin),
                Action);
        } __except (EXCEPTION_EXECUTE_HANDLER) {
            Status = STATUS_IN_PAGE_ERROR;
        }

        RtlUnmapFileSection(Rtl, Window);
    }

    RtlUnmapFileSection(Rtl, Control);
    return Status;
}

_Use_decl_annotations_
BOOLEAN
CommandCtlAppend(
    PREADER_CTL Ctl,
    ULONG Kind,
    PCSZ Text,
    PULONG Number,
    PNTSTATUS StatusPointer
    )
{
    TRACE_CONTROL_ACTION Action;
    LARGE_INTEGER Now;
    ULONG Length = RtlLengthOfString(Text);
    ULONG Lost = 0;
    ULONG Try;
    NTSTATUS Status = STATUS_RETRY;

    RtlZeroBytes(&Action, sizeof(Action));
    if (Length > sizeof(Action.Text)) {
        Length = sizeof(Action.Text);
        while (Length > 0 && ((UCHAR)Text[Length] & 0xC0) == 0x80) {
            Length -= 1;
        }
    }

    Action.Kind = Kind;
    Action.TextLength = Length;
    RtlCopyBytes(Action.Text, Text, Length);

    for (Try = 0; Try < READER_CTL_TRIES && Status == STATUS_RETRY; Try++) {
        Status = CommandCtlReadHeader(Ctl);
        if (NT_SUCCESS(Status)) {
            Now.QuadPart = 0;
            Ctl->Context->Rtl->NtQuerySystemTime(&Now);
            Action.SystemTime = (ULONGLONG)Now.QuadPart;
            *Number = Ctl->Count;
            Status = CommandCtlTryAppend(Ctl, &Action);
        }

        //
        // The place was given up, since this process got no processor for a
        // second.
        //

        if (Status == STATUS_IO_TIMEOUT && Lost < READER_CTL_LOST) {
            Lost += 1;
            Status = STATUS_RETRY;
        }
    }

    *StatusPointer = Status;
    return NT_SUCCESS(Status);
}

_Use_decl_annotations_
ULONG
CommandCtlWait(
    PREADER_CTL Ctl,
    ULONG Number
    )
{
    PCRTL Rtl = Ctl->Context->Rtl;
    LARGE_INTEGER Now;
    LARGE_INTEGER End;
    LARGE_INTEGER Interval;
    ULONG Missing;
    ULONG Index;

    Interval.QuadPart = -READER_CTL_INTERVAL;
    Now.QuadPart = 0;
    Rtl->NtQuerySystemTime(&Now);
    End.QuadPart = Now.QuadPart + READER_CTL_PATIENCE;

    for (;;) {

        if (!NT_SUCCESS(CommandCtlReadHeader(Ctl))) {
            return Ctl->NumberOfInstances;
        }

        Missing = 0;
        for (Index = 0; Index < TRACE_CONTROL_INSTANCES; Index++) {
            if (Ctl->Header.Instances[Index].ModuleBase != 0 &&
                CommandCtlFollows(Ctl, Index) &&
                Ctl->Header.Instances[Index].NumberSeen <= Number) {
                Missing += 1;
            }
        }

        Rtl->NtQuerySystemTime(&Now);
        if (Missing == 0 || Now.QuadPart >= End.QuadPart ||
            SessionQueryProcess(&Ctl->Session) == ReaderProcessGone) {
            return Missing;
        }

        Rtl->NtDelayExecution(FALSE, &Interval);
    }
}
