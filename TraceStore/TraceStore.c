/*++

Module Name:

    TraceStore.c

Abstract:

    Opening, stopping and closing one thread's store.

--*/

#include "TraceStore.h"

//
// The thread environment block, read through gs: the highest address and the
// lowest reserved one of the stack that the thread runs on, and whether it has
// been made a fiber: bit 2 of SameTebFlags; under Wine the fiber's address, in
// a field that Windows sets to a version number on other threads.
//

#define TEB_STACK_BASE              0x08
#define TEB_FIBER_DATA              0x20
#define TEB_NO_FIBER                0x1E00
#define TEB_THREAD_ID               0x48
#define TEB_DEALLOCATION_STACK      0x1478
#define TEB_SAME_TEB_FLAGS          0x17EE
#define TEB_HAS_FIBER_DATA          0x0004

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

_Use_decl_annotations_
VOID
TraceStoreSetAnchor(
    PTRACE_CLOCK_ANCHOR Anchor,
    const RTL_CLOCK_READING *Reading
    )
/*++

Routine Description:

    Writes a clock anchor so that a reader can tell a torn one.

Arguments:

    Anchor - Supplies the anchor in a mapped header.

    Reading - Supplies the clocks.

Return Value:

    None.

--*/
{
    ULONGLONG Check;

    //
    // First a Check that fits neither the old nor the new fields, then the
    // fields, then the right one.
    //

    Check = Reading->Tsc ^ Reading->Qpc ^ Reading->SystemTime;
    RtlStoreRelease64(&Anchor->Check, ~Check ^ Anchor->Check);
    RtlStoreRelease64(&Anchor->Tsc, Reading->Tsc);
    RtlStoreRelease64(&Anchor->Qpc, Reading->Qpc);
    RtlStoreRelease64(&Anchor->SystemTime, Reading->SystemTime);
    RtlStoreRelease64(&Anchor->Check, Check);
}

static
NTSTATUS
TraceStoreClaim(
    _Inout_ PTRACE_SESSION Session,
    _Outptr_ PTRACE_STORE *Store
    )
/*++

Routine Description:

    Claims a free store, adding a block of them when none is free.  No lock is
    taken: a thread that is killed in here leaves at worst one store unused.

Arguments:

    Session - Supplies the session.

    Store - Receives the store.

Return Value:

    STATUS_SUCCESS, or the status of allocating memory.

--*/
{
    NTSTATUS Status;
    PTRACE_STORE_BLOCK Block;
    PTRACE_STORE_BLOCK First;
    PVOID Base;
    ULONG Index;

    for (;;) {
        First = Session->Blocks;
        for (Block = First; Block != NULL; Block = Block->Next) {
            for (Index = 0; Index < TRACE_STORES_PER_BLOCK; Index += 1) {
                if (Block->Stores[Index].Use == TRACE_STORE_FREE &&
                    InterlockedCompareExchange(&Block->Stores[Index].Use,
                                               TRACE_STORE_CLOSING,
                                               TRACE_STORE_FREE) ==
                    TRACE_STORE_FREE) {

                    *Store = &Block->Stores[Index];
                    return STATUS_SUCCESS;
                }
            }
        }

        Status = RtlAllocatePages(&Session->Rtl,
                                  TRACE_STORE_BLOCK_SIZE,
                                  &Base);
        if (!NT_SUCCESS(Status)) {
            return Status;
        }

        Block = (PTRACE_STORE_BLOCK)Base;
        Block->Next = First;
        if (InterlockedCompareExchangePointer((PVOID volatile *)
                                              &Session->Blocks,
                                              Block,
                                              First) != First) {

            //
            // Another thread added one in the meantime: use that.
            //

            RtlFreePages(&Session->Rtl, Base);
        }
    }
}

static
VOID
TraceStoreFree(
    _Inout_ PTRACE_STORE Store
    )
/*++

Routine Description:

    Makes a claimed store free again.  Session stays as it is: the worker may
    be looking at the store's lock at this moment.

Arguments:

    Store - Supplies the store.

Return Value:

    None.

--*/
{
    RtlZeroBytes(&Store->Header,
                 sizeof(*Store) - FIELD_OFFSET(TRACE_STORE, Header));
    Store->ThreadId = 0;
    Store->InSlowPath = 0;
    InterlockedExchange(&Store->WorkLock, 0);
    InterlockedExchange(&Store->Use, TRACE_STORE_FREE);
}

static
VOID
TraceStoreMakeName(
    _In_ PTRACE_SESSION Session,
    _In_ ULONG ThreadId,
    _In_ ULONG SequenceNumber,
    _Out_writes_(TRACE_FILE_NAME_IN_CHARS) PWCHAR Buffer,
    _Out_ PUNICODE_STRING Name
    )
/*++

Routine Description:

    Makes the file name of a store: <module>-<tid>-<sequence>.trace.

Arguments:

    Session - Supplies the session.

    ThreadId - Supplies the thread's id.

    SequenceNumber - Supplies a number that is new in this process.

    Buffer - Receives the name.

    Name - Receives a string that points into Buffer.

Return Value:

    None.

--*/
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
/*++

Routine Description:

    Opens or creates a file in the session directory.  Readers may open it at
    any time, and the user may delete it: FILE_SHARE_READ and FILE_SHARE_DELETE.
    A reader must in turn share writing, since this handle has write access.

Arguments:

    Session - Supplies the session.

    Directory - Supplies the session directory.

    Name - Supplies the file name.

    Access - Supplies the access wanted.

    Disposition - Supplies FILE_CREATE or FILE_OPEN.

    Options - Supplies more create options.

    File - Receives the handle.

Return Value:

    STATUS_SUCCESS or NtCreateFile's status.

--*/
{
    OBJECT_ATTRIBUTES Attributes;
    IO_STATUS_BLOCK IoStatus;

    InitializeObjectAttributes(&Attributes,
                               Name,
                               OBJ_CASE_INSENSITIVE,
                               Directory,
                               NULL);

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

static
VOID
TraceStoreQueryThreadName(
    _In_ PCRTL Rtl,
    _Inout_ PTRACE_STORE_HEADER Header
    )
/*++

Routine Description:

    Writes the calling thread's name into its store, if it has one and the
    system knows of thread names.

Arguments:

    Rtl - Supplies the RTL.

    Header - Supplies the header.

Return Value:

    None.

--*/
{
    struct {
        UNICODE_STRING Name;
        WCHAR Buffer[256];
    } Information;
    ULONG Written;

    Information.Name.Length = 0;
    if (!NT_SUCCESS(Rtl->NtQueryInformationThread(
            (HANDLE)-2,
            RTL_THREAD_NAME_INFORMATION,
            &Information,
            sizeof(Information),
            NULL))) {

        return;
    }

    if (Information.Name.Length == 0 ||
        Information.Name.Length > sizeof(Information.Buffer)) {

        return;
    }

    Header->ThreadNameFullLength =
        RtlWideToUtf8(Information.Name.Buffer,
                      Information.Name.Length / sizeof(WCHAR),
                      Header->ThreadName,
                      sizeof(Header->ThreadName),
                      &Written);
    Header->ThreadNameLength = Written;
}

static
VOID
TraceStoreFillHeader(
    _Inout_ PTRACE_STORE Store,
    _In_ ULONG SequenceNumber,
    _In_ BOOLEAN IsChrono
    )
/*++

Routine Description:

    Fills the header of a new store.  The magic number comes last: a header
    that has it is complete.

Arguments:

    Store - Supplies the store; its first view is mapped and its first pages
        are prepared.

    SequenceNumber - Supplies the number in the file's name.

    IsChrono - Supplies whether it is the second store of a thread with a tree.

Return Value:

    None.

--*/
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
    if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeDescribe(Store, Header);
    }

    TraceStoreQueryThreadName(&Store->Session->Rtl, Header);

    RtlReadClocks(&Store->Session->Rtl, &Reading);
    Header->QpcFrequency = Reading.QpcFrequency;
    TraceStoreSetAnchor(&Header->OpenAnchor, &Reading);
    TraceClockDescribe(Store->Session, Header);

    Header->State = TRACE_STATE_OPEN;
    Store->Header = Header;
    RtlStoreRelease64(&Header->Magic, TRACE_STORE_MAGIC);
}

static
NTSTATUS
TraceStoreCreate(
    _Inout_ PTRACE_SESSION Session,
    _In_ BOOLEAN IsChrono,
    _Outptr_ PTRACE_STORE *Store,
    _Out_ PRTL_ERROR Error
    )
/*++

Routine Description:

    Makes a store for the calling thread.

Arguments:

    Session - Supplies the session.

    IsChrono - Supplies whether it is the second store of a thread with a tree.

    Store - Receives the store.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS or the failing call's status.  Nothing is left behind on
    failure.

--*/
{
    NTSTATUS Status;
    PTRACE_STORE New;
    HANDLE Directory;
    HANDLE File;
    HANDLE Doomed;
    BOOLEAN IsTree;
    ULONG SequenceNumber;
    ULONG Try;
    ULONG Reason;
    UNICODE_STRING Name;
    WCHAR NameBuffer[TRACE_FILE_NAME_IN_CHARS];

    File = NULL;
    New = NULL;
    SequenceNumber = 0;
    IsTree = !IsChrono && Session->Template->Mode == TRACE_MODE_TREE;
    RtlPointUnicodeString(&Name, NameBuffer, 0);

    Status = TraceSessionOpenDirectory(Session, &Directory, Error);
    if (!NT_SUCCESS(Status)) {
        return Status;
    }

    Status = TraceStoreClaim(Session, &New);
    if (!NT_SUCCESS(Status)) {
        return RtlSetError(Error,
                           "allocating a thread store",
                           &Session->ModuleName,
                           Status);
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

    New->File = File;
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
    InterlockedExchange(&New->Use, TRACE_STORE_USED);

    //
    // Whoever finds an action from now on tells this store, too; those from
    // before are carried out here, so that it begins paused if recording is
    // stopped.
    //

    TraceControlOpen(Session);
    if (Session->Control != NULL) {
        TraceControlPoll(Session);
        if (Session->ControlSeen != 0) {
            InterlockedExchange(&New->Attention, 1);
            if (!TraceControlServe(New) &&
                New->Header->Mode != TRACE_MODE_TREE) {

                TraceStoreAdvance(New);
            }
        }
    }

    *Store = New;
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

    TraceStoreFree(New);
    return Status;
}

_Use_decl_annotations_
NTSTATUS
TraceStoreOpen(
    PTRACE_SESSION Session,
    PTRACE_STORE *Store,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Opens a store for the calling thread.

Arguments:

    Session - Supplies the session.

    Store - Receives the store.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS or the failing call's status.

--*/
{
    return TraceStoreCreate(Session, FALSE, Store, Error);
}

_Use_decl_annotations_
NTSTATUS
TraceStoreOpenChrono(
    PTRACE_SESSION Session,
    PTRACE_STORE *Store,
    PRTL_ERROR Error
    )
/*++

Routine Description:

    Opens the second store of the calling thread, which has a tree.

Arguments:

    Session - Supplies the session.

    Store - Receives the store.

    Error - Receives what failed.

Return Value:

    STATUS_SUCCESS or the failing call's status.

--*/
{
    return TraceStoreCreate(Session, TRUE, Store, Error);
}

_Use_decl_annotations_
VOID
TraceStoreStop(
    PTRACE_STORE Store,
    ULONG Reason,
    NTSTATUS Status
    )
/*++

Routine Description:

    Stops a store: what it holds stays valid, the hook counts what comes after,
    the program goes on.

Arguments:

    Store - Supplies the store.

    Reason - Supplies a TRACE_REASON_*.

    Status - Supplies the status of what failed.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;

    Header = Store->Header;
    if (Header->Mode == TRACE_MODE_TREE) {
        TraceTreeHalt(Store);
    }
    Header->Reason = Reason;
    Header->Status = (ULONG)Status;
    RtlStoreRelease32(&Header->State, TRACE_STATE_STOPPED);

    //
    // The hook looks at its flags only when the cursor is at the limit.
    //

    RtlStoreRelease32(&Header->HookFlags,
                      Header->HookFlags | TRACE_HOOK_STOPPED);
    RtlStoreRelease64(&Header->Limit, Header->Cursor);
}

_Use_decl_annotations_
VOID
TraceStoreFinish(
    PTRACE_STORE Store,
    ULONG Reason
    )
/*++

Routine Description:

    Marks an open store as ended.  A store that has stopped, or has been marked
    before, is left as it is.

Arguments:

    Store - Supplies the store.

    Reason - Supplies a TRACE_REASON_* that says why.

Return Value:

    None.

--*/
{
    PTRACE_STORE_HEADER Header;
    RTL_CLOCK_READING Reading;

    if (Store->Tree.Chrono != NULL) {
        TraceStoreFinish(Store->Tree.Chrono, Reason);
    }

    Header = Store->Header;
    if (Header->State != TRACE_STATE_OPEN) {
        return;
    }

    RtlReadClocks(&Store->Session->Rtl, &Reading);
    TraceStoreSetAnchor(&Header->LastAnchor, &Reading);
    TraceClockDescribe(Store->Session, Header);
    Header->Reason = Reason;
    RtlStoreRelease32(&Header->State, TRACE_STATE_CLOSED);
}

_Use_decl_annotations_
VOID
TraceStoreClose(
    PTRACE_STORE Store,
    ULONG Reason
    )
/*++

Routine Description:

    Closes a store.  Called by its owner at thread exit, or by whoever ends the
    session when no other thread can be in it; then one whose owner was killed
    while it closed it, or made it, is closed as well.

Arguments:

    Store - Supplies the store.

    Reason - Supplies a TRACE_REASON_* that says why.

Return Value:

    None.

--*/
{
    PTRACE_SESSION Session;
    PTRACE_STORE_HEADER Header;
    PVOID Base;
    ULONGLONG End;
    LONG Use;
    ULONG Index;

    Use = InterlockedCompareExchange(&Store->Use,
                                     TRACE_STORE_CLOSING,
                                     TRACE_STORE_USED);
    if (Use != TRACE_STORE_USED) {

        //
        // Once its header is unmapped it has all that readers need.
        //

        if (Use != TRACE_STORE_CLOSING ||
            Store->Header == NULL ||
            !Store->Session->IsAlone) {

            return;
        }
    }

    //
    // At the end of a session it may be closed already: a store's memory
    // outlasts it.
    //

    if (Store->Tree.Chrono != NULL) {
        TraceStoreClose(Store->Tree.Chrono, Reason);
        Store->Tree.Chrono = NULL;
    }

    Session = Store->Session;
    Header = Store->Header;

    //
    // From here on the worker finds the store closing and leaves it alone; if
    // it is mapping or unmapping a view of it at this moment, that takes a few
    // milliseconds on a healthy disk.  It must be waited for: it uses the file,
    // and a view that is still mapped would keep the file from being cut.
    //

    TraceStoreAcquireWorkLock(Store);
    TraceStoreWaitForWorker(Store, TRACE_WORKER_ANY);

    //
    // A thread that was killed may have left the next view half mapped, or may
    // have begun to make it the current one.  Each view is forgotten before it
    // is unmapped: should this thread be killed, too, whoever comes after it
    // unmaps nothing that has become somebody else's.
    //

    if (Store->Next.Section == NULL &&
        Store->Next.Base != Store->Current.Base) {

        Base = InterlockedExchangePointer((PVOID volatile *)&Store->Next.Base,
                                          NULL);
        RtlUnmapFileSection(&Session->Rtl, Base);
    }
    for (Index = 0; Index < TRACE_RETIRED_VIEWS; Index += 1) {
        Base = InterlockedExchangePointer(&Store->Retired[Index], NULL);
        TraceViewRetire(Session, Base);
    }

    End = Header->Cursor + Header->CursorToFileOffset;
    if ((Header->Generation & 1) != 0) {
        End = Header->ViewFileOffset;
    }

    if (Use == TRACE_STORE_CLOSING && Header->Mode == TRACE_MODE_TREE &&
        (Header->Generation & 1) != 0) {

        //
        // A tree that was being cut stays as it is.
        //

        TraceStoreFinish(Store, Reason);
        End = Store->FileSizeInBytes;

    } else {

        TraceControlSettle(Store);
        TraceStoreFinish(Store, Reason);
        if (Header->Mode == TRACE_MODE_TREE) {
            End = TraceTreeClose(Store);
        }
    }

    if (Store->Current.Base != (PBYTE)Header) {
        Base = InterlockedExchangePointer(
            (PVOID volatile *)&Store->Current.Base,
            Header);
        RtlUnmapFileSection(&Session->Rtl, Base);
    }
    TraceStoreReclaim(Store);
    InterlockedExchangePointer((PVOID volatile *)&Store->Header, NULL);
    RtlUnmapFileSection(&Session->Rtl, Header);

    //
    // Cut what was extended and not used.  Windows refuses this while any
    // process has the file mapped (STATUS_USER_MAPPED_FILE): the file then
    // keeps a tail of zeroes, which readers never look at.
    //

    if (End >= TRACE_HEADER_SIZE && End <= Store->FileSizeInBytes) {
        (VOID)RtlSetFileSize(&Session->Rtl, Store->File, End);
    }
    RtlProtectHandle(&Session->Rtl, Store->File, FALSE);
    RtlClose(&Session->Rtl, Store->File);

    TraceDepthClose(Store);
    TraceStoreFree(Store);
}
