/*++

Module Name:

    CommandCtlSnapshot.c

Abstract:

    ctl snapshot: a session is copied while it is written.

--*/

#include "../Session/SessionCopy.h"
#include "../Session/SessionDescribe.h"
#include "CommandCtlSnapshot.h"

//
// Creates a file of the snapshot, which may be in the directory of one of its
// processes.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlCreate(
    _Inout_ PREADER_CTL Ctl,
    _In_ PCUNICODE_STRING Name,
    _Out_ PHANDLE File
    )
{
    PREADER_SESSION Session = &Ctl->Session;
    PCUNICODE_STRING Other;
    UNICODE_STRING Last = *Name;
    ULONG Length = Name->Length / sizeof(WCHAR);
    ULONG Directory = READER_NONE;
    ULONG Start = Length;
    ULONG Index;

    *File = NULL;
    while (Start != 0 && Name->Buffer[Start - 1] != L'\\') {
        Start -= 1;
    }

    if (Start != 0) {

        for (Index = 0; Index < Session->NumberOfDirectories; Index++) {
            Other = &Session->Directories[Index].Name;
            if (Other->Length == (Start - 1) * sizeof(WCHAR) &&
                RtlAreBytesEqual(Other->Buffer, Name->Buffer, Other->Length)) {
                Directory = Index;
            }
        }

        if (Directory == READER_NONE) {
            return STATUS_OBJECT_NAME_INVALID;
        }

        RtlPointUnicodeString(&Last, Name->Buffer + Start, Length - Start);
    }

    return SessionMakeTargetFile(&Ctl->Target, Directory, &Last, File);
}

//
// Copies part of a file to the same place in another one, which has its size.
// FileOffset: where to begin.
// End: where to end, or where the source ends.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlCopyRange(
    _Inout_ PREADER_CTL Ctl,
    _In_ HANDLE Source,
    _In_ HANDLE Target,
    _In_ ULONGLONG FileOffset,
    _In_ ULONGLONG End
    )
{
    READER_COPY_FILE Copy = { Ctl->Context, Target, TRUE };
    NTSTATUS WriteStatus;
    NTSTATUS Status;

    Status = SessionCopyPart(Ctl->Context,
                             Source,
                             FileOffset,
                             End,
                             Ctl->Buffer,
                             READER_CTL_BUFFER_SIZE,
                             SessionCopyToFile,
                             &Copy,
                             &WriteStatus);
    return NT_SUCCESS(Status) ? WriteStatus : Status;
}

//
// Records that are put one behind the other.
//

typedef struct _READER_CTL_COPY {
    PCREADER_CONTEXT Context;
    PREADER_STORE Store;
    HANDLE Target;
    ULONGLONG Position;             // of the next records
    ULONGLONG FileOffset;           // in the copy
    ULONGLONG End;                  // behind the last that was written
} READER_CTL_COPY;
typedef READER_CTL_COPY *PREADER_CTL_COPY;

static
NTSTATUS
CommandCtlTakeRecords(
    _In_ PVOID Target,
    _In_ ULONGLONG Position,
    _In_reads_(NumberOfRecords) PCTRACE_RECORD Records,
    _In_ ULONG NumberOfRecords
    )
{
    PREADER_CTL_COPY Copy = (PREADER_CTL_COPY)Target;
    ULONG Index;
    NTSTATUS Status;

    //
    // A ring was faster: what was copied is older than what it lost.
    //

    if (Position != Copy->Position &&
        Copy->Store->StartOfRecords >= Position) {
        Copy->FileOffset = TRACE_HEADER_SIZE;
        Copy->End = TRACE_HEADER_SIZE;
    }

    Status = RtlWriteFile(Copy->Context->Rtl,
                          Copy->Target,
                          Copy->FileOffset,
                          Records,
                          NumberOfRecords * TRACE_RECORD_SIZE);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    //
    // A record that is reserved and not written is none, at the end.
    //

    for (Index = 0; Index < NumberOfRecords; Index++) {
        if (Records[Index].Timestamp != 0) {
            Copy->End = Copy->FileOffset +
                        (ULONGLONG)(Index + 1) * TRACE_RECORD_SIZE;
        }
    }

    Copy->FileOffset += (ULONGLONG)NumberOfRecords * TRACE_RECORD_SIZE;
    Copy->Position = Position + (ULONGLONG)NumberOfRecords * TRACE_RECORD_SIZE;
    return STATUS_SUCCESS;
}

//
// Copies the records of a store. Those of a ring are put in a row, from the
// oldest on; if some are overwritten meanwhile, the copy begins behind them.
// Store: the store, open.
// Target: the new file.
// Header: the copy's header; is changed where a copy differs.
// End: the size of the file.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlCopyRecords(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_STORE Store,
    _In_ HANDLE Target,
    _Inout_ PTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG End
    )
{
    READER_CTL_COPY Copy = { Ctl->Context,
                             Store,
                             Target,
                             Store->StartOfRecords,
                             TRACE_HEADER_SIZE,
                             TRACE_HEADER_SIZE };
    NTSTATUS WriteStatus;
    NTSTATUS Status;

    Status = SessionCopyRecords(Ctl->Context,
                                Store,
                                Ctl->Buffer,
                                READER_CTL_BUFFER_SIZE,
                                CommandCtlTakeRecords,
                                &Copy,
                                &WriteStatus);
    *End = Copy.End;
    if (Store->StartOfRecords > Copy.Position) {
        *End = TRACE_HEADER_SIZE;
    }
    if (!NT_SUCCESS(Status) && Status != STATUS_END_OF_FILE) {
        return Status;
    }
    if (!NT_SUCCESS(WriteStatus)) {
        return WriteStatus;
    }

    SessionStraightenHeader(Header, *End);
    return STATUS_SUCCESS;
}

//
// Copies a tree: the nodes first, then the open frames, as a reader reads
// them. A tree that is cleared meanwhile is copied again.
// Target: the new file.
// Header: the copy's header; receives the store's.
// End: the size of the file.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlCopyTree(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_STORE Store,
    _In_ HANDLE Target,
    _Inout_ PTRACE_STORE_HEADER Header,
    _Out_ PULONGLONG End
    )
{
    ULONGLONG Nodes;
    ULONGLONG NodesEnd;
    ULONG Try;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Try = 0; Try < READER_CTL_TREE_TRIES; Try++) {

        Status = SessionRefreshStore(Ctl->Context, Store);
        if (!NT_SUCCESS(Status)) {
            break;
        }
        if (Store->HeaderResult.State != CoreHeaderValid ||
            Store->Header->Mode != TRACE_MODE_TREE) {
            return STATUS_FILE_INVALID;
        }

        RtlCopyBytes(Header, Store->Header, sizeof(*Header));
        Nodes = Header->NodesFileOffset;
        *End = Store->FileSize;
        if (Nodes < TRACE_HEADER_SIZE || Nodes > *End ||
            Header->NumberOfNodes > (*End - Nodes) / TRACE_NODE_SIZE) {
            return STATUS_FILE_INVALID;
        }

        NodesEnd = Nodes + Header->NumberOfNodes * TRACE_NODE_SIZE;
        Status = RtlSetFileSize(Ctl->Context->Rtl, Target, 0);
        if (NT_SUCCESS(Status)) {
            Status = RtlSetFileSize(Ctl->Context->Rtl, Target, *End);
        }
        if (NT_SUCCESS(Status)) {
            Status = CommandCtlCopyRange(Ctl,
                                         Store->File,
                                         Target,
                                         Nodes,
                                         NodesEnd);
        }
        if (NT_SUCCESS(Status)) {
            Status = CommandCtlCopyRange(Ctl,
                                         Store->File,
                                         Target,
                                         TRACE_HEADER_SIZE,
                                         Nodes);
        }
        if (NT_SUCCESS(Status)) {
            Status = CommandCtlCopyRange(Ctl,
                                         Store->File,
                                         Target,
                                         NodesEnd,
                                         *End);
        }
        if (NT_SUCCESS(Status)) {
            Status = SessionRefreshStore(Ctl->Context, Store);
        }
        if (!NT_SUCCESS(Status)) {
            break;
        }

        //
        // The end of the open frames is the later one's: they were copied last.
        //

        if ((Header->Generation & 1) == 0 &&
            Store->Header->Generation == Header->Generation) {
            Header->Cursor = Store->Header->Cursor;
            Header->StackFileOffset = Store->Header->StackFileOffset;
            return STATUS_SUCCESS;
        }

        Status = STATUS_RETRY;
    }

    return Status;
}

//
// Copies a store, so that the copy is one that was closed.
// Store: the store, open, with a valid header.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlCopyStore(
    _Inout_ PREADER_CTL Ctl,
    _Inout_ PREADER_STORE Store
    )
{
    PCRTL Rtl = Ctl->Context->Rtl;
    PTRACE_STORE_HEADER Header = &Ctl->Identity;
    RTL_CLOCK_READING Reading;
    ULONGLONG End;
    HANDLE Target;
    NTSTATUS Status;

    Status = CommandCtlCreate(Ctl, &Store->Name, &Target);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlCopyBytes(Header, Store->Header, sizeof(*Header));
    if (Header->Mode == TRACE_MODE_TREE) {
        Status = CommandCtlCopyTree(Ctl, Store, Target, Header, &End);
    } else {
        Status = CommandCtlCopyRecords(Ctl, Store, Target, Header, &End);
    }

    if (NT_SUCCESS(Status)) {

        Header->WriterContext = 0;
        if (Header->State == TRACE_STATE_OPEN) {
            Header->State = TRACE_STATE_CLOSED;
            Header->Reason = TRACE_REASON_NONE;
            if (Ctl->Session.ProcessState == ReaderProcessRunning) {
                RtlReadClocks(Rtl, &Reading);
                Header->LastAnchor.Tsc = Reading.Tsc;
                Header->LastAnchor.Qpc = Reading.Qpc;
                Header->LastAnchor.SystemTime = Reading.SystemTime;
                Header->LastAnchor.Check = Reading.Tsc ^ Reading.Qpc ^
                                           Reading.SystemTime;
            }
        }

        Status = RtlWriteFile(Rtl, Target, 0, Header, sizeof(*Header));
    }

    if (NT_SUCCESS(Status)) {
        Status = RtlSetFileSize(Rtl, Target, End);
    }

    SessionCloseTargetFile(&Ctl->Target, Target, NT_SUCCESS(Status));
    return Status;
}

//
// Copies a control file, which nobody follows any more.
// Ctl: the command's state, with the file open.
// Directory: the directory that it is in, or READER_NONE for the session's.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlCopyControl(
    _Inout_ PREADER_CTL Ctl,
    _In_ ULONG Directory
    )
{
    PCRTL Rtl = Ctl->Context->Rtl;
    UNICODE_STRING Name;
    ULONGLONG End;
    HANDLE Target;
    NTSTATUS Status;

    Status = CommandCtlReadHeader(Ctl);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    RtlPointUnicodeString(&Name,
                          L"" TRACE_CONTROL_FILE_NAME,
                          RTL_NUMBER_OF(TRACE_CONTROL_FILE_NAME) - 1);
    Status = SessionMakeTargetFile(&Ctl->Target, Directory, &Name, &Target);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    End = TRACE_CONTROL_HEADER_SIZE +
          (ULONGLONG)Ctl->Capacity * TRACE_CONTROL_ACTION_SIZE;
    Status = RtlSetFileSize(Rtl, Target, End);
    if (NT_SUCCESS(Status)) {
        Status = CommandCtlCopyRange(Ctl,
                                     Ctl->File,
                                     Target,
                                     TRACE_CONTROL_HEADER_SIZE,
                                     TRACE_CONTROL_HEADER_SIZE +
                                        (ULONGLONG)Ctl->Count *
                                            TRACE_CONTROL_ACTION_SIZE);
    }
    if (NT_SUCCESS(Status)) {
        Ctl->Header.Capacity = Ctl->Capacity;
        Ctl->Header.NumberClaimed = Ctl->Count;
        RtlZeroBytes(Ctl->Header.Instances, sizeof(Ctl->Header.Instances));
        Status = RtlWriteFile(Rtl,
                              Target,
                              0,
                              &Ctl->Header,
                              sizeof(Ctl->Header));
    }

    SessionCloseTargetFile(&Ctl->Target, Target, NT_SUCCESS(Status));
    return Status;
}

//
// Makes the directories below the snapshot's: one for each process, where
// there are several.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlMakeDirectories(
    _Inout_ PREADER_CTL Ctl
    )
{
    PREADER_SESSION Session = &Ctl->Session;
    PCUNICODE_STRING Name;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         Index < Session->NumberOfDirectories && NT_SUCCESS(Status);
         Index++) {

        Name = &Session->Directories[Index].Name;
        if (Name->Length != 0 &&
            Session->Directories[Index].Process != READER_NONE) {
            Status = SessionMakeTargetDirectory(&Ctl->Target, Index, Name);
        }
    }

    return Status;
}

//
// Copies the control files of all processes that have one.
//

_Must_inspect_result_
static
NTSTATUS
CommandCtlCopyControls(
    _Inout_ PREADER_CTL Ctl
    )
{
    PREADER_SESSION Session = &Ctl->Session;
    ULONG Index;
    NTSTATUS Status = STATUS_SUCCESS;

    for (Index = 0;
         Index < Session->NumberOfDirectories && NT_SUCCESS(Status);
         Index++) {

        if (Session->Directories[Index].Name.Length != 0 &&
            Session->Directories[Index].Process == READER_NONE) {
            continue;
        }

        if (Ctl->File != NULL) {
            RtlClose(Ctl->Context->Rtl, Ctl->File);
            Ctl->File = NULL;
        }

        Status = CommandCtlOpenFile(Ctl, Index, FALSE);
        if (NT_SUCCESS(Status)) {
            Status = CommandCtlCopyControl(
                Ctl,
                Session->Directories[Index].Name.Length != 0 ? Index
                                                             : READER_NONE);
        } else if (Status == STATUS_OBJECT_NAME_NOT_FOUND) {
            Status = STATUS_SUCCESS;
        }
    }

    return Status;
}

//
// Copies a file of the session's directory if it is a log, or names imports.
// IsDirectory: whether it is a directory.
//

static
NTSTATUS
CommandCtlVisitLog(
    _In_opt_ PVOID CallbackContext,
    _In_ PCUNICODE_STRING Name,
    _In_ ULONGLONG SizeInBytes,
    _In_ BOOLEAN IsDirectory
    )
{
    PREADER_CTL Ctl = (PREADER_CTL)CallbackContext;
    PREADER_SESSION Session = &Ctl->Session;
    PCRTL Rtl = Ctl->Context->Rtl;
    READER_FILE_KIND Kind = SessionQueryFileKind(Rtl, Name);
    ULONGLONG Most = Kind == ReaderFileLog ? READER_CTL_LARGEST_LOG
                                           : TRACE_IMPORTS_MAXIMUM;
    ULONGLONG Size;
    HANDLE Source;
    HANDLE Target;
    NTSTATUS Status;

    if (IsDirectory || SizeInBytes > Most ||
        (Kind != ReaderFileLog && Kind != ReaderFileImports) ||
        !SessionAdmitName(Session, Name)) {
        return STATUS_SUCCESS;
    }

    Status = SessionOpenFile(Session, Name, &Source, &Size);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = CommandCtlCreate(Ctl, Name, &Target);
    if (NT_SUCCESS(Status)) {
        Status = CommandCtlCopyRange(Ctl,
                                     Source,
                                     Target,
                                     0,
                                     Most);
        RtlClose(Rtl, Target);
    }

    RtlClose(Rtl, Source);
    return Status;
}

_Use_decl_annotations_
ULONG
CommandCtlTakeSnapshot(
    PREADER_CTL Ctl
    )
{
    PCREADER_CONTEXT Context = Ctl->Context;
    PREADER_SESSION Session = &Ctl->Session;
    PCSZ Target = Ctl->Options->SecondUtf8;
    ULONG NumberCopied = 0;
    ULONG Index;
    NTSTATUS Status;

    SessionWarnOfStores(Session);
    Status = SessionOpenTarget(&Ctl->Target,
                               Context,
                               Ctl->Options->Second,
                               Session->NumberOfDirectories);
    if (NT_SUCCESS(Status)) {
        Status = CommandCtlMakeDirectories(Ctl);
    }
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        "make the directory, which must be new or empty",
                        Target,
                        Status);
    }

    for (Index = 0; Index < Session->NumberOfStores; Index++) {

        PREADER_STORE Store = Session->Stores[Index];

        Status = SessionOpenSessionStore(Session, Store);
        if (Status == STATUS_NO_MEMORY) {
            return BaseFail(Context, "copy", Ctl->Options->PathUtf8, Status);
        }
        if (!NT_SUCCESS(Status)) {
            continue;
        }

        if (Store->HeaderResult.State == CoreHeaderValid &&
            Store->EndState != CoreEndBad && !Store->IsForeign) {
            Status = CommandCtlCopyStore(Ctl, Store);
            NumberCopied += 1;
        }

        SessionCloseStore(Context, Store);
        if (!NT_SUCCESS(Status)) {
            return BaseFail(Context,
                            READER_TARGET_STEP(Status, "write a store to"),
                            Target,
                            Status);
        }
    }

    Status = STATUS_SUCCESS;
    if (Session->IsDirectory) {
        Status = RtlEnumerateDirectory(Context->Rtl,
                                       &Session->Path,
                                       CommandCtlVisitLog,
                                       Ctl);
    }
    if (NT_SUCCESS(Status)) {
        Status = CommandCtlCopyControls(Ctl);
    }
    if (!NT_SUCCESS(Status)) {
        return BaseFail(Context,
                        READER_TARGET_STEP(Status, "copy the session to"),
                        Target,
                        Status);
    }

    RtlWriteText(Context->Output,
                 "snapshot: %u store%s in %T\n",
                 NumberCopied,
                 NumberCopied == 1 ? "" : "s",
                 Target);
    return READER_EXIT_SUCCESS;
}
