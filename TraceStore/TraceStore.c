/*++

Module Name:

    TraceStore.c

Abstract:

    Opening and closing one thread's store.

--*/

#include "../Rtl/RtlTeb.h"
#include "TraceAdvance.h"
#include "TraceClock.h"
#include "TraceClose.h"
#include "TraceCompact.h"
#include "TraceControl.h"
#include "TraceControlOpen.h"
#include "TraceDepth.h"
#include "TraceDirectory.h"
#include "TraceName.h"
#include "TraceShare.h"
#include "TraceStop.h"
#include "TraceStore.h"
#include "TraceTree.h"
#include "TraceView.h"
#include "TraceVolume.h"

//
// The longest file name that file systems take, in 16-bit units, and how much
// of it the module's name may have.
//

#define TRACE_FILE_NAME_IN_CHARS    255
#define TRACE_MODULE_NAME_IN_CHARS  200

//
// How many file names are tried before giving up.
//

#define TRACE_FILE_NAME_TRIES       1000

//
// Makes the file name of a store: <module>-<tid>-<sequence>.trace.
// SequenceNumber: a number that is new in this process.
// Name: a string that points into Buffer.
//

static
VOID
TraceStoreMakeName(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG ThreadId,
    _In_ ULONG SequenceNumber,
    _Out_writes_(TRACE_FILE_NAME_IN_CHARS) PWCHAR Buffer,
    _Out_ PUNICODE_STRING Name
    )
{
    CHAR Text[48];
    RTL_WRITER Writer;
    ULONG Length;
    ULONG Index;

    Length = Session->ModuleName.Length / sizeof(WCHAR);
    if (Length > TRACE_MODULE_NAME_IN_CHARS) {
        Length = TRACE_MODULE_NAME_IN_CHARS;
    }
    RtlCopyBytes(Buffer, Session->ModuleName.Buffer, Length * sizeof(WCHAR));

    RtlInitializeBufferWriter(&Writer, Text, sizeof(Text));
    RtlWriteText(&Writer,
                 "-%u-%u" TRACE_FILE_SUFFIX,
                 ThreadId,
                 SequenceNumber);
    for (Index = 0; Index < Writer.LengthInBytes; Index += 1) {
        Buffer[Length] = (WCHAR)Text[Index];
        Length += 1;
    }

    RtlPointUnicodeString(Name, Buffer, Length);
}

//
// Opens or creates a file in the session directory. Readers may open it at any
// time, and the user may delete it: FILE_SHARE_READ and FILE_SHARE_DELETE. A
// reader must in turn share writing, since this handle has write access.
//
// Access: the access wanted.
// Disposition: FILE_CREATE or FILE_OPEN.
// Options: more create options.
// Returns STATUS_SUCCESS or NtCreateFile's status.
//

static
NTSTATUS
TraceStoreOpenRelative(
    _In_ PTRACE_SESSION Session,
    _In_ HANDLE Directory,
    _In_ PUNICODE_STRING Name,
    _In_ ACCESS_MASK Access,
    _In_ ULONG Disposition,
    _In_ ULONG Options,
    _Out_ PHANDLE File
    )
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;

    InitializeObjectAttributes(&Attributes,
                               Name,
                               OBJ_CASE_INSENSITIVE,
                               Directory,
                               Session->Rtl.FileSecurity);

    return Session->Rtl.NtCreateFile(File,
                                     Access | SYNCHRONIZE,
                                     &Attributes,
                                     &IoStatus,
                                     NULL,
                                     FILE_ATTRIBUTE_NORMAL,
                                     FILE_SHARE_READ | FILE_SHARE_DELETE,
                                     Disposition,
                                     FILE_NON_DIRECTORY_FILE |
                                     FILE_SYNCHRONOUS_IO_NONALERT |
                                     Options,
                                     NULL,
                                     0);
}

//
// Fills the header of a new store. The magic number comes last: a header that
// has it is complete.
// Store: the store; its first view is mapped and its first pages are prepared.
// SequenceNumber: the number in the file's name.
// IsChrono: whether it is the second store of a thread with a tree.
//

static
VOID
TraceStoreFillHeader(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG SequenceNumber,
    _In_ BOOLEAN IsChrono
    )
{
    PTRACE_STORE_HEADER Header;
    RTL_CLOCK_READING Reading;

    Header = (PTRACE_STORE_HEADER)Store->Current.Base;

    RtlCopyBytes((PBYTE)Header + sizeof(Header->Magic),
                 (PBYTE)Store->Session->Template + sizeof(Header->Magic),
                 sizeof(*Header) - sizeof(Header->Magic));
    if (IsChrono) {
        Header->Flags |= TRACE_FLAG_CHRONOLOGICAL;
        Header->Mode = TRACE_MODE_RECORDS;
        Header->RecordSize = TRACE_RECORD_SIZE;
        Header->MaximumBytes = Store->Session->ChronoMaximumBytes;

        //
        // These records are not written by the hook that was measured.
        //

        Header->ProbeInner = 0;
        Header->ProbeTotal = 0;
    }

    Header->ThreadId = Store->ThreadId;
    Header->StackBase = __readgsqword(TEB_STACK_BASE);
    Header->StackLimit = __readgsqword(TEB_DEALLOCATION_STACK);
    if ((__readgsword(TEB_SAME_TEB_FLAGS) & TEB_HAS_FIBER_DATA) != 0 ||
        (__readgsqword(TEB_FIBER_DATA) != 0 &&
         __readgsqword(TEB_FIBER_DATA) != TEB_NO_FIBER)) {

        Header->Flags |= TRACE_FLAG_FIBER;
    }
    Header->SequenceNumber = SequenceNumber;

    Header->Cursor = (ULONG_PTR)Store->Current.Base + TRACE_HEADER_SIZE;
    Header->Limit = (ULONG_PTR)Store->Current.Base +
                    Store->Current.PreparedInBytes;
    Header->CursorToFileOffset = 0 - (ULONGLONG)(ULONG_PTR)Store->Current.Base;
    Header->ViewFileOffset = TRACE_HEADER_SIZE;
    Header->WriterContext = (ULONG_PTR)Store;
    Store->IsArmed = FALSE;
    Store->ArmedLimit = 0;
    Store->Checked = 0;
    if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeDescribe(Store, Header);
    }

    TraceNameBegin(Store, Header);
    TraceStopNoteTimes(Store, Header, FALSE);

    RtlReadClocks(&Store->Session->Rtl, &Reading);
    Header->QpcFrequency = Reading.QpcFrequency;
    TraceStopSetAnchor(&Header->OpenAnchor, &Reading);
    TraceClockDescribe(Store->Session, Header);

    Header->State = TRACE_STATE_OPEN;
    Store->Header = Header;
    if (TRACE_IS_COMPACT(Store)) {
        TraceCompactOpen(Store);
    }
    RtlStoreRelease64(&Header->Magic, TRACE_STORE_MAGIC);
}

//
// Makes a store for the calling thread.
// IsChrono: whether it is the second store of a thread with a tree.
// Error: what failed.
// Returns STATUS_SUCCESS or the failing call's status. Nothing is left behind
// on failure.
//

static
NTSTATUS
TraceStoreCreate(
    _Inout_ PTRACE_SESSION Session,
    _In_ BOOLEAN IsChrono,
    _Outptr_ PTRACE_STORE *Store,
    _Out_ PRTL_ERROR Error
    )
{
    NTSTATUS Status;
    PTRACE_STORE New;
    PTRACE_STORE Entry;
    PTRACE_SHARED Shared;
    PVOID Base;
    HANDLE Directory;
    HANDLE File;
    HANDLE Doomed;
    BOOLEAN IsTree;
    BOOLEAN HasRoom;
    ULONG SequenceNumber;
    ULONG Try;
    ULONG Reason;
    UNICODE_STRING Name;
    WCHAR NameBuffer[TRACE_FILE_NAME_IN_CHARS];

    File = NULL;
    New = NULL;
    Shared = NULL;
    SequenceNumber = 0;
    IsTree = !IsChrono && Session->Template->Mode == TRACE_MODE_TREE;
    RtlPointUnicodeString(&Name, NameBuffer, 0);

    Status = TraceDirectoryOpenSession(Session, &Directory, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = TraceCloseClaimPlace(Session, &Entry);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "allocating a thread store",
                           &Session->ModuleName,
                           Status);
    }

    //
    // A tree is no copy's own (TraceShare.c).
    //

    New = Entry;
    if (IsTree) {
        Status = RtlAllocatePages(&Session->Rtl, sizeof(*Shared), &Base);
        if (!NT_SUCCESS(Status)) {
            TraceCloseFreePlace(Entry);
            return RtlSetError(Error,
                               "allocating a thread's tree",
                               &Session->ModuleName,
                               Status);
        }
        Shared = (PTRACE_SHARED)Base;
        TraceShareInitialize(Shared, Session, Entry);
        New = &Shared->Store;
        Entry->Session = Session;
        Entry->ThreadId = __readgsdword(TEB_THREAD_ID);
    }

    New->Session = Session;
    New->ThreadId = __readgsdword(TEB_THREAD_ID);

    Status = STATUS_OBJECT_NAME_COLLISION;
    for (Try = 0;
         Try < TRACE_FILE_NAME_TRIES && Status == STATUS_OBJECT_NAME_COLLISION;
         Try += 1) {

        SequenceNumber =
            (ULONG)InterlockedIncrement(&Session->NextSequenceNumber) - 1;
        TraceStoreMakeName(Session,
                           New->ThreadId,
                           SequenceNumber,
                           NameBuffer,
                           &Name);
        Status = TraceStoreOpenRelative(Session,
                                        Directory,
                                        &Name,
                                        GENERIC_READ | GENERIC_WRITE,
                                        FILE_CREATE,
                                        0,
                                        &File);
    }
    if (!NT_SUCCESS(Status)) {
        File = NULL;
        RtlSetError(Error, "creating a thread's store", &Name, Status);
        goto Error;
    }

    New->Current.SizeInBytes = TRACE_VIEW_MINIMUM_SIZE;
    if (IsTree) {
        New->Current.SizeInBytes = Session->Template->MaximumBytes;
    }

    //
    // Where the disk has too little room, the store does nothing but say so
    // and count.
    //

    New->File = File;
    HasRoom = TraceVolumeHasRoom(New, &New->Current);
    if (!HasRoom && IsTree) {
        New->Current.SizeInBytes = TRACE_MAXIMUM_BYTES_LEAST;
    }
    Status = TraceViewMap(&Session->Rtl, File, 0, &New->Current, &Reason);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error,
                    Reason == TRACE_REASON_EXTEND_FAILED ?
                    "extending a thread's store" : "mapping a thread's store",
                    &Name,
                    Status);
        goto Error;
    }

    Status = TraceViewPrepare(Session,
                              File,
                              &New->Current,
                              TRACE_PREPARE_FIRST);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, "writing a thread's store", &Name, Status);
        goto Error;
    }

    Status = TraceDepthOpen(New);
    if (!NT_SUCCESS(Status)) {
        RtlSetError(Error, "allocating a thread's call depth", &Name, Status);
        goto Error;
    }

    New->FileSizeInBytes = New->Current.SizeInBytes;
    if (IsTree) {
        Status = TraceTreeOpen(New);
        if (!NT_SUCCESS(Status)) {
            RtlSetError(Error, "making a thread's tree", &Name, Status);
            goto Error;
        }
    }

    RtlProtectHandle(&Session->Rtl, File, TRUE);
    TraceStoreFillHeader(New, SequenceNumber, IsChrono);
    New->Floor = New->Current.Base + TRACE_HEADER_SIZE;
    if (Shared != NULL) {
        Entry->Tree.Shared = New;
    }
    InterlockedExchange(&New->Use, TRACE_STORE_USED);
    if (Shared != NULL) {
        InterlockedExchange(&Entry->Use, TRACE_STORE_MEMBER);
    }

    *Store = New;
    if (!HasRoom) {
        TraceStoreStop(New, TRACE_REASON_MINIMUM_FREE, STATUS_DISK_FULL);
        return STATUS_SUCCESS;
    }

    //
    // Whoever finds an action from now on tells this store, too; those from
    // before are carried out here, so that it begins paused if recording is
    // stopped.
    //

    TraceControlOpen(Session);
    if (Session->Control != NULL) {
        TraceControlPoll(Session);
        if (TRACE_CONTROL_SEEN(Session) != 0 &&
            !TraceControlBegin(New) &&
            New->Header->Mode != TRACE_MODE_TREE) {

            TraceStoreAdvance(New);
        }
    }

    return STATUS_SUCCESS;

Error:

    if (New->Current.Base != NULL) {
        RtlUnmapFileSection(&Session->Rtl, New->Current.Base);
    }

    //
    // The file is deleted through a second handle: the first one was not
    // opened for deletion, which would keep out readers that do not share it.
    //

    if (File != NULL) {
        RtlClose(&Session->Rtl, File);
        if (NT_SUCCESS(TraceStoreOpenRelative(Session,
                                              Directory,
                                              &Name,
                                              DELETE,
                                              FILE_OPEN,
                                              FILE_DELETE_ON_CLOSE,
                                              &Doomed))) {

            RtlClose(&Session->Rtl, Doomed);
        }
    }

    RtlFreePages(&Session->Rtl, Shared);
    TraceCloseFreePlace(Entry);
    return Status;
}

_Use_decl_annotations_
NTSTATUS
TraceStoreOpen(
    PTRACE_SESSION Session,
    PTRACE_STORE *Store,
    PRTL_ERROR Error
    )
{
    NTSTATUS Status;

    if (Session->Template->Mode == TRACE_MODE_TREE) {
        Status = TraceShareJoin(Session, Store);
        if (NT_SUCCESS(Status) || Status == STATUS_RETRY) {
            return Status;
        }
    }

    return TraceStoreCreate(Session, FALSE, Store, Error);
}

_Use_decl_annotations_
NTSTATUS
TraceStoreOpenChrono(
    PTRACE_SESSION Session,
    PTRACE_STORE *Store,
    PRTL_ERROR Error
    )
{
    return TraceStoreCreate(Session, TRUE, Store, Error);
}

_Use_decl_annotations_
VOID
TraceStoreClose(
    PTRACE_STORE Store,
    ULONG Reason
    )
{
    PTRACE_STORE Entry;

    Entry = Store;
    if (Store->Tree.Member != NULL) {
        Entry = TraceShareFindEntry(Store->Session, Store);
    }
    if (Entry == NULL || Entry->Tree.Shared != NULL) {
        if (Entry != NULL) {
            TraceShareLeave(Entry, Reason);
        }
        return;
    }

    TraceStoreCloseOwn(Store, Reason);
}
